#include "engine/control/control.h"

#include "engine/catalog/crawl_registry.h"
#include "engine/catalog/outsiders.h"
#include "engine/control/crawl_options.h"
#include "engine/control/engine_own.h"
#include "engine/control/store_async.h"
#include "engine/policy/address.h"
#include "engine/schedule/scheduler.h"
#include "engine/stream/event_publisher.h"

/*
 * home ─► store_async's thread: policy, seeds, plan ─► ledger's loop: begin
 *      ◄──────────────── durable, in the index ──┘
 */
struct launching {
	struct store_async_job job;
	struct mail mail;
	struct published_answer answer;
	struct engine *engine;
	struct launch *launch;
	/* Copies of what was asked for. */
	struct arena arena;
	struct crawl_request request;
	struct launch_seed *seeds;
	struct str policy_json;
	struct policy *policy;
	/* What comes of it. */
	struct running *plan;
	struct crawl_spec spec;      /* what the registry shows of it */
	struct crawl_view view;
	struct why why;
};

static void
copy_seeds(struct launching *g, const struct launch *l)
{
	struct str *urls = ARENA_ARRAY(&g->arena, struct str, l->seeds_n);
	double *delays = ARENA_ARRAY(&g->arena, double, l->seeds_n);

	g->seeds = ARENA_ARRAY(&g->arena, struct launch_seed, l->seeds_n);
	for (size_t i = 0; i < l->seeds_n; i++) {
		g->seeds[i].url = urls[i] = arena_copy(&g->arena,
		    l->seeds[i].url);
		delays[i] = l->seeds[i].rate_limit;
	}
	g->request.seeds = urls;
	g->request.seed_delays = delays;
	g->request.seeds_n = l->seeds_n;
}

/* --- on the store_async's thread
 * ----------------------------------------------- */

static void
say_in_force(struct launching *g)
{
	struct buf b = BUF_INIT;

	policy_to_sentence(g->policy, &b);
	snprintf(g->launch->in_force, sizeof(g->launch->in_force), "%s",
	    buf_text(&b));
	buf_free(&b);
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
check_policy(struct launching *g, struct why *w)
{
	const struct policy *p = g->policy;

	if (g->request.operator_seeds || g->engine->settings->allow_private)
		return OK;
	if (p->allow_private)
		return why_field(w, ERR_INPUT, "policy", "allow_private: a "
		    "crawl that is started at a door cannot reach private "
		    "addresses; the setting fetch.allow_private permits it");
	if (is_private_proxy(p->proxy, &g->arena))
		return why_field(w, ERR_INPUT, "policy", "proxy: it is at a "
		    "private address; the setting fetch.allow_private permits "
		    "it");
	return OK;
}

static enum err
find_policy(struct launching *g, struct store *st, struct why *w)
{
	struct crawl_request *q = &g->request;
	struct why inner = WHY_INIT;
	struct store_policy p;

	if (g->policy_json.n == 0) {
		if (q->policy_name.n == 0)
			q->policy_name = STR(STORE_POLICY_DEFAULT);
		enum err e = store_policy_get(st, q->policy_name, &g->arena,
		    &p, w);
		if (e != OK)
			return e;
		g->policy_json = p.json;
	} else {
		q->policy_name = STR_NONE;
	}
	enum err e = policy_parse(g->policy_json, &g->policy, &inner);
	if (e == OK)
		e = policy_check_agent(g->policy, &inner);
	if (e == OK)
		e = policy_fits(g->policy, &inner);
	return e == OK ? check_policy(g, w) : why_field(w, e, "policy",
	    "%s", inner.text);
}

static void
plan(struct store_async_job *job, struct store *st)
{
	struct launching *g = CONTAINER(job, struct launching, job);
	struct crawl_request *q = &g->request;
	struct why *w = &g->why, inner = WHY_INIT;

	enum err e = store_check_labels(q->name, q->tags, q->tags_n, w);
	if (e == OK)
		e = engine_check_seeds(g->seeds, q->seeds_n, w);
	if (e == OK)
		e = find_policy(g, st, w);
	if (e != OK)
		return;
	q->policy = g->policy;
	say_in_force(g);
	e = crawl_runtime_plan(q, g->engine->settings, &g->plan, &inner);
	if (e != OK)
		why_field(w, e, "policy", "%s", inner.text);
}

/* --- back at home -------------------------------------------------------- */

static void
finish(struct launching *g)
{
	struct launch *l = g->launch;

	l->why = g->why;
	l->own = NULL;
	running_free(&g->plan);
	policy_free(&g->policy);
	arena_free(&g->arena);
	mem_free(&g);
	l->done(l);
}

static void
deliver_refusal(struct mail *m)
{
	struct launching *g = CONTAINER(m, struct launching, mail);

	g->engine->asked--;
	finish(g);
}

static void
begun(struct published_answer *a)
{
	struct launching *g = CONTAINER(a, struct launching, answer);

	g->engine->asked--;
	if (a->err != OK)
		why(&g->why, a->err, "%s", err_text(a->err));
	else
		crawl_registry_add(g->engine->registry, &g->view, &g->spec);
	finish(g);
}

/* On the ledger's loop. */
static void
deliver_begin(struct mail *m)
{
	struct launching *g = CONTAINER(m, struct launching, mail);
	struct engine *e = g->engine;

	g->answer.told = begun;
	g->answer.before_views = true;
	if (crawl_runtime_begin(e->crawls, &g->plan,
	        event_publisher_promise(e->publisher, &g->answer),
	        &g->launch->crawl, &g->why) == OK) {
		/* It is there: it has just begun. */
		(void)!frontier_view(e->frontier, g->launch->crawl, &g->view);
		return;
	}
	g->mail.deliver = deliver_refusal;
	loop_post(e->options.home, &g->mail);
}

/* What the registry shows is the crawl's own: the plan goes to the loops. */
static void
describe(struct launching *g)
{
	const struct crawl_request *q = &g->request;
	struct crawl_options o = { .policy = q->policy_name,
	    .schedule = q->schedule };
	struct buf json = BUF_INIT;

	crawl_options_put(&o, &json);
	g->spec = (struct crawl_spec){ .kind = CRAWL_CRAWL, .name = q->name,
	    .tags = q->tags, .tags_n = q->tags_n, .seeds = q->seeds,
	    .seeds_n = q->seeds_n,
	    .options = arena_copy(&g->arena, buf_str(&json)) };
	buf_free(&json);
}

static void
planned(struct store_async_job *job)
{
	struct launching *g = CONTAINER(job, struct launching, job);
	struct engine *e = g->engine;

	if (g->why.err == OK && e->closing)
		why(&g->why, ERR_CLOSED, "the program stops");
	if (g->why.err != OK) {
		finish(g);
		return;
	}
	describe(g);
	e->asked++;
	g->mail.deliver = deliver_begin;
	loop_post(e->ledger_loop, &g->mail);
}

void
crawl_launch(struct engine *e, struct launch *l)
{
	struct launching *g = mem_new(sizeof(*g));
	struct arena *a = &g->arena;

	g->engine = e;
	g->launch = l;
	l->own = g;
	g->why = l->why = WHY_INIT;
	g->request = (struct crawl_request){
		.name = arena_copy(a, l->name),
		.tags = arena_copy_list(a, l->tags, l->tags_n),
		.tags_n = l->tags_n,
		.policy_name = arena_copy(a, l->policy_name),
		.warc_parent = arena_printf(a, "%s/archive", e->data_dir),
		.key = arena_copy(a, l->key), .schedule = l->schedule,
		.operator_seeds = l->operator_seeds, .ends_by_duration = true,
	};
	copy_seeds(g, l);
	g->policy_json = arena_copy(a, l->policy_json);
	g->job.run = plan;
	g->job.done = planned;
	store_async_put(e, &g->job);
}

/* --- pause, resume, cancel ----------------------------------------------- */

struct steering {
	struct mail mail;
	struct published_answer answer;
	struct engine *engine;
	struct crawl_order *order;
	enum crawl_state state;
	struct why why;
};

static void
steered(struct published_answer *a)
{
	struct steering *s = CONTAINER(a, struct steering, answer);
	struct crawl_order *o = s->order;

	s->engine->asked--;
	if (a->err != OK)
		why(&s->why, a->err, "%s", err_text(a->err));
	o->state = s->state;
	o->why = s->why;
	o->own = NULL;
	mem_free(&s);
	o->done(o);
}

static enum err
steer(struct steering *s)
{
	const struct crawl_order *o = s->order;
	struct engine *e = s->engine;
	struct crawl_view v;

	switch (ledger_health(frontier_ledger(e->frontier))) {
	case LEDGER_FAILED:
		return why(&s->why, ERR_BROKEN, "a write failed; the program "
		    "must be started again");
	case LEDGER_DISK_FULL:
		return why(&s->why, ERR_DISK_FULL, "the disk is full");
	case LEDGER_FINE:
		break;
	}
	enum err err = frontier_set_state(e->frontier, o->crawl, o->want,
	    o->reason, &s->why);
	if (err != OK)
		return err;
	/* It is there: its state was set. */
	(void)!frontier_view(e->frontier, o->crawl, &v);
	s->state = v.state;
	engine_order_loops(e, o->crawl);
	return OK;
}

/* On the ledger's loop. */
static void
deliver_steer(struct mail *m)
{
	struct steering *s = CONTAINER(m, struct steering, mail);
	struct engine *e = s->engine;

	s->answer.told = steered;
	if (steer(s) == OK)
		/* What was done by an earlier one may not be durable yet. */
		ledger_promise(frontier_ledger(e->frontier),
		    event_publisher_promise(e->publisher, &s->answer));
	else
		event_publisher_now(e->publisher, &s->answer);
}

void
crawl_set_state(struct engine *e, struct crawl_order *o)
{
	struct steering *s = mem_new(sizeof(*s));

	o->own = s;
	o->why = s->why = WHY_INIT;
	s->engine = e;
	s->order = o;
	e->asked++;
	s->mail.deliver = deliver_steer;
	loop_post(e->ledger_loop, &s->mail);
}

/* --- specs --------------------------------------------------------------- */

struct spec_read {
	struct ledger_query query;
	struct engine *engine;
	struct spec_query *ask;
};

/* On the index thread; the frontier's index may be read by any. */
static void
read_spec(struct ledger_query *query, struct index *x)
{
	struct spec_read *q = CONTAINER(query, struct spec_read, query);
	struct spec_query *a = q->ask;
	struct crawl_options o;

	(void)x;
	if (frontier_spec(q->engine->frontier, a->crawl, &a->arena, &a->spec,
	    &a->why) != OK)
		return;
	if (!crawl_options_parse(a->spec.options, &a->arena, &o))
		why(&a->why, ERR_CORRUPT, "the record of crawl %u is damaged",
		    a->crawl);
	a->secret_proxy = o.secret_proxy;
	a->delays = crawl_options_delays(&o, a->spec.seeds, a->spec.seeds_n,
	    &a->arena);
}

static void
spec_read(struct ledger_query *query)
{
	struct spec_read *q = CONTAINER(query, struct spec_read, query);
	struct spec_query *a = q->ask;

	q->engine->asked--;
	mem_free(&q);
	a->done(a);
}

void
catalog_spec(struct engine *e, struct spec_query *a)
{
	struct spec_read *q = mem_new(sizeof(*q));

	q->engine = e;
	q->ask = a;
	a->why = WHY_INIT;
	q->query = (struct ledger_query){ .home = e->options.home,
	    .run = read_spec, .done = spec_read };
	e->asked++;
	ledger_read(frontier_ledger(e->frontier), &q->query);
}

/* --- what an earlier process left ---------------------------------------- */

static enum err
add_known(struct engine *e, const struct crawl_view *v, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct crawl_options o;
	struct crawl_spec spec;

	enum err err = frontier_spec(e->frontier, v->id, &a, &spec, w);
	if (err == OK) {
		crawl_registry_add(e->registry, v, &spec);
		if (crawl_options_parse(spec.options, &a, &o))
			crawl_runtime_know_key(e->crawls, o.key, v->id);
	}
	arena_free(&a);
	return err;
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
		if (v.kind == CRAWL_CRAWL)
			err = add_known(e, &v, w);
	if (err == OK)
		e->scheduler = scheduler_new(e);
	if (err == OK)
		e->outsiders = outsiders_new(e);
	return err;
}

struct crawl_registry *
engine_registry(struct engine *e)
{
	return e->registry;
}
