#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/event.h"

static void
expect_event(const char *lines, const char *name, const char *data)
{
	struct arena a = ARENA_INIT;
	struct str n, d;
	bool is_event = event_read(str_of(lines), &a, &n, &d);

	assert_int_equal(is_event, data != NULL);
	if (data != NULL) {
		assert_true(str_eq(n, str_of(name)));
		assert_true(str_eq(d, str_of(data)));
	}
	arena_free(&a);
}

static void
events_are_taken_apart(void **state)
{
	(void)state;
	expect_event("event: update\ndata: {\"a\":1}\n", "update",
	    "{\"a\":1}");
	expect_event("event:update\r\ndata:x\r\ndata: y\r\n", "update",
	    "x\ny");
	expect_event("data: x\revent: a\revent: b", "b", "x");
	expect_event("data:  two blanks", "message", " two blanks");
	expect_event(":thump\nid: 7\ndata: a:b\nretry: 1", "message", "a:b");
	expect_event("data", "message", "");
	expect_event("data:\ndata:\n", "message", "\n");
	expect_event("event:\ndata: x", "message", "x");
}

static void
without_data_it_is_none(void **state)
{
	(void)state;
	expect_event("event: update\n", NULL, NULL);
	expect_event(":thump\n", NULL, NULL);
	expect_event("Data: x\n", NULL, NULL);
	expect_event("\n\r\n", NULL, NULL);
	expect_event("", NULL, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_taken_apart),
		cmocka_unit_test(without_data_it_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
