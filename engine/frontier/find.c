/* What the index holds of one URL: for people who ask, not for the crawl. */
#include "engine/frontier/state.h"

static bool
read_fact(struct index *x, const struct buf *key, struct url_value *v)
{
	struct arena a = ARENA_INIT;
	struct str value;
	bool there = index_get(x, INDEX_URL, buf_str(key), &a, &value, NULL) ==
	    OK && url_value_parse(value, v);

	arena_free(&a);
	return there;
}

/* A waiting URL's key holds its rank, which nobody knows: walk its queue. */
static bool
find_waiting(struct index *x, uint32_t crawl, uint32_t queue, struct str url,
    struct url_value *v)
{
	struct index_iter *i = index_iter_new(x, INDEX_URL);
	struct buf from = BUF_INIT;
	struct str key, value;
	bool found = false;
	size_t head;

	buf_put_be32(&from, crawl);
	buf_put_be32(&from, queue);
	head = from.n + sizeof(uint32_t);
	for (index_iter_seek(i, buf_str(&from)); !found &&
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i))
		found = str_eq(str_from(key, head), url) &&
		    url_value_parse(value, v);
	index_iter_free(&i);
	buf_free(&from);
	return found;
}

enum url_state
frontier_find_url(struct frontier *f, uint32_t id, struct str url,
    struct str queue_name, struct url_fact *fact)
{
	struct index *x = ledger_index(f->ledger);
	const struct crawl *c = crawl_get(f, id);
	const struct queue *q = c == NULL ? NULL :
	    map_get(&c->queues, queue_name);
	enum url_state state = URL_UNKNOWN;
	struct buf key = BUF_INIT;
	struct url_value v = { 0 };

	url_key(id, QUEUE_SKIPPED, 0, url, &key);
	if (read_fact(x, &key, &v)) {
		state = URL_SKIPPED;
		fact->reason = v.why & 15;
	} else if (q != NULL) {
		buf_clear(&key);
		url_key(id, q->id, 0, url, &key);
		state = read_fact(x, &key, &v) ? URL_DONE :
		    find_waiting(x, id, q->id, url, &v) ? URL_WAITING :
		    URL_UNKNOWN;
		fact->reason = v.why & 15;
	}
	fact->outcome = (enum outcome)(v.why >> 4);
	fact->depth = v.depth;
	fact->cost = v.cost;
	fact->flags = v.flags;
	fact->found.us = (int64_t)v.created_s * US_PER_S;
	buf_free(&key);
	return state;
}
