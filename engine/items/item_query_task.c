/* Tags, worklists, tasks: what waits, and why. */
#include "engine/items/bucket.h"
#include "engine/items/item_answer.h"
#include "os/clock.h"

#define CHUNK 200

/* -- Tags -- */

static bool
has_text(const struct str *list, size_t n, struct str text)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i], text))
			return true;
	return false;
}

/* The tasks of the configuration that a tag maps. */
static void
put_tasks_of(struct item_store *s, struct str tag, struct buf *b)
{
	const struct task_config *c = item_store_config(s);

	json_array(b, "tasks");
	for (size_t i = 0; i < c->tasks_n; i++)
		if (has_text(c->tasks[i].tags, c->tasks[i].tags_n, tag))
			json_item(b, c->tasks[i].name);
	buf_put_char(b, ']');
}

enum err
item_query_tags(struct item_store *s, struct str after, unsigned limit,
    struct buf *out, struct why *w)
{
	struct mono until = mono_add_ms(clock_mono(), ANSWER_MS_MAX);
	FREED(buf_free) struct buf last = BUF_INIT;
	unsigned n = 0;
	bool more = false;

	enum err e = answer_limit(&limit, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_array(out, "tags");
	struct query *q = database_query(item_store_database(s),
	    "SELECT n.name, (SELECT count(*) FROM tags t WHERE t.tag = n.id)"
	    " FROM names n WHERE n.kind = ?1 AND n.name > ?2"
	    " ORDER BY n.name");
	query_i64(q, 1, ITEM_NAME_TAG);
	query_str(q, 2, after.n == 0 ? STR("") : after);
	while (!more && query_step(q)) {
		more = n == limit ||
		    (n > 0 && !mono_before(clock_mono(), until));
		if (more)
			break;
		json_object(out, NULL);
		json_str(out, "name", query_get_str(q, 0));
		json_u64(out, "items", (uint64_t)query_get_i64(q, 1));
		put_tasks_of(s, query_get_str(q, 0), out);
		buf_put_char(out, '}');
		buf_clear(&last);
		buf_put_str(&last, query_get_str(q, 0));
		n++;
	}
	buf_put_char(out, ']');
	answer_text(out, "next", more ? buf_str(&last) : STR_NONE);
	buf_put_char(out, '}');
	return query_end(&q, w);
}

/* -- Lanes -- */

struct lanes {
	uint32_t *list;
	size_t n, cap;
	struct arena arena;
};

static void
lanes_free(struct lanes *l)
{
	arena_free(&l->arena);
}

/* Those in which the task has pairs that are planned, one look at the index
 * each. */
static enum err
load_lanes(struct item_store *s, uint32_t task, struct lanes *l,
    struct why *w)
{
	int64_t lane = -1;
	bool found = true;
	enum err e = OK;

	l->n = 0;
	while (found && e == OK) {
		struct query *q = database_query(item_store_database(s),
		    "SELECT lane FROM worklist WHERE task = ?1 AND lane > ?2"
		    " AND due IS NOT NULL ORDER BY lane LIMIT 1");
		query_i64(q, 1, task);
		query_i64(q, 2, lane);
		found = query_step(q);
		if (found)
			lane = query_get_i64(q, 0);
		e = query_end(&q, w);
		if (!found || e != OK)
			break;
		l->list = arena_grow(&l->arena, l->list, l->n, &l->cap, 16,
		    sizeof(*l->list));
		l->list[l->n++] = (uint32_t)lane;
	}
	return e;
}

/* -- Worklists -- */

struct worklist_row {
	int64_t due_ms, item;
	uint32_t task;
	enum pair_state state;
	struct str id;
};
struct worklist_list {
	struct item_store *store;
	uint32_t tag;
	struct str value;
	unsigned limit;
	struct wall now;
	struct mono until;
	struct arena arena;
	struct worklist_row *rows;
	size_t n, cap;
};

static void
worklist_list_free(struct worklist_list *l)
{
	arena_free(&l->arena);
}

static struct query *
next_pairs(struct worklist_list *l, uint32_t task, uint32_t lane,
    int64_t due_ms, int64_t item)
{
	/* The rows behind (due, item), and for each its tag. */
	struct query *q = database_query(item_store_database(l->store),
	    "SELECT w.due, w.item, w.state, t.tag, t.value, i.id"
	    " FROM (SELECT due, item, state FROM worklist WHERE task = ?1"
	    " AND lane = ?2 AND due IS NOT NULL AND due <= ?3 AND"
	    " due >= ?4 AND (due > ?4 OR item > ?5) ORDER BY due, item"
	    " LIMIT ?6) w LEFT JOIN tags t ON t.item = w.item AND"
	    " t.tag = ?7 LEFT JOIN items i ON i.key = w.item"
	    " ORDER BY w.due, w.item");

	query_i64(q, 1, task);
	query_i64(q, 2, lane);
	query_i64(q, 3, l->now.us / 1000);
	query_i64(q, 4, due_ms);
	query_i64(q, 5, item);
	query_i64(q, 6, CHUNK);
	query_i64(q, 7, l->tag);
	return q;
}

static bool
has_tag(const struct worklist_list *l, struct query *q)
{
	if (query_is_null(q, 3) || query_is_null(q, 5))
		return false;
	return l->value.p == NULL || (!query_is_null(q, 4) &&
	    str_eq(query_get_str(q, 4), l->value));
}

/* The first pairs of a lane whose items have the tag. */
static enum err
collect_lane(struct worklist_list *l, uint32_t task, uint32_t lane,
    struct why *w)
{
	int64_t due_ms = PAIR_DUE_FIRST, item = 0;
	size_t found = 0, n = CHUNK;
	enum err e = OK;

	while (e == OK && n == CHUNK && found < l->limit &&
	    mono_before(clock_mono(), l->until)) {
		struct query *q = next_pairs(l, task, lane, due_ms, item);
		for (n = 0; query_step(q); n++) {
			due_ms = query_get_i64(q, 0);
			item = query_get_i64(q, 1);
			if (found == l->limit || !has_tag(l, q))
				continue;
			l->rows = arena_grow(&l->arena, l->rows, l->n, &l->cap,
			    32, sizeof(*l->rows));
			l->rows[l->n++] = (struct worklist_row){ due_ms, item,
			    task, (enum pair_state)query_get_i64(q, 2),
			    arena_copy(&l->arena, query_get_str(q, 5)) };
			found++;
		}
		e = query_end(&q, w);
	}
	return e;
}

static int
by_due(const void *a, const void *b)
{
	const struct worklist_row *x = a, *y = b;

	if (x->due_ms != y->due_ms)
		return x->due_ms < y->due_ms ? -1 : 1;
	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static enum err
collect_task(struct worklist_list *l, const struct task *t, struct why *w)
{
	FREED(lanes_free) struct lanes lanes = { .n = 0 };
	uint32_t id;
	enum err e = item_store_name(l->store, ITEM_NAME_TASK, t->name, false,
	    &id, w);

	if (e == OK && id != 0)
		e = load_lanes(l->store, id, &lanes, w);
	for (size_t i = 0; i < lanes.n && e == OK; i++)
		e = collect_lane(l, id, lanes.list[i], w);
	return e;
}

static enum err
collect_worklist(struct worklist_list *l, struct str tag, struct str task,
    struct why *w)
{
	const struct task_config *c = item_store_config(l->store);
	enum err e = OK;

	for (size_t i = 0; i < c->tasks_n && e == OK; i++) {
		const struct task *t = &c->tasks[i];
		if (has_text(t->tags, t->tags_n, tag) &&
		    (task.n == 0 || task_matches(task, t->name)))
			e = collect_task(l, t, w);
	}
	if (l->n > 1)
		qsort(l->rows, l->n, sizeof(*l->rows), by_due);
	return e;
}

enum err
item_query_worklist(struct item_store *s, struct str tag, struct str task,
    struct str value, unsigned limit, struct wall now, struct buf *out,
    struct why *w)
{
	FREED(worklist_list_free) struct worklist_list l = { .store = s,
	    .value = value, .now = now,
	    .until = mono_add_ms(clock_mono(), ANSWER_MS_MAX) };

	enum err e = answer_limit(&limit, w);
	l.limit = limit;
	if (e == OK)
		e = answer_name(s, ITEM_NAME_TAG, "tag", tag, &l.tag, w);
	if (e == OK)
		e = collect_worklist(&l, tag, task, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_str(out, "tag", tag);
	json_array(out, "worklist");
	for (size_t i = 0; i < MIN(l.n, limit); i++) {
		const struct worklist_row *r = &l.rows[i];
		json_object(out, NULL);
		json_str(out, "id", r->id);
		json_str(out, "task", item_store_name_text(s, r->task));
		json_str(out, "state", answer_state(r->state, r->due_ms, now));
		answer_due(out, r->due_ms);
		buf_put_char(out, '}');
	}
	buf_put_str(out, STR("]}"));
	return OK;
}

/* -- Why a task waits -- */

struct waiting {
	struct item_store *store;
	const struct task *task;
	uint32_t id;
	struct wall now;
	struct wall until;           /* of the lane that is looked at */
	struct buf name;             /* of the bucket that ends last */
};

static enum err
look_at_bucket(struct waiting *x, const struct task_rate *rate,
    struct str name, struct str shown, struct why *w)
{
	struct bucket_row row = { .name = name };
	bool found = false;

	if (!rate->set)
		return OK;
	struct query *q = database_query(item_store_database(x->store),
	    "SELECT full_at FROM buckets WHERE name = ?1");
	query_str(q, 1, name);
	if (query_step(q)) {
		row.full_at = answer_wall(q, 0);
		found = true;
	}
	enum err e = query_end(&q, w);
	if (e != OK || !found)
		return e;
	struct wall next = bucket_next(&row, rate, x->now);
	if (next.us > x->now.us && next.us > x->until.us) {
		x->until = next;
		buf_clear(&x->name);
		buf_put_str(&x->name, shown);
	}
	return OK;
}

static struct str
named(struct buf *b, const char *kind, struct str a, struct str rest)
{
	buf_clear(b);
	buf_printf(b, "%s %.*s", kind, STR_FMT(a));
	if (rest.n > 0)
		buf_printf(b, " %.*s", STR_FMT(rest));
	return buf_str(b);
}

static enum err
look_at_groups(struct waiting *x, struct buf *b, struct why *w)
{
	const struct task_config *c = item_store_config(x->store);
	enum err e = OK;

	for (size_t i = 0; i < c->groups_n && e == OK; i++)
		if (task_matches(c->groups[i].pattern, x->task->name))
			e = look_at_bucket(x, &c->groups[i].rate, named(b,
			    "group", c->groups[i].pattern, STR_NONE),
			    c->groups[i].pattern, w);
	return e;
}

static enum err
look_at_keys(struct waiting *x, struct str lane, struct buf *b,
    struct why *w)
{
	const struct task *t = x->task;
	struct str key;
	enum err e = OK;

	/* The first is the task's name. */
	(void)str_split(&lane, '\n', &key);
	while (e == OK && str_split(&lane, '\n', &key))
		for (size_t i = 0; i < t->tag_limits_n && e == OK; i++)
			if (str_eq(t->tag_limits[i].key, key))
				e = look_at_bucket(x, &t->tag_limits[i].rate,
				    named(b, "tag", t->name, key), key, w);
	return e;
}

/* All buckets of a lane: x->until and x->name of the one that ends last. */
static enum err
look_at_lane(struct waiting *x, uint32_t lane, struct why *w)
{
	const struct task *t = x->task;
	FREED(buf_free) struct buf b = BUF_INIT;
	enum err e = OK;

	x->until = x->now;
	if (t->global_limit)
		e = look_at_bucket(x, &item_store_config(x->store)->global,
		    STR("global"), STR("global"), w);
	if (e == OK && t->group_limits)
		e = look_at_groups(x, &b, w);
	if (e == OK)
		e = look_at_bucket(x, &t->rate, named(&b, "task", t->name,
		    STR_NONE), t->name, w);
	return e == OK ? look_at_keys(x,
	    item_store_name_text(x->store, lane), &b, w) : e;
}

static enum err
is_due(struct waiting *x, uint32_t lane, bool *due, struct why *w)
{
	struct query *q = database_query(item_store_database(x->store),
	    "SELECT 1 FROM worklist WHERE task = ?1 AND lane = ?2 AND"
	    " due IS NOT NULL AND due <= ?3 LIMIT 1");

	query_i64(q, 1, x->id);
	query_i64(q, 2, lane);
	query_i64(q, 3, x->now.us / 1000);
	*due = query_step(q);
	return query_end(&q, w);
}

/* "waiting": the first of its lanes that gets tokens again, when something is
 * due and each such lane lacks them. */
static enum err
put_waiting(struct waiting *x, const struct lanes *lanes, struct buf *out,
    struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct wall first = ITEM_TIME_NONE;
	char iso[WALL_ISO_MAX];
	bool due, runs = false;
	enum err e = OK;

	for (size_t i = 0; i < lanes->n && e == OK && !runs; i++) {
		e = is_due(x, lanes->list[i], &due, w);
		if (e != OK || !due)
			continue;
		e = look_at_lane(x, lanes->list[i], w);
		runs = x->until.us <= x->now.us;
		if (runs || (first.us != ITEM_TIME_NONE.us &&
		    first.us <= x->until.us))
			continue;
		first = x->until;
		wall_to_iso(first, iso);
		buf_clear(&text);
		buf_printf(&text, "bucket %.*s until %.8s",
		    STR_FMT(buf_str(&x->name)), iso + 11);
	}
	answer_text(out, "waiting", runs || text.n == 0 ? STR_NONE :
	    buf_str(&text));
	return e;
}

/* -- Tasks -- */

struct task_numbers {
	bool paused, tripped, rewriting;
	int64_t pairs[PAIR_STATE_COUNT], expired;
	int64_t runs, wall_us, cpu_us, fetches, bytes, done, total;
};

static enum err
load_numbers(struct item_store *s, uint32_t id, struct task_numbers *n,
    struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT paused, tripped, unprocessed, stale, fresh, retry, leased,"
	    " blocked, failed, runs, wall_us, cpu_us, fetches, bytes"
	    " FROM task_state WHERE task = ?1");

	query_i64(q, 1, id);
	if (query_step(q)) {
		n->paused = query_get_i64(q, 0) != 0;
		n->tripped = query_get_i64(q, 1) != 0;
		for (int k = 0; k < PAIR_STATE_COUNT; k++)
			n->pairs[k] = query_get_i64(q, 2 + k);
		n->runs = query_get_i64(q, 9);
		n->wall_us = query_get_i64(q, 10);
		n->cpu_us = query_get_i64(q, 11);
		n->fetches = query_get_i64(q, 12);
		n->bytes = query_get_i64(q, 13);
	}
	enum err e = query_end(&q, w);
	if (e != OK)
		return e;
	q = database_query(item_store_database(s),
	    "SELECT done, total FROM rewrites WHERE task = ?1");
	query_i64(q, 1, id);
	if (query_step(q)) {
		n->rewriting = true;
		n->done = query_get_i64(q, 0);
		n->total = query_get_i64(q, 1);
	}
	return query_end(&q, w);
}

/*
 * Fresh pairs whose time is over.  Without retries all dates up to now are
 * theirs, and the index alone answers.
 */
static enum err
count_expired(struct item_store *s, uint32_t id, uint32_t lane,
    struct wall now, struct task_numbers *n, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    n->pairs[PAIR_RETRY] == 0 ?
	    "SELECT count(*) FROM worklist WHERE task = ?1 AND lane = ?2 AND"
	    " due IS NOT NULL AND due > ?3 AND due <= ?4" :
	    "SELECT count(*) FROM worklist WHERE task = ?1 AND lane = ?2 AND"
	    " due IS NOT NULL AND due > ?3 AND due <= ?4 AND state = ?5");

	query_i64(q, 1, id);
	query_i64(q, 2, lane);
	query_i64(q, 3, PAIR_DUE_STALE);
	query_i64(q, 4, now.us / 1000);
	if (n->pairs[PAIR_RETRY] != 0)
		query_i64(q, 5, PAIR_FRESH);
	if (query_step(q))
		n->expired += query_get_i64(q, 0);
	return query_end(&q, w);
}

static void
put_numbers(const struct task_numbers *n, struct buf *b)
{
	const int64_t *p = n->pairs;

	if (n->rewriting) {
		json_object(b, "rewriting");
		json_u64(b, "done", (uint64_t)n->done);
		json_u64(b, "total", (uint64_t)n->total);
		buf_put_char(b, '}');
	} else {
		json_null(b, "rewriting");
	}
	json_object(b, "counts");
	json_u64(b, "unprocessed", (uint64_t)p[PAIR_UNPROCESSED]);
	json_u64(b, "stale", (uint64_t)p[PAIR_STALE]);
	json_u64(b, "fresh", (uint64_t)MAX(p[PAIR_FRESH] - n->expired, 0));
	json_u64(b, "expired", (uint64_t)n->expired);
	json_u64(b, "retry", (uint64_t)p[PAIR_RETRY]);
	json_u64(b, "leased", (uint64_t)p[PAIR_LEASED]);
	json_u64(b, "blocked", (uint64_t)p[PAIR_BLOCKED]);
	json_u64(b, "failed", (uint64_t)p[PAIR_FAILED]);
	buf_put_char(b, '}');
	json_object(b, "used");
	json_u64(b, "runs", (uint64_t)n->runs);
	json_u64(b, "wall_ms", (uint64_t)n->wall_us / 1000);
	json_u64(b, "cpu_ms", (uint64_t)n->cpu_us / 1000);
	json_u64(b, "fetches", (uint64_t)n->fetches);
	json_u64(b, "bytes", (uint64_t)n->bytes);
	buf_put_char(b, '}');
}

static enum err
put_task(struct item_store *s, const struct task *t,
    struct wall now, struct buf *out, struct why *w)
{
	FREED(lanes_free) struct lanes lanes = { .n = 0 };
	struct task_numbers n = { .paused = false };
	struct waiting x = { .store = s, .task = t, .now = now };

	enum err e = item_store_name(s, ITEM_NAME_TASK, t->name, false, &x.id,
	    w);
	if (e == OK && x.id != 0)
		e = load_numbers(s, x.id, &n, w);
	if (e == OK && x.id != 0)
		e = load_lanes(s, x.id, &lanes, w);
	for (size_t i = 0; i < lanes.n && e == OK; i++)
		e = count_expired(s, x.id, lanes.list[i], now, &n, w);
	json_object(out, NULL);
	json_str(out, "task", t->name);
	json_str(out, "version", t->version);
	json_bool(out, "paused", n.paused);
	json_bool(out, "tripped", n.tripped);
	if (e == OK)
		e = put_waiting(&x, &lanes, out, w);
	put_numbers(&n, out);
	buf_put_char(out, '}');
	buf_free(&x.name);
	return e;
}

enum err
item_query_tasks(struct item_store *s, struct str task, struct wall now,
    struct buf *out, struct why *w)
{
	const struct task_config *c = item_store_config(s);
	const struct task *one = task.n == 0 ? NULL : task_find(c, task);

	if (task.n > 0 && one == NULL)
		return why_field(w, ERR_ABSENT, "task", "there is no such "
		    "task");
	if (one != NULL)
		return put_task(s, one, now, out, w);
	enum err e = OK;
	json_object(out, NULL);
	json_array(out, "tasks");
	for (size_t i = 0; i < c->tasks_n && e == OK; i++)
		e = put_task(s, &c->tasks[i], now, out, w);
	buf_put_str(out, STR("]}"));
	return e;
}
