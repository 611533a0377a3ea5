#include "engine/catalog/outsiders.h"

#include "engine/frontier/lease_service.h"
#include "os/clock.h"
#include "os/loop.h"

#define LOOK_MS 1000

struct outsiders {
	struct outsiders_options options;
	struct timer timer;
	struct look *look;           /* under way, or NULL */
	size_t shown;                /* rows that are not deleted */
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

static void
show(struct outsiders *o, const struct lease_crawl_look *l)
{
	struct crawl_registry *registry = o->options.registry;
	struct crawl_spec spec = { .kind = CRAWL_FRONTIER, .name = l->name };
	struct crawl_view v = view_of(l);

	if (crawl_row(registry, l->id) == NULL) {
		crawl_registry_add(registry, &v, &spec);
		o->shown++;
	}
	crawl_registry_show(registry, &v);
}

/* Delete the rows of those that were not found any more. */
static void
drop_gone(struct outsiders *o, struct look *k)
{
	struct crawl_registry *registry = o->options.registry;
	struct map found = MAP_INIT;
	uint32_t id = UINT32_MAX;
	struct crawl_row *r;

	for (size_t i = 0; i < k->n; i++)
		map_put_id(&found, k->found[i].id, k);
	while ((r = crawl_registry_below(registry, id)) != NULL) {
		id = r->id;
		if (r->view.kind != CRAWL_FRONTIER || r->deleted ||
		    map_get_id(&found, id) != NULL)
			continue;
		crawl_registry_delete(registry, id);
		o->shown--;
	}
	map_free(&found);
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

	if (o != NULL) {
		struct crawl_registry *registry = o->options.registry;
		uint64_t version = crawl_registry_version(registry);
		o->look = NULL;
		for (size_t i = 0; i < k->n; i++)
			show(o, &k->found[i]);
		if (k->n < o->shown)
			drop_gone(o, k);
		if (crawl_registry_version(registry) != version)
			crawl_registry_notify(registry);
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

	if (o == NULL)
		return;
	outsiders_stop(o);
	if (o->look != NULL)
		o->look->outsiders = NULL;
	mem_free(op);
}
