/*
 * remote -- a server of URL Frontier: connections to it, calls over them.
 *
 *     remote_open() ─► remote_each()               one after the other
 *                   ─► remote_begin() ... events   some at once
 *     remote_close()
 *
 * Thread: the main one.
 * Story:  cli/DESIGN.md
 */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "cli/cli.h"
#include "server/grpc_port.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

/* ---- A server ------------------------------------------------------------ */

struct remote_link;
struct remote {
	struct cli *cli;
	struct loop *loop;
	struct net *net;
	struct net_tls *tls;
	const char *host;                /* as it was given */
	uint16_t port;
	const char *place;               /* "localhost:7071" */
	const char *address;             /* that is, or was last, tried */
	struct str bearer;               /* of authorization; may be empty */
	struct list links;
	struct remote_link *first;     /* made by remote_open() */
};
/* A connection. */
struct remote_link {
	struct remote *remote;
	struct list node;
	struct grpc_port *port;          /* NULL: it is closed */
	bool open, settled;              /* connected; that, or failed */
	struct why why;
};

/*
 * Resolve and connect as the options say.  remote_close() in any case.
 * Errors: USAGE; of reading a file; UNREACHED and others of connecting.
 */
MUST_USE enum err remote_open(struct cli *, struct remote *,
    struct why *);
/* Calls under way end first, with UNAVAILABLE. */
void remote_close(struct remote *);
/* One more connection to the same address.  It is the remote's. */
MUST_USE enum err remote_connect(struct remote *, struct remote_link **,
    struct why *);

/* ---- Calls --------------------------------------------------------------- */

/* The messages of a call, such as "GetStats", which must be one of the API. */
const ProtobufCMethodDescriptor *remote_method(const char *rpc);

struct remote_call {
	/* The caller's. */
	const char *rpc;                 /* "GetStats" */
	const struct grpc_field *field;  /* one more than the token; or NULL */
	void (*message)(struct remote_call *, const void *message);
	void (*writable)(struct remote_call *);
	/* May begin it again. */
	void (*ended)(struct remote_call *);
	void *arg;
	/* The received message, until the next one comes. */
	struct arena arena;
	/* How it stands. */
	struct remote_link *link;
	struct grpc_call *call;          /* NULL: it has ended */
	bool over, stopped;              /* stopped: by remote_stop() */
	struct why why;                  /* once it is over */
};

/* Begin; on failure ended() is not called.  The arena is emptied. */
MUST_USE enum err remote_begin(struct remote_link *,
    struct remote_call *, struct why *);
/* Send a message of protobuf-c's, or one that is packed already. */
enum grpc_room remote_send(struct remote_call *, const void *message);
enum grpc_room remote_send_packed(struct remote_call *, struct str);
/* No more messages follow. */
void remote_half_close(struct remote_call *);
/* The caller wants no more: message() is not called again, ended() is. */
void remote_stop(struct remote_call *);
/* When no call is under way. */
void remote_call_free(struct remote_call *);

/*
 * One question, one answer or many; each() says false when it wants no more,
 * and then the result is CLOSED.  Errors: the server's, in the nearest words of
 * ours; UNREACHED when it is lost.
 */
MUST_USE enum err remote_each(struct remote *, const char *rpc,
    const void *question, bool (*each)(void *arg, const void *message),
    void *arg, struct why *);

#endif
