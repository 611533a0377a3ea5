/*
 * HTTP/2 on a link, over nghttp2: each call is a stream.  Heads are handed on
 * in the words of HTTP/1.1, bodies as the payload of DATA.
 *
 * nghttp2 may not be asked to send from within its callbacks, and a callback of
 * ours may stop any call: what is to be sent then goes out at the end of the
 * turn (transport_pool_serve_again).
 *
 * Source: RFC 9113.
 */
#include <malloc.h>

#include <nghttp2/nghttp2.h>

#include "os/transport_head.h"
#include "os/transport_pool.h"

#define STREAMS_MAX 100u
#define STREAM_WINDOW_BYTES (1 << 20)
#define LINK_WINDOW_BYTES (16 << 20)

struct transport_stream {
	struct list node;
	struct transport_http2 *http2;
	struct transport_call *call;       /* NULL: over for it */
	int32_t id;
	struct buf head;
	size_t head_bytes;                 /* of all heads and trailers */
	int status;
	bool is_final;                     /* head() was called */
	bool is_closing;                   /* nghttp2 closes it by itself */
	size_t body_at;
	size_t held;                       /* bytes taken while paused */
};

struct transport_http2 {
	struct transport_link *link;
	nghttp2_session *session;
	struct list streams;
	size_t streams_n;                  /* with a call */
	bool settled;                      /* the server's SETTINGS came */
	bool draining;                     /* the server takes no more */
	bool broken;                       /* it broke the protocol */
};

/* ---- Memory ------------------------------------------------------------- */

/* Requests may hold secrets, and nghttp2 copies them. */
static void
wipe_and_free(void *p, void *arg)
{
	(void)arg;
	if (p == NULL)
		return;
	explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *
take_memory(size_t n, void *arg)
{
	(void)arg;
	return malloc(n);
}

static void *
take_zeroes(size_t n, size_t size, void *arg)
{
	(void)arg;
	return calloc(n, size);
}

static void *
resize_memory(void *p, size_t n, void *arg)
{
	void *more = malloc(n);

	if (more == NULL || p == NULL)
		return more;
	memcpy(more, p, MIN(n, malloc_usable_size(p)));
	wipe_and_free(p, arg);
	return more;
}

/* ---- Streams ------------------------------------------------------------ */

static struct transport_stream *
stream_of(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

static void
stream_free(struct transport_stream *s)
{
	list_take(&s->node);
	buf_free(&s->head);
	mem_free(&s);
}

static void
reset_stream(struct transport_stream *s, uint32_t code)
{
	(void)nghttp2_submit_rst_stream(s->http2->session, NGHTTP2_FLAG_NONE,
	    s->id, code);
	transport_pool_serve_again(s->http2->link);
}

void
transport_http2_leave(struct transport_call *c)
{
	struct transport_stream *s = c->stream;

	c->stream = NULL;
	s->call = NULL;
	s->http2->streams_n--;
	if (!s->is_closing)
		reset_stream(s, NGHTTP2_CANCEL);
}

/* ---- Heads -------------------------------------------------------------- */

static void
fail_call(struct transport_stream *s, enum transport_end end,
    const char *text)
{
	transport_call_finish(s->call, end, text);
}

static size_t
head_bytes_max(const struct transport_call *c)
{
	return c->x->head_bytes_max != 0 ? c->x->head_bytes_max :
	    TRANSPORT_HEAD_BYTES_MAX;
}

static bool
count_head(struct transport_stream *s, size_t n)
{
	s->head_bytes += n;
	s->call->moved += (int64_t)n;
	if (s->head_bytes <= head_bytes_max(s->call))
		return true;
	s->call->x->too_large = true;
	fail_call(s, TRANSPORT_PROTOCOL, "the head is too large");
	return false;
}

static void
put_field(struct transport_stream *s, struct str name, struct str value)
{
	struct buf *head = &s->head;
	uint64_t status;

	if (str_eq(name, STR(":status"))) {
		if (str_to_u64(value, &status) && status < 1000)
			s->status = (int)status;
		buf_put_str(head, STR("HTTP/1.1 "));
		buf_put_str(head, value);
		buf_put_str(head, STR(" \r\n"));
		return;
	}
	buf_put_str(head, name);
	buf_put_str(head, STR(": "));
	buf_put_str(head, value);
	buf_put_str(head, STR("\r\n"));
}

/* nghttp2 has checked that names and values are well-formed. */
static int
field_came(nghttp2_session *session, const nghttp2_frame *f,
    const uint8_t *name, size_t name_n, const uint8_t *value, size_t value_n,
    uint8_t flags, void *user)
{
	struct transport_stream *s = stream_of(session, f->hd.stream_id);

	(void)flags, (void)user;
	if (s == NULL || s->call == NULL)
		return 0;
	transport_call_answered(s->call);
	if (!count_head(s, name_n + value_n + 4) || s->is_final)
		return 0;
	put_field(s, (struct str){ (const char *)name, name_n },
	    (struct str){ (const char *)value, value_n });
	return 0;
}

/* False: the call is over. */
static bool
end_head(struct transport_stream *s)
{
	struct transport_call *c = s->call;

	if (s->status == 101 || s->status < 100) {
		fail_call(s, TRANSPORT_PROTOCOL, "no status of HTTP/2");
		return false;
	}
	if (s->status < 200) {
		buf_clear(&s->head);
		s->status = 0;
		return true;
	}
	buf_put_str(&s->head, STR("\r\n"));
	s->is_final = true;
	return transport_call_head(c, buf_str(&s->head), s->status, 20);
}

/* ---- What nghttp2 calls ------------------------------------------------- */

static int
frame_came(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
	struct transport_http2 *h = user;
	struct transport_stream *s = stream_of(session, f->hd.stream_id);

	if (f->hd.type == NGHTTP2_GOAWAY)
		h->draining = true;
	if (f->hd.type == NGHTTP2_SETTINGS && !h->settled) {
		h->settled = true;
		h->link->pool->released = true;
		transport_pool_wake(h->link->pool);
	}
	if (s == NULL || s->call == NULL ||
	    (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA))
		return 0;
	if (f->hd.type == NGHTTP2_HEADERS && !s->is_final && !end_head(s))
		return 0;
	if (!(f->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	/* Only a reset ends our side, where the body has not left. */
	s->is_closing = s->body_at == s->call->x->body.n;
	if (s->is_final)
		transport_call_finish(s->call, TRANSPORT_DONE, "");
	else
		fail_call(s, TRANSPORT_RESET,
		    "cut before the end of the head");
	return 0;
}

static int
data_came(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *p, size_t n, void *user)
{
	struct transport_stream *s = stream_of(session, id);

	(void)flags, (void)user;
	/* One stream whose bytes wait does not hold up the others. */
	nghttp2_session_consume_connection(session, n);
	if (s != NULL && s->call != NULL) {
		s->call->moved += (int64_t)n;
		(void)!transport_call_body(s->call,
		    (struct str){ (const char *)p, n });
	}
	if (s != NULL && s->call != NULL && s->call->paused)
		s->held += n;
	else
		nghttp2_session_consume_stream(session, id, n);
	return 0;
}

/* The server has not looked at the request: another link, another answer. */
static bool
try_again(struct transport_call *c, uint32_t code)
{
	if (code == NGHTTP2_HTTP_1_1_REQUIRED)
		c->http1_only = true;
	else if (code != NGHTTP2_REFUSED_STREAM)
		return false;
	return c->phase == TRANSPORT_ANSWER && !c->x->once &&
	    transport_call_retry(c);
}

static int
stream_closed(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
	struct transport_stream *s = stream_of(session, id);
	char text[80];

	(void)user;
	if (s == NULL)
		return 0;
	s->is_closing = true;
	if (s->call != NULL && !try_again(s->call, code)) {
		snprintf(text, sizeof(text), "the stream was reset: %s",
		    nghttp2_http2_strerror(code));
		fail_call(s, TRANSPORT_RESET, text);
	}
	stream_free(s);
	return 0;
}

static ssize_t
read_body(nghttp2_session *session, int32_t id, uint8_t *p, size_t n,
    uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct transport_stream *s = source->ptr;

	(void)session, (void)id, (void)user;
	if (s->call == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	struct str left = str_from(s->call->x->body, s->body_at);
	if (left.n <= n)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	n = MIN(n, left.n);
	memcpy(p, left.p, n);
	s->body_at += n;
	s->call->moved += (int64_t)n;
	return (ssize_t)n;
}

/* ---- The session -------------------------------------------------------- */

static nghttp2_session *
new_session(struct transport_http2 *h)
{
	nghttp2_mem memory = { NULL, take_memory, wipe_and_free, take_zeroes,
	    resize_memory };
	nghttp2_session_callbacks *on;
	nghttp2_session *session;
	nghttp2_option *option;

	CHECK(nghttp2_session_callbacks_new(&on) == 0);
	CHECK(nghttp2_option_new(&option) == 0);
	nghttp2_session_callbacks_set_on_header_callback(on, field_came);
	nghttp2_session_callbacks_set_on_frame_recv_callback(on, frame_came);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on,
	    data_came);
	nghttp2_session_callbacks_set_on_stream_close_callback(on,
	    stream_closed);
	nghttp2_option_set_no_auto_window_update(option, 1);
	CHECK(nghttp2_session_client_new3(&session, on, h, option, &memory) ==
	    0);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(on);
	return session;
}

struct transport_http2 *
transport_http2_new(struct transport_link *l)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES },
	};
	struct transport_http2 *h = mem_new(sizeof(*h));

	h->link = l;
	list_init(&h->streams);
	h->session = new_session(h);
	CHECK(nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
	    ARRAY_LEN(settings)) == 0);
	CHECK(nghttp2_session_set_local_window_size(h->session,
	    NGHTTP2_FLAG_NONE, 0, LINK_WINDOW_BYTES) == 0);
	return h;
}

void
transport_http2_free(struct transport_http2 **hp)
{
	struct transport_http2 *h = *hp;

	if (h == NULL)
		return;
	CHECK(h->streams_n == 0);
	nghttp2_session_del(h->session);
	while (!list_empty(&h->streams))
		stream_free(LIST_ITEM(h->streams.next,
		    struct transport_stream, node));
	mem_free(hp);
}

/*
 * More than one request only when the server has said how many: it refuses
 * those that are too many, and each would need another connection.
 */
bool
transport_http2_has_room(const struct transport_http2 *h)
{
	uint32_t max = !h->settled ? 1 : nghttp2_session_get_remote_settings(
	    h->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	return !h->draining && !h->broken &&
	    h->streams_n < MIN(max, STREAMS_MAX) &&
	    nghttp2_session_check_request_allowed(h->session);
}

bool
transport_http2_is_idle(const struct transport_http2 *h)
{
	return h->streams_n == 0;
}

/* ---- Requests ----------------------------------------------------------- */

static nghttp2_nv
pair_of(struct str name, struct str value)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name.p,
	    .namelen = name.n, .value = (uint8_t *)(uintptr_t)value.p,
	    .valuelen = value.n };
}

static size_t
count_lines(struct str head)
{
	size_t n = 0;

	for (size_t i = 0; i < head.n; i++)
		n += head.p[i] == '\n';
	return n;
}

/* "Name: value" with its CR: the name in small letters, in its place. */
static nghttp2_nv
pair_of_line(struct str line)
{
	size_t colon = str_find_char(line, ':');
	char *name = (char *)(uintptr_t)line.p;

	for (size_t i = 0; i < colon; i++)
		name[i] = ascii_lower(name[i]);
	return pair_of(str_cut(line, 0, colon),
	    str_trim(str_from(line, colon + 1)));
}

/* "TE" is the one that HTTP/2 knows, and only with "trailers". */
static bool
is_left_out(const nghttp2_nv *f)
{
	struct str name = { (const char *)f->name, f->namelen };
	struct str value = { (const char *)f->value, f->valuelen };

	return str_eq(name, STR("te")) && !str_eq_nocase(value,
	    STR("trailers"));
}

/* From a copy of the head, which is changed; returns the fields' number. */
static size_t
list_fields(struct buf *copy, nghttp2_nv *fields)
{
	struct str rest = buf_str(copy), line, part;
	size_t n = 4;

	(void)!str_split(&rest, '\n', &line);
	(void)!str_split(&line, ' ', &part);
	fields[0] = pair_of(STR(":method"), part);
	(void)!str_split(&line, ' ', &part);
	fields[3] = pair_of(STR(":path"), part);
	fields[1] = pair_of(STR(":scheme"), STR("https"));
	(void)!str_split(&rest, '\n', &line);
	fields[2] = pair_of_line(line);
	fields[2].name = (uint8_t *)(uintptr_t)":authority";
	fields[2].namelen = 10;
	while (str_split(&rest, '\n', &line) && line.n > 1) {
		fields[n] = pair_of_line(line);
		n += !is_left_out(&fields[n]);
	}
	return n;
}

static int32_t
submit_request(struct transport_http2 *h, struct transport_stream *s)
{
	const struct transport_call *c = s->call;
	struct buf copy = BUF_INIT;
	nghttp2_nv *fields = mem_array(count_lines(buf_str(&c->sent)) + 4,
	    sizeof(*fields));
	nghttp2_data_provider body = { { .ptr = s }, read_body };
	size_t n;
	int32_t id;

	buf_reserve(&copy, c->sent.n);
	buf_put_str(&copy, buf_str(&c->sent));
	n = list_fields(&copy, fields);
	/* A secret is no entry of a table that later requests refer to. */
	for (size_t i = 0; i < n && c->x->secret; i++)
		fields[i].flags |= NGHTTP2_NV_FLAG_NO_INDEX;
	id = nghttp2_submit_request(h->session, NULL, fields, n,
	    c->x->body.n > 0 ? &body : NULL, s);
	explicit_bzero(copy.p, copy.cap);
	buf_free(&copy);
	mem_free(&fields);
	return id;
}

bool
transport_http2_request(struct transport_http2 *h, struct transport_call *c)
{
	struct transport_stream *s = mem_new(sizeof(*s));

	transport_head_to_http2(&c->sent);
	c->x->request_sent = buf_str(&c->sent);
	s->http2 = h;
	s->call = c;
	list_init(&s->node);
	s->id = submit_request(h, s);
	if (s->id < 0) {
		h->draining = true;
		stream_free(s);
		return false;
	}
	c->stream = s;
	list_put(&h->streams, &s->node);
	h->streams_n++;
	return true;
}

/* ---- Bytes -------------------------------------------------------------- */

bool
transport_http2_take(struct transport_http2 *h, struct str bytes)
{
	ssize_t n = nghttp2_session_mem_recv(h->session,
	    (const uint8_t *)bytes.p, bytes.n);

	h->broken |= n < 0 || (nghttp2_session_want_read(h->session) == 0 &&
	    h->streams_n > 0);
	return n >= 0 && nghttp2_session_want_read(h->session) != 0;
}

void
transport_http2_fill(struct transport_http2 *h)
{
	const uint8_t *p;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(h->session, &p)) > 0)
		buf_put(&h->link->out, p, (size_t)n);
	h->broken |= n < 0;
}

void
transport_http2_pause(struct transport_call *c, bool paused)
{
	struct transport_stream *s = c->stream;

	if (paused)
		return;
	nghttp2_session_consume_stream(s->http2->session, s->id, s->held);
	s->held = 0;
	transport_pool_serve_again(s->http2->link);
}

/* done() may stop others of them: always the first one that is left. */
void
transport_http2_cut(struct transport_http2 *h, bool in_order)
{
	struct list streams;

	h->draining = true;
	list_init(&streams);
	list_move_all(&streams, &h->streams);
	while (!list_empty(&streams)) {
		struct transport_stream *s = LIST_POP(&streams,
		    struct transport_stream, node);
		list_put(&h->streams, &s->node);
		if (s->call == NULL)
			continue;
		if (h->broken)
			fail_call(s, TRANSPORT_PROTOCOL,
			    "the server broke the protocol of HTTP/2");
		else
			transport_call_cut(s->call, in_order);
	}
}
