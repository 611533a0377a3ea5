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
	if (next_s <= 0)
		json_null(b, "next_at");
	else
		json_decimals(b, "next_at", (double)now.us / 1e6 + next_s, 1);
}

void
look_put_host(struct buf *b, const struct host_view *h, struct wall now)
{
	json_object(b, NULL);
	json_str(b, "host", h->host);
	json_u64(b, "queued", h->queued);
	json_str(b, "state", str_of(h->state));
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
put_why(struct buf *b, const struct queue_query *q, struct wall now)
{
	json_str(b, "why", str_of(q->reason));
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
	put_why(b, q, now);
}

/* --- once --------------------------------------------------------------- */

static void
read_sizes(const struct command *c, size_t *hosts, size_t *urls)
{
	*hosts = command_has(c, ARG_BIT(HOSTS)) ? c->hosts : HOSTS_DEFAULT;
	*urls = command_has(c, ARG_BIT(URLS_MAX)) ? c->urls_max :
	    URLS_DEFAULT;
}

static void
got_queue(struct queue_query *q)
{
	struct task *t = q->arg;

	if (!task_back(t, &q->why, &q->arena, CODE_UNKNOWN_CRAWL))
		return;
	if (t->command.verb == VERB_WHY)
		put_why(task_data(t), q, clock_wall());
	else
		put_queue(task_data(t), q, clock_wall());
	task_answer(t);
}

/* Also carries out `why`, which is about neither hosts nor URLs. */
void
verb_get_frontier(struct task *t)
{
	struct queue_query *q = task_ask(t, sizeof(*q));

	*q = (struct queue_query){ .crawl = t->row->id, .done = got_queue,
	    .arg = t };
	if (t->command.verb != VERB_WHY)
		read_sizes(&t->command, &q->hosts_max, &q->urls_max);
	catalog_queue(engine_catalog(t->door->engine), q);
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

	drain_gate_leave(&a->door->asked);
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
	bool over = crawl_row_is_over(crawl_row(d->registry, v->crawl));

	/* The client knows that the crawl ended: nothing will change. */
	if (v->told != 0 && over && v->ended) {
		list_take(&v->sender.node);
		return SENT_IDLE;
	}
	v->ended = over;
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
	drain_gate_enter(&d->asked);
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
		buf_put_str(&head, buf_str(&v->text));
		sub_send(&v->sub, &head);
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
verb_subscribe_frontier(struct task *t)
{
	const struct command *c = &t->command;
	struct view *v = mem_new(sizeof(*v));

	v->crawl = t->row->id;
	read_sizes(c, &v->hosts, &v->urls);
	v->interval_ns = realtime_interval(c, INTERVAL_S_MIN);
	v->timer.fire = fire;
	sender_init(&v->sender, &v->sub, send_view);
	if (!sub_begin(&v->sub, t, SUB_FRONTIER, free_view))
		return;
	sender_ready(&v->sender);
	sub_answer(t, v->sub.id);
}
