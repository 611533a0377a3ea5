/*
 * meter -- the door's metrics.
 *
 * Thread: any.
 */
#ifndef DOORS_HARVEST_METER_H
#define DOORS_HARVEST_METER_H

#include "doors/harvest/letter.h"
#include "engine/store/store_outbox.h"
#include "os/broker.h"

void harvest_meter_register(void);
void harvest_meter_start(void);              /* a start message was accepted */
void harvest_meter_stop(void);               /* a stop was obeyed or kept */
void harvest_meter_letter(enum letter_reason);
void harvest_meter_result(enum broker_result);
void harvest_meter_disconnected(void);
void harvest_meter_outbox(const struct store_outbox_totals *, bool full);
void harvest_meter_slots(int64_t more);      /* used ones */
void harvest_meter_deliveries(int64_t more); /* in hand */
void harvest_meter_faults(unsigned n);       /* of a harvest that has ended */

#endif
