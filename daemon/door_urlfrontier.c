/* The urlfrontier door as a row of the daemon's table. */
#include "base/metric.h"
#include "daemon/door_rows.h"
#include "doors/console/console.h"
#include "doors/urlfrontier/urlfrontier.h"
#include "os/log.h"

static enum err
open_door(struct serve_doors *d, struct why *w)
{
	struct urlfrontier_options o = { .conf = d->conf, .home = d->home,
	    .tokens = d->tokens };

	return urlfrontier_open(&o, &d->urlfrontier, w);
}

static void
ready_door(struct serve_doors *d, struct engine *engine)
{
	if (d->urlfrontier == NULL)
		return;
	const char *address = urlfrontier_address(d->urlfrontier);
	urlfrontier_ready(d->urlfrontier, engine_frontier(engine), d->tokens);
	printf("argiope serves urlfrontier %s\n", address);
	fflush(stdout);
	log_info("serve.door", "door=urlfrontier address=%s", address);
}

static enum err
reload_door(struct serve_doors *d, struct why *w)
{
	return d->urlfrontier == NULL ? OK :
	    urlfrontier_reload(d->urlfrontier, w);
}

/* Add the calls that have ended. */
static void
add_calls(const struct metric *m, void *arg)
{
	uint64_t *n = arg;

	if (strcmp(m->name, "frontier_rpc_seconds") == 0)
		for (size_t i = 0; i < m->labels_n; i++)
			*n += (uint64_t)metric_value(m, i);
}

static void
list_door(const struct serve_doors *d, struct console_door *out)
{
	bool open = d->urlfrontier != NULL;

	*out = (struct console_door){
		.name = "urlfrontier", .module = "urlfrontier",
		.state = !open ? "closed" : d->stopping ? "draining" : "open",
		.address = open ? urlfrontier_address(d->urlfrontier) : "",
		.counted = open,
	};
	metric_each(add_calls, &out->requests);
}

static void
drain_door(struct serve_doors *d, void (*drained)(void *arg), void *arg)
{
	if (d->urlfrontier != NULL)
		urlfrontier_drain(d->urlfrontier, drained, arg);
	else
		drained(arg);
}

static void
free_door(struct serve_doors *d)
{
	urlfrontier_free(&d->urlfrontier);
}

const struct serve_door serve_urlfrontier = {
	.open = open_door, .ready = ready_door, .reload = reload_door,
	.list = list_door, .drain = drain_door, .free = free_door,
};
