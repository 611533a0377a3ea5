/*
 * Messages of a WebSocket:
 *
 *     101 ─► handshake kept ─► messages ─► block ─► kept ─► line() ...
 *                                 ▲          │ BLOCK_MS, BLOCK_BYTES
 *                                 └──────────┘
 *     ended ─► the last block ─► answer()
 *
 * A block is a capture of its own, so that a connection may stay for as long as
 * the file does, and what a crash costs is the block that is being gathered:
 * it is asked for again.  The connector has messages when they are durable.
 * One block is on its way at a time; what comes meanwhile is the next one, and
 * beyond HOLD_BYTES the server waits.
 */
#include "engine/engine.h"
#include "engine/harvest/driver_own.h"

#include "engine/control/control.h"
#include "os/clock.h"

#define BLOCK_MS 5000
#define BLOCK_BYTES ((size_t)128 << 10)
#define HOLD_BYTES ((size_t)1 << 20)
#define TYPE_LINES "application/x-ndjson"

struct frames {
	struct slot *slot;
	struct buf waiting, out;     /* messages, one per line: the next block,
	                              * and the one on its way */
	struct wall first, last;     /* when those of the next one came */
	bool due, held;
	struct timer timer;

	/* What is on its way: the handshake, or a block. */
	struct call keep;
	struct call_received stored;
	struct buf sent;
	bool keeping, failed;
	char handshake[WARC_ID_MAX]; /* its record's id; empty: none yet */

	/* How it ended. */
	bool over;
	struct arena arena;          /* of its head */
	struct http_head head;

	/* Of the archive. */
	bool replay_is_on;
	struct wall replayed;        /* when its last block came */
};

static void go_on(struct frames *);

/* ---- Records ----------------------------------------------------------- */

static void
finish(struct frames *f)
{
	struct slot *s = f->slot;
	struct driver *d = s->driver;
	struct driver_answer a = { .status = 101, .head = &f->head,
	    .when = clock_wall(), .began = s->began };

	s->state = SLOT_READY;
	d->look.calls++;
	if (d->end == DRIVER_GOES_ON && !f->failed)
		driver_end_stream(s, &a);
	s->began.us = 0;
	driver_free_frames(s);
}

static void
kept(struct call *c)
{
	struct frames *f = CONTAINER(c, struct frames, keep);
	struct driver *d = f->slot->driver;
	bool fine = c->end == CALL_ANSWERED && c->result == OK;

	f->keeping = false;
	if (!fine) {
		/* Its crawl is paused, ended or broken: others know why. */
		f->failed = d->held = true;
		buf_free(&f->waiting);
		if (!f->over)
			driver_stop_call(f->slot);
	} else if (f->handshake[0] == '\0') {
		memcpy(f->handshake, c->record_id, sizeof(f->handshake));
	} else {
		driver_feed(f->slot, buf_str(&f->out), f->stored.end);
	}
	d->captures = MAX(d->captures, fine ? c->number : 0);
	buf_free(&f->out);
	call_free_answer(c);
	go_on(f);
	if (d->options.moved != NULL)
		d->options.moved(d->options.arg);
	driver_pump(d);
}

static void
keep(struct frames *f, enum call_archive archive)
{
	const struct driver_options *o = &f->slot->driver->options;

	f->keeping = true;
	f->stored.whole = true;
	f->keep = (struct call){ .crawl = f->slot->driver->crawl,
	    .home = o->home, .method = STR("GET"), .url = f->slot->url,
	    .archive = archive,
	    .redactor = o->redact ? f->slot->driver->redactor : NULL,
	    .stored = &f->stored, .done = kept };
	engine_call(o->engine, &f->keep);
}

static void
keep_handshake(struct frames *f)
{
	f->stored = f->slot->sent.taken;
	f->stored.url = f->slot->url;
	f->stored.end = f->slot->began;
	if (f->slot->call.hello.n > 0) {
		buf_put_str(&f->sent, f->slot->call.hello);
		buf_put_char(&f->sent, '\n');
		f->stored.sent = buf_str(&f->sent);
	}
	keep(f, CALL_RESPONSE);
}

/* So many bytes of whole lines that can be read again at once. */
static size_t
block_bytes(const struct frames *f)
{
	size_t n = MIN(f->waiting.n, DRIVER_STREAM_BYTES_MAX);

	while (n > 0 && f->waiting.p[n - 1] != '\n')
		n--;
	return n;
}

static void
keep_block(struct frames *f)
{
	size_t n = block_bytes(f);
	struct buf rest = BUF_INIT;

	buf_put_str(&rest, str_from(buf_str(&f->waiting), n));
	f->out = f->waiting;
	f->out.n = n;
	f->waiting = rest;
	f->due = false;
	loop_timer_stop(f->slot->driver->options.home, &f->timer);
	f->stored = (struct call_received){ .url = f->slot->url,
	    .body = buf_str(&f->out), .ip = f->slot->sent.taken.ip,
	    .start = f->first, .end = f->last,
	    .concurrent_to = str_of(f->handshake) };
	f->first = f->last;
	keep(f, CALL_FRAMES);
}

static void
go_on(struct frames *f)
{
	if (f->keeping)
		return;
	if (f->waiting.n > 0 && f->handshake[0] != '\0' && (f->over ||
	    f->due || f->waiting.n >= BLOCK_BYTES)) {
		keep_block(f);
	} else if (f->over) {
		finish(f);
		return;
	}
	if (f->held && !f->over && f->waiting.n < HOLD_BYTES) {
		f->held = false;
		call_hold(&f->slot->sent, false);
	}
}

/* ---- The stream -------------------------------------------------------- */

static void
block_is_due(struct timer *t)
{
	struct frames *f = CONTAINER(t, struct frames, timer);

	f->due = true;
	go_on(f);
}

static void
begins(struct call *c)
{
	struct slot *s = CONTAINER(c, struct slot, sent);

	s->began = clock_wall();
	keep_handshake(s->frames);
}

static void
piece(struct call *c, struct str lines)
{
	struct slot *s = CONTAINER(c, struct slot, sent);
	struct frames *f = s->frames;

	if (f->failed)
		return;
	f->last = clock_wall();
	if (f->waiting.n == 0) {
		f->first = f->last;
		loop_timer_set(s->driver->options.home, &f->timer,
		    mono_add_ms(clock_mono(), BLOCK_MS));
	}
	buf_put_str(&f->waiting, lines);
	go_on(f);
	if (f->waiting.n >= HOLD_BYTES && !f->held) {
		f->held = true;
		call_hold(c, true);
	}
}

static struct frames *
frames_of(struct slot *s)
{
	if (s->frames == NULL) {
		s->frames = mem_new(sizeof(*s->frames));
		s->frames->slot = s;
		s->frames->timer.fire = block_is_due;
	}
	return s->frames;
}

void
driver_follow_frames(struct slot *s)
{
	(void)frames_of(s);
	s->sent.frames = true;
	s->sent.protocol = s->call.protocol;
	s->sent.hello = s->call.hello;
	s->sent.silence_ms = (int64_t)s->call.silence_s * 1000;
	s->sent.begins = begins;
	s->sent.piece = piece;
}

bool
driver_take_frames(struct slot *s)
{
	struct frames *f = s->frames;
	struct call *c = &s->sent;

	if (s->call.expect != CONNECTOR_FRAMES || s->began.us == 0)
		return false;
	/* Its call is over, and is not stopped any more. */
	f->over = s->stopped = true;
	f->arena = c->arena;
	c->arena = (struct arena)ARENA_INIT;
	f->head = c->head;
	go_on(f);
	return true;
}

void
driver_free_frames(struct slot *s)
{
	struct frames *f = s->frames;

	if (f == NULL)
		return;
	s->frames = NULL;
	loop_timer_stop(s->driver->options.home, &f->timer);
	buf_free(&f->waiting);
	buf_free(&f->out);
	buf_free(&f->sent);
	arena_free(&f->arena);
	mem_free(&f);
}

/* ---- From the archive -------------------------------------------------- */

static bool
is_block(const struct capture_query *q)
{
	return q->entry.status == 0 && str_eq(q->entry.type, STR(TYPE_LINES));
}

bool
driver_replay_frames_end(struct driver *d)
{
	bool any = false;

	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		struct slot *s = &d->slots[i];
		struct frames *f = s->frames;
		if (f == NULL || !f->replay_is_on)
			continue;
		struct driver_answer a = { .status = 101, .head = &f->head,
		    .when = f->replayed, .began = s->began };
		any = true;
		if (d->end == DRIVER_GOES_ON)
			driver_end_stream(s, &a);
		driver_free_frames(s);
	}
	if (any)
		driver_fill(d);
	return any;
}

bool
driver_replay_begins_anew(const struct slot *s, const struct capture_query *q)
{
	return s != NULL && s->frames != NULL && s->frames->replay_is_on &&
	    !is_block(q);
}

bool
driver_replay_frames(struct slot *s, const struct capture_query *q)
{
	struct wall end = { q->entry.start.us + q->entry.duration_us };
	struct frames *f;

	if (s == NULL || s->call.expect != CONNECTOR_FRAMES ||
	    (q->entry.status != 101 && !is_block(q)))
		return false;
	f = frames_of(s);
	s->driver->look.replayed++;
	f->replayed = end;
	if (is_block(q)) {
		driver_feed(s, q->body_bytes, end);
		return true;
	}
	f->replay_is_on = true;
	s->began = end;
	if (http_parse_head(arena_copy(&f->arena, q->hops[0].response), false,
	    HTTP_LIMITS_DEFAULT, &f->arena, &f->head, NULL) != OK)
		f->head = (struct http_head){ .status = 101 };
	return true;
}
