/*
 * items_door -- the door for scraper authors and remote workers: items, tags,
 * tasks and failures over HTTP, the worker protocol, and live events
 * (docs/protocols/items.md).
 *
 *     request ─► exchange ─► engine/items: the reader's or the writer's thread
 *     commit  ─► event streams and updates that wait are fed again
 *
 * The door keeps no truth.  A stream of events is a cursor and what the client
 * has not taken yet; a list is the key where it goes on.
 *
 * Owns:    the items of the data directory, open; streams of events; the runner
 *          of the configuration's tasks.
 * Thread:  home's.
 * Limits:  items.*, ITEMS_DOOR_LIMITS.
 * Story:   doors/items/DESIGN.md
 */
#ifndef DOORS_ITEMS_ITEMS_DOOR_H
#define DOORS_ITEMS_ITEMS_DOOR_H

#include "engine/items/item_ops.h"
#include "engine/items/item_query.h"
#include "engine/items/items.h"
#include "engine/items/worklist.h"
#include "server/door.h"

/*  name               value      limit of */
#define ITEMS_DOOR_LIMITS(X)                                                 \
	X(LINES_MAX,         1000,      "lines of an import in a commit")     \
	X(IMPORT_BYTES_MAX,  2 << 20,   "text of an import that waits")       \
	X(IMPORTS_MAX,       16,        "imports at a time; above: 503")      \
	X(BODIES_BYTES_MAX,  64 << 20,  "text of all new items that waits")   \
	X(FAULTS_MAX,        100,       "lines of an import that are named")  \
	X(CLAIM_MAX,         1000,      "pairs of a claim")                   \
	X(LEASES_MAX,        10000,     "leases of a heartbeat or release")   \
	X(WAIT_MS_MAX,       60000,     "the wait of a claim or of updates")  \
	X(LEASE_MS_MAX,      86400000,  "a lease")                            \
	X(WORDS_MAX,         256,       "a list in a query")                  \
	X(STREAM_BEHIND_MAX, 1 << 20,   "events that a client has not taken") \
	X(STREAM_AHEAD,      128 << 10, "the same, while it catches up")      \
	X(EVENTS_MAX,        500,       "events read at a time")              \
	X(COMMENT_MS,        15000,     "without anything sent to a stream")
enum {
#define ITEMS_DOOR_LIMIT(name, value, help) ITEMS_##name = value,
	ITEMS_DOOR_LIMITS(ITEMS_DOOR_LIMIT)
#undef ITEMS_DOOR_LIMIT
};

struct items_door {
	const struct door_host *host;
	struct items *items;
	struct item_limits limits;
	struct drain_gate asked;     /* exchanges, reads of streams */
	bool stopping;               /* nothing waits any more */
	struct buf document;         /* of OpenAPI; made when it is asked for */
	struct web_text *openapi;
	struct mono log_at;          /* the next failure is logged from then */
	uint64_t unlogged;           /* failures since the last that was */

	/* event_stream.c */
	struct items_listener listener;
	uint64_t newest;             /* cursor; as far as the door was told */
	struct list streams;         /* struct event_stream */
	struct list event_reads;     /* under way, for streams */
	struct list updates;         /* requests that wait for an event */
	unsigned readers;            /* of both kinds */
	struct timer tick;
	bool ticking;

	/* import.c */
	unsigned imports;
	uint64_t import_bytes;       /* text that waits */

	struct task_service *service;

	/* config_load.c */
	const char *config_path;     /* "": none */
	bool loading;
	struct timer config_timer;
	int64_t config_pause_ms;     /* after one that failed; 0: none has */
	char config_fault[160];      /* of the last loading; "": none */

	/* door.c: figures for the status line. */
	uint64_t pairs, leased;
	struct timer count_timer;
	bool counting;
	void (*drained)(void *arg);
	void *drained_arg;
};

#endif
