#include "cli/simulator/params_check.h"

#include <stdarg.h>

#include "base/json.h"
#include "base/time.h"
#include "engine/schema/schema.h"

/* A value as checks see it: numbers and dates compare by `number`. */
struct value {
	yyjson_val *json;
	struct str text;         /* of a string */
	double number;
	bool is_number;
};

static enum err
refuse_row(struct why *w, size_t i, const char *member, const char *text)
{
	return why(w, ERR_INPUT, "parameters[%zu].%s: %s", i, member, text);
}

/* ---- Types ---------------------------------------------------------- */

/* Each returns what the value must be, or NULL when it is that. */

static const char *
read_text(struct value *v)
{
	return yyjson_is_str(v->json) ? NULL : "must be a text";
}

static const char *
read_bool(struct value *v)
{
	return yyjson_is_bool(v->json) || str_eq(v->text, STR("true")) ||
	    str_eq(v->text, STR("false")) ? NULL : "must be true or false";
}

static const char *
read_integer(struct value *v)
{
	int64_t n;

	if (yyjson_is_int(v->json))
		v->number = yyjson_get_num(v->json);
	else if (str_to_i64(v->text, &n))
		v->number = (double)n;
	else
		return "must be a whole number";
	v->is_number = true;
	return NULL;
}

/* ISO 8601, with or without a time, or milliseconds since 1970. */
static const char *
read_date(struct value *v)
{
	char text[40];
	struct wall t;
	int64_t ms;

	snprintf(text, sizeof(text), "%.*sT00:00:00Z", (int)MIN(v->text.n, 20),
	    v->text.n == 0 ? "" : v->text.p);
	if (yyjson_is_int(v->json))
		v->number = yyjson_get_num(v->json);
	else if (str_to_i64(v->text, &ms))
		v->number = (double)ms;
	else if (wall_from_iso(v->text, &t) ||
	    (v->text.n == 10 && wall_from_iso(str_of(text), &t)))
		v->number = (double)(t.us / 1000);
	else
		return "must be a date of ISO 8601, or milliseconds";
	v->is_number = true;
	return NULL;
}

static bool
are_all(yyjson_val *list, bool (*is)(yyjson_val *))
{
	size_t i, most;
	yyjson_val *key, *v;

	if (yyjson_is_arr(list)) {
		yyjson_arr_foreach(list, i, most, v)
			if (!is(v))
				return false;
	} else {
		yyjson_obj_foreach(list, i, most, key, v)
			if (!is(v))
				return false;
	}
	return true;
}

static const char *
read_multi_bool(struct value *v)
{
	if ((yyjson_is_obj(v->json) && are_all(v->json, yyjson_is_bool)) ||
	    (yyjson_is_arr(v->json) && are_all(v->json, yyjson_is_str)))
		return NULL;
	return "must be a list of names, or an object of true and false";
}

static const char *
read_list(struct value *v)
{
	return yyjson_is_str(v->json) || yyjson_is_num(v->json) ||
	    yyjson_is_bool(v->json) ? NULL : "must be one of its options";
}

static const char *
read_multi_search(struct value *v)
{
	return yyjson_is_arr(v->json) ? NULL : "must be a list";
}

static const char *
read_location(struct value *v)
{
	(void)v;
	return NULL;
}

static const struct param_type {
	const char *name;
	const char *(*read)(struct value *);
} types[] = {
	{ "string", read_text },
	{ "password", read_text },
	{ "bool", read_bool },
	{ "date", read_date },
	{ "location", read_location },
	{ "multi_bool", read_multi_bool },
	{ "list", read_list },
	{ "multi_search", read_multi_search },
	{ "integer", read_integer },
	{ "interger", read_integer },
};

/* The row's type; NULL when it is none.  Without one it is a string. */
static const struct param_type *
type_of(yyjson_val *row)
{
	yyjson_val *v = yyjson_obj_get(row, "type");
	size_t i = v == NULL ? 0 : STR_ROW(json_text(v), types);

	return i < ARRAY_LEN(types) ? &types[i] : NULL;
}

/* Read a value; false when there is none. */
static bool
take_value(yyjson_val *params, struct str name, struct value *v)
{
	*v = (struct value){ .json = yyjson_obj_getn(params, name.p, name.n) };
	v->text = json_text(v->json);
	return !json_is_absent(v->json);
}

/* ---- Restrictions --------------------------------------------------- */

static const struct rule {
	const char *name, *words;
	bool less, equal, greater;     /* that, compared with the target */
} rules[] = {
	{ "gt", "greater than", false, false, true },
	{ "gte", "at least", false, true, true },
	{ "lt", "less than", true, false, false },
	{ "lte", "at most", true, true, false },
	{ "eq", "equal to", false, true, false },
};

static const struct rule *
rule_of(yyjson_val *restriction)
{
	size_t i = STR_ROW(json_text(yyjson_obj_get(restriction, "rule")),
	    rules);

	return i < ARRAY_LEN(rules) ? &rules[i] : NULL;
}

static bool
holds(const struct rule *r, const struct value *a, const struct value *b)
{
	double order = a->is_number && b->is_number ? a->number - b->number :
	    (double)str_cmp(a->text, b->text);

	return order < 0 ? r->less : order > 0 ? r->greater : r->equal;
}

/* ---- The form ------------------------------------------------------- */

/* A schema whose pattern it is; NULL: it is no regular expression. */
static struct schema *
compile_regex(yyjson_val *regex)
{
	yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(made);
	struct schema *out;
	yyjson_doc *doc;

	yyjson_mut_doc_set_root(made, root);
	yyjson_mut_obj_add_val(made, root, "pattern", yyjson_val_mut_copy(made,
	    regex));
	doc = yyjson_mut_doc_imut_copy(made, NULL);
	CHECK(doc != NULL);
	(void)!schema_compile(yyjson_doc_get_root(doc), &out, NULL);
	yyjson_doc_free(doc);
	yyjson_mut_doc_free(made);
	return out;
}

static enum err
check_row_regex(yyjson_val *row, size_t i, struct why *w)
{
	yyjson_val *regex = yyjson_obj_get(row, "regex");
	struct schema *schema;

	if (json_is_absent(regex))
		return OK;
	if (!yyjson_is_str(regex))
		return refuse_row(w, i, "regex", "must be a text");
	schema = compile_regex(regex);
	if (schema == NULL)
		return refuse_row(w, i, "regex", "is no regular expression");
	schema_free(&schema);
	return OK;
}

static enum err
check_row_restrictions(yyjson_val *row, size_t i, struct why *w)
{
	yyjson_val *list = yyjson_obj_get(row, "restrictions"), *v;
	size_t at, most;

	if (json_is_absent(list))
		return OK;
	if (!yyjson_is_arr(list))
		return refuse_row(w, i, "restrictions", "must be a list");
	yyjson_arr_foreach(list, at, most, v) {
		if (rule_of(v) == NULL)
			return why(w, ERR_INPUT, "parameters[%zu]."
			    "restrictions[%zu].rule: must be one of gt, gte, "
			    "lt, lte, eq", i, at);
		if (json_text(yyjson_obj_get(v, "target")).n == 0)
			return why(w, ERR_INPUT, "parameters[%zu]."
			    "restrictions[%zu].target: must name a parameter",
			    i, at);
	}
	return OK;
}

static enum err
check_row(yyjson_val *row, size_t i, struct why *w)
{
	yyjson_val *options = yyjson_obj_get(row, "options");
	struct value v;

	if (!yyjson_is_obj(row))
		return why(w, ERR_INPUT, "parameters[%zu]: must be an object",
		    i);
	if (json_text(yyjson_obj_get(row, "name")).n == 0)
		return refuse_row(w, i, "name", "must be a text");
	if (type_of(row) == NULL)
		return refuse_row(w, i, "type", "must be one of string, "
		    "password, bool, date, location, multi_bool, list, "
		    "multi_search, integer");
	for (size_t k = 0; k < 2; k++) {
		const char *name = k == 0 ? "min" : "max";
		/* Bounds are numbers or, for a date, dates. */
		if (take_value(row, str_of(name), &v) &&
		    read_date(&v) != NULL && !yyjson_is_num(v.json))
			return refuse_row(w, i, name, "must be a number or a "
			    "date");
	}
	if (!json_is_absent(options) && !yyjson_is_arr(options))
		return refuse_row(w, i, "options", "must be a list");
	enum err e = check_row_regex(row, i, w);
	return e != OK ? e : check_row_restrictions(row, i, w);
}

enum err
params_check_form(yyjson_val *rows, struct why *w)
{
	size_t i, most;
	yyjson_val *row;
	enum err e = OK;

	if (json_is_absent(rows))
		return OK;
	if (!yyjson_is_arr(rows))
		return why(w, ERR_INPUT, "parameters: must be a list");
	if (yyjson_arr_size(rows) > PARAMS_MAX)
		return why(w, ERR_FULL, "parameters: more than %u", PARAMS_MAX);
	yyjson_arr_foreach(rows, i, most, row)
		if (e == OK)
			e = check_row(row, i, w);
	return e;
}

/* ---- Values --------------------------------------------------------- */

static void add_fault(struct param_faults *, struct str name, const char *fmt,
    ...) PRINTF_LIKE(3, 4);

static void
add_fault(struct param_faults *f, struct str name, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	if (f->n == PARAM_FAULTS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f->texts[f->n++] = arena_printf(f->arena, "params.%.*s: %s",
	    (int)MIN(name.n, 100), name.p, text);
}

static bool
matches(yyjson_val *regex, yyjson_val *text)
{
	FREED(schema_free) struct schema *schema = compile_regex(regex);

	return schema != NULL && schema_check(schema, text, 0, NULL, NULL);
}

/* Options are values, or {value,label}. */
static bool
is_option(yyjson_val *options, yyjson_val *value)
{
	size_t i, most;
	yyjson_val *v;

	yyjson_arr_foreach(options, i, most, v)
		if (yyjson_equals(yyjson_is_obj(v) ?
		    yyjson_obj_get(v, "value") : v, value))
			return true;
	return false;
}

static bool
are_options(yyjson_val *options, yyjson_val *value)
{
	size_t i, most;
	yyjson_val *v, *key;

	if (yyjson_is_obj(value)) {
		yyjson_obj_foreach(value, i, most, key, v)
			if (!is_option(options, key))
				return false;
		return true;
	}
	if (!yyjson_is_arr(value))
		return is_option(options, value);
	yyjson_arr_foreach(value, i, most, v)
		if (!is_option(options, v))
			return false;
	return true;
}

/* The first thing that is wrong with a value of the right type. */
static void
check_value(yyjson_val *row, struct str name, const struct value *v,
    struct param_faults *f)
{
	yyjson_val *options = yyjson_obj_get(row, "options");
	yyjson_val *regex = yyjson_obj_get(row, "regex");
	struct value least, most;
	bool has_least = take_value(row, STR("min"), &least);
	bool has_most = take_value(row, STR("max"), &most);

	if (has_least && read_date(&least) != NULL)
		least.number = yyjson_get_num(least.json);
	if (has_most && read_date(&most) != NULL)
		most.number = yyjson_get_num(most.json);
	if (v->is_number && has_least && v->number < least.number)
		add_fault(f, name, "is less than its min");
	else if (v->is_number && has_most && v->number > most.number)
		add_fault(f, name, "is greater than its max");
	else if (yyjson_arr_size(options) > 0 &&
	    !are_options(options, v->json))
		add_fault(f, name, "is none of its options");
	else if (!json_is_absent(regex) && v->text.p != NULL &&
	    !matches(regex, v->json))
		add_fault(f, name, "does not match its regex");
}

static yyjson_val *
find_row(yyjson_val *rows, struct str name)
{
	size_t i, most;
	yyjson_val *row;

	yyjson_arr_foreach(rows, i, most, row)
		if (str_eq(json_text(yyjson_obj_get(row, "name")), name))
			return row;
	return NULL;
}

/* Restrictions hold between two values that are both given and valid. */
static void
check_restrictions(yyjson_val *rows, yyjson_val *row, yyjson_val *params,
    const struct value *v, struct param_faults *f)
{
	yyjson_val *list = yyjson_obj_get(row, "restrictions"), *x;
	struct str name = json_text(yyjson_obj_get(row, "name"));
	size_t i, most;

	yyjson_arr_foreach(list, i, most, x) {
		struct str target = json_text(yyjson_obj_get(x, "target"));
		struct str said = json_text(yyjson_obj_get(x, "message"));
		yyjson_val *other = find_row(rows, target);
		const struct rule *rule = rule_of(x);
		struct value t;
		if (other == NULL || !take_value(params, target, &t) ||
		    type_of(other)->read(&t) != NULL || holds(rule, v, &t))
			continue;
		if (said.n > 0)
			add_fault(f, name, "%.*s", (int)MIN(said.n, 200),
			    said.p);
		else
			add_fault(f, name, "must be %s %.*s", rule->words,
			    (int)MIN(target.n, 100), target.p);
		return;
	}
}

bool
params_check(yyjson_val *rows, yyjson_val *params, struct param_faults *f)
{
	size_t i, most;
	yyjson_val *row;
	struct value v;

	yyjson_arr_foreach(rows, i, most, row) {
		struct str name = json_text(yyjson_obj_get(row, "name"));
		size_t before = f->n;
		if (!take_value(params, name, &v)) {
			if (yyjson_is_true(yyjson_obj_get(row, "req")))
				add_fault(f, name, "is missing");
			continue;
		}
		const char *must = type_of(row)->read(&v);
		if (must != NULL) {
			add_fault(f, name, "%s", must);
			continue;
		}
		check_value(row, name, &v, f);
		if (f->n == before)
			check_restrictions(rows, row, params, &v, f);
	}
	return f->n == 0;
}
