/*
 * Items, one or a list.
 *
 *     after ──► rows in chunks, by key, by tag and key, or by id
 *               ──► filtered here ──► aliases, tags, metadata in bulk ──► JSON
 *
 * A list looks at rows until it has enough, or for ANSWER_MS_MAX: a filter that
 * matches nothing ends in an answer without items that has a `next`.
 */
#include "engine/items/item_query.h"

#include "engine/items/item_answer.h"
#include "os/clock.h"

#define CHUNK 100u

/* -- One -- */

enum err
item_query_get(struct item_store *s, struct str id, struct buf *out,
    uint64_t *rev, struct why *w)
{
	FREED(answer_items_free) struct answer_items a = { .store = s };
	struct query *q = database_query(item_store_database(s),
	    "SELECT " ANSWER_COLUMNS " FROM aliases a JOIN items i"
	    " ON i.key = a.item WHERE a.id = ?1");

	query_str(q, 1, id);
	if (query_step(q))
		answer_take_item(&a, q);
	enum err e = query_end(&q, w);
	if (e == OK && a.n == 0)
		e = why_field(w, ERR_ABSENT, "id", "there is no such item");
	if (e == OK)
		e = answer_load(&a, NULL, 0, w);
	if (e != OK)
		return e;
	answer_item(a.rows[0], NULL, 0, out);
	*rev = a.rows[0]->rev;
	return OK;
}

/* -- A list -- */

struct listing {
	struct answer_items items;
	const struct item_list *ask;
	unsigned limit;
	uint32_t tag;                /* 0: by key or by id */
	bool by_id;
	/* The last row that was looked at. */
	int64_t key;
	struct buf id;
	bool at_end;
};

/*
 * The last column is the tag's value.  Prefixes are compared here: the end of
 * their range may be no UTF-8.
 */
static struct query *
next_chunk(struct listing *l, unsigned n)
{
	struct database *d = item_store_database(l->items.store);
	struct query *q;

	if (l->by_id) {
		q = database_query(d, "SELECT " ANSWER_COLUMNS ", NULL"
		    " FROM aliases a JOIN items i ON i.key = a.item"
		    " WHERE a.id > ?1 AND a.id >= ?2 AND a.own = 1"
		    " ORDER BY a.id LIMIT ?3");
		query_str(q, 1, l->id.n > 0 ? buf_str(&l->id) : STR(""));
		query_str(q, 2, l->ask->prefix);
		query_i64(q, 3, n);
		return q;
	}
	q = database_query(d, l->tag != 0 ?
	    "SELECT " ANSWER_COLUMNS ", t.value FROM tags t JOIN items i"
	    " ON i.key = t.item WHERE t.tag = ?3 AND t.item > ?1"
	    " ORDER BY t.item LIMIT ?2" :
	    "SELECT " ANSWER_COLUMNS ", NULL FROM items i WHERE i.key > ?1"
	    " ORDER BY i.key LIMIT ?2");
	query_i64(q, 1, l->key);
	query_i64(q, 2, n);
	if (l->tag != 0)
		query_i64(q, 3, l->tag);
	return q;
}

static bool
is_wanted(const struct listing *l, struct query *q)
{
	const struct item_list *ask = l->ask;

	if (!str_starts(query_get_str(q, 1), ask->prefix))
		return false;
	if (ask->updated_since.us != ITEM_TIME_NONE.us &&
	    query_get_i64(q, 5) < ask->updated_since.us)
		return false;
	return ask->value.p == NULL || (!query_is_null(q, ANSWER_COLUMNS_N) &&
	    str_eq(query_get_str(q, ANSWER_COLUMNS_N), ask->value));
}

/* Whether the list is full, or has passed all with the prefix. */
static bool
take_row(struct listing *l, struct query *q)
{
	if (l->by_id && !str_starts(query_get_str(q, 1), l->ask->prefix)) {
		l->at_end = true;
		return true;
	}
	if (l->items.n == l->limit || l->items.bytes > ANSWER_BYTES_MAX)
		return true;
	l->key = query_get_i64(q, 0);
	buf_clear(&l->id);
	buf_put_str(&l->id, query_get_str(q, 1));
	if (is_wanted(l, q))
		answer_take_item(&l->items, q);
	return false;
}

static enum err
collect(struct listing *l, struct why *w)
{
	struct mono until = mono_add_ms(clock_mono(), ANSWER_MS_MAX);
	bool full = false;
	enum err e = OK;

	while (e == OK && !full) {
		/* One more than fits tells whether there is a `next`. */
		unsigned want = MIN(CHUNK, l->limit - (unsigned)l->items.n + 1);
		unsigned n = 0;
		struct query *q = next_chunk(l, want);
		while (!full && query_step(q)) {
			n++;
			full = take_row(l, q);
		}
		e = query_end(&q, w);
		if (!full && n < want)
			full = l->at_end = true;
		else if (!mono_before(clock_mono(), until))
			full = true;
	}
	return e;
}

/* The filters; false when no row can match. */
static enum err
begin_list(struct listing *l, bool *any, struct why *w)
{
	const struct item_list *ask = l->ask;
	enum err e = answer_limit(&l->limit, w);

	*any = true;
	if (e == OK && ask->tag.p == NULL && ask->value.p != NULL)
		e = why_field(w, ERR_INPUT, "value", "it wants a tag");
	l->by_id = ask->tag.p == NULL && ask->prefix.n > 0;
	if (e == OK && l->by_id)
		buf_put_str(&l->id, ask->after);
	else if (e == OK)
		e = answer_after(ask->after, &l->key, w);
	if (e == OK && ask->tag.p != NULL) {
		e = item_store_name(l->items.store, ITEM_NAME_TAG, ask->tag,
		    false, &l->tag, w);
		*any = l->tag != 0;
	}
	return e;
}

static void
put_next(const struct listing *l, struct buf *next)
{
	buf_clear(next);
	if (l->at_end)
		return;
	if (l->by_id)
		buf_put_str(next, buf_str(&l->id));
	else
		buf_printf(next, "%lld", (long long)l->key);
}

static void
put_items(const struct listing *l, struct buf *out, struct str next)
{
	const struct item_list *ask = l->ask;

	if (!ask->lines) {
		json_object(out, NULL);
		json_array(out, "items");
	}
	for (size_t i = 0; i < l->items.n; i++) {
		answer_item(l->items.rows[i], ask->metadata, ask->metadata_n,
		    out);
		if (ask->lines)
			buf_put_char(out, '\n');
	}
	if (!ask->lines) {
		buf_put_char(out, ']');
		answer_text(out, "next", next);
		buf_put_char(out, '}');
	}
}

static void
listing_free(struct listing *l)
{
	answer_items_free(&l->items);
	buf_free(&l->id);
}

enum err
item_query_list(struct item_store *s, const struct item_list *ask,
    struct buf *out, struct buf *next, struct why *w)
{
	FREED(listing_free) struct listing l = { .items.store = s, .ask = ask,
	    .limit = ask->limit };
	bool any = false;

	enum err e = begin_list(&l, &any, w);
	if (e == OK && any)
		e = collect(&l, w);
	else
		l.at_end = true;
	if (e == OK)
		e = answer_load(&l.items, ask->metadata, ask->metadata_n, w);
	if (e != OK)
		return e;
	put_next(&l, next);
	put_items(&l, out, l.at_end ? STR_NONE : buf_str(next));
	return OK;
}
