/*
 * Answers that are durable already: they are read from the archive, in the
 * order of their numbers, and are judged as they were when they came.
 *
 * An answer belongs to the call that is wanted under its URL.  A stream has its
 * number from its end, and calls beside it may have followed from its events:
 * an answer that no call wants is tried as soon as one does, before any later
 * answer, as a later stream's pages may follow from it; and once more behind
 * all others.  One that is still not wanted is left alone: another version of
 * the connector may ask in another way.  A call as a crawl that had no answer
 * has no record either: it stands before a later one's.
 */
#include "base/hash.h"
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
	while (s == NULL && d->end == DRIVER_GOES_ON &&
	    (driver_replay_frames_end(d) || take_silence(d)));
	return s;
}

/* Its events count for the day of its end. */
static bool
take_stream(struct slot *s, struct capture_query *q,
    struct driver_answer *answer)
{
	if (!driver_is_stream(&s->call) || answer->status / 100 != 2)
		return false;
	answer->began.us = q->entry.start.us + MAX(q->entry.first_byte_us, 0);
	/* One that was recovered from its spool has no time of its first byte:
	 * this end was our process's. */
	answer->cut = call_is_cut(q->truncated) ||
	    q->entry.first_byte_us < 0;
	driver_feed(s, q->body_bytes, answer->when);
	driver_end_stream(s, answer);
	s->driver->look.replayed++;
	return true;
}

/* False: no call wants it. */
static bool
take_capture(struct driver *d, struct capture_query *q)
{
	struct slot *s = find_slot(d, q);
	struct http_head head;

	if (driver_replay_begins_anew(s, q)) {
		(void)driver_replay_frames_end(d);
		s = find_slot(d, q);
	}
	if (driver_replay_frames(s, q))
		return true;
	if (s == NULL || http_parse_head(q->hops[0].response, false,
	    HTTP_LIMITS_DEFAULT, &q->arena, &head, NULL) != OK)
		return false;
	struct driver_answer answer = { .status = head.status, .head = &head,
	    .body = q->body_bytes, .damaged = q->damaged,
	    .too_long = q->cut || (q->entry.flags & JOURNAL_TRUNCATED),
	    .when = { q->entry.start.us + q->entry.duration_us } };
	if (take_stream(s, q, &answer))
		return true;
	enum driver_verdict v = driver_take(s, &answer);
	d->look.replayed += v == VERDICT_TAKEN;
	s->renewed |= v == VERDICT_RENEW;
	return true;
}

/* `again`: it was tried again already. */
static void
leave(struct driver *d, struct capture_query *q, bool again)
{
	bool has_url = !again && q->why.err == OK && q->hops_n > 0;

	d->left = mem_room(d->left, d->left_n, &d->left_cap, 16,
	    sizeof(*d->left));
	d->left[d->left_n++] = (struct left_answer){ q->number, has_url ?
	    hash_bytes(recorded_url(d, q->hops[0].url, &q->arena), 0) : 0 };
}

static void
capture_read_again(struct capture_query *q)
{
	struct driver *d = q->arg;
	bool first = q->number > d->captures;

	d->reading = false;
	bool taken = q->why.err == OK && take_capture(d, q);
	if (q->why.err != OK)
		log_warn("harvest.replay", "crawl=%u item=%llu why=%s",
		    d->crawl, (unsigned long long)q->number, log_why(&q->why));
	else if (!taken)
		leave(d, q, !first);
	d->left_taken += taken && !first;
	d->left_due |= taken;
	d->captures = MAX(d->captures, q->number);
	arena_free(&q->arena);
	driver_pump(d);
}

static void
read_again(struct driver *d, uint64_t number)
{
	d->reading = true;
	d->capture = (struct capture_query){ .crawl = d->crawl,
	    .number = number, .body = true, .answer_only = true,
	    .body_bytes_max = SIZE_MAX, .done = capture_read_again, .arg = d };
	catalog_capture(engine_catalog(d->options.engine), &d->capture);
}

/* Whether a call is wanted now that one of the leftover answers belongs to;
 * then the first of these is read. */
static bool
read_wanted(struct driver *d)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	uint64_t urls[DRIVER_CALLS_MAX];
	size_t n = 0;

	if (!d->left_due || d->left_n == 0 || d->left_end > 0)
		return false;
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].state == SLOT_READY)
			urls[n++] = hash_bytes(recorded_url(d,
			    d->slots[i].url, &a), 0);
	for (size_t i = 0; i < d->left_n; i++)
		for (size_t k = 0; k < n; k++) {
			if (d->left[i].url == 0 || d->left[i].url != urls[k])
				continue;
			uint64_t number = d->left[i].number;
			memmove(&d->left[i], &d->left[i + 1],
			    (--d->left_n - i) * sizeof(*d->left));
			read_again(d, number);
			return true;
		}
	d->left_due = false;
	return false;
}

/* Goes through the leftover answers again until a round uses none of them. */
static bool
read_left(struct driver *d)
{
	if (d->left_at == d->left_end) {
		/* Those that still found no call were appended. */
		if (d->left_end > 0 && d->left_taken == 0)
			return false;
		d->left_end = d->left_n;
		d->left_taken = 0;
	}
	if (d->left_at == d->left_end)
		return false;
	read_again(d, d->left[d->left_at++].number);
	return true;
}

static void
end_replay(struct driver *d)
{
	/* The process ended, and so did the stream. */
	(void)driver_replay_frames_end(d);
	d->replaying = false;
	d->captures = MAX(d->captures, d->replay_last);
	for (size_t i = d->left_at; i < d->left_n; i++)
		log_warn("harvest.replay", "crawl=%u item=%llu text=\"no call "
		    "wants this answer any more\"", d->crawl,
		    (unsigned long long)d->left[i].number);
}

void
driver_replay(struct driver *d)
{
	bool goes_on = d->end == DRIVER_GOES_ON;

	if (d->reading || (goes_on && read_wanted(d)))
		return;
	if (goes_on && d->captures < d->replay_last)
		read_again(d, d->captures + 1);
	else if (!goes_on || !read_left(d))
		end_replay(d);
}
