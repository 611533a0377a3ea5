/*
 * Fuzz: an item as the wire brings it; what was read goes out and comes back as
 * the same, and others can read it too.
 */
#include "doors/urlfrontier/item.h"

#include "doors/urlfrontier/forward.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_known(const struct lease_item *i, struct arena *a)
{
	struct item_info x = { i->url, i->key, i->metadata, i->crawl };
	size_t n = item_known_size(&x, i->date_s, i->created_s);
	char *p = arena_bytes(a, n + 1);
	struct lease_item back;
	struct str id;

	CHECK(item_known_write(p, &x, i->date_s, i->created_s) == p + n);
	CHECK(item_read((struct str){ p, n }, a, &back, &id));
	CHECK(back.known && back.date_s == i->date_s &&
	    back.created_s == i->created_s && id.n == 0);
	CHECK(str_eq(back.url, i->url) && str_eq(back.key, i->key));
	CHECK(str_eq(back.crawl, i->crawl));
	CHECK(str_eq(back.metadata, i->metadata));
	/* Of unknown fields in metadata protobuf-c takes fewer than we do. */
	if (i->metadata.n > 0)
		return;
	Urlfrontier__URLItem *m = urlfrontier__urlitem__unpack(NULL, n,
	    (const uint8_t *)p);
	CHECK(m != NULL);
	urlfrontier__urlitem__free_unpacked(m, NULL);
}

/* On to another node, which must read the same, and not much more. */
static void
check_put(const struct lease_item *i, struct str from, struct arena *a)
{
	size_t n = item_put_size(i, STR("ours"));
	char *p = arena_bytes(a, n + 1);
	struct lease_item back;
	struct str id;

	CHECK(n <= from.n + FORWARD_MORE_BYTES);
	CHECK(item_put_write(p, i, STR("ours")) == p + n);
	CHECK(item_read((struct str){ p, n }, a, &back, &id));
	CHECK(str_eq(id, STR("ours")) && back.known == i->known &&
	    back.date_s == i->date_s);
	CHECK(str_eq(back.url, i->url) && str_eq(back.key, i->key));
	CHECK(str_eq(back.crawl, i->crawl));
	CHECK(str_eq(back.metadata, i->metadata));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, n }, id, info;
	enum lease_status status;
	struct arena a = ARENA_INIT;
	struct lease_item item;

	if (item_read_ack(s, &id, &status))
		CHECK(id.n < n || n == 0);
	if (item_read(s, &a, &item, &id)) {
		check_known(&item, &a);
		check_put(&item, s, &a);
	}
	if (item_check_batch(s, &id))
		while (item_next(&s, &info)) {
			CHECK(item_read_info(info, &a, &item));
			check_known(&item, &a);
			check_put(&item, info, &a);
		}
	arena_free(&a);
	return 0;
}
