/*
 * Listings of all nodes: this node's walk and the answers of the others.
 *
 *     ListURLs    this node's walk, streams of the others ─┐
 *     ListQueues  this node's walk, pages of the others ───┴─► merge ─► answer
 *     ListCrawls, CountURLs, PurgeURLs  a walk, a fan ─► union, sum ─► answer
 *
 * A page that begins at `start` is cut here: each node gives what stands before
 * it too, up to its end.  With a key it is the owner's alone.
 */
#include "doors/urlfrontier/fan.h"
#include "doors/urlfrontier/list_own.h"
#include "doors/urlfrontier/merge.h"
#include "doors/urlfrontier/source.h"
#include "wire/grpc/pb.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

/* Names of queues in one answer: below 4 MiB, however long they are. */
#define PAGE_NAMES 4000u
#define NUMBER_VALUE 1               /* of Long */

/* The listing of one other node. */
struct feed {
	struct merge_source head;
	struct source source;
	struct gather *gather;
	struct str message;          /* URLs: the head; queues: a page */
	bool has;                    /* there is one */
	/* Queues. */
	struct reader names;         /* what is left of the page */
	uint64_t asked, got;         /* names in it */
	uint64_t rest;               /* names to ask for, behind this page */
	struct buf last;             /* the last name of the pages before */
};

struct gather {
	struct listing *listing;
	struct merge merge;
	struct merge_source local;
	struct feed *feeds;
	size_t feeds_n;
	bool full;                   /* the stream to the caller is */
	bool one;                    /* the owner's answer, as it comes */
	uint64_t start;

	struct fan fan;
	bool walked, asked;          /* this node, the others are done */
	uint64_t sum;
	struct buf names;            /* struct str, ... */
	struct arena arena;

	enum grpc_code code;         /* what went wrong first */
	struct why why;
};

static void
fail(struct gather *g, enum grpc_code code, const char *text)
{
	if (g->code != GRPC_OK)
		return;
	g->code = code;
	(void)why(&g->why, ERR_UNREACHED, "%s", text);
}

/* ---- Sources ------------------------------------------------------------- */

static enum merge_state
next_local(struct merge_source *head)
{
	struct gather *g = CONTAINER(head, struct gather, local);
	struct listing *l = g->listing;

	if (l->call.out > 0)
		return MERGE_WAITS;
	if (l->at < l->list.n) {
		const struct lease_entry *e = &l->list.entries[l->at++];
		head->key = e->key;
		head->url = e->url;
		head->date = e->date_s;
		return MERGE_HERE;
	}
	if (!l->list.more)
		return MERGE_OVER;
	list_ask(l);
	return MERGE_WAITS;
}

/* Nothing of it is left: it is over, waits, or has failed. */
static enum merge_state
nothing(struct feed *f)
{
	if (!f->source.ended)
		return MERGE_WAITS;
	if (f->source.code == GRPC_OK)
		return MERGE_OVER;
	fail(f->gather, f->source.code, f->source.why.text);
	return MERGE_WAITS;
}

static enum merge_state
malformed(struct feed *f)
{
	source_is_malformed(&f->source);
	return nothing(f);
}

static void
take(struct feed *f)
{
	if (f->has)
		source_take(&f->source);
	f->has = false;
}

static enum merge_state
next_url(struct merge_source *head)
{
	struct feed *f = CONTAINER(head, struct feed, head);
	struct lease_item item;
	struct str id;

	take(f);
	f->has = source_first(&f->source, &f->message);
	if (!f->has)
		return nothing(f);
	if (f->gather->one)
		return MERGE_HERE;
	if (!item_read(f->message, NULL, &item, &id))
		return malformed(f);
	head->key = item.key;
	head->url = item.url;
	head->date = item.date_s;
	return MERGE_HERE;
}

/* The next page: behind the last name. */
static void
ask_page(struct feed *f)
{
	struct gather *g = f->gather;
	struct door_call *k = &g->listing->call;
	struct grpc_field after = { LIST_AFTER, buf_str(&f->last) };
	struct buf request = BUF_INIT;

	f->asked = MIN(f->rest, PAGE_NAMES);
	f->rest -= f->asked;
	f->got = 0;
	buf_put_str(&request, k->request);
	pb_put_varint(&request, LIST_ASK_START, 0);
	pb_put_varint(&request, LIST_ASK_SIZE, f->asked);
	source_ask(&f->source, "ListQueues", buf_str(&request),
	    mono_add_ns(loop_now(k->door->loop), call_time_left_ns(k)),
	    f->last.n > 0 ? &after : NULL);
	buf_free(&request);
}

/* A name of the page; false: there is none, or `bad` is set. */
static bool
next_in_page(struct feed *f)
{
	struct pb_field field;

	while (pb_next(&f->names, &field)) {
		if (field.number != LIST_VALUES || field.type != PB_BYTES)
			continue;
		/* It begins behind the pages before, or it would never end. */
		f->names.bad = f->got++ == 0 &&
		    str_cmp(field.bytes, buf_str(&f->last)) <= 0;
		f->head.key = field.bytes;
		return !f->names.bad;
	}
	return false;
}

static enum merge_state
next_queue(struct merge_source *head)
{
	struct feed *f = CONTAINER(head, struct feed, head);

	if (!f->has) {
		f->has = source_first(&f->source, &f->message);
		f->names = reader_of(f->has ? f->message : STR_NONE);
	}
	if (f->has && next_in_page(f))
		return MERGE_HERE;
	/* A page that is none, or damaged. */
	if (f->source.ended && f->source.code == GRPC_OK &&
	    (!f->has || f->names.bad))
		return malformed(f);
	if (!f->source.ended || f->source.code != GRPC_OK ||
	    f->got < f->asked || f->rest == 0)
		return nothing(f);
	buf_clear(&f->last);
	buf_put_str(&f->last, head->key);
	take(f);
	ask_page(f);
	return nothing(f);
}

/* ---- The merge ----------------------------------------------------------- */

static void
put_name(struct listing *l, struct str name)
{
	pb_put_bytes(&l->reply, LIST_VALUES, name);
	l->listed++;
	if (l->reply.n > LIST_REPLY_BYTES_MAX)
		fail(l->gather, GRPC_RESOURCE_EXHAUSTED, LIST_TOO_MANY);
}

static enum grpc_room
send_url(struct listing *l, struct merge_source *head)
{
	if (head == &l->gather->local)
		return list_send(l, &l->list.entries[l->at - 1]);
	return grpc_send(l->call.grpc,
	    CONTAINER(head, struct feed, head)->message);
}

static void
pump(struct listing *l)
{
	struct gather *g = l->gather;
	struct merge_source *head;

	if (l->over || l->call.grpc == NULL || g->full)
		return;
	while (g->code == GRPC_OK && !g->full &&
	    (head = merge_first(&g->merge)) != NULL) {
		bool wanted = merge_wants(&g->merge, head);
		if (wanted && l->list.kind == LEASE_LIST_QUEUES)
			put_name(l, head->key);
		else if (wanted)
			g->full = send_url(l, head) != GRPC_ROOM;
		merge_take(&g->merge);
	}
	if (g->code == GRPC_OK && !g->merge.over)
		return;
	if (g->code == GRPC_OK && l->list.kind == LEASE_LIST_QUEUES)
		list_reply_queues(l, g->start);
	list_end(l, g->code, g->why.text);
}

/* One that has failed ends it all, whoever's turn it is. */
static void
source_came(struct source *s)
{
	struct feed *f = CONTAINER(s, struct feed, source);

	if (s->ended && s->code != GRPC_OK)
		fail(f->gather, s->code, s->why.text);
	pump(f->gather->listing);
}

static void
add_feed(struct gather *g, size_t node)
{
	struct door_call *k = &g->listing->call;
	struct feed *f = &g->feeds[g->feeds_n++];

	f->gather = g;
	f->source.cluster = k->door->cluster;
	f->source.loop = k->door->loop;
	f->source.node = node;
	f->source.came = source_came;
	f->head.next = g->listing->list.kind == LEASE_LIST_QUEUES ?
	    next_queue : next_url;
	merge_add(&g->merge, &f->head);
}

static void
add_feeds(struct gather *g, size_t owner)
{
	const struct cluster *c = g->listing->call.door->cluster;

	g->feeds = mem_array(cluster_nodes(c), sizeof(*g->feeds));
	for (size_t i = 0; i < cluster_nodes(c); i++)
		if (i == owner || (owner == FAN_ALL && i != cluster_self(c)))
			add_feed(g, i);
}

/* The page is cut here; whoever lists gives all up to its end. */
static uint64_t
cut_here(struct gather *g)
{
	struct lease_list *o = &g->listing->list;

	g->start = g->merge.skip = o->start;
	g->merge.size = o->size == 0 ? LEASE_LIST_SIZE : o->size;
	o->size = g->start + g->merge.size;
	o->start = 0;
	g->local.next = next_local;
	merge_add(&g->merge, &g->local);
	list_ask(g->listing);
	return o->size;
}

static void
gather_urls(struct gather *g, size_t owner)
{
	struct door_call *k = &g->listing->call;
	struct buf request = BUF_INIT;

	buf_put_str(&request, k->request);
	g->one = owner != FAN_ALL;
	if (g->one) {
		g->merge.size = UINT64_MAX;
	} else {
		uint64_t size = cut_here(g);
		pb_put_varint(&request, LIST_ASK_START, 0);
		pb_put_varint(&request, LIST_ASK_SIZE, MIN(size, UINT32_MAX));
	}
	add_feeds(g, owner);
	for (size_t i = 0; i < g->feeds_n; i++)
		source_ask(&g->feeds[i].source, "ListURLs",
		    buf_str(&request), grpc_deadline(k->grpc), NULL);
	buf_free(&request);
	pump(g->listing);
}

static void
gather_queues(struct gather *g)
{
	uint64_t size = cut_here(g);

	g->merge.once = true;
	add_feeds(g, FAN_ALL);
	for (size_t i = 0; i < g->feeds_n; i++) {
		g->feeds[i].rest = size;
		ask_page(&g->feeds[i]);
	}
	pump(g->listing);
}

/* ---- Sums and unions ----------------------------------------------------- */

static void
add_name(struct gather *g, struct str name)
{
	buf_put(&g->names, &name, sizeof(name));
}

/* Long, StringList */
static void
answered(struct fan *fan, size_t node, struct str message)
{
	struct gather *g = CONTAINER(fan, struct gather, fan);
	bool crawls = g->listing->list.kind == LEASE_LIST_CRAWLS;
	struct reader r = reader_of(message);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (crawls && f.number == LIST_VALUES && f.type == PB_BYTES)
			add_name(g, arena_copy(&g->arena, f.bytes));
		if (!crawls && f.number == NUMBER_VALUE &&
		    f.type == PB_VARINT)
			g->sum += f.value;
	}
	if (r.bad)
		fan_unreadable(fan, node);
}

/* A crawl that several nodes have is listed once. */
static void
reply_names(struct listing *l)
{
	struct gather *g = l->gather;
	size_t n = g->names.n / sizeof(struct str);
	struct str *all = ARENA_ARRAY(&g->arena, struct str, n + 1);

	if (n > 0)
		memcpy(all, g->names.p, g->names.n);
	qsort(all, n, sizeof(*all), str_order);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || !str_eq(all[i], all[i - 1]))
			pb_put_bytes(&l->reply, LIST_VALUES, all[i]);
	if (l->reply.n <= LIST_REPLY_BYTES_MAX)
		call_reply_bytes(&l->call, buf_str(&l->reply));
	else
		fail(g, GRPC_RESOURCE_EXHAUSTED,
		    "these are too many crawls for one message");
}

/* The answer waits for everybody, also for those who cannot change it. */
static void
settle(struct gather *g)
{
	struct listing *l = g->listing;

	if (!g->walked || !g->asked || l->over || l->call.grpc == NULL)
		return;
	if (g->code == GRPC_OK && l->list.kind == LEASE_LIST_CRAWLS)
		reply_names(l);
	else if (g->code == GRPC_OK)
		call_reply_number(&l->call, g->sum);
	list_end(l, g->code, g->why.text);
}

static void
all_answered(struct fan *fan)
{
	struct gather *g = CONTAINER(fan, struct gather, fan);

	g->asked = true;
	if (fan->code != GRPC_OK)
		fail(g, fan->code, fan->why.text);
	settle(g);
}

static void
walk_came(struct gather *g)
{
	struct listing *l = g->listing;

	if (l->list.more) {
		list_ask(l);
		return;
	}
	for (size_t i = 0; i < l->list.n; i++)
		add_name(g, l->list.entries[i].key);
	g->sum += l->list.count;
	g->walked = true;
	settle(g);
}

static void
gather_sum(struct gather *g, size_t owner)
{
	struct door_call *k = &g->listing->call;

	g->walked = owner != FAN_ALL;
	if (!g->walked)
		list_ask(g->listing);
	g->fan.cluster = k->door->cluster;
	g->fan.loop = k->door->loop;
	g->fan.rpc = urlfrontier_rpc_name(k->rpc);
	g->fan.timeout_ns = call_time_left_ns(k);
	g->fan.answer = answered;
	g->fan.done = all_answered;
	fan_begin(&g->fan, owner, k->request);
}

/* ---- Life ---------------------------------------------------------------- */

void
gather_begin(struct listing *l)
{
	const struct cluster *c = l->call.door->cluster;
	size_t owner = l->list.key.n == 0 ? FAN_ALL :
	    cluster_owner(c, l->list.crawl, l->list.key);

	if (owner == cluster_self(c)) {
		list_ask(l);
		return;
	}
	l->gather = mem_new(sizeof(*l->gather));
	l->gather->listing = l;
	l->gather->why = WHY_INIT;
	switch (l->list.kind) {
	case LEASE_LIST_URLS:
		gather_urls(l->gather, owner);
		break;
	case LEASE_LIST_QUEUES:
		gather_queues(l->gather);
		break;
	case LEASE_LIST_CRAWLS:
	case LEASE_COUNT_URLS:
	case LEASE_PURGE_URLS:
		gather_sum(l->gather, owner);
		break;
	}
}

void
gather_came(struct listing *l)
{
	if (l->list.kind == LEASE_LIST_URLS ||
	    l->list.kind == LEASE_LIST_QUEUES)
		pump(l);
	else
		walk_came(l->gather);
}

void
gather_go_on(struct listing *l)
{
	l->gather->full = false;
	pump(l);
}

void
gather_stop(struct gather *g)
{
	for (size_t i = 0; i < g->feeds_n; i++)
		source_stop(&g->feeds[i].source);
	fan_stop(&g->fan);
}

void
gather_free(struct gather **gp)
{
	struct gather *g = *gp;

	if (g == NULL)
		return;
	gather_stop(g);
	for (size_t i = 0; i < g->feeds_n; i++) {
		source_free(&g->feeds[i].source);
		buf_free(&g->feeds[i].last);
	}
	mem_free(&g->feeds);
	merge_free(&g->merge);
	buf_free(&g->names);
	arena_free(&g->arena);
	mem_free(gp);
}
