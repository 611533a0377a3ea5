#include "doors/realtime/follow.h"

#include "doors/realtime/item_stream.h"
#include "os/clock.h"
#include "os/log.h"

#define PAST_MAX 4u                  /* gone through at once */
#define AGAIN_MS 1000

static struct realtime *
door_of(const struct follow *f)
{
	return f->sub.client->door;
}

/* --- cursors ------------------------------------------------------------ */

void
cursor_begin_read(struct cursor *c)
{
	list_take(&c->sender.node);
	c->reading = true;
}

void
cursor_end_read(struct cursor *c)
{
	c->reading = false;
	client_read_done(c->follow->sub.client);
}

static void
try_again(struct timer *t)
{
	sender_ready(&CONTAINER(t, struct cursor, again)->sender);
}

void
cursor_retry(struct cursor *c, const struct why *w)
{
	struct realtime *d = door_of(c->follow);

	if (!c->warned)
		log_warn("realtime.unread", "crawl=%u number=%llu "
		    "why=%s", c->crawl, (unsigned long long)c->next,
		    log_why(w));
	c->warned = true;
	list_take(&c->sender.node);
	loop_timer_set(d->home, &c->again, mono_add_ms(clock_mono(),
	    AGAIN_MS));
}

static void
free_cursor(struct cursor *c)
{
	struct follow *f = c->follow;
	struct realtime *d = door_of(f);

	f->kind->drop(c);
	if (c->reading)
		cursor_end_read(c);
	if (c->streaming)
		item_stream_forget(f->sub.client);
	loop_timer_stop(d->home, &c->again);
	list_take(&c->sender.node);
	list_take(&c->node);
	watch_put(d, &c->watch);
	mem_free(&c);
}

static void next_past(struct follow *);

/* Ends a cursor whose crawl has nothing more to send. */
static enum sent
finish(struct cursor *c, const char *reason)
{
	struct follow *f = c->follow;
	FREED(buf_free) struct buf token = BUF_INIT;

	if (!f->filter.one) {
		bool past = c->past;
		free_cursor(c);
		if (past)
			next_past(f);
		return SENT_IDLE;
	}
	if (!f->sub.closed_event) {
		sender_wait(&c->sender, &c->watch->waiting);
		return SENT_IDLE;
	}
	if (!sub_close_fits(&f->sub))
		return SENT_FULL;
	sync_put(&token, f->kind->sync, c->next - 1, c->crawl,
	    door_of(f)->mark);
	sub_close(&f->sub, c->crawl, reason, buf_str(&token));
	return SENT_IDLE;
}

static enum sent
send(struct sender *s)
{
	struct cursor *c = CONTAINER(s, struct cursor, sender);
	struct follow *f = c->follow;
	const struct crawl_row *row = crawl_row(door_of(f)->registry, c->crawl);

	if (row != NULL && !row->deleted && c->next <= f->kind->last(row))
		return f->kind->send(c);
	if (crawl_row_is_over(row))
		return finish(c, row_end(row));
	sender_wait(s, &c->watch->waiting);
	return SENT_IDLE;
}

static bool
stirs(const struct sender *s, const struct crawl_row *row)
{
	const struct cursor *c = CONTAINER(s, struct cursor, sender);

	return crawl_row_is_over(row) || c->next <= c->follow->kind->last(row);
}

/* The number to begin with; `*resumed`: a token gave it. */
static uint64_t
next_of(const struct follow *f, const struct crawl_row *row, bool *resumed)
{
	uint64_t last = f->kind->last(row);
	size_t low = 0, high = f->from_n;

	while (low < high) {
		size_t at = (low + high) / 2;
		if (f->from[at].crawl < row->id)
			low = at + 1;
		else
			high = at;
	}
	*resumed = low < f->from_n && f->from[low].crawl == row->id;
	return *resumed ? f->from[low].next : last - MIN(f->tail, last) + 1;
}

static void
add_cursor(struct follow *f, const struct crawl_row *row, bool past)
{
	struct cursor *c = mem_new(sizeof(*c));

	c->follow = f;
	c->crawl = row->id;
	c->past = past;
	c->next = next_of(f, row, &c->resumed);
	c->again.fire = try_again;
	c->watch = watch_take(door_of(f), row->id);
	list_put(&f->cursors, &c->node);
	sender_init(&c->sender, &f->sub, send);
	c->sender.stirs = stirs;
	c->sender.broad = !f->filter.one;
	sender_ready(&c->sender);
}

/* --- several crawls ----------------------------------------------------- */

/* The crawl had ended before the subscription began, with entries unsent. */
static bool
is_past(const struct follow *f, const struct crawl_row *row)
{
	bool resumed;

	return !row->deleted && row->born <= f->version &&
	    row->part[REGISTRY_STATE] <= f->version && crawl_row_is_over(row) &&
	    filter_takes(&f->filter, row) &&
	    next_of(f, row, &resumed) <= f->kind->last(row);
}

/* Opens a cursor for the next of the crawls that had ended. */
static void
next_past(struct follow *f)
{
	struct crawl_registry *b = door_of(f)->registry;
	struct crawl_row *row;

	while ((row = crawl_registry_below(b, f->below)) != NULL) {
		f->below = row->id;
		if (is_past(f, row)) {
			add_cursor(f, row, true);
			return;
		}
	}
	f->below = 0;
}

static void
begin_many(struct follow *f)
{
	struct crawl_registry *b = door_of(f)->registry;
	struct crawl_row *row = NULL;
	uint32_t below = UINT32_MAX;

	while ((row = crawl_registry_below(b, below)) != NULL) {
		below = row->id;
		if (!crawl_row_is_over(row) && filter_takes(&f->filter, row))
			add_cursor(f, row, false);
	}
	f->below = UINT32_MAX;
	for (unsigned i = 0; i < PAST_MAX; i++)
		next_past(f);
}

void
follow_join(struct realtime *d, const struct crawl_row *row)
{
	LIST_EACH(f, &d->follows, struct follow, node) {
		if (!f->filter.one && row->born > f->version &&
		    filter_takes(&f->filter, row))
			add_cursor(f, row, false);
	}
}

/* --- life --------------------------------------------------------------- */

static void
free_follow(struct sub *sub)
{
	struct follow *f = CONTAINER(sub, struct follow, sub);

	while (!list_empty(&f->cursors))
		free_cursor(LIST_ITEM(f->cursors.next, struct cursor, node));
	sub->client->tokens_n -= f->from_n;
	list_take(&f->node);
	mem_free(&f->from);
	mem_free(&f);
}

void
follow_subscribe(struct task *t, const struct follow_kind *kind,
    unsigned form)
{
	struct follow *f = mem_new(sizeof(*f));

	f->kind = kind;
	f->form = form;
	f->tail = command_has(&t->command, ARG_BIT(TAIL)) ?
	    t->command.tail : UINT64_MAX;
	f->version = crawl_registry_version(t->door->registry);
	list_init(&f->cursors);
	list_init(&f->node);
	f->sub.client = t->client;
	if (!filter_read(&f->filter, t) || !follow_read_tokens(f, t)) {
		free_follow(&f->sub);
		return;
	}
	if (!sub_begin(&f->sub, t, kind->kind, free_follow))
		return;
	list_put(&t->door->follows, &f->node);
	if (f->filter.one)
		add_cursor(f, realtime_row(t->door, f->filter.crawl), false);
	else
		begin_many(f);
	sub_answer(t, f->sub.id);
}

size_t
follow_lags(struct realtime *d, struct lag *out, size_t max)
{
	size_t n = 0;

	LIST_EACH(f, &d->follows, struct follow, node) {
		LIST_EACH(c, &f->cursors, struct cursor, node) {
			const struct crawl_row *row = crawl_row(d->registry,
			    c->crawl);
			uint64_t last = row == NULL ? 0 : f->kind->last(row);
			struct lag lag = { f->sub.id, last - MIN(last,
			    c->next - 1), c->crawl, f->kind->kind };
			n = lag_keep(out, n, max, lag);
		}
	}
	return n;
}
