#include "engine/fetcher/collection.h"

#include "base/hash.h"

#define VALIDATOR_TAG 'v'
#define VALIDATOR_SEED 0x7a11da7e

struct str
collection_of_name(struct str name, struct arena *a)
{
	/* No path of a WARC directory begins so. */
	return arena_printf(a, "collection:%.*s", STR_FMT(name));
}

struct str
collection_of_unarchived(uint32_t crawl, struct arena *a)
{
	return arena_printf(a, "unarchived:%u", crawl);
}

void
collection_prefix(struct str collection, struct buf *out)
{
	buf_put_field(out, collection);
}

void
collection_digest_key(struct str collection, const struct digest *d,
    struct buf *out)
{
	collection_prefix(collection, out);
	buf_put(out, d->bytes, digest_size(d->kind));
}

struct str
collection_validator_key(struct str collection, struct str url,
    struct arena *a)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	buf_put_char(&key, VALIDATOR_TAG);
	buf_put_be64(&key, hash_bytes(url, hash_bytes(collection,
	    VALIDATOR_SEED)));
	return arena_copy(a, buf_str(&key));
}

bool
collection_has_validator(int status, bool truncated,
    const struct http_head *head)
{
	return status == 200 && !truncated &&
	    (http_find(head, STR("ETag")).n != 0 ||
	    http_find(head, STR("Last-Modified")).n != 0);
}

enum err
collection_entry(struct index *x, uint32_t crawl, uint64_t seq, struct arena *a,
    struct journal_entry *out)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str value;

	journal_key(crawl, seq, &key);
	struct str copy = arena_copy(a, buf_str(&key));
	enum err e = index_get(x, INDEX_JOURNAL, copy, a, &value, NULL);
	if (e == OK && !journal_parse(copy, value, out))
		e = ERR_CORRUPT;
	return e;
}

enum err
collection_original(struct index *x, struct str key, struct arena *a,
    struct journal_entry *out)
{
	struct str value;

	enum err e = index_get(x, INDEX_DIGEST, key, a, &value, NULL);
	if (e != OK)
		return e;
	struct reader in = reader_of(value);
	uint32_t crawl = read_be32(&in);
	uint64_t seq = read_be64(&in);
	return in.bad ? ERR_CORRUPT : collection_entry(x, crawl, seq, a, out);
}

enum err
collection_validator_get(struct index *x, struct str key, struct str url,
    struct arena *a, struct journal_entry *out)
{
	enum err e = collection_original(x, key, a, out);

	/* Two URLs may have one hash. */
	return e == OK && !str_eq(out->url, url) ? ERR_ABSENT : e;
}
