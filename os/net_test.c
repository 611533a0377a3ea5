#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/net_own.h"
#include "os/system.h"

/* ---- Two ends on one loop ----------------------------------------------- */

struct end {
	struct net_conn *conn;
	struct buf got;
	size_t to_send;              /* bytes that on_turn still appends */
	size_t got_n;
	bool opened, closed, keeps, close_when_sent, ended, stays;
	struct why why;
};

static struct {
	struct loop *loop;
	struct net *net;
	struct net_listener *listener;
	struct end ends[8];          /* accepted, in their order */
	size_t n;
} t;

static void
on_open(struct net_conn *c)
{
	struct end *e = net_arg(c);

	e->opened = true;
}

static void
on_bytes(struct net_conn *c, struct str s)
{
	struct end *e = net_arg(c);

	e->got_n += s.n;
	if (e->keeps)
		buf_put_str(&e->got, s);
	net_wake(c);
}

static void
on_turn(struct net_conn *c)
{
	struct end *e = net_arg(c);
	size_t n = MIN(e->to_send, net_room(c));

	if (n > 0)
		memset(buf_grow(net_out(c), n), 'x', n);
	e->to_send -= n;
	if (e->close_when_sent && e->to_send == 0)
		net_close(c);
}

static void
on_closed(struct net_conn *c, const struct why *w)
{
	struct end *e = net_arg(c);

	assert_false(e->closed);
	e->closed = true;
	e->why = *w;
	e->conn = NULL;
}

static bool
on_end(struct net_conn *c)
{
	struct end *e = net_arg(c);

	assert_false(e->ended);
	e->ended = true;
	return e->stays;
}

static const struct net_events events = { .on_open = on_open,
	.on_bytes = on_bytes, .on_turn = on_turn, .on_end = on_end,
	.on_closed = on_closed };

static void
accepted(struct net_conn *c, void *arg)
{
	struct end *e = &t.ends[t.n++];

	assert_ptr_equal(arg, &t);
	assert_true(t.n <= ARRAY_LEN(t.ends));
	e->conn = c;
	e->keeps = true;
	net_take(c, &events, e);
}

static void
begin(struct net_limits limits, const char *address, struct net_tls *tls)
{
	struct why w = WHY_INIT;

	memset(&t, 0, sizeof(t));
	t.loop = loop_new("test");
	t.net = net_new(t.loop, &limits);
	assert_int_equal(net_listen(t.net, address, 0, tls, accepted, &t,
	    &t.listener, &w), OK);
	assert_true(net_port(t.listener) > 0);
}

static void
finish(void)
{
	net_unlisten(&t.listener);
	net_free(&t.net);
	for (size_t i = 0; i < t.n; i++) {
		assert_true(t.ends[i].closed);
		buf_free(&t.ends[i].got);
	}
	loop_free(&t.loop);
}

static void
reach(struct end *e, const char *address, struct net_tls *tls,
    const char *name)
{
	struct net_target to = { address, name, net_port(t.listener), tls,
	    2000 };
	struct why w = WHY_INIT;

	memset(e, 0, sizeof(*e));
	assert_int_equal(net_connect(t.net, &to, &events, e, &e->conn, &w),
	    OK);
}

/* Turns until `*flag`, at most so long; whether it came. */
static bool
until(const bool *flag, int64_t ms)
{
	struct mono end = mono_add_ms(clock_mono(), ms);

	while (!*flag && clock_mono().ns < end.ns)
		if (!loop_step(t.loop))
			usleep(500);
	return *flag;
}

static void
turns(int64_t ms)
{
	bool never = false;

	until(&never, ms);
}

/* ---- Tests -------------------------------------------------------------- */

static void
test_both_ways(void **state)
{
	static const char *const addresses[] = { "127.0.0.1", "::1" };
	struct end c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		begin(NET_LIMITS_DEFAULT, addresses[i], NULL);
		reach(&c, addresses[i], NULL, NULL);
		assert_true(until(&c.opened, 2000));
		buf_put_text(net_out(c.conn), "hello");
		net_wake(c.conn);
		turns(50);
		struct end *s = &t.ends[0];
		assert_int_equal(t.n, 1);
		assert_true(str_eq(buf_str(&s->got), STR("hello")));
		assert_non_null(strstr(net_peer(s->conn), i == 0 ?
		    "127.0.0.1:" : "[::1]:"));
		/* More than sockets hold, both ways at once. */
		s->keeps = false;
		s->to_send = c.to_send = 20 << 20;
		net_wake(s->conn);
		net_wake(c.conn);
		s->got_n = 0;
		for (int k = 0; k < 500 && (s->got_n < 20 << 20 ||
		    c.got_n < 20 << 20); k++)
			turns(10);
		assert_int_equal(s->got_n, 20 << 20);
		assert_int_equal(c.got_n, 20 << 20);
		/* What was written before the close arrives. */
		c.got_n = 0;
		s->to_send = 5 << 20;
		s->close_when_sent = true;
		net_wake(s->conn);
		assert_true(until(&c.closed, 3000));
		assert_int_equal(c.got_n, 5 << 20);
		assert_int_equal(c.why.err, OK);
		assert_true(until(&s->closed, 3000));
		assert_int_equal(s->why.err, OK);
		assert_int_equal(net_connections(t.net), 0);
		finish();
	}
}

static void
test_not_reached(void **state)
{
	struct end c;
	struct why w = WHY_INIT;
	struct net_target to = { "127.0.0.1", NULL, 0, NULL, 300 };
	int held[8];

	(void)state;
	begin(NET_LIMITS_DEFAULT, "127.0.0.1", NULL);
	to.port = net_port(t.listener);
	net_unlisten(&t.listener);
	memset(&c, 0, sizeof(c));
	assert_int_equal(net_connect(t.net, &to, &events, &c, &c.conn, &w),
	    OK);
	assert_true(until(&c.closed, 2000));
	assert_int_equal(c.why.err, ERR_UNREACHED);
	to.address = "localhost";
	assert_int_equal(net_connect(t.net, &to, &events, &c, &c.conn, &w),
	    ERR_CONFIG);

	/* A listener whose backlog is full answers nothing. */
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 0), 0);
	getsockname(fd, (struct sockaddr *)&a, &n);
	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		held[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(held[i], (struct sockaddr *)&a, n);
	}
	to.address = "127.0.0.1";
	to.port = ntohs(a.sin_port);
	memset(&c, 0, sizeof(c));
	assert_int_equal(net_connect(t.net, &to, &events, &c, &c.conn, &w),
	    OK);
	assert_true(until(&c.closed, 3000));
	assert_int_equal(c.why.err, ERR_TIMEOUT);
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		close(held[i]);
	close(fd);
	finish();
}

static void
test_listen_errors(void **state)
{
	struct net_listener *l = NULL;
	struct why w = WHY_INIT;

	(void)state;
	begin(NET_LIMITS_DEFAULT, "127.0.0.1", NULL);
	assert_int_equal(net_listen(t.net, "127.0.0.1",
	    net_port(t.listener), NULL, accepted, &t, &l, &w), ERR_BUSY);
	assert_non_null(strstr(w.text, "127.0.0.1:"));
	w = WHY_INIT;
	assert_int_equal(net_listen(t.net, "example", 0, NULL, accepted, &t,
	    &l, &w), ERR_CONFIG);
	finish();
}

static void
test_connections_max(void **state)
{
	struct net_limits l = NET_LIMITS_DEFAULT;
	struct end c[3];

	(void)state;
	l.connections_max = 2;
	begin(l, "127.0.0.1", NULL);
	for (size_t i = 0; i < 3; i++) {
		reach(&c[i], "127.0.0.1", NULL, NULL);
		turns(50);
	}
	assert_int_equal(t.n, 2);
	net_close(c[0].conn);
	assert_true(until(&t.ends[0].closed, 2000));
	turns(200);
	assert_int_equal(t.n, 3);
	net_abort(t.ends[2].conn, ERR_STATE, "enough");
	assert_true(until(&c[2].closed, 2000));
	assert_int_equal(t.ends[2].why.err, ERR_STATE);
	assert_string_equal(t.ends[2].why.text, "enough");
	finish();
}

/* What is read until the end, turning; -1 when it broke off. */
static ssize_t
drink(int fd)
{
	char some[4096];
	ssize_t n, all = 0;

	do {
		turns(1);
		while ((n = recv(fd, some, sizeof(some), MSG_DONTWAIT)) > 0)
			all += n;
	} while (n < 0 && errno == EAGAIN);
	return n == 0 ? all : -1;
}

/* Turns that had something to do, in so long. */
static int
busy_turns(int64_t ms)
{
	struct mono end = mono_add_ms(clock_mono(), ms);
	int n = 0;

	while (clock_mono().ns < end.ns)
		if (loop_step(t.loop))
			n++;
		else
			usleep(500);
	return n;
}

/* Without descriptors nobody is accepted, and nothing spins. */
static void
test_no_descriptors(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct rlimit old, now;
	int fds[3];

	(void)state;
	begin(NET_LIMITS_DEFAULT, "127.0.0.1", NULL);
	at.sin_port = htons(net_port(t.listener));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
		assert_int_equal(connect(fds[i], (void *)&at, sizeof(at)), 0);
	}
	/* One more descriptor there is, for the first. */
	int next = dup(fds[0]);
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	now = (struct rlimit){ (rlim_t)next + 1, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	int busy = busy_turns(700);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(t.n, 1);
	assert_in_range(busy, 1, 20);
	for (int i = 0; i < 100 && t.n < ARRAY_LEN(fds); i++)
		turns(50);
	assert_int_equal(t.n, ARRAY_LEN(fds));
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	turns(50);
	finish();
}

/* One that has sent all it will is still told what there is, or is not. */
static void
test_half_closed(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)state;
	begin(NET_LIMITS_DEFAULT, "127.0.0.1", NULL);
	a.sin_port = htons(net_port(t.listener));
	for (size_t i = 0; i < 3; i++) {
		struct end *s = &t.ends[i];
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&a,
		    sizeof(a)), 0);
		s->stays = i == 1;
		turns(20);
		/* The third is being closed already when its end comes. */
		if (i == 2) {
			memset(buf_grow(net_out(s->conn), 5 << 20), 'x',
			    5 << 20);
			net_close(s->conn);
			turns(20);
		}
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		turns(50);
		if (i == 0) {
			assert_true(s->closed);
			assert_int_equal(drink(fd), 0);
		} else if (i == 1) {
			assert_true(s->ended && !s->closed);
			s->to_send = 5 << 20;
			s->close_when_sent = true;
			net_wake(s->conn);
		}
		if (i > 0)
			assert_int_equal(drink(fd), 5 << 20);
		assert_true(until(&s->closed, 2000));
		assert_int_equal(s->why.err, OK);
		close(fd);
	}
	finish();
}

static void
test_stall(void **state)
{
	struct net_limits l = NET_LIMITS_DEFAULT;
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)state;
	l.stall_ms = 700;
	begin(l, "127.0.0.1", NULL);
	a.sin_port = htons(net_port(t.listener));
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	turns(50);
	assert_int_equal(t.n, 1);
	t.ends[0].to_send = (size_t)1 << 30;
	net_wake(t.ends[0].conn);
	assert_true(until(&t.ends[0].closed, 4000));
	assert_int_equal(t.ends[0].why.err, ERR_TIMEOUT);
	close(fd);
	finish();
}

/* ---- TLS ---------------------------------------------------------------- */

static char folder[] = "/tmp/net_test.XXXXXX";
static char crt[100], key[100], other_crt[100], other_key[100];

static void
make_certificate(const char *crt_file, const char *key_file)
{
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 86400);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)"spider.test", -1, -1, 0);
	X509_set_issuer_name(x, name);
	X509_set_pubkey(x, pair);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL,
	    NID_subject_alt_name, "DNS:spider.test,IP:127.0.0.1");
	assert_int_equal(X509_add_ext(x, e, -1), 1);
	X509_EXTENSION_free(e);
	assert_true(X509_sign(x, pair, EVP_sha256()) > 0);
	FILE *f = fopen(crt_file, "w");
	assert_int_equal(PEM_write_X509(f, x), 1);
	fclose(f);
	f = fopen(key_file, "w");
	assert_int_equal(PEM_write_PrivateKey(f, pair, NULL, NULL, 0, NULL,
	    NULL), 1);
	fclose(f);
	X509_free(x);
	EVP_PKEY_free(pair);
}

static int
make_files(void **state)
{
	(void)state;
	system_ignore_sigpipe();
	assert_non_null(mkdtemp(folder));
	snprintf(crt, sizeof(crt), "%s/crt", folder);
	snprintf(key, sizeof(key), "%s/key", folder);
	snprintf(other_crt, sizeof(other_crt), "%s/crt2", folder);
	snprintf(other_key, sizeof(other_key), "%s/key2", folder);
	make_certificate(crt, key);
	make_certificate(other_crt, other_key);
	return 0;
}

static int
remove_files(void **state)
{
	(void)state;
	unlink(crt);
	unlink(key);
	unlink(other_crt);
	unlink(other_key);
	return rmdir(folder);
}

static struct net_tls *
trusting(const char *ca)
{
	struct net_tls *tls;
	struct why w = WHY_INIT;

	assert_int_equal(net_tls_client(ca, &tls, &w), OK);
	return tls;
}

static void
test_tls(void **state)
{
	struct net_tls *server, *client = trusting(crt);
	struct why w = WHY_INIT;
	struct end c, d, old;

	(void)state;
	assert_int_equal(net_tls_server(crt, key, &server, &w), OK);
	begin(NET_LIMITS_DEFAULT, "127.0.0.1", server);
	reach(&c, "127.0.0.1", client, "spider.test");
	assert_true(until(&c.opened, 3000));
	turns(50);
	struct end *s = &t.ends[0];
	s->keeps = false;
	s->to_send = c.to_send = 5 << 20;
	net_wake(s->conn);
	net_wake(c.conn);
	for (int k = 0; k < 500 && (s->got_n < 5 << 20 ||
	    c.got_n < 5 << 20); k++)
		turns(10);
	assert_int_equal(s->got_n, 5 << 20);
	assert_int_equal(c.got_n, 5 << 20);
	net_close(c.conn);
	assert_true(until(&c.closed, 3000));
	assert_int_equal(c.why.err, OK);
	assert_true(s->closed);
	assert_int_equal(s->why.err, OK);

	/* The address is verified where no name is given. */
	reach(&c, "127.0.0.1", client, NULL);
	assert_true(until(&c.opened, 3000));
	/* A wrong name, and a certificate that nobody knows. */
	reach(&d, "127.0.0.1", client, "other.test");
	assert_true(until(&d.closed, 3000));
	assert_false(d.opened);
	assert_non_null(strstr(d.why.text, "verify failed"));
	struct net_tls *strange = trusting(other_crt);
	reach(&d, "127.0.0.1", strange, "spider.test");
	assert_true(until(&d.closed, 3000));
	assert_false(d.opened);

	/* Plain text where TLS is wanted. */
	reach(&d, "127.0.0.1", NULL, NULL);
	assert_true(until(&d.opened, 1000));
	buf_put_text(net_out(d.conn), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	net_wake(d.conn);
	assert_true(until(&d.closed, 3000));

	/* A reload: old connections stay, new ones meet the new one. */
	assert_int_equal(rename(other_key, key), 0);
	w = WHY_INIT;
	assert_int_equal(net_tls_reload(server, &w), ERR_CONFIG);
	assert_non_null(strstr(w.text, key));
	reach(&old, "127.0.0.1", client, "spider.test");
	assert_true(until(&old.opened, 3000));
	assert_int_equal(rename(other_crt, crt), 0);
	assert_int_equal(net_tls_reload(server, &w), OK);
	assert_false(c.closed);
	reach(&d, "127.0.0.1", strange, "spider.test");
	assert_true(until(&d.opened, 3000));
	finish();
	net_tls_free(&strange);
	net_tls_free(&client);
	net_tls_free(&server);
	make_certificate(crt, key);
	make_certificate(other_crt, other_key);
}

/* Someone who offers no h2, or an old TLS only, or says nothing. */
static void
test_tls_refusals(void **state)
{
	static const char *const why_not[] = { "does not speak h2",
	    "no application protocol", "unsupported protocol" };
	struct net_limits l = NET_LIMITS_DEFAULT;
	struct net_tls *server;
	struct why w = WHY_INIT;
	struct end d;

	(void)state;
	l.handshake_ms = 600;
	assert_int_equal(net_tls_server(crt, key, &server, &w), OK);
	begin(l, "127.0.0.1", server);
	for (int i = 0; i < 3; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET,
		    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		    .sin_port = htons(net_port(t.listener)) };
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&a,
		    sizeof(a)), 0);
		SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
		SSL *ssl = SSL_new(ctx);
		turns(20);
		if (i == 1) {
			SSL_set_alpn_protos(ssl,
			    (const unsigned char *)"\x08http/1.1", 9);
		} else if (i == 2) {
			SSL_set_security_level(ssl, 0);
			SSL_set_max_proto_version(ssl, TLS1_1_VERSION);
			SSL_set_alpn_protos(ssl,
			    (const unsigned char *)"\x02h2", 3);
		}
		SSL_set_fd(ssl, fd);
		SSL_set_connect_state(ssl);
		assert_int_equal(SSL_set_min_proto_version(ssl, 0), 1);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		for (int k = 0; k < 100 && !t.ends[i].closed; k++) {
			(void)SSL_do_handshake(ssl);
			turns(5);
		}
		assert_true(t.ends[i].closed);
		assert_non_null(strstr(t.ends[i].why.text, why_not[i]));
		SSL_free(ssl);
		SSL_CTX_free(ctx);
		close(fd);
	}
	reach(&d, "127.0.0.1", NULL, NULL);
	assert_true(until(&d.closed, 3000));
	assert_int_equal(t.ends[3].why.err, ERR_TIMEOUT);
	finish();
	net_tls_free(&server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_not_reached),
		cmocka_unit_test(test_listen_errors),
		cmocka_unit_test(test_connections_max),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_half_closed),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_tls_refusals),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
