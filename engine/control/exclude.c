/* URLs are excluded from a crawl, or counted as a preview of that. */
#include "engine/control/change.h"
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
	struct change *c = change_of(r);
	const struct exclude_request *q = c->asked;
	struct crawl_change *a = &c->in_frontier;

	if (rules_excluding(c->rules, q->pattern, c->preview,
	    &c->with_pattern, &r->why) != OK)
		return END;
	a->rules = &c->with_pattern->is;
	a->policy = c->with_pattern->is.json;
	a->excluded = c->with_pattern->is.excluded;
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
	struct change *c = change_of(r);

	if (c->in_frontier.taken)
		crawl_runtime_change_rules(c->engine->crawls, c->crawl,
		    &c->with_pattern);
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
exclude_done(struct request *r)
{
	struct exclude_request *q = change_of(r)->asked;
	struct crawl_change *a = &change_of(r)->in_frontier;

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

void
crawl_exclude(struct engine *e, struct exclude_request *q)
{
	struct change *c = change_new(e, q->crawl, q, BEGIN, END,
	    exclude_done);

	c->preview = q->preview;
	c->in_frontier.wait_ms = q->wait_ms;
	c->in_frontier.left = q->left;
	q->arena = ARENA_INIT;
	q->removed = q->sample_n = 0;
	change_start(c, exclude_steps);
}

static void
resumed(struct request *r)
{
	change_free(change_of(r));
}

void
exclude_resume(struct engine *e, uint32_t crawl)
{
	change_start(change_new(e, crawl, NULL, SWEEP, END, resumed),
	    exclude_steps);
}
