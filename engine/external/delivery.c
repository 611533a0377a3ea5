/* Batches, retries and steps; the story is in delivery.h. */
#include "engine/external/delivery_own.h"

#include <stdarg.h>

#include "base/json_writer.h"

/* --- Texts and life ----------------------------------------------------- */

char *
delivery_copy_text(struct str s, size_t max)
{
	size_t n = MIN(s.n, max);

	/* Not in the midst of a character, RFC 3629 section 3. */
	while (n < s.n && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	char *copy = mem_new(n + 1);
	if (n > 0)
		memcpy(copy, s.p, n);
	return copy;
}

void
delivery_clear_status(struct status *s)
{
	mem_free(&s->message);
	mem_free(&s->detail);
	s->code = 0;
}

void
delivery_set_status(struct status *s, unsigned code, struct str message,
    struct str detail)
{
	delivery_clear_status(s);
	s->code = code;
	s->message = delivery_copy_text(message, DELIVERY_MESSAGE_BYTES_MAX);
	s->detail = delivery_copy_text(detail, DELIVERY_DETAIL_BYTES_MAX);
}

static void
clear_channel(struct channel *c)
{
	*c = (struct channel){ .next = TIME_PAST };
}

struct delivery *
delivery_new(const struct delivery_settings *set)
{
	struct delivery *d = mem_new(sizeof(*d));

	d->set = *set;
	d->fid = delivery_copy_text(set->fid, SIZE_MAX);
	d->backend = delivery_copy_text(set->backend, SIZE_MAX);
	if (d->set.batch_bytes == 0)
		d->set.batch_bytes = DELIVERY_BATCH_BYTES;
	if (d->set.batch_documents == 0)
		d->set.batch_documents = DELIVERY_BATCH_DOCUMENTS;
	if (d->set.silence_s == 0)
		d->set.silence_s = DELIVERY_SILENCE_S;
	if (d->set.retry_s_max == 0)
		d->set.retry_s_max = DELIVERY_RETRY_S_MAX;
	clear_channel(&d->upload);
	clear_channel(&d->status);
	d->silent = TIME_PAST;
	d->progress = mem_copy_text("Running");
	return d;
}

static void
free_reasons(struct delivery *d)
{
	for (size_t i = 0; i < d->reasons_n; i++)
		mem_free(&d->reasons[i]);
	d->reasons_n = 0;
}

void
delivery_free(struct delivery **dp)
{
	struct delivery *d = *dp;

	if (d == NULL)
		return;
	free_reasons(d);
	for (size_t i = 0; i < d->rejected_waiting; i++)
		mem_free(&d->rejected[i].reason);
	mem_free(&d->rejected);
	mem_free(&d->shown);
	delivery_clear_status(&d->sent);
	delivery_clear_status(&d->closing);
	mem_free(&d->progress);
	mem_free(&d->window);
	mem_free(&d->fid);
	mem_free(&d->backend);
	buf_free(&d->key);
	buf_free(&d->body);
	mem_free(dp);
}

static void
note_change(struct delivery *d)
{
	d->change++;
}

PRINTF_LIKE(4, 5) static void
tell_event(struct delivery *d, enum delivery_level level, const char *name,
    const char *fmt, ...)
{
	va_list ap;
	char text[DELIVERY_REASON_BYTES_MAX + 200];

	if (d->set.event == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->set.event(d->set.arg, level, name, str_of(text));
}

static void
drop_documents(struct delivery *d)
{
	d->upload.ready = false;
	d->window_n = 0;
	d->drop_spool = true;
}

static void
end_delivery(struct delivery *d, enum delivery_end end)
{
	d->end = end;
	d->upload.busy = d->status.busy = false;
	if (end == DELIVERY_GONE || end == DELIVERY_STOPPED)
		drop_documents(d);
	note_change(d);
}

/* --- Documents and batches ---------------------------------------------- */

uint64_t
delivery_wanted(const struct delivery *d)
{
	return d->first + d->window_n;
}

/* The batch under way and the next one. */
size_t
delivery_room(const struct delivery *d)
{
	uint64_t most = d->set.batch_documents +
	    (d->upload.ready ? d->batch.to - d->first : 0);

	if (d->end != DELIVERY_RUNNING || d->drop_spool)
		return 0;
	return most > d->window_n ? (size_t)(most - d->window_n) : 0;
}

void
delivery_put(struct delivery *d, uint64_t number, size_t bytes,
    struct mono came)
{
	if (d->end != DELIVERY_RUNNING || d->drop_spool)
		return;
	CHECK(number == delivery_wanted(d));
	d->window = mem_room(d->window, d->window_n, &d->window_cap, 64,
	    sizeof(*d->window));
	d->window[d->window_n++] = (struct document){ bytes, came };
}

struct range
delivery_batch_part(const struct batch *b)
{
	struct range r = { b->from, b->to };

	for (unsigned i = b->splits; i-- > 0;) {
		uint64_t middle = r.from + (r.to - r.from) / 2;
		if (b->path >> i & 1)
			r.from = middle;
		else
			r.to = middle;
	}
	return r;
}

/* The part's lines with LF between them. */
static size_t
count_part_bytes(const struct delivery *d, struct range part)
{
	size_t bytes = (size_t)(part.to - part.from) - 1;

	for (uint64_t i = part.from; i < part.to; i++)
		bytes += d->window[i - d->first].bytes;
	return bytes;
}

static bool
uses_gzip(const struct delivery *d, struct range part)
{
	return d->gzip != GZIP_REFUSED && !d->batch.plain &&
	    count_part_bytes(d, part) > DELIVERY_GZIP_ABOVE;
}

static uint32_t
documents_max(const struct delivery *d)
{
	return MAX(d->set.batch_documents >> d->halvings, 1u);
}

static void
halve_size(struct delivery *d)
{
	if (documents_max(d) > 1)
		d->halvings++;
}

/* How many documents the next batch has; `*full`: no other fits. */
static size_t
measure_batch(const struct delivery *d, bool *full)
{
	size_t bytes_max = MAX(d->set.batch_bytes >> d->halvings, (size_t)1);
	size_t bytes = 0, n = 0, most = documents_max(d);

	*full = true;
	for (; n < MIN(d->window_n, most); n++) {
		size_t more = d->window[n].bytes + (n > 0);
		if (n > 0 && (bytes >= bytes_max || more > bytes_max - bytes))
			return n;
		bytes += more;
	}
	*full = n == most || bytes >= bytes_max;
	return n;
}

/* The connector has ended, and the window has the spool's last document. */
static bool
has_all_documents(const struct delivery *d)
{
	return d->closing.code != 0 && delivery_wanted(d) >= d->closing_end;
}

static void
form_batch(struct delivery *d, struct mono now)
{
	bool full;

	if (d->upload.ready || d->window_n == 0)
		return;
	size_t n = measure_batch(d, &full);
	if (!full && !has_all_documents(d) && mono_before(now,
	    mono_add_ms(d->window[0].came, DELIVERY_BATCH_MS)))
		return;
	d->batch = (struct batch){ .seq = d->seq++, .from = d->first,
		.to = d->first + n };
	d->upload.ready = true;
	note_change(d);
}

/* The part has been answered; the next one of its batch follows. */
static void
finish_part(struct delivery *d, struct range part)
{
	struct batch *b = &d->batch;
	size_t n = (size_t)(part.to - part.from);

	memmove(d->window, d->window + n, (d->window_n - n) *
	    sizeof(*d->window));
	d->window_n -= n;
	d->first = part.to;
	for (; b->splits > 0 && (b->path & 1) != 0; b->splits--)
		b->path >>= 1;
	if (b->splits > 0)
		b->path |= 1;
	else
		d->upload.ready = false;
	note_change(d);
}

/* --- Rejected documents ------------------------------------------------- */

static void
count_rejected(struct delivery *d, struct str reason)
{
	d->rejected_n++;
	if (d->reasons_n < DELIVERY_REASONS_MAX)
		d->reasons[d->reasons_n++] = delivery_copy_text(reason,
		    DELIVERY_REASON_BYTES_MAX);
	note_change(d);
}

void
delivery_count_rejected(struct delivery *d, struct str reason)
{
	if (d->end == DELIVERY_RUNNING)
		count_rejected(d, reason);
}

static void
reject_document(struct delivery *d, uint64_t number, unsigned status,
    struct str text)
{
	FREED(buf_free) struct buf reason = BUF_INIT;

	buf_printf(&reason, "the back end answered %u", status);
	if (text.n > 0)
		buf_printf(&reason, ": %.*s", (int)MIN(text.n,
		    DELIVERY_REASON_BYTES_MAX), text.p);
	count_rejected(d, buf_str(&reason));
	d->rejected = mem_room(d->rejected, d->rejected_waiting,
	    &d->rejected_cap, 4, sizeof(*d->rejected));
	struct rejected *r = &d->rejected[d->rejected_waiting++];
	*r = (struct rejected){ number, delivery_copy_text(buf_str(&reason),
	    DELIVERY_REASON_BYTES_MAX), d->change };
	tell_event(d, DELIVERY_WARNING, "rejected", "document %llu: %s",
	    (unsigned long long)number, r->reason);
}

/* A closing status that was sent, perhaps accepted, is never replaced. */
static void
fail_by_rejected(struct delivery *d)
{
	FREED(buf_free) struct buf detail = BUF_INIT;

	if (d->rejected_n <= d->set.rejected_max || d->drop_spool ||
	    d->upload.busy || (d->status.ready && d->sent.code != CODE_RUNNING))
		return;
	buf_printf(&detail, "system: too many documents were rejected; "
	    "%llu uploaded, %llu rejected",
	    (unsigned long long)d->uploaded, (unsigned long long)d->rejected_n);
	for (size_t i = 0; i < d->reasons_n; i++)
		buf_printf(&detail, "\n%s", d->reasons[i]);
	drop_documents(d);
	delivery_set_status(&d->closing, CODE_ERROR,
	    STR("Too many documents were rejected"), buf_str(&detail));
	d->closing_end = d->first;
	note_change(d);
}

/* --- Statuses ----------------------------------------------------------- */

void
delivery_report(struct delivery *d, struct str message)
{
	mem_free(&d->progress);
	d->progress = delivery_copy_text(message, DELIVERY_MESSAGE_BYTES_MAX);
	d->reported = true;
}

void
delivery_close(struct delivery *d, uint64_t end, unsigned code,
    struct str message, struct str detail)
{
	CHECK(code >= 200 && code <= CODE_MAX);
	if (d->end != DELIVERY_RUNNING || d->closing.code != 0)
		return;
	delivery_set_status(&d->closing, code, message, detail);
	d->closing_end = end;
	note_change(d);
}

void
delivery_stop(struct delivery *d)
{
	if (d->end == DELIVERY_RUNNING || d->end == DELIVERY_UNDELIVERED)
		end_delivery(d, DELIVERY_STOPPED);
}

static bool
is_closing_due(const struct delivery *d)
{
	return d->closing.code != 0 && !d->upload.ready &&
	    d->first >= d->closing_end;
}

/* Progress that failed gives way to what is newer. */
static bool
may_form_status(const struct delivery *d)
{
	return !d->status.ready || (!d->status.busy && d->status.tries > 0 &&
	    d->sent.code == CODE_RUNNING);
}

/* When the next status may be formed; MONO_NEVER while there is no reason. */
static struct mono
when_to_form_status(const struct delivery *d)
{
	if (!may_form_status(d))
		return MONO_NEVER;
	if (is_closing_due(d) || d->reported)
		return d->status.next;
	if (d->status.ready)
		return MONO_NEVER;
	return mono_before(d->silent, d->status.next) ? d->status.next :
	    d->silent;
}

static void
form_status(struct delivery *d, struct mono now)
{
	if (mono_before(now, when_to_form_status(d)))
		return;
	bool is_heartbeat = !is_closing_due(d) && !d->reported &&
	    !d->status.ready;
	if (is_closing_due(d))
		delivery_set_status(&d->sent, d->closing.code,
		    str_of(d->closing.message), str_of(d->closing.detail));
	else
		delivery_set_status(&d->sent, CODE_RUNNING,
		    str_of(d->progress), STR_NONE);
	d->reported = false;
	d->sent.seq = d->status_seq++;
	d->status.ready = true;
	if (!is_heartbeat || d->sent.seq >= d->status_reserved)
		note_change(d);
}

/* --- Steps -------------------------------------------------------------- */

static struct mono
deadline_of(const struct delivery *d, const struct channel *c)
{
	if (!c->failing || c->busy)
		return MONO_NEVER;
	return mono_add_ns(c->since.mono, d->set.retry_s_max * NS_PER_S);
}

static bool
is_call_due(const struct channel *c, struct mono now)
{
	return c->ready && !c->busy && !mono_before(now, c->next);
}

/* After a restart its documents may not have been put yet. */
static bool
has_part(const struct delivery *d)
{
	return d->upload.ready &&
	    delivery_wanted(d) >= delivery_batch_part(&d->batch).to;
}

static void
make_save(struct delivery *d, struct delivery_step *s)
{
	size_t n = d->rejected_waiting;

	mem_free(&d->shown);
	d->shown = mem_array(MAX(n, (size_t)1), sizeof(*d->shown));
	for (size_t i = 0; i < n; i++)
		d->shown[i] = (struct delivery_rejected){
		    d->rejected[i].number, str_of(d->rejected[i].reason) };
	d->saving = d->change;
	d->reserving = d->status_seq + DELIVERY_STATUS_KEYS;
	s->kind = DELIVERY_SAVE;
	s->first = d->first;
	s->drop_spool = d->drop_spool;
	s->rejected = d->shown;
	s->rejected_n = n;
}

static void
make_upload(struct delivery *d, struct delivery_step *s)
{
	struct range part = delivery_batch_part(&d->batch);

	buf_clear(&d->key);
	buf_printf(&d->key, "%s:%llu", d->fid,
	    (unsigned long long)d->batch.seq);
	for (unsigned i = d->batch.splits; i-- > 0;)
		buf_put_text(&d->key, d->batch.path >> i & 1 ? ".1" : ".0");
	d->upload.busy = true;
	s->kind = DELIVERY_UPLOAD;
	s->key = buf_str(&d->key);
	s->from = part.from;
	s->to = part.to;
	s->body_bytes = count_part_bytes(d, part);
	s->gzip = uses_gzip(d, part);
}

static void
make_status(struct delivery *d, struct mono now, struct delivery_step *s)
{
	buf_clear(&d->key);
	buf_printf(&d->key, "%s:s%llu", d->fid,
	    (unsigned long long)d->sent.seq);
	buf_clear(&d->body);
	json_object(&d->body, NULL);
	json_u64(&d->body, "code", d->sent.code);
	json_str(&d->body, "message", str_of(d->sent.message));
	if (d->sent.detail[0] != '\0')
		json_str(&d->body, "detail", str_of(d->sent.detail));
	else
		json_null(&d->body, "detail");
	buf_put_char(&d->body, '}');
	d->status.busy = true;
	d->status.next = mono_add_ms(now, DELIVERY_STATUS_MS);
	s->kind = DELIVERY_STATUS;
	s->key = buf_str(&d->key);
	s->body = buf_str(&d->body);
}

static struct mono
earlier(struct mono a, struct mono b)
{
	return mono_before(a, b) ? a : b;
}

static struct mono
find_wake(const struct delivery *d)
{
	struct mono wake = earlier(deadline_of(d, &d->upload),
	    deadline_of(d, &d->status));

	if (has_part(d) && !d->upload.busy)
		wake = earlier(wake, d->upload.next);
	if (!d->upload.ready && d->window_n > 0)
		wake = earlier(wake, mono_add_ms(d->window[0].came,
		    DELIVERY_BATCH_MS));
	if (d->status.ready && !d->status.busy)
		wake = earlier(wake, d->status.next);
	return earlier(wake, when_to_form_status(d));
}

/* The clock that never jumps means nothing after a restart. */
static void
settle_since(struct channel *c, struct delivery_time now)
{
	if (!c->loaded)
		return;
	int64_t us = MAX(now.wall.us - c->since.wall.us, 0);
	c->since.mono = mono_add_ns(now.mono, -MIN(us, INT64_MAX / 4000) *
	    1000);
	c->loaded = false;
}

static void
advance(struct delivery *d, struct mono now)
{
	if (!mono_before(now, earlier(deadline_of(d, &d->upload),
	    deadline_of(d, &d->status)))) {
		tell_event(d, DELIVERY_ERROR, "undelivered", "%s could not be "
		    "reached for %lld s", d->backend,
		    (long long)d->set.retry_s_max);
		end_delivery(d, DELIVERY_UNDELIVERED);
		return;
	}
	fail_by_rejected(d);
	form_batch(d, now);
	form_status(d, now);
}

void
delivery_next(struct delivery *d, struct delivery_time now,
    struct delivery_step *s)
{
	*s = (struct delivery_step){ .kind = DELIVERY_WAIT,
		.wake = MONO_NEVER };
	settle_since(&d->upload, now);
	settle_since(&d->status, now);
	if (d->end == DELIVERY_RUNNING)
		advance(d, now.mono);
	/* A call depends on what is saved, so it waits for that. */
	if (d->saving != 0)
		return;
	if (d->change > d->saved) {
		make_save(d, s);
	} else if (d->end != DELIVERY_RUNNING) {
		s->kind = DELIVERY_ENDED;
		s->end = d->end;
	} else if (has_part(d) && is_call_due(&d->upload, now.mono)) {
		make_upload(d, s);
	} else if (is_call_due(&d->status, now.mono)) {
		make_status(d, now.mono, s);
	} else {
		s->wake = find_wake(d);
	}
}

void
delivery_saved(struct delivery *d, bool committed)
{
	size_t kept = 0;

	if (committed && d->saving != 0) {
		d->saved = d->saving;
		d->status_reserved = d->reserving;
		for (size_t i = 0; i < d->rejected_waiting; i++) {
			struct rejected *r = &d->rejected[i];
			if (r->change > d->saved)
				d->rejected[kept++] = *r;
			else
				mem_free(&r->reason);
		}
		d->rejected_waiting = kept;
	}
	d->saving = 0;
}

/* --- Replies ------------------------------------------------------------ */

enum verdict { ACCEPTED, REFUSED, IN_PART, GONE, TOO_LARGE, AGAIN, DENIED };

static enum verdict
judge_reply(unsigned status, const struct reply *r)
{
	switch (status) {
	case 400:
		return REFUSED;
	case 406: case 422:
		return IN_PART;
	case 404: case 410:
		return GONE;
	case 413:
		return TOO_LARGE;
	case 408: case 409: case 425: case 429:
		return AGAIN;
	}
	if (status < 200 || status >= 500)
		return AGAIN;
	if (status < 300)
		return r->refused ? IN_PART : ACCEPTED;
	return DENIED;
}

/* Seconds, or an HTTP date (RFC 9110 section 10.2.3); 0: neither. */
static int64_t
read_retry_after_ms(const struct delivery *d, struct str value,
    struct wall now)
{
	int64_t s_max = d->set.retry_s_max;
	struct wall at;
	uint64_t s;

	value = str_trim(value);
	if (str_to_u64(value, &s))
		return (int64_t)MIN(s, (uint64_t)s_max) * 1000;
	if (value.n > 0 && wall_from_http(value, &at) && at.us > now.us)
		return MIN((at.us - now.us) / 1000 + 1, s_max * 1000);
	return 0;
}

static int64_t
draw_wait_ms(unsigned tries, uint64_t random)
{
	int64_t most = DELIVERY_RETRY_MS;

	for (unsigned i = 0; i < tries && most < DELIVERY_RETRY_MS_MAX; i++)
		most *= 2;
	most = MIN(most, DELIVERY_RETRY_MS_MAX);
	return (int64_t)(random % ((uint64_t)most + 1));
}

static void
wait_to_retry(struct delivery *d, struct channel *c, int64_t ms,
    struct delivery_time now)
{
	struct mono at = mono_add_ms(now.mono, ms);

	if (!c->failing) {
		c->failing = true;
		c->since = now;
		note_change(d);
	}
	c->tries += c->tries < UINT32_MAX;
	if (mono_before(c->next, at))
		c->next = at;
}

/* What AGAIN and DENIED mean for either kind of call. */
static void
retry_call(struct delivery *d, struct channel *c, enum verdict v,
    const struct delivery_reply *reply, uint64_t random,
    struct delivery_time now)
{
	if (v == AGAIN) {
		wait_to_retry(d, c, MAX(draw_wait_ms(c->tries, random),
		    read_retry_after_ms(d, reply->retry_after, now.wall)), now);
		return;
	}
	tell_event(d, DELIVERY_WARNING, "denied", "%s answered %u to %s",
	    d->backend, reply->status, c == &d->upload ? "an upload" :
	    "a status");
	wait_to_retry(d, c, DELIVERY_DENIED_MS, now);
}

/* The call was answered: what follows goes out at once. */
static void
end_retries(struct delivery *d, struct channel *c)
{
	if (c->failing)
		note_change(d);
	c->failing = false;
	c->tries = 0;
}

/* False: it is a single document. */
static bool
split_part(struct delivery *d, struct range part)
{
	if (part.to - part.from < 2)
		return false;
	CHECK(d->batch.splits < SPLITS_MAX);
	d->batch.path <<= 1;
	d->batch.splits++;
	note_change(d);
	return true;
}

static void
split_or_reject(struct delivery *d, struct range part, unsigned status,
    const struct reply *r)
{
	end_retries(d, &d->upload);
	if (split_part(d, part))
		return;
	reject_document(d, part.from, status, r->message);
	finish_part(d, part);
}

static void
accept_part(struct delivery *d, struct range part, uint64_t accepted,
    const struct reply *r, struct mono now)
{
	if (r->counted && r->count != accepted)
		tell_event(d, DELIVERY_WARNING, "count", "%s counted %llu of "
		    "%llu documents", d->backend, (unsigned long long)r->count,
		    (unsigned long long)accepted);
	d->uploaded += accepted;
	d->silent = mono_add_ms(now, d->set.silence_s * 1000 / 3);
	end_retries(d, &d->upload);
	finish_part(d, part);
}

static void
accept_in_part(struct delivery *d, struct range part, unsigned status,
    const struct reply *r, struct mono now)
{
	size_t lines = (size_t)(part.to - part.from);
	struct str *errors = mem_array(lines, sizeof(*errors));
	size_t refused = delivery_reply_errors(r, errors, lines);

	for (size_t i = 0; i < lines && refused > 0; i++)
		if (errors[i].p != NULL)
			reject_document(d, part.from + i, status, errors[i]);
	if (refused > 0)
		accept_part(d, part, lines - refused, r, now);
	else
		split_or_reject(d, part, status, r);
	mem_free(&errors);
}

/* Whether the part goes out once more, without gzip. */
static bool
give_up_gzip(struct delivery *d, unsigned status)
{
	bool first = d->gzip == GZIP_UNTRIED;

	if (status != 400 && !(first && status == 415))
		return false;
	if (first) {
		d->gzip = GZIP_REFUSED;
		tell_event(d, DELIVERY_WARNING, "gzip", "%s answered %u to the "
		    "first compressed upload; the others are not compressed",
		    d->backend, status);
	}
	d->batch.plain = true;
	end_retries(d, &d->upload);
	note_change(d);
	return true;
}

static void
handle_server_error(struct delivery *d, struct range part)
{
	if (++d->server_errors < DELIVERY_SERVER_ERRORS)
		return;
	d->server_errors = 0;
	halve_size(d);
	split_part(d, part);
	note_change(d);
}

static void
handle_gone(struct delivery *d, unsigned status)
{
	tell_event(d, DELIVERY_ERROR, "gone", "%s answered %u", d->backend,
	    status);
	end_delivery(d, DELIVERY_GONE);
}

static void
handle_upload(struct delivery *d, const struct delivery_reply *reply,
    const struct reply *r, uint64_t random, struct delivery_time now)
{
	struct range part = delivery_batch_part(&d->batch);
	enum verdict v = judge_reply(reply->status, r);
	bool gzip = uses_gzip(d, part);

	if (reply->status < 500)
		d->server_errors = 0;
	if (gzip && give_up_gzip(d, reply->status))
		return;
	if (gzip && d->gzip == GZIP_UNTRIED && (v == ACCEPTED || v == IN_PART))
		d->gzip = GZIP_TAKEN;
	switch (v) {
	case ACCEPTED:
		accept_part(d, part, part.to - part.from, r, now.mono);
		break;
	case IN_PART:
		accept_in_part(d, part, reply->status, r, now.mono);
		break;
	case TOO_LARGE:
		halve_size(d);
		/* Fall through. */
	case REFUSED:
		split_or_reject(d, part, reply->status, r);
		break;
	case GONE:
		handle_gone(d, reply->status);
		break;
	case AGAIN:
	case DENIED:
		retry_call(d, &d->upload, v, reply, random, now);
		if (reply->status >= 500)
			handle_server_error(d, part);
		break;
	}
}

static void
handle_status(struct delivery *d, const struct delivery_reply *reply,
    const struct reply *r, uint64_t random, struct delivery_time now)
{
	enum verdict v = judge_reply(reply->status, r);

	switch (v) {
	case REFUSED:
	case IN_PART:
		tell_event(d, DELIVERY_WARNING, "status_refused",
		    "%s answered %u to the status %u", d->backend,
		    reply->status, d->sent.code);
		/* Fall through. */
	case ACCEPTED:
		end_retries(d, &d->status);
		d->status.ready = false;
		d->silent = mono_add_ms(now.mono, d->set.silence_s * 1000 / 3);
		if (d->sent.code != CODE_RUNNING)
			end_delivery(d, DELIVERY_DONE);
		break;
	case GONE:
		handle_gone(d, reply->status);
		break;
	case AGAIN:
	case TOO_LARGE:
	case DENIED:
		retry_call(d, &d->status, v, reply, random, now);
		break;
	}
}

void
delivery_reply(struct delivery *d, enum delivery_kind kind,
    const struct delivery_reply *reply, uint64_t random,
    struct delivery_time now)
{
	struct channel *c = kind == DELIVERY_UPLOAD ? &d->upload : &d->status;
	struct reply r;

	if (!c->busy)
		return;
	c->busy = false;
	delivery_reply_read(reply->body, &r);
	if (kind == DELIVERY_UPLOAD)
		handle_upload(d, reply, &r, random, now);
	else
		handle_status(d, reply, &r, random, now);
	delivery_reply_free(&r);
}

/* --- Later attempts ----------------------------------------------------- */

static void
forget_failures(struct channel *c)
{
	c->failing = false;
	c->tries = 0;
	c->next = TIME_PAST;
}

void
delivery_resume(struct delivery *d)
{
	if (d->end != DELIVERY_UNDELIVERED)
		return;
	d->end = DELIVERY_RUNNING;
	forget_failures(&d->upload);
	forget_failures(&d->status);
	d->silent = TIME_PAST;
	note_change(d);
}

void
delivery_restart(struct delivery *d, uint64_t first)
{
	CHECK(d->end != DELIVERY_RUNNING);
	if (d->end != DELIVERY_UNDELIVERED) {
		drop_documents(d);
		d->first = first;
	}
	CHECK(first == d->first);
	d->end = DELIVERY_UNDELIVERED;
	delivery_resume(d);
	d->drop_spool = false;
	d->status.ready = false;
	d->reported = false;
	delivery_clear_status(&d->closing);
	d->uploaded = d->rejected_n = 0;
	free_reasons(d);
}

void
delivery_look(const struct delivery *d, struct delivery_view *v)
{
	*v = (struct delivery_view){ .uploaded = d->uploaded,
		.rejected = d->rejected_n, .first = d->first,
		.code = d->closing.code, .end = d->end };
	const struct channel *c = d->upload.tries > 0 ? &d->upload :
	    &d->status;
	if (d->end == DELIVERY_RUNNING && c->ready && c->tries > 0) {
		v->tries = c->tries;
		v->retry = c->next;
	}
	if (v->code == 0)
		return;
	v->message = str_of(d->closing.message);
	v->detail = str_of(d->closing.detail);
}
