#include "engine/frontier/crawl_state.h"
#include "engine/frontier/query.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"
#include "engine/ledger/ledger_places.h"

/* Queues looked at in one go: about half a millisecond. */
#define QUEUES_PER_TURN 4096u
/* Entries read per queue at most; leased URLs are skipped. */
#define LOOKS_PER_QUEUE 256u
#define URLS_OF_QUEUE_MIN ((size_t)4)
#define PREFIX_BYTES (2 * sizeof(uint32_t))

enum err
look_is_there(struct index *x, uint32_t crawl, struct why *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_CRAWL);
	FREED(buf_free) struct buf at = BUF_INIT;
	struct str key, value;

	crawl_key(crawl, 'S', &at);
	index_iter_seek(i, buf_str(&at));
	bool there = index_iter_valid(i, &key, &value) &&
	    str_eq(key, buf_str(&at));
	enum err e = index_iter_error(i, w);
	if (e == OK && !there)
		e = why(w, ERR_ABSENT, "there is no crawl %u", crawl);
	return e;
}

/* --- queues ------------------------------------------------------------- */

#define QUEUES_QUERY_STEPS(X)                                                \
	X(COUNT, AT_LEDGER, count, "the longest, some thousand at a time")   \
	X(READ_QUEUES, AT_BESIDE, read_queues, "those of an ended crawl")    \
	X(SUM_UP, AT_LEDGER, sum_up, "their names and the crawl's state")    \
	X(OPEN_URLS, AT_READ, open_urls, "a snapshot of what is durable")    \
	X(READ_URLS, AT_BESIDE, read_urls, "the next ones of each queue")    \
	X(CHOOSE, AT_LEDGER, choose, "those that wait still")
enum { QUEUES_QUERY_STEPS(REQUEST_ENUM) };

static struct frontier_queues_query *
query_of(struct request *r)
{
	return CONTAINER(r, struct frontier_queues_query, request);
}

static bool
shorter(const struct queried_queue *a, const struct queried_queue *b)
{
	return a->queued != b->queued ? a->queued < b->queued : a->id > b->id;
}

/* The shortest of those that are kept; there is one. */
static struct queried_queue *
shortest(const struct frontier_queues_query *l)
{
	return CONTAINER(heap_first(&l->heap), struct queried_queue, node);
}

static bool
weighs(const struct frontier_queues_query *l, const struct queried_queue *x)
{
	return x->queued > 0 && (l->n < l->max ||
	    (l->n > 0 && shorter(shortest(l), x)));
}

static void
weigh(struct frontier_queues_query *l, struct queried_queue x)
{
	struct queried_queue *to;

	l->left += x.queued > 0;
	if (!weighs(l, &x))
		return;
	if (l->n < l->max) {
		to = &l->queues[l->n++];
	} else {
		/* The place of the shortest goes to whoever is longer. */
		to = shortest(l);
		heap_take(&l->heap, &to->node);
	}
	*to = x;
	heap_put(&l->heap, &to->node, (int64_t)x.queued, UINT64_MAX - x.id);
}

static int
longer_first(const void *a, const void *b)
{
	return shorter(a, b) ? 1 : shorter(b, a) ? -1 : 0;
}

static void
name_queues(struct frontier_queues_query *l, const struct crawl *c)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	for (size_t i = 0; i < l->n; i++) {
		struct queried_queue *x = &l->queues[i];
		const struct queue *q = map_get_id(&c->queues_by_id, x->id);
		x->host = arena_copy(&l->arena, q->key);
		x->waits = q->waiting > 0;
		url_key(c->id, q->id, MAX(q->cursor_rank, 1u),
		    buf_str(&q->cursor_url), &key);
		x->from = arena_copy(&l->arena, buf_str(&key));
	}
}

/* Rank a queue of a crawl that has ended, by its record. */
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

/* Nothing of it changes any more. */
static int
read_queues(struct request *r)
{
	struct frontier_queues_query *l = query_of(r);

	if (queue_record_each(request_index(r), l->crawl, weigh_record, l) !=
	    OK)
		why(&l->why, ERR_CORRUPT, "the queues of crawl %u cannot be "
		    "read", l->crawl);
	return SUM_UP;
}

static int
count(struct request *r)
{
	struct frontier_queues_query *l = query_of(r);
	const struct crawl *c = crawl_get(l->frontier, l->crawl);

	if (c != NULL && c->retired) {
		heap_free(&l->heap);
		l->n = 0;
		l->left = l->waiting_for_slot = 0;
		return c->view.counts.queued == 0 ? SUM_UP : READ_QUEUES;
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
	if (c == NULL || l->next >= c->next_queue)
		return SUM_UP;
	request_resume(r, COUNT);
	return REQUEST_WAIT;
}

static int
sum_up(struct request *r)
{
	struct frontier_queues_query *l = query_of(r);
	const struct crawl *c = crawl_get(l->frontier, l->crawl);

	heap_free(&l->heap);
	if (c == NULL) {
		l->n = 0;
		why(&l->why, ERR_ABSENT, "there is no crawl %u", l->crawl);
		return REQUEST_DONE;
	}
	qsort(l->queues, l->n, sizeof(*l->queues), longer_first);
	if (!c->retired)
		name_queues(l, c);
	l->view = c->view;
	l->loaded = c->loaded;
	l->tickets = crawl_tickets(c);
	l->health = ledger_health(l->frontier->ledger);
	return l->why.err == OK && l->n > 0 && l->urls_max > 0 ? OPEN_URLS :
	    REQUEST_DONE;
}

/* --- what is next in them ----------------------------------------------- */

/* Has it been leased since, or before the cursor went back? */
static bool
waits(const struct frontier_queues_query *l, const struct crawl *c,
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

/* So many more as may be leased are read. */
static void
read_queue(struct frontier_queues_query *l, size_t queue, size_t max)
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
		l->urls[l->urls_n++] = (struct queried_url){
			.url = arena_copy(&l->arena, (struct str){ in.p,
			in.n }), .queue = queue, .rank = rank,
			.cost = v.cost, .depth = v.depth };
	}
}

static int
read_urls(struct request *r)
{
	struct frontier_queues_query *l = query_of(r);
	size_t queues = MIN(l->n, QUERY_URL_QUEUES);

	l->each = MIN(l->urls_max, MAX(URLS_OF_QUEUE_MIN,
	    4 * l->urls_max / queues));
	size_t max = l->each + MIN(l->each, LOOKS_PER_QUEUE) + 8;
	l->urls = ARENA_ARRAY(&l->arena, struct queried_url, queues * max + 1);
	for (size_t i = 0; i < queues; i++)
		read_queue(l, i, max);
	/* The answer is in l->why. */
	(void)!index_iter_error(l->iter, &l->why);
	index_iter_free(&l->iter);
	return CHOOSE;
}

static int
open_urls(struct request *r)
{
	query_of(r)->iter = index_iter_new(request_index(r), INDEX_URL);
	return READ_URLS;
}

static int
choose(struct request *r)
{
	struct frontier_queues_query *l = query_of(r);
	const struct crawl *c = crawl_get(l->frontier, l->crawl);
	size_t kept = 0, of_queue = 0, queue = SIZE_MAX;

	for (size_t i = 0; c != NULL && i < l->urls_n; i++) {
		of_queue = l->urls[i].queue == queue ? of_queue : 0;
		queue = l->urls[i].queue;
		if (of_queue < l->each && waits(l, c, &l->urls[i])) {
			l->urls[kept++] = l->urls[i];
			of_queue++;
		}
	}
	l->urls_n = kept;
	return REQUEST_DONE;
}

static void
answer(struct request *r)
{
	struct frontier_queues_query *l = query_of(r);

	l->done(l);
}

static const struct request_step queues_query_steps[] = {
	QUEUES_QUERY_STEPS(REQUEST_ROW)
};

void
frontier_queues_query(struct frontier *f, struct frontier_queues_query *l)
{
	l->frontier = f;
	l->next = QUEUE_SKIPPED + 1;
	l->queues = ARENA_ARRAY(&l->arena, struct queried_queue, l->max + 1);
	l->request.done = answer;
	request_start(&l->request, frontier_places(f), queues_query_steps,
	    COUNT);
}

/* --- URLs that ended in an exception -------------------------------------- */

/* A URL that is done; those that wait are passed over. */
static enum url_scan_next
take_failed(void *arg, const struct url_row *u)
{
	struct failures *f = arg;
	struct url_value v;

	if (u->rank != 0)
		return URL_SCAN_NEXT_QUEUE;
	if (u->queue == QUEUE_SKIPPED || !url_value_parse(u->value, &v) ||
	    (enum outcome)(v.why >> 4) != OUTCOME_EXCEPTION)
		return URL_SCAN_NEXT;
	if (f->all++ >= f->start && f->urls_n < f->urls_max)
		f->urls[f->urls_n++] = arena_copy(f->arena, u->url);
	return URL_SCAN_NEXT;
}

void
failures_read(struct failures *f, struct index *x)
{
	/* An error ends the scan: what was read until then is answered. */
	(void)!url_scan_piece(&f->scan, x, FAILURES_LOOKS_MAX,
	    take_failed, f, NULL);
	if (f->scan.ended)
		buf_free(&f->scan.from);
}
