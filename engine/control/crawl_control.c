#include "engine/control/control.h"

#include "engine/catalog/catalog_open.h"
#include "engine/catalog/outsiders.h"
#include "engine/control/engine_own.h"
#include "engine/fetcher/call.h"
#include "engine/frontier/url_query.h"
#include "engine/policy/address.h"
#include "engine/schedule/scheduler.h"
#include "engine/store/store_async.h"
#include "engine/stream/event_publisher.h"
#include "engine/stream/stream_open.h"
#include "os/clock.h"

#define LAUNCH_STEPS(X)                                                      \
	X(COMPILE, AT_STORE, compile, "policy, seeds and rules")             \
	X(BEGIN, AT_LEDGER, begin_crawl, "a number, a record, the seeds")    \
	X(DURABLE, AT_DURABLE, request_next, "its group is on the disk")     \
	X(SHOW, AT_INTRODUCED, show_crawl, "the registry has it; answer")
enum { LAUNCH_STEPS(REQUEST_ENUM) };

static struct launch *
launch_of(struct request *r)
{
	return CONTAINER(r, struct launch, request);
}

/* --- on the store's thread ------------------------------------------------ */

static void
say_in_force(struct launch *l, const struct policy *p)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	policy_to_sentence(p, &b);
	snprintf(l->in_force, sizeof(l->in_force), "%s", buf_text(&b));
}

/* A client may name any proxy but one that only this machine can reach. */
static bool
is_private_proxy(struct str proxy, struct arena *a)
{
	struct url u;

	return proxy.n != 0 && (url_parse(proxy, NULL, a, &u, NULL) != OK ||
	    address_host_is_local(u.host));
}

static enum err
check_policy(struct launch *l, const struct policy *p, struct why *w)
{
	if (l->begin.spec.operator_seeds || l->engine->settings->allow_private)
		return OK;
	if (p->allow_private)
		return why_field(w, ERR_INPUT, "policy", "allow_private: a "
		    "crawl that is started at a door cannot reach private "
		    "addresses; the setting fetch.allow_private permits it");
	if (is_private_proxy(p->proxy, &l->arena))
		return why_field(w, ERR_INPUT, "policy", "proxy: it is at a "
		    "private address; the setting fetch.allow_private permits "
		    "it");
	return OK;
}

static enum err
find_policy(struct launch *l, struct policy **out, struct why *w)
{
	struct store *st = store_async_store(l->engine->store_async);
	struct crawl_spec *s = &l->begin.spec;
	struct why inner = WHY_INIT;
	struct store_policy p;

	if (s->policy.n != 0) {
		s->policy_name = STR_NONE;
	} else {
		if (s->policy_name.n == 0)
			s->policy_name = STR(STORE_POLICY_DEFAULT);
		enum err e = store_policy_get(st, s->policy_name, &l->arena,
		    &p, w);
		if (e != OK)
			return e;
		s->policy = p.json;
	}
	enum err e = policy_parse(s->policy, out, &inner);
	if (e == OK)
		e = policy_check_agent(*out, &inner);
	if (e == OK)
		e = policy_fits(*out, &inner);
	return e == OK ? check_policy(l, *out, w) : why_field(w, e, "policy",
	    "%s", inner.text);
}

static enum err
plan_crawl(struct launch *l, struct why *w)
{
	struct arena *a = &l->arena;
	struct crawl_request *q = &l->begin;
	struct str *urls = ARENA_ARRAY(a, struct str, l->seeds_n);
	double *delays = ARENA_ARRAY(a, double, l->seeds_n);
	struct why inner = WHY_INIT;

	for (size_t i = 0; i < l->seeds_n; i++) {
		urls[i] = l->seeds[i].url;
		delays[i] = l->seeds[i].rate_limit;
	}
	q->spec.seeds = urls;
	q->spec.seeds_n = l->seeds_n;
	q->seed_delays = delays;
	if (q->spec.kind != CRAWL_HARVEST)
		q->warc_parent = arena_printf(a, "%s/archive",
		    l->engine->data_dir);
	q->ends_by_duration = true;
	enum err e = crawl_runtime_plan(q, l->engine->settings, &l->plan,
	    &inner);
	return e == OK ? OK : why_field(w, e, "policy", "%s", inner.text);
}

static int
compile(struct request *r)
{
	struct launch *l = launch_of(r);
	const struct crawl_spec *s = &l->spec;
	FREED(policy_free) struct policy *policy = NULL;

	enum err e = store_check_labels(s->name, s->tags, s->tags_n, &r->why);
	if (e == OK && !crawl_kind_has_calls(s->kind))
		e = seed_list_check(l->seeds, l->seeds_n, &r->why);
	if (e == OK)
		e = find_policy(l, &policy, &r->why);
	if (e == OK) {
		say_in_force(l, policy);
		l->begin.policy = policy;
		e = plan_crawl(l, &r->why);
	}
	return e == OK ? BEGIN : REQUEST_DONE;
}

/* --- on the ledger's loop -----------------------------------------------*/

static int
begin_crawl(struct request *r)
{
	struct launch *l = launch_of(r);
	struct engine *e = l->engine;

	if (e->ending) {
		why(&r->why, ERR_CLOSED, "the program stops");
		return REQUEST_DONE;
	}
	if (crawl_runtime_begin(e->crawls, &l->plan, &l->crawl, &r->why) != OK)
		return REQUEST_DONE;
	/* It is there: it has just begun. */
	(void)!frontier_view(e->frontier, l->crawl, &l->view);
	return DURABLE;
}

/* --- on the main loop ---------------------------------------------------*/

static int
show_crawl(struct request *r)
{
	struct launch *l = launch_of(r);

	if (r->why.err == OK)
		crawl_registry_add(l->engine->registry, &l->view,
		    &l->begin.spec);
	return REQUEST_DONE;
}

static void
launch_done(struct request *r)
{
	struct launch *l = launch_of(r);

	l->why = r->why;
	running_free(&l->plan);
	arena_free(&l->arena);
	l->done(l);
}

static const struct request_step launch_steps[] = {
	LAUNCH_STEPS(REQUEST_ROW)
};

void
crawl_launch(struct engine *e, struct launch *l)
{
	/* Tokens, items and downloads of doors rest on the archive. */
	CHECK(!l->spec.unarchived);
	l->engine = e;
	l->begin = (struct crawl_request){ .spec = l->spec };
	l->request.done = launch_done;
	request_start(&l->request, &e->places, launch_steps, COMPILE);
}

void
engine_call(struct engine *e, struct call *c)
{
	call_start(e->fetchers[0], c);
}

enum err
crawl_check_cookies(struct str text, struct why *w)
{
	/* Into no jar: each loop fills one of its own. */
	return cookie_load(NULL, text, clock_wall(), w);
}

/* --- pause, resume, cancel, complete ------------------------------------*/

#define SET_STATE_STEPS(X)                                                   \
	X(SET_STATE, AT_LEDGER, set_state, "the loops follow the new state") \
	X(SET_DURABLE, AT_DURABLE, request_next, "its group is on the disk") \
	X(SET_TOLD, AT_PUBLISHED, request_end, "answer, behind its events")
enum { SET_STATE_STEPS(REQUEST_ENUM) };

static int
set_state(struct request *r)
{
	struct crawl_order *o = CONTAINER(r, struct crawl_order, request);
	struct engine *e = o->engine;
	struct crawl_view v;

	/* A foreground crawl ends by its limits on a full disk, too. */
	if ((!e->options.doors ||
	    frontier_may_write(e->frontier, &r->why) == OK) &&
	    frontier_set_state(e->frontier, o->crawl, o->want, o->reason,
	    &r->why) == OK) {
		/* It is there: its state was set. */
		(void)!frontier_view(e->frontier, o->crawl, &v);
		o->state = v.state;
		engine_order_loops(e, o->crawl);
	}
	/* What an earlier order did may not be durable yet. */
	return r->why.err == OK ? SET_DURABLE : SET_TOLD;
}

static void
set_state_done(struct request *r)
{
	struct crawl_order *o = CONTAINER(r, struct crawl_order, request);

	o->why = r->why;
	if (o->done != NULL)
		o->done(o);
}

static const struct request_step set_state_steps[] = {
	SET_STATE_STEPS(REQUEST_ROW)
};

void
crawl_set_state(struct engine *e, struct crawl_order *o)
{
	o->engine = e;
	o->request.done = set_state_done;
	request_start(&o->request, &e->places, set_state_steps, SET_STATE);
}

/* --- of an engine without doors, or before it starts ---------------------- */

enum err
engine_begin(struct engine *e, const struct crawl_request *r, uint32_t *id,
    struct why *w)
{
	struct running *plan;

	enum err err = crawl_runtime_plan(r, e->settings, &plan, w);
	return err != OK ? err : crawl_runtime_begin(e->crawls, &plan, id, w);
}

enum err
engine_continue(struct engine *e, uint32_t id, const struct crawl_request *r,
    struct why *w)
{
	return crawl_runtime_continue(e->crawls, id, r, w);
}

uint32_t
engine_find(struct engine *e, struct str name)
{
	struct crawl_view v;
	size_t at = 0;
	uint32_t found = UINT32_MAX;

	if (name.n != 0)
		return frontier_find_name(e->frontier, name);
	while (frontier_next_view(e->frontier, &at, &v))
		if (v.kind == CRAWL_CRAWL && !crawl_state_is_ended(v.state))
			found = v.id;
	return found;
}

bool
engine_next_view(struct engine *e, size_t *at, struct crawl_view *v)
{
	return frontier_next_view(e->frontier, at, v);
}

enum err
engine_view(struct engine *e, uint32_t id, struct crawl_view *v)
{
	return frontier_view(e->frontier, id, v);
}

enum err
engine_spec(struct engine *e, uint32_t id, struct arena *a,
    struct crawl_spec *spec, struct why *w)
{
	return frontier_spec(e->frontier, id, a, spec, w);
}

enum url_state
engine_find_url(struct engine *e, uint32_t id, const struct url *u,
    struct url_fact *fact)
{
	return frontier_find_url(e->frontier, id, u->href, u->host, fact);
}

enum err
engine_stored_robots(struct engine *e, const struct url *u, struct arena *a,
    struct wall *fetched, int *status, struct str *body)
{
	return fetcher_stored_robots(ledger_index(frontier_ledger(
	    e->frontier)), url_origin(u, a), a, fetched, status, body);
}

/* --- specs --------------------------------------------------------------- */

#define SPEC_STEPS(X)                                                        \
	X(READ_SPEC, AT_READ, read_spec, "the crawl's record, with its options")
enum { SPEC_STEPS(REQUEST_ENUM) };

static int
read_spec(struct request *r)
{
	struct spec_query *q = CONTAINER(r, struct spec_query, request);

	if (frontier_spec(q->engine->frontier, q->crawl, &q->arena, &q->spec,
	    &r->why) == OK)
		q->delays = crawl_spec_delays(&q->spec, q->spec.seeds,
		    q->spec.seeds_n, &q->arena);
	return REQUEST_DONE;
}

static void
spec_done(struct request *r)
{
	struct spec_query *q = CONTAINER(r, struct spec_query, request);

	q->why = r->why;
	q->done(q);
}

static const struct request_step spec_steps[] = { SPEC_STEPS(REQUEST_ROW) };

void
catalog_spec(struct engine *e, struct spec_query *q)
{
	q->engine = e;
	q->request.done = spec_done;
	request_start(&q->request, &e->places, spec_steps, READ_SPEC);
}

/* --- what an earlier process left ---------------------------------------- */

static enum err
add_known(struct engine *e, const struct crawl_view *v, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct crawl_spec spec;

	enum err err = frontier_spec(e->frontier, v->id, &a, &spec, w);
	if (err == OK) {
		crawl_registry_add(e->registry, v, &spec);
		crawl_runtime_know_key(e->crawls, spec.key, v->id);
	}
	return err;
}

static enum err
open_stream(struct engine *e, struct why *w)
{
	const struct conf *c = e->options.conf;
	struct ledger *l = frontier_ledger(e->frontier);

	e->catalog = catalog_new(&(struct catalog_options){
	    .home = e->options.home, .pool = e->pool, .ledger = l,
	    .frontier = e->frontier, .registry = e->registry,
	    .fetchers = e->fetchers, .fetchers_n = e->loops_n,
	    .settings = &e->settings, .places = &e->places,
	    .links_pages_max =
		(uint64_t)conf_int(c, CONF_FEED_LINKS_PAGES_MAX) });
	return stream_open(&(struct stream_options){ .home = e->options.home,
	    .tasks = catalog_tasks(e->catalog), .registry = e->registry,
	    .handoffs = &e->fresh,
	    .cache_bytes = conf_size(c, CONF_FEED_CACHE) }, l, &e->stream, w);
}

enum err
launch_open(struct engine *e, struct why *w)
{
	struct crawl_view v;
	enum err err = OK;
	size_t at = 0;

	e->registry = crawl_registry_new(e->options.home);
	rerun_open(e);
	while (err == OK && frontier_next_view(e->frontier, &at, &v))
		if (v.kind != CRAWL_FRONTIER)
			err = add_known(e, &v, w);
	struct scheduler_options so = { .engine = e, .home = e->options.home,
	    .registry = e->registry, .store = e->store_async,
	    .places = &e->places };
	if (err == OK)
		e->scheduler = scheduler_new(&so);
	if (err == OK)
		e->outsiders = outsiders_new(&(struct outsiders_options){
		    .home = e->options.home, .ledger_loop = e->ledger_loop,
		    .frontier = e->frontier, .registry = e->registry });
	return err != OK ? err : open_stream(e, w);
}

struct crawl_registry *
engine_registry(struct engine *e)
{
	return e->registry;
}

struct catalog *
engine_catalog(struct engine *e)
{
	return e->catalog;
}

struct stream *
engine_stream(struct engine *e)
{
	return e->stream;
}
