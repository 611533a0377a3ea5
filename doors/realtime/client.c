/*
 * Clients: what is sent to a socket, in which order, and how much at once.
 *
 * A response is sent before any event.  A big item that has been begun is sent
 * to its end.  Otherwise senders take turns, one message each, while the socket
 * has room.  A socket that is blocked gets no event: its buffer would only grow
 * by what a client that has stopped reading may never take, and copying that
 * for each such client delays the events of all others.
 */
#include "doors/realtime/own.h"
#include "doors/realtime/item_stream.h"

/* --- putting ------------------------------------------------------------ */

static bool
fits(struct client *c, size_t n, size_t most)
{
	size_t held = web_socket_held(c->socket);

	return held == 0 || held + n <= most;
}

bool
client_fits(struct client *c, size_t n)
{
	return !web_socket_blocked(c->socket) &&
	    fits(c, n, REALTIME_HELD_BYTES_MAX);
}

void
client_put(struct client *c, const struct str *parts, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += parts[i].n;
	meter_bytes(bytes);
	web_socket_put(c->socket, parts, n);
}

void
client_event_head(struct buf *b, const struct sub *sub, const char *event)
{
	json_object(b, NULL);
	json_str(b, "type", STR("event"));
	if (event != NULL)
		json_str(b, "event", str_of(event));
	json_u64(b, "subscription_id", sub->id);
	json_name(b, "data");
}

/* Wakes the senders that waited for the number of a crawl just begun. */
static void
release_behind(struct client *c)
{
	c->beginning = false;
	list_move_all(&c->ready, &c->behind);
}

/*
 * Output that does not fit now is sent once the socket holds less.  The socket
 * calls back if it was full; if it was not, it is checked again for as long as
 * it keeps draining.
 */
static void
look_again(struct client *c)
{
	size_t held = web_socket_held(c->socket);

	if (held != c->held_then)
		web_socket_wake(c->socket);
	c->held_then = held;
}

/* False: it has to wait. */
static bool
put_response(struct client *c)
{
	if (c->response.n == 0)
		return true;
	if (item_stream_begun(c->stream))
		return false;
	if (!fits(c, c->response.n, RESPONSE_HELD_MAX)) {
		look_again(c);
		return false;
	}
	struct str whole = buf_str(&c->response);
	client_put(c, &whole, 1);
	buf_free(&c->response);
	release_behind(c);
	return true;
}

/* Call this last: the next command may arrive at once. */
static void
let_commands_in(struct client *c)
{
	bool hold = c->task != NULL || c->response.n > 0 ||
	    web_socket_room(c->socket) == 0;

	if (hold == c->holding)
		return;
	c->holding = hold;
	web_socket_hold(c->socket, hold);
}

void
client_respond(struct client *c, struct buf *response)
{
	CHECK(c->response.n == 0);
	c->response = *response;
	*response = BUF_INIT;
	(void)put_response(c);
	web_socket_wake(c->socket);
}

/* --- senders ------------------------------------------------------------ */

void
sender_init(struct sender *s, struct sub *sub,
    enum sent (*send)(struct sender *))
{
	list_init(&s->node);
	s->sub = sub;
	s->send = send;
}

void
sender_ready(struct sender *s)
{
	struct client *c = s->sub->client;

	list_take(&s->node);
	list_put(&c->ready, &s->node);
	web_socket_wake(c->socket);
}

void
sender_wait(struct sender *s, struct list *where)
{
	list_take(&s->node);
	list_put(where, &s->node);
}

bool
sender_may_read(struct sender *s)
{
	struct client *c = s->sub->client;

	if (c->reads < REALTIME_READS_MAX) {
		c->reads++;
		return true;
	}
	sender_wait(s, &c->crowded);
	return false;
}

void
client_read_done(struct client *c)
{
	CHECK(c->reads > 0);
	c->reads--;
	if (list_empty(&c->crowded))
		return;
	sender_ready(LIST_ITEM(c->crowded.next, struct sender, node));
}

/* Sends one message of the first ready sender.  False: no sender can go on. */
static bool
send_one(struct client *c)
{
	struct list *node = c->ready.next;

	if (node == &c->ready || item_stream_begun(c->stream))
		return false;
	struct sender *s = LIST_ITEM(node, struct sender, node);
	if (s->broad && c->beginning) {
		sender_wait(s, &c->behind);
		return true;
	}
	/* The sender may end its subscription and be freed. */
	list_take(node);
	list_put(&c->ready, node);
	switch (s->send(s)) {
	case SENT_MORE:
	case SENT_IDLE:
		return true;
	case SENT_FULL:
		break;
	}
	list_take(node);
	list_put(c->ready.next, node);
	look_again(c);
	return false;
}

static void
room(struct web_socket *socket)
{
	struct client *c = web_socket_arg(socket);

	item_stream_go_on(c->stream);
	if (put_response(c))
		while (web_socket_room(socket) > 0 && send_one(c))
			;
	let_commands_in(c);
}

/* --- subscriptions ------------------------------------------------------ */

/* The numbers of one connection are mostly consecutive. */
static void
own(struct client *c, uint64_t id)
{
	if (c->ranges_n > 0 && c->ranges[c->ranges_n - 1].to + 1 == id) {
		c->ranges[c->ranges_n - 1].to = id;
		return;
	}
	if (c->ranges_n == RANGES_MAX) {
		c->ranges_n--;
		memmove(c->ranges, c->ranges + 1,
		    c->ranges_n * sizeof(*c->ranges));
	}
	if ((c->ranges_n & (c->ranges_n - 1)) == 0)
		c->ranges = mem_resize(c->ranges,
		    MIN(MAX(1, c->ranges_n * 2), RANGES_MAX),
		    sizeof(*c->ranges));
	c->ranges[c->ranges_n++] = (struct range){ id, id };
}

bool
client_owned(const struct client *c, uint64_t id)
{
	for (size_t i = c->ranges_n; i-- > 0;)
		if (id >= c->ranges[i].from)
			return id <= c->ranges[i].to;
	return false;
}

bool
sub_begin(struct sub *sub, struct task *t, enum sub_kind kind,
    void (*free)(struct sub *))
{
	struct client *c = sub->client = t->client;

	if (c->subs_n >= REALTIME_SUBSCRIPTIONS_MAX) {
		free(sub);
		return task_fail(t, CODE_LIMIT, "This connection has %d "
		    "subscriptions already.", REALTIME_SUBSCRIPTIONS_MAX);
	}
	sub->id = c->door->next_sub++;
	sub->kind = kind;
	sub->free = free;
	sub->closed_event = t->command.closed_event;
	list_put(&c->subs, &sub->node);
	c->subs_n++;
	own(c, sub->id);
	meter_subscription(kind, 1);
	return true;
}

void
sub_answer(struct task *t, uint64_t id)
{
	json_u64(task_data(t), "subscription_id", id);
	task_answer(t);
}

void
sub_send(struct sub *sub, struct buf *event)
{
	struct str whole = buf_str(event);

	client_put(sub->client, &whole, 1);
	meter_event(sub->kind);
	buf_free(event);
}

void
sub_end(struct sub *sub)
{
	list_take(&sub->node);
	sub->client->subs_n--;
	meter_subscription(sub->kind, -1);
	sub->free(sub);
}

bool
sub_close_fits(struct sub *sub)
{
	return client_fits(sub->client, 400);
}

void
sub_close(struct sub *sub, uint32_t crawl, const char *reason,
    struct str token)
{
	struct buf b = BUF_INIT;

	client_event_head(&b, sub, "subscription_closed");
	buf_put_char(&b, '{');
	json_u64(&b, "crawl_id", crawl);
	json_str(&b, "reason", str_of(reason));
	if (token.n > 0)
		json_str(&b, "sync_token", token);
	buf_put_text(&b, "}}");
	sub_send(sub, &b);
	sub_end(sub);
}

void
verb_unsubscribe(struct task *t)
{
	uint64_t id = t->command.subscription_id;
	struct client *c = t->client;

	if (!client_owned(c, id)) {
		task_fail(t, CODE_UNKNOWN_SUBSCRIPTION,
		    "This connection has no subscription %llu.",
		    (unsigned long long)id);
		return;
	}
	LIST_EACH(sub, &c->subs, struct sub, node) {
		if (sub->id == id) {
			sub_end(sub);
			break;
		}
	}
	sub_answer(t, id);
}

/* --- sockets ------------------------------------------------------------ */

static void *
opened(struct web_socket *socket)
{
	struct realtime *d = web_socket_owner(socket);
	struct client *c = mem_new(sizeof(*c));

	c->door = d;
	c->socket = socket;
	list_init(&c->subs);
	list_init(&c->ready);
	list_init(&c->crowded);
	list_init(&c->streaming);
	list_init(&c->behind);
	list_put(&d->clients, &c->node);
	meter_connections(1);
	return c;
}

static void
message(struct web_socket *socket, struct str text)
{
	struct client *c = web_socket_arg(socket);

	CHECK(c->task == NULL && c->response.n == 0);
	if (c->door->draining)
		return;
	if (!web_socket_may(socket, TOKEN_READ)) {
		web_socket_close(socket, 1008, "the token was revoked");
		return;
	}
	task_run(c, text);
	let_commands_in(c);
}

void
client_quiet(struct client *c)
{
	if (c->task != NULL) {
		c->task->client = NULL;
		atomic_store(&c->task->left, true);
	}
	c->task = NULL;
	while (!list_empty(&c->subs))
		sub_end(LIST_POP(&c->subs, struct sub, node));
	item_stream_drop(&c->stream);
}

static void
closed(struct web_socket *socket, int code)
{
	struct client *c = web_socket_arg(socket);

	meter_connections(-1);
	meter_closed(code);
	list_take(&c->node);
	client_quiet(c);
	buf_free(&c->response);
	mem_free(&c->ranges);
	mem_free(&c);
}

const struct web_socket_events realtime_socket = {
	.open = opened, .message = message, .room = room, .closed = closed,
};
