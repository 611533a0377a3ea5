/*
 * task_run -- an open task of this daemon: its connector's run, its documents
 * in the spool, and their delivery to the back end.
 *
 *     documents ─► judged ─► spool (one commit with the cursor) ─► delivery
 *                                                                    │
 *     store ◄── state, acknowledged documents ◄── SAVE ◄─────────────┤
 *     back end ◄── upload, status ◄── UPLOAD, STATUS ◄───────────────┘
 *
 * Documents have two numbers: the store's counts all of a task, the delivery's
 * those alone that get into the spool.  `window` has the first for each of
 * the second that the delivery knows.
 *
 * Thread: the main loop's.
 * Source: contracts/external.md §3, §4, §5.
 */
#ifndef DOORS_EXTERNAL_TASK_RUN_H
#define DOORS_EXTERNAL_TASK_RUN_H

#include "doors/external/external_door.h"
#include "doors/external/document_source.h"
#include "engine/external/delivery.h"
#include "engine/external/oauth_flow.h"
#include "engine/store/store_grant.h"
#include "os/secret_memory.h"

/* Before a step that the store could not take is tried again. */
#define TASK_STORE_RETRY_MS 1000
/* How long a task waits for the provider to renew its token. */
#define TASK_TOKEN_WAIT_MS_MAX INT64_C(600000)
/* Log lines that wait for the store; more are left out. */
#define TASK_LINES_MAX 100u

/* A call to the back end. */
struct task_call {
	struct caller_call call;
	struct task_run *task;
	enum delivery_kind kind;
	bool busy;
	struct buf url, key, body;
};

struct task_line {
	char level[8];
	struct wall time;
	struct str text;             /* the task's lines' arena */
};

/* A document in the delivery's window. */
struct task_document {
	uint64_t number;             /* the store's */
	size_t bytes;
};

/* A task whose credential is in the token store; task_grant.c. */
struct task_grant {
	struct str id;               /* store_grant_id(); empty: none */
	struct secret_memory secrets;
	struct str params;           /* whole, for the next run; in `secrets` */
	uint64_t token;              /* hash of the run's access token */
	bool was_given;              /* to the run while calls may have been
	                              * out with the one before */
	/* Values of the oauthParameters, which fill the API's URL. */
	struct str values[OAUTH_PARAMS_MAX];
	bool has_values;
	bool is_asking;              /* the store */
	struct mono waits_from;      /* without a token that is valid, since;
	                              * us 0: it does not wait */
	unsigned refused_looks;      /* after the source refused the token */
	struct buf refusal;          /* what the source said; or empty */
	struct timer timer;
};

struct task_run {
	struct list node;            /* of the door's tasks */
	struct list waits;           /* of those that wait for the spool */
	struct list looks;           /* of those whose connector runs */
	struct mono look_at;
	struct external_door *door;
	struct arena arena;
	uint64_t id, attempt;
	struct str fid, params;      /* params: concealed */
	struct buf endpoint;
	struct backends *backends;
	const struct backend *backend;
	struct held_connector *connector;
	struct delivery *delivery;
	enum store_task_state state;

	struct document_source *run;
	struct document_batch batch;
	bool has_batch;              /* it is being put into the spool */
	size_t batch_at;             /* documents of it that are there */
	struct buf cursor;           /* that was committed last */
	bool has_moved;              /* it is of this attempt */

	struct task_document *window;
	size_t window_n, window_cap;
	uint64_t window_first;       /* the delivery's number of window[0] */
	uint64_t last_number;        /* the store's, of the last one put */
	uint64_t spooled_end;        /* the delivery's, behind the spool */
	uint64_t emitted;            /* the store's, of the last document */
	uint64_t spool_bytes;

	struct task_call upload, status;
	bool emitting, filling, ending;
	struct task_grant grant;
	bool left;                   /* it is not ours any more */
	unsigned jobs;               /* of the store that are under way */
	struct timer wake, retry;
	struct buf progress;         /* that was reported last */
	bool progress_new;           /* and is not in the store */

	struct arena lines_arena;
	struct task_line *lines;
	size_t lines_n, lines_cap;
	bool logging;
};

/* ---- task_run.c --------------------------------------------------------- */

/*
 * A task that was just put, or is tried again: begin its connector's run.
 * `params` are in their normal form; `credential` is task_credential_make()'s,
 * or empty when the row names a grant.  `warning` is logged and sent with the
 * first status; empty: there is none.  Texts are borrowed for the call.  The
 * connector is held.
 */
void task_run_begin(struct external_door *, const struct store_task *row,
    struct backends *, const struct backend *, struct held_connector *,
    struct str params, struct str credential, struct str warning);
/*
 * One of an earlier process, or of a daemon that is gone, and its connector;
 * NULL: it is not configured any more, and the task waits.
 */
void task_run_take_up(struct external_door *, const struct store_task *row,
    struct held_connector *);
/* NULL: this daemon has none. */
struct task_run *task_run_find(const struct external_door *,
    struct str backend, struct str fid);
struct task_run *task_run_of_id(const struct external_door *, uint64_t id);
/* The same task came again with another query of its endpoint. */
void task_run_set_endpoint(struct task_run *, struct str endpoint);
/* The same task came again with another credential: the run uses it from the
 * next call on.  Errors: INPUT: the connector does not accept it. */
MUST_USE enum err task_run_set_credential(struct task_run *,
    struct str credential, struct why *);
/* An operator has cancelled it: the connector stops, its documents are
 * delivered, then 500 is sent. */
void task_run_cancel(struct task_run *);
/* It is closed, or another daemon's: nothing more is done for it.  It frees
 * itself. */
void task_run_leave(struct task_run *);
/* "rate limit until 12:05:00Z" into `out`; nothing: it waits for nothing. */
void task_run_describe_wait(const struct task_run *, struct buf *out);
/* Report what has changed since the last look: documents, what it waits for. */
void task_run_look(struct task_run *);
/* "the back end acme (HTTP 503), asked again at 12:05:00Z" into `out`; nothing:
 * no call has to be repeated. */
void task_run_describe_delivery(const struct task_run *, struct buf *out);
/* The backends file was read again. */
void task_run_use_backends(struct task_run *, struct backends *);

/* -- For the files of a task -- */

/* Take the delivery's steps. */
void task_run_pump(struct task_run *);
void task_run_retry_later(struct task_run *);
PRINTF_LIKE(3, 4) void task_run_log(struct task_run *, const char *level,
    const char *fmt, ...);
/* The connector can go no further; the spool is delivered first. */
void task_run_close(struct task_run *, unsigned code, const char *message,
    struct str detail);

/* The name of the crawls that archive its calls.  Memory: `a`. */
struct str task_run_archive_name(const struct task_run *, struct arena *a);
/* Begin a run of the connector; `resumes`: at this attempt's cursor.  `tokens`
 * are those of the credential; NULL: it is of no grant. */
void task_run_open(struct task_run *, struct str params,
    struct str credential, const struct oauth_tokens *tokens, bool resumes);
/* The connector cannot go on: close the task with 500. */
void task_run_fail(struct task_run *, enum document_fault, struct str text);

/* The checkpoint that marks a cursor as this attempt's.  Memory: `a`. */
struct str task_run_checkpoint(uint64_t attempt, struct arena *a);

/* A job of the store; then() is called at home, unless the task was left. */
struct task_job {
	struct store_job job;
	struct task_run *task;
	struct arena arena;
	struct why why;
	enum err result;
	enum err (*work)(struct task_job *, struct store *, struct why *);
	void (*then)(struct task_job *);
	/* The steps' own. */
	struct store_document *documents;
	size_t n;
	struct store_emit emit;
	size_t bytes, good;
	struct store_ack ack;
	bool acks, drop_spool, has_status;
	struct buf delivery;
	struct store_task_status status;
	uint64_t from, first;
	size_t bytes_max;
	struct store_task_end end;
	bool changed;
	struct store_log_line *lines;
	struct store_grant grant;
};
struct task_job *task_job_new(struct task_run *);
void task_job_put(struct task_job *, enum err (*work)(struct task_job *,
    struct store *, struct why *), void (*then)(struct task_job *));
/*
 * How to go on after a job.  OVER: the task was left, because it is
 * closed or another daemon's; AGAIN: the step is tried again in a while.
 */
enum task_verdict { TASK_GO_ON, TASK_AGAIN, TASK_OVER };
enum task_verdict task_job_judge(struct task_job *);

/* ---- task_grant.c ------------------------------------------------------- */

/* Begin the run as soon as the grant has a valid access token.  `params` are in
 * their normal form and are copied. */
void task_grant_begin(struct task_run *, struct str params);
/* The same task came again with another grant. */
void task_grant_change(struct task_run *, struct str id);
/* The run has ended.  True: perhaps another one goes on with another token. */
bool task_grant_run_ended(struct task_run *, const struct document_end *);
/* The grant is gone: close the task, unless its documents are complete. */
void task_grant_lose(struct task_run *);
/* Nothing more is asked; secrets are zeroed. */
void task_grant_stop(struct task_run *);

/* ---- task_spool.c ------------------------------------------------------- */

/* document_source_options.batch */
void task_spool_take(void *task, const struct document_batch *);
/* Put the rest of the batch, if there is one and there is room. */
void task_spool_go_on(struct task_run *);
/* Tell the delivery of documents that are in the spool, if it has room. */
void task_spool_fill(struct task_run *);
/* The delivery's step SAVE. */
void task_spool_save(struct task_run *, const struct delivery_step *);
/* Tasks that wait for room may have it now. */
void task_spool_wake(struct external_door *);
/* Its documents are not the spool's any more. */
void task_spool_forget(struct task_run *);

/* ---- task_call.c -------------------------------------------------------- */

void task_call_upload(struct task_run *, const struct delivery_step *);
void task_call_status(struct task_run *, const struct delivery_step *);
/* Those that are under way end soon. */
void task_call_cancel(struct task_run *);

#endif
