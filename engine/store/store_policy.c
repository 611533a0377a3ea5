/*
 * Policies by name.  A row that is replaced keeps its date of creation.
 */
#include "engine/store/store.h"

#include "engine/store/store_own.h"

static bool
is_default(struct str name)
{
	return str_eq(name, STR(STORE_POLICY_DEFAULT));
}

static enum err
read_policy(struct store *st, struct str name, struct arena *a,
    struct store_policy *out, bool *found, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT name, json, created,"
	    " changed FROM policy WHERE name = ?1");

	query_str(q, 1, store_text(name));
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
write_policy(struct store *st, const struct store_policy *p, struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO policy"
	    " (name, json, created, changed) VALUES (?1, ?2, ?3, ?4)"
	    " ON CONFLICT (name) DO UPDATE SET json = excluded.json,"
	    " changed = excluded.changed");

	query_str(q, 1, p->name);
	query_str(q, 2, p->json);
	query_i64(q, 3, p->created.us);
	query_i64(q, 4, p->changed.us);
	return store_run(q, NULL, w);
}

static enum err
put_policy(struct store *st, const struct store_policy *p, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_policy old;
	bool found;

	enum err e = read_policy(st, p->name, &a, &old, &found, w);
	/* Its own `default` takes nobody's room. */
	if (e == OK && !found && !is_default(p->name))
		e = store_check_room(st, "SELECT count(*) FROM policy"
		    " WHERE name <> 'default'", st->policies_max, "policies",
		    w);
	return e == OK ? write_policy(st, p, w) : e;
}

enum err
store_policy_put(struct store *st, struct str name, struct str json,
    struct wall now, struct why *w)
{
	struct store_policy p = { name, json, now, now };
	bool mine;

	enum err e = store_check_text("name", name, STORE_NAME_BYTES_MAX,
	    w);
	if (e == OK)
		e = store_check_json("policy", json, w);
	if (e == OK)
		e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, put_policy(st, &p, w), w);
}

static enum err
no_policy(struct str name, struct why *w)
{
	return why(w, ERR_ABSENT, "there is no policy \"%.*s\"",
	    (int)MIN(name.n, STORE_NAME_BYTES_MAX), name.p);
}

static struct store_policy
built_in(const struct store *st, struct arena *a)
{
	return (struct store_policy){ STR(STORE_POLICY_DEFAULT),
	    arena_copy(a, str_of(st->policy_default)), { 0 }, { 0 } };
}

enum err
store_policy_get(struct store *st, struct str name, struct arena *a,
    struct store_policy *out, struct why *w)
{
	bool found;

	enum err e = read_policy(st, name, a, out, &found, w);
	if (e != OK || found)
		return e;
	if (!is_default(name) || st->policy_default == NULL)
		return no_policy(name, w);
	*out = built_in(st, a);
	return OK;
}

/* The name of a schedule that has this policy; STR_NONE: none. */
static enum err
find_user(struct store *st, struct str name, struct arena *a,
    struct str *schedule, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT name FROM schedule"
	    " WHERE policy = ?1 AND policy <> '' LIMIT 1");

	query_str(q, 1, store_text(name));
	*schedule = query_step(q) ? arena_copy(a, query_get_str(q, 0)) :
	    STR_NONE;
	return query_end(&q, w);
}

static enum err
delete_policy(struct store *st, struct str name, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str user;
	bool was = false;

	enum err e = find_user(st, name, &a, &user, w);
	if (e == OK && user.p != NULL)
		e = why(w, ERR_STATE, "the schedule \"%.*s\" uses the policy "
		    "\"%.*s\"", STR_FMT(user), STR_FMT(name));
	if (e == OK) {
		struct query *q = database_query(st->db,
		    "DELETE FROM policy WHERE name = ?1");
		query_str(q, 1, store_text(name));
		e = store_run(q, &was, w);
	}
	if (e == OK && !was)
		e = no_policy(name, w);
	return e;
}

enum err
store_policy_delete(struct store *st, struct str name, struct why *w)
{
	bool mine;

	if (is_default(name))
		return why(w, ERR_STATE, "the policy \"default\" can be "
		    "replaced, but not deleted");
	if (name.n == 0 || name.n > STORE_NAME_BYTES_MAX)
		return no_policy(name, w);
	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	return store_leave(st, mine, delete_policy(st, name, w), w);
}

/* Put the built-in one among them, where its name belongs. */
static void
add_built_in(struct store *st, struct arena *a, struct store_policy **list,
    size_t *n)
{
	struct store_policy *all = ARENA_ARRAY(a, struct store_policy, *n + 1);
	size_t at = 0;

	while (at < *n && str_cmp((*list)[at].name,
	    STR(STORE_POLICY_DEFAULT)) < 0)
		at++;
	if (at < *n && is_default((*list)[at].name))
		return;
	if (*n > 0) {
		memcpy(all, *list, at * sizeof(*all));
		memcpy(all + at + 1, *list + at, (*n - at) * sizeof(*all));
	}
	all[at] = built_in(st, a);
	all[at].json = STR_NONE;
	*list = all;
	++*n;
}

enum err
store_policy_list(struct store *st, struct arena *a, struct store_policy **list,
    size_t *n, struct why *w)
{
	struct query *q = database_query(st->db, "SELECT name, created, changed"
	    " FROM policy ORDER BY name");
	struct store_rows r = { .bytes_each = sizeof(**list) };

	while (query_step(q))
		*(struct store_policy *)store_rows_add(&r) =
		    (struct store_policy){
			arena_copy(a, query_get_str(q, 0)), STR_NONE,
			{ query_get_i64(q, 1) }, { query_get_i64(q, 2) },
		};
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	if (e == OK && st->policy_default != NULL)
		add_built_in(st, a, list, n);
	return e;
}
