/*
 * Items are read by number from the engine's feed, in batches that all readers
 * of a crawl share.  A batch is given back at once if the socket has no room.
 */
#include "doors/realtime/follow.h"
#include "doors/realtime/item.h"
#include "doors/realtime/item_stream.h"
#include "os/clock.h"

#define TURN_BYTES ((size_t)64 << 10)   /* then others are sent something */

static uint64_t
last(const struct crawl_row *row)
{
	return row->view.item_last;
}

/* --- one item ----------------------------------------------------------- */

static void
sent_one(struct cursor *c, const struct stream_item *i, struct wall now)
{
	c->next = i->number + 1;
	c->resumed = false;
	meter_event(SUB_ITEMS);
	if (i->committed.us > 0)
		meter_latency((now.us - i->committed.us) * 1000);
}

static void
streamed(void *arg, bool failed)
{
	struct why w = WHY_INIT;
	struct cursor *c = arg;

	c->streaming = false;
	if (failed) {
		(void)why(&w, ERR_IO, "the body cannot be read");
		cursor_retry(c, &w);
		return;
	}
	c->next = c->big + 1;
	c->resumed = false;
	meter_event(SUB_ITEMS);
	sender_ready(&c->sender);
}

/* Sends an item whose body is put piece by piece. */
static enum sent
send_big(struct cursor *c, const struct stream_item *i)
{
	struct client *client = c->follow->sub.client;
	FREED(buf_free) struct buf head = BUF_INIT;

	if (client->stream != NULL) {
		sender_wait(&c->sender, &client->streaming);
		return SENT_IDLE;
	}
	list_take(&c->sender.node);
	c->streaming = true;
	c->big = i->number;
	client_event_head(&head, &c->follow->sub, NULL);
	buf_put_str(&head, str_cut(i->text, 0, i->text.n - 1));
	item_stream_open(
	    client, c->crawl, i->number, buf_str(&head), streamed, c);
	return SENT_IDLE;
}

/* --- a batch ------------------------------------------------------------ */

static enum sent
send_batch(struct cursor *c, const struct stream_batch *batch, size_t at)
{
	struct client *client = c->follow->sub.client;
	FREED(buf_free) struct buf head = BUF_INIT;
	enum sent result = SENT_MORE;
	struct wall now = clock_wall();
	size_t bytes = 0;

	client_event_head(&head, &c->follow->sub, NULL);
	for (; at < batch->n && bytes < TURN_BYTES; at++) {
		const struct stream_item *i = &batch->items[at];
		struct str parts[] = { buf_str(&head), i->text, STR("}") };
		if (i->big) {
			result = bytes > 0 ? SENT_MORE : send_big(c, i);
			break;
		}
		if (!client_fits(client, head.n + i->text.n + 1)) {
			result = bytes > 0 ? SENT_MORE : SENT_FULL;
			break;
		}
		client_put(client, parts, ARRAY_LEN(parts));
		bytes += head.n + i->text.n + 1;
		sent_one(c, i, now);
	}
	return result;
}

/* The batch is in the cache now and is taken from there once there is room. */
static void
ready(struct stream_request *w)
{
	struct cursor *c = w->arg;
	struct stream *feed = c->follow->sub.client->door->feed;

	cursor_end_read(c);
	if (w->batch == NULL && w->why.err != OK &&
	    w->why.err != ERR_ABSENT) {
		cursor_retry(c, &w->why);
		return;
	}
	if (w->batch != NULL)
		stream_give_back(feed, &w->batch);
	sender_ready(&c->sender);
}

/* True: the answer is there already. */
static bool
want(struct cursor *c)
{
	const struct realtime *d = c->follow->sub.client->door;
	struct stream_request *w = &c->want;

	*w = (struct stream_request){ .crawl = c->crawl, .from = c->next,
	    .form = d->renderer | c->follow->form, .ready = ready, .arg = c };
	cursor_begin_read(c);
	if (!stream_request(d->feed, w))
		return false;
	cursor_end_read(c);
	/* Back to the ready senders, as the last. */
	list_put(&c->follow->sub.client->ready, &c->sender.node);
	return true;
}

static enum sent
send(struct cursor *c)
{
	struct stream *feed = c->follow->sub.client->door->feed;
	struct stream_request *w = &c->want;

	if (!sender_may_read(&c->sender) || !want(c))
		return SENT_IDLE;
	if (w->batch == NULL && w->why.err != OK &&
	    w->why.err != ERR_ABSENT) {
		cursor_retry(c, &w->why);
		return SENT_IDLE;
	}
	if (w->batch == NULL) {
		sender_wait(&c->sender, &c->watch->waiting);
		return SENT_IDLE;
	}
	enum sent result = send_batch(c, w->batch, w->at);
	stream_give_back(feed, &w->batch);
	return result;
}

static void
drop(struct cursor *c)
{
	struct stream *feed = c->follow->sub.client->door->feed;

	if (c->reading)
		stream_cancel(feed, &c->want);
}

const struct follow_kind follow_items = {
	.kind = SUB_ITEMS, .sync = SYNC_ITEM, .last = last, .send = send,
	.drop = drop,
};

/* True: the task has failed, since no body of the crawl is kept. */
static bool
fail_unarchived(struct task *t)
{
	const struct command *c = &t->command;
	const struct crawl_row *row = command_has(c, ARG_BIT(CRAWL_ID)) ?
	    realtime_row(t->door, c->crawl_id) : NULL;

	if (row == NULL || !row->unarchived)
		return false;
	task_fail(t, CODE_BAD_STATE, "Crawl %u was begun with --no-archive: "
	    "it has no items to send.", row->id);
	return true;
}

void
verb_subscribe_items(struct task *t)
{
	const struct command *c = &t->command;
	unsigned form = STREAM_BODY;

	if (command_has(c, ARG_BIT(BODY)) && !c->body)
		form = 0;
	if (str_eq(c->headers, STR("list"))) {
		form |= STREAM_LIST_HEADERS;
	} else if (c->headers.n > 0 && !str_eq(c->headers, STR("object"))) {
		task_fail(t, CODE_BAD_ARGS,
		    "headers: \"object\" or \"list\" is expected.");
		return;
	}
	if (!command_has(c, ARG_BIT(CRAWL_ID) | ARG_BIT(TAG))) {
		task_fail(t, CODE_BAD_ARGS, "crawl_id: it is missing.");
		return;
	}
	if (!fail_unarchived(t))
		follow_subscribe(t, &follow_items, form);
}
