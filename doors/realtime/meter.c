#include "doors/realtime/meter.h"

#include "base/metric.h"
#include "doors/realtime/own.h"

/* "other" is the last. */
static const char *const closes[] = { "1000", "1001", "1002", "1003", "1005",
    "1006", "1007", "1008", "1009", "1011", "1013", "other" };

static const char *const kinds[] = {
	SUB_KINDS(TABLE_SECOND)
};
/* The last one counts messages that were no command. */
static const char *const verbs[] = {
#define VERB_TEXT(id, handler, name, ...) name,
	REALTIME_COMMANDS(VERB_TEXT)
#undef VERB_TEXT
	"none"
};
static const char *const codes[] = {
	REALTIME_CODES(TABLE_SECOND)
};
_Static_assert(ARRAY_LEN(verbs) * CODE_COUNT <= METRIC_LABELS_MAX, "too many");

#define PLAIN(X)                                                             \
	X(CONNECTIONS, GAUGE, "realtime_connections",                        \
	    "WebSockets that are open.")                                     \
	X(LATENCY, SECONDS, "realtime_event_latency_seconds",                \
	    "From the commit of an item to the socket.")                     \
	X(BYTES, COUNTER, "realtime_bytes_sent_total",                       \
	    "Bytes of responses and events.")                                \
	X(STALLED, GAUGE, "realtime_stalled_connections",                    \
	    "Connections whose client takes nothing.")                       \
	X(LAG, GAUGE, "realtime_subscriber_lag_items",                       \
	    "Items that the client furthest behind has not got.")            \
	X(DROPPED, COUNTER, "realtime_frames_dropped_total",                 \
	    "Frames of the monitor that clients were too slow for.")          \
	X(PACKAGES, GAUGE, "realtime_wacz_running",                          \
	    "WACZ packages that are being made and sent.")
enum { PLAIN(METRIC_ENUM) };
enum { METRIC_SUBSCRIPTIONS, METRIC_COMMANDS, METRIC_EVENTS, METRIC_CLOSED };

static struct metric metrics[] = { PLAIN(METRIC_ROW) };
static struct metric labelled[] = {
	[METRIC_SUBSCRIPTIONS] = METRIC_BY(GAUGE, "realtime_subscriptions",
	    "Subscriptions that are open.", "kind", kinds, SUB_KIND_COUNT),
	[METRIC_COMMANDS] = METRIC_BY2(COUNTER, "realtime_commands_total",
	    "Commands that were answered.", "command", verbs,
	    VERB_COUNT + 1, "code", codes, CODE_COUNT),
	[METRIC_EVENTS] = METRIC_BY(COUNTER, "realtime_events_total",
	    "Events that were sent.", "kind", kinds, SUB_KIND_COUNT),
	[METRIC_CLOSED] = METRIC_BY(COUNTER, "realtime_closed_total",
	    "Connections that ended.", "code", closes, ARRAY_LEN(closes)),
};

void
realtime_meter_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
	metric_register(labelled, ARRAY_LEN(labelled));
}

void
meter_connections(int64_t more)
{
	metric_add(&metrics[METRIC_CONNECTIONS], more);
}

void
meter_closed(int code)
{
	char text[16];
	size_t i = 0;

	(void)snprintf(text, sizeof(text), "%d", code);
	while (i + 1 < ARRAY_LEN(closes) && strcmp(closes[i], text) != 0)
		i++;
	metric_add_by(&labelled[METRIC_CLOSED], i, 1);
}

void
meter_subscription(unsigned kind, int64_t more)
{
	metric_add_by(&labelled[METRIC_SUBSCRIPTIONS], kind, more);
}

void
meter_command(enum verb verb, enum code code)
{
	metric_add_by(&labelled[METRIC_COMMANDS],
	    (size_t)verb * CODE_COUNT + (size_t)code, 1);
}

void
meter_event(unsigned kind)
{
	metric_add_by(&labelled[METRIC_EVENTS], kind, 1);
}

void
meter_bytes(size_t n)
{
	metric_add(&metrics[METRIC_BYTES], (int64_t)n);
}

void
meter_latency(int64_t ns)
{
	metric_observe(&metrics[METRIC_LATENCY], MAX(ns, 0));
}

void
meter_frames_dropped(uint64_t n)
{
	metric_add(&metrics[METRIC_DROPPED], (int64_t)n);
}

void
meter_packages(int64_t more)
{
	metric_add(&metrics[METRIC_PACKAGES], more);
}

void
meter_now(uint64_t stalled, uint64_t lag)
{
	metric_set(&metrics[METRIC_STALLED], (int64_t)stalled);
	metric_set(&metrics[METRIC_LAG], (int64_t)lag);
}
