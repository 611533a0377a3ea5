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
	if (l->list.more)
		list_ask(l);
	else
		call_reply_number(&l->call, l->list.count);
}

static void
collect(struct listing *l)
{
	for (size_t i = 0; i < l->list.n; i++)
		pb_put_bytes(&l->reply, LIST_VALUES, l->list.entries[i].key);
	l->listed += l->list.n;
}

void
list_reply_queues(struct listing *l, uint64_t start)
{
	pb_put_varint(&l->reply, LIST_START, start);
	pb_put_varint(&l->reply, LIST_SIZE, l->listed);
	pb_put_bytes(&l->reply, LIST_CRAWL, l->list.crawl);
	call_reply_bytes(&l->call, buf_str(&l->reply));
}

static void
reply_queues(struct listing *l)
{
	collect(l);
	if (l->reply.n > LIST_REPLY_BYTES_MAX) {
		list_end(l, GRPC_RESOURCE_EXHAUSTED, LIST_TOO_MANY);
		return;
	}
	if (l->list.more)
		list_ask(l);
	else
		list_reply_queues(l, l->list.start);
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

/* A blank filter is none. */
static struct str
filter_of(const struct listing *l)
{
	struct str text = call_text(&l->call, "filter");

	return str_trim(text).n == 0 ? STR_NONE : text;
}

static uint64_t
days_ago_s(uint64_t days)
{
	uint64_t now = (uint64_t)wall_s(clock_wall());

	return now > days * S_PER_DAY ? now - days * S_PER_DAY : 0;
}

static const struct {
	const ProtobufCMessageDescriptor *request;
	enum lease_listing kind;
} methods[RPC_COUNT] = {
	[RPC_LIST_URLS] = { &urlfrontier__list_url_params__descriptor,
	    LEASE_LIST_URLS },
	[RPC_COUNT_URLS] = { &urlfrontier__count_url_params__descriptor,
	    LEASE_COUNT_URLS },
	[RPC_PURGE_URLS] = { &urlfrontier__purge_url_params__descriptor,
	    LEASE_PURGE_URLS },
	[RPC_LIST_QUEUES] = { &urlfrontier__pagination__descriptor,
	    LEASE_LIST_QUEUES },
	[RPC_LIST_CRAWLS] = { &urlfrontier__local__descriptor,
	    LEASE_LIST_CRAWLS },
};

/* Each kind of request has some of these fields; the others are empty or 0. */
static void
listing(struct grpc_call *c, struct str message)
{
	struct listing *l = grpc_data(c);
	const struct door_call *k = &l->call;

	if (call_read(&l->call, methods[k->rpc].request, message) == NULL)
		return;
	l->list.kind = methods[k->rpc].kind;
	l->list.crawl = call_crawl(call_text(k, "crawlID"));
	l->list.key = call_text(k, "key");
	l->list.start = call_u64(k, "start");
	l->list.size = call_u64(k, "size");
	l->list.filter = filter_of(l);
	l->list.ignore_case = call_u64(k, "ignoreCase");
	l->list.include_inactive = call_u64(k, "include_inactive");
	if (k->rpc == RPC_PURGE_URLS)
		l->list.before_s = days_ago_s(call_u64(k, "days"));
	/* Its memory is the call's, which may end before the walk does. */
	if (k->rpc == RPC_LIST_QUEUES)
		l->list.after = arena_copy(&l->call.arena, grpc_metadata(c,
		    LIST_AFTER));
	if (k->rpc == RPC_PURGE_URLS &&
	    engine_crawls_refuse(&l->call, l->list.crawl))
		return;
	if (call_is_local(k, call_u64(k, "local")))
		list_ask(l);
	else
		gather_begin(l);
}

const struct grpc_events urlfrontier_listing = { .on_open = on_open,
	.on_message = listing, .on_writable = on_writable, .on_end = on_end };
