#include "server/web_own.h"

#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define CHUNK_HEAD_BYTES 10u         /* "0001f3a0", CR, LF */
#define CHUNK_BYTES (CHUNK_HEAD_BYTES + 2 + 5)
#define SPARE_BYTES_MAX 4096u        /* kept for early bytes */

static void conn_take(struct web_conn *, struct str *);

/* -- The timer: it is moved when it fires, not each time -- */

static void
arm(struct web_conn *c)
{
	if (c->until.ns >= c->timer_at.ns)
		return;
	c->timer_at = c->until;
	loop_timer_set(c->web->loop, &c->timer, c->until);
}

void
web_conn_due(struct web_conn *c, struct mono until)
{
	c->until = until;
	arm(c);
}

static void
due_in(struct web_conn *c, int64_t ms)
{
	web_conn_due(c, mono_add_ms(loop_now(c->web->loop), ms));
}

/* -- States -- */

static size_t
unread(const struct web_conn *c)
{
	return c->in.n - c->in_at;
}

void
web_conn_end(struct web_conn *c)
{
	c->state = CONN_OVER;
	c->until = MONO_NEVER;
	net_hold(c->net, false);
	net_close(c->net);
}

void
web_abort(struct web_request *r)
{
	struct web_conn *c = r->conn;

	CHECK(r->web->tls == NULL && r->upload == NULL && r->status == 0);
	if (c != NULL) {
		c->request = NULL;
		c->state = CONN_OVER;
		c->until = MONO_NEVER;
		net_abort(c->net, ERR_CLOSED, "cut by the handler");
		r->conn = NULL;
	}
	web_request_over(r);
}

static void
enter_head(struct web_conn *c)
{
	c->state = CONN_HEAD;
	c->scan = (struct head_scan){ 0, 0, false };
	c->in_head = false;
	due_in(c, c->web->limits.idle_ms);
}

/* An answer has left: the next request, or the end. */
static void
finish(struct web_conn *c)
{
	struct web_request *r = c->request;

	c->request = NULL;
	if (c->close || c->web->draining)
		web_conn_end(c);
	else
		enter_head(c);
	web_request_over(r);
	net_wake(c->net);
}

/* -- Answers -- */

static bool
has_no_length(const struct web_request *r)
{
	return r->pull != NULL && r->pull_length == UINT64_MAX &&
	    !r->bodiless;
}

static bool
is_chunked(const struct web_request *r)
{
	return has_no_length(r) && r->head.minor == 1;
}

static void
put_head(struct web_conn *c, const struct web_request *r)
{
	struct buf *out = net_out(c->net);

	buf_printf(out, "HTTP/1.1 %d %s\r\n", r->status,
	    web_status_text(r->status));
	for (const struct web_field *f = r->fields; f != NULL; f = f->next) {
		buf_put_text(out, f->name);
		buf_put(out, ": ", 2);
		buf_put_text(out, f->value);
		buf_put(out, "\r\n", 2);
	}
	if (is_chunked(r))
		buf_put_text(out, "transfer-encoding: chunked\r\n");
	if (c->close || c->web->draining)
		buf_put_text(out, "connection: close\r\n");
	buf_put(out, "\r\n", 2);
}

/* One pull of a body of unknown length, as a chunk (RFC 9112 §7.1). */
static enum web_taken
put_chunk(struct web_conn *c, struct web_request *r, size_t room)
{
	struct buf *out = net_out(c->net);
	size_t at = out->n;
	char size[CHUNK_HEAD_BYTES + 1];

	if (room <= CHUNK_BYTES)
		return WEB_MORE;
	buf_grow(out, CHUNK_HEAD_BYTES);
	enum web_taken taken = web_take_body(r, out, room - CHUNK_BYTES);
	size_t n = out->n - at - CHUNK_HEAD_BYTES;
	if (n == 0) {
		out->n = at;
	} else {
		snprintf(size, sizeof(size), "%08x\r\n", (unsigned)n);
		memcpy(out->p + at, size, CHUNK_HEAD_BYTES);
		buf_put_text(out, "\r\n");
	}
	if (taken == WEB_END)
		buf_put_text(out, "0\r\n\r\n");
	return taken;
}

/* As much of the body as there is room for; true: it has ended. */
static bool
put_body(struct web_conn *c, struct web_request *r)
{
	size_t room = net_room(c->net);
	enum web_taken taken = is_chunked(r) ? put_chunk(c, r, room) :
	    web_take_body(r, net_out(c->net), room);

	/* The client sees by its length that it is not whole. */
	if (taken == WEB_CUT)
		c->close = true;
	return taken != WEB_MORE;
}

static void
answered(struct web_request *r)
{
	struct web_conn *c = r->conn;

	/* The rest of the request's body stays unread, or only the end of the
	 * connection marks the end of the answer. */
	if (r->coming || (has_no_length(r) && r->head.minor == 0))
		c->close = true;
	put_head(c, r);
	net_wake(c->net);
	if (put_body(c, r)) {
		finish(c);
		return;
	}
	web_keep_body(r);
	c->state = CONN_ANSWER;
	c->until = MONO_NEVER;
}

static void
more(struct web_request *r)
{
	net_wake(r->conn->net);
}

static void
read_on(struct web_request *r)
{
	due_in(r->conn, r->web->limits.body_ms);
	net_wake(r->conn->net);
}

static const struct web_carrier carrier = { answered, more, read_on };

/* -- Requests -- */

static struct web_request *
request_begin(struct web_conn *c)
{
	struct web_request *r = web_request_new(c->web, c, &carrier);

	c->request = r;
	c->state = CONN_ASKED;
	c->until = MONO_NEVER;
	return r;
}

/* Refuse what is no request, or not yet one, and end with it. */
static void
refuse(struct web_conn *c, const struct head_refusal *f)
{
	struct web_request *r = c->request;

	if (r == NULL)
		r = request_begin(c);
	c->close = true;
	web_request_refuse(r, f);
}

static void
begin(struct web_conn *c, struct str bytes)
{
	struct web_request *r = request_begin(c);
	struct head_limits limits = { (size_t)c->web->limits.head_bytes_max,
	    (size_t)c->web->limits.fields_max };
	struct head_refusal f;

	if (!head_parse(arena_copy(&r->arena, bytes), &limits, &r->arena,
	    &r->head, &f)) {
		refuse(c, &f);
		return;
	}
	bool has_body = r->head.length > 0 || r->head.chunked;
	c->close = r->head.close;
	r->coming = has_body;
	if (!web_request_admit(r))
		return;
	if (!has_body || r->route->upload)
		web_request_call(r);
	if (!has_body || c->state != CONN_ASKED)
		return;
	c->state = CONN_BODY;
	c->chunks = (struct http_chunks){ .strict = true };
	due_in(c, c->web->limits.body_ms);
	if (r->head.awaits_continue) {
		buf_put_text(net_out(c->net), CONTINUE);
		net_wake(c->net);
	}
}

static void
take_head(struct web_conn *c, struct str *in)
{
	struct head_limits limits = { (size_t)c->web->limits.head_bytes_max,
	    (size_t)c->web->limits.fields_max };
	struct head_refusal f;
	size_t n = head_scan(&c->scan, *in, &limits, &f);

	if (f.status != 0) {
		*in = STR_NONE;
		refuse(c, &f);
	} else if (n > 0) {
		struct str bytes = str_cut(*in, 0, n);
		*in = str_from(*in, n);
		begin(c, bytes);
	} else if (!c->in_head) {
		c->in_head = true;
		due_in(c, c->web->limits.head_ms);
	}
}

/* More of a body, chunked or of a known length. */
static void
take_body(struct web_conn *c, struct str *in)
{
	static const struct head_refusal bad = { 400, "bad_request",
	    "the body is not chunked as it should be" };
	static const struct head_refusal big = { 413, "limit",
	    "the body is too large" };
	struct web_request *r = c->request;
	enum http_chunks_found found;
	struct str bytes = STR("");

	if (r->head.chunked) {
		found = http_chunks_feed(&c->chunks, in, &r->body,
		    web_body_bytes_max(r) - r->read_n);
	} else {
		uint64_t left = r->head.length - r->read_n - r->body.n;
		bytes = str_cut(*in, 0, (size_t)left);
		*in = str_from(*in, bytes.n);
		found = bytes.n < left ? HTTP_CHUNKS_MORE : HTTP_CHUNKS_END;
	}
	r->coming = found != HTTP_CHUNKS_END;
	if (!web_request_put_body(r, bytes))
		return;
	if (found == HTTP_CHUNKS_BAD || found == HTTP_CHUNKS_TOO_LONG) {
		refuse(c, found == HTTP_CHUNKS_BAD ? &bad : &big);
		return;
	}
	if (!r->coming) {
		c->state = CONN_ASKED;
		c->until = MONO_NEVER;
	}
	web_request_go_on(r);
}

/* An upload wants no more of its body for now. */
static bool
is_held(const struct web_conn *c)
{
	return c->state == CONN_BODY && c->request->held;
}

/* Use what is to be used of `in`; what is left waits. */
static void
conn_take(struct web_conn *c, struct str *in)
{
	while (in->n > 0) {
		switch (c->state) {
		case CONN_HEAD:
			/* Whoever reads no answers gets no more of them. */
			if (net_room(c->net) == 0)
				return;
			size_t before = in->n;
			take_head(c, in);
			if (in->n == before)
				return;
			break;
		case CONN_BODY:
			if (is_held(c))
				return;
			take_body(c, in);
			break;
		case CONN_ASKED:
		case CONN_ANSWER:
			return;
		case CONN_SOCKET:
			web_socket_bytes(c->socket, *in);
			*in = STR_NONE;
			break;
		case CONN_HTTP2:
			web_http2_bytes(c, *in);
			*in = STR_NONE;
			break;
		case CONN_OVER:
			*in = STR_NONE;
			break;
		}
	}
}

/* Continue with the bytes that were kept. */
static void
take_kept(struct web_conn *c)
{
	struct str rest = str_from(buf_str(&c->in), c->in_at);

	conn_take(c, &rest);
	c->in_at = c->in.n - rest.n;
	if (rest.n > 0)
		return;
	c->in_at = 0;
	/* There may have been a token in it. */
	if (c->in.n > 0)
		explicit_bzero(c->in.p, c->in.n);
	buf_clear(&c->in);
	if (c->in.cap > SPARE_BYTES_MAX || c->state == CONN_SOCKET)
		buf_free(&c->in);
}

static void
hold_or_not(struct web_conn *c)
{
	if (c->state < CONN_SOCKET)
		net_hold(c->net, is_held(c) || unread(c) >
		    (size_t)c->web->limits.head_bytes_max);
}

/* -- The connection's events -- */

static void
on_bytes(struct net_conn *nc, struct str bytes)
{
	struct web_conn *c = net_arg(nc);

	c->web->n.bytes_in += bytes.n;
	if (net_speaks_h2(nc) && !c->begun)
		web_http2_begin(c);
	c->begun = true;
	if (unread(c) == 0) {
		conn_take(c, &bytes);
		buf_put_str(&c->in, bytes);
	} else {
		buf_put_str(&c->in, bytes);
		take_kept(c);
	}
	hold_or_not(c);
}

/* Nothing more comes, and what came whole is answered. */
static bool
is_all_said(const struct web_conn *c)
{
	return c->ended && ((c->state == CONN_BODY && unread(c) == 0) ||
	    (c->state == CONN_HEAD && (unread(c) == 0 ||
	    net_room(c->net) > 0)));
}

static void
on_turn(struct net_conn *nc)
{
	struct web_conn *c = net_arg(nc);

	if (net_speaks_h2(nc) && !c->begun)
		web_http2_begin(c);
	c->begun = true;
	if (c->state == CONN_ANSWER && put_body(c, c->request))
		finish(c);
	if ((c->state == CONN_HEAD || c->state == CONN_BODY) && unread(c) > 0)
		take_kept(c);
	if (is_all_said(c))
		web_conn_end(c);
	if (c->state == CONN_SOCKET)
		web_socket_turn(c->socket);
	else if (c->state == CONN_HTTP2)
		web_http2_turn(c);
	hold_or_not(c);
}

/* Requests are still answered; WebSockets and HTTP/2 announce their end. */
static bool
on_end(struct net_conn *nc)
{
	struct web_conn *c = net_arg(nc);

	c->ended = c->state < CONN_SOCKET;
	net_wake(nc);
	return c->ended;
}

static void
on_closed(struct net_conn *nc, const struct why *why_)
{
	struct web_conn *c = net_arg(nc);

	(void)why_;
	c->web->n.connections--;
	loop_timer_stop(c->web->loop, &c->timer);
	list_take(&c->node);
	if (c->request != NULL)
		web_request_drop(c->request);
	if (c->socket != NULL)
		web_socket_lost(c->socket);
	http2_free(&c->http2);
	buf_free(&c->in);
	mem_free(&c);
}

static const struct net_events events = { .on_bytes = on_bytes,
	.on_turn = on_turn, .on_end = on_end, .on_closed = on_closed };

static void
too_slow(struct web_conn *c)
{
	static const struct head_refusal head = { 408, "timeout",
	    "the request's head did not come in time" };
	static const struct head_refusal body = { 408, "timeout",
	    "the request's body did not come in time" };

	if (c->state == CONN_SOCKET) {
		web_socket_tick(c->socket);
	} else if (c->state == CONN_HTTP2) {
		web_http2_tick(c);
	} else if (is_held(c)) {
		return;
	} else if (c->state == CONN_BODY || (c->state == CONN_HEAD &&
	    c->in_head)) {
		c->web->n.timeouts++;
		refuse(c, c->state == CONN_BODY ? &body : &head);
	} else if (c->state == CONN_HEAD) {
		web_conn_end(c);
	}
}

static void
fire(struct timer *t)
{
	struct web_conn *c = CONTAINER(t, struct web_conn, timer);

	c->timer_at = MONO_NEVER;
	if (c->until.ns == MONO_NEVER.ns)
		return;
	if (mono_before(loop_now(c->web->loop), c->until)) {
		arm(c);
		return;
	}
	c->until = MONO_NEVER;
	too_slow(c);
}

void
web_conn_accept(struct net_conn *nc, void *arg)
{
	struct web *w = arg;
	struct web_conn *c = mem_new(sizeof(*c));

	c->web = w;
	c->net = nc;
	c->timer.fire = fire;
	c->timer_at = MONO_NEVER;
	list_put(&w->conns, &c->node);
	w->n.connections++;
	w->n.accepted++;
	enter_head(c);
	net_take(nc, &events, c);
}

void
web_conn_drain(struct web_conn *c)
{
	c->close = true;
	if (c->state == CONN_HEAD)
		web_conn_end(c);
	else if (c->state == CONN_SOCKET)
		web_socket_close(c->socket, 1001, "the program is ending");
	else if (c->state == CONN_HTTP2)
		http2_drain(c->http2);
}
