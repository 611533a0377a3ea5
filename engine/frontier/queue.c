/*
 * Queues, and serving from them.
 *
 *     serve ─► ledger's loop: may this queue be served?
 *           ─► index thread:  a walk from the cursor
 *           ─► ledger's loop: what is still waiting becomes leased ─► home
 */
#include "base/metric.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/state.h"

#define QUEUE_METRICS(X)                                                     \
	X(QUEUES_KNOWN, GAUGE, "argiope_queues_known",                       \
	    "Queues in memory, of crawls that have not ended.")
enum { QUEUE_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { QUEUE_METRICS(METRIC_ROW) };

void
queues_open(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
	sitemaps_open();
}

struct queue *
queue_get(struct crawl *c, struct str key, bool make)
{
	struct queue *q = map_get(&c->queues, key);

	if (q != NULL || !make)
		return q;
	q = mem_new(sizeof(*q));
	q->crawl = c;
	q->id = c->next_queue++;
	q->key = arena_copy(&c->keys, key);
	list_init(&q->dirty_node);
	list_init(&q->changed_node);
	list_init(&q->starved_node);
	list_init(&q->slot_node);
	struct host_shard *host_shard = c->frontier->options.host_shard;
	q->port = host_shard == NULL ? 0 : host_shard_port(host_shard, key);
	map_put(&c->queues, q->key, q);
	map_put_id(&c->queues_by_id, q->id, q);
	/* Ids are given one by one. */
	c->view.queues = MAX(c->view.queues, q->id - QUEUE_SKIPPED);
	metric_add(&metrics[METRIC_QUEUES_KNOWN], 1);
	return q;
}

void
queue_free(struct queue **qp)
{
	buf_free(&(*qp)->cursor_url);
	mem_free(qp);
	metric_add(&metrics[METRIC_QUEUES_KNOWN], -1);
}

void
queue_touch(struct queue *q)
{
	if (q->dirty)
		return;
	q->dirty = true;
	list_put(&q->crawl->frontier->dirty_queues, &q->dirty_node);
}

void
queue_note_bytes(const struct queue *q, struct buf *out)
{
	buf_put_be32(out, q->crawl->id);
	buf_put_be32(out, q->id);
	buf_put_varint(out, q->ordered);
	buf_put_varint(out, q->waiting + q->leased);
	buf_put_varint(out, q->done);
	buf_put_field(out, q->key);
}

bool
queue_from_note(struct frontier *f, struct str note)
{
	struct queue_record r;

	if (!queue_record_parse(note, &r))
		return false;
	struct crawl *c = crawl_make(f, r.crawl);
	struct queue *q = map_get(&c->queues, r.key);
	if (q == NULL) {
		/* Records come by key, so not in the order of their ids. */
		uint32_t next = MAX(c->next_queue, r.id + 1);
		c->next_queue = r.id;
		q = queue_get(c, r.key, true);
		c->next_queue = next;
	}
	/* What only the log holds must reach the index before the log goes. */
	if (!f->loading && list_empty(&q->changed_node))
		list_put(&f->changed_queues, &q->changed_node);
	q->ordered = r.ordered;
	/* Leases to our own fetcher end with the process. */
	q->waiting = r.waiting;
	q->leased = 0;
	q->done = r.done;
	return true;
}

void
queue_put_record(const struct queue *q)
{
	struct frontier *f = q->crawl->frontier;

	buf_clear(&f->key);
	buf_clear(&f->value);
	queue_key(q->crawl->id, q->key, &f->key);
	queue_note_bytes(q, &f->value);
	ledger_put_unlogged(f->ledger, INDEX_QUEUE, buf_str(&f->key),
	    buf_str(&f->value));
}

/* --- telling the loops -------------------------------------------------- */

static void
deliver_note(struct mail *m)
{
	struct queue_note *n = CONTAINER(m, struct queue_note, mail);
	const struct frontier_port *p = n->port;

	p->work(n);
}

void
queue_tell(struct queue *q)
{
	struct frontier *f = q->crawl->frontier;

	if (q->noted || q->crawl->view.state != CRAWL_RUNNING ||
	    f->options.ports_n == 0 || !queue_activate(q))
		return;
	const struct frontier_port *p = &f->options.ports[q->port];
	q->noted = true;
	q->note.mail.deliver = deliver_note;
	q->note.port = (void *)p;
	q->note.crawl = q->crawl->id;
	q->note.queue = q->id;
	q->note.key = q->key;
	loop_post(p->loop, &q->note.mail);
}

/* Queues that got URLs in one group; told together when it is durable. */
struct fresh_batch {
	struct promise promise;
	struct list node;            /* in frontier.batches */
	struct frontier *frontier;
	uint64_t group;
	struct queue *first, **last;
};

static void
handoff_kept(struct promise *p, enum err e)
{
	struct fresh_batch *b = CONTAINER(p, struct fresh_batch, promise);
	struct queue *q = b->first;

	if (b->frontier->batch == b)
		b->frontier->batch = NULL;
	while (q != NULL) {
		struct queue *next = q->next_fresh;
		q->next_fresh = NULL;
		q->fresh = false;
		/* A walk may have passed their places before they stood. */
		queue_rewind(q, q->fresh_rank);
		if (e == OK)
			queue_tell(q);
		/* More came since this group was sealed: told by the next. */
		if (e == OK && q->fresh_group > b->group &&
		    !crawl_ended(q->crawl->view.state))
			queue_fresh(q, q->fresh_rank);
		q = next;
	}
	list_take(&b->node);
	mem_free(&b);
}

void
queue_forget_fresh(struct frontier *f)
{
	while (!list_empty(&f->batches)) {
		struct fresh_batch *b = LIST_ITEM(f->batches.next,
		    struct fresh_batch, node);
		list_take(&b->node);
		mem_free(&b);
	}
}

void
queue_fresh(struct queue *q, uint32_t rank)
{
	struct frontier *f = q->crawl->frontier;

	q->fresh_rank = q->fresh ? MIN(q->fresh_rank, rank) : rank;
	q->fresh_group = ledger_group(f->ledger);
	if (q->fresh)
		return;
	if (f->batch == NULL || f->batch->group != q->fresh_group) {
		f->batch = mem_new(sizeof(*f->batch));
		f->batch->frontier = f;
		f->batch->group = q->fresh_group;
		f->batch->promise.kept = handoff_kept;
		list_put(&f->batches, &f->batch->node);
		f->batch->last = &f->batch->first;
		ledger_promise(f->ledger, &f->batch->promise);
	}
	q->fresh = true;
	*f->batch->last = q;
	f->batch->last = &q->next_fresh;
}

/* --- serving ------------------------------------------------------------ */

void
queue_rewind(struct queue *q, uint32_t rank)
{
	q->walk_rewind = MIN(q->walk_rewind, rank);
	if (rank > q->cursor_rank)
		return;
	q->cursor_rank = rank;
	buf_clear(&q->cursor_url);
}

static void
deliver_served(struct mail *m)
{
	struct serve *s = CONTAINER(m, struct serve, mail);

	s->served(s);
}

static void
answer(struct serve *s)
{
	s->mail.deliver = deliver_served;
	loop_post(s->home, &s->mail);
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
	struct index_iter *i = index_iter_new(x, INDEX_URL);
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
		struct lease *l = &s->leases[s->n++];
		l->url = arena_copy(&s->arena, (struct str){ in.p, in.n });
		l->hash = frontier_hash(s->crawl, l->url);
		l->rank = rank;
		l->cost = v.cost;
		l->depth = v.depth;
		l->flags = v.flags;
		l->queue = s->queue;
		l->via_seq = v.seq;
	}
	if (index_iter_error(i, &s->result) != OK)
		s->n = 0;
	index_iter_free(&i);
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
	s->query.run = run_via_read;
	s->query.done = via_was_read;
	ledger_read(s->frontier->ledger, &s->query);
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
		q->cursor_rank = l->rank;
		buf_clear(&q->cursor_url);
		buf_put_str(&q->cursor_url, l->url);
		/* Done meanwhile, or leased before the cursor went back.  What
		 * the table has forgotten is as the index says: waiting. */
		if (url_table_get(f->known, l->hash, &date, &mark) ?
		    mark != MARK_WAITING || date != l->rank :
		    !f->memory.partial)
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
	/* What came while the walk was out may stand before its end. */
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

	buf_clear(&s->from);
	url_key(q->crawl->id, q->id, MAX(q->cursor_rank, 1u),
	    buf_str(&q->cursor_url), &s->from);
	if (q->walks++ == 0)
		q->walk_rewind = UINT32_MAX;
	/* Those that are out may stand behind a cursor that went back. */
	s->scan = s->want + (size_t)q->leased + 1;
	s->n = 0;
	s->query.home = f->loop;
	s->query.run = walk;
	s->query.done = walked;
	ledger_read(f->ledger, &s->query);
}

static void
gate_opened(struct frontier *f, struct eviction_wait *g)
{
	serve_arrived(f, CONTAINER(g, struct serve, gate));
}

void
serve_arrived(struct frontier *f, struct serve *s)
{
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

static void
deliver_serve(struct mail *m)
{
	struct serve *s = CONTAINER(m, struct serve, mail);

	serve_arrived(s->frontier, s);
}

void
frontier_serve(struct frontier *f, struct serve *s)
{
	s->frontier = f;
	s->mail.deliver = deliver_serve;
	loop_post(f->loop, &s->mail);
}
