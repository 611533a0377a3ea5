#include "engine/stream/event_publisher.h"

#include "base/map.h"
#include "os/clock.h"

struct gathered_view {
	struct list node;
	struct crawl_view view;
};

struct batch {
	struct ledger_query query;
	struct mail mail;
	struct event_publisher *publisher;
	struct list fresh, views;    /* of captures, and of gathered_view */
	struct list first, rest;     /* requests: before the views, behind */
};

struct event_publisher {
	struct event_publisher_options options;
	struct turn_hook turn;
	struct timer timer;
	struct batch *gathering;
	struct map views;            /* id -> gathered_view, of `gathering` */
	bool hurry;                  /* not only counters have changed */
	bool out;                    /* a batch is under way */
	struct mono told_at;         /* when the last left */
	struct map states;           /* id -> state + 1, as told last */
	void (*gone)(void *);        /* closing, or NULL */
	void *gone_arg;
};

/* --- at home ------------------------------------------------------------- */

/* A request's node is its `hop`. */
static void
run_requests(struct list *requests)
{
	while (!list_empty(requests)) {
		struct request *r = LIST_POP(requests, struct request, hop);
		r->at = AT_MAIN;
		request_run(r);
	}
}

/* The client that launches a crawl is answered before others hear of it. */
static void
tell_home(struct batch *b)
{
	const struct event_publisher_options *o = &b->publisher->options;
	bool any = !list_empty(&b->views);

	run_requests(&b->first);
	if (!list_empty(&b->fresh))
		o->fresh(o->arg, &b->fresh);
	while (!list_empty(&b->views)) {
		struct gathered_view *v = LIST_POP(&b->views,
		    struct gathered_view, node);
		o->view(o->arg, &v->view);
		mem_free(&v);
	}
	run_requests(&b->rest);
	if (any && o->end != NULL)
		o->end(o->arg);
}

static void consider(struct event_publisher *);
static void send_rest(struct event_publisher *);

/* Back on the ledger's loop. */
static void
came_back(struct mail *m)
{
	struct batch *b = CONTAINER(m, struct batch, mail);
	struct event_publisher *t = b->publisher;

	mem_free(&b);
	t->out = false;
	if (t->gone != NULL)
		send_rest(t);
	else
		consider(t);
}

static void
arrived(struct ledger_query *q)
{
	struct batch *b = CONTAINER(q, struct batch, query);

	tell_home(b);
	loop_send(b->publisher->options.loop, &b->mail, came_back);
}

static void
rest_arrived(struct mail *m)
{
	struct batch *b = CONTAINER(m, struct batch, mail);

	tell_home(b);
	mem_free(&b);
}

/* --- on the ledger's loop ------------------------------------------------ */

static struct batch *
gathering(struct event_publisher *t)
{
	struct batch *b = t->gathering;

	if (b != NULL)
		return b;
	b = t->gathering = mem_new(sizeof(*b));
	b->publisher = t;
	list_init(&b->first);
	list_init(&b->fresh);
	list_init(&b->views);
	list_init(&b->rest);
	return b;
}

static struct batch *
take_gathered(struct event_publisher *t)
{
	struct batch *b = t->gathering;

	t->gathering = NULL;
	map_free(&t->views);
	t->hurry = false;
	t->told_at = clock_mono();
	return b;
}

static void
consider(struct event_publisher *t)
{
	struct mono due = mono_add_ms(t->told_at, t->options.every_ms);

	if (t->gathering == NULL || t->out || t->gone != NULL)
		return;
	if (!t->hurry && t->options.every_ms != 0 &&
	    mono_before(clock_mono(), due)) {
		loop_timer_set(t->options.loop, &t->timer, due);
		return;
	}
	struct batch *b = take_gathered(t);
	t->out = true;
	ledger_barrier(t->options.ledger, &b->query, t->options.home, arrived);
}

static void
turn_end(struct turn_hook *h)
{
	consider(CONTAINER(h, struct event_publisher, turn));
}

static void
due(struct timer *timer)
{
	consider(CONTAINER(timer, struct event_publisher, timer));
}

void
event_publisher_view(struct event_publisher *t, const struct crawl_view *view)
{
	struct batch *b = gathering(t);
	struct gathered_view *v = map_get_id(&t->views, view->id);
	void *state = (void *)((uintptr_t)view->state + 1);

	if (v == NULL) {
		v = mem_new(sizeof(*v));
		map_put_id(&t->views, view->id, v);
		list_put(&b->views, &v->node);
	}
	v->view = *view;
	t->hurry |= map_put_id(&t->states, view->id, state) != state;
}

void
event_publisher_handoff(struct event_publisher *t, struct handoff *x)
{
	list_put(&gathering(t)->fresh, &x->node);
}

static void
enter(struct event_publisher *t, struct list *requests, struct request *r)
{
	struct list *n = (void *)&r->hop;

	list_put(requests, n);
	t->hurry = true;
}

void
event_publisher_enter(struct request *r, void *publisher)
{
	enter(publisher, &gathering(publisher)->rest, r);
}

void
event_publisher_introduce(struct request *r, void *publisher)
{
	enter(publisher, &gathering(publisher)->first, r);
}

static void
send_rest(struct event_publisher *t)
{
	if (t->gathering != NULL) {
		struct batch *b = take_gathered(t);
		loop_send(t->options.home, &b->mail, rest_arrived);
	}
	t->gone(t->gone_arg);
}

void
event_publisher_rest(struct event_publisher *t, void (*gone)(void *), void *arg)
{
	loop_timer_stop(t->options.loop, &t->timer);
	t->gone = gone;
	t->gone_arg = arg;
	/* A ledger that failed may never answer. */
	if (!t->out || ledger_health(t->options.ledger) == LEDGER_FAILED)
		send_rest(t);
}

struct event_publisher *
event_publisher_new(const struct event_publisher_options *o)
{
	struct event_publisher *t = mem_new(sizeof(*t));

	t->options = *o;
	t->turn.run = turn_end;
	t->timer.fire = due;
	t->told_at = (struct mono){ INT64_MIN / 2 };
	loop_hook(o->loop, &t->turn);
	return t;
}

void
event_publisher_free(struct event_publisher **tp)
{
	struct event_publisher *t = *tp;

	if (t == NULL)
		return;
	loop_timer_stop(t->options.loop, &t->timer);
	list_take(&t->turn.node);
	while (t->gathering != NULL && !list_empty(&t->gathering->views)) {
		struct gathered_view *v = LIST_POP(&t->gathering->views,
		    struct gathered_view, node);
		mem_free(&v);
	}
	if (t->gathering != NULL)
		handoff_free_list(&t->gathering->fresh);
	mem_free(&t->gathering);
	map_free(&t->views);
	map_free(&t->states);
	mem_free(tp);
}
