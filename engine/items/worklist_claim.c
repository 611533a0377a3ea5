/*
 * Claims.
 *
 * Tasks take turns by weight; within a task the pair that is due first is
 * taken, whichever lane it is in.  A lane is read ahead in chunks, by the index
 * (task, lane, due, item), and only while each of its buckets has a token:
 *
 *     task ─┬─ lane ── due, item, due, item ...     buckets: global, group,
 *           └─ lane ── due, item ...                task, tag
 *
 * A pair that is read has its rows loaded with all others of the chunk.  It is
 * passed over when its host's turn is far, rewritten when its task's
 * configuration has changed, and blocked when a dependency is unmet.
 *
 * On PostgreSQL a claim skips what is known to be empty: see claim_cursor.h.
 */
#include "engine/items/bucket.h"
#include "engine/items/generation.h"
#include "engine/items/worklist_claim_own.h"
#include "os/clock.h"

#define EXPIRED_MAX 1000u        /* leases ended before a claim */
#define CHUNK_MAX 1000u
#define CHUNK_FIRST_MAX 100u     /* items may be long: see claim_bytes_max */
#define SCANNED_MAX 100000u      /* keys read by a claim */
#define BLOCKED_MAX 1000u        /* looked at and not leased, by a claim */

/* -- What was passed over at the head of a lane -- */

struct passed_lane {
	uint64_t id;
	struct claim_key last;
	int64_t until_ms;
};

struct worklist_passed {
	struct map lanes;            /* struct passed_lane */
	bool was_cut;                /* the last claim got nothing, and had not
	                              * read all */
};

struct worklist_passed *
worklist_passed_new(void)
{

	return mem_new(sizeof(struct worklist_passed));
}

void
worklist_passed_free(struct worklist_passed **pp)
{
	struct worklist_passed *p = *pp;

	if (p == NULL)
		return;
	MAP_EACH(l, &p->lanes, struct passed_lane)
		mem_free(&l);
	map_free(&p->lanes);
	mem_free(pp);
}

bool
worklist_passed_is_cut(const struct worklist_passed *p)
{

	return p != NULL && p->was_cut;
}

static uint64_t
passed_id(uint32_t task, uint32_t lane)
{

	return (uint64_t)task << 32 | lane;
}

/* Begin behind what is known to be passed over. */
static void
skip_head(const struct claim *c, uint32_t task, struct claim_lane *l)
{
	struct worklist_passed *p = c->spec->passed;
	const struct passed_lane *lane = p == NULL ? NULL :
	    map_get_id(&p->lanes, passed_id(task, l->id));

	l->is_head = p != NULL;
	l->head_ms = c->now_ms + WORKLIST_PASSED_MS_MAX;
	if (lane == NULL || lane->until_ms <= c->now_ms ||
	    lane->until_ms > l->head_ms)
		return;
	l->head = lane->last;
	l->head_ms = lane->until_ms;
}

static void
note_head(const struct claim *c, uint32_t task, const struct claim_lane *l)
{
	struct worklist_passed *p = c->spec->passed;
	uint64_t id = passed_id(task, l->id);
	struct passed_lane *lane;

	if (p == NULL)
		return;
	lane = map_get_id(&p->lanes, id);
	if (lane == NULL) {
		lane = mem_new(sizeof(*lane));
		lane->id = id;
		map_put_id(&p->lanes, id, lane);
	}
	lane->last = l->head;
	lane->until_ms = l->head_ms;
}

static bool
is_passed_over(const struct claim *c, uint32_t task, struct claim_lane *l)
{
	const struct worklist_claim *spec = c->spec;
	int64_t ms = spec->skip == NULL ? 0 :
	    spec->skip(spec->arg, task, l->last.item);

	l->is_head &= ms > 0;
	if (l->is_head)
		l->head_ms = MIN(l->head_ms, c->now_ms + ms);
	return ms > 0;
}

static uint64_t
next_random(struct claim *c)
{
	if (c->random_n == 0) {
		clock_random(c->random, sizeof(c->random));
		c->random_n = ARRAY_LEN(c->random);
	}
	return c->random[--c->random_n];
}

/* -- Which tasks -- */

struct claim
claim_begin(struct item_tx *tx, const struct worklist_claim *spec)
{
	return (struct claim){ .tx = tx, .store = item_tx_store(tx),
	    .spec = spec, .now_ms = item_tx_now(tx).us / 1000,
	    .cursors = item_store_claim_cursors(item_tx_store(tx)),
	    .scan_ms = CLAIM_SCAN_MS,
	    .bytes_max = (size_t)item_store_limits(
	    item_tx_store(tx))->claim_bytes_max };
}

static bool
task_is_asked_for(const struct str *tasks, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (task_matches(tasks[i], name))
			return true;
	return false;
}

static bool
task_may_run(const struct task *t, const struct task_state_row *s)
{
	return !s->paused && !s->tripped &&
	    (t->parallel == 0 || s->pairs[PAIR_LEASED] < (int64_t)t->parallel);
}

static bool
task_has_pairs(const struct task_state_row *s)
{
	return s->pairs[PAIR_UNPROCESSED] + s->pairs[PAIR_STALE] +
	    s->pairs[PAIR_FRESH] + s->pairs[PAIR_RETRY] > 0;
}

/* All that had tripped the task was expired, or is of an older version. */
static void
resume_task(struct claim *c, const struct task *t, struct task_state_row *s)
{
	static const struct item_actor nobody;

	item_tx_touch_task_state(c->tx, s);
	s->tripped = false;
	item_event_put(c->tx, &nobody, &(struct item_event){
	    .type = ITEM_EVENT_TASK_RESUMED, .task = t->name });
}

static enum err
add_task(struct claim *c, const struct task *t, struct why *w)
{
	struct task_state_row *s;
	uint32_t id;
	enum err e = worklist_task_id(c->tx, t, &id, w);

	if (e != OK || id == 0)
		return e;
	e = item_tx_task_state(c->tx, id, &s, w);
	if (e != OK)
		return e;
	if (s->tripped && s->pairs[PAIR_FAILED] == 0)
		resume_task(c, t, s);
	if (!task_may_run(t, s) || !task_has_pairs(s))
		return OK;
	c->tasks = arena_grow(item_tx_scratch(c->tx), c->tasks, c->tasks_n,
	    &c->tasks_cap, 16, sizeof(*c->tasks));
	c->tasks[c->tasks_n++] = (struct claim_task){ .id = id, .task = t,
	    .room = t->parallel == 0 ? INT64_MAX :
	    (int64_t)t->parallel - s->pairs[PAIR_LEASED] };
	return OK;
}

/* The daemon's own workers leave some tasks to remote ones. */
enum err
claim_add_tasks(struct claim *c, struct why *w)
{
	const struct task_config *config = item_store_config(c->store);
	const struct worklist_claim *spec = c->spec;
	enum err e = OK;

	for (size_t i = 0; i < config->tasks_n && e == OK; i++) {
		const struct task *t = &config->tasks[i];

		if (!(spec->own && t->remote) && task_is_asked_for(spec->tasks,
		    spec->tasks_n, t->name))
			e = add_task(c, t, w);
	}
	return e;
}

/* -- Lanes and their buckets -- */

static struct claim_bucket *
claim_bucket(struct claim *c, const struct bucket *b)
{
	uint64_t key = (uint64_t)(uintptr_t)b->row;
	struct claim_bucket *cb = map_get_id(&c->buckets, key);

	if (cb != NULL)
		return cb;
	cb = ARENA_NEW(item_tx_scratch(c->tx), struct claim_bucket);
	cb->row = b->row;
	cb->rate = b->rate;
	cb->left = bucket_left(b->row, b->rate, item_tx_now(c->tx));
	map_put_id(&c->buckets, key, cb);
	return cb;
}

static enum err
add_lane(struct claim *c, struct claim_task *t, uint32_t id, size_t *cap,
    struct why *w)
{
	struct arena *a = item_tx_scratch(c->tx);
	struct claim_lane lane = { .id = id, .head = CLAIM_KEY_FIRST };
	struct bucket *buckets;
	enum err e = bucket_list(c->tx, t->task, id, &buckets,
	    &lane.buckets_n, w);

	if (e != OK)
		return e;
	lane.buckets = ARENA_ARRAY(a, struct claim_bucket *, lane.buckets_n);
	for (size_t i = 0; i < lane.buckets_n; i++)
		lane.buckets[i] = claim_bucket(c, &buckets[i]);
	t->lanes = arena_grow(a, t->lanes, t->lanes_n, cap, 4,
	    sizeof(*t->lanes));
	skip_head(c, t->id, &lane);
	lane.last = lane.head;
	t->lanes[t->lanes_n++] = lane;
	return OK;
}

/* The first lane after `*lane` in which the task has pairs that are planned, by
 * the index. */
static enum err
next_lane(struct claim *c, const struct claim_task *t, int64_t *lane,
    bool *more, struct why *w)
{
	static const struct sql next = { "SELECT lane FROM worklist"
	    " WHERE task = ?1 AND lane > ?2 AND due IS NOT NULL"
	    " ORDER BY lane LIMIT 1", NULL };
	struct query *q = database_query_sql(item_store_database(c->store),
	    &next);

	query_i64(q, 1, t->id);
	query_i64(q, 2, *lane);
	*more = query_step(q);
	if (*more)
		*lane = query_get_i64(q, 0);
	return query_end(&q, w);
}

enum err
claim_add_lanes(struct claim *c, struct claim_task *t, struct why *w)
{
	int64_t lane = -1;
	size_t cap = 0;
	bool more = true;
	enum err e = OK;

	while (e == OK && more) {
		e = next_lane(c, t, &lane, &more, w);
		if (e == OK && more)
			e = add_lane(c, t, (uint32_t)lane, &cap, w);
	}
	return e;
}

static enum err
scan_lanes(struct claim *c, const struct claim_task *t,
    struct claim_lanes *lanes, struct mono now, struct why *w)
{
	int64_t lane = -1;
	bool more = true;
	enum err e = OK;

	claim_cursors_scan(c->cursors, lanes, now);
	c->read_begin = true;
	while (e == OK && more) {
		e = next_lane(c, t, &lane, &more, w);
		if (e == OK && more)
			claim_lanes_cursor(lanes, (uint32_t)lane)->planned =
			    true;
	}
	return e;
}

enum err
claim_add_known_lanes(struct claim *c, struct claim_task *t,
    struct why *w)
{
	const struct claim_lanes *lanes = t->known;
	size_t cap = 0;
	enum err e = OK;

	for (size_t i = 0; i < lanes->n && e == OK; i++) {
		if (!lanes->list[i]->planned)
			continue;
		e = add_lane(c, t, lanes->list[i]->lane, &cap, w);
		if (e == OK)
			t->lanes[t->lanes_n - 1].cursor = lanes->list[i];
	}
	return e;
}

/* Add the lanes that are known; list them anew if a full scan is due. */
static enum err
add_lanes(struct claim *c, struct claim_task *t, struct why *w)
{
	enum err e = OK;

	if (c->cursors == NULL)
		return claim_add_lanes(c, t, w);
	struct claim_lanes *lanes = claim_cursors_lanes(c->cursors, t->id);
	struct mono now = clock_mono();
	t->known = lanes;
	if (claim_cursors_scan_is_due(c->cursors, lanes, c->scan_ms, now))
		e = scan_lanes(c, t, lanes, now, w);
	t->is_scanned = lanes->scanned_by == c->cursors->claims;
	t->may_miss = !t->is_scanned && claim_cursors_scan_is_due(c->cursors,
	    lanes, CLAIM_SCAN_SHORT_MS, now);
	if (e == OK)
		e = claim_add_known_lanes(c, t, w);
	c->missed |= t->may_miss && t->lanes_n == 0;
	return e;
}

static int64_t
tokens_left(const struct claim_lane *l)
{
	int64_t left = INT64_MAX;

	for (size_t i = 0; i < l->buckets_n; i++)
		left = MIN(left, l->buckets[i]->left);
	return left;
}

/* -- Reading ahead -- */

static struct claim_key
last_due(const struct claim *c)
{

	return (struct claim_key){ c->now_ms, INT64_MAX };
}

/* Skip what is known to be empty.  Returns how far to read. */
static struct claim_key
skip_known(struct claim *c, struct claim_lane *l)
{
	if (l->cursor == NULL)
		return last_due(c);
	l->last = claim_cursor_next(l->cursor, l->last);
	c->read_begin |= !claim_key_before(CLAIM_KEY_FIRST, l->last);
	return claim_cursor_until(l->cursor, l->last, last_due(c));
}

/* The lane was read up to `until`. */
static void
note_end(const struct claim *c, struct claim_lane *l, struct claim_key until)
{
	l->end = true;
	if (l->cursor == NULL)
		return;
	claim_cursor_extend_empty(c->cursors, l->cursor, l->last, until);
	l->last = until;
	l->jumps = claim_key_before(until, last_due(c));
	l->end = !l->jumps;
}

static void
put_found(struct claim_lane *l, struct claim_key before)
{
	if (l->cursor != NULL)
		l->after[l->n] = before;
	l->found[l->n++] = l->last;
}

static enum err
read_keys(struct claim *c, const struct claim_task *t, struct claim_lane *l,
    size_t limit, size_t *read, struct why *w)
{
	static const struct sql due = { "SELECT due, item FROM worklist"
	    " WHERE task = ?1 AND lane = ?2 AND due <= ?3"
	    " AND (due, item) > (?4, ?5) ORDER BY due, item LIMIT ?6",
	    "SELECT due, item FROM worklist"
	    " WHERE task = ?1 AND lane = ?2 AND due <= ?3"
	    " AND (due, item) > (?4, ?5) AND (due, item) <= (?7, ?8)"
	    " ORDER BY due, item LIMIT ?6 FOR UPDATE SKIP LOCKED" };
	struct query *q = database_query_sql(item_store_database(c->store),
	    &due);
	struct claim_key until = skip_known(c, l);
	bool was_head = l->is_head;

	query_i64(q, 1, t->id);
	query_i64(q, 2, l->id);
	query_i64(q, 3, c->now_ms);
	query_i64(q, 4, l->last.due_ms);
	query_i64(q, 5, l->last.item);
	query_i64(q, 6, (int64_t)limit);
	if (l->cursor != NULL) {
		query_i64(q, 7, until.due_ms);
		query_i64(q, 8, until.item);
	}
	*read = 0;
	while (query_step(q)) {
		struct claim_key before = l->last;

		l->last = (struct claim_key){ query_get_i64(q, 0),
		    query_get_i64(q, 1) };
		*read += 1;
		if (!is_passed_over(c, t->id, l))
			put_found(l, before);
		if (l->is_head)
			l->head = l->last;
	}
	if (was_head)
		note_head(c, t->id, l);
	l->jumps = false;
	if (*read < limit)
		note_end(c, l, until);
	return query_end(&q, w);
}

static void
want_rows(struct claim *c, const struct claim_task *t, int64_t item)
{
	struct item_store *s = c->store;
	const struct task *task = t->task;

	item_tx_want_pair_row(c->tx, t->id, item);
	item_tx_want_key(c->tx, item);
	for (size_t i = 0; i < task->depends_on_n; i++) {
		uint32_t id = 0;

		if (item_store_name(s, ITEM_NAME_TASK, task->depends_on[i],
		    false, &id, NULL) == OK && id != 0)
			item_tx_want_pair_key(c->tx, id, item);
	}
}

/* The next pairs of a lane, at most as many as it has tokens for.  Their rows
 * are wanted, not loaded. */
static enum err
read_chunk(struct claim *c, const struct claim_task *t, struct claim_lane *l,
    struct why *w)
{
	size_t chunk = (size_t)MIN((int64_t)l->chunk, tokens_left(l));
	enum err e = OK;

	l->at = l->n = 0;
	l->found = ARENA_ARRAY(item_tx_scratch(c->tx), struct claim_key,
	    CHUNK_MAX);
	if (l->cursor != NULL)
		l->after = ARENA_ARRAY(item_tx_scratch(c->tx),
		    struct claim_key, CHUNK_MAX);
	while (e == OK && (l->n == 0 || l->jumps) && !l->end && chunk > 0) {
		size_t read;

		e = read_keys(c, t, l, chunk, &read, w);
		c->scanned += read;
		c->missed |= l->end && t->may_miss;
		l->end |= c->scanned > SCANNED_MAX;
		chunk = l->jumps ? chunk - read :
		    MIN(chunk * 4, CHUNK_MAX);      /* all were passed over */
	}
	l->chunk = MIN(l->chunk * 2, CHUNK_MAX);
	for (size_t i = 0; i < l->n && e == OK; i++)
		want_rows(c, t, l->found[i].item);
	return e;
}

/* The first chunks of all lanes.  A task's share of the claim is spread over
 * its lanes. */
static enum err
read_first(struct claim *c, struct why *w)
{
	uint64_t weights = 0;
	enum err e = OK;

	for (size_t i = 0; i < c->tasks_n; i++)
		weights += c->tasks[i].task->weight;
	for (size_t i = 0; i < c->tasks_n && e == OK; i++) {
		struct claim_task *t = &c->tasks[i];
		uint64_t share = c->spec->max * (uint64_t)t->task->weight /
		    weights + (c->tasks_n > 1);

		share = MIN(share, (uint64_t)t->room);
		for (size_t k = 0; k < t->lanes_n && e == OK; k++) {
			t->lanes[k].chunk = (size_t)MIN(
			    share / t->lanes_n + (t->lanes_n > 1),
			    CHUNK_FIRST_MAX);
			t->lanes[k].chunk = MAX(t->lanes[k].chunk, 1u);
			e = read_chunk(c, t, &t->lanes[k], w);
		}
	}
	return e;
}

/* The lane whose next pair is due first, or NULL. */
static enum err
first_lane(struct claim *c, struct claim_task *t, struct claim_lane **out,
    struct why *w)
{
	struct claim_key first = { INT64_MAX, INT64_MAX };
	enum err e = OK;

	*out = NULL;
	for (size_t i = 0; i < t->lanes_n && e == OK; i++) {
		struct claim_lane *l = &t->lanes[i];

		if (tokens_left(l) <= 0)
			continue;
		if (l->at == l->n && !l->end) {
			e = read_chunk(c, t, l, w);
			if (e == OK)
				e = item_tx_load(c->tx, w);
		}
		if (e != OK || l->at == l->n)
			continue;
		const struct claim_key *k = &l->found[l->at];
		if (k->due_ms < first.due_ms || (k->due_ms == first.due_ms &&
		    k->item < first.item)) {
			first = *k;
			*out = l;
		}
	}
	return e;
}

/* -- Leasing -- */

static void
take_tokens(struct claim_lane *l)
{
	for (size_t i = 0; i < l->buckets_n; i++) {
		l->buckets[i]->left--;
		l->buckets[i]->taken++;
	}
}

static void
lease_pair(struct claim *c, struct claim_task *t, struct item_row *item,
    struct pair_row *p)
{
	struct worklist_lease *l = &c->leases[c->leases_n++];
	char text[LEASE_TEXT_BYTES + 1];
	int64_t us = c->spec->lease_us > 0 ? c->spec->lease_us :
	    t->task->lease_us;

	item_tx_touch_pair(c->tx, p);
	p->state = PAIR_LEASED;
	p->due_ms = PAIR_DUE_NONE;
	p->lease = MAX(next_random(c), 1u);
	p->lease_until = (struct wall){ item_tx_now(c->tx).us + us };
	p->worker = c->worker;
	p->generation = item_store_config(c->store)->generation;
	p->again = false;
	t->room--;
	worklist_lease_text(p->task, p->item, p->lease, text);
	*l = (struct worklist_lease){ .task = p->task, .item = item, .pair = p,
	    .text = arena_copy(item_tx_scratch(c->tx), str_of(text)),
	    .seed = worklist_lease_seed(p->lease) };
}

/* Add the size of the newest lease to the size of the answer. */
static enum err
add_bytes(struct claim *c, struct why *w)
{
	size_t bytes;
	enum err e = worklist_lease_bytes(c->tx, &c->leases[c->leases_n - 1],
	    c->spec->prefetch, c->spec->prefetch_n, &bytes, w);

	c->bytes += bytes;
	return e;
}

/* A dependency may have got lost since the pair became due. */
static enum err
check_depends(struct claim *c, struct claim_task *t, struct pair_row *p,
    bool *fine, struct why *w)
{
	enum err e = worklist_depends_met(c->tx, t->task, p->item, fine, w);

	if (e != OK || *fine)
		return e;
	item_tx_touch_pair(c->tx, p);
	p->state = PAIR_BLOCKED;
	p->due_ms = PAIR_DUE_NONE;
	return OK;
}

static enum worklist_choice
choose_pair(const struct claim *c, uint32_t task, const struct item_row *item)
{
	const struct worklist_claim *spec = c->spec;

	return spec->choose == NULL || spec->only_item.n > 0 ? WORKLIST_TAKE :
	    spec->choose(spec->arg, task, item);
}

/* The cursor may pass the pair, unless it is still where it was found. */
static void
note_gone(struct claim *c, struct claim_lane *l, size_t at,
    const struct pair_row *p)
{
	const struct claim_key *k = &l->found[at];

	if (l->cursor != NULL && !(p->exists && p->lane == l->id &&
	    p->due_ms == k->due_ms))
		claim_cursor_extend(c->cursors, l->cursor, l->after[at], *k);
}

static enum err
try_pair(struct claim *c, struct claim_task *t, struct claim_lane *l,
    size_t at, struct why *w)
{
	int64_t key = l->found[at].item;
	struct item_row *item;
	struct pair_row *p;
	bool fine = false;
	enum worklist_choice choice = WORKLIST_PASS_OVER;
	enum err e = item_tx_pair(c->tx, t->id, key, &p, w);

	if (e == OK)
		e = item_tx_item(c->tx, key, &item, w);
	if (e != OK)
		return e;
	/* The rows are those of the index, unless another claim of this
	 * transaction's has the pair. */
	if (p->exists && item->exists && p->lease == 0 &&
	    p->due_ms != PAIR_DUE_NONE && p->due_ms <= c->now_ms)
		e = generation_check_pair(c->tx, p, &fine, w);
	if (e == OK && fine)
		e = check_depends(c, t, p, &fine, w);
	if (e != OK)
		return e;
	if (fine)
		choice = choose_pair(c, t->id, item);
	fine = choice != WORKLIST_PASS_OVER;
	if (fine) {
		take_tokens(l);
		lease_pair(c, t, item, p);
		c->leases[c->leases_n - 1].has_turn =
		    choice == WORKLIST_TAKE_AT_TURN;
	}
	note_gone(c, l, at, p);
	if (fine)
		return add_bytes(c, w);
	c->passed++;
	return OK;
}

/* -- Turns -- */

static void
drop_task(struct claim *c, struct claim_task *t)
{
	*t = c->tasks[--c->tasks_n];
}

static int64_t
weights_of(const struct claim *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->tasks_n; i++)
		sum += c->tasks[i].task->weight;
	return sum;
}

/* Smooth weighted round robin; the first turn is drawn by lot, so that claims
 * of one pair are fair, too. */
static struct claim_task *
next_task(struct claim *c)
{
	int64_t sum = weights_of(c);
	struct claim_task *best = &c->tasks[0];

	if (c->leases_n == 0 && c->tasks_n > 1) {
		int64_t at = (int64_t)(next_random(c) % (uint64_t)sum);

		while (at >= best->task->weight) {
			at -= best->task->weight;
			best++;
		}
		for (size_t i = 0; i < c->tasks_n; i++)
			c->tasks[i].turn = 0;
	}
	for (size_t i = 0; i < c->tasks_n; i++) {
		c->tasks[i].turn += c->tasks[i].task->weight;
		if (c->leases_n > 0 && c->tasks[i].turn > best->turn)
			best = &c->tasks[i];
	}
	best->turn -= sum;
	return best;
}

static bool
wants_more(const struct claim *c)
{
	return c->leases_n < c->spec->max && c->bytes < c->bytes_max &&
	    c->passed <= BLOCKED_MAX;
}

static enum err
take_turns(struct claim *c, struct why *w)
{
	enum err e = OK;

	while (e == OK && c->tasks_n > 0 && wants_more(c)) {
		struct claim_task *t = next_task(c);
		struct claim_lane *l = NULL;
		size_t before = c->leases_n;

		/* A pair that is passed over does not cost the task's turn. */
		while (e == OK && c->leases_n == before &&
		    c->passed <= BLOCKED_MAX) {
			e = t->room <= 0 ? OK : first_lane(c, t, &l, w);
			if (e != OK || t->room <= 0 || l == NULL)
				break;
			e = try_pair(c, t, l, l->at++, w);
		}
		if (c->leases_n == before)
			drop_task(c, t);
	}
	return e;
}

/* -- A claim -- */

enum err
claim_add_item(struct claim *c, struct why *w)
{
	struct item_row *item;
	enum err e = item_tx_find(c->tx, c->spec->only_item, &item, w);

	for (size_t i = 0; i < c->tasks_n && e == OK; i++) {
		struct claim_task *t = &c->tasks[i];
		struct pair_row *p;
		size_t cap = 0;

		e = item_tx_pair(c->tx, t->id, item->key, &p, w);
		if (e != OK || !p->exists || p->due_ms == PAIR_DUE_NONE ||
		    p->due_ms > c->now_ms)
			continue;
		e = add_lane(c, t, p->lane, &cap, w);
		if (e != OK)
			break;
		struct claim_lane *l = &t->lanes[0];
		l->found = ARENA_NEW(item_tx_scratch(c->tx), struct claim_key);
		l->found[0] = (struct claim_key){ p->due_ms, item->key };
		l->n = 1;
		l->end = true;
	}
	return e;
}

static enum err
add_all_lanes(struct claim *c, struct why *w)
{
	struct mono start = clock_mono();
	enum err e = OK;

	for (size_t i = 0; i < c->tasks_n && e == OK; i++)
		e = add_lanes(c, &c->tasks[i], w);
	if (e == OK && c->tasks_n > 0)
		e = read_first(c, w);
	if (c->read_begin)
		claim_cursors_scanned(c->cursors, start, clock_mono());
	c->read_begin = false;
	return e == OK && c->tasks_n > 0 ? item_tx_load(c->tx, w) : e;
}

static void
pay_tokens(struct claim *c)
{
	MAP_EACH(b, &c->buckets, struct claim_bucket) {
		if (b->taken == 0)
			continue;
		item_tx_touch_bucket(c->tx, b->row);
		bucket_take(b->row, b->rate, b->taken, item_tx_now(c->tx));
	}
}

static struct str
worker_name(struct claim *c)
{
	const char *node = item_store_node(c->store);

	if (c->spec->own)
		return arena_copy(item_tx_arena(c->tx), str_of(node));
	return arena_printf(item_tx_arena(c->tx), "%s/%.*s", node,
	    STR_FMT(c->spec->worker));
}

static enum err
claim_pairs(struct claim *c, struct why *w)
{
	enum err e = claim_add_tasks(c, w);

	if (e == OK)
		e = c->spec->only_item.n > 0 ? claim_add_item(c, w) :
		    add_all_lanes(c, w);
	return e == OK ? take_turns(c, w) : e;
}

/* There are not enough pairs: look for those of other daemons, which would
 * otherwise wait for the next full scan. */
static enum err
claim_missed_pairs(struct claim *c, struct why *w)
{
	enum err e = item_tx_flush(c->tx, w);

	c->scan_ms = CLAIM_SCAN_SHORT_MS;
	c->tasks_n = 0;
	return e == OK ? claim_pairs(c, w) : e;
}

enum err
worklist_claim(struct item_tx *tx, const struct worklist_claim *spec,
    struct worklist_lease **leases, size_t *n, struct why *w)
{
	struct claim c = claim_begin(tx, spec);
	size_t expired;

	*leases = NULL;
	*n = 0;
	if (spec->max > WORKLIST_CLAIM_MAX)
		return why_field(w, ERR_INPUT, "max", "it is more than %u",
		    WORKLIST_CLAIM_MAX);
	enum err e = worklist_lease_check(spec->lease_us, w);
	if (e == OK)
		e = worklist_expire_leases(tx, EXPIRED_MAX, &expired, w);
	if (e == OK)
		e = item_tx_flush(tx, w);
	if (e != OK || spec->max == 0 || item_store_is_outdated(c.store))
		return e;
	c.worker = worker_name(&c);
	c.leases = ARENA_ARRAY(item_tx_scratch(tx), struct worklist_lease,
	    spec->max);
	if (c.cursors != NULL)
		c.cursors->claims++;
	e = claim_pairs(&c, w);
	if (e == OK && c.missed && wants_more(&c))
		e = claim_missed_pairs(&c, w);
	if (e == OK)
		pay_tokens(&c);
	map_free(&c.buckets);
	if (spec->passed != NULL)
		spec->passed->was_cut = c.leases_n == 0 &&
		    c.passed > BLOCKED_MAX;
	*leases = c.leases;
	*n = c.leases_n;
	return e;
}
