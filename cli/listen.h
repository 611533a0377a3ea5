/*
 * listen -- the option --listen of verbs that serve in the foreground.
 *
 * Thread: the main one.
 */
#ifndef CLI_LISTEN_H
#define CLI_LISTEN_H

#include "cli/cli.h"

/*
 * Read --listen, or `otherwise`: "127.0.0.1:3333" or "[::1]:3333".  The address
 * is returned without brackets and is not checked.  Memory: the cli's.  Errors:
 * USAGE, when there is no port.
 */
MUST_USE enum err listen_read(struct cli *, const char *otherwise,
    const char **address, uint16_t *port, struct why *);

#endif
