/*
 * control -- changes crawls while the engine runs: start, pause, resume,
 * cancel, exclude, retry, delete; named policies; schedules.  The caller fills
 * the struct of a verb, passes it, and finds the answer in it when done() is
 * called.  Whatever the struct points to must live until then.
 *
 * done() is called after the commit of what the answer says: the ledger's for
 * crawls, the store's for policies and schedules.
 *
 * Thread: the main loop's.  The struct belongs to the engine until done().
 * Limits: crawls_max (crawls running at once; more are `pending`),
 *         launch.seeds_max, tags and names as in engine/store/store.h.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_CONTROL_CONTROL_H
#define ENGINE_CONTROL_CONTROL_H

#include <stdatomic.h>

#include "engine/engine.h"
#include "engine/frontier/crawl_spec.h"
#include "engine/frontier/url_state.h"
#include "engine/policy/policy.h"
#include "engine/policy/seed_list.h"
#include "engine/store/store_async.h"
#include "os/request.h"

/* A crawl that is to begin. */
struct crawl_request {
	/* The engine sets its limits, delays and the policy's JSON from the
	 * fields below.  Only a kind that has calls may have no seeds. */
	struct crawl_spec spec;
	const double *seed_delays;   /* s, of each; < 0: the policy's; NULL */
	const struct policy *policy;
	/* Not empty: its warc_dir is PARENT/crawl-ID or PARENT/schedule-ID. */
	struct str warc_parent;
	bool ends_by_duration;       /* limits.max_duration ends it */
	/* Secrets: kept in memory, never written. */
	struct str authorization;    /* "Basic ..." or "Bearer ..." */
	struct str cookies;          /* the text of a Netscape cookie file */
	struct str proxy;            /* wins over the policy's */
};

struct running;
struct launch {
	/*
	 * In.  Of the spec: kind (TASKS, HARVEST: no seeds), name, tags, key,
	 * schedule, operator_seeds (false for what comes through doors), and
	 * `policy` or else `policy_name` (both empty: `default`).  A harvest's
	 * also has the warc_dir, whose last part is the prefix of its files'
	 * names, one tag, the type of the harvest, and `about`.
	 */
	struct crawl_spec spec;
	const struct launch_seed *seeds;
	size_t seeds_n;
	/* Out. */
	uint32_t crawl;
	char in_force[POLICY_SENTENCE_BYTES_MAX + 1];  /* once it has begun */
	struct why why;   /* INPUT naming the field ("policy: " before faults
	                   * of a policy), ABSENT: no such policy, FULL,
	                   * DISK_FULL, BROKEN, CLOSED: the engine stops */
	void (*done)(struct launch *);
	void *arg;
	/* The engine's. */
	struct request request;
	struct engine *engine;
	struct arena arena;
	struct crawl_request begin;
	struct running *plan;
	struct crawl_view view;
};
/*
 * The registry has the crawl when done() is called, and no observer sees the
 * crawl earlier.  Its WARCs go to DATA/archive/crawl-ID, those of a schedule's
 * runs to DATA/archive/schedule-ID, a harvest's to its warc_dir.
 */
void crawl_launch(struct engine *, struct launch *);

/*
 * Send a request that belongs to no queue, in a running crawl of the kind tasks
 * or harvest: engine/fetcher/call.h.  Calls that are under way when the engine
 * is freed get no answer.
 */
struct call;
void engine_call(struct engine *, struct call *);

/*
 * Close the WARC file of a harvest's crawl, and be done when all its files so
 * far have their names and that is committed.  A crawl without an open file, or
 * that has ended, is no error.  What is captured later goes to a new file; so
 * whoever wants to know which captures the files contain makes no call
 * meanwhile.
 */
struct end_file_request {
	uint32_t crawl;
	struct why why;              /* BROKEN: the ledger failed */
	void (*done)(struct end_file_request *);
	void *arg;
	/* The engine's. */
	struct request request;
	struct engine *engine;
	struct list node;
};
void crawl_end_file(struct engine *, struct end_file_request *);

/*
 * Run an ended crawl again: a new crawl with its seeds, their delays, its tags
 * and the policy that it had at its end, exclusions included.  With `failures`
 * its seeds are the URLs of the old one that ended in an exception, and no link
 * is followed (max_depth 0).  One crawl takes at most crawl.retry_max of them,
 * after the first `start`; their order never changes, so start + seeds_n of one
 * answer is the `start` of the next, until `left` is 0.  Secrets that the old
 * crawl had are not kept.  done() may be called before crawl_rerun() returns.
 */
struct rerun {
	/* In. */
	uint32_t of;
	struct str name;             /* empty: as the old one */
	bool failures;
	uint64_t start;              /* failures to leave out, from the first */
	/* Out. */
	uint32_t crawl;              /* the new one */
	char in_force[POLICY_SENTENCE_BYTES_MAX + 1];
	size_t seeds_n;
	uint64_t failed;             /* `failures`: all of them */
	uint64_t left;               /* `failures`: those after the seeds */
	struct why why;   /* ABSENT; STATE: it has not ended, nothing failed
	                   * (after `start`), its proxy is not known,
	                   * outsiders fetch it; those of crawl_launch() */
	void (*done)(struct rerun *);
	void *arg;
};
void crawl_rerun(struct engine *, struct rerun *);

/*
 * Pause, resume, cancel (docs/protocols/realtime.md section 3).  Repeating one,
 * or cancelling an ended crawl, changes nothing.  Errors: STATE when an ended
 * one is paused or resumed; ABSENT.  `state` is the crawl's afterwards.
 */
struct crawl_order {
	uint32_t crawl;
	enum crawl_state want;       /* PAUSED, RUNNING, CANCELLED; COMPLETE
	                              * is a foreground crawl's */
	const char *reason;          /* "by a client" */
	enum crawl_state state;
	struct why why;
	void (*done)(struct crawl_order *);  /* or NULL */
	void *arg;
	/* The engine's. */
	struct request request;
	struct engine *engine;
};
void crawl_set_state(struct engine *, struct crawl_order *);

/* Reads from the index what a crawl began with, exclusions included. */
struct spec_query {
	uint32_t crawl;
	struct arena arena;          /* the caller frees it after done() */
	struct crawl_spec spec;
	const double *delays;        /* s, of each seed; < 0: the policy's */
	struct why why;              /* ABSENT, CORRUPT */
	void (*done)(struct spec_query *);
	void *arg;
	/* The engine's. */
	struct request request;
	struct engine *engine;
};
void catalog_spec(struct engine *, struct spec_query *);

/* -- Changes of a crawl that is under way or has ended. -- */

#define CHANGES_SAMPLE_MAX 100u

/*
 * Add a rule, before all others, that excludes URLs matching `pattern`, from
 * now on and after a restart.  Waiting URLs that match leave the queue and are
 * counted as skipped (scope); a fetch under way is completed.  With `preview`
 * nothing changes.
 * Errors: ABSENT, STATE (ended; its preview is empty), INPUT: pattern: ...,
 * FULL: 1,000 rules, POLICY_JSON_BYTES_MAX.  All verbs may fail with DISK_FULL,
 * BROKEN, and CLOSED when the program ends first; the next start completes an
 * exclusion.
 */
struct exclude_request {
	uint32_t crawl;
	struct str pattern;
	bool preview;
	unsigned wait_ms;            /* a preview answers after this time
	                              * with what it has; 0: when complete */
	const atomic_bool *left;     /* true: the client has gone; or NULL */
	struct arena arena;          /* the caller frees it after done() */
	uint64_t removed;
	bool so_far;                 /* only the first `looked` waiting URLs */
	uint64_t looked;             /* were examined */
	const struct str *sample;    /* at most CHANGES_SAMPLE_MAX URLs */
	size_t sample_n;
	struct why why;
	void (*done)(struct exclude_request *);
	void *arg;
};
void crawl_exclude(struct engine *, struct exclude_request *);

/*
 * Queue URLs again that ended in an exception or were skipped: those with a
 * given reason ("dns", "robots"), or those in `urls`.  The counts of exceptions
 * and skips fall.  Captured URLs are not fetched again; naming one is no error.
 * URLs that the crawl excludes stay out.  So do those that its rules (scope,
 * depth, cost, url) or a host's budget (limit) still leave out, unless they are
 * in `urls`.  robots.txt is fetched anew.
 * Errors: ABSENT; STATE (the crawl has ended); INPUT: reason: ..., urls[3]: ...
 * FULL: too many URLs.
 */
struct retry_request {
	uint32_t crawl;
	struct str reason;           /* empty: `urls` */
	const struct str *urls;
	size_t urls_n;               /* at most 10,000 */
	uint64_t requeued;
	struct why why;
	void (*done)(struct retry_request *);
	void *arg;
};
void crawl_retry(struct engine *, struct retry_request *);

/*
 * Delete the crawl's record, journal, log, URLs and counters.  Its WARC files
 * stay, and its number is not used again.  The registry's row becomes a
 * tombstone.
 * Errors: ABSENT; STATE (it has not ended).
 */
struct delete_request {
	uint32_t crawl;
	struct why why;
	void (*done)(struct delete_request *);
	void *arg;
};
void crawl_delete(struct engine *, struct delete_request *);

/*
 * A run of a schedule that harvests is due.  `id` is the harvest's, the same
 * when a crash has the run begun again: EXISTS then says that it was.
 */
struct scheduled_harvest {
	const struct schedule *schedule;     /* lives until done() */
	struct str id, last;         /* last: of the run before; or empty */
	bool skipped;                /* out: the last one is not over */
	struct why why;
	void (*done)(struct scheduled_harvest *);
	void *arg;
};
/* Who begins them; NULL: nobody, and they are tried again each minute.  Before
 * engine_start(). */
void engine_use_harvests(struct engine *, void (*begin)(void *arg,
    struct scheduled_harvest *), void *arg);

/* -- For an engine without doors, or before it starts. -- */

/* Before engine_start() only; afterwards crawl_launch().  Errors: INPUT naming
 * the field. */
MUST_USE enum err engine_begin(struct engine *, const struct crawl_request *,
    uint32_t *id, struct why *);
/*
 * Continue a crawl that an earlier process left.  Only the secrets and
 * operator_seeds of the request are used, and the latter only if the crawl
 * began with it.  Errors: ABSENT, STATE (also when the proxy that it began with
 * is missing), INPUT.
 */
MUST_USE enum err engine_continue(struct engine *, uint32_t id,
    const struct crawl_request *, struct why *);
/* The newest crawl of that name; with an empty name the newest of all that can
 * go on.  UINT32_MAX: none. */
uint32_t engine_find(struct engine *, struct str name);
/*
 * A crawl's state and counters; what it began with; what became of one of its
 * URLs; the robots.txt of a URL's origin that an earlier run stored, with its
 * date and HTTP status.  Before engine_start(), and the first also after
 * `closed`.  Memory: `a`.  Errors: ABSENT; with a `why` also CORRUPT and IO.
 */
MUST_USE enum err engine_view(struct engine *, uint32_t id,
    struct crawl_view *);
MUST_USE enum err engine_spec(struct engine *, uint32_t id, struct arena *a,
    struct crawl_spec *, struct why *);
enum url_state engine_find_url(struct engine *, uint32_t id,
    const struct url *canonical, struct url_fact *);
MUST_USE enum err engine_stored_robots(struct engine *, const struct url *,
    struct arena *a, struct wall *fetched, int *status, struct str *body);
/* Whether a crawl_request may have these cookies.  Errors: INPUT naming the
 * line. */
MUST_USE enum err crawl_check_cookies(struct str text, struct why *);

/* The engine's present activity. */
struct engine_look {
	/* Sums over all fetching loops. */
	unsigned hosts_ready, hosts_delayed, hosts_backoff;
	unsigned in_flight, uncommitted;
	uint64_t requests, bytes_in;
	bool held_back;                  /* some wait for the ledger */
	struct mono next_at;             /* the first delayed host's turn */
	char next_host[128];
	bool next_backoff;               /* it backs off; else its delay */
	size_t jobs_waiting;             /* for a thread of the pool */
	/* Commit groups: bytes not durable yet, and counts. */
	size_t ledger_bytes_waiting;
	uint64_t groups, groups_unapplied;
	int64_t sync_ns_sum;
	enum engine_health health;
};
void engine_look(struct engine *, void (*seen)(void *arg,
    const struct engine_look *), void *arg);
/* Explain in one sentence why nothing is fetched; never empty then. */
void catalog_diagnose(const struct engine_look *, const struct crawl_view *,
    char *out, size_t size);

/* Counts by media type, of the whole run.  After `closed`, before free. */
struct type_count {
	struct str type;
	uint64_t n, bytes;
};
const struct type_count *engine_types(struct engine *, size_t *n);

/* The views as they stand; before engine_start() or after `closed`. */
bool engine_next_view(struct engine *, size_t *at, struct crawl_view *);
/* -- Policies and schedules, in the store. -- */

enum store_verb {
	STORE_POLICY_PUT, STORE_POLICY_GET, STORE_POLICY_DELETE,
	STORE_POLICY_LIST, STORE_SCHEDULE_PUT, STORE_SCHEDULE_GET,
	STORE_SCHEDULE_DELETE, STORE_SCHEDULE_LIST, STORE_TOKEN_ADD,
	STORE_TOKEN_LIST, STORE_TOKEN_REVOKE
};
struct store_request {
	struct store_job job;
	struct engine *engine;       /* engine_store()'s */
	enum store_verb verb;
	/* In. */
	struct str name;             /* a policy's, a token's */
	struct str json;             /* a policy; a schedule has its own */
	struct schedule schedule;    /* PUT: id 0 is a new one */
	struct token_scopes scopes;
	/* Out; memory: `arena`, freed by the caller after done(). */
	struct arena arena;
	struct store_policy policy, *policies;
	struct schedule *schedules;
	struct token *tokens;
	size_t n;
	char token_text[TOKEN_TEXT_BYTES + 1];   /* shown once */
	struct why why;   /* ABSENT, STATE, FULL, EXISTS, INPUT with the place
	                   * first: "url_rules[1].pattern: ...", "seeds[2].url:
	                   * ...", of a schedule's own "policy: ..." too */
	void (*done)(struct store_request *);
	void *arg;
};
/*
 * The store keeps a policy in its canonical form.  PUT and GET answer with the
 * stored policy, or with the schedule and its id in `schedules`; LIST answers
 * with all of them.
 */
void engine_store(struct engine *, struct store_request *);
/* The store's thread and its watch, for the tokens that server/ caches. */
struct store_async *engine_store_async(struct engine *);

/*
 * The same for a command that opens the store itself, beside a daemon or
 * without one; a daemon sees the change in about a second.  `url` stands in
 * place of the setting store.url, unless it is NULL; without one the store is
 * in `dir`.  Thread: any; one at a time.  Memory: `a`.
 */
MUST_USE enum err engine_open_store(const struct conf *, const char *url,
    const char *dir, struct store **, struct why *);
MUST_USE enum err engine_put_policy(struct store *, struct str name,
    struct str json, struct arena *a, struct store_policy *, struct why *);
MUST_USE enum err engine_put_schedule(struct store *, const struct schedule *,
    struct arena *a, struct schedule *, struct why *);

/* Every crawl, with what can be read of it: crawl_registry.h. */
struct crawl_registry *engine_registry(struct engine *);

#endif
