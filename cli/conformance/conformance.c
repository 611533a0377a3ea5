/*
 * conformance -- a run: the loop, what both sides share, and the groups in
 * their order.
 */
#include "cli/conformance/conformance.h"

#include "base/text.h"
#include "cli/conformance/own.h"
#include "os/clock.h"

#define AGENT "argiope-conformance/" ARGIOPE_VERSION
#define CALLS_MAX 16u
#define LOOK_MS 20               /* between two looks at a condition */

/* ---- The loop ------------------------------------------------------- */

struct wait {
	struct timer tick;
	struct loop *loop;
	bool (*is_met)(void *);
	void *arg;
	struct mono end;
	bool done, met;
};

static void
look_again(struct timer *t)
{
	struct wait *w = CONTAINER(t, struct wait, tick);
	struct mono now = clock_mono();

	w->met = w->is_met != NULL && w->is_met(w->arg);
	w->done = w->met || !mono_before(now, w->end);
	if (!w->done)
		loop_timer_set(w->loop, &w->tick, mono_add_ms(now, LOOK_MS));
}

bool
conformance_wait(struct conformance *c, bool (*is_met)(void *), void *arg,
    int64_t ms)
{
	struct wait w = { .loop = c->loop, .is_met = is_met, .arg = arg,
	    .end = mono_add_ms(clock_mono(), ms), .tick.fire = look_again };

	loop_timer_set(c->loop, &w.tick, clock_mono());
	loop_run_until(c->loop, &w.done);
	loop_timer_stop(c->loop, &w.tick);
	return w.met;
}

void
conformance_pause(struct conformance *c, int64_t ms)
{
	(void)conformance_wait(c, NULL, NULL, ms);
}

/* ---- Names and documents -------------------------------------------- */

struct str
conformance_fid(struct conformance *c)
{
	return arena_printf(&c->arena, "conformance-%s-%llu", c->run,
	    (unsigned long long)++c->fids);
}

void
conformance_keep(struct conformance *c, yyjson_doc *doc)
{
	c->docs = mem_room(c->docs, c->docs_n, &c->docs_cap, 16,
	    sizeof(yyjson_doc *));
	c->docs[c->docs_n++] = doc;
}

yyjson_val *
member_at(yyjson_val *v, const char *path)
{
	struct str rest = str_of(path), word;

	while (v != NULL && str_split(&rest, '.', &word))
		v = yyjson_obj_getn(v, word.p, word.n);
	return v;
}

/* ---- A run ---------------------------------------------------------- */

static enum err
read_object(struct conformance *c, struct why *w)
{
	yyjson_val *schema = yyjson_obj_get(c->options->object, "schema");
	enum err e = crawler_check_headers(yyjson_obj_get(c->options->object,
	    "headers"), w);

	c->id_field = json_text(yyjson_obj_get(c->options->object,
	    "docIdField"));
	if (e == OK && yyjson_is_obj(schema) && yyjson_obj_size(schema) > 0)
		e = schema_compile(schema, &c->schema, w);
	return e;
}

static enum err
check_choice(const struct verdicts *v, struct why *w)
{
	return verdicts_wants(v, NULL) ? OK : why(w, ERR_USAGE, "no check is "
	    "left: the group oauth needs --oauth, and --seed-only leaves out "
	    "extensions");
}

static enum err
begin_run(struct conformance *c, const struct conformance_options *o,
    struct verdicts *verdicts, struct why *w)
{
	uint32_t chance;
	enum err e;

	*c = (struct conformance){ .loop = o->loop, .options = o,
	    .limits = CONFORMANCE_LIMITS_DEFAULT, .verdicts = verdicts };
	list_init(&c->tasks);
	list_init(&c->pending);
	clock_random(&chance, sizeof(chance));
	snprintf(c->run, sizeof(c->run), "%08x", (unsigned)chance);
	c->calls = crawler_calls_new(c->loop, AGENT, NULL,
	    c->limits.call_ms, CALLS_MAX);
	e = crawler_read_url(o->peer, "the peer", &c->arena, &c->peer, w);
	return e == OK ? read_object(c, w) : e;
}

static void
end_run(struct conformance *c)
{
	crawler_calls_free(&c->calls);
	played_backend_close(c);
	web_close(&c->web);
	while (!list_empty(&c->tasks)) {
		struct task_trace *t = LIST_ITEM(c->tasks.next,
		    struct task_trace, node);
		task_trace_free(&t);
	}
	schema_free(&c->schema);
	for (size_t i = 0; i < c->docs_n; i++)
		yyjson_doc_free(c->docs[i]);
	mem_free(&c->docs);
	mem_free(&c->notices);
	arena_free(&c->arena);
}

void
conformance_print(struct conformance *c, const char *group)
{
	FREED(buf_free) struct buf lines = BUF_INIT;

	verdicts_put_group(c->verdicts, group, &lines);
	c->options->print(c->options->arg, buf_str(&lines));
}

struct group {
	const char *name;
	void (*judge)(struct conformance *);
};

static void
judge_groups(struct conformance *c, const struct group *groups, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!verdicts_wants(c->verdicts, groups[i].name))
			continue;
		groups[i].judge(c);
		conformance_print(c, groups[i].name);
	}
}

enum err
conformance_judge_crawler(const struct conformance_options *o,
    struct verdicts *verdicts, struct why *w)
{
	static const struct group groups[] = {
		{ "start", judge_start }, { "upload", judge_uploads },
		{ "faults", judge_faults }, { "status", judge_status },
		{ "stop", judge_stop }, { "oauth", judge_oauth },
		{ "security", judge_security },
		{ "extensions", judge_extensions } };
	struct conformance c;
	enum err e = begin_run(&c, o, verdicts, w);

	if (!o->oauth)
		verdicts_leave_out(verdicts, "oauth");
	if (e == OK)
		e = check_choice(verdicts, w);
	if (e == OK)
		e = played_backend_open(&c, w);
	if (e == OK)
		judge_groups(&c, groups, ARRAY_LEN(groups));
	end_run(&c);
	return e;
}

enum err
conformance_judge_backend(const struct conformance_options *o,
    struct verdicts *verdicts, struct why *w)
{
	struct conformance c;
	enum err e = begin_run(&c, o, verdicts, w);

	if (e == OK)
		e = check_choice(verdicts, w);
	if (e == OK)
		e = played_crawler_open(&c, w);
	if (e == OK)
		judge_backend(&c);
	end_run(&c);
	return e;
}
