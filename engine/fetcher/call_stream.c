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

static void resume(struct call *);

static void
deliver_piece(struct mail *m)
{
	struct piece *x = CONTAINER(m, struct piece, mail);
	struct call *c = x->call;

	/* What is archived, its owner has. */
	bool wanted = c->received != NULL || c->frames ||
	    !atomic_load(&c->stopping);
	if (x->raw.n > 0)
		c->received(c, buf_str(&x->raw));
	if (wanted && x->bytes.n > 0)
		c->piece(c, buf_str(&x->bytes));
	atomic_fetch_sub(&c->pieces_bytes, x->bytes.n);
	resume(c);
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

bool
call_stream_head(struct page *p)
{
	struct call *c = p->call;
	const struct hop *h = page_hop(p);

	if (p->kind != PAGE_OF_CALL || c->silence_ms == 0 || !(c->frames ?
	    h->status == 101 : h->status >= 200 && h->status <= 299))
		return true;
	if (c->frames && !call_frames_begin(p))
		return false;
	if (!c->frames)
		p->decoder = http_decoder_new(&h->parsed,
		    (struct http_decode_limits){ UINT64_MAX,
		    p->fetcher->settings->decode_ratio_max });
	c->at = p->fetcher;
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
	return true;
}

bool
call_stream_is_on(const struct page *p)
{
	return p->decoder != NULL || p->frames != NULL;
}

void
call_stream_ends_in(struct page *p, int64_t ms)
{
	loop_timer_set(p->fetcher->loop, &p->call->silence,
	    mono_add_ms(loop_now(p->fetcher->loop), ms));
}

/* --- what its owner cannot take ------------------------------------------ */

static bool
is_behind(struct call *c)
{
	return atomic_load(&c->held) || atomic_load(&c->pieces_bytes) >
	    CALL_FRAMES_WAIT_MAX / 2;
}

static void
resumed(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, resume_mail);

	c->resume_is_out = false;
	if (c->is_done && !c->stop_is_out)
		c->done(c);
	else
		resume(c);
}

static void
deliver_resume(struct mail *m)
{
	struct call *c = CONTAINER(m, struct call, resume_mail);
	struct page *p = c->page;

	if (p != NULL && atomic_exchange(&c->paused, false)) {
		transport_pause(p->fetcher->options.transport, &p->exchange,
		    false);
		set_silence(p);
	}
	m->deliver = resumed;
	loop_post(c->home, m);
}

static void
resume(struct call *c)
{
	if (!atomic_load(&c->paused) || c->resume_is_out || c->is_done ||
	    is_behind(c))
		return;
	c->resume_is_out = true;
	loop_send(c->at->loop, &c->resume_mail, deliver_resume);
}

void
call_hold(struct call *c, bool held)
{
	atomic_store(&c->held, held);
	resume(c);
}

/* Its server waits until the owner has taken what there is. */
static void
pause_reading(struct page *p)
{
	struct call *c = p->call;

	atomic_store(&c->paused, true);
	/* The owner may have become ready meanwhile, and saw no pause. */
	if (!is_behind(c) && atomic_exchange(&c->paused, false))
		return;
	transport_pause(p->fetcher->options.transport, &p->exchange, true);
	loop_timer_stop(p->fetcher->loop, &c->silence);
}

bool
call_stream_send(struct page *p, struct piece *x)
{
	struct call *c = p->call;
	size_t waiting = atomic_fetch_add(&c->pieces_bytes, x->bytes.n);

	x->call = c;
	bool behind = !c->frames && waiting > CALL_PIECES_MAX;
	bool pauses = c->frames && (atomic_load(&c->held) ||
	    waiting + x->bytes.n > CALL_FRAMES_WAIT_MAX);
	loop_send(c->home, &x->mail, deliver_piece);
	if (pauses)
		pause_reading(p);
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
	return call_stream_send(p, x) && !p->damaged;
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
	h->truncated = r->whole ? NULL : "disconnect";
	buf_put_str(&h->body, r->body);
	if (c->archive == CALL_FRAMES)
		call_frames_restore(p);
	else if (http_parse_head(h->head, false, HTTP_LIMITS_DEFAULT, a,
	    &h->parsed, NULL) != OK)
		h->parsed = (struct http_head){ 0 };
	h->status = h->parsed.status;
	p->streamed = true;
	call_page_tell_head(p);
}

/* The platform's doing is marked "disconnect", or "time" if it fell silent. */
bool
call_is_cut(struct str truncated)
{
	return str_eq(truncated, STR("unspecified")) ||
	    str_eq(truncated, STR("length"));
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
	p->call->page = NULL;
	if (!call_stream_is_on(p))
		return;
	metric_add(&metrics[METRIC_STREAMS], -1);
	http_decoder_free(&p->decoder);
	call_frames_end(p);
	p->streamed = true;
	if (h->truncated == NULL && p->end != TRANSPORT_DONE)
		h->truncated = p->end == TRANSPORT_STOPPED && !p->damaged ?
		    "unspecified" : "disconnect";
}
