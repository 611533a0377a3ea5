/*
 * Rules that come while a crawl runs, and the walks of all that is amended.
 *
 *     a piece:  ledger's loop: may reads begin? (url_table_evict.c)
 *               ─► index thread: some records from `from` on
 *               ─► ledger's loop: what they are by now; changes
 *               ─► durable ─► the next piece
 */
#include "engine/frontier/change.h"
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/exclude.h"
#include "engine/frontier/known_evict.h"
#include "engine/frontier/queue.h"
#include "engine/frontier/submit.h"
#include "engine/frontier/url_key.h"
#include "engine/frontier/url_scan.h"

#define PART_SPEC 'S'
#define PART_EXCLUDED 'X'

/* --- answers -------------------------------------------------------------- */

static void
forget(struct crawl_change *a)
{
	list_take(&a->node);
	list_take(&a->gate.node);
	buf_free(&a->from);
	arena_free(&a->piece);
}

void
change_answer(struct crawl_change *a)
{
	forget(a);
	a->done(a);
}

void
change_forget(struct frontier *f)
{
	while (!list_empty(&f->changes))
		forget(LIST_ITEM(f->changes.next, struct crawl_change, node));
}

static void
answer_kept(struct promise *p, enum err e)
{
	struct crawl_change *a = CONTAINER(p, struct crawl_change, promise);

	if (e != OK)
		why(&a->why, ERR_BROKEN, "a write failed; the program must be "
		    "started again");
	change_answer(a);
}

void
change_answer_durable(struct crawl_change *a)
{
	a->promise.kept = answer_kept;
	ledger_promise(a->frontier->ledger, &a->promise);
}

struct crawl *
change_crawl(struct crawl_change *a)
{
	struct crawl *c = crawl_get(a->frontier, a->crawl);

	if (c == NULL)
		why(&a->why, ERR_ABSENT, "there is no crawl %u", a->crawl);
	else if (crawl_state_is_ended(c->view.state))
		why(&a->why, ERR_STATE, "crawl %u is %s", a->crawl,
		    crawl_state_name(c->view.state));
	else if (!c->loaded || (a->rules == NULL && a->verb != CHANGE_SKIP))
		why(&a->why, ERR_STATE, "crawl %u does not run here",
		    a->crawl);
	return a->why.err == OK ? c : NULL;
}

/* --- rules ---------------------------------------------------------------- */

bool
crawl_excludes_now(const struct crawl *c, const void *judged_by,
    struct str url)
{
	return c->rules != NULL && c->rules != judged_by &&
	    c->excludes(c->rules, url);
}

static void
put_spec(struct crawl_change *a, const struct crawl_spec *spec)
{
	struct frontier *f = a->frontier;

	buf_clear(&f->key);
	buf_clear(&f->value);
	crawl_key(a->crawl, PART_SPEC, &f->key);
	crawl_spec_put(spec, &f->value);
	ledger_put(f->ledger, INDEX_CRAWL, buf_str(&f->key),
	    buf_str(&f->value));
}

/* Until a walk has met none that is excluded and leased. */
static void
put_excluded(struct crawl_change *a)
{
	struct frontier *f = a->frontier;

	buf_clear(&f->key);
	buf_clear(&f->value);
	crawl_key(a->crawl, PART_EXCLUDED, &f->key);
	buf_put_be32(&f->value, a->excluded);
	ledger_put(f->ledger, INDEX_CRAWL, buf_str(&f->key),
	    buf_str(&f->value));
}

static void
read_spec(struct ledger_query *q, struct index *x)
{
	struct crawl_change *a = CONTAINER(q, struct crawl_change, query);
	struct buf key = BUF_INIT;
	struct str value;

	crawl_key(a->crawl, PART_SPEC, &key);
	if (index_get(x, INDEX_CRAWL, buf_str(&key), &a->piece, &value,
	    &a->why) == OK)
		buf_put_str(&a->from, value);
	buf_free(&key);
}

static void
spec_read(struct ledger_query *q)
{
	struct crawl_change *a = CONTAINER(q, struct crawl_change, query);
	struct crawl *c = change_crawl(a);
	struct crawl_spec spec;

	if (c != NULL && !crawl_spec_parse(buf_str(&a->from), &a->piece,
	    &spec))
		why(&a->why, ERR_CORRUPT, "the record of crawl %u is damaged",
		    a->crawl);
	if (a->why.err != OK) {
		change_answer(a);
		return;
	}
	spec.policy = a->policy;
	put_spec(a, &spec);
	put_excluded(a);
	c->rules = a->rules;
	c->excludes = a->excludes;
	c->excluded = 0;
	a->taken = true;
	change_answer_durable(a);
}

/* The record of a crawl that just began can be read. */
static void
may_read_spec(struct promise *p, enum err e)
{
	struct crawl_change *a = CONTAINER(p, struct crawl_change, promise);

	if (e != OK) {
		answer_kept(p, e);
		return;
	}
	a->query.home = a->frontier->loop;
	a->query.run = read_spec;
	a->query.done = spec_read;
	ledger_read(a->frontier->ledger, &a->query);
}

static void
take_rules(struct crawl_change *a)
{
	if (change_crawl(a) == NULL) {
		change_answer(a);
		return;
	}
	a->promise.kept = may_read_spec;
	ledger_promise(a->frontier->ledger, &a->promise);
}

unsigned
change_interrupted(struct frontier *f, uint32_t crawl)
{
	struct arena a = ARENA_INIT;
	struct buf key = BUF_INIT;
	struct str value;
	unsigned n = 0;

	crawl_key(crawl, PART_EXCLUDED, &key);
	if (index_get(ledger_index(f->ledger), INDEX_CRAWL, buf_str(&key), &a,
	    &value, NULL) == OK) {
		struct reader in = reader_of(value);
		n = read_be32(&in);
	}
	buf_free(&key);
	arena_free(&a);
	return n;
}

void
change_resume(struct frontier *f, uint32_t crawl, const void *rules,
    bool (*excludes)(const void *, struct str))
{
	struct crawl *c = crawl_get(f, crawl);

	if (c == NULL)
		return;
	c->rules = rules;
	c->excludes = excludes;
}

/* --- walks ---------------------------------------------------------------- */

struct change_match *
url_scan_add(struct crawl_change *a, struct str url, const struct url_value *v)
{
	if (a->matches == NULL)
		a->matches = ARENA_ARRAY(&a->piece, struct change_match,
		    URL_SCAN_MATCHES_MAX);
	struct change_match *m = &a->matches[a->matches_n++];
	m->lease = (struct lease){ .url = arena_copy(&a->piece, url),
	    .cost = v->cost, .depth = v->depth, .flags = v->flags,
	    .via_seq = v->seq };
	m->lease.hash = frontier_hash(a->crawl, m->lease.url);
	return m;
}

void
url_scan_piece(
    struct crawl_change *a, struct index_iter *i, url_scan_visit_fn *visit)
{
	struct str key, value, crawl;
	unsigned looks = 0;

	crawl = arena_copy(&a->piece, str_cut(buf_str(&a->from), 0, 4));
	index_iter_seek(i, buf_str(&a->from));
	for (;;) {
		a->ended = !index_iter_valid(i, &key, &value) ||
		    !str_starts(key, crawl);
		if (a->ended || looks++ == URL_SCAN_PIECE_MAX ||
		    a->matches_n == URL_SCAN_MATCHES_MAX)
			break;
		struct reader in = reader_of(key);
		read_be32(&in);
		uint32_t queue = read_be32(&in), rank = read_be32(&in);
		buf_clear(&a->from);
		visit(a, queue, rank, (struct str){ in.p, in.n }, value);
		if (a->from.n == 0)
			index_iter_next(i);
		else
			index_iter_seek(i, buf_str(&a->from));
	}
	if (a->ended)
		return;
	buf_clear(&a->from);
	buf_put_str(&a->from, key);
}

/* What waits and is excluded; of each queue, what is done is passed over. */
static void
visit_waiting(struct crawl_change *a, uint32_t queue, uint32_t rank,
    struct str url, struct str value)
{
	struct url_value v;

	a->looked += rank != 0;
	if (rank == 0) {
		url_key(a->crawl, queue, 1, STR(""), &a->from);
	} else if (a->excludes(a->rules, url) && url_value_parse(value, &v)) {
		struct change_match *m = url_scan_add(a, url, &v);
		m->lease.queue = queue;
		m->lease.rank = rank;
	}
}

static void
add_sample(struct crawl_change *a, struct str url)
{
	if (a->sample_n < CHANGE_SAMPLE_MAX)
		a->sample[a->sample_n++] = arena_copy(&a->arena, url);
}

/* The index had it waiting; what is it now? */
static uint8_t
mark_of(const struct frontier *f, const struct lease *l)
{
	uint32_t date;
	uint8_t mark;

	/* What the table has forgotten is as the index says. */
	if (!url_table_get(f->known, l->hash, &date, &mark))
		return known_evict_is_partial(f) ? MARK_WAITING : MARK_DONE;
	return date == l->rank ? mark : MARK_DONE;
}

void
crawl_skip_waiting(struct crawl *c, struct queue *q, const struct lease *l,
    enum skip_reason reason)
{
	struct submission s = { .crawl = c->id, .outcome = OUTCOME_SKIPPED,
	    .reason = (uint8_t)reason, .lease = *l };

	url_table_set(c->frontier->known, l->hash, l->rank, MARK_LEASED);
	q->waiting--;
	q->leased++;
	c->view.counts.leased++;
	submission_settle(c, &s);
	c->excluded++;
	crawl_touch(c);
}

static void
skip_or_count(struct crawl_change *a, struct crawl *c)
{
	for (size_t i = 0; i < a->matches_n; i++) {
		const struct lease *l = &a->matches[i].lease;
		struct queue *q = map_get_id(&c->queues_by_id, l->queue);
		uint8_t mark = mark_of(a->frontier, l);
		a->leased |= mark == MARK_LEASED;
		if (q == NULL || (mark != MARK_WAITING &&
		    (mark != MARK_LEASED || a->verb == CHANGE_SKIP)))
			continue;
		if (a->verb == CHANGE_SKIP)
			crawl_skip_waiting(c, q, l, SKIP_SCOPE);
		else
			a->n++;
		add_sample(a, l->url);
	}
}

static void
finish(struct crawl_change *a, struct crawl *c)
{
	struct frontier *f = a->frontier;

	if (a->verb != CHANGE_SKIP || a->why.err != OK) {
		change_answer_durable(a);
		return;
	}
	a->n = c->excluded;
	c->excluded = 0;
	/* What is being fetched would wait again after a crash: then another
	 * process is to walk once more. */
	if (!a->leased) {
		buf_clear(&f->key);
		crawl_key(a->crawl, PART_EXCLUDED, &f->key);
		ledger_delete(f->ledger, INDEX_CRAWL, buf_str(&f->key));
	}
	change_answer_durable(a);
}

static void read_piece(struct crawl_change *);

static void
piece_kept(struct promise *p, enum err e)
{
	if (e != OK)
		answer_kept(p, e);
	else
		read_piece(CONTAINER(p, struct crawl_change, promise));
}

/* Who asked has waited long enough, or has left. */
static bool
is_late(const struct crawl_change *a)
{
	return a->verb == CHANGE_COUNT &&
	    (!mono_before(loop_now(a->frontier->loop), a->until) ||
	    (a->left != NULL && atomic_load(a->left)));
}

static void
settle(struct crawl_change *a)
{
	struct crawl *c = crawl_get(a->frontier, a->crawl);
	bool over = c == NULL || crawl_state_is_ended(c->view.state);

	if (!over && a->why.err == OK && a->verb == CHANGE_RETRY)
		change_wait_again(a, c);
	else if (!over && a->why.err == OK)
		skip_or_count(a, c);
	if (c == NULL) {
		change_answer(a);
		return;
	}
	crawl_consider_end(c);
	if (!over && !a->ended && a->stop != NULL && *a->stop)
		why(&a->why, ERR_CLOSED, "the program stops");
	a->so_far = !over && !a->ended && is_late(a);
	if (over || a->ended || a->so_far || a->why.err != OK) {
		finish(a, c);
	} else if (a->matches_n > 0) {
		a->promise.kept = piece_kept;
		ledger_promise(a->frontier->ledger, &a->promise);
	} else {
		read_piece(a);
	}
}

static void
run_piece(struct ledger_query *q, struct index *x)
{
	struct crawl_change *a = CONTAINER(q, struct crawl_change, query);

	arena_reset(&a->piece);
	a->matches = NULL;
	a->matches_n = 0;
	if (a->verb == CHANGE_RETRY && a->which == CHANGE_NAMED) {
		change_find_named(a, x);
		return;
	}
	struct index_iter *i = index_iter_new(x, INDEX_URL);
	if (a->verb == CHANGE_RETRY)
		change_find_done(a, i);
	else
		url_scan_piece(a, i, visit_waiting);
	/* Its first error stays. */
	(void)!index_iter_error(i, &a->why);
	index_iter_free(&i);
}

static void
piece_read(struct ledger_query *q)
{
	struct crawl_change *a = CONTAINER(q, struct crawl_change, query);
	struct frontier *f = a->frontier;

	settle(a);
	known_evict_read_back(f);
}

static void
gate_opened(struct frontier *f, struct eviction_wait *g)
{
	(void)f;
	read_piece(CONTAINER(g, struct crawl_change, gate));
}

static void
read_piece(struct crawl_change *a)
{
	struct frontier *f = a->frontier;

	a->gate.open = gate_opened;
	if (!known_evict_may_read(f, &a->gate))
		return;
	a->query.home = f->loop;
	a->query.run = run_piece;
	a->query.done = piece_read;
	ledger_read(f->ledger, &a->query);
}

/* Behind what is being gathered now. */
void
url_scan_start(struct crawl_change *a)
{
	a->promise.kept = piece_kept;
	ledger_promise(a->frontier->ledger, &a->promise);
}

static void
skip_waiting(struct crawl_change *a)
{
	const struct crawl *c = change_crawl(a);

	/* Of a crawl that has ended nothing is left to be skipped. */
	if (a->verb == CHANGE_COUNT && a->why.err == ERR_STATE)
		a->why = WHY_INIT;
	if (c != NULL && a->verb == CHANGE_SKIP) {
		a->rules = c->rules;
		a->excludes = c->excludes;
	}
	/* Without rules nothing is excluded. */
	if (c == NULL || a->rules == NULL) {
		change_answer(a);
		return;
	}
	buf_put_be32(&a->from, a->crawl);
	url_scan_start(a);
}

/* --- coming in ------------------------------------------------------------ */

void
change_run(struct frontier *f, struct crawl_change *a)
{
	a->frontier = f;
	a->why = WHY_INIT;
	a->n = 0;
	a->sample_n = 0;
	a->taken = a->leased = a->so_far = false;
	a->looked = a->seen = 0;
	a->until = a->wait_ms == 0 ? MONO_NEVER :
	    mono_add_ms(loop_now(f->loop), a->wait_ms);
	list_put(&f->changes, &a->node);
	list_init(&a->gate.node);
	switch (a->verb) {
	case CHANGE_RULES:
		take_rules(a);
		break;
	case CHANGE_SKIP:
	case CHANGE_COUNT:
		skip_waiting(a);
		break;
	case CHANGE_RETRY:
		change_retry(a);
		break;
	case CHANGE_DELETE:
		change_delete(a);
		break;
	}
}
