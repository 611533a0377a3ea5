#include "os/transport_tunnel.h"

/* OpenSSL has a type of the name that base/err.h gives an error. */
#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#undef ERR_STATE

static enum transport_tunnel_state
fail_tunnel(struct transport_tunnel *t, const char *text)
{
	t->state = TRANSPORT_TUNNEL_REFUSED;
	snprintf(t->detail, sizeof(t->detail), "%s", text);
	return t->state;
}

static enum transport_tunnel_state
refuse_code(struct transport_tunnel *t, const char *what, unsigned code)
{
	t->state = TRANSPORT_TUNNEL_REFUSED;
	snprintf(t->detail, sizeof(t->detail), "%s %u", what, code);
	return t->state;
}

/* At most `n` bytes in `in`; false: they have not all come yet. */
static bool
gather(struct transport_tunnel *t, struct str *bytes, size_t n)
{
	struct str part = str_cut(*bytes, 0, n - MIN(n, t->in.n));

	buf_put_str(&t->in, part);
	*bytes = str_from(*bytes, part.n);
	return t->in.n >= n;
}

static unsigned
byte_at(const struct transport_tunnel *t, size_t i)
{
	return (unsigned char)t->in.p[i];
}

/* ---- HTTP --------------------------------------------------------------- */

void
transport_tunnel_put_login(struct buf *out, const struct transport_proxy *p)
{
	char plain[2 * TRANSPORT_PROXY_TEXT_MAX];
	unsigned char coded[4 * ((sizeof(plain) + 2) / 3) + 1];
	int n = snprintf(plain, sizeof(plain), "%s:%s", p->user, p->password);

	(void)EVP_EncodeBlock(coded, (const unsigned char *)plain, n);
	buf_put_str(out, STR("Proxy-Authorization: Basic "));
	buf_put_text(out, (const char *)coded);
	buf_put_str(out, STR("\r\n"));
	explicit_bzero(plain, sizeof(plain));
	explicit_bzero(coded, sizeof(coded));
}

static void
put_authority(struct buf *out, const struct transport_tunnel *t)
{
	bool brackets = str_find_char(t->host, ':') < t->host.n;

	if (brackets)
		buf_put_char(out, '[');
	buf_put_str(out, t->host);
	if (brackets)
		buf_put_char(out, ']');
	buf_put_char(out, ':');
	buf_put_decimal(out, t->port, 1);
}

static void
put_connect(struct buf *out, const struct transport_tunnel *t)
{
	buf_put_str(out, STR("CONNECT "));
	put_authority(out, t);
	buf_put_str(out, STR(" HTTP/1.1\r\nHost: "));
	put_authority(out, t);
	buf_put_str(out, STR("\r\n"));
	if (t->proxy->has_user)
		transport_tunnel_put_login(out, t->proxy);
	buf_put_str(out, STR("\r\n"));
}

/* "HTTP/1.1 200 Established": 200.  0: it is no such line. */
static unsigned
status_of(struct str line)
{
	struct str rest = str_from(line, str_find_char(line, ' '));
	unsigned status = 0;

	if (!str_starts_nocase(line, STR("HTTP/1.")))
		return 0;
	while (rest.n > 0 && rest.p[0] == ' ')
		rest = str_from(rest, 1);
	for (size_t i = 0; i < 3 && i < rest.n && ascii_is_digit(rest.p[i]);
	    i++)
		status = 10 * status + (unsigned)(rest.p[i] - '0');
	return status;
}

static enum transport_tunnel_state
end_head(struct transport_tunnel *t)
{
	unsigned status = status_of(buf_str(&t->in));

	if (status >= 100 && status < 200) {
		buf_clear(&t->in);
		t->line_at = 0;
		return t->state;
	}
	if (status < 200)
		return fail_tunnel(t, "the proxy does not speak HTTP");
	if (status > 299)
		return refuse_code(t, "the proxy answered CONNECT with",
		    status);
	t->state = TRANSPORT_TUNNEL_OPEN;
	return t->state;
}

static enum transport_tunnel_state
take_head(struct transport_tunnel *t, struct str *bytes)
{
	while (t->state == TRANSPORT_TUNNEL_ANSWER && bytes->n > 0) {
		size_t lf = str_find_char(*bytes, '\n');
		bool whole = lf < bytes->n;
		struct str part = str_cut(*bytes, 0, lf + 1);
		buf_put_str(&t->in, part);
		*bytes = str_from(*bytes, part.n);
		if (t->in.n > TRANSPORT_TUNNEL_HEAD_BYTES_MAX)
			return fail_tunnel(t,
			    "the proxy's answer is too large");
		if (!whole)
			break;
		struct str line = str_from(buf_str(&t->in), t->line_at);
		t->line_at = t->in.n;
		if (line.p[0] == '\r' || line.p[0] == '\n')
			(void)end_head(t);
	}
	return t->state;
}

/* ---- SOCKS 4 ------------------------------------------------------------ */

static enum transport_tunnel_state
begin_socks4(struct transport_tunnel *t, struct buf *out)
{
	static const char named[4] = { 0, 0, 0, 1 };

	if (!t->named && !ip_is_v4(&t->ip))
		return fail_tunnel(t, "SOCKS 4 knows no IPv6");
	buf_put(out, "\4\1", 2);
	buf_put_be16(out, t->port);
	if (t->named)
		buf_put(out, named, 4);
	else
		buf_put(out, t->ip.b + 12, 4);
	if (t->proxy->has_user)
		buf_put_text(out, t->proxy->user);
	buf_put_char(out, '\0');
	if (t->named) {
		buf_put_str(out, t->host);
		buf_put_char(out, '\0');
	}
	return t->state = TRANSPORT_TUNNEL_ANSWER;
}

static enum transport_tunnel_state
take_socks4(struct transport_tunnel *t, struct str *bytes)
{
	if (!gather(t, bytes, 8))
		return t->state;
	if (byte_at(t, 0) != 0)
		return fail_tunnel(t, "the proxy does not speak SOCKS 4");
	if (byte_at(t, 1) != 90)
		return refuse_code(t, "SOCKS 4: refused with", byte_at(t, 1));
	return t->state = TRANSPORT_TUNNEL_OPEN;
}

/* ---- SOCKS 5 ------------------------------------------------------------ */

static enum transport_tunnel_state
begin_socks5(struct transport_tunnel *t, struct buf *out)
{
	if (t->proxy->has_user)
		buf_put(out, "\5\2\0\2", 4);
	else
		buf_put(out, "\5\1\0", 3);
	return t->state = TRANSPORT_TUNNEL_METHOD;
}

static void
put_counted(struct buf *out, struct str s)
{
	buf_put_char(out, (char)s.n);
	buf_put_str(out, s);
}

static enum transport_tunnel_state
ask_socks5(struct transport_tunnel *t, struct buf *out)
{
	buf_clear(&t->in);
	buf_put(out, "\5\1\0", 3);
	if (t->named) {
		buf_put_char(out, 3);
		put_counted(out, t->host);
	} else if (ip_is_v4(&t->ip)) {
		buf_put_char(out, 1);
		buf_put(out, t->ip.b + 12, 4);
	} else {
		buf_put_char(out, 4);
		buf_put(out, t->ip.b, 16);
	}
	buf_put_be16(out, t->port);
	return t->state = TRANSPORT_TUNNEL_ANSWER;
}

static enum transport_tunnel_state
take_method(struct transport_tunnel *t, struct str *bytes, struct buf *out)
{
	const struct transport_proxy *p = t->proxy;

	if (!gather(t, bytes, 2))
		return t->state;
	if (byte_at(t, 0) != 5)
		return fail_tunnel(t, "the proxy does not speak SOCKS 5");
	if (byte_at(t, 1) == 0)
		return ask_socks5(t, out);
	if (byte_at(t, 1) != 2 || !p->has_user)
		return fail_tunnel(t, "SOCKS 5: the proxy wants credentials");
	buf_clear(&t->in);
	buf_put_char(out, 1);
	put_counted(out, str_of(p->user));
	put_counted(out, str_of(p->password));
	return t->state = TRANSPORT_TUNNEL_USER;
}

static enum transport_tunnel_state
take_user(struct transport_tunnel *t, struct str *bytes, struct buf *out)
{
	if (!gather(t, bytes, 2))
		return t->state;
	if (byte_at(t, 1) != 0)
		return fail_tunnel(t, "SOCKS 5: the credentials are refused");
	return ask_socks5(t, out);
}

/* The length of an answer whose first five bytes are here; 0: unknown. */
static size_t
answer_bytes(const struct transport_tunnel *t)
{
	switch (byte_at(t, 3)) {
	case 1:
		return 10;
	case 3:
		return 7 + byte_at(t, 4);
	case 4:
		return 22;
	default:
		return 0;
	}
}

static enum transport_tunnel_state
take_socks5(struct transport_tunnel *t, struct str *bytes)
{
	if (!gather(t, bytes, 5))
		return t->state;
	if (byte_at(t, 0) != 5)
		return fail_tunnel(t, "the proxy does not speak SOCKS 5");
	if (byte_at(t, 1) != 0)
		return refuse_code(t, "SOCKS 5: refused with", byte_at(t, 1));
	size_t n = answer_bytes(t);
	if (n == 0)
		return fail_tunnel(t, "SOCKS 5: an answer of an unknown kind");
	if (!gather(t, bytes, n))
		return t->state;
	return t->state = TRANSPORT_TUNNEL_OPEN;
}

/* ---- All ---------------------------------------------------------------- */

static bool
is_socks4(const struct transport_proxy *p)
{
	return p->kind == TRANSPORT_PROXY_SOCKS4 ||
	    p->kind == TRANSPORT_PROXY_SOCKS4A;
}

static bool
resolves_names(const struct transport_proxy *p)
{
	return p->kind == TRANSPORT_PROXY_SOCKS4A ||
	    p->kind == TRANSPORT_PROXY_SOCKS5H;
}

void
transport_tunnel_begin(struct transport_tunnel *t,
    const struct transport_proxy *p, struct str host, uint16_t port,
    const struct ip *ip, struct buf *out)
{
	*t = (struct transport_tunnel){ .proxy = p, .port = port };
	if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
		host = str_cut(host, 1, host.n - 1);
	t->host = host;
	t->named = ip == NULL || resolves_names(p);
	if (!t->named)
		t->ip = *ip;
	else if (ip_from_text(host, &t->ip))
		t->named = false;
	if (p->kind == TRANSPORT_PROXY_HTTP) {
		t->state = TRANSPORT_TUNNEL_ANSWER;
		put_connect(out, t);
	} else if (t->named && host.n > 255) {
		(void)fail_tunnel(t, "the host's name is too long for SOCKS");
	} else if (is_socks4(p)) {
		(void)begin_socks4(t, out);
	} else {
		(void)begin_socks5(t, out);
	}
}

enum transport_tunnel_state
transport_tunnel_take(struct transport_tunnel *t, struct str *bytes,
    struct buf *out)
{
	enum transport_tunnel_state before;

	do {
		before = t->state;
		if (before == TRANSPORT_TUNNEL_METHOD)
			(void)take_method(t, bytes, out);
		else if (before == TRANSPORT_TUNNEL_USER)
			(void)take_user(t, bytes, out);
		else if (before != TRANSPORT_TUNNEL_ANSWER)
			break;
		else if (t->proxy->kind == TRANSPORT_PROXY_HTTP)
			(void)take_head(t, bytes);
		else if (is_socks4(t->proxy))
			(void)take_socks4(t, bytes);
		else
			(void)take_socks5(t, bytes);
	} while (t->state != before);
	return t->state;
}

void
transport_tunnel_free(struct transport_tunnel *t)
{
	buf_free(&t->in);
}
