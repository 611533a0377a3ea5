/*
 * Control and statistics: none looks at more than one queue.  What is deleted
 * loses its name at once; its memory is freed a part at a time, its URLs leave
 * the known table and then the index behind it.
 */
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/url_scan.h"

/* Freed, or swept, in one step. */
#define BURY_PART 1024u
#define SWEEP_PART 4096u
/* Counted in one step. */
#define BLOCKS_PART 8192u

/* --- statistics ----------------------------------------------------------- */

/* A block whose end has come is none. */
static void
count_blocked(struct lease_service *o)
{
	for (unsigned n = 0; n < BLOCKS_PART; n++) {
		const struct lease_rare *r = map_next(&o->rares,
		    &o->blocked_at);
		if (r == NULL) {
			o->blocked = o->blocking;
			o->blocking = o->blocked_at = 0;
			return;
		}
		o->blocking += r->block_s >= o->now_s;
	}
}

static void
totals(struct lease_service *o, struct lease_stats *s)
{
	count_blocked(o);
	*s = o->stats;
	s->lag_s = turn_lag_s(o);
	s->ready = o->ready_n;
	s->blocked = o->blocked;
	s->listings = o->listings;
	s->counts = o->counts;
	s->waiting = o->scans_new;
	s->scanned = o->scanned;
}

static void
stats(struct frontier *f, struct lease_control *k)
{
	struct lease_crawl *c = lease_find_crawl(f, k->crawl);
	const struct lease_queue *q;

	k->stats = (struct lease_stats){ .queues = 0 };
	if (k->verb == LEASE_TOTALS) {
		totals(f->leases, &k->stats);
	} else if (c != NULL && k->key.n == 0) {
		k->stats = c->stats;
	} else if ((q = lease_find_queue(c, k->key)) != NULL && !q->unseen) {
		k->stats = (struct lease_stats){ .active = q->active,
		    .leased = q->leased, .completed = q->completed,
		    .queues = 1, .active_queues = q->active > 0 };
	}
}

/* --- what binds later gets ------------------------------------------------ */

/* The queue, remembered if nobody has seen it yet. */
static struct lease_queue *
queue_for(struct frontier *f, struct lease_control *k)
{
	struct lease_crawl *c = lease_find_crawl(f, k->crawl);
	struct lease_queue *q = lease_find_queue(c, k->key);

	if (q != NULL)
		return q;
	if (f->leases->unseen >= LEASE_UNSEEN_MAX) {
		k->call.result = ERR_FULL;
		return NULL;
	}
	return lease_make_queue(lease_make_crawl(f, k->crawl), k->key);
}

static void
set_delay(struct frontier *f, struct lease_control *k)
{
	uint32_t delay = (uint32_t)MIN(k->value, UINT32_MAX);
	struct lease_queue *q;

	if (k->key.n == 0) {
		f->leases->delay_s = delay;
		lease_control_touch(f);
		return;
	}
	q = queue_for(f, k);
	if (q == NULL)
		return;
	lease_make_rare(q)->has_delay = true;
	lease_make_rare(q)->delay_s = delay;
	lease_touch(q);
	turn_place(q);
}

static void
block(struct frontier *f, struct lease_control *k)
{
	struct lease_crawl *c = lease_find_crawl(f, k->crawl);
	struct lease_queue *q = lease_find_queue(c, k->key);

	/* A block that is over is not stored. */
	if (k->key.n == 0 || (q == NULL && k->value < f->leases->now_s))
		return;
	q = queue_for(f, k);
	if (q == NULL)
		return;
	lease_make_rare(q)->block_s = MIN(k->value, (uint64_t)INT32_MAX << 8);
	lease_touch(q);
	turn_place(q);
}

static void
set_limit(struct frontier *f, struct lease_control *k)
{
	struct lease_crawl *c = lease_find_crawl(f, k->crawl);
	struct lease_queue *q = lease_find_queue(c, k->key);

	if (q == NULL || q->unseen) {
		k->call.result = ERR_ABSENT;
		return;
	}
	lease_make_rare(q)->limit = k->value;
	lease_touch(q);
	turn_place(q);
}

/* --- sweeping ------------------------------------------------------------- */

/* A deleted queue's URLs, or a deleted crawl's (queue 0). */
struct sweep {
	struct promise promise;
	struct ledger_query query;
	struct list node;            /* in leases.sweeps */
	struct frontier *frontier;
	struct url_scan scan;
	uint64_t hashes[SWEEP_PART];
	size_t n;
};

static void
sweep_free(struct sweep *s)
{
	list_take(&s->node);
	buf_free(&s->scan.from);
	mem_free(&s);
}

static enum url_scan_next
take_hash(void *arg, const struct url_row *u)
{
	struct sweep *s = arg;

	if (s->n == SWEEP_PART)
		return URL_SCAN_PAUSE;
	s->hashes[s->n++] = lease_hash(s->frontier, s->scan.crawl, u->queue,
	    u->url);
	return URL_SCAN_NEXT;
}

/* On the index thread.  An error ends the scan. */
static void
sweep_some(struct ledger_query *query, struct index *x)
{
	struct sweep *s = CONTAINER(query, struct sweep, query);

	s->n = 0;
	(void)!url_scan_piece(&s->scan, x, UINT32_MAX, take_hash, s, NULL);
}

/* Now that memory is without them, the index may be. */
static void
delete_urls(const struct sweep *s)
{
	struct frontier *f = s->frontier;
	FREED(buf_free) struct buf from = BUF_INIT, to = BUF_INIT;

	if (s->scan.queue == 0)
		key_range(s->scan.crawl, 4, &from, &to);
	else
		key_range((uint64_t)s->scan.crawl << 32 | s->scan.queue, 8,
		    &from, &to);
	lease_changes(f);
	ledger_delete_range(f->ledger, INDEX_URL, buf_str(&from), buf_str(&to));
}

static void
swept(struct ledger_query *query)
{
	struct sweep *s = CONTAINER(query, struct sweep, query);
	struct frontier *f = s->frontier;

	for (size_t i = 0; i < s->n; i++)
		url_table_remove(f->known, s->hashes[i]);
	if (!s->scan.ended) {
		ledger_read(f->ledger, query, f->loop, sweep_some, swept);
		return;
	}
	delete_urls(s);
	sweep_free(s);
}

static void
sweep_kept(struct promise *p, enum err e)
{
	struct sweep *s = CONTAINER(p, struct sweep, promise);

	if (e != OK) {
		sweep_free(s);
		return;
	}
	ledger_read(s->frontier->ledger, &s->query, s->frontier->loop,
	    sweep_some, swept);
}

/* It begins when all that was put for them is in the index. */
static void
sweep(struct frontier *f, uint32_t crawl, uint32_t queue)
{
	struct sweep *s = mem_new(sizeof(*s));

	s->frontier = f;
	s->scan.crawl = crawl;
	s->scan.queue = queue;
	list_put(&f->leases->sweeps, &s->node);
	lease_promise(f, &s->promise, sweep_kept);
}

void
lease_free_sweeps(struct frontier *f)
{
	while (!list_empty(&f->leases->sweeps))
		sweep_free(LIST_ITEM(f->leases->sweeps.next, struct sweep,
		    node));
}

/* --- deleting ------------------------------------------------------------- */

static void
note_gone(struct frontier *f, uint32_t crawl, uint32_t queue)
{
	struct lease_service *o = f->leases;

	lease_changes(f);
	buf_clear(&o->value);
	buf_put_be32(&o->value, crawl);
	buf_put_be32(&o->value, queue);
	ledger_note(f->ledger, NOTE_OUTSIDE_GONE, buf_str(&o->value));
}

static void
delete_queue(struct frontier *f, struct lease_control *k)
{
	struct lease_service *o = f->leases;
	struct lease_crawl *c = lease_find_crawl(f, k->crawl);
	struct lease_queue *q = lease_find_queue(c, k->key);

	k->value = 0;
	if (q == NULL)
		return;
	k->value = (uint64_t)q->active + q->completed;
	note_gone(f, c->id, q->id);
	queue_key(c->id, lease_queue_key(q), &o->key);
	ledger_delete(f->ledger, INDEX_QUEUE, buf_str(&o->key));
	sweep(f, c->id, q->id);
	lease_drop_queue(&q);
}

void
lease_forget_crawl(struct lease_crawl *c)
{
	struct lease_service *o = c->frontier->leases;

	o->stats.active -= c->stats.active;
	o->stats.leased -= c->stats.leased;
	o->stats.completed -= c->stats.completed;
	o->stats.queues -= c->stats.queues;
	o->stats.active_queues -= c->stats.active_queues;
	c->dead = true;
	turn_forget_levels(c);
	if (map_get(&o->crawls, c->name) == c)
		map_take(&o->crawls, c->name);
	map_take_id(&o->ids, c->id);
	list_take(&c->changed_node);
}

/* Free up to n of its queues; true when it is gone. */
static bool
bury_some(struct lease_crawl *c, unsigned n)
{
	uint32_t slot;

	for (; n > 0; n--) {
		if (!lease_set_next(&c->keys, &c->dying_at, &slot)) {
			lease_free_crawl(&c);
			return true;
		}
		struct lease_queue *q = lease_at(c->frontier->leases, slot);
		lease_drop_queue(&q);
	}
	return false;
}

void
lease_bury_crawl(struct lease_crawl *c)
{
	while (!bury_some(c, BURY_PART))
		;
}

static void
bury(struct mail *m)
{
	struct lease_service *o = CONTAINER(m, struct lease_service, bury);

	bury_some(LIST_ITEM(o->dying.next, struct lease_crawl, dying_node),
	    BURY_PART);
	o->burying = !list_empty(&o->dying);
	if (o->burying)
		loop_post(o->frontier->loop, m);
}

static void
delete_crawl(struct frontier *f, struct lease_control *k)
{
	struct lease_service *o = f->leases;
	struct lease_crawl *c = lease_find_crawl(f, k->crawl);

	k->value = 0;
	if (c == NULL)
		return;
	k->value = c->stats.active + c->stats.completed;
	note_gone(f, c->id, 0);
	crawl_key(c->id, 'O', &o->key);
	ledger_delete(f->ledger, INDEX_CRAWL, buf_str(&o->key));
	key_range(c->id, 4, &o->key, &o->value);
	ledger_delete_range(f->ledger, INDEX_QUEUE, buf_str(&o->key),
	    buf_str(&o->value));
	sweep(f, c->id, 0);
	lease_forget_crawl(c);
	list_put(&o->dying, &c->dying_node);
	if (!o->burying) {
		o->burying = true;
		loop_send(f->loop, &o->bury, bury);
	}
}

/* --- the verb ------------------------------------------------------------- */

static void
set_active(struct frontier *f, struct lease_control *k)
{
	f->leases->inactive = k->value == 0;
	lease_control_touch(f);
}

static void
get_active(struct frontier *f, struct lease_control *k)
{
	k->value = !f->leases->inactive;
}

static const struct {
	void (*run)(struct frontier *, struct lease_control *);
	bool writes;
} verbs[] = {
	[LEASE_STATS] = { stats, false },
	[LEASE_TOTALS] = { stats, false },
	[LEASE_SET_ACTIVE] = { set_active, true },
	[LEASE_GET_ACTIVE] = { get_active, false },
	[LEASE_SET_DELAY] = { set_delay, true },
	[LEASE_BLOCK_UNTIL] = { block, true },
	[LEASE_SET_LIMIT] = { set_limit, true },
	[LEASE_DELETE_QUEUE] = { delete_queue, true },
	[LEASE_DELETE_CRAWL] = { delete_crawl, true },
};

static void
run_control(struct lease_call *call)
{
	struct lease_control *k = CONTAINER(call, struct lease_control, call);
	struct frontier *f = call->frontier;

	call->writes = verbs[k->verb].writes;
	if (call->writes)
		call->result = frontier_may_write(f, NULL);
	if (call->result != OK) {
		lease_answer(call);
		return;
	}
	verbs[k->verb].run(f, k);
	lease_answer_durable(call);
}

void
lease_control(struct frontier *f, struct lease_control *k)
{
	lease_post(f, &k->call, run_control);
}
