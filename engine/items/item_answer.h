/*
 * item_answer -- what several answers of item_query.h are made of: items with
 * their aliases and tags, dates, results.
 *
 * Thread: the item_store's.
 * Private to item_query*.c and item_export*.c.
 */
#ifndef ENGINE_ITEMS_ITEM_ANSWER_H
#define ENGINE_ITEMS_ITEM_ANSWER_H

#include "base/json_writer.h"
#include "base/map.h"
#include "engine/items/item_event.h"
#include "engine/items/item_query.h"

/* A read ends within this time, or after one row. */
#define ANSWER_MS_MAX 100
/* An answer with items ends behind so many bytes, or after one item. */
#define ANSWER_BYTES_MAX ((size_t)8 << 20)

/* A text, null when its p is NULL. */
void answer_text(struct buf *, const char *name, struct str);
/* A column that may be NULL: ITEM_TIME_NONE. */
struct wall answer_wall(struct query *, int column);
/* A pair's state; "expired" where a fresh one's time is over. */
struct str answer_state(enum pair_state, int64_t due_ms, struct wall now);
/* "due_at": null where it is due at once, or nothing is. */
void answer_due(struct buf *, int64_t due_ms);
/* 0: the default; beyond the most: INPUT. */
MUST_USE enum err answer_limit(unsigned *limit, struct why *);
/* `after` as a number; 0 when it is empty.  INPUT. */
MUST_USE enum err answer_after(struct str after, int64_t *, struct why *);

/* "R17". */
bool answer_run(struct str run, int64_t *id);

/* An item's key and own id, through aliases; ABSENT.  Memory: `a`. */
MUST_USE enum err answer_find(struct item_store *, struct str id,
    struct arena *a, int64_t *key, struct str *own, struct why *);
/* A name's number; ABSENT when it is none ("task: there is no such task"). */
MUST_USE enum err answer_name(struct item_store *, enum item_name_kind,
    const char *field, struct str name, uint32_t *, struct why *);

struct answer_tag {
	struct str name, value;      /* value p NULL: none */
};
struct answer_item {
	int64_t key;
	struct str id, data, created_by;
	struct wall created_at, updated_at;
	uint64_t rev;
	unsigned aliases_n;
	struct str *aliases;         /* without its own id, by id */
	size_t aliases_loaded, aliases_cap;
	struct answer_tag *tags;     /* by name */
	size_t tags_n, tags_cap;
	struct str *metadata;        /* of the tasks asked for; p NULL: none */
};
struct answer_items {
	struct item_store *store;
	struct arena arena;          /* all texts */
	struct answer_item **rows;
	size_t n, cap;
	struct map by_key;
	size_t bytes;
};
void answer_items_free(struct answer_items *);

/* The columns that answer_take_item() reads, from `items i`. */
#define ANSWER_COLUMNS "i.key, i.id, i.data, i.created_by, i.created_at," \
	" i.updated_at, i.rev, i.aliases_n"
#define ANSWER_COLUMNS_N 8
struct answer_item *answer_take_item(struct answer_items *, struct query *);
/* Load aliases, tags, who made them, and metadata of these tasks. */
MUST_USE enum err answer_load(struct answer_items *, const struct str *tasks,
    size_t tasks_n, struct why *);
/* ITEM of contracts/items.md §7, with metadata when tasks were given. */
void answer_item(const struct answer_item *, const struct str *tasks,
    size_t tasks_n, struct buf *);

/* The results of one item. */
struct answer_result {
	uint32_t task;
	struct str task_name, task_version, metadata;
	bool is_successful, is_invalidated;
	struct wall completed_at, expires_at;
};
MUST_USE enum err answer_results(struct item_store *, int64_t item,
    struct arena *, struct answer_result **, size_t *n, struct why *);
/* Not what its task would store now: expired, invalidated, another version, or
 * never stored.  `task` NULL: the task is not in the configuration. */
bool answer_is_stale(const struct answer_result *, const struct task *,
    struct wall now);

#endif
