/*
 * Serving from queues.
 *
 *     serve ─► ledger's loop: may this queue be served?
 *           ─► index thread:  a walk from the cursor
 *           ─► ledger's loop: what is still waiting becomes leased ─► home
 */
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/exclude.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/serve.h"

static void
deliver_served(struct mail *m)
{
	struct serve *s = CONTAINER(m, struct serve, mail);

	s->served(s);
}

static void
answer(struct serve *s)
{
	loop_send(s->home, &s->mail, deliver_served);
}

static void
queue_starves(struct queue *q)
{
	if (list_empty(&q->starved_node))
		list_put(&q->crawl->starved, &q->starved_node);
}

/* On the index thread: up to `scan` URLs from the cursor on. */
static void
walk(struct ledger_query *query, struct index *x)
{
	struct serve *s = CONTAINER(query, struct serve, query);
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_URL);
	struct str key, value, prefix = str_cut(buf_str(&s->from), 0, 8);

	s->leases = ARENA_ARRAY(&s->arena, struct lease, s->scan);
	for (index_iter_seek(i, buf_str(&s->from)); s->n < s->scan &&
	    index_iter_valid(i, &key, &value); index_iter_next(i)) {
		struct url_value v;
		struct reader in = reader_of(key);
		if (!str_starts(key, prefix))
			break;
		read_be64(&in);
		uint32_t rank = read_be32(&in);
		if (rank > RANK_MAX)
			break;          /* dates: of no crawl of ours */
		if (!url_value_parse(value, &v)) {
			why(&s->result, ERR_CORRUPT, "a URL's record in the "
			    "index is damaged");
			break;
		}
		struct str url = { in.p, in.n };
		s->leases[s->n++] = (struct lease){
			.url = arena_copy(&s->arena, url),
			.hash = frontier_hash(s->crawl, url), .rank = rank,
			.cost = v.cost, .depth = v.depth, .flags = v.flags,
			.queue = s->queue, .via_seq = v.seq };
	}
	if (index_iter_error(i, &s->result) != OK)
		s->n = 0;
}

static void
run_via_read(struct ledger_query *query, struct index *x)
{
	via_read(CONTAINER(query, struct serve, query), x);
}

static void
via_was_read(struct ledger_query *query)
{
	struct serve *s = CONTAINER(query, struct serve, query);

	via_learn(s->frontier->via, s);
	answer(s);
}

/* Answer, as soon as each lease has the URL on which it was found. */
static void
find_via(struct serve *s)
{
	if (via_find(s->frontier->via, s)) {
		answer(s);
		return;
	}
	ledger_read(s->frontier->ledger, &s->query, s->frontier->loop,
	    run_via_read, via_was_read);
}

static void
prefetch_leases(const struct serve *s, size_t from)
{
	size_t to = MIN(s->n, from + URL_TABLE_PREFETCH);

	for (size_t i = from; i < to; i++)
		url_table_prefetch(s->frontier->known, s->leases[i].hash);
}

/* Back on the ledger's loop: lease what still waits. */
static void
walked(struct ledger_query *query)
{
	struct serve *s = CONTAINER(query, struct serve, query);
	struct frontier *f = s->frontier;
	struct crawl *c = crawl_get(f, s->crawl);
	struct queue *q = c == NULL ? NULL :
	    map_get_id(&c->queues_by_id, s->queue);
	size_t kept = 0;

	if (q == NULL || c->view.state != CRAWL_RUNNING)
		s->n = 0;
	bool full = s->n == s->scan;
	size_t want = (size_t)MIN((uint64_t)s->want,
	    s->n == 0 ? 0 : crawl_tickets(c));
	for (size_t i = 0; i < s->n && kept < want; i++) {
		struct lease *l = &s->leases[i];
		uint32_t date;
		uint8_t mark;
		if (i % URL_TABLE_PREFETCH == 0)
			prefetch_leases(s, i);
		q->cursor_rank = l->rank;
		buf_clear(&q->cursor_url);
		buf_put_str(&q->cursor_url, l->url);
		/* Done meanwhile, or leased before the cursor went back.  What
		 * the table has forgotten is as the index says: waiting. */
		if (url_table_get(f->known, l->hash, &date, &mark) ?
		    mark != MARK_WAITING || date != l->rank :
		    !known_evict_is_partial(f))
			continue;
		if (crawl_excludes_now(c, NULL, l->url)) {
			crawl_skip_waiting(c, q, l, SKIP_SCOPE);
			continue;
		}
		url_table_set(f->known, l->hash, l->rank, MARK_LEASED);
		s->leases[kept++] = *l;
	}
	if (kept > 0) {
		q->waiting -= kept;
		q->leased += kept;
		c->view.counts.leased += kept;
	}
	/* URLs that were added during the scan may sort before its end. */
	if (q != NULL) {
		q->walks--;
		queue_rewind(q, q->walk_rewind);
	}
	if (want < s->want && q != NULL && q->waiting > 0)
		queue_starves(q);
	s->n = kept;
	/* Much of what it met is done, in groups on their way: ask again. */
	if (full && kept < want && q->waiting > 0)
		queue_tell(q);
	if (q != NULL) {
		queue_settle(q);
		crawl_consider_end(c);
	}
	find_via(s);
	known_evict_read_back(f);
}

static void
start_walk(struct queue *q, struct serve *s)
{
	struct frontier *f = q->crawl->frontier;

	url_key(q->crawl->id, q->id, MAX(q->cursor_rank, 1u),
	    buf_str(&q->cursor_url), &s->from);
	if (q->walks++ == 0)
		q->walk_rewind = UINT32_MAX;
	/* Those that are out may stand behind a cursor that went back. */
	s->scan = s->want + (size_t)q->leased + 1;
	s->n = 0;
	ledger_read(f->ledger, &s->query, f->loop, walk, walked);
}

static void serve_arrived(struct mail *);

static void
gate_opened(struct frontier *f, struct eviction_wait *g)
{
	(void)f;
	serve_arrived(&CONTAINER(g, struct serve, gate)->mail);
}

static void
serve_arrived(struct mail *m)
{
	struct serve *s = CONTAINER(m, struct serve, mail);
	struct frontier *f = s->frontier;
	struct crawl *c = crawl_get(f, s->crawl);
	struct queue *q = c == NULL ? NULL :
	    map_get_id(&c->queues_by_id, s->queue);

	s->n = 0;
	s->result = WHY_INIT;
	/* Once: a serve that waits at the gate arrives again. */
	if (q != NULL && s->note_seen)
		q->noted = s->note_seen = false;
	if (q == NULL) {
		answer(s);
		return;
	}
	bool ready = c->view.state == CRAWL_RUNNING && q->waiting > 0;
	if (ready && crawl_tickets(c) == 0) {
		queue_starves(q);
		ready = false;
	}
	if (!ready || !queue_activate(q)) {
		answer(s);
		queue_settle(q);
		return;
	}
	s->gate.open = gate_opened;
	if (known_evict_may_read(f, &s->gate))
		start_walk(q, s);
}

void
frontier_serve(struct frontier *f, struct serve *s)
{
	s->frontier = f;
	loop_send(f->loop, &s->mail, serve_arrived);
}
