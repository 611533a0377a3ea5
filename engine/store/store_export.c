/* Exports as rows. */
#include "engine/store/store_export.h"

#include "base/text.h"
#include "engine/store/store_own.h"

#define DAY_US (INT64_C(86400) * US_PER_S)
#define SHORT_COLUMNS "id, type, format, path, routing_key, state, accepted," \
	" started, ended, cancelled, told"
#define COLUMNS SHORT_COLUMNS ", result, node"

static const enum store_harvest_state states[] = { STORE_HARVEST_ACCEPTED,
	STORE_HARVEST_RUNNING, STORE_HARVEST_SUCCEEDED, STORE_HARVEST_FAILED };

static struct str
state_text(enum store_harvest_state s)
{
	return str_of(store_harvest_state_name(s));
}

/* -- New ones -- */

static enum err
check_new(const struct store_export *x, struct why *w)
{
	enum err e = x->id.n == 0 ? OK : store_check_text("id", x->id,
	    STORE_HARVEST_ID_BYTES_MAX, w);

	if (e == OK && x->type.n > 0)
		e = store_check_text("type", x->type, STORE_NAME_BYTES_MAX,
		    w);
	if (e == OK && x->format.n > 0)
		e = store_check_text("format", x->format,
		    STORE_NAME_BYTES_MAX, w);
	if (e == OK && x->path.n > 0)
		e = store_check_text("path", x->path,
		    STORE_HARVEST_PATH_BYTES_MAX, w);
	if (e == OK && (x->message.n > STORE_HARVEST_MESSAGE_BYTES_MAX ||
	    !text_is_utf8(x->message)))
		e = why_field(w, ERR_INPUT, "message", "it is no text, or has "
		    "more than %zu bytes", STORE_HARVEST_MESSAGE_BYTES_MAX);
	return e;
}

static enum err
forget_old(struct store *st, struct wall now, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM export"
	    " WHERE ended < ?1");

	query_i64(q, 1, now.us - STORE_HARVEST_DAYS * DAY_US);
	return store_run(q, NULL, w);
}

static enum err
insert(struct store *st, const struct store_export *x, struct wall now,
    uint64_t *number, struct why *w)
{
	struct why inner = WHY_INIT;
	struct query *q = database_query(st->db, "INSERT INTO export (id,"
	    " type, format, path, message, routing_key, node, state, accepted)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING number");

	query_str(q, 1, store_text(x->id));
	query_str(q, 2, store_text(x->type));
	query_str(q, 3, store_text(x->format));
	query_str(q, 4, store_text(x->path));
	query_str(q, 5, store_text(x->message));
	query_str(q, 6, store_text(x->routing_key));
	query_str(q, 7, st->node);
	query_str(q, 8, state_text(STORE_HARVEST_ACCEPTED));
	query_i64(q, 9, now.us);
	while (query_step(q))
		*number = (uint64_t)query_get_i64(q, 0);
	enum err e = query_end(&q, &inner);
	if (e == ERR_EXISTS)
		return why(w, e, "there is an export %.*s already",
		    STR_FMT(x->id));
	return e == OK ? OK : why(w, e, "%s", inner.text);
}

static enum err
name_it(struct store *st, struct store_export *x, uint64_t number,
    struct arena *a, struct why *w)
{
	x->id = arena_printf(a, "export-%llu", (unsigned long long)number);
	struct query *q = database_query(st->db, "UPDATE export SET id = ?2"
	    " WHERE number = ?1");

	store_bind_id(q, 1, number);
	query_str(q, 2, x->id);
	return store_run(q, NULL, w);
}

enum err
store_export_add(struct store *st, struct store_export *x, struct wall now,
    struct arena *a, struct why *w)
{
	uint64_t number = 0;
	bool mine;

	enum err e = check_new(x, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = forget_old(st, now, w);
	if (e == OK)
		e = store_check_room(st, "SELECT count(*) FROM export",
		    STORE_EXPORTS_MAX, "exports", w);
	if (e == OK)
		e = insert(st, x, now, &number, w);
	if (e == OK && x->id.n == 0)
		e = name_it(st, x, number, a, w);
	x->state = STORE_HARVEST_ACCEPTED;
	x->accepted = now;
	x->here = true;
	return store_leave(st, mine, e, w);
}

/* -- Reading -- */

static enum err
read_row(struct store *st, struct query *q, struct arena *a,
    struct store_export *x, struct why *w)
{
	size_t state = 0;

	*x = (struct store_export){
		.id = arena_copy(a, query_get_str(q, 0)),
		.type = arena_copy(a, query_get_str(q, 1)),
		.format = arena_copy(a, query_get_str(q, 2)),
		.path = arena_copy(a, query_get_str(q, 3)),
		.routing_key = arena_copy(a, query_get_str(q, 4)),
		.accepted = { query_get_i64(q, 6) },
		.started = { query_get_i64(q, 7) },
		.ended = { query_get_i64(q, 8) },
		.cancelled = query_get_i64(q, 9) != 0,
		.told = arena_copy(a, query_get_str(q, 10)),
		.result = arena_copy(a, query_get_str(q, 11)),
		.here = str_eq(query_get_str(q, 12), store_text(st->node)),
	};
	while (state < ARRAY_LEN(states) && !str_eq(query_get_str(q, 5),
	    state_text(states[state])))
		state++;
	if (state == ARRAY_LEN(states))
		return why(w, ERR_CORRUPT, "export %.*s has no state",
		    STR_FMT(x->id));
	x->state = states[state];
	return OK;
}

static enum err
is_absent(struct str id, struct why *w)
{
	return why(w, ERR_ABSENT, "there is no export %.*s",
	    STR_FMT(str_cut(id, 0, STORE_HARVEST_ID_BYTES_MAX)));
}

enum err
store_export_get(struct store *st, struct str id, struct arena *a,
    struct store_export *x, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    ", message FROM export WHERE id = ?1");
	enum err read = OK;
	bool found = false;

	query_str(q, 1, store_text(id));
	if (query_step(q)) {
		found = true;
		read = read_row(st, q, a, x, w);
		x->message = arena_copy(a, query_get_str(q, 13));
	}
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = is_absent(id, w);
	return e == OK ? read : e;
}

enum err
store_export_list(struct store *st, struct arena *a,
    struct store_export **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM export WHERE node = ?1 ORDER BY number DESC");
	enum err e = OK;

	query_str(q, 1, st->node);
	while (e == OK && query_step(q))
		e = read_row(st, q, a, store_rows_add(&r), w);
	e = store_rows_end(&r, &q, e, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

static enum err
count_all(struct store *st, uint64_t *total, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*) FROM export"
	    " WHERE node = ?1");

	query_str(q, 1, st->node);
	*total = query_step(q) ? (uint64_t)query_get_i64(q, 0) : 0;
	return query_end(&q, w);
}

enum err
store_export_page(struct store *st, uint64_t start, uint64_t size,
    struct arena *a, struct store_export **list, size_t *n, uint64_t *total,
    struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	enum err e = count_all(st, total, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "SELECT " SHORT_COLUMNS
	    ", '', node FROM export WHERE node = ?1 ORDER BY number DESC"
	    " LIMIT ?2 OFFSET ?3");
	query_str(q, 1, st->node);
	query_i64(q, 2, (int64_t)MIN(size, STORE_EXPORTS_MAX));
	query_i64(q, 3, (int64_t)MIN(start, STORE_EXPORTS_MAX));
	while (e == OK && query_step(q))
		e = read_row(st, q, a, store_rows_add(&r), w);
	e = store_rows_end(&r, &q, e, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

/* The texts of a query's first column; memory: `a`. */
static enum err
read_ids(struct query *q, struct arena *a, struct str **ids, size_t *n,
    struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**ids) };

	while (query_step(q)) {
		struct str *id = store_rows_add(&r);
		*id = arena_copy(a, query_get_str(q, 0));
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*ids = r.rows;
	*n = r.n;
	return e;
}

enum err
store_export_open(struct store *st, struct arena *a, struct str **ids,
    size_t *n, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT id FROM export"
	    " WHERE node = ?1 AND ended IS NULL ORDER BY number");

	query_str(q, 1, st->node);
	return read_ids(q, a, ids, n, w);
}

enum err
store_export_untold(struct store *st, struct arena *a, struct str **ids,
    size_t *n, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT id FROM export"
	    " WHERE node = ?1 AND routing_key <> ''"
	    " AND told NOT IN (?2, ?3) ORDER BY number");

	query_str(q, 1, st->node);
	query_str(q, 2, state_text(STORE_HARVEST_SUCCEEDED));
	query_str(q, 3, state_text(STORE_HARVEST_FAILED));
	return read_ids(q, a, ids, n, w);
}

enum err
store_export_ended(struct store *st, struct wall after, struct wall until,
    struct arena *a, struct store_export **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT id, path, ended"
	    " FROM export WHERE node = ?1 AND routing_key <> ''"
	    " AND ended > ?2 AND ended <= ?3 ORDER BY ended LIMIT ?4");

	query_str(q, 1, st->node);
	query_i64(q, 2, after.us);
	query_i64(q, 3, until.us);
	query_i64(q, 4, STORE_EXPORTS_ENDED_MAX);
	while (query_step(q)) {
		struct store_export *x = store_rows_add(&r);
		*x = (struct store_export){
			.id = arena_copy(a, query_get_str(q, 0)),
			.path = arena_copy(a, query_get_str(q, 1)),
			.ended = { query_get_i64(q, 2) },
		};
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

/* -- Changing -- */

/* A verb of one statement about one export, which must be there. */
static enum err
run_one(struct store *st, struct query *q, struct str id, bool mine,
    struct why *w)
{
	bool changed;

	query_str(q, 1, store_text(id));
	enum err e = store_run(q, &changed, w);
	if (e == OK && !changed)
		e = is_absent(id, w);
	return store_leave(st, mine, e, w);
}

enum err
store_export_set_state(struct store *st, struct str id,
    enum store_harvest_state state, struct str result, struct wall now,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE export SET"
	    " state = ?2, started = COALESCE(started, ?3),"
	    " ended = CASE WHEN ?4 = 1 THEN ?3 ELSE NULL END, result = ?5"
	    " WHERE id = ?1");
	query_str(q, 2, state_text(state));
	query_i64(q, 3, now.us);
	query_i64(q, 4, store_harvest_is_over(state));
	query_str(q, 5, store_text(result));
	return run_one(st, q, id, mine, w);
}

enum err
store_export_cancel(struct store *st, struct str id, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	return e != OK ? e : run_one(st, database_query(st->db,
	    "UPDATE export SET cancelled = 1 WHERE id = ?1"), id, mine, w);
}

enum err
store_export_told(struct store *st, struct str id, struct str told,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE export SET told = ?2"
	    " WHERE id = ?1");
	query_str(q, 2, store_text(told));
	return run_one(st, q, id, mine, w);
}

enum err
store_export_drop(struct store *st, struct str id, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	return e != OK ? e : run_one(st, database_query(st->db,
	    "DELETE FROM export WHERE id = ?1"), id, mine, w);
}
