/*
 * The methods of Sel, with cheerio's meanings: orders, defaults and what an
 * empty list gives are those of cheerio 1.  Where its types differ from ours
 * (null for a missing text), script/web/DESIGN.md says so.
 */
#include "script/web/markup.h"
#include "script/web/sel_own.h"

static struct sel *
this_sel(JSContext *ctx, JSValueConst this)
{
	return bind_opaque(ctx, this, BIND_CLASS_SEL);
}

static bool
is_absent(JSContext *ctx, JSValueConst v)
{
	if (JS_IsUndefined(v) || JS_IsNull(v))
		return true;
	if (!JS_IsString(v))
		return false;
	struct str s = bind_text(ctx, v);
	bind_text_free(ctx, s);
	return s.n == 0;
}

/* ---- Going through the tree ------------------------------------------- */

#define NAVS(X)                                                             \
	X(PARENT, "parent") X(PARENTS, "parents") X(CHILDREN, "children")   \
	X(CONTENTS, "contents") X(SIBLINGS, "siblings") X(NEXT, "next")     \
	X(PREV, "prev")

enum nav {
#define NAV_ENUM(name, text) NAV_##name,
	NAVS(NAV_ENUM)
#undef NAV_ENUM
};

/* Siblings in document order; those of a removed node are none. */
static void
put_siblings(const struct document *d, uint32_t at, struct nodes *l)
{
	uint32_t k;

	if (at == 0 || d->nodes[at].removed)
		return;
	k = document_first_element(d, d->nodes[at].parent);
	for (; k != NODE_NONE; k = document_next_element(d, k))
		if (k != at)
			nodes_put(l, k);
}

static void
put_node_if(struct nodes *l, uint32_t node)
{
	if (node != NODE_NONE)
		nodes_put(l, node);
}

static void
put_related(const struct document *d, enum nav nav, uint32_t at,
    struct nodes *l)
{
	uint32_t k = at;

	switch (nav) {
	case NAV_PARENT:
		put_node_if(l, document_parent_element(d, at));
		break;
	case NAV_PARENTS:
		while ((k = document_parent_element(d, k)) != NODE_NONE)
			nodes_put(l, k);
		break;
	case NAV_CHILDREN:
		k = document_first_element(d, at);
		for (; k != NODE_NONE; k = document_next_element(d, k))
			nodes_put(l, k);
		break;
	case NAV_CONTENTS:
		for (k = d->nodes[at].first; k != NODE_NONE;
		    k = d->nodes[k].next)
			nodes_put(l, k);
		break;
	case NAV_SIBLINGS:
		put_siblings(d, at, l);
		break;
	case NAV_NEXT:
		put_node_if(l, document_next_element(d, at));
		break;
	case NAV_PREV:
		put_node_if(l, document_prev_element(d, at));
		break;
	}
}

/* ---- The same from many nodes: each ancestor and sibling once ----------- */

static void
put_all_parents(const struct sel *s, uint64_t *seen, struct nodes *l)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t k = s->at[i];
		while ((k = document_parent_element(s->d, k)) != NODE_NONE &&
		    nodes_mark(seen, k))
			nodes_put(l, k);
	}
}

/*
 * All children of a parent of which the list has two, and all but its one of
 * the others.  `seen`, `twice` and `done` are marks of parents.
 */
static void
put_all_siblings(const struct sel *s, uint64_t *seen, uint64_t *twice,
    uint64_t *done, struct nodes *l)
{
	const struct document *d = s->d;

	for (uint32_t i = 0; i < s->n; i++)
		if (!d->nodes[s->at[i]].removed &&
		    !nodes_mark(seen, d->nodes[s->at[i]].parent))
			(void)nodes_mark(twice, d->nodes[s->at[i]].parent);
	for (uint32_t i = 0; i < s->n && !l->full; i++) {
		uint32_t at = s->at[i], up = d->nodes[at].parent;
		if (at == 0 || d->nodes[at].removed || !nodes_mark(done, up))
			continue;
		bool all = (twice[up / 64] >> up % 64 & 1) != 0;
		uint32_t k = document_first_element(d, up);
		for (; k != NODE_NONE; k = document_next_element(d, k))
			if (all || k != at)
				nodes_put(l, k);
	}
}

static void
put_all(const struct sel *s, enum nav nav, struct nodes *l)
{
	size_t words = NODES_WORDS(s->d->n);
	uint64_t *bits = js_mallocz_rt(l->rt, 3 * words * sizeof(*bits));

	if (bits == NULL)
		l->full = true;
	else if (nav == NAV_PARENTS)
		put_all_parents(s, bits, l);
	else
		put_all_siblings(s, bits, bits + words, bits + 2 * words, l);
	js_free_rt(l->rt, bits);
}

static JSValue
sel_nav(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int nav)
{
	struct sel *s = this_sel(ctx, this);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));
	struct poll *p = &bind_of(ctx)->poll;

	if (s == NULL)
		return JS_EXCEPTION;
	bool many = s->n > 1 && (nav == NAV_PARENTS || nav == NAV_SIBLINGS);
	if (many)
		put_all(s, (enum nav)nav, &l);
	for (uint32_t i = 0; !many && i < s->n && !l.full && !poll_step(p); i++)
		put_related(s->d, (enum nav)nav, s->at[i], &l);
	if (!bind_poll_ok(ctx) || (argc > 0 && !l.full &&
	    !is_absent(ctx, argv[0]) &&
	    !sel_filter(ctx, s->d, argv[0], true, &l))) {
		nodes_free(&l);
		return JS_EXCEPTION;
	}
	if (s->n > 1 && nav == NAV_PARENT)
		nodes_unique(&l);
	if (many)
		nodes_sort(&l);
	if (many && nav == NAV_PARENTS)
		nodes_reverse(&l);
	return sel_new(ctx, s->d, &l);
}

static uint32_t
closest(struct selector *c, struct document *d, uint32_t at, struct poll *p)
{
	while (at != NODE_NONE && !selector_matches(c, at, p))
		at = document_parent_element(d, at);
	return at;
}

static JSValue
sel_closest(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));

	if (s == NULL)
		return JS_EXCEPTION;
	if (argc == 0 || is_absent(ctx, argv[0]))
		return sel_new(ctx, s->d, &l);
	struct selector *c = sel_compile(ctx, s->d, argv[0], SELECTOR_PLAIN);
	struct poll *p = &bind_of(ctx)->poll;
	if (c == NULL)
		return JS_EXCEPTION;
	for (uint32_t i = 0; i < s->n && !p->stopped; i++)
		put_node_if(&l, closest(c, s->d, s->at[i], p));
	if (!bind_poll_ok(ctx)) {
		nodes_free(&l);
		return JS_EXCEPTION;
	}
	l.full = l.full || selector_is_full(c);
	nodes_unique(&l);
	return sel_new(ctx, s->d, &l);
}

static bool
is_within(const struct document *d, uint32_t at, const struct sel *s,
    struct poll *p)
{
	while ((at = d->nodes[at].parent) != NODE_NONE)
		for (uint32_t i = 0; i < s->n && !poll_step(p); i++)
			if (s->at[i] == at)
				return true;
	return s->n > 0 && s->at[0] == 0;
}

/* The nodes of an El or a Sel that are inside of ours. */
static bool
find_nodes(JSContext *ctx, struct sel *s, JSValueConst v, struct nodes *l)
{
	uint32_t n = 0;
	int is = sel_nodes(ctx, s->d, v, l);

	if (is == 0)
		(void)JS_ThrowTypeError(ctx, "find() takes a selector");
	for (uint32_t i = 0; is == 1 && i < l->n; i++)
		if (is_within(s->d, l->at[i], s, &bind_of(ctx)->poll))
			l->at[n++] = l->at[i];
	l->n = n;
	return is == 1 && bind_poll_ok(ctx);
}

static JSValue
sel_find_method(JSContext *ctx, JSValueConst this, int argc,
    JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));
	bool ok = true;

	if (s == NULL)
		return JS_EXCEPTION;
	if (argc > 0 && !is_absent(ctx, argv[0]))
		ok = JS_IsString(argv[0]) ?
		    sel_find(ctx, s->d, argv[0], SELECTOR_RELATIVE, s->at,
		    s->n, UINT32_MAX, &l) : find_nodes(ctx, s, argv[0], &l);
	if (ok)
		return sel_new(ctx, s->d, &l);
	nodes_free(&l);
	return JS_EXCEPTION;
}

static JSValue
sel_has(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));

	if (s == NULL)
		return JS_EXCEPTION;
	if (argc == 0 || is_absent(ctx, argv[0]))
		return sel_new(ctx, s->d, &l);
	struct selector *c = sel_compile(ctx, s->d, argv[0],
	    SELECTOR_RELATIVE);
	struct poll *p = &bind_of(ctx)->poll;
	if (c == NULL)
		return JS_EXCEPTION;
	for (uint32_t i = 0; i < s->n && !p->stopped; i++)
		if (selector_has(c, s->at[i], p))
			nodes_put(&l, s->at[i]);
	if (bind_poll_ok(ctx)) {
		l.full = l.full || selector_is_full(c);
		return sel_new(ctx, s->d, &l);
	}
	nodes_free(&l);
	return JS_EXCEPTION;
}

/* ---- Choosing --------------------------------------------------------- */

enum pick { PICK_FILTER, PICK_NOT, PICK_ADD };

static JSValue
sel_pick(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int magic)
{
	struct sel *s = this_sel(ctx, this);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));
	bool ok = true;

	if (s == NULL)
		return JS_EXCEPTION;
	sel_copy(s, &l);
	if (l.full || argc == 0 || is_absent(ctx, argv[0])) {
		if (magic == PICK_FILTER)
			l.n = 0;
	} else if (magic != PICK_ADD) {
		ok = sel_filter(ctx, s->d, argv[0], magic == PICK_FILTER, &l);
	} else if (JS_IsString(argv[0])) {
		uint32_t root = 0;
		ok = sel_find(ctx, s->d, argv[0], SELECTOR_PLAIN, &root, 1,
		    UINT32_MAX, &l);
	} else {
		int is = sel_nodes(ctx, s->d, argv[0], &l);
		ok = is == 1;
		if (is == 0)
			(void)JS_ThrowTypeError(ctx, "add() takes a selector");
	}
	if (magic == PICK_ADD)
		nodes_sort(&l);
	if (ok)
		return sel_new(ctx, s->d, &l);
	nodes_free(&l);
	return JS_EXCEPTION;
}

static JSValue
sel_is(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));

	if (s == NULL)
		return JS_EXCEPTION;
	if (argc == 0 || is_absent(ctx, argv[0]))
		return JS_FALSE;
	sel_copy(s, &l);
	JSValue v = l.full ? JS_ThrowOutOfMemory(ctx) :
	    sel_filter(ctx, s->d, argv[0], true, &l) ?
	    JS_NewBool(ctx, l.n > 0) : JS_EXCEPTION;
	nodes_free(&l);
	return v;
}

/* The part from `from` to `to`, as Array.prototype.slice() counts. */
static JSValue
cut_sel(JSContext *ctx, struct sel *s, double from, double to)
{
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));
	double n = s->n;

	from = from < 0 ? MAX(from + n, 0) : MIN(from, n);
	to = to < 0 ? MAX(to + n, 0) : MIN(to, n);
	for (double i = from; i < to; i++)
		nodes_put(&l, s->at[(uint32_t)i]);
	return sel_new(ctx, s->d, &l);
}

/* A number's integer; NaN and undefined are `otherwise`. */
static bool
to_integer(JSContext *ctx, JSValueConst v, double otherwise, double *out)
{
	double d = otherwise;

	if (!JS_IsUndefined(v) && JS_ToFloat64(ctx, &d, v) < 0)
		return false;
	if (d != d)
		d = 0;
	/* As far as a list can be long. */
	d = MAX(MIN(d, 4294967296.0), -4294967296.0);
	*out = (double)(int64_t)d;
	return true;
}

static JSValue
sel_slice(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	double from = 0, to = UINT32_MAX;

	if (s == NULL || (argc > 0 && !to_integer(ctx, argv[0], 0, &from)) ||
	    (argc > 1 && !to_integer(ctx, argv[1], to, &to)))
		return JS_EXCEPTION;
	return cut_sel(ctx, s, from, to);
}

static JSValue
sel_eq(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	double i = 0;

	(void)argc;
	if (s == NULL || !to_integer(ctx, argv[0], 0, &i))
		return JS_EXCEPTION;
	i = i < 0 ? i + s->n : i;
	return cut_sel(ctx, s, i < 0 ? s->n : i, i < 0 ? 0 : i + 1);
}

static JSValue
sel_end_of(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int last)
{
	struct sel *s = this_sel(ctx, this);

	(void)argc, (void)argv;
	if (s == NULL)
		return JS_EXCEPTION;
	return last && s->n > 0 ? cut_sel(ctx, s, s->n - 1, s->n) :
	    cut_sel(ctx, s, 0, 1);
}

static JSValue
sel_get(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	double i = 0;

	if (s == NULL)
		return JS_EXCEPTION;
	if (argc == 0 || JS_IsUndefined(argv[0]) || JS_IsNull(argv[0]))
		return sel_array(ctx, s->d, s->at, s->n);
	if (!to_integer(ctx, argv[0], 0, &i))
		return JS_EXCEPTION;
	i = i < 0 ? i + s->n : i;
	return i < 0 || i >= s->n ? JS_UNDEFINED :
	    el_new(ctx, s->d, s->at[(uint32_t)i]);
}

static JSValue
sel_to_array(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	(void)argc;
	return sel_get(ctx, this, 0, argv);
}

static JSValue
sel_length(JSContext *ctx, JSValueConst this)
{
	struct sel *s = this_sel(ctx, this);

	return s == NULL ? JS_EXCEPTION : JS_NewUint32(ctx, s->n);
}

/* Its place among the elements of its parent. */
static JSValue
sel_index(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	int32_t i = 0;

	(void)argc, (void)argv;
	if (s == NULL)
		return JS_EXCEPTION;
	if (s->n == 0 || !node_is_element(s->d, s->at[0]) ||
	    s->d->nodes[s->at[0]].parent == NODE_NONE)
		return JS_NewInt32(ctx, -1);
	for (uint32_t k = s->at[0]; (k = document_prev_element(s->d, k)) !=
	    NODE_NONE; i++)
		;
	return JS_NewInt32(ctx, i);
}

/* ---- Texts ------------------------------------------------------------ */

static JSValue
sel_text(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	struct out all = OUT_OF(JS_GetRuntime(ctx)), one = all;

	(void)argc, (void)argv;
	if (s == NULL)
		return JS_EXCEPTION;
	struct str text = s->n == 0 ? STR("") :
	    document_text_of(s->d, s->at[0], &one);
	if (s->n <= 1) {
		JSValue v = text.p == NULL ? JS_ThrowOutOfMemory(ctx) :
		    bind_string(ctx, text);
		out_free(&one);
		return v;
	}
	for (uint32_t i = 0; i < s->n && !all.full; i++)
		out_str(&all, document_text_of(s->d, s->at[i], &one));
	all.full = all.full || one.full;
	out_free(&one);
	return bind_take(ctx, &all);
}

static JSValue
sel_markup(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int outer)
{
	struct sel *s = this_sel(ctx, this);
	struct out o = OUT_OF(JS_GetRuntime(ctx));
	struct poll *p = &bind_of(ctx)->poll;

	(void)argc, (void)argv;
	if (s == NULL)
		return JS_EXCEPTION;
	if (s->n > 0 && outer)
		markup_outer(s->d, s->at[0], p, &o);
	else if (s->n > 0)
		markup_inner(s->d, s->at[0], p, &o);
	JSValue v = bind_take(ctx, &o);
	if (JS_IsException(v) || bind_poll_ok(ctx))
		return v;
	JS_FreeValue(ctx, v);
	return JS_EXCEPTION;
}

/* ---- Attributes ------------------------------------------------------- */

static bool
is_named(const struct document *d, uint32_t at, struct str name)
{
	return node_is_element(d, at) && name_is(d->nodes[at].name, name);
}

/* Attributes that are there or not: their value is their name. */
static bool
is_boolean_attr(struct str name)
{
	static const char *const names[] = { "autofocus", "autoplay", "async",
		"checked", "controls", "defer", "disabled", "hidden", "loop",
		"multiple", "open", "readonly", "required", "scoped",
		"selected" };

	return STR_ROW_NOCASE(name, names) < ARRAY_LEN(names);
}

static JSValue
attr_value(JSContext *ctx, struct document *d, uint32_t at, struct str name)
{
	struct str type = document_attr_text(d, at, "type");
	struct str v = document_attr_of(d, at, document_name(d, name));

	if (v.p != NULL)
		return bind_string(ctx, !d->xml && is_boolean_attr(name) ?
		    name : v);
	if (!str_eq(name, STR("value")))
		return JS_UNDEFINED;
	if (is_named(d, at, STR("option"))) {
		struct out room = OUT_OF(d->rt);
		JSValue text = bind_string(ctx, document_text_of(d, at, &room));
		out_free(&room);
		return text;
	}
	return is_named(d, at, STR("input")) && (str_eq(type, STR("radio")) ||
	    str_eq(type, STR("checkbox"))) ? bind_string(ctx, STR("on")) :
	    JS_UNDEFINED;
}

/* "fooBar" is the attribute "data-foo-bar". */
static struct str
data_value(struct document *d, uint32_t at, struct str name)
{
	struct out o = OUT_OF(d->rt);

	out_str(&o, STR("data-"));
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] >= 'A' && name.p[i] <= 'Z')
			out_char(&o, '-');
		out_char(&o, ascii_lower(name.p[i]));
	}
	struct str v = document_attr_of(d, at, document_name(d,
	    out_text(&o)));
	out_free(&o);
	return v;
}

enum attr_of { ATTR_OF_ATTR, ATTR_OF_ABS, ATTR_OF_DATA };

static JSValue
sel_attr(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int magic)
{
	struct sel *s = this_sel(ctx, this);
	JSValue v = JS_UNDEFINED;

	(void)argc;
	if (s == NULL)
		return JS_EXCEPTION;
	struct str name = bind_text(ctx, argv[0]);
	if (name.p == NULL)
		return JS_EXCEPTION;
	if (s->n == 0 || !node_is_element(s->d, s->at[0])) {
		v = JS_UNDEFINED;
	} else if (magic == ATTR_OF_ATTR) {
		v = attr_value(ctx, s->d, s->at[0], name);
	} else if (magic == ATTR_OF_ABS) {
		v = sel_absolute(ctx, s->d, document_attr_of(s->d, s->at[0],
		    document_name(s->d, name)));
	} else {
		struct str data = data_value(s->d, s->at[0], name);
		v = data.p == NULL ? JS_UNDEFINED : bind_string(ctx, data);
	}
	bind_text_free(ctx, name);
	return v;
}

JSValue
sel_absolute(JSContext *ctx, struct document *d, struct str href)
{
	struct arena a = ARENA_INIT;
	struct url u;
	JSValue v = JS_UNDEFINED;

	if (href.p != NULL && url_parse(href, document_base(d), &a, &u, NULL)
	    == OK)
		v = bind_string(ctx, u.href);
	arena_free(&a);
	return v;
}

static JSValue
sel_has_class(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	bool has = false;

	(void)argc;
	if (s == NULL)
		return JS_EXCEPTION;
	struct str want = bind_text(ctx, argv[0]), word;
	if (want.p == NULL)
		return JS_EXCEPTION;
	for (uint32_t i = 0; i < s->n && !has; i++) {
		struct str rest = document_attr_of(s->d, s->at[i],
		    s->d->class);
		while (!has && rest.n > 0) {
			size_t n = 0;
			while (n < rest.n && !ascii_is_space(rest.p[n]))
				n++;
			word = str_cut(rest, 0, n);
			has = want.n > 0 && str_eq(word, want);
			rest = str_from(rest, n + 1);
		}
	}
	bind_text_free(ctx, want);
	return JS_NewBool(ctx, has);
}

/* ---- Values of forms -------------------------------------------------- */

/* The option that a <select> shows: the first selected, else the first. */
static uint32_t
shown_option(const struct document *d, uint32_t select)
{
	uint32_t first = NODE_NONE;
	bool multiple = document_attr_text(d, select, "multiple").p != NULL;

	for (uint32_t at = document_next(d, select, select); at != NODE_NONE;
	    at = document_next(d, select, at)) {
		if (!is_named(d, at, STR("option")))
			continue;
		if (document_attr_text(d, at, "selected").p != NULL)
			return at;
		if (first == NODE_NONE && !multiple)
			first = at;
	}
	return first;
}

static JSValue
sel_val(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	JSValue v = JS_UNDEFINED;

	if (s == NULL)
		return JS_EXCEPTION;
	uint32_t at = s->n == 0 ? NODE_NONE : s->at[0];
	if (is_named(s->d, at, STR("textarea")))
		return sel_text(ctx, this, argc, argv);
	if (is_named(s->d, at, STR("select")))
		at = shown_option(s->d, at);
	if (is_named(s->d, at, STR("button")) ||
	    is_named(s->d, at, STR("input")) ||
	    is_named(s->d, at, STR("option")))
		v = attr_value(ctx, s->d, at, STR("value"));
	return JS_IsUndefined(v) ? bind_string(ctx, STR("")) : v;
}

/* ---- Calls back ------------------------------------------------------- */

static JSValue
call_back(JSContext *ctx, struct sel *s, JSValueConst f, uint32_t i)
{
	JSValue args[2] = { JS_NewUint32(ctx, i), el_new(ctx, s->d, s->at[i]) };

	if (JS_IsException(args[1]))
		return JS_EXCEPTION;
	JSValue v = JS_Call(ctx, f, args[1], 2, args);
	JS_FreeValue(ctx, args[1]);
	return v;
}

static JSValue
sel_each(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);

	(void)argc;
	for (uint32_t i = 0; s != NULL && i < s->n; i++) {
		JSValue v = call_back(ctx, s, argv[0], i);
		bool stop = JS_IsBool(v) && JS_VALUE_GET_BOOL(v) == 0;
		if (JS_IsException(v))
			return v;
		JS_FreeValue(ctx, v);
		if (stop)
			break;
	}
	return s == NULL ? JS_EXCEPTION : JS_DupValue(ctx, this);
}

/* What a callback of map() gave: nothing for null, an array's items. */
static bool
push_mapped(JSContext *ctx, JSValueConst to, uint32_t *n, JSValue v)
{
	int64_t length = 0;

	if (JS_IsUndefined(v) || JS_IsNull(v))
		return true;
	if (!JS_IsArray(v))
		return bind_push(ctx, to, n, v);
	bool ok = JS_GetLength(ctx, v, &length) >= 0;
	for (int64_t i = 0; ok && i < length; i++)
		ok = bind_push(ctx, to, n, JS_GetPropertyInt64(ctx, v, i));
	JS_FreeValue(ctx, v);
	return ok;
}

static JSValue
mapped_get(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	(void)argc, (void)argv;
	return JS_DupValue(ctx, this);
}

static JSValue
sel_map(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);
	JSValue to = s == NULL ? JS_EXCEPTION : JS_NewArray(ctx);
	uint32_t n = 0;
	bool ok = !JS_IsException(to);

	(void)argc;
	for (uint32_t i = 0; ok && i < s->n; i++) {
		JSValue v = call_back(ctx, s, argv[0], i);
		ok = !JS_IsException(v) && push_mapped(ctx, to, &n, v);
	}
	if (ok)
		ok = JS_DefinePropertyValueStr(ctx, to, "get",
		    JS_NewCFunction(ctx, mapped_get, "get", 0),
		    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;
	if (ok)
		return to;
	JS_FreeValue(ctx, to);
	return JS_EXCEPTION;
}

static JSValue
sel_remove(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct sel *s = this_sel(ctx, this);

	if (s == NULL)
		return JS_EXCEPTION;
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));
	sel_copy(s, &l);
	if (l.full || (argc > 0 && !is_absent(ctx, argv[0]) &&
	    !sel_filter(ctx, s->d, argv[0], true, &l))) {
		if (l.full)
			(void)JS_ThrowOutOfMemory(ctx);
		nodes_free(&l);
		return JS_EXCEPTION;
	}
	for (uint32_t i = 0; i < l.n; i++)
		document_remove(s->d, l.at[i]);
	nodes_free(&l);
	return JS_DupValue(ctx, this);
}

size_t
sel_methods(const JSCFunctionListEntry **out)
{
	static const JSCFunctionListEntry list[] = {
		JS_CGETSET_DEF("length", sel_length, NULL),
		JS_CFUNC_DEF("find", 1, sel_find_method),
		JS_CFUNC_DEF("closest", 1, sel_closest),
		JS_CFUNC_DEF("has", 1, sel_has),
		JS_CFUNC_MAGIC_DEF("filter", 1, sel_pick, PICK_FILTER),
		JS_CFUNC_MAGIC_DEF("not", 1, sel_pick, PICK_NOT),
		JS_CFUNC_MAGIC_DEF("add", 1, sel_pick, PICK_ADD),
#define NAV_ROW(name, text) JS_CFUNC_MAGIC_DEF(text, 1, sel_nav, NAV_##name),
		NAVS(NAV_ROW)
#undef NAV_ROW
		JS_CFUNC_MAGIC_DEF("first", 0, sel_end_of, 0),
		JS_CFUNC_MAGIC_DEF("last", 0, sel_end_of, 1),
		JS_CFUNC_MAGIC_DEF("attr", 1, sel_attr, ATTR_OF_ATTR),
		JS_CFUNC_MAGIC_DEF("abs", 1, sel_attr, ATTR_OF_ABS),
		JS_CFUNC_MAGIC_DEF("data", 1, sel_attr, ATTR_OF_DATA),
		JS_CFUNC_DEF("text", 0, sel_text),
		JS_CFUNC_MAGIC_DEF("html", 0, sel_markup, 0),
		JS_CFUNC_MAGIC_DEF("outerHtml", 0, sel_markup, 1),
		JS_CFUNC_DEF("val", 0, sel_val),
		JS_CFUNC_DEF("is", 1, sel_is),
		JS_CFUNC_DEF("eq", 1, sel_eq),
		JS_CFUNC_DEF("slice", 2, sel_slice),
		JS_CFUNC_DEF("index", 0, sel_index),
		JS_CFUNC_DEF("remove", 0, sel_remove),
		JS_CFUNC_DEF("hasClass", 1, sel_has_class),
		JS_CFUNC_DEF("each", 1, sel_each),
		JS_CFUNC_DEF("map", 1, sel_map),
		JS_CFUNC_DEF("get", 1, sel_get),
		JS_CFUNC_DEF("toArray", 0, sel_to_array),
		JS_CFUNC_DEF("[Symbol.iterator]", 0, sel_iterate),
	};

	*out = list;
	return ARRAY_LEN(list);
}
