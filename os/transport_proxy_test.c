#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "os/transport_proxy.h"

static void
check(const char *url, enum transport_proxy_kind kind, const char *host,
    uint16_t port, const char *user, const char *password)
{
	struct transport_proxy p = { .port = 0 };

	if (!transport_proxy_read(str_of(url), &p))
		fail_msg("%s is refused", url);
	assert_int_equal(p.kind, kind);
	assert_true(str_eq(p.host, str_of(host)));
	assert_int_equal(p.port, port);
	assert_int_equal(p.has_user, user != NULL);
	if (user != NULL) {
		assert_string_equal(p.user, user);
		assert_string_equal(p.password, password);
	}
}

static void
test_good(void **state)
{
	struct transport_proxy p;

	(void)state;
	check("http://h:81", TRANSPORT_PROXY_HTTP, "h", 81, NULL, NULL);
	check("HTTP://h/", TRANSPORT_PROXY_HTTP, "h", 80, NULL, NULL);
	check("socks4://h", TRANSPORT_PROXY_SOCKS4, "h", 1080, NULL, NULL);
	check("socks4a://h:1", TRANSPORT_PROXY_SOCKS4A, "h", 1, NULL, NULL);
	check("socks5://u@h:2", TRANSPORT_PROXY_SOCKS5, "h", 2, "u", "");
	check("socks5h://u:p@[::1]:65535", TRANSPORT_PROXY_SOCKS5H, "::1",
	    65535, "u", "p");
	check("http://a%40b:%3a@c@[::1]", TRANSPORT_PROXY_HTTP, "::1", 80,
	    "a@b", ":@c");
	assert_true(transport_proxy_read(STR(""), &p));
	assert_int_equal(p.kind, TRANSPORT_PROXY_NONE);
}

static void
test_bad(void **state)
{
	static const char *const urls[] = { "h:80", "https://h", "ftp://h",
	    "http://", "http://h:0", "http://h:65536", "http://h:x",
	    "http://h:", "http://:80", "http://u%4@h", "http://u%zz@h",
	    "http://u%00@h", "http://[::1", "http://[]:1", "http://[::1]x",
	    "http://h:80/path" };
	struct transport_proxy p;
	char long_user[400];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		if (transport_proxy_read(str_of(urls[i]), &p))
			fail_msg("%s is taken", urls[i]);
	/* The longest user is one less than TRANSPORT_PROXY_TEXT_MAX. */
	for (int n = 255; n < 257; n++) {
		snprintf(long_user, sizeof(long_user), "http://%0*d@h", n, 0);
		assert_int_equal(transport_proxy_read(str_of(long_user), &p),
		    n == 255);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
