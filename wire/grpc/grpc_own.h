/*
 * grpc_own -- what the files of this folder share: sessions and calls.
 *
 *     call:  fields ──► open ──► finished ──► over
 *               │         │                    ▲
 *               └─────────┴──── ended early ───┘
 *
 * `ended`: on_end was called and no handler is any more; the stream may still
 * be there, to be read out by the peer.  A call is freed with its stream; a
 * client's later, when messages wait behind a pause.
 */
#ifndef WIRE_GRPC_GRPC_OWN_H
#define WIRE_GRPC_GRPC_OWN_H

#include <nghttp2/nghttp2.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "wire/grpc/grpc.h"
#include "wire/grpc/message.h"

/* How many of the last streams a server's session knows the fate of. */
#define GRPC_SEEN_MAX 1024
enum grpc_seen {
	GRPC_SEEN_SKIPPED,      /* closed unused: a later one was opened */
	GRPC_SEEN_OPEN,         /* the peer may send, or did not hear of us */
	GRPC_SEEN_ENDED,        /* the peer said END_STREAM */
	GRPC_SEEN_RESET,        /* the peer reset it */
	GRPC_SEEN_UNKNOWN,      /* it is too long ago */
};

struct grpc_server {
	struct grpc_limits limits;
	struct map methods;     /* path to const struct grpc_method * */
	void (*gate)(struct grpc_call *, void *arg);
	void *gate_arg;
};

struct grpc_session {
	const struct grpc_server *server;   /* NULL: a client */
	struct grpc_limits limits;
	nghttp2_session *h2;
	struct grpc_owner owner;
	struct mono now;
	char *scheme, *authority;           /* a client's */

	struct list calls, spare;           /* spare: to be used again */
	size_t calls_n, spare_n;
	struct list waiting;                /* calls that want to be served */
	struct heap deadlines;
	struct message_gunzip *gunzip;
	struct grpc_call *block;            /* whose fields are coming */
	int inside;                         /* recv, fill, tick: no wake */

	size_t held, partial;               /* sums over the calls */
	size_t owed;                        /* window not given back yet */
	size_t sending;                     /* bytes in `out` of all calls */
	struct {
		size_t calls, kept, sending;
	} told;                             /* what the metrics know of it */

	struct rate resets, pings, settings, idle_frames;
	uint8_t seen[GRPC_SEEN_MAX];        /* by half the stream's number */
	int32_t seen_n;                     /* half of the next new stream's */
	struct {
		uint8_t bytes[9];
		size_t n;
		size_t skip;                /* bytes before it */
	} head;                             /* of the frame that is coming */
	struct mono opened, heard;
	bool settled;                       /* the peer's SETTINGS came */
	bool pinged;
	struct mono pinged_at;
	bool draining, drained;             /* first, second GOAWAY */
	bool peer_leaves;                   /* its GOAWAY came */
	struct mono drain_at;
	uint32_t calm;                      /* HTTP/2 error to end with, or 0 */
	bool failed;                        /* no more bytes are taken */
	struct why why;
};

struct grpc_call {
	struct grpc_session *session;
	struct list node;                   /* in calls or spare */
	struct list wait;                   /* in waiting, or in none */
	const struct grpc_events *on;
	enum grpc_kind kind;
	void *arg, *data;
	int32_t stream;

	struct arena arena;                 /* fields, both ways */
	struct grpc_fields got, headers, trailers;
	size_t got_bytes;
	struct str path, content_type, encoding, timeout;
	struct mono deadline, came;
	struct heap_node due;               /* the deadline, or the linger */
	unsigned http_status;               /* a client's */

	struct message_reader in;
	struct buf only;                    /* the one message of a request */
	size_t held, partial;               /* this call's in the sums */
	size_t owed;                        /* stream window not given back */
	unsigned messages_got;

	struct buf out;
	size_t out_at;                      /* left up to here */
	size_t message_rest;                /* of the message that is leaving */
	struct str plain;                   /* of an answer that is no gRPC */
	uint64_t messages_left;
	enum grpc_code code;
	struct str text;                    /* as sent, or as received */

	bool is_post, is_head, bad_fields, has_status, too_many_fields;
	bool opened;        /* handlers know it */
	bool answered;      /* the head of the answer was submitted or came */
	bool head_left;     /* the head of the answer has left */
	bool said;          /* the trailers were submitted */
	bool finished;      /* no more messages from here */
	bool ended;         /* on_end was called */
	bool cut;           /* reset by us */
	bool overflown;     /* a WINDOW_UPDATE of the peer's was too much */
	bool peer_closed;   /* the peer sends no more */
	bool closed_told;   /* on_half_close was called */
	bool gone;          /* the stream is no more */
	bool paused, was_full, deferred;
	bool giving;        /* messages are being handed out */
	bool waits;         /* the gate holds it */
	bool admitted;      /* ... and it shall see it again */
};

/* ---- session.c ---------------------------------------------------------- */

/* Something is to be filled. */
void grpc_wake(struct grpc_session *);

/* ---- call.c ------------------------------------------------------------- */

struct grpc_call *grpc_call_take(struct grpc_session *, int32_t stream);
void grpc_call_free(struct grpc_call *);
/* The memory of one that is in no list. */
void grpc_call_drop(struct grpc_call *);
/* DATA came: hand out, keep, or drop. */
void grpc_call_feed(struct grpc_call *, struct str, bool last);
/* END_STREAM came. */
void grpc_call_peer_closed(struct grpc_call *);
/* Tell the handler that it is over, if it was not told. */
void grpc_call_end(struct grpc_call *, enum grpc_code, struct str text);
/* The session ends the call: the handler hears it, the peer too. */
void grpc_call_abort(struct grpc_call *, enum grpc_code, const char *text);
/* What is said will be read soon, or the call is reset. */
void grpc_call_linger(struct grpc_call *);
/* The stream is no more. */
void grpc_call_gone(struct grpc_call *, uint32_t http2_error);
/* Something waits: messages behind a pause, on_writable. */
void grpc_call_serve(struct grpc_call *);
/* Its deadline or its linger is over. */
void grpc_call_overdue(struct grpc_call *);
/* Once: a call that is gone already is freed when its turn comes. */
void grpc_call_reset(struct grpc_call *, uint32_t http2_error);
/* Let nghttp2 ask for bytes again. */
void grpc_call_go(struct grpc_call *);
nghttp2_data_provider grpc_call_provider(struct grpc_call *);
/* Fields as nghttp2 wants them, behind the n that stand there already. */
size_t grpc_put_fields(nghttp2_nv *, size_t n, const struct grpc_fields *);
nghttp2_nv grpc_nv(struct str name, struct str value);

/* ---- server.c, client.c ------------------------------------------------- */

/* A field came. */
void grpc_server_field(struct grpc_call *, struct str name, struct str value);
void grpc_client_field(struct grpc_call *, struct str name, struct str value);
/* All fields of a block came. */
void grpc_server_fields_end(struct grpc_call *);
void grpc_client_fields_end(struct grpc_call *, bool last);
/* A call that waited at the gate: the gate again, then the handlers. */
void grpc_server_admitted(struct grpc_call *);
/* The head of the answer, unless it is there. */
void grpc_server_answer(struct grpc_call *);
/* All messages have left: the trailers. */
void grpc_server_trailers(struct grpc_call *);
/* Keep a field of the peer, decoded. */
void grpc_keep_field(struct grpc_call *, struct str name, struct str value);
/* Whether a content-type is one of gRPC's. */
bool grpc_is_content_type(struct str);

#endif
