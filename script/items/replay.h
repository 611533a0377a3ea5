/*
 * replay -- recorded runs of a task, run again in this daemon
 * (contracts/scripting.md §7): compared with what they did, and, if that is
 * asked for, stored in its place.
 *
 *     records from the store ─► replay_run, a few at a time ─► compared
 *                                       ▲                        │ apply
 *                                       └── conflict ── stored ◄─┘
 *
 * Nothing is fetched.  A replay is a page of the runs that it is about: the
 * caller asks for the next one until there is none.
 *
 * Thread: home's.
 */
#ifndef SCRIPT_ITEMS_REPLAY_H
#define SCRIPT_ITEMS_REPLAY_H

#include "script/items/task_runner.h"

#define REPLAY_PAGE_MAX 1000u
#define REPLAY_PAGE_DEFAULT 500u

enum replay_mode {
	REPLAY_COMPARE,              /* today's code */
	REPLAY_VERIFY,               /* the recorded code */
	REPLAY_APPLY                 /* today's code, and it is stored */
};

/* What became of a run, and whether that is a failure of the replay. */
#define REPLAY_STATUSES(X)                                                   \
	X(SAME,      "same",      false, "it did the same, to the byte")      \
	X(DIFFERENT, "different", false, "it did something else")             \
	X(APPLIED,   "applied",   false, "what it did now was stored")        \
	X(FAILED,    "failed",    true,  "it fails now, or fails otherwise")  \
	X(MISSED,    "missed",    true,  "it asked for what is not recorded") \
	X(CHANGED,   "changed",   true,  "not stored: there was another run") \
	X(SKIPPED,   "skipped",   false, "it cannot be run again")
enum replay_status {
#define REPLAY_STATUS_ENUM(id, text, fails, help) REPLAY_##id,
	REPLAY_STATUSES(REPLAY_STATUS_ENUM)
#undef REPLAY_STATUS_ENUM
	REPLAY_STATUS_COUNT
};

struct replay {
	/* In; texts: the owner's until done(). */
	struct str task;             /* or */
	struct str run;              /* "R17"; p NULL: the task's last runs */
	struct str item, tag;        /* p NULL: any */
	struct wall since;           /* that began then or later; NONE: any */
	int64_t after, upto;         /* `next` of the page before, "17-2000" */
	unsigned max;                /* 0: REPLAY_PAGE_DEFAULT */
	enum replay_mode mode;
	bool loose;
	void (*done)(struct replay *);
	void *arg;
	/*
	 * Out; the owner's to free: {"counts":{"same":3,...},"runs":[...],
	 * "next":null}, where "runs" has those that are not the same: {"run",
	 * "task","item","status","diff","error","reason"}.
	 */
	struct buf json;
	struct why why;              /* ABSENT naming `task`, `run`, `tag` or
	                              * `id`; STATE; CLOSED */
	/* The runner's. */
	struct list node;
	struct task_runner *runner;
	struct runner_config *config;
	struct items_read read;
	struct replay_part *parts;   /* a run each */
	struct replay_bundle *bundles;       /* VERIFY */
	size_t parts_n, next, under_way, bundles_n;
	size_t counts[REPLAY_STATUS_COUNT];
	struct buf lines;
	int64_t last;
	bool cut, has_records;       /* `parts`, of the reader's thread */
};
/* done() follows, never before this returns. */
void replay_start(struct task_runner *, struct replay *);
/* The daemon ends: the runs under way are given up; done() follows. */
void replay_cut(struct replay *);

#endif
