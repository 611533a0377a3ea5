#include "engine/catalog/outsiders.h"

#include "engine/frontier/lease_service.h"
#include "os/clock.h"
#include "os/loop.h"

#define LOOK_MS 1000

/* What was shown of one. */
struct shown {
	uint32_t id;
	uint64_t round;              /* in which it was there */
	struct lease_stats stats;
};

struct outsiders {
	struct outsiders_options options;
	struct timer timer;
	struct look *look;           /* under way, or NULL */
	struct map shown;            /* id -> struct shown */
	uint64_t round;
	bool stopped;
};

struct look {
	struct loop_call call;
	struct frontier *frontier;
	struct outsiders *outsiders; /* NULL: gone meanwhile */
	struct arena arena;
	struct lease_crawl_look *found;
	size_t n;
};

/* --- on the ledger's loop ------------------------------------------------ */

static void
run(struct loop_call *c)
{
	struct look *k = CONTAINER(c, struct look, call);

	k->found = lease_look(k->frontier, &k->arena, OUTSIDERS_MAX, &k->n);
}

/* --- at home ------------------------------------------------------------- */

static struct crawl_view
view_of(const struct lease_crawl_look *l)
{
	return (struct crawl_view){
		.id = l->id, .kind = CRAWL_FRONTIER, .state = CRAWL_RUNNING,
		.queues = (uint32_t)MIN(l->stats.queues, UINT32_MAX),
		.counts = { .queued = l->stats.active,
		    .leased = l->stats.leased, .items = l->stats.completed },
	};
}

static bool
is_as_shown(const struct shown *s, const struct lease_crawl_look *l)
{
	return s->stats.active == l->stats.active &&
	    s->stats.leased == l->stats.leased &&
	    s->stats.completed == l->stats.completed &&
	    s->stats.queues == l->stats.queues;
}

/* True when the registry has changed. */
static bool
show(struct outsiders *o, const struct lease_crawl_look *l)
{
	struct shown *s = map_get_id(&o->shown, l->id);
	struct crawl_view v = view_of(l);
	struct crawl_spec spec = { .kind = CRAWL_FRONTIER, .name = l->name };

	if (s != NULL && is_as_shown(s, l)) {
		s->round = o->round;
		return false;
	}
	if (s == NULL) {
		s = mem_new(sizeof(*s));
		s->id = l->id;
		map_put_id(&o->shown, l->id, s);
		crawl_registry_add(o->options.registry, &v, &spec);
	}
	crawl_registry_show(o->options.registry, &v);
	s->stats = l->stats;
	s->round = o->round;
	return true;
}

/* Those that were not there any more. */
static bool
drop_gone(struct outsiders *o)
{
	struct map left = MAP_INIT;
	bool any = false;
	size_t at = 0;
	void *v;

	while (map_next(&o->shown, &at, &v)) {
		struct shown *s = v;
		if (s->round == o->round) {
			map_put_id(&left, s->id, s);
			continue;
		}
		crawl_registry_delete(o->options.registry, s->id);
		mem_free(&s);
		any = true;
	}
	map_free(&o->shown);
	o->shown = left;
	return any;
}

static void
look_later(struct outsiders *o)
{
	if (!o->stopped)
		loop_timer_set(o->options.home, &o->timer,
		    mono_add_ms(clock_mono(), LOOK_MS));
}

static void
seen(struct loop_call *c)
{
	struct look *k = CONTAINER(c, struct look, call);
	struct outsiders *o = k->outsiders;
	bool any = false;

	if (o != NULL) {
		o->look = NULL;
		o->round++;
		for (size_t i = 0; i < k->n; i++)
			any |= show(o, &k->found[i]);
		if (k->n < o->shown.n)
			any |= drop_gone(o);
		if (any)
			crawl_registry_notify(o->options.registry);
		look_later(o);
	}
	arena_free(&k->arena);
	mem_free(&k);
}

static void
look(struct timer *t)
{
	struct outsiders *o = CONTAINER(t, struct outsiders, timer);
	struct look *k = o->look = mem_new(sizeof(*k));

	k->outsiders = o;
	k->frontier = o->options.frontier;
	k->call = (struct loop_call){ .home = o->options.home,
	    .run = run, .done = seen };
	loop_ask(o->options.ledger_loop, &k->call);
}

/* --- life ---------------------------------------------------------------- */

struct outsiders *
outsiders_new(const struct outsiders_options *options)
{
	struct outsiders *o = mem_new(sizeof(*o));

	o->options = *options;
	o->timer.fire = look;
	return o;
}

void
outsiders_start(struct outsiders *o)
{
	look(&o->timer);
}

void
outsiders_stop(struct outsiders *o)
{
	o->stopped = true;
	loop_timer_stop(o->options.home, &o->timer);
}

void
outsiders_free(struct outsiders **op)
{
	struct outsiders *o = *op;
	size_t at = 0;
	void *v;

	if (o == NULL)
		return;
	outsiders_stop(o);
	if (o->look != NULL)
		o->look->outsiders = NULL;
	while (map_next(&o->shown, &at, &v)) {
		struct shown *s = v;
		mem_free(&s);
	}
	map_free(&o->shown);
	mem_free(op);
}
