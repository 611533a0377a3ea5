/*
 * A web harvest: a crawl of the engine in place of a driver.
 *
 *     seeds, policy ─► crawl ─► runs ─► nothing is queued, or it was ended
 *                                │                │
 *          a file is to end ◄────┤                ▼
 *          pause, stop: paused ◄─┘         counts, failures ─► settle
 *
 * The crawl counts, and goes on after a crash, by itself.  The totals are made
 * of its captures, in the order of their numbers, whenever files are settled:
 * so a restart goes on counting behind the last one that was noted.
 */
#include "engine/catalog/catalog.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/harvest/harvest_own.h"
#include "engine/harvest/web_plan.h"
#include "os/clock.h"
#include "os/log.h"

/* Captures that are read at once. */
#define PIECE 1000u
/* Between two questions whether requests are under way. */
#define ASK_MS 50
#define CODE_FAILURES STR("web_failures")

/* How far it has come with a pause or a stop. */
enum web_step { WEB_RUNS, WEB_HELD, WEB_QUIET, WEB_PAUSED, WEB_STOPPED };

struct web {
	struct harvest *harvest;
	struct web_plan plan;
	struct buf policy;
	struct registry_watch watch;
	bool watches, starts;
	bool cut;                    /* it has waited for answers enough */
	bool rolls;                  /* a file is to end */
	bool over;                   /* the crawl has nothing left to do */
	struct crawl_order order;
	bool order_is_out;
	bool busy;                   /* captures, failures are being read */
	enum web_step step;
	bool settled;                /* in its step PAUSED */
	struct timer timer;          /* before it is asked again */
	struct queue_query queue;
	uint64_t counted;            /* captures in the totals */
	uint64_t last;               /* the last one to be counted */
	struct captures_query captures;
	struct errors_query errors;
};

static void look(struct web *);

/* ---- Its plan ------------------------------------------------------- */

void
harvest_web_make(struct harvest *h)
{
	struct web *w = mem_new(sizeof(*w));

	w->harvest = h;
	w->counted = h->captures;
	web_plan_make(&w->plan, &h->text.order, yyjson_doc_get_root(
	    h->text.doc), h->path, &h->arena);
	h->web = w;
}

void
harvest_web_free(struct web **wp)
{
	struct web *w = *wp;

	if (w == NULL)
		return;
	buf_free(&w->policy);
	mem_free(wp);
}

enum err
harvest_web_read_policy(struct harvest *h, struct store *st, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_policy p;

	buf_clear(&h->web->policy);
	enum err e = store_policy_get(st, STR(STORE_POLICY_DEFAULT), &a, &p,
	    w);
	return e == OK ? web_plan_policy(&h->text.order, p.json,
	    &h->web->policy, w) : e;
}

void
harvest_web_fill_launch(struct harvest *h, struct launch *l)
{
	l->seeds = h->web->plan.seeds;
	l->seeds_n = h->web->plan.seeds_n;
	l->spec.policy = buf_str(&h->web->policy);
	l->spec.collection = h->web->plan.collection;
}

/* ---- What it could not fetch ---------------------------------------- */

static void
note_refused(struct web *w)
{
	for (size_t i = 0; i < WEB_REFUSALS; i++) {
		const struct web_refused *r = &w->plan.refused[i];
		FREED(buf_free) struct buf text = BUF_INIT;
		if (r->n == 0)
			continue;
		web_plan_put_failures(r->n, r->cause, r->first, r->first_n,
		    &text);
		totals_note(&w->harvest->totals, TOTALS_WARNING,
		    CODE_FAILURES, buf_str(&text), STR_NONE);
	}
}

/* Links that the scope leaves out were not asked for. */
static bool
was_wanted(const struct error_group *g)
{
	static const enum skip_reason not_wanted[] = { SKIP_SCOPE, SKIP_DEPTH,
	    SKIP_COST };

	for (size_t i = 0; i < ARRAY_LEN(not_wanted); i++)
		if (strcmp(g->reason, skip_name(not_wanted[i])) == 0)
			return strcmp(g->kind, "skipped") != 0;
	return true;
}

static void
note_group(struct web *w, const struct error_group *g)
{
	FREED(buf_free) struct buf text = BUF_INIT, cause = BUF_INIT;

	if (!was_wanted(g))
		return;
	buf_put_text(&cause, strcmp(g->kind, "status") == 0 ? "status " : "");
	buf_put_text(&cause, g->reason);
	if (g->samples_n > 0 && g->causes[0].n > 0)
		buf_printf(&cause, " (%.*s)", STR_FMT(g->causes[0]));
	web_plan_put_failures(g->count, buf_text(&cause), g->samples,
	    g->samples_n, &text);
	totals_note(&w->harvest->totals, TOTALS_WARNING, CODE_FAILURES,
	    buf_str(&text), STR_NONE);
}

static void
note_revisits(struct web *w)
{
	uint64_t n = w->harvest->totals.revisits;
	FREED(buf_free) struct buf text = BUF_INIT;

	if (n == 0)
		return;
	buf_printf(&text, "%llu of the answers were in the collection already",
	    (unsigned long long)n);
	totals_note(&w->harvest->totals, TOTALS_INFO, STR("web_revisits"),
	    buf_str(&text), STR_NONE);
}

/* max_items, max_bytes, max_duration: its policy has ended it. */
static void
note_limit(struct web *w)
{
	const struct crawl_row *row = harvest_crawl(w->harvest);
	FREED(buf_free) struct buf text = BUF_INIT;

	if (row == NULL || row->view.state != CRAWL_COMPLETE ||
	    !str_starts(str_of(row->view.reason), STR("max_")))
		return;
	buf_printf(&text, "the crawl has ended by %s", row->view.reason);
	totals_note(&w->harvest->totals, TOTALS_INFO, STR("limit_reached"),
	    buf_str(&text), STR_NONE);
}

static void
settle(struct web *w)
{
	w->busy = w->rolls = false;
	w->settled = w->step == WEB_PAUSED;
	harvest_settle(w->harvest);
}

static void
failures_came(struct errors_query *q)
{
	struct web *w = CONTAINER(q, struct web, errors);

	if (q->why.err != OK)
		log_warn("harvest.web", "harvest=%s why=%s",
		    log_quoted(w->harvest->id), log_why(&q->why));
	note_refused(w);
	for (size_t i = 0; i < q->n; i++)
		note_group(w, &q->problems[i]);
	arena_free(&q->arena);
	note_limit(w);
	note_revisits(w);
	settle(w);
}

/* ---- What it has captured ------------------------------------------- */

static void read_captures(struct web *);

static void
captures_came(struct captures_query *q)
{
	struct web *w = CONTAINER(q, struct web, captures);
	struct totals *t = &w->harvest->totals;

	for (size_t i = 0; i < q->n; i++) {
		if (q->pages[i].flags & JOURNAL_REVISIT)
			t->revisits++;
		else
			totals_count(t, q->pages[i].start, str_of(
			    w->harvest->text.connector->label), 1);
	}
	w->counted += q->n;
	/* What cannot be read is not counted, and holds nothing up. */
	if (q->why.err != OK || q->n == 0)
		w->last = w->counted;
	if (q->why.err != OK)
		log_warn("harvest.web", "harvest=%s why=%s",
		    log_quoted(w->harvest->id), log_why(&q->why));
	arena_free(&q->arena);
	read_captures(w);
}

static void
read_captures(struct web *w)
{
	struct harvest *h = w->harvest;

	/* The next process goes on. */
	if (engine_is_closing(h->all->options.engine))
		return;
	if (w->counted < w->last) {
		w->captures = (struct captures_query){ .crawl = h->crawl,
		    .start = w->counted, .size = MIN(PIECE,
		    w->last - w->counted), .done = captures_came };
		catalog_captures(engine_catalog(h->all->options.engine),
		    &w->captures);
	} else if (w->over || w->step == WEB_STOPPED) {
		w->errors = (struct errors_query){ .crawl = h->crawl,
		    .done = failures_came };
		catalog_errors(engine_catalog(h->all->options.engine),
		    &w->errors);
	} else {
		settle(w);
	}
}

/* ---- While it runs -------------------------------------------------- */

static void
ordered(struct crawl_order *o)
{
	struct web *w = CONTAINER(o, struct web, order);

	w->order_is_out = false;
	if (o->why.err != OK)
		log_warn("harvest.web", "harvest=%s why=%s",
		    log_quoted(w->harvest->id), log_why(&o->why));
	look(w);
}

static void
give_order(struct web *w, enum crawl_state want)
{
	struct harvest *h = w->harvest;

	w->order_is_out = true;
	w->order = (struct crawl_order){ .crawl = h->crawl, .want = want,
	    .reason = "by its harvest", .done = ordered };
	crawl_set_state(h->all->options.engine, &w->order);
}

/* Requests in hand end, or have had their time. */
static void
asked(struct queue_query *q)
{
	struct web *w = CONTAINER(q, struct web, queue);
	struct loop *home = w->harvest->all->options.home;

	w->busy = false;
	if (w->cut || q->why.err != OK || q->in_flight + q->finishing == 0)
		w->step = WEB_QUIET;
	arena_free(&q->arena);
	if (w->step == WEB_QUIET)
		look(w);
	else
		loop_timer_set(home, &w->timer, mono_add_ms(clock_mono(),
		    ASK_MS));
}

static void
ask(struct web *w)
{
	struct harvest *h = w->harvest;

	w->busy = true;
	w->queue = (struct queue_query){ .crawl = h->crawl, .done = asked };
	catalog_queue(engine_catalog(h->all->options.engine), &w->queue);
}

static void
ask_again(struct timer *t)
{
	look(CONTAINER(t, struct web, timer));
}

static void
begin_counting(struct web *w, const struct crawl_row *row)
{
	loop_timer_stop(w->harvest->all->options.home, &w->timer);
	w->busy = true;
	w->last = row == NULL || row->deleted ? w->counted :
	    row->view.counts.items;
	read_captures(w);
}

/* Its harvest is to pause or to stop, or waits for room. */
static void
end_early(struct web *w, const struct crawl_row *row)
{
	bool stops = w->harvest->aim == AIM_STOP;

	switch (w->step) {
	case WEB_RUNS:
		w->step = WEB_HELD;
		give_order(w, CRAWL_PAUSED);
		break;
	case WEB_HELD:
		ask(w);
		break;
	case WEB_QUIET:
		/* Its answer comes when the registry shows all captures. */
		w->step = stops ? WEB_STOPPED : WEB_PAUSED;
		give_order(w, stops ? CRAWL_COMPLETE : CRAWL_PAUSED);
		break;
	case WEB_PAUSED:
		if (stops) {
			w->step = WEB_QUIET;
			end_early(w, row);
		} else if (!w->settled) {
			begin_counting(w, row);
		}
		break;
	case WEB_STOPPED:
		begin_counting(w, row);
		break;
	}
}

static bool
is_idle(const struct web *w)
{
	const struct harvest *h = w->harvest;

	return h->started && !w->busy && !w->order_is_out && !h->over &&
	    !h->settling.under_way &&
	    h->end == STORE_HARVEST_GOES_ON &&
	    !engine_is_closing(h->all->options.engine);
}

static void
look(struct web *w)
{
	struct harvest *h = w->harvest;
	const struct crawl_row *row = harvest_crawl(h);

	if (!is_idle(w))
		return;
	w->over = crawl_row_is_over(row) || row->view.counts.queued == 0;
	h->stops_by_crawl = row == NULL || row->deleted ||
	    row->view.state == CRAWL_CANCELLED ||
	    row->view.state == CRAWL_FAILED;
	if (w->over) {
		begin_counting(w, row);
	} else if (h->aim != AIM_RUN || h->held_back) {
		end_early(w, row);
	} else if (w->step != WEB_RUNS || w->starts) {
		/* This process may have paused it, or an earlier one. */
		w->starts = w->cut = false;
		w->step = WEB_RUNS;
		give_order(w, CRAWL_RUNNING);
	} else if (w->rolls || harvest_should_roll(h) ||
	    harvest_must_wait(h)) {
		begin_counting(w, row);
	}
}

static void
crawls_changed(struct registry_watch *x)
{
	look(CONTAINER(x, struct web, watch));
}

void
harvest_web_start(struct web *w)
{
	w->watches = w->starts = true;
	w->watch.changed = crawls_changed;
	w->timer.fire = ask_again;
	crawl_registry_watch(engine_registry(
	    w->harvest->all->options.engine), &w->watch);
	look(w);
}

void
harvest_web_go_on(struct web *w)
{
	if (w->watches)
		look(w);
	else
		harvest_web_start(w);
}

void
harvest_web_rest(struct web *w)
{
	if (w->watches)
		crawl_registry_unwatch(&w->watch);
	loop_timer_stop(w->harvest->all->options.home, &w->timer);
	w->watches = false;
}

void
harvest_web_look(struct web *w)
{
	look(w);
}

void
harvest_web_roll(struct web *w)
{
	w->rolls = true;
	look(w);
}

void
harvest_web_cut(struct web *w)
{
	w->cut = true;
	look(w);
}

uint64_t
harvest_web_captures(const struct web *w)
{
	return w->counted;
}

bool
harvest_web_is_stopped(const struct web *w)
{
	return w->step == WEB_STOPPED;
}

bool
harvest_web_is_ending(const struct web *w)
{
	return w->harvest->aim != AIM_RUN && !w->over && w->step < WEB_PAUSED;
}

bool
harvest_web_is_over(const struct web *w)
{
	return w->over && w->step != WEB_STOPPED &&
	    !w->harvest->stops_by_crawl;
}
