/*
 * store -- what people and programs have put down to be kept: policies,
 * schedules, tokens; harvests (store_harvest.h, store_outbox.h), credentials
 * (store_credential.h), tasks of the external door (store_external.h) and what
 * its users have granted (store_grant.h).
 *
 * The store judges no policy and no seed: engine/policy does.  It holds to the
 * limits below, and knows its keys.  Every verb that writes has committed when
 * it returns OK; several may be grouped into one commit.
 *
 * The database underneath is os/database.h's: SQLite, embedded, or PostgreSQL.
 *
 * Owns:    DIR/store.db, unless a PostgreSQL server has the store.
 * Thread:  one at a time.
 * Errors:  INPUT (a name or a tag is none; the text names the field), ABSENT,
 *          STATE, FULL (a limit), and those of os/database.h.
 * Story:   engine/store/DESIGN.md
 */
#ifndef ENGINE_STORE_STORE_H
#define ENGINE_STORE_STORE_H

#include "engine/store/schedule.h"
#include "engine/store/token.h"

#define STORE_NAME_BYTES_MAX 200u
#define STORE_TAGS_MAX 16u
#define STORE_TAG_BYTES_MAX 64u
#define STORE_JSON_BYTES_MAX (1u << 20)       /* a policy, a list of seeds */
#define STORE_DUE_MAX 16u                     /* schedules told at once */
#define STORE_NODE_BYTES_MAX 64u
/* The three that are options; 0 stands for these. */
#define STORE_POLICIES_MAX 1000u
#define STORE_SCHEDULES_MAX 1000u
#define STORE_TOKENS_MAX 1000u

#define STORE_POLICY_DEFAULT "default"

struct store;

struct store_options {
	/*
	 * The PostgreSQL server that has the store, instead of DIR/store.db;
	 * empty or NULL: none.  Then `node` is what this daemon is called among
	 * those that share the store.
	 */
	const char *url, *password_file, *node;
	/* The built-in policy `default`, as JSON; NULL: there is none. */
	const char *policy_default;
	size_t policies_max, schedules_max, tokens_max;
};

struct store_policy {
	struct str name, json;
	struct wall created, changed;   /* 0: built in, never put */
};

/*
 * Open, or make, the store in `dir`, which must be there.  Options or NULL.
 * CONFIG, naming the setting, when url or password_file is wrong.
 */
MUST_USE enum err store_open(const char *dir, const struct store_options *,
    struct store **, struct why *);
void store_close(struct store **);
/*
 * Wait until the commits that are under way have ended, a minute at most; in a
 * file there are none.  A process that was killed may have sent its last
 * commit, which the server carries out a moment later: a daemon waits for it
 * before it reads what it keeps in memory.  Errors: BUSY.
 */
MUST_USE enum err store_wait_for_commits(struct store *, struct why *);
/* Whether daemons may share it: a PostgreSQL server has it. */
bool store_is_shared(const struct store *);

/* Whether a URL names a server, not a file. */
bool store_url_is_server(const char *url);

/*
 * Put the rows of `from`, with their ids, into `to`, in one commit; those of
 * store_external.h and store_grant.h are left out.  EXISTS when `to` has any.
 */
struct store_copied {
	size_t policies, schedules, tokens, harvests, warcs, credentials;
	size_t orders, stops, messages;      /* store_outbox.h */
	size_t exports;                      /* store_export.h */
};
MUST_USE enum err store_copy(struct store *from, struct store *to,
    struct store_copied *, struct why *);

/*
 * One commit for several verbs.  store_end() takes the first error among them
 * (or OK): with an error nothing of the group is kept.  Groups do not nest.
 */
MUST_USE enum err store_begin(struct store *, struct why *);
MUST_USE enum err store_end(struct store *, enum err so_far, struct why *);

/*
 * Whether the last write has failed for a reason of the store's own
 * (os/database_failure.h); and a write that changes nothing, to learn whether
 * writes succeed.
 */
bool store_is_failing(const struct store *);
void store_try(struct store *);

/*
 * What a crawl or a schedule may be called, and its tags; an empty name is
 * none, and allowed.  INPUT and FULL, naming the field.
 */
MUST_USE enum err store_check_labels(struct str name, const struct str *tags,
    size_t tags_n, struct why *);

/* Put, or replace; `now` is its date.  FULL beyond policies_max. */
MUST_USE enum err store_policy_put(struct store *, struct str name,
    struct str json, struct wall now, struct why *);
/* `default` is the built-in policy unless it was replaced.  Memory: `a`. */
MUST_USE enum err store_policy_get(struct store *, struct str name,
    struct arena *a, struct store_policy *, struct why *);
/* STATE for `default`, and while a schedule names it. */
MUST_USE enum err store_policy_delete(struct store *, struct str name,
    struct why *);
/* By name, `default` among them; without their JSON. */
MUST_USE enum err store_policy_list(struct store *, struct arena *a,
    struct store_policy **, size_t *n, struct why *);

/*
 * Put a new one (id 0; its id is set), or replace that of the id (ABSENT when
 * it is gone).  One of policy and policy_json is empty; that the policy exists
 * is not asked.  start_at 0 stands for now.  The store sets next_at, runs and
 * last_crawl: a replaced schedule keeps the latter two and is planned anew,
 * save that one that waits for its crawl goes on waiting.
 */
MUST_USE enum err store_schedule_put(struct store *, struct schedule *,
    struct wall now, struct why *);
MUST_USE enum err store_schedule_get(struct store *, uint64_t id,
    struct arena *a, struct schedule *, struct why *);
MUST_USE enum err store_schedule_delete(struct store *, uint64_t id,
    struct why *);
/* All, by id, without seeds and policy_json: these two may be long. */
MUST_USE enum err store_schedule_list(struct store *, struct arena *a,
    struct schedule **, size_t *n, struct why *);
/*
 * Those that are to run at `now`, whole, the longest waiting first; at most
 * STORE_DUE_MAX: when these have run, ask again.  In a shared store they are
 * claimed for this daemon: no other one gets them until store_schedule_ran() or
 * store_schedule_late(), also when this one is killed meanwhile.
 */
MUST_USE enum err store_schedule_due(struct store *, struct wall now,
    struct arena *a, struct schedule **, size_t *n, struct why *);
/* When the next one that others have not claimed is due; NEVER: none is. */
MUST_USE enum err store_schedule_next(struct store *, struct wall *,
    struct why *);
/*
 * `crawl` of this daemon was started for it at `now`.  Said again for the same
 * crawl it changes nothing: the ledger commits a crawl first, and after a crash
 * between the two the engine finds that crawl by its key and says this again.
 */
MUST_USE enum err store_schedule_ran(struct store *, uint64_t id,
    uint64_t crawl, struct wall now, struct why *);
/*
 * The same of a harvest that has begun, its run-th; and of one that was not,
 * because the last one is not over: it is counted.
 */
MUST_USE enum err store_schedule_harvested(struct store *, uint64_t id,
    uint64_t run, struct wall now, struct why *);
MUST_USE enum err store_schedule_skipped(struct store *, uint64_t id,
    struct wall now, struct why *);
/* It could not be started: it is due again at `again`, behind the others. */
MUST_USE enum err store_schedule_late(struct store *, uint64_t id,
    struct wall again, struct why *);
/*
 * `crawl` of this daemon has ended: plan the next run if the schedule waits for
 * it.  For any other crawl, or a run that was planned already, it changes
 * nothing.
 */
MUST_USE enum err store_schedule_ended(struct store *, uint64_t id,
    uint64_t crawl, struct wall ended, struct why *);

/*
 * Make a token and put its hash; `text` is the only copy of it.  EXISTS when
 * the name is taken; FULL beyond tokens_max; INPUT of token_name_check().
 */
MUST_USE enum err store_token_add(struct store *, struct str name,
    struct token_scopes, struct wall now,
    char text[static TOKEN_TEXT_BYTES + 1], struct why *);
/* By name.  Memory: `a`. */
MUST_USE enum err store_token_list(struct store *, struct arena *a,
    struct token **, size_t *n, struct why *);
/* It is gone; its id is not used again. */
MUST_USE enum err store_token_revoke(struct store *, struct str name,
    struct why *);
/* It was used at about `when`; nothing when it is gone. */
MUST_USE enum err store_token_used(struct store *, uint64_t id,
    struct wall when, struct why *);

/*
 * A number that grows when anybody commits: another process, another opening of
 * the store, or a verb of this one.  store_token_used() of this one is left
 * out: it changes nothing that is kept in memory.  Takes some microseconds, or
 * a round trip to the server.
 * `version` is 0 after an error.
 */
MUST_USE enum err store_version(struct store *, uint64_t *, struct why *);

#endif
