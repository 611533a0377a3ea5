#include "server/web_own.h"

#include "base/json_writer.h"

/* -- Names of this machine -- */

/* "127.1.2.3", four plain decimals. */
static bool
is_loopback4(struct str s)
{
	struct str part;
	uint64_t byte;
	int n = 0;

	if (!str_starts(s, STR("127.")))
		return false;
	while (str_split(&s, '.', &part)) {
		bool zero = part.n > 1 && part.p[0] == '0';
		if (zero || !str_to_u64(part, &byte) || byte > 255)
			return false;
		n++;
	}
	return n == 4;
}

bool
web_address_is_loopback(const char *text)
{
	return is_loopback4(str_of(text)) || strcmp(text, "::1") == 0;
}

/* Take ":port" off the end; false when what follows the ':' is no port. */
static bool
cut_port(struct str *host)
{
	size_t colon = str_find_char(*host, ':');
	uint64_t port;

	if (colon == host->n)
		return true;
	if (!str_to_u64(str_from(*host, colon + 1), &port) || port > 65535)
		return false;
	*host = str_cut(*host, 0, colon);
	return true;
}

bool
web_host_is_loopback(struct str host)
{
	if (str_starts(host, STR("[::1]"))) {
		host = str_from(host, 5);
		return cut_port(&host) && host.n == 0;
	}
	if (!cut_port(&host))
		return false;
	if (str_eq_nocase(host, STR("localhost")))
		return true;
	/* RFC 6761 §6.3: all of .localhost is the machine itself. */
	if (host.n > 10 && str_eq_nocase(str_from(host, host.n - 10),
	    STR(".localhost")))
		return true;
	return is_loopback4(host);
}

/* The part after http:// or https://; STR_NONE for other texts. */
static struct str
host_of(struct str origin)
{
	if (str_starts_nocase(origin, STR("http://")))
		return str_from(origin, 7);
	if (str_starts_nocase(origin, STR("https://")))
		return str_from(origin, 8);
	return STR_NONE;
}

bool
web_origin_is_loopback(struct str origin)
{
	return web_host_is_loopback(host_of(origin));
}

bool
web_origin_is_of(struct str origin, struct str host)
{
	return host.n > 0 && str_eq_nocase(host_of(origin), host);
}

bool
web_origin_is_listed(struct str origin, struct str origins)
{
	struct str part;

	while (origin.n > 0 && str_split(&origins, ',', &part))
		if (str_eq_nocase(str_trim(part), origin))
			return true;
	return false;
}

/* -- Routes -- */

static bool
takes(const struct web_route *r, struct str method)
{
	return str_eq(str_of(r->method), method) ||
	    (str_eq(method, STR("HEAD")) && strcmp(r->method, "GET") == 0);
}

/* Whether a segment, as it came, is that text once it is decoded; `ids`: as it
 * is. */
static bool
segment_is(struct str want, struct str raw, bool ids)
{
	size_t n = 0;

	if (str_eq(want, STR("*")))
		return raw.n > 0;
	if (ids)
		return str_eq(want, raw);
	for (size_t i = 0; i < raw.n; i++, n++) {
		char c = raw.p[i];
		int byte = str_percent_byte(str_from(raw, i));
		if (byte >= 0) {
			c = (char)byte;
			i += 2;
		}
		if (n == want.n || c != want.p[n])
			return false;
	}
	return n == want.n;
}

/*
 * How many bytes of a path, as it came, a row's path takes from the start;
 * SIZE_MAX: it is another path.
 */
static size_t
taken(const struct web_route *r, struct str path)
{
	struct str want = str_of(r->path);
	size_t at = 0;

	while (want.n > 0) {
		if (at == path.n)
			return SIZE_MAX;
		want = str_from(want, 1);
		at++;
		struct str word = str_cut(want, 0, str_find_char(want, '/'));
		want = str_from(want, word.n);
		if (want.n == 0 && word.n == 0 && r->match == WEB_PREFIX)
			return at;
		struct str rest = str_from(path, at);
		struct str segment = str_cut(rest, 0,
		    str_find_char(rest, '/'));
		if (!segment_is(word, segment, r->ids))
			return SIZE_MAX;
		at += segment.n;
	}
	return at;
}

struct str
web_route_rest(const struct web_route *r, struct str path)
{
	return str_from(path, taken(r, path));
}

/* How well a route fits a path: 0 not at all, exact above any prefix. */
static size_t
fit(const struct web_route *r, struct str path)
{
	struct str want = str_of(r->path);
	size_t n = taken(r, path);

	if (n == SIZE_MAX)
		return 0;
	if (r->match == WEB_EXACT)
		return n < path.n ? 0 : SIZE_MAX -
		    (str_find_char(want, '*') < want.n);
	return want.n;
}

void
web_routes_check(const struct web_route *const *routes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct web_route *a = routes[i];
		CHECK(a->method != NULL && a->path != NULL &&
		    a->path[0] == '/' && a->handle != NULL);
		CHECK(a->match == WEB_EXACT ||
		    a->path[strlen(a->path) - 1] == '/');
		CHECK(a->origins == NULL || a->open != WEB_TO_OWN_PAGES);
		for (size_t j = 0; j < i; j++)
			CHECK(a->match != routes[j]->match ||
			    strcmp(a->path, routes[j]->path) != 0 ||
			    strcmp(a->method, routes[j]->method) != 0);
	}
}

size_t
web_route_find(const struct web_route *const *routes, size_t n,
    struct str method, struct str path, bool *path_known)
{
	size_t best = 0, row = n;

	*path_known = false;
	for (size_t i = 0; i < n; i++) {
		size_t f = fit(routes[i], path);
		if (f == 0)
			continue;
		*path_known = true;
		if (f > best && takes(routes[i], method)) {
			best = f;
			row = i;
		}
	}
	return row;
}

struct str
web_route_allow(const struct web_route *const *routes, size_t n,
    struct str path, struct arena *a)
{
	struct str all = STR("");

	for (size_t i = 0; i < n; i++) {
		bool seen = false;
		if (fit(routes[i], path) == 0)
			continue;
		for (size_t j = 0; j < i && !seen; j++)
			seen = fit(routes[j], path) != 0 &&
			    strcmp(routes[j]->method, routes[i]->method) == 0;
		if (seen)
			continue;
		all = arena_printf(a, "%.*s%s%s%s", STR_FMT(all),
		    all.n == 0 ? "" : ", ", routes[i]->method,
		    strcmp(routes[i]->method, "GET") == 0 ? ", HEAD" : "");
	}
	return all;
}

/* -- Paths of WebSockets -- */

void
web_sockets_check(const struct web_socket_path *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CHECK(rows[i].path != NULL && rows[i].events != NULL);
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(rows[i].path, rows[k].path) != 0);
	}
}

const struct web_socket_path *
web_socket_find(const struct web_socket_path *rows, size_t n, struct str path)
{
	const struct web_socket_path *any = NULL;

	for (size_t i = 0; i < n; i++) {
		if (str_eq(str_of(rows[i].path), path))
			return &rows[i];
		if (strcmp(rows[i].path, "*") == 0)
			any = &rows[i];
	}
	return any;
}

/* -- Answers -- */

void
web_error_json(struct buf *b, struct str error, const char *code)
{
	json_object(b, NULL);
	json_str(b, "error", error);
	json_str(b, "code", str_of(code));
	buf_put_text(b, "}\n");
}

static const struct {
	int code;
	const char *text;
} statuses[] = {
#define WEB_STATUS_ROW(code, text) { code, text },
	WEB_STATUSES(WEB_STATUS_ROW)
#undef WEB_STATUS_ROW
};

size_t
web_status_slot(int status)
{
	for (size_t i = 1; i < ARRAY_LEN(statuses); i++)
		if (statuses[i].code == status)
			return i;
	return 0;
}

int
web_status_of_slot(size_t slot)
{
	CHECK(slot < ARRAY_LEN(statuses));
	return statuses[slot].code;
}

const char *
web_status_text(int status)
{
	return statuses[web_status_slot(status)].text;
}
