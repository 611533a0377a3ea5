/*
 * Listings: walks over the index, a piece at a time and in constant memory; and
 * what is known of one URL.
 *
 * Queues come by the bytes of their keys from their records, and what they hold
 * is asked of memory.  URLs come from one snapshot: queue by queue in the order
 * of keys, each in the order of its dates.
 *
 * lease_view.c collects the queues of one of our own crawls; the walk over
 * their URLs is the same.  Such listings are not among those of lease_scan.c.
 */
#include "engine/frontier/crawl.h"
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/lease_service.h"

/*
 * One piece: LIST_PIECE_ENTRIES, bytes of them, records looked at, and bytes of
 * these: whatever it is about, it takes a few milliseconds.
 */
#define PIECE_BYTES ((size_t)1 << 18)
#define PIECE_LOOKS 8192u
#define PIECE_LOOK_BYTES ((size_t)8 << 20)
/* How often a walk sees that nobody waits for it any more, in looks. */
#define CANCEL_LOOKS 256u

static void
walk_free(struct lease_walk **wp)
{
	struct lease_walk *w = *wp;

	if (w == NULL)
		return;
	list_take(&w->node);
	if (w->open != NULL)
		--*w->open;
	index_iter_free(&w->queues);
	index_iter_free(&w->urls);
	buf_free(&w->lower);
	buf_free(&w->filter);
	buf_free(&w->prefix);
	buf_free(&w->key);
	buf_free(&w->from);
	if (w->held != NULL)
		crawl_unref(w->held);
	mem_free(&w->list);
	arena_free(&w->keys);
	mem_free(wp);
}

void
lease_free_walks(struct frontier *f)
{
	while (!list_empty(&f->leases->walks)) {
		struct lease_walk *w = LIST_ITEM(f->leases->walks.next,
		    struct lease_walk, node);
		walk_free(&w);
	}
}

bool
lease_list_complete(const struct lease_list *l)
{
	return l->kind != LEASE_COUNT_URLS && l->kind != LEASE_PURGE_URLS &&
	    l->walk->seen >= l->start && l->walk->seen - l->start >= l->size;
}

bool
lease_list_wants(struct lease_list *l)
{
	return !lease_list_complete(l) && l->walk->seen++ >= l->start;
}

void
lease_list_end(struct lease_list *l)
{
	walk_free(&l->walk);
	l->n = 0;
	l->more = false;
	lease_answer(&l->call);
}

/*
 * The answer depends on nothing but what is in the index, or, for a crawl of
 * ours, in a snapshot of what is durable.
 */
void
lease_list_answer(struct lease_list *l)
{
	struct lease_service *o = l->call.frontier->leases;

	l->stop |= lease_is_cancelled(&l->call);
	l->more = l->call.result == OK && !l->walk->ended &&
	    !lease_list_complete(l) && !l->stop;
	if (!l->more)
		walk_free(&l->walk);
	if (l->ours) {
		lease_answer(&l->call);
		return;
	}
	lease_answer_durable(&l->call);
	o->scanning = false;
	lease_scan_next(o);
}

/* --- URLs ----------------------------------------------------------------- */

static struct str
lower_in(struct buf *b, struct str s)
{
	char *p = (buf_clear(b), buf_grow(b, s.n));

	for (size_t i = 0; i < s.n; i++)
		p[i] = ascii_lower(s.p[i]);
	return buf_str(b);
}

/* In time that is linear in the URL, whatever is looked for. */
static bool
matches(const struct lease_list *l, struct str url)
{
	struct lease_walk *w = l->walk;
	struct str filter = l->filter;

	if (filter.n == 0)
		return true;
	if (l->ignore_case) {
		filter = w->filter.n == 0 ? lower_in(&w->filter, filter) :
		    buf_str(&w->filter);
		url = lower_in(&w->lower, url);
	}
	return str_find(url, filter) < url.n;
}

/* The next queue: its key, and the end of its prefix. */
static enum err
next_queue(struct lease_walk *w)
{
	struct str key, value;

	if (w->held != NULL) {
		w->ended = w->list_at == w->list_n;
		if (w->ended)
			return OK;
		key = w->list[w->list_at].key;
		buf_put_be32(&w->prefix, w->list[w->list_at++].id);
	} else {
		w->ended = !index_iter_valid(w->queues, &key, &value) ||
		    !str_starts(key, buf_str(&w->prefix));
		if (w->ended)
			return index_iter_error(w->queues, NULL);
		if (value.n < 8)
			return ERR_CORRUPT;
		key = str_from(key, 4);
		buf_put_str(&w->prefix, str_cut(value, 4, 8));
	}
	buf_clear(&w->key);
	buf_put_str(&w->key, key);
	if (w->held == NULL)
		index_iter_next(w->queues);
	return OK;
}

/* Move to the first URL of the next queue. */
static enum err
enter_queue(struct lease_walk *w)
{
	enum err e = OK;

	buf_clear(&w->prefix);
	buf_put_be32(&w->prefix, w->crawl);
	w->in_queue = true;
	if (w->queue != 0)
		buf_put_be32(&w->prefix, w->queue);
	else
		e = next_queue(w);
	if (e == OK && !w->ended)
		index_iter_seek(w->urls, buf_str(&w->prefix));
	return e;
}

/* In the answer's memory: the walk, and its crawl, may be gone before it. */
static struct str
key_of_entry(struct lease_list *l)
{
	struct str key = buf_str(&l->walk->key);

	if (l->n > 0 && str_eq(l->entries[l->n - 1].key, key))
		return l->entries[l->n - 1].key;
	return arena_copy(&l->arena, key);
}

/* A purge needs the state of an entry that the known table may not have. */
static enum err
find_evicted(const struct lease_list *l, struct index *x, struct str url)
{
	const struct lease_walk *w = l->walk;
	struct url_entry *e = &w->evicted[l->n];

	*e = (struct url_entry){ .hash = lease_hash(l->call.frontier,
	    w->crawl, w->ids[l->n], url) };
	return w->partial ? known_evict_find(x, e) : OK;
}

static enum err
add_entry(struct lease_list *l, struct index *x, struct str key,
    struct str value)
{
	struct lease_walk *w = l->walk;
	struct lease_entry *e = &l->entries[l->n];
	struct reader in = reader_of(key), v = reader_of(value);

	read_be32(&in);
	w->ids[l->n] = read_be32(&in);
	e->date_s = read_be32(&in);
	e->created_s = read_be32(&v);
	read_u8(&v);
	if (in.bad || v.bad)
		return ERR_CORRUPT;
	if (l->ours)
		lease_view_dates(e, e->date_s == 0, e->created_s);
	struct str url = { in.p, in.n };
	if (l->kind == LEASE_PURGE_URLS) {
		if (e->created_s >= l->before_s)
			return OK;
	} else if (!matches(l, url) || (l->kind == LEASE_LIST_URLS &&
	    !lease_list_wants(l))) {
		return OK;
	}
	l->count++;
	if (l->kind == LEASE_COUNT_URLS)
		return OK;
	e->key = key_of_entry(l);
	e->url = arena_copy(&l->arena, url);
	enum err err = l->kind == LEASE_PURGE_URLS ?
	    find_evicted(l, x, url) : OK;
	if (err != OK)
		return err;
	e->metadata = l->ours || l->kind == LEASE_PURGE_URLS ? STR_NONE :
	    arena_copy(&l->arena, (struct str){ v.p, v.n });
	l->n++;
	return OK;
}

static void
open_urls(struct lease_walk *w, struct index *x)
{
	FREED(buf_free) struct buf from = BUF_INIT;

	w->urls = index_iter_new(x, INDEX_URL);
	w->queues = index_iter_new(x, INDEX_QUEUE);
	buf_put_be32(&from, w->crawl);
	index_iter_seek(w->queues, buf_str(&from));
}

/* There is more of it, and room for it in this piece. */
static bool
goes_on(const struct lease_list *l, size_t bytes)
{
	const struct lease_walk *w = l->walk;

	if (w->looks % CANCEL_LOOKS == 0 && lease_is_cancelled(&l->call))
		return false;
	return !w->ended && !lease_list_complete(l) &&
	    w->looks < PIECE_LOOKS && bytes < PIECE_LOOK_BYTES &&
	    l->n < LIST_PIECE_ENTRIES && l->arena.total < PIECE_BYTES;
}

/* On the index thread when it opens the walk, otherwise beside it. */
static void
walk_urls(struct ledger_query *q, struct index *x)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);
	struct lease_walk *w = l->walk;
	struct str key, value;
	size_t bytes = 0;
	enum err e = l->ours ? lease_view_sort(l, x) : OK;

	if (w->urls == NULL)
		open_urls(w, x);
	for (w->looks = 0; e == OK && goes_on(l, bytes); w->looks++) {
		if (!w->in_queue) {
			e = enter_queue(w);
			continue;
		}
		if (!index_iter_valid(w->urls, &key, &value) ||
		    !str_starts(key, buf_str(&w->prefix))) {
			e = index_iter_error(w->urls, NULL);
			w->in_queue = false;
			w->ended |= w->queue != 0;
			continue;
		}
		bytes += key.n + value.n;
		e = add_entry(l, x, key, value);
		index_iter_next(w->urls);
	}
	l->call.result = e;
}

static void
purge(struct lease_list *l)
{
	struct frontier *f = l->call.frontier;
	struct lease_walk *w = l->walk;
	uint32_t before = (uint32_t)MIN(l->before_s, UINT32_MAX);

	l->count -= l->n;
	for (size_t i = 0; i < l->n; i++) {
		struct lease_queue *q = lease_queue_of(f, w->crawl, w->ids[i]);
		if (q != NULL && lease_purge(q, &w->evicted[i],
		    l->entries[i].url, before))
			l->count++;
	}
	l->n = 0;
}

static void
urls_walked(struct ledger_query *q)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);
	struct frontier *f = l->call.frontier;

	lease_now(f);
	lease_out_expire(f);
	f->leases->scanned += l->ours ? 0 : l->walk->looks;
	if (lease_is_cancelled(&l->call))
		l->n = 0;
	bool purges = l->kind == LEASE_PURGE_URLS;
	if (purges && l->call.result == OK)
		l->call.result = frontier_may_write(f, NULL);
	if (purges && l->call.result == OK)
		purge(l);
	/* A piece without entries is none, but for its turn of the loop. */
	lease_list_answer(l);
}

/* --- queues and crawls ---------------------------------------------------- */

/* On the index thread: keys from `from` on. */
static void
walk_queues(struct ledger_query *q, struct index *x)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);
	struct lease_walk *w = l->walk;
	struct index_iter *i = index_iter_new(x, INDEX_QUEUE);
	struct str key, value;

	for (index_iter_seek(i, buf_str(&w->from));; index_iter_next(i)) {
		if (!index_iter_valid(i, &key, &value) ||
		    !str_starts(key, str_cut(buf_str(&w->from), 0, 4))) {
			w->ended = true;
			break;
		}
		if (l->n == LIST_PIECE_ENTRIES)
			break;
		l->entries[l->n++].key = arena_copy(&l->arena,
		    str_from(key, 4));
	}
	w->looks = l->n;
	if (!w->ended) {
		buf_clear(&w->from);
		buf_put_str(&w->from, key);
	}
	l->call.result = index_iter_error(i, NULL);
	index_iter_free(&i);
}

static bool
shown(const struct lease_list *l, const struct lease_queue *q)
{
	if (q == NULL || q->unseen)
		return false;
	uint64_t block_s = lease_rare(q)->block_s;
	return l->include_inactive || (q->active > 0 &&
	    (block_s == 0 || block_s < l->call.frontier->leases->now_s));
}

static void
queues_walked(struct ledger_query *q)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);
	struct frontier *f = l->call.frontier;
	const struct lease_crawl *c = lease_crawl_of(f, l->walk->crawl);
	size_t n = 0;

	lease_now(f);
	f->leases->scanned += l->walk->looks;
	for (size_t i = 0; i < l->n && c != NULL; i++)
		if (shown(l, lease_find_queue(c, l->entries[i].key)) &&
		    lease_list_wants(l))
			l->entries[n++] = l->entries[i];
	l->n = n;
	l->count += n;
	lease_list_answer(l);
}

/* Beside the groups: it may take long. */
static void
sort_crawls(struct ledger_query *q, struct index *x)
{
	struct lease_list *l = CONTAINER(q, struct lease_list, call.query);

	(void)x;
	qsort(l->entries, l->n, sizeof(*l->entries), str_order);
}

static void
crawls_sorted(struct ledger_query *q)
{
	lease_answer_durable(CONTAINER(q, struct lease_call, query));
}

/* Few, and in memory only: all at once. */
static void
list_crawls(struct lease_list *l)
{
	struct frontier *f = l->call.frontier;
	const struct lease_service *o = f->leases;
	uint32_t id;

	l->entries = ARENA_ARRAY(&l->arena, struct lease_entry,
	    o->crawls.n + f->crawls.n + 1);
	MAP_EACH(c, &o->crawls, const struct lease_crawl) {
		if (c->stats.queues > 0 &&
		    !(l->ours && lease_view_name(c->name, &id)))
			l->entries[l->n++].key = arena_copy(&l->arena, c->name);
	}
	if (l->ours)
		lease_view_add_crawls(l);
	l->count = l->n;
	lease_read(&l->call, true, sort_crawls, crawls_sorted);
}

/*
 * What keeps a snapshot of the index counts: a listing of URLs, which lasts as
 * long as its caller reads, and a count or a purge.  FULL.
 */
static enum err
count_open(struct lease_list *l)
{
	struct lease_service *o = l->call.frontier->leases;

	if (l->kind == LEASE_LIST_QUEUES || l->walk->ended)
		return OK;
	bool urls = l->kind == LEASE_LIST_URLS;
	if (urls && o->listings >= o->frontier->options.lease_listings_max)
		return ERR_FULL;
	l->walk->open = urls ? &o->listings : &o->counts;
	++*l->walk->open;
	return OK;
}

static enum err
begin_walk(struct lease_list *l)
{
	struct frontier *f = l->call.frontier;
	struct lease_crawl *c = lease_find_crawl(f, l->crawl);
	struct lease_queue *q = lease_find_queue(c, l->key);
	struct lease_walk *w = l->walk = mem_new(sizeof(*w));

	l->count = 0;
	list_put(&f->leases->walks, &w->node);
	w->ended = c == NULL || (q == NULL && l->key.n != 0 &&
	    l->kind != LEASE_LIST_QUEUES);
	if (w->ended)
		return OK;
	w->crawl = c->id;
	buf_put_be32(&w->from, c->id);
	if (l->after.n != 0) {
		buf_put_str(&w->from, l->after);
		buf_put_char(&w->from, '\0');
	}
	if (l->key.n != 0 && l->kind != LEASE_LIST_QUEUES) {
		w->queue = q->id;
		buf_put_str(&w->key, lease_queue_key(q));
	}
	return count_open(l);
}

static void
read_purge(struct lease_call *c)
{
	struct lease_list *l = CONTAINER(c, struct lease_list, call);
	struct lease_walk *w = l->walk;

	if (!lease_may_read(c, read_purge))
		return;
	w->partial = known_evict_is_partial(c->frontier);
	w->evicted = ARENA_ARRAY(&l->arena, struct url_entry,
	    LIST_PIECE_ENTRIES);
	lease_read_known(c, w->urls != NULL, walk_urls, urls_walked);
}

void
lease_list_read(struct lease_list *l)
{
	/* Groups need not wait for a walk that has its snapshot. */
	bool beside = l->ours || l->walk->urls != NULL;

	l->entries = ARENA_ARRAY(&l->arena, struct lease_entry,
	    LIST_PIECE_ENTRIES);
	l->walk->ids = ARENA_ARRAY(&l->arena, uint32_t, LIST_PIECE_ENTRIES);
	if (l->kind == LEASE_PURGE_URLS)
		read_purge(&l->call);
	else if (l->kind != LEASE_LIST_QUEUES)
		lease_read(&l->call, beside, walk_urls, urls_walked);
	else if (l->ours)
		lease_read(&l->call, beside, lease_view_queues, urls_walked);
	else
		lease_read(&l->call, beside, walk_queues, queues_walked);
}

bool
lease_list_piece(struct lease_list *l)
{
	if (l->walk == NULL)
		l->call.result = begin_walk(l);
	if (l->call.result == OK && !l->walk->ended &&
	    !lease_list_complete(l)) {
		lease_list_read(l);
		return true;
	}
	walk_free(&l->walk);
	lease_answer_durable(&l->call);
	return false;
}

static void
run_list(struct lease_call *c)
{
	struct lease_list *l = CONTAINER(c, struct lease_list, call);
	struct lease_service *leases = c->frontier->leases;

	arena_free(&l->arena);
	l->n = 0;
	l->more = false;
	if (l->stop || lease_is_cancelled(c)) {
		/* The caller may free the call as soon as it is answered. */
		lease_list_end(l);
		lease_scan_next(leases);
	} else if (l->kind == LEASE_LIST_CRAWLS) {
		list_crawls(l);
	} else if (!l->ours) {
		lease_scan(l);
	} else if (l->walk == NULL) {
		lease_view_begin(l);
	} else {
		lease_list_read(l);
	}
}

void
lease_list(struct frontier *f, struct lease_list *l)
{
	l->call.writes = l->kind == LEASE_PURGE_URLS;
	l->call.ends_itself = true;
	l->size = l->size == 0 ? LEASE_LIST_SIZE : l->size;
	list_init(&l->scan_node);
	lease_post(f, &l->call, run_list);
}

/* --- one URL -------------------------------------------------------------- */

static void run_status(struct lease_call *);

/* On the index thread. */
static enum err
find_status(struct lease_status_of *s, struct index *x)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct url_entry known = { .hash = s->hash };
	struct str value;
	enum err e;

	if (s->evicted) {
		e = known_evict_find(x, &known);
		if (e != OK || known.state == KNOWN_NONE)
			return e == OK ? ERR_ABSENT : e;
		s->date_s = known.date;
	}
	url_key(s->crawl_id, s->queue_id, s->date_s, s->url, &key);
	e = index_get(x, INDEX_URL, buf_str(&key), &s->arena, &value, NULL);
	struct reader in = reader_of(e == OK ? value : STR_NONE);
	s->entry.date_s = s->date_s;
	s->entry.created_s = read_be32(&in);
	read_u8(&in);
	s->entry.metadata = (struct str){ in.p, in.n };
	return e == OK && in.bad ? ERR_CORRUPT : e;
}

static void
read_status(struct ledger_query *query, struct index *x)
{
	struct lease_status_of *s = CONTAINER(query,
	    struct lease_status_of, call.query);

	s->call.result = find_status(s, x);
}

static void
status_kept(struct promise *p, enum err e)
{
	struct lease_call *c = CONTAINER(p, struct lease_call, promise);

	c->result = e;
	if (e == OK)
		run_status(c);
	else
		lease_answer(c);
}

static void
run_status(struct lease_call *c)
{
	struct lease_status_of *s = CONTAINER(c, struct lease_status_of, call);
	struct frontier *f = c->frontier;
	struct str name = s->key.n != 0 ? s->key : lease_key(s->url);
	struct lease_crawl *crawl = lease_find_crawl(f, s->crawl);
	struct lease_queue *q = name.n == 0 ? NULL :
	    lease_find_queue(crawl, name);

	s->entry.url = s->url;
	s->entry.key = name;
	s->hash = q == NULL ? 0 : lease_hash(f, crawl->id, q->id, s->url);
	uint8_t mark = q == NULL ? MARK_OUTSIDE_GONE :
	    lease_state(f, s->hash, &s->date_s);
	s->evicted = mark == KNOWN_NONE && known_evict_is_partial(f);
	if (!s->evicted && (mark == KNOWN_NONE || mark == MARK_OUTSIDE_GONE)) {
		c->result = name.n == 0 ? ERR_INPUT : ERR_ABSENT;
		lease_answer_durable(c);
		return;
	}
	/* The index does not have it yet, or not as it is now. */
	if (map_get_id(&f->leases->fresh, s->hash) != NULL &&
	    ledger_health(f->ledger) != LEDGER_FAILED) {
		lease_promise(f, &c->promise, status_kept);
		return;
	}
	if (!lease_may_read(c, run_status))
		return;
	s->crawl_id = crawl->id;
	s->queue_id = q->id;
	lease_read_known(c, false, read_status, lease_answer_read);
}

void
lease_status_of(struct frontier *f, struct lease_status_of *s)
{
	lease_post(f, &s->call, run_status);
}
