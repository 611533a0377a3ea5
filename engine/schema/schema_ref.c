/*
 * Where a "$ref" leads:
 *
 *     URI of a resource ─► the text that has it ─┬─ no fragment: all of it
 *     (resolved)           or a metaschema       ├─ /a/0: RFC 6901 pointer
 *                                                └─ name: "$id": "#name"
 */
#include "engine/schema/schema_own.h"
#include "engine/schema/schema_uri.h"

/* --- "$id" and "$ref" --------------------------------------------------- */

/* Resolve a text against the base. */
static enum err
resolve_uri(struct schema_compiler *c, yyjson_val *v, struct str *uri,
    struct str *fragment)
{
	if (!yyjson_is_str(v))
		return schema_compile_fault(c, ERR_INPUT,
		    "must be a URI reference");
	if (yyjson_get_len(v) <= SCHEMA_URI_BYTES_MAX) {
		*uri = schema_uri_resolve(c->base, json_text(v), c->a,
		    fragment);
		if (uri->n <= SCHEMA_URI_BYTES_MAX)
			return OK;
	}
	return schema_compile_fault(c, ERR_FULL,
	    "is longer, seen from its base, than %u bytes",
	    SCHEMA_URI_BYTES_MAX);
}

/* Something has a URI now; two things with one are a fault. */
static enum err
add_resource(struct schema_compiler *c, struct map *map, struct str uri,
    yyjson_val *subschema, const struct schema_place *place)
{
	struct schema_resource *r = ARENA_NEW(c->a, struct schema_resource);

	*r = (struct schema_resource){ subschema, place };
	if (map_put(map, uri, r) != NULL)
		return schema_compile_fault(c, ERR_INPUT,
		    "another subschema has this URI, too");
	return OK;
}

enum err
schema_compile_id(struct schema_compiler *c, yyjson_val *id,
    yyjson_val *subschema)
{
	const struct schema_place *place = c->place;
	struct str uri, fragment;

	schema_compile_enter(c, STR("$id"));
	enum err e = resolve_uri(c, id, &uri, &fragment);
	if (e == OK && !str_starts(json_text(id), STR("#")) &&
	    json_text(id).n > 0) {
		e = add_resource(c, &c->resources, uri, subschema, place);
		c->base = uri;
	}
	/* A pointer as an "$id" says no more than where it is. */
	if (e == OK && fragment.n > 0 && fragment.p[0] != '/')
		e = add_resource(c, &c->names, arena_printf(c->a, "%.*s#%.*s",
		    STR_FMT(uri), STR_FMT(fragment)), subschema, place);
	c->place = place;
	return e;
}

static struct str
decode_percents(struct schema_compiler *c, struct str s)
{
	char *out = arena_bytes(c->a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int byte = str_percent_byte(str_from(s, i));
		out[n++] = byte < 0 ? s.p[i] : (char)byte;
		if (byte >= 0)
			i += 2;
	}
	return (struct str){ out, n };
}

enum err
schema_compile_ref(struct schema_compiler *c, yyjson_val *v,
    struct schema_node *node)
{
	struct schema_ref *ref = ARENA_NEW(c->a, struct schema_ref);
	const struct schema_place *before = c->place;
	struct str fragment;

	schema_compile_enter(c, STR("$ref"));
	enum err e = resolve_uri(c, v, &ref->uri, &fragment);
	ref->place = c->place;
	c->place = before;
	if (e != OK)
		return e;
	ref->node = node;
	ref->text = json_text(v);
	ref->fragment = decode_percents(c, fragment);
	*c->refs_end = ref;
	c->refs_end = &ref->next;
	return OK;
}

/* --- targets ------------------------------------------------------------ */

static enum err
fault_of_ref(struct schema_compiler *c, const struct schema_ref *ref,
    const char *what)
{
	c->place = ref->place;
	return schema_compile_fault(c, ERR_INPUT, "%s %s",
	    schema_quote(ref->text).text, what);
}

/* A metaschema becomes a part of this schema. */
static enum err
add_metaschema(struct schema_compiler *c, struct str json)
{
	const struct schema_node *node;
	yyjson_val *v = schema_compile_read(c, json);

	CHECK(v != NULL);
	c->base = STR("");
	c->place = NULL;
	return schema_compile_node(c, v, &node);
}

static enum err
find_resource(struct schema_compiler *c, const struct schema_ref *ref,
    const struct schema_resource **out)
{
	*out = map_get(&c->resources, ref->uri);
	if (*out != NULL)
		return OK;
	struct str meta = schema_meta_find(ref->uri);
	if (meta.p == NULL)
		return fault_of_ref(c, ref, "is not in this schema, and "
		    "nothing is fetched");
	enum err e = add_metaschema(c, meta);
	*out = map_get(&c->resources, ref->uri);
	CHECK(e != OK || *out != NULL);
	return e;
}

/* A step of a pointer as it was before it was written: ~1 is "/", ~0 is "~". */
static struct str
unescape_step(struct schema_compiler *c, struct str s)
{
	char *out = arena_bytes(c->a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		bool escape = s.p[i] == '~' && i + 1 < s.n &&
		    (s.p[i + 1] == '0' || s.p[i + 1] == '1');
		out[n++] = !escape ? s.p[i] : s.p[i + 1] == '0' ? '~' : '/';
		i += escape;
	}
	return (struct str){ out, n };
}

/* One step down from `v`; NULL: it is not there. */
static yyjson_val *
take_step(struct schema_compiler *c, yyjson_val *v, struct str step)
{
	uint64_t i;

	if (yyjson_is_obj(v)) {
		step = unescape_step(c, step);
		schema_compile_enter(c, step);
		return yyjson_obj_getn(v, step.p, step.n);
	}
	if (!str_to_u64(step, &i) || (step.n > 1 && step.p[0] == '0'))
		return NULL;
	schema_compile_enter_at(c, i);
	return yyjson_arr_get(v, i);
}

/* Subschemas on the way have URIs of their own, perhaps. */
static void
note_base(struct schema_compiler *c, yyjson_val *v)
{
	const struct schema_origin *known = map_get_id(&c->origins,
	    (uintptr_t)v);

	if (known != NULL)
		c->base = known->base;
}

static enum err
follow_pointer(struct schema_compiler *c, const struct schema_ref *ref,
    const struct schema_resource *r, yyjson_val **out)
{
	struct str rest = ref->fragment, step;
	size_t depth = 0;

	*out = r->root;
	c->place = r->place;
	note_base(c, *out);
	str_split(&rest, '/', &step);        /* "" before the first "/" */
	while (str_split(&rest, '/', &step)) {
		if (depth++ == SCHEMA_DEPTH_MAX)
			return fault_of_ref(c, ref, "is too deep");
		*out = take_step(c, *out, step);
		if (*out == NULL)
			return fault_of_ref(c, ref, "leads nowhere");
		note_base(c, *out);
	}
	return OK;
}

static enum err
follow_name(struct schema_compiler *c, const struct schema_ref *ref,
    yyjson_val **out)
{
	const struct schema_resource *r = map_get(&c->names,
	    arena_printf(c->a, "%.*s#%.*s", STR_FMT(ref->uri),
	    STR_FMT(ref->fragment)));

	if (r == NULL)
		return fault_of_ref(c, ref, "leads nowhere");
	*out = r->root;
	c->place = r->place;
	note_base(c, *out);
	return OK;
}

static enum err
resolve_ref(struct schema_compiler *c, const struct schema_ref *ref)
{
	const struct schema_resource *r;
	yyjson_val *v = NULL;
	enum err e = find_resource(c, ref, &r);

	if (e != OK)
		return e;
	if (ref->fragment.n == 0 || ref->fragment.p[0] == '/')
		e = follow_pointer(c, ref, r, &v);
	else
		e = follow_name(c, ref, &v);
	return e == OK ? schema_compile_node(c, v, &ref->node->target) : e;
}

enum err
schema_compile_resolve(struct schema_compiler *c)
{
	enum err e = OK;

	/* The list grows by what the targets contain. */
	for (struct schema_ref *r = c->refs; r != NULL && e == OK; r = r->next)
		e = resolve_ref(c, r);
	return e;
}

/* --- loops -------------------------------------------------------------- */

enum walk_state { UNSEEN, INSIDE, LEFT };

struct walk {
	struct schema_compiler *c;
	unsigned char *states;       /* enum walk_state, by node */
	size_t depth;
};

static enum err walk_node(struct walk *, const struct schema_node *);

static enum err
walk_nodes(struct walk *w, const struct schema_nodes *nodes)
{
	enum err e = OK;

	for (size_t i = 0; i < nodes->n && e == OK; i++)
		e = walk_node(w, nodes->list[i]);
	return e;
}

static enum err
walk_logic(struct walk *w, const struct schema_logic *l)
{
	const struct schema_node *const single[] = { l->never, l->condition,
		l->then, l->otherwise };
	enum err e = walk_nodes(w, &l->all);

	if (e == OK)
		e = walk_nodes(w, &l->any);
	if (e == OK)
		e = walk_nodes(w, &l->one);
	for (size_t i = 0; i < ARRAY_LEN(single) && e == OK; i++)
		e = walk_node(w, single[i]);
	return e;
}

/* Walk what the node applies to the same value. */
static enum err
walk_inside(struct walk *w, const struct schema_node *node)
{
	enum err e = walk_node(w, node->target);

	if (e == OK && node->logic != NULL)
		e = walk_logic(w, node->logic);
	for (size_t i = 0; node->objects != NULL && e == OK &&
	    i < node->objects->members_n; i++)
		e = walk_node(w, node->objects->members[i].then);
	return e;
}

static enum err
walk_node(struct walk *w, const struct schema_node *node)
{
	if (node == NULL || w->states[node->number] == LEFT)
		return OK;
	w->c->place = node->place;
	if (w->states[node->number] == INSIDE)
		return schema_compile_fault(w->c, ERR_INPUT,
		    "applies itself to the same value, without an end");
	if (w->depth == SCHEMA_CHECK_DEPTH_MAX)
		return schema_compile_fault(w->c, ERR_FULL,
		    "more than %u subschemas apply one another to a value",
		    SCHEMA_CHECK_DEPTH_MAX);
	w->states[node->number] = INSIDE;
	w->depth++;
	enum err e = walk_inside(w, node);
	w->depth--;
	w->states[node->number] = LEFT;
	return e;
}

enum err
schema_compile_check_loops(struct schema_compiler *c)
{
	struct walk w = { .c = c, .states = mem_array(c->nodes_n, 1) };
	enum err e = OK;

	for (size_t i = 0; i < c->nodes_n && e == OK; i++)
		e = walk_node(&w, c->nodes[i]);
	mem_free(&w.states);
	return e;
}
