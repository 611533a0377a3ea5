/* What the AMQP door of harvests keeps, as rows. */
#include "engine/store/store_outbox.h"

#include "base/text.h"
#include "engine/store/store_own.h"

#define DAY_US (INT64_C(86400) * US_PER_S)

/* Bind text `s` as ?1 and run the query as a verb of its own. */
static enum err
run_about(struct store *st, struct query *q, struct str s, bool mine,
    struct why *w)
{
	query_str(q, 1, store_text(s));
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

/* Delete what is older than so many days by this statement's ?1. */
static enum err
forget(struct store *st, const char *sql, struct wall now, int64_t days,
    struct why *w)
{
	struct query *q = database_query(st->db, sql);

	query_i64(q, 1, now.us - days * DAY_US);
	return store_run(q, NULL, w);
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

static enum err
check_key(struct str key, struct why *w)
{
	return store_check_text("routing_key", key,
	    STORE_ROUTING_KEY_BYTES_MAX, w);
}

/* -- Orders -- */

static enum err
insert_order(struct store *st, struct str harvest, struct str key,
    struct wall now, struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO harvest_order"
	    " (harvest, node, routing_key, received) VALUES (?1, ?2, ?3, ?4)"
	    " ON CONFLICT (harvest) DO NOTHING");

	query_str(q, 1, harvest);
	query_str(q, 2, st->node);
	query_str(q, 3, key);
	query_i64(q, 4, now.us);
	return store_run(q, NULL, w);
}

enum err
store_order_put(struct store *st, struct str harvest, struct str key,
    struct wall now, struct why *w)
{
	bool mine;

	enum err e = store_check_text("id", harvest,
	    STORE_HARVEST_ID_BYTES_MAX, w);
	if (e == OK)
		e = check_key(key, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = forget(st, "DELETE FROM harvest_order WHERE received < ?1 AND"
	    " NOT EXISTS (SELECT 1 FROM harvest WHERE id ="
	    " harvest_order.harvest)", now, STORE_HARVEST_DAYS, w);
	if (e == OK)
		e = insert_order(st, harvest, key, now, w);
	return store_leave(st, mine, e, w);
}

enum err
store_order_get(struct store *st, struct str harvest, struct arena *a,
    struct store_order *o, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT harvest, routing_key,"
	    " received, told, tokens_told, uids_told, node FROM harvest_order"
	    " WHERE harvest = ?1");
	bool found = false;

	query_str(q, 1, store_text(harvest));
	if (query_step(q)) {
		found = true;
		*o = (struct store_order){
			.harvest = arena_copy(a, query_get_str(q, 0)),
			.routing_key = arena_copy(a, query_get_str(q, 1)),
			.received = { query_get_i64(q, 2) },
			.told = arena_copy(a, query_get_str(q, 3)),
			.tokens_told = (uint64_t)query_get_i64(q, 4),
			.uids_told = (uint64_t)query_get_i64(q, 5),
			.here = str_eq(query_get_str(q, 6),
			    store_text(st->node)),
		};
	}
	enum err e = query_end(&q, w);
	return e != OK || found ? e : why(w, ERR_ABSENT,
	    "no message has ordered harvest %.*s", STR_FMT(str_cut(harvest, 0,
	    STORE_HARVEST_ID_BYTES_MAX)));
}

enum err
store_order_told(struct store *st, const struct store_order *o, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE harvest_order SET"
	    " told = ?2, tokens_told = ?3, uids_told = ?4 WHERE harvest = ?1");
	query_str(q, 2, store_text(o->told));
	query_i64(q, 3, (int64_t)o->tokens_told);
	query_i64(q, 4, (int64_t)o->uids_told);
	return run_about(st, q, o->harvest, mine, w);
}

enum err
store_order_open(struct store *st, struct arena *a, struct str **ids,
    size_t *n, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT o.harvest FROM"
	    " harvest_order o JOIN harvest h ON h.id = o.harvest"
	    " WHERE o.node = ?1 AND h.node = ?1 AND o.told NOT IN (?2, ?3)"
	    " ORDER BY h.number");

	query_str(q, 1, st->node);
	query_str(q, 2, str_of(store_harvest_state_name(
	    STORE_HARVEST_SUCCEEDED)));
	query_str(q, 3, str_of(store_harvest_state_name(
	    STORE_HARVEST_FAILED)));
	return read_ids(q, a, ids, n, w);
}

enum err
store_order_ended(struct store *st, struct wall after, struct wall until,
    struct arena *a, struct store_harvest **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT h.id, h.path, h.ended"
	    " FROM harvest_order o JOIN harvest h ON h.id = o.harvest"
	    " WHERE o.node = ?1 AND h.node = ?1 AND h.ended > ?2"
	    " AND h.ended <= ?3 ORDER BY h.ended LIMIT ?4");

	query_str(q, 1, st->node);
	query_i64(q, 2, after.us);
	query_i64(q, 3, until.us);
	query_i64(q, 4, STORE_ENDED_MAX);
	while (query_step(q)) {
		struct store_harvest *h = store_rows_add(&r);
		*h = (struct store_harvest){
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

enum err
store_order_warcs(struct store *st, struct str harvest, struct arena *a,
    struct store_harvest_warc **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT name, warc_id, sha1,"
	    " bytes, created, urls FROM harvest_warc WHERE harvest = ?1"
	    " AND placed = 1 AND announced = 0 ORDER BY name");

	query_str(q, 1, store_text(harvest));
	while (query_step(q)) {
		struct store_harvest_warc *f = store_rows_add(&r);
		*f = (struct store_harvest_warc){
			.name = arena_copy(a, query_get_str(q, 0)),
			.warc_id = arena_copy(a, query_get_str(q, 1)),
			.sha1 = arena_copy(a, query_get_str(q, 2)),
			.bytes = (uint64_t)query_get_i64(q, 3),
			.created = { query_get_i64(q, 4) },
			.placed = true,
			.urls = arena_copy(a, query_get_str(q, 5)),
		};
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

enum err
store_order_announced(struct store *st, struct str harvest, struct str name,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "UPDATE harvest_warc SET"
	    " announced = 1, urls = NULL WHERE harvest = ?1 AND name = ?2");
	query_str(q, 2, store_text(name));
	return run_about(st, q, harvest, mine, w);
}

/* -- Messages -- */

static enum err
check_message(const struct store_message *m, struct why *w)
{
	enum err e = store_check_text("harvest", m->harvest,
	    STORE_HARVEST_ID_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("message_id", m->message_id,
		    STORE_MESSAGE_ID_BYTES_MAX, w);
	if (e == OK)
		e = check_key(m->routing_key, w);
	if (e == OK && (m->body.n > STORE_MESSAGE_BYTES_MAX ||
	    !text_is_utf8(m->body)))
		e = why_field(w, ERR_INPUT, "body", "it is no text, or has "
		    "more than %zu bytes", STORE_MESSAGE_BYTES_MAX);
	return e;
}

enum err
store_outbox_put(struct store *st, const struct store_message *m,
    struct why *w)
{
	bool mine;

	enum err e = check_message(m, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "INSERT INTO outbox (harvest,"
	    " node, message_id, routing_key, created, bytes, body)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
	query_str(q, 2, st->node);
	query_str(q, 3, m->message_id);
	query_str(q, 4, m->routing_key);
	query_i64(q, 5, m->created.us);
	query_i64(q, 6, (int64_t)m->body.n);
	query_str(q, 7, store_text(m->body));
	return run_about(st, q, m->harvest, mine, w);
}

static enum err
forget_message(struct store *st, uint64_t number, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM outbox"
	    " WHERE number = ?1");

	store_bind_id(q, 1, number);
	return store_run(q, NULL, w);
}

static enum err
read_first(struct store *st, struct str harvest, struct arena *a,
    struct store_message *m, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT number, harvest,"
	    " message_id, routing_key, created, body FROM outbox"
	    " WHERE node = ?1 AND harvest = ?2 ORDER BY number LIMIT 1");

	*m = (struct store_message){ .number = 0 };
	query_str(q, 1, st->node);
	query_str(q, 2, store_text(harvest));
	if (query_step(q))
		*m = (struct store_message){
			.number = (uint64_t)query_get_i64(q, 0),
			.harvest = arena_copy(a, query_get_str(q, 1)),
			.message_id = arena_copy(a, query_get_str(q, 2)),
			.routing_key = arena_copy(a, query_get_str(q, 3)),
			.created = { query_get_i64(q, 4) },
			.body = arena_copy(a, query_get_str(q, 5)),
		};
	return query_end(&q, w);
}

enum err
store_outbox_next(struct store *st, struct str harvest, uint64_t confirmed,
    struct arena *a, struct store_message *m, struct why *w)
{
	bool mine;

	if (confirmed == 0)
		return read_first(st, harvest, a, m, w);
	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = forget_message(st, confirmed, w);
	if (e == OK)
		e = read_first(st, harvest, a, m, w);
	return store_leave(st, mine, e, w);
}

enum err
store_outbox_harvests(struct store *st, struct arena *a, struct str **ids,
    size_t *n, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT harvest FROM outbox"
	    " WHERE node = ?1 GROUP BY harvest ORDER BY min(number)");

	query_str(q, 1, st->node);
	return read_ids(q, a, ids, n, w);
}

enum err
store_outbox_totals(struct store *st, struct store_outbox_totals *t,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*),"
	    " CAST(sum(bytes) AS BIGINT), min(created) FROM outbox"
	    " WHERE node = ?1");

	*t = (struct store_outbox_totals){ .messages = 0 };
	query_str(q, 1, st->node);
	if (query_step(q))
		*t = (struct store_outbox_totals){
			.messages = (uint64_t)query_get_i64(q, 0),
			.bytes = (uint64_t)query_get_i64(q, 1),
			.oldest = { query_get_i64(q, 2) },
		};
	return query_end(&q, w);
}

enum err
store_outbox_oldest(struct store *st, struct wall *t, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT created FROM outbox"
	    " WHERE node = ?1 ORDER BY number LIMIT 1");

	t->us = 0;
	query_str(q, 1, st->node);
	if (query_step(q))
		t->us = query_get_i64(q, 0);
	return query_end(&q, w);
}

/* -- Stops and crashes -- */

enum err
store_stop_put(struct store *st, struct str harvest, struct wall now,
    struct why *w)
{
	bool mine;

	enum err e = store_check_text("id", harvest,
	    STORE_HARVEST_ID_BYTES_MAX, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = forget(st, "DELETE FROM harvest_stop WHERE stopped < ?1", now,
	    STORE_STOP_DAYS, w);
	if (e != OK)
		return store_leave(st, mine, e, w);
	struct query *q = database_query(st->db, "INSERT INTO harvest_stop"
	    " (harvest, stopped) VALUES (?1, ?2)"
	    " ON CONFLICT (harvest) DO NOTHING");
	query_i64(q, 2, now.us);
	return run_about(st, q, harvest, mine, w);
}

enum err
store_stop_find(struct store *st, struct str harvest, struct wall now,
    bool *found, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT 1 FROM harvest_stop"
	    " WHERE harvest = ?1 AND stopped >= ?2");

	query_str(q, 1, store_text(harvest));
	query_i64(q, 2, now.us - STORE_STOP_DAYS * DAY_US);
	*found = query_step(q);
	return query_end(&q, w);
}

static enum err
set_stopping(struct store *st, struct str harvest, bool *told, struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE harvest SET state ="
	    " ?2 WHERE id = ?1 AND state = ?3");

	query_str(q, 1, store_text(harvest));
	query_str(q, 2, str_of(store_harvest_state_name(
	    STORE_HARVEST_STOPPING)));
	query_str(q, 3, str_of(store_harvest_state_name(
	    STORE_HARVEST_RUNNING)));
	return store_run(q, told, w);
}

enum err
store_stop_harvest(struct store *st, struct str harvest, struct wall now,
    bool *told, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	*told = false;
	if (e != OK)
		return e;
	e = store_stop_put(st, harvest, now, w);
	if (e == OK)
		e = set_stopping(st, harvest, told, w);
	return store_leave(st, mine, e, w);
}

enum err
store_crash_count(struct store *st, struct str digest, struct wall now,
    uint64_t *n, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	*n = 0;
	if (e != OK)
		return e;
	e = forget(st, "DELETE FROM harvest_crash WHERE last < ?1", now,
	    STORE_CRASH_DAYS, w);
	if (e != OK)
		return store_leave(st, mine, e, w);
	struct query *q = database_query(st->db, "INSERT INTO harvest_crash"
	    " (digest, attempts, last) VALUES (?1, 1, ?2)"
	    " ON CONFLICT (digest) DO UPDATE SET"
	    " attempts = harvest_crash.attempts + 1, last = ?2"
	    " RETURNING attempts");
	query_str(q, 1, store_text(digest));
	query_i64(q, 2, now.us);
	while (query_step(q))
		*n = (uint64_t)query_get_i64(q, 0);
	return store_leave(st, mine, query_end(&q, w), w);
}

enum err
store_crash_clear(struct store *st, struct str digest, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM harvest_crash"
	    " WHERE digest = ?1");
	return run_about(st, q, digest, mine, w);
}
