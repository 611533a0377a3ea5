/*
 * argiope explain -- what a crawl would do with a URL, and why: its canonical
 * form, the rules one by one, traps, its address, robots.txt, its state.
 */
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/engines.h"
#include "cli/format.h"
#include "cli/plan.h"
#include "cli/verbs.h"
#include "engine/catalog/catalog.h"
#include "engine/policy/address.h"
#include "engine/policy/robots.h"

static const struct option_row rows[] = {
	OPTION_ROW(CRAWL, "crawl", 0, "NAME|ID", TEXT, 0, 0,
	    "with the policy and seeds of this crawl, and what it knows of "
	    "the URL")
	OPTION_ROW(SEED, "seed", 0, "URL", TEXT, 0, 0,
	    "a seed of the crawl, for the scope; may be given again (the URL "
	    "itself)")
	OPTION_ROW(AT_DEPTH, "at-depth", 0, "N", NUMBER, 0, 65535,
	    "the link is N links away from its seed (1)")
	OPTION_ROW(EMBED, "embed", 0, NULL, FLAG, 0, 0,
	    "the link is a part of its page: image, style, script")
	PLAN_OPTIONS(OPTION_ROW) OPTION_JSON(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb explain_verb = {
	"explain", "URL", 1, 1,
	"Tell whether a crawl would take a URL, and which rule decides",
	"The policy is made as for crawl: by --policy and the options; with "
	"--crawl it is that crawl's.  robots.txt is looked up in what earlier "
	"crawls stored in the data directory; nothing is fetched.\n"
	"Exit code: 0 whether it is taken or not; 65 it is no URL; 66 there is "
	"no such crawl; 75 another process holds the data, and --crawl needs "
	"it.",
	rows, ARRAY_LEN(rows)
};

/* Gathered first, then printed in one of two forms. */
struct explained {
	struct cli *cli;
	struct url url;
	struct policy *policy;
	struct policy_compiled *compiled;
	const struct str *seeds;
	size_t seeds_n;
	struct policy_explanation rules;
	struct trap_verdict trap;
	bool seed_host;              /* the URL is on a seed's host */
	bool literal;
	enum address_class class;

	struct engine *engine;       /* NULL: the data could not be opened */
	struct loop *home;
	struct why no_data;
	uint32_t crawl;              /* UINT32_MAX: none */
	enum url_state state;
	struct url_fact fact;
	bool robots_there, robots_allow;
	struct wall robots_date;
	int robots_status;
	struct robots *robots;
	struct robots_match match;
	const char *robots_rule;     /* what it says, as a sentence */
};

/* --- gathering ---------------------------------------------------------- */

static void
open_data(struct explained *x)
{
	struct cli *c = x->cli;
	struct engine_options o = { .conf = &c->conf, .loops = 1,
	    .small = true };

	if (cli_data_dir(c, &x->no_data) != OK)
		return;
	if (!cli_is_there(c->data_dir)) {
		why(&x->no_data, ERR_ABSENT, "there is no data in %s",
		    c->data_dir);
		return;
	}
	o.data_dir = c->data_dir;
	o.home = x->home = loop_new("home");
	if (engines_open(engine_open, &o, &x->engine, &x->no_data) != OK)
		x->engine = NULL;
}

static enum err
from_crawl(struct explained *x, struct why *w)
{
	struct str name = str_of(cli_text(x->cli, "crawl", ""));
	struct crawl_spec spec;
	const char *edits = plan_edits(x->cli);

	if (edits != NULL)
		return why(w, ERR_USAGE, "--%s and --crawl exclude one "
		    "another: the crawl has its policy", edits);
	if (x->engine == NULL)
		return why(w, x->no_data.err, "%s", x->no_data.text);
	enum err e = engines_find(x->engine, name, &x->crawl, w);
	if (e == OK)
		e = engine_spec(x->engine, x->crawl, &x->cli->arena, &spec, w);
	if (e != OK)
		return e;
	x->seeds = spec.seeds;
	x->seeds_n = spec.seeds_n;
	return policy_parse(spec.policy, &x->policy, w);
}

static enum err
from_options(struct explained *x, struct why *w)
{
	struct cli *c = x->cli;

	struct str *seeds = ARENA_ARRAY(&x->cli->arena, struct str,
	    cli_count(c, "seed") + 1);
	for (size_t i = 0; i < cli_count(c, "seed"); i++)
		seeds[x->seeds_n++] = str_of(cli_nth(c, "seed", i));
	if (x->seeds_n == 0)
		seeds[x->seeds_n++] = str_of(c->options.operands[0]);
	x->seeds = seeds;
	return plan_policy(c, x->seeds, x->seeds_n, &x->policy, w);
}

static enum err
compile(struct explained *x, struct str host, struct why *w)
{
	struct arena *a = &x->cli->arena;
	struct policy *p;
	size_t n;
	struct url *seeds = seeds_parse(x->seeds, x->seeds_n, a, &n);

	if (n == 0)
		return why(w, ERR_INPUT, "no seed is a URL");
	for (size_t i = 0; i < n; i++)
		x->seed_host |= str_eq(seeds[i].host, host);
	/* The operator's own URL may be private, as with crawl. */
	p = policy_copy(x->policy);
	p->allow_private |= x->seed_host;
	enum err e = policy_compile(p, seeds, n, &x->compiled, w);
	policy_free(&p);
	return e;
}

static void
ask_robots(struct explained *x)
{
	struct str body, token = text_product_token(policy_user_agent(
	    x->policy));

	if (engine_stored_robots(x->engine, &x->url, &x->cli->arena,
	    &x->robots_date, &x->robots_status, &body) != OK)
		return;
	x->robots_there = true;
	enum robots_status s = robots_from_status(x->robots_status);
	if (token.n == 0)
		token = text_product_token(conf_str(&x->cli->conf,
		    CONF_FETCH_USER_AGENT));
	x->robots = s == ROBOTS_PARSE ? robots_parse(body, token) :
	    robots_all(s == ROBOTS_ALLOW_ALL);
	x->robots_allow = robots_allows(x->robots, url_target(&x->url),
	    &x->match);
	x->robots_rule = robots_verdict_text(&(struct robots_verdict){
	    .allowed = x->robots_allow, .line = x->match.line,
	    .text = x->match.text, .status = x->robots_status },
	    &x->cli->arena).p;
}

static enum err
gather(struct explained *x, struct why *w)
{
	struct cli *c = x->cli;
	struct arena *a = &c->arena;
	struct why inner = WHY_INIT;
	struct url u;
	uint8_t ip[16];

	enum err e = seed_parse(str_of(c->options.operands[0]), a, &u, &inner);
	if (e != OK)
		return why(w, e, "%.100s is no URL that can be fetched: %s",
		    c->options.operands[0], inner.text);
	open_data(x);
	e = cli_count(c, "crawl") > 0 ? from_crawl(x, w) : from_options(x, w);
	if (e == OK)
		e = compile(x, u.host, w);
	if (e == OK)
		e = policy_canonical(x->compiled, &u, a, &x->url, w);
	if (e != OK)
		return e;
	policy_explain(x->compiled, &x->url, 1, (unsigned)cli_number(c,
	    "at-depth", 1), cli_count(c, "embed") > 0, a, &x->rules);
	(void)!trap_judge_url(&x->policy->traps, &x->url, &x->trap);
	x->literal = address_parse(x->url.host, ip);
	if (x->literal)
		x->class = address_classify(ip);
	if (x->crawl != UINT32_MAX)
		x->state = engine_find_url(x->engine, x->crawl, &x->url,
		    &x->fact);
	if (x->engine != NULL)
		ask_robots(x);
	return OK;
}

/* --- what it comes to --------------------------------------------------- */

static bool
is_blocked(const struct explained *x)
{
	return address_host_is_local(x->url.host) && !x->seed_host &&
	    !x->policy->allow_private;
}

static bool
robots_forbid(const struct explained *x)
{
	return x->robots_there && !x->robots_allow &&
	    x->policy->robots == POLICY_OBEY;
}

/* The first guard that a URL meets which does not let it through. */
static enum skip_reason
verdict(const struct explained *x, const char **text)
{
	*text = x->rules.verdict.text;
	if (!x->rules.verdict.take)
		return x->rules.verdict.reason;
	if (x->trap.reason != SKIP_NONE) {
		*text = x->trap.text;
		return x->trap.reason;
	}
	*text = "the address is private or local";
	if (is_blocked(x))
		return SKIP_BLOCKED;
	*text = x->robots_rule;
	if (robots_forbid(x))
		return SKIP_ROBOTS;
	*text = x->rules.verdict.text;
	return SKIP_NONE;
}

static const char *const state_names[] = { "unknown", "waiting", "leased",
	"done", "skipped" };

static const char *
outcome_text(const struct explained *x)
{
	if (x->state == URL_SKIPPED || (x->state == URL_DONE &&
	    x->fact.outcome == OUTCOME_SKIPPED))
		return skip_text((enum skip_reason)x->fact.reason);
	if (x->state != URL_DONE)
		return "";
	return x->fact.outcome == OUTCOME_ITEM ? "captured" :
	    x->fact.outcome == OUTCOME_AUX ? "a sitemap, read" :
	    x->fact.outcome == OUTCOME_EXCEPTION &&
	    x->fact.reason < EXCEPTION_COUNT ?
	    exception_name((enum exception)x->fact.reason) : "";
}

/* --- as text ------------------------------------------------------------ */

static void
line(struct buf *b, const char *name, struct str text)
{
	buf_printf(b, "%-12s ", name);
	format_safe(b, text, 2000);
	buf_put_char(b, '\n');
}

static void
put_address(const struct explained *x, struct buf *b)
{
	if (x->literal)
		line(b, "address", str_of(address_class_text(x->class)));
	else if (address_host_is_local(x->url.host))
		line(b, "address", STR("a name of this machine"));
	else
		line(b, "address", STR("the name decides when it is looked "
		    "up; private addresses are refused"));
	if (is_blocked(x))
		line(b, "", STR("only --allow-private, or a seed on that "
		    "host, lets it through"));
}

static void
put_robots(const struct explained *x, struct buf *b)
{
	char iso[WALL_ISO_MAX];

	if (x->policy->robots == POLICY_IGNORE) {
		line(b, "robots.txt", STR("is ignored by the policy"));
		return;
	}
	if (x->engine == NULL) {
		line(b, "robots.txt", str_of(x->no_data.text));
		return;
	}
	if (!x->robots_there) {
		line(b, "robots.txt", STR("is not known yet; it will be asked "
		    "for first"));
		return;
	}
	wall_to_iso(x->robots_date, iso);
	buf_printf(b, "%-12s %s: ", "robots.txt", x->robots_allow ?
	    "allows it" : "forbids it");
	if (x->match.line > 0)
		buf_printf(b, "line %u, ", x->match.line);
	format_safe(b, x->match.text, 200);
	buf_printf(b, " (fetched %s, status %d)\n", iso, x->robots_status);
}

/* When its host may be asked again after a fetch. */
static void
put_delay(const struct explained *x, struct buf *b)
{
	double s = x->policy->rate_limit;
	int64_t ms = x->robots == NULL ? -1 : robots_delay_ms(x->robots);

	buf_printf(b, "%-12s ", "delay");
	if (ms >= 0 && (double)ms / 1000 > s)
		buf_printf(b, "%.3g s between two fetches from its host, as "
		    "robots.txt asks\n", (double)ms / 1000);
	else
		buf_printf(b, "%.3g s between two fetches from its host\n", s);
}

static void
put_text(const struct explained *x, struct buf *b)
{
	FREED(buf_free) struct buf rules = BUF_INIT;
	const char *text, *outcome = outcome_text(x);
	enum skip_reason reason = verdict(x, &text);

	line(b, "URL", x->url.href);
	line(b, "SURT", url_surt(&x->url, &x->cli->arena));
	line(b, "queue", x->url.host);
	put_address(x, b);
	put_robots(x, b);
	put_delay(x, b);
	if (x->crawl != UINT32_MAX) {
		buf_printf(b, "%-12s %s%s%s in crawl %u", "state",
		    state_names[x->state], outcome[0] != '\0' ? ": " : "",
		    outcome, x->crawl);
		if (x->state != URL_UNKNOWN)
			buf_printf(b, ", depth %u, cost %.6g", x->fact.depth,
			    x->fact.cost);
		buf_put_char(b, '\n');
	}
	if (x->trap.reason != SKIP_NONE)
		buf_printf(b, "%-12s %s (%s)\n", "trap", x->trap.text,
		    x->trap.field);
	policy_explanation_print(&x->rules, &rules);
	/* Its last line is the rules' verdict; ours follows below. */
	do
		rules.n -= rules.n > 0;
	while (rules.n > 0 && rules.p[rules.n - 1] != '\n');
	buf_put_text(b, "\nrules\n");
	format_lines(b, buf_str(&rules), "  ");
	buf_printf(b, "\n%s: ", reason == SKIP_NONE ? "taken" : "skipped");
	if (reason != SKIP_NONE)
		buf_printf(b, "%s, ", skip_name(reason));
	format_safe(b, str_of(text), 500);
	buf_put_char(b, '\n');
}

/* --- as JSON ------------------------------------------------------------ */

static void
put_rules_json(const struct explained *x, struct buf *b)
{
	static const char *const matches[] = { "no", "yes", "gave_up" };

	json_array(b, "rules");
	for (size_t i = 0; i < x->rules.rules_n; i++) {
		const struct policy_url_rule *r = &x->rules.rules[i];
		json_object(b, NULL);
		json_str(b, "pattern", r->pattern);
		json_str(b, "action", r->action == POLICY_ADD ? STR("add") :
		    STR("multiply"));
		json_decimals(b, "amount", r->amount, 3);
		json_str(b, "match", str_of(matches[x->rules.matches[i]]));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
put_json(const struct explained *x, struct buf *b)
{
	const char *text;
	enum skip_reason reason = verdict(x, &text);

	buf_put_char(b, '{');
	json_str(b, "url", x->url.href);
	json_str(b, "surt", url_surt(&x->url, &x->cli->arena));
	json_str(b, "queue", x->url.host);
	json_bool(b, "take", reason == SKIP_NONE);
	json_str(b, "reason", str_of(skip_name(reason)));
	json_str(b, "text", str_of(text));
	json_decimals(b, "cost", x->rules.verdict.cost, 3);
	json_decimals(b, "delay_s", x->policy->rate_limit, 3);
	json_name(b, "rule");
	buf_printf(b, "%d", x->rules.verdict.rule);
	put_rules_json(x, b);
	if (x->literal)
		json_str(b, "address", str_of(address_class_text(x->class)));
	if (x->trap.reason != SKIP_NONE)
		json_str(b, "trap", str_of(x->trap.field));
	if (x->robots_there) {
		json_bool(b, "robots_allow", x->robots_allow);
		json_u64(b, "robots_line", x->match.line);
		json_str(b, "robots_text", x->match.text);
		json_u64(b, "robots_status", (uint64_t)x->robots_status);
	}
	if (x->crawl != UINT32_MAX) {
		json_u64(b, "crawl", x->crawl);
		json_str(b, "state", str_of(state_names[x->state]));
		json_str(b, "outcome", str_of(outcome_text(x)));
	}
	buf_put_text(b, "}\n");
}

enum err
explain_run(struct cli *c, struct why *w)
{
	struct explained x = { .cli = c, .crawl = UINT32_MAX };

	enum err e = cli_log(&c->conf, true, w);
	if (e == OK)
		e = gather(&x, w);
	if (e == OK && cli_json(c))
		put_json(&x, &c->out);
	else if (e == OK)
		put_text(&x, &c->out);
	robots_free(&x.robots);
	policy_compiled_free(&x.compiled);
	policy_free(&x.policy);
	engine_free(&x.engine);
	loop_free(&x.home);
	return e;
}
