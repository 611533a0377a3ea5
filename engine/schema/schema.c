/*
 *     text ─► copy in the arena ─► nodes, "$id"s ─► "$ref"s resolved ─► loops
 *
 * A subschema is compiled when its keyword is read; one that only a "$ref"
 * leads to is compiled when that is resolved.
 */
#include "engine/schema/schema.h"

#include <stdarg.h>

#include "base/text.h"
#include "engine/schema/schema_own.h"

/* --- messages ----------------------------------------------------------- */

/* At most `n` bytes, and no half character at the end. */
static struct str
cut_characters(struct str s, size_t n)
{
	if (n >= s.n)
		return s;
	while (n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return str_cut(s, 0, n);
}

struct schema_quoted
schema_quote(struct str s)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str shown = cut_characters(s, SCHEMA_QUOTED_BYTES);
	struct schema_quoted q;

	text_json(&b, shown);
	snprintf(q.text, sizeof(q.text), "%s%s", buf_text(&b),
	    shown.n < s.n ? "..." : "");
	return q;
}

/* --- places ------------------------------------------------------------- */

static void
put_step(struct buf *out, const struct schema_place *p)
{
	buf_put_char(out, '/');
	if (p->key.p == NULL)
		buf_printf(out, "%zu", p->index);
	for (size_t i = 0; i < p->key.n; i++) {
		char c = p->key.p[i];
		if (c == '~')
			buf_put_text(out, "~0");
		else if (c == '/')
			buf_put_text(out, "~1");
		else
			buf_put_char(out, c);
	}
}

void
schema_place_put(struct buf *out, const struct schema_place *place)
{
	size_t n = 0;

	for (const struct schema_place *p = place; p != NULL; p = p->above)
		n++;
	const struct schema_place **steps = mem_array(n, sizeof(*steps));
	for (size_t i = n; i > 0; i--, place = place->above)
		steps[i - 1] = place;
	for (size_t i = 0; i < n; i++)
		put_step(out, steps[i]);
	mem_free(&steps);
}

static void
enter_place(struct schema_compiler *c, struct str key, size_t index)
{
	struct schema_place *p = ARENA_NEW(c->a, struct schema_place);

	*p = (struct schema_place){ c->place, key, index };
	c->place = p;
}

void
schema_compile_enter(struct schema_compiler *c, struct str key)
{
	enter_place(c, key, 0);
}

void
schema_compile_enter_at(struct schema_compiler *c, size_t index)
{
	enter_place(c, STR_NONE, index);
}

/* A fault shows the end of a longer pointer. */
#define POINTER_BYTES_SHOWN 160u

enum err
schema_compile_fault(struct schema_compiler *c, enum err e, const char *fmt,
    ...)
{
	FREED(buf_free) struct buf pointer = BUF_INIT;
	const char *dots = "";
	char text[240];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	schema_place_put(&pointer, c->place);
	struct str shown = buf_str(&pointer);
	if (shown.n == 0)
		return why(c->why, e, "the schema: %s", text);
	if (shown.n > POINTER_BYTES_SHOWN) {
		dots = "...";
		shown = str_from(shown, shown.n - POINTER_BYTES_SHOWN);
		while (shown.n > 0 && ((unsigned char)shown.p[0] & 0xc0) ==
		    0x80)
			shown = str_from(shown, 1);
	}
	return why(c->why, e, "%s%.*s: %s", dots, STR_FMT(shown), text);
}

/* --- compiling ---------------------------------------------------------- */

#define SCHEMA_DRAFT 7u              /* without "$schema" */

yyjson_val *
schema_compile_read(struct schema_compiler *c, struct str json)
{
	yyjson_read_flag flags = YYJSON_READ_NUMBER_AS_RAW;
	size_t n = yyjson_read_max_memory_usage(json.n, flags);
	yyjson_alc memory;

	CHECK(yyjson_alc_pool_init(&memory, arena_bytes(c->a, n), n));
	return yyjson_doc_get_root(yyjson_read_opts((char *)(uintptr_t)json.p,
	    json.n, flags, &memory, NULL));
}

static struct schema_node *
add_node(struct schema_compiler *c)
{
	struct schema_node *node = ARENA_NEW(c->a, struct schema_node);

	c->nodes = arena_grow(c->a, c->nodes, c->nodes_n, &c->nodes_cap, 16,
	    sizeof(struct schema_node *));
	node->number = c->nodes_n;
	node->place = c->place;
	c->nodes[c->nodes_n++] = node;
	return node;
}

static enum err
compile_object(struct schema_compiler *c, yyjson_val *v,
    struct schema_node *node)
{
	struct schema_origin *origin = ARENA_NEW(c->a, struct schema_origin);
	yyjson_val *id = yyjson_obj_get(v, "$id");
	struct str base = c->base;
	enum err e = OK;

	if (c->depth == SCHEMA_DEPTH_MAX)
		return schema_compile_fault(c, ERR_FULL,
		    "subschemas are nested more than %u deep",
		    SCHEMA_DEPTH_MAX);
	/* A "$ref" makes all beside it meaningless. */
	if (id != NULL && yyjson_obj_get(v, "$ref") == NULL)
		e = schema_compile_id(c, id, v);
	*origin = (struct schema_origin){ node, c->base };
	map_put_id(&c->origins, (uintptr_t)v, origin);
	c->depth++;
	if (e == OK)
		e = schema_compile_keywords(c, v, node);
	c->depth--;
	c->base = base;
	return e;
}

enum err
schema_compile_node(struct schema_compiler *c, yyjson_val *v,
    const struct schema_node **out)
{
	struct schema_origin *known = map_get_id(&c->origins, (uintptr_t)v);

	if (known != NULL) {
		*out = known->node;
		return OK;
	}
	if (!yyjson_is_obj(v) && !yyjson_is_bool(v))
		return schema_compile_fault(c, ERR_INPUT,
		    "must be a schema: an object, true or false");
	if (c->nodes_n == SCHEMA_SUBSCHEMAS_MAX)
		return schema_compile_fault(c, ERR_FULL,
		    "there are more than %u subschemas",
		    SCHEMA_SUBSCHEMAS_MAX);
	struct schema_node *node = add_node(c);
	*out = node;
	if (yyjson_is_obj(v))
		return compile_object(c, v, node);
	node->refuses_all = !yyjson_get_bool(v);
	return OK;
}

/* Copy the text into the arena. */
static enum err
copy_text(struct schema_compiler *c, yyjson_val *text, yyjson_val **out)
{
	enum err e = OK;
	size_t n;
	char *json = yyjson_val_write(text, 0, &n);

	*out = NULL;
	if (json == NULL)
		return why(c->why, ERR_INPUT, "the schema is not JSON");
	if (n > SCHEMA_BYTES_MAX)
		e = why(c->why, ERR_FULL,
		    "the schema has %zu bytes; %u is the limit", n,
		    SCHEMA_BYTES_MAX);
	else
		*out = schema_compile_read(c, (struct str){ json, n });
	free(json);
	if (e == OK && *out == NULL)
		e = why(c->why, ERR_INPUT, "the schema is not JSON");
	return e;
}

/* The whole text is a resource without a URI. */
static void
add_root(struct schema_compiler *c, yyjson_val *root)
{
	struct schema_resource *r = ARENA_NEW(c->a, struct schema_resource);

	*r = (struct schema_resource){ root, NULL };
	c->base = STR("");
	map_put(&c->resources, c->base, r);
}

static enum err
compile_text(struct schema_compiler *c, yyjson_val *text,
    const struct schema_node **root)
{
	yyjson_val *copy;
	enum err e = copy_text(c, text, &copy);

	if (e != OK)
		return e;
	unsigned draft = schema_meta_draft(json_text(yyjson_obj_get(copy,
	    "$schema")));
	c->draft = draft == 0 ? SCHEMA_DRAFT : draft;
	add_root(c, copy);
	e = schema_compile_node(c, copy, root);
	if (e == OK)
		e = schema_compile_resolve(c);
	return e == OK ? schema_compile_check_loops(c) : e;
}

enum err
schema_compile(yyjson_val *text, struct schema **out, struct why *w)
{
	struct schema *s = mem_new(sizeof(*s));
	struct schema_compiler c = { .a = &s->arena, .why = w,
		.pattern_memory = SCHEMA_PATTERN_MEMORY_MAX };

	c.refs_end = &c.refs;
	enum err e = compile_text(&c, text, &s->root);
	map_free(&c.origins);
	map_free(&c.resources);
	map_free(&c.names);
	*out = s;
	if (e != OK)
		schema_free(out);
	return e;
}

void
schema_free(struct schema **sp)
{
	if (*sp == NULL)
		return;
	arena_free(&(*sp)->arena);
	mem_free(sp);
}
