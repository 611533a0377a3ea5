/*
 * forward -- items of puts that go to the nodes which own their queues: one
 * long PutURLs stream for each peer, a second one for what keeps its dates.
 *
 *     part ─► waiting ─► sent ─► answered ─► done()
 *                │ full    │ 30 s, or the stream is lost
 *                └─────────┴─► FAIL ───────► done()
 *
 * Items travel under numbers of ours, so that they stay apart when their own
 * IDs do not; acknowledgements are matched by them, and one that comes too late
 * is nobody's any more.  The stream stays open behind it: what was put later is
 * applied later.  A stream that is lost fails what is under way; the next part
 * opens another.
 *
 * Memory: a stream holds send_bytes_max and a message (GRPC_LIMITS), which
 * counts as the door's put_bytes; what finds it full waits in its unit.
 * Thread: the door's loop.
 */
#ifndef DOORS_URLFRONTIER_FORWARD_H
#define DOORS_URLFRONTIER_FORWARD_H

#include "base/heap.h"
#include "base/list.h"
#include "base/time.h"
#include "engine/frontier/lease_service.h"

struct forward;
struct forward_lane;
struct urlfrontier;

/* By so much at most an item grows on its way to another node. */
#define FORWARD_MORE_BYTES 64

struct forward *forward_new(struct urlfrontier *);
/* When all parts are done and the net is gone. */
void forward_free(struct forward **);

/* Those of a unit's items that one node owns. */
struct forward_part {
	/* The asker's, until done() is called. */
	size_t peer;
	struct lease_item *items;      /* all of the unit */
	uint16_t *which;                 /* n of them, in order */
	size_t n;
	struct mono began;               /* its deadline counts from here */
	void (*done)(struct forward_part *);
	void *arg;
	/* Its own. */
	struct list node;
	struct heap_node due;
	struct forward_lane *lane;       /* NULL: it is not under way */
	uint64_t id;                     /* of the first item */
	size_t sent, open;
};

/*
 * Put them at their peer.  False: it takes none now, all of them FAIL, and
 * done() is not called; otherwise it is later, with all statuses set.
 */
bool forward_put(struct forward *, struct forward_part *, bool keep_dates);
/*
 * Nobody waits for it any more: done() is not called, what was not answered is
 * FAIL, what was not sent will not be.  False: it was not under way.
 */
bool forward_drop(struct forward_part *);

#endif
