/* The sections of a configuration besides its tasks. */
#include "engine/items/task_read.h"

#include "base/text.h"

#define GROUPS_MAX 1000
#define SEEDS_MAX 10000
#define PRIVATE_MAX 100
#define SESSIONS_MAX 100
#define DAY (86400 * US_PER_S)

/* -- tags: { "tag": ["task", ...] } -- */

struct tag_task {
	struct str tag;
	struct task *task;
};
struct tag_tasks {
	struct tag_task *rows;
	size_t n, cap;
};

static int
tag_task_order(const void *a, const void *b)
{
	const struct tag_task *x = a, *y = b;

	return str_cmp(x->tag, y->tag);
}

static void
read_tag_row(struct task_read *r, struct str tag, yyjson_val *list,
    struct tag_tasks *all)
{
	static const struct config_key row = { .max = INT32_MAX };
	struct task_names names = { NULL, 0 };

	if (!task_read_tag_name(r, tag))
		return;
	task_read_tasks(r, &row, list, &names);
	tag = arena_copy(r->a, tag);
	for (size_t i = 0; i < names.n; i++) {
		all->rows = mem_room(all->rows, all->n, &all->cap, 16,
		    sizeof(*all->rows));
		all->rows[all->n++] = (struct tag_task){ tag,
			map_get(&r->tasks, names.names[i]) };
	}
}

/* Each task gets its tags, sorted. */
static void
give_tags(struct task_read *r, struct tag_tasks *all)
{
	if (all->n == 0)
		return;
	qsort(all->rows, all->n, sizeof(*all->rows), tag_task_order);
	for (size_t i = 0; i < all->n; i++)
		all->rows[i].task->tags_n++;
	for (size_t i = 0; i < all->n; i++) {
		struct task *t = all->rows[i].task;
		if (t->tags == NULL) {
			t->tags = ARENA_ARRAY(r->a, struct str, t->tags_n);
			t->tags_n = 0;
		}
		((struct str *)t->tags)[t->tags_n++] = all->rows[i].tag;
	}
}

/* A fault where the object has a key twice. */
static void
check_twice(struct task_read *r, struct map *seen, struct str key)
{
	if (map_put(seen, key, r) != NULL)
		task_read_fault(r, "it stands twice");
}

void
task_read_tags(struct task_read *r, const struct config_key *k,
    yyjson_val *object, void *config)
{
	struct tag_tasks all = { NULL, 0, 0 };
	FREED(map_free) struct map seen = MAP_INIT;
	size_t i, n;
	yyjson_val *key, *v;

	(void)k;
	(void)config;
	if (!task_read_is_object(r, object))
		return;
	if (yyjson_obj_size(object) > (size_t)r->limits->tag_names_max) {
		task_read_note_limit(r, "tag_names_max");
		task_read_fault(r, "it has more than %lld tags",
		    (long long)r->limits->tag_names_max);
		return;
	}
	yyjson_obj_foreach(object, i, n, key, v) {
		size_t before = task_read_enter(r, json_text(key));
		check_twice(r, &seen, json_text(key));
		read_tag_row(r, json_text(key), v, &all);
		task_read_leave(r, before);
	}
	/* Twice the same key may name one task twice; it is refused anyway. */
	give_tags(r, &all);
	free(all.rows);
}

/* -- limits.groups: { "lcsc:*": "1/s" } -- */

void
task_read_groups(struct task_read *r, const struct config_key *k,
    yyjson_val *object, void *config)
{
	static const struct config_key row = { .offset = 0 };
	struct task_config *c = config;
	FREED(map_free) struct map seen = MAP_INIT;
	size_t i, size, n = 0;
	yyjson_val *key, *v;

	(void)k;
	if (!task_read_is_object(r, object))
		return;
	if (yyjson_obj_size(object) > GROUPS_MAX) {
		task_read_fault(r, "it has more than %d groups", GROUPS_MAX);
		return;
	}
	struct task_group_limit *groups = ARENA_ARRAY(r->a,
	    struct task_group_limit, yyjson_obj_size(object));
	yyjson_obj_foreach(object, i, size, key, v) {
		struct str pattern;
		size_t before = task_read_enter(r, json_text(key));
		check_twice(r, &seen, json_text(key));
		if (task_read_name(r, key, ITEM_TAG_BYTES_MAX, &pattern)) {
			groups[n].pattern = arena_copy(r->a, pattern);
			task_read_rate(r, &row, v, &groups[n++].rate);
		}
		task_read_leave(r, before);
	}
	c->groups = groups;
	c->groups_n = n;
}

/* -- seeds: [{ id, tags, data }] -- */

static void
read_seed_data(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct task_seed *seed = out;

	(void)k;
	if (task_read_is_object(r, v))
		task_read_data(r, v, &seed->data);
}

static bool
has_tag(const struct task_seed *seed, struct str name)
{
	for (size_t i = 0; i < seed->tags_n; i++) {
		struct str rest = seed->tags[i], other = STR_NONE;
		str_split(&rest, '=', &other);
		if (str_eq(other, name))
			return true;
	}
	return false;
}

static void
read_seed_tag(struct task_read *r, yyjson_val *v, struct task_seed *seed,
    struct str *tags)
{
	struct str name = STR_NONE, value;

	if (!yyjson_is_str(v))
		task_read_fault(r, "it is not a string");
	else if (!task_read_tag(r, json_text(v), &name, &value))
		return;
	else if (has_tag(seed, name))
		task_read_fault(r, "the tag stands twice");
	else
		tags[seed->tags_n++] = arena_copy(r->a, json_text(v));
}

static void
read_seed_tags(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct task_seed *seed = out;
	size_t i, n;
	yyjson_val *tag;

	(void)k;
	if (!task_read_is_list(r, v, r->limits->tags_max, "tags_max"))
		return;
	struct str *tags = ARENA_ARRAY(r->a, struct str, yyjson_arr_size(v));
	seed->tags = tags;
	yyjson_arr_foreach(v, i, n, tag) {
		size_t before = task_read_enter_at(r, i);
		read_seed_tag(r, tag, seed, tags);
		task_read_leave(r, before);
	}
}

const struct config_key task_seed_keys[] = {
	{ KEY("id", text), .offset = offsetof(struct task_seed, id),
	    .max = ITEM_ID_BYTES_MAX, .needed = true },
	{ .name = "tags", .read = read_seed_tags },
	{ .name = "data", .read = read_seed_data },
};
const size_t task_seed_keys_n = ARRAY_LEN(task_seed_keys);

/* An id that another element of the list has. */
static void
check_id(struct task_read *r, struct map *seen, struct str id)
{
	if (id.p == NULL || map_put(seen, id, r) == NULL)
		return;
	size_t before = task_read_enter(r, STR("id"));
	task_read_fault(r, "another one has it");
	task_read_leave(r, before);
}

void
task_read_seeds(struct task_read *r, const struct config_key *k,
    yyjson_val *list, void *config)
{
	struct task_config *c = config;
	FREED(map_free) struct map seen = MAP_INIT;
	size_t i, n;
	yyjson_val *v;

	(void)k;
	if (!task_read_is_list(r, list, SEEDS_MAX, NULL))
		return;
	struct task_seed *seeds = ARENA_ARRAY(r->a, struct task_seed,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		size_t before = task_read_enter_at(r, i);
		seeds[i].data = STR("{}");
		task_read_object(r, task_seed_keys, task_seed_keys_n, v,
		    &seeds[i]);
		check_id(r, &seen, seeds[i].id);
		task_read_leave(r, before);
	}
	c->seeds = seeds;
	c->seeds_n = yyjson_arr_size(list);
}

/* -- migrations: [{ id, renameTag: [from, to] }] -- */

static bool
read_rename(struct task_read *r, yyjson_val *v, struct task_migration *m)
{
	struct str names[2];
	size_t i, n;
	yyjson_val *name;

	if (!yyjson_is_arr(v) || yyjson_arr_size(v) != 2) {
		task_read_fault(r, "it is not a list of two names");
		return false;
	}
	if (m->from.p != NULL) {
		task_read_fault(r, "a migration renames one thing");
		return false;
	}
	yyjson_arr_foreach(v, i, n, name) {
		size_t before = task_read_enter_at(r, i);
		bool fine = task_read_name(r, name, ITEM_TAG_BYTES_MAX,
		    &names[i]) && (m->kind == MIGRATION_RENAME_TASK ||
		    task_read_tag_name(r, names[i]));
		task_read_leave(r, before);
		if (!fine)
			return false;
	}
	if (str_eq(names[0], names[1])) {
		task_read_fault(r, "both names are the same");
		return false;
	}
	m->from = arena_copy(r->a, names[0]);
	m->to = arena_copy(r->a, names[1]);
	return true;
}

static void
read_rename_tag(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct task_migration *m = out;

	(void)k;
	m->kind = MIGRATION_RENAME_TAG;
	read_rename(r, v, m);
}

static void
read_rename_task(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *out)
{
	struct task_migration *m = out;

	(void)k;
	m->kind = MIGRATION_RENAME_TASK;
	read_rename(r, v, m);
}

const struct config_key task_migration_keys[] = {
	{ KEY("id", text), .offset = offsetof(struct task_migration, id),
	    .max = ITEM_TAG_BYTES_MAX, .needed = true },
	{ .name = "renameTag", .read = read_rename_tag },
	{ .name = "renameTask", .read = read_rename_task },
};
const size_t task_migration_keys_n = ARRAY_LEN(task_migration_keys);

void
task_read_migrations(struct task_read *r, const struct config_key *k,
    yyjson_val *list, void *config)
{
	struct task_config *c = config;
	FREED(map_free) struct map seen = MAP_INIT;
	size_t i, n;
	yyjson_val *v;

	(void)k;
	if (!task_read_is_list(r, list, r->limits->migrations_max,
	    "migrations_max"))
		return;
	struct task_migration *rows = ARENA_ARRAY(r->a, struct task_migration,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		size_t before = task_read_enter_at(r, i);
		unsigned faults = r->faults_n;
		task_read_object(r, task_migration_keys, task_migration_keys_n,
		    v, &rows[i]);
		if (rows[i].from.p == NULL && faults == r->faults_n)
			task_read_fault(r, "it renames nothing: renameTag or "
			    "renameTask is missing");
		check_id(r, &seen, rows[i].id);
		task_read_leave(r, before);
	}
	c->migrations = rows;
	c->migrations_n = yyjson_arr_size(list);
}

/* -- fetch: { policy, private } -- */

void
task_read_policy(struct task_read *r, const struct config_key *k, yyjson_val *v,
    void *config)
{
	struct task_config *c = config;
	struct str name;

	(void)k;
	if (yyjson_is_str(v) ?
	    !task_read_name(r, v, ITEM_TAG_BYTES_MAX, &name) :
	    !yyjson_is_obj(v)) {
		if (!yyjson_is_str(v))
			task_read_fault(r, "it is neither the name of a "
			    "policy nor an object");
		return;
	}
	task_read_data(r, v, &c->fetch_policy);
}

/* HOST:PORT.  An address of IPv6 is in brackets. */
static bool
is_host_port(struct str s)
{
	uint64_t port;
	size_t colon = s.n;

	while (colon > 0 && s.p[colon - 1] != ':')
		colon--;
	if (colon < 2 || !str_to_u64(str_from(s, colon), &port) ||
	    s.n - colon > 5 || port < 1 || port > 65535)
		return false;
	struct str host = str_cut(s, 0, colon - 1);
	if (host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = str_cut(host, 1, host.n - 1);
	else if (str_find_char(host, ':') < host.n)
		return false;
	for (size_t i = 0; i < host.n; i++)
		if ((unsigned char)host.p[i] <= ' ' ||
		    str_has_char(STR("/?#@\\[]"), host.p[i]))
			return false;
	return host.n > 0;
}

void
task_read_private(struct task_read *r, const struct config_key *k,
    yyjson_val *list, void *config)
{
	struct task_config *c = config;
	size_t i, size, n = 0;
	yyjson_val *v;

	(void)k;
	if (!task_read_is_list(r, list, PRIVATE_MAX, NULL))
		return;
	struct str *hosts = ARENA_ARRAY(r->a, struct str,
	    yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, size, v) {
		size_t before = task_read_enter_at(r, i);
		if (yyjson_is_str(v) && is_host_port(json_text(v)))
			hosts[n++] = arena_copy(r->a, json_text(v));
		else
			task_read_fault(r, "it is not HOST:PORT, such as "
			    "\"10.0.0.5:8080\"");
		task_read_leave(r, before);
	}
	c->fetch_private = hosts;
	c->fetch_private_n = n;
}

/* -- sessions: { "shop": { ttl, login, isExpired } } -- */

struct session {
	struct task_ttl ttl;
	bool login, is_expired;
};
const struct config_key task_session_keys[] = {
	{ KEY("ttl", ttl), .offset = offsetof(struct session, ttl),
	    .min = US_PER_S, .max = 3650 * DAY },
	{ KEY("login", function),
	    .offset = offsetof(struct session, login), .needed = true },
	{ KEY("isExpired", function),
	    .offset = offsetof(struct session, is_expired) },
};
const size_t task_session_keys_n = ARRAY_LEN(task_session_keys);

void
task_read_sessions(struct task_read *r, const struct config_key *k,
    yyjson_val *object, void *config)
{
	struct task_config *c = config;
	FREED(map_free) struct map seen = MAP_INIT;
	size_t i, n;
	yyjson_val *key, *v;

	(void)k;
	if (!task_read_is_object(r, object))
		return;
	if (yyjson_obj_size(object) > SESSIONS_MAX) {
		task_read_fault(r, "it has more than %d sessions",
		    SESSIONS_MAX);
		return;
	}
	yyjson_obj_foreach(object, i, n, key, v) {
		struct session session = { .login = false };
		struct str name;
		size_t before = task_read_enter(r, json_text(key));
		check_twice(r, &seen, json_text(key));
		if (task_read_name(r, key, ITEM_TAG_BYTES_MAX, &name))
			task_read_object(r, task_session_keys,
			    task_session_keys_n, v, &session);
		task_read_leave(r, before);
	}
	char *text = yyjson_val_write(object, 0, &n);
	CHECK(text != NULL);             /* it was read from JSON */
	c->sessions = arena_copy(r->a, (struct str){ text, n });
	free(text);
}
