/*
 * grpc_port -- a gRPC session on a connection of os/net: what a door does too.
 *
 * Thread: the loop's.
 */
#ifndef TESTS_PEERS_GRPC_PORT_H
#define TESTS_PEERS_GRPC_PORT_H

#include "os/net.h"
#include "wire/grpc/grpc.h"

struct grpc_port {
	struct list node;                /* the owner's */
	struct net_conn *conn;
	struct grpc_session *session;
	struct timer timer;
	bool over, failed;               /* failed: the session said so */
	struct why why;
	void (*closed)(struct grpc_port *);
};

/* A server's, for a connection that was just accepted. */
struct grpc_port *grpc_port_accept(struct net_conn *,
    const struct grpc_server *, void (*closed)(struct grpc_port *));
/* A client's; calls may be made at once.  NULL: `why` tells. */
struct grpc_port *grpc_port_connect(struct net *, struct loop *,
    const struct net_target *, void (*closed)(struct grpc_port *),
    struct why *);

#endif
