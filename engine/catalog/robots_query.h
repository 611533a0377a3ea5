/*
 * robots_query -- what the stored robots.txt of a host says of a URL.
 */
#ifndef ENGINE_CATALOG_ROBOTS_QUERY_H
#define ENGINE_CATALOG_ROBOTS_QUERY_H

#include "engine/catalog/catalog.h"

/*
 * The verdict for a canonical URL; with an empty `user_agent` for that of the
 * settings.  `out` is all 0 before, and stays so when no robots.txt is stored.
 * Memory: `a`.  Thread: any; it reads the index.
 */
void robots_verdict_read(const struct catalog *, struct str url,
    struct str user_agent, struct arena *a, struct robots_verdict *out);

#endif
