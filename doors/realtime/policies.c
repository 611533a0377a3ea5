/*
 * Commands about policies and schedules, which the engine's store keeps.
 */
#include "doors/realtime/own.h"

/* --- policies ----------------------------------------------------------- */

static void
put_in_force(struct buf *b, struct str json)
{
	FREED(policy_free) struct policy *p = NULL;
	FREED(buf_free) struct buf text = BUF_INIT;

	if (policy_parse(json, &p, NULL) != OK)
		return;
	policy_to_sentence(p, &text);
	json_str(b, "in_force", buf_str(&text));
}

static void
put_policy(struct task *t, const struct store_request *a)
{
	struct buf *b = task_data(t);

	json_str(b, "name", a->policy.name.n > 0 ? a->policy.name :
	    t->command.name);
	json_raw(b, "policy", a->policy.json);
	put_in_force(b, a->policy.json);
	json_time(b, "created_at", a->policy.created);
	json_time(b, "changed_at", a->policy.changed);
}

static void
put_name(struct task *t, const struct store_request *a)
{
	(void)a;
	json_str(task_data(t), "name", t->command.name);
}

static void
put_policies(struct task *t, const struct store_request *a)
{
	struct buf *b = task_data(t);

	json_array(b, "policies");
	for (size_t i = 0; i < a->n && b->n < REALTIME_ANSWER_BYTES_MAX; i++)
		json_item(b, a->policies[i].name);
	buf_put_char(b, ']');
}

static bool
read_policy(struct task *t, struct store_request *a)
{
	struct str name;

	if (!task_policy(t, &name, &a->json))
		return false;
	return a->json.n > 0 || task_fail(t, CODE_BAD_ARGS,
	    "policy: an object is expected.");
}

/* --- schedules ---------------------------------------------------------- */

static void
put_schedule_id(struct task *t, const struct store_request *a)
{
	/* The store gives a new one its number. */
	json_u64(task_data(t), "schedule_id", a->schedules == NULL ?
	    t->command.schedule_id : a->schedules[0].id);
}

static void
put_schedule(struct buf *b, const struct schedule *s)
{
	json_object(b, NULL);
	json_u64(b, "schedule_id", s->id);
	json_str(b, "name", s->name);
	if (s->policy.n > 0)
		json_str(b, "policy", s->policy);
	else
		json_null(b, "policy");
	json_strs(b, "tags", s->tags, s->tags_n);
	json_u64(b, "every", s->every);
	json_str(b, "unit", str_of(schedule_unit_text(s->unit)));
	json_str(b, "timing", str_of(schedule_timing_text(s->timing)));
	json_str(b, "name_template", s->name_template);
	json_time(b, "start_at", s->start_at);
	json_time(b, "next_at", s->next_at);
	json_u64(b, "runs", s->runs);
	if (s->harvest_type.n > 0) {
		json_str(b, "harvest", s->harvest_type);
		json_u64(b, "skips", s->skips);
	}
	if (s->last_crawl == SCHEDULE_NO_CRAWL || s->is_elsewhere)
		json_null(b, "last_crawl");
	else
		json_u64(b, "last_crawl", s->last_crawl);
	buf_put_char(b, '}');
}

static void
put_schedules(struct task *t, const struct store_request *a)
{
	struct buf *b = task_data(t);

	json_u64(b, "total", a->n);
	json_array(b, "schedules");
	for (size_t i = 0; i < a->n && b->n < REALTIME_ANSWER_BYTES_MAX; i++)
		put_schedule(b, &a->schedules[i]);
	buf_put_char(b, ']');
}

/* Seeds as JSON, in their canonical form. */
static struct str
seeds_json(struct command *c)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_array(&b, NULL);
	for (size_t i = 0; i < c->seeds_n; i++) {
		json_object(&b, NULL);
		json_str(&b, "url", c->seeds[i].url);
		if (c->seeds[i].rate_limit >= 0)
			json_real(&b, "rate_limit", c->seeds[i].rate_limit);
		buf_put_char(&b, '}');
	}
	buf_put_char(&b, ']');
	return arena_copy(&c->arena, buf_str(&b));
}

static bool
read_times(struct task *t, struct schedule *s)
{
	const struct command *c = &t->command;

	if (!schedule_unit_of(c->unit, &s->unit))
		return task_fail(t, CODE_BAD_ARGS, "unit: minutes, hours, "
		    "days, weeks, months or years is expected.");
	if (c->timing.n > 0 && !schedule_timing_of(c->timing, &s->timing))
		return task_fail(t, CODE_BAD_ARGS, "timing: regular_interval "
		    "or after_previous is expected.");
	if (c->every > SCHEDULE_EVERY_MAX)
		return task_fail(t, CODE_BAD_ARGS,
		    "every: at most %u is allowed.", SCHEDULE_EVERY_MAX);
	if (c->start_at > 4e9)
		return task_fail(t, CODE_BAD_ARGS,
		    "start_at: Unix seconds are expected.");
	s->every = (unsigned)c->every;
	s->start_at = (struct wall){ (int64_t)(c->start_at * 1e6) };
	return true;
}

static bool
read_schedule(struct task *t, struct store_request *a)
{
	struct command *c = &t->command;
	struct schedule *s = &a->schedule;

	*s = (struct schedule){ .id = c->schedule_id, .name = c->name,
	    .tags = c->tags.p, .tags_n = c->tags.n,
	    .name_template = c->name_template,
	    .last_crawl = SCHEDULE_NO_CRAWL };
	bool harvests = command_has(c, ARG_BIT(HARVEST));
	if (harvests == command_has(c, ARG_BIT(SEEDS)))
		return task_fail(t, CODE_BAD_ARGS, harvests ?
		    "harvest: there are seeds too; give one of them." :
		    "seeds: it is missing.");
	if (harvests && !task_harvest(t, &s->harvest_type, &s->harvest))
		return false;
	if (!read_times(t, s) || !task_policy(t, &s->policy, &s->policy_json))
		return false;
	if (s->policy.n == 0 && s->policy_json.n == 0)
		s->policy = STR(STORE_POLICY_DEFAULT);
	s->seeds = harvests ? STR("[]") : seeds_json(c);
	return true;
}

/* --- all of them -------------------------------------------------------- */

static const struct store_row {
	enum store_verb verb;
	/* Read the arguments, besides `name` and `schedule_id`; NULL: there
	 * are no others.  False: the task has failed. */
	bool (*read)(struct task *, struct store_request *);
	void (*put)(struct task *, const struct store_request *);
} rows[VERB_COUNT] = {
	[VERB_POLICY_PUT] = { STORE_POLICY_PUT, read_policy, put_policy },
	[VERB_POLICY_GET] = { STORE_POLICY_GET, NULL, put_policy },
	[VERB_POLICY_DELETE] = { STORE_POLICY_DELETE, NULL, put_name },
	[VERB_POLICY_LIST] = { STORE_POLICY_LIST, NULL, put_policies },
	[VERB_SCHEDULE_PUT] = { STORE_SCHEDULE_PUT, read_schedule,
	    put_schedule_id },
	[VERB_SCHEDULE_DELETE] = { STORE_SCHEDULE_DELETE, NULL,
	    put_schedule_id },
	[VERB_SCHEDULE_LIST] = { STORE_SCHEDULE_LIST, NULL, put_schedules },
};

static void
stored(struct store_request *a)
{
	struct task *t = a->arg;
	/* schedule.put names a policy and a schedule: which is missing? */
	bool schedule = strcmp(a->why.field, "schedule") == 0;

	if (a->verb == STORE_POLICY_PUT && a->why.err == ERR_INPUT) {
		drain_gate_leave(&t->door->asked);
		t->answer = a->arena;
		task_fail(t, CODE_BAD_POLICY, "%s.", a->why.text);
	} else if (task_back(t, &a->why, &a->arena, schedule ?
	    CODE_BAD_ARGS : CODE_UNKNOWN_POLICY)) {
		rows[t->command.verb].put(t, a);
		task_answer(t);
	}
}

void
verb_store(struct task *t)
{
	const struct store_row *row = &rows[t->command.verb];
	struct store_request a = { .verb = row->verb, .name = t->command.name,
	    .schedule.id = t->command.schedule_id, .done = stored, .arg = t };

	if (row->read != NULL && !row->read(t, &a))
		return;
	struct store_request *q = task_ask(t, sizeof(*q));
	*q = a;
	engine_store(t->door->engine, q);
}
