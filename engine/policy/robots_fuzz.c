/*
 * Fuzz robots.txt: the first line is a target, the rest the file.  Parsing
 * twice must say the same, and a file never forbids itself.
 */
#include "engine/policy/robots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, n }, target;
	struct robots_match m;

	if (n == 0 || !str_split(&rest, '\n', &target))
		return 0;
	struct robots *r = robots_parse(rest, STR("argiope"));
	struct robots *again = robots_parse(rest, STR("ARGIOPE"));
	bool allowed = robots_allows(r, target, &m);
	CHECK(allowed == m.allowed);
	CHECK(allowed == robots_allows(again, target, NULL));
	CHECK(robots_allows(r, STR("/robots.txt"), NULL));
	CHECK(robots_delay_ms(r) >= -1 &&
	    robots_delay_ms(r) <= ROBOTS_CRAWL_DELAY_MAX_S * 1000);
	struct robots_facts f = robots_facts(r);
	CHECK(f.rules_n <= ROBOTS_RULES_MAX);
	CHECK(robots_sitemap(r, f.sitemaps_n).p == NULL);
	for (size_t i = 0; i < f.sitemaps_n; i++)
		CHECK(robots_sitemap(r, i).n > 0);
	(void)robots_tag_parse(target, STR("argiope"));
	robots_free(&r);
	robots_free(&again);
	return 0;
}
