#include "wire/grpc/grpc_own.h"

#define GRPC_TYPE STR("application/grpc")
/* A client that has so little time left has none: the way here took more. */
#define DEADLINE_NS_MIN 10000

static const struct grpc_events no_events;

struct grpc_server *
grpc_server_new(const struct grpc_limits *l)
{
	struct grpc_server *s = mem_new(sizeof(*s));

	s->limits = *l;
	return s;
}

void
grpc_server_free(struct grpc_server **sp)
{
	if (*sp == NULL)
		return;
	map_free(&(*sp)->methods);
	mem_free(sp);
}

void
grpc_server_add(struct grpc_server *s, const struct grpc_method *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK(map_put(&s->methods, str_of(m[i].path),
		    (void *)(uintptr_t)&m[i]) == NULL);
}

void
grpc_server_gate(struct grpc_server *s, void (*gate)(struct grpc_call *,
    void *arg), void *arg)
{
	s->gate = gate;
	s->gate_arg = arg;
}

/* ---- A request ---------------------------------------------------------- */

/* Fields of HTTP/2 and of the protocol; false: it is the caller's own. */
static bool
known_field(struct grpc_call *c, struct str name, struct str value)
{
	struct arena *a = &c->arena;

	if (name.p[0] == ':') {
		if (str_eq(name, STR(":path")))
			c->path = arena_copy(a, value);
		else if (str_eq(name, STR(":method"))) {
			c->is_post = str_eq(value, STR("POST"));
			c->is_head = str_eq(value, STR("HEAD"));
		}
		return true;
	}
	if (str_eq(name, STR("content-type")))
		c->content_type = arena_copy(a, value);
	else if (str_eq(name, STR("grpc-timeout")))
		c->timeout = arena_copy(a, value);
	else if (str_eq(name, STR("grpc-encoding")))
		c->encoding = arena_copy(a, value);
	else
		return str_eq(name, STR("te")) ||
		    str_eq(name, STR("grpc-accept-encoding"));
	return true;
}

void
grpc_server_field(struct grpc_call *c, struct str name, struct str value)
{
	/* Trailers of a request mean nothing. */
	if (c->opened || c->ended || name.n == 0)
		return;
	if (!known_field(c, name, value))
		grpc_keep_field(c, name, value);
}

static ssize_t
read_plain(nghttp2_session *h2, int32_t stream, uint8_t *p, size_t room,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct grpc_call *c = source->ptr;
	size_t n = MIN(room, c->plain.n);

	(void)h2, (void)stream, (void)arg;
	memcpy(p, c->plain.p, n);
	c->plain = str_from(c->plain, n);
	if (c->plain.n == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

/*
 * An answer of HTTP, for whoever does not speak gRPC.  The request's rest is
 * read for a while: such clients do not expect to be reset.
 */
static void
answer_http(struct grpc_call *c, const char *status, struct str name,
    struct str value)
{
	nghttp2_nv nv[] = {
		grpc_nv(STR(":status"), str_of(status)),
		grpc_nv(name, value),
		grpc_nv(STR("content-type"), STR("text/plain")),
	};
	nghttp2_data_provider data = { .source.ptr = c,
	    .read_callback = read_plain };

	c->answered = c->said = true;
	c->plain = STR("This port speaks gRPC.\n");
	grpc_call_end(c, GRPC_INTERNAL, STR("not gRPC"));
	nghttp2_submit_response(c->session->h2, c->stream, nv,
	    ARRAY_LEN(nv), c->is_head ? NULL : &data);
	grpc_call_linger(c);
}

/* What is wrong with the request as such; true: it was answered. */
static bool
refused(struct grpc_call *c, const struct grpc_method *m)
{
	int64_t ns;

	if (!c->is_post) {
		answer_http(c, "405", STR("allow"), STR("POST"));
	} else if (!grpc_is_content_type(c->content_type)) {
		answer_http(c, "415", STR("accept"), GRPC_TYPE);
	} else if (c->too_many_fields) {
		grpc_call_abort(c, GRPC_RESOURCE_EXHAUSTED,
		    "the metadata is larger than the limit");
	} else if (m == NULL) {
		grpc_call_abort(c, GRPC_UNIMPLEMENTED, "no such method");
	} else if (c->encoding.n > 0 &&
	    !str_eq(c->encoding, STR("identity")) &&
	    !str_eq(c->encoding, STR("gzip"))) {
		grpc_call_abort(c, GRPC_UNIMPLEMENTED,
		    "grpc-encoding is neither identity nor gzip");
	} else if (c->bad_fields) {
		grpc_call_abort(c, GRPC_INTERNAL,
		    "a binary metadata value is no base64");
	} else if (c->timeout.p != NULL &&
	    !grpc_timeout_read(c->timeout, &ns)) {
		grpc_call_abort(c, GRPC_INTERNAL,
		    "grpc-timeout is malformed");
	} else if (c->timeout.p != NULL && ns < DEADLINE_NS_MIN) {
		grpc_call_abort(c, GRPC_DEADLINE_EXCEEDED,
		    "the deadline is over");
	} else {
		return false;
	}
	return true;
}

static void
set_deadline(struct grpc_call *c)
{
	struct grpc_session *s = c->session;
	int64_t ns;

	if (c->timeout.p == NULL || !grpc_timeout_read(c->timeout, &ns))
		return;
	c->deadline = mono_add_ns(s->now, MIN(ns, INT64_MAX - s->now.ns));
	heap_put(&s->deadlines, &c->due, c->deadline.ns,
	    (uint64_t)c->stream);
}

static void
open_call(struct grpc_call *c, const struct grpc_method *m)
{
	const struct grpc_server *server = c->session->server;

	if (server->gate != NULL && !m->ungated)
		server->gate(c, server->gate_arg);
	if (c->finished || c->waits)
		return;
	c->on = &m->on;
	c->opened = true;
	if (c->on->on_open != NULL)
		c->on->on_open(c);
}

void
grpc_server_fields_end(struct grpc_call *c)
{
	const struct grpc_server *server = c->session->server;
	const struct grpc_method *m = map_get(&server->methods, c->path);

	if (refused(c, m))
		return;
	c->in.gzip = str_eq(c->encoding, STR("gzip"));
	c->kind = m->kind;
	c->arg = m->arg;
	set_deadline(c);
	open_call(c, m);
}

void
grpc_server_admitted(struct grpc_call *c)
{
	const struct grpc_server *server = c->session->server;

	c->admitted = c->waits = false;
	c->on = &no_events;
	open_call(c, map_get(&server->methods, c->path));
}

void
grpc_hold(struct grpc_call *c, const struct grpc_events *on)
{
	c->on = on;
	/* Trailers of a request mean nothing, now as later. */
	c->opened = c->waits = true;
	grpc_pause(c);
}

void
grpc_admit(struct grpc_call *c)
{
	CHECK(c->waits);
	c->admitted = true;
	grpc_resume(c);
}

/* ---- The answer --------------------------------------------------------- */

static size_t
head(struct grpc_call *c, nghttp2_nv *nv)
{
	nv[0] = grpc_nv(STR(":status"), STR("200"));
	nv[1] = grpc_nv(STR("content-type"), GRPC_TYPE);
	nv[2] = grpc_nv(STR("grpc-accept-encoding"), STR("identity,gzip"));
	return grpc_put_fields(nv, 3, &c->headers);
}

static size_t
tail(struct grpc_call *c, nghttp2_nv *nv, size_t n, struct buf *text)
{
	static const char codes[][3] = { "0", "1", "2", "3", "4", "5", "6",
	    "7", "8", "9", "10", "11", "12", "13", "14", "15", "16" };

	nv[n++] = grpc_nv(STR("grpc-status"), str_of(codes[c->code]));
	if (c->text.n > 0) {
		grpc_percent_encode(text, c->text);
		nv[n++] = grpc_nv(STR("grpc-message"), buf_str(text));
	}
	return grpc_put_fields(nv, n, &c->trailers);
}

#define HEAD_FIELDS 3
#define TAIL_FIELDS 2

static nghttp2_nv *
room_for(struct grpc_call *c, nghttp2_nv *few, size_t few_n)
{
	size_t n = HEAD_FIELDS + TAIL_FIELDS + c->headers.n + c->trailers.n;

	return n <= few_n ? few : ARENA_ARRAY(&c->arena, nghttp2_nv, n);
}

void
grpc_server_answer(struct grpc_call *c)
{
	nghttp2_nv few[8], *nv = room_for(c, few, ARRAY_LEN(few));
	nghttp2_data_provider data = grpc_call_provider(c);

	if (c->answered)
		return;
	c->answered = true;
	nghttp2_submit_response(c->session->h2, c->stream, nv, head(c, nv),
	    &data);
}

void
grpc_server_trailers(struct grpc_call *c)
{
	nghttp2_nv few[8], *nv = room_for(c, few, ARRAY_LEN(few));
	struct buf text = BUF_INIT;

	if (c->said || c->gone)
		return;
	c->said = true;
	if (c->answered) {
		nghttp2_submit_trailer(c->session->h2, c->stream, nv,
		    tail(c, nv, 0, &text));
	} else {
		c->answered = true;
		nghttp2_submit_response(c->session->h2, c->stream, nv,
		    tail(c, nv, head(c, nv), &text), NULL);
	}
	buf_free(&text);
}
