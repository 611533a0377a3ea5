#include "engine/items/generation_own.h"
#include "engine/items/item_store_own.h"

/* -- Which tasks are rewritten, from memory -- */

static int
rewrite_order(const void *a, const void *b)
{
	const struct item_rewrite *x = a, *y = b;

	return (x->task > y->task) - (x->task < y->task);
}

void
generation_rewrites_changed(struct item_store *st)
{
	st->rewrites_known = false;
}

enum err
generation_rewrites(struct item_store *st, const struct item_rewrite **list,
    size_t *n, struct why *w)
{
	enum err e = OK;

	if (!st->rewrites_known) {
		struct query *q = database_query(st->db,
		    "SELECT task, at FROM rewrites ORDER BY task");
		st->rewrites_n = 0;
		while (query_step(q)) {
			st->rewrites = mem_room(st->rewrites, st->rewrites_n,
			    &st->rewrites_cap, 16, sizeof(*st->rewrites));
			st->rewrites[st->rewrites_n++] = (struct item_rewrite){
				(uint32_t)query_get_i64(q, 0),
				query_get_i64(q, 1) };
		}
		e = query_end(&q, w);
		st->rewrites_known = e == OK;
	}
	*list = st->rewrites;
	*n = st->rewrites_n;
	return e;
}

const struct item_rewrite *
generation_rewrite_of(const struct item_rewrite *list, size_t n, uint32_t task)
{
	const struct item_rewrite key = { .task = task };

	return n == 0 ? NULL : bsearch(&key, list, n, sizeof(*list),
	    rewrite_order);
}

enum err
generation_progress(struct item_store *st, uint32_t task,
    struct generation_progress *out, struct why *w)
{
	struct query *q = database_query(item_store_database(st),
	    "SELECT done, total FROM rewrites WHERE ?1 = 0 OR task = ?1");

	*out = (struct generation_progress){ 0, 0, 0 };
	query_i64(q, 1, task);
	while (query_step(q)) {
		int64_t done = query_get_i64(q, 0);
		out->tasks++;
		out->done += done;
		out->total += MAX(done, query_get_i64(q, 1));
	}
	return query_end(&q, w);
}

/* -- The items of a chunk -- */

/* A task that is being rewritten, and the next items of it. */
struct chunk {
	struct item_tx *tx;
	struct item_store *st;
	struct database *db;
	struct arena *a;
	const struct task *task;     /* NULL: the configuration has none */
	uint32_t id;
	int64_t at;
	uint64_t generation;
	size_t max;
	int64_t *keys;
	size_t n, cap;
	bool last;                   /* nothing is left after these */
	bool foreign;                /* of a generation that is not ours */
	struct why *w;
};

static enum err
add_keys(struct chunk *c, const char *text, uint32_t number)
{
	struct query *q = database_query(c->db, text);

	query_i64(q, 1, number);
	query_i64(q, 2, c->at);
	query_i64(q, 3, (int64_t)c->max + 1);
	while (query_step(q)) {
		c->keys = arena_grow(c->a, c->keys, c->n, &c->cap, 256,
		    sizeof(*c->keys));
		c->keys[c->n++] = query_get_i64(q, 0);
	}
	return query_end(&q, c->w);
}

static enum err
add_tagged(struct chunk *c, struct str tag)
{
	uint32_t id = 0;
	enum err e = item_store_name(c->st, ITEM_NAME_TAG, tag, false, &id,
	    c->w);

	return e != OK || id == 0 ? e : add_keys(c, "SELECT item FROM tags"
	    " WHERE tag = ?1 AND item > ?2 ORDER BY item LIMIT ?3", id);
}

static int
key_order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Each of the lists was cut after max + 1: so is what they give together. */
static void
cut_keys(struct chunk *c)
{
	size_t n = 0;

	if (c->n > 1)
		qsort(c->keys, c->n, sizeof(*c->keys), key_order);
	for (size_t i = 0; i < c->n; i++)
		if (n == 0 || c->keys[i] != c->keys[n - 1])
			c->keys[n++] = c->keys[i];
	c->last = n <= c->max;
	c->n = MIN(n, c->max);
}

/* Those that have a pair or a result, and those whose tags map the task. */
static enum err
find_keys(struct chunk *c)
{
	enum err e = add_keys(c, "SELECT item FROM worklist WHERE task = ?1"
	    " AND item > ?2 ORDER BY item LIMIT ?3", c->id);

	if (e == OK && c->task != NULL)
		e = add_keys(c, "SELECT item FROM task_results WHERE task = ?1"
		    " AND item > ?2 ORDER BY item LIMIT ?3", c->id);
	for (size_t i = 0; c->task != NULL && i < c->task->tags_n &&
	    e == OK; i++)
		e = add_tagged(c, c->task->tags[i]);
	if (e == OK)
		cut_keys(c);
	return e;
}

/* -- Their tags: the data of items is not read -- */

struct found_tag {
	int64_t item;
	struct item_tag tag;
};
struct found_tags {
	struct found_tag *list;
	size_t n, cap;
};

static int
found_order(const void *a, const void *b)
{
	const struct found_tag *x = a, *y = b;

	return key_order(&x->item, &y->item);
}

static enum err
find_tags(struct chunk *c, struct found_tags *found)
{
	static const struct sql get = {
		"SELECT t.item, t.tag, t.value FROM bulk k CROSS JOIN tags t"
		" ON t.item = k.p1",
		"SELECT item, tag, value FROM tags"
		" WHERE item = ANY (?1::int8[])" };
	struct query *q = database_bulk(c->db, &get);

	for (size_t i = 0; i < c->n; i++) {
		query_i64(q, 1, c->keys[i]);
		query_row(q);
	}
	while (query_step(q)) {
		found->list = arena_grow(c->a, found->list, found->n,
		    &found->cap, 256, sizeof(*found->list));
		struct found_tag *f = &found->list[found->n++];
		f->item = query_get_i64(q, 0);
		f->tag.tag = (uint32_t)query_get_i64(q, 1);
		struct str value = query_get_str(q, 2);
		f->tag.value = value.p == NULL ? STR_NONE :
		    arena_copy(c->a, value);
	}
	enum err e = query_end(&q, c->w);
	for (size_t i = 0; i < found->n; i++)
		found->list[i].tag.name = item_store_name_text(c->st,
		    found->list[i].tag.tag);
	if (found->n > 1)
		qsort(found->list, found->n, sizeof(*found->list),
		    found_order);
	return e;
}

/* -- One pair -- */

/* The TTL may have changed; `r` is as stored. */
static void
move_expiry(struct item_tx *tx, const struct task *t, struct result_row *r)
{
	if (!r->exists)
		return;
	struct wall expires = result_expires(t, r);
	if (expires.us == r->expires_at.us)
		return;
	item_tx_touch_result(tx, r);
	r->expires_at = expires;
}

/* Update a stored pair and its result to the configuration in force. */
static enum err
rewrite_pair(struct item_tx *tx, const struct item_row *item, uint32_t id,
    const struct task *t, struct why *w)
{
	struct result_row *r;
	struct pair_row *p;
	enum err e = OK;

	if (t != NULL) {
		e = item_tx_result(tx, id, item->key, &r, w);
		if (e == OK)
			move_expiry(tx, t, r);
	}
	if (e == OK)
		e = worklist_follow_task(tx, item, id, t, w);
	if (e == OK)
		e = item_tx_pair(tx, id, item->key, &p, w);
	return e == OK && t != NULL ? pair_settle(tx, p, w) : e;
}

/* What pair_settle() may look at besides: pairs that depend on the task, and
 * results that it depends on. */
static enum err
want_neighbours(struct chunk *c)
{
	const struct task_config *config = item_store_config(c->st);
	enum err e = OK;

	for (size_t i = 0; i < config->tasks_n && e == OK; i++) {
		const struct task *t = &config->tasks[i];
		bool depends = false;
		uint32_t id = 0;
		for (size_t k = 0; k < t->depends_on_n; k++)
			depends |= str_eq(t->depends_on[k], c->task->name);
		for (size_t k = 0; k < c->task->depends_on_n; k++)
			depends |= str_eq(c->task->depends_on[k], t->name);
		if (!depends)
			continue;
		e = item_store_name(c->st, ITEM_NAME_TASK, t->name, false, &id,
		    c->w);
		for (size_t k = 0; id != 0 && k < c->n; k++)
			item_tx_want_pair_key(c->tx, id, c->keys[k]);
	}
	return e;
}

/* No other daemon changes their tags meanwhile. */
static enum err
lock_items(struct chunk *c)
{
	static const struct sql lock = { NULL, "SELECT key FROM items"
	    " WHERE key = ANY (?1::int8[]) ORDER BY key FOR UPDATE" };

	if (!database_is_postgresql(c->db))
		return OK;
	struct query *q = database_bulk(c->db, &lock);
	for (size_t i = 0; i < c->n; i++) {
		query_i64(q, 1, c->keys[i]);
		query_row(q);
	}
	return query_end(&q, c->w);
}

static enum err
rewrite_items(struct chunk *c)
{
	struct found_tags found = { NULL, 0, 0 };
	struct item_tag *tags;
	size_t at = 0, n = 0;
	enum err e = lock_items(c);

	if (e == OK)
		e = find_tags(c, &found);
	for (size_t i = 0; i < c->n; i++)
		item_tx_want_pair_key(c->tx, c->id, c->keys[i]);
	if (e == OK && c->task != NULL)
		e = want_neighbours(c);
	if (e == OK)
		e = item_tx_load(c->tx, c->w);
	tags = ARENA_ARRAY(c->a, struct item_tag, found.n);
	for (size_t i = 0; i < c->n && e == OK; i++) {
		struct item_row item = { .exists = true, .key = c->keys[i],
			.tags = tags + n };
		for (; at < found.n && found.list[at].item == c->keys[i];
		    at++) {
			tags[n++] = found.list[at].tag;
			item.tags_n++;
		}
		e = rewrite_pair(c->tx, &item, c->id, c->task, c->w);
	}
	return e;
}

/* -- A chunk -- */

/*
 * The task whose turn it is; id 0: none is left, or others have them.  What
 * another daemon has loaded is left to those that use it.
 */
static enum err
take_task(struct chunk *c)
{
	static const struct sql next = {
		"SELECT task, at, generation FROM rewrites ORDER BY task"
		" LIMIT 1",
		"SELECT task, at, generation FROM rewrites ORDER BY task"
		" LIMIT 1 FOR UPDATE SKIP LOCKED" };
	struct query *q = database_query_sql(c->db, &next);

	if (query_step(q)) {
		c->id = (uint32_t)query_get_i64(q, 0);
		c->at = query_get_i64(q, 1);
		c->generation = (uint64_t)query_get_i64(q, 2);
	}
	enum err e = query_end(&q, c->w);
	if (e != OK || c->id == 0)
		return e;
	c->foreign = c->generation != item_store_config(c->st)->generation;
	c->task = task_find(item_store_config(c->st),
	    item_store_name_text(c->st, c->id));
	return OK;
}

static void
note_progress(struct chunk *c)
{
	struct query *q = database_query(c->db, c->last ?
	    "DELETE FROM rewrites WHERE task = ?1" :
	    "UPDATE rewrites SET at = ?2, done = done + ?3 WHERE task = ?1");

	query_i64(q, 1, c->id);
	if (!c->last) {
		query_i64(q, 2, c->keys[c->n - 1]);
		query_i64(q, 3, (int64_t)c->n);
	}
	query_post(&q);
}

static enum err
rewrite_chunk(struct chunk *c)
{
	enum err e = find_keys(c);

	if (e == OK)
		e = rewrite_items(c);
	if (e == OK)
		note_progress(c);
	generation_rewrites_changed(c->st);
	return e;
}

enum err
generation_rewrite(struct item_tx *tx, size_t max, bool *more, struct why *w)
{
	struct item_store *st = item_tx_store(tx);
	struct chunk c = { .tx = tx, .st = st, .max = max, .w = w,
		.db = item_store_database(st), .a = item_tx_arena(tx) };
	const struct item_rewrite *left;
	size_t n = 0;

	CHECK(max > 0 && !item_tx_continues(tx));
	*more = false;
	enum err e = take_task(&c);
	if (e == OK && c.id != 0 && !c.foreign)
		e = rewrite_chunk(&c);
	if (database_is_postgresql(c.db))
		generation_rewrites_changed(st);
	if (e == OK)
		e = generation_rewrites(st, &left, &n, w);
	*more = n > 0 && !c.foreign;
	if (e == OK && n == 0 && c.id != 0)
		generation_tell_rewritten(tx, c.generation);
	return e;
}

/* -- For claims -- */

enum err
generation_check_pair(struct item_tx *tx, struct pair_row *p, bool *fine,
    struct why *w)
{
	struct item_store *st = item_tx_store(tx);
	const struct item_rewrite *list, *r;
	struct item_row *item;
	uint32_t lane = p->lane;
	size_t n;
	enum err e = generation_rewrites(st, &list, &n, w);

	*fine = true;
	r = generation_rewrite_of(list, n, p->task);
	if (e != OK || r == NULL || p->item <= r->at)
		return e;
	e = item_tx_item(tx, p->item, &item, w);
	if (e == OK)
		e = rewrite_pair(tx, item, p->task, task_find(
		    item_store_config(st), item_store_name_text(st, p->task)),
		    w);
	*fine = p->exists && p->lease == 0 && p->lane == lane &&
	    p->due_ms != PAIR_DUE_NONE && p->due_ms <=
	    item_tx_now(tx).us / 1000;
	return e;
}
