/* Reads frames of Jetstream, and how a stream has ended. */
#include "base/hash.h"
#include "base/text.h"
#include "engine/connector/bluesky/bluesky_items.h"
#include "engine/connector/bluesky/bluesky_jetstream.h"
#include "engine/connector/shown.h"
#include "engine/connector/url_text.h"

#define POST "app.bsky.feed.post"
#define URL_BYTES_MAX 8192u
#define MISSING "posts are missing: the server no longer has what came after " \
	"the last stream"

/* ---- What is told ------------------------------------------------------ */

static void
note_gap(const struct connector_findings *f, const char *text)
{
	f->note(f->arg, CONNECTOR_WARNING, "stream_gap", str_of(text), NULL);
}

static void
note_broken(struct jetstream *j, const struct connector_findings *f)
{
	if (j->broken_told)
		return;
	j->broken_told = true;
	f->note(f->arg, CONNECTOR_WARNING, "unknown_error", STR("a message of "
	    "the stream makes no sense, and is not counted; others are not "
	    "told"), NULL);
}

static void
fail_run(struct jetstream *j, const struct connector_findings *f,
    const char *code, const struct buf *text)
{
	j->ended = true;
	f->fail(f->arg, code, buf_str(text));
}

/* ---- Places ------------------------------------------------------------ */

/* The server's clock. */
static uint64_t
frame_us(yyjson_val *frame)
{
	yyjson_val *us = yyjson_obj_get(frame, "time_us");
	yyjson_val *text = yyjson_obj_get(frame, "witnessedAt");
	struct wall when;

	if (yyjson_is_uint(us) && yyjson_get_uint(us) <= JETSTREAM_US_MAX)
		return yyjson_get_uint(us);
	if (text == NULL)
		text = yyjson_obj_get(frame, "time");
	return wall_from_iso(json_text(text), &when) && when.us > 0 ?
	    (uint64_t)when.us : 0;
}

/* Servers of the first protocol may begin a stream long before its cursor, at
 * the beginning of a file; that is left out until the cursor is reached. */
static bool
is_before_cursor(struct jetstream *j, uint64_t us)
{
	if (us < j->asked) {
		j->behind_us = us;
		return true;
	}
	j->asked = 0;
	return false;
}

/* A server of the second protocol whose numbers have begun anew begins with
 * what comes next, and does not say so. */
static void
check_numbers(struct jetstream *j, uint64_t seq,
    const struct connector_findings *f)
{
	if (j->asked < JETSTREAM_US_MIN && seq < j->asked) {
		j->seq = 0;
		note_gap(f, "posts may be missing: the server's numbers are "
		    "below those of the last stream");
	}
	j->asked = 0;
}

/* Whether the frame is new; the run is moved behind it. */
static bool
move_on(struct jetstream *j, yyjson_val *frame, uint64_t us,
    const struct connector_findings *f)
{
	uint64_t seq = yyjson_get_uint(yyjson_obj_get(frame, "seq"));

	if (j->is_v2) {
		check_numbers(j, seq, f);
		if (seq <= j->seq)
			return false;
		j->seq = seq;
	} else if (is_before_cursor(j, us)) {
		return false;
	}
	j->us = MAX(j->us, us);
	return true;
}

/* ---- Frames ------------------------------------------------------------ */

static void
find_urls(yyjson_val *record, const struct connector_findings *f)
{
	yyjson_val *embed = yyjson_obj_get(record, "embed");
	yyjson_val *media = yyjson_obj_get(embed, "media");
	struct str url = json_text(yyjson_obj_get(yyjson_obj_get(
	    yyjson_is_obj(media) ? media : embed, "external"), "uri"));

	if (url.n <= URL_BYTES_MAX && url_text_is_web(url))
		f->url(f->arg, url);
}

static uint64_t
hash_commit(struct str did, struct str collection, struct str key,
    struct str rev)
{
	return hash_bytes(rev, hash_bytes(key, hash_bytes(collection,
	    hash_bytes(did, 0))));
}

static void
read_commit(struct jetstream *j, yyjson_val *frame,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf uri = BUF_INIT;
	yyjson_val *commit = bluesky_commit(frame);
	struct str did = json_text(yyjson_obj_get(frame, "did"));
	struct str collection = json_text(yyjson_obj_get(commit,
	    "collection"));
	struct str key = json_text(yyjson_obj_get(commit, "rkey"));
	struct str rev = json_text(yyjson_obj_get(commit, "rev"));

	if (did.n == 0 || collection.n == 0 || key.n == 0 ||
	    text_has_control(did) || text_has_control(key)) {
		note_broken(j, f);
		return;
	}
	/* It comes again where a stream begins a little earlier, where a server
	 * repeats itself, and where one that was ended reads from its source
	 * again, with new dates and numbers. */
	if (bluesky_known_take(&j->known, hash_commit(did, collection, key,
	    rev)) || !str_eq(collection, STR(POST)))
		return;
	if (str_eq(json_text(yyjson_obj_get(commit, "operation")),
	    STR("delete"))) {
		buf_printf(&uri, "at://%.*s/" POST "/%.*s", STR_FMT(did),
		    STR_FMT(key));
		f->deleted(f->arg, buf_str(&uri));
		return;
	}
	f->count(f->arg, "bluesky posts", 1);
	find_urls(yyjson_obj_get(commit, "record"), f);
}

/* The server cannot begin where it was asked to. */
static void
read_info(yyjson_val *frame, const struct connector_findings *f)
{
	if (str_eq(json_text(yyjson_obj_get(frame, "name")),
	    STR("OutdatedCursor")))
		note_gap(f, MISSING);
}

static void
read_frame(struct jetstream *j, yyjson_val *message,
    const struct connector_findings *f)
{
	yyjson_val *frame = bluesky_frame(message);
	uint64_t us = frame_us(frame);

	if (bluesky_is_kind(frame, STR("info"))) {
		read_info(frame, f);
		return;
	}
	if (us == 0 || (j->is_v2 &&
	    !yyjson_is_uint(yyjson_obj_get(frame, "seq")))) {
		note_broken(j, f);
		return;
	}
	if (!move_on(j, frame, us, f))
		return;
	if (bluesky_is_kind(frame, STR("commit")))
		read_commit(j, frame, f);
	if (j->us / US_PER_S > j->state_s) {
		j->state_s = j->us / US_PER_S;
		jetstream_set_state(j, f);
	}
}

void
jetstream_line(struct connector_run *run, const struct connector_call *call,
    struct str text, const struct connector_findings *f)
{
	struct jetstream *j = (struct jetstream *)run;
	yyjson_doc *doc = yyjson_read(text.p, text.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_val *message = yyjson_doc_get_root(doc);

	(void)call;
	/* An error comes last, and the next stream goes on behind it. */
	if (!j->ended && !str_eq(json_text(yyjson_obj_get(message, "$type")),
	    STR("error"))) {
		j->heard = true;
		read_frame(j, message, f);
	}
	yyjson_doc_free(doc);
}

/* ---- The end of a stream ----------------------------------------------- */

/* 400 to 404: there was none. */
static void
answer_refusal(struct jetstream *j, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str error = json_text(yyjson_obj_get(answer->json, "error"));
	struct str message = json_text(yyjson_obj_get(answer->json,
	    "message"));

	if (str_eq(error, STR("CursorTooOld")) && j->seq > 0) {
		/* By a date it begins with the oldest that it has, and says
		 * so; without one, with what comes next. */
		j->seq = 0;
		if (j->us == 0)
			note_gap(f, MISSING);
		return;
	}
	shown_put(&text, j->endpoint);
	buf_printf(&text, " refuses the stream: %d", answer->status);
	if (message.n + error.n > 0)
		buf_put_text(&text, ", ");
	shown_put(&text, message.n > 0 ? message : error);
	fail_run(j, f, answer->status == 401 || answer->status == 403 ?
	    "harvest_Unauthorized" : "unknown_error", &text);
}

/* Servers of the first protocol do not say that a cursor is too old for them;
 * by the time at which the stream began, it was. */
static void
check_lookback(const struct jetstream *j,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	int64_t asked_us = (int64_t)j->repeats_until_us;

	if (!j->is_v2 && asked_us > 0 && answer->began.us > asked_us +
	    JETSTREAM_LOOKBACK_US)
		note_gap(f, "posts are missing: the last stream ended more "
		    "than 36 hours before this one, and the server remembers "
		    "no more");
}

/* A stream of which all came before its cursor: the server's clock was set
 * back. */
static void
check_clock(struct jetstream *j, const struct connector_findings *f)
{
	if (j->is_v2 || j->behind_us == 0 || j->asked == 0)
		return;
	j->us = j->behind_us;
	j->state_s = 0;
	note_gap(f, "posts may be missing: the server's clock is behind that "
	    "of the last stream");
}

void
jetstream_answer(struct connector_run *run, const struct connector_call *call,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	struct jetstream *j = (struct jetstream *)run;

	(void)call;
	j->is_out = false;
	if (j->ended)
		return;
	j->stopped = answer->when;
	j->pause_s = j->heard ? 1 : MIN(MAX(1, 2 * j->pause_s),
	    JETSTREAM_PAUSE_MAX_S);
	j->heard = false;
	if (answer->status >= 400) {
		answer_refusal(j, answer, f);
		return;
	}
	check_lookback(j, answer, f);
	check_clock(j, f);
	/* A stream without a frame has begun, too: nothing is missed. */
	if (j->us == 0 && j->seq == 0 && answer->began.us > 0)
		j->us = (uint64_t)answer->began.us;
	jetstream_set_state(j, f);
}
