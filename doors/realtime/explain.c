/*
 * explain -- whether a policy would take a URL: the verdict, every rule with
 * what it matched, and robots.txt where it is known.
 */
#include "doors/realtime/own.h"

static const char *const matches[] = { "no", "yes", "gave_up" };

static void
put_rule(struct buf *b, const struct policy_url_rule *r,
    enum policy_match match)
{
	json_object(b, NULL);
	if (r->pattern.p == NULL)
		json_null(b, "pattern");
	else
		json_str(b, "pattern", r->pattern);
	json_str(b, "action", r->action == POLICY_ADD ? STR("add") :
	    STR("multiply"));
	json_real(b, "amount", r->amount);
	json_str(b, "match", str_of(matches[match]));
	buf_put_char(b, '}');
}

static void
put_explanation(struct buf *b, const struct policy_explanation *x)
{
	const struct policy_verdict *v = &x->verdict;

	json_bool(b, "take", v->take);
	if (v->take)
		json_null(b, "reason");
	else
		json_str(b, "reason", str_of(skip_name(v->reason)));
	json_real(b, "cost", v->cost);
	if (v->rule >= 0)
		json_u64(b, "rule", (uint64_t)v->rule);
	else
		json_null(b, "rule");
	/* It has no text only where no rule was consulted. */
	json_str(b, "text", str_of(v->text != NULL ? v->text : v->take ?
	    "it is taken" : skip_text(v->reason)));
	json_array(b, "rules");
	for (size_t i = 0; i < x->rules_n &&
	    b->n < REALTIME_ANSWER_BYTES_MAX; i++)
		put_rule(b, &x->rules[i], x->matches[i]);
	buf_put_char(b, ']');
}

static void
robots_came(struct robots_query *q)
{
	struct task *t = q->arg;
	struct why w = WHY_INIT;

	(void)task_back(t, &w, &q->arena, CODE_INTERNAL);
	task_put_robots(t, &q->verdict);
	task_answer(t);
}

/* Puts the last part of an explanation and answers the task. */
static void
explain_robots(struct task *t, const struct policy *p, struct str url)
{
	if (p->robots == POLICY_IGNORE) {
		task_answer(t);
		return;
	}
	struct robots_query *q = task_ask(t, sizeof(*q));
	*q = (struct robots_query){ .url = url,
	    .user_agent = policy_user_agent(p), .done = robots_came,
	    .arg = t };
	catalog_robots(engine_catalog(t->door->engine), q);
}

static void
judge_url(struct task *t, struct str json)
{
	const struct command *c = &t->command;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct policy_explanation x;
	FREED(policy_free) struct policy *policy = NULL;
	struct why w = WHY_INIT, pw = WHY_INIT;
	struct str canonical;
	struct str *seeds = ARENA_ARRAY(&a, struct str, c->seeds_n);

	for (size_t i = 0; i < c->seeds_n; i++)
		seeds[i] = c->seeds[i].url;
	enum err e = policy_parse(json, &policy, &pw);
	if (e == OK && conf_bool(t->door->host->conf,
	    CONF_FETCH_ALLOW_PRIVATE))
		policy->allow_private = true;
	if (e == OK)
		e = catalog_explain(c->url, policy, seeds, c->seeds_n,
		    command_has(c, ARG_BIT(PARENT_COST)) ? c->parent_cost : 1,
		    command_has(c, ARG_BIT(DEPTH)) ? (unsigned)MIN(c->depth,
		    FOUND_DEPTH_MAX) : 1, &a, &x, &canonical, &w);
	if (pw.err != OK) {
		task_fail(t, CODE_BAD_POLICY, "%s.", pw.text);
	} else if (e != OK) {
		task_fail_why(t, &w, CODE_UNKNOWN_POLICY);
	} else {
		json_str(task_data(t), "url", canonical);
		put_explanation(task_data(t), &x);
		explain_robots(t, policy, canonical);
	}
}

static void
got_policy(struct store_request *s)
{
	struct task *t = s->arg;

	if (task_back(t, &s->why, &s->arena, CODE_UNKNOWN_POLICY))
		judge_url(t, s->policy.json);
}

void
verb_explain(struct task *t)
{
	struct str name, json;

	if (!task_policy(t, &name, &json))
		return;
	if (json.n > 0) {
		judge_url(t, json);
		return;
	}
	struct store_request *s = task_ask(t, sizeof(*s));
	*s = (struct store_request){ .verb = STORE_POLICY_GET, .name =
	    name.n > 0 ? name : STR(STORE_POLICY_DEFAULT),
	    .done = got_policy, .arg = t };
	engine_store(t->door->engine, s);
}
