/*
 * Answers that are durable already: they are read from the archive, in the
 * order of their numbers, and are judged as they were when they came.
 *
 * An answer belongs to the call that is wanted under its URL.  One that no call
 * wants any more is left alone: another version of the connector may ask in
 * another way.  A call as a crawl that had no answer has no record either: it
 * stands before a later one's.
 */
#include "engine/engine.h"
#include "engine/harvest/driver_own.h"
#include "engine/parser/url.h"
#include "os/clock.h"
#include "os/log.h"

/* The URL as a record has it: canonical, without fragment and secrets. */
static struct str
recorded_url(const struct driver *d, struct str url, struct arena *a)
{
	FREED(buf_free) struct buf out = BUF_INIT, names = BUF_INIT;
	struct url u;

	if (url_parse(url, NULL, a, &u, NULL) == OK)
		url = str_cut(u.href, 0, u.href.n - u.fragment.n);
	return d->redactor != NULL && redact_text(d->redactor, url, &out,
	    &names) ? arena_copy(a, buf_str(&out)) : url;
}

static struct slot *
wanted(struct driver *d, struct str url, struct arena *a)
{
	struct str recorded = recorded_url(d, url, a);

	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		struct slot *s = &d->slots[i];
		if (s->state == SLOT_READY && str_eq(recorded,
		    recorded_url(d, s->url, a)))
			return s;
	}
	return NULL;
}

/* The first call as a crawl had no answer.  False: there is no such call. */
static bool
take_silence(struct driver *d)
{
	struct driver_answer none = { .refused = STR("there was no answer"),
	    .when = clock_wall() };

	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		struct slot *s = &d->slots[i];
		if (s->state != SLOT_READY || !s->call.as_crawl)
			continue;
		(void)driver_take(s, &none);
		driver_fill(d);
		return true;
	}
	return false;
}

static struct slot *
find_slot(struct driver *d, struct capture_query *q)
{
	struct slot *s;

	if (q->hops_n == 0)
		return NULL;
	do
		s = wanted(d, q->hops[0].url, &q->arena);
	while (s == NULL && d->end == DRIVER_GOES_ON && take_silence(d));
	return s;
}

static void
take_capture(struct driver *d, struct capture_query *q)
{
	struct slot *s = find_slot(d, q);
	struct http_head head;

	if (s == NULL || http_parse_head(q->hops[0].response, false,
	    HTTP_LIMITS_DEFAULT, &q->arena, &head, NULL) != OK) {
		log_warn("harvest.replay", "crawl=%u item=%llu text=\"no call "
		    "wants this answer any more\"", d->crawl,
		    (unsigned long long)q->number);
		return;
	}
	struct driver_answer answer = { .status = head.status, .head = &head,
	    .body = q->body_bytes, .damaged = q->damaged,
	    .too_long = q->cut || (q->entry.flags & JOURNAL_TRUNCATED),
	    .when = { q->entry.start.us + q->entry.duration_us } };
	enum driver_verdict v = driver_take(s, &answer);
	d->look.replayed += v == VERDICT_TAKEN;
	s->renewed |= v == VERDICT_RENEW;
}

static void
capture_read_again(struct capture_query *q)
{
	struct driver *d = q->arg;

	d->reading = false;
	if (q->why.err == OK)
		take_capture(d, q);
	else
		log_warn("harvest.replay", "crawl=%u item=%llu why=%s",
		    d->crawl, (unsigned long long)q->number, log_why(&q->why));
	d->captures = q->number;
	arena_free(&q->arena);
	driver_pump(d);
}

void
driver_replay(struct driver *d)
{
	if (d->reading)
		return;
	if (d->captures >= d->replay_last || d->end != DRIVER_GOES_ON) {
		d->replaying = false;
		d->captures = MAX(d->captures, d->replay_last);
		return;
	}
	d->reading = true;
	d->capture = (struct capture_query){ .crawl = d->crawl,
	    .number = d->captures + 1, .body = true, .answer_only = true,
	    .body_bytes_max = SIZE_MAX, .done = capture_read_again, .arg = d };
	catalog_capture(engine_catalog(d->options.engine), &d->capture);
}
