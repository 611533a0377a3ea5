/* The realtime door as a row of the table of doors. */
#include "doors/realtime/own.h"

static enum err
open_door(const struct door_host *h, void **door, struct why *w)
{
	(void)w;
	if (conf_address(h->conf, CONF_HTTP_LISTEN).host.n > 0)
		*door = realtime_open(h);
	return OK;
}

static void
data_read(void *door, struct engine *e)
{
	realtime_ready(door, e);
}

/* It stands for the whole port: the console's requests are counted too. */
static void
put_status(void *door, struct door_status *out)
{
	const struct realtime *d = door;
	struct web_counts n;

	out->name = "console and realtime";
	out->module = "web";
	if (!out->counted)
		return;
	web_counts(d->host->web, &n);
	out->requests = n.requests;
}

static void
drain_door(void *door, void (*drained)(void *arg), void *arg)
{
	realtime_drain(door, drained, arg);
}

static void
free_door(void **door)
{
	realtime_free((struct realtime **)door);
}

/* The clients of 2016 connect to whatever path they like. */
static const struct web_socket_path sockets[] = {
	{ "*", &realtime_socket, TOKEN_DOOR_REALTIME, NULL },
};

const struct door door_realtime = {
	.name = "realtime",
	.help = "The door for programs that begin, follow and read crawls over "
	    "a WebSocket, at http.listen.",
	.may_read = "follow and read crawls",
	.may_write = "begin, change and delete crawls",
	.open = open_door,
	.routes = realtime_routes, .routes_n = REALTIME_ROUTES,
	.sockets = sockets, .sockets_n = ARRAY_LEN(sockets),
	.data_read = data_read, .status = put_status, .drain = drain_door,
	.free = free_door,
};
