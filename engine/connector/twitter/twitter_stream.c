#include "engine/connector/twitter/twitter_stream.h"

#define SILENCE_S 90u
/* A stream that was longer without a line was a quiet one. */
#define QUIET_S 120
#define FAILURES_MAX 5u
#define GAP_S 10

const int twitter_stream_statuses[] = { 400, 401, 403, 404, 406, 413, 416,
	420, 429, 500, 502, 503, 504, 0 };

void
twitter_stream_call(struct twitter_stream *s, struct connector_call *call)
{
	call->expect = CONNECTOR_LINES;
	call->statuses = twitter_stream_statuses;
	call->silence_s = SILENCE_S;
	call->not_before = s->next;
	s->is_out = true;
	s->heard = false;
}

/* A checkpoint with this line cannot tell when the stream will have ended. */
void
twitter_stream_hear(struct twitter_stream *s)
{
	if (s->heard)
		return;
	s->heard = true;
	s->failures = 0;
	s->gap_from = s->ended;
	s->ended.us = 0;
}

bool
twitter_stream_is_refused(const struct connector_answer *answer)
{
	return answer->status >= 400 && answer->status < 420;
}

static void
tell_gap(const struct twitter_stream *s, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct wall from = s->heard ? s->gap_from : s->ended;
	int64_t gap_s = wall_s(answer->began) - wall_s(from);

	if (from.us == 0 || answer->began.us == 0 || gap_s <= GAP_S)
		return;
	buf_printf(&text, "tweets may be missing, as there was no stream for "
	    "%lld s", (long long)gap_s);
	f->note(f->arg, CONNECTOR_WARNING, "stream_gap", buf_str(&text), NULL);
}

/* Seconds for each failure in a row. */
static unsigned
step_of(const struct connector_answer *answer)
{
	return answer->status == 420 ? 60 : answer->status >= 400 ? 5 : 1;
}

bool
twitter_stream_end(struct twitter_stream *s,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	bool fine = s->heard || (answer->began.us != 0 &&
	    wall_s(answer->when) - wall_s(answer->began) > QUIET_S);

	s->is_out = false;
	tell_gap(s, answer, f);
	/* Until a stream has begun, the gap goes on. */
	if (answer->began.us != 0 || s->ended.us == 0)
		s->ended = answer->when;
	s->failures = fine ? 0 : s->failures + !answer->cut;
	s->next.us = answer->when.us + (int64_t)MAX(s->failures, 1) *
	    step_of(answer) * US_PER_S;
	return s->failures < FAILURES_MAX;
}

void
twitter_stream_save(const struct twitter_stream *s, struct buf *out)
{
	buf_put_varint(out, s->failures);
	buf_put_be64(out, (uint64_t)s->ended.us);
	buf_put_be64(out, (uint64_t)s->next.us);
}

bool
twitter_stream_load(struct twitter_stream *s, struct reader *in)
{
	uint64_t failures = read_varint(in);

	*s = (struct twitter_stream){ .failures = (unsigned)failures };
	s->ended.us = (int64_t)read_be64(in);
	s->next.us = (int64_t)read_be64(in);
	return !in->bad && failures <= FAILURES_MAX;
}
