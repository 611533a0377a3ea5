/*
 * Outsiders' crawls and queues in memory, and when an answer may leave.
 */
#include "base/hash.h"
#include "engine/frontier/outside_own.h"
#include "os/clock.h"

/* A clock that was set, not one that is slewed. */
#define JUMP_US (US_PER_S / 2)

/* --- answers -------------------------------------------------------------- */

static void
deliver_answer(struct mail *m)
{
	struct outside_call *c = CONTAINER(m, struct outside_call, mail);

	c->done(c);
}

void
outside_answer(struct outside_call *c)
{
	c->mail.deliver = deliver_answer;
	loop_post(c->home, &c->mail);
}

static void
answer_kept(struct promise *p, enum err e)
{
	struct outside_call *c = CONTAINER(p, struct outside_call, promise);

	if (e != OK)
		c->result = e;
	outside_answer(c);
}

void
outside_answer_durable(struct outside_call *c)
{
	struct frontier *f = c->frontier;
	const struct outside *o = f->outside;
	bool failed = ledger_health(f->ledger) == LEDGER_FAILED;

	if (failed && c->writes && c->result == OK)
		c->result = ERR_BROKEN;
	if (failed || o->changed_group <= o->durable) {
		outside_answer(c);
		return;
	}
	c->promise.kept = answer_kept;
	outside_promise(f, &c->promise);
}

/* In the gathering group; with a relaxed door it need not be synced. */
void
outside_promise(struct frontier *f, struct promise *p)
{
	if (f->options.outside_relaxed)
		ledger_promise_written(f->ledger, p);
	else
		ledger_promise(f->ledger, p);
}

void
outside_cancel(struct outside_call *c)
{
	atomic_store_explicit(&c->cancelled, true, memory_order_relaxed);
}

bool
outside_is_cancelled(const struct outside_call *c)
{
	return atomic_load_explicit(&c->cancelled, memory_order_relaxed);
}

static void
deliver_call(struct mail *m)
{
	struct outside_call *c = CONTAINER(m, struct outside_call, mail);

	if (outside_is_cancelled(c) && !c->ends_itself) {
		c->result = ERR_CLOSED;
		outside_answer(c);
		return;
	}
	outside_now(c->frontier);
	lease_expire(c->frontier);
	c->run(c);
}

void
outside_post(struct frontier *f, struct outside_call *c,
    void (*run)(struct outside_call *))
{
	c->frontier = f;
	c->run = run;
	c->result = OK;
	c->mail.deliver = deliver_call;
	loop_post(f->loop, &c->mail);
}

/* --- groups --------------------------------------------------------------- */

static void
group_free(struct outside_group **gp)
{
	list_take(&(*gp)->node);
	mem_free(&(*gp)->fresh);
	mem_free(gp);
}

/* What it put can be read from the index by whoever asks from now on. */
static void
group_kept(struct promise *p, enum err e)
{
	struct outside_group *g = CONTAINER(p, struct outside_group, promise);
	struct outside *o = g->frontier->outside;

	if (o->group == g)
		o->group = NULL;
	if (e == OK)
		o->durable = g->number;
	for (size_t i = 0; e == OK && i < g->fresh_n; i++)
		outside_news_take(&o->fresh, g->fresh[i], g->number);
	group_free(&g);
}

struct outside_group *
outside_changes(struct frontier *f)
{
	struct outside *o = f->outside;
	uint64_t number = ledger_group(f->ledger);
	struct outside_group *g = o->group;

	if (g != NULL && g->number == number)
		return g;
	g = o->group = mem_new(sizeof(*g));
	g->frontier = f;
	g->number = o->changed_group = number;
	g->promise.kept = group_kept;
	list_put(&o->groups, &g->node);
	outside_promise(f, &g->promise);
	return g;
}

void
outside_fresh(struct frontier *f, uint64_t hash, uint32_t created)
{
	struct outside_group *g = outside_changes(f);

	if (g->fresh_n == g->fresh_cap) {
		g->fresh_cap = MAX(64, 2 * g->fresh_cap);
		g->fresh = mem_resize(g->fresh, g->fresh_cap,
		    sizeof(*g->fresh));
	}
	g->fresh[g->fresh_n++] = hash;
	outside_news_put(&f->outside->fresh, hash, created, g->number);
}

void
outside_free_groups(struct frontier *f)
{
	struct outside *o = f->outside;

	while (!list_empty(&o->groups)) {
		struct outside_group *g = LIST_ITEM(o->groups.next,
		    struct outside_group, node);
		group_free(&g);
	}
}

/* --- time ----------------------------------------------------------------- */

int64_t
outside_steady_us(const struct outside *o)
{
	return o->base_us + (o->now_ns - o->base_ns) / 1000;
}

void
outside_now(struct frontier *f)
{
	struct outside *o = f->outside;

	o->now_ns = clock_mono().ns;
	o->now_us = clock_wall().us;
	o->now_s = (uint32_t)MIN(MAX(o->now_us / US_PER_S, 1),
	    OUTSIDE_DATE_MAX);
	int64_t jump = o->now_us - outside_steady_us(o);
	if (jump - o->jump_us > JUMP_US || o->jump_us - jump > JUMP_US) {
		o->jump_us = jump;
		if (o->ids.n > 0)
			outside_control_touch(f);
	}
}

void
outside_control_touch(struct frontier *f)
{
	struct outside *o = f->outside;

	o->control_changed = true;
	outside_changes(f);
	outside_control_bytes(f, (buf_clear(&o->value), &o->value));
	ledger_note(f->ledger, NOTE_OUTSIDE_CONTROL, buf_str(&o->value));
}

/* --- crawls --------------------------------------------------------------- */

uint64_t
outside_hash(const struct frontier *f, uint32_t crawl, uint32_t queue,
    struct str url)
{
	return hash_bytes(url, hash_u64(f->outside->seed ^
	    ((uint64_t)crawl << 32 | queue)));
}

static struct str
name_of(struct str name)
{
	return name.n == 0 ? STR("DEFAULT") : name;
}

struct outside_crawl *
outside_find_crawl(struct frontier *f, struct str name)
{
	return map_get(&f->outside->crawls, name_of(name));
}

struct outside_crawl *
outside_crawl_of(struct frontier *f, uint32_t id)
{
	return map_get_id(&f->outside->ids, id);
}

struct outside_crawl *
outside_new_crawl(struct frontier *f, uint32_t id, struct str name)
{
	struct outside *o = f->outside;
	struct outside_crawl *c = mem_new(sizeof(*c));
	char *text = mem_new(name.n + 1);

	if (name.n != 0)
		memcpy(text, name.p, name.n);
	c->frontier = f;
	c->id = id;
	c->name = (struct str){ text, name.n };
	c->next_queue = 1;
	list_init(&c->changed_node);
	list_init(&c->dying_node);
	map_put(&o->crawls, c->name, c);
	map_put_id(&o->ids, id, c);
	f->next_crawl = MAX(f->next_crawl, id + 1);
	return c;
}

struct outside_crawl_look *
outside_look(struct frontier *f, struct arena *a, size_t max, size_t *n)
{
	const struct map *crawls = &f->outside->crawls;
	struct outside_crawl_look *all = ARENA_ARRAY(a,
	    struct outside_crawl_look, MIN(max, crawls->n));
	size_t at = 0;
	void *v;

	*n = 0;
	while (*n < max && map_next(crawls, &at, &v)) {
		const struct outside_crawl *c = v;
		if (!c->dead)
			all[(*n)++] = (struct outside_crawl_look){ c->id,
			    arena_copy(a, c->name), c->stats };
	}
	return all;
}

void
outside_keep_crawl(struct outside_crawl *c)
{
	if (list_empty(&c->changed_node))
		list_put(&c->frontier->outside->changed_crawls,
		    &c->changed_node);
}

struct outside_crawl *
outside_make_crawl(struct frontier *f, struct str name)
{
	struct outside *o = f->outside;
	struct outside_crawl *c = outside_find_crawl(f, name);

	if (c != NULL)
		return c;
	c = outside_new_crawl(f, f->next_crawl, name_of(name));
	outside_tick(f);
	/* Its number is not given again, even when it is gone. */
	outside_control_touch(f);
	buf_clear(&o->key);
	crawl_key(c->id, 'O', &o->key);
	outside_crawl_bytes(c, (buf_clear(&o->value), &o->value));
	ledger_note(f->ledger, NOTE_OUTSIDE_CRAWL, buf_str(&o->value));
	ledger_put(f->ledger, INDEX_CRAWL, buf_str(&o->key),
	    str_from(buf_str(&o->value), 4));
	outside_keep_crawl(c);
	return c;
}

void
outside_free_crawl(struct outside_crawl **cp)
{
	struct outside_crawl *c = *cp;

	CHECK(c->keys.n == 0 || c->dead);
	list_take(&c->changed_node);
	list_take(&c->dying_node);
	turn_forget_levels(c);
	outside_set_free(&c->keys);
	outside_set_free(&c->ids);
	arena_free(&c->names);
	free((void *)(uintptr_t)c->name.p);
	mem_free(cp);
}

/* --- queues --------------------------------------------------------------- */

struct outside_queue *
outside_new_queue(struct outside_crawl *c, uint32_t id, struct str key)
{
	struct outside *o = c->frontier->outside;
	struct outside_queue *q = outside_take_slot(c, id, key);

	q->served = NEVER_SERVED;
	q->next_due = q->put_due = q->walk_rewind = DATE_NEVER;
	q->cursor_date = 1;
	q->ticket = o->next_ticket++;
	q->unseen = true;
	o->unseen++;
	c->next_queue = MAX(c->next_queue, id + 1);
	return q;
}

struct outside_queue *
outside_make_queue(struct outside_crawl *c, struct str key)
{
	struct outside_queue *q = outside_find_queue(c, key);

	if (q != NULL)
		return q;
	q = outside_new_queue(c, c->next_queue, key);
	outside_keep_crawl(c);
	q->fresh = true;
	outside_touch(q);
	return q;
}

void
outside_see(struct outside_queue *q)
{
	struct outside *o = q->crawl->frontier->outside;

	if (!q->unseen)
		return;
	q->unseen = false;
	o->unseen--;
	o->stats.queues++;
	q->crawl->stats.queues++;
}

void
outside_drop_queue(struct outside_queue **qp)
{
	struct outside_queue *q = *qp;
	struct outside_crawl *c = q->crawl;
	struct outside *o = c->frontier->outside;

	lease_drop_all(q);
	turn_take(q);
	outside_count(q, -(int64_t)q->active, -(int64_t)q->completed);
	if (q->unseen) {
		o->unseen--;
	} else {
		c->stats.queues--;
		o->stats.queues -= !c->dead;
	}
	outside_give_slot(q);
	*qp = NULL;
}

void
outside_keep(struct outside_queue *q)
{
	if (q->changed)
		return;
	q->changed = true;
	outside_slots_put(&q->crawl->frontier->outside->changed, q->slot);
}

void
outside_touch(struct outside_queue *q)
{
	struct frontier *f = q->crawl->frontier;

	outside_changes(f);
	if (q->dirty)
		return;
	q->dirty = true;
	outside_slots_put(&f->outside->dirty, q->slot);
}

static void
count_stats(struct outside_stats *s, int64_t active, int64_t completed,
    int queues)
{
	s->active += (uint64_t)active;
	s->completed += (uint64_t)completed;
	s->active_queues += (uint64_t)(int64_t)queues;
}

void
outside_count(struct outside_queue *q, int64_t active, int64_t completed)
{
	struct outside_crawl *c = q->crawl;
	int queues = -(q->active > 0);

	q->active = (uint32_t)(q->active + active);
	q->completed = (uint32_t)(q->completed + completed);
	queues += q->active > 0;
	count_stats(&c->stats, active, completed, queues);
	if (!c->dead)
		count_stats(&c->frontier->outside->stats, active, completed,
		    queues);
}
