/*
 * What tasks store about items: metadata, expiry, results of other items.
 *
 * What a run says of its own pair is kept in `own`, and stored with its result.
 */
#include "engine/items/item_ops_own.h"
#include "engine/items/worklist.h"

/* A result expires within 3,000 years, or never. */
#define TTL_US_MAX (INT64_C(3000) * 366 * 86400 * US_PER_S)

static bool
is_own_pair(const struct item_actor *by, const struct item_row *item,
    struct str task)
{
	return by->own != NULL && by->run_item == item->key &&
	    str_eq(by->task, task);
}

enum err
item_task_find(struct item_tx *tx, struct str name, uint32_t *id,
    struct why *w)
{
	struct item_store *st = item_tx_store(tx);
	bool known = task_find(item_store_config(st), name) != NULL;

	enum err e = item_store_name(st, ITEM_NAME_TASK, name, known, id, w);
	if (e == OK && *id == 0)
		e = why_field(w, ERR_ABSENT, "taskName", "there is no task "
		    "%.*s", (int)MIN(name.n, 100), name.p);
	return e;
}

static enum err
find_result(struct item_tx *tx, struct str task, const struct item_row *item,
    struct result_row **result, struct why *w)
{
	uint32_t id;

	enum err e = item_task_find(tx, task, &id, w);
	return e == OK ? item_tx_result(tx, id, item->key, result, w) : e;
}

static enum err
find_pair(struct item_tx *tx, struct str task, const struct item_row *item,
    struct pair_row **pair, struct why *w)
{
	uint32_t id;

	enum err e = item_task_find(tx, task, &id, w);
	return e == OK ? item_tx_pair(tx, id, item->key, pair, w) : e;
}

/* -- Metadata -- */

static struct str
version_of(struct item_tx *tx, struct str task)
{
	const struct task *t = task_find(item_store_config(item_tx_store(tx)),
	    task);

	return t == NULL ? STR("") : arena_copy(item_tx_arena(tx), t->version);
}

enum err
item_metadata_put(struct item_tx *tx, const struct item_actor *by,
    struct item_row *item, struct str task, struct str metadata,
    struct why *w)
{
	struct result_row *r;

	enum err e = find_result(tx, task, item, &r, w);
	if (e != OK || (r->exists && str_eq(r->metadata, metadata)))
		return e;
	const struct item_event changed = { .item = item, .task = task,
		.type = ITEM_EVENT_METADATA_UPDATED,
		.before = r->exists ? r->metadata : STR("{}"),
		.after = metadata };
	item_event_put(tx, by, &changed);
	item_tx_touch_result(tx, r);
	if (!r->exists) {
		r->exists = true;
		r->created_at = item_tx_now(tx);
		r->task_version = version_of(tx, task);
	}
	r->metadata = metadata;
	r->rev++;
	return OK;
}

enum err
item_metadata_set_checked(struct item_tx *tx, const struct item_actor *by,
    struct str id, struct str task, struct str metadata, struct why *w)
{
	struct item_row *item;

	enum err e = item_tx_find(tx, id, &item, w);
	if (e != OK)
		return e;
	if (!is_own_pair(by, item, task))
		return item_metadata_put(tx, by, item, task, metadata, w);
	by->own->has_metadata = true;
	by->own->metadata = metadata;
	return OK;
}

enum err
item_metadata_set(struct item_tx *tx, const struct item_actor *by,
    struct str id, struct str task, struct str metadata, struct why *w)
{
	struct str json;

	enum err e = item_json_check("metadata", metadata,
	    item_store_limits(item_tx_store(tx)), item_tx_arena(tx), &json, w);
	return e == OK ? item_metadata_set_checked(tx, by, id, task, json, w) :
	    e;
}

/* -- Expiry -- */

enum err
item_expire(struct item_tx *tx, const struct item_actor *by, struct str id,
    struct str task, bool first, struct why *w)
{
	struct item_row *item;
	struct pair_row *pair;

	enum err e = item_tx_find(tx, id, &item, w);
	if (e == OK && is_own_pair(by, item, task)) {
		by->own->expired = true;
		return OK;
	}
	if (e == OK)
		e = find_pair(tx, task, item, &pair, w);
	return e == OK ? worklist_expire_pair(tx, by, item, pair, first, w) :
	    e;
}

static enum err
check_ttl(int64_t ttl_us, struct why *w)
{
	if (ttl_us == RESULT_TTL_NEVER || (ttl_us >= 0 && ttl_us <= TTL_US_MAX))
		return OK;
	return why_field(w, ERR_INPUT, "ttl", "it is not from 0 to %lld ms",
	    (long long)(TTL_US_MAX / 1000));
}

static enum err
set_result_ttl(struct item_tx *tx, struct item_row *item, struct str task,
    int64_t ttl_us, enum item_effect *effect, struct why *w)
{
	struct result_row *r;
	struct pair_row *pair;

	enum err e = find_result(tx, task, item, &r, w);
	if (e != OK || !r->exists || r->completed_at.us == ITEM_TIME_NONE.us)
		return e;
	*effect = ITEM_TTL;
	item_tx_touch_result(tx, r);
	r->ttl_override_us = ttl_us;
	r->expires_at = ttl_us == RESULT_TTL_NEVER ? ITEM_TIME_NONE :
	    (struct wall){ r->completed_at.us + ttl_us };
	e = find_pair(tx, task, item, &pair, w);
	return e == OK ? pair_settle(tx, pair, w) : e;
}

enum err
item_ttl_set(struct item_tx *tx, const struct item_actor *by, struct str id,
    struct str task, int64_t ttl_us, enum item_effect *effect, struct why *w)
{
	struct item_row *item;

	*effect = ITEM_SKIPPED;
	enum err e = check_ttl(ttl_us, w);
	if (e == OK)
		e = item_tx_find(tx, id, &item, w);
	if (e != OK)
		return e;
	if (!is_own_pair(by, item, task))
		return set_result_ttl(tx, item, task, ttl_us, effect, w);
	by->own->has_ttl = true;
	by->own->ttl_us = ttl_us;
	*effect = ITEM_TTL;
	return OK;
}

/* -- A result for another item -- */

/* Its pair starts over, and what failed is done with. */
static enum err
settle_completed(struct item_tx *tx, struct pair_row *pair, struct why *w)
{
	item_tx_handle_failures(tx, pair->task, pair->item, STR_NONE,
	    STR_NONE);
	if (pair->exists) {
		item_tx_touch_pair(tx, pair);
		pair_unfail(pair);
	}
	return pair_settle(tx, pair, w);
}

static enum err
store_result(struct item_tx *tx, const struct item_actor *by,
    const struct task *task, struct item_row *item, struct pair_row *pair,
    struct run_result *result, struct why *w)
{
	struct result_row *r;

	enum err e = item_tx_result(tx, pair->task, item->key, &r, w);
	if (e != OK)
		return e;
	if (result->has_metadata) {
		e = item_metadata_put(tx, by, item, task->name,
		    result->metadata, w);
		if (e != OK)
			return e;
		result->has_metadata = false;
	}
	item_tx_touch_result(tx, r);
	result_store(tx, task, r, result, by->version.n > 0 ? by->version :
	    task->version, true);
	const struct item_event done = { .type = ITEM_EVENT_TASK_DONE,
		.item = item, .task = task->name };
	item_event_put(tx, by, &done);
	return settle_completed(tx, pair, w);
}

enum err
item_complete_for(struct item_tx *tx, const struct item_actor *by,
    struct str id, struct str metadata, bool has_ttl, int64_t ttl_us,
    enum item_effect *effect, struct why *w)
{
	struct item_store *st = item_tx_store(tx);
	const struct task *task = task_find(item_store_config(st), by->task);
	struct run_result result = { .has_metadata = metadata.n > 0,
		.has_ttl = has_ttl, .ttl_us = ttl_us };
	struct item_row *item;
	struct pair_row *pair;

	*effect = ITEM_SKIPPED;
	if (task == NULL)
		return why(w, ERR_STATE, "completeFor is for the runs of a "
		    "task");
	enum err e = has_ttl ? check_ttl(ttl_us, w) : OK;
	if (e == OK)
		e = item_tx_find(tx, id, &item, w);
	if (e == OK && result.has_metadata)
		e = item_json_check("metadata", metadata,
		    item_store_limits(st), item_tx_arena(tx),
		    &result.metadata, w);
	if (e == OK)
		e = find_pair(tx, by->task, item, &pair, w);
	if (e != OK || (pair->exists && pair->state == PAIR_LEASED))
		return e;
	*effect = ITEM_COMPLETED;
	return store_result(tx, by, task, item, pair, &result, w);
}
