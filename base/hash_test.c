/* The source itself: the path for machines without SSE 4.2 is static in it. */
#include "base/hash.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static uint32_t
crc_by_table(struct str s, uint32_t before)
{
	return ~crc32c_table((const unsigned char *)s.p, s.n, ~before);
}

/* RFC 3720 appendix B.4, and the check value of the catalogues. */
static void
test_vectors(void **state)
{
	char zeros[32], ones[32], up[32], down[32];
	static const char command[] = "\x01\xc0\x00\x00\x00\x00\x00\x00"
	    "\x00\x00\x00\x00\x00\x00\x00\x00\x14\x00\x00\x00\x00\x00\x04\x00"
	    "\x00\x00\x00\x14\x00\x00\x00\x18\x28\x00\x00\x00\x00\x00\x00\x00"
	    "\x02\x00\x00\x00\x00\x00\x00\x00";
	const struct {
		struct str text;
		uint32_t crc;
	} rows[] = {
		{ STR_NONE, 0 },
		{ { zeros, 32 }, 0x8a9136aa }, { { ones, 32 }, 0x62a8ab43 },
		{ { up, 32 }, 0x46dd794e }, { { down, 32 }, 0x113fdb5c },
		{ { command, 48 }, 0xd9963a56 },
		{ STR("123456789"), 0xe3069283 },
	};

	(void)state;
	for (int i = 0; i < 32; i++) {
		zeros[i] = 0;
		ones[i] = (char)0xff;
		up[i] = (char)i;
		down[i] = (char)(31 - i);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(crc32c_of(rows[i].text, 0), rows[i].crc);
		assert_int_equal(crc_by_table(rows[i].text, 0), rows[i].crc);
	}
}

/* In parts or whole, at every alignment, by either way: the same. */
static void
test_parts(void **state)
{
	char bytes[80];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 37 + 11);
	for (size_t from = 0; from < 9; from++)
		for (size_t n = 0; n <= sizeof(bytes) - from; n++) {
			struct str s = { bytes + from, n };
			uint32_t whole = crc_by_table(s, 0);
			assert_int_equal(crc32c_of(s, 0), whole);
			size_t half = n / 2;
			assert_int_equal(crc32c_of(str_from(s, half),
			    crc32c_of(str_cut(s, 0, half), 0)), whole);
		}
}

/* One flipped bit anywhere is another sum. */
static void
test_flips(void **state)
{
	char bytes[40] = "the quick brown fox";
	uint32_t sum = crc32c_of((struct str){ bytes, 40 }, 0);

	(void)state;
	for (int bit = 0; bit < 320; bit++) {
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
		assert_int_not_equal(crc32c_of((struct str){ bytes, 40 }, 0),
		    sum);
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
	}
}

static void
test_hash(void **state)
{
	int low[64] = { 0 };

	(void)state;
	/* XXH3's own vector: the empty input without a seed. */
	assert_true(hash_bytes(STR_NONE, 0) == UINT64_C(0x2d06800538d394c2));
	assert_true(hash_bytes(STR(""), 0) == hash_bytes(STR_NONE, 0));
	assert_true(hash_bytes(STR("a"), 0) != hash_bytes(STR("a"), 1));
	assert_true(hash_bytes(STR("a"), 0) != hash_bytes(STR("b"), 0));
	/* Numbers in a row fall into all of 64 slots, about evenly. */
	for (uint64_t i = 0; i < 6400; i++)
		low[hash_u64(i) & 63]++;
	for (int i = 0; i < 64; i++)
		assert_in_range(low[i], 50, 150);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
