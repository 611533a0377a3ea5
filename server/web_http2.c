/*
 * A connection that speaks HTTP/2: its streams are requests like any other.
 */
#include "server/web_own.h"

#define TICK_MS 1000                 /* at most, between looks at the time */

static void answered(struct web_request *);
static void more(struct web_request *);
static void read_on(struct web_request *);
static const struct web_carrier carrier = { answered, more, read_on };

static struct mono
now(const struct web_conn *c)
{
	return loop_now(c->web->loop);
}

/* -- Requests -- */

static void
head_came(void *arg, struct http2_stream *s, struct head *h, struct arena *a,
    const struct head_refusal *f, bool ended)
{
	struct web_conn *c = arg;
	struct web_request *r = web_request_new(c->web, c, &carrier);

	http2_set_data(s, r);
	r->stream = s;
	r->head = *h;
	r->arena = *a;
	*a = ARENA_INIT;
	r->moved = c->used = now(c);
	if (f->status != 0) {
		web_request_refuse(r, f);
		return;
	}
	r->coming = !ended;
	if (web_request_admit(r) && (ended || r->route->upload))
		web_request_call(r);
}

static bool
body_came(void *arg, struct http2_stream *s, struct str bytes)
{
	static const struct head_refusal big = { 413, "limit",
	    "the body is too large" };
	struct web_request *r = http2_data(s);

	(void)arg;
	/* The rest of a refused request is discarded. */
	if (r == NULL || !r->coming || r->status != 0)
		return true;
	if (bytes.n > web_body_bytes_max(r) - r->read_n - r->body.n)
		web_request_refuse(r, &big);
	else if (web_request_put_body(r, bytes))
		web_request_go_on(r);
	r = http2_data(s);
	if (r == NULL || r->upload == NULL || !r->held)
		return true;
	r->unused += bytes.n;
	return false;
}

/* The upload wants more: it reads what came while it did not. */
static void
read_waiting(void *arg, struct http2_stream *s)
{
	struct web_request *r = http2_data(s);

	(void)arg;
	if (r == NULL || r->upload == NULL || r->held ||
	    (r->unused == 0 && r->coming))
		return;
	http2_used(s, r->unused);
	r->unused = 0;
	web_request_go_on(r);
}

static void
read_on(struct web_request *r)
{
	r->moved = now(r->conn);
	r->conn->reads = true;
	net_wake(r->conn->net);
}

static void
end_came(void *arg, struct http2_stream *s)
{
	struct web_request *r = http2_data(s);

	(void)arg;
	if (r == NULL || !r->coming || r->status != 0)
		return;
	r->coming = false;
	web_request_go_on(r);
}

static void
stream_closed(void *arg, struct http2_stream *s)
{
	struct web_request *r = http2_data(s);

	(void)arg;
	if (r == NULL)
		return;
	http2_set_data(s, NULL);
	r->stream = NULL;
	web_request_drop(r);
}

/* -- Answers -- */

static void
answered(struct web_request *r)
{
	struct http2_stream *s = r->stream;
	size_t n = 0;

	for (const struct web_field *f = r->fields; f != NULL; f = f->next)
		n++;
	struct head_field *fields = ARENA_ARRAY(&r->arena, struct head_field,
	    n);
	n = 0;
	for (const struct web_field *f = r->fields; f != NULL; f = f->next)
		fields[n++] = (struct head_field){ str_of(f->name),
		    str_of(f->value) };
	bool body = !r->bodiless && (r->pull != NULL || r->answer.n > 0);
	r->moved = now(r->conn);
	http2_answer(s, r->status, fields, n, body);
	if (body) {
		web_keep_body(r);
		return;
	}
	http2_set_data(s, NULL);
	web_request_over(r);
}

static enum http2_taken
take(void *arg, struct http2_stream *s, struct buf *out, size_t room)
{
	struct web_conn *c = arg;
	struct web_request *r = http2_data(s);
	size_t before = out->n;

	if (r == NULL)
		return HTTP2_CUT;
	switch (web_take_body(r, out, room)) {
	case WEB_CUT:
		return HTTP2_CUT;
	case WEB_END:
		http2_set_data(s, NULL);
		web_request_over(r);
		return HTTP2_LAST;
	case WEB_MORE:
		break;
	}
	r->moved = now(c);
	r->dry = out->n == before;
	return r->dry ? HTTP2_NOTHING : HTTP2_SOME;
}

static void
more(struct web_request *r)
{
	r->moved = now(r->conn);
	r->dry = false;
	http2_more(r->stream);
}

static void
wake(void *arg)
{
	struct web_conn *c = arg;

	net_wake(c->net);
}

static const struct http2_events events = { head_came, body_came, end_came,
	stream_closed, take, wake };

/* -- The connection -- */

/* As late as TICK_MS may anything be noticed. */
static int64_t
tick_ms(const struct web_limits *l)
{
	return MIN(MIN(TICK_MS, MIN(l->idle_ms, l->head_ms)),
	    MIN(l->body_ms, l->stall_ms));
}

void
web_http2_begin(struct web_conn *c)
{
	struct http2_limits l = HTTP2_LIMITS_DEFAULT;

	l.head_bytes_max = c->web->limits.head_bytes_max;
	l.fields_max = c->web->limits.fields_max;
	c->state = CONN_HTTP2;
	c->http2 = http2_new(&l, &events, c, now(c));
	c->used = now(c);
	web_conn_due(c, mono_add_ms(now(c), tick_ms(&c->web->limits)));
}

void
web_http2_bytes(struct web_conn *c, struct str bytes)
{
	http2_recv(c->http2, bytes, now(c));
	net_wake(c->net);
}

void
web_http2_turn(struct web_conn *c)
{
	bool reads = c->reads;

	c->reads = false;
	if (reads)
		http2_each(c->http2, read_waiting, c);
	http2_fill(c->http2, net_out(c->net), net_room(c->net));
	if (http2_is_done(c->http2))
		web_conn_end(c);
	else
		net_hold(c->net, net_room(c->net) == 0);
}

/* A request that does not come, an answer that is not taken. */
static void
check_stream(void *arg, struct http2_stream *s)
{
	struct web_conn *c = arg;
	struct web_request *r = http2_data(s);
	const struct web_limits *l = &c->web->limits;
	static const struct head_refusal slow = { 408, "timeout",
	    "the request's body did not come in time" };

	/* Answered, and it still sends. */
	if (r == NULL) {
		http2_cancel(s);
		return;
	}
	c->used = now(c);
	int64_t ms = mono_ns_between(r->moved, now(c)) / NS_PER_MS;
	if (r->coming && r->status == 0 && !r->held && ms >= l->body_ms) {
		c->web->n.timeouts++;
		web_request_refuse(r, &slow);
	} else if (r->status != 0 && !r->dry && ms >= l->stall_ms) {
		http2_cancel(s);
	}
}

void
web_http2_tick(struct web_conn *c)
{
	const struct web_limits *l = &c->web->limits;

	http2_each(c->http2, check_stream, c);
	c->web->n.timeouts += http2_end_slow_head(c->http2, now(c),
	    l->head_ms);
	if (mono_ns_between(c->used, now(c)) / NS_PER_MS >=
	    l->idle_ms) {
		http2_drain(c->http2);
	}
	web_conn_due(c, mono_add_ms(now(c), tick_ms(l)));
}
