/*
 * Puts: what is new, what changes.  An item whose URL is known and not leased
 * keeps a creation date that only the index has: then the put stands still
 * until the index has answered for all its items from there on, and the puts of
 * its stream behind it wait.  A new URL, and one that is known already, cost no
 * read, unless the known table has not all URLs: then the index is asked for
 * each that the table does not have.
 */
#include "engine/frontier/lease_crawl.h"

enum asking { ASK_NOT, ASK_NOW, ASK_ANSWERED, ASK_FAILED };

void
lease_stream_init(struct lease_stream *s)
{
	list_init(&s->held);
	s->waiting = NULL;
}

/* --- records -------------------------------------------------------------- */

/* The URL, and what stands in memory of it. */
struct target {
	struct frontier *frontier;
	struct lease_queue *queue;
	struct str url;
	uint64_t hash;
	uint32_t date;               /* as it stands, or DATE_NEVER */
	uint32_t created;
	struct lease_out *lease;
};

static void
put_record(const struct target *t, uint32_t date, const struct lease_item *i)
{
	struct frontier *f = t->frontier;
	struct lease_service *o = f->leases;

	url_key(t->queue->crawl->id, t->queue->id, date, t->url, &o->key);
	buf_clear(&o->value);
	buf_put_be32(&o->value, t->created);
	buf_put_char(&o->value, 0);
	buf_put_str(&o->value, i->metadata);
	ledger_put(f->ledger, INDEX_URL, buf_str(&o->key), buf_str(&o->value));
	lease_fresh(f, t->hash, t->created);
}

static void
drop_record(const struct target *t)
{
	struct frontier *f = t->frontier;
	struct lease_service *o = f->leases;

	url_key(t->queue->crawl->id, t->queue->id, t->date, t->url, &o->key);
	lease_changes(f);
	ledger_delete(f->ledger, INDEX_URL, buf_str(&o->key));
}

/* It waits with this date from now on; walks may not see it yet. */
static void
arrived(const struct target *t, uint32_t date)
{
	struct lease_queue *q = t->queue;
	const struct lease_service *o = t->frontier->leases;

	q->put_due = turn_put_lately(q) ? MIN(q->put_due, date) : date;
	q->put_group = (uint32_t)o->changed_group;
	q->put_group_high = (uint8_t)(o->changed_group >> 32);
	turn_available(q, date, t->url);
}

/* An unleased URL of the present date leaves its place. */
static void
left(const struct target *t)
{
	struct lease_queue *q = t->queue;

	if (q->active == q->leased)
		q->next_due = DATE_NEVER;
	else if (t->date == q->next_due)
		q->stale = true;
}

/* Its state in memory becomes what was put. */
static void
move_to(struct target *t, uint32_t date)
{
	struct lease_queue *q = t->queue;
	int active = (date != 0), completed = (date == 0);

	if (t->date != DATE_NEVER) {
		active -= t->date != 0;
		completed -= t->date == 0;
	}
	bool waited = t->date != DATE_NEVER && t->date != 0 && t->lease == NULL;
	if (t->lease != NULL)
		lease_out_end(t->frontier, t->lease);
	if (waited) {
		/* Out of the counts while its place is looked at. */
		lease_count(q, -1, 0);
		left(t);
		lease_count(q, 1, 0);
	}
	lease_count(q, active, completed);
	url_table_set(t->frontier->known, t->hash, date, MARK_OUTSIDE);
	if (date != 0)
		arrived(t, date);
	lease_see(q);
	lease_touch(q);
	turn_place(q);
}

/* --- one item ------------------------------------------------------------- */

/* False, always, but for an item for which the index could not be read. */
static bool
ask_index(const struct target *t, struct lease_item *i, bool known)
{
	i->asking = i->asking == ASK_FAILED ? ASK_FAILED : ASK_NOW;
	i->asked_hash = t->hash;
	i->asked_crawl = t->queue->crawl->id;
	i->asked_queue = t->queue->id;
	i->asked_date = t->date;
	i->asked_known = known;
	i->asked_evictions = t->frontier->evict->evictions;
	i->status = LEASE_FAIL;
	return i->asking == ASK_FAILED;
}

/*
 * Set `*there` to whether the URL is known, and its date; false: ask the index.
 * The index's answer holds until something is evicted: the URLs that it had are
 * back in the table by then, and it has none of the others.
 */
static bool
find_known(struct target *t, const struct lease_item *i, bool *there)
{
	const struct frontier *f = t->frontier;
	uint8_t mark = lease_state(f, t->hash, &t->date);

	*there = mark != KNOWN_NONE && mark != MARK_OUTSIDE_GONE;
	return mark != KNOWN_NONE || !known_evict_is_partial(f) ||
	    (i->asking == ASK_ANSWERED && i->asked_hash == t->hash &&
	    i->asked_known && i->asked_evictions == f->evict->evictions);
}

/* Where the creation date of a known record stands; false: ask the index. */
static bool
find_created(struct target *t, struct lease_item *i)
{
	const struct lease_service *o = t->frontier->leases;
	const struct lease_new *n = map_get_id(&o->fresh, t->hash);

	t->lease = lease_out_find(o, t->hash);
	if (n != NULL) {
		t->created = n->created;
		return true;
	}
	if (t->lease != NULL) {
		t->created = t->lease->created;
		return true;
	}
	t->created = i->asked_created;
	return i->asking == ASK_ANSWERED && i->asked_hash == t->hash;
}

static uint32_t
seconds(uint64_t s)
{
	return (uint32_t)MIN(s, LEASE_DATE_MAX);
}

/* The item's URL is fine; false: `key` or `url` is not. */
static bool
well_formed(const struct lease_item *i, struct str *key)
{
	if (i->url.n == 0)
		return false;
	*key = i->key.n != 0 ? i->key : lease_key(i->url);
	return key->n != 0 && (key->n <= LEASE_KEY_UNITS_MAX ||
	    lease_key_units(*key) <= LEASE_KEY_UNITS_MAX);
}

/* False: the put waits until the index has answered. */
static bool
apply_item(struct frontier *f, struct lease_item *i, bool only_ask)
{
	struct lease_service *o = f->leases;
	struct target t = { .frontier = f, .url = i->url };
	struct lease_crawl *c = lease_find_crawl(f, i->crawl);
	struct str key;

	i->status = LEASE_SKIPPED;
	if (!well_formed(i, &key))
		return true;
	t.queue = lease_find_queue(c, key);
	bool there = false;
	if (t.queue != NULL) {
		t.hash = lease_hash(f, c->id, t.queue->id, t.url);
		if (!find_known(&t, i, &there))
			return ask_index(&t, i, true);
	}
	if (there && !i->known)
		return true;
	if (there && !find_created(&t, i))
		return ask_index(&t, i, false);
	if (only_ask)
		return true;
	i->status = LEASE_OK;
	if (!there) {
		if (t.queue == NULL)
			t.queue = lease_make_queue(lease_make_crawl(f,
			    i->crawl), key);
		t.hash = lease_hash(f, t.queue->crawl->id, t.queue->id, t.url);
		t.date = DATE_NEVER;
		t.created = i->keep_created && i->created_s != 0 ?
		    seconds(i->created_s) : o->now_s;
	}
	uint32_t date = i->known ? seconds(i->date_s) : o->now_s;
	if (there && t.date != date)
		drop_record(&t);
	put_record(&t, date, i);
	move_to(&t, date);
	return true;
}

/* --- a put ---------------------------------------------------------------- */

static void
answered(struct lease_call *c)
{
	struct lease_put *p = CONTAINER(c, struct lease_put, call);

	for (size_t i = 0; c->result != OK && i < p->items_n; i++)
		if (p->items[i].status == LEASE_OK)
			p->items[i].status = LEASE_FAIL;
	c->result = OK;
}

static void
put_broken(struct promise *p, enum err e)
{
	struct lease_call *c = CONTAINER(p, struct lease_call, promise);

	c->result = e;
	answered(c);
	lease_answer(c);
}

/*
 * True when others of its stream are held.  Without them the stream may be gone
 * as soon as the answer is on its way.
 */
static bool
finish(struct lease_put *p)
{
	struct frontier *f = p->call.frontier;
	const struct lease_service *o = f->leases;
	struct lease_stream *s = p->stream;
	bool more = s != NULL && !list_empty(&s->held);

	if (s != NULL)
		s->waiting = NULL;
	known_evict_consider(f);
	if (ledger_health(f->ledger) == LEDGER_FAILED) {
		p->call.result = ERR_BROKEN;
		answered(&p->call);
		lease_answer(&p->call);
	} else if (p->refused || o->changed_group <= o->durable) {
		lease_answer(&p->call);
	} else {
		lease_answer_with_group(&p->call, put_broken);
	}
	return more;
}

/* The item's state, if the table did not have it; then its creation date. */
static enum err
look_up_item(struct lease_item *i, struct index *x)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf key = BUF_INIT;
	struct url_entry known = { .hash = i->asked_hash };
	struct str value;
	enum err e;

	if (i->asked_known) {
		e = known_evict_find(x, &known);
		i->asked_state = known.state;
		i->asked_date = known.date;
		if (e != OK || known.state == KNOWN_NONE)
			return e;
	}
	url_key(i->asked_crawl, i->asked_queue, i->asked_date, i->url, &key);
	e = index_get(x, INDEX_URL, buf_str(&key), &a, &value, NULL);
	struct reader in = reader_of(e == OK ? value : STR_NONE);
	i->asked_created = read_be32(&in);
	return e == OK && in.bad ? ERR_CORRUPT : e;
}

/* On the index thread. */
static void
look_up(struct ledger_query *q, struct index *x)
{
	struct lease_put *p = CONTAINER(q, struct lease_put, call.query);

	for (size_t k = p->at; k < p->items_n; k++) {
		struct lease_item *i = &p->items[k];
		if (i->asking == ASK_NOW)
			i->asking = look_up_item(i, x) == OK ? ASK_ANSWERED :
			    ASK_FAILED;
	}
}

/* Put the state that the index had back into the table, unless another put has
 * done so. */
static void
recall(struct frontier *f, const struct lease_item *i)
{
	uint32_t date;

	if (!i->asked_known || i->asking != ASK_ANSWERED ||
	    i->asked_state == KNOWN_NONE ||
	    i->asked_evictions != f->evict->evictions ||
	    lease_state(f, i->asked_hash, &date) != KNOWN_NONE ||
	    lease_queue_of(f, i->asked_crawl, i->asked_queue) == NULL)
		return;
	url_table_set(f->known, i->asked_hash, i->asked_date, MARK_OUTSIDE);
	metric_add(&frontier_metrics[METRIC_KNOWN_RECALLED], 1);
}

static void run_stream(struct lease_put *);

static void
looked_up(struct ledger_query *q)
{
	struct lease_put *p = CONTAINER(q, struct lease_put, call.query);
	struct frontier *f = p->call.frontier;

	lease_now(f);
	lease_out_expire(f);
	for (size_t k = p->at; k < p->items_n; k++)
		recall(f, &p->items[k]);
	run_stream(p);
}

static void
run_again(struct lease_call *c)
{
	run_stream(CONTAINER(c, struct lease_put, call));
}

static void
ask(struct lease_put *p)
{
	struct frontier *f = p->call.frontier;
	bool partial = known_evict_is_partial(f);
	int64_t asked = 0;

	if (p->stream != NULL)
		p->stream->waiting = p;
	if (!lease_may_read(&p->call, run_again))
		return;
	for (size_t k = p->at; k < p->items_n; k++) {
		if (k > p->at && (partial || p->items[k].known))
			apply_item(f, &p->items[k], true);
		asked += p->items[k].asking == ASK_NOW &&
		    p->items[k].asked_known;
	}
	metric_add(&frontier_metrics[METRIC_KNOWN_ASKED], asked);
	lease_read_known(&p->call, false, look_up, looked_up);
}

/* True when it is finished and others of its stream are held. */
static bool
run_put(struct lease_put *p)
{
	struct frontier *f = p->call.frontier;
	bool refused = ledger_health(f->ledger) != LEDGER_FINE;

	/* Nothing of it is applied: nothing is waited for. */
	p->refused = refused && p->at == 0;
	for (; p->at < p->items_n; p->at++) {
		struct lease_item *i = &p->items[p->at];
		i->status = LEASE_FAIL;
		if (!refused && !apply_item(f, i, false)) {
			ask(p);
			return false;
		}
	}
	return finish(p);
}

static void
run_stream(struct lease_put *p)
{
	struct lease_stream *s = p->stream;

	while (run_put(p))
		p = LIST_POP(&s->held, struct lease_put, held_node);
}

static void
put_arrived(struct lease_call *c)
{
	struct lease_put *p = CONTAINER(c, struct lease_put, call);

	p->at = 0;
	for (size_t i = 0; i < p->items_n; i++) {
		p->items[i].asking = ASK_NOT;
		p->items[i].asked_known = false;
	}
	list_init(&p->held_node);
	if (p->stream != NULL && p->stream->waiting != NULL)
		list_put(&p->stream->held, &p->held_node);
	else
		run_stream(p);
}

void
lease_put(struct frontier *f, struct lease_put *p)
{
	lease_post(f, &p->call, put_arrived);
}

/* --- purging: a record goes ----------------------------------------------- */

/* Its state before, from the table or else as it was evicted. */
static bool
find_purged(struct target *t, const struct url_entry *evicted)
{
	uint8_t mark = lease_state(t->frontier, t->hash, &t->date);

	if (mark == KNOWN_NONE && known_evict_is_partial(t->frontier)) {
		mark = evicted->state;
		t->date = evicted->date;
	}
	return mark != KNOWN_NONE && mark != MARK_OUTSIDE_GONE;
}

bool
lease_purge(struct lease_queue *q, const struct url_entry *evicted,
    struct str url, uint32_t before_s)
{
	struct frontier *f = q->crawl->frontier;
	struct target t = { .frontier = f, .queue = q, .url = url,
	    .hash = evicted->hash };

	if (!find_purged(&t, evicted))
		return false;
	/* It went and was created anew since the walk began. */
	const struct lease_new *n = map_get_id(&f->leases->fresh, t.hash);
	if (n != NULL && n->created >= before_s)
		return false;
	t.lease = lease_out_find(f->leases, t.hash);
	drop_record(&t);
	if (t.lease != NULL)
		lease_out_end(f, t.lease);
	lease_count(q, -(t.date != 0), -(t.date == 0));
	if (t.date != 0 && t.lease == NULL)
		left(&t);
	if (known_evict_is_partial(f))
		url_table_set(f->known, t.hash, 0, MARK_OUTSIDE_GONE);
	else
		url_table_remove(f->known, t.hash);
	lease_fresh_drop(f->leases, t.hash);
	lease_touch(q);
	turn_place(q);
	return true;
}
