/*
 * What a harvest has archived so far becomes a point from which it can go on:
 *
 *     no call is out ─► the crawl's file ends, and has its name
 *                    ─► size, SHA-1 and a new id of each new file
 *                    ─► one commit: files, checkpoint, findings
 *
 * The files contain exactly the answers that connector and findings have seen.
 * After a crash in between, the next settling finds the files again.
 */
#include "engine/catalog/crawl_registry.h"
#include "engine/harvest/harvest_own.h"
#include "engine/harvest/place.h"
#include "os/clock.h"
#include "os/log.h"

/* Room that the next answers may take before a file must end. */
#define ROLL_MARGIN 8u

/* ---- When ----------------------------------------------------------- */

static uint64_t
crawl_bytes(const struct harvest *h)
{
	const struct crawl_row *row = harvest_crawl(h);

	return row == NULL ? 0 : row->view.counts.warc_bytes;
}

uint64_t
harvest_open_bytes(const struct harvest *h)
{
	return crawl_bytes(h) - h->bytes_before;
}

bool
harvest_should_roll(const struct harvest *h)
{
	uint64_t most = conf_size(h->all->options.conf,
	    CONF_WARC_ROLLOVER_BYTES);

	return harvest_open_bytes(h) >= most - most / ROLL_MARGIN ||
	    h->found.bytes >= HARVEST_URLS_BYTES_MAX;
}

static void
roll_over(struct timer *t)
{
	struct harvest *h = CONTAINER(t, struct harvest, roll_timer);

	if (h->web != NULL)
		harvest_web_roll(h->web);
	else
		driver_roll(h->driver);
}

void
harvest_set_roll_timer(struct harvest *h)
{
	h->roll_timer.fire = roll_over;
	loop_timer_set(h->all->options.home, &h->roll_timer, mono_add_ms(
	    clock_mono(), conf_ms(h->all->options.conf,
	    CONF_WARC_ROLLOVER_S)));
}

/* ---- The commit ----------------------------------------------------- */

static void write_row(struct settling *);

static void
try_again(struct timer *t)
{
	write_row(CONTAINER(t, struct settling, timer));
}

static void
row_written(struct store_job *j)
{
	struct settling *s = CONTAINER(j, struct settling, store);
	struct harvest *h = CONTAINER(s, struct harvest, settling);

	if (s->why.err != OK) {
		log_error("harvest.store", "harvest=%s why=%s",
		    log_quoted(h->id), log_why(&s->why));
		s->timer.fire = try_again;
		loop_timer_set(h->all->options.home, &s->timer, mono_add_ms(
		    clock_mono(), HARVEST_RETRY_MS));
		return;
	}
	const struct store_harvest_warc *before = h->warcs;
	h->warcs = ARENA_ARRAY(&h->arena, struct store_harvest_warc,
	    s->warcs_n);
	memcpy(h->warcs, s->warcs, s->warcs_n * sizeof(*h->warcs));
	/* A file may have come to its place meanwhile. */
	for (size_t i = 0; i < h->warcs_n; i++)
		h->warcs[i].placed = before[i].placed;
	for (size_t i = h->warcs_n; i < s->warcs_n; i++) {
		h->warcs[i].name = arena_copy(&h->arena, s->warcs[i].name);
		h->warcs[i].sha1 = arena_copy(&h->arena, s->warcs[i].sha1);
		h->warcs[i].warc_id = arena_copy(&h->arena,
		    s->warcs[i].warc_id);
		h->warcs[i].urls = STR_NONE;
	}
	if (s->warcs_n > h->warcs_n)
		totals_clear_urls(&h->totals);
	h->warcs_n = s->warcs_n;
	h->end = s->row.end;
	h->bytes_before = crawl_bytes(h);
	s->under_way = false;
	arena_free(&s->arena);
	harvest_take_state(h);
	harvest_settled(h);
}

static void
write_ready(struct store_job *j, struct store *st)
{
	struct settling *s = CONTAINER(j, struct settling, store);

	s->why = WHY_INIT;
	/* The answer is in `why`. */
	(void)!store_harvest_ready(st, &s->row, s->warcs, s->warcs_n, &s->why);
}

static void
write_row(struct settling *s)
{
	harvest_store(CONTAINER(s, struct harvest, settling), &s->store,
	    write_ready, row_written);
}

/* ---- The files ------------------------------------------------------ */

static void collect(struct settling *);

static void
collect_again(struct timer *t)
{
	collect(CONTAINER(t, struct settling, timer));
}

/* With the newest file, where the ledger has ended several. */
static void
name_urls(struct settling *s)
{
	struct harvest *h = CONTAINER(s, struct harvest, settling);

	buf_clear(&s->urls);
	if (h->found.n == 0 || s->warcs_n == h->warcs_n)
		return;
	totals_put_urls(&h->totals, &s->urls);
	s->warcs[s->warcs_n - 1].urls = buf_str(&s->urls);
}

static void
collected(struct mail *m)
{
	struct settling *s = CONTAINER(CONTAINER(m, struct job, mail),
	    struct settling, job);
	struct harvest *h = CONTAINER(s, struct harvest, settling);

	if (s->why.err == OK) {
		name_urls(s);
		write_row(s);
		return;
	}
	log_error("harvest.collect", "harvest=%s why=%s", log_quoted(h->id),
	    log_why(&s->why));
	s->timer.fire = collect_again;
	loop_timer_set(h->all->options.home, &s->timer, mono_add_ms(
	    clock_mono(), HARVEST_RETRY_MS));
}

static void
run_collect(struct job *j)
{
	struct settling *s = CONTAINER(j, struct settling, job);
	const struct harvest *h = CONTAINER(s, struct harvest, settling);
	size_t known = s->warcs_n;

	s->why = WHY_INIT;
	if (place_collect(h->dir, &s->arena, &s->warcs, known, &s->warcs_n,
	    &s->why) != OK)
		s->warcs_n = known;
}

static void
collect(struct settling *s)
{
	harvest_work(CONTAINER(s, struct harvest, settling), &s->job,
	    run_collect, collected);
}

static void
file_ended(struct end_file_request *q)
{
	struct settling *s = CONTAINER(q, struct settling, end_file);
	struct harvest *h = CONTAINER(s, struct harvest, settling);

	/* The program ends, or the ledger has failed: a start goes on. */
	if (q->why.err != OK) {
		log_warn("harvest.files", "harvest=%s why=%s",
		    log_quoted(h->id), log_why(&q->why));
		return;
	}
	/* Known ones are told apart by their names alone. */
	s->warcs = ARENA_ARRAY(&s->arena, struct store_harvest_warc,
	    h->warcs_n);
	if (h->warcs_n > 0)
		memcpy(s->warcs, h->warcs, h->warcs_n * sizeof(*s->warcs));
	s->warcs_n = h->warcs_n;
	collect(s);
}

static void
end_file(struct harvest *h)
{
	struct settling *s = &h->settling;

	s->end_file = (struct end_file_request){ .crawl = h->crawl,
	    .done = file_ended };
	crawl_end_file(h->all->options.engine, &s->end_file);
}

/* ---- The beginning -------------------------------------------------- */

static void
crawl_ended(struct crawl_order *o)
{
	end_file(CONTAINER(CONTAINER(o, struct settling, order),
	    struct harvest, settling));
}

static enum driver_end
end_of_run(const struct harvest *h)
{
	if (h->web == NULL)
		return driver_end(h->driver);
	return harvest_web_is_over(h->web) ? DRIVER_SUCCESS : DRIVER_GOES_ON;
}

static enum store_harvest_end
end_of(const struct harvest *h)
{
	switch (end_of_run(h)) {
	case DRIVER_SUCCESS:
		return STORE_HARVEST_SUCCESS;
	case DRIVER_FAILURE:
		return STORE_HARVEST_FAILURE;
	case DRIVER_GOES_ON:
		break;
	}
	bool stopped = h->web != NULL ? harvest_web_is_stopped(h->web) :
	    h->aim == AIM_STOP;
	return stopped || h->stops_by_crawl ?
	    STORE_HARVEST_SUCCESS : STORE_HARVEST_GOES_ON;
}

void
harvest_settle(struct harvest *h)
{
	struct settling *s = &h->settling;

	if (s->under_way)
		return;
	s->under_way = true;
	buf_clear(&s->saved);
	buf_clear(&s->totals);
	s->row = (struct store_harvest){ .id = h->id, .end = end_of(h),
	    .captures = h->web != NULL ? harvest_web_captures(h->web) :
	    driver_captures(h->driver) };
	if (s->row.end != STORE_HARVEST_GOES_ON &&
	    end_of_run(h) == DRIVER_GOES_ON)
		totals_note(&h->totals, TOTALS_INFO, STR("harvest_stopped"),
		    STR("the harvest was stopped before its end"), STR_NONE);
	if (h->web == NULL)
		driver_save(h->driver, &s->saved);
	totals_put(&h->totals, &s->totals);
	s->row.saved = buf_str(&s->saved);
	s->row.totals = buf_str(&s->totals);
	if (s->row.end == STORE_HARVEST_GOES_ON) {
		end_file(h);
		return;
	}
	s->order = (struct crawl_order){ .crawl = h->crawl,
	    .want = CRAWL_COMPLETE, .reason = "", .done = crawl_ended };
	crawl_set_state(h->all->options.engine, &s->order);
}
