/*
 * The queue of a crawl.  A URL that goes from its queue to a loop meanwhile is
 * seen twice, and given once.
 */
#include "engine/catalog/core.h"
#include "engine/catalog/diagnostics.h"

#define ASK_MAX ((size_t)1000)

#define QUEUE_STEPS(X)                                                       \
	X(READ_QUEUES, AT_MAIN, read_queues, "the longest and their URLs")   \
	X(NAME_HOSTS, AT_MAIN, name_hosts, "those to ask the loops for")     \
	X(READ_LOOPS, AT_EACH_LOOP, request_next,                            \
	    "hosts, and URLs in their windows", .each = read_loop)           \
	X(GIVE_ALL, AT_MAIN, give_all, "counts, a sentence, hosts and URLs")
enum { QUEUE_STEPS(REQUEST_ENUM) };

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
give_figures(struct queue_query *q)
{
	const struct frontier_queues_query *l = &q->queues;
	struct why_facts f = { .view = &l->view,
		.health = l->health,
		.waiting_for_slot = l->waiting_for_slot,
		.starved = l->tickets == 0,
		.next_s = -1, .next_host = "", .robots_host = "" };

	for (size_t i = 0; i < q->catalog->options.fetchers_n; i++)
		sum_up(&f, &q->loops[i]);
	f.here &= l->loaded;
	q->queued = l->view.counts.queued;
	q->in_flight = f.in_flight;
	q->finishing = f.finishing;
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
give_hosts(struct queue_query *q)
{

	q->hosts_n = MIN(q->hosts_max, q->queues.n);
	q->hosts = ARENA_ARRAY(&q->arena, struct host_view, q->hosts_n + 1);
	for (size_t i = 0; i < q->hosts_n; i++)
		host_view_of(&q->asked[i], q->queues.queues[i].queued,
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
time_urls(struct queue_query *q, struct timing *t)
{
	for (size_t i = 0; i < q->catalog->options.fetchers_n; i++) {
		const struct fetcher_crawl *v = &q->loops[i];
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
	for (size_t i = 0; i < q->queues.urls_n; i++) {
		const struct queried_url *u = &q->queues.urls[i];
		const struct fetcher_host *h = &q->asked[u->queue];
		if (map_get_id(&t->taken, frontier_hash(q->crawl,
		    u->url)) != NULL)
			continue;
		give_turn(t, turn_of(t, h->host, h->next_s, h->delay_s),
		    (struct queued_url){ u->url, h->host, u->depth,
		    u->cost });
	}
}

static void
give_urls(struct queue_query *q)
{
	struct timing t = { .urls = NULL };
	size_t n = q->queues.urls_n;

	for (size_t i = 0; i < q->catalog->options.fetchers_n; i++)
		n += q->loops[i].urls_n;
	t.urls = mem_array(n + 1, sizeof(*t.urls));
	time_urls(q, &t);
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

/* On the ledger's loop. */
static void
queues_read(struct frontier_queues_query *l)
{
	struct queue_query *q = CONTAINER(l, struct queue_query, queues);

	q->why = l->why;
	request_resume(&q->request, l->why.err == OK ? NAME_HOSTS :
	    REQUEST_DONE);
}

static int
read_queues(struct request *r)
{
	struct queue_query *q = CONTAINER(r, struct queue_query, request);

	q->queues = (struct frontier_queues_query){ .crawl = q->crawl,
		.max = MAX(q->hosts_max,
		q->urls_max > 0 ? QUERY_URL_QUEUES : 0),
		.urls_max = q->urls_max, .done = queues_read };
	frontier_queues_query(q->catalog->options.frontier, &q->queues);
	return REQUEST_WAIT;
}

static int
name_hosts(struct request *r)
{
	struct queue_query *q = CONTAINER(r, struct queue_query, request);
	const struct frontier_queues_query *l = &q->queues;

	q->asked = ARENA_ARRAY(&q->arena, struct fetcher_host, l->n + 1);
	for (size_t i = 0; i < l->n; i++)
		q->asked[i] = (struct fetcher_host){
		    .host = l->queues[i].host, .waits = l->queues[i].waits };
	q->loops = loop_views_new(q->catalog, q->crawl, q->urls_max,
	    q->asked, l->n);
	return READ_LOOPS;
}

static void
read_loop(struct request *r, size_t loop)
{
	struct queue_query *q = CONTAINER(r, struct queue_query, request);

	fetcher_look_crawl(q->catalog->options.fetchers[loop],
	    &q->loops[loop]);
}

static int
give_all(struct request *r)
{
	struct queue_query *q = CONTAINER(r, struct queue_query, request);

	give_figures(q);
	give_hosts(q);
	give_urls(q);
	return REQUEST_DONE;
}

static const struct request_step steps[] = { QUEUE_STEPS(REQUEST_ROW) };

static void
answer(struct request *r)
{
	struct queue_query *q = CONTAINER(r, struct queue_query, request);

	arena_free(&q->queues.arena);
	loop_views_free(q->catalog, &q->loops);
	q->done(q);
}

void
catalog_queue(struct catalog *c, struct queue_query *q)
{
	*q = (struct queue_query){ .crawl = q->crawl,
	    .hosts_max = MIN(q->hosts_max, ASK_MAX),
	    .urls_max = MIN(q->urls_max, ASK_MAX), .next_s = -1,
	    .reason = "there is no such crawl", .done = q->done,
	    .arg = q->arg, .catalog = c, .request.done = answer };
	request_start(&q->request, c->options.places, steps, READ_QUEUES);
}
