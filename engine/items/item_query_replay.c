/* Runs with their records, for a replay; the sources that they ran. */
#include "engine/items/item_answer.h"

/* Read from `runs r` and its item. */
#define REPLAY_COLUMNS "r.id, r.task, i.id, r.started_at, r.outcome, r.record"

static enum err
take_run(struct item_store *s, struct query *q, struct arena *a,
    struct run_replay *out, struct why *w)
{
	FREED(buf_free) struct buf record = BUF_INIT;

	*out = (struct run_replay){ .id = query_get_i64(q, 0),
	    .task = arena_copy(a, item_store_name_text(s,
	    (uint32_t)query_get_i64(q, 1))),
	    .item = query_is_null(q, 2) ? STR_NONE :
	    arena_copy(a, query_get_str(q, 2)),
	    .started_at = answer_wall(q, 3),
	    .success = query_get_i64(q, 4) != 0 };
	enum err e = item_run_unpack(query_get_str(q, 5), &record, w);
	out->record = arena_copy(a, buf_str(&record));
	return e;
}

enum err
item_query_replay(struct item_store *s, struct str run, struct arena *a,
    struct run_replay *out, struct why *w)
{
	bool found = false;
	enum err e = OK;
	int64_t id;

	if (!answer_run(run, &id))
		return why_field(w, ERR_ABSENT, "run", "there is no such run");
	struct query *q = database_query(item_store_database(s),
	    "SELECT " REPLAY_COLUMNS " FROM runs r LEFT JOIN items i"
	    " ON i.key = r.item WHERE r.id = ?1");
	query_i64(q, 1, id);
	found = query_step(q);
	if (found)
		e = take_run(s, q, a, out, w);
	enum err end = query_end(&q, w);
	if (e == OK)
		e = end;
	return e != OK || found ? e : why_field(w, ERR_ABSENT, "run",
	    "there is no such run");
}

#define REPLAY_LIST(item) "SELECT " REPLAY_COLUMNS " FROM runs r"             \
	" JOIN items i ON i.key = r.item WHERE " item " AND r.task = ?1"       \
	" AND r.id > ?2 AND r.id <= ?7 AND r.started_at >= ?3"                 \
	" AND (?5 = 0 OR EXISTS (SELECT 1 FROM tags t"                         \
	" WHERE t.item = r.item AND t.tag = ?5))"                              \
	" AND NOT EXISTS (SELECT 1 FROM runs s WHERE s.item = r.item"          \
	" AND s.task = r.task AND s.id > r.id) ORDER BY r.id LIMIT ?6"

/* The filters as numbers; 0: any. */
struct replay_filter {
	uint32_t task, tag;
	int64_t item;
};

static enum err
read_filter(struct item_store *s, const struct replay_list *l,
    struct arena *a, struct replay_filter *f, struct why *w)
{
	struct str own;

	*f = (struct replay_filter){ .task = 0 };
	enum err e = answer_name(s, ITEM_NAME_TASK, "task", l->task, &f->task,
	    w);
	if (e == OK && l->tag.p != NULL)
		e = answer_name(s, ITEM_NAME_TAG, "tag", l->tag, &f->tag, w);
	if (e == OK && l->item.p != NULL)
		e = answer_find(s, l->item, a, &f->item, &own, w);
	return e;
}

static enum err
find_newest(struct item_store *s, int64_t *id, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT coalesce(max(id), 0) FROM runs");

	if (query_step(q))
		*id = query_get_i64(q, 0);
	return query_end(&q, w);
}

static struct query *
begin_runs(struct item_store *s, const struct replay_list *l,
    const struct replay_filter *f)
{
	/* One item's are found by the pair, others in the order of numbers. */
	struct query *q = database_query(item_store_database(s),
	    f->item != 0 ? REPLAY_LIST("r.item = ?4") :
	    REPLAY_LIST("?4 = 0"));

	query_i64(q, 1, f->task);
	query_i64(q, 2, l->after);
	query_i64(q, 3, l->since.us == ITEM_TIME_NONE.us ? 0 : l->since.us);
	query_i64(q, 4, f->item);
	query_i64(q, 5, f->tag);
	query_i64(q, 6, l->max);
	query_i64(q, 7, l->upto);
	return q;
}

enum err
item_query_replays(struct item_store *s, struct replay_list *l,
    struct arena *a, struct run_replay **out, size_t *n, struct why *w)
{
	struct run_replay *all = ARENA_ARRAY(a, struct run_replay, l->max);
	struct replay_filter f;
	size_t bytes = 0;

	*out = all;
	*n = 0;
	enum err e = read_filter(s, l, a, &f, w);
	if (e == OK && l->upto == 0)
		e = find_newest(s, &l->upto, w);
	if (e != OK)
		return e;
	struct query *q = begin_runs(s, l, &f);
	while (e == OK && bytes < ANSWER_BYTES_MAX && query_step(q)) {
		e = take_run(s, q, a, &all[*n], w);
		bytes += all[*n].record.n;
		*n += e == OK;
	}
	enum err end = query_end(&q, w);
	return e == OK ? end : e;
}

enum err
item_query_sources(struct item_store *s, struct str hash, struct buf *out,
    struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT files FROM generations WHERE hash = ?1"
	    " ORDER BY id DESC LIMIT 1");

	query_str(q, 1, hash);
	bool found = query_step(q);
	if (found)
		buf_put_str(out, query_get_str(q, 0));
	enum err e = query_end(&q, w);
	return e != OK || found ? e : why_field(w, ERR_ABSENT, "bundle",
	    "its sources are not kept");
}

enum err
item_query_bytes(struct item_store *s, const uint8_t sha256[static 32],
    struct buf *out, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT bytes FROM blobs WHERE sha256 = ?1");

	query_bytes(q, 1, (struct str){ (const char *)sha256, 32 });
	bool found = query_step(q);
	if (found)
		buf_put_str(out, query_get_str(q, 0));
	enum err e = query_end(&q, w);
	return e != OK || found ? e : why_field(w, ERR_ABSENT, "sha256",
	    "no item has such bytes any more");
}
