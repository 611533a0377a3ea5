/*
 * A crawl that has ended keeps a small record in memory; everything else of it
 * leaves, here and on the loops: TEARDOWN_STEPS.  A start loads no queues of
 * such a crawl.  Whoever asks for one reads its record.
 */
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"
#include "engine/frontier/url_scan.h"
#include "engine/ledger/ledger_places.h"

#define PUT_PART 1024u
#define SWEEP_PART 4096u
#define FREE_PART 4096u

#define TEARDOWN_STEPS(X)                                                    \
	X(QUEUES, AT_DURABLE, put_queues, "some queues go with each group") \
	X(URLS, AT_READ, read_urls, "behind these: some of its URLs")        \
	X(MORE_URLS, AT_BESIDE, read_urls, "some of those that follow")      \
	X(SWEEP, AT_LEDGER, sweep_urls, "they leave the known table")        \
	X(SEEN, AT_EACH_LOOP, loops_saw_end, "no loop begins a page of it")  \
	X(REFS, AT_LEDGER, take_queues, "nobody else refers to it")          \
	X(FORGET, AT_EACH_LOOP, loops_forgot, "the loops forget it",         \
	    .each = forget_on_loop)                                          \
	X(FREE, AT_LEDGER, free_some, "its queues are freed, some at a time")
enum { TEARDOWN_STEPS(REQUEST_ENUM) };

struct teardown {
	struct request request;
	struct list node;            /* in frontier.teardowns */
	struct frontier *frontier;
	struct crawl *crawl;         /* it refers to it */
	size_t at;                   /* in crawl.queues, then in `queues` */
	bool put;                    /* the records of all of them */
	bool waits;                  /* at REFS, for crawl_unref() */
	struct url_scan scan;
	uint64_t hashes[SWEEP_PART];
	size_t n;
	struct map queues;           /* that nobody finds any more */
	struct arena keys;
};

/* Where the steps run; the main loop of these requests is the frontier's. */
struct frontier_places {
	struct request_places places;
	struct request_loops each_loop;
	struct loop *loops[];        /* the ports' */
};

static struct teardown *
teardown_of(struct request *r)
{
	return CONTAINER(r, struct teardown, request);
}

/* --- its queues' records -------------------------------------------------- */

static void
put_some(struct teardown *t)
{
	for (unsigned n = 0; n < PUT_PART; n++) {
		struct queue *q = map_next(&t->crawl->queues, &t->at);
		if (q == NULL) {
			t->put = true;
			return;
		}
		if (list_empty(&q->changed_node))
			continue;
		list_take(&q->changed_node);
		queue_put_record(q);
	}
}

void
teardown_put(struct frontier *f)
{
	LIST_EACH(t, &f->teardowns, struct teardown, node) {
		if (!t->put)
			put_some(t);
	}
}

static int
put_queues(struct request *r)
{
	struct teardown *t = teardown_of(r);
	struct crawl *c = t->crawl;

	/* Nothing of a ledger that failed leaves. */
	if (r->why.err != OK)
		return REQUEST_WAIT;
	if (!t->put)
		return QUEUES;
	t->scan = (struct url_scan){ .crawl = c->id, .ended = !c->loaded };
	c->loaded = false;
	return URLS;
}

/* --- its URLs ------------------------------------------------------------- */

static enum url_scan_next
take_hash(void *arg, const struct url_row *u)
{
	struct teardown *t = arg;

	if (t->n == SWEEP_PART)
		return URL_SCAN_PAUSE;
	t->hashes[t->n++] = frontier_hash(t->scan.crawl, u->url);
	return URL_SCAN_NEXT;
}

/* An error ends the scan. */
static int
read_urls(struct request *r)
{
	struct teardown *t = teardown_of(r);

	t->n = 0;
	if (!t->scan.ended)
		(void)!url_scan_piece(&t->scan, request_index(r), UINT32_MAX,
		    take_hash, t, NULL);
	return SWEEP;
}

static int
sweep_urls(struct request *r)
{
	struct teardown *t = teardown_of(r);

	for (size_t i = 0; i < t->n; i++)
		url_table_remove(t->frontier->known, t->hashes[i]);
	known_evict_count(t->frontier);
	return t->scan.ended ? SEEN : MORE_URLS;
}

/* --- its memory ----------------------------------------------------------- */

/* Notes that were posted before this lie in front of it in a loop's box. */
static int
loops_saw_end(struct request *r)
{
	const struct teardown *t = teardown_of(r);
	const struct frontier_options *o = &t->frontier->options;

	if (o->ended != NULL)
		o->ended(o->arg, t->crawl->id);
	return REFS;
}

static int
take_queues(struct request *r)
{
	struct teardown *t = teardown_of(r);
	struct crawl *c = t->crawl;

	/* One of them is the teardown's own. */
	t->waits = c->refs > 1;
	if (t->waits)
		return REQUEST_WAIT;
	c->retired = true;
	t->queues = c->queues;
	t->keys = c->keys;
	c->queues = MAP_INIT;
	c->keys = ARENA_INIT;
	map_free(&c->queues_by_id);
	t->at = 0;
	return FORGET;
}

void
teardown_unref(struct teardown *t)
{
	if (!t->waits || t->crawl->refs > 1)
		return;
	t->waits = false;
	request_resume(&t->request, REFS);
}

static void
forget_on_loop(struct request *r, size_t loop)
{
	const struct teardown *t = teardown_of(r);
	const struct frontier_options *o = &t->frontier->options;

	if (o->forget != NULL)
		o->forget(o->arg, t->crawl->id, loop);
}

static int
loops_forgot(struct request *r)
{
	const struct teardown *t = teardown_of(r);
	const struct frontier_options *o = &t->frontier->options;

	t->crawl->rules = NULL;
	if (o->forgotten != NULL)
		o->forgotten(o->arg, t->crawl->id);
	return FREE;
}

static int
free_some(struct request *r)
{
	struct teardown *t = teardown_of(r);
	for (unsigned n = 0; n < FREE_PART; n++) {
		struct queue *q = map_next(&t->queues, &t->at);
		if (q == NULL)
			return REQUEST_DONE;
		CHECK(list_empty(&q->fresh_node) && !q->dirty && !q->active &&
		    list_empty(&q->changed_node) &&
		    list_empty(&q->slot_node));
		list_take(&q->starved_node);
		queue_free(&q);
	}
	/* The loop's other work comes first. */
	request_resume(r, FREE);
	return REQUEST_WAIT;
}

static void
teardown_free(struct teardown *t)
{
	struct queue *q;

	while ((q = map_next(&t->queues, &t->at)) != NULL)
		queue_free(&q);
	list_take(&t->node);
	map_free(&t->queues);
	arena_free(&t->keys);
	buf_free(&t->scan.from);
	mem_free(&t);
}

static void
teardown_done(struct request *r)
{
	struct crawl *c = teardown_of(r)->crawl;

	c->teardown = NULL;
	teardown_free(teardown_of(r));
	crawl_unref(c);
}

static const struct request_step teardown_steps[] = {
	TEARDOWN_STEPS(REQUEST_ROW)
};

void
crawl_teardown(struct crawl *c)
{
	struct frontier *f = c->frontier;

	/* Without loops nobody waits for the memory. */
	if (f->options.ports_n == 0 || c->teardown != NULL || c->retired ||
	    (c->queues.n == 0 && !c->loaded))
		return;
	struct teardown *t = mem_new(sizeof(*t));
	t->frontier = f;
	t->crawl = c;
	c->teardown = t;
	crawl_ref(c);
	list_put(&f->teardowns, &t->node);
	t->request.done = teardown_done;
	request_start(&t->request, frontier_places(f), teardown_steps, QUEUES);
}

/* --- at a start ----------------------------------------------------------- */

bool
teardown_record(struct frontier *f, struct str key)
{
	struct reader in = reader_of(key);
	struct crawl *c = crawl_get(f, read_be32(&in));

	if (c == NULL || !crawl_state_is_ended(c->view.state))
		return false;
	c->retired = true;
	return true;
}

/* The log knows some of its queues: then all of them, but not as of before. */
static enum err
load_rest(struct crawl *c, struct why *w)
{
	struct frontier *f = c->frontier;
	FREED(index_iter_free) struct index_iter *i = index_iter_new(
	    ledger_index(f->ledger), INDEX_QUEUE);
	FREED(buf_free) struct buf from = BUF_INIT;
	struct str key, value;
	bool fine = true;

	c->retired = false;
	f->loading = true;
	queue_key(c->id, STR(""), &from);
	for (index_iter_seek(i, buf_str(&from)); fine &&
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i))
		if (map_get(&c->queues, str_from(key, from.n)) == NULL)
			fine = queue_from_note(f, value);
	f->loading = false;
	enum err e = index_iter_error(i, w);
	return e == OK && !fine ? why(w, ERR_CORRUPT, "a queue's record in "
	    "the index is damaged") : e;
}

enum err
teardown_load(struct frontier *f, struct why *w)
{
	enum err e = OK;
	size_t at = 0;
	struct crawl *c;

	while (e == OK && (c = map_next(&f->crawls, &at)) != NULL) {
		if (c->retired && (c->queues.n > 0 ||
		    !crawl_state_is_ended(c->view.state)))
			e = load_rest(c, w);
	}
	return e;
}

const struct request_places *
frontier_places(const struct frontier *f)
{
	return &f->places->places;
}

void
teardown_open(struct frontier *f)
{
	const struct frontier_options *o = &f->options;
	struct frontier_places *p = mem_new(sizeof(*p) +
	    o->ports_n * sizeof(p->loops[0]));

	f->places = p;
	for (size_t i = 0; i < o->ports_n; i++)
		p->loops[i] = o->ports[i].loop;
	p->each_loop = (struct request_loops){ f->loop, p->loops, o->ports_n };
	p->places = (struct request_places){ .at = {
		[AT_MAIN] = { request_enter_loop, f->loop },
		[AT_LEDGER] = { request_enter_loop, f->loop },
		[AT_EACH_LOOP] = { request_enter_loops, &p->each_loop },
		[AT_READ] = { ledger_enter_read, f->ledger },
		[AT_BESIDE] = { ledger_enter_beside, f->ledger },
		[AT_DURABLE] = { ledger_enter_durable, f->ledger },
	} };
	MAP_EACH(c, &f->crawls, struct crawl) {
		if (crawl_state_is_ended(c->view.state))
			crawl_teardown(c);
	}
}

void
teardown_close(struct frontier *f)
{
	while (!list_empty(&f->teardowns)) {
		struct teardown *t = LIST_ITEM(f->teardowns.next,
		    struct teardown, node);
		request_drop(&t->request);
		teardown_free(t);
	}
	mem_free(&f->places);
}
