#include "engine/items/task_config.h"

#include "engine/items/task_cron.h"
#include "engine/items/task_read.h"

#define CONFIG_BYTES_MAX (16u << 20)

static const struct config_key limit_keys[] = {
	{ KEY("global", rate),
	    .offset = offsetof(struct task_config, global) },
	{ KEY("groups", groups), .step = ".PATTERN" },
};
static const struct config_key fetch_keys[] = {
	{ KEY("policy", policy) },
	{ KEY("private", private) },
};

/* The whole file; "tasks" come first as far as their names go. */
static const struct config_key config_keys[] = {
	{ KEY("migrations", migrations), .step = "[]" },
	{ KEY("seeds", seeds), .step = "[]" },
	{ KEY("tags", tags), .step = ".TAG" },
	{ KEY("fetch", keys), .keys = fetch_keys,
	    .keys_n = ARRAY_LEN(fetch_keys), .step = "" },
	{ KEY("limits", keys), .keys = limit_keys,
	    .keys_n = ARRAY_LEN(limit_keys), .step = "" },
	{ KEY("sessions", sessions), .step = ".NAME" },
	{ KEY("tasks", task_map), .step = ".NAME" },
};

struct task_config *
task_config_none(void)
{
	struct task_config *c = mem_new(sizeof(*c));

	c->arena = ARENA_INIT;
	c->json = c->sessions = STR("{}");
	return c;
}

void
task_config_free(struct task_config **cp)
{
	if (*cp == NULL)
		return;
	struct arena a = (*cp)->arena;
	arena_free(&a);
	mem_free(cp);
}

static void
read_sections(struct task_read *r, yyjson_val *root)
{
	if (!task_read_is_object(r, root))
		return;
	task_read_task_names(r, yyjson_obj_get(root, "tasks"));
	task_read_object(r, config_keys, ARRAY_LEN(config_keys), root,
	    r->config);
	task_read_cycles(r);
}

static void
read_text(struct task_read *r, struct str json)
{
	yyjson_read_err fault;

	if (json.n > CONFIG_BYTES_MAX) {
		task_read_fault(r, "it is longer than %u bytes",
		    CONFIG_BYTES_MAX);
		return;
	}
	if (json.n == 0) {
		task_read_fault(r, "it is empty");
		return;
	}
	/* yyjson does not write to it without a flag that says so. */
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json.p, json.n,
	    0, NULL, &fault);
	if (doc == NULL) {
		task_read_fault(r, "it is not JSON: %s at byte %zu",
		    fault.msg, fault.pos);
		return;
	}
	r->config->json = arena_copy(r->a, json);
	read_sections(r, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

enum err
task_config_read(struct str json, const struct item_limits *limits,
    struct task_config **out, struct task_faults *faults, struct why *w)
{
	struct task_config *c = task_config_none();
	struct task_read r = { .config = c, .limits = limits, .a = &c->arena,
		.tasks = MAP_INIT, .path = BUF_INIT,
		.faults = faults == NULL ? NULL : &faults->text, .w = w };

	read_text(&r, json);
	map_free(&r.tasks);
	buf_free(&r.path);
	if (faults != NULL)
		faults->limit = r.limit;
	if (r.faults_n > 0) {
		task_config_free(&c);
		*out = NULL;
		return ERR_INPUT;
	}
	*out = c;
	return OK;
}

void
task_faults_free(struct task_faults *f)
{
	buf_free(&f->text);
}

static int
name_order(const void *name, const void *task)
{
	return str_cmp(*(const struct str *)name,
	    ((const struct task *)task)->name);
}

const struct task *
task_find(const struct task_config *c, struct str name)
{
	return c->tasks_n == 0 ? NULL : bsearch(&name, c->tasks, c->tasks_n,
	    sizeof(*c->tasks), name_order);
}

bool
task_matches(struct str pattern, struct str name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = n;
		} else if (p < pattern.n && pattern.p[p] == name.p[n]) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;    /* the star takes one more */
			n = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

struct wall
task_ttl_expires(const struct task_ttl *ttl, struct wall completed)
{
	switch (ttl->kind) {
	case TASK_TTL_AFTER:
		return (struct wall){ completed.us + ttl->after_us };
	case TASK_TTL_CRON:
		return task_cron_next(ttl->cron, completed);
	case TASK_TTL_NEVER:
	default:
		return (struct wall){ INT64_MIN };   /* ITEM_TIME_NONE */
	}
}

/* -- For the documents -- */

/* What is in the maps and lists, which have reading functions of their own. */
static void
walk_table(const char *path, const struct config_key *keys, size_t n,
    void (*each)(void *, const char *), void *arg);

static void
walk_elements(const char *path, void (*each)(void *, const char *), void *arg)
{
	static const struct {
		const char *path;
		const struct config_key *keys;
		const size_t *n;
	} rows[] = {
		{ "migrations[]", task_migration_keys,
		    &task_migration_keys_n },
		{ "seeds[]", task_seed_keys, &task_seed_keys_n },
		{ "sessions.NAME", task_session_keys, &task_session_keys_n },
		{ "tasks.NAME", task_keys, &task_keys_n },
	};
	size_t i = STR_ROW(str_of(path), rows);

	each(arg, path);
	if (i < ARRAY_LEN(rows))
		walk_table(path, rows[i].keys, *rows[i].n, each, arg);
}

static void
walk_table(const char *path, const struct config_key *keys, size_t n,
    void (*each)(void *, const char *), void *arg)
{
	char below[200];

	for (size_t i = 0; i < n; i++) {
		const struct config_key *k = &keys[i];
		snprintf(below, sizeof(below), "%s%s%s", path,
		    path[0] == '\0' ? "" : ".", k->name);
		each(arg, below);
		walk_table(below, k->keys, k->keys_n, each, arg);
		size_t at = strlen(below);
		if (k->step == NULL || k->step[0] == '\0')
			continue;
		snprintf(below + at, sizeof(below) - at, "%s", k->step);
		walk_elements(below, each, arg);
	}
}

void
task_config_walk_keys(void (*each)(void *arg, const char *path), void *arg)
{
	walk_table("", config_keys, ARRAY_LEN(config_keys), each, arg);
}
