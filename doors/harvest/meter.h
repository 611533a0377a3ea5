/*
 * meter -- the door's metrics.
 *
 * Thread: any.
 */
#ifndef DOORS_HARVEST_METER_H
#define DOORS_HARVEST_METER_H

#include "doors/harvest/letter.h"
#include "doors/harvest/queue_table.h"
#include "engine/store/store_outbox.h"
#include "os/broker.h"

void harvest_meter_register(void);
void harvest_meter_start(void);              /* a start message was accepted */
void harvest_meter_stop(void);               /* a stop was obeyed or kept */
void harvest_meter_letter(enum letter_reason);
void harvest_meter_result(enum broker_result);
void harvest_meter_disconnected(void);
void harvest_meter_outbox(const struct store_outbox_totals *, bool full);
/* Of a queue: harvests that run, messages that wait, consumers. */
void harvest_meter_queue(const struct queue_row *, unsigned used,
    uint32_t waiting, uint32_t consumers);
void harvest_meter_letters(uint32_t waiting);
void harvest_meter_oldest(int64_t s);        /* message of the outbox */
void harvest_meter_slots(int64_t more);      /* used ones */
void harvest_meter_deliveries(int64_t more); /* in hand */
void harvest_meter_faults(unsigned n);       /* of a harvest that has ended */

#endif
