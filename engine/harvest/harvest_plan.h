/*
 * harvest_plan -- runs of schedules that harvest.  Private to engine/harvest.
 *
 * Thread: the main loop's.
 */
#ifndef ENGINE_HARVEST_HARVEST_PLAN_H
#define ENGINE_HARVEST_HARVEST_PLAN_H

#include "engine/control/control.h"

/* Begin a run, unless the last one is not over; of engine_use_harvests(). */
void harvest_plan_begin(void *service, struct scheduled_harvest *);

#endif
