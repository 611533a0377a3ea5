/*
 * A call that becomes a WebSocket: its messages go to the call's owner as they
 * come, one per line.
 *
 *     request with a key ─► 101 ─► hello? ─► messages ... ─► close, or silence
 *
 * Pings are answered here.  While the owner cannot take more, nothing is read,
 * and the server waits.  What the owner wants archived comes back as calls with
 * `stored`: the handshake, then messages as resource records.
 */
#include "base/json.h"
#include "base/text.h"
#include "engine/fetcher/call_page.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/page_archive.h"
#include "os/clock.h"
#include "wire/web/ws.h"

#define TYPE_LINES "application/x-ndjson"
#define CODE_NORMAL 1000
#define CODE_BAD_DATA 1003
/* From our close, or the answer to theirs, until the connection is cut. */
#define CLOSE_MS 2000

struct call_frames {
	struct ws *ws;
	struct piece *piece;         /* of the bytes in hand */
	bool refused;                /* a message is no text */
};

/* --- the handshake ------------------------------------------------------- */

static void
add(struct transport_header *h, size_t *n, const char *name, struct str value)
{
	if (value.n > 0)
		h[(*n)++] = (struct transport_header){ str_of(name), value };
}

/* Another try has another key. */
size_t
call_frames_headers(struct page *p, struct transport_header *h)
{
	struct arena *a = &p->submission.arena;
	size_t n = 0;

	if (p->call == NULL || !p->call->frames)
		return 0;
	p->ws_key = arena_bytes(a, WS_KEY_BYTES);
	ws_key(p->ws_key);
	add(h, &n, "Connection", STR("Upgrade"));
	add(h, &n, "Upgrade", STR("websocket"));
	add(h, &n, "Sec-WebSocket-Version", STR("13"));
	add(h, &n, "Sec-WebSocket-Key", str_of(p->ws_key));
	if (p->call->protocol != NULL)
		add(h, &n, "Sec-WebSocket-Protocol",
		    str_of(p->call->protocol));
	return n;
}

/* RFC 6455 §4.1, the answer: extensions were not asked for. */
static bool
is_accepted(const struct page *p)
{
	const struct http_head *head = &page_hop(p)->parsed;
	struct str protocol = http_find(head, STR("Sec-WebSocket-Protocol"));
	char accept[WS_ACCEPT_BYTES];

	return ws_accept(str_of(p->ws_key), accept) &&
	    str_eq(http_find(head, STR("Sec-WebSocket-Accept")),
	    str_of(accept)) &&
	    str_eq_nocase(http_find(head, STR("Upgrade")), STR("websocket")) &&
	    http_find(head, STR("Sec-WebSocket-Extensions")).n == 0 &&
	    (protocol.n == 0 || (p->call->protocol != NULL &&
	    str_eq(protocol, str_of(p->call->protocol))));
}

/* --- messages ------------------------------------------------------------ */

/* A line break in JSON is a blank; elsewhere the text becomes a string. */
static void
put_without_breaks(struct buf *out, struct str text)
{
	yyjson_doc *doc = yyjson_read(text.p, text.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	yyjson_mut_doc *own = yyjson_mut_doc_new(NULL);
	char *line;
	size_t n;

	if (doc == NULL)
		yyjson_mut_doc_set_root(own, yyjson_mut_strn(own, text.p,
		    text.n));
	line = doc != NULL ? yyjson_write(doc, 0, &n) :
	    yyjson_mut_write(own, 0, &n);
	CHECK(line != NULL);
	buf_put(out, line, n);
	free(line);
	yyjson_doc_free(doc);
	yyjson_mut_doc_free(own);
}

static void
message(void *arg, struct str text)
{
	struct call_frames *s = arg;
	struct buf *out = &s->piece->bytes;

	/* Compressed messages, say, were not asked for. */
	if (!text_is_utf8(text)) {
		s->refused = true;
		return;
	}
	if (text.n == 0)
		return;
	if (memchr(text.p, '\n', text.n) != NULL ||
	    memchr(text.p, '\r', text.n) != NULL)
		put_without_breaks(out, text);
	else
		buf_put_str(out, text);
	buf_put_char(out, '\n');
}

static bool
send_out(struct page *p, const struct buf *out)
{
	return out->n == 0 || transport_send(p->fetcher->options.transport,
	    &p->exchange, buf_str(out));
}

bool
call_frames_begin(struct page *p)
{
	FREED(buf_free) struct buf out = BUF_INIT;

	if (!is_accepted(p))
		return false;
	p->frames = mem_new(sizeof(*p->frames));
	p->frames->ws = ws_new(true, CALL_FRAME_BYTES_MAX, message, p->frames);
	if (p->call->hello.n > 0)
		ws_client_put_text(&out, p->call->hello);
	return send_out(p, &out);
}

/* The other side closes the connection, or has no more time to. */
static void
close_with(struct page *p, int code)
{
	FREED(buf_free) struct buf out = BUF_INIT;

	if (!ws_is_over(p->frames->ws)) {
		ws_put_close(&out, true, code, STR_NONE);
		ws_stop(p->frames->ws);
	}
	(void)!send_out(p, &out);
	atomic_store(&p->call->paused, false);
	transport_pause(p->fetcher->options.transport, &p->exchange, false);
	call_stream_ends_in(p, CLOSE_MS);
}

bool
call_frames_body(struct page *p, struct str bytes)
{
	struct call_frames *s = p->frames;
	FREED(buf_free) struct buf out = BUF_INIT;

	if (ws_is_over(s->ws))
		return true;
	call_stream_ends_in(p, p->call->silence_ms);
	s->piece = mem_new(sizeof(*s->piece));
	(void)ws_recv(s->ws, bytes, SIZE_MAX, &out);
	struct piece *x = s->piece;
	s->piece = NULL;
	if (x->bytes.n > 0)
		(void)!call_stream_send(p, x);
	else
		mem_free(&x);
	if (!send_out(p, &out))
		return false;
	if (s->refused || ws_is_over(s->ws))
		close_with(p, CODE_BAD_DATA);
	return true;
}

void
call_frames_close(struct page *p)
{
	close_with(p, CODE_NORMAL);
}

void
call_frames_end(struct page *p)
{
	if (p->frames == NULL)
		return;
	ws_free(&p->frames->ws);
	mem_free(&p->frames);
}

/* --- records ------------------------------------------------------------- */

void
call_frames_restore(struct page *p)
{
	static struct http_field fields[] = {
		{ { "Content-Type", 12 }, { TYPE_LINES, 20 } } };

	page_hop(p)->parsed = (struct http_head){ .fields = fields,
	    .fields_n = ARRAY_LEN(fields) };
}

bool
call_frames_archive(struct page *p, struct why *w)
{
	struct submission *s = &p->submission;
	const struct hop *h = page_hop(p);
	const struct call_received *r = p->call->stored;
	struct str body = buf_str(&h->body);
	const char *info = atomic_load_explicit(&p->crawl->shared->warcinfo_id,
	    memory_order_acquire);
	struct warc_capture capture = { .crawl = s->crawl,
	    .start = h->start, .duration_us = h->times.total,
	    .requested_url = s->lease.url };
	char ip[IP_TEXT_MAX];

	ip_to_text(&h->ip, ip);
	struct warc_document d = { .type = WARC_RESOURCE,
	    .target_uri = h->url.href, .date = h->start, .ip = str_of(ip),
	    .content_type = STR(TYPE_LINES),
	    .concurrent_to = r->concurrent_to, .warcinfo_id = str_of(info),
	    .truncated = str_of(h->truncated), .capture = &capture,
	    .block = &body, .block_n = 1 };

	s->parts = ARENA_NEW(&s->arena, struct archive_member);
	warc_writer_redact(p->fetcher->writer, page_redactor(p));
	buf_reserve(&s->members, 1024 + body.n / 3);
	if (warc_put_document(p->fetcher->writer, &d, &s->members, &p->final,
	    w) != OK)
		return false;
	s->final_part = s->parts_n;
	page_archive_add(s, &p->final, page_archive_cdxj(p, h, &p->final));
	return true;
}

bool
call_frames_archive_sent(struct page *p, struct why *w)
{
	struct submission *s = &p->submission;
	const struct call_received *r = p->call->stored;
	const char *info = atomic_load_explicit(&p->crawl->shared->warcinfo_id,
	    memory_order_acquire);
	struct warc_member m;

	if (r == NULL || r->sent.n == 0)
		return true;
	struct warc_document d = { .type = WARC_METADATA,
	    .target_uri = page_hop(p)->url.href, .date = page_hop(p)->start,
	    .content_type = STR(TYPE_LINES),
	    .concurrent_to = str_of(p->final.id), .warcinfo_id = str_of(info),
	    .block = &r->sent, .block_n = 1 };
	struct archive_member *parts = ARENA_ARRAY(&s->arena,
	    struct archive_member, s->parts_n + 1);

	memcpy(parts, s->parts, s->parts_n * sizeof(*parts));
	s->parts = parts;
	if (warc_put_document(p->fetcher->writer, &d, &s->members, &m, w) !=
	    OK)
		return false;
	page_archive_add(s, &m, STR_NONE);
	return true;
}
