#include "engine/policy/suite_test.h"

#include <arpa/inet.h>

#include "engine/parser/url.h"
#include "engine/policy/address.h"

static const struct {
	const char *text;
	enum address_class class;
} cases[] = {
	{ "0.0.0.0", ADDRESS_UNSPECIFIED },
	{ "0.255.255.255", ADDRESS_UNSPECIFIED },
	{ "1.0.0.0", ADDRESS_PUBLIC },
	{ "9.255.255.255", ADDRESS_PUBLIC },
	{ "10.0.0.0", ADDRESS_PRIVATE },
	{ "10.255.255.255", ADDRESS_PRIVATE },
	{ "11.0.0.0", ADDRESS_PUBLIC },
	{ "100.63.255.255", ADDRESS_PUBLIC },
	{ "100.64.0.0", ADDRESS_CGNAT },
	{ "100.127.255.255", ADDRESS_CGNAT },
	{ "100.128.0.0", ADDRESS_PUBLIC },
	{ "126.255.255.255", ADDRESS_PUBLIC },
	{ "127.0.0.0", ADDRESS_LOOPBACK },
	{ "127.255.255.255", ADDRESS_LOOPBACK },
	{ "128.0.0.0", ADDRESS_PUBLIC },
	{ "169.253.255.255", ADDRESS_PUBLIC },
	{ "169.254.0.0", ADDRESS_LINK_LOCAL },
	{ "169.254.255.255", ADDRESS_LINK_LOCAL },
	{ "169.255.0.0", ADDRESS_PUBLIC },
	{ "172.15.255.255", ADDRESS_PUBLIC },
	{ "172.16.0.0", ADDRESS_PRIVATE },
	{ "172.31.255.255", ADDRESS_PRIVATE },
	{ "172.32.0.0", ADDRESS_PUBLIC },
	{ "191.255.255.255", ADDRESS_PUBLIC },
	{ "192.0.0.0", ADDRESS_PROTOCOL },
	{ "192.0.0.255", ADDRESS_PROTOCOL },
	{ "192.0.1.0", ADDRESS_PUBLIC },
	{ "192.0.2.0", ADDRESS_DOCUMENTATION },
	{ "192.0.2.255", ADDRESS_DOCUMENTATION },
	{ "192.0.3.0", ADDRESS_PUBLIC },
	{ "192.88.98.255", ADDRESS_PUBLIC },
	{ "192.88.99.0", ADDRESS_SIXTOFOUR },
	{ "192.88.100.0", ADDRESS_PUBLIC },
	{ "192.167.255.255", ADDRESS_PUBLIC },
	{ "192.168.0.0", ADDRESS_PRIVATE },
	{ "192.168.255.255", ADDRESS_PRIVATE },
	{ "192.169.0.0", ADDRESS_PUBLIC },
	{ "198.17.255.255", ADDRESS_PUBLIC },
	{ "198.18.0.0", ADDRESS_BENCHMARK },
	{ "198.19.255.255", ADDRESS_BENCHMARK },
	{ "198.20.0.0", ADDRESS_PUBLIC },
	{ "198.51.99.255", ADDRESS_PUBLIC },
	{ "198.51.100.0", ADDRESS_DOCUMENTATION },
	{ "198.51.101.0", ADDRESS_PUBLIC },
	{ "203.0.113.255", ADDRESS_DOCUMENTATION },
	{ "203.0.114.0", ADDRESS_PUBLIC },
	{ "223.255.255.255", ADDRESS_PUBLIC },
	{ "224.0.0.0", ADDRESS_MULTICAST },
	{ "239.255.255.255", ADDRESS_MULTICAST },
	{ "240.0.0.0", ADDRESS_RESERVED },
	{ "255.255.255.254", ADDRESS_RESERVED },
	{ "255.255.255.255", ADDRESS_BROADCAST },
	{ "::", ADDRESS_UNSPECIFIED },
	{ "::1", ADDRESS_LOOPBACK },
	{ "::2", ADDRESS_COMPATIBLE },
	{ "::127.0.0.1", ADDRESS_COMPATIBLE },
	{ "::93.184.216.34", ADDRESS_COMPATIBLE },
	{ "::ffff:127.0.0.1", ADDRESS_LOOPBACK },
	{ "::ffff:93.184.216.34", ADDRESS_PUBLIC },
	{ "::ffff:0:93.184.216.34", ADDRESS_RESERVED },
	{ "64:ff9b::93.184.216.34", ADDRESS_PUBLIC },
	{ "64:ff9b::10.0.0.1", ADDRESS_PRIVATE },
	{ "64:ff9b::1:0:0", ADDRESS_RESERVED },
	{ "64:ff9b:1::a00:1", ADDRESS_PRIVATE },
	{ "64:ff9b:2::a00:1", ADDRESS_RESERVED },
	{ "100::", ADDRESS_DISCARD },
	{ "100::ffff:ffff:ffff:ffff", ADDRESS_DISCARD },
	{ "100:0:0:1::", ADDRESS_RESERVED },
	{ "1fff:ffff::", ADDRESS_RESERVED },
	{ "2000::", ADDRESS_PUBLIC },
	{ "2001::", ADDRESS_TEREDO },
	{ "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_TEREDO },
	{ "2001:1::", ADDRESS_PROTOCOL },
	{ "2001:2::1", ADDRESS_BENCHMARK },
	{ "2001:2:1::1", ADDRESS_PROTOCOL },
	{ "2001:1ff:ffff::", ADDRESS_PROTOCOL },
	{ "2001:200::", ADDRESS_PUBLIC },
	{ "2001:db7:ffff::", ADDRESS_PUBLIC },
	{ "2001:db8::", ADDRESS_DOCUMENTATION },
	{ "2001:db8:ffff::", ADDRESS_DOCUMENTATION },
	{ "2001:db9::", ADDRESS_PUBLIC },
	{ "2002::", ADDRESS_SIXTOFOUR },
	{ "2002:ffff::", ADDRESS_SIXTOFOUR },
	{ "2003::", ADDRESS_PUBLIC },
	{ "3ffe:ffff::", ADDRESS_PUBLIC },
	{ "3fff::", ADDRESS_DOCUMENTATION },
	{ "3fff:fff:ffff::", ADDRESS_DOCUMENTATION },
	{ "3fff:1000::", ADDRESS_PUBLIC },
	{ "4000::", ADDRESS_RESERVED },
	{ "fbff::", ADDRESS_RESERVED },
	{ "fc00::", ADDRESS_PRIVATE },
	{ "fdff:ffff::", ADDRESS_PRIVATE },
	{ "fe00::", ADDRESS_RESERVED },
	{ "fe7f:ffff::", ADDRESS_RESERVED },
	{ "fe80::", ADDRESS_LINK_LOCAL },
	{ "febf:ffff::", ADDRESS_LINK_LOCAL },
	{ "fec0::", ADDRESS_PRIVATE },
	{ "feff:ffff::", ADDRESS_PRIVATE },
	{ "ff00::", ADDRESS_MULTICAST },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_MULTICAST },
	{ "2606:2800:220:1::1", ADDRESS_PUBLIC },
};

static void
classes_at_their_edges(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint8_t ip[16];
		assert_true(address_parse(str_of(cases[i].text), ip));
		if (address_classify(ip) != cases[i].class)
			fail_msg("%s is %s", cases[i].text,
			    address_class_text(address_classify(ip)));
		assert_int_equal(address_is_public(ip),
		    cases[i].class == ADDRESS_PUBLIC);
	}
	print_message("address: %zu addresses at the edges of their blocks\n",
	    ARRAY_LEN(cases));
}

static void
text_and_bytes(void **state)
{
	static const struct {
		const char *in, *out;   /* out NULL: no address */
	} texts[] = {
		{ "93.184.216.34", "93.184.216.34" },
		{ "::ffff:93.184.216.34", "93.184.216.34" },
		{ "[2606:2800:0:0:0:0:0:1]", "2606:2800::1" },
		{ "2001:DB8::A", "2001:db8::a" },
		{ "", NULL }, { "[]", NULL }, { "[", NULL }, { "]", NULL },
		{ "[93.184.216.34]", NULL }, { "127.1", NULL },
		{ "1.2.3.4.5", NULL }, { "256.1.1.1", NULL },
		{ "fe80::1%lo", NULL }, { "1::2::3", NULL },
		{ "example.org", NULL }, { "1.2.3.4 ", NULL },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2550", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		uint8_t ip[16];
		char text[INET6_ADDRSTRLEN];
		bool is = address_parse(str_of(texts[i].in), ip);
		if (is != (texts[i].out != NULL))
			fail_msg("\"%s\" is%s taken", texts[i].in,
			    is ? "" : " not");
		if (!is)
			continue;
		bool v4 = memcmp(ip, (uint8_t[12]){ [10] = 0xff, 0xff }, 12) ==
		    0;
		assert_non_null(inet_ntop(v4 ? AF_INET : AF_INET6,
		    v4 ? ip + 12 : ip, text, sizeof(text)));
		assert_string_equal(text, texts[i].out);
	}
	uint8_t ip[16];
	assert_false(address_parse((struct str){ "1.2.3.4\0x", 9 }, ip));
	assert_false(address_parse(STR_NONE, ip));
}

static void
hosts_that_are_local(void **state)
{
	static const char *const local[] = { "localhost", "localhost.",
		"foo.localhost", "a.b.localhost.", "127.0.0.1", "10.1.2.3",
		"[::1]", "[fe80::1]", "169.254.169.254", "", "." };
	static const char *const far[] = { "notlocalhost", "localhost.org",
		"example.org", "93.184.216.34", "[2606:2800:220:1::1]", "t",
		"host", "ahost", "1.example", "x.host", "ocalhost" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		if (!address_host_is_local(str_of(local[i])))
			fail_msg("%s", local[i]);
	for (size_t i = 0; i < ARRAY_LEN(far); i++)
		if (address_host_is_local(str_of(far[i])))
			fail_msg("%s", far[i]);
}

static void
bad_ports(void **state)
{
	size_t bad = 0;

	(void)state;
	for (unsigned p = 0; p <= 65535; p++)
		bad += address_port_is_bad((uint16_t)p);
	assert_int_equal(bad, 83);       /* the Fetch standard's list */
	assert_true(address_port_is_bad(0) && address_port_is_bad(22));
	assert_true(address_port_is_bad(10080) && address_port_is_bad(6000));
	assert_false(address_port_is_bad(80) || address_port_is_bad(443));
	assert_false(address_port_is_bad(8080) || address_port_is_bad(24));
	assert_false(address_port_is_bad(10081) || address_port_is_bad(65535));
}

static void
ambiguous_urls(void **state)
{
	static const char *const yes[] = { "http://a.org\\@127.0.0.1/",
		"http:\\\\a.org/", "http:/\\a.org/", "http://\\a.org/" };
	static const char *const no[] = { "http://a.org/\\", "", "http:",
		"http://a.org?\\", "http://a.org#\\", "a.org", "http://a.org" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		if (!address_url_is_ambiguous(str_of(yes[i])))
			fail_msg("%s", yes[i]);
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (address_url_is_ambiguous(str_of(no[i])))
			fail_msg("%s", no[i]);
	assert_true(address_url_is_ambiguous(STR("http://a\0\\b/")));
}

/* What the pure guards say of a URL; -1: only a lookup can tell. */
static int
url_is_denied(struct str text, struct arena *a)
{
	struct url u;
	struct why w = WHY_INIT;
	uint8_t ip[16];

	if (address_url_is_ambiguous(text))
		return 1;
	if (url_parse(text, NULL, a, &u, &w) != OK)
		return 1;                /* no URL, no fetch */
	if (u.scheme != URL_HTTP && u.scheme != URL_HTTPS)
		return 1;
	if (address_port_is_bad(u.port) || address_host_is_local(u.host))
		return 1;
	return address_parse(u.host, ip) ? 0 : -1;
}

static void
suite_of_forged_requests(void **state)
{
	struct buf file = BUF_INIT;
	struct arena a = ARENA_INIT;
	size_t denied = 0, allowed = 0, names = 0;

	(void)state;
	suite_read("own/ssrf-urls.tsv", &file);
	struct str rest = buf_str(&file), line, verdict, url;
	while (str_split(&rest, '\n', &line)) {
		if (line.n == 0 || line.p[0] == '#' ||
		    !str_split(&line, '\t', &verdict) ||
		    !str_split(&line, '\t', &url))
			continue;
		int got = url_is_denied(url, &a);
		if (got < 0) {
			names++;
			continue;
		}
		if (got != (int)str_eq(verdict, STR("deny")))
			fail_msg("%.*s is %s", STR_FMT(url),
			    got ? "denied" : "allowed");
		denied += got == 1;
		allowed += got == 0;
	}
	print_message("conformance: ssrf-urls.tsv: %zu denied, %zu allowed, "
	    "%zu names left to the lookup\n", denied, allowed, names);
	assert_int_equal(denied + allowed + names, 73);
	assert_int_equal(allowed, 6);
	assert_int_equal(names, 8);
	buf_free(&file);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_at_their_edges),
		cmocka_unit_test(text_and_bytes),
		cmocka_unit_test(hosts_that_are_local),
		cmocka_unit_test(bad_ports),
		cmocka_unit_test(ambiguous_urls),
		cmocka_unit_test(suite_of_forged_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
