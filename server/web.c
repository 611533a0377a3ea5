#include "server/web_own.h"

#include "os/log.h"

#define DRAIN_LOOK_MS 20
#define RELOAD_LOOK_MS 10000

/* -- Opening -- */

static enum err
check_exposure(const struct web_options *o, struct web *w, struct why *why_)
{
	if (w->loopback || o->insecure || (o->tls_chain != NULL && o->token))
		return OK;
	return why(why_, ERR_CONFIG, "http.listen at %s can be reached by "
	    "others: it wants TLS and a token (http.tls_cert, http.tls_key, "
	    "realtime.token = required); or listen on 127.0.0.1",
	    o->address == NULL ? "" : o->address);
}

static enum err
open_tls(const struct web_options *o, struct web *w, struct why *why_)
{
	if (o->tls_chain == NULL)
		return OK;
	enum err e = net_tls_server(o->tls_chain, o->tls_key, &w->tls, why_);
	if (e == OK)
		net_tls_speak_http1(w->tls);
	return e;
}

static void
open_net(struct web *w)
{
	struct net_limits l = NET_LIMITS_DEFAULT;

	l.connections_max = w->limits.connections_max;
	l.out_bytes_max = w->limits.out_bytes_max;
	l.stall_ms = w->limits.stall_ms;
	w->net = net_new(w->loop, &l);
}

static void drain_look(struct timer *);

/* Whether the certificate has changed. */
static void
reload_look(struct timer *t)
{
	struct web *w = CONTAINER(t, struct web, reload_timer);
	struct why why_ = WHY_INIT;
	struct log_text quoted;

	if (net_tls_changed(w->tls)) {
		if (web_reload(w, &why_) == OK)
			log_info("web.certificate", "state=read");
		else
			log_error("web.certificate", "state=kept why=%s",
			    log_quote(&quoted, str_of(why_.text)));
	}
	loop_timer_set(w->loop, t, mono_add_ms(loop_now(w->loop),
	    RELOAD_LOOK_MS));
}

static void
collect_routes(struct web *w, const struct web_route *routes, size_t n)
{
	w->routes_n = n + WEB_SESSION_ROUTES;
	w->routes = ARENA_ARRAY(&w->arena, const struct web_route *,
	    w->routes_n);
	for (size_t i = 0; i < n; i++)
		w->routes[i] = &routes[i];
	for (size_t i = 0; i < WEB_SESSION_ROUTES; i++)
		w->routes[n + i] = &web_session_routes[i];
	web_routes_check(w->routes, w->routes_n);
	w->counters = mem_array((w->routes_n + 1) * WEB_STATUS_COUNT,
	    sizeof(*w->counters));
}

enum err
web_open(const struct web_options *o, const struct web_route *routes,
    size_t n, struct web **out, struct why *why_)
{
	static const struct web_limits defaults = WEB_LIMITS_DEFAULT;
	const char *address = o->address == NULL ? "127.0.0.1" : o->address;
	struct web *w = mem_new(sizeof(*w));

	w->loop = o->loop;
	w->limits = o->limits == NULL ? defaults : *o->limits;
	w->origins = arena_copy(&w->arena, o->origins);
	w->sockets_at = o->sockets;
	w->sockets_at_n = o->sockets_n;
	web_sockets_check(o->sockets, o->sockets_n);
	collect_routes(w, routes, n);
	w->wants_tokens = o->token;
	w->starting = o->starting;
	w->loopback = web_address_is_loopback(address);
	w->drain_timer.fire = drain_look;
	w->reload_timer.fire = reload_look;
	list_init(&w->conns);
	list_init(&w->sockets);
	list_init(&w->kept);
	list_init(&w->files);
	list_init(&w->sessions);
	open_net(w);
	enum err e = check_exposure(o, w, why_);
	if (e == OK)
		e = open_tls(o, w, why_);
	if (e == OK)
		e = net_listen(w->net, address, o->port, w->tls,
		    web_conn_accept, w, &w->listener, why_);
	if (e != OK) {
		web_close(&w);
		return e;
	}
	w->port = net_port(w->listener);
	if (w->tls != NULL)
		loop_timer_set(w->loop, &w->reload_timer,
		    mono_add_ms(loop_now(w->loop), RELOAD_LOOK_MS));
	*out = w;
	return OK;
}

uint16_t
web_port(const struct web *w)
{
	return w->port;
}

void
web_ready(struct web *w)
{
	w->starting = false;
}

void
web_tokens(struct web *w, struct token_set *set, bool always)
{
	w->tokens = set;
	w->wants_tokens |= always;
}

enum err
web_reload(struct web *w, struct why *why_)
{
	return w->tls == NULL ? OK : net_tls_reload(w->tls, why_);
}

/* -- Ending -- */

/* Whether it has something that a client still waits for. */
static bool
is_under_way(const struct web_conn *c)
{
	return c->request != NULL || c->state == CONN_SOCKET ||
	    c->state == CONN_HTTP2 || net_waiting(c->net) > 0;
}

static bool
any_under_way(const struct web *w)
{
	for (struct list *n = w->conns.next; n != &w->conns; n = n->next)
		if (is_under_way(LIST_ITEM(n, struct web_conn, node)))
			return true;
	return false;
}

/* Bodies that are still being read are not waited for any longer. */
static void
cut_uploads(struct web *w)
{
	static const struct head_refusal ending = { 503, "closed",
	    "the program is ending" };
	struct list *next;

	for (struct list *n = w->kept.next; n != &w->kept; n = next) {
		struct web_request *r = LIST_ITEM(n, struct web_request, node);
		next = n->next;
		if (r->upload != NULL)
			web_request_refuse(r, &ending);
	}
}

static void
drain_look(struct timer *t)
{
	struct web *w = CONTAINER(t, struct web, drain_timer);

	if (w->drained)
		return;
	if (any_under_way(w) && mono_before(loop_now(w->loop), w->drain_end)) {
		loop_timer_set(w->loop, t, mono_add_ms(loop_now(w->loop),
		    DRAIN_LOOK_MS));
		return;
	}
	cut_uploads(w);
	w->drained = true;
	w->on_drained(w->drained_arg);
}

void
web_drain(struct web *w, void (*drained)(void *arg), void *arg)
{
	struct list *next;

	CHECK(!w->draining);
	w->draining = true;
	w->on_drained = drained;
	w->drained_arg = arg;
	net_unlisten(&w->listener);
	for (struct list *n = w->conns.next; n != &w->conns; n = next) {
		next = n->next;
		web_conn_drain(LIST_ITEM(n, struct web_conn, node));
	}
	w->drain_end = mono_add_ms(loop_now(w->loop), w->limits.drain_ms);
	loop_timer_set(w->loop, &w->drain_timer, loop_now(w->loop));
}

void
web_close(struct web **wp)
{
	struct web *w = *wp;

	if (w == NULL)
		return;
	*wp = NULL;
	w->draining = true;
	loop_timer_stop(w->loop, &w->drain_timer);
	loop_timer_stop(w->loop, &w->reload_timer);
	net_free(&w->net);
	CHECK(list_empty(&w->conns) && list_empty(&w->sockets));
	while (!list_empty(&w->kept))
		web_request_over(LIST_ITEM(w->kept.next, struct web_request,
		    node));
	web_files_free(w);
	web_sessions_free(w);
	net_tls_free(&w->tls);
	arena_free(&w->arena);
	mem_free(&w->counters);
	mem_free(&w);
}

/* -- Counts -- */

void
web_counts(const struct web *w, struct web_counts *out)
{
	*out = w->n;
	out->bytes_out = net_bytes_sent(w->net);
	LIST_EACH(s, &w->sockets, const struct web_socket, node)
		out->sockets_stalled += net_stalled_ms(s->conn->net) >= 1000;
}

void
web_route_counts(const struct web *w, void (*each)(void *,
    const struct web_route *, int, uint64_t), void *arg)
{
	for (size_t row = 0; row <= w->routes_n; row++)
		for (size_t slot = 0; slot < WEB_STATUS_COUNT; slot++) {
			uint64_t n = w->counters[row * WEB_STATUS_COUNT + slot];
			if (n > 0)
				each(arg, row < w->routes_n ? w->routes[row] :
				    NULL, web_status_of_slot(slot), n);
		}
}
