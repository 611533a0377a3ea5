/*
 * get_frontier, subscribe_frontier, why: what is fetched next, and why nothing
 * is fetched.
 */
#include "doors/realtime/own.h"

#include "base/hash.h"
#include "os/clock.h"

#define HOSTS_DEFAULT 20u
#define URLS_DEFAULT 20u
#define INTERVAL_S_MIN 0.2
#define PART_BYTES_MAX ((size_t)48 << 10)   /* of hosts, of URLs */

/* --- texts -------------------------------------------------------------- */

/* Unix seconds to a tenth, so that one moment always gives the same text; null:
 * now, or unknown. */
static void
put_next(struct buf *b, double next_s, struct wall now)
{
	if (next_s <= 0) {
		json_null(b, "next_at");
		return;
	}
	json_name(b, "next_at");
	buf_printf(b, "%.1f", (double)now.us / 1e6 + next_s);
}

void
look_put_host(struct buf *b, const struct host_view *h, struct wall now)
{
	json_object(b, NULL);
	json_str(b, "host", h->host);
	json_u64(b, "queued", h->queued);
	json_str(b, "state", str_of(host_state_name(h->state)));
	json_real(b, "delay", h->delay_s);
	put_next(b, h->next_s, now);
	json_u64(b, "in_flight", h->in_flight);
	buf_put_char(b, '}');
}

static void
put_url(struct buf *b, const struct queued_url *u)
{
	json_object(b, NULL);
	json_str(b, "url", u->url);
	json_u64(b, "depth", u->depth);
	json_real(b, "cost", u->cost);
	json_str(b, "host", u->host);
	buf_put_char(b, '}');
}

static void
put_facts(struct buf *b, const struct queue_query *q, struct wall now)
{
	json_object(b, "facts");
	json_u64(b, "hosts", q->hosts_all);
	json_u64(b, "ready", q->ready);
	json_u64(b, "delayed", q->delayed);
	json_u64(b, "backoff", q->backoff);
	put_next(b, q->next_s, now);
	json_str(b, "next_host", str_of(q->next_host));
	json_u64(b, "queued", q->queued);
	json_u64(b, "in_flight", q->in_flight);
	json_u64(b, "downloads", q->downloads);
	json_u64(b, "downloads_max", q->downloads_max);
	buf_put_char(b, '}');
}

static void
put_queue(struct buf *b, const struct queue_query *q, struct wall now)
{
	json_u64(b, "crawl_id", q->crawl);
	json_u64(b, "queued", q->queued);
	json_u64(b, "in_flight", q->in_flight);
	json_array(b, "hosts");
	size_t most = b->n + PART_BYTES_MAX;
	for (size_t i = 0; i < q->hosts_n && b->n < most; i++)
		look_put_host(b, &q->hosts[i], now);
	buf_put_char(b, ']');
	json_array(b, "urls");
	most = b->n + PART_BYTES_MAX;
	for (size_t i = 0; i < q->urls_n && b->n < most; i++)
		put_url(b, &q->urls[i]);
	buf_put_char(b, ']');
	json_str(b, "why", str_of(q->reason));
	put_facts(b, q, now);
}

/* --- once --------------------------------------------------------------- */

static size_t
count_of(const struct command *c, uint64_t bit, uint64_t given, size_t preset)
{
	return command_has(c, bit) ? (size_t)given : preset;
}

/* Asks the engine for the task.  False: the task has failed. */
static bool
ask(struct task *t, size_t hosts, size_t urls,
    void (*done)(struct queue_query *))
{
	struct crawl_row *row = task_row(t);

	if (row == NULL)
		return false;
	struct queue_query *q = task_own(t, sizeof(*q));
	q->crawl = row->id;
	q->hosts_max = hosts;
	q->urls_max = urls;
	q->done = done;
	q->arg = t;
	realtime_out(t->door);
	catalog_queue(engine_catalog(t->door->engine), q);
	return true;
}

/* Answers the task, or fails it. */
static bool
answered(struct task *t, struct queue_query *q)
{
	realtime_back(t->door);
	if (q->why.err == OK)
		return true;
	arena_free(&q->arena);
	task_fail_why(t, &q->why, CODE_UNKNOWN_CRAWL);
	return false;
}

static void
got_why(struct queue_query *q)
{
	struct task *t = q->arg;

	if (!answered(t, q))
		return;
	json_str(task_data(t), "why", str_of(q->reason));
	put_facts(task_data(t), q, clock_wall());
	arena_free(&q->arena);
	task_answer(t);
}

void
verb_WHY(struct task *t)
{
	(void)ask(t, 0, 0, got_why);
}

static void
got_frontier(struct queue_query *q)
{
	struct task *t = q->arg;

	if (!answered(t, q))
		return;
	put_queue(task_data(t), q, clock_wall());
	arena_free(&q->arena);
	task_answer(t);
}

void
verb_GET_FRONTIER(struct task *t)
{
	const struct command *c = &t->command;

	(void)ask(t, count_of(c, ARG_BIT(HOSTS), c->hosts, HOSTS_DEFAULT),
	    count_of(c, ARG_BIT(URLS_MAX), c->urls_max, URLS_DEFAULT),
	    got_frontier);
}

/* --- again and again ---------------------------------------------------- */

struct view;
/* A question to the engine; it may outlive its subscription. */
struct view_ask {
	struct queue_query ask;
	struct realtime *door;
	struct view *view;           /* NULL: it has been freed */
};

struct view {
	struct sub sub;
	struct sender sender;
	struct timer timer;
	uint32_t crawl;
	size_t hosts, urls;
	int64_t interval_ns;
	struct view_ask *ask;        /* under way */
	struct buf text;             /* the answer, not sent yet */
	uint64_t told;               /* hash of what was sent last */
	bool ended;                  /* the crawl had ended when asked */
};

static void
rest(struct view *v)
{
	list_take(&v->sender.node);
	loop_timer_set(v->sub.client->door->home, &v->timer,
	    mono_add_ns(clock_mono(), v->interval_ns));
}

static void
got_view(struct queue_query *q)
{
	struct view_ask *a = CONTAINER(q, struct view_ask, ask);
	struct view *v = a->view;

	realtime_back(a->door);
	if (v != NULL) {
		v->ask = NULL;
		client_read_done(v->sub.client);
		if (q->why.err == OK) {
			buf_put_char(&v->text, '{');
			put_queue(&v->text, q, clock_wall());
			buf_put_text(&v->text, "}}");
			sender_ready(&v->sender);
		} else {
			rest(v);
		}
	}
	arena_free(&q->arena);
	mem_free(&a);
}

static enum sent
ask_view(struct view *v)
{
	struct realtime *d = v->sub.client->door;

	/* The client knows that the crawl ended: nothing will change. */
	if (v->told != 0 && row_end(crawl_row(d->registry, v->crawl)) != NULL &&
	    v->ended) {
		list_take(&v->sender.node);
		return SENT_IDLE;
	}
	v->ended = row_end(crawl_row(d->registry, v->crawl)) != NULL;
	if (!sender_may_read(&v->sender))
		return SENT_IDLE;
	list_take(&v->sender.node);
	struct view_ask *a = mem_new(sizeof(*a));
	a->door = d;
	a->view = v;
	a->ask.crawl = v->crawl;
	a->ask.hosts_max = v->hosts;
	a->ask.urls_max = v->urls;
	a->ask.done = got_view;
	v->ask = a;
	realtime_out(d);
	catalog_queue(engine_catalog(d->engine), &a->ask);
	return SENT_IDLE;
}

static enum sent
send_view(struct sender *sender)
{
	struct view *v = CONTAINER(sender, struct view, sender);
	struct buf head = BUF_INIT;

	if (v->text.n == 0)
		return ask_view(v);
	uint64_t hash = hash_bytes(buf_str(&v->text), 0);
	if (hash != v->told) {
		if (!client_fits(v->sub.client, v->text.n + 100)) {
			/* A newer view will follow. */
			buf_free(&v->text);
			return SENT_FULL;
		}
		client_event_head(&head, &v->sub, "frontier");
		struct str parts[] = { buf_str(&head), buf_str(&v->text) };
		client_put(v->sub.client, parts, ARRAY_LEN(parts));
		meter_event(SUB_FRONTIER, 0);
		buf_free(&head);
	}
	v->told = hash;
	buf_free(&v->text);
	rest(v);
	return SENT_IDLE;
}

static void
fire(struct timer *t)
{
	sender_ready(&CONTAINER(t, struct view, timer)->sender);
}

static void
free_view(struct sub *sub)
{
	struct view *v = CONTAINER(sub, struct view, sub);

	if (v->ask != NULL) {
		v->ask->view = NULL;
		client_read_done(sub->client);
	}
	loop_timer_stop(sub->client->door->home, &v->timer);
	list_take(&v->sender.node);
	buf_free(&v->text);
	mem_free(&v);
}

void
verb_SUBSCRIBE_FRONTIER(struct task *t)
{
	const struct command *c = &t->command;
	struct crawl_row *row = task_row(t);

	if (row == NULL)
		return;
	struct view *v = mem_new(sizeof(*v));
	v->crawl = row->id;
	v->hosts = count_of(c, ARG_BIT(HOSTS), c->hosts, HOSTS_DEFAULT);
	v->urls = count_of(c, ARG_BIT(URLS_MAX), c->urls_max, URLS_DEFAULT);
	v->interval_ns = realtime_interval(c, INTERVAL_S_MIN);
	v->timer.fire = fire;
	if (!sub_begin(&v->sub, t, SUB_FRONTIER, free_view)) {
		mem_free(&v);
		return;
	}
	sender_init(&v->sender, &v->sub, send_view);
	sender_ready(&v->sender);
	json_u64(task_data(t), "subscription_id", v->sub.id);
	task_answer(t);
}
