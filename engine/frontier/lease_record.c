/*
 * What survives of outsiders' crawls: notes in the log, records in the index,
 * and how memory is made from them at a start.
 *
 * A queue's note is its absolute state without its leases; those have notes of
 * their own, for each queue served and for each lease that a verb ended.  The
 * record in the index holds both.  To replay them again on a later record is
 * harmless: of each lease the last word stands in the log behind the checkpoint
 * or in the record.
 */
#include "engine/frontier/crawl.h"
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/url_load.h"
#include "os/clock.h"
#include "os/log.h"

#define CONTROL_KEY STR("outside")
/* The seed of every store from before stores recorded one. */
#define SEED_BEFORE UINT64_C(0x51b7adfff36c6fe2)

/* --- bytes ---------------------------------------------------------------- */

void
lease_crawl_bytes(const struct lease_crawl *c, struct buf *out)
{
	buf_clear(out);
	buf_put_be32(out, c->id);
	buf_put_be32(out, c->next_queue);
	buf_put_field(out, c->name);
}

enum { QUEUE_UNSEEN = 1, QUEUE_HAS_DELAY = 2 };

/* In steady time; a lease begins and its queue is served at one moment. */
static int64_t
served_us(const struct lease_queue *q)
{
	const struct lease_service *o = q->crawl->frontier->leases;

	return q->served == NEVER_SERVED ? NEVER_SERVED :
	    o->base_us + (q->served - o->base_ns) / 1000;
}

void
lease_queue_bytes(const struct lease_queue *q, struct buf *out)
{
	const struct lease_rare *r = lease_rare(q);

	buf_clear(out);
	buf_put_be32(out, q->crawl->id);
	buf_put_be32(out, q->id);
	buf_put_char(out, (char)((q->unseen ? QUEUE_UNSEEN : 0) |
	    (r->has_delay ? QUEUE_HAS_DELAY : 0)));
	buf_put_be32(out, r->delay_s);
	buf_put_be64(out, (uint64_t)served_us(q));
	buf_put_varint(out, r->block_s);
	buf_put_varint(out, r->limit);
	buf_put_varint(out, q->active);
	buf_put_varint(out, q->completed);
	buf_put_varint(out, q->ticket);
	buf_put_field(out, lease_queue_key(q));
}

/* Append them. */
static void
put_leases(const struct lease_queue *q, struct buf *out)
{
	for (struct lease_batch *b = q->batches; b != NULL; b = b->next) {
		const struct lease_out *l;
		size_t at = 0;
		buf_put_be64(out, (uint64_t)b->start_us);
		buf_put_be32(out, b->lease_s);
		buf_put_varint(out, b->n);
		while ((l = lease_batch_next(b, &at)) != NULL)
			buf_put_be64(out, l->hash);
	}
}

void
lease_control_bytes(const struct frontier *f, struct buf *out)
{
	const struct lease_service *o = f->leases;

	buf_clear(out);
	buf_put_char(out, o->inactive ? 0 : 1);
	buf_put_be32(out, o->delay_s);
	buf_put_be64(out, (uint64_t)o->jump_us);
	buf_put_be32(out, f->next_crawl);
	buf_put_be64(out, o->seed);
}

static bool
control_from(struct frontier *f, struct str note)
{
	struct lease_service *o = f->leases;
	struct reader in = reader_of(note);

	o->inactive = read_u8(&in) == 0;
	o->delay_s = read_be32(&in);
	o->jump_us = (int64_t)read_be64(&in);
	uint32_t next = read_be32(&in);
	f->next_crawl = MAX(f->next_crawl, next);
	/* Before seeds were random, records had none. */
	o->seed = in.n == 0 ? SEED_BEFORE : read_be64(&in);
	o->recorded = true;
	o->control_changed |= !f->loading;
	return !in.bad;
}

static struct lease_crawl *
crawl_from(struct frontier *f, struct str bytes, uint32_t id)
{
	struct reader in = reader_of(bytes);
	uint32_t next = read_be32(&in);
	struct str name = read_field(&in);
	struct lease_crawl *c = lease_crawl_of(f, id);

	if (in.bad)
		return NULL;
	if (c == NULL)
		c = lease_new_crawl(f, id, name);
	/* One that was deleted may have had the name meanwhile. */
	map_put(&f->leases->crawls, c->name, c);
	c->next_queue = MAX(c->next_queue, next);
	if (!f->loading)
		lease_keep_crawl(c);
	return c;
}

/* --- leases --------------------------------------------------------------- */

/* They are set right when all is loaded: dates, marks, ends. */
static void
leases_from(struct lease_queue *q, int64_t start_us, uint32_t lease_s,
    struct reader *in)
{
	struct frontier *f = q->crawl->frontier;
	uint64_t n = read_varint(in);
	struct lease_batch *b;

	if (n > in->n / 8) {
		in->bad = true;
		return;
	}
	b = lease_batch_new(q, start_us, lease_s, (size_t)n);
	for (; n > 0; n--) {
		uint64_t hash = read_be64(in);
		struct lease_out *old = lease_out_find(f->leases, hash);
		if (old != NULL)
			lease_out_drop(f, old);
		lease_batch_add(b, hash, DATE_NEVER, 0);
	}
}

static bool
replay_leases(struct frontier *f, struct reader *in)
{
	uint32_t crawl = read_be32(in);
	struct lease_queue *q = lease_queue_of(f, crawl, read_be32(in));
	int64_t start_us = (int64_t)read_be64(in);
	uint32_t lease_s = read_be32(in);
	/* Between them stands the turn that it got. */
	uint64_t ticket = read_varint(in);

	if (in->bad)
		return false;
	/* Deleted, and the index is ahead of this note. */
	if (q == NULL)
		return true;
	leases_from(q, start_us, lease_s, in);
	q->ticket = ticket;
	q->served = start_us;
	f->leases->next_ticket = MAX(f->leases->next_ticket, ticket + 1);
	f->leases->recorded_us = MAX(f->leases->recorded_us, q->served);
	lease_keep(q);
	return !in->bad;
}

static bool
replay_end(struct frontier *f, struct reader *in)
{
	uint32_t crawl = read_be32(in);
	struct lease_queue *q = lease_queue_of(f, crawl, read_be32(in));
	struct lease_out *l = lease_out_find(f->leases, read_be64(in));

	if (q != NULL && l != NULL && l->batch->queue == q) {
		lease_out_drop(f, l);
		lease_keep(q);
	}
	return !in->bad;
}

/* --- queues --------------------------------------------------------------- */

static struct lease_queue *
queue_from(struct frontier *f, struct reader *in)
{
	uint32_t crawl = read_be32(in), id = read_be32(in);
	uint8_t flags = read_u8(in);
	struct lease_rare rare = { .delay_s = read_be32(in),
	    .has_delay = (flags & QUEUE_HAS_DELAY) != 0 };
	int64_t served = (int64_t)read_be64(in);

	rare.block_s = read_varint(in);
	rare.limit = read_varint(in);
	uint64_t active = read_varint(in);
	uint64_t completed = read_varint(in);
	uint64_t ticket = read_varint(in);
	struct str key = read_field(in);
	struct lease_crawl *c = lease_crawl_of(f, crawl);
	if (in->bad || c == NULL)
		return NULL;
	/* In the index a key stands once. */
	struct lease_queue *q = f->loading ? NULL :
	    lease_find_queue(c, key);
	/* The index knows a later one of that key; its notes will follow. */
	if (q != NULL && q->id != id)
		lease_drop_queue(&q);
	bool made = q == NULL;
	if (made)
		q = lease_new_queue(c, id, key);
	q->fresh |= !f->loading && (made || f->leases->deleted);
	if ((flags & QUEUE_UNSEEN) == 0)
		lease_see(q);
	if (q->rare || rare.has_delay || rare.block_s != 0 || rare.limit != 0)
		*lease_make_rare(q) = rare;
	q->served = served;
	q->ticket = ticket;
	f->leases->next_ticket = MAX(f->leases->next_ticket, q->ticket + 1);
	f->leases->recorded_us = MAX(f->leases->recorded_us, q->served);
	lease_count(q, (int64_t)(active - q->active),
	    (int64_t)(completed - q->completed));
	return q;
}

static bool
replay_queue(struct frontier *f, struct reader *in)
{
	struct reader crawl = *in;
	struct lease_queue *q = queue_from(f, in);

	if (q != NULL) {
		lease_keep(q);
		lease_keep_crawl(q->crawl);
	}
	/* Its crawl was deleted, and the index is ahead of this note. */
	return q != NULL || (!in->bad &&
	    lease_crawl_of(f, read_be32(&crawl)) == NULL);
}

static bool
replay_gone(struct frontier *f, struct reader *in)
{
	uint32_t crawl = read_be32(in), id = read_be32(in);
	struct lease_crawl *c = lease_crawl_of(f, crawl);
	struct lease_queue *q;

	f->next_crawl = MAX(f->next_crawl, crawl + 1);
	if (id != 0) {
		f->leases->deleted = true;
		q = lease_queue_of(f, crawl, id);
		if (q != NULL)
			lease_drop_queue(&q);
		if (c != NULL) {
			c->next_queue = MAX(c->next_queue, id + 1);
			lease_keep_crawl(c);
		}
		return !in->bad;
	}
	if (c != NULL) {
		lease_forget_crawl(c);
		lease_bury_crawl(c);
	}
	return !in->bad;
}

bool
lease_replay(struct frontier *f, uint8_t kind, struct str note)
{
	struct reader in = reader_of(note);

	switch (kind) {
	case NOTE_OUTSIDE_CRAWL:
		return note.n > 4 && crawl_from(f, str_from(note, 4),
		    read_be32(&in)) != NULL;
	case NOTE_OUTSIDE_QUEUE:
		return replay_queue(f, &in);
	case NOTE_OUTSIDE_LEASES:
		return replay_leases(f, &in);
	case NOTE_OUTSIDE_END:
		return replay_end(f, &in);
	case NOTE_OUTSIDE_GONE:
		return replay_gone(f, &in);
	case NOTE_OUTSIDE_CONTROL:
		return control_from(f, note);
	default:
		return false;
	}
}

/* True when the record is ours; *fine says whether it could be read. */
bool
lease_record(struct frontier *f, enum index_family family, struct str key,
    struct str value, bool *fine)
{
	struct reader in = reader_of(key), v = reader_of(value);
	uint32_t crawl = read_be32(&in);
	struct lease_queue *q;

	if (in.bad)
		return false;
	if (family == INDEX_CRAWL) {
		if (in.n != 1 || in.p[0] != 'O')
			return false;
		*fine = crawl_from(f, value, crawl) != NULL;
		return true;
	}
	if (lease_crawl_of(f, crawl) == NULL)
		return false;
	q = queue_from(f, &v);
	while (q != NULL && v.n > 0 && !v.bad) {
		int64_t start_us = (int64_t)read_be64(&v);
		uint32_t lease_s = read_be32(&v);
		leases_from(q, start_us, lease_s, &v);
	}
	*fine = q != NULL && !v.bad;
	return true;
}

/* --- notes and checkpoints ------------------------------------------------ */

/* Into o->key and o->value. */
static void
queue_record(struct lease_service *o, const struct lease_queue *q)
{
	queue_key(q->crawl->id, lease_queue_key(q), &o->key);
	lease_queue_bytes(q, &o->value);
	put_leases(q, &o->value);
}

static void
put_queue_record(struct frontier *f, struct lease_queue *q)
{
	struct lease_service *o = f->leases;

	if (q->crawl->dead)
		return;
	queue_record(o, q);
	ledger_put_unlogged(f->ledger, INDEX_QUEUE, buf_str(&o->key),
	    buf_str(&o->value));
	q->fresh = false;
}

/*
 * Listings walk over the records: they begin with the queue.  The log has the
 * note alone, from which a start makes the record again; as it is now, the next
 * checkpoint has nothing to add.
 */
void
lease_put_notes(struct frontier *f)
{
	struct lease_service *o = f->leases;

	for (size_t i = 0; i < o->dirty.n; i++) {
		struct lease_queue *q = lease_at(o, o->dirty.slots[i]);
		/* Gone, or it stood here twice, in one slot. */
		if (!q->dirty)
			continue;
		q->dirty = false;
		if (q->crawl->dead)
			continue;
		lease_queue_bytes(q, &o->value);
		ledger_note(f->ledger, NOTE_OUTSIDE_QUEUE, buf_str(&o->value));
		if (q->fresh)
			put_queue_record(f, q);
		else
			lease_keep(q);
	}
	o->dirty.n = 0;
}

void
lease_begin_checkpoint(struct frontier *f)
{
	struct lease_service *o = f->leases;

	/* The checkpoint before this one is through. */
	CHECK(o->leaving_at == o->leaving.n);
	lease_slots_free(&o->leaving);
	o->leaving = o->changed;
	o->leaving_at = 0;
	o->changed = (struct lease_slots){ NULL, 0, 0 };
	list_move_all(&o->leaving_crawls, &o->changed_crawls);
	o->control_leaving |= o->control_changed;
	o->control_changed = false;
}

static void
put_crawl_record(struct frontier *f, struct lease_crawl *c)
{
	struct lease_service *o = f->leases;

	if (c->dead)
		return;
	crawl_key(c->id, 'O', &o->key);
	lease_crawl_bytes(c, &o->value);
	ledger_put_unlogged(f->ledger, INDEX_CRAWL, buf_str(&o->key),
	    str_from(buf_str(&o->value), 4));
}

static void
put_control_record(struct frontier *f)
{
	struct lease_service *o = f->leases;

	lease_control_bytes(f, &o->value);
	ledger_put_unlogged(f->ledger, INDEX_CONTROL, CONTROL_KEY,
	    buf_str(&o->value));
}

bool
lease_put_checkpoint(struct frontier *f, size_t *n)
{
	struct lease_service *o = f->leases;

	if (o->control_leaving)
		put_control_record(f);
	o->control_leaving = false;
	for (; *n > 0 && !list_empty(&o->leaving_crawls); --*n)
		put_crawl_record(f, LIST_POP(&o->leaving_crawls,
		    struct lease_crawl, changed_node));
	for (; *n > 0 && o->leaving_at < o->leaving.n; --*n) {
		struct lease_queue *q = lease_at(o,
		    o->leaving.slots[o->leaving_at++]);
		if (!q->changed)
			continue;
		q->changed = false;
		put_queue_record(f, q);
	}
	if (o->leaving_at < o->leaving.n || !list_empty(&o->leaving_crawls))
		return true;
	lease_slots_free(&o->leaving);
	o->leaving_at = 0;
	return false;
}

/* --- loading -------------------------------------------------------------- */

/* URLs of a queue, as its part of the index tells them. */
struct recount {
	uint32_t active, completed;
	uint32_t next_due;
};

struct loading {
	struct frontier *frontier;
	struct known_evict_load *known;
	struct recount *counts;      /* by the queue's slot */
	struct index_batch *batch;   /* drops orphans */
};

/* Records of queues that are put into the index at a time. */
#define LOAD_RECORDS 1024

/*
 * A record of no queue: pass all URLs of its crawl (an id of 4 bytes) or of its
 * queue (8).  Those of a queue that was deleted before a crash are orphans: the
 * entry names them, with no mark, and take_orphans() drops them.
 */
static int
pass_urls(struct frontier *f, uint64_t queue, struct url_load_part *part,
    struct url_load_entry *e)
{
	FREED(buf_free) struct buf from = BUF_INIT;
	uint32_t crawl = (uint32_t)(queue >> 32);
	bool ours = lease_crawl_of(f, crawl) != NULL;
	uint32_t bytes = ours ? 8 : 4;
	uint64_t id = ours ? queue : crawl;

	key_range(id, bytes, &from, &part->pass_to);
	/* There is no id after the last one. */
	if (id == UINT64_MAX >> (64 - 8 * bytes))
		buf_clear(&part->pass_to);
	if (!ours && crawl_get(f, crawl) != NULL)
		return URL_LOAD_PASS;
	*e = (struct url_load_entry){ .hash = id, .slot = bytes,
	    .mark = KNOWN_NONE };
	return URL_LOAD_TAKE | URL_LOAD_PASS;
}

static int
read_url(void *arg, struct url_load_part *part, struct str key,
    struct str value, struct url_load_entry *e)
{
	struct frontier *f = ((const struct loading *)arg)->frontier;
	struct reader in = reader_of(key), v = reader_of(value);
	uint64_t id = read_be64(&in);
	uint32_t crawl = (uint32_t)(id >> 32), queue = (uint32_t)id;

	if (part->slot == 0 || part->id != id) {
		const struct lease_queue *q = lease_queue_of(f, crawl, queue);
		if (q == NULL)
			return pass_urls(f, id, part, e);
		part->id = id;
		part->slot = q->slot;
	}
	e->slot = part->slot;
	e->mark = MARK_OUTSIDE;
	e->date = read_be32(&in);
	e->created = read_be32(&v);
	e->hash = lease_hash(f, crawl, queue, (struct str){ in.p, in.n });
	return URL_LOAD_TAKE;
}

static void
take_orphans(const struct loading *l, const struct url_load_entry *e)
{
	FREED(buf_free) struct buf from = BUF_INIT, to = BUF_INIT;

	key_range(e->hash, e->slot, &from, &to);
	index_delete_range(ledger_index(l->frontier->ledger), l->batch,
	    INDEX_URL, buf_str(&from), buf_str(&to));
}

static enum err
take_url(const struct loading *l, const struct url_load_entry *e,
    struct why *w)
{
	const struct lease_service *o = l->frontier->leases;
	const struct lease_queue *q = lease_at(o, e->slot);
	struct recount *r = &l->counts[e->slot];
	struct lease_out *out = q->batches == NULL ? NULL :
	    lease_out_find(o, e->hash);
	bool leased = out != NULL && e->date != 0;

	r->active += e->date != 0;
	r->completed += e->date == 0;
	if (leased) {
		out->date = e->date;
		out->created = e->created;
	} else if (e->date != 0) {
		r->next_due = MIN(r->next_due, e->date);
	}
	return known_evict_load_put(l->known, e->hash, e->date,
	    leased ? MARK_OUTSIDE_LEASED : MARK_OUTSIDE, w);
}

static enum err
take_urls(void *arg, const struct url_load_entry *entries, size_t n,
    struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++) {
		if (entries[i].mark == KNOWN_NONE)
			take_orphans(arg, &entries[i]);
		else
			e = take_url(arg, &entries[i], w);
	}
	return e;
}

static void
settle_counts(struct lease_queue *q, const struct recount *r)
{
	struct frontier *f = q->crawl->frontier;

	q->next_due = r->next_due;
	if (q->active == r->active && q->completed == r->completed)
		return;
	f->leases->recounted++;
	log_error("frontier.recounted", "crawl=%u queue=%u active=%u/%u "
	    "completed=%u/%u", q->crawl->id, q->id, q->active, r->active,
	    q->completed, r->completed);
	lease_count(q, (int64_t)r->active - q->active,
	    (int64_t)r->completed - q->completed);
}

static enum err
load_urls(struct frontier *f, struct index_batch *b, struct why *w)
{
	struct lease_service *o = f->leases;
	struct index *x = ledger_index(f->ledger);
	uint32_t slots_n = o->slots_n;
	struct loading l = { .frontier = f, .batch = b,
	    .known = known_evict_load_begin(f, frontier_load_urls(f)),
	    .counts = mem_array(MAX(slots_n, 1), sizeof(*l.counts)) };

	for (uint32_t slot = 0; slot < slots_n; slot++)
		l.counts[slot].next_due = DATE_NEVER;
	enum err e = url_load(&(struct url_load){ .index = x, .from = STR(""),
	    .to = STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	    .threads = url_load_threads(f), .read = read_url,
	    .take = take_urls, .arg = &l }, w);
	for (uint32_t slot = 1; slot < slots_n; slot++)
		if (l.counts[slot].active + l.counts[slot].completed > 0)
			settle_counts(lease_at(o, slot), &l.counts[slot]);
	mem_free(&l.counts);
	e = known_evict_load_end(&l.known, e, w);
	return e == OK ? index_write(x, b, w) : e;
}

/*
 * Its delay and its leases go on where they were.  Steady time is not before
 * what was recorded, so none of them is longer than its full length.
 */
static void
wake_queue(struct lease_queue *q)
{
	const struct lease_service *o = q->crawl->frontier->leases;

	if (q->served != NEVER_SERVED) {
		int64_t ago = lease_steady_us(o) - q->served;
		q->served = o->now_ns - ago * 1000;
	}
	for (struct lease_batch *b = q->batches, *next; b != NULL;
	    b = next) {
		next = b->next;
		lease_batch_set_end(b);
		/* Of URLs that are there no more; the batch goes with the
		 * last. */
		size_t at = 0;
		for (uint32_t n = b->n; n > 0; n--) {
			struct lease_out *l = lease_batch_next(b, &at);
			if (l->date == DATE_NEVER)
				lease_out_drop(q->crawl->frontier, l);
		}
	}
	turn_place(q);
}

enum err
lease_load_control(struct frontier *f, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str value;

	enum err e = index_get(ledger_index(f->ledger), INDEX_CONTROL,
	    CONTROL_KEY, &a, &value, NULL);
	if (e == OK && !control_from(f, value))
		e = why(w, ERR_CORRUPT, "the control record in the index is "
		    "damaged");
	return e == ERR_ABSENT ? OK : e;
}

static void
tick(struct timer *t)
{
	struct lease_service *o = CONTAINER(t, struct lease_service, tick);
	struct frontier *f = o->frontier;

	lease_now(f);
	lease_out_expire(f);
	lease_drop_idle_reader(f);
	if (o->ids.n > 0 || o->reader_asked_ns != 0)
		lease_tick(f);
}

void
lease_tick(struct frontier *f)
{
	struct lease_service *o = f->leases;

	o->tick.fire = tick;
	loop_timer_set(f->loop, &o->tick, mono_add_ms(clock_mono(), 1000));
}

/*
 * Steady time goes on: the wall without the jumps seen so far, and never before
 * what was recorded last.  The next verb notices the jump and records it.
 */
static void
load_clock(struct lease_service *o)
{
	o->now_ns = o->base_ns = clock_mono().ns;
	o->now_us = clock_wall().us;
	o->now_s = (uint32_t)MIN(MAX(o->now_us / US_PER_S, 1), LEASE_DATE_MAX);
	o->base_us = MAX(o->now_us - o->jump_us, o->recorded_us);
}

/* Put records of queues that only the log has; `b` is flushed now and then. */
static enum err
load_record(struct frontier *f, struct index_batch *b, size_t *n,
    struct lease_queue *q, struct why *w)
{
	struct lease_service *o = f->leases;
	struct index *x = ledger_index(f->ledger);

	queue_record(o, q);
	index_put(x, b, INDEX_QUEUE, buf_str(&o->key), buf_str(&o->value));
	q->fresh = false;
	return ++*n % LOAD_RECORDS == 0 ? index_write(x, b, w) : OK;
}

static enum err
load_queues(struct frontier *f, struct index_batch *b, struct why *w)
{
	const struct lease_service *o = f->leases;
	enum err e = OK;
	size_t n = 0;

	for (uint32_t slot = 1; slot < o->slots_n && e == OK; slot++) {
		struct lease_queue *q = lease_at(o, slot);
		if (q->crawl == NULL)
			continue;
		wake_queue(q);
		if (q->fresh)
			e = load_record(f, b, &n, q, w);
	}
	return e == OK ? index_write(ledger_index(f->ledger), b, w) : e;
}

enum err
frontier_load(struct frontier *f, struct why *w)
{
	struct lease_service *o = f->leases;
	FREED(index_batch_free) struct index_batch *b = index_batch_new();

	load_clock(o);
	/* Where nothing is recorded no crawl is, and so nothing was hashed. */
	if (!o->recorded)
		clock_random(&o->seed, sizeof(o->seed));
	enum err e = load_urls(f, b, w);
	if (e == OK)
		e = load_queues(f, b, w);
	if (o->ids.n > 0)
		lease_tick(f);
	return e;
}

void
lease_open(struct frontier *f)
{
	struct lease_service *o = f->leases = mem_new(sizeof(*o));

	o->frontier = f;
	o->delay_s = LEASE_DELAY_S;
	o->base_ns = clock_mono().ns;
	o->base_us = clock_wall().us;
	o->recorded_us = INT64_MIN;
	list_init(&o->groups);
	list_init(&o->changed_crawls);
	list_init(&o->leaving_crawls);
	list_init(&o->dying);
	list_init(&o->sweeps);
	list_init(&o->walks);
	for (size_t i = 0; i < SCAN_WAITS; i++)
		list_init(&o->scans[i]);
}

void
lease_close(struct frontier *f)
{
	struct lease_service *o = f->leases;

	if (o == NULL)
		return;
	loop_timer_stop(f->loop, &o->tick);
	lease_free_groups(f);
	lease_free_sweeps(f);
	lease_free_walks(f);
	while (!list_empty(&o->dying))
		lease_bury_crawl(LIST_ITEM(o->dying.next,
		    struct lease_crawl, dying_node));
	MAP_EACH(c, &o->ids, struct lease_crawl) {
		c->dead = true;
		lease_bury_crawl(c);
	}
	map_free(&o->crawls);
	map_free(&o->ids);
	lease_outs_free(&o->leases);
	heap_free(&o->ends);
	for (size_t i = 0; i < LEVELS; i++)
		heap_free(&o->ready[i]);
	lease_turns_free(&o->by_date);
	lease_turns_free(&o->own_delays);
	lease_turns_free(&o->delays);
	lease_slots_free(&o->dirty);
	lease_slots_free(&o->changed);
	lease_slots_free(&o->leaving);
	lease_free_slots(o);
	map_free(&o->fresh);
	buf_free(&o->key);
	buf_free(&o->value);
	mem_free(&f->leases);
}
