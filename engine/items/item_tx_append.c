/*
 * What a transaction only writes: failures, runs, events, and the counts of
 * task_state.
 *
 * Records of items are appended to one list and written in its order, so that
 * an item that is merged or deleted takes those of the same transaction with
 * it.  Failures and runs between two such steps are independent of one another:
 * each kind is one bulk statement.
 */
#include <zstd.h>

#include "engine/items/item_tx_own.h"

/* A text below this is stored as it is: zstd would gain little. */
#define PACK_BYTES_MIN 512u
#define PACK_LEVEL 1
#define UNPACKED_BYTES_MAX (64u << 20)
#define DAY_US (INT64_C(86400) * US_PER_S)

/* -- Appending -- */

static struct append *
append_record(struct item_tx *tx, enum append_kind kind, uint32_t task,
    int64_t item)
{
	tx->appended = arena_grow(&tx->scratch, tx->appended, tx->appended_n,
	    &tx->appended_cap, 64, sizeof(*tx->appended));
	struct append *r = &tx->appended[tx->appended_n++];
	*r = (struct append){ .kind = kind, .task = task, .item = item };
	return r;
}

void
item_tx_put_failure(struct item_tx *tx, uint32_t task, int64_t item,
    struct str message, struct str error_data)
{
	struct append *r = append_record(tx, APPEND_FAILURE, task, item);

	r->message = arena_copy(&tx->scratch, message);
	/* PostgreSQL takes no NUL in a text. */
	for (size_t i = 0; i < r->message.n; i++)
		if (r->message.p[i] == '\0')
			((char *)r->message.p)[i] = ' ';
	r->text = arena_copy(&tx->scratch, error_data);
}

void
item_tx_handle_failures(struct item_tx *tx, uint32_t task, int64_t item,
    struct str by, struct str note)
{
	struct append *r = append_record(tx, APPEND_HANDLE, task, item);

	r->message = by.p == NULL ? by : arena_copy(&tx->scratch, by);
	r->text = note.p == NULL ? note : arena_copy(&tx->scratch, note);
}

void
item_tx_move_records(struct item_tx *tx, int64_t from, int64_t to)
{
	append_record(tx, APPEND_MOVE, 0, from)->to = to;
}

void
item_tx_drop_records(struct item_tx *tx, int64_t item)
{
	append_record(tx, APPEND_DROP, 0, item);
}

/* -- Packing of runs -- */

static struct str
pack_text(struct item_tx *tx, struct str text)
{
	if (text.n < PACK_BYTES_MIN)
		return arena_copy(&tx->scratch, text);
	if (tx->store->packer == NULL)
		tx->store->packer = ZSTD_createCCtx();
	CHECK(tx->store->packer != NULL);
	size_t cap = ZSTD_compressBound(text.n);
	FREED(buf_free) struct buf b = BUF_INIT;
	size_t n = ZSTD_compressCCtx(tx->store->packer, buf_grow(&b, cap), cap,
	    text.p, text.n, PACK_LEVEL);
	CHECK(!ZSTD_isError(n));
	b.n = n;
	return arena_copy(&tx->scratch, buf_str(&b));
}

enum err
item_run_unpack(struct str packed, struct buf *out, struct why *w)
{
	if (packed.n > 0 && packed.p[0] == '{') {
		buf_put_str(out, packed);
		return OK;
	}
	unsigned long long n = ZSTD_getFrameContentSize(packed.p, packed.n);
	if (n > UNPACKED_BYTES_MAX)      /* errors are the greatest numbers */
		return why(w, ERR_CORRUPT, "a run's record is no zstd frame");
	size_t before = out->n;
	char *p = buf_grow(out, (size_t)n);
	if (ZSTD_decompress(p, (size_t)n, packed.p, packed.n) == n)
		return OK;
	out->n = before;
	return why(w, ERR_CORRUPT, "a run's record does not unpack");
}

void
item_tx_put_run(struct item_tx *tx, const struct item_run *run, bool keep)
{
	struct append *r = append_record(tx, APPEND_RUN, run->task, run->item);
	struct item_run *copy = ARENA_NEW(&tx->scratch, struct item_run);

	*copy = *run;
	copy->task_version = arena_copy(&tx->scratch, run->task_version);
	r->run = copy;
	r->keep = keep;
	r->packed = pack_text(tx, run->record);
	if (r->packed.n > ITEM_RUN_BYTES_MAX && run->short_record.n > 0)
		r->packed = pack_text(tx, run->short_record);
}

void
item_tx_add_usage(struct item_tx *tx, uint32_t task, int64_t runs,
    int64_t wall_us, int64_t cpu_us, int64_t fetches, int64_t bytes)
{
	tx->usage = arena_grow(&tx->scratch, tx->usage, tx->usage_n,
	    &tx->usage_cap, 64, sizeof(*tx->usage));
	tx->usage[tx->usage_n++] = (struct usage){ task, runs, wall_us, cpu_us,
	    fetches, bytes };
}

/* -- Failures -- */

static void
insert_failures(struct item_tx *tx, const struct append *r, size_t n)
{
	static const struct sql insert = {
		"INSERT INTO failures (task, item, message, error_data,"
		" occurred_at) VALUES (?1, ?2, ?3, ?4, ?5)",
		"INSERT INTO failures (task, item, message, error_data,"
		" occurred_at) SELECT task, item, message, error_data,"
		" occurred_at FROM unnest(?1::int8[], ?2::int8[], ?3::text[],"
		" ?4::text[], ?5::int8[]) WITH ORDINALITY AS k (task, item,"
		" message, error_data, occurred_at, n) ORDER BY n" };
	struct query *q = database_bulk(tx->db, &insert);

	for (size_t i = 0; i < n; i++) {
		if (r[i].kind != APPEND_FAILURE)
			continue;
		query_i64(q, 1, r[i].task);
		query_i64(q, 2, r[i].item);
		query_str(q, 3, r[i].message);
		query_str(q, 4, r[i].text);
		query_i64(q, 5, tx->now.us);
		query_row(q);
	}
	query_post(&q);
}

/* PostgreSQL is waited for: what goes is counted. */
static enum err
trim_failures(struct item_tx *tx, const struct append *r, size_t n,
    struct why *w)
{
	static const struct sql trim = {
		"DELETE FROM failures WHERE task = ?1 AND item = ?2"
		" AND id <= (SELECT id FROM failures WHERE task = ?1"
		" AND item = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
		"DELETE FROM failures f USING unnest(?1::int8[], ?2::int8[],"
		" ?3::int8[]) AS k (task, item, most) WHERE f.task = k.task"
		" AND f.item = k.item AND f.id <= (SELECT id FROM failures g"
		" WHERE g.task = k.task AND g.item = k.item"
		" ORDER BY id DESC LIMIT 1 OFFSET k.most)" };
	struct query *q = database_bulk(tx->db, &trim);

	for (size_t i = 0; i < n; i++) {
		if (r[i].kind != APPEND_FAILURE)
			continue;
		query_i64(q, 1, r[i].task);
		query_i64(q, 2, r[i].item);
		query_i64(q, 3, tx->store->limits.pair_failures_max);
		query_row(q);
	}
	query_step(q);
	tx->failures_trimmed += query_changes(q);
	return query_end(&q, w);
}

static void
write_handled(struct item_tx *tx, const struct append *r, size_t n)
{
	static const struct sql update = {
		"UPDATE failures SET handled_at = ?3, handled_by = ?4,"
		" note = ?5 WHERE task = ?1 AND item = ?2"
		" AND handled_at IS NULL",
		"UPDATE failures f SET handled_at = k.at, handled_by = k.by,"
		" note = k.note FROM unnest(?1::int8[], ?2::int8[],"
		" ?3::int8[], ?4::text[], ?5::text[])"
		" AS k (task, item, at, by, note) WHERE f.task = k.task"
		" AND f.item = k.item AND f.handled_at IS NULL" };
	struct query *q = database_bulk(tx->db, &update);

	for (size_t i = 0; i < n; i++) {
		query_i64(q, 1, r[i].task);
		query_i64(q, 2, r[i].item);
		query_i64(q, 3, tx->now.us);
		query_str(q, 4, r[i].message);
		query_str(q, 5, r[i].text);
		query_row(q);
	}
	query_post(&q);
}

/* -- Runs -- */

#define RUN_COLUMNS "task, item, started_at, outcome, attempt, task_version," \
	" wall_us, cpu_us, memory_bytes, fetches, bytes, record"

static void
bind_run(struct query *q, const struct append *r, int64_t id)
{
	const struct item_run *run = r->run;

	query_i64(q, 1, id);
	query_i64(q, 2, run->task);
	query_i64(q, 3, run->item);
	query_i64(q, 4, run->started_at.us);
	query_i64(q, 5, run->success);
	query_i64(q, 6, run->attempt);
	query_str(q, 7, run->task_version);
	query_i64(q, 8, run->wall_us);
	query_i64(q, 9, run->cpu_us);
	query_i64(q, 10, run->memory_bytes);
	query_i64(q, 11, run->fetches);
	query_i64(q, 12, run->bytes);
	query_bytes(q, 13, r->packed);
	query_row(q);
}

static void
insert_runs(struct item_tx *tx, const struct append *r, size_t n, int64_t id)
{
	static const struct sql insert = {
		"INSERT INTO runs (id, " RUN_COLUMNS ") SELECT p1, p2, p3,"
		" p4, p5, p6, p7, p8, p9, p10, p11, p12, p13 FROM bulk",
		"INSERT INTO runs (" RUN_COLUMNS ") SELECT " RUN_COLUMNS
		" FROM unnest(?1::int8[], ?2::int8[], ?3::int8[], ?4::int8[],"
		" ?5::int8[], ?6::int8[], ?7::text[], ?8::int8[], ?9::int8[],"
		" ?10::int8[], ?11::int8[], ?12::int8[], ?13::bytea[])"
		" AS k (id, " RUN_COLUMNS ") ORDER BY k.id" };
	struct query *q = database_bulk(tx->db, &insert);

	for (size_t i = 0; i < n; i++)
		if (r[i].kind == APPEND_RUN)
			bind_run(q, &r[i], id++);
	query_post(&q);
}

/* Runs of the pair of `at` that come after it. */
static int64_t
later_runs(const struct append *r, size_t n, size_t at)
{
	int64_t later = 0;

	for (size_t i = at + 1; i < n; i++)
		later += r[i].kind == APPEND_RUN && r[i].task == r[at].task &&
		    r[i].item == r[at].item;
	return later;
}

/*
 * The pair's earlier runs go, but for failed ones where these are kept.  SQLite
 * knows this run by its number, PostgreSQL by how many come after it.
 */
static void
drop_earlier_runs(struct item_tx *tx, const struct append *r, size_t n,
    int64_t id)
{
	static const struct sql delete = {
		"DELETE FROM runs WHERE id IN (SELECT r.id FROM bulk k"
		" CROSS JOIN runs r ON r.task = k.p1 AND r.item = k.p2"
		" AND r.id < k.p3 AND (r.outcome = 1 OR r.started_at < k.p4))",
		"DELETE FROM runs r USING unnest(?1::int8[], ?2::int8[],"
		" ?3::int8[], ?4::int8[]) AS k (task, item, later, before)"
		" WHERE r.task = k.task AND r.item = k.item"
		" AND r.id < (SELECT s.id FROM runs s WHERE s.task = k.task"
		" AND s.item = k.item ORDER BY s.id DESC LIMIT 1"
		" OFFSET k.later)"
		" AND (r.outcome = 1 OR r.started_at < k.before)" };
	bool counts = database_is_postgresql(tx->db);
	int64_t kept_us = tx->store->limits.failure_days * DAY_US;
	struct query *q = database_bulk(tx->db, &delete);

	for (size_t i = 0; i < n; i++) {
		if (r[i].kind != APPEND_RUN)
			continue;
		query_i64(q, 1, r[i].task);
		query_i64(q, 2, r[i].item);
		query_i64(q, 3, counts ? later_runs(r, n, i) : id++);
		query_i64(q, 4, r[i].keep ? tx->now.us - kept_us : INT64_MAX);
		query_row(q);
	}
	query_post(&q);
}

static enum err
write_runs(struct item_tx *tx, const struct append *r, size_t n,
    struct why *w)
{
	int64_t first = 1;
	size_t runs = 0;
	enum err e = OK;

	for (size_t i = 0; i < n; i++)
		runs += r[i].kind == APPEND_RUN;
	if (runs == 0)
		return OK;
	if (!database_is_postgresql(tx->db))
		e = item_store_take(tx->store, STR("runs"), runs, &first, w);
	if (e != OK)
		return e;
	insert_runs(tx, r, n, first);
	drop_earlier_runs(tx, r, n, first);
	return OK;
}

/* -- Records of an item that is merged or deleted -- */

static void
move_records(struct item_tx *tx, const struct append *r, size_t n)
{
	static const struct sql updates[] = {
		{ "UPDATE failures SET item = ?2 WHERE item = ?1",
		  "UPDATE failures f SET item = k.goal FROM unnest(?1::int8[],"
		  " ?2::int8[]) AS k (item, goal) WHERE f.item = k.item" },
		{ "UPDATE runs SET item = ?2 WHERE item = ?1",
		  "UPDATE runs r SET item = k.goal FROM unnest(?1::int8[],"
		  " ?2::int8[]) AS k (item, goal) WHERE r.item = k.item" },
	};

	for (size_t t = 0; t < ARRAY_LEN(updates); t++) {
		struct query *q = database_bulk(tx->db, &updates[t]);
		for (size_t i = 0; i < n; i++) {
			query_i64(q, 1, r[i].item);
			query_i64(q, 2, r[i].to);
			query_row(q);
		}
		query_post(&q);
	}
}

static void
drop_records(struct item_tx *tx, const struct append *r, size_t n)
{
	static const struct sql deletes[] = {
		{ "DELETE FROM failures WHERE item = ?1",
		  "DELETE FROM failures WHERE item = ANY (?1::int8[])" },
		{ "DELETE FROM runs WHERE item = ?1",
		  "DELETE FROM runs WHERE item = ANY (?1::int8[])" },
	};

	for (size_t t = 0; t < ARRAY_LEN(deletes); t++) {
		struct query *q = database_bulk(tx->db, &deletes[t]);
		for (size_t i = 0; i < n; i++) {
			query_i64(q, 1, r[i].item);
			query_row(q);
		}
		query_post(&q);
	}
}

/* -- Writing the list -- */

/* Failures and runs go together; each other kind is a step of its own, and so
 * is each move, since items may be merged in a row. */
static size_t
step_length(const struct append *r, size_t n)
{
	size_t i = 1;

	if (r->kind == APPEND_MOVE)
		return 1;
	if (r->kind == APPEND_FAILURE || r->kind == APPEND_RUN)
		while (i < n && (r[i].kind == APPEND_FAILURE ||
		    r[i].kind == APPEND_RUN))
			i++;
	else
		while (i < n && r[i].kind == r->kind)
			i++;
	return i;
}

enum err
tx_flush_appended(struct item_tx *tx, struct why *w)
{
	enum err e = OK;

	while (tx->appended_done < tx->appended_n && e == OK) {
		const struct append *r = &tx->appended[tx->appended_done];
		size_t n = step_length(r, tx->appended_n - tx->appended_done);
		switch (r->kind) {
		case APPEND_FAILURE:
		case APPEND_RUN:
			insert_failures(tx, r, n);
			e = trim_failures(tx, r, n, w);
			if (e == OK)
				e = write_runs(tx, r, n, w);
			break;
		case APPEND_HANDLE:
			write_handled(tx, r, n);
			break;
		case APPEND_MOVE:
			move_records(tx, r, n);
			break;
		case APPEND_DROP:
			drop_records(tx, r, n);
			break;
		}
		tx->appended_done += n;
	}
	return e;
}

/* -- Counts -- */

struct count {
	struct usage used;
	int64_t pairs[PAIR_STATE_COUNT];
};

static struct count *
count_of(struct item_tx *tx, struct map *m, uint32_t task)
{
	struct count *c = map_get_id(m, task);

	if (c != NULL)
		return c;
	c = ARENA_NEW(&tx->scratch, struct count);
	c->used.task = task;
	map_put_id(m, task, c);
	return c;
}

static void
count_pairs(struct item_tx *tx, struct map *m)
{
	for (size_t i = 0; i < tx->touched.n; i++) {
		if (tx->touched.list[i]->kind != SLOT_PAIR)
			continue;
		struct pair_slot *s = CONTAINER(tx->touched.list[i],
		    struct pair_slot, head);
		int now = s->row.exists ? (int)s->row.state : -1;
		if (now == s->counted)
			continue;
		struct count *c = count_of(tx, m, s->row.task);
		if (s->counted >= 0)
			c->pairs[s->counted]--;
		if (now >= 0)
			c->pairs[now]++;
		s->counted = now;
	}
}

static void
count_usage(struct item_tx *tx, struct map *m)
{
	for (size_t i = 0; i < tx->usage_n; i++) {
		const struct usage *u = &tx->usage[i];
		struct count *c = count_of(tx, m, u->task);
		c->used.runs += u->runs;
		c->used.wall_us += u->wall_us;
		c->used.cpu_us += u->cpu_us;
		c->used.fetches += u->fetches;
		c->used.bytes += u->bytes;
	}
}

#define COUNT_COLUMNS "task, paused, tripped, unprocessed, stale, fresh," \
	" retry, leased, blocked, failed, runs, wall_us, cpu_us, fetches, bytes"
#define COUNT_ADD(column) \
	" " column " = task_state." column " + excluded." column
#define COUNT_UPDATE " ON CONFLICT (task) DO UPDATE SET" \
	COUNT_ADD("unprocessed") "," COUNT_ADD("stale") "," \
	COUNT_ADD("fresh") "," COUNT_ADD("retry") "," COUNT_ADD("leased") "," \
	COUNT_ADD("blocked") "," COUNT_ADD("failed") "," COUNT_ADD("runs") "," \
	COUNT_ADD("wall_us") "," COUNT_ADD("cpu_us") "," \
	COUNT_ADD("fetches") "," COUNT_ADD("bytes")

static void
bind_count(struct query *q, const struct count *c)
{
	query_i64(q, 1, c->used.task);
	for (int i = 0; i < PAIR_STATE_COUNT; i++)
		query_i64(q, 2 + i, c->pairs[i]);
	query_i64(q, 9, c->used.runs);
	query_i64(q, 10, c->used.wall_us);
	query_i64(q, 11, c->used.cpu_us);
	query_i64(q, 12, c->used.fetches);
	query_i64(q, 13, c->used.bytes);
	query_row(q);
}

static void
write_counts(struct item_tx *tx, const struct map *m)
{
	static const struct sql put = {
		"INSERT INTO task_state (" COUNT_COLUMNS ") VALUES (?1, 0, 0,"
		" ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
		COUNT_UPDATE,
		"INSERT INTO task_state (" COUNT_COLUMNS ")"
		" SELECT task, 0, 0, a, b, c, d, e, f, g, h, i, j, k, l FROM"
		" unnest(?1::int8[], ?2::int8[], ?3::int8[], ?4::int8[],"
		" ?5::int8[], ?6::int8[], ?7::int8[], ?8::int8[], ?9::int8[],"
		" ?10::int8[], ?11::int8[], ?12::int8[], ?13::int8[])"
		" AS n (task, a, b, c, d, e, f, g, h, i, j, k, l)"
		" ORDER BY task" COUNT_UPDATE };
	struct query *q = database_bulk(tx->db, &put);

	MAP_EACH(c, m, struct count)
		bind_count(q, c);
	query_post(&q);
}

static void
count_uses(struct query *q, const uint8_t sha256[static 32], int64_t n,
    struct wall now)
{
	query_bytes(q, 1, (struct str){ (const char *)sha256, 32 });
	query_i64(q, 2, n);
	query_i64(q, 3, now.us);
	query_row(q);
}

/* Rows of item_blobs by content; one that loses its last begins its day. */
static void
write_uses(struct item_tx *tx)
{
	static const struct sql update = {
		"UPDATE blobs SET uses = uses + ?2, put_at = ?3"
		" WHERE sha256 = ?1",
		"UPDATE blobs b SET uses = b.uses + k.n, put_at = k.at FROM"
		" (SELECT sha256, sum(n) AS n, max(at) AS at FROM"
		" unnest(?1::bytea[], ?2::int8[], ?3::int8[])"
		" AS u (sha256, n, at) GROUP BY sha256) AS k"
		" WHERE b.sha256 = k.sha256" };
	struct query *q = database_bulk(tx->db, &update);

	for (size_t i = 0; i < tx->touched.n; i++) {
		if (tx->touched.list[i]->kind != SLOT_BLOB)
			continue;
		struct blob_slot *s = CONTAINER(tx->touched.list[i],
		    struct blob_slot, head);
		if (s->counted)
			count_uses(q, s->stored_sha256, -1, tx->now);
		if (s->row.exists)
			count_uses(q, s->row.sha256, 1, tx->now);
	}
	query_post(&q);
}

enum err
tx_flush_counts(struct item_tx *tx, struct why *w)
{
	FREED(map_free) struct map m = MAP_INIT;

	(void)w;
	count_pairs(tx, &m);
	count_usage(tx, &m);
	if (m.n > 0)
		write_counts(tx, &m);
	if (tx->maps[SLOT_BLOB].n > 0)
		write_uses(tx);
	return OK;
}

/* -- Events -- */

/* The newest event: its cursor, and the bytes of all up to it. */
static enum err
last_event(struct item_tx *tx, int64_t *cursor, int64_t *total, struct why *w)
{
	/* Cursors follow the order of commits: one writer at a time. */
	if (database_is_postgresql(tx->db)) {
		enum err e = database_do(tx->db,
		    "LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE", w);
		if (e != OK)
			return e;
	}
	struct query *q = database_query(tx->db, "SELECT cursor, total"
	    " FROM events ORDER BY cursor DESC LIMIT 1");
	*cursor = *total = 0;
	if (query_step(q)) {
		*cursor = query_get_i64(q, 0);
		*total = query_get_i64(q, 1);
	}
	return query_end(&q, w);
}

enum err
tx_flush_events(struct item_tx *tx, struct why *w)
{
	static const struct sql insert = {
		"INSERT INTO events (cursor, at, type, task, tags, total,"
		" body) SELECT p1, p2, p3, p4, p5, p6, p7 FROM bulk",
		"INSERT INTO events (cursor, at, type, task, tags, total,"
		" body) SELECT * FROM unnest(?1::int8[], ?2::int8[],"
		" ?3::text[], ?4::text[], ?5::text[], ?6::int8[],"
		" ?7::text[])" };
	static const char *const types[] = { ITEM_EVENTS(TABLE_SECOND) };
	int64_t cursor, total;

	if (tx->events_n == 0)
		return OK;
	enum err e = last_event(tx, &cursor, &total, w);
	if (e != OK)
		return e;
	struct query *q = database_bulk(tx->db, &insert);
	for (size_t i = 0; i < tx->events_n; i++) {
		const struct event *ev = &tx->events[i];
		total += (int64_t)ev->body.n;
		query_i64(q, 1, ++cursor);
		query_i64(q, 2, tx->now.us);
		query_str(q, 3, str_of(types[ev->type]));
		query_str(q, 4, ev->task);
		query_str(q, 5, ev->tags);
		query_i64(q, 6, total);
		query_str(q, 7, ev->body);
		query_row(q);
	}
	query_post(&q);
	tx->store->cursor = (uint64_t)cursor;
	return OK;
}
