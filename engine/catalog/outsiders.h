/*
 * outsiders -- crawls of the urlfrontier door on the registry: looked at once a
 * second, told of when they changed.  Private to engine/.
 *
 * Of a row `queued` are URLs that wait or are leased, `items` those that the
 * outsiders called completed; there is no capture of them here.  Figures may be
 * ahead of the disk by the groups under way.
 *
 * Thread: home's.
 * Limits: OUTSIDERS_MAX; crawls beyond it, in no order, are not shown.
 */
#ifndef ENGINE_CATALOG_OUTSIDERS_H
#define ENGINE_CATALOG_OUTSIDERS_H

#include "engine/engine.h"

#define OUTSIDERS_MAX 10000u

struct outsiders;
struct outsiders *outsiders_new(struct engine *);
void outsiders_start(struct outsiders *);    /* the loops run */
void outsiders_stop(struct outsiders *);     /* nothing more is asked */
void outsiders_free(struct outsiders **);

#endif
