/* Addresses of servers, as people write them. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/instance.h"

static void
addresses(void **state)
{
	static const struct {
		const char *given, *want;
	} rows[] = {
		{ "a.example", "https://a.example" },
		{ "https://A.Example/", "https://a.example" },
		{ "HTTP://a-b.example:80", "http://a-b.example" },
		{ "https://a.example:8443", "https://a.example:8443" },
		{ "http://a.example:443", "http://a.example:443" },
		{ "", NULL }, { "https://", NULL }, { "a.example/b", NULL },
		{ "a.example:0", NULL }, { "a.example:65536", NULL },
		{ "-a.example", NULL }, { ".example", NULL },
		{ "a@b.example", NULL }, { "ftp://a.example", NULL },
	};
	struct arena a = ARENA_INIT;
	struct str base;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool fine = instance_base(str_of(rows[i].given), &a, &base);
		assert_int_equal(fine, rows[i].want != NULL);
		if (fine)
			assert_string_equal(arena_copy(&a, base).p,
			    rows[i].want);
	}
	arena_free(&a);
}

static void
a_token_goes_by_https_alone(void **state)
{
	struct connector_credential keys[] = {
		{ STR("instance"), STR("http://a.example") },
		{ STR("access_token"), STR("") },
	};
	struct connector_order o = { .credentials = keys,
		.credentials_n = 1 };
	struct arena a = ARENA_INIT;
	struct str base;

	(void)state;
	assert_int_equal(instance_read(&o, "https://b.example", &a, &base,
	    NULL), OK);
	o.credentials_n = 2;
	assert_int_equal(instance_read(&o, "https://b.example", &a, &base,
	    NULL), ERR_INPUT);
	keys[0].value = STR("https://a.example");
	assert_int_equal(instance_read(&o, "https://b.example", &a, &base,
	    NULL), OK);
	assert_true(str_eq(base, STR("https://a.example")));
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(a_token_goes_by_https_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
