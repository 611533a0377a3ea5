/*
 * The realtime door and the console, which speaks its protocol, as a row of the
 * daemon's table.
 */
#include "daemon/door_rows.h"
#include "doors/console/console.h"
#include "doors/realtime/realtime.h"

_Static_assert(CONSOLE_ROUTES + REALTIME_ROUTES <= SERVE_DOORS_ROUTES_MAX,
    "SERVE_DOORS_ROUTES_MAX is too small");

static bool
list_nth(void *arg, size_t i, struct console_door *out)
{
	const struct serve_door *door = serve_doors_nth(i);

	if (door != NULL)
		door->list(arg, out);
	return door != NULL;
}

static enum err
open_console(struct serve_doors *d, struct why *w)
{
	struct console_options o = { .conf = d->conf, .door = list_nth,
	    .arg = d };

	(void)w;
	d->console = console_open(&o);
	return OK;
}

static size_t
put_routes(struct serve_doors *d, struct web_route *rows,
    struct web_options *web)
{
	struct realtime_options o = { .conf = d->conf, .home = d->home,
	    .data_dir = d->data_dir };

	console_routes(d->console, rows);
	d->realtime = realtime_open(&o);
	realtime_routes(d->realtime, rows + CONSOLE_ROUTES);
	web->socket = &realtime_socket;
	web->socket_arg = d->realtime;
	return CONSOLE_ROUTES + REALTIME_ROUTES;
}

static void
take_port(struct serve_doors *d)
{
	realtime_port(d->realtime, d->web);
}

static void
data_read(struct serve_doors *d, struct engine *engine)
{
	console_ready(d->console, engine);
	if (d->web != NULL)
		realtime_ready(d->realtime, engine);
}

static void
list_door(const struct serve_doors *d, struct console_door *out)
{
	struct web_counts n = { 0 };
	bool open = d->web != NULL;

	if (open)
		web_counts(d->web, &n);
	*out = (struct console_door){
		.name = "console and realtime", .module = "web",
		.state = !open ? "closed" : d->stopping ? "draining" : "open",
		.address = open ? d->web_address : "",
		.counted = open, .requests = n.requests,
	};
}

static void
part_drained(void *arg)
{
	struct serve_doors *d = arg;

	if (--d->draining == 0)
		d->drained(d->drained_arg);
}

static void
drain_port(struct serve_doors *d, void (*drained)(void *arg), void *arg)
{
	d->draining = 2;
	d->drained = drained;
	d->drained_arg = arg;
	console_drain(d->console, part_drained, d);
	realtime_drain(d->realtime, part_drained, d);
}

static void
free_door(struct serve_doors *d)
{
	console_free(&d->console);
	realtime_free(&d->realtime);
}

const struct serve_door serve_realtime = {
	.open = open_console, .routes = put_routes, .port = take_port,
	.read = data_read, .list = list_door, .drain_port = drain_port,
	.free = free_door,
};
