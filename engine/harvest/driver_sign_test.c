/* Where secrets go, and where they do not. */
#include "engine/harvest/driver_own.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *const hosts[] = { "api.example", "{instance}",
	"*.{instance}", NULL };
static const struct connector connector = { .hosts = hosts };
static const struct connector_credential given[] = {
	{ { "instance", 8 }, { "https://m.example:444/x", 23 } },
	{ { "access_token", 12 }, { NULL, 0 } } };
static const struct driver_secret secrets[] = {
	{ { "access_token", 12 }, { "canary", 6 } } };
static const struct connector_order order = { .connector = &connector,
	.credentials = given, .credentials_n = ARRAY_LEN(given) };

static struct driver driver;
static struct slot *slot = &driver.slots[0];

static int
setup(void **state)
{
	(void)state;
	driver = (struct driver){ .connector = &connector,
	    .options = { .order = &order, .secrets = secrets,
	    .secrets_n = ARRAY_LEN(secrets) } };
	slot->driver = &driver;
	slot->call = (struct connector_call){ .auth = CONNECTOR_BEARER,
	    .secret = "access_token" };
	assert_int_equal(driver_read_hosts(&driver, NULL), OK);
	driver_find_secrets(slot);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_free(&slot->arena);
	arena_free(&driver.arena);
	return 0;
}

/* What leaves: the value of Authorization; NULL: nothing does. */
static const char *
signed_for(const char *host, bool tls)
{
	static char value[64];
	static const struct transport_header own = { { "Host", 4 },
		{ "x", 1 } };
	struct exchange x = { .host = str_of(host), .tls = tls,
	    .headers = &own, .headers_n = 1 };
	struct arena a = ARENA_INIT;
	bool leaves = driver_sign(&slot->sent, &x, &a);

	value[0] = '\0';
	for (size_t i = 0; i < x.headers_n; i++)
		if (str_eq(x.headers[i].name, STR("Authorization")))
			snprintf(value, sizeof(value), "%.*s",
			    STR_FMT(x.headers[i].value));
	arena_free(&a);
	return leaves ? value : NULL;
}

static void
to_the_connector_s_hosts(void **state)
{
	static const char *const right[] = { "api.example", "m.example",
		"M.EXAMPLE", "streaming.m.example", "a.b.m.example" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(right); i++) {
		assert_string_equal(signed_for(right[i], true),
		    "Bearer canary");
		assert_null(signed_for(right[i], false));
	}
}

static void
to_no_other_host(void **state)
{
	static const char *const wrong[] = { "example", "evil.example",
		"xm.example", "m.example.evil", "b.api.example", "m.exampl",
		"", ".", ".m.example" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_null(signed_for(wrong[i], true));
}

static void
an_anonymous_call_has_none(void **state)
{
	(void)state;
	slot->call.auth = CONNECTOR_ANONYMOUS;
	assert_string_equal(signed_for("evil.example", false), "");
	assert_string_equal(signed_for("m.example", true), "");
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(to_the_connector_s_hosts),
		WITH(to_no_other_host),
		WITH(an_anonymous_call_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
