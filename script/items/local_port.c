/*
 * The port of a daemon's own workers: its items and its fetcher.
 */
#include "base/json.h"
#include "os/clock.h"
#include "script/items/runner_own.h"

/* A claim that finds nothing is made anew after it. */
#define CLAIM_MS 60000

static enum err
use_config(struct task_runner *r, struct runner_config *c, struct why *w)
{
	const struct task_config *t = c->config;
	struct task_fetch_rules rules = { .policy = t->fetch_policy,
	    .private_hosts = t->fetch_private,
	    .private_n = t->fetch_private_n, .secrets = r->o.secrets };

	secrets_put_names(r->o.secrets, &c->secrets);
	return task_fetcher_use(r->o.fetcher, &rules, w);
}

/* -- Claims -- */

static void
claimed(struct items_claim *k)
{
	struct port_claim *c = CONTAINER(k, struct port_claim, items);

	c->result = k->result;
	c->why = k->why;
	c->n = k->n;
	c->generation = k->generation;
	buf_clear(&c->leases);
	buf_put_str(&c->leases, buf_str(&k->out));
	buf_free(&k->out);
	arena_free(&k->write.arena);
	c->done(c);
}

/* Slow hosts; the writer's thread. */
static void
learn_first_host(struct task_runner *r, struct str lease,
    const struct first_fetch *first)
{
	uint64_t random;
	uint32_t task;
	int64_t item;

	if (first->host.n > 0 && worklist_lease_read(lease, &task, &item,
	    &random))
		far_pairs_learn(r->far, task, first);
}

static void
claim(struct task_runner *r, struct port_claim *c)
{
	c->items = (struct items_claim){
		.claim = { .worker = STR("local"), .tasks = c->tasks,
		    .tasks_n = c->tasks_n,
		    .max = MIN(c->max, WORKLIST_CLAIM_MAX), .own = true,
		    .only_item = c->only_item },
		.until = mono_add_ms(loop_now(r->o.home), CLAIM_MS),
		.done = claimed,
	};
	far_pairs_use(r->far, &c->items.claim);
	items_claim(r->o.items, &c->items);
}

static void
cancel_claim(struct port_claim *c)
{
	items_claim_cancel(&c->items);
}

/* -- Leases -- */

static struct port_leases *
leases_of(struct items_write *w)
{
	return CONTAINER(w, struct port_leases, write);
}

static void
leases_written(struct items_write *w)
{
	struct port_leases *l = leases_of(w);

	l->result = w->result;
	arena_free(&w->arena);
	l->done(l);
}

static void
write_leases(struct task_runner *r, struct port_leases *l,
    enum err (*run)(struct items_write *, struct item_tx *, struct why *))
{
	l->write.run = run;
	l->write.done = leases_written;
	l->write.why = WHY_INIT;
	items_write(r->o.items, &l->write);
}

static enum err
extend_leases(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct port_leases *l = leases_of(w);
	struct wall until;
	enum err e = OK;

	for (size_t i = 0; i < l->n && e == OK; i++) {
		e = worklist_heartbeat(tx, l->list[i].text,
		    l->list[i].lease_us, &until, why);
		l->list[i].lost = until.us == ITEM_TIME_NONE.us;
	}
	return e;
}

static void
extend(struct task_runner *r, struct port_leases *l)
{
	write_leases(r, l, extend_leases);
}

static enum err
release_lease(struct item_tx *tx, struct task_runner *r,
    const struct port_lease *l, struct why *why)
{
	bool is_far = l->far.host.n > 0, was;
	uint64_t random;
	uint32_t task;
	int64_t item;

	if (is_far && worklist_lease_read(l->text, &task, &item, &random))
		(void)far_pairs_put(r->far, task, item, &l->far);
	learn_first_host(r, l->text, &l->first);
	return worklist_release(tx, l->text, is_far, &was, why);
}

static enum err
release_leases(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct port_leases *l = leases_of(w);
	enum err e = OK;

	for (size_t i = 0; i < l->n && e == OK; i++)
		e = release_lease(tx, l->runner, &l->list[i], why);
	return e;
}

static void
release(struct task_runner *r, struct port_leases *l)
{
	write_leases(r, l, release_leases);
}

/* -- Completions -- */

static void
want_completion(struct items_write *w, struct item_tx *tx)
{
	struct port_completion *c = CONTAINER(w, struct port_completion,
	    write);

	worklist_complete_want(tx, yyjson_doc_get_root(c->doc));
}

static enum err
store_completion(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct port_completion *c = CONTAINER(w, struct port_completion,
	    write);
	yyjson_val *root = yyjson_doc_get_root(c->doc);

	struct str lease = json_text(yyjson_obj_get(root, "lease"));

	buf_clear(&c->answer);
	learn_first_host(c->runner, lease, &c->first);
	enum err e = worklist_complete(tx, root, &c->usage, &c->completion,
	    why);
	return e == OK ? completion_json(tx, lease, &c->completion, &c->answer,
	    why) : e;
}

static void
completion_stored(struct items_write *w)
{
	struct port_completion *c = CONTAINER(w, struct port_completion,
	    write);

	c->result = w->result;
	c->status = c->completion.status;
	c->reason = c->completion.reason;
	yyjson_doc_free(c->doc);
	c->doc = NULL;
	c->done(c);
}

static void
complete(struct task_runner *r, struct port_completion *c)
{
	c->runner = r;
	c->doc = yyjson_read(c->text.p, c->text.n, 0);
	CHECK(c->doc != NULL);
	arena_reset(&c->write.arena);
	c->write.want = want_completion;
	c->write.run = store_completion;
	c->write.done = completion_stored;
	c->write.why = WHY_INIT;
	items_write(r->o.items, &c->write);
}

/* -- Runs -- */

static void
end_run(struct task_run *t)
{
	session_user_ended(t->runner->sessions, &t->user);
}

static void
put_event(struct task_runner *r, const struct items_live *e)
{

	items_live_event(r->o.items, e);
}

const struct task_port_table local_port = {
	.use = use_config, .claim = claim, .cancel_claim = cancel_claim,
	.extend = extend, .release = release, .complete = complete,
	.begin_call = run_call_begin, .cancel_call = run_call_cancel,
	.end_run = end_run, .event = put_event,
};
