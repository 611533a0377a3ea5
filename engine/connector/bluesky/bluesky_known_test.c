/* What is known of a stream: the last ones, over saves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/bluesky/bluesky_known.h"

/* As it was written and read again. */
static void
reload(struct bluesky_known *k)
{
	struct buf saved = BUF_INIT;

	bluesky_known_save(k, &saved);
	struct reader r = reader_of(buf_str(&saved));
	memset(k, 0x5a, sizeof(*k));
	assert_true(bluesky_known_load(k, &r));
	buf_free(&saved);
}

/* The last 6,000, however long it goes on; a list of its own hash by hash, and
 * all in one list. */
static void
check_last(uint64_t step, bool reloads)
{
	struct bluesky_known *k = mem_new(sizeof(*k));

	for (uint64_t i = 1; i <= 20000; i++) {
		assert_false(bluesky_known_take(k, i * step));
		assert_true(bluesky_known_take(k, i * step));
		if (i > 3)
			assert_true(bluesky_known_take(k, (i - 3) * step));
		if (reloads && i % 1777 == 0)
			reload(k);
	}
	assert_int_equal(k->n, BLUESKY_KNOWN_MAX);
	for (uint64_t i = 14001; i <= 20000; i += 7)
		assert_true(bluesky_known_take(k, i * step));
	assert_false(bluesky_known_take(k, 14000 * step));
	/* That has taken the oldest one's place. */
	assert_false(bluesky_known_take(k, 14001 * step));
	assert_true(bluesky_known_take(k, 14003 * step));
	free(k);
}

static void
the_last_ones_are_known(void **state)
{
	(void)state;
	check_last(1, false);
	check_last(1, true);
	check_last(UINT64_C(0x9e3779b97f4a7c15), true);
	/* Few lists, of a hundred hashes each. */
	check_last(128, true);
}

static void
what_was_not_saved_is_refused(void **state)
{
	struct bluesky_known k;
	static const struct str bad[] = {
		{ "", 0 },
		/* A hash that is missing, one too many, a place behind all, a
		 * place that no ring has that is not full. */
		{ "\1\1" "1234567", 9 }, { "\1\1" "1234567812345678", 18 },
		{ "\xf0\x2e\1" "12345678", 11 }, { "\0\1" "12345678", 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct reader r = reader_of(bad[i]);
		assert_false(bluesky_known_load(&k, &r));
		assert_int_equal(k.n, 0);
	}
	struct reader r = reader_of(STR("\1\1" "12345678"));
	assert_true(bluesky_known_load(&k, &r));
	assert_true(bluesky_known_take(&k, UINT64_C(0x3132333435363738)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_ones_are_known),
		cmocka_unit_test(what_was_not_saved_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
