/*
 * The bytes that are sent to proxies, and how their answers are judged; each
 * answer is fed whole and in pieces of every length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "os/transport_tunnel.h"

#define BYTES(text) { text, sizeof(text) - 1 }

static const struct talk {
	const char *proxy, *host, *ip;
	struct str answer;           /* of the proxy, all that it says */
	struct str said;             /* by us, all of it */
	const char *detail;          /* NULL: the tunnel is open */
	size_t left;                 /* bytes of the answer, the host's */
} talks[] = {
	{ "socks4://p", "a.test", "10.1.2.3",
	    BYTES("\0\x5a\0\0\0\0\0\0"),
	    BYTES("\4\1\x12\x34\x0a\1\2\3\0"), NULL, 0 },
	{ "socks4://me@p", "a.test", NULL, BYTES("\0\x5a\0\0\0\0\0\0more"),
	    BYTES("\4\1\x12\x34\0\0\0\1me\0a.test\0"), NULL, 4 },
	{ "socks4a://p", "a.test", "10.1.2.3", BYTES("\0\x5b\0\0\0\0\0\0"),
	    BYTES("\4\1\x12\x34\0\0\0\1\0a.test\0"),
	    "SOCKS 4: refused with 91", 0 },
	{ "socks4a://p", "10.9.8.7", NULL, BYTES("\0\x5a\0\0\0\0\0\0"),
	    BYTES("\4\1\x12\x34\x0a\x09\x08\x07\0"), NULL, 0 },
	{ "socks4://p", "[::1]", "::1", BYTES(""), BYTES(""),
	    "SOCKS 4 knows no IPv6", 0 },
	{ "socks4://p", "a.test", NULL, BYTES("HTTP/1.1 400 Bad\r\n\r\n"),
	    BYTES("\4\1\x12\x34\0\0\0\1\0a.test\0"),
	    "the proxy does not speak SOCKS 4", 12 },
	{ "socks5://p", "a.test", "10.1.2.3",
	    BYTES("\5\0" "\5\0\0\1\1\2\3\4\5\6"),
	    BYTES("\5\1\0" "\5\1\0\1\x0a\1\2\3\x12\x34"), NULL, 0 },
	{ "socks5://p", "[2001:db8::1]", "2001:db8::1",
	    BYTES("\5\0" "\5\0\0\3\2ab\5\6x"),
	    BYTES("\5\1\0" "\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
	    "\x12\x34"), NULL, 1 },
	{ "socks5h://u:p@p", "a.test", "10.1.2.3",
	    BYTES("\5\2" "\1\0" "\5\0\0\4" "0123456789abcdef" "\5\6"),
	    BYTES("\5\2\0\2" "\1\1u\1p" "\5\1\0\3\6a.test\x12\x34"), NULL,
	    0 },
	{ "socks5h://u:p@p", "a.test", NULL, BYTES("\5\2" "\1\1"),
	    BYTES("\5\2\0\2" "\1\1u\1p"),
	    "SOCKS 5: the credentials are refused", 0 },
	{ "socks5h://p", "a.test", NULL, BYTES("\5\2"), BYTES("\5\1\0"),
	    "SOCKS 5: the proxy wants credentials", 0 },
	{ "socks5h://p", "a.test", NULL, BYTES("\5\xff"), BYTES("\5\1\0"),
	    "SOCKS 5: the proxy wants credentials", 0 },
	{ "socks5h://p", "a.test", NULL, BYTES("\4\0"), BYTES("\5\1\0"),
	    "the proxy does not speak SOCKS 5", 0 },
	{ "socks5h://p", "a.test", NULL, BYTES("\5\0" "\5\5\0\1\0"),
	    BYTES("\5\1\0" "\5\1\0\3\6a.test\x12\x34"),
	    "SOCKS 5: refused with 5", 0 },
	{ "socks5h://p", "a.test", NULL, BYTES("\5\0" "\5\0\0\2\0"),
	    BYTES("\5\1\0" "\5\1\0\3\6a.test\x12\x34"),
	    "SOCKS 5: an answer of an unknown kind", 0 },
	{ "http://p", "a.test", NULL,
	    BYTES("HTTP/1.1 103 Wait\r\nA: b\r\n\r\n"
	    "HTTP/1.0 200 OK\nA: b\n\n!"),
	    BYTES("CONNECT a.test:4660 HTTP/1.1\r\nHost: a.test:4660\r\n\r\n"),
	    NULL, 1 },
	{ "http://u:p@p", "[::1]", NULL, BYTES("HTTP/1.1 407 No\r\n\r\n"),
	    BYTES("CONNECT [::1]:4660 HTTP/1.1\r\nHost: [::1]:4660\r\n"
	    "Proxy-Authorization: Basic dTpw\r\n\r\n"),
	    "the proxy answered CONNECT with 407", 0 },
	{ "http://p", "a.test", NULL, BYTES("SSH-2.0-OpenSSH\r\n\r\n"),
	    BYTES("CONNECT a.test:4660 HTTP/1.1\r\nHost: a.test:4660\r\n\r\n"),
	    "the proxy does not speak HTTP", 0 },
};

static void
check_talk(const struct talk *k, size_t step)
{
	struct transport_proxy p;
	struct transport_tunnel t;
	struct buf said = BUF_INIT;
	struct ip ip;
	size_t left = k->answer.n;

	assert_true(transport_proxy_read(str_of(k->proxy), &p));
	if (k->ip != NULL)
		assert_true(ip_from_text(str_of(k->ip), &ip));
	transport_tunnel_begin(&t, &p, str_of(k->host), 0x1234,
	    k->ip != NULL ? &ip : NULL, &said);
	for (size_t at = 0; at < k->answer.n &&
	    t.state < TRANSPORT_TUNNEL_OPEN; at += step) {
		struct str bytes = str_cut(k->answer, at, at + step);
		size_t n = bytes.n;
		transport_tunnel_take(&t, &bytes, &said);
		left -= n - bytes.n;
	}
	if (k->detail == NULL ? t.state != TRANSPORT_TUNNEL_OPEN :
	    strcmp(t.detail, k->detail) != 0)
		fail_msg("%s: state %d, %s", k->proxy, (int)t.state,
		    t.detail);
	assert_int_equal(left, k->left);
	assert_int_equal(said.n, k->said.n);
	assert_memory_equal(said.p, k->said.p, said.n);
	transport_tunnel_free(&t);
	buf_free(&said);
}

static void
test_talks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(talks); i++)
		for (size_t step = 1; step < 64; step++)
			check_talk(&talks[i], step);
}

/* A CONNECT's answer may have so many bytes, and a name for SOCKS 255. */
static void
test_limits(void **state)
{
	static char head[TRANSPORT_TUNNEL_HEAD_BYTES_MAX + 2], host[257];
	struct transport_proxy p;
	struct transport_tunnel t;
	struct buf said = BUF_INIT;

	(void)state;
	assert_true(transport_proxy_read(STR("http://p"), &p));
	for (size_t more = 0; more < 2; more++) {
		size_t n = TRANSPORT_TUNNEL_HEAD_BYTES_MAX + more;
		memset(head, 'a', n);
		memcpy(head, "HTTP/1.1 200 ", 13);
		memcpy(head + n - 4, "\r\n\r\n", 4);
		struct str bytes = { head, n };
		transport_tunnel_begin(&t, &p, STR("h"), 1, NULL, &said);
		assert_int_equal(transport_tunnel_take(&t, &bytes, &said),
		    more ? TRANSPORT_TUNNEL_REFUSED : TRANSPORT_TUNNEL_OPEN);
		transport_tunnel_free(&t);
	}
	assert_true(transport_proxy_read(STR("socks5h://p"), &p));
	memset(host, 'h', 256);
	for (size_t n = 255; n < 257; n++) {
		transport_tunnel_begin(&t, &p, (struct str){ host, n }, 1,
		    NULL, &said);
		assert_int_equal(t.state, n == 255 ? TRANSPORT_TUNNEL_METHOD :
		    TRANSPORT_TUNNEL_REFUSED);
		transport_tunnel_free(&t);
	}
	buf_free(&said);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_talks),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
