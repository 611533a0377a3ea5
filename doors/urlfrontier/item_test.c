/*
 * What item.c reads and writes is held against what protoc-c made of the same
 * messages.
 */
#include "doors/urlfrontier/item.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <protobuf-c/protobuf-c.h>

#include "wire/urlfrontier/urlfrontier.pb-c.h"

static struct arena arena;

static struct str
packed(const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	char *p = arena_bytes(&arena, n + 1);

	assert_int_equal(protobuf_c_message_pack(m, (uint8_t *)p), n);
	return (struct str){ p, n };
}

static char *
text(const char *s)
{
	return (char *)(uintptr_t)arena_copy(&arena, str_of(s)).p;
}

static void
is(struct str got, const char *want)
{
	assert_int_equal(got.n, strlen(want));
	assert_memory_equal(got.p == NULL ? "" : got.p, want, got.n);
}

/* Two names, the second with two values. */
static Urlfrontier__URLInfo *
info_new(const char *url, const char *key, const char *crawl)
{
	Urlfrontier__URLInfo *i = ARENA_NEW(&arena, Urlfrontier__URLInfo);
	Urlfrontier__URLInfo__MetadataEntry **all = ARENA_ARRAY(&arena,
	    Urlfrontier__URLInfo__MetadataEntry *, 2);

	urlfrontier__urlinfo__init(i);
	for (size_t k = 0; k < 2; k++) {
		Urlfrontier__StringList *l = ARENA_NEW(&arena,
		    Urlfrontier__StringList);
		urlfrontier__string_list__init(l);
		l->n_values = k + 1;
		l->values = ARENA_ARRAY(&arena, char *, 2);
		l->values[0] = text("eins");
		l->values[1] = text("zw\xc3\xb6lf");
		all[k] = ARENA_NEW(&arena,
		    Urlfrontier__URLInfo__MetadataEntry);
		urlfrontier__urlinfo__metadata_entry__init(all[k]);
		all[k]->key = text(k == 0 ? "a" : "b");
		all[k]->value = l;
	}
	i->url = text(url);
	i->key = text(key);
	i->crawlid = text(crawl);
	i->metadata = all;
	i->n_metadata = 2;
	return i;
}

static Urlfrontier__URLItem
known_of(Urlfrontier__URLInfo *info, uint64_t date)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__KnownURLItem *k = ARENA_NEW(&arena,
	    Urlfrontier__KnownURLItem);

	urlfrontier__known_urlitem__init(k);
	k->info = info;
	k->refetchable_from_date = date;
	m.item_case = URLFRONTIER__URLITEM__ITEM_KNOWN;
	m.known = k;
	return m;
}

static void
test_read(void **state)
{
	Urlfrontier__URLItem m = known_of(info_new("http://h/\xe2\x82\xac",
	    "h", "c"), 77);
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	struct lease_item i;
	struct str id;

	(void)state;
	m.id = text("id");
	m.creation_date = 5;
	assert_true(item_read(packed(&m.base), &arena, &i, &id));
	is(i.url, "http://h/\xe2\x82\xac");
	is(i.key, "h");
	is(i.crawl, "c");
	is(id, "id");
	assert_true(i.known);
	assert_int_equal(i.date_s, 77);
	assert_int_equal(i.created_s, 5);

	d.info = m.known->info;
	m.item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	m.discovered = &d;
	assert_true(item_read(packed(&m.base), &arena, &i, &id));
	assert_false(i.known);
	is(i.url, "http://h/\xe2\x82\xac");

	/* Neither kind, nothing at all. */
	assert_true(item_read(STR(""), &arena, &i, &id));
	assert_true(i.known);
	is(i.url, "");
	is(id, "");
	arena_free(&arena);
}

/* What was read goes out again and says the same to protobuf-c. */
static void
test_round(void **state)
{
	Urlfrontier__URLItem m = known_of(info_new("http://h/", "h", "c"), 9);
	struct lease_item i;
	struct str id;

	(void)state;
	assert_true(item_read(packed(&m.base), &arena, &i, &id));
	struct item_info x = { i.url, i.key, i.metadata, i.crawl };
	size_t n = item_known_size(&x, 9, 1000000);
	char *p = arena_bytes(&arena, n);
	assert_ptr_equal(item_known_write(p, &x, 9, 1000000), p + n);
	m.creation_date = 1000000;
	struct str want = packed(&m.base);
	assert_int_equal(n, want.n);
	assert_memory_equal(p, want.p, n);

	n = item_info_size(&x);
	p = arena_bytes(&arena, n);
	assert_ptr_equal(item_info_write(p, &x), p + n);
	want = packed(&m.known->info->base);
	assert_int_equal(n, want.n);
	assert_memory_equal(p, want.p, n);
	arena_free(&arena);
}

static void
check_put(const struct lease_item *i, const Urlfrontier__URLItem *m)
{
	struct str want = packed(&m->base), id = str_of(m->id);
	size_t n = item_put_size(i, id);
	char *p = arena_bytes(&arena, n);

	assert_int_equal(n, want.n);
	assert_ptr_equal(item_put_write(p, i, id), p + n);
	assert_memory_equal(p, want.p, n);
}

/* What was read goes on to another node, under another ID. */
static void
test_put(void **state)
{
	Urlfrontier__URLItem m = known_of(info_new("http://h/", "h", "c"), 9);
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	struct lease_item i;
	struct str id;

	(void)state;
	m.id = text("theirs");
	m.creation_date = 5;
	assert_true(item_read(packed(&m.base), &arena, &i, &id));
	m.id = text("ours");
	i.keep_created = true;
	check_put(&i, &m);
	i.keep_created = false;
	m.creation_date = 0;
	check_put(&i, &m);
	i.date_s = m.known->refetchable_from_date = 0;
	check_put(&i, &m);
	d.info = m.known->info;
	m.item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	m.discovered = &d;
	assert_true(item_read_info(packed(&d.info->base), &arena, &i));
	check_put(&i, &m);
	arena_free(&arena);
}

/* Fields in any order, unknown ones between, metadata scattered. */
static void
test_scattered(void **state)
{
	static const char info[] =
	    "\x1a\x03\x0a\x01" "a"          /* metadata {"a"} */
	    "\x0a\x01" "x"                  /* url "x" */
	    "\xa0\x06\x07"                  /* 100: 7 */
	    "\x1a\x03\x0a\x01" "b"
	    "\x0a\x01" "y";                 /* url again: the last counts */
	struct str m = { info, sizeof(info) - 1 };
	struct lease_item i;

	(void)state;
	assert_true(item_read_info(m, &arena, &i));
	is(i.url, "y");
	is(i.metadata, "\x1a\x03\x0a\x01" "a\x1a\x03\x0a\x01" "b");
	arena_free(&arena);
}

/* Of two kinds the last one counts; an ID may stand before both. */
static void
test_two_kinds(void **state)
{
	static const char both[] =
	    "\x1a\x01" "i"
	    "\x12\x07\x0a\x03\x0a\x01" "k\x10\x05"
	    "\x0a\x05\x0a\x03\x0a\x01" "d";
	struct lease_item i;
	struct str id;

	(void)state;
	assert_true(item_read((struct str){ both, sizeof(both) - 1 }, &arena,
	    &i, &id));
	assert_false(i.known);
	assert_int_equal(i.date_s, 0);
	is(i.url, "d");
	is(id, "i");
	arena_free(&arena);
}

static void
test_nul(void **state)
{
	static const char item[] = "\x0a\x07\x0a\x05\x0a\x03" "a\0b";
	struct lease_item i;
	struct str id;

	(void)state;
	assert_true(item_read((struct str){ item, sizeof(item) - 1 }, &arena,
	    &i, &id));
	assert_int_equal(i.url.n, 3);
	assert_memory_equal(i.url.p, "a\0b", 3);
	arena_free(&arena);
}

/* What cannot be decoded, or what another's library could not read back. */
static void
test_refused(void **state)
{
	static const struct str bad[] = {
		STR("\x0a"), STR("\x0a\x05" "ab"), STR("\x0b\x0c"),
		STR("\x00\x01"), STR("\x1a\x02\xff\xfe"),
		STR("\x0a\x04\x0a\x02\x0a\x01"),
		STR("\x0a\x05\x0a\x03\x0a\x01\xff"),
		STR("\x0a\x05\x0a\x03\x12\x01\x80"),
		STR("\x0a\x05\x0a\x03\x22\x01\xc0"),
		/* metadata: a name, a value, a cut entry */
		STR("\x0a\x07\x0a\x05\x1a\x03\x0a\x01\xff"),
		STR("\x0a\x09\x0a\x07\x1a\x05\x12\x03\x0a\x01\xff"),
		STR("\x0a\x06\x0a\x04\x1a\x02\x0a\x05"),
		STR("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	};
	struct lease_item i;
	struct str id;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(bad); k++)
		if (item_read(bad[k], &arena, &i, &id))
			fail_msg("%zu was read", k);
	arena_free(&arena);
}

static void
test_batch(void **state)
{
	Urlfrontier__DiscoveredBatch b = URLFRONTIER__DISCOVERED_BATCH__INIT;
	Urlfrontier__URLInfo *all[] = { info_new("u1", "k", ""),
	    info_new("", "", ""), info_new("u3", "", "c") };
	struct lease_item i;
	struct str id, rest, info;

	(void)state;
	b.id = text("b1");
	b.items = all;
	b.n_items = ARRAY_LEN(all);
	rest = packed(&b.base);
	struct str cut = str_cut(rest, 0, rest.n - 1);
	assert_true(item_check_batch(rest, &id));
	is(id, "b1");
	for (size_t k = 0; k < ARRAY_LEN(all); k++) {
		assert_true(item_next(&rest, &info));
		assert_true(item_read_info(info, &arena, &i));
		assert_false(i.known);
		is(i.url, all[k]->url);
		is(i.crawl, all[k]->crawlid);
	}
	assert_false(item_next(&rest, &info));
	assert_false(item_next(&rest, &info));
	assert_false(item_check_batch(cut, &id));
	assert_true(item_check_batch(STR(""), &id));
	is(id, "");
	arena_free(&arena);
}

static void
test_acks(void **state)
{
	Urlfrontier__AckMessage a = URLFRONTIER__ACK_MESSAGE__INIT;
	Urlfrontier__BatchAck b = URLFRONTIER__BATCH_ACK__INIT;
	Urlfrontier__AckMessage__Status statuses[300];
	enum lease_status status;
	char bytes[300];
	struct str id;

	(void)state;
	for (int s = LEASE_OK; s <= LEASE_FAIL; s++) {
		a.id = text(s == 1 ? "" : "http://h/");
		a.status = (Urlfrontier__AckMessage__Status)s;
		struct str want = packed(&a.base), got = { NULL, 0 };
		got.n = item_ack_size(str_of(a.id), (enum lease_status)s);
		got.p = arena_bytes(&arena, got.n);
		item_ack_write((char *)(uintptr_t)got.p, str_of(a.id),
		    (enum lease_status)s);
		assert_int_equal(got.n, want.n);
		assert_memory_equal(got.p, want.p, want.n);
		assert_true(item_read_ack(got, &id, &status));
		is(id, a.id);
		assert_int_equal(status, s);
	}
	assert_true(item_read_ack(STR("\x10\x03"), &id, &status));
	assert_int_equal(status, LEASE_FAIL);
	assert_false(item_read_ack(STR("\x0a\x02" "a"), &id, &status));
	for (size_t k = 0; k < ARRAY_LEN(bytes); k++) {
		bytes[k] = (char)(k % 3);
		statuses[k] = (Urlfrontier__AckMessage__Status)(k % 3);
	}
	b.id = text("probe");
	b.statuses = statuses;
	for (size_t n = 0; n <= ARRAY_LEN(bytes); n += 100) {
		struct str all = { bytes, n };
		b.n_statuses = n;
		struct str want = packed(&b.base);
		size_t size = item_batch_ack_size(STR("probe"), all);
		char *p = arena_bytes(&arena, size + 1);
		item_batch_ack_write(p, STR("probe"), all);
		assert_int_equal(size, want.n);
		assert_memory_equal(p, want.p, want.n);
	}
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_two_kinds),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_acks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
