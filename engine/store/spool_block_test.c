/* Documents come out of a block as they were put in; a damaged one is told. */
#include "engine/store/spool_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
documents_come_out_as_they_went_in(void **state)
{
	static const struct str documents[] = { STR("{\"id\":1}"), STR(""),
		STR("{\n\"a:b\":\"0:\\n\"}\n"), STR("1"), STR("") };
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str left, json;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(documents); i++)
		spool_block_put(&b, documents[i]);
	assert_true(str_starts(buf_str(&b), STR("8:{\"id\":1}\n0:\n")));
	left = buf_str(&b);
	for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
		assert_true(spool_block_take(&left, &json));
		assert_true(str_eq(json, documents[i]));
	}
	assert_false(spool_block_take(&left, &json));
	assert_int_equal(left.n, 0);
}

static void
a_damaged_block_ends_before_its_end(void **state)
{
	static const struct str damaged[] = { STR("8:{\"id\":1}"),
		STR("9:{\"id\":1}\n"), STR("7:{\"id\":1}\n"), STR("8"),
		STR("8:"), STR(":{}\n"), STR("x:{}\n"), STR("-1:{}\n"),
		STR("18446744073709551615:{}\n"), STR("2{}\n"),
		STR("\n") };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
		struct str left = damaged[i], json;
		assert_false(spool_block_take(&left, &json));
		assert_true(str_eq(left, damaged[i]));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_come_out_as_they_went_in),
		cmocka_unit_test(a_damaged_block_ends_before_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
