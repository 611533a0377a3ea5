/*
 * What people do to tasks: make results stale, set their TTL, pause, resume,
 * handle failures.
 */
#include "base/json_writer.h"
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "os/clock.h"

#define EXPIRE_STEP 1000u            /* pairs of a task in one commit */

static const struct item_actor person;

struct order {
	struct str id, task;         /* the task may be a pattern */
	bool now, paused, retry;
	int64_t ttl_us;
	struct str tag, prefix;
	struct str message, note, by;
	uint64_t failure;
	/* Of the expiry of whole tasks: */
	struct worklist_place from, at;      /* committed, and done, up to */
	bool more;
};

static struct order *
order_of(struct exchange *x)
{
	return x->in = ARENA_NEW(&x->arena, struct order);
}

static bool
is_pattern(struct str task)
{
	return str_find_char(task, '*') < task.n;
}

/* -- One pair -- */

static enum err
find_task(struct item_tx *tx, struct str name, uint32_t *task, struct why *w)
{
	enum err e = item_store_name(item_tx_store(tx), ITEM_NAME_TASK, name,
	    false, task, w);

	return e == OK && *task == 0 ? why_field(w, ERR_ABSENT, "task",
	    "there is no such task") : e;
}

static void
want_pair(struct exchange *x, struct item_tx *tx)
{
	const struct order *o = x->in;
	uint32_t task;

	if (item_store_name(item_tx_store(tx), ITEM_NAME_TASK, o->task, false,
	    &task, NULL) == OK && task != 0)
		item_tx_want_pair(tx, task, o->id);
}

static enum err
expire_pair(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct order *o = x->in;
	struct item_row *row;
	struct pair_row *pair;
	uint32_t task;

	enum err e = find_task(tx, o->task, &task, w);
	if (e == OK)
		e = item_expire(tx, &person, o->id, o->task, o->now, w);
	if (e == OK)
		e = item_tx_find(tx, o->id, &row, w);
	if (e == OK)
		e = item_tx_pair(tx, task, row->key, &pair, w);
	if (e != OK)
		return e;
	json_object(&x->out, NULL);
	json_str(&x->out, "id", row->id);
	json_str(&x->out, "task", o->task);
	if (pair->exists)
		json_str(&x->out, "state", str_of(pair_state_text(
		    pair->state)));
	else
		json_null(&x->out, "state");
	buf_put_char(&x->out, '}');
	return OK;
}

void
tasks_expire_pair(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct order *o = order_of(in.x);

	o->id = input_id(&in, 1, "id");
	o->task = input_name(&in, 3, "task");
	input_json(&in);
	o->now = input_bool(&in, "now", false);
	if (input_end(&in))
		exchange_write(in.x, want_pair, expire_pair);
}

static enum err
set_ttl(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct order *o = x->in;
	struct item_row *row;
	struct result_row *result;
	enum item_effect effect;
	uint32_t task;

	enum err e = find_task(tx, o->task, &task, w);
	if (e == OK)
		e = item_ttl_set(tx, &person, o->id, o->task, o->ttl_us,
		    &effect, w);
	if (e == OK)
		e = item_tx_find(tx, o->id, &row, w);
	if (e == OK)
		e = item_tx_result(tx, task, row->key, &result, w);
	if (e != OK)
		return e;
	if (effect == ITEM_SKIPPED)
		return why_field(w, ERR_STATE, "task",
		    "it has stored no result of this item so far");
	json_object(&x->out, NULL);
	json_str(&x->out, "id", row->id);
	json_str(&x->out, "task", o->task);
	exchange_put_time(&x->out, "expires_at", result->expires_at);
	buf_put_char(&x->out, '}');
	return OK;
}

void
tasks_set_ttl(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct order *o = order_of(in.x);

	o->id = input_id(&in, 1, "id");
	o->task = input_name(&in, 3, "task");
	input_json(&in);
	o->ttl_us = input_ttl(&in, "ttl");
	if (input_end(&in))
		exchange_write(in.x, want_pair, set_ttl);
}

/* -- Whole tasks -- */

/* Those of the list that the pattern means, in the form that was asked for. */
static void
put_matching(struct buf *out, yyjson_val *tasks, struct str pattern)
{
	yyjson_val *one;
	size_t i, max, n;

	buf_put_text(out, "{\"tasks\":[");
	yyjson_arr_foreach(tasks, i, max, one) {
		if (!task_matches(pattern, json_text(yyjson_obj_get(one,
		    "task"))))
			continue;
		char *p = yyjson_val_write(one, 0, &n);
		CHECK(p != NULL);
		json_comma(out);
		buf_put(out, p, n);
		mem_free(&p);
	}
	buf_put_text(out, "]}");
}

static enum err
look_after(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct order *o = x->in;
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_clear(&x->out);
	if (!is_pattern(o->task))
		return item_query_tasks(st, o->task, clock_wall(), &x->out, w);
	enum err e = item_query_tasks(st, STR(""), clock_wall(), &b, w);
	if (e != OK)
		return e;
	yyjson_doc *doc = yyjson_read(b.p, b.n, YYJSON_READ_BIGNUM_AS_RAW);
	put_matching(&x->out, yyjson_obj_get(yyjson_doc_get_root(doc),
	    "tasks"), o->task);
	yyjson_doc_free(doc);
	return OK;
}

/* It is done: answer with how the tasks are now. */
static void
show_after(struct exchange *x)
{
	x->then = NULL;
	exchange_read(x, look_after);
}

static enum err
pause_tasks(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct order *o = x->in;
	const struct str *names;
	size_t n;

	return worklist_pause(tx, &person, o->task, o->paused, &names, &n, w);
}

static void
set_paused(struct web_request *r, bool paused)
{
	struct input in = input_of(exchange_new(r));
	struct order *o = order_of(in.x);

	o->task = input_name(&in, 1, "task");
	input_json(&in);
	o->paused = paused;
	in.x->then = show_after;
	if (input_end(&in))
		exchange_write(in.x, NULL, pause_tasks);
}

void
tasks_pause(struct web_request *r)
{
	set_paused(r, true);
}

void
tasks_resume(struct web_request *r)
{
	set_paused(r, false);
}

/* One commit of many, so that all others get their turn. */
static enum err
expire_step(struct exchange *x, struct item_tx *tx, struct why *w)
{
	struct order *o = x->in;
	size_t n = 0;

	o->at = o->from;
	return worklist_expire(tx, &person, o->task, o->tag, o->prefix,
	    &o->at, EXPIRE_STEP, &o->more, &n, w);
}

static void
step_done(struct exchange *x)
{
	struct order *o = x->in;

	o->from = o->at;
	if (o->more && !x->door->stopping)
		exchange_write(x, NULL, expire_step);
	else
		show_after(x);
}

void
tasks_expire(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct order *o = order_of(in.x);

	o->task = input_name(&in, 1, "task");
	input_json(&in);
	o->tag = input_str(&in, "tag");
	o->prefix = input_str(&in, "prefix");
	in.x->then = step_done;
	if (input_end(&in))
		exchange_write(in.x, NULL, expire_step);
}

/* -- Failures -- */

static void
put_handled(struct buf *b, size_t handled, size_t requeued)
{
	json_object(b, NULL);
	json_u64(b, "handled", handled);
	json_u64(b, "requeued", requeued);
	buf_put_char(b, '}');
}

static enum err
handle_one(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct order *o = x->in;
	size_t handled = 0, requeued = 0;

	enum err e = worklist_handle(tx, &person, o->failure, o->by, o->note,
	    o->retry, &handled, &requeued, w);
	if (e == OK)
		put_handled(&x->out, handled, requeued);
	return e;
}

static enum err
handle_all(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct order *o = x->in;
	size_t handled = 0, requeued = 0;

	enum err e = worklist_handle_task(tx, &person, o->task, o->message,
	    o->by, o->note, o->retry, &handled, &requeued, w);
	if (e == OK)
		put_handled(&x->out, handled, requeued);
	return e;
}

static void
read_handling(struct input *in, struct order *o)
{
	const struct token_pass *pass = web_pass(in->x->request);

	input_json(in);
	o->retry = input_bool(in, "retry", true);
	o->note = input_str(in, "note");
	o->by = pass == NULL ? STR_NONE : str_of(pass->name);
}

void
tasks_handle_failure(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct order *o = order_of(in.x);

	struct str id = input_name(&in, 1, "id");
	if (!str_to_u64(id, &o->failure))
		input_fault(&in, ERR_INPUT, "id", "it is no number");
	read_handling(&in, o);
	if (input_end(&in))
		exchange_write(in.x, NULL, handle_one);
}

void
tasks_handle_failures(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct order *o = order_of(in.x);

	o->task = input_name(&in, 1, "task");
	read_handling(&in, o);
	o->message = input_str(&in, "message");
	if (input_end(&in))
		exchange_write(in.x, NULL, handle_all);
}
