/*
 * snapshot_source -- what a snapshot needs of a running engine.
 *
 * The engine fills it once its ledger is open, and keeps it until it is freed.
 */
#ifndef ENGINE_REBUILD_SNAPSHOT_SOURCE_H
#define ENGINE_REBUILD_SNAPSHOT_SOURCE_H

#include "engine/ledger/ledger.h"
#include "os/request.h"

struct snapshot_source {
	const char *data_dir;        /* absolute */
	struct ledger *ledger;
	const struct request_places *places;
	bool busy;                   /* the ledger's loop only: one is made */
};

/*
 * Copy the data directory to DATA/backup/snapshot, then call done() on the main
 * loop.  `ask` belongs to this call until then.  Thread: the main loop's.
 * Errors, in `ask->why`: FULL while another snapshot is made; those of
 * ledger_hold() and of copying.
 */
struct snapshot_ask;
void snapshot_make(struct snapshot_source *, struct snapshot_ask *ask);

#endif
