#include "wire/grpc/metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/time.h"
#include "wire/grpc/status.h"

static void
test_timeouts(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{ "1n", 1 }, { "5u", 5000 }, { "7m", 7000000 },
		{ "3S", 3000000000 }, { "2M", 120000000000 },
		{ "1H", 3600000000000 }, { "0S", 0 },
		{ "99999999n", 99999999 }, { "99999999H", INT64_MAX / 4 },
	};
	static const char *const bad[] = { "", "S", "1", "1s", "-1S", "1.5S",
	    "123456789S", " 1S", "1 S", "+1S" };
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(grpc_timeout_read(str_of(good[i].text), &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(grpc_timeout_read(str_of(bad[i]), &ns));
}

static void
test_timeouts_written(void **state)
{
	int64_t all[] = { 1, 99999999, 100000000, 100000001, 30 * NS_PER_S,
	    NS_PER_S * 3600 * 24 * 365, INT64_MAX };
	char text[GRPC_TIMEOUT_MAX];
	int64_t back;

	(void)state;
	grpc_timeout_write(1, text);
	assert_string_equal(text, "1n");
	grpc_timeout_write(0, text);
	assert_string_equal(text, "1n");
	grpc_timeout_write(30 * NS_PER_S, text);
	assert_string_equal(text, "30000000u");
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		grpc_timeout_write(all[i], text);
		assert_true(strlen(text) <= 9);
		assert_true(grpc_timeout_read(str_of(text), &back));
		/* Rounded up, and never by much. */
		assert_true(back >= MIN(all[i], INT64_MAX / 4));
		assert_true(all[i] == INT64_MAX ||
		    back - all[i] <= all[i] / 90000);
	}
}

static void
test_fields(void **state)
{
	struct arena a = ARENA_INIT;
	struct grpc_fields f = { NULL, 0, 0 };
	struct str bytes = STR("\0\xff\n"), back;

	(void)state;
	for (int i = 0; i < 100; i++)
		grpc_fields_add(&f, &a, i == 70 ? STR("b") : STR("a"),
		    i == 70 ? STR("70") : STR("x"));
	assert_int_equal(f.n, 100);
	assert_true(str_eq(grpc_fields_find(&f, STR("b")), STR("70")));
	assert_null(grpc_fields_find(&f, STR("c")).p);

	assert_true(grpc_field_is_fine(STR("x-a_b.9"), STR("any thing~")));
	assert_true(grpc_field_is_fine(STR("x-bin"), bytes));
	assert_false(grpc_field_is_fine(STR("x"), bytes));
	assert_false(grpc_field_is_fine(STR("x"), STR(" lead")));
	assert_false(grpc_field_is_fine(STR("X"), STR("")));
	assert_false(grpc_field_is_fine(STR(""), STR("")));
	assert_false(grpc_field_is_fine(STR(":path"), STR("/")));
	assert_false(grpc_field_is_fine(STR("grpc-status"), STR("0")));
	assert_false(grpc_field_is_fine(STR("te"), STR("x")));

	struct str wire = grpc_value_write(&a, STR("x-bin"), bytes);
	assert_true(str_eq(wire, STR("AP8K")));
	assert_true(grpc_value_read(&a, STR("x-bin"), wire, &back));
	assert_true(str_eq(back, bytes));
	assert_false(grpc_value_read(&a, STR("x-bin"), STR("?"), &back));
	assert_true(grpc_value_read(&a, STR("x"), STR("?"), &back));
	arena_free(&a);
}

static void
test_percent(void **state)
{
	static const struct {
		const char *plain, *wire;
	} all[] = {
		{ "", "" }, { "plain text ~", "plain text ~" },
		{ "100%", "100%25" }, { "a\r\nb\t", "a%0D%0Ab%09" },
		{ "\xc3\xbc\x7f", "%C3%BC%7F" },
		{ "\t\ntest with whitespace\r\nand Unicode BMP \xe2\x98\xba",
		    "%09%0Atest with whitespace%0D%0Aand Unicode BMP "
		    "%E2%98%BA" },
	};
	struct buf b = BUF_INIT, back = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		buf_clear(&b);
		buf_clear(&back);
		grpc_percent_encode(&b, str_of(all[i].plain));
		assert_true(str_eq(buf_str(&b), str_of(all[i].wire)));
		grpc_percent_decode(&back, buf_str(&b));
		assert_true(str_eq(buf_str(&back), str_of(all[i].plain)));
	}
	/* What is no escape stays (PROTOCOL-HTTP2.md: never an error). */
	buf_clear(&back);
	grpc_percent_decode(&back, STR("%zz%4%41%"));
	assert_true(str_eq(buf_str(&back), STR("%zz%4A%")));
	buf_free(&b);
	buf_free(&back);
}

static void
test_codes(void **state)
{
	(void)state;
	assert_int_equal(GRPC_UNAUTHENTICATED, 16);
	assert_int_equal(GRPC_UNAVAILABLE, 14);
	assert_int_equal(GRPC_DEADLINE_EXCEEDED, 4);
	assert_string_equal(grpc_code_name(5), "NOT_FOUND");
	assert_string_equal(grpc_code_name(17), "UNKNOWN");
	assert_int_equal(grpc_code_read(STR("16")), 16);
	assert_int_equal(grpc_code_read(STR("17")), GRPC_UNKNOWN);
	assert_int_equal(grpc_code_read(STR("")), GRPC_UNKNOWN);
	assert_int_equal(grpc_code_of_http(404), GRPC_UNIMPLEMENTED);
	assert_int_equal(grpc_code_of_http(503), GRPC_UNAVAILABLE);
	assert_int_equal(grpc_code_of_reset(8), GRPC_CANCELLED);
	assert_int_equal(grpc_code_of_reset(7), GRPC_UNAVAILABLE);
	assert_int_equal(grpc_code_of_reset(1), GRPC_INTERNAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_timeouts_written),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
