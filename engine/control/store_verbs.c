/* Requests of doors and commands to the store: policies, schedules, tokens. */
#include "engine/control/control.h"

#include "engine/control/engine_own.h"
#include "engine/rebuild/snapshot.h"
#include "engine/schedule/scheduler.h"
#include "os/clock.h"
#include "os/system.h"

/* --- on the store's thread ----------------------------------------------- */

static enum err
canonical(struct str json, struct arena *a, struct str *out, struct why *w)
{
	FREED(policy_free) struct policy *p = NULL;
	FREED(buf_free) struct buf b = BUF_INIT;

	enum err e = policy_parse(json, &p, w);
	if (e != OK)
		return e;
	e = policy_check_agent(p, w);
	if (e == OK)
		e = policy_fits(p, w);
	if (e == OK)
		policy_to_json(p, &b);
	*out = arena_copy(a, buf_str(&b));
	return e;
}

enum err
engine_put_policy(struct store *st, struct str name, struct str json,
    struct arena *a, struct store_policy *out, struct why *w)
{
	struct str canon;

	enum err e = canonical(json, a, &canon, w);
	if (e == OK)
		e = store_policy_put(st, name, canon, clock_wall(), w);
	return e == OK ? store_policy_get(st, name, a, out, w) : e;
}

static enum err
check_seeds(struct str json, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct launch_seed *seeds;
	size_t n;

	enum err e = seed_list_read(json, &a, &seeds, &n, w);
	return e == OK ? seed_list_check(seeds, n, w) : e;
}

/* A policy of its own is judged, one that is named must be there. */
static enum err
check_policy(struct store *st, struct schedule *s, struct arena *a,
    struct why *w)
{
	struct why inner = WHY_INIT;
	struct store_policy p;

	if (s->policy.n == 0 && s->policy_json.n == 0)
		s->policy = STR(STORE_POLICY_DEFAULT);
	if (s->policy_json.n == 0)
		return store_policy_get(st, s->policy, a, &p, w);
	enum err e = canonical(s->policy_json, a, &s->policy_json, &inner);
	return e == OK ? OK : why_field(w, e, "policy", "%s",
	    inner.text);
}

void
engine_use_harvests(struct engine *engine, void (*begin)(void *arg,
    struct scheduled_harvest *), void *arg)
{
	if (engine->scheduler != NULL)
		scheduler_use_harvests(engine->scheduler, begin, arg);
}

enum err
engine_put_schedule(struct store *st, const struct schedule *schedule,
    struct arena *a, struct schedule *out, struct why *w)
{
	struct schedule s = *schedule;

	/* What it harvests was judged by the one who puts it. */
	if (s.harvest_type.n > 0)
		s.seeds = STR("[]");
	enum err e = s.harvest_type.n > 0 ? OK : check_seeds(s.seeds, w);
	if (e == OK)
		e = check_policy(st, &s, a, w);
	if (e == OK)
		e = store_schedule_put(st, &s, clock_wall(), w);
	return e == OK ? store_schedule_get(st, s.id, a, out, w) : e;
}

/* The answer's one. */
static struct schedule *
one_schedule(struct store_request *s)
{
	s->n = 1;
	return s->schedules = ARENA_NEW(&s->arena, struct schedule);
}

static enum err
run_verb(struct store_request *s, struct store *st, struct why *w)
{
	struct arena *a = &s->arena;
	struct wall now = clock_wall();

	switch (s->verb) {
	case STORE_POLICY_PUT:
		return engine_put_policy(st, s->name, s->json, a, &s->policy,
		    w);
	case STORE_POLICY_GET:
		return store_policy_get(st, s->name, a, &s->policy, w);
	case STORE_POLICY_DELETE:
		return store_policy_delete(st, s->name, w);
	case STORE_POLICY_LIST:
		return store_policy_list(st, a, &s->policies, &s->n, w);
	case STORE_SCHEDULE_PUT:
		return engine_put_schedule(st, &s->schedule, a,
		    one_schedule(s), w);
	case STORE_SCHEDULE_GET:
		return store_schedule_get(st, s->schedule.id, a,
		    one_schedule(s), w);
	case STORE_SCHEDULE_DELETE:
		return store_schedule_delete(st, s->schedule.id, w);
	case STORE_SCHEDULE_LIST:
		return store_schedule_list(st, a, &s->schedules, &s->n, w);
	case STORE_TOKEN_ADD:
		return store_token_add(st, s->name, s->scopes, now,
		    s->token_text, w);
	case STORE_TOKEN_LIST:
		return store_token_list(st, a, &s->tokens, &s->n, w);
	case STORE_TOKEN_REVOKE:
		return store_token_revoke(st, s->name, w);
	}
	return why(w, ERR_INPUT, "there is no such verb");
}

static void
run_request(struct store_job *job, struct store *st)
{
	struct store_request *s = CONTAINER(job, struct store_request, job);
	struct why w = WHY_INIT;

	enum err e = run_verb(s, st, &w);
	if (e == OK)
		return;
	s->n = 0;
	/* The first cause stays, with the field that it names. */
	why(&w, e, "%s", err_text(e));
	s->why = w;
}

/* --- at home ------------------------------------------------------------- */

static void
request_done(struct store_job *job)
{
	struct store_request *s = CONTAINER(job, struct store_request, job);

	if (s->why.err == OK && s->verb == STORE_SCHEDULE_PUT)
		scheduler_check(s->engine->scheduler);
	s->done(s);
}

void
engine_store(struct engine *e, struct store_request *s)
{
	s->engine = e;
	s->why = WHY_INIT;
	s->job.run = run_request;
	s->job.done = request_done;
	store_async_put(e->store_async, &s->job);
}

struct store_async *
engine_store_async(struct engine *e)
{
	return e->store_async;
}

enum err
engine_open_store(const struct conf *c, const char *url, const char *dir,
    struct store **out, struct why *w)
{
	FREED(policy_free) struct policy *p = policy_new();
	FREED(buf_free) struct buf json = BUF_INIT;
	char host[STORE_NODE_BYTES_MAX + 1];
	struct str node = conf_str(c, CONF_STORE_NODE);

	system_hostname(host, sizeof(host));
	policy_to_json(p, &json);
	struct store_options o = { .policy_default = buf_text(&json),
	    .url = url != NULL ? url : conf_str(c, CONF_STORE_URL).p,
	    .password_file = conf_str(c, CONF_STORE_PASSWORD_FILE).p,
	    .node = node.n > 0 ? node.p : host };
	enum err e = snapshot_check(dir, w);
	return e == OK ? store_open(dir, &o, out, w) : e;
}

enum err
engine_open_store_async(struct engine *e, struct why *w)
{
	struct store_async_options o = { .home = e->options.home,
	    .busy = &e->asked, .no_threads = e->options.no_threads };

	enum err err = engine_open_store(e->options.conf, NULL, e->data_dir,
	    &o.store, w);
	if (err == OK)
		err = store_wait_for_commits(o.store, w);
	if (err != OK)
		store_close(&o.store);
	if (err == OK)
		e->store_async = store_async_new(&o);
	return err;
}
