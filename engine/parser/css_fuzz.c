#include "engine/parser/css.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool
count(void *ctx, struct str url, bool import)
{
	size_t *sum = ctx;

	(void)import;
	CHECK(url.n != 0);
	for (size_t i = 0; i < url.n; i++)
		*sum += (unsigned char)url.p[i];
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = ARENA_INIT;
	size_t sum = 0;

	css_scan((struct str){ (const char *)data, n }, &a, count, &sum);
	arena_free(&a);
	return 0;
}
