/*
 * Matching, from right to left: the last compound is asked of a node, then the
 * one before it of the nodes to which the combinator leads.  A failure says
 * how far it reaches, so that no node is asked twice in vain: "a b c" on a
 * deep tree is linear in the depth.
 */
#include "script/web/selector_own.h"

enum verdict {
	MATCH,
	FAIL_HERE,           /* this node does not */
	FAIL_SIBLINGS,       /* neither does one beside it */
	FAIL_ALL,            /* nor one above it */
};

/* The place of an element among those of its parent that a test counts. */
struct place {
	const struct test *test;
	uint32_t parent, node;
	const struct name *name;
	uint32_t index;      /* of `node`, from 1 */
	uint32_t total;      /* 0: not counted */
};
#define PLACES 64u

struct matcher {
	const struct document *d;
	struct poll *poll;
	uint32_t scope;      /* what :scope is; 0: the root element */
	uint32_t anchor;     /* what a relative branch stands to */
	struct out room;     /* of :contains() */
	struct place places[PLACES];
};

static bool match_compound(struct matcher *, const struct compound *,
    uint32_t);

static const struct node *
node_of(const struct matcher *m, uint32_t n)
{
	return &m->d->nodes[n];
}

static bool
is_inside(const struct matcher *m, uint32_t node, uint32_t root)
{
	return node > root && node <= node_of(m, root)->end;
}

/* Whether the first compound's node stands to the anchor as it must. */
static enum verdict
match_anchor(const struct matcher *m, uint8_t combinator, uint32_t at)
{
	switch (combinator) {
	case CHILD_OF:
		return node_of(m, at)->parent == m->anchor ? MATCH :
		    FAIL_HERE;
	case AFTER_NEXT:
		return document_prev_element(m->d, at) == m->anchor ? MATCH :
		    FAIL_HERE;
	case AFTER_ANY:
		return node_of(m, at)->parent == node_of(m, m->anchor)->parent
		    && at > m->anchor ? MATCH : FAIL_HERE;
	default:
		return is_inside(m, at, m->anchor) ? MATCH : FAIL_ALL;
	}
}

static enum verdict
match_from(struct matcher *m, const struct branch *b, uint32_t i, uint32_t at)
{
	const struct compound *c = &b->compounds[i];
	enum verdict v;

	if (poll_step(m->poll))
		return FAIL_ALL;
	if (!match_compound(m, c, at))
		return FAIL_HERE;
	if (i == 0)
		return b->relative ? match_anchor(m, c->combinator, at) :
		    MATCH;
	switch (c->combinator) {
	case BELOW:
		while ((at = document_parent_element(m->d, at)) != NODE_NONE) {
			v = match_from(m, b, i - 1, at);
			if (v == MATCH || v == FAIL_ALL)
				return v;
		}
		return FAIL_ALL;
	case CHILD_OF:
		at = document_parent_element(m->d, at);
		v = at == NODE_NONE ? FAIL_ALL : match_from(m, b, i - 1, at);
		return v == MATCH || v == FAIL_ALL ? v : FAIL_SIBLINGS;
	case AFTER_NEXT:
		at = document_prev_element(m->d, at);
		return at == NODE_NONE ? FAIL_SIBLINGS :
		    match_from(m, b, i - 1, at);
	default:
		while ((at = document_prev_element(m->d, at)) != NODE_NONE) {
			v = match_from(m, b, i - 1, at);
			if (v != FAIL_HERE)
				return v;
		}
		return FAIL_SIBLINGS;
	}
}

static bool
match_branch(struct matcher *m, const struct branch *b, uint32_t at)
{
	return match_from(m, b, b->n - 1, at) == MATCH;
}

static bool
match_list(struct matcher *m, const struct branch *list, uint32_t n,
    uint32_t at)
{
	for (uint32_t i = 0; i < n; i++)
		if (match_branch(m, &list[i], at))
			return true;
	return false;
}

/* ---- Single tests ----------------------------------------------------- */

static bool
equal(struct str a, struct str b, bool nocase)
{
	return nocase ? str_eq_nocase(a, b) : str_eq(a, b);
}

static bool
has_part(struct str s, struct str part, bool nocase)
{
	if (!nocase)
		return str_find(s, part) < s.n;
	for (size_t i = 0; i + part.n <= s.n; i++)
		if (str_eq_nocase(str_cut(s, i, i + part.n), part))
			return true;
	return false;
}

/* One of the words between blanks. */
static bool
has_word(struct str s, struct str word, bool nocase)
{
	size_t i = 0, start;

	while (i < s.n) {
		while (i < s.n && ascii_is_space(s.p[i]))
			i++;
		for (start = i; i < s.n && !ascii_is_space(s.p[i]); )
			i++;
		if (i - start == word.n && word.n != 0 &&
		    equal(str_cut(s, start, i), word, nocase))
			return true;
	}
	return false;
}

/*
 * Reading a long text counts as a walk of as many steps as it is worth.  True
 * when the poll says stop.
 */
static bool
is_cut(struct matcher *m, struct str s)
{
	m->poll->steps += (unsigned)MIN(s.n / 256, POLL_STEPS);
	return poll_step(m->poll);
}

static bool
match_value(const struct test *t, struct str s)
{
	struct str v = t->value;
	size_t n = v.n;

	switch (t->match) {
	case ATTR_THERE:
		return true;
	case ATTR_EQUAL:
		return equal(s, v, t->nocase);
	case ATTR_WORD:
		return has_word(s, v, t->nocase);
	case ATTR_DASH:
		return equal(str_cut(s, 0, n), v, t->nocase) &&
		    (s.n == n || (s.n > n && s.p[n] == '-'));
	case ATTR_PREFIX:
		return n != 0 && equal(str_cut(s, 0, n), v, t->nocase);
	case ATTR_SUFFIX:
		return n != 0 && s.n >= n &&
		    equal(str_from(s, s.n - n), v, t->nocase);
	default:
		return n != 0 && has_part(s, v, t->nocase);
	}
}

/* In HTML names are compared in lower case; t->name is so. */
static bool
match_attr(struct matcher *m, const struct test *t, uint32_t at)
{
	const struct node *n = node_of(m, at);

	for (uint32_t i = 0; i < n->attrs_n; i++) {
		const struct name *name = n->attrs[i].name;
		if ((m->d->xml ? name : name->lower) == t->name)
			return !is_cut(m, n->attrs[i].value) &&
			    match_value(t, n->attrs[i].value);
	}
	return false;
}

static bool
match_contains(struct matcher *m, const struct test *t, uint32_t at)
{
	struct str s = document_text_of(m->d, at, &m->room);

	return !is_cut(m, s) && (t->value.n == 0 ||
	    has_part(s, t->value, t->nocase));
}

/* ---- Language and direction ------------------------------------------- */

/* The attribute of the nearest element that has it; p NULL: none does. */
static struct str
inherited(struct matcher *m, uint32_t at, const char *name)
{
	const struct name *key = document_name(m->d, str_of(name));
	struct str s = STR_NONE;

	for (; key != NULL && s.p == NULL && at != NODE_NONE &&
	    !poll_step(m->poll); at = document_parent_element(m->d, at))
		s = document_attr_of(m->d, at, key);
	return s;
}

/* RFC 4647 section 3.3.2: "de-*-DE" and "de-DE" match "de-Latn-DE". */
static bool
is_in_range(struct str tag, struct str range)
{
	struct str want, have;

	if (!str_split(&range, '-', &want) || !str_split(&tag, '-', &have))
		return false;
	if (!str_eq(want, STR("*")) && !str_eq_nocase(want, have))
		return false;
	while (str_split(&range, '-', &want)) {
		if (str_eq(want, STR("*")))
			continue;
		do
			if (!str_split(&tag, '-', &have) || (have.n == 1 &&
			    !str_eq_nocase(want, have)))
				return false;
		while (!str_eq_nocase(want, have));
	}
	return true;
}

static bool
match_lang(struct matcher *m, const struct test *t, uint32_t at)
{
	struct str tag = inherited(m, at, m->d->xml ? "xml:lang" : "lang");
	struct str list = t->value, range;

	while (str_split(&list, ',', &range)) {
		range = str_trim(range);
		if (range.n >= 2 && (range.p[0] == '"' || range.p[0] == '\''))
			range = str_cut(range, 1, range.n - 1);
		if (tag.n == 0 ? range.n == 0 : is_in_range(tag, range))
			return true;
	}
	return false;
}

static bool
match_dir(struct matcher *m, const struct test *t, uint32_t at)
{
	bool rtl = str_eq_nocase(inherited(m, at, "dir"), STR("rtl"));

	return rtl == str_eq_nocase(str_trim(t->value), STR("rtl"));
}

/* ---- :has() ----------------------------------------------------------- */

static bool
match_has(struct matcher *m, const struct test *t, uint32_t node)
{
	uint32_t anchor = m->anchor, at;
	bool found = false;

	m->anchor = node;
	for (uint32_t i = 0; i < t->list_n && !found; i++) {
		const struct branch *b = &t->list[i];
		bool beside = b->compounds[0].combinator >= AFTER_NEXT;
		uint32_t root = beside ? node_of(m, node)->parent : node;
		if (beside && node_of(m, node)->removed)
			continue;
		at = beside ? node_of(m, node)->end : node;
		while (!found && !poll_step(m->poll) &&
		    (at = document_next(m->d, root, at)) != NODE_NONE)
			found = node_is_element(m->d, at) &&
			    match_branch(m, b, at);
	}
	m->anchor = anchor;
	return found;
}

/* ---- Counting --------------------------------------------------------- */

static bool
counts(struct matcher *m, const struct test *t, const struct name *name,
    uint32_t at)
{
	if (t->kind == TEST_NTH_OF_TYPE || t->kind == TEST_NTH_LAST_OF_TYPE)
		return node_of(m, at)->name == name;
	return t->list == NULL || match_list(m, t->list, t->list_n, at);
}

static uint32_t
first_beside(const struct matcher *m, uint32_t at)
{
	uint32_t parent = node_of(m, at)->parent;

	return node_of(m, at)->removed ? at :
	    document_first_element(m->d, parent);
}

static size_t
place_slot(const struct test *t, const struct node *n)
{
	uintptr_t type = t->kind >= TEST_NTH_OF_TYPE ?
	    (uintptr_t)n->name / 16 : 0;

	return (n->parent ^ (uintptr_t)t / sizeof(*t) ^ type) % PLACES;
}

/*
 * The place of an element, from 1.  Places are remembered, since walks come
 * by in document order: each sibling counts on from the one before it.
 */
static struct place
find_place(struct matcher *m, const struct test *t, uint32_t at)
{
	const struct node *n = node_of(m, at);
	const struct name *name = t->kind >= TEST_NTH_OF_TYPE ? n->name : NULL;
	struct place p = m->places[place_slot(t, n)];

	if (p.test != t || p.parent != n->parent || p.name != name ||
	    p.node > at || n->removed)
		p = (struct place){ .test = t, .parent = n->parent,
		    .name = name };
	uint32_t k = p.node == NODE_NONE ? first_beside(m, at) :
	    document_next_element(m->d, p.node);
	for (; p.node != at && k != NODE_NONE && !poll_step(m->poll);
	    k = document_next_element(m->d, k)) {
		p.index += counts(m, t, name, k);
		p.node = k;
	}
	return p;
}

/* How many the parent has of those; at least one. */
static uint32_t
count_all(struct matcher *m, const struct test *t, const struct place *p)
{
	uint32_t total = p->index, k = p->node;

	if (p->total != 0)
		return p->total;
	while (!poll_step(m->poll) &&
	    (k = document_next_element(m->d, k)) != NODE_NONE)
		total += counts(m, t, p->name, k);
	return total;
}

/* Whether `index` is a*n+b for an n that is not negative. */
static bool
is_in_series(long a, long b, long index)
{
	if (a == 0)
		return index == b;
	return (index - b) % a == 0 && (index - b) / a >= 0;
}

static bool
match_nth(struct matcher *m, const struct test *t, uint32_t at)
{
	if (t->list != NULL && !match_list(m, t->list, t->list_n, at))
		return false;
	struct place p = find_place(m, t, at);
	uint32_t index = p.index;
	if (t->kind == TEST_NTH_LAST || t->kind == TEST_NTH_LAST_OF_TYPE) {
		p.total = count_all(m, t, &p);
		index = p.total - index + 1;
	}
	m->places[place_slot(t, node_of(m, at))] = p;
	return is_in_series(t->a, t->b, (long)index);
}

static bool
is_only_of_type(const struct matcher *m, uint32_t at, bool before, bool after)
{
	const struct name *name = node_of(m, at)->name;
	uint32_t k = at;

	while (before && (k = document_prev_element(m->d, k)) != NODE_NONE)
		if (poll_step(m->poll) || node_of(m, k)->name == name)
			return false;
	k = at;
	while (after && (k = document_next_element(m->d, k)) != NODE_NONE)
		if (poll_step(m->poll) || node_of(m, k)->name == name)
			return false;
	return true;
}

/* ---- States of HTML's elements ---------------------------------------- */

static bool
is_named(const struct matcher *m, uint32_t at, const char *names)
{
	struct str rest = str_of(names), part;

	while (str_split(&rest, ' ', &part))
		if (name_is(node_of(m, at)->name, part))
			return true;
	return false;
}

static bool
has_attr(const struct matcher *m, uint32_t at, const char *name)
{
	return document_attr_text(m->d, at, name).p != NULL;
}

/* A control inside of a disabled <fieldset>, not in its first <legend>. */
static bool
is_in_disabled_set(const struct matcher *m, uint32_t at)
{
	uint32_t up = document_parent_element(m->d, at), below = at;

	for (; up != NODE_NONE; below = up,
	    up = document_parent_element(m->d, up)) {
		if (!is_named(m, up, "fieldset") ||
		    !has_attr(m, up, "disabled"))
			continue;
		uint32_t legend = document_first_element(m->d, up);
		while (legend != NODE_NONE && !is_named(m, legend, "legend"))
			legend = document_next_element(m->d, legend);
		if (legend == NODE_NONE || legend != below)
			return true;
	}
	return false;
}

static bool
is_disabled(const struct matcher *m, uint32_t at)
{
	uint32_t up = document_parent_element(m->d, at);

	if (is_named(m, at, "button input select textarea optgroup option "
	    "fieldset") && has_attr(m, at, "disabled"))
		return true;
	if (is_named(m, at, "option"))
		return up != NODE_NONE && is_named(m, up, "optgroup") &&
		    has_attr(m, up, "disabled");
	return is_named(m, at, "button input select textarea fieldset") &&
	    is_in_disabled_set(m, at);
}

static bool
is_checked(const struct matcher *m, uint32_t at)
{
	struct str type = document_attr_text(m->d, at, "type");

	if (is_named(m, at, "option"))
		return has_attr(m, at, "selected");
	return is_named(m, at, "input") && has_attr(m, at, "checked") &&
	    (str_eq_nocase(type, STR("checkbox")) ||
	    str_eq_nocase(type, STR("radio")));
}

/* An <input> that takes text, or a <textarea>. */
static bool
takes_text(const struct matcher *m, uint32_t at)
{
	static const char *const others[] = { "hidden", "range", "color",
		"checkbox", "radio", "file", "submit", "image", "reset",
		"button" };

	return is_named(m, at, "textarea") || (is_named(m, at, "input") &&
	    STR_ROW_NOCASE(document_attr_text(m->d, at, "type"), others) ==
	    ARRAY_LEN(others));
}

static bool
is_editable(const struct matcher *m, uint32_t at)
{
	struct str e = document_attr_text(m->d, at, "contenteditable");

	if (takes_text(m, at))
		return !has_attr(m, at, "readonly") && !is_disabled(m, at);
	return e.p != NULL && !str_eq_nocase(e, STR("false"));
}

/* No element and no text inside; `blank`: but white space. */
static bool
is_empty(const struct matcher *m, uint32_t at, bool blank)
{
	for (uint32_t k = node_of(m, at)->first; k != NODE_NONE;
	    k = node_of(m, k)->next) {
		const struct node *n = node_of(m, k);
		struct str s = str_cut(out_text(&m->d->text), n->text,
		    n->text_end);
		while (blank && s.n > 0 && ascii_is_space(s.p[0]))
			s = str_from(s, 1);
		if (n->type == NODE_ELEMENT || (n->type == NODE_TEXT &&
		    s.n != 0))
			return false;
	}
	return true;
}

static bool
match_state(const struct matcher *m, const struct test *t, uint32_t at)
{
	switch (t->kind) {
	case TEST_LINK:
	case TEST_ANY_LINK:
		return is_named(m, at, "a area") && has_attr(m, at, "href");
	case TEST_CHECKED:
		return is_checked(m, at);
	case TEST_DISABLED:
		return is_disabled(m, at);
	case TEST_ENABLED:
		return is_named(m, at, "button input select textarea "
		    "optgroup option fieldset") && !is_disabled(m, at);
	case TEST_REQUIRED:
	case TEST_OPTIONAL:
		return is_named(m, at, "input select textarea") &&
		    has_attr(m, at, "required") == (t->kind == TEST_REQUIRED);
	case TEST_READ_WRITE:
	case TEST_READ_ONLY:
		return is_editable(m, at) == (t->kind == TEST_READ_WRITE);
	case TEST_PLACEHOLDER:
		return takes_text(m, at) && has_attr(m, at, "placeholder") &&
		    document_attr_text(m->d, at, "value").n == 0 &&
		    is_empty(m, at, false);
	default:
		return false;
	}
}

/* ---- All tests -------------------------------------------------------- */

static bool
match_structure(const struct matcher *m, const struct test *t, uint32_t at)
{
	const struct node *n = node_of(m, at);
	bool root = n->parent == NODE_NONE && !n->removed;

	switch (t->kind) {
	case TEST_EMPTY:
	case TEST_BLANK:
		return is_empty(m, at, t->kind == TEST_BLANK);
	case TEST_ROOT:
		return root;
	case TEST_SCOPE:
		return m->scope == 0 ? root : at == m->scope;
	case TEST_FIRST_CHILD:
		return document_prev_element(m->d, at) == NODE_NONE;
	case TEST_LAST_CHILD:
		return document_next_element(m->d, at) == NODE_NONE;
	case TEST_ONLY_CHILD:
		return document_prev_element(m->d, at) == NODE_NONE &&
		    document_next_element(m->d, at) == NODE_NONE;
	case TEST_FIRST_OF_TYPE:
	case TEST_LAST_OF_TYPE:
	case TEST_ONLY_OF_TYPE:
		return is_only_of_type(m, at, t->kind != TEST_LAST_OF_TYPE,
		    t->kind != TEST_FIRST_OF_TYPE);
	default:
		return match_state(m, t, at);
	}
}

static bool
match_name(const struct matcher *m, const struct test *t, uint32_t at)
{
	const struct name *name = node_of(m, at)->name;
	struct str s = name_text(name);

	switch (t->kind) {
	case TEST_NAME:
		return (m->d->xml ? name : name->lower) == t->name;
	case TEST_LOCAL_NAME:
		return str_ends(s, t->value) && (s.n == t->value.n ||
		    s.p[s.n - t->value.n - 1] == ':');
	default:
		return str_starts(s, t->value);
	}
}

static bool
match_class(struct matcher *m, const struct test *t, uint32_t at)
{
	struct str s = document_attr_of(m->d, at, m->d->class);

	return s.n != 0 && !is_cut(m, s) && has_word(s, t->value, false);
}

static bool
match_test(struct matcher *m, const struct test *t, uint32_t at)
{
	switch (t->kind) {
	case TEST_ANY:
		return true;
	case TEST_NEVER:
		return false;
	case TEST_NAME:
	case TEST_LOCAL_NAME:
	case TEST_PREFIX:
		return match_name(m, t, at);
	case TEST_ID:
		return str_eq(document_attr_of(m->d, at, m->d->id), t->value);
	case TEST_CLASS:
		return match_class(m, t, at);
	case TEST_ATTR:
		return match_attr(m, t, at);
	case TEST_IS:
		return match_list(m, t->list, t->list_n, at);
	case TEST_NOT:
		return !match_list(m, t->list, t->list_n, at);
	case TEST_HAS:
		return match_has(m, t, at);
	case TEST_CONTAINS:
		return match_contains(m, t, at);
	case TEST_LANG:
		return match_lang(m, t, at);
	case TEST_DIR:
		return match_dir(m, t, at);
	case TEST_NTH:
	case TEST_NTH_LAST:
	case TEST_NTH_OF_TYPE:
	case TEST_NTH_LAST_OF_TYPE:
		return match_nth(m, t, at);
	default:
		return match_structure(m, t, at);
	}
}

static bool
match_compound(struct matcher *m, const struct compound *c, uint32_t at)
{
	for (uint32_t i = 0; i < c->tests_n; i++)
		if (!match_test(m, &c->tests[i], at))
			return false;
	return true;
}

/* ---- Calls ------------------------------------------------------------ */

/* "> a" alone: only children need be asked. */
static void
find_children(struct matcher *m, struct selector *s, uint32_t from,
    uint32_t max, struct nodes *out)
{
	uint32_t at = document_first_element(m->d, from);

	m->anchor = m->scope = from;
	for (; at != NODE_NONE && out->n < max && !poll_step(m->poll);
	    at = document_next_element(m->d, at))
		if (match_list(m, s->list, s->list_n, at))
			nodes_put(out, at);
}

/* Below one context; candidates in document order. */
static void
find_below(struct matcher *m, struct selector *s, uint32_t from, uint32_t max,
    struct nodes *out)
{
	const struct node *n = node_of(m, from);
	bool wide = s->wide && !n->removed && from != 0;
	uint32_t root = wide ? n->parent : from, at = from;

	m->anchor = m->scope = from;
	while (out->n < max && !poll_step(m->poll) &&
	    (at = document_next(m->d, root, at)) != NODE_NONE)
		if (node_is_element(m->d, at) && match_list(m, s->list,
		    s->list_n, at))
			nodes_put(out, at);
}

void
selector_find(struct selector *s, const uint32_t *from, uint32_t from_n,
    uint32_t max, struct poll *p, struct nodes *out)
{
	struct matcher m = { .d = s->d, .poll = p, .room = OUT_OF(s->d->rt) };
	uint32_t outer = NODE_NONE;

	for (uint32_t i = 0; i < from_n && !p->stopped && out->n < max; i++) {
		/* What is below an inner context has been found. */
		if (s->nests && i > 0 && is_inside(&m, from[i], outer) &&
		    !s->d->changed)
			continue;
		outer = from[i];
		if (s->children)
			find_children(&m, s, from[i], max, out);
		else
			find_below(&m, s, from[i], max, out);
	}
	s->full = s->full || m.room.full || out->full;
	out_free(&m.room);
	if (!out->full)
		nodes_sort(out);
}

bool
selector_matches(struct selector *s, uint32_t node, struct poll *p)
{
	struct matcher m = { .d = s->d, .poll = p, .room = OUT_OF(s->d->rt) };
	bool yes = node_is_element(s->d, node) && match_list(&m, s->list,
	    s->list_n, node);

	s->full = s->full || m.room.full;
	out_free(&m.room);
	return yes && !p->stopped;
}

bool
selector_is_full(const struct selector *s)
{
	return s->full;
}

bool
selector_has(struct selector *s, uint32_t node, struct poll *p)
{
	struct nodes out = NODES_OF(s->d->rt);

	selector_find(s, &node, 1, 1, p, &out);
	bool yes = out.n > 0;
	nodes_free(&out);
	return yes && !p->stopped;
}
