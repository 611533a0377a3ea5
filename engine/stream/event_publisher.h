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
#include "os/request.h"

/* Lies in what it answers; at home told() gives it back. */
struct published_answer {
	struct promise promise;
	struct list node;
	struct event_publisher *publisher;
	enum err err;                /* of the promise */
	bool before_views;           /* it introduces a crawl */
	void (*told)(struct published_answer *);
};

struct event_publisher_options {
	struct loop *loop, *home;
	struct ledger *ledger;
	int64_t every_ms;            /* views of one state; 0: at once */
	/* At home. */
	void (*fresh)(void *arg, struct list *);   /* first; it empties it */
	void (*view)(void *arg, const struct crawl_view *);
	void (*end)(void *arg);      /* of a batch with views */
	void *arg;
};
struct event_publisher;
struct event_publisher *event_publisher_new(
    const struct event_publisher_options *);
void event_publisher_free(struct event_publisher **); /* after the ledger */
void event_publisher_view(struct event_publisher *, const struct crawl_view *);
/* A promise to be put into the ledger, for its answer. */
struct promise *event_publisher_promise(
    struct event_publisher *, struct published_answer *);
/*
 * enter() of AT_PUBLISHED and of AT_INTRODUCED (os/request.h): the step runs on
 * the main loop with the next batch, behind its views or, since it introduces
 * a crawl, before them.
 */
void event_publisher_enter(struct request *, void *publisher);
void event_publisher_introduce(struct request *, void *publisher);
/* A durable item's capture, on its way to the stream. */
void event_publisher_handoff(struct event_publisher *, struct handoff *);
/* Nothing is to become durable for it: it leaves with the next batch. */
void event_publisher_now(struct event_publisher *, struct published_answer *);
/*
 * The ledger is closed: what is left goes home at once, behind the batch that
 * is under way; then `gone`, on the ledger's loop.
 */
void event_publisher_rest(
    struct event_publisher *, void (*gone)(void *arg), void *arg);

#endif
