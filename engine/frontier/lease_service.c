/*
 * Outsiders' crawls and queues in memory, and when an answer may leave.
 */
#include "base/hash.h"
#include "engine/frontier/lease_crawl.h"
#include "engine/frontier/lease_service.h"
#include "os/clock.h"

/* A clock that was set, not one that is slewed. */
#define JUMP_US (US_PER_S / 2)
/* Slots of an empty `fresh` that are kept for the next group. */
#define FRESH_KEPT (1u << 13)

/* --- answers -------------------------------------------------------------- */

static void
deliver_answer(struct mail *m)
{
	struct lease_call *c = CONTAINER(m, struct lease_call, mail);

	c->done(c);
}

void
lease_answer(struct lease_call *c)
{
	loop_send(c->home, &c->mail, deliver_answer);
}

void
lease_read(struct lease_call *c, bool beside,
    ledger_query_run *run, ledger_query_done *done)
{
	(beside ? ledger_read_beside : ledger_read)(c->frontier->ledger,
	    &c->query, c->frontier->loop, run, done);
}

static void
gate_opened(struct frontier *f, struct eviction_wait *g)
{
	struct lease_call *c = CONTAINER(g, struct lease_call, gate);

	lease_now(f);
	lease_out_expire(f);
	c->again(c);
}

bool
lease_may_read(struct lease_call *c, void (*again)(struct lease_call *))
{
	c->again = again;
	c->gate.open = gate_opened;
	return known_evict_may_read(c->frontier, &c->gate);
}

/* The call may be gone, or reading again, when its done() returns. */
static void
read_known(struct ledger_query *q)
{
	struct lease_call *c = CONTAINER(q, struct lease_call, query);
	struct frontier *f = c->frontier;

	c->read(q);
	known_evict_read_back(f);
}

void
lease_read_known(struct lease_call *c, bool beside,
    ledger_query_run *run, ledger_query_done *done)
{
	c->read = done;
	lease_read(c, beside, run, read_known);
}

uint8_t
lease_state(const struct frontier *f, uint64_t hash, uint32_t *date)
{
	uint8_t mark;

	return url_table_get(f->known, hash, date, &mark) ? mark : KNOWN_NONE;
}

void
lease_answer_read(struct ledger_query *q)
{
	lease_answer(CONTAINER(q, struct lease_call, query));
}

static void
answer_broken(struct promise *p, enum err e)
{
	struct lease_call *c = CONTAINER(p, struct lease_call, promise);

	c->result = e;
	lease_answer(c);
}

void
lease_answer_durable(struct lease_call *c)
{
	struct frontier *f = c->frontier;
	const struct lease_service *o = f->leases;
	bool failed = ledger_health(f->ledger) == LEDGER_FAILED;

	if (failed && c->writes && c->result == OK)
		c->result = ERR_BROKEN;
	if (failed || o->changed_group <= o->durable) {
		lease_answer(c);
		return;
	}
	lease_answer_with_group(c, answer_broken);
}

/* In the gathering group; with a relaxed door it need not be synced. */
void
lease_promise(struct frontier *f, struct promise *p,
    void (*kept)(struct promise *, enum err))
{
	p->kept = kept;
	(f->options.lease_relaxed ? ledger_promise_written : ledger_promise)(
	    f->ledger, p);
}

void
lease_answer_with_group(struct lease_call *c,
    void (*broken)(struct promise *, enum err))
{
	const struct frontier *f = c->frontier;

	c->promise.kept = broken;
	c->mail.deliver = deliver_answer;
	ledger_answer(f->ledger, &c->promise, f->options.lease_relaxed,
	    c->home, &c->mail);
}

void
lease_cancel(struct lease_call *c)
{
	atomic_store_explicit(&c->cancelled, true, memory_order_relaxed);
}

bool
lease_is_cancelled(const struct lease_call *c)
{
	return atomic_load_explicit(&c->cancelled, memory_order_relaxed);
}

static void
deliver_call(struct mail *m)
{
	struct lease_call *c = CONTAINER(m, struct lease_call, mail);

	if (lease_is_cancelled(c) && !c->ends_itself) {
		c->result = ERR_CLOSED;
		lease_answer(c);
		return;
	}
	lease_now(c->frontier);
	lease_out_expire(c->frontier);
	c->run(c);
}

void
lease_post(struct frontier *f, struct lease_call *c,
    void (*run)(struct lease_call *))
{
	c->frontier = f;
	c->run = run;
	c->result = OK;
	loop_send(f->loop, &c->mail, deliver_call);
}

/* --- groups --------------------------------------------------------------- */

/* A group that changes something here; its end is told by a promise. */
struct lease_group {
	struct promise promise;
	struct list node;
	struct frontier *frontier;
	uint64_t number;
	struct arena memory;                 /* of `fresh` */
	struct lease_new *fresh;             /* put in it */
};

static void
group_free(struct lease_group *g)
{
	list_take(&g->node);
	arena_free(&g->memory);
	mem_free(&g);
}

/* The call's puts are visible to all later reads of the index. */
static void
group_kept(struct promise *p, enum err e)
{
	struct lease_group *g = CONTAINER(p, struct lease_group, promise);
	struct lease_service *o = g->frontier->leases;

	if (o->group == g)
		o->group = NULL;
	if (e == OK)
		o->durable = g->number;
	for (const struct lease_new *n = g->fresh; n != NULL; n = n->next)
		if (!n->out)
			map_take_id(&o->fresh, n->hash);
	if (o->fresh.n == 0 && o->fresh.cap > FRESH_KEPT)
		map_free(&o->fresh);
	group_free(g);
}

static struct lease_group *
gathering_group(struct frontier *f)
{
	struct lease_service *o = f->leases;
	uint64_t number = ledger_group(f->ledger);
	struct lease_group *g = o->group;

	if (g != NULL && g->number == number)
		return g;
	g = o->group = mem_new(sizeof(*g));
	g->frontier = f;
	g->number = o->changed_group = number;
	list_put(&o->groups, &g->node);
	lease_promise(f, &g->promise, group_kept);
	return g;
}

void
lease_changes(struct frontier *f)
{
	(void)gathering_group(f);
}

void
lease_fresh(struct frontier *f, uint64_t hash, uint32_t created)
{
	struct lease_group *g = gathering_group(f);
	struct lease_new *n = ARENA_NEW(&g->memory, struct lease_new);

	*n = (struct lease_new){ g->fresh, hash, created, false };
	g->fresh = n;
	n = map_put_id(&f->leases->fresh, hash, n);
	if (n != NULL)
		n->out = true;
}

void
lease_fresh_drop(struct lease_service *o, uint64_t hash)
{
	struct lease_new *n = map_take_id(&o->fresh, hash);

	if (n != NULL)
		n->out = true;
}

void
lease_free_groups(struct frontier *f)
{
	struct lease_service *o = f->leases;

	while (!list_empty(&o->groups))
		group_free(LIST_ITEM(o->groups.next, struct lease_group, node));
}

/* --- time ----------------------------------------------------------------- */

int64_t
lease_steady_us(const struct lease_service *o)
{
	return o->base_us + (o->now_ns - o->base_ns) / 1000;
}

void
lease_now(struct frontier *f)
{
	struct lease_service *o = f->leases;

	o->now_ns = clock_mono().ns;
	o->now_us = clock_wall().us;
	o->now_s = (uint32_t)MIN(MAX(o->now_us / US_PER_S, 1), LEASE_DATE_MAX);
	int64_t jump = o->now_us - lease_steady_us(o);
	if (jump - o->jump_us > JUMP_US || o->jump_us - jump > JUMP_US) {
		o->jump_us = jump;
		if (o->ids.n > 0)
			lease_control_touch(f);
	}
}

void
lease_control_touch(struct frontier *f)
{
	struct lease_service *o = f->leases;

	o->control_changed = true;
	lease_changes(f);
	lease_control_bytes(f, &o->value);
	ledger_note(f->ledger, NOTE_OUTSIDE_CONTROL, buf_str(&o->value));
}

uint64_t
lease_hash(const struct frontier *f, uint32_t crawl, uint32_t queue,
    struct str url)
{
	return hash_bytes(url, hash_u64(f->leases->seed ^
	    ((uint64_t)crawl << 32 | queue)));
}
