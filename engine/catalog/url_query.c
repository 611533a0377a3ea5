/* One URL of a crawl: what became of it, and what would become of it now. */
#include "engine/catalog/core.h"
#include "engine/fetcher/fetcher.h"
#include "engine/ledger/ledger_places.h"

#define URL_STEPS(X)                                                         \
	X(READ_SPEC, AT_READ, read_spec, "the crawl's policy and seeds")     \
	X(JUDGE_URL, AT_POOL, judge_url, "what policy and robots.txt say")   \
	X(FIND_URL, AT_MAIN, find_url, "the frontier: what became of it")    \
	X(READ_HOST, AT_EACH_LOOP, request_next, "its host",                 \
	    .each = read_host)                                               \
	X(GIVE_TEXTS, AT_MAIN, give_texts, "the sentences")
enum { URL_STEPS(REQUEST_ENUM) };

/* --- sentences ----------------------------------------------------------- */

/* The policy sees only names; the operator may crawl his own hosts. */
static void
permit(struct url_query *q)
{
	struct policy_verdict *v = &q->verdict;
	const struct catalog_options *o = &q->catalog->options;

	if (v->take || v->reason != SKIP_BLOCKED || (!q->asked->allowed &&
	    !atomic_load(o->settings)->allow_private))
		return;
	v->take = true;
	v->reason = SKIP_NONE;
	v->text = "private addresses are permitted";
}

static void
mind_robots(struct url_query *q)
{
	if (!q->verdict.take || q->robots.ignored || !q->robots.known ||
	    q->robots.allowed)
		return;
	q->verdict.take = false;
	q->verdict.reason = SKIP_ROBOTS;
	q->verdict.text = robots_verdict_text(&q->robots, &q->arena).p;
}

/* Why it was skipped, as far as today's rules and robots.txt still say so. */
static void
name_reason(struct url_query *q)
{
	bool skipped = q->state == URL_SKIPPED || (q->state == URL_DONE &&
	    q->fact.outcome == OUTCOME_SKIPPED);

	if (!skipped)
		return;
	if (!q->verdict.take && q->verdict.reason ==
	    (enum skip_reason)q->fact.reason)
		q->reason_text = str_of(q->verdict.text);
	else
		q->reason_text = str_of(skip_text(
		    (enum skip_reason)q->fact.reason));
}

static int
give_texts(struct request *r)
{
	struct url_query *q = CONTAINER(r, struct url_query, request);

	q->host_known = q->found.host_known;
	if (q->host_known)
		host_view_of(q->asked, q->found.queued, &q->arena,
		    &q->host_view);
	permit(q);
	mind_robots(q);
	name_reason(q);
	if (!q->verdict.take)
		q->verdict_text = arena_printf(&q->arena, "it would be "
		    "skipped: %s", q->verdict.text);
	else if (q->verdict.rule >= 0)
		q->verdict_text = arena_printf(&q->arena, "it would be taken "
		    "by URL rule %d", q->verdict.rule + 1);
	else
		q->verdict_text = STR("it would be taken");
	return REQUEST_DONE;
}

/* --- what is read -------------------------------------------------------- */

static int
read_spec(struct request *r)
{
	struct url_query *q = CONTAINER(r, struct url_query, request);
	struct why *w = &q->why;

	return look_is_there(request_index(r), q->crawl, w) == OK &&
	    frontier_spec(q->catalog->options.frontier, q->crawl,
	    &q->arena, &q->spec, w) == OK ? JUDGE_URL : REQUEST_DONE;
}

static int
judge_url(struct request *r)
{
	struct url_query *q = CONTAINER(r, struct url_query, request);
	struct policy_explanation x;
	FREED(policy_free) struct policy *policy = NULL;
	struct url u;

	enum err e = policy_parse(q->spec.policy, &policy, &q->why);
	if (e == OK)
		e = catalog_explain(q->url, policy, q->spec.seeds,
		    q->spec.seeds_n, 1, 1, &q->arena, &x, &q->canonical,
		    &q->why);
	if (e == OK)
		e = url_parse(q->canonical, NULL, &q->arena, &u, &q->why);
	if (e == OK) {
		q->host = u.host;
		q->verdict = x.verdict;
		q->robots.ignored = policy->robots == POLICY_IGNORE;
		if (!q->robots.ignored)
			robots_verdict_read(q->catalog, q->canonical,
			    policy_user_agent(policy), &q->arena, &q->robots);
	}
	return e == OK ? FIND_URL : REQUEST_DONE;
}

static void
url_found(struct frontier_url_query *l)
{
	struct url_query *q = CONTAINER(l, struct url_query, found);

	q->why = l->why;
	q->state = l->state;
	q->fact = l->fact;
	q->number = l->number;
	q->answer = l->answer;
	q->answer.file = arena_copy(&q->arena, l->answer.file);
	request_resume(&q->request, l->why.err == OK ? READ_HOST :
	    REQUEST_DONE);
}

static int
find_url(struct request *r)
{
	struct url_query *q = CONTAINER(r, struct url_query, request);

	q->asked->host = q->host;
	q->loops = loop_views_new(q->catalog, q->crawl, 0, q->asked, 1);
	q->found = (struct frontier_url_query){ .crawl = q->crawl,
		.url = q->canonical, .host = q->host, .done = url_found };
	frontier_url_query(q->catalog->options.frontier, &q->found);
	return REQUEST_WAIT;
}

static void
read_host(struct request *r, size_t loop)
{
	struct url_query *q = CONTAINER(r, struct url_query, request);

	fetcher_look_crawl(q->catalog->options.fetchers[loop],
	    &q->loops[loop]);
}

static const struct request_step steps[] = { URL_STEPS(REQUEST_ROW) };

static void
answer(struct request *r)
{
	struct url_query *q = CONTAINER(r, struct url_query, request);

	arena_free(&q->found.arena);
	loop_views_free(q->catalog, &q->loops);
	q->done(q);
}

void
catalog_url(struct catalog *c, struct url_query *q)
{
	*q = (struct url_query){ .crawl = q->crawl, .url = q->url,
	    .state = URL_UNKNOWN, .verdict.rule = -1, .done = q->done,
	    .arg = q->arg, .catalog = c, .request.done = answer };
	q->url = arena_copy(&q->arena, q->url);
	q->asked = ARENA_NEW(&q->arena, struct fetcher_host);
	request_start(&q->request, c->options.places, steps, READ_SPEC);
}
