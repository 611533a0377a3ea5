/*
 * GetURLs: a piece of leased URLs at a time, as fast as the caller reads.
 *
 *     ask ─► piece ─► sent ─► all of it left ─► ask for the next ...
 *                      │
 *                      └─ the caller left: what was not sent is released
 *
 * A piece stays until its last URL has left, for only then is it known that
 * none of it is to be released.
 *
 * With `argiope-scope: cluster` the other nodes follow, one behind the other,
 * with what is left of max_queues.  Their URLs are passed on as they come; what
 * came here and did not leave stays leased at its node until the lease ends.
 */
#include "doors/urlfrontier/engine.h"
#include "doors/urlfrontier/source.h"
#include "os/clock.h"
#include "wire/grpc/pb.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

enum { GET_MAX_QUEUES = 2 };

/* The other nodes, when they are asked too. */
struct others {
	struct source source;
	struct get *get;
	size_t next, left;           /* to be asked: the first, how many */
	bool asking;
	bool full;                   /* the stream to the caller is */
	uint64_t queues;             /* that they served */
	struct buf crawl, key;       /* of the URL before */
};

struct get {
	struct door_call call;
	struct lease_get get;
	struct lease_release release;
	struct list leaving;         /* in the door's, or in none */
	size_t at;                   /* URLs of the piece given to the stream */
	uint64_t before;             /* URLs of earlier pieces */
	uint64_t examined;           /* told to the figures */
	bool over;                   /* it was ended early */
	struct others *others;       /* NULL: this node alone */
};

static void came(struct lease_call *);

static void
ask(struct get *g)
{
	call_ask(&g->call, &g->get.call, came);
	lease_get(g->call.door->frontier, &g->get);
}

static void
get_free(struct get *g)
{
	list_take(&g->leaving);
	lease_get_free(&g->get);
	if (g->others != NULL) {
		source_free(&g->others->source);
		buf_free(&g->others->crawl);
		buf_free(&g->others->key);
		mem_free(&g->others);
	}
	call_free(&g->call);
}

static void
stop_others(struct get *g)
{
	if (g->others != NULL)
		source_stop(&g->others->source);
}

/* ---- The caller has left ------------------------------------------------- */

static void let_go(struct get *);

static void
released(struct lease_call *c)
{
	struct get *g = CONTAINER(c, struct get, release.call);

	g->call.out--;
	g->get.n = 0;
	let_go(g);
}

/* Release what nobody got, end what would go on, free. */
static void
let_go(struct get *g)
{
	if (g->call.out > 0)
		return;
	if (g->at < g->get.n) {
		g->release.urls = g->get.urls + g->at;
		g->release.n = g->get.n - g->at;
		call_ask(&g->call, &g->release.call, released);
		lease_release(g->call.door->frontier, &g->release);
	} else if (g->get.more) {
		g->get.stop = true;
		g->get.n = g->at = 0;
		ask(g);
	} else if (g->call.grpc == NULL) {
		get_free(g);
	}
}

/* ---- The other nodes ----------------------------------------------------- */

static bool ask_next(struct get *);

static void
finish(struct get *g)
{
	if (g->others != NULL && ask_next(g))
		return;
	meter_get(MAX(mono_ns_between(g->call.began, clock_mono()), 0));
	call_fail(&g->call, GRPC_OK, NULL);
}

static void
fail_with(struct get *g, const struct source *s)
{
	g->over = true;
	call_fail(&g->call, s->code, s->why.text);
}

/* URLs of one queue stand together.  False: it is no URL. */
static bool
count_queue(struct others *o, struct str message)
{
	struct lease_item item;

	if (!item_read_info(message, NULL, &item))
		return false;
	if (o->queues > 0 && str_eq(item.key, buf_str(&o->key)) &&
	    str_eq(item.crawl, buf_str(&o->crawl)))
		return true;
	o->queues++;
	buf_clear(&o->key);
	buf_put_str(&o->key, item.key);
	buf_clear(&o->crawl);
	buf_put_str(&o->crawl, item.crawl);
	return true;
}

static void
pass_on(struct get *g)
{
	struct others *o = g->others;
	struct str message;

	if (g->over || g->call.grpc == NULL)
		return;
	while (!o->full && source_first(&o->source, &message)) {
		if (!count_queue(o, message)) {
			source_is_malformed(&o->source);
			fail_with(g, &o->source);
			return;
		}
		o->full = grpc_send(g->call.grpc, message) != GRPC_ROOM;
		source_take(&o->source);
	}
	if (o->full || !o->source.ended)
		return;
	if (o->source.code == GRPC_OK)
		finish(g);
	else
		fail_with(g, &o->source);
}

static void
source_came(struct source *s)
{
	pass_on(CONTAINER(s, struct others, source)->get);
}

/* False: nobody is left, or nothing to be asked for. */
static bool
ask_next(struct get *g)
{
	const struct cluster *c = g->call.door->cluster;
	struct others *o = g->others;
	uint64_t served = g->get.served + o->queues, max = g->get.queues_max;
	struct buf request = BUF_INIT;

	if (o->left == 0 || (max != 0 && served >= max))
		return false;
	if (o->next == cluster_self(c))
		o->next = (o->next + 1) % cluster_nodes(c);
	o->source.node = o->next;
	o->next = (o->next + 1) % cluster_nodes(c);
	o->left--;
	o->asking = true;
	/* When a field occurs twice, the last value counts. */
	buf_put_str(&request, g->call.request);
	pb_put_varint(&request, GET_MAX_QUEUES, max == 0 ? 0 : max - served);
	source_ask(&o->source, "GetURLs", buf_str(&request),
	    grpc_deadline(g->call.grpc), NULL);
	buf_free(&request);
	if (o->source.ended)
		fail_with(g, &o->source);
	return true;
}

/* All others, each time another one first; of one queue, its owner. */
static void
add_others(struct get *g)
{
	struct urlfrontier *d = g->call.door;
	size_t n = cluster_nodes(d->cluster), self = cluster_self(d->cluster);
	struct others *o = mem_new(sizeof(*o));

	g->others = o;
	o->get = g;
	o->source.cluster = d->cluster;
	o->source.loop = d->loop;
	o->source.came = source_came;
	o->left = n - 1;
	o->next = (self + 1 + d->get_others++ % (n - 1)) % n;
	if (g->get.key.n > 0) {
		o->next = cluster_owner(d->cluster, g->get.crawl, g->get.key);
		o->left = o->next != self;
	}
}

/* ---- Pieces -------------------------------------------------------------- */

/* True when all of the piece is in the stream, and there is room. */
static bool
send_some(struct get *g)
{
	enum grpc_room room = GRPC_ROOM;
	size_t from = g->at;
	void *p;

	while (room == GRPC_ROOM && g->at < g->get.n) {
		const struct lease_url *u = &g->get.urls[g->at];
		struct item_info i = { u->url, u->key, u->metadata, u->crawl };
		room = grpc_send_room(g->call.grpc, item_info_size(&i), &p);
		if (room == GRPC_GONE)
			break;
		item_info_write(p, &i);
		g->at++;
	}
	meter_count(METER_GOT, g->at - from);
	return room == GRPC_ROOM;
}

static void
go_on(struct get *g)
{
	if (g->call.out > 0 || g->over || !send_some(g))
		return;
	if (!g->get.more)
		finish(g);
	else if (list_empty(&g->leaving))
		list_put(&g->call.door->leaving, &g->leaving);
}

static void
came(struct lease_call *c)
{
	struct get *g = CONTAINER(c, struct get, get.call);

	g->call.out--;
	g->at = 0;
	meter_count(METER_EXAMINED, g->get.examined - g->examined);
	g->examined = g->get.examined;
	if (g->call.grpc == NULL || g->over) {
		let_go(g);
	} else if (c->result != OK) {
		g->over = true;
		call_fail_err(&g->call, c->result);
	} else {
		go_on(g);
	}
}

void
get_turn(struct urlfrontier *d)
{
	struct list *next;

	for (struct list *n = d->leaving.next; n != &d->leaving; n = next) {
		struct get *g = LIST_ITEM(n, struct get, leaving);
		next = n->next;
		if (grpc_messages_left(g->call.grpc) < g->before + g->get.n)
			continue;
		list_take(n);
		g->before += g->get.n;
		g->get.n = g->at = 0;
		ask(g);
	}
}

/* URLs that were sent stay leased; the others are released. */
static void
keep_what_left(struct get *g)
{
	uint64_t left = grpc_messages_left(g->call.grpc);

	if (g->call.out == 0)
		g->at = left > g->before ? (size_t)(left - g->before) : 0;
	list_take(&g->leaving);
}

void
get_cut(struct door_call *k)
{
	struct get *g = CONTAINER(k, struct get, call);

	if (k->grpc == NULL || g->over)
		return;
	/* The stream sends what it still has with the answer. */
	g->over = true;
	stop_others(g);
	list_take(&g->leaving);
	call_fail(k, GRPC_UNAVAILABLE, "the server is shutting down");
	let_go(g);
}

/* ---- Handlers ------------------------------------------------------------ */

static void
on_open(struct grpc_call *c)
{
	struct get *g = call_open(c, sizeof(*g));

	list_init(&g->leaving);
	meter_count(METER_GETS, 1);
}

static void
on_message(struct grpc_call *c, struct str message)
{
	struct get *g = grpc_data(c);
	const Urlfrontier__GetParams *m = call_read(&g->call,
	    &urlfrontier__get_params__descriptor, message);

	if (m == NULL)
		return;
	bool one = m->item_case == URLFRONTIER__GET_PARAMS__ITEM_CRAWL_ID;
	g->get.key = call_text(&g->call, "key");
	g->get.any_crawl = !one;
	if (one)
		g->get.crawl = call_crawl(call_text(&g->call, "crawlID"));
	g->get.urls_max = m->max_urls_per_queue;
	g->get.queues_max = m->max_queues;
	g->get.lease_s = m->delay_requestable;
	/* A key is one of some crawl. */
	if ((g->get.key.n > 0 && !one) ||
	    engine_crawls_have(g->call.door, g->get.crawl)) {
		finish(g);
		return;
	}
	if (g->call.door->cluster != NULL && str_eq(grpc_metadata(c,
	    STR("argiope-scope")), STR("cluster")))
		add_others(g);
	/* A queue of another node is asked for there alone. */
	if (g->others != NULL && g->get.key.n > 0 && g->others->left > 0)
		finish(g);
	else
		ask(g);
}

static void
on_writable(struct grpc_call *c)
{
	struct get *g = grpc_data(c);

	if (g->others == NULL || !g->others->asking) {
		go_on(g);
		return;
	}
	g->others->full = false;
	pass_on(g);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct get *g = grpc_data(c);

	(void)text;
	if (!g->over || g->call.out == 0)
		keep_what_left(g);
	stop_others(g);
	if (g->call.out > 0)
		lease_cancel(&g->get.call);
	call_end(&g->call, code);
	let_go(g);
}

const struct grpc_events urlfrontier_get_urls = { .on_open = on_open,
	.on_message = on_message, .on_writable = on_writable,
	.on_end = on_end };
