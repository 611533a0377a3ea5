#include <limits.h>

#include "engine/store/store_table.h"
#include "os/database.h"

#define APPLICATION 0x41726769u    /* "Argi" */

/* One entry per version that was ever released; never change an old one. */
static const char *const steps[] = {
	"CREATE TABLE policy ("
	"  name TEXT PRIMARY KEY,"
	"  json TEXT NOT NULL,"
	"  created INTEGER NOT NULL,"      /* times: microseconds since 1970 */
	"  changed INTEGER NOT NULL) STRICT;"
	"CREATE TABLE schedule ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  name TEXT NOT NULL,"
	"  seeds TEXT NOT NULL,"
	"  policy TEXT NOT NULL,"          /* '': policy_json */
	"  policy_json TEXT NOT NULL,"     /* '': policy */
	"  tags TEXT NOT NULL,"
	"  every INTEGER NOT NULL,"
	"  unit TEXT NOT NULL,"
	"  timing TEXT NOT NULL,"
	"  name_template TEXT NOT NULL,"
	"  start_at INTEGER NOT NULL,"
	"  next_at INTEGER,"               /* NULL: not planned */
	"  runs INTEGER NOT NULL,"
	"  last_crawl INTEGER) STRICT;"
	"CREATE INDEX schedule_next ON schedule (next_at)"
	"  WHERE next_at IS NOT NULL;"
	"CREATE TABLE setting ("
	"  name TEXT PRIMARY KEY,"
	"  value TEXT NOT NULL) STRICT;",

	"CREATE TABLE token ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  name TEXT NOT NULL UNIQUE,"
	"  scopes TEXT NOT NULL,"
	"  hash BLOB NOT NULL UNIQUE,"     /* SHA-256 of the text */
	"  created INTEGER NOT NULL,"
	"  used INTEGER) STRICT;",         /* NULL: never */
};

/* The two long ones last: lists go without them. */
#define SHORT_COLUMNS "id, name, policy, tags, every, unit, timing," \
	" name_template, start_at, next_at, runs, last_crawl"
#define ALL_COLUMNS SHORT_COLUMNS ", seeds, policy_json"

static enum err
sqlite_open(const char *dir, void **db, struct why *w)
{
	static const struct database_options o = {
		.application = APPLICATION,
	};
	struct database *d = NULL;
	char path[PATH_MAX];

	*db = NULL;
	if (snprintf(path, sizeof(path), "%s/store.db", dir) >= PATH_MAX)
		return why(w, ERR_INPUT, "the path %s is too long", dir);
	enum err e = database_open(path, &o, &d, w);
	if (e == OK)
		e = database_migrate(d, steps, ARRAY_LEN(steps), w);
	if (e != OK)
		database_close(&d);
	*db = d;
	return e;
}

static void
sqlite_close(void **db)
{
	struct database *d = *db;

	database_close(&d);
	*db = NULL;
}

static enum err
sqlite_check(void *db, struct why *w)
{
	return database_check(db, w);
}

static enum err
sqlite_begin(void *db, struct why *w)
{
	return database_begin(db, w);
}

static enum err
sqlite_end(void *db, enum err so_far, struct why *w)
{
	return database_end(db, so_far, w);
}

static enum err
sqlite_count(void *db, enum store_kind kind, size_t *n, struct why *w)
{
	static const char *const counts[] = {
		"SELECT count(*) FROM policy WHERE name <> 'default'",
		"SELECT count(*) FROM schedule",
		"SELECT count(*) FROM setting",
		"SELECT count(*) FROM token",
	};
	struct query *q = database_query(db, counts[kind]);

	*n = query_step(q) ? (size_t)query_get_i64(q, 0) : 0;
	return query_end(&q, w);
}

/* A text that is empty, but there. */
static struct str
there(struct str s)
{
	return s.p == NULL ? STR("") : s;
}

static enum err
run(struct query *q, bool *changed, struct why *w)
{
	query_step(q);
	if (changed != NULL)
		*changed = query_changes(q) > 0;
	return query_end(&q, w);
}

/* -- Policies -- */

static enum err
sqlite_policy_put(void *db, const struct store_policy *p, struct why *w)
{
	struct query *q = database_query(db, "INSERT INTO policy"
	    " (name, json, created, changed) VALUES (?1, ?2, ?3, ?4)"
	    " ON CONFLICT (name) DO UPDATE SET json = excluded.json,"
	    " changed = excluded.changed");

	query_str(q, 1, p->name);
	query_str(q, 2, p->json);
	query_i64(q, 3, p->created.us);
	query_i64(q, 4, p->changed.us);
	return run(q, NULL, w);
}

static enum err
sqlite_policy_get(void *db, struct str name, struct arena *a,
    struct store_policy *out, bool *found, struct why *w)
{
	struct query *q = database_query(db, "SELECT name, json, created,"
	    " changed FROM policy WHERE name = ?1");

	query_str(q, 1, there(name));
	*found = query_step(q);
	if (*found)
		*out = (struct store_policy){
			arena_copy(a, query_get_str(q, 0)),
			arena_copy(a, query_get_str(q, 1)),
			{ query_get_i64(q, 2) }, { query_get_i64(q, 3) },
		};
	return query_end(&q, w);
}

static enum err
sqlite_policy_delete(void *db, struct str name, bool *was, struct why *w)
{
	struct query *q = database_query(db, "DELETE FROM policy"
	    " WHERE name = ?1");

	query_str(q, 1, there(name));
	return run(q, was, w);
}

static enum err
sqlite_policy_list(void *db, struct arena *a, struct store_policy **out,
    size_t *n, struct why *w)
{
	struct query *q = database_query(db, "SELECT name, created, changed"
	    " FROM policy ORDER BY name");
	struct store_policy *list = NULL;
	size_t cap = 0;

	*n = 0;
	while (query_step(q)) {
		if (*n == cap) {
			cap = MAX(16, cap * 2);
			list = mem_resize(list, cap, sizeof(*list));
		}
		list[(*n)++] = (struct store_policy){
			arena_copy(a, query_get_str(q, 0)), STR_NONE,
			{ query_get_i64(q, 1) }, { query_get_i64(q, 2) },
		};
	}
	*out = ARENA_ARRAY(a, struct store_policy, *n);
	if (*n > 0)
		memcpy(*out, list, *n * sizeof(*list));
	mem_free(&list);
	return query_end(&q, w);
}

static enum err
sqlite_policy_user(void *db, struct str name, struct arena *a,
    struct str *schedule, struct why *w)
{
	struct query *q = database_query(db, "SELECT name FROM schedule"
	    " WHERE policy = ?1 AND policy <> '' LIMIT 1");

	query_str(q, 1, there(name));
	*schedule = query_step(q) ? arena_copy(a, query_get_str(q, 0)) :
	    STR_NONE;
	return query_end(&q, w);
}

/* -- Schedules -- */

static void
bind_time(struct query *q, int at, struct wall t)
{
	if (t.us == SCHEDULE_NEVER.us)
		query_null(q, at);
	else
		query_i64(q, at, t.us);
}

static void
bind_schedule(struct query *q, const struct schedule *s, struct str tags)
{
	if (s->id == 0)
		query_null(q, 1);
	else
		query_i64(q, 1, (int64_t)s->id);
	query_str(q, 2, s->name);
	query_str(q, 3, there(s->policy));
	query_str(q, 4, tags);
	query_i64(q, 5, s->every);
	query_str(q, 6, str_of(schedule_unit_text(s->unit)));
	query_str(q, 7, str_of(schedule_timing_text(s->timing)));
	query_str(q, 8, there(s->name_template));
	query_i64(q, 9, s->start_at.us);
	bind_time(q, 10, s->next_at);
	query_i64(q, 11, (int64_t)s->runs);
	if (s->last_crawl == SCHEDULE_NO_CRAWL)
		query_null(q, 12);
	else
		query_i64(q, 12, (int64_t)s->last_crawl);
	query_str(q, 13, s->seeds);
	query_str(q, 14, there(s->policy_json));
}

static enum err
sqlite_schedule_put(void *db, struct schedule *s, struct why *w)
{
	struct buf tags = BUF_INIT;
	struct query *q = database_query(db, "INSERT INTO schedule ("
	    ALL_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
	    " ?11, ?12, ?13, ?14) ON CONFLICT (id) DO UPDATE SET"
	    " name = excluded.name, seeds = excluded.seeds,"
	    " policy = excluded.policy, policy_json = excluded.policy_json,"
	    " tags = excluded.tags, every = excluded.every,"
	    " unit = excluded.unit, timing = excluded.timing,"
	    " name_template = excluded.name_template,"
	    " start_at = excluded.start_at, next_at = excluded.next_at,"
	    " runs = excluded.runs, last_crawl = excluded.last_crawl");

	store_tags_put(&tags, s->tags, s->tags_n);
	bind_schedule(q, s, buf_str(&tags));
	query_step(q);
	int64_t id = query_last_id(q);
	enum err e = query_end(&q, w);
	if (e == OK && s->id == 0)
		s->id = (uint64_t)id;
	buf_free(&tags);
	return e;
}

static enum err
read_schedule(struct query *q, bool whole, struct arena *a, struct schedule *s,
    struct why *w)
{
	*s = (struct schedule){
		.id = (uint64_t)query_get_i64(q, 0),
		.name = arena_copy(a, query_get_str(q, 1)),
		.policy = arena_copy(a, query_get_str(q, 2)),
		.every = (unsigned)query_get_i64(q, 4),
		.name_template = arena_copy(a, query_get_str(q, 7)),
		.start_at = { query_get_i64(q, 8) },
		.next_at = query_is_null(q, 9) ? SCHEDULE_NEVER :
		    (struct wall){ query_get_i64(q, 9) },
		.runs = (uint64_t)query_get_i64(q, 10),
		.last_crawl = query_is_null(q, 11) ? SCHEDULE_NO_CRAWL :
		    (uint64_t)query_get_i64(q, 11),
	};
	if (whole) {
		s->seeds = arena_copy(a, query_get_str(q, 12));
		s->policy_json = arena_copy(a, query_get_str(q, 13));
	}
	if (!schedule_unit_of(query_get_str(q, 5), &s->unit) ||
	    !schedule_timing_of(query_get_str(q, 6), &s->timing))
		return why(w, ERR_CORRUPT, "schedule %llu has no unit or "
		    "timing", (unsigned long long)s->id);
	return store_tags_get(query_get_str(q, 3), a, &s->tags, &s->tags_n, w);
}

/* What reading a row said counts when the query itself went well. */
static enum err
end_reading(struct query **q, enum err read, struct why *w)
{
	enum err e = query_end(q, w);

	return e == OK ? read : e;
}

static enum err
sqlite_schedule_get(void *db, uint64_t id, struct arena *a,
    struct schedule *out, bool *found, struct why *w)
{
	struct query *q = database_query(db, "SELECT " ALL_COLUMNS
	    " FROM schedule WHERE id = ?1");
	enum err e = OK;

	query_i64(q, 1, id > INT64_MAX ? -1 : (int64_t)id);
	*found = query_step(q);
	if (*found)
		e = read_schedule(q, true, a, out, w);
	return end_reading(&q, e, w);
}

static enum err
sqlite_schedule_delete(void *db, uint64_t id, bool *was, struct why *w)
{
	struct query *q = database_query(db, "DELETE FROM schedule"
	    " WHERE id = ?1");

	query_i64(q, 1, id > INT64_MAX ? -1 : (int64_t)id);
	return run(q, was, w);
}

/* All rows of a query, which is ended. */
static enum err
read_schedules(struct query *q, bool whole, struct arena *a,
    struct schedule **out, size_t *n, struct why *w)
{
	struct schedule *list = NULL;
	size_t cap = 0;
	enum err e = OK;

	*n = 0;
	while (e == OK && query_step(q)) {
		if (*n == cap) {
			cap = MAX(16, cap * 2);
			list = mem_resize(list, cap, sizeof(*list));
		}
		e = read_schedule(q, whole, a, &list[*n], w);
		*n += e == OK;
	}
	*out = ARENA_ARRAY(a, struct schedule, *n);
	if (*n > 0)
		memcpy(*out, list, *n * sizeof(*list));
	mem_free(&list);
	return end_reading(&q, e, w);
}

static enum err
sqlite_schedule_list(void *db, struct arena *a, struct schedule **out,
    size_t *n, struct why *w)
{
	return read_schedules(database_query(db, "SELECT " SHORT_COLUMNS
	    " FROM schedule ORDER BY id"), false, a, out, n, w);
}

static enum err
sqlite_schedule_due(void *db, struct wall now, size_t n_max, struct arena *a,
    struct schedule **out, size_t *n, struct why *w)
{
	struct query *q = database_query(db, "SELECT " ALL_COLUMNS
	    " FROM schedule WHERE next_at IS NOT NULL AND next_at <= ?1"
	    " ORDER BY next_at, id LIMIT ?2");

	query_i64(q, 1, now.us);
	query_i64(q, 2, (int64_t)n_max);
	return read_schedules(q, true, a, out, n, w);
}

static enum err
sqlite_schedule_next(void *db, struct wall *next, struct why *w)
{
	struct query *q = database_query(db, "SELECT min(next_at)"
	    " FROM schedule WHERE next_at IS NOT NULL");

	*next = SCHEDULE_NEVER;
	if (query_step(q) && !query_is_null(q, 0))
		next->us = query_get_i64(q, 0);
	return query_end(&q, w);
}

/* -- Settings -- */

static enum err
sqlite_setting_put(void *db, struct str name, struct str value, struct why *w)
{
	struct query *q = database_query(db, "INSERT INTO setting (name, value)"
	    " VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET"
	    " value = excluded.value");

	query_str(q, 1, name);
	query_str(q, 2, there(value));
	return run(q, NULL, w);
}

static enum err
sqlite_setting_get(void *db, struct str name, struct arena *a,
    struct str *value, bool *found, struct why *w)
{
	struct query *q = database_query(db, "SELECT value FROM setting"
	    " WHERE name = ?1");

	query_str(q, 1, there(name));
	*found = query_step(q);
	*value = *found ? arena_copy(a, query_get_str(q, 0)) : STR_NONE;
	return query_end(&q, w);
}

/* -- Tokens -- */

static enum err
sqlite_token_add(void *db, const struct token *t, struct why *w)
{
	struct buf scopes = BUF_INIT;
	struct query *q = database_query(db, "INSERT INTO token"
	    " (name, scopes, hash, created) VALUES (?1, ?2, ?3, ?4)");

	token_scopes_write(t->scopes, &scopes);
	query_str(q, 1, t->name);
	query_str(q, 2, buf_str(&scopes));
	query_bytes(q, 3, (struct str){ (const char *)t->hash,
	    sizeof(t->hash) });
	query_i64(q, 4, t->created.us);
	enum err e = run(q, NULL, w);
	buf_free(&scopes);
	return e;
}

static enum err
read_token(struct query *q, struct arena *a, struct token *t, struct why *w)
{
	struct str hash = query_get_str(q, 3);

	*t = (struct token){
		.id = (uint64_t)query_get_i64(q, 0),
		.name = arena_copy(a, query_get_str(q, 1)),
		.created = { query_get_i64(q, 4) },
		.used = { query_get_i64(q, 5) },
	};
	if (token_name_check(t->name, NULL) != OK ||
	    token_scopes_read(query_get_str(q, 2), &t->scopes, NULL) != OK ||
	    hash.n != sizeof(t->hash))
		return why(w, ERR_CORRUPT, "token %llu has no name, scope or "
		    "hash", (unsigned long long)t->id);
	memcpy(t->hash, hash.p, sizeof(t->hash));
	return OK;
}

static enum err
sqlite_token_list(void *db, struct arena *a, struct token **out, size_t *n,
    struct why *w)
{
	struct query *q = database_query(db, "SELECT id, name, scopes, hash,"
	    " created, used FROM token ORDER BY name");
	struct token *list = NULL;
	size_t cap = 0;
	enum err e = OK;

	*n = 0;
	while (e == OK && query_step(q)) {
		if (*n == cap) {
			cap = MAX(16, cap * 2);
			list = mem_resize(list, cap, sizeof(*list));
		}
		e = read_token(q, a, &list[*n], w);
		*n += e == OK;
	}
	*out = ARENA_ARRAY(a, struct token, *n);
	if (*n > 0)
		memcpy(*out, list, *n * sizeof(*list));
	mem_free(&list);
	return end_reading(&q, e, w);
}

static enum err
sqlite_token_delete(void *db, struct str name, bool *was, struct why *w)
{
	struct query *q = database_query(db, "DELETE FROM token"
	    " WHERE name = ?1");

	query_str(q, 1, there(name));
	return run(q, was, w);
}

static enum err
sqlite_token_used(void *db, uint64_t id, struct wall when, struct why *w)
{
	struct query *q = database_query(db, "UPDATE token SET used = ?2"
	    " WHERE id = ?1");

	query_i64(q, 1, id > INT64_MAX ? -1 : (int64_t)id);
	query_i64(q, 2, when.us);
	return run(q, NULL, w);
}

static enum err
sqlite_version(void *db, uint64_t *version, struct why *w)
{
	struct query *q = database_query(db, "PRAGMA data_version");

	*version = query_step(q) ? (uint64_t)query_get_i64(q, 0) : 0;
	return query_end(&q, w);
}

const struct store_table store_sqlite = {
	.name = "sqlite",
	.open = sqlite_open, .close = sqlite_close, .check = sqlite_check,
	.begin = sqlite_begin, .end = sqlite_end, .count = sqlite_count,
	.policy_put = sqlite_policy_put, .policy_get = sqlite_policy_get,
	.policy_delete = sqlite_policy_delete,
	.policy_list = sqlite_policy_list, .policy_user = sqlite_policy_user,
	.schedule_put = sqlite_schedule_put,
	.schedule_get = sqlite_schedule_get,
	.schedule_delete = sqlite_schedule_delete,
	.schedule_list = sqlite_schedule_list,
	.schedule_due = sqlite_schedule_due,
	.schedule_next = sqlite_schedule_next,
	.setting_put = sqlite_setting_put, .setting_get = sqlite_setting_get,
	.token_add = sqlite_token_add, .token_list = sqlite_token_list,
	.token_delete = sqlite_token_delete, .token_used = sqlite_token_used,
	.version = sqlite_version,
};
