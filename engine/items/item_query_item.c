/* One item: metadata, operations, blobs, runs. */
#include <yyjson.h>

#include "engine/items/item_answer.h"

#define RUN_PREFIX 'R'

/* -- Metadata -- */

static void
put_result(const struct answer_result *r, const struct task *t,
    struct wall now, struct buf *b)
{
	json_item(b, r->task_name);
	buf_put_str(b, STR(":{"));
	json_raw(b, "metadata", r->metadata);
	json_str(b, "task_version", r->task_version);
	json_bool(b, "is_successful", r->is_successful);
	json_bool(b, "is_stale", answer_is_stale(r, t, now));
	item_json_time(b, "completed_at", r->completed_at);
	item_json_time(b, "expires_at", r->expires_at);
	buf_put_char(b, '}');
}

static const struct answer_result *
result_named(const struct answer_result *results, size_t n, struct str task)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(results[i].task_name, task))
			return &results[i];
	return NULL;
}

enum err
item_query_metadata(struct item_store *s, struct str id,
    const struct str *tasks, size_t n, struct wall now, struct buf *out,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct task_config *c = item_store_config(s);
	struct answer_result *results;
	struct str own;
	size_t results_n;
	int64_t key;

	enum err e = answer_find(s, id, &a, &key, &own, w);
	if (e == OK)
		e = answer_results(s, key, &a, &results, &results_n, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_str(out, "id", own);
	json_object(out, "metadata");
	for (size_t i = 0; n == 0 && i < results_n; i++)
		put_result(&results[i], task_find(c, results[i].task_name),
		    now, out);
	for (size_t i = 0; i < n; i++) {
		const struct answer_result *r = result_named(results,
		    results_n, tasks[i]);
		if (r != NULL) {
			put_result(r, task_find(c, r->task_name), now, out);
			continue;
		}
		json_item(out, tasks[i]);
		buf_put_str(out, STR(":null"));
	}
	buf_put_str(out, STR("}}"));
	return OK;
}

/* -- Operations -- */

struct operation {
	struct str name;             /* of the task */
	uint32_t task;
	enum pair_state state;
	int64_t due_ms;
	unsigned attempt;
	int64_t failures;
};
struct operations {
	struct item_store *store;
	struct wall now;
	struct arena arena;
	int64_t item;
	struct str id;
	struct answer_items items;   /* the item, for its tags */
	struct operation *rows;
	size_t n, cap;
	struct answer_result *results;
	size_t results_n;
};

static enum err
load_pairs(struct operations *o, struct why *w)
{
	struct query *q = database_query(item_store_database(o->store),
	    "SELECT w.task, w.state, w.due, w.attempt, (SELECT count(*) FROM"
	    " failures f WHERE f.task = w.task AND f.item = w.item AND"
	    " f.handled_at IS NULL) FROM worklist w WHERE w.item = ?1");

	query_i64(q, 1, o->item);
	while (query_step(q)) {
		uint32_t task = (uint32_t)query_get_i64(q, 0);
		o->rows = arena_grow(&o->arena, o->rows, o->n, &o->cap, 8,
		    sizeof(*o->rows));
		o->rows[o->n++] = (struct operation){
		    .name = arena_copy(&o->arena,
		        item_store_name_text(o->store, task)),
		    .task = task,
		    .state = (enum pair_state)query_get_i64(q, 1),
		    .due_ms = query_is_null(q, 2) ? PAIR_DUE_NONE :
		        query_get_i64(q, 2),
		    .attempt = (unsigned)query_get_i64(q, 3),
		    .failures = query_get_i64(q, 4) };
	}
	if (o->n > 1)
		qsort(o->rows, o->n, sizeof(*o->rows), str_order);
	return query_end(&q, w);
}

static enum err
load_item(struct operations *o, struct why *w)
{
	struct query *q = database_query(item_store_database(o->store),
	    "SELECT " ANSWER_COLUMNS " FROM items i WHERE i.key = ?1");

	query_i64(q, 1, o->item);
	if (query_step(q))
		answer_take_item(&o->items, q);
	enum err e = query_end(&q, w);
	return e == OK ? answer_load(&o->items, NULL, 0, w) : e;
}

/* The item's tags that map to the task. */
static size_t
mapped_tags(const struct operations *o, const struct task *t, struct buf *b)
{
	const struct answer_item *item = o->items.n == 0 ? NULL :
	    o->items.rows[0];
	size_t n = 0;

	for (size_t i = 0; t != NULL && item != NULL && i < item->tags_n; i++)
		for (size_t k = 0; k < t->tags_n; k++)
			if (str_eq(t->tags[k], item->tags[i].name)) {
				n++;
				if (b != NULL)
					json_item(b, t->tags[k]);
			}
	return n;
}

/* Why a dependency is unmet; NULL: it is met. */
static const char *
unmet_reason(const struct operations *o, struct str name)
{
	const struct task *t = task_find(item_store_config(o->store), name);
	const struct answer_result *r = result_named(o->results, o->results_n,
	    name);

	if (r != NULL && r->is_successful && !answer_is_stale(r, t, o->now))
		return NULL;
	if (mapped_tags(o, t, NULL) == 0)
		return "not_mapped";
	if (r == NULL || r->completed_at.us == ITEM_TIME_NONE.us)
		return "unprocessed";
	if (!r->is_successful)
		return "failed";
	return r->expires_at.us != ITEM_TIME_NONE.us &&
	    r->expires_at.us <= o->now.us ? "expired" : "stale";
}

static void
put_blocked_by(const struct operations *o, const struct task *t,
    struct buf *b)
{
	json_array(b, "blocked_by");
	for (size_t i = 0; t != NULL && i < t->depends_on_n; i++) {
		const char *reason = unmet_reason(o, t->depends_on[i]);
		if (reason == NULL)
			continue;
		json_object(b, NULL);
		json_str(b, "task", t->depends_on[i]);
		json_str(b, "reason", str_of(reason));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
put_operation(const struct operations *o, const struct operation *p,
    struct buf *b)
{
	const struct task *t = task_find(item_store_config(o->store), p->name);
	const struct answer_result *r = result_named(o->results, o->results_n,
	    p->name);

	json_object(b, NULL);
	json_str(b, "task", p->name);
	json_str(b, "state", answer_state(p->state, p->due_ms, o->now));
	json_array(b, "tags");
	(void)mapped_tags(o, t, b);
	buf_put_char(b, ']');
	answer_text(b, "task_version", r == NULL ? STR_NONE :
	    r->task_version);
	answer_text(b, "current_version", t == NULL ? STR_NONE : t->version);
	if (r == NULL)
		json_null(b, "is_successful");
	else
		json_bool(b, "is_successful", r->is_successful);
	json_bool(b, "is_invalidated", r != NULL && r->is_invalidated);
	item_json_time(b, "expires_at", r == NULL ? ITEM_TIME_NONE :
	    r->expires_at);
	answer_due(b, p->due_ms);
	json_u64(b, "attempt", p->attempt);
	put_blocked_by(o, t, b);
	json_u64(b, "failures", (uint64_t)p->failures);
	buf_put_char(b, '}');
}

static void
operations_free(struct operations *o)
{
	answer_items_free(&o->items);
	arena_free(&o->arena);
}

enum err
item_query_operations(struct item_store *s, struct str id, const char *word,
    struct wall now, struct buf *out, struct why *w)
{
	FREED(operations_free) struct operations o = { .store = s,
	    .now = now, .items.store = s };

	enum err e = answer_find(s, id, &o.arena, &o.item, &o.id, w);
	if (e == OK)
		e = load_item(&o, w);
	if (e == OK)
		e = load_pairs(&o, w);
	if (e == OK)
		e = answer_results(s, o.item, &o.arena, &o.results,
		    &o.results_n, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_str(out, "id", o.id);
	json_array(out, word);
	for (size_t i = 0; i < o.n; i++)
		put_operation(&o, &o.rows[i], out);
	buf_put_str(out, STR("]}"));
	return OK;
}

/* -- Blobs -- */

static void
put_hex(struct buf *b, struct str bytes)
{
	for (size_t i = 0; i < bytes.n; i++)
		buf_printf(b, "%02x", (unsigned)(unsigned char)bytes.p[i]);
}

enum err
item_query_blobs(struct item_store *s, struct str id, struct buf *out,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str own;
	int64_t key;

	enum err e = answer_find(s, id, &a, &key, &own, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_str(out, "id", own);
	json_array(out, "blobs");
	struct query *q = database_query(item_store_database(s),
	    "SELECT name, sha256, bytes, type FROM item_blobs WHERE item = ?1"
	    " ORDER BY name");
	query_i64(q, 1, key);
	while (query_step(q)) {
		json_object(out, NULL);
		json_str(out, "name", query_get_str(q, 0));
		json_name(out, "sha256");
		buf_put_char(out, '"');
		put_hex(out, query_get_str(q, 1));
		buf_put_char(out, '"');
		json_u64(out, "bytes", (uint64_t)query_get_i64(q, 2));
		json_str(out, "type", query_get_str(q, 3));
		buf_put_char(out, '}');
	}
	buf_put_str(out, STR("]}"));
	return query_end(&q, w);
}

enum err
item_query_blob(struct item_store *s, struct str id, struct str name,
    struct buf *bytes, struct buf *type, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str own;
	int64_t key;

	enum err e = answer_find(s, id, &a, &key, &own, w);
	if (e != OK)
		return e;
	struct query *q = database_query(item_store_database(s),
	    "SELECT b.bytes, i.type FROM item_blobs i JOIN blobs b"
	    " ON b.sha256 = i.sha256 WHERE i.item = ?1 AND i.name = ?2");
	query_i64(q, 1, key);
	query_str(q, 2, name);
	bool found = query_step(q);
	if (found) {
		buf_put_str(bytes, query_get_str(q, 0));
		buf_put_str(type, query_get_str(q, 1));
	}
	e = query_end(&q, w);
	return e != OK || found ? e : why_field(w, ERR_ABSENT, "name",
	    "the item has no such blob");
}

/* -- Runs -- */

/* Columns of a run, from `runs r`. */
#define RUN_COLUMNS "r.id, r.started_at, r.outcome, r.attempt," \
	" r.task_version, r.wall_us, r.cpu_us, r.memory_bytes, r.bytes," \
	" r.fetches"

static void
put_run(struct query *q, struct buf *b)
{
	json_name(b, "run");
	buf_printf(b, "\"%c%lld\"", RUN_PREFIX,
	    (long long)query_get_i64(q, 0));
	item_json_time(b, "started_at", answer_wall(q, 1));
	json_str(b, "outcome", query_get_i64(q, 2) != 0 ? STR("success") :
	    STR("failure"));
	json_u64(b, "attempt", (uint64_t)query_get_i64(q, 3));
	json_str(b, "task_version", query_get_str(q, 4));
	json_u64(b, "wall_ms", (uint64_t)query_get_i64(q, 5) / 1000);
	json_u64(b, "cpu_ms", (uint64_t)query_get_i64(q, 6) / 1000);
	json_u64(b, "memory_bytes", (uint64_t)query_get_i64(q, 7));
}

enum err
item_query_runs(struct item_store *s, struct str id, struct str task,
    struct buf *out, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	uint32_t task_id = 0;
	struct str own;
	int64_t key;

	enum err e = answer_find(s, id, &a, &key, &own, w);
	if (e == OK)
		e = answer_name(s, ITEM_NAME_TASK, "task", task, &task_id, w);
	if (e != OK)
		return e;
	json_object(out, NULL);
	json_array(out, "runs");
	struct query *q = database_query(item_store_database(s),
	    "SELECT " RUN_COLUMNS " FROM runs r WHERE r.task = ?1"
	    " AND r.item = ?2 ORDER BY r.id DESC LIMIT ?3");
	query_i64(q, 1, task_id);
	query_i64(q, 2, key);
	query_i64(q, 3, ITEM_LIST_MAX);
	while (query_step(q)) {
		json_object(out, NULL);
		put_run(q, out);
		json_u64(out, "fetches", (uint64_t)query_get_i64(q, 9));
		json_u64(out, "bytes", (uint64_t)query_get_i64(q, 8));
		buf_put_char(out, '}');
	}
	buf_put_str(out, STR("]}"));
	return query_end(&q, w);
}

bool
answer_run(struct str text, int64_t *id)
{
	return str_take_char(&text, RUN_PREFIX) && str_to_i64(text, id) &&
	    *id > 0;
}

/* Only whether there is one: it is as long as all that the run has read. */
static void
take_replay_out(struct buf *record)
{
	yyjson_doc *doc = yyjson_read(record->p, record->n, 0);
	yyjson_val *replay = yyjson_obj_get(yyjson_doc_get_root(doc),
	    "replay");
	yyjson_mut_doc *copy = replay == NULL ? NULL : yyjson_doc_mut_copy(doc,
	    NULL);
	size_t n = 0;

	if (copy != NULL) {
		yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
		yyjson_mut_obj_remove_key(root, "replay");
		yyjson_mut_obj_add_bool(copy, root, "has_replay", true);
		char *text = yyjson_mut_val_write(root, 0, &n);
		buf_clear(record);
		buf_put(record, text, n);
		free(text);
	}
	yyjson_mut_doc_free(copy);
	yyjson_doc_free(doc);
}

/* The members of the record, without its braces; the count of fetches is in
 * the record as a list. */
static enum err
put_record(struct str packed, struct buf *b, struct why *w)
{
	FREED(buf_free) struct buf record = BUF_INIT;
	enum err e = item_run_unpack(packed, &record, w);

	take_replay_out(&record);
	struct str json = str_trim(buf_str(&record));

	if (e == OK && (!str_starts(json, STR("{")) ||
	    !str_ends(json, STR("}"))))
		e = why(w, ERR_CORRUPT, "a run's record is no object");
	if (e != OK)
		return e;
	json = str_trim(str_cut(json, 1, json.n - 1));
	if (json.n > 0) {
		json_comma(b);
		buf_put_str(b, json);
	}
	return OK;
}

enum err
item_query_run(struct item_store *s, struct str run, struct buf *out,
    struct why *w)
{
	int64_t id;
	bool found = false;
	enum err e = OK;

	if (!answer_run(run, &id))
		return why_field(w, ERR_ABSENT, "run", "there is no such run");
	struct query *q = database_query(item_store_database(s),
	    "SELECT " RUN_COLUMNS ", r.task, i.id, r.record FROM runs r"
	    " LEFT JOIN items i ON i.key = r.item WHERE r.id = ?1");
	query_i64(q, 1, id);
	if (query_step(q)) {
		found = true;
		json_object(out, NULL);
		put_run(q, out);
		json_u64(out, "bytes", (uint64_t)query_get_i64(q, 8));
		answer_text(out, "item", query_is_null(q, 11) ? STR_NONE :
		    query_get_str(q, 11));
		json_str(out, "task", item_store_name_text(s,
		    (uint32_t)query_get_i64(q, 10)));
		e = put_record(query_get_str(q, 12), out, w);
		buf_put_char(out, '}');
	}
	enum err end = query_end(&q, w);
	if (e == OK)
		e = end;
	return e != OK || found ? e : why_field(w, ERR_ABSENT, "run",
	    "there is no such run");
}
