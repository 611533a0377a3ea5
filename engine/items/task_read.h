/*
 * task_read -- what the readers of a configuration share: where in it they
 * are, the faults found so far, tables of keys, and values of every kind.
 *
 * An object is read by a table of its keys.  A key that is not in it, or stands
 * twice, is a fault.  Reading goes on after a fault, so that all are told at
 * once; a value with a fault leaves its field as it was.
 *
 * Thread: one at a time.  Private to engine/items.
 */
#ifndef ENGINE_ITEMS_TASK_READ_H
#define ENGINE_ITEMS_TASK_READ_H

#include "base/json.h"
#include "base/map.h"
#include "engine/items/task_config.h"

#define TASK_FAULT_KEY_BYTES 64u     /* of a key that is shown */

struct task_read {
	struct task_config *config;
	const struct item_limits *limits;
	struct arena *a;             /* the configuration's */
	struct map tasks;            /* by name: struct task */
	struct buf path;             /* of the value that is read */
	struct buf *faults;          /* NULL: only the first is wanted */
	const char *limit;           /* the first that is exceeded */
	unsigned faults_n;
	struct why *w;
};

/* The path goes one step down: to a key or to an element of a list. */
size_t task_read_enter(struct task_read *, struct str key);
size_t task_read_enter_at(struct task_read *, size_t i);
void task_read_leave(struct task_read *, size_t before);
/* Tell a fault of the value at the path, in a sentence. */
void task_read_fault(struct task_read *, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
/* The fault is that this limit, a name of ITEM_LIMITS, is exceeded. */
void task_read_note_limit(struct task_read *, const char *limit);

/*
 * A key of an object and what its value has to be.  `read` stores it in the
 * field at `offset` of `out`.
 */
struct config_key {
	const char *name;
	void (*read)(struct task_read *, const struct config_key *,
	    yyjson_val *, void *out);
	size_t offset;
	int64_t min, max;            /* of numbers, durations, sizes, lengths */
	const char *words;           /* of a choice, "discard store" */
	const struct config_key *keys; /* of an object in it */
	size_t keys_n;
	bool needed;
	const char *step;            /* to these: ".NAME" of a map, "[]" */
};
#define KEY(text, kind) .name = text, .read = task_read_##kind

void task_read_object(struct task_read *, const struct config_key *keys,
    size_t n, yyjson_val *, void *out);
/* False, and a fault, when it is none. */
bool task_read_is_object(struct task_read *, yyjson_val *);
/* `limit`: as of task_read_note_limit(); NULL: `n_max` is none of them. */
bool task_read_is_list(struct task_read *, yyjson_val *, int64_t n_max,
    const char *limit);

/* -- For task_key.read.  The field's type stands beside. -- */

/* struct: an object by the row's `keys`, into `out` itself */
void task_read_keys(struct task_read *, const struct config_key *, yyjson_val *,
    void *out);
void task_read_bool(struct task_read *, const struct config_key *, yyjson_val *,
    void *out);                  /* bool */
void task_read_count(struct task_read *, const struct config_key *,
    yyjson_val *, void *out);                  /* unsigned */
void task_read_choice(struct task_read *, const struct config_key *,
    yyjson_val *, void *out);    /* unsigned: the word's place */
void task_read_duration(struct task_read *, const struct config_key *,
    yyjson_val *, void *out);    /* int64_t, us */
void task_read_size(struct task_read *, const struct config_key *, yyjson_val *,
    void *out);                  /* int64_t, bytes */
void task_read_text(struct task_read *, const struct config_key *, yyjson_val *,
    void *out);                  /* struct str */
void task_read_function(struct task_read *, const struct config_key *,
    yyjson_val *, void *out);    /* bool: set */
void task_read_rate(struct task_read *, const struct config_key *, yyjson_val *,
    void *out);                  /* struct task_rate */
void task_read_ttl(struct task_read *, const struct config_key *, yyjson_val *,
    void *out);                  /* struct task_ttl */
/* A list of names of tasks, all known. */
struct task_names {
	const struct str *names;
	size_t n;
};
void task_read_tasks(struct task_read *, const struct config_key *,
    yyjson_val *, void *out);                  /* struct task_names */

/* -- Texts.  Each tells a fault and returns false. -- */

/* A string of UTF-8, 1 to `max` bytes, without control characters. */
bool task_read_name(struct task_read *, yyjson_val *, size_t max,
    struct str *out);
/* A tag's name has no "=" and no ",", either. */
bool task_read_tag_name(struct task_read *, struct str);
/* "name" or "name=value". */
bool task_read_tag(struct task_read *, struct str, struct str *name,
    struct str *value);
/* A JSON value without functions, compact, within the limits of an item. */
bool task_read_data(struct task_read *, yyjson_val *, struct str *out);

/* -- Pure: false when the text is none. -- */

bool task_rate_parse(struct str, struct task_rate *);    /* task_rate.c */
bool task_size_parse(struct str, int64_t *bytes);        /* "64M" */

/* -- task_config_task.c -- */

/* Make the configuration's tasks, of names alone; then read each; then look
 * whether one needs itself. */
void task_read_task_names(struct task_read *, yyjson_val *tasks);
void task_read_task_map(struct task_read *, const struct config_key *,
    yyjson_val *, void *out);
void task_read_cycles(struct task_read *);
extern const struct config_key task_keys[];
extern const size_t task_keys_n;

/* -- task_config_part.c: the other sections.  Each fills its part of the struct
 *    task_config at `config`. -- */

/* Which tags map to which tasks: struct task.tags. */
void task_read_tags(struct task_read *, const struct config_key *, yyjson_val *,
    void *config);
void task_read_groups(struct task_read *, const struct config_key *,
    yyjson_val *, void *config);
void task_read_seeds(struct task_read *, const struct config_key *,
    yyjson_val *, void *config);
void task_read_migrations(struct task_read *, const struct config_key *,
    yyjson_val *, void *config);
void task_read_policy(struct task_read *, const struct config_key *,
    yyjson_val *, void *config);
void task_read_private(struct task_read *, const struct config_key *,
    yyjson_val *, void *config);
void task_read_sessions(struct task_read *, const struct config_key *,
    yyjson_val *, void *config);
extern const struct config_key task_seed_keys[], task_migration_keys[],
    task_session_keys[];
extern const size_t task_seed_keys_n, task_migration_keys_n,
    task_session_keys_n;

/*
 * Call `each` with the path of every key, such as "tasks.NAME.limits.rate": for
 * the test of the documents.
 */
void task_config_walk_keys(void (*each)(void *arg, const char *path),
    void *arg);

#endif
