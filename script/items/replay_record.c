#include "script/items/replay_record.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "engine/tasks/task_capture.h"
#include "wire/digest.h"

static const char *const kinds[] = {
#define KIND_TEXT(id, text) text,
	SCRIPT_CALL_KINDS(KIND_TEXT)
#undef KIND_TEXT
	"recompute"
};

/* ---- Parts of JSON ------------------------------------------------------ */

static void
put_value(struct buf *b, yyjson_val *v)
{
	size_t n = 0;
	char *text = v == NULL ? NULL : yyjson_val_write(v, 0, &n);

	buf_put_str(b, text == NULL ? STR("null") : (struct str){ text, n });
	free(text);
}

static void
put_hex_digest(struct buf *b, struct str bytes)
{
	struct digest d;

	digest_of(DIGEST_SHA256, bytes, &d);
	digest_put_hex(b, d.bytes, digest_size(DIGEST_SHA256));
}

static struct str
text_of(yyjson_val *object, const char *name)
{
	struct str s = json_text(yyjson_obj_get(object, name));

	return s.p == NULL ? STR("") : s;
}

/* ---- Keys --------------------------------------------------------------- */

static void
put_fetch_key(struct str method, struct str url, struct str digest,
    struct str session, struct buf *b)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str canonical = task_capture_url(url, &a);

	if (method.n == 0)
		method = STR("GET");
	buf_printf(b, "%.*s %.*s %.*s %.*s", STR_FMT(method),
	    STR_FMT(canonical), STR_FMT(digest), STR_FMT(session));
}

void
replay_key(enum script_call_kind kind, yyjson_val *args, struct str body,
    struct buf *b)
{
	FREED(buf_free) struct buf digest = BUF_INIT;

	buf_printf(b, "%s ", kinds[kind]);
	switch (kind) {
	case SCRIPT_CALL_FETCH:
		if (body.n > 0)
			put_hex_digest(&digest, body);
		put_fetch_key(text_of(args, "method"), text_of(args, "url"),
		    buf_str(&digest), text_of(args, "session"), b);
		break;
	case SCRIPT_CALL_READ:
	case SCRIPT_CALL_BLOB:
		put_value(b, args);
		break;
	case SCRIPT_CALL_PUT_BLOB:
		put_hex_digest(b, body);
		break;
	case SCRIPT_CALL_SLEEP:
	case REPLAY_RECOMPUTE:
		break;
	default:
		buf_put_str(b, text_of(args, "name"));
	}
}

/* ---- Writing ------------------------------------------------------------ */

/* What the archive has of an answer need not be in the record. */
static void
put_slim(struct buf *b, yyjson_val *v)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *copy = yyjson_val_mut_copy(doc, v);
	yyjson_mut_val *response = yyjson_mut_obj_get(copy, "response");
	size_t n = 0;

	if (!yyjson_mut_is_null(yyjson_mut_obj_get(copy, "capture")))
		yyjson_mut_obj_remove_key(copy, "headers");
	if (response != NULL && !yyjson_mut_is_null(yyjson_mut_obj_get(
	    response, "capture")))
		yyjson_mut_obj_remove_key(response, "headers");
	char *text = yyjson_mut_val_write(copy, 0, &n);
	buf_put(b, text, n);
	free(text);
	yyjson_mut_doc_free(doc);
}

static void
put_fetch(struct buf *b, const struct script_call *c)
{
	yyjson_val *args = script_call_args(c);
	struct str body = script_call_body(c);
	struct str method = text_of(args, "method");

	json_str(b, "method", method.n == 0 ? STR("GET") : method);
	json_str(b, "url", text_of(args, "url"));
	if (body.n > 0) {
		json_name(b, "body");
		buf_put_char(b, '"');
		put_hex_digest(b, body);
		buf_put_char(b, '"');
	}
	if (text_of(args, "session").n > 0)
		json_str(b, "session", text_of(args, "session"));
}

/* `{"n":2,"kind":"fetch",...` of the call; its answer follows. */
static bool
begin_call(struct replay_writer *w, const struct script_call *c)
{
	enum script_call_kind kind = script_call_kind(c);
	struct buf *b = &w->calls;

	w->full |= b->n > REPLAY_BYTES_MAX;
	if (w->full)
		return false;
	if (b->n > 0)
		buf_put_char(b, ',');
	json_object(b, NULL);
	json_u64(b, "n", script_call_number(c));
	json_str(b, "kind", str_of(kinds[kind]));
	if (kind == SCRIPT_CALL_FETCH) {
		put_fetch(b, c);
	} else if (kind == SCRIPT_CALL_READ || kind == SCRIPT_CALL_BLOB) {
		json_name(b, "args");
		put_value(b, script_call_args(c));
	} else if (kind != SCRIPT_CALL_SLEEP && kind != SCRIPT_CALL_PUT_BLOB) {
		json_str(b, "name", text_of(script_call_args(c), "name"));
	}
	return true;
}

static void
put_answer(struct buf *b, const char *name, struct str json)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	yyjson_val *v = yyjson_doc_get_root(doc);

	json_name(b, name);
	if (yyjson_is_obj(v))
		put_slim(b, v);
	else
		put_value(b, v);
	yyjson_doc_free(doc);
}

void
replay_put_value(struct replay_writer *w, const struct script_call *c,
    struct str value, const uint8_t *sha256)
{
	struct buf *b = &w->calls;

	if (!begin_call(w, c))
		return;
	if (script_call_kind(c) == SCRIPT_CALL_FETCH)
		put_answer(b, "value", value);
	else
		json_raw(b, "value", value.n > 0 ? value : STR("null"));
	if (sha256 != NULL) {
		json_name(b, "sha256");
		buf_put_char(b, '"');
		digest_put_hex(b, sha256, digest_size(DIGEST_SHA256));
		buf_put_char(b, '"');
	}
	buf_put_char(b, '}');
}

void
replay_put_error(struct replay_writer *w, const struct script_call *c,
    struct str error)
{
	if (!begin_call(w, c))
		return;
	put_answer(&w->calls, "error", error);
	buf_put_char(&w->calls, '}');
}

void
replay_put_recompute(struct replay_writer *w, struct str current)
{
	w->full |= w->calls.n > REPLAY_BYTES_MAX;
	if (w->full)
		return;
	if (w->calls.n > 0)
		buf_put_char(&w->calls, ',');
	json_object(&w->calls, NULL);
	json_str(&w->calls, "kind", STR("recompute"));
	json_raw(&w->calls, "value", current);
	buf_put_char(&w->calls, '}');
}

static void
put_outcome(const struct script_outcome *o, struct buf *b)
{
	json_bool(b, "success", o->is_success);
	json_name(b, "mutations");
	buf_put_char(b, '"');
	put_hex_digest(b, o->mutations);
	buf_put_char(b, '"');
	if (o->is_success) {
		json_null(b, "error");
		return;
	}
	json_object(b, "error");
	json_str(b, "class", o->class);
	json_str(b, "code", o->code);
	json_str(b, "message", o->message);
	buf_put_char(b, '}');
}

bool
replay_put(const struct replay_writer *w, const struct script_run *r,
    const struct script_outcome *o, struct buf *b)
{
	if (w->full || w->calls.n + r->input.n > REPLAY_BYTES_MAX)
		return false;
	json_object(b, NULL);
	json_str(b, "bundle", str_of(bundle_hash(r->bundle)));
	json_raw(b, "secrets", r->secrets.n > 0 ? r->secrets : STR("{}"));
	json_bool(b, "keep", r->keep_on_failure);
	json_raw(b, "input", r->input);
	json_array(b, "calls");
	buf_put_str(b, buf_str(&w->calls));
	buf_put_char(b, ']');
	put_outcome(o, b);
	buf_put_char(b, '}');
	return true;
}

void
replay_writer_free(struct replay_writer *w)
{
	buf_free(&w->calls);
}

/* ---- Reading ------------------------------------------------------------ */

static struct str
copy_json(struct replay_record *r, yyjson_val *v)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	put_value(&b, v);
	return arena_copy(&r->arena, buf_str(&b));
}

/* As replay_key() would make it of the call itself. */
static void
put_recorded_key(yyjson_val *v, enum script_call_kind kind, struct buf *b)
{
	if (kind == SCRIPT_CALL_FETCH) {
		buf_printf(b, "%s ", kinds[kind]);
		put_fetch_key(text_of(v, "method"), text_of(v, "url"),
		    text_of(v, "body"), text_of(v, "session"), b);
	} else if (kind == SCRIPT_CALL_PUT_BLOB) {
		buf_printf(b, "%s %.*s", kinds[kind],
		    STR_FMT(text_of(v, "sha256")));
	} else if (kind == SCRIPT_CALL_READ || kind == SCRIPT_CALL_BLOB) {
		replay_key(kind, yyjson_obj_get(v, "args"), STR_NONE, b);
	} else {
		replay_key(kind, v, STR_NONE, b);
	}
}

static yyjson_val *
capture_of(yyjson_val *answer)
{
	yyjson_val *v = yyjson_obj_get(answer, "capture");

	return yyjson_is_obj(v) ? v : NULL;
}

static enum err
read_call(struct replay_record *r, yyjson_val *v, struct replay_call *c,
    struct why *w)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	size_t kind = STR_ROW(json_text(yyjson_obj_get(v, "kind")), kinds);

	*c = (struct replay_call){ .kind = (enum script_call_kind)kind,
	    .number = (uint32_t)yyjson_get_uint(yyjson_obj_get(v, "n")),
	    .value = yyjson_obj_get(v, "value"),
	    .error = yyjson_obj_get(v, "error"),
	    .sha256 = json_text(yyjson_obj_get(v, "sha256")) };
	if (kind == ARRAY_LEN(kinds) || (c->value == NULL &&
	    !yyjson_is_obj(c->error)))
		return why(w, ERR_CORRUPT, "the run's record has a call that "
		    "is none");
	c->capture = capture_of(c->value != NULL ? c->value :
	    yyjson_obj_get(c->error, "response"));
	put_recorded_key(v, c->kind, &key);
	c->key = arena_copy(&r->arena, buf_str(&key));
	return OK;
}

/* The rows of equal keys in the order of their numbers. */
static int
by_key_and_number(const void *va, const void *vb)
{
	const struct replay_call *a = *(struct replay_call *const *)va;
	const struct replay_call *b = *(struct replay_call *const *)vb;
	int d = str_cmp(a->key, b->key);

	return d != 0 ? d : (a->number > b->number) - (a->number < b->number);
}

static void
count_ordinals(struct replay_record *r)
{
	struct replay_call **rows = ARENA_ARRAY(&r->arena,
	    struct replay_call *, r->calls_n + 1);

	for (size_t i = 0; i < r->calls_n; i++)
		rows[i] = &r->calls[i];
	qsort(rows, r->calls_n, sizeof(*rows), by_key_and_number);
	for (size_t i = 0; i < r->calls_n; i++) {
		if (i == 0 || !str_eq(rows[i]->key, rows[i - 1]->key)) {
			(void)map_put(&r->by_key, rows[i]->key, rows[i]);
			continue;
		}
		rows[i]->ordinal = rows[i - 1]->ordinal + 1;
		rows[i - 1]->next = rows[i];
	}
}

static enum err
read_calls(struct replay_record *r, yyjson_val *list, struct why *w)
{
	size_t i, n;
	yyjson_val *v;
	enum err e = OK;

	r->calls = ARENA_ARRAY(&r->arena, struct replay_call,
	    yyjson_arr_size(list) + 1);
	yyjson_arr_foreach(list, i, n, v) {
		if (e == OK)
			e = read_call(r, v, &r->calls[i], w);
		r->calls_n = i + 1;
	}
	if (e == OK)
		count_ordinals(r);
	return e;
}

static enum err
read_replay(struct replay_record *r, yyjson_val *v, struct why *w)
{
	yyjson_val *input = yyjson_obj_get(v, "input");
	yyjson_val *error = yyjson_obj_get(v, "error");

	r->task = json_text(yyjson_obj_get(input, "task"));
	r->item = json_text(yyjson_obj_get(yyjson_obj_get(input, "item"),
	    "id"));
	r->bundle = json_text(yyjson_obj_get(v, "bundle"));
	r->mutations_digest = json_text(yyjson_obj_get(v, "mutations"));
	r->keep_on_failure = yyjson_is_true(yyjson_obj_get(v, "keep"));
	r->success = yyjson_is_true(yyjson_obj_get(v, "success"));
	r->class = json_text(yyjson_obj_get(error, "class"));
	r->code = json_text(yyjson_obj_get(error, "code"));
	r->message = json_text(yyjson_obj_get(error, "message"));
	if (r->task.p == NULL || r->item.p == NULL || r->bundle.p == NULL ||
	    r->mutations_digest.p == NULL)
		return why(w, ERR_CORRUPT, "the run's record has no input");
	r->input = copy_json(r, input);
	r->secrets = copy_json(r, yyjson_obj_get(v, "secrets"));
	return read_calls(r, yyjson_obj_get(v, "calls"), w);
}

enum err
replay_record_read(struct str json, struct replay_record **out,
    struct why *w)
{
	struct replay_record *r = mem_new(sizeof(*r));
	enum err e = OK;

	*out = NULL;
	r->doc = yyjson_read(json.p, json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(r->doc);
	yyjson_val *replay = yyjson_obj_get(root, "replay");
	r->mutations = yyjson_obj_get(root, "mutations");
	if (!yyjson_is_obj(root))
		e = why(w, ERR_CORRUPT, "the run's record is no object");
	else if (!yyjson_is_obj(replay))
		e = why(w, ERR_STATE, "the run was kept without replay: %s",
		    yyjson_is_true(yyjson_obj_get(root, "short")) ?
		    "its record was too long" : "it did not run in a daemon");
	else
		e = read_replay(r, replay, w);
	if (e == OK)
		*out = r;
	else
		replay_record_free(&r);
	return e;
}

void
replay_record_free(struct replay_record **rp)
{
	struct replay_record *r = *rp;

	if (r == NULL)
		return;
	yyjson_doc_free(r->doc);
	map_free(&r->by_key);
	arena_free(&r->arena);
	mem_free(rp);
}

bool
replay_record_capture(yyjson_val *capture, uint32_t *crawl, uint64_t *number)
{
	yyjson_val *c = yyjson_obj_get(capture, "crawl");
	yyjson_val *n = yyjson_obj_get(capture, "seq");

	if (!yyjson_is_uint(c) || !yyjson_is_uint(n) ||
	    yyjson_get_uint(c) > UINT32_MAX)
		return false;
	*crawl = (uint32_t)yyjson_get_uint(c);
	*number = yyjson_get_uint(n);
	return true;
}
