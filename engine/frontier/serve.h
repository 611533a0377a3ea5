/*
 * serve -- hands URLs of a queue to the loop that asks for them, and tells
 * loops which queues have some.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_SERVE_H
#define ENGINE_FRONTIER_SERVE_H

#include "engine/frontier/submission.h"

/*
 * Ask for URLs of one queue.  The answer comes to `home`; n may be 0: the queue
 * will be noted again when there is something.
 */
struct serve {
	struct ledger_query query;          /* the frontier's */
	struct mail mail;
	struct frontier *frontier;
	struct loop *home;
	void (*served)(struct serve *);
	uint32_t crawl, queue;
	size_t want;
	bool note_seen;                     /* a note came since the last one */
	struct arena arena;
	struct lease *leases;
	size_t n;
	struct buf from;                    /* the frontier's cursor, private */
	size_t scan;
	struct eviction_wait gate;
	struct why result;
	/* The asker's own. */
	void *owner;
	struct list node;
	size_t taken;
};
/* Thread: any. */
void frontier_serve(struct frontier *, struct serve *);

/*
 * "This queue has work", once until a serve says that it was seen: the note is
 * the queue's own mail and must not be posted while it still lies in a box.
 */
struct queue_note {
	struct mail mail;
	void *port;                         /* frontier_port.arg */
	uint32_t crawl, queue;
	struct str key;                     /* lives as long as the crawl */
};

struct frontier_port {
	struct loop *loop;
	void (*work)(struct queue_note *);  /* on that loop */
	void *arg;
};

#endif
