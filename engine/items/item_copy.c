#include "engine/items/item_copy.h"

/*
 * `key` is the key's columns with commas, `after` the same as parameters.  The
 * rows at a time are few where they are big: PostgreSQL sends them at once.
 */
#define READ(name, key, after, columns, rows)                                \
	"SELECT " key ", " columns " FROM " name " WHERE (" key ") > (" after \
	") ORDER BY " key " LIMIT " rows
#define WRITE(name, columns, values)                                         \
	"INSERT INTO " name " (" columns ") VALUES (" values ")"

#define ITEMS "key, id, data, created_by, created_at, updated_at, rev," \
	" aliases_n, blobs_n"
#define RESULTS "task, item, task_version, metadata, is_successful," \
	" is_invalidated, created_at, completed_at, ttl_override," \
	" expires_at, rev"
#define WORKLIST "task, item, state, due, lane, generation, attempt"
#define FAILURES "id, task, item, message, error_data, occurred_at," \
	" handled_at, handled_by, note"
#define USED "task, paused, tripped, runs, wall_us, cpu_us, fetches, bytes"
#define RUNS "id, task, item, started_at, outcome, attempt, task_version," \
	" wall_us, cpu_us, memory_bytes, fetches, bytes, record"

/* Generations come first: what follows is judged by the configuration. */
const struct copy_table copy_tables[] = {
	{ "generations", { COPY_INT },
	    { { "id", COPY_INT }, { "loaded_at", COPY_INT },
	    { "hash", COPY_TEXT }, { "config", COPY_JSON },
	    { "files", COPY_JSON } },
	    READ("generations", "id", "?1", "id, loaded_at, hash, config,"
	    " files", "1"),
	    WRITE("generations", "id, loaded_at, hash, config, files",
	    "?1, ?2, ?3, ?4, ?5"), "generations" },
	{ "migrations", { COPY_TEXT },
	    { { "id", COPY_TEXT }, { "applied_at", COPY_INT } },
	    READ("migrations", "id", "?1", "id, applied_at", "1000"),
	    WRITE("migrations", "id, applied_at", "?1, ?2"), NULL },
	{ "items", { COPY_INT },
	    { { "key", COPY_INT }, { "id", COPY_TEXT }, { "data", COPY_JSON },
	    { "created_by", COPY_TEXT_OR_NULL }, { "created_at", COPY_INT },
	    { "updated_at", COPY_INT }, { "rev", COPY_INT },
	    { "aliases_n", COPY_INT }, { "blobs_n", COPY_INT } },
	    READ("items", "key", "?1", ITEMS, "100"),
	    WRITE("items", ITEMS, "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9"),
	    "items" },
	{ "aliases", { COPY_TEXT },
	    { { "id", COPY_TEXT }, { "item", COPY_INT }, { "own", COPY_INT } },
	    READ("aliases", "id", "?1", "id, item, own", "1000"),
	    WRITE("aliases", "id, item, own", "?1, ?2, ?3"), NULL },
	{ "tags", { COPY_INT, COPY_INT },
	    { { "item", COPY_INT }, { "tag", COPY_TAG },
	    { "value", COPY_TEXT_OR_NULL } },
	    READ("tags", "item, tag", "?1, ?2", "item, tag, value", "1000"),
	    WRITE("tags", "item, tag, value", "?1, ?2, ?3"), NULL },
	{ "task_results", { COPY_INT, COPY_INT },
	    { { "task", COPY_TASK }, { "item", COPY_INT },
	    { "task_version", COPY_TEXT }, { "metadata", COPY_JSON },
	    { "is_successful", COPY_INT }, { "is_invalidated", COPY_INT },
	    { "created_at", COPY_INT }, { "completed_at", COPY_INT_OR_NULL },
	    { "ttl_override", COPY_INT_OR_NULL },
	    { "expires_at", COPY_INT_OR_NULL }, { "rev", COPY_INT } },
	    READ("task_results", "task, item", "?1, ?2", RESULTS, "100"),
	    WRITE("task_results", RESULTS,
	    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11"), NULL },
	{ "worklist", { COPY_INT, COPY_INT },
	    { { "task", COPY_TASK }, { "item", COPY_INT },
	    { "state", COPY_INT }, { "due", COPY_INT_OR_NULL },
	    { "lane", COPY_LANE }, { "generation", COPY_INT },
	    { "attempt", COPY_INT } },
	    READ("worklist", "task, item", "?1, ?2", WORKLIST, "1000"),
	    "INSERT INTO worklist (" WORKLIST ", again)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)", NULL },
	{ "failures", { COPY_INT },
	    { { "id", COPY_INT }, { "task", COPY_TASK }, { "item", COPY_INT },
	    { "message", COPY_TEXT }, { "error_data", COPY_JSON },
	    { "occurred_at", COPY_INT }, { "handled_at", COPY_INT_OR_NULL },
	    { "handled_by", COPY_TEXT_OR_NULL },
	    { "note", COPY_TEXT_OR_NULL } },
	    READ("failures", "id", "?1", FAILURES, "100"),
	    WRITE("failures", FAILURES, "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9"),
	    "failures" },
	{ "blobs", { COPY_BYTES },
	    { { "sha256", COPY_BYTES }, { "bytes", COPY_BYTES },
	    { "uses", COPY_INT }, { "put_at", COPY_INT } },
	    READ("blobs", "sha256", "?1", "sha256, bytes, uses, put_at", "2"),
	    WRITE("blobs", "sha256, bytes, uses, put_at", "?1, ?2, ?3, ?4"),
	    NULL },
	{ "item_blobs", { COPY_INT, COPY_TEXT },
	    { { "item", COPY_INT }, { "name", COPY_TEXT },
	    { "sha256", COPY_BYTES }, { "type", COPY_TEXT },
	    { "bytes", COPY_INT } },
	    READ("item_blobs", "item, name", "?1, ?2",
	    "item, name, sha256, type, bytes", "1000"),
	    WRITE("item_blobs", "item, name, sha256, type, bytes",
	    "?1, ?2, ?3, ?4, ?5"), NULL },
	{ "buckets", { COPY_TEXT },
	    { { "name", COPY_TEXT }, { "full_at", COPY_INT } },
	    READ("buckets", "name", "?1", "name, full_at", "1000"),
	    WRITE("buckets", "name, full_at", "?1, ?2"), NULL },
	/* The counts are made of the worklist. */
	{ "task_state", { COPY_INT },
	    { { "task", COPY_TASK }, { "paused", COPY_INT },
	    { "tripped", COPY_INT }, { "runs", COPY_INT },
	    { "wall_us", COPY_INT }, { "cpu_us", COPY_INT },
	    { "fetches", COPY_INT }, { "bytes", COPY_INT } },
	    READ("task_state", "task", "?1", USED, "1000"),
	    "INSERT INTO task_state (" USED ", unprocessed, stale, fresh,"
	    " retry, leased, blocked, failed) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
	    " ?7, ?8, 0, 0, 0, 0, 0, 0, 0)", NULL },
	{ "runs", { COPY_INT },
	    { { "id", COPY_INT }, { "task", COPY_TASK }, { "item", COPY_INT },
	    { "started_at", COPY_INT }, { "outcome", COPY_INT },
	    { "attempt", COPY_INT }, { "task_version", COPY_TEXT },
	    { "wall_us", COPY_INT }, { "cpu_us", COPY_INT },
	    { "memory_bytes", COPY_INT }, { "fetches", COPY_INT },
	    { "bytes", COPY_INT }, { "record", COPY_BYTES } },
	    READ("runs", "id", "?1", RUNS, "50"),
	    WRITE("runs", RUNS, "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
	    " ?12, ?13"), "runs" },
	{ "rewrites", { COPY_INT },
	    { { "task", COPY_TASK }, { "generation", COPY_INT },
	    { "at", COPY_INT }, { "done", COPY_INT }, { "total", COPY_INT } },
	    READ("rewrites", "task", "?1", "task, generation, at, done, total",
	    "1000"),
	    WRITE("rewrites", "task, generation, at, done, total",
	    "?1, ?2, ?3, ?4, ?5"), NULL },
	{ "sessions", { COPY_TEXT },
	    { { "name", COPY_TEXT }, { "sealed", COPY_BYTES },
	    { "expires_at", COPY_INT_OR_NULL }, { "rev", COPY_INT } },
	    READ("sessions", "name", "?1", "name, sealed, expires_at, rev",
	    "100"),
	    WRITE("sessions", "name, sealed, expires_at, rev",
	    "?1, ?2, ?3, ?4"), NULL },
	{ "events", { COPY_INT },
	    { { "cursor", COPY_INT }, { "at", COPY_INT },
	    { "type", COPY_TEXT }, { "task", COPY_TEXT_OR_NULL },
	    { "tags", COPY_TEXT_OR_NULL }, { "total", COPY_INT },
	    { "body", COPY_JSON } },
	    READ("events", "cursor", "?1",
	    "cursor, at, type, task, tags, total, body", "1000"),
	    WRITE("events", "cursor, at, type, task, tags, total, body",
	    "?1, ?2, ?3, ?4, ?5, ?6, ?7"), NULL },
};
const size_t copy_tables_n = ARRAY_LEN(copy_tables);

enum item_name_kind
copy_name_kind(enum copy_form form)
{
	return form == COPY_TASK ? ITEM_NAME_TASK : form == COPY_TAG ?
	    ITEM_NAME_TAG : ITEM_NAME_LANE;
}
