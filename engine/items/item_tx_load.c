/*
 * From the database to rows: one bulk query per table for all that is queued.
 * CROSS JOIN keeps SQLite's order: a search by key for each row of `bulk`.
 *
 * A slot that is queued counts as loaded, without a row, as soon as its table
 * is asked; the rows of the answer fill those that are stored.
 */
#include "engine/items/item_tx_own.h"

struct wall
tx_get_time(struct query *q, int column)
{
	return query_is_null(q, column) ? ITEM_TIME_NONE :
	    (struct wall){ query_get_i64(q, column) };
}

static int64_t
get_or_none(struct query *q, int column)
{
	return query_is_null(q, column) ? INT64_MIN : query_get_i64(q, column);
}

static struct str
get_text(struct item_tx *tx, struct query *q, int column)
{
	struct str s = query_get_str(q, column);

	return s.p == NULL ? s : arena_copy(&tx->arena, s);
}

/* -- What will be needed -- */

static void
queue_slot(struct item_tx *tx, struct slot *s)
{
	if (s->loaded || s->queued)
		return;
	s->queued = true;
	slots_add(tx, &tx->queue[s->kind], s);
}

void
item_tx_want_item(struct item_tx *tx, struct str id)
{
	queue_slot(tx, &tx_alias_slot(tx, id)->head);
}

void
item_tx_want_key(struct item_tx *tx, int64_t key)
{
	queue_slot(tx, &tx_item_slot(tx, key)->head);
}

void
item_tx_want_pair(struct item_tx *tx, uint32_t task, struct str id)
{
	struct alias_slot *s = tx_alias_slot(tx, id);

	queue_slot(tx, &s->head);
	tx->want_pairs = arena_grow(&tx->scratch, tx->want_pairs,
	    tx->want_pairs_n, &tx->want_pairs_cap, 64,
	    sizeof(*tx->want_pairs));
	tx->want_pairs[tx->want_pairs_n++] = (struct want_pair){ task, s };
}

void
item_tx_want_pair_key(struct item_tx *tx, uint32_t task, int64_t item)
{
	queue_slot(tx, &tx_pair_slot(tx, task, item)->head);
	queue_slot(tx, &tx_result_slot(tx, task, item)->head);
}

void
item_tx_want_pair_row(struct item_tx *tx, uint32_t task, int64_t item)
{
	queue_slot(tx, &tx_pair_slot(tx, task, item)->head);
}

/* Begin to load what is queued of a kind, but for what has come otherwise. */
static struct slots
take_queue(struct item_tx *tx, enum slot_kind kind)
{
	struct slots q = tx->queue[kind];
	size_t n = 0;

	tx->queue[kind] = (struct slots){ .n = 0 };
	for (size_t i = 0; i < q.n; i++) {
		struct slot *s = q.list[i];
		s->queued = false;
		if (s->loaded)
			continue;
		tx_set_loaded(tx, s, false);
		q.list[n++] = s;
	}
	q.n = n;
	return q;
}

/* -- Items and their tags -- */

#define ITEM_COLUMNS "i.key, i.id, i.data, i.created_by, i.created_at," \
	" i.updated_at, i.rev, i.aliases_n, i.blobs_n"

static void
read_item(struct item_tx *tx, struct query *q, int at, struct item_slot *s)
{
	struct item_row *r = &s->row;

	tx_set_loaded(tx, &s->head, true);
	r->exists = true;
	r->id = get_text(tx, q, at + 1);
	r->data = get_text(tx, q, at + 2);
	r->created_by = get_text(tx, q, at + 3);
	r->created_at = tx_get_time(q, at + 4);
	r->updated_at = tx_get_time(q, at + 5);
	r->rev = (uint64_t)query_get_i64(q, at + 6);
	r->aliases_n = (unsigned)query_get_i64(q, at + 7);
	r->blobs_n = (unsigned)query_get_i64(q, at + 8);
}

static int
tag_order(const void *a, const void *b)
{
	const struct item_tag *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

struct tag_rows {
	struct item_slot *item;      /* whose tags these are */
	struct item_tag *tags;
	size_t n, cap;
};

static void
end_tags(struct tag_rows *t)
{
	if (t->item == NULL)
		return;
	if (t->n > 1)
		qsort(t->tags, t->n, sizeof(*t->tags), tag_order);
	t->item->row.tags = t->item->stored_tags = t->tags;
	t->item->row.tags_n = t->item->stored_tags_n = t->n;
}

static void
read_tags(struct item_tx *tx, struct query *q)
{
	struct tag_rows t = { .item = NULL };

	while (query_step(q)) {
		struct item_slot *s = tx_item_slot(tx, query_get_i64(q, 0));
		if (s != t.item) {
			end_tags(&t);
			t = (struct tag_rows){ .item = s };
		}
		t.tags = arena_grow(&tx->arena, t.tags, t.n, &t.cap, 4,
		    sizeof(*t.tags));
		struct item_tag *tag = &t.tags[t.n++];
		tag->tag = (uint32_t)query_get_i64(q, 1);
		tag->value = get_text(tx, q, 2);
		tag->name = item_store_name_text(tx->store, tag->tag);
		if (tag->name.p == NULL)
			tag->name = STR("");
	}
	end_tags(&t);
}

static enum err
load_tags(struct item_tx *tx, const struct slots *items, struct why *w)
{
	static const struct sql select = {
		"SELECT t.item, t.tag, t.value FROM bulk k CROSS JOIN tags t"
		" ON t.item = k.p1",
		"SELECT item, tag, value FROM tags"
		" WHERE item = ANY (?1::int8[]) ORDER BY item" };
	struct query *q = database_bulk(tx->db, &select);

	for (size_t i = 0; i < items->n; i++) {
		struct item_slot *s = CONTAINER(items->list[i],
		    struct item_slot, head);
		s->row.tags = s->stored_tags = NULL;
		s->row.tags_n = s->stored_tags_n = 0;
		s->tags_unsure = false;
		query_i64(q, 1, s->row.key);
		query_row(q);
	}
	read_tags(tx, q);
	return query_end(&q, w);
}

static void
reset_item(struct item_slot *s)
{
	s->row = (struct item_row){ .key = s->row.key };
	s->stored_tags = NULL;
	s->stored_tags_n = 0;
}

/* Each item has an alias that is its own id: a completion asks for it. */
static void
note_own_alias(struct item_tx *tx, const struct item_row *item)
{
	struct alias_slot *a = tx_alias_slot(tx, item->id);

	if (a->head.loaded)
		return;
	tx_set_loaded(tx, &a->head, true);
	a->row.exists = a->row.own = true;
	a->row.item = item->key;
}

static enum err
load_items(struct item_tx *tx, struct slots *items, struct why *w)
{
	static const struct sql select = {
		"SELECT " ITEM_COLUMNS " FROM bulk k CROSS JOIN items i"
		" ON i.key = k.p1",
		"SELECT " ITEM_COLUMNS " FROM items i"
		" WHERE i.key = ANY (?1::int8[]) ORDER BY i.key FOR UPDATE" };
	struct slots queue = take_queue(tx, SLOT_ITEM);
	struct query *q = database_bulk(tx->db, &select);

	for (size_t i = 0; i < queue.n; i++) {
		struct item_slot *s = CONTAINER(queue.list[i],
		    struct item_slot, head);
		reset_item(s);
		query_i64(q, 1, s->row.key);
		query_row(q);
	}
	while (query_step(q)) {
		struct item_slot *s = tx_item_slot(tx, query_get_i64(q, 0));
		read_item(tx, q, 0, s);
		note_own_alias(tx, &s->row);
		slots_add(tx, items, &s->head);
	}
	return query_end(&q, w);
}

/* An alias comes with its item: mostly one asks for both. */
static void
read_alias(struct item_tx *tx, struct query *q, struct slots *items)
{
	struct alias_slot *a = tx_alias_slot(tx, query_get_str(q, 0));
	struct item_slot *s = tx_item_slot(tx, query_get_i64(q, 2));

	tx_set_loaded(tx, &a->head, true);
	a->row.exists = true;
	a->row.own = query_get_i64(q, 1) != 0;
	a->row.item = s->row.key;
	if (s->head.loaded)
		return;
	read_item(tx, q, 2, s);
	slots_add(tx, items, &s->head);
}

static enum err
load_aliases(struct item_tx *tx, struct slots *items, struct why *w)
{
	static const struct sql select = {
		"SELECT a.id, a.own, " ITEM_COLUMNS " FROM bulk k"
		" CROSS JOIN aliases a ON a.id = k.p1"
		" CROSS JOIN items i ON i.key = a.item",
		"SELECT a.id, a.own, " ITEM_COLUMNS " FROM aliases a"
		" JOIN items i ON i.key = a.item WHERE a.id = ANY (?1::text[])"
		" ORDER BY i.key, a.id FOR UPDATE" };
	struct slots queue = take_queue(tx, SLOT_ALIAS);
	struct query *q = database_bulk(tx->db, &select);

	for (size_t i = 0; i < queue.n; i++) {
		struct alias_slot *s = CONTAINER(queue.list[i],
		    struct alias_slot, head);
		s->row = (struct alias_row){ .id = s->row.id };
		query_str(q, 1, s->row.id);
		query_row(q);
	}
	while (query_step(q))
		read_alias(tx, q, items);
	return query_end(&q, w);
}

/* -- Results and pairs -- */

static struct query *
keyed_query(struct item_tx *tx, const struct sql *s, const struct slots *queue)
{
	struct query *q = database_bulk(tx->db, s);

	for (size_t i = 0; i < queue->n; i++) {
		const struct slot *slot = queue->list[i];
		const struct task_key *k = slot->kind == SLOT_PAIR ?
		    &CONTAINER(slot, struct pair_slot, head)->key :
		    &CONTAINER(slot, struct result_slot, head)->key;
		query_i64(q, 1, (int64_t)k->task);
		query_i64(q, 2, k->item);
		query_row(q);
	}
	return q;
}

#define RESULT_COLUMNS "r.task, r.item, r.task_version, r.metadata," \
	" r.is_successful, r.is_invalidated, r.created_at, r.completed_at," \
	" r.expires_at, r.ttl_override, r.rev"

static void
read_result(struct item_tx *tx, struct query *q)
{
	struct result_slot *s = tx_result_slot(tx,
	    (uint32_t)query_get_i64(q, 0), query_get_i64(q, 1));
	struct result_row *r = &s->row;

	tx_set_loaded(tx, &s->head, true);
	r->exists = true;
	r->task_version = get_text(tx, q, 2);
	r->metadata = get_text(tx, q, 3);
	r->is_successful = query_get_i64(q, 4) != 0;
	r->is_invalidated = query_get_i64(q, 5) != 0;
	r->created_at = tx_get_time(q, 6);
	r->completed_at = tx_get_time(q, 7);
	r->expires_at = tx_get_time(q, 8);
	r->ttl_override_us = get_or_none(q, 9);
	r->rev = (uint64_t)query_get_i64(q, 10);
}

static void
reset_result(struct result_slot *s)
{
	s->row = (struct result_row){ .task = s->row.task,
	    .item = s->row.item, .metadata = STR("{}"),
	    .task_version = STR(""), .created_at = ITEM_TIME_NONE,
	    .completed_at = ITEM_TIME_NONE, .expires_at = ITEM_TIME_NONE,
	    .ttl_override_us = RESULT_TTL_NONE };
}

static enum err
load_results(struct item_tx *tx, struct why *w)
{
	static const struct sql select = {
		"SELECT " RESULT_COLUMNS " FROM bulk k CROSS JOIN"
		" task_results r ON r.task = k.p1 AND r.item = k.p2",
		"SELECT " RESULT_COLUMNS " FROM task_results r"
		" JOIN unnest(?1::int8[], ?2::int8[]) AS k (task, item)"
		" ON r.task = k.task AND r.item = k.item"
		" ORDER BY r.task, r.item FOR UPDATE OF r" };
	struct slots queue = take_queue(tx, SLOT_RESULT);

	for (size_t i = 0; i < queue.n; i++)
		reset_result(CONTAINER(queue.list[i], struct result_slot,
		    head));
	struct query *q = keyed_query(tx, &select, &queue);
	while (query_step(q))
		read_result(tx, q);
	return query_end(&q, w);
}

#define PAIR_COLUMNS "p.task, p.item, p.state, p.due, p.lane, p.lease," \
	" p.lease_until, p.worker, p.generation, p.attempt, p.again," \
	" p.done_lease"

static enum pair_state
read_state(struct query *q, int column)
{
	int64_t state = query_get_i64(q, column);

	return state < 0 || state >= PAIR_STATE_COUNT ? PAIR_FAILED :
	    (enum pair_state)state;
}

static void
read_pair(struct item_tx *tx, struct query *q)
{
	struct pair_slot *s = tx_pair_slot(tx, (uint32_t)query_get_i64(q, 0),
	    query_get_i64(q, 1));
	struct pair_row *r = &s->row;

	tx_set_loaded(tx, &s->head, true);
	r->exists = true;
	r->state = read_state(q, 2);
	r->due_ms = get_or_none(q, 3);
	r->lane = (uint32_t)query_get_i64(q, 4);
	r->lease = (uint64_t)query_get_i64(q, 5);
	r->lease_until = tx_get_time(q, 6);
	r->worker = get_text(tx, q, 7);
	r->generation = (uint64_t)query_get_i64(q, 8);
	r->attempt = (unsigned)query_get_i64(q, 9);
	r->again = query_get_i64(q, 10) != 0;
	r->done_lease = (uint64_t)query_get_i64(q, 11);
	/* One that was touched is counted by what it was before. */
	if (!s->head.touched)
		s->counted = (int)r->state;
}

static void
reset_pair(struct pair_slot *s)
{
	s->row = (struct pair_row){ .task = s->row.task,
	    .item = s->row.item, .due_ms = PAIR_DUE_NONE,
	    .lease_until = ITEM_TIME_NONE };
}

static enum err
load_pairs(struct item_tx *tx, struct why *w)
{
	static const struct sql select = {
		"SELECT " PAIR_COLUMNS " FROM bulk k CROSS JOIN worklist p"
		" ON p.task = k.p1 AND p.item = k.p2",
		"SELECT " PAIR_COLUMNS " FROM worklist p"
		" JOIN unnest(?1::int8[], ?2::int8[]) AS k (task, item)"
		" ON p.task = k.task AND p.item = k.item"
		" ORDER BY p.task, p.item FOR UPDATE OF p" };
	struct slots queue = take_queue(tx, SLOT_PAIR);

	for (size_t i = 0; i < queue.n; i++)
		reset_pair(CONTAINER(queue.list[i], struct pair_slot, head));
	struct query *q = keyed_query(tx, &select, &queue);
	while (query_step(q))
		read_pair(tx, q);
	return query_end(&q, w);
}

/* -- Buckets and blobs: few -- */

static enum err
load_buckets(struct item_tx *tx, struct why *w)
{
	static const struct sql select = {
		"SELECT name, full_at FROM buckets WHERE name = ?1",
		"SELECT name, full_at FROM buckets"
		" WHERE name = ANY (?1::text[]) ORDER BY name FOR UPDATE" };
	struct slots queue = take_queue(tx, SLOT_BUCKET);
	struct query *q = database_bulk(tx->db, &select);

	for (size_t i = 0; i < queue.n; i++) {
		struct bucket_slot *s = CONTAINER(queue.list[i],
		    struct bucket_slot, head);
		s->row.full_at = (struct wall){ 0 };
		query_str(q, 1, s->row.name);
		query_row(q);
	}
	while (query_step(q)) {
		struct bucket_slot *s = tx_bucket_slot(tx,
		    query_get_str(q, 0));
		s->head.stored = true;
		s->row.full_at = tx_get_time(q, 1);
	}
	return query_end(&q, w);
}

#define BLOB_COLUMNS "item, name, sha256, type, bytes"

static void
read_blobs(struct item_tx *tx, struct query *q)
{
	while (query_step(q)) {
		struct blob_slot *s = tx_blob_slot(tx, query_get_i64(q, 0),
		    query_get_str(q, 1));
		struct str sha256 = query_get_str(q, 2);
		tx_set_loaded(tx, &s->head, true);
		s->row.exists = true;
		memcpy(s->row.sha256, sha256.p,
		    MIN(sha256.n, sizeof(s->row.sha256)));
		s->row.type = get_text(tx, q, 3);
		s->row.bytes = query_get_i64(q, 4);
		if (s->head.touched)
			continue;
		s->counted = true;
		memcpy(s->stored_sha256, s->row.sha256,
		    sizeof(s->stored_sha256));
	}
}

static enum err
load_blobs(struct item_tx *tx, struct why *w)
{
	static const struct sql select = {
		"SELECT " BLOB_COLUMNS " FROM item_blobs"
		" WHERE item = ?1 AND name = ?2",
		"SELECT " BLOB_COLUMNS " FROM item_blobs"
		" JOIN unnest(?1::int8[], ?2::text[]) AS k (item, name)"
		" USING (item, name)" };
	struct slots queue = take_queue(tx, SLOT_BLOB);
	struct query *q = database_bulk(tx->db, &select);

	for (size_t i = 0; i < queue.n; i++) {
		struct blob_slot *s = CONTAINER(queue.list[i],
		    struct blob_slot, head);
		s->row = (struct blob_row){ .item = s->row.item,
		    .name = s->row.name, .type = STR("") };
		query_i64(q, 1, s->row.item);
		query_str(q, 2, s->row.name);
		query_row(q);
	}
	read_blobs(tx, q);
	return query_end(&q, w);
}

#define COUNT_COLUMNS "unprocessed, stale, fresh, retry, leased, blocked," \
	" failed"

static enum err
load_task_states(struct item_tx *tx, struct why *w)
{
	static const struct sql select = {
		"SELECT task, paused, tripped, " COUNT_COLUMNS
		" FROM task_state WHERE task = ?1",
		"SELECT task, paused, tripped, " COUNT_COLUMNS
		" FROM task_state WHERE task = ANY (?1::int8[])" };
	struct slots queue = take_queue(tx, SLOT_TASK_STATE);
	struct query *q = database_bulk(tx->db, &select);

	for (size_t i = 0; i < queue.n; i++) {
		struct task_state_slot *s = CONTAINER(queue.list[i],
		    struct task_state_slot, head);
		s->row = (struct task_state_row){ .task = s->row.task };
		memset(s->stored_pairs, 0, sizeof(s->stored_pairs));
		query_i64(q, 1, s->row.task);
		query_row(q);
	}
	while (query_step(q)) {
		struct task_state_slot *s = tx_task_state_slot(tx,
		    (uint32_t)query_get_i64(q, 0));
		s->head.stored = s->row.exists = true;
		s->row.paused = query_get_i64(q, 1) != 0;
		s->row.tripped = query_get_i64(q, 2) != 0;
		for (int i = 0; i < PAIR_STATE_COUNT; i++)
			s->stored_pairs[i] = query_get_i64(q, 3 + i);
	}
	return query_end(&q, w);
}

/* -- Loading -- */

enum err
item_tx_load(struct item_tx *tx, struct why *w)
{
	struct slots items = { .n = 0 };
	enum err e = OK;

	if (tx->queue[SLOT_ALIAS].n > 0)
		e = load_aliases(tx, &items, w);
	for (size_t i = 0; i < tx->want_pairs_n && e == OK; i++) {
		const struct want_pair *p = &tx->want_pairs[i];
		if (p->alias->row.exists)
			item_tx_want_pair_key(tx, p->task,
			    p->alias->row.item);
	}
	tx->want_pairs_n = 0;
	if (tx->queue[SLOT_ITEM].n > 0 && e == OK)
		e = load_items(tx, &items, w);
	if (items.n > 0 && e == OK)
		e = load_tags(tx, &items, w);
	if (tx->queue[SLOT_RESULT].n > 0 && e == OK)
		e = load_results(tx, w);
	if (tx->queue[SLOT_PAIR].n > 0 && e == OK)
		e = load_pairs(tx, w);
	if (tx->queue[SLOT_BUCKET].n > 0 && e == OK)
		e = load_buckets(tx, w);
	if (tx->queue[SLOT_BLOB].n > 0 && e == OK)
		e = load_blobs(tx, w);
	if (tx->queue[SLOT_TASK_STATE].n > 0 && e == OK)
		e = load_task_states(tx, w);
	return e;
}

/* All results and pairs of a new item are slots, so the database need not be
 * asked for another. */
static bool
is_absent(struct item_tx *tx, struct slot *s)
{
	if (s->kind == SLOT_RESULT) {
		struct result_slot *r = CONTAINER(s, struct result_slot, head);

		if (!tx_item_slot(tx, r->row.item)->results_loaded)
			return false;
		reset_result(r);
		return true;
	}
	if (s->kind == SLOT_PAIR) {
		struct pair_slot *p = CONTAINER(s, struct pair_slot, head);

		if (!tx_item_slot(tx, p->row.item)->pairs_loaded)
			return false;
		reset_pair(p);
		return true;
	}
	return false;
}

enum err
tx_load_slot(struct item_tx *tx, struct slot *s, struct why *w)
{
	if (s->loaded)
		return OK;
	if (is_absent(tx, s)) {
		tx_set_loaded(tx, s, false);
		return OK;
	}
	queue_slot(tx, s);
	return item_tx_load(tx, w);
}

/* -- All rows of an item.  Keys are read first: rows in memory are newer. -- */

enum err
tx_load_results_of(struct item_tx *tx, struct item_slot *s, struct why *w)
{
	if (s->results_loaded)
		return OK;
	struct query *q = database_query(tx->db,
	    "SELECT task FROM task_results WHERE item = ?1");
	query_i64(q, 1, s->row.key);
	while (query_step(q))
		queue_slot(tx, &tx_result_slot(tx,
		    (uint32_t)query_get_i64(q, 0), s->row.key)->head);
	enum err e = query_end(&q, w);
	s->results_loaded = e == OK;
	return e == OK ? item_tx_load(tx, w) : e;
}

enum err
tx_load_pairs_of(struct item_tx *tx, struct item_slot *s, struct why *w)
{
	if (s->pairs_loaded)
		return OK;
	struct query *q = database_query(tx->db,
	    "SELECT task FROM worklist WHERE item = ?1");
	query_i64(q, 1, s->row.key);
	while (query_step(q))
		queue_slot(tx, &tx_pair_slot(tx,
		    (uint32_t)query_get_i64(q, 0), s->row.key)->head);
	enum err e = query_end(&q, w);
	s->pairs_loaded = e == OK;
	return e == OK ? item_tx_load(tx, w) : e;
}

enum err
tx_load_aliases_of(struct item_tx *tx, int64_t item, struct why *w)
{
	struct query *q = database_query(tx->db,
	    "SELECT id FROM aliases WHERE item = ?1 AND own = 0");

	query_i64(q, 1, item);
	while (query_step(q))
		queue_slot(tx, &tx_alias_slot(tx, query_get_str(q, 0))->head);
	enum err e = query_end(&q, w);
	return e == OK ? item_tx_load(tx, w) : e;
}

enum err
tx_load_blobs_of(struct item_tx *tx, int64_t item, struct why *w)
{
	struct query *q = database_query(tx->db,
	    "SELECT name FROM item_blobs WHERE item = ?1");

	query_i64(q, 1, item);
	while (query_step(q))
		queue_slot(tx, &tx_blob_slot(tx, item,
		    query_get_str(q, 0))->head);
	enum err e = query_end(&q, w);
	return e == OK ? item_tx_load(tx, w) : e;
}
