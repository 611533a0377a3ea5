/*
 * replay_run -- one recorded run, run again: its calls are answered from its
 * record and sleeps return at once.
 *
 *     start ─► call ─► its key is recorded? ─► answered, in the recorded order
 *                │                 │ no
 *                ▼                 ▼
 *            source: head       loose: the URL's newest archived answer,
 *            and body           what the store has now; else ReplayMiss
 *
 * With the recorded bundle the same answers come in the same order.  Other code
 * may leave recorded calls out; then those that it makes are still answered in
 * the recorded order, as far as they are under way at the same time.
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
		REPLAY_CAPTURE,      /* `crawl`, `number` */
		REPLAY_NEWEST,       /* `url`; loose */
		REPLAY_BLOB,         /* `sha256` */
		REPLAY_STATES,       /* `args`; loose */
	} kind;
	uint32_t crawl;
	uint64_t number;
	struct str url;
	struct str sha256;           /* hexadecimal */
	yyjson_val *args;            /* of a call `read` */
	/* Out: the source's until replay_need_done() returns. */
	bool found;
	int status;                  /* CAPTURE, NEWEST */
	const struct http_field *fields;     /* no secrets */
	size_t fields_n;
	struct str body;             /* decoded; BLOB: the bytes */
	struct str final_url;        /* NEWEST; CAPTURE: not used */
	struct str states;           /* STATES: a JSON object */
	/* The source's own. */
	void *own;
	/* The run's. */
	struct replay_run *run;
	struct list node;
	struct script_call *call;    /* NULL: it is not wanted any more */
	const struct replay_call *from;
	struct arena arena;
};
struct replay_source {
	/* Find it; replay_need_done() follows, at once or later, always. */
	void (*find)(void *arg, struct replay_need *);
	void *arg;
};
void replay_need_done(struct replay_need *);

struct replay_run {
	/* In; all of it stays valid until done(). */
	const struct replay_record *record;
	struct script_bundle *bundle;        /* the recorded one, or other */
	bool loose;
	struct script_limits limits;
	const struct replay_source *source;
	/*
	 * The run's outcome.  The owner may call script_run_recompute() on
	 * `run` with what is stored now, of which it tells the run by
	 * replay_run_recomputed(); done() comes again then.  Otherwise it calls
	 * replay_run_finish().
	 */
	void (*done)(struct replay_run *, const struct script_outcome *);
	void *arg;
	/* Out: valid in done(). */
	bool is_same;                /* mutations to the byte, outcome, cause */
	bool missed;                 /* something was asked for that is not
	                              * recorded */
	struct buf log;              /* JSON elements */
	struct buf fetches;          /* the same: url, status, crawl, seq */
	struct replay_writer writer; /* its own record */
	/* Its own. */
	struct script_run run;
	struct loop *loop;
	struct list needs;
	bool *delivered;             /* by the place in record->calls */
	size_t delivered_n;
	struct list ready;           /* calls that wait for earlier ones */
	struct list waiting;
	struct timer later;
	bool ended, finished;
};
void replay_run_start(struct script_host *, struct loop *,
    struct replay_run *);
/* After done(): frees what the run holds.  `freed` is called when the source
 * has given back all that it was asked for. */
void replay_run_finish(struct replay_run *, void (*freed)(struct replay_run *));
/* End it wherever it is; done() is not called. */
void replay_run_cancel(struct replay_run *, void (*freed)(struct replay_run *));
void replay_run_recomputed(struct replay_run *, struct str current);

/*
 * Append {"mutations":[...]} of the record and of a run, as RFC 6902: what is
 * different.  "[]": nothing is.
 */
void replay_difference(const struct replay_record *, struct str mutations,
    struct buf *);

#endif
