/*
 * task_config -- what items.config says, judged: tags, tasks, limits, seeds,
 * migrations (contracts/items.md §6).
 *
 * It is made of JSON: the module's default export as the script host read it,
 * in which a function is {"$function":true}.  Pure: no store, no clock.
 *
 * Thread: any; read-only once it is made.
 * Errors: INPUT, naming the place: "tasks.lcsc:scrape.ttl: ...".
 */
#ifndef ENGINE_ITEMS_TASK_CONFIG_H
#define ENGINE_ITEMS_TASK_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"
#include "engine/items/item_limits.h"

struct task_rate {               /* "2/s burst 10" */
	bool set;
	int64_t n, per_us, burst;
};

/* When a result expires: after a time, at the next time of a cron line (UTC),
 * or never. */
enum task_ttl_kind { TASK_TTL_NEVER, TASK_TTL_AFTER, TASK_TTL_CRON };
struct task_cron;                /* task_cron.h */
struct task_ttl {
	enum task_ttl_kind kind;
	int64_t after_us;
	const struct task_cron *cron;
};
/* NONE: never. */
struct wall task_ttl_expires(const struct task_ttl *, struct wall completed);

struct task_tag_limit {          /* limits.tags: "site=eu", "a,b" */
	struct str key;              /* canonical: parts sorted */
	struct task_tag_part {
		struct str tag, value;   /* value p NULL: any */
	} *parts;
	size_t parts_n;
	struct task_rate rate;
};

enum task_runs { TASK_RUNS_LAST, TASK_RUNS_FAILED, TASK_RUNS_NONE };

struct task {
	struct str name, version;
	struct task_ttl ttl;
	unsigned parallel;           /* 0: no limit of its own */
	unsigned weight;
	int64_t lease_us, min_interval_us;
	unsigned retries;
	int64_t backoff_us, backoff_max_us;
	struct task_rate rate;
	const struct task_tag_limit *tag_limits;
	size_t tag_limits_n;         /* at most 32 */
	bool global_limit, group_limits;
	bool store_on_failure;       /* onFailure: "store" */
	unsigned outstanding_failures_max;   /* 0: never trips */
	const struct str *depends_on, *prefetch;
	size_t depends_on_n, prefetch_n;
	enum task_runs runs;
	int64_t memory_bytes, cpu_us, wall_us;   /* 0: script.*'s */
	bool remote, has_run;
	const struct str *tags;      /* that map to it */
	size_t tags_n;
};

struct task_group_limit {
	struct str pattern;          /* "lcsc:*" */
	struct task_rate rate;
};

struct task_seed {
	struct str id, data;         /* data: JSON */
	const struct str *tags;      /* "name" or "name=value" */
	size_t tags_n;
};

enum task_migration_kind { MIGRATION_RENAME_TAG, MIGRATION_RENAME_TASK };
struct task_migration {
	struct str id, from, to;
	enum task_migration_kind kind;
};

struct task_config {
	uint64_t generation;         /* 0: none was loaded */
	struct str hash;             /* of the bundle */
	struct str json;             /* what it was made of */
	const struct task *tasks;    /* by name */
	size_t tasks_n;
	struct task_rate global;
	const struct task_group_limit *groups;
	size_t groups_n;
	const struct task_seed *seeds;
	size_t seeds_n;
	const struct task_migration *migrations;
	size_t migrations_n;
	struct str fetch_policy;     /* JSON: name or object; empty: none */
	const struct str *fetch_private;     /* HOST:PORT */
	size_t fetch_private_n;
	struct str sessions;         /* JSON of them, {} */
	struct arena arena;          /* all of the above */
};

#define TASK_FAULTS_MAX 20u
struct task_faults {
	struct buf text;             /* a line each: "tasks.a.retries: it is not
	                              * a whole number from 0 to 1000" */
	const char *limit;           /* of ITEM_LIMITS, the first that is
	                              * exceeded; NULL: none is */
};
#define TASK_FAULTS_INIT ((struct task_faults){ BUF_INIT, NULL })
/*
 * Judge the JSON.  All faults are told, up to TASK_FAULTS_MAX: the first in
 * `w`, each in `faults` if that is not NULL.  Unknown keys, unknown
 * dependencies and cycles of them are faults.
 */
MUST_USE enum err task_config_read(struct str json, const struct item_limits *,
    struct task_config **, struct task_faults *, struct why *);
void task_faults_free(struct task_faults *);
/* One without tasks. */
struct task_config *task_config_none(void);
void task_config_free(struct task_config **);

const struct task *task_find(const struct task_config *, struct str name);
/* "lcsc:*", "*:scrape" and plain names; "*" alone is every task. */
bool task_matches(struct str pattern, struct str name);
/* "500ms 10s 5m 2h 30d" is one of these; us.  False when it is none. */
bool task_duration(struct str, int64_t *us);

#endif
