/*
 * event_publisher -- takes what became durable to the main loop: views of
 * crawls that changed, captures, and requests that wait for them.  Private to
 * engine/.
 *
 *     ledger's loop: views, requests, captures ──► a ledger_barrier() ──► home
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
/*
 * enter() of AT_PUBLISHED and of AT_INTRODUCED (os/request.h): the step runs on
 * the main loop with the next batch, behind its views or, since it introduces
 * a crawl, before them.
 */
void event_publisher_enter(struct request *, void *publisher);
void event_publisher_introduce(struct request *, void *publisher);
/* A durable item's capture, on its way to the stream. */
void event_publisher_handoff(struct event_publisher *, struct handoff *);
/*
 * The ledger is closed: what is left goes home at once, behind the batch that
 * is under way; then `gone`, on the ledger's loop.
 */
void event_publisher_rest(
    struct event_publisher *, void (*gone)(void *arg), void *arg);

#endif
