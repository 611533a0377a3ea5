#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "os/transport_chunk.h"

static const struct {
	const char *bytes;
	size_t used;
	enum transport_chunk_state state;
	size_t trailer_bytes;
} cases[] = {
	{ "0\r\n\r\n", 5, TRANSPORT_CHUNK_ENDED, 2 },
	{ "0\n\n", 3, TRANSPORT_CHUNK_ENDED, 1 },
	{ "5\r\nhello\r\n0\r\n\r\nmore", 15, TRANSPORT_CHUNK_ENDED, 2 },
	{ "5\nhello\n0\n\nmore", 11, TRANSPORT_CHUNK_ENDED, 1 },
	{ "a;x=\"y\"\r\n0123456789\r\n0;z\r\n\r\n", 28, TRANSPORT_CHUNK_ENDED,
	    2 },
	{ "0\r\nA: b\r\nC: d\r\n\r\n", 17, TRANSPORT_CHUNK_ENDED, 14 },
	{ "0000000000000005\r\nhello\r\n", 25, TRANSPORT_CHUNK_SIZE, 0 },
	{ "7fffffffffffffff\r\nx", 19, TRANSPORT_CHUNK_DATA, 0 },
	{ "8000000000000000\r\nx", 15, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "00000000000000005\r\nhello", 16, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "5 \t;x\r\nhello\r\n0 \r\n\r\n", 20, TRANSPORT_CHUNK_ENDED, 2 },
	{ "0x5\r\n", 1, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "5 5\r\n", 2, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "5,\r\n", 1, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "zz\r\n", 0, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "\r\n", 0, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "-1\r\n", 0, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "5\r\nhello!\r\n", 8, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "5\r\nhello\r\n\r\n", 10, TRANSPORT_CHUNK_BROKEN, 0 },
	{ "0\r\n\rX", 4, TRANSPORT_CHUNK_BROKEN, 2 },
	{ "0\r\nA: b\rX", 8, TRANSPORT_CHUNK_BROKEN, 6 },
	{ "5\r\nhel", 6, TRANSPORT_CHUNK_DATA, 0 },
	{ "", 0, TRANSPORT_CHUNK_SIZE, 0 },
};

static void
check(size_t i, size_t step)
{
	struct transport_chunk c = { .digits = 0 };
	struct str all = { cases[i].bytes, strlen(cases[i].bytes) };
	size_t used = 0;

	for (size_t at = 0; at < all.n; at += step)
		used += transport_chunk_follow(&c, str_cut(all, at, at + step));
	if (c.state != cases[i].state || used != cases[i].used ||
	    c.trailer_bytes != cases[i].trailer_bytes)
		fail_msg("case %zu by %zu: state %d, used %zu, trailers %zu",
		    i, step, (int)c.state, used, c.trailer_bytes);
}

static void
test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t step = 1; step < 40; step++)
			check(i, step);
}

/* A chunk that is larger than all that is ever fed takes no memory. */
static void
test_large(void **state)
{
	struct transport_chunk c = { .digits = 0 };
	static char data[65536];
	uint64_t n = 0;

	(void)state;
	transport_chunk_follow(&c, STR("100000000\r\n"));
	while (c.state == TRANSPORT_CHUNK_DATA)
		n += transport_chunk_follow(&c,
		    (struct str){ data, sizeof(data) });
	assert_true(n == UINT64_C(0x100000000));
	assert_int_equal(c.state, TRANSPORT_CHUNK_DATA_END);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
