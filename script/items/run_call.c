/*
 * What a run asks of the daemon.  Each call belongs to items or to the fetcher
 * while it is under way; when its run has ended meanwhile, the answer is
 * dropped.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/item_query.h"
#include "engine/items/item_states.h"
#include "os/clock.h"
#include "script/items/runner_own.h"
#include "script/items/session_call.h"
#include "script/items/simulation.h"
#include "script/items/task_request.h"
#include "wire/digest.h"

struct run_call {
	struct list node;            /* task_run.calls */
	struct task_run *t;
	struct script_call *call;    /* NULL: its run has ended */
	bool waits_far;              /* counted in the runner's waiting_n */
	struct items_write write;
	struct items_read read;
	struct task_request request;
	struct item_states states;
	struct session_call session;
	struct str body;             /* of the call; in `arena` */
	struct buf out;
	uint8_t sha256[32];          /* of a blob */
	bool has_digest;
	struct arena arena;
	yyjson_doc *args;
};

/* -- Begin and end -- */

static struct run_call *
call_new(struct task_run *t, struct script_call *call)
{
	struct run_call *c = mem_new(sizeof(*c));
	size_t n = 0;
	char *text = yyjson_val_write(script_call_args(call), 0, &n);

	c->t = t;
	c->call = call;
	c->body = arena_copy(&c->arena, script_call_body(call));
	c->args = yyjson_read(text, n, 0);
	CHECK(c->args != NULL);
	free(text);
	list_put(&t->calls, &c->node);
	script_call_set_arg(call, c);
	return c;
}

static yyjson_val *
args_of(const struct run_call *c)
{
	return yyjson_doc_get_root(c->args);
}

static void
call_free(struct run_call *c)
{
	struct task_run *t = c->t;

	list_take(&c->node);
	task_request_free(&c->request);
	buf_free(&c->session.out);
	yyjson_doc_free(c->args);
	buf_free(&c->read.out);
	buf_free(&c->out);
	arena_free(&c->read.arena);
	arena_free(&c->write.arena);
	arena_free(&c->arena);
	mem_free(&c);
	if (list_empty(&t->calls))
		task_run_calls_done(t);
}

bool
run_calls_done(const struct task_run *t)
{
	return list_empty(&t->calls);
}

static void
answer_call(struct run_call *c, struct str value, struct str body)
{
	if (c->call != NULL) {
		replay_put_value(&c->t->writer, c->call, value,
		    c->has_digest ? c->sha256 : NULL);
		script_call_answer(c->call, value, body);
	}
	call_free(c);
}

void
run_fault_put(const struct run_fault *f, struct buf *b)
{
	json_object(b, NULL);
	json_str(b, "class", str_of(f->class));
	json_str(b, "code", str_of(f->code));
	json_str(b, "message", f->message);
	if (f->status > 0)
		json_u64(b, "status", (uint64_t)f->status);
	if (f->retry_after_s >= 0)
		json_u64(b, "retryAfter", (uint64_t)f->retry_after_s);
	if (f->response.n > 0)
		json_raw(b, "response", f->response);
	buf_put_char(b, '}');
}

static void
fail_call(struct run_call *c, const struct run_fault *f)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	run_fault_put(f, &b);
	if (c->call != NULL) {
		replay_put_error(&c->t->writer, c->call, buf_str(&b));
		script_call_fail(c->call, buf_str(&b), f->body);
	}
	call_free(c);
}

/* An error of the store: what a script can mend, or the store's own. */
static void
fail_by(struct run_call *c, enum err e, const struct why *w)
{
	bool script = (e == ERR_INPUT || e == ERR_FULL) &&
	    !items_are_busy(e, w);
	struct run_fault f = { script ? "PermanentError" : "TransientError",
	    script ? "input" : "store", script ? str_of(w->text) :
	    str_of(err_text(e)), 0, -1, STR_NONE, STR_NONE };

	fail_call(c, &f);
}

/* -- Reads -- */

static void
want_states(struct items_write *w, struct item_tx *tx)
{
	item_states_want(tx, &CONTAINER(w, struct run_call, write)->states);
}

static enum err
read_states(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct run_call *c = CONTAINER(w, struct run_call, write);

	buf_clear(&c->out);
	buf_put_char(&c->out, '{');
	enum err e = item_states_put(tx, &c->states, &c->out, why);
	buf_put_char(&c->out, '}');
	return e;
}

static void
states_read(struct items_write *w)
{
	struct run_call *c = CONTAINER(w, struct run_call, write);

	if (w->result == OK)
		answer_call(c, buf_str(&c->out), STR_NONE);
	else
		fail_by(c, w->result, &w->why);
}

static void
begin_read(struct run_call *c)
{
	struct why w = WHY_INIT;

	if (item_states_read(args_of(c), &c->arena, &c->states, &w) != OK) {
		fail_by(c, w.err, &w);
		return;
	}
	c->write.want = want_states;
	c->write.run = read_states;
	c->write.done = states_read;
	items_write(c->t->runner->o.items, &c->write);
}

/* -- Blobs -- */

static struct str
text_arg(const struct run_call *c, const char *name)
{
	struct str s = json_text(yyjson_obj_get(args_of(c), name));

	return s.p == NULL ? STR("") : s;
}

static void
note_digest(struct run_call *c, struct str bytes)
{
	struct digest d;

	digest_of(DIGEST_SHA256, bytes, &d);
	memcpy(c->sha256, d.bytes, sizeof(c->sha256));
	c->has_digest = true;
}

static enum err
read_blob(struct items_read *r, struct item_store *st, struct why *w)
{
	struct run_call *c = CONTAINER(r, struct run_call, read);
	struct why inner = WHY_INIT;

	buf_clear(&r->out);
	buf_clear(&c->out);
	enum err e = item_query_blob(st, text_arg(c, "id"),
	    text_arg(c, "name"), &r->out, &c->out, &inner);
	return e == OK || e == ERR_ABSENT ? e : why(w, e, "%s", inner.text);
}

static void
blob_read(struct items_read *r)
{
	struct run_call *c = CONTAINER(r, struct run_call, read);
	FREED(buf_free) struct buf b = BUF_INIT;

	if (r->result != OK && r->result != ERR_ABSENT) {
		fail_by(c, r->result, &r->why);
		return;
	}
	if (r->result == OK) {
		note_digest(c, buf_str(&r->out));
		json_object(&b, NULL);
		json_str(&b, "type", buf_str(&c->out));
		buf_put_char(&b, '}');
	} else {
		buf_put_text(&b, "null");
	}
	answer_call(c, buf_str(&b), buf_str(&r->out));
}

static void
begin_blob(struct run_call *c)
{
	c->read.run = read_blob;
	c->read.done = blob_read;
	c->read.why = WHY_INIT;
	items_read(c->t->runner->o.items, &c->read);
}

static enum err
store_blob(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct run_call *c = CONTAINER(w, struct run_call, write);

	return item_blob_store(tx, c->body, c->sha256, why);
}

static void
put_digest(struct run_call *c)
{
	buf_put_text(&c->out, "{\"sha256\":\"");
	digest_put_hex(&c->out, c->sha256, sizeof(c->sha256));
	buf_put_text(&c->out, "\"}");
}

static void
blob_stored(struct items_write *w)
{
	struct run_call *c = CONTAINER(w, struct run_call, write);

	if (w->result != OK) {
		fail_by(c, w->result, &w->why);
		return;
	}
	c->has_digest = true;
	put_digest(c);
	answer_call(c, buf_str(&c->out), STR_NONE);
}

/* A simulation stores none. */
static void
answer_digest(struct run_call *c)
{
	note_digest(c, c->body);
	put_digest(c);
	answer_call(c, buf_str(&c->out), STR_NONE);
}

static void
begin_put_blob(struct run_call *c)
{
	if (c->t->simulation != NULL) {
		answer_digest(c);
		return;
	}
	c->write.run = store_blob;
	c->write.done = blob_stored;
	items_write(c->t->runner->o.items, &c->write);
}

/* -- Fetches -- */

void
run_note_fetch(struct task_run *t, struct str url, int status, struct str code,
    uint32_t crawl, uint64_t number)
{
	struct buf *b = &t->fetches;

	json_comma(b);
	json_object(b, NULL);
	json_str(b, "url", url);
	if (status > 0)
		json_u64(b, "status", (uint64_t)status);
	if (code.n > 0)
		json_str(b, "error", code);
	if (number > 0) {
		json_u64(b, "crawl", crawl);
		json_u64(b, "seq", number);
	}
	buf_put_char(b, '}');
}

void
run_note_secret(struct task_run *t)
{
	task_run_event(t, "log", STR("\"category\":\"warn\",\"message\":"
	    "\"secret_in_response\""));
}

/* Of a failed fetch what came of an answer is given, too. */
static void
fail_fetch(struct run_call *c)
{
	const struct task_fetch *f = &c->request.fetch;
	struct run_fault fault = { task_request_class(f->code), f->code,
	    f->text, f->status, f->retry_after_s, STR_NONE, STR_NONE };

	if (f->status > 0) {
		buf_put_char(&c->out, '{');
		task_request_put(f, &c->out);
		buf_put_char(&c->out, '}');
		fault.response = buf_str(&c->out);
		fault.body = f->content;
	}
	fail_call(c, &fault);
}

void
run_note_session(struct task_run *t, struct str name, uint64_t rev)
{
	if (!str_eq(t->session, name))
		t->session = arena_copy(&t->arena, name);
	t->session_rev = rev;
}

static void
fail_session(struct run_call *c, const struct why *w)
{
	struct run_fault f = { w->err == ERR_ABSENT ? "PermanentError" :
	    "TransientError", w->err == ERR_ABSENT ? "absent" : "login",
	    arena_copy(&c->arena, str_of(w->text)), 0, -1, STR_NONE,
	    STR_NONE };

	fail_call(c, &f);
}

/* The script hears of it, too, and has ended before it could do anything. */
static void
put_back(struct run_call *c)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct task_fetch *f = &c->request.fetch;
	struct far_turn far = { .turn_ms = f->turn_ms,
	    .delay_ms = f->delay_ms };
	struct task_run *t = c->t;
	bool goes_on = !t->ended;

	far.host = far_host_of(f->url, &a);
	fail_fetch(c);               /* frees a run that has ended */
	if (goes_on)
		task_run_put_back(t, &far);
}

static void
tell_turn(struct task_fetch *f, bool waits)
{
	struct run_call *c = CONTAINER(f, struct run_call, request.fetch);

	if (c->call != NULL)
		script_call_wait_turn(c->call, waits);
}

static void
fetched(struct task_request *q)
{
	struct run_call *c = CONTAINER(q, struct run_call, request);
	const struct task_fetch *f = &q->fetch;

	c->t->runner->waiting_n -= c->waits_far;
	if (q->why.err != OK) {
		fail_session(c, &q->why);
		return;
	}
	run_note_fetch(c->t, f->url, f->status, f->end == TASK_FETCH_FAILED ?
	    str_of(f->code) : STR_NONE, f->crawl, f->number);
	if (q->session != NULL)
		run_note_session(c->t, q->session->name, q->session_rev);
	if (f->secret_found && c->call != NULL)
		run_note_secret(c->t);
	if (f->end == TASK_FETCH_FAILED && strcmp(f->code, "turn") == 0) {
		put_back(c);
		return;
	}
	if (f->end == TASK_FETCH_FAILED) {
		fail_fetch(c);
		return;
	}
	buf_put_char(&c->out, '{');
	task_request_put(f, &c->out);
	buf_put_char(&c->out, '}');
	answer_call(c, buf_str(&c->out), f->content);
}

/* For claims, which pass over pairs of slow hosts. */
static void
note_first(struct task_run *t, struct str url)
{
	struct arena *a = &t->arena;
	struct str host = far_host_of(url, a);
	size_t n = 0;

	if (t->runner->far == NULL || host.n == 0)
		return;
	yyjson_doc *doc = yyjson_read(t->input.p, t->input.n, 0);
	yyjson_val *item = yyjson_obj_get(yyjson_doc_get_root(doc), "item");
	char *data = yyjson_val_write(yyjson_obj_get(item, "data"), 0, &n);
	t->completion.first = (struct first_fetch){ t->item,
	    arena_copy(a, (struct str){ data, n }), host };
	free(data);
	yyjson_doc_free(doc);
}

static void
begin_fetch(struct run_call *c)
{
	struct task_run *t = c->t;
	struct task_runner *r = t->runner;
	struct task_request *q = &c->request;
	struct why w = WHY_INIT;

	if (task_request_read(q, args_of(c), c->body, &c->arena, &w) != OK) {
		fail_by(c, w.err, &w);
		return;
	}
	/* For its host's turn, or for the login of another. */
	script_call_wait_turn(c->call, true);
	q->fetcher = r->o.fetcher;
	q->sessions = r->sessions;
	q->user = &t->user;
	q->deadline_ms = r->limits.turn_ms_max;
	q->fetch.turned = tell_turn;
	if (t->simulation == NULL && t->fetches_n++ == 0) {
		note_first(t, q->fetch.url);
		q->fetch.turn_ms_max = task_run_first_turn_ms(t,
		    &c->waits_far);
	}
	q->fetch.live = t->simulation != NULL;
	q->fetch.archived = q->fetch.live && t->simulation->archived;
	q->done = fetched;
	task_request_start(q);
}

/* -- Sessions -- */

static void
session_answered(struct session_call *one)
{
	struct run_call *c = CONTAINER(one, struct run_call, session);

	if (one->why.err != OK) {
		fail_session(c, &one->why);
		return;
	}
	if (c->call != NULL)
		script_call_wait_turn(c->call, false);
	if (one->session != NULL && !one->login)
		run_note_session(c->t, one->session->name, one->session->rev);
	answer_call(c, buf_str(&one->out), STR_NONE);
}

static void
begin_session(struct run_call *c)
{
	struct task_run *t = c->t;

	/* Somebody may have to log in first. */
	script_call_wait_turn(c->call, true);
	c->session.sessions = t->runner->sessions;
	c->session.user = &t->user;
	c->session.kind = script_call_kind(c->call);
	c->session.args = args_of(c);
	c->session.version = str_eq(text_arg(c, "name"), t->session) ?
	    t->session_rev : 0;
	c->session.done = session_answered;
	session_call_start(&c->session);
}

/* -- The calls of a run -- */

void
run_call_begin(struct task_run *t, struct script_call *call)
{
	static void (*const begin[SCRIPT_CALL_KIND_COUNT])(struct run_call *) =
	{
		[SCRIPT_CALL_READ] = begin_read,
		[SCRIPT_CALL_BLOB] = begin_blob,
		[SCRIPT_CALL_PUT_BLOB] = begin_put_blob,
		[SCRIPT_CALL_FETCH] = begin_fetch,
		[SCRIPT_CALL_SESSION] = begin_session,
		[SCRIPT_CALL_SESSION_EXPIRED] = begin_session,
		[SCRIPT_CALL_SESSION_STORE] = begin_session,
		[SCRIPT_CALL_SESSION_FAIL] = begin_session,
		[SCRIPT_CALL_SESSION_INVALIDATE] = begin_session,
	};
	enum script_call_kind kind = script_call_kind(call);

	/* The host sleeps by itself. */
	CHECK(begin[kind] != NULL);
	begin[kind](call_new(t, call));
}

void
run_call_cancel(struct task_run *t, struct script_call *call)
{
	struct run_call *c = script_call_arg(call);

	(void)t;
	if (c == NULL)
		return;
	c->call = NULL;
	if (session_call_cancel(&c->session) ||
	    task_request_cancel(&c->request))
		call_free(c);
}
