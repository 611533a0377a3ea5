/*
 * lost_files -- which finished files a rebuild did not find.
 */
#ifndef ENGINE_REBUILD_LOST_FILES_H
#define ENGINE_REBUILD_LOST_FILES_H

#include "engine/archive/archive.h"
#include "engine/rebuild/rebuild.h"

/*
 * Report finished files that are not in the catalogue, and those that are
 * shorter than recorded; `old` may be NULL.  Errors: CORRUPT, IO.
 */
MUST_USE enum err rebuild_lost(const struct rebuild_options *,
    struct rebuild_counts *, struct frontier *old,
    const struct archive_catalogue *, struct why *);

#endif
