/*
 * The keywords of both drafts, in one table: to which part of a node each
 * belongs, and how its value is read.  Other members of a schema are ignored.
 */
#include "engine/schema/schema_own.h"

/* The parts of a node; each is made for the first keyword that needs it. */
enum part {
	PART_NODE,
	PART_NUMBERS,
	PART_TEXTS,
	PART_ARRAYS,
	PART_OBJECTS,
	PART_LOGIC
};

struct keyword {
	const char *name;
	enum err (*read)(struct schema_compiler *, yyjson_val *, void *field);
	enum part part;
	size_t offset;               /* of the field in the part */
	unsigned draft;              /* the first that has it */
};

/* --- values of keywords ------------------------------------------------- */

/* uint64_t: an integer from 0 on, in any spelling. */
static enum err
read_count(struct schema_compiler *c, yyjson_val *v, void *field)
{
	char text[SCHEMA_NUMBER_TEXT_BYTES];
	struct schema_count *out = field;
	struct schema_number x;

	if (!schema_number_read(v, text, &x) || x.negative ||
	    !schema_number_is_integer(&x))
		return schema_compile_fault(c, ERR_INPUT,
		    "must be an integer that is not negative");
	*out = (struct schema_count){ schema_number_to_u64(&x), true };
	return OK;
}

static enum err
read_bound(struct schema_compiler *c, yyjson_val *v, void *field)
{
	char text[SCHEMA_NUMBER_TEXT_BYTES];
	struct schema_bound *out = field;

	/* All numbers of a schema are raw: the digits stay in its text. */
	if (!schema_number_read(v, text, &out->number))
		return schema_compile_fault(c, ERR_INPUT, "must be a number");
	out->text = (struct str){ yyjson_get_raw(v), yyjson_get_len(v) };
	return OK;
}

static enum err
read_multiple(struct schema_compiler *c, yyjson_val *v, void *field)
{
	const struct schema_bound *out = field;
	enum err e = read_bound(c, v, field);

	if (e != OK)
		return e;
	if (out->number.negative || schema_number_digits(&out->number) == 0)
		return schema_compile_fault(c, ERR_INPUT,
		    "must be greater than 0");
	if (schema_number_digits(&out->number) > SCHEMA_MULTIPLE_DIGITS_MAX)
		return schema_compile_fault(c, ERR_FULL,
		    "has more than %u digits", SCHEMA_MULTIPLE_DIGITS_MAX);
	return OK;
}

static enum err
read_unique(struct schema_compiler *c, yyjson_val *v, void *field)
{
	if (!yyjson_is_bool(v))
		return schema_compile_fault(c, ERR_INPUT,
		    "must be true or false");
	*(bool *)field = yyjson_get_bool(v);
	return OK;
}

static enum err
read_type(struct schema_compiler *c, yyjson_val *v, unsigned *types)
{
	size_t i = STR_ROW(json_text(v), schema_type_names);

	if (i == SCHEMA_TYPES_N)
		return schema_compile_fault(c, ERR_INPUT,
		    "must be null, boolean, object, array, number, string or "
		    "integer");
	*types |= 1u << i;
	return OK;
}

static enum err
read_types(struct schema_compiler *c, yyjson_val *v, void *field)
{
	const struct schema_place *before = c->place;
	unsigned *types = field;
	enum err e = OK;
	yyjson_val *name;
	size_t i, n;

	if (!yyjson_is_arr(v))
		return read_type(c, v, types);
	if (yyjson_arr_size(v) == 0)
		return schema_compile_fault(c, ERR_INPUT,
		    "must have at least one type");
	yyjson_arr_foreach(v, i, n, name) {
		schema_compile_enter_at(c, i);
		e = read_type(c, name, types);
		c->place = before;
		if (e != OK)
			break;
	}
	return e;
}

static enum err
read_choices(struct schema_compiler *c, yyjson_val *v, void *field)
{
	if (!yyjson_is_arr(v))
		return schema_compile_fault(c, ERR_INPUT, "must be an array");
	*(yyjson_val **)field = v;
	return OK;
}

static enum err
read_constant(struct schema_compiler *c, yyjson_val *v, void *field)
{
	(void)c;
	*(yyjson_val **)field = v;
	return OK;
}

static enum err
check_text(struct schema_compiler *c, yyjson_val *v)
{
	return yyjson_is_str(v) ? OK : schema_compile_fault(c, ERR_INPUT,
	    "must be a string");
}

static enum err
read_pattern_text(struct schema_compiler *c, struct str text,
    const struct schema_pattern **out)
{
	struct schema_pattern *p;
	struct why w = WHY_INIT;
	enum err e = schema_pattern_compile(text, &c->pattern_memory, c->a, &p,
	    &w);

	*out = p;
	return e == OK ? OK : schema_compile_fault(c, e, "%s", w.text);
}

static enum err
read_pattern(struct schema_compiler *c, yyjson_val *v, void *field)
{
	enum err e = check_text(c, v);

	return e != OK ? e : read_pattern_text(c, json_text(v), field);
}

static enum err
read_format(struct schema_compiler *c, yyjson_val *v, void *field)
{
	*(const struct schema_format **)field = schema_format_find(
	    json_text(v));
	return check_text(c, v);
}

static enum err
read_draft(struct schema_compiler *c, yyjson_val *v, void *field)
{
	(void)field;
	return schema_meta_draft(json_text(v)) != 0 ? OK :
	    schema_compile_fault(c, ERR_INPUT, "must be "
	    "\"http://json-schema.org/draft-06/schema#\" or "
	    "\"http://json-schema.org/draft-07/schema#\"");
}

/* --- subschemas --------------------------------------------------------- */

static enum err
read_node(struct schema_compiler *c, yyjson_val *v, void *field)
{
	return schema_compile_node(c, v, field);
}

static enum err
read_nodes(struct schema_compiler *c, yyjson_val *v, void *field)
{
	const struct schema_place *before = c->place;
	struct schema_nodes *out = field;
	enum err e = OK;
	yyjson_val *one;
	size_t i, n;

	if (!yyjson_is_arr(v))
		return schema_compile_fault(c, ERR_INPUT,
		    "must be an array of schemas");
	out->n = yyjson_arr_size(v);
	out->list = ARENA_ARRAY(c->a, const struct schema_node *, out->n);
	yyjson_arr_foreach(v, i, n, one) {
		schema_compile_enter_at(c, i);
		e = schema_compile_node(c, one, &out->list[i]);
		c->place = before;
		if (e != OK)
			break;
	}
	return e;
}

/* "allOf", "anyOf", "oneOf" */
static enum err
read_branches(struct schema_compiler *c, yyjson_val *v, void *field)
{
	if (yyjson_is_arr(v) && yyjson_arr_size(v) == 0)
		return schema_compile_fault(c, ERR_INPUT,
		    "must have at least one schema");
	return read_nodes(c, v, field);
}

static enum err
read_items(struct schema_compiler *c, yyjson_val *v, void *field)
{
	struct schema_arrays *arrays = field;

	return yyjson_is_arr(v) ? read_nodes(c, v, &arrays->items) :
	    read_node(c, v, &arrays->every);
}

static enum err
check_object(struct schema_compiler *c, yyjson_val *v)
{
	return yyjson_is_obj(v) ? OK : schema_compile_fault(c, ERR_INPUT,
	    "must be an object");
}

static enum err
check_names(struct schema_compiler *c, yyjson_val *v)
{
	yyjson_val *name;
	size_t i, n;

	if (!yyjson_is_arr(v))
		return schema_compile_fault(c, ERR_INPUT,
		    "must be an array of strings");
	yyjson_arr_foreach(v, i, n, name)
		if (!yyjson_is_str(name))
			return schema_compile_fault(c, ERR_INPUT,
			    "must be an array of strings");
	return OK;
}

/* "definitions": what only "$ref"s lead to. */
static enum err
read_definitions(struct schema_compiler *c, yyjson_val *v, void *field)
{
	const struct schema_place *before = c->place;
	const struct schema_node *node;
	enum err e = check_object(c, v);
	yyjson_val *key, *one;
	size_t i, n;

	(void)field;
	yyjson_obj_foreach(v, i, n, key, one) {
		if (e != OK)
			break;
		schema_compile_enter(c, json_text(key));
		e = schema_compile_node(c, one, &node);
		c->place = before;
	}
	return e;
}

static enum err
read_pattern_members(struct schema_compiler *c, yyjson_val *v, void *field)
{
	const struct schema_place *before = c->place;
	struct schema_objects *o = field;
	enum err e = check_object(c, v);
	yyjson_val *key, *one;
	size_t i, n;

	o->patterns_n = yyjson_obj_size(v);
	o->patterns = ARENA_ARRAY(c->a, struct schema_pattern_member,
	    o->patterns_n);
	yyjson_obj_foreach(v, i, n, key, one) {
		schema_compile_enter(c, json_text(key));
		e = read_pattern_text(c, json_text(key),
		    &o->patterns[i].pattern);
		if (e == OK)
			e = schema_compile_node(c, one, &o->patterns[i].value);
		c->place = before;
		if (e != OK)
			break;
	}
	return e;
}

static enum err
read_properties(struct schema_compiler *c, yyjson_val *v, void *field)
{
	*(yyjson_val **)field = v;
	return check_object(c, v);
}

static enum err
read_required(struct schema_compiler *c, yyjson_val *v, void *field)
{
	*(yyjson_val **)field = v;
	return check_names(c, v);
}

/* --- the table of members ----------------------------------------------- */

/* Keywords that are absent are NULL, which yyjson's loops do not take. */

static size_t
count_needs(yyjson_val *dependencies)
{
	yyjson_val *key, *needs;
	size_t i, n, sum = 0;

	if (dependencies == NULL)
		return 0;
	yyjson_obj_foreach(dependencies, i, n, key, needs)
		sum += yyjson_arr_size(needs);
	return sum;
}

static void
add_keys(struct schema_objects *o, yyjson_val *object)
{
	yyjson_val *key, *value;
	size_t i, n;

	if (object == NULL)
		return;
	yyjson_obj_foreach(object, i, n, key, value)
		o->members[o->members_n++].name = json_text(key);
}

static void
add_names(struct schema_objects *o, yyjson_val *names)
{
	yyjson_val *name;
	size_t i, n;

	if (names == NULL)
		return;
	yyjson_arr_foreach(names, i, n, name)
		o->members[o->members_n++].name = json_text(name);
}

static void
add_needs(struct schema_objects *o, yyjson_val *dependencies)
{
	yyjson_val *key, *needs;
	size_t i, n;

	if (dependencies == NULL)
		return;
	yyjson_obj_foreach(dependencies, i, n, key, needs)
		add_names(o, needs);
}

/* All names, sorted, each once. */
static void
make_members(struct schema_compiler *c, struct schema_objects *o)
{
	size_t most = yyjson_obj_size(o->properties) +
	    yyjson_arr_size(o->required) + yyjson_obj_size(o->dependencies) +
	    count_needs(o->dependencies);
	size_t kept = 0;

	o->members = ARENA_ARRAY(c->a, struct schema_member, most);
	add_keys(o, o->properties);
	add_names(o, o->required);
	add_keys(o, o->dependencies);
	add_needs(o, o->dependencies);
	qsort(o->members, o->members_n, sizeof(*o->members), str_order);
	for (size_t i = 0; i < o->members_n; i++)
		if (kept == 0 || !str_eq(o->members[kept - 1].name,
		    o->members[i].name))
			o->members[kept++].name = o->members[i].name;
	o->members_n = kept;
}

static enum err
compile_properties(struct schema_compiler *c, const struct schema_objects *o)
{
	enum err e = OK;
	yyjson_val *key, *v;
	size_t i, n;

	if (o->properties == NULL)
		return OK;
	schema_compile_enter(c, STR("properties"));
	const struct schema_place *before = c->place;
	yyjson_obj_foreach(o->properties, i, n, key, v) {
		schema_compile_enter(c, json_text(key));
		e = schema_compile_node(c, v,
		    &schema_member_find(o, json_text(key))->value);
		c->place = before;
		if (e != OK)
			return e;
	}
	c->place = before->above;
	return OK;
}

static enum err
compile_dependency(struct schema_compiler *c, yyjson_val *v,
    struct schema_member *m)
{
	if (!yyjson_is_arr(v))
		return schema_compile_node(c, v, &m->then);
	m->needs = v;
	return check_names(c, v);
}

static enum err
compile_dependencies(struct schema_compiler *c, const struct schema_objects *o)
{
	enum err e = OK;
	yyjson_val *key, *v;
	size_t i, n;

	if (o->dependencies == NULL)
		return OK;
	schema_compile_enter(c, STR("dependencies"));
	const struct schema_place *before = c->place;
	yyjson_obj_foreach(o->dependencies, i, n, key, v) {
		schema_compile_enter(c, json_text(key));
		e = compile_dependency(c, v,
		    schema_member_find(o, json_text(key)));
		c->place = before;
		if (e != OK)
			return e;
	}
	c->place = before->above;
	return OK;
}

static void
mark_required(const struct schema_objects *o)
{
	yyjson_val *name;
	size_t i, n;

	if (o->required == NULL)
		return;
	yyjson_arr_foreach(o->required, i, n, name)
		schema_member_find(o, json_text(name))->required = true;
}

static enum err
compile_members(struct schema_compiler *c, struct schema_objects *o)
{
	make_members(c, o);
	mark_required(o);
	enum err e = compile_properties(c, o);
	return e == OK ? compile_dependencies(c, o) : e;
}

struct schema_member *
schema_member_find(const struct schema_objects *o, struct str name)
{
	return o->members_n == 0 ? NULL : bsearch(&name, o->members,
	    o->members_n, sizeof(*o->members), str_order);
}

/* --- the table of keywords ---------------------------------------------- */

#define NODE(field) PART_NODE, offsetof(struct schema_node, field)
#define NUMBERS(field) PART_NUMBERS, offsetof(struct schema_numbers, field)
#define TEXTS(field) PART_TEXTS, offsetof(struct schema_texts, field)
#define ARRAYS(field) PART_ARRAYS, offsetof(struct schema_arrays, field)
#define OBJECTS(field) PART_OBJECTS, offsetof(struct schema_objects, field)
#define LOGIC(field) PART_LOGIC, offsetof(struct schema_logic, field)

static const struct keyword keywords[] = {
	{ "$schema", read_draft, PART_NODE, 0, 6 },
	{ "definitions", read_definitions, PART_NODE, 0, 6 },
	{ "type", read_types, NODE(types), 6 },
	{ "enum", read_choices, NODE(choices), 6 },
	{ "const", read_constant, NODE(constant), 6 },
	{ "multipleOf", read_multiple, NUMBERS(multiple_of), 6 },
	{ "minimum", read_bound, NUMBERS(minimum), 6 },
	{ "maximum", read_bound, NUMBERS(maximum), 6 },
	{ "exclusiveMinimum", read_bound, NUMBERS(above), 6 },
	{ "exclusiveMaximum", read_bound, NUMBERS(below), 6 },
	{ "minLength", read_count, TEXTS(least), 6 },
	{ "maxLength", read_count, TEXTS(most), 6 },
	{ "pattern", read_pattern, TEXTS(pattern), 6 },
	{ "format", read_format, TEXTS(format), 6 },
	{ "minItems", read_count, ARRAYS(least), 6 },
	{ "maxItems", read_count, ARRAYS(most), 6 },
	{ "uniqueItems", read_unique, ARRAYS(unique), 6 },
	{ "items", read_items, PART_ARRAYS, 0, 6 },
	{ "additionalItems", read_node, ARRAYS(additional), 6 },
	{ "contains", read_node, ARRAYS(contains), 6 },
	{ "minProperties", read_count, OBJECTS(least), 6 },
	{ "maxProperties", read_count, OBJECTS(most), 6 },
	{ "required", read_required, OBJECTS(required), 6 },
	{ "properties", read_properties, OBJECTS(properties), 6 },
	{ "patternProperties", read_pattern_members, PART_OBJECTS, 0, 6 },
	{ "additionalProperties", read_node, OBJECTS(additional), 6 },
	{ "propertyNames", read_node, OBJECTS(names), 6 },
	{ "dependencies", read_properties, OBJECTS(dependencies), 6 },
	{ "allOf", read_branches, LOGIC(all), 6 },
	{ "anyOf", read_branches, LOGIC(any), 6 },
	{ "oneOf", read_branches, LOGIC(one), 6 },
	{ "not", read_node, LOGIC(never), 6 },
	{ "if", read_node, LOGIC(condition), 7 },
	{ "then", read_node, LOGIC(then), 7 },
	{ "else", read_node, LOGIC(otherwise), 7 },
};

/* The part of a node, which is made if need be. */
#define PART_OF(c, node, field, type)                                        \
	((node)->field != NULL ? (node)->field :                             \
	((node)->field = ARENA_NEW((c)->a, type)))

static void *
find_part(struct schema_compiler *c, struct schema_node *node, enum part part)
{
	switch (part) {
	case PART_NODE:
		break;
	case PART_NUMBERS:
		return PART_OF(c, node, numbers, struct schema_numbers);
	case PART_TEXTS:
		return PART_OF(c, node, texts, struct schema_texts);
	case PART_ARRAYS:
		return PART_OF(c, node, arrays, struct schema_arrays);
	case PART_OBJECTS:
		return PART_OF(c, node, objects, struct schema_objects);
	case PART_LOGIC:
		return PART_OF(c, node, logic, struct schema_logic);
	}
	return node;
}

static enum err
read_keyword(struct schema_compiler *c, const struct keyword *k,
    yyjson_val *v, struct schema_node *node)
{
	const struct schema_place *before = c->place;
	char *part = find_part(c, node, k->part);

	schema_compile_enter(c, str_of(k->name));
	enum err e = k->read(c, v, part + k->offset);
	c->place = before;
	return e;
}

enum err
schema_compile_keywords(struct schema_compiler *c, yyjson_val *schema,
    struct schema_node *node)
{
	yyjson_val *ref = yyjson_obj_get(schema, "$ref");
	enum err e = OK;
	yyjson_val *key, *v;
	size_t i, n;

	if (ref != NULL)
		return schema_compile_ref(c, ref, node);
	yyjson_obj_foreach(schema, i, n, key, v) {
		size_t k = STR_ROW(json_text(key), keywords);
		if (k == ARRAY_LEN(keywords) || keywords[k].draft > c->draft)
			continue;
		e = read_keyword(c, &keywords[k], v, node);
		if (e != OK)
			return e;
	}
	return node->objects == NULL ? OK : compile_members(c, node->objects);
}
