/*
 * An answer without an end: its bytes go to the call's owner as they come.
 *
 *     head ─► its slots are given back ─► pieces, decoded ─► home
 *                    silence ─► the exchange is ended
 *
 * A stream that is archived is also collected in memory, up to the crawl's
 * limit of a body.  At the limit it ends, and its owner opens the next one.
 */
#include "base/metric.h"
#include "engine/fetcher/address_slots.h"
#include "engine/fetcher/call_page.h"

#define STREAM_METRICS(X)                                                    \
	X(STREAMS, GAUGE, "argiope_call_streams",                            \
	    "Answers without an end that are being received.")               \
	X(BEHIND, COUNTER, "argiope_call_streams_behind_total",              \
	    "Streams ended because their reader had CALL_PIECES_MAX bytes "  \
	    "before it.")
enum { STREAM_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { STREAM_METRICS(METRIC_ROW) };

/* Decoded bytes on their way home. */
struct piece {
	struct mail mail;
	struct call *call;
	struct buf bytes;
	struct buf raw;              /* for received() */
};

static void
deliver_piece(struct mail *m)
{
	struct piece *x = CONTAINER(m, struct piece, mail);
	struct call *c = x->call;

	/* What is archived, its owner has. */
	bool wanted = c->received != NULL || !atomic_load(&c->stopping);
	if (x->raw.n > 0)
		c->received(c, buf_str(&x->raw));
	if (wanted && x->bytes.n > 0)
		c->piece(c, buf_str(&x->bytes));
	atomic_fetch_sub(&c->pieces_bytes, x->bytes.n);
	buf_free(&x->bytes);
	buf_free(&x->raw);
	mem_free(&x);
}

static void
deliver_head(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, head_mail);

	if (c->begins != NULL)
		c->begins(c);
}

static void
set_silence(struct page *p)
{
	loop_timer_set(p->fetcher->loop, &p->call->silence,
	    mono_add_ms(loop_now(p->fetcher->loop), p->call->silence_ms));
}

static void
is_silent(struct timer *t)
{
	struct call *c = CONTAINER(t, struct call, silence);
	struct page *p = c->page;

	page_hop(p)->truncated = "time";
	p->stream_end = TRANSPORT_TIMEOUT;
	transport_stop(p->fetcher->options.transport, &p->exchange);
}

void
call_stream_starts(struct page *p)
{
	if (p->kind != PAGE_OF_CALL || p->call->silence_ms == 0)
		return;
	metric_register(metrics, ARRAY_LEN(metrics));
	p->exchange.total_ms = 0;
	p->exchange.speed_s = 0;
	p->stream_end = TRANSPORT_DONE;
	p->call->page = p;
	p->call->silence.fire = is_silent;
	set_silence(p);
}

void
call_stream_head(struct page *p)
{
	struct call *c = p->call;
	const struct hop *h = page_hop(p);

	if (p->kind != PAGE_OF_CALL || c->silence_ms == 0 ||
	    h->status < 200 || h->status > 299)
		return;
	p->decoder = http_decoder_new(&h->parsed, (struct http_decode_limits){
	    UINT64_MAX, p->fetcher->settings->decode_ratio_max });
	metric_add(&metrics[METRIC_STREAMS], 1);
	/* Its turn is over; it may stay for days. */
	page_release_slot(p);
	call_page_tell_head(p);
	c->taken = (struct call_received){
		.url = arena_copy(&c->arena, h->url.href),
		.request = arena_copy(&c->arena, p->exchange.request_sent),
		.head = arena_copy(&c->arena, h->head), .ip = h->ip,
		.start = p->start };
	loop_send(c->home, &c->head_mail, deliver_head);
}

/* False: nobody takes more, or it cannot be decoded. */
static bool
send_piece(struct page *p, struct piece *x)
{
	struct call *c = p->call;
	size_t waiting = atomic_fetch_add(&c->pieces_bytes, x->bytes.n);

	x->call = c;
	bool behind = waiting > CALL_PIECES_MAX;
	loop_send(c->home, &x->mail, deliver_piece);
	if (!behind)
		return true;
	metric_add(&metrics[METRIC_BEHIND], 1);
	page_hop(p)->truncated = "length";
	return false;
}

bool
call_stream_body(struct page *p, struct str bytes)
{
	struct piece *x = mem_new(sizeof(*x));
	enum http_damage d = http_decoder_feed(p->decoder, bytes, &x->bytes);

	set_silence(p);
	p->damaged |= http_damage_cuts(d);
	if (p->call->received != NULL)
		buf_put_str(&x->raw, bytes);
	if (x->bytes.n == 0 && x->raw.n == 0) {
		mem_free(&x);
		return !p->damaged;
	}
	return send_piece(p, x) && !p->damaged;
}

/* It was streamed: its owner has had what there is. */
void
call_stream_restore(struct page *p)
{
	struct call *c = p->call;
	const struct call_received *r = c->stored;
	struct arena *a = &p->submission.arena;
	struct hop *h = page_hop(p);

	h->request = arena_copy(a, r->request);
	h->head = arena_copy(a, r->head);
	h->ip = r->ip;
	h->start = p->start = r->start;
	h->times = (struct transport_times){ .dns = -1, .connect = -1,
	    .tls = -1, .first_byte = -1, .total = r->end.us - r->start.us };
	p->began.ns = MAX(1, p->began.ns - h->times.total * 1000);
	h->truncated = "disconnect";
	buf_put_str(&h->body, r->body);
	if (http_parse_head(h->head, false, HTTP_LIMITS_DEFAULT, a, &h->parsed,
	    NULL) != OK)
		h->parsed = (struct http_head){ 0 };
	h->status = h->parsed.status;
	p->streamed = true;
	call_page_tell_head(p);
}

void
call_stream_ends(struct page *p)
{
	struct hop *h = page_hop(p);

	if (p->kind != PAGE_OF_CALL || p->call->silence_ms == 0)
		return;
	loop_timer_stop(p->fetcher->loop, &p->call->silence);
	if (p->stream_end != TRANSPORT_DONE)
		p->end = p->stream_end;
	if (p->decoder == NULL)
		return;
	metric_add(&metrics[METRIC_STREAMS], -1);
	http_decoder_free(&p->decoder);
	p->streamed = true;
	if (h->truncated == NULL && p->end != TRANSPORT_DONE)
		h->truncated = p->end == TRANSPORT_RESET ? "disconnect" :
		    "unspecified";
}
