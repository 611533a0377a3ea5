/*
 * meter -- the door's metrics: docs/protocols/realtime.md section 12.
 *
 * Thread: any.
 */
#ifndef DOORS_REALTIME_METER_H
#define DOORS_REALTIME_METER_H

#include "doors/realtime/command.h"

void realtime_meter_register(void);
void meter_connections(int64_t more);
void meter_closed(int code);
void meter_subscription(unsigned kind, int64_t more);  /* enum sub_kind */
void meter_command(enum verb, enum code);
void meter_event(unsigned kind);
void meter_bytes(size_t);
/* The time from an item's commit to its sending. */
void meter_latency(int64_t ns);
void meter_frames_dropped(uint64_t);
void meter_packages(int64_t more);
/* Current values: stalled sockets, and the lag of the slowest reader. */
void meter_now(uint64_t stalled, uint64_t lag);

#endif
