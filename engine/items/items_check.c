/*
 * The check of a whole store.  Items are read in chunks by key, each with what
 * belongs to it in one snapshot, so that a daemon may work meanwhile.  Nothing
 * is written.
 */
#include "engine/items/generation_own.h"

#include <openssl/sha.h>
#include <stdarg.h>

#include "engine/items/item_store_own.h"
#include "os/clock.h"

#define CHUNK 1000u
#define BLOBS_CHUNK 8u           /* of up to 16 MiB */

struct check {
	struct item_store *st;
	struct database *db;
	const struct task_config *config;
	uint32_t *task_ids;          /* of the configuration's tasks */
	struct wall now;
	void (*differs)(void *arg, struct str text);
	void *arg;
	uint64_t *checked, told;
	struct arena arena;          /* of the chunk */
	const struct item_rewrite *rewrites;
	size_t rewrites_n;
	struct why *w;
};

static void tell(struct check *, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
tell(struct check *c, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	if (c->told++ >= ITEMS_CHECK_TOLD_MAX)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->differs(c->arg, (struct str){ text,
	    MIN((size_t)MAX(n, 0), sizeof(text) - 1) });
}

/* An id as far as it is shown. */
#define ID_FMT(s) (int)MIN((s).n, 100), (s).p

/* -- A chunk of items, and rows of other tables for them, sorted by item -- */

struct checked_item {
	int64_t key;
	struct str id;
	int64_t aliases_n, blobs_n;  /* as the row says */
	int64_t aliases, blobs;      /* as counted */
	int64_t alias_item;          /* of the alias of its id; 0: none */
	bool alias_own;
};
struct checked_tag {
	int64_t item;
	struct item_tag tag;
};
struct chunk {
	struct checked_item *items;
	size_t items_n, items_cap;
	struct checked_tag *tags;
	size_t tags_n, tags_cap, tags_at;
	struct result_row *results;
	size_t results_n, results_cap, results_at;
	struct pair_row *pairs;
	size_t pairs_n, pairs_cap, pairs_at;
};

#define CHUNK_ADD(c, ch, list)                                              \
	((ch)->list = arena_grow(&(c)->arena, (ch)->list, (ch)->list##_n,     \
	    &(ch)->list##_cap, 256, sizeof(*(ch)->list)),                     \
	    &(ch)->list[(ch)->list##_n++])

static struct str
kept_text(struct check *c, struct query *q, int column)
{
	struct str s = query_get_str(q, column);

	return s.p == NULL ? STR_NONE : arena_copy(&c->arena, s);
}

static struct wall
time_of(struct query *q, int column)
{
	return query_is_null(q, column) ? ITEM_TIME_NONE :
	    (struct wall){ query_get_i64(q, column) };
}

static enum err
read_items(struct check *c, int64_t after, struct chunk *ch)
{
	struct query *q = database_query(c->db, "SELECT i.key, i.id,"
	    " i.aliases_n, i.blobs_n, a.item, a.own,"
	    " (SELECT COUNT(*) FROM aliases x WHERE x.item = i.key AND"
	    " x.own = 0), (SELECT COUNT(*) FROM item_blobs b WHERE"
	    " b.item = i.key) FROM items i LEFT JOIN aliases a ON a.id = i.id"
	    " WHERE i.key > ?1 ORDER BY i.key LIMIT ?2");

	query_i64(q, 1, after);
	query_i64(q, 2, CHUNK);
	while (query_step(q)) {
		struct checked_item *i = CHUNK_ADD(c, ch, items);
		i->key = query_get_i64(q, 0);
		i->id = kept_text(c, q, 1);
		i->aliases_n = query_get_i64(q, 2);
		i->blobs_n = query_get_i64(q, 3);
		i->alias_item = query_get_i64(q, 4);
		i->alias_own = query_get_i64(q, 5) != 0;
		i->aliases = query_get_i64(q, 6);
		i->blobs = query_get_i64(q, 7);
	}
	return query_end(&q, c->w);
}

static struct query *
query_chunk(struct check *c, const char *text, const struct chunk *ch)
{
	struct query *q = database_query(c->db, text);

	query_i64(q, 1, ch->items[0].key);
	query_i64(q, 2, ch->items[ch->items_n - 1].key);
	return q;
}

static enum err
read_tags(struct check *c, struct chunk *ch)
{
	struct query *q = query_chunk(c, "SELECT item, tag, value FROM tags"
	    " WHERE item BETWEEN ?1 AND ?2 ORDER BY item, tag", ch);

	while (query_step(q)) {
		struct checked_tag *t = CHUNK_ADD(c, ch, tags);
		t->item = query_get_i64(q, 0);
		t->tag.tag = (uint32_t)query_get_i64(q, 1);
		t->tag.value = kept_text(c, q, 2);
	}
	enum err e = query_end(&q, c->w);
	for (size_t i = 0; i < ch->tags_n; i++)
		ch->tags[i].tag.name = item_store_name_text(c->st,
		    ch->tags[i].tag.tag);
	return e;
}

static enum err
read_results(struct check *c, struct chunk *ch)
{
	struct query *q = query_chunk(c, "SELECT item, task, task_version,"
	    " is_successful, is_invalidated, completed_at, ttl_override,"
	    " expires_at FROM task_results WHERE item BETWEEN ?1 AND ?2"
	    " ORDER BY item, task", ch);

	while (query_step(q)) {
		struct result_row *r = CHUNK_ADD(c, ch, results);
		*r = (struct result_row){ .exists = true,
			.item = query_get_i64(q, 0),
			.task = (uint32_t)query_get_i64(q, 1),
			.task_version = kept_text(c, q, 2),
			.is_successful = query_get_i64(q, 3) != 0,
			.is_invalidated = query_get_i64(q, 4) != 0,
			.completed_at = time_of(q, 5),
			.ttl_override_us = query_is_null(q, 6) ?
			    RESULT_TTL_NONE : query_get_i64(q, 6),
			.expires_at = time_of(q, 7) };
	}
	return query_end(&q, c->w);
}

static enum err
read_pairs(struct check *c, struct chunk *ch)
{
	struct query *q = query_chunk(c, "SELECT item, task, state, due, lane,"
	    " lease, lease_until, attempt FROM worklist"
	    " WHERE item BETWEEN ?1 AND ?2 ORDER BY item, task", ch);

	while (query_step(q)) {
		struct pair_row *p = CHUNK_ADD(c, ch, pairs);
		*p = (struct pair_row){ .exists = true,
			.item = query_get_i64(q, 0),
			.task = (uint32_t)query_get_i64(q, 1),
			.state = (enum pair_state)query_get_i64(q, 2),
			.due_ms = query_is_null(q, 3) ? PAIR_DUE_NONE :
			    query_get_i64(q, 3),
			.lane = (uint32_t)query_get_i64(q, 4),
			.lease = (uint64_t)query_get_i64(q, 5),
			.lease_until = time_of(q, 6),
			.attempt = (unsigned)query_get_i64(q, 7) };
	}
	return query_end(&q, c->w);
}

/* The rows of one item: `*at` moves past them. */
#define ROWS_OF(ch, list, key, first)                                       \
	rows_of((ch)->list, (ch)->list##_n, sizeof(*(ch)->list),              \
	    offsetof(__typeof__(*(ch)->list), item), key, &(ch)->list##_at,   \
	    first)
static size_t
rows_of(const void *list, size_t n, size_t bytes, size_t item_at, int64_t key,
    size_t *at, size_t *first)
{
	const char *rows = list;

	for (; *at < n; (*at)++) {
		int64_t item;
		memcpy(&item, rows + *at * bytes + item_at, sizeof(item));
		if (item >= key)
			break;
	}
	*first = *at;
	for (; *at < n; (*at)++) {
		int64_t item;
		memcpy(&item, rows + *at * bytes + item_at, sizeof(item));
		if (item != key)
			break;
	}
	return *at - *first;
}

/* -- An item and its pairs -- */

/* All of an item, as it is stored. */
struct item_view {
	const struct checked_item *item;
	struct item_tag *tags;
	size_t tags_n;
	const struct result_row *results;
	size_t results_n;
	const struct pair_row *pairs;
	size_t pairs_n;
};

static const struct result_row *
result_of(const struct item_view *v, uint32_t task)
{
	static const struct result_row none = { .exists = false };

	for (size_t i = 0; i < v->results_n; i++)
		if (v->results[i].task == task)
			return &v->results[i];
	return &none;
}

static const struct pair_row *
pair_of(const struct item_view *v, uint32_t task)
{
	for (size_t i = 0; i < v->pairs_n; i++)
		if (v->pairs[i].task == task)
			return &v->pairs[i];
	return NULL;
}

/* Rewriting has not come to the item: nothing is promised so far. */
static bool
is_ahead(const struct check *c, uint32_t task, int64_t item)
{
	const struct item_rewrite *r = generation_rewrite_of(c->rewrites,
	    c->rewrites_n, task);

	return r != NULL && item > r->at;
}

static bool
tags_map(const struct item_view *v, const struct task *t)
{
	for (size_t i = 0; i < v->tags_n; i++)
		for (size_t k = 0; k < t->tags_n; k++)
			if (str_eq(v->tags[i].name, t->tags[k]))
				return true;
	return false;
}

static bool
dependencies_met(const struct check *c, const struct item_view *v,
    const struct task *t)
{
	for (size_t i = 0; i < t->depends_on_n; i++) {
		const struct task *d = task_find(c->config, t->depends_on[i]);
		if (!result_is_fresh(d, result_of(v,
		    c->task_ids[d - c->config->tasks]), c->now))
			return false;
	}
	return true;
}

static void
check_lane(struct check *c, const struct item_view *v, const struct task *t,
    const struct pair_row *p)
{
	FREED(buf_free) struct buf expected = BUF_INIT;
	struct str lane = item_store_name_text(c->st, p->lane);

	task_lane_name(t, v->tags, v->tags_n, &expected);
	if (!str_eq(buf_str(&expected), lane))
		tell(c, "item %.*s, task %.*s: its lane does not follow from "
		    "its tags", ID_FMT(v->item->id), STR_FMT(t->name));
}

static bool
check_lease(struct check *c, const struct item_view *v, const struct task *t,
    const struct pair_row *p)
{
	bool leased = p->state == PAIR_LEASED;

	if (leased == (p->lease != 0) &&
	    leased == (p->lease_until.us != ITEM_TIME_NONE.us))
		return true;
	tell(c, "item %.*s, task %.*s: lease and state %s do not fit",
	    ID_FMT(v->item->id), STR_FMT(t->name),
	    (unsigned)p->state < PAIR_STATE_COUNT ?
	    pair_state_text(p->state) : "?");
	return false;
}

static const char *
due_text(int64_t due_ms, char out[static 32])
{
	if (due_ms == PAIR_DUE_NONE)
		return "none";
	snprintf(out, 32, "%lld ms", (long long)due_ms);
	return out;
}

static void
check_state(struct check *c, const struct item_view *v, const struct task *t,
    const struct pair_row *p)
{
	if ((unsigned)p->state >= PAIR_STATE_COUNT) {
		tell(c, "item %.*s, task %.*s: %u is no state",
		    ID_FMT(v->item->id), STR_FMT(t->name),
		    (unsigned)p->state);
		return;
	}
	if (!check_lease(c, v, t, p))
		return;
	if (p->state == PAIR_BLOCKED) {
		if (dependencies_met(c, v, t))
			tell(c, "item %.*s, task %.*s: blocked, but all that "
			    "it depends on is there", ID_FMT(v->item->id),
			    STR_FMT(t->name));
		else if (p->due_ms != PAIR_DUE_NONE)
			tell(c, "item %.*s, task %.*s: blocked, but due",
			    ID_FMT(v->item->id), STR_FMT(t->name));
		return;
	}
	struct pair_plan plan = pair_derive(t, result_of(v, p->task), p,
	    c->now);
	if (plan.state != p->state)
		tell(c, "item %.*s, task %.*s: %s, but %s follows from its "
		    "result", ID_FMT(v->item->id), STR_FMT(t->name),
		    pair_state_text(p->state), pair_state_text(plan.state));
	else if (plan.due_ms != p->due_ms)
		tell(c, "item %.*s, task %.*s: its due time is %s, but %s "
		    "follows from its result", ID_FMT(v->item->id),
		    STR_FMT(t->name), due_text(p->due_ms, (char[32]){ "" }),
		    due_text(plan.due_ms, (char[32]){ "" }));
	else if (plan.attempt != p->attempt)
		tell(c, "item %.*s, task %.*s: it has failed %u times, but %u "
		    "follows from its result", ID_FMT(v->item->id),
		    STR_FMT(t->name), p->attempt, plan.attempt);
}

static void
check_pair(struct check *c, const struct item_view *v, const struct task *t,
    uint32_t id)
{
	const struct pair_row *p = pair_of(v, id);
	const struct result_row *r = result_of(v, id);
	bool mapped = tags_map(v, t);

	if (is_ahead(c, id, v->item->key))
		return;
	if (mapped && p == NULL)
		tell(c, "item %.*s, task %.*s: its tags map the task, but "
		    "there is no pair", ID_FMT(v->item->id),
		    STR_FMT(t->name));
	if (!mapped && p != NULL)
		tell(c, "item %.*s, task %.*s: a pair, but no tag maps the "
		    "task", ID_FMT(v->item->id), STR_FMT(t->name));
	if (mapped && p != NULL) {
		check_lane(c, v, t, p);
		check_state(c, v, t, p);
	}
	if (r->exists && result_expires(t, r).us != r->expires_at.us)
		tell(c, "item %.*s, task %.*s: its expiry does not follow "
		    "from the TTL", ID_FMT(v->item->id), STR_FMT(t->name));
}

static bool
is_configured(const struct check *c, uint32_t task)
{
	for (size_t i = 0; i < c->config->tasks_n; i++)
		if (c->task_ids[i] == task)
			return true;
	return false;
}

static void
check_item_row(struct check *c, const struct item_view *v)
{
	const struct checked_item *i = v->item;

	if (i->alias_item != i->key || !i->alias_own)
		tell(c, "item %.*s: it has no alias of its own", ID_FMT(i->id));
	if (i->aliases != i->aliases_n)
		tell(c, "item %.*s: aliases_n is %lld, but it has %lld "
		    "aliases", ID_FMT(i->id), (long long)i->aliases_n,
		    (long long)i->aliases);
	if (i->blobs != i->blobs_n)
		tell(c, "item %.*s: blobs_n is %lld, but it has %lld blobs",
		    ID_FMT(i->id), (long long)i->blobs_n,
		    (long long)i->blobs);
	for (size_t k = 0; k < v->tags_n; k++)
		if (v->tags[k].name.p == NULL)
			tell(c, "item %.*s: tag number %u has no name",
			    ID_FMT(i->id), (unsigned)v->tags[k].tag);
}

static void
check_item(struct check *c, const struct item_view *v)
{
	check_item_row(c, v);
	for (size_t i = 0; i < c->config->tasks_n; i++)
		if (c->task_ids[i] != 0)
			check_pair(c, v, &c->config->tasks[i], c->task_ids[i]);
	for (size_t i = 0; i < v->pairs_n; i++) {
		uint32_t task = v->pairs[i].task;
		if (!is_configured(c, task) &&
		    !is_ahead(c, task, v->item->key))
			tell(c, "item %.*s: a pair of task number %u, which "
			    "the configuration does not have",
			    ID_FMT(v->item->id), (unsigned)task);
	}
}

static void
check_chunk(struct check *c, struct chunk *ch)
{
	for (size_t i = 0; i < ch->items_n; i++) {
		int64_t key = ch->items[i].key;
		size_t tags_at, results_at, pairs_at;
		struct item_view v = { .item = &ch->items[i] };
		v.tags_n = ROWS_OF(ch, tags, key, &tags_at);
		v.tags = ARENA_ARRAY(&c->arena, struct item_tag, v.tags_n);
		for (size_t k = 0; k < v.tags_n; k++)
			v.tags[k] = ch->tags[tags_at + k].tag;
		v.results_n = ROWS_OF(ch, results, key, &results_at);
		v.results = ch->results + results_at;
		v.pairs_n = ROWS_OF(ch, pairs, key, &pairs_at);
		v.pairs = ch->pairs + pairs_at;
		check_item(c, &v);
		(*c->checked)++;
	}
}

static enum err
read_chunk(struct check *c, int64_t after, struct chunk *ch)
{
	enum err e = read_items(c, after, ch);

	if (e != OK || ch->items_n == 0)
		return e;
	e = read_tags(c, ch);
	if (e == OK)
		e = read_results(c, ch);
	if (e == OK)
		e = read_pairs(c, ch);
	generation_rewrites_changed(c->st);
	return e == OK ? generation_rewrites(c->st, &c->rewrites,
	    &c->rewrites_n, c->w) : e;
}

static enum err
check_items(struct check *c)
{
	int64_t after = 0;

	for (;;) {
		struct chunk ch = { .items = NULL };
		enum err e = database_begin_read(c->db, c->w);
		if (e != OK)
			return e;
		e = database_end(c->db, read_chunk(c, after, &ch), c->w);
		if (e != OK || ch.items_n == 0)
			return e;
		after = ch.items[ch.items_n - 1].key;
		check_chunk(c, &ch);
		arena_reset(&c->arena);
	}
}

/* -- Whole tables: each query finds nothing but faults -- */

struct check_query {
	const char *sentence;        /* with %s for the first column */
	const char *text;
};
#define NO_ITEM(rows, table)                                                 \
	{ rows " of item number %s, which is not there", "SELECT DISTINCT"    \
	    " CAST(t.item AS TEXT) FROM " table " t WHERE NOT EXISTS"         \
	    " (SELECT 1 FROM items i WHERE i.key = t.item)" }
static const struct check_query check_queries[] = {
	{ "alias %s leads to no item", "SELECT a.id FROM aliases a WHERE"
	    " NOT EXISTS (SELECT 1 FROM items i WHERE i.key = a.item)" },
	{ "alias %s is called its item's own, but the item has another id",
	    "SELECT a.id FROM aliases a JOIN items i ON i.key = a.item"
	    " WHERE a.own = 1 AND i.id <> a.id" },
	NO_ITEM("tags", "tags"),
	NO_ITEM("results", "task_results"),
	NO_ITEM("pairs", "worklist"),
	NO_ITEM("runs", "runs"),
	NO_ITEM("blobs", "item_blobs"),
	{ "failures of item number %s, which have no result",
	    "SELECT DISTINCT CAST(f.item AS TEXT) FROM failures f WHERE"
	    " NOT EXISTS (SELECT 1 FROM task_results r WHERE"
	    " r.task = f.task AND r.item = f.item)" },
	{ "a blob of item number %s has no bytes, or another number of them",
	    "SELECT DISTINCT CAST(t.item AS TEXT) FROM item_blobs t WHERE"
	    " NOT EXISTS (SELECT 1 FROM blobs b WHERE b.sha256 = t.sha256"
	    " AND length(b.bytes) = t.bytes)" },
	{ "the uses of %s blobs are not those of items",
	    "SELECT CAST(COUNT(*) AS TEXT) FROM blobs b WHERE b.uses <>"
	    " (SELECT COUNT(*) FROM item_blobs t WHERE t.sha256 = b.sha256)"
	    " HAVING COUNT(*) > 0" },
	{ "results of task number %s, which has no name",
	    "SELECT DISTINCT CAST(r.task AS TEXT) FROM task_results r WHERE"
	    " NOT EXISTS (SELECT 1 FROM names n WHERE n.id = r.task AND"
	    " n.kind = 1)" },
};
#undef NO_ITEM

static enum err
check_table(struct check *c, const struct check_query *row)
{
	struct query *q = database_query(c->db, row->text);

	while (query_step(q)) {
		struct str after = str_of(row->sentence), before = STR_NONE;
		str_split(&after, '%', &before);
		tell(c, "%.*s%.*s%.*s", STR_FMT(before),
		    ID_FMT(query_get_str(q, 0)), STR_FMT(str_from(after, 1)));
	}
	return query_end(&q, c->w);
}

/* -- The bytes of blobs -- */

static void
check_blob(struct check *c, struct str sha256, struct str bytes)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	uint8_t is[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)bytes.p, bytes.n, is);
	if (sha256.n == sizeof(is) && memcmp(is, sha256.p, sizeof(is)) == 0)
		return;
	for (size_t i = 0; i < sha256.n && i < sizeof(is); i++)
		buf_printf(&hex, "%02x", (unsigned char)sha256.p[i]);
	tell(c, "the bytes of blob %s have another digest", buf_text(&hex));
}

static enum err
check_blobs(struct check *c)
{
	FREED(buf_free) struct buf after = BUF_INIT;
	size_t n;

	do {
		struct query *q = database_query(c->db, "SELECT sha256, bytes"
		    " FROM blobs WHERE sha256 > ?1 ORDER BY sha256 LIMIT ?2");
		/* A copy: the query borrows its parameter. */
		struct str key = arena_copy(&c->arena, buf_str(&after));
		query_bytes(q, 1, key);
		query_i64(q, 2, BLOBS_CHUNK);
		for (n = 0; query_step(q); n++) {
			check_blob(c, query_get_str(q, 0),
			    query_get_str(q, 1));
			buf_clear(&after);
			buf_put_str(&after, query_get_str(q, 0));
		}
		enum err e = query_end(&q, c->w);
		if (e != OK)
			return e;
		arena_reset(&c->arena);
	} while (n == BLOBS_CHUNK);
	return OK;
}

/* -- The counts of task_state -- */

struct pair_counts {
	uint32_t task;
	int64_t pairs[PAIR_STATE_COUNT];
};

static struct pair_counts *
counts_of(struct check *c, struct map *counts, uint32_t task)
{
	struct pair_counts *n = map_get_id(counts, task);

	if (n == NULL) {
		n = ARENA_NEW(&c->arena, struct pair_counts);
		n->task = task;
		map_put_id(counts, task, n);
	}
	return n;
}

static enum err
count_pairs(struct check *c, struct map *counts)
{
	struct query *q = database_query(c->db, "SELECT task, state, COUNT(*)"
	    " FROM worklist GROUP BY task, state");

	while (query_step(q)) {
		int64_t state = query_get_i64(q, 1);
		if (state >= 0 && state < PAIR_STATE_COUNT)
			counts_of(c, counts, (uint32_t)query_get_i64(q, 0))->
			    pairs[state] = query_get_i64(q, 2);
	}
	return query_end(&q, c->w);
}

/* What is stored goes off: nothing must be left. */
static enum err
subtract_stored(struct check *c, struct map *counts)
{
	struct query *q = database_query(c->db, "SELECT task, unprocessed,"
	    " stale, fresh, retry, leased, blocked, failed FROM task_state");

	while (query_step(q)) {
		struct pair_counts *n = counts_of(c, counts,
		    (uint32_t)query_get_i64(q, 0));
		for (int i = 0; i < PAIR_STATE_COUNT; i++)
			n->pairs[i] -= query_get_i64(q, 1 + i);
	}
	return query_end(&q, c->w);
}

static void
tell_count(struct check *c, uint32_t task, enum pair_state state, int64_t n)
{
	struct str name = item_store_name_text(c->st, task);

	if (name.p == NULL)
		tell(c, "task number %u: the count of %s pairs is off by "
		    "%lld", (unsigned)task, pair_state_text(state),
		    (long long)n);
	else
		tell(c, "task %.*s: the count of %s pairs is off by %lld",
		    STR_FMT(name), pair_state_text(state), (long long)n);
}

static int
counts_order(const void *a, const void *b)
{
	const struct pair_counts *x = a, *y = b;

	return (x->task > y->task) - (x->task < y->task);
}

/* Those that are not 0, by task. */
static void
tell_counts(struct check *c, const struct map *counts)
{
	struct pair_counts *list = ARENA_ARRAY(&c->arena, struct pair_counts,
	    counts->n + 1);
	size_t n = 0;

	MAP_EACH(row, counts, struct pair_counts)
		list[n++] = *row;
	qsort(list, n, sizeof(*list), counts_order);
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < PAIR_STATE_COUNT; k++)
			if (list[i].pairs[k] != 0)
				tell_count(c, list[i].task,
				    (enum pair_state)k, list[i].pairs[k]);
}

static enum err
check_counts(struct check *c)
{
	FREED(map_free) struct map counts = MAP_INIT;
	enum err e = count_pairs(c, &counts);

	if (e == OK)
		e = subtract_stored(c, &counts);
	if (e == OK)
		tell_counts(c, &counts);
	arena_reset(&c->arena);
	return e;
}

/* -- All of it -- */

static void
tell_rest(struct check *c)
{
	uint64_t more = c->told - ITEMS_CHECK_TOLD_MAX;

	c->told = 0;
	tell(c, "and %llu more differences", (unsigned long long)more);
}

/* In one snapshot. */
static enum err
check_tables(struct check *c)
{
	enum err e = database_begin_read(c->db, c->w);

	if (e != OK)
		return e;
	for (size_t i = 0; i < ARRAY_LEN(check_queries) && e == OK; i++)
		e = check_table(c, &check_queries[i]);
	if (e == OK)
		e = check_counts(c);
	return database_end(c->db, e, c->w);
}

static enum err
number_tasks(struct check *c)
{
	enum err e = OK;

	c->task_ids = mem_array(c->config->tasks_n + 1, sizeof(*c->task_ids));
	for (size_t i = 0; i < c->config->tasks_n && e == OK; i++)
		e = item_store_name(c->st, ITEM_NAME_TASK,
		    c->config->tasks[i].name, false, &c->task_ids[i], c->w);
	return e;
}

enum err
items_check(struct item_store *st, void (*differs)(void *arg, struct str text),
    void *arg, uint64_t *checked, struct why *w)
{
	return items_check_at(st, clock_wall(), differs, arg, checked, w);
}

enum err
items_check_at(struct item_store *st, struct wall now,
    void (*differs)(void *arg, struct str text), void *arg, uint64_t *checked,
    struct why *w)
{
	struct check c = { .st = st, .db = item_store_database(st),
		.differs = differs, .arg = arg, .checked = checked, .w = w,
		.now = now, .arena = ARENA_INIT };
	enum err e = generation_open(st, w);

	*checked = 0;
	c.config = item_store_config(st);
	if (e == OK)
		e = database_check(c.db, w);
	if (e == OK)
		e = number_tasks(&c);
	if (e == OK)
		e = check_items(&c);
	if (e == OK)
		e = check_blobs(&c);
	if (e == OK)
		e = check_tables(&c);
	if (e == OK && c.told > ITEMS_CHECK_TOLD_MAX)
		tell_rest(&c);
	arena_free(&c.arena);
	free(c.task_ids);
	return e;
}
