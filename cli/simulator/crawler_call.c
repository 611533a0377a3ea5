#include "cli/simulator/crawler_call.h"

#include "base/json.h"
#include "base/text.h"
#include "os/resolve.h"
#include "os/transport.h"

#define HEAD_BYTES_MAX 65536u
#define CONNECT_MS_MAX 10000
#define IDLE_S_MAX 10
#define OWN_HEADERS 4u           /* Host, User-Agent, type and key */

struct crawler_calls {
	struct loop *loop;
	struct transport *transport;
	struct resolver *resolver;
	struct list calls;
	const char *agent;
	size_t n, most;
	int64_t ms;
};

enum call_state { CALL_BEGINS, CALL_RESOLVES, CALL_SENT };

struct crawler_call {
	struct list node;
	struct crawler_calls *all;
	enum call_state state;
	struct crawler_order order;      /* its texts are in `arena` */
	struct url url;
	struct str host;                 /* without brackets */
	struct timer begin;
	struct resolve_query query;
	struct exchange exchange;
	struct transport_header headers[CRAWLER_HEADERS_MAX + OWN_HEADERS];
	struct buf head, body;
	int status;
	struct arena arena;
};

/* ---- The end of a call ---------------------------------------------- */

static void
end_call(struct crawler_call *c, const struct crawler_answer *answer)
{
	list_take(&c->node);
	c->all->n--;
	c->order.done(c->order.arg, answer);
	buf_free(&c->head);
	buf_free(&c->body);
	arena_free(&c->arena);
	mem_free(&c);
}

static void
fail_call(struct crawler_call *c, const char *error)
{
	struct crawler_answer a = { .error = error };

	end_call(c, &a);
}

/* ---- One exchange --------------------------------------------------- */

static bool
is_loopback(const struct ip *ip)
{
	static const struct ip six = { { [15] = 1 } };

	return ip_is_v4(ip) ? ip->b[12] == 127 :
	    memcmp(ip, &six, sizeof(six)) == 0;
}

static bool
connected(struct exchange *x, const struct ip *ip)
{
	return x->tls || is_loopback(ip);
}

static bool
head_received(struct exchange *x, struct str bytes, int status)
{
	struct crawler_call *c = CONTAINER(x, struct crawler_call, exchange);

	c->status = status;
	buf_put_str(&c->head, bytes);
	return true;
}

static bool
body_received(struct exchange *x, struct str bytes)
{
	struct crawler_call *c = CONTAINER(x, struct crawler_call, exchange);

	buf_put_str(&c->body, bytes);
	return c->body.n <= CRAWLER_ANSWER_BYTES_MAX;
}

static bool
decode_answer(struct crawler_call *c, struct http_head *h, struct buf *out)
{
	struct http_decode_limits limits = HTTP_DECODE_LIMITS_DEFAULT;

	limits.bytes_max = CRAWLER_ANSWER_BYTES_MAX;
	return http_parse_head(buf_str(&c->head), false, HTTP_LIMITS_DEFAULT,
	    &c->arena, h, NULL) == OK && http_decode_body(h,
	    buf_str(&c->body), limits, out) == HTTP_FINE;
}

static void
exchanged(struct exchange *x, enum transport_end end, struct str detail)
{
	struct crawler_call *c = CONTAINER(x, struct crawler_call, exchange);
	FREED(buf_free) struct buf body = BUF_INIT;
	struct crawler_answer a = { 0 };
	struct http_head head;

	(void)detail;
	if (end == TRANSPORT_BLOCKED)
		a.error = "plain http is for loopback addresses only";
	else if (c->body.n > CRAWLER_ANSWER_BYTES_MAX)
		a.error = "the answer is too long";
	else if (end != TRANSPORT_DONE)
		a.error = transport_end_text(end);
	else if (!decode_answer(c, &head, &body))
		a.error = "the answer cannot be decoded";
	else
		a = (struct crawler_answer){ c->status, buf_str(&body), NULL,
		    &head };
	end_call(c, &a);
}

static const struct exchange_events events = {
	connected, head_received, body_received, exchanged
};

static size_t
put_headers(struct crawler_call *c)
{
	struct transport_header *h = c->headers;
	const struct url *u = &c->url;
	yyjson_val *key, *value;
	size_t n = 0, i, most;

	h[n++] = (struct transport_header){ STR("Host"), arena_printf(
	    &c->arena, u->port_given ? "%.*s:%u" : "%.*s", STR_FMT(u->host),
	    (unsigned)u->port) };
	h[n++] = (struct transport_header){ STR("User-Agent"),
	    str_of(c->all->agent) };
	if (c->order.type != NULL)
		h[n++] = (struct transport_header){ STR("Content-Type"),
		    str_of(c->order.type) };
	if (c->order.key != NULL)
		h[n++] = (struct transport_header){ STR("Idempotency-Key"),
		    str_of(c->order.key) };
	yyjson_obj_foreach(c->order.headers, i, most, key, value)
		h[n++] = (struct transport_header){
		    arena_copy(&c->arena, json_text(key)),
		    arena_copy(&c->arena, json_text(value)) };
	/* They belong to an object that may change meanwhile. */
	c->order.headers = NULL;
	return n;
}

static void
send_call(struct crawler_call *c, const struct ip *addresses, size_t n)
{
	struct exchange *x = &c->exchange;

	x->events = &events;
	x->method = str_of(c->order.method);
	x->url = c->url.href;
	x->host = c->url.host;
	x->port = c->url.port;
	x->tls = x->verify = c->url.scheme == URL_HTTPS;
	x->headers = c->headers;
	x->body = c->order.body;
	x->addresses = addresses;
	x->addresses_n = n;
	x->connect_ms = MIN(c->all->ms, CONNECT_MS_MAX);
	x->total_ms = c->all->ms;
	x->head_bytes_max = HEAD_BYTES_MAX;
	x->once = true;
	c->state = CALL_SENT;
	transport_start(c->all->transport, x);
}

static void
resolved(struct resolve_query *q)
{
	struct crawler_call *c = CONTAINER(q, struct crawler_call, query);

	if (q->n == 0)
		fail_call(c, transport_end_text(TRANSPORT_DNS));
	else
		send_call(c, q->addresses, q->n);
}

static void
begin_call(struct timer *t)
{
	struct crawler_call *c = CONTAINER(t, struct crawler_call, begin);

	c->state = CALL_RESOLVES;
	c->query.host = c->host;
	c->query.found = resolved;
	resolve_start(c->all->resolver, &c->query);
}

enum err
crawler_call_start(struct crawler_calls *all, const struct crawler_order *o,
    struct why *w)
{
	struct crawler_call *c;

	if (all->n == all->most)
		return why(w, ERR_FULL, "crawler_calls_max: %zu calls to "
		    "crawlers are under way", all->most);
	c = mem_new(sizeof(*c));
	c->all = all;
	c->order = *o;
	c->order.body = arena_copy(&c->arena, o->body);
	if (o->key != NULL)
		c->order.key = arena_copy(&c->arena, str_of(o->key)).p;
	CHECK(url_parse(o->url->href, NULL, &c->arena, &c->url, NULL) == OK);
	c->host = c->url.host;
	if (str_starts(c->host, STR("[")))
		c->host = str_cut(c->host, 1, c->host.n - 1);
	c->exchange.headers_n = put_headers(c);
	list_put(&all->calls, &c->node);
	all->n++;
	c->begin.fire = begin_call;
	loop_timer_set(all->loop, &c->begin, loop_now(all->loop));
	return OK;
}

/* ---- All calls ------------------------------------------------------ */

struct crawler_calls *
crawler_calls_new(struct loop *loop, const char *agent, const char *ca_file,
    int64_t ms, size_t most)
{
	struct crawler_calls *all = mem_new(sizeof(*all));
	struct transport_options o = { .connections_max = most,
	    .host_connections_max = most, .ca_file = ca_file,
	    .idle_s_max = IDLE_S_MAX };
	struct resolver_options names = { .ttl_s_min = 1, .ttl_s_max = 60,
	    .negative_s = 1, .cache_max = 64, .timeout_ms = CONNECT_MS_MAX };

	all->loop = loop;
	all->agent = agent;
	all->ms = ms;
	all->most = most;
	list_init(&all->calls);
	all->transport = transport_new(loop, &o);
	all->resolver = resolver_new(loop, &names);
	return all;
}

void
crawler_calls_free(struct crawler_calls **ap)
{
	struct crawler_calls *all = *ap;

	if (all == NULL)
		return;
	while (!list_empty(&all->calls)) {
		struct crawler_call *c = LIST_ITEM(all->calls.next,
		    struct crawler_call, node);
		if (c->state == CALL_SENT) {
			/* exchanged() ends it. */
			transport_stop(all->transport, &c->exchange);
			continue;
		}
		if (c->state == CALL_RESOLVES)
			resolve_stop(all->resolver, &c->query);
		else
			loop_timer_stop(all->loop, &c->begin);
		fail_call(c, transport_end_text(TRANSPORT_STOPPED));
	}
	transport_free(&all->transport);
	resolver_free(&all->resolver);
	mem_free(ap);
}

/* ---- What may be called --------------------------------------------- */

enum err
crawler_read_url(struct str text, const char *field, struct arena *a,
    struct url *out, struct why *w)
{
	if (text.n == 0 || url_parse(text, NULL, a, out, NULL) != OK ||
	    (out->scheme != URL_HTTP && out->scheme != URL_HTTPS))
		return why(w, ERR_INPUT, "%s: must be a URL with http or "
		    "https", field);
	if (out->username.n > 0 || out->password.n > 0 || out->fragment.n > 0)
		return why(w, ERR_INPUT, "%s: must have no user and no "
		    "fragment", field);
	return OK;
}

enum err
crawler_make_url(const struct url *endpoint, struct str suffix,
    uint64_t version, struct arena *a, struct url *out, struct why *w)
{
	struct str origin = url_origin(endpoint, a), path = endpoint->path;
	struct str more = STR_NONE, text;

	while (str_ends(path, STR("/")))
		path.n--;
	/* A callback may have a query of its own. */
	size_t at = str_find_char(suffix, '?');
	if (at < suffix.n)
		more = str_from(suffix, at + 1);
	suffix = str_cut(suffix, 0, at);
	text = arena_printf(a, "%.*s%.*s%.*s%s%.*s%s%.*s%sversion=%llu",
	    STR_FMT(origin), STR_FMT(path), STR_FMT(suffix),
	    endpoint->query.n > 1 ? "" : "?", STR_FMT(endpoint->query.n > 1 ?
	    endpoint->query : STR("")), endpoint->query.n > 1 ? "&" : "",
	    (int)more.n, more.p == NULL ? "" : more.p, more.n > 0 ? "&" : "",
	    (unsigned long long)version);
	return url_parse(text, NULL, a, out, w);
}

enum err
crawler_check_headers(yyjson_val *headers, struct why *w)
{
	static const struct {
		const char *name;
	} ours[] = { { "host" }, { "content-type" }, { "content-length" },
	    { "transfer-encoding" }, { "connection" }, { "expect" },
	    { "idempotency-key" }, { "user-agent" } };
	size_t i, most;
	yyjson_val *key, *value;

	if (json_is_absent(headers))
		return OK;
	if (!yyjson_is_obj(headers))
		return why(w, ERR_INPUT, "headers: must be an object");
	if (yyjson_obj_size(headers) > CRAWLER_HEADERS_MAX)
		return why(w, ERR_FULL, "headers: more than %u",
		    CRAWLER_HEADERS_MAX);
	yyjson_obj_foreach(headers, i, most, key, value) {
		struct str name = json_text(key), text = json_text(value);
		if (!text_is_token(name) || STR_ROW_NOCASE(name, ours) <
		    ARRAY_LEN(ours))
			return why(w, ERR_INPUT, "headers: \"%.60s\" may not "
			    "be set", yyjson_get_str(key));
		if (text.p == NULL || !text_is_field_value(text))
			return why(w, ERR_INPUT, "headers.%.60s: must be a "
			    "text without line ends", yyjson_get_str(key));
	}
	return OK;
}
