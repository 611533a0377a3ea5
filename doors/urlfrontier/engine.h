/*
 * engine -- crawls of the engine's own, shown beside those of this door
 * (urlfrontier.engine_crawls): read-only, by the name "crawl/7".
 *
 * The files that ask the frontier ask here, where it may be either kind.
 *
 * Thread: the door's loop.
 */
#ifndef DOORS_URLFRONTIER_ENGINE_H
#define DOORS_URLFRONTIER_ENGINE_H

#include "doors/urlfrontier/urlfrontier_own.h"

/* CONFIG: they are shown by a node that is alone. */
MUST_USE enum err engine_crawls_open(struct urlfrontier *, const struct conf *,
    struct why *);
/*
 * Is this the name of one that is shown here, or would be?  Then what is put to
 * it is SKIPPED, and nothing of it is served.
 */
bool engine_crawls_have(const struct urlfrontier *, struct str name);
/* True: the call would change one, and has been told that it may not. */
bool engine_crawls_refuse(struct door_call *, struct str crawl);
/* As in lease_service.h. */
void engine_crawls_list(struct urlfrontier *, struct lease_list *);
void engine_crawls_control(struct urlfrontier *, struct lease_control *);
void engine_crawls_status_of(struct urlfrontier *,
    struct lease_status_of *);

#endif
