/*
 * external_input -- a connector in a file, its parameters and its credential as
 * a run's order; and what is wrong with its documents.
 *
 * Each fault is a line on standard error.
 *
 * Thread: the main one.
 * Source: contracts/external.md §2, §9, §11.
 */
#ifndef CLI_EXTERNAL_INPUT_H
#define CLI_EXTERNAL_INPUT_H

#include "cli/cli.h"
#include "engine/external/external_connector.h"
#include "engine/harvest/document_run.h"
#include "script/bundle.h"

/* Faults of a document that are printed. */
#define EXTERNAL_FAULTS_MAX 5u

struct external_input {
	struct cli *cli;
	struct external_connector *connector;
	struct script_bundle *bundle;        /* of a module; else NULL */
	struct str params, credential;       /* the same, of its run */
	/* external_input_order()'s: and the hosts that the file names, as
	 * HOST:PORT; whoever runs the file may reach them wherever they are. */
	struct str order;
	struct str hosts[2];
	size_t hosts_n;
	uint64_t documents, rejected;        /* that were judged */
};

/*
 * Load the connector of the verb's first operand into a struct that is zeroed
 * but for `cli`: the name of one that is built in, or a file.  FILE.js is a
 * module, and is evaluated.  Errors: INPUT; those of reading the file.
 */
MUST_USE enum err external_input_load(struct external_input *, struct why *);
void external_input_free(struct external_input *);
/*
 * Read a JSON object from a file, or "-"; numbers keep their digits.  The
 * caller frees the document.  Errors: INPUT; those of reading the file.
 */
MUST_USE enum err external_input_object(struct cli *, const char *file,
    yyjson_doc **out, struct why *);
/*
 * Make the order, or a module's input, of these parameters, NULL for none;
 * `credential` is a JSON object, or empty.  Memory: the cli's.  Errors: INPUT,
 * each fault was printed.
 */
MUST_USE enum err external_input_order(struct external_input *,
    yyjson_val *params, struct str credential, struct why *);
/* Whether the document is as the connector's schema and docIdField want it. */
bool external_input_judge(struct external_input *, const struct document *);
/* "argiope: ..." on standard error; what a server sent is made printable. */
PRINTF_LIKE(1, 2) void external_input_say(const char *fmt, ...);

#endif
