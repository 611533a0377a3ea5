/*
 * Outsiders' leases: one note in the log per queue served; in memory a mark in
 * the known table, and one end for all URLs that a queue gave at a time.
 */
#include "engine/frontier/lease_crawl.h"

#define OUTS_FIRST 64u

/* --- by hash -------------------------------------------------------------- */

/* The slot of this hash, or the free one where it would be. */
static size_t
outs_find(const struct lease_outs *o, uint64_t hash)
{
	size_t i = hash & (o->cap - 1);

	while (o->slots[i].lease != NULL && o->slots[i].hash != hash)
		i = (i + 1) & (o->cap - 1);
	return i;
}

static void
outs_resize(struct lease_outs *o, size_t cap)
{
	struct lease_outs more = { mem_array(cap, sizeof(*more.slots)), o->n,
	    cap };

	for (size_t i = 0; i < o->cap; i++)
		if (o->slots[i].lease != NULL)
			more.slots[outs_find(&more, o->slots[i].hash)] =
			    o->slots[i];
	mem_free(&o->slots);
	*o = more;
}

/* No lease of this hash is there. */
static void
outs_put(struct lease_outs *o, struct lease_out *l)
{
	if (o->n >= o->cap / 4 * 3)
		outs_resize(o, MAX(OUTS_FIRST, o->cap * 2));
	size_t i = outs_find(o, l->hash);
	CHECK(o->slots[i].lease == NULL);
	o->slots[i] = (struct lease_outs_slot){ l->hash, l };
	o->n++;
}

static void
outs_take(struct lease_outs *o, uint64_t hash)
{
	size_t mask = o->cap - 1, hole = outs_find(o, hash);

	CHECK(o->slots[hole].lease != NULL);
	/* Move each later entry that belongs there into the hole. */
	for (size_t i = (hole + 1) & mask; o->slots[i].lease != NULL;
	    i = (i + 1) & mask) {
		size_t home = o->slots[i].hash & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			o->slots[hole] = o->slots[i];
			hole = i;
		}
	}
	o->slots[hole].lease = NULL;
	o->n--;
	if (o->cap > OUTS_FIRST && o->n < o->cap / 8)
		outs_resize(o, o->cap / 2);
}

void
lease_outs_free(struct lease_outs *o)
{
	mem_free(&o->slots);
	o->n = o->cap = 0;
}

struct lease_out *
lease_out_find(const struct lease_service *o, uint64_t hash)
{
	const struct lease_outs *all = &o->leases;

	return all->cap == 0 ? NULL : all->slots[outs_find(all, hash)].lease;
}

void
lease_out_prefetch(const struct lease_service *o, uint64_t hash)
{
	const struct lease_outs *all = &o->leases;

	if (all->cap > 0)
		__builtin_prefetch(&all->slots[hash & (all->cap - 1)]);
}

/* --- batches -------------------------------------------------------------- */

struct lease_batch *
lease_batch_new(struct lease_queue *q, int64_t start_us, uint32_t lease_s,
    size_t most)
{
	struct lease_batch *b = mem_new(sizeof(*b) + most * sizeof(*b->all));

	b->queue = q;
	b->start_us = start_us;
	b->lease_s = lease_s;
	b->all_cap = (uint32_t)most;
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
	CHECK(b->all_n < b->all_cap);
	struct lease_out *l = &b->all[b->all_n++];
	*l = (struct lease_out){ .batch = b, .hash = hash, .date = date,
	    .created = created };
	b->n++;
	outs_put(&b->queue->crawl->frontier->leases->leases, l);
	count(b->queue, 1);
}

struct lease_out *
lease_batch_next(struct lease_batch *b, size_t *at)
{
	while (*at < b->all_n && b->all[*at].batch == NULL)
		++*at;
	return *at < b->all_n ? &b->all[(*at)++] : NULL;
}

void
lease_out_drop(struct frontier *f, struct lease_out *l)
{
	struct lease_batch *b = l->batch;

	outs_take(&f->leases->leases, l->hash);
	l->batch = NULL;
	count(b->queue, -1);
	if (--b->n == 0)
		batch_free(&b);
}

void
lease_out_drop_all(struct lease_queue *q)
{
	while (q->batches != NULL) {
		struct lease_batch *b = q->batches;
		size_t at = 0;
		if (b->n == 0) {
			batch_free(&b);
			continue;
		}
		for (uint32_t n = b->n; n > 0; n--)
			lease_out_drop(q->crawl->frontier,
			    lease_batch_next(b, &at));
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
	for (size_t i = 0; i < b->all_n; i++)
		buf_put_be64(&o->value, b->all[i].hash);
	ledger_note(f->ledger, NOTE_OUTSIDE_LEASES, buf_str(&o->value));
	lease_keep(q);
}

static void
expire(struct frontier *f, struct lease_batch *b)
{
	struct lease_queue *q = b->queue;
	size_t at = 0;

	for (size_t i = 0; i < b->all_n; i++)
		url_table_prefetch(f->known, b->all[i].hash);
	for (uint32_t n = b->n; n > 0; n--) {
		struct lease_out *l = lease_batch_next(b, &at);
		if (!q->crawl->dead) {
			url_table_set(f->known, l->hash, l->date, MARK_OUTSIDE);
			turn_available(q, l->date, STR_NONE);
		}
		lease_out_drop(f, l);
	}
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
