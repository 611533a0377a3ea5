#include "engine/frontier/checkpoint.h"

#include "engine/frontier/core.h"

#define PART_CHECKPOINT 'C'

static struct str
key_of(uint32_t crawl, struct str owner, struct arena *a)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	crawl_key(crawl, PART_CHECKPOINT, &key);
	buf_put_str(&key, owner);
	return arena_copy(a, buf_str(&key));
}

void
checkpoint_put(uint32_t crawl, struct str owner, struct str bytes,
    struct arena *a, struct extra_put *put)
{
	*put = (struct extra_put){ .family = INDEX_CRAWL,
	    .key = key_of(crawl, owner, a), .value = arena_copy(a, bytes) };
}

enum err
checkpoint_get(struct index *x, uint32_t crawl, struct str owner,
    struct arena *a, struct str *bytes, struct why *w)
{
	return index_get(x, INDEX_CRAWL, key_of(crawl, owner, a), a, bytes, w);
}
