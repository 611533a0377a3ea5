/*
 * The queue of a crawl.
 *
 *     home ─► ledger's loop: its queues ─► home ─► index: what waits in them
 *          ─► home ─► all loops: hosts, URLs in their windows ─► home
 *
 * A URL that goes from its queue to a loop meanwhile is seen twice, and given
 * once.
 */
#include "engine/catalog/diagnostics.h"

#define ASK_MAX ((size_t)1000)
/* So many queues are looked into for URLs, if they are to be shown. */
#define URL_QUEUES 64u
#define URLS_OF_QUEUE_MIN 4u

static const char *const state_names[HOST_STATE_COUNT] = {
	"ready", "delayed", "backoff", "robots"
};

const char *
host_state_name(enum host_state s)
{
	CHECK(s < HOST_STATE_COUNT);
	return state_names[s];
}

void
host_view_of(const struct fetcher_host *h, uint64_t queued, struct arena *a,
    struct host_view *out)
{
	static const enum host_state states[] = {
		[HOST_WAITS_NOT] = HOST_IS_READY,
		[HOST_WAITS_DELAY] = HOST_IS_DELAYED,
		[HOST_WAITS_BACKOFF] = HOST_IS_BACKOFF,
		[HOST_WAITS_ROBOTS] = HOST_IS_ROBOTS,
	};

	*out = (struct host_view){
		.host = arena_copy(a, h->host), .queued = queued,
		.state = states[h->wait], .delay_s = h->delay_s,
		.next_s = h->next_s, .in_flight = h->in_flight,
	};
}

/* --- all loops ---------------------------------------------------------- */

static void
run_loop_look(struct loop_call *c)
{
	struct loop_look *l = CONTAINER(c, struct loop_look, call);

	fetcher_look_crawl(l->fetcher, &l->view);
}

static void
loop_looked(struct loop_call *c)
{
	struct loops_look *all = CONTAINER(c, struct loop_look, call)->all;

	if (--all->left == 0)
		all->done(all);
}

void
loops_look(struct engine *e, struct loops_look *all, uint32_t crawl,
    size_t urls_max)
{
	all->engine = e;
	all->left = e->loops_n;
	all->loops = mem_array(e->loops_n, sizeof(*all->loops));
	for (unsigned i = 0; i < e->loops_n; i++) {
		struct loop_look *l = &all->loops[i];
		l->all = all;
		l->fetcher = e->fetchers[i];
		l->view.crawl = crawl;
		l->view.urls_max = urls_max;
		l->view.hosts = all->hosts;
		l->view.hosts_n = all->hosts_n;
		l->call.home = e->options.home;
		l->call.run = run_loop_look;
		l->call.done = loop_looked;
		loop_ask(e->loops[i].loop, &l->call);
	}
}

void
loops_look_free(struct loops_look *all)
{
	for (unsigned i = 0; all->loops != NULL && i < all->engine->loops_n;
	    i++)
		arena_free(&all->loops[i].view.arena);
	mem_free(&all->loops);
}

/* --- asking ------------------------------------------------------------- */

struct queue_asking {
	struct engine *engine;
	struct queue_query *ask;
	struct frontier_queues_query queues;
	struct loops_look loops;
	struct frontier_next_query urls;
};

static void
finish(struct queue_asking *g)
{
	struct queue_query *q = g->ask;

	g->engine->asked--;
	arena_free(&g->queues.arena);
	arena_free(&g->urls.arena);
	loops_look_free(&g->loops);
	mem_free(&g->loops.hosts);
	mem_free(&g);
	q->own = NULL;
	q->done(q);
}

/* --- figures and the sentence ------------------------------------------- */

static void
sum_up(struct why_facts *f, const struct fetcher_crawl *v)
{
	f->here |= v->known;
	f->in_flight += v->in_flight;
	f->finishing += v->finishing;
	f->held_back |= v->held_back;
	f->full |= v->full;
	f->ready += v->ready;
	f->for_others += v->for_others;
	f->delayed += v->delayed;
	f->backoff += v->backoff;
	f->robots += v->robots;
	if (v->robots > 0)
		f->robots_host = v->robots_host;
	/* One number, of all loops; each may see it at another moment. */
	f->downloads = MAX(f->downloads, v->downloads);
	f->downloads_max = MAX(f->downloads_max, v->downloads_max);
	if (v->next_s >= 0 && (f->next_s < 0 || v->next_s < f->next_s)) {
		f->next_s = v->next_s;
		f->next_host = v->next_host;
		f->next_wait = v->next_wait;
	}
}

static void
give_figures(struct queue_asking *g)
{
	struct queue_query *q = g->ask;
	const struct frontier_queues_query *l = &g->queues;
	struct why_facts f = { .view = &l->view,
		.health = (enum engine_health)l->health,
		.waiting_for_slot = l->waiting_for_slot,
		.starved = l->tickets == 0,
		.next_s = -1, .next_host = "", .robots_host = "" };

	for (unsigned i = 0; i < g->engine->loops_n; i++)
		sum_up(&f, &g->loops.loops[i].view);
	f.here &= l->loaded;
	q->queued = l->view.counts.queued;
	q->in_flight = f.in_flight;
	q->downloads = f.downloads;
	q->downloads_max = f.downloads_max;
	/* A host may be asked for a redirect alone, and have no queue. */
	q->hosts_all = (unsigned)MAX(l->left, f.delayed + f.backoff);
	q->delayed = f.delayed;
	q->backoff = f.backoff;
	q->ready = q->hosts_all - f.delayed - f.backoff;
	q->next_s = l->view.state != CRAWL_RUNNING ? -1 :
	    f.ready > 0 ? 0 : f.next_s;
	snprintf(q->next_host, sizeof(q->next_host), "%s", f.next_host);
	why_sentence(&f, q->reason, sizeof(q->reason));
}

static void
give_hosts(struct queue_asking *g)
{
	struct queue_query *q = g->ask;

	q->hosts_n = MIN(q->hosts_max, g->queues.n);
	q->hosts = ARENA_ARRAY(&q->arena, struct host_view, q->hosts_n + 1);
	for (size_t i = 0; i < q->hosts_n; i++)
		host_view_of(&g->loops.hosts[i], g->queues.queues[i].queued,
		    &q->arena, &q->hosts[i]);
}

/* --- what is next ------------------------------------------------------- */

/* A URL and when its host comes to it, if nothing is added. */
struct timed {
	struct queued_url url;
	double at_s;
	size_t given;
};

struct timing {
	struct timed *urls;
	size_t n;
	struct map hosts;            /* host -> struct turn */
	struct map taken;            /* hashes of what the loops have */
	struct arena arena;
};

/* The place of a host's next URL. */
struct turn {
	double at_s, delay_s;
};

static struct turn *
turn_of(struct timing *t, struct str host, double next_s, double delay_s)
{
	struct turn *x = map_get(&t->hosts, host);

	if (x == NULL) {
		x = ARENA_NEW(&t->arena, struct turn);
		x->at_s = next_s;
		x->delay_s = delay_s;
		map_put(&t->hosts, arena_copy(&t->arena, host), x);
	}
	return x;
}

static void
give_turn(struct timing *t, struct turn *x, struct queued_url u)
{
	t->urls[t->n] = (struct timed){ u, x->at_s, t->n };
	t->n++;
	x->at_s += x->delay_s;
}

static int
sooner_first(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	if (x->url.cost != y->url.cost)
		return x->url.cost < y->url.cost ? -1 : 1;
	return (x->given > y->given) - (x->given < y->given);
}

/* First what the loops have, then what follows in the queues. */
static void
time_urls(struct queue_asking *g, struct timing *t)
{
	for (unsigned i = 0; i < g->engine->loops_n; i++) {
		const struct fetcher_crawl *v = &g->loops.loops[i].view;
		for (size_t k = 0; k < v->busy_n; k++)
			map_put_id(&t->taken, v->busy[k], t);
		for (size_t k = 0; k < v->urls_n; k++) {
			const struct fetcher_url *u = &v->urls[k];
			map_put_id(&t->taken, u->hash, t);
			give_turn(t, turn_of(t, u->host, u->next_s,
			    u->delay_s), (struct queued_url){ u->url,
			    u->host, u->depth, u->cost });
		}
	}
	for (size_t i = 0; i < g->urls.n; i++) {
		const struct queried_url *u = &g->urls.urls[i];
		const struct fetcher_host *h = &g->loops.hosts[u->queue];
		if (map_get_id(&t->taken, frontier_hash(g->ask->crawl,
		    u->url)) != NULL)
			continue;
		give_turn(t, turn_of(t, h->host, h->next_s, h->delay_s),
		    (struct queued_url){ u->url, h->host, u->depth,
		    u->cost });
	}
}

static void
give_urls(struct queue_asking *g)
{
	struct queue_query *q = g->ask;
	struct timing t = { .urls = NULL };
	size_t n = g->urls.n;

	for (unsigned i = 0; i < g->engine->loops_n; i++)
		n += g->loops.loops[i].view.urls_n;
	t.urls = mem_array(n + 1, sizeof(*t.urls));
	time_urls(g, &t);
	qsort(t.urls, t.n, sizeof(*t.urls), sooner_first);
	q->urls_n = MIN(t.n, q->urls_max);
	q->urls = ARENA_ARRAY(&q->arena, struct queued_url, q->urls_n + 1);
	for (size_t i = 0; i < q->urls_n; i++) {
		q->urls[i] = t.urls[i].url;
		q->urls[i].url = arena_copy(&q->arena, t.urls[i].url.url);
		q->urls[i].host = arena_copy(&q->arena, t.urls[i].url.host);
	}
	map_free(&t.hosts);
	map_free(&t.taken);
	arena_free(&t.arena);
	mem_free(&t.urls);
}

/* --- step by step ------------------------------------------------------- */

static void
give_all(struct queue_asking *g)
{
	give_figures(g);
	give_hosts(g);
	give_urls(g);
	finish(g);
}

static void
loops_came(struct loops_look *all)
{
	give_all(CONTAINER(all, struct queue_asking, loops));
}

static void
ask_loops(struct queue_asking *g)
{
	const struct frontier_queues_query *l = &g->queues;

	g->loops.hosts_n = l->n;
	g->loops.hosts = mem_array(l->n + 1, sizeof(*g->loops.hosts));
	for (size_t i = 0; i < l->n; i++)
		g->loops.hosts[i] = (struct fetcher_host){
		    .host = l->queues[i].host, .waits = l->queues[i].waits };
	g->loops.done = loops_came;
	loops_look(g->engine, &g->loops, g->ask->crawl, g->ask->urls_max);
}

static void
urls_came(struct frontier_next_query *l)
{
	struct queue_asking *g = CONTAINER(l, struct queue_asking, urls);

	if (l->why.err != OK)
		g->ask->why = l->why;
	ask_loops(g);
}

static void
queues_came(struct frontier_queues_query *l)
{
	struct queue_asking *g = CONTAINER(l, struct queue_asking, queues);
	size_t n = MIN(l->n, URL_QUEUES);

	if (l->why.err != OK) {
		g->ask->why = l->why;
		finish(g);
		return;
	}
	if (g->ask->urls_max == 0 || n == 0) {
		ask_loops(g);
		return;
	}
	g->urls = (struct frontier_next_query){ .crawl = g->ask->crawl,
		.queues = l->queues, .queues_n = n,
		.each = MIN(g->ask->urls_max, MAX(URLS_OF_QUEUE_MIN,
		4 * g->ask->urls_max / n)),
		.home = g->engine->options.home, .done = urls_came };
	frontier_next_query(g->engine->frontier, &g->urls);
}

void
catalog_queue(struct engine *e, struct queue_query *q)
{
	struct queue_asking *g = mem_new(sizeof(*g));

	q->hosts_max = MIN(q->hosts_max, ASK_MAX);
	q->urls_max = MIN(q->urls_max, ASK_MAX);
	q->arena = ARENA_INIT;
	q->hosts = NULL;
	q->urls = NULL;
	q->hosts_n = q->urls_n = 0;
	q->queued = 0;
	q->in_flight = q->downloads = q->downloads_max = 0;
	q->hosts_all = q->ready = q->delayed = q->backoff = 0;
	q->next_s = -1;
	q->next_host[0] = '\0';
	snprintf(q->reason, sizeof(q->reason), "there is no such crawl");
	q->why = WHY_INIT;
	q->own = g;
	g->engine = e;
	g->ask = q;
	g->queues = (struct frontier_queues_query){ .crawl = q->crawl,
		.max = MAX(q->hosts_max, q->urls_max > 0 ? URL_QUEUES : 0),
		.home = e->options.home, .done = queues_came };
	e->asked++;
	frontier_queues_query(e->frontier, &g->queues);
}
