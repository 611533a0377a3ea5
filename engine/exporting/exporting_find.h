/*
 * exporting_find -- which WARC files an export reads, as SFM's interface says:
 * GET <harvest.sfm_api>/api/v1/warcs/?collection=...
 *
 * A look-up that fails is tried again for EXPORTING_FIND_MS.  More than
 * EXPORTING_SEEDS_EACH seeds are asked for in parts, which are united by
 * warc_id.
 *
 * Thread: any; blocks.
 * Source: contracts/export.md §3 step 2, §6.
 */
#ifndef ENGINE_EXPORTING_EXPORTING_FIND_H
#define ENGINE_EXPORTING_EXPORTING_FIND_H

#include "engine/exporting/exporting_order.h"

#define EXPORTING_FIND_MS (10 * 60 * 1000)
#define EXPORTING_SEEDS_EACH 20u

struct exporting_find {
	const char *api;             /* harvest.sfm_api, an http(s) URL */
	const struct exporting_order *order;
	struct export_watch *watch;  /* its `stop` ends the wait */
	int64_t tries_ms;            /* EXPORTING_FIND_MS */
};
/*
 * The paths, as the interface says them, in its order.  Memory: `a`.
 * Errors: INPUT when the interface refuses a date or another parameter; CLOSED;
 * UNREACHED.
 */
MUST_USE enum err exporting_find(const struct exporting_find *,
    struct arena *a, struct str **paths, size_t *n, struct why *);

#endif
