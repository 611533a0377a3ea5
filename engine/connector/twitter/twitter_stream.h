/*
 * twitter_stream -- what the streams of both APIs have in common: when the next
 * one begins, and when a harvest has failed.
 *
 *     stream ─► end ─► pause ─► stream ...     five failures in a row: failed
 *
 * What is missed between two streams cannot be asked for; a gap of more than
 * ten seconds is told when the stream after it has ended.
 *
 * Thread: one at a time.
 * Source: contracts/platforms.md §3.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER_STREAM_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER_STREAM_H

#include "engine/connector/connector.h"

struct twitter_stream {
	bool is_out;
	bool heard;                  /* a line of this stream */
	struct wall gap_from;        /* the end before it */

	/* Part of the checkpoint. */
	unsigned failures;           /* in a row */
	struct wall ended;           /* when the last stream has; us 0: that is
	                              * not known */
	struct wall next;            /* when another one may begin */
};

/* Statuses that are answers; those that are not the credential's or the
 * request's fault are failures of the stream. */
extern const int twitter_stream_statuses[];

/* Fill in what each such call has. */
void twitter_stream_call(struct twitter_stream *, struct connector_call *);
/* A line has come. */
void twitter_stream_hear(struct twitter_stream *);
/* Whether the request is at fault, so that it is of no use to go on. */
bool twitter_stream_is_refused(const struct connector_answer *);
/* A stream has ended, or has not begun.  False: for the fifth time. */
MUST_USE bool twitter_stream_end(struct twitter_stream *,
    const struct connector_answer *, const struct connector_findings *);

void twitter_stream_save(const struct twitter_stream *, struct buf *);
/* False: it is none that was saved. */
bool twitter_stream_load(struct twitter_stream *, struct reader *);

#endif
