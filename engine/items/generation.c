/*
 * What a load compares is numbers, not names: a task that a migration has
 * renamed is the same task, and so are tags.
 */
#include "engine/items/generation_own.h"
#include "engine/items/item_store_own.h"

#include "base/text.h"
#include "engine/items/task_cron.h"

/* A task of the configuration before, with the numbers of its names. */
struct known_task {
	uint32_t id;
	const struct task *task;     /* NULL: it was not there */
	uint32_t *tags;              /* sorted */
	size_t tags_n;
};
struct load {
	struct item_tx *tx;
	struct item_store *st;
	struct database *db;
	const struct task_config *config;    /* the new one */
	uint64_t generation;
	struct known_task *before, *after;
	size_t before_n, after_n;
	bool rewrites;
	struct why *w;
};

/* -- The last generation -- */

static enum err
last_generation(struct database *db, uint64_t *id, struct buf *hash,
    struct why *w)
{
	struct query *q = database_query(db,
	    "SELECT id, hash FROM generations ORDER BY id DESC LIMIT 1");

	*id = 0;
	if (query_step(q)) {
		*id = (uint64_t)query_get_i64(q, 0);
		buf_put_str(hash, query_get_str(q, 1));
	}
	return query_end(&q, w);
}

static enum err
read_generation(struct item_store *st, uint64_t id, struct buf *json,
    struct why *w)
{
	struct query *q = database_query(item_store_database(st),
	    "SELECT config FROM generations WHERE id = ?1");

	query_i64(q, 1, (int64_t)id);
	if (query_step(q))
		buf_put_str(json, query_get_str(q, 0));
	return query_end(&q, w);
}

static void
name_generation(struct task_config *c, uint64_t id, struct str hash)
{
	c->generation = id;
	c->hash = arena_copy(&c->arena, hash);
}

/* What was judged when it was loaded is not refused because a limit is lower
 * by now: nothing else could be loaded then. */
static const struct item_limits unlimited = {
#define UNLIMITED(name, value, help) INT64_MAX / 2,
	ITEM_LIMITS(UNLIMITED)
#undef UNLIMITED
};

enum err
generation_open(struct item_store *st, struct why *w)
{
	FREED(buf_free) struct buf hash = BUF_INIT;
	FREED(buf_free) struct buf json = BUF_INIT;
	struct task_config *c;
	uint64_t id;
	enum err e = last_generation(item_store_database(st), &id, &hash, w);

	if (e != OK || id == item_store_config(st)->generation)
		return e;
	e = read_generation(st, id, &json, w);
	if (e == OK)
		e = task_config_read(buf_str(&json), &unlimited, &c, NULL, w);
	if (e != OK)
		return e;
	name_generation(c, id, buf_str(&hash));
	item_store_names_changed(st);
	item_store_use_config(st, c);
	return OK;
}

enum err
generation_follow(struct item_tx *tx, struct why *w)
{
	struct item_store *st = item_tx_store(tx);
	struct database *db = item_store_database(st);
	uint64_t before = item_store_config(st)->generation;

	/* SQLite: nobody else writes to items.db. */
	if (!database_is_postgresql(db))
		return OK;
	/* It lets others in that do the same, and no load. */
	struct query *q = database_query(db,
	    "LOCK TABLE generations IN ROW SHARE MODE");
	query_post(&q);
	enum err e = generation_open(st, w);
	st->outdated |= e == OK &&
	    item_store_config(st)->generation != before;
	return e;
}

/* -- Numbers of names -- */

static int
number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int
known_order(const void *a, const void *b)
{
	const struct known_task *x = a, *y = b;

	return number_order(&x->id, &y->id);
}

static enum err
know_task(struct load *l, const struct task *t, bool make,
    struct known_task *out)
{
	out->task = t;
	out->tags = ARENA_ARRAY(item_tx_arena(l->tx), uint32_t, t->tags_n);
	out->tags_n = t->tags_n;
	enum err e = item_store_name(l->st, ITEM_NAME_TASK, t->name, make,
	    &out->id, l->w);
	for (size_t i = 0; i < t->tags_n && e == OK; i++)
		e = item_store_name(l->st, ITEM_NAME_TAG, t->tags[i], make,
		    &out->tags[i], l->w);
	if (t->tags_n > 0)
		qsort(out->tags, t->tags_n, sizeof(*out->tags), number_order);
	return e;
}

/* Sorted by number. */
static enum err
know_tasks(struct load *l, const struct task_config *c, bool make,
    struct known_task **out, size_t *n)
{
	struct known_task *list = ARENA_ARRAY(item_tx_arena(l->tx),
	    struct known_task, c->tasks_n);
	enum err e = OK;

	for (*n = 0; *n < c->tasks_n && e == OK; (*n)++)
		e = know_task(l, &c->tasks[*n], make, &list[*n]);
	if (*n > 0)
		qsort(list, *n, sizeof(*list), known_order);
	*out = list;
	return e;
}

static const struct known_task *
known_find(const struct known_task *list, size_t n, uint32_t id)
{
	const struct known_task key = { .id = id };

	return n == 0 ? NULL : bsearch(&key, list, n, sizeof(*list),
	    known_order);
}

/* -- What differs -- */

static bool
ttl_equal(const struct task_ttl *a, const struct task_ttl *b)
{
	if (a->kind != b->kind || a->after_us != b->after_us)
		return false;
	if (a->kind != TASK_TTL_CRON)
		return true;
	const struct task_cron *x = a->cron, *y = b->cron;
	return x->minutes == y->minutes && x->hours == y->hours &&
	    x->days == y->days && x->months == y->months &&
	    x->weekdays == y->weekdays && x->either_day == y->either_day;
}

static bool
texts_equal(const struct str *a, size_t a_n, const struct str *b, size_t b_n)
{
	if (a_n != b_n)
		return false;
	for (size_t i = 0; i < a_n; i++)
		if (!str_eq(a[i], b[i]))
			return false;
	return true;
}

static bool
lanes_equal(const struct task *a, const struct task *b)
{
	if (a->tag_limits_n != b->tag_limits_n)
		return false;
	for (size_t i = 0; i < a->tag_limits_n; i++)
		if (!str_eq(a->tag_limits[i].key, b->tag_limits[i].key))
			return false;
	return true;
}

static bool
pairs_equal(const struct known_task *a, const struct known_task *b)
{
	const struct task *x = a->task, *y = b->task;

	return str_eq(x->version, y->version) && ttl_equal(&x->ttl, &y->ttl) &&
	    lanes_equal(x, y) && a->tags_n == b->tags_n &&
	    (a->tags_n == 0 || memcmp(a->tags, b->tags,
	    a->tags_n * sizeof(*a->tags)) == 0) &&
	    texts_equal(x->depends_on, x->depends_on_n, y->depends_on,
	    y->depends_on_n);
}

/* -- Which tasks are rewritten -- */

static enum err
count_tagged(struct load *l, uint32_t tag, int64_t *n)
{
	struct query *q = database_query(l->db,
	    "SELECT COUNT(*) FROM tags WHERE tag = ?1");

	query_i64(q, 1, tag);
	if (query_step(q))
		*n += query_get_i64(q, 0);
	return query_end(&q, l->w);
}

static enum err
has_results(struct load *l, uint32_t task, bool *has)
{
	struct query *q = database_query(l->db,
	    "SELECT 1 FROM task_results WHERE task = ?1 LIMIT 1");

	query_i64(q, 1, task);
	*has = query_step(q);
	return query_end(&q, l->w);
}

/* Items to look at: pairs that are there, and those of tags that came. */
static enum err
count_items(struct load *l, const struct known_task *before,
    const struct known_task *after, uint32_t task, int64_t *total)
{
	struct task_state_row *state;
	enum err e = item_tx_task_state(l->tx, task, &state, l->w);

	*total = 0;
	for (size_t i = 0; i < PAIR_STATE_COUNT && e == OK; i++)
		*total += state->pairs[i];
	for (size_t i = 0; after != NULL && i < after->tags_n && e == OK; i++) {
		uint32_t tag = after->tags[i];
		if (before == NULL || before->tags_n == 0 ||
		    bsearch(&tag, before->tags, before->tags_n,
		    sizeof(tag), number_order) == NULL)
			e = count_tagged(l, tag, total);
	}
	return e;
}

static void
put_rewrite(struct load *l, uint32_t task, int64_t total)
{
	struct query *q = database_query(l->db, "INSERT INTO rewrites"
	    " (task, generation, at, done, total) VALUES (?1, ?2, 0, 0, ?3)"
	    " ON CONFLICT (task) DO UPDATE SET total = excluded.total");

	query_i64(q, 1, task);
	query_i64(q, 2, (int64_t)l->generation);
	query_i64(q, 3, total);
	l->rewrites = true;
	query_post(&q);
}

/* `before` or `after` is NULL when the task came or went. */
static enum err
plan_task(struct load *l, const struct known_task *before,
    const struct known_task *after)
{
	uint32_t task = after == NULL ? before->id : after->id;
	int64_t total;
	bool results = false;

	if (before != NULL && after != NULL && pairs_equal(before, after))
		return OK;
	enum err e = count_items(l, before, after, task, &total);
	/* What a task that went has stored stays as it is. */
	if (e == OK && total == 0 && after != NULL)
		e = has_results(l, task, &results);
	if (e == OK && (total > 0 || results))
		put_rewrite(l, task, total);
	return e;
}

/* What an earlier generation left begins anew; each chunk may be repeated. */
static enum err
restart_rewrites(struct load *l)
{
	struct query *q = database_query(l->db, "UPDATE rewrites"
	    " SET generation = ?1, at = 0, done = 0");

	query_i64(q, 1, (int64_t)l->generation);
	query_post(&q);
	q = database_query(l->db, "SELECT 1 FROM rewrites LIMIT 1");
	l->rewrites = query_step(q);
	return query_end(&q, l->w);
}

static enum err
plan_rewrites(struct load *l)
{
	enum err e = restart_rewrites(l);

	for (size_t i = 0; i < l->before_n && e == OK; i++) {
		const struct known_task *b = &l->before[i];
		if (b->id != 0)
			e = plan_task(l, b, known_find(l->after, l->after_n,
			    b->id));
	}
	for (size_t i = 0; i < l->after_n && e == OK; i++) {
		const struct known_task *a = &l->after[i];
		if (known_find(l->before, l->before_n, a->id) == NULL)
			e = plan_task(l, NULL, a);
	}
	generation_rewrites_changed(l->st);
	return e;
}

/* -- Seeds -- */

static enum err
put_seed(struct load *l, const struct task_seed *seed, size_t at)
{
	const struct item_actor nobody = { .run_item = 0 };
	struct item_tag_text *tags = ARENA_ARRAY(item_tx_arena(l->tx),
	    struct item_tag_text, seed->tags_n);
	const struct item_create create = { .id = seed->id, .data = seed->data,
		.tags = tags, .tags_n = seed->tags_n };
	enum item_effect effect;
	struct item_row *row;
	struct why w = WHY_INIT;
	enum err e = OK;

	for (size_t i = 0; i < seed->tags_n && e == OK; i++)
		e = item_tag_read(seed->tags[i], &tags[i], &w);
	if (e == OK)
		e = item_create(l->tx, &nobody, &create, &effect, &row, &w);
	if (e != OK)
		why(l->w, e, "seeds[%zu]: %s", at, w.text);
	return e;
}

static enum err
put_seeds(struct load *l)
{
	const struct task_config *c = l->config;

	for (size_t i = 0; i < c->seeds_n; i++)
		item_tx_want_item(l->tx, c->seeds[i].id);
	enum err e = item_tx_load(l->tx, l->w);
	for (size_t i = 0; i < c->seeds_n && e == OK; i++)
		e = put_seed(l, &c->seeds[i], i);
	return e;
}

/* -- All of it -- */

static enum err
put_generation(struct load *l, struct str files)
{
	struct query *q = database_query(l->db, "INSERT INTO generations"
	    " (loaded_at, hash, config, files) VALUES (?1, ?2, ?3, ?4)"
	    " RETURNING id");

	query_i64(q, 1, item_tx_now(l->tx).us);
	query_str(q, 2, l->config->hash);
	query_str(q, 3, l->config->json);
	query_str(q, 4, files);
	if (query_step(q))
		l->generation = (uint64_t)query_get_i64(q, 0);
	return query_end(&q, l->w);
}

void
generation_tell_rewritten(struct item_tx *tx, uint64_t generation)
{
	const struct item_actor nobody = { .run_item = 0 };

	item_event_put(tx, &nobody, &(struct item_event){
	    .type = ITEM_EVENT_CONFIG_REWRITTEN,
	    .detail = arena_printf(item_tx_arena(tx), "\"generation\":%llu",
	    (unsigned long long)generation) });
}

static void
tell_loaded(struct load *l)
{
	const struct item_actor nobody = { .run_item = 0 };
	FREED(buf_free) struct buf detail = BUF_INIT;

	buf_printf(&detail, "\"generation\":%llu,\"hash\":",
	    (unsigned long long)l->generation);
	text_json(&detail, l->config->hash);
	item_event_put(l->tx, &nobody, &(struct item_event){
	    .type = ITEM_EVENT_CONFIG_LOADED,
	    .detail = arena_copy(item_tx_arena(l->tx), buf_str(&detail)) });
	if (!l->rewrites)
		generation_tell_rewritten(l->tx, l->generation);
}

static enum err
load_config(struct load *l, struct task_config *config, struct str files)
{
	enum err e = know_tasks(l, item_store_config(l->st), false, &l->before,
	    &l->before_n);

	if (e == OK)
		e = put_generation(l, files);
	config->generation = l->generation;
	if (e == OK)
		e = generation_migrate(l->tx, config, l->w);
	if (e == OK)
		e = know_tasks(l, config, true, &l->after, &l->after_n);
	if (e == OK)
		e = plan_rewrites(l);
	item_tx_use_config(l->tx, config);
	if (e == OK)
		e = put_seeds(l);
	if (e == OK)
		tell_loaded(l);
	return e;
}

/* One load at a time, also by several daemons. */
static enum err
lock_generations(struct database *db, struct why *w)
{
	return database_is_postgresql(db) ?
	    database_do(db, "LOCK TABLE generations IN EXCLUSIVE MODE", w) :
	    OK;
}

enum err
generation_load(struct item_tx *tx, struct task_config *config,
    struct str files, uint64_t *generation, struct why *w)
{
	FREED(buf_free) struct buf hash = BUF_INIT;
	struct item_store *st = item_tx_store(tx);
	struct load l = { .tx = tx, .st = st, .config = config, .w = w,
		.db = item_store_database(st) };

	CHECK(!item_tx_continues(tx));
	enum err e = lock_generations(l.db, w);
	st->loads = true;
	if (e == OK)
		e = last_generation(l.db, generation, &hash, w);
	/* Another daemon's, or that of an earlier start. */
	if (e == OK)
		e = generation_open(st, w);
	if (e != OK || (*generation != 0 &&
	    str_eq(config->hash, buf_str(&hash)))) {
		task_config_free(&config);
		return e;
	}
	e = load_config(&l, config, files);
	*generation = l.generation;
	return e;
}
