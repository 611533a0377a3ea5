#include "script/items/task_runner.h"

#include "base/json.h"
#include "os/clock.h"
#include "os/log.h"
#include "script/items/lease_user.h"
#include "script/items/replay.h"
#include "script/items/runner_own.h"

#define HEARTBEAT_MS_MIN 1000
#define HEARTBEAT_MS_MAX 20000

/* -- The configuration in use -- */

struct runner_config *
runner_config_hold(struct runner_config *c)
{
	c->users++;
	return c;
}

void
runner_config_drop(struct runner_config **cp)
{
	struct runner_config *c = *cp;

	*cp = NULL;
	if (c == NULL || --c->users > 0)
		return;
	bundle_drop(&c->bundle);
	task_config_free(&c->config);
	buf_free(&c->secrets);
	arena_free(&c->arena);
	mem_free(&c);
}

static bool
is_wanted(const struct task_runner_options *o, const struct task *t)
{
	bool wanted = o->tasks_n == 0;

	for (size_t i = 0; i < o->tasks_n; i++)
		wanted = wanted || task_matches(o->tasks[i], t->name);
	return wanted && t->has_run && (!t->remote || o->port != NULL);
}

static void
list_tasks(const struct task_runner *r, struct runner_config *c)
{
	const struct task_config *t = c->config;

	c->tasks = ARENA_ARRAY(&c->arena, struct str, t->tasks_n);
	for (size_t i = 0; i < t->tasks_n; i++)
		if (is_wanted(&r->o, &t->tasks[i]))
			c->tasks[c->tasks_n++] = t->tasks[i].name;
}

enum err
task_runner_use(struct task_runner *r, struct script_bundle *bundle,
    struct str json, uint64_t generation, struct why *w)
{
	struct runner_config *c = mem_new(sizeof(*c));

	c->users = 1;
	c->bundle = bundle_hold(bundle);
	c->generation = generation;
	struct item_limits limits = items_limits_of(r->o.conf);
	enum err e = task_config_read(json, &limits, &c->config, NULL, w);
	if (e == OK)
		e = r->port->use(r, c, w);
	if (e != OK) {
		runner_config_drop(&c);
		return e;
	}
	list_tasks(r, c);
	runner_config_drop(&r->config);
	r->config = c;
	/* What the claim asks for may be of another configuration. */
	if (r->claiming)
		r->port->cancel_claim(&r->claim);
	task_runner_next(r);
	return OK;
}

/* -- Claims -- */

static void give_back(struct task_runner *, struct str lease,
    const struct far_turn *, const struct first_fetch *);
static void plan_heartbeat(struct task_runner *);

/* Start what was claimed; a lease of another configuration goes back. */
static void
start_runs(struct task_runner *r, struct runner_config *c)
{
	static const struct far_turn near;
	static const struct first_fetch none;
	FREED(buf_free) struct buf text = BUF_INIT;
	struct port_claim *k = &r->claim;
	size_t i, n;
	yyjson_val *lease;

	buf_put_char(&text, '[');
	buf_put_str(&text, buf_str(&k->leases));
	buf_put_char(&text, ']');
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, lease) {
		struct task_run *t = k->generation == c->generation &&
		    !r->stopped ? task_run_new(r, c, lease) : NULL;
		if (t == NULL) {
			give_back(r, json_text(yyjson_obj_get(lease,
			    "lease")), &near, &none);
			continue;
		}
		task_run_event(t, "task.started", STR_NONE);
		script_run_start(r->o.host, &t->run);
	}
	yyjson_doc_free(doc);
	/* A lease may be shorter than the time to the next heartbeat. */
	plan_heartbeat(r);
}

static void
claimed(struct port_claim *k)
{
	struct task_runner *r = k->runner;
	struct runner_config *c = r->claim_config;

	r->claiming = false;
	r->claim_config = NULL;
	if (k->result == OK && k->n > 0)
		start_runs(r, c);
	else if (k->result != OK && !r->stopped &&
	    (k->result != ERR_ABSENT || r->o.item.n == 0))
		log_warn("tasks.claim_failed", "why=%s", k->why.text);
	bool again = k->result == OK;
	buf_free(&k->leases);
	runner_config_drop(&c);
	/* After an error the heartbeat tries again. */
	if (again)
		task_runner_next(r);
	task_runner_settled(r);
}

void
task_runner_next(struct task_runner *r)
{
	struct runner_config *c = r->config;

	if (r->claiming || r->stopped || c == NULL || c->tasks_n == 0 ||
	    r->runs_n >= r->runs_max)
		return;
	r->claiming = true;
	r->claim_config = runner_config_hold(c);
	r->claim = (struct port_claim){ .runner = r, .tasks = c->tasks,
	    .tasks_n = c->tasks_n, .max = (unsigned)MIN(r->runs_max -
	    r->runs_n, WORKLIST_CLAIM_MAX), .only_item = r->o.item,
	    .done = claimed };
	r->port->claim(r, &r->claim);
}

/* -- Giving back -- */

static struct port_leases *
leases_new(struct task_runner *r, size_t n,
    void (*done)(struct port_leases *))
{
	struct port_leases *l = mem_new(sizeof(*l));

	l->runner = r;
	l->done = done;
	l->list = ARENA_ARRAY(&l->arena, struct port_lease, n);
	return l;
}

static void
leases_free(struct port_leases *l)
{
	arena_free(&l->arena);
	mem_free(&l);
}

static void
released(struct port_leases *l)
{
	struct task_runner *r = l->runner;

	leases_free(l);
	r->runs_n--;
	task_runner_settled(r);
}

/* It counts as a run until the release is stored. */
static void
give_back(struct task_runner *r, struct str lease,
    const struct far_turn *far, const struct first_fetch *first)
{
	struct port_leases *l = leases_new(r, 1, released);
	struct port_lease *one = &l->list[l->n++];
	struct arena *a = &l->arena;

	r->runs_n++;
	r->counts.given_back++;
	one->text = arena_copy(a, lease);
	one->far = *far;
	one->far.host = arena_copy(a, far->host);
	one->first = (struct first_fetch){ arena_copy(a, first->id),
	    arena_copy(a, first->data), arena_copy(a, first->host) };
	r->port->release(r, l);
}

/* -- Runs -- */

void
task_runner_ended(struct task_run *t)
{
	struct task_runner *r = t->runner;

	list_take(&t->node);
	r->runs_n--;
	if (t->cut && (r->stopped || t->put_back) &&
	    t->simulation == NULL)
		give_back(r, t->lease, &t->far, &t->completion.first);
	runner_config_drop(&t->config);
	buf_free(&t->text);
	buf_free(&t->log);
	buf_free(&t->fetches);
	replay_writer_free(&t->writer);
	buf_free(&t->replay);
	buf_free(&t->completion.answer);
	arena_free(&t->completion.write.arena);
	arena_free(&t->arena);
	mem_free(&t);
	task_runner_next(r);
	task_runner_settled(r);
}

/* -- Leases are extended while runs go on -- */

static struct task_run *
find_run(struct task_runner *r, struct str lease)
{
	LIST_EACH(t, &r->runs, struct task_run, node)
		if (str_eq(t->lease, lease))
			return t;
	return NULL;
}

static void
extended(struct port_leases *l)
{
	struct task_runner *r = l->runner;

	r->beating = false;
	for (size_t i = 0; i < l->n && l->result == OK; i++) {
		struct task_run *t = l->list[i].lost ?
		    find_run(r, l->list[i].text) : NULL;
		if (t == NULL || t->completing)
			continue;
		log_info("tasks.lease_lost", "task=%.*s",
		    STR_FMT(t->run.task));
		task_run_cut(t);
	}
	leases_free(l);
	task_runner_settled(r);
}

static void
beat(struct task_runner *r)
{
	struct port_leases *l = leases_new(r, r->runs_n, extended);

	LIST_EACH(t, &r->runs, struct task_run, node) {
		if (t->completing || t->cut || t->simulation != NULL)
			continue;
		l->list[l->n].text = arena_copy(&l->arena, t->lease);
		l->list[l->n++].lease_us = t->task->lease_us;
	}
	r->beating = true;
	r->port->extend(r, l);
}

/* A third of the shortest lease. */
static int64_t
beat_ms(const struct task_runner *r)
{
	int64_t ms = HEARTBEAT_MS_MAX;

	LIST_EACH(t, &r->runs, const struct task_run, node)
		ms = MIN(ms, t->task->lease_us / 3000);
	return MAX(ms, HEARTBEAT_MS_MIN);
}

/* A third of the shortest lease from now, unless it comes earlier. */
static void
plan_heartbeat(struct task_runner *r)
{
	struct mono now = loop_now(r->o.home);
	struct mono at = mono_add_ms(now, beat_ms(r));

	if (mono_before(now, r->beat_at) && mono_before(r->beat_at, at))
		return;
	r->beat_at = at;
	loop_timer_set(r->o.home, &r->heartbeat, at);
}

static void
heartbeat(struct timer *timer)
{
	struct task_runner *r = CONTAINER(timer, struct task_runner,
	    heartbeat);

	if (!r->beating && !list_empty(&r->runs))
		beat(r);
	task_runner_next(r);
	plan_heartbeat(r);
}

/* -- The end -- */

void
task_runner_stop(struct task_runner *r)
{
	r->stopped = true;
	if (r->claiming)
		r->port->cancel_claim(&r->claim);
	if (r->lease_users != NULL)
		lease_users_stop(r->lease_users);
}

void
task_runner_settled(struct task_runner *r)
{
	void (*drained)(void *arg) = r->drained;

	if (drained == NULL || r->runs_n > 0 || r->simulations > 0 ||
	    r->claiming || r->beating ||
	    (r->sessions != NULL && session_set_is_busy(r->sessions)))
		return;
	r->drained = NULL;
	loop_timer_stop(r->o.home, &r->grace);
	loop_timer_stop(r->o.home, &r->heartbeat);
	drained(r->drained_arg);
}

static void
cut_replays(struct task_runner *r)
{
	struct list *n = r->replays.next, *next;

	for (; n != &r->replays; n = next) {
		next = n->next;
		replay_cut(LIST_ITEM(n, struct replay, node));
	}
}

static void
grace_over(struct timer *timer)
{
	struct task_runner *r = CONTAINER(timer, struct task_runner, grace);
	struct list *n = r->runs.next, *next;

	for (; n != &r->runs; n = next) {
		struct task_run *t = LIST_ITEM(n, struct task_run, node);
		next = n->next;
		if (!t->completing)
			task_run_cut(t);
	}
	cut_replays(r);
}

void
task_runner_drain(struct task_runner *r, void (*drained)(void *arg),
    void *arg)
{
	CHECK(r->stopped);
	r->drained = drained;
	r->drained_arg = arg;
	loop_timer_set(r->o.home, &r->grace, mono_add_ms(loop_now(r->o.home),
	    TASK_RUNNER_GRACE_MS));
	task_runner_settled(r);
}

/* -- The runner -- */

struct task_runner *
task_runner_new(const struct task_runner_options *o)
{
	struct task_runner *r = mem_new(sizeof(*r));

	r->o = *o;
	r->port = o->port == NULL ? &local_port : o->port;
	if (o->secrets != NULL)
		r->o.secrets = secrets_hold(o->secrets);
	r->limits = script_limits_of(o->conf);
	r->runs_max = script_host_options_of(o->conf).processes_max;
	if (o->port == NULL) {
		r->sessions = session_set_new(r, &o->key);
		r->lease_users = lease_users_new(r);
		r->far = far_pairs_new();
	}
	explicit_bzero(&r->o.key, sizeof(r->o.key));
	list_init(&r->runs);
	list_init(&r->replays);
	r->heartbeat.fire = heartbeat;
	r->grace.fire = grace_over;
	loop_timer_set(o->home, &r->heartbeat, mono_add_ms(loop_now(o->home),
	    HEARTBEAT_MS_MIN));
	return r;
}

void
task_runner_free(struct task_runner **rp)
{
	struct task_runner *r = *rp;

	if (r == NULL)
		return;
	CHECK(list_empty(&r->runs) && !r->claiming);
	loop_timer_stop(r->o.home, &r->heartbeat);
	loop_timer_stop(r->o.home, &r->grace);
	lease_users_free(&r->lease_users);
	far_pairs_free(&r->far);
	session_set_free(&r->sessions);
	runner_config_drop(&r->config);
	if (r->o.secrets != NULL)
		secrets_drop(&r->o.secrets);
	mem_free(rp);
}

struct session_set *
task_runner_sessions(const struct task_runner *r)
{
	return r->sessions;
}

struct far_pairs *
task_runner_far_pairs(const struct task_runner *r)
{
	return r->far;
}

struct lease_users *
task_runner_lease_users(const struct task_runner *r)
{
	return r->lease_users;
}

struct task_runner_counts
task_runner_counts(const struct task_runner *r)
{
	struct task_runner_counts c = r->counts;

	c.running = r->runs_n;
	return c;
}
