/*
 * engines -- opening the data directory for a verb, and finding a crawl in it.
 */
#ifndef CLI_ENGINES_H
#define CLI_ENGINES_H

#include "engine/control/control.h"

typedef enum err engines_open_fn(const struct engine_options *,
    struct engine **, struct why *);
/*
 * engine_open() or engine_lock(), with a hint for the one who finds the data in
 * use.
 */
MUST_USE enum err engines_open(engines_open_fn *,
    const struct engine_options *, struct engine **, struct why *);

/*
 * The crawl of that name, else of that number, else, with an empty name, the
 * newest that can go on.  Before engine_start().  Errors: ABSENT.
 */
MUST_USE enum err engines_find(struct engine *, struct str name,
    uint32_t *id, struct why *);

#endif
