/*
 * routes -- the one table of what port 8001 answers.  A door registers
 * its routes by a row here.
 *
 * Thread: home's.
 */
#ifndef DAEMON_ROUTES_H
#define DAEMON_ROUTES_H

#include "engine/engine.h"
#include "server/web.h"

struct served {
	/* Append the JSON object of /status. */
	void (*status)(void *arg, struct buf *out);
	/* Append what the start is doing; false once everything is served. */
	bool (*loading)(void *arg, struct buf *out);
	void *arg;
	enum engine_health health;
};

/* The rows; they are the served's and last until the port is closed. */
#define SERVE_ROUTES_MAX 16
size_t serve_routes(struct served *, struct web_route
    rows[static SERVE_ROUTES_MAX]);
/* The row of /metrics alone. */
void serve_figures_route(struct web_route *);

#endif
