/*
 * list_own -- a listing, and what list.c and gather.c do for each other: this
 * node's walk, and all nodes' together.
 *
 * Thread: the door's loop.
 */
#ifndef DOORS_URLFRONTIER_LIST_OWN_H
#define DOORS_URLFRONTIER_LIST_OWN_H

#include "doors/urlfrontier/urlfrontier_own.h"

/* One message of queues or crawls; more must be asked for in pages. */
#define LIST_REPLY_BYTES_MAX ((size_t)64 << 20)
#define LIST_TOO_MANY "these are too many queues for one message; ask for a " \
	"smaller size"
#define LIST_TOO_MANY_OPEN "too many ListURLs calls are open " \
	"(urlfrontier.listings_max); try again later"
/* Where ListQueues begins, behind this key: other nodes page by it. */
#define LIST_AFTER STR("argiope-after-bin")

/* Fields of QueueList, StringList, Pagination and ListUrlParams. */
enum { LIST_VALUES = 1, LIST_START = 3, LIST_SIZE = 4, LIST_CRAWL = 5 };
enum { LIST_ASK_START = 1, LIST_ASK_SIZE = 2 };

struct gather;

struct listing {
	struct door_call call;
	struct lease_list list;
	size_t at;                   /* entries of the piece that were sent */
	struct buf reply;
	uint64_t listed;
	bool over;                   /* it was ended early */
	struct gather *gather;       /* NULL: it is this node's alone */
};

/* ---- list.c: this node's walk -------------------------------------------- */

/* The next piece. */
void list_ask(struct listing *);
/* No more of it: the answer's end, also when that is OK. */
void list_end(struct listing *, enum grpc_code, const char *text);
/* Put an entry into the stream. */
enum grpc_room list_send(struct listing *, const struct lease_entry *);

/* The answer to ListQueues: the names in `reply`, and where they begin. */
void list_reply_queues(struct listing *, uint64_t start);

/* ---- gather.c: all nodes ------------------------------------------------- */

/* Begin; the call's arguments are in `list`, which the gather now owns. */
void gather_begin(struct listing *);
/* A piece of this node's came, without an error. */
void gather_came(struct listing *);
/* There is room again. */
void gather_go_on(struct listing *);
/* Cancel it, with all calls to other nodes. */
void gather_stop(struct gather *);
/* When it has been stopped.  NULL is none. */
void gather_free(struct gather **);

#endif
