/* Cursors as text: written and read again, merged, and malformed. */
#include "engine/harvest/document_cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct arena arena;

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct document_cursor
read_text(const char *json)
{
	struct document_cursor c;
	struct why w = WHY_INIT;

	if (document_cursor_read(str_of(json), &arena, &c, &w) != OK)
		fail_msg("%s", w.text);
	return c;
}

static void
has_state(const struct connector_state *s, const char *key, const char *value)
{
	assert_true(str_eq(s->key, str_of(key)));
	assert_true(str_eq(s->value, str_of(value)));
}

static void
what_is_written_is_read_again(void **state)
{
	struct connector_state from[] = { { STR("a\"\n"), STR("1") },
		{ STR("b"), STR("") } };
	struct connector_state found[] = { { STR("c"), STR("3") } };
	const struct document_cursor c = { .order = STR("abc"), .from = from,
	    .from_n = 2, .found = found, .found_n = 1,
	    .saved = (struct str){ "\0\1\377", 3 }, .ended = true };
	FREED(buf_free) struct buf once = BUF_INIT, twice = BUF_INIT;
	struct document_cursor again;

	(void)state;
	document_cursor_put(&c, &once);
	assert_int_equal(document_cursor_read(buf_str(&once), &arena, &again,
	    NULL), OK);
	assert_true(str_eq(again.order, c.order));
	assert_true(str_eq(again.saved, c.saved));
	assert_true(again.ended);
	assert_int_equal(again.from_n, 2);
	has_state(&again.from[0], "a\"\n", "1");
	has_state(&again.from[1], "b", "");
	assert_int_equal(again.found_n, 1);
	has_state(&again.found[0], "c", "3");
	document_cursor_put(&again, &twice);
	assert_true(str_eq(buf_str(&once), buf_str(&twice)));
}

static void
an_empty_text_is_the_beginning(void **state)
{
	struct document_cursor c = read_text("");

	(void)state;
	assert_int_equal(c.order.n, 0);
	assert_int_equal(c.from_n, 0);
	assert_int_equal(c.found_n, 0);
	assert_int_equal(c.saved.n, 0);
	assert_false(c.ended);
}

/* `found` wins over `from`; keys come out sorted, in whatever order they came.
 */
static void
the_next_run_begins_with_both(void **state)
{
	struct document_cursor c = read_text("{\"version\":1,\"from\":"
	    "[\"d\",\"4\",\"b\",\"2\",\"a\",\"1\"],\"found\":[\"c\",\"3\","
	    "\"b\",\"two\"],\"saved\":\"AA==\",\"ended\":true}");

	(void)state;
	document_cursor_begin_next(&c, &arena);
	assert_int_equal(c.from_n, 4);
	has_state(&c.from[0], "a", "1");
	has_state(&c.from[1], "b", "two");
	has_state(&c.from[2], "c", "3");
	has_state(&c.from[3], "d", "4");
	assert_int_equal(c.found_n, 0);
	assert_int_equal(c.saved.n, 0);
	assert_false(c.ended);
}

static void
faults_name_the_field(void **state)
{
	static const struct {
		const char *json, *field;
	} faults[] = {
		{ "{", "cursor" },
		{ "[]", "cursor" },
		{ "{}", "cursor.version" },
		{ "{\"version\":2}", "cursor.version" },
		{ "{\"version\":\"1\"}", "cursor.version" },
		{ "{\"version\":1,\"order\":1}", "cursor.order" },
		{ "{\"version\":1,\"ended\":0}", "cursor.ended" },
		{ "{\"version\":1,\"from\":{}}", "cursor.from" },
		{ "{\"version\":1,\"from\":[\"a\"]}", "cursor.from" },
		{ "{\"version\":1,\"found\":[\"a\",1]}", "cursor.found" },
		{ "{\"version\":1,\"found\":\"ab\"}", "cursor.found" },
		{ "{\"version\":1,\"saved\":7}", "cursor.saved" },
		{ "{\"version\":1,\"saved\":\"?\"}", "cursor.saved" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct document_cursor c;
		struct why w = WHY_INIT;
		assert_int_equal(document_cursor_read(str_of(faults[i].json),
		    &arena, &c, &w), ERR_INPUT);
		assert_string_equal(w.field, faults[i].field);
	}
}

/* A cursor of exactly so many bytes, most of them in one key. */
static struct str
long_cursor(size_t bytes)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_text(&b, "{\"version\":1,\"from\":[\"");
	while (b.n < bytes - strlen("\",\"\"]}"))
		buf_put_char(&b, 'k');
	buf_put_text(&b, "\",\"\"]}");
	return arena_copy(&arena, buf_str(&b));
}

/* And a place of exactly so many. */
static struct str
long_place(size_t bytes)
{
	struct document_cursor c = { .saved = { arena_bytes(&arena, bytes),
	    bytes } };
	FREED(buf_free) struct buf b = BUF_INIT;

	document_cursor_put(&c, &b);
	return arena_copy(&arena, buf_str(&b));
}

static void
limits_are_exact(void **state)
{
	struct document_cursor c;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(document_cursor_read(long_cursor(
	    DOCUMENT_CURSOR_BYTES_MAX), &arena, &c, NULL), OK);
	assert_int_equal(document_cursor_read(long_cursor(
	    DOCUMENT_CURSOR_BYTES_MAX + 1), &arena, &c, &w), ERR_FULL);
	assert_string_equal(w.field, "cursor");
	w = WHY_INIT;
	assert_int_equal(document_cursor_read(long_place(
	    CONNECTOR_SAVED_BYTES_MAX), &arena, &c, NULL), OK);
	assert_int_equal(document_cursor_read(long_place(
	    CONNECTOR_SAVED_BYTES_MAX + 1), &arena, &c, &w), ERR_INPUT);
	assert_string_equal(w.field, "cursor.saved");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(an_empty_text_is_the_beginning),
		cmocka_unit_test(the_next_run_begins_with_both),
		cmocka_unit_test(faults_name_the_field),
		cmocka_unit_test(limits_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
