/* Failures, the configuration, events. */
#include <yyjson.h>

#include "base/json.h"
#include "engine/items/item_answer.h"
#include "os/clock.h"

#define CHUNK 200
#define GROUPS_MAX 100
#define GROUP_ITEMS_MAX 10

/* -- Failures -- */

#define FAILURE_COLUMNS "f.id, i.id, n.name, f.error_data, f.occurred_at," \
	" f.handled_at, f.handled_by, f.note"
#define FAILURE_TABLES " FROM failures f LEFT JOIN items i ON i.key = f.item" \
	" LEFT JOIN names n ON n.id = f.task"

static struct str
text_or_none(struct query *q, int column)
{
	return query_is_null(q, column) ? STR_NONE : query_get_str(q, column);
}

static void
put_failure(struct query *q, struct buf *b)
{
	json_object(b, NULL);
	json_u64(b, "id", (uint64_t)query_get_i64(q, 0));
	answer_text(b, "item", text_or_none(q, 1));
	answer_text(b, "task", text_or_none(q, 2));
	json_raw(b, "error_data", query_get_str(q, 3));
	item_json_time(b, "occurred_at", answer_wall(q, 4));
	item_json_time(b, "handled_at", answer_wall(q, 5));
	answer_text(b, "handled_by", text_or_none(q, 6));
	answer_text(b, "note", text_or_none(q, 7));
	buf_put_char(b, '}');
}

struct failure_list {
	struct database *db;
	uint32_t task;               /* 0: all */
	int handled;
	unsigned limit, n;
	int64_t last;
	bool at_end;
};

static struct query *
next_failures(const struct failure_list *l, unsigned n)
{
	struct query *q;

	/* Only open ones have an index by task and number. */
	if (l->task != 0 && l->handled == 0)
		q = database_query(l->db, "SELECT " FAILURE_COLUMNS ", f.task"
		    FAILURE_TABLES " WHERE f.task = ?3 AND f.id > ?1 AND"
		    " f.handled_at IS NULL ORDER BY f.id LIMIT ?2");
	else
		q = database_query(l->db, "SELECT " FAILURE_COLUMNS ", f.task"
		    FAILURE_TABLES " WHERE f.id > ?1 ORDER BY f.id LIMIT ?2");
	query_i64(q, 1, l->last);
	query_i64(q, 2, n);
	if (l->task != 0 && l->handled == 0)
		query_i64(q, 3, l->task);
	return q;
}

static bool
is_wanted(const struct failure_list *l, struct query *q)
{
	if (l->task != 0 && query_get_i64(q, 8) != l->task)
		return false;
	return l->handled < 0 || query_is_null(q, 5) == (l->handled == 0);
}

static enum err
collect(struct failure_list *l, struct buf *out, struct why *w)
{
	struct mono until = mono_add_ms(clock_mono(), ANSWER_MS_MAX);
	bool full = false;
	enum err e = OK;

	while (e == OK && !full) {
		unsigned want = MIN((unsigned)CHUNK, l->limit - l->n + 1);
		unsigned rows = 0;
		struct query *q = next_failures(l, want);
		while (!full && query_step(q)) {
			rows++;
			full = l->n == l->limit || out->n > ANSWER_BYTES_MAX;
			if (full)
				break;
			l->last = query_get_i64(q, 0);
			if (is_wanted(l, q)) {
				put_failure(q, out);
				l->n++;
			}
		}
		e = query_end(&q, w);
		if (!full && rows < want)
			full = l->at_end = true;
		else if (!mono_before(clock_mono(), until))
			full = true;
	}
	return e;
}

enum err
item_query_failures(struct item_store *s, struct str task, int handled,
    struct str after, unsigned limit, struct buf *out, struct why *w)
{
	struct failure_list l = { .db = item_store_database(s),
	    .handled = handled };
	char next[24];

	enum err e = answer_limit(&limit, w);
	l.limit = limit;
	if (e == OK)
		e = answer_after(after, &l.last, w);
	if (e == OK && task.n > 0)
		e = answer_name(s, ITEM_NAME_TASK, "task", task, &l.task, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_array(out, "failures");
	e = collect(&l, out, w);
	buf_put_char(out, ']');
	snprintf(next, sizeof(next), "%lld", (long long)l.last);
	answer_text(out, "next", l.at_end ? STR_NONE : str_of(next));
	buf_put_char(out, '}');
	return e;
}

enum err
item_query_failure(struct item_store *s, uint64_t id, struct buf *out,
    struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT " FAILURE_COLUMNS FAILURE_TABLES " WHERE f.id = ?1");

	query_i64(q, 1, (int64_t)MIN(id, (uint64_t)INT64_MAX));
	bool found = query_step(q);
	if (found)
		put_failure(q, out);
	enum err e = query_end(&q, w);
	return e != OK || found ? e : why_field(w, ERR_ABSENT, "id",
	    "there is no such failure");
}

/* -- Groups of them -- */

struct failure_group {
	struct str message;
	int64_t n;
	struct wall first, last;
};

static enum err
load_groups(struct item_store *s, uint32_t task, struct arena *a,
    struct failure_group *groups, size_t *n, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT message, count(*), min(occurred_at), max(occurred_at)"
	    " FROM failures WHERE task = ?1 AND handled_at IS NULL"
	    " GROUP BY message ORDER BY count(*) DESC, message LIMIT ?2");

	query_i64(q, 1, task);
	query_i64(q, 2, GROUPS_MAX);
	for (*n = 0; *n < GROUPS_MAX && query_step(q); ++*n)
		groups[*n] = (struct failure_group){
		    arena_copy(a, query_get_str(q, 0)), query_get_i64(q, 1),
		    answer_wall(q, 2), answer_wall(q, 3) };
	return query_end(&q, w);
}

/* The first items that failed so. */
static enum err
put_group_items(struct item_store *s, uint32_t task, struct str message,
    struct buf *out, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT i.id FROM failures f JOIN items i ON i.key = f.item"
	    " WHERE f.task = ?1 AND f.handled_at IS NULL AND f.message = ?2"
	    " GROUP BY i.id ORDER BY min(f.id) LIMIT ?3");

	query_i64(q, 1, task);
	query_str(q, 2, message);
	query_i64(q, 3, GROUP_ITEMS_MAX);
	json_array(out, "items");
	while (query_step(q))
		json_item(out, query_get_str(q, 0));
	buf_put_char(out, ']');
	return query_end(&q, w);
}

enum err
item_query_failure_groups(struct item_store *s, struct str task,
    struct buf *out, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct failure_group *groups = ARENA_ARRAY(&a, struct failure_group,
	    GROUPS_MAX);
	uint32_t id = 0;
	size_t n = 0;

	enum err e = answer_name(s, ITEM_NAME_TASK, "task", task, &id, w);
	if (e == OK)
		e = load_groups(s, id, &a, groups, &n, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_array(out, "groups");
	for (size_t i = 0; i < n && e == OK; i++) {
		json_object(out, NULL);
		json_str(out, "message", groups[i].message);
		json_u64(out, "n", (uint64_t)groups[i].n);
		item_json_time(out, "first_at", groups[i].first);
		item_json_time(out, "last_at", groups[i].last);
		e = put_group_items(s, id, groups[i].message, out, w);
		buf_put_char(out, '}');
	}
	buf_put_str(out, STR("]}"));
	return e;
}

/* -- Configuration -- */

struct loaded {
	int64_t generation;          /* 0: none */
	struct wall at;
	struct str hash, files;
};

static enum err
load_generation(struct item_store *s, struct arena *a, struct loaded *l,
    struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT id, loaded_at, hash, files FROM generations"
	    " ORDER BY id DESC LIMIT 1");

	*l = (struct loaded){ .at = ITEM_TIME_NONE };
	if (query_step(q)) {
		l->generation = query_get_i64(q, 0);
		l->at = answer_wall(q, 1);
		l->hash = arena_copy(a, query_get_str(q, 2));
		l->files = arena_copy(a, query_get_str(q, 3));
	}
	return query_end(&q, w);
}

static enum err
put_rewriting(struct item_store *s, struct buf *out, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT count(*), sum(done), sum(total) FROM rewrites");

	if (query_step(q) && query_get_i64(q, 0) > 0) {
		json_object(out, "rewriting");
		json_u64(out, "done", (uint64_t)query_get_i64(q, 1));
		json_u64(out, "total", (uint64_t)query_get_i64(q, 2));
		buf_put_char(out, '}');
	} else {
		json_null(out, "rewriting");
	}
	return query_end(&q, w);
}

enum err
item_query_config(struct item_store *s, struct buf *out, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct loaded l;
	yyjson_val *path, *source;
	size_t at, n;

	enum err e = load_generation(s, &a, &l, w);
	if (e != OK)
		return e;
	yyjson_doc *d = yyjson_read(l.files.p == NULL ? "{}" : l.files.p,
	    l.files.p == NULL ? 2 : l.files.n, 0);
	json_object(out, NULL);
	json_u64(out, "generation", (uint64_t)l.generation);
	item_json_time(out, "loaded_at", l.at);
	answer_text(out, "hash", l.hash);
	json_array(out, "files");
	yyjson_obj_foreach(yyjson_doc_get_root(d), at, n, path, source)
		json_item(out, json_text(path));
	buf_put_char(out, ']');
	yyjson_doc_free(d);
	e = put_rewriting(s, out, w);
	buf_put_char(out, '}');
	return e;
}

enum err
item_query_config_file(struct item_store *s, struct str path, struct buf *out,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct loaded l;

	enum err e = load_generation(s, &a, &l, w);
	if (e != OK)
		return e;
	yyjson_doc *d = l.files.p == NULL ? NULL : yyjson_read(l.files.p,
	    l.files.n, 0);
	yyjson_val *source = yyjson_obj_getn(yyjson_doc_get_root(d),
	    path.p == NULL ? "" : path.p, path.n);
	if (yyjson_is_str(source))
		buf_put_str(out, json_text(source));
	else
		e = why_field(w, ERR_ABSENT, "path", "the configuration has "
		    "no such file");
	yyjson_doc_free(d);
	return e;
}

/* -- Events -- */

/* "item.*" or a whole type. */
static bool
type_matches(const struct event_filter *f, struct str type)
{
	for (size_t i = 0; i < f->types_n; i++)
		if (task_matches(f->types[i], type))
			return true;
	return f->types_n == 0;
}

static bool
task_is_wanted(const struct event_filter *f, struct str task)
{
	for (size_t i = 0; i < f->tasks_n; i++)
		if (task.p != NULL && task_matches(f->tasks[i], task))
			return true;
	return f->tasks_n == 0;
}

/* `tags` is ",a,b,"; names contain no comma. */
static bool
tag_is_wanted(const struct event_filter *f, struct str tags)
{
	struct str name;

	if (f->tags_n == 0)
		return true;
	while (str_split(&tags, ',', &name))
		for (size_t i = 0; name.n > 0 && i < f->tags_n; i++)
			if (str_eq(f->tags[i], name))
				return true;
	return false;
}

/* The oldest that is kept, and the newest; 0 when there is none. */
static enum err
load_range(struct item_store *s, uint64_t *oldest, uint64_t *newest,
    struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT (SELECT min(cursor) FROM events),"
	    " (SELECT max(cursor) FROM events)");

	*oldest = *newest = 0;
	if (query_step(q)) {
		*oldest = (uint64_t)query_get_i64(q, 0);
		*newest = (uint64_t)query_get_i64(q, 1);
	}
	return query_end(&q, w);
}

enum err
item_query_cursor(struct item_store *s, uint64_t *cursor, struct why *w)
{
	uint64_t oldest;

	return load_range(s, &oldest, cursor, w);
}

static void
put_event(struct query *q, struct buf *out)
{
	buf_printf(out, "{\"cursor\":\"%lld\"",
	    (long long)query_get_i64(q, 0));
	struct str body = query_get_str(q, 4);
	if (body.n > 2)
		buf_put_char(out, ',');
	buf_put_str(out, str_from(body, 1));
	buf_put_char(out, '\n');
}

enum err
item_query_events(struct item_store *s, uint64_t since,
    const struct event_filter *f, unsigned limit, struct buf *out,
    uint64_t *last, struct why *w)
{
	uint64_t oldest, newest;
	unsigned n = 0;
	enum err e = load_range(s, &oldest, &newest, w);

	*last = since;
	if (e != OK || oldest == 0)
		return e;
	if (since + 1 < oldest) {
		*last = oldest;
		return why_field(w, ERR_ABSENT, "since", "events up to %llu "
		    "are not kept any more", (unsigned long long)oldest - 1);
	}
	/* Looked at, not matched: the answer to a narrow filter ends, too. */
	struct query *q = database_query(item_store_database(s),
	    "SELECT cursor, type, task, tags, body FROM events"
	    " WHERE cursor > ?1 ORDER BY cursor LIMIT ?2");
	query_i64(q, 1, (int64_t)MIN(since, (uint64_t)INT64_MAX));
	query_i64(q, 2, ITEM_EVENTS_LOOKED_AT_MAX);
	while (n < limit && out->n <= ANSWER_BYTES_MAX && query_step(q)) {
		*last = (uint64_t)query_get_i64(q, 0);
		if (!type_matches(f, query_get_str(q, 1)) ||
		    !task_is_wanted(f, text_or_none(q, 2)) ||
		    !tag_is_wanted(f, text_or_none(q, 3)))
			continue;
		put_event(q, out);
		n++;
	}
	return query_end(&q, w);
}
