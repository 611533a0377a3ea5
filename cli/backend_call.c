#include "cli/backend_call.h"

#include "engine/policy/address.h"
#include "os/loop.h"
#include "os/resolve.h"
#include "os/transport.h"
#include "wire/http.h"

#define CONNECT_MS_MAX 10000
#define OWN_HEADERS 4u           /* Host, User-Agent, encoding, type */

struct calling {
	struct backend_call *call;
	struct loop *loop;
	struct arena *arena;
	struct exchange exchange;
	struct transport_header headers[BACKEND_HEADERS_MAX + OWN_HEADERS];
	struct http_decoder *decoder;
	struct buf reply;
	struct ip refused;           /* the address that is not allowed */
	bool is_damaged, is_too_long, is_over;
	enum transport_end end;
	char detail[200];
};

/* ---- The exchange ------------------------------------------------------- */

static bool
check_address(struct exchange *x, const struct ip *ip)
{
	struct calling *k = CONTAINER(x, struct calling, exchange);
	bool is_secure = x->tls ||
	    address_classify(ip->b) == ADDRESS_LOOPBACK;

	k->refused = *ip;
	return is_secure && backend_allows_address(k->call->backend,
	    k->call->url->host, ip);
}

static bool
receive_head(struct exchange *x, struct str bytes, int status)
{
	struct calling *k = CONTAINER(x, struct calling, exchange);
	struct http_decode_limits limits = HTTP_DECODE_LIMITS_DEFAULT;
	struct http_head h;

	if (http_parse_head(arena_copy(k->arena, bytes), false,
	    HTTP_LIMITS_DEFAULT, k->arena, &h, NULL) != OK) {
		k->is_damaged = true;
		return false;
	}
	limits.bytes_max = BACKEND_CALL_REPLY_BYTES_MAX;
	k->call->status = status;
	k->decoder = http_decoder_new(&h, limits);
	return true;
}

static bool
receive_body(struct exchange *x, struct str bytes)
{
	struct calling *k = CONTAINER(x, struct calling, exchange);

	k->is_too_long = http_damage_cuts(http_decoder_feed(k->decoder,
	    bytes, &k->reply));
	return !k->is_too_long;
}

static void
end_exchange(struct exchange *x, enum transport_end end, struct str detail)
{
	struct calling *k = CONTAINER(x, struct calling, exchange);

	if (end == TRANSPORT_DONE && k->decoder != NULL)
		k->is_damaged |= http_damage_cuts(http_decoder_end(
		    k->decoder, &k->reply));
	k->end = end;
	snprintf(k->detail, sizeof(k->detail), "%.*s", STR_FMT(detail.n > 0 ?
	    detail : str_of(transport_end_text(end))));
	k->is_over = true;
}

static const struct exchange_events events = {
	check_address, receive_head, receive_body, end_exchange
};

static size_t
put_headers(struct calling *k)
{
	const struct backend *b = k->call->backend;
	struct transport_header *h = k->headers;
	const struct url *u = k->call->url;
	bool has_agent = false;
	size_t n = 0;

	h[n++] = (struct transport_header){ STR("Host"), u->port_given ?
	    arena_printf(k->arena, "%.*s:%u", STR_FMT(u->host),
	    (unsigned)u->port) : u->host };
	h[n++] = (struct transport_header){ STR("Accept-Encoding"),
	    STR("identity") };
	h[n++] = (struct transport_header){ STR("Content-Type"),
	    STR("application/json") };
	for (size_t i = 0; i < b->headers_n; i++) {
		has_agent |= str_eq_nocase(b->headers[i].name,
		    STR("user-agent"));
		h[n++] = (struct transport_header){ b->headers[i].name,
		    b->headers[i].value };
	}
	if (!has_agent)
		h[n++] = (struct transport_header){ STR("User-Agent"),
		    STR("argiope/" ARGIOPE_VERSION) };
	return n;
}

static void
exchange_messages(struct calling *k, const struct resolve_query *q)
{
	const struct backend *b = k->call->backend;
	const struct transport_options o = { .connections_max = 1,
	    .host_connections_max = 1, .idle_s_max = 1, .tls_1_2 = true,
	    .ca_file = b->ca.n > 0 ? b->ca.p : NULL };
	struct transport *t = transport_new(k->loop, &o);
	struct exchange *x = &k->exchange;

	x->events = &events;
	x->method = str_of(k->call->method);
	x->url = k->call->url->href;
	x->host = k->call->url->host;
	x->port = k->call->url->port;
	x->tls = x->verify = k->call->url->scheme == URL_HTTPS;
	x->headers = k->headers;
	x->headers_n = put_headers(k);
	x->body = k->call->body;
	x->addresses = q->addresses;
	x->addresses_n = q->n;
	x->total_ms = k->call->total_ms;
	x->connect_ms = MIN(x->total_ms, CONNECT_MS_MAX);
	x->head_bytes_max = BACKEND_CALL_HEAD_BYTES_MAX;
	x->once = true;
	transport_start(t, x);
	loop_run_until(k->loop, &k->is_over);
	transport_free(&t);
}

/* ---- The call ----------------------------------------------------------- */

static enum err
judge_end(const struct calling *k, struct why *w)
{
	struct str name = k->call->backend->name;
	char text[IP_TEXT_MAX];

	if (k->end == TRANSPORT_BLOCKED) {
		ip_to_text(&k->refused, text);
		return why(w, ERR_DENIED, "the back end %.*s was not called: "
		    "the address %s is %s", STR_FMT(name), text,
		    address_class_text(address_classify(k->refused.b)));
	}
	if (k->is_too_long)
		return why(w, ERR_FULL, "the back end %.*s answered with more "
		    "than %zu bytes", STR_FMT(name),
		    BACKEND_CALL_REPLY_BYTES_MAX);
	if (k->is_damaged)
		return why(w, ERR_UNREACHED, "the back end %.*s answered, but "
		    "not in HTTP", STR_FMT(name));
	return k->end == TRANSPORT_DONE ? OK : why(w, ERR_UNREACHED,
	    "the back end %.*s did not answer: %s", STR_FMT(name), k->detail);
}

enum err
backend_call(struct backend_call *call, struct arena *a, struct why *w)
{
	struct calling k = { .call = call, .arena = a,
	    .loop = loop_new("back end") };
	struct resolve_query q = { .n = 0 };
	enum err e = OK;

	call->status = 0;
	call->reply = STR_NONE;
	if (resolve_now(k.loop, call->url->host, MIN(call->total_ms,
	    CONNECT_MS_MAX), &q)) {
		exchange_messages(&k, &q);
		e = judge_end(&k, w);
	} else {
		e = why(w, ERR_UNREACHED, "the back end %.*s: the name %.*s "
		    "has no address: %s", STR_FMT(call->backend->name),
		    STR_FMT(call->url->host), q.error);
	}
	if (e == OK)
		call->reply = arena_copy(a, buf_str(&k.reply));
	http_decoder_free(&k.decoder);
	buf_free(&k.reply);
	loop_free(&k.loop);
	return e;
}
