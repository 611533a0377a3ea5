#include "engine/frontier/crawl_state.h"
#include "engine/frontier/journal.h"
#include "engine/frontier/known_evict.h"
#include "engine/frontier/query.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/queue_record.h"
#include "engine/frontier/url_key.h"

/* Queues looked at in one go: about half a millisecond. */
#define QUEUES_PER_TURN 4096u
/* Records passed over before others may read. */
#define LOOKS_PER_TURN 8192u
/* What stands behind the cursor and is leased is passed over. */
#define LOOKS_PER_QUEUE 256u
#define PREFIX_BYTES (2 * sizeof(uint32_t))
#define HEAD_BYTES (3 * sizeof(uint32_t))

enum err
look_is_there(struct index *x, uint32_t crawl, struct why *w)
{
	struct index_iter *i = index_iter_new(x, INDEX_CRAWL);
	struct buf at = BUF_INIT;
	struct str key, value;

	crawl_key(crawl, 'S', &at);
	index_iter_seek(i, buf_str(&at));
	bool there = index_iter_valid(i, &key, &value) &&
	    str_eq(key, buf_str(&at));
	enum err e = index_iter_error(i, w);
	index_iter_free(&i);
	buf_free(&at);
	if (e == OK && !there)
		e = why(w, ERR_ABSENT, "there is no crawl %u", crawl);
	return e;
}

/* --- queues ------------------------------------------------------------- */

static void
queues_delivered(struct mail *m)
{
	struct frontier_queues_query *l =
	    CONTAINER(m, struct frontier_queues_query, mail);

	l->done(l);
}

static bool
shorter(const struct queried_queue *a, const struct queried_queue *b)
{
	return a->queued != b->queued ? a->queued < b->queued : a->id > b->id;
}

static void
swap(struct queried_queue *a, struct queried_queue *b)
{
	struct queried_queue t = *a;

	*a = *b;
	*b = t;
}

/* The shortest is the first: its place goes to whoever is longer. */
static void
sink(struct queried_queue *q, size_t n)
{
	for (size_t at = 0, low; (low = 2 * at + 1) < n; at = low) {
		if (low + 1 < n && shorter(&q[low + 1], &q[low]))
			low++;
		if (!shorter(&q[low], &q[at]))
			return;
		swap(&q[low], &q[at]);
	}
}

static void
rise(struct queried_queue *q, size_t at)
{
	for (; at > 0 && shorter(&q[at], &q[(at - 1) / 2]);
	    at = (at - 1) / 2)
		swap(&q[at], &q[(at - 1) / 2]);
}

static bool
weighs(const struct frontier_queues_query *l, const struct queried_queue *x)
{
	return x->queued > 0 && (l->n < l->max ||
	    (l->n > 0 && shorter(&l->queues[0], x)));
}

static void
weigh(struct frontier_queues_query *l, struct queried_queue x)
{
	l->left += x.queued > 0;
	if (!weighs(l, &x))
		return;
	if (l->n < l->max) {
		l->queues[l->n] = x;
		rise(l->queues, l->n++);
	} else {
		l->queues[0] = x;
		sink(l->queues, l->n);
	}
}

static int
longer_first(const void *a, const void *b)
{
	return shorter(a, b) ? 1 : shorter(b, a) ? -1 : 0;
}

static void
name_queues(struct frontier_queues_query *l, const struct crawl *c)
{
	struct buf key = BUF_INIT;

	for (size_t i = 0; i < l->n; i++) {
		struct queried_queue *x = &l->queues[i];
		const struct queue *q = map_get_id(&c->queues_by_id, x->id);
		x->host = arena_copy(&l->arena, q->key);
		x->waits = q->waiting > 0;
		buf_clear(&key);
		url_key(c->id, q->id, MAX(q->cursor_rank, 1u),
		    buf_str(&q->cursor_url), &key);
		x->from = arena_copy(&l->arena, buf_str(&key));
	}
	buf_free(&key);
}

static void
answer_queues(struct frontier_queues_query *l, const struct crawl *c)
{
	if (c == NULL) {
		l->n = 0;
		why(&l->why, ERR_ABSENT, "there is no crawl %u", l->crawl);
	} else {
		qsort(l->queues, l->n, sizeof(*l->queues), longer_first);
		if (!c->retired)
			name_queues(l, c);
		l->view = c->view;
		l->loaded = c->loaded;
		l->tickets = crawl_tickets(c);
		l->health = ledger_health(l->frontier->ledger);
	}
	l->mail.deliver = queues_delivered;
	loop_post(l->home, &l->mail);
}

/* Of a crawl that has ended. */
static void
weigh_record(void *arg, const struct queue_record *r)
{
	struct frontier_queues_query *l = arg;
	struct queried_queue x = { .id = r->id, .queued = r->waiting,
	    .waits = r->waiting > 0 };
	struct buf key = BUF_INIT;

	if (weighs(l, &x)) {
		url_key(l->crawl, r->id, 1, STR(""), &key);
		x.from = arena_copy(&l->arena, buf_str(&key));
		x.host = arena_copy(&l->arena, r->key);
		buf_free(&key);
	}
	weigh(l, x);
}

/* Beside the groups: nothing of it changes any more. */
static void
read_queues(struct ledger_query *q, struct index *x)
{
	struct frontier_queues_query *l =
	    CONTAINER(q, struct frontier_queues_query, query);

	if (queue_record_each(x, l->crawl, weigh_record, l) != OK)
		why(&l->why, ERR_CORRUPT, "the queues of crawl %u cannot be "
		    "read", l->crawl);
}

static void
queues_read(struct ledger_query *q)
{
	struct frontier_queues_query *l =
	    CONTAINER(q, struct frontier_queues_query, query);

	answer_queues(l, crawl_get(l->frontier, l->crawl));
}

static void
look_retired(struct frontier_queues_query *l, const struct crawl *c)
{
	l->n = 0;
	l->left = l->waiting_for_slot = 0;
	if (c->view.counts.queued == 0) {
		answer_queues(l, c);
		return;
	}
	l->query.home = l->frontier->loop;
	l->query.run = read_queues;
	l->query.done = queues_read;
	ledger_read_beside(l->frontier->ledger, &l->query);
}

static void
some_queues(struct mail *m)
{
	struct frontier_queues_query *l =
	    CONTAINER(m, struct frontier_queues_query, mail);
	const struct crawl *c = crawl_get(l->frontier, l->crawl);

	if (c != NULL && c->retired) {
		look_retired(l, c);
		return;
	}
	for (unsigned i = 0; c != NULL && i < QUEUES_PER_TURN &&
	    l->next < c->next_queue; i++, l->next++) {
		const struct queue *q = map_get_id(&c->queues_by_id, l->next);
		if (q == NULL)
			continue;
		l->waiting_for_slot += !list_empty(&q->slot_node);
		weigh(l, (struct queried_queue){ .id = q->id,
		    .queued = q->waiting + q->leased });
	}
	if (c != NULL && l->next < c->next_queue)
		loop_post(l->frontier->loop, &l->mail);
	else
		answer_queues(l, c);
}

void
frontier_queues_query(struct frontier *f, struct frontier_queues_query *l)
{
	l->frontier = f;
	l->n = 0;
	l->left = l->waiting_for_slot = 0;
	l->next = QUEUE_SKIPPED + 1;
	l->queues = ARENA_ARRAY(&l->arena, struct queried_queue, l->max + 1);
	l->why = WHY_INIT;
	l->mail.deliver = some_queues;
	loop_post(f->loop, &l->mail);
}

/* --- what is next in them ----------------------------------------------- */

static void
urls_delivered(struct mail *m)
{
	struct frontier_next_query *l =
	    CONTAINER(m, struct frontier_next_query, mail);

	l->done(l);
}

/* Has it been leased since, or before the cursor went back? */
static bool
waits(const struct frontier_next_query *l, const struct crawl *c,
    const struct queried_url *u)
{
	const struct frontier *f = l->frontier;
	uint32_t date;
	uint8_t mark;

	if (url_table_get(
	        f->known, frontier_hash(l->crawl, u->url), &date, &mark))
		return mark == MARK_WAITING && date == u->rank;
	return known_evict_is_partial(f) || !c->loaded;
}

static void
urls_read(struct ledger_query *q)
{
	struct frontier_next_query *l =
	    CONTAINER(q, struct frontier_next_query, query);
	const struct crawl *c = crawl_get(l->frontier, l->crawl);
	size_t kept = 0, of_queue = 0, queue = SIZE_MAX;

	for (size_t i = 0; c != NULL && i < l->n; i++) {
		of_queue = l->urls[i].queue == queue ? of_queue : 0;
		queue = l->urls[i].queue;
		if (of_queue < l->each && waits(l, c, &l->urls[i])) {
			l->urls[kept++] = l->urls[i];
			of_queue++;
		}
	}
	l->n = kept;
	l->mail.deliver = urls_delivered;
	loop_post(l->home, &l->mail);
}

/* So many more as may be leased are read. */
static void
read_queue(struct frontier_next_query *l, size_t queue, size_t max)
{
	struct str key, value, from = l->queues[queue].from;
	size_t n = 0;

	for (index_iter_seek(l->iter, from); n < max &&
	    index_iter_valid(l->iter, &key, &value) &&
	    str_starts(key, str_cut(from, 0, PREFIX_BYTES));
	    index_iter_next(l->iter), n++) {
		struct reader in = reader_of(key);
		struct url_value v;
		read_be64(&in);
		uint32_t rank = read_be32(&in);
		if (rank > RANK_MAX || !url_value_parse(value, &v))
			return;
		l->urls[l->n++] = (struct queried_url){
			.url = arena_copy(&l->arena, (struct str){ in.p,
			in.n }), .queue = queue, .rank = rank,
			.cost = v.cost, .depth = v.depth };
	}
}

/* Beside the groups. */
static void
read_urls(struct ledger_query *q, struct index *x)
{
	struct frontier_next_query *l =
	    CONTAINER(q, struct frontier_next_query, query);
	size_t each = l->each + MIN(l->each, LOOKS_PER_QUEUE) + 8;

	(void)x;
	l->urls = ARENA_ARRAY(&l->arena, struct queried_url,
	    l->queues_n * each + 1);
	for (size_t i = 0; i < l->queues_n; i++)
		read_queue(l, i, each);
	/* The answer is in l->why. */
	(void)!index_iter_error(l->iter, &l->why);
	index_iter_free(&l->iter);
}

/* On the index thread, behind all that is durable. */
static void
open_urls(struct ledger_query *q, struct index *x)
{
	CONTAINER(q, struct frontier_next_query, query)->iter =
	    index_iter_new(x, INDEX_URL);
}

static void
urls_opened(struct ledger_query *q)
{
	struct frontier_next_query *l =
	    CONTAINER(q, struct frontier_next_query, query);

	q->run = read_urls;
	q->done = urls_read;
	ledger_read_beside(l->frontier->ledger, q);
}

void
frontier_next_query(struct frontier *f, struct frontier_next_query *l)
{
	l->frontier = f;
	l->n = 0;
	l->why = WHY_INIT;
	l->query.home = f->loop;
	l->query.run = open_urls;
	l->query.done = urls_opened;
	ledger_read(f->ledger, &l->query);
}

/* --- one URL ------------------------------------------------------------ */

static void
one_delivered(struct mail *m)
{
	struct frontier_url_query *l =
	    CONTAINER(m, struct frontier_url_query, mail);

	l->done(l);
}

static void
answer_one(struct frontier_url_query *l)
{
	index_iter_free(&l->iter);
	l->mail.deliver = one_delivered;
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

/* Nothing, when the entry or its file is gone. */
static void
read_answer(struct frontier_url_query *l, struct index *x, uint64_t seq)
{
	struct buf key = BUF_INIT;
	struct journal_entry e;
	struct str value, path;

	journal_key(l->crawl, seq, &key);
	if (index_get(x, INDEX_JOURNAL, buf_str(&key), &l->arena, &value,
	    NULL) == OK && journal_parse(buf_str(&key), value, &e) &&
	    ledger_warc_path(x, e.file, &l->arena, &path, NULL) == OK)
		l->answer = (struct url_answer){ e.status, name_of(path),
		    e.offset };
	buf_free(&key);
}

static bool
take_fact(struct frontier_url_query *l, struct index *x, enum url_state state,
    struct str value)
{
	struct url_value v;

	if (!url_value_parse(value, &v)) {
		why(&l->why, ERR_CORRUPT, "a URL's record in the index is "
		    "damaged");
		return false;
	}
	l->found = true;
	l->state = state;
	bool item = v.why >> 4 == OUTCOME_ITEM;
	l->number = state == URL_DONE && item ? v.seq : 0;
	if (state == URL_DONE && v.seq >= JOURNAL_FAILED)
		read_answer(l, x, v.seq);
	l->fact = (struct url_fact){
		.outcome = (enum outcome)(v.why >> 4), .reason = v.why & 15,
		.flags = v.flags, .depth = v.depth, .cost = v.cost,
		.found.us = (int64_t)v.created_s * US_PER_S,
	};
	return true;
}

static void
get_at(struct frontier_url_query *l, struct index *x, uint32_t queue,
    uint32_t date, enum url_state state)
{
	struct arena a = ARENA_INIT;
	struct buf key = BUF_INIT;
	struct str value;

	if (l->found || l->why.err != OK)
		return;
	url_key(l->crawl, queue, date, l->url, &key);
	enum err e = index_get(x, INDEX_URL, buf_str(&key), &a, &value,
	    NULL);
	buf_free(&key);
	if (e == OK)
		take_fact(l, x, state, value);
	else if (e != ERR_ABSENT)
		why(&l->why, e, "the index cannot be read");
	arena_free(&a);
}

/* Of a crawl that has ended. */
static void
read_record(struct frontier_url_query *l, struct index *x)
{
	struct queue_record r;

	enum err e = queue_record_get(x, l->crawl, l->host, &l->arena, &r);
	l->host_known = e == OK;
	if (e == OK) {
		l->queue = r.id;
		l->queued = r.waiting;
	} else if (e != ERR_ABSENT) {
		why(&l->why, e, "the index cannot be read");
	}
}

/* On the index thread: the places where it may stand. */
static void
read_places(struct ledger_query *q, struct index *x)
{
	struct frontier_url_query *l =
	    CONTAINER(q, struct frontier_url_query, query);
	bool listed = l->mark == MARK_WAITING || l->mark == MARK_LEASED;

	if (l->retired)
		read_record(l, x);
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
	struct frontier_url_query *l =
	    CONTAINER(q, struct frontier_url_query, query);
	struct str key, value;

	for (unsigned n = 0; n < LOOKS_PER_TURN; n++) {
		bool valid = index_iter_valid(l->iter, &key, &value);
		struct reader in = reader_of(valid ? key : STR_NONE);
		bool ours = read_be32(&in) == l->crawl &&
		    read_be32(&in) == l->queue && !in.bad;
		if (ours && str_eq(str_from(key, HEAD_BYTES), l->url))
			take_fact(l, x, URL_WAITING, value);
		if (!ours || l->found) {
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
	struct frontier_url_query *l =
	    CONTAINER(q, struct frontier_url_query, query);

	if (l->iter != NULL)
		ledger_read_beside(l->frontier->ledger, q);
	else
		answer_one(l);
}

static void look(struct frontier_url_query *);

static void
gathered(struct promise *p, enum err e)
{
	struct frontier_url_query *l =
	    CONTAINER(p, struct frontier_url_query, promise);

	if (e == OK)
		look(l);
	else
		answer_one(l);
}

static void
places_read(struct ledger_query *q)
{
	struct frontier_url_query *l =
	    CONTAINER(q, struct frontier_url_query, query);
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
		answer_one(l);
	}
}

static void
look(struct frontier_url_query *l)
{
	struct frontier *f = l->frontier;
	const struct crawl *c = crawl_get(f, l->crawl);
	const struct queue *q = c == NULL ? NULL :
	    map_get(&c->queues, l->host);

	if (c == NULL) {
		why(&l->why, ERR_ABSENT, "there is no crawl %u", l->crawl);
		answer_one(l);
		return;
	}
	l->retired = c->retired;
	l->host_known = q != NULL;
	l->queue = q == NULL ? QUEUE_SKIPPED : q->id;
	l->queued = q == NULL ? 0 : q->waiting + q->leased;
	l->all = c->loaded && !c->retired && !known_evict_is_partial(f);
	l->mark = 0;
	if (!url_table_get(f->known, frontier_hash(l->crawl, l->url), &l->rank,
	    &l->mark))
		l->mark = 0;
	l->query.home = f->loop;
	l->query.run = read_places;
	l->query.done = places_read;
	ledger_read(f->ledger, &l->query);
}

static void
one_arrived(struct mail *m)
{
	look(CONTAINER(m, struct frontier_url_query, mail));
}

void
frontier_url_query(struct frontier *f, struct frontier_url_query *l)
{
	l->frontier = f;
	l->state = URL_UNKNOWN;
	l->found = l->waited = l->host_known = false;
	l->number = l->queued = 0;
	l->iter = NULL;
	l->why = WHY_INIT;
	l->mail.deliver = one_arrived;
	loop_post(f->loop, &l->mail);
}
