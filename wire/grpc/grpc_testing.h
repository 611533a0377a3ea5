/*
 * grpc_testing -- a server and a client joined in memory, for tests: the bytes
 * between them are cut at random, the clock is a number.
 *
 * Thread: one.
 */
#ifndef WIRE_GRPC_GRPC_TESTING_H
#define WIRE_GRPC_GRPC_TESTING_H

#include "wire/grpc/grpc.h"

struct joined {
	struct grpc_server *server;
	struct grpc_session *s, *c;
	struct buf up, down;          /* client to server, server to client */
	struct mono now;
	uint64_t random;
	size_t cut_max;               /* of a piece; 1 is byte by byte */
	bool server_failed, client_failed;
	bool client_reads;            /* false: nothing goes down */
};

/* `methods` are added; limits of both sides, NULL the default ones. */
void joined_open(struct joined *, const struct grpc_method *methods, size_t n,
    const struct grpc_limits *server, const struct grpc_limits *client);
void joined_close(struct joined *);
/* Carry bytes until nobody has any. */
void joined_run(struct joined *);
/* Let time pass, with ticks at both sides. */
void joined_wait(struct joined *, int64_t ms);
uint32_t joined_random(struct joined *, uint32_t below);

#endif
