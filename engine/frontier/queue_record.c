/* Queues' records, read from the index. */
#include "engine/frontier/queue_record.h"
#include "engine/frontier/url_key.h"

bool
queue_record_parse(struct str value, struct queue_record *r)
{
	struct reader in = reader_of(value);

	r->crawl = read_be32(&in);
	r->id = read_be32(&in);
	r->ordered = (uint32_t)read_varint(&in);
	r->waiting = read_varint(&in);
	r->done = read_varint(&in);
	r->key = read_field(&in);
	return !in.bad;
}

enum err
queue_record_get(struct index *x, uint32_t crawl, struct str key,
    struct arena *a, struct queue_record *r)
{
	FREED(buf_free) struct buf at = BUF_INIT;
	struct str value;

	queue_key(crawl, key, &at);
	enum err e = index_get(x, INDEX_QUEUE, buf_str(&at), a, &value, NULL);
	return e == OK && !queue_record_parse(value, r) ? ERR_CORRUPT : e;
}

enum err
queue_record_each(struct index *x, uint32_t crawl,
    void (*visit)(void *arg, const struct queue_record *), void *arg)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_QUEUE);
	FREED(buf_free) struct buf from = BUF_INIT;
	struct str key, value;
	struct queue_record r;
	bool fine = true;

	queue_key(crawl, STR(""), &from);
	for (index_iter_seek(i, buf_str(&from)); fine &&
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i)) {
		fine = queue_record_parse(value, &r);
		if (fine)
			visit(arg, &r);
	}
	enum err e = index_iter_error(i, NULL);
	return e == OK && !fine ? ERR_CORRUPT : e;
}
