/*
 * Streams that overlap, where the platform allows two: before one is ended for
 * its file or its length, its successor is opened.
 *
 *     stream ────────────────┐ stopped, archived, its answer given
 *              successor ────┴── bytes wait ──┬─► the connector asks for
 *                       opens              settled   the stream, and has it
 *
 * The connector knows nothing of it.  What has come of the successor meanwhile
 * is given to it when it asks for a stream under that URL; so what is settled
 * contains whole streams only, and the successor's spool outlives a crash as
 * any does.  One that nobody asks for is cut, and left alone.
 */
#include "engine/harvest/driver_own.h"

#include "os/clock.h"

/* A successor that has not begun by then is given up. */
#define OPEN_MS 10000
/* How long both stay open, so that events sent on the first one alone, before
 * the second one was subscribed, still arrive. */
#define OVERLAP_MS 1000
/* A stream of this length gets a successor before it reaches its limit. */
#define RENEW_BYTES (DRIVER_STREAM_BYTES_MAX / 8 * 7)

static struct slot *
predecessor_of(const struct slot *s)
{
	struct driver *d = s->driver;

	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].successor == s)
			return &d->slots[i];
	return NULL;
}

static bool
is_opening(const struct slot *s)
{
	return s->state == SLOT_AHEAD && !s->open && !s->ended;
}

/* ---- Opening ---------------------------------------------------------- */

static void
is_late(struct timer *t)
{
	driver_stop_call(CONTAINER(t, struct slot, late));
}

/* The URL is borrowed from the connector until its answer. */
static void
open_successor(struct slot *s)
{
	struct driver *d = s->driver;
	struct slot *n = driver_free_slot(d);

	if (n == NULL || s->state != SLOT_OUT || !s->call.overlaps ||
	    s->began.us == 0 || s->stopped || s->renewed_once)
		return;
	arena_reset(&n->arena);
	n->call = s->call;
	n->call.url = arena_copy(&n->arena, s->call.url);
	n->url = arena_copy(&n->arena, s->url);
	n->not_before.ns = 0;
	n->failures = n->refusals = 0;
	n->renewed = n->open = n->ended = n->dropped = false;
	s->successor = n;
	s->renewed_once = true;
	driver_send_now(n);
	n->state = SLOT_AHEAD;
	n->late.fire = is_late;
	loop_timer_set(d->options.home, &n->late, mono_add_ms(clock_mono(),
	    OPEN_MS));
}

bool
driver_open_successors(struct driver *d)
{
	bool any = false;

	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		open_successor(&d->slots[i]);
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		any |= d->slots[i].state == SLOT_AHEAD;
	return any;
}

void
driver_look_at_length(struct slot *s)
{
	if (s->stream_bytes > RENEW_BYTES &&
	    !s->driver->held && s->driver->end == DRIVER_GOES_ON)
		open_successor(s);
}

/* ---- Open ------------------------------------------------------------- */

/* When all of them are, the others end. */
void
driver_look_at_roll(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (is_opening(&d->slots[i]))
			return;
	if (!d->rolls)
		return;
	d->rolls = false;
	d->rolling = true;
	driver_stop_calls(d);
}

static void
is_open(struct timer *t)
{
	struct slot *s = CONTAINER(t, struct slot, late);
	struct slot *p = predecessor_of(s);

	s->open = true;
	if (p != NULL)
		driver_stop_call(p);
	driver_look_at_roll(s->driver);
}

void
driver_successor_began(struct slot *s)
{
	s->late.fire = is_open;
	loop_timer_set(s->driver->options.home, &s->late, mono_add_ms(
	    clock_mono(), OVERLAP_MS));
}

void
driver_successor_bytes(struct slot *s, struct str bytes, struct wall when)
{
	buf_put_str(&s->early, bytes);
	s->early_when = when;
}

/* ---- Taken over, or dropped -------------------------------------------- */

bool
driver_take_successor(struct slot *s)
{
	struct driver *d = s->driver;

	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		struct slot *n = &d->slots[i];
		if (n->state != SLOT_AHEAD || predecessor_of(n) != NULL ||
		    n->dropped || (n->stopped && n->began.us == 0) ||
		    s->call.expect != n->call.expect ||
		    !str_eq(s->url, n->url))
			continue;
		loop_timer_stop(d->options.home, &n->late);
		n->call = s->call;
		n->state = SLOT_OUT;
		driver_feed(n, buf_str(&n->early), n->early_when);
		buf_free(&n->early);
		if (n->ended)
			driver_end_call(n);
		return true;
	}
	return false;
}

bool
driver_must_take_successor(const struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		const struct slot *s = &d->slots[i];
		if (s->state == SLOT_AHEAD && predecessor_of(s) == NULL &&
		    (!d->rolling || s->ended))
			return true;
	}
	return false;
}

/* Its archived answer is not replayed after a crash. */
static void
free_successor(struct slot *s)
{
	struct driver *d = s->driver;
	struct slot *p = predecessor_of(s);

	loop_timer_stop(d->options.home, &s->late);
	if (p != NULL)
		p->successor = NULL;
	if (s->sent.end == CALL_ANSWERED && s->sent.result == OK)
		d->captures = MAX(d->captures, s->sent.number);
	call_free_answer(&s->sent);
	buf_free(&s->early);
	s->ended = false;
	s->state = SLOT_FREE;
}

void
driver_successor_done(struct slot *s)
{
	struct driver *d = s->driver;
	const struct call *c = &s->sent;
	bool lost = c->end == CALL_STOPPED || c->result != OK;

	loop_timer_stop(d->options.home, &s->late);
	if (!lost)
		spool_end(&s->spool);
	s->ended = !lost && !s->dropped && c->end == CALL_ANSWERED &&
	    s->began.us != 0;
	/* Its crawl is paused, ended or broken: others know why. */
	if (lost && !s->stopped) {
		d->rolls = d->rolling = false;
		d->held = true;
	}
	if (!s->ended)
		free_successor(s);
	driver_look_at_roll(d);
}

void
driver_drop_successors(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		struct slot *s = &d->slots[i];
		bool unwanted = d->end != DRIVER_GOES_ON || (d->held &&
		    !d->rolling && predecessor_of(s) == NULL);
		if (s->state != SLOT_AHEAD || !unwanted)
			continue;
		s->dropped = true;
		if (s->ended)
			free_successor(s);
		else
			driver_stop_call(s);
	}
}

/* While files settle it does not count. */
bool
driver_is_successor_out(const struct slot *s)
{
	const struct driver *d = s->driver;

	return s->state == SLOT_AHEAD && (!d->rolling || s->ended ||
	    s->stopped || d->end != DRIVER_GOES_ON);
}
