/*
 * scheduler -- begins what schedules crawl and harvest.  Private to engine/.
 *
 *     due ─► launch under the key "ID/RUN" ─► store: it ran
 *         ─► the crawl ends ─► store: it has ended
 *
 * Each second, and when one is put, the store is asked what is due.  A crash
 * anywhere between these steps is made good by the next look: the key finds the
 * crawl that was begun, and both things may be said to the store twice.
 *
 * One that cannot be started (its policy is gone, the disk is full) is put
 * behind the others, to be tried again each minute; the log says so once for
 * each reason.
 *
 * Thread: home's.
 */
#ifndef ENGINE_SCHEDULE_SCHEDULER_H
#define ENGINE_SCHEDULE_SCHEDULER_H

#include "base/base.h"

struct crawl_registry;
struct engine;
struct scheduled_harvest;
struct loop;
struct request_places;
struct store_async;

struct scheduler_options {
	struct engine *engine;               /* that launches crawls */
	struct loop *home;
	struct crawl_registry *registry;     /* says when they end */
	struct store_async *store;
	const struct request_places *places;
};
struct scheduler;
struct scheduler *scheduler_new(const struct scheduler_options *);
/* engine_use_harvests(). */
void scheduler_use_harvests(struct scheduler *, void (*begin)(void *arg,
    struct scheduled_harvest *), void *arg);
/* When the engine runs. */
void scheduler_start(struct scheduler *);
void scheduler_stop(struct scheduler *);
void scheduler_free(struct scheduler **);
/* Something may be due; nothing, when there is no scheduler. */
void scheduler_check(struct scheduler *);

#endif
