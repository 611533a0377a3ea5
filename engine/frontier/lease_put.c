/*
 * Puts: what is new, what changes.  An item whose URL is known and not leased
 * keeps a creation date that only the index has: then the put stands still
 * until the index has answered for all its items from there on, and the puts of
 * its stream behind it wait.  A new URL, and one that is known already, cost no
 * read.
 */
#include "engine/frontier/outside_own.h"

enum asking { ASK_NOT, ASK_NOW, ASK_ANSWERED, ASK_FAILED };

void
outside_stream_init(struct outside_stream *s)
{
	list_init(&s->held);
	s->waiting = NULL;
}

/* --- records -------------------------------------------------------------- */

/* The URL, and what stands in memory of it. */
struct target {
	struct frontier *frontier;
	struct outside_queue *queue;
	struct str url;
	uint64_t hash;
	uint32_t date;               /* as it stands, or DATE_NEVER */
	uint32_t created;
	struct outside_lease *lease;
};

static void
put_record(const struct target *t, uint32_t date, const struct outside_item *i)
{
	struct frontier *f = t->frontier;
	struct outside *o = f->outside;

	url_key(t->queue->crawl->id, t->queue->id, date, t->url,
	    (buf_clear(&o->key), &o->key));
	buf_clear(&o->value);
	buf_put_be32(&o->value, t->created);
	buf_put_char(&o->value, 0);
	buf_put_str(&o->value, i->metadata);
	ledger_put(f->ledger, INDEX_URL, buf_str(&o->key),
	    buf_str(&o->value));
	outside_fresh(f, t->hash, t->created);
}

static void
drop_record(const struct target *t)
{
	struct frontier *f = t->frontier;
	struct outside *o = f->outside;

	url_key(t->queue->crawl->id, t->queue->id, t->date, t->url,
	    (buf_clear(&o->key), &o->key));
	outside_changes(f);
	ledger_delete(f->ledger, INDEX_URL, buf_str(&o->key));
}

/* It waits with this date from now on; walks may not see it yet. */
static void
arrived(const struct target *t, uint32_t date)
{
	struct outside_queue *q = t->queue;
	const struct outside *o = t->frontier->outside;

	q->put_due = turn_put_lately(q) ? MIN(q->put_due, date) : date;
	q->put_group = (uint32_t)o->changed_group;
	q->put_group_high = (uint8_t)(o->changed_group >> 32);
	turn_available(q, date, t->url);
}

/* An unleased URL of the present date leaves its place. */
static void
left(const struct target *t)
{
	struct outside_queue *q = t->queue;

	if (q->active == q->leased)
		q->next_due = DATE_NEVER;
	else if (t->date == q->next_due)
		q->stale = true;
}

/* Its state in memory becomes what was put. */
static void
move_to(struct target *t, uint32_t date)
{
	struct outside_queue *q = t->queue;
	int active = (date != 0), completed = (date == 0);

	if (t->date != DATE_NEVER) {
		active -= t->date != 0;
		completed -= t->date == 0;
	}
	bool waited = t->date != DATE_NEVER && t->date != 0 &&
	    t->lease == NULL;
	if (t->lease != NULL)
		lease_end(t->frontier, t->lease);
	if (waited) {
		/* Out of the counts while its place is looked at. */
		outside_count(q, -1, 0);
		left(t);
		outside_count(q, 1, 0);
	}
	outside_count(q, active, completed);
	url_table_set(t->frontier->known, t->hash, date, MARK_OUTSIDE);
	if (date != 0)
		arrived(t, date);
	outside_see(q);
	outside_touch(q);
	turn_place(q);
}

/* --- one item ------------------------------------------------------------- */

/* Where the creation date of a known record stands; false: ask the index. */
static bool
find_created(struct target *t, struct outside_item *i)
{
	const struct outside *o = t->frontier->outside;

	t->lease = lease_find(o, t->hash);
	if (outside_news_get(&o->fresh, t->hash, &t->created))
		return true;
	if (t->lease != NULL) {
		t->created = t->lease->created;
		return true;
	}
	t->created = i->asked_created;
	if (i->asking == ASK_ANSWERED && i->asked_hash == t->hash)
		return true;
	i->asking = i->asking == ASK_FAILED ? ASK_FAILED : ASK_NOW;
	i->asked_hash = t->hash;
	i->asked_crawl = t->queue->crawl->id;
	i->asked_queue = t->queue->id;
	i->asked_date = t->date;
	return false;
}

static uint32_t
seconds(uint64_t s)
{
	return (uint32_t)MIN(s, OUTSIDE_DATE_MAX);
}

/* The item's URL is fine; false: `key` or `url` is not. */
static bool
well_formed(const struct outside_item *i, struct str *key)
{
	if (i->url.n == 0)
		return false;
	*key = i->key.n != 0 ? i->key : outside_key(i->url);
	return key->n != 0 && (key->n <= OUTSIDE_KEY_UNITS_MAX ||
	    outside_key_units(*key) <= OUTSIDE_KEY_UNITS_MAX);
}

/* False: the put waits until the index has answered. */
static bool
apply_item(struct frontier *f, struct outside_item *i, bool only_ask)
{
	struct outside *o = f->outside;
	struct target t = { .frontier = f, .url = i->url };
	struct outside_crawl *c = outside_find_crawl(f, i->crawl);
	struct str key;
	uint8_t mark;

	i->status = OUTSIDE_SKIPPED;
	if (!well_formed(i, &key))
		return true;
	t.queue = outside_find_queue(c, key);
	bool there = false;
	if (t.queue != NULL) {
		t.hash = outside_hash(f, c->id, t.queue->id, t.url);
		there = url_table_get(f->known, t.hash, &t.date, &mark);
	}
	if (there && !i->known)
		return true;
	if (there && !find_created(&t, i)) {
		i->status = OUTSIDE_FAIL;
		return i->asking == ASK_FAILED;
	}
	if (only_ask)
		return true;
	i->status = OUTSIDE_OK;
	if (!there) {
		if (t.queue == NULL)
			t.queue = outside_make_queue(outside_make_crawl(f,
			    i->crawl), key);
		t.hash = outside_hash(f, t.queue->crawl->id, t.queue->id,
		    t.url);
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
answered(struct outside_call *c)
{
	struct outside_put *p = CONTAINER(c, struct outside_put, call);

	for (size_t i = 0; c->result != OK && i < p->items_n; i++)
		if (p->items[i].status == OUTSIDE_OK)
			p->items[i].status = OUTSIDE_FAIL;
	c->result = OK;
}

static void
put_kept(struct promise *p, enum err e)
{
	struct outside_call *c = CONTAINER(p, struct outside_call, promise);

	c->result = e;
	answered(c);
	outside_answer(c);
}

/*
 * True when others of its stream are held.  Without them the stream may be gone
 * as soon as the answer is on its way.
 */
static bool
finish(struct outside_put *p)
{
	struct frontier *f = p->call.frontier;
	const struct outside *o = f->outside;
	struct outside_stream *s = p->stream;
	bool more = s != NULL && !list_empty(&s->held);

	if (s != NULL)
		s->waiting = NULL;
	if (ledger_health(f->ledger) == LEDGER_FAILED) {
		p->call.result = ERR_BROKEN;
		answered(&p->call);
		outside_answer(&p->call);
	} else if (p->refused || o->changed_group <= o->durable) {
		outside_answer(&p->call);
	} else {
		p->call.promise.kept = put_kept;
		outside_promise(f, &p->call.promise);
	}
	return more;
}

/* On the index thread: when were those records created? */
static void
look_up(struct ledger_query *q, struct index *x)
{
	struct outside_put *p = CONTAINER(q, struct outside_put, call.query);
	struct arena a = ARENA_INIT;
	struct buf key = BUF_INIT;

	for (size_t k = p->at; k < p->items_n; k++) {
		struct outside_item *i = &p->items[k];
		struct str value;
		if (i->asking != ASK_NOW)
			continue;
		url_key(i->asked_crawl, i->asked_queue, i->asked_date, i->url,
		    (buf_clear(&key), &key));
		enum err e = index_get(x, INDEX_URL, buf_str(&key), &a, &value,
		    NULL);
		struct reader in = reader_of(e == OK ? value : STR_NONE);
		i->asked_created = read_be32(&in);
		i->asking = in.bad ? ASK_FAILED : ASK_ANSWERED;
		arena_reset(&a);
	}
	arena_free(&a);
	buf_free(&key);
}

static void run_stream(struct outside_put *);

static void
looked_up(struct ledger_query *q)
{
	struct outside_put *p = CONTAINER(q, struct outside_put, call.query);

	outside_now(p->call.frontier);
	lease_expire(p->call.frontier);
	run_stream(p);
}

static void
ask(struct outside_put *p)
{
	struct frontier *f = p->call.frontier;

	for (size_t k = p->at + 1; k < p->items_n; k++)
		if (p->items[k].known)
			apply_item(f, &p->items[k], true);
	if (p->stream != NULL)
		p->stream->waiting = p;
	p->call.query.home = f->loop;
	p->call.query.run = look_up;
	p->call.query.done = looked_up;
	ledger_read(f->ledger, &p->call.query);
}

/* True when it is finished and others of its stream are held. */
static bool
run_put(struct outside_put *p)
{
	struct frontier *f = p->call.frontier;
	bool refused = ledger_health(f->ledger) != LEDGER_FINE;

	/* Nothing of it is applied: nothing is waited for. */
	p->refused = refused && p->at == 0;
	for (; p->at < p->items_n; p->at++) {
		struct outside_item *i = &p->items[p->at];
		i->status = OUTSIDE_FAIL;
		if (!refused && !apply_item(f, i, false)) {
			ask(p);
			return false;
		}
	}
	return finish(p);
}

static void
run_stream(struct outside_put *p)
{
	struct outside_stream *s = p->stream;

	while (run_put(p)) {
		p = LIST_ITEM(s->held.next, struct outside_put, held_node);
		list_take(&p->held_node);
	}
}

static void
put_arrived(struct outside_call *c)
{
	struct outside_put *p = CONTAINER(c, struct outside_put, call);

	p->at = 0;
	for (size_t i = 0; i < p->items_n; i++)
		p->items[i].asking = ASK_NOT;
	list_init(&p->held_node);
	if (p->stream != NULL && p->stream->waiting != NULL)
		list_put(&p->stream->held, &p->held_node);
	else
		run_stream(p);
}

void
outside_put(struct frontier *f, struct outside_put *p)
{
	outside_post(f, &p->call, put_arrived);
}

/* --- purging: a record goes ----------------------------------------------- */

bool
outside_purge(struct outside_queue *q, uint64_t hash, struct str url,
    uint32_t before_s)
{
	struct frontier *f = q->crawl->frontier;
	struct target t = { .frontier = f, .queue = q, .url = url,
	    .hash = hash };
	uint8_t mark;

	if (!url_table_get(f->known, hash, &t.date, &mark))
		return false;
	/* It went and was created anew since the walk began. */
	if (outside_news_get(&f->outside->fresh, hash, &t.created) &&
	    t.created >= before_s)
		return false;
	t.lease = lease_find(f->outside, hash);
	drop_record(&t);
	if (t.lease != NULL)
		lease_end(f, t.lease);
	outside_count(q, -(t.date != 0), -(t.date == 0));
	if (t.date != 0 && t.lease == NULL)
		left(&t);
	url_table_remove(f->known, hash);
	outside_news_take(&f->outside->fresh, hash, 0);
	outside_touch(q);
	turn_place(q);
	return true;
}
