#include "cli/simulator/fault_plan.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/simulator/json_body.h"

struct fault_plan {
	struct fault *faults;
	size_t n;
	struct arena arena;
};

/* One fault that is being read. */
struct reading {
	struct fault *fault;
	size_t index;
	struct arena *arena;
	struct why *why;
};

static enum err
refuse_at(const struct reading *r, const char *name, const char *text)
{
	return why(r->why, ERR_INPUT, "faults[%zu].%s: %s", r->index, name,
	    text);
}

static enum err
read_number(const struct reading *r, const char *name, yyjson_val *v,
    uint64_t least, uint64_t most, uint64_t *out)
{
	if (!yyjson_is_uint(v) || yyjson_get_uint(v) < least ||
	    yyjson_get_uint(v) > most)
		return why(r->why, ERR_INPUT, "faults[%zu].%s: must be a whole "
		    "number from %llu to %llu", r->index, name,
		    (unsigned long long)least, (unsigned long long)most);
	*out = yyjson_get_uint(v);
	return OK;
}

/* A fault has one kind. */
static enum err
set_kind(const struct reading *r, const char *name, enum fault_kind kind)
{
	if (r->fault->kind != FAULT_NONE)
		return refuse_at(r, name, "a fault has one of status, "
		    "cut_bytes, reply_lost, refused_lines and redirect");
	r->fault->kind = kind;
	return OK;
}

/* ---- Members -------------------------------------------------------- */

static enum err
read_call(const struct reading *r, const char *name, yyjson_val *v)
{
	struct str s = json_text(v);

	if (str_eq(s, STR("upload")))
		r->fault->call = FAULT_UPLOAD;
	else if (str_eq(s, STR("status")))
		r->fault->call = FAULT_STATUS;
	else
		return refuse_at(r, name, "must be \"upload\" or \"status\"");
	return OK;
}

static enum err
read_first(const struct reading *r, const char *name, yyjson_val *v)
{
	return read_number(r, name, v, 1, UINT32_MAX, &r->fault->number);
}

static enum err
read_last(const struct reading *r, const char *name, yyjson_val *v)
{
	return read_number(r, name, v, 1, UINT32_MAX, &r->fault->last);
}

static enum err
read_status(const struct reading *r, const char *name, yyjson_val *v)
{
	uint64_t status = 0;
	enum err e = set_kind(r, name, FAULT_ANSWER);

	if (e == OK)
		e = read_number(r, name, v, 200, 599, &status);
	r->fault->status = (int)status;
	return e;
}

static enum err
read_retry_after(const struct reading *r, const char *name, yyjson_val *v)
{
	r->fault->has_retry_after = true;
	return read_number(r, name, v, 0, FAULT_RETRY_AFTER_S_MAX,
	    &r->fault->retry_after_s);
}

static enum err
read_body(const struct reading *r, const char *name, yyjson_val *v)
{
	if (!yyjson_is_str(v))
		return refuse_at(r, name, "must be a text");
	r->fault->body = arena_copy(r->arena, json_text(v));
	return OK;
}

static enum err
read_delay(const struct reading *r, const char *name, yyjson_val *v)
{
	return read_number(r, name, v, 1, FAULT_DELAY_MS_MAX,
	    &r->fault->delay_ms);
}

static enum err
read_cut(const struct reading *r, const char *name, yyjson_val *v)
{
	enum err e = set_kind(r, name, FAULT_CUT);

	return e != OK ? e : read_number(r, name, v, 0, UINT32_MAX,
	    &r->fault->cut_bytes);
}

static enum err
read_lost(const struct reading *r, const char *name, yyjson_val *v)
{
	if (!yyjson_is_true(v))
		return refuse_at(r, name, "must be true");
	return set_kind(r, name, FAULT_REPLY_LOST);
}

static enum err
read_lines(const struct reading *r, const char *name, yyjson_val *v)
{
	struct fault *f = r->fault;
	size_t n = yyjson_arr_size(v), i, most;
	uint64_t *lines = ARENA_ARRAY(r->arena, uint64_t, MAX(n, 1));
	yyjson_val *line;

	if (n == 0)
		return refuse_at(r, name, "must be a list of line numbers");
	if (n > FAULT_LINES_MAX)
		return why(r->why, ERR_FULL, "faults[%zu].%s: more than %u "
		    "lines", r->index, name, FAULT_LINES_MAX);
	enum err e = set_kind(r, name, FAULT_LINES);
	yyjson_arr_foreach(v, i, most, line)
		if (e == OK)
			e = read_number(r, name, line, 1, UINT32_MAX,
			    &lines[i]);
	f->lines = lines;
	f->lines_n = n;
	return e;
}

static enum err
read_redirect(const struct reading *r, const char *name, yyjson_val *v)
{
	struct str s = json_text(v);

	if (s.n == 0 || memchr(s.p, '\0', s.n) != NULL ||
	    !text_is_field_value(s))
		return refuse_at(r, name, "must be a URL");
	r->fault->redirect = arena_copy(r->arena, s).p;
	return set_kind(r, name, FAULT_REDIRECT);
}

static const struct {
	const char *name;
	enum err (*read)(const struct reading *, const char *name,
	    yyjson_val *);
} members[] = {
	{ "call", read_call },
	{ "number", read_first },
	{ "last", read_last },
	{ "status", read_status },
	{ "retry_after_s", read_retry_after },
	{ "body", read_body },
	{ "delay_ms", read_delay },
	{ "cut_bytes", read_cut },
	{ "reply_lost", read_lost },
	{ "refused_lines", read_lines },
	{ "redirect", read_redirect },
};

/* ---- The plan ------------------------------------------------------- */

/* Members that contradict each other are refused. */
static enum err
check_fault(const struct reading *r)
{
	struct fault *f = r->fault;

	if (f->number == 0)
		return refuse_at(r, "number", "is missing");
	if (f->last == 0)
		f->last = f->number;
	if (f->last < f->number)
		return refuse_at(r, "last", "is less than number");
	if (f->kind == FAULT_NONE && f->delay_ms == 0)
		return refuse_at(r, "status", "is missing, as are cut_bytes, "
		    "reply_lost, refused_lines, redirect and delay_ms");
	if (f->kind != FAULT_ANSWER && f->has_retry_after)
		return refuse_at(r, "retry_after_s", "goes with status only");
	if (f->kind != FAULT_ANSWER && f->body.p != NULL)
		return refuse_at(r, "body", "goes with status only");
	if (f->kind == FAULT_LINES && f->call != FAULT_UPLOAD)
		return refuse_at(r, "refused_lines",
		    "only an upload has lines");
	return OK;
}

static enum err
read_fault(const struct reading *r, yyjson_val *v)
{
	enum err e = OK;
	size_t i, most, row;
	yyjson_val *key, *value;

	if (!yyjson_is_obj(v))
		return why(r->why, ERR_INPUT, "faults[%zu]: must be an object",
		    r->index);
	yyjson_obj_foreach(v, i, most, key, value) {
		row = STR_ROW(json_text(key), members);
		if (row == ARRAY_LEN(members))
			return why(r->why, ERR_INPUT, "faults[%zu].%.60s: is "
			    "not known", r->index, yyjson_get_str(key));
		e = members[row].read(r, members[row].name, value);
		if (e != OK)
			return e;
	}
	return check_fault(r);
}

static enum err
read_faults(yyjson_val *list, struct fault_plan *p, struct why *w)
{
	enum err e = OK;
	size_t i, most;
	yyjson_val *v;

	if (!yyjson_is_arr(list))
		return why(w, ERR_INPUT, "faults: must be a list");
	if (yyjson_arr_size(list) > FAULTS_MAX)
		return why(w, ERR_FULL, "faults: more than %u", FAULTS_MAX);
	p->n = yyjson_arr_size(list);
	p->faults = ARENA_ARRAY(&p->arena, struct fault, MAX(p->n, 1));
	yyjson_arr_foreach(list, i, most, v) {
		struct reading r = { &p->faults[i], i, &p->arena, w };
		if (e == OK)
			e = read_fault(&r, v);
	}
	return e;
}

enum err
fault_plan_read(struct str text, struct fault_plan **out, struct why *w)
{
	yyjson_doc *doc = NULL;
	enum err e = OK;

	*out = NULL;
	if (text.n > FAULT_PLAN_BYTES_MAX)
		return why(w, ERR_FULL, "the plan is longer than %zu bytes",
		    FAULT_PLAN_BYTES_MAX);
	e = json_body_read(text, "the plan", &doc, w);
	if (e == OK) {
		*out = mem_new(sizeof(**out));
		e = read_faults(yyjson_obj_get(yyjson_doc_get_root(doc),
		    "faults"), *out, w);
	}
	yyjson_doc_free(doc);
	if (e != OK)
		fault_plan_free(out);
	return e;
}

void
fault_plan_free(struct fault_plan **pp)
{
	if (*pp == NULL)
		return;
	arena_free(&(*pp)->arena);
	mem_free(pp);
}

const struct fault *
fault_plan_find(const struct fault_plan *p, enum fault_call call,
    uint64_t number)
{
	for (size_t i = 0; p != NULL && i < p->n; i++) {
		const struct fault *f = &p->faults[i];
		if (f->call == call && f->number <= number &&
		    number <= f->last)
			return f;
	}
	return NULL;
}

bool
fault_refuses_line(const struct fault *f, uint64_t line)
{
	for (size_t i = 0; i < f->lines_n; i++)
		if (f->lines[i] == line)
			return true;
	return false;
}
