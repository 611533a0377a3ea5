/*
 * Commands about crawls: start, pause, resume, cancel, delete, run again, list.
 */
#include "doors/realtime/own.h"

#include "base/json.h"

#define SIZE_DEFAULT 100u
#define SEEDS_BYTES_MAX ((size_t)32 << 10)

/* --- begin -------------------------------------------------------------- */

static void
began(struct launch *l)
{
	struct task *t = l->arg;

	if (!task_back(t, &l->why, NULL, CODE_UNKNOWN_POLICY))
		return;
	task_put_crawl(t, l->crawl);
	json_str(task_data(t), "in_force", str_of(l->in_force));
	task_answer(t);
}

bool
task_policy(struct task *t, struct str *name, struct str *json)
{
	yyjson_val *v = t->command.policy;

	*name = *json = STR_NONE;
	if (v == NULL)
		return true;
	if (yyjson_is_str(v)) {
		*name = json_text(v);
		return true;
	}
	if (!yyjson_is_obj(v))
		return task_fail(t, CODE_BAD_ARGS,
		    "policy: a name or an object is expected.");
	char *text = yyjson_val_write(v, 0, NULL);
	CHECK(text != NULL);
	*json = arena_copy(&t->command.arena, str_of(text));
	free(text);
	return true;
}

void
verb_start_crawl(struct task *t)
{
	const struct command *c = &t->command;
	struct str name, json;

	if (!task_policy(t, &name, &json))
		return;
	struct launch *l = task_ask(t, sizeof(*l));
	*l = (struct launch){ .spec = { .name = c->name, .tags = c->tags.p,
	    .tags_n = c->tags.n, .policy_name = name, .policy = json },
	    .seeds = c->seeds, .seeds_n = c->seeds_n, .done = began,
	    .arg = t };
	/* Events that may name the crawl wait for the response. */
	task_begins(t);
	crawl_launch(t->door->engine, l);
}

/* --- pause, resume, cancel ---------------------------------------------- */

static void
state_set(struct crawl_order *o)
{
	struct task *t = o->arg;

	if (!task_back(t, &o->why, NULL, CODE_UNKNOWN_CRAWL))
		return;
	task_put_crawl(t, o->crawl);
	json_str(task_data(t), "status", str_of(crawl_state_name(o->state)));
	task_answer(t);
}

void
verb_set_state(struct task *t)
{
	struct crawl_order *o = task_ask(t, sizeof(*o));
	enum verb verb = t->command.verb;

	*o = (struct crawl_order){ .crawl = t->row->id,
	    .want = verb == VERB_PAUSE ? CRAWL_PAUSED :
	    verb == VERB_RESUME ? CRAWL_RUNNING : CRAWL_CANCELLED,
	    .reason = CRAWL_BY_CLIENT, .done = state_set, .arg = t };
	crawl_set_state(t->door->engine, o);
}

/* --- delete ------------------------------------------------------------- */

static void
deleted(struct delete_request *a)
{
	struct task *t = a->arg;

	if (!task_back(t, &a->why, NULL, CODE_UNKNOWN_CRAWL))
		return;
	task_put_crawl(t, a->crawl);
	task_answer(t);
}

void
verb_delete(struct task *t)
{
	struct delete_request *a = task_ask(t, sizeof(*a));

	*a = (struct delete_request){ .crawl = t->row->id, .done = deleted,
	    .arg = t };
	crawl_delete(t->door->engine, a);
}

/* --- run again ----------------------------------------------------------- */

static void
ran_again(struct rerun *r)
{
	struct task *t = r->arg;

	if (!task_back(t, &r->why, NULL, CODE_UNKNOWN_CRAWL))
		return;
	task_put_crawl(t, r->crawl);
	json_u64(task_data(t), "seeds", r->seeds_n);
	json_str(task_data(t), "in_force", str_of(r->in_force));
	if (r->failures) {
		json_u64(task_data(t), "failed", r->failed);
		json_u64(task_data(t), "left", r->left);
	}
	task_answer(t);
}

void
verb_rerun(struct task *t)
{
	const struct command *c = &t->command;
	struct rerun *r = task_ask(t, sizeof(*r));

	*r = (struct rerun){ .of = t->row->id, .name = c->name,
	    .failures = c->failures, .start = c->start,
	    .done = ran_again, .arg = t };
	/* Events that may name the new crawl wait for the response. */
	task_begins(t);
	crawl_rerun(t->door->engine, r);
}

/* --- list --------------------------------------------------------------- */

static void
put_row(struct buf *b, const struct crawl_row *row)
{
	json_u64(b, "crawl_id", row->id);
	json_str(b, "policy", row->policy);
	json_str(b, "kind", str_of(crawl_kind_name(row->view.kind)));
	row_put_all(b, row);
	json_u64(b, "in_flight", row->view.counts.leased);
	json_real(b, "pages_per_s", row->pages_per_s);
	json_real(b, "bytes_per_s", row->bytes_per_s);
	json_bool(b, "archive", !row->unarchived);
	if (row->schedule != 0)
		json_u64(b, "schedule_id", row->schedule);
}

static bool
is_listed(const struct command *c, const struct filter *f,
    const struct crawl_row *row)
{
	return !row->deleted && filter_takes(f, row) && (c->status.n == 0 ||
	    str_eq(c->status, str_of(crawl_state_name(row->view.state))));
}

/* False: the task has failed. */
static bool
status_known(struct task *t)
{
	struct str word = t->command.status;

	for (unsigned i = 0; i < CRAWL_STATE_COUNT; i++)
		if (word.n == 0 || str_eq(word, str_of(crawl_state_name(
		    (enum crawl_state)i))))
			return true;
	return task_fail(t, CODE_BAD_ARGS, "status: pending, running, paused, "
	    "complete or cancelled is expected.");
}

void
verb_list_crawls(struct task *t)
{
	const struct command *c = &t->command;
	uint64_t size = command_has(c, ARG_BIT(SIZE)) ? c->size : SIZE_DEFAULT;
	FREED(buf_free) struct buf rows = BUF_INIT;
	struct crawl_row *row;
	uint32_t below = UINT32_MAX;
	uint64_t total = 0, put = 0;
	struct filter f;

	if (!filter_read(&f, t) || !status_known(t))
		return;
	while ((row = crawl_registry_below(t->door->registry, below)) != NULL) {
		below = row->id;
		if (!is_listed(c, &f, row))
			continue;
		if (total++ >= c->start && put < size &&
		    rows.n < REALTIME_ANSWER_BYTES_MAX) {
			json_object(&rows, NULL);
			put_row(&rows, row);
			buf_put_char(&rows, '}');
			put++;
		}
	}
	json_u64(task_data(t), "total", total);
	json_array(task_data(t), "crawls");
	buf_put_str(&t->data, buf_str(&rows));
	buf_put_char(&t->data, ']');
	task_answer(t);
}

/* --- one ---------------------------------------------------------------- */

static void
put_spec(struct buf *b, const struct spec_query *a, uint64_t start)
{
	const struct crawl_spec *s = &a->spec;
	size_t most = b->n + SEEDS_BYTES_MAX, end = start;

	json_array(b, "seeds");
	for (; end < s->seeds_n && b->n < most; end++)
		json_item(b, s->seeds[end]);
	buf_put_char(b, ']');
	/* One for each of these seeds; null: the policy's. */
	json_array(b, "rate_limits");
	for (size_t i = start; i < end; i++) {
		json_comma(b);
		if (a->delays[i] < 0)
			buf_put_text(b, "null");
		else
			buf_printf(b, "%.17g", a->delays[i]);
	}
	buf_put_char(b, ']');
	json_u64(b, "seeds_total", s->seeds_n);
	/* Copied as the engine wrote it. */
	json_name(b, "policy_json");
	buf_put_str(b, s->policy.n <= POLICY_JSON_BYTES_MAX &&
	    s->policy.n > 0 ? s->policy : STR("null"));
}

static void
got_spec(struct spec_query *s)
{
	struct task *t = s->arg;
	struct crawl_row *row;

	if (!task_back(t, &s->why, &s->arena, CODE_UNKNOWN_CRAWL) ||
	    (row = task_row(t)) == NULL)
		return;
	put_row(task_data(t), row);
	put_spec(task_data(t), s, t->command.start);
	task_answer(t);
}

void
verb_get_crawl(struct task *t)
{
	struct spec_query *s = task_ask(t, sizeof(*s));

	*s = (struct spec_query){ .crawl = t->row->id, .done = got_spec,
	    .arg = t };
	catalog_spec(t->door->engine, s);
}

/* --- a snapshot of everything ------------------------------------------- */

static void
snapshot_made(struct snapshot_ask *a)
{
	struct task *t = a->arg;

	if (!task_back(t, &a->why, NULL, CODE_INTERNAL))
		return;
	json_str(task_data(t), "directory", STR(SNAPSHOT_DIR));
	json_u64(task_data(t), "group", a->group);
	json_u64(task_data(t), "warcs_outside", a->outside);
	task_answer(t);
}

void
verb_snapshot(struct task *t)
{
	struct snapshot_ask *a = task_ask(t, sizeof(*a));

	*a = (struct snapshot_ask){ .done = snapshot_made, .arg = t };
	engine_snapshot(t->door->engine, a);
}
