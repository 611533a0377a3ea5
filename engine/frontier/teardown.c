/*
 * A crawl that has ended keeps a small record in memory; its queues and its
 * URLs in the known table leave:
 *
 *     ended ─► its queues' records go into the index, some with each group
 *           ─► applied: its URLs leave the known table, a piece at a time
 *           ─► the loops have no note of it in their boxes
 *           ─► nobody looks at it over mail: its queues are found no more
 *           ─► they are freed, some at a time
 *
 * A start loads no queues of such a crawl.  Who asks for one reads its record.
 */
#include "engine/frontier/known_evict.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/teardown.h"
#include "engine/frontier/url_key.h"
#include "engine/frontier/url_scan.h"

#define PUT_PART 1024u
#define SWEEP_PART 4096u
#define FREE_PART 4096u

struct retirement {
	struct list node;            /* in frontier.retirements */
	struct frontier *frontier;
	struct crawl *crawl;         /* it is held */
	struct promise promise;
	size_t at;                   /* in crawl.queues, then in `queues` */
	bool put;                    /* the records of all of them */
	/* Its URLs. */
	struct ledger_query query;
	struct url_scan scan;
	uint64_t hashes[SWEEP_PART];
	size_t n;
	/* Its memory. */
	struct loop_call call;       /* to each port, and back */
	size_t port;
	bool unseen;                 /* the loops have no note of it */
	struct mail mail;
	struct map queues;           /* that nobody finds any more */
	struct arena keys;
};

/* --- freeing -------------------------------------------------------------- */

static void
end(struct retirement *r)
{
	struct crawl *c = r->crawl;

	list_take(&r->node);
	map_free(&r->queues);
	arena_free(&r->keys);
	buf_free(&r->scan.from);
	mem_free(&r);
	c->retirement = NULL;
	crawl_unref(c);
}

static void
free_some(struct mail *m)
{
	struct retirement *r = CONTAINER(m, struct retirement, mail);
	void *v;

	for (unsigned n = 0; n < FREE_PART; n++) {
		if (!map_next(&r->queues, &r->at, &v)) {
			end(r);
			return;
		}
		struct queue *q = v;
		CHECK(!q->fresh && !q->dirty && !q->active &&
		    list_empty(&q->changed_node) &&
		    list_empty(&q->slot_node));
		list_take(&q->starved_node);
		queue_free(&q);
	}
	loop_post(r->frontier->loop, &r->mail);
}

void
retire_go_on(struct retirement *r)
{
	struct crawl *c = r->crawl;

	/* This is the one that holds it. */
	if (!r->unseen || c->retired || c->holds > 1)
		return;
	c->retired = true;
	r->queues = c->queues;
	r->keys = c->keys;
	c->queues = MAP_INIT;
	c->keys = ARENA_INIT;
	map_free(&c->queues_by_id);
	r->at = 0;
	r->mail.deliver = free_some;
	loop_post(r->frontier->loop, &r->mail);
}

static void
nothing(struct loop_call *call)
{
	(void)call;
}

/* Notes that were posted before lie in front of this in the loop's box. */
static void
ask_ports(struct loop_call *call)
{
	struct retirement *r = CONTAINER(call, struct retirement, call);
	const struct frontier_options *o = &r->frontier->options;

	if (r->port == o->ports_n) {
		r->unseen = true;
		retire_go_on(r);
		return;
	}
	r->call = (struct loop_call){ .home = r->frontier->loop,
	    .run = nothing, .done = ask_ports };
	loop_ask(o->ports[r->port++].loop, &r->call);
}

/* --- its URLs ------------------------------------------------------------- */

static enum url_scan_next
take_hash(void *arg, const struct url_row *u)
{
	struct retirement *r = arg;

	if (r->n == SWEEP_PART)
		return URL_SCAN_PAUSE;
	r->hashes[r->n++] = frontier_hash(r->scan.crawl, u->url);
	return URL_SCAN_NEXT;
}

/* On the index thread, then beside it.  An error ends the scan. */
static void
read_some(struct ledger_query *query, struct index *x)
{
	struct retirement *r = CONTAINER(query, struct retirement, query);

	r->n = 0;
	(void)!url_scan_piece(&r->scan, x, UINT32_MAX, take_hash, r, NULL);
}

static void
some_read(struct ledger_query *query)
{
	struct retirement *r = CONTAINER(query, struct retirement, query);
	struct frontier *f = r->frontier;

	for (size_t i = 0; i < r->n; i++)
		url_table_remove(f->known, r->hashes[i]);
	known_evict_swept(f);
	if (r->scan.ended)
		ask_ports(&r->call);
	else
		ledger_read_beside(f->ledger, query);
}

static void
read_nothing(struct ledger_query *query, struct index *x)
{
	(void)query, (void)x;
}

/* Behind this all its records can be read. */
static void
sweep(struct retirement *r)
{
	bool loaded = r->crawl->loaded;

	r->crawl->loaded = false;
	r->scan = (struct url_scan){ .crawl = r->crawl->id, .ended = !loaded };
	r->query.home = r->frontier->loop;
	r->query.run = loaded ? read_some : read_nothing;
	r->query.done = some_read;
	ledger_read(r->frontier->ledger, &r->query);
}

/* --- its queues' records -------------------------------------------------- */

static void
put_some(struct retirement *r)
{
	void *v;

	for (unsigned n = 0; n < PUT_PART; n++) {
		if (!map_next(&r->crawl->queues, &r->at, &v)) {
			r->put = true;
			return;
		}
		struct queue *q = v;
		if (list_empty(&q->changed_node))
			continue;
		list_take(&q->changed_node);
		queue_put_record(q);
	}
}

void
retire_put(struct frontier *f)
{
	for (struct list *n = f->retirements.next; n != &f->retirements;
	    n = n->next) {
		struct retirement *r = LIST_ITEM(n, struct retirement, node);
		if (!r->put)
			put_some(r);
	}
}

/* Of a ledger that failed nothing leaves. */
static void
some_put(struct promise *p, enum err e)
{
	struct retirement *r = CONTAINER(p, struct retirement, promise);

	if (e == OK && r->put)
		sweep(r);
	else if (e == OK)
		ledger_promise(r->frontier->ledger, p);
}

void
crawl_teardown(struct crawl *c)
{
	struct frontier *f = c->frontier;

	/* Without loops nobody waits for the memory. */
	if (f->options.ports_n == 0 || c->retirement != NULL || c->retired ||
	    (c->queues.n == 0 && !c->loaded))
		return;
	struct retirement *r = mem_new(sizeof(*r));
	r->frontier = f;
	r->crawl = c;
	c->retirement = r;
	crawl_ref(c);
	list_put(&f->retirements, &r->node);
	r->promise.kept = some_put;
	ledger_promise(f->ledger, &r->promise);
}

/* --- at a start ----------------------------------------------------------- */

bool
retired_record(struct frontier *f, struct str key)
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
	struct index_iter *i = index_iter_new(ledger_index(f->ledger),
	    INDEX_QUEUE);
	struct buf from = BUF_INIT;
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
	index_iter_free(&i);
	buf_free(&from);
	return e == OK && !fine ? why(w, ERR_CORRUPT, "a queue's record in "
	    "the index is damaged") : e;
}

enum err
retire_load(struct frontier *f, struct why *w)
{
	enum err e = OK;
	size_t at = 0;
	void *v;

	while (e == OK && map_next(&f->crawls, &at, &v)) {
		struct crawl *c = v;
		if (c->retired && (c->queues.n > 0 ||
		    !crawl_state_is_ended(c->view.state)))
			e = load_rest(c, w);
	}
	return e;
}

void
retire_opened(struct frontier *f)
{
	size_t at = 0;
	void *v;

	while (map_next(&f->crawls, &at, &v)) {
		struct crawl *c = v;
		if (crawl_state_is_ended(c->view.state))
			crawl_teardown(c);
	}
}

void
retire_forget(struct frontier *f)
{
	while (!list_empty(&f->retirements)) {
		struct retirement *r = LIST_ITEM(f->retirements.next,
		    struct retirement, node);
		void *v;
		/* Some of them may be gone. */
		while (map_next(&r->queues, &r->at, &v)) {
			struct queue *q = v;
			queue_free(&q);
		}
		list_take(&r->node);
		map_free(&r->queues);
		arena_free(&r->keys);
		buf_free(&r->scan.from);
		mem_free(&r);
	}
}
