/*
 * Every behaviour of tests/hostile, met by the transport: each ends within the
 * limits, with the right word.  The first argument is the server's path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_testing.h"

#define BODY_MAX 1048576
#define TOTAL_MS 4000
/* For all exchanges side by side; sanitizers are slow. */
#define TOGETHER_MS (SANITIZED ? 3 * TOTAL_MS : TOTAL_MS)

extern char **environ;
static const char *hostile_path;
static pid_t hostile;
static uint16_t main_port, tls_plain_port;
static struct loop *loop;
static struct transport *transport;

struct expectation {
	const char *path;
	enum transport_end end;
	int status;                /* 0: no head is delivered */
	size_t body_min, body_max; /* bytes delivered */
};

static const struct expectation expectations[] = {
	{ "page", TRANSPORT_DONE, 200, 10, 200 },
	{ "endless-body", TRANSPORT_STOPPED, 200, BODY_MAX, 2 * BODY_MAX },
	{ "endless-chunked", TRANSPORT_STOPPED, 200, BODY_MAX, 2 * BODY_MAX },
	{ "drip", TRANSPORT_TIMEOUT, 200, 1, 5 },
	{ "silence", TRANSPORT_TIMEOUT, 0, 0, 0 },
	{ "slow-head", TRANSPORT_TIMEOUT, 0, 0, 0 },
	{ "endless-head", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "big-header", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "cookie-flood", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "flood-1xx", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "switch-101", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "garbage", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "http09", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "tls-plain", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "redirect-self", TRANSPORT_DONE, 302, 1, 100 },
	{ "redirect-two/a", TRANSPORT_DONE, 302, 1, 100 },
	{ "redirect-chain/7", TRANSPORT_DONE, 302, 1, 100 },
	{ "redirect-chain/100", TRANSPORT_DONE, 200, 1, 100 },
	{ "redirect-file", TRANSPORT_DONE, 302, 1, 100 },
	{ "redirect-private", TRANSPORT_DONE, 302, 1, 100 },
	{ "redirect-long", TRANSPORT_DONE, 302, 1, 100 },
	/* Nothing is decoded here: what comes is what is counted. */
	{ "gzip-bomb", TRANSPORT_STOPPED, 200, BODY_MAX, 2 * BODY_MAX },
	{ "gzip2-bomb", TRANSPORT_DONE, 200, 10000, 100000 },
	{ "br-bomb", TRANSPORT_DONE, 200, 10000, 100000 },
	{ "zstd-bomb", TRANSPORT_DONE, 200, 100000, 500000 },
	{ "robots-10mb", TRANSPORT_STOPPED, 200, BODY_MAX, 2 * BODY_MAX },
	{ "nested", TRANSPORT_DONE, 200, 250000, 250000 },
	{ "attributes", TRANSPORT_DONE, 200, 200000, 500000 },
	{ "links", TRANSPORT_STOPPED, 200, BODY_MAX, 2 * BODY_MAX },
	{ "calendar/20000", TRANSPORT_DONE, 200, 500, 5000 },
	{ "type-lie/html", TRANSPORT_DONE, 200, 10, 100 },
	{ "type-lie/png", TRANSPORT_DONE, 200, 10, 100 },
	{ "retry-429", TRANSPORT_DONE, 429, 1, 100 },
	{ "retry-503", TRANSPORT_DONE, 503, 1, 100 },
	{ "length-long", TRANSPORT_RESET, 200, 20, 20 },
	{ "length-short", TRANSPORT_DONE, 200, 10, 10 },
	{ "length-twice", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "length-negative", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "length-plus", TRANSPORT_PROTOCOL, 0, 0, 0 },
	{ "chunk-bad", TRANSPORT_PROTOCOL, 200, 26, 26 },
	{ "chunk-hex", TRANSPORT_PROTOCOL, 200, 17, 17 },
	{ "chunk-huge", TRANSPORT_PROTOCOL, 200, 26, 26 },
	{ "chunk-cut", TRANSPORT_RESET, 200, 20, 20 },
	{ "chunk-more", TRANSPORT_DONE, 200, 15, 15 },
	{ "endless-trailers", TRANSPORT_PROTOCOL, 200, 1, 200000 },
	{ "reset-head", TRANSPORT_RESET, 0, 0, 0 },
	{ "reset-body", TRANSPORT_RESET, 200, 0, 12 },
	{ "cut-head", TRANSPORT_RESET, 0, 0, 0 },
};

static const struct expectation *
find(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(expectations); i++)
		if (strcmp(expectations[i].path, path) == 0)
			return &expectations[i];
	return NULL;
}

static void
open_run(struct test_run *r, bool tls, const char *host, uint16_t port,
    const char *path)
{
	test_run_open(r, transport, tls, host, port, path);
	r->body_max = BODY_MAX;
	r->discard = true;
	r->x.total_ms = TOTAL_MS;
	r->x.speed_bytes_min = 100;
	r->x.speed_s = 2;
}

static void
check(const struct expectation *e, const char *host, uint16_t port,
    const char *path)
{
	struct test_run r;
	struct mono begun = clock_mono();

	open_run(&r, false, host, port, path);
	test_run_whole(loop, &r);
	int64_t ms = mono_ns_between(begun, clock_mono()) / NS_PER_MS;
	if (r.end != e->end || r.status != e->status ||
	    r.body_n < e->body_min || r.body_n > e->body_max)
		fail_msg("%s%s: ended with %s (%s), status %d, %zu bytes",
		    host, path, transport_end_word(r.end), r.detail, r.status,
		    r.body_n);
	assert_in_range(ms, 0, TOTAL_MS + 1500);
	assert_int_equal(r.done_n, 1);
	if (e->end != TRANSPORT_DONE)
		assert_true(r.detail[0] != '\0');
	test_run_free(&r);
}

/* Twice: what a server did must not spoil the next exchange. */
static void
test_by_path(void **state)
{
	const struct expectation *e = *state;
	char path[64];

	snprintf(path, sizeof(path), "/%s", e->path);
	check(e, "127.0.0.1", main_port, path);
	if (e->end != TRANSPORT_TIMEOUT)
		check(e, "127.0.0.1", main_port, path);
	check(find("page"), "127.0.0.1", main_port, "/page");
}

static void
test_by_host(void **state)
{
	(void)state;
	check(find("garbage"), "garbage.test", main_port, "/robots.txt");
	check(find("robots-10mb"), "robots-10mb.test", main_port,
	    "/robots.txt");
	check(find("page"), "page", main_port, "/drip");
}

static void
test_tls_port(void **state)
{
	struct test_run r;

	(void)state;
	open_run(&r, true, "127.0.0.1", tls_plain_port, "/");
	test_run_whole(loop, &r);
	assert_int_equal(r.end, TRANSPORT_TLS);
	assert_int_equal(r.heads_n, 0);
	test_run_free(&r);
}

/* The kept connection is reset: the request goes again on a new one. */
static void
test_reset_second(void **state)
{
	struct test_run r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		open_run(&r, false, "reset.test", main_port, "/reset-second");
		test_run_whole(loop, &r);
		if (r.end != TRANSPORT_DONE)
			fail_msg("ended with %s (%s)",
			    transport_end_word(r.end), r.detail);
		assert_int_equal(r.status, 200);
		assert_false(r.x.reused);
		test_run_free(&r);
	}
}

/* Nothing behind the length or the last chunk becomes an answer. */
static void
test_not_forged(void **state)
{
	static const char *const paths[] = { "/length-short", "/chunk-more" };
	struct test_run r;

	(void)state;
	for (int i = 0; i < 6; i++) {
		open_run(&r, false, "forged.test", main_port,
		    i % 2 ? "/page" : paths[i % 4 / 2]);
		r.discard = false;
		test_run_whole(loop, &r);
		assert_int_equal(r.end, TRANSPORT_DONE);
		assert_true(str_find(buf_str(&r.body), STR("forged")) ==
		    r.body.n);
		assert_true(str_find(buf_str(&r.head), STR("Server: hostile"))
		    < r.head.n);
		test_run_free(&r);
	}
}

/* All of them at once: nobody waits for anybody. */
static void
test_together(void **state)
{
	static struct test_run runs[ARRAY_LEN(expectations)];
	struct test_run *list[ARRAY_LEN(expectations)];
	struct mono begun = clock_mono();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(expectations); i++) {
		char path[64], host[20];
		snprintf(path, sizeof(path), "/%s", expectations[i].path);
		snprintf(host, sizeof(host), "h%zu.test", i);
		open_run(&runs[i], false, host, main_port, path);
		runs[i].x.total_ms = TOGETHER_MS;
		list[i] = &runs[i];
		test_run_start(&runs[i]);
	}
	test_runs_finish(loop, list, ARRAY_LEN(list));
	assert_in_range(mono_ns_between(begun, clock_mono()) / NS_PER_MS, 0,
	    TOGETHER_MS + 2000);
	for (size_t i = 0; i < ARRAY_LEN(expectations); i++) {
		if (runs[i].end != expectations[i].end)
			fail_msg("%s: ended with %s (%s)", runs[i].url,
			    transport_end_word(runs[i].end), runs[i].detail);
		test_run_free(&runs[i]);
	}
}

static void
read_ports(FILE *f)
{
	char line[100];

	while (fgets(line, sizeof(line), f) != NULL &&
	    strncmp(line, "ready", 5) != 0) {
		struct str rest = str_trim(str_of(line)), part;
		uint64_t port;
		assert_true(str_split(&rest, ' ', &part));
		assert_true(str_split(&rest, ' ', &part));
		assert_true(str_to_u64(part, &port));
		if (rest.n == 0)
			main_port = (uint16_t)port;
		else if (str_eq(rest, STR("tls-plain")))
			tls_plain_port = (uint16_t)port;
	}
	assert_true(main_port != 0 && tls_plain_port != 0);
}

static int
start_hostile(void **state)
{
	char *args[] = { (char *)(uintptr_t)hostile_path, "--ports",
	    "--seconds", "120", NULL };
	posix_spawn_file_actions_t actions;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	assert_int_equal(posix_spawn(&hostile, hostile_path, &actions, NULL,
	    args, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	FILE *f = fdopen(fds[0], "r");
	read_ports(f);
	fclose(f);
	loop = loop_new("test");
	transport = transport_new(loop, &(struct transport_options){
	    .connections_max = 100, .host_connections_max = 8,
	    .idle_s_max = 60 });
	return 0;
}

static int
stop_hostile(void **state)
{
	(void)state;
	transport_free(&transport);
	loop_free(&loop);
	kill(hostile, SIGTERM);
	waitpid(hostile, NULL, 0);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct CMUnitTest tests[ARRAY_LEN(expectations) + 8];
	const struct CMUnitTest others[] = {
		cmocka_unit_test(test_by_host),
		cmocka_unit_test(test_tls_port),
		cmocka_unit_test(test_reset_second),
		cmocka_unit_test(test_not_forged),
		cmocka_unit_test(test_together),
	};
	size_t n = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: transport_hostile_test HOSTILE\n");
		return 77;
	}
	hostile_path = argv[1];
	for (size_t i = 0; i < ARRAY_LEN(expectations); i++)
		tests[n++] = (struct CMUnitTest){ expectations[i].path,
		    test_by_path, NULL, NULL,
		    (void *)(uintptr_t)&expectations[i] };
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		tests[n++] = others[i];
	return _cmocka_run_group_tests("hostile", tests, n, start_hostile,
	    stop_hostile);
}
