#include "doors/harvest/meter.h"

#include "base/metric.h"

static const char *const reasons[] = {
#define REASON(name, text) text,
	LETTER_REASONS(REASON)
#undef REASON
};
/* By enum broker_result. */
static const char *const results[] = { "confirmed", "returned", "refused",
	"lost", "unsent" };

enum { STARTS, STOPS, LETTERS, RESULTS, DISCONNECTS, MESSAGES, BYTES, FULL,
	SLOTS, DELIVERIES, FAULTS };
static struct metric metrics[] = {
	[STARTS] = METRIC(COUNTER, "argiope_harvest_door_starts_total",
	    "Start messages accepted."),
	[STOPS] = METRIC(COUNTER, "argiope_harvest_door_stops_total",
	    "Stops that were obeyed or kept for their start."),
	[LETTERS] = METRIC_BY(COUNTER, "argiope_harvest_door_letters_total",
	    "Dead letters.", "reason", reasons, ARRAY_LEN(reasons)),
	[RESULTS] = METRIC_BY(COUNTER, "argiope_harvest_door_published_total",
	    "Messages of the outbox, by what the broker said.", "result",
	    results, ARRAY_LEN(results)),
	[DISCONNECTS] = METRIC(COUNTER,
	    "argiope_harvest_door_disconnects_total",
	    "Connections to the broker that were lost or not made."),
	[MESSAGES] = METRIC(GAUGE, "argiope_harvest_door_outbox_messages",
	    "Messages that the broker has not confirmed."),
	[BYTES] = METRIC(GAUGE, "argiope_harvest_door_outbox_bytes",
	    "Their bodies, bytes."),
	[FULL] = METRIC(GAUGE, "argiope_harvest_door_outbox_full",
	    "1: harvests pause until the broker has confirmed some."),
	[DELIVERIES] = METRIC(GAUGE, "argiope_harvest_door_deliveries",
	    "Start messages and stops that are not acknowledged yet."),
	[FAULTS] = METRIC(COUNTER, "argiope_harvest_door_faults_total",
	    "Faults of ended harvests that count against harvest.tries_max."),
	[SLOTS] = METRIC(GAUGE, "argiope_harvest_door_slots_used",
	    "Slots of queues that harvests use."),
};

void
harvest_meter_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

void
harvest_meter_start(void)
{
	metric_add(&metrics[STARTS], 1);
}

void
harvest_meter_stop(void)
{
	metric_add(&metrics[STOPS], 1);
}

void
harvest_meter_letter(enum letter_reason r)
{
	metric_add_by(&metrics[LETTERS], r, 1);
}

void
harvest_meter_result(enum broker_result r)
{
	metric_add_by(&metrics[RESULTS], r, 1);
}

void
harvest_meter_disconnected(void)
{
	metric_add(&metrics[DISCONNECTS], 1);
}

void
harvest_meter_outbox(const struct store_outbox_totals *t, bool full)
{
	metric_set(&metrics[FULL], full);
	metric_set(&metrics[MESSAGES], (int64_t)t->messages);
	metric_set(&metrics[BYTES], (int64_t)t->bytes);
}

void
harvest_meter_slots(int64_t more)
{
	metric_add(&metrics[SLOTS], more);
}

void
harvest_meter_deliveries(int64_t more)
{
	metric_add(&metrics[DELIVERIES], more);
}

void
harvest_meter_faults(unsigned n)
{
	metric_add(&metrics[FAULTS], n);
}
