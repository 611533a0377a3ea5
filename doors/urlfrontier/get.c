/*
 * GetURLs: a piece of leased URLs at a time, as fast as the caller reads.
 *
 *     ask ─► piece ─► sent ─► all of it left ─► ask for the next ...
 *                      │
 *                      └─ the caller left: what was not sent is released
 *
 * A piece stays until its last URL has left, for only then is it known that
 * none of it is to be released.
 */
#include "doors/urlfrontier/urlfrontier_own.h"
#include "os/clock.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

struct get {
	struct door_call call;
	struct outside_get get;
	struct outside_release release;
	struct list leaving;         /* in the door's, or in none */
	size_t at;                   /* URLs of the piece given to the stream */
	uint64_t before;             /* URLs of earlier pieces */
	uint64_t examined;           /* told to the figures */
	bool over;                   /* it was ended early */
};

static void came(struct outside_call *);

static void
ask(struct get *g)
{
	call_ask(&g->call, &g->get.call, came);
	outside_get(g->call.door->frontier, &g->get);
}

static void
get_free(struct get *g)
{
	list_take(&g->leaving);
	outside_get_free(&g->get);
	call_free(&g->call);
}

/* ---- The caller has left ------------------------------------------------- */

static void let_go(struct get *);

static void
released(struct outside_call *c)
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
		outside_release(g->call.door->frontier, &g->release);
	} else if (g->get.more) {
		g->get.stop = true;
		g->get.n = g->at = 0;
		ask(g);
	} else if (g->call.grpc == NULL) {
		get_free(g);
	}
}

/* ---- Pieces -------------------------------------------------------------- */

static void
finish(struct get *g)
{
	meter_get(MAX(mono_ns_between(g->call.began, clock_mono()), 0));
	call_fail(&g->call, GRPC_OK, NULL);
}

/* True when all of the piece is in the stream, and there is room. */
static bool
send_some(struct get *g)
{
	enum grpc_room room = GRPC_ROOM;
	size_t from = g->at;
	void *p;

	while (room == GRPC_ROOM && g->at < g->get.n) {
		const struct outside_url *u = &g->get.urls[g->at];
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
came(struct outside_call *c)
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

/* What has left stays leased; what has not is released. */
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
	/* What the stream still holds leaves with the answer. */
	g->over = true;
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
	if (g->get.key.n > 0 && !one)
		finish(g);
	else
		ask(g);
}

static void
on_writable(struct grpc_call *c)
{
	go_on(grpc_data(c));
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct get *g = grpc_data(c);

	(void)text;
	if (!g->over || g->call.out == 0)
		keep_what_left(g);
	call_end(&g->call, code);
	let_go(g);
}

const struct grpc_events urlfrontier_get_urls = { .on_open = on_open,
	.on_message = on_message, .on_writable = on_writable,
	.on_end = on_end };
