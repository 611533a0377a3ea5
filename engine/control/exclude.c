/* URLs are excluded from a crawl, or counted as a preview of that. */
#include "engine/control/change.h"
#include "engine/control/control.h"
#include "engine/control/engine_own.h"

#define EXCLUDE_STEPS(X)                                                     \
	X(TURN, AT_LEDGER, change_turn, "one change of a crawl at a time")   \
	X(BEGIN, AT_LEDGER, begin_exclusion, "does the crawl run?")          \
	X(COMPILE, AT_POOL, compile_rules, "its rules with one more")        \
	X(COUNT, AT_LEDGER, count_urls, "a preview: what would be skipped")  \
	X(RECORD, AT_LEDGER, record_rules, "the crawl's record has them")    \
	X(ADOPT, AT_LEDGER, adopt_rules, "the loops see them")               \
	X(GIVE_BACK, AT_EACH_LOOP, request_next, "they give URLs back",      \
	    .each = give_back)                                               \
	X(SWEEP, AT_LEDGER, sweep_urls, "what waits and matches is skipped") \
	X(END, AT_LEDGER, change_end, "the crawl's next change begins")      \
	X(ANSWER, AT_PUBLISHED, request_end, "behind the events of it")
enum { EXCLUDE_STEPS(REQUEST_ENUM) };

struct exclusion {
	struct change change;
	struct exclude_request *asked;   /* NULL: nobody waits for it */
	struct str pattern;
	struct rules *rules;         /* those to come, or of the preview */
};

static struct exclusion *
exclusion_of(struct request *r)
{
	return CONTAINER(change_of(r), struct exclusion, change);
}

static int
begin_exclusion(struct request *r)
{
	struct change *c = change_of(r);

	if (c->rules != NULL)
		return COMPILE;
	/* The frontier says why it does not run. */
	return change_in_frontier(c, c->preview ? CHANGE_COUNT : CHANGE_RULES,
	    END);
}

/* A thousand patterns take a while. */
static int
compile_rules(struct request *r)
{
	struct exclusion *x = exclusion_of(r);
	struct change *c = &x->change;
	struct crawl_change *a = &c->in_frontier;

	if (rules_excluding(c->rules, x->pattern, c->preview, &x->rules,
	    &r->why) != OK)
		return END;
	a->rules = &x->rules->is;
	a->policy = x->rules->is.json;
	a->excluded = x->rules->is.excluded;
	return c->preview ? COUNT : RECORD;
}

static int
count_urls(struct request *r)
{
	return change_in_frontier(change_of(r), CHANGE_COUNT, END);
}

static int
record_rules(struct request *r)
{
	return change_in_frontier(change_of(r), CHANGE_RULES, ADOPT);
}

static int
adopt_rules(struct request *r)
{
	struct exclusion *x = exclusion_of(r);
	struct change *c = &x->change;

	if (c->in_frontier.taken)
		crawl_runtime_change_rules(c->engine->crawls, c->crawl,
		    &x->rules);
	return r->why.err == OK ? GIVE_BACK : END;
}

/* Before the sweep begins, so that its count is true. */
static void
give_back(struct request *r, size_t loop)
{
	const struct change *c = change_of(r);

	fetcher_return_excluded(c->engine->fetchers[loop], c->crawl);
}

static int
sweep_urls(struct request *r)
{
	return change_in_frontier(change_of(r), CHANGE_SKIP, END);
}

static void
free_exclusion(struct change *c)
{
	struct exclusion *x = CONTAINER(c, struct exclusion, change);

	rules_free(&x->rules);
	mem_free(&x);
}

static void
exclude_done(struct request *r)
{
	struct exclude_request *q = exclusion_of(r)->asked;
	struct crawl_change *a = &change_of(r)->in_frontier;

	if (q == NULL) {
		change_free(change_of(r));
		return;
	}
	q->why = r->why;
	q->removed = a->n;
	q->so_far = a->so_far;
	q->looked = a->looked;
	if (r->why.err == OK && a->sample_n > 0) {
		q->arena = a->arena;
		a->arena = ARENA_INIT;
		struct str *sample = ARENA_ARRAY(&q->arena, struct str,
		    a->sample_n);
		memcpy(sample, a->sample, a->sample_n * sizeof(*sample));
		q->sample = sample;
		q->sample_n = a->sample_n;
	}
	change_free(change_of(r));
	q->done(q);
}

static const struct request_step exclude_steps[] = {
	EXCLUDE_STEPS(REQUEST_ROW)
};

static struct exclusion *
new_exclusion(int begin)
{
	struct exclusion *x = mem_new(sizeof(*x));

	x->change.begin = begin;
	x->change.end = END;
	x->change.answer = ANSWER;
	x->change.free = free_exclusion;
	return x;
}

void
crawl_exclude(struct engine *e, struct exclude_request *q)
{
	struct exclusion *x = new_exclusion(BEGIN);
	struct change *c = &x->change;

	x->asked = q;
	x->pattern = arena_copy(&c->arena, q->pattern);
	c->preview = q->preview;
	c->in_frontier.wait_ms = q->wait_ms;
	c->in_frontier.left = q->left;
	q->arena = ARENA_INIT;
	q->removed = q->sample_n = 0;
	change_start(c, e, q->crawl, exclude_steps, TURN, exclude_done);
}

void
exclude_resume(struct engine *e, uint32_t crawl)
{
	struct exclusion *x = new_exclusion(SWEEP);

	change_start(&x->change, e, crawl, exclude_steps, TURN, exclude_done);
}
