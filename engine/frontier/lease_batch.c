/*
 * Outsiders' leases: one note in the log per queue served; in memory a mark in
 * the known table, and one end for all URLs that a queue gave at a time.
 */
#include "engine/frontier/lease_crawl.h"

struct lease_batch *
lease_batch_get(struct lease_queue *q, int64_t start_us, uint32_t lease_s)
{
	struct lease_batch *b = mem_new(sizeof(*b));

	b->queue = q;
	b->start_us = start_us;
	b->lease_s = lease_s;
	list_init(&b->leases);
	b->next = q->batches;
	b->link = &q->batches;
	if (b->next != NULL)
		b->next->link = &b->next;
	q->batches = b;
	return b;
}

void
lease_batch_set_end(struct lease_batch *b)
{
	struct lease_service *o = b->queue->crawl->frontier->leases;
	int64_t whole = (int64_t)b->lease_s * US_PER_S;
	int64_t left = b->start_us + whole - lease_steady_us(o);

	heap_put(&o->ends, &b->node, o->now_ns + left * 1000, 0);
}

static void
batch_free(struct lease_batch **bp)
{
	struct lease_batch *b = *bp;

	heap_take(&b->queue->crawl->frontier->leases->ends, &b->node);
	*b->link = b->next;
	if (b->next != NULL)
		b->next->link = b->link;
	mem_free(bp);
}

static void
count(struct lease_queue *q, int64_t n)
{
	q->leased = (uint32_t)(q->leased + n);
	q->crawl->stats.leased += (uint64_t)n;
	if (!q->crawl->dead)
		q->crawl->frontier->leases->stats.leased += (uint64_t)n;
}

void
lease_batch_add(struct lease_batch *b, uint64_t hash, uint32_t date,
    uint32_t created)
{
	struct lease_out *l = mem_new(sizeof(*l));

	*l = (struct lease_out){ .batch = b, .hash = hash, .date = date,
	    .created = created };
	list_put(&b->leases, &l->node);
	b->n++;
	map_put_id(&b->queue->crawl->frontier->leases->leases, hash, l);
	count(b->queue, 1);
}

struct lease_out *
lease_out_find(const struct lease_service *o, uint64_t hash)
{
	return map_get_id(&o->leases, hash);
}

void
lease_out_drop(struct frontier *f, struct lease_out *l)
{
	struct lease_batch *b = l->batch;

	map_take_id(&f->leases->leases, l->hash);
	list_take(&l->node);
	count(b->queue, -1);
	if (--b->n == 0)
		batch_free(&b);
	mem_free(&l);
}

void
lease_out_drop_all(struct lease_queue *q)
{
	while (q->batches != NULL) {
		struct lease_batch *b = q->batches;
		if (b->n == 0) {
			batch_free(&b);
			continue;
		}
		lease_out_drop(q->crawl->frontier, LIST_ITEM(b->leases.next,
		    struct lease_out, node));
	}
}

void
lease_out_end(struct frontier *f, struct lease_out *l)
{
	struct lease_service *o = f->leases;
	struct lease_queue *q = l->batch->queue;

	lease_changes(f);
	buf_clear(&o->value);
	buf_put_be32(&o->value, q->crawl->id);
	buf_put_be32(&o->value, q->id);
	buf_put_be64(&o->value, l->hash);
	ledger_note(f->ledger, NOTE_OUTSIDE_END, buf_str(&o->value));
	lease_keep(q);
	lease_out_drop(f, l);
}

void
lease_batch_note(struct lease_batch *b)
{
	struct lease_queue *q = b->queue;
	struct frontier *f = q->crawl->frontier;
	struct lease_service *o = f->leases;

	lease_changes(f);
	buf_clear(&o->value);
	buf_put_be32(&o->value, q->crawl->id);
	buf_put_be32(&o->value, q->id);
	buf_put_be64(&o->value, (uint64_t)b->start_us);
	buf_put_be32(&o->value, b->lease_s);
	buf_put_varint(&o->value, q->ticket);
	buf_put_varint(&o->value, b->n);
	LIST_EACH(l, &b->leases, struct lease_out, node)
		buf_put_be64(&o->value, l->hash);
	ledger_note(f->ledger, NOTE_OUTSIDE_LEASES, buf_str(&o->value));
	lease_keep(q);
}

static void
expire(struct frontier *f, struct lease_batch *b)
{
	struct lease_queue *q = b->queue;
	bool last;

	LIST_EACH(l, &b->leases, struct lease_out, node)
		url_table_prefetch(f->known, l->hash);
	do {
		struct lease_out *l = LIST_ITEM(b->leases.next,
		    struct lease_out, node);
		last = b->n == 1;
		if (!q->crawl->dead) {
			url_table_set(f->known, l->hash, l->date, MARK_OUTSIDE);
			turn_available(q, l->date, STR_NONE);
		}
		lease_out_drop(f, l);
	} while (!last);
	turn_place(q);
}

void
lease_out_expire(struct frontier *f)
{
	struct lease_service *o = f->leases;
	struct heap_node *n;

	while ((n = heap_first(&o->ends)) != NULL && n->key <= o->now_ns)
		expire(f, CONTAINER(n, struct lease_batch, node));
}

/* --- given back ----------------------------------------------------------- */

static void
run_release(struct lease_call *c)
{
	struct lease_release *r = CONTAINER(c, struct lease_release, call);
	struct frontier *f = c->frontier;

	for (size_t i = 0; i < r->n; i++) {
		const struct lease_url *u = &r->urls[i];
		struct lease_out *l = lease_out_find(f->leases, u->hash);
		struct lease_queue *q = lease_queue_of(f, u->crawl_id,
		    u->queue_id);
		if (l == NULL || q == NULL || l->batch->queue != q ||
		    l->batch->start_us != u->leased_us)
			continue;
		uint32_t date = l->date;
		url_table_set(f->known, u->hash, date, MARK_OUTSIDE);
		lease_out_end(f, l);
		turn_available(q, date, u->url);
		turn_place(q);
	}
	lease_answer_durable(c);
}

void
lease_release(struct frontier *f, struct lease_release *r)
{
	r->call.writes = true;
	lease_post(f, &r->call, run_release);
}
