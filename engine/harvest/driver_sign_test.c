/* Where secrets go, and where they do not. */
#include "engine/harvest/driver_own.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "wire/redact.h"

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

/* --- archives of runs of documents ------------------------------------ */

/* The address as records have it after driver_clean_url(). */
static void
is_recorded_as(const char *url, const char *expected)
{
	slot->url = str_of(url);
	struct str clean = driver_clean_url(slot);

	if (!str_eq(clean, str_of(expected)))
		fail_msg("%.*s", STR_FMT(clean));
}

/* A next page's address may repeat the token that the page was asked with. */
static void
former_tokens_are_cut_out_of_addresses(void **state)
{
	static const char *const tokens[] = { "token-number-0",
		"token-number-1", "token-number-2", "token-number-3",
		"token-number-4", "token-number-5", "token-number-6",
		"token-number-7", "token-number-8", "token-number-9" };
	struct driver_secret s = { STR("access_token"), STR_NONE };
	char url[64];

	(void)state;
	driver.options.archives = true;
	driver.options.secrets = &s;
	driver.options.secrets_n = 1;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		if (i > 0)
			driver_keep_former(&driver);
		s.value = str_of(tokens[i]);
		driver_make_redactor(&driver);
	}
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		bool is_known = i + DRIVER_FORMER_MAX + 1 >=
		    ARRAY_LEN(tokens);
		snprintf(url, sizeof(url), "https://api.example/a?x=%s",
		    tokens[i]);
		is_recorded_as(url, is_known ?
		    "https://api.example/a?x=REDACTED" : url);
	}
	is_recorded_as("https://api.example/a?token=short&y=1",
	    "https://api.example/a?token=REDACTED&y=1");
	is_recorded_as("https://api.example/plain",
	    "https://api.example/plain");
	/* A host is where the call goes. */
	is_recorded_as("https://token-number-9.example/",
	    "https://token-number-9.example/");
	driver_free_former(&driver);
	redact_free(&driver.redactor);
	secret_memory_free(&driver.redacted);
}

static void
what_leaves_has_the_whole_address(void **state)
{
	static const struct transport_header own = { STR("Host"), STR("x") };
	struct exchange x = { .url = STR("https://api.example/a?b=REDACTED"),
		.host = STR("api.example"), .tls = true, .headers = &own,
		.headers_n = 1 };
	struct arena a = ARENA_INIT;

	(void)state;
	slot->url = STR("https://api.example/a?b=canary-1 \xc3\xa9#f");
	slot->hides_url = true;
	assert_true(driver_sign(&slot->sent, &x, &a));
	assert_true(str_eq(x.url, STR("https://api.example/a?b=canary-1%20"
	    "%C3%A9")));
	slot->call.auth = CONNECTOR_QUERY;
	slot->call.secret_name = "key";
	slot->url = STR("https://api.example/a?b=canary-1&key=REDACTED");
	assert_true(driver_sign(&slot->sent, &x, &a));
	assert_true(str_eq(x.url, STR("https://api.example/a?b=canary-1&key="
	    "canary")));
	/* In the clear, and to a stranger, nothing leaves. */
	x.tls = false;
	assert_false(driver_sign(&slot->sent, &x, &a));
	slot->hides_url = false;
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(to_the_connector_s_hosts),
		WITH(to_no_other_host),
		WITH(an_anonymous_call_has_none),
		WITH(former_tokens_are_cut_out_of_addresses),
		WITH(what_leaves_has_the_whole_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
