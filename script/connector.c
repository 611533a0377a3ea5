/*
 * The context of a connector: documents, state, and what it says of itself.
 *
 * The process has a copy of the state.  The daemon gets all of it with the next
 * documents, or before the script waits, whichever comes first, and never
 * before the documents that were emitted earlier.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "script/own.h"
#include "script/value.h"

#define KEY_BYTES_MAX 256u

struct pair {
	struct buf key, json;
};

struct connector_state {
	struct pair *list;
	size_t n, cap, bytes;
	bool has_changed, has_progress;
	struct buf progress;
};

static struct connector_state *
state_of(JSContext *ctx)
{
	return run_of(ctx)->connector;
}

/* ---- State -------------------------------------------------------------- */

static struct pair *
find_pair(struct connector_state *s, struct str key)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(buf_str(&s->list[i].key), key))
			return &s->list[i];
	return NULL;
}

static struct pair *
add_pair(struct connector_state *s, struct str key)
{
	s->list = mem_room(s->list, s->n, &s->cap, 8, sizeof(*s->list));
	struct pair *p = &s->list[s->n++];
	*p = (struct pair){ .key = BUF_INIT };
	buf_put_str(&p->key, key);
	return p;
}

static void
read_state(struct run *r)
{
	struct connector_state *s = r->connector;
	yyjson_val *all = yyjson_obj_get(r->input, "state"), *key, *v;
	size_t i, n, length = 0;

	yyjson_obj_foreach(all, i, n, key, v) {
		struct pair *p = add_pair(s, json_text(key));
		char *text = yyjson_val_write(v, 0, &length);
		CHECK(text != NULL);
		buf_put(&p->json, text, length);
		free(text);
		s->bytes += p->key.n + p->json.n;
	}
}

static JSValue
get_state(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	(void)this_val;
	if (!task_take_text(ctx, "state.get", "the key", argc > 0 ? argv[0] :
	    JS_UNDEFINED, &key))
		return JS_EXCEPTION;
	struct pair *p = find_pair(state_of(ctx), buf_str(&key));
	return p == NULL ? JS_UNDEFINED : value_from_text(ctx,
	    buf_str(&p->json), false);
}

/* Replace a pair's value, if there is room for it. */
static JSValue
put_state(JSContext *ctx, struct str key, struct str json)
{
	struct connector_state *s = state_of(ctx);
	struct pair *p = find_pair(s, key);
	size_t before = p == NULL ? 0 : key.n + p->json.n;

	if (s->bytes - before + key.n + json.n > SCRIPT_STATE_BYTES_MAX)
		return JS_ThrowRangeError(ctx, "state.set: the state is longer "
		    "than %zu bytes", SCRIPT_STATE_BYTES_MAX);
	if (p == NULL)
		p = add_pair(s, key);
	buf_clear(&p->json);
	buf_put_str(&p->json, json);
	s->bytes += key.n + json.n - before;
	s->has_changed = true;
	return JS_UNDEFINED;
}

static JSValue
set_state(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	FREED(buf_free) struct buf key = BUF_INIT, json = BUF_INIT;
	struct value_writer w = { .ctx = ctx, .out = &json,
		.bytes_max = SCRIPT_STATE_BYTES_MAX };

	(void)this_val;
	if (!task_take_text(ctx, "state.set", "the key", argc > 0 ? argv[0] :
	    JS_UNDEFINED, &key))
		return JS_EXCEPTION;
	if (key.n == 0 || key.n > KEY_BYTES_MAX)
		return JS_ThrowRangeError(ctx, "state.set: the key has not 1 "
		    "to %u bytes", KEY_BYTES_MAX);
	if (!value_write(&w, argc > 1 ? argv[1] : JS_UNDEFINED))
		return w.reason[0] == '\0' ? JS_EXCEPTION : JS_ThrowTypeError(
		    ctx, "state.set: %s%s%s", w.where, w.where[0] != '\0' ?
		    ": " : "", w.reason);
	return put_state(ctx, buf_str(&key), buf_str(&json));
}

static void
put_whole_state(const struct connector_state *s, struct buf *b)
{
	json_object(b, "state");
	for (size_t i = 0; i < s->n; i++) {
		json_comma(b);
		text_json(b, buf_str(&s->list[i].key));
		buf_put_char(b, ':');
		buf_put_str(b, buf_str(&s->list[i].json));
	}
	buf_put_char(b, '}');
}

/* ---- Documents ---------------------------------------------------------- */

static JSValue
finish_nothing(struct run *r, struct call *c, yyjson_val *v, struct str body)
{
	(void)r, (void)c, (void)v, (void)body;
	return JS_UNDEFINED;
}

/* A JSON array of them.  False: an exception. */
static bool
write_documents(JSContext *ctx, JSValueConst v, struct buf *out)
{
	struct value_writer w = { .ctx = ctx, .out = out,
		.bytes_max = SCRIPT_REQUEST_BYTES_MAX };
	bool is_list = JS_IsArray(v);

	if (!is_list)
		buf_put_char(out, '[');
	if (!value_write(&w, v)) {
		if (w.reason[0] != '\0')
			JS_ThrowTypeError(ctx, "emit: %s%s%s", w.where,
			    w.where[0] != '\0' ? ": " : "", w.reason);
		return false;
	}
	if (!is_list)
		buf_put_char(out, ']');
	return true;
}

static JSValue
emit_documents(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	FREED(buf_free) struct buf label = BUF_INIT;
	struct connector_state *s = state_of(ctx);
	struct run *r = run_of(ctx);
	struct buf json = BUF_INIT;

	(void)this_val;
	if (argc > 1 && !JS_IsUndefined(argv[1]) && !task_take_text(ctx,
	    "emit", "the label", argv[1], &label))
		return JS_EXCEPTION;
	if (!write_documents(ctx, argc > 0 ? argv[0] : JS_UNDEFINED, &body))
		return JS_EXCEPTION;
	json_object(&json, NULL);
	if (s->has_changed)
		put_whole_state(s, &json);
	buf_put_char(&json, '}');
	s->has_changed = false;
	struct call *c = call_new(r, "emit", &json, buf_str(&body));
	if (c == NULL)
		return run_throw_breach(r);
	c->in_order = true;
	c->finish = finish_nothing;
	return call_promise(r, c);
}

/* ---- What it says ------------------------------------------------------- */

/* An optional text; absent: empty. */
static bool
take_optional(JSContext *ctx, const char *who, const char *what, int argc,
    JSValueConst *argv, int i, struct buf *out)
{
	return i >= argc || JS_IsUndefined(argv[i]) ||
	    task_take_text(ctx, who, what, argv[i], out);
}

static JSValue
note_text(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	static const char *const levels[] = { "info", "warning", "error" };
	FREED(buf_free) struct buf level = BUF_INIT;
	FREED(buf_free) struct buf code = BUF_INIT;
	FREED(buf_free) struct buf text = BUF_INIT;
	FREED(buf_free) struct buf seed = BUF_INIT;

	(void)this_val;
	if (!take_optional(ctx, "note", "the level", argc, argv, 0, &level) ||
	    !take_optional(ctx, "note", "the code", argc, argv, 1, &code) ||
	    !take_optional(ctx, "note", "the message", argc, argv, 2, &text) ||
	    !take_optional(ctx, "note", "the seed", argc, argv, 3, &seed))
		return JS_EXCEPTION;
	if (STR_ROW(buf_str(&level), levels) == ARRAY_LEN(levels))
		return JS_ThrowTypeError(ctx, "note: the level is none of "
		    "info, warning and error");
	run_note(run_of(ctx), "note", buf_str(&level), buf_str(&code),
	    buf_str(&text));
	return JS_UNDEFINED;
}

static JSValue
set_progress(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	struct connector_state *s = state_of(ctx);
	FREED(buf_free) struct buf text = BUF_INIT;

	(void)this_val;
	if (!task_take_text(ctx, "progress", "the message", argc > 0 ?
	    argv[0] : JS_UNDEFINED, &text))
		return JS_EXCEPTION;
	s->has_progress |= !str_eq(buf_str(&text), buf_str(&s->progress));
	buf_clear(&s->progress);
	buf_put_str(&s->progress, buf_str(&text));
	return JS_UNDEFINED;
}

/* Sums and seeds are those of harvests: nothing here asks for them. */
static JSValue
ignore_arguments(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv, int magic)
{
	static const char *const names[] = { "count", "updateSeed" };
	FREED(buf_free) struct buf text = BUF_INIT;

	(void)this_val;
	return task_take_text(ctx, names[magic], magic == 0 ? "the label" :
	    "the id", argc > 0 ? argv[0] : JS_UNDEFINED, &text) ?
	    JS_UNDEFINED : JS_EXCEPTION;
}

static JSValue
get_stopping(JSContext *ctx, JSValueConst this_val)
{
	(void)this_val;
	return JS_NewBool(ctx, run_of(ctx)->is_stopping);
}

/* ---- Its life ----------------------------------------------------------- */

static const JSCFunctionListEntry functions[] = {
	JS_CFUNC_DEF("emit", 2, emit_documents),
	JS_CFUNC_DEF("note", 4, note_text),
	JS_CFUNC_DEF("progress", 1, set_progress),
	JS_CFUNC_MAGIC_DEF("count", 2, ignore_arguments, 0),
	JS_CFUNC_MAGIC_DEF("updateSeed", 2, ignore_arguments, 1),
	JS_CGETSET_DEF("stopping", get_stopping, NULL),
};
static const JSCFunctionListEntry state_functions[] = {
	JS_CFUNC_DEF("get", 1, get_state),
	JS_CFUNC_DEF("set", 2, set_state),
};

static JSValue
make_state(JSContext *ctx)
{
	JSValue state = JS_NewObject(ctx);

	if (JS_IsException(state))
		return state;
	if (JS_SetPropertyFunctionList(ctx, state, state_functions,
	    ARRAY_LEN(state_functions)) < 0 ||
	    JS_FreezeObject(ctx, state) < 0) {
		JS_FreeValue(ctx, state);
		return JS_EXCEPTION;
	}
	return state;
}

/* Members of the input that it sees as they are. */
static bool
define_input(struct run *r, JSValueConst context)
{
	static const char *const names[] = { "door", "params", "credential",
		"seeds" };
	bool done = true;

	for (size_t i = 0; done && i < ARRAY_LEN(names); i++)
		done = value_define(r->ctx, context, names[i], value_from_json(
		    r->ctx, yyjson_obj_get(r->input, names[i]), true)) >= 0;
	return done;
}

JSValue
connector_context(struct run *r)
{
	JSContext *ctx = r->ctx;
	JSValue c = JS_NewObject(ctx);

	if (JS_IsException(c))
		return c;
	r->connector = mem_new(sizeof(*r->connector));
	read_state(r);
	bool done = JS_SetPropertyFunctionList(ctx, c, functions,
	    ARRAY_LEN(functions)) >= 0 &&
	    task_install_shared(r, c, JS_UNDEFINED) && define_input(r, c) &&
	    value_define(ctx, c, "state", make_state(ctx)) >= 0 &&
	    JS_FreezeObject(ctx, c) >= 0;
	if (!done) {
		JS_FreeValue(ctx, c);
		return JS_EXCEPTION;
	}
	return c;
}

/* Documents that wait here come before the state. */
static bool
is_emit_waiting(const struct run *r)
{
	LIST_EACH(c, &r->waiting, struct call, node)
		if (c->in_order)
			return true;
	return false;
}

void
connector_flush(struct run *r)
{
	struct connector_state *s = r->connector;
	struct buf json = BUF_INIT;

	if (s == NULL)
		return;
	if (s->has_progress)
		run_note(r, "progress", STR(""), STR(""),
		    buf_str(&s->progress));
	s->has_progress = false;
	if (!s->has_changed || is_emit_waiting(r))
		return;
	s->has_changed = false;
	json_object(&json, NULL);
	put_whole_state(s, &json);
	buf_put_char(&json, '}');
	struct call *c = call_new(r, "state", &json, STR_NONE);
	if (c == NULL)
		return;
	c->in_order = true;
	call_send(r, c);
}

void
connector_free(struct run *r)
{
	struct connector_state *s = r->connector;

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		buf_free(&s->list[i].key);
		buf_free(&s->list[i].json);
	}
	mem_free(&s->list);
	buf_free(&s->progress);
	mem_free(&r->connector);
}
