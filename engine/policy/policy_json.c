/* The JSON side of a policy: docs/protocols/realtime.md sections 2 and 8. */
#include "engine/policy/policy.h"

#include <math.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/policy/policy_field.h"

#define FIELDS_SEEN_MAX 64

/* One parse: what it fills, and which fields it has met. */
struct parse {
	struct policy *p;
	bool seen[FIELDS_SEEN_MAX];
	struct why *w;
};

#define SHOWN_MAX 100   /* bytes of an unknown name in an error */

/* A number or a numeric string, not negative. */
static enum err
lenient_number(const char *place, yyjson_val *v, double *out, struct why *w)
{
	if (yyjson_is_num(v))
		*out = yyjson_get_num(v);
	else if (!yyjson_is_str(v) || !policy_number(json_text(v), out))
		return why(w, ERR_INPUT, "%s: expected a number", place);
	if (!isfinite(*out))
		return why(w, ERR_INPUT, "%s: not a finite number", place);
	if (*out < 0)
		return why(w, ERR_INPUT, "%s: negative", place);
	return OK;
}

static enum err
take_number(struct parse *x, const struct policy_field *f, yyjson_val *v)
{
	double number;

	if (yyjson_is_null(v) && f->nullable)
		return policy_field_number(x->p, f, INFINITY, x->w);
	if (json_is_absent(v))
		return OK;
	enum err e = lenient_number(f->name, v, &number, x->w);
	return e != OK ? e : policy_field_number(x->p, f, number, x->w);
}

static enum err
take_bool(struct parse *x, const struct policy_field *f, yyjson_val *v)
{
	if (json_is_absent(v))
		return OK;
	if (!yyjson_is_bool(v))
		return why(x->w, ERR_INPUT, "%s: expected true or false",
		    f->name);
	return policy_field_number(x->p, f, yyjson_get_bool(v), x->w);
}

static enum err
take_text(struct parse *x, const struct policy_field *f, yyjson_val *v)
{
	if (json_is_absent(v))
		return OK;
	if (!yyjson_is_str(v))
		return why(x->w, ERR_INPUT, "%s: expected a string", f->name);
	return f->kind == POLICY_TEXT ?
	    policy_field_text(x->p, f, json_text(v), x->w) :
	    policy_field_choice(x->p, f, json_text(v), x->w);
}

static enum err
take_strip(struct parse *x, const struct policy_field *f, yyjson_val *list)
{
	size_t i, n;
	yyjson_val *v;

	if (!yyjson_is_arr(list))
		return why(x->w, ERR_INPUT, "%s: expected a list", f->name);
	if (yyjson_arr_size(list) > POLICY_STRIP_MAX)
		return why(x->w, ERR_FULL, "%s: more than %d names", f->name,
		    POLICY_STRIP_MAX);
	x->p->strip_n = yyjson_arr_size(list);
	x->p->strip = ARENA_ARRAY(&x->p->memory, struct str, x->p->strip_n);
	yyjson_arr_foreach(list, i, n, v) {
		if (!yyjson_is_str(v) || yyjson_get_len(v) == 0)
			return why(x->w, ERR_INPUT, "%s[%zu]: expected a name",
			    f->name, i);
		if (yyjson_get_len(v) > POLICY_NAME_BYTES_MAX)
			return why(x->w, ERR_INPUT,
			    "%s[%zu]: longer than %d bytes", f->name, i,
			    POLICY_NAME_BYTES_MAX);
		x->p->strip[i] = arena_copy(&x->p->memory, json_text(v));
	}
	return OK;
}

/* Why a field is none of a policy's, or NULL. */
static const char *
refusal_of_header(struct str name)
{
	static const char secret[] = "it would be archived with the policy";
	static const char ours[] = "the fetcher writes it";
	static const struct {
		const char *name, *why;
	} rows[] = {
		/* docs/protocols/warc.md section 6 */
		{ "Authorization", secret }, { "Proxy-Authorization", secret },
		{ "Cookie", secret }, { "X-Api-Key", secret },
		{ "Host", ours }, { "Connection", ours },
		{ "Content-Length", ours }, { "Transfer-Encoding", ours },
	};
	size_t i = STR_ROW_NOCASE(name, rows);

	return i < ARRAY_LEN(rows) ? rows[i].why : NULL;
}

static enum err
take_header(struct parse *x, struct str name, yyjson_val *v)
{
	struct policy *p = x->p;
	struct str shown = str_cut(name, 0, SHOWN_MAX);
	const char *refusal = refusal_of_header(name);

	if (!text_is_token(name) || name.n > POLICY_NAME_BYTES_MAX)
		return why(x->w, ERR_INPUT, "headers.%.*s: not a field name",
		    STR_FMT(shown));
	if (refusal != NULL)
		return why(x->w, ERR_INPUT, "headers.%.*s: cannot be set in a "
		    "policy: %s", STR_FMT(shown), refusal);
	if (!yyjson_is_str(v) || !text_is_field_value(json_text(v)))
		return why(x->w, ERR_INPUT, "headers.%.*s: expected a string "
		    "of one line", STR_FMT(shown));
	if (yyjson_get_len(v) > POLICY_HEADER_BYTES_MAX)
		return why(x->w, ERR_INPUT, "headers.%.*s: longer than %d "
		    "bytes", STR_FMT(shown), POLICY_HEADER_BYTES_MAX);
	for (size_t i = 0; i < p->headers_n; i++)
		if (str_eq_nocase(p->headers[i].name, name))
			return why(x->w, ERR_INPUT, "headers.%.*s: stands "
			    "twice", STR_FMT(shown));
	p->headers[p->headers_n++] = (struct policy_header){
		arena_copy(&p->memory, name),
		arena_copy(&p->memory, json_text(v)) };
	return OK;
}

static enum err
take_headers(struct parse *x, const struct policy_field *f, yyjson_val *map)
{
	size_t i, n;
	yyjson_val *name, *v;

	if (!yyjson_is_obj(map))
		return why(x->w, ERR_INPUT, "%s: expected an object", f->name);
	if (yyjson_obj_size(map) > POLICY_HEADERS_MAX)
		return why(x->w, ERR_FULL, "%s: more than %d fields", f->name,
		    POLICY_HEADERS_MAX);
	x->p->headers_n = 0;
	x->p->headers = ARENA_ARRAY(&x->p->memory, struct policy_header,
	    yyjson_obj_size(map));
	yyjson_obj_foreach(map, i, n, name, v) {
		enum err e = take_header(x, json_text(name), v);
		if (e != OK)
			return e;
	}
	return OK;
}

/* A rule as both lists have it: its pattern, and the other keys. */
struct rule_shape {
	const char *list;
	const char *keys[3];         /* "pattern" first */
	size_t bytes;                /* of a rule, which begins with it */
	/* Read the values of the other keys into a rule. */
	enum err (*effect)(size_t at, yyjson_val *const *values, void *rule,
	    struct why *);
};

/*
 * Find the values of a rule's keys: all others are errors, and so is a key
 * that stands twice.
 */
static enum err
rule_values(const struct rule_shape *shape, size_t at, yyjson_val *rule,
    yyjson_val *values[3], struct why *w)
{
	size_t i, n;
	yyjson_val *key, *v;

	if (!yyjson_is_obj(rule))
		return why(w, ERR_INPUT, "%s[%zu]: expected an object",
		    shape->list, at);
	yyjson_obj_foreach(rule, i, n, key, v) {
		struct str name = json_text(key);
		size_t k = 0;
		while (k < 3 && (shape->keys[k] == NULL ||
		    !str_eq(name, str_of(shape->keys[k]))))
			k++;
		if (k == 3)
			return why(w, ERR_INPUT, "%s[%zu].%.*s: unknown field",
			    shape->list, at,
			    STR_FMT(str_cut(name, 0, SHOWN_MAX)));
		if (values[k] != NULL)
			return why(w, ERR_INPUT, "%s[%zu].%s: stands twice",
			    shape->list, at, shape->keys[k]);
		values[k] = v;
	}
	return OK;
}

/* The pattern of rule `at` of `n`; all but the last must have one. */
static enum err
rule_pattern(struct parse *x, const char *list, size_t at, size_t n,
    yyjson_val *v, struct str *out)
{
	char place[64];

	snprintf(place, sizeof(place), "%s[%zu].pattern", list, at);
	*out = STR_NONE;
	if (json_is_absent(v)) {
		if (at + 1 < n)
			return why(x->w, ERR_INPUT, "%s: only the last rule "
			    "has no pattern", place);
		return OK;
	}
	if (!yyjson_is_str(v))
		return why(x->w, ERR_INPUT, "%s: expected a string", place);
	if (at + 1 == n)
		return why(x->w, ERR_INPUT, "%s: the last rule has no pattern",
		    place);
	enum err e = policy_pattern_check(place, json_text(v), x->w);
	if (e == OK)
		*out = arena_copy(&x->p->memory, json_text(v));
	return e;
}

static enum err
rules_count(const char *list, yyjson_val *v, size_t *n, struct why *w)
{
	if (!yyjson_is_arr(v))
		return why(w, ERR_INPUT, "%s: expected a list", list);
	*n = yyjson_arr_size(v);
	if (*n == 0)
		return why(w, ERR_INPUT, "%s: at least one rule is needed",
		    list);
	if (*n > POLICY_RULES_MAX)
		return why(w, ERR_FULL, "%s: more than %d rules", list,
		    POLICY_RULES_MAX);
	return OK;
}

static enum err
url_rule_effect(size_t at, yyjson_val *const *values, void *rule, struct why *w)
{
	struct policy_url_rule *out = rule;
	char place[64];
	struct str word = yyjson_is_str(values[1]) ? json_text(values[1]) :
	    STR_NONE;

	if (str_eq(word, STR("add")))
		out->action = POLICY_ADD;
	else if (str_eq(word, STR("multiply")))
		out->action = POLICY_MULTIPLY;
	else
		return why(w, ERR_INPUT, "url_rules[%zu].action: must be "
		    "\"add\" or \"multiply\"", at);
	snprintf(place, sizeof(place), "url_rules[%zu].amount", at);
	if (json_is_absent(values[2]))
		return why(w, ERR_INPUT, "%s: missing", place);
	enum err e = lenient_number(place, values[2], &out->amount, w);
	out->amount += 0.0;
	return e;
}

static enum err
mime_rule_effect(size_t at, yyjson_val *const *values, void *rule,
    struct why *w)
{
	if (!yyjson_is_bool(values[1]))
		return why(w, ERR_INPUT, "mime_rules[%zu].keep: expected true "
		    "or false", at);
	((struct policy_mime_rule *)rule)->keep = yyjson_get_bool(values[1]);
	return OK;
}

static const struct rule_shape url_rule_shape = { "url_rules",
	{ "pattern", "action", "amount" }, sizeof(struct policy_url_rule),
	url_rule_effect };
static const struct rule_shape mime_rule_shape = { "mime_rules",
	{ "pattern", "keep", NULL }, sizeof(struct policy_mime_rule),
	mime_rule_effect };
_Static_assert(offsetof(struct policy_url_rule, pattern) == 0 &&
    offsetof(struct policy_mime_rule, pattern) == 0, "take_rules()");

/* `rules_out` is where the policy points to its rules of this shape. */
static enum err
take_rules(struct parse *x, const struct rule_shape *shape, yyjson_val *list,
    void *rules_out, size_t *n_out)
{
	size_t at, n = 0;
	yyjson_val *v;

	enum err e = rules_count(shape->list, list, &n, x->w);
	if (e != OK)
		return e;
	char *rules = arena_take_array(&x->p->memory, n, shape->bytes);
	yyjson_arr_foreach(list, at, n, v) {
		yyjson_val *values[3] = { NULL };
		void *rule = rules + at * shape->bytes;
		if ((e = rule_values(shape, at, v, values, x->w)) != OK ||
		    (e = rule_pattern(x, shape->list, at, n, values[0],
		    rule)) != OK ||
		    (e = shape->effect(at, values, rule, x->w)) != OK)
			return e;
	}
	memcpy(rules_out, &rules, sizeof(rules));
	*n_out = n;
	return OK;
}

static enum err
take_field(struct parse *x, const struct policy_field *f, yyjson_val *v)
{
	size_t i = (size_t)(f - policy_fields);

	CHECK(i < FIELDS_SEEN_MAX);
	if (x->seen[i])
		return why(x->w, ERR_INPUT, "%s: stands twice", f->name);
	x->seen[i] = true;
	if (yyjson_is_null(v) && !f->nullable)
		return OK;
	switch (f->kind) {
	case POLICY_NUMBER:
	case POLICY_INTEGER:
		return take_number(x, f, v);
	case POLICY_BOOL:
		return take_bool(x, f, v);
	case POLICY_TEXT:
	case POLICY_CHOICE:
		return take_text(x, f, v);
	case POLICY_STRINGS:
		return take_strip(x, f, v);
	case POLICY_HEADERS:
		return take_headers(x, f, v);
	case POLICY_URL_RULES:
		return take_rules(x, &url_rule_shape, v, &x->p->url_rules,
		    &x->p->url_rules_n);
	case POLICY_MIME_RULES:
		return take_rules(x, &mime_rule_shape, v, &x->p->mime_rules,
		    &x->p->mime_rules_n);
	}
	return OK;
}

/* Whether `name` is the first half of some field's name. */
static bool
is_group(struct str name)
{
	for (size_t i = 0; i < policy_fields_n; i++) {
		struct str f = str_of(policy_fields[i].name);
		if (str_starts(f, name) && f.n > name.n && name.n > 0 &&
		    f.p[name.n] == '.')
			return true;
	}
	return false;
}

static enum err
unknown_field(struct str group, struct str name, struct why *w)
{
	return why(w, ERR_INPUT, "%.*s%s%.*s: unknown field", STR_FMT(group),
	    group.n == 0 ? "" : ".", STR_FMT(str_cut(name, 0, SHOWN_MAX)));
}

static enum err
take_group(struct parse *x, struct str group, yyjson_val *object)
{
	size_t i, n;
	yyjson_val *key, *v;
	char full[256];

	if (yyjson_is_null(object))
		return OK;
	if (!yyjson_is_obj(object))
		return why(x->w, ERR_INPUT, "%.*s: expected an object",
		    STR_FMT(group));
	yyjson_obj_foreach(object, i, n, key, v) {
		struct str name = json_text(key);
		const struct policy_field *f = NULL;
		if (group.n + 1 + name.n < sizeof(full)) {
			int len = snprintf(full, sizeof(full), "%.*s.%.*s",
			    STR_FMT(group), STR_FMT(name));
			f = policy_field_find(
			    (struct str){ full, (size_t)len });
		}
		if (f == NULL)
			return unknown_field(group, name, x->w);
		enum err e = take_field(x, f, v);
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err
take_policy(struct parse *x, yyjson_val *object)
{
	size_t i, n;
	yyjson_val *key, *v;
	struct str groups[8];
	size_t groups_n = 0;

	if (!yyjson_is_obj(object))
		return why_field(x->w, ERR_INPUT, "policy",
		    "expected an object");
	yyjson_obj_foreach(object, i, n, key, v) {
		struct str name = json_text(key);
		const struct policy_field *f =
		    str_find_char(name, '.') < name.n ? NULL :
		    policy_field_find(name);
		enum err e;
		if (f != NULL) {
			e = take_field(x, f, v);
		} else if (is_group(name)) {
			for (size_t g = 0; g < groups_n; g++)
				if (str_eq(groups[g], name))
					return why(x->w, ERR_INPUT,
					    "%.*s: stands twice",
					    STR_FMT(name));
			CHECK(groups_n < ARRAY_LEN(groups));
			groups[groups_n++] = name;
			e = take_group(x, name, v);
		} else {
			e = unknown_field(STR(""), name, x->w);
		}
		if (e != OK)
			return e;
	}
	return OK;
}

enum err
policy_parse(struct str json, struct policy **out, struct why *w)
{
	yyjson_read_err fault;
	/* The reader does not write to its input without the IN SITU flag. */
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json.p, json.n,
	    YYJSON_READ_NOFLAG, NULL, &fault);

	*out = NULL;
	if (doc == NULL)
		return why_field(w, ERR_INPUT, "policy",
		    "not JSON: %s at byte %zu", fault.msg, fault.pos);
	struct parse x = { .p = policy_new(), .w = w };
	enum err e = take_policy(&x, yyjson_doc_get_root(doc));
	if (e != OK)
		policy_free(&x.p);
	*out = x.p;
	yyjson_doc_free(doc);
	return e;
}

static yyjson_mut_val *
json_str(yyjson_mut_doc *d, struct str s)
{
	return s.p == NULL ? yyjson_mut_null(d) :
	    yyjson_mut_strn(d, s.p, s.n);
}

/* 5 rather than 5.0, where that says the same. */
static yyjson_mut_val *
json_number(yyjson_mut_doc *d, double v)
{
	if (isinf(v))
		return yyjson_mut_null(d);
	if (v == floor(v) && v < 9e15)
		return yyjson_mut_uint(d, (uint64_t)v);
	return yyjson_mut_real(d, v);
}

/* A rule's object, with its pattern where it has one. */
static yyjson_mut_val *
json_rule(yyjson_mut_doc *d, yyjson_mut_val *list, struct str pattern)
{
	yyjson_mut_val *o = yyjson_mut_arr_add_obj(d, list);

	if (pattern.p != NULL)
		yyjson_mut_obj_add_val(d, o, "pattern", json_str(d, pattern));
	return o;
}

static yyjson_mut_val *
json_url_rules(yyjson_mut_doc *d, const struct policy *p)
{
	yyjson_mut_val *list = yyjson_mut_arr(d);

	for (size_t i = 0; i < p->url_rules_n; i++) {
		const struct policy_url_rule *r = &p->url_rules[i];
		yyjson_mut_val *o = json_rule(d, list, r->pattern);
		yyjson_mut_obj_add_str(d, o, "action",
		    r->action == POLICY_ADD ? "add" : "multiply");
		yyjson_mut_obj_add_val(d, o, "amount",
		    json_number(d, r->amount));
	}
	return list;
}

static yyjson_mut_val *
json_mime_rules(yyjson_mut_doc *d, const struct policy *p)
{
	yyjson_mut_val *list = yyjson_mut_arr(d);

	for (size_t i = 0; i < p->mime_rules_n; i++)
		yyjson_mut_obj_add_bool(d, json_rule(d, list,
		    p->mime_rules[i].pattern), "keep", p->mime_rules[i].keep);
	return list;
}

static yyjson_mut_val *
json_field(yyjson_mut_doc *d, const struct policy *p,
    const struct policy_field *f)
{
	const void *at = (const char *)p + f->offset;
	yyjson_mut_val *v;

	switch (f->kind) {
	case POLICY_NUMBER:
		return json_number(d, *(const double *)at);
	case POLICY_INTEGER:
		return *(const int64_t *)at == POLICY_NONE ?
		    yyjson_mut_null(d) :
		    yyjson_mut_sint(d, *(const int64_t *)at);
	case POLICY_BOOL:
		return yyjson_mut_bool(d, *(const bool *)at);
	case POLICY_TEXT:
		return json_str(d, *(const struct str *)at);
	case POLICY_CHOICE:
		return yyjson_mut_str(d,
		    policy_field_words(f)[*(const int64_t *)at]);
	case POLICY_STRINGS:
		v = yyjson_mut_arr(d);
		for (size_t i = 0; i < p->strip_n; i++)
			yyjson_mut_arr_append(v, json_str(d, p->strip[i]));
		return v;
	case POLICY_HEADERS:
		v = yyjson_mut_obj(d);
		for (size_t i = 0; i < p->headers_n; i++)
			yyjson_mut_obj_add(v, json_str(d, p->headers[i].name),
			    json_str(d, p->headers[i].value));
		return v;
	case POLICY_URL_RULES:
		return json_url_rules(d, p);
	case POLICY_MIME_RULES:
		return json_mime_rules(d, p);
	}
	return NULL;
}

/* Extra fields are numbers and booleans; the default policy has none. */
static bool
is_preset(const struct policy *p, const struct policy_field *f)
{
	const void *at = (const char *)p + f->offset;

	if (f->kind == POLICY_BOOL)
		return *(const bool *)at == (f->preset != 0);
	CHECK(f->kind == POLICY_INTEGER);
	int64_t v = *(const int64_t *)at;
	return isinf(f->preset) ? v == POLICY_NONE : v == (int64_t)f->preset;
}

void
policy_to_json(const struct policy *p, struct buf *out)
{
	yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(d);
	size_t n;

	CHECK(d != NULL);
	yyjson_mut_doc_set_root(d, root);
	for (size_t i = 0; i < policy_fields_n; i++) {
		const struct policy_field *f = &policy_fields[i];
		struct str name = str_of(f->name);
		size_t dot = str_find_char(name, '.');
		yyjson_mut_val *in = root;
		if (f->extra && is_preset(p, f))
			continue;
		if (dot < name.n) {
			in = yyjson_mut_obj_getn(root, name.p, dot);
			if (in == NULL) {
				in = yyjson_mut_obj(d);
				yyjson_mut_obj_add(root,
				    yyjson_mut_strn(d, name.p, dot), in);
			}
			name = str_from(name, dot + 1);
		}
		yyjson_mut_obj_add(in, yyjson_mut_strn(d, name.p, name.n),
		    json_field(d, p, f));
	}
	char *text = yyjson_mut_write_opts(d,
	    YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL, &n, NULL);
	CHECK(text != NULL);
	buf_put(out, text, n);
	free(text);
	yyjson_mut_doc_free(d);
}

static const struct policy_header *
agent_header(const struct policy *p)
{
	for (size_t i = 0; i < p->headers_n; i++)
		if (str_eq_nocase(p->headers[i].name, STR("User-Agent")))
			return &p->headers[i];
	return NULL;
}

struct str
policy_user_agent(const struct policy *p)
{
	const struct policy_header *h = agent_header(p);

	return h != NULL ? h->value : p->user_agent;
}

enum err
policy_check_agent(const struct policy *p, struct why *w)
{
	struct str agent = policy_user_agent(p);

	if (agent.n == 0 || text_product_token(agent).n != 0)
		return OK;
	return why(w, ERR_INPUT, "%s: \"%.*s\" does not begin with a name of "
	    "letters, \"_\" and \"-\", such as FooBot/1.0, by which "
	    "robots.txt can address it", agent_header(p) != NULL ?
	    "headers.User-Agent" : "user_agent",
	    STR_FMT(str_cut(agent, 0, 60)));
}

enum err
policy_fits(const struct policy *p, struct why *w)
{
	FREED(buf_free) struct buf json = BUF_INIT;

	policy_to_json(p, &json);
	size_t n = json.n;
	return n <= POLICY_JSON_BYTES_MAX ? OK : why(w, ERR_FULL,
	    "the policy is longer than %d bytes as JSON",
	    POLICY_JSON_BYTES_MAX);
}

/* --- for people --------------------------------------------------------- */

void
policy_to_sentence(const struct policy *p, struct buf *out)
{
	if (p->limits.max_depth == POLICY_NONE)
		buf_put_text(out, "any depth");
	else
		buf_printf(out, "depth at most %lld",
		    (long long)p->limits.max_depth);
	buf_printf(out, ", embedded resources %s, ", p->embeds ? "on" : "off");
	if (p->rate_limit > 0)
		buf_printf(out, "%.6g s", p->rate_limit);
	else
		buf_put_text(out, "no delay");
	buf_printf(out, " between requests to one host, robots.txt %s",
	    p->robots == POLICY_OBEY ? "obeyed" : "ignored");
	if (p->limits.max_items != POLICY_NONE)
		buf_printf(out, ", at most %lld pages",
		    (long long)p->limits.max_items);
	if (p->limits.max_bytes != POLICY_NONE)
		buf_printf(out, ", at most %lld bytes of WARC files",
		    (long long)p->limits.max_bytes);
	if (p->limits.max_duration < 1e9)
		buf_printf(out, ", at most %.6g s", p->limits.max_duration);
}
