/*
 * The writer: all that is queued becomes transactions of up to completions_max
 * requests, or parts of them.
 *
 *     begin, want() of all, load
 *     run() of each write, behind a mark of its own
 *     claims that wait, when something may have become due; new claims
 *     write back, commit; answers leave
 *
 * An error of one request undoes that request alone.  An error of the database
 * ends the transaction: BUSY runs it again, a bounded number of times.  When
 * some request may have caused the error (a value that is too long), each
 * request is run in a transaction of its own, so that the others stay.
 */
#include "engine/items/items_own.h"

#include "os/clock.h"
#include "os/log.h"

#define GROUP_TRIES_MAX 5u

bool
writer_error_is_fatal(enum err e)
{
	return e == ERR_BUSY || e == ERR_UNREACHED || e == ERR_DISK_FULL ||
	    e == ERR_IO || e == ERR_CORRUPT || e == ERR_NEWER ||
	    e == ERR_BROKEN;
}

static struct items_write *
next_of(const struct items_write *r)
{
	return r->job.next == NULL ? NULL :
	    CONTAINER(r->job.next, struct items_write, job);
}

/* -- One transaction -- */

static enum err
run_request(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct item_mark mark = item_tx_mark(tx);

	r->why = WHY_INIT;
	r->result = r->run(r, tx, &r->why);
	if (r->result == OK)
		return OK;
	if (r->alone || writer_error_is_fatal(r->result)) {
		*w = r->why;
		return r->result;
	}
	item_tx_undo(tx, mark);
	return OK;
}

/* The writes, or the claims, of a group. */
static enum err
run_requests(struct items_write *first, bool claims, struct item_tx *tx,
    struct why *w)
{
	enum err e = OK;

	for (struct items_write *r = first; r != NULL && e == OK;
	    r = next_of(r))
		if (claim_is(r) == claims)
			e = run_request(r, tx, w);
	return e;
}

static bool
has_writes(struct items_write *first)
{
	for (struct items_write *r = first; r != NULL; r = next_of(r))
		if (!claim_is(r))
			return true;
	return false;
}

static bool
is_alone(const struct items_write *first)
{
	return first != NULL && first->alone;
}

static enum err
run_once(struct items *i, struct items_write *first, struct why *w)
{
	struct item_tx *tx = NULL;

	enum err e = (is_alone(first) ? item_tx_begin : item_tx_continue)
	    (i->store, clock_wall(), &tx, w);
	if (e != OK)
		return e;
	if (!is_alone(first))
		e = generation_follow(tx, w);
	for (struct items_write *r = first; r != NULL && e == OK;
	    r = next_of(r))
		if (r->want != NULL)
			r->want(r, tx);
	if (e == OK)
		e = item_tx_load(tx, w);
	if (e == OK)
		e = run_requests(first, false, tx, w);
	if (e == OK && !is_alone(first) && (i->wake || has_writes(first)))
		e = claims_retry(i, tx, w);
	if (e == OK)
		e = run_requests(first, true, tx, w);
	return item_tx_end(&tx, e, w);
}

static enum err
run_repeatedly(struct items *i, struct items_write *first, struct why *w)
{
	enum err e = ERR_BUSY;

	for (unsigned tries = 0; e == ERR_BUSY && tries < GROUP_TRIES_MAX;
	    tries++) {
		if (tries > 0) {
			claims_retried(i, false);
			metric_add(&items_metrics[METRIC_REPEATED], 1);
		}
		*w = WHY_INIT;
		e = run_once(i, first, w);
		if (e != OK)
			item_store_names_changed(i->store);
	}
	return e;
}

/* -- Its end -- */

/* A full disk fails every group: it is logged once, and its end. */
static void
log_end(struct items *i, enum err e, const struct why *w)
{
	if (e != OK)
		metric_add(&items_metrics[METRIC_FAILED], 1);
	if (e != OK && e != i->failed)
		log_warn("items.failed", "error=%s why=%s", err_name(e),
		    log_why(w));
	else if (e == OK && i->failed != OK)
		log_info("items.recovered", "from=%s", err_name(i->failed));
	i->failed = e;
}

static void
answer_all(struct items *i, struct items_write *first, enum err e,
    const struct why *w)
{
	struct items_write *next;

	for (struct items_write *r = first; r != NULL; r = next) {
		next = next_of(r);
		metric_add(&items_metrics[METRIC_WRITES], 1);
		if (e != OK) {
			r->result = e;
			r->why = *w;
		}
		if (claim_is(r))
			claim_settle(i, r);
		else
			writer_answer(i, r);
	}
}

static void
run_group(struct items *i, struct items_write *first)
{
	struct mono began = clock_mono();
	struct why w = WHY_INIT;
	struct items_write *next;

	enum err e = run_repeatedly(i, first, &w);
	metric_add(&items_metrics[METRIC_GROUPS], 1);
	metric_observe(&items_metrics[METRIC_GROUP_SECONDS],
	    MAX(mono_ns_between(began, clock_mono()), 0));
	claims_retried(i, e == OK);
	/* One that is alone fails by itself. */
	if (!is_alone(first) || writer_error_is_fatal(e))
		log_end(i, e, &w);
	/* PostgreSQL takes a key that is there for a race that was lost. */
	bool one_is_to_blame = e != OK && (!writer_error_is_fatal(e) ||
	    (e == ERR_BUSY && i->shared));
	if (!one_is_to_blame || first == NULL || next_of(first) == NULL) {
		answer_all(i, first, e, &w);
		return;
	}
	for (; first != NULL; first = next) {
		next = next_of(first);
		first->job.next = NULL;
		run_group(i, first);
	}
}

/* -- The queue -- */

static struct items_write *
take_group(struct items *i)
{
	struct items_write *first = i->first, *r = first, *next;

	if (r == NULL)
		return NULL;
	size_t parts = MAX(r->parts, 1u);
	while (!r->alone && (next = next_of(r)) != NULL && !next->alone) {
		parts += MAX(next->parts, 1u);
		if (parts > (size_t)i->limits.completions_max)
			break;
		r = next;
	}
	i->first = next_of(r);
	if (i->first == NULL)
		i->last = &i->first;
	r->job.next = NULL;
	return first;
}

void
writer_news(struct items *i)
{
	uint64_t cursor = item_store_cursor(i->store);

	/* When it cannot be read now, a later poll finds it. */
	if (i->shared && item_query_cursor(i->store, &cursor, NULL) != OK)
		return;
	if (cursor <= atomic_load(&i->news_cursor))
		return;
	atomic_store(&i->news_cursor, cursor);
	if (!atomic_exchange(&i->news_posted, true))
		loop_post(i->home, &i->news);
}

void
writer_turn(struct turn_hook *h)
{
	struct items *i = CONTAINER(h, struct items, hook);
	struct items_write *first;
	bool any = false;

	if (i->quiet)
		return;
	while ((first = take_group(i)) != NULL ||
	    (i->wake && !list_empty(&i->waiting))) {
		bool alone = is_alone(first);
		run_group(i, first);
		/* It did not try the claims that wait. */
		i->wake = alone;
		any = true;
	}
	if (any) {
		upkeep_look(i);
		writer_news(i);
	}
	upkeep_run(i);
	claims_tick(&i->claims_timer);
}
