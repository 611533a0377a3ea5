/*
 * The class URLSearchParams.  https://url.spec.whatwg.org/ section 6.2
 *
 * A list is kept as its query string; each call parses it by ada, and a change
 * writes it again, into the URL's query, too.
 */
#include <ada_c.h>

#include "script/web/url_own.h"

/* Of a list; it is parsed and written anew at each call. */
#define PARAMS_BYTES_MAX (1u << 20)

static bool
is_too_long(JSContext *ctx, size_t n)
{
	if (n > PARAMS_BYTES_MAX)
		(void)JS_ThrowRangeError(ctx,
		    "URLSearchParams have at most %u bytes", PARAMS_BYTES_MAX);
	return n > PARAMS_BYTES_MAX;
}

static void
on_params_end(JSRuntime *rt, JSValueConst v)
{
	struct params *p = bind_finalized(rt, v, BIND_CLASS_PARAMS);

	if (p == NULL)
		return;
	if (p->url != NULL)
		p->url->params = NULL;
	url_box_drop(rt, &p->url);
	js_free_rt(rt, (char *)(uintptr_t)p->query.p);
	js_free_rt(rt, p);
}

static void
params_free(JSContext *ctx, struct params *p)
{
	js_free(ctx, (char *)(uintptr_t)p->query.p);
	js_free(ctx, p);
}

static struct params *
params_new(JSContext *ctx, struct str query)
{
	struct params *p = js_mallocz(ctx, sizeof(*p));

	if (p != NULL && !url_keep(ctx, &p->query, query)) {
		js_free(ctx, p);
		p = NULL;
	}
	return p;
}

JSValue
params_of_url(JSContext *ctx, struct url_box *b, struct str query)
{
	struct params *p = params_new(ctx, query);

	if (p == NULL)
		return JS_EXCEPTION;
	JSValue v = bind_object(ctx, BIND_CLASS_PARAMS, p);
	if (JS_IsException(v)) {
		params_free(ctx, p);
		return v;
	}
	p->url = b;
	b->refs++;
	b->params = p;
	return v;
}

static ada_url_search_params
open_list(const struct params *p)
{
	return ada_parse_search_params(p->query.p, p->query.n);
}

/* Close the list and keep what it is now. */
static bool
keep_list(JSContext *ctx, struct params *p, ada_url_search_params list)
{
	ada_owned_string s = ada_search_params_to_string(list);
	struct str query = { s.data, s.length };
	bool ok = url_keep(ctx, &p->query, query) &&
	    (p->url == NULL || url_set_query(ctx, p->url, query));

	ada_free_owned_string(s);
	ada_free_search_params(list);
	return ok;
}

static JSValue
value_of(JSContext *ctx, ada_string s)
{
	return bind_string(ctx, (struct str){ s.data, s.length });
}

/* ---- Making one of a value -------------------------------------------- */

/* A list that is made of a value. */
struct making {
	ada_url_search_params list;
	size_t bytes;
};

static bool
append_pair(JSContext *ctx, struct making *m, JSValueConst key,
    JSValueConst value)
{
	struct str k = bind_usv(ctx, key), v = STR_NONE;

	if (k.p != NULL)
		v = bind_usv(ctx, value);
	m->bytes += k.n + v.n + 2;
	bool ok = v.p != NULL && !is_too_long(ctx, m->bytes);
	if (ok)
		ada_search_params_append(m->list, k.p, k.n, v.p, v.n);
	bind_text_free(ctx, k);
	bind_text_free(ctx, v);
	return ok;
}

struct pair_values {
	JSValue at[2];
};

static int
take_half(JSContext *ctx, void *to, int i, JSValue v)
{
	struct pair_values *p = to;

	if (i < 2) {
		p->at[i] = v;
		return 0;
	}
	/* Of an endless one, no more is read. */
	JS_FreeValue(ctx, v);
	return i > 2 ? -1 : 0;
}

static int
take_pair(JSContext *ctx, void *making, int i, JSValue v)
{
	struct pair_values p = { { JS_UNDEFINED, JS_UNDEFINED } };
	JSValue method = JS_IsObject(v) ? bind_iterator_method(ctx, v) :
	    JS_UNDEFINED;
	int n = JS_IsException(method) ? -1 : 0;

	(void)i;
	if (JS_IsFunction(ctx, method))
		n = bind_iterate(ctx, v, method, take_half, &p);
	bool ok = n == 2 && append_pair(ctx, making, p.at[0], p.at[1]);
	if (n != 2 && !JS_HasException(ctx))
		(void)JS_ThrowTypeError(ctx, "not a pair of name and value");
	JS_FreeValue(ctx, p.at[0]);
	JS_FreeValue(ctx, p.at[1]);
	JS_FreeValue(ctx, method);
	JS_FreeValue(ctx, v);
	return ok ? 0 : -1;
}

static bool
append_record(JSContext *ctx, struct making *m, JSValueConst from)
{
	JSPropertyEnum *at = NULL;
	uint32_t n = 0;
	bool ok = JS_GetOwnPropertyNames(ctx, &at, &n, from,
	    JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) >= 0;

	for (uint32_t i = 0; ok && i < n; i++) {
		JSValue key = JS_AtomToString(ctx, at[i].atom);
		JSValue v = JS_GetProperty(ctx, from, at[i].atom);
		ok = !JS_IsException(key) && !JS_IsException(v) &&
		    append_pair(ctx, m, key, v);
		JS_FreeValue(ctx, key);
		JS_FreeValue(ctx, v);
	}
	if (at != NULL)
		JS_FreePropertyEnum(ctx, at, n);
	return ok;
}

static bool
parse_text(JSContext *ctx, struct making *m, JSValueConst v)
{
	struct str s = bind_usv(ctx, v);
	bool ok = s.p != NULL && !is_too_long(ctx, s.n);

	if (ok) {
		struct str query = str_from(s, str_starts(s, STR("?")));
		m->list = ada_parse_search_params(query.n == 0 ? "" : query.p,
		    query.n);
	}
	bind_text_free(ctx, s);
	return ok;
}

/* The list that a value stands for; NULL: an exception. */
static ada_url_search_params
list_of_value(JSContext *ctx, JSValueConst v)
{
	struct making m = { .list = NULL };
	bool ok;

	if (JS_IsObject(v)) {
		JSValue method = bind_iterator_method(ctx, v);
		m.list = ada_parse_search_params("", 0);
		ok = !JS_IsException(method);
		if (ok && JS_IsFunction(ctx, method))
			ok = bind_iterate(ctx, v, method, take_pair, &m) >= 0;
		else
			ok = ok && append_record(ctx, &m, v);
		JS_FreeValue(ctx, method);
	} else if (JS_IsUndefined(v)) {
		m.list = ada_parse_search_params("", 0);
		ok = true;
	} else {
		ok = parse_text(ctx, &m, v);
	}
	if (!ok && m.list != NULL)
		ada_free_search_params(m.list);
	return ok ? m.list : NULL;
}

static JSValue
construct_params(JSContext *ctx, JSValueConst target, int argc,
    JSValueConst *argv)
{
	struct params *p = params_new(ctx, STR(""));

	if (p == NULL)
		return JS_EXCEPTION;
	ada_url_search_params list = list_of_value(ctx, argc > 0 ? argv[0] :
	    JS_UNDEFINED);
	JSValue v = JS_EXCEPTION;
	if (list != NULL && keep_list(ctx, p, list))
		v = bind_object_of(ctx, BIND_CLASS_PARAMS, target, p);
	if (JS_IsException(v))
		params_free(ctx, p);
	return v;
}

/* ---- Methods ---------------------------------------------------------- */

enum change { CHANGE_APPEND, CHANGE_SET, CHANGE_DELETE, CHANGE_SORT };
enum question { ASK_GET, ASK_GET_ALL, ASK_HAS };

/* Name and, where it is given, value; false: an exception. */
static bool
take_names(JSContext *ctx, int argc, JSValueConst *argv, struct str *k,
    struct str *v)
{
	*v = STR_NONE;
	*k = bind_usv(ctx, argv[0]);
	if (k->p == NULL)
		return false;
	if (argc < 2 || JS_IsUndefined(argv[1]))
		return true;
	*v = bind_usv(ctx, argv[1]);
	if (v->p != NULL)
		return true;
	bind_text_free(ctx, *k);
	return false;
}

static void
change_list(ada_url_search_params l, enum change c, struct str k, struct str v)
{
	if (c == CHANGE_SORT)
		ada_search_params_sort(l);
	else if (c == CHANGE_APPEND)
		ada_search_params_append(l, k.p, k.n, v.p, v.n);
	else if (c == CHANGE_SET)
		ada_search_params_set(l, k.p, k.n, v.p, v.n);
	else if (v.p == NULL)
		ada_search_params_remove(l, k.p, k.n);
	else
		ada_search_params_remove_value(l, k.p, k.n, v.p, v.n);
}

static JSValue
change_params(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int magic)
{
	struct params *p = bind_opaque(ctx, this, BIND_CLASS_PARAMS);
	struct str k = STR_NONE, v = STR_NONE;
	int needed = magic == CHANGE_SORT ? 0 : magic == CHANGE_DELETE ? 1 : 2;

	if (p == NULL)
		return JS_EXCEPTION;
	if (argc < needed)
		return JS_ThrowTypeError(ctx, "%d arguments are needed",
		    needed);
	if (needed > 0 && !take_names(ctx, argc, argv, &k, &v))
		return JS_EXCEPTION;
	/* What is given is used, be it undefined. */
	if (needed == 2 && v.p == NULL)
		v = bind_usv(ctx, argv[1]);
	bool ok = (needed < 2 || v.p != NULL) &&
	    !is_too_long(ctx, p->query.n + k.n + v.n);
	if (ok) {
		ada_url_search_params l = open_list(p);
		change_list(l, (enum change)magic, k, v);
		ok = keep_list(ctx, p, l);
	}
	bind_text_free(ctx, k);
	bind_text_free(ctx, v);
	return ok ? JS_UNDEFINED : JS_EXCEPTION;
}

static JSValue
all_values(JSContext *ctx, ada_url_search_params l, struct str k)
{
	ada_strings all = ada_search_params_get_all(l, k.p, k.n);
	JSValue v = JS_NewArray(ctx);
	uint32_t n = 0;

	for (size_t i = 0; !JS_IsException(v) && i < ada_strings_size(all); i++)
		if (!bind_push(ctx, v, &n, value_of(ctx,
		    ada_strings_get(all, i)))) {
			JS_FreeValue(ctx, v);
			v = JS_EXCEPTION;
		}
	ada_free_strings(all);
	return v;
}

static JSValue
ask_params(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int magic)
{
	struct params *p = bind_opaque(ctx, this, BIND_CLASS_PARAMS);
	struct str k, v;
	JSValue answer;

	if (p == NULL)
		return JS_EXCEPTION;
	if (argc < 1)
		return JS_ThrowTypeError(ctx, "1 argument is needed");
	if (!take_names(ctx, argc, argv, &k, &v))
		return JS_EXCEPTION;
	ada_url_search_params l = open_list(p);
	bool has = ada_search_params_has(l, k.p, k.n);
	if (magic == ASK_GET_ALL)
		answer = all_values(ctx, l, k);
	else if (magic == ASK_GET)
		answer = has ? value_of(ctx, ada_search_params_get(l, k.p,
		    k.n)) : JS_NULL;
	else
		answer = JS_NewBool(ctx, v.p == NULL ? has :
		    ada_search_params_has_value(l, k.p, k.n, v.p, v.n));
	ada_free_search_params(l);
	bind_text_free(ctx, k);
	bind_text_free(ctx, v);
	return answer;
}

static JSValue
params_text(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct params *p = bind_opaque(ctx, this, BIND_CLASS_PARAMS);

	(void)argc, (void)argv;
	if (p == NULL)
		return JS_EXCEPTION;
	ada_url_search_params l = open_list(p);
	ada_owned_string s = ada_search_params_to_string(l);
	JSValue v = bind_string(ctx, (struct str){ s.data, s.length });
	ada_free_owned_string(s);
	ada_free_search_params(l);
	return v;
}

static JSValue
params_size(JSContext *ctx, JSValueConst this)
{
	struct params *p = bind_opaque(ctx, this, BIND_CLASS_PARAMS);

	if (p == NULL)
		return JS_EXCEPTION;
	ada_url_search_params l = open_list(p);
	JSValue v = JS_NewInt64(ctx, (int64_t)ada_search_params_size(l));
	ada_free_search_params(l);
	return v;
}

/* ---- Iteration -------------------------------------------------------- */

enum params_kind { WALK_ENTRIES, WALK_KEYS, WALK_VALUES };

struct params_walk {
	JSValue params;
	size_t next;
	enum params_kind kind;
};

static void
on_walk_end(JSRuntime *rt, JSValueConst v)
{
	struct params_walk *w = bind_finalized(rt, v, BIND_CLASS_PARAMS_WALK);

	if (w == NULL)
		return;
	JS_FreeValueRT(rt, w->params);
	js_free_rt(rt, w);
}

static void
mark_walk(JSRuntime *rt, JSValueConst v, JS_MarkFunc *mark)
{
	struct params_walk *w = bind_finalized(rt, v, BIND_CLASS_PARAMS_WALK);

	if (w != NULL)
		JS_MarkValue(rt, w->params, mark);
}

/* The pair at this place of the list; false behind its end. */
static bool
pair_at(JSContext *ctx, const struct params *p, size_t at, JSValue *key,
    JSValue *value)
{
	ada_url_search_params l = open_list(p);
	ada_url_search_params_entries_iter it =
	    ada_search_params_get_entries(l);
	bool there = at < ada_search_params_size(l);
	ada_string_pair pair;

	for (size_t i = 0; there && i <= at; i++)
		pair = ada_search_params_entries_iter_next(it);
	if (there) {
		*key = value_of(ctx, pair.key);
		*value = value_of(ctx, pair.value);
	}
	ada_free_search_params_entries_iter(it);
	ada_free_search_params(l);
	return there;
}

static JSValue
pair_value(JSContext *ctx, enum params_kind kind, JSValue key, JSValue value)
{
	if (kind == WALK_KEYS) {
		JS_FreeValue(ctx, value);
		return key;
	}
	if (kind == WALK_VALUES) {
		JS_FreeValue(ctx, key);
		return value;
	}
	JSValue pair = JS_NewArray(ctx);
	uint32_t n = 0;
	bool ok = bind_push(ctx, pair, &n, key);
	if (ok && bind_push(ctx, pair, &n, value))
		return pair;
	if (!ok)
		JS_FreeValue(ctx, value);
	JS_FreeValue(ctx, pair);
	return JS_EXCEPTION;
}

static JSValue
walk_next(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int *done, int magic)
{
	struct params_walk *w = bind_opaque(ctx, this, BIND_CLASS_PARAMS_WALK);
	JSValue key, value;

	(void)argc, (void)argv, (void)magic;
	*done = 1;
	if (w == NULL)
		return JS_EXCEPTION;
	struct params *p = bind_opaque(ctx, w->params, BIND_CLASS_PARAMS);
	if (p == NULL || !pair_at(ctx, p, w->next, &key, &value))
		return JS_UNDEFINED;
	w->next++;
	*done = 0;
	return pair_value(ctx, w->kind, key, value);
}

static JSValue
walk_params(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int kind)
{
	(void)argc, (void)argv;
	if (bind_opaque(ctx, this, BIND_CLASS_PARAMS) == NULL)
		return JS_EXCEPTION;
	struct params_walk *w = js_malloc(ctx, sizeof(*w));
	if (w == NULL)
		return JS_EXCEPTION;
	JSValue v = bind_object(ctx, BIND_CLASS_PARAMS_WALK, w);
	if (JS_IsException(v))
		js_free(ctx, w);
	else
		*w = (struct params_walk){ JS_DupValue(ctx, this), 0,
		    (enum params_kind)kind };
	return v;
}

static JSValue
walk_self(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	(void)argc, (void)argv;
	return JS_DupValue(ctx, this);
}

static JSValue
each_param(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct params *p = bind_opaque(ctx, this, BIND_CLASS_PARAMS);
	JSValue key, value;

	(void)argc;
	if (p == NULL)
		return JS_EXCEPTION;
	for (size_t i = 0; pair_at(ctx, p, i, &key, &value); i++) {
		JSValue args[3] = { value, key, JS_DupValue(ctx, this) };
		JSValue v = JS_Call(ctx, argv[0], argv[1], 3, args);
		for (size_t k = 0; k < ARRAY_LEN(args); k++)
			JS_FreeValue(ctx, args[k]);
		if (JS_IsException(v))
			return v;
		JS_FreeValue(ctx, v);
	}
	return JS_UNDEFINED;
}

bool
params_open(JSContext *ctx)
{
	static const JSClassDef def = { .class_name = "URLSearchParams",
		.finalizer = on_params_end };
	static const JSClassDef walk_def = {
		.class_name = "URLSearchParams Iterator",
		.finalizer = on_walk_end, .gc_mark = mark_walk };
	static const JSCFunctionListEntry list[] = {
		JS_CFUNC_MAGIC_DEF("append", 2, change_params, CHANGE_APPEND),
		JS_CFUNC_MAGIC_DEF("set", 2, change_params, CHANGE_SET),
		JS_CFUNC_MAGIC_DEF("delete", 1, change_params, CHANGE_DELETE),
		JS_CFUNC_MAGIC_DEF("sort", 0, change_params, CHANGE_SORT),
		JS_CFUNC_MAGIC_DEF("get", 1, ask_params, ASK_GET),
		JS_CFUNC_MAGIC_DEF("getAll", 1, ask_params, ASK_GET_ALL),
		JS_CFUNC_MAGIC_DEF("has", 1, ask_params, ASK_HAS),
		JS_CFUNC_DEF("toString", 0, params_text),
		JS_CGETSET_DEF("size", params_size, NULL),
		JS_CFUNC_DEF("forEach", 2, each_param),
		JS_CFUNC_MAGIC_DEF("entries", 0, walk_params, WALK_ENTRIES),
		JS_CFUNC_MAGIC_DEF("keys", 0, walk_params, WALK_KEYS),
		JS_CFUNC_MAGIC_DEF("values", 0, walk_params, WALK_VALUES),
		JS_CFUNC_MAGIC_DEF("[Symbol.iterator]", 0, walk_params,
		    WALK_ENTRIES),
		JS_PROP_STRING_DEF("[Symbol.toStringTag]", "URLSearchParams",
		    JS_PROP_CONFIGURABLE),
	};
	static const JSCFunctionListEntry walk[] = {
		JS_ITERATOR_NEXT_DEF("next", 0, walk_next, 0),
		JS_CFUNC_DEF("[Symbol.iterator]", 0, walk_self),
	};

	return bind_class_new(ctx, BIND_CLASS_PARAMS, &def, list,
	    ARRAY_LEN(list)) && bind_class_new(ctx, BIND_CLASS_PARAMS_WALK,
	    &walk_def, walk, ARRAY_LEN(walk)) && bind_constructor(ctx,
	    BIND_CLASS_PARAMS, "URLSearchParams", construct_params, 0);
}
