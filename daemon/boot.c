#include "daemon/boot.h"

#include "os/log.h"

static bool
goes_on(const struct crawl_view *v)
{
	return (v->kind == CRAWL_CRAWL || v->kind == CRAWL_TASKS) &&
	    !crawl_state_is_ended(v->state);
}

/* --- on the pool's thread ------------------------------------------------ */

static void
run_read(struct job *j)
{
	struct opening *o = CONTAINER(j, struct opening, job);

	(void)!engine_read(o->engine, &o->why);
}

/* A crawl that cannot go on is no reason to serve none. */
static void
continue_crawls(struct opening *o)
{
	struct crawl_request q = { .spec.operator_seeds = false };
	struct log_text quoted;
	struct crawl_view v;
	size_t at = 0;

	while (!atomic_load(&o->stopping) &&
	    engine_next_view(o->engine, &at, &v)) {
		struct why w = WHY_INIT;
		if (!goes_on(&v))
			continue;
		q.spec.operator_seeds = v.kind == CRAWL_CRAWL;
		if (engine_continue(o->engine, v.id, &q, &w) == OK)
			log_info("crawl.continued", "crawl=%u queued=%llu",
			    v.id, (unsigned long long)v.counts.queued);
		else
			log_error("crawl.refused", "crawl=%u why=%s", v.id,
			    log_quote(&quoted, str_of(w.text)));
	}
}

static void
run_load(struct job *j)
{
	struct opening *o = CONTAINER(j, struct opening, job);

	if (engine_load(o->engine, &o->why) == OK)
		continue_crawls(o);
}

/* --- at home ------------------------------------------------------------- */

static void
end(struct opening *o)
{
	o->over = true;
	o->done(o->arg);
}

static void
deliver_loaded(struct mail *m)
{
	end(CONTAINER(CONTAINER(m, struct job, mail), struct opening, job));
}

static uint64_t
count_urls(struct engine *e)
{
	uint64_t n = engine_urls_to_load(e);
	struct crawl_view v;
	size_t at = 0;

	while (engine_next_view(e, &at, &v))
		if (goes_on(&v))
			n += v.counts.queued + v.counts.items +
			    crawl_exceptions(&v.counts) +
			    crawl_skips(&v.counts);
	return n;
}

static void
deliver_read(struct mail *m)
{
	struct opening *o = CONTAINER(CONTAINER(m, struct job, mail),
	    struct opening, job);

	if (o->why.err != OK) {
		end(o);
		return;
	}
	o->urls = count_urls(o->engine);
	o->was_read = true;
	o->read(o->arg);
	o->job = (struct job){ .mail.deliver = deliver_loaded,
	    .home = o->home, .run = run_load };
	pool_submit(o->pool, &o->job);
}

void
opening_start(struct opening *o)
{
	o->why = WHY_INIT;
	o->pool = pool_new(1);
	o->job = (struct job){ .mail.deliver = deliver_read, .home = o->home,
	    .run = run_read };
	pool_submit(o->pool, &o->job);
}

void
opening_stop(struct opening *o)
{
	atomic_store(&o->stopping, true);
}

bool
opening_put(const struct opening *o, struct buf *b)
{
	uint64_t n = atomic_load_explicit(&o->urls_loaded,
	    memory_order_relaxed);

	if (o->over)
		return false;
	buf_printf(b, "loading, %u %%", o->urls == 0 ? 0 :
	    (unsigned)MIN(n * 100 / o->urls, 99));
	return true;
}

void
opening_free(struct opening *o)
{
	pool_free(&o->pool);
}
