#include "engine/parser/sitemap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = ARENA_INIT;
	struct str body = { (const char *)data, n };
	struct buf plain = BUF_INIT;
	struct sitemap s;
	struct url page;

	if (url_parse(STR("http://h.example/s"), NULL, &a, &page, NULL) != OK)
		return 0;
	sitemap_parse(body, STR_NONE, &page, 0, &a, &s);
	for (size_t i = 0; i < s.n; i++)
		CHECK(s.links[i].url.host.n != 0 && s.notes[i].priority <= 100);
	sitemap_parse_text(body, &page, 10, &a, &s);
	CHECK(s.n <= 10);
	if (sitemap_gunzip(body, 1000, &plain, NULL) == OK)
		CHECK(plain.n <= 1000);
	buf_free(&plain);
	arena_free(&a);
	return 0;
}
