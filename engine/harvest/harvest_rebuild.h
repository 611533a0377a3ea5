/*
 * harvest_rebuild -- the rows of harvests made again from their WARC files.
 *
 *     PATH/2026/11/20/09/NAME.warc.gz ─► id, type ─► an ended row, with
 *                                                  the file, size and SHA-1
 *
 * What only the store knew is lost: order, findings, warc ids, how it ended.
 *
 * Thread: any; blocks.
 * Source: contracts/warc.md §7.
 */
#ifndef ENGINE_HARVEST_HARVEST_REBUILD_H
#define ENGINE_HARVEST_HARVEST_REBUILD_H

#include "base/map.h"
#include "engine/store/store_harvest.h"

struct harvest_rebuild {
	struct arena arena;
	struct map harvests;         /* by id */
	uint64_t unread;             /* files that could not be read */
};

/* Note a file of a harvest, and read it. */
void harvest_rebuild_add(struct harvest_rebuild *, struct str id,
    struct str type, const char *file);
/* Put the rows of those that the store does not know; `*n`: how many. */
MUST_USE enum err harvest_rebuild_store(struct harvest_rebuild *,
    struct store *, uint64_t *n, struct why *);
void harvest_rebuild_free(struct harvest_rebuild *);

#endif
