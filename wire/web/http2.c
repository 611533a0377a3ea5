#include "wire/web/http2.h"

#include <nghttp2/nghttp2.h>

#include "base/list.h"

#define PIECE_BYTES 16384u           /* a DATA frame */
#define LATE_BYTES_MAX ((size_t)4 << 20)

struct http2 {
	nghttp2_session *nghttp2;
	struct http2_limits limits;
	const struct http2_events *on;
	void *arg;
	struct list streams;
	size_t streams_n;
	struct buf piece;            /* of a body, on its way to nghttp2 */
	struct mono now;
	struct rate resets, idle_frames;
	int32_t last_id;             /* the highest that was opened */
	bool draining, failed;
};

struct http2_stream {
	struct list node;
	struct http2 *session;
	int32_t id;
	void *data;
	struct arena arena;
	struct head head;
	size_t head_bytes;
	struct head_refusal refusal;
	struct mono began;
	bool told;                   /* head() was called */
	bool answered;
	bool ended;                  /* the client sends no more */
	bool over;                   /* our answer has left */
	size_t late_bytes;           /* that came after it */
};

/* Take no more bytes, and say why in a GOAWAY. */
static void
end_session(struct http2 *h, uint32_t error)
{
	if (h->failed)
		return;
	h->failed = true;
	nghttp2_session_terminate_session(h->nghttp2, error);
}

/* RFC 9113 §7: a client that makes us work for nothing. */
static void
calm(struct http2 *h)
{
	end_session(h, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void
count_reset(struct http2 *h)
{
	if (!rate_count(&h->resets, 1, h->limits.resets_per_s,
	    h->limits.resets_burst, h->now))
		calm(h);
}

/* --- streams ------------------------------------------------------------- */

static struct http2_stream *
stream_of(struct http2 *h, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h->nghttp2, id);
}

static void
stream_free(struct http2_stream *s)
{
	struct http2 *h = s->session;

	list_take(&s->node);
	h->streams_n--;
	if (s->told)
		h->on->closed(h->arg, s);
	arena_free(&s->arena);
	mem_free(&s);
}

/*
 * RFC 9113 §5.1.1: streams are opened in order.  nghttp2 forgets the oldest of
 * those that are closed, and would not say so.
 */
static int
begin_frame(nghttp2_session *session, const nghttp2_frame_hd *f, void *user)
{
	struct http2 *h = user;

	if (f->type == NGHTTP2_HEADERS && f->stream_id <= h->last_id &&
	    nghttp2_session_find_stream(session, f->stream_id) == NULL)
		end_session(h, NGHTTP2_PROTOCOL_ERROR);
	return 0;
}

static int
begin_headers(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
	struct http2 *h = user;

	if (f->hd.type != NGHTTP2_HEADERS ||
	    f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	struct http2_stream *s = mem_new(sizeof(*s));
	s->session = h;
	s->id = f->hd.stream_id;
	s->began = h->now;
	h->last_id = MAX(h->last_id, s->id);
	s->head.minor = 2;
	s->head.method = s->head.path = STR("");
	s->head.fields = ARENA_ARRAY(&s->arena, struct head_field,
	    (size_t)h->limits.fields_max);
	list_put(&h->streams, &s->node);
	h->streams_n++;
	return nghttp2_session_set_stream_user_data(session, s->id, s);
}

/* RFC 9113 §8.3.1: beside an authority it says the same. */
static void
take_host(struct http2_stream *s, struct str value)
{
	static const struct head_refusal two = { 400, "bad_host",
	    "the Host is not the authority" };

	if (s->head.host.p == NULL)
		s->head.host = value;
	else if (!str_eq_nocase(s->head.host, value))
		s->refusal = two;
}

/* nghttp2 has checked that names and values are well-formed, and that no
 * pseudo-header comes twice. */
static void
take_field(struct http2_stream *s, struct str name, struct str value)
{
	struct head *h = &s->head;

	if (str_eq(name, STR(":method"))) {
		h->method = value;
	} else if (str_eq(name, STR(":path"))) {
		h->target = value;
	} else if (str_eq(name, STR(":authority"))) {
		h->host = value;
	} else if (name.p[0] != ':') {
		if (str_eq(name, STR("host")))
			take_host(s, value);
		if (str_eq(name, STR("content-length")))
			(void)!str_to_u64(value, &h->length);
		h->fields[h->fields_n++] = (struct head_field){ name, value };
	}
}

static int
header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name,
    size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
    void *user)
{
	static const struct head_refusal too_long = { 431, "limit",
	    "the request's head is too long" };
	static const struct head_refusal too_many = { 431, "limit",
	    "the request has too many fields" };
	struct http2 *h = user;
	struct http2_stream *s = stream_of(h, f->hd.stream_id);

	(void)session, (void)flags;
	/* Trailers are dropped. */
	if (s == NULL || s->told || s->refusal.status != 0)
		return 0;
	s->head_bytes += name_n + value_n + 32;
	if (s->head_bytes > (size_t)h->limits.head_bytes_max)
		s->refusal = too_long;
	else if (s->head.fields_n == (size_t)h->limits.fields_max)
		s->refusal = too_many;
	else
		take_field(s, arena_copy(&s->arena,
		    (struct str){ (const char *)name, name_n }),
		    arena_copy(&s->arena,
		    (struct str){ (const char *)value, value_n }));
	return 0;
}

static void
tell_head(struct http2_stream *s, bool ended)
{
	static const struct head_refusal no_path = { 400, "bad_path",
	    "the target must be a path that begins with a slash" };
	struct http2 *h = s->session;

	s->told = true;
	/* RFC 9113 §8.3.1: only HTTP/1.1 has whole URLs there. */
	if (s->refusal.status == 0 && str_starts_nocase(s->head.target,
	    STR("http")))
		s->refusal = no_path;
	if (s->refusal.status == 0)
		head_target(s->head.target, &s->arena, &s->head, &s->refusal);
	h->on->head(h->arg, s, &s->head, &s->arena, &s->refusal, ended);
}

static bool
is_idle_frame(const nghttp2_frame *f)
{
	switch (f->hd.type) {
	case NGHTTP2_PING:
	case NGHTTP2_SETTINGS:
		return (f->hd.flags & NGHTTP2_FLAG_ACK) == 0;
	case NGHTTP2_PRIORITY:
		return true;
	case NGHTTP2_DATA:
		return f->hd.length == 0 &&
		    (f->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0;
	default:
		return false;
	}
}

static int
frame_came(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
	struct http2 *h = user;
	struct http2_stream *s = stream_of(h, f->hd.stream_id);
	bool ended = (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	(void)session;
	if (is_idle_frame(f) && !rate_count(&h->idle_frames, 1,
	    h->limits.idle_frames_per_s, h->limits.idle_frames_burst, h->now))
		calm(h);
	if (f->hd.type == NGHTTP2_RST_STREAM)
		count_reset(h);
	if (s == NULL)
		return 0;
	s->ended |= ended;
	if (f->hd.type == NGHTTP2_HEADERS && !s->told)
		tell_head(s, ended);
	else if ((f->hd.type == NGHTTP2_HEADERS ||
	    f->hd.type == NGHTTP2_DATA) && ended && s->told)
		h->on->end(h->arg, s);
	return 0;
}

/* A reset that the client's frames forced out of us is as good as its own. */
static bool
is_forced(const nghttp2_frame *f)
{
	uint32_t code = f->rst_stream.error_code;

	return f->hd.type == NGHTTP2_RST_STREAM && code != NGHTTP2_NO_ERROR &&
	    code != NGHTTP2_CANCEL && code != NGHTTP2_INTERNAL_ERROR;
}

static int
frame_left(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
	struct http2 *h = user;
	struct http2_stream *s = stream_of(h, f->hd.stream_id);

	(void)session;
	if (is_forced(f))
		count_reset(h);
	if (s != NULL && (f->hd.type == NGHTTP2_HEADERS ||
	    f->hd.type == NGHTTP2_DATA) &&
	    (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		s->over = true;
	return 0;
}

/*
 * RFC 9113 §8.1: who has the whole answer need not send on.  It is not told so
 * at once, for some take a reset for a failure.
 */
static void
drop_late(struct http2_stream *s, size_t n)
{
	s->late_bytes += n;
	if (s->late_bytes <= LATE_BYTES_MAX)
		return;
	nghttp2_submit_rst_stream(s->session->nghttp2, NGHTTP2_FLAG_NONE,
	    s->id, NGHTTP2_NO_ERROR);
}

static int
data_came(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *p, size_t n, void *user)
{
	struct http2 *h = user;
	struct http2_stream *s = stream_of(h, id);

	(void)flags;
	/* One stream whose bytes wait does not hold the others up. */
	nghttp2_session_consume_connection(session, n);
	if (s != NULL && s->over)
		drop_late(s, n);
	else if (s != NULL && s->told && !h->on->body(h->arg, s,
	    (struct str){ (const char *)p, n }))
		return 0;
	nghttp2_session_consume_stream(session, id, n);
	return 0;
}

static int
stream_closed(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
	struct http2 *h = user;
	struct http2_stream *s = stream_of(h, id);

	(void)session, (void)code;
	if (s != NULL)
		stream_free(s);
	return 0;
}

/* --- answers ------------------------------------------------------------- */

static ssize_t
read_body(nghttp2_session *session, int32_t id, uint8_t *p, size_t n,
    uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct http2 *h = user;
	struct http2_stream *s = source->ptr;

	(void)session, (void)id;
	buf_clear(&h->piece);
	enum http2_taken taken = h->on->take(h->arg, s, &h->piece, n);
	CHECK(h->piece.n <= n);
	if (h->piece.n > 0)
		memcpy(p, h->piece.p, h->piece.n);
	if (taken == HTTP2_CUT)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (taken == HTTP2_LAST)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	else if (h->piece.n == 0)
		return NGHTTP2_ERR_DEFERRED;
	return (ssize_t)h->piece.n;
}

static nghttp2_nv
pair(struct str name, struct str value)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name.p,
	    .namelen = name.n, .value = (uint8_t *)(uintptr_t)value.p,
	    .valuelen = value.n };
}

void
http2_answer(struct http2_stream *s, int status,
    const struct head_field *fields, size_t n, bool body)
{
	struct http2 *h = s->session;
	nghttp2_nv *nv = mem_array(n + 1, sizeof(*nv));
	nghttp2_data_provider provider = { { .ptr = s }, read_body };
	char text[16];

	CHECK(!s->answered);
	s->answered = true;
	snprintf(text, sizeof(text), "%d", status);
	nv[0] = pair(STR(":status"), str_of(text));
	for (size_t i = 0; i < n; i++)
		nv[i + 1] = pair(fields[i].name, fields[i].value);
	/* It fails only when the stream is over. */
	(void)nghttp2_submit_response(h->nghttp2, s->id, nv, n + 1,
	    body ? &provider : NULL);
	mem_free(&nv);
	h->on->wake(h->arg);
}

void
http2_used(struct http2_stream *s, size_t n)
{
	nghttp2_session_consume_stream(s->session->nghttp2, s->id, n);
	s->session->on->wake(s->session->arg);
}

void
http2_more(struct http2_stream *s)
{
	nghttp2_session_resume_data(s->session->nghttp2, s->id);
	s->session->on->wake(s->session->arg);
}

void
http2_cancel(struct http2_stream *s)
{
	nghttp2_submit_rst_stream(s->session->nghttp2, NGHTTP2_FLAG_NONE,
	    s->id, NGHTTP2_CANCEL);
	s->session->on->wake(s->session->arg);
}

void
http2_set_data(struct http2_stream *s, void *data)
{
	s->data = data;
}

void *
http2_data(const struct http2_stream *s)
{
	return s->data;
}

/* --- sessions ------------------------------------------------------------ */

static nghttp2_session *
nghttp2_new(struct http2 *h)
{
	nghttp2_session_callbacks *calls;
	nghttp2_option *options;
	nghttp2_session *session;

	CHECK(nghttp2_session_callbacks_new(&calls) == 0);
	nghttp2_session_callbacks_set_on_begin_frame_callback(calls,
	    begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(calls,
	    begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(calls, header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls,
	    frame_came);
	nghttp2_session_callbacks_set_on_frame_send_callback(calls,
	    frame_left);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls,
	    data_came);
	nghttp2_session_callbacks_set_on_stream_close_callback(calls,
	    stream_closed);
	CHECK(nghttp2_option_new(&options) == 0);
	nghttp2_option_set_max_send_header_block_length(options, 65536);
	nghttp2_option_set_no_auto_window_update(options, 1);
	CHECK(nghttp2_session_server_new2(&session, calls, h, options) == 0);
	nghttp2_option_del(options);
	nghttp2_session_callbacks_del(calls);
	return session;
}

struct http2 *
http2_new(const struct http2_limits *limits, const struct http2_events *on,
    void *arg, struct mono now)
{
	struct http2 *h = mem_new(sizeof(*h));
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		    (uint32_t)limits->streams_max },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		    (uint32_t)limits->window_bytes },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		    (uint32_t)limits->head_bytes_max },
	};

	h->limits = *limits;
	h->on = on;
	h->arg = arg;
	h->now = now;
	list_init(&h->streams);
	h->nghttp2 = nghttp2_new(h);
	CHECK(nghttp2_submit_settings(h->nghttp2, NGHTTP2_FLAG_NONE, settings,
	    ARRAY_LEN(settings)) == 0);
	return h;
}

void
http2_free(struct http2 **hp)
{
	struct http2 *h = *hp;

	if (h == NULL)
		return;
	while (!list_empty(&h->streams))
		stream_free(LIST_ITEM(h->streams.next, struct http2_stream,
		    node));
	nghttp2_session_del(h->nghttp2);
	buf_free(&h->piece);
	mem_free(hp);
}

bool
http2_recv(struct http2 *h, struct str bytes, struct mono now)
{
	h->now = now;
	if (h->failed)
		return false;
	ssize_t n = nghttp2_session_mem_recv(h->nghttp2,
	    (const uint8_t *)bytes.p, bytes.n);
	if (n < 0)
		h->failed = true;
	return !h->failed;
}

void
http2_fill(struct http2 *h, struct buf *out, size_t room)
{
	size_t before = out->n;
	const uint8_t *p;

	while (out->n - before < room) {
		ssize_t n = nghttp2_session_mem_send(h->nghttp2, &p);
		if (n <= 0) {
			h->failed |= n < 0;
			break;
		}
		buf_put(out, p, (size_t)n);
	}
	/* Its memory is for the next body. */
	if (h->piece.cap > PIECE_BYTES)
		buf_free(&h->piece);
}

bool
http2_is_done(const struct http2 *h)
{
	return h->failed || (nghttp2_session_want_read(h->nghttp2) == 0 &&
	    nghttp2_session_want_write(h->nghttp2) == 0) ||
	    (h->draining && h->streams_n == 0 &&
	    nghttp2_session_want_write(h->nghttp2) == 0);
}

size_t
http2_streams(const struct http2 *h)
{
	return h->streams_n;
}

void
http2_each(struct http2 *h, void (*each)(void *, struct http2_stream *),
    void *arg)
{
	struct list *next;

	for (struct list *n = h->streams.next; n != &h->streams; n = next) {
		struct http2_stream *s = LIST_ITEM(n, struct http2_stream,
		    node);
		next = n->next;
		if (s->told)
			each(arg, s);
	}
}

bool
http2_end_slow_head(struct http2 *h, struct mono now, int64_t ms)
{
	if (list_empty(&h->streams))
		return false;
	/* No other frame may come before it is whole: it is the last. */
	const struct http2_stream *s = LIST_ITEM(h->streams.prev,
	    struct http2_stream, node);
	if (s->told || h->failed || mono_ns_between(s->began, now) <
	    ms * NS_PER_MS)
		return false;
	calm(h);
	h->on->wake(h->arg);
	return true;
}

void
http2_drain(struct http2 *h)
{
	if (h->draining)
		return;
	h->draining = true;
	nghttp2_submit_goaway(h->nghttp2, NGHTTP2_FLAG_NONE,
	    nghttp2_session_get_last_proc_stream_id(h->nghttp2),
	    NGHTTP2_NO_ERROR, NULL, 0);
	h->on->wake(h->arg);
}
