#include "wire/grpc/grpc_own.h"

#include "base/metric.h"

/* More fields than this, times the limit, end the connection. */
#define TOO_MANY_FIELDS 4

#define GRPC_METRICS(X)                                                      \
	X(SESSIONS, GAUGE, "argiope_grpc_connections",                       \
	    "gRPC connections, as server and as client.")                    \
	X(CALLS, GAUGE, "argiope_grpc_calls", "gRPC calls under way.")       \
	X(HELD, GAUGE, "argiope_grpc_held_bytes",                            \
	    "Received for calls that do not want it yet, or not complete.")  \
	X(SENDING, GAUGE, "argiope_grpc_unsent_bytes",                       \
	    "Messages that wait to leave.")                                  \
	X(CALMED, COUNTER, "argiope_grpc_calmed_total",                      \
	    "gRPC connections that were ended because of their peer.")
enum { GRPC_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { GRPC_METRICS(METRIC_ROW) };

/* The sums of all sessions follow this one's. */
static void
tell_metrics(struct grpc_session *s)
{
	size_t kept = s->held + s->partial;

	if (s->calls_n != s->told.calls)
		metric_add(&metrics[METRIC_CALLS],
		    (int64_t)s->calls_n - (int64_t)s->told.calls);
	if (kept != s->told.kept)
		metric_add(&metrics[METRIC_HELD],
		    (int64_t)kept - (int64_t)s->told.kept);
	if (s->sending != s->told.sending)
		metric_add(&metrics[METRIC_SENDING],
		    (int64_t)s->sending - (int64_t)s->told.sending);
	s->told.calls = s->calls_n;
	s->told.kept = kept;
	s->told.sending = s->sending;
}

/* ---- Limits ------------------------------------------------------------- */

void
grpc_wake(struct grpc_session *s)
{
	if (s->inside == 0 && s->owner.wake != NULL)
		s->owner.wake(s->owner.arg);
}

/* End the connection with ENHANCE_YOUR_CALM as soon as possible. */
static void
calm(struct grpc_session *s, const char *what)
{
	if (s->calm != 0 || s->failed)
		return;
	s->calm = NGHTTP2_ENHANCE_YOUR_CALM;
	(void)why(&s->why, ERR_FULL, "too many %s", what);
}

/* Count one; past the limit it is enough. */
static void
count(struct grpc_session *s, struct rate *r, int64_t per_s, int64_t burst,
    const char *what)
{
	if (!rate_count(r, 1, per_s, burst, s->now))
		calm(s, what);
}

static void
count_idle(struct grpc_session *s)
{
	count(s, &s->idle_frames, s->limits.idle_frames_per_s,
	    s->limits.idle_frames_burst, "frames that carry nothing");
}

static void
count_reset(struct grpc_session *s)
{
	count(s, &s->resets, s->limits.resets_per_s,
	    s->limits.resets_burst, "streams reset");
}

/* ---- Streams that are no more ------------------------------------------- */

static enum grpc_seen
seen(const struct grpc_session *s, int32_t stream)
{
	int32_t i = stream / 2;

	if (stream % 2 == 0 || i >= s->seen_n || s->seen_n - i > GRPC_SEEN_MAX)
		return GRPC_SEEN_UNKNOWN;
	return s->seen[i % GRPC_SEEN_MAX];
}

static void
see(struct grpc_session *s, int32_t stream, enum grpc_seen now)
{
	s->seen[stream / 2 % GRPC_SEEN_MAX] = (uint8_t)now;
}

/* Opening a stream closes those below that were never opened (§5.1.1). */
static void
see_opened(struct grpc_session *s, int32_t stream)
{
	int32_t i = MAX(s->seen_n, stream / 2 - GRPC_SEEN_MAX + 1);

	for (; i < stream / 2; i++)
		see(s, 2 * i, GRPC_SEEN_SKIPPED);
	see(s, stream, GRPC_SEEN_OPEN);
	s->seen_n = stream / 2 + 1;
}

/*
 * nghttp2 skips DATA and HEADERS of streams that it has forgotten, as they may
 * have crossed a RST_STREAM of ours.  Where the peer had ended or skipped the
 * stream itself, they have not (RFC 9113 §5.1, §5.1.1).  The error that such a
 * frame is, or 0.
 */
static uint32_t
error_of(const struct grpc_session *s, int type, int32_t stream)
{
	enum grpc_seen was = seen(s, stream);

	if (type != NGHTTP2_HEADERS && type != NGHTTP2_DATA)
		return 0;
	if (was == GRPC_SEEN_SKIPPED)
		return NGHTTP2_PROTOCOL_ERROR;
	return was == GRPC_SEEN_ENDED || was == GRPC_SEEN_RESET
	    ? NGHTTP2_STREAM_CLOSED : 0;
}

static void
see_frame(struct grpc_session *s, int type, int flags, int32_t stream)
{
	enum grpc_seen was;

	if (type == NGHTTP2_HEADERS && stream % 2 == 1 &&
	    stream / 2 >= s->seen_n)
		see_opened(s, stream);
	was = seen(s, stream);
	if (type == NGHTTP2_RST_STREAM) {
		/* One may have crossed our end of the stream. */
		if (was == GRPC_SEEN_RESET || was == GRPC_SEEN_UNKNOWN)
			count_idle(s);
		else
			see(s, stream, GRPC_SEEN_RESET);
	} else if ((type == NGHTTP2_HEADERS || type == NGHTTP2_DATA) &&
	    (flags & NGHTTP2_FLAG_END_STREAM) && was == GRPC_SEEN_OPEN) {
		see(s, stream, GRPC_SEEN_ENDED);
	}
}

static int32_t
stream_of_head(const struct grpc_session *s)
{
	const uint8_t *p = s->head.bytes + 5;

	return (int32_t)((uint32_t)(p[0] & 0x7f) << 24 |
	    (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

/*
 * Look at the frames in these bytes: how many bytes nghttp2 may have.  They are
 * all of them, or those before the last byte of the head of one that is wrong.
 */
static size_t
look_at(struct grpc_session *s, struct str bytes, uint32_t *error)
{
	const uint8_t *h = s->head.bytes;
	size_t i = 0;

	*error = 0;
	while (i < bytes.n) {
		size_t n = MIN(s->head.skip, bytes.n - i);
		s->head.skip -= n;
		i += n;
		n = MIN(sizeof(s->head.bytes) - s->head.n, bytes.n - i);
		memcpy(s->head.bytes + s->head.n, bytes.p + i, n);
		s->head.n += n;
		i += n;
		if (s->head.n < sizeof(s->head.bytes))
			break;
		int32_t stream = stream_of_head(s);
		*error = error_of(s, h[3], stream);
		if (*error != 0)
			return i - 1;
		s->head.n = 0;
		s->head.skip = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
		see_frame(s, h[3], h[4], stream);
	}
	return i;
}

/* Feed bytes to nghttp2; negative when the session must end. */
static ssize_t
feed(struct grpc_session *s, struct str bytes)
{
	ssize_t got = 0;
	uint32_t error = 0;
	size_t n = s->server == NULL ? bytes.n : look_at(s, bytes, &error);

	if (n > 0 && s->calm == 0)
		got = nghttp2_session_mem_recv(s->h2,
		    (const uint8_t *)bytes.p, n);
	if (error != 0 && s->calm == 0 && got >= 0) {
		s->calm = error;
		(void)why(&s->why, ERR_INPUT, "a frame on a closed stream");
	}
	return got;
}

/*
 * A reset is cheap for the peer and dear for us when it comes before any answer
 * (CVE-2023-44487); a call that was answered, or lived for a while, has cost
 * its client one of its streams like any other.
 */
static void
reset_came(struct grpc_session *s, const struct grpc_call *c)
{
	if (c != NULL && !c->head_left && s->now.ns <
	    mono_add_ms(c->came, s->limits.resets_free_ms).ns)
		count_reset(s);
}

/* Give window back that nothing holds any more. */
static void
settle(struct grpc_session *s)
{
	if (s->owed == 0 || s->held > (size_t)s->limits.held_bytes_max)
		return;
	nghttp2_session_consume_connection(s->h2, s->owed);
	s->owed = 0;
}

/* GOAWAY with the error that was asked for; no byte is taken any more. */
static void
end_if_asked(struct grpc_session *s)
{
	if (s->calm == 0 || s->failed)
		return;
	s->failed = true;
	metric_add(&metrics[METRIC_CALMED], 1);
	nghttp2_session_terminate_session(s->h2, s->calm);
}

/* ---- What nghttp2 tells ------------------------------------------------- */

static struct grpc_call *
call_of(struct grpc_session *s, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(s->h2, stream);
}

static int
go_on(const struct grpc_session *s)
{
	return s->calm != 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int
on_begin_headers(nghttp2_session *h2, const nghttp2_frame *f, void *arg)
{
	struct grpc_session *s = arg;

	if (s->server != NULL && f->headers.cat == NGHTTP2_HCAT_REQUEST) {
		s->block = grpc_call_take(s, f->hd.stream_id);
		nghttp2_session_set_stream_user_data(h2, f->hd.stream_id,
		    s->block);
	} else {
		s->block = call_of(s, f->hd.stream_id);
	}
	return go_on(s);
}

static int
on_header(nghttp2_session *h2, const nghttp2_frame *f, const uint8_t *name,
    size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
    void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_call *c = s->block;
	size_t max = (size_t)s->limits.metadata_bytes_max;

	(void)h2, (void)f, (void)flags;
	if (c == NULL)
		return go_on(s);
	c->got_bytes += name_n + value_n + 32;
	if (c->got_bytes > max)
		c->too_many_fields = true;
	if (c->got_bytes > max * TOO_MANY_FIELDS)
		calm(s, "fields");
	if (c->too_many_fields)
		return go_on(s);
	struct str n = { (const char *)name, name_n };
	struct str v = { (const char *)value, value_n };
	if (s->server != NULL)
		grpc_server_field(c, n, v);
	else
		grpc_client_field(c, n, v);
	return 0;
}

static void
headers_came(struct grpc_session *s, const nghttp2_frame *f)
{
	struct grpc_call *c = s->block;
	bool last = f->hd.flags & NGHTTP2_FLAG_END_STREAM;

	s->block = NULL;
	if (c == NULL)
		return;
	if (s->server == NULL)
		grpc_client_fields_end(c, last);
	else if (f->headers.cat == NGHTTP2_HCAT_REQUEST)
		grpc_server_fields_end(c);
	if (last)
		grpc_call_peer_closed(c);
}

static void
data_came(struct grpc_session *s, const nghttp2_frame *f)
{
	struct grpc_call *c;

	if (f->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		if ((c = call_of(s, f->hd.stream_id)) != NULL)
			grpc_call_peer_closed(c);
	} else if (f->hd.length <= f->data.padlen) {
		count_idle(s);
	}
}

static void
second_goaway(struct grpc_session *s)
{
	if (s->drained)
		return;
	s->drained = true;
	nghttp2_submit_goaway(s->h2, NGHTTP2_FLAG_NONE,
	    nghttp2_session_get_last_proc_stream_id(s->h2), NGHTTP2_NO_ERROR,
	    NULL, 0);
}

static void
ping_came(struct grpc_session *s, const nghttp2_frame *f)
{
	if (!(f->hd.flags & NGHTTP2_FLAG_ACK))
		count(s, &s->pings, s->limits.pings_per_s,
		    s->limits.pings_burst, "PING frames");
	else if (s->draining && s->server != NULL &&
	    memcmp(f->ping.opaque_data, "goodbye!", 8) == 0)
		second_goaway(s);
}

static int
on_frame_recv(nghttp2_session *h2, const nghttp2_frame *f, void *arg)
{
	struct grpc_session *s = arg;

	(void)h2;
	switch (f->hd.type) {
	case NGHTTP2_HEADERS:
		headers_came(s, f);
		break;
	case NGHTTP2_DATA:
		data_came(s, f);
		break;
	case NGHTTP2_SETTINGS:
		s->settled = true;
		if (!(f->hd.flags & NGHTTP2_FLAG_ACK))
			count(s, &s->settings, s->limits.settings_per_s,
			    s->limits.settings_burst, "SETTINGS frames");
		break;
	case NGHTTP2_PING:
		ping_came(s, f);
		break;
	case NGHTTP2_RST_STREAM:
		if (s->server != NULL)
			reset_came(s, call_of(s, f->hd.stream_id));
		break;
	case NGHTTP2_PRIORITY:
		count_idle(s);
		break;
	case NGHTTP2_GOAWAY:
		s->peer_leaves = true;
		s->draining = s->draining || s->server == NULL;
		break;
	}
	return go_on(s);
}

static int
on_data(nghttp2_session *h2, uint8_t flags, int32_t stream,
    const uint8_t *p, size_t n, void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_call *c = call_of(s, stream);

	s->owed += n;
	if (c == NULL)
		nghttp2_session_consume_stream(h2, stream, n);
	else
		grpc_call_feed(c, (struct str){ (const char *)p, n },
		    flags & NGHTTP2_FLAG_END_STREAM);
	return go_on(s);
}

static int
on_invalid_frame(nghttp2_session *h2, const nghttp2_frame *f, int error,
    void *arg)
{
	struct grpc_call *c = f->hd.type == NGHTTP2_WINDOW_UPDATE
	    ? call_of(arg, f->hd.stream_id) : NULL;

	(void)h2, (void)error;
	if (c != NULL)
		c->overflown = true;
	return 0;
}

/*
 * Where SETTINGS make a stream's window too large, nghttp2 resets the stream.
 * It is an error of the connection (RFC 9113 §6.9.2), as DATA beyond our window
 * may be; only WINDOW_UPDATE is the stream's.
 */
static void
we_reset(struct grpc_session *s, const nghttp2_frame *f)
{
	const struct grpc_call *c = call_of(s, f->hd.stream_id);
	uint32_t error = f->rst_stream.error_code;

	if (error != NGHTTP2_NO_ERROR && error != NGHTTP2_CANCEL)
		count_reset(s);
	if (error == NGHTTP2_FLOW_CONTROL_ERROR && c != NULL &&
	    !c->overflown && s->calm == 0) {
		s->calm = error;
		(void)why(&s->why, ERR_INPUT, "a window was overrun");
	}
}

/*
 * Clients that measure bandwidth send a PING for a DATA frame that they
 * received, one at a time (grpc-go, grpc-java).  So each DATA or HEADERS frame
 * that we send takes one PING off the peer's count.  gRPC's proposal A8 clears
 * the count; here a peer that sends more PINGs than it gets frames still
 * reaches the limit, and frames sent earlier allow it no larger burst.
 */
static void
pay_for_ping(struct grpc_session *s, const nghttp2_frame *f)
{
	if (f->hd.type == NGHTTP2_DATA || f->hd.type == NGHTTP2_HEADERS)
		(void)rate_count(&s->pings, -1, s->limits.pings_per_s,
		    s->limits.pings_burst, s->now);
}

/*
 * The answer has left and the request is not complete: nobody wants its rest
 * (RFC 9113 §8.1).  A stream that we reset for an error of the peer's counts,
 * answered or not (CVE-2025-8671).
 */
static int
on_frame_send(nghttp2_session *h2, const nghttp2_frame *f, void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_call *c;

	pay_for_ping(s, f);
	if (s->server == NULL)
		return 0;
	if (f->hd.type == NGHTTP2_HEADERS &&
	    (c = call_of(s, f->hd.stream_id)) != NULL) {
		c->head_left = true;
		if ((f->hd.flags & NGHTTP2_FLAG_END_STREAM) && !c->peer_closed)
			nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE,
			    f->hd.stream_id, NGHTTP2_NO_ERROR);
	}
	if (f->hd.type == NGHTTP2_RST_STREAM)
		we_reset(s, f);
	return 0;
}

static int
on_stream_close(nghttp2_session *h2, int32_t stream, uint32_t error,
    void *arg)
{
	struct grpc_session *s = arg;
	struct grpc_call *c = call_of(s, stream);

	(void)h2;
	if (c != NULL)
		grpc_call_gone(c, error);
	return 0;
}

/* ---- A session ---------------------------------------------------------- */

static nghttp2_session_callbacks *
callbacks_new(void)
{
	nghttp2_session_callbacks *cb;

	CHECK(nghttp2_session_callbacks_new(&cb) == 0);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb,
	    on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb,
	    on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb,
	    on_data);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb,
	    on_invalid_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb,
	    on_frame_send);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb,
	    on_stream_close);
	return cb;
}

static void
submit_settings(struct grpc_session *s)
{
	nghttp2_settings_entry all[4] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		    (uint32_t)s->limits.stream_window_bytes },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		    (uint32_t)s->limits.metadata_bytes_max },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		    (uint32_t)s->limits.streams_max },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};

	/* A server must not speak of pushing; a client has none to limit. */
	if (s->server == NULL)
		all[2] = all[3];
	CHECK(nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, all, 3) == 0);
	CHECK(nghttp2_session_set_local_window_size(s->h2,
	    NGHTTP2_FLAG_NONE, 0, (int32_t)s->limits.window_bytes) == 0);
}

static struct grpc_session *
session_new(const struct grpc_server *server, const struct grpc_limits *l,
    struct grpc_owner owner, struct mono now)
{
	struct grpc_session *s = mem_new(sizeof(*s));
	nghttp2_session_callbacks *cb = callbacks_new();
	nghttp2_option *o;

	s->server = server;
	s->limits = *l;
	s->owner = owner;
	s->now = s->opened = s->heard = now;
	s->why = WHY_INIT;
	list_init(&s->calls);
	list_init(&s->spare);
	list_init(&s->waiting);
	s->head.skip = NGHTTP2_CLIENT_MAGIC_LEN;
	s->gunzip = message_gunzip_new();
	CHECK(nghttp2_option_new(&o) == 0);
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	/* Its own count of resets reads a clock: ours is count_reset(). */
	nghttp2_option_set_stream_reset_rate_limit(o, UINT32_MAX,
	    UINT32_MAX);
	nghttp2_option_set_max_outbound_ack(o,
	    (size_t)l->frames_out_max);
	CHECK((server != NULL ? nghttp2_session_server_new2 :
	    nghttp2_session_client_new2)(&s->h2, cb, s, o) == 0);
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(cb);
	submit_settings(s);
	metric_register(metrics, ARRAY_LEN(metrics));
	metric_add(&metrics[METRIC_SESSIONS], 1);
	return s;
}

struct grpc_session *
grpc_session_server(const struct grpc_server *server, struct grpc_owner owner,
    struct mono now)
{
	return session_new(server, &server->limits, owner, now);
}

struct grpc_session *
grpc_session_client(const struct grpc_limits *l, const char *scheme,
    const char *authority, struct grpc_owner owner, struct mono now)
{
	struct grpc_session *s = session_new(NULL, l, owner, now);

	s->scheme = mem_copy_text(scheme);
	s->authority = mem_copy_text(authority);
	return s;
}

static void
end_all_calls(struct grpc_session *s)
{
	enum grpc_code code = s->why.err == ERR_TIMEOUT
	    ? GRPC_DEADLINE_EXCEEDED : GRPC_UNAVAILABLE;
	struct str text = s->why.err != OK ? str_of(s->why.text)
	    : STR("the connection was closed");

	while (!list_empty(&s->calls)) {
		struct grpc_call *c = LIST_ITEM(s->calls.next,
		    struct grpc_call, node);
		grpc_call_end(c, code, text);
		grpc_call_free(c);
	}
}

void
grpc_session_free(struct grpc_session **sp)
{
	struct grpc_session *s = *sp;

	if (s == NULL)
		return;
	CHECK(s->inside == 0);
	s->inside++;
	s->failed = true;
	end_all_calls(s);
	CHECK(s->calls_n == 0 && s->held == 0 && s->partial == 0 &&
	    s->sending == 0);
	tell_metrics(s);
	metric_add(&metrics[METRIC_SESSIONS], -1);
	while (!list_empty(&s->spare))
		grpc_call_drop(LIST_POP(&s->spare, struct grpc_call, node));
	nghttp2_session_del(s->h2);
	heap_free(&s->deadlines);
	message_gunzip_free(&s->gunzip);
	mem_free(&s->scheme);
	mem_free(&s->authority);
	mem_free(sp);
}

void *
grpc_session_arg(const struct grpc_session *s)
{
	return s->owner.arg;
}

/* Those that began to wait by now; who waits again is served next time. */
static void
serve_waiting(struct grpc_session *s)
{
	struct list now;

	if (list_empty(&s->waiting))
		return;
	list_init(&now);
	list_move_all(&now, &s->waiting);
	while (!list_empty(&now))
		grpc_call_serve(LIST_POP(&now, struct grpc_call, wait));
	settle(s);
}

enum err
grpc_recv(struct grpc_session *s, struct str bytes, struct mono now,
    struct why *w)
{
	if (s->failed)
		return why(w, ERR_CLOSED, "the session has failed");
	s->now = s->heard = now;
	s->pinged = false;
	s->inside++;
	ssize_t n = feed(s, bytes);
	if (n < 0 && s->calm == 0) {
		s->calm = n == NGHTTP2_ERR_FLOODED
		    ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR;
		(void)why(&s->why, ERR_INPUT, "%s", nghttp2_strerror((int)n));
	}
	/* It refused what came, and its GOAWAY waits to be sent. */
	if (s->calm == 0 && !s->peer_leaves && !s->drained &&
	    nghttp2_session_want_read(s->h2) == 0) {
		s->failed = true;
		(void)why(&s->why, ERR_INPUT, "HTTP/2 was broken");
	}
	if (s->calm == 0 && !s->failed) {
		settle(s);
		serve_waiting(s);
	}
	if (nghttp2_session_get_outbound_queue_size(s->h2) >
	    (size_t)s->limits.frames_out_max)
		calm(s, "frames that nobody reads");
	end_if_asked(s);
	tell_metrics(s);
	s->inside--;
	return s->failed ? why(w, s->why.err, "%s", s->why.text) : OK;
}

static void
fill(struct grpc_session *s, struct buf *out, size_t until)
{
	const uint8_t *p;
	ssize_t n = 0;

	while (out->n < until &&
	    (n = nghttp2_session_mem_send(s->h2, &p)) > 0)
		buf_put(out, p, (size_t)n);
	if (n < 0) {
		(void)why(&s->why, ERR_BROKEN, "%s",
		    nghttp2_strerror((int)n));
		s->failed = true;
	}
}

bool
grpc_fill(struct grpc_session *s, struct buf *out, size_t bytes_max,
    struct mono now)
{
	size_t until = out->n + bytes_max;

	s->now = now;
	s->inside++;
	if (!s->failed)
		serve_waiting(s);
	fill(s, out, until);
	if (s->calm != 0 && !s->failed) {
		end_if_asked(s);
		fill(s, out, until);
	}
	/* Callers that were refused for lack of room are told of it now. */
	if (!s->failed)
		serve_waiting(s);
	tell_metrics(s);
	s->inside--;
	return nghttp2_session_want_write(s->h2) != 0;
}

bool
grpc_is_done(const struct grpc_session *s)
{
	return nghttp2_session_want_write(s->h2) == 0 &&
	    (s->failed || nghttp2_session_want_read(s->h2) == 0);
}

static struct mono
alive_due(const struct grpc_session *s)
{
	if (s->limits.keepalive_ms <= 0)
		return MONO_NEVER;
	return s->pinged
	    ? mono_add_ms(s->pinged_at, s->limits.keepalive_wait_ms)
	    : mono_add_ms(s->heard, s->limits.keepalive_ms);
}

struct mono
grpc_due(const struct grpc_session *s)
{
	const struct heap_node *first = heap_first(&s->deadlines);
	struct mono due = alive_due(s);

	if (first != NULL)
		due.ns = MIN(due.ns, first->key);
	if (!s->settled)
		due.ns = MIN(due.ns, mono_add_ms(s->opened,
		    s->limits.handshake_ms).ns);
	if (s->draining && !s->drained && s->server != NULL)
		due.ns = MIN(due.ns, s->drain_at.ns);
	return due;
}

static enum err
check_alive(struct grpc_session *s)
{
	if (!s->settled && s->now.ns >= mono_add_ms(s->opened,
	    s->limits.handshake_ms).ns)
		return why(&s->why, ERR_TIMEOUT, "no SETTINGS came");
	if (s->now.ns < alive_due(s).ns)
		return OK;
	if (s->pinged)
		return why(&s->why, ERR_TIMEOUT,
		    "the other side is silent");
	s->pinged = true;
	s->pinged_at = s->now;
	nghttp2_submit_ping(s->h2, NGHTTP2_FLAG_NONE,
	    (const uint8_t *)"areyou?!");
	return OK;
}

enum err
grpc_tick(struct grpc_session *s, struct mono now, struct why *w)
{
	struct heap_node *first;

	s->now = now;
	s->inside++;
	while ((first = heap_first(&s->deadlines)) != NULL &&
	    first->key <= now.ns) {
		heap_take(&s->deadlines, first);
		grpc_call_overdue(CONTAINER(first, struct grpc_call, due));
	}
	if (s->draining && s->server != NULL && now.ns >= s->drain_at.ns)
		second_goaway(s);
	if (check_alive(s) != OK)
		s->failed = true;
	s->inside--;
	return s->failed ? why(w, s->why.err, "%s", s->why.text) : OK;
}

void
grpc_drain(struct grpc_session *s, struct mono now)
{
	if (s->draining || s->server == NULL)
		return;
	s->draining = true;
	s->drain_at = mono_add_ms(now, s->limits.drain_ms);
	nghttp2_submit_shutdown_notice(s->h2);
	nghttp2_submit_ping(s->h2, NGHTTP2_FLAG_NONE,
	    (const uint8_t *)"goodbye!");
	grpc_wake(s);
}

size_t
grpc_calls(const struct grpc_session *s)
{
	return s->calls_n;
}
