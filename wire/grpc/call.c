#include "wire/grpc/grpc_own.h"

/* Ended calls that a session remembers: about 1.5 MiB at most. */
#define SPARE_CALLS_MAX 64
#define SPARE_BUF_BYTES_MAX ((size_t)4 << 10)
#define SPARE_ARENA_BYTES_MAX ((size_t)8 << 10)
/* Bytes of an empty buffer that a call keeps for reuse. */
#define SPARE_BYTES_MAX ((size_t)64 << 10)
#define COMPACT_BYTES_MIN ((size_t)16 << 10)
#define FIELDS_MAX 200

static const struct grpc_events no_events;

static bool
is_server(const struct grpc_call *c)
{
	return c->session->server != NULL;
}

/* ---- Life --------------------------------------------------------------- */

struct grpc_call *
grpc_call_take(struct grpc_session *s, int32_t stream)
{
	struct grpc_call *c;

	if (list_empty(&s->spare)) {
		c = mem_new(sizeof(*c));
		list_init(&c->node);
	} else {
		c = LIST_POP(&s->spare, struct grpc_call, node);
		s->spare_n--;
	}
	struct grpc_call fresh = { .session = s, .stream = stream,
	    .on = &no_events, .arena = c->arena, .in = c->in, .out = c->out,
	    .only = c->only, .deadline = MONO_NEVER, .came = s->now };
	*c = fresh;
	c->in.gzip = false;
	list_init(&c->wait);
	list_init(&c->node);
	list_put(&s->calls, &c->node);
	s->calls_n++;
	return c;
}

static void
clear_buf(struct buf *b)
{
	if (b->cap > SPARE_BYTES_MAX)
		buf_free(b);
	buf_clear(b);
}

static void
drop_output(struct grpc_call *c)
{
	c->session->sending -= c->out.n - c->out_at;
	c->out_at = 0;
	clear_buf(&c->out);
}

/* What is kept counts as held or as partial, by whose fault it is kept. */
static void
account(struct grpc_call *c)
{
	struct grpc_session *s = c->session;
	size_t kept = message_kept(&c->in);

	s->held -= c->held;
	s->partial -= c->partial;
	c->held = c->paused ? kept : 0;
	c->partial = c->only.n + (c->paused ? 0 : kept);
	s->held += c->held;
	s->partial += c->partial;
}

static void
drop_input(struct grpc_call *c)
{
	message_clear(&c->in);
	clear_buf(&c->only);
	account(c);
	if (c->owed > 0 && !c->gone)
		nghttp2_session_consume_stream(c->session->h2, c->stream,
		    c->owed);
	c->owed = 0;
}

void
grpc_call_drop(struct grpc_call *c)
{
	arena_free(&c->arena);
	message_free(&c->in);
	buf_free(&c->out);
	buf_free(&c->only);
	mem_free(&c);
}

static void
keep_little(struct buf *b)
{
	if (b->cap > SPARE_BUF_BYTES_MAX)
		buf_free(b);
}

void
grpc_call_free(struct grpc_call *c)
{
	struct grpc_session *s = c->session;

	c->gone = true;
	drop_input(c);
	drop_output(c);
	if (s->block == c)
		s->block = NULL;
	heap_take(&s->deadlines, &c->due);
	list_take(&c->wait);
	list_take(&c->node);
	s->calls_n--;
	if (s->spare_n < SPARE_CALLS_MAX) {
		keep_little(&c->in.in);
		keep_little(&c->out);
		keep_little(&c->only);
		if (c->arena.total > SPARE_ARENA_BYTES_MAX)
			arena_free(&c->arena);
		else
			arena_reset(&c->arena);
		list_put(&s->spare, &c->node);
		s->spare_n++;
	} else {
		grpc_call_drop(c);
	}
}

void
grpc_call_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	if (c->ended)
		return;
	c->ended = true;
	c->finished = true;
	heap_take(&c->session->deadlines, &c->due);
	/* A handler that cancels may go on reading its message. */
	if (!c->giving)
		drop_input(c);
	if (c->on->on_end != NULL)
		c->on->on_end(c, code, text);
	c->on = &no_events;
}

static void
wait_to_be_served(struct grpc_call *c)
{
	list_take(&c->wait);
	list_put(&c->session->waiting, &c->wait);
	grpc_wake(c->session);
}

void
grpc_call_reset(struct grpc_call *c, uint32_t http2_error)
{
	if (c->gone) {
		c->paused = false;
		wait_to_be_served(c);
	}
	if (c->cut || c->gone)
		return;
	c->cut = true;
	nghttp2_submit_rst_stream(c->session->h2, NGHTTP2_FLAG_NONE,
	    c->stream, http2_error);
	grpc_wake(c->session);
}

/* A client's call is over: the server's word, or what happened instead. */
static void
client_over(struct grpc_call *c, uint32_t http2_error)
{
	char text[80];

	if (c->has_status && message_kept(&c->in) > 0) {
		grpc_call_end(c, GRPC_INTERNAL, STR("a message was cut off"));
	} else if (c->has_status) {
		grpc_call_end(c, c->code, c->text);
	} else if (c->http_status != 0 && c->http_status != 200) {
		snprintf(text, sizeof(text), "HTTP status %u",
		    c->http_status);
		grpc_call_end(c, grpc_code_of_http(c->http_status),
		    str_of(text));
	} else if (http2_error != NGHTTP2_NO_ERROR) {
		snprintf(text, sizeof(text), "the stream was reset: %s",
		    nghttp2_http2_strerror(http2_error));
		grpc_call_end(c, grpc_code_of_reset(http2_error),
		    str_of(text));
	} else {
		grpc_call_end(c, GRPC_UNKNOWN,
		    STR("the answer has no grpc-status"));
	}
	grpc_call_free(c);
}

/* Whether received messages are still queued: paused, or just resumed. */
static bool
is_behind(const struct grpc_call *c)
{
	return message_kept(&c->in) > 0 &&
	    (c->paused || !list_empty(&c->wait));
}

void
grpc_call_gone(struct grpc_call *c, uint32_t http2_error)
{
	c->gone = true;
	if (is_server(c)) {
		bool fine = c->said && http2_error == NGHTTP2_NO_ERROR;
		grpc_call_end(c, fine ? c->code : GRPC_CANCELLED,
		    fine ? c->text : STR("the client left"));
		grpc_call_free(c);
		return;
	}
	/* Messages received before the end are delivered before it. */
	if (is_behind(c) && !c->ended && c->has_status) {
		drop_output(c);
		return;
	}
	client_over(c, http2_error);
}

void
grpc_call_overdue(struct grpc_call *c)
{
	if (c->ended)
		/* Of a plain answer that is out the request's rest is left. */
		grpc_call_reset(c, c->head_left && c->plain.p != NULL &&
		    c->plain.n == 0 ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
	else
		grpc_call_abort(c, GRPC_DEADLINE_EXCEEDED,
		    "the deadline is over");
}

/* ---- Receiving ---------------------------------------------------------- */

static bool
wants_one(const struct grpc_call *c)
{
	return is_server(c) &&
	    (c->kind == GRPC_UNARY || c->kind == GRPC_SERVER_STREAM);
}

static bool
listens(const struct grpc_call *c)
{
	return !c->ended && !(is_server(c) && c->finished);
}

/* Keep the one message until it is known to be the only one. */
static void
keep_only(struct grpc_call *c, struct str message, bool complete)
{
	if (++c->messages_got > 1) {
		grpc_call_abort(c, GRPC_UNIMPLEMENTED,
		    "more than one message");
	} else if (complete) {
		c->closed_told = true;
		if (c->on->on_message != NULL)
			c->on->on_message(c, message);
	} else {
		buf_put(&c->only, message.p, message.n);
	}
}

static void
give(struct grpc_call *c, struct str *more, bool last)
{
	struct grpc_session *s = c->session;
	struct str message;

	while (listens(c) && !c->paused) {
		switch (message_next(&c->in, s->gunzip,
		    (size_t)s->limits.message_bytes_max, more, &message)) {
		case MESSAGE_NONE:
			return;
		case MESSAGE_BAD:
			grpc_call_abort(c, GRPC_INTERNAL,
			    "a message is malformed");
			return;
		case MESSAGE_TOO_BIG:
			grpc_call_abort(c, GRPC_RESOURCE_EXHAUSTED,
			    "a message is larger than the limit");
			return;
		case MESSAGE_HERE:
			if (wants_one(c))
				keep_only(c, message, last && more->n == 0);
			else if (c->on->on_message != NULL)
				c->on->on_message(c, message);
			break;
		}
	}
}

/* Hand out what can be, keep the rest, and give window back for the former. */
void
grpc_call_feed(struct grpc_call *c, struct str more, bool last)
{
	struct grpc_session *s = c->session;
	size_t owed = c->owed + more.n;

	c->giving = true;
	give(c, &more, last);
	c->giving = false;
	c->owed = 0;
	if (!listens(c)) {
		drop_input(c);
	} else {
		message_keep(&c->in, more);
		account(c);
		if (c->paused)
			c->owed = MIN(owed, message_kept(&c->in));
	}
	if (owed > c->owed && !c->gone)
		nghttp2_session_consume_stream(s->h2, c->stream,
		    owed - c->owed);
	if (s->partial > (size_t)s->limits.partial_bytes_max &&
	    c->partial > 0 && listens(c))
		grpc_call_abort(c, GRPC_RESOURCE_EXHAUSTED,
		    "too many messages are on their way");
}

static void
half_closed(struct grpc_call *c)
{
	if (!is_server(c) || !c->peer_closed || c->closed_told ||
	    c->paused || !listens(c))
		return;
	/* Resumed, and what was kept is to be handed out before. */
	if (message_kept(&c->in) > 0 && !list_empty(&c->wait))
		return;
	c->closed_told = true;
	if (message_kept(&c->in) > 0) {
		grpc_call_abort(c, GRPC_INTERNAL, "a message was cut off");
	} else if (!wants_one(c)) {
		if (c->on->on_half_close != NULL)
			c->on->on_half_close(c);
	} else if (c->messages_got == 0) {
		grpc_call_abort(c, GRPC_UNIMPLEMENTED, "no message");
	} else {
		if (c->on->on_message != NULL)
			c->on->on_message(c, buf_str(&c->only));
		clear_buf(&c->only);
		account(c);
	}
}

void
grpc_call_peer_closed(struct grpc_call *c)
{
	c->peer_closed = true;
	half_closed(c);
}

void
grpc_call_serve(struct grpc_call *c)
{
	if (c->admitted)
		grpc_server_admitted(c);
	if (!c->paused && message_kept(&c->in) > 0)
		grpc_call_feed(c, STR_NONE, false);
	half_closed(c);
	if (c->gone && !c->paused) {
		client_over(c, NGHTTP2_NO_ERROR);
		return;
	}
	if (c->was_full && !c->finished && c->out.n - c->out_at <=
	    (size_t)c->session->limits.send_bytes_max / 2) {
		c->was_full = false;
		if (c->on->on_writable != NULL)
			c->on->on_writable(c);
	}
}

void
grpc_pause(struct grpc_call *c)
{
	c->paused = true;
	account(c);
}

void
grpc_resume(struct grpc_call *c)
{
	if (!c->paused)
		return;
	c->paused = false;
	account(c);
	wait_to_be_served(c);
}

/* ---- Sending ------------------------------------------------------------ */

/* n bytes leave: count the messages that end in them. */
static void
count_left(struct grpc_call *c, size_t n)
{
	size_t at = c->out_at, end = at + n;

	while (at < end) {
		if (c->message_rest == 0) {
			struct reader r = reader_of((struct str){
			    c->out.p + at + 1, 4 });
			c->message_rest = MESSAGE_HEAD_BYTES + read_be32(&r);
		}
		size_t step = MIN(c->message_rest, end - at);
		c->message_rest -= step;
		at += step;
		if (c->message_rest == 0)
			c->messages_left++;
	}
	c->out_at = end;
	c->session->sending -= n;
}

static ssize_t
read_out(nghttp2_session *h2, int32_t stream, uint8_t *p, size_t room,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct grpc_call *c = source->ptr;
	struct grpc_session *s = arg;
	size_t n = MIN(room, c->out.n - c->out_at);

	(void)h2, (void)stream;
	if (n > 0)
		memcpy(p, c->out.p + c->out_at, n);
	count_left(c, n);
	size_t rest = c->out.n - c->out_at;
	if (rest == 0) {
		c->out_at = 0;
		clear_buf(&c->out);
	}
	if (c->was_full && (rest == 0 ||
	    (rest <= (size_t)s->limits.send_bytes_max / 2 &&
	    s->sending <= (size_t)s->limits.send_all_bytes_max / 2)))
		wait_to_be_served(c);
	if (rest > 0)
		return (ssize_t)n;
	if (c->finished) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (is_server(c)) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			grpc_server_trailers(c);
		}
	} else if (n == 0) {
		c->deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

nghttp2_data_provider
grpc_call_provider(struct grpc_call *c)
{
	return (nghttp2_data_provider){ .source.ptr = c,
	    .read_callback = read_out };
}

void
grpc_call_go(struct grpc_call *c)
{
	if (c->deferred && !c->gone) {
		c->deferred = false;
		nghttp2_session_resume_data(c->session->h2, c->stream);
	}
	grpc_wake(c->session);
}

enum grpc_room
grpc_send_room(struct grpc_call *c, size_t n, void **room)
{
	struct grpc_session *s = c->session;

	if (c->finished || c->gone)
		return GRPC_GONE;
	if (is_server(c))
		grpc_server_answer(c);
	if (c->out_at >= COMPACT_BYTES_MIN && c->out_at >= c->out.n / 2) {
		c->out.n -= c->out_at;
		memmove(c->out.p, c->out.p + c->out_at, c->out.n);
		c->out_at = 0;
	}
	buf_reserve(&c->out, MESSAGE_HEAD_BYTES + n);
	message_put_head(&c->out, n);
	*room = buf_grow(&c->out, n);
	s->sending += MESSAGE_HEAD_BYTES + n;
	grpc_call_go(c);
	if (c->out.n - c->out_at < (size_t)s->limits.send_bytes_max &&
	    s->sending < (size_t)s->limits.send_all_bytes_max)
		return GRPC_ROOM;
	c->was_full = true;
	return GRPC_FULL;
}

enum grpc_room
grpc_send(struct grpc_call *c, struct str message)
{
	void *room;
	enum grpc_room r = grpc_send_room(c, message.n, &room);

	if (r != GRPC_GONE && message.n > 0)
		memcpy(room, message.p, message.n);
	return r;
}

uint64_t
grpc_messages_left(const struct grpc_call *c)
{
	return c->messages_left;
}

/* The rest of the message that is leaving stays: a cut one helps nobody. */
static void
drop_unsent(struct grpc_call *c)
{
	size_t keep = c->out_at + c->message_rest;

	CHECK(keep <= c->out.n);
	c->session->sending -= c->out.n - keep;
	c->out.n = keep;
}

static void
finish(struct grpc_call *c, enum grpc_code code, struct str text)
{
	c->finished = true;
	c->code = code;
	c->text = arena_copy(&c->arena, text);
	if (!c->answered || (c->deferred && c->out.n == c->out_at))
		grpc_server_trailers(c);
	else
		grpc_call_go(c);
	grpc_wake(c->session);
}

void
grpc_finish(struct grpc_call *c, enum grpc_code code, const char *text)
{
	CHECK(is_server(c));
	if (c->finished || c->gone)
		return;
	finish(c, code, str_of(text));
}

void
grpc_reply(struct grpc_call *c, struct str message)
{
	if (grpc_send(c, message) != GRPC_GONE)
		grpc_finish(c, GRPC_OK, NULL);
}

void
grpc_call_linger(struct grpc_call *c)
{
	struct grpc_session *s = c->session;
	struct mono end = mono_add_ms(s->now, s->limits.linger_ms);

	heap_put(&s->deadlines, &c->due, end.ns, (uint64_t)c->stream);
}

void
grpc_call_abort(struct grpc_call *c, enum grpc_code code, const char *text)
{
	bool was_finished = c->finished;

	grpc_call_end(c, code, str_of(text));
	if (!is_server(c) || was_finished) {
		grpc_call_reset(c, NGHTTP2_CANCEL);
		return;
	}
	drop_unsent(c);
	finish(c, code, str_of(text));
	grpc_call_linger(c);
}

/* ---- What is known of a call -------------------------------------------- */

void *
grpc_arg(const struct grpc_call *c)
{
	return c->arg;
}

void
grpc_set_data(struct grpc_call *c, void *data)
{
	c->data = data;
}

void *
grpc_data(const struct grpc_call *c)
{
	return c->data;
}

struct grpc_session *
grpc_call_session(const struct grpc_call *c)
{
	return c->session;
}

struct str
grpc_path(const struct grpc_call *c)
{
	return c->path;
}

struct str
grpc_metadata(const struct grpc_call *c, struct str name)
{
	return grpc_fields_find(&c->got, name);
}

struct mono
grpc_deadline(const struct grpc_call *c)
{
	return c->deadline;
}

/* ---- Fields ------------------------------------------------------------- */

void
grpc_keep_field(struct grpc_call *c, struct str name, struct str value)
{
	struct str rest = value, part, plain;

	if (!str_ends(name, STR("-bin"))) {
		grpc_fields_add(&c->got, &c->arena,
		    arena_copy(&c->arena, name),
		    arena_copy(&c->arena, value));
		return;
	}
	/* Several values may stand in one field, commas between. */
	name = arena_copy(&c->arena, name);
	while (str_split(&rest, ',', &part)) {
		if (grpc_value_read(&c->arena, name, str_trim(part), &plain))
			grpc_fields_add(&c->got, &c->arena, name, plain);
		else
			c->bad_fields = true;
	}
}

static bool
put(struct grpc_call *c, struct grpc_fields *f, struct str name,
    struct str value)
{
	if (f->n >= FIELDS_MAX || !grpc_field_is_fine(name, value))
		return false;
	grpc_fields_add(f, &c->arena, arena_copy(&c->arena, name),
	    grpc_value_write(&c->arena, name, value));
	return true;
}

bool
grpc_put_header(struct grpc_call *c, struct str name, struct str value)
{
	return !c->answered && !c->finished &&
	    put(c, &c->headers, name, value);
}

bool
grpc_put_trailer(struct grpc_call *c, struct str name, struct str value)
{
	return !c->finished && put(c, &c->trailers, name, value);
}

nghttp2_nv
grpc_nv(struct str name, struct str value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name.p,
	    (uint8_t *)(uintptr_t)value.p, name.n, value.n,
	    NGHTTP2_NV_FLAG_NONE };
}

size_t
grpc_put_fields(nghttp2_nv *nv, size_t n, const struct grpc_fields *f)
{
	for (size_t i = 0; i < f->n; i++)
		nv[n++] = grpc_nv(f->all[i].name, f->all[i].value);
	return n;
}

bool
grpc_is_content_type(struct str s)
{
	s = str_trim(str_cut(s, 0, str_find_char(s, ';')));
	return str_eq_nocase(s, STR("application/grpc")) ||
	    str_eq_nocase(s, STR("application/grpc+proto"));
}
