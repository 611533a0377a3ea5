/*
 * HTTP/2 with a server that is nghttp2's own: streams beside each other, bodies
 * in both directions, resets, refusals, and an end in the midst.  The path says
 * what the server does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* OpenSSL has a type of the name that base/err.h gives an error. */
#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#include <openssl/ssl.h>
#undef ERR_STATE
#include <nghttp2/nghttp2.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_testing.h"

#define BIG_BYTES (5u << 20)
#define STREAMS_MAX 200

static struct test_server server;
static SSL_CTX *tls;
static atomic_int requests, refusals;

/* ---- the server ---- */

struct stream {
	int32_t id;
	char path[64];
	size_t sent, size;           /* of the answer's body */
	size_t got;                  /* of the request's body */
};

struct session {
	SSL *ssl;
	nghttp2_session *h2;
	bool over;
	struct stream streams[STREAMS_MAX];
	size_t streams_n;
};

static ssize_t
give_body(nghttp2_session *h2, int32_t id, uint8_t *p, size_t n,
    uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct stream *s = source->ptr;

	(void)h2, (void)id, (void)user;
	n = MIN(n, s->size - s->sent);
	memset(p, 'b', n);
	s->sent += n;
	if (s->sent == s->size)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static nghttp2_nv
pair(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name,
	    (uint8_t *)(uintptr_t)value, strlen(name), strlen(value), 0 };
}

static void
answer_body(struct session *z, struct stream *s, size_t size)
{
	nghttp2_nv fields[] = { pair(":status", "200"), pair("x", "y") };
	nghttp2_data_provider body = { { .ptr = s }, give_body };

	s->size = size;
	nghttp2_submit_response(z->h2, s->id, fields, 2, &body);
}

static void
answer_long_head(struct session *z, struct stream *s)
{
	static char value[16000];
	nghttp2_nv fields[4] = { pair(":status", "200") };

	memset(value, 'a', sizeof(value) - 1);
	for (size_t i = 1; i < 4; i++)
		fields[i] = pair("x-long", value);
	nghttp2_submit_response(z->h2, s->id, fields, 4, NULL);
}

static void
answer_stream(struct session *z, struct stream *s)
{
	int32_t last = MAX(0, s->id - 2);

	if (strcmp(s->path, "/hello") == 0)
		answer_body(z, s, 5);
	else if (strcmp(s->path, "/big") == 0)
		answer_body(z, s, BIG_BYTES);
	else if (strcmp(s->path, "/count") == 0)
		answer_body(z, s, s->got % 1000);
	else if (strcmp(s->path, "/reset") == 0)
		nghttp2_submit_rst_stream(z->h2, 0, s->id,
		    NGHTTP2_INTERNAL_ERROR);
	else if (strcmp(s->path, "/refuse") == 0 && refusals-- > 0)
		nghttp2_submit_rst_stream(z->h2, 0, s->id,
		    NGHTTP2_REFUSED_STREAM);
	else if (strcmp(s->path, "/away") == 0 && refusals-- > 0)
		nghttp2_submit_goaway(z->h2, 0, last, NGHTTP2_NO_ERROR, NULL,
		    0);
	else if (strcmp(s->path, "/old") == 0)
		nghttp2_submit_rst_stream(z->h2, 0, s->id,
		    NGHTTP2_HTTP_1_1_REQUIRED);
	else if (strcmp(s->path, "/long") == 0)
		answer_long_head(z, s);
	else if (strcmp(s->path, "/cut") == 0)
		z->over = true;
	else if (strcmp(s->path, "/silent") != 0)
		answer_body(z, s, 5);
	requests++;
}

static int
begin_stream(nghttp2_session *h2, const nghttp2_frame *f, void *user)
{
	struct session *z = user;
	struct stream *s;

	if (f->hd.type != NGHTTP2_HEADERS)
		return 0;
	CHECK(z->streams_n < STREAMS_MAX);
	s = &z->streams[z->streams_n++];
	s->id = f->hd.stream_id;
	nghttp2_session_set_stream_user_data(h2, s->id, s);
	return 0;
}

static int
field(nghttp2_session *h2, const nghttp2_frame *f, const uint8_t *name,
    size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
    void *user)
{
	struct stream *s = nghttp2_session_get_stream_user_data(h2,
	    f->hd.stream_id);

	(void)flags, (void)user;
	if (name_n == 5 && memcmp(name, ":path", 5) == 0)
		snprintf(s->path, sizeof(s->path), "%.*s", (int)value_n,
		    (const char *)value);
	return 0;
}

static int
data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *p,
    size_t n, void *user)
{
	struct stream *s = nghttp2_session_get_stream_user_data(h2, id);

	(void)flags, (void)p, (void)user;
	s->got += n;
	return 0;
}

static int
frame(nghttp2_session *h2, const nghttp2_frame *f, void *user)
{
	struct stream *s = nghttp2_session_get_stream_user_data(h2,
	    f->hd.stream_id);

	if (s != NULL && (f->hd.flags & NGHTTP2_FLAG_END_STREAM))
		answer_stream(user, s);
	return 0;
}

static bool
write_all(struct session *z)
{
	const uint8_t *p;
	ssize_t n;

	while (!z->over && (n = nghttp2_session_mem_send(z->h2, &p)) > 0)
		if (SSL_write(z->ssl, p, (int)n) <= 0)
			return false;
	return !z->over;
}

static void
speak_http2(SSL *ssl)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 10 } };
	struct session z = { .ssl = ssl };
	nghttp2_session_callbacks *on;
	uint8_t in[16384];
	int n;

	nghttp2_session_callbacks_new(&on);
	nghttp2_session_callbacks_set_on_begin_headers_callback(on,
	    begin_stream);
	nghttp2_session_callbacks_set_on_header_callback(on, field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on, data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(on, frame);
	nghttp2_session_server_new(&z.h2, on, &z);
	nghttp2_session_callbacks_del(on);
	nghttp2_submit_settings(z.h2, 0, settings, 1);
	while (write_all(&z) && (n = SSL_read(ssl, in, sizeof(in))) > 0)
		if (nghttp2_session_mem_recv(z.h2, in, (size_t)n) < 0)
			break;
	nghttp2_session_del(z.h2);
}

static void
speak_http1(SSL *ssl)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 3"
	    "\r\n\r\nold";
	char c, last[4] = "";

	while (SSL_read(ssl, &c, 1) == 1) {
		memmove(last, last + 1, 3);
		last[3] = c;
		if (memcmp(last, "\r\n\r\n", 4) == 0)
			SSL_write(ssl, text, sizeof(text) - 1);
	}
}

static void
serve_http2(struct test_server *s, int fd)
{
	SSL *ssl = SSL_new(tls);
	const unsigned char *alpn;
	unsigned n = 0;

	(void)s;
	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1) {
		SSL_get0_alpn_selected(ssl, &alpn, &n);
		if (n == 2)
			speak_http2(ssl);
		else
			speak_http1(ssl);
	}
	SSL_free(ssl);
}

static int
choose(SSL *ssl, const unsigned char **out, unsigned char *out_n,
    const unsigned char *in, unsigned in_n, void *arg)
{
	(void)ssl, (void)arg;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_n,
	    (const unsigned char *)"\x02h2\x08http/1.1", 12, in, in_n) ==
	    OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK :
	    SSL_TLSEXT_ERR_NOACK;
}

static int
open_tls(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	X509_set_pubkey(cert, key);
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	tls = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate(tls, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(tls, key), 1);
	SSL_CTX_set_alpn_select_cb(tls, choose, NULL);
	X509_free(cert);
	EVP_PKEY_free(key);
	return 0;
}

static int
close_tls(void **state)
{
	(void)state;
	SSL_CTX_free(tls);
	return 0;
}

/* ---- the tests ---- */

struct fixture {
	struct loop *loop;
	struct transport *t;
};

static struct fixture
begin_test(void)
{
	struct transport_options options = { .connections_max = 50,
	    .host_connections_max = 2, .idle_s_max = 60 };
	struct fixture f = { .loop = loop_new("test") };

	f.t = transport_new(f.loop, &options);
	requests = refusals = 0;
	assert_true(test_server_open(&server, NULL, serve_http2));
	return f;
}

static void
end_test(struct fixture *f)
{
	transport_free(&f->t);
	loop_free(&f->loop);
	test_server_close(&server);
}

static void
open_run(struct fixture *f, struct test_run *r, const char *path)
{
	test_run_open(r, f->t, true, "h.test", server.port, path);
	r->x.verify = false;
	r->x.http2 = true;
	r->x.total_ms = 20000;
}

static void
check_end(const struct test_run *r, enum transport_end end)
{
	if (r->end != end)
		fail_msg("%s: ended with %s (%s), expected %s", r->url,
		    transport_end_word(r->end), r->detail,
		    transport_end_word(end));
}

/* Forty calls, ten streams at once on each of two connections at most. */
static void
test_many(void **state)
{
	static struct test_run runs[40];
	struct test_run *list[40];
	struct fixture f = begin_test();

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 40; i++) {
			open_run(&f, &runs[i], i % 8 == 0 ? "/big" :
			    "/hello");
			runs[i].discard = true;
			list[i] = &runs[i];
			test_run_start(&runs[i]);
		}
		test_runs_finish(f.loop, list, 40);
		for (int i = 0; i < 40; i++) {
			check_end(&runs[i], TRANSPORT_DONE);
			assert_int_equal(runs[i].x.http_version, 20);
			assert_int_equal(runs[i].body_n, i % 8 == 0 ?
			    BIG_BYTES : 5);
			assert_int_equal(runs[i].connected_n, 1);
			test_run_free(&runs[i]);
		}
	}
	assert_int_equal(requests, 80);
	assert_in_range(server.accepted, 1, 2);
	end_test(&f);
}

static void
test_bodies(void **state)
{
	static char much[3 << 20];
	struct fixture f = begin_test();
	struct test_run r;

	(void)state;
	for (size_t n = 1; n <= sizeof(much); n = n * 7 + 3) {
		open_run(&f, &r, "/count");
		r.x.method = STR("POST");
		r.x.body = (struct str){ much, n };
		test_run_whole(f.loop, &r);
		check_end(&r, TRANSPORT_DONE);
		assert_int_equal(r.body_n, n % 1000);
		test_run_free(&r);
	}
	end_test(&f);
}

static void
test_ends(void **state)
{
	static const struct {
		const char *path;
		enum transport_end end;
		int refusals, accepted;
	} cases[] = {
		{ "/reset", TRANSPORT_RESET, 0, 1 },
		{ "/refuse", TRANSPORT_DONE, 1, 2 },
		{ "/refuse", TRANSPORT_RESET, 100, 5 },
		{ "/away", TRANSPORT_DONE, 1, 2 },
		{ "/old", TRANSPORT_DONE, 0, 2 },
		{ "/long", TRANSPORT_PROTOCOL, 0, 1 },
		{ "/cut", TRANSPORT_RESET, 0, 1 },
		{ "/silent", TRANSPORT_TIMEOUT, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f = begin_test();
		struct test_run r;
		refusals = cases[i].refusals;
		open_run(&f, &r, cases[i].path);
		if (cases[i].end == TRANSPORT_TIMEOUT)
			r.x.total_ms = 300;
		r.x.head_bytes_max = 40000;
		test_run_whole(f.loop, &r);
		check_end(&r, cases[i].end);
		assert_int_equal(server.accepted, cases[i].accepted);
		assert_int_equal(r.x.too_large,
		    cases[i].end == TRANSPORT_PROTOCOL);
		if (strcmp(cases[i].path, "/old") == 0)
			assert_int_equal(r.x.http_version, 11);
		test_run_free(&r);
		/* A stream that ended says nothing about its connection. */
		open_run(&f, &r, "/hello");
		test_run_whole(f.loop, &r);
		check_end(&r, TRANSPORT_DONE);
		test_run_free(&r);
		end_test(&f);
	}
}

static void
test_stopped(void **state)
{
	struct fixture f = begin_test();
	struct test_run r;

	(void)state;
	for (int i = 0; i < 6; i++) {
		open_run(&f, &r, i < 5 ? "/big" : "/hello");
		r.stop_in_connected = i == 0;
		r.stop_in_head = i == 1;
		r.stop_in_body = i == 2;
		r.refuse_head = i == 3;
		r.body_max = i == 4 ? 100000 : SIZE_MAX;
		r.discard = true;
		test_run_whole(f.loop, &r);
		check_end(&r, i < 5 ? TRANSPORT_STOPPED : TRANSPORT_DONE);
		assert_int_equal(r.done_n, 1);
		/* The first one stopped before it was connected. */
		assert_int_equal(r.x.reused, i > 1);
		test_run_free(&r);
	}
	open_run(&f, &r, "/silent");
	test_run_start(&r);
	test_loop_for(f.loop, 50);
	transport_free(&f.t);
	check_end(&r, TRANSPORT_STOPPED);
	test_run_free(&r);
	loop_free(&f.loop);
	test_server_close(&server);
}

/* One stream waits, and the others of its connection do not. */
static void
test_paused(void **state)
{
	struct fixture f = begin_test();
	struct test_run r, other;

	(void)state;
	open_run(&f, &r, "/big");
	r.discard = true;
	test_run_start(&r);
	while (r.body_n == 0)
		(void)loop_step(f.loop);
	transport_pause(f.t, &r.x, true);
	test_loop_for(f.loop, 100);
	size_t before = r.body_n;
	assert_true(before < BIG_BYTES);
	open_run(&f, &other, "/hello");
	test_run_whole(f.loop, &other);
	check_end(&other, TRANSPORT_DONE);
	assert_true(other.x.reused);
	assert_int_equal(r.body_n, before);
	transport_pause(f.t, &r.x, false);
	test_runs_finish(f.loop, (struct test_run *[]){ &r }, 1);
	check_end(&r, TRANSPORT_DONE);
	assert_int_equal(r.body_n, BIG_BYTES);
	test_run_free(&r);
	test_run_free(&other);
	end_test(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_paused),
	};

	return cmocka_run_group_tests(tests, open_tls, close_tls);
}
