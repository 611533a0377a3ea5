/*
 * /worker/fetch: a request of a remote worker, sent by the daemon, polite
 * and archived (contracts/items.md §8).  The answer is a line of JSON, then the
 * decoded body; our own response headers contain nothing that the site sent.
 *
 * With `accept` the daemon judges the answer as it does for a script's fetch():
 * the line of one that is rejected has an `error`, also where no answer came.
 *
 * With `first_turn_ms` it is the first fetch of a run, which can be put back
 * (§4, slow hosts): when the host's turn is further than that, the error is
 * "turn", the worker releases the lease, and claims pass over the pair until a
 * turn of that host.  0: it waits as long as it takes.
 */
#include "base/json_writer.h"
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "engine/items/item_states.h"
#include "script/items/far_pairs.h"
#include "script/items/lease_user.h"
#include "script/items/task_request.h"
#include "script/items/task_service.h"
#include "wire/base64.h"

#define FETCH_MS_MAX 600000          /* until the last try has begun */

struct fetching {
	struct worker_lease lease;
	struct exchange *x;
	struct task_request request;
	struct session_user *user;   /* NULL: no session is used */
	bool judged;
	struct far_pairs *far;       /* of a first fetch; or NULL */
	struct str host;             /* the same */
	struct items_write put_far;
};

/* -- The answer -- */

static void
free_fetching(struct fetching *f)
{
	struct exchange *x = f->x;

	arena_free(&f->put_far.arena);
	task_request_free(&f->request);
	if (f->user != NULL)
		lease_user_leave(task_runner_lease_users(task_service_runner(
		    x->door->service)), f->user);
	exchange_free(&x);
}

static void
put_error(const struct task_fetch *t, struct buf *b)
{
	json_object(b, "error");
	json_str(b, "code", str_of(t->code));
	json_str(b, "message", t->text);
	json_bool(b, "transient", t->transient);
	if (t->retry_after_s >= 0)
		json_u64(b, "retryAfter", (uint64_t)t->retry_after_s);
	buf_put_char(b, '}');
}

static void
answer_fetch(struct fetching *f)
{
	const struct task_fetch *t = &f->request.fetch;
	struct buf *b = &f->x->out;

	json_object(b, NULL);
	task_request_put(t, b);
	if (f->request.session != NULL)
		json_u64(b, "sessionVersion", f->request.session_rev);
	if (t->secret_found)
		json_bool(b, "secretFound", true);
	if (t->end == TASK_FETCH_FAILED)
		put_error(t, b);
	buf_put_text(b, "}\n");
	buf_put_str(b, t->content);
	web_answer(f->x->request, 200, "application/octet-stream",
	    buf_str(b));
	free_fetching(f);
}

/* With the exchange: it is freed by the refusal. */
static void
refuse_fetch(struct fetching *f, int status, const char *code, struct str text)
{
	struct exchange *x = f->x;

	web_fail(x->request, status, code, "%.*s", (int)MIN(text.n, 300),
	    text.p);
	free_fetching(f);
}

static void
answer_or_refuse(struct fetching *f)
{
	const struct task_request *q = &f->request;
	const struct task_fetch *t = &q->fetch;

	if (q->why.err != OK)
		refuse_fetch(f, q->why.err == ERR_ABSENT ? 404 :
		    q->why.err == ERR_CLOSED ? 503 : 502, "session",
		    str_of(q->why.text));
	else if (t->end == TASK_FETCH_ANSWERED || f->judged)
		answer_fetch(f);
	else
		refuse_fetch(f, strcmp(t->code, "input") == 0 ? 400 :
		    t->transient ? 502 : 403, t->code, t->text);
}

/* -- Slow hosts -- */

static enum err
put_far(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct fetching *f = CONTAINER(w, struct fetching, put_far);
	const struct task_fetch *t = &f->request.fetch;
	struct far_turn turn = { f->host, t->turn_ms, t->delay_ms };
	uint64_t random;
	uint32_t task;
	int64_t item;

	(void)tx;
	(void)why;
	if (worklist_lease_read(f->lease.text, &task, &item, &random))
		(void)far_pairs_put(f->far, task, item, &turn);
	return OK;
}

static void
far_put(struct items_write *w)
{

	answer_or_refuse(CONTAINER(w, struct fetching, put_far));
}

static void
fetched(struct task_request *q)
{
	struct fetching *f = CONTAINER(q, struct fetching, request);
	bool is_far = q->why.err == OK && q->fetch.end == TASK_FETCH_FAILED &&
	    strcmp(q->fetch.code, "turn") == 0;

	if (!is_far || f->far == NULL) {
		answer_or_refuse(f);
		return;
	}
	f->put_far.run = put_far;
	f->put_far.done = far_put;
	f->put_far.why = WHY_INIT;
	items_write(f->x->door->items, &f->put_far);
}

/* Find the item; learn which host the first fetch of its run is for. */
static enum err
find_item(struct exchange *x, struct item_tx *tx, struct why *w)
{
	struct fetching *f = x->in;
	struct item_row *row;
	uint64_t random;
	uint32_t task;
	int64_t item;

	enum err e = worker_find_item(x, tx, w);
	if (e != OK || f->host.n == 0 || !worklist_lease_read(f->lease.text,
	    &task, &item, &random))
		return e;
	e = item_tx_item(tx, item, &row, w);
	struct first_fetch first = { row->id, row->data, f->host };
	if (e == OK)
		far_pairs_learn(f->far, task, &first);
	return e;
}

/* -- The request -- */

static bool
use_session(struct fetching *f, struct why *w)
{
	struct items_door *d = f->x->door;
	struct task_runner *r = task_service_runner(d->service);

	if (f->request.name.n == 0)
		return true;
	if (r == NULL || d->stopping)
		return why(w, d->stopping ? ERR_CLOSED : ERR_INPUT, "session: "
		    "the daemon has none: its configuration is no module, or "
		    "it stops") == OK;
	f->request.sessions = task_runner_sessions(r);
	f->user = f->request.user = lease_user_enter(task_runner_lease_users(
	    r), f->lease.text, f->lease.item);
	return f->user != NULL || why(w, ERR_CLOSED, "no configuration is "
	    "loaded") == OK;
}

static void
checked(struct exchange *x)
{
	struct fetching *f = x->in;
	struct why w = WHY_INIT;

	f->request.fetcher = task_service_fetcher(x->door->service);
	if (f->request.fetcher == NULL)
		(void)!why(&w, ERR_CLOSED, "no configuration is loaded: "
		    "nothing can be fetched");
	if (w.err != OK || !use_session(f, &w)) {
		exchange_refuse(x, w.err, &w);
		return;
	}
	f->request.deadline_ms = FETCH_MS_MAX;
	f->request.done = fetched;
	task_request_start(&f->request);
}

/* Text, sent as it is, or base64; null stands for none. */
static struct str
read_body(struct input *in)
{
	yyjson_val *text = input_value(in, "body");
	yyjson_val *coded = input_value(in, "bodyBase64");
	FREED(buf_free) struct buf b = BUF_INIT;

	if (text != NULL && !yyjson_is_null(text) && !yyjson_is_str(text))
		input_fault(in, ERR_INPUT, "body", "it is no text");
	if (coded == NULL || yyjson_is_null(coded))
		return json_text(text);
	if (!yyjson_is_str(coded) || !base64_read(&b, json_text(coded)))
		input_fault(in, ERR_INPUT, "bodyBase64", "it is no base64");
	return arena_copy(&in->x->arena, buf_str(&b));
}

static void
read_options(struct input *in, struct fetching *f)
{
	static const char *const names[] = { "method", "session",
		"contentType" };
	yyjson_val *accept = input_value(in, "accept");
	struct str body = read_body(in);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		yyjson_val *v = input_value(in, names[i]);
		if (v != NULL && !yyjson_is_null(v) && !yyjson_is_str(v))
			input_fault(in, ERR_INPUT, names[i], "it is no text");
	}
	(void)input_need_str(in, "url");
	(void)input_value(in, "headers");
	(void)input_value(in, "redirect");
	(void)input_value(in, "timeout");
	(void)input_value(in, "maxAge");
	if (in->e == OK)
		in->e = task_request_read(&f->request, in->root, body,
		    &in->x->arena, &in->why);
	f->judged = accept != NULL && !yyjson_is_null(accept);
	if (!f->judged)
		f->request.fetch.any_status = true;
}

static void
read_first_turn(struct input *in, struct fetching *f)
{
	int64_t ms = input_int(in, "first_turn_ms", -1, 0, FETCH_MS_MAX);

	f->far = worker_far_pairs(in->x->door);
	if (ms < 0 || f->far == NULL)
		return;
	f->request.fetch.turn_ms_max = ms;
	f->host = far_host_of(f->request.fetch.url, &in->x->arena);
}

void
worker_fetch(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct fetching *f = in.x->in = ARENA_NEW(&in.x->arena,
	    struct fetching);

	f->x = in.x;
	input_json(&in);
	f->lease.text = input_need_str(&in, "lease");
	if (in.e == OK)
		read_options(&in, f);
	if (in.e == OK)
		read_first_turn(&in, f);
	in.x->then = checked;
	if (input_end(&in))
		exchange_write(in.x, NULL, find_item);
}
