/*
 * host_own -- what the sources of the daemon's side share.
 */
#ifndef SCRIPT_HOST_OWN_H
#define SCRIPT_HOST_OWN_H

#include "base/map.h"
#include "os/spawner.h"
#include "script/frame.h"
#include "script/host.h"

/*
 *     STARTING ─► IDLE ◄─► RUNNING ─► STOPPING ─► IDLE    any ─► ENDING
 *
 * STARTING lasts until the kernel's number of the process and its READY are
 * both here; STOPPING, after its run was cancelled, until it has noticed;
 * ENDING until the spawner says that it is gone.
 */
enum process_state { PROCESS_STARTING, PROCESS_IDLE, PROCESS_RUNNING,
	PROCESS_STOPPING, PROCESS_ENDING };

struct script_process {
	struct script_host *host;
	uint32_t id;
	int64_t pid;                 /* 0: not told yet */
	enum process_state state;
	bool is_ready;
	bool is_last;                /* it exits after this run */
	struct script_bundle *bundle;
	struct script_run *run;      /* the one it was started for, too */
	size_t runs;
	struct watch watch;
	struct frame_reader in;
	struct list out;             /* struct out_message */
	size_t out_at;               /* written of the first */
	struct timer timer;
	struct list gone;            /* of the host's, until it is freed */
	const char *killed_code;     /* why we killed it, for its run */
	char killed_text[160];
};

struct out_message {
	struct list node;
	struct buf bytes;
};

struct script_host {
	struct loop *loop;
	struct script_host_options options;
	struct spawner *spawner;
	struct map processes;        /* by id */
	uint32_t last_id;
	struct list waiting;         /* runs */
	struct list gone;            /* processes that are no more */
	size_t waiting_n, running_n;
	struct timer restart;        /* of a spawner that has gone */
	bool is_closing;
	struct script_host_stats stats;
};

struct script_call {
	struct list node;
	struct script_run *run;
	uint32_t id;
	enum script_call_kind kind;
	yyjson_doc *doc;
	yyjson_val *args;
	struct buf body;
	struct timer timer;          /* of a sleep */
	bool waits_turn;
	void *arg;
};

/* Limits that the process keeps too; beyond these it has been taken over. */
#define HOST_CALLS_MAX 64u
/* Processes that may end before a run has begun, until it fails. */
#define HOST_LOST_STARTS_MAX 3u

/* ---- host.c ------------------------------------------------------------- */

/* Count a run's end, by its code; "" is success. */
void host_count(struct script_host *, struct str code, int64_t cpu_ns,
    int64_t wall_ns);
/* Give waiting runs their processes. */
void host_schedule(struct script_host *);
/* It is the next one again. */
void host_put_back(struct script_host *, struct script_run *);

/* ---- host_process.c ----------------------------------------------------- */

/* Start a process for this run.  Errors: as spawner_fork(). */
MUST_USE enum err process_start(struct script_host *, struct script_run *,
    struct why *);
/* Begin the run in a process that is idle, or has just become ready. */
void process_begin(struct script_process *, struct script_run *);
void process_queue(struct script_process *, enum frame_kind, struct str json,
    struct str body);
/* Kill it; its run, if it has one, fails for this reason. */
void process_kill(struct script_process *, const char *code, const char *fmt,
    ...) PRINTF_LIKE(3, 4);
void process_on_started(struct script_process *, int64_t pid);
void process_on_ended(struct script_process *, int status);
void process_free(struct script_process *);
/* The same once this turn has ended: an event of it may be under way. */
void process_free_later(struct script_process *);
/* Its run was cancelled: end it, and be free for another one. */
void process_stop_run(struct script_process *);
/* The run has been finished: the process is free, or used up. */
void process_release(struct script_process *);
int64_t process_cpu_ns(const struct script_process *);
/* Look at the run's limits at the right time. */
void process_watch_run(struct script_process *);

/* ---- host_run.c --------------------------------------------------------- */

/* A message of the run's process.  False: it broke the rules. */
bool run_take_message(struct script_run *, const struct message *,
    struct why *);
/* Its process is gone, or could not be had. */
void run_fail(struct script_run *, const char *code, const char *text);
void run_cancel_calls(struct script_run *);
/* The time that counts: without turns, until now. */
int64_t run_wall_ns(const struct script_run *);
int64_t run_turn_ns(const struct script_run *);

#endif
