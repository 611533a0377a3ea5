/*
 * parts -- what a rebuild does beside the replay of captures: it finds the end
 * of files that nobody finished, names the files that it did not find, and
 * takes over what only the old index knows.
 */
#ifndef ENGINE_REBUILD_PARTS_H
#define ENGINE_REBUILD_PARTS_H

#include "engine/archive/archive.h"
#include "engine/frontier/frontier.h"
#include "engine/rebuild/rebuild.h"

/*
 * Where the last whole capture of a file ends that nobody finished; behind it a
 * torn record may stand, or a redirect whose target is missing.  `first`: the
 * end of its warcinfo, 0 when that is damaged.  Damage before the last whole
 * capture changes nothing.
 */
struct tail {
	uint64_t first, end, size;
};
MUST_USE enum err tail_find(const struct archive_file *, struct tail *,
    struct why *);

/*
 * Report finished files that are not in the catalogue, and those that are
 * shorter than recorded; `old` may be NULL.  Errors: CORRUPT, IO.
 */
MUST_USE enum err rebuild_lost(const struct rebuild_options *,
    struct rebuild_counts *, struct frontier *old,
    const struct archive_catalogue *, struct why *);

/* See carry_over.c.  Errors: of reading one index, of writing the other. */
MUST_USE enum err carry_records(struct frontier *old, struct frontier *rebuilt,
    struct rebuild_counts *, struct why *);

#endif
