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
	SLOTS, DELIVERIES, FAULTS, WAITING, CONSUMERS, USED, DEAD, OLDEST };
/* By the rows of the table. */
static const char *queues[QUEUE_TABLE_N];
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
	[WAITING] = METRIC_BY(GAUGE, "argiope_harvest_door_queue_messages",
	    "Start messages that wait in the broker.", "queue", queues,
	    QUEUE_TABLE_N),
	[CONSUMERS] = METRIC_BY(GAUGE,
	    "argiope_harvest_door_queue_consumers", "Consumers of a queue, "
	    "of all daemons.", "queue", queues, QUEUE_TABLE_N),
	[USED] = METRIC_BY(GAUGE, "argiope_harvest_door_queue_slots_used",
	    "Harvests of a queue that run here.", "queue", queues,
	    QUEUE_TABLE_N),
	[DEAD] = METRIC(GAUGE, "argiope_harvest_door_letters_waiting",
	    "Dead letters in argiope_dead."),
	[OLDEST] = METRIC(GAUGE, "argiope_harvest_door_outbox_oldest_seconds",
	    "Age of the oldest message that the broker has not confirmed."),
	[SLOTS] = METRIC(GAUGE, "argiope_harvest_door_slots_used",
	    "Slots of queues that harvests use."),
};

void
harvest_meter_register(void)
{
	for (size_t i = 0; i < QUEUE_TABLE_N; i++)
		queues[i] = queue_table_at(i)->name;
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

void
harvest_meter_queue(const struct queue_row *row, unsigned used,
    uint32_t waiting, uint32_t consumers)
{
	size_t i = 0;

	while (queue_table_at(i) != row)
		i++;
	metric_set_by(&metrics[USED], i, used);
	metric_set_by(&metrics[WAITING], i, waiting);
	metric_set_by(&metrics[CONSUMERS], i, consumers);
}

void
harvest_meter_letters(uint32_t waiting)
{
	metric_set(&metrics[DEAD], waiting);
}

void
harvest_meter_oldest(int64_t s)
{
	metric_set(&metrics[OLDEST], s);
}
