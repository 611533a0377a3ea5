/*
 * store_own -- what the store's files share: the open store, groups, checks of
 * names, and queries.  Private to engine/store.
 */
#ifndef ENGINE_STORE_STORE_OWN_H
#define ENGINE_STORE_STORE_OWN_H

#include "engine/store/store.h"
#include "os/database.h"

struct store {
	struct database *db;
	char *policy_default;
	size_t policies_max, schedules_max, tokens_max;
	bool in_group;
	uint64_t commits;            /* of groups, by this opening of a file */
	struct arena texts;
	struct str name;             /* of a shared store; else empty */
	struct str node;             /* this daemon's, the same */
};

/* Open, or make, its database.  store_schema.c. */
MUST_USE enum err store_open_database(struct store *, const char *dir,
    const struct store_options *, struct why *);

/*
 * A verb that writes is a group of its own, unless the caller has begun one:
 * `mine` is told by store_enter() and given to store_leave(), which commits, or
 * rolls back when `e` is an error.
 */
MUST_USE enum err store_enter(struct store *, bool *mine, struct why *);
MUST_USE enum err store_leave(struct store *, bool mine, enum err e,
    struct why *);

/* INPUT and FULL, naming the field: texts for people, and JSON texts. */
MUST_USE enum err store_check_text(const char *field, struct str,
    size_t bytes_max, struct why *);
MUST_USE enum err store_check_json(const char *field, struct str, struct why *);
/* FULL when `sql` counts `most` rows already; `what` is their name. */
MUST_USE enum err store_check_room(struct store *, const char *sql, size_t most,
    const char *what, struct why *);

/* A text that is empty, but there: STR_NONE would be stored as NULL. */
struct str store_text(struct str);
/* Bind an id; one that SQLite cannot hold matches no row. */
void store_bind_id(struct query *, int at, uint64_t id);
/* Run a query that changes rows, and end it; `changed` may be NULL. */
MUST_USE enum err store_run(struct query *, bool *changed, struct why *);

/*
 * The rows of a list, gathered one by one: store_rows_add() gives room for the
 * next.  store_rows_end() moves `rows` into the arena and ends the query; it
 * returns the query's error, or else `read`, the error of reading a row.
 */
struct store_rows {
	void *rows;
	size_t n, cap, bytes_each;
};
void *store_rows_add(struct store_rows *);
MUST_USE enum err store_rows_end(struct store_rows *, struct query **,
    enum err read, struct arena *, struct why *);

/* INPUT and FULL: a text that may be empty and have several lines. */
MUST_USE enum err store_check_lines(const char *field, struct str,
    size_t bytes_max, struct why *);

/*
 * Columns of a task that its verbs check first; store_external.c.
 * ABSENT; and STATE when `owned` and the task is closed or another daemon's.
 */
struct store_task_head {
	uint64_t emitted, rejected, log_lines;
	bool open;
};
MUST_USE enum err store_task_head(struct store *, uint64_t id, bool owned,
    struct store_task_head *, struct why *);

/* Forget the declarations that no version and no task names, within a group;
 * store_registration.c. */
MUST_USE enum err store_declaration_forget(struct store *, struct why *);

/*
 * For rows with sealed text: the name of a key, and the beginning of what is
 * authenticated beside the text: what kind of row it is, whose, and under which
 * key.  store_grant.c.
 */
#define STORE_KEY_ID_BYTES 16u
struct seal_key;
struct store_user;
void store_key_id(const struct seal_key *,
    char out[static STORE_KEY_ID_BYTES + 1]);
void store_seal_context(struct buf *, const char *kind,
    const struct store_user *, struct str key_id);
/* Its SHA-256. */
struct str store_hash(struct arena *, struct str);
/* Names the field. */
MUST_USE enum err store_check_user(const struct store_user *, struct why *);
/* Bind its texts to the parameters 1 to 4. */
void store_bind_user(struct query *, const struct store_user *);
/* Read them from this column on. */
void store_read_user(struct query *, int column, struct arena *,
    struct store_user *);
/* FREED(store_free_secret): zeroes it first. */
void store_free_secret(struct buf *);

/* Tags as they are stored: a JSON array of strings. */
void store_tags_put(struct buf *, const struct str *tags, size_t n);
MUST_USE enum err store_tags_get(struct str json, struct arena *,
    const struct str **tags, size_t *n, struct why *);

#endif
