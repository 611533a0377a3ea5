/*
 * Listings, counts and purges: walks that the frontier does piece by piece.
 * URLs go out as fast as the caller reads; queues and crawls are one message.
 * What all nodes list together is gather.c's.
 */
#include "doors/urlfrontier/engine.h"
#include "doors/urlfrontier/list_own.h"
#include "os/clock.h"
#include "wire/grpc/pb.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

#define S_PER_DAY UINT64_C(86400)

static void came(struct lease_call *);

void
list_ask(struct listing *l)
{
	call_ask(&l->call, &l->list.call, came);
	engine_crawls_list(l->call.door, &l->list);
}

/* The walk comes to its end, then all is freed. */
static void
let_go(struct listing *l)
{
	if (l->call.out > 0) {
		lease_cancel(&l->list.call);
		return;
	}
	if (l->list.more) {
		l->list.stop = true;
		list_ask(l);
	} else if (l->call.grpc == NULL) {
		gather_free(&l->gather);
		arena_free(&l->list.arena);
		buf_free(&l->reply);
		call_free(&l->call);
	}
}

void
list_end(struct listing *l, enum grpc_code code, const char *text)
{
	l->over = true;
	call_fail(&l->call, code, text);
	if (l->gather != NULL)
		gather_stop(l->gather);
	let_go(l);
}

void
list_cut(struct door_call *k)
{
	struct listing *l = CONTAINER(k, struct listing, call);

	if (k->grpc != NULL && !l->over)
		list_end(l, GRPC_UNAVAILABLE, "the server is shutting down");
}

/* ---- Pieces -------------------------------------------------------------- */

enum grpc_room
list_send(struct listing *l, const struct lease_entry *e)
{
	struct item_info i = { e->url, e->key, e->metadata, l->list.crawl };
	void *p;
	enum grpc_room room = grpc_send_room(l->call.grpc,
	    item_known_size(&i, e->date_s, e->created_s), &p);

	if (room != GRPC_GONE)
		item_known_write(p, &i, e->date_s, e->created_s);
	return room;
}

static void
send_urls(struct listing *l)
{
	enum grpc_room room = GRPC_ROOM;

	while (room == GRPC_ROOM && l->at < l->list.n) {
		room = list_send(l, &l->list.entries[l->at]);
		l->at += room != GRPC_GONE;
	}
	if (room != GRPC_ROOM)
		return;
	if (l->list.more)
		list_ask(l);
	else
		call_fail(&l->call, GRPC_OK, NULL);
}

static void
reply_count(struct listing *l)
{
	Urlfrontier__Long m = URLFRONTIER__LONG__INIT;

	if (l->list.more) {
		list_ask(l);
		return;
	}
	m.value = l->list.count;
	call_reply(&l->call, &m.base);
}

static void
collect(struct listing *l)
{
	for (size_t i = 0; i < l->list.n; i++)
		pb_put_bytes(&l->reply, LIST_VALUES, l->list.entries[i].key);
	l->listed += l->list.n;
}

static void
reply_queues(struct listing *l)
{
	collect(l);
	if (l->reply.n > LIST_REPLY_BYTES_MAX) {
		list_end(l, GRPC_RESOURCE_EXHAUSTED, LIST_TOO_MANY);
		return;
	}
	if (l->list.more) {
		list_ask(l);
		return;
	}
	pb_put_varint(&l->reply, LIST_START, l->list.start);
	pb_put_varint(&l->reply, LIST_SIZE, l->listed);
	pb_put_bytes(&l->reply, LIST_CRAWL, l->list.crawl);
	call_reply_bytes(&l->call, buf_str(&l->reply));
}

static void
came(struct lease_call *c)
{
	struct listing *l = CONTAINER(c, struct listing, list.call);

	l->call.out--;
	l->at = 0;
	if (l->call.grpc == NULL || l->over) {
		let_go(l);
		return;
	}
	if (c->result == ERR_FULL) {
		list_end(l, GRPC_RESOURCE_EXHAUSTED, LIST_TOO_MANY_OPEN);
		return;
	}
	if (c->result != OK) {
		list_end(l, (enum grpc_code)err_grpc(c->result),
		    err_text(c->result));
		return;
	}
	if (l->gather != NULL) {
		gather_came(l);
		return;
	}
	switch (l->list.kind) {
	case LEASE_LIST_URLS:
		send_urls(l);
		break;
	case LEASE_LIST_QUEUES:
		reply_queues(l);
		break;
	case LEASE_LIST_CRAWLS:
		collect(l);
		call_reply_bytes(&l->call, buf_str(&l->reply));
		break;
	case LEASE_COUNT_URLS:
	case LEASE_PURGE_URLS:
		reply_count(l);
		break;
	}
}

/* ---- Handlers ------------------------------------------------------------ */

static void
on_open(struct grpc_call *c)
{
	call_open(c, sizeof(struct listing));
}

static void
on_writable(struct grpc_call *c)
{
	struct listing *l = grpc_data(c);

	if (l->gather != NULL)
		gather_go_on(l);
	else if (l->call.out == 0 && !l->over)
		send_urls(l);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct listing *l = grpc_data(c);

	(void)text;
	call_end(&l->call, code);
	if (l->gather != NULL)
		gather_stop(l->gather);
	let_go(l);
}

/* Of this node, or of all. */
static void
begin(struct listing *l, bool local)
{
	if (call_is_local(&l->call, local))
		list_ask(l);
	else
		gather_begin(l);
}

/* A blank filter is none. */
static struct str
filter_of(const struct listing *l)
{
	struct str text = call_text(&l->call, "filter");

	return str_trim(text).n == 0 ? STR_NONE : text;
}

static void
list_urls(struct grpc_call *c, struct str message)
{
	struct listing *l = grpc_data(c);
	const Urlfrontier__ListUrlParams *m = call_read(&l->call,
	    &urlfrontier__list_url_params__descriptor, message);

	if (m == NULL)
		return;
	l->list.kind = LEASE_LIST_URLS;
	l->list.crawl = call_crawl(call_text(&l->call, "crawlID"));
	l->list.key = call_text(&l->call, "key");
	l->list.start = m->start;
	l->list.size = m->size;
	l->list.filter = filter_of(l);
	l->list.ignore_case = m->ignore_case_given_case ==
	    URLFRONTIER__LIST_URL_PARAMS__IGNORE_CASE_GIVEN_IGNORE_CASE &&
	    m->ignorecase;
	begin(l, m->local);
}

static void
count_urls(struct grpc_call *c, struct str message)
{
	struct listing *l = grpc_data(c);
	const Urlfrontier__CountUrlParams *m = call_read(&l->call,
	    &urlfrontier__count_url_params__descriptor, message);

	if (m == NULL)
		return;
	l->list.kind = LEASE_COUNT_URLS;
	l->list.crawl = call_crawl(call_text(&l->call, "crawlID"));
	l->list.key = call_text(&l->call, "key");
	l->list.filter = filter_of(l);
	l->list.ignore_case = m->ignore_case_given_case ==
	    URLFRONTIER__COUNT_URL_PARAMS__IGNORE_CASE_GIVEN_IGNORE_CASE &&
	    m->ignorecase;
	begin(l, m->local_given_case ==
	    URLFRONTIER__COUNT_URL_PARAMS__LOCAL_GIVEN_LOCAL && m->local);
}

static void
purge_urls(struct grpc_call *c, struct str message)
{
	struct listing *l = grpc_data(c);
	const Urlfrontier__PurgeUrlParams *m = call_read(&l->call,
	    &urlfrontier__purge_url_params__descriptor, message);
	int64_t now = wall_s(clock_wall());

	if (m == NULL)
		return;
	l->list.kind = LEASE_PURGE_URLS;
	l->list.crawl = call_crawl(call_text(&l->call, "crawlID"));
	l->list.key = call_text(&l->call, "key");
	l->list.before_s = (uint64_t)now > m->days * S_PER_DAY ?
	    (uint64_t)now - m->days * S_PER_DAY : 0;
	if (!engine_crawls_refuse(&l->call, l->list.crawl))
		begin(l, false);
}

static void
list_queues(struct grpc_call *c, struct str message)
{
	struct listing *l = grpc_data(c);
	const Urlfrontier__Pagination *m = call_read(&l->call,
	    &urlfrontier__pagination__descriptor, message);

	if (m == NULL)
		return;
	l->list.kind = LEASE_LIST_QUEUES;
	l->list.crawl = call_crawl(call_text(&l->call, "crawlID"));
	l->list.start = m->start;
	l->list.size = m->size;
	l->list.include_inactive = m->include_inactive;
	/* Its memory is the call's, which may end before the walk does. */
	l->list.after = arena_copy(&l->call.arena, grpc_metadata(c,
	    LIST_AFTER));
	begin(l, m->local);
}

static void
list_crawls(struct grpc_call *c, struct str message)
{
	struct listing *l = grpc_data(c);
	const Urlfrontier__Local *m = call_read(&l->call,
	    &urlfrontier__local__descriptor, message);

	if (m == NULL)
		return;
	l->list.kind = LEASE_LIST_CRAWLS;
	begin(l, m->local);
}

#define EVENTS(handler) \
	const struct grpc_events urlfrontier_##handler = {                   \
		.on_open = on_open, .on_message = handler,                   \
		.on_writable = on_writable, .on_end = on_end }
EVENTS(list_urls);
EVENTS(count_urls);
EVENTS(purge_urls);
EVENTS(list_queues);
EVENTS(list_crawls);
