/*
 * nodes_testing -- real nodes in a test's own process, each with an engine in a
 * folder of its own; one loop for the test and as their home; and calls, as a
 * client sees them.
 */
#ifndef DOORS_URLFRONTIER_NODES_TESTING_H
#define DOORS_URLFRONTIER_NODES_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "doors/urlfrontier/cluster.h"
#include "doors/urlfrontier/urlfrontier.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "os/system.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

#define WAIT_MS 20000
#define NODES 2
#define WORD "the-nodes-own-word"
#define SERVICE "/urlfrontier.URLFrontier/"

struct node {
	char dir[64];
	struct conf conf;
	struct engine *engine;
	struct store_async *store;
	struct token_set *tokens;
	struct urlfrontier *door;
	const char *host;                /* "127.0.0.1"; before node_join() */
	uint16_t port;
	bool drained, closed;
};

struct nodes {
	struct loop *loop;
	struct net *net;
	struct arena arena;
	struct node nodes[NODES];
	struct conf conf;                /* the test's own, as is this: */
	struct cluster *cluster;
	char token_file[64];             /* of write_token() */
};
extern struct nodes t;

/* cmocka's.  The nodes have ports at which nobody listens yet. */
int nodes_setup(void **state);
int nodes_teardown(void **state);
void step(void);
void run_ms(int64_t ms);
void wait_for(const bool *flag);
int64_t ms_since(struct mono);
/* Of the counter or gauge whose line begins so: "\nname ". */
int64_t value_of(const char *line);

void put_conf(struct conf *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* For a listener: who comes is sent away. */
void refuse(struct net_conn *, void *arg);
/* A peer that takes connections, into its backlog, and says nothing. */
struct silent {
	struct loop *loop;               /* makes no turns */
	struct net *net;
	uint16_t port;
};
void silent_open(struct silent *, uint16_t port);    /* 0: any */
void silent_close(struct silent *);
void write_token(const char *text);
/* A folder, and settings of a node that is alone. */
void node_prepare(size_t);
/* Listen at its port, as one of all. */
void node_join(size_t);
void node_start(size_t);             /* both of the below */
void node_open_door(size_t);
void node_open_engine(size_t);
void node_drain(size_t);             /* sets `drained`, then `closed` */
void node_stop(size_t);

/* A call, as the client sees it.  Zero it; heard_free() in the end. */
struct heard {
	struct grpc_call *call;          /* NULL: it is over */
	bool over, stop;                 /* stop: pause after each message */
	enum grpc_code code;
	char text[300];
	uint64_t messages;
	struct buf last;                 /* the last one */
	uint64_t statuses[3];            /* of acknowledgements, by status */
	struct buf order, ids;           /* ... a byte, "ID " for each */
	void (*more)(struct heard *);     /* there is room again */
};
/* `left` (may be NULL) when the connection is lost. */
struct grpc_port *client_connect(const struct node *,
    void (*left)(struct grpc_port *));
void heard_begin(struct heard *, struct grpc_port *, const char *rpc,
    const struct grpc_field *);      /* NULL: no metadata */
void heard_free(struct heard *);
/* The message's bytes.  Memory: t.arena. */
struct str packed(const void *message);

#endif
