/*
 * Streams: their bytes are cut into events or lines, which the connector takes
 * one by one; their answer is how they ended.
 *
 *     pieces, decoded ─► lines ─► (events) ─► line() ... end ─► answer()
 */
#include "engine/harvest/driver_own.h"

#include "os/clock.h"
#include "wire/redact.h"

bool
driver_is_stream(const struct connector_call *c)
{
	return c->expect == CONNECTOR_EVENTS ||
	    c->expect == CONNECTOR_LINES || c->expect == CONNECTOR_FRAMES;
}

/* ---- Lines and events ------------------------------------------------- */

static void
give_line(struct slot *s, struct str line)
{
	struct driver *d = s->driver;
	struct connector_findings f = driver_findings(d);

	if (d->end != DRIVER_GOES_ON)
		return;
	driver_look_for_secrets(d, line);
	d->connector->line(d->run, &s->call, line, &f);
}

/* A line of an event; an empty one ends it. */
static void
take_event_line(struct slot *s, struct str line)
{
	if (line.n > 0) {
		s->event_has_field |= line.p[0] != ':';
		if (s->event.n + line.n <= DRIVER_LINE_BYTES_MAX) {
			buf_put_str(&s->event, line);
			buf_put_char(&s->event, '\n');
		}
		return;
	}
	if (s->event_has_field)
		give_line(s, str_cut(buf_str(&s->event), 0, s->event.n - 1));
	buf_clear(&s->event);
	s->event_has_field = false;
}

static void
take_line(struct slot *s, struct str line)
{
	if (str_ends(line, STR("\r")))
		line.n--;
	if (s->call.expect == CONNECTOR_EVENTS)
		take_event_line(s, line);
	else if (line.n > 0)
		give_line(s, line);
}

/* What is beyond the limit is left out. */
static void
keep_part(struct slot *s, struct str part)
{
	buf_put_str(&s->part, str_cut(part, 0, DRIVER_LINE_BYTES_MAX -
	    MIN(DRIVER_LINE_BYTES_MAX, s->part.n)));
}

void
driver_feed(struct slot *s, struct str bytes, struct wall when)
{
	s->driver->answered = when;
	for (size_t at; (at = str_find_char(bytes, '\n')) < bytes.n;
	    bytes = str_from(bytes, at + 1)) {
		struct str line = str_cut(bytes, 0, at);
		if (s->part.n > 0) {
			keep_part(s, line);
			line = buf_str(&s->part);
		}
		take_line(s, line);
		buf_clear(&s->part);
	}
	keep_part(s, bytes);
}

void
driver_end_stream(struct slot *s, const struct driver_answer *in)
{
	struct connector_answer a = { .status = in->status, .head = in->head,
	    .when = in->when, .began = in->began, .cut = in->cut };

	/* What is not whole is no event. */
	buf_clear(&s->part);
	buf_clear(&s->event);
	s->event_has_field = false;
	s->began.us = 0;
	driver_give(s, &a);
}

/* ---- One that is under way -------------------------------------------- */

/* Without secrets, as in a record. */
static void
begin_spool(struct slot *s)
{
	const struct driver_options *o = &s->driver->options;
	const struct redactor *r = o->redact ? s->driver->redactor : NULL;
	FREED(buf_free) struct buf request = BUF_INIT, head = BUF_INIT;
	FREED(buf_free) struct buf names = BUF_INIT;
	struct call_received taken = s->sent.taken;

	taken.url = s->url;
	if (r != NULL && redact_request(r, taken.request, &request, &names))
		taken.request = buf_str(&request);
	if (r != NULL && redact_response_head(r, taken.head, &head, &names))
		taken.head = buf_str(&head);
	s->spool = spool_begin(o->spool_pool, o->home, o->spool_dir, &taken);
}

static void
begins(struct call *c)
{
	struct slot *s = CONTAINER(c, struct slot, sent);

	s->began = clock_wall();
	begin_spool(s);
	if (s->state == SLOT_AHEAD)
		driver_successor_began(s);
}

static void
received(struct call *c, struct str bytes)
{
	struct slot *s = CONTAINER(c, struct slot, sent);

	spool_put(s->spool, bytes, clock_wall());
}

static void
piece(struct call *c, struct str bytes)
{
	struct slot *s = CONTAINER(c, struct slot, sent);

	s->stream_bytes += bytes.n;
	if (s->state == SLOT_AHEAD) {
		driver_successor_bytes(s, bytes, clock_wall());
		return;
	}
	driver_feed(s, bytes, clock_wall());
	driver_look_at_length(s);
	driver_pump(s->driver);
}

void
driver_follow(struct slot *s)
{
	if (s->call.expect == CONNECTOR_FRAMES) {
		driver_follow_frames(s);
		return;
	}
	s->sent.silence_ms = (int64_t)s->call.silence_s * 1000;
	s->sent.bytes_max = DRIVER_STREAM_BYTES_MAX;
	s->sent.begins = begins;
	s->sent.received = received;
	s->sent.piece = piece;
}

void
driver_stop_streams(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		struct slot *s = &d->slots[i];
		if (s->state == SLOT_OUT && driver_is_stream(&s->call))
			driver_stop_call(s);
	}
}

/*
 * Lost before its head, or behind it: the connector knows when the next one may
 * begin.  False: the call has ended as others do.
 */
bool
driver_take_stream(struct slot *s)
{
	const struct call *c = &s->sent;
	struct driver *d = s->driver;
	struct driver_answer a = { .when = clock_wall(), .began = s->began };

	if (driver_take_frames(s))
		return true;
	/* When it could not be made durable, another process does. */
	if (c->result == OK && c->end != CALL_STOPPED)
		spool_end(&s->spool);
	if (!driver_is_stream(&s->call) || s->asks_token || c->result != OK)
		return false;
	if (c->end == CALL_ANSWERED && s->began.us != 0) {
		d->captures = MAX(d->captures, c->number);
		d->look.calls++;
		a.status = c->status;
		a.head = &c->head;
		a.cut = c->cut;
	} else if (c->end != CALL_FAILED) {
		return false;
	}
	s->state = SLOT_READY;
	if (d->end == DRIVER_GOES_ON)
		driver_end_stream(s, &a);
	return true;
}
