/*
 * Completions.
 *
 *     read ─► find the lease ─► apply the mutations ─► store the result
 *                  │                │          │              │
 *                  ▼                ▼          ▼              ▼
 *             lease_lost        conflict   failed run:    next state,
 *             or applied        (undone,   undone, and    failures, events,
 *             (repeated)        lease kept) recorded      run record
 *
 * What a run stores about its own pair is gathered in `own` while its mutations
 * are applied, and takes effect with the result.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "engine/items/worklist_own.h"

struct completing {
	struct item_tx *tx;
	yyjson_val *mutations, *error, *log;
	const struct run_usage *usage;
	struct worklist_run run;
	struct run_result own;
	enum item_effect *effects;
	size_t effects_n;
	bool success, allow_failure;
	bool result_gone;            /* the item was deleted or merged away */
	bool is_replay;
	struct completion *out;
};

const char *
completion_status_text(enum completion_status s)
{
	static const char *const texts[] = { "applied", "conflict",
	    "lease_lost", "failed" };

	CHECK((unsigned)s < ARRAY_LEN(texts));
	return texts[s];
}

/* -- Reading -- */

static enum err
read_list(yyjson_val *json, const char *name, yyjson_val **out, struct why *w)
{
	*out = yyjson_obj_get(json, name);
	if (*out == NULL || yyjson_is_null(*out)) {
		*out = NULL;
		return OK;
	}
	return yyjson_is_arr(*out) ? OK :
	    why_field(w, ERR_INPUT, name, "it is not an array");
}

static enum err
read_outcome(struct completing *c, yyjson_val *json, struct why *w)
{
	yyjson_val *allow = yyjson_obj_get(json, "allowFailure");
	struct str outcome = json_text(yyjson_obj_get(json, "outcome"));

	c->success = str_eq(outcome, STR("success"));
	if (!c->success && !str_eq(outcome, STR("failure")))
		return why_field(w, ERR_INPUT, "outcome",
		    "it is neither success nor failure");
	if (allow != NULL && !yyjson_is_bool(allow) && !yyjson_is_null(allow))
		return why_field(w, ERR_INPUT, "allowFailure",
		    "it is neither true nor false");
	c->allow_failure = yyjson_is_true(allow);
	c->error = yyjson_obj_get(json, "error");
	if (!c->success && !yyjson_is_obj(c->error))
		return why_field(w, ERR_INPUT, "error",
		    "a failure says why, as an object");
	return OK;
}

static enum err
read_completion(struct completing *c, yyjson_val *json, struct str *lease,
    struct why *w)
{
	int64_t max = item_store_limits(item_tx_store(c->tx))->mutations_max;

	if (!yyjson_is_obj(json))
		return why_field(w, ERR_INPUT, "completions",
		    "an element is not an object");
	*lease = json_text(yyjson_obj_get(json, "lease"));
	if (lease->p == NULL)
		return why_field(w, ERR_INPUT, "lease", "it is not a text");
	enum err e = read_outcome(c, json, w);
	if (e == OK)
		e = read_list(json, "mutations", &c->mutations, w);
	if (e == OK)
		e = read_list(json, "log", &c->log, w);
	if (e == OK && (int64_t)yyjson_arr_size(c->mutations) > max)
		e = why_field(w, ERR_FULL, "mutations",
		    "there are more than %lld", (long long)max);
	return e;
}

static void
want_dependents(struct item_tx *tx, uint32_t task, int64_t item)
{
	struct item_store *s = item_tx_store(tx);
	const struct task_config *config = item_store_config(s);
	struct str name = item_store_name_text(s, task);

	for (size_t i = 0; i < config->tasks_n; i++) {
		const struct task *t = &config->tasks[i];
		uint32_t id = 0;

		for (size_t d = 0; d < t->depends_on_n; d++)
			if (str_eq(t->depends_on[d], name) &&
			    item_store_name(s, ITEM_NAME_TASK, t->name, false,
			    &id, NULL) == OK && id != 0)
				item_tx_want_pair_key(tx, id, item);
	}
}

void
worklist_complete_want(struct item_tx *tx, struct yyjson_val *completion)
{
	yyjson_val *list = yyjson_obj_get(completion, "mutations");
	struct str text = json_text(yyjson_obj_get(completion, "lease"));
	uint32_t task;
	int64_t item;
	uint64_t lease;

	if (!worklist_lease_read(text, &task, &item, &lease))
		return;
	item_tx_want_pair_key(tx, task, item);
	item_tx_want_key(tx, item);
	want_dependents(tx, task, item);
	if (yyjson_is_arr(list))
		item_mutations_want(tx, list);
}

/* -- Errors of runs -- */

static struct str
cut_text(struct str s, size_t n)
{
	if (s.n <= n)
		return s;
	while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80)
		n--;
	return str_cut(s, 0, n);
}

/* Seconds from now, or a date. */
static struct wall
read_retry_after(yyjson_val *error, struct wall now)
{
	yyjson_val *v = yyjson_obj_get(error, "retryAfter");
	struct wall at;

	if (v == NULL)
		v = yyjson_obj_get(error, "retry_at");
	if (yyjson_is_num(v)) {
		double s = yyjson_get_num(v);
		double max = (double)(RETRY_AFTER_US_MAX / US_PER_S);

		s = s > 0 ? MIN(s, max) : 0;
		return (struct wall){ now.us + (int64_t)(s * 1e6) };
	}
	if (yyjson_is_str(v) && wall_from_iso(json_text(v), &at))
		return at;
	return ITEM_TIME_NONE;
}

static void
put_members(struct buf *b, yyjson_val *object)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(object);

	for (yyjson_val *k; (k = yyjson_obj_iter_next(&iter)) != NULL;) {
		json_comma(b);
		worklist_put_value(b, k);
		buf_put_char(b, ':');
		worklist_put_value(b, yyjson_obj_iter_get_val(k));
	}
}

/* The failure's object: what the worker said, and where to look. */
static struct str
error_data(struct completing *c, yyjson_val *error, struct str message)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct worklist_run *run = &c->run;

	json_object(&b, NULL);
	put_members(&b, error);
	if (b.n > RUN_ERROR_BYTES_MAX) {
		buf_clear(&b);
		json_object(&b, NULL);
		json_str(&b, "class",
		    cut_text(json_text(yyjson_obj_get(error, "class")), 100));
		json_str(&b, "code",
		    cut_text(json_text(yyjson_obj_get(error, "code")), 100));
		json_str(&b, "message", message);
		json_bool(&b, "truncated", true);
	}
	json_u64(&b, "attempt", run->attempt);
	json_str(&b, "task_version", run->version);
	json_u64(&b, "generation", run->generation);
	json_str(&b, "lease", run->lease_text);
	worklist_put_seed(&b, worklist_lease_seed(run->lease));
	json_array(&b, "log");
	worklist_log_tail(&b, c->log, RUN_ERROR_LOG_LINES);
	buf_put_text(&b, "]}");
	return arena_copy(item_tx_arena(c->tx), buf_str(&b));
}

static struct run_error
read_error(struct completing *c)
{
	struct run_error error = RUN_ERROR_INIT;
	struct str class = json_text(yyjson_obj_get(c->error, "class"));
	struct str code = json_text(yyjson_obj_get(c->error, "code"));
	struct str message = json_text(yyjson_obj_get(c->error, "message"));

	if (message.p == NULL)
		message = code.p == NULL ? STR("no message") : code;
	error.transient = str_eq(class, STR("transient"));
	error.crashed = run_error_is_crash(c->error);
	error.message = cut_text(message, RUN_MESSAGE_BYTES_MAX);
	error.json = error_data(c, c->error, error.message);
	error.not_before = read_retry_after(c->error, item_tx_now(c->tx));
	return error;
}

/* -- Mutations -- */

/* An error of the store itself, not of what was asked for. */
static bool
is_store_error(enum err e)
{
	return e != ERR_INPUT && e != ERR_ABSENT && e != ERR_EXISTS &&
	    e != ERR_STATE && e != ERR_FULL && e != ERR_DENIED;
}

static bool
has_delete(yyjson_val *list)
{
	size_t i, n;
	yyjson_val *m;

	yyjson_arr_foreach(list, i, n, m)
		if (yyjson_equals_str(yyjson_obj_get(m, "op"), "deleteItem"))
			return true;
	return false;
}

static enum err
apply_in_order(struct completing *c, const struct item_actor *actor,
    struct why *reason)
{
	size_t i, n;
	yyjson_val *m;

	yyjson_arr_foreach(c->mutations, i, n, m) {
		c->out->failed_op = i;
		enum err e = item_mutate(c->tx, actor, m, &c->effects[i],
		    &c->out->conflict, reason);
		if (e != OK || c->out->conflict.any)
			return e;
		c->effects_n = i + 1;
	}
	return OK;
}

/* `*failed` becomes the error of a mutation. */
static enum err
apply_mutations(struct completing *c, enum err *failed, struct why *reason,
    struct why *w)
{
	struct item_actor actor = worklist_run_actor(&c->run);
	enum err e = OK;

	actor.own = &c->own;
	c->effects = ARENA_ARRAY(item_tx_scratch(c->tx), enum item_effect,
	    yyjson_arr_size(c->mutations) + 1);
	if (has_delete(c->mutations))
		e = item_mutations_check(c->tx, &actor, c->mutations,
		    &c->out->failed_op, reason);
	if (e == OK)
		e = apply_in_order(c, &actor, reason);
	if (e != OK && is_store_error(e))
		return why(w, e, "%s", reason->text);
	*failed = e;
	return OK;
}

/*
 * Mutations may have taken the pair away: its tag was removed (the result is
 * stored all the same), its item was deleted, or merged into another, to whose
 * pair the lease may have moved.
 */
static enum err
find_pair_again(struct completing *c, struct why *w)
{
	struct worklist_run *run = &c->run;
	struct pair_row *p;
	uint64_t lease;

	if (run->item->exists)
		return OK;
	c->result_gone = true;
	if (c->is_replay)
		return OK;
	enum err e = worklist_lease_pair(c->tx, run->lease_text, true, &p,
	    &lease, w);
	if (e != OK || p == NULL || p->lease != run->lease)
		return e;
	c->result_gone = false;
	run->pair = p;
	e = item_tx_item(c->tx, p->item, &run->item, w);
	if (e == OK)
		e = item_tx_result(c->tx, p->task, p->item, &run->result, w);
	return e;
}

/* -- Outcomes -- */

static void
put_record(struct completing *c, struct str error)
{
	worklist_put_run(c->tx, &(struct run_record){ .run = &c->run,
	    .usage = c->usage, .mutations = c->mutations, .log = c->log,
	    .effects = c->effects_n > 0 ? c->effects : NULL, .error = error,
	    .success = c->success && error.n == 0,
	    .completed_at = c->own.completed_at,
	    .is_replay = c->is_replay });
}

static void
put_done_event(struct completing *c)
{
	struct item_actor actor = worklist_run_actor(&c->run);

	item_event_put(c->tx, &actor, &(struct item_event){
	    .type = ITEM_EVENT_TASK_DONE, .item = c->run.item,
	    .task = c->run.task_name });
}

static enum err
store_success(struct completing *c, struct why *w)
{
	struct worklist_run *run = &c->run;
	struct pair_row *p = run->pair;
	bool failed_before = run->result->exists && !run->result->is_successful;

	result_store(c->tx, run->task, run->result, &c->own, run->version,
	    true);
	worklist_run_end(c->tx, run);
	if (failed_before)
		item_tx_handle_failures(c->tx, run->task_id, run->item->key,
		    STR_NONE, STR("a later run was successful"));
	if (p->exists) {
		p->attempt = 0;
		if (c->own.expired || run->again)
			worklist_run_again(c->tx, run->task, run->result, p);
	} else if (c->own.expired)
		run->result->is_invalidated = true;
	enum err e = pair_settle(c->tx, p, w);   /* and what depends on it */
	put_done_event(c);
	return e;
}

static enum err
store_failure(struct completing *c, const struct run_error *error, bool stores,
    struct why *w)
{
	if (stores)
		result_store(c->tx, c->run.task, c->run.result, &c->own,
		    c->run.version, false);
	enum err e = worklist_fail(c->tx, &c->run, error, stores, w);
	if (e == OK)
		put_record(c, error->json);
	return e;
}

/* A run whose mutations cannot be applied is a failed run. */
static enum err
fail_mutations(struct completing *c, const struct why *reason, struct why *w)
{
	struct run_error error = RUN_ERROR_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct arena *a = item_tx_arena(c->tx);

	c->out->status = COMPLETION_FAILED;
	c->out->reason = arena_copy(a, str_of(reason->text));
	c->effects_n = 0;
	error.message = cut_text(c->out->reason, RUN_MESSAGE_BYTES_MAX);
	json_object(&b, NULL);
	json_str(&b, "class", STR("MutationError"));
	json_str(&b, "code", STR("mutation"));
	json_u64(&b, "op", c->out->failed_op);
	json_str(&b, "message", error.message);
	buf_put_char(&b, '}');
	yyjson_doc *doc = yyjson_read(b.p, b.n, 0);
	error.json = error_data(c, yyjson_doc_get_root(doc), error.message);
	yyjson_doc_free(doc);
	return store_failure(c, &error, false, w);
}

static enum err
store_outcome(struct completing *c, bool stores, struct why *w)
{
	enum err e = find_pair_again(c, w);

	if (e != OK)
		return e;
	c->out->effects = c->effects;
	c->out->effects_n = c->effects_n;
	if (c->result_gone) {
		put_done_event(c);
		put_record(c, STR_NONE);
		return OK;
	}
	if (!c->success) {
		struct run_error error = read_error(c);

		return store_failure(c, &error, stores, w);
	}
	e = store_success(c, w);
	if (e == OK)
		put_record(c, STR_NONE);
	return e;
}

static enum err
complete_run(struct completing *c, struct why *w)
{
	struct item_mark mark = item_tx_mark(c->tx);
	bool stores = c->success || c->allow_failure ||
	    (c->run.task != NULL && c->run.task->store_on_failure);
	struct why reason = WHY_INIT;
	enum err failed = OK;
	enum err e = stores ? apply_mutations(c, &failed, &reason, w) : OK;

	if (e != OK)
		return e;
	if (c->out->conflict.any) {
		c->out->status = COMPLETION_CONFLICT;
		item_tx_undo(c->tx, mark);
		return OK;
	}
	if (failed == OK)
		return store_outcome(c, stores, w);
	item_tx_undo(c->tx, mark);
	return fail_mutations(c, &reason, w);
}

enum err
worklist_complete(struct item_tx *tx, struct yyjson_val *json,
    const struct run_usage *usage, struct completion *out, struct why *w)
{
	struct completing c = { .tx = tx, .usage = usage, .out = out };
	struct pair_row *p;
	struct str text;
	uint64_t lease;

	*out = (struct completion){ .status = COMPLETION_APPLIED };
	enum err e = read_completion(&c, json, &text, w);
	if (e == OK)
		e = worklist_lease_pair(tx, text, true, &p, &lease, w);
	if (e != OK)
		return e;
	if (p != NULL && p->lease == lease) {
		e = worklist_run_of(tx, p, &c.run, w);
		if (e != OK)
			return e;
		out->item = c.run.item->id;
		out->task = c.run.task_name;
		return complete_run(&c, w);
	}
	/* Completed before, and said again; or lost. */
	if (p == NULL || p->done_lease != lease || lease == 0)
		out->status = COMPLETION_LEASE_LOST;
	return OK;
}

/* -- Replays -- */

static enum err
find_replayed(struct completing *c, const struct worklist_replay *r,
    struct why *w)
{
	struct item_store *s = item_tx_store(c->tx);
	struct worklist_run *run = &c->run;

	run->task = task_find(item_store_config(s), r->task);
	if (run->task == NULL)
		return why_field(w, ERR_ABSENT, "task", "there is no such "
		    "task");
	run->task_name = run->task->name;
	run->version = run->task->version;
	run->generation = item_store_config(s)->generation;
	run->lease_text = STR("");
	enum err e = item_store_name(s, ITEM_NAME_TASK, r->task, true,
	    &run->task_id, w);
	if (e == OK)
		e = item_tx_find(c->tx, r->item, &run->item, w);
	if (e == OK)
		e = item_tx_pair(c->tx, run->task_id, run->item->key,
		    &run->pair, w);
	return e == OK ? item_tx_result(c->tx, run->task_id, run->item->key,
	    &run->result, w) : e;
}

/* The pair is as that run has left it. */
static bool
is_unchanged(const struct worklist_run *run, const struct worklist_replay *r)
{
	const struct result_row *row = run->result;

	if (!run->pair->exists || run->pair->lease != 0)
		return false;
	if (r->was_success)
		return row->exists &&
		    row->completed_at.us == r->completed_at.us;
	return !row->exists || row->completed_at.us == ITEM_TIME_NONE.us ||
	    row->completed_at.us <= r->completed_at.us;
}

enum err
worklist_replay(struct item_tx *tx, const struct worklist_replay *r,
    const struct run_usage *usage, struct completion *out, struct why *w)
{
	struct completing c = { .tx = tx, .usage = usage, .out = out,
	    .mutations = r->mutations, .log = r->log, .success = true,
	    .is_replay = true, .own.completed_at = r->completed_at };
	struct item_mark mark = item_tx_mark(tx);
	struct why reason = WHY_INIT;
	enum err failed = OK;

	*out = (struct completion){ .status = COMPLETION_LEASE_LOST };
	enum err e = find_replayed(&c, r, w);
	if (e != OK || !is_unchanged(&c.run, r))
		return e;
	out->status = COMPLETION_APPLIED;
	c.run.attempt = c.run.pair->attempt + 1;
	item_tx_touch_pair(tx, c.run.pair);
	e = apply_mutations(&c, &failed, &reason, w);
	if (e != OK)
		return e;
	if (failed == OK && !out->conflict.any)
		return store_outcome(&c, true, w);
	item_tx_undo(tx, mark);
	if (out->conflict.any)
		out->status = COMPLETION_CONFLICT;
	if (failed != OK) {
		out->status = COMPLETION_FAILED;
		out->reason = arena_copy(item_tx_arena(tx),
		    str_of(reason.text));
	}
	return OK;
}
