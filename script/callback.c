/*
 * Callbacks: called when the run ends, in call order, with what the store holds
 * or what an earlier operation of this run leaves behind.
 *
 *     ask ──► states ──► call each ──► operations with results and revisions
 *                ▲                           │
 *                └──── conflict: new states ─┘
 *
 * The worker follows names as the engine will: an alias is its item, a renamed
 * or merged item is known by both names.  Where it is wrong, because the store
 * changed meanwhile, a revision does not fit and the engine says conflict.
 */
#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "script/mutation.h"
#include "script/value.h"

/* What the daemon has said; newer answers replace older ones. */
struct states {
	struct arena arena;
	struct map items;            /* of the name that was asked for */
	struct map metadata;         /* of "id\0task" */
	yyjson_doc **docs;
	size_t docs_n, docs_cap;
};

/* An item as this run's operations leave it. */
struct node {
	struct node *merged_into;
	bool exists;
	bool follows;                /* its data comes from this run */
	struct str data, id, updated_at;
	int64_t rev;
};

/* An item's metadata of one task, likewise. */
struct row {
	bool follows;
	struct str metadata;
	int64_t rev;
};

/* One pass over the operations. */
struct pass {
	struct run *run;
	struct arena arena;
	struct map names;            /* to struct node */
	struct map rows;
	struct buf *out;
};

static const char nothing_there;
#define NOTHING ((void *)(uintptr_t)&nothing_there)

/* ---- What the daemon said ----------------------------------------------- */

static struct str
pair_key(struct arena *a, struct str id, struct str task)
{
	char *p = arena_bytes(a, id.n + task.n + 1);

	memcpy(p, id.p, id.n);
	p[id.n] = '\0';
	memcpy(p + id.n + 1, task.p, task.n);
	return (struct str){ p, id.n + task.n + 1 };
}

static struct states *
states_of(struct run *r)
{
	if (r->states == NULL) {
		r->states = mem_new(sizeof(*r->states));
		r->states->arena = ARENA_INIT;
	}
	return r->states;
}

/* A copy, as the message that it came with does not last. */
void
callback_take(struct run *r, yyjson_val *current)
{
	struct states *s = states_of(r);
	size_t i, n;
	yyjson_val *key, *v;

	size_t length = 0;
	char *text = yyjson_val_write(current, 0, &length);
	yyjson_doc *doc = text == NULL ? NULL : yyjson_read(text, length, 0);
	free(text);
	if (doc == NULL)
		return;
	s->docs = mem_room(s->docs, s->docs_n, &s->docs_cap, 2,
	    sizeof(*s->docs));
	s->docs[s->docs_n++] = doc;
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_obj_foreach(yyjson_obj_get(root, "items"), i, n, key, v)
		(void)map_put(&s->items, json_text(key),
		    yyjson_is_obj(v) ? (void *)v : NOTHING);
	yyjson_arr_foreach(yyjson_obj_get(root, "metadata"), i, n, v)
		(void)map_put(&s->metadata, pair_key(&s->arena,
		    json_text(yyjson_obj_get(v, "id")),
		    json_text(yyjson_obj_get(v, "taskName"))), v);
}

void
callback_free(struct run *r)
{
	struct states *s = r->states;

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->docs_n; i++)
		yyjson_doc_free(s->docs[i]);
	free(s->docs);
	map_free(&s->items);
	map_free(&s->metadata);
	arena_free(&s->arena);
	mem_free(&r->states);
}

/* ---- Asking ------------------------------------------------------------- */

bool
callback_any(const struct run *r)
{
	for (size_t i = 0; i < r->ops_n; i++)
		if (op_has_callback(&r->ops[i]))
			return true;
	return false;
}

struct question {
	struct arena arena;
	struct map asked;
	struct buf items, metadata;
};

static void
ask_item(struct question *q, struct str id)
{
	if (id.p == NULL || map_get(&q->asked, id) != NULL)
		return;
	(void)map_put(&q->asked, id, NOTHING);
	if (q->items.n > 0)
		buf_put_char(&q->items, ',');
	text_json(&q->items, id);
}

static void
ask_metadata(struct question *q, struct str id, struct str task)
{
	struct str key = pair_key(&q->arena, id, task);

	if (map_get(&q->asked, key) != NULL)
		return;
	(void)map_put(&q->asked, key, NOTHING);
	buf_put_text(&q->metadata, q->metadata.n > 0 ? ",{\"id\":" :
	    "{\"id\":");
	text_json(&q->metadata, id);
	buf_put_text(&q->metadata, ",\"taskName\":");
	text_json(&q->metadata, task);
	buf_put_char(&q->metadata, '}');
}

static void
ask_for_op(struct question *q, const struct op *o)
{
	for (int i = 0; i < NAME_TASK; i++)
		ask_item(q, op_name_of(o, (enum op_name)i));
	if (o->kind == OP_UPDATE_METADATA)
		ask_metadata(q, op_name_of(o, NAME_ID),
		    op_name_of(o, NAME_TASK));
	for (size_t i = 0; i < o->merges_n; i++) {
		struct str task = buf_str(&o->merges[i].task);
		ask_metadata(q, op_name_of(o, NAME_INTO), task);
		ask_metadata(q, op_name_of(o, NAME_FROM), task);
	}
}

static JSValue
finish_states(struct run *r, struct call *c, yyjson_val *value,
    struct str body)
{
	(void)c, (void)body;
	callback_take(r, value);
	return JS_UNDEFINED;
}

bool
callback_ask(struct run *r)
{
	struct question q = { .arena = ARENA_INIT, .asked = MAP_INIT };
	struct buf json = BUF_INIT;

	if (!callback_any(r))
		return false;
	for (size_t i = 0; i < r->ops_n; i++)
		ask_for_op(&q, &r->ops[i]);
	buf_put_text(&json, "{\"items\":[");
	buf_put_str(&json, buf_str(&q.items));
	buf_put_text(&json, "],\"metadata\":[");
	buf_put_str(&json, buf_str(&q.metadata));
	buf_put_text(&json, "],\"callbacks\":true}");
	buf_free(&q.items);
	buf_free(&q.metadata);
	map_free(&q.asked);
	arena_free(&q.arena);
	struct call *c = call_new(r, "read", &json, STR_NONE);
	if (c == NULL)
		return false;
	c->finish = finish_states;
	call_send(r, c);
	return true;
}

/* ---- Items and their names ---------------------------------------------- */

static struct str
copy_json(struct arena *a, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);
	struct str s = text == NULL ? STR("{}") :
	    arena_copy(a, (struct str){ text, n });

	free(text);
	return s;
}

static struct node *
follow_merges(struct node *n)
{
	while (n->merged_into != NULL)
		n = n->merged_into;
	return n;
}

/* The item of the store's answer, known by all of its names from now on. */
static struct node *
add_stored(struct pass *p, yyjson_val *item)
{
	struct node *n = ARENA_NEW(&p->arena, struct node);
	size_t i, count;
	yyjson_val *alias;

	n->exists = true;
	n->id = json_text(yyjson_obj_get(item, "id"));
	n->data = copy_json(&p->arena, yyjson_obj_get(item, "data"));
	n->rev = yyjson_get_sint(yyjson_obj_get(item, "rev"));
	n->updated_at = json_text(yyjson_obj_get(item, "updated_at"));
	(void)map_put(&p->names, n->id, n);
	yyjson_arr_foreach(yyjson_obj_get(item, "aliases"), i, count, alias)
		if (map_get(&p->names, json_text(alias)) == NULL)
			(void)map_put(&p->names, json_text(alias), n);
	return n;
}

static struct node *
node_of(struct pass *p, struct str name)
{
	struct node *n = map_get(&p->names, name);

	if (n != NULL)
		return follow_merges(n);
	void *v = p->run->states == NULL ? NULL :
	    map_get(&p->run->states->items, name);
	if (v != NULL && v != NOTHING) {
		struct str id = json_text(yyjson_obj_get(v, "id"));
		n = map_get(&p->names, id);
		n = n != NULL ? follow_merges(n) : add_stored(p, v);
	} else {
		n = ARENA_NEW(&p->arena, struct node);
		n->id = name;
	}
	(void)map_put(&p->names, name, n);
	return n;
}

static struct row *
row_of(struct pass *p, struct str name, struct str task)
{
	struct node *n = node_of(p, name);
	struct str key = arena_printf(&p->arena, "%p %.*s", (void *)n,
	    STR_FMT(task));
	struct row *row = map_get(&p->rows, key);

	if (row != NULL)
		return row;
	row = ARENA_NEW(&p->arena, struct row);
	yyjson_val *v = p->run->states == NULL ? NULL :
	    map_get(&p->run->states->metadata, pair_key(&p->arena, name, task));
	yyjson_val *metadata = yyjson_obj_get(v, "metadata");
	row->metadata = STR("{}");
	if (yyjson_is_obj(metadata)) {
		row->metadata = copy_json(&p->arena, metadata);
		row->rev = yyjson_get_sint(yyjson_obj_get(v, "rev"));
	}
	(void)map_put(&p->rows, key, row);
	return row;
}

/* ---- Calling ------------------------------------------------------------ */

/*
 * Call `function` with copies of these objects; its result, which must be an
 * object, as JSON in the pass's arena.  False: an exception is pending.
 */
static bool
call_back(struct pass *p, const struct op *o, JSValueConst function,
    const struct str *old, int n, struct str *out)
{
	struct run *r = p->run;
	JSContext *ctx = r->ctx;
	JSValue copies[2] = { JS_UNDEFINED, JS_UNDEFINED };
	JSValue result = JS_UNDEFINED;
	FREED(buf_free) struct buf text = BUF_INIT;
	struct value_writer w = { .ctx = ctx, .out = &text,
		.bytes_max = (size_t)r->limits.mutation_bytes_max };

	for (int i = 0; i < n && !JS_IsException(result); i++) {
		copies[i] = value_from_text(ctx, old[i], false);
		if (JS_IsException(copies[i]))
			result = JS_EXCEPTION;
	}
	if (!JS_IsException(result))
		result = JS_Call(ctx, function, JS_UNDEFINED, n,
		    (JSValueConst[]){ copies[0], copies[1] });
	JS_FreeValue(ctx, copies[0]);
	JS_FreeValue(ctx, copies[1]);
	if (JS_IsException(result))
		return false;
	bool done = value_write(&w, result);
	JS_FreeValue(ctx, result);
	if (!done && w.reason[0] != '\0')
		fault_throw_mutation(ctx, op_name(o), w.reason);
	if (done && text.p[0] != '{') {
		fault_throw_mutation(ctx, op_name(o),
		    "the callback gave no object");
		done = false;
	}
	if (done)
		*out = arena_copy(&p->arena, buf_str(&text));
	return done;
}

static void
put_member(struct buf *out, const char *name, struct str json)
{
	buf_printf(out, ",\"%s\":", name);
	buf_put_str(out, json);
}

static void
put_rev(struct buf *out, const char *name, const struct node *n)
{
	if (!n->follows)
		buf_printf(out, ",\"%s\":%lld", name,
		    (long long)(n->exists ? n->rev : 0));
}

static void
set_data(struct node *n, struct str data)
{
	n->data = data;
	n->exists = true;
	n->follows = true;
}

/* ---- Operation by operation --------------------------------------------- */

static bool
do_create(struct pass *p, const struct op *o)
{
	struct str id = op_name_of(o, NAME_ID), data;

	if (id.p == NULL)
		return true;
	struct node *n = node_of(p, id);
	if (JS_IsUndefined(o->merge)) {
		if (!n->exists)
			set_data(n, str_cut(buf_str(&o->json), o->data_at,
			    o->data_at + o->data_n));
		return true;
	}
	struct str old = n->exists ? n->data : STR("{}");
	if (!call_back(p, o, o->merge, &old, 1, &data))
		return false;
	put_member(p->out, "data", data);
	put_rev(p->out, "rev", n);
	set_data(n, data);
	return true;
}

static bool
do_rename(struct pass *p, const struct op *o)
{
	(void)map_put(&p->names, op_name_of(o, NAME_TO),
	    node_of(p, op_name_of(o, NAME_FROM)));
	return true;
}

static bool
merge_rows(struct pass *p, const struct op *o)
{
	buf_put_text(p->out, ",\"metadata\":{");
	for (size_t i = 0; i < o->merges_n; i++) {
		const struct op_merge *m = &o->merges[i];
		struct str task = buf_str(&m->task), got;
		struct row *into = row_of(p, op_name_of(o, NAME_INTO), task);
		struct row *from = row_of(p, op_name_of(o, NAME_FROM), task);
		const struct str old[] = { into->metadata, from->metadata };
		if (!call_back(p, o, m->function, old, 2, &got))
			return false;
		if (i > 0)
			buf_put_char(p->out, ',');
		text_json(p->out, task);
		buf_put_char(p->out, ':');
		buf_put_str(p->out, got);
		*into = (struct row){ .follows = true, .metadata = got };
	}
	buf_put_char(p->out, '}');
	return true;
}

static bool
do_merge(struct pass *p, const struct op *o)
{
	struct node *into = node_of(p, op_name_of(o, NAME_INTO));
	struct node *from = node_of(p, op_name_of(o, NAME_FROM));
	struct str data = into->data;

	if (into == from)
		return true;
	if (o->merges_n > 0 && !merge_rows(p, o))
		return false;
	if (!JS_IsUndefined(o->merge)) {
		const struct str old[] = { into->exists ? into->data :
			STR("{}"), from->exists ? from->data : STR("{}") };
		if (!call_back(p, o, o->merge, old, 2, &data))
			return false;
		put_member(p->out, "data", data);
		put_rev(p->out, "rev", into);
		put_rev(p->out, "fromRev", from);
	} else if (from->exists &&
	    str_cmp(from->updated_at, into->updated_at) > 0) {
		/* The data changed last, whole. */
		data = from->data;
	}
	if (into->exists)
		set_data(into, data);
	from->merged_into = into;
	return true;
}

static bool
do_delete(struct pass *p, const struct op *o)
{
	struct node *n = node_of(p, op_name_of(o, NAME_ID));

	n->exists = false;
	n->follows = true;
	return true;
}

static bool
do_alias(struct pass *p, const struct op *o)
{
	struct str from = op_name_of(o, NAME_FROM);

	if (!node_of(p, from)->exists)
		(void)map_put(&p->names, from,
		    node_of(p, op_name_of(o, NAME_TO)));
	return true;
}

static bool
do_unalias(struct pass *p, const struct op *o)
{
	struct str from = op_name_of(o, NAME_FROM);
	struct node *n = ARENA_NEW(&p->arena, struct node);

	if (str_eq(node_of(p, from)->id, from))
		return true;
	n->id = from;
	(void)map_put(&p->names, from, n);
	return true;
}

static bool
do_update_data(struct pass *p, const struct op *o)
{
	struct node *n = node_of(p, op_name_of(o, NAME_ID));
	struct str data;

	if (!n->exists) {
		fault_throw_mutation(p->run->ctx, op_name(o),
		    "there is no such item");
		return false;
	}
	if (!call_back(p, o, o->merge, &n->data, 1, &data))
		return false;
	put_member(p->out, "data", data);
	put_rev(p->out, "rev", n);
	set_data(n, data);
	return true;
}

static bool
do_update_metadata(struct pass *p, const struct op *o)
{
	struct row *row = row_of(p, op_name_of(o, NAME_ID),
	    op_name_of(o, NAME_TASK));
	struct str got;

	if (!call_back(p, o, o->merge, &row->metadata, 1, &got))
		return false;
	put_member(p->out, "metadata", got);
	if (!row->follows)
		buf_printf(p->out, ",\"rev\":%lld", (long long)row->rev);
	*row = (struct row){ .follows = true, .metadata = got };
	return true;
}

static bool
do_complete(struct pass *p, const struct op *o)
{
	struct row *row = row_of(p, op_name_of(o, NAME_ID), p->run->task);
	struct str metadata = o->has_data ? str_cut(buf_str(&o->json),
	    o->data_at, o->data_at + o->data_n) : STR("{}");

	*row = (struct row){ .follows = true, .metadata = metadata };
	return true;
}

static bool (*const steps[OP_COUNT])(struct pass *, const struct op *) = {
	[OP_CREATE_ITEM] = do_create,
	[OP_RENAME_ITEM] = do_rename,
	[OP_MERGE_ITEM] = do_merge,
	[OP_DELETE_ITEM] = do_delete,
	[OP_CREATE_ALIAS] = do_alias,
	[OP_DELETE_ALIAS] = do_unalias,
	[OP_UPDATE_DATA] = do_update_data,
	[OP_UPDATE_METADATA] = do_update_metadata,
	[OP_COMPLETE_FOR] = do_complete,
};

static bool
fits_limit(struct pass *p)
{
	struct run *r = p->run;

	if (p->out->n <= (size_t)r->limits.mutation_bytes_max)
		return true;
	run_breach(r, "limit_mutations", "mutations of more than %lld bytes",
	    (long long)r->limits.mutation_bytes_max);
	(void)run_throw_breach(r);
	return false;
}

static bool
write_ops(struct pass *p)
{
	struct run *r = p->run;
	bool follow = callback_any(r);

	buf_put_char(p->out, '[');
	for (size_t i = 0; i < r->ops_n; i++) {
		const struct op *o = &r->ops[i];
		if (i > 0)
			buf_put_char(p->out, ',');
		buf_printf(p->out, "{\"op\":\"%s\"", op_name(o));
		buf_put_str(p->out, buf_str(&o->json));
		/* Without callbacks nobody needs to know what is where. */
		if (follow && steps[o->kind] != NULL && !steps[o->kind](p, o))
			return false;
		buf_put_char(p->out, '}');
		if (!fits_limit(p))
			return false;
	}
	buf_put_char(p->out, ']');
	return fits_limit(p);
}

bool
callback_write(struct run *r, struct buf *out)
{
	struct pass p = { .run = r, .arena = ARENA_INIT, .names = MAP_INIT,
		.rows = MAP_INIT, .out = out };
	bool done = write_ops(&p);

	map_free(&p.names);
	map_free(&p.rows);
	arena_free(&p.arena);
	return done;
}
