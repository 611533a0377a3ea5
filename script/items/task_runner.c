#include "script/items/task_runner.h"

#include "base/json.h"
#include "os/clock.h"
#include "os/log.h"
#include "script/items/replay.h"
#include "script/items/runner_own.h"

/* A claim that finds nothing is made anew after it. */
#define CLAIM_MS 60000
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
	return wanted && t->has_run && !t->remote;
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

static enum err
use_fetch_rules(struct task_runner *r, const struct task_config *t,
    struct why *w)
{
	struct task_fetch_rules rules = { .policy = t->fetch_policy,
	    .private_hosts = t->fetch_private,
	    .private_n = t->fetch_private_n, .secrets = r->o.secrets };

	return task_fetcher_use(r->o.fetcher, &rules, w);
}

enum err
task_runner_use(struct task_runner *r, struct script_bundle *bundle,
    struct str json, uint64_t generation, struct why *w)
{
	struct runner_config *c = mem_new(sizeof(*c));

	c->users = 1;
	c->bundle = bundle_hold(bundle);
	c->generation = generation;
	enum err e = task_config_read(json, items_limits(r->o.items),
	    &c->config, NULL, w);
	if (e == OK)
		e = use_fetch_rules(r, c->config, w);
	if (e != OK) {
		runner_config_drop(&c);
		return e;
	}
	list_tasks(r, c);
	secrets_put_names(r->o.secrets, &c->secrets);
	runner_config_drop(&r->config);
	r->config = c;
	/* What the claim asks for may be of another configuration. */
	if (r->claiming)
		items_claim_cancel(&r->claim);
	task_runner_next(r);
	return OK;
}

/* -- Claims -- */

static void
give_back(struct task_runner *, struct str lease);

/* Start what was claimed; a lease of another configuration goes back. */
static void
start_runs(struct task_runner *r, struct runner_config *c)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct items_claim *k = &r->claim;
	size_t i, n;
	yyjson_val *lease;

	buf_put_char(&text, '[');
	buf_put_str(&text, buf_str(&k->out));
	buf_put_char(&text, ']');
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, lease) {
		struct task_run *t = k->generation == c->generation &&
		    !r->stopped ? task_run_new(r, c, lease) : NULL;
		if (t == NULL) {
			give_back(r, json_text(yyjson_obj_get(lease,
			    "lease")));
			continue;
		}
		task_run_event(t, "task.started", STR_NONE);
		script_run_start(r->o.host, &t->run);
	}
	yyjson_doc_free(doc);
}

static void
claimed(struct items_claim *k)
{
	struct task_runner *r = k->claim.arg;
	struct runner_config *c = r->claim_config;

	r->claiming = false;
	r->claim_config = NULL;
	if (k->result == OK && k->n > 0)
		start_runs(r, c);
	else if (k->result != OK && !r->stopped &&
	    (k->result != ERR_ABSENT || r->o.item.n == 0))
		log_warn("tasks.claim_failed", "why=%s", k->why.text);
	bool again = k->result == OK;
	buf_free(&k->out);
	arena_free(&k->write.arena);
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
	r->claim = (struct items_claim){
		.claim = { .worker = STR("local"), .tasks = c->tasks,
		    .tasks_n = c->tasks_n,
		    .max = (unsigned)MIN(r->runs_max - r->runs_n,
		    WORKLIST_CLAIM_MAX), .own = true, .arg = r,
		    .only_item = r->o.item },
		.until = mono_add_ms(loop_now(r->o.home), CLAIM_MS),
		.done = claimed,
	};
	items_claim(r->o.items, &r->claim);
}

/* -- Giving back -- */

struct giving {
	struct items_write write;
	struct task_runner *runner;
	struct str lease;
};

static enum err
release_lease(struct items_write *w, struct item_tx *tx, struct why *why)
{
	bool was;

	return worklist_release(tx, CONTAINER(w, struct giving, write)->lease,
	    false, &was, why);
}

static void
released(struct items_write *w)
{
	struct giving *g = CONTAINER(w, struct giving, write);
	struct task_runner *r = g->runner;

	arena_free(&w->arena);
	mem_free(&g);
	r->runs_n--;
	task_runner_settled(r);
}

/* It counts as a run until the release is stored. */
static void
give_back(struct task_runner *r, struct str lease)
{
	struct giving *g = mem_new(sizeof(*g));

	r->runs_n++;
	r->counts.given_back++;
	g->runner = r;
	g->write.run = release_lease;
	g->write.done = released;
	g->write.why = WHY_INIT;
	g->lease = arena_copy(&g->write.arena, lease);
	items_write(r->o.items, &g->write);
}

/* -- Runs -- */

void
task_runner_ended(struct task_run *t)
{
	struct task_runner *r = t->runner;

	list_take(&t->node);
	r->runs_n--;
	if (t->cut && r->stopped && t->simulation == NULL)
		give_back(r, t->lease);
	runner_config_drop(&t->config);
	yyjson_doc_free(t->doc);
	buf_free(&t->text);
	buf_free(&t->log);
	buf_free(&t->fetches);
	replay_writer_free(&t->writer);
	buf_free(&t->replay);
	buf_free(&t->answer);
	arena_free(&t->write.arena);
	arena_free(&t->arena);
	mem_free(&t);
	task_runner_next(r);
	task_runner_settled(r);
}

/* -- Leases are extended while runs go on -- */

struct beat {
	struct items_write write;
	struct task_runner *runner;
	struct beat_lease {
		struct str text;
		int64_t lease_us;
		bool lost;
	} *leases;
	size_t n;
};

static enum err
extend(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct beat *b = CONTAINER(w, struct beat, write);
	struct wall until;
	enum err e = OK;

	for (size_t i = 0; i < b->n && e == OK; i++) {
		e = worklist_heartbeat(tx, b->leases[i].text,
		    b->leases[i].lease_us, &until, why);
		b->leases[i].lost = until.us == ITEM_TIME_NONE.us;
	}
	return e;
}

static struct task_run *
find_run(struct task_runner *r, struct str lease)
{
	LIST_EACH(t, &r->runs, struct task_run, node)
		if (str_eq(t->lease, lease))
			return t;
	return NULL;
}

static void
extended(struct items_write *w)
{
	struct beat *b = CONTAINER(w, struct beat, write);
	struct task_runner *r = b->runner;

	r->beating = false;
	for (size_t i = 0; i < b->n && w->result == OK; i++) {
		struct task_run *t = b->leases[i].lost ?
		    find_run(r, b->leases[i].text) : NULL;
		if (t != NULL && !t->completing)
			task_run_cut(t);
	}
	arena_free(&w->arena);
	mem_free(&b);
	task_runner_settled(r);
}

static void
beat(struct task_runner *r)
{
	struct beat *b = mem_new(sizeof(*b));

	b->runner = r;
	b->leases = ARENA_ARRAY(&b->write.arena, struct beat_lease, r->runs_n);
	LIST_EACH(t, &r->runs, struct task_run, node) {
		if (t->completing || t->cut || t->simulation != NULL)
			continue;
		b->leases[b->n].text = arena_copy(&b->write.arena, t->lease);
		b->leases[b->n++].lease_us = t->task->lease_us;
	}
	b->write.run = extend;
	b->write.done = extended;
	b->write.why = WHY_INIT;
	r->beating = true;
	items_write(r->o.items, &b->write);
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

static void
heartbeat(struct timer *timer)
{
	struct task_runner *r = CONTAINER(timer, struct task_runner,
	    heartbeat);

	if (!r->beating && !list_empty(&r->runs))
		beat(r);
	task_runner_next(r);
	loop_timer_set(r->o.home, timer, mono_add_ms(loop_now(r->o.home),
	    beat_ms(r)));
}

/* -- The end -- */

void
task_runner_stop(struct task_runner *r)
{
	r->stopped = true;
	if (r->claiming)
		items_claim_cancel(&r->claim);
}

void
task_runner_settled(struct task_runner *r)
{
	void (*drained)(void *arg) = r->drained;

	if (drained == NULL || r->runs_n > 0 || r->simulations > 0 ||
	    r->claiming || r->beating ||
	    session_set_is_busy(r->sessions))
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
	r->o.secrets = secrets_hold(o->secrets);
	r->limits = script_limits_of(o->conf);
	r->runs_max = script_host_options_of(o->conf).processes_max;
	r->sessions = session_set_new(r, &o->key);
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
	session_set_free(&r->sessions);
	runner_config_drop(&r->config);
	secrets_drop(&r->o.secrets);
	mem_free(rp);
}

struct task_runner_counts
task_runner_counts(const struct task_runner *r)
{
	struct task_runner_counts c = r->counts;

	c.running = r->runs_n;
	return c;
}
