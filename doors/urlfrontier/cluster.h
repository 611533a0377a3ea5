/*
 * cluster -- the nodes that share the queues: who owns which, and calls to the
 * others (docs/protocols/urlfrontier.md, section 8).
 *
 *     crawl, key ─► owner ─┬─ this node: the frontier
 *                          └─ another: cluster_call() ─► its door
 *
 * One connection for each peer, opened when it is first needed and again when
 * it was lost; after one that failed not sooner than CLUSTER_RETRY_MS later.
 * What goes over it says `argiope-scope: local`: the peer answers for itself
 * and asks nobody.  A peer that is silent costs its caller the deadline, one
 * that refuses nothing but the call.  Names are resolved at the start, and
 * again when no address of a node takes a connection; a node whose name leads
 * nowhere counts as unreachable.
 *
 * Thread: the door's loop; cluster_open() before it runs.
 * Source: Java SE, String.hashCode.
 */
#ifndef DOORS_URLFRONTIER_CLUSTER_H
#define DOORS_URLFRONTIER_CLUSTER_H

#include "base/conf.h"
#include "server/grpc_port.h"

struct cluster;

#define CLUSTER_RETRY_MS 200

/*
 * Read urlfrontier.nodes and what belongs to it.  `listening` is the address
 * that this node listens at, "127.0.0.1:7071".  NULL in `*out` and OK: there is
 * no cluster, or one of this node alone.
 * Errors: CONFIG (a node that is no host:port or stands twice; none of them is
 * this one); of reading the token's and TLS's files.
 */
MUST_USE enum err cluster_open(const struct conf *, struct loop *,
    struct net *, const char *listening, struct cluster **out, struct why *);
/*
 * Connections are aborted, and there are no new ones: calls over them end with
 * UNAVAILABLE, at the end of the turn.  NULL and a second time are allowed.
 */
void cluster_close(struct cluster *);
/* When it is closed and the net is gone. */
void cluster_free(struct cluster **);

/* Sorted as the contract has it; the same list on every node. */
size_t cluster_nodes(const struct cluster *);
const char *cluster_node(const struct cluster *, size_t);
size_t cluster_self(const struct cluster *);
/* Whose queue it is: a crawl that is not blank, a key that is not empty. */
size_t cluster_owner(const struct cluster *, struct str crawl,
    struct str key);
/* abs(hash % n), as the reference computes it. */
size_t cluster_hash_owner(struct str crawl, struct str key, size_t n);

/* Whether it is the peers' token; takes the same time for all of a length. */
bool cluster_token_is_peers(const struct cluster *, struct str token);
/* How long a call to a peer may take: urlfrontier.forward_deadline_s. */
int64_t cluster_deadline_ns(const struct cluster *);

/*
 * Begin a call at another node; `rpc` is "GetStats", `more` one field beside
 * ours, or NULL.  It is a grpc_call of a client: on_end tells UNAVAILABLE when
 * the peer cannot be reached, DEADLINE_EXCEEDED after `timeout_ns` (0: none).
 * NULL: it takes no call now (it could not be reached a moment ago, or has too
 * many under way); `why` tells in words for the client.
 */
struct grpc_call *cluster_call(struct cluster *, size_t node, const char *rpc,
    const struct grpc_events *, void *arg, int64_t timeout_ns,
    const struct grpc_field *more, struct why *);
/*
 * For on_end of such a call: the code and the text for who asked this node.
 * What the peer said comes back as it is; that it could not be reached, did not
 * answer or does not know us names the node.
 */
enum grpc_code cluster_explain(struct cluster *, size_t node,
    enum grpc_code, struct str text, struct why *);

/*
 * Count bytes of questions that a peer has not answered, so that one that is
 * silent does not gather them.  False: it has CLUSTER_ASKED_BYTES_MAX, or would
 * have, beside another question; nothing is counted.
 */
#define CLUSTER_ASKED_BYTES_MAX ((size_t)16 << 20)
bool cluster_take(struct cluster *, size_t node, size_t bytes);
void cluster_give(struct cluster *, size_t node, size_t bytes);

#endif
