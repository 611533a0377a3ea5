/*
 * items_door_testing -- for tests: the items door over a directory of its own,
 * or a PostgreSQL server of its own when the test gets the argument
 * `postgresql`, and a real HTTP port on a loop of its own thread, and a client
 * of raw sockets (server/web_testing.h).
 */
#ifndef DOORS_ITEMS_ITEMS_DOOR_TESTING_H
#define DOORS_ITEMS_ITEMS_DOOR_TESTING_H

#include "server/web_testing.h"

#include "base/json.h"
#include "os/postgresql_testing.h"
#include "server/door.h"

/* The exit code of a test program.  `failed`: an expression that runs its test
 * groups and adds up their failures; it is evaluated after the server has been
 * started.  Without PostgreSQL the program is skipped. */
#define items_rig_main(argc, argv, failed) \
	(!items_rig_start(argc, argv) ? POSTGRESQL_TEST_SKIP : \
	items_rig_end(failed))
bool items_rig_start(int argc, char **argv);
int items_rig_end(int failed);

/*
 * Open the door with the settings, "name=value", up to NULL.  The configuration
 * has the tasks a:fetch (remote), a:norm (remote, depends on a:fetch) and
 * b:check (remote), and the tags page (a:fetch, a:norm) and check (b:check).
 */
void items_rig_open(const char *const *settings);
/* As the daemon ends: stop, drain, free; all must be answered. */
void items_rig_close(void);
/* Close and open again, on the same directory; settings or NULL. */
void items_rig_again(const char *const *settings);
/* SIGTERM has come: stop(), while the port still serves. */
void items_rig_stop(void);
/* The door's status line; until the next call. */
const char *items_rig_note(void);
/* That a metric, "name" or "name{label=\"value\"}", is not 0. */
void items_rig_counted(const char *metric);
/* The metric of refusals at a limit. */
#define ITEMS_REFUSED(limit) \
	"argiope_items_door_limits_total{limit=\"" limit "\"}"
/* Replace the configuration's file; ' for ". */
void items_rig_config(const char *json);
int items_rig_setup(void **state);
int items_rig_teardown(void **state);

/*
 * Send "METHOD /path", with more header lines ("Accept: x\r\n", or NULL) and a
 * body (' for "; NULL: none; of the type JSON unless the lines have one), on a
 * connection of its own; the status must be that one.  The body of the answer,
 * valid until the next call.
 */
const char *items_say(int status, const char *request, const char *lines,
    const char *body);
/* The same with an exact body. */
const char *items_say_bytes(int status, const char *request, const char *lines,
    struct str body);
/* The same; the answer must contain the text (' for "). */
void items_want(int status, const char *request, const char *body,
    const char *text);
/* The head of the last answer. */
extern char items_head[4096];
/* The text, number or word at a JSON pointer of the last answer; "" when there
 * is nothing there. */
const char *items_at(const char *pointer);
/* A name as a segment of a path, encoded: the first byte, and all that are no
 * letters or digits. */
const char *items_segment(struct str name);

#endif
