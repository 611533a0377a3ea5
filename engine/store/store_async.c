#include "engine/store/store_async.h"

#include <stdatomic.h>

#include "os/clock.h"

#define POLL_MS 1000u

struct store_async {
	struct store *store;
	struct pool *pool;
	/* Home's. */
	struct loop *home;
	size_t *busy;
	struct timer timer;
	unsigned poll_ms;
	/* The store's thread; home's while that is idle. */
	struct list watches;
	uint64_t version;            /* that the watches were told of */
	struct job poll;
	atomic_bool polling;         /* `poll` was submitted */
};

/* -- On the store's thread -- */

/* Call the watches when the version is another one, or when `always`. */
static void
call_watches(struct store_async *a, bool always)
{
	uint64_t version;

	enum err e = store_version(a->store, &version, NULL);
	bool changed = e != OK || version != a->version;
	a->version = version;
	/* Perhaps nobody else writes as long as writes fail. */
	if (always && (e != OK || store_is_failing(a->store)))
		store_try(a->store);
	if (!changed && !always)
		return;
	LIST_EACH(w, &a->watches, struct store_watch, node)
		w->look(w, a->store, changed);
}

static void
run_poll(struct job *j)
{
	struct store_async *a = CONTAINER(j, struct store_async, poll);

	call_watches(a, true);
	atomic_store(&a->polling, false);
}

static void
run_job(struct job *j)
{
	struct store_job *s = CONTAINER(j, struct store_job, job);

	call_watches(s->async, false);
	s->run(s, s->async->store);
	call_watches(s->async, false);
}

/* -- At home -- */

static void
deliver(struct mail *m)
{
	struct store_job *s = CONTAINER(CONTAINER(m, struct job, mail),
	    struct store_job, job);

	if (s->async->busy != NULL)
		--*s->async->busy;
	s->done(s);
}

void
store_async_put(struct store_async *a, struct store_job *s)
{
	if (a->busy != NULL)
		++*a->busy;
	s->async = a;
	s->job = (struct job){ .mail.deliver = deliver, .home = a->home,
	    .run = run_job };
	pool_submit(a->pool, &s->job);
}

void
store_async_watch(struct store_async *a, struct store_watch *w)
{
	pool_finish(a->pool);
	list_put(&a->watches, &w->node);
}

void
store_async_unwatch(struct store_async *a, struct store_watch *w)
{
	pool_finish(a->pool);
	list_take(&w->node);
}

static void
tick(struct timer *t)
{
	struct store_async *a = CONTAINER(t, struct store_async, timer);

	if (!atomic_exchange(&a->polling, true))
		pool_submit(a->pool, &a->poll);
	loop_timer_set(a->home, t, mono_add_ms(clock_mono(), a->poll_ms));
}

struct store *
store_async_store(struct store_async *a)
{
	return a->store;
}

struct pool *
store_async_pool(struct store_async *a)
{
	return a->pool;
}

struct store_async *
store_async_new(const struct store_async_options *o)
{
	struct store_async *a = mem_new(sizeof(*a));

	a->store = o->store;
	a->home = o->home;
	a->busy = o->busy;
	a->poll_ms = o->poll_ms == 0 ? POLL_MS : o->poll_ms;
	list_init(&a->watches);
	/* When it cannot be read, the first poll is told of a change. */
	(void)!store_version(a->store, &a->version, NULL);
	a->poll.run = run_poll;
	a->pool = pool_new(o->no_threads ? 0 : 1);
	a->timer.fire = tick;
	loop_timer_set(a->home, &a->timer, mono_add_ms(clock_mono(),
	    a->poll_ms));
	return a;
}

void
store_async_close(struct store_async **ap)
{
	struct store_async *a = *ap;

	if (a == NULL)
		return;
	loop_timer_stop(a->home, &a->timer);
	pool_free(&a->pool);
	store_close(&a->store);
	mem_free(ap);
}
