/* An ended crawl is run again, or its failures are: RERUN_STEPS. */
#include <yyjson.h>

#include "base/metric.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/control/engine_own.h"
#include "engine/frontier/query.h"
#include "engine/ledger/ledger_places.h"

#define RERUN_METRICS(X)                                                     \
	X(URLS, COUNTER, "argiope_retry_urls_total",                         \
	    "Failed URLs that a new crawl retries.")                         \
	X(LEFT, COUNTER, "argiope_retry_urls_left_total",                    \
	    "Failed URLs that a retry left for a further crawl, "            \
	    "since it had crawl.retry_max already.")
enum { RERUN_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { RERUN_METRICS(METRIC_ROW) };

#define RERUN_STEPS(X)                                                       \
	X(ROW, AT_MAIN, check_row, "there is such a crawl, and it has ended") \
	X(SPEC, AT_READ, read_spec, "what it began with")                    \
	X(FAILED, AT_BESIDE, read_failed, "some of the URLs that failed")    \
	X(MORE, AT_MAIN, look_for_more, "those that follow, unless it stops") \
	X(LAUNCH, AT_MAIN, launch_again, "a new crawl of these seeds")       \
	X(LAUNCHED, AT_MAIN, take_answer, "its number, its policy")
enum { RERUN_STEPS(REQUEST_ENUM) };

struct rerunning {
	struct request request;
	struct engine *engine;
	struct rerun *rerun;
	struct crawl_spec spec;
	struct failures failures;
	struct launch launch;
	struct buf policy;           /* with a depth of 0 */
	struct arena arena;
};

static struct rerunning *
rerunning_of(struct request *r)
{
	return CONTAINER(r, struct rerunning, request);
}

/* --- what it began with -------------------------------------------------- */

static int
check_row(struct request *r)
{
	const struct rerunning *g = rerunning_of(r);
	uint32_t crawl = g->rerun->of;
	const struct crawl_row *row = crawl_row(g->engine->registry, crawl);

	if (row == NULL || row->deleted)
		why(&r->why, ERR_ABSENT, "there is no crawl %u", crawl);
	else if (row->view.kind != CRAWL_CRAWL)
		why(&r->why, ERR_STATE, "crawl %u belongs to crawlers from "
		    "outside, which fetch it", crawl);
	else if (!crawl_state_is_ended(row->view.state))
		why(&r->why, ERR_STATE, "crawl %u is %s: it can be run again "
		    "once it has ended", crawl,
		    crawl_state_name(row->view.state));
	return r->why.err == OK ? SPEC : REQUEST_DONE;
}

static int
read_spec(struct request *r)
{
	struct rerunning *g = rerunning_of(r);
	size_t max = g->engine->retry_max;

	if (frontier_spec(g->engine->frontier, g->rerun->of, &g->arena,
	    &g->spec, &r->why) != OK)
		return REQUEST_DONE;
	if (g->spec.secret_proxy) {
		why(&r->why, ERR_STATE, "crawl %u used a proxy whose address "
		    "is not kept: start a new crawl with its proxy",
		    g->rerun->of);
		return REQUEST_DONE;
	}
	if (!g->rerun->failures)
		return LAUNCH;
	g->failures = (struct failures){ .scan.crawl = g->rerun->of,
	    .start = g->rerun->start, .urls_max = max, .arena = &g->arena,
	    .urls = ARENA_ARRAY(&g->arena, struct str, max) };
	return FAILED;
}

/* --- what failed --------------------------------------------------------- */

static int
read_failed(struct request *r)
{
	failures_read(&rerunning_of(r)->failures, request_index(r));
	return MORE;
}

/* The failed URLs are the seeds, and no link is followed. */
static enum err
set_depth(struct rerunning *g, struct why *w)
{
	struct str json = g->spec.policy;
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
	return g->policy.n > 0 ? OK : why(w, ERR_CORRUPT,
	    "the record of crawl %u is damaged", g->rerun->of);
}

static enum err
check_failures(const struct rerunning *g, struct why *w)
{
	const struct failures *f = &g->failures;

	if (!f->scan.ended)
		return why(w, ERR_CLOSED, "the program stops");
	if (f->all == 0)
		return why(w, ERR_STATE, "nothing failed in crawl %u: there is "
		    "nothing to try again", g->rerun->of);
	if (f->urls_n == 0)
		return why(w, ERR_STATE, "%llu URLs failed in crawl %u: there "
		    "is none left after the first %llu",
		    (unsigned long long)f->all, g->rerun->of,
		    (unsigned long long)f->start);
	return OK;
}

static int
look_for_more(struct request *r)
{
	struct rerunning *g = rerunning_of(r);
	struct failures *f = &g->failures;

	if (!f->scan.ended && !g->engine->closing)
		return FAILED;
	g->rerun->failed = f->all;
	if (check_failures(g, &r->why) != OK)
		return REQUEST_DONE;
	g->rerun->left = f->all - f->start - f->urls_n;
	return set_depth(g, &r->why) == OK ? LAUNCH : REQUEST_DONE;
}

/* --- launching ----------------------------------------------------------- */

static void
launched(struct launch *l)
{
	struct rerunning *g = l->arg;

	request_resume(&g->request, LAUNCHED);
}

static int
launch_again(struct request *r)
{
	struct rerunning *g = rerunning_of(r);
	const struct crawl_spec *s = &g->spec;
	bool failures = g->rerun->failures;
	const struct str *urls = failures ? g->failures.urls : s->seeds;
	size_t n = failures ? g->failures.urls_n : s->seeds_n;
	/* The delays of the seeds' hosts hold for their other URLs, too. */
	const double *delays = crawl_spec_delays(s, urls, n, &g->arena);
	struct launch_seed *seeds = ARENA_ARRAY(&g->arena, struct launch_seed,
	    n);

	for (size_t i = 0; i < n; i++)
		seeds[i] = (struct launch_seed){ urls[i], delays[i] };
	g->rerun->seeds_n = n;
	g->launch = (struct launch){
		.spec = {
			.name = g->rerun->name.n > 0 ? g->rerun->name :
			    s->name,
			.tags = s->tags, .tags_n = s->tags_n,
			.policy = failures ? buf_str(&g->policy) : s->policy,
		},
		.seeds = seeds, .seeds_n = n, .done = launched, .arg = g };
	crawl_launch(g->engine, &g->launch);
	return REQUEST_WAIT;
}

static int
take_answer(struct request *r)
{
	struct rerunning *g = rerunning_of(r);
	const struct launch *l = &g->launch;

	if (l->why.err == OK && g->rerun->failures) {
		metric_add(&metrics[METRIC_URLS], (int64_t)g->rerun->seeds_n);
		metric_add(&metrics[METRIC_LEFT], (int64_t)g->rerun->left);
	}
	g->rerun->crawl = l->crawl;
	memcpy(g->rerun->in_force, l->in_force, sizeof(l->in_force));
	r->why = l->why;
	return REQUEST_DONE;
}

/* --- the verb ------------------------------------------------------------ */

static const struct request_step rerun_steps[] = { RERUN_STEPS(REQUEST_ROW) };

static void
rerun_done(struct request *r)
{
	struct rerunning *g = rerunning_of(r);
	struct rerun *a = g->rerun;

	a->why = r->why;
	arena_free(&g->arena);
	buf_free(&g->failures.scan.from);
	buf_free(&g->policy);
	mem_free(&g);
	a->done(a);
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

	g->request.done = rerun_done;
	g->engine = e;
	g->rerun = r;
	r->seeds_n = 0;
	r->failed = r->left = 0;
	request_start(&g->request, &e->places, rerun_steps, ROW);
}
