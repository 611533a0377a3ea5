/*
 * floor -- what the two floor programs share; see floor.c.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "base/bytes.h"

#define FLOOR_CONNECTIONS_MAX 256

struct floor_task {
	char *host, *port;         /* of the base URL */
	char *base;                /* "http://127.0.0.1:8399", no "/" behind */
	char **paths;
	size_t paths_n;
	size_t paths_max;          /* more are left out */
	const char *ca;            /* PEM; NULL: no TLS */
	size_t connections;
	size_t next;               /* path to be asked for */
	uint64_t fetched, failed, bytes;
};

/* The next path, or NULL. */
const char *floor_next(struct floor_task *);
/* Fetch all of them. */
void floor_curl(struct floor_task *);
void floor_epoll(struct floor_task *);

#endif
