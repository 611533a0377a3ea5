/*
 * The example door: GET /example greets, also pages of https://pages.example;
 * POST /example counts the bytes of a body as they arrive; the WebSocket
 * /example sends back what it is sent.
 */
#include "server/door.h"

struct example {
	const struct door_host *host;
	struct drain_gate counts;    /* bodies that are not whole yet */
	unsigned greetings;
};

/* A body whose bytes are counted. */
struct count {
	struct web_upload body;
	struct example *door;
	size_t bytes;
};

static const struct setting settings[] = {
	{ "example.greeting", CONF_STRING, "Hello", 1, 40, "text", CONF_RESTART,
	    "What the example door says first." },
};

static void
get_greeting(struct web_request *r)
{
	struct example *d = web_arg(r);

	d->greetings++;
	web_answer(r, 200, "text/plain", conf_str(d->host->conf,
	    conf_id_of(&settings[0])));
}

static struct str
get_origins(struct web_request *r)
{
	(void)r;
	return STR("https://pages.example");
}

static void
end_count(struct web_upload *body)
{
	struct count *c = CONTAINER(body, struct count, body);

	drain_gate_leave(&c->door->counts);
	mem_free(&c);
}

static bool
count_bytes(struct web_upload *body, struct str piece, bool last)
{
	struct count *c = CONTAINER(body, struct count, body);

	c->bytes += piece.n;
	if (last) {
		web_answer(body->request, 200, "text/plain", arena_printf(
		    web_arena(body->request), "%zu bytes", c->bytes));
		end_count(body);
	}
	return true;
}

static void
post_bytes(struct web_request *r)
{
	struct count *c = mem_new(sizeof(*c));

	c->body.piece = count_bytes;
	c->body.cut = end_count;
	c->door = web_arg(r);
	drain_gate_enter(&c->door->counts);
	web_read_body(r, &c->body);
}

static const struct web_route routes[] = {
	{ .method = "GET", .path = "/example", .handle = get_greeting,
	    .help = "a greeting", .door = TOKEN_DOOR_OWN,
	    .origins = get_origins },
	{ .method = "POST", .path = "/example", .handle = post_bytes,
	    .help = "how many bytes there are", .door = TOKEN_DOOR_OWN,
	    .upload = true, .body_bytes_max = 64 << 20 },
};

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
	drain_gate_close(&((struct example *)door)->counts, drained, arg);
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
