/*
 * tail -- where a file ends that was being written.
 */
#ifndef ENGINE_REBUILD_TAIL_H
#define ENGINE_REBUILD_TAIL_H

#include "engine/archive/archive.h"

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

#endif
