/*
 * reload -- what a daemon does at SIGHUP: it opens its log anew, and
 * reads the configuration and the certificates again.
 *
 * Settings without the flag RESTART are taken over; for the others the log says
 * that they wait for a restart.  A file that cannot be read, or a value that is
 * wrong, changes nothing.
 *
 * Thread: home's.
 */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "cli/cli.h"
#include "engine/engine.h"
#include "server/door.h"

struct serve_reload {
	struct cli *cli;
	struct engine *engine;           /* NULL: not open yet */
	struct web *web;                 /* NULL: no port */
	struct door_host *doors;
	struct serve_reload_kept *kept;  /* values no longer in force */
};

void serve_reload(struct serve_reload *);
/* When nothing can refer to an old value any more: after engine_free(). */
void serve_reload_free(struct serve_reload *);

#endif
