/*
 * source -- what another node answers, message by message, for a reader that
 * may be slow.
 *
 *     peer ─► call ─► coming ─► going ─► source_first(), source_take()
 *                       │
 *                       └─ full: the call is paused, and the peer waits
 *
 * One of the two buffers fills while the other is read, so that what was lent
 * stays where it is.  The deadline is for silence, not for all of a long
 * answer: a peer that may speak and says nothing for as long as
 * urlfrontier.forward_deadline_s gives DEADLINE_EXCEEDED.
 *
 * Thread: the door's loop.
 */
#ifndef DOORS_URLFRONTIER_SOURCE_H
#define DOORS_URLFRONTIER_SOURCE_H

#include "doors/urlfrontier/cluster.h"

struct source {
	/* The reader's; all else begins zeroed. */
	struct cluster *cluster;
	struct loop *loop;
	size_t node;
	void (*came)(struct source *);   /* a message, or the end */
	/* How it ended; what came before may still be there. */
	bool ended;
	enum grpc_code code;
	struct why why;
	size_t messages;                 /* that came in all */
	/* Its own. */
	struct grpc_call *call;          /* NULL: none is under way */
	size_t asked_bytes;              /* counted at the cluster */
	bool paused;
	struct mono heard;               /* the peer, or since it may speak */
	struct timer timer;
	struct buf coming, going;        /* length in 4 bytes, message, ... */
	size_t at;                       /* in `going` */
};

/*
 * Ask; `request` is one packed message, `deadline` that of the whole answer,
 * MONO_NEVER without one, `more` a field as in cluster_call().  May be called
 * again once it has ended and all is taken.  came() is not called from here:
 * look at `ended`, it may have failed.
 */
void source_ask(struct source *, const char *rpc, struct str request,
    struct mono deadline, const struct grpc_field *more);
/* The first message that is there; false: none.  It stands until taken. */
bool source_first(struct source *, struct str *message);
void source_take(struct source *);
/* Cancel the call; came() is not called. */
void source_stop(struct source *);
/* Stop, and its memory. */
void source_free(struct source *);
/* The peer sent an invalid message: end the call with INTERNAL. */
void source_is_malformed(struct source *);

#endif
