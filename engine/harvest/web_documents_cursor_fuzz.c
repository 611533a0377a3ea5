/*
 * Any cursor that a caller might give back: one that can be read is written,
 * and read again, as it was.
 */
#include "engine/harvest/web_documents_cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str in = { (const char *)data, n };
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf once = BUF_INIT, twice = BUF_INIT;
	struct web_documents_cursor c;

	if (web_documents_cursor_read(in, &a, &c, NULL) != OK)
		return 0;
	web_documents_cursor_put(&c, &once);
	CHECK(web_documents_cursor_read(buf_str(&once), &a, &c, NULL) == OK);
	web_documents_cursor_put(&c, &twice);
	CHECK(str_eq(buf_str(&once), buf_str(&twice)));
	return 0;
}
