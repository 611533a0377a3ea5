/* Documents of the external door's tasks: spooled and rejected ones; logs. */
#include "engine/store/store_external.h"
#include "engine/store/store_own.h"

/* -- Emitting -- */

static enum err
check_fault(const struct store_document *d, struct why *w)
{
	enum err e = store_check_lines("pointer", d->pointer,
	    STORE_POINTER_BYTES_MAX, w);

	return e == OK ? store_check_lines("message", d->message,
	    STORE_STATUS_BYTES_MAX, w) : e;
}

static enum err
check_emit(const struct store_emit *m, struct why *w)
{
	size_t bytes = 0;
	char field[48];
	enum err e = store_check_lines("cursor", m->cursor,
	    STORE_CURSOR_BYTES_MAX, w);

	if (e == OK && m->checkpoint.n > STORE_CHECKPOINT_BYTES_MAX)
		e = why_field(w, ERR_FULL, "checkpoint", "%zu bytes; at most "
		    "%zu are allowed", m->checkpoint.n,
		    STORE_CHECKPOINT_BYTES_MAX);
	if (e == OK && m->n > STORE_EMIT_DOCUMENTS_MAX)
		e = why_field(w, ERR_FULL, "documents", "%zu; at most %u are "
		    "allowed at once", m->n, STORE_EMIT_DOCUMENTS_MAX);
	for (size_t i = 0; i < m->n && e == OK; i++) {
		snprintf(field, sizeof(field), "documents[%zu]", i);
		bytes += m->documents[i].json.n;
		if (m->documents[i].json.n == 0)
			e = why_field(w, ERR_INPUT, field, "it is empty");
		else
			e = store_check_lines(field, m->documents[i].json,
			    STORE_DOCUMENT_BYTES_MAX, w);
		if (e == OK)
			e = check_fault(&m->documents[i], w);
	}
	if (e == OK && bytes > STORE_EMIT_BYTES_MAX)
		e = why_field(w, ERR_FULL, "documents", "%zu bytes; at most "
		    "%zu are allowed at once", bytes, STORE_EMIT_BYTES_MAX);
	return e;
}

static bool
is_rejected(const struct store_document *d)
{
	return d->message.n > 0;
}

static void
insert_rejected(struct store *st, uint64_t id, uint64_t number,
    const struct store_document *d)
{
	struct query *q = database_query(st->db, "INSERT INTO"
	    " external_rejected (task, number, pointer, message, document)"
	    " VALUES (?1, ?2, ?3, ?4, substr(?5, 1, CAST(?6 AS INTEGER)))");

	store_bind_id(q, 1, id);
	store_bind_id(q, 2, number);
	query_str(q, 3, store_text(d->pointer));
	query_str(q, 4, d->message);
	query_str(q, 5, d->json);
	query_i64(q, 6, STORE_REJECTED_CHARACTERS_MAX);
	query_post(&q);
}

struct counts {
	uint64_t spooled, bytes, rejected;
};

static enum err
insert_documents(struct store *st, uint64_t id, const struct store_emit *m,
    uint64_t rejected, struct counts *c, struct why *w)
{
	static const struct sql put = {
		"INSERT INTO external_spool (task, number, bytes, document)"
		" VALUES (?1, ?2, ?3, ?4)",
		"INSERT INTO external_spool (task, number, bytes, document)"
		" SELECT * FROM unnest(?1::int8[], ?2::int8[], ?3::int8[],"
		" ?4::text[])" };
	struct query *q = database_bulk(st->db, &put);

	for (size_t i = 0; i < m->n; i++) {
		const struct store_document *d = &m->documents[i];
		if (is_rejected(d)) {
			c->rejected++;
			continue;
		}
		store_bind_id(q, 1, id);
		store_bind_id(q, 2, m->first + i);
		query_i64(q, 3, (int64_t)d->json.n);
		query_str(q, 4, d->json);
		query_row(q);
		c->spooled++;
		c->bytes += d->json.n;
	}
	enum err e = query_end(&q, w);
	for (size_t i = 0; i < m->n && e == OK; i++)
		if (is_rejected(&m->documents[i]) &&
		    rejected++ < STORE_REJECTED_MAX)
			insert_rejected(st, id, m->first + i,
			    &m->documents[i]);
	return e;
}

static enum err
add_emitted(struct store *st, uint64_t id, const struct store_emit *m,
    const struct counts *c, struct wall now, struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " emitted = emitted + ?2, spooled = spooled + ?3,"
	    " spool_bytes = spool_bytes + ?4, rejected = rejected + ?5,"
	    " cursor = ?6, checkpoint = ?7, updated = ?8 WHERE number = ?1");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)m->n);
	query_i64(q, 3, (int64_t)c->spooled);
	query_i64(q, 4, (int64_t)c->bytes);
	query_i64(q, 5, (int64_t)c->rejected);
	query_str(q, 6, store_text(m->cursor));
	query_bytes(q, 7, m->checkpoint);
	query_i64(q, 8, now.us);
	return store_run(q, NULL, w);
}

static enum err
emit_documents(struct store *st, uint64_t id, const struct store_emit *m,
    struct wall now, struct why *w)
{
	struct counts c = { .spooled = 0 };
	struct store_task_head h;

	enum err e = store_task_head(st, id, true, &h, w);
	if (e != OK)
		return e;
	if (m->n > 0 && m->first > 0 && h.emitted >= m->first - 1 + m->n)
		return OK;              /* it was committed already */
	if (m->first != h.emitted + 1)
		return why(w, ERR_STATE, "task %llu has emitted %llu "
		    "documents, and the next is not number %llu",
		    (unsigned long long)id, (unsigned long long)h.emitted,
		    (unsigned long long)m->first);
	e = insert_documents(st, id, m, h.rejected, &c, w);
	return e == OK ? add_emitted(st, id, m, &c, now, w) : e;
}

enum err
store_spool_emit(struct store *st, uint64_t id, const struct store_emit *m,
    struct wall now, struct why *w)
{
	bool mine;

	enum err e = check_emit(m, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	return e == OK ? store_leave(st, mine, emit_documents(st, id, m, now,
	    w), w) : e;
}

/* -- Reading -- */

/* The number of the last document that fits; 0: there is none. */
static enum err
find_last(struct store *st, uint64_t id, uint64_t from, size_t most,
    size_t bytes_max, uint64_t *last, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT number, bytes FROM"
	    " external_spool WHERE task = ?1 AND number >= ?2"
	    " ORDER BY number LIMIT ?3");
	size_t bytes = 0;

	*last = 0;
	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(from, (uint64_t)INT64_MAX));
	query_i64(q, 3, (int64_t)MIN(most, STORE_EMIT_DOCUMENTS_MAX));
	while (query_step(q)) {
		bytes += (size_t)query_get_i64(q, 1);
		if (*last > 0 && bytes > bytes_max)
			break;
		*last = (uint64_t)query_get_i64(q, 0);
	}
	return query_end(&q, w);
}

enum err
store_spool_read(struct store *st, uint64_t id, uint64_t from, size_t most,
    size_t bytes_max, struct arena *a, struct store_document **list, size_t *n,
    struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	uint64_t last;

	*n = 0;
	enum err e = find_last(st, id, from, most, bytes_max, &last, w);
	if (e != OK || last == 0)
		return e;
	struct query *q = database_query(st->db, "SELECT number, document FROM"
	    " external_spool WHERE task = ?1 AND number BETWEEN ?2 AND ?3"
	    " ORDER BY number");
	store_bind_id(q, 1, id);
	store_bind_id(q, 2, from);
	store_bind_id(q, 3, last);
	while (query_step(q)) {
		struct store_document *d = store_rows_add(&r);
		*d = (struct store_document){
			.number = (uint64_t)query_get_i64(q, 0),
			.json = arena_copy(a, query_get_str(q, 1)),
		};
	}
	e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

enum err
store_spool_total(struct store *st, struct store_spool_totals *t,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*),"
	    " CAST(sum(spooled) AS BIGINT), CAST(sum(spool_bytes) AS BIGINT)"
	    " FROM external_task WHERE spool_bytes > 0");

	*t = (struct store_spool_totals){ .tasks = 0 };
	if (query_step(q))
		*t = (struct store_spool_totals){
			.tasks = (uint64_t)query_get_i64(q, 0),
			.documents = (uint64_t)query_get_i64(q, 1),
			.bytes = (uint64_t)query_get_i64(q, 2),
		};
	return query_end(&q, w);
}

/* -- Acknowledging -- */

static enum err
check_ack(const struct store_ack *k, struct why *w)
{
	char field[48];
	enum err e = store_check_lines("delivery", k->delivery,
	    STORE_DELIVERY_BYTES_MAX, w);

	if (e == OK && k->last > INT64_MAX)
		e = why_field(w, ERR_INPUT, "last", "it is too big");
	for (size_t i = 0; i < k->refused_n && e == OK; i++) {
		const struct store_document *d = &k->refused[i];
		snprintf(field, sizeof(field), "refused[%zu]", i);
		if (d->number < k->first || d->number > k->last)
			e = why_field(w, ERR_INPUT, field, "number %llu is "
			    "not in the range", (unsigned long long)d->number);
		else if (d->message.n == 0)
			e = why_field(w, ERR_INPUT, field, "it has no "
			    "message");
		else
			e = check_fault(d, w);
	}
	return e;
}

static enum err
count_range(struct store *st, uint64_t id, const struct store_ack *k,
    struct counts *c, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*),"
	    " CAST(sum(bytes) AS BIGINT) FROM external_spool"
	    " WHERE task = ?1 AND number BETWEEN ?2 AND ?3");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(k->first, (uint64_t)INT64_MAX));
	store_bind_id(q, 3, k->last);
	if (query_step(q)) {
		c->spooled = (uint64_t)query_get_i64(q, 0);
		c->bytes = (uint64_t)query_get_i64(q, 1);
	}
	return query_end(&q, w);
}

static enum err
copy_refused(struct store *st, uint64_t id, const struct store_document *d,
    struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO"
	    " external_rejected (task, number, pointer, message, document)"
	    " SELECT task, number, ?3, ?4, substr(document, 1,"
	    " CAST(?5 AS INTEGER)) FROM external_spool"
	    " WHERE task = ?1 AND number = ?2");

	store_bind_id(q, 1, id);
	store_bind_id(q, 2, d->number);
	query_str(q, 3, store_text(d->pointer));
	query_str(q, 4, d->message);
	query_i64(q, 5, STORE_REJECTED_CHARACTERS_MAX);
	return store_run(q, NULL, w);
}

/* Move one out of the spool, if it is still there. */
static enum err
move_refused(struct store *st, uint64_t id, const struct store_document *d,
    uint64_t rejected, struct counts *c, struct why *w)
{
	bool moved;
	enum err e = rejected < STORE_REJECTED_MAX ? copy_refused(st, id, d,
	    w) : OK;

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM external_spool"
	    " WHERE task = ?1 AND number = ?2");
	store_bind_id(q, 1, id);
	store_bind_id(q, 2, d->number);
	e = store_run(q, &moved, w);
	c->rejected += e == OK && moved;
	return e;
}

static enum err
delete_range(struct store *st, uint64_t id, const struct store_ack *k,
    struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM external_spool"
	    " WHERE task = ?1 AND number BETWEEN ?2 AND ?3");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(k->first, (uint64_t)INT64_MAX));
	store_bind_id(q, 3, k->last);
	return store_run(q, NULL, w);
}

static enum err
add_acknowledged(struct store *st, uint64_t id, const struct store_ack *k,
    const struct counts *c, struct wall now, struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE external_task SET"
	    " uploaded = uploaded + ?2, spooled = spooled - ?3,"
	    " spool_bytes = spool_bytes - ?4, rejected = rejected + ?5,"
	    " delivery = ?6, updated = ?7 WHERE number = ?1");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)(c->spooled - c->rejected));
	query_i64(q, 3, (int64_t)c->spooled);
	query_i64(q, 4, (int64_t)c->bytes);
	query_i64(q, 5, (int64_t)c->rejected);
	query_str(q, 6, store_text(k->delivery));
	query_i64(q, 7, now.us);
	return store_run(q, NULL, w);
}

static enum err
acknowledge(struct store *st, uint64_t id, const struct store_ack *k,
    struct wall now, struct why *w)
{
	struct counts c = { .spooled = 0 };
	struct store_task_head h;

	enum err e = store_task_head(st, id, true, &h, w);
	if (e == OK)
		e = count_range(st, id, k, &c, w);
	for (size_t i = 0; i < k->refused_n && e == OK; i++)
		e = move_refused(st, id, &k->refused[i], h.rejected +
		    c.rejected, &c, w);
	if (e == OK)
		e = delete_range(st, id, k, w);
	return e == OK ? add_acknowledged(st, id, k, &c, now, w) : e;
}

enum err
store_spool_ack(struct store *st, uint64_t id, const struct store_ack *k,
    struct wall now, struct why *w)
{
	bool mine;

	enum err e = check_ack(k, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	return e == OK ? store_leave(st, mine, acknowledge(st, id, k, now, w),
	    w) : e;
}

enum err
store_spool_drop(struct store *st, uint64_t id, struct wall now,
    struct why *w)
{
	struct store_task_head h;
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	e = store_task_head(st, id, false, &h, w);
	if (e != OK)
		return store_leave(st, mine, e, w);
	struct query *q = database_query(st->db, "DELETE FROM external_spool"
	    " WHERE task = ?1");
	store_bind_id(q, 1, id);
	e = store_run(q, NULL, w);
	if (e != OK)
		return store_leave(st, mine, e, w);
	q = database_query(st->db, "UPDATE external_task SET"
	    " dropped = dropped + spooled, spooled = 0, spool_bytes = 0,"
	    " updated = ?2 WHERE number = ?1");
	store_bind_id(q, 1, id);
	query_i64(q, 2, now.us);
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

/* -- Rejected documents -- */

enum err
store_rejected_list(struct store *st, uint64_t id, uint64_t after, size_t most,
    struct arena *a, struct store_document **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT number, document,"
	    " pointer, message FROM external_rejected WHERE task = ?1"
	    " AND number > ?2 ORDER BY number LIMIT ?3");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(after, (uint64_t)INT64_MAX));
	query_i64(q, 3, (int64_t)(most == 0 ? STORE_REJECTED_MAX : MIN(most,
	    STORE_REJECTED_MAX)));
	while (query_step(q)) {
		struct store_document *d = store_rows_add(&r);
		*d = (struct store_document){
			.number = (uint64_t)query_get_i64(q, 0),
			.json = arena_copy(a, query_get_str(q, 1)),
			.pointer = arena_copy(a, query_get_str(q, 2)),
			.message = arena_copy(a, query_get_str(q, 3)),
		};
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

/* -- Log -- */

static enum err
check_lines(const struct store_log_line *lines, size_t n, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++) {
		e = store_check_text("level", lines[i].level,
		    STORE_LOG_LEVEL_BYTES_MAX, w);
		if (e == OK)
			e = store_check_lines("text", lines[i].text,
			    STORE_LOG_TEXT_BYTES_MAX, w);
		if (e == OK && lines[i].code > 999)
			e = why_field(w, ERR_INPUT, "code", "it is above 999");
	}
	return e;
}

static void
insert_line(struct store *st, uint64_t id, uint64_t number,
    const struct store_log_line *line)
{
	struct query *q = database_query(st->db, "INSERT INTO external_log"
	    " (task, number, time, level, code, text)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6)");

	store_bind_id(q, 1, id);
	store_bind_id(q, 2, number);
	query_i64(q, 3, line->time.us);
	query_str(q, 4, line->level);
	store_bind_id(q, 5, line->code);
	query_str(q, 6, store_text(line->text));
	query_post(&q);
}

static enum err
append_lines(struct store *st, uint64_t id, const struct store_log_line *lines,
    size_t n, struct why *w)
{
	struct store_task_head h;
	enum err e = store_task_head(st, id, false, &h, w);

	if (e != OK)
		return e;
	uint64_t last = h.log_lines + n;
	/* Lines that would go at once are not written. */
	size_t i = n > STORE_LOG_LINES_MAX ? n - STORE_LOG_LINES_MAX : 0;
	for (; i < n; i++)
		insert_line(st, id, h.log_lines + 1 + i, &lines[i]);
	struct query *q = database_query(st->db, "DELETE FROM external_log"
	    " WHERE task = ?1 AND number <= ?2");
	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)last - STORE_LOG_LINES_MAX);
	e = store_run(q, NULL, w);
	if (e != OK)
		return e;
	q = database_query(st->db, "UPDATE external_task SET log_lines = ?2"
	    " WHERE number = ?1");
	store_bind_id(q, 1, id);
	store_bind_id(q, 2, last);
	return store_run(q, NULL, w);
}

enum err
store_log_add(struct store *st, uint64_t id, const struct store_log_line *lines,
    size_t n, struct why *w)
{
	bool mine;

	enum err e = check_lines(lines, n, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	return e == OK ? store_leave(st, mine, append_lines(st, id, lines, n,
	    w), w) : e;
}

enum err
store_log_list(struct store *st, uint64_t id, uint64_t after, struct arena *a,
    struct store_log_line **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT number, time, level,"
	    " code, text FROM external_log WHERE task = ?1 AND number > ?2"
	    " ORDER BY number");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(after, (uint64_t)INT64_MAX));
	while (query_step(q)) {
		struct store_log_line *line = store_rows_add(&r);
		*line = (struct store_log_line){
			.number = (uint64_t)query_get_i64(q, 0),
			.time = { query_get_i64(q, 1) },
			.level = arena_copy(a, query_get_str(q, 2)),
			.code = (uint64_t)query_get_i64(q, 3),
			.text = arena_copy(a, query_get_str(q, 4)),
		};
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}
