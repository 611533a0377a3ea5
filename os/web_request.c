#include "os/web_parts.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <sys/ioctl.h>

#define HEAD_BYTES_MIN 16u         /* "GET / HTTP/1.1\r\n" */

/* -- Reading a request out of libwebsockets -- */

static const struct {
	enum lws_token_indexes token;
	const char *name;
} methods[] = {
	{ WSI_TOKEN_GET_URI, "GET" }, { WSI_TOKEN_POST_URI, "POST" },
	{ WSI_TOKEN_HEAD_URI, "HEAD" },
#if defined(LWS_WITH_HTTP_UNCOMMON_HEADERS)
	{ WSI_TOKEN_OPTIONS_URI, "OPTIONS" }, { WSI_TOKEN_PUT_URI, "PUT" },
	{ WSI_TOKEN_PATCH_URI, "PATCH" }, { WSI_TOKEN_DELETE_URI, "DELETE" },
#endif
};

/* The value of a field that libwebsockets knows; borrowed from the scratch. */
static bool
token_value(struct web_request *r, enum lws_token_indexes token,
    struct str *value)
{
	if (r->conn == NULL || lws_hdr_total_length(r->conn->wsi, token) <= 0)
		return false;
	int n = lws_hdr_copy(r->conn->wsi, r->web->scratch,
	    (int)r->web->options.head_bytes_max, token);
	if (n <= 0)
		return false;
	*value = str_trim((struct str){ r->web->scratch, (size_t)n });
	return true;
}

/* The same of a field that it does not know; `name` ends in ':'. */
static bool
custom_value(struct web_request *r, struct str name, struct str *value)
{
#if defined(LWS_WITH_CUSTOM_HEADERS)
	int n = lws_hdr_custom_copy(r->conn->wsi, r->web->scratch,
	    (int)r->web->options.head_bytes_max, name.p, (int)name.n);
	if (n >= 0) {
		*value = str_trim((struct str){ r->web->scratch, (size_t)n });
		return true;
	}
#endif
	(void)r, (void)name, (void)value;
	return false;
}

static bool
named_value(struct web_request *r, const char *name, struct str *value)
{
	struct str want = arena_printf(&r->arena, "%s:", name);
	const unsigned char *known;

	if (r->conn == NULL)
		return false;
	for (int i = 0; (known = lws_token_to_string(
	    (enum lws_token_indexes)i)) != NULL; i++)
		if (str_eq(str_of((const char *)known), want))
			return token_value(r, (enum lws_token_indexes)i, value);
	return custom_value(r, want, value);
}

bool
web_field(struct web_request *r, const char *name, struct str *value)
{
	if (!named_value(r, name, value))
		return false;
	*value = arena_copy(&r->arena, *value);
	return true;
}

bool
web_param(struct web_request *r, const char *name, struct str *value)
{
	struct str want = str_of(name);

	if (r->conn == NULL)
		return false;
	for (int i = 0;; i++) {
		int n = lws_hdr_copy_fragment(r->conn->wsi, r->web->scratch,
		    (int)r->web->options.head_bytes_max,
		    WSI_TOKEN_HTTP_URI_ARGS, i);
		if (n < 0)
			return false;
		struct str part = { r->web->scratch, (size_t)n };
		size_t equals = str_find_char(part, '=');
		if (!str_eq(str_cut(part, 0, equals), want))
			continue;
		*value = arena_copy(&r->arena, str_from(part, equals + 1));
		return true;
	}
}

static struct web_request *
request_new(struct conn *c, struct lws *wsi)
{
	struct web_request *r = mem_new(sizeof(*r));

	r->web = c->web;
	r->conn = c;
	r->row = c->web->routes_n;
	r->method = r->path = r->rest = STR("");
	list_put(&c->web->requests, &r->node);
	c->request = r;
	web_add(&c->web->asked, 1);
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (lws_hdr_total_length(wsi, methods[i].token) > 0)
			r->method = str_of(methods[i].name);
	return r;
}

void
web_request_free(struct web_request **rp)
{
	struct web_request *r = *rp;

	if (r->conn != NULL)
		r->conn->request = NULL;
	list_take(&r->node);
	buf_free(&r->body);
	buf_free(&r->out);
	arena_free(&r->arena);
	*rp = NULL;
	free(r);
}

void
web_request_drop(struct web_request **rp)
{
	struct web_request *r = *rp;

	/* Who kept it will still answer; that answer frees it. */
	if (r->conn->state == CONN_ASKED) {
		r->conn->request = NULL;
		r->conn = NULL;
		*rp = NULL;
	} else
		web_request_free(rp);
}

/* -- Whether a request came by itself, or behind another: web_parts.h -- */

/* Note how much was read, and tell whether it was more than the last time. */
static bool
read_more(struct conn *c)
{
	struct tcp_info info;
	socklen_t n = sizeof(info);
	int fd = lws_get_socket_fd(c->wsi), waiting = 0;
	uint64_t before = c->bytes_read;

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) != 0 ||
	    ioctl(fd, SIOCINQ, &waiting) != 0)
		return false;
	c->bytes_read = info.tcpi_bytes_received - (uint64_t)waiting;
	/* The end of the stream counts for one byte. */
	return c->bytes_read >= before + HEAD_BYTES_MIN;
}

/* -- What is refused: each check answers and returns false, or passes -- */

/* No further request on this connection: its framing is not to be trusted. */
static bool
refuse_for_good(struct web_request *r, int status, const char *code,
    const char *text)
{
	r->conn->close = true;
	web_fail(r, status, code, "%s", text);
	return false;
}

static bool
check_version(struct web_request *r)
{
	struct str version = STR(""), options;

	token_value(r, WSI_TOKEN_HTTP, &version);
	bool one_one = str_eq(version, STR("HTTP/1.1"));
	if (!one_one && !str_eq(version, STR("HTTP/1.0")))
		return refuse_for_good(r, 505, "bad_version",
		    "only HTTP/1.1 and HTTP/1.0 are spoken here");
	if (!one_one)
		r->conn->close = true;
	if (token_value(r, WSI_TOKEN_CONNECTION, &options)) {
		struct str part;
		while (str_split(&options, ',', &part))
			if (str_eq_nocase(str_trim(part), STR("close")))
				r->conn->close = true;
	}
	return true;
}

/* libwebsockets goes by Content-Length alone, and reads it leniently. */
static bool
check_framing(struct web_request *r)
{
	struct str value;
	/* For these it expects a body, whatever the head says. */
	bool sends = str_eq(r->method, STR("POST")) ||
	    str_eq(r->method, STR("PUT")) || str_eq(r->method, STR("PATCH"));

	if (token_value(r, WSI_TOKEN_HTTP_TRANSFER_ENCODING, &value)) {
		r->linger = sends;
		return refuse_for_good(r, 411, "length_required",
		    "send a Content-Length: chunked bodies are not taken here");
	}
	if (token_value(r, WSI_TOKEN_HTTP_CONTENT_LENGTH, &value)) {
		if (!web_length(value, &r->body_bytes))
			return refuse_for_good(r, 400, "bad_length",
			    "the Content-Length is not one number");
	} else if (sends) {
		r->linger = true;
		return refuse_for_good(r, 411, "length_required",
		    "this method needs a Content-Length, be it 0");
	}
	/* From here on a refusal leaves a body that nobody will read. */
	r->linger = r->body_bytes > 0;
	return true;
}

static bool
check_host(struct web_request *r)
{
	struct str version = STR(""), host = STR("");

	token_value(r, WSI_TOKEN_HTTP, &version);
	if (!token_value(r, WSI_TOKEN_HOST, &host)) {
		if (str_eq(version, STR("HTTP/1.0")))
			return true;
		return refuse_for_good(r, 400, "bad_host",
		    "HTTP/1.1 needs a Host field");
	}
	if (!r->web->loopback || web_host_is_loopback(host))
		return true;
	web_fail(r, 403, "bad_host", "the Host \"%.*s\" is not this machine's "
	    "loopback: this port answers to localhost, 127.0.0.1 and [::1]",
	    (int)MIN(host.n, 200), host.p);
	return false;
}

static bool
check_path(struct web_request *r)
{
	for (size_t i = 0; i < r->path.n; i++) {
		unsigned char c = (unsigned char)r->path.p[i];
		if (c >= 0x20 && c != 0x7f)
			continue;
		r->path = STR("");
		/* Its parser puts a NUL where a bare '&' or ';' stood. */
		web_fail(r, 400, "bad_path", c == 0 ? "write & and ; in a "
		    "path as %%26 and %%3B" : "a control byte in the path");
		return false;
	}
	return true;
}

static bool
check_origin(struct web_request *r)
{
	struct str origin, host;

	if (str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD")) ||
	    !token_value(r, WSI_TOKEN_ORIGIN, &origin))
		return true;
	if (r->web->loopback && web_origin_is_loopback(origin))
		return true;
	origin = arena_copy(&r->arena, origin);
	if (!r->web->loopback && token_value(r, WSI_TOKEN_HOST, &host) &&
	    str_ends(origin, host) && (str_eq_nocase(str_cut(origin, 0,
	    origin.n - host.n), STR("http://")) || str_eq_nocase(str_cut(
	    origin, 0, origin.n - host.n), STR("https://"))))
		return true;
	web_fail(r, 403, "bad_origin", "pages of the origin \"%.*s\" may not "
	    "send orders here", (int)MIN(origin.n, 200), origin.p);
	return false;
}

static bool
check_route(struct web_request *r)
{
	struct web *w = r->web;
	bool known;

	r->row = web_route_find(w->routes, w->routes_n, r->method, r->path,
	    &known);
	if (r->row < w->routes_n) {
		r->route = &w->routes[r->row];
		r->rest = str_from(r->path, strlen(r->route->path));
		return true;
	}
	if (!known) {
		web_fail(r, 404, "not_found", "there is nothing at %.*s",
		    (int)MIN(r->path.n, 200), r->path.p);
		return false;
	}
	struct str allow = web_route_allow(w->routes, w->routes_n, r->path,
	    &r->arena);
	web_add_field(r, "allow", allow.p);
	web_fail(r, 405, "bad_method", "this path takes %.*s", STR_FMT(allow));
	return false;
}

static bool
check_body(struct web_request *r)
{
	size_t most = r->web->options.body_bytes_max;

	if (r->body_bytes <= most)
		return true;
	web_fail(r, 413, "too_large", "a body may have at most %zu bytes",
	    most);
	return false;
}

static bool (*const checks[])(struct web_request *) = {
	check_version, check_framing, check_host, check_path, check_origin,
	check_route, check_body,
};

static bool
pass_checks(struct web_request *r)
{
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		if (!checks[i](r))
			return false;
	return true;
}

/* -- Writing -- */

static int
finish(struct conn *c)
{
	bool linger = c->request->linger;

	web_request_free(&c->request);
	if (linger) {
		c->state = CONN_LINGER;
		lws_set_timer_usecs(c->wsi, WEB_LINGER_US);
		return 0;
	}
	c->state = CONN_IDLE;
	if (c->close)
		return -1;
	/* What is still to be sent completes it by itself, byte for byte. */
	return lws_http_transaction_completed(c->wsi) ? -1 : 0;
}

int
web_write_more(struct conn *c)
{
	struct web_request *r = c->request;
	size_t n = MIN(WEB_CHUNK_BYTES, r->out.n - r->sent);

	c->state = CONN_ANSWER;
	c->web->turns++;
	if (n > 0) {
		bool last = r->sent + n == r->out.n;
		if (lws_write(c->wsi, (unsigned char *)r->out.p + r->sent, n,
		    last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < (int)n)
			return -1;
		r->sent += n;
		web_add(&c->web->bytes_out, n);
	}
	bool all = r->sent == r->out.n, stuck = lws_partial_buffered(c->wsi);
	if (!all || stuck)
		lws_set_timeout(c->wsi, PENDING_TIMEOUT_HTTP_CONTENT,
		    (int)c->web->options.idle_s_max);
	if (all && !(stuck && c->close))
		return finish(c);
	lws_callback_on_writable(c->wsi);
	return 0;
}

/* The handler, or a check, has returned. */
static int
after_handler(struct conn *c)
{
	if (c->request->answered)
		return web_write_more(c);
	c->state = CONN_ASKED;
	web_add(&c->web->kept, 1);
	lws_set_timeout(c->wsi, NO_PENDING_TIMEOUT, 0);
	lws_rx_flow_control(c->wsi, 0);
	return 0;
}

static int
call_handler(struct conn *c)
{
	struct web_request *r = c->request;

	r->in_handler = true;
	r->linger = false;
	if (r->web->draining)
		web_fail(r, 503, "closing", "the program is being stopped");
	else
		r->route->handle(r);
	r->in_handler = false;
	return after_handler(c);
}

/* RFC 9110 §10.1.1: who waits for it would send the body a second late. */
static bool
send_continue(struct conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	unsigned char out[LWS_PRE + sizeof(text)];
	struct str expect;
	int n = (int)sizeof(text) - 1;

	if (!named_value(c->request, "expect", &expect) ||
	    !str_eq_nocase(expect, STR("100-continue")))
		return true;
	memcpy(out + LWS_PRE, text, sizeof(text));
	return lws_write(c->wsi, out + LWS_PRE, (size_t)n,
	    LWS_WRITE_HTTP_HEADERS) == n;
}

int
web_on_head(struct conn *c, struct lws *wsi, struct str path)
{
	c->web->turns++;
	if (c->state != CONN_IDLE)
		return -1;
	bool fresh = read_more(c) && !c->early;
	struct web_request *r = request_new(c, wsi);
	r->path = arena_copy(&r->arena, path);
	r->in_handler = true;
	bool passed = pass_checks(r);
	r->in_handler = false;
	/* Nothing may be called for its body: the callback must end it here. */
	if (!fresh && (r->body_bytes > 0 || r->linger))
		return -1;
	if (!passed) {
		if (r->linger)
			c->close = true;
		int result = web_write_more(c);
		return !fresh && c->close ? -1 : result;
	}
	if (r->body_bytes == 0)
		return call_handler(c);
	c->state = CONN_BODY;
	lws_set_timer_usecs(wsi, (lws_usec_t)c->web->options.body_s_max *
	    LWS_USEC_PER_SEC);
	return send_continue(c) ? 0 : -1;
}

int
web_on_body(struct conn *c, struct str bytes)
{
	struct web_request *r = c->request;

	if (c->state != CONN_BODY || bytes.n == 0) {
		/*
		 * What a refused request still sends is thrown away.  Else it
		 * is a next request that 4.3 took for more of this body.
		 */
		if (bytes.n > 0 && r != NULL && !r->linger)
			c->close = true;
		return bytes.n > 0 && c->state == CONN_IDLE ? -1 : 0;
	}
	size_t n = (size_t)MIN(bytes.n, r->body_bytes - r->body.n);
	c->web->turns++;
	buf_put(&r->body, bytes.p, n);
	web_add(&c->web->bytes_in, n);
	if (n == bytes.n)
		return 0;
	/* 4.3 gives what follows along, and never says that the body ended. */
	c->close = true;
	return call_handler(c);
}

int
web_on_body_end(struct conn *c)
{
	switch (c->state) {
	case CONN_BODY:
		c->web->turns++;
		read_more(c);
		return call_handler(c);
	case CONN_LINGER:
		return -1;
	case CONN_ANSWER:
		/*
		 * It says so again when more bytes come: of the next request,
		 * or the last ones of a body that was refused.
		 */
		c->early = true;
		c->request->linger = false;
		return 0;
	case CONN_IDLE:
	case CONN_ASKED:
		break;
	}
	return 0;
}

int
web_on_writable(struct conn *c)
{
	return c->state == CONN_ANSWER ? web_write_more(c) : 0;
}

int
web_on_timer(struct conn *c)
{
	/* Both states set the timer when they begin; elsewhere it is stale. */
	if (c->state == CONN_LINGER)
		return -1;
	if (c->state != CONN_BODY)
		return 0;
	c->web->turns++;
	web_add(&c->web->timeouts, 1);
	c->close = true;
	c->request->linger = true;
	c->request->in_handler = true;
	web_fail(c->request, 408, "timeout", "the body did not come within "
	    "%u s", c->web->options.body_s_max);
	c->request->in_handler = false;
	return web_write_more(c);
}

int
web_on_upgrade(struct conn *c, struct lws *wsi, char *to)
{
	/*
	 * An upgrade may be ignored (RFC 9110 §7.8), and HTTP/2 is not spoken
	 * here yet.  libwebsockets would accept it; it compares this very text
	 * after the callback and knows no other way to stay with HTTP/1.1.
	 */
	if (strcasecmp(to, "h2c") == 0) {
		to[0] = '-';
		return 0;
	}
	if (strcasecmp(to, "websocket") != 0 || c->state != CONN_IDLE)
		return -1;
	struct web_request *r = request_new(c, wsi);
	c->close = true;
	r->in_handler = true;
	web_fail(r, 404, "no_websocket", "no WebSocket is served here");
	(void)web_write_more(c);
	return -1;
}

void
web_conn_kill(struct conn *c)
{
	/* This reason alone lets libwebsockets close without violence. */
	lws_set_timeout(c->wsi, PENDING_TIMEOUT_HTTP_KEEPALIVE_IDLE,
	    LWS_TO_KILL_ASYNC);
}

/* -- What a handler may ask -- */

struct web *
web_of(const struct web_request *r)
{
	return r->web;
}

void *
web_arg(const struct web_request *r)
{
	return r->route->arg;
}

struct str
web_method(const struct web_request *r)
{
	return r->method;
}

struct str
web_path(const struct web_request *r)
{
	return r->path;
}

struct str
web_rest(const struct web_request *r)
{
	return r->rest;
}

struct str
web_body(const struct web_request *r)
{
	return buf_str(&r->body);
}

struct arena *
web_arena(struct web_request *r)
{
	return &r->arena;
}

bool
web_gone(const struct web_request *r)
{
	return r->conn == NULL;
}
