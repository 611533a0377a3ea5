/* Which WARC files there are of collections and seeds: harvests' rows, read. */
#include "engine/store/store_export.h"

#include "base/json.h"
#include "base/map.h"
#include "engine/store/store_own.h"

/* ---- Harvests ------------------------------------------------------- */

/* What is looked for in start messages. */
struct wanted {
	const struct store_warc_query *query;
	struct map seeds, harvests;  /* the query's; values are not used */
};

static struct str
id_of(yyjson_val *object)
{
	return json_text(yyjson_obj_get(object, "id"));
}

static bool
has_seed(const struct wanted *x, yyjson_val *message)
{
	yyjson_val *seeds = yyjson_obj_get(message, "seeds"), *seed;
	yyjson_arr_iter list = yyjson_arr_iter_with(seeds);

	while ((seed = yyjson_arr_iter_next(&list)) != NULL)
		if (map_get(&x->seeds, id_of(seed)) != NULL)
			return true;
	return false;
}

/* What is no JSON names neither a collection nor seeds. */
static bool
is_wanted(const struct wanted *x, struct str id, struct str message)
{
	const struct store_warc_query *want = x->query;

	if (want->harvests_n > 0 && map_get(&x->harvests, id) == NULL)
		return false;
	if (want->collection.n == 0 && want->seeds_n == 0)
		return true;
	yyjson_doc *doc = yyjson_read(message.p, message.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);
	bool yes = (want->collection.n == 0 || str_eq(want->collection,
	    id_of(yyjson_obj_get(root, "collection")))) &&
	    (want->seeds_n == 0 || has_seed(x, root));
	yyjson_doc_free(doc);
	return yes;
}

static void
put_all(struct map *m, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)map_put(m, list[i], m);
}

/* Ids of the harvests that the query chooses, as keys of `out`. */
static enum err
find_harvests(struct store *st, const struct store_warc_query *want,
    struct arena *a, struct map *out, struct why *w)
{
	struct wanted x = { .query = want };
	struct query *q = database_query(st->db, "SELECT id, message FROM"
	    " harvest WHERE ?1 = 1 OR type <> 'web'");

	put_all(&x.seeds, want->seeds, want->seeds_n);
	put_all(&x.harvests, want->harvests, want->harvests_n);
	query_i64(q, 1, want->with_web);
	while (query_step(q))
		if (is_wanted(&x, query_get_str(q, 0), query_get_str(q, 1)))
			(void)map_put(out, arena_copy(a, query_get_str(q, 0)),
			    out);
	map_free(&x.seeds);
	map_free(&x.harvests);
	return query_end(&q, w);
}

/* ---- Files ---------------------------------------------------------- */

static struct query *
query_files(struct store *st, const struct store_warc_query *want)
{
	const struct store_warc_bounds *bounds[] = { &want->harvest,
		&want->created };
	struct query *q = database_query(st->db, "SELECT w.warc_id, w.sha1,"
	    " h.id, h.type, h.path, w.name, w.bytes, w.created FROM"
	    " harvest_warc w JOIN harvest h ON h.id = w.harvest"
	    " WHERE w.placed = 1 AND (?1 = 1 OR h.type <> 'web')"
	    " AND (?2 = '' OR w.warc_id = ?2)"
	    " AND COALESCE(h.started, h.accepted) >= ?3"
	    " AND COALESCE(h.started, h.accepted) <= ?4"
	    " AND w.created >= ?5 AND w.created <= ?6"
	    " ORDER BY w.created, w.warc_id");

	query_i64(q, 1, want->with_web);
	query_str(q, 2, store_text(want->warc_id));
	for (int i = 0; i < 2; i++) {
		query_i64(q, 3 + 2 * i, bounds[i]->has_from ?
		    bounds[i]->from.us : INT64_MIN);
		query_i64(q, 4 + 2 * i, bounds[i]->has_to ?
		    bounds[i]->to.us : INT64_MAX);
	}
	return q;
}

static void
read_file(struct query *q, struct arena *a, struct store_warc *f)
{
	*f = (struct store_warc){
		.warc_id = arena_copy(a, query_get_str(q, 0)),
		.sha1 = arena_copy(a, query_get_str(q, 1)),
		.harvest = arena_copy(a, query_get_str(q, 2)),
		.type = arena_copy(a, query_get_str(q, 3)),
		.path = arena_copy(a, query_get_str(q, 4)),
		.name = arena_copy(a, query_get_str(q, 5)),
		.bytes = (uint64_t)query_get_i64(q, 6),
		.created = { query_get_i64(q, 7) },
	};
}

enum err
store_warcs_find(struct store *st, const struct store_warc_query *want,
    struct arena *a, struct store_warc **list, size_t *n, struct why *w)
{
	struct store_rows r = { .bytes_each = sizeof(**list) };
	bool some = want->collection.n > 0 || want->seeds_n > 0 ||
	    want->harvests_n > 0;
	struct map harvests = MAP_INIT;
	enum err e = some ? find_harvests(st, want, a, &harvests, w) : OK;

	*n = 0;
	if (e == OK) {
		struct query *q = query_files(st, want);
		while (query_step(q))
			if (!some || map_get(&harvests, query_get_str(q, 2)) !=
			    NULL)
				read_file(q, a, store_rows_add(&r));
		e = store_rows_end(&r, &q, OK, a, w);
		*list = r.rows;
		*n = r.n;
	}
	map_free(&harvests);
	return e;
}

/* ---- Collections ---------------------------------------------------- */

struct gathering {
	struct arena *arena;
	struct map by_id;            /* struct store_collection */
	struct store_collection **list;
	size_t n, cap;
};

static struct store_collection *
find_collection(struct gathering *g, struct str id)
{
	struct store_collection *c = map_get(&g->by_id, id);

	if (c != NULL)
		return c;
	c = ARENA_NEW(g->arena, struct store_collection);
	c->id = arena_copy(g->arena, id);
	(void)map_put(&g->by_id, c->id, c);
	g->list = arena_grow(g->arena, g->list, g->n, &g->cap, 64,
	    sizeof(struct store_collection *));
	g->list[g->n++] = c;
	return c;
}

static bool
begins_with(struct str id, struct str prefix)
{
	return id.n > 0 && str_starts_nocase(id, prefix);
}

static void
gather_harvest(struct gathering *g, struct str prefix, struct query *q)
{
	struct str message = query_get_str(q, 0);
	yyjson_doc *doc = yyjson_read(message.p, message.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	struct str id = id_of(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "collection"));

	if (begins_with(id, prefix)) {
		struct store_collection *c = find_collection(g, id);
		c->type = arena_copy(g->arena, query_get_str(q, 1));
		c->is_on |= query_is_null(q, 2);
	}
	yyjson_doc_free(doc);
}

enum err
store_collections(struct store *st, struct str prefix, struct arena *a,
    struct store_collection **list, size_t *n, struct why *w)
{
	struct gathering g = { .arena = a };
	struct query *q = database_query(st->db, "SELECT message, type, ended"
	    " FROM harvest WHERE type <> 'web' ORDER BY number");

	while (query_step(q))
		gather_harvest(&g, prefix, q);
	map_free(&g.by_id);
	*list = ARENA_ARRAY(a, struct store_collection, g.n);
	*n = g.n;
	for (size_t i = 0; i < g.n; i++)
		(*list)[i] = *g.list[i];
	return query_end(&q, w);
}
