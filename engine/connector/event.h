/*
 * event -- a server-sent event, from the lines that the driver has cut off the
 * stream at an empty one.
 *
 * Thread: any; pure.
 * Source: https://html.spec.whatwg.org/ §9.2.6.
 */
#ifndef ENGINE_CONNECTOR_EVENT_H
#define ENGINE_CONNECTOR_EVENT_H

#include "base/arena.h"

/*
 * Its name, "message" when it has none, and its data, whose lines are joined by
 * a newline.  False: it has no data, and is none.  Memory: `a`.
 */
bool event_read(struct str lines, struct arena *a, struct str *name,
    struct str *data);

#endif
