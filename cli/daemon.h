/*
 * daemon -- commands for a running daemon: one realtime command by POST, one
 * answer (GET /realtime/commands lists them).
 *
 * The daemon of the data directory is found by its serve.json, whose key lets
 * its own user in; --server and --token-file reach any other.
 *
 * Thread: the main one.
 */
#ifndef CLI_DAEMON_H
#define CLI_DAEMON_H

#include "cli/cli.h"

#define DAEMON_OPTIONS(X)                                                    \
	X(SERVER, "server", 0, "URL", TEXT, 0, 0,                            \
	    "the daemon at http://HOST:8001/, in place of the one that "     \
	    "serves the data directory")                                     \
	X(TOKEN_FILE, "token-file", 0, "FILE", PATH, 0, 0,                   \
	    "a file that holds a token for it (argiope token add)")

/*
 * Send a command with `args`, a JSON object.  `*data` is that of the answer
 * and lasts until the next command.  Errors: UNREACHED when no daemon runs
 * there; else what the daemon says: INPUT, ABSENT, STATE, FULL, DENIED, IO.
 */
MUST_USE enum err daemon_command(struct cli *, const char *command,
    struct str args, yyjson_val **data, struct why *);

/* Whether a daemon that is ready serves the data directory.  Errors: those of
 * the configuration. */
MUST_USE enum err daemon_is_there(struct cli *, bool *is, struct why *);

/* Print an answer as one line of JSON. */
void daemon_print(yyjson_val *data);

#endif
