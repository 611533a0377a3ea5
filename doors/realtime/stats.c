/*
 * Statistics: a subscription remembers a version of the registry and is sent
 * the changes since then.
 *
 * It begins with a walk over all rows, some at a time.  Changes in the meantime
 * are sent after the walk, which is correct because all values are absolute.
 *
 * When the changes do not fit into one event, the next event continues from the
 * same starting version: a row that was left out may have changed again since.
 */
#include "doors/realtime/own.h"

#include <math.h>

#include "os/clock.h"

#define CRAWLS_MAX 500u              /* in one event */
#define EVENT_BYTES_MAX ((size_t)200 << 10)
#define INTERVAL_S_MIN 0.05
#define INTERVAL_S_MAX 1e6
/* The wait before looking again, after a change that did not concern it. */
#define MISS_MS 20

struct stats {
	struct sub sub;
	struct sender sender;
	struct filter filter;
	struct crawl_watch *watch;   /* of one crawl */
	uint64_t since;              /* the client has all changes up to it */
	uint64_t version;            /* and rows last changed up to this one */
	uint32_t below;              /* the first walk: rows that remain */
	bool walking;
	int64_t interval_ns;
	struct mono next;            /* when the next event may be sent */
	struct timer timer;
};

/* An event that is being written. */
struct making {
	struct buf text;
	unsigned crawls;
};

static bool
is_large(const struct making *m)
{
	return m->crawls >= CRAWLS_MAX || m->text.n >= EVENT_BYTES_MAX;
}

static void
begin_row(struct making *m, struct stats *s, const struct crawl_row *row)
{
	char id[16];

	if (m->crawls++ == 0) {
		client_event_head(&m->text, &s->sub, NULL);
		buf_put_char(&m->text, '{');
	}
	(void)snprintf(id, sizeof(id), "%u", row->id);
	json_object(&m->text, id);
}

/* --- the first walk ----------------------------------------------------- */

static void
walk(struct stats *s, struct making *m)
{
	struct realtime *d = s->sub.client->door;
	struct crawl_row *row;

	if (s->below == UINT32_MAX)
		s->since = s->version = crawl_registry_version(d->registry);
	while (!is_large(m) &&
	    (row = crawl_registry_below(d->registry, s->below)) != NULL) {
		s->below = row->id;
		if (row->deleted || row->born > s->version ||
		    !filter_takes(&s->filter, row))
			continue;
		begin_row(m, s, row);
		row_put_all(&m->text, row);
		buf_put_char(&m->text, '}');
	}
	s->walking = is_large(m);
}

/* --- changes ------------------------------------------------------------ */

static void
put_change(struct stats *s, struct making *m, const struct crawl_row *row)
{
	bool new = row->born > s->since;
	size_t before = m->text.n, begun;
	unsigned crawls = m->crawls;

	if (row->deleted && row->born > s->version)
		return;
	begin_row(m, s, row);
	begun = m->text.n;
	if (row->deleted)
		json_str(&m->text, "status", STR("deleted"));
	else if (new)
		row_put_all(&m->text, row);
	else
		row_put_since(&m->text, row, s->since);
	if (m->text.n > begun) {
		buf_put_char(&m->text, '}');
		return;
	}
	/* The change is in nothing that clients are sent. */
	m->text.n = before;
	m->crawls = crawls;
}

/* The oldest change after the version. */
static struct crawl_row *
oldest(struct stats *s, size_t *n)
{
	struct crawl_registry *b = s->sub.client->door->registry;
	struct crawl_row *row = NULL, *last = NULL;

	*n = 0;
	while ((row = crawl_registry_before(b, row)) != NULL &&
	    row->changed > s->version) {
		last = row;
		++*n;
	}
	return last;
}

/* Put the oldest changes first, so that the next event can continue where a
 * full one ended. */
static void
gather(struct stats *s, struct making *m)
{
	struct realtime *d = s->sub.client->door;
	uint64_t version = s->version;
	size_t n;

	for (struct crawl_row *row = oldest(s, &n); n > 0 && !is_large(m);
	    n--) {
		if (filter_takes(&s->filter, row))
			put_change(s, m, row);
		version = row->changed;
		row = LIST_ITEM(row->node.next, struct crawl_row, node);
	}
	if (n == 0)
		s->since = version = crawl_registry_version(d->registry);
	s->version = version;
}

/* --- sending ------------------------------------------------------------ */

static void
rest(struct stats *s)
{
	struct realtime *d = s->sub.client->door;

	sender_wait(&s->sender, s->filter.one ? &s->watch->waiting :
	    &d->broad);
}

static void
wait_until(struct stats *s, struct mono when)
{
	list_take(&s->sender.node);
	loop_timer_set(s->sub.client->door->home, &s->timer, when);
}

static void
fire(struct timer *t)
{
	struct stats *s = CONTAINER(t, struct stats, timer);

	if (crawl_registry_version(s->sub.client->door->registry) > s->version)
		sender_ready(&s->sender);
	else
		rest(s);
}

/* Everything was sent.  Wait for min_interval, then for a change. */
static enum sent
told_all(struct stats *s)
{
	struct mono now = clock_mono();
	const struct crawl_row *row = s->filter.one ?
	    crawl_row(s->sub.client->door->registry, s->filter.crawl) : NULL;

	if (s->sub.closed_event && s->filter.one && crawl_row_is_over(row)) {
		sub_close(&s->sub, s->filter.crawl, row_end(row), STR_NONE);
		return SENT_IDLE;
	}
	if (mono_before(now, s->next))
		wait_until(s, s->next);
	else if (!s->filter.one)
		wait_until(s, mono_add_ms(now, MISS_MS));
	else
		rest(s);
	return SENT_IDLE;
}

static enum sent
send(struct sender *sender)
{
	struct stats *s = CONTAINER(sender, struct stats, sender);
	struct client *c = s->sub.client;
	struct making m = { .text = BUF_INIT };

	if (!client_fits(c, EVENT_BYTES_MAX))
		return SENT_FULL;
	if (s->walking)
		walk(s, &m);
	else
		gather(s, &m);
	bool full = is_large(&m);
	if (m.crawls > 0) {
		buf_put_text(&m.text, "}}");
		sub_send(&s->sub, &m.text);
		s->next = mono_add_ns(clock_mono(), s->interval_ns);
	}
	return full ? SENT_MORE : told_all(s);
}

/* --- life --------------------------------------------------------------- */

static void
free_stats(struct sub *sub)
{
	struct stats *s = CONTAINER(sub, struct stats, sub);
	struct realtime *d = sub->client->door;

	loop_timer_stop(d->home, &s->timer);
	list_take(&s->sender.node);
	watch_put(d, &s->watch);
	mem_free(&s);
}

/* The requested seconds, or 1, within bounds; in nanoseconds. */
int64_t
realtime_interval(const struct command *c, double least_s)
{
	double s = command_has(c, ARG_BIT(MIN_INTERVAL)) ? c->min_interval : 1;

	return (int64_t)(fmin(fmax(s, least_s), INTERVAL_S_MAX) * 1e9);
}

void
verb_subscribe_stats(struct task *t)
{
	struct filter filter;

	if (!filter_read(&filter, t))
		return;
	struct stats *s = mem_new(sizeof(*s));
	s->filter = filter;
	s->walking = true;
	s->below = UINT32_MAX;
	s->interval_ns = realtime_interval(&t->command, INTERVAL_S_MIN);
	s->timer.fire = fire;
	sender_init(&s->sender, &s->sub, send);
	if (!sub_begin(&s->sub, t, SUB_STATS, free_stats))
		return;
	s->sender.broad = !filter.one;
	if (filter.one)
		s->watch = watch_take(t->door, filter.crawl);
	sender_ready(&s->sender);
	sub_answer(t, s->sub.id);
}
