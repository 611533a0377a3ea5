#include "server/web_own.h"

/* Messages kept while they are held; above it nothing is read. */
#define WAITING_BYTES_MAX ((size_t)64 << 10)

static void
set_hold(struct web_socket *s)
{
	net_hold(s->conn->net, net_room(s->conn->net) == 0 ||
	    s->rest_at < s->rest.n ||
	    s->waiting.n - s->waiting_at > WAITING_BYTES_MAX);
}

static bool
is_open(const struct web_socket *s)
{
	return s->code == 0 && !s->told;
}

static void
tell_closed(struct web_socket *s, int code)
{
	if (s->told)
		return;
	s->told = true;
	if (s->at->events->closed != NULL)
		s->at->events->closed(s, code);
}

/* -- The handshake, RFC 6455 §4.2 -- */

static bool
refuse(struct web_request *r, int status, const char *text)
{
	web_fail(r, status, "bad_websocket", "%s", text);
	return false;
}

static bool
check_handshake(struct web_request *r, char accept[static WS_ACCEPT_BYTES])
{
	struct str value = STR("");

	if (!str_eq(r->head.method, STR("GET")) || r->head.length > 0 ||
	    r->head.chunked)
		return refuse(r, 400, "a WebSocket begins with a GET");
	if (!head_lists(&r->head, STR("connection"), STR("upgrade")))
		return refuse(r, 400, "Connection does not name the Upgrade");
	head_find(&r->head, STR("sec-websocket-version"), &r->arena, &value);
	if (!str_eq(value, STR("13"))) {
		web_add_field(r, "sec-websocket-version", "13");
		return refuse(r, 426, "only version 13 is spoken here");
	}
	if (!head_find(&r->head, STR("sec-websocket-key"), &r->arena,
	    &value) || !ws_accept(value, accept))
		return refuse(r, 400, "Sec-WebSocket-Key is no key");
	return true;
}

static void came(void *arg, struct str message);
static void next_turn(struct timer *);
static void stalled(struct net_conn *);

static struct web_socket *
socket_new(struct web_request *r)
{
	struct web_conn *c = r->conn;
	struct web *w = r->web;
	struct web_socket *s = mem_new(sizeof(*s));

	s->conn = c;
	s->passed = r->passed || r->known;
	s->pass = r->pass;
	s->ws = ws_new(false, (size_t)w->limits.message_bytes_max, came, s);
	s->next_turn.fire = next_turn;
	list_put(&w->sockets, &s->node);
	w->n.sockets++;
	c->socket = s;
	c->state = CONN_SOCKET;
	c->request = NULL;
	net_set_stall(c->net, w->limits.socket_stall_ms, stalled);
	web_conn_due(c, mono_add_ms(loop_now(w->loop), w->limits.ping_ms));
	return s;
}

bool
web_socket_accept(struct web_request *r, const struct web_socket_path *at)
{
	struct web *w = r->web;
	struct net_conn *net = r->conn->net;
	char accept[WS_ACCEPT_BYTES];

	if (!check_handshake(r, accept))
		return false;
	buf_printf(net_out(net), "HTTP/1.1 101 Switching Protocols\r\n"
	    "upgrade: websocket\r\nconnection: Upgrade\r\n"
	    "sec-websocket-accept: %s\r\n\r\n", accept);
	w->counters[r->row * WEB_STATUS_COUNT + WEB_STATUS_101]++;
	struct web_socket *s = socket_new(r);
	web_request_over(r);
	s->at = at;
	s->arg = at->events->open(s);
	net_wake(net);
	return true;
}

/* -- Messages that come -- */

static void
came(void *arg, struct str message)
{
	struct web_socket *s = arg;

	if (!is_open(s))
		return;
	if (!s->held && s->waiting.n == s->waiting_at) {
		s->at->events->message(s, message);
		return;
	}
	buf_put_be32(&s->waiting, (uint32_t)message.n);
	buf_put_str(&s->waiting, message);
}

static void
deliver_waiting(struct web_socket *s)
{
	while (!s->held && is_open(s) && s->waiting_at < s->waiting.n) {
		struct reader r = reader_of(str_from(buf_str(&s->waiting),
		    s->waiting_at));
		struct str message = read_bytes(&r, read_be32(&r));
		s->waiting_at += 4 + message.n;
		s->at->events->message(s, message);
	}
	if (s->waiting_at == s->waiting.n) {
		buf_free(&s->waiting);
		s->waiting_at = 0;
	}
}

/* The client has closed, or broke the rules; the answer to it is in `out`. */
static void
ended(struct web_socket *s)
{
	if (!is_open(s))
		return;
	tell_closed(s, ws_code(s->ws));
	web_conn_end(s->conn);
}

/* False: so many frames that carry nothing are a flood. */
static bool
count_idle(struct web_socket *s)
{
	const struct web_limits *l = &s->conn->web->limits;
	uint64_t n = ws_idle_frames(s->ws) - s->idle_counted;

	s->idle_counted += n;
	return rate_count(&s->idle_frames, (int64_t)n, l->idle_frames_per_s,
	    l->idle_frames_burst, loop_now(s->conn->web->loop));
}

/* As many frames as are one turn's; what is left waits for the next. */
static size_t
take_frames(struct web_socket *s, struct str bytes)
{
	struct web *w = s->conn->web;
	struct buf *out = net_out(s->conn->net);
	size_t before = out->n;
	size_t n = ws_recv(s->ws, bytes, (size_t)w->limits.turn_frames_max,
	    out);

	if (out->n != before)
		net_wake(s->conn->net);
	if (n < bytes.n)
		loop_timer_set(w->loop, &s->next_turn, loop_now(w->loop));
	return n;
}

/* Handles the effects of a client's frames other than messages. */
static void
judge(struct web_socket *s)
{
	if (ws_is_over(s->ws))
		ended(s);
	else if (!count_idle(s))
		web_socket_close(s, 1008, "too many frames that carry nothing");
	else if (!web_count_coming(s->conn->web, &s->counted,
	    ws_partial(s->ws)))
		web_socket_close(s, 1013, "too many messages are on their way "
		    "here");
	else
		set_hold(s);
}

void
web_socket_bytes(struct web_socket *s, struct str bytes)
{
	/* They came before it was held for those that wait. */
	if (s->rest_at < s->rest.n) {
		buf_put_str(&s->rest, bytes);
		return;
	}
	size_t n = take_frames(s, bytes);
	buf_put_str(&s->rest, str_from(bytes, n));
	judge(s);
}

static void
next_turn(struct timer *t)
{
	struct web_socket *s = CONTAINER(t, struct web_socket, next_turn);

	if (!is_open(s))
		return;
	s->rest_at += take_frames(s, str_from(buf_str(&s->rest), s->rest_at));
	if (s->rest_at == s->rest.n) {
		buf_free(&s->rest);
		s->rest_at = 0;
	}
	judge(s);
}

void
web_socket_turn(struct web_socket *s)
{
	deliver_waiting(s);
	if (is_open(s) && net_room(s->conn->net) > 0 &&
	    s->at->events->room != NULL)
		s->at->events->room(s);
	if (is_open(s))
		set_hold(s);
}

/* -- Time, and the end -- */

void
web_socket_tick(struct web_socket *s)
{
	struct web *w = s->conn->web;

	if (net_silent_ms(s->conn->net) >= w->limits.silent_ms) {
		net_abort(s->conn->net, ERR_TIMEOUT, "the other side is gone");
		return;
	}
	if (net_room(s->conn->net) > 0)
		ws_put_ping(net_out(s->conn->net), false, STR(""));
	web_conn_due(s->conn, mono_add_ms(loop_now(w->loop),
	    w->limits.ping_ms));
	net_wake(s->conn->net);
}

void
web_socket_close(struct web_socket *s, int code, const char *text)
{
	if (!is_open(s))
		return;
	s->code = code;
	ws_stop(s->ws);
	ws_put_close(net_out(s->conn->net), false, code, str_of(text));
	web_conn_end(s->conn);
}

/* Should it read on after all, it finds out why. */
static void
stalled(struct net_conn *nc)
{
	struct web_conn *c = net_arg(nc);
	struct web_socket *s = c->socket;

	web_socket_close(s, 1013, "nothing was read for too long");
	tell_closed(s, 1013);
	net_set_stall(nc, c->web->limits.drain_ms, NULL);
}

void
web_socket_lost(struct web_socket *s)
{
	struct web *w = s->conn->web;

	tell_closed(s, s->code != 0 ? s->code : 1006);
	w->n.sockets--;
	(void)web_count_coming(w, &s->counted, 0);
	list_take(&s->node);
	loop_timer_stop(w->loop, &s->next_turn);
	ws_free(&s->ws);
	buf_free(&s->waiting);
	buf_free(&s->rest);
	mem_free(&s);
}

/* -- What a door may do -- */

void *
web_socket_arg(const struct web_socket *s)
{
	return s->arg;
}

void *
web_socket_owner(const struct web_socket *s)
{
	return s->at->arg;
}

bool
web_socket_may(const struct web_socket *s, enum token_access access)
{
	return web_socket_may_at(s, s->at->door, access);
}

bool
web_socket_may_at(const struct web_socket *s, enum token_door door,
    enum token_access access)
{
	return web_allows(s->conn->web, s->passed, &s->pass, door, access);
}

void
web_socket_wake(struct web_socket *s)
{
	if (is_open(s))
		net_wake(s->conn->net);
}

size_t
web_socket_room(const struct web_socket *s)
{
	return is_open(s) ? net_room(s->conn->net) : 0;
}

size_t
web_socket_held(const struct web_socket *s)
{
	return net_waiting(s->conn->net);
}

bool
web_socket_blocked(const struct web_socket *s)
{
	return net_blocked(s->conn->net);
}

static void
put_frame(struct web_socket *s, bool first, bool last, const struct str *parts,
    size_t n)
{
	struct buf *out = net_out(s->conn->net);
	size_t bytes = 0;

	if (!is_open(s))
		return;
	for (size_t i = 0; i < n; i++)
		bytes += parts[i].n;
	ws_put_head(out, first, last, bytes);
	for (size_t i = 0; i < n; i++)
		buf_put_str(out, parts[i]);
	net_wake(s->conn->net);
}

void
web_socket_put(struct web_socket *s, const struct str *parts, size_t n)
{
	CHECK(!s->begun);
	put_frame(s, true, true, parts, n);
}

void
web_socket_begin(struct web_socket *s, struct str piece)
{
	CHECK(!s->begun);
	s->begun = true;
	put_frame(s, true, false, &piece, 1);
}

void
web_socket_piece(struct web_socket *s, struct str piece)
{
	CHECK(s->begun);
	put_frame(s, false, false, &piece, 1);
}

void
web_socket_end(struct web_socket *s, struct str piece)
{
	CHECK(s->begun);
	s->begun = false;
	put_frame(s, false, true, &piece, 1);
}

void
web_socket_hold(struct web_socket *s, bool hold)
{
	s->held = hold;
	if (!hold && s->waiting_at < s->waiting.n)
		web_socket_wake(s);
}
