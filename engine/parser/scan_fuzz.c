#include "engine/parser/scan_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Each form of the scanner gives the tags and texts that lexbor gives. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str page = { (const char *)data, n };
	scan_mask_fn *const forms[] = { scan_mask_portable, scan_mask_wide() };
	struct scan_log want = { BUF_INIT, 0 };
	struct scan_consumer to = scan_testing_log(&want);

	scan_testing_read_lexbor(page, &to);
	for (size_t i = 0; i < ARRAY_LEN(forms) && forms[i] != NULL; i++) {
		struct scan_log got = { BUF_INIT, 0 };
		to = scan_testing_log(&got);
		scan_testing_read(page, forms[i], &to);
		CHECK(str_eq(buf_str(&got.text), buf_str(&want.text)));
		buf_free(&got.text);
	}
	buf_free(&want.text);
	return 0;
}
