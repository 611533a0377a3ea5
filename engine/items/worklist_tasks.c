/*
 * What people do with whole tasks: pause and resume, expire results, handle
 * failures.
 */
#include "base/json_writer.h"
#include "engine/items/worklist_own.h"

/* -- Patterns -- */

struct matched {
	const struct task **tasks;
	size_t n, cap;
};

static enum err
match_tasks(struct item_tx *tx, struct str pattern, struct matched *m,
    struct why *w)
{
	const struct task_config *c = item_store_config(item_tx_store(tx));

	*m = (struct matched){ .n = 0 };
	for (size_t i = 0; i < c->tasks_n; i++) {
		if (!task_matches(pattern, c->tasks[i].name))
			continue;
		m->tasks = arena_grow(item_tx_arena(tx), m->tasks, m->n,
		    &m->cap, 8, sizeof(*m->tasks));
		m->tasks[m->n++] = &c->tasks[i];
	}
	return m->n > 0 ? OK : why_field(w, ERR_ABSENT, "task",
	    "no task is called %.*s", (int)MIN(pattern.n, 200), pattern.p);
}

static void
put_task_event(struct item_tx *tx, const struct item_actor *actor,
    enum item_event_type type, struct str task)
{
	item_event_put(tx, actor, &(struct item_event){ .type = type,
	    .task = task });
}

/* -- Pause and resume -- */

/* Resuming lets a tripped task go on, too. */
static enum err
pause_task(struct item_tx *tx, const struct item_actor *actor,
    const struct task *t, bool paused, struct why *w)
{
	struct task_state_row *s;
	uint32_t id;
	enum err e = worklist_task_id(tx, t, &id, w);

	if (e != OK || id == 0)
		return e;
	e = item_tx_task_state(tx, id, &s, w);
	if (e != OK || (s->paused == paused && (paused || !s->tripped)))
		return e;
	item_tx_touch_task_state(tx, s);
	s->paused = paused;
	if (!paused)
		s->tripped = false;
	put_task_event(tx, actor, paused ? ITEM_EVENT_TASK_PAUSED :
	    ITEM_EVENT_TASK_RESUMED, t->name);
	return OK;
}

enum err
worklist_pause(struct item_tx *tx, const struct item_actor *actor,
    struct str pattern, bool paused, const struct str **names, size_t *n,
    struct why *w)
{
	struct matched m;
	enum err e = match_tasks(tx, pattern, &m, w);

	*n = 0;
	if (e != OK)
		return e;
	struct str *list = ARENA_ARRAY(item_tx_arena(tx), struct str, m.n);
	*names = list;
	for (size_t i = 0; i < m.n && e == OK; i++) {
		list[(*n)++] = m.tasks[i]->name;
		e = pause_task(tx, actor, m.tasks[i], paused, w);
	}
	return e;
}

/* -- Expiry -- */

/* Keys of pairs of a task after `at`: all, or of the items with a tag. */
static enum err
next_items(struct item_tx *tx, uint32_t task, uint32_t tag, int64_t at,
    size_t max, int64_t **keys, size_t *n, struct why *w)
{
	static const struct sql all = { "SELECT item FROM worklist"
	    " WHERE task = ?1 AND item > ?2 ORDER BY item LIMIT ?3", NULL };
	static const struct sql tagged = { "SELECT item FROM tags"
	    " WHERE tag = ?1 AND item > ?2 ORDER BY item LIMIT ?3", NULL };
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), tag != 0 ? &tagged : &all);

	query_i64(q, 1, tag != 0 ? tag : task);
	query_i64(q, 2, at);
	query_i64(q, 3, (int64_t)max);
	*keys = ARENA_ARRAY(item_tx_arena(tx), int64_t, max);
	*n = 0;
	while (query_step(q))
		(*keys)[(*n)++] = query_get_i64(q, 0);
	enum err e = query_end(&q, w);
	for (size_t i = 0; i < *n && e == OK; i++) {
		item_tx_want_pair_key(tx, task, (*keys)[i]);
		item_tx_want_key(tx, (*keys)[i]);
	}
	return e == OK ? item_tx_load(tx, w) : e;
}

static enum err
expire_item(struct item_tx *tx, const struct item_actor *actor,
    uint32_t task, int64_t key, struct str prefix, size_t *n, struct why *w)
{
	struct item_row *item;
	struct pair_row *p;
	enum err e = item_tx_item(tx, key, &item, w);

	if (e == OK)
		e = item_tx_pair(tx, task, key, &p, w);
	if (e != OK || !p->exists || !item->exists ||
	    (prefix.p != NULL && !str_starts(item->id, prefix)))
		return e;
	*n += 1;
	return worklist_expire_pair(tx, actor, item, p, false, w);
}

/* One chunk of one task; `*end` when it has no more pairs. */
static enum err
expire_chunk(struct item_tx *tx, const struct item_actor *actor,
    const struct task *t, uint32_t tag, struct str prefix,
    struct worklist_place *at, size_t max, bool *end, size_t *n,
    struct why *w)
{
	int64_t *keys;
	size_t keys_n = 0;
	uint32_t id;
	enum err e = worklist_task_id(tx, t, &id, w);

	if (e == OK && id != 0)
		e = next_items(tx, id, tag, at->item, max, &keys, &keys_n, w);
	for (size_t i = 0; i < keys_n && e == OK; i++) {
		e = expire_item(tx, actor, id, keys[i], prefix, n, w);
		at->item = keys[i];
	}
	*end = keys_n < max;
	return e;
}

enum err
worklist_expire(struct item_tx *tx, const struct item_actor *actor,
    struct str pattern, struct str tag, struct str prefix,
    struct worklist_place *at, size_t max, bool *more, size_t *n,
    struct why *w)
{
	uint32_t tag_id = 0;
	struct matched m;
	bool end = true;
	enum err e = match_tasks(tx, pattern, &m, w);

	*more = false;
	if (e == OK && tag.p != NULL)
		e = item_store_name(item_tx_store(tx), ITEM_NAME_TAG, tag,
		    false, &tag_id, w);
	if (e != OK || (tag.p != NULL && tag_id == 0))
		return e;
	e = item_tx_flush(tx, w);
	if (e == OK && at->task < m.n)
		e = expire_chunk(tx, actor, m.tasks[at->task], tag_id, prefix,
		    at, MAX(max, 1u), &end, n, w);
	if (end)
		*at = (struct worklist_place){ .task = at->task + 1 };
	*more = e == OK && at->task < m.n;
	return e;
}

/* -- Failures -- */

static enum err
unfail_pair(struct item_tx *tx, const struct item_actor *actor, uint32_t task,
    int64_t key, size_t *requeued, struct why *w)
{
	struct item_row *item;
	struct pair_row *p;
	enum err e = item_tx_pair(tx, task, key, &p, w);

	if (e != OK || !p->exists || p->state != PAIR_FAILED)
		return e;
	e = item_tx_item(tx, key, &item, w);
	if (e != OK)
		return e;
	item_tx_touch_pair(tx, p);
	pair_unfail(p);
	*requeued += 1;
	item_event_put(tx, actor, &(struct item_event){
	    .type = ITEM_EVENT_TASK_UNFAILED, .item = item,
	    .task = item_store_name_text(item_tx_store(tx), task) });
	return pair_settle(tx, p, w);
}

static enum err
untrip_task(struct item_tx *tx, const struct item_actor *actor, uint32_t task,
    struct why *w)
{
	struct task_state_row *s;
	enum err e = item_tx_task_state(tx, task, &s, w);

	if (e != OK || !s->tripped)
		return e;
	item_tx_touch_task_state(tx, s);
	s->tripped = false;
	put_task_event(tx, actor, ITEM_EVENT_TASK_RESUMED,
	    item_store_name_text(item_tx_store(tx), task));
	return OK;
}

/* The failure's pair, and whether it is open.  ABSENT. */
static enum err
find_failure(struct item_tx *tx, uint64_t failure, uint32_t *task,
    int64_t *item, bool *open, struct why *w)
{
	static const struct sql get = { "SELECT task, item, handled_at"
	    " FROM failures WHERE id = ?1", NULL };
	enum err e = item_tx_flush_all(tx, w);

	*task = 0;
	if (e != OK)
		return e;
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), &get);
	query_i64(q, 1, (int64_t)failure);
	if (query_step(q)) {
		*task = (uint32_t)query_get_i64(q, 0);
		*item = query_get_i64(q, 1);
		*open = query_is_null(q, 2);
	}
	e = query_end(&q, w);
	return e == OK && *task == 0 ? why_field(w, ERR_ABSENT, "failure",
	    "there is none with the number %llu",
	    (unsigned long long)failure) : e;
}

static enum err
mark_failure(struct item_tx *tx, uint64_t failure, struct str by,
    struct str note, struct why *w)
{
	static const struct sql mark = { "UPDATE failures SET handled_at = ?2,"
	    " handled_by = ?3, note = ?4 WHERE id = ?1", NULL };
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), &mark);

	query_i64(q, 1, (int64_t)failure);
	query_i64(q, 2, item_tx_now(tx).us);
	query_str(q, 3, by);
	query_str(q, 4, note);
	query_step(q);
	return query_end(&q, w);
}

enum err
worklist_handle(struct item_tx *tx, const struct item_actor *actor,
    uint64_t failure, struct str by, struct str note, bool retry,
    size_t *handled, size_t *requeued, struct why *w)
{
	uint32_t task;
	int64_t item = 0;
	bool open = false;
	unsigned left;
	enum err e = find_failure(tx, failure, &task, &item, &open, w);

	*handled = *requeued = 0;
	if (e == OK && retry)
		e = unfail_pair(tx, actor, task, item, requeued, w);
	if (e != OK || !open)
		return e;
	e = mark_failure(tx, failure, by, note, w);
	*handled = 1;
	if (e == OK)
		e = worklist_outstanding(tx, task, 1, &left, w);
	return e == OK && left == 0 ? untrip_task(tx, actor, task, w) : e;
}

/* Pairs with open failures; `message` empty: any. */
static enum err
failed_items(struct item_tx *tx, uint32_t task, struct str message,
    int64_t **keys, size_t *n, struct why *w)
{
	static const struct sql get = { "SELECT DISTINCT item FROM failures"
	    " WHERE task = ?1 AND handled_at IS NULL"
	    " AND (?2 = '' OR message = ?2)", NULL };
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), &get);
	size_t cap = 0;

	query_i64(q, 1, task);
	query_str(q, 2, message.p == NULL ? STR("") : message);
	*keys = NULL;
	*n = 0;
	while (query_step(q)) {
		*keys = arena_grow(item_tx_arena(tx), *keys, *n, &cap, 64,
		    sizeof(**keys));
		(*keys)[(*n)++] = query_get_i64(q, 0);
	}
	enum err e = query_end(&q, w);
	for (size_t i = 0; i < *n && e == OK; i++) {
		item_tx_want_pair_key(tx, task, (*keys)[i]);
		item_tx_want_key(tx, (*keys)[i]);
	}
	return e == OK ? item_tx_load(tx, w) : e;
}

static enum err
mark_failures(struct item_tx *tx, uint32_t task, struct str message,
    struct str by, struct str note, size_t *handled, struct why *w)
{
	static const struct sql mark = { "UPDATE failures SET handled_at = ?3,"
	    " handled_by = ?4, note = ?5 WHERE task = ?1"
	    " AND handled_at IS NULL AND (?2 = '' OR message = ?2)", NULL };
	struct query *q = database_query_sql(item_store_database(
	    item_tx_store(tx)), &mark);

	query_i64(q, 1, task);
	query_str(q, 2, message.p == NULL ? STR("") : message);
	query_i64(q, 3, item_tx_now(tx).us);
	query_str(q, 4, by);
	query_str(q, 5, note);
	query_step(q);
	*handled += (size_t)query_changes(q);
	return query_end(&q, w);
}

/* The statement comes last: it is not undone with the rows. */
static enum err
handle_task(struct item_tx *tx, const struct item_actor *actor,
    const struct task *t, struct str message, struct str by, struct str note,
    bool retry, size_t *handled, size_t *requeued, struct why *w)
{
	int64_t *keys = NULL;
	size_t n = 0;
	uint32_t id;
	enum err e = worklist_task_id(tx, t, &id, w);

	if (e != OK || id == 0)
		return e;
	if (retry)
		e = failed_items(tx, id, message, &keys, &n, w);
	for (size_t i = 0; i < n && e == OK; i++)
		e = unfail_pair(tx, actor, id, keys[i], requeued, w);
	if (e == OK)
		e = untrip_task(tx, actor, id, w);
	return e == OK ? mark_failures(tx, id, message, by, note, handled, w) :
	    e;
}

enum err
worklist_handle_task(struct item_tx *tx, const struct item_actor *actor,
    struct str pattern, struct str message, struct str by, struct str note,
    bool retry, size_t *handled, size_t *requeued, struct why *w)
{
	struct matched m;
	enum err e = match_tasks(tx, pattern, &m, w);

	*handled = *requeued = 0;
	if (e == OK)
		e = item_tx_flush_all(tx, w);
	for (size_t i = 0; i < m.n && e == OK; i++)
		e = handle_task(tx, actor, m.tasks[i], message, by, note, retry,
		    handled, requeued, w);
	return e;
}
