#include "engine/items/item_answer.h"

/* -- Values -- */

void
answer_text(struct buf *b, const char *name, struct str s)
{
	if (s.p == NULL)
		json_null(b, name);
	else
		json_str(b, name, s);
}

struct wall
answer_wall(struct query *q, int column)
{
	return query_is_null(q, column) ? ITEM_TIME_NONE :
	    (struct wall){ query_get_i64(q, column) };
}

static bool
is_date(int64_t due_ms)
{
	return due_ms != PAIR_DUE_NONE && due_ms > PAIR_DUE_STALE;
}

struct str
answer_state(enum pair_state state, int64_t due_ms, struct wall now)
{
	if (state == PAIR_FRESH && is_date(due_ms) &&
	    due_ms <= now.us / 1000)
		return STR("expired");
	return str_of(pair_state_text(state));
}

void
answer_due(struct buf *b, int64_t due_ms)
{
	item_json_time(b, "due_at", is_date(due_ms) ?
	    (struct wall){ due_ms * 1000 } : ITEM_TIME_NONE);
}

enum err
answer_limit(unsigned *limit, struct why *w)
{
	if (*limit == 0)
		*limit = ITEM_LIST_DEFAULT;
	return *limit <= ITEM_LIST_MAX ? OK : why_field(w, ERR_INPUT, "limit",
	    "it is more than %u", ITEM_LIST_MAX);
}

enum err
answer_after(struct str after, int64_t *key, struct why *w)
{
	*key = 0;
	return after.n == 0 || (str_to_i64(after, key) && *key >= 0) ? OK :
	    why_field(w, ERR_INPUT, "after", "it is not the `next` of a list");
}

enum err
answer_find(struct item_store *s, struct str id, struct arena *a, int64_t *key,
    struct str *own, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT i.key, i.id FROM aliases a JOIN items i ON i.key = a.item"
	    " WHERE a.id = ?1");
	bool found;

	query_str(q, 1, id);
	found = query_step(q);
	if (found) {
		*key = query_get_i64(q, 0);
		*own = arena_copy(a, query_get_str(q, 1));
	}
	enum err e = query_end(&q, w);
	return e != OK || found ? e : why_field(w, ERR_ABSENT, "id",
	    "there is no such item");
}

enum err
answer_name(struct item_store *s, enum item_name_kind kind, const char *field,
    struct str name, uint32_t *id, struct why *w)
{
	enum err e = item_store_name(s, kind, name, false, id, w);

	return e != OK || *id != 0 ? e : why_field(w, ERR_ABSENT, field,
	    "there is no such %s", field);
}

/* -- Items -- */

void
answer_items_free(struct answer_items *a)
{
	arena_free(&a->arena);
	map_free(&a->by_key);
	a->rows = NULL;
	a->n = a->cap = a->bytes = 0;
}

static struct str
copy_column(struct arena *a, struct query *q, int column)
{
	return query_is_null(q, column) ? STR_NONE :
	    arena_copy(a, query_get_str(q, column));
}

struct answer_item *
answer_take_item(struct answer_items *a, struct query *q)
{
	struct answer_item *row = ARENA_NEW(&a->arena, struct answer_item);

	row->key = query_get_i64(q, 0);
	row->id = copy_column(&a->arena, q, 1);
	row->data = copy_column(&a->arena, q, 2);
	row->created_by = copy_column(&a->arena, q, 3);
	row->created_at = answer_wall(q, 4);
	row->updated_at = answer_wall(q, 5);
	row->rev = (uint64_t)query_get_i64(q, 6);
	row->aliases_n = (unsigned)query_get_i64(q, 7);
	a->rows = arena_grow(&a->arena, a->rows, a->n, &a->cap, 16,
	    sizeof(*a->rows));
	a->rows[a->n++] = row;
	a->bytes += row->id.n + row->data.n + sizeof(*row);
	map_put_id(&a->by_key, (uint64_t)row->key, row);
	return row;
}

static enum err
load_aliases(struct answer_items *a, struct why *w)
{
	static const struct sql of = {
		"SELECT item, id FROM aliases WHERE item = ?1 AND own = 0"
		" ORDER BY id",
		"SELECT a.item, a.id FROM unnest(?1::int8[]) k(item)"
		" JOIN aliases a ON a.item = k.item WHERE a.own = 0"
		" ORDER BY a.item, a.id" };
	struct query *q = database_bulk(item_store_database(a->store), &of);

	for (size_t i = 0; i < a->n; i++) {
		if (a->rows[i]->aliases_n == 0)
			continue;
		query_i64(q, 1, a->rows[i]->key);
		query_row(q);
	}
	while (query_step(q)) {
		struct answer_item *row = map_get_id(&a->by_key,
		    (uint64_t)query_get_i64(q, 0));
		row->aliases = arena_grow(&a->arena, row->aliases,
		    row->aliases_loaded, &row->aliases_cap, 4,
		    sizeof(*row->aliases));
		row->aliases[row->aliases_loaded++] = arena_copy(&a->arena,
		    query_get_str(q, 1));
	}
	return query_end(&q, w);
}

static enum err
load_tags(struct answer_items *a, struct why *w)
{
	static const struct sql of = {
		"SELECT t.item, t.tag, t.value FROM bulk k CROSS JOIN tags t"
		" ON t.item = k.p1",
		"SELECT t.item, t.tag, t.value FROM unnest(?1::int8[]) k(item)"
		" JOIN tags t ON t.item = k.item" };
	struct query *q = database_bulk(item_store_database(a->store), &of);

	for (size_t i = 0; i < a->n; i++) {
		query_i64(q, 1, a->rows[i]->key);
		query_row(q);
	}
	while (query_step(q)) {
		struct answer_item *row = map_get_id(&a->by_key,
		    (uint64_t)query_get_i64(q, 0));
		row->tags = arena_grow(&a->arena, row->tags, row->tags_n,
		    &row->tags_cap, 4, sizeof(*row->tags));
		row->tags[row->tags_n++] = (struct answer_tag){
		    arena_copy(&a->arena, item_store_name_text(a->store,
		    (uint32_t)query_get_i64(q, 1))),
		    copy_column(&a->arena, q, 2) };
	}
	for (size_t i = 0; i < a->n; i++)
		if (a->rows[i]->tags_n > 1)
			qsort(a->rows[i]->tags, a->rows[i]->tags_n,
			    sizeof(*a->rows[i]->tags), str_order);
	return query_end(&q, w);
}

/* Who made an item may have another id by now, or be gone. */
static enum err
resolve_makers(struct answer_items *a, struct why *w)
{
	static const struct sql of = {
		"SELECT a.id, i.id FROM aliases a JOIN items i ON"
		" i.key = a.item WHERE a.id = ?1",
		"SELECT a.id, i.id FROM unnest(?1::text[]) k(id)"
		" JOIN aliases a ON a.id = k.id"
		" JOIN items i ON i.key = a.item" };
	struct map makers = MAP_INIT;
	struct query *q = database_bulk(item_store_database(a->store), &of);

	for (size_t i = 0; i < a->n; i++) {
		struct answer_item *row = a->rows[i];
		if (row->created_by.p == NULL ||
		    map_get(&makers, row->created_by) != NULL)
			continue;
		map_put(&makers, row->created_by, &row->created_by);
		query_str(q, 1, row->created_by);
		query_row(q);
	}
	/* Keys must stay as they are, so the found ids are values. */
	while (query_step(q)) {
		struct str *id = ARENA_NEW(&a->arena, struct str);
		*id = arena_copy(&a->arena, query_get_str(q, 1));
		map_put(&makers, arena_copy(&a->arena, query_get_str(q, 0)),
		    id);
	}
	enum err e = query_end(&q, w);
	for (size_t i = 0; i < a->n; i++) {
		struct answer_item *row = a->rows[i];
		struct str *id = row->created_by.p == NULL ? NULL :
		    map_get(&makers, row->created_by);
		if (id != NULL && id->p != row->created_by.p)
			row->created_by = *id;
	}
	map_free(&makers);
	return e;
}

/* Of the k-th task. */
static enum err
load_metadata(struct answer_items *a, struct str task, size_t k,
    struct why *w)
{
	static const struct sql of = {
		"SELECT r.item, r.metadata FROM bulk k CROSS JOIN"
		" task_results r ON r.task = k.p1 AND r.item = k.p2",
		"SELECT r.item, r.metadata FROM"
		" unnest(?1::int8[], ?2::int8[]) k(task, item)"
		" JOIN task_results r ON r.task = k.task AND"
		" r.item = k.item" };
	uint32_t id;

	enum err e = item_store_name(a->store, ITEM_NAME_TASK, task, false,
	    &id, w);
	if (e != OK || id == 0)
		return e;
	struct query *q = database_bulk(item_store_database(a->store), &of);
	for (size_t i = 0; i < a->n; i++) {
		query_i64(q, 1, id);
		query_i64(q, 2, a->rows[i]->key);
		query_row(q);
	}
	while (query_step(q)) {
		struct answer_item *row = map_get_id(&a->by_key,
		    (uint64_t)query_get_i64(q, 0));
		row->metadata[k] = arena_copy(&a->arena, query_get_str(q, 1));
		a->bytes += row->metadata[k].n;
	}
	return query_end(&q, w);
}

enum err
answer_load(struct answer_items *a, const struct str *tasks, size_t tasks_n,
    struct why *w)
{
	enum err e = load_aliases(a, w);

	if (e == OK)
		e = load_tags(a, w);
	if (e == OK)
		e = resolve_makers(a, w);
	for (size_t i = 0; i < a->n; i++)
		a->rows[i]->metadata = ARENA_ARRAY(&a->arena, struct str,
		    tasks_n);
	for (size_t k = 0; k < tasks_n && e == OK; k++)
		e = load_metadata(a, tasks[k], k, w);
	return e;
}

/* A name that comes from a user, as a member's. */
static void
put_name(struct buf *b, struct str name)
{
	json_item(b, name);
	buf_put_char(b, ':');
}

static void
put_tags(const struct answer_item *row, struct buf *b)
{
	json_array(b, "tags");
	for (size_t i = 0; i < row->tags_n; i++) {
		json_object(b, NULL);
		json_str(b, "name", row->tags[i].name);
		answer_text(b, "value", row->tags[i].value);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

void
answer_item(const struct answer_item *row, const struct str *tasks,
    size_t tasks_n, struct buf *b)
{
	json_object(b, NULL);
	json_str(b, "id", row->id);
	json_array(b, "aliases");
	json_item(b, row->id);
	for (size_t i = 0; i < row->aliases_loaded; i++)
		json_item(b, row->aliases[i]);
	buf_put_char(b, ']');
	put_tags(row, b);
	json_raw(b, "data", row->data);
	answer_text(b, "created_by", row->created_by);
	item_json_time(b, "created_at", row->created_at);
	item_json_time(b, "updated_at", row->updated_at);
	json_u64(b, "rev", row->rev);
	if (tasks_n > 0) {
		json_object(b, "metadata");
		for (size_t k = 0; k < tasks_n; k++) {
			put_name(b, tasks[k]);
			buf_put_str(b, row->metadata[k].p == NULL ?
			    STR("null") : row->metadata[k]);
		}
		buf_put_char(b, '}');
	}
	buf_put_char(b, '}');
}

/* -- Results -- */

static void
take_result(struct item_store *s, struct query *q, struct arena *a,
    struct answer_result *r)
{
	r->task = (uint32_t)query_get_i64(q, 0);
	r->task_name = arena_copy(a, item_store_name_text(s, r->task));
	r->task_version = arena_copy(a, query_get_str(q, 1));
	r->metadata = arena_copy(a, query_get_str(q, 2));
	r->is_successful = query_get_i64(q, 3) != 0;
	r->is_invalidated = query_get_i64(q, 4) != 0;
	r->completed_at = answer_wall(q, 5);
	r->expires_at = answer_wall(q, 6);
}

static int
by_task_name(const void *a, const void *b)
{
	return str_cmp(((const struct answer_result *)a)->task_name,
	    ((const struct answer_result *)b)->task_name);
}

enum err
answer_results(struct item_store *s, int64_t item, struct arena *a,
    struct answer_result **out, size_t *n, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT task, task_version, metadata, is_successful,"
	    " is_invalidated, completed_at, expires_at FROM task_results"
	    " WHERE item = ?1");
	size_t cap = 0;

	*out = NULL;
	*n = 0;
	query_i64(q, 1, item);
	while (query_step(q)) {
		*out = arena_grow(a, *out, *n, &cap, 8, sizeof(**out));
		take_result(s, q, a, &(*out)[(*n)++]);
	}
	enum err e = query_end(&q, w);
	if (e == OK && *n > 1)
		qsort(*out, *n, sizeof(**out), by_task_name);
	return e;
}

bool
answer_is_stale(const struct answer_result *r, const struct task *t,
    struct wall now)
{
	return r->completed_at.us == ITEM_TIME_NONE.us || r->is_invalidated ||
	    (t != NULL && !str_eq(t->version, r->task_version)) ||
	    (r->expires_at.us != ITEM_TIME_NONE.us &&
	    r->expires_at.us <= now.us);
}
