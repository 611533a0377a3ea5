#include "doors/urlfrontier/forward.h"

#include "doors/urlfrontier/cluster.h"
#include "doors/urlfrontier/urlfrontier_own.h"
#include "os/clock.h"
#include "os/log.h"

/* Hexadecimal digits of an ID, and what fits in them. */
#define ID_BYTES 12
#define ID_MAX (((uint64_t)1 << 4 * ID_BYTES) - 1)
#define SLOTS_MIN 256
#define SLOTS_MAX 65536
#define SAY_MS 10000

/* An item that was sent; it has left when the peer can have answered. */
struct slot {
	struct forward_part *part;   /* NULL: answered, or not waited for */
	uint32_t bytes;              /* of the message */
};

/*
 * A stream to a peer.  Parts in `sent` are older than those in `waiting`, of
 * which the first may be sent in part.  Without a call both are empty, and so
 * is the ring of slots: items [first, next), by their IDs.
 */
struct forward_lane {
	struct forward *all;
	size_t node;
	bool keep_dates;
	struct grpc_call *call;      /* NULL: the next part opens one */
	bool full;
	struct list sent, waiting;
	struct slot *slots;
	size_t cap;                  /* a power of two, or 0 */
	uint64_t first, next;
	uint64_t call_first;         /* the call's first item */
	struct heap due;             /* parts, by when they FAIL */
	struct timer timer;          /* not after the first of them */
	struct mono said_until;
};

struct forward {
	struct urlfrontier *door;
	int64_t deadline_ns;
	size_t n;
	struct forward_lane *lanes;  /* two for each node, its own unused */
};

/* ---- IDs ----------------------------------------------------------------- */

static void
write_id(char out[static ID_BYTES], uint64_t id)
{
	for (int i = ID_BYTES - 1; i >= 0; i--, id >>= 4)
		out[i] = "0123456789abcdef"[id & 15];
}

static bool
read_id(struct str text, uint64_t *id)
{
	*id = 0;
	for (size_t i = 0; i < text.n; i++) {
		int digit = ascii_hex_value(text.p[i]);
		if (digit < 0)
			return false;
		*id = *id << 4 | (uint64_t)digit;
	}
	return text.n == ID_BYTES;
}

/* ---- Slots --------------------------------------------------------------- */

static size_t *
memory_of(const struct forward_lane *l)
{
	return &l->all->door->put_bytes;
}

/* NULL: it is not in the ring, any more or yet. */
static struct slot *
slot_of(const struct forward_lane *l, uint64_t id)
{
	uint64_t at = (id - l->first) & ID_MAX;

	if (at >= l->next - l->first)
		return NULL;
	return &l->slots[(l->first + at) & (l->cap - 1)];
}

static void
grow(struct forward_lane *l)
{
	size_t cap = MAX(SLOTS_MIN, 2 * l->cap);
	struct slot *slots = mem_array(cap, sizeof(*slots));

	for (uint64_t id = l->first; id != l->next; id++)
		slots[id & (cap - 1)] = l->slots[id & (l->cap - 1)];
	mem_free(&l->slots);
	l->slots = slots;
	l->cap = cap;
}

static void
put_slot(struct forward_lane *l, struct forward_part *p, size_t bytes)
{
	if (l->next - l->first == l->cap)
		grow(l);
	l->slots[l->next++ & (l->cap - 1)] = (struct slot){ p,
	    (uint32_t)bytes };
	*memory_of(l) += bytes;
}

/* Items that have left and that nobody waits for leave the ring. */
static void
settle(struct forward_lane *l, uint64_t left)
{
	while (l->first != left) {
		const struct slot *s = &l->slots[l->first & (l->cap - 1)];
		if (s->part != NULL)
			return;
		*memory_of(l) -= s->bytes;
		l->first++;
	}
}

static void
settle_left(struct forward_lane *l)
{
	settle(l, l->call_first + grpc_messages_left(l->call));
}

/* ---- Parts --------------------------------------------------------------- */

/* Its answers, if any come, are nobody's. */
static void
take_part(struct forward_part *p)
{
	struct forward_lane *l = p->lane;

	for (size_t i = 0; p->open > 0 && i < p->sent; i++) {
		struct slot *s = slot_of(l, p->id + i);
		if (s != NULL && s->part == p)
			s->part = NULL;
	}
	list_take(&p->node);
	heap_take(&l->due, &p->due);
	p->lane = NULL;
}

/* The asker's again: it may free it, or put another. */
static void
end_part(struct forward_part *p)
{
	take_part(p);
	p->done(p);
}

/* The part that FAILs next; NULL: nothing is under way. */
static struct forward_part *
first_due(const struct forward_lane *l)
{
	struct heap_node *n = heap_first(&l->due);

	return n == NULL ? NULL : CONTAINER(n, struct forward_part, due);
}

/* A peer that fails is told of in the log, but not for every unit. */
static void
say(struct forward_lane *l, const char *code, struct str text)
{
	const struct urlfrontier *d = l->all->door;
	struct log_text quoted;
	struct mono now = loop_now(d->loop);

	if (mono_before(now, l->said_until))
		return;
	l->said_until = mono_add_ms(now, SAY_MS);
	log_warn("urlfrontier.forward", "node=%s code=%s why=%s",
	    cluster_node(d->cluster, l->node), code,
	    log_quote(&quoted, text));
}

/* ---- Sending ------------------------------------------------------------- */

static bool
is_ready(const struct forward_lane *l)
{
	return l->call != NULL && !l->full && l->next - l->first < SLOTS_MAX;
}

static void
send_item(struct forward_lane *l, struct forward_part *p)
{
	const struct lease_item *i = &p->items[p->which[p->sent]];
	char text[ID_BYTES];
	struct str id = { text, ID_BYTES };
	size_t n = item_put_size(i, id);
	void *room;
	enum grpc_room r = grpc_send_room(l->call, n, &room);
	l->full = r != GRPC_ROOM;
	/* Its on_end is about to come. */
	if (r == GRPC_GONE)
		return;
	write_id(text, l->next);
	item_put_write(room, i, id);
	if (p->sent++ == 0)
		p->id = l->next;
	put_slot(l, p, n);
}

static void
send_waiting(struct forward_lane *l)
{
	while (!list_empty(&l->waiting) && is_ready(l)) {
		struct forward_part *p = LIST_ITEM(l->waiting.next,
		    struct forward_part, node);
		send_item(l, p);
		if (p->sent < p->n)
			continue;
		list_take(&p->node);
		list_put(&l->sent, &p->node);
	}
}

/* ---- What the peer says -------------------------------------------------- */

static void
on_ack(struct grpc_call *c, struct str message)
{
	struct forward_lane *l = grpc_arg(c);
	struct forward_part *p = NULL;
	enum lease_status status;
	struct str text;
	uint64_t id;

	if (!item_read_ack(message, &text, &status)) {
		say(l, grpc_code_name(GRPC_INTERNAL), STR(CALL_MALFORMED));
		grpc_cancel(c);
		return;
	}
	struct slot *s = read_id(text, &id) ? slot_of(l, id) : NULL;
	if (s != NULL && s->part != NULL) {
		p = s->part;
		s->part = NULL;
		p->items[p->which[(id - p->id) & ID_MAX]].status = status;
		p->open--;
	}
	settle_left(l);
	send_waiting(l);
	if (p != NULL && p->open == 0)
		end_part(p);
}

static void
on_writable(struct grpc_call *c)
{
	struct forward_lane *l = grpc_arg(c);

	l->full = false;
	settle_left(l);
	send_waiting(l);
}

/* What is put meanwhile is another stream's. */
static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct forward_lane *l = grpc_arg(c);
	struct why w = WHY_INIT;
	struct list lost;

	l->call = NULL;
	list_init(&lost);
	list_move_all(&lost, &l->sent);
	list_move_all(&lost, &l->waiting);
	if (!list_empty(&lost)) {
		code = cluster_explain(l->all->door->cluster, l->node, code,
		    text, &w);
		say(l, grpc_code_name(code), str_of(w.text));
	}
	for (uint64_t id = l->first; id != l->next; id++)
		slot_of(l, id)->part = NULL;
	settle(l, l->next);
	while (!list_empty(&lost))
		end_part(LIST_ITEM(lost.next, struct forward_part, node));
}

static const struct grpc_events events = { .on_message = on_ack,
	.on_writable = on_writable, .on_end = on_end };

/* ---- Deadlines ----------------------------------------------------------- */

static void
set_timer(struct forward_lane *l)
{
	const struct heap_node *n = heap_first(&l->due);

	if (n != NULL && (!heap_holds(&l->timer.node) ||
	    n->key < l->timer.node.key))
		loop_timer_set(l->all->door->loop, &l->timer,
		    (struct mono){ n->key });
}

static void
overdue(struct timer *t)
{
	struct forward_lane *l = CONTAINER(t, struct forward_lane, timer);
	struct mono now = loop_now(l->all->door->loop);
	struct forward_part *p;

	while ((p = first_due(l)) != NULL && p->due.key <= now.ns) {
		say(l, grpc_code_name(GRPC_DEADLINE_EXCEEDED),
		    STR("no acknowledgement in time"));
		end_part(p);
	}
	if (l->call != NULL) {
		settle_left(l);
		send_waiting(l);
	}
	set_timer(l);
}

/* ---- Putting ------------------------------------------------------------- */

static bool
has_call(struct forward_lane *l)
{
	struct grpc_field keep = { STR("argiope-keep-dates"), STR("1") };
	struct why w = WHY_INIT;

	if (l->call != NULL)
		return true;
	l->full = false;
	l->call_first = l->next;
	l->call = cluster_call(l->all->door->cluster, l->node, "PutURLs",
	    &events, l, 0, l->keep_dates ? &keep : NULL, &w);
	if (l->call == NULL)
		say(l, grpc_code_name(GRPC_UNAVAILABLE), str_of(w.text));
	return l->call != NULL;
}

bool
forward_put(struct forward *f, struct forward_part *p, bool keep_dates)
{
	struct forward_lane *l = &f->lanes[2 * p->peer + keep_dates];

	for (size_t i = 0; i < p->n; i++)
		p->items[p->which[i]].status = LEASE_FAIL;
	p->lane = NULL;
	if (!has_call(l)) {
		meter_count(METER_NOTREADY, p->n);
		return false;
	}
	p->lane = l;
	p->sent = 0;
	p->open = p->n;
	list_init(&p->node);
	list_put(&l->waiting, &p->node);
	heap_put(&l->due, &p->due, mono_add_ns(p->began, f->deadline_ns).ns,
	    0);
	send_waiting(l);
	meter_count(METER_NOTREADY, p->n - p->sent);
	set_timer(l);
	return true;
}

bool
forward_drop(struct forward_part *p)
{
	if (p->lane == NULL)
		return false;
	take_part(p);
	return true;
}

/* ---- Life ---------------------------------------------------------------- */

struct forward *
forward_new(struct urlfrontier *d)
{
	struct forward *f = mem_new(sizeof(*f));

	f->door = d;
	f->deadline_ns = cluster_deadline_ns(d->cluster);
	f->n = 2 * cluster_nodes(d->cluster);
	f->lanes = mem_array(f->n, sizeof(*f->lanes));
	for (size_t i = 0; i < f->n; i++) {
		struct forward_lane *l = &f->lanes[i];
		l->all = f;
		l->node = i / 2;
		l->keep_dates = i % 2 == 1;
		l->timer.fire = overdue;
		list_init(&l->sent);
		list_init(&l->waiting);
	}
	return f;
}

void
forward_free(struct forward **fp)
{
	struct forward *f = *fp;

	if (f == NULL)
		return;
	for (size_t i = 0; i < f->n; i++) {
		struct forward_lane *l = &f->lanes[i];
		CHECK(l->call == NULL && first_due(l) == NULL);
		loop_timer_stop(f->door->loop, &l->timer);
		heap_free(&l->due);
		mem_free(&l->slots);
	}
	mem_free(&f->lanes);
	mem_free(fp);
}
