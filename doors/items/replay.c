/*
 * Recorded runs, run again (contracts/scripting.md §7): a page of them for each
 * request, so that none is long.
 */
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "script/items/replay.h"
#include "script/items/task_service.h"

struct replaying {
	struct exchange *x;
	struct replay replay;
};

static void
replayed(struct replay *r)
{
	struct replaying *m = CONTAINER(r, struct replaying, replay);
	struct exchange *x = m->x;

	if (r->why.err != OK) {
		exchange_refuse(x, r->why.err, &r->why);
	} else {
		buf_put_str(&x->out, buf_str(&r->json));
		exchange_answer(x);
	}
	buf_free(&r->json);
	mem_free(&m);
}

static void
read_mode(struct input *in, struct replay *r)
{
	static const char *const modes[] = { "compare", "verify", "apply" };
	struct str mode = input_str(in, "mode");
	size_t i = mode.p == NULL ? 0 : STR_ROW(mode, modes);

	if (i == ARRAY_LEN(modes))
		input_fault(in, ERR_INPUT, "mode", "it is none of compare, "
		    "verify, apply");
	else
		r->mode = (enum replay_mode)i;
	r->loose = input_bool(in, "loose", false);
}

/* "17-2000": behind run 17, up to run 2000. */
static bool
read_after(struct str s, struct replay *r)
{
	size_t dash = str_find_char(s, '-');

	return str_to_i64(str_cut(s, 0, dash), &r->after) &&
	    str_to_i64(str_from(s, dash + 1), &r->upto) && r->after >= 0 &&
	    r->upto > 0;
}

/* Which runs of the task. */
static void
read_filter(struct input *in, struct replay *r)
{
	struct str since = input_str(in, "since");
	struct str after = input_str(in, "after");

	r->item = input_str(in, "item");
	r->tag = input_str(in, "tag");
	if (since.p != NULL && !wall_from_iso(since, &r->since))
		input_fault(in, ERR_INPUT, "since",
		    "it is no time such as 2026-11-20T07:00:00Z");
	if (after.p != NULL && !read_after(after, r))
		input_fault(in, ERR_INPUT, "after", "it is no `next` of an "
		    "answer");
	r->max = (unsigned)input_int(in, "limit", REPLAY_PAGE_DEFAULT, 1,
	    REPLAY_PAGE_MAX);
}

static void
begin_replay(struct input *in, const struct replay *r)
{
	struct items_door *d = in->x->door;

	if (input_is_fine(in) && (d->stopping ||
	    task_service_runner(d->service) == NULL))
		input_fault(in, ERR_STATE, "task", "the configuration has no "
		    "tasks that run in this daemon");
	if (!input_end(in))
		return;
	struct replaying *m = mem_new(sizeof(*m));
	m->x = in->x;
	m->replay = *r;
	replay_start(task_service_runner(d->service), &m->replay);
}

void
tasks_replay(struct web_request *request)
{
	struct input in = input_of(exchange_new(request));
	struct replay r = { .done = replayed, .since = ITEM_TIME_NONE };

	r.task = input_name(&in, 1, "task");
	input_json(&in);
	read_mode(&in, &r);
	read_filter(&in, &r);
	begin_replay(&in, &r);
}

void
tasks_replay_run(struct web_request *request)
{
	struct input in = input_of(exchange_new(request));
	struct replay r = { .done = replayed, .since = ITEM_TIME_NONE };

	r.run = input_name(&in, 1, "run");
	input_json(&in);
	read_mode(&in, &r);
	begin_replay(&in, &r);
}
