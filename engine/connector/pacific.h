/*
 * pacific -- days as Los Angeles has them, at whose midnight Google's daily
 * quotas begin anew.
 *
 * Thread: any; pure.
 * Source: the rules of the United States since 2007 (15 U.S.C. §260a).
 */
#ifndef ENGINE_CONNECTOR_PACIFIC_H
#define ENGINE_CONNECTOR_PACIFIC_H

#include "base/time.h"

/* The first midnight there that is after `now`. */
struct wall pacific_midnight(struct wall now);

#endif
