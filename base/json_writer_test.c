#include "base/json_writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
test_members(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	json_object(&b, NULL);
	json_str(&b, "a", STR("x\"{"));
	json_u64(&b, "b", UINT64_MAX);
	json_object(&b, "c");
	json_bool(&b, "d", true);
	buf_put_char(&b, '}');
	json_bool(&b, "e", false);
	json_null(&b, "f");
	json_raw(&b, "g", STR("[1]"));
	json_name(&b, "h");
	json_object(&b, NULL);
	buf_put_text(&b, "}}");
	assert_string_equal(buf_text(&b), "{\"a\":\"x\\\"{\","
	    "\"b\":18446744073709551615,\"c\":{\"d\":true},\"e\":false,"
	    "\"f\":null,\"g\":[1],\"h\":{}}");
	buf_free(&b);
}

static void
test_numbers(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	json_object(&b, NULL);
	json_real(&b, "a", 1.5);
	json_real(&b, "b", 120);
	json_real(&b, "c", 0);
	json_real(&b, "d", INFINITY);
	json_decimals(&b, "e", 1.5, 3);
	json_decimals(&b, "f", 1.5, 0);
	json_time(&b, "g", (struct wall){ 1795159500000007 });
	json_time(&b, "h", (struct wall){ 0 });
	json_time(&b, "i", (struct wall){ INT64_MAX });
	buf_put_char(&b, '}');
	assert_string_equal(buf_text(&b), "{\"a\":1.5,\"b\":120,\"c\":0,"
	    "\"d\":null,\"e\":1.500,\"f\":2,\"g\":1795159500.000007,"
	    "\"h\":null,\"i\":null}");
	buf_free(&b);
}

static void
test_arrays(void **state)
{
	const struct str texts[] = { STR("a"), STR(""), STR("[") };
	struct buf b = BUF_INIT;

	(void)state;
	json_array(&b, NULL);
	json_object(&b, NULL);
	json_strs(&b, "t", texts, 3);
	json_strs(&b, "none", texts, 0);
	buf_put_char(&b, '}');
	json_array(&b, NULL);
	json_item(&b, STR("{"));
	json_item(&b, STR(":"));
	json_comma(&b);
	buf_put_text(&b, "1]]\n");
	/* The next line is a JSON text of its own. */
	json_object(&b, NULL);
	buf_put_text(&b, "}\n");
	assert_string_equal(buf_text(&b), "[{\"t\":[\"a\",\"\",\"[\"],"
	    "\"none\":[]},[\"{\",\":\",1]]\n{}\n");
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
