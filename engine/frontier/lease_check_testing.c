/*
 * Every invariant of outsiders' queues, against a full walk of the index.
 */
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/lease_testing.h"

struct sums {
	struct lease_queue *queue;
	uint64_t active, completed, leased;
};

/* In the known table, or where it was evicted to. */
static uint8_t
find_state(struct frontier *f, uint64_t hash, uint32_t *date)
{
	struct url_entry e = { .hash = hash };
	uint8_t mark = lease_state(f, hash, date);

	if (mark == KNOWN_NONE && known_evict_is_partial(f)) {
		CHECK(known_evict_find(ledger_index(f->ledger), &e) == OK);
		mark = e.state;
		*date = e.date;
	}
	return mark;
}

static void
check_url(struct frontier *f, struct sums *s, uint32_t date, struct str url)
{
	const struct lease_queue *q = s->queue;
	uint64_t hash = lease_hash(f, q->crawl->id, q->id, url);
	const struct lease_out *l = lease_out_find(f->leases, hash);
	uint32_t known;
	uint8_t mark = find_state(f, hash, &known);

	CHECK(mark == MARK_OUTSIDE || mark == MARK_OUTSIDE_LEASED);
	CHECK(known == date);
	CHECK((l != NULL) == (mark == MARK_OUTSIDE_LEASED));
	CHECK(l == NULL || (l->batch->queue == q && l->date == date &&
	    date != 0));
	s->active += date != 0;
	s->completed += date == 0;
	s->leased += l != NULL;
	if (date == 0 || l != NULL || q->serving)
		return;
	/* A walk would find it, and not later than it is due. */
	CHECK(q->next_due <= date);
	CHECK(q->cursor_date < date || (q->cursor_date == date &&
	    str_cmp(turn_cursor_url(q), url) <= 0));
}

static void
check_sums(const struct sums *s)
{
	CHECK(s->active == s->queue->active);
	CHECK(s->completed == s->queue->completed);
	CHECK(s->leased == s->queue->leased);
}

/* Its records are in the index, and no others. */
static void
check_queue(struct frontier *f, struct index *x, struct lease_queue *q)
{
	struct index_iter *i = index_iter_new(x, INDEX_URL);
	struct sums s = { .queue = q };
	struct buf prefix = BUF_INIT, name = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct str key, value;

	buf_put_be32(&prefix, q->crawl->id);
	buf_put_be32(&prefix, q->id);
	for (index_iter_seek(i, buf_str(&prefix)); index_iter_valid(i, &key,
	    &value) && str_starts(key, buf_str(&prefix));
	    index_iter_next(i)) {
		struct reader in = reader_of(str_from(key, 8));
		uint32_t date = read_be32(&in);
		check_url(f, &s, date, (struct str){ in.p, in.n });
	}
	check_sums(&s);
	queue_key(q->crawl->id, lease_queue_key(q), &name);
	CHECK(index_get(x, INDEX_QUEUE, buf_str(&name), &a, &value, NULL) ==
	    OK);
	CHECK(!q->unseen || q->active + q->completed == 0);
	index_iter_free(&i);
	buf_free(&prefix);
	buf_free(&name);
	arena_free(&a);
}

static void
add(struct lease_stats *to, const struct lease_stats *s)
{
	to->active += s->active;
	to->leased += s->leased;
	to->completed += s->completed;
	to->queues += s->queues;
	to->active_queues += s->active_queues;
}

static void
check_equal(const struct lease_stats *a, const struct lease_stats *b)
{
	CHECK(a->active == b->active);
	CHECK(a->leased == b->leased);
	CHECK(a->completed == b->completed);
	CHECK(a->queues == b->queues);
	CHECK(a->active_queues == b->active_queues);
}

/* Returns how many of its queues are remembered only. */
static uint64_t
check_crawl(struct frontier *f, struct index *x, struct lease_crawl *c)
{
	struct lease_stats s = { .queues = 0 };
	uint64_t unseen = 0;
	size_t at = 0;
	uint32_t slot;

	while (lease_set_next(&c->keys, &at, &slot)) {
		struct lease_queue *q = lease_at(f->leases, slot);
		CHECK(lease_find_queue(c, lease_queue_key(q)) == q);
		CHECK(lease_queue_of(f, c->id, q->id) == q);
		check_queue(f, x, q);
		struct lease_stats one = { .active = q->active,
		    .leased = q->leased, .completed = q->completed,
		    .queues = !q->unseen, .active_queues = q->active > 0 };
		add(&s, &one);
		unseen += q->unseen;
	}
	check_equal(&s, &c->stats);
	CHECK(c->keys.n == c->ids.n);
	return unseen;
}

void
lease_check(struct frontier *f)
{
	struct lease_service *o = f->leases;
	struct lease_stats s = { .queues = 0 };
	uint64_t unseen = 0;

	MAP_EACH(c, &o->ids, struct lease_crawl) {
		unseen += check_crawl(f, ledger_index(f->ledger), c);
		add(&s, &c->stats);
	}
	CHECK(o->unseen == unseen);
	check_equal(&s, &o->stats);
	CHECK(o->leases.n == o->stats.leased);
	CHECK(o->recounted == 0);
}
