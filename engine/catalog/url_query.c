/*
 * One URL: what a policy says of it, and what became of it in a crawl.
 *
 *     home ─► index: the crawl's policy ─► home ─► pool: it judges ─► home ─►
 *          ledger's loop, index: its state ─► home ─► all loops: its host ─►
 */
#include "base/text.h"
#include "engine/catalog/diagnostics.h"
#include "engine/policy/robots.h"

/* --- what a policy says -------------------------------------------------- */

static enum err
read_seeds(struct str url, const struct str *texts, size_t n,
    struct arena *a, struct url **seeds, size_t *seeds_n, struct why *w)
{
	*seeds = ARENA_ARRAY(a, struct url, n + 1);
	*seeds_n = 0;
	for (size_t i = 0; i < n; i++)
		if (engine_seed(texts[i], a, &(*seeds)[*seeds_n], NULL) == OK)
			(*seeds_n)++;
	if (*seeds_n == 0 && n > 0)
		return why(w, ERR_INPUT, "seeds: none is an http or https "
		    "URL");
	if (*seeds_n > 0)
		return OK;
	*seeds_n = 1;
	return engine_seed(url, a, &(*seeds)[0], NULL);
}

/* What borrows from the compiled policy, which goes. */
static void
keep(struct policy_explanation *x, struct arena *a)
{
	struct policy_url_rule *rules = ARENA_ARRAY(a, struct policy_url_rule,
	    x->rules_n + 1);

	for (size_t i = 0; i < x->rules_n; i++) {
		rules[i] = x->rules[i];
		if (rules[i].pattern.p != NULL)
			rules[i].pattern = arena_copy(a, rules[i].pattern);
	}
	x->rules = rules;
	x->verdict.text = arena_copy(a, str_of(x->verdict.text)).p;
}

static void
mind_traps(const struct policy *p, const struct url *u,
    struct policy_verdict *v)
{
	struct trap_verdict t;

	if (!v->take || trap_judge_url(&p->traps, u, &t))
		return;
	v->take = false;
	v->reason = t.reason;
	v->rule = -1;
	v->text = t.text;
}

enum err
catalog_explain(struct str text, const struct policy *policy,
    const struct str *seeds, size_t seeds_n, double parent_cost,
    unsigned depth, struct arena *a, struct policy_explanation *out,
    struct str *canonical, struct why *w)
{
	struct policy_compiled *compiled = NULL;
	struct why inner = WHY_INIT;
	struct url u, plain, *list;
	size_t n;

	enum err e = engine_seed(text, a, &plain, &inner);
	if (e != OK)
		return why(w, ERR_INPUT, "url: %s", inner.text);
	e = read_seeds(text, seeds, seeds_n, a, &list, &n, w);
	if (e == OK)
		e = policy_compile(policy, list, n, &compiled, &inner);
	if (inner.err != OK)
		why_field(w, e, "policy", "%s", inner.text);
	if (e == OK)
		e = policy_canonical(compiled, &plain, a, &u, w);
	if (e == OK) {
		policy_explain(compiled, &u, parent_cost, depth, false, a,
		    out);
		mind_traps(policy, &u, &out->verdict);
		keep(out, a);
		*canonical = u.href;
	}
	policy_compiled_free(&compiled);
	return e;
}

/* --- what robots.txt says ------------------------------------------------ */

static void
look_at_robots(struct engine *e, struct str url, struct str user_agent,
    struct arena *a, struct robots_verdict *out)
{
	struct str token = text_product_token(user_agent), body;
	struct robots_match match;
	struct url u;

	if (token.n == 0)
		token = e->settings->product_token;
	if (url_parse(url, NULL, a, &u, NULL) != OK || fetcher_stored_robots(
	    ledger_index(frontier_ledger(e->frontier)), url_origin(&u, a), a,
	    &out->fetched, &out->status, &body) != OK)
		return;
	enum robots_status s = robots_from_status(out->status);
	struct robots *r = s == ROBOTS_PARSE ? robots_parse(body, token) :
	    robots_all(s == ROBOTS_ALLOW_ALL);
	out->known = true;
	out->allowed = robots_allows(r, url_target(&u), &match);
	out->line = match.line;
	out->text = arena_copy(a, match.text);
	robots_free(&r);
}

struct str
robots_verdict_text(const struct robots_verdict *v, struct arena *a)
{
	const char *verb = v->allowed ? "allows" : "forbids";

	return v->line > 0 ? arena_printf(a, "line %u of robots.txt %s it: "
	    "%.*s", v->line, verb, STR_FMT(v->text)) : arena_printf(a,
	    "robots.txt (status %d) %s it", v->status, verb);
}

struct robots_asking {
	struct job job;
	struct engine *engine;
	struct robots_query *ask;
};

/* On the pool: a robots.txt may be long. */
static void
run_robots(struct job *job)
{
	struct robots_asking *g = CONTAINER(job, struct robots_asking, job);
	struct robots_query *q = g->ask;

	look_at_robots(g->engine, q->url, q->user_agent, &q->arena,
	    &q->verdict);
}

static void
robots_came(struct mail *m)
{
	struct robots_asking *g = CONTAINER(m, struct robots_asking, job.mail);
	struct robots_query *q = g->ask;

	g->engine->asked--;
	mem_free(&g);
	q->own = NULL;
	q->done(q);
}

void
catalog_robots(struct engine *e, struct robots_query *q)
{
	struct robots_asking *g = mem_new(sizeof(*g));

	q->arena = ARENA_INIT;
	q->url = arena_copy(&q->arena, q->url);
	q->user_agent = arena_copy(&q->arena, q->user_agent);
	q->verdict = (struct robots_verdict){ 0 };
	q->own = g;
	g->engine = e;
	g->ask = q;
	g->job.home = e->options.home;
	g->job.run = run_robots;
	g->job.mail.deliver = robots_came;
	e->asked++;
	pool_submit(e->pool, &g->job);
}

/* --- asking -------------------------------------------------------------- */

struct find_asking {
	struct engine *engine;
	struct url_query *ask;
	struct ledger_query query;
	struct job job;
	struct arena arena;
	struct crawl_spec spec;
	struct frontier_url_query one;
	struct loops_look loops;
	struct fetcher_host host;
};

static void
finish(struct find_asking *g)
{
	struct url_query *q = g->ask;

	g->engine->asked--;
	arena_free(&g->arena);
	arena_free(&g->one.arena);
	loops_look_free(&g->loops);
	mem_free(&g);
	q->own = NULL;
	q->done(q);
}

/* The policy sees only names; the operator may crawl his own hosts. */
static void
permit(struct find_asking *g, struct policy_verdict *v)
{
	if (v->take || v->reason != SKIP_BLOCKED ||
	    (!g->host.allowed && !g->engine->settings->allow_private))
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

static void
loops_came(struct loops_look *all)
{
	struct find_asking *g = CONTAINER(all, struct find_asking, loops);
	struct url_query *q = g->ask;

	q->host_known = g->one.host_known;
	if (q->host_known)
		host_view_of(&g->host, g->one.queued, &q->arena,
		    &q->host_view);
	permit(g, &q->verdict);
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
	finish(g);
}

static void
one_came(struct frontier_url_query *l)
{
	struct find_asking *g = CONTAINER(l, struct find_asking, one);

	if (l->why.err != OK) {
		g->ask->why = l->why;
		finish(g);
		return;
	}
	g->ask->state = l->state;
	g->ask->fact = l->fact;
	g->ask->number = l->number;
	g->ask->answer = l->answer;
	g->ask->answer.file = arena_copy(&g->ask->arena, l->answer.file);
	g->host.host = g->ask->host;
	g->loops.hosts = &g->host;
	g->loops.hosts_n = 1;
	g->loops.done = loops_came;
	loops_look(g->engine, &g->loops, g->ask->crawl, 0);
}

/* On the pool: its canonical form, and what the policy says. */
static void
judge(struct job *job)
{
	struct find_asking *g = CONTAINER(job, struct find_asking, job);
	struct url_query *q = g->ask;
	struct policy_explanation x;
	struct policy *policy = NULL;
	struct url u;

	enum err e = policy_parse(g->spec.policy, &policy, &q->why);
	if (e == OK)
		e = catalog_explain(q->url, policy, g->spec.seeds,
		    g->spec.seeds_n, 1, 1, &q->arena, &x, &q->canonical,
		    &q->why);
	if (e == OK)
		e = url_parse(q->canonical, NULL, &q->arena, &u, &q->why);
	if (e == OK) {
		q->host = u.host;
		q->verdict = x.verdict;
		q->robots.ignored = policy->robots == POLICY_IGNORE;
		if (!q->robots.ignored)
			look_at_robots(g->engine, q->canonical,
			    policy_user_agent(policy), &q->arena, &q->robots);
	}
	policy_free(&policy);
}

static void
judged(struct mail *m)
{
	struct find_asking *g = CONTAINER(m, struct find_asking, job.mail);
	struct url_query *q = g->ask;

	if (q->why.err != OK) {
		finish(g);
		return;
	}
	g->one = (struct frontier_url_query){ .crawl = q->crawl,
		.url = q->canonical,
		.host = q->host,
		.home = g->engine->options.home,
		.done = one_came };
	frontier_url_query(g->engine->frontier, &g->one);
}

/* On the index thread. */
static void
read_spec(struct ledger_query *query, struct index *x)
{
	struct find_asking *g = CONTAINER(query, struct find_asking, query);
	struct why *w = &g->ask->why;

	/* The answer is in the ask's why. */
	if (look_is_there(x, g->ask->crawl, w) == OK)
		(void)!frontier_spec(g->engine->frontier, g->ask->crawl,
		    &g->arena, &g->spec, w);
}

static void
spec_read(struct ledger_query *query)
{
	struct find_asking *g = CONTAINER(query, struct find_asking, query);

	if (g->ask->why.err != OK) {
		finish(g);
		return;
	}
	g->job.home = g->engine->options.home;
	g->job.run = judge;
	g->job.mail.deliver = judged;
	pool_submit(g->engine->pool, &g->job);
}

void
catalog_url(struct engine *e, struct url_query *q)
{
	struct find_asking *g = mem_new(sizeof(*g));

	q->arena = ARENA_INIT;
	q->url = arena_copy(&q->arena, q->url);
	q->canonical = q->host = q->verdict_text = STR_NONE;
	q->state = URL_UNKNOWN;
	q->fact = (struct url_fact){ 0 };
	q->number = 0;
	q->answer = (struct url_answer){ 0 };
	q->host_known = false;
	q->verdict = (struct policy_verdict){ .rule = -1 };
	q->robots = (struct robots_verdict){ 0 };
	q->reason_text = STR_NONE;
	q->why = WHY_INIT;
	q->own = g;
	g->engine = e;
	g->ask = q;
	g->query.home = e->options.home;
	g->query.run = read_spec;
	g->query.done = spec_read;
	e->asked++;
	ledger_read(frontier_ledger(e->frontier), &g->query);
}
