/*
 * event_publisher -- what became durable goes home: crawls that changed, and
 * answers to who launched or steered one.  Private to engine/.
 *
 *     ledger's loop: views, answers, captures ──► one ledger_read() ──► home
 *
 * One batch is under way at a time; what comes meanwhile is gathered, a crawl's
 * views into its last.  So home is told of no number that the index does not
 * hold, a slow home costs no memory, and the last view always arrives.
 *
 * Thread: the ledger's loop, or any before it runs and after it has stopped.
 */
#ifndef ENGINE_STREAM_EVENT_PUBLISHER_H
#define ENGINE_STREAM_EVENT_PUBLISHER_H

#include "engine/fetcher/handoff.h"
#include "engine/frontier/frontier.h"

/* Lies in what it answers; at home told() gives it back. */
struct tell_answer {
	struct promise promise;
	struct list node;
	struct tell *tell;
	enum err err;                /* of the promise */
	bool before_views;           /* it introduces a crawl */
	void (*told)(struct tell_answer *);
};

struct tell_options {
	struct loop *loop, *home;
	struct ledger *ledger;
	int64_t every_ms;            /* views of one state; 0: at once */
	/* At home. */
	void (*fresh)(void *arg, struct list *);   /* first; it empties it */
	void (*view)(void *arg, const struct crawl_view *);
	void (*end)(void *arg);      /* of a batch with views */
	void *arg;
};
struct tell;
struct tell *tell_new(const struct tell_options *);
void tell_free(struct tell **);      /* after the ledger */
void tell_view(struct tell *, const struct crawl_view *);
/* A promise to be put into the ledger, for its answer. */
struct promise *tell_promise(struct tell *, struct tell_answer *);
/* A durable item's capture, on its way to the feed. */
void tell_fresh(struct tell *, struct fresh *);
/* Nothing is to become durable for it: it leaves with the next batch. */
void tell_now(struct tell *, struct tell_answer *);
/*
 * The ledger is closed: what is left goes home at once, behind the batch that
 * is under way; then `gone`, on the ledger's loop.
 */
void tell_rest(struct tell *, void (*gone)(void *arg), void *arg);

#endif
