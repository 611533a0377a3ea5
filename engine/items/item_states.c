#include "engine/items/item_states.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/item_store.h"

/* -- What is asked for -- */

static enum err
read_items(yyjson_val *list, struct arena *a, struct item_states *q,
    struct why *w)
{
	size_t i, n;
	yyjson_val *v;

	if (list == NULL)
		return OK;
	if (!yyjson_is_arr(list))
		return why_field(w, ERR_INPUT, "items", "it is no list");
	if (yyjson_arr_size(list) > ITEM_STATES_MAX)
		return why_field(w, ERR_INPUT, "items", "there are more than "
		    "%u", ITEM_STATES_MAX);
	struct str *ids = ARENA_ARRAY(a, struct str, yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		if (!yyjson_is_str(v))
			return why_field(w, ERR_INPUT, "items", "one is no "
			    "id");
		ids[i] = json_text(v);
	}
	q->items = ids;
	q->items_n = n;
	return OK;
}

static enum err
read_metadata(yyjson_val *list, struct arena *a, struct item_states *q,
    struct why *w)
{
	size_t i, n;
	yyjson_val *v;

	if (list == NULL)
		return OK;
	if (!yyjson_is_arr(list))
		return why_field(w, ERR_INPUT, "metadata", "it is no list");
	if (yyjson_arr_size(list) > ITEM_STATES_MAX)
		return why_field(w, ERR_INPUT, "metadata", "there are more "
		    "than %u", ITEM_STATES_MAX);
	struct item_state_pair *pairs = ARENA_ARRAY(a, struct item_state_pair,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		pairs[i].id = json_text(yyjson_obj_get(v, "id"));
		pairs[i].task = json_text(yyjson_obj_get(v, "taskName"));
		if (pairs[i].id.n == 0 || pairs[i].task.n == 0)
			return why_field(w, ERR_INPUT, "metadata", "one has "
			    "no id or no taskName");
	}
	q->metadata = pairs;
	q->metadata_n = n;
	return OK;
}

enum err
item_states_read(struct yyjson_val *object, struct arena *a,
    struct item_states *q, struct why *w)
{
	*q = (struct item_states){ .items_n = 0 };
	enum err e = read_items(yyjson_obj_get(object, "items"), a, q, w);
	return e == OK ? read_metadata(yyjson_obj_get(object, "metadata"), a,
	    q, w) : e;
}

void
item_states_want(struct item_tx *tx, const struct item_states *q)
{
	for (size_t i = 0; i < q->items_n; i++)
		item_tx_want_item(tx, q->items[i]);
	for (size_t i = 0; i < q->metadata_n; i++)
		item_tx_want_item(tx, q->metadata[i].id);
}

/* -- The answer -- */

static enum err
put_item(struct item_tx *tx, struct str id, struct buf *b, struct why *w)
{
	struct why inner = WHY_INIT;
	struct item_row *row;

	json_comma(b);
	text_json(b, id);
	buf_put_char(b, ':');
	enum err e = item_tx_find(tx, id, &row, &inner);
	if (e == OK)
		return item_json(tx, row, b, w);
	if (e != ERR_ABSENT)
		return why(w, e, "%s", inner.text);
	buf_put_text(b, "null");
	return OK;
}

/* The result of the task about the item; `*found` NULL: there is none. */
static enum err
find_result(struct item_tx *tx, const struct item_state_pair *q,
    struct result_row **found, struct why *w)
{
	struct why inner = WHY_INIT;
	struct item_row *row;
	uint32_t task;

	*found = NULL;
	enum err e = item_store_name(item_tx_store(tx), ITEM_NAME_TASK,
	    q->task, false, &task, w);
	if (e != OK || task == 0)
		return e;
	e = item_tx_find(tx, q->id, &row, &inner);
	if (e != OK)
		return e == ERR_ABSENT ? OK : why(w, e, "%s", inner.text);
	e = item_tx_result(tx, task, row->key, found, w);
	if (e == OK && !(*found)->exists)
		*found = NULL;
	return e;
}

static enum err
put_metadata(struct item_tx *tx, const struct item_state_pair *q,
    struct buf *b, struct why *w)
{
	const struct task_config *c = item_store_config(item_tx_store(tx));
	struct result_row *r;

	enum err e = find_result(tx, q, &r, w);
	if (e != OK)
		return e;
	json_object(b, NULL);
	json_str(b, "id", q->id);
	json_str(b, "taskName", q->task);
	json_raw(b, "metadata", r != NULL ? r->metadata : STR("null"));
	json_u64(b, "rev", r != NULL ? r->rev : 0);
	json_bool(b, "is_stale", r != NULL && !result_is_fresh(task_find(c,
	    q->task), r, item_tx_now(tx)));
	buf_put_char(b, '}');
	return OK;
}

enum err
item_states_put(struct item_tx *tx, const struct item_states *q, struct buf *b,
    struct why *w)
{
	enum err e = OK;

	json_object(b, "items");
	for (size_t i = 0; e == OK && i < q->items_n; i++)
		e = put_item(tx, q->items[i], b, w);
	buf_put_char(b, '}');
	json_array(b, "metadata");
	for (size_t i = 0; e == OK && i < q->metadata_n; i++)
		e = put_metadata(tx, &q->metadata[i], b, w);
	buf_put_char(b, ']');
	return e;
}
