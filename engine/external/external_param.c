/*
 * The member `parameters` of a declaration: a JSON Schema of an object, whose
 * properties say with "x-ui" how people are asked for them.
 */
#include "base/text.h"
#include "engine/external/external_own.h"

#define PLACE "parameters"
#define PROPERTIES PLACE ".properties"

const struct external_ui_row external_ui_rows[EXTERNAL_UI_COUNT] = {
#define UI_ROW(id, ...) [EXTERNAL_##id] = { __VA_ARGS__ },
	EXTERNAL_UI_TABLE(UI_ROW)
#undef UI_ROW
};

const char *const external_rules[EXTERNAL_RULE_COUNT] = { "gt", "gte", "lt",
	"lte", "eq" };

size_t
external_param_find(const struct external_connector *c, struct str name)
{
	for (size_t i = 0; i < c->params_n; i++)
		if (str_eq(c->params[i].name, name))
			return i;
	return EXTERNAL_NO_PARAM;
}

/* ---- Type -------------------------------------------------------------- */

/* The type of a property without "x-ui". */
static enum external_ui
ui_of_type(yyjson_val *property)
{
	struct str type = json_text(yyjson_obj_get(property, "type"));

	if (str_eq(type, STR("boolean")))
		return EXTERNAL_BOOL;
	if (str_eq(type, STR("integer")))
		return EXTERNAL_INTEGER;
	if (str_eq(type, STR("array")))
		return EXTERNAL_MULTI_SEARCH;
	return yyjson_obj_get(property, "enum") != NULL ||
	    yyjson_obj_get(property, "oneOf") != NULL ? EXTERNAL_LIST :
	    EXTERNAL_STRING;
}

static enum err
read_ui(struct external_reading *r, yyjson_val *property, const char *place,
    struct external_param *p)
{
	const char *names[EXTERNAL_UI_COUNT];
	struct str type = STR_NONE;
	size_t ui;
	enum err e = OK;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		names[i] = external_ui_rows[i].name;
	p->ui = ui_of_type(property);
	/* The original's spelling. */
	if (yyjson_equals_str(yyjson_obj_get(property, "x-ui"), "interger"))
		p->ui = EXTERNAL_INTEGER;
	else if (yyjson_obj_get(property, "x-ui") != NULL) {
		e = external_read_word(r, property, place, "x-ui", names,
		    ARRAY_LEN(names), &ui);
		p->ui = e == OK ? (enum external_ui)ui : p->ui;
	}
	if (e == OK)
		e = external_read_text(r, property, place, "type", false,
		    &type);
	const struct external_ui_row *row = &external_ui_rows[p->ui];
	bool fits = row->json == NULL || str_eq(type, str_of(row->json)) ||
	    (p->ui == EXTERNAL_MULTI_BOOL && str_eq(type, STR("object")));
	if (e == OK && type.n > 0 && !fits)
		return external_read_refuse(r, external_read_join(r, place,
		    "type"), "a parameter of type %s is of type %s in JSON",
		    row->name, row->json);
	return e;
}

/* ---- Bounds and pattern ------------------------------------------------ */

static enum err
read_bound(struct external_reading *r, yyjson_val *property,
    const char *place, const char *name, struct external_param *p, bool *has,
    int64_t *out)
{
	yyjson_val *v = yyjson_obj_get(property, name);
	const char *at = external_read_join(r, place, name);
	struct str date;

	if (v == NULL)
		return OK;
	if (!external_ui_rows[p->ui].bounds)
		return external_read_refuse(r, at, "only integers and dates "
		    "have bounds");
	*has = p->ui == EXTERNAL_DATE ? external_value_read_date(v,
	    &r->connector->arena, &date, out) : external_value_read_int(v,
	    out);
	return *has ? OK : external_read_refuse(r, at, p->ui == EXTERNAL_DATE ?
	    "it is not a date" : "it is not a whole number");
}

static enum err
read_bounds(struct external_reading *r, yyjson_val *property,
    const char *place, struct external_param *p)
{
	enum err e = read_bound(r, property, place, "minimum", p,
	    &p->has_least, &p->least);

	if (e == OK)
		e = read_bound(r, property, place, "maximum", p, &p->has_most,
		    &p->most);
	if (e == OK && p->has_least && p->has_most && p->least > p->most)
		return external_read_refuse(r, external_read_join(r, place,
		    "maximum"), "it is below the minimum");
	return e;
}

static enum err
read_pattern(struct external_reading *r, yyjson_val *property,
    const char *place, struct external_param *p)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const char *at = external_read_join(r, place, "pattern");
	struct why cause = WHY_INIT;
	enum err e = external_read_text(r, property, place, "pattern", false,
	    &p->pattern);

	if (e != OK || p->pattern.n == 0)
		return e;
	if (!external_ui_rows[p->ui].pattern)
		return external_read_refuse(r, at, "only texts have a "
		    "pattern");
	buf_put_text(&text, "{\"pattern\":");
	text_json(&text, p->pattern);
	buf_put_char(&text, '}');
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	e = schema_compile(yyjson_doc_get_root(doc), &p->matches, &cause);
	yyjson_doc_free(doc);
	return e == OK ? OK : external_read_refuse(r, at, "%s", cause.text);
}

/* ---- Options ----------------------------------------------------------- */

/* `enum` has texts, `oneOf` objects of `const` and `title`. */
static enum err
read_option(struct external_reading *r, yyjson_val *v, const char *place,
    struct external_option *out)
{
	static const char *const names[] = { "const", "title", NULL };
	enum err e = OK;

	*out = (struct external_option){ json_text(v), STR_NONE };
	if (yyjson_is_obj(v)) {
		e = external_read_members(r, v, place, names);
		if (e == OK)
			e = external_read_text(r, v, place, "title", true,
			    &out->label);
		out->value = json_text(yyjson_obj_get(v, "const"));
	}
	if (e != OK)
		return e;
	if (out->value.n == 0 || out->value.n > EXTERNAL_VALUE_BYTES_MAX ||
	    text_has_control(out->value))
		return external_read_refuse(r, place, "it is not a text of one"
		    " line, of 1 to %u bytes", EXTERNAL_VALUE_BYTES_MAX);
	return OK;
}

static enum err
read_option_list(struct external_reading *r, yyjson_val *list,
    const char *place, bool objects, struct external_param *p)
{
	size_t i, n;
	yyjson_val *v;

	if (!external_ui_rows[p->ui].options)
		return external_read_refuse(r, place, "a parameter of type %s "
		    "has no options", external_ui_rows[p->ui].name);
	n = yyjson_arr_size(list);
	if (n == 0 || n > EXTERNAL_OPTIONS_MAX)
		return external_read_refuse(r, place, "it is not a list of 1 "
		    "to %u options", EXTERNAL_OPTIONS_MAX);
	p->options = ARENA_ARRAY(&r->connector->arena, struct external_option,
	    n);
	yyjson_arr_foreach(list, i, n, v) {
		const char *at = arena_printf(&r->connector->arena, "%s[%zu]",
		    place, i).p;
		if (yyjson_is_obj(v) != objects)
			return external_read_refuse(r, at, "it is not %s",
			    objects ? "an object of const and title" :
			    "a text");
		enum err e = read_option(r, v, at, &p->options[i]);
		if (e != OK)
			return e;
		for (size_t k = 0; k < i; k++)
			if (str_eq(p->options[k].value, p->options[i].value))
				return external_read_refuse(r, at, "it is there"
				    " twice");
		p->options_n++;
	}
	return OK;
}

static enum err
read_options(struct external_reading *r, yyjson_val *property,
    const char *place, struct external_param *p)
{
	yyjson_val *plain = yyjson_obj_get(property, "enum");
	yyjson_val *titled = yyjson_obj_get(property, "oneOf");

	if (plain != NULL && titled != NULL)
		return external_read_refuse(r, place, "it has both enum and "
		    "oneOf");
	if (plain != NULL)
		return read_option_list(r, plain, external_read_join(r, place,
		    "enum"), false, p);
	if (titled != NULL)
		return read_option_list(r, titled, external_read_join(r, place,
		    "oneOf"), true, p);
	return OK;
}

/* ---- Restrictions ------------------------------------------------------ */

/* Whether both can be compared: by value, or for equality alone. */
static bool
is_comparable(const struct external_param *a, const struct external_param *b,
    enum external_rule rule)
{
	bool ordered = a->ui == EXTERNAL_INTEGER || a->ui == EXTERNAL_DATE;
	bool text = a->ui == EXTERNAL_STRING || a->ui == EXTERNAL_LIST ||
	    a->ui == EXTERNAL_PASSWORD || a->ui == EXTERNAL_BOOL;

	return a->ui == b->ui && (ordered || (text && rule == EXTERNAL_EQ));
}

static enum err
read_restriction(struct external_reading *r, yyjson_val *v, const char *place,
    const struct external_param *p, struct external_restriction *out)
{
	static const char *const names[] = { "rule", "target", "message",
		NULL };
	struct external_connector *c = r->connector;
	struct str target;
	size_t rule;
	enum err e = external_read_members(r, v, place, names);

	if (e != OK || (e = external_read_word(r, v, place, "rule",
	    external_rules, ARRAY_LEN(external_rules), &rule)) != OK ||
	    (e = external_read_text(r, v, place, "target", true,
	    &target)) != OK || (e = external_read_text(r, v, place, "message",
	    false, &out->message)) != OK)
		return e;
	out->rule = (enum external_rule)rule;
	out->target = external_param_find(c, target);
	const char *at = external_read_join(r, place, "target");
	if (out->target == EXTERNAL_NO_PARAM)
		return external_read_refuse(r, at, "there is no such "
		    "parameter");
	if (!is_comparable(p, &c->params[out->target], out->rule))
		return external_read_refuse(r, at, "both must be integers or "
		    "both dates; for eq, both of one type with one value");
	if (out->message.n == 0)
		out->message = arena_printf(&c->arena, "it breaks the rule: %s"
		    " %.*s", external_rules[rule], STR_FMT(target));
	return OK;
}

static enum err
read_restrictions(struct external_reading *r, yyjson_val *property,
    const char *place, struct external_param *p)
{
	struct arena *a = &r->connector->arena;
	yyjson_val *list = yyjson_obj_get(property, "x-restrictions"), *v;
	size_t i, n;

	if (list == NULL)
		return OK;
	place = external_read_join(r, place, "x-restrictions");
	if (!yyjson_is_arr(list) ||
	    yyjson_arr_size(list) > EXTERNAL_RESTRICTIONS_MAX)
		return external_read_refuse(r, place, "it is not a list of at "
		    "most %u restrictions", EXTERNAL_RESTRICTIONS_MAX);
	p->restrictions = ARENA_ARRAY(a, struct external_restriction,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		enum err e = read_restriction(r, v, arena_printf(a, "%s[%zu]",
		    place, i).p, p, &p->restrictions[i]);
		if (e != OK)
			return e;
		p->restrictions_n++;
	}
	return OK;
}

/* ---- A parameter ------------------------------------------------------- */

static bool
is_param_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!ascii_is_alpha(name.p[i]) && !ascii_is_digit(name.p[i]) &&
		    !str_has_char(STR("_.-"), name.p[i]))
			return false;
	return name.n > 0 && name.n <= EXTERNAL_NAME_BYTES_MAX;
}

static enum err
read_seed_mark(struct external_reading *r, yyjson_val *property,
    const char *place, struct external_param *p)
{
	static const char *const words[] = { "token" };
	size_t word;

	if (yyjson_obj_get(property, "x-seed") == NULL)
		return OK;
	enum err e = external_read_word(r, property, place, "x-seed", words,
	    ARRAY_LEN(words), &word);
	if (e == OK && (!external_ui_rows[p->ui].place ||
	    p->ui == EXTERNAL_BOOL))
		e = external_read_refuse(r, external_read_join(r, place,
		    "x-seed"), "a parameter of type %s is no seed",
		    external_ui_rows[p->ui].name);
	p->is_seed = e == OK;
	return e;
}

static enum err
read_property(struct external_reading *r, struct str name,
    yyjson_val *property, const char *place, struct external_param *p)
{
	static const char *const names[] = { "type", "title", "description",
		"default", "minimum", "maximum", "pattern", "enum", "oneOf",
		"x-ui", "x-seed", "x-restrictions", "x-choices", NULL };
	enum err e;

	*p = (struct external_param){ .name = name };
	if (!is_param_name(name))
		return external_read_refuse(r, PROPERTIES, "a parameter's name "
		    "has 1 to %u letters, digits, \"_\", \".\" and \"-\"",
		    EXTERNAL_NAME_BYTES_MAX);
	if ((e = external_read_members(r, property, place, names)) != OK ||
	    (e = external_read_text(r, property, place, "title", false,
	    &p->title)) != OK || (e = external_read_text(r, property, place,
	    "description", false, &p->description)) != OK ||
	    (e = read_ui(r, property, place, p)) != OK ||
	    (e = read_seed_mark(r, property, place, p)) != OK ||
	    (e = read_bounds(r, property, place, p)) != OK ||
	    (e = read_options(r, property, place, p)) != OK ||
	    (e = external_choices_read(r, property, place, p)) != OK)
		return e;
	return read_pattern(r, property, place, p);
}

/* The members that depend on the rest of the parameter, or on other ones. */
static enum err
finish_property(struct external_reading *r, yyjson_val *property,
    const char *place, struct external_param *p)
{
	struct external_value value;
	enum err e = read_restrictions(r, property, place, p);

	yyjson_val *otherwise = yyjson_obj_get(property, "default");
	if (e != OK || json_is_absent(otherwise))
		return e;
	p->otherwise = otherwise;
	const char *wrong = external_value_read(p, p->otherwise,
	    &r->connector->arena, &value);
	return wrong == NULL ? OK : external_read_refuse(r,
	    external_read_join(r, place, "default"), "%s", wrong);
}

/* ---- All --------------------------------------------------------------- */

static enum err
read_required(struct external_reading *r, yyjson_val *list)
{
	struct external_connector *c = r->connector;
	size_t i, n;
	yyjson_val *v;

	if (list != NULL && !yyjson_is_arr(list))
		return external_read_refuse(r, PLACE ".required", "it is not a "
		    "list");
	yyjson_arr_foreach(list, i, n, v) {
		size_t at = external_param_find(c, json_text(v));
		if (at == EXTERNAL_NO_PARAM)
			return external_read_refuse(r, arena_printf(&c->arena,
			    PLACE ".required[%zu]", i).p,
			    "there is no such parameter");
		c->params[at].required = true;
	}
	return OK;
}

/* One parameter has the seeds of a run, which cannot be without them. */
static enum err
check_seeds(struct external_reading *r)
{
	struct external_connector *c = r->connector;
	size_t n = 0;

	for (size_t i = 0; i < c->params_n; i++) {
		const struct external_param *p = &c->params[i];
		const char *place = arena_printf(&c->arena, PROPERTIES
		    ".%.*s.x-seed", STR_FMT(p->name)).p;
		if (p->is_seed && ++n > 1)
			return external_read_refuse(r, place, "another "
			    "parameter has the seeds already");
		if (p->is_seed && !p->required && p->otherwise == NULL)
			return external_read_refuse(r, place, "the parameter "
			    "must be required, or have a default");
	}
	return OK;
}

static const char *
property_place(struct external_reading *r, struct str name)
{
	return arena_printf(&r->connector->arena, PROPERTIES ".%.*s",
	    STR_FMT(str_cut(name, 0, EXTERNAL_NAME_BYTES_MAX))).p;
}

static enum err
read_properties(struct external_reading *r, yyjson_val *properties)
{
	struct external_connector *c = r->connector;
	size_t i, n = yyjson_obj_size(properties);
	yyjson_val *key, *v;
	enum err e;

	if (properties != NULL && !yyjson_is_obj(properties))
		return external_read_refuse(r, PROPERTIES, "it is not an "
		    "object");
	if (n > EXTERNAL_PARAMS_MAX)
		return external_read_refuse(r, PROPERTIES, "there are more "
		    "than %u", EXTERNAL_PARAMS_MAX);
	c->params = ARENA_ARRAY(&c->arena, struct external_param, n);
	yyjson_obj_foreach(properties, i, n, key, v) {
		const char *place = property_place(r, json_text(key));
		if (external_param_find(c, json_text(key)) !=
		    EXTERNAL_NO_PARAM)
			return external_read_refuse(r, place, "it is there "
			    "twice");
		/* Counted first, so that its pattern is freed. */
		e = read_property(r, json_text(key), v, place,
		    &c->params[c->params_n++]);
		if (e != OK)
			return e;
	}
	return OK;
}

enum err
external_param_read_all(struct external_reading *r, yyjson_val *parameters)
{
	static const char *const names[] = { "type", "properties", "required",
		NULL };
	struct external_connector *c = r->connector;
	yyjson_val *properties = yyjson_obj_get(parameters, "properties");
	enum err e;

	if (parameters == NULL)
		return OK;
	if ((e = external_read_members(r, parameters, PLACE, names)) != OK)
		return e;
	if (!yyjson_equals_str(yyjson_obj_get(parameters, "type"), "object"))
		return external_read_refuse(r, PLACE ".type", "it is not "
		    "\"object\"");
	if ((e = read_properties(r, properties)) != OK || (e = read_required(r,
	    yyjson_obj_get(parameters, "required"))) != OK)
		return e;
	for (size_t i = 0; i < c->params_n && e == OK; i++)
		e = finish_property(r, yyjson_obj_getn(properties,
		    c->params[i].name.p, c->params[i].name.n),
		    property_place(r, c->params[i].name), &c->params[i]);
	return e == OK ? check_seeds(r) : e;
}
