#include "base/conf.h"

/* Any bytes as a file and as --set: no crash, and what is set prints back. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = { (const char *)data, n };
	struct conf a, b;
	struct buf printed = BUF_INIT;
	struct why w = WHY_INIT;

	conf_init(&a);
	conf_init(&b);
	enum err e = conf_file(&a, text, "f", &w);
	CHECK((e == OK) == (w.text[0] == '\0'));
	w = WHY_INIT;
	e = conf_flag(&a, text, &w);
	CHECK((e == OK) == (w.text[0] == '\0'));
	w = WHY_INIT;
	conf_print(&a, &printed);
	if (printed.n <= CONF_FILE_BYTES_MAX) {
		CHECK(conf_file(&b, buf_str(&printed), "f", &w) == OK);
		for (size_t i = 0; i < CONF_COUNT; i++)
			CHECK(!conf_differs(&a, &b, (enum conf_id)i));
	}
	buf_free(&printed);
	conf_free(&a);
	conf_free(&b);
	return 0;
}
