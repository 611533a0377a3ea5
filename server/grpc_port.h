/*
 * grpc_port -- a gRPC session on a connection of os/net: bytes, turns and the
 * timer of one for the other.
 *
 * Thread: the loop's.
 */
#ifndef SERVER_GRPC_PORT_H
#define SERVER_GRPC_PORT_H

#include "os/net.h"
#include "wire/grpc/grpc.h"

struct grpc_port {
	struct list node;                /* the owner's */
	void *owner;                     /* the owner's, too */
	struct net_conn *conn;
	struct grpc_session *session;
	struct timer timer;
	bool open;                       /* connected, TLS included */
	bool over, failed;               /* failed: the session said so */
	struct why why;
	void (*closed)(struct grpc_port *);
	/* A client's may set it: connected, TLS included.  May be NULL. */
	void (*opened)(struct grpc_port *);
};

/*
 * A server's, for a connection that was just accepted.  closed() is called once
 * the session and its calls are gone; the port is freed behind it.
 */
struct grpc_port *grpc_port_accept(struct net_conn *,
    const struct grpc_server *, void (*closed)(struct grpc_port *));
/* A client's; calls may be made at once.  NULL: `why` tells. */
struct grpc_port *grpc_port_connect(struct net *, struct loop *,
    const struct net_target *, void (*closed)(struct grpc_port *),
    struct why *);
/* The limits of such a client, and one with other limits. */
struct grpc_limits grpc_port_limits(void);
struct grpc_port *grpc_port_connect_within(struct net *, struct loop *,
    const struct net_target *, const struct grpc_limits *,
    void (*closed)(struct grpc_port *), struct why *);

#endif
