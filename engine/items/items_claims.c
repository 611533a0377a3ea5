/*
 * Claims that wait on the writer's thread.
 *
 *     new ──► in a group ──► something leased ──► answered
 *                 │
 *                 └► waits ──► tried again by a group that wrote, or when
 *                              something falls due or gets tokens
 *                          ──► its time is over, cancelled, stopped: answered
 *
 * Claims that ask for the same tasks are tried in order, and no more of them
 * after one got nothing: a thousand that wait cost one query.
 */
#include "engine/items/items_own.h"

#include "os/clock.h"

/* Not earlier, however soon something falls due: `parallel` may be reached. */
#define RETRY_MS_MIN 10
/* Not later: wall clocks jump. */
#define RETRY_MS_MAX 60000
#define RETRY_SHARED_MS_MAX 1000   /* beside other daemons */
#define EMPTY_MAX 64u        /* kinds of claims that got nothing, in a group */

bool
claim_is(const struct items_write *r)
{
	return r->run == claim_run;
}

static struct items_claim *
claim_of(struct items_write *r)
{
	return CONTAINER(r, struct items_claim, write);
}

/* -- Within a transaction -- */

static struct mono
retry_time(struct items *i, struct wall next_at, struct wall now)
{
	int64_t most = i->shared ? RETRY_SHARED_MS_MAX : RETRY_MS_MAX;
	int64_t ms = most;

	if (next_at.us != ITEM_TIME_NONE.us && next_at.us < now.us +
	    most * 1000)
		ms = MAX((next_at.us - now.us + 999) / 1000, RETRY_MS_MIN);
	return mono_add_ms(clock_mono(), ms);
}

static enum err
plan_retry(struct items *i, struct items_claim *c, struct item_tx *tx,
    struct why *w)
{
	struct wall next_at = ITEM_TIME_NONE;

	enum err e = worklist_next_at(tx, &c->claim, &next_at, w);
	c->retry_at = retry_time(i, next_at, item_tx_now(tx));
	return e;
}

enum err
claim_run(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct items_claim *c = claim_of(r);
	struct items *i = r->items;
	struct worklist_lease *leases = NULL;
	size_t n = 0;

	c->n = 0;
	buf_clear(&c->out);
	c->generation = item_store_config(i->store)->generation;
	if (i->stopped || c->cancelled)
		return OK;
	enum err e = worklist_claim(tx, &c->claim, &leases, &n, w);
	for (size_t k = 0; k < n && e == OK; k++)
		e = worklist_lease_json(tx, &leases[k], c->claim.prefetch,
		    c->claim.prefetch_n, &c->out, w);
	if (e == OK && n == 0)
		e = plan_retry(i, c, tx, w);
	if (c->out.n >= (size_t)i->limits.claim_bytes_max)
		metric_add(&items_metrics[METRIC_CLAIMS_FULL], 1);
	c->n = e == OK ? n : 0;
	return e;
}

static bool
same_tasks(const struct items_claim *a, const struct items_claim *b)
{
	/* What is passed over, and a single item, may differ. */
	bool same = a->claim.tasks_n == b->claim.tasks_n &&
	    a->claim.own == b->claim.own &&
	    a->claim.skip == b->claim.skip &&
	    a->claim.passed == b->claim.passed &&
	    a->claim.only_item.n == 0 && b->claim.only_item.n == 0;

	for (size_t k = 0; same && k < a->claim.tasks_n; k++)
		same = str_eq(a->claim.tasks[k], b->claim.tasks[k]);
	return same;
}

/* One with the same tasks that has just got nothing. */
static const struct items_claim *
find_empty(struct items_claim *const *empty, size_t n,
    const struct items_claim *c)
{
	for (size_t k = 0; k < n; k++)
		if (same_tasks(empty[k], c))
			return empty[k];
	return NULL;
}

static enum err
try_again(struct items_claim *c, struct item_tx *tx, struct why *w)
{
	struct items_write *r = &c->write;
	struct item_mark mark = item_tx_mark(tx);

	r->why = WHY_INIT;
	r->result = claim_run(r, tx, &r->why);
	if (r->result == OK)
		return OK;
	if (writer_error_is_fatal(r->result)) {
		*w = r->why;
		return r->result;
	}
	item_tx_undo(tx, mark);
	return OK;
}

enum err
claims_retry(struct items *i, struct item_tx *tx, struct why *w)
{
	struct items_claim *empty[EMPTY_MAX];
	size_t n = 0;
	enum err e = OK;

	LIST_EACH(c, &i->waiting, struct items_claim, waiting) {
		const struct items_claim *like = find_empty(empty, n, c);
		if (like != NULL) {
			c->retry_at = like->retry_at;
			continue;
		}
		e = try_again(c, tx, w);
		if (e != OK)
			return e;
		if (c->write.result == OK && c->n == 0 && n < EMPTY_MAX)
			empty[n++] = c;
	}
	return OK;
}

/* -- Between transactions -- */

static void
answer_waiting(struct items *i, struct items_claim *c)
{
	c->waits = false;
	list_take(&c->waiting);
	writer_answer(i, &c->write);
}

static void
clear_claim(struct items_claim *c)
{
	c->n = 0;
	buf_clear(&c->out);
}

void
claims_retried(struct items *i, bool committed)
{
	struct list *next;

	for (struct list *n = i->waiting.next; n != &i->waiting; n = next) {
		next = n->next;
		struct items_claim *c = LIST_ITEM(n, struct items_claim,
		    waiting);
		if (committed && (c->n > 0 || c->write.result != OK)) {
			answer_waiting(i, c);
		} else {
			clear_claim(c);
			c->write.result = OK;
		}
	}
}

void
claim_settle(struct items *i, struct items_write *r)
{
	struct items_claim *c = claim_of(r);

	if (r->result != OK)
		clear_claim(c);
	if (r->result == OK && c->n == 0 && !i->stopped && !c->cancelled &&
	    mono_before(clock_mono(), c->until)) {
		c->waits = true;
		list_put(&i->waiting, &c->waiting);
	} else {
		writer_answer(i, r);
	}
}

void
claims_tick(struct timer *t)
{
	struct items *i = CONTAINER(t, struct items, claims_timer);
	struct mono now = clock_mono(), first = MONO_NEVER;
	struct list *next;

	if (list_empty(&i->waiting))
		i->wake = false;
	for (struct list *n = i->waiting.next; n != &i->waiting; n = next) {
		next = n->next;
		struct items_claim *c = LIST_ITEM(n, struct items_claim,
		    waiting);
		if (!mono_before(now, c->until)) {
			answer_waiting(i, c);
			continue;
		}
		if (!mono_before(now, c->retry_at)) {
			/* Where that fails, it is not tried at once again. */
			i->wake = true;
			c->retry_at = mono_add_ms(now, RETRY_SHARED_MS_MAX);
		}
		if (mono_before(c->until, first))
			first = c->until;
		if (mono_before(c->retry_at, first))
			first = c->retry_at;
	}
	if (i->wake)
		first = now;
	if (first.ns != MONO_NEVER.ns && !i->quiet)
		loop_timer_set(i->writer, &i->claims_timer, first);
}

void
claims_stop(struct items *i)
{
	i->stopped = true;
	while (!list_empty(&i->waiting))
		answer_waiting(i, LIST_ITEM(i->waiting.next,
		    struct items_claim, waiting));
}
