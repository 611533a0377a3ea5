/*
 * Any cursor that a caller might give back: one that can be read is written,
 * and read again, as it was.
 */
#include "engine/harvest/document_cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
is_sorted(const struct connector_state *list, size_t n)
{
	for (size_t i = 1; i < n; i++)
		CHECK(str_cmp(list[i - 1].key, list[i].key) < 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str in = { (const char *)data, n };
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf once = BUF_INIT, twice = BUF_INIT;
	struct document_cursor c;

	if (document_cursor_read(in, &a, &c, NULL) != OK)
		return 0;
	document_cursor_put(&c, &once);
	CHECK(document_cursor_read(buf_str(&once), &a, &c, NULL) == OK);
	document_cursor_put(&c, &twice);
	CHECK(str_eq(buf_str(&once), buf_str(&twice)));
	document_cursor_begin_next(&c, &a);
	is_sorted(c.from, c.from_n);
	return 0;
}
