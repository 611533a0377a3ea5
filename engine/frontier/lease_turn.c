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
#include "engine/frontier/lease_crawl.h"

/* Queues woken for one call, when there is enough without more of them. */
#define WAKE_MAX 1024
/* Queues that lost their readiness, looked at in one call: no index read. */
#define STALE_MAX 4096
/* The beginning of a URL sorts before it: a cursor need not be whole. */
#define CURSOR_BYTES_MAX ((size_t)1 << 10)
#define GROUP_BITS 40

static int64_t
delay_ns(const struct lease_queue *q)
{
	const struct lease_service *o = q->crawl->frontier->leases;
	const struct lease_rare *r = lease_rare(q);

	return (r->has_delay ? r->delay_s : o->delay_s) * NS_PER_S;
}

static int64_t
wall_due(const struct lease_queue *q)
{
	int64_t due = q->next_due;
	uint64_t block_s = lease_rare(q)->block_s;

	return block_s == 0 ? due : MAX(due, (int64_t)block_s + 1);
}

static bool
limited(const struct lease_queue *q)
{
	uint64_t limit = lease_rare(q)->limit;

	return limit != 0 && q->completed >= limit;
}

/* Where it belongs now, and its key there. */
static enum place
place_of(const struct lease_queue *q, int64_t *key)
{
	const struct lease_service *o = q->crawl->frontier->leases;

	*key = 0;
	if (q->serving || q->crawl->dead || q->active <= q->leased ||
	    q->next_due == DATE_NEVER || limited(q))
		return PLACE_NONE;
	if (wall_due(q) > o->now_s) {
		*key = wall_due(q);
		return PLACE_WALL;
	}
	if (q->served != NEVER_SERVED && o->now_ns < q->served + delay_ns(q)) {
		bool own = lease_rare(q)->has_delay;
		*key = q->served + (own ? delay_ns(q) : 0);
		return own ? PLACE_OWN_DELAY : PLACE_DELAY;
	}
	*key = (int64_t)q->ticket;
	return PLACE_READY;
}

/* --- levels --------------------------------------------------------------- */

static uint8_t
level_of(const struct lease_queue *q)
{
	return (uint8_t)MIN(q->leased, LEVELS - 1);
}

/* The first turn of this level of a crawl may have changed. */
static void
level_changed(struct lease_crawl *c, unsigned level)
{
	struct heap *ready = &c->frontier->leases->ready[level];
	struct lease_level *l = &c->levels[level];

	if (l->queues.n == 0)
		heap_take(ready, &l->node);
	else if (!heap_holds(&l->node) || l->node.key != l->queues.turns[0].key)
		heap_put(ready, &l->node, l->queues.turns[0].key, c->id);
}

static void
levels_make(struct lease_crawl *c)
{
	if (c->levels != NULL)
		return;
	c->levels = mem_array(LEVELS, sizeof(*c->levels));
	for (size_t i = 0; i < LEVELS; i++)
		c->levels[i].crawl = c;
}

void
turn_forget_levels(struct lease_crawl *c)
{
	struct lease_service *o = c->frontier->leases;

	for (size_t i = 0; c->levels != NULL && i < LEVELS; i++) {
		o->ready_n -= c->levels[i].queues.n;
		heap_take(&o->ready[i], &c->levels[i].node);
		lease_turns_free(&c->levels[i].queues);
	}
	mem_free(&c->levels);
}

/* --- places --------------------------------------------------------------- */

/* Where it stands, or would stand, which is not PLACE_NONE. */
static struct lease_turns *
heap_of(const struct lease_queue *q, enum place p)
{
	struct lease_service *o = q->crawl->frontier->leases;

	return p == PLACE_READY ? &q->crawl->levels[q->level].queues :
	    p == PLACE_WALL ? &o->by_date :
	    p == PLACE_OWN_DELAY ? &o->own_delays : &o->delays;
}

void
turn_take(struct lease_queue *q)
{
	struct lease_crawl *c = q->crawl;
	struct lease_service *o = c->frontier->leases;

	if (q->place == PLACE_READY && c->levels != NULL) {
		lease_turns_take(o, heap_of(q, q->place), q);
		level_changed(c, q->level);
		o->ready_n--;
	} else if (q->place != PLACE_NONE && q->place != PLACE_READY) {
		lease_turns_take(o, heap_of(q, q->place), q);
	}
	q->place = PLACE_NONE;
	q->at = 0;
}

static void
put_ready(struct lease_queue *q, int64_t ticket)
{
	struct lease_crawl *c = q->crawl;

	levels_make(c);
	q->level = level_of(q);
	lease_turns_put(c->frontier->leases, heap_of(q, PLACE_READY), q,
	    ticket);
	level_changed(c, q->level);
	c->frontier->leases->ready_n++;
}

void
turn_place(struct lease_queue *q)
{
	int64_t key;
	enum place p = place_of(q, &key);

	if (p == q->place && (p == PLACE_NONE ||
	    (key == heap_of(q, p)->turns[q->at - 1].key &&
	    (p != PLACE_READY || q->level == level_of(q)))))
		return;
	turn_take(q);
	if (p == PLACE_READY)
		put_ready(q, key);
	else if (p != PLACE_NONE)
		lease_turns_put(q->crawl->frontier->leases, heap_of(q, p),
		    q, key);
	q->place = (uint8_t)p;
}

/* --- where walks begin ---------------------------------------------------- */

/* The low bits are stored; no put is later than the gathering group. */
uint64_t
turn_put_group(const struct lease_queue *q)
{
	uint64_t now = ledger_group(q->crawl->frontier->ledger);
	uint64_t put = (uint64_t)q->put_group_high << 32 | q->put_group;
	uint64_t age = (now - put) & (UINT64_MAX >> (64 - GROUP_BITS));

	return age <= now ? now - age : 0;
}

bool
turn_put_lately(const struct lease_queue *q)
{
	return turn_put_group(q) > q->crawl->frontier->leases->durable;
}

struct str
turn_cursor_url(const struct lease_queue *q)
{
	uint16_t n;

	if (q->cursor == NULL)
		return STR_NONE;
	memcpy(&n, q->cursor, sizeof(n));
	return (struct str){ q->cursor + sizeof(n), n };
}

/* A short queue is walked over from its date's start, which costs no more. */
void
turn_cursor(struct lease_queue *q, uint32_t date, struct str url)
{
	uint16_t n = (uint16_t)MIN(url.n, CURSOR_BYTES_MAX);

	q->cursor_date = date;
	if (n == 0 || (uint64_t)q->active + q->completed < CURSOR_URLS_MIN) {
		mem_free(&q->cursor);
		return;
	}
	q->cursor = mem_resize(q->cursor, sizeof(n) + n, 1);
	memcpy(q->cursor, &n, sizeof(n));
	memcpy(q->cursor + sizeof(n), url.p, n);
}

void
turn_available(struct lease_queue *q, uint32_t date, struct str url)
{
	q->walk_rewind = MIN(q->walk_rewind, date);
	q->next_due = MIN(q->next_due, date);
	if (date < q->cursor_date || (date == q->cursor_date &&
	    str_cmp(url, turn_cursor_url(q)) < 0))
		turn_cursor(q, date, url);
}

/* --- whose turn it is ----------------------------------------------------- */

static bool
wake_first(const struct lease_service *o, const struct lease_turns *h,
    int64_t upto)
{
	if (h->n == 0 || h->turns[0].key > upto)
		return false;
	turn_place(lease_at(o, h->turns[0].slot));
	return true;
}

/* True when somebody woke: there may be more. */
static bool
wake(struct lease_service *o, unsigned n)
{
	bool more = true;

	for (; n > 0 && more; n--) {
		more = wake_first(o, &o->by_date, o->now_s);
		more |= wake_first(o, &o->own_delays, o->now_ns);
		more |= wake_first(o, &o->delays, o->now_ns -
		    o->delay_s * NS_PER_S);
	}
	return more;
}

bool
turn_may(struct lease_queue *q, uint32_t urls_max)
{
	turn_place(q);
	return q->place == PLACE_READY &&
	    (urls_max == 0 || q->leased < urls_max);
}

bool
turn_still(const struct lease_queue *q, int64_t served)
{
	struct lease_queue as_if = *q;
	int64_t key;

	as_if.serving = false;
	as_if.served = served;
	return place_of(&as_if, &key) == PLACE_READY;
}

/* The first queue in turn among the levels that the gate lets through. */
static struct lease_queue *
first_ready(struct lease_service *o, struct lease_crawl *c, uint32_t urls_max)
{
	unsigned levels = urls_max == 0 ? LEVELS : MIN(urls_max, LEVELS);
	const struct lease_turns *best = NULL;

	if (c != NULL && c->levels == NULL)
		return NULL;
	for (unsigned i = 0; i < levels; i++) {
		struct heap_node *n = heap_first(&o->ready[i]);
		if (n == NULL)
			continue;
		const struct lease_turns *l = c != NULL ? &c->levels[i].queues :
		    &CONTAINER(n, struct lease_level, node)->queues;
		if (l->n > 0 && (best == NULL ||
		    l->turns[0].key < best->turns[0].key))
			best = l;
	}
	return best == NULL ? NULL : lease_at(o, best->turns[0].slot);
}

/* In the last level the gate cannot tell; such queues step aside. */
#define ASIDE_MAX 16

struct lease_queue *
turn_pick(struct frontier *f, struct lease_crawl *c, uint32_t urls_max,
    uint64_t end)
{
	struct lease_service *o = f->leases;
	struct lease_queue *aside[ASIDE_MAX], *q;
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

uint64_t
turn_lag_s(struct lease_service *o)
{
	int64_t lag = 0;

	wake(o, WAKE_MAX);
	for (unsigned i = 0; i < LEVELS; i++) {
		struct heap_node *n = heap_first(&o->ready[i]);
		if (n == NULL)
			continue;
		const struct lease_queue *q = lease_at(o, CONTAINER(n,
		    struct lease_level, node)->queues.turns[0].slot);
		int64_t late = o->now_s - wall_due(q);
		if (q->served != NEVER_SERVED)
			late = MIN(late, (o->now_ns - q->served -
			    delay_ns(q)) / NS_PER_S);
		lag = q->stale ? lag : MAX(lag, late);
	}
	return (uint64_t)lag;
}
