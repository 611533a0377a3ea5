#include "os/web_parts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/text.h"

static bool
loopback4(const struct in_addr *a)
{
	return ntohl(a->s_addr) >> 24 == 127;
}

bool
web_address(const char *text, uint16_t port, struct sockaddr_storage *out,
    size_t *bytes, bool *loopback)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		*bytes = sizeof(*four);
		*loopback = loopback4(&four->sin_addr);
		return true;
	}
	if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		*bytes = sizeof(*six);
		*loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
		return true;
	}
	return false;
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
	char text[16];
	struct in_addr a;

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
	if (host.n == 0 || host.n >= sizeof(text))
		return false;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	return strlen(text) == host.n &&
	    inet_pton(AF_INET, text, &a) == 1 && loopback4(&a);
}

bool
web_origin_is_loopback(struct str origin)
{
	if (str_starts_nocase(origin, STR("http://")))
		origin = str_from(origin, 7);
	else if (str_starts_nocase(origin, STR("https://")))
		origin = str_from(origin, 8);
	else
		return false;
	return web_host_is_loopback(origin);
}

bool
web_length(struct str s, uint64_t *out)
{
	/* More than 18 digits would reach the signed arithmetic of others. */
	s = str_trim(s);
	return s.n <= 18 && str_to_u64(s, out);
}

static bool
takes(const struct web_route *r, struct str method)
{
	return str_eq(str_of(r->method), method) ||
	    (str_eq(method, STR("HEAD")) && strcmp(r->method, "GET") == 0);
}

/* How well a route fits a path: 0 not at all, exact above any prefix. */
static size_t
fit(const struct web_route *r, struct str path)
{
	struct str want = str_of(r->path);

	if (r->match == WEB_EXACT)
		return str_eq(path, want) ? SIZE_MAX : 0;
	return str_starts(path, want) ? want.n : 0;
}

void
web_routes_check(const struct web_route *routes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct web_route *a = &routes[i];
		CHECK(a->method != NULL && a->path != NULL &&
		    a->path[0] == '/' && a->handle != NULL);
		for (size_t j = 0; j < i; j++)
			CHECK(a->match != routes[j].match ||
			    strcmp(a->path, routes[j].path) != 0 ||
			    strcmp(a->method, routes[j].method) != 0);
	}
}

size_t
web_route_find(const struct web_route *routes, size_t n, struct str method,
    struct str path, bool *path_known)
{
	size_t best = 0, row = n;

	*path_known = false;
	for (size_t i = 0; i < n; i++) {
		size_t f = fit(&routes[i], path);
		if (f == 0)
			continue;
		*path_known = true;
		if (f > best && takes(&routes[i], method)) {
			best = f;
			row = i;
		}
	}
	return row;
}

struct str
web_route_allow(const struct web_route *routes, size_t n, struct str path,
    struct arena *a)
{
	struct str all = STR("");

	for (size_t i = 0; i < n; i++) {
		bool seen = false;
		if (fit(&routes[i], path) == 0)
			continue;
		for (size_t j = 0; j < i && !seen; j++)
			seen = fit(&routes[j], path) != 0 &&
			    strcmp(routes[j].method, routes[i].method) == 0;
		if (seen)
			continue;
		all = arena_printf(a, "%.*s%s%s%s", STR_FMT(all),
		    all.n == 0 ? "" : ", ", routes[i].method,
		    strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
	}
	return all;
}

void
web_error_json(struct buf *b, struct str error, const char *code)
{
	buf_put_text(b, "{\"error\":");
	text_json(b, error);
	buf_put_text(b, ",\"code\":");
	text_json(b, str_of(code));
	buf_put_text(b, "}\n");
}

static const int statuses[] = {
#define WEB_STATUS_ROW(code) code,
	WEB_STATUSES(WEB_STATUS_ROW)
#undef WEB_STATUS_ROW
};

size_t
web_status_slot(int status)
{
	for (size_t i = 1; i < ARRAY_LEN(statuses); i++)
		if (statuses[i] == status)
			return i;
	return 0;
}

int
web_status_of_slot(size_t slot)
{
	CHECK(slot < ARRAY_LEN(statuses));
	return statuses[slot];
}
