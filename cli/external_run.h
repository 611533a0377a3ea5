/*
 * external_run -- a run of a connector in the foreground, whose documents go to
 * the verb: without a daemon, and without anything that is kept.  The engine's
 * data lies in a directory of its own below $TMPDIR, which is removed.
 *
 * Thread: the main one.
 */
#ifndef CLI_EXTERNAL_RUN_H
#define CLI_EXTERNAL_RUN_H

#include "cli/cli.h"
#include "engine/external/external_connector.h"
#include "engine/harvest/document_run.h"
#include "script/bundle.h"

struct external_run {
	struct cli *cli;
	struct str order, cursor;    /* of document_run_options */
	/* For a module, instead of `order`: see module_run_options.  NULL: the
	 * connector is declared. */
	struct script_bundle *bundle;
	const struct external_connector *connector;
	struct str params, credential;
	const struct str *private_hosts;     /* likewise */
	size_t private_n;
	/* One batch after the other.  False: the run is to stop, since that was
	 * enough or could not be written. */
	bool (*take)(void *arg, const struct document_batch *);
	/* Of each call; or NULL. */
	void (*called)(void *arg, const struct document_call *);
	void *arg;
	/* Out; memory: the cli's. */
	struct document_end end;
	struct document_look look;
	bool interrupted;            /* by a signal */
};

/*
 * Returns when the run has ended, however it has.  Notes of the connector are
 * printed on standard error.  Errors: INPUT, with the field of the order or
 * the cursor; STATE: the connector gives no documents; those of the data.
 */
MUST_USE enum err external_run_connector(struct external_run *, struct why *);

#endif
