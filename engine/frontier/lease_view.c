/*
 * Crawls of ours, read for outsiders.
 *
 *     URLs:    ledger's loop ─► index thread: a snapshot
 *              ─► ledger's loop: the crawl's queues, of which the snapshot
 *                 holds no others
 *              ─► beside the groups: by key, a piece at a time ─► home ...
 *     queues:  ledger's loop: the crawl's queues ─► beside: by key ─► home ...
 */
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/lease_service.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/url_query.h"

/* Queues added up in one turn of the ledger's loop. */
#define STATS_PART 1024u

#define NAME_HEAD STR("crawl/")

bool
lease_view_name(struct str crawl, uint32_t *id)
{
	struct str digits = str_from(crawl, NAME_HEAD.n);
	uint64_t n;

	*id = LEASE_VIEW_NO_CRAWL;
	if (!str_starts(crawl, NAME_HEAD) || digits.n == 0)
		return false;
	for (size_t i = 0; i < digits.n; i++)
		if (digits.p[i] < '0' || digits.p[i] > '9')
			return false;
	if ((digits.n == 1 || digits.p[0] != '0') && str_to_u64(digits, &n) &&
	    n < LEASE_VIEW_NO_CRAWL)
		*id = (uint32_t)n;
	return true;
}

static struct crawl *
find_crawl(const struct frontier *f, struct str name)
{
	uint32_t id;

	return lease_view_name(name, &id) && id != LEASE_VIEW_NO_CRAWL ?
	    crawl_get(f, id) : NULL;
}

static struct queue *
find_queue(const struct crawl *c, struct str key)
{
	return c == NULL ? NULL : map_get(&c->queues, key);
}

/* --- crawls --------------------------------------------------------------- */

static struct str
name_of(struct arena *a, uint32_t id)
{
	char text[sizeof("crawl/4294967295")];

	snprintf(text, sizeof(text), "crawl/%u", id);
	return arena_copy(a, str_of(text));
}

void
lease_view_add_crawls(struct lease_list *l)
{
	MAP_EACH(c, &l->call.frontier->crawls, const struct crawl) {
		if (c->view.queues > 0)
			l->entries[l->n++].key = name_of(&l->arena, c->id);
	}
}

/* --- a listing ------------------------------------------------------------ */

static bool
is_listed(const struct lease_list *l, struct str key, uint64_t active)
{
	if (l->kind != LEASE_LIST_QUEUES)
		return true;
	return (l->include_inactive || active > 0) &&
	    (l->after.n == 0 || str_cmp(key, l->after) > 0);
}

static void
add_queue_name(struct lease_walk *w, struct str key, uint32_t id)
{
	w->list = mem_room(w->list, w->list_n, &w->list_cap, 64,
	    sizeof(*w->list));
	w->list[w->list_n++] = (struct lease_view_queue){ key, id };
}

static void
collect_record(void *arg, const struct queue_record *r)
{
	struct lease_list *l = arg;
	struct lease_walk *w = l->walk;

	if (is_listed(l, r->key, r->waiting))
		add_queue_name(w, arena_copy(&w->keys, r->key), r->id);
}

/* The record of that queue, or of all: of a crawl that has ended nothing
 * changes any more. */
static enum err
visit_records(struct index *x, uint32_t crawl, struct str key, struct arena *a,
    void (*visit)(void *, const struct queue_record *), void *arg)
{
	struct queue_record r;

	if (key.n == 0)
		return queue_record_each(x, crawl, visit, arg);
	enum err e = queue_record_get(x, crawl, key, a, &r);
	if (e == OK)
		visit(arg, &r);
	return e == ERR_ABSENT ? OK : e;
}

/* The keys are the crawl's, which is held. */
static void
collect(struct lease_list *l)
{
	struct lease_walk *w = l->walk;
	const struct crawl *c = w->held;
	const struct queue *one = find_queue(c, l->key);

	w->retired = c->retired;
	if (w->retired)
		return;
	if (l->key.n != 0 && l->kind != LEASE_LIST_QUEUES) {
		if (one != NULL)
			add_queue_name(w, one->key, one->id);
		return;
	}
	MAP_EACH(q, &c->queues, const struct queue) {
		if (is_listed(l, q->key, q->waiting + q->leased))
			add_queue_name(w, q->key, q->id);
	}
}

/* Records of queues come by their keys. */
enum err
lease_view_sort(struct lease_list *l, struct index *x)
{
	struct lease_walk *w = l->walk;

	if (w->sorted)
		return OK;
	w->sorted = true;
	if (w->retired)
		return visit_records(x, w->crawl, l->kind == LEASE_LIST_QUEUES ?
		    STR_NONE : l->key, &w->keys, collect_record, l);
	if (w->list_n > 0)
		qsort(w->list, w->list_n, sizeof(*w->list), str_order);
	return OK;
}

void
lease_view_queues(struct ledger_query *q, struct index *x)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);
	struct lease_walk *w = l->walk;

	l->call.result = lease_view_sort(l, x);
	for (; w->list_at < w->list_n && l->n < LIST_PIECE_ENTRIES &&
	    !lease_list_complete(l); w->list_at++)
		if (lease_list_wants(l))
			l->entries[l->n++].key = arena_copy(&l->arena,
			    w->list[w->list_at].key);
	l->count += l->n;
	w->ended = w->list_at == w->list_n;
}

/* With its end a URL's record is made anew: its creation date is lost. */
void
lease_view_dates(struct lease_entry *e, bool done, uint32_t created_s)
{
	e->date_s = done ? 0 : MAX(created_s, 1);
	e->created_s = done ? 0 : created_s;
}

/* On the index thread, behind all that is durable. */
static void
open_urls(struct ledger_query *q, struct index *x)
{
	CONTAINER(q, struct lease_list, call.query)->walk->urls =
	    index_iter_new(x, INDEX_URL);
}

static void
urls_opened(struct ledger_query *q)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);

	collect(l);
	lease_list_read(l);
}

void
lease_view_begin(struct lease_list *l)
{
	struct crawl *c = find_crawl(l->call.frontier, l->crawl);
	struct lease_walk *w = l->walk = mem_new(sizeof(*w));

	list_init(&w->node);
	l->count = 0;
	w->ended = c == NULL;
	if (c == NULL) {
		lease_list_answer(l);
		return;
	}
	w->crawl = c->id;
	w->held = c;
	crawl_ref(c);
	if (l->kind == LEASE_LIST_QUEUES) {
		collect(l);
		lease_list_read(l);
		return;
	}
	lease_read(&l->call, false, open_urls, urls_opened);
}

void
lease_view_list(struct frontier *f, struct lease_list *l)
{
	CHECK(l->kind != LEASE_PURGE_URLS);
	l->ours = true;
	lease_list(f, l);
}

/* --- figures -------------------------------------------------------------- */

static void
add_queue(struct lease_stats *s, const struct queue *q)
{
	uint64_t active = q->waiting + q->leased;

	s->active += active;
	s->leased += q->leased;
	s->completed += q->done;
	s->queues++;
	s->active_queues += active > 0;
}

static void
add_record(void *arg, const struct queue_record *r)
{
	struct lease_control *k = arg;

	add_queue(&k->stats, &(struct queue){ .waiting = r->waiting,
	    .done = r->done });
}

/* Beside the groups. */
static void
read_stats(struct ledger_query *q, struct index *x)
{
	struct lease_control *k = CONTAINER(q, struct lease_control,
	    call.query);
	FREED(arena_free) struct arena a = ARENA_INIT;
	uint32_t id;

	CHECK(lease_view_name(k->crawl, &id));
	k->call.result = visit_records(x, id, k->key, &a, add_record, k);
}

/* Whether or not it became durable: reads go on. */
static void
stats_kept(struct promise *p, enum err e)
{
	(void)e;
	lease_answer(CONTAINER(p, struct lease_call, promise));
}

/* A part of them; true: those were the last. */
static bool
add_queues(struct lease_control *k, const struct crawl *c)
{
	/* The table has grown meanwhile: its queues have moved. */
	if (k->cap != c->queues.cap) {
		k->stats = (struct lease_stats){ 0 };
		k->at = 0;
		k->cap = c->queues.cap;
	}
	for (unsigned n = 0; n < STATS_PART; n++) {
		const struct queue *q = map_next(&c->queues, &k->at);
		if (q == NULL)
			return true;
		add_queue(&k->stats, q);
	}
	return false;
}

static void
run_stats(struct lease_call *call)
{
	struct lease_control *k = CONTAINER(call, struct lease_control, call);
	struct frontier *f = call->frontier;
	const struct crawl *c = find_crawl(f, k->crawl);
	const struct queue *one = find_queue(c, k->key);

	if (c == NULL || c->retired || k->key.n > 0)
		k->stats = (struct lease_stats){ 0 };
	if (c != NULL && c->retired) {
		lease_read(call, true, read_stats, lease_answer_read);
		return;
	}
	if (one != NULL)
		add_queue(&k->stats, one);
	if (c != NULL && k->key.n == 0 && !add_queues(k, c)) {
		loop_post(f->loop, &call->mail);
		return;
	}
	if (c == NULL || ledger_health(f->ledger) != LEDGER_FINE) {
		lease_answer(call);
		return;
	}
	lease_promise(f, &call->promise, stats_kept);
}

void
lease_view_stats(struct frontier *f, struct lease_control *k)
{
	CHECK(k->verb == LEASE_STATS);
	lease_post(f, &k->call, run_stats);
}

/* --- one URL -------------------------------------------------------------- */

struct status_query {
	struct frontier_url_query url;
	struct lease_status_of *asked;
};

static void
tell_status(struct frontier_url_query *u)
{
	struct status_query *g = CONTAINER(u, struct status_query, url);
	struct lease_status_of *s = g->asked;
	bool queued = u->state != URL_UNKNOWN && u->state != URL_SKIPPED;

	s->call.result = u->why.err != OK ? u->why.err :
	    queued ? OK : ERR_ABSENT;
	if (queued)
		lease_view_dates(&s->entry, u->state == URL_DONE,
		    (uint32_t)wall_s(u->fact.found));
	arena_free(&u->arena);
	mem_free(&g);
	lease_answer(&s->call);
}

static void
run_status(struct lease_call *call)
{
	struct lease_status_of *s = CONTAINER(call,
	    struct lease_status_of, call);
	struct frontier *f = call->frontier;
	struct str key = s->key.n != 0 ? s->key : lease_key(s->url);
	const struct crawl *c = find_crawl(f, s->crawl);

	if (key.n == 0 || c == NULL) {
		call->result = key.n == 0 ? ERR_INPUT : ERR_ABSENT;
		lease_answer(call);
		return;
	}
	s->entry = (struct lease_entry){ .key = key, .url = s->url };
	struct status_query *g = mem_new(sizeof(*g));
	g->asked = s;
	g->url = (struct frontier_url_query){ .crawl = c->id, .url = s->url,
		.host = key, .done = tell_status };
	frontier_url_query(f, &g->url);
}

void
lease_view_status(struct frontier *f, struct lease_status_of *s)
{
	lease_post(f, &s->call, run_status);
}
