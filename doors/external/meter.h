/*
 * meter -- the door's metrics.
 *
 * Thread: any.
 */
#ifndef DOORS_EXTERNAL_METER_H
#define DOORS_EXTERNAL_METER_H

#include "base/base.h"

void external_meter_register(void);
void external_meter_documents(size_t good, size_t rejected);
/* A request or a task met a limit: "tasks_max". */
void external_meter_limit(const char *name);
/* A refresh of a grant has ended. */
void external_meter_refresh(bool is_done);
/* A call about signing in: "begun", "signed_in", "refused". */
void external_meter_oauth(const char *outcome);
/* As they are now. */
void external_meter_open(size_t tasks, uint64_t spool_bytes);

#endif
