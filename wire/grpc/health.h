/*
 * health -- grpc.health.v1.Health: whether services are served, on request
 * (Check) and from now on (Watch).
 *
 * Thread: of the sessions that ask; with sessions on several threads each has
 * a health of its own.
 * Limits: HEALTH_SERVICES_MAX names; watchers are calls of their sessions.
 * Source: grpc/health/v1/health.proto, gRPC's doc/health-checking.md.
 */
#ifndef WIRE_GRPC_HEALTH_H
#define WIRE_GRPC_HEALTH_H

#include "wire/grpc/grpc.h"

#define HEALTH_SERVICES_MAX 16

enum health_status { HEALTH_UNKNOWN, HEALTH_SERVING, HEALTH_NOT_SERVING,
	HEALTH_SERVICE_UNKNOWN };

struct health;
/* Its methods are added to the server, ungated. */
struct health *health_new(struct grpc_server *);
/* After the server's sessions. */
void health_free(struct health **);
/* "" is the server as such.  Watchers are told when it changed. */
void health_set(struct health *, const char *service, enum health_status);

#endif
