#include "server/door.h"

static const struct door *const *table;
static size_t table_n;

void
doors_use(const struct door *const *doors, size_t n)
{
	CHECK(n <= DOORS_MAX && table == NULL);
	table = doors;
	table_n = n;
	for (size_t i = 0; i < n; i++) {
		const struct door *d = doors[i];
		(void)token_door_add(d->name);
		if (d->settings_n > 0)
			conf_add(d->name, d->settings, d->settings_n);
	}
}

const struct door *
doors_nth(size_t i)
{
	return i < table_n ? table[i] : NULL;
}

static bool
is_of_http_port(const struct door *d)
{
	return d->routes_n > 0 || d->sockets_n > 0;
}

bool
doors_want_scripts(const struct conf *c)
{
	for (size_t i = 0; i < table_n; i++)
		if (table[i]->scripts != NULL && table[i]->scripts(c))
			return true;
	return false;
}

enum err
doors_open(struct door_host *h, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < table_n; i++)
		e = table[i]->open(h, &h->doors[i], w);
	return e;
}

/* --- rows of the HTTP port ---------------------------------------------- */

static size_t
put_routes(const struct door *d, void *self, struct web_route *rows)
{
	for (size_t i = 0; i < d->routes_n; i++) {
		rows[i] = d->routes[i];
		rows[i].arg = self;
		if (rows[i].door == TOKEN_DOOR_OWN)
			rows[i].door = token_door_add(d->name);
	}
	return d->routes_n;
}

static size_t
put_sockets(const struct door *d, void *self, struct web_socket_path *rows)
{
	for (size_t i = 0; i < d->sockets_n; i++) {
		rows[i] = d->sockets[i];
		rows[i].arg = self;
		if (rows[i].door == TOKEN_DOOR_OWN)
			rows[i].door = token_door_add(d->name);
	}
	return d->sockets_n;
}

struct web_route *
doors_routes(const struct door_host *h, const struct web_route *first,
    size_t *n, struct web_options *o, struct arena *a)
{
	size_t routes_n = *n, sockets_n = 0;

	for (size_t i = 0; i < table_n; i++) {
		routes_n += table[i]->routes_n;
		sockets_n += table[i]->sockets_n;
	}
	struct web_route *routes = ARENA_ARRAY(a, struct web_route,
	    routes_n + 1);
	struct web_socket_path *sockets = ARENA_ARRAY(a,
	    struct web_socket_path, sockets_n + 1);
	if (*n > 0)
		memcpy(routes, first, *n * sizeof(*routes));
	for (size_t i = 0; i < table_n; i++) {
		if (h->doors[i] == NULL)
			continue;
		*n += put_routes(table[i], h->doors[i], routes + *n);
		o->sockets_n += put_sockets(table[i], h->doors[i],
		    sockets + o->sockets_n);
	}
	o->sockets = sockets;
	return routes;
}

/* --- the steps of a door's life ----------------------------------------- */

void
doors_data_read(struct door_host *h, struct engine *e)
{
	for (size_t i = 0; i < table_n; i++)
		if (h->doors[i] != NULL && table[i]->data_read != NULL)
			table[i]->data_read(h->doors[i], e);
}

void
doors_ready(struct door_host *h, struct engine *e)
{
	for (size_t i = 0; i < table_n; i++)
		if (h->doors[i] != NULL && table[i]->ready != NULL)
			table[i]->ready(h->doors[i], e);
}

enum err
doors_reload(struct door_host *h, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < table_n; i++)
		if (h->doors[i] != NULL && table[i]->reload != NULL)
			e = table[i]->reload(h->doors[i], w);
	return e;
}

void
doors_stop(struct door_host *h)
{
	for (size_t i = 0; i < table_n; i++)
		if (h->doors[i] != NULL && table[i]->stop != NULL)
			table[i]->stop(h->doors[i]);
}

static void
door_drained(void *gate)
{
	drain_gate_leave(gate);
}

void
doors_drain(struct door_host *h, bool of_http_port, struct drain_gate *gate)
{
	for (size_t i = 0; i < table_n; i++) {
		if (h->doors[i] == NULL || table[i]->drain == NULL ||
		    is_of_http_port(table[i]) != of_http_port)
			continue;
		drain_gate_enter(gate);
		table[i]->drain(h->doors[i], door_drained, gate);
	}
}

void
doors_free(struct door_host *h)
{
	for (size_t i = 0; i < table_n; i++)
		if (h->doors[i] != NULL)
			table[i]->free(&h->doors[i]);
}

/* --- status -------------------------------------------------------------- */

/* The door and how many requests its routes have answered. */
struct route_sum {
	const void *door;
	uint64_t n;
};

static void
add_route(void *arg, const struct web_route *route, int status, uint64_t n)
{
	struct route_sum *sum = arg;

	(void)status;
	if (route != NULL && route->arg == sum->door)
		sum->n += n;
}

bool
doors_status(const struct door_host *h, size_t i, struct door_status *out)
{
	const struct door *d = table[i];
	struct route_sum sum = { h->doors[i], 0 };
	bool http = is_of_http_port(d);

	*out = (struct door_status){ .name = d->name, .module = d->name,
	    .state = "closed", .address = "" };
	if (d->status == NULL)
		return false;
	if (sum.door != NULL && (!http || h->web != NULL)) {
		out->state = h->stopping ? "draining" : "open";
		out->counted = true;
		out->address = http ? h->web_address : "";
		if (http)
			web_route_counts(h->web, add_route, &sum);
		out->requests = sum.n;
	}
	d->status(h->doors[i], out);
	return true;
}

void
doors_details(const struct door_host *h, size_t i, struct buf *json)
{
	if (h->doors[i] != NULL && table[i]->details != NULL)
		table[i]->details(h->doors[i], json);
}
