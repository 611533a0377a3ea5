/*
 * Streams that an earlier process did not end: what it received of them becomes
 * records, before any answer is read again.
 *
 *     spool ─► is it archived? ─► no: archived now ─► the file goes
 *
 * A stream is known by its URL and the moment of its beginning: it is among the
 * newest captures when the process ended between its record and the spool's
 * removal.
 */
#include "engine/engine.h"
#include "engine/harvest/driver_own.h"
#include "engine/control/control.h"
#include "engine/parser/url.h"
#include "os/log.h"

/* Captures behind the last settling are looked at, and so many before. */
#define LOOK_BACK 8u

static void
remove_spool(struct driver *d)
{
	struct why w = WHY_INIT;

	if (spool_remove(d->options.spools[d->spool_at].path, &w) != OK)
		log_warn("harvest.spool", "why=%s", log_why(&w));
	d->spool_at++;
	driver_recover(d);
}

static void
stored(struct call *c)
{
	struct slot *s = CONTAINER(c, struct slot, sent);
	struct driver *d = s->driver;

	s->state = SLOT_FREE;
	bool kept = c->end == CALL_ANSWERED && c->result == OK;
	d->replay_last = MAX(d->replay_last, c->number);
	call_free_answer(c);
	if (kept) {
		remove_spool(d);
		return;
	}
	/* Another process goes on: the engine ends, or has failed. */
	d->held = true;
	d->recovering = false;
	driver_pump(d);
}

static void
store(struct driver *d)
{
	const struct call_received *r =
	    &d->options.spools[d->spool_at].stream;
	struct slot *s = &d->slots[0];

	s->sent = (struct call){ .crawl = d->crawl, .home = d->options.home,
	    .method = STR("GET"), .url = r->url, .archive = CALL_RESPONSE,
	    .redactor = d->options.redact ? d->redactor : NULL,
	    .stored = r, .done = stored };
	s->state = SLOT_OUT;
	engine_call(d->options.engine, &s->sent);
}

/* A page may have begun in the same moment. */
static bool
is_stream(const struct capture_query *q, const struct call_received *stream)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str url = stream->url;
	struct url u;

	if (q->why.err != OK || q->hops_n == 0 ||
	    q->entry.start.us != stream->start.us)
		return false;
	if (url_parse(url, NULL, &a, &u, NULL) == OK)
		url = str_cut(u.href, 0, u.href.n - u.fragment.n);
	return str_eq(q->hops[0].url, url);
}

static void look_at(struct driver *, uint64_t number);

static void
looked(struct capture_query *q)
{
	struct driver *d = q->arg;
	bool same = is_stream(q, &d->options.spools[d->spool_at].stream);
	uint64_t number = q->number;

	d->reading = false;
	arena_free(&q->arena);
	if (same)
		remove_spool(d);
	else
		look_at(d, number + 1);
}

static void
look_at(struct driver *d, uint64_t number)
{
	if (number > d->replay_last) {
		store(d);
		return;
	}
	d->reading = true;
	d->capture = (struct capture_query){ .crawl = d->crawl,
	    .number = number, .answer_only = true, .done = looked, .arg = d };
	catalog_capture(engine_catalog(d->options.engine), &d->capture);
}

void
driver_recover(struct driver *d)
{
	if (d->spool_at < d->options.spools_n) {
		look_at(d, d->captures > LOOK_BACK ? d->captures - LOOK_BACK :
		    1);
		return;
	}
	d->recovering = false;
	d->replaying = d->replay_last > d->captures;
	driver_pump(d);
}
