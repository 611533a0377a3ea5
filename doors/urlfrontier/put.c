/*
 * PutURLs and PutDiscovered: what one turn read of a stream goes to the
 * frontier as one unit; units come back, and acknowledgements leave in order.
 *
 *     message ─► filling ─► units: put ─► done ─► acknowledged
 *        ▲         │ end of the turn, or full            │
 *        └─ paused ┴─ too much is on its way ◄───────────┘
 *
 * Items count from the message that brought them until their acknowledgement
 * has left, so that who does not read is not read from.  A batch that is larger
 * than a unit is taken in piece by piece.
 *
 * In a cluster a unit is split by owner: what is this node's goes to the
 * frontier, the rest to the others, and it is done when all parts are.  What
 * nobody could own, for want of a key, is judged here.
 */
#include "doors/urlfrontier/engine.h"
#include "doors/urlfrontier/forward.h"
#include "os/clock.h"

#define UNIT_ITEMS 256u          /* and messages */
#define UNIT_ITEMS_FEW 8u
/* Limits of one stream. */
#define UNITS_MAX 32u            /* on their way */
#define STREAM_BYTES_MAX ((size_t)8 << 20)
#define SPARE_MAX 64u
#define SPARE_ARENA_BYTES_MAX ((size_t)128 << 10)
/* In a cluster the server takes more, so that peers' items may be longer. */
#define MESSAGE_BYTES_MAX ((size_t)4 << 20)

/* What is owed for one message, or for a part of a batch. */
struct ack {
	struct str id;
	uint32_t items;
	bool ends;                   /* the batch; else more of it follows */
};

struct put_unit {
	struct lease_put put;
	struct list node;            /* in a stream's units, or spare */
	struct stream *stream;
	struct mono began;           /* when its first item was read */
	bool done;
	unsigned out;                /* parts under way: here, and at peers */
	size_t bytes;
	struct arena arena;          /* items' texts, parts */
	struct lease_item *items;
	struct ack *acks;
	size_t cap, items_n, acks_n;
	size_t acked, item_at;       /* given to the stream */
	/* Split: its parts, one of which may be this node's. */
	struct forward_part *parts;
	size_t parts_n;
	struct forward_part *own;    /* NULL: not split */
};

struct stream {
	struct door_call call;
	struct lease_stream order;
	struct list units;           /* oldest first */
	size_t units_n;
	struct put_unit *filling;
	struct list fill_node;       /* in the door's filling, or in none */
	struct list pause_node;      /* in the door's paused, or in none */
	uint64_t taken;              /* messages */
	size_t bytes;
	bool batches;
	bool full;                   /* no room for acknowledgements */
	bool keep_dates;
	bool spreads;                /* over a cluster */
	/* A batch that is not taken in wholly. */
	struct buf batch, batch_id, statuses;
	struct str rest;
	bool in_batch;
	/* The end: when all is acknowledged, this is the answer. */
	bool closing;
	enum grpc_code code;
	const char *text;
};

/* ---- Units --------------------------------------------------------------- */

static struct put_unit *
unit_new(struct stream *s)
{
	struct urlfrontier *d = s->call.door;
	struct put_unit *u;

	if (list_empty(&d->spare)) {
		u = mem_new(sizeof(*u));
		list_init(&u->node);
	} else {
		u = LIST_POP(&d->spare, struct put_unit, node);
		d->spare_n--;
	}
	u->stream = s;
	u->began = clock_mono();
	u->done = false;
	u->out = 0;
	u->own = NULL;
	u->bytes = u->items_n = u->acks_n = u->acked = u->item_at = 0;
	u->parts_n = 0;
	return u;
}

static void
unit_free(struct put_unit **up)
{
	struct put_unit *u = *up;

	arena_free(&u->arena);
	mem_free(&u->items);
	mem_free(&u->acks);
	mem_free(up);
}

/* It is not needed any more. */
static void
unit_drop(struct put_unit *u)
{
	struct stream *s = u->stream;
	struct urlfrontier *d = s->call.door;

	s->bytes -= u->bytes;
	d->put_bytes -= u->bytes;
	list_take(&u->node);
	if (d->spare_n >= SPARE_MAX) {
		unit_free(&u);
		return;
	}
	if (u->arena.total > SPARE_ARENA_BYTES_MAX)
		arena_free(&u->arena);
	else
		arena_reset(&u->arena);
	list_put(&d->spare, &u->node);
	d->spare_n++;
}

void
put_free_spare(struct urlfrontier *d)
{
	while (!list_empty(&d->spare)) {
		struct put_unit *u = LIST_POP(&d->spare, struct put_unit, node);
		unit_free(&u);
	}
}

static bool
unit_is_full(const struct put_unit *u)
{
	return u->items_n == UNIT_ITEMS || u->acks_n == UNIT_ITEMS;
}

static void
unit_room(struct put_unit *u)
{
	size_t n = MAX(u->items_n, u->acks_n);

	if (n < u->cap)
		return;
	u->cap = MAX(UNIT_ITEMS_FEW, MIN(2 * u->cap, UNIT_ITEMS));
	u->items = mem_resize(u->items, u->cap, sizeof(*u->items));
	u->acks = mem_resize(u->acks, u->cap, sizeof(*u->acks));
}

static void
unit_grows(struct put_unit *u, size_t n)
{
	struct stream *s = u->stream;

	u->bytes += n;
	s->bytes += n;
	s->call.door->put_bytes += n;
}

static struct str
unit_keep(struct put_unit *u, struct str bytes)
{
	char *p = arena_bytes(&u->arena, bytes.n);

	if (bytes.n > 0)
		memcpy(p, bytes.p, bytes.n);
	unit_grows(u, bytes.n + sizeof(struct lease_item) +
	    sizeof(struct ack));
	return (struct str){ p, bytes.n };
}

/* ---- A stream's end ------------------------------------------------------ */

static void
stream_free(struct stream *s)
{
	CHECK(list_empty(&s->units) && s->filling == NULL && s->bytes == 0);
	list_take(&s->fill_node);
	list_take(&s->pause_node);
	buf_free(&s->batch);
	buf_free(&s->batch_id);
	buf_free(&s->statuses);
	call_free(&s->call);
}

static bool
is_empty(const struct stream *s)
{
	return list_empty(&s->units) && !s->in_batch &&
	    (s->filling == NULL || s->filling->acks_n == 0);
}

/* All is acknowledged, and nothing more is wanted: the answer. */
static void
end_if_done(struct stream *s)
{
	if (s->closing && !s->full && is_empty(s))
		call_fail(&s->call, s->code, s->text);
}

static void
close_with(struct stream *s, enum grpc_code code, const char *text)
{
	if (s->closing)
		return;
	s->closing = true;
	s->code = code;
	s->text = text;
}

/* It ends with an error, and hears nothing more; in draining it still does. */
static bool
is_deaf(const struct stream *s)
{
	return s->closing && s->code != GRPC_OK && s->code != GRPC_UNAVAILABLE;
}

/* ---- Acknowledgements ---------------------------------------------------- */

static enum grpc_room
send_ack(struct stream *s, struct str id, enum lease_status status)
{
	void *p;
	enum grpc_room room = grpc_send_room(s->call.grpc,
	    item_ack_size(id, status), &p);

	if (room != GRPC_GONE)
		item_ack_write(p, id, status);
	return room;
}

static enum grpc_room
send_batch_ack(struct stream *s, const struct put_unit *u,
    const struct ack *a)
{
	void *p;

	for (size_t i = 0; i < a->items; i++)
		buf_put_char(&s->statuses,
		    (char)u->items[u->item_at + i].status);
	if (!a->ends)
		return GRPC_ROOM;
	struct str all = buf_str(&s->statuses);
	enum grpc_room room = grpc_send_room(s->call.grpc,
	    item_batch_ack_size(a->id, all), &p);
	if (room != GRPC_GONE)
		item_batch_ack_write(p, a->id, all);
	if (all.n > UNIT_ITEMS * UNIT_ITEMS)
		buf_free(&s->statuses);
	buf_clear(&s->statuses);
	return room;
}

/* True when all of the unit is acknowledged. */
static bool
acknowledge(struct stream *s, struct put_unit *u)
{
	while (u->acked < u->acks_n && !s->full) {
		const struct ack *a = &u->acks[u->acked];
		enum grpc_room room = s->batches ? send_batch_ack(s, u, a) :
		    send_ack(s, a->id, u->items[u->item_at].status);
		/* Who has left is told nothing. */
		s->full = room == GRPC_FULL;
		u->item_at += a->items;
		u->acked++;
	}
	return u->acked == u->acks_n;
}

static void
count(const struct put_unit *u)
{
	uint64_t statuses[3] = { 0, 0, 0 };
	uint64_t discovered = 0, ignored = 0, completed = 0;

	for (size_t i = 0; i < u->items_n; i++) {
		const struct lease_item *x = &u->items[i];
		statuses[x->status]++;
		discovered += !x->known;
		ignored += !x->known && x->status == LEASE_SKIPPED;
		completed += x->known && x->date_s == 0 &&
		    x->status == LEASE_OK;
	}
	meter_count(METER_ITEMS, u->items_n);
	meter_count(METER_IGNORED, ignored);
	meter_count(METER_COMPLETED, completed);
	meter_kinds(discovered, u->items_n - discovered);
	meter_acks(statuses, MAX(mono_ns_between(u->began, clock_mono()), 0));
}

/* All of its statuses are there. */
static void
answered(struct put_unit *u)
{
	u->done = true;
	count(u);
}

static void flush(struct stream *);

/* Units that are done leave from the front. */
static void
deliver_done(struct stream *s)
{
	while (!s->full && !list_empty(&s->units)) {
		struct put_unit *u = LIST_ITEM(s->units.next,
		    struct put_unit, node);
		if (!u->done || !acknowledge(s, u))
			break;
		s->units_n--;
		unit_drop(u);
	}
}

/* The same, and what that makes room for. */
static void
deliver(struct stream *s)
{
	deliver_done(s);
	flush(s);
	/* Items that were refused have no part that reports back. */
	deliver_done(s);
	end_if_done(s);
}

/* ---- Putting ------------------------------------------------------------- */

/* A part of it came back. */
static void
part_done(struct put_unit *u)
{
	struct stream *s = u->stream;

	s->call.out--;
	if (--u->out > 0)
		return;
	answered(u);
	if (s->call.grpc != NULL) {
		deliver(s);
		return;
	}
	s->units_n--;
	unit_drop(u);
	if (s->call.out == 0)
		stream_free(s);
}

static void
put_done(struct lease_call *c)
{
	struct put_unit *u = CONTAINER(c, struct put_unit, put.call);
	const struct forward_part *own = u->own;

	for (size_t i = 0; own != NULL && i < own->n; i++)
		u->items[own->which[i]].status = own->items[i].status;
	part_done(u);
}

static void
peer_done(struct forward_part *p)
{
	part_done(p->arg);
}

static void
put_here(struct put_unit *u, struct lease_item *items, size_t n)
{
	struct stream *s = u->stream;

	u->put.stream = &s->order;
	u->put.items = items;
	u->put.items_n = n;
	u->out++;
	call_ask(&s->call, &u->put.call, put_done);
	lease_put(s->call.door->frontier, &u->put);
}

/* ---- In a cluster -------------------------------------------------------- */

static size_t
owner_of(const struct cluster *c, const struct lease_item *i)
{
	struct str key = i->key.n != 0 ? i->key : lease_key(i->url);

	if (i->url.n == 0 || key.n == 0 ||
	    lease_key_units(key) > LEASE_KEY_UNITS_MAX)
		return cluster_self(c);
	return cluster_owner(c, i->crawl, key);
}

/* The number of that node's part. */
static uint16_t
part_for(struct put_unit *u, size_t node)
{
	size_t k = 0;

	while (k < u->parts_n && u->parts[k].peer != node)
		k++;
	if (k == u->parts_n)
		u->parts[u->parts_n++] = (struct forward_part){
		    .peer = node, .items = u->items, .began = u->began,
		    .done = peer_done, .arg = u };
	return (uint16_t)k;
}

/* A part for each node that owns any of it. */
static void
split(struct put_unit *u)
{
	const struct cluster *c = u->stream->call.door->cluster;
	size_t most = MIN(u->items_n, cluster_nodes(c)), at = 0;
	uint16_t *which = ARENA_ARRAY(&u->arena, uint16_t, u->items_n);
	uint16_t part_of[UNIT_ITEMS];

	u->parts = ARENA_ARRAY(&u->arena, struct forward_part, most);
	unit_grows(u, u->items_n * sizeof(*which) +
	    most * sizeof(*u->parts));
	for (size_t i = 0; i < u->items_n; i++) {
		part_of[i] = part_for(u, owner_of(c, &u->items[i]));
		u->parts[part_of[i]].n++;
	}
	for (size_t k = 0; k < u->parts_n; k++) {
		u->parts[k].which = which + at;
		at += u->parts[k].n;
		u->parts[k].n = 0;
	}
	for (size_t i = 0; i < u->items_n; i++) {
		struct forward_part *p = &u->parts[part_of[i]];
		p->which[p->n++] = (uint16_t)i;
	}
}

/* This node's part of the items, which the frontier wants as one array. */
static void
put_own(struct put_unit *u, struct forward_part *p)
{
	struct lease_item *items = u->items;

	if (u->parts_n > 1) {
		items = ARENA_ARRAY(&u->arena, struct lease_item, p->n);
		unit_grows(u, p->n * sizeof(*items));
		for (size_t i = 0; i < p->n; i++)
			items[i] = u->items[p->which[i]];
		p->items = items;
		u->own = p;
	}
	put_here(u, items, p->n);
}

static void
spread(struct put_unit *u)
{
	struct stream *s = u->stream;
	struct urlfrontier *d = s->call.door;

	split(u);
	for (size_t k = 0; k < u->parts_n; k++) {
		struct forward_part *p = &u->parts[k];
		if (p->peer == cluster_self(d->cluster)) {
			put_own(u, p);
		} else if (forward_put(d->forward, p, s->keep_dates)) {
			u->out++;
			s->call.out++;
		}
	}
	if (u->out == 0)
		answered(u);
}

/* Stop waiting for the items at other nodes. */
static void
leave_peers(struct put_unit *u)
{
	for (size_t k = 0; k < u->parts_n; k++)
		if (forward_drop(&u->parts[k])) {
			u->out--;
			u->stream->call.out--;
		}
	if (u->out == 0 && !u->done)
		answered(u);
}

/* ---- Posting ------------------------------------------------------------- */

/* Nothing that comes now is applied: send it again, to who takes over. */
static void
refuse(struct put_unit *u)
{
	for (size_t i = 0; i < u->items_n; i++)
		u->items[i].status = LEASE_FAIL;
	answered(u);
}

static void
post(struct stream *s)
{
	struct put_unit *u = s->filling;

	s->filling = NULL;
	list_take(&s->fill_node);
	list_put(&s->units, &u->node);
	s->units_n++;
	if (s->call.door->draining) {
		refuse(u);
		return;
	}
	/* A batch without items: it waits for its turn only. */
	if (u->items_n == 0) {
		u->done = true;
		return;
	}
	if (s->spreads)
		spread(u);
	else
		put_here(u, u->items, u->items_n);
}

static uint64_t
inflight_max(const struct stream *s)
{
	const struct urlfrontier *d = s->call.door;

	return s->batches ? d->batch_inflight_max : d->put_inflight_max;
}

static bool
enough_units(const struct stream *s)
{
	return s->units_n >= UNITS_MAX && inflight_max(s) != 0;
}

/* Send the gathering batch, unless enough batches are under way. */
static void
flush(struct stream *s)
{
	if (s->filling != NULL && s->filling->acks_n > 0 && !enough_units(s))
		post(s);
}

/* The unit that has room for another item; NULL: there must be none now. */
static struct put_unit *
unit_for(struct stream *s)
{
	if (s->filling != NULL && unit_is_full(s->filling))
		flush(s);
	if (s->filling != NULL && unit_is_full(s->filling))
		return NULL;
	if (s->filling == NULL) {
		s->filling = unit_new(s);
		list_put(&s->call.door->filling, &s->fill_node);
	}
	unit_room(s->filling);
	return s->filling;
}

/* ---- Taking in ----------------------------------------------------------- */

/* What is on its way is enough. */
static bool
must_wait(const struct stream *s)
{
	const struct urlfrontier *d = s->call.door;
	uint64_t max = inflight_max(s);

	if (s->in_batch)
		return true;
	if (s->filling != NULL && unit_is_full(s->filling) &&
	    enough_units(s))
		return true;
	if (max != 0 && (s->bytes >= STREAM_BYTES_MAX ||
	    s->taken - grpc_messages_left(s->call.grpc) >= max))
		return true;
	return s->bytes > 0 && d->put_bytes >= d->put_bytes_max;
}

static void
wait_if_enough(struct stream *s)
{
	if (!must_wait(s) || !list_empty(&s->pause_node))
		return;
	grpc_pause(s->call.grpc);
	list_put(&s->call.door->paused, &s->pause_node);
}

/* Answer all items before this one, and none after it. */
static void
break_off(struct stream *s, enum grpc_code code, const char *text)
{
	close_with(s, code, text);
	grpc_pause(s->call.grpc);
	deliver(s);
}

static void
malformed(struct stream *s)
{
	break_off(s, GRPC_INTERNAL, CALL_MALFORMED);
}

/* True: it must not be heard, and the stream has been told if it must be. */
static bool
is_unwanted(struct stream *s, struct str message)
{
	if (is_deaf(s))
		return true;
	if (message.n <= MESSAGE_BYTES_MAX || !s->spreads)
		return false;
	break_off(s, GRPC_RESOURCE_EXHAUSTED,
	    "a message is larger than the limit");
	return true;
}

static void
set_item(const struct stream *s, struct lease_item *i)
{
	i->crawl = call_crawl(i->crawl);
	i->keep_created = s->keep_dates;
	/* Without a URL it is skipped. */
	if (engine_crawls_have(s->call.door, i->crawl))
		i->url = STR_NONE;
}

static void
on_item(struct grpc_call *c, struct str message)
{
	struct stream *s = grpc_data(c);
	struct put_unit *u;
	struct str id;

	if (is_unwanted(s, message))
		return;
	u = unit_for(s);
	CHECK(u != NULL);
	struct lease_item *i = &u->items[u->items_n];
	if (!item_read(unit_keep(u, message), &u->arena, i, &id)) {
		malformed(s);
		return;
	}
	u->acks[u->acks_n++] = (struct ack){ id.n > 0 ? id : i->url, 1,
	    true };
	set_item(s, i);
	u->items_n++;
	s->taken++;
	wait_if_enough(s);
}

/* Take in what there is room for of the batch; it is well-formed. */
static void
take_batch(struct stream *s)
{
	struct put_unit *u;
	struct str info;

	while (s->in_batch && (u = unit_for(s)) != NULL) {
		struct ack *a = &u->acks[u->acks_n];
		*a = (struct ack){ STR_NONE, 0, false };
		while (u->items_n < UNIT_ITEMS && item_next(&s->rest, &info)) {
			unit_room(u);
			a = &u->acks[u->acks_n];
			struct lease_item *i = &u->items[u->items_n++];
			/* It was looked at before. */
			CHECK(item_read_info(unit_keep(u, info), &u->arena,
			    i));
			set_item(s, i);
			a->items++;
		}
		a->ends = s->rest.n == 0;
		if (a->ends) {
			a->id = unit_keep(u, buf_str(&s->batch_id));
			s->in_batch = false;
		}
		u->acks_n++;
	}
	if (!s->in_batch) {
		if (s->batch.cap > STREAM_BYTES_MAX / 8)
			buf_free(&s->batch);
		buf_clear(&s->batch);
	}
}

static void
on_batch(struct grpc_call *c, struct str message)
{
	struct stream *s = grpc_data(c);
	struct str id;

	if (is_unwanted(s, message))
		return;
	if (!item_check_batch(message, &id)) {
		malformed(s);
		return;
	}
	s->in_batch = true;
	s->rest = message;
	s->taken++;
	buf_clear(&s->batch_id);
	buf_put_str(&s->batch_id, id);
	take_batch(s);
	if (s->in_batch) {
		buf_clear(&s->batch);
		buf_put_str(&s->batch, s->rest);
		s->rest = buf_str(&s->batch);
	}
	wait_if_enough(s);
}

/* ---- Turns --------------------------------------------------------------- */

void
put_turn(struct urlfrontier *d)
{
	struct list *next;

	for (struct list *n = d->filling.next; n != &d->filling; n = next) {
		next = n->next;
		deliver(LIST_ITEM(n, struct stream, fill_node));
	}
	for (struct list *n = d->paused.next; n != &d->paused; n = next) {
		struct stream *s = LIST_ITEM(n, struct stream, pause_node);
		next = n->next;
		if (s->in_batch) {
			take_batch(s);
			deliver(s);
		}
		if (must_wait(s) || is_deaf(s))
			continue;
		list_take(n);
		grpc_resume(s->call.grpc);
	}
}

void
put_close(struct door_call *k, enum grpc_code code, const char *text)
{
	struct stream *s = CONTAINER(k, struct stream, call);

	if (k->grpc == NULL)
		return;
	close_with(s, code, text);
	if (!k->door->draining)
		grpc_pause(k->grpc);
	deliver(s);
}

/* ---- Handlers ------------------------------------------------------------ */

static struct stream *
open_stream(struct grpc_call *c)
{
	struct stream *s = call_open(c, sizeof(*s));
	struct str keep = grpc_metadata(c, STR("argiope-keep-dates"));

	lease_stream_init(&s->order);
	list_init(&s->units);
	list_init(&s->fill_node);
	list_init(&s->pause_node);
	s->keep_dates = str_eq(keep, STR("1"));
	s->spreads = s->call.door->cluster != NULL &&
	    !call_is_local(&s->call, false);
	meter_streams(1);
	return s;
}

static void
on_open_items(struct grpc_call *c)
{
	open_stream(c);
	meter_count(METER_PUTS, 1);
}

static void
on_open_batches(struct grpc_call *c)
{
	open_stream(c)->batches = true;
	meter_count(METER_PUT_BATCHES, 1);
}

static void
on_half_close(struct grpc_call *c)
{
	struct stream *s = grpc_data(c);

	close_with(s, GRPC_OK, NULL);
	deliver(s);
}

static void
on_writable(struct grpc_call *c)
{
	struct stream *s = grpc_data(c);

	s->full = false;
	deliver(s);
}

/*
 * What was posted is applied, unless it waits for room in a stream to a peer;
 * what was not, is not.
 */
static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct stream *s = grpc_data(c);
	struct list *next;

	(void)text;
	call_end(&s->call, code);
	meter_streams(-1);
	s->in_batch = false;
	list_take(&s->fill_node);
	list_take(&s->pause_node);
	if (s->filling != NULL)
		unit_drop(s->filling);
	s->filling = NULL;
	for (struct list *n = s->units.next; n != &s->units; n = next) {
		struct put_unit *u = LIST_ITEM(n, struct put_unit, node);
		next = n->next;
		leave_peers(u);
		if (!u->done)
			continue;
		s->units_n--;
		unit_drop(u);
	}
	if (s->call.out == 0)
		stream_free(s);
}

const struct grpc_events urlfrontier_put_urls = {
	.on_open = on_open_items, .on_message = on_item,
	.on_half_close = on_half_close, .on_writable = on_writable,
	.on_end = on_end };
const struct grpc_events urlfrontier_put_batches = {
	.on_open = on_open_batches, .on_message = on_batch,
	.on_half_close = on_half_close, .on_writable = on_writable,
	.on_end = on_end };
