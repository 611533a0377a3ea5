/*
 * Which requests are let in, and which route is meant: the checks that need a
 * request's head, in one order.  The first that fails answers.
 */
#include "server/web_own.h"

#define SHOWN_BYTES 200u             /* of a client's words, in an answer */
#define PREFLIGHT_S "600"            /* for which a browser asks only once */

/* -- Each check answers and returns false, or passes -- */

static bool
is_reading(const struct web_request *r)
{
	return str_eq(r->head.method, STR("GET")) ||
	    str_eq(r->head.method, STR("HEAD"));
}

static bool
is_upgrade(const struct web_request *r)
{
	return head_lists(&r->head, STR("upgrade"), STR("websocket")) &&
	    r->head.minor == 1;
}

bool
web_check_drain(struct web_request *r)
{
	if (!r->web->draining)
		return true;
	web_fail(r, 503, "closed", "the program is ending");
	return false;
}

/* Whether the Origin is one of the route's; then its pages may read answers. */
static void
note_origin(struct web_request *r)
{
	struct str origin;

	web_add_field(r, "vary", "origin");
	if (!head_find(&r->head, STR("origin"), &r->arena, &origin) ||
	    !web_origin_is_listed(origin, r->route->origins(r)))
		return;
	r->from_listed = true;
	web_add_field(r, "access-control-allow-origin",
	    arena_copy(&r->arena, origin).p);
}

/* Take the row for that method; false when there is none. */
static bool
find_route(struct web_request *r, struct str method, bool *path_known)
{
	struct web *w = r->web;
	struct str path = r->head.raw_path;
	size_t row = web_route_find(w->routes, w->routes_n, method, path,
	    path_known);

	if (row == w->routes_n)
		return false;
	r->row = row;
	r->route = w->routes[row];
	(void)head_decode(web_route_rest(r->route, path), false, &r->arena,
	    &r->rest);
	if (r->route->origins != NULL)
		note_origin(r);
	return true;
}

/*
 * A browser asks before it sends a request across origins (the Fetch standard,
 * "CORS-preflight fetch").  False: it is none, or its origin is not listed.
 */
static bool
answer_preflight(struct web_request *r)
{
	struct str method;
	bool known;

	if (!str_eq(r->head.method, STR("OPTIONS")) || !head_find(&r->head,
	    STR("access-control-request-method"), &r->arena, &method) ||
	    !find_route(r, method, &known) || !r->from_listed)
		return false;
	web_add_field(r, "access-control-allow-methods", r->route->method);
	web_add_field(r, "access-control-allow-headers",
	    "authorization, content-type");
	web_add_field(r, "access-control-max-age", PREFLIGHT_S);
	web_answer(r, 204, NULL, STR(""));
	return true;
}

/* An encoded ".." is a name to some rows, to others a way out of a folder. */
static bool
check_dots(struct web_request *r)
{
	if (!r->head.dots || (r->route != NULL && r->route->ids))
		return true;
	web_fail(r, 400, "bad_path",
	    "a path may not have the segments . and ..");
	return false;
}

static bool
check_route(struct web_request *r)
{
	struct web *w = r->web;
	struct str path = r->head.raw_path;
	bool known;

	if (find_route(r, r->head.method, &known))
		return check_dots(r);
	if (!check_dots(r))
		return false;
	if (!known) {
		path = r->head.path;
		web_fail(r, 404, "not_found", "there is nothing at %.*s",
		    (int)MIN(path.n, SHOWN_BYTES), path.p);
		return false;
	}
	struct str allow = web_route_allow(w->routes, w->routes_n, path,
	    &r->arena);
	web_add_field(r, "allow", allow.p);
	web_fail(r, 405, "bad_method", "this path takes %.*s", STR_FMT(allow));
	return false;
}

bool
web_wants_token(const struct web *w, enum token_door door)
{
	return w->wants_tokens || (w->tokens != NULL &&
	    token_wanted(w->tokens, door));
}

bool
web_allows(const struct web *w, bool passed, const struct token_pass *pass,
    enum token_door door, enum token_access access)
{
	if (!web_wants_token(w, door))
		return true;
	return passed && w->tokens != NULL &&
	    token_holds(w->tokens, pass->id, door, access);
}

struct str
web_token_of(struct web_request *r)
{
	struct str value;

	if (head_find(&r->head, STR("authorization"), &r->arena, &value))
		return token_of_header(value);
	if (web_param(r, "token", &value))
		return value;
	return STR_NONE;
}

static bool
refuse_token(struct web_request *r, enum token_answer a)
{
	if (a != TOKEN_SCOPE)
		web_add_field(r, "www-authenticate", "Bearer");
	web_fail(r, a == TOKEN_SCOPE ? 403 : 401, a == TOKEN_SCOPE ?
	    "forbidden" : "unauthorized", "%s", token_answer_text(a));
	return false;
}

/* Access rights of a session, for reading and for changing. */
static enum token_answer
ask_session(struct web_request *r, enum token_door door,
    enum token_access access)
{
	const struct web_session *s = web_session_of(r);

	if (s == NULL)
		return TOKEN_MISSING;
	r->pass = s->pass;
	r->by_cookie = true;
	if (!token_is(r->web->tokens, r->pass.id))
		return TOKEN_UNKNOWN;
	return token_holds(r->web->tokens, r->pass.id, door, access) ?
	    TOKEN_FINE : TOKEN_SCOPE;
}

static enum token_answer
ask_token(struct web_request *r, enum token_door door,
    enum token_access access)
{
	struct token_set *set = r->web->tokens;
	struct str text = web_token_of(r);

	if (set == NULL)
		return TOKEN_UNKNOWN;
	if (text.p == NULL) {
		enum token_answer a = ask_session(r, door, access);
		if (r->by_cookie)
			return a;
	}
	return token_check(set, text, door, access,
	    str_of(net_peer(r->conn->net)), &r->pass);
}

/* Its route asks for none, but what it wants to do may. */
static void
know_token(struct web_request *r)
{
	struct token_set *set = r->web->tokens;
	struct str text = web_token_of(r);
	const struct web_session *s = text.p == NULL ? web_session_of(r) :
	    NULL;

	if (set == NULL)
		return;
	if (s != NULL) {
		r->pass = s->pass;
		r->known = r->by_cookie = token_is(set, r->pass.id);
	} else {
		r->known = text.p != NULL && token_find(set, text, &r->pass);
	}
}

static bool
check_token(struct web_request *r, enum web_open open, enum token_door door,
    enum token_access access)
{
	if (open != WEB_TO_ALL && !web_wants_token(r->web, door))
		know_token(r);
	if (open == WEB_TO_ALL || !web_wants_token(r->web, door))
		return true;
	enum token_answer a = ask_token(r, door, access);
	if (a != TOKEN_FINE)
		return refuse_token(r, a);
	r->passed = true;
	return true;
}

/* A browser sends the cookie by itself, whoever's page asked it to. */
static bool
check_csrf(struct web_request *r)
{
	if (!r->by_cookie || is_reading(r) ||
	    web_session_knows(web_session_of(r), r))
		return true;
	web_fail(r, 403, "bad_csrf", "X-CSRF-Token is missing or wrong");
	return false;
}

static bool
is_host_of_route(struct web_request *r)
{
	return r->route != NULL && r->route->hosts != NULL &&
	    web_origin_is_listed(r->head.host, r->route->hosts(r));
}

static bool
check_host(struct web_request *r)
{
	struct str host = r->head.host;

	if (r->passed || !r->web->loopback || web_host_is_loopback(host) ||
	    (host.p == NULL && r->head.minor == 0) || is_host_of_route(r))
		return true;
	web_fail(r, 403, "bad_host", "the Host \"%.*s\" is not this machine's "
	    "loopback: this port answers to localhost, 127.0.0.1 and [::1]",
	    (int)MIN(host.n, SHOWN_BYTES), host.p);
	return false;
}

static bool
may_come_from(const struct web_request *r, struct str origin)
{
	struct str host = r->head.host;
	bool own = r->route != NULL && r->route->open == WEB_TO_OWN_PAGES;

	if (!own && web_origin_is_listed(origin, r->web->origins))
		return true;
	if (r->from_listed && !r->by_cookie)
		return true;
	/* Another port of this machine is another's. */
	if (!own && !r->by_cookie && web_host_is_loopback(host))
		return web_origin_is_loopback(origin);
	return web_origin_is_of(origin, host);
}

static bool
check_origin(struct web_request *r)
{
	struct str origin;

	if ((r->passed && !r->by_cookie) || !head_find(&r->head,
	    STR("origin"), &r->arena, &origin) || may_come_from(r, origin))
		return true;
	web_fail(r, 403, "bad_origin", "pages of the origin \"%.*s\" may not "
	    "send orders here", (int)MIN(origin.n, SHOWN_BYTES), origin.p);
	return false;
}

size_t
web_body_bytes_max(const struct web_request *r)
{
	return (size_t)(r->route != NULL && r->route->body_bytes_max > 0 ?
	    r->route->body_bytes_max : r->web->limits.body_bytes_max);
}

static bool
check_body(struct web_request *r)
{
	int64_t most = (int64_t)web_body_bytes_max(r);

	if (r->head.length <= (uint64_t)most)
		return true;
	web_fail(r, 413, "limit", "a body may have at most %lld bytes",
	    (long long)most);
	return false;
}

/* After the checks of the client: a stranger learns nothing from it. */
static bool
check_started(struct web_request *r, bool early)
{
	if (early || !r->web->starting)
		return true;
	web_add_field(r, "retry-after", "1");
	web_fail(r, 503, "starting", "the program is starting; /readyz says "
	    "how far it is");
	return false;
}

static bool
admit_route(struct web_request *r)
{
	return !answer_preflight(r) && check_route(r) &&
	    check_token(r, r->route->open, r->route->door,
	    r->route->access) && check_host(r) && check_csrf(r) &&
	    (is_reading(r) || check_origin(r)) && check_body(r) &&
	    check_started(r, r->route->early);
}

static bool
admit_socket(struct web_request *r)
{
	const struct web_socket_path *at = web_socket_find(r->web->sockets_at,
	    r->web->sockets_at_n, r->head.path);

	if (at == NULL) {
		web_fail(r, 404, "no_websocket", "no WebSocket is served here");
		return false;
	}
	if (r->web->n.sockets >= (uint64_t)r->web->limits.sockets_max) {
		web_fail(r, 503, "limit", "too many WebSockets are open");
		return false;
	}
	return check_token(r, WEB_TO_NOBODY, at->door, TOKEN_READ) &&
	    check_host(r) && check_origin(r) && check_started(r, false) &&
	    web_socket_accept(r, at);
}

bool
web_admit(struct web_request *r)
{
	if (!web_check_drain(r))
		return false;
	if (!is_upgrade(r))
		return admit_route(r);
	(void)admit_socket(r);
	return false;
}
