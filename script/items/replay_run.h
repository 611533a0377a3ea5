/*
 * replay_run -- one recorded run, run again: its calls are answered from its
 * record and sleeps return at once.
 *
 *     start ─► call ─► its key is recorded? ─► answered, in the recorded order
 *                │                 │ no
 *                ▼                 ▼
 *            source: head       a read: what the store has now; a GET, loose:
 *            and body           its newest archived answer; else ReplayMiss
 *
 * With the recorded bundle the same answers come in the same order.  Other code
 * may leave recorded calls out: an answer waits for an earlier one only while
 * the call for that may still come.
 *
 * Bodies come from a source, so that a replay works on a daemon's archive as
 * well as on a folder of files (argiope task test).
 *
 * Thread: the host's loop.
 * Source: contracts/scripting.md §7.
 */
#ifndef SCRIPT_ITEMS_REPLAY_RUN_H
#define SCRIPT_ITEMS_REPLAY_RUN_H

#include "os/loop.h"
#include "script/items/replay_record.h"
#include "wire/http.h"

struct replay_run;

/* What a run asks its source for. */
struct replay_need {
	enum replay_need_kind {
		REPLAY_NOTHING,      /* the source is not asked */
		REPLAY_CAPTURE,      /* `crawl`, `number` */
		REPLAY_NEWEST,       /* `url`; loose */
		REPLAY_BLOB,         /* `sha256` */
		REPLAY_STATES,       /* `args`; not found: a ReplayMiss */
	} kind;
	uint32_t crawl;
	uint64_t number;
	struct str url;
	struct str sha256;           /* hexadecimal */
	yyjson_val *args;            /* of a call `read` */
	/* Out: the source's, until release(). */
	bool found;
	int status;                  /* CAPTURE, NEWEST */
	const struct http_field *fields;     /* no secrets */
	size_t fields_n;
	struct str body;             /* decoded; BLOB: the bytes */
	struct str final_url;        /* NEWEST; CAPTURE: not used */
	struct str states;           /* STATES: a JSON object */
	void (*release)(struct replay_need *);   /* or NULL */
	void *own;                   /* the source's */
	/* The run's. */
	struct list node;            /* replay_run.needs */
	struct replay_run *run;
	struct script_call *call;    /* NULL: it is not wanted any more */
	const struct replay_call *from;      /* NULL: it is not recorded */
	bool loading, missed, is_sleep;
	struct buf value;            /* what answers it at once, JSON */
	struct arena arena;
};
struct replay_source {
	/* Find it; replay_need_done() follows, at once or later, always. */
	void (*find)(void *arg, struct replay_need *);
	void *arg;
};
void replay_need_done(struct replay_need *);

/* Bytes that the run put, for an owner that stores what it did. */
struct replay_blob {
	struct list node;            /* replay_run.blobs */
	struct str bytes;
};

struct replay_run {
	/* In; all of it stays valid until the run is freed. */
	const struct replay_record *record;
	struct script_bundle *bundle;        /* the recorded one, or other */
	bool loose, keep_blobs;
	struct script_limits limits;
	const struct replay_source *source;
	struct loop *loop;
	/*
	 * The run's outcome, as of script_run_events.  The owner may call
	 * replay_run_recompute(), and done() comes again; otherwise it calls
	 * replay_run_finish(), here or later.
	 */
	void (*done)(struct replay_run *, const struct script_outcome *);
	void *arg;
	/* Out: valid in done(). */
	bool is_same;                /* mutations to the byte; else the same
	                              * class, code and message */
	bool missed;                 /* it asked for what is not recorded */
	struct buf log;              /* JSON elements */
	struct buf fetches;          /* the same: url, status, crawl, seq */
	struct buf last_read;        /* JSON: what its last read asked for */
	struct replay_writer writer; /* its own calls, for its own record */
	struct list blobs;
	struct script_run run;
	/* Its own. */
	struct list needs;           /* calls under way, in their order */
	uint8_t *taken;              /* by the place in record->calls */
	struct timer idle;
	void (*freed)(struct replay_run *);
	bool strict;                 /* the recorded code */
	bool ended, delivering;
	struct arena arena;
};
void replay_run_start(struct script_host *, struct replay_run *);
/*
 * In done(), when its outcome has callbacks: call them again with what is
 * stored now, {"items":{...},"metadata":[...]}.  Errors: as
 * script_run_recompute().
 */
MUST_USE enum err replay_run_recompute(struct replay_run *,
    struct str current, struct why *);
/* After done(); `freed` comes once the source has given all back, perhaps at
 * once: the memory is the owner's again. */
void replay_run_finish(struct replay_run *,
    void (*freed)(struct replay_run *));
/* End it wherever it is; done() is not called any more. */
void replay_run_cancel(struct replay_run *,
    void (*freed)(struct replay_run *));

/* Append the recorded mutations as the script queued them, without the effects
 * that the store added. */
void replay_put_mutations(const struct replay_record *, struct buf *);
/*
 * Append {"mutations":[...]} of the record and of a run, as RFC 6902: what is
 * different.  "[]": nothing is.
 */
void replay_difference(const struct replay_record *, struct str mutations,
    struct buf *);

#endif
