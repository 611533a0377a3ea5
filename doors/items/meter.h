/*
 * meter -- the door's metrics.
 *
 * Thread: any.
 */
#ifndef DOORS_ITEMS_METER_H
#define DOORS_ITEMS_METER_H

#include "base/base.h"

void items_meter_register(void);
/* A limit was met: `field` is that of the error. */
void items_meter_limit(const char *field);
/* The same by its name in ITEM_LIMITS. */
void items_meter_limit_named(const char *limit);
void items_meter_claims(int64_t more);       /* that wait */
void items_meter_readers(int64_t more);      /* of events */
void items_meter_lagged(void);
void items_meter_lines(int64_t lines);       /* imported */

#endif
