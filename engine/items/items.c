/*
 * Home's side: opening, putting requests, answers, listeners, closing.
 */
#include "engine/items/items_own.h"

#include "base/conf.h"
#include "base/json_writer.h"
#include "os/clock.h"
#include "os/system.h"

#define NODE_BYTES_MAX 64u           /* of store.node */

struct metric items_metrics[ITEMS_METRICS_COUNT] = {
	ITEMS_METRICS(METRIC_ROW)
};

struct item_limits
items_limits_of(const struct conf *c)
{
	struct item_limits l = ITEM_LIMITS_DEFAULT;
	enum conf_id id;

	if (c == NULL)
		return l;
	/* The settings are the door's: a build without it has none. */
#define ITEM_LIMIT_READ(name, value, help) \
	if (conf_find(STR("items." #name), &id)) \
		l.name = c->values[id].number;
	ITEM_LIMITS(ITEM_LIMIT_READ)
#undef ITEM_LIMIT_READ
	return l;
}

const struct item_limits *
items_limits(const struct items *i)
{
	return &i->limits;
}

uint64_t
items_cursor(const struct items *i)
{
	return i->cursor;
}

/* -- Requests that write -- */

/* Closing ends when nothing is under way and the writer has fallen silent. */
static void
check_closed(struct items *i)
{
	if (!i->closing || i->closed || i->writes + i->reads > 0)
		return;
	if (!i->closer_sent) {
		i->closer_sent = true;
		loop_ask(i->writer, &i->closer);
	} else if (i->closer_back) {
		i->closed = true;
		i->closed_call(i->closed_arg);
	}
}

static void
deliver_write(struct mail *m)
{
	struct items_write *r = CONTAINER(CONTAINER(m, struct job, mail),
	    struct items_write, job);
	struct items *i = r->items;

	i->writes--;
	metric_add(&items_metrics[METRIC_WRITES_WAITING], -1);
	r->done(r);
	check_closed(i);
}

void
writer_answer(struct items *i, struct items_write *r)
{
	loop_send(i->home, &r->job.mail, deliver_write);
}

static void
queue_write(struct mail *m)
{
	struct items_write *r = CONTAINER(CONTAINER(m, struct job, mail),
	    struct items_write, job);
	struct items *i = r->items;

	r->job.next = NULL;
	*i->last = r;
	i->last = (struct items_write **)(void *)&r->job.next;
}

/* Count it in; true when it may be put. */
static bool
admit(struct items *i, size_t n, int64_t max, const char *what, enum err *e,
    struct why *w)
{
	*w = WHY_INIT;
	*e = OK;
	if (i->closing)
		*e = why(w, ERR_CLOSED, "items are being closed");
	else if (n >= (size_t)max) {
		*e = why(w, ERR_FULL, "items: %lld %s already", (long long)max,
		    what);
		metric_add(&items_metrics[METRIC_REFUSED], 1);
	}
	return *e == OK;
}

bool
items_are_busy(enum err e, const struct why *w)
{
	return e == ERR_FULL && w->field[0] == '\0';
}

void
items_write(struct items *i, struct items_write *r)
{
	bool put = admit(i, i->writes - i->claims, i->limits.writes_max,
	    "requests wait to write", &r->result, &r->why);

	r->items = i;
	i->writes++;
	metric_add(&items_metrics[METRIC_WRITES_WAITING], 1);
	if (put)
		loop_send(i->writer, &r->job.mail, queue_write);
	else
		writer_answer(i, r);
}

/* -- Claims, at home -- */

static void
answer_claim(struct items_claim *c)
{
	/* A cancellation that is under way still points to the claim. */
	if (c->answered && (!c->cancelling || c->cancel_back))
		c->done(c);
}

static void
claim_done(struct items_write *r)
{
	struct items_claim *c = CONTAINER(r, struct items_claim, write);

	/* deliver_write() has just counted it out of items.writes. */
	r->items->claims--;
	metric_add(&items_metrics[METRIC_CLAIMS_WAITING], -1);
	c->result = r->result;
	c->why = r->why;
	c->answered = true;
	answer_claim(c);
}

void
items_claim(struct items *i, struct items_claim *c)
{
	struct items_write *r = &c->write;
	bool put = admit(i, i->claims, i->limits.claims_max, "claims wait",
	    &r->result, &r->why);

	r->want = NULL;
	r->run = claim_run;
	r->done = claim_done;
	r->items = i;
	c->n = 0;
	r->alone = false;
	r->parts = 0;
	c->generation = 0;
	c->waits = c->cancelled = false;
	c->cancelling = c->cancel_back = c->answered = false;
	i->claims++;
	i->writes++;
	metric_add(&items_metrics[METRIC_CLAIMS_WAITING], 1);
	metric_add(&items_metrics[METRIC_WRITES_WAITING], 1);
	if (put)
		loop_send(i->writer, &r->job.mail, queue_write);
	else
		writer_answer(i, r);
}

static void
cancel_run(struct loop_call *call)
{
	struct items_claim *c = CONTAINER(call, struct items_claim, cancel);

	c->cancelled = true;
	if (c->waits) {
		c->waits = false;
		list_take(&c->waiting);
		writer_answer(c->write.items, &c->write);
	}
}

static void
cancel_done(struct loop_call *call)
{
	struct items_claim *c = CONTAINER(call, struct items_claim, cancel);

	c->cancel_back = true;
	answer_claim(c);
}

void
items_claim_cancel(struct items_claim *c)
{
	struct items *i = c->write.items;

	if (c->cancelling || c->answered)
		return;
	c->cancelling = true;
	c->cancel = (struct loop_call){ .home = i->home, .run = cancel_run,
	    .done = cancel_done };
	loop_ask(i->writer, &c->cancel);
}

static void
stop_run(struct loop_call *call)
{
	claims_stop(CONTAINER(call, struct items, stopper));
}

static void
stop_done(struct loop_call *call)
{
	CONTAINER(call, struct items, stopper)->stopper.home = NULL;
}

void
items_stop_claims(struct items *i)
{
	if (i->stopper.home != NULL)
		return;
	i->stopper = (struct loop_call){ .home = i->home, .run = stop_run,
	    .done = stop_done };
	loop_ask(i->writer, &i->stopper);
}

/* -- Requests that read -- */

/* Another generation than the reader has read: its tasks, and new names. */
static enum err
follow_generation(struct item_store *s, struct why *w)
{
	static const char *const newest = "SELECT max(id) FROM generations";
	struct query *q = database_query(item_store_database(s), newest);
	uint64_t id = 0;

	if (query_step(q))
		id = (uint64_t)query_get_i64(q, 0);
	enum err e = query_end(&q, w);
	if (e != OK || id == item_store_config(s)->generation)
		return e;
	item_store_names_changed(s);
	return generation_open(s, w);
}

static void
run_read(struct job *j)
{
	struct items_read *r = CONTAINER(j, struct items_read, job);
	struct item_store *s = r->items->reader;
	struct database *d = item_store_database(s);

	enum err e = database_begin_read(d, &r->why);
	if (e == OK) {
		e = follow_generation(s, &r->why);
		if (e == OK)
			e = r->run(r, s, &r->why);
		/* Nothing was written: an error of the end is none. */
		enum err end = database_end(d, e, &r->why);
		e = e != OK ? e : end;
	}
	r->result = e;
	metric_add(&items_metrics[METRIC_READS], 1);
}

static void
deliver_read(struct mail *m)
{
	struct items_read *r = CONTAINER(CONTAINER(m, struct job, mail),
	    struct items_read, job);
	struct items *i = r->items;

	i->reads--;
	metric_add(&items_metrics[METRIC_READS_WAITING], -1);
	r->done(r);
	check_closed(i);
}

void
items_read(struct items *i, struct items_read *r)
{
	bool put = admit(i, i->reads, i->limits.reads_max,
	    "requests wait to read", &r->result, &r->why);

	r->items = i;
	r->job = (struct job){ .mail.deliver = deliver_read, .home = i->home,
	    .run = run_read };
	i->reads++;
	metric_add(&items_metrics[METRIC_READS_WAITING], 1);
	if (put)
		pool_submit(i->pool, &r->job);
	else
		loop_post(i->home, &r->job.mail);
}

/* -- Listeners -- */

static void
deliver_news(struct mail *m)
{
	struct items *i = CONTAINER(m, struct items, news);
	struct list *next;

	/* In this order: a cursor committed from now on posts again. */
	atomic_store(&i->news_posted, false);
	uint64_t cursor = atomic_load(&i->news_cursor);
	if (cursor <= i->cursor)
		return;
	i->cursor = cursor;
	for (struct list *n = i->listeners.next; n != &i->listeners; n = next) {
		next = n->next;
		struct items_listener *l = LIST_ITEM(n, struct items_listener,
		    node);
		l->committed(l, cursor);
	}
}

void
items_listen(struct items *i, struct items_listener *l)
{
	list_put(&i->listeners, &l->node);
}

void
items_unlisten(struct items_listener *l)
{
	list_take(&l->node);
}

static void
put_live(const struct items_live *e, struct buf *b)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(clock_wall(), iso);
	json_object(b, NULL);
	json_str(b, "at", str_of(iso));
	json_str(b, "type", str_of(e->type));
	json_str(b, "id", e->item);
	json_str(b, "task", e->task);
	json_object(b, "by");
	json_str(b, "item", e->item);
	json_str(b, "task", e->task);
	json_str(b, "lease", e->lease);
	buf_put_char(b, '}');
	if (e->more.n > 0) {
		json_comma(b);
		buf_put_str(b, e->more);
	}
	buf_put_char(b, '}');
}

void
items_live_event(struct items *i, const struct items_live *e)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	put_live(e, &b);
	LIST_EACH(l, &i->listeners, struct items_listener, node)
		if (l->live != NULL)
			l->live(l, buf_str(&b));
}

/* -- Opening and closing -- */

enum err
items_open_store(const struct conf *c, const char *data_dir, bool reader,
    struct item_store **out, struct why *w)
{
	const struct item_limits limits = items_limits_of(c);
	struct str url = c == NULL ? STR_NONE : conf_str(c, CONF_STORE_URL);
	char host[NODE_BYTES_MAX + 1];
	struct item_store_options s = { .dir = data_dir, .node = host,
	    .limits = &limits, .reader = reader };

	system_hostname(host, sizeof(host));
	if (url.n > 0) {
		s.dir = NULL;
		s.url = url.p;
		s.password_file = conf_str(c, CONF_STORE_PASSWORD_FILE).p;
	}
	if (c != NULL && conf_str(c, CONF_STORE_NODE).n > 0)
		s.node = conf_str(c, CONF_STORE_NODE).p;
	return item_store_open(&s, out, w);
}

/* An earlier run of this daemon left no worker behind. */
static enum err
release_own(struct items *i, struct why *w)
{
	struct item_tx *tx = NULL;

	enum err e = item_tx_begin(i->store, clock_wall(), &tx, w);
	if (e != OK)
		return e;
	e = generation_follow(tx, w);
	if (e == OK)
		e = worklist_release_own(tx, w);
	return item_tx_end(&tx, e, w);
}

static enum err
open_stores(struct items *i, const struct items_options *o, struct why *w)
{
	uint64_t cursor = 0;

	enum err e = items_open_store(o->conf, o->data_dir, false, &i->store,
	    w);
	if (e == OK)
		e = generation_open(i->store, w);
	if (e == OK && !o->guest)
		e = release_own(i, w);
	if (e == OK)
		e = item_query_cursor(i->store, &cursor, w);
	i->cursor = cursor;
	atomic_store(&i->news_cursor, cursor);
	return e == OK ? items_open_store(o->conf, o->data_dir, true,
	    &i->reader, w) : e;
}

enum err
items_open(const struct items_options *o, struct items **out, struct why *w)
{
	struct items *i = mem_new(sizeof(*i));

	metric_register(items_metrics, ARRAY_LEN(items_metrics));
	metric_register(&item_pruned_metric, 1);
	i->home = o->home;
	i->no_threads = o->no_threads;
	i->limits = items_limits_of(o->conf);
	list_init(&i->listeners);
	list_init(&i->waiting);
	i->last = &i->first;
	i->news.deliver = deliver_news;
	i->claims_timer.fire = claims_tick;
	i->hook.run = writer_turn;
	enum err e = open_stores(i, o, w);
	if (e != OK) {
		item_store_close(&i->store);
		item_store_close(&i->reader);
		mem_free(&i);
		return e;
	}
	i->shared = database_is_postgresql(item_store_database(i->store));
	i->writer = o->no_threads ? o->home : loop_new("items");
	i->pool = pool_new(o->no_threads ? 0 : 1);
	loop_hook(i->writer, &i->hook);
	if (!o->guest)
		upkeep_start(i);
	if (!o->no_threads)
		loop_start(i->writer);
	*out = i;
	return OK;
}

static void
closer_run(struct loop_call *call)
{
	struct items *i = CONTAINER(call, struct items, closer);

	i->quiet = true;
	upkeep_stop(i);
	loop_timer_stop(i->writer, &i->claims_timer);
	list_take(&i->hook.node);
}

/* The writer sends nothing more, and what it sent has been delivered. */
static void
closer_done(struct loop_call *call)
{
	struct items *i = CONTAINER(call, struct items, closer);

	i->closer_back = true;
	check_closed(i);
}

void
items_close(struct items *i, void (*closed)(void *arg), void *arg)
{
	CHECK(!i->closing);
	i->closing = true;
	i->closed_call = closed;
	i->closed_arg = arg;
	i->closer = (struct loop_call){ .home = i->home, .run = closer_run,
	    .done = closer_done };
	items_stop_claims(i);
	check_closed(i);
}

void
items_free(struct items **ip)
{
	struct items *i = *ip;

	if (i == NULL)
		return;
	CHECK(i->writes + i->reads == 0);
	if (!i->no_threads) {
		loop_stop(i->writer);
		loop_join(i->writer);
		loop_free(&i->writer);
	} else if (!i->closed) {
		closer_run(&i->closer);
	}
	pool_free(&i->pool);
	item_store_close(&i->reader);
	item_store_close(&i->store);
	mem_free(ip);
}
