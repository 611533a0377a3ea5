/*
 * When a claim that got nothing may find something, and whether anything is
 * left to do at all.
 */
#include "engine/items/bucket.h"
#include "engine/items/generation.h"
#include "engine/items/worklist_claim_own.h"

#define SKIPPED_RETRY_US (US_PER_S / 4)

/* -- When to claim again -- */

static void
earlier(struct wall *at, struct wall other)
{
	if (at->us == ITEM_TIME_NONE.us || other.us < at->us)
		*at = other;
}

/* The lane's first planned pair.  After a full scan the whole lane is read: the
 * cursor has passed pairs that another daemon had locked. */
static enum err
first_planned(struct claim *c, const struct claim_task *t,
    const struct claim_lane *l, bool *any, struct claim_key *key,
    struct why *w)
{
	static const struct sql first = { "SELECT due, item FROM worklist"
	    " WHERE task = ?1 AND lane = ?2 AND due IS NOT NULL"
	    " ORDER BY due, item LIMIT 1",
	    "SELECT due, item FROM worklist"
	    " WHERE task = ?1 AND lane = ?2 AND due IS NOT NULL"
	    " AND (due, item) > (?3, ?4) ORDER BY due, item LIMIT 1" };
	bool all = l->cursor == NULL || t->is_scanned;
	struct claim_key after = all ? CLAIM_KEY_FIRST : l->cursor->low;
	struct query *q = database_query_sql(item_store_database(c->store),
	    &first);

	query_i64(q, 1, t->id);
	query_i64(q, 2, l->id);
	if (c->cursors != NULL) {
		query_i64(q, 3, after.due_ms);
		query_i64(q, 4, after.item);
	}
	*any = query_step(q);
	if (*any)
		*key = (struct claim_key){ query_get_i64(q, 0),
		    query_get_i64(q, 1) };
	return query_end(&q, w);
}

/* When the lane's first pair is due and has its tokens.  One that claims pass
 * over is looked at again after a while. */
static enum err
lane_next_at(struct claim *c, const struct claim_task *t,
    const struct claim_lane *l, struct wall *at, struct why *w)
{
	const struct worklist_claim *spec = c->spec;
	struct wall next = item_tx_now(c->tx);
	struct claim_key key = CLAIM_KEY_FIRST;
	bool any;
	enum err e = first_planned(c, t, l, &any, &key, w);

	if (any && key.due_ms > c->now_ms)
		next.us = key.due_ms * 1000;
	else if (any && spec->skip != NULL &&
	    spec->skip(spec->arg, t->id, key.item) > 0)
		next.us += SKIPPED_RETRY_US;
	for (size_t i = 0; i < l->buckets_n; i++)
		next.us = MAX(next.us, bucket_next(l->buckets[i]->row,
		    l->buckets[i]->rate, item_tx_now(c->tx)).us);
	if (e == OK && any)
		earlier(at, next);
	if (e == OK && any && t->is_scanned)
		t->known->is_left |= next.us <= item_tx_now(c->tx).us;
	return e;
}

/* As long as the last full scan had to leave a pair that is due, the claim is
 * to be made again soon. */
static enum err
task_next_at(struct claim *c, struct claim_task *t, struct wall *at,
    struct why *w)
{
	struct claim_lanes *lanes = c->cursors == NULL ? NULL :
	    claim_cursors_lanes(c->cursors, t->id);
	bool known = lanes != NULL && lanes->known;

	t->known = known ? lanes : NULL;
	t->is_scanned = known && lanes->scanned_by == c->cursors->claims;
	enum err e = known ? claim_add_known_lanes(c, t, w) :
	    claim_add_lanes(c, t, w);
	if (known && !t->is_scanned && lanes->is_left)
		earlier(at, item_tx_now(c->tx));
	for (size_t k = 0; k < t->lanes_n && e == OK; k++)
		e = lane_next_at(c, t, &t->lanes[k], at, w);
	return e;
}

/* An expired lease makes its pair due again. */
static enum err
lease_next_at(struct claim *c, struct wall *at, struct why *w)
{
	static const struct sql first = { "SELECT lease_until FROM worklist"
	    " WHERE lease IS NOT NULL ORDER BY lease_until LIMIT 1",
	    "SELECT lease_until FROM worklist WHERE lease IS NOT NULL"
	    " AND lease_until > ?1 ORDER BY lease_until LIMIT 1" };
	struct query *q = database_query_sql(item_store_database(c->store),
	    &first);

	if (c->cursors != NULL)
		query_i64(q, 1, c->cursors->lease_low);
	if (query_step(q))
		earlier(at, (struct wall){ query_get_i64(q, 0) });
	return query_end(&q, w);
}

/* The pairs of one item; tokens are not looked at. */
static enum err
item_next_at(struct claim *c, struct wall *at, struct why *w)
{
	struct item_row *item;
	struct pair_row *p;
	enum err e = item_tx_find(c->tx, c->spec->only_item, &item, w);

	for (size_t i = 0; i < c->tasks_n && e == OK; i++) {
		e = item_tx_pair(c->tx, c->tasks[i].id, item->key, &p, w);
		if (e == OK && p->exists && p->due_ms != PAIR_DUE_NONE)
			earlier(at, (struct wall){ MAX(p->due_ms * 1000,
			    item_tx_now(c->tx).us + SKIPPED_RETRY_US) });
	}
	return e;
}

enum err
worklist_next_at(struct item_tx *tx, const struct worklist_claim *spec,
    struct wall *at, struct why *w)
{
	struct claim c = claim_begin(tx, spec);
	enum err e = item_tx_flush(tx, w);

	*at = ITEM_TIME_NONE;
	if (worklist_passed_is_cut(spec->passed))
		earlier(at, item_tx_now(tx));
	if (e == OK)
		e = lease_next_at(&c, at, w);
	if (e == OK)
		e = claim_add_tasks(&c, w);
	if (e == OK && spec->only_item.n > 0) {
		map_free(&c.buckets);
		return item_next_at(&c, at, w);
	}
	for (size_t i = 0; i < c.tasks_n && e == OK; i++)
		e = task_next_at(&c, &c.tasks[i], at, w);
	map_free(&c.buckets);
	return e;
}

/* -- Whether there is anything to claim -- */

static enum err
has_row(struct query *q, bool *any, struct why *w)
{
	*any = query_step(q);
	return query_end(&q, w);
}

static enum err
has_own_leases(struct claim *c, bool *any, struct why *w)
{
	static const struct sql own = { "SELECT 1 FROM worklist"
	    " WHERE lease IS NOT NULL AND worker = ?1 LIMIT 1", NULL };
	struct query *q = database_query_sql(item_store_database(c->store),
	    &own);

	query_str(q, 1, str_of(item_store_node(c->store)));
	return has_row(q, any, w);
}

static enum err
lane_is_due(struct claim *c, const struct claim_task *t,
    const struct claim_lane *l, bool *any, struct why *w)
{
	static const struct sql due = { "SELECT 1 FROM worklist"
	    " WHERE task = ?1 AND lane = ?2 AND due <= ?3 LIMIT 1", NULL };
	struct query *q = database_query_sql(item_store_database(c->store),
	    &due);

	query_i64(q, 1, t->id);
	query_i64(q, 2, l->id);
	query_i64(q, 3, c->now_ms);
	return has_row(q, any, w);
}

static enum err
has_due_pairs(struct claim *c, bool *any, struct why *w)
{
	bool item = c->spec->only_item.n > 0;
	enum err e = item ? claim_add_item(c, w) : OK;

	*any = false;
	for (size_t i = 0; i < c->tasks_n && e == OK && !*any; i++) {
		struct claim_task *t = &c->tasks[i];
		if (item) {
			*any = t->lanes_n > 0;
			continue;
		}
		e = claim_add_lanes(c, t, w);
		for (size_t k = 0; k < t->lanes_n && e == OK && !*any; k++)
			e = lane_is_due(c, t, &t->lanes[k], any, w);
	}
	return e;
}

enum err
worklist_is_idle(struct item_tx *tx, const struct worklist_claim *spec,
    bool *idle, struct why *w)
{
	struct claim c = claim_begin(tx, spec);
	struct generation_progress p = { .tasks = 0 };
	bool leased = false, due = false;
	enum err e = item_tx_flush(tx, w);

	if (e == OK)
		e = generation_progress(c.store, 0, &p, w);
	if (e == OK)
		e = has_own_leases(&c, &leased, w);
	if (e == OK)
		e = claim_add_tasks(&c, w);
	if (e == OK)
		e = has_due_pairs(&c, &due, w);
	map_free(&c.buckets);
	*idle = p.tasks == 0 && !leased && !due;
	return e;
}
