/* URLs of a crawl that failed, or were skipped, wait again. */
#include "engine/control/change.h"
#include "engine/control/engine_own.h"

#define RETRY_URLS_MAX 10000u

#define RETRY_STEPS(X)                                                       \
	X(TURN, AT_LEDGER, change_turn, "one change of a crawl at a time")   \
	X(BEGIN, AT_LEDGER, begin_retry, "does the crawl run?")              \
	X(READ_URLS, AT_POOL, read_urls, "the URLs that are named")          \
	X(FORGET, AT_EACH_LOOP, request_next, "hosts are tried at once",     \
	    .each = forget_trouble)                                          \
	X(WAIT_AGAIN, AT_LEDGER, wait_again, "the URLs are queued")          \
	X(END, AT_LEDGER, change_end, "the crawl's next change begins")      \
	X(ANSWER, AT_PUBLISHED, request_end, "behind the events of it")
enum { RETRY_STEPS(REQUEST_ENUM) };

/* --- what is asked for ---------------------------------------------------- */

/* "dns", "robots": into change.which and .reason. */
static bool
find_reason(struct crawl_change *a, struct str word)
{
	for (int i = 0; i < EXCEPTION_COUNT; i++)
		if (str_eq(word, str_of(exception_name(i)))) {
			a->which = CHANGE_EXCEPTION;
			a->reason = (uint8_t)i;
			return true;
		}
	for (int i = 1; i < SKIP_COUNT; i++)
		if (str_eq(word, str_of(skip_name(i)))) {
			a->which = CHANGE_SKIPPED;
			a->reason = (uint8_t)i;
			return true;
		}
	return false;
}

static enum err
check_retry(const struct retry_request *q, struct crawl_change *a,
    struct why *w)
{
	if (q->reason.n == 0 && q->urls_n == 0)
		return why(w, ERR_INPUT, "reason: it is missing, and there "
		    "are no urls");
	if (q->reason.n != 0 && q->urls_n != 0)
		return why(w, ERR_INPUT, "reason: it cannot stand beside "
		    "urls");
	if (q->urls_n > RETRY_URLS_MAX)
		return why(w, ERR_FULL, "urls: %zu; at most %u are allowed",
		    q->urls_n, RETRY_URLS_MAX);
	if (q->reason.n != 0 && !find_reason(a, q->reason))
		return why(w, ERR_INPUT, "reason: \"%.*s\" is none",
		    STR_FMT(str_cut(q->reason, 0, 100)));
	return OK;
}

static int
begin_retry(struct request *r)
{
	struct change *c = change_of(r);

	if (check_retry(c->asked, &c->in_frontier, &r->why) != OK)
		return END;
	if (c->rules != NULL)
		return READ_URLS;
	/* The frontier says why it does not run. */
	return change_in_frontier(c, CHANGE_RETRY, END);
}

static enum err
read_url(struct change *c, struct str typed, size_t i,
    struct change_name *out, struct why *w)
{
	struct why inner = WHY_INIT;
	struct arena *a = &c->in_frontier.arena;
	struct url u, canonical;

	enum err e = seed_parse(typed, a, &u, &inner);
	if (e == OK)
		e = policy_canonical(c->rules->is.policy, &u, a, &canonical,
		    &inner);
	if (e != OK)
		return why(w, ERR_INPUT, "urls[%zu]: %s", i, inner.text);
	*out = (struct change_name){ .url = canonical.href,
	    .key = canonical.host };
	return OK;
}

static int
read_urls(struct request *r)
{
	struct change *c = change_of(r);
	const struct retry_request *q = c->asked;
	struct crawl_change *a = &c->in_frontier;

	a->names = ARENA_ARRAY(&a->arena, struct change_name, q->urls_n);
	for (; a->names_n < q->urls_n; a->names_n++)
		if (read_url(c, q->urls[a->names_n], a->names_n,
		    &a->names[a->names_n], &r->why) != OK)
			return END;
	return FORGET;
}

/* --- another try ---------------------------------------------------------- */

static void
forget_trouble(struct request *r, size_t loop)
{
	const struct change *c = change_of(r);
	const struct crawl_change *a = &c->in_frontier;

	fetcher_forget_trouble(c->engine->fetchers[loop], c->crawl,
	    a->which == CHANGE_NAMED || (a->which == CHANGE_SKIPPED &&
	    a->reason == SKIP_ROBOTS));
}

static bool
again(const void *rules, struct str url, unsigned depth, double *cost)
{
	const struct crawl_rules *r = rules;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct policy_verdict v = { .take = false };
	struct url u;

	if (url_parse(url, NULL, &a, &u, NULL) == OK)
		policy_judge_url(r->policy, &u, *cost, depth, false, &v);
	/* Whether it may be reached is for the loop that asks. */
	if (!v.take && v.reason != SKIP_BLOCKED)
		return false;
	*cost = v.cost;
	return true;
}

static int
wait_again(struct request *r)
{
	struct change *c = change_of(r);

	c->in_frontier.rules = &c->rules->is;
	c->in_frontier.again = again;
	return change_in_frontier(c, CHANGE_RETRY, END);
}

/* --- the verb ------------------------------------------------------------- */

static void
retry_done(struct request *r)
{
	struct retry_request *q = change_of(r)->asked;

	q->why = r->why;
	q->requeued = change_of(r)->in_frontier.n;
	change_free(change_of(r));
	q->done(q);
}

static const struct request_step retry_steps[] = { RETRY_STEPS(REQUEST_ROW) };

void
crawl_retry(struct engine *e, struct retry_request *q)
{
	change_start(change_new(e, q->crawl, q, BEGIN, END, retry_done),
	    retry_steps);
}
