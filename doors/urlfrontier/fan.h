/*
 * fan -- one question to some of the other nodes, one answer of each.
 *
 *     fan_begin() ─► answer() of each that is OK, in the order of arrival
 *                 ─► done(), once: OK, or what the first that failed said
 *
 * It waits for all of them, so that a question that changes something has been
 * heard by everybody who can hear when done() is called.
 *
 * Thread: the door's loop.
 */
#ifndef DOORS_URLFRONTIER_FAN_H
#define DOORS_URLFRONTIER_FAN_H

#include "doors/urlfrontier/cluster.h"

#define FAN_ALL SIZE_MAX

struct fan {
	/* The asker's. */
	struct cluster *cluster;
	struct loop *loop;
	const char *rpc;
	int64_t timeout_ns;
	/* The message stands until it returns.  It may fan_fail(), no more. */
	void (*answer)(struct fan *, size_t node, struct str message);
	void (*done)(struct fan *);
	/* How it ended; in done(). */
	enum grpc_code code;
	struct why why;
	/* Its own. */
	struct list branches;
};

/*
 * Ask `node`, or FAN_ALL: every other one.  `question` is a packed message and
 * is copied.  done() may be called before it returns.
 */
void fan_begin(struct fan *, size_t node, struct str question);
/* An answer is of no use: done() tells it, unless another failed before. */
void fan_fail(struct fan *, enum grpc_code, const char *text);
/* The same, as its message is damaged. */
void fan_unreadable(struct fan *, size_t node);
/*
 * Nobody wants to know any more: calls are cancelled, done() is not called.
 * Before fan_begin() and after done() nothing happens, if it began zeroed.
 */
void fan_stop(struct fan *);

#endif
