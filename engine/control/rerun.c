/*
 * An ended crawl is run again, or its failures are:
 *
 *     home ─► index: the crawl's spec ─► home ─► beside the groups, a piece at
 *     a time: the URLs that failed ─► home ─► crawl_launch()
 */
#include <yyjson.h>

#include "base/metric.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/control/control.h"
#include "engine/control/crawl_options.h"
#include "engine/control/engine_own.h"
#include "engine/frontier/failed_urls.h"

#define RERUN_METRICS(X)                                                     \
	X(URLS, COUNTER, "argiope_retry_urls_total",                         \
	    "Failed URLs that a new crawl retries.")                         \
	X(LEFT, COUNTER, "argiope_retry_urls_left_total",                    \
	    "Failed URLs that a retry left for a further crawl, "            \
	    "since it had crawl.retry_max already.")
enum { RERUN_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { RERUN_METRICS(METRIC_ROW) };

struct rerunning {
	struct engine *engine;
	struct rerun *rerun;
	struct spec_query spec;
	struct failures failures;
	struct ledger_query query;
	struct launch launch;
	struct buf policy;           /* with a depth of 0 */
	struct arena arena;
	struct why why;
};

static void
finish(struct rerunning *g)
{
	struct rerun *r = g->rerun;

	r->why = g->why;
	r->own = NULL;
	arena_free(&g->spec.arena);
	arena_free(&g->arena);
	buf_free(&g->failures.from);
	buf_free(&g->policy);
	mem_free(&g);
	r->done(r);
}

/* --- launching ----------------------------------------------------------- */

static void
launched(struct launch *l)
{
	struct rerunning *g = l->arg;

	if (l->why.err == OK && g->rerun->failures) {
		metric_add(&metrics[METRIC_URLS], (int64_t)g->rerun->seeds_n);
		metric_add(&metrics[METRIC_LEFT], (int64_t)g->rerun->left);
	}
	g->rerun->crawl = l->crawl;
	memcpy(g->rerun->in_force, l->in_force, sizeof(l->in_force));
	g->why = l->why;
	finish(g);
}

/* The failed URLs are the seeds, and no link is followed. */
static enum err
set_depth(struct rerunning *g, struct str json)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	yyjson_mut_doc *d = doc == NULL ? NULL : yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
	yyjson_mut_val *limits = yyjson_mut_obj_get(root, "limits");
	char *text = NULL;
	size_t n = 0;

	if (limits == NULL && yyjson_mut_is_obj(root)) {
		limits = yyjson_mut_obj(d);
		yyjson_mut_obj_add_val(d, root, "limits", limits);
	}
	if (limits != NULL) {
		yyjson_mut_obj_put(limits, yyjson_mut_str(d, "max_depth"),
		    yyjson_mut_uint(d, 0));
		text = yyjson_mut_write(d, 0, &n);
	}
	buf_put(&g->policy, text, text == NULL ? 0 : n);
	free(text);
	yyjson_mut_doc_free(d);
	yyjson_doc_free(doc);
	return g->policy.n > 0 ? OK : why(&g->why, ERR_CORRUPT,
	    "the record of crawl %u is damaged", g->rerun->of);
}

static void
launch_it(struct rerunning *g, const struct str *urls, const double *delays,
    size_t n)
{
	const struct crawl_spec *s = &g->spec.spec;
	struct launch_seed *seeds = ARENA_ARRAY(&g->arena, struct launch_seed,
	    n);

	for (size_t i = 0; i < n; i++)
		seeds[i] = (struct launch_seed){ urls[i], delays[i] };
	g->rerun->seeds_n = n;
	g->launch = (struct launch){
		.name = g->rerun->name.n > 0 ? g->rerun->name : s->name,
		.tags = s->tags, .tags_n = s->tags_n, .seeds = seeds,
		.seeds_n = n, .policy_json = g->policy.n > 0 ?
		buf_str(&g->policy) : s->policy, .done = launched, .arg = g };
	crawl_launch(g->engine, &g->launch);
}

/* --- what failed --------------------------------------------------------- */

/* The delays of the seeds' hosts hold for other URLs of these hosts, too. */
static void
launch_failures(struct rerunning *g)
{
	const struct failures *f = &g->failures;
	struct crawl_options o;

	/* It was parsed before. */
	(void)crawl_options_parse(g->spec.spec.options, &g->arena, &o);
	launch_it(g, f->urls, crawl_options_delays(&o, f->urls, f->urls_n,
	    &g->arena), f->urls_n);
}

static void
read_failures(struct ledger_query *q, struct index *x)
{
	failures_read(&CONTAINER(q, struct rerunning, query)->failures, x);
}

static void
failures_came(struct ledger_query *q)
{
	struct rerunning *g = CONTAINER(q, struct rerunning, query);
	struct failures *f = &g->failures;

	if (!f->ended && !g->engine->closing) {
		ledger_read_beside(frontier_ledger(g->engine->frontier), q);
		return;
	}
	g->engine->asked--;
	if (!f->ended)
		why(&g->why, ERR_CLOSED, "the program stops");
	else if (f->all == 0)
		why(&g->why, ERR_STATE, "nothing failed in crawl %u: there is "
		    "nothing to try again", g->rerun->of);
	else if (f->urls_n == 0)
		why(&g->why, ERR_STATE, "%llu URLs failed in crawl %u: there "
		    "is none left after the first %llu",
		    (unsigned long long)f->all, g->rerun->of,
		    (unsigned long long)f->start);
	g->rerun->failed = f->all;
	if (g->why.err == OK)
		g->rerun->left = f->all - f->start - f->urls_n;
	if (g->why.err != OK || set_depth(g, g->spec.spec.policy) != OK)
		finish(g);
	else
		launch_failures(g);
}

static void
find_failures(struct rerunning *g)
{
	size_t max = g->engine->retry_max;

	g->failures = (struct failures){ .crawl = g->rerun->of,
	    .start = g->rerun->start, .urls_max = max, .arena = &g->arena,
	    .urls = ARENA_ARRAY(&g->arena, struct str, max) };
	g->query = (struct ledger_query){ .home = g->engine->options.home,
	    .run = read_failures, .done = failures_came };
	g->engine->asked++;
	ledger_read_beside(frontier_ledger(g->engine->frontier), &g->query);
}

/* --- what it began with -------------------------------------------------- */

static enum err
check_spec(struct rerunning *g)
{
	if (g->spec.why.err != OK)
		return why(&g->why, g->spec.why.err, "%s", g->spec.why.text);
	return !g->spec.secret_proxy ? OK : why(&g->why, ERR_STATE, "crawl %u "
	    "used a proxy whose address is not kept: start a new crawl with "
	    "its proxy", g->rerun->of);
}

static void
spec_came(struct spec_query *a)
{
	struct rerunning *g = a->arg;

	if (check_spec(g) != OK)
		finish(g);
	else if (g->rerun->failures)
		find_failures(g);
	else
		launch_it(g, a->spec.seeds, a->delays, a->spec.seeds_n);
}

static enum err
check_row(const struct engine *e, const struct rerun *r, struct why *w)
{
	const struct crawl_row *row = crawl_row(e->registry, r->of);

	if (row == NULL || row->deleted)
		return why(w, ERR_ABSENT, "there is no crawl %u", r->of);
	if (row->view.kind != CRAWL_CRAWL)
		return why(w, ERR_STATE, "crawl %u belongs to crawlers from "
		    "outside, which fetch it", r->of);
	if (row->view.state == CRAWL_PENDING ||
	    row->view.state == CRAWL_RUNNING ||
	    row->view.state == CRAWL_PAUSED)
		return why(w, ERR_STATE, "crawl %u is %s: it can be run again "
		    "once it has ended", r->of,
		    crawl_state_name(row->view.state));
	return OK;
}

void
rerun_open(struct engine *e)
{
	metric_register(metrics, ARRAY_LEN(metrics));
	e->retry_max = (size_t)conf_int(e->options.conf, CONF_CRAWL_RETRY_MAX);
}

void
crawl_rerun(struct engine *e, struct rerun *r)
{
	struct rerunning *g = mem_new(sizeof(*g));

	g->engine = e;
	g->rerun = r;
	r->own = g;
	r->why = g->why = WHY_INIT;
	r->seeds_n = 0;
	r->failed = r->left = 0;
	if (check_row(e, r, &g->why) != OK) {
		finish(g);
		return;
	}
	r->name = arena_copy(&g->arena, r->name);
	g->spec = (struct spec_query){ .crawl = r->of, .done = spec_came,
	    .arg = g };
	catalog_spec(e, &g->spec);
}
