#include "cli/report.h"

#include "base/json_writer.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "os/clock.h"

/* --- seeds -------------------------------------------------------------- */

static void
add_seed(struct report *r, struct str typed, const struct policy *p)
{
	struct report_seed *s = &r->seeds[r->seeds_n++];
	struct why w = WHY_INIT;
	struct url u, canonical;

	s->typed = arena_copy(&r->arena, typed);
	if (seed_parse(typed, &r->arena, &u, &w) == OK && url_canonical(&u,
	    p->strip, p->strip_n, &r->arena, &canonical, &w) == OK) {
		s->url = canonical.href;
		map_put(&r->by_url, s->url, s);
		return;
	}
	s->answered = s->failed = true;
	s->state = "no_url";
	s->text = arena_printf(&r->arena, "no URL: %s", w.text);
}

void
report_open(struct report *r, bool json, const struct str *seeds,
    size_t seeds_n, const struct policy *p)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	*r = (struct report){ .json = json };
	policy_to_sentence(p, &b);
	r->in_force = arena_copy(&r->arena, buf_str(&b));
	r->seeds = ARENA_ARRAY(&r->arena, struct report_seed, seeds_n + 1);
	r->exceptions = ARENA_ARRAY(&r->arena, struct str,
	    REPORT_EXCEPTIONS_SHOWN);
	for (size_t i = 0; i < seeds_n; i++)
		add_seed(r, seeds[i], p);
}

void
report_close(struct report *r)
{
	map_free(&r->by_url);
	buf_free(&r->out);
	arena_free(&r->arena);
}

static size_t
report_seeds_failed(const struct report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->seeds_n; i++)
		n += r->seeds[i].failed;
	return n;
}

static struct str
failure_text(struct report *r, const struct url_event *e)
{
	if (e->outcome == OUTCOME_EXCEPTION)
		return arena_printf(&r->arena, "unreachable: %s%s%.*s",
		    exception_name(e->reason), e->text.n > 0 ? ": " : "",
		    STR_FMT(e->text));
	if (e->reason == SKIP_ROBOTS)
		return arena_printf(&r->arena, "refused by %.*s",
		    STR_FMT(e->text.n > 0 ? e->text : STR("robots.txt")));
	/* A seed is in scope: only a redirect leads out of it. */
	if (e->reason == SKIP_SCOPE)
		return arena_printf(&r->arena, "out of scope: %.*s",
		    STR_FMT(e->text));
	return arena_printf(&r->arena, "%s%s%.*s", skip_text(e->reason),
	    e->text.n > 0 ? ": " : "", STR_FMT(e->text));
}

static void
settle_seed(struct report *r, const struct url_event *e)
{
	struct report_seed *s = map_get(&r->by_url, e->url);

	if (s == NULL || s->answered)
		return;
	s->answered = true;
	s->failed = e->outcome == OUTCOME_EXCEPTION ||
	    e->outcome == OUTCOME_SKIPPED;
	if (!s->failed)
		return;
	s->state = e->outcome == OUTCOME_EXCEPTION ?
	    exception_name(e->reason) : skip_name(e->reason);
	s->text = failure_text(r, e);
}

/* --- events ------------------------------------------------------------- */

static void
begin_event(struct report *r, const char *name, uint32_t crawl)
{
	buf_clear(&r->out);
	buf_put_char(&r->out, '{');
	json_str(&r->out, "event", str_of(name));
	json_u64(&r->out, "crawl", crawl);
}

static void
end_event(struct report *r)
{
	buf_put_text(&r->out, "}\n");
	cli_put(&r->out);
}

void
report_started(struct report *r, const struct crawl_view *v, struct str name,
    struct str warc_dir, const char *data_dir, bool resumed)
{
	if (!r->json)
		return;
	begin_event(r, "started", v->id);
	format_json_time(&r->out, "time", clock_wall());
	json_str(&r->out, "name", name);
	json_bool(&r->out, "resumed", resumed);
	json_array(&r->out, "seeds");
	for (size_t i = 0; i < r->seeds_n; i++) {
		json_object(&r->out, NULL);
		json_str(&r->out, "typed", r->seeds[i].typed);
		json_str(&r->out, "url", r->seeds[i].url);
		buf_put_char(&r->out, '}');
	}
	buf_put_char(&r->out, ']');
	json_str(&r->out, "in_force", r->in_force);
	json_str(&r->out, "warc_dir", warc_dir);
	json_str(&r->out, "data_dir", str_of(data_dir));
	end_event(r);
}

static void
put_item(struct report *r, const struct url_event *e)
{
	struct buf *b = &r->out;

	json_u64(b, "seq", e->seq);
	json_str(b, "final_url", e->final_url);
	json_u64(b, "status", (uint64_t)MAX(0, e->status));
	json_str(b, "type", e->type);
	json_str(b, "title", e->title);
	json_u64(b, "hops", e->hops);
	json_u64(b, "body_bytes", e->body_bytes);
	json_u64(b, "duration_us", (uint64_t)MAX(0, e->duration_us));
	json_bool(b, "duplicate", e->duplicate);
	json_bool(b, "near_duplicate", e->near_duplicate);
	json_bool(b, "truncated", e->truncated);
}

static void
print_event(struct report *r, const struct url_event *e)
{
	static const char *const names[] = {
		[OUTCOME_ITEM] = "item", [OUTCOME_EXCEPTION] = "exception",
		[OUTCOME_SKIPPED] = "skipped", [OUTCOME_AUX] = "sitemap",
	};

	if ((size_t)e->outcome >= ARRAY_LEN(names) || names[e->outcome] == NULL)
		return;
	begin_event(r, names[e->outcome], e->crawl);
	format_json_time(&r->out, "time", e->start);
	json_str(&r->out, "url", e->url);
	json_u64(&r->out, "depth", e->depth);
	json_u64(&r->out, "tries", e->tries);
	if (e->outcome == OUTCOME_ITEM) {
		put_item(r, e);
	} else if (e->outcome != OUTCOME_AUX) {
		json_str(&r->out, "reason", str_of(
		    e->outcome == OUTCOME_EXCEPTION ?
		    exception_name(e->reason) : skip_name(e->reason)));
		json_str(&r->out, "text", e->text);
	}
	end_event(r);
}

static void
note_exception(struct report *r, const struct url_event *e)
{
	if (r->exceptions_n < REPORT_EXCEPTIONS_SHOWN)
		r->exceptions[r->exceptions_n++] = arena_printf(&r->arena,
		    "%.*s: %s%s%.*s", STR_FMT(str_cut(e->url, 0, 200)),
		    exception_name(e->reason), e->text.n > 0 ? ": " : "",
		    STR_FMT(e->text));
}

void
report_event(struct report *r, const struct url_event *e)
{
	settle_seed(r, e);
	if (e->outcome == OUTCOME_EXCEPTION)
		note_exception(r, e);
	if (r->json)
		print_event(r, e);
}

const char *
report_health_name(enum engine_health h)
{
	return h == ENGINE_FINE ? "fine" : h == ENGINE_DISK_FULL ?
	    "disk_full" : "failed";
}

void
report_health(struct report *r, uint32_t crawl, enum engine_health h,
    const char *text)
{
	if (!r->json)
		return;
	begin_event(r, "health", crawl);
	format_json_time(&r->out, "time", clock_wall());
	json_str(&r->out, "state", str_of(report_health_name(h)));
	json_str(&r->out, "text", str_of(text));
	end_event(r);
}

/* --- the end, as JSON --------------------------------------------------- */

void
report_counts_json(const struct crawl_counts *n, struct buf *b)
{
	static const char *const classes[] = { "0xx", "1xx", "2xx", "3xx",
	    "4xx", "5xx" };

	buf_put_char(b, '{');
	json_u64(b, "items", n->items);
	json_u64(b, "queued", n->queued);
	json_object(b, "status");
	for (size_t i = 1; i < ARRAY_LEN(classes); i++)
		json_u64(b, classes[i], n->status[i]);
	buf_put_char(b, '}');
	json_u64(b, "not_found", n->not_found);
	json_object(b, "exceptions");
	for (int i = 0; i < EXCEPTION_COUNT; i++)
		json_u64(b, exception_name((enum exception)i),
		    n->exceptions[i]);
	buf_put_char(b, '}');
	json_object(b, "skipped");
	for (int i = SKIP_NONE + 1; i < SKIP_COUNT; i++)
		json_u64(b, skip_name((enum skip_reason)i), n->skips[i]);
	buf_put_char(b, '}');
	json_u64(b, "sitemaps", n->aux);
	json_u64(b, "duplicates", n->duplicates);
	json_u64(b, "near_duplicates", n->near_duplicates);
	json_u64(b, "body_bytes", n->body_bytes);
	json_u64(b, "warc_bytes", n->warc_bytes);
	buf_put_char(b, '}');
}

static void
end_json(struct report *r, const struct report_end *e)
{
	const struct crawl_view *v = e->view;
	int64_t cpu_ns, rss;

	for (size_t i = 0; i < r->seeds_n; i++) {
		if (!r->seeds[i].failed)
			continue;
		begin_event(r, "seed_failed", v->id);
		json_str(&r->out, "seed", r->seeds[i].typed);
		json_str(&r->out, "reason", str_of(r->seeds[i].state));
		json_str(&r->out, "text", r->seeds[i].text);
		end_event(r);
	}
	begin_event(r, e->resume != NULL ? "interrupted" : "completed", v->id);
	format_json_time(&r->out, "time", clock_wall());
	json_str(&r->out, "name", e->name);
	json_str(&r->out, "state", str_of(crawl_state_name(v->state)));
	json_str(&r->out, "reason", str_of(v->reason));
	json_name(&r->out, "counts");
	report_counts_json(&v->counts, &r->out);
	json_array(&r->out, "types");
	for (size_t i = 0; i < e->types_n; i++) {
		json_object(&r->out, NULL);
		json_str(&r->out, "type", e->types[i].type);
		json_u64(&r->out, "items", e->types[i].n);
		json_u64(&r->out, "body_bytes", e->types[i].bytes);
		buf_put_char(&r->out, '}');
	}
	buf_put_char(&r->out, ']');
	clock_process_use(&cpu_ns, &rss);
	json_decimals(&r->out, "seconds", e->seconds, 3);
	json_decimals(&r->out, "cpu_seconds", (double)cpu_ns / 1e9, 3);
	json_u64(&r->out, "rss_bytes_max", (uint64_t)rss);
	json_str(&r->out, "warc_dir", e->warc_dir);
	if (e->resume != NULL)
		json_str(&r->out, "resume", str_of(e->resume));
	end_event(r);
}

/* --- the end, as text --------------------------------------------------- */

static void
row(struct buf *b, const char *indent, const char *name, uint64_t n,
    const char *more)
{
	char count[FORMAT_MAX];

	buf_printf(b, "%s%-*s %12s%s%s\n", indent, 18 - (int)strlen(indent),
	    name, format_count(n, count), more[0] != '\0' ? "   " : "", more);
}

/* The engine's words for limits, for people. */
static const char *
reason_text(const char *reason)
{
	if (strcmp(reason, "max_items") == 0)
		return "the limit of captures is reached";
	if (strcmp(reason, "max_bytes") == 0)
		return "the limit of bytes in WARC files is reached";
	if (strcmp(reason, "max_time") == 0)
		return "its time is over";
	return reason[0] != '\0' ? reason : "nothing is left";
}

static void
put_head(struct buf *b, const struct report_end *e)
{
	const struct crawl_view *v = e->view;

	buf_printf(b, "Crawl %u", v->id);
	if (e->name.n > 0) {
		buf_put_text(b, " \"");
		format_safe(b, e->name, 200);
		buf_put_char(b, '"');
	}
	if (e->resume != NULL)
		buf_put_text(b, " was interrupted and can go on.");
	else
		buf_printf(b, " is %s: %s.", crawl_state_name(v->state),
		    reason_text(v->reason));
	buf_put_text(b, "\n\n");
}

static void
put_captures(struct buf *b, const struct report_end *e)
{
	static const char *const names[] = { NULL, "1xx", "2xx", "3xx", "4xx",
	    "5xx" };
	const struct crawl_counts *n = &e->view->counts;
	char rate[FORMAT_MAX], time[32], more[128];
	uint64_t now = n->items - MIN(n->items, e->items_before);

	duration_to_text((int64_t)(e->seconds * 1e9), time);
	snprintf(more, sizeof(more), "%s per second, %s%s",
	    format_rate((double)now / MAX(e->seconds, 0.001), rate), time,
	    e->items_before > 0 ? " in this run" : "");
	row(b, "", "captures", n->items, more);
	for (size_t i = 1; i < ARRAY_LEN(names); i++) {
		more[0] = '\0';
		if (i == 4 && n->not_found > 0)
			snprintf(more, sizeof(more), "%s of them not found",
			    format_count(n->not_found, rate));
		if (n->status[i] > 0)
			row(b, "  ", names[i], n->status[i], more);
	}
	if (n->duplicates > 0)
		row(b, "", "duplicates", n->duplicates, e->warc_dir.n > 0 ?
		    "same content as another capture, kept as revisits" :
		    "same content as another capture");
	if (n->near_duplicates > 0)
		row(b, "", "near-duplicates", n->near_duplicates,
		    "nearly the same text as another capture");
	if (n->aux > 0)
		row(b, "", "sitemaps", n->aux, "");
}

static void
put_reasons(struct buf *b, const struct report_end *e)
{
	const struct crawl_counts *n = &e->view->counts;

	if (crawl_exceptions(n) > 0)
		row(b, "", "exceptions", crawl_exceptions(n),
		    e->warc_dir.n > 0 ?
		    "not captured; what they answered is archived" :
		    "not captured");
	for (int i = 0; i < EXCEPTION_COUNT; i++)
		if (n->exceptions[i] > 0)
			row(b, "  ", exception_name((enum exception)i),
			    n->exceptions[i], "");
	if (crawl_skips(n) > 0)
		row(b, "", "skipped", crawl_skips(n), "found and not fetched");
	for (int i = SKIP_NONE + 1; i < SKIP_COUNT; i++)
		if (n->skips[i] > 0)
			row(b, "  ", skip_name((enum skip_reason)i),
			    n->skips[i], skip_text((enum skip_reason)i));
	if (n->queued > 0)
		row(b, "", "still queued", n->queued, "");
}

#define TYPES_SHOWN 12

static void
put_types(struct buf *b, const struct report_end *e)
{
	char bytes[FORMAT_MAX];
	FREED(buf_free) struct buf name = BUF_INIT;
	uint64_t n = 0, size = 0;

	if (e->types_n > 0)
		buf_printf(b, "types%s\n", e->items_before > 0 ?
		    " (of this run)" : "");
	for (size_t i = 0; i < e->types_n; i++) {
		if (i >= TYPES_SHOWN) {
			n += e->types[i].n;
			size += e->types[i].bytes;
			continue;
		}
		buf_clear(&name);
		format_safe(&name, e->types[i].type, 60);
		row(b, "  ", buf_text(&name), e->types[i].n,
		    format_bytes(e->types[i].bytes, bytes));
	}
	if (n > 0)
		row(b, "  ", "others", n, format_bytes(size, bytes));
}

static void
put_costs(struct buf *b, const struct report_end *e)
{
	const struct crawl_counts *n = &e->view->counts;
	char one[FORMAT_MAX], two[FORMAT_MAX];
	int64_t cpu_ns, rss;

	clock_process_use(&cpu_ns, &rss);
	buf_printf(b, "%-18s %12s   in bodies, %s in WARC files\n", "bytes",
	    format_bytes(n->body_bytes, one), format_bytes(n->warc_bytes, two));
	buf_printf(b, "%-18s %10.2f s   peak memory %s\n", "processor time",
	    (double)cpu_ns / 1e9, format_bytes((uint64_t)rss, one));
	buf_printf(b, "%-18s ", "archive");
	format_safe(b, e->warc_dir.n > 0 ? e->warc_dir :
	    STR("none (--no-archive)"), 4000);
	buf_put_char(b, '\n');
}

static void
put_seeds(struct buf *b, const struct report *r)
{
	size_t failed = report_seeds_failed(r);

	if (failed == 0)
		return;
	buf_printf(b, "\n%zu of %zu seed%s failed:\n", failed, r->seeds_n,
	    r->seeds_n == 1 ? "" : "s");
	for (size_t i = 0; i < r->seeds_n; i++) {
		if (!r->seeds[i].failed)
			continue;
		buf_put_text(b, "  ");
		format_safe(b, r->seeds[i].typed, 200);
		buf_put_text(b, ": ");
		format_safe(b, r->seeds[i].text, 400);
		buf_put_char(b, '\n');
	}
}

static void
put_exceptions(struct buf *b, const struct report *r, uint64_t all)
{
	char more[FORMAT_MAX];

	if (r->exceptions_n == 0)
		return;
	buf_put_text(b, "\nexceptions:\n");
	for (size_t i = 0; i < r->exceptions_n; i++) {
		buf_put_text(b, "  ");
		format_safe(b, r->exceptions[i], 500);
		buf_put_char(b, '\n');
	}
	if (all > r->exceptions_n)
		buf_printf(b, "  and %s more\n", format_count(all -
		    r->exceptions_n, more));
}

void
report_end(struct report *r, const struct report_end *e)
{
	struct buf b = BUF_INIT;

	if (r->json) {
		end_json(r, e);
		return;
	}
	put_head(&b, e);
	put_captures(&b, e);
	put_reasons(&b, e);
	put_types(&b, e);
	put_costs(&b, e);
	put_exceptions(&b, r, crawl_exceptions(&e->view->counts));
	put_seeds(&b, r);
	if (e->resume != NULL)
		buf_printf(&b, "\nTo go on: %s\n", e->resume);
	cli_put(&b);
}
