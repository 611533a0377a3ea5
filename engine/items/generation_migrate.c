/* Migrations: a name is one row, so a rename changes one row. */
#include "engine/items/generation_own.h"

/* A migration, where it stands in the configuration. */
struct rename {
	struct item_tx *tx;
	struct database *db;
	const struct task_migration *m;
	enum item_name_kind kind;
	uint32_t from, to;           /* 0: no such name */
	char field[64];
};

static enum err
was_applied(struct database *db, struct str id, bool *was, struct why *w)
{
	struct query *q = database_query(db,
	    "SELECT 1 FROM migrations WHERE id = ?1");

	query_str(q, 1, id);
	*was = query_step(q);
	return query_end(&q, w);
}

static void
note_applied(struct rename *r)
{
	struct query *q = database_query(r->db,
	    "INSERT INTO migrations (id, applied_at) VALUES (?1, ?2)");

	query_str(q, 1, r->m->id);
	query_i64(q, 2, item_tx_now(r->tx).us);
	query_post(&q);
}

/* -- The new name must not be in use: a rename merges nothing -- */

static enum err
name_is_used(struct rename *r, bool *used, struct why *w)
{
	struct query *q = database_query(r->db,
	    r->kind == ITEM_NAME_TAG ?
	    "SELECT 1 FROM tags WHERE tag = ?1 LIMIT 1" :
	    "SELECT 1 FROM worklist WHERE task = ?1"
	    " UNION ALL SELECT 1 FROM task_results WHERE task = ?1"
	    " UNION ALL SELECT 1 FROM failures WHERE task = ?1"
	    " UNION ALL SELECT 1 FROM runs WHERE task = ?1 LIMIT 1");

	query_i64(q, 1, r->to);
	*used = query_step(q);
	return query_end(&q, w);
}

static void
drop_by_number(struct database *db, const char *text, int64_t id)
{
	struct query *q = database_query(db, text);

	query_i64(q, 1, id);
	query_post(&q);
}

/* A configuration has named it, but nothing has it. */
static enum err
drop_unused_name(struct rename *r, struct why *w)
{
	bool used = false;
	enum err e = name_is_used(r, &used, w);

	if (e == OK && used)
		e = why_field(w, ERR_INPUT, r->field, "\"%.*s\" is in use by "
		    "%s, and a rename does not merge", STR_FMT(r->m->to),
		    r->kind == ITEM_NAME_TAG ? "items" : "pairs or results");
	if (e != OK)
		return e;
	drop_by_number(r->db, "DELETE FROM names WHERE id = ?1", r->to);
	if (r->kind != ITEM_NAME_TASK)
		return OK;
	drop_by_number(r->db, "DELETE FROM task_state WHERE task = ?1", r->to);
	drop_by_number(r->db, "DELETE FROM rewrites WHERE task = ?1", r->to);
	return OK;
}

static void
set_name(struct database *db, int64_t id, struct str name)
{
	struct query *q = database_query(db,
	    "UPDATE names SET name = ?2 WHERE id = ?1");

	query_i64(q, 1, id);
	query_str(q, 2, name);
	query_post(&q);
}

/* -- Lanes contain the name of their task: "TASK\nKEY" -- */

struct lane {
	int64_t id;
	struct str name;
};
struct lanes {
	struct lane *list;
	size_t n, cap;
};

static enum err
read_lanes(struct rename *r, struct lanes *lanes, struct why *w)
{
	struct arena *a = item_tx_arena(r->tx);
	struct query *q = database_query(r->db,
	    "SELECT id, name FROM names WHERE kind = ?1");

	query_i64(q, 1, ITEM_NAME_LANE);
	while (query_step(q)) {
		lanes->list = arena_grow(a, lanes->list, lanes->n,
		    &lanes->cap, 16, sizeof(*lanes->list));
		lanes->list[lanes->n++] = (struct lane){ query_get_i64(q, 0),
			arena_copy(a, query_get_str(q, 1)) };
	}
	return query_end(&q, w);
}

static bool
is_lane_of(struct str lane, struct str task)
{
	return str_starts(lane, task) &&
	    (lane.n == task.n || lane.p[task.n] == '\n');
}

static enum err
rename_lanes(struct rename *r, struct why *w)
{
	struct lanes lanes = { NULL, 0, 0 };
	enum err e = read_lanes(r, &lanes, w);

	if (e != OK)
		return e;
	/* Lanes of a name that nothing has are of no use to anything. */
	for (size_t i = 0; i < lanes.n; i++)
		if (is_lane_of(lanes.list[i].name, r->m->to))
			drop_by_number(r->db,
			    "DELETE FROM names WHERE id = ?1",
			    lanes.list[i].id);
	for (size_t i = 0; i < lanes.n; i++) {
		struct str rest = str_from(lanes.list[i].name, r->m->from.n);
		if (is_lane_of(lanes.list[i].name, r->m->from))
			set_name(r->db, lanes.list[i].id, arena_printf(
			    item_tx_arena(r->tx), "%.*s%.*s",
			    STR_FMT(r->m->to), STR_FMT(rest)));
	}
	return OK;
}

/* -- One after the other -- */

static enum err
rename_one(struct rename *r, struct why *w)
{
	struct item_store *st = item_tx_store(r->tx);
	enum err e = item_store_name(st, r->kind, r->m->from, false, &r->from,
	    w);

	if (e == OK)
		e = item_store_name(st, r->kind, r->m->to, false, &r->to, w);
	if (e != OK || r->from == 0)     /* a new store has nothing to rename */
		return e;
	if (r->to != 0)
		e = drop_unused_name(r, w);
	if (e != OK)
		return e;
	set_name(r->db, r->from, r->m->to);
	if (r->kind == ITEM_NAME_TASK)
		e = rename_lanes(r, w);
	item_store_names_changed(st);
	return e;
}

static enum err
migrate_one(struct item_tx *tx, const struct task_migration *m, size_t at,
    struct why *w)
{
	bool tag = m->kind == MIGRATION_RENAME_TAG, was = false;
	struct rename r = { .tx = tx, .m = m,
		.db = item_store_database(item_tx_store(tx)),
		.kind = tag ? ITEM_NAME_TAG : ITEM_NAME_TASK };

	snprintf(r.field, sizeof(r.field), "migrations[%zu].%s", at,
	    tag ? "renameTag" : "renameTask");
	enum err e = was_applied(r.db, m->id, &was, w);
	if (e != OK || was)
		return e;
	e = rename_one(&r, w);
	note_applied(&r);
	return e;
}

enum err
generation_migrate(struct item_tx *tx, const struct task_config *c,
    struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < c->migrations_n && e == OK; i++)
		e = migrate_one(tx, &c->migrations[i], i, w);
	return e;
}
