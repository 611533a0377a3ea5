/* Credentials as rows. */
#include "engine/store/store_credential.h"

#include "engine/store/store_own.h"

static enum err
is_absent(struct str name, struct why *w)
{
	return why(w, ERR_ABSENT, "there is no credential \"%.*s\"",
	    STR_FMT(str_cut(name, 0, STORE_NAME_BYTES_MAX)));
}

/* Another one, unless it replaces an older one. */
static enum err
check_room(struct store *st, struct str name, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT count(*) FROM"
	    " credential WHERE name <> ?1");
	int64_t n = 0;

	query_str(q, 1, name);
	if (query_step(q))
		n = query_get_i64(q, 0);
	enum err e = query_end(&q, w);
	return e == OK && n >= (int64_t)STORE_CREDENTIALS_MAX ? why(w,
	    ERR_FULL, "there are %u credentials, and no more are allowed",
	    STORE_CREDENTIALS_MAX) : e;
}

enum err
store_credential_put(struct store *st, struct str name, struct str sealed,
    struct wall now, struct why *w)
{
	bool mine;

	enum err e = store_check_text("name", name, STORE_NAME_BYTES_MAX, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	e = check_room(st, name, w);
	if (e == OK) {
		struct query *q = database_query(st->db, "INSERT INTO"
		    " credential (name, sealed, changed) VALUES (?1, ?2, ?3)"
		    " ON CONFLICT (name) DO UPDATE SET"
		    " sealed = excluded.sealed, changed = excluded.changed");
		query_str(q, 1, name);
		query_bytes(q, 2, sealed);
		query_i64(q, 3, now.us);
		e = store_run(q, NULL, w);
	}
	return store_leave(st, mine, e, w);
}

enum err
store_credential_get(struct store *st, struct str name, struct arena *a,
    struct str *sealed, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT sealed FROM"
	    " credential WHERE name = ?1");
	bool found = false;

	query_str(q, 1, store_text(name));
	if (query_step(q)) {
		*sealed = arena_copy(a, query_get_str(q, 0));
		found = true;
	}
	enum err e = query_end(&q, w);
	return e == OK && !found ? is_absent(name, w) : e;
}

enum err
store_credential_delete(struct store *st, struct str name, struct why *w)
{
	bool mine, was = false;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM credential"
	    " WHERE name = ?1");
	query_str(q, 1, store_text(name));
	e = store_run(q, &was, w);
	if (e == OK && !was)
		e = is_absent(name, w);
	return store_leave(st, mine, e, w);
}

enum err
store_credential_list(struct store *st, struct arena *a,
    struct store_credential **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT name, changed FROM"
	    " credential ORDER BY name");

	while (query_step(q)) {
		struct store_credential *c = store_rows_add(&r);
		c->name = arena_copy(a, query_get_str(q, 0));
		c->changed.us = query_get_i64(q, 1);
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}
