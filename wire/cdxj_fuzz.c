/* Fuzz: a CDXJ line, and bytes as a request body and as a JSON text. */
#include "wire/cdxj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, n };
	struct arena a = ARENA_INIT;
	struct cdxj_line l, back;
	struct buf b = BUF_INIT;

	if (cdxj_parse(s, &a, &l, NULL) == OK) {
		/* What was read can be written, and reads as the same. */
		cdxj_put_head(&b, &l, (struct wall){ 0 });
		cdxj_put_tail(&b, l.offset, l.filename);
		CHECK(cdxj_parse(buf_str(&b), &a, &back, NULL) == OK);
		CHECK(back.offset == l.offset && back.length == l.length);
		CHECK(str_eq(back.time, l.time));
		CHECK(str_eq(back.filename, l.filename));
	}
	buf_clear(&b);
	cdxj_put_request_body(&b, STR("application/json"), s);
	for (size_t i = 0; i < b.n; i++)
		CHECK((unsigned char)b.p[i] > ' ');
	buf_free(&b);
	arena_free(&a);
	return 0;
}
