/*
 * Host calls: a message to the daemon, a promise here.
 *
 *     made ──► waiting ──► sent ──► answered
 *
 * Answers settle promises in the order in which they arrive; the daemon records
 * that order, so that a replay can repeat it.
 */
#include "base/json.h"
#include "base/text.h"
#include "script/own.h"
#include "script/value.h"

/* ---- Sending ------------------------------------------------------------ */

/* What a call that waits keeps counts as the script's memory. */
static size_t
kept_bytes(const struct call *c)
{
	return sizeof(*c) + c->json.n + c->body.n;
}

/* Another one of those that keep their order waits before it. */
static bool
is_behind(const struct run *r, const struct call *c)
{
	LIST_EACH(other, &r->waiting, struct call, node) {
		if (other == c)
			return false;
		if (other->in_order)
			return true;
	}
	return false;
}

static bool
may_send(const struct run *r, const struct call *c)
{
	if (c->in_order && is_behind(r, c))
		return false;
	if (c->is_fetch &&
	    (int64_t)r->fetches_sent >= r->limits.fetches_at_once_max)
		return false;
	if (r->calls_sent > 0 && r->bytes_sent + c->bytes >
	    (size_t)r->limits.mutation_bytes_max)
		return false;
	return r->calls_sent < CALLS_SENT_MAX;
}

static void
send_now(struct run *r, struct call *c)
{
	list_take(&c->node);
	list_put(&r->calls, &c->node);
	c->is_sent = true;
	r->calls_sent++;
	r->fetches_sent += c->is_fetch;
	r->bytes_sent += c->bytes;
	process_send(r->process, FRAME_CALL, buf_str(&c->json),
	    buf_str(&c->body));
	r->heap -= kept_bytes(c) - sizeof(*c);
	buf_free(&c->json);
	buf_free(&c->body);
}

void
call_send(struct run *r, struct call *c)
{
	if (may_send(r, c))
		send_now(r, c);
}

/* After an answer: those that waited, first come first served. */
static void
send_waiting(struct run *r)
{
	struct list *at = r->waiting.next;

	while (at != &r->waiting && r->calls_sent < CALLS_SENT_MAX) {
		struct call *c = LIST_ITEM(at, struct call, node);
		at = at->next;
		if (may_send(r, c))
			send_now(r, c);
	}
}

struct call *
call_new(struct run *r, const char *kind, struct buf *json, struct str body)
{
	size_t n = sizeof(struct call) + json->n + body.n + 64;

	if (n > (size_t)r->limits.heap_bytes_max ||
	    r->heap + n > (size_t)r->limits.heap_bytes_max) {
		run_breach(r, "limit_memory", "more than %lld bytes of memory",
		    (long long)r->limits.heap_bytes_max);
		buf_free(json);
		return NULL;
	}
	struct call *c = mem_new(sizeof(*c));
	c->id = ++r->calls_made;
	c->bytes = body.n;
	c->is_fetch = strcmp(kind, "fetch") == 0;
	c->resolve = c->reject = c->extra = JS_UNDEFINED;
	buf_printf(&c->json, "{\"call\":%u,\"kind\":\"%s\",\"args\":", c->id,
	    kind);
	buf_put_str(&c->json, buf_str(json));
	buf_put_char(&c->json, '}');
	buf_put_str(&c->body, body);
	buf_free(json);
	r->heap += kept_bytes(c);
	r->heap_peak = MAX(r->heap_peak, r->heap);
	list_put(&r->waiting, &c->node);
	return c;
}

static void
free_call(struct run *r, struct call *c)
{
	list_take(&c->node);
	r->heap -= c->is_sent ? sizeof(*c) : kept_bytes(c);
	if (c->is_sent) {
		r->calls_sent--;
		r->fetches_sent -= c->is_fetch;
		r->bytes_sent -= c->bytes;
	}
	JS_FreeValue(r->ctx, c->resolve);
	JS_FreeValue(r->ctx, c->reject);
	JS_FreeValue(r->ctx, c->extra);
	buf_free(&c->json);
	buf_free(&c->body);
	free(c);
}

JSValue
call_promise(struct run *r, struct call *c)
{
	JSValue settle[2];
	JSValue promise = JS_NewPromiseCapability(r->ctx, settle);

	if (JS_IsException(promise)) {
		free_call(r, c);
		return promise;
	}
	c->resolve = settle[0];
	c->reject = settle[1];
	call_send(r, c);
	return promise;
}

void
call_free_all(struct run *r)
{
	while (!list_empty(&r->calls))
		free_call(r, LIST_ITEM(r->calls.next, struct call, node));
	while (!list_empty(&r->waiting))
		free_call(r, LIST_ITEM(r->waiting.next, struct call, node));
}

void
call_drop_all(struct run *r)
{
	struct list kept;

	list_init(&kept);
	while (!list_empty(&r->waiting)) {
		struct call *c = LIST_POP(&r->waiting, struct call, node);
		if (JS_IsUndefined(c->resolve))
			list_put(&kept, &c->node);
		else
			free_call(r, c);
	}
	list_move_all(&r->waiting, &kept);
	LIST_EACH(c, &r->calls, struct call, node)
		c->is_dropped |= !JS_IsUndefined(c->resolve);
}

/* ---- Answers ------------------------------------------------------------ */

static void
settle_call(struct run *r, struct call *c, JSValue value, bool good)
{
	/* What finish() throws is the promise's reason. */
	if (JS_IsException(value)) {
		value = JS_GetException(r->ctx);
		good = false;
	}
	JSValueConst arguments[] = { value };
	JSValue done = JS_Call(r->ctx, good ? c->resolve : c->reject,
	    JS_UNDEFINED, 1, arguments);
	if (JS_IsException(done))
		JS_FreeValue(r->ctx, JS_GetException(r->ctx));
	JS_FreeValue(r->ctx, done);
	JS_FreeValue(r->ctx, value);
}

static JSValue
value_of(struct run *r, struct call *c, yyjson_val *v, struct str body)
{
	if (c->finish != NULL)
		return c->finish(r, c, v, body);
	return v == NULL ? JS_UNDEFINED : value_from_json(r->ctx, v, true);
}

static struct call *
find_call(struct run *r, uint64_t id)
{
	LIST_EACH(c, &r->calls, struct call, node)
		if (c->id == id)
			return c;
	return NULL;
}

void
call_answer(struct run *r, const struct message *m)
{
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *error = yyjson_obj_get(root, "error");
	struct call *c = find_call(r,
	    yyjson_get_uint(yyjson_obj_get(root, "call")));

	if (c != NULL && c->is_dropped) {
		free_call(r, c);
		send_waiting(r);
	} else if (c != NULL) {
		if (error != NULL && JS_IsUndefined(c->resolve))
			run_breach(r, "host_call", "%.*s", STR_FMT(json_text(
			    yyjson_obj_get(error, "message"))));
		JSValue v = error != NULL ? fault_from_answer(r, error,
		    m->body) :
		    value_of(r, c, yyjson_obj_get(root, "value"), m->body);
		if (!JS_IsUndefined(c->resolve))
			settle_call(r, c, v, error == NULL);
		else
			JS_FreeValue(r->ctx, v);
		free_call(r, c);
		send_waiting(r);
	}
	yyjson_doc_free(doc);
}
