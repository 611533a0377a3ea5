#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/frontier/lease_service.h"

static void
a_missing_key_is_derived(void **state)
{
	static const struct {
		const char *url, *key;
	} rows[] = {
		{ "http://a.b/c", "a.b" },
		{ "http://gac.icann.org?language_id=9", "gac.icann.org" },
		{ "http://user:pw@h.org/", "h.org" },
		{ "http://a@b@h.org/", "h.org" },
		{ "http://h.org/@x", "h.org" },
		{ "http://[::1]:8/", "[::1]" },
		{ "http://u@[::1]:8/", "[::1]" },
		{ "http://[::1", "[::1" },
		{ "http://h.org#f", "h.org" },
		{ "http://h.org&x", "h.org" },
		{ "HTTP://H.org/", "H.org" },
		{ "http://h.org:80/x", "h.org" },
		{ "h.org:80/x", "h.org" },
		{ "h.org", "h.org" },
		{ "[::1]:8", "[::1]" },
		{ "a@b/c", "a@b" },
		{ "mailto:a@b", "mailto" },
		{ "http:///x", "" },
		{ "http://", "" },
		{ "http://@/x", "" },
		{ "://x/", "x" },
		{ ":80", "" },
		{ "/x", "" },
		{ "", "" },
		{ "x/http://h.org/", "h.org" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str key = lease_key(str_of(rows[i].url));
		if (!str_eq(key, str_of(rows[i].key)))
			fail_msg("%s: %.*s", rows[i].url, STR_FMT(key));
	}
	assert_true(str_eq(lease_key(STR("a\0b:")), STR("a\0b")));
}

static void
units_are_those_of_utf16(void **state)
{
	(void)state;
	assert_int_equal(lease_key_units(STR("")), 0);
	assert_int_equal(lease_key_units(STR("a.b")), 3);
	assert_int_equal(lease_key_units(STR("\xc3\xa4\xe2\x82\xac")), 2);
	assert_int_equal(lease_key_units(STR("\xf0\x9f\x95\xb7")), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_key_is_derived),
		cmocka_unit_test(units_are_those_of_utf16),
	};

	return cmocka_run_group_tests_name("outside_key", tests, NULL, NULL);
}
