/*
 * loop -- an event loop: mail, timers, descriptors.  One thread runs it.
 *
 * Everything in Argiope that has state of its own belongs to one loop and is
 * touched by that loop's thread alone.  Others send it mail.  A simulator makes
 * the same loops without threads and steps them under a virtual clock.
 *
 *     turn:  deliver all mail -> fire due timers -> end-of-turn hooks
 *            -> wait for descriptors, mail or the next timer -> descriptors
 *
 * Thread: loop_post(), loop_send() and loop_stop() any; all else the loop's
 * own, or any before the loop runs.
 */
#ifndef OS_LOOP_H
#define OS_LOOP_H

#include "base/heap.h"
#include "base/list.h"
#include "base/time.h"

struct loop;

/*
 * Mail is intrusive: it lies in the object that travels, so that sending takes
 * no memory and cannot fail.  What is sent must be bounded by the sender
 * (credits, slots); the object belongs to the receiver from loop_post() on.
 */
struct mail {
	struct mail *next;
	void (*deliver)(struct mail *);
};

struct timer {
	struct heap_node node;
	void (*fire)(struct timer *);
};

/* Called at the end of each turn in which something happened. */
struct turn_hook {
	struct list node;
	void (*run)(struct turn_hook *);
};

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_ERROR = 4 };
struct watch {
	int fd;
	void (*ready)(struct watch *, unsigned events);
};

/* `name`, a thread's too (15 characters), outlives the loop. */
struct loop *loop_new(const char *name);
void loop_free(struct loop **);

void loop_post(struct loop *, struct mail *);
/* Set what the receiver does with the mail, and post it.  Thread: any. */
static inline void
loop_send(struct loop *l, struct mail *m, void (*deliver)(struct mail *))
{
	m->deliver = deliver;
	loop_post(l, m);
}
/*
 * Have run() called on another loop, then done() on `home`.  The object is the
 * caller's again in done().
 */
struct loop_call {
	struct mail mail;
	struct loop *home;
	void (*run)(struct loop_call *);
	void (*done)(struct loop_call *);
};
void loop_ask(struct loop *, struct loop_call *);
/*
 * Have run() called on each of `n` loops, which may be NULL, then done() on
 * `home`.  Whatever was posted to one of these loops before has been delivered
 * by then.  The barrier is the caller's again in done().
 */
struct loop_barrier {
	struct loop_barrier_call *calls;     /* the barrier's own */
	size_t left;                         /* likewise; home's */
	void (*run)(struct loop_barrier *, size_t loop);
	void (*done)(struct loop_barrier *);
};
void loop_barrier(struct loop_barrier *, struct loop *home,
    struct loop *const *loops, size_t n);
/*
 * Free what the barrier allocated, when loops have ended before they met it and
 * done() will not be called.
 */
void loop_barrier_drop(struct loop_barrier *);
/* Run until loop_stop(); mail that is there by then is delivered first. */
void loop_run(struct loop *);
void loop_stop(struct loop *);
/*
 * Run until `*done`, which a callback of this loop sets, or loop_stop(); it may
 * be run again.  For programs that do one thing after the other.
 */
void loop_run_until(struct loop *, const bool *done);
/* Run on a thread of its own; join waits for it after loop_stop(). */
void loop_start(struct loop *);
void loop_join(struct loop *);
/*
 * Its thread does not take a processor from others as it wakes up (Linux's
 * SCHED_BATCH): for loops that keep one busy.  Before loop_start().
 */
void loop_give_way(struct loop *);
/*
 * Its thread has a stack of so many bytes, of which the system gives what is
 * used: for libraries that recurse over what others send.  Before loop_start().
 */
void loop_set_stack(struct loop *, size_t bytes);
/* One turn without waiting.  True when anything was done. */
bool loop_step(struct loop *);
/* When the first timer is due; MONO_NEVER without one. */
struct mono loop_next_timer(const struct loop *);
/* The time at which this turn began: cheap, good enough for politeness. */
struct mono loop_now(const struct loop *);

/*
 * Set, or move.  A timer fires once; it may set itself again, and then fires in
 * a later turn, however early its time.  Equal times fire in the order of set.
 */
void loop_timer_set(struct loop *, struct timer *, struct mono when);
void loop_timer_stop(struct loop *, struct timer *);
void loop_hook(struct loop *, struct turn_hook *);

/*
 * Watch `w->fd` for `events`; again to change them; 0 to stop.  LOOP_ERROR
 * comes unasked; regular files cannot be watched.  Whoever closes the
 * descriptor sets `w->fd` to -1 and keeps `w` until the turn ends: an event may
 * be under way.
 */
void loop_watch(struct loop *, struct watch *, unsigned events);

/*
 * Deliver SIGINT, SIGTERM and SIGHUP to `got` on this loop instead of ending
 * the process, SIGHUP also where it was ignored (system_ignores_hangup()).
 * Call it once, before any thread starts.
 */
void loop_on_signal(struct loop *, void (*got)(void *arg, int signal),
    void *arg);

#endif
