/*
 * carry_over -- what only the old index knows comes along.
 */
#ifndef ENGINE_REBUILD_CARRY_OVER_H
#define ENGINE_REBUILD_CARRY_OVER_H

#include "engine/rebuild/rebuild.h"

/* See carry_over.c.  Errors: of reading one index, of writing the other. */
MUST_USE enum err carry_records(struct frontier *old, struct frontier *rebuilt,
    struct rebuild_counts *, struct why *);

#endif
