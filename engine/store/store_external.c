/* Tasks of the external door, and the leases of their daemons. */
#include "engine/store/store_external.h"

#include "engine/store/store_own.h"

#define SHORT_COLUMNS "number, backend, connector, fid, crawler, endpoint," \
	" version, reset, attempt, state, code, message, detail, emitted,"   \
	" uploaded, spooled, rejected, dropped, rejected_before,"            \
	" spool_bytes, node, created, updated, closed, hash"
#define COLUMNS SHORT_COLUMNS ", params, cursor, checkpoint, delivery, granted"

static const char *const state_names[] = {
#define STATE_NAME(name, text) text,
	STORE_TASK_STATES(STATE_NAME)
#undef STATE_NAME
};

const char *
store_task_state_name(enum store_task_state s)
{
	return state_names[s];
}

bool
store_task_is_closed(enum store_task_state s)
{
	return s >= STORE_TASK_DONE;
}

static struct str
state_text(enum store_task_state s)
{
	return str_of(state_names[s]);
}

/* -- Checks -- */

static enum err
check_grant_id(struct str grant, struct why *w)
{
	return grant.n == 0 || grant.n == STORE_GRANT_ID_BYTES ? OK :
	    why_field(w, ERR_INPUT, "grant", "it is no grant's id");
}

static enum err
check_order(const struct store_task *t, struct why *w)
{
	enum err e = t->crawler.n == 0 ? OK : store_check_text("crawler",
	    t->crawler, STORE_NAME_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("endpoint", t->endpoint,
		    STORE_ENDPOINT_BYTES_MAX, w);
	if (e == OK)
		e = store_check_json("params", t->params, w);
	if (e == OK && t->hash.n > 0)
		e = store_check_text("hash", t->hash, STORE_HASH_BYTES_MAX,
		    w);
	if (e == OK && t->version > INT64_MAX)
		e = why_field(w, ERR_INPUT, "version", "it is too big");
	return e == OK ? check_grant_id(t->grant, w) : e;
}

static enum err
check_new(const struct store_task *t, struct why *w)
{
	enum err e = store_check_text("backend", t->backend,
	    STORE_NAME_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("connector", t->connector,
		    STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("fid", t->fid, STORE_FID_BYTES_MAX, w);
	return e == OK ? check_order(t, w) : e;
}

static enum err
check_status(const struct store_task_status *s, bool closed, struct why *w)
{
	if (store_task_is_closed(s->state) != closed)
		return why_field(w, ERR_INPUT, "state", "a task is not %s by "
		    "this", state_names[s->state]);
	if (s->code > 999)
		return why_field(w, ERR_INPUT, "code", "it is above 999");
	enum err e = store_check_lines("message", s->message,
	    STORE_STATUS_BYTES_MAX, w);
	return e == OK ? store_check_lines("detail", s->detail,
	    STORE_STATUS_BYTES_MAX, w) : e;
}

static enum err
is_absent(uint64_t id, struct why *w)
{
	return why(w, ERR_ABSENT, "there is no task %llu",
	    (unsigned long long)id);
}

enum err
store_task_head(struct store *st, uint64_t id, bool owned,
    struct store_task_head *h, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT emitted, rejected,"
	    " log_lines, closed, node FROM external_task WHERE number = ?1");
	bool found = false, mine = false;

	*h = (struct store_task_head){ .open = false };
	store_bind_id(q, 1, id);
	if (query_step(q)) {
		found = true;
		h->emitted = (uint64_t)query_get_i64(q, 0);
		h->rejected = (uint64_t)query_get_i64(q, 1);
		h->log_lines = (uint64_t)query_get_i64(q, 2);
		h->open = query_is_null(q, 3);
		mine = str_eq(query_get_str(q, 4), st->node);
	}
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = is_absent(id, w);
	if (e == OK && owned && !h->open)
		e = why(w, ERR_STATE, "task %llu is closed",
		    (unsigned long long)id);
	if (e == OK && owned && !mine)
		e = why(w, ERR_STATE, "task %llu is another daemon's",
		    (unsigned long long)id);
	return e;
}

/* Begin a group about this task. */
static enum err
enter_task(struct store *st, uint64_t id, bool owned,
    struct store_task_head *h, bool *mine, struct why *w)
{
	enum err e = store_enter(st, mine, w);

	if (e != OK)
		return e;
	e = store_task_head(st, id, owned, h, w);
	return e == OK ? OK : store_leave(st, *mine, e, w);
}

/* -- Reading -- */

static enum err
read_short(struct query *q, struct arena *a, struct store_task *t,
    struct why *w)
{
	struct str state = query_get_str(q, 9);
	size_t i = str_find_row(state, state_names, ARRAY_LEN(state_names),
	    sizeof(*state_names), str_eq);

	*t = (struct store_task){
		.id = (uint64_t)query_get_i64(q, 0),
		.backend = arena_copy(a, query_get_str(q, 1)),
		.connector = arena_copy(a, query_get_str(q, 2)),
		.fid = arena_copy(a, query_get_str(q, 3)),
		.crawler = arena_copy(a, query_get_str(q, 4)),
		.endpoint = arena_copy(a, query_get_str(q, 5)),
		.version = (uint64_t)query_get_i64(q, 6),
		.reset = query_get_i64(q, 7) != 0,
		.attempt = (uint64_t)query_get_i64(q, 8),
		.state = (enum store_task_state)i,
		.code = (uint64_t)query_get_i64(q, 10),
		.message = arena_copy(a, query_get_str(q, 11)),
		.detail = arena_copy(a, query_get_str(q, 12)),
		.emitted = (uint64_t)query_get_i64(q, 13),
		.uploaded = (uint64_t)query_get_i64(q, 14),
		.spooled = (uint64_t)query_get_i64(q, 15),
		.rejected = (uint64_t)query_get_i64(q, 16),
		.dropped = (uint64_t)query_get_i64(q, 17),
		.rejected_before = (uint64_t)query_get_i64(q, 18),
		.spool_bytes = (uint64_t)query_get_i64(q, 19),
		.node = arena_copy(a, query_get_str(q, 20)),
		.created = { query_get_i64(q, 21) },
		.updated = { query_get_i64(q, 22) },
		.closed = { query_get_i64(q, 23) },
		.hash = arena_copy(a, query_get_str(q, 24)),
	};
	if (i == ARRAY_LEN(state_names))
		return why(w, ERR_CORRUPT, "task %llu has no state",
		    (unsigned long long)t->id);
	return OK;
}

/* The rows of a query of COLUMNS; the first one is read. */
static enum err
read_whole(struct query *q, struct arena *a, struct store_task *t, size_t *n,
    struct why *w)
{
	enum err read = OK;

	for (*n = 0; query_step(q); ++*n) {
		if (*n > 0)
			continue;
		read = read_short(q, a, t, w);
		t->params = arena_copy(a, query_get_str(q, 25));
		t->cursor = arena_copy(a, query_get_str(q, 26));
		t->checkpoint = arena_copy(a, query_get_str(q, 27));
		t->delivery = arena_copy(a, query_get_str(q, 28));
		t->grant = arena_copy(a, query_get_str(q, 29));
	}
	enum err e = query_end(&q, w);
	return e == OK ? read : e;
}

enum err
store_task_get(struct store *st, uint64_t id, struct arena *a,
    struct store_task *t, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS
	    " FROM external_task WHERE number = ?1");
	size_t n;

	store_bind_id(q, 1, id);
	enum err e = read_whole(q, a, t, &n, w);
	return e == OK && n == 0 ? is_absent(id, w) : e;
}

enum err
store_task_find(struct store *st, struct str backend, struct str fid,
    struct arena *a, struct store_task *t, struct why *w)
{
	struct query *q = database_query(st->db, backend.n > 0 ?
	    "SELECT " COLUMNS " FROM external_task"
	    " WHERE backend = ?1 AND fid = ?2" :
	    "SELECT " COLUMNS " FROM external_task"
	    " WHERE ?1 = '' AND fid = ?2 LIMIT 2");
	struct str shown = str_cut(fid, 0, STORE_FID_BYTES_MAX);
	size_t n;

	query_str(q, 1, store_text(backend));
	query_str(q, 2, store_text(fid));
	enum err e = read_whole(q, a, t, &n, w);
	if (e == OK && n == 0)
		e = why(w, ERR_ABSENT, "there is no task %.*s",
		    STR_FMT(shown));
	if (e == OK && n > 1)
		e = why(w, ERR_STATE, "several back ends have a task %.*s; "
		    "name one", STR_FMT(shown));
	return e;
}

/* `+number`: SQLite reads the index of open tasks, not all tasks by number. */
#define LIST_WHERE " AND (?2 = 0 OR node = ?3) AND (?4 = '' OR backend = ?4)" \
	" AND (?5 = '' OR connector = ?5)"
#define LIST_ALL "SELECT " SHORT_COLUMNS " FROM external_task" \
	" WHERE number > ?1" LIST_WHERE " ORDER BY number LIMIT ?6"
#define LIST_OPEN "SELECT " SHORT_COLUMNS " FROM external_task" \
	" WHERE closed IS NULL AND +number > ?1" LIST_WHERE \
	" ORDER BY +number LIMIT ?6"
#define LIST_NEWEST "SELECT " SHORT_COLUMNS " FROM external_task"            \
	" WHERE number < ?1" LIST_WHERE " ORDER BY number DESC LIMIT ?6"
#define LIST_NEWEST_OPEN "SELECT " SHORT_COLUMNS " FROM external_task"       \
	" WHERE closed IS NULL AND +number < ?1" LIST_WHERE                  \
	" ORDER BY +number DESC LIMIT ?6"

static const char *
list_query(const struct store_task_filter *f)
{
	if (f->newest)
		return f->open ? LIST_NEWEST_OPEN : LIST_NEWEST;
	return f->open ? LIST_OPEN : LIST_ALL;
}

enum err
store_task_list(struct store *st, const struct store_task_filter *f,
    struct arena *a, struct store_task **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, list_query(f));
	uint64_t from = !f->newest ? f->after : f->before == 0 ? UINT64_MAX :
	    f->before;
	size_t most = f->most == 0 ? STORE_TASKS_PAGE_MAX : f->most;
	enum err e = OK;

	query_i64(q, 1, (int64_t)MIN(from, (uint64_t)INT64_MAX));
	query_i64(q, 2, f->mine);
	query_str(q, 3, st->node);
	query_str(q, 4, store_text(f->backend));
	query_str(q, 5, store_text(f->connector));
	query_i64(q, 6, (int64_t)MIN(most, STORE_TASKS_PAGE_MAX));
	while (e == OK && query_step(q))
		e = read_short(q, a, store_rows_add(&r), w);
	e = store_rows_end(&r, &q, e, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

enum err
store_task_exists(struct store *st, uint64_t id, bool *exists, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT 1 FROM external_task"
	    " WHERE number = ?1");

	store_bind_id(q, 1, id);
	*exists = query_step(q);
	return query_end(&q, w);
}

enum err
store_task_count(struct store *st, struct str connector, size_t *n,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*) FROM"
	    " external_task WHERE connector = ?1 AND closed IS NULL");

	query_str(q, 1, store_text(connector));
	*n = query_step(q) ? (size_t)query_get_i64(q, 0) : 0;
	return query_end(&q, w);
}

enum err
store_task_list_ungranted(struct store *st, struct arena *a, uint64_t **ids,
    size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**ids) };
	struct query *q = database_query(st->db, "SELECT number FROM"
	    " external_task WHERE closed IS NULL AND granted IS NOT NULL"
	    " AND node = ?1 AND NOT EXISTS (SELECT 1 FROM external_grant g"
	    " WHERE g.handle = external_task.granted)"
	    " ORDER BY number LIMIT ?2");

	query_str(q, 1, st->node);
	query_i64(q, 2, STORE_TASKS_PAGE_MAX);
	while (query_step(q))
		*(uint64_t *)store_rows_add(&r) = (uint64_t)query_get_i64(q,
		    0);
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*ids = r.rows;
	*n = r.n;
	return e;
}

/* -- New tasks and attempts -- */

static enum err
check_open(struct store *st, struct str connector, size_t open_max,
    struct why *w)
{
	size_t n;
	enum err e = store_task_count(st, connector, &n, w);

	if (e == OK && n >= open_max)
		e = why_field(w, ERR_FULL, "tasks_max", "connector %.*s has "
		    "%zu open tasks, and no more are allowed",
		    STR_FMT(connector), n);
	return e;
}

static void
bind_grant(struct query *q, int at, struct str grant)
{
	if (grant.n > 0)
		query_bytes(q, at, grant);
	else
		query_null(q, at);
}

static enum err
insert_task(struct store *st, const struct store_task *t, struct wall now,
    uint64_t *id, struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO external_task"
	    " (backend, connector, fid, crawler, endpoint, params, version,"
	    " reset, node, state, created, updated, hash, granted) VALUES (?1,"
	    " ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13)"
	    " RETURNING number");

	query_str(q, 1, t->backend);
	query_str(q, 2, t->connector);
	query_str(q, 3, t->fid);
	query_str(q, 4, store_text(t->crawler));
	query_str(q, 5, t->endpoint);
	query_str(q, 6, t->params);
	store_bind_id(q, 7, t->version);
	query_i64(q, 8, t->reset);
	query_str(q, 9, st->node);
	query_str(q, 10, state_text(STORE_TASK_ACCEPTED));
	query_i64(q, 11, now.us);
	query_str(q, 12, store_text(t->hash));
	bind_grant(q, 13, t->grant);
	while (query_step(q))
		*id = (uint64_t)query_get_i64(q, 0);
	return query_end(&q, w);
}

static enum err
add_task(struct store *st, const struct store_task *t, size_t open_max,
    struct wall now, struct arena *a, struct store_task *out, struct why *w)
{
	uint64_t id = 0;

	enum err e = check_open(st, t->connector, open_max, w);
	if (e == OK)
		e = store_check_room(st, "SELECT count(*) FROM external_task",
		    STORE_TASKS_MAX, "tasks", w);
	if (e == OK)
		e = insert_task(st, t, now, &id, w);
	return e == OK ? store_task_get(st, id, a, out, w) : e;
}

enum err
store_task_put(struct store *st, const struct store_task *t, size_t open_max,
    struct wall now, struct arena *a, struct store_task *out, bool *made,
    struct why *w)
{
	bool mine;

	*made = false;
	enum err e = check_new(t, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct why unused = WHY_INIT;
	e = store_task_find(st, t->backend, t->fid, a, out, &unused);
	if (e == ERR_ABSENT) {
		e = add_task(st, t, open_max, now, a, out, w);
		*made = e == OK;
	} else if (e != OK) {
		e = why(w, e, "%s", unused.text);
	}
	e = store_leave(st, mine, e, w);
	*made = *made && e == OK;
	return e;
}

static struct query *
retry_query(struct store *st, uint64_t id, const struct store_task *t,
    bool keep_cursor, struct wall now)
{
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " endpoint = ?2, params = ?3, crawler = ?4, version = ?5,"
	    " reset = ?6, node = ?7, state = ?8, updated = ?9, hash = ?11,"
	    " attempt = attempt + 1, code = 0, message = '', detail = '',"
	    " closed = NULL, rejected_before = rejected, granted = ?12,"
	    " cursor = CASE WHEN ?10 = 1 THEN cursor ELSE '' END,"
	    " checkpoint = CASE WHEN ?10 = 1 THEN checkpoint ELSE NULL END"
	    " WHERE number = ?1");

	store_bind_id(q, 1, id);
	query_str(q, 2, t->endpoint);
	query_str(q, 3, t->params);
	query_str(q, 4, store_text(t->crawler));
	store_bind_id(q, 5, t->version);
	query_i64(q, 6, t->reset);
	query_str(q, 7, st->node);
	query_str(q, 8, state_text(STORE_TASK_ACCEPTED));
	query_i64(q, 9, now.us);
	query_i64(q, 10, keep_cursor && !t->reset);
	query_str(q, 11, store_text(t->hash));
	bind_grant(q, 12, t->grant);
	return q;
}

static enum err
check_retry(struct store *st, uint64_t id, size_t open_max, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT connector FROM"
	    " external_task WHERE number = ?1");
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str connector = STR("");

	store_bind_id(q, 1, id);
	if (query_step(q))
		connector = arena_copy(&a, query_get_str(q, 0));
	enum err e = query_end(&q, w);
	return e == OK ? check_open(st, connector, open_max, w) : e;
}

enum err
store_task_retry(struct store *st, uint64_t id, const struct store_task *t,
    bool keep_cursor, size_t open_max, struct wall now, struct why *w)
{
	struct store_task_head h;
	bool mine;

	enum err e = check_order(t, w);
	if (e == OK)
		e = enter_task(st, id, false, &h, &mine, w);
	if (e != OK)
		return e;
	if (h.open)
		e = why(w, ERR_STATE, "task %llu is open",
		    (unsigned long long)id);
	if (e == OK)
		e = check_retry(st, id, open_max, w);
	if (e == OK)
		e = store_run(retry_query(st, id, t, keep_cursor, now), NULL,
		    w);
	return store_leave(st, mine, e, w);
}

/* -- Changing -- */

enum err
store_task_set_status(struct store *st, uint64_t id,
    const struct store_task_status *s, struct wall now, struct why *w)
{
	struct store_task_head h;
	bool mine;

	enum err e = check_status(s, false, w);
	if (e == OK)
		e = enter_task(st, id, true, &h, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " state = ?2, code = ?3, message = ?4, detail = ?5, updated = ?6"
	    " WHERE number = ?1");
	store_bind_id(q, 1, id);
	query_str(q, 2, state_text(s->state));
	store_bind_id(q, 3, s->code);
	query_str(q, 4, store_text(s->message));
	query_str(q, 5, store_text(s->detail));
	query_i64(q, 6, now.us);
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

/* One text of an open task of this daemon. */
static enum err
set_text(struct store *st, uint64_t id, const char *sql, struct str text,
    struct wall now, struct why *w)
{
	struct store_task_head h;
	bool mine;
	enum err e = enter_task(st, id, true, &h, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, sql);
	store_bind_id(q, 1, id);
	query_str(q, 2, store_text(text));
	query_i64(q, 3, now.us);
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

enum err
store_task_set_endpoint(struct store *st, uint64_t id, struct str endpoint,
    struct wall now, struct why *w)
{
	enum err e = store_check_text("endpoint", endpoint,
	    STORE_ENDPOINT_BYTES_MAX, w);

	return e != OK ? e : set_text(st, id, "UPDATE external_task SET"
	    " endpoint = ?2, updated = ?3 WHERE number = ?1", endpoint, now,
	    w);
}

enum err
store_task_set_grant(struct store *st, uint64_t id, struct str grant,
    struct wall now, struct why *w)
{
	struct store_task_head h;
	bool mine;
	enum err e = check_grant_id(grant, w);

	if (e == OK)
		e = enter_task(st, id, true, &h, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " granted = ?2, updated = ?3 WHERE number = ?1");
	store_bind_id(q, 1, id);
	bind_grant(q, 2, grant);
	query_i64(q, 3, now.us);
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

enum err
store_task_set_delivery(struct store *st, uint64_t id, struct str delivery,
    struct wall now, struct why *w)
{
	enum err e = store_check_lines("delivery", delivery,
	    STORE_DELIVERY_BYTES_MAX, w);

	return e != OK ? e : set_text(st, id, "UPDATE external_task SET"
	    " delivery = ?2, updated = ?3 WHERE number = ?1", delivery, now,
	    w);
}

enum err
store_task_reset_cursor(struct store *st, uint64_t id, struct wall now,
    struct why *w)
{
	struct store_task_head h;
	bool mine;
	enum err e = enter_task(st, id, false, &h, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " cursor = '', checkpoint = NULL, updated = ?2"
	    " WHERE number = ?1");
	store_bind_id(q, 1, id);
	query_i64(q, 2, now.us);
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

/* -- Closing -- */

static enum err
keep_crawler_cursor(struct store *st, uint64_t id, struct wall now,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_task t;

	enum err e = store_task_get(st, id, &a, &t, w);
	if (e != OK || t.crawler.n == 0)
		return e;
	struct store_crawler c = { t.backend, t.connector, t.crawler };
	return store_cursor_put(st, &c, t.cursor, now, w);
}

static enum err
close_task(struct store *st, uint64_t id, const struct store_task_end *end,
    struct wall now, struct why *w)
{
	enum err e = end->drop_spool ? store_spool_drop(st, id, now, w) : OK;

	if (e == OK && end->keep_cursor)
		e = keep_crawler_cursor(st, id, now, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " state = ?2, code = ?3, message = ?4, detail = ?5,"
	    " updated = ?6, closed = ?6 WHERE number = ?1");
	store_bind_id(q, 1, id);
	query_str(q, 2, state_text(end->status.state));
	store_bind_id(q, 3, end->status.code);
	query_str(q, 4, store_text(end->status.message));
	query_str(q, 5, store_text(end->status.detail));
	query_i64(q, 6, now.us);
	return store_run(q, NULL, w);
}

enum err
store_task_close(struct store *st, uint64_t id,
    const struct store_task_end *end, struct wall now, bool *changed,
    struct why *w)
{
	struct store_task_head h;
	bool mine;

	*changed = false;
	enum err e = check_status(&end->status, true, w);
	if (e == OK)
		e = enter_task(st, id, false, &h, &mine, w);
	if (e != OK)
		return e;
	if (h.open && end->by_owner)
		e = store_task_head(st, id, true, &h, w);
	if (e == OK && h.open)
		e = close_task(st, id, end, now, w);
	e = store_leave(st, mine, e, w);
	*changed = e == OK && h.open;
	return e;
}

enum err
store_task_redeliver(struct store *st, uint64_t id, struct wall now,
    struct why *w)
{
	struct store_task_head h;
	bool mine, changed;
	enum err e = enter_task(st, id, false, &h, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " state = ?2, node = ?3, updated = ?4, closed = NULL"
	    " WHERE number = ?1 AND state = ?5");
	store_bind_id(q, 1, id);
	query_str(q, 2, state_text(STORE_TASK_DRAINING));
	query_str(q, 3, st->node);
	query_i64(q, 4, now.us);
	query_str(q, 5, state_text(STORE_TASK_UNDELIVERED));
	e = store_run(q, &changed, w);
	if (e == OK && !changed)
		e = why(w, ERR_STATE, "task %llu is not undelivered",
		    (unsigned long long)id);
	return store_leave(st, mine, e, w);
}

/* -- Forgetting -- */

#define OLD_TASKS "(SELECT number FROM external_task WHERE closed < ?1" \
	" ORDER BY closed, number LIMIT ?2)"

enum err
store_task_forget(struct store *st, struct wall before, size_t *n,
    struct why *w)
{
	/* The tasks themselves last. */
	static const char *const texts[] = {
		"DELETE FROM external_spool WHERE task IN " OLD_TASKS,
		"DELETE FROM external_rejected WHERE task IN " OLD_TASKS,
		"DELETE FROM external_log WHERE task IN " OLD_TASKS,
		"DELETE FROM external_task WHERE number IN " OLD_TASKS };
	bool mine;
	enum err e = store_enter(st, &mine, w);

	*n = 0;
	if (e != OK)
		return e;
	for (size_t i = 0; i < ARRAY_LEN(texts) && e == OK; i++) {
		struct query *q = database_query(st->db, texts[i]);
		query_i64(q, 1, before.us);
		query_i64(q, 2, STORE_FORGET_MAX);
		query_step(q);
		*n = (size_t)query_changes(q);
		e = query_end(&q, w);
	}
	if (e == OK && *n > 0)
		e = store_declaration_forget(st, w);
	e = store_leave(st, mine, e, w);
	if (e != OK)
		*n = 0;
	return e;
}

/* -- Leases -- */

/*
 * Neither statement is in a group: a renewal is no news for those who keep rows
 * in memory.  The first one and the DELETE of store_task_take_over() wait for
 * each other, so that a lease is either renewed or lost.
 */
enum err
store_lease_renew(struct store *st, struct wall now, struct wall until,
    bool *kept, struct why *w)
{
	*kept = true;
	if (!store_is_shared(st))
		return OK;
	struct query *q = database_query(st->db, "UPDATE external_lease SET"
	    " until = ?2 WHERE node = ?1 AND until > ?3");
	query_str(q, 1, st->node);
	query_i64(q, 2, until.us);
	query_i64(q, 3, now.us);
	enum err e = store_run(q, kept, w);
	if (e != OK || *kept)
		return e;
	q = database_query(st->db, "INSERT INTO external_lease (node, until)"
	    " VALUES (?1, ?2) ON CONFLICT (node) DO UPDATE SET until = ?2");
	query_str(q, 1, st->node);
	query_i64(q, 2, until.us);
	return store_run(q, NULL, w);
}

#define TASKS_WITHOUT_LEASE " closed IS NULL AND node <> ?1 AND NOT EXISTS" \
	" (SELECT 1 FROM external_lease l WHERE l.node = external_task.node" \
	" AND l.until > ?2)"

/* So that a daemon which asks in vain changes no version. */
static enum err
count_without_lease(struct store *st, struct wall now, size_t *n,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*) FROM"
	    " external_task WHERE" TASKS_WITHOUT_LEASE);

	query_str(q, 1, st->node);
	query_i64(q, 2, now.us);
	*n = query_step(q) ? (size_t)query_get_i64(q, 0) : 0;
	return query_end(&q, w);
}

static enum err
take_tasks(struct store *st, struct wall now, struct arena *a,
    uint64_t **ids, size_t *n, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM external_lease"
	    " WHERE until <= ?1");
	size_t cap = 0;

	query_i64(q, 1, now.us);
	enum err e = store_run(q, NULL, w);
	if (e != OK)
		return e;
	q = database_query(st->db, "UPDATE external_task SET node = ?1,"
	    " updated = ?2 WHERE" TASKS_WITHOUT_LEASE " RETURNING number");
	query_str(q, 1, st->node);
	query_i64(q, 2, now.us);
	while (query_step(q)) {
		*ids = arena_grow(a, *ids, *n, &cap, 16, sizeof(**ids));
		(*ids)[(*n)++] = (uint64_t)query_get_i64(q, 0);
	}
	return query_end(&q, w);
}

enum err
store_task_take_over(struct store *st, struct wall now, struct arena *a,
    uint64_t **ids, size_t *n, struct why *w)
{
	bool mine;
	size_t waiting;

	*ids = NULL;
	*n = 0;
	if (!store_is_shared(st))
		return OK;
	enum err e = count_without_lease(st, now, &waiting, w);
	if (e != OK || waiting == 0)
		return e;
	e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = store_leave(st, mine, take_tasks(st, now, a, ids, n, w), w);
	if (e != OK)
		*n = 0;
	return e;
}
