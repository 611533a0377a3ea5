/*
 * Rows by key, and undo.
 *
 * Each row is in a slot, which a map finds by the row's key.  A change copies
 * the row to the undo log first, at most once between two marks:
 *
 *     unknown ─► slot, not loaded ─► loaded ─► touched, dirty ─► written
 *                      ▲ forget                    ▲ undo          │
 *                      └───────────────────────────┴───────────────┘
 *
 * A row that was written and is undone is dirty again, so the database gets the
 * older state back.  Other statements cannot be undone this way: these are
 * surrounded by savepoints of the database (item_tx_flush_all()).
 */
#include "engine/items/item_tx_own.h"

static const struct {
	size_t at, bytes;            /* of the row in its slot */
} rows[SLOT_KINDS] = {
#define SLOT_ROW(type) \
	{ offsetof(struct type##_slot, row), sizeof(struct type##_row) }
	[SLOT_ALIAS] = SLOT_ROW(alias),
	[SLOT_ITEM] = SLOT_ROW(item),
	[SLOT_RESULT] = SLOT_ROW(result),
	[SLOT_PAIR] = SLOT_ROW(pair),
	[SLOT_BUCKET] = SLOT_ROW(bucket),
	[SLOT_BLOB] = SLOT_ROW(blob),
	[SLOT_TASK_STATE] = SLOT_ROW(task_state),
#undef SLOT_ROW
};

void *
tx_row(struct slot *s)
{
	return (char *)s + rows[s->kind].at;
}

void
tx_set_loaded(struct item_tx *tx, struct slot *s, bool stored)
{
	s->loaded = true;
	s->loaded_at = tx->savepoints_n;
	s->stored = stored;
	s->unsure = false;
}

const char *
pair_state_text(enum pair_state s)
{
	static const char *const texts[] = { PAIR_STATES(TABLE_SECOND) };

	CHECK((unsigned)s < ARRAY_LEN(texts));
	return texts[s];
}

/* -- Begin and end -- */

void
tx_free(struct item_tx **txp)
{
	struct item_tx *tx = *txp;

	if (tx == NULL)
		return;
	for (size_t i = 0; i < SLOT_KINDS; i++)
		map_free(&tx->maps[i]);
	buf_free(&tx->text);
	arena_free(&tx->arena);
	arena_free(&tx->scratch);
	mem_free(txp);
}

enum err
item_tx_begin(struct item_store *st, struct wall now, struct item_tx **out,
    struct why *w)
{
	CHECK(!st->reader);
	item_store_drop_kept(st);
	item_store_free_old_names(st);
	enum err e = database_begin(st->db, w);
	if (e != OK)
		return e;
	struct item_tx *tx = mem_new(sizeof(*tx));
	tx->store = st;
	tx->db = st->db;
	tx->now = now;
	*out = tx;
	return OK;
}

static enum err
write_all(struct item_tx *tx, struct why *w)
{
	enum err e = tx_flush_rows(tx, w);

	if (e == OK)
		e = tx_flush_appended(tx, w);
	if (e == OK)
		e = tx_flush_counts(tx, w);
	return e == OK ? tx_flush_events(tx, w) : e;
}

enum err
item_tx_end(struct item_tx **txp, enum err so_far, struct why *w)
{
	struct item_tx *tx = *txp;
	struct item_store *st = tx->store;
	uint64_t cursor = st->cursor;

	*txp = NULL;
	enum err e = so_far == OK ? write_all(tx, w) : so_far;
	e = database_end(st->db, e, w);
	/* Another daemon was first with the same id. */
	if (e == ERR_EXISTS && database_is_postgresql(st->db))
		e = ERR_BUSY;
	if (e != OK) {
		st->cursor = cursor;
		item_store_rolled_back(st);
	} else {
		item_store_committed(st);
		metric_add_by(&item_pruned_metric, PRUNED_PAIR_FAILURES,
		    tx->failures_trimmed);
	}
	if (e == OK && tx_can_be_kept(tx))
		st->kept = tx_clear(tx);
	else
		tx_free(&tx);
	return e;
}

void
item_tx_use_config(struct item_tx *tx, struct task_config *c)
{
	item_store_change_config(tx->store, c);
}

struct arena *
item_tx_arena(struct item_tx *tx)
{
	return &tx->arena;
}

struct arena *
item_tx_scratch(struct item_tx *tx)
{
	return &tx->scratch;
}

struct wall
item_tx_now(const struct item_tx *tx)
{
	return tx->now;
}

struct item_store *
item_tx_store(const struct item_tx *tx)
{
	return tx->store;
}

/* -- Slots -- */

void
slots_add(struct item_tx *tx, struct slots *s, struct slot *slot)
{
	s->list = arena_grow(&tx->scratch, s->list, s->n, &s->cap, 64,
	    sizeof(*s->list));
	s->list[s->n++] = slot;
}

static void *
new_slot(struct item_tx *tx, enum slot_kind kind, size_t bytes)
{
	struct slot *s = arena_take(&tx->arena, bytes);

	s->kind = kind;
	return s;
}

struct alias_slot *
tx_alias_slot(struct item_tx *tx, struct str id)
{
	struct map *m = &tx->maps[SLOT_ALIAS];
	struct alias_slot *s = map_get(m, id);

	if (s != NULL)
		return s;
	s = new_slot(tx, SLOT_ALIAS, sizeof(*s));
	s->row.id = arena_copy(&tx->arena, id);
	map_put(m, s->row.id, s);
	return s;
}

struct item_slot *
tx_item_slot(struct item_tx *tx, int64_t key)
{
	struct map *m = &tx->maps[SLOT_ITEM];
	struct item_slot *s = map_get_id(m, (uint64_t)key);

	if (s != NULL)
		return s;
	s = new_slot(tx, SLOT_ITEM, sizeof(*s));
	s->row.key = key;
	map_put_id(m, (uint64_t)key, s);
	return s;
}

static struct str
task_key(const struct task_key *k)
{
	return (struct str){ (const char *)k, sizeof(*k) };
}

struct result_slot *
tx_result_slot(struct item_tx *tx, uint32_t task, int64_t item)
{
	const struct task_key k = { task, item };
	struct map *m = &tx->maps[SLOT_RESULT];
	struct result_slot *s = map_get(m, task_key(&k));

	if (s != NULL)
		return s;
	s = new_slot(tx, SLOT_RESULT, sizeof(*s));
	s->key = k;
	s->row.task = task;
	s->row.item = item;
	map_put(m, task_key(&s->key), s);
	struct item_slot *owner = tx_item_slot(tx, item);
	s->next = owner->results;
	owner->results = s;
	return s;
}

struct pair_slot *
tx_pair_slot(struct item_tx *tx, uint32_t task, int64_t item)
{
	const struct task_key k = { task, item };
	struct map *m = &tx->maps[SLOT_PAIR];
	struct pair_slot *s = map_get(m, task_key(&k));

	if (s != NULL)
		return s;
	s = new_slot(tx, SLOT_PAIR, sizeof(*s));
	s->key = k;
	s->counted = -1;
	s->row.task = task;
	s->row.item = item;
	map_put(m, task_key(&s->key), s);
	struct item_slot *owner = tx_item_slot(tx, item);
	s->next = owner->pairs;
	owner->pairs = s;
	return s;
}

struct blob_slot *
tx_blob_slot(struct item_tx *tx, int64_t item, struct str name)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct map *m = &tx->maps[SLOT_BLOB];

	buf_put_be64(&key, (uint64_t)item);
	buf_put_str(&key, name);
	struct blob_slot *s = map_get(m, buf_str(&key));
	if (s != NULL)
		return s;
	s = new_slot(tx, SLOT_BLOB, sizeof(*s));
	s->key = arena_copy(&tx->arena, buf_str(&key));
	s->row.item = item;
	s->row.name = str_from(s->key, 8);
	map_put(m, s->key, s);
	return s;
}

struct bucket_slot *
tx_bucket_slot(struct item_tx *tx, struct str name)
{
	struct map *m = &tx->maps[SLOT_BUCKET];
	struct bucket_slot *s = map_get(m, name);

	if (s != NULL)
		return s;
	s = new_slot(tx, SLOT_BUCKET, sizeof(*s));
	s->row.name = arena_copy(&tx->arena, name);
	map_put(m, s->row.name, s);
	return s;
}

struct task_state_slot *
tx_task_state_slot(struct item_tx *tx, uint32_t task)
{
	struct map *m = &tx->maps[SLOT_TASK_STATE];
	struct task_state_slot *s = map_get_id(m, task);

	if (s != NULL)
		return s;
	s = new_slot(tx, SLOT_TASK_STATE, sizeof(*s));
	s->row.task = task;
	map_put_id(m, task, s);
	return s;
}

/* -- Rows -- */

enum err
item_tx_alias(struct item_tx *tx, struct str id, struct alias_row **out,
    struct why *w)
{
	struct alias_slot *s = tx_alias_slot(tx, id);

	*out = &s->row;
	return tx_load_slot(tx, &s->head, w);
}

enum err
item_tx_item(struct item_tx *tx, int64_t key, struct item_row **out,
    struct why *w)
{
	struct item_slot *s = tx_item_slot(tx, key);

	*out = &s->row;
	return tx_load_slot(tx, &s->head, w);
}

enum err
item_tx_find(struct item_tx *tx, struct str id, struct item_row **out,
    struct why *w)
{
	struct alias_row *a;

	enum err e = item_tx_alias(tx, id, &a, w);
	if (e == OK && a->exists)
		e = item_tx_item(tx, a->item, out, w);
	if (e == OK && (!a->exists || !(*out)->exists))
		e = why(w, ERR_ABSENT, "%.*s: there is no such item",
		    (int)MIN(id.n, 100), id.p);
	return e;
}

enum err
item_tx_result(struct item_tx *tx, uint32_t task, int64_t item,
    struct result_row **out, struct why *w)
{
	struct result_slot *s = tx_result_slot(tx, task, item);

	*out = &s->row;
	return tx_load_slot(tx, &s->head, w);
}

enum err
item_tx_pair(struct item_tx *tx, uint32_t task, int64_t item,
    struct pair_row **out, struct why *w)
{
	struct pair_slot *s = tx_pair_slot(tx, task, item);

	*out = &s->row;
	return tx_load_slot(tx, &s->head, w);
}

enum err
item_tx_bucket(struct item_tx *tx, struct str name, struct bucket_row **out,
    struct why *w)
{
	struct bucket_slot *s = tx_bucket_slot(tx, name);

	*out = &s->row;
	return tx_load_slot(tx, &s->head, w);
}

enum err
item_tx_blob(struct item_tx *tx, int64_t item, struct str name,
    struct blob_row **out, struct why *w)
{
	struct blob_slot *s = tx_blob_slot(tx, item, name);

	*out = &s->row;
	return tx_load_slot(tx, &s->head, w);
}

enum err
item_tx_task_state(struct item_tx *tx, uint32_t task,
    struct task_state_row **out, struct why *w)
{
	struct task_state_slot *s = tx_task_state_slot(tx, task);
	enum err e = tx_load_slot(tx, &s->head, w);

	*out = &s->row;
	memcpy(s->row.pairs, s->stored_pairs, sizeof(s->row.pairs));
	for (size_t i = 0; i < tx->touched.n; i++) {
		struct slot *slot = tx->touched.list[i];
		struct pair_slot *p = CONTAINER(slot, struct pair_slot, head);
		if (slot->kind != SLOT_PAIR || p->row.task != task)
			continue;
		if (p->counted >= 0)
			s->row.pairs[p->counted]--;
		if (p->row.exists)
			s->row.pairs[p->row.state]++;
	}
	return e;
}

/* -- All rows of an item -- */

enum err
item_tx_results_of(struct item_tx *tx, int64_t item,
    struct result_row ***out, size_t *n, struct why *w)
{
	struct item_slot *owner = tx_item_slot(tx, item);
	enum err e = tx_load_results_of(tx, owner, w);
	size_t most = 0;

	*n = 0;
	for (struct result_slot *s = owner->results; s != NULL; s = s->next)
		most++;
	*out = ARENA_ARRAY(&tx->scratch, struct result_row *, most);
	for (struct result_slot *s = owner->results; s != NULL; s = s->next)
		if (s->head.loaded && s->row.exists)
			(*out)[(*n)++] = &s->row;
	return e;
}

enum err
item_tx_pairs_of(struct item_tx *tx, int64_t item, struct pair_row ***out,
    size_t *n, struct why *w)
{
	struct item_slot *owner = tx_item_slot(tx, item);
	enum err e = tx_load_pairs_of(tx, owner, w);
	size_t most = 0;

	*n = 0;
	for (struct pair_slot *s = owner->pairs; s != NULL; s = s->next)
		most++;
	*out = ARENA_ARRAY(&tx->scratch, struct pair_row *, most);
	for (struct pair_slot *s = owner->pairs; s != NULL; s = s->next)
		if (s->head.loaded && s->row.exists)
			(*out)[(*n)++] = &s->row;
	return e;
}

static int
alias_order(const void *a, const void *b)
{
	const struct alias_row *const *x = a, *const *y = b;

	return str_cmp((*x)->id, (*y)->id);
}

enum err
item_tx_aliases_of(struct item_tx *tx, const struct item_row *item,
    struct alias_row ***out, size_t *n, struct why *w)
{
	*n = 0;
	*out = NULL;
	if (item->aliases_n == 0)
		return OK;
	enum err e = tx_load_aliases_of(tx, item->key, w);
	struct map *m = &tx->maps[SLOT_ALIAS];
	*out = ARENA_ARRAY(&tx->scratch, struct alias_row *, m->n);
	MAP_EACH(s, m, struct alias_slot)
		if (s->head.loaded && s->row.exists && !s->row.own &&
		    s->row.item == item->key)
			(*out)[(*n)++] = &s->row;
	if (*n > 1)
		qsort(*out, *n, sizeof(**out), alias_order);
	return e;
}

static int
blob_order(const void *a, const void *b)
{
	const struct blob_row *const *x = a, *const *y = b;

	return str_cmp((*x)->name, (*y)->name);
}

enum err
item_tx_blobs_of(struct item_tx *tx, const struct item_row *item,
    struct blob_row ***out, size_t *n, struct why *w)
{
	*n = 0;
	*out = NULL;
	if (item->blobs_n == 0)
		return OK;
	enum err e = tx_load_blobs_of(tx, item->key, w);
	struct map *m = &tx->maps[SLOT_BLOB];
	*out = ARENA_ARRAY(&tx->scratch, struct blob_row *, m->n);
	MAP_EACH(s, m, struct blob_slot)
		if (s->head.loaded && s->row.exists &&
		    s->row.item == item->key)
			(*out)[(*n)++] = &s->row;
	if (*n > 1)
		qsort(*out, *n, sizeof(**out), blob_order);
	return e;
}

enum err
item_tx_new_item(struct item_tx *tx, struct item_row **out, struct why *w)
{
	int64_t key = 0;

	enum err e = item_store_new_key(tx->store, &key, w);
	if (e != OK)
		return e;
	struct item_slot *s = tx_item_slot(tx, key);
	/* Nothing can be stored under a key that is new. */
	tx_set_loaded(tx, &s->head, false);
	s->results_loaded = s->pairs_loaded = true;
	*out = &s->row;
	return OK;
}

/* -- Changes -- */

static void
note_undo(struct item_tx *tx, struct slot *s)
{
	tx->undo = arena_grow(&tx->scratch, tx->undo, tx->undo_n,
	    &tx->undo_cap, 256, sizeof(*tx->undo));
	struct undo *u = &tx->undo[tx->undo_n++];
	u->slot = s;
	u->row = arena_take(&tx->scratch, rows[s->kind].bytes);
	memcpy(u->row, tx_row(s), rows[s->kind].bytes);
	u->before = s->undo_at;
	u->loaded = s->loaded;
	u->loaded_at = s->loaded_at;
	s->undo_at = tx->undo_n;
}

static void
make_dirty(struct item_tx *tx, struct slot *s)
{
	if (s->dirty)
		return;
	s->dirty = true;
	slots_add(tx, &tx->dirty, s);
}

static void
touch_slot(struct item_tx *tx, struct slot *s)
{
	CHECK(s->loaded);
	if (s->undo_at <= tx->marked)
		note_undo(tx, s);
	if (!s->touched) {
		s->touched = true;
		slots_add(tx, &tx->touched, s);
	}
	make_dirty(tx, s);
}

void
item_tx_touch_alias(struct item_tx *tx, struct alias_row *r)
{
	touch_slot(tx, &CONTAINER(r, struct alias_slot, row)->head);
}

void
item_tx_touch_item(struct item_tx *tx, struct item_row *r)
{
	touch_slot(tx, &CONTAINER(r, struct item_slot, row)->head);
}

void
item_tx_touch_result(struct item_tx *tx, struct result_row *r)
{
	touch_slot(tx, &CONTAINER(r, struct result_slot, row)->head);
}

void
item_tx_touch_pair(struct item_tx *tx, struct pair_row *r)
{
	touch_slot(tx, &CONTAINER(r, struct pair_slot, row)->head);
}

void
item_tx_touch_bucket(struct item_tx *tx, struct bucket_row *r)
{
	touch_slot(tx, &CONTAINER(r, struct bucket_slot, row)->head);
}

void
item_tx_touch_blob(struct item_tx *tx, struct blob_row *r)
{
	touch_slot(tx, &CONTAINER(r, struct blob_slot, row)->head);
}

void
item_tx_touch_task_state(struct item_tx *tx, struct task_state_row *r)
{
	touch_slot(tx, &CONTAINER(r, struct task_state_slot, row)->head);
}

/* -- Statements of others -- */

enum err
item_tx_flush(struct item_tx *tx, struct why *w)
{
	return tx_flush_rows(tx, w);
}

enum err
item_tx_flush_all(struct item_tx *tx, struct why *w)
{
	tx->savepoints = arena_grow(&tx->scratch, tx->savepoints,
	    tx->savepoints_n, &tx->savepoints_cap, 8,
	    sizeof(*tx->savepoints));
	tx->savepoints[tx->savepoints_n++] = (struct savepoint){
		tx->appended_done, tx->failures_trimmed };
	enum err e = database_do(tx->db, "SAVEPOINT items", w);
	if (e == OK)
		e = tx_flush_rows(tx, w);
	return e == OK ? tx_flush_appended(tx, w) : e;
}

void
item_tx_forget(struct item_tx *tx)
{
	CHECK(tx->dirty.n == 0 && tx->savepoints_n > 0);
	/* Undo brings back what these rows were before the statement. */
	for (size_t i = 0; i < tx->touched.n; i++)
		note_undo(tx, tx->touched.list[i]);
	for (size_t k = 0; k < SLOT_KINDS; k++)
		MAP_EACH(s, &tx->maps[k], struct slot)
			s->loaded = false;
	MAP_EACH(s, &tx->maps[SLOT_ITEM], struct item_slot)
		s->results_loaded = s->pairs_loaded = false;
}

/* -- Undo -- */

struct item_mark
item_tx_mark(struct item_tx *tx)
{
	tx->marked = tx->undo_n;
	return (struct item_mark){ tx->undo_n, tx->appended_n, tx->events_n,
	    tx->usage_n, tx->savepoints_n };
}

/* The database goes back to the savepoint after the mark. */
static void
roll_back_to(struct item_tx *tx, size_t savepoint)
{
	tx->appended_done = tx->savepoints[savepoint].appended_done;
	tx->failures_trimmed = tx->savepoints[savepoint].failures_trimmed;
	while (tx->savepoints_n > savepoint) {
		/* An error stays with the transaction. */
		enum err e = database_do(tx->db, "ROLLBACK TO items", NULL);
		if (e == OK)
			e = database_do(tx->db, "RELEASE items", NULL);
		tx->savepoints_n--;
		(void)e;
	}
	item_store_undone(tx->store);
	/* What was read since then may be what a statement has written. */
	for (size_t k = 0; k < SLOT_KINDS; k++)
		MAP_EACH(s, &tx->maps[k], struct slot)
			s->loaded &= s->loaded_at <= savepoint;
	MAP_EACH(s, &tx->maps[SLOT_ITEM], struct item_slot) {
		s->results_loaded = s->pairs_loaded = false;
		s->tags_unsure |= s->head.touched;
	}
	for (size_t i = 0; i < tx->touched.n; i++) {
		struct slot *s = tx->touched.list[i];
		s->stored = s->unsure = true;
		if (s->loaded)
			make_dirty(tx, s);
	}
}

void
item_tx_undo(struct item_tx *tx, struct item_mark m)
{
	CHECK(m.undo <= tx->undo_n && m.appended <= tx->appended_n);
	while (tx->undo_n > m.undo) {
		struct undo *u = &tx->undo[--tx->undo_n];
		memcpy(tx_row(u->slot), u->row, rows[u->slot->kind].bytes);
		u->slot->undo_at = u->before;
		u->slot->loaded = u->loaded;
		u->slot->loaded_at = u->loaded_at;
		make_dirty(tx, u->slot);
	}
	if (tx->savepoints_n > m.savepoints)
		roll_back_to(tx, m.savepoints);
	CHECK(tx->appended_done <= m.appended);
	tx->appended_n = m.appended;
	tx->events_n = m.events;
	tx->usage_n = m.usage;
	tx->marked = m.undo;
}
