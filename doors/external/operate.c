/*
 * Requests of operators: lists of connectors and tasks, and the verbs of a
 * task.
 *
 *     cancel         running: the connector stops, what it gave is delivered,
 *                    and 500 goes out.  With drop=1, also while it drains: the
 *                    spool goes, and nothing more is sent.
 *     redeliver      undelivered: what is left goes out again
 *     reset-cursor   closed: the next attempt reads everything
 *
 * `argiope external` does the last two by the same verbs of the store.
 */
#include "base/json_writer.h"
#include "doors/external/handlers.h"
#include "doors/external/reply.h"
#include "doors/external/request.h"
#include "doors/external/task_run.h"
#include "os/clock.h"
#include "os/log.h"

/* Tasks of a list, unless `size` asks for another number. */
#define LIST_SIZE 100u
#define CODE_CANCELLED 500u
#define CANCELLED_TEXT "Cancelled by an operator"

/* ---- Connectors --------------------------------------------------------- */

static void
put_connector(const struct held_connector *h, struct buf *b)
{
	const struct external_connector *c = h->connector;

	json_object(b, NULL);
	json_str(b, "name", h->name);
	json_str(b, "title", external_connector_title(c));
	json_str(b, "description", external_connector_description(c));
	json_str(b, "version", external_connector_version(c));
	json_str(b, "credential", str_of(external_connector_credential(c)));
	json_u64(b, "parameters", external_connector_params_n(c));
	json_bool(b, "built_in", external_connector_api(c) == NULL &&
	    !external_connector_is_module(c));
	buf_put_char(b, '}');
}

void
external_get_connectors(struct web_request *r)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_NO_CONNECTOR);

	if (x == NULL)
		return;
	const struct connectors *all = x->door->connectors;
	json_object(&b, NULL);
	json_bool(&b, "operator", x->is_operator);
	json_array(&b, "connectors");
	for (size_t i = 0; i < connectors_count(all); i++)
		put_connector(connectors_nth(all, i), &b);
	buf_put_text(&b, "]}");
	external_request_answer(x, buf_str(&b));
}

/* ---- Tasks -------------------------------------------------------------- */

/* One more than is shown says whether there are more. */
static enum err
list_tasks(struct external_request *x, struct store *st, struct why *w)
{
	return store_task_list(st, &x->filter, &x->arena, &x->tasks, &x->n,
	    w);
}

static void
answer_list(struct external_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	size_t shown = MIN(x->n, x->filter.most - 1);

	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	json_object(&b, NULL);
	json_bool(&b, "operator", x->is_operator);
	json_array(&b, "tasks");
	for (size_t i = 0; i < shown; i++) {
		json_object(&b, NULL);
		json_u64(&b, "number", x->tasks[i].id);
		external_request_put_task(x, &x->tasks[i], &b);
		buf_put_char(&b, '}');
	}
	buf_put_char(&b, ']');
	json_bool(&b, "more", x->n > shown);
	buf_put_char(&b, '}');
	external_request_answer(x, buf_str(&b));
}

/* False: refused, and freed. */
static bool
read_filter(struct external_request *x)
{
	struct store_task_filter *f = &x->filter;
	struct str text = STR_NONE;
	uint64_t size = LIST_SIZE;

	if (!external_request_take_number(&x, "before", &f->before) ||
	    !external_request_take_number(&x, "size", &size))
		return false;
	if (size == 0 || size >= STORE_TASKS_PAGE_MAX) {
		reply_fail(x->request, 400, "size: it is no whole number from "
		    "1 to %u", STORE_TASKS_PAGE_MAX - 1);
		external_request_free(&x);
		return false;
	}
	f->newest = true;
	f->most = (size_t)size + 1;
	f->backend = x->backend_name;
	f->open = web_param(x->request, "open", &text) && str_eq(text,
	    STR("1"));
	if (web_param(x->request, "connector", &text))
		f->connector = arena_copy(&x->arena, text);
	return true;
}

void
external_get_tasks(struct web_request *r)
{
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_NO_CONNECTOR);
	struct str named = STR_NONE;

	if (x == NULL)
		return;
	/* An operator who is a back end, too, sees those of all. */
	if (x->is_operator && !web_param(r, "backend", &named))
		x->backend_name = STR_NONE;
	if (read_filter(x))
		external_request_ask(x, list_tasks, answer_list);
}

/* ---- The verbs ---------------------------------------------------------- */

static void
open_verb(struct web_request *r, enum err (*work)(struct external_request *,
    struct store *, struct why *), void (*then)(struct external_request *))
{
	struct external_request *x = external_request_open(r,
	    EXTERNAL_OPERATORS, EXTERNAL_ANY_CONNECTOR);

	if (x != NULL && external_request_take_fid(&x))
		external_request_ask(x, work, then);
}

static void
answer_task(struct external_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	external_request_put_task(x, &x->row, &b);
	buf_put_char(&b, '}');
	external_request_answer(x, buf_str(&b));
}

static void
log_verb(const struct external_request *x, const char *verb)
{
	const struct token_pass *pass = web_pass(x->request);

	log_info("external.operator", "verb=%s backend=%.*s task=%.*s by=%s",
	    verb, STR_FMT(x->row.backend), STR_FMT(x->row.fid), pass == NULL ?
	    "-" : pass->name);
}

static enum err
add_line(struct external_request *x, struct store *st, const char *text,
    struct why *w)
{
	const struct store_log_line line = { .time = clock_wall(),
		.level = STR("warning"), .text = str_of(text) };

	return store_log_add(st, x->row.id, &line, 1, w);
}

/* -- Cancel -- */

static enum err
find_open(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = external_request_find(x, st, w);

	if (e == OK && store_task_is_closed(x->row.state))
		return why(w, ERR_STATE, "the task is closed: %s",
		    store_task_state_name(x->row.state));
	return e;
}

/* The cursor stands behind documents that never arrived. */
static enum err
drop_group(struct external_request *x, struct store *st, struct why *w)
{
	struct wall now = clock_wall();

	enum err e = find_open(x, st, w);
	x->end = (struct store_task_end){ .drop_spool = true, .status = {
	    .state = STORE_TASK_CANCELLED, .code = CODE_CANCELLED,
	    .message = STR(CANCELLED_TEXT) } };
	if (e == OK && x->row.spooled > 0)
		e = store_task_reset_cursor(st, x->row.id, now, w);
	if (e == OK)
		e = store_task_close(st, x->row.id, &x->end, now, &x->made,
		    w);
	if (e == OK)
		e = add_line(x, st, "an operator has cancelled the task and "
		    "dropped its spool", w);
	return e == OK ? store_task_get(st, x->row.id, &x->arena, &x->row, w)
	    : e;
}

static enum err
drop_task(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = store_begin(st, w);

	return e == OK ? store_end(st, drop_group(x, st, w), w) : e;
}

static void
dropped(struct external_request *x)
{
	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	struct task_run *t = task_run_of_id(x->door, x->row.id);
	if (t != NULL)
		task_run_leave(t);
	log_verb(x, "drop");
	answer_task(x);
}

static enum err
note_cancel(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = find_open(x, st, w);

	if (e == OK && x->row.state == STORE_TASK_DRAINING)
		return why(w, ERR_STATE, "the task is delivering its last "
		    "documents, and ends by itself; with drop=1 they are "
		    "given up");
	return e == OK ? add_line(x, st, "an operator has cancelled the task",
	    w) : e;
}

static void
cancel_noted(struct external_request *x)
{
	struct task_run *t = x->result != OK ? NULL :
	    task_run_of_id(x->door, x->row.id);

	if (x->result == OK && t == NULL) {
		reply_fail(x->request, 409, "the task does not run on this "
		    "daemon; with drop=1 it is closed wherever it is");
		external_request_free(&x);
		return;
	}
	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	log_verb(x, "cancel");
	task_run_cancel(t);
	x->row.state = STORE_TASK_DRAINING;
	answer_task(x);
}

void
external_post_cancel(struct web_request *r)
{
	struct str drop = STR_NONE;

	if (web_param(r, "drop", &drop) && str_eq(drop, STR("1")))
		open_verb(r, drop_task, dropped);
	else
		open_verb(r, note_cancel, cancel_noted);
}

/* -- Redeliver -- */

static enum err
redeliver_task(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = external_request_find(x, st, w);

	if (e == OK)
		e = store_task_redeliver(st, x->row.id, clock_wall(), w);
	return e == OK ? store_task_get(st, x->row.id, &x->arena, &x->row, w)
	    : e;
}

static void
redelivers(struct external_request *x)
{
	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	log_verb(x, "redeliver");
	/* It is taken up at the next look at open tasks, within a second. */
	x->door->looked = (struct wall){ 0 };
	answer_task(x);
}

void
external_post_redeliver(struct web_request *r)
{
	open_verb(r, redeliver_task, redelivers);
}

/* -- Reset the cursor -- */

static enum err
reset_cursor(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = external_request_find(x, st, w);

	if (e == OK && !store_task_is_closed(x->row.state))
		return why(w, ERR_STATE, "the task is open, and moves its "
		    "cursor itself; stop it first");
	return e == OK ? store_task_reset_cursor(st, x->row.id, clock_wall(),
	    w) : e;
}

static void
cursor_reset(struct external_request *x)
{
	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	log_verb(x, "reset-cursor");
	answer_task(x);
}

void
external_post_reset_cursor(struct web_request *r)
{
	open_verb(r, reset_cursor, cursor_reset);
}
