/*
 * urlfrontier_own -- what the files of this door share.
 *
 * Thread: the door's loop.
 */
#ifndef DOORS_URLFRONTIER_URLFRONTIER_OWN_H
#define DOORS_URLFRONTIER_URLFRONTIER_OWN_H

#include <protobuf-c/protobuf-c.h>

#include "doors/urlfrontier/cluster.h"
#include "doors/urlfrontier/item.h"
#include "doors/urlfrontier/urlfrontier.h"
#include "server/grpc_port.h"
#include "wire/grpc/health.h"
#include "wire/grpc/reflection.h"

/*
 * id, name, kind, handlers, and whether it writes: wants a token that may.
 */
#define URLFRONTIER_RPCS(X)                                                  \
	X(LIST_NODES,     "ListNodes",       UNARY,         list_nodes,   0) \
	X(LIST_CRAWLS,    "ListCrawls",      UNARY,         listing,      0) \
	X(DELETE_CRAWL,   "DeleteCrawl",     UNARY,         control,      1) \
	X(LIST_QUEUES,    "ListQueues",      UNARY,         listing,      0) \
	X(GET_URLS,       "GetURLs",         SERVER_STREAM, get_urls,     1) \
	X(PUT_URLS,       "PutURLs",         BIDI,          put_urls,     1) \
	X(PUT_DISCOVERED, "PutDiscovered",   BIDI,          put_batches,  1) \
	X(GET_STATS,      "GetStats",        UNARY,         control,      0) \
	X(DELETE_QUEUE,   "DeleteQueue",     UNARY,         control,      1) \
	X(BLOCK_QUEUE,    "BlockQueueUntil", UNARY,         control,      1) \
	X(SET_ACTIVE,     "SetActive",       UNARY,         control,      1) \
	X(GET_ACTIVE,     "GetActive",       UNARY,         control,      0) \
	X(SET_DELAY,      "SetDelay",        UNARY,         control,      1) \
	X(SET_LOG_LEVEL,  "SetLogLevel",     UNARY,         set_level,    1) \
	X(SET_LIMIT,      "SetCrawlLimit",   UNARY,         control,      1) \
	X(GET_URL_STATUS, "GetURLStatus",    UNARY,         url_status,   0) \
	X(LIST_URLS,      "ListURLs",        SERVER_STREAM, listing,      0) \
	X(COUNT_URLS,     "CountURLs",       UNARY,         listing,      0) \
	X(PURGE_URLS,     "PurgeURLs",       UNARY,         listing,      1)

enum urlfrontier_rpc {
#define URLFRONTIER_RPC_ENUM(id, ...) RPC_##id,
	URLFRONTIER_RPCS(URLFRONTIER_RPC_ENUM)
#undef URLFRONTIER_RPC_ENUM
	RPC_COUNT
};

#define URLFRONTIER_RPC_EVENTS(id, name, kind, events, writes) \
	extern const struct grpc_events urlfrontier_##events;
URLFRONTIER_RPCS(URLFRONTIER_RPC_EVENTS)
#undef URLFRONTIER_RPC_EVENTS

/* The grpc_arg() of a method's handlers. */
struct door_method {
	struct urlfrontier *door;
	enum urlfrontier_rpc rpc;
	bool writes;
};

struct put_unit;

struct urlfrontier {
	struct loop *loop, *home;
	struct net *net;
	struct net_tls *tls;
	struct net_listener *listener;
	struct grpc_server *server;
	struct health *health;
	struct reflection *reflection;
	struct grpc_method methods[RPC_COUNT];
	struct door_method args[RPC_COUNT];
	char address[80];
	char node[304];                  /* what ListNodes says, when alone */
	struct cluster *cluster;         /* NULL: it is alone */
	struct forward *forward;         /* the same; puts to the others */
	struct frontier *frontier;       /* NULL: recovering */
	bool engine_crawls;              /* they are shown */
	struct list held;                /* calls that wait for the frontier */
	unsigned held_n, held_max;
	struct token_set *tokens;        /* NULL: recovering, perhaps */
	enum { TOKEN_AUTO, TOKEN_REQUIRED, TOKEN_NONE } token_rule;
	struct list ports;
	struct list calls;               /* until they are freed */
	size_t calls_n, calls_most;      /* the most since the last trim */
	struct mono trimmed;
	struct turn_hook hook;

	/* put.c */
	uint64_t put_inflight_max, batch_inflight_max;   /* 0: no limit */
	size_t put_bytes_max;
	size_t put_bytes;                /* of items not acknowledged yet */
	struct list filling;             /* streams with items to be put */
	struct list paused;              /* streams that wait for their acks */
	struct list spare;               /* put_unit */
	size_t spare_n;
	/* get.c: calls whose piece is on its way out. */
	struct list leaving;
	size_t get_others;               /* which other node is asked first */

	/* meter.c */
	struct timer look;
	struct lease_control totals;
	uint64_t scanned;                /* of it, told to the figures */
	bool looking;

	struct mail ready_mail, drain_mail, drained_mail;
	struct frontier *coming;
	struct token_set *coming_tokens;
	bool draining, cut, told;
	struct timer drain_timer;
	void (*drained)(void *arg);
	void *drained_arg;
};

/* ---- call.c: what all calls have ----------------------------------------- */

/*
 * A call, first in what each kind adds to it.  It outlives the caller's
 * interest: while verbs are `out` at the frontier it stays.
 */
struct door_call {
	struct list node;
	struct urlfrontier *door;
	struct grpc_call *grpc;          /* NULL: the caller has left */
	enum urlfrontier_rpc rpc;
	uint64_t token;                  /* that let it in; 0: none */
	struct mono began;
	unsigned out;
	struct arena arena;              /* what the caller asked */
	const ProtobufCMessageDescriptor *descriptor;
	struct str request;
};

/* For on_open: a zeroed object of `size` bytes that begins with door_call. */
void *call_open(struct grpc_call *, size_t size);
/* For on_end: figures and the log; the caller has left. */
void call_end(struct door_call *, enum grpc_code);
/* Its memory, when nobody wants it: no caller, no verb out. */
void call_free(struct door_call *);
/*
 * The request, in the call's arena.  NULL: it cannot be decoded, and the call
 * has been answered so.  Its texts end at a NUL: call_text() has them whole.
 */
void *call_read(struct door_call *, const ProtobufCMessageDescriptor *,
    struct str message);
/* Any other message, in the call's arena; NULL: it cannot be decoded. */
void *call_unpack(struct door_call *, const ProtobufCMessageDescriptor *,
    struct str message);
/*
 * A field of the request by its name: a text, and a number (bool, enum,
 * uint32, uint64).  "" and 0: the request has no such field, or its message
 * type does not define one, but another request's type does: a name that no
 * request has is a mistake and aborts.
 */
struct str call_text(const struct door_call *, const char *name);
uint64_t call_u64(const struct door_call *, const char *name);
/* Answers; nothing happens when the caller has left. */
void call_reply(struct door_call *, const ProtobufCMessage *);
/* The same with a text behind it, which may hold any character. */
void call_reply_text(struct door_call *, const ProtobufCMessage *,
    uint32_t number, struct str text);
void call_reply_bytes(struct door_call *, struct str message);
/* A Long. */
void call_reply_number(struct door_call *, uint64_t);
void call_fail(struct door_call *, enum grpc_code, const char *text);
/* The gRPC status, with its text, for a verb's result. */
void call_fail_err(struct door_call *, enum err);
#define CALL_MALFORMED "the message cannot be decoded"
/* A verb goes to the frontier: where it comes back to. */
void call_ask(struct door_call *, struct lease_call *,
    void (*done)(struct lease_call *));

/* "DEFAULT" for a blank name. */
struct str call_crawl(struct str name);

/*
 * Whether this node answers for itself alone: there is no other, the message's
 * field `local` says so, or the metadata does, as that of other nodes.
 */
bool call_is_local(const struct door_call *, bool field);
/*
 * What is left of the time that all nodes together have for the call: of the
 * caller's deadline, and of urlfrontier.forward_deadline_s since it began.  At
 * least 1.
 */
int64_t call_time_left_ns(const struct door_call *);

/* ---- put.c, get.c, list.c: at the end of a turn, and of the door --------- */

void put_turn(struct urlfrontier *);
void get_turn(struct urlfrontier *);
/* No more is taken in; what is in comes to its end, and then this is it. */
void put_close(struct door_call *, enum grpc_code, const char *text);
/* The time for that is over: end it. */
void get_cut(struct door_call *);
void list_cut(struct door_call *);
void put_free_spare(struct urlfrontier *);

/* Each second: streams whose token was revoked are closed. */
void urlfrontier_check_tokens(struct urlfrontier *);

/* ---- meter.c: figures ---------------------------------------------------- */

enum meter_count { METER_GETS, METER_GOT, METER_PUTS, METER_PUT_BATCHES,
	METER_ITEMS, METER_IGNORED, METER_COMPLETED, METER_EXAMINED,
	METER_SCANNED, METER_NOTREADY,
	METER_START_REFUSED };
void meter_register(void);
void meter_count(enum meter_count, uint64_t n);
void meter_kinds(uint64_t discovered, uint64_t known);
void meter_acks(const uint64_t statuses[static 3], int64_t ns);
void meter_get(int64_t ns);
void meter_call(enum urlfrontier_rpc, enum grpc_code, int64_t ns);
void meter_streams(int64_t more);
void meter_held(unsigned calls);
/* Gauges of the frontier, asked for each second. */
void meter_start(struct urlfrontier *);
void meter_stop(struct urlfrontier *);

/* "GetURLs" */
const char *urlfrontier_rpc_name(enum urlfrontier_rpc);

#endif
