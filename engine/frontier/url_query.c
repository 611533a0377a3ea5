#include "engine/frontier/url_query.h"

#include "engine/frontier/journal.h"
#include "engine/frontier/known_evict.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/queue_record.h"
#include "engine/frontier/url_key.h"

/* Records passed over before others may read. */
#define LOOKS_PER_TURN 8192u
#define HEAD_BYTES (3 * sizeof(uint32_t))

/* --- records ------------------------------------------------------------- */

enum err
url_record_get(struct index *x, uint32_t crawl, uint32_t queue, uint32_t date,
    struct str url, struct url_value *v)
{
	struct arena a = ARENA_INIT;
	struct buf key = BUF_INIT;
	struct str value;

	url_key(crawl, queue, date, url, &key);
	enum err e = index_get(x, INDEX_URL, buf_str(&key), &a, &value, NULL);
	if (e == OK && !url_value_parse(value, v))
		e = ERR_CORRUPT;
	buf_free(&key);
	arena_free(&a);
	return e;
}

static enum err
get_entry(struct index *x, uint32_t crawl, uint64_t seq, struct arena *a,
    struct journal_entry *out)
{
	struct buf key = BUF_INIT;
	struct str value;

	journal_key(crawl, seq, &key);
	enum err e = index_get(x, INDEX_JOURNAL, buf_str(&key), a, &value,
	    NULL);
	if (e == OK && !journal_parse(buf_str(&key), value, out))
		e = ERR_CORRUPT;
	buf_free(&key);
	return e;
}

enum err
frontier_old_capture(struct index *x, uint32_t crawl, struct str host,
    struct str url, struct arena *a, struct journal_entry *out)
{
	struct queue_record q;
	struct url_value v;

	enum err e = queue_record_get(x, crawl, host, a, &q);
	if (e == OK)
		e = url_record_get(x, crawl, q.id, 0, url, &v);
	if (e != OK)
		return e;
	if (v.seq == 0 || v.why >> 4 != OUTCOME_ITEM)
		return ERR_ABSENT;
	return get_entry(x, crawl, v.seq, a, out);
}

/* --- the question -------------------------------------------------------- */

static void
deliver_answer(struct mail *m)
{
	struct frontier_url_query *l =
	    CONTAINER(m, struct frontier_url_query, mail);

	l->done(l);
}

static void
answer(struct frontier_url_query *l)
{
	index_iter_free(&l->iter);
	l->mail.deliver = deliver_answer;
	loop_post(l->home, &l->mail);
}

static struct str
name_of(struct str path)
{
	size_t at = path.n;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	path = str_from(path, at);
	if (str_ends(path, STR(".open")))
		path.n -= STR(".open").n;
	return path;
}

static struct frontier_url_query *
query_of(struct ledger_query *q)
{
	return CONTAINER(q, struct frontier_url_query, query);
}

/* Nothing, when the entry or its file is gone. */
static void
read_answer(struct frontier_url_query *l, struct index *x, uint64_t seq)
{
	struct journal_entry e;
	struct str path;

	if (get_entry(x, l->crawl, seq, &l->arena, &e) == OK &&
	    ledger_warc_path(x, e.file, &l->arena, &path, NULL) == OK)
		l->answer = (struct url_answer){ e.status, name_of(path),
		    e.offset };
}

static void
take_fact(struct frontier_url_query *l, struct index *x, enum url_state state,
    const struct url_value *v)
{
	enum outcome outcome = (enum outcome)(v->why >> 4);

	l->found = true;
	l->state = state;
	l->number = state == URL_DONE && outcome == OUTCOME_ITEM ? v->seq : 0;
	if (state == URL_DONE && v->seq >= JOURNAL_FAILED)
		read_answer(l, x, v->seq);
	l->fact = (struct url_fact){
		.outcome = outcome, .reason = v->why & 15,
		.flags = v->flags, .depth = v->depth, .cost = v->cost,
		.found.us = (int64_t)v->created_s * US_PER_S,
	};
}

static void
fail(struct frontier_url_query *l, enum err e)
{
	why(&l->why, e, "%s", e == ERR_CORRUPT ?
	    "a URL's record in the index is damaged" :
	    "the index cannot be read");
}

static void
get_at(struct frontier_url_query *l, struct index *x, uint32_t queue,
    uint32_t date, enum url_state state)
{
	struct url_value v;

	if (l->found || l->why.err != OK)
		return;
	enum err e = url_record_get(x, l->crawl, queue, date, l->url, &v);
	if (e == OK)
		take_fact(l, x, state, &v);
	else if (e != ERR_ABSENT)
		fail(l, e);
}

/* The queue of a crawl that has ended. */
static void
read_queue_record(struct frontier_url_query *l, struct index *x)
{
	struct queue_record r;

	enum err e = queue_record_get(x, l->crawl, l->host, &l->arena, &r);
	l->host_known = e == OK;
	if (e == OK) {
		l->queue = r.id;
		l->queued = r.waiting;
	} else if (e != ERR_ABSENT) {
		fail(l, e);
	}
}

/* On the index thread: the places where it may stand. */
static void
read_places(struct ledger_query *q, struct index *x)
{
	struct frontier_url_query *l = query_of(q);
	bool listed = l->mark == MARK_WAITING || l->mark == MARK_LEASED;

	if (l->retired)
		read_queue_record(l, x);
	if (listed && l->queue != QUEUE_SKIPPED)
		get_at(l, x, l->queue, l->rank, l->mark == MARK_LEASED ?
		    URL_LEASED : URL_WAITING);
	if (l->queue != QUEUE_SKIPPED)
		get_at(l, x, l->queue, 0, URL_DONE);
	get_at(l, x, QUEUE_SKIPPED, 0, URL_SKIPPED);
	if (l->found || l->mark != 0 || l->queue == QUEUE_SKIPPED || l->all)
		return;
	/* It may wait under a rank that nobody knows. */
	struct buf from = BUF_INIT;
	buf_put_be32(&from, l->crawl);
	buf_put_be32(&from, l->queue);
	l->iter = index_iter_new(x, INDEX_URL);
	index_iter_seek(l->iter, buf_str(&from));
	buf_free(&from);
}

/* Beside the groups. */
static void
walk_queue(struct ledger_query *q, struct index *x)
{
	struct frontier_url_query *l = query_of(q);
	struct str key, value;
	struct url_value v;

	for (unsigned n = 0; n < LOOKS_PER_TURN; n++) {
		bool valid = index_iter_valid(l->iter, &key, &value);
		struct reader in = reader_of(valid ? key : STR_NONE);
		bool ours = read_be32(&in) == l->crawl &&
		    read_be32(&in) == l->queue && !in.bad;
		if (ours && str_eq(str_from(key, HEAD_BYTES), l->url)) {
			if (url_value_parse(value, &v))
				take_fact(l, x, URL_WAITING, &v);
			else
				fail(l, ERR_CORRUPT);
		}
		if (!ours || l->found || l->why.err != OK) {
			(void)!index_iter_error(l->iter, &l->why);
			index_iter_free(&l->iter);
			return;
		}
		index_iter_next(l->iter);
	}
}

static void
queue_walked(struct ledger_query *q)
{
	struct frontier_url_query *l = query_of(q);

	if (l->iter != NULL)
		ledger_read_beside(l->frontier->ledger, q);
	else
		answer(l);
}

static void run(struct frontier_url_query *);

static void
gathered(struct promise *p, enum err e)
{
	struct frontier_url_query *l =
	    CONTAINER(p, struct frontier_url_query, promise);

	if (e == OK)
		run(l);
	else
		answer(l);
}

static void
places_read(struct ledger_query *q)
{
	struct frontier_url_query *l = query_of(q);
	struct ledger *ledger = l->frontier->ledger;

	if (l->iter != NULL) {
		q->run = walk_queue;
		q->done = queue_walked;
		ledger_read_beside(ledger, q);
	} else if (l->mark != 0 && !l->found && l->why.err == OK &&
	    !l->waited && ledger_health(ledger) == LEDGER_FINE) {
		/* It stands in the group that is being gathered. */
		l->waited = true;
		l->promise.kept = gathered;
		ledger_promise(ledger, &l->promise);
	} else {
		answer(l);
	}
}

/* What memory says of it.  False: there is no such crawl. */
static bool
look_up(struct frontier_url_query *l)
{
	const struct frontier *f = l->frontier;
	const struct crawl *c = crawl_get(f, l->crawl);
	const struct queue *q = c == NULL ? NULL :
	    map_get(&c->queues, l->host);

	if (c == NULL) {
		why(&l->why, ERR_ABSENT, "there is no crawl %u", l->crawl);
		return false;
	}
	l->retired = c->retired;
	l->host_known = q != NULL;
	l->queue = q == NULL ? QUEUE_SKIPPED : q->id;
	l->queued = q == NULL ? 0 : q->waiting + q->leased;
	l->all = c->loaded && !c->retired && !known_evict_is_partial(f);
	if (!url_table_get(f->known, frontier_hash(l->crawl, l->url), &l->rank,
	    &l->mark))
		l->mark = 0;
	return true;
}

static void
run(struct frontier_url_query *l)
{
	if (!look_up(l)) {
		answer(l);
		return;
	}
	l->query.home = l->frontier->loop;
	l->query.run = read_places;
	l->query.done = places_read;
	ledger_read(l->frontier->ledger, &l->query);
}

static void
arrived(struct mail *m)
{
	run(CONTAINER(m, struct frontier_url_query, mail));
}

static void
begin(struct frontier *f, struct frontier_url_query *l)
{
	l->frontier = f;
	l->state = URL_UNKNOWN;
	l->fact = (struct url_fact){ 0 };
	l->answer = (struct url_answer){ 0 };
	l->found = l->waited = l->host_known = false;
	l->number = l->queued = 0;
	l->iter = NULL;
	l->why = WHY_INIT;
}

void
frontier_url_query(struct frontier *f, struct frontier_url_query *l)
{
	begin(f, l);
	l->mail.deliver = arrived;
	loop_post(f->loop, &l->mail);
}

enum url_state
frontier_find_url(struct frontier *f, uint32_t crawl, struct str url,
    struct str host, struct url_fact *fact)
{
	struct frontier_url_query l = { .crawl = crawl, .url = url,
		.host = host };
	struct index *x = ledger_index(f->ledger);

	begin(f, &l);
	if (look_up(&l))
		read_places(&l.query, x);
	while (l.iter != NULL)
		walk_queue(&l.query, x);
	arena_free(&l.arena);
	*fact = l.fact;
	return l.state;
}
