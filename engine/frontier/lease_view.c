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
#include "engine/frontier/lease_view.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/queue_record.h"
#include "engine/frontier/url_key.h"
#include "engine/frontier/url_query.h"

/* One piece: so many entries, bytes of them, or records looked at. */
#define PIECE_ENTRIES 1024u
#define PIECE_BYTES ((size_t)1 << 18)
#define PIECE_LOOKS 8192u

/* Queues added up in one turn of the ledger's loop. */
#define STATS_PART 1024u

#define NAME_HEAD STR("crawl/")

/* A queue of the crawl, which is held; the key is in its arena, or in ours. */
struct lease_view_queue {
	struct str key;
	uint32_t id;
};

struct lease_view_walk {
	uint32_t crawl;
	struct crawl *held;                  /* or NULL; it may be deleted */
	struct lease_view_queue *queues;           /* in the end by key */
	size_t n, at;                        /* the next one */
	size_t cap;
	struct arena keys;                   /* of a retired crawl's */
	bool retired;                        /* they are to be read */
	bool sorted, in_queue, ended;
	struct index_iter *urls;
	struct buf prefix;                   /* of the queue's URLs */
	uint64_t seen;                       /* matches, skipped ones too */
};

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

static int
by_name(const void *a, const void *b)
{
	const struct lease_entry *x = a, *y = b;

	return str_cmp(x->key, y->key);
}

static struct str
name_of(struct arena *a, uint32_t id)
{
	char text[sizeof("crawl/4294967295")];

	snprintf(text, sizeof(text), "crawl/%u", id);
	return arena_copy(a, str_of(text));
}

/* In memory, and not many: all at once. */
static void
list_crawls(struct lease_list *l)
{
	struct frontier *f = l->call.frontier;
	size_t n = f->leases->crawls.n + f->crawls.n;
	uint32_t id;

	l->entries = ARENA_ARRAY(&l->arena, struct lease_entry, n + 1);
	MAP_EACH(c, &f->leases->crawls, const struct lease_crawl) {
		if (c->stats.queues > 0 && !lease_view_name(c->name, &id))
			l->entries[l->n++].key = arena_copy(&l->arena,
			    c->name);
	}
	MAP_EACH(c, &f->crawls, const struct crawl) {
		if (c->view.queues > 0)
			l->entries[l->n++].key = name_of(&l->arena, c->id);
	}
	qsort(l->entries, l->n, sizeof(*l->entries), by_name);
	l->count = l->n;
	lease_answer_durable(&l->call);
}

/* --- a listing ------------------------------------------------------------ */

/* The verb's handle is opaque to all others; here it is ours. */
static struct lease_view_walk *
walk_of(const struct lease_list *l)
{
	return (struct lease_view_walk *)(void *)l->walk;
}

static void
walk_free(struct lease_list *l)
{
	struct lease_view_walk *w = walk_of(l);

	if (w == NULL)
		return;
	l->walk = NULL;
	if (w->held != NULL)
		crawl_unref(w->held);
	index_iter_free(&w->urls);
	buf_free(&w->prefix);
	arena_free(&w->keys);
	mem_free(&w->queues);
	mem_free(&w);
}

static bool
complete(const struct lease_list *l)
{
	const struct lease_view_walk *w = walk_of(l);

	return l->kind != LEASE_COUNT_URLS && w->seen >= l->start &&
	    w->seen - l->start >= l->size;
}

/* A match: true when it is neither before the first nor behind the last. */
static bool
wanted(struct lease_list *l)
{
	return !complete(l) && walk_of(l)->seen++ >= l->start;
}

static void
answer_list(struct lease_list *l)
{
	l->more = l->call.result == OK && !walk_of(l)->ended &&
	    !complete(l) && !l->stop && !lease_is_cancelled(&l->call);
	if (!l->more)
		walk_free(l);
	lease_answer(&l->call);
}

static void
piece_came(struct ledger_query *q)
{
	answer_list(CONTAINER(q, struct lease_list, call.query));
}

static bool
is_listed(const struct lease_list *l, struct str key, uint64_t active)
{
	if (l->kind != LEASE_LIST_QUEUES)
		return true;
	return (l->include_inactive || active > 0) &&
	    (l->after.n == 0 || str_cmp(key, l->after) > 0);
}

static void
collect_record(void *arg, const struct queue_record *r)
{
	struct lease_list *l = arg;
	struct lease_view_walk *w = walk_of(l);

	if (!is_listed(l, r->key, r->waiting))
		return;
	w->queues = mem_room(w->queues, w->n, &w->cap, 64, sizeof(*w->queues));
	w->queues[w->n++] =
	    (struct lease_view_queue){ arena_copy(&w->keys, r->key), r->id };
}

/* Beside the groups: nothing of a crawl that has ended changes any more. */
static enum err
collect_retired(struct lease_list *l, struct index *x)
{
	struct lease_view_walk *w = walk_of(l);
	struct queue_record r;

	if (!w->retired)
		return OK;
	w->retired = false;
	w->sorted = true;
	if (l->key.n == 0 || l->kind == LEASE_LIST_QUEUES)
		return queue_record_each(x, w->crawl, collect_record, l);
	enum err e = queue_record_get(x, w->crawl, l->key, &w->keys, &r);
	if (e == OK)
		collect_record(l, &r);
	return e == ERR_ABSENT ? OK : e;
}

static void
collect(struct lease_list *l, const struct crawl *c)
{
	struct lease_view_walk *w = walk_of(l);
	struct queue *one = find_queue(c, l->key);

	w->retired = c->retired;
	if (w->retired)
		return;
	if (l->key.n != 0 && l->kind != LEASE_LIST_QUEUES) {
		w->queues = mem_array(1, sizeof(*w->queues));
		if (one != NULL)
			w->queues[w->n++] = (struct lease_view_queue){ one->key,
			    one->id };
		return;
	}
	w->queues = mem_array(c->queues.n + 1, sizeof(*w->queues));
	MAP_EACH(q, &c->queues, const struct queue) {
		if (is_listed(l, q->key, q->waiting + q->leased))
			w->queues[w->n++] = (struct lease_view_queue){ q->key,
			    q->id };
	}
}

static int
by_key(const void *a, const void *b)
{
	const struct lease_view_queue *x = a, *y = b;

	return str_cmp(x->key, y->key);
}

static void
sort(struct lease_view_walk *w)
{
	if (!w->sorted)
		qsort(w->queues, w->n, sizeof(*w->queues), by_key);
	w->sorted = true;
}

/* --- queues --------------------------------------------------------------- */

/* Beside the groups. */
static void
walk_queues(struct ledger_query *q, struct index *x)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);
	struct lease_view_walk *w = walk_of(l);

	l->call.result = collect_retired(l, x);
	sort(w);
	for (; w->at < w->n && l->n < PIECE_ENTRIES && !complete(l); w->at++)
		if (wanted(l))
			l->entries[l->n++].key = arena_copy(&l->arena,
			    w->queues[w->at].key);
	l->count += l->n;
	w->ended = w->at == w->n;
}

/* --- URLs ----------------------------------------------------------------- */

static bool
matches(const struct lease_list *l, struct str url)
{
	if (l->filter.n == 0 || !l->ignore_case)
		return l->filter.n == 0 || str_find(url, l->filter) < url.n;
	for (size_t i = 0; i + l->filter.n <= url.n; i++)
		if (str_eq_nocase(str_cut(url, i, i + l->filter.n),
		    l->filter))
			return true;
	return false;
}

/* With its end a URL's record is made anew: its creation date is lost. */
static void
set_dates(struct lease_entry *e, bool done, uint32_t created_s)
{
	e->date_s = done ? 0 : MAX(created_s, 1);
	e->created_s = done ? 0 : created_s;
}

/* In the answer's memory: the walk, and its crawl, may be gone before it. */
static struct str
key_of_entry(struct lease_list *l)
{
	const struct lease_view_walk *w = walk_of(l);
	struct str key = w->queues[w->at].key;

	if (l->n > 0 && str_eq(l->entries[l->n - 1].key, key))
		return l->entries[l->n - 1].key;
	return arena_copy(&l->arena, key);
}

static enum err
add_url(struct lease_list *l, struct str key, struct str value)
{
	struct lease_entry *e = &l->entries[l->n];
	struct reader in = reader_of(key);
	struct url_value v;

	read_be64(&in);
	uint32_t date = read_be32(&in);
	if (in.bad || !url_value_parse(value, &v))
		return ERR_CORRUPT;
	set_dates(e, date == 0, v.created_s);
	e->metadata = STR_NONE;
	struct str url = { in.p, in.n };
	if (!matches(l, url) || (l->kind == LEASE_LIST_URLS && !wanted(l)))
		return OK;
	l->count++;
	if (l->kind == LEASE_COUNT_URLS)
		return OK;
	e->key = key_of_entry(l);
	e->url = arena_copy(&l->arena, url);
	l->n++;
	return OK;
}

static void
enter_queue(struct lease_view_walk *w)
{
	w->ended = w->at == w->n;
	if (w->ended)
		return;
	w->in_queue = true;
	buf_clear(&w->prefix);
	buf_put_be32(&w->prefix, w->crawl);
	buf_put_be32(&w->prefix, w->queues[w->at].id);
	index_iter_seek(w->urls, buf_str(&w->prefix));
}

/* Beside the groups: the snapshot is read, not the index as it is now. */
static void
walk_urls(struct ledger_query *q, struct index *x)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);
	struct lease_view_walk *w = walk_of(l);
	struct str key, value;

	enum err e = collect_retired(l, x);
	sort(w);
	for (unsigned looks = 0; e == OK && !w->ended && !complete(l) &&
	    looks < PIECE_LOOKS && l->n < PIECE_ENTRIES &&
	    l->arena.total < PIECE_BYTES &&
	    !lease_is_cancelled(&l->call); looks++) {
		if (!w->in_queue) {
			enter_queue(w);
		} else if (index_iter_valid(w->urls, &key, &value) &&
		    str_starts(key, buf_str(&w->prefix))) {
			e = add_url(l, key, value);
			index_iter_next(w->urls);
		} else {
			e = index_iter_error(w->urls, NULL);
			w->in_queue = false;
			w->at++;
		}
	}
	l->call.result = e;
}

static void
read_piece(struct lease_list *l)
{
	struct frontier *f = l->call.frontier;

	l->entries = ARENA_ARRAY(&l->arena, struct lease_entry,
	    PIECE_ENTRIES);
	l->call.query.home = f->loop;
	l->call.query.run = l->kind == LEASE_LIST_QUEUES ? walk_queues :
	    walk_urls;
	l->call.query.done = piece_came;
	ledger_read_beside(f->ledger, &l->call.query);
}

/* On the index thread, behind all that is durable. */
static void
open_urls(struct ledger_query *q, struct index *x)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);

	walk_of(l)->urls = index_iter_new(x, INDEX_URL);
}

static void
urls_opened(struct ledger_query *q)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);

	collect(l, walk_of(l)->held);
	read_piece(l);
}

static void
begin_list(struct lease_list *l, struct crawl *c)
{
	struct frontier *f = l->call.frontier;
	struct lease_view_walk *w = mem_new(sizeof(*w));

	l->walk = (struct lease_walk *)(void *)w;
	l->count = 0;
	l->size = l->size == 0 ? LEASE_LIST_SIZE : l->size;
	if (c == NULL) {
		w->ended = true;
		answer_list(l);
		return;
	}
	w->crawl = c->id;
	w->held = c;
	crawl_ref(c);
	if (l->kind == LEASE_LIST_QUEUES) {
		collect(l, c);
		read_piece(l);
		return;
	}
	l->call.query.home = f->loop;
	l->call.query.run = open_urls;
	l->call.query.done = urls_opened;
	ledger_read(f->ledger, &l->call.query);
}

static void
run_list(struct lease_call *call)
{
	struct lease_list *l = CONTAINER(call, struct lease_list, call);

	arena_free(&l->arena);
	l->n = 0;
	l->more = false;
	if (l->stop || lease_is_cancelled(call)) {
		walk_free(l);
		lease_answer(call);
	} else if (l->kind == LEASE_LIST_CRAWLS) {
		list_crawls(l);
	} else if (l->walk == NULL) {
		begin_list(l, find_crawl(call->frontier, l->crawl));
	} else {
		read_piece(l);
	}
}

void
lease_view_list(struct frontier *f, struct lease_list *l)
{
	CHECK(l->kind != LEASE_PURGE_URLS);
	l->call.ends_itself = true;
	lease_post(f, &l->call, run_list);
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
	struct arena a = ARENA_INIT;
	struct queue_record r;
	uint32_t id;
	enum err e;

	CHECK(lease_view_name(k->crawl, &id));
	if (k->key.n == 0) {
		e = queue_record_each(x, id, add_record, k);
	} else {
		e = queue_record_get(x, id, k->key, &a, &r);
		if (e == OK)
			add_record(k, &r);
	}
	k->call.result = e == ERR_ABSENT ? OK : e;
	arena_free(&a);
}

static void
stats_read(struct ledger_query *q)
{
	lease_answer(CONTAINER(q, struct lease_call, query));
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
	struct lease_control *k = CONTAINER(call, struct lease_control,
	    call);
	struct frontier *f = call->frontier;
	const struct crawl *c = find_crawl(f, k->crawl);
	const struct queue *one = find_queue(c, k->key);

	if (c == NULL || c->retired || k->key.n > 0)
		k->stats = (struct lease_stats){ 0 };
	if (c != NULL && c->retired) {
		call->query.home = f->loop;
		call->query.run = read_stats;
		call->query.done = stats_read;
		ledger_read_beside(f->ledger, &call->query);
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
	call->promise.kept = stats_kept;
	lease_promise(f, &call->promise);
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
		set_dates(&s->entry, u->state == URL_DONE,
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
		.host = key, .home = f->loop, .done = tell_status };
	frontier_url_query(f, &g->url);
}

void
lease_view_status(struct frontier *f, struct lease_status_of *s)
{
	lease_post(f, &s->call, run_status);
}
