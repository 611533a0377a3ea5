/*
 * Subscriptions to the logs of crawls.
 */
#include "doors/realtime/follow.h"

#define ENTRIES_MAX 64u              /* in one read */
#define EVENT_BYTES_MAX ((size_t)16 << 10)

/* A read of the engine; it may outlive its cursor. */
struct log_read {
	struct log_query ask;
	struct realtime *door;
	struct cursor *cursor;       /* NULL: it has been freed */
	size_t at;                   /* entries that were sent */
};

static uint64_t
last(const struct crawl_row *row)
{
	return row->view.log_last;
}

static void
free_read(struct log_read **rp)
{
	arena_free(&(*rp)->ask.arena);
	mem_free(rp);
}

/* --- sending ------------------------------------------------------------ */

static void
put_known(struct buf *b, const char *name, struct str s)
{
	if (s.n > 0)
		json_str(b, name, s);
}

static void
put_entry(struct cursor *c, const struct log_entry *e, struct buf *b)
{
	client_event_head(b, &c->follow->sub, "log");
	buf_put_char(b, '{');
	json_u64(b, "crawl_id", e->crawl);
	json_time(b, "at", e->at);
	json_str(b, "kind", str_of(e->kind));
	json_str(b, "text", e->text);
	put_known(b, "host", e->host);
	put_known(b, "url", e->url);
	put_known(b, "reason", e->reason);
	json_name(b, "sync_token");
	buf_put_char(b, '"');
	sync_put(b, SYNC_LOG, e->number, e->crawl,
	    c->follow->sub.client->door->mark);
	buf_put_char(b, '"');
	if (c->resumed && e->number > c->next)
		json_bool(b, "gap", true);
	buf_put_text(b, "}}");
}

/* Sends the entries that were read, as far as they fit. */
static enum sent
send_read(struct cursor *c)
{
	struct client *client = c->follow->sub.client;
	struct log_read *r = c->log;

	while (r->at < r->ask.n && client_fits(client, EVENT_BYTES_MAX)) {
		const struct log_entry *e = &r->ask.entries[r->at++];
		struct buf b = BUF_INIT;
		put_entry(c, e, &b);
		sub_send(&c->follow->sub, &b);
		c->next = e->number + 1;
		c->resumed = false;
	}
	bool full = r->at < r->ask.n;
	free_read(&c->log);
	return full ? SENT_FULL : SENT_MORE;
}

/* --- reading ------------------------------------------------------------ */

static void
done(struct log_query *a)
{
	struct log_read *r = a->arg;
	struct cursor *c = r->cursor;

	drain_gate_leave(&r->door->asked);
	if (c == NULL) {
		free_read(&r);
		return;
	}
	cursor_end_read(c);
	sender_ready(&c->sender);
}

static enum sent
read_some(struct cursor *c)
{
	struct realtime *d = c->follow->sub.client->door;

	if (!sender_may_read(&c->sender))
		return SENT_IDLE;
	struct log_read *r = mem_new(sizeof(*r));
	r->door = d;
	r->cursor = c;
	r->ask = (struct log_query){ .crawl = c->crawl, .from = c->next,
	    .max = ENTRIES_MAX, .done = done, .arg = r };
	c->log = r;
	cursor_begin_read(c);
	drain_gate_enter(&d->asked);
	catalog_log(engine_catalog(d->engine), &r->ask);
	return SENT_IDLE;
}

static enum sent
send(struct cursor *c)
{
	struct log_read *r = c->log;

	if (r == NULL)
		return read_some(c);
	if (r->ask.why.err == OK && r->ask.n > 0)
		return send_read(c);
	struct why w = r->ask.why;
	free_read(&c->log);
	if (w.err == OK || w.err == ERR_ABSENT)
		sender_wait(&c->sender, &c->watch->waiting);
	else
		cursor_retry(c, &w);
	return SENT_IDLE;
}

static void
drop(struct cursor *c)
{
	if (c->log == NULL)
		return;
	if (c->reading) {
		c->log->cursor = NULL;
		c->log = NULL;
	} else {
		free_read(&c->log);
	}
}

const struct follow_kind follow_log = {
	.kind = SUB_LOG, .sync = SYNC_LOG, .last = last, .send = send,
	.drop = drop,
};

void
verb_subscribe_log(struct task *t)
{
	follow_subscribe(t, &follow_log, 0);
}
