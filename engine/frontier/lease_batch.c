/*
 * Outsiders' leases: one note in the log per queue served; in memory a mark in
 * the known table, and one end for all URLs that a queue gave at a time.
 */
#include "engine/frontier/outside_own.h"

struct outside_batch *
lease_batch(struct outside_queue *q, int64_t start_us, uint32_t lease_s)
{
	struct outside_batch *b = mem_new(sizeof(*b));

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
lease_set_end(struct outside_batch *b)
{
	struct outside *o = b->queue->crawl->frontier->outside;
	int64_t whole = (int64_t)b->lease_s * US_PER_S;
	int64_t left = b->start_us + whole - outside_steady_us(o);

	heap_put(&o->ends, &b->node, o->now_ns + left * 1000, 0);
}

static void
batch_free(struct outside_batch **bp)
{
	struct outside_batch *b = *bp;

	heap_take(&b->queue->crawl->frontier->outside->ends, &b->node);
	*b->link = b->next;
	if (b->next != NULL)
		b->next->link = b->link;
	mem_free(bp);
}

static void
count(struct outside_queue *q, int64_t n)
{
	q->leased = (uint32_t)(q->leased + n);
	q->crawl->stats.leased += (uint64_t)n;
	if (!q->crawl->dead)
		q->crawl->frontier->outside->stats.leased += (uint64_t)n;
}

void
lease_add(struct outside_batch *b, uint64_t hash, uint32_t date,
    uint32_t created)
{
	struct outside *o = b->queue->crawl->frontier->outside;
	struct outside_lease *l = mem_new(sizeof(*l));

	l->batch = b;
	l->hash = hash;
	l->date = date;
	l->created = created;
	list_put(&b->leases, &l->node);
	b->n++;
	map_put_id(&o->leases, hash, l);
	count(b->queue, 1);
}

struct outside_lease *
lease_find(const struct outside *o, uint64_t hash)
{
	return map_get_id(&o->leases, hash);
}

void
lease_drop(struct frontier *f, struct outside_lease *l)
{
	struct outside_batch *b = l->batch;

	map_take_id(&f->outside->leases, l->hash);
	list_take(&l->node);
	count(b->queue, -1);
	if (--b->n == 0)
		batch_free(&b);
	mem_free(&l);
}

void
lease_drop_all(struct outside_queue *q)
{
	while (q->batches != NULL) {
		struct outside_batch *b = q->batches;
		if (b->n == 0) {
			batch_free(&b);
			continue;
		}
		lease_drop(q->crawl->frontier, LIST_ITEM(b->leases.next,
		    struct outside_lease, node));
	}
}

void
lease_end(struct frontier *f, struct outside_lease *l)
{
	struct outside *o = f->outside;
	struct outside_queue *q = l->batch->queue;

	outside_changes(f);
	buf_clear(&o->value);
	buf_put_be32(&o->value, q->crawl->id);
	buf_put_be32(&o->value, q->id);
	buf_put_be64(&o->value, l->hash);
	ledger_note(f->ledger, NOTE_OUTSIDE_END, buf_str(&o->value));
	outside_keep(q);
	lease_drop(f, l);
}

void
lease_note(struct outside_batch *b)
{
	struct outside_queue *q = b->queue;
	struct frontier *f = q->crawl->frontier;
	struct outside *o = f->outside;

	outside_changes(f);
	buf_clear(&o->value);
	buf_put_be32(&o->value, q->crawl->id);
	buf_put_be32(&o->value, q->id);
	buf_put_be64(&o->value, (uint64_t)b->start_us);
	buf_put_be32(&o->value, b->lease_s);
	buf_put_varint(&o->value, q->ticket);
	buf_put_varint(&o->value, b->n);
	for (const struct list *n = b->leases.next; n != &b->leases;
	    n = n->next)
		buf_put_be64(&o->value, LIST_ITEM(n, struct outside_lease,
		    node)->hash);
	ledger_note(f->ledger, NOTE_OUTSIDE_LEASES, buf_str(&o->value));
	outside_keep(q);
}

static void
expire(struct frontier *f, struct outside_batch *b)
{
	struct outside_queue *q = b->queue;
	bool last;

	for (const struct list *n = b->leases.next; n != &b->leases;
	    n = n->next)
		url_table_prefetch(f->known, LIST_ITEM(n, struct outside_lease,
		    node)->hash);
	do {
		struct outside_lease *l = LIST_ITEM(b->leases.next,
		    struct outside_lease, node);
		last = b->n == 1;
		if (!q->crawl->dead) {
			url_table_set(f->known, l->hash, l->date, MARK_OUTSIDE);
			turn_available(q, l->date, STR_NONE);
		}
		lease_drop(f, l);
	} while (!last);
	turn_place(q);
}

void
lease_expire(struct frontier *f)
{
	struct outside *o = f->outside;
	struct heap_node *n;

	while ((n = heap_first(&o->ends)) != NULL && n->key <= o->now_ns)
		expire(f, CONTAINER(n, struct outside_batch, node));
}

/* --- given back ----------------------------------------------------------- */

static void
run_release(struct outside_call *c)
{
	struct outside_release *r = CONTAINER(c, struct outside_release, call);
	struct frontier *f = c->frontier;

	for (size_t i = 0; i < r->n; i++) {
		const struct outside_url *u = &r->urls[i];
		struct outside_lease *l = lease_find(f->outside, u->hash);
		struct outside_queue *q = outside_queue_of(f, u->crawl_id,
		    u->queue_id);
		if (l == NULL || q == NULL || l->batch->queue != q ||
		    l->batch->start_us != u->leased_us)
			continue;
		uint32_t date = l->date;
		url_table_set(f->known, u->hash, date, MARK_OUTSIDE);
		lease_end(f, l);
		turn_available(q, date, u->url);
		turn_place(q);
	}
	outside_answer_durable(c);
}

void
outside_release(struct frontier *f, struct outside_release *r)
{
	r->call.writes = true;
	outside_post(f, &r->call, run_release);
}
