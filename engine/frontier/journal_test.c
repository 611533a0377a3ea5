#include "engine/frontier/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define KEY_BYTES 12
#define FLAGS_AT 28                     /* in a value */
#define COMMON_FLAGS (JOURNAL_TRUNCATED | JOURNAL_SIZED | JOURNAL_SOURCED)

static uint64_t
draw(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void
put_all(const struct journal_entry *e, struct buf *key, struct buf *value)
{
	struct buf rest = BUF_INIT;

	buf_clear(key);
	buf_clear(value);
	journal_key(e->crawl, e->seq, key);
	journal_put_rest(e, &rest);
	journal_put(e->file, e->offset, buf_str(&rest), value);
	buf_free(&rest);
}

/* Parse a copy that has not one byte more, for the sanitizers to see. */
static bool
parse(struct str key, struct str value, struct journal_entry *e,
    struct arena *a)
{
	struct str k = { arena_bytes(a, key.n), key.n };
	char *v = malloc(value.n + (value.n == 0));

	assert_non_null(v);
	if (key.n > 0)
		memcpy((char *)(uintptr_t)k.p, key.p, key.n);
	if (value.n > 0)
		memcpy(v, value.p, value.n);
	bool good = journal_parse(k, (struct str){ v, value.n }, e);
	if (good) {
		struct str *const fields[] = { &e->type, &e->title, &e->url,
			&e->final_url, &e->via };
		/* They borrow from the value; keep them alive. */
		for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
			struct str s = *fields[i];
			assert_true(s.n == 0 || (s.p >= v &&
			    s.p + s.n <= v + value.n));
			*fields[i] = arena_copy(a, s);
		}
	}
	free(v);
	return good;
}

static void
expect_equal(const struct journal_entry *x, const struct journal_entry *y)
{
	assert_int_equal(x->crawl, y->crawl);
	assert_true(x->seq == y->seq && x->offset == y->offset);
	assert_int_equal(x->file, y->file);
	assert_int_equal(x->clen, y->clen);
	assert_int_equal(x->ulen, y->ulen);
	assert_int_equal(x->body_at, y->body_at);
	assert_int_equal(x->hops, y->hops);
	assert_int_equal(x->status, y->status);
	assert_int_equal(x->depth, y->depth);
	assert_int_equal(x->flags, y->flags);
	assert_true(x->start.us == y->start.us);
	assert_int_equal(x->duration_us, y->duration_us);
	assert_int_equal(x->dns_us, y->dns_us);
	assert_int_equal(x->connect_us, y->connect_us);
	assert_int_equal(x->tls_us, y->tls_us);
	assert_int_equal(x->first_byte_us, y->first_byte_us);
	assert_int_equal(x->total_us, y->total_us);
	assert_true(x->body_bytes == y->body_bytes);
	assert_true(x->simhash == y->simhash);
	if (x->flags & JOURNAL_SIZED)
		assert_true(x->decoded == y->decoded);
	if (x->flags & JOURNAL_SOURCED)
		assert_true(x->source.file == y->source.file &&
		    x->source.offset == y->source.offset &&
		    x->source.clen == y->source.clen &&
		    x->source.ulen == y->source.ulen);
	assert_int_equal(x->digest.kind, y->digest.kind);
	assert_memory_equal(x->digest.bytes, y->digest.bytes,
	    digest_size(x->digest.kind));
	assert_true(str_eq(x->type, y->type) && str_eq(x->title, y->title));
	assert_true(str_eq(x->url, y->url) && str_eq(x->via, y->via));
	assert_true(str_eq(x->final_url, y->final_url));
}

/* Text of a length that tries varints of one, two and three bytes. */
static struct str
random_text(struct arena *a)
{
	static const size_t lengths[] = { 0, 1, 20, 127, 128, 300, 16383,
		16384 };
	size_t n = lengths[draw() % ARRAY_LEN(lengths)];
	char *p = arena_bytes(a, n);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)draw();
	return (struct str){ p, n };
}

static struct journal_entry
random_entry(struct arena *a)
{
	struct journal_entry e = {
		.crawl = (uint32_t)draw(), .seq = draw(),
		.file = (uint32_t)draw(), .offset = draw() >> 16,
		.clen = (uint32_t)draw(), .ulen = (uint32_t)draw(),
		.body_at = (uint32_t)draw(), .hops = (uint16_t)draw(),
		.status = (uint16_t)draw(), .depth = (uint16_t)draw(),
		.flags = (uint8_t)draw(), .start = { (int64_t)draw() },
		.duration_us = (uint32_t)draw(), .dns_us = (int32_t)draw(),
		.connect_us = (int32_t)draw(), .tls_us = (int32_t)draw(),
		.first_byte_us = (int32_t)draw(), .total_us = (int32_t)draw(),
		.body_bytes = draw(), .simhash = draw(), .decoded = draw(),
		.source = { (uint32_t)draw(), draw() >> 16,
		    (uint32_t)draw(), (uint32_t)draw() },
		.type = random_text(a), .title = random_text(a),
		.url = random_text(a), .final_url = random_text(a),
		.via = random_text(a),
	};

	e.digest.kind = (enum digest_kind)(draw() % (DIGEST_MD5 + 1));
	for (size_t i = 0; i < DIGEST_BYTES_MAX; i++)
		e.digest.bytes[i] = (uint8_t)draw();
	return e;
}

/* A small page as it is common, every field filled. */
static struct journal_entry
common_entry(void)
{
	return (struct journal_entry){
		.crawl = 7, .seq = 1234567, .file = 3,
		.offset = UINT64_C(0xfedcba987654), .clen = 2000, .ulen = 6000,
		.body_at = 700, .hops = 1, .status = 200, .depth = 4,
		.flags = COMMON_FLAGS, .start = { 1700000000123456 },
		.duration_us = 250000, .dns_us = -1, .connect_us = 2,
		.tls_us = -1, .first_byte_us = 4, .total_us = 5,
		.body_bytes = 6000, .simhash = 0x1122334455667788,
		.decoded = 20000, .source = { 2, 0x123456789abc, 1000, 3000 },
		.digest = { DIGEST_SHA1, "abcdefghijklmnopqrs" },
		.type = STR("text/html"),
		.title = STR("A page"), .url = STR("http://a.example/"),
		.final_url = STR("http://a.example/b"), .via = STR("seed"),
	};
}

static void
round_trip_tests(void **state)
{
	struct buf key = BUF_INIT, value = BUF_INIT;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct arena a = ARENA_INIT;
		struct journal_entry e = random_entry(&a), back;
		/* All zeros, all ones, and what lies between. */
		if (i == 0)
			memset(&e, 0, sizeof(e));
		else if (i == 1)
			memset(&e, 0xff, offsetof(struct journal_entry,
			    digest));
		e.offset &= (UINT64_C(1) << 48) - 1;
		e.source.offset &= (UINT64_C(1) << 48) - 1;
		put_all(&e, &key, &value);
		assert_int_equal(key.n, KEY_BYTES);
		assert_true(parse(buf_str(&key), buf_str(&value), &back, &a));
		expect_equal(&e, &back);
		arena_free(&a);
	}
	buf_free(&key);
	buf_free(&value);
}

/* Keys sort by crawl, then by sequence. */
static void
key_tests(void **state)
{
	static const uint64_t order[][2] = {
		{ 0, 0 }, { 0, 1 }, { 0, 255 }, { 0, 256 }, { 0, UINT64_MAX },
		{ 1, 0 }, { 1, UINT64_C(1) << 32 }, { 256, 0 },
		{ UINT32_MAX, 0 }, { UINT32_MAX, UINT64_MAX },
	};
	struct buf before = BUF_INIT, key = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		buf_clear(&key);
		journal_key((uint32_t)order[i][0], order[i][1], &key);
		assert_true(i == 0 ||
		    str_cmp(buf_str(&before), buf_str(&key)) < 0);
		buf_clear(&before);
		buf_put_str(&before, buf_str(&key));
	}
	buf_free(&before);
	buf_free(&key);
}

static void
near_flag_tests(void **state)
{
	struct buf key = BUF_INIT, value = BUF_INIT;
	struct journal_entry e = common_entry(), back;
	struct arena a = ARENA_INIT;

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_all(&e, &key, &value);
		journal_flag_near(value.p);
		assert_true(parse(buf_str(&key), buf_str(&value), &back, &a));
		e.flags = COMMON_FLAGS | JOURNAL_NEAR_DUPLICATE;
		expect_equal(&e, &back);
	}
	buf_free(&key);
	buf_free(&value);
	arena_free(&a);
}

/* No part of a value, nor one with more behind it, passes for the whole. */
static void
length_tests(void **state)
{
	struct buf key = BUF_INIT, value = BUF_INIT;
	struct journal_entry e = common_entry(), back;
	struct arena a = ARENA_INIT;

	(void)state;
	put_all(&e, &key, &value);
	for (size_t n = 0; n < value.n; n++)
		if (parse(buf_str(&key), str_cut(buf_str(&value), 0, n), &back,
		    &a))
			fail_msg("%zu of %zu bytes pass", n, value.n);
	for (size_t n = 0; n < KEY_BYTES; n++)
		assert_false(parse(str_cut(buf_str(&key), 0, n),
		    buf_str(&value), &back, &a));
	assert_true(parse(buf_str(&key), buf_str(&value), &back, &a));
	buf_put_char(&value, '\0');
	assert_false(parse(buf_str(&key), buf_str(&value), &back, &a));
	buf_free(&key);
	buf_free(&value);
	arena_free(&a);
}

/*
 * One byte damaged, in every way: either it is noticed, or the entry says just
 * what the bytes say, so that it is written back as it was read.
 */
static void
expect_honest(struct str key, struct str value, size_t *noticed)
{
	struct buf k = BUF_INIT, v = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct journal_entry e;

	if (!parse(key, value, &e, &a)) {
		++*noticed;
	} else {
		put_all(&e, &k, &v);
		assert_true(str_eq(buf_str(&k), key));
		assert_true(str_eq(buf_str(&v), value));
	}
	buf_free(&k);
	buf_free(&v);
	arena_free(&a);
}

static void
damage_tests(void **state)
{
	struct buf key = BUF_INIT, value = BUF_INIT;
	struct journal_entry e = common_entry();
	size_t noticed = 0, lengths = 6, moved = 0;

	(void)state;
	put_all(&e, &key, &value);
	for (size_t i = 0; i < value.n; i++)
		for (int flip = 1; flip < 256; flip++) {
			value.p[i] = (char)(value.p[i] ^ flip);
			expect_honest(buf_str(&key), buf_str(&value), &noticed);
			value.p[i] = (char)(value.p[i] ^ flip);
		}
	for (size_t i = 0; i < key.n; i++) {
		key.p[i] ^= 0x55;
		expect_honest(buf_str(&key), buf_str(&value), &moved);
		key.p[i] ^= 0x55;
	}
	/* A damaged length or kind can be noticed, and nearly always is; of
	 * the flags two bits say what else there is. */
	assert_in_range(noticed, lengths * 245 + 192, lengths * 255 + 192);
	assert_int_equal(moved, 0);
	assert_int_equal((uint8_t)value.p[FLAGS_AT], COMMON_FLAGS);
	buf_free(&key);
	buf_free(&value);
}

/* Anything at all behind a plausible beginning: no crash, no read behind it. */
static void
random_tests(void **state)
{
	struct buf key = BUF_INIT, value = BUF_INIT, again = BUF_INIT;
	struct journal_entry e = common_entry(), back, twice;
	size_t good = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct arena a = ARENA_INIT;
		put_all(&e, &key, &value);
		value.n = draw() % (value.n + 1);
		for (uint64_t n = draw() % 40; n > 0; n--)
			buf_put_char(&value, (char)(draw() % 3 == 0 ? draw() :
			    draw() % 8));
		for (uint64_t n = draw() % 4; n > 0 && value.n > 0; n--)
			value.p[draw() % value.n] = (char)draw();
		if (parse(buf_str(&key), buf_str(&value), &back, &a)) {
			/* A length may be written longer than it need be. */
			put_all(&back, &key, &again);
			assert_true(again.n <= value.n);
			assert_true(parse(buf_str(&key), buf_str(&again),
			    &twice, &a));
			expect_equal(&back, &twice);
			good++;
		}
		arena_free(&a);
	}
	print_message("journal: %zu of 100000 random values pass\n", good);
	assert_in_range(good, 10, 50000);
	buf_free(&key);
	buf_free(&value);
	buf_free(&again);
}

/* A length near 2^64 must not wrap round. */
static void
huge_length_tests(void **state)
{
	struct buf key = BUF_INIT, value = BUF_INIT;
	/* Without what would stand behind the fields. */
	struct journal_entry e = { .crawl = 1 }, back;
	struct arena a = ARENA_INIT;

	(void)state;
	for (int shift = 7; shift < 64; shift++) {
		put_all(&e, &key, &value);
		value.n -= 5;            /* five empty fields */
		buf_put_varint(&value, UINT64_MAX << shift >> 1);
		buf_put_text(&value, "text and more text");
		assert_false(parse(buf_str(&key), buf_str(&value), &back, &a));
	}
	buf_free(&key);
	buf_free(&value);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip_tests), cmocka_unit_test(key_tests),
		cmocka_unit_test(near_flag_tests),
		cmocka_unit_test(length_tests), cmocka_unit_test(damage_tests),
		cmocka_unit_test(random_tests),
		cmocka_unit_test(huge_length_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
