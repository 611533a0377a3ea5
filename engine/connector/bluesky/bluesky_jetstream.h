/*
 * bluesky_jetstream -- a run over a stream of Jetstream, in either protocol.
 *
 *     stream ─► stream ─► stream ...   after 60 s of silence, or when it ends
 *
 * A stream is asked for from a cursor on, a little before what came last.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_BLUESKY_BLUESKY_JETSTREAM_H
#define ENGINE_CONNECTOR_BLUESKY_BLUESKY_JETSTREAM_H

#include "base/arena.h"
#include "engine/connector/bluesky/bluesky_known.h"
#include "engine/connector/connector.h"

#define JETSTREAM_PAUSE_MAX_S 60u
/* What a stream of the first protocol repeats when it is asked for anew. */
#define JETSTREAM_REPEAT_US (5 * US_PER_S)
/* How far back servers of the first protocol remember. */
#define JETSTREAM_LOOKBACK_US (36 * 3600 * US_PER_S)
/* Cursors from here on are microseconds since 1970, below it they are the
 * second protocol's sequence numbers. */
#define JETSTREAM_US_MIN UINT64_C(1000000000000000)
/* The end of the year 9999. */
#define JETSTREAM_US_MAX UINT64_C(253402300799999999)

struct jetstream_protocol {
	const char *name;
	const char *host, *path;
	const char *subprotocol;     /* or NULL */
	const char *collections, *dids;      /* names of parameters */
};

struct jetstream {
	struct connector_run run;
	struct arena arena;
	const struct jetstream_protocol *protocol;
	bool is_v2;
	struct str endpoint;         /* "HOST" or "HOST:PORT" */
	yyjson_val *collections, *dids;      /* lists, or NULL */
	struct buf url, hello;       /* of the call that is out */
	bool is_out;
	bool heard;                  /* a frame of this stream */
	uint64_t repeats_until_us;   /* what had come before it */
	/* Its cursor; 0: none, or a frame of it stood there or behind.  Until
	 * then `behind_us` is the date of its last frame, or 0. */
	uint64_t asked, behind_us;

	/* Part of the checkpoint. */
	bool ended;
	bool broken_told;            /* that a frame made no sense */
	/* What came last: by the server's clock, and the second protocol's
	 * sequence number; 0: nothing. */
	uint64_t us, seq;
	uint64_t state_s;            /* when the state was set last, by us */
	struct wall stopped;         /* when the last stream has ended */
	unsigned pause_s;            /* from then on */
	struct bluesky_known known;
};

/* The cursor of the next stream; 0: from now on. */
uint64_t jetstream_cursor(const struct jetstream *);
/* Set the run's state to the last frame's place. */
void jetstream_set_state(struct jetstream *,
    const struct connector_findings *);
/* A frame, and the end of a stream; see struct connector. */
void jetstream_line(struct connector_run *, const struct connector_call *,
    struct str, const struct connector_findings *);
void jetstream_answer(struct connector_run *, const struct connector_call *,
    const struct connector_answer *, const struct connector_findings *);

#endif
