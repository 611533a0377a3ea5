/*
 * delivery -- when a task's documents and statuses go to its back end, and what
 * follows from each reply.
 *
 * It decides and does nothing itself: its user owns the spool, the clocks, the
 * connections and the store, asks delivery_next() for the next step, takes it,
 * and tells the outcome.
 *
 *     documents ─► window ─► batch: upload ─► answered ─► next
 *                              │    ▲   │
 *                              │    └───┴── retried, split into halves
 *     progress, silence, closing code ─► status ─► accepted
 *
 *     running ─► done | gone | undelivered | stopped
 *
 * Documents have consecutive numbers within a task, from 0.  A batch is a range
 * of them, and is answered from its front; what is answered leaves the spool.
 * Each call's key and range are saved before the call is made, so that the same
 * bytes go out under the same key after a restart.  A heartbeat, a status that
 * says nothing new, takes its key from a range that an earlier commit has
 * reserved, and is not repeated after a restart: so it needs no commit.
 *
 * Thread: one at a time; pure.  Time and random numbers are arguments.
 * Source: contracts/external.md §3, §4, §5.
 */
#ifndef ENGINE_EXTERNAL_DELIVERY_H
#define ENGINE_EXTERNAL_DELIVERY_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/time.h"

/* Defaults of the settings below. */
#define DELIVERY_BATCH_BYTES ((size_t)1 << 20)
#define DELIVERY_BATCH_DOCUMENTS 500u
#define DELIVERY_SILENCE_S 300
#define DELIVERY_RETRY_S_MAX 86400
#define DELIVERY_REJECTED_MAX 100u

/* A batch closes this long after its first document came. */
#define DELIVERY_BATCH_MS 1000
/* A larger body of an upload is compressed. */
#define DELIVERY_GZIP_ABOVE 4096u
/* Waits before a retry: the first, which doubles, the longest, and the one
 * after a reply that only a person can change. */
#define DELIVERY_RETRY_MS 1000
#define DELIVERY_RETRY_MS_MAX 300000
#define DELIVERY_DENIED_MS 300000
/* Server errors in a row that halve the size of batches. */
#define DELIVERY_SERVER_ERRORS 3u
/* Keys of statuses that a commit reserves for later heartbeats. */
#define DELIVERY_STATUS_KEYS 64u
/* From the beginning of a status to that of the next. */
#define DELIVERY_STATUS_MS 1000
/* Bytes of a reply that are read; a longer body counts as no JSON. */
#define DELIVERY_REPLY_BYTES_MAX ((size_t)1 << 20)
/* Longer texts are cut. */
#define DELIVERY_MESSAGE_BYTES_MAX 1000u
#define DELIVERY_DETAIL_BYTES_MAX 4096u
#define DELIVERY_REASON_BYTES_MAX 300u
/* Reasons in the detail of a task that failed by its rejected documents. */
#define DELIVERY_REASONS_MAX 10u
/* A saved state; a longer one is refused. */
#define DELIVERY_STATE_BYTES_MAX ((size_t)256 << 10)

enum delivery_level { DELIVERY_INFO, DELIVERY_WARNING, DELIVERY_ERROR };
/* Something for the task's log.  `name` is a word for programs. */
typedef void delivery_event_fn(void *arg, enum delivery_level,
    const char *name, struct str text);

/* Texts are copied; 0 stands for a default, but for rejected_max. */
struct delivery_settings {
	struct str fid;              /* the task's */
	struct str backend;          /* its name, for events */
	size_t batch_bytes;          /* line ends included */
	uint32_t batch_documents;
	int64_t silence_s;
	int64_t retry_s_max;
	uint32_t rejected_max;
	delivery_event_fn *event;    /* NULL: none is told */
	void *arg;
};

/* The same moment on both clocks. */
struct delivery_time {
	struct mono mono;
	struct wall wall;
};

struct delivery;
/* A task without documents or calls so far. */
struct delivery *delivery_new(const struct delivery_settings *);
void delivery_free(struct delivery **);

/* --- Input: documents and the connector's progress ---------------------- */

/* Number of the next document to put. */
uint64_t delivery_wanted(const struct delivery *);
/* How many documents it takes now: there is no use in more. */
size_t delivery_room(const struct delivery *);
/*
 * Document `number`, which is delivery_wanted(), is in the spool since `came`
 * and has `bytes` without its line end.  Ignored once the spool is dropped or
 * the delivery has ended.
 */
void delivery_put(struct delivery *, uint64_t number, size_t bytes,
    struct mono came);
/* A document was rejected before the spool, for this reason. */
void delivery_count_rejected(struct delivery *, struct str reason);
/* Progress for people: goes out with the next status, unless newer progress
 * replaces it. */
void delivery_report(struct delivery *, struct str message);
/*
 * The connector has ended.  Once all documents below number `end` have been
 * answered, this status is sent.  `code` is 200 or more; an empty detail is
 * sent as null.  Only the first call counts, saved ones included.
 */
void delivery_close(struct delivery *, uint64_t end, unsigned code,
    struct str message, struct str detail);
/* The back end has closed the task: nothing more is sent. */
void delivery_stop(struct delivery *);

/* --- Output: what to do ------------------------------------------------- */

enum delivery_kind {
	/*
	 * Commit delivery_save() together with the spool's changes, then call
	 * delivery_saved(): documents below `first` go from the spool, and
	 * those in `rejected` are kept as rejected; `drop_spool`: all go.
	 */
	DELIVERY_SAVE,
	/* POST documents `from` to `to` (exclusive) to ENDPOINT/upload. */
	DELIVERY_UPLOAD,
	/* POST `body` to ENDPOINT/status. */
	DELIVERY_STATUS,
	/* Nothing before `wake`, a reply, or other input. */
	DELIVERY_WAIT,
	/* Nothing more at all.  Calls under way are to be cancelled; their
	 * replies, if told, are ignored. */
	DELIVERY_ENDED,
};

enum delivery_end {
	DELIVERY_RUNNING,
	DELIVERY_DONE,               /* the closing status was answered */
	DELIVERY_GONE,               /* the back end does not know the task */
	DELIVERY_UNDELIVERED,        /* after retry_s_max; the spool is kept */
	DELIVERY_STOPPED,
};

struct delivery_rejected {
	uint64_t number;
	struct str reason;           /* UTF-8 */
};

/* A step and its values, valid until the next call of any function here. */
struct delivery_step {
	enum delivery_kind kind;
	struct str key;              /* the Idempotency-Key of a call */
	/* UPLOAD: lines of documents with LF between them. */
	uint64_t from, to;
	size_t body_bytes;
	bool gzip;
	struct str body;             /* STATUS: JSON */
	struct mono wake;            /* WAIT; may be MONO_NEVER */
	/* SAVE */
	uint64_t first;
	bool drop_spool;
	const struct delivery_rejected *rejected;
	size_t rejected_n;
	enum delivery_end end;       /* ENDED */
};

/*
 * The next step.  Call it after each input and reply, until it says WAIT or
 * ENDED.  An upload and a status may be under way at the same time, and no two
 * of a kind.
 */
void delivery_next(struct delivery *, struct delivery_time now,
    struct delivery_step *);

/* An answer, or the lack of one. */
struct delivery_reply {
	unsigned status;             /* 0: the transfer failed or was lost */
	struct str retry_after;      /* the field's value; may be empty */
	/* As much as was read, decoded.  More than DELIVERY_REPLY_BYTES_MAX
	 * counts as no JSON. */
	struct str body;
};

/*
 * The call of this kind, UPLOAD or STATUS, is over.  `random` has 64 random
 * bits.  Ignored when no such call is under way.
 */
void delivery_reply(struct delivery *, enum delivery_kind,
    const struct delivery_reply *, uint64_t random, struct delivery_time now);

/* --- State -------------------------------------------------------------- */

/* Append the state as JSON text. */
void delivery_save(const struct delivery *, struct buf *);
/* The SAVE step was committed, or failed: then it comes again. */
void delivery_saved(struct delivery *, bool committed);
/*
 * Into a new one with the task's settings.  The caller then puts documents from
 * delivery_wanted() on.
 * Errors: CORRUPT, with the member that is wrong; the delivery is then only to
 * be freed.
 */
MUST_USE enum err delivery_load(struct delivery *, struct str text,
    struct why *);

/* Try again what was undelivered. */
void delivery_resume(struct delivery *);
/*
 * A new attempt of a task that has ended: keys go on, counts begin again, and
 * what the spool still has is delivered first.  `first` is the number of the
 * spool's first document or, without any, of its next one.
 */
void delivery_restart(struct delivery *, uint64_t first);

struct delivery_view {
	uint64_t uploaded, rejected; /* in this attempt */
	uint64_t first;              /* the first unanswered document */
	unsigned code;               /* that it closes with; 0: none yet */
	struct str message, detail;  /* of that code; valid until the next call
	                              * of another function */
	enum delivery_end end;
	/* The upload, or the status, that failed in a row so often, and before
	 * when it is not tried again; tries 0: none has failed. */
	unsigned tries;
	struct mono retry;
};
void delivery_look(const struct delivery *, struct delivery_view *);

#endif
