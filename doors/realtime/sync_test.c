#include "doors/realtime/sync.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "doors/realtime/item.h"
#include "wire/base64.h"

#define MARK "abcd1234"

static struct buf token;

/* The text in base64. */
static struct str
plain(const char *text)
{
	buf_clear(&token);
	base64_put(&token, str_of(text));
	return buf_str(&token);
}

static enum sync_fault
item(struct str t, uint64_t *n)
{
	return sync_read(t, SYNC_ITEM, 7, MARK, 10, n);
}

static void
test_there_and_back(void **state)
{
	uint64_t n;

	(void)state;
	for (uint64_t i = 0; i <= 10; i++) {
		buf_clear(&token);
		sync_put(&token, SYNC_ITEM, i, 7, MARK);
		assert_int_equal(item(buf_str(&token), &n), SYNC_FINE);
		assert_int_equal(n, i);
		assert_int_equal(sync_read(buf_str(&token), SYNC_LOG, 7, MARK,
		    10, &n), SYNC_OTHER_KIND);
		buf_clear(&token);
		sync_put(&token, SYNC_LOG, i, 7, MARK);
		assert_int_equal(sync_read(buf_str(&token), SYNC_LOG, 7, MARK,
		    10, &n), SYNC_FINE);
		assert_int_equal(n, i);
		assert_int_equal(item(buf_str(&token), &n), SYNC_OTHER_KIND);
	}
}

/* As the 2016 server has them. */
static void
test_bare(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(item(STR("MQ=="), &n), SYNC_FINE);
	assert_int_equal(n, 1);
	assert_int_equal(item(STR("MTA="), &n), SYNC_FINE);
	assert_int_equal(n, 10);
	assert_int_equal(item(STR("MTE="), &n), SYNC_PAST_END);
	assert_int_equal(item(STR(""), &n), SYNC_FINE);
	assert_int_equal(n, 0);
	assert_int_equal(sync_read(STR("MQ=="), SYNC_LOG, 7, MARK, 10, &n),
	    SYNC_OTHER_KIND);
}

static void
test_faults(void **state)
{
	static const char *const malformed[] = { "x", "-1", "1.", "1.7", "1.7.",
	    ".7." MARK, "1..7", "1.7x." MARK, " 1", "1 ", "+1",
	    "18446744073709551616", "1.7.log", "L1.7." MARK };
	uint64_t n;
	char longest[400];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(malformed); i++)
		if (item(plain(malformed[i]), &n) != SYNC_MALFORMED)
			fail_msg("%s", malformed[i]);
	assert_int_equal(item(plain("1.7.x.log"), &n), SYNC_OTHER_STORE);
	assert_int_equal(item(STR("!!"), &n), SYNC_MALFORMED);
	assert_int_equal(item(STR("===="), &n), SYNC_MALFORMED);
	assert_int_equal(item(plain("1.8." MARK), &n), SYNC_OTHER_CRAWL);
	assert_int_equal(item(plain("1.7.abcd1235"), &n), SYNC_OTHER_STORE);
	assert_int_equal(item(plain("1.8.abcd1235"), &n), SYNC_OTHER_STORE);
	assert_int_equal(item(plain("11.7." MARK), &n), SYNC_PAST_END);
	assert_int_equal(item(plain("18446744073709551615.7." MARK), &n),
	    SYNC_PAST_END);
	memset(longest, 'A', sizeof(longest));
	assert_int_equal(item((struct str){ longest, sizeof(longest) }, &n),
	    SYNC_MALFORMED);
	for (unsigned i = 0; i <= SYNC_PAST_END; i++)
		assert_non_null(sync_fault_text((enum sync_fault)i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_faults),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	buf_free(&token);
	return failed;
}
