/*
 * Turns: where each queue waits, and which one is served next.
 *
 *     by_date     for a due URL or the end of a block, by the wall clock
 *     delays      for the default delay, by the time of the last serve, so
 *                 that another default moves nobody
 *     own_delays  for the end of its own delay
 *     ready       by ticket, one heap per crawl and number of leased URLs;
 *                 over them, by first ticket, one heap of crawls per number
 *
 * A queue stands in one place at most.  What made it wait is looked at again
 * when its time comes and when its turn comes: a clock may have been set.
 */
#include "engine/frontier/outside_own.h"

/* Queues woken for one call, when there is enough without more of them. */
#define WAKE_MAX 1024
/* Queues that lost their readiness, looked at in one call: no index read. */
#define STALE_MAX 4096

static int64_t
delay_ns(const struct outside_queue *q)
{
	const struct outside *o = q->crawl->frontier->outside;

	return (q->has_delay ? q->delay_s : o->delay_s) * NS_PER_S;
}

static int64_t
wall_due(const struct outside_queue *q)
{
	int64_t due = q->next_due;

	return q->block_s == 0 ? due : MAX(due, (int64_t)q->block_s + 1);
}

/* Where it belongs now, and its key there. */
static enum place
place_of(const struct outside_queue *q, int64_t *key)
{
	const struct outside *o = q->crawl->frontier->outside;

	*key = 0;
	if (q->serving || q->crawl->dead || q->active <= q->leased ||
	    q->next_due == DATE_NEVER ||
	    (q->limit != 0 && q->completed >= q->limit))
		return PLACE_NONE;
	if (wall_due(q) > o->now_s) {
		*key = wall_due(q);
		return PLACE_WALL;
	}
	if (q->served_ns != NEVER_SERVED &&
	    o->now_ns < q->served_ns + delay_ns(q)) {
		*key = q->served_ns + (q->has_delay ? delay_ns(q) : 0);
		return q->has_delay ? PLACE_OWN_DELAY : PLACE_DELAY;
	}
	*key = (int64_t)q->ticket;
	return PLACE_READY;
}

/* --- levels --------------------------------------------------------------- */

static uint8_t
level_of(const struct outside_queue *q)
{
	return (uint8_t)MIN(q->leased, LEVELS - 1);
}

/* The first turn of this level of a crawl may have changed. */
static void
level_changed(struct outside_crawl *c, unsigned level)
{
	struct heap *ready = &c->frontier->outside->ready[level];
	struct outside_level *l = &c->levels[level];
	const struct heap_node *first = heap_first(&l->queues);

	if (first == NULL)
		heap_take(ready, &l->node);
	else if (!heap_holds(&l->node) || l->node.key != first->key)
		heap_put(ready, &l->node, first->key, c->id);
}

static void
levels_make(struct outside_crawl *c)
{
	if (c->levels != NULL)
		return;
	c->levels = mem_array(LEVELS, sizeof(*c->levels));
	for (size_t i = 0; i < LEVELS; i++)
		c->levels[i].crawl = c;
}

void
turn_forget_levels(struct outside_crawl *c)
{
	struct outside *o = c->frontier->outside;

	for (size_t i = 0; c->levels != NULL && i < LEVELS; i++) {
		o->ready_n -= c->levels[i].queues.n;
		heap_take(&o->ready[i], &c->levels[i].node);
		heap_free(&c->levels[i].queues);
	}
	mem_free(&c->levels);
}

/* --- places --------------------------------------------------------------- */

static struct heap *
heap_of(struct outside_queue *q, enum place p)
{
	struct outside *o = q->crawl->frontier->outside;

	return p == PLACE_WALL ? &o->by_date :
	    p == PLACE_OWN_DELAY ? &o->own_delays :
	    p == PLACE_DELAY ? &o->delays : NULL;
}

void
turn_take(struct outside_queue *q)
{
	struct outside_crawl *c = q->crawl;

	if (q->place == PLACE_READY && c->levels != NULL) {
		heap_take(&c->levels[q->level].queues, &q->node);
		level_changed(c, q->level);
		c->frontier->outside->ready_n--;
	} else if (q->place != PLACE_NONE && q->place != PLACE_READY) {
		heap_take(heap_of(q, q->place), &q->node);
	}
	q->place = PLACE_NONE;
}

static void
put_ready(struct outside_queue *q, int64_t ticket)
{
	struct outside_crawl *c = q->crawl;

	levels_make(c);
	q->level = level_of(q);
	heap_put(&c->levels[q->level].queues, &q->node, ticket, 0);
	level_changed(c, q->level);
	c->frontier->outside->ready_n++;
}

void
turn_place(struct outside_queue *q)
{
	int64_t key;
	enum place p = place_of(q, &key);

	if (p == q->place && (p == PLACE_NONE || (key == q->node.key &&
	    (p != PLACE_READY || q->level == level_of(q)))))
		return;
	turn_take(q);
	if (p == PLACE_READY)
		put_ready(q, key);
	else if (p != PLACE_NONE)
		heap_put(heap_of(q, p), &q->node, key, q->ticket);
	q->place = p;
}

void
turn_cursor(struct outside_queue *q, uint32_t date, struct str url)
{
	q->cursor_date = date;
	buf_clear(&q->cursor_url);
	if (url.n != 0)
		buf_put_str(&q->cursor_url, url);
}

void
turn_available(struct outside_queue *q, uint32_t date, struct str url)
{
	q->walk_rewind = MIN(q->walk_rewind, date);
	q->next_due = MIN(q->next_due, date);
	if (date < q->cursor_date || (date == q->cursor_date &&
	    str_cmp(url, buf_str(&q->cursor_url)) < 0))
		turn_cursor(q, date, url);
}

/* --- whose turn it is ----------------------------------------------------- */

static bool
wake_first(struct heap *h, int64_t upto)
{
	struct heap_node *first = heap_first(h);

	if (first == NULL || first->key > upto)
		return false;
	turn_place(CONTAINER(first, struct outside_queue, node));
	return true;
}

/* True when somebody woke: there may be more. */
static bool
wake(struct outside *o, unsigned n)
{
	bool more = true;

	for (; n > 0 && more; n--) {
		more = wake_first(&o->by_date, o->now_s);
		more |= wake_first(&o->own_delays, o->now_ns);
		more |= wake_first(&o->delays, o->now_ns -
		    o->delay_s * NS_PER_S);
	}
	return more;
}

bool
turn_may(struct outside_queue *q, uint32_t urls_max)
{
	turn_place(q);
	return q->place == PLACE_READY &&
	    (urls_max == 0 || q->leased < urls_max);
}

bool
turn_still(const struct outside_queue *q)
{
	struct outside_queue as_if = *q;
	int64_t key;

	as_if.serving = false;
	return place_of(&as_if, &key) == PLACE_READY;
}

/* The first queue in turn among the levels that the gate lets through. */
static struct outside_queue *
first_ready(struct outside *o, struct outside_crawl *c, uint32_t urls_max)
{
	unsigned levels = urls_max == 0 ? LEVELS : MIN(urls_max, LEVELS);
	struct heap_node *best = NULL;

	if (c != NULL && c->levels == NULL)
		return NULL;
	for (unsigned i = 0; i < levels; i++) {
		struct heap_node *n = heap_first(c != NULL ?
		    &c->levels[i].queues : &o->ready[i]);
		if (n == NULL || (best != NULL && n->key >= best->key))
			continue;
		best = n;
	}
	if (best != NULL && c == NULL) {
		struct outside_level *l = CONTAINER(best, struct outside_level,
		    node);
		best = heap_first(&l->queues);
	}
	return best == NULL ? NULL : CONTAINER(best, struct outside_queue,
	    node);
}

/* In the last level the gate cannot tell; such queues step aside. */
#define ASIDE_MAX 16

struct outside_queue *
turn_pick(struct frontier *f, struct outside_crawl *c, uint32_t urls_max,
    uint64_t end)
{
	struct outside *o = f->outside;
	struct outside_queue *aside[ASIDE_MAX], *q;
	unsigned n = 0, stale = 0;
	bool more = wake(o, WAKE_MAX);

	for (;;) {
		q = first_ready(o, c, urls_max);
		if (q == NULL || q->ticket >= end) {
			q = NULL;
			if (!more)
				break;
			more = wake(o, WAKE_MAX);
			continue;
		}
		bool may = turn_may(q, urls_max);
		if (may)
			break;
		bool gated = q->place == PLACE_READY;
		q = gated ? q : NULL;
		if (gated && n < ASIDE_MAX) {
			turn_take(q);
			aside[n++] = q;
		} else if (gated || ++stale >= STALE_MAX) {
			q = NULL;
			break;
		}
	}
	if (q != NULL)
		turn_take(q);
	while (n > 0)
		turn_place(aside[--n]);
	return q;
}
