/*
 * item_query -- read-only questions about items, answered as the JSON of
 * contracts/items.md §7.
 *
 * Each appends one JSON text to `out`.  Lists go on by key: `after` is the
 * `next` of the answer before, empty at the start; at most `limit` rows, fewer
 * when 100 ms are over.
 *
 * Thread: a reader's, or the writer's between transactions.
 * Errors: ABSENT; INPUT, naming the parameter.
 */
#ifndef ENGINE_ITEMS_ITEM_QUERY_H
#define ENGINE_ITEMS_ITEM_QUERY_H

#include "engine/items/item_store.h"

#define ITEM_LIST_DEFAULT 100u
#define ITEM_LIST_MAX 1000u

struct item_list {
	struct str tag, value, prefix;       /* p NULL: any */
	struct wall updated_since;           /* NONE: any */
	const struct str *metadata;          /* of these tasks, besides */
	size_t metadata_n;
	struct str after;
	unsigned limit;
	bool lines;                          /* NDJSON: a line each */
};
/* `*rev` is the item's, for its ETag. */
MUST_USE enum err item_query_get(struct item_store *, struct str id,
    struct buf *out, uint64_t *rev, struct why *);
MUST_USE enum err item_query_list(struct item_store *, const struct item_list *,
    struct buf *out, struct buf *next, struct why *);
MUST_USE enum err item_query_metadata(struct item_store *, struct str id,
    const struct str *tasks, size_t n, struct wall now, struct buf *out,
    struct why *);
/* `word`: the list is called "operations" or "tasks". */
MUST_USE enum err item_query_operations(struct item_store *, struct str id,
    const char *word, struct wall now, struct buf *out, struct why *);
MUST_USE enum err item_query_blobs(struct item_store *, struct str id,
    struct buf *out, struct why *);
MUST_USE enum err item_query_blob(struct item_store *, struct str id,
    struct str name, struct buf *bytes, struct buf *type, struct why *);
MUST_USE enum err item_query_runs(struct item_store *, struct str id,
    struct str task, struct buf *out, struct why *);
MUST_USE enum err item_query_run(struct item_store *, struct str run,
    struct buf *out, struct why *);

/* A run as a replay needs it.  Memory: the caller's arena. */
struct run_replay {
	int64_t id;                  /* "R17" without the R */
	struct str task, item;       /* item p NULL: it is gone */
	struct wall started_at;
	bool success;
	struct str record;           /* JSON, unpacked */
};
/* Errors: ABSENT naming `run`; CORRUPT. */
MUST_USE enum err item_query_replay(struct item_store *, struct str run,
    struct arena *, struct run_replay *, struct why *);
/*
 * The last run of each of a task's pairs, by their numbers; at most `max`, and
 * fewer when their records are more than 8 MiB together.  A list that goes on
 * has the `upto` of its beginning, so that runs since do not belong to it.
 */
struct replay_list {
	struct str task;
	struct str item, tag;        /* p NULL: any; an id or alias */
	struct wall since;           /* started; NONE: any */
	int64_t after;               /* the last one's id; 0: from the start */
	int64_t upto;                /* 0: it becomes the newest run's id */
	unsigned max;
};
MUST_USE enum err item_query_replays(struct item_store *,
    struct replay_list *, struct arena *, struct run_replay **,
    size_t *n, struct why *);
/* The sources of a generation, {"shop.js":"..."}; ABSENT. */
MUST_USE enum err item_query_sources(struct item_store *, struct str hash,
    struct buf *out, struct why *);
/* A blob by its hash, whoever has it; ABSENT. */
MUST_USE enum err item_query_bytes(struct item_store *,
    const uint8_t sha256[static 32], struct buf *out, struct why *);
MUST_USE enum err item_query_tags(struct item_store *, struct str after,
    unsigned limit, struct buf *out, struct why *);
MUST_USE enum err item_query_worklist(struct item_store *, struct str tag,
    struct str task, struct str value, unsigned limit, struct wall now,
    struct buf *out, struct why *);
/* `task` empty: all, {"tasks":[...]}. */
MUST_USE enum err item_query_tasks(struct item_store *, struct str task,
    struct wall now, struct buf *out, struct why *);
/* `handled`: 0 open ones, 1 handled ones, -1 both. */
MUST_USE enum err item_query_failures(struct item_store *, struct str task,
    int handled, struct str after, unsigned limit, struct buf *out,
    struct why *);
MUST_USE enum err item_query_failure_groups(struct item_store *,
    struct str task, struct buf *out, struct why *);
MUST_USE enum err item_query_failure(struct item_store *, uint64_t id,
    struct buf *out, struct why *);
MUST_USE enum err item_query_config(struct item_store *, struct buf *out,
    struct why *);
MUST_USE enum err item_query_config_file(struct item_store *, struct str path,
    struct buf *out, struct why *);

struct event_filter {
	const struct str *types;     /* "item.*", "task.failed" */
	size_t types_n;
	const struct str *tags, *tasks;
	size_t tags_n, tasks_n;
};
/* So many events are looked at by a call, whether they match or not. */
#define ITEM_EVENTS_LOOKED_AT_MAX 1000u
/*
 * Events behind `since`, a line of JSON each, in the order of their cursors;
 * `*last` is the last that was looked at.  ABSENT when older ones than the next
 * were dropped: `*last` is the oldest that is kept.
 */
MUST_USE enum err item_query_events(struct item_store *, uint64_t since,
    const struct event_filter *, unsigned limit, struct buf *out,
    uint64_t *last, struct why *);
/* The newest cursor; 0: no event so far. */
MUST_USE enum err item_query_cursor(struct item_store *, uint64_t *,
    struct why *);

#endif
