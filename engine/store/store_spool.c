/* Documents of the external door's tasks: spooled and rejected ones; logs. */
#include "engine/store/spool_block.h"
#include "engine/store/store_external.h"
#include "engine/store/store_own.h"

/* A row of the spool ends with the document that makes it so long: what is read
 * and written again when a batch of uploads ends within it. */
#define BLOCK_BYTES ((size_t)64 << 10)

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

/* A row of the spool, from its first document to its last one. */
struct block {
	uint64_t first, last;
	uint64_t spooled, bytes;     /* documents, and their JSON's */
	struct buf text;             /* as spool_block.h */
};

static void
add_document(struct block *b, uint64_t number, struct str json)
{
	if (b->spooled == 0)
		b->first = b->last = number;
	while (b->last + 1 < number) {
		spool_block_put(&b->text, STR_NONE);
		b->last++;
	}
	spool_block_put(&b->text, json);
	b->last = number;
	b->spooled++;
	b->bytes += json.n;
}

/* Within a transaction, whose end returns an error. */
static void
insert_block(struct store *st, uint64_t id, struct block *b)
{
	if (b->spooled > 0) {
		struct query *q = database_query(st->db, "INSERT INTO"
		    " external_spool (task, number, last, spooled, bytes,"
		    " documents) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
		store_bind_id(q, 1, id);
		store_bind_id(q, 2, b->first);
		store_bind_id(q, 3, b->last);
		query_i64(q, 4, (int64_t)b->spooled);
		query_i64(q, 5, (int64_t)b->bytes);
		query_str(q, 6, buf_str(&b->text));
		query_post(&q);
	}
	buf_clear(&b->text);
	*b = (struct block){ .text = b->text };
}

static void
insert_documents(struct store *st, uint64_t id, const struct store_emit *m,
    uint64_t rejected, struct counts *c)
{
	struct block b = { .text = BUF_INIT };

	for (size_t i = 0; i < m->n; i++) {
		const struct store_document *d = &m->documents[i];
		if (is_rejected(d)) {
			c->rejected++;
			if (rejected++ < STORE_REJECTED_MAX)
				insert_rejected(st, id, m->first + i, d);
			continue;
		}
		add_document(&b, m->first + i, d->json);
		c->spooled++;
		c->bytes += d->json.n;
		if (b.text.n >= BLOCK_BYTES)
			insert_block(st, id, &b);
	}
	insert_block(st, id, &b);
	buf_free(&b.text);
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
	insert_documents(st, id, m, h.rejected, &c);
	return add_emitted(st, id, m, &c, now, w);
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

static enum err
refuse_damaged(uint64_t id, uint64_t number, struct why *w)
{
	return why(w, ERR_CORRUPT, "the spool of task %llu is damaged at "
	    "document %llu", (unsigned long long)id,
	    (unsigned long long)number);
}

/* The first and the last row that the documents from `from` on are in, as far
 * as they fit; 0: there are none. */
static enum err
find_blocks(struct store *st, uint64_t id, uint64_t from, size_t most,
    size_t bytes_max, uint64_t *first, uint64_t *last, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT number, spooled, bytes"
	    " FROM external_spool WHERE task = ?1 AND last >= ?2"
	    " ORDER BY number LIMIT ?3");
	size_t n = 0, bytes = 0;

	*first = *last = 0;
	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(from, (uint64_t)INT64_MAX));
	query_i64(q, 3, (int64_t)most);
	while (n < most && bytes < bytes_max && query_step(q)) {
		*last = (uint64_t)query_get_i64(q, 0);
		if (*first == 0)
			*first = *last;
		/* It may begin before `from`. */
		if (*last >= from) {
			n += (size_t)query_get_i64(q, 1);
			bytes += (size_t)query_get_i64(q, 2);
		}
	}
	return query_end(&q, w);
}

struct reading {
	struct store_rows rows;
	uint64_t from;
	size_t most, bytes_max, bytes;
	bool full;
	struct arena *arena;
};

static void
add_read(struct reading *r, uint64_t number, struct str json)
{
	if (json.n == 0 || number < r->from)
		return;
	r->bytes += json.n;
	r->full = r->rows.n == r->most || (r->rows.n > 0 &&
	    r->bytes > r->bytes_max);
	if (r->full)
		return;
	struct store_document *d = store_rows_add(&r->rows);
	*d = (struct store_document){ .number = number,
		.json = arena_copy(r->arena, json) };
}

static enum err
read_blocks(struct store *st, uint64_t id, uint64_t first, uint64_t last,
    struct reading *r, struct store_document **list, struct why *w)
{
	enum err e = OK;
	struct query *q = database_query(st->db, "SELECT number, documents"
	    " FROM external_spool WHERE task = ?1 AND number BETWEEN ?2 AND"
	    " ?3 ORDER BY number");

	store_bind_id(q, 1, id);
	store_bind_id(q, 2, first);
	store_bind_id(q, 3, last);
	while (e == OK && !r->full && query_step(q)) {
		uint64_t number = (uint64_t)query_get_i64(q, 0);
		struct str left = query_get_str(q, 1), json;
		while (!r->full && spool_block_take(&left, &json))
			add_read(r, number++, json);
		if (!r->full && left.n > 0)
			e = refuse_damaged(id, number, w);
	}
	e = store_rows_end(&r->rows, &q, e, r->arena, w);
	*list = r->rows.rows;
	return e;
}

enum err
store_spool_read(struct store *st, uint64_t id, uint64_t from, size_t most,
    size_t bytes_max, struct arena *a, struct store_document **list, size_t *n,
    struct why *w)
{
	struct reading r = { .rows.bytes_each = sizeof(**list), .from = from,
		.most = MIN(most, STORE_EMIT_DOCUMENTS_MAX),
		.bytes_max = MAX(bytes_max, 1), .arena = a };
	uint64_t first, last;

	*n = 0;
	enum err e = find_blocks(st, id, from, r.most, r.bytes_max, &first,
	    &last, w);
	if (e != OK || last == 0)
		return e;
	e = read_blocks(st, id, first, last, &r, list, w);
	*n = r.rows.n;
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

static const struct store_document *
find_refused(const struct store_ack *k, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < k->refused_n; i++)
		if (k->refused[i].number >= first &&
		    k->refused[i].number <= last)
			return &k->refused[i];
	return NULL;
}

/* The rows that the range touches, without their texts. */
static enum err
list_blocks(struct store *st, uint64_t id, const struct store_ack *k,
    struct arena *a, struct block **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT number, last, spooled,"
	    " bytes FROM external_spool WHERE task = ?1 AND number <= ?3"
	    " AND last >= ?2 ORDER BY number");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(k->first, (uint64_t)INT64_MAX));
	store_bind_id(q, 3, k->last);
	while (query_step(q)) {
		struct block *b = store_rows_add(&r);
		*b = (struct block){
			.first = (uint64_t)query_get_i64(q, 0),
			.last = (uint64_t)query_get_i64(q, 1),
			.spooled = (uint64_t)query_get_i64(q, 2),
			.bytes = (uint64_t)query_get_i64(q, 3),
		};
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

/* Documents out of a row's text: those of the range are counted, and rejected
 * if they were refused; `rest` gets the others. */
static enum err
split_block(struct store *st, uint64_t id, const struct store_ack *k,
    struct str text, uint64_t number, uint64_t rejected, struct counts *c,
    struct block *rest, struct why *w)
{
	struct str json;

	for (; spool_block_take(&text, &json); number++) {
		if (json.n == 0)
			continue;
		if (number < k->first || number > k->last) {
			add_document(rest, number, json);
			continue;
		}
		c->spooled++;
		c->bytes += json.n;
		const struct store_document *d = find_refused(k, number,
		    number);
		if (d == NULL)
			continue;
		struct store_document refused = *d;
		refused.json = json;
		if (rejected + c->rejected++ < STORE_REJECTED_MAX)
			insert_rejected(st, id, number, &refused);
	}
	return text.n == 0 ? OK : refuse_damaged(id, number, w);
}

/* A row that the range has a part of, or with refused documents. */
static enum err
change_block(struct store *st, uint64_t id, const struct store_ack *k,
    const struct block *b, uint64_t rejected, struct counts *c, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct block rest = { .text = BUF_INIT };
	struct query *q = database_query(st->db, "SELECT documents FROM"
	    " external_spool WHERE task = ?1 AND number = ?2");

	store_bind_id(q, 1, id);
	store_bind_id(q, 2, b->first);
	if (query_step(q))
		buf_put_str(&text, query_get_str(q, 0));
	enum err e = query_end(&q, w);
	if (e == OK)
		e = split_block(st, id, k, buf_str(&text), b->first, rejected,
		    c, &rest, w);
	if (e == OK) {
		q = database_query(st->db, "DELETE FROM external_spool"
		    " WHERE task = ?1 AND number = ?2");
		store_bind_id(q, 1, id);
		store_bind_id(q, 2, b->first);
		query_post(&q);
		insert_block(st, id, &rest);
	}
	buf_free(&rest.text);
	return e;
}

/* The rows that the range has all of. */
static enum err
delete_blocks(struct store *st, uint64_t id, const struct store_ack *k,
    struct why *w)
{
	/* `number` is bounded twice, else each row up to the end is read. */
	struct query *q = database_query(st->db, "DELETE FROM external_spool"
	    " WHERE task = ?1 AND number BETWEEN ?2 AND ?3 AND last <= ?3");

	store_bind_id(q, 1, id);
	query_i64(q, 2, (int64_t)MIN(k->first, (uint64_t)INT64_MAX));
	store_bind_id(q, 3, k->last);
	return store_run(q, NULL, w);
}

static enum err
delete_range(struct store *st, uint64_t id, const struct store_ack *k,
    uint64_t rejected, struct counts *c, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct block *list;
	size_t n;

	enum err e = list_blocks(st, id, k, &a, &list, &n, w);
	for (size_t i = 0; i < n && e == OK; i++) {
		const struct block *b = &list[i];
		if (b->first < k->first || b->last > k->last ||
		    find_refused(k, b->first, b->last) != NULL) {
			e = change_block(st, id, k, b, rejected, c, w);
		} else {
			c->spooled += b->spooled;
			c->bytes += b->bytes;
		}
	}
	return e == OK ? delete_blocks(st, id, k, w) : e;
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
		e = delete_range(st, id, k, h.rejected, &c, w);
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
