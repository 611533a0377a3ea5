/*
 * realtime -- the door for programs that follow crawls live: they start, watch
 * and read crawls over a WebSocket, as JSON (docs/protocols/realtime.md).
 *
 *     message ──► command ──► verb of the engine ──► response
 *     registry changed ──► subscription due ──► room() ──► event
 *
 * The door keeps no truth.  A subscription is what a client has already: a
 * version of the registry, a number of an item.  Nothing is queued for a
 * client: what it is sent is looked up when its socket has room.
 *
 * Owns:    the clients, one for each socket, and what they subscribed to.
 * Thread:  home's.
 * Limits:  REALTIME_LIMITS, realtime.*.
 * Story:   doors/realtime/DESIGN.md
 */
#ifndef DOORS_REALTIME_REALTIME_H
#define DOORS_REALTIME_REALTIME_H

#include "engine/engine.h"
#include "server/door.h"

struct realtime;

/*  name                   value        limit of */
#define REALTIME_LIMITS(X)                                                   \
	X(SUBSCRIPTIONS_MAX,   256,         "of a connection")               \
	X(HELD_BYTES_MAX,      384 << 10,   "waiting in a socket, for events") \
	X(ANSWER_BYTES_MAX,    128 << 10,   "of a response")                 \
	X(READS_MAX,           8,           "of the engine, for a connection") \
	X(SUBSCRIBERS_TOLD_MAX, 100,        "in a frame, furthest behind")   \
	X(THREADS_TOLD_MAX,    128,         "in a frame; the oldest")
enum {
#define REALTIME_LIMIT(name, value, help) REALTIME_##name = value,
	REALTIME_LIMITS(REALTIME_LIMIT)
#undef REALTIME_LIMIT
};

/* All paths. */
extern const struct web_socket_events realtime_socket;
/* The files of crawls, the list of commands, and a single command by POST. */
#define REALTIME_ROUTES 4
extern const struct web_route realtime_routes[REALTIME_ROUTES];

#endif
