/*
 * The worker protocol's answers: leases and results of completions
 * (contracts/items.md §8).
 */
#include "base/json_writer.h"
#include "engine/items/worklist_own.h"

/* -- Leases -- */

/* The metadata of the task's result; STR_NONE: it is stale, or none. */
static enum err
find_prefetched(struct item_tx *tx, const struct worklist_lease *l,
    struct str task, struct str *metadata, struct why *w)
{
	struct item_store *s = item_tx_store(tx);
	const struct task *t = task_find(item_store_config(s), task);
	struct result_row *r;
	uint32_t id = 0;
	enum err e = t == NULL ? OK : worklist_task_id(tx, t, &id, w);

	*metadata = STR_NONE;
	if (e != OK || id == 0)
		return e;
	e = item_tx_result(tx, id, l->item->key, &r, w);
	if (e == OK && result_is_fresh(t, r, item_tx_now(tx)))
		*metadata = r->metadata;
	return e;
}

/* `"TASK":{...}`, unless the result is stale or none. */
static enum err
put_prefetched(struct item_tx *tx, const struct worklist_lease *l,
    struct str task, struct buf *b, struct why *w)
{
	struct str metadata;
	enum err e = find_prefetched(tx, l, task, &metadata, w);

	if (e != OK || metadata.p == NULL)
		return e;
	json_item(b, task);
	buf_put_char(b, ':');
	buf_put_str(b, metadata);
	return OK;
}

static bool
is_listed(const struct str *list, size_t n, struct str s)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i], s))
			return true;
	return false;
}

static enum err
put_metadata(struct item_tx *tx, const struct worklist_lease *l,
    const struct task *t, const struct str *prefetch, size_t n,
    struct buf *b, struct why *w)
{
	size_t own_n = t == NULL ? 0 : t->prefetch_n;
	enum err e = OK;

	json_object(b, "metadata");
	for (size_t i = 0; i < own_n && e == OK; i++)
		e = put_prefetched(tx, l, t->prefetch[i], b, w);
	for (size_t i = 0; i < n && e == OK; i++)
		if (own_n == 0 || !is_listed(t->prefetch, own_n, prefetch[i]))
			e = put_prefetched(tx, l, prefetch[i], b, w);
	buf_put_char(b, '}');
	return e;
}

static enum err
add_bytes(struct item_tx *tx, const struct worklist_lease *l,
    const struct str *tasks, size_t n, size_t *bytes, struct why *w)
{
	struct str metadata;
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++) {
		e = find_prefetched(tx, l, tasks[i], &metadata, w);
		*bytes += metadata.n;
	}
	return e;
}

enum err
worklist_lease_bytes(struct item_tx *tx, const struct worklist_lease *l,
    const struct str *prefetch, size_t prefetch_n, size_t *bytes,
    struct why *w)
{
	const struct task *t = worklist_task(tx, l->task);
	enum err e = OK;

	*bytes = l->item->data.n;
	if (t != NULL)
		e = add_bytes(tx, l, t->prefetch, t->prefetch_n, bytes, w);
	return e == OK ? add_bytes(tx, l, prefetch, prefetch_n, bytes, w) : e;
}

enum err
worklist_lease_json(struct item_tx *tx, const struct worklist_lease *l,
    const struct str *prefetch, size_t prefetch_n, struct buf *b,
    struct why *w)
{
	const struct task *t = worklist_task(tx, l->task);

	json_object(b, NULL);
	json_str(b, "lease", l->text);
	json_str(b, "task", item_store_name_text(item_tx_store(tx), l->task));
	json_str(b, "task_version", t == NULL ? STR("") : t->version);
	json_u64(b, "attempt", l->pair->attempt + 1);
	worklist_put_seed(b, l->seed);
	worklist_put_date(b, "now", item_tx_now(tx));
	worklist_put_date(b, "lease_until", l->pair->lease_until);
	if (l->has_turn)
		json_bool(b, "has_turn", true);
	json_name(b, "item");
	enum err e = item_json(tx, l->item, b, w);
	if (e == OK)
		e = put_metadata(tx, l, t, prefetch, prefetch_n, b, w);
	buf_put_char(b, '}');
	return e;
}

/* -- Results -- */

/* {"items":{"x":ITEM},"metadata":[...]}: what the run has to be computed from
 * again. */
static enum err
put_item(struct item_tx *tx, struct str id, struct buf *b, struct why *w)
{
	struct item_row *item = NULL;
	struct alias_row *a;
	enum err e = item_tx_alias(tx, id, &a, w);

	if (e == OK && a->exists)
		e = item_tx_item(tx, a->item, &item, w);
	if (e != OK)
		return e;
	json_item(b, id);
	buf_put_char(b, ':');
	if (item != NULL && item->exists)
		return item_json(tx, item, b, w);
	buf_put_text(b, "null");
	return OK;
}

static enum err
put_current_metadata(struct item_tx *tx, const struct item_conflict *c,
    struct buf *b, struct why *w)
{
	const struct task *t = task_find(item_store_config(item_tx_store(tx)),
	    c->task);
	struct alias_row *a;
	struct result_row *r = NULL;
	uint32_t id = 0;
	enum err e = item_store_name(item_tx_store(tx), ITEM_NAME_TASK,
	    c->task, false, &id, w);

	if (e == OK)
		e = item_tx_alias(tx, c->item, &a, w);
	if (e == OK && id != 0 && a->exists)
		e = item_tx_result(tx, id, a->item, &r, w);
	if (e != OK)
		return e;
	json_object(b, NULL);
	json_str(b, "id", c->item);
	json_str(b, "taskName", c->task);
	if (r != NULL && r->exists)
		json_raw(b, "metadata", r->metadata);
	else
		json_null(b, "metadata");
	json_u64(b, "rev", r != NULL && r->exists ? r->rev : 0);
	json_bool(b, "is_stale", r == NULL ||
	    !result_is_fresh(t, r, item_tx_now(tx)));
	buf_put_char(b, '}');
	return OK;
}

static enum err
put_current(struct item_tx *tx, const struct item_conflict *c, struct buf *b,
    struct why *w)
{
	enum err e = OK;

	json_object(b, "current");
	json_object(b, "items");
	if (c->task.n == 0)
		e = put_item(tx, c->item, b, w);
	buf_put_char(b, '}');
	json_array(b, "metadata");
	if (e == OK && c->task.n > 0)
		e = put_current_metadata(tx, c, b, w);
	buf_put_text(b, "]}");
	return e;
}

enum err
completion_json(struct item_tx *tx, struct str lease,
    const struct completion *c, struct buf *b, struct why *w)
{
	enum err e = OK;

	json_object(b, NULL);
	json_str(b, "lease", lease);
	json_str(b, "status", str_of(completion_status_text(c->status)));
	switch (c->status) {
	case COMPLETION_APPLIED:
		json_array(b, "effects");
		for (size_t i = 0; i < c->effects_n; i++)
			json_item(b, str_of(item_effect_text(c->effects[i])));
		buf_put_char(b, ']');
		break;
	case COMPLETION_CONFLICT:
		e = put_current(tx, &c->conflict, b, w);
		break;
	case COMPLETION_FAILED:
		json_u64(b, "op", c->failed_op);
		json_str(b, "reason", c->reason);
		break;
	case COMPLETION_LEASE_LOST:
		break;
	}
	buf_put_char(b, '}');
	return e;
}
