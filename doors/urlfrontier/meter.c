/*
 * The door's figures.  The names without "argiope" are those that dashboards of
 * URL Frontier know.
 */
#include "base/metric.h"
#include "doors/urlfrontier/urlfrontier_own.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/system.h"

#define LOOK_MS 1000
/*
 * Many calls at once, of which few are left: what they had is given back to the
 * system, which the allocator does by itself for the end of a heap only.
 */
#define TRIM_CALLS_MIN 64u
#define TRIM_PART 4u
#define TRIM_MS 10000

static const char *const rpcs[] = {
#define RPC_NAME(id, name, ...) name,
	URLFRONTIER_RPCS(RPC_NAME)
#undef RPC_NAME
};
static const char *const codes[] = {
#define CODE_NAME(name) #name,
	GRPC_CODES(CODE_NAME)
#undef CODE_NAME
};
static const char *const kinds[] = { "true", "false" };
static const char *const statuses[] = { "OK", "SKIPPED", "FAIL" };

/* In the order of enum meter_count. */
#define COUNTS(X)                                                            \
	X(GETS, COUNTER, "frontier_getURLs_calls_total",                     \
	    "GetURLs calls.")                                                \
	X(GOT, COUNTER, "frontier_getURLs_total", "URLs sent by GetURLs.")   \
	X(PUTS, COUNTER, "frontier_putURLs_calls_total", "PutURLs calls.")   \
	X(PUT_BATCHES, COUNTER, "frontier_putDiscovered_calls_total",        \
	    "PutDiscovered calls.")                                          \
	X(ITEMS, COUNTER, "frontier_putURLs_total",                          \
	    "URLs received by PutURLs and PutDiscovered.")                   \
	X(IGNORED, COUNTER, "frontier_putURLs_ignored_total",                \
	    "Discovered URLs that were skipped.")                            \
	X(COMPLETED, COUNTER, "frontier_putURLs_completed_total",            \
	    "Known URLs that were completed.")                               \
	X(EXAMINED, COUNTER, "frontier_getURLs_queues_examined_total",       \
	    "Queues that GetURLs looked at.")                                \
	X(SCANNED, COUNTER, "argiope_urlfrontier_scanned_total",             \
	    "Records that listings, counts and purges read.")                \
	X(NOTREADY, COUNTER, "frontier_putURLs_forward_notready_total",      \
	    "URLs that another node was not ready to take.")                 \
	X(START_REFUSED, COUNTER, "argiope_urlfrontier_start_refused_total", \
	    "Calls refused during the start (urlfrontier.start_calls_max).")

#define GAUGES(X)                                                            \
	X(ACTIVE, GAUGE, "frontier_urls_active", "URLs to be fetched.")      \
	X(DONE, GAUGE, "frontier_urls_completed", "URLs completed.")         \
	X(IN_PROCESS, GAUGE, "frontier_urls_in_process", "URLs leased.")     \
	X(QUEUES, GAUGE, "frontier_queues", "Queues, empty ones too.")       \
	X(DUE, GAUGE, "frontier_queues_due",                                 \
	    "Queues that may be served now.")                                \
	X(BLOCKED, GAUGE, "frontier_queues_blocked",                         \
	    "Queues that are blocked; counted every few seconds.")           \
	X(LAG, GAUGE, "frontier_due_lag_seconds",                            \
	    "How late the queues are whose turn is next.")                   \
	X(STREAMS, GAUGE, "frontier_streams_open",                           \
	    "PutURLs and PutDiscovered streams.")                            \
	X(LISTINGS, GAUGE, "argiope_urlfrontier_listings",                   \
	    "ListURLs calls that are open.")                                 \
	X(READING, GAUGE, "argiope_urlfrontier_counts",                      \
	    "CountURLs and PurgeURLs calls that read.")                      \
	X(WAITING, GAUGE, "argiope_urlfrontier_scans_waiting",               \
	    "Listings, counts and purges that have not begun to read.")      \
	X(HELD, GAUGE, "argiope_urlfrontier_calls_held",                     \
	    "Calls that wait for the end of the start.")                     \
	X(PUT_BYTES, GAUGE, "argiope_urlfrontier_put_bytes",                 \
	    "Memory of URLs that are not acknowledged yet.")

#define TIMES(X)                                                             \
	X(GET_SECONDS, SECONDS, "frontier_getURLs_latency_seconds",          \
	    "GetURLs calls, to their end.")                                  \
	X(ACK_SECONDS, SECONDS, "frontier_put_ack_seconds",                  \
	    "From a group of URLs to their acknowledgements.")

enum { COUNTS(METRIC_ENUM) GAUGES(METRIC_ENUM) TIMES(METRIC_ENUM) };
enum { METRIC_KINDS, METRIC_ACKS, METRIC_CALLS };

static struct metric metrics[] = { COUNTS(METRIC_ROW) GAUGES(METRIC_ROW)
    TIMES(METRIC_ROW) };
static struct metric labelled[] = {
	[METRIC_KINDS] = METRIC_BY(COUNTER,
	    "frontier_putURLs_discovered_total",
	    "URLs received, discovered ones and known ones.", "discovered",
	    kinds, ARRAY_LEN(kinds)),
	[METRIC_ACKS] = METRIC_BY(COUNTER, "frontier_acks_total",
	    "URLs answered for, by status.", "status", statuses,
	    ARRAY_LEN(statuses)),
	[METRIC_CALLS] = METRIC_BY2(SECONDS, "frontier_rpc_seconds",
	    "Calls, to their end.", "rpc", rpcs, RPC_COUNT, "code", codes,
	    GRPC_CODE_COUNT),
};

_Static_assert((int)METRIC_START_REFUSED == (int)METER_START_REFUSED,
    "the order");

const char *
urlfrontier_rpc_name(enum urlfrontier_rpc rpc)
{
	return rpcs[rpc];
}

void
meter_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
	metric_register(labelled, ARRAY_LEN(labelled));
}

/* ---- What happens -------------------------------------------------------- */

void
meter_count(enum meter_count what, uint64_t n)
{
	if (n > 0)
		metric_add(&metrics[what], (int64_t)n);
}

void
meter_held(unsigned calls)
{
	metric_set(&metrics[METRIC_HELD], (int64_t)calls);
}

void
meter_kinds(uint64_t discovered, uint64_t known)
{
	if (discovered > 0)
		metric_add_by(&labelled[METRIC_KINDS], 0,
		    (int64_t)discovered);
	if (known > 0)
		metric_add_by(&labelled[METRIC_KINDS], 1, (int64_t)known);
}

void
meter_acks(const uint64_t n[static 3], int64_t ns)
{
	for (size_t i = 0; i < 3; i++)
		if (n[i] > 0)
			metric_add_by(&labelled[METRIC_ACKS], i,
			    (int64_t)n[i]);
	if (n[0] + n[1] + n[2] > 0)
		metric_observe(&metrics[METRIC_ACK_SECONDS], ns);
}

void
meter_get(int64_t ns)
{
	metric_observe(&metrics[METRIC_GET_SECONDS], ns);
}

void
meter_call(enum urlfrontier_rpc rpc, enum grpc_code code, int64_t ns)
{
	metric_observe_by(&labelled[METRIC_CALLS],
	    (size_t)rpc * GRPC_CODE_COUNT + (size_t)code, ns);
}

void
meter_streams(int64_t more)
{
	metric_add(&metrics[METRIC_STREAMS], more);
}

/* ---- What is ------------------------------------------------------------- */

static void
look_again(struct urlfrontier *d)
{
	loop_timer_set(d->loop, &d->look,
	    mono_add_ms(loop_now(d->loop), LOOK_MS));
}

static void
trim(struct urlfrontier *d)
{
	struct mono now = clock_mono();

	if (d->calls_most < TRIM_CALLS_MIN ||
	    d->calls_n > d->calls_most / TRIM_PART ||
	    mono_before(now, mono_add_ms(d->trimmed, TRIM_MS)))
		return;
	system_malloc_trim();
	d->trimmed = now;
	d->calls_most = d->calls_n;
	log_debug("urlfrontier.trim", "us=%lld",
	    (long long)(mono_ns_between(now, clock_mono()) / 1000));
}

static void
seen(struct lease_call *c)
{
	struct urlfrontier *d = CONTAINER(c, struct urlfrontier, totals.call);
	const struct lease_stats *s = &d->totals.stats;

	d->looking = false;
	if (c->result == OK) {
		metric_set(&metrics[METRIC_ACTIVE], (int64_t)s->active);
		metric_set(&metrics[METRIC_DONE], (int64_t)s->completed);
		metric_set(&metrics[METRIC_IN_PROCESS], (int64_t)s->leased);
		metric_set(&metrics[METRIC_QUEUES], (int64_t)s->queues);
		metric_set(&metrics[METRIC_DUE], (int64_t)s->ready);
		metric_set(&metrics[METRIC_BLOCKED], (int64_t)s->blocked);
		metric_set(&metrics[METRIC_LAG], (int64_t)s->lag_s);
		metric_set(&metrics[METRIC_LISTINGS], (int64_t)s->listings);
		metric_set(&metrics[METRIC_READING], (int64_t)s->counts);
		metric_set(&metrics[METRIC_WAITING], (int64_t)s->waiting);
		meter_count(METER_SCANNED, s->scanned - d->scanned);
		d->scanned = s->scanned;
	}
	metric_set(&metrics[METRIC_PUT_BYTES], (int64_t)d->put_bytes);
	urlfrontier_check_tokens(d);
	trim(d);
	if (!d->draining)
		look_again(d);
}

static void
look(struct timer *t)
{
	struct urlfrontier *d = CONTAINER(t, struct urlfrontier, look);

	d->looking = true;
	d->totals.verb = LEASE_TOTALS;
	d->totals.call.home = d->loop;
	d->totals.call.done = seen;
	lease_control(d->frontier, &d->totals);
}

void
meter_start(struct urlfrontier *d)
{
	d->look.fire = look;
	look(&d->look);
}

void
meter_stop(struct urlfrontier *d)
{
	loop_timer_stop(d->loop, &d->look);
}
