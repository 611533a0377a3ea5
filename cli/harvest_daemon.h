/*
 * harvest_daemon -- harvests that the daemon of the data directory does, in
 * place of this process.
 *
 * Thread: the main one.
 */
#ifndef CLI_HARVEST_DAEMON_H
#define CLI_HARVEST_DAEMON_H

#include "cli/cli.h"

/*
 * Have the daemon do this start message, and show its progress and its end as
 * `harvest run` does; the exit code is in the cli.  `into`: an absolute path.
 * An empty message: go on with the newest harvest into it that is not over.
 * Errors: those of daemon_command(); ABSENT.
 */
MUST_USE enum err harvest_daemon_run(struct cli *, struct str message,
    const char *into, struct why *);

#endif
