/* The section "tasks" of a configuration. */
#include "engine/items/task_read.h"

#include "base/text.h"

#define DEPENDS_MAX 32
#define TAG_LIMITS_MAX 32
#define TAG_PARTS_MAX 16
#define VERSION_BYTES_MAX 100
#define MS INT64_C(1000)
#define DAY (86400 * US_PER_S)

/* A task whose values are being read. */
struct draft {
	struct task task;
	struct task_names depends_on, prefetch;
	unsigned runs, on_failure;
	bool has_backoff_max;
};

static const struct task defaults = {
	.weight = 1,
	.lease_us = 60 * US_PER_S,
	.min_interval_us = 10 * US_PER_S,
	.retries = 10,
	.backoff_us = 30 * US_PER_S,
	.backoff_max_us = 6 * 3600 * US_PER_S,
	.global_limit = true,
	.group_limits = true,
};

/* -- Limits of a task's tags -- */

static int
part_order(const void *a, const void *b)
{
	const struct task_tag_part *x = a, *y = b;

	return str_cmp(x->tag, y->tag);
}

/* The parts of a key, sorted. */
static bool
read_parts(struct task_read *r, struct str key, struct task_tag_limit *limit)
{
	struct task_tag_part *parts = ARENA_ARRAY(r->a, struct task_tag_part,
	    TAG_PARTS_MAX);
	struct str text;
	size_t n = 0;

	for (; str_split(&key, ',', &text); n++) {
		if (n == TAG_PARTS_MAX) {
			task_read_fault(r, "it has more than %d tags",
			    TAG_PARTS_MAX);
			return false;
		}
		text = arena_copy(r->a, text);
		if (!task_read_tag(r, text, &parts[n].tag, &parts[n].value))
			return false;
	}
	qsort(parts, n, sizeof(*parts), part_order);
	for (size_t i = 1; i < n; i++)
		if (str_eq(parts[i - 1].tag, parts[i].tag)) {
			task_read_fault(r, "it has one tag twice");
			return false;
		}
	limit->parts = parts;
	limit->parts_n = n;
	return true;
}

static struct str
canonical_key(struct arena *a, const struct task_tag_limit *limit)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = 0; i < limit->parts_n; i++) {
		const struct task_tag_part *p = &limit->parts[i];
		if (i > 0)
			buf_put_char(&b, ',');
		buf_put_str(&b, p->tag);
		if (p->value.p != NULL) {
			buf_put_char(&b, '=');
			buf_put_str(&b, p->value);
		}
	}
	return arena_copy(a, buf_str(&b));
}

static void
read_tag_limit(struct task_read *r, const struct config_key *k, struct str key,
    yyjson_val *v, struct task_tag_limit *limits, size_t *n)
{
	struct task_tag_limit limit = { .parts_n = 0 };

	if (!read_parts(r, key, &limit))
		return;
	limit.key = canonical_key(r->a, &limit);
	for (size_t i = 0; i < *n; i++)
		if (str_eq(limits[i].key, limit.key)) {
			task_read_fault(r, "these tags stand twice");
			return;
		}
	struct config_key row = *k;
	row.offset = 0;
	task_read_rate(r, &row, v, &limit.rate);
	limits[(*n)++] = limit;
}

static int
limit_order(const void *a, const void *b)
{
	const struct task_tag_limit *x = a, *y = b;

	return str_cmp(x->key, y->key);
}

static void
read_tag_limits(struct task_read *r, const struct config_key *k,
    yyjson_val *object, void *out)
{
	struct draft *d = out;
	size_t i, size, n = 0;
	yyjson_val *key, *v;

	if (!task_read_is_object(r, object))
		return;
	if (yyjson_obj_size(object) > TAG_LIMITS_MAX) {
		task_read_fault(r, "it has more than %d keys",
		    TAG_LIMITS_MAX);
		return;
	}
	struct task_tag_limit *limits = ARENA_ARRAY(r->a,
	    struct task_tag_limit, TAG_LIMITS_MAX);
	yyjson_obj_foreach(object, i, size, key, v) {
		size_t before = task_read_enter(r, json_text(key));
		read_tag_limit(r, k, json_text(key), v, limits, &n);
		task_read_leave(r, before);
	}
	qsort(limits, n, sizeof(*limits), limit_order);
	d->task.tag_limits = limits;
	d->task.tag_limits_n = n;
}

/* -- The keys of a task -- */

static void
read_backoff_max(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	((struct draft *)out)->has_backoff_max = true;
	task_read_duration(r, k, v, out);
}

#define FIELD(name) .offset = offsetof(struct draft, task.name)
#define RANGE(from, to) .min = (from), .max = (to)

static const struct config_key limit_keys[] = {
	{ KEY("rate", rate), FIELD(rate) },
	{ .name = "tags", .read = read_tag_limits, .step = ".TAGS" },
	{ KEY("global", bool), FIELD(global_limit) },
	{ KEY("groups", bool), FIELD(group_limits) },
};

const struct config_key task_keys[] = {
	{ KEY("version", text), FIELD(version),
	    RANGE(1, VERSION_BYTES_MAX), .needed = true },
	{ KEY("ttl", ttl), FIELD(ttl), RANGE(1 * MS, 36500 * DAY) },
	{ KEY("parallel", count), FIELD(parallel), RANGE(1, 10000) },
	{ KEY("weight", count), FIELD(weight), RANGE(1, 1000) },
	{ KEY("lease", duration), FIELD(lease_us),
	    RANGE(1000 * MS, 1 * DAY) },
	{ KEY("minInterval", duration), FIELD(min_interval_us),
	    RANGE(0, 3650 * DAY) },
	{ KEY("retries", count), FIELD(retries), RANGE(0, 1000) },
	{ KEY("backoff", duration), FIELD(backoff_us),
	    RANGE(1 * MS, 365 * DAY) },
	{ .name = "backoffMax", .read = read_backoff_max, FIELD(backoff_max_us),
	    RANGE(1 * MS, 365 * DAY) },
	{ KEY("limits", keys), .keys = limit_keys,
	    .keys_n = ARRAY_LEN(limit_keys), .step = "" },
	{ KEY("onFailure", choice),
	    .offset = offsetof(struct draft, on_failure),
	    .words = "discard store" },
	{ KEY("maxOutstandingFailures", count),
	    FIELD(outstanding_failures_max), RANGE(1, 1000000) },
	{ KEY("dependsOn", tasks),
	    .offset = offsetof(struct draft, depends_on),
	    RANGE(0, DEPENDS_MAX) },
	{ KEY("prefetch", tasks),
	    .offset = offsetof(struct draft, prefetch), RANGE(0, DEPENDS_MAX) },
	{ KEY("runs", choice), .offset = offsetof(struct draft, runs),
	    .words = "last failed none" },
	{ KEY("memory", size), FIELD(memory_bytes),
	    RANGE(1 << 20, INT64_C(4096) << 20) },
	{ KEY("cpu", duration), FIELD(cpu_us),
	    RANGE(1 * MS, 3600 * US_PER_S) },
	{ KEY("wall", duration), FIELD(wall_us), RANGE(1 * MS, 1 * DAY) },
	{ KEY("remote", bool), FIELD(remote) },
	{ KEY("run", function), FIELD(has_run) },
};
const size_t task_keys_n = ARRAY_LEN(task_keys);

/* What one value says about another. */
static void
check_draft(struct task_read *r, struct draft *d)
{
	struct task *t = &d->task;
	size_t before;

	if (!d->has_backoff_max)
		t->backoff_max_us = MAX(t->backoff_max_us, t->backoff_us);
	if (t->backoff_max_us < t->backoff_us) {
		before = task_read_enter(r, STR("backoffMax"));
		task_read_fault(r, "it is less than backoff");
		task_read_leave(r, before);
	}
	if (!t->has_run && !t->remote) {
		before = task_read_enter(r, STR("run"));
		task_read_fault(r, "it is missing; only a task with "
		    "remote: true may go without");
		task_read_leave(r, before);
	}
}

static void
read_task(struct task_read *r, yyjson_val *v, struct task *t)
{
	struct draft d = { .task = defaults };

	d.task.name = t->name;
	d.task.tags = t->tags;
	d.task.tags_n = t->tags_n;
	if (!task_read_is_object(r, v))
		return;
	task_read_object(r, task_keys, task_keys_n, v, &d);
	/* One whose "run" has a fault of its own is not missing it. */
	d.task.has_run |= yyjson_obj_get(v, "run") != NULL;
	check_draft(r, &d);
	d.task.depends_on = d.depends_on.names;
	d.task.depends_on_n = d.depends_on.n;
	d.task.prefetch = d.prefetch.names;
	d.task.prefetch_n = d.prefetch.n;
	d.task.runs = (enum task_runs)d.runs;
	d.task.store_on_failure = d.on_failure != 0;
	*t = d.task;
}

void
task_read_task_map(struct task_read *r, const struct config_key *k,
    yyjson_val *object, void *out)
{
	size_t i, n;
	yyjson_val *name, *v;

	(void)k;
	(void)out;
	if (!yyjson_is_obj(object))
		return;                  /* task_read_task_names() told it */
	yyjson_obj_foreach(object, i, n, name, v) {
		struct task *t = map_get(&r->tasks, json_text(name));
		if (t == NULL)
			continue;
		size_t before = task_read_enter(r, json_text(name));
		read_task(r, v, t);
		task_read_leave(r, before);
	}
}

/* -- Their names, before all else: others may name any of them -- */

static bool
is_task_name(struct task_read *r, yyjson_val *v)
{
	struct str name;

	if (!task_read_name(r, v, ITEM_TAG_BYTES_MAX, &name))
		return false;
	if (str_find_char(name, '*') == name.n &&
	    str_find_char(name, ',') == name.n)
		return true;
	task_read_fault(r, "a task's name has no \"*\" and no \",\"");
	return false;
}

static int
task_order(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

static void
name_tasks(struct task_read *r, yyjson_val *object)
{
	struct task *tasks = ARENA_ARRAY(r->a, struct task,
	    yyjson_obj_size(object));
	size_t i, size, n = 0;
	yyjson_val *name, *v;

	yyjson_obj_foreach(object, i, size, name, v) {
		size_t before = task_read_enter(r, json_text(name));
		if (is_task_name(r, name))
			tasks[n++].name = arena_copy(r->a, json_text(name));
		task_read_leave(r, before);
	}
	qsort(tasks, n, sizeof(*tasks), task_order);
	for (i = 0; i < n; i++)
		if (map_put(&r->tasks, tasks[i].name, &tasks[i]) != NULL) {
			size_t before = task_read_enter(r, tasks[i].name);
			task_read_fault(r, "it stands twice");
			task_read_leave(r, before);
		}
	r->config->tasks = tasks;
	r->config->tasks_n = n;
}

void
task_read_task_names(struct task_read *r, yyjson_val *object)
{
	size_t before = task_read_enter(r, STR("tasks"));

	if (object != NULL && task_read_is_object(r, object)) {
		if (yyjson_obj_size(object) <= (size_t)r->limits->tasks_max) {
			name_tasks(r, object);
		} else {
			task_read_note_limit(r, "tasks_max");
			task_read_fault(r, "it has more than %lld tasks",
			    (long long)r->limits->tasks_max);
		}
	}
	task_read_leave(r, before);
}

/* -- Cycles: a walk in depth, with a stack of its own -- */

enum mark { MARK_NEW, MARK_OPEN, MARK_DONE };
struct step {
	const struct task *task;
	size_t next;                 /* of its dependencies */
};

static void
tell_cycle(struct task_read *r, const struct step *steps, size_t from,
    size_t n)
{
	FREED(buf_free) struct buf names = BUF_INIT;
	size_t before = task_read_enter(r, STR("tasks"));

	for (size_t i = from; i < n; i++) {
		buf_put_str(&names, steps[i].task->name);
		buf_put_text(&names, " -> ");
	}
	buf_put_str(&names, steps[from].task->name);
	task_read_enter(r, steps[from].task->name);
	task_read_enter(r, STR("dependsOn"));
	task_read_fault(r, "the task needs itself: %s", buf_text(&names));
	task_read_leave(r, before);
}

static size_t
find_step(const struct step *steps, size_t n, const struct task *t)
{
	for (size_t i = 0; i < n; i++)
		if (steps[i].task == t)
			return i;
	return n;
}

/* Look at all that `t` needs; `steps` has room for every task. */
static void
walk_dependencies(struct task_read *r, const struct task *t, uint8_t *marks,
    struct step *steps)
{
	const struct task *tasks = r->config->tasks;
	size_t n = 0;

	steps[n++] = (struct step){ t, 0 };
	marks[t - tasks] = MARK_OPEN;
	while (n > 0) {
		struct step *top = &steps[n - 1];
		if (top->next == top->task->depends_on_n) {
			marks[top->task - tasks] = MARK_DONE;
			n--;
			continue;
		}
		const struct task *need = map_get(&r->tasks,
		    top->task->depends_on[top->next++]);
		if (marks[need - tasks] == MARK_OPEN)
			tell_cycle(r, steps, find_step(steps, n, need), n);
		if (marks[need - tasks] != MARK_NEW)
			continue;
		marks[need - tasks] = MARK_OPEN;
		steps[n++] = (struct step){ need, 0 };
	}
}

void
task_read_cycles(struct task_read *r)
{
	size_t n = r->config->tasks_n;
	uint8_t *marks = mem_array(n + 1, sizeof(*marks));
	struct step *steps = mem_array(n + 1, sizeof(*steps));

	for (size_t i = 0; i < n; i++)
		if (marks[i] == MARK_NEW)
			walk_dependencies(r, &r->config->tasks[i], marks,
			    steps);
	mem_free(&steps);
	mem_free(&marks);
}
