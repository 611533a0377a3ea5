/*
 * Failed runs: their failures, the next try or parking, and tasks that trip.
 *
 * The nth transient failure in a row is tried again after backoff × 2ⁿ, up
 * to backoffMax, give or take 20 %, and never before the server's Retry-After;
 * after `retries` of them, and at once for any other failure, the pair is
 * parked.  By default that is after 11 to 18 hours: the outage of a night parks
 * nothing.
 */
#include "base/hash.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "engine/items/worklist_own.h"

/* -- The next try -- */

bool
run_error_is_crash(struct yyjson_val *error)
{
	return yyjson_equals_str(yyjson_obj_get(error, "class"), "crashed") ||
	    yyjson_equals_str(yyjson_obj_get(error, "code"), "crashed");
}

static int64_t
backoff_us(const struct worklist_run *run)
{
	const struct task *t = run->task;
	uint64_t random = hash_u64(run->lease ^ run->attempt);
	int64_t us = t->backoff_us;

	for (unsigned i = 0; i < run->attempt && us < t->backoff_max_us; i++)
		us *= 2;
	us = MIN(us, t->backoff_max_us);
	return us / 5 * 4 + (int64_t)(random % (uint64_t)(us / 5 * 2 + 1));
}

static bool
is_crash(struct str error)
{
	yyjson_doc *doc = yyjson_read(error.p, error.n, 0);
	yyjson_val *v = yyjson_doc_get_root(doc);
	bool crash = run_error_is_crash(v);

	yyjson_doc_free(doc);
	return crash;
}

/* Whether another failed run of this row of them has crashed. */
static enum err
crashed_before(struct item_tx *tx, const struct worklist_run *run,
    bool *before, struct why *w)
{
	static const struct sql last = { "SELECT error_data FROM failures"
	    " WHERE task = ?1 AND item = ?2 ORDER BY id DESC LIMIT ?3",
	    NULL };
	enum err e = run->attempt > 1 ? item_tx_flush_all(tx, w) : OK;

	*before = false;
	if (e != OK || run->attempt <= 1)
		return e;
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), &last);
	query_i64(q, 1, run->task_id);
	query_i64(q, 2, run->item->key);
	query_i64(q, 3, run->attempt - 1);
	while (!*before && query_step(q))
		*before = is_crash(query_get_str(q, 0));
	return query_end(&q, w);
}

/* `crashed` is tried once more. */
static enum err
is_tried_again(struct item_tx *tx, const struct worklist_run *run,
    const struct run_error *error, bool *again, struct why *w)
{
	bool before = false;
	enum err e = error->crashed ? crashed_before(tx, run, &before, w) : OK;

	*again = (error->transient || error->crashed) && !before &&
	    run->attempt <= run->task->retries;
	return e;
}

static void
plan_next(struct item_tx *tx, const struct worklist_run *run,
    const struct run_error *error, bool again)
{
	struct wall now = item_tx_now(tx);
	struct pair_row *p = run->pair;
	struct wall at;

	p->attempt = run->attempt;
	p->state = PAIR_FAILED;
	p->due_ms = PAIR_DUE_NONE;
	if (!again)
		return;
	at.us = now.us + backoff_us(run);
	if (error->not_before.us != ITEM_TIME_NONE.us)
		at.us = MAX(at.us, MIN(error->not_before.us,
		    now.us + RETRY_AFTER_US_MAX));
	p->state = PAIR_RETRY;
	p->due_ms = worklist_due_ms(at);
}

/* -- Tripping -- */

enum err
worklist_outstanding(struct item_tx *tx, uint32_t task, unsigned max,
    unsigned *n, struct why *w)
{
	static const struct sql count = { "SELECT count(*) FROM (SELECT"
	    " DISTINCT f.item FROM failures f JOIN worklist p"
	    " ON p.task = f.task AND p.item = f.item"
	    " WHERE f.task = ?1 AND f.handled_at IS NULL AND p.state = ?2"
	    " LIMIT ?3) AS parked", NULL };
	enum err e = item_tx_flush_all(tx, w);

	*n = 0;
	if (e != OK)
		return e;
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), &count);
	query_i64(q, 1, task);
	query_i64(q, 2, PAIR_FAILED);
	query_i64(q, 3, max);
	if (query_step(q))
		*n = (unsigned)query_get_i64(q, 0);
	return query_end(&q, w);
}

static enum err
trip_task(struct item_tx *tx, const struct worklist_run *run, struct why *w)
{
	unsigned max = run->task->outstanding_failures_max, n;
	struct item_actor actor = worklist_run_actor(run);
	FREED(buf_free) struct buf detail = BUF_INIT;
	struct task_state_row *s;

	if (max == 0)
		return OK;
	enum err e = item_tx_task_state(tx, run->task_id, &s, w);
	/* Failures are counted only once there may be enough. */
	if (e != OK || s->tripped || s->pairs[PAIR_FAILED] < (int64_t)max)
		return e;
	e = worklist_outstanding(tx, run->task_id, max, &n, w);
	if (e != OK || n < max)
		return e;
	item_tx_touch_task_state(tx, s);
	s->tripped = true;
	buf_printf(&detail, "\"failures\":%u", n);
	item_event_put(tx, &actor, &(struct item_event){
	    .type = ITEM_EVENT_TASK_TRIPPED, .task = run->task_name,
	    .detail = arena_copy(item_tx_arena(tx), buf_str(&detail)) });
	return OK;
}

/* -- A failed run -- */

static void
put_event(struct item_tx *tx, const struct worklist_run *run,
    const struct run_error *error)
{
	struct item_actor actor = worklist_run_actor(run);
	FREED(buf_free) struct buf detail = BUF_INIT;
	const struct pair_row *p = run->pair;
	bool parked = !p->exists || p->state == PAIR_FAILED;
	struct wall due = ITEM_TIME_NONE;

	buf_printf(&detail, "\"attempt\":%u", run->attempt);
	json_str(&detail, "message", error->message);
	if (!parked && p->due_ms > PAIR_DUE_STALE)
		due.us = p->due_ms * 1000;
	if (!parked)
		worklist_put_date(&detail, "due_at", due);
	item_event_put(tx, &actor, &(struct item_event){
	    .type = parked ? ITEM_EVENT_TASK_FAILED : ITEM_EVENT_TASK_RETRY,
	    .item = run->item, .task = run->task_name,
	    .detail = arena_copy(item_tx_arena(tx), buf_str(&detail)) });
}

/* Metadata, TTL and completed_at stay as they are. */
static void
mark_result(struct item_tx *tx, const struct worklist_run *run)
{
	struct result_row *r = run->result;

	item_tx_touch_result(tx, r);
	if (!r->exists) {
		r->exists = true;
		r->created_at = item_tx_now(tx);
		r->metadata = STR("{}");
		r->rev = 1;
		r->completed_at = r->expires_at = ITEM_TIME_NONE;
		r->ttl_override_us = RESULT_TTL_NONE;
	}
	r->task_version = run->version;
	r->is_successful = r->is_invalidated = false;
}

void
worklist_run_end(struct item_tx *tx, struct worklist_run *run)
{
	struct pair_row *p = run->pair;

	if (!p->exists)
		return;
	worklist_end_lease(tx, p);
	if (!run->lost)
		p->done_lease = run->lease;
	if (run->task == NULL)
		p->exists = false;      /* no configured tag maps it */
}

enum err
worklist_fail(struct item_tx *tx, struct worklist_run *run,
    const struct run_error *error, bool stored, struct why *w)
{
	struct pair_row *p = run->pair;
	bool again = false;
	enum err e = run->task == NULL ? OK :
	    is_tried_again(tx, run, error, &again, w);

	if (e != OK)
		return e;
	if (!stored)
		mark_result(tx, run);
	item_tx_put_failure(tx, run->task_id, run->item->key, error->message,
	    error->json);
	worklist_run_end(tx, run);
	if (p->exists) {
		plan_next(tx, run, error, again);
		/* Expired meanwhile: a parked pair is un-failed by it. */
		run->result->is_invalidated = run->again;
		e = pair_settle(tx, p, w);
	}
	put_event(tx, run, error);
	if (e == OK && p->exists && p->state == PAIR_FAILED)
		e = trip_task(tx, run, w);
	return e;
}
