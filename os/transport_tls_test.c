/*
 * TLS, HTTP/2 and proxies: servers that speak just enough of each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_testing.h"
#include "os/transport_tls_testing.h"

static struct test_server server;
static SSL_CTX *tls;
static char ca_path[64];
static atomic_int resumed, speaks_h2;
/* The first so many bytes of an answer at once, the rest later; 0: all. */
static atomic_int first_n;
/* So many answers' later parts have been written. */
static atomic_int rests_n;
static char seen_name[256];

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

struct fixture {
	struct loop *loop;
	struct transport *t;
};

static struct fixture
open_fixture(const char *ca_file)
{
	struct transport_options options = { .connections_max = 50,
	    .host_connections_max = 4, .idle_s_max = 60, .ca_file = ca_file,
	    .tls_1_2 = true };
	struct fixture f = { .loop = loop_new("test") };

	f.t = transport_new(f.loop, &options);
	return f;
}

static void
close_fixture(struct fixture *f)
{
	transport_free(&f->t);
	loop_free(&f->loop);
	test_server_close(&server);
}

static void
assert_str(struct str got, const char *expected)
{
	if (!str_eq(got, str_of(expected)))
		fail_msg("got \"%.*s\", expected \"%s\"", STR_FMT(got),
		    expected);
}

#define assert_end(run, word)                                                \
	do {                                                                 \
		if ((run)->end != TRANSPORT_##word)                          \
			fail_msg("ended with %s (%s), expected %s",          \
			    transport_end_word((run)->end), (run)->detail,   \
			    transport_end_word(TRANSPORT_##word));           \
	} while (0)

/* ---- a certificate ---- */

static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n,
    const unsigned char *in, unsigned in_n, void *arg)
{
	static const unsigned char h2[] = "\x02h2", h1[] = "\x08http/1.1";

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_n,
	    speaks_h2 ? h2 : h1, speaks_h2 ? 3 : 9, in, in_n) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	return SSL_TLSEXT_ERR_OK;
}

static int
open_tls(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	tls = test_tls_server(ca_path);
	SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
	return 0;
}

static int
close_tls(void **state)
{
	(void)state;
	SSL_CTX_free(tls);
	unlink(ca_path);
	return 0;
}

/* ---- servers ---- */

static SSL *
accept_tls(int fd)
{
	SSL *ssl = SSL_new(tls);
	const char *name;

	SSL_set_fd(ssl, fd);
	int accepted = SSL_accept(ssl);
	name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	snprintf(seen_name, sizeof(seen_name), "%s", name == NULL ? "" : name);
	if (accepted != 1) {
		SSL_free(ssl);
		return NULL;
	}
	resumed += SSL_session_reused(ssl);
	return ssl;
}

/* Answers each request; the last byte of a head is its mark. */
static void
write_answer(SSL *ssl, const char *text)
{
	int n = (int)strlen(text), now = first_n == 0 ? n : first_n;
	struct timespec pause = { .tv_nsec = 20000000 };

	SSL_write(ssl, text, now);
	if (now == n)
		return;
	nanosleep(&pause, NULL);
	SSL_write(ssl, text + now, n - now);
	test_wait_sent(SSL_get_fd(ssl));
	atomic_fetch_add(&rests_n, 1);
}

static void
answer_tls(struct test_server *s, int fd)
{
	SSL *ssl = accept_tls(fd);
	char c, last[4] = "";

	if (ssl == NULL)
		return;
	while (SSL_read(ssl, &c, 1) == 1) {
		if (s->got_n < sizeof(s->got))
			s->got[s->got_n++] = c;
		memmove(last, last + 1, 3);
		last[3] = c;
		if (memcmp(last, "\r\n\r\n", 4) == 0)
			write_answer(ssl, s->arg);
		/* flag 1: one answer to a connection. */
		if (s->flag == 1 && memcmp(last, "\r\n\r\n", 4) == 0)
			break;
	}
	SSL_shutdown(ssl);
	SSL_free(ssl);
}

static bool
read_tls(SSL *ssl, unsigned char *to, int n)
{
	for (int got = 0; got < n;) {
		int r = SSL_read(ssl, to + got, n - got);
		if (r <= 0)
			return false;
		got += r;
	}
	return true;
}

static void
write_frame(SSL *ssl, int type, int flags, uint32_t stream, const char *p,
    size_t n)
{
	unsigned char head[9] = { 0, (unsigned char)(n >> 8),
	    (unsigned char)n, (unsigned char)type, (unsigned char)flags,
	    (unsigned char)(stream >> 24), (unsigned char)(stream >> 16),
	    (unsigned char)(stream >> 8), (unsigned char)stream };

	SSL_write(ssl, head, 9);
	if (n > 0)
		SSL_write(ssl, p, (int)n);
}

/* RFC 9113 in small: each HEADERS frame is answered with 200 and a body. */
static void
answer_h2(struct test_server *s, int fd)
{
	/* 103, then :status 200, "x: y", "content-length: 5" (RFC 7541 §6). */
	static const char early[] = "\x08\x03" "103";
	static const char fields[] = "\x88\x00\x01x\x01y\x00\x0e"
	    "content-length\x01" "5";
	unsigned char head[24], payload[70000];
	SSL *ssl = accept_tls(fd);

	(void)s;
	if (ssl == NULL)
		return;
	if (!read_tls(ssl, head, 24))
		goto out;
	write_frame(ssl, 4, 0, 0, "", 0);
	while (read_tls(ssl, head, 9)) {
		size_t n = (size_t)head[0] << 16 | (size_t)head[1] << 8 |
		    head[2];
		uint32_t stream = (uint32_t)head[5] << 24 |
		    (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
		if (n > sizeof(payload) || !read_tls(ssl, payload, (int)n))
			break;
		if (head[3] == 4 && !(head[4] & 1))
			write_frame(ssl, 4, 1, 0, "", 0);
		if (head[3] != 1)
			continue;
		write_frame(ssl, 1, 4, stream, early, sizeof(early) - 1);
		write_frame(ssl, 1, 4, stream, fields, sizeof(fields) - 1);
		write_frame(ssl, 0, 0, stream, "hel", 3);
		write_frame(ssl, 0, 1, stream, "lo", 2);
	}
out:
	SSL_shutdown(ssl);
	SSL_free(ssl);
}

static void
serve_tls(struct test_server *s, int fd)
{
	if (speaks_h2)
		answer_h2(s, fd);
	else
		answer_tls(s, fd);
}

static void
serve_nothing(struct test_server *s, int fd)
{
	char c;

	(void)s;
	while (recv(fd, &c, 1, 0) > 0)
		;
}

static void
open_server(void (*serve)(struct test_server *, int))
{
	server.arg = (void *)(uintptr_t)OK_HELLO;
	resumed = 0;
	seen_name[0] = '\0';
	assert_true(test_server_open(&server, NULL, serve));
}

/* ---- TLS ---- */

static void
test_verified(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	open_server(serve_tls);
	for (int i = 0; i < 2; i++) {
		test_run_open(&r, f.t, true, "name.test", server.port, "/x");
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_str(buf_str(&r.body), "hello");
		assert_int_equal(r.x.reused, i);
		assert_int_equal(r.x.http_version, 11);
		assert_string_equal(seen_name, "name.test");
		assert_true(r.x.times.tls >= r.x.times.connect);
		assert_true(r.x.times.connect >= 0);
		if (i == 0)
			assert_true(str_eq((struct str){ server.got,
			    server.got_n }, buf_str(&r.request)));
		test_run_free(&r);
	}
	assert_int_equal(server.accepted, 1);
	close_fixture(&f);
}

/* A WebSocket: the certificate is verified as that of any other exchange. */
static void
test_upgrade(void **state)
{
	const char *answer = "HTTP/1.1 101 Switching\r\n\r\nhello";
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		open_server(serve_tls);
		server.arg = (void *)(uintptr_t)answer;
		test_run_open(&r, f.t, true, i == 0 ? "name.test" :
		    "other.test", server.port, "/x");
		r.x.upgrade = true;
		test_run_start(&r);
		for (int ms = 0; ms < 3000 && r.body_n < 5 && r.done_n == 0;
		    ms += 5)
			test_loop_for(f.loop, 5);
		if (i == 0) {
			assert_str(buf_str(&r.body), "hello");
			assert_true(transport_send(f.t, &r.x,
			    STR("more\r\n\r\n")));
			for (int ms = 0; ms < 3000 && r.body_n < 10; ms += 5)
				test_loop_for(f.loop, 5);
			transport_stop(f.t, &r.x);
		}
		assert_int_equal(r.done_n, 1);
		if (i == 0)
			assert_end(&r, STOPPED);
		else
			assert_end(&r, TLS);
		assert_true(i == 0 || str_find(str_of(r.detail),
		    STR("another name")) < strlen(r.detail));
		test_run_free(&r);
		test_server_close(&server);
	}
	transport_free(&f.t);
	loop_free(&f.loop);
}

static void
test_refused(void **state)
{
	struct fixture f = open_fixture(NULL);
	struct test_run r;

	(void)state;
	open_server(serve_tls);
	/* Signed by nobody that the system knows. */
	test_run_open(&r, f.t, true, "name.test", server.port, "/");
	test_run_whole(f.loop, &r);
	assert_end(&r, TLS);
	assert_non_null(strstr(r.detail, "certificate"));
	assert_int_equal(server.got_n, 0);
	test_run_free(&r);
	/* Not asked to verify; and that connection is not for who does. */
	for (int i = 0; i < 3; i++) {
		test_run_open(&r, f.t, true, "name.test", server.port, "/");
		r.x.verify = i == 2;
		test_run_whole(f.loop, &r);
		if (i < 2)
			assert_end(&r, DONE);
		else
			assert_end(&r, TLS);
		assert_int_equal(r.x.reused, i == 1);
		test_run_free(&r);
	}
	transport_free(&f.t);
	test_server_close(&server);
	/* Another name than the certificate's. */
	loop_free(&f.loop);
	f = open_fixture(ca_path);
	open_server(serve_tls);
	test_run_open(&r, f.t, true, "other.test", server.port, "/");
	test_run_whole(f.loop, &r);
	assert_end(&r, TLS);
	test_run_free(&r);
	close_fixture(&f);
	assert_string_equal(seen_name, "other.test");
	assert_int_equal(server.got_n, 0);
}

static void
test_handshake_hangs(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	open_server(serve_nothing);
	test_run_open(&r, f.t, true, "name.test", server.port, "/");
	r.x.connect_ms = 300;
	test_run_whole(f.loop, &r);
	assert_end(&r, TIMEOUT);
	assert_string_equal(r.detail, "the TLS handshake took too long");
	test_run_free(&r);
	close_fixture(&f);
}

/* ---- why a certificate is refused ---- */

enum flaw { EXPIRED, EARLY, UNKNOWN, OTHER_NAME, SELF_SIGNED, OLD_TLS };

/* Signed by an authority that is nowhere, or by itself. */
static X509 *
make_flawed(EVP_PKEY *key, enum flaw flaw)
{
	X509 *cert = test_certificate(key);

	if (flaw == EXPIRED)
		X509_gmtime_adj(X509_getm_notAfter(cert), -60);
	if (flaw == EARLY)
		X509_gmtime_adj(X509_getm_notBefore(cert), 3600);
	if (flaw == UNKNOWN) {
		X509_NAME *name = X509_NAME_new();
		X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
		    (const unsigned char *)"nobody", -1, -1, 0);
		X509_set_issuer_name(cert, name);
		X509_NAME_free(name);
	}
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	return cert;
}

/* The server's context with that flaw; what the client trusts, in a file. */
static SSL_CTX *
open_flawed(enum flaw flaw, char path[static 64])
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = make_flawed(key, flaw);

	assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	if (flaw == OLD_TLS) {
		SSL_CTX_set_security_level(ctx, 0);
		SSL_CTX_set_max_proto_version(ctx, TLS1_VERSION);
		SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
	}
	snprintf(path, 64, "/tmp/transport-test-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	FILE *f = fdopen(fd, "w");
	assert_int_equal(PEM_write_X509(f, cert), 1);
	fclose(f);
	X509_free(cert);
	EVP_PKEY_free(key);
	return ctx;
}

static void
test_causes(void **state)
{
	static const struct {
		enum flaw flaw;
		const char *host, *detail;
		bool trusted;
	} cases[] = {
		{ EXPIRED, "name.test", "the certificate has expired", true },
		{ EARLY, "name.test", "the certificate is not valid yet",
		    true },
		{ UNKNOWN, "name.test", "the certificate's issuer is unknown",
		    false },
		{ OTHER_NAME, "other.test",
		    "the certificate is for another name", true },
		{ SELF_SIGNED, "name.test", "the certificate is self-signed",
		    false },
		{ OLD_TLS, "name.test", "no common version of TLS", true },
	};
	SSL_CTX *fine = tls;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[64];
		struct test_run r;
		tls = open_flawed(cases[i].flaw, path);
		struct fixture f = open_fixture(cases[i].trusted ? path :
		    ca_path);
		open_server(serve_tls);
		test_run_open(&r, f.t, true, cases[i].host, server.port, "/");
		test_run_whole(f.loop, &r);
		assert_end(&r, TLS);
		assert_string_equal(r.detail, cases[i].detail);
		test_run_free(&r);
		close_fixture(&f);
		SSL_CTX_free(tls);
		unlink(path);
	}
	tls = fine;
}

/* SSL_CERT_FILE names the file where no setting does. */
static void
test_environment(void **state)
{
	struct test_run r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		setenv("SSL_CERT_FILE", i == 0 ? ca_path : "/dev/null", 1);
		struct fixture f = open_fixture(i == 0 ? NULL : ca_path);
		unsetenv("SSL_CERT_FILE");
		open_server(serve_tls);
		test_run_open(&r, f.t, true, "name.test", server.port, "/");
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		test_run_free(&r);
		close_fixture(&f);
	}
}

/* Bytes after an answer are not taken for the next one. */
static void
test_unread(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	open_server(serve_tls);
	server.arg = (void *)(uintptr_t)(OK_HELLO
	    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
	for (int later = 0; later < 2; later++)
		for (int i = 0; i < 3; i++) {
			test_run_open(&r, f.t, true, "name.test", server.port,
			    "/x");
			first_n = later ? (int)strlen(OK_HELLO) : 0;
			test_run_whole(f.loop, &r);
			assert_end(&r, DONE);
			assert_str(buf_str(&r.body), "hello");
			assert_false(r.x.reused);
			test_run_free(&r);
			/* Only bytes that have come can be seen. */
			while (later && atomic_load(&rests_n) <= i)
				test_loop_for(f.loop, 1);
			test_loop_for(f.loop, 20);
		}
	first_n = 0;
	close_fixture(&f);
}

/* Blocked before the first byte: the server does not see a ClientHello. */
static void
test_blocked(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	open_server(serve_tls);
	test_run_open(&r, f.t, true, "name.test", server.port, "/");
	r.refuse = true;
	test_run_whole(f.loop, &r);
	assert_end(&r, BLOCKED);
	test_loop_for(f.loop, 50);
	assert_int_equal(server.accepted, 0);
	test_run_free(&r);
	close_fixture(&f);
}

static void
test_resumption(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	open_server(serve_tls);
	server.flag = 1;
	for (int i = 0; i < 3; i++) {
		test_run_open(&r, f.t, true, "name.test", server.port, "/");
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_false(r.x.reused);
		test_run_free(&r);
		test_loop_for(f.loop, 30);
	}
	assert_int_equal(server.accepted, 3);
	assert_int_equal(resumed, 2);
	close_fixture(&f);
}

static void
test_http2(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	speaks_h2 = 1;
	open_server(serve_tls);
	for (int i = 0; i < 2; i++) {
		test_run_open(&r, f.t, true, "name.test", server.port, "/x?y");
		test_run_header(&r, "Connection", "keep-alive");
		test_run_header(&r, "Accept-Encoding", "gzip");
		r.x.http2 = true;
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_int_equal(r.x.http_version, 20);
		assert_int_equal(r.heads_n, 1);
		assert_str(buf_str(&r.head), "HTTP/1.1 200 \r\nx: y\r\n"
		    "content-length: 5\r\n\r\n");
		assert_str(buf_str(&r.body), "hello");
		assert_int_equal(r.x.reused, i);
		char expected[200];
		snprintf(expected, sizeof(expected), "GET /x?y HTTP/1.1\r\n"
		    "Host: name.test:%u\r\nAccept-Encoding: gzip\r\n\r\n",
		    server.port);
		assert_str(buf_str(&r.request), expected);
		test_run_free(&r);
	}
	/* Not asked for: the server finds no protocol of its own. */
	test_run_open(&r, f.t, true, "name.test", server.port, "/");
	r.x.total_ms = 500;
	test_run_whole(f.loop, &r);
	assert_false(r.x.reused);
	assert_true(r.end != TRANSPORT_DONE);
	test_run_free(&r);
	close_fixture(&f);
	speaks_h2 = 0;
}

/* ---- proxies ---- */

/* After a CONNECT: TLS as the origin would speak it. */
static void
serve_connect(struct test_server *s, int fd)
{
	if (!test_server_read(s, fd))
		return;
	if (s->flag == 403) {
		test_send(fd, "HTTP/1.1 403 Forbidden\r\n"
		    "Content-Length: 0\r\n\r\n");
		return;
	}
	test_send(fd, "HTTP/1.1 200 Established\r\n\r\n");
	s->got_n = 0;
	answer_tls(s, fd);
}

static void
serve_text(struct test_server *s, int fd)
{
	while (test_server_read(s, fd))
		test_send(fd, s->arg);
}

static void
set_proxy(struct test_run *r, const char *scheme_and_user, char out[static 100])
{
	snprintf(out, 100, "%s127.0.0.1:%u", scheme_and_user, server.port);
	r->x.proxy = str_of(out);
	r->x.addresses_n = 0;
}

static void
test_http_proxy(void **state)
{
	struct fixture f = open_fixture(NULL);
	struct test_run r;
	char proxy[100];
	size_t from;

	(void)state;
	open_server(serve_text);
	for (int i = 0; i < 3; i++) {
		from = server.got_n;
		test_run_open(&r, f.t, false, i == 2 ? "other.test" :
		    "far.test", 80, "/a?b");
		test_run_header(&r, "User-Agent", "x");
		set_proxy(&r, "http://", proxy);
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_str(buf_str(&r.body), "hello");
		assert_int_equal(r.x.reused, i > 0);
		assert_memory_equal(&r.connected_to, &r.addresses[0], 16);
		char expected[700];
		snprintf(expected, sizeof(expected),
		    "GET http://%s/a?b HTTP/1.1\r\nHost: %s\r\n"
		    "User-Agent: x\r\n\r\n", r.host, r.host_header);
		assert_str(buf_str(&r.request), expected);
		assert_true(str_eq(buf_str(&r.request), (struct str){
		    server.got + from, server.got_n - from }));
		test_run_free(&r);
	}
	/* The credentials are sent, and are no part of what is archived. */
	from = server.got_n;
	test_run_open(&r, f.t, false, "far.test", 8080, "/");
	set_proxy(&r, "http://us%65r:p%40ss@", proxy);
	test_run_whole(f.loop, &r);
	assert_end(&r, DONE);
	assert_str((struct str){ server.got + from, server.got_n - from },
	    "GET http://far.test:8080/ HTTP/1.1\r\nHost: far.test:8080\r\n"
	    "Proxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n");
	assert_str(buf_str(&r.request), "GET http://far.test:8080/ HTTP/1.1\r\n"
	    "Host: far.test:8080\r\n\r\n");
	test_run_free(&r);
	/* A proxy's name is resolved here, not by libcurl. */
	test_run_open(&r, f.t, false, "far.test", 8080, "/");
	snprintf(proxy, sizeof(proxy), "http://proxy.localhost:%u",
	    server.port);
	r.x.proxy = str_of(proxy);
	test_run_whole(f.loop, &r);
	assert_end(&r, DONE);
	test_run_free(&r);
	/* And the next one without a proxy has none. */
	from = server.got_n;
	test_run_open(&r, f.t, false, "near.test", server.port, "/");
	test_run_whole(f.loop, &r);
	assert_end(&r, DONE);
	assert_true(str_eq(buf_str(&r.request), (struct str){
	    server.got + from, server.got_n - from }));
	test_run_free(&r);
	close_fixture(&f);
}

static void
test_http_proxy_fails(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;
	char proxy[100];

	(void)state;
	open_server(serve_text);
	server.arg = (void *)(uintptr_t)"HTTP/1.1 407 No\r\n"
	    "Proxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
	for (int i = 0; i < 5; i++) {
		test_run_open(&r, f.t, i == 1, "name.test", 80, "/");
		set_proxy(&r, "http://", proxy);
		if (i == 2)
			r.x.proxy = STR("http://127.0.0.1:1");
		if (i == 3)
			r.x.proxy = STR("ftp://127.0.0.1:1");
		if (i == 4)
			r.x.proxy = STR("http://proxy.localhost:99999");
		test_run_whole(f.loop, &r);
		assert_end(&r, PROXY);
		assert_true(r.detail[0] != '\0');
		test_run_free(&r);
	}
	transport_free(&f.t);
	test_server_close(&server);
	f.t = transport_new(f.loop, &(struct transport_options){
	    .connections_max = 9, .host_connections_max = 9 });
	open_server(serve_connect);
	server.flag = 403;
	test_run_open(&r, f.t, true, "name.test", 443, "/");
	set_proxy(&r, "http://", proxy);
	test_run_whole(f.loop, &r);
	assert_end(&r, PROXY);
	assert_non_null(strstr(r.detail, "403"));
	test_run_free(&r);
	close_fixture(&f);
}

static void
test_connect_proxy(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;
	char proxy[100];

	(void)state;
	open_server(serve_connect);
	for (int i = 0; i < 2; i++) {
		test_run_open(&r, f.t, true, "name.test", 443, "/x");
		test_run_header(&r, "Cookie", "not=the-proxy's");
		set_proxy(&r, "http://u:p@", proxy);
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_str(buf_str(&r.body), "hello");
		assert_str(buf_str(&r.head), "HTTP/1.1 200 OK\r\n"
		    "Content-Length: 5\r\n\r\n");
		assert_int_equal(r.x.reused, i);
		assert_str(buf_str(&r.request), "GET /x HTTP/1.1\r\n"
		    "Host: name.test:443\r\nCookie: not=the-proxy's\r\n\r\n");
		assert_string_equal(seen_name, "name.test");
		if (i == 0)
			assert_true(str_eq(buf_str(&r.request),
			    (struct str){ server.got, server.got_n }));
		test_run_free(&r);
	}
	close_fixture(&f);
}

/* SOCKS 4, 4a, 5 (RFC 1928, RFC 1929): what was asked for goes to `got`. */
static void
serve_socks(struct test_server *s, int fd)
{
	static const char granted4[8] = { 0, 90 };
	static const char granted5[10] = { 5, 0, 0, 1 };
	char b[300];
	size_t from = s->got_n;

	if (!test_server_read_n(s, fd, 2))
		return;
	if (s->got[from] == 4) {
		/* Up to the NUL of the user, and of the name with 4a. */
		if (!test_server_read_n(s, fd, 6))
			return;
		for (int names = s->got[from + 4] == 0 ? 2 : 1; names > 0;)
			if (!test_server_read_n(s, fd, 1))
				return;
			else if (s->got[s->got_n - 1] == '\0')
				names--;
		test_send_n(fd, granted4, 8);
	} else {
		bool password = s->flag == 1;
		test_server_read_n(s, fd, (size_t)s->got[from + 1]);
		s->got_n = from;
		test_send_n(fd, password ? "\5\2" : "\5\0", 2);
		if (password && recv(fd, b, sizeof(b), 0) > 0) {
			assert_memory_equal(b, "\1\1u\3p:w", 7);
			test_send_n(fd, "\1\0", 2);
		}
		if (!test_server_read_n(s, fd, 5))
			return;
		bool named = s->got[from + 3] == 3;
		test_server_read_n(s, fd, named ?
		    (size_t)s->got[from + 4] + 2 : 5);
		if (s->flag == 2) {
			test_send_n(fd, "\5\4\0\1\0\0\0\0\0\0", 10);
			return;
		}
		test_send_n(fd, granted5, 10);
	}
	size_t asked = s->got_n;
	while (test_server_read(s, fd))
		test_send(fd, s->arg);
	s->got_n = asked;
}

static void
check_socks(const char *scheme, int flag, bool addresses, const char *asked,
    size_t n)
{
	struct fixture f = open_fixture(NULL);
	struct test_run r;
	char proxy[100];

	open_server(serve_socks);
	server.flag = flag;
	test_run_open(&r, f.t, false, "far.test", 0x1234, "/");
	set_proxy(&r, scheme, proxy);
	assert_true(ip_from_text(STR("10.1.2.3"), &r.addresses[0]));
	r.x.addresses_n = addresses;
	for (int i = 0; i < 2; i++) {
		r.done_n = 0;
		buf_clear(&r.body);
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_int_equal(r.x.reused, i);
		assert_str(buf_str(&r.body), "hello");
		assert_str(buf_str(&r.request), "GET / HTTP/1.1\r\n"
		    "Host: far.test:4660\r\n\r\n");
	}
	test_run_free(&r);
	close_fixture(&f);
	assert_int_equal(server.got_n, n);
	assert_memory_equal(server.got, asked, n);
}

static void
test_socks(void **state)
{
	(void)state;
#define BYTES(text) text, sizeof(text) - 1
	check_socks("socks5://", 0, true,
	    BYTES("\5\1\0\1\x0a\1\2\3\x12\x34"));
	check_socks("socks5h://", 0, true,
	    BYTES("\5\1\0\3\x08" "far.test\x12\x34"));
	check_socks("socks5h://u:p%3Aw@", 1, false,
	    BYTES("\5\1\0\3\x08" "far.test\x12\x34"));
	/* Without an address the proxy resolves, whatever the scheme says. */
	check_socks("socks5://", 0, false,
	    BYTES("\5\1\0\3\x08" "far.test\x12\x34"));
	check_socks("socks4://", 0, true, BYTES("\4\1\x12\x34\x0a\1\2\3\0"));
	check_socks("socks4a://", 0, false,
	    BYTES("\4\1\x12\x34\0\0\0\1\0far.test\0"));
	check_socks("socks4://me@", 0, false,
	    BYTES("\4\1\x12\x34\0\0\0\1me\0far.test\0"));
}

static void
test_socks_fails(void **state)
{
	struct fixture f = open_fixture(NULL);
	struct test_run r;
	char proxy[100];

	(void)state;
	open_server(serve_socks);
	server.flag = 2;
	test_run_open(&r, f.t, false, "far.test", 80, "/");
	set_proxy(&r, "socks5h://", proxy);
	test_run_whole(f.loop, &r);
	assert_end(&r, PROXY);
	test_run_free(&r);
	transport_free(&f.t);
	test_server_close(&server);
	f.t = transport_new(f.loop, &(struct transport_options){
	    .connections_max = 9, .host_connections_max = 9 });
	open_server(serve_nothing);
	test_run_open(&r, f.t, false, "far.test", 80, "/");
	set_proxy(&r, "socks5h://", proxy);
	r.x.connect_ms = 300;
	test_run_whole(f.loop, &r);
	assert_end(&r, PROXY);
	test_run_free(&r);
	close_fixture(&f);
}

static void
test_oldest_version(void **state)
{
	struct fixture f = open_fixture(ca_path);
	struct test_run r;

	(void)state;
	open_server(serve_tls);
	server.flag = 1;
	SSL_CTX_set_security_level(tls, 0);
	for (int v = TLS1_1_VERSION; v <= TLS1_3_VERSION; v++) {
		SSL_CTX_set_min_proto_version(tls, v);
		SSL_CTX_set_max_proto_version(tls, v);
		test_run_open(&r, f.t, true, "name.test", server.port, "/x");
		test_run_whole(f.loop, &r);
		assert_int_equal(r.end, v == TLS1_1_VERSION ? TRANSPORT_TLS :
		    TRANSPORT_DONE);
		test_run_free(&r);
	}
	server.flag = 0;
	close_fixture(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verified),
		cmocka_unit_test(test_upgrade),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_handshake_hangs),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_resumption),
		cmocka_unit_test(test_http2),
		cmocka_unit_test(test_http_proxy),
		cmocka_unit_test(test_http_proxy_fails),
		cmocka_unit_test(test_connect_proxy),
		cmocka_unit_test(test_socks),
		cmocka_unit_test(test_socks_fails),
		cmocka_unit_test(test_oldest_version),
	};

	return cmocka_run_group_tests(tests, open_tls, close_tls);
}
