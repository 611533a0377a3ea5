/* The urlfrontier door as a row of the table of doors. */
#include "base/metric.h"
#include "doors/urlfrontier/urlfrontier_own.h"
#include "engine/engine.h"
#include "os/log.h"

static enum err
open_door(const struct door_host *h, void **door, struct why *w)
{
	return urlfrontier_open(h, (struct urlfrontier **)door, w);
}

static void
start_serving(void *door, struct engine *engine)
{
	struct urlfrontier *d = door;
	const char *address = urlfrontier_address(d);

	urlfrontier_ready(d, engine_frontier(engine), d->tokens);
	printf("argiope serves urlfrontier %s\n", address);
	fflush(stdout);
	log_info("serve.door", "door=urlfrontier address=%s", address);
}

static enum err
reload_door(void *door, struct why *w)
{
	return urlfrontier_reload(door, w);
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
put_status(void *door, struct door_status *out)
{
	if (door != NULL)
		out->address = urlfrontier_address(door);
	metric_each(add_calls, &out->requests);
}

static void
drain_door(void *door, void (*drained)(void *arg), void *arg)
{
	urlfrontier_drain(door, drained, arg);
}

static void
free_door(void **door)
{
	urlfrontier_free((struct urlfrontier **)door);
}

const struct door door_urlfrontier = {
	.name = "urlfrontier",
	.help = "The door for crawlers that speak URL Frontier, over gRPC, at "
	    "urlfrontier.listen.",
	.may_read = "list and count queues and URLs",
	.may_write = "put URLs, take them, and change or delete queues",
	.open = open_door, .ready = start_serving, .reload = reload_door,
	.status = put_status, .drain = drain_door, .free = free_door,
};
