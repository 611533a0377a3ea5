/*
 * Calls to OAuth providers: their fields, which addresses they may reach, and
 * how many there are at once.
 */
#include "doors/external/caller_testing.h"

#define TEXT(literal) { literal, sizeof(literal) - 1 }
static const struct transport_header fields[] = {
	{ TEXT("Authorization"), TEXT("Basic " SECRET) },
	{ TEXT("Content-Type"),
	    TEXT("application/x-www-form-urlencoded") },
};
static const struct caller_provider declared = { fields, ARRAY_LEN(fields),
	true };
static const struct caller_provider filled = { fields, ARRAY_LEN(fields),
	false };

/* A call to the server, which no back end names. */
static void
prepare_provider(struct made_call *m, const struct caller_provider *p,
    const char *scheme, const char *host, const char *path)
{
	know_backends("https://be.test/", "");
	prepare_call(m, "acme", "");
	snprintf(m->url, sizeof(m->url), "%s://%s:%u/%s", scheme, host,
	    web_port(server), path);
	m->call.set = NULL;
	m->call.backend = NULL;
	m->call.provider = p;
	m->call.url = str_of(m->url);
	m->call.content_type = STR("");
}

static void
call_provider(struct made_call *m, const struct caller_provider *p,
    const char *scheme, const char *host, const char *path)
{
	prepare_provider(m, p, scheme, host, path);
	start_call(m);
	wait_for_calls();
}

static void
sends_its_own_fields(void **state)
{
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	call_provider(&m, &declared, "http", "127.0.0.1", "ok");
	assert_end(&m, DONE);
	assert_int_equal(m.call.status, 200);
	assert_string_equal(seen.token, "Basic " SECRET);
	assert_string_equal(seen.type, "application/x-www-form-urlencoded");
	assert_string_equal(seen.agent, "argiope/" ARGIOPE_VERSION);
	call_provider(&m, &declared, "http", "127.0.0.1", "redirect");
	assert_int_equal(m.call.status, 307);
	assert_int_equal(atomic_load(&requests), 2);
	end_caller();
	close_server();
}

static void
filled_hosts_must_be_public(void **state)
{
	const struct caller_options o = { .call_ms = 5000,
	    .fixed_names = "a.test=127.0.0.1,b.test=10.1.2.3,"
	    "c.test=169.254.169.254" };
	static const char *const hosts[] = { "a.test", "b.test", "c.test" };
	struct web_counts counts;
	struct made_call m;

	(void)state;
	open_server(true);
	begin_caller(&o);
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		call_provider(&m, &filled, "https", hosts[i], "ok");
		assert_end(&m, BLOCKED);
		call_provider(&m, &filled, "http", hosts[i], "ok");
		assert_end(&m, BLOCKED);
	}
	call_provider(&m, &declared, "https", "c.test", "ok");
	assert_end(&m, BLOCKED);
	assert_non_null(strstr(m.call.detail, "link-local"));
	end_caller();
	web_counts(server, &counts);
	assert_int_equal(counts.accepted, 0);
	close_server();
}

static void
addresses_of_providers(void **state)
{
	static const struct {
		const char *ip;
		/* With TLS, without; of a declared host, of a filled one. */
		bool declared_tls, declared_plain, filled_tls;
	} cases[] = {
		{ "93.184.216.34", true, false, true },
		{ "2606:4700::1", true, false, true },
		{ "127.0.0.1", true, true, false },
		{ "::1", true, true, false },
		{ "10.0.0.1", true, false, false },
		{ "192.168.1.1", true, false, false },
		{ "fd00::1", true, false, false },
		{ "169.254.169.254", false, false, false },
		{ "0.0.0.0", false, false, false },
		{ "100.64.0.1", false, false, false },
		{ "224.0.0.1", false, false, false },
		{ "::ffff:127.0.0.1", true, true, false },
		/* They leave the machine by a NAT64 gateway. */
		{ "64:ff9b::7f00:1", false, false, false },
		{ "64:ff9b::808:808", true, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ip ip;
		assert_true(ip_from_text(str_of(cases[i].ip), &ip));
		assert_int_equal(caller_provider_allows(&declared, true, &ip),
		    cases[i].declared_tls);
		assert_int_equal(caller_provider_allows(&declared, false,
		    &ip), cases[i].declared_plain);
		assert_int_equal(caller_provider_allows(&filled, true, &ip),
		    cases[i].filled_tls);
		assert_false(caller_provider_allows(&filled, false, &ip));
	}
}

static void
verifies_its_own_certificates(void **state)
{
	struct caller_options o = { .call_ms = 5000,
	    .provider_ca = chain_path };
	struct made_call m;

	(void)state;
	open_server(true);
	begin_caller(&o);
	call_provider(&m, &declared, "https", "127.0.0.1", "ok");
	assert_end(&m, DONE);
	end_caller();
	o.provider_ca = other_path;
	begin_caller(&o);
	call_provider(&m, &declared, "https", "127.0.0.1", "ok");
	assert_end(&m, TLS);
	end_caller();
	begin_caller(NULL);
	call_provider(&m, &declared, "https", "127.0.0.1", "ok");
	assert_end(&m, TLS);
	end_caller();
	close_server();
}

static void
limits_calls_of_a_host(void **state)
{
	struct made_call calls[3 * CALLER_PROVIDER_CALLS_MAX];
	struct made_call other;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		prepare_provider(&calls[i], &declared, "http", "127.0.0.1",
		    "slow/100/a");
		start_call(&calls[i]);
	}
	/* Another host does not wait for the first one. */
	prepare_provider(&other, &declared, "http", "localhost", "ok");
	start_call(&other);
	wait_for_calls();
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		assert_int_equal(calls[i].call.status, 200);
	assert_int_equal(other.call.status, 200);
	assert_int_equal(atomic_load(&held_most), CALLER_PROVIDER_CALLS_MAX);
	end_caller();
	close_server();
}

static void
malformed_urls_fail(void **state)
{
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	prepare_provider(&m, &declared, "http", "127.0.0.1", "ok");
	m.call.url = STR("nonsense");
	start_call(&m);
	wait_for_calls();
	assert_end(&m, PROTOCOL);
	/* Two at once, one cut. */
	struct made_call cut;
	prepare_provider(&cut, &declared, "http", "127.0.0.1", "slow/600/a");
	start_call(&cut);
	caller_cancel(caller, &cut.call);
	wait_for_calls();
	assert_end(&cut, STOPPED);
	end_caller();
	close_server();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_its_own_fields),
		cmocka_unit_test(filled_hosts_must_be_public),
		cmocka_unit_test(addresses_of_providers),
		cmocka_unit_test(verifies_its_own_certificates),
		cmocka_unit_test(limits_calls_of_a_host),
		cmocka_unit_test(malformed_urls_fail),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
