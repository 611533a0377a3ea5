/*
 * Rows that stay in memory between two transactions.
 *
 * Kept are aliases, items, results and pairs, as long as their memory is small:
 * it also has what nobody needs any more, and goes as a whole.  Buckets, blobs
 * and counts of tasks are few, and are read again.
 *
 * The memory itself stays, so that it need not come from the system each time.
 */
#include "engine/items/item_tx_own.h"

/* An arena's last block, at most half of it, is used again. */
#define ARENA_KEPT_BYTES_MAX (4 * ITEM_TX_KEPT_BYTES_MAX)

static const enum slot_kind read_again[] = {
	SLOT_BUCKET, SLOT_BLOB, SLOT_TASK_STATE
};

bool
item_tx_continues(const struct item_tx *tx)
{
	return tx->continues;
}

bool
tx_can_be_kept(const struct item_tx *tx)
{
	/* After a savepoint it takes more to know what the database has. */
	return tx->continues && tx->savepoints_n == 0;
}

/* One of unusual size goes as a whole. */
static void
empty_arena(struct arena *a)
{
	if (a->total > ARENA_KEPT_BYTES_MAX)
		arena_free(a);
	else
		arena_reset(a);
}

struct item_tx *
tx_clear(struct item_tx *tx)
{
	CHECK(tx->dirty.n == 0);
	for (size_t i = 0; i < tx->touched.n; i++) {
		tx->touched.list[i]->touched = false;
		tx->touched.list[i]->undo_at = 0;
	}
	for (size_t k = 0; k < SLOT_KINDS; k++)
		for (size_t i = 0; i < tx->queue[k].n; i++)
			tx->queue[k].list[i]->queued = false;
	for (size_t i = 0; i < ARRAY_LEN(read_again); i++)
		map_free(&tx->maps[read_again[i]]);
	struct item_tx rows = *tx;
	*tx = (struct item_tx){ .store = rows.store, .db = rows.db,
	    .continues = rows.continues, .version = rows.version,
	    .arena = rows.arena, .scratch = rows.scratch, .text = rows.text };
	memcpy(tx->maps, rows.maps, sizeof(tx->maps));
	empty_arena(&tx->scratch);
	if (tx->arena.total > ITEM_TX_KEPT_BYTES_MAX) {
		for (size_t k = 0; k < SLOT_KINDS; k++)
			map_free(&tx->maps[k]);
		empty_arena(&tx->arena);
	}
	return tx;
}

void
item_store_drop_kept(struct item_store *st)
{
	tx_free(&st->kept);
}

/* SQLite's counter of the commits of other connections. */
static enum err
read_version(struct item_store *st, uint64_t *version, struct why *w)
{
	struct query *q = database_query(st->db, "PRAGMA data_version");

	*version = query_step(q) ? (uint64_t)query_get_i64(q, 0) : 0;
	return query_end(&q, w);
}

enum err
item_tx_continue(struct item_store *st, struct wall now, struct item_tx **out,
    struct why *w)
{
	struct item_tx *kept = st->kept;
	uint64_t version = 0;

	/* Tags of rows refer to the names' texts. */
	if (item_store_has_old_names(st))
		tx_free(&kept);
	st->kept = NULL;
	enum err e = item_tx_begin(st, now, out, w);
	if (e == OK && !database_is_postgresql(st->db)) {
		(*out)->continues = true;
		e = read_version(st, &version, w);
		(*out)->version = version;
	}
	if (e == OK && kept != NULL && kept->version == version) {
		tx_free(out);
		kept->now = now;
		*out = kept;
		return OK;
	}
	tx_free(&kept);
	return e;
}
