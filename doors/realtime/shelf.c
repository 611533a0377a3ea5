/*
 * Commands about policies and schedules, which the engine's store keeps.
 */
#include "doors/realtime/own.h"

#include "base/text.h"

struct shelving {
	struct store_request ask;
	struct buf json, seeds;      /* the object to store */
	void (*got)(struct task *, const struct store_request *);
};

/* Maps "not found" to the error code that the protocol expects. */
static enum code
absent(const struct store_request *a)
{
	/* schedule.put can name a missing policy or a missing schedule. */
	if (a->verb == STORE_SCHEDULE_PUT)
		return strcmp(a->why.field, "schedule") == 0 ?
		    CODE_BAD_ARGS : CODE_UNKNOWN_POLICY;
	return a->verb <= STORE_POLICY_LIST ? CODE_UNKNOWN_POLICY :
	    CODE_BAD_ARGS;
}

static void
done(struct store_request *a)
{
	struct shelving *s = CONTAINER(a, struct shelving, ask);
	struct task *t = a->arg;
	struct why w = a->why;
	enum code code = absent(a);

	realtime_back(t->door);
	if (w.err == OK)
		s->got(t, a);
	arena_free(&a->arena);
	buf_free(&s->json);
	buf_free(&s->seeds);
	if (w.err == OK)
		task_answer(t);
	else if (a->verb == STORE_POLICY_PUT && w.err == ERR_INPUT)
		task_fail(t, CODE_BAD_POLICY, "%s.", w.text);
	else
		task_fail_why(t, &w, code);
}

static struct shelving *
shelving(struct task *t, enum store_verb verb,
    void (*got)(struct task *, const struct store_request *))
{
	struct shelving *s = task_own(t, sizeof(*s));

	s->got = got;
	s->ask.verb = verb;
	s->ask.done = done;
	s->ask.arg = t;
	return s;
}

static void
ask(struct task *t, struct shelving *s)
{
	realtime_out(t->door);
	engine_store(t->door->engine, &s->ask);
}

/* --- policies ----------------------------------------------------------- */

static void
put_in_force(struct buf *b, struct str json)
{
	struct policy *p = NULL;
	struct buf text = BUF_INIT;

	if (policy_parse(json, &p, NULL) != OK)
		return;
	policy_to_sentence(p, &text);
	json_str(b, "in_force", buf_str(&text));
	buf_free(&text);
	policy_free(&p);
}

static void
got_policy(struct task *t, const struct store_request *a)
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
got_name(struct task *t, const struct store_request *a)
{
	(void)a;
	json_str(task_data(t), "name", t->command.name);
}

static void
got_policies(struct task *t, const struct store_request *a)
{
	struct buf *b = task_data(t);

	json_array(b, "policies");
	for (size_t i = 0; i < a->n && b->n < REALTIME_ANSWER_BYTES_MAX;
	    i++) {
		json_item(b, a->policies[i].name);
	}
	buf_put_char(b, ']');
}

void
verb_POLICY_PUT(struct task *t)
{
	struct buf json = BUF_INIT;
	struct str name;

	if (!realtime_policy(t, &name, &json))
		return;
	if (json.n == 0) {
		task_fail(t, CODE_BAD_ARGS, "policy: an object is expected.");
		return;
	}
	struct shelving *s = shelving(t, STORE_POLICY_PUT, got_policy);
	s->json = json;
	s->ask.name = t->command.name;
	s->ask.json = buf_str(&s->json);
	ask(t, s);
}

void
verb_POLICY_GET(struct task *t)
{
	struct shelving *s = shelving(t, STORE_POLICY_GET, got_policy);

	s->ask.name = t->command.name;
	ask(t, s);
}

void
verb_POLICY_DELETE(struct task *t)
{
	struct shelving *s = shelving(t, STORE_POLICY_DELETE, got_name);

	s->ask.name = t->command.name;
	ask(t, s);
}

void
verb_POLICY_LIST(struct task *t)
{
	ask(t, shelving(t, STORE_POLICY_LIST, got_policies));
}

/* --- schedules ---------------------------------------------------------- */

static void
got_schedule(struct task *t, const struct store_request *a)
{
	json_u64(task_data(t), "schedule_id", a->schedules[0].id);
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
	if (s->last_crawl == SCHEDULE_NO_CRAWL)
		json_null(b, "last_crawl");
	else
		json_u64(b, "last_crawl", s->last_crawl);
	buf_put_char(b, '}');
}

static void
got_schedules(struct task *t, const struct store_request *a)
{
	struct buf *b = task_data(t);

	json_u64(b, "total", a->n);
	json_array(b, "schedules");
	for (size_t i = 0; i < a->n && b->n < REALTIME_ANSWER_BYTES_MAX; i++)
		put_schedule(b, &a->schedules[i]);
	buf_put_char(b, ']');
}

/* Seeds as JSON, in their canonical form. */
static void
put_seeds(struct buf *b, const struct command *c)
{
	buf_put_char(b, '[');
	for (size_t i = 0; i < c->seeds_n; i++) {
		json_object(b, NULL);
		json_str(b, "url", c->seeds[i].url);
		if (c->seeds[i].rate_limit >= 0)
			json_real(b, "rate_limit", c->seeds[i].rate_limit);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static bool
read_times(struct task *t, struct schedule *s)
{
	const struct command *c = &t->command;

	if (!schedule_unit_of(c->unit, &s->unit)) {
		task_fail(t, CODE_BAD_ARGS, "unit: minutes, hours, days, "
		    "weeks, months or years is expected.");
		return false;
	}
	if (c->timing.n > 0 && !schedule_timing_of(c->timing, &s->timing)) {
		task_fail(t, CODE_BAD_ARGS, "timing: regular_interval or "
		    "after_previous is expected.");
		return false;
	}
	if (c->every > SCHEDULE_EVERY_MAX) {
		task_fail(t, CODE_BAD_ARGS, "every: at most %u is allowed.",
		    SCHEDULE_EVERY_MAX);
		return false;
	}
	if (c->start_at > 4e9) {
		task_fail(t, CODE_BAD_ARGS,
		    "start_at: Unix seconds are expected.");
		return false;
	}
	s->every = (unsigned)c->every;
	s->start_at = (struct wall){ (int64_t)(c->start_at * 1e6) };
	return true;
}

void
verb_SCHEDULE_PUT(struct task *t)
{
	const struct command *c = &t->command;
	struct schedule s = { .id = c->schedule_id, .name = c->name,
	    .tags = c->tags.p, .tags_n = c->tags.n,
	    .name_template = c->name_template,
	    .last_crawl = SCHEDULE_NO_CRAWL };
	struct buf json = BUF_INIT;

	if (!read_times(t, &s) || !realtime_policy(t, &s.policy, &json))
		return;
	if (s.policy.n == 0 && json.n == 0)
		s.policy = STR(STORE_POLICY_DEFAULT);
	struct shelving *h = shelving(t, STORE_SCHEDULE_PUT, got_schedule);
	h->json = json;
	put_seeds(&h->seeds, c);
	s.policy_json = buf_str(&h->json);
	s.seeds = buf_str(&h->seeds);
	h->ask.schedule = s;
	ask(t, h);
}

static void
got_id(struct task *t, const struct store_request *a)
{
	(void)a;
	json_u64(task_data(t), "schedule_id", t->command.schedule_id);
}

void
verb_SCHEDULE_DELETE(struct task *t)
{
	struct shelving *s = shelving(t, STORE_SCHEDULE_DELETE, got_id);

	s->ask.schedule.id = t->command.schedule_id;
	ask(t, s);
}

void
verb_SCHEDULE_LIST(struct task *t)
{
	ask(t, shelving(t, STORE_SCHEDULE_LIST, got_schedules));
}
