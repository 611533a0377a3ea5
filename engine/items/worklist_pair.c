/*
 * The state of pairs.
 *
 *               follow_tags               claim
 *     (no row) ─────────────► unprocessed ───────► leased
 *                                  ▲                │  │
 *                        un-failed │        success │  │ failure
 *     fresh ──expire──► stale ◄────┤◄── failed ◄────│──┤
 *       ▲                          └─── retry  ◄────│──┘
 *       └───────────────────────────────────────────┘
 *     any that is due ──claim──► blocked (a dependency is unmet) ──► as before
 *
 * A leased pair stays leased whatever happens to its result.  For any other,
 * pair_derive() decides: a pair is failing while its last run failed with the
 * task's present version, and `attempt` counts these runs; else its result says
 * whether it is unprocessed, stale or fresh.
 */
#include "engine/items/worklist_own.h"

/* -- Names -- */

const struct task *
worklist_task(struct item_tx *tx, uint32_t task)
{
	struct item_store *s = item_tx_store(tx);

	return task_find(item_store_config(s), item_store_name_text(s, task));
}

enum err
worklist_task_id(struct item_tx *tx, const struct task *t, uint32_t *id,
    struct why *w)
{
	return item_store_name(item_tx_store(tx), ITEM_NAME_TASK, t->name,
	    false, id, w);
}

int64_t
worklist_due_ms(struct wall t)
{
	if (t.us == ITEM_TIME_NONE.us)
		return PAIR_DUE_NONE;
	return t.us / 1000 + (t.us % 1000 > 0);
}

/* -- Lanes -- */

static bool
tag_part_matches(const struct task_tag_part *part, const struct item_tag *tags,
    size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(tags[i].name, part->tag))
			return part->value.p == NULL ||
			    str_eq(part->value, tags[i].value);
	return false;
}

static bool
tag_limit_matches(const struct task_tag_limit *limit,
    const struct item_tag *tags, size_t n)
{
	for (size_t i = 0; i < limit->parts_n; i++)
		if (!tag_part_matches(&limit->parts[i], tags, n))
			return false;
	return true;
}

#define TAG_LIMITS_MAX 32u

void
task_lane_name(const struct task *t, const struct item_tag *tags, size_t n,
    struct buf *out)
{
	struct str keys[TAG_LIMITS_MAX];
	size_t keys_n = 0;

	CHECK(t->tag_limits_n <= TAG_LIMITS_MAX);
	for (size_t i = 0; i < t->tag_limits_n; i++)
		if (tag_limit_matches(&t->tag_limits[i], tags, n))
			keys[keys_n++] = t->tag_limits[i].key;
	if (keys_n > 1)
		qsort(keys, keys_n, sizeof(keys[0]), str_order);
	buf_put_str(out, t->name);
	for (size_t i = 0; i < keys_n; i++) {
		buf_put_char(out, '\n');
		buf_put_str(out, keys[i]);
	}
}

static enum err
pair_lane(struct item_tx *tx, const struct task *t,
    const struct item_row *item, uint32_t *lane, struct why *w)
{
	FREED(buf_free) struct buf name = BUF_INIT;
	struct item_store *s = item_tx_store(tx);

	if (t->tag_limits_n == 0)
		return item_store_name(s, ITEM_NAME_LANE, t->name, true, lane,
		    w);
	task_lane_name(t, item->tags, item->tags_n, &name);
	return item_store_name(s, ITEM_NAME_LANE, buf_str(&name), true, lane,
	    w);
}

/* -- Results -- */

static bool
version_is_current(const struct task *t, const struct result_row *r)
{
	return str_eq(r->task_version, t->version);
}

struct wall
result_expires(const struct task *t, const struct result_row *r)
{
	if (r->completed_at.us == ITEM_TIME_NONE.us ||
	    r->ttl_override_us == RESULT_TTL_NEVER)
		return ITEM_TIME_NONE;
	if (r->ttl_override_us == RESULT_TTL_NONE)
		return t == NULL ? ITEM_TIME_NONE :
		    task_ttl_expires(&t->ttl, r->completed_at);
	if (r->ttl_override_us > INT64_MAX - r->completed_at.us)
		return ITEM_TIME_NONE;
	return (struct wall){ r->completed_at.us + r->ttl_override_us };
}

static bool
is_ahead(struct wall expires, struct wall now)
{
	return expires.us == ITEM_TIME_NONE.us ||
	    worklist_due_ms(expires) > now.us / 1000;
}

/* A shorter TTL counts at once, though rewriting may not have come so far. */
bool
result_is_fresh(const struct task *t, const struct result_row *r,
    struct wall now)
{
	return t != NULL && r->exists && r->is_successful &&
	    !r->is_invalidated && r->completed_at.us != ITEM_TIME_NONE.us &&
	    version_is_current(t, r) && is_ahead(r->expires_at, now) &&
	    is_ahead(result_expires(t, r), now);
}

void
result_store(struct item_tx *tx, const struct task *t, struct result_row *r,
    const struct run_result *run, struct str version, bool successful)
{
	struct wall now = run->completed_at.us != 0 ? run->completed_at :
	    item_tx_now(tx);

	item_tx_touch_result(tx, r);
	if (!r->exists) {
		r->exists = true;
		r->created_at = now;
		r->metadata = STR("{}");
		r->rev = 1;
	}
	if (run->has_metadata) {
		r->metadata = run->metadata;
		r->rev++;
	}
	r->task_version = version;
	r->is_successful = successful;
	r->is_invalidated = false;
	r->completed_at = now;
	r->ttl_override_us = run->has_ttl ? run->ttl_us : RESULT_TTL_NONE;
	r->expires_at = result_expires(t, r);
}

/* -- Derivation -- */

/* The last run failed, and its version is still the task's; an expired pair
 * that is parked is un-failed, one that waits goes on waiting. */
static bool
pair_is_failing(const struct task *t, const struct result_row *r,
    const struct pair_row *p)
{
	return p->attempt > 0 && r->exists && !r->is_successful &&
	    version_is_current(t, r) &&
	    !(p->state == PAIR_FAILED && r->is_invalidated);
}

/* A script's expire waits for minInterval; the row knows until when. */
static int64_t
stale_due(const struct task *t, const struct result_row *r,
    const struct pair_row *p)
{
	if (p->state != PAIR_STALE || p->due_ms <= PAIR_DUE_STALE ||
	    !r->is_invalidated || !version_is_current(t, r))
		return PAIR_DUE_STALE;
	int64_t last = worklist_due_ms((struct wall){
	    r->completed_at.us + t->min_interval_us });
	return MAX(MIN(p->due_ms, last), PAIR_DUE_STALE);
}

static struct pair_plan
result_plan(const struct task *t, const struct result_row *r,
    const struct pair_row *p)
{
	if (!r->exists || r->completed_at.us == ITEM_TIME_NONE.us)
		return (struct pair_plan){ PAIR_UNPROCESSED,
		    PAIR_DUE_UNPROCESSED, 0 };
	if (!r->is_successful || r->is_invalidated ||
	    !version_is_current(t, r))
		return (struct pair_plan){ PAIR_STALE, stale_due(t, r, p), 0 };
	return (struct pair_plan){ PAIR_FRESH, worklist_due_ms(r->expires_at),
	    0 };
}

struct pair_plan
pair_derive(const struct task *t, const struct result_row *r,
    const struct pair_row *p, struct wall now)
{
	struct pair_plan plan;

	if (p->lease != 0)
		return (struct pair_plan){ PAIR_LEASED, PAIR_DUE_NONE,
		    p->attempt };
	if (!pair_is_failing(t, r, p))
		plan = result_plan(t, r, p);
	else if (p->state == PAIR_FAILED)
		return (struct pair_plan){ PAIR_FAILED, PAIR_DUE_NONE,
		    p->attempt };
	else
		plan = (struct pair_plan){ PAIR_RETRY,
		    p->state == PAIR_RETRY ? p->due_ms :
		    worklist_due_ms(now), p->attempt };
	if (p->due_ms == PAIR_DUE_FIRST && p->state == plan.state)
		plan.due_ms = PAIR_DUE_FIRST;
	return plan;
}

static void
pair_apply(struct item_tx *tx, struct pair_row *p, struct pair_plan plan)
{
	if (p->state == plan.state && p->due_ms == plan.due_ms &&
	    p->attempt == plan.attempt)
		return;
	item_tx_touch_pair(tx, p);
	p->state = plan.state;
	p->due_ms = plan.due_ms;
	p->attempt = plan.attempt;
}

/* -- Dependencies -- */

static enum err
dependency_met(struct item_tx *tx, struct str name, int64_t item, bool *met,
    struct why *w)
{
	struct item_store *s = item_tx_store(tx);
	const struct task *t = task_find(item_store_config(s), name);
	struct result_row *r;
	uint32_t id = 0;

	*met = false;
	enum err e = t == NULL ? OK : worklist_task_id(tx, t, &id, w);
	if (e != OK || id == 0)
		return e;
	e = item_tx_result(tx, id, item, &r, w);
	if (e == OK)
		*met = result_is_fresh(t, r, item_tx_now(tx));
	return e;
}

enum err
worklist_depends_met(struct item_tx *tx, const struct task *t, int64_t item,
    bool *met, struct why *w)
{
	*met = true;
	for (size_t i = 0; i < t->depends_on_n && *met; i++) {
		enum err e = dependency_met(tx, t->depends_on[i], item, met, w);
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err
settle_alone(struct item_tx *tx, const struct task *t, struct pair_row *p,
    const struct result_row *r, struct why *w)
{
	if (p->state == PAIR_BLOCKED && p->lease == 0) {
		bool met;
		enum err e = worklist_depends_met(tx, t, p->item, &met, w);

		if (e != OK || !met)
			return e;
	}
	pair_apply(tx, p, pair_derive(t, r, p, item_tx_now(tx)));
	return OK;
}

/* A blocked dependent is put back once all that it waits for is there. */
static enum err
settle_dependent(struct item_tx *tx, const struct task *t, int64_t item,
    struct why *w)
{
	struct result_row *r;
	struct pair_row *p;
	uint32_t id;
	enum err e = worklist_task_id(tx, t, &id, w);

	if (e != OK || id == 0)
		return e;
	e = item_tx_pair(tx, id, item, &p, w);
	if (e != OK || !p->exists || p->state != PAIR_BLOCKED)
		return e;
	e = item_tx_result(tx, id, item, &r, w);
	return e == OK ? settle_alone(tx, t, p, r, w) : e;
}

static enum err
settle_dependents(struct item_tx *tx, struct str task, int64_t item,
    struct why *w)
{
	const struct task_config *c = item_store_config(item_tx_store(tx));
	enum err e = OK;

	for (size_t i = 0; i < c->tasks_n && e == OK; i++) {
		const struct task *t = &c->tasks[i];

		for (size_t d = 0; d < t->depends_on_n && e == OK; d++)
			if (str_eq(t->depends_on[d], task))
				e = settle_dependent(tx, t, item, w);
	}
	return e;
}

enum err
pair_settle(struct item_tx *tx, struct pair_row *p, struct why *w)
{
	const struct task *t = worklist_task(tx, p->task);
	struct result_row *r;

	if (t == NULL)
		return OK;      /* the rewriting takes its row away */
	enum err e = item_tx_result(tx, p->task, p->item, &r, w);
	if (e == OK && p->exists)
		e = settle_alone(tx, t, p, r, w);
	if (e == OK && result_is_fresh(t, r, item_tx_now(tx)))
		e = settle_dependents(tx, t->name, p->item, w);
	return e;
}

/* -- Rows follow tags -- */

static bool
task_is_mapped(const struct task *t, const struct item_row *item)
{
	for (size_t i = 0; i < item->tags_n; i++)
		for (size_t k = 0; k < t->tags_n; k++)
			if (str_eq(item->tags[i].name, t->tags[k]))
				return true;
	return false;
}

void
worklist_end_lease(struct item_tx *tx, struct pair_row *p)
{
	item_tx_touch_pair(tx, p);
	p->lease = 0;
	p->lease_until = ITEM_TIME_NONE;
	p->worker = STR_NONE;
	p->again = false;
}

void
pair_unfail(struct pair_row *p)
{
	p->attempt = 0;
	p->state = PAIR_UNPROCESSED;
	p->due_ms = PAIR_DUE_UNPROCESSED;
}

static void
pair_remove(struct item_tx *tx, struct pair_row *p)
{
	worklist_end_lease(tx, p);
	p->exists = false;
	p->done_lease = 0;
	p->attempt = 0;
}

static void
pair_make(struct item_tx *tx, struct pair_row *p)
{
	item_tx_touch_pair(tx, p);
	p->exists = true;
	p->state = PAIR_UNPROCESSED;
	p->due_ms = PAIR_DUE_UNPROCESSED;
	p->lease = 0;
	p->lease_until = ITEM_TIME_NONE;
	p->worker = STR_NONE;
	p->generation = 0;
	p->attempt = 0;
	p->again = false;
	p->done_lease = 0;
}

/* The item's tags map the task: its row is there, and in its lane. */
static enum err
pair_follow(struct item_tx *tx, const struct task *t, struct pair_row *p,
    const struct item_row *item, struct why *w)
{
	uint32_t lane = 0;
	enum err e = pair_lane(tx, t, item, &lane, w);

	if (e != OK)
		return e;
	if (!p->exists)
		pair_make(tx, p);
	else if (p->lane == lane && p->state != PAIR_BLOCKED)
		return OK;
	if (p->lane != lane) {
		item_tx_touch_pair(tx, p);
		p->lane = lane;
	}
	return pair_settle(tx, p, w);
}

enum err
worklist_follow_task(struct item_tx *tx, const struct item_row *item,
    uint32_t task_id, const struct task *t, struct why *w)
{
	struct pair_row *p;
	enum err e = item_tx_pair(tx, task_id, item->key, &p, w);

	if (e != OK)
		return e;
	if (t != NULL && task_is_mapped(t, item))
		return pair_follow(tx, t, p, item, w);
	if (p->exists)
		pair_remove(tx, p);
	return OK;
}

static enum err
follow_mapped(struct item_tx *tx, const struct item_row *item,
    const struct task *t, struct why *w)
{
	uint32_t id;
	enum err e = worklist_task_id(tx, t, &id, w);

	return e == OK && id != 0 ?
	    worklist_follow_task(tx, item, id, t, w) : e;
}

enum err
worklist_follow_tags(struct item_tx *tx, struct item_row *item, struct why *w)
{
	const struct task_config *c = item_store_config(item_tx_store(tx));
	struct pair_row **pairs;
	size_t n;
	enum err e = item_tx_pairs_of(tx, item->key, &pairs, &n, w);

	for (size_t i = 0; i < n && e == OK; i++) {
		const struct task *t = worklist_task(tx, pairs[i]->task);

		if (pairs[i]->exists && (t == NULL || !task_is_mapped(t, item)))
			pair_remove(tx, pairs[i]);
	}
	for (size_t i = 0; i < c->tasks_n && e == OK; i++)
		if (task_is_mapped(&c->tasks[i], item))
			e = follow_mapped(tx, item, &c->tasks[i], w);
	return e;
}

enum err
worklist_drop_item(struct item_tx *tx, struct item_row *item, struct why *w)
{
	struct result_row **results = NULL;
	struct pair_row **pairs;
	size_t pairs_n, results_n = 0;
	enum err e = item_tx_pairs_of(tx, item->key, &pairs, &pairs_n, w);

	if (e == OK)
		e = item_tx_results_of(tx, item->key, &results, &results_n, w);
	if (e != OK)
		return e;
	for (size_t i = 0; i < pairs_n; i++)
		if (pairs[i]->exists)
			pair_remove(tx, pairs[i]);
	for (size_t i = 0; i < results_n; i++) {
		if (!results[i]->exists)
			continue;
		item_tx_touch_result(tx, results[i]);
		results[i]->exists = false;
	}
	return OK;
}

/* The lease goes on at the merged item; failed tries so far count there. */
static enum err
lease_move(struct item_tx *tx, struct pair_row *from, int64_t into,
    struct why *w)
{
	struct pair_row *to;
	enum err e = item_tx_pair(tx, from->task, into, &to, w);

	if (e != OK || !to->exists || to->lease != 0)
		return e;
	item_tx_touch_pair(tx, to);
	to->lease = from->lease;
	to->lease_until = from->lease_until;
	to->worker = from->worker;
	to->generation = from->generation;
	to->again = from->again;
	to->attempt = MAX(to->attempt, from->attempt);
	worklist_end_lease(tx, from);
	return pair_settle(tx, to, w);
}

enum err
worklist_merge_pairs(struct item_tx *tx, struct item_row *from,
    struct item_row *into, struct why *w)
{
	struct pair_row **pairs;
	size_t n;
	enum err e = item_tx_pairs_of(tx, from->key, &pairs, &n, w);

	for (size_t i = 0; i < n && e == OK; i++)
		if (pairs[i]->exists && pairs[i]->lease != 0)
			e = lease_move(tx, pairs[i], into->key, w);
	return e;
}

/* -- Expiry by hand -- */

void
worklist_run_again(struct item_tx *tx, const struct task *t,
    struct result_row *r, struct pair_row *p)
{
	item_tx_touch_result(tx, r);
	r->is_invalidated = true;
	if (p->attempt > 0 || t->min_interval_us == 0 ||
	    r->completed_at.us == ITEM_TIME_NONE.us)
		return;
	item_tx_touch_pair(tx, p);
	p->state = PAIR_STALE;
	p->due_ms = worklist_due_ms((struct wall){
	    r->completed_at.us + t->min_interval_us });
}

/* What a person expires does not wait for minInterval; what a script expires
 * does, unless it is due already. */
static void
expire_due(struct item_tx *tx, const struct task *t, struct result_row *r,
    struct pair_row *p, bool script)
{
	if (!script && p->state == PAIR_STALE && p->due_ms > PAIR_DUE_STALE) {
		item_tx_touch_pair(tx, p);
		p->due_ms = PAIR_DUE_STALE;
	}
	if (p->state == PAIR_FAILED) {
		item_tx_touch_pair(tx, p);
		pair_unfail(p);
	} else if (p->state != PAIR_FRESH)
		return;
	if (script && r->completed_at.us != ITEM_TIME_NONE.us &&
	    r->completed_at.us + t->min_interval_us > item_tx_now(tx).us)
		worklist_run_again(tx, t, r, p);
}

static void
want_first(struct item_tx *tx, struct pair_row *p)
{
	if (p->due_ms == PAIR_DUE_NONE || p->due_ms == PAIR_DUE_FIRST)
		return;
	item_tx_touch_pair(tx, p);
	p->due_ms = PAIR_DUE_FIRST;
}

static enum err
expire_mapped(struct item_tx *tx, const struct item_actor *actor,
    const struct task *t, struct result_row *r, struct pair_row *p,
    bool first, struct why *w)
{
	if (p->lease != 0) {
		item_tx_touch_pair(tx, p);
		p->again = true;
		return OK;
	}
	expire_due(tx, t, r, p, actor->run_item != 0);
	enum err e = pair_settle(tx, p, w);
	if (e == OK && first)
		want_first(tx, p);
	return e;
}

enum err
worklist_expire_pair(struct item_tx *tx, const struct item_actor *actor,
    struct item_row *item, struct pair_row *p, bool first, struct why *w)
{
	const struct task *t = worklist_task(tx, p->task);
	struct result_row *r;
	enum err e = item_tx_result(tx, p->task, p->item, &r, w);

	if (e != OK)
		return e;
	if (r->exists && !r->is_invalidated) {
		item_tx_touch_result(tx, r);
		r->is_invalidated = true;
	}
	if (p->exists && t != NULL)
		e = expire_mapped(tx, actor, t, r, p, first, w);
	item_event_put(tx, actor, &(struct item_event){
	    .type = ITEM_EVENT_TASK_EXPIRED, .item = item,
	    .task = item_store_name_text(item_tx_store(tx), p->task) });
	return e;
}
