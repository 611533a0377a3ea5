/* Queues: their records, and telling loops which have URLs. */
#include "engine/frontier/host_shard.h"
#include "engine/frontier/queue.h"

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
	list_init(&q->fresh_node);
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
	metric_add(&frontier_metrics[METRIC_QUEUES_KNOWN], 1);
	return q;
}

void
queue_free(struct queue **qp)
{
	buf_free(&(*qp)->cursor_url);
	mem_free(qp);
	metric_add(&frontier_metrics[METRIC_QUEUES_KNOWN], -1);
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
	buf_clear(out);
	buf_put_be32(out, q->crawl->id);
	buf_put_be32(out, q->id);
	buf_put_varint(out, q->ordered);
	buf_put_varint(out, q->waiting + q->leased);
	buf_put_varint(out, q->done);
	buf_put_field(out, q->key);
}

bool
queue_record_parse(struct str value, struct queue_record *r)
{
	struct reader in = reader_of(value);

	r->crawl = read_be32(&in);
	r->id = read_be32(&in);
	r->ordered = (uint32_t)read_varint(&in);
	r->waiting = read_varint(&in);
	r->done = read_varint(&in);
	r->key = read_field(&in);
	return !in.bad;
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
	/* State only in the log must reach the index before the log goes. */
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

	queue_key(q->crawl->id, q->key, &f->key);
	queue_note_bytes(q, &f->value);
	ledger_put_unlogged(f->ledger, INDEX_QUEUE, buf_str(&f->key),
	    buf_str(&f->value));
}

enum err
queue_record_get(struct index *x, uint32_t crawl, struct str key,
    struct arena *a, struct queue_record *r)
{
	FREED(buf_free) struct buf at = BUF_INIT;
	struct str value;

	queue_key(crawl, key, &at);
	enum err e = index_get(x, INDEX_QUEUE, buf_str(&at), a, &value, NULL);
	return e == OK && !queue_record_parse(value, r) ? ERR_CORRUPT : e;
}

enum err
queue_record_each(struct index *x, uint32_t crawl,
    void (*visit)(void *arg, const struct queue_record *), void *arg)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_QUEUE);
	FREED(buf_free) struct buf from = BUF_INIT;
	struct str key, value;
	struct queue_record r;
	bool fine = true;

	queue_key(crawl, STR(""), &from);
	for (index_iter_seek(i, buf_str(&from)); fine &&
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i)) {
		fine = queue_record_parse(value, &r);
		if (fine)
			visit(arg, &r);
	}
	enum err e = index_iter_error(i, NULL);
	return e == OK && !fine ? ERR_CORRUPT : e;
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
	q->note.port = (void *)p;
	q->note.crawl = q->crawl->id;
	q->note.queue = q->id;
	q->note.key = q->key;
	loop_send(p->loop, &q->note.mail, deliver_note);
}

/* Queues that got URLs in one group; told together when it is durable. */
struct fresh_batch {
	struct promise promise;
	struct list node;            /* in frontier.batches */
	struct frontier *frontier;
	uint64_t group;
	struct list queues;
};

static void
handoff_kept(struct promise *p, enum err e)
{
	struct fresh_batch *b = CONTAINER(p, struct fresh_batch, promise);

	if (b->frontier->batch == b)
		b->frontier->batch = NULL;
	while (!list_empty(&b->queues)) {
		struct queue *q = LIST_POP(&b->queues, struct queue,
		    fresh_node);
		/* A walk may have passed their places before they stood. */
		queue_rewind(q, q->fresh_rank);
		if (e == OK)
			queue_tell(q);
		/* More came since this group was sealed: told by the next. */
		if (e == OK && q->fresh_group > b->group &&
		    !crawl_state_is_ended(q->crawl->view.state))
			queue_fresh(q, q->fresh_rank);
	}
	list_take(&b->node);
	mem_free(&b);
}

void
queue_forget_fresh(struct frontier *f)
{
	while (!list_empty(&f->batches)) {
		struct fresh_batch *b = LIST_POP(&f->batches,
		    struct fresh_batch, node);
		mem_free(&b);
	}
}

void
queue_fresh(struct queue *q, uint32_t rank)
{
	struct frontier *f = q->crawl->frontier;

	bool fresh = !list_empty(&q->fresh_node);
	q->fresh_rank = fresh ? MIN(q->fresh_rank, rank) : rank;
	q->fresh_group = ledger_group(f->ledger);
	if (fresh)
		return;
	if (f->batch == NULL || f->batch->group != q->fresh_group) {
		f->batch = mem_new(sizeof(*f->batch));
		f->batch->frontier = f;
		f->batch->group = q->fresh_group;
		f->batch->promise.kept = handoff_kept;
		list_put(&f->batches, &f->batch->node);
		list_init(&f->batch->queues);
		ledger_promise(f->ledger, &f->batch->promise);
	}
	list_put(&f->batch->queues, &q->fresh_node);
}

void
queue_rewind(struct queue *q, uint32_t rank)
{
	q->walk_rewind = MIN(q->walk_rewind, rank);
	if (rank > q->cursor_rank)
		return;
	q->cursor_rank = rank;
	buf_clear(&q->cursor_url);
}
