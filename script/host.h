/*
 * host -- the daemon's side: sandboxed processes, and the runs in them.
 *
 *     start ──► waiting ──► running ──► done ──► finished
 *                   ▲          │ on_call, on_log      │
 *                   │          ▼                      │
 *               a process is free ◄───────────────────┘
 *
 * A run ends in on_done, once, or again after each script_run_recompute(); the
 * owner then calls script_run_finish(), which gives the process to the next
 * run.  A process that breaks a rule of the frames, of its limits or of the
 * kernel fails its run, is killed, and is replaced; no other run notices.
 *
 * Thread: the loop's.  Nothing here blocks it.
 * Limits: struct script_host_options; each run's own (script/limits.h).
 * Story:  script/DESIGN.md
 */
#ifndef SCRIPT_HOST_H
#define SCRIPT_HOST_H

#include <yyjson.h>

#include "os/loop.h"
#include "os/sandbox.h"
#include "script/bundle.h"
#include "script/limits.h"

struct script_host;
struct script_run;
struct script_call;

struct script_host_options {
	size_t processes_max;        /* script.processes_max */
	size_t runs_max;             /* of a process: script.runs_max */
	uint64_t process_bytes_max;  /* script.process_bytes_max */
	bool weak;                   /* script.sandbox */
	/* The word that starts the spawner; NULL: SCRIPT_WORKER_WORD. */
	const char *word;
};
struct script_host_options script_host_options_of(const struct conf *);

/*
 * Start the spawner.  Call it before the process has opened or read anything
 * that scripts must not see.
 * Errors: IO when no process can be started.
 */
MUST_USE enum err script_host_open(struct loop *,
    const struct script_host_options *, struct script_host **, struct why *);
/* Ends all processes.  Runs are forgotten without a callback. */
void script_host_close(struct script_host **);

struct script_host_stats {
	size_t processes, running, waiting;
	uint64_t runs, started, ended;
	unsigned layers;             /* of the process that started last */
	bool has_layers;             /* one has started */
};
struct script_host_stats script_host_stats(const struct script_host *);
/* "seccomp, landlock, user ..." of these bits. */
void script_layers_text(unsigned layers, struct buf *);

/* ---- Runs --------------------------------------------------------------- */

struct script_outcome {
	bool is_success, allow_failure;
	bool has_callbacks;          /* script_run_recompute() is possible */
	/* Of a failure: "transient" or "permanent", a word, what and where. */
	struct str class, code, message, stack;
	struct str mutations;        /* a JSON array */
	/* Of a configuration: its JSON, and [["tasks","a","run"],...]. */
	/* For a connector: its function's return value, as JSON. */
	struct str config, functions;
	int64_t cpu_ns, wall_ns, turn_ns;
	int64_t heap_bytes, log_dropped, fetches, body_bytes;
};

struct script_run_events {
	/*
	 * The script asks for something: script_call_answer() or
	 * script_call_fail() is to follow, at once or later.
	 */
	void (*on_call)(struct script_run *, struct script_call *);
	/* The call's run has ended; the call is gone when this returns. */
	void (*on_cancel)(struct script_run *, struct script_call *);
	void (*on_log)(struct script_run *, struct str category,
	    struct str message);
	/*
	 * Of a connector: {"what":"note","level":…,"code":…,"message":…}, or
	 * "progress" with its message.  NULL for other runs.
	 */
	void (*on_note)(struct script_run *, yyjson_val *note);
	/*
	 * A call, sleeps too, has been answered: the order in which these come
	 * is what a replay has to repeat.  May be NULL.
	 */
	void (*on_answer)(struct script_run *, const struct script_call *);
	/*
	 * Once, and once more after each recompute; never when the process ends
	 * in between, of which script_run_recompute() tells.  What the outcome
	 * points to lives until this returns.
	 */
	void (*on_done)(struct script_run *, const struct script_outcome *);
};

struct script_run {
	/* The owner sets these and keeps what they point to; the rest is 0. */
	struct script_bundle *bundle;
	bool is_config;              /* read the configuration, run no task */
	/* Call a function of the module: "call" of the input has its path. */
	bool is_connector;
	bool keep_on_failure;        /* onFailure: "store" */
	bool skip_sleep;             /* simulations: sleeps return at once */
	bool owns_sleep;             /* replays: sleeps come to on_call, too */
	struct str task;
	struct str input;            /* JSON: a lease of /worker/claim */
	struct str secrets;          /* JSON: { name: placeholder }, or empty */
	struct script_limits limits;
	const struct script_run_events *events;
	void *arg;
	/* The host's. */
	struct list node;
	struct script_host *host;
	struct script_process *process;
	struct list calls;
	size_t calls_n, fetches_at_once, turns_waiting, bytes_under_way;
	uint32_t last_call;
	int64_t fetches, log_lines, body_bytes;
	int64_t cpu_start_ns, cpu_ns, turn_ns;
	struct mono began, turn_began, ended;
	bool is_done, is_stopped;
	bool is_ending;              /* script_run_end() was called */
	/* When a connector's minutes began: of its log, of its time. */
	struct mono minute, cpu_minute;
	int64_t cpu_total_ns;        /* of the minutes before this one */
	int recomputed;
	unsigned lost_starts;        /* processes that ended before it began */
};

/* Put a run in line; its process starts it as soon as there is one. */
void script_run_start(struct script_host *, struct script_run *);
/*
 * After on_done with callbacks: the store has changed, here is what it holds
 * now, {"items":{...},"metadata":[...]}.  on_done is called again.
 * Errors: FULL after RECOMPUTE_MAX times; STATE when it has none.
 */
#define SCRIPT_RECOMPUTE_MAX 8
MUST_USE enum err script_run_recompute(struct script_run *, struct str current,
    struct why *);
/* After on_done: the owner needs the run's state no more. */
void script_run_finish(struct script_run *);
/*
 * Ask a connector to end: `stopping` is true, and what it sleeps for is over.
 * on_done follows when it has ended by itself.
 */
void script_run_end(struct script_run *);
/* End it wherever it is; on_cancel is called for its calls, on_done is not. */
void script_run_cancel(struct script_run *);

/* ---- Calls -------------------------------------------------------------- */

/*
 * What scripts may ask for; the host answers sleeps itself.
 *
 *    kind      arguments                     answer
 *    sleep     {"ms":…} or {"until_ms":…}    null
 *    read      {"items":["y"],"metadata":    as /worker/read; an item that is
 *              [{"id":…,"taskName":…}]}      absent is null
 *    blob      {"id":…,"name":…}             null, or {"type":…} and its bytes
 *    put_blob  {} and bytes                  {"sha256":…}
 *    fetch     {"url":…,"method":…,…,        {"status":…,"url":…,"headers":
 *              "hasBody":…} and bytes        [["name","value"],…],"capture":…,
 *                                            "redirected":…,"fromArchive":…},
 *                                            and the decoded body
 *    session   {"name":…}                    {"data":…,"version":…}; or
 *                                            {"login":true,"ancestors":[…]}:
 *                                            this run is to log in
 *    session_expired  {"name":…,"version":…}   the same
 *    session_store    {"name":…,"data":…}      {"data":…,"version":…}
 *    session_fail     {"name":…,"message":…}   null; its login has failed
 *    session_invalidate  {"name":…}            null
 *
 * and, of connectors alone, which have none of read, blob and put_blob:
 *    emit      {"state":{…}} and documents,  null: there is room for more
 *              a JSON array; the state, if
 *              it has changed, is all of it
 *    state     {"state":{…}}                 null
 */
#define SCRIPT_CALL_KINDS(X)                                                 \
	X(READ,               "read")                                         \
	X(BLOB,               "blob")                                         \
	X(PUT_BLOB,           "put_blob")                                     \
	X(SLEEP,              "sleep")                                        \
	X(FETCH,              "fetch")                                        \
	X(SESSION,            "session")                                      \
	X(SESSION_EXPIRED,    "session_expired")                              \
	X(SESSION_STORE,      "session_store")                                \
	X(SESSION_FAIL,       "session_fail")                                 \
	X(SESSION_INVALIDATE, "session_invalidate")                           \
	X(EMIT,               "emit")                                         \
	X(STATE,              "state")

enum script_call_kind {
#define SCRIPT_CALL_ENUM(id, text) SCRIPT_CALL_##id,
	SCRIPT_CALL_KINDS(SCRIPT_CALL_ENUM)
#undef SCRIPT_CALL_ENUM
	SCRIPT_CALL_KIND_COUNT
};

/* From 1, in the order of the run's calls. */
uint32_t script_call_number(const struct script_call *);
struct script_run *script_call_run(const struct script_call *);
enum script_call_kind script_call_kind(const struct script_call *);
/* A JSON object, and bytes where the kind has some; they live with the call. */
yyjson_val *script_call_args(const struct script_call *);
struct str script_call_body(const struct script_call *);
void *script_call_arg(const struct script_call *);
void script_call_set_arg(struct script_call *, void *);
/*
 * It waits for its host's turn, or no longer: that time does not count as the
 * run's, but is limited by script.turn_ms_max.
 */
void script_call_wait_turn(struct script_call *, bool waits);
/*
 * Answer with a JSON value and bytes; the call is gone.  More bytes than the
 * run's heap may hold end it: limit_memory.
 */
void script_call_answer(struct script_call *, struct str value,
    struct str body);
/*
 * Answer with an error, as {"class":"FetchError","code":"dns","message":"…",
 * "status":429,"retryAfter":30,"response":{…}}, where "response" is the head of
 * an answer as of a fetch, and `body` is its body.  The call is gone.
 */
void script_call_fail(struct script_call *, struct str error,
    struct str body);

#endif
