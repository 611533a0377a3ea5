/*
 * roots -- the directories below which a requester's paths must lie, and what
 * they are called here.
 *
 *     harvest.roots = /sfm-data, /sfm-export-data=/srv/exports
 *
 * Messages say the part before "="; files lie at the part after it.
 *
 * Thread: any; pure.
 * Source: contracts/harvest.md §8.
 */
#ifndef DOORS_HARVEST_ROOTS_H
#define DOORS_HARVEST_ROOTS_H

#include "base/arena.h"
#include "base/err.h"

struct root {
	struct str path, local;      /* absolute, without a slash at the end */
};
struct roots {
	struct root *list;
	size_t n;
};

/* Add one, "PATH" or "PATH=LOCAL".  Errors: CONFIG. */
MUST_USE enum err roots_add(struct roots *, struct str text, struct arena *,
    struct why *);

/*
 * Where a requester's path lies here.  Slashes that say nothing are left out.
 * Errors: INPUT when it is not absolute, has a part "." or "..", also as "%2e",
 * a control character, "$" or "`", is too long, or lies below no root.
 */
MUST_USE enum err roots_to_local(const struct roots *, struct str path,
    struct arena *, struct str *local, struct why *);
/* The root of a path here, and the path as messages say it; NULL: of none. */
const struct root *roots_find_local(const struct roots *, struct str local);
struct str roots_to_message(const struct roots *, struct str local,
    struct arena *);

#endif
