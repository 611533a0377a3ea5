/* Cursors of crawlers, registrations of connectors, published versions. */
#include "engine/store/store_external.h"
#include "engine/store/store_own.h"

/* -- Cursors -- */

static struct query *
crawler_query(struct store *st, const char *sql, const struct store_crawler *c)
{
	struct query *q = database_query(st->db, sql);

	query_str(q, 1, store_text(c->backend));
	query_str(q, 2, store_text(c->connector));
	query_str(q, 3, store_text(c->crawler));
	return q;
}

enum err
store_cursor_get(struct store *st, const struct store_crawler *c,
    struct arena *a, struct str *cursor, struct why *w)
{
	struct query *q = crawler_query(st, "SELECT cursor FROM"
	    " external_cursor WHERE backend = ?1 AND connector = ?2"
	    " AND crawler = ?3", c);
	bool found = false;

	if (query_step(q)) {
		found = true;
		*cursor = arena_copy(a, query_get_str(q, 0));
	}
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = why(w, ERR_ABSENT, "crawler %.*s has no cursor",
		    STR_FMT(str_cut(c->crawler, 0, STORE_NAME_BYTES_MAX)));
	return e;
}

enum err
store_cursor_list(struct store *st, struct str connector, struct arena *a,
    struct str **cursors, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**cursors) };
	struct query *q = database_query(st->db, "SELECT cursor FROM"
	    " external_task WHERE connector = ?1 AND cursor <> ''"
	    " UNION ALL SELECT c.cursor FROM external_cursor c JOIN"
	    " (SELECT DISTINCT backend, crawler FROM external_task"
	    " WHERE connector = ?1) t ON t.backend = c.backend"
	    " AND t.crawler = c.crawler WHERE c.connector = ?1");

	query_str(q, 1, store_text(connector));
	while (query_step(q))
		*(struct str *)store_rows_add(&r) = arena_copy(a,
		    query_get_str(q, 0));
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*cursors = r.rows;
	*n = r.n;
	return e;
}

static enum err
check_crawler(const struct store_crawler *c, struct str cursor, struct why *w)
{
	enum err e = store_check_text("backend", c->backend,
	    STORE_NAME_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("connector", c->connector,
		    STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("crawler", c->crawler,
		    STORE_NAME_BYTES_MAX, w);
	return e == OK ? store_check_lines("cursor", cursor,
	    STORE_CURSOR_BYTES_MAX, w) : e;
}

/* Those beyond the limit, the ones that were unchanged for longest. */
static enum err
forget_cursors(struct store *st, struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM external_cursor"
	    " WHERE (backend, connector, crawler) IN"
	    " (SELECT backend, connector, crawler FROM external_cursor"
	    " ORDER BY changed DESC, backend, connector, crawler"
	    " LIMIT ?2 OFFSET ?1)");

	query_i64(q, 1, STORE_CURSORS_MAX);
	query_i64(q, 2, STORE_CURSORS_MAX);
	return store_run(q, NULL, w);
}

enum err
store_cursor_put(struct store *st, const struct store_crawler *c,
    struct str cursor, struct wall now, struct why *w)
{
	bool mine;

	if (cursor.n == 0)
		return store_cursor_reset(st, c, w);
	enum err e = check_crawler(c, cursor, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct query *q = crawler_query(st, "INSERT INTO external_cursor"
	    " (backend, connector, crawler, cursor, changed)"
	    " VALUES (?1, ?2, ?3, ?4, ?5)"
	    " ON CONFLICT (backend, connector, crawler) DO UPDATE SET"
	    " cursor = ?4, changed = ?5", c);
	query_str(q, 4, cursor);
	query_i64(q, 5, now.us);
	e = store_run(q, NULL, w);
	if (e == OK)
		e = forget_cursors(st, w);
	return store_leave(st, mine, e, w);
}

enum err
store_cursor_reset(struct store *st, const struct store_crawler *c,
    struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = crawler_query(st, "DELETE FROM external_cursor"
	    " WHERE backend = ?1 AND connector = ?2 AND crawler = ?3", c);
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

/* -- Registrations -- */

#define COLUMNS "backend, connector, version, fid, hash, registered, token"

/* -- Declarations -- */

static enum err
put_declaration(struct store *st, struct str hash, struct str declaration,
    struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO"
	    " external_declaration (hash, declaration) VALUES (?1, ?2)"
	    " ON CONFLICT (hash) DO NOTHING");

	query_str(q, 1, hash);
	query_str(q, 2, declaration);
	return store_run(q, NULL, w);
}

enum err
store_declaration_get(struct store *st, struct str hash, struct arena *a,
    struct str *declaration, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT declaration FROM"
	    " external_declaration WHERE hash = ?1");
	bool found = false;

	query_str(q, 1, store_text(hash));
	if (query_step(q)) {
		found = true;
		*declaration = arena_copy(a, query_get_str(q, 0));
	}
	enum err e = query_end(&q, w);
	return e != OK || found ? e : why(w, ERR_ABSENT, "there is no "
	    "connector with the hash %.*s", STR_FMT(str_cut(hash, 0,
	    STORE_HASH_BYTES_MAX)));
}

enum err
store_declaration_forget(struct store *st, struct why *w)
{
	return store_run(database_query(st->db, "DELETE FROM"
	    " external_declaration WHERE NOT EXISTS (SELECT 1 FROM"
	    " external_registration r WHERE r.hash ="
	    " external_declaration.hash) AND NOT EXISTS (SELECT 1 FROM"
	    " external_task t WHERE t.hash = external_declaration.hash"
	    " AND t.hash <> '')"), NULL, w);
}

/* -- Rows of registrations -- */

static enum err
check_registration(const struct store_registration *r, struct str declaration,
    struct why *w)
{
	enum err e = store_check_text("backend", r->backend,
	    STORE_NAME_BYTES_MAX, w);

	if (e == OK)
		e = store_check_text("connector", r->connector,
		    STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("fid", r->fid, STORE_FID_BYTES_MAX, w);
	if (e == OK)
		e = store_check_text("hash", r->hash, STORE_HASH_BYTES_MAX,
		    w);
	if (e == OK)
		e = store_check_lines("object", r->object,
		    STORE_OBJECT_BYTES_MAX, w);
	if (e == OK)
		e = store_check_lines("declaration", declaration,
		    STORE_DECLARATION_BYTES_MAX, w);
	if (e == OK && r->version > INT64_MAX)
		e = why_field(w, ERR_INPUT, "version", "it is too big");
	return e;
}

static void
bind_registration(struct query *q, const struct store_registration *r,
    struct wall now)
{
	query_str(q, 1, r->backend);
	query_str(q, 2, r->connector);
	store_bind_id(q, 3, r->version);
	query_str(q, 4, r->fid);
	query_str(q, 5, r->hash);
	query_i64(q, 6, now.us);
	store_bind_id(q, 7, r->token);
	query_str(q, 8, store_text(r->object));
}

static enum err
replace_registration(struct store *st, const struct store_registration *r,
    struct wall now, bool *changed, struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE external_registration"
	    " SET fid = ?4, hash = ?5, registered = ?6, token = ?7,"
	    " object = ?8 WHERE backend = ?1 AND connector = ?2"
	    " AND version = ?3");

	bind_registration(q, r, now);
	return store_run(q, changed, w);
}

static enum err
insert_registration(struct store *st, const struct store_registration *r,
    struct wall now, struct why *w)
{
	enum err e = store_check_room(st, "SELECT count(*) FROM"
	    " external_registration", STORE_REGISTRATIONS_MAX,
	    "registrations", w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "INSERT INTO"
	    " external_registration (" COLUMNS ", object)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
	bind_registration(q, r, now);
	return store_run(q, NULL, w);
}

static enum err
forget_objects(struct store *st, const struct store_registration *r,
    struct why *w)
{
	struct query *q = database_query(st->db, "UPDATE external_registration"
	    " SET object = '' WHERE backend = ?1 AND connector = ?2"
	    " AND object <> '' AND version < (SELECT max(version) FROM"
	    " external_registration WHERE backend = ?1 AND connector = ?2)");

	query_str(q, 1, r->backend);
	query_str(q, 2, r->connector);
	return store_run(q, NULL, w);
}

static enum err
forget_versions(struct store *st, const struct store_registration *r,
    struct why *w)
{
	struct query *q = database_query(st->db, "DELETE FROM"
	    " external_registration WHERE backend = ?1 AND connector = ?2"
	    " AND version <= (SELECT version FROM external_registration"
	    " WHERE backend = ?1 AND connector = ?2 ORDER BY version DESC"
	    " LIMIT 1 OFFSET ?3) AND version NOT IN (SELECT version FROM"
	    " external_published WHERE connector = ?2)");

	query_str(q, 1, r->backend);
	query_str(q, 2, r->connector);
	query_i64(q, 3, STORE_VERSIONS_MAX);
	return store_run(q, NULL, w);
}

static enum err
put_registration(struct store *st, const struct store_registration *r,
    struct str declaration, struct wall now, struct why *w)
{
	bool changed = false;

	enum err e = replace_registration(st, r, now, &changed, w);
	if (e == OK && !changed)
		e = insert_registration(st, r, now, w);
	if (e == OK && declaration.n > 0)
		e = put_declaration(st, r->hash, declaration, w);
	if (e == OK)
		e = forget_objects(st, r, w);
	if (e == OK)
		e = forget_versions(st, r, w);
	return e == OK ? store_declaration_forget(st, w) : e;
}

enum err
store_registration_put(struct store *st, const struct store_registration *r,
    struct str declaration, struct wall now, struct why *w)
{
	bool mine;

	enum err e = check_registration(r, declaration, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, put_registration(st, r, declaration, now,
	    w), w);
}

enum err
store_registration_forget(struct store *st, struct str backend,
    struct str connector, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM"
	    " external_registration WHERE backend = ?1 AND connector = ?2");
	query_str(q, 1, store_text(backend));
	query_str(q, 2, store_text(connector));
	e = store_run(q, NULL, w);
	if (e == OK)
		e = store_declaration_forget(st, w);
	return store_leave(st, mine, e, w);
}

static enum err
read_registrations(struct query *q, struct arena *a,
    struct store_registration **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };

	while (query_step(q)) {
		struct store_registration *x = store_rows_add(&r);
		*x = (struct store_registration){
			.backend = arena_copy(a, query_get_str(q, 0)),
			.connector = arena_copy(a, query_get_str(q, 1)),
			.version = (uint64_t)query_get_i64(q, 2),
			.fid = arena_copy(a, query_get_str(q, 3)),
			.hash = arena_copy(a, query_get_str(q, 4)),
			.registered = { query_get_i64(q, 5) },
			.token = (uint64_t)query_get_i64(q, 6),
			.object = arena_copy(a, query_get_str(q, 7)),
		};
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}

static enum err
read_one(struct query *q, struct str connector, struct arena *a,
    struct store_registration *out, struct why *w)
{
	struct store_registration *list;
	size_t n;
	enum err e = read_registrations(q, a, &list, &n, w);

	if (e == OK && n == 0)
		return why(w, ERR_ABSENT, "connector %.*s has no such "
		    "registration", STR_FMT(str_cut(connector, 0,
		    STORE_NAME_BYTES_MAX)));
	if (e == OK)
		*out = list[0];
	return e;
}

enum err
store_registration_get(struct store *st, struct str backend,
    struct str connector, uint64_t version, struct arena *a,
    struct store_registration *out, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS ", object"
	    " FROM external_registration WHERE backend = ?1 AND connector = ?2"
	    " AND version = ?3");

	query_str(q, 1, store_text(backend));
	query_str(q, 2, store_text(connector));
	store_bind_id(q, 3, version);
	return read_one(q, connector, a, out, w);
}

enum err
store_registration_newest(struct store *st, struct str backend,
    struct str connector, struct arena *a, struct store_registration *out,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS ", object"
	    " FROM external_registration WHERE backend = ?1 AND connector = ?2"
	    " ORDER BY version DESC LIMIT 1");

	query_str(q, 1, store_text(backend));
	query_str(q, 2, store_text(connector));
	return read_one(q, connector, a, out, w);
}

enum err
store_registration_list(struct store *st, struct str connector,
    struct arena *a, struct store_registration **list, size_t *n,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT " COLUMNS ", ''"
	    " FROM external_registration WHERE ?1 = '' OR connector = ?1"
	    " ORDER BY backend, connector, version");

	query_str(q, 1, store_text(connector));
	return read_registrations(q, a, list, n, w);
}

/* -- Published versions -- */

static enum err
check_registered(struct store *st, struct str connector, uint64_t version,
    struct why *w)
{
	struct query *q = database_query(st->db, "SELECT 1 FROM"
	    " external_registration WHERE connector = ?1 AND version = ?2"
	    " LIMIT 1");
	bool found;

	query_str(q, 1, store_text(connector));
	store_bind_id(q, 2, version);
	found = query_step(q);
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = why(w, ERR_ABSENT, "no back end has version %llu of "
		    "connector %.*s", (unsigned long long)version,
		    STR_FMT(str_cut(connector, 0, STORE_NAME_BYTES_MAX)));
	return e;
}

enum err
store_published_put(struct store *st, struct str connector, uint64_t version,
    struct wall now, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	e = check_registered(st, connector, version, w);
	if (e != OK)
		return store_leave(st, mine, e, w);
	struct query *q = database_query(st->db, "INSERT INTO"
	    " external_published (connector, version, changed)"
	    " VALUES (?1, ?2, ?3) ON CONFLICT (connector) DO UPDATE SET"
	    " version = ?2, changed = ?3");
	query_str(q, 1, connector);
	store_bind_id(q, 2, version);
	query_i64(q, 3, now.us);
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

enum err
store_published_drop(struct store *st, struct str connector, struct why *w)
{
	bool mine;
	enum err e = store_enter(st, &mine, w);

	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM"
	    " external_published WHERE connector = ?1");
	query_str(q, 1, store_text(connector));
	return store_leave(st, mine, store_run(q, NULL, w), w);
}

enum err
store_published_get(struct store *st, struct str connector,
    uint64_t *version, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT version FROM"
	    " external_published WHERE connector = ?1");
	bool found = false;

	query_str(q, 1, store_text(connector));
	if (query_step(q)) {
		found = true;
		*version = (uint64_t)query_get_i64(q, 0);
	}
	enum err e = query_end(&q, w);
	if (e == OK && !found)
		e = why(w, ERR_ABSENT, "no version of connector %.*s is "
		    "published", STR_FMT(str_cut(connector, 0,
		    STORE_NAME_BYTES_MAX)));
	return e;
}
