#include "engine/fetcher/cookie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

#define NOW_S INT64_C(1700000000)     /* 2023-11-14T22:13:20Z */

/* A jar and its clock; `a` is emptied after the test. */
static struct cookie_jar *jar;
static struct wall now;
static struct arena a = ARENA_INIT;

static int
setup(void **state)
{
	(void)state;
	jar = cookie_jar_new();
	now.us = NOW_S * US_PER_S;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	cookie_jar_free(&jar);
	assert_null(jar);
	arena_free(&a);
	return 0;
}

static struct url
url_of(const char *text)
{
	struct url u;

	if (url_parse(str_of(text), NULL, &a, &u, NULL) != OK)
		fail_msg("%s is no URL", text);
	return u;
}

static bool
set(const char *from, const char *value)
{
	struct url u = url_of(from);

	return cookie_store(jar, &u, str_of(value), now);
}

static struct str
get(const char *to)
{
	struct url u = url_of(to);

	return cookie_header(jar, &u, now, &a);
}

static void
expect_at(int line, const char *to, const char *wanted)
{
	struct str got = get(to);

	if (!str_eq(got, str_of(wanted)) && (got.n > 0 || wanted[0] != '\0'))
		fail_msg("line %d: %s gets \"%.*s\", not \"%s\"", line, to,
		    STR_FMT(got), wanted);
	if (got.n > 0)
		assert_int_equal(got.p[got.n], '\0');
}
#define EXPECT(to, wanted) expect_at(__LINE__, to, wanted)

static void
fresh(void)
{
	cookie_jar_free(&jar);
	jar = cookie_jar_new();
}

/* `n` times `c`, NUL-terminated. */
static const char *
many(char c, size_t n)
{
	char *p = arena_bytes(&a, n + 1);

	memset(p, c, n);
	p[n] = '\0';
	return p;
}

#define TEXT(...) arena_printf(&a, __VA_ARGS__).p

/* What a Set-Cookie value says. */

static void
pair_tests(void **state)
{
	static const char *const cases[][2] = {
		{ "a=b", "a=b" },
		{ " \t a b \t=\t c d  ; x", "a b=c d" },
		{ "a=b=c", "a=b=c" },
		{ "a=", "a=" },
		{ "a=\"q;r\"", "a=\"q" },
		{ "a=\"q\"", "a=\"q\"" },
		{ "a=b;;;=;;", "a=b" },
		{ "a=b, c=d", "a=b, c=d" },
		{ "a=1\t2", "a=1\t2" },
		{ "\xc3\xa4=\xff", "\xc3\xa4=\xff" },
		{ "a", NULL }, { "", NULL }, { "=b", NULL }, { " =b", NULL },
		{ ";a=b", NULL }, { "a;=b", NULL }, { "=", NULL },
		{ "a=b\r\nX: y", NULL }, { "a=b\n", NULL }, { "a\x7f=b", NULL },
		{ "a=b; Path=/\x01", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool taken = set("http://a.example/", cases[i][0]);
		if (taken != (cases[i][1] != NULL))
			fail_msg("\"%s\" was%s taken", cases[i][0],
			    taken ? "" : " not");
		EXPECT("http://a.example/", taken ? cases[i][1] : "");
		assert_int_equal(cookie_count(jar), taken);
		fresh();
	}
	struct url u = url_of("http://a.example/");
	assert_false(cookie_store(jar, &u, (struct str){ "a=b\0c", 5 }, now));
	assert_false(cookie_store(jar, &u, STR_NONE, now));
}

static void
domain_tests(void **state)
{
	(void)state;
	/* Nobody but the host itself gets a cookie that names no domain. */
	assert_true(set("http://a.example.org/", "h=1"));
	assert_true(set("http://a.example.org/", "e=1; Domain="));
	assert_true(set("http://a.example.org/", "p=1; Domain=."));
	EXPECT("http://A.Example.ORG:8080/", "h=1; e=1; p=1");
	EXPECT("http://b.a.example.org/", "");
	EXPECT("http://example.org/", "");
	fresh();
	assert_true(set("http://b.a.example.org/",
	    "a=1; domain=.A.Example.org"));
	assert_true(set("http://b.a.example.org/", "e=1; DOMAIN=Example.org"));
	assert_true(set("http://b.a.example.org/",
	    "l=1; Domain=example.org; Domain=b.a.example.org"));
	EXPECT("http://b.a.example.org/", "a=1; e=1; l=1");
	EXPECT("http://a.example.org/", "a=1; e=1");
	EXPECT("http://c.example.org/", "e=1");
	EXPECT("http://example.org/", "e=1");
	EXPECT("http://xa.example.org/", "e=1");
	EXPECT("http://xexample.org/", "");
	fresh();
	assert_false(set("http://example.org/", "x=1; Domain=a.example.org"));
	assert_false(set("http://example.org/", "x=1; Domain=ample.org"));
	assert_false(set("http://example.org/", "x=1; Domain=other.org"));
	assert_false(set("http://example.org/", "x=1; Domain=..example.org"));
	assert_false(set("http://example.org/", "x=1; Domain=example.org."));
	assert_false(set("http://example.org/",
	    "x=1; Domain=example.org; Domain=other.org"));
	assert_int_equal(cookie_count(jar), 0);
}

static void
final_dot_tests(void **state)
{
	(void)state;
	/* "example.org." is another host, but the same site. */
	assert_true(set("http://a.example.org./", "d=1; Domain=example.org."));
	assert_true(set("http://a.example.org/", "n=1; Domain=example.org"));
	assert_false(set("http://a.example.org./", "x=1; Domain=org."));
	assert_false(set("http://a.example.org./", "x=1; Domain=example.org"));
	EXPECT("http://b.example.org./", "d=1");
	EXPECT("http://b.example.org/", "n=1");
}

static void
suffix_tests(void **state)
{
	(void)state;
	assert_false(set("http://a.example.org/", "x=1; Domain=org"));
	assert_false(set("http://a.example.co.uk/", "x=1; Domain=co.uk"));
	assert_false(set("http://a.github.io/", "x=1; Domain=.github.io"));
	assert_false(set("http://a.localhost/", "x=1; Domain=localhost"));
	/* Above the registrable domain, though no suffix by itself. */
	assert_false(set("http://a.s3.amazonaws.com/",
	    "x=1; Domain=amazonaws.com"));
	assert_int_equal(cookie_count(jar), 0);
	/* A suffix can name itself; the cookie stays with it. */
	assert_true(set("http://github.io/", "s=1; Domain=github.io"));
	assert_true(set("http://localhost/", "l=1; Domain=localhost"));
	assert_true(set("http://a.github.io/", "a=1; Domain=a.github.io"));
	EXPECT("http://github.io/", "s=1");
	EXPECT("http://a.github.io/", "a=1");
	EXPECT("http://b.a.github.io/", "a=1");
	EXPECT("http://localhost/", "l=1");
	EXPECT("http://a.localhost/", "");
}

static void
address_tests(void **state)
{
	(void)state;
	assert_true(set("http://10.2.3.4/", "a=1"));
	assert_true(set("http://10.2.3.4/", "b=1; Domain=10.2.3.4"));
	assert_false(set("http://10.2.3.4/", "x=1; Domain=2.3.4"));
	assert_false(set("http://10.2.3.4/", "x=1; Domain=3.4"));
	assert_true(set("http://[2001:db8::1]/", "s=1; Domain=[2001:db8::1]"));
	assert_false(set("http://[2001:db8::1]/", "x=1; Domain=2001:db8::1"));
	EXPECT("http://10.2.3.4:99/", "a=1; b=1");
	EXPECT("http://1.10.2.3/", "");
	EXPECT("http://[2001:DB8:0::1]/", "s=1");
}

static void
path_tests(void **state)
{
	static const struct {
		const char *from, *path, *to;
		bool match;
	} cases[] = {
		{ "/", NULL, "/", true }, { "/", NULL, "/x/y", true },
		{ "/d", NULL, "/", true }, { "/d/", NULL, "/d", true },
		{ "/d/p", NULL, "/d", true }, { "/d/p", NULL, "/d/q/r", true },
		{ "/d/p", NULL, "/", false }, { "/d/p", NULL, "/dd", false },
		{ "/d/p?x=/y/z", NULL, "/d", true },
		{ "//", NULL, "/", true }, { "//x", NULL, "/", true },
		{ "/", "/d", "/d", true }, { "/", "/d", "/d/", true },
		{ "/", "/d", "/d?q", true }, { "/", "/d", "/d/e", true },
		{ "/", "/d", "/de", false }, { "/", "/d/", "/d", false },
		{ "/", "/d/", "/d/", true }, { "/", "/d/", "/d/e", true },
		{ "/", "/D", "/d", false }, { "/", "/%64", "/d", false },
		{ "/a/b", "/c", "/c", true }, { "/a/b", "c", "/a", true },
		{ "/a/b", "c", "/c", false }, { "/a/b", "", "/a", true },
		{ "/a/b", "/c; Path=", "/a", true },
		{ "/a/b", "/c; Path=", "/c", false },
		{ "/a/b", "/c; PATH = /d ", "/d", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *from = TEXT("http://a.example%s", cases[i].from);
		const char *to = TEXT("http://a.example%s", cases[i].to);
		assert_true(set(from, cases[i].path == NULL ? "a=1" :
		    TEXT("a=1; Path=%s", cases[i].path)));
		EXPECT(to, cases[i].match ? "a=1" : "");
		fresh();
	}
}

static void
secure_tests(void **state)
{
	(void)state;
	assert_true(set("https://example.org/", "s=1; secure; HttpOnly"));
	assert_true(set("https://example.org/", "t=1; Secure=no; httponly=x"));
	assert_true(set("https://example.org/", "n=1; HttpOnly"));
	EXPECT("https://example.org/", "s=1; t=1; n=1");
	EXPECT("wss://example.org/", "s=1; t=1; n=1");
	EXPECT("http://example.org/", "n=1");
	EXPECT("ws://example.org/", "n=1");
	assert_false(set("http://example.org/", "x=1; Secure"));
	/* Without TLS nobody shadows, replaces or deletes a Secure cookie. */
	assert_true(set("https://a.example.org/", "d=1; Secure; Path=/p/"));
	assert_false(set("http://example.org/", "s=2"));
	assert_false(set("http://example.org/", "s=2; Max-Age=0"));
	assert_false(set("http://b.example.org/", "s=2"));
	assert_false(set("http://b.example.org/",
	    "d=2; Domain=example.org; Path=/p/q"));
	assert_false(set("http://c.a.example.org/", "d=2; Path=/p/"));
	assert_true(set("http://b.example.org/", "d=3"));
	assert_true(set("http://a.example.org/", "d=3; Path=/p"));
	assert_true(set("http://a.example.org/", "S=3"));
	assert_true(set("https://example.org/", "s=4"));
	EXPECT("http://example.org/", "s=4; n=1");
}

static void
prefix_tests(void **state)
{
	static const struct {
		const char *value;
		bool taken;
	} cases[] = {
		{ "__Secure-a=1; Secure", true },
		{ "__Secure-a=1; Secure; Domain=example.org; Path=/x", true },
		{ "__Secure-a=1", false }, { "__sEcure-a=1", false },
		{ "__Host-a=1; Secure; Path=/", true },
		{ "__HOST-a=1; Secure; Path=/; Domain=", true },
		{ "__Host-a=1; Secure", false }, { "__host-a=1", false },
		{ "__Host-a=1; Path=/", false },
		{ "__Host-a=1; Secure; Path=/x", false },
		{ "__Host-a=1; Secure; Path=/; Path=", false },
		{ "__Host-a=1; Secure; Path=/; Domain=a.example.org", false },
		{ "__Hosta=1", true }, { "__Secure=1", true },
		{ "a__Host-=1", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (set("https://a.example.org/", cases[i].value) !=
		    cases[i].taken)
			fail_msg("%s", cases[i].value);
		assert_int_equal(cookie_count(jar), cases[i].taken);
		fresh();
	}
	assert_false(set("http://a.example.org/", "__Secure-a=1; Secure"));
}

/* When it ends. */

/* It is there one microsecond before `end_us`, and gone at it. */
static void
expect_end(const char *value, int64_t end_us)
{
	struct wall noted = now;

	assert_true(set("http://a.example/", value));
	now.us = end_us - 1;
	if (get("http://a.example/").n == 0)
		fail_msg("\"%s\" ended too early", value);
	now.us = end_us;
	if (get("http://a.example/").n != 0)
		fail_msg("\"%s\" ended too late", value);
	assert_int_equal(cookie_count(jar), 0);
	now = noted;
}

/* As good as no attribute: a cookie of the session. */
static void
expect_session(const char *value)
{
	struct wall noted = now;

	assert_true(set("http://a.example/", value));
	now.us = INT64_MAX;
	if (get("http://a.example/").n == 0)
		fail_msg("\"%s\" has ended", value);
	now = noted;
	fresh();
}

static void
date_tests(void **state)
{
	static const char *const good[] = {
		"Sun, 06 Nov 2061 08:49:37 GMT", "Sunday, 06-Nov-61 08:49:37",
		"Sun Nov  6 08:49:37 2061", "6 nov 2061 8:49:37",
		"2061 6 Nov 08:49:37", "08:49:37 NOVember/6/2061",
		"Nov<6,2061 08:49:37x 09:00:00 7 Dec 2062",
		"6th nov 61AD 08:49:37+0100", "(08:49:37)6|nov~61",
		"x y z 6 q 08:49:37 Nov 2061", "06-Nov-2061 08:49:37 GMT; x",
	};
	static const char *const bad[] = {
		"", "x", "06 Nov 2061", "Nov 2061 08:49:37", "06 2061 08:49:37",
		"06 Nov 08:49:37", "006 Nov 2061 08:49:37",
		"06 Nov 02061 08:49:37", "06 No 2061 08:49:37",
		"06 Nov 2061 08:49", "06 Nov 2061 008:49:37",
		"06 Nov 2061 8:49:370", "06 Nov 2061 24:00:00",
		"06 Nov 2061 08:60:00", "06 Nov 2061 08:00:60",
		"00 Nov 2061 08:49:37", "32 Oct 2061 08:49:37",
		"31 Nov 2061 08:49:37", "29 Feb 2061 08:49:37",
		"06 Nov 1600 08:49:37", "06 Nov 999 08:49:37",
		"06Nov2061 08:49:37", "-1",
	};
	struct wall end;

	(void)state;
	assert_true(wall_from_http(STR("Sun, 06 Nov 2061 08:49:37 GMT"), &end));
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		expect_end(TEXT("a=1; Expires=%s", good[i]), end.us);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		expect_session(TEXT("a=1; expires = %s", bad[i]));
}

/* Which bytes may stand between day, month, year and time. */
static void
delimiter_tests(void **state)
{
	static const char those[] = "\t !\"#$%&'()*+,-./<=>?@[\\]^_`{|}~";

	(void)state;
	for (int c = 1; c < 256; c++) {
		const char *text = TEXT("a=1; Expires=6%cNov%c2061%c08:49:37",
		    c, c, c);
		if (strchr(those, c) != NULL)
			expect_end(text, INT64_C(2898492577) * US_PER_S);
		else if (c == 0x7f || (c < 0x20 && c != '\t'))
			assert_false(set("http://a.example/", text));
		else
			expect_session(text);
	}
}

static void
year_tests(void **state)
{
	static const struct {
		const char *year;
		int64_t at_s;                /* of 1 January */
	} cases[] = {
		{ "1601", -11644473600 }, { "70", 0 }, { "1970", 0 },
		{ "99", 915148800 }, { "00", 946684800 },
		{ "69", 3124224000 }, { "9999", 253370764800 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		now.us = -INT64_C(20000000000) * US_PER_S;
		expect_end(TEXT("a=1; Expires=1 Jan %s 0:0:0", cases[i].year),
		    cases[i].at_s * US_PER_S);
	}
}

/* A day and an hour further for 60 years, against the C library's calendar. */
static void
calendar_tests(void **state)
{
	(void)state;
	now.us = -US_PER_S;
	for (int64_t s = 0; s < INT64_C(1900000000); s += 86400 + 3607) {
		char text[64];
		time_t t = (time_t)s;
		struct tm tm;
		gmtime_r(&t, &tm);
		strftime(text, sizeof(text),
		    "a=1; Expires=%a, %d-%b-%Y %H:%M:%S GMT", &tm);
		expect_end(text, s * US_PER_S);
	}
}

static void
max_age_tests(void **state)
{
	static const char *const none[] = { "", "-", "x", "1x", "+1", "1 2",
		"--1", "1.5", "0x1" };

	(void)state;
	expect_end("a=1; Max-Age=1", now.us + US_PER_S);
	expect_end("a=1; max-age = 0060 ", now.us + 60 * US_PER_S);
	/* Max-Age counts before Expires, wherever it stands; then the last. */
	expect_end("a=1; Max-Age=9; Expires=1 Jan 2060 0:0:0",
	    now.us + 9 * US_PER_S);
	expect_end("a=1; Expires=1 Jan 2060 0:0:0; Max-Age=9",
	    now.us + 9 * US_PER_S);
	expect_end("a=1; Max-Age=5; Max-Age=9", now.us + 9 * US_PER_S);
	expect_end("a=1; Max-Age=9; Max-Age=x", now.us + 9 * US_PER_S);
	expect_end("a=1; Max-Age=99999999999999999999999", INT64_MAX - 1);
	expect_end("a=1; Max-Age=9223372036854775807", INT64_MAX - 1);
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		expect_session(TEXT("a=1; Max-Age=%s", none[i]));
	now.us = -5 * US_PER_S;
	expect_end("a=1; Max-Age=2", -3 * US_PER_S);
	expect_end("a=1; Max-Age=9223372036854775807", INT64_MAX - 1);
}

static void
deletion_tests(void **state)
{
	static const char *const ends[] = { "Max-Age=0", "Max-Age=-1",
		"Expires=Thu, 01 Jan 1970 00:00:00 GMT",
		"Max-Age=0; Expires=1 Jan 2060 0:0:0", "Max-Age=-0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		set("http://a.example.org/d/p", "a=1; Domain=example.org");
		set("http://a.example.org/d/p", "a=2");
		set("http://a.example.org/d/p", "b=3");
		/* Name, domain and path must be the same. */
		assert_true(set("http://a.example.org/d/p",
		    TEXT("a=; Path=/; %s", ends[i])));
		assert_int_equal(cookie_count(jar), 3);
		assert_true(set("http://a.example.org/d/p",
		    TEXT("a=; %s", ends[i])));
		EXPECT("http://a.example.org/d", "a=1; b=3");
		assert_true(set("http://x.example.org/d/p",
		    TEXT("a=; Domain=example.org; %s", ends[i])));
		EXPECT("http://a.example.org/d", "b=3");
		fresh();
	}
}

/* Cookies that end at one time, out of order, and all of a site with them. */
static void
end_order_tests(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++)
		assert_true(set(TEXT("http://h%d.example%d.org/", i % 4, i % 7),
		    TEXT("n%d=1; Max-Age=%d", i, 1 + i * 17 % 40)));
	assert_true(set("http://a.example/", "s=1"));
	for (int second = 0; second <= 40; second++) {
		EXPECT("http://nowhere.example/", "");
		assert_int_equal(cookie_count(jar), 41 - second);
		now.us += US_PER_S;
	}
	EXPECT("http://a.example/", "s=1");
}

/* Order and replacement. */

static void
order_tests(void **state)
{
	(void)state;
	assert_true(set("http://a.example.org/", "r=1"));
	assert_true(set("http://a.example.org/", "d=1; Path=/d"));
	assert_true(set("http://a.example.org/", "s=1; Path=/d/"));
	assert_true(set("http://a.example.org/", "q=1; Domain=example.org"));
	assert_true(set("http://a.example.org/", "e=1; Path=/d/e"));
	assert_true(set("http://a.example.org/", "d=2; Path=/d/e"));
	EXPECT("http://a.example.org/d/e", "e=1; d=2; s=1; d=1; r=1; q=1");
	/* The new value stands where the old one stood. */
	assert_true(set("http://a.example.org/", "r=2; Max-Age=100"));
	assert_true(set("http://a.example.org/", "e=9; Path=/d/e"));
	EXPECT("http://a.example.org/d/e", "e=9; d=2; s=1; d=1; r=2; q=1");
	assert_int_equal(cookie_count(jar), 6);
	/* A cookie that ended and comes again is the youngest. */
	now.us += 100 * US_PER_S;
	assert_true(set("http://a.example.org/", "r=3"));
	EXPECT("http://a.example.org/", "q=1; r=3");
	/* Host-only or not: the same name, domain and path. */
	assert_true(set("http://a.example.org/", "r=4; Domain=a.example.org"));
	EXPECT("http://b.a.example.org/", "q=1; r=4");
	assert_int_equal(cookie_count(jar), 6);
}

/* Limits. */

static void
bytes_tests(void **state)
{
	const char *name = many('n', 96);

	(void)state;
	assert_true(set("http://a.example/",
	    TEXT("%s=%s", name, many('v', COOKIE_BYTES_MAX - 96))));
	assert_int_equal(get("http://a.example/").n, COOKIE_BYTES_MAX + 1);
	assert_false(set("http://a.example/",
	    TEXT("%s=%s", name, many('w', COOKIE_BYTES_MAX - 95))));
	assert_true(set("http://a.example/",
	    TEXT("%s=", many('m', COOKIE_BYTES_MAX))));
	assert_false(set("http://a.example/",
	    TEXT("%s=", many('m', COOKIE_BYTES_MAX + 1))));
	assert_int_equal(cookie_count(jar), 2);
}

/* Attributes over 1,024 bytes are passed over (RFC 6265bis). */
static void
attribute_bytes_tests(void **state)
{
	const char *p1023 = many('p', 1023), *p1024 = many('p', 1024);

	(void)state;
	assert_true(set("http://a.example/d/x", TEXT("a=1; Path=/%s", p1023)));
	EXPECT(TEXT("http://a.example/%s", p1023), "a=1");
	EXPECT("http://a.example/d", "");
	fresh();
	assert_true(set("http://a.example/d/x", TEXT("a=1; Path=/%s", p1024)));
	EXPECT("http://a.example/d", "a=1");
	fresh();
	assert_true(set("http://a.example/",
	    TEXT("a=1; Domain=%s", many('d', 1025))));
	assert_false(set("http://a.example/",
	    TEXT("a=1; Domain=%s", many('d', 1024))));
	/* A default path of that length is the sender's own: refused. */
	fresh();
	assert_true(set(TEXT("http://a.example/%s/", p1023), "a=1"));
	assert_false(set(TEXT("http://a.example/%s/", p1024), "a=1"));
	assert_int_equal(cookie_count(jar), 1);
}

/* A host with `n` bytes, as the URL parser would give it. */
static struct url
url_with_host(size_t n)
{
	struct url u = url_of("http://a.example/");
	char *host = arena_bytes(&a, n + 1);

	for (size_t i = 0; i < n; i++)
		host[i] = i % 2 == 1 && i + 8 < n ? '.' : 'h';
	memcpy(host + n - 8, ".example", 8);
	host[n] = '.';
	u.host = (struct str){ host, n };
	return u;
}

static void
host_bytes_tests(void **state)
{
	struct url most = url_with_host(253), more = url_with_host(254);

	(void)state;
	assert_true(cookie_store(jar, &most, STR("a=1"), now));
	assert_false(cookie_store(jar, &more, STR("a=1"), now));
	assert_int_equal(cookie_header(jar, &most, now, &a).n, 3);
	assert_int_equal(cookie_header(jar, &more, now, &a).n, 0);
	/* The final dot is not counted. */
	most.host.n++;
	assert_true(cookie_store(jar, &most, STR("a=1"), now));
	struct url none = url_of("file:///etc");
	assert_false(cookie_store(jar, &none, STR("a=1"), now));
	assert_int_equal(cookie_header(jar, &none, now, &a).n, 0);
	assert_int_equal(cookie_count(jar), 2);
}

static void
per_host_tests(void **state)
{
	(void)state;
	for (int i = 0; i < COOKIES_PER_HOST_MAX; i++)
		assert_true(set("http://a.example.org/",
		    TEXT("c%d=1; Path=/%d", i, i)));
	/* Another host of the site, and the site's own domain, have theirs. */
	assert_true(set("http://b.example.org/", "b=1"));
	assert_true(set("http://a.example.org/", "d=1; Domain=example.org"));
	assert_int_equal(cookie_count(jar), COOKIES_PER_HOST_MAX + 2);
	/* Used last: 0 by a request, 1 because it was set again. */
	EXPECT("http://a.example.org/0", "c0=1; d=1");
	assert_true(set("http://a.example.org/", "c1=2; Path=/1"));
	assert_int_equal(cookie_count(jar), COOKIES_PER_HOST_MAX + 2);
	assert_true(set("http://a.example.org/", "n=1; Path=/n"));
	assert_int_equal(cookie_count(jar), COOKIES_PER_HOST_MAX + 2);
	EXPECT("http://a.example.org/2", "d=1");
	EXPECT("http://a.example.org/0", "c0=1; d=1");
	EXPECT("http://a.example.org/1", "c1=2; d=1");
	EXPECT("http://a.example.org/3", "c3=1; d=1");
	EXPECT("http://a.example.org/n", "n=1; d=1");
	/* A cookie that has ended goes before all others. */
	assert_true(set("http://a.example.org/", "c5=1; Path=/5; Max-Age=1"));
	now.us += US_PER_S;
	assert_true(set("http://a.example.org/", "o=1; Path=/o"));
	EXPECT("http://a.example.org/4", "c4=1; d=1");
	EXPECT("http://a.example.org/5", "d=1");
	/* What only deletes makes no room. */
	assert_true(set("http://a.example.org/", "none=1; Max-Age=0"));
	assert_int_equal(cookie_count(jar), COOKIES_PER_HOST_MAX + 2);
}

static void
fill(int sites)
{
	for (int i = 0; i < sites; i++)
		assert_true(set(TEXT("http://h%d.example%d.org/", i % 3, i),
		    "c=1"));
}

static void
total_tests(void **state)
{
	(void)state;
	fill(COOKIES_MAX);
	assert_int_equal(cookie_count(jar), COOKIES_MAX);
	EXPECT("http://h0.example0.org/", "c=1");
	assert_true(set("http://a.example/", "n=1"));
	assert_int_equal(cookie_count(jar), COOKIES_MAX);
	EXPECT("http://h1.example1.org/", "");
	EXPECT("http://h0.example0.org/", "c=1");
	EXPECT("http://h2.example2.org/", "c=1");
	EXPECT("http://a.example/", "n=1");
	/* Replacing needs no room. */
	assert_true(set("http://a.example/", "n=2"));
	EXPECT("http://h0.example3.org/", "c=1");
}

/* One registrable domain with more hosts than the jar can hold. */
static void
many_hosts_tests(void **state)
{
	(void)state;
	for (int i = 0; i < COOKIES_MAX + 500; i++)
		assert_true(set(TEXT("http://h%d.example.org/", i), "c=1"));
	assert_int_equal(cookie_count(jar), COOKIES_MAX);
	EXPECT("http://h499.example.org/", "");
	EXPECT("http://h500.example.org/", "c=1");
}

/* 65,536 bytes are sent, not one more; what came last is left out. */
static void
header_bytes_tests(void **state)
{
	(void)state;
	for (int i = 0; i < 15; i++)
		assert_true(set("http://a.example/",
		    TEXT("%c=%s", 'a' + i, many('v', 4095))));
	assert_int_equal(get("http://a.example/").n, 15 * 4097 + 14 * 2);
	assert_true(set("http://a.example/", TEXT("z=%s", many('v', 4049))));
	assert_int_equal(get("http://a.example/").n, 65536);
	assert_true(set("http://a.example/", TEXT("z=%s", many('v', 4050))));
	assert_int_equal(get("http://a.example/").n, 15 * 4097 + 14 * 2);
}

/* Cookie files. */

static enum err
load(const char *text, struct why *w)
{
	*w = WHY_INIT;
	return cookie_load(jar, str_of(text), now, w);
}

static void
load_tests(void **state)
{
	static const char text[] =
	    "# Netscape HTTP Cookie File\n"
	    "# https://curl.se/docs/http-cookies.html\n"
	    "\n"
	    "#HttpOnly_a.example.org\tFALSE\t/\tFALSE\t0\thost\t1\n"
	    ".example.org\tTRUE\t/\tTRUE\t0\tsite\ta b\r\n"
	    "example.org\tTRUE\t/d\tFALSE\t1700000100\tends\t\n"
	    "example.org\tTRUE\t/d\tFALSE\t1700000000\told\tx\n"
	    "example.org:8080\tfalse\t/\tfalse\t1700000100\tport\tx=y\tz\n"
	    "#HttpOnly_.GITHUB.io\tTRUE\t/\tFALSE\t0\tsuffix\t1\n"
	    "  \n"
	    "10.2.3.4\tTRUE\t/\tFALSE\t9223372036854775807\taddress\t1\n"
	    "::1\tFALSE\t/\tFALSE\t0\tsix\t1\n"
	    "[::2]:81\tFALSE\t/\tFALSE\t0\tsix\t2\n"
	    "b\xc3\xbc" "cher.example\tTRUE\t/\tFALSE\t0\tidn\t1\n"
	    "localhost\tFALSE\t/\tFALSE\t0\tno-value";
	struct why w;

	(void)state;
	if (load(text, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(cookie_count(jar), 10);
	EXPECT("https://a.example.org/", "host=1; site=a b");
	EXPECT("http://a.example.org/d", "ends=; host=1");
	EXPECT("http://example.org/", "port=x=y\tz");
	EXPECT("http://github.io/", "suffix=1");
	EXPECT("http://x.github.io/", "");
	EXPECT("http://10.2.3.4/", "address=1");
	EXPECT("http://9.10.2.3/", "");
	EXPECT("http://[::1]/", "six=1");
	EXPECT("http://[::2]/", "six=2");
	EXPECT("http://x.xn--bcher-kva.example/", "idn=1");
	EXPECT("http://localhost/", "no-value=");
	now.us += 100 * US_PER_S;
	EXPECT("http://a.example.org/d", "host=1");
	now.us = INT64_MAX - 2;
	EXPECT("http://10.2.3.4/", "address=1");
	assert_int_equal(load("# only this", &w), OK);
}

static void
load_bad_tests(void **state)
{
	/* "|" is a tab, and "$" a secret. */
	static const char *const bad[] = {
		"x", "a|TRUE|/|FALSE|0", "a TRUE / FALSE 0 n $",
		"|TRUE|/|FALSE|0|n|$", ".|TRUE|/|FALSE|0|n|$",
		"a/b|TRUE|/|FALSE|0|n|$", "u@a|TRUE|/|FALSE|0|n|$",
		"a?|TRUE|/|FALSE|0|n|$", "a b|TRUE|/|FALSE|0|n|$",
		"1.2.3.256|TRUE|/|FALSE|0|n|$", "a:x|TRUE|/|FALSE|0|n|$",
		"a|yes|/|FALSE|0|n|$", "a|TRUE|d|FALSE|0|n|$",
		"a|TRUE||FALSE|0|n|$", "a|TRUE|/|1|0|n|$",
		"a|TRUE|/|FALSE||n|$", "a|TRUE|/|FALSE|1.5|n|$",
		"a|TRUE|/|FALSE|x|n|$", "a|TRUE|/|FALSE|0||$",
		"a|TRUE|/|FALSE|0|n=|$", "a|TRUE|/|FALSE|0|n;m|$",
		"a|TRUE|/|FALSE|0|n|$; b=c", "a|TRUE|/|FALSE|0|n|$\x01",
		"a|TRUE|/|FALSE|0|n|$\r\r", "a|TRUE|/|FALSE|0|__Secure-n|$",
		"a.org|TRUE|/|TRUE|0|__Host-n|$",
		"a|FALSE|/d|TRUE|0|__Host-n|$",
	};
	struct why w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct buf b = BUF_INIT;
		buf_put_text(&b, "g\tTRUE\t/\tFALSE\t0\tn\tv\n\n");
		for (const char *c = bad[i]; *c != '\0'; c++)
			buf_put_str(&b, *c == '|' ? STR("\t") : *c == '$' ?
			    STR("secret") : (struct str){ c, 1 });
		buf_put_text(&b, "\nh\tTRUE\t/\tFALSE\t0\tn\tv\n");
		if (load(buf_text(&b), &w) != ERR_INPUT)
			fail_msg("taken: %s", bad[i]);
		assert_non_null(strstr(w.text, "line 3"));
		assert_null(strstr(w.text, "secret"));
		/* Not even what stood before the bad line. */
		assert_int_equal(cookie_count(jar), 0);
		buf_free(&b);
	}
}

static void
load_limit_tests(void **state)
{
	static const char head[] = "a.example\tTRUE\t/%s\tFALSE\t0\tn\t%s";
	struct buf b = BUF_INIT;
	struct why w;

	(void)state;
	const char *v4095 = many('v', 4095), *p1023 = many('p', 1023);
	assert_int_equal(load(TEXT(head, p1023, v4095), &w), OK);
	assert_int_equal(load(TEXT(head, "", TEXT("%sv", v4095)), &w),
	    ERR_INPUT);
	assert_int_equal(load(TEXT(head, TEXT("%sp", p1023), ""), &w),
	    ERR_INPUT);
	assert_int_equal(load(TEXT("%s\tTRUE\t/\tFALSE\t0\tn\tv",
	    many('d', 254)), &w), ERR_INPUT);
	fresh();
	for (int i = 0; i <= COOKIES_MAX; i++)
		buf_printf(&b, "example%d.org\tTRUE\t/\tFALSE\t0\tn\tv\n", i);
	assert_int_equal(load(buf_text(&b), &w), OK);
	assert_int_equal(cookie_count(jar), COOKIES_MAX);
	EXPECT("http://example0.org/", "");
	EXPECT("http://example1.org/", "n=v");
	buf_free(&b);
}

/* The whole, against a list that is searched from end to end. */

struct naive {
	char name[8], domain[40], path[16];
	int value;
	bool host_only, secure;
	int64_t end_us;
	bool there;
};
static struct naive list[4096];         /* in the order of creation */
static size_t list_n;

static const char *const hosts[] = { "example.org", "a.example.org",
	"b.a.example.org", "ab.example.org", "example.co.uk", "x.github.io",
	"y.x.github.io", "10.2.3.4" };
static const char *const paths[] = { "/", "/d", "/d/e", "/de" };

static uint64_t
draw(uint64_t below)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x % below;
}

static bool
naive_below(const char *host, const char *domain)
{
	size_t n = strlen(host), k = strlen(domain);

	return n > k && strcmp(host + n - k, domain) == 0 &&
	    host[n - k - 1] == '.';
}

static bool
naive_path(const char *asked, const char *path)
{
	size_t k = strlen(path);

	return strcmp(path, "/") == 0 || strcmp(asked, path) == 0 ||
	    (strncmp(asked, path, k) == 0 && asked[k] == '/');
}

static void
naive_store(const struct naive *c)
{
	struct naive *at = NULL;

	for (size_t i = 0; i < list_n; i++)
		if (list[i].there && list[i].end_us > now.us &&
		    strcmp(list[i].name, c->name) == 0 &&
		    strcmp(list[i].domain, c->domain) == 0 &&
		    strcmp(list[i].path, c->path) == 0)
			at = &list[i];
	if (at == NULL) {
		assert_true(list_n < ARRAY_LEN(list));
		at = &list[list_n++];
	}
	*at = *c;
	at->there = c->end_us > now.us;
}

static struct str
naive_header(const char *host, const char *path, bool tls)
{
	struct str out = STR("");

	for (size_t k = 20; k-- > 0; )
		for (size_t i = 0; i < list_n; i++) {
			const struct naive *c = &list[i];
			if (!c->there || c->end_us <= now.us ||
			    strlen(c->path) != k || (c->secure && !tls) ||
			    (strcmp(host, c->domain) != 0 && (c->host_only ||
			    !naive_below(host, c->domain))) ||
			    !naive_path(path, c->path))
				continue;
			out = arena_printf(&a, "%.*s%s%s=%d", STR_FMT(out),
			    out.n > 0 ? "; " : "", c->name, c->value);
		}
	return out;
}

static void
naive_step(int value)
{
	const char *host = hosts[draw(ARRAY_LEN(hosts))];
	const char *path = paths[draw(ARRAY_LEN(paths))];
	struct naive c = { .value = value, .there = true, .host_only = true,
		.secure = draw(4) == 0, .end_us = INT64_MAX };
	struct buf b = BUF_INIT;

	snprintf(c.name, sizeof(c.name), "n%d", (int)draw(3));
	snprintf(c.path, sizeof(c.path), "%s", path);
	snprintf(c.domain, sizeof(c.domain), "%s", host);
	buf_printf(&b, "%s=%d; Path=%s%s", c.name, value, path,
	    c.secure ? "; Secure" : "");
	if (draw(2) == 0) {
		/* Some domain of the list that holds the host. */
		const char *d = hosts[draw(ARRAY_LEN(hosts))];
		if (strcmp(d, host) == 0 || naive_below(host, d)) {
			snprintf(c.domain, sizeof(c.domain), "%s", d);
			c.host_only = host[0] == '1';
			buf_printf(&b, "; Domain=%s", d);
		}
	}
	if (draw(3) == 0) {
		int64_t age = (int64_t)draw(60) - 10;
		c.end_us = age <= 0 ? INT64_MIN : now.us + age * US_PER_S;
		buf_printf(&b, "; Max-Age=%d", (int)age);
	}
	assert_true(set(TEXT("https://%s/", host), buf_text(&b)));
	naive_store(&c);
	buf_free(&b);
}

static void
naive_tests(void **state)
{
	size_t filled = 0;

	(void)state;
	list_n = 0;
	for (int i = 0; i < 3000; i++) {
		naive_step(i);
		now.us += (int64_t)draw(3) * US_PER_S;
		const char *host = hosts[draw(ARRAY_LEN(hosts))];
		const char *path = paths[draw(ARRAY_LEN(paths))];
		bool tls = draw(2) == 0;
		struct str wanted = naive_header(host, path, tls);
		EXPECT(TEXT("http%s://%s%s", tls ? "s" : "", host, path),
		    wanted.p);
		filled += wanted.n > 0;
		arena_reset(&a);
	}
	assert_true(filled > 2000);
}

/* CPU µs of 1,000 questions for a host without cookies, the best of 20. */
static double
measure_us(void)
{
	struct url u = url_of("http://www.nothing.example.com/a/page.html");
	double best_us = 1e9;

	for (int round = 0; round < 20; round++) {
		clock_t from = clock();
		for (int i = 0; i < 1000; i++)
			assert_int_equal(cookie_header(jar, &u, now, &a).n, 0);
		best_us = MIN(best_us, (double)(clock() - from));
	}
	return best_us * 1e6 / CLOCKS_PER_SEC;
}

/* A full jar costs such a host no more: a walk over all cookies would. */
static void
cost_tests(void **state)
{
	(void)state;
	fill(COOKIES_MAX / 100);
	double few_us = measure_us();
	fill(COOKIES_MAX);
	assert_true(measure_us() < 5 * few_us);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pair_tests), TEST(domain_tests), TEST(final_dot_tests),
		TEST(suffix_tests), TEST(address_tests), TEST(path_tests),
		TEST(secure_tests), TEST(prefix_tests), TEST(date_tests),
		TEST(delimiter_tests), TEST(year_tests), TEST(calendar_tests),
		TEST(max_age_tests), TEST(deletion_tests),
		TEST(end_order_tests), TEST(order_tests), TEST(bytes_tests),
		TEST(attribute_bytes_tests), TEST(host_bytes_tests),
		TEST(per_host_tests), TEST(total_tests),
		TEST(many_hosts_tests), TEST(header_bytes_tests),
		TEST(load_tests), TEST(load_bad_tests), TEST(load_limit_tests),
		TEST(naive_tests), TEST(cost_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
