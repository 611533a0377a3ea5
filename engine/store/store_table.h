/*
 * store_table -- what a database does for the store.
 *
 * The functions are plain: names and limits were checked, transactions are
 * begun and ended by store.c.  `*found` and `*was` tell whether there is, or
 * was, such a row; that there is none is no error here.
 */
#ifndef ENGINE_STORE_STORE_TABLE_H
#define ENGINE_STORE_STORE_TABLE_H

#include "engine/store/store.h"

enum store_kind { STORE_POLICY, STORE_SCHEDULE, STORE_SETTING, STORE_TOKEN };

struct store_table {
	const char *name;
	enum err (*open)(const char *where, void **db, struct why *);
	void (*close)(void **db);
	enum err (*check)(void *db, struct why *);
	enum err (*begin)(void *db, struct why *);
	enum err (*end)(void *db, enum err so_far, struct why *);
	enum err (*count)(void *db, enum store_kind, size_t *n, struct why *);

	/* A row that is there keeps its date of creation. */
	enum err (*policy_put)(void *db, const struct store_policy *,
	    struct why *);
	enum err (*policy_get)(void *db, struct str name, struct arena *,
	    struct store_policy *, bool *found, struct why *);
	enum err (*policy_delete)(void *db, struct str name, bool *was,
	    struct why *);
	enum err (*policy_list)(void *db, struct arena *,
	    struct store_policy **, size_t *n, struct why *);
	/* The name of a schedule that has this policy; STR_NONE: none. */
	enum err (*policy_user)(void *db, struct str name, struct arena *,
	    struct str *schedule, struct why *);

	/* id 0: a new row, whose id is set. */
	enum err (*schedule_put)(void *db, struct schedule *, struct why *);
	enum err (*schedule_get)(void *db, uint64_t id, struct arena *,
	    struct schedule *, bool *found, struct why *);
	enum err (*schedule_delete)(void *db, uint64_t id, bool *was,
	    struct why *);
	/* All, by id, without seeds and policy_json. */
	enum err (*schedule_list)(void *db, struct arena *,
	    struct schedule **, size_t *n, struct why *);
	/* Those with next_at <= now, by it; at most n_max, whole. */
	enum err (*schedule_due)(void *db, struct wall now, size_t n_max,
	    struct arena *, struct schedule **, size_t *n, struct why *);
	enum err (*schedule_next)(void *db, struct wall *, struct why *);

	enum err (*setting_put)(void *db, struct str name, struct str value,
	    struct why *);
	enum err (*setting_get)(void *db, struct str name, struct arena *,
	    struct str *value, bool *found, struct why *);

	/* A new row; EXISTS when the name, or the hash, is there. */
	enum err (*token_add)(void *db, const struct token *, struct why *);
	enum err (*token_list)(void *db, struct arena *, struct token **,
	    size_t *n, struct why *);
	enum err (*token_delete)(void *db, struct str name, bool *was,
	    struct why *);
	enum err (*token_used)(void *db, uint64_t id, struct wall when,
	    struct why *);

	/* As store_version(). */
	enum err (*version)(void *db, uint64_t *, struct why *);
};

extern const struct store_table store_sqlite;   /* where: a directory */

/* Tags as they are stored: a JSON array of strings. */
void store_tags_put(struct buf *, const struct str *tags, size_t n);
MUST_USE enum err store_tags_get(struct str json, struct arena *,
    const struct str **tags, size_t *n, struct why *);

#endif
