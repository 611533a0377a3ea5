/*
 * What a page says about itself: <meta>, JSON-LD, microdata, links.
 */
#include "base/hash.h"
#include "script/web/bind.h"

/* Items of microdata inside each other; ids that one itemref may name. */
#define ITEM_DEPTH_MAX 32u
#define ITEM_REFS_MAX 64u

/* The next element of the document; NODE_NONE also when the poll says stop. */
static uint32_t
next_element(JSContext *ctx, struct document *d, uint32_t at)
{
	struct poll *p = &bind_of(ctx)->poll;

	do
		at = poll_step(p) ? NODE_NONE : document_next(d, 0, at);
	while (at != NODE_NONE && !node_is_element(d, at));
	return at;
}

static bool
is_named(const struct document *d, uint32_t at, const char *names)
{
	struct str rest = str_of(names), part;

	while (str_split(&rest, ' ', &part))
		if (str_eq(name_text(d->nodes[at].name->lower), part))
			return true;
	return false;
}

static struct str
attr(const struct document *d, uint32_t at, const char *name)
{
	return document_attr_text(d, at, name);
}

/* `v`, unless the walk was cut or `ok` is false. */
static JSValue
finish(JSContext *ctx, JSValue v, bool ok)
{
	if (JS_IsException(v) || (bind_poll_ok(ctx) && ok))
		return v;
	JS_FreeValue(ctx, v);
	return JS_EXCEPTION;
}

/* ---- <meta> ----------------------------------------------------------- */

static bool
put_first(JSContext *ctx, JSValueConst to, struct str key, struct str value)
{
	JSAtom atom = JS_NewAtomLen(ctx, key.p, key.n);

	if (atom == JS_ATOM_NULL)
		return false;
	int has = JS_GetOwnProperty(ctx, NULL, to, atom);
	JS_FreeAtom(ctx, atom);
	if (has != 0)
		return has > 0;
	return bind_put(ctx, to, key, bind_string(ctx, value));
}

static bool
put_meta(JSContext *ctx, struct document *d, uint32_t at, JSValueConst to)
{
	static const char *const keys[] = { "name", "property", "http-equiv",
		"itemprop" };
	struct str content = attr(d, at, "content"), key = STR_NONE;
	struct out o = OUT_OF(d->rt);

	for (size_t i = 0; i < ARRAY_LEN(keys) && key.n == 0; i++)
		key = str_trim(attr(d, at, keys[i]));
	if (content.p == NULL || key.n == 0)
		return true;
	for (size_t i = 0; i < key.n; i++)
		out_char(&o, ascii_lower(key.p[i]));
	bool ok = put_first(ctx, to, out_text(&o), content);
	out_free(&o);
	return ok;
}

JSValue
facts_meta(JSContext *ctx, struct document *d)
{
	JSValue v = JS_NewObject(ctx);
	bool ok = !JS_IsException(v);

	for (uint32_t at = 0; ok &&
	    (at = next_element(ctx, d, at)) != NODE_NONE; )
		if (is_named(d, at, "meta"))
			ok = put_meta(ctx, d, at, v);
	return finish(ctx, v, ok);
}

/* ---- JSON-LD ---------------------------------------------------------- */

/* What is no JSON, or too deep, is left out; other exceptions stay. */
static bool
is_bad_json(JSContext *ctx)
{
	JSValue e = JS_GetException(ctx), name = JS_UNDEFINED;
	bool is = false;

	if (!JS_IsUncatchableError(e))
		name = JS_GetPropertyStr(ctx, e, "name");
	if (JS_IsString(name)) {
		struct str s = bind_text(ctx, name);
		is = str_eq(s, STR("SyntaxError")) ||
		    str_eq(s, STR("RangeError"));
		bind_text_free(ctx, s);
	}
	JS_FreeValue(ctx, name);
	if (is)
		JS_FreeValue(ctx, e);
	else
		(void)JS_Throw(ctx, e);
	return is;
}

/* A block's value, or the items of its array. */
static bool
put_block(JSContext *ctx, JSValueConst to, uint32_t *n, JSValue v)
{
	int64_t length = 0;

	if (!JS_IsArray(v))
		return bind_push(ctx, to, n, v);
	bool ok = JS_GetLength(ctx, v, &length) >= 0;
	for (int64_t i = 0; ok && i < length; i++)
		ok = bind_push(ctx, to, n, JS_GetPropertyInt64(ctx, v, i));
	JS_FreeValue(ctx, v);
	return ok;
}

static bool
put_jsonld(JSContext *ctx, struct document *d, uint32_t at, JSValueConst to,
    uint32_t *n)
{
	struct out room = OUT_OF(d->rt), o = room;
	bool ok;

	out_str(&o, document_text_of(d, at, &room));
	out_char(&o, '\0');
	o.full = o.full || room.full;
	out_free(&room);
	if (o.full) {
		(void)JS_ThrowOutOfMemory(ctx);
		ok = false;
	} else {
		JSValue v = JS_ParseJSON(ctx, o.p, o.n - 1, "<JSON-LD>");
		ok = JS_IsException(v) ? is_bad_json(ctx) :
		    put_block(ctx, to, n, v);
	}
	out_free(&o);
	return ok;
}

JSValue
facts_jsonld(JSContext *ctx, struct document *d)
{
	JSValue v = JS_NewArray(ctx);
	bool ok = !JS_IsException(v);
	uint32_t n = 0;

	for (uint32_t at = 0; ok &&
	    (at = next_element(ctx, d, at)) != NODE_NONE; ) {
		struct str type = attr(d, at, "type");
		type = str_trim(str_cut(type, 0, str_find_char(type, ';')));
		if (is_named(d, at, "script") &&
		    str_eq_nocase(type, STR("application/ld+json")))
			ok = put_jsonld(ctx, d, at, v, &n);
	}
	return finish(ctx, v, ok);
}

/* ---- Microdata --------------------------------------------------------------
 * https://html.spec.whatwg.org/ sections 5.2.4, 5.2.5 and 5.4.
 */

struct item {
	JSContext *ctx;
	struct document *d;
	uint32_t above[ITEM_DEPTH_MAX];   /* items around the one at work */
	unsigned depth;
};

static JSValue item_value(struct item *, uint32_t);

/* Elements with itemprop from `root` on, without the inside of other items. */
static void
put_properties(struct item *it, uint32_t root, bool self, struct nodes *l)
{
	struct document *d = it->d;
	struct poll *p = &bind_of(it->ctx)->poll;
	uint32_t at = root;

	if (self && attr(d, root, "itemprop").p != NULL)
		nodes_put(l, root);
	if (self && attr(d, root, "itemscope").p != NULL)
		return;
	while ((at = document_next(d, root, at)) != NODE_NONE &&
	    !poll_step(p)) {
		if (attr(d, at, "itemprop").p != NULL)
			nodes_put(l, at);
		if (attr(d, at, "itemscope").p != NULL)
			at = d->nodes[at].end;
	}
}

static uint32_t
element_by_id(struct item *it, struct str id)
{
	uint32_t at = 0;

	while ((at = next_element(it->ctx, it->d, at)) != NODE_NONE)
		if (str_eq(document_attr_of(it->d, at, it->d->id), id))
			return at;
	return NODE_NONE;
}

static bool
take_word(struct str *rest, struct str *word)
{
	size_t from = 0, to;

	while (from < rest->n && ascii_is_space(rest->p[from]))
		from++;
	for (to = from; to < rest->n && !ascii_is_space(rest->p[to]); )
		to++;
	*word = str_cut(*rest, from, to);
	*rest = str_from(*rest, to);
	return word->n != 0;
}

static struct nodes
properties_of(struct item *it, uint32_t root)
{
	struct nodes l = NODES_OF(it->d->rt);
	struct str refs = attr(it->d, root, "itemref"), id;

	put_properties(it, root, false, &l);
	for (unsigned i = 0; i < ITEM_REFS_MAX && take_word(&refs, &id); i++) {
		uint32_t at = element_by_id(it, id);
		if (at != NODE_NONE && at != root)
			put_properties(it, at, true, &l);
	}
	nodes_sort(&l);
	return l;
}

static JSValue
link_value(struct item *it, uint32_t at, const char *name)
{
	JSValue v = sel_absolute(it->ctx, it->d, attr(it->d, at, name));

	return JS_IsUndefined(v) ? bind_string(it->ctx, STR("")) : v;
}

static JSValue
text_value(struct item *it, uint32_t at)
{
	struct out room = OUT_OF(it->d->rt);
	struct str s = document_text_of(it->d, at, &room);
	JSValue v = s.p == NULL ? JS_ThrowOutOfMemory(it->ctx) :
	    bind_string(it->ctx, s);

	out_free(&room);
	return v;
}

static JSValue
property_value(struct item *it, uint32_t at)
{
	struct document *d = it->d;
	struct str datetime = attr(d, at, "datetime");

	if (attr(d, at, "itemscope").p != NULL)
		return item_value(it, at);
	if (is_named(d, at, "meta"))
		return bind_string(it->ctx, attr(d, at, "content"));
	if (is_named(d, at, "audio embed iframe img source track video"))
		return link_value(it, at, "src");
	if (is_named(d, at, "a area link"))
		return link_value(it, at, "href");
	if (is_named(d, at, "object"))
		return link_value(it, at, "data");
	if (is_named(d, at, "data meter"))
		return bind_string(it->ctx, attr(d, at, "value"));
	if (is_named(d, at, "time") && datetime.p != NULL)
		return bind_string(it->ctx, datetime);
	return text_value(it, at);
}

/* Append to the list of values that the property has; takes `v`. */
static bool
add_value(JSContext *ctx, JSValueConst properties, struct str name, JSValue v)
{
	int64_t n = 0;
	JSAtom atom = JS_NewAtomLen(ctx, name.p, name.n);
	JSValue list = atom == JS_ATOM_NULL ? JS_EXCEPTION : JS_UNDEFINED;
	int has = atom == JS_ATOM_NULL ? -1 :
	    JS_GetOwnProperty(ctx, NULL, properties, atom);

	if (has > 0) {
		list = JS_GetProperty(ctx, properties, atom);
	} else if (has == 0) {
		list = JS_NewArray(ctx);
		if (!JS_IsException(list) && JS_DefinePropertyValue(ctx,
		    properties, atom, JS_DupValue(ctx, list),
		    JS_PROP_C_W_E) < 0)
			has = -1;
	}
	JS_FreeAtom(ctx, atom);
	bool ok = has >= 0 && JS_IsArray(list) &&
	    JS_GetLength(ctx, list, &n) >= 0;
	uint32_t at = (uint32_t)n;
	if (ok)
		ok = bind_push(ctx, list, &at, v);
	else
		JS_FreeValue(ctx, v);
	JS_FreeValue(ctx, list);
	return ok;
}

static bool
put_property(struct item *it, uint32_t at, JSValueConst properties)
{
	struct str names = attr(it->d, at, "itemprop"), name;
	JSValue v = property_value(it, at);
	bool ok = !JS_IsException(v);

	while (ok && take_word(&names, &name))
		ok = add_value(it->ctx, properties, name,
		    JS_DupValue(it->ctx, v));
	JS_FreeValue(it->ctx, v);
	return ok;
}

/* The words of an attribute as an array; absent without any. */
static bool
put_words(JSContext *ctx, JSValueConst to, struct str key, struct str words)
{
	struct str word;
	uint32_t n = 0;
	JSValue list = JS_UNDEFINED;
	bool ok = true;

	while (ok && take_word(&words, &word)) {
		if (n == 0)
			list = JS_NewArray(ctx);
		ok = !JS_IsException(list) &&
		    bind_push(ctx, list, &n, bind_string(ctx, word));
	}
	if (ok && n > 0)
		return bind_put(ctx, to, key, list);
	JS_FreeValue(ctx, list);
	return ok;
}

static bool
fill_item(struct item *it, uint32_t root, JSValueConst v)
{
	JSContext *ctx = it->ctx;
	struct str id = attr(it->d, root, "itemid");
	JSValue properties = JS_NewObject(ctx);
	bool ok = !JS_IsException(properties) && put_words(ctx, v,
	    STR("type"), attr(it->d, root, "itemtype"));

	if (ok && id.p != NULL)
		ok = bind_put(ctx, v, STR("id"), link_value(it, root,
		    "itemid"));
	struct nodes l = properties_of(it, root);
	if (l.full)
		(void)JS_ThrowOutOfMemory(ctx);
	ok = ok && !l.full;
	for (uint32_t i = 0; ok && i < l.n; i++)
		ok = put_property(it, l.at[i], properties);
	nodes_free(&l);
	if (ok)
		return bind_put(ctx, v, STR("properties"), properties);
	JS_FreeValue(ctx, properties);
	return false;
}

/* An item that contains itself is "ERROR", as the standard has it. */
static JSValue
item_value(struct item *it, uint32_t root)
{
	JSValue v = JS_UNDEFINED;

	for (unsigned i = 0; i < it->depth; i++)
		if (it->above[i] == root)
			return bind_string(it->ctx, STR("ERROR"));
	if (it->depth == ITEM_DEPTH_MAX)
		return bind_string(it->ctx, STR("ERROR"));
	it->above[it->depth++] = root;
	v = JS_NewObject(it->ctx);
	if (!JS_IsException(v) && !fill_item(it, root, v)) {
		JS_FreeValue(it->ctx, v);
		v = JS_EXCEPTION;
	}
	it->depth--;
	return v;
}

JSValue
facts_microdata(JSContext *ctx, struct document *d)
{
	struct item it = { .ctx = ctx, .d = d };
	JSValue v = JS_NewArray(ctx);
	bool ok = !JS_IsException(v);
	uint32_t n = 0;

	for (uint32_t at = 0; ok &&
	    (at = next_element(ctx, d, at)) != NODE_NONE; )
		if (attr(d, at, "itemscope").p != NULL &&
		    attr(d, at, "itemprop").p == NULL)
			ok = bind_push(ctx, v, &n, item_value(&it, at));
	return finish(ctx, v, ok);
}

/* ---- Links ------------------------------------------------------------ */

/* The hashes of what was listed: 64 bits each, open addressing. */
struct seen {
	JSRuntime *rt;
	uint64_t *slots;
	uint32_t n, cap;             /* cap is 0 or a power of two */
	bool full;
};

static bool
put_slot(struct seen *s, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (s->cap - 1);

	while (s->slots[i] != 0 && s->slots[i] != hash)
		i = (i + 1) & (s->cap - 1);
	bool is_new = s->slots[i] == 0;
	s->slots[i] = hash;
	s->n += is_new;
	return is_new;
}

static void
grow_seen(struct seen *s)
{
	struct seen to = { .rt = s->rt, .cap = MAX(64u, s->cap * 2) };

	to.slots = js_mallocz_rt(s->rt, to.cap * sizeof(*to.slots));
	if (to.slots == NULL) {
		s->full = true;
		return;
	}
	for (uint32_t i = 0; i < s->cap; i++)
		if (s->slots[i] != 0)
			(void)put_slot(&to, s->slots[i]);
	js_free_rt(s->rt, s->slots);
	*s = to;
}

/* Whether the text is seen for the first time. */
static bool
is_new(struct seen *s, struct str text)
{
	if (s->n * 2 >= s->cap)
		grow_seen(s);
	return !s->full && put_slot(s, hash_bytes(text, 0) | 1);
}

static bool
put_link(JSContext *ctx, struct document *d, struct str href, struct seen *s,
    JSValueConst to, uint32_t *n)
{
	struct arena a = ARENA_INIT;
	struct url u;
	bool ok = true;

	if (url_parse(href, document_base(d), &a, &u, NULL) == OK &&
	    (u.scheme == URL_HTTP || u.scheme == URL_HTTPS) &&
	    is_new(s, u.href))
		ok = bind_push(ctx, to, n, bind_string(ctx, u.href));
	arena_free(&a);
	if (s->full)
		(void)JS_ThrowOutOfMemory(ctx);
	return ok && !s->full;
}

JSValue
facts_links(JSContext *ctx, struct document *d)
{
	struct seen s = { .rt = d->rt };
	JSValue v = JS_NewArray(ctx);
	bool ok = !JS_IsException(v);
	uint32_t n = 0;

	for (uint32_t at = 0; ok &&
	    (at = next_element(ctx, d, at)) != NODE_NONE; ) {
		struct str href = attr(d, at, "href");
		if (href.p != NULL && is_named(d, at, "a area"))
			ok = put_link(ctx, d, href, &s, v, &n);
	}
	js_free_rt(s.rt, s.slots);
	return finish(ctx, v, ok);
}
