/*
 * Gets: whose turn it is, a walk on the index thread, leases, an answer.
 *
 *     round:  pick queues ─► walk from their cursors ─► lease what is there
 *             ─► another round, while there is room and somebody's turn
 *             ─► the leases are durable: the answer leaves, delays begin
 *
 * A queue whose walk ended early (it has more than a piece holds, or much of
 * what was met is leased) is gone on with before any other: URLs of a queue
 * stand together.
 */
#include "engine/frontier/lease_crawl.h"
#include "os/clock.h"

/* One answer: so many URLs, or bytes of them; and queues in a round. */
#define PIECE_URLS 1024u
#define PIECE_BYTES ((size_t)1 << 20)
/* ... or what is found in this time, so that the first URLs of many are early.
 */
#define PIECE_NS (5 * NS_PER_MS)
#define ROUND_QUEUES 64u
/* Queues looked at in vain, in one call; and those held by one piece. */
#define MISSES_MAX 16u
#define PICKS_MAX (MISSES_MAX + 4 * ROUND_QUEUES)
/* Leased URLs that a walk may meet before it asks again. */
#define MET_MAX CURSOR_URLS_MIN
/* Room for so many URLs of a queue at first. */
#define MET_FIRST 16u
/* How long walks use one iterator, which keeps files and memory in use. */
#define READER_NS (50 * NS_PER_MS)
/* Records passed on the way to a queue, where a search costs more. */
#define NEAR_MAX 8u

struct met {
	struct str url, metadata;
	uint64_t hash;
	uint32_t date, created;
};

/* A queue that this call looks at; it is marked as being served. */
struct lease_pick {
	uint32_t crawl, queue, slot;
	struct buf from;             /* the key at which the walk begins */
	size_t want, scan;
	uint64_t leased;             /* in this call */
	bool walked, ended;          /* and nothing due is behind it */
	bool served, over;
	int64_t served_before;       /* as it was, once it is served */
	uint32_t next_date;          /* behind the due ones; DATE_NEVER */
	struct met *met;
	size_t met_n, met_cap;
	struct str key_copy, crawl_copy;     /* in the answer */
};

/* --- the walk ------------------------------------------------------------- */

static bool
read_met(struct lease_get *g, struct lease_pick *p, struct str key,
    struct str value)
{
	struct reader in = reader_of(key), v = reader_of(value);

	p->met = arena_grow(&g->walk, p->met, p->met_n, &p->met_cap,
	    MIN(p->scan, MET_FIRST), sizeof(*p->met));
	struct met *m = &p->met[p->met_n];
	read_be64(&in);
	m->date = read_be32(&in);
	m->created = read_be32(&v);
	read_u8(&v);
	if (in.bad || v.bad)
		return false;
	m->url = arena_copy(&g->walk, (struct str){ in.p, in.n });
	m->metadata = arena_copy(&g->walk, (struct str){ v.p, v.n });
	m->hash = lease_hash(g->call.frontier, p->crawl, p->queue, m->url);
	p->met_n++;
	return true;
}

/* Bytes that this walk has taken; those of the walk before are used again. */
static size_t
walk_bytes(const struct lease_get *g)
{
	return g->walk.total - g->walk_before;
}

/*
 * Go to the first record from `from` on.  Where the iterator stands, in the
 * queue before or right behind it, no record was passed by that could be it.
 */
static void
go_to(struct lease_reader *r, struct str from)
{
	struct reader in = reader_of(from);
	uint64_t queue = read_be64(&in);
	struct str key, value;
	unsigned steps = 0;

	bool near = r->placed && r->queue < queue && !r->far;
	for (; near; index_iter_next(r->iter)) {
		if (!index_iter_valid(r->iter, &key, &value) ||
		    str_cmp(key, from) >= 0)
			break;
		near = steps++ < NEAR_MAX;
		r->far = !near;
	}
	if (!near)
		index_iter_seek(r->iter, from);
	r->placed = true;
	r->queue = queue;
}

static enum err
walk_queue(struct lease_get *g, struct lease_pick *p,
    struct lease_reader *r)
{
	struct str key, value, prefix = str_cut(buf_str(&p->from), 0, 8);
	struct index_iter *i = r->iter;

	p->walked = true;
	p->ended = false;
	p->next_date = DATE_NEVER;
	p->met_n = p->met_cap = 0;
	for (go_to(r, buf_str(&p->from));; index_iter_next(i)) {
		if (!index_iter_valid(i, &key, &value) ||
		    !str_starts(key, prefix)) {
			p->ended = true;
			break;
		}
		struct reader in = reader_of(str_from(key, 8));
		uint32_t date = read_be32(&in);
		if (date > g->now_s) {
			p->ended = true;
			p->next_date = date;
			break;
		}
		if (p->met_n == p->scan || walk_bytes(g) > PIECE_BYTES)
			break;
		if (!read_met(g, p, key, value))
			return ERR_CORRUPT;
	}
	return index_iter_error(i, NULL);
}

static void
reader_close(struct lease_reader *r)
{
	index_iter_free(&r->iter);
	*r = (struct lease_reader){ .iter = NULL };
}

/*
 * An iterator that shows all puts into these queues.  It may still show records
 * that are gone: a URL is looked up in the known table before it is leased.
 * For a URL that the table has evicted the record itself is trusted, so an
 * iterator must not be older than the last eviction.
 */
static void
reader_open(struct lease_reader *r, const struct lease_get *g,
    struct index *x)
{
	int64_t now = clock_mono().ns;

	if (r->iter != NULL && (r->group < g->put_group || now >= r->end_ns ||
	    r->evictions != g->evictions))
		reader_close(r);
	r->far = false;
	if (r->iter != NULL)
		return;
	r->iter = index_iter_new(x, INDEX_URL);
	r->group = g->applied;
	r->evictions = g->evictions;
	r->end_ns = now + READER_NS;
}

static void
walk_with(struct lease_get *g, struct lease_reader *r)
{
	size_t urls = g->n;
	bool late = false;

	g->walk_before = g->walk.total;
	for (size_t k = 0; k < g->picks_n &&
	    g->bytes + walk_bytes(g) < PIECE_BYTES && urls < PIECE_URLS &&
	    !late && !lease_is_cancelled(&g->call); k++) {
		struct lease_pick *p = &g->picks[k];
		if (p->over)
			continue;
		g->call.result = walk_queue(g, p, r);
		urls += p->met_n;
		late = clock_mono().ns >= g->piece_end_ns;
		if (g->call.result != OK)
			break;
	}
}

/* On the index thread. */
static void
walk_in_order(struct ledger_query *q, struct index *x)
{
	struct lease_get *g = CONTAINER(q, struct lease_get, call.query);
	struct lease_reader r = { .iter = NULL };

	reader_open(&r, g, x);
	walk_with(g, &r);
	reader_close(&r);
}

/* On the thread beside it, where an iterator is kept for the next walk. */
static void
walk_beside(struct ledger_query *q, struct index *x)
{
	struct lease_get *g = CONTAINER(q, struct lease_get, call.query);
	struct lease_reader *r = &g->call.frontier->leases->reader;

	reader_open(r, g, x);
	walk_with(g, r);
	if (g->call.result != OK)
		reader_close(r);
}

static void
drop_reader(struct ledger_query *q, struct index *x)
{
	struct lease_service *o = CONTAINER(q, struct lease_service,
	    reader_query);

	(void)x;
	reader_close(&o->reader);
}

static void
reader_dropped(struct ledger_query *q)
{
	struct lease_service *o = CONTAINER(q, struct lease_service,
	    reader_query);

	o->reader_dropping = false;
}

void
lease_drop_idle_reader(struct frontier *f)
{
	struct lease_service *o = f->leases;

	if (o->reader_dropping || o->reader_asked_ns == 0 ||
	    o->now_ns < o->reader_asked_ns + READER_NS)
		return;
	o->reader_asked_ns = 0;
	o->reader_dropping = true;
	ledger_read_beside(f->ledger, &o->reader_query, f->loop, drop_reader,
	    reader_dropped);
}

void
lease_free_reader(struct frontier *f)
{
	if (f->ledger == NULL)
		return;
	ledger_stop(f->ledger);
	reader_close(&f->leases->reader);
}

/* --- picking -------------------------------------------------------------- */

/* NULL: it was deleted. */
static struct lease_queue *
queue_of(const struct lease_get *g, const struct lease_pick *p)
{
	struct lease_queue *q = lease_at(g->call.frontier->leases, p->slot);

	return q->crawl != NULL && !q->crawl->dead && q->id == p->queue &&
	    q->crawl->id == p->crawl ? q : NULL;
}

static size_t
room(const struct lease_get *g)
{
	return g->n >= PIECE_URLS || g->bytes >= PIECE_BYTES ? 0 :
	    PIECE_URLS - g->n;
}

static void
set_walk(const struct lease_get *g, struct lease_pick *p,
    const struct lease_queue *q)
{
	uint64_t left = g->urls_max == 0 ? UINT64_MAX :
	    g->urls_max - p->leased;

	p->want = (size_t)MIN(left, (uint64_t)room(g));
	p->scan = p->want + 1 + MIN(q->leased, MET_MAX);
	p->walked = false;
}

static void
add_pick(struct lease_get *g, struct lease_queue *q)
{
	struct lease_pick *p = &g->picks[g->picks_n++];

	*p = (struct lease_pick){ .crawl = q->crawl->id, .queue = q->id,
	    .slot = q->slot };
	q->serving = true;
	q->walk_rewind = turn_put_lately(q) ? q->put_due : DATE_NEVER;
	url_key(p->crawl, p->queue, MAX(q->cursor_date, 1u),
	    turn_cursor_url(q), &p->from);
	set_walk(g, p, q);
	g->examined++;
}

static struct lease_queue *
next_queue(struct lease_get *g)
{
	struct frontier *f = g->call.frontier;
	struct lease_crawl *c = g->any_crawl ? NULL :
	    lease_find_crawl(f, g->crawl);

	if (g->key.n == 0 && (c != NULL || g->any_crawl))
		return turn_pick(f, c, g->urls_max, g->ticket_end);
	if (c == NULL)
		return NULL;
	struct lease_queue *q = lease_find_queue(c, g->key);
	if (q == NULL || q->ticket >= g->ticket_end ||
	    !turn_may(q, g->urls_max))
		return NULL;
	turn_take(q);
	return q;
}

/* May turn out to have nothing. */
static bool
doubtful(const struct lease_queue *q)
{
	return q->stale || turn_put_lately(q);
}

/* Queues for this round, behind those that are held. */
static void
pick(struct lease_get *g)
{
	size_t hits = 0, doubts = 0;

	while (g->picks_n < g->picks_cap && hits < ROUND_QUEUES &&
	    g->misses + doubts < MISSES_MAX && hits < room(g) &&
	    (g->queues_max == 0 || g->served + hits < g->queues_max)) {
		struct lease_queue *q = next_queue(g);
		if (q == NULL)
			return;
		doubts += doubtful(q);
		hits++;
		add_pick(g, q);
	}
}

/* --- leasing -------------------------------------------------------------- */

static void
add_url(struct lease_get *g, struct lease_pick *p,
    const struct lease_queue *q, const struct met *m)
{
	g->urls = arena_grow(&g->arena, g->urls, g->n, &g->urls_cap, 64,
	    sizeof(*g->urls));
	if (p->crawl_copy.p == NULL) {
		p->crawl_copy = arena_copy(&g->arena, q->crawl->name);
		p->key_copy = arena_copy(&g->arena, lease_queue_key(q));
	}
	g->urls[g->n++] = (struct lease_url){
		.crawl = p->crawl_copy, .key = p->key_copy,
		.url = arena_copy(&g->arena, m->url),
		.metadata = arena_copy(&g->arena, m->metadata),
		.crawl_id = p->crawl, .queue_id = p->queue, .hash = m->hash,
		.leased_us = lease_steady_us(g->call.frontier->leases) };
	g->bytes += m->url.n + m->metadata.n + sizeof(*g->urls);
}

/* As the walk saw it, it still waits; so do URLs that were evicted. */
static bool
still_waits(const struct frontier *f, const struct met *m)
{
	uint32_t date;
	uint8_t mark = lease_state(f, m->hash, &date);

	return mark == KNOWN_NONE ? known_evict_is_partial(f) :
	    mark == MARK_OUTSIDE && date == m->date;
}

/* The walk of a queue is at its end: where does the next begin? */
static void
settle_cursor(struct lease_get *g, struct lease_pick *p,
    struct lease_queue *q, size_t at)
{
	q->stale = false;
	while (at < p->met_n && !still_waits(g->call.frontier, &p->met[at]))
		at++;
	if (at < p->met_n) {
		turn_cursor(q, p->met[at].date, p->met[at].url);
		q->next_due = p->met[at].date;
	} else if (p->met_n > 0) {
		turn_cursor(q, p->met[at - 1].date, p->met[at - 1].url);
		q->next_due = p->met[at - 1].date;
		q->stale = true;
	}
	if (at >= p->met_n && p->ended) {
		/* Nothing is left of what was due. */
		turn_cursor(q, MIN(p->next_date, g->now_s + 1), STR_NONE);
		q->next_due = p->next_date;
		q->stale = false;
	}
	/* URLs that the scan may have missed, or that came back meanwhile. */
	if (q->walk_rewind != DATE_NEVER) {
		q->stale = true;
		turn_available(q, q->walk_rewind, STR_NONE);
	}
}

/* Lease what the walk met; returns how much of it was looked at. */
static size_t
lease_met(struct lease_get *g, struct lease_pick *p, struct lease_queue *q)
{
	struct frontier *f = g->call.frontier;
	struct lease_service *o = f->leases;
	struct lease_batch *b = NULL;
	size_t at = 0, kept = 0;

	for (size_t i = 0; i < p->met_n; i++) {
		url_table_prefetch(f->known, p->met[i].hash);
		lease_out_prefetch(o, p->met[i].hash);
	}
	for (; at < p->met_n && kept < p->want; at++) {
		const struct met *m = &p->met[at];
		if (!still_waits(f, m))
			continue;
		if (b == NULL)
			b = lease_batch_new(q, lease_steady_us(o), g->lease_s,
			    MIN(p->want, p->met_n - at));
		url_table_set(f->known, m->hash, m->date, MARK_OUTSIDE_LEASED);
		lease_batch_add(b, m->hash, m->date, m->created);
		add_url(g, p, q, m);
		kept++;
	}
	if (b == NULL)
		return at;
	if (!p->served) {
		p->served = true;
		g->served++;
		q->ticket = o->next_ticket++;
		p->served_before = q->served;
		q->served = o->now_ns;
	}
	p->leased += kept;
	lease_batch_note(b);
	lease_batch_set_end(b);
	return at;
}

/* --- rounds --------------------------------------------------------------- */

static void
free_pick(struct lease_pick *p)
{
	buf_free(&p->from);
}

/* It keeps its place, as if nobody had looked. */
static void
put_back(struct lease_get *g, struct lease_pick *p)
{
	struct lease_queue *q = queue_of(g, p);

	free_pick(p);
	if (q == NULL)
		return;
	/* The URL for which the queue was taken may be leased by now. */
	q->stale |= !p->over && p->leased > 0;
	q->serving = false;
	turn_place(q);
}

/* All URLs that were read are handled: scan on after them. */
static void
walk_on(struct lease_get *g, struct lease_pick *p,
    struct lease_queue *q, size_t at)
{
	if (at > 0) {
		const struct met *m = &p->met[at - 1];
		url_key(p->crawl, p->queue, m->date, m->url, &p->from);
		buf_put_char(&p->from, '\0');
	}
	p->met = NULL;
	p->met_n = 0;
	set_walk(g, p, q);
}

/* True when this pick has come to its end. */
static bool
take(struct lease_get *g, struct lease_pick *p)
{
	struct lease_queue *q = queue_of(g, p);

	/* Deleted, blocked or slowed down since it was picked. */
	if (q == NULL || !turn_still(q, p->served ? p->served_before :
	    q->served)) {
		if (q != NULL)
			q->stale = true;
		g->misses += !p->served;
		p->over = true;
		return true;
	}
	size_t at = lease_met(g, p, q);
	bool enough = g->urls_max != 0 && p->leased >= g->urls_max;
	if (!enough && (at < p->met_n || !p->ended)) {
		walk_on(g, p, q, at);
		return false;
	}
	settle_cursor(g, p, q, at);
	p->met = NULL;
	p->over = true;
	g->misses += !p->served;
	return true;
}

static void round_begin(struct lease_get *);

/* Delays begin when the answer leaves, so that they are never too short. */
static void
let_go(struct lease_get *g)
{
	size_t kept = 0;

	for (size_t k = 0; k < g->picks_n; k++) {
		struct lease_pick *p = &g->picks[k];
		struct lease_queue *q = queue_of(g, p);
		if (g->more && (!p->over || !p->served)) {
			/* It goes on, or is not to be looked at again. */
			p->crawl_copy = p->key_copy = STR_NONE;
			g->picks[kept++] = *p;
			continue;
		}
		if (q != NULL && p->served)
			q->served = g->call.frontier->leases->now_ns;
		put_back(g, p);
	}
	g->picks_n = kept;
	if (!g->more)
		mem_free(&g->picks);
}

static void
answer_get(struct lease_get *g)
{
	if (g->call.result != OK) {
		g->n = 0;
		g->more = false;
	}
	lease_now(g->call.frontier);
	let_go(g);
	lease_answer(&g->call);
}

static void
get_kept(struct promise *p, enum err e)
{
	struct lease_get *g = CONTAINER(p, struct lease_get, call.promise);

	if (e != OK)
		g->call.result = e;
	answer_get(g);
}

static void
answer_when_durable(struct lease_get *g)
{
	struct frontier *f = g->call.frontier;

	if (g->n == 0 || g->call.result != OK ||
	    ledger_health(f->ledger) == LEDGER_FAILED) {
		if (g->n > 0 && g->call.result == OK)
			g->call.result = ERR_BROKEN;
		answer_get(g);
		return;
	}
	lease_promise(f, &g->call.promise, get_kept);
	/* The crawler has nothing to do until then. */
	ledger_hurry(f->ledger);
}

static bool
complete(const struct lease_get *g)
{
	return (g->queues_max != 0 && g->served >= g->queues_max) ||
	    g->misses >= MISSES_MAX;
}

static void
walked(struct ledger_query *query)
{
	struct lease_get *g = CONTAINER(query, struct lease_get, call.query);
	struct frontier *f = g->call.frontier;
	size_t k = 0;

	lease_now(f);
	lease_out_expire(f);
	if (f->leases->inactive && g->call.result == OK)
		g->stop = true;
	g->stop |= lease_is_cancelled(&g->call);
	g->cut = false;
	if (g->call.result != OK || g->stop) {
		g->more = false;
		answer_when_durable(g);
		return;
	}
	for (; k < g->picks_n && !g->cut; k++) {
		struct lease_pick *p = &g->picks[k];
		if (p->over)
			continue;
		if (!p->walked)
			break;
		g->cut = !take(g, p);
	}
	/* Those behind had no turn yet. */
	for (size_t i = k; i < g->picks_n; i++) {
		g->examined -= 1;
		put_back(g, &g->picks[i]);
	}
	g->picks_n = k;
	bool late = g->n > 0 && f->leases->now_ns >= g->piece_end_ns;
	if ((late || room(g) == 0) && (g->cut || !complete(g))) {
		g->more = true;
		answer_when_durable(g);
		return;
	}
	round_begin(g);
}

/* In the order of the groups: there may have been more of them meanwhile. */
static void
walk_later(struct lease_call *c)
{
	if (lease_may_read(c, walk_later))
		lease_read_known(c, false, walk_in_order, walked);
}

static void
round_begin(struct lease_get *g)
{
	struct frontier *f = g->call.frontier;

	if (!g->cut && !complete(g))
		pick(g);
	bool any = false;
	g->put_group = 0;
	g->applied = ledger_applied(f->ledger);
	for (size_t k = 0; k < g->picks_n; k++) {
		const struct lease_queue *q = queue_of(g, &g->picks[k]);
		if (g->picks[k].over)
			continue;
		any = true;
		if (q != NULL)
			g->put_group = MAX(g->put_group, turn_put_group(q));
	}
	if (!any) {
		g->more = g->picks_n == g->picks_cap && !complete(g);
		answer_when_durable(g);
		return;
	}
	g->now_s = f->leases->now_s;
	/* Nothing was found so far. */
	if (f->leases->now_ns >= g->piece_end_ns)
		g->piece_end_ns = f->leases->now_ns + PIECE_NS;
	arena_reset(&g->walk);
	/* Beside the groups if the index has all of these queues. */
	bool beside = g->put_group <= g->applied;
	if (!lease_may_read(&g->call, walk_later))
		return;
	g->evictions = f->evict->evictions;
	if (beside)
		f->leases->reader_asked_ns = f->leases->now_ns;
	lease_read_known(&g->call, beside, beside ? walk_beside :
	    walk_in_order, walked);
}

/* Such a get is answered at once, however long that takes. */
static bool
fits_a_piece(const struct lease_get *g)
{
	return g->urls_max != 0 && g->queues_max != 0 &&
	    (uint64_t)g->urls_max * g->queues_max <= PIECE_URLS;
}

static void
run_get(struct lease_call *c)
{
	struct lease_get *g = CONTAINER(c, struct lease_get, call);
	struct frontier *f = c->frontier;
	struct lease_service *o = f->leases;

	arena_reset(&g->arena);
	g->n = g->bytes = g->urls_cap = 0;
	g->urls = NULL;
	g->more = false;
	g->piece_end_ns = fits_a_piece(g) ? INT64_MAX :
	    o->now_ns + PIECE_NS;
	if (!g->begun) {
		g->begun = true;
		g->ticket_end = o->next_ticket;
		g->lease_s = g->lease_s == 0 ? LEASE_LEASE_S : g->lease_s;
		g->picks_cap = g->queues_max == 0 ? PICKS_MAX :
		    MIN(PICKS_MAX, (size_t)g->queues_max + MISSES_MAX);
		g->picks = mem_array(g->picks_cap, sizeof(*g->picks));
	} else {
		for (size_t k = 0; k < g->picks_n; k++) {
			struct lease_queue *q = queue_of(g, &g->picks[k]);
			if (!g->picks[k].over && q != NULL)
				set_walk(g, &g->picks[k], q);
		}
	}
	g->stop |= lease_is_cancelled(c);
	c->result = frontier_may_write(f, NULL);
	if (g->stop || o->inactive || c->result != OK)
		answer_get(g);
	else
		round_begin(g);
}

void
lease_get_free(struct lease_get *g)
{
	for (size_t k = 0; k < g->picks_n; k++)
		free_pick(&g->picks[k]);
	g->picks_n = 0;
	mem_free(&g->picks);
	arena_free(&g->walk);
	arena_free(&g->arena);
}

void
lease_get(struct frontier *f, struct lease_get *g)
{
	g->call.ends_itself = true;
	lease_post(f, &g->call, run_get);
}
