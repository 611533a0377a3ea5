#include "engine/items/item_store.h"

#include <limits.h>
#include <zstd.h>

#include "engine/items/item_store_own.h"

#define APPLICATION 0x41726774u      /* "Argt" */
/* SQLite looks through the whole cache at most commits, while the database is
 * smaller than 1 GiB; 96 MB were no faster, at any size. */
#define CACHE_BYTES (32u << 20)
#define READER_CACHE_BYTES (16u << 20)
/* A checkpoint writes each page once, however often it has changed: fewer of
 * them save much where rows are changed at random. */
#define CHECKPOINT_PAGES 16384u

/* -- Opening -- */

/* These and all older ones. */
static void
free_names(struct item_names **names)
{
	while (*names != NULL) {
		struct item_names *n = *names;
		*names = n->older;
		arena_free(&n->arena);
		free(n);
	}
}

static enum err
open_file(const char *dir, const struct database_options *d,
    struct database **db, struct why *w)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/items.db", dir) >= PATH_MAX)
		return why(w, ERR_INPUT, "the path %s is too long", dir);
	return database_open(path, d, db, w);
}

static enum err
open_database(const struct item_store_options *o, struct database **db,
    struct why *w)
{
	const struct database_options d = {
		.application = APPLICATION,
		.cache_bytes = o->reader ? READER_CACHE_BYTES : CACHE_BYTES,
		.checkpoint_pages = CHECKPOINT_PAGES,
		.read_only = o->reader,
		.plans_by_key = !o->reader,
		.keeps_deleted = true,
	};
	const struct database_url url = { .url = o->url,
		.password_file = o->password_file };

	enum err e = o->dir != NULL ? open_file(o->dir, &d, db, w) :
	    database_open_url(&url, &d, db, w);
	if (e == OK && !o->reader)
		e = database_migrate(*db, item_schema, item_schema_n, w);
	return e;
}

enum err
item_store_open(const struct item_store_options *o, struct item_store **out,
    struct why *w)
{
	struct item_store *st = mem_new(sizeof(*st));

	st->limits = o->limits == NULL ? ITEM_LIMITS_DEFAULT : *o->limits;
	st->reader = o->reader;
	st->node = mem_copy_text(o->node == NULL ? "" : o->node);
	st->names = mem_new(sizeof(*st->names));
	enum err e = open_database(o, &st->db, w);
	if (e == OK && !o->reader && database_is_postgresql(st->db))
		st->claim_cursors = claim_cursors_new();
	if (e != OK)
		item_store_close(&st);
	*out = st;
	return e;
}

void
item_store_close(struct item_store **stp)
{
	struct item_store *st = *stp;

	if (st == NULL)
		return;
	item_store_drop_kept(st);
	database_close(&st->db);
	task_config_free(&st->config);
	task_config_free(&st->config_before);
	mem_free(&st->rewrites);
	map_free(&st->names_by_key);
	map_free(&st->names_by_id);
	free_names(&st->names);
	ZSTD_freeCCtx(st->packer);
	claim_cursors_free(&st->claim_cursors);
	mem_free(&st->node);
	mem_free(stp);
}

struct database *
item_store_database(struct item_store *st)
{
	return st->db;
}

const char *
item_store_node(const struct item_store *st)
{
	return st->node;
}

const struct item_limits *
item_store_limits(const struct item_store *st)
{
	return &st->limits;
}

struct claim_cursors *
item_store_claim_cursors(struct item_store *st)
{
	return st->claim_cursors;
}

uint64_t
item_store_cursor(const struct item_store *st)
{
	return st->cursor;
}

/* -- Configuration -- */

const struct task_config *
item_store_config(const struct item_store *st)
{
	static const struct task_config none = { .sessions = { "{}", 2 } };

	return st->config == NULL ? &none : st->config;
}

void
item_store_use_config(struct item_store *st, struct task_config *c)
{
	if (st->config != c)
		task_config_free(&st->config);
	st->config = c;
}

void
item_store_change_config(struct item_store *st, struct task_config *c)
{
	CHECK(!st->config_changed);
	st->config_before = st->config;
	st->config_changed = true;
	st->config = c;
}

void
item_store_committed(struct item_store *st)
{
	task_config_free(&st->config_before);
	st->config_changed = false;
	st->outdated = st->outdated && !st->loads;
	st->loads = false;
	claim_cursors_committed(st->claim_cursors);
}

bool
item_store_is_outdated(const struct item_store *st)
{
	return st->outdated;
}

static void
restore_config(struct item_store *st)
{
	st->loads = false;
	if (!st->config_changed)
		return;
	task_config_free(&st->config);
	st->config = st->config_before;
	st->config_before = NULL;
	st->config_changed = false;
}

/* -- Names -- */

static struct str
name_key(struct buf *b, enum item_name_kind kind, struct str name)
{
	buf_clear(b);
	buf_put_char(b, (char)kind);
	buf_put_str(b, name);
	return buf_str(b);
}

static struct item_name *
add_name(struct item_store *st, uint32_t id, enum item_name_kind kind,
    struct str name)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct arena *a = &st->names->arena;
	struct item_name *n = ARENA_NEW(a, struct item_name);

	n->id = id;
	n->kind = kind;
	n->key = arena_copy(a, name_key(&key, kind, name));
	n->name = str_from(n->key, 1);
	map_put(&st->names_by_key, n->key, n);
	map_put_id(&st->names_by_id, id, n);
	st->tag_names_n += kind == ITEM_NAME_TAG;
	return n;
}

static void
add_rows(struct item_store *st, struct query *q)
{
	while (query_step(q)) {
		uint32_t id = (uint32_t)query_get_i64(q, 0);
		if (map_get_id(&st->names_by_id, id) == NULL)
			add_name(st, id,
			    (enum item_name_kind)query_get_i64(q, 1),
			    query_get_str(q, 2));
	}
}

static enum err
load_names(struct item_store *st, struct why *w)
{
	if (st->names_loaded)
		return OK;
	struct query *q = database_query(st->db,
	    "SELECT id, kind, name FROM names");
	add_rows(st, q);
	enum err e = query_end(&q, w);
	st->names_loaded = e == OK;
	return e;
}

/* Another daemon may have made it since the names were loaded. */
static enum err
find_new_name(struct item_store *st, enum item_name_kind kind,
    struct str name, struct why *w)
{
	struct query *q = database_query(st->db,
	    "SELECT id, kind, name FROM names WHERE kind = ?1 AND name = ?2");

	query_i64(q, 1, kind);
	query_str(q, 2, name);
	add_rows(st, q);
	return query_end(&q, w);
}

static enum err
make_name(struct item_store *st, enum item_name_kind kind, struct str name,
    struct why *w)
{
	static const struct sql insert = {
		"INSERT INTO names (kind, name) VALUES (?1, ?2)"
		" ON CONFLICT (kind, name) DO UPDATE SET name = excluded.name"
		" RETURNING id, kind, name", NULL };

	if (kind == ITEM_NAME_TAG &&
	    (int64_t)st->tag_names_n >= st->limits.tag_names_max)
		return why_field(w, ERR_FULL, "tag_names", "there are %zu tag "
		    "names, and no more are allowed", st->tag_names_n);
	struct query *q = database_query_sql(st->db, &insert);
	query_i64(q, 1, kind);
	query_str(q, 2, name);
	add_rows(st, q);
	return query_end(&q, w);
}

enum err
item_store_name(struct item_store *st, enum item_name_kind kind,
    struct str name, bool make, uint32_t *id, struct why *w)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str k = name_key(&key, kind, name);
	enum err e = load_names(st, w);
	struct item_name *n = map_get(&st->names_by_key, k);

	if (n == NULL && e == OK)
		e = find_new_name(st, kind, name, w);
	if (n == NULL && e == OK && make &&
	    map_get(&st->names_by_key, k) == NULL)
		e = make_name(st, kind, name, w);
	if (n == NULL)
		n = map_get(&st->names_by_key, k);
	*id = n == NULL ? 0 : n->id;
	return e;
}

struct str
item_store_name_text(struct item_store *st, uint32_t id)
{
	struct item_name *n = map_get_id(&st->names_by_id, id);

	if (n == NULL && !st->names_loaded && load_names(st, NULL) == OK)
		n = map_get_id(&st->names_by_id, id);
	if (n == NULL) {
		struct query *q = database_query(st->db,
		    "SELECT id, kind, name FROM names WHERE id = ?1");
		query_i64(q, 1, id);
		add_rows(st, q);
		enum err e = query_end(&q, NULL);
		n = e == OK ? map_get_id(&st->names_by_id, id) : NULL;
	}
	return n == NULL ? STR_NONE : n->name;
}

void
item_store_names_changed(struct item_store *st)
{
	map_free(&st->names_by_key);
	map_free(&st->names_by_id);
	/* Rows of a transaction may still refer to the texts. */
	struct item_names *names = mem_new(sizeof(*names));
	names->older = st->names;
	st->names = names;
	st->names_loaded = false;
	st->tag_names_n = 0;
	if (st->reader)
		free_names(&names->older);
}

void
item_store_free_old_names(struct item_store *st)
{
	free_names(&st->names->older);
}

bool
item_store_has_old_names(const struct item_store *st)
{
	return st->names->older != NULL;
}

void
item_store_undone(struct item_store *st)
{
	item_store_names_changed(st);
	st->keys_n = 0;
	claim_cursors_undone(st->claim_cursors);
}

void
item_store_rolled_back(struct item_store *st)
{
	item_store_undone(st);
	restore_config(st);
	st->rewrites_known = false;
}

/* -- Sequences -- */

enum err
item_store_take(struct item_store *st, struct str table, size_t n,
    int64_t *first, struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE sequences"
	    " SET next = next + ?2 WHERE name = ?1 RETURNING next");

	query_str(q, 1, table);
	query_i64(q, 2, (int64_t)n);
	*first = 0;
	if (query_step(q))
		*first = query_get_i64(q, 0) - (int64_t)n;
	enum err e = query_end(&q, w);
	if (e == OK && *first == 0)
		e = why(w, ERR_CORRUPT, "the sequence of %.*s is missing",
		    STR_FMT(table));
	return e;
}

static enum err
take_keys_postgresql(struct item_store *st, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT"
	    " nextval(pg_get_serial_sequence('items', 'key'))"
	    " FROM generate_series(1, ?1)");

	query_i64(q, 1, ITEM_KEYS_AHEAD);
	while (st->keys_n < ITEM_KEYS_AHEAD && query_step(q))
		st->keys[ITEM_KEYS_AHEAD - ++st->keys_n] = query_get_i64(q, 0);
	return query_end(&q, w);
}

static enum err
take_keys(struct item_store *st, struct why *w)
{
	int64_t first;

	if (database_is_postgresql(st->db))
		return take_keys_postgresql(st, w);
	enum err e = item_store_take(st, STR("items"), ITEM_KEYS_AHEAD, &first,
	    w);
	if (e != OK)
		return e;
	st->keys_n = ITEM_KEYS_AHEAD;
	for (size_t i = 0; i < ITEM_KEYS_AHEAD; i++)
		st->keys[ITEM_KEYS_AHEAD - 1 - i] = first + (int64_t)i;
	return OK;
}

enum err
item_store_new_key(struct item_store *st, int64_t *key, struct why *w)
{
	enum err e = st->keys_n == 0 ? take_keys(st, w) : OK;

	if (e == OK && st->keys_n == 0)
		e = why(w, ERR_CORRUPT, "the sequence of items is missing");
	if (e == OK)
		*key = st->keys[--st->keys_n];
	return e;
}
