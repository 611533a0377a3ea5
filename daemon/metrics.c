#include "daemon/metrics.h"

#include "base/metric.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/system.h"

/* --- the tables ---------------------------------------------------------- */

static const char *const outcomes[] = { "item", "exception", "skipped",
	"sitemap" };
static const char *const classes[] = { "none", "1xx", "2xx", "3xx", "4xx",
	"5xx" };
static const char *const exceptions[] = {
	EXCEPTIONS(TABLE_SECOND)
};
static const char *const skips[] = {
	SKIP_TABLE(TABLE_SECOND)
};
static const char *const host_states[] = { "ready", "delayed", "backoff" };

#define DAEMON_METRICS(X)                                                    \
	X(DUPLICATES, COUNTER, "argiope_duplicates_total",                   \
	    "Captures whose content was archived before.")                   \
	X(BODY_BYTES, COUNTER, "argiope_body_bytes_total",                   \
	    "Bytes of bodies as received.")                                  \
	X(WARC_BYTES, COUNTER, "argiope_warc_bytes_total",                   \
	    "Bytes written to WARC files.")                                  \
	X(QUEUED, GAUGE, "argiope_queued_urls",                              \
	    "URLs that wait or are leased, all crawls.")                     \
	X(LEASED, GAUGE, "argiope_leased_urls",                              \
	    "URLs that are leased, all crawls.")                             \
	X(REQUESTS, COUNTER, "argiope_fetch_requests_total",                 \
	    "HTTP requests sent.")                                           \
	X(BYTES_IN, COUNTER, "argiope_fetch_bytes_total",                    \
	    "Bytes received by the fetching loops.")                         \
	X(IN_FLIGHT, GAUGE, "argiope_fetch_in_flight",                       \
	    "Requests under way.")                                           \
	X(UNCOMMITTED, GAUGE, "argiope_pages_uncommitted",                   \
	    "Pages handed to the ledger and not yet durable.")               \
	X(LEDGER_WAITING, GAUGE, "argiope_ledger_waiting_bytes",             \
	    "Bytes gathered and not yet durable.")                           \
	X(HEALTH, GAUGE, "argiope_ledger_health",                            \
	    "0 fine, 1 waiting for disk space, 2 failed.")                   \
	X(GROUPS, COUNTER, "argiope_ledger_groups_total",                    \
	    "Commit groups that became durable.")                            \
	X(SYNC_NS, COUNTER, "argiope_ledger_sync_nanoseconds_total",         \
	    "Time spent in syncs of commit groups.")                         \
	X(CPU_MS, COUNTER, "argiope_process_cpu_milliseconds_total",         \
	    "Processor time of this process.")                               \
	X(RSS, GAUGE, "argiope_process_resident_bytes",                      \
	    "Resident memory of this process.")                              \
	X(WEB_REQUESTS, COUNTER, "argiope_http_requests_total",              \
	    "Requests that the port has read.")                              \
	X(WEB_ACCEPTED, COUNTER, "argiope_http_accepted_total",              \
	    "Connections that the port has accepted.")                       \
	X(WEB_TIMEOUTS, COUNTER, "argiope_http_timeouts_total",              \
	    "Requests that did not come whole in time.")                     \
	X(WEB_BYTES_IN, COUNTER, "argiope_http_received_bytes_total",        \
	    "Bytes that the port has read.")                                 \
	X(WEB_BYTES_OUT, COUNTER, "argiope_http_sent_bytes_total",           \
	    "Bytes that the port's clients have taken.")                     \
	X(WEB_OPEN, GAUGE, "argiope_http_connections",                       \
	    "Connections of the port that are open.")                        \
	X(WEB_SOCKETS, GAUGE, "argiope_http_websockets",                     \
	    "WebSockets that are open.")                                     \
	X(WEB_KEPT, GAUGE, "argiope_http_requests_kept",                     \
	    "Requests whose answer is being worked at.")
enum { DAEMON_METRICS(METRIC_ENUM) METRIC_URLS, METRIC_STATUS,
	METRIC_EXCEPTIONS, METRIC_SKIPS, METRIC_HOSTS };

static struct metric metrics[] = {
	DAEMON_METRICS(METRIC_ROW)
	[METRIC_URLS] = METRIC_BY(COUNTER, "argiope_urls_total",
	    "URLs that were settled, by outcome.", "outcome", outcomes,
	    ARRAY_LEN(outcomes)),
	[METRIC_STATUS] = METRIC_BY(COUNTER, "argiope_items_total",
	    "Captures by class of their status.", "class", classes,
	    ARRAY_LEN(classes)),
	[METRIC_EXCEPTIONS] = METRIC_BY(COUNTER, "argiope_exceptions_total",
	    "URLs that could not be captured, by reason.", "reason", exceptions,
	    ARRAY_LEN(exceptions)),
	[METRIC_SKIPS] = METRIC_BY(GAUGE, "argiope_skipped",
	    "URLs that were found and not fetched, by reason.", "reason",
	    skips, ARRAY_LEN(skips)),
	[METRIC_HOSTS] = METRIC_BY(GAUGE, "argiope_hosts",
	    "Hosts with work, by what they wait for.", "state", host_states,
	    ARRAY_LEN(host_states)),
};

void
metrics_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

/* --- the engine and the port --------------------------------------------- */

static void
grown(size_t metric, size_t label, uint64_t before, uint64_t now)
{
	if (now > before)
		metric_add_by(&metrics[metric], label, (int64_t)(now - before));
}

/* A counter that follows a figure kept elsewhere. */
static void
follow(size_t metric, uint64_t value)
{
	grown(metric, 0, (uint64_t)metric_value(&metrics[metric], 0), value);
}

static void
count_web(const struct web *web)
{
	struct web_counts n;

	web_counts(web, &n);
	follow(METRIC_WEB_REQUESTS, n.requests);
	follow(METRIC_WEB_ACCEPTED, n.accepted);
	follow(METRIC_WEB_TIMEOUTS, n.timeouts);
	follow(METRIC_WEB_BYTES_IN, n.bytes_in);
	follow(METRIC_WEB_BYTES_OUT, n.bytes_out);
	metric_set(&metrics[METRIC_WEB_OPEN], (int64_t)n.connections);
	metric_set(&metrics[METRIC_WEB_SOCKETS], (int64_t)n.sockets);
	metric_set(&metrics[METRIC_WEB_KEPT], (int64_t)n.requests_kept);
}

void
metrics_look(const struct engine_look *k, const struct web *web)
{
	int64_t cpu_ns, rss;

	follow(METRIC_REQUESTS, k->requests);
	follow(METRIC_BYTES_IN, k->bytes_in);
	metric_set(&metrics[METRIC_IN_FLIGHT], k->in_flight);
	metric_set(&metrics[METRIC_UNCOMMITTED], k->uncommitted);
	metric_set_by(&metrics[METRIC_HOSTS], 0, k->hosts_ready);
	metric_set_by(&metrics[METRIC_HOSTS], 1, k->hosts_delayed);
	metric_set_by(&metrics[METRIC_HOSTS], 2, k->hosts_backoff);
	metric_set(&metrics[METRIC_LEDGER_WAITING],
	    (int64_t)k->ledger_bytes_waiting);
	metric_set(&metrics[METRIC_HEALTH], k->health);
	follow(METRIC_GROUPS, k->groups);
	follow(METRIC_SYNC_NS, (uint64_t)k->sync_ns_sum);
	clock_process_use(&cpu_ns, &rss);
	follow(METRIC_CPU_MS, (uint64_t)(cpu_ns / NS_PER_MS));
	metric_set(&metrics[METRIC_RSS], (int64_t)system_rss_bytes());
	if (web != NULL)
		count_web(web);
}

/* --- crawls --------------------------------------------------------------- */

/* The values of a crawl that the metrics contain. */
struct counted_crawl {
	struct crawl_counts counts;
	enum crawl_state state;      /* that was logged */
};

/* Add what has changed of a crawl since `last`, and set that. */
static void
count_crawl(struct crawl_counts *last, const struct crawl_counts *n)
{
	grown(METRIC_URLS, 0, last->items, n->items);
	grown(METRIC_URLS, 1, crawl_exceptions(last), crawl_exceptions(n));
	grown(METRIC_URLS, 2, crawl_skips(last), crawl_skips(n));
	grown(METRIC_URLS, 3, last->aux, n->aux);
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		grown(METRIC_STATUS, i, last->status[i], n->status[i]);
	for (size_t i = 0; i < EXCEPTION_COUNT; i++)
		grown(METRIC_EXCEPTIONS, i, last->exceptions[i],
		    n->exceptions[i]);
	/* A URL that was skipped may be queued after all. */
	for (size_t i = 0; i < SKIP_COUNT; i++)
		metric_add_by(&metrics[METRIC_SKIPS], i, (int64_t)n->skips[i] -
		    (int64_t)last->skips[i]);
	grown(METRIC_DUPLICATES, 0, last->duplicates, n->duplicates);
	grown(METRIC_BODY_BYTES, 0, last->body_bytes, n->body_bytes);
	grown(METRIC_WARC_BYTES, 0, last->warc_bytes, n->warc_bytes);
	metric_add(&metrics[METRIC_QUEUED], (int64_t)n->queued -
	    (int64_t)last->queued);
	metric_add(&metrics[METRIC_LEASED], (int64_t)n->leased -
	    (int64_t)last->leased);
	*last = *n;
}

static struct counted_crawl *
counted_crawl(struct crawl_metrics *m, uint32_t id)
{
	struct counted_crawl *c = map_get_id(&m->crawls, id);

	if (c == NULL) {
		c = mem_new(sizeof(*c));
		map_put_id(&m->crawls, id, c);
	}
	return c;
}

void
crawl_metrics_view(struct crawl_metrics *m, const struct crawl_view *v)
{
	const struct crawl_row *row = crawl_row(m->registry, v->id);
	struct counted_crawl *c;

	if (row != NULL && row->deleted)
		return;
	c = counted_crawl(m, v->id);
	if (c->state != v->state)
		log_info("crawl.state", "crawl=%u state=%s reason=\"%s\" "
		    "items=%llu", v->id, crawl_state_name(v->state), v->reason,
		    (unsigned long long)v->counts.items);
	c->state = v->state;
	count_crawl(&c->counts, &v->counts);
}

/* Its counters stay in the sums; what it had waiting leaves the gauges. */
static void
forget_crawl(struct crawl_metrics *m, uint32_t id)
{
	static const struct crawl_counts none;
	struct counted_crawl *c = map_take_id(&m->crawls, id);

	if (c == NULL)
		return;
	count_crawl(&c->counts, &none);
	mem_free(&c);
}

static void
registry_changed(struct registry_watch *w)
{
	struct crawl_metrics *m = CONTAINER(w, struct crawl_metrics, watch);
	struct crawl_row *row = NULL;

	while ((row = crawl_registry_before(m->registry, row)) != NULL &&
	    row->changed > m->version)
		if (row->deleted)
			forget_crawl(m, row->id);
	m->version = crawl_registry_version(m->registry);
}

void
crawl_metrics_start(struct crawl_metrics *m, struct crawl_registry *registry)
{
	const struct crawl_row *row = NULL;
	uint32_t id = UINT32_MAX;

	m->registry = registry;
	while ((row = crawl_registry_below(registry, id)) != NULL) {
		id = row->id;
		if (row->deleted || row->view.kind == CRAWL_FRONTIER)
			continue;
		struct counted_crawl *c = counted_crawl(m, id);
		c->state = row->view.state;
		c->counts = row->view.counts;
		c->counts.queued = c->counts.leased = 0;
		memset(c->counts.skips, 0, sizeof(c->counts.skips));
		count_crawl(&c->counts, &row->view.counts);
	}
	m->version = crawl_registry_version(registry);
	m->watch.changed = registry_changed;
	crawl_registry_watch(registry, &m->watch);
}

void
crawl_metrics_stop(struct crawl_metrics *m)
{
	if (m->registry != NULL)
		crawl_registry_unwatch(&m->watch);
	m->registry = NULL;
	MAP_EACH(v, &m->crawls, void)
		mem_free(&v);
	map_free(&m->crawls);
}
