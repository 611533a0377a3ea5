/*
 * runner_own -- what the files of the task runner share.  Private to
 * script/items.
 */
#ifndef SCRIPT_ITEMS_RUNNER_OWN_H
#define SCRIPT_ITEMS_RUNNER_OWN_H

#include "script/items/replay_record.h"
#include "script/items/session.h"
#include "script/items/task_port.h"
#include "script/items/task_runner.h"

/* A configuration in use; runs keep theirs. */
struct runner_config {
	unsigned users;
	struct script_bundle *bundle;
	struct task_config *config;
	uint64_t generation;
	struct str *tasks;           /* that run here */
	size_t tasks_n;
	struct buf secrets;          /* JSON for the scripts */
	struct arena arena;
};
struct runner_config *runner_config_hold(struct runner_config *);
void runner_config_drop(struct runner_config **);

struct task_runner {
	struct task_runner_options o;
	const struct task_port_table *port;
	struct script_limits limits;         /* of the settings */
	size_t runs_max;
	struct runner_config *config;        /* NULL: none so far */
	struct list runs;
	struct list replays;         /* struct replay */
	size_t runs_n, simulations;
	size_t waiting_n;            /* runs that wait for a far turn */
	struct port_claim claim;
	struct runner_config *claim_config;
	struct session_set *sessions;        /* NULL: the daemon has them */
	struct far_pairs *far;               /* NULL: the same */
	struct lease_users *lease_users;     /* the same */
	bool claiming, stopped;
	struct timer heartbeat, grace;
	struct mono beat_at;         /* when `heartbeat` fires */
	bool beating;
	void (*drained)(void *arg);
	void *drained_arg;
	struct task_runner_counts counts;
};

struct simulation;

/* A pair that is being run, or tried. */
struct task_run {
	struct script_run run;
	struct task_runner *runner;
	struct list node;            /* runner.runs */
	struct runner_config *config;
	const struct task *task;
	struct simulation *simulation;       /* NULL: the run is real */
	struct session_user user;
	struct str lease, item;      /* texts; in `arena` */
	struct str input;            /* JSON of the lease */
	struct wall started_at;
	struct buf log;              /* JSON elements */
	struct buf fetches;          /* JSON elements */
	struct replay_writer writer;         /* full: not recorded */
	struct buf replay;           /* JSON for the record; empty: none */
	struct list calls;           /* of the port, under way */
	struct str session;          /* that it used last; in `arena` */
	uint64_t session_rev;        /* of which login */
	/* The completion. */
	struct buf text;             /* its JSON */
	struct port_completion completion;
	bool completing;             /* `completion` is out */
	bool success;                /* as the script ended */
	struct str message;          /* of its failure; in `arena` */
	bool cut;                    /* given back, or its lease is lost */
	bool put_back;               /* given back: its host's turn is far */
	struct far_turn far;         /* the same, unless the daemon knows */
	bool has_turn;               /* that its pair has waited for */
	unsigned fetches_n;          /* begun */
	bool ended;                  /* script_run_finish() was called */
	struct arena arena;
};

/* task_runner.c */
void task_runner_next(struct task_runner *);         /* claim, if it may */
void task_runner_ended(struct task_run *);           /* frees it */
/* Something has ended: perhaps all is drained. */
void task_runner_settled(struct task_runner *);

/* task_run.c */
/* Run a lease, an element of /worker/claim's leases; NULL: it is none. */
struct task_run *task_run_new(struct task_runner *, struct runner_config *,
    yyjson_val *lease);
/* The settings', and what the task says. */
struct script_limits task_run_limits(const struct task_runner *,
    const struct task *);
/* Its lease is lost, or the daemon ends: stop it; nothing is stored. */
void task_run_cut(struct task_run *);
/*
 * The turn of the first host that it asks is far: cut it, give it back with its
 * tokens, and let claims pass over its pair until a turn of that host.  NULL:
 * the daemon has noted that turn.
 */
void task_run_put_back(struct task_run *, const struct far_turn *);
/* Append the member "source": the lines round the place of that stack. */
void task_run_put_source(struct task_run *, struct str stack, struct buf *);
/* An event without a cursor; `more`: members of its JSON. */
void task_run_event(struct task_run *, const char *type, struct str more);

/* simulation.c: its run has ended; NULL: it was cut. */
void simulation_ran(struct simulation *, const struct script_outcome *);

/*
 * The first fetch of a run begins: for how many ms it waits for its host's
 * turn; 0: as long as it takes.  That is for a pair that comes for the turn
 * that it was given: others may have come in between.  With `*waits` it is
 * counted in waiting_n, which the caller undoes when the fetch has ended.
 */
int64_t task_run_first_turn_ms(struct task_run *, bool *waits);

/* run_call.c */
void run_call_begin(struct task_run *, struct script_call *);
void run_call_cancel(struct task_run *, struct script_call *);
struct run_fault {
	const char *class, *code;
	struct str message;
	int status;                  /* 0: none */
	int64_t retry_after_s;       /* -1: none */
	struct str response, body;   /* JSON of the answer, if one came */
};
/* As script_call_fail() takes it. */
void run_fault_put(const struct run_fault *, struct buf *);
/* For the run's record, and a failure's; `number` 0: no capture. */
void run_note_fetch(struct task_run *, struct str url, int status,
    struct str code, uint32_t crawl, uint64_t number);
/* What `session_expired` without a version is about. */
void run_note_session(struct task_run *, struct str name, uint64_t rev);
/* An answer of a site had a secret in it. */
void run_note_secret(struct task_run *);
/* No call is under way any more: items and fetcher have given them back. */
bool run_calls_done(const struct task_run *);
/* Called when the last one was given back after the run has ended. */
void task_run_calls_done(struct task_run *);

#endif
