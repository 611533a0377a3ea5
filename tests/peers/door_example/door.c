/*
 * The example door: GET /example greets, GET /example/slow greets after half a
 * second, and the WebSocket /example sends back what it is sent.
 */
#include "os/clock.h"
#include "os/loop.h"
#include "server/door.h"

#define SLOW_MS 500

struct example {
	const struct door_host *host;
	struct drain_gate slow;      /* requests that are not answered yet */
	unsigned greetings;
};

/* A request whose answer waits for a timer. */
struct slow_request {
	struct timer timer;
	struct example *door;
	struct web_request *request;
};

static const struct setting settings[] = {
	{ "example.greeting", CONF_STRING, "Hello", 1, 40, "text", CONF_RESTART,
	    "What the example door says first." },
};

/* --- HTTP ---------------------------------------------------------------- */

static void
answer(struct example *d, struct web_request *r)
{
	struct str name = STR("world");
	struct buf b = BUF_INIT;

	(void)!web_param(r, "name", &name);
	buf_printf(&b, "%s, %.*s!\n", conf_str(d->host->conf,
	    conf_id_of(&settings[0])).p, STR_FMT(name));
	d->greetings++;
	web_answer(r, 200, "text/plain", buf_str(&b));
	buf_free(&b);
}

static void
get_greeting(struct web_request *r)
{
	answer(web_arg(r), r);
}

static void
answer_late(struct timer *t)
{
	struct slow_request *s = CONTAINER(t, struct slow_request, timer);
	struct example *d = s->door;

	answer(d, s->request);
	mem_free(&s);
	drain_gate_leave(&d->slow);
}

static void
get_slowly(struct web_request *r)
{
	struct slow_request *s = mem_new(sizeof(*s));

	s->timer.fire = answer_late;
	s->door = web_arg(r);
	s->request = r;
	drain_gate_enter(&s->door->slow);
	loop_timer_set(s->door->host->home, &s->timer,
	    mono_add_ms(clock_mono(), SLOW_MS));
}

static const struct web_route routes[] = {
	{ .method = "GET", .path = "/example", .handle = get_greeting,
	    .help = "a greeting", .door = TOKEN_DOOR_OWN },
	{ .method = "GET", .path = "/example/slow", .handle = get_slowly,
	    .help = "the same, later", .door = TOKEN_DOOR_OWN },
};

/* --- the WebSocket ------------------------------------------------------- */

static void *
socket_open(struct web_socket *s)
{
	return web_socket_owner(s);
}

static void
socket_message(struct web_socket *s, struct str text)
{
	web_socket_put(s, &text, 1);
}

static const struct web_socket_events events = { .open = socket_open,
	.message = socket_message };
static const struct web_socket_path sockets[] = {
	{ "/example", &events, TOKEN_DOOR_OWN, NULL },
};

/* --- the row ------------------------------------------------------------- */

static enum err
open_door(const struct door_host *h, void **door, struct why *w)
{
	struct example *d = mem_new(sizeof(*d));

	(void)w;
	d->host = h;
	*door = d;
	return OK;
}

static void
put_status(void *door, struct door_status *out)
{
	const struct example *d = door;

	if (d != NULL)
		snprintf(out->note, sizeof(out->note), "%u greetings",
		    d->greetings);
}

static void
drain_door(void *door, void (*drained)(void *arg), void *arg)
{
	drain_gate_close(&((struct example *)door)->slow, drained, arg);
}

static void
free_door(void **door)
{
	mem_free(door);
}

const struct door door_example = {
	.name = "example", .help = "A door that greets, at http.listen.",
	.may_read = "be greeted",
	.settings = settings, .settings_n = ARRAY_LEN(settings),
	.routes = routes, .routes_n = ARRAY_LEN(routes),
	.sockets = sockets, .sockets_n = ARRAY_LEN(sockets),
	.open = open_door, .status = put_status, .drain = drain_door,
	.free = free_door,
};
