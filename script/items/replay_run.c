#include "script/items/replay_run.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/items/worklist.h"
#include "wire/digest.h"

/* A call that may still come is waited for so long after the last one. */
#define IDLE_MS 20
/* The recorded code makes every call again, however busy the machine is. */
#define IDLE_STRICT_MS 2000

enum { CALL_UNSEEN, CALL_PENDING, CALL_ANSWERED };

/* -- What the record knows -- */

static size_t
place_of(const struct replay_run *r, const struct replay_call *c)
{
	return (size_t)(c - r->record->calls);
}

/* The recorded call with this key that was not made again so far. */
static const struct replay_call *
find_recorded(const struct replay_run *r, struct script_call *call)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	replay_key(script_call_kind(call), script_call_args(call),
	    script_call_body(call), &key);
	const struct replay_call *c = map_get(&r->record->by_key,
	    buf_str(&key));
	while (c != NULL && r->taken[place_of(r, c)] != CALL_UNSEEN)
		c = c->next;
	return c;
}

/* The state of an item in any read of the run, or as it was claimed. */
static yyjson_val *
known_item(const struct replay_run *r, yyjson_val *input, struct str id)
{
	yyjson_val *found = NULL, *own = yyjson_obj_get(input, "item");

	for (size_t i = 0; i < r->record->calls_n && found == NULL; i++)
		if (r->record->calls[i].kind == SCRIPT_CALL_READ)
			found = yyjson_obj_getn(yyjson_obj_get(
			    r->record->calls[i].value, "items"), id.p, id.n);
	return found == NULL && str_eq(json_text(yyjson_obj_get(own, "id")),
	    id) ? own : found;
}

static yyjson_val *
known_metadata(const struct replay_run *r, struct str id, struct str task)
{
	size_t k, n;
	yyjson_val *m;

	for (size_t i = 0; i < r->record->calls_n; i++) {
		const struct replay_call *c = &r->record->calls[i];
		yyjson_val *list = c->kind != SCRIPT_CALL_READ ? NULL :
		    yyjson_obj_get(c->value, "metadata");
		yyjson_arr_foreach(list, k, n, m)
			if (str_eq(json_text(yyjson_obj_get(m, "id")), id) &&
			    str_eq(json_text(yyjson_obj_get(m, "taskName")),
			    task))
				return m;
	}
	return NULL;
}

static void
put_json(struct buf *b, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);

	buf_put_str(b, text == NULL ? STR("null") : (struct str){ text, n });
	free(text);
}

/* Other code may read together what the run has read in parts. */
static bool
put_known_states(const struct replay_run *r, yyjson_val *args, struct buf *b)
{
	yyjson_doc *doc = yyjson_read(r->record->input.p, r->record->input.n,
	    0);
	size_t i, n;
	yyjson_val *v, *found;
	bool all = true;

	json_object(b, NULL);
	json_object(b, "items");
	yyjson_arr_foreach(yyjson_obj_get(args, "items"), i, n, v) {
		found = known_item(r, yyjson_doc_get_root(doc), json_text(v));
		all = all && found != NULL;
		json_comma(b);
		text_json(b, json_text(v));
		buf_put_char(b, ':');
		put_json(b, found);
	}
	buf_put_char(b, '}');
	json_array(b, "metadata");
	yyjson_arr_foreach(yyjson_obj_get(args, "metadata"), i, n, v) {
		found = known_metadata(r, json_text(yyjson_obj_get(v, "id")),
		    json_text(yyjson_obj_get(v, "taskName")));
		all = all && found != NULL;
		json_comma(b);
		put_json(b, found);
	}
	buf_put_text(b, "]}");
	yyjson_doc_free(doc);
	return all;
}

/* -- Answers -- */

static void
put_headers(const struct replay_need *n, struct buf *b)
{
	json_array(b, "headers");
	for (size_t i = 0; i < n->fields_n; i++) {
		json_array(b, NULL);
		json_item(b, n->fields[i].name);
		json_item(b, n->fields[i].value);
		buf_put_char(b, ']');
	}
	buf_put_char(b, ']');
}

/* The members of an object; those of an archived answer get its head. */
static void
put_recorded(const struct replay_need *n, yyjson_val *v, struct buf *b)
{
	yyjson_obj_iter walk = yyjson_obj_iter_with(v);

	json_object(b, NULL);
	for (yyjson_val *k; (k = yyjson_obj_iter_next(&walk)) != NULL;) {
		yyjson_val *member = yyjson_obj_iter_get_val(k);
		json_comma(b);
		put_json(b, k);
		buf_put_char(b, ':');
		if (yyjson_equals_str(k, "response"))
			put_recorded(n, member, b);
		else
			put_json(b, member);
	}
	if (yyjson_is_obj(yyjson_obj_get(v, "capture")))
		put_headers(n, b);
	buf_put_char(b, '}');
}

static void
put_newest(const struct replay_need *n, struct buf *b)
{
	json_object(b, NULL);
	json_u64(b, "status", (uint64_t)n->status);
	json_str(b, "url", n->final_url);
	json_bool(b, "redirected", false);
	json_bool(b, "fromArchive", true);
	if (n->number == 0) {
		json_null(b, "capture");
	} else {
		json_object(b, "capture");
		json_u64(b, "crawl", n->crawl);
		json_u64(b, "seq", n->number);
		buf_put_char(b, '}');
	}
	put_headers(n, b);
	buf_put_char(b, '}');
}

static void
note_fetch(struct replay_run *r, const struct replay_need *n)
{
	struct buf *b = &r->fetches;

	if (script_call_kind(n->call) != SCRIPT_CALL_FETCH)
		return;
	if (b->n > 0)
		buf_put_char(b, ',');
	json_object(b, NULL);
	json_str(b, "url", json_text(yyjson_obj_get(script_call_args(n->call),
	    "url")));
	if (n->missed)
		json_str(b, "error", STR("replay_miss"));
	else if (n->status > 0)
		json_u64(b, "status", (uint64_t)n->status);
	if (n->number > 0) {
		json_u64(b, "crawl", n->crawl);
		json_u64(b, "seq", n->number);
	}
	buf_put_char(b, '}');
}

static void
fail_missed(struct replay_run *r, struct replay_need *n)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str url = json_text(yyjson_obj_get(script_call_args(n->call),
	    "url"));

	r->missed = true;
	json_object(&b, NULL);
	json_str(&b, "class", STR("ReplayMiss"));
	json_str(&b, "code", n->from != NULL ? STR("not_archived") :
	    STR("not_recorded"));
	json_str(&b, "message", arena_printf(&n->arena, n->from != NULL ?
	    "it is not in the archive any more: %.*s" :
	    "the run has not asked for it: %.*s",
	    STR_FMT(url.p != NULL ? url : STR("a read"))));
	buf_put_char(&b, '}');
	replay_put_error(&r->writer, n->call, buf_str(&b));
	script_call_fail(n->call, buf_str(&b), STR_NONE);
}

static void
answer_value(struct replay_run *r, struct replay_need *n, struct str value,
    struct str sha256_hex)
{
	FREED(buf_free) struct buf label = BUF_INIT;
	struct digest d = { .kind = DIGEST_NONE };

	if (sha256_hex.n > 0) {
		buf_printf(&label, "sha256:%.*s", STR_FMT(sha256_hex));
		(void)digest_from_text(buf_str(&label), &d);
	}
	replay_put_value(&r->writer, n->call, value,
	    d.kind == DIGEST_SHA256 ? d.bytes : NULL);
	script_call_answer(n->call, value, n->body);
}

static void
answer_recorded(struct replay_run *r, struct replay_need *n)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct replay_call *c = n->from;

	if (c->value == NULL) {
		put_recorded(n, c->error, &b);
		replay_put_error(&r->writer, n->call, buf_str(&b));
		script_call_fail(n->call, buf_str(&b), n->body);
		return;
	}
	if (c->capture != NULL)
		put_recorded(n, c->value, &b);
	else
		put_json(&b, c->value);
	answer_value(r, n, buf_str(&b), c->sha256);
}

static void
answer_other(struct replay_run *r, struct replay_need *n)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (n->kind == REPLAY_NEWEST)
		put_newest(n, &b);
	else
		buf_put_str(&b, n->kind == REPLAY_STATES ? n->states :
		    buf_str(&n->value));
	answer_value(r, n, buf_str(&b), n->sha256);
}

/* -- Needs -- */

static void
need_free(struct replay_need *n)
{
	list_take(&n->node);
	if (n->release != NULL)
		n->release(n);
	buf_free(&n->value);
	arena_free(&n->arena);
	mem_free(&n);
}

/* The source has all back, and nobody is in the middle of the list. */
static void
free_when_done(struct replay_run *r)
{
	if (r->freed == NULL || r->delivering || !list_empty(&r->needs))
		return;
	void (*freed)(struct replay_run *) = r->freed;

	r->freed = NULL;
	buf_free(&r->log);
	buf_free(&r->fetches);
	buf_free(&r->last_read);
	replay_writer_free(&r->writer);
	arena_free(&r->arena);
	freed(r);
}

static void
deliver(struct replay_run *r, struct replay_need *n)
{
	note_fetch(r, n);
	script_call_set_arg(n->call, NULL);
	if (n->from != NULL)
		r->taken[place_of(r, n->from)] = CALL_ANSWERED;
	if (n->missed)
		fail_missed(r, n);
	else if (n->from != NULL)
		answer_recorded(r, n);
	else
		answer_other(r, n);
	n->call = NULL;
	need_free(n);
}

/* -- Their order -- */

/* A recorded call before this one may still be answered before it. */
static bool
waits_for_earlier(const struct replay_run *r, const struct replay_need *n)
{
	const struct replay_call *calls = r->record->calls;
	size_t place = place_of(r, n->from);

	for (size_t i = 0; i < place; i++) {
		if (r->taken[i] == CALL_PENDING)
			return true;
		/* One that was made before this: other code leaves it out. */
		if (r->taken[i] == CALL_UNSEEN &&
		    calls[i].kind != REPLAY_RECOMPUTE &&
		    (r->strict || calls[i].number > n->from->number))
			return true;
	}
	return false;
}

static bool
has_recorded(const struct replay_run *r)
{
	LIST_EACH(n, &r->needs, const struct replay_need, node)
		if (n->from != NULL)
			return true;
	return false;
}

static struct replay_need *
next_due(struct replay_run *r)
{
	LIST_EACH(n, &r->needs, struct replay_need, node) {
		if (n->loading || n->call == NULL)
			continue;
		if (n->from != NULL ? !waits_for_earlier(r, n) :
		    !n->is_sleep && !n->missed && !has_recorded(r))
			return n;
	}
	return NULL;
}

/* Nothing comes any more that would be answered before: the first recorded. */
static struct replay_need *
next_waiting(struct replay_run *r)
{
	struct replay_need *first = NULL;

	LIST_EACH(n, &r->needs, struct replay_need, node) {
		if (n->loading)
			return NULL;
		if (first == NULL || (n->from != NULL && (first->from == NULL ||
		    n->from < first->from)))
			first = n;
	}
	return first;
}

static void
watch_idle(struct replay_run *r)
{
	if (r->ended || list_empty(&r->needs))
		loop_timer_stop(r->loop, &r->idle);
	else
		loop_timer_set(r->loop, &r->idle, mono_add_ms(
		    loop_now(r->loop), r->strict ? IDLE_STRICT_MS : IDLE_MS));
}

static void
deliver_due(struct replay_run *r)
{
	struct replay_need *n;

	if (r->delivering)
		return;
	r->delivering = true;
	while (!r->ended && (n = next_due(r)) != NULL)
		deliver(r, n);
	r->delivering = false;
	watch_idle(r);
	free_when_done(r);
}

static void
idle_over(struct timer *t)
{
	struct replay_run *r = CONTAINER(t, struct replay_run, idle);
	struct replay_need *n = next_waiting(r);

	/* What comes now is in no recorded order. */
	r->strict = false;
	if (n != NULL) {
		r->delivering = true;
		deliver(r, n);
		r->delivering = false;
	}
	deliver_due(r);
}

/* -- Calls -- */

void
replay_need_done(struct replay_need *n)
{
	struct replay_run *r = n->run;

	n->loading = false;
	n->missed = !n->found;
	if (n->call == NULL) {
		need_free(n);
		free_when_done(r);
		return;
	}
	deliver_due(r);
}

static void
ask_source(struct replay_run *r, struct replay_need *n,
    enum replay_need_kind kind)
{
	n->kind = kind;
	n->loading = true;
	r->source->find(r->source->arg, n);
}

static void
begin_recorded(struct replay_run *r, struct replay_need *n)
{
	const struct replay_call *c = n->from;

	r->taken[place_of(r, c)] = CALL_PENDING;
	n->status = (int)yyjson_get_int(yyjson_obj_get(c->value != NULL ?
	    c->value : c->error, "status"));
	if (c->capture != NULL && replay_record_capture(c->capture, &n->crawl,
	    &n->number)) {
		ask_source(r, n, REPLAY_CAPTURE);
	} else if (c->kind == SCRIPT_CALL_FETCH && c->value != NULL) {
		n->missed = true;        /* it was never archived */
		deliver_due(r);
	} else if (c->kind == SCRIPT_CALL_BLOB && c->sha256.p != NULL) {
		n->sha256 = c->sha256;
		ask_source(r, n, REPLAY_BLOB);
	} else {
		deliver_due(r);
	}
}

static void
begin_put_blob(struct replay_run *r, struct replay_need *n)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct str body = script_call_body(n->call);
	struct digest d;

	digest_of(DIGEST_SHA256, body, &d);
	digest_put_hex(&hex, d.bytes, digest_size(DIGEST_SHA256));
	n->sha256 = arena_copy(&n->arena, buf_str(&hex));
	buf_printf(&n->value, "{\"sha256\":\"%.*s\"}", STR_FMT(n->sha256));
	(void)r;
}

static bool
is_plain_get(const struct script_call *c)
{
	yyjson_val *args = script_call_args(c);
	struct str method = json_text(yyjson_obj_get(args, "method"));

	return (method.n == 0 || str_eq(method, STR("GET"))) &&
	    script_call_body(c).n == 0 &&
	    json_text(yyjson_obj_get(args, "session")).n == 0;
}

static void
begin_unrecorded(struct replay_run *r, struct replay_need *n)
{
	yyjson_val *args = script_call_args(n->call);
	enum script_call_kind kind = script_call_kind(n->call);

	n->is_sleep = kind == SCRIPT_CALL_SLEEP;
	if (kind == SCRIPT_CALL_PUT_BLOB) {
		begin_put_blob(r, n);
	} else if (kind == SCRIPT_CALL_READ &&
	    !put_known_states(r, args, &n->value)) {
		n->args = args;
	} else if (kind == SCRIPT_CALL_FETCH) {
		n->url = json_text(yyjson_obj_get(args, "url"));
		n->missed = !r->loose || !is_plain_get(n->call);
	} else if (kind == SCRIPT_CALL_BLOB || kind == SCRIPT_CALL_SESSION ||
	    kind == SCRIPT_CALL_SESSION_EXPIRED ||
	    kind == SCRIPT_CALL_SESSION_STORE) {
		n->missed = true;
	} else if (kind != SCRIPT_CALL_READ) {
		buf_put_text(&n->value, "null");
	}
	if (n->missed || (n->args == NULL && n->url.p == NULL))
		deliver_due(r);
	else
		ask_source(r, n, n->args != NULL ? REPLAY_STATES :
		    REPLAY_NEWEST);
}

static void
keep_blob(struct replay_run *r, struct script_call *call)
{
	struct replay_blob *b = ARENA_NEW(&r->arena, struct replay_blob);

	b->bytes = arena_copy(&r->arena, script_call_body(call));
	list_put(&r->blobs, &b->node);
}

static void
on_call(struct script_run *run, struct script_call *call)
{
	struct replay_run *r = CONTAINER(run, struct replay_run, run);
	struct replay_need *n = mem_new(sizeof(*n));

	n->run = r;
	n->call = call;
	n->from = find_recorded(r, call);
	script_call_set_arg(call, n);
	list_put(&r->needs, &n->node);
	if (r->keep_blobs && script_call_kind(call) == SCRIPT_CALL_PUT_BLOB)
		keep_blob(r, call);
	if (script_call_kind(call) == SCRIPT_CALL_READ) {
		buf_clear(&r->last_read);
		put_json(&r->last_read, script_call_args(call));
	}
	if (n->from != NULL)
		begin_recorded(r, n);
	else
		begin_unrecorded(r, n);
}

static void
on_cancel(struct script_run *run, struct script_call *call)
{
	struct replay_need *n = script_call_arg(call);

	(void)run;
	if (n == NULL)
		return;          /* it is being answered */
	n->call = NULL;
	if (!n->loading)
		need_free(n);
}

/* -- The end -- */

static void
on_log(struct script_run *run, struct str category, struct str message)
{
	struct buf *b = &CONTAINER(run, struct replay_run, run)->log;

	if (b->n > 0)
		buf_put_char(b, ',');
	json_object(b, NULL);
	json_str(b, "category", category);
	json_str(b, "message", message);
	buf_put_char(b, '}');
}

static bool
is_same_outcome(const struct replay_record *r,
    const struct script_outcome *o)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	digest_of(DIGEST_SHA256, o->mutations, &d);
	digest_put_hex(&hex, d.bytes, digest_size(DIGEST_SHA256));
	return str_eq(buf_str(&hex), r->mutations_digest) &&
	    o->is_success == r->success && (o->is_success ||
	    (str_eq(o->class, r->class) && str_eq(o->code, r->code) &&
	    str_eq(o->message, r->message)));
}

/* A conflict of the recorded run: its callbacks had other states then. */
static bool
repeat_conflict(struct replay_run *r, const struct script_outcome *o)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct replay_record *record = r->record;

	if (!o->has_callbacks)
		return false;
	for (size_t i = 0; i < record->calls_n; i++) {
		if (record->calls[i].kind != REPLAY_RECOMPUTE ||
		    r->taken[i] != CALL_UNSEEN)
			continue;
		r->taken[i] = CALL_ANSWERED;
		put_json(&b, record->calls[i].value);
		return replay_run_recompute(r, buf_str(&b), NULL) == OK;
	}
	return false;
}

static void
on_done(struct script_run *run, const struct script_outcome *o)
{
	struct replay_run *r = CONTAINER(run, struct replay_run, run);

	if (repeat_conflict(r, o))
		return;
	r->ended = true;
	loop_timer_stop(r->loop, &r->idle);
	r->is_same = is_same_outcome(r->record, o);
	r->done(r, o);
}

enum err
replay_run_recompute(struct replay_run *r, struct str current, struct why *w)
{
	enum err e = script_run_recompute(&r->run, current, w);

	if (e != OK)
		return e;
	r->ended = false;
	replay_put_recompute(&r->writer, current);
	return OK;
}

void
replay_run_finish(struct replay_run *r, void (*freed)(struct replay_run *))
{
	CHECK(r->ended);
	r->freed = freed;
	script_run_finish(&r->run);
	free_when_done(r);
}

void
replay_run_cancel(struct replay_run *r, void (*freed)(struct replay_run *))
{
	r->ended = true;
	r->freed = freed;
	loop_timer_stop(r->loop, &r->idle);
	script_run_cancel(&r->run);
	free_when_done(r);
}

void
replay_run_start(struct script_host *host, struct replay_run *r)
{
	static const struct script_run_events events = {
		.on_call = on_call, .on_cancel = on_cancel, .on_log = on_log,
		.on_done = on_done,
	};
	const struct replay_record *record = r->record;

	list_init(&r->needs);
	list_init(&r->blobs);
	r->taken = ARENA_ARRAY(&r->arena, uint8_t, record->calls_n + 1);
	r->idle.fire = idle_over;
	r->strict = str_eq(record->bundle, str_of(bundle_hash(r->bundle)));
	r->run = (struct script_run){ .bundle = r->bundle,
	    .keep_on_failure = record->keep_on_failure, .owns_sleep = true,
	    .task = record->task, .input = record->input,
	    .secrets = record->secrets, .limits = r->limits,
	    .events = &events };
	script_run_start(host, &r->run);
}

/* -- Differences -- */

void
replay_put_mutations(const struct replay_record *r, struct buf *b)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *list = yyjson_val_mut_copy(doc, r->mutations), *m;
	size_t i, max, n = 0;

	yyjson_mut_arr_foreach(list, i, max, m)
		yyjson_mut_obj_remove_key(m, "effect");
	char *text = yyjson_mut_val_write(list, 0, &n);
	buf_put_str(b, text == NULL ? STR("[]") : (struct str){ text, n });
	free(text);
	yyjson_mut_doc_free(doc);
}

void
replay_difference(const struct replay_record *r, struct str mutations,
    struct buf *out)
{
	FREED(buf_free) struct buf before = BUF_INIT, after = BUF_INIT;

	buf_put_text(&before, "{\"mutations\":");
	replay_put_mutations(r, &before);
	buf_put_char(&before, '}');
	json_object(&after, NULL);
	json_raw(&after, "mutations", mutations);
	buf_put_char(&after, '}');
	item_diff(buf_str(&before), buf_str(&after), out);
}
