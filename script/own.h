/*
 * own -- what the sources of a script process share: the process, its run,
 * and the host calls under way.  Nothing outside script/ includes it.
 *
 * A process keeps the bundle; each run has a JavaScript runtime of its own,
 * which is freed at its end.  Whatever the run owns is reachable from
 * struct run.
 */
#ifndef SCRIPT_OWN_H
#define SCRIPT_OWN_H

#include <quickjs.h>
#include <yyjson.h>

#include "base/list.h"
#include "script/frame.h"
#include "script/limits.h"

/* ---- The process -------------------------------------------------------- */

struct module {
	struct str path;             /* of the bundle, "lib/a.js" */
	struct str source;           /* with a NUL behind it */
	uint8_t *code;               /* bytecode; NULL until it was compiled */
	size_t code_n;
};

struct process {
	struct frame_reader in;
	struct buf out;
	struct module *modules;
	size_t n, cap;
	uint8_t *prelude;            /* bytecode */
	size_t prelude_n;
	bool is_large;               /* its last run had much memory */
};

/* Send a message; the process ends when the daemon is gone. */
void process_send(struct process *, enum frame_kind, struct str json,
    struct str body);
/* Wait for the next message, or end as well. */
struct message process_receive(struct process *);
struct module *process_module(struct process *, struct str path);

/* ---- The run ------------------------------------------------------------ */

struct run;

/*
 * A host call: a message to the daemon, whose answer settles a promise.  Those
 * beyond what may be under way at once wait in `waiting`.
 */
struct call {
	struct list node;
	uint32_t id;
	bool is_fetch, is_sent;
	bool in_order;               /* it passes no other such call */
	size_t bytes;                /* of its body */
	bool is_dropped;             /* nobody waits for it any more */
	/* Make the promise's value of the answer; may be NULL: `value`. */
	JSValue (*finish)(struct run *, struct call *, yyjson_val *value,
	    struct str body);
	JSValue resolve, reject;     /* undefined: the run itself waits */
	JSValue extra;               /* the maker's */
	int64_t number;              /* likewise */
	struct buf json, body;       /* until it is sent */
};
#define CALLS_SENT_MAX 64u

enum error_class { ERROR_FETCH, ERROR_NOT_FOUND, ERROR_MUTATION,
	ERROR_REPLAY_MISS, ERROR_TRANSIENT, ERROR_PERMANENT, ERROR_CONFIG,
	ERROR_COUNT };

struct op;
struct connector_state;

struct run {
	struct process *process;
	struct script_limits limits;
	yyjson_doc *doc;             /* of the RUN message */
	yyjson_val *input;           /* the lease */
	struct str task, id;         /* of the pair; in `doc` */
	bool is_config, is_connector;
	bool is_stopping;            /* a connector has been told to end */

	JSRuntime *rt;
	JSContext *ctx;
	JSValue error_protos[ERROR_COUNT];
	JSValue prelude;             /* its functions */
	JSValue date;                /* the language's own constructor */
	size_t heap, heap_peak;      /* bytes of the runtime, now and at most */
	/* Why the run must end, a word of scripting.md; NULL: it need not. */
	const char *breach;
	char breach_text[160];
	bool is_clean;               /* ... while no script was running */
	int64_t cpu_start, wall_start, waited_ns;
	/* For a connector: processor time and log lines per minute. */
	int64_t minute, minute_cpu_start, run_start;

	uint64_t seed[2];
	int64_t now_ms;              /* the run's clock, which stands */

	struct list calls;           /* sent */
	struct list waiting;         /* not yet */
	uint32_t calls_made;
	size_t calls_sent, fetches_sent, bytes_sent;
	int64_t fetches_made;
	JSValue *rejected;           /* promises nobody has handled */
	size_t rejected_n, rejected_cap;

	struct op *ops;
	size_t ops_n, ops_cap;
	size_t ops_bytes;
	size_t blobs_waiting;
	bool allow_failure;
	int64_t log_lines, log_dropped;
	struct states *states;       /* what callbacks are given */
	struct connector_state *connector;
	int recomputed;
};

/* The run of a context. */
struct run *run_of(JSContext *);
/* Note why the run must end; the first cause is kept. */
void run_breach(struct run *, const char *code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Whether it must end: a limit is met, or was before.  A script_web hook. */
bool run_is_over(void *run);
/* After a breach: the exception that no script can catch. */
JSValue run_throw_breach(struct run *);

/* ---- runtime.c ---------------------------------------------------------- */

/* Make the runtime and its globals.  False: the heap is too small for them. */
bool runtime_open(struct run *);
void runtime_close(struct run *);
/* Run all jobs that are due.  False once the run must end. */
bool runtime_drain(struct run *);
/* Processor time of this run so far. */
int64_t run_cpu_ns(const struct run *);
/* A host call was answered: the clock of a connector moves, and its time
 * without a call begins anew. */
void run_note_answer(struct run *);
/* A connector's limits of a minute begin anew when the next one has begun. */
void run_renew_minute(struct run *);
/* Import the bundle's main module: a promise of its namespace. */
JSValue runtime_import(struct run *, const char *path);
/* Compile what has no bytecode yet. */
void runtime_compile_prelude(struct process *);

/* ---- globals.c ---------------------------------------------------------- */

bool globals_install(struct run *);
/* 64 bits of the run's seed. */
uint64_t run_random(struct run *);
/* A line of the log, if there is room for one. */
void run_log(struct run *, struct str category, struct str message);
/* A connector's "note" or "progress", which counts as a line of the log. */
#define RUN_NOTE_CODE_BYTES_MAX 64u
void run_note(struct run *, const char *what, struct str level,
    struct str code, struct str message);

/* ---- fault.c ------------------------------------------------------------ */

/* Throw an error of ours; `code` may be NULL. */
JSValue fault_throw(JSContext *, enum error_class, const char *code,
    const char *fmt, ...) PRINTF_LIKE(4, 5);
JSValue fault_throw_mutation(JSContext *, const char *op, const char *reason);
/* The error of an answer {"class":…,"code":…,"message":…,…}. */
JSValue fault_from_answer(struct run *, yyjson_val *, struct str body);
/* Append {"class":…,"code":…,"message":…,"stack":…} of what was thrown. */
void fault_write(struct run *, struct buf *, JSValueConst thrown);
/* The same of a breach, or of a word of ours. */
void fault_write_code(struct buf *, const char *code, const char *message);

/* ---- call.c ------------------------------------------------------------- */

/*
 * Make a host call of `kind` with these arguments, a JSON object, and bytes.
 * Its promise; JS_EXCEPTION when the heap is full.  `json` is emptied.
 */
struct call *call_new(struct run *, const char *kind, struct buf *json,
    struct str body);
JSValue call_promise(struct run *, struct call *);
void call_send(struct run *, struct call *);
void call_free_all(struct run *);
/*
 * Let go of what scripts wait for: answers settle nothing any more.  The run's
 * own calls stay.
 */
void call_drop_all(struct run *);
/* Settle the call that an ANSWER is for. */
void call_answer(struct run *, const struct message *);

/* ---- connector.c -------------------------------------------------------- */

/* The context of a connector's run(), check() or choices. */
JSValue connector_context(struct run *);
/* Tell the daemon what it has not heard of: state, progress.  Before waiting,
 * and at the end. */
void connector_flush(struct run *);
void connector_free(struct run *);

/* ---- task.c, mutation.c, callback.c ------------------------------------- */

/* fetch, session, sleep, waitUntil and log. */
bool task_install_shared(struct run *, JSValueConst context,
    JSValueConst sessions);
/* The text of `v`, into `out`.  False: an exception, "WHO: WHAT is no
 * string". */
bool task_take_text(JSContext *, const char *who, const char *what,
    JSValueConst v, struct buf *out);
/* The context of a task's run(); `sessions` is the configuration's. */
JSValue task_context(struct run *, JSValueConst sessions);
/* Put the functions that queue operations into `ctx_object`. */
bool mutation_install(struct run *, JSValueConst ctx_object);
void mutation_free(struct run *);
/* Ask the daemon for what the callbacks need; true: wait for the answer. */
bool callback_ask(struct run *);
/* The operations with the callbacks' results; false: an exception. */
bool callback_write(struct run *, struct buf *out);
/* Take in the states of a conflict. */
void callback_take(struct run *, yyjson_val *current);
bool callback_any(const struct run *);
void callback_free(struct run *);

#endif
