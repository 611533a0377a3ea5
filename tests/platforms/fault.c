/*
 * The fault plan: a JSON list of rows {"match":{...},"fault":{...}}.  The first
 * row that matches a request decides what goes wrong with it.
 */
#include "tests/platforms/platforms.h"

struct row {
	struct str host, method, path, query;    /* empty: any */
	uint64_t from, to;           /* of the requests that match otherwise */
	uint64_t seen;
	struct fault fault;
};

static struct {
	struct arena arena;          /* of all texts */
	yyjson_doc *doc;
	struct row *rows;
	size_t n;
} plan;

/* ---- Reading ----------------------------------------------------------- */

struct word {
	const char *word;
	int value;
};

static const struct word closes[] = { { "before", CLOSE_BEFORE },
	{ "head", CLOSE_HEAD }, { "body", CLOSE_BODY }, { NULL, 0 } };
static const struct word bodies[] = { { "html", BODY_HTML },
	{ "pretty", BODY_PRETTY }, { "utf8", BODY_UTF8 },
	{ "empty", BODY_EMPTY }, { NULL, 0 } };
static const struct word pages[] = { { "duplicate", PAGE_DUPLICATE },
	{ "overlap", PAGE_OVERLAP }, { "reordered", PAGE_REORDERED },
	{ "empty", PAGE_EMPTY }, { "loop", PAGE_LOOP }, { NULL, 0 } };

static const struct word sockets[] = { { "unanswered", WS_UNANSWERED },
	{ "close", WS_CLOSED }, { "split", WS_SPLIT },
	{ "CursorTooOld", WS_TOO_OLD }, { "replay", WS_REPLAY }, { NULL, 0 } };

static bool
read_word(yyjson_val *v, const struct word *words, int *out)
{
	for (; words->word != NULL; words++)
		if (str_eq(json_text(v), str_of(words->word))) {
			*out = words->value;
			return true;
		}
	return false;
}

static bool
read_number(yyjson_val *v, uint64_t *out)
{
	*out = yyjson_get_uint(v);
	return yyjson_is_uint(v);
}

/* Seconds from now, or "none". */
static bool
read_reset(yyjson_val *v, struct fault *f)
{
	f->reset = yyjson_is_int(v) ? DATE_IN : DATE_TEXT;
	f->reset_s = yyjson_get_sint(v);
	return yyjson_is_int(v) || str_eq(json_text(v), STR("none"));
}

static bool
read_rename(yyjson_val *v, struct fault *f)
{
	f->rename = json_text(yyjson_obj_get(v, "account"));
	f->rename_to = json_text(yyjson_obj_get(v, "to"));
	return f->rename.n > 0 && f->rename_to.n > 0;
}

static bool
read_stream(yyjson_val *v, struct fault *f)
{
	static const struct word notices[] = { { "limit", NOTICE_LIMIT },
		{ "delete", NOTICE_DELETE },
		{ "disconnect", NOTICE_DISCONNECT }, { NULL, 0 } };

	f->silent = str_eq(json_text(v), STR("silence"));
	return f->silent || read_word(v, notices, (int *)&f->notice);
}

static bool
read_fault(struct str key, yyjson_val *v, struct fault *f)
{
	uint64_t n = 0;
	bool number = read_number(v, &n);

	if (str_eq(key, STR("status")))
		return (f->status = (int)n) >= 400 && n <= 599;
	if (str_eq(key, STR("reset")))
		return read_reset(v, f);
	if (str_eq(key, STR("retry_after")))
		return (f->retry_after = json_text(v)).n > 0;
	if (str_eq(key, STR("close")))
		return read_word(v, closes, (int *)&f->close);
	if (str_eq(key, STR("cut")))
		return f->cuts = true, f->cut = n, number;
	if (str_eq(key, STR("stall")))
		return f->stall_ms = (int64_t)n, number;
	if (str_eq(key, STR("at")))
		return f->stall_at = n, number;
	if (str_eq(key, STR("drip")))
		return f->drip_ms = (int64_t)n, number && n > 0;
	if (str_eq(key, STR("length")))
		return (f->length = yyjson_get_sint(v)) != 0;
	if (str_eq(key, STR("chunked")))
		return f->chunked = yyjson_is_true(v);
	if (str_eq(key, STR("body")))
		return read_word(v, bodies, (int *)&f->body);
	if (str_eq(key, STR("page")))
		return read_word(v, pages, (int *)&f->page);
	if (str_eq(key, STR("big")))
		return f->big = n, number && n <= 64u << 20;
	if (str_eq(key, STR("stream")))
		return read_stream(v, f);
	if (str_eq(key, STR("ws")))
		return read_word(v, sockets, (int *)&f->ws);
	if (str_eq(key, STR("code")))
		return (f->ws_code = (int)n) >= 1000 && n <= 4999;
	if (str_eq(key, STR("after")))
		return f->ws_after = n, number;
	if (str_eq(key, STR("credential")))
		return f->expire = str_eq(json_text(v), STR("expires"));
	if (str_eq(key, STR("rename")))
		return read_rename(v, f);
	if (str_eq(key, STR("suspend")))
		return (f->suspend = json_text(v)).n > 0;
	return false;
}

/* At most one star. */
static bool
read_path(yyjson_val *v, struct row *row)
{
	row->path = json_text(v);
	size_t star = str_find(row->path, STR("*"));
	struct str after = str_cut(row->path, star + 1, row->path.n);
	return row->path.n > 0 && str_find(after, STR("*")) == after.n;
}

static bool
read_match(struct str key, yyjson_val *v, struct row *row)
{
	uint64_t n;

	if (str_eq(key, STR("host")))
		return (row->host = json_text(v)).n > 0;
	if (str_eq(key, STR("method")))
		return (row->method = json_text(v)).n > 0;
	if (str_eq(key, STR("path")))
		return read_path(v, row);
	if (str_eq(key, STR("query")))
		return (row->query = json_text(v)).n > 0;
	if (!read_number(v, &n) || n == 0)
		return false;
	if (str_eq(key, STR("nth")))
		return row->from = row->to = n, true;
	if (str_eq(key, STR("from")))
		return row->from = n, true;
	return row->to = n, str_eq(key, STR("to"));
}

static bool
read_row(yyjson_val *v, struct row *row, char sentence[static 200])
{
	yyjson_val *fault = yyjson_obj_get(v, "fault"), *key, *value;
	size_t i, n;

	*row = (struct row){ .from = 1, .to = UINT64_MAX };
	yyjson_obj_foreach(yyjson_obj_get(v, "match"), i, n, key, value)
		if (!read_match(json_text(key), value, row)) {
			snprintf(sentence, 200, "match.%.*s is wrong",
			    STR_FMT(json_text(key)));
			return false;
		}
	yyjson_obj_foreach(fault, i, n, key, value)
		if (!read_fault(json_text(key), value, &row->fault)) {
			snprintf(sentence, 200, "fault.%.*s is wrong",
			    STR_FMT(json_text(key)));
			return false;
		}
	snprintf(sentence, 200, "a row has no fault");
	return yyjson_obj_size(fault) > 0;
}

bool
fault_plan(struct str json, char sentence[static 200])
{
	yyjson_val *v;
	size_t i, n;

	yyjson_doc_free(plan.doc);
	arena_free(&plan.arena);
	plan.n = 0;
	plan.doc = yyjson_read(json.p, json.n, 0);
	yyjson_val *list = yyjson_doc_get_root(plan.doc);
	snprintf(sentence, 200, "it is not a list");
	if (!yyjson_is_arr(list))
		return false;
	plan.rows = ARENA_ARRAY(&plan.arena, struct row,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		if (!read_row(v, &plan.rows[i], sentence))
			return false;
		plan.n = i + 1;
	}
	return true;
}

void
fault_met(struct buf *out)
{
	json_array(out, "met");
	for (size_t i = 0; i < plan.n; i++) {
		json_comma(out);
		buf_printf(out, "%llu", (unsigned long long)plan.rows[i].seen);
	}
	buf_put_text(out, "]");
}

/* ---- Matching ---------------------------------------------------------- */

/* A star stands for any text. */
static bool
is_path(struct str wanted, struct str path)
{
	size_t star = str_find(wanted, STR("*"));

	if (star == wanted.n)
		return str_eq(wanted, path);
	return path.n + 1 >= wanted.n &&
	    str_starts(path, str_cut(wanted, 0, star)) &&
	    str_ends(path, str_cut(wanted, star + 1, wanted.n));
}

static bool
is_matched(const struct row *row, const struct request *r)
{
	return (row->host.n == 0 || str_eq(row->host, r->host)) &&
	    (row->method.n == 0 || str_eq(row->method, r->head.method)) &&
	    (row->path.n == 0 || is_path(row->path, r->head.path)) &&
	    (row->query.n == 0 || str_find(r->head.query, row->query) <
	    r->head.query.n);
}

void
fault_find(const struct request *r, struct fault *out)
{
	bool found = false;

	/* All rows count what they match. */
	for (size_t i = 0; i < plan.n; i++) {
		struct row *row = &plan.rows[i];
		if (!is_matched(row, r))
			continue;
		row->seen++;
		if (found || row->seen < row->from || row->seen > row->to)
			continue;
		*out = row->fault;
		found = true;
	}
}
