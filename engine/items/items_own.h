/*
 * items_own -- what the files of items.h share: the writer's thread, the claims
 * that wait on it, its periodic work, and the counts that home keeps.
 *
 *     home                         writer (a loop; home itself without threads)
 *     items_write() ──mail──►      queue
 *                                  turn's end: group_run()
 *                                    writes, waiting claims, new claims
 *     done()        ◄──mail──      committed
 *
 * Thread: a member is home's or the writer's, as its heading says.
 * Private to items*.c.
 */
#ifndef ENGINE_ITEMS_ITEMS_OWN_H
#define ENGINE_ITEMS_ITEMS_OWN_H

#include <stdatomic.h>

#include "base/metric.h"
#include "engine/items/item_query.h"
#include "engine/items/items.h"

#define ITEMS_METRICS(X)                                                     \
	X(WRITES, COUNTER, "argiope_items_writes_total",                     \
	    "Requests that the writer of items has carried out.")            \
	X(READS, COUNTER, "argiope_items_reads_total",                       \
	    "Requests that the reader of items has answered.")               \
	X(GROUPS, COUNTER, "argiope_items_groups_total",                     \
	    "Transactions of items, each of one or many requests.")          \
	X(REPEATED, COUNTER, "argiope_items_groups_repeated_total",          \
	    "Transactions of items that were run again: another daemon won.")\
	X(FAILED, COUNTER, "argiope_items_groups_failed_total",              \
	    "Transactions of items that failed.")                            \
	X(GROUP_SECONDS, SECONDS, "argiope_items_group_seconds",             \
	    "Time of a transaction of items, commit included.")              \
	X(WRITES_WAITING, GAUGE, "argiope_items_writes_waiting",             \
	    "Requests put to the writer of items and not answered.")         \
	X(READS_WAITING, GAUGE, "argiope_items_reads_waiting",               \
	    "Requests put to the reader of items and not answered.")         \
	X(CLAIMS_WAITING, GAUGE, "argiope_items_claims_waiting",             \
	    "Claims put and not answered.")                                  \
	X(CLAIMS_FULL, COUNTER, "argiope_items_claims_full_total",           \
	    "Claims whose answer reached items.claim_bytes_max.")            \
	X(REFUSED, COUNTER, "argiope_items_refused_total",                   \
	    "Requests refused because items.writes_max, reads_max or "       \
	    "claims_max was reached.")
enum { ITEMS_METRICS(METRIC_ENUM) ITEMS_METRICS_COUNT };
extern struct metric items_metrics[ITEMS_METRICS_COUNT];

/* Periodic work of the writer; see items_upkeep.c. */
#define UPKEEP_STEPS_MAX 8u
struct upkeep {
	struct timer timer;
	struct mono due[UPKEEP_STEPS_MAX];
	enum err failed;             /* of the last step; logged once */
	uint64_t generation;         /* that was in force last */
	bool outdated;               /* another daemon has a later one */
	struct generation_sweep sweep;
};

struct items {
	/* Never changed. */
	struct loop *home, *writer;
	struct item_limits limits;
	bool no_threads, shared;             /* shared: other daemons write */

	/* Home's. */
	struct list listeners;
	/* Sent and not yet answered; `writes` includes the claims. */
	size_t writes, reads, claims;
	bool closing, closer_sent, closer_back, closed;
	void (*closed_call)(void *arg);
	void *closed_arg;
	struct loop_call closer, stopper;
	uint64_t cursor;
	struct pool *pool;                   /* the reader's thread */

	/* The reader's. */
	struct item_store *reader;

	/* The writer's. */
	struct item_store *store;
	struct turn_hook hook;
	struct items_write *first, **last;   /* the queue */
	struct list waiting;                 /* struct items_claim */
	struct timer claims_timer;
	bool wake;                           /* try the claims that wait */
	bool stopped;                        /* claims get nothing more */
	bool quiet;                          /* it closes: no periodic work */
	enum err failed;                     /* of the last transaction */
	struct upkeep upkeep;

	/* Both: the newest cursor, on its way home. */
	struct mail news;
	atomic_bool news_posted;
	_Atomic uint64_t news_cursor;
};

/* -- The writer's thread: items_writer.c -- */

/* Carry out all that is queued, and one step of the periodic work. */
void writer_turn(struct turn_hook *);
/* Answer at home.  The request is home's from now on. */
void writer_answer(struct items *, struct items_write *);
/* Whether no statement of the transaction can succeed after this error. */
bool writer_error_is_fatal(enum err);
/* Tell the listeners when events were committed. */
void writer_news(struct items *);

/* -- Claims that wait: items_claims.c; the writer's thread -- */

/* run() of a claim's write. */
enum err claim_run(struct items_write *, struct item_tx *, struct why *);
bool claim_is(const struct items_write *);
/* Committed: wait, or answer. */
void claim_settle(struct items *, struct items_write *);
/* Try those that wait, within a transaction.  Errors: fatal ones. */
MUST_USE enum err claims_retry(struct items *, struct item_tx *, struct why *);
/* The transaction has ended: answer those that got something. */
void claims_retried(struct items *, bool committed);
/* Answer those whose time is over, and set the timer for the others. */
void claims_tick(struct timer *);
void claims_stop(struct items *);

/* -- Periodic work: items_upkeep.c; the writer's thread -- */

void upkeep_start(struct items *);
void upkeep_stop(struct items *);
/* One step, in a transaction of its own, when one is due. */
void upkeep_run(struct items *);
/* A transaction was committed: a new generation wants pairs rewritten. */
void upkeep_look(struct items *);

#endif
