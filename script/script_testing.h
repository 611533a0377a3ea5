/*
 * script_testing -- runs of small scripts through the real spawner and sandbox,
 * one after the other on a loop of the test's own.
 *
 * The test program is its own spawner: its main() is
 *
 *     int main(int argc, char **argv)
 *     {
 *             script_testing_begin(argc, argv);
 *             return cmocka_run_group_tests(...);
 *     }
 */
#ifndef SCRIPT_SCRIPT_TESTING_H
#define SCRIPT_SCRIPT_TESTING_H

#include "script/host.h"

/* Becomes the spawner when started as one, and does not come back then. */
void script_testing_begin(int argc, char **argv);

struct bench_world {
	struct loop *loop;
	struct script_host *host;
	struct script_limits limits;
};
/* With the settings' defaults; `change` may change them first, or is NULL. */
struct bench_world *script_testing_open(
    void (*change)(struct script_host_options *));
void script_testing_close(struct bench_world **);

/* A run and what came of it. */
struct tried {
	struct bench_world *world;
	struct script_run run;
	/* Answers a call, in place of the simple store; or NULL. */
	void (*on_call)(struct tried *, struct script_call *);
	const char *items;           /* {"x":ITEM,...} that reads find */
	const char *metadata;        /* rows, [{"id":…,"taskName":…},...] */
	bool keeps_state;            /* after on_done, for a conflict */
	/* What it ended in. */
	bool is_done;
	unsigned done_n, calls_n, cancelled_n;
	bool is_success, has_callbacks, allow_failure;
	char class[16], code[32];
	struct buf message, stack, mutations, config, functions, log;
	struct buf order;            /* numbers of the calls as answered */
	int64_t cpu_ns, wall_ns, heap_bytes, log_dropped;
	void *arg;
};
/*
 * A task "t" on item "x" whose function has this body, with its context as
 * `c`: async run(c) { BODY }.
 */
void tried_init(struct tried *, struct bench_world *, const char *body);
/* The same with a whole bundle: main.js, and other files in pairs, to NULL. */
void tried_init_module(struct tried *, struct bench_world *,
    const char *main_source, ...) __attribute__((sentinel));
void tried_start(struct tried *);
/* Until on_done. */
void tried_wait(struct tried *);
void tried_run(struct tried *);
void tried_free(struct tried *);

/* Run `body`, and expect success or this code. */
void expect_success(struct bench_world *, const char *body,
    const char *mutations);
/* The same with is(a, b) and throws(f, name, text) to check with. */
void expect_passes(struct bench_world *, const char *body);
void expect_code(struct bench_world *, const char *body, const char *code);

#endif
