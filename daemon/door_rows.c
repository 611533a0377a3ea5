#include "daemon/door_rows.h"

/* In the order of the console's list. */
static const struct serve_door *const doors[] = {
#if DOOR_REALTIME
	&serve_realtime,
#endif
#if DOOR_URLFRONTIER
	&serve_urlfrontier,
#endif
	NULL
};

#define EACH_DOOR(door) \
	for (const struct serve_door *const *door = doors; *door != NULL; \
	    door++)

const struct serve_door *
serve_doors_nth(size_t i)
{
	return i < ARRAY_LEN(doors) ? doors[i] : NULL;
}

int
serve_doors_count(void)
{
	return (int)ARRAY_LEN(doors) - 1;
}

enum err
serve_doors_open(struct serve_doors *d, struct why *w)
{
	enum err e = OK;

	EACH_DOOR(door)
		if (e == OK && (*door)->open != NULL)
			e = (*door)->open(d, w);
	return e;
}

size_t
serve_doors_routes(struct serve_doors *d,
    struct web_route rows[static SERVE_DOORS_ROUTES_MAX],
    struct web_options *web)
{
	size_t n = 0;

	EACH_DOOR(door)
		if ((*door)->routes != NULL)
			n += (*door)->routes(d, rows + n, web);
	CHECK(n <= SERVE_DOORS_ROUTES_MAX);
	return n;
}

void
serve_doors_port(struct serve_doors *d, struct web *web, const char *address)
{
	d->web = web;
	d->web_address = address;
	EACH_DOOR(door)
		if ((*door)->port != NULL)
			(*door)->port(d);
}

void
serve_doors_read(struct serve_doors *d, struct engine *engine)
{
	EACH_DOOR(door)
		if ((*door)->read != NULL)
			(*door)->read(d, engine);
}

void
serve_doors_ready(struct serve_doors *d, struct engine *engine)
{
	EACH_DOOR(door)
		if ((*door)->ready != NULL)
			(*door)->ready(d, engine);
}

enum err
serve_doors_reload(struct serve_doors *d, struct why *w)
{
	enum err e = OK;

	EACH_DOOR(door)
		if (e == OK && (*door)->reload != NULL)
			e = (*door)->reload(d, w);
	return e;
}

void
serve_doors_drain(struct serve_doors *d, void (*drained)(void *arg), void *arg)
{
	EACH_DOOR(door)
		if ((*door)->drain != NULL)
			(*door)->drain(d, drained, arg);
		else
			drained(arg);
}

void
serve_doors_drain_port(struct serve_doors *d, void (*drained)(void *arg),
    void *arg)
{
	EACH_DOOR(door)
		if ((*door)->drain_port != NULL)
			(*door)->drain_port(d, drained, arg);
		else
			drained(arg);
}

void
serve_doors_free(struct serve_doors *d)
{
	EACH_DOOR(door)
		(*door)->free(d);
}
