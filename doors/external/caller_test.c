/*
 * Requests, answers, addresses and certificates.
 */
#include "doors/external/caller_testing.h"

#include <unistd.h>

#include "os/file.h"
#include "wire/http.h"

/* ---- Requests -------------------------------------------------------- */

static void
sends_fields_and_body(void **state)
{
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	know_server("http", "127.0.0.1", "");
	prepare_call(&m, "acme", "ok");
	m.call.key = STR("t1f:7");
	start_call(&m);
	wait_for_calls();
	assert_end(&m, DONE);
	assert_int_equal(m.call.status, 200);
	assert_string_equal(m.reply,
	    "{\"success\":true,\"payload\":{\"count\":2}}");
	assert_false(m.call.reply_cut);
	assert_string_equal(m.call.detail, "");
	assert_string_equal(m.retry_after, "");
	assert_string_equal(seen.key, "t1f:7");
	assert_string_equal(seen.type, "application/x-ndjson; charset=utf-8");
	assert_string_equal(seen.coding, "");
	assert_string_equal(seen.accept, "identity");
	assert_string_equal(seen.token, "Bearer " SECRET);
	assert_string_equal(seen.agent, "argiope/" ARGIOPE_VERSION);
	assert_true(str_eq(buf_str(&seen.body), STR(BODY)));

	/* Without key, type and body; the back end has its own User-Agent. */
	prepare_call(&m, "other", "ok");
	m.call.content_type = m.call.body = STR("");
	start_call(&m);
	wait_for_calls();
	assert_int_equal(m.call.status, 200);
	assert_string_equal(seen.key, "");
	assert_string_equal(seen.type, "");
	assert_string_equal(seen.token, "");
	assert_string_equal(seen.agent, "mine");
	assert_int_equal(seen.body.n, 0);
	end_caller();
	close_server();
}

static void
compresses_bodies(void **state)
{
	FREED(buf_free) struct buf body = BUF_INIT, plain = BUF_INIT;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct http_head h;
	struct made_call m;

	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_printf(&body, "%s{\"id\":%d}", i == 0 ? "" : "\n", i);
	open_server(false);
	begin_caller(NULL);
	know_server("http", "127.0.0.1", "");
	prepare_call(&m, "acme", "ok");
	m.call.gzip = true;
	m.call.body = buf_str(&body);
	start_call(&m);
	wait_for_calls();
	assert_int_equal(m.call.status, 200);
	assert_string_equal(seen.coding, "gzip");
	assert_true(seen.body.n < body.n / 2);
	assert_int_equal(http_parse_head(STR("HTTP/1.1 200 OK\r\n"
	    "Content-Encoding: gzip\r\n\r\n"), false, HTTP_LIMITS_DEFAULT, &a,
	    &h, NULL), OK);
	assert_int_equal(http_decode_body(&h, buf_str(&seen.body),
	    HTTP_DECODE_LIMITS_DEFAULT, &plain), HTTP_FINE);
	assert_true(str_eq(buf_str(&plain), buf_str(&body)));
	end_caller();
	close_server();
}

/* ---- Answers --------------------------------------------------------- */

static void
limits_answers(void **state)
{
	static const struct {
		const char *path;
		size_t n;
		bool is_cut;
	} cases[] = {
		{ "big/4096", 4096, false },
		{ "big/4097", 4096, true },
		{ "big/3000000", 4096, true },
		{ "big/0", 0, false },
		{ "chunks/4096", 4096, false },
		{ "chunks/4097", 4096, true },
	};
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	know_server("http", "127.0.0.1", "");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		make_call(&m, cases[i].path);
		assert_end(&m, DONE);
		assert_int_equal(m.call.status, 200);
		assert_int_equal(m.reply_n <= cases[i].n, 1);
		assert_int_equal(m.call.reply_cut, cases[i].is_cut);
		if (!cases[i].is_cut)
			assert_int_equal(m.reply_n, cases[i].n);
	}
	end_caller();
	close_server();
}

static void
counts_answers(void **state)
{
	struct caller_look look;
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	know_server("http", "127.0.0.1", "");
	assert_false(caller_look_at(caller, STR("acme"), &look));
	assert_int_equal(look.calls, 0);
	make_call(&m, "ok");
	assert_true(caller_look_at(caller, STR("acme"), &look));
	assert_int_equal(look.calls, 1);
	assert_int_equal(look.failures, 0);
	assert_int_equal(look.failed_at.us, 0);
	make_call(&m, "busy");
	assert_end(&m, DONE);
	assert_int_equal(m.call.status, 503);
	assert_string_equal(m.retry_after, "120");
	assert_true(caller_look_at(caller, STR("acme"), &look));
	assert_int_equal(look.calls, 2);
	assert_int_equal(look.failures, 1);
	assert_string_equal(look.failure, "HTTP 503");
	assert_true(look.failed_at.us > 0);
	assert_int_equal(look.under_way + look.waiting, 0);
	assert_false(caller_look_at(caller, STR("other"), &look));
	end_caller();
	close_server();
}

static void
follows_no_redirect(void **state)
{
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	know_server("http", "127.0.0.1", "");
	make_call(&m, "redirect");
	assert_end(&m, DONE);
	assert_int_equal(m.call.status, 307);
	assert_string_equal(m.reply, "over there");
	assert_int_equal(atomic_load(&requests), 1);
	end_caller();
	close_server();
}

static void
notices_lost_answers(void **state)
{
	struct caller_look look;
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(NULL);
	know_server("http", "127.0.0.1", "");
	/* There is a kept connection, on which a request may be repeated. */
	make_call(&m, "ok");
	make_call(&m, "abort");
	assert_end(&m, RESET);
	assert_true(m.call.detail[0] != '\0');
	/* This one has no key. */
	assert_int_equal(atomic_load(&requests), 2);
	make_call(&m, "ok");
	prepare_call(&m, "acme", "abort");
	m.call.key = STR("t1f:8");
	start_call(&m);
	wait_for_calls();
	assert_end(&m, RESET);
	assert_true(caller_look_at(caller, STR("acme"), &look));
	assert_int_equal(look.failures, 2);
	assert_true(strncmp(look.failure, "reset: ", 7) == 0);
	end_caller();
	close_server();
}

static void
gives_up_after_call_ms(void **state)
{
	const struct caller_options o = { .call_ms = 200 };
	struct made_call m;

	(void)state;
	open_server(false);
	begin_caller(&o);
	know_server("http", "127.0.0.1", "");
	struct mono from = clock_mono();
	make_call(&m, "slow/1500/a");
	assert_end(&m, TIMEOUT);
	int64_t ms = mono_ns_between(from, clock_mono()) / NS_PER_MS;
	assert_true(ms >= 190 && ms < 1500);
	end_caller();
	close_server();
}

static void
finds_no_server(void **state)
{
	struct made_call m;

	(void)state;
	begin_caller(NULL);
	/* Nothing listens at port 1. */
	know_backends("http://127.0.0.1:1/", "");
	make_call(&m, "ok");
	assert_end(&m, CONNECT);
	/* A label of 64 letters is no name. */
	know_backends("https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaa.test/", "");
	make_call(&m, "ok");
	assert_end(&m, DNS);
	prepare_call(&m, "acme", "ok");
	m.call.url = STR("mailto:a");
	start_call(&m);
	wait_for_calls();
	assert_end(&m, PROTOCOL);
	end_caller();
}

/* ---- Addresses and certificates -------------------------------------- */

static void
blocks_private_addresses(void **state)
{
	const struct caller_options o = { .call_ms = 5000,
	    .fixed_names = "be.test=127.0.0.1,meta.test=169.254.169.254" };
	struct web_counts counts;
	struct made_call m;

	(void)state;
	open_server(true);
	begin_caller(&o);
	know_server("https", "be.test", "");
	make_call(&m, "ok");
	assert_end(&m, BLOCKED);
	assert_non_null(strstr(m.call.detail, "127.0.0.1"));
	assert_non_null(strstr(m.call.detail, "loopback"));
	know_backends("https://meta.test/", "");
	make_call(&m, "ok");
	assert_end(&m, BLOCKED);
	assert_non_null(strstr(m.call.detail, "link-local"));
	end_caller();
	/* Nothing has been connected. */
	web_counts(server, &counts);
	assert_int_equal(counts.accepted, 0);
	close_server();
}

static void
verifies_certificates(void **state)
{
	char more[200];
	struct made_call m;

	(void)state;
	open_server(true);
	begin_caller(NULL);
	know_server("https", "127.0.0.1", ",\"ca\":\"be.pem\"");
	make_call(&m, "ok");
	assert_end(&m, DONE);
	assert_int_equal(m.call.status, 200);
	assert_string_equal(seen.token, "Bearer " SECRET);
	assert_int_equal(atomic_load(&requests), 1);
	/* The system's certificates, and those of another back end. */
	know_server("https", "127.0.0.1", "");
	make_call(&m, "ok");
	assert_end(&m, TLS);
	snprintf(more, sizeof(more), ",\"ca\":\"%s\"", other_path);
	know_server("https", "127.0.0.1", more);
	make_call(&m, "ok");
	assert_end(&m, TLS);
	/* The certificate is for the address, not for the name. */
	know_server("https", "localhost", ",\"ca\":\"be.pem\"");
	make_call(&m, "ok");
	assert_end(&m, TLS);
	assert_int_equal(atomic_load(&requests), 1);
	end_caller();
	close_server();
}

static void
copy_file(const char *from, const char *to)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	assert_int_equal(file_load(from, 1 << 20, &b, NULL), OK);
	assert_int_equal(file_store(to, buf_str(&b), NULL), OK);
}

static void
notices_new_certificates(void **state)
{
	char path[128];
	struct made_call m;

	(void)state;
	open_server(true);
	begin_caller(NULL);
	snprintf(path, sizeof(path), "%s/now.pem", folder);
	copy_file(other_path, path);
	know_server("https", "127.0.0.1", ",\"ca\":\"now.pem\"");
	make_call(&m, "ok");
	assert_end(&m, TLS);
	copy_file(chain_path, path);
	know_server("https", "127.0.0.1", ",\"ca\":\"now.pem\"");
	make_call(&m, "ok");
	assert_end(&m, DONE);
	/* The connection that is kept was made with other certificates. */
	copy_file(other_path, path);
	know_server("https", "127.0.0.1", ",\"ca\":\"now.pem\"");
	make_call(&m, "ok");
	assert_end(&m, TLS);
	unlink(path);
	end_caller();
	close_server();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_fields_and_body),
		cmocka_unit_test(compresses_bodies),
		cmocka_unit_test(limits_answers),
		cmocka_unit_test(counts_answers),
		cmocka_unit_test(follows_no_redirect),
		cmocka_unit_test(notices_lost_answers),
		cmocka_unit_test(gives_up_after_call_ms),
		cmocka_unit_test(finds_no_server),
		cmocka_unit_test(blocks_private_addresses),
		cmocka_unit_test(verifies_certificates),
		cmocka_unit_test(notices_new_certificates),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
