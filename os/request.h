/*
 * request -- work of several steps, each at a place of its own: a loop, every
 * fetching loop, the pool, a reader of the index.
 *
 *     #define LAUNCH_STEPS(X)                                                \
 *             X(COMPILE, AT_STORE, compile, "policy, seeds and rules")      \
 *             X(BEGIN, AT_LEDGER, begin_crawl, "a number and a record")      \
 *             X(VISIT, AT_EACH_LOOP, visited, "they see it", .each = visit)
 *     enum { LAUNCH_STEPS(REQUEST_ENUM) };
 *     static const struct request_step steps[] = { LAUNCH_STEPS(REQUEST_ROW) };
 *
 * A story is one such table.  A step returns its successor, REQUEST_WAIT or
 * REQUEST_DONE; it never calls the next step and never runs another request's.
 * The request travels to the successor's place by mail, as a job or as a query,
 * whatever the place needs; that lies in the request, but for the calls of
 * AT_EACH_LOOP, so travelling cannot fail.
 *
 * os/ supplies the places of loops and of the pool.  The owner of any other
 * place (the ledger, the store) supplies its enter() and fills a row of
 * `struct request_places`.
 *
 * Thread: request_start() AT_MAIN's; request_resume() any.
 */
#ifndef OS_REQUEST_H
#define OS_REQUEST_H

#include <stdatomic.h>

#include "base/err.h"
#include "os/pool.h"

struct request;

enum {
	REQUEST_WAIT = -1,           /* request_resume() goes on with it */
	REQUEST_DONE = -2,
};

enum request_at {
	AT_MAIN,                     /* the main loop; done() is called here */
	AT_LEDGER,                   /* the ledger's loop */
	AT_EACH_LOOP,                /* each(); run() on the ledger's loop */
	AT_POOL,
	AT_READ,                     /* the index thread, in groups' order */
	AT_BESIDE,                   /* beside it; AT_MAIN afterwards */
	AT_DURABLE,                  /* the ledger's loop, once committed */
	AT_PUBLISHED,                /* AT_MAIN, behind the events so far */
	AT_INTRODUCED,               /* AT_MAIN, before any of these */
	AT_STORE,                    /* the store's thread */
	REQUEST_PLACES
};

/* run() returns the successor. */
struct request_step {
	const char *name;
	enum request_at at;
	int (*run)(struct request *);
	const char *text;            /* for people */
	/* AT_EACH_LOOP only: on each of the loops, before run(). */
	void (*each)(struct request *, size_t loop);
};
/* run() of a row that only waits for its place: the next row follows, or
 * nothing. */
int request_next(struct request *);
int request_end(struct request *);
#define REQUEST_ENUM(name, ...) name,
#define REQUEST_ROW(step, place, function, words, ...)                       \
	[step] = { .name = #step, .at = place, .run = function,              \
	    .text = words, __VA_ARGS__ },

/* enter() takes the request there and calls request_run(). */
struct request_place {
	void (*enter)(struct request *, void *arg);
	void *arg;
};
struct request_places {
	struct request_place at[REQUEST_PLACES];
	size_t *busy;                /* requests under way; NULL: not counted */
};

/* Embedded in what the steps work on. */
struct request {
	const struct request_places *places;
	const struct request_step *steps;
	enum request_at at;
	int step;
	/* Set by anyone who no longer wants it: no further step runs, and it
	 * ends with CLOSED.  NULL: it cannot be cancelled. */
	const atomic_bool *cancelled;
	struct why why;              /* of the request's owner and of places */
	void (*done)(struct request *);  /* last; the request may be freed */
	/* Carries it to its next place. */
	union {
		struct mail mail;
		struct job job;
		struct loop_barrier barrier;
		max_align_t bytes[4];
	} hop;
};

/*
 * Begin with step `first`.  A step at AT_MAIN, and done(), may run before this
 * returns.  `done` and `cancelled` are the caller's to set before.
 */
void request_start(struct request *, const struct request_places *,
    const struct request_step *, int first);
/*
 * Go on with a request that returned REQUEST_WAIT.  The step runs later, never
 * before this returns on the same loop: whoever resumes a request does not run
 * it.  It may be called before the step that waits has returned.
 */
void request_resume(struct request *, int step);
/*
 * Free what a request holds that is under way when its loops have ended: no
 * step of it runs any more, and done() is not called.
 */
void request_drop(struct request *);

/* --- for the suppliers of places ------------------------------------------ */

/* At the request's place: run its step and those behind it there. */
void request_run(struct request *);
/*
 * The same in two parts, for a place that runs a step on one thread and gives
 * the request back on another: request_step() there returns the successor, and
 * request_leave() goes on from `at` with it.
 */
MUST_USE int request_step(struct request *);
void request_leave(struct request *, enum request_at at, int successor);

/* enter() of a loop (`arg` is it) and of a pool (`arg` is it). */
void request_enter_loop(struct request *, void *arg);
void request_enter_pool(struct request *, void *arg);
/* enter() of AT_EACH_LOOP, with these as `arg`. */
struct request_loops {
	struct loop *home;           /* AT_LEDGER's */
	struct loop *const *loops;
	size_t n;
};
void request_enter_loops(struct request *, void *arg);

#endif
