/*
 * A check walks the value and the nodes that apply to it, depth first.  While
 * it reports, it goes on after a fault; inside "anyOf", "not" and the like it
 * is quiet, and the first fault decides.
 */
#include <stdarg.h>

#include "base/text.h"
#include "engine/schema/schema_own.h"

struct check {
	struct schema_budget budget;
	struct schema_matcher matcher;
	const struct schema_place *place;    /* in the value */
	unsigned quiet;              /* not 0: faults are not reported */
	bool over;                   /* enough faults, or no budget */
	struct buf marks;            /* of members, a byte for each */
	size_t faults_n, most;
	schema_fault_fn *report;
	void *arg;
};

static bool apply_node(struct check *, const struct schema_node *,
    yyjson_val *);

/* --- faults ------------------------------------------------------------- */

static void
report_fault(struct check *c, const char *fmt, va_list ap)
{
	FREED(buf_free) struct buf pointer = BUF_INIT;
	char text[SCHEMA_MESSAGE_BYTES_MAX + 1];

	vsnprintf(text, sizeof(text), fmt, ap);
	struct str message = str_of(text);
	/* The cut may have split a character. */
	while (message.n > 0 && !text_is_utf8(message))
		message.n--;
	schema_place_put(&pointer, c->place);
	c->report(c->arg, pointer.n == 0 ? STR("") : buf_str(&pointer),
	    message);
	if (++c->faults_n == c->most)
		c->over = true;
}

/* Whether a fault is worth a message. */
static bool
is_reporting(const struct check *c)
{
	return c->quiet == 0 && !c->over;
}

/* The value has a fault; returns false. */
PRINTF_LIKE(2, 3) static bool
note_fault(struct check *c, const char *fmt, ...)
{
	va_list ap;

	if (is_reporting(c)) {
		va_start(ap, fmt);
		report_fault(c, fmt, ap);
		va_end(ap);
	}
	return false;
}

/* The check ends here, quiet or not. */
PRINTF_LIKE(2, 3) static bool
give_up(struct check *c, const char *fmt, ...)
{
	va_list ap;

	if (!c->over && c->most > 0) {
		va_start(ap, fmt);
		report_fault(c, fmt, ap);
		va_end(ap);
	}
	c->over = true;
	return false;
}

/* Whether to leave after a fault. */
static bool
is_decided(const struct check *c)
{
	return c->quiet > 0 || c->over;
}

/* Give up when the budget has not sufficed. */
static bool
has_budget(struct check *c)
{
	if (c->budget.too_deep)
		return give_up(c, "the check was given up: it is more than %u"
		    " levels deep", SCHEMA_CHECK_DEPTH_MAX);
	if (c->budget.too_long)
		return give_up(c, "the check was given up: it takes more than"
		    " %u steps", SCHEMA_CHECK_STEPS_MAX);
	return !c->over;
}

static bool
take_steps(struct check *c, size_t n)
{
	(void)schema_budget_take(&c->budget, n);
	return has_budget(c);
}

static bool
take_value(struct check *c, yyjson_val *v)
{
	(void)schema_budget_take_value(&c->budget, v);
	return has_budget(c);
}

/* Apply without a report. */
static bool
is_valid(struct check *c, const struct schema_node *node, yyjson_val *v)
{
	c->quiet++;
	bool valid = apply_node(c, node, v);
	c->quiet--;
	return valid;
}

/* Apply to what is one step below the place. */
static bool
apply_below(struct check *c, const struct schema_node *node, yyjson_val *v,
    struct str key, size_t index)
{
	const struct schema_place below = { c->place, key, index };

	c->place = &below;
	bool valid = apply_node(c, node, v);
	c->place = below.above;
	return valid;
}

/* --- any value ---------------------------------------------------------- */

static void
put_types(struct buf *out, unsigned types)
{
	for (size_t i = 0; i < SCHEMA_TYPES_N; i++) {
		if ((types & 1u << i) == 0)
			continue;
		if (out->n > 0)
			buf_put_text(out, " or ");
		buf_put_text(out, schema_type_names[i]);
	}
}

static bool
check_type(struct check *c, const struct schema_node *node, yyjson_val *v)
{
	if (node->types == 0)
		return true;
	if (!take_value(c, v))
		return false;
	unsigned type = schema_type_of(v);
	if ((node->types & type) != 0)
		return true;
	if (!is_reporting(c))
		return false;
	FREED(buf_free) struct buf wanted = BUF_INIT;
	FREED(buf_free) struct buf found = BUF_INIT;
	put_types(&wanted, node->types);
	/* An integer is only called so. */
	put_types(&found, (type & SCHEMA_TYPE_INTEGER) != 0 ?
	    SCHEMA_TYPE_INTEGER : type);
	return note_fault(c, "must be %s, not %s", buf_text(&wanted),
	    buf_text(&found));
}

static bool
check_choices(struct check *c, yyjson_val *choices, yyjson_val *v)
{
	yyjson_val *one;
	size_t i, n;

	yyjson_arr_foreach(choices, i, n, one) {
		if (schema_value_equal(one, v, &c->budget))
			return true;
		if (!has_budget(c))
			return false;
	}
	return note_fault(c, "is none of the %zu values of \"enum\"",
	    yyjson_arr_size(choices));
}

static bool
check_constant(struct check *c, yyjson_val *constant, yyjson_val *v)
{
	if (schema_value_equal(constant, v, &c->budget))
		return true;
	if (!has_budget(c) || !is_reporting(c))
		return false;
	if (yyjson_is_str(constant))
		return note_fault(c, "must be %s",
		    schema_quote(json_text(constant)).text);
	char *text = yyjson_val_write(constant, 0, NULL);
	note_fault(c, "must be %.*s%s", (int)SCHEMA_QUOTED_BYTES, text,
	    strlen(text) > SCHEMA_QUOTED_BYTES ? "..." : "");
	free(text);
	return false;
}

/* --- numbers ------------------------------------------------------------ */

static bool
check_bound(struct check *c, const struct schema_bound *b,
    const struct schema_number *x, bool (*holds)(int), const char *words)
{
	if (b->text.p == NULL || holds(schema_number_cmp(x, &b->number)))
		return true;
	return note_fault(c, "must be %s %.*s", words,
	    (int)MIN(b->text.n, SCHEMA_QUOTED_BYTES), b->text.p);
}

static bool
is_not_less(int cmp)
{
	return cmp >= 0;
}

static bool
is_not_more(int cmp)
{
	return cmp <= 0;
}

static bool
is_more(int cmp)
{
	return cmp > 0;
}

static bool
is_less(int cmp)
{
	return cmp < 0;
}

static bool
check_number(struct check *c, const struct schema_numbers *n, yyjson_val *v)
{
	char text[SCHEMA_NUMBER_TEXT_BYTES];
	struct schema_number x;
	bool valid;

	if (!take_value(c, v))
		return false;
	if (!schema_number_read(v, text, &x))
		return true;
	valid = check_bound(c, &n->minimum, &x, is_not_less, "at least");
	valid &= check_bound(c, &n->maximum, &x, is_not_more, "at most");
	valid &= check_bound(c, &n->above, &x, is_more, "more than");
	valid &= check_bound(c, &n->below, &x, is_less, "less than");
	if (n->multiple_of.text.p != NULL &&
	    !schema_number_is_multiple(&x, &n->multiple_of.number))
		valid = note_fault(c, "must be a multiple of %.*s",
		    (int)MIN(n->multiple_of.text.n, SCHEMA_QUOTED_BYTES),
		    n->multiple_of.text.p);
	return valid;
}

/* --- texts -------------------------------------------------------------- */

/* Between two counts; `what` is in the plural. */
static bool
check_count(struct check *c, const struct schema_count *least,
    const struct schema_count *most, size_t n, const char *what)
{
	if (least->has && n < least->n)
		return note_fault(c, "must have at least %ju %s, and has %zu",
		    (uintmax_t)least->n, what, n);
	if (most->has && n > most->n)
		return note_fault(c, "must have at most %ju %s, and has %zu",
		    (uintmax_t)most->n, what, n);
	return true;
}

static size_t
count_characters(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

/* Whether the text matches.  Gives up if that cannot be found out. */
static bool
match_pattern(struct check *c, const struct schema_pattern *p, struct str s)
{
	enum schema_match m = schema_pattern_match(p, s, &c->matcher);

	if (m == SCHEMA_GAVE_UP && c->budget.steps > 0)
		return give_up(c, "the check was given up: the pattern %s"
		    " needs too much memory",
		    schema_quote(schema_pattern_text(p)).text);
	if (m == SCHEMA_GAVE_UP)
		c->budget.too_long = true;
	return has_budget(c) && m == SCHEMA_MATCH;
}

static bool
check_pattern(struct check *c, const struct schema_pattern *p, struct str s)
{
	if (p == NULL || match_pattern(c, p, s))
		return true;
	if (!is_reporting(c))
		return false;
	return note_fault(c, "must match the pattern %s",
	    schema_quote(schema_pattern_text(p)).text);
}

static bool
check_format(struct check *c, const struct schema_format *f, struct str s)
{
	if (f == NULL)
		return true;
	if (!take_steps(c, f->steps + s.n))
		return false;
	return f->is_valid(s) || note_fault(c, "must be of the format \"%s\"",
	    f->name);
}

static bool
check_text(struct check *c, const struct schema_texts *t, yyjson_val *v)
{
	struct str s = json_text(v);

	if (!take_value(c, v))
		return false;
	bool valid = check_count(c, &t->least, &t->most, count_characters(s),
	    "characters");
	if (!valid && is_decided(c))
		return false;
	valid &= check_pattern(c, t->pattern, s);
	return valid & check_format(c, t->format, s);
}

/* --- arrays ------------------------------------------------------------- */

/* The node that applies to the element at `i`; NULL: none. */
static const struct schema_node *
find_item(const struct schema_arrays *a, size_t i)
{
	if (a->items.list == NULL)
		return a->every;
	return i < a->items.n ? a->items.list[i] : a->additional;
}

static bool
check_items(struct check *c, const struct schema_arrays *a, yyjson_val *v)
{
	bool valid = true;
	yyjson_val *one;
	size_t i, n;

	yyjson_arr_foreach(v, i, n, one) {
		const struct schema_node *node = find_item(a, i);
		if (node == NULL)
			continue;
		valid &= apply_below(c, node, one, STR_NONE, i);
		if (!valid && is_decided(c))
			break;
	}
	return valid;
}

static bool
check_contains(struct check *c, const struct schema_node *node, yyjson_val *v)
{
	yyjson_val *one;
	size_t i, n;

	if (node == NULL)
		return true;
	yyjson_arr_foreach(v, i, n, one) {
		if (is_valid(c, node, one))
			return true;
		if (c->over)
			return false;
	}
	return note_fault(c, "has no element as \"contains\" wants it");
}

static bool
check_unique(struct check *c, yyjson_val *v)
{
	size_t first, second;

	if (!schema_value_find_twin(v, &c->budget, &first, &second))
		return has_budget(c);
	return note_fault(c, "has equal elements: %zu and %zu", first, second);
}

static bool
check_array(struct check *c, const struct schema_arrays *a, yyjson_val *v)
{
	bool valid = check_count(c, &a->least, &a->most, yyjson_arr_size(v),
	    "elements");

	if (!valid && is_decided(c))
		return false;
	if (!take_steps(c, yyjson_arr_size(v) / SCHEMA_STEP_BYTES))
		return false;
	if (a->every != NULL || a->items.list != NULL)
		valid &= check_items(c, a, v);
	if (!valid && is_decided(c))
		return false;
	valid &= check_contains(c, a->contains, v);
	if (a->unique && !c->over)
		valid &= check_unique(c, v);
	return valid;
}

/* --- objects ------------------------------------------------------------ */

static bool
check_name(struct check *c, const struct schema_node *names, yyjson_val *key)
{
	if (names == NULL || is_valid(c, names, key))
		return true;
	return note_fault(c, "has a name that \"propertyNames\" refuses");
}

/* A member, at its place: by its name, by patterns, or else by the rest. */
static bool
check_member(struct check *c, const struct schema_objects *o,
    const struct schema_member *m, yyjson_val *key, yyjson_val *v)
{
	bool known = m != NULL && m->value != NULL;
	bool valid = check_name(c, o->names, key);

	if (known && !(!valid && is_decided(c)))
		valid &= apply_node(c, m->value, v);
	for (size_t i = 0; i < o->patterns_n; i++) {
		if (!valid && is_decided(c))
			return false;
		if (!match_pattern(c, o->patterns[i].pattern, json_text(key)))
			continue;
		known = true;
		valid &= apply_node(c, o->patterns[i].value, v);
	}
	if (c->over)
		return false;
	if (!known && o->additional != NULL)
		valid &= apply_node(c, o->additional, v);
	return valid;
}

static bool
check_members(struct check *c, const struct schema_objects *o, yyjson_val *v,
    size_t marks)
{
	bool valid = true;
	yyjson_val *key, *one;
	size_t i, n;

	yyjson_obj_foreach(v, i, n, key, one) {
		struct str name = json_text(key);
		const struct schema_place place = { c->place, name, 0 };
		if (!take_steps(c, 1 + name.n / SCHEMA_STEP_BYTES))
			return false;
		const struct schema_member *m = schema_member_find(o, name);
		if (m != NULL)
			c->marks.p[marks + (size_t)(m - o->members)] = 1;
		c->place = &place;
		valid &= check_member(c, o, m, key, one);
		c->place = place.above;
		if (!valid && is_decided(c))
			return false;
	}
	return valid;
}

static bool
is_present(const struct check *c, const struct schema_objects *o, size_t marks,
    const struct schema_member *m)
{
	return c->marks.p[marks + (size_t)(m - o->members)] != 0;
}

static bool
check_needs(struct check *c, const struct schema_objects *o,
    const struct schema_member *m, size_t marks)
{
	bool valid = true;
	yyjson_val *name;
	size_t i, n;

	if (m->needs == NULL)
		return true;
	yyjson_arr_foreach(m->needs, i, n, name) {
		struct str text = json_text(name);
		if (!take_steps(c, 1 + text.n / SCHEMA_STEP_BYTES))
			return false;
		if (is_present(c, o, marks, schema_member_find(o, text)))
			continue;
		valid = false;
		if (is_decided(c))
			break;
		note_fault(c, "lacks the member %s, which %s needs",
		    schema_quote(text).text,
		    schema_quote(m->name).text);
	}
	return valid;
}

/* "required", and "dependencies" of the members that are there. */
static bool
check_presence(struct check *c, const struct schema_objects *o, yyjson_val *v,
    size_t marks)
{
	bool valid = true;

	for (size_t i = 0; i < o->members_n; i++) {
		const struct schema_member *m = &o->members[i];
		if (!valid && is_decided(c))
			return false;
		if (is_present(c, o, marks, m)) {
			valid &= check_needs(c, o, m, marks);
			if (m->then != NULL && !c->over)
				valid &= apply_node(c, m->then, v);
		} else if (m->required) {
			valid = false;
			if (is_reporting(c))
				note_fault(c, "lacks the member %s",
				    schema_quote(m->name).text);
		}
	}
	return valid;
}

static bool
check_object(struct check *c, const struct schema_objects *o, yyjson_val *v)
{
	size_t marks = c->marks.n;
	bool valid = check_count(c, &o->least, &o->most, yyjson_obj_size(v),
	    "members");

	if (!valid && is_decided(c))
		return false;
	if (!take_steps(c, o->members_n / SCHEMA_STEP_BYTES))
		return false;
	if (o->members_n > 0)
		memset(buf_grow(&c->marks, o->members_n), 0, o->members_n);
	valid &= check_members(c, o, v, marks);
	if (valid || !is_decided(c))
		valid &= check_presence(c, o, v, marks);
	c->marks.n = marks;
	return valid;
}

/* --- subschemas for the same value -------------------------------------- */

static bool
check_all(struct check *c, const struct schema_nodes *all, yyjson_val *v)
{
	bool valid = true;

	for (size_t i = 0; i < all->n; i++) {
		valid &= apply_node(c, all->list[i], v);
		if (!valid && is_decided(c))
			break;
	}
	return valid;
}

/* How many of them the value is valid under, counted up to `most`. */
static size_t
count_valid(struct check *c, const struct schema_nodes *nodes, yyjson_val *v,
    size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < nodes->n && n < most && !c->over; i++)
		n += is_valid(c, nodes->list[i], v);
	return n;
}

static bool
check_any(struct check *c, const struct schema_nodes *any, yyjson_val *v)
{
	if (any->n == 0 || count_valid(c, any, v, 1) == 1)
		return true;
	return note_fault(c, "is valid under none of the %zu schemas of "
	    "\"anyOf\"", any->n);
}

static bool
check_one(struct check *c, const struct schema_nodes *one, yyjson_val *v)
{
	if (one->n == 0)
		return true;
	size_t n = count_valid(c, one, v, 2);
	if (n == 1)
		return true;
	return note_fault(c, "must be valid under one of the %zu schemas of "
	    "\"oneOf\", and is under %s", one->n, n == 0 ? "none" : "more");
}

static bool
check_never(struct check *c, const struct schema_node *never, yyjson_val *v)
{
	if (never == NULL || !is_valid(c, never, v))
		return true;
	return note_fault(c, "is valid under the schema of \"not\"");
}

static bool
check_condition(struct check *c, const struct schema_logic *l, yyjson_val *v)
{
	if (l->condition == NULL || (l->then == NULL && l->otherwise == NULL))
		return true;
	const struct schema_node *next = is_valid(c, l->condition, v) ?
	    l->then : l->otherwise;
	return next == NULL || c->over || apply_node(c, next, v);
}

static bool
check_logic(struct check *c, const struct schema_logic *l, yyjson_val *v)
{
	bool valid = check_all(c, &l->all, v);

	if (valid || !is_decided(c))
		valid &= check_any(c, &l->any, v);
	if (valid || !is_decided(c))
		valid &= check_one(c, &l->one, v);
	if (valid || !is_decided(c))
		valid &= check_never(c, l->never, v);
	if (valid || !is_decided(c))
		valid &= check_condition(c, l, v);
	return valid;
}

/* --- nodes -------------------------------------------------------------- */

/* Keywords for values of every type. */
static bool
check_value(struct check *c, const struct schema_node *node, yyjson_val *v)
{
	bool valid = check_type(c, node, v);

	if (node->choices != NULL && (valid || !is_decided(c)))
		valid &= check_choices(c, node->choices, v);
	if (node->constant != NULL && (valid || !is_decided(c)))
		valid &= check_constant(c, node->constant, v);
	return valid;
}

static bool
check_by_type(struct check *c, const struct schema_node *node, yyjson_val *v)
{
	if (yyjson_is_str(v))
		return node->texts == NULL || check_text(c, node->texts, v);
	if (yyjson_is_arr(v))
		return node->arrays == NULL || check_array(c, node->arrays, v);
	if (yyjson_is_obj(v))
		return node->objects == NULL ||
		    check_object(c, node->objects, v);
	return node->numbers == NULL || check_number(c, node->numbers, v);
}

static bool
check_node(struct check *c, const struct schema_node *node, yyjson_val *v)
{
	while (node->target != NULL) {
		if (!take_steps(c, 1))
			return false;
		node = node->target;
	}
	if (node->refuses_all)
		return note_fault(c, "is not allowed");
	bool valid = check_value(c, node, v);
	if (valid || !is_decided(c))
		valid &= check_by_type(c, node, v);
	if (node->logic != NULL && (valid || !is_decided(c)))
		valid &= check_logic(c, node->logic, v);
	return valid && !c->over;
}

static bool
apply_node(struct check *c, const struct schema_node *node, yyjson_val *v)
{
	if (!take_steps(c, 1))
		return false;
	if (!schema_budget_enter(&c->budget))
		return has_budget(c);
	bool valid = check_node(c, node, v);
	schema_budget_leave(&c->budget);
	return valid;
}

bool
schema_check(const struct schema *s, yyjson_val *value, size_t most,
    schema_fault_fn *fault, void *arg)
{
	struct check c = {
		.budget = { SCHEMA_CHECK_STEPS_MAX, SCHEMA_CHECK_DEPTH_MAX,
			false, false },
		.quiet = most == 0, .most = most, .report = fault, .arg = arg,
	};

	c.matcher.steps = &c.budget.steps;
	bool valid = apply_node(&c, s->root, value);
	schema_matcher_free(&c.matcher);
	buf_free(&c.marks);
	return valid;
}
