/*
 * What people change in a crawl, and the walks over its URLs.
 *
 *     a piece:  ledger's loop: may reads begin? (known_evict.c)
 *               ─► index thread: some records
 *               ─► ledger's loop: what they are by now; changes
 *               ─► durable ─► the next piece
 */
#include "engine/frontier/change.h"

#include "engine/frontier/crawl.h"
#include "engine/frontier/crawl_state.h"
#include "engine/frontier/delete.h"
#include "engine/frontier/exclude.h"
#include "engine/frontier/retry.h"

/* The functions of each verb; one without read() scans no URLs. */
static const struct change_kind {
	void (*begin)(struct crawl_change *);
	/* A piece, on the index thread; then on the ledger's loop. */
	enum err (*read)(struct crawl_change *, struct index *);
	void (*settle)(struct crawl_change *, struct crawl *);
	void (*finish)(struct crawl_change *, struct crawl *);
} kinds[] = {
	[CHANGE_RULES] = { .begin = exclude_take_rules },
	[CHANGE_SKIP] = { exclude_begin, exclude_read, exclude_settle,
	    exclude_finish },
	[CHANGE_COUNT] = { exclude_begin, exclude_read, exclude_settle, NULL },
	[CHANGE_RETRY] = { retry_begin, retry_read, retry_settle, NULL },
	[CHANGE_DELETE] = { .begin = delete_begin },
};

/* --- answers -------------------------------------------------------------- */

static void
forget(struct crawl_change *a)
{
	list_take(&a->node);
	list_take(&a->gate.node);
	buf_free(&a->scan.from);
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

void
change_kept(struct promise *p, enum err e)
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
	a->promise.kept = change_kept;
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

/* --- walks ---------------------------------------------------------------- */

struct change_match *
change_add_match(struct crawl_change *a, const struct url_row *u,
    const struct url_value *v)
{
	if (a->matches == NULL)
		a->matches = ARENA_ARRAY(&a->piece, struct change_match,
		    CHANGE_MATCHES_MAX);
	struct change_match *m = &a->matches[a->matches_n++];
	m->lease = (struct lease){ .url = arena_copy(&a->piece, u->url),
	    .rank = u->rank, .queue = u->queue, .cost = v->cost,
	    .depth = v->depth, .flags = v->flags, .via_seq = v->seq };
	m->lease.hash = frontier_hash(a->crawl, m->lease.url);
	return m;
}

static void
finish(struct crawl_change *a, struct crawl *c)
{
	if (kinds[a->verb].finish != NULL && a->why.err == OK)
		kinds[a->verb].finish(a, c);
	change_answer_durable(a);
}

static void read_piece(struct crawl_change *);

static void
piece_kept(struct promise *p, enum err e)
{
	if (e != OK)
		change_kept(p, e);
	else
		read_piece(CONTAINER(p, struct crawl_change, promise));
}

/* The asker has waited long enough, or has left. */
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

	if (!over && a->why.err == OK)
		kinds[a->verb].settle(a, c);
	if (c == NULL) {
		change_answer(a);
		return;
	}
	crawl_consider_end(c);
	bool ended = over || a->scan.ended;
	if (!ended && a->stop != NULL && *a->stop)
		why(&a->why, ERR_CLOSED, "the program stops");
	a->so_far = !ended && is_late(a);
	if (ended || a->so_far || a->why.err != OK)
		finish(a, c);
	else if (a->matches_n > 0)
		change_walk(a);
	else
		read_piece(a);
}

static void
run_piece(struct ledger_query *q, struct index *x)
{
	struct crawl_change *a = CONTAINER(q, struct crawl_change, query);

	arena_reset(&a->piece);
	a->matches = NULL;
	a->matches_n = 0;
	/* Its first error stays in a->why. */
	(void)!kinds[a->verb].read(a, x);
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
	ledger_read(f->ledger, &a->query, f->loop, run_piece, piece_read);
}

void
change_walk(struct crawl_change *a)
{
	a->promise.kept = piece_kept;
	ledger_promise(a->frontier->ledger, &a->promise);
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
	a->scan = (struct url_scan){ .crawl = a->crawl };
	kinds[a->verb].begin(a);
}
