#include "os/transport_proxy.h"

static const struct {
	const char *scheme;
	enum transport_proxy_kind kind;
	uint16_t port;
} kinds[] = {
	{ "http", TRANSPORT_PROXY_HTTP, 80 },
	{ "socks4", TRANSPORT_PROXY_SOCKS4, 1080 },
	{ "socks4a", TRANSPORT_PROXY_SOCKS4A, 1080 },
	{ "socks5", TRANSPORT_PROXY_SOCKS5, 1080 },
	{ "socks5h", TRANSPORT_PROXY_SOCKS5H, 1080 },
};

static bool
decode(struct str in, char out[static TRANSPORT_PROXY_TEXT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < in.n; i++) {
		char c = in.p[i];
		if (c == '%') {
			int byte = str_percent_byte(str_from(in, i));
			if (byte < 0)
				return false;
			c = (char)byte;
			i += 2;
		}
		if (c == '\0' || n + 1 == TRANSPORT_PROXY_TEXT_MAX)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

static bool
read_scheme(struct str scheme, struct transport_proxy *p)
{
	size_t i = STR_ROW_NOCASE(scheme, kinds);

	if (i == ARRAY_LEN(kinds))
		return false;
	p->kind = kinds[i].kind;
	p->port = kinds[i].port;
	return true;
}

static bool
read_user(struct str part, struct transport_proxy *p)
{
	size_t colon = str_find_char(part, ':');

	p->has_user = true;
	return decode(str_cut(part, 0, colon), p->user) &&
	    decode(str_from(part, colon + 1), p->password);
}

static bool
read_host(struct str part, struct transport_proxy *p)
{
	bool brackets = str_starts(part, STR("["));
	size_t end = str_find_char(part, brackets ? ']' : ':');
	uint64_t port;

	p->host = str_cut(part, brackets, end);
	if (p->host.n == 0 || (brackets && end == part.n))
		return false;
	part = str_from(part, end + brackets);
	if (part.n == 0)
		return true;
	if (part.p[0] != ':' || !str_to_u64(str_from(part, 1), &port) ||
	    port == 0 || port > UINT16_MAX)
		return false;
	p->port = (uint16_t)port;
	return true;
}

bool
transport_proxy_read(struct str url, struct transport_proxy *p)
{
	size_t at = str_find(url, STR("://"));

	p->kind = TRANSPORT_PROXY_NONE;
	p->has_user = false;
	if (url.n == 0)
		return true;
	if (at == url.n || !read_scheme(str_cut(url, 0, at), p))
		return false;
	struct str rest = str_from(url, at + 3);
	if (str_ends(rest, STR("/")))
		rest.n--;
	const char *login_end = memrchr(rest.p, '@', rest.n);
	if (login_end != NULL) {
		at = (size_t)(login_end - rest.p);
		if (!read_user(str_cut(rest, 0, at), p))
			return false;
		rest = str_from(rest, at + 1);
	}
	return read_host(rest, p);
}
