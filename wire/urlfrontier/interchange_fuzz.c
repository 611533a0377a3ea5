/* Fuzz: a line; what was read can be written, and reads as the same. */
#include "wire/urlfrontier/interchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str line = { (const char *)data, n };
	struct arena a = ARENA_INIT;
	struct buf once = BUF_INIT, twice = BUF_INIT;
	Urlfrontier__URLItem *item, *again;
	struct why w = WHY_INIT;

	if (interchange_read(line, STR("c"), &a, &item, &w) == OK) {
		interchange_put(&once, item);
		CHECK(memchr(once.p, '\n', once.n) == NULL);
		CHECK(interchange_read(buf_str(&once), STR("other"), &a,
		    &again, NULL) == OK);
		interchange_put(&twice, again);
		CHECK(str_eq(buf_str(&once), buf_str(&twice)));
		/* What is written goes over the wire as it is. */
		CHECK(protobuf_c_message_check(&item->base));
	} else {
		CHECK(w.err == ERR_INPUT && w.text[0] != '\0');
	}
	buf_free(&once);
	buf_free(&twice);
	arena_free(&a);
	return 0;
}
