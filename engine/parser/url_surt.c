#include "engine/parser/url.h"

/*
 * The key under which pywb, cdxj-indexer and the Wayback machines look a URL
 * up: that of the Python package "surt" with its default rules.  A key of our
 * own would be nicer and useless, since a replay computes its key by itself.
 * The rules, in their order: the host without "www<digits>." and reversed; path
 * and query percent-decoded until nothing changes, empty and dot segments
 * dropped, encoded once; session ids dropped; lower case; no "/" at the end of
 * a path; the query's parameters sorted.
 */

#define ARGS_SORT_MAX 4096u
#define SESSION_CHARS 32u
/* A query beyond this keeps its session ids: the search is not linear. */
#define SESSION_QUERY_MAX 8192u
#define ASP_CHARS 24u

/*
 * Percent-decode until nothing changes, in one pass: each byte put may complete
 * a "%XX", whose byte may complete an earlier one.  Returns the length.
 */
static size_t
decode_fully(struct str s, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		out[n++] = s.p[i];
		int byte;
		while (n >= 3 && (byte = str_percent_byte((struct str){
		    out + n - 3, 3 })) >= 0) {
			n -= 2;
			out[n - 1] = (char)byte;
		}
	}
	return n;
}

static char *
put_encoded(char *to, struct str s)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c > 0x20 && c < 0x7f && c != '%' && c != '#') {
			*to++ = (char)c;
		} else {
			*to++ = '%';
			*to++ = hex[c >> 4];
			*to++ = hex[c & 15];
		}
	}
	return to;
}

/*
 * Drop "." segments, take ".." back, in place; an empty segment is one that
 * ".." takes back, and only then do runs of "/" become one.
 */
static size_t
drop_dots(char *p, size_t n)
{
	struct str rest = { p + 1, n - 1 }, part;
	size_t to = 0, out = 0;

	while (str_split(&rest, '/', &part)) {
		if (str_eq(part, STR(".")))
			continue;
		if (str_eq(part, STR("..")) && to > 0) {
			while (p[--to] != '/')
				;
			continue;
		}
		p[to++] = '/';
		memmove(p + to, part.p, part.n);
		to += part.n;
	}
	if (to == 0)
		p[to++] = '/';
	for (size_t i = 0; i < to; i++)
		if (p[i] != '/' || out == 0 || p[out - 1] != '/')
			p[out++] = p[i];
	return out;
}

static bool
is_alnum_run(struct str s, size_t from, size_t n)
{
	if (s.n < from || s.n - from < n)
		return false;
	for (size_t i = from; i < from + n; i++)
		if (!ascii_is_digit(s.p[i]) && !ascii_is_alpha(s.p[i]))
			return false;
	return true;
}

/* Length of "(S(24 letters)F(...))/" or "(24 letters)/" at the front, or 0. */
static size_t
asp_session(struct str s, bool nested)
{
	size_t at = 1;

	if (s.n < 2 || s.p[0] != '(')
		return 0;
	if (!nested) {
		if (!is_alnum_run(s, at, ASP_CHARS))
			return 0;
		at += ASP_CHARS;
	}
	while (nested && at + ASP_CHARS + 3 <= s.n &&
	    ascii_is_alpha(s.p[at]) && s.p[at + 1] == '(' &&
	    is_alnum_run(s, at + 2, ASP_CHARS) &&
	    s.p[at + 2 + ASP_CHARS] == ')')
		at += ASP_CHARS + 3;
	return at > 1 && str_starts(str_from(s, at), STR(")/")) ? at + 2 : 0;
}

/* Drop the last session segment that has ".aspx" behind a byte after it. */
static size_t
drop_path_session(char *p, size_t n, bool nested)
{
	size_t aspx = n;

	while (aspx > 0 && !str_starts_nocase(
	    (struct str){ p + aspx, n - aspx }, STR(".aspx")))
		aspx--;
	for (size_t i = aspx; i-- > 0; ) {
		struct str after = { p + i + 1, n - i - 1 };
		size_t cut = p[i] == '/' ? asp_session(after, nested) : 0;
		if (cut != 0 && i + 1 + cut < aspx &&
		    memchr(p + i + 1 + cut, '?', aspx - i - 1 - cut) == NULL) {
			memmove(p + i + 1, after.p + cut, after.n - cut);
			return n - cut;
		}
	}
	return n;
}

/* Length of the session parameter at the front of `s`, or 0. */
static size_t
session_param(struct str s, int kind)
{
	static const struct str names[] = {
		{ "jsessionid=", 11 }, { "phpsessid=", 10 }, { "sid=", 4 },
		{ "aspsessionid", 12 }, { "cfid=", 5 },
	};
	size_t n = names[kind].n;

	if (!str_starts_nocase(s, names[kind]))
		return 0;
	if (kind < 3)
		return is_alnum_run(s, n, SESSION_CHARS) ?
		    n + SESSION_CHARS : 0;
	if (kind == 3) {
		for (size_t i = n; i < n + 33; i++) {
			if (i >= s.n || (i == n + 8 ? s.p[i] != '=' :
			    !ascii_is_alpha(s.p[i])))
				return 0;
		}
		return n + 33;
	}
	size_t first = str_find_char(str_from(s, n), '&');
	struct str then = str_from(s, n + first + 1);
	if (first == 0 || !str_starts_nocase(then, STR("cftoken=")))
		return 0;
	size_t second = str_find_char(str_from(then, 8), '&');
	return second == 0 ? 0 : n + first + 1 + 8 + second;
}

/* As the package does: each kind once, its last place. */
static size_t
drop_query_session(char *p, size_t n)
{
	for (int kind = 0; kind < 5 && n <= SESSION_QUERY_MAX; kind++) {
		for (size_t i = n; i-- > 0; ) {
			struct str s = { p + i, n - i };
			size_t cut = session_param(s, kind);
			if (cut == 0 || (cut < s.n && s.p[cut] != '&'))
				continue;
			cut += cut < s.n;
			memmove(p + i, s.p + cut, s.n - cut);
			n -= cut;
			break;
		}
	}
	return n;
}

static int
arg_cmp(const void *va, const void *vb)
{
	const struct str *a = va, *b = vb;
	size_t an = str_find_char(*a, '='), bn = str_find_char(*b, '=');
	int c = str_cmp(str_cut(*a, 0, an), str_cut(*b, 0, bn));

	/* Same name: "a" before "a=", then by value. */
	return c != 0 ? c : str_cmp(str_from(*a, an), str_from(*b, bn));
}

static void
sort_args(char *p, size_t n, struct arena *a)
{
	struct str all = arena_copy(a, (struct str){ p, n }), part;
	size_t count = 1;

	for (size_t i = 0; i < n; i++)
		count += p[i] == '&';
	if (n <= 1 || count < 2 || count > ARGS_SORT_MAX)
		return;
	struct str *args = ARENA_ARRAY(a, struct str, count);
	size_t k = 0;
	while (str_split(&all, '&', &part))
		args[k++] = part;
	while (k < count)
		args[k++] = STR_NONE;
	qsort(args, count, sizeof(args[0]), arg_cmp);
	for (k = 0; k < count; k++) {
		if (args[k].n != 0)
			p = mempcpy(p, args[k].p, args[k].n);
		if (k + 1 < count)
			*p++ = '&';
	}
}

static void
lower(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = ascii_lower(p[i]);
}

static char *
put_host(char *to, struct str host)
{
	size_t www = 3;

	if (host.n > 1 && host.p[0] == '[')
		return mempcpy(to, host.p + 1, host.n - 2);
	while (host.n > 1 && host.p[0] == '.')
		host = str_from(host, 1);
	while (host.n > 1 && host.p[host.n - 1] == '.')
		host.n--;
	if (str_starts(host, STR("www"))) {
		while (www < host.n && ascii_is_digit(host.p[www]))
			www++;
		if (www < host.n && host.p[www] == '.')
			host = str_from(host, www + 1);
	}
	size_t end = host.n;
	for (size_t i = host.n; i-- > 0; ) {
		if (host.p[i] != '.')
			continue;
		if (end > i + 1) {
			to = mempcpy(to, host.p + i + 1, end - i - 1);
			*to++ = ',';
		}
		end = i;
	}
	return mempcpy(to, host.p, end);
}

static char *
put_path(char *to, struct str path, char *tmp)
{
	size_t n = decode_fully(path, tmp);
	char *start = to;

	n = drop_dots(tmp, n);
	to = put_encoded(to, (struct str){ tmp, n });
	n = (size_t)(to - start);
	lower(start, n);
	n = drop_path_session(start, n, true);
	n = drop_path_session(start, n, false);
	if (n > 1 && start[n - 1] == '/')
		n--;
	return start + n;
}

static char *
put_query(char *to, struct str query, char *tmp, struct arena *a)
{
	size_t n = decode_fully(str_from(query, 1), tmp);
	char *start = to + 1;

	n = (size_t)(put_encoded(start, (struct str){ tmp, n }) - start);
	n = drop_query_session(start, n);
	lower(start, n);
	sort_args(start, n, a);
	if (n == 0)
		return to;
	*to = '?';
	return start + n;
}

struct str
url_surt(const struct url *u, struct arena *a)
{
	if (u->host.n == 0 || u->path.n == 0 || u->path.p[0] != '/')
		return arena_copy(a, u->href);
	size_t rest_n = u->path.n + u->query.n;
	char *tmp = arena_bytes(a, rest_n + 1);
	char *start = arena_bytes(a, u->host.n + 16 + 3 * rest_n), *to = start;

	to = put_host(to, u->host);
	if (u->port_given) {
		*to++ = ':';
		to = ascii_put_decimal(to, u->port);
	}
	*to++ = ')';
	to = put_path(to, u->path, tmp);
	if (u->query.n > 1)
		to = put_query(to, u->query, tmp, a);
	*to = '\0';
	return (struct str){ start, (size_t)(to - start) };
}
