#include "engine/fetcher/cookie.h"

/*
 * Any bytes as Set-Cookie values, line by line and whole, from several hosts,
 * and as a cookie file: no crash, no limit passed, a header that is one line,
 * and nothing left when every cookie with an end has ended.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const urls[] = {
	"http://a.example.org/", "https://a.example.org/d/p?q",
	"https://example.org/d", "https://b.a.example.org/d/e/",
	"https://example.co.uk/", "http://93.184.216.34/", "https://[2001::1]/",
	"http://localhost/", "https://github.io/", "https://example.org./d/",
};

static void
ask(struct cookie_jar *jar, const struct url *u, struct wall now,
    struct arena *a)
{
	struct str h = cookie_header(jar, u, now, a);

	for (size_t i = 0; i < h.n; i++)
		CHECK((unsigned char)h.p[i] >= 0x20 || h.p[i] == '\t');
	CHECK(h.n == 0 || (h.p[h.n] == '\0' && str_find_char(h, '=') < h.n));
	CHECK(cookie_count(jar) <= COOKIES_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = { (const char *)data, n }, rest = text, line;
	struct wall now = { INT64_C(1700000000) * US_PER_S };
	struct cookie_jar *jar = cookie_jar_new();
	struct arena a = ARENA_INIT;
	struct url u[ARRAY_LEN(urls)];
	struct why w = WHY_INIT;

	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		CHECK(url_parse(str_of(urls[i]), NULL, &a, &u[i], NULL) == OK);
	size_t before = cookie_count(jar);
	enum err e = cookie_load(jar, text, now, &w);
	CHECK((e == OK) == (w.text[0] == '\0'));
	CHECK(e == OK || cookie_count(jar) == before);
	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		(void)cookie_store(jar, &u[i], text, now);
	while (str_split(&rest, '\n', &line)) {
		const struct url *from = &u[line.n % ARRAY_LEN(urls)];
		(void)cookie_store(jar, from, line, now);
		now.us += US_PER_S;
		ask(jar, from, now, &a);
	}
	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		ask(jar, &u[i], now, &a);
	now.us = INT64_MAX - 1;
	ask(jar, &u[0], now, &a);
	cookie_jar_free(&jar);
	CHECK(jar == NULL);
	arena_free(&a);
	return 0;
}
