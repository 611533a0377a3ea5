/*
 * Sel: a list of nodes that never changes, as cheerio's objects are used.  Its
 * methods make new ones.  A callback may do what it likes meanwhile: the list
 * is fixed, and nodes live as long as their document.
 */
#include "script/web/sel_own.h"

static void
on_sel_end(JSRuntime *rt, JSValueConst v)
{
	struct sel *s = bind_finalized(rt, v, BIND_CLASS_SEL);

	if (s == NULL)
		return;
	document_drop(&s->d);
	js_free_rt(rt, s);
}

JSValue
sel_new(JSContext *ctx, struct document *d, struct nodes *l)
{
	struct sel *s = NULL;
	JSValue v = JS_EXCEPTION;

	if (l->full)
		(void)JS_ThrowOutOfMemory(ctx);
	else
		s = js_malloc(ctx, sizeof(*s) + l->n * sizeof(*s->at));
	if (s != NULL)
		v = bind_object(ctx, BIND_CLASS_SEL, s);
	if (JS_IsException(v)) {
		js_free(ctx, s);
	} else {
		s->d = document_hold(d);
		s->n = l->n;
		if (l->n != 0)
			memcpy(s->at, l->at, l->n * sizeof(*s->at));
	}
	nodes_free(l);
	return v;
}

JSValue
sel_array(JSContext *ctx, struct document *d, const uint32_t *at, uint32_t n)
{
	JSValue a = JS_NewArray(ctx);
	uint32_t put = 0;

	for (uint32_t i = 0; i < n && !JS_IsException(a); i++)
		if (!bind_push(ctx, a, &put, el_new(ctx, d, at[i]))) {
			JS_FreeValue(ctx, a);
			return JS_EXCEPTION;
		}
	return a;
}

int
sel_nodes(JSContext *ctx, struct document *d, JSValueConst v,
    struct nodes *out)
{
	struct sel *s = bind_opaque_of(v, BIND_CLASS_SEL);
	uint32_t node = NODE_NONE;
	struct document *of = s != NULL ? s->d : el_of(v, &node);

	if (of == NULL)
		return 0;
	if (of != d) {
		(void)JS_ThrowTypeError(ctx, "nodes of another document");
		return -1;
	}
	for (uint32_t i = 0; s != NULL && i < s->n; i++)
		nodes_put(out, s->at[i]);
	if (s == NULL)
		nodes_put(out, node);
	if (!out->full)
		return 1;
	(void)JS_ThrowOutOfMemory(ctx);
	return -1;
}

struct selector *
sel_compile(JSContext *ctx, struct document *d, JSValueConst css,
    enum selector_use use)
{
	struct selector *s = NULL;
	struct why w = WHY_INIT;
	struct str text = bind_text(ctx, css);

	if (text.p == NULL)
		return NULL;
	enum err e = selector_compile(d, text, use, &s, &w);
	bind_text_free(ctx, text);
	if (e != OK)
		(void)bind_throw(ctx, e, &w);
	return s;
}

/* After matching: an exception where it was cut. */
static bool
is_whole(JSContext *ctx, const struct selector *s)
{
	if (selector_is_full(s)) {
		(void)JS_ThrowOutOfMemory(ctx);
		return false;
	}
	return bind_poll_ok(ctx);
}

bool
sel_find(JSContext *ctx, struct document *d, JSValueConst css,
    enum selector_use use, const uint32_t *from, uint32_t from_n, uint32_t max,
    struct nodes *out)
{
	struct selector *s = sel_compile(ctx, d, css, use);

	if (s == NULL)
		return false;
	selector_find(s, from, from_n, max, &bind_of(ctx)->poll, out);
	return is_whole(ctx, s);
}

JSValue
sel_query(JSContext *ctx, struct document *d, uint32_t from, JSValueConst css,
    bool all)
{
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));
	JSValue v = JS_EXCEPTION;

	if (sel_find(ctx, d, css, SELECTOR_PLAIN, &from, 1,
	    all ? UINT32_MAX : 1, &l))
		v = all ? sel_array(ctx, d, l.at, l.n) :
		    l.n == 0 ? JS_NULL : el_new(ctx, d, l.at[0]);
	nodes_free(&l);
	return v;
}

/* ---- Filters ---------------------------------------------------------- */

/* Keep what the callback is true for, as (index, El) with `this` the El. */
static bool
filter_by_call(JSContext *ctx, struct document *d, JSValueConst f, bool keep,
    struct nodes *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		JSValue args[2] = { JS_NewUint32(ctx, i),
		    el_new(ctx, d, l->at[i]) };
		if (JS_IsException(args[1]))
			return false;
		JSValue v = JS_Call(ctx, f, args[1], 2, args);
		JS_FreeValue(ctx, args[1]);
		int yes = JS_ToBool(ctx, v);
		JS_FreeValue(ctx, v);
		if (yes < 0)
			return false;
		if ((yes != 0) == keep)
			l->at[n++] = l->at[i];
	}
	l->n = n;
	return true;
}

static bool
filter_by_css(JSContext *ctx, struct document *d, JSValueConst css, bool keep,
    struct nodes *l)
{
	struct selector *s = sel_compile(ctx, d, css, SELECTOR_PLAIN);
	struct poll *p = &bind_of(ctx)->poll;
	uint32_t n = 0;

	if (s == NULL)
		return false;
	for (uint32_t i = 0; i < l->n; i++)
		if (selector_matches(s, l->at[i], p) == keep)
			l->at[n++] = l->at[i];
	l->n = n;
	return is_whole(ctx, s);
}

/* Keep those that are, or are not, among the nodes of an El or a Sel. */
static bool
filter_by_nodes(JSContext *ctx, struct document *d, JSValueConst v, bool keep,
    struct nodes *l)
{
	struct nodes set = NODES_OF(l->rt);
	uint32_t n = 0;
	int is = sel_nodes(ctx, d, v, &set);

	if (is == 0)
		(void)JS_ThrowTypeError(ctx,
		    "neither a selector nor a function, El or Sel");
	nodes_sort(&set);
	for (uint32_t i = 0; is == 1 && i < l->n; i++) {
		uint32_t from = 0, to = set.n;
		while (from < to) {
			uint32_t mid = from + (to - from) / 2;
			if (set.at[mid] < l->at[i])
				from = mid + 1;
			else
				to = mid;
		}
		bool in = from < set.n && set.at[from] == l->at[i];
		if (in == keep)
			l->at[n++] = l->at[i];
	}
	l->n = n;
	nodes_free(&set);
	return is == 1;
}

bool
sel_filter(JSContext *ctx, struct document *d, JSValueConst by, bool keep,
    struct nodes *l)
{
	if (JS_IsFunction(ctx, by) && bind_opaque_of(by,
	    BIND_CLASS_DOLLAR) == NULL)
		return filter_by_call(ctx, d, by, keep, l);
	return JS_IsString(by) ? filter_by_css(ctx, d, by, keep, l) :
	    filter_by_nodes(ctx, d, by, keep, l);
}

void
sel_copy(const struct sel *s, struct nodes *out)
{
	for (uint32_t i = 0; i < s->n; i++)
		nodes_put(out, s->at[i]);
}

/* ---- Iteration -------------------------------------------------------- */

/* An iterator: the Sel, and how far it came. */
struct sel_walk {
	JSValue sel;
	uint32_t next;
};

static void
on_walk_end(JSRuntime *rt, JSValueConst v)
{
	struct sel_walk *w = bind_finalized(rt, v, BIND_CLASS_SEL_WALK);

	if (w == NULL)
		return;
	JS_FreeValueRT(rt, w->sel);
	js_free_rt(rt, w);
}

static void
mark_walk(JSRuntime *rt, JSValueConst v, JS_MarkFunc *mark)
{
	struct sel_walk *w = bind_finalized(rt, v, BIND_CLASS_SEL_WALK);

	if (w != NULL)
		JS_MarkValue(rt, w->sel, mark);
}

JSValue
sel_iterate(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	(void)argc, (void)argv;
	if (bind_opaque(ctx, this, BIND_CLASS_SEL) == NULL)
		return JS_EXCEPTION;
	struct sel_walk *w = js_malloc(ctx, sizeof(*w));
	if (w == NULL)
		return JS_EXCEPTION;
	JSValue v = bind_object(ctx, BIND_CLASS_SEL_WALK, w);
	if (JS_IsException(v))
		js_free(ctx, w);
	else
		*w = (struct sel_walk){ JS_DupValue(ctx, this), 0 };
	return v;
}

static JSValue
walk_next(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int *done, int magic)
{
	struct sel_walk *w = bind_opaque(ctx, this, BIND_CLASS_SEL_WALK);

	(void)argc, (void)argv, (void)magic;
	*done = 1;
	if (w == NULL)
		return JS_EXCEPTION;
	struct sel *s = bind_opaque(ctx, w->sel, BIND_CLASS_SEL);
	if (s == NULL || w->next >= s->n)
		return JS_UNDEFINED;
	*done = 0;
	return el_new(ctx, s->d, s->at[w->next++]);
}

static JSValue
walk_self(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	(void)argc, (void)argv;
	return JS_DupValue(ctx, this);
}

bool
sel_open(JSContext *ctx)
{
	static const JSClassDef def = { .class_name = "Sel",
		.finalizer = on_sel_end };
	static const JSClassDef walk_def = { .class_name = "Sel Iterator",
		.finalizer = on_walk_end, .gc_mark = mark_walk };
	static const JSCFunctionListEntry walk[] = {
		JS_ITERATOR_NEXT_DEF("next", 0, walk_next, 0),
		JS_CFUNC_DEF("[Symbol.iterator]", 0, walk_self),
	};
	const JSCFunctionListEntry *list;
	size_t n = sel_methods(&list);

	return bind_class_new(ctx, BIND_CLASS_SEL, &def, list, n) &&
	    bind_class_new(ctx, BIND_CLASS_SEL_WALK, &walk_def, walk,
	    ARRAY_LEN(walk));
}
