/*
 * Sessions of TLS: how many are kept, for how long and for whom; and what the
 * transport resumes, as its server sees it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_sessions.h"
#include "os/transport_testing.h"
#include "os/transport_tls_testing.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

/* Large: not for the stack. */
static struct test_server server;
static SSL_CTX *tls;
static char ca_path[64];
static atomic_int handshakes, resumed;

/* ---- A clock that is moved ---------------------------------------------- */

static atomic_llong later_ns;

static struct mono
moved_mono(void)
{
	return mono_add_ns(clock_real.mono(), atomic_load(&later_ns));
}

static int
open_all(void **state)
{
	struct clock_table clock = clock_real;

	(void)state;
	static struct clock_table moved;
	moved = clock;
	moved.mono = moved_mono;
	clock_use(&moved);
	signal(SIGPIPE, SIG_IGN);
	tls = test_tls_server(ca_path);
	return 0;
}

static int
close_all(void **state)
{
	(void)state;
	SSL_CTX_free(tls);
	unlink(ca_path);
	clock_use(&clock_real);
	return 0;
}

/* ---- Sessions without a socket ------------------------------------------ */

static int
gather_session(SSL *ssl, SSL_SESSION *session)
{
	SSL_SESSION **out = SSL_get_app_data(ssl);

	SSL_SESSION_free(*out);
	*out = session;
	return 1;
}

/* One that a server of this version has given, the last of its. */
static SSL_SESSION *
make_session(int version)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *client = SSL_new(ctx), *peer = SSL_new(tls);
	SSL_SESSION *got = NULL;
	BIO *a, *b;
	char c;

	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT |
	    SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, gather_session);
	SSL_set_app_data(client, &got);
	SSL_set_max_proto_version(client, version);
	assert_int_equal(BIO_new_bio_pair(&a, 0, &b, 0), 1);
	SSL_set_bio(client, a, a);
	SSL_set_bio(peer, b, b);
	SSL_set_connect_state(client);
	SSL_set_accept_state(peer);
	for (int i = 0; i < 4; i++) {
		(void)SSL_do_handshake(client);
		(void)SSL_do_handshake(peer);
	}
	(void)SSL_read(client, &c, 1);
	assert_non_null(got);
	SSL_shutdown(client);
	SSL_free(client);
	SSL_free(peer);
	SSL_CTX_free(ctx);
	return got;
}

static struct str
numbered_key(char text[static 32], unsigned n)
{
	snprintf(text, 32, "key %u", n);
	return str_of(text);
}

static bool
can_resume(struct transport_sessions *t, struct str key)
{
	SSL_SESSION *s = transport_sessions_take(t, key);

	SSL_SESSION_free(s);
	return s != NULL;
}

static void
test_ticket_is_used_once(void **state)
{
	struct transport_sessions *t = transport_sessions_new();
	SSL_SESSION *s = make_session(TLS1_3_VERSION);

	(void)state;
	for (unsigned n = 0; n <= TRANSPORT_SESSIONS_HOST_MAX; n++)
		transport_sessions_put(t, STR("a"), s);
	assert_int_equal(transport_sessions_count(t),
	    TRANSPORT_SESSIONS_HOST_MAX);
	assert_false(can_resume(t, STR("b")));
	for (unsigned n = 0; n < TRANSPORT_SESSIONS_HOST_MAX; n++)
		assert_true(can_resume(t, STR("a")));
	assert_false(can_resume(t, STR("a")));
	assert_int_equal(transport_sessions_count(t), 0);
	SSL_SESSION_free(s);
	transport_sessions_free(&t);
}

/* It would cost more to read than the handshake that it spares. */
static void
test_certificate_is_left_out(void **state)
{
	(void)state;
	for (int v = TLS1_2_VERSION; v <= TLS1_3_VERSION; v++) {
		struct transport_sessions *t = transport_sessions_new();
		SSL_SESSION *s = make_session(v);
		transport_sessions_put(t, STR("a"), s);
		SSL_SESSION *got = transport_sessions_take(t, STR("a"));
		assert_non_null(SSL_SESSION_get0_peer(s));
		assert_non_null(got);
		assert_null(SSL_SESSION_get0_peer(got));
		assert_int_equal(SSL_SESSION_get_protocol_version(got), v);
		SSL_SESSION_free(s);
		SSL_SESSION_free(got);
		transport_sessions_free(&t);
	}
}

static void
test_session_of_tls_1_2(void **state)
{
	struct transport_sessions *t = transport_sessions_new();
	SSL_SESSION *old = make_session(TLS1_2_VERSION);
	SSL_SESSION *new = make_session(TLS1_3_VERSION);

	(void)state;
	/* Used again and again; the next one takes its place, of either. */
	for (int i = 0; i < 3; i++) {
		transport_sessions_put(t, STR("a"), old);
		assert_int_equal(transport_sessions_count(t), 1);
		assert_true(can_resume(t, STR("a")));
		assert_true(can_resume(t, STR("a")));
	}
	transport_sessions_put(t, STR("a"), new);
	assert_int_equal(transport_sessions_count(t), 1);
	transport_sessions_put(t, STR("a"), new);
	transport_sessions_put(t, STR("a"), old);
	assert_int_equal(transport_sessions_count(t), 1);
	assert_true(can_resume(t, STR("a")) && can_resume(t, STR("a")));
	transport_sessions_forget(t, STR("a"));
	assert_false(can_resume(t, STR("a")));
	SSL_SESSION_free(old);
	SSL_SESSION_free(new);
	transport_sessions_free(&t);
}

/* The one that came first is dropped, whoever's it is. */
static void
test_limit(void **state)
{
	struct transport_sessions *t = transport_sessions_new();
	SSL_SESSION *s = make_session(TLS1_3_VERSION);
	char text[32];

	(void)state;
	for (unsigned n = 0; n < TRANSPORT_SESSIONS_MAX; n++)
		transport_sessions_put(t, numbered_key(text, n), s);
	assert_int_equal(transport_sessions_count(t), TRANSPORT_SESSIONS_MAX);
	transport_sessions_put(t, STR("one more"), s);
	assert_int_equal(transport_sessions_count(t), TRANSPORT_SESSIONS_MAX);
	assert_false(can_resume(t, numbered_key(text, 0)));
	assert_true(can_resume(t, numbered_key(text, 1)));
	assert_true(can_resume(t, numbered_key(text,
	    TRANSPORT_SESSIONS_MAX - 1)));
	assert_true(can_resume(t, STR("one more")));
	transport_sessions_clear(t);
	assert_int_equal(transport_sessions_count(t), 0);
	SSL_SESSION_free(s);
	transport_sessions_free(&t);
}

static void
pass_seconds(int64_t s)
{
	atomic_fetch_add(&later_ns, s * NS_PER_S);
}

static void
test_lifetime(void **state)
{
	static const int64_t server_s[] = { 1, 100, TRANSPORT_SESSION_S_MAX,
	    7 * TRANSPORT_SESSION_S_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(server_s); i++) {
		struct transport_sessions *t = transport_sessions_new();
		int64_t most = MIN(server_s[i], TRANSPORT_SESSION_S_MAX);
		SSL_CTX_set_timeout(tls, server_s[i]);
		SSL_SESSION *s = make_session(TLS1_3_VERSION);
		transport_sessions_put(t, STR("a"), s);
		transport_sessions_put(t, STR("a"), s);
		assert_int_equal(transport_sessions_count(t), 2);
		pass_seconds(most - 1);
		assert_true(can_resume(t, STR("a")));
		pass_seconds(1);
		assert_false(can_resume(t, STR("a")));
		assert_int_equal(transport_sessions_count(t), 0);
		SSL_SESSION_free(s);
		transport_sessions_free(&t);
	}
	SSL_CTX_set_timeout(tls, 300);
}

/* ---- The transport ------------------------------------------------------ */

enum { SHUT_DOWN, CUT, GARBAGE, KEEP };

/* One answer to a connection; `flag` says how it ends. */
static void
serve_once(struct test_server *s, int fd)
{
	SSL *ssl = SSL_new(tls);
	char c, last[4] = "";

	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) != 1) {
		SSL_free(ssl);
		return;
	}
	atomic_fetch_add(&handshakes, 1);
	atomic_fetch_add(&resumed, SSL_session_reused(ssl));
	while (SSL_read(ssl, &c, 1) == 1) {
		memmove(last, last + 1, 3);
		last[3] = c;
		if (memcmp(last, "\r\n\r\n", 4) != 0)
			continue;
		SSL_write(ssl, OK_HELLO, sizeof(OK_HELLO) - 1);
		if (s->flag != KEEP)
			break;
	}
	if (s->flag == GARBAGE)
		test_send(fd, "This is no record of TLS.");
	else if (s->flag == SHUT_DOWN)
		SSL_shutdown(ssl);
	/* Unread bytes would turn the end into a reset. */
	shutdown(fd, SHUT_WR);
	while (recv(fd, &c, 1, 0) > 0)
		;
	SSL_free(ssl);
}

struct fixture {
	struct loop *loop;
	struct transport *t;
};

static struct fixture
open_fixture(const char *ca_file, int flag)
{
	struct transport_options options = { .connections_max = 50,
	    .host_connections_max = 8, .idle_s_max = 60, .ca_file = ca_file };
	struct fixture f = { .loop = loop_new("test") };

	f.t = transport_new(f.loop, &options);
	assert_true(test_server_open(&server, NULL, serve_once));
	server.flag = flag;
	handshakes = resumed = 0;
	return f;
}

static void
close_fixture(struct fixture *f)
{
	transport_free(&f->t);
	loop_free(&f->loop);
	test_server_close(&server);
}

/* 0: a full handshake; 1: a resumed one. */
static int
ask_server(struct fixture *f, const char *host, bool verify)
{
	struct test_run r;
	int before = resumed;

	test_run_open(&r, f->t, true, host, server.port, "/");
	r.x.verify = verify;
	test_run_whole(f->loop, &r);
	if (r.end != TRANSPORT_DONE)
		fail_msg("ended with %s (%s)", transport_end_word(r.end),
		    r.detail);
	assert_int_equal(r.x.resumed, resumed - before);
	test_run_free(&r);
	/* The server's end. */
	test_loop_for(f->loop, 20);
	return resumed - before;
}

/* However a connection ends, if not by an error of TLS. */
static void
test_resumed(void **state)
{
	static const struct {
		int flag, resumed;
	} cases[] = { { SHUT_DOWN, 1 }, { CUT, 1 }, { GARBAGE, 0 } };

	(void)state;
	for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION;
	    version++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			SSL_CTX_set_max_proto_version(tls, version);
			struct fixture f = open_fixture(ca_path, cases[i].flag);
			assert_int_equal(ask_server(&f, "name.test", true), 0);
			for (int n = 0; n < 2; n++)
				assert_int_equal(ask_server(&f, "name.test",
				    true), cases[i].resumed);
			close_fixture(&f);
		}
}

/* A server of OpenSSL sends two tickets with a full handshake. */
static void
test_several_at_once(void **state)
{
	struct fixture f = open_fixture(ca_path, KEEP);
	struct test_run runs[4], *all[4];

	(void)state;
	for (int round = 0; round < 2; round++) {
		size_t n = round == 0 ? 1 : 4;
		for (size_t i = 0; i < n; i++) {
			all[i] = &runs[i];
			test_run_open(&runs[i], f.t, true, "name.test",
			    server.port, "/");
			/* On a connection of its own, each of them. */
			runs[i].x.upgrade = true;
			test_run_start(&runs[i]);
		}
		test_runs_finish(f.loop, all, n);
		for (size_t i = 0; i < n; i++)
			test_run_free(&runs[i]);
	}
	assert_int_equal(handshakes, 5);
	assert_int_equal(resumed, 2);
	close_fixture(&f);
}

/* A session made without verification is never resumed with verification. */
static void
test_other_trust(void **state)
{
	struct fixture f = open_fixture(ca_path, SHUT_DOWN);

	(void)state;
	assert_int_equal(ask_server(&f, "name.test", false), 0);
	assert_int_equal(ask_server(&f, "name.test", true), 0);
	assert_int_equal(ask_server(&f, "other.test", false), 0);
	assert_int_equal(ask_server(&f, "other.test", false), 1);
	assert_int_equal(ask_server(&f, "name.test", true), 1);
	assert_int_equal(ask_server(&f, "name.test", false), 1);
	/* The name is not looked at again: it is part of the key. */
	struct test_run r;
	test_run_open(&r, f.t, true, "other.test", server.port, "/");
	test_run_whole(f.loop, &r);
	assert_int_equal(r.end, TRANSPORT_TLS);
	test_run_free(&r);
	close_fixture(&f);
}

/* The certificates are read once a day, and trust that they gave ends. */
static void
test_next_day(void **state)
{
	(void)state;
	SSL_CTX_set_timeout(tls, 7 * 86400);
	struct fixture f = open_fixture(ca_path, SHUT_DOWN);
	assert_int_equal(ask_server(&f, "name.test", true), 0);
	assert_int_equal(ask_server(&f, "name.test", true), 1);
	pass_seconds(86401);
	assert_int_equal(ask_server(&f, "name.test", true), 0);
	assert_int_equal(ask_server(&f, "name.test", true), 1);
	close_fixture(&f);
	SSL_CTX_set_timeout(tls, 300);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticket_is_used_once),
		cmocka_unit_test(test_certificate_is_left_out),
		cmocka_unit_test(test_session_of_tls_1_2),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_lifetime),
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_other_trust),
		cmocka_unit_test(test_next_day),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
