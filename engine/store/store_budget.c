/* Budgets as rows. */
#include "engine/store/store_budget.h"

#include "engine/store/store_own.h"

static enum err
put_one(struct store *st, const struct store_budget *b, struct why *w)
{
	struct query *q = database_query(st->db, "INSERT INTO harvest_budget"
	    " (node, name, used, ends) VALUES (?1, ?2, ?3, ?4)"
	    " ON CONFLICT (node, name) DO UPDATE SET used = excluded.used,"
	    " ends = excluded.ends");

	query_str(q, 1, store_text(st->node));
	query_str(q, 2, store_text(b->name));
	query_i64(q, 3, (int64_t)MIN(b->used, INT64_MAX));
	query_i64(q, 4, b->ends.us);
	return store_run(q, NULL, w);
}

enum err
store_budgets_put(struct store *st, const struct store_budget *list, size_t n,
    struct wall now, struct why *w)
{
	bool mine;

	enum err e = store_enter(st, &mine, w);
	if (e != OK)
		return e;
	struct query *q = database_query(st->db, "DELETE FROM harvest_budget"
	    " WHERE node = ?1 AND ends <= ?2");
	query_str(q, 1, store_text(st->node));
	query_i64(q, 2, now.us);
	e = store_run(q, NULL, w);
	for (size_t i = 0; i < n && e == OK; i++)
		e = put_one(st, &list[i], w);
	return store_leave(st, mine, e, w);
}

enum err
store_budgets_list(struct store *st, struct arena *a,
    struct store_budget **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	struct query *q = database_query(st->db, "SELECT name, used, ends FROM"
	    " harvest_budget WHERE node = ?1 ORDER BY name");

	query_str(q, 1, store_text(st->node));
	while (query_step(q)) {
		struct store_budget *b = store_rows_add(&r);
		*b = (struct store_budget){
			.name = arena_copy(a, query_get_str(q, 0)),
			.used = (uint64_t)query_get_i64(q, 1),
			.ends = { query_get_i64(q, 2) } };
	}
	enum err e = store_rows_end(&r, &q, OK, a, w);
	*list = r.rows;
	*n = r.n;
	return e;
}
