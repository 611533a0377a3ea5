#include "engine/parser/url.h"

#include "base/ip.h"

/* ada's C header declares functions without prototypes. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <ada_c.h>
#pragma GCC diagnostic pop

/*
 * Most links of most pages are plain: "/a/b.html", "../c", "https://host/d?e"
 * in letters that need no change.  Those are resolved here in one pass over
 * their bytes; whatever shows the least peculiarity goes to ada, which also is
 * the oracle of the tests: both ways must agree on every input.
 */
enum {
	IN_HOST = 1,     /* lower-case host name */
	IN_PATH = 2,     /* stands in a path as it is */
	IN_QUERY = 4,
	IN_FRAGMENT = 8,
	IN_ALL = IN_HOST | IN_PATH | IN_QUERY | IN_FRAGMENT,
	IN_REST = IN_PATH | IN_QUERY | IN_FRAGMENT,
};

#define HOST_FAST_MAX 253u

static const uint8_t class_of[256] = {
	['a' ... 'z'] = IN_ALL, ['0' ... '9'] = IN_ALL,
	['A' ... 'Z'] = IN_REST,
	['-'] = IN_ALL, ['.'] = IN_ALL, ['_'] = IN_ALL,
	['~'] = IN_REST, ['!'] = IN_REST, ['$'] = IN_REST, ['&'] = IN_REST,
	['('] = IN_REST, [')'] = IN_REST, ['*'] = IN_REST, ['+'] = IN_REST,
	[','] = IN_REST, [';'] = IN_REST, ['='] = IN_REST, ['@'] = IN_REST,
	[':'] = IN_REST, ['/'] = IN_REST, ['%'] = IN_REST,
	['\''] = IN_PATH | IN_FRAGMENT,
	['?'] = IN_QUERY | IN_FRAGMENT,
};

static size_t
span(const char *p, size_t n, uint8_t class)
{
	size_t i = 0;

	while (i < n && (class_of[(unsigned char)p[i]] & class) != 0)
		i++;
	return i;
}

static uint16_t
default_port(enum url_scheme s)
{
	switch (s) {
	case URL_HTTP:
	case URL_WS:
		return 80;
	case URL_HTTPS:
	case URL_WSS:
		return 443;
	case URL_FTP:
		return 21;
	default:
		return 0;
	}
}

static enum url_scheme
scheme_of(struct str s)
{
	static const struct {
		struct str text;
		enum url_scheme scheme;
	} known[] = {
		{ { "http", 4 }, URL_HTTP }, { { "https", 5 }, URL_HTTPS },
		{ { "ftp", 3 }, URL_FTP }, { { "ws", 2 }, URL_WS },
		{ { "wss", 3 }, URL_WSS }, { { "file", 4 }, URL_FILE },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_eq(s, known[i].text))
			return known[i].scheme;
	return URL_OTHER;
}

/* Offsets of a plain URL's parts in its own text. */
struct cut {
	size_t path_n, query_n, fragment_n;
};

/*
 * Whether `s` (what follows the authority, or a relative path) is plain, and
 * where its query and fragment begin.  A segment that starts with a dot, also
 * when written "%2e", is not plain: it may be "." or "..".
 */
static bool
cut_plain(struct str s, struct cut *c)
{
	size_t i = 0;
	char before = '/';

	for (; i < s.n; i++) {
		char ch = s.p[i];
		if ((class_of[(unsigned char)ch] & IN_PATH) == 0)
			break;
		if (before == '/' && (ch == '.' || ch == '%'))
			return false;
		before = ch;
	}
	c->path_n = i;
	c->query_n = c->fragment_n = 0;
	if (i < s.n && s.p[i] == '?') {
		c->query_n = 1 + span(s.p + i + 1, s.n - i - 1, IN_QUERY);
		i += c->query_n;
	}
	if (i < s.n && s.p[i] == '#') {
		c->fragment_n = 1 + span(s.p + i + 1, s.n - i - 1, IN_FRAGMENT);
		i += c->fragment_n;
	}
	return i == s.n;
}

/*
 * A host that ada would leave as it is: no empty label, no punycode to verify,
 * and an IPv4 address as it is written by itself, or a last label that cannot
 * be part of one.
 */
static bool
host_is_plain(struct str host)
{
	size_t last = 0;
	uint8_t v4[4];

	if (host.n == 0 || host.n > HOST_FAST_MAX)
		return false;
	if (ascii_is_digit(host.p[0]) && ip_v4_from_text(host, v4))
		return true;
	for (size_t i = 0; i < host.n; i++) {
		if (host.p[i] == '.') {
			if (i == last)
				return false;
			last = i + 1;
		} else if (i == last && host.p[i] == 'x') {
			if (str_starts(str_from(host, i), STR("xn--")))
				return false;
		}
	}
	return last < host.n && ascii_is_alpha(host.p[last]);
}

/* ":8080" without leading zero and not the default, or nothing. */
static bool
port_is_plain(struct str s, enum url_scheme scheme, struct url *u)
{
	uint64_t port;

	u->port = default_port(scheme);
	u->port_given = s.n != 0;
	if (s.n == 0)
		return true;
	if (s.n < 2 || s.n > 6 || s.p[1] == '0' ||
	    !str_to_u64(str_from(s, 1), &port) || port > 65535 ||
	    port == u->port)
		return false;
	u->port = (uint16_t)port;
	return true;
}

static void
place_rest(struct url *u, const char *at, const struct cut *c)
{
	u->path = (struct str){ at, c->path_n };
	u->query = (struct str){ at + c->path_n, c->query_n };
	at += c->path_n + c->query_n;
	u->fragment = (struct str){ at, c->fragment_n };
}

/* "http://host:port/path?query#fragment" in plain letters. */
static bool
parse_plain_absolute(struct str in, struct arena *a, struct url *out)
{
	struct url u = { 0 };
	struct cut c;
	size_t at, host_n, port_n = 0;

	if (in.n < 8 || memcmp(in.p, "http", 4) != 0)
		return false;
	u.scheme = in.p[4] == 's' ? URL_HTTPS : URL_HTTP;
	at = u.scheme == URL_HTTPS ? 5 : 4;
	if (memcmp(in.p + at, "://", 3) != 0)
		return false;
	at += 3;
	host_n = span(in.p + at, in.n - at, IN_HOST);
	if (!host_is_plain((struct str){ in.p + at, host_n }))
		return false;
	size_t end = at + host_n;
	if (end < in.n && in.p[end] == ':')
		while (end + port_n < in.n && in.p[end + port_n] != '/')
			port_n++;
	if (!port_is_plain((struct str){ in.p + end, port_n }, u.scheme, &u))
		return false;
	end += port_n;
	/* Without a path ada puts in the "/". */
	bool bare = end == in.n;
	if (!bare && (in.p[end] != '/' || !cut_plain(str_from(in, end), &c)))
		return false;
	if (bare)
		c = (struct cut){ 1, 0, 0 };

	char *p = arena_bytes(a, in.n + 2);
	memcpy(p, in.p, in.n);
	if (bare)
		p[end] = '/';
	u.href = (struct str){ p, in.n + bare };
	p[u.href.n] = '\0';
	u.scheme_text = (struct str){ p, at - 3 };
	u.host = (struct str){ p + at, host_n };
	u.username = u.password = (struct str){ p + at, 0 };
	place_rest(&u, p + end, &c);
	*out = u;
	return true;
}

/* Cut "./" and "../" off the front of `*in`, and the base's path with it. */
static size_t
climb(struct str *in, struct str base_path)
{
	size_t dir_n = base_path.n;

	while (dir_n > 1 && base_path.p[dir_n - 1] != '/')
		dir_n--;
	for (;;) {
		if (str_starts(*in, STR("./"))) {
			*in = str_from(*in, 2);
		} else if (str_starts(*in, STR("../"))) {
			*in = str_from(*in, 3);
			if (dir_n > 1)
				dir_n--;
			while (dir_n > 1 && base_path.p[dir_n - 1] != '/')
				dir_n--;
		} else {
			return dir_n;
		}
	}
}

/* Whether "x:" at the front of a relative reference could be a scheme. */
static bool
may_have_scheme(struct str in)
{
	for (size_t i = 0; i < in.n; i++) {
		char ch = in.p[i];
		if (ch == ':')
			return true;
		if (ch == '/' || ch == '?' || ch == '#')
			return false;
	}
	return false;
}

/* The part before the path, at its address in `out`. */
static struct str
moved(struct str part, const struct url *base, const char *to)
{
	return part.n == 0 ? (struct str){ to, 0 } :
	    (struct str){ to + (part.p - base->href.p), part.n };
}

/* "/path", "path", "../path", "?query", "#fragment" under an http base. */
static bool
parse_plain_relative(struct str in, const struct url *base, struct arena *a,
    struct url *out)
{
	size_t keep, authority_n = (size_t)(base->path.p - base->href.p);
	struct str old = base->href;
	struct cut c;

	if (base->scheme != URL_HTTP && base->scheme != URL_HTTPS)
		return false;
	if (in.n == 0 || in.p[0] == '#') {
		keep = old.n - base->fragment.n;
	} else if (in.p[0] == '?') {
		keep = authority_n + base->path.n;
	} else if (in.p[0] == '/') {
		if (in.n > 1 && in.p[1] == '/')
			return false;
		keep = authority_n;
	} else {
		if (may_have_scheme(in))
			return false;
		keep = authority_n + climb(&in, base->path);
	}
	/*
	 * After the cut of "../" an empty rest or a leading "/" is fine: the
	 * kept directory ends in "/" and empty segments stay empty segments.
	 */
	if (!cut_plain(in, &c))
		return false;

	char *p = arena_bytes(a, keep + in.n + 1);
	memcpy(p, old.p, keep);
	if (in.n != 0)
		memcpy(p + keep, in.p, in.n);
	p[keep + in.n] = '\0';
	struct url u = *base;
	u.href = (struct str){ p, keep + in.n };
	u.scheme_text = moved(base->scheme_text, base, p);
	u.username = moved(base->username, base, p);
	u.password = moved(base->password, base, p);
	u.host = moved(base->host, base, p);
	if (keep > authority_n + base->path.n)
		c.query_n += keep - authority_n - base->path.n;
	c.path_n += MIN(keep - authority_n, base->path.n);
	place_rest(&u, p + authority_n, &c);
	*out = u;
	return true;
}

/* Take what ada found; its offsets are documented in ada's url_components. */
static void
take_parts(struct url *u, const ada_url_components *c)
{
	const char *p = u->href.p;
	uint32_t end = (uint32_t)u->href.n, host = c->host_start;
	uint32_t hash = c->hash_start == ada_url_omitted ? end : c->hash_start;
	uint32_t search = c->search_start == ada_url_omitted ? hash :
	    c->search_start;
	uint32_t user = c->protocol_end + 2;

	u->scheme_text = (struct str){ p, c->protocol_end - 1 };
	u->scheme = scheme_of(u->scheme_text);
	u->username = u->password = (struct str){ p + c->host_start, 0 };
	if (c->username_end > user)
		u->username = (struct str){ p + user, c->username_end - user };
	if (c->host_start > c->username_end)
		u->password = (struct str){ p + c->username_end + 1,
		    c->host_start - c->username_end - 1 };
	if (c->host_end > host && p[host] == '@')
		host++;
	u->host = (struct str){ p + host, c->host_end - host };
	u->port_given = c->port != ada_url_omitted;
	u->port = u->port_given ? (uint16_t)c->port : default_port(u->scheme);
	u->path = (struct str){ p + c->pathname_start,
	    search - c->pathname_start };
	u->query = (struct str){ p + search, hash - search };
	u->fragment = (struct str){ p + hash, end - hash };
}

/*
 * Under a base like "mailto:x" only a fragment is relative.  ada 3.4.4 would
 * resolve "x#f" against it, so such an input goes in without the base.
 */
static bool
needs_base(struct str in, const struct url *base)
{
	size_t i = 0;

	if (str_starts(str_from(base->href, base->scheme_text.n + 1), STR("/")))
		return true;
	while (i < in.n && (unsigned char)in.p[i] <= ' ')
		i++;
	return i < in.n && in.p[i] == '#';
}

enum err
url_parse_slow(struct str in, const struct url *base, struct arena *a,
    struct url *out, struct why *w)
{
	ada_url got;

	if (in.n > URL_BYTES_MAX)
		return why(w, ERR_INPUT, "the URL has more than %u bytes",
		    URL_BYTES_MAX);
	if (in.n == 0)
		in = STR("");
	got = base == NULL || !needs_base(in, base) ? ada_parse(in.p, in.n) :
	    ada_parse_with_base(in.p, in.n, base->href.p, base->href.n);
	if (!ada_is_valid(got)) {
		ada_free(got);
		/* Nobody is told again what may be a password. */
		return str_find_char(in, '@') < in.n ?
		    why(w, ERR_INPUT, "not a URL") :
		    why(w, ERR_INPUT, "not a URL: \"%.*s\"",
		    (int)MIN(in.n, 200u), in.p);
	}
	ada_string href = ada_get_href(got);
	*out = (struct url){ 0 };
	out->href = arena_copy(a, (struct str){ href.data, href.length });
	take_parts(out, ada_get_components(got));
	ada_free(got);
	return OK;
}

enum err
url_parse(struct str in, const struct url *base, struct arena *a,
    struct url *out, struct why *w)
{
	if (in.n <= URL_BYTES_MAX) {
		if (parse_plain_absolute(in, a, out))
			return OK;
		if (base != NULL && parse_plain_relative(in, base, a, out))
			return OK;
	}
	return url_parse_slow(in, base, a, out, w);
}

static bool
is_listed(struct str name, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(name, list[i]))
			return true;
	return false;
}

/* Copy the path without ";name=value" for the listed names. */
static char *
put_path(char *to, struct str path, const struct str *strip, size_t strip_n)
{
	size_t i = 0;

	while (i < path.n) {
		size_t end = i + 1;
		while (end < path.n && path.p[end] != ';' && path.p[end] != '/')
			end++;
		struct str name = str_cut(path, i + 1, end);
		name.n = str_find_char(name, '=');
		if (path.p[i] != ';' || !is_listed(name, strip, strip_n)) {
			memcpy(to, path.p + i, end - i);
			to += end - i;
		}
		i = end;
	}
	return to;
}

/* Copy the query without the listed parameters; with none left, nothing. */
static char *
put_query(char *to, struct str query, const struct str *strip, size_t strip_n)
{
	struct str rest = str_from(query, 1), part;
	bool first = true, cut = false;
	char *start = to;

	while (str_split(&rest, '&', &part)) {
		struct str name = { part.p, str_find_char(part, '=') };
		if (is_listed(name, strip, strip_n)) {
			cut = true;
			continue;
		}
		*to++ = first ? '?' : '&';
		first = false;
		if (part.n != 0)
			memcpy(to, part.p, part.n);
		to += part.n;
	}
	if (cut)
		return to;
	/* Untouched: a final "&" or a lone "?" stays as it was written. */
	if (query.n != 0)
		memcpy(start, query.p, query.n);
	return start + query.n;
}

enum err
url_canonical(const struct url *u, const struct str *strip, size_t strip_n,
    struct arena *a, struct url *out, struct why *w)
{
	bool web = u->scheme == URL_HTTP || u->scheme == URL_HTTPS;
	bool credentials = u->username.n + u->password.n != 0;
	const char *p = u->href.p, *host = u->host.p;
	size_t host_at, path_at = (size_t)(u->path.p - p);
	char *to, *start = arena_bytes(a, u->href.n + 1);

	if (credentials) {
		memcpy(start, p, u->scheme_text.n + 3);
		to = start + u->scheme_text.n + 3;
	} else {
		memcpy(start, p, (size_t)(host - p));
		to = start + (host - p);
	}
	host_at = (size_t)(to - start);
	memcpy(to, host, path_at - (size_t)(host - p));
	to += path_at - (size_t)(host - p);
	char *path = to;
	bool strips = web && strip_n != 0;
	if (strips && memchr(u->path.p, ';', u->path.n) != NULL)
		to = put_path(to, u->path, strip, strip_n);
	else
		to = (char *)mempcpy(to, u->path.p, u->path.n);
	size_t path_n = (size_t)(to - path);
	char *query = to;
	if (strips && u->query.n != 0)
		to = put_query(to, u->query, strip, strip_n);
	else
		to = (char *)mempcpy(to, u->query.p, u->query.n);
	*to = '\0';
	struct str href = { start, (size_t)(to - start) };
	/* "/..;sid=1/" was a name and is a step upwards now: resolve it. */
	if (path_n != u->path.n)
		return url_parse(href, NULL, a, out, w);

	struct url v = *u;
	v.href = href;
	v.scheme_text = (struct str){ start, u->scheme_text.n };
	v.host = (struct str){ start + host_at, u->host.n };
	v.username = v.password = (struct str){ v.host.p, 0 };
	v.path = (struct str){ path, path_n };
	v.query = (struct str){ query, (size_t)(to - query) };
	v.fragment = (struct str){ to, 0 };
	*out = v;
	return OK;
}

struct str
url_origin(const struct url *u, struct arena *a)
{
	if (u->scheme == URL_OTHER || u->scheme == URL_FILE)
		return STR("null");
	char *p = arena_bytes(a, u->scheme_text.n + u->host.n + 10), *to = p;
	to = mempcpy(to, u->scheme_text.p, u->scheme_text.n);
	to = mempcpy(to, "://", 3);
	to = mempcpy(to, u->host.p, u->host.n);
	if (u->port_given) {
		*to++ = ':';
		to = ascii_put_decimal(to, u->port);
	}
	*to = '\0';
	return (struct str){ p, (size_t)(to - p) };
}

struct str
url_target(const struct url *u)
{
	return (struct str){ u->path.p, u->path.n + u->query.n };
}
