/* The console as a row of the table of doors.  Lists show it with realtime. */
#include "doors/console/console.h"

static enum err
open_door(const struct door_host *h, void **door, struct why *w)
{
	(void)w;
	if (conf_address(h->conf, CONF_HTTP_LISTEN).host.n > 0)
		*door = console_open(h);
	return OK;
}

static void
data_read(void *door, struct engine *e)
{
	console_ready(door, e);
}

static void
drain_door(void *door, void (*drained)(void *arg), void *arg)
{
	console_drain(door, drained, arg);
}

static void
free_door(void **door)
{
	console_free((struct console **)door);
}

const struct door door_console = {
	.name = "console",
	.help = "A web page for people, at http.listen.",
	.may_read = "see configuration, log, doors, tokens' names, and "
	    "/metrics and /status",
	.may_write = "make and revoke tokens, of any scope",
	.open = open_door,
	.routes = console_routes, .routes_n = CONSOLE_ROUTES,
	.data_read = data_read, .drain = drain_door, .free = free_door,
};
