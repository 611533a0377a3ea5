#include "engine/frontier/url_query.h"

#include "engine/frontier/journal.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"
#include "engine/ledger/ledger_places.h"

/* Records passed over before others may read. */
#define LOOKS_PER_TURN 8192u
#define HEAD_BYTES (3 * sizeof(uint32_t))

/* --- records ------------------------------------------------------------- */

enum err
url_record_get(struct index *x, uint32_t crawl, uint32_t queue, uint32_t date,
    struct str url, struct url_value *v)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str value;

	url_key(crawl, queue, date, url, &key);
	enum err e = index_get(x, INDEX_URL, buf_str(&key), &a, &value, NULL);
	return e == OK && !url_value_parse(value, v) ? ERR_CORRUPT : e;
}

static enum err
get_entry(struct index *x, uint32_t crawl, uint64_t seq, struct arena *a,
    struct journal_entry *out)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str value;

	journal_key(crawl, seq, &key);
	enum err e = index_get(x, INDEX_JOURNAL, buf_str(&key), a, &value,
	    NULL);
	return e == OK && !journal_parse(buf_str(&key), value, out) ?
	    ERR_CORRUPT : e;
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

#define URL_QUERY_STEPS(X)                                                   \
	X(LOOK_UP, AT_LEDGER, look_up, "where the known table has it")       \
	X(READ_PLACES, AT_READ, read_places, "the records where it may be")  \
	X(WALK_QUEUE, AT_BESIDE, walk_queue, "some records of its queue")    \
	X(JUDGE, AT_MAIN, judge_answer, "found, or being gathered still?")   \
	X(GATHERED, AT_DURABLE, gathered, "its record was being gathered")
enum { URL_QUERY_STEPS(REQUEST_ENUM) };

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

static struct frontier_url_query *
query_of(struct request *r)
{
	return CONTAINER(r, struct frontier_url_query, request);
}

static void
read_all(struct frontier_url_query *l, struct index *x)
{
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
	FREED(buf_free) struct buf from = BUF_INIT;
	buf_put_be32(&from, l->crawl);
	buf_put_be32(&from, l->queue);
	l->iter = index_iter_new(x, INDEX_URL);
	index_iter_seek(l->iter, buf_str(&from));
}

static int
read_places(struct request *r)
{
	struct frontier_url_query *l = query_of(r);

	read_all(l, request_index(r));
	return l->iter != NULL ? WALK_QUEUE : JUDGE;
}

static int
judge_answer(struct request *r)
{
	struct frontier_url_query *l = query_of(r);

	if (l->mark == 0 || l->found || l->why.err != OK || l->waited ||
	    ledger_health(l->frontier->ledger) != LEDGER_FINE)
		return REQUEST_DONE;
	l->waited = true;
	return GATHERED;
}

static int
gathered(struct request *r)
{
	return r->why.err == OK ? LOOK_UP : REQUEST_DONE;
}

static void
walk_some(struct frontier_url_query *l, struct index *x)
{
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

/* Beside the groups. */
static int
walk_queue(struct request *r)
{
	struct frontier_url_query *l = query_of(r);

	walk_some(l, request_index(r));
	return l->iter != NULL ? WALK_QUEUE : REQUEST_DONE;
}

/* False: there is no such crawl. */
static bool
read_memory(struct frontier_url_query *l)
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

static int
look_up(struct request *r)
{
	return read_memory(query_of(r)) ? READ_PLACES : REQUEST_DONE;
}

static void
query_done(struct request *r)
{
	struct frontier_url_query *l = query_of(r);

	index_iter_free(&l->iter);
	l->done(l);
}

static const struct request_step url_query_steps[] = {
	URL_QUERY_STEPS(REQUEST_ROW)
};

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
	l->request.done = query_done;
	request_start(&l->request, frontier_places(f), url_query_steps,
	    LOOK_UP);
}

enum url_state
frontier_find_url(struct frontier *f, uint32_t crawl, struct str url,
    struct str host, struct url_fact *fact)
{
	struct frontier_url_query l = { .crawl = crawl, .url = url,
		.host = host };
	struct index *x = ledger_index(f->ledger);

	begin(f, &l);
	if (read_memory(&l))
		read_all(&l, x);
	while (l.iter != NULL)
		walk_some(&l, x);
	arena_free(&l.arena);
	*fact = l.fact;
	return l.state;
}
