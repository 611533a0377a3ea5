#include "doors/realtime/item_stream.h"

#include "wire/base64.h"

struct item_stream {
	struct client *client;
	struct body_stream *feed;
	void (*done)(void *, bool failed);   /* NULL: not wanted */
	void *arg;
	struct buf head;             /* empty once it is put */
	struct buf piece;            /* base64, not put yet */
	bool begun, last, asked;
	bool broken;                 /* the rest cannot be read */
};

static void
end(struct item_stream *s, bool failed)
{
	void (*done)(void *, bool) = s->done;
	struct client *c = s->client;
	void *arg = s->arg;

	item_stream_drop(&c->stream);
	if (done != NULL)
		done(arg, failed);
	if (!list_empty(&c->streaming))
		sender_ready(LIST_ITEM(c->streaming.next, struct sender,
		    node));
	web_socket_wake(c->socket);
}

void
item_stream_drop(struct item_stream **sp)
{
	struct item_stream *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	body_stream_close(&s->feed);
	buf_free(&s->head);
	buf_free(&s->piece);
	mem_free(&s);
}

/* Puts what has been read, and asks for more. */
static void
go_on(struct item_stream *s)
{
	struct web_socket *socket = s->client->socket;
	struct str piece = buf_str(&s->piece);

	if (s->asked || !client_fits(s->client, s->head.n + piece.n))
		return;              /* room() will be called */
	if (!s->begun) {
		s->begun = true;
		web_socket_begin(socket, buf_str(&s->head));
		meter_bytes(s->head.n);
		buf_free(&s->head);
	}
	meter_bytes(piece.n);
	if (s->last) {
		buf_put_text(&s->piece, s->broken ?
		    "\",\"truncated\":true}}" : "\"}}");
		web_socket_end(socket, buf_str(&s->piece));
		end(s, false);
		return;
	}
	web_socket_piece(socket, piece);
	buf_clear(&s->piece);
	s->asked = true;
	body_stream_next(s->feed);
}

/* Most read errors are temporary; damaged or missing data is not. */
static bool
may_come(enum err e)
{
	return e != ERR_CORRUPT && e != ERR_ABSENT && e != ERR_FULL;
}

static void
ready(void *arg, struct str piece, bool last, const struct why *w)
{
	struct item_stream *s = arg;

	s->asked = false;
	if (w->err != OK && !s->begun && may_come(w->err)) {
		end(s, true);
		return;
	}
	/* An item that breaks off is sent as far as it was read. */
	s->broken = w->err != OK;
	s->last = last || s->broken;
	base64_put(&s->piece, piece);
	go_on(s);
}

void
item_stream_open(struct client *c, uint32_t crawl, uint64_t number,
    struct str head, void (*done)(void *, bool), void *arg)
{
	struct item_stream *s = mem_new(sizeof(*s));

	CHECK(c->stream == NULL);
	c->stream = s;
	s->client = c;
	s->done = done;
	s->arg = arg;
	buf_put_str(&s->head, head);
	buf_put_text(&s->head, ",\"body\":\"");
	s->asked = true;
	s->feed = body_stream_open(c->door->feed, crawl, number, ready, s);
	body_stream_next(s->feed);
}

void
item_stream_forget(struct client *c)
{
	if (c->stream == NULL)
		return;
	c->stream->done = NULL;
	if (!c->stream->begun)
		end(c->stream, true);
}

bool
item_stream_begun(const struct item_stream *s)
{
	return s != NULL && s->begun;
}

void
item_stream_go_on(struct item_stream *s)
{
	if (s != NULL)
		go_on(s);
}
