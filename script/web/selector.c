/*
 * From a text to a struct selector:
 *
 *   prepare_text()  refuses what is not ours, and gives :contains(),
 *                   :lang(), :dir() and :scope names that lexbor knows
 *   lexbor          tokens, escapes, an+b, nesting
 *   make_list()     lexbor's lists as branches of compounds of tests, with the
 *                   names of the document
 */
#include "script/web/selector_own.h"

#include <lexbor/css/css.h>

#include "script/web/counted.h"

/* What lexbor takes for a parser must be there. */
#define START_BYTES (128u * 1024)

struct maker {
	struct selector *s;
	bool unknown;                /* something that we do not have */
	bool scoped;                 /* the branch at hand has :scope */
};

/* ---- The text --------------------------------------------------------- */

static bool
is_name_char(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' || c == '_';
}

/* The length of a quoted string, with its quotes. */
static size_t
quoted_length(struct str s)
{
	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] == '\\')
			i++;
		else if (s.p[i] == s.p[0])
			return i + 1;
	}
	return s.n;
}

/* The length of an argument up to its closing bracket. */
static size_t
argument_length(struct str s)
{
	size_t depth = 0, i;

	for (i = 0; i < s.n; i++) {
		if (s.p[i] == '\\') {
			i++;
		} else if (s.p[i] == '(') {
			depth++;
		} else if (s.p[i] == ')' && depth-- == 0) {
			break;
		}
	}
	return MIN(i, s.n);
}

/*
 * lexbor takes one function with a text: :lexbor-contains().  The text's first
 * letter says which of ours it is.  `s` begins behind the bracket; an argument
 * without quotes, or a list, gets some.  The length that was read.
 */
static size_t
put_text_function(struct str s, char letter, bool list, struct out *o)
{
	size_t blanks = 0, n;

	out_str(o, STR(":lexbor-contains("));
	while (blanks < s.n && ascii_is_space(s.p[blanks]))
		blanks++;
	if (blanks == s.n)
		return blanks;
	if (!list && (s.p[blanks] == '"' || s.p[blanks] == '\'')) {
		out_char(o, s.p[blanks]);
		out_char(o, letter);
		/* Up to the closing quote, so that it is not read again. */
		n = quoted_length(str_from(s, blanks));
		out_str(o, str_cut(s, blanks + 1, blanks + n));
		return blanks + n;
	}
	n = argument_length(s);
	if (str_trim(str_cut(s, 0, n)).n == 0)
		return n;
	out_char(o, '"');
	out_char(o, letter);
	for (size_t i = 0; i < n; i++) {
		if (s.p[i] == '"')
			out_char(o, '\\');
		if (s.p[i] == '\n')
			out_str(o, STR("\\a "));
		else
			out_char(o, s.p[i]);
	}
	out_char(o, '"');
	return n;
}

/*
 * Behind a single colon.  The length that was read, or 0 for a class that
 * scripts do not have.
 */
static size_t
put_class(struct str s, struct out *o)
{
	static const char *const refused[] = { "active", "hover", "focus",
		"lexbor-contains" };
	static const struct {
		const char *name;
		char letter;
		bool list;
	} texts[] = { { "contains", 'c', false }, { "lang", 'l', true },
		{ "dir", 'd', true } };
	size_t n = 1;

	while (n < s.n && is_name_char(s.p[n]))
		n++;
	struct str name = str_cut(s, 1, n);
	bool call = n < s.n && s.p[n] == '(';
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (str_eq_nocase(name, str_of(refused[i])))
			return 0;
	for (size_t i = 0; call && i < ARRAY_LEN(texts); i++)
		if (str_eq_nocase(name, str_of(texts[i].name)))
			return n + 1 + put_text_function(str_from(s, n + 1),
			    texts[i].letter, texts[i].list, o);
	if (!call && str_eq_nocase(name, STR("scope")))
		out_str(o, STR(":active"));
	else
		out_str(o, str_cut(s, 0, n));
	return n;
}

static bool
prepare_text(struct str s, struct out *o)
{
	while (s.n > 0) {
		size_t n = 1;
		if (s.p[0] == '\\') {
			n = MIN(s.n, 2u);
		} else if (s.p[0] == '"' || s.p[0] == '\'') {
			n = quoted_length(s);
		} else if (str_starts(s, STR("::"))) {
			return false;
		} else if (s.p[0] == ':') {
			n = put_class(s, o);
			if (n == 0)
				return false;
			s = str_from(s, n);
			continue;
		}
		out_str(o, str_cut(s, 0, n));
		s = str_from(s, n);
	}
	return true;
}

/* ---- From lexbor's lists ---------------------------------------------- */

static struct str
text_of(const lexbor_str_t *s)
{
	return s->data == NULL ? STR("") :
	    (struct str){ (const char *)s->data, s->length };
}

/* The document's name, compared without case in HTML. */
static const struct name *
name_of(struct maker *m, struct str s)
{
	struct document *d = m->s->d;

	if (d->xml)
		return document_name(d, s);
	struct str low = region_copy(&m->s->region, s);
	for (size_t i = 0; i < low.n; i++)
		((char *)(uintptr_t)low.p)[i] = ascii_lower(low.p[i]);
	return low.p == NULL ? NULL : document_name(d, low);
}

static void
make_name(struct maker *m, const lxb_css_selector_t *from, struct test *t)
{
	struct str ns = text_of(&from->ns), name = text_of(&from->name);
	bool any = from->type == LXB_CSS_SELECTOR_TYPE_ANY;
	bool any_ns = str_eq(ns, STR("*"));

	if (ns.n == 0 || (any_ns && (any || !m->s->d->xml))) {
		t->kind = any ? TEST_ANY : TEST_NAME;
	} else if (!m->s->d->xml) {
		m->unknown = true;
		return;
	} else if (any_ns) {
		t->kind = TEST_LOCAL_NAME;
		t->value = region_copy(&m->s->region, name);
		return;
	} else {
		/* XML's names are with their prefixes. */
		struct out o = OUT_OF(m->s->d->rt);
		t->kind = any ? TEST_PREFIX : TEST_NAME;
		out_str(&o, ns);
		out_char(&o, ':');
		if (!any)
			out_str(&o, name);
		t->value = name = region_copy(&m->s->region, out_text(&o));
		out_free(&o);
	}
	if (t->kind == TEST_NAME && (t->name = name_of(m, name)) == NULL)
		t->kind = TEST_NEVER;
}

/*
 * HTML compares the values of these without case.
 * https://html.spec.whatwg.org/ section 4.17.2, "case-sensitivity of selectors"
 */
static bool
is_caseless_attr(struct str name)
{
	static const char *const names[] = { "accept", "accept-charset",
		"align", "alink", "axis", "bgcolor", "charset", "checked",
		"clear", "codetype", "color", "compact", "declare", "defer",
		"dir", "direction", "disabled", "enctype", "face", "frame",
		"hreflang", "http-equiv", "lang", "language", "link", "media",
		"method", "multiple", "nohref", "noresize", "noshade",
		"nowrap", "readonly", "rel", "rev", "rules", "scope",
		"scrolling", "selected", "shape", "target", "text", "type",
		"valign", "valuetype", "vlink" };

	return STR_ROW_NOCASE(name, names) < ARRAY_LEN(names);
}

static void
make_attr(struct maker *m, const lxb_css_selector_t *from, struct test *t)
{
	static const uint8_t matches[] = {
		[LXB_CSS_SELECTOR_MATCH_EQUAL] = ATTR_EQUAL,
		[LXB_CSS_SELECTOR_MATCH_INCLUDE] = ATTR_WORD,
		[LXB_CSS_SELECTOR_MATCH_DASH] = ATTR_DASH,
		[LXB_CSS_SELECTOR_MATCH_PREFIX] = ATTR_PREFIX,
		[LXB_CSS_SELECTOR_MATCH_SUFFIX] = ATTR_SUFFIX,
		[LXB_CSS_SELECTOR_MATCH_SUBSTRING] = ATTR_PART,
	};
	const lxb_css_selector_attribute_t *a = &from->u.attribute;
	struct str ns = text_of(&from->ns), name = text_of(&from->name);
	struct out o = OUT_OF(m->s->d->rt);

	if (ns.n != 0 && !str_eq(ns, STR("*"))) {
		out_str(&o, ns);
		out_char(&o, ':');
	}
	out_str(&o, name);
	t->kind = TEST_ATTR;
	t->match = a->value.data == NULL ? ATTR_THERE : matches[a->match];
	t->nocase = a->modifier == LXB_CSS_SELECTOR_MODIFIER_I ||
	    (a->modifier == LXB_CSS_SELECTOR_MODIFIER_UNSET &&
	    !m->s->d->xml && is_caseless_attr(name));
	t->value = region_copy(&m->s->region, text_of(&a->value));
	t->name = name_of(m, out_text(&o));
	if (t->name == NULL)
		t->kind = TEST_NEVER;
	out_free(&o);
}

static void
make_simple_class(struct maker *m, unsigned lexbor, struct test *t)
{
	static const struct { unsigned lexbor; uint8_t kind; } rows[] = {
#define SIMPLE_ROW(name, lexbor)                                            \
	{ LXB_CSS_SELECTOR_PSEUDO_CLASS_##lexbor, TEST_##name },
		SIMPLE_CLASSES(SIMPLE_ROW)
#undef SIMPLE_ROW
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].lexbor == lexbor) {
			t->kind = rows[i].kind;
			m->scoped = m->scoped || t->kind == TEST_SCOPE;
			return;
		}
	m->unknown = true;
}

static void make_list(struct maker *, const lxb_css_selector_list_t *,
    bool relative, unsigned depth, struct branch **, uint32_t *n);

static void
make_arguments(struct maker *m, const lxb_css_selector_list_t *from,
    bool relative, unsigned depth, struct test *t)
{
	struct branch *list = NULL;

	make_list(m, from, relative, depth + 1, &list, &t->list_n);
	t->list = list;
}

static void
make_text_function(struct maker *m, const lxb_css_selector_contains_t *from,
    struct test *t)
{
	struct str s = text_of(&from->str), value = str_from(s, 1);

	t->value = region_copy(&m->s->region, value);
	t->nocase = from->insensitive;
	if (s.n > 0 && s.p[0] == 'l') {
		t->kind = TEST_LANG;
		m->unknown = m->unknown || str_trim(value).n == 0;
	} else if (s.n > 0 && s.p[0] == 'd') {
		t->kind = TEST_DIR;
		m->unknown = m->unknown ||
		    (!str_eq_nocase(str_trim(value), STR("ltr")) &&
		    !str_eq_nocase(str_trim(value), STR("rtl")));
	}
}

static void
make_function(struct maker *m, const lxb_css_selector_pseudo_t *from,
    unsigned depth, struct test *t)
{
	static const uint8_t kinds[] = {
#define FUNCTION(lexbor, kind)                                              \
	[LXB_CSS_SELECTOR_PSEUDO_CLASS_FUNCTION_##lexbor] = kind
		FUNCTION(HAS, TEST_HAS), FUNCTION(IS, TEST_IS),
		FUNCTION(WHERE, TEST_IS), FUNCTION(NOT, TEST_NOT),
		FUNCTION(LEXBOR_CONTAINS, TEST_CONTAINS),
		FUNCTION(NTH_CHILD, TEST_NTH),
		FUNCTION(NTH_LAST_CHILD, TEST_NTH_LAST),
		FUNCTION(NTH_OF_TYPE, TEST_NTH_OF_TYPE),
		FUNCTION(NTH_LAST_OF_TYPE, TEST_NTH_LAST_OF_TYPE),
#undef FUNCTION
	};

	t->kind = from->type < ARRAY_LEN(kinds) ? kinds[from->type] : TEST_ANY;
	if (t->kind == TEST_ANY || from->data == NULL) {
		m->unknown = true;
	} else if (t->kind == TEST_CONTAINS) {
		make_text_function(m, from->data, t);
	} else if (t->kind == TEST_HAS || t->kind == TEST_IS ||
	    t->kind == TEST_NOT) {
		make_arguments(m, from->data, t->kind == TEST_HAS, depth, t);
	} else {
		const lxb_css_selector_anb_of_t *n = from->data;
		t->a = n->anb.a;
		t->b = n->anb.b;
		if (n->of != NULL)
			make_arguments(m, n->of, false, depth, t);
	}
}

static void
make_test(struct maker *m, const lxb_css_selector_t *from, unsigned depth,
    struct test *t)
{
	switch (from->type) {
	case LXB_CSS_SELECTOR_TYPE_ANY:
	case LXB_CSS_SELECTOR_TYPE_ELEMENT:
		make_name(m, from, t);
		break;
	case LXB_CSS_SELECTOR_TYPE_ID:
	case LXB_CSS_SELECTOR_TYPE_CLASS:
		t->kind = from->type == LXB_CSS_SELECTOR_TYPE_ID ? TEST_ID :
		    TEST_CLASS;
		t->value = region_copy(&m->s->region, text_of(&from->name));
		break;
	case LXB_CSS_SELECTOR_TYPE_ATTRIBUTE:
		make_attr(m, from, t);
		break;
	case LXB_CSS_SELECTOR_TYPE_PSEUDO_CLASS:
		make_simple_class(m, from->u.pseudo.type, t);
		break;
	case LXB_CSS_SELECTOR_TYPE_PSEUDO_CLASS_FUNCTION:
		make_function(m, &from->u.pseudo, depth, t);
		break;
	default:
		m->unknown = true;
		break;
	}
}

static uint8_t
combinator_of(struct maker *m, const lxb_css_selector_t *s)
{
	switch (s->combinator) {
	case LXB_CSS_SELECTOR_COMBINATOR_CHILD:
		return CHILD_OF;
	case LXB_CSS_SELECTOR_COMBINATOR_SIBLING:
		return AFTER_NEXT;
	case LXB_CSS_SELECTOR_COMBINATOR_FOLLOWING:
		return AFTER_ANY;
	case LXB_CSS_SELECTOR_COMBINATOR_CELL:
		m->unknown = true;
		return BELOW;
	default:
		return BELOW;
	}
}

static void
make_compound(struct maker *m, const lxb_css_selector_t *s, uint32_t n,
    unsigned depth, struct compound *c)
{
	c->combinator = combinator_of(m, s);
	c->tests = region_array(&m->s->region, n, sizeof(*c->tests));
	if (c->tests == NULL)
		return;
	c->tests_n = n;
	for (uint32_t i = 0; i < n; i++, s = s->next)
		make_test(m, s, depth, &c->tests[i]);
}

/* The simple selectors up to the next combinator. */
static uint32_t
compound_size(const lxb_css_selector_t *s)
{
	uint32_t n = 1;

	for (s = s->next; s != NULL && s->combinator ==
	    LXB_CSS_SELECTOR_COMBINATOR_CLOSE; s = s->next)
		n++;
	return n;
}

static void
make_branch(struct maker *m, const lxb_css_selector_t *first, unsigned depth,
    struct branch *b)
{
	const lxb_css_selector_t *s = first;
	uint32_t n = 0;

	for (; s != NULL; n++)
		for (uint32_t k = compound_size(s); k > 0; k--)
			s = s->next;
	b->compounds = region_array(&m->s->region, n, sizeof(*b->compounds));
	if (n == 0 || b->compounds == NULL) {
		m->unknown = true;
		return;
	}
	s = first;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = compound_size(s);
		make_compound(m, s, k, depth, &b->compounds[i]);
		for (; k > 0; k--)
			s = s->next;
	}
	b->n = n;
}

static void
make_list(struct maker *m, const lxb_css_selector_list_t *from, bool relative,
    unsigned depth, struct branch **list, uint32_t *list_n)
{
	uint32_t n = 0;

	if (depth > SELECTOR_NESTING_MAX) {
		m->unknown = true;
		return;
	}
	for (const lxb_css_selector_list_t *l = from; l != NULL; l = l->next)
		n++;
	*list = region_array(&m->s->region, n, sizeof(**list));
	if (*list == NULL)
		return;
	bool outer = m->scoped;
	for (; from != NULL; from = from->next) {
		struct branch *b = &(*list)[(*list_n)++];
		m->scoped = false;
		b->relative = relative;
		make_branch(m, from->first, depth, b);
		/* Where the scope is named, it stands where it stands. */
		if (m->scoped && depth == 0)
			b->relative = false;
		outer = outer || m->scoped;
	}
	m->scoped = outer;
}

/* ---- Compiling -------------------------------------------------------- */

static enum err
refuse(struct str text, struct why *w)
{
	return why(w, ERR_INPUT, "not a selector: %.*s%s",
	    (int)MIN(text.n, 200u), text.p, text.n > 200 ? "..." : "");
}

/* With the counted memory entered. */
static enum err
read_list(struct selector *s, struct str prepared, struct why *w)
{
	lxb_css_parser_t *parser = lxb_css_parser_create();
	lxb_css_memory_t *memory = lxb_css_memory_create();
	const lxb_css_selector_list_t *list = NULL;
	struct maker m = { .s = s };
	const lxb_char_t *p = (const lxb_char_t *)prepared.p;

	if (lxb_css_parser_init(parser, NULL) == LXB_STATUS_OK &&
	    lxb_css_memory_init(memory, 64) == LXB_STATUS_OK) {
		lxb_css_parser_memory_set(parser, memory);
		list = s->use == SELECTOR_RELATIVE ?
		    lxb_css_selectors_parse_relative_list(parser, p,
		    prepared.n) :
		    lxb_css_selectors_parse_complex_list(parser, p,
		    prepared.n);
	}
	/* What lexbor forgives or leaves out, it logs. */
	if (list != NULL && lxb_css_log_length(parser->log) == 0)
		make_list(&m, list, s->use == SELECTOR_RELATIVE, 0, &s->list,
		    &s->list_n);
	else
		m.unknown = true;
	s->wide = m.scoped && s->use == SELECTOR_RELATIVE;
	lxb_css_memory_destroy(memory, true);
	lxb_css_parser_destroy(parser, true);
	if (counted_breached() || s->region.full)
		return why(w, ERR_FULL, "the heap's limit is met");
	return m.unknown ? refuse(s->text, w) : OK;
}

static void
note_reach(struct selector *s)
{
	s->nests = !s->wide && s->use == SELECTOR_RELATIVE;
	s->children = s->list_n > 0;
	for (uint32_t i = 0; i < s->list_n; i++) {
		const struct branch *b = &s->list[i];
		uint8_t c = b->compounds[0].combinator;
		s->wide = s->wide || (b->relative && c >= AFTER_NEXT);
		s->nests = s->nests && (!b->relative || c == BELOW);
		s->children = s->children && b->relative && b->n == 1 &&
		    c == CHILD_OF;
	}
}

static enum err
compile(struct selector *s, struct why *w)
{
	struct out o = OUT_OF(s->d->rt);
	void *room = js_malloc_rt(s->d->rt, START_BYTES);
	enum err e;

	js_free_rt(s->d->rt, room);
	if (!prepare_text(s->text, &o)) {
		e = refuse(s->text, w);
	} else if (o.full || room == NULL) {
		e = why(w, ERR_FULL, "the heap's limit is met");
	} else {
		counted_enter(s->d->rt);
		e = read_list(s, out_text(&o), w);
		counted_leave();
	}
	out_free(&o);
	if (e == OK)
		note_reach(s);
	return e;
}

void
selector_free(struct selector **at)
{
	struct selector *s = *at;

	*at = NULL;
	if (s == NULL)
		return;
	region_free(&s->region);
	js_free_rt(s->d->rt, s);
}

/* The slot of this selector, or the one whose turn it is to go. */
static struct selector_slot *
find_slot(struct document *d, struct str text, enum selector_use use)
{
	struct selector_slot *oldest = &d->selectors[0];

	for (size_t i = 0; i < DOCUMENT_SELECTORS; i++) {
		struct selector_slot *slot = &d->selectors[i];
		if (slot->selector != NULL && slot->selector->use == use &&
		    str_eq(slot->selector->text, text))
			return slot;
		if (slot->used < oldest->used)
			oldest = slot;
	}
	selector_free(&oldest->selector);
	return oldest;
}

enum err
selector_compile(struct document *d, struct str text, enum selector_use use,
    struct selector **out, struct why *w)
{
	if (text.n > SELECTOR_BYTES_MAX)
		return why(w, ERR_INPUT, "a selector has at most %u bytes",
		    SELECTOR_BYTES_MAX);
	struct selector_slot *slot = find_slot(d, text, use);
	slot->used = ++d->selectors_used;
	*out = slot->selector;
	if (*out != NULL) {
		(*out)->full = false;
		return OK;
	}
	struct selector *s = js_mallocz_rt(d->rt, sizeof(*s));
	if (s == NULL)
		return why(w, ERR_FULL, "the heap's limit is met");
	s->d = d;
	s->use = use;
	s->region = REGION_OF(d->rt);
	s->text = region_copy(&s->region, text);
	enum err e = s->text.p == NULL ? why(w, ERR_FULL,
	    "the heap's limit is met") : compile(s, w);
	if (e == OK)
		*out = slot->selector = s;
	else
		selector_free(&s);
	return e;
}
