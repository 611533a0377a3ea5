#include "cli/figures.h"

#include "base/metric.h"
#include "cli/format.h"
#include "cli/report.h"
#include "os/clock.h"
#include "os/system.h"
#include "server/json_writer.h"

size_t
figures_read(struct engine *e, struct arena *a, struct figure **out)
{
	struct arena specs = ARENA_INIT;
	struct crawl_view v;
	size_t at = 0, n = 0;

	while (engine_next_view(e, &at, &v))
		n++;
	*out = ARENA_ARRAY(a, struct figure, n + 1);
	at = n = 0;
	while (engine_next_view(e, &at, &v)) {
		struct figure *f = &(*out)[n++];
		struct crawl_spec spec;
		f->view = v;
		/* A daemon keeps this for ever, but not their policies. */
		arena_reset(&specs);
		if (frontier_spec(engine_frontier(e), v.id, &specs, &spec,
		    NULL) != OK)
			continue;
		f->name = arena_copy(a, spec.name);
		f->warc_dir = arena_copy(a, spec.warc_dir);
	}
	arena_free(&specs);
	return n;
}

static void
put_time(struct buf *b, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	if (t.us == 0)
		return;
	wall_to_iso(t, iso);
	json_str(b, name, str_of(iso));
}

static const char *
state_word(const struct figure *f)
{
	return f->interrupted ? "interrupted" :
	    crawl_state_name(f->view.state);
}

void
figures_json(const struct figure *f, struct buf *b)
{
	const struct crawl_view *v = &f->view;

	buf_put_char(b, '{');
	json_u64(b, "id", v->id);
	json_str(b, "name", f->name);
	json_str(b, "state", str_of(state_word(f)));
	json_str(b, "reason", str_of(v->reason));
	put_time(b, "created", v->created);
	put_time(b, "ended", v->ended);
	json_u64(b, "queues", v->queues);
	json_str(b, "warc_dir", f->warc_dir);
	json_name(b, "counts");
	report_counts_json(&v->counts, b);
	buf_put_char(b, '}');
}

static void
put_figure(const struct figure *f, struct buf *b)
{
	const struct crawl_counts *n = &f->view.counts;
	char one[FORMAT_MAX], two[FORMAT_MAX], iso[WALL_ISO_MAX];
	struct buf name = BUF_INIT;

	format_safe(&name, f->name.n > 0 ? f->name : STR("-"), 20);
	wall_to_iso(f->view.created, iso);
	buf_printf(b, "%4u  %-16s %-10s %10s %10s", f->view.id,
	    buf_text(&name), state_word(f),
	    format_count(n->items, one), format_count(n->queued, two));
	buf_printf(b, " %9s  %.10s %.5s\n", format_bytes(n->body_bytes, one),
	    iso, iso + 11);
	buf_put_text(b, "      ");
	if (f->view.reason[0] != '\0')
		buf_printf(b, "%s; ", f->view.reason);
	format_safe(b, f->warc_dir, 4000);
	buf_put_char(b, '\n');
	buf_free(&name);
}

void
figures_text(const struct figure *f, size_t n, struct buf *b)
{
	buf_printf(b, "%4s  %-16s %-10s %10s %10s %9s  %s\n", "id", "name",
	    "state", "captures", "queued", "bytes", "begun (UTC)");
	for (size_t i = 0; i < n; i++)
		put_figure(&f[i], b);
}

/* --- metrics ------------------------------------------------------------ */

static const char *const outcomes[] = { "item", "exception", "skipped",
	"sitemap" };
static const char *const classes[] = { "none", "1xx", "2xx", "3xx", "4xx",
	"5xx" };
static const char *const exceptions[] = {
#define NAME(name, word) word,
	EXCEPTIONS(NAME)
#undef NAME
};
static const char *const skips[] = {
#define NAME(name, word, text) word,
	SKIP_TABLE(NAME)
#undef NAME
};
static const char *const host_states[] = { "ready", "delayed", "backoff" };

enum { M_URLS, M_STATUS, M_EXCEPTIONS, M_SKIPS, M_DUPLICATES,
	M_BODY_BYTES, M_WARC_BYTES, M_QUEUED, M_LEASED, M_REQUESTS,
	M_BYTES_IN, M_IN_FLIGHT, M_UNCOMMITTED, M_HOSTS, M_LEDGER_WAITING,
	M_HEALTH, M_GROUPS, M_SYNC_NS, M_CPU_MS, M_RSS, M_COUNT };

static struct metric metrics[M_COUNT] = {
	[M_URLS] = METRIC_BY(COUNTER, "argiope_urls_total",
	    "URLs that were settled, by outcome.", "outcome", outcomes,
	    ARRAY_LEN(outcomes)),
	[M_STATUS] = METRIC_BY(COUNTER, "argiope_items_total",
	    "Captures by class of their status.", "class", classes,
	    ARRAY_LEN(classes)),
	[M_EXCEPTIONS] = METRIC_BY(COUNTER, "argiope_exceptions_total",
	    "URLs that could not be captured, by reason.", "reason", exceptions,
	    ARRAY_LEN(exceptions)),
	[M_SKIPS] = METRIC_BY(GAUGE, "argiope_skipped",
	    "URLs that were found and not fetched, by reason.", "reason",
	    skips, ARRAY_LEN(skips)),
	[M_DUPLICATES] = METRIC(COUNTER, "argiope_duplicates_total",
	    "Captures whose content was archived before."),
	[M_BODY_BYTES] = METRIC(COUNTER, "argiope_body_bytes_total",
	    "Bytes of bodies as received."),
	[M_WARC_BYTES] = METRIC(COUNTER, "argiope_warc_bytes_total",
	    "Bytes written to WARC files."),
	[M_QUEUED] = METRIC(GAUGE, "argiope_queued_urls",
	    "URLs that wait or are leased, all crawls."),
	[M_LEASED] = METRIC(GAUGE, "argiope_leased_urls",
	    "URLs that are leased, all crawls."),
	[M_REQUESTS] = METRIC(COUNTER, "argiope_fetch_requests_total",
	    "HTTP requests sent."),
	[M_BYTES_IN] = METRIC(COUNTER, "argiope_fetch_bytes_total",
	    "Bytes received by the fetching loops."),
	[M_IN_FLIGHT] = METRIC(GAUGE, "argiope_fetch_in_flight",
	    "Requests under way."),
	[M_UNCOMMITTED] = METRIC(GAUGE, "argiope_pages_uncommitted",
	    "Pages handed to the ledger and not yet durable."),
	[M_HOSTS] = METRIC_BY(GAUGE, "argiope_hosts",
	    "Hosts with work, by what they wait for.", "state", host_states,
	    ARRAY_LEN(host_states)),
	[M_LEDGER_WAITING] = METRIC(GAUGE, "argiope_ledger_waiting_bytes",
	    "Bytes gathered and not yet durable."),
	[M_HEALTH] = METRIC(GAUGE, "argiope_ledger_health",
	    "0 fine, 1 waiting for disk space, 2 failed."),
	[M_GROUPS] = METRIC(COUNTER, "argiope_ledger_groups_total",
	    "Commit groups that became durable."),
	[M_SYNC_NS] = METRIC(COUNTER, "argiope_ledger_sync_nanoseconds_total",
	    "Time spent in syncs of commit groups."),
	[M_CPU_MS] = METRIC(COUNTER, "argiope_process_cpu_milliseconds_total",
	    "Processor time of this process."),
	[M_RSS] = METRIC(GAUGE, "argiope_process_resident_bytes",
	    "Resident memory of this process."),
};

void
figures_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

/* A counter that follows a figure kept elsewhere. */
static void
follow(size_t metric, size_t label, uint64_t value)
{
	int64_t now = metric_value(&metrics[metric], label);

	if ((int64_t)value > now)
		metric_add_by(&metrics[metric], label, (int64_t)value - now);
}

static void
grown(size_t metric, size_t label, uint64_t before, uint64_t now)
{
	if (now > before)
		metric_add_by(&metrics[metric], label, (int64_t)(now - before));
}

void
figures_count(struct crawl_counts *last, const struct crawl_view *v)
{
	const struct crawl_counts *n = &v->counts;

	grown(M_URLS, 0, last->items, n->items);
	grown(M_URLS, 1, crawl_exceptions(last), crawl_exceptions(n));
	grown(M_URLS, 2, crawl_skips(last), crawl_skips(n));
	grown(M_URLS, 3, last->aux, n->aux);
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		grown(M_STATUS, i, last->status[i], n->status[i]);
	for (size_t i = 0; i < EXCEPTION_COUNT; i++)
		grown(M_EXCEPTIONS, i, last->exceptions[i], n->exceptions[i]);
	/* A URL that was skipped may be queued after all. */
	for (size_t i = 0; i < SKIP_COUNT; i++)
		metric_add_by(&metrics[M_SKIPS], i, (int64_t)n->skips[i] -
		    (int64_t)last->skips[i]);
	grown(M_DUPLICATES, 0, last->duplicates, n->duplicates);
	grown(M_BODY_BYTES, 0, last->body_bytes, n->body_bytes);
	grown(M_WARC_BYTES, 0, last->warc_bytes, n->warc_bytes);
	metric_add(&metrics[M_QUEUED], (int64_t)n->queued -
	    (int64_t)last->queued);
	metric_add(&metrics[M_LEASED], (int64_t)n->leased -
	    (int64_t)last->leased);
	*last = *n;
}

void
figures_look(const struct engine_look *k)
{
	const struct fetcher_view *f = &k->loops;
	int64_t cpu_ns, rss;

	follow(M_REQUESTS, 0, f->requests);
	follow(M_BYTES_IN, 0, f->bytes_in);
	metric_set(&metrics[M_IN_FLIGHT], f->in_flight);
	metric_set(&metrics[M_UNCOMMITTED], f->uncommitted);
	metric_set_by(&metrics[M_HOSTS], 0, f->hosts_ready);
	metric_set_by(&metrics[M_HOSTS], 1, f->hosts_delayed);
	metric_set_by(&metrics[M_HOSTS], 2, f->hosts_backoff);
	metric_set(&metrics[M_LEDGER_WAITING],
	    (int64_t)k->ledger_bytes_waiting);
	metric_set(&metrics[M_HEALTH], k->health);
	follow(M_GROUPS, 0, k->ledger.groups);
	follow(M_SYNC_NS, 0, (uint64_t)k->ledger.sync_ns_sum);
	clock_process_use(&cpu_ns, &rss);
	follow(M_CPU_MS, 0, (uint64_t)(cpu_ns / NS_PER_MS));
	metric_set(&metrics[M_RSS], (int64_t)system_rss_bytes());
}
