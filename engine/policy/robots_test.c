#include "engine/policy/suite_test.h"

#include "engine/policy/robots.h"
#include "tests/growth.h"

/*
 * One question to one file: may `agent` fetch `target`?  Or, with a NULL
 * target, what is its delay in ms?  Where no line of the file names a host, the
 * expectation follows from RFC 9309 and from what the file says it is for.
 */
struct question {
	const char *file, *agent, *target;
	int64_t want;
};

static const struct question questions[] = {
	{ "astore.amazon.com-robots.txt", "argiope", "/any", 1 },
	{ "astore.amazon.com-robots.txt", "argiope", NULL, 5000 },
	{ "crawl-delay-group-merging.txt", "mybot", NULL, 10000 },
	{ "crawl-delay-group-merging.txt", "mybot", "/private/x", 0 },
	{ "crawl-delay-group-merging.txt", "mybot", "/login/", 1 },
	{ "crawl-delay-group-merging.txt", "yourbot", NULL, -1 },
	{ "crawl-delay-group-merging.txt", "yourbot", "/private/x", 0 },
	{ "crawl-delay-group-merging.txt", "yourbot", "/login/", 0 },
	{ "crawl-delay-group-merging.txt", "argiope", NULL, 30000 },
	{ "crawl-delay-group-merging.txt", "argiope", "/private/x", 1 },
	{ "directive-typos-robots.txt", "bot1", "/desallow/", 0 },
	{ "directive-typos-robots.txt", "bot1", "/dissalow/", 0 },
	{ "directive-typos-robots.txt", "bot1", "/useragent/", 1 },
	{ "directive-typos-robots.txt", "bot2", "/useragent/", 0 },
	{ "directive-typos-robots.txt", "bot2", "/desallow/", 1 },
	{ "directive-typos-robots.txt", "bot3", "/useg-agent/", 0 },
	{ "directive-typos-robots.txt", "bot4", "/useragent-no-colon/", 0 },
	{ "directive-typos-robots.txt", "bot5", "/useragent-no-colon/", 1 },
	{ "dos-line-endings.txt", "argiope", NULL, 1000 },
	{ "dos-line-endings.txt", "argiope", "/", 1 },
	{ "extended-standard-robots.txt", "bot1", "/", 1 },
	{ "extended-standard-robots.txt", "bot4", "/any", 1 },
	{ "extended-standard-robots.txt", "bot2", NULL, -1 },
	{ "extension-robots.txt", "argiope", "/private/", 1 },
	{ "extension-robots.txt", "mybot", "/private/", 0 },
	{ "extension-robots.txt", "mybot", "/secret/", 1 },
	{ "extension-robots.txt", "mybot", "/admin/", 1 },
	{ "extension-robots.txt", "otherbot", "/admin/", 0 },
	{ "extension-robots.txt", "otherbot", "/private/", 1 },
	{ "extensions-group-merging.txt", "mybot", "/private/", 0 },
	{ "extensions-group-merging.txt", "mybot", "/login/", 0 },
	{ "extensions-group-merging.txt", "mybot", "/x", 1 },
	{ "extensions-group-merging.txt", "yourbot", "/private/", 0 },
	{ "extensions-group-merging.txt", "yourbot", "/login/", 0 },
	{ "extensions-group-merging.txt", "argiope", "/llms.txt", 1 },
	{ "extensions-group-merging.txt", "argiope", "/x", 0 },
	{ "format-errors-robots.txt", "bot1", "/whitespace-before-colon/", 0 },
	{ "format-errors-robots.txt", "bot1", "/no-colon/", 0 },
	{ "format-errors-robots.txt", "bot1", "/no-colon-useragent/", 1 },
	{ "format-errors-robots.txt", "bot2", "/no-colon-useragent/", 0 },
	{ "format-errors-robots.txt", "bot3", "/whitespace-before-colon", 1 },
	{ "format-errors-robots.txt", "bot3", "/x", 0 },
	{ "malformed-path.txt", "argiope",
	    "/wiki/Wikipedia_talk:Mediation_Committee/", 0 },
	{ "malformed-path.txt", "argiope",
	    "/wiki/Wikipedia_talk%3AMediation_Committee/", 0 },
	{ "malformed-path.txt", "argiope",
	    "/wiki/Wikipedia_talk%3Mediation_Committee/", 0 },
	{ "malformed-path.txt", "argiope", "/wiki/Wikipedia", 1 },
	{ "many-user-agents.txt", "Alexibot", "/x", 0 },
	{ "many-user-agents.txt", "BlackWidow", "/x", 0 },
	{ "many-user-agents.txt", "Black.Hole", "/x", 0 },
	{ "many-user-agents.txt", "getright", "/x", 0 },
	{ "many-user-agents.txt", "complex_network_group", "/x", 0 },
	{ "many-user-agents.txt", "argiope", "/x", 1 },
	{ "merge-rules.txt", "wget", "/foo/bar", 1 },
	{ "merge-rules.txt", "wget", "/tmp/bar", 0 },
	{ "merge-rules.txt", "wget", "/ckh/bar", 1 },
	{ "merge-rules.txt", "wget", "/", 1 },
	{ "merge-rules.txt", "argiope", "/foo/bar", 0 },
	{ "merge-rules.txt", "argiope", "/tmp/bar", 0 },
	{ "merge-rules.txt", "argiope", "/x", 1 },
	{ "merge-rules.txt", "curl", "/x", 0 },
	{ "merge-rules.txt", "testy", "/foo/bar", 0 },
	{ "precedence-of-rules.txt", "testy", "/foo", 0 },
	{ "precedence-of-rules.txt", "testy", "/foo/bar", 1 },
	{ "precedence-of-rules.txt", "testy", "/foo/baz", 0 },
	{ "precedence-of-rules.txt", "testy", "/x", 1 },
	{ "precedence-of-rules.txt", "wget", "/foo", 1 },
	{ "precedence-of-rules.txt", "wget", "/index.html", 1 },
	{ "precedence-of-rules.txt", "wget", "/x", 0 },
	{ "relative-sitemap-robots.txt", "argiope", "/cache/x", 0 },
	{ "relative-sitemap-robots.txt", "argiope", "/files/", 0 },
	{ "relative-sitemap-robots.txt", "argiope", "/files", 1 },
	{ "rfc9309-example-longest-match-robots.txt", "foobot",
	    "/example/page/x", 1 },
	{ "rfc9309-example-longest-match-robots.txt", "foobot",
	    "/example/page/disallowed.gif", 0 },
	{ "rfc9309-example-rule-group-merging.txt", "ExampleBot", "/foo", 0 },
	{ "rfc9309-example-rule-group-merging.txt", "ExampleBot", "/bar", 0 },
	{ "rfc9309-example-rule-group-merging.txt", "ExampleBot", "/baz", 0 },
	{ "rfc9309-example-rule-group-merging.txt", "examplebot", "/x", 1 },
	{ "rfc9309-example-rule-group-merging.txt", "BazBot", "/baz", 0 },
	{ "rfc9309-example-rule-group-merging.txt", "BazBot", "/foo", 1 },
	{ "rfc9309-example-rule-group-merging.txt", "argiope", "/bar", 0 },
	{ "rfc9309-example-rule-group-merging.txt", "argiope", "/baz", 1 },
	{ "rfc9309-example-simple-robots.txt", "argiope", "/x.gif", 0 },
	{ "rfc9309-example-simple-robots.txt", "argiope", "/x.gifs", 1 },
	{ "rfc9309-example-simple-robots.txt", "argiope", "/example/", 0 },
	{ "rfc9309-example-simple-robots.txt", "argiope", "/publications/", 1 },
	{ "rfc9309-example-simple-robots.txt", "argiope",
	    "/publications/x.gif", 1 },
	{ "rfc9309-example-simple-robots.txt", "foobot", "/", 0 },
	{ "rfc9309-example-simple-robots.txt", "foobot",
	    "/example/page.html", 1 },
	{ "rfc9309-example-simple-robots.txt", "foobot",
	    "/example/allowed.gif", 1 },
	{ "rfc9309-example-simple-robots.txt", "foobot", "/example/x", 0 },
	{ "rfc9309-example-simple-robots.txt", "barbot",
	    "/example/page.html", 0 },
	{ "rfc9309-example-simple-robots.txt", "bazbot",
	    "/example/page.html", 0 },
	{ "rfc9309-example-simple-robots.txt", "bazbot", "/x.gif", 1 },
	{ "rfc9309-example-simple-robots.txt", "quxbot", "/x.gif", 1 },
	{ "rfc9309-example-simple-robots.txt", "quxbot", "/example/", 1 },
	{ "robots-with-utf8-bom.txt", "argiope", "/profile", 0 },
	{ "robots-with-utf8-bom.txt", "argiope", "/a/output/print", 0 },
	{ "robots-with-utf8-bom.txt", "googlebot", "/profile", 0 },
	{ "robots-with-utf8-bom.txt", "argiope", "/x", 1 },
	{ "robots-with-utf16le-bom.txt", "argiope", "/profile", 0 },
	{ "robots-with-utf16le-bom.txt", "argiope", "/x", 1 },
	{ "robots-with-utf16be-bom.txt", "argiope", "/profile", 0 },
	{ "robots-with-utf16be-bom.txt", "argiope", "/x", 1 },
	{ "sitemap-robots-dedup.txt", "argiope", "/", 1 },
	{ "sitemap-robots.txt", "argiope", "/", 1 },
	{ "twitter.com-robots.txt", "googlebot", "/x?y", 0 },
	{ "twitter.com-robots.txt", "googlebot", NULL, -1 },
	{ "twitter.com-robots.txt", "slurp", NULL, 1000 },
	{ "twitter.com-robots.txt", "MSNBOT", NULL, 10000 },
	{ "twitter.com-robots.txt", "argiope", "/a/with_friends", 0 },
	{ "twitter.com-robots.txt", "argiope", "/with_friends", 1 },
	{ "twitter.com-robots.txt", "argiope", "/x", 1 },
	{ "wildcards.txt", "argiope", "/fish/gcrnsts", 0 },
	{ "wildcards.txt", "argiope", "/gp/registry/wishlist/a/reserve", 0 },
	{ "wildcards.txt", "argiope", "/wishlist/universal-a", 1 },
	{ "wildcards.txt", "argiope", "/wishlist/x", 0 },
	{ "wildcards.txt", "argiope", "/gp/vote", 0 },
	{ "wildcards.txt", "argiope", "/gp/other", 1 },
	{ "wildcards.txt", "googlebot", "/rss/people/a/reviews", 0 },
	{ "wildcards.txt", "googlebot", "/rss/people/a/other", 1 },
	{ "www.flot.com-robots.txt", "argiope", "/img/1.jpg", 0 },
	{ "www.flot.com-robots.txt", "argiope", "/images/1.jpg", 1 },
};

/* The text with its line ends (LF) written in another way. */
static void
with_ends(struct str text, const char *end, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			buf_put_text(out, end);
		else if (text.p[i] != '\r')
			buf_put_char(out, text.p[i]);
	}
}

static void
ask(const struct question *q, struct str text)
{
	struct robots *r = robots_parse(text, str_of(q->agent));
	int64_t got = q->target == NULL ? robots_delay_ms(r) :
	    robots_allows(r, str_of(q->target), NULL);

	robots_free(&r);
	if (got != q->want)
		fail_msg("%s: %s: %s: %lld", q->file, q->agent,
		    q->target == NULL ? "delay" : q->target, (long long)got);
}

static void
suite_files(void **state)
{
	size_t files = 0;
	const char *before = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		const struct question *q = &questions[i];
		struct buf file = BUF_INIT, other = BUF_INIT;
		char name[256];
		files += strcmp(before, q->file) != 0;
		before = q->file;
		snprintf(name, sizeof(name),
		    "crawler-commons/src/test/resources/robots/%s", q->file);
		suite_read(name, &file);
		ask(q, buf_str(&file));
		if (strstr(q->file, "utf16") == NULL) {
			with_ends(buf_str(&file), "\r\n", &other);
			ask(q, buf_str(&other));
			buf_clear(&other);
			with_ends(buf_str(&file), "\r", &other);
			ask(q, buf_str(&other));
		}
		buf_free(&file);
		buf_free(&other);
	}
	print_message("conformance: robots of crawler-commons: %zu files, "
	    "%zu questions, each with LF, CRLF and CR\n", files,
	    ARRAY_LEN(questions));
	assert_int_equal(files, 24);
}

static void
suite_sitemaps(void **state)
{
	static const struct {
		const char *file;
		const char *urls[4];
	} cases[] = {
		{ "sitemap-robots.txt", { "http://domain.com/sitemap.xml",
		    "http://domain.com/dir/my-sitemap.xml",
		    "http://domain.com/dir/MixedCased-sitemap.xml" } },
		{ "sitemap-robots-dedup.txt",
		    { "http://example.org/sitemap.xml" } },
		{ "relative-sitemap-robots.txt",
		    { "https://h.example/sitemap.xml" } },
		{ "extension-robots.txt", { "https://h.example/sitemap.xml" } },
		{ "format-errors-robots.txt",
		    { "https://h.example/sitemap.xml" } },
		{ "www.flot.com-robots.txt",
		    { "http://flot.com/sitemap_index.xml" } },
		{ "robots-with-utf8-bom.txt",
		    { "http://www.newsweek.com/sitemap_index.xml" } },
		{ "robots-with-utf16be-bom.txt",
		    { "http://www.newsweek.com/sitemap_index.xml" } },
		{ "robots-with-utf16le-bom.txt",
		    { "http://www.newsweek.com/sitemap_index.xml" } },
		{ "merge-rules.txt", { NULL } },
	};
	struct arena a = ARENA_INIT;
	struct url at, u;
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf file = BUF_INIT;
		char name[256];
		size_t n = 0;
		snprintf(name, sizeof(name),
		    "crawler-commons/src/test/resources/robots/%s",
		    cases[i].file);
		suite_read(name, &file);
		assert_int_equal(url_parse(STR("https://h.example/robots.txt"),
		    NULL, &a, &at, &w), OK);
		struct robots *r = robots_parse(buf_str(&file), STR("x"));
		for (; cases[i].urls[n] != NULL; n++) {
			assert_int_equal(robots_sitemap_url(r, n, &at, &a, &u,
			    &w), OK);
			assert_true(str_eq(u.href, str_of(cases[i].urls[n])));
		}
		assert_int_equal(robots_facts(r).sitemaps_n, n);
		assert_null(robots_sitemap(r, n).p);
		w = WHY_INIT;
		assert_int_equal(robots_sitemap_url(r, n, &at, &a, &u, &w),
		    ERR_ABSENT);
		robots_free(&r);
		buf_free(&file);
	}
	arena_free(&a);
}

static bool
allows(const char *text, const char *target)
{
	struct robots *r = robots_parse(str_of(text), STR("argiope"));
	bool allowed = robots_allows(r, str_of(target), NULL);

	robots_free(&r);
	return allowed;
}

/* RFC 9309 section 2.2.2 and 2.2.3: each pattern and what it meets. */
static void
patterns(void **state)
{
	static const struct {
		const char *pattern, *target;
		bool match;
	} cases[] = {
		{ "/foo/bar?baz=quz", "/foo/bar?baz=quz", true },
		{ "/foo/bar?baz=http://foo.bar",
		    "/foo/bar?baz=http%3A%2F%2Ffoo.bar", true },
		{ "/foo/bar/\xe3\x83\x84", "/foo/bar/%E3%83%84", true },
		{ "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", true },
		{ "/foo/bar/%62%61%7A", "/foo/bar/baz", true },
		{ "/path/file-with-a-%2A.html", "/path/file-with-a-*.html",
		    true },
		{ "/path/file-with-a-%2A.html", "/path/file-with-a-x.html",
		    false },
		{ "/path/foo-%24", "/path/foo-$", true },
		{ "/path/foo-%24", "/path/foo-", false },
		{ "/a$b", "/a$b", true }, { "/a$b", "/a", false },
		{ "/", "/", true }, { "/", "", true },
		{ "/a", "/", false }, { "/a", "/A", false },
		{ "/a", "/ab", true }, { "/a/", "/a", false },
		{ "/*", "/", true }, { "*", "/x", true },
		{ "/*.php", "/index.php", true },
		{ "/*.php", "/folder/filename.php?parameters", true },
		{ "/*.php", "/windows.PHP", false },
		{ "/*.php$", "/filename.php", true },
		{ "/*.php$", "/filename.php?parameters", false },
		{ "/*.php$", "/filename.php5", false },
		{ "/*.php$", "/a.php/b.php", true },
		{ "/fish*.php", "/fishheads/catfish.php?id", true },
		{ "/fish*.php", "/Fish.PHP", false },
		{ "/$", "/", true }, { "/$", "/a", false },
		{ "$", "/", false }, { "*$", "/x", true },
		{ "/a*$", "/abc", true }, { "/a*b*c$", "/abxbc", true },
		{ "/a*b*c$", "/acb", false }, { "/a**b", "/axb", true },
		{ "/a*b*a", "/aba", true }, { "/ab*ba$", "/aba", false },
		{ "/a%", "/a%", true }, { "/a%", "/a%25", true },
		{ "/a%4", "/a%4", true }, { "/a%41", "/aA", true },
		{ "/a b", "/a%20b", true },
		{ "foo", "/foo", false }, { "foo", "foo", false },
		{ "http://h/foo", "/foo", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[200];
		snprintf(text, sizeof(text), "User-agent: *\nDisallow: %s\n",
		    cases[i].pattern);
		if (allows(text, cases[i].target) == cases[i].match)
			fail_msg("%s on %s", cases[i].pattern, cases[i].target);
	}
	print_message("robots: %zu patterns\n", ARRAY_LEN(cases));
}

static void
groups(void **state)
{
	(void)state;
	/* No group, no rule; rules before any agent bind nobody. */
	assert_true(allows("", "/x"));
	assert_true(allows("Disallow: /\n", "/x"));
	assert_true(allows("User-agent: *\nDisallow:\n", "/x"));
	/* A group that names us binds alone, even when it is empty. */
	assert_true(allows("User-agent: argiope\n\nUser-agent: b\nAllow: /a\n"
	    "User-agent: *\nDisallow: /\n", "/x"));
	assert_false(allows("User-agent: ARGIOPE/2.0 (x)\nDisallow: /\n",
	    "/x"));
	assert_true(allows("User-agent: argiopes\nDisallow: /\n", "/x"));
	assert_true(allows("User-agent: argiope-images\nDisallow: /\n", "/x"));
	assert_true(allows("User-agent: argi\nDisallow: /\n", "/x"));
	assert_true(allows("User-agent:\nDisallow: /\n", "/x"));
	/* Blank lines and other records do not end a list of agents. */
	assert_false(allows("User-agent: argiope\n\nSitemap: /s\nHost: h\n"
	    "User-agent: b\nDisallow: /\n", "/x"));
	/* Allow wins ties; the longer one wins otherwise, in any order. */
	assert_true(allows("User-agent: *\nDisallow: /a\nAllow: /a\n", "/ab"));
	assert_false(allows("User-agent: *\nDisallow: /ab\nAllow: /a\n",
	    "/ab"));
	assert_true(allows("User-agent: *\nDisallow: /a\nAllow: /ab\n", "/ab"));
	/* Octets count, also those of stars that say nothing. */
	assert_false(allows("User-agent: *\nDisallow: /**\nAllow: /a\n",
	    "/ab"));
	assert_true(allows("User-agent: *\nDisallow: /ab\nAllow: /**$\n",
	    "/ab"));
	/* The last line needs no end; a comment may follow. */
	assert_false(allows("User-agent: * # all\nDisallow: /a#b", "/ax"));
	assert_false(allows("\xef\xbb\xbfUser-agent: *\nDisallow: /", "/x"));
	/* Never robots.txt itself. */
	assert_true(allows("User-agent: *\nDisallow: /", "/robots.txt"));
	assert_true(allows("User-agent: *\nDisallow: /", "/robots.txt?x"));
	assert_false(allows("User-agent: *\nDisallow: /", "/robots.txts"));
}

static void
empty_token(void **state)
{
	struct robots *r = robots_parse(
	    STR("User-agent: \nDisallow: /\nUser-agent: *\nDisallow: /b\n"),
	    STR_NONE);

	(void)state;
	assert_false(robots_facts(r).named);
	assert_true(robots_allows(r, STR("/a"), NULL));
	assert_false(robots_allows(r, STR("/b"), NULL));
	robots_free(&r);
	assert_null(r);
}

static void
the_deciding_line(void **state)
{
	struct robots *r = robots_parse(STR("# one\r\n\r\nUser-agent: *\r\n"
	    "  Disallow: /a  # no\r\nAllow: /a/b\r\n"), STR("argiope"));
	struct robots_match m;

	(void)state;
	assert_false(robots_allows(r, STR("/a/x"), &m));
	assert_false(m.allowed);
	assert_int_equal(m.line, 4);
	assert_true(str_eq(m.text, STR("Disallow: /a  # no")));
	assert_true(robots_allows(r, STR("/a/b"), &m));
	assert_int_equal(m.line, 5);
	assert_true(robots_allows(r, STR("/c"), &m));
	assert_int_equal(m.line, 0);
	assert_true(m.text.n > 0);
	robots_free(&r);
}

static void
status_rules(void **state)
{
	static const struct {
		int http;
		enum robots_status want;
	} cases[] = {
		{ 0, ROBOTS_FORBID_ALL }, { 100, ROBOTS_FORBID_ALL },
		{ 199, ROBOTS_FORBID_ALL }, { 200, ROBOTS_PARSE },
		{ 204, ROBOTS_PARSE }, { 299, ROBOTS_PARSE },
		{ 300, ROBOTS_ALLOW_ALL }, { 399, ROBOTS_ALLOW_ALL },
		{ 400, ROBOTS_ALLOW_ALL }, { 401, ROBOTS_ALLOW_ALL },
		{ 403, ROBOTS_ALLOW_ALL }, { 404, ROBOTS_ALLOW_ALL },
		{ 428, ROBOTS_ALLOW_ALL }, { 429, ROBOTS_FORBID_ALL },
		{ 430, ROBOTS_ALLOW_ALL }, { 499, ROBOTS_ALLOW_ALL },
		{ 500, ROBOTS_FORBID_ALL }, { 503, ROBOTS_FORBID_ALL },
		{ 600, ROBOTS_FORBID_ALL }, { -1, ROBOTS_FORBID_ALL },
	};
	struct robots_match m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (robots_from_status(cases[i].http) != cases[i].want)
			fail_msg("%d", cases[i].http);
	for (int allow = 0; allow <= 1; allow++) {
		struct robots *r = robots_all(allow);
		assert_int_equal(robots_allows(r, STR("/x"), &m), allow);
		assert_int_equal(m.line, 0);
		assert_true(robots_allows(r, STR("/robots.txt"), NULL));
		assert_int_equal(robots_delay_ms(r), -1);
		assert_null(robots_sitemap(r, 0).p);
		robots_free(&r);
	}
}

static int64_t
delay(const char *value, bool *capped)
{
	char text[200];

	snprintf(text, sizeof(text), "User-agent: *\nCrawl-delay: %s\n", value);
	struct robots *r = robots_parse(str_of(text), STR("argiope"));
	int64_t ms = robots_delay_ms(r);
	*capped = robots_facts(r).delay_capped;
	robots_free(&r);
	return ms;
}

static void
delays(void **state)
{
	static const struct {
		const char *value;
		int64_t ms;
		bool capped;
	} cases[] = {
		{ "1", 1000, false }, { "0.5", 500, false },
		{ ".25", 250, false },
		{ "0", 0, false }, { "10 seconds", 10000, false },
		{ "300", 300000, false }, { "300.001", 300000, true },
		{ "99999999999999999999", 300000, true },
		{ "-1", -1, false }, { "", -1, false }, { "x", -1, false },
		{ ".", -1, false }, { "1.2.3", -1, false },
		{ "1e9", 1000, false },
		{ "nan", -1, false }, { "0x10", 0, false },
	};
	bool capped;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t ms = delay(cases[i].value, &capped);
		if (ms != cases[i].ms || capped != cases[i].capped)
			fail_msg("\"%s\" is %lld", cases[i].value,
			    (long long)ms);
	}
	/* Two delays of one agent: the longer; never the next agent's. */
	assert_int_equal(delay("2\nCrawl-delay: 1", &capped), 2000);
	assert_int_equal(delay("2\nUser-agent: b\nCrawl-delay: 9", &capped),
	    2000);
}

/* ROBOTS_BYTES_MAX: at the limit all counts, behind it the last whole line. */
static void
bytes_limit(void **state)
{
	static const struct str head = STR("User-agent: *\nDisallow: /a\n#");
	static const struct str tail = STR("\nDisallow: /public");
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t over = 0; over <= tail.n + 1; over++) {
		buf_clear(&b);
		buf_put_str(&b, head);
		while (b.n < ROBOTS_BYTES_MAX + over - tail.n)
			buf_put_char(&b, 'x');
		buf_put_str(&b, tail);
		assert_int_equal(b.n, ROBOTS_BYTES_MAX + over);
		struct robots *r = robots_parse(buf_str(&b), STR("argiope"));
		assert_int_equal(robots_facts(r).cut, over > 0);
		assert_int_equal(robots_facts(r).rules_n, over == 0 ? 2 : 1);
		assert_false(robots_allows(r, STR("/a"), NULL));
		assert_int_equal(robots_allows(r, STR("/public"), NULL),
		    over > 0);
		assert_true(robots_allows(r, STR("/p"), NULL));
		robots_free(&r);
	}
	/* The limit falls just between line and line end. */
	buf_clear(&b);
	buf_put_str(&b, head);
	while (b.n < ROBOTS_BYTES_MAX - tail.n)
		buf_put_char(&b, 'x');
	buf_put_str(&b, tail);
	buf_put_text(&b, "\nDisallow: /other\n");
	struct robots *r = robots_parse(buf_str(&b), STR("argiope"));
	assert_false(robots_allows(r, STR("/public"), NULL));
	assert_true(robots_allows(r, STR("/other"), NULL));
	robots_free(&r);
	buf_free(&b);
}

static void
count_limits(void **state)
{
	(void)state;
	for (unsigned over = 0; over <= 1; over++) {
		struct buf b = BUF_INIT;
		buf_put_text(&b, "User-agent: *\n");
		for (unsigned i = 0; i < ROBOTS_RULES_MAX + over; i++)
			buf_printf(&b, "Allow:/%u\n", i);
		for (unsigned i = 0; i < ROBOTS_SITEMAPS_MAX + over; i++)
			buf_printf(&b, "Sitemap:/%u\n", i);
		struct robots *r = robots_parse(buf_str(&b), STR("argiope"));
		assert_false(robots_facts(r).cut);
		assert_int_equal(robots_facts(r).rules_n, ROBOTS_RULES_MAX);
		assert_int_equal(robots_facts(r).rules_left_out, over);
		assert_int_equal(robots_facts(r).sitemaps_n,
		    ROBOTS_SITEMAPS_MAX);
		robots_free(&r);
		buf_free(&b);
	}
	/* robots.line_shown_max */
	for (unsigned over = 0; over <= 1; over++) {
		struct buf b = BUF_INIT;
		struct robots_match m;
		buf_put_text(&b, "User-agent: *\n");
		size_t line = b.n;
		buf_put_text(&b, "Disallow: /");
		while (b.n - line < ROBOTS_LINE_SHOWN_MAX + over)
			buf_put_char(&b, '*');
		struct robots *r = robots_parse(buf_str(&b), STR("argiope"));
		assert_false(robots_allows(r, STR("/x"), &m));
		assert_int_equal(m.text.n, ROBOTS_LINE_SHOWN_MAX);
		robots_free(&r);
		buf_free(&b);
	}
}

struct asked {
	struct robots *r;
	struct str target;
};

static void
ask_cut(void *ctx, size_t n)
{
	struct asked *x = ctx;

	(void)robots_allows(x->r, str_cut(x->target, 0, n), NULL);
}

/* Patterns made to be slow, on a target made for them. */
static void
hostile_patterns(void **state)
{
	struct buf b = BUF_INIT, target = BUF_INIT;

	(void)state;
	buf_put_text(&b, "User-agent: *\nDisallow: /");
	for (int i = 0; i < 1000; i++)
		buf_put_text(&b, "*a");
	buf_put_text(&b, "b$\nDisallow: /");
	for (int i = 0; i < 1000; i++)
		buf_put_text(&b, "*aaaaaaab");
	buf_put_text(&b, "\n");
	buf_put_char(&target, '/');
	for (int i = 0; i < 20000; i++)
		buf_put_char(&target, 'a');
	struct robots *r = robots_parse(buf_str(&b), STR("argiope"));
	assert_true(robots_allows(r, buf_str(&target), NULL));
	struct asked asked = { r, buf_str(&target) };
	assert_true(growth_is_linear(ask_cut, &asked,
	    target.n / GROWTH_TIMES));
	robots_free(&r);
	buf_free(&b);
	buf_free(&target);
}

/* robots.work_max: so many rules with wildcards on so long a target. */
static void
work_limit(void **state)
{
	enum { RULES = 4000, BYTES = ROBOTS_WORK_MAX / RULES };
	struct buf b = BUF_INIT, target = BUF_INIT;
	struct robots_match m;

	(void)state;
	buf_put_text(&b, "User-agent: *\n");
	for (int i = 0; i < RULES; i++)
		buf_printf(&b, "Disallow: /*aaaaaaaab%d\n", i);
	struct robots *r = robots_parse(buf_str(&b), STR("argiope"));
	assert_int_equal(robots_facts(r).rules_n, RULES);
	buf_put_char(&target, '/');
	while (target.n < BYTES)
		buf_put_char(&target, 'a');
	double before = test_now_ns();
	assert_true(robots_allows(r, buf_str(&target), &m));
	print_message("robots: work at its limit takes %.1f ms\n",
	    (test_now_ns() - before) / 1e6);
	buf_put_char(&target, 'a');
	assert_false(robots_allows(r, buf_str(&target), &m));
	assert_false(m.allowed);
	assert_int_equal(m.line, 0);
	robots_free(&r);
	buf_free(&b);
	buf_free(&target);
}

/* A plain recursive matcher, as the RFC's text reads, against the real one. */
static bool
plain_match(const char *p, const char *t)
{
	if (*p == '\0')
		return true;
	if (*p == '$' && p[1] == '\0')
		return *t == '\0';
	if (*p == '*')
		return plain_match(p + 1, t) || (*t != '\0' &&
		    plain_match(p, t + 1));
	return *p == *t && plain_match(p + 1, t + 1);
}

static void
random_patterns(void **state)
{
	uint64_t seed = 42;
	unsigned matches = 0;

	(void)state;
	for (unsigned i = 0; i < 50000; i++) {
		char pattern[16] = "/", target[16] = "/", text[64];
		size_t n = test_random(&seed) % 9, m = test_random(&seed) % 9;
		for (size_t j = 1; j <= n; j++)
			pattern[j] = "ab*/"[test_random(&seed) % 4];
		if (test_random(&seed) % 3 == 0)
			pattern[n + 1] = '$';
		for (size_t j = 1; j <= m; j++)
			target[j] = "ab/"[test_random(&seed) % 3];
		snprintf(text, sizeof(text), "User-agent: *\nDisallow: %s",
		    pattern);
		bool want = plain_match(pattern, target);
		if (allows(text, target) == want)
			fail_msg("%s on %s", pattern, target);
		matches += want;
	}
	print_message("robots: 50,000 random patterns, %u matched\n", matches);
	assert_true(matches > 5000 && matches < 45000);
}

static void
tags(void **state)
{
	static const struct {
		const char *value;
		unsigned flags;
	} cases[] = {
		{ "", 0 }, { "all", 0 }, { "noindex", ROBOTS_TAG_NOINDEX },
		{ "NoIndex, NOFOLLOW",
		    ROBOTS_TAG_NOINDEX | ROBOTS_TAG_NOFOLLOW },
		{ "none", ROBOTS_TAG_NOINDEX | ROBOTS_TAG_NOFOLLOW },
		{ "noarchive", ROBOTS_TAG_NOARCHIVE },
		{ "nosnippet,noimageindex",
		    ROBOTS_TAG_NOSNIPPET | ROBOTS_TAG_NOIMAGEINDEX },
		{ "otherbot: noindex, nofollow", 0 },
		{ "argiope: noindex, nofollow",
		    ROBOTS_TAG_NOINDEX | ROBOTS_TAG_NOFOLLOW },
		{ "nofollow, otherbot: noindex", ROBOTS_TAG_NOFOLLOW },
		{ "otherbot: noindex, Argiope: nofollow", ROBOTS_TAG_NOFOLLOW },
		{ "*: noindex", ROBOTS_TAG_NOINDEX },
		{ "unavailable_after: 25 Jun 2010 15:00:00 PST, noindex",
		    ROBOTS_TAG_NOINDEX },
		{ "max-snippet:10, nofollow", ROBOTS_TAG_NOFOLLOW },
		{ ",,, noindex ,", ROBOTS_TAG_NOINDEX }, { ":", 0 },
		{ "noindexed", 0 }, { "no index", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (robots_tag_parse(str_of(cases[i].value), STR("argiope")) !=
		    cases[i].flags)
			fail_msg("\"%s\"", cases[i].value);
}

static void
speed(void **state)
{
	struct buf file = BUF_INIT;
	enum { PARSES = 300, MATCHES = 100000 };
	static const struct str targets[] = { STR("/gp/other/page.html"),
		STR("/wishlist/universal-a"), STR("/dp/B0069IY63Y?ref=x"),
		STR("/fish/gcrnsts") };
	unsigned allowed = 0;

	(void)state;
	suite_read("crawler-commons/src/test/resources/robots/wildcards.txt",
	    &file);
	double t0 = test_now_ns();
	for (int i = 0; i < PARSES; i++) {
		struct robots *r = robots_parse(buf_str(&file), STR("argiope"));
		robots_free(&r);
	}
	double t1 = test_now_ns();
	struct robots *r = robots_parse(buf_str(&file), STR("argiope"));
	double t2 = test_now_ns();
	for (int i = 0; i < MATCHES; i++)
		allowed += robots_allows(r, targets[i % 4], NULL);
	double t3 = test_now_ns();
	struct robots_facts f = robots_facts(r);
	print_message("robots: %zu bytes, %zu rules, %zu bytes compiled: "
	    "%.1f us per parse, %.0f ns per match\n", file.n, f.rules_n,
	    f.memory, (t1 - t0) / PARSES / 1000, (t3 - t2) / MATCHES);
	assert_int_equal(allowed, MATCHES * 3 / 4);
	robots_free(&r);
	buf_free(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suite_files),
		cmocka_unit_test(suite_sitemaps),
		cmocka_unit_test(patterns),
		cmocka_unit_test(groups),
		cmocka_unit_test(empty_token),
		cmocka_unit_test(the_deciding_line),
		cmocka_unit_test(status_rules),
		cmocka_unit_test(delays),
		cmocka_unit_test(bytes_limit),
		cmocka_unit_test(count_limits),
		cmocka_unit_test(hostile_patterns),
		cmocka_unit_test(work_limit),
		cmocka_unit_test(random_patterns),
		cmocka_unit_test(tags),
		cmocka_unit_test(speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
