/* What the index holds of one URL: for people who ask, not for the crawl. */
#include "engine/frontier/journal.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/queue_record.h"
#include "engine/frontier/url_key.h"

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

static enum err
get(struct index *x, enum index_family family, struct buf *key,
    struct arena *a, struct str *value)
{
	enum err e = index_get(x, family, buf_str(key), a, value, NULL);

	buf_clear(key);
	return e;
}

static enum err
old_capture(struct index *x, uint32_t crawl, struct str name, struct str url,
    struct arena *a, struct buf *key, struct journal_entry *out)
{
	struct queue_record q;
	struct str value;
	struct url_value v;

	enum err e = queue_record_get(x, crawl, name, a, &q);
	if (e != OK)
		return e;
	url_key(crawl, q.id, 0, url, key);
	e = get(x, INDEX_URL, key, a, &value);
	if (e == OK && (!url_value_parse(value, &v) || v.seq == 0 ||
	    v.why >> 4 != OUTCOME_ITEM))
		e = ERR_ABSENT;
	if (e != OK)
		return e;
	journal_key(crawl, v.seq, key);
	struct str entry_key = arena_copy(a, buf_str(key));
	e = get(x, INDEX_JOURNAL, key, a, &value);
	return e == OK && !journal_parse(entry_key, value, out) ?
	    ERR_CORRUPT : e;
}

enum err
frontier_old_capture(struct index *x, uint32_t crawl, struct str name,
    struct str url, struct arena *a, struct journal_entry *out)
{
	struct buf key = BUF_INIT;
	enum err e = old_capture(x, crawl, name, url, a, &key, out);

	buf_free(&key);
	return e;
}

struct collection_crawls
frontier_collection(struct frontier *f, struct str warc_dir, uint32_t id)
{
	struct collection_crawls found = { UINT32_MAX, UINT32_MAX, true };

	for (uint32_t i = 0; i < f->next_crawl; i++) {
		const struct crawl *c = i == id ? NULL : crawl_get(f, i);
		if (c == NULL || !str_eq(c->warc_dir, warc_dir))
			continue;
		found.first &= i > id;
		if (c->view.counts.items == 0 ||
		    c->view.state == CRAWL_RUNNING)
			continue;
		found.newest = i;
		found.oldest = MIN(found.oldest, i);
	}
	return found;
}

static uint32_t
queue_of(struct frontier *f, uint32_t crawl, struct str name)
{
	const struct crawl *c = crawl_get(f, crawl);
	const struct queue *q = c == NULL ? NULL : map_get(&c->queues, name);
	struct arena a = ARENA_INIT;
	struct queue_record r;
	uint32_t id = q == NULL ? QUEUE_SKIPPED : q->id;

	if (c != NULL && c->retired && queue_record_get(ledger_index(
	    f->ledger), crawl, name, &a, &r) == OK)
		id = r.id;
	arena_free(&a);
	return id;
}

enum url_state
frontier_find_url(struct frontier *f, uint32_t id, struct str url,
    struct str queue_name, struct url_fact *fact)
{
	struct index *x = ledger_index(f->ledger);
	uint32_t queue = queue_of(f, id, queue_name);
	enum url_state state = URL_UNKNOWN;
	struct buf key = BUF_INIT;
	struct url_value v = { 0 };

	url_key(id, QUEUE_SKIPPED, 0, url, &key);
	if (read_fact(x, &key, &v)) {
		state = URL_SKIPPED;
		fact->reason = v.why & 15;
	} else if (queue != QUEUE_SKIPPED) {
		buf_clear(&key);
		url_key(id, queue, 0, url, &key);
		state = read_fact(x, &key, &v) ? URL_DONE :
		    find_waiting(x, id, queue, url, &v) ? URL_WAITING :
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
