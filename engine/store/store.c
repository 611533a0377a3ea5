#include "engine/store/store.h"

#include "base/text.h"
#include "engine/store/store_own.h"
#include "os/database_failure.h"

/* Each lasts DATABASE_BUSY_MS_MAX at most. */
#define COMMIT_WAITS_MAX 12u

/* -- Opening -- */

static size_t
limit(size_t told, size_t standard)
{
	return told == 0 ? standard : told;
}

enum err
store_open(const char *dir, const struct store_options *o, struct store **out,
    struct why *w)
{
	static const struct store_options none = { .policy_default = NULL };
	struct store *st = mem_new(sizeof(*st));

	if (o == NULL)
		o = &none;
	st->policies_max = limit(o->policies_max, STORE_POLICIES_MAX);
	st->schedules_max = limit(o->schedules_max, STORE_SCHEDULES_MAX);
	st->tokens_max = limit(o->tokens_max, STORE_TOKENS_MAX);
	if (o->policy_default != NULL)
		st->policy_default = mem_copy_text(o->policy_default);
	enum err e = store_open_database(st, dir, o, w);
	/* A file has one daemon, by whatever name. */
	st->node = e == OK && store_is_shared(st) ? arena_copy(&st->texts,
	    str_of(o->node)) : STR("");
	if (e == OK && store_is_shared(st))
		e = store_check_text("store.node", st->node,
		    STORE_NODE_BYTES_MAX, w);
	if (e != OK)
		store_close(&st);
	*out = st;
	return e;
}

void
store_close(struct store **stp)
{
	struct store *st = *stp;

	if (st == NULL)
		return;
	CHECK(!st->in_group);
	database_close(&st->db);
	arena_free(&st->texts);
	mem_free(&st->policy_default);
	mem_free(stp);
}

enum err
store_wait_for_commits(struct store *st, struct why *w)
{
	enum err e;
	unsigned tries = 0;

	if (!store_is_shared(st))
		return OK;
	/* The row is the lock that each commit holds; see store_begin(). */
	do {
		e = database_begin(st->db, w);
		if (e != OK)
			return e;
		struct query *q = database_query(st->db, "SELECT version FROM"
		    " store_version FOR UPDATE");
		query_step(q);
		e = database_end(st->db, query_end(&q, w), w);
	} while (e == ERR_BUSY && ++tries < COMMIT_WAITS_MAX);
	return e;
}

bool
store_is_shared(const struct store *st)
{
	return database_is_postgresql(st->db);
}

bool
store_url_is_server(const char *url)
{
	return database_url_is_postgresql(url);
}

enum err
store_version(struct store *st, uint64_t *version, struct why *w)
{
	static const struct sql get = { "PRAGMA data_version",
	    "SELECT version FROM store_version" };
	struct query *q = database_query_sql(st->db, &get);

	/* SQLite counts the commits of others, and both numbers only grow. */
	*version = query_step(q) ? (uint64_t)query_get_i64(q, 0) +
	    st->commits : 0;
	return query_end(&q, w);
}

/* -- Groups: a verb alone is a group of its own -- */

enum err
store_begin(struct store *st, struct why *w)
{
	CHECK(!st->in_group);
	enum err e = database_begin(st->db, w);
	st->in_group = e == OK;
	/* The row is also the lock: groups run one after the other, as they do
	 * in SQLite, and what a group has read stays true until its commit. */
	if (e == OK && store_is_shared(st)) {
		struct query *q = database_query(st->db,
		    "UPDATE store_version SET version = version + 1");
		query_post(&q);
	}
	return e;
}

enum err
store_end(struct store *st, enum err so_far, struct why *w)
{
	CHECK(st->in_group);
	st->in_group = false;
	enum err e = database_end(st->db, so_far, w);
	st->commits += e == OK && !store_is_shared(st);
	return e;
}

enum err
store_enter(struct store *st, bool *mine, struct why *w)
{
	*mine = !st->in_group;
	return *mine ? store_begin(st, w) : OK;
}

enum err
store_leave(struct store *st, bool mine, enum err e, struct why *w)
{
	return mine ? store_end(st, e, w) : e;
}

bool
store_is_failing(const struct store *st)
{
	return database_is_failing(st->db);
}

void
store_try(struct store *st)
{
	enum err e = store_begin(st, NULL);

	/* The database itself notes whether the write succeeded. */
	if (e == OK)
		e = store_end(st, database_touch(st->db, NULL), NULL);
	(void)e;
}

/* -- What a name may be -- */

enum err
store_check_text(const char *field, struct str s, size_t bytes_max,
    struct why *w)
{
	if (s.n == 0)
		return why_field(w, ERR_INPUT, field, "it is empty");
	if (s.n > bytes_max)
		return why_field(w, ERR_FULL, field, "%zu bytes; at most %zu "
		    "are allowed", s.n, bytes_max);
	if (text_has_control(s))
		return why_field(w, ERR_INPUT, field, "a control character");
	if (!text_is_utf8(s))
		return why_field(w, ERR_INPUT, field, "it is not UTF-8");
	return OK;
}

enum err
store_check_lines(const char *field, struct str s, size_t bytes_max,
    struct why *w)
{
	if (s.n > bytes_max)
		return why_field(w, ERR_FULL, field, "%zu bytes; at most %zu "
		    "are allowed", s.n, bytes_max);
	if (s.n > 0 && (memchr(s.p, '\0', s.n) != NULL || !text_is_utf8(s)))
		return why_field(w, ERR_INPUT, field, "it is not UTF-8");
	return OK;
}

enum err
store_check_json(const char *field, struct str s, struct why *w)
{
	if (s.n == 0)
		return why_field(w, ERR_INPUT, field, "it is empty");
	if (s.n > STORE_JSON_BYTES_MAX)
		return why_field(w, ERR_FULL, field, "%zu bytes; at most %u "
		    "are allowed", s.n, STORE_JSON_BYTES_MAX);
	if (memchr(s.p, '\0', s.n) != NULL || !text_is_utf8(s))
		return why_field(w, ERR_INPUT, field, "it is not UTF-8");
	return OK;
}

enum err
store_check_labels(struct str name, const struct str *tags, size_t n,
    struct why *w)
{
	char field[32];
	enum err e = name.n == 0 ? OK : store_check_text("name", name,
	    STORE_NAME_BYTES_MAX, w);

	if (e == OK && n > STORE_TAGS_MAX)
		e = why(w, ERR_FULL, "tags: %zu; at most %u are allowed", n,
		    STORE_TAGS_MAX);
	for (size_t i = 0; i < n && e == OK; i++) {
		snprintf(field, sizeof(field), "tags[%zu]", i);
		e = store_check_text(field, tags[i], STORE_TAG_BYTES_MAX, w);
	}
	return e;
}

enum err
store_check_room(struct store *st, const char *sql, size_t most,
    const char *what, struct why *w)
{
	struct query *q = database_query(st->db, sql);
	size_t n = query_step(q) ? (size_t)query_get_i64(q, 0) : 0;

	enum err e = query_end(&q, w);
	if (e == OK && n >= most)
		e = why(w, ERR_FULL, "there are %zu %s, and no more are "
		    "allowed", n, what);
	return e;
}

/* -- Queries -- */

struct str
store_text(struct str s)
{
	return s.p == NULL ? STR("") : s;
}

void
store_bind_id(struct query *q, int at, uint64_t id)
{
	query_i64(q, at, id > INT64_MAX ? -1 : (int64_t)id);
}

enum err
store_run(struct query *q, bool *changed, struct why *w)
{
	query_step(q);
	if (changed != NULL)
		*changed = query_changes(q) > 0;
	return query_end(&q, w);
}

void *
store_rows_add(struct store_rows *r)
{
	r->rows = mem_room(r->rows, r->n, &r->cap, 16, r->bytes_each);
	return (char *)r->rows + r->n++ * r->bytes_each;
}

enum err
store_rows_end(struct store_rows *r, struct query **q, enum err read,
    struct arena *a, struct why *w)
{
	void *kept = arena_take_array(a, r->n, r->bytes_each);

	if (r->n > 0)
		memcpy(kept, r->rows, r->n * r->bytes_each);
	mem_free(&r->rows);
	r->rows = kept;
	enum err e = query_end(q, w);
	return e == OK ? read : e;
}
