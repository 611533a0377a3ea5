/*
 * From rows to the database: one bulk statement per table for new and changed
 * rows, and one for those that are gone.  Their errors come with the end of the
 * transaction, so that PostgreSQL is not waited for.
 */
#include "engine/items/item_tx_own.h"

void
tx_bind_time(struct query *q, int at, struct wall t)
{
	if (t.us == ITEM_TIME_NONE.us)
		query_null(q, at);
	else
		query_i64(q, at, t.us);
}

static void
bind_or_null(struct query *q, int at, int64_t v)
{
	if (v == INT64_MIN)
		query_null(q, at);
	else
		query_i64(q, at, v);
}

/* 0 is no lease. */
static void
bind_lease(struct query *q, int at, uint64_t lease)
{
	if (lease == 0)
		query_null(q, at);
	else
		query_i64(q, at, (int64_t)lease);
}

/*
 * The rows of a table that are to be written in one of three ways.  Most are
 * CHANGED, which costs PostgreSQL less than INSERT ... ON CONFLICT; SQLite puts
 * both alike, since an UPDATE of many rows is slower there.
 */
enum change { GONE, MADE, CHANGED };

static enum change
change_of(const struct slot *s, bool exists)
{
	return !exists ? GONE : s->stored && !s->unsure ? CHANGED : MADE;
}

#define DIRTY_EACH(s, tx, KIND, type, change)                               \
	for (size_t s##_at = 0; s##_at < (tx)->dirty.n; s##_at++)             \
		for (struct type##_slot *s = CONTAINER(                       \
		    (tx)->dirty.list[s##_at], struct type##_slot, head);      \
		    s != NULL; s = NULL)                                      \
			if (s->head.kind == KIND && s->head.loaded &&         \
			    change_of(&s->head, s->row.exists) == change &&   \
			    (change != GONE || s->head.stored))

/* -- Aliases -- */

static void
bind_alias(struct query *q, const struct alias_row *r)
{
	query_str(q, 1, r->id);
	query_i64(q, 2, r->item);
	query_i64(q, 3, r->own);
	query_row(q);
}

/* One that is new is inserted as such: of two daemons that make it, one fails
 * and does it again. */
static void
make_aliases(struct item_tx *tx)
{
	static const struct sql insert = {
		"INSERT INTO aliases (id, item, own)"
		" SELECT p1, p2, p3 FROM bulk",
		"INSERT INTO aliases (id, item, own) SELECT * FROM"
		" unnest(?1::text[], ?2::int8[], ?3::int8[])" };
	struct query *q = database_bulk(tx->db, &insert);

	DIRTY_EACH(s, tx, SLOT_ALIAS, alias, MADE)
		if (!s->head.stored)
			bind_alias(q, &s->row);
	query_post(&q);
}

static void
put_aliases(struct item_tx *tx)
{
	static const struct sql put = {
		"INSERT INTO aliases (id, item, own)"
		" SELECT p1, p2, p3 FROM bulk WHERE true"
		" ON CONFLICT (id) DO UPDATE SET item = excluded.item,"
		" own = excluded.own",
		"INSERT INTO aliases (id, item, own) SELECT * FROM"
		" unnest(?1::text[], ?2::int8[], ?3::int8[])"
		" ON CONFLICT (id) DO UPDATE SET item = excluded.item,"
		" own = excluded.own" };
	struct query *q = database_bulk(tx->db, &put);

	DIRTY_EACH(s, tx, SLOT_ALIAS, alias, MADE)
		if (s->head.stored)
			bind_alias(q, &s->row);
	DIRTY_EACH(c, tx, SLOT_ALIAS, alias, CHANGED)
		bind_alias(q, &c->row);
	query_post(&q);
}

static void
write_aliases(struct item_tx *tx)
{
	static const struct sql delete = {
		"DELETE FROM aliases WHERE id = ?1",
		"DELETE FROM aliases WHERE id = ANY (?1::text[])" };
	struct query *q = database_bulk(tx->db, &delete);

	DIRTY_EACH(s, tx, SLOT_ALIAS, alias, GONE) {
		query_str(q, 1, s->row.id);
		query_row(q);
	}
	query_post(&q);
	make_aliases(tx);
	put_aliases(tx);
}

/* -- Items -- */

static void
bind_item(struct query *q, const struct item_row *r)
{
	query_i64(q, 1, r->key);
	query_str(q, 2, r->id);
	query_str(q, 3, r->data);
	query_str(q, 4, r->created_by);
	query_i64(q, 5, r->created_at.us);
	query_i64(q, 6, r->updated_at.us);
	query_i64(q, 7, (int64_t)r->rev);
	query_i64(q, 8, r->aliases_n);
	query_i64(q, 9, r->blobs_n);
	query_row(q);
}

#define ITEM_COLUMNS "key, id, data, created_by, created_at, updated_at, rev," \
	" aliases_n, blobs_n"
#define ITEM_ARRAYS "unnest(?1::int8[], ?2::text[], ?3::text[]," \
	" ?4::text[], ?5::int8[], ?6::int8[], ?7::int8[], ?8::int8[]," \
	" ?9::int8[])"
#define ITEM_CONFLICT " ON CONFLICT (key) DO UPDATE SET id = excluded.id," \
	" data = excluded.data, created_by = excluded.created_by," \
	" updated_at = excluded.updated_at, rev = excluded.rev," \
	" aliases_n = excluded.aliases_n, blobs_n = excluded.blobs_n"
#define ITEM_PUT "INSERT INTO items (" ITEM_COLUMNS ") SELECT" \
	" p1, p2, p3, p4, p5, p6, p7, p8, p9 FROM bulk WHERE true" ITEM_CONFLICT

static void
write_items(struct item_tx *tx)
{
	static const struct sql put = {
		ITEM_PUT,
		"INSERT INTO items (" ITEM_COLUMNS ") SELECT * FROM "
		ITEM_ARRAYS ITEM_CONFLICT };
	static const struct sql change = {
		ITEM_PUT,
		"UPDATE items i SET id = n.id, data = n.data,"
		" created_by = n.created_by, updated_at = n.updated_at,"
		" rev = n.rev, aliases_n = n.aliases_n, blobs_n = n.blobs_n"
		" FROM " ITEM_ARRAYS " AS n (" ITEM_COLUMNS ")"
		" WHERE i.key = n.key" };
	struct query *q = database_bulk(tx->db, &put);

	DIRTY_EACH(s, tx, SLOT_ITEM, item, MADE)
		bind_item(q, &s->row);
	query_post(&q);
	q = database_bulk(tx->db, &change);
	DIRTY_EACH(c, tx, SLOT_ITEM, item, CHANGED)
		bind_item(q, &c->row);
	query_post(&q);
}

static void
drop_items(struct item_tx *tx)
{
	static const struct sql delete = {
		"DELETE FROM items WHERE key = ?1",
		"DELETE FROM items WHERE key = ANY (?1::int8[])" };
	struct query *q = database_bulk(tx->db, &delete);

	DIRTY_EACH(s, tx, SLOT_ITEM, item, GONE) {
		query_i64(q, 1, s->row.key);
		query_row(q);
	}
	query_post(&q);
}

/* -- Tags -- */

static const struct item_tag *
find_tag(const struct item_tag *tags, size_t n, uint32_t tag)
{
	for (size_t i = 0; i < n; i++)
		if (tags[i].tag == tag)
			return &tags[i];
	return NULL;
}

/* All of them: the item is gone, or what is stored is not known. */
static void
drop_all_tags(struct item_tx *tx)
{
	static const struct sql delete = {
		"DELETE FROM tags WHERE item = ?1",
		"DELETE FROM tags WHERE item = ANY (?1::int8[])" };
	struct query *q = database_bulk(tx->db, &delete);

	for (size_t i = 0; i < tx->dirty.n; i++) {
		struct item_slot *s = CONTAINER(tx->dirty.list[i],
		    struct item_slot, head);
		if (s->head.kind != SLOT_ITEM || !s->head.loaded ||
		    !s->tags_unsure)
			continue;
		query_i64(q, 1, s->row.key);
		query_row(q);
		s->stored_tags = NULL;
		s->stored_tags_n = 0;
		s->tags_unsure = false;
	}
	query_post(&q);
}

static void
drop_tags(struct item_tx *tx)
{
	static const struct sql delete = {
		"DELETE FROM tags WHERE item = ?1 AND tag = ?2",
		"DELETE FROM tags t USING unnest(?1::int8[], ?2::int8[])"
		" AS k (item, tag) WHERE t.item = k.item AND t.tag = k.tag" };
	struct query *q = database_bulk(tx->db, &delete);

	for (size_t i = 0; i < tx->dirty.n; i++) {
		struct item_slot *s = CONTAINER(tx->dirty.list[i],
		    struct item_slot, head);
		if (s->head.kind != SLOT_ITEM || !s->head.loaded)
			continue;
		if (s->row.exists && s->row.tags == s->stored_tags)
			continue;
		for (size_t k = 0; k < s->stored_tags_n; k++) {
			uint32_t tag = s->stored_tags[k].tag;
			if (s->row.exists && find_tag(s->row.tags,
			    s->row.tags_n, tag) != NULL)
				continue;
			query_i64(q, 1, s->row.key);
			query_i64(q, 2, tag);
			query_row(q);
		}
	}
	query_post(&q);
}

static void
put_tags(struct query *q, const struct item_slot *s)
{
	for (size_t k = 0; k < s->row.tags_n; k++) {
		const struct item_tag *t = &s->row.tags[k];
		const struct item_tag *old = find_tag(s->stored_tags,
		    s->stored_tags_n, t->tag);
		if (old != NULL && str_eq(old->value, t->value) &&
		    (old->value.p == NULL) == (t->value.p == NULL))
			continue;
		query_i64(q, 1, s->row.key);
		query_i64(q, 2, t->tag);
		query_str(q, 3, t->value);
		query_row(q);
	}
}

static void
write_tags(struct item_tx *tx)
{
	static const struct sql put = {
		"INSERT INTO tags (item, tag, value)"
		" SELECT p1, p2, p3 FROM bulk WHERE true"
		" ON CONFLICT (item, tag) DO UPDATE SET"
		" value = excluded.value",
		"INSERT INTO tags (item, tag, value) SELECT * FROM"
		" unnest(?1::int8[], ?2::int8[], ?3::text[])"
		" ON CONFLICT (item, tag) DO UPDATE SET"
		" value = excluded.value" };

	drop_all_tags(tx);
	drop_tags(tx);
	struct query *q = database_bulk(tx->db, &put);
	for (size_t i = 0; i < tx->dirty.n; i++) {
		struct item_slot *s = CONTAINER(tx->dirty.list[i],
		    struct item_slot, head);
		if (s->head.kind != SLOT_ITEM || !s->head.loaded)
			continue;
		if (s->row.exists && s->row.tags != s->stored_tags)
			put_tags(q, s);
		s->stored_tags = s->row.exists ? s->row.tags : NULL;
		s->stored_tags_n = s->row.exists ? s->row.tags_n : 0;
	}
	query_post(&q);
}

/* -- Results -- */

static void
drop_keyed(struct item_tx *tx, const struct sql *delete, enum slot_kind kind)
{
	struct query *q = database_bulk(tx->db, delete);

	if (kind == SLOT_RESULT) {
		DIRTY_EACH(s, tx, SLOT_RESULT, result, GONE) {
			query_i64(q, 1, s->row.task);
			query_i64(q, 2, s->row.item);
			query_row(q);
		}
	} else {
		DIRTY_EACH(p, tx, SLOT_PAIR, pair, GONE) {
			query_i64(q, 1, p->row.task);
			query_i64(q, 2, p->row.item);
			query_row(q);
		}
	}
	query_post(&q);
}

static void
bind_result(struct query *q, const struct result_row *r)
{
	query_i64(q, 1, r->task);
	query_i64(q, 2, r->item);
	query_str(q, 3, r->task_version);
	query_str(q, 4, r->metadata);
	query_i64(q, 5, r->is_successful);
	query_i64(q, 6, r->is_invalidated);
	query_i64(q, 7, r->created_at.us);
	tx_bind_time(q, 8, r->completed_at);
	tx_bind_time(q, 9, r->expires_at);
	bind_or_null(q, 10, r->ttl_override_us);
	query_i64(q, 11, (int64_t)r->rev);
	query_row(q);
}

#define RESULT_COLUMNS "task, item, task_version, metadata, is_successful," \
	" is_invalidated, created_at, completed_at, expires_at," \
	" ttl_override, rev"
#define RESULT_ARRAYS "unnest(?1::int8[], ?2::int8[], ?3::text[]," \
	" ?4::text[], ?5::int8[], ?6::int8[], ?7::int8[], ?8::int8[]," \
	" ?9::int8[], ?10::int8[], ?11::int8[])"
/* All columns but the key's, from one source. */
#define RESULT_FROM(n) " task_version = " n ".task_version," \
	" metadata = " n ".metadata, is_successful = " n ".is_successful," \
	" is_invalidated = " n ".is_invalidated," \
	" created_at = " n ".created_at, completed_at = " n ".completed_at," \
	" expires_at = " n ".expires_at, ttl_override = " n ".ttl_override," \
	" rev = " n ".rev"
#define RESULT_CONFLICT " ON CONFLICT (task, item) DO UPDATE SET" \
	RESULT_FROM("excluded")
#define RESULT_PUT "INSERT INTO task_results (" RESULT_COLUMNS ") SELECT" \
	" p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11" \
	" FROM bulk WHERE true" RESULT_CONFLICT

static void
write_results(struct item_tx *tx)
{
	static const struct sql delete = {
		"DELETE FROM task_results WHERE task = ?1 AND item = ?2",
		"DELETE FROM task_results r USING"
		" unnest(?1::int8[], ?2::int8[]) AS k (task, item)"
		" WHERE r.task = k.task AND r.item = k.item" };
	static const struct sql put = {
		RESULT_PUT,
		"INSERT INTO task_results (" RESULT_COLUMNS ") SELECT * FROM "
		RESULT_ARRAYS RESULT_CONFLICT };
	static const struct sql change = {
		RESULT_PUT,
		"UPDATE task_results r SET" RESULT_FROM("n") " FROM "
		RESULT_ARRAYS " AS n (" RESULT_COLUMNS ")"
		" WHERE r.task = n.task AND r.item = n.item" };

	drop_keyed(tx, &delete, SLOT_RESULT);
	struct query *q = database_bulk(tx->db, &put);
	DIRTY_EACH(s, tx, SLOT_RESULT, result, MADE)
		bind_result(q, &s->row);
	query_post(&q);
	q = database_bulk(tx->db, &change);
	DIRTY_EACH(c, tx, SLOT_RESULT, result, CHANGED)
		bind_result(q, &c->row);
	query_post(&q);
}

/* -- Pairs -- */

static void
bind_pair(struct item_tx *tx, struct query *q, const struct pair_row *r)
{
	claim_cursors_wrote(tx->store->claim_cursors, r);
	query_i64(q, 1, r->task);
	query_i64(q, 2, r->item);
	query_i64(q, 3, r->state);
	bind_or_null(q, 4, r->due_ms);
	query_i64(q, 5, r->lane);
	bind_lease(q, 6, r->lease);
	tx_bind_time(q, 7, r->lease_until);
	query_str(q, 8, r->worker);
	query_i64(q, 9, (int64_t)r->generation);
	query_i64(q, 10, r->attempt);
	query_i64(q, 11, r->again);
	bind_lease(q, 12, r->done_lease);
	query_row(q);
}

#define PAIR_COLUMNS "task, item, state, due, lane, lease, lease_until," \
	" worker, generation, attempt, again, done_lease"
#define PAIR_ARRAYS "unnest(?1::int8[], ?2::int8[], ?3::int8[]," \
	" ?4::int8[], ?5::int8[], ?6::int8[], ?7::int8[], ?8::text[]," \
	" ?9::int8[], ?10::int8[], ?11::int8[], ?12::int8[])"
#define PAIR_FROM(n) " state = " n ".state, due = " n ".due," \
	" lane = " n ".lane, lease = " n ".lease," \
	" lease_until = " n ".lease_until, worker = " n ".worker," \
	" generation = " n ".generation, attempt = " n ".attempt," \
	" again = " n ".again, done_lease = " n ".done_lease"
#define PAIR_CONFLICT " ON CONFLICT (task, item) DO UPDATE SET" \
	PAIR_FROM("excluded")
#define PAIR_PUT "INSERT INTO worklist (" PAIR_COLUMNS ") SELECT" \
	" p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12" \
	" FROM bulk WHERE true" PAIR_CONFLICT

static void
write_pairs(struct item_tx *tx)
{
	static const struct sql delete = {
		"DELETE FROM worklist WHERE task = ?1 AND item = ?2",
		"DELETE FROM worklist p USING"
		" unnest(?1::int8[], ?2::int8[]) AS k (task, item)"
		" WHERE p.task = k.task AND p.item = k.item" };
	static const struct sql put = {
		PAIR_PUT,
		"INSERT INTO worklist (" PAIR_COLUMNS ") SELECT * FROM "
		PAIR_ARRAYS PAIR_CONFLICT };
	static const struct sql change = {
		PAIR_PUT,
		"UPDATE worklist p SET" PAIR_FROM("n") " FROM "
		PAIR_ARRAYS " AS n (" PAIR_COLUMNS ")"
		" WHERE p.task = n.task AND p.item = n.item" };

	drop_keyed(tx, &delete, SLOT_PAIR);
	struct query *q = database_bulk(tx->db, &put);
	DIRTY_EACH(s, tx, SLOT_PAIR, pair, MADE)
		bind_pair(tx, q, &s->row);
	query_post(&q);
	q = database_bulk(tx->db, &change);
	DIRTY_EACH(c, tx, SLOT_PAIR, pair, CHANGED)
		bind_pair(tx, q, &c->row);
	query_post(&q);
}

/* -- The others -- */

static void
write_buckets(struct item_tx *tx)
{
	static const struct sql put = {
		"INSERT INTO buckets (name, full_at) VALUES (?1, ?2)"
		" ON CONFLICT (name) DO UPDATE SET full_at = excluded.full_at",
		"INSERT INTO buckets (name, full_at) SELECT * FROM"
		" unnest(?1::text[], ?2::int8[])"
		" ON CONFLICT (name) DO UPDATE SET"
		" full_at = excluded.full_at" };
	struct query *q = database_bulk(tx->db, &put);

	for (size_t i = 0; i < tx->dirty.n; i++) {
		struct bucket_slot *s = CONTAINER(tx->dirty.list[i],
		    struct bucket_slot, head);
		if (s->head.kind != SLOT_BUCKET || !s->head.loaded)
			continue;
		query_str(q, 1, s->row.name);
		query_i64(q, 2, s->row.full_at.us);
		query_row(q);
	}
	query_post(&q);
}

static struct str
sha_bytes(const uint8_t sha256[static 32])
{
	return (struct str){ (const char *)sha256, 32 };
}

static void
bind_blob(struct query *q, const struct blob_row *r)
{
	query_i64(q, 1, r->item);
	query_str(q, 2, r->name);
	query_bytes(q, 3, sha_bytes(r->sha256));
	query_str(q, 4, r->type);
	query_i64(q, 5, r->bytes);
	query_row(q);
}

static void
write_blobs(struct item_tx *tx)
{
	static const struct sql delete = {
		"DELETE FROM item_blobs WHERE item = ?1 AND name = ?2",
		"DELETE FROM item_blobs b USING"
		" unnest(?1::int8[], ?2::text[]) AS k (item, name)"
		" WHERE b.item = k.item AND b.name = k.name" };
	static const struct sql put = {
		"INSERT INTO item_blobs (item, name, sha256, type, bytes)"
		" VALUES (?1, ?2, ?3, ?4, ?5)"
		" ON CONFLICT (item, name) DO UPDATE SET"
		" sha256 = excluded.sha256, type = excluded.type,"
		" bytes = excluded.bytes",
		"INSERT INTO item_blobs (item, name, sha256, type, bytes)"
		" SELECT * FROM unnest(?1::int8[], ?2::text[], ?3::bytea[],"
		" ?4::text[], ?5::int8[])"
		" ON CONFLICT (item, name) DO UPDATE SET"
		" sha256 = excluded.sha256, type = excluded.type,"
		" bytes = excluded.bytes" };
	struct query *q = database_bulk(tx->db, &delete);

	DIRTY_EACH(s, tx, SLOT_BLOB, blob, GONE) {
		query_i64(q, 1, s->row.item);
		query_str(q, 2, s->row.name);
		query_row(q);
	}
	query_post(&q);
	q = database_bulk(tx->db, &put);
	DIRTY_EACH(p, tx, SLOT_BLOB, blob, MADE)
		bind_blob(q, &p->row);
	DIRTY_EACH(c, tx, SLOT_BLOB, blob, CHANGED)
		bind_blob(q, &c->row);
	query_post(&q);
}

static void
write_task_states(struct item_tx *tx)
{
	static const struct sql put = {
		"INSERT INTO task_state (task, paused, tripped, unprocessed,"
		" stale, fresh, retry, leased, blocked, failed, runs, wall_us,"
		" cpu_us, fetches, bytes)"
		" VALUES (?1, ?2, ?3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"
		" ON CONFLICT (task) DO UPDATE SET paused = excluded.paused,"
		" tripped = excluded.tripped",
		"INSERT INTO task_state (task, paused, tripped, unprocessed,"
		" stale, fresh, retry, leased, blocked, failed, runs, wall_us,"
		" cpu_us, fetches, bytes)"
		" SELECT task, paused, tripped, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
		" 0, 0 FROM unnest(?1::int8[], ?2::int8[], ?3::int8[])"
		" AS k (task, paused, tripped)"
		" ON CONFLICT (task) DO UPDATE SET paused = excluded.paused,"
		" tripped = excluded.tripped" };
	struct query *q = database_bulk(tx->db, &put);

	for (size_t i = 0; i < tx->dirty.n; i++) {
		struct task_state_slot *s = CONTAINER(tx->dirty.list[i],
		    struct task_state_slot, head);
		if (s->head.kind != SLOT_TASK_STATE || !s->head.loaded)
			continue;
		query_i64(q, 1, s->row.task);
		query_i64(q, 2, s->row.paused);
		query_i64(q, 3, s->row.tripped);
		query_row(q);
	}
	query_post(&q);
}

/* Tables of which rows are dirty. */
static unsigned
dirty_kinds(const struct item_tx *tx)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < tx->dirty.n; i++)
		kinds |= 1u << tx->dirty.list[i]->kind;
	return kinds;
}

static void
end_dirty(struct item_tx *tx)
{
	for (size_t i = 0; i < tx->dirty.n; i++) {
		struct slot *s = tx->dirty.list[i];
		s->dirty = false;
		if (!s->loaded)
			continue;
		/* Every row begins with `exists`, apart from a bucket's, which
		 * is never gone. */
		s->stored = s->kind == SLOT_BUCKET ||
		    *(const bool *)tx_row(s);
		s->unsure = false;
	}
	tx->dirty.n = 0;
}

enum err
tx_flush_rows(struct item_tx *tx, struct why *w)
{
	static void (*const tables[][2])(struct item_tx *) = {
		[SLOT_ALIAS] = { write_aliases },
		[SLOT_ITEM] = { write_items, write_tags },
		[SLOT_RESULT] = { write_results },
		[SLOT_PAIR] = { write_pairs },
		[SLOT_BUCKET] = { write_buckets },
		[SLOT_BLOB] = { write_blobs },
		[SLOT_TASK_STATE] = { write_task_states },
	};
	unsigned kinds = dirty_kinds(tx);

	(void)w;
	if (kinds & 1u << SLOT_ITEM)
		drop_items(tx);
	for (unsigned k = 0; k < SLOT_KINDS; k++)
		for (size_t i = 0; i < 2 && kinds & 1u << k; i++)
			if (tables[k][i] != NULL)
				tables[k][i](tx);
	end_dirty(tx);
	return OK;
}
