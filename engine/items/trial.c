#include "engine/items/trial.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "engine/items/item_store.h"
#include "engine/items/worklist_own.h"

struct trial {
	struct item_tx *tx;
	struct worklist_run run;
	struct run_result own;
	struct item_actor actor;
};

/* -- The pair, as if it were leased -- */

static enum err
find_task(struct trial *t, struct str name, struct why *w)
{
	struct item_store *s = item_tx_store(t->tx);

	t->run.task = task_find(item_store_config(s), name);
	if (t->run.task == NULL)
		return why_field(w, ERR_ABSENT, "task", "there is no such "
		    "task");
	t->run.task_name = t->run.task->name;
	t->run.version = t->run.task->version;
	t->run.lease_text = STR("");
	return item_store_name(s, ITEM_NAME_TASK, name, true,
	    &t->run.task_id, w);
}

static enum err
trial_begin(struct trial *t, struct item_tx *tx, struct str task,
    struct str id, struct why *w)
{
	*t = (struct trial){ .tx = tx };
	enum err e = find_task(t, task, w);
	if (e == OK)
		e = item_tx_find(tx, id, &t->run.item, w);
	if (e == OK)
		e = item_tx_pair(tx, t->run.task_id, t->run.item->key,
		    &t->run.pair, w);
	if (e == OK)
		e = item_tx_result(tx, t->run.task_id, t->run.item->key,
		    &t->run.result, w);
	if (e != OK)
		return e;
	t->actor = worklist_run_actor(&t->run);
	t->actor.own = &t->own;
	return OK;
}

enum err
trial_input(struct item_tx *tx, struct str task, struct str id, uint64_t seed,
    struct buf *b, struct why *w)
{
	struct trial t;

	enum err e = trial_begin(&t, tx, task, id, w);
	if (e != OK)
		return e;
	struct worklist_lease l = { .task = t.run.task_id,
	    .item = t.run.item, .pair = t.run.pair, .text = STR(""),
	    .seed = seed };
	return worklist_lease_json(tx, &l, t.run.task->prefetch,
	    t.run.task->prefetch_n, b, w);
}

/* -- What a mutation changes -- */

/* The state that a mutation is compared with.  out->p is NULL when nothing is
 * stored yet, or when the operation changes nothing that can be compared. */
static enum err
read_state(struct trial *t, yyjson_val *m, struct str *out, struct why *w)
{
	struct str op = json_text(yyjson_obj_get(m, "op"));
	struct str id = json_text(yyjson_obj_get(m, "id"));
	struct str task = json_text(yyjson_obj_get(m, "taskName"));
	struct why inner = WHY_INIT;
	struct item_row *item;
	struct result_row *r;
	uint32_t number;
	bool data = str_eq(op, STR("updateData")) ||
	    str_eq(op, STR("createItem"));

	*out = STR_NONE;
	if (!data && !str_eq(op, STR("updateMetadata")))
		return OK;
	enum err e = item_tx_find(t->tx, id.n == 0 ? t->run.item->id : id,
	    &item, &inner);
	if (e != OK)
		return e == ERR_ABSENT || e == ERR_INPUT ? OK :
		    why(w, e, "%s", inner.text);
	if (data) {
		*out = item->data;
		return OK;
	}
	if (item == t->run.item && (task.n == 0 ||
	    str_eq(task, t->run.task_name)) && t->own.has_metadata) {
		*out = t->own.metadata;
		return OK;
	}
	e = item_store_name(item_tx_store(t->tx), ITEM_NAME_TASK,
	    task.n == 0 ? t->run.task_name : task, false, &number, w);
	if (e != OK || number == 0)
		return e;
	e = item_tx_result(t->tx, number, item->key, &r, w);
	if (e == OK && r->exists)
		*out = r->metadata;
	return e;
}

static void
put_mutation(struct trial *t, yyjson_val *m, enum item_effect effect,
    struct str before, struct str after, struct buf *b)
{
	struct str id = json_text(yyjson_obj_get(m, "id"));

	json_object(b, NULL);
	json_str(b, "op", json_text(yyjson_obj_get(m, "op")));
	json_str(b, "id", id.n > 0 ? id : t->run.item->id);
	json_str(b, "effect", str_of(item_effect_text(effect)));
	json_name(b, "diff");
	if (after.p == NULL)
		buf_put_text(b, "[]");
	else
		item_diff(before.p == NULL ? STR("{}") : before, after, b);
	buf_put_char(b, '}');
}

static enum err
apply_one(struct trial *t, yyjson_val *m, struct buf *b, struct why *w)
{
	struct item_conflict conflict = { .any = false };
	enum item_effect effect;
	struct str before, after;

	enum err e = read_state(t, m, &before, w);
	if (e == OK)
		e = item_mutate(t->tx, &t->actor, m, &effect, &conflict, w);
	if (e == OK && conflict.any)
		e = why(w, ERR_STATE, "others have changed the item "
		    "meanwhile");
	if (e == OK)
		e = read_state(t, m, &after, w);
	if (e == OK)
		put_mutation(t, m, effect, before, after, b);
	return e;
}

enum err
trial_apply(struct item_tx *tx, struct str task, struct str id,
    struct yyjson_val *mutations, struct buf *b, size_t *fault, struct why *w)
{
	struct trial t;
	size_t i, n;
	yyjson_val *m;

	enum err e = trial_begin(&t, tx, task, id, w);
	yyjson_arr_foreach(mutations, i, n, m) {
		if (e != OK)
			break;
		*fault = i;
		e = apply_one(&t, m, b, w);
	}
	return e;
}
