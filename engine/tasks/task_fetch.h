/*
 * task_fetch -- the requests that tasks send, by fetch() of a script or by
 * /worker/fetch: judged, sent as calls, and answered with what a script may
 * see.
 *
 *     task_fetch_start() ─► the month's crawl, begun if there is none ─► call
 *                       ◄── done(), when the answer is durable
 *
 * The crawl is of the kind `tasks` and is named "items YYYY-MM" (UTC).  It
 * becomes complete when that of the next month begins, or that of another
 * policy.  Of the policy only what concerns requests applies.
 *
 * Owns:    the name of the crawl, not the crawl.
 * Thread:  home's.
 * Limits:  fetch.redirects_max, fetch.tries_max, fetch.body_bytes_max.
 * Source:  contracts/scripting.md §4.
 */
#ifndef ENGINE_TASKS_TASK_FETCH_H
#define ENGINE_TASKS_TASK_FETCH_H

#include "engine/control/control.h"
#include "engine/tasks/secrets.h"
#include "wire/http.h"

#define TASK_FETCH_HEADERS_MAX 100u
#define TASK_FETCH_ACCEPT_MAX 100u

struct cookie_jar;
struct task_fetcher;

/* What the configuration of the tasks says about their requests. */
struct task_fetch_rules {
	struct str policy;           /* JSON: a policy's name or an object;
	                              * empty: the policy `default` */
	const struct str *private_hosts;     /* HOST:PORT */
	size_t private_n;
	struct secrets *secrets;     /* held */
};

struct task_fetcher *task_fetcher_new(struct engine *, struct loop *home);
/*
 * One whose crawls are named "PREFIX2026-11", for requests of other scripts.
 * No other fetcher's prefix begins with this one, nor this one with another's;
 * it outlives the fetcher.
 */
struct task_fetcher *task_fetcher_new_named(struct engine *,
    struct loop *home, const char *prefix);
/* No fetch is under way. */
void task_fetcher_free(struct task_fetcher **);
/*
 * Use these from now on; the texts are copied.  Fetches under way keep theirs.
 * Errors: INPUT, naming the field of the policy.
 */
MUST_USE enum err task_fetcher_use(struct task_fetcher *,
    const struct task_fetch_rules *, struct why *);
struct engine *task_fetcher_engine(const struct task_fetcher *);
/* The crawl that has the requests now; UINT32_MAX: none has begun. */
uint32_t task_fetcher_crawl(const struct task_fetcher *);

enum task_fetch_end {
	TASK_FETCH_ANSWERED,         /* resolves: `status` and the rest */
	TASK_FETCH_FAILED,           /* rejects: `code`; perhaps answered */
};

struct task_fetch {
	/* In; the owner keeps the texts until done(). */
	struct str method;           /* empty: GET */
	struct str url, body;
	const struct http_field *headers;
	size_t headers_n;
	bool manual;                 /* redirect: "manual" */
	bool any_status;             /* accept: "any" */
	const int *accept;           /* statuses that resolve besides */
	size_t accept_n;
	int64_t timeout_ms, max_age_s;       /* 0: the policy's; not used */
	unsigned tries_max;          /* 0: fetch.tries_max */
	struct mono deadline;        /* the run's; ns 0: none */
	/* It FAILED with "turn" when its host's turn is further than that, as
	 * far as is known; 0: it waits. */
	int64_t turn_ms_max;
	struct cookie_jar *session;  /* NULL: no cookies */
	/*
	 * A connector's, in place of the rules': {{credential.NAME}}.  It goes
	 * over TLS, or to this machine, to hosts that it lists as "HOST" for
	 * port 443 and as "HOST:PORT" for others.  NULL: those of the rules.
	 */
	const struct secrets *credential;
	/* With it: HOST:PORT, whose addresses may be private. */
	const struct str *private_hosts;
	size_t private_n;
	bool live;                   /* simulated: nothing is archived */
	/* The answer is archived in `own_crawl`, of the kind `tasks`, which
	 * runs and is the owner's, as that of an API harvest: by the rules for
	 * those secrets are cut out.  With a credential; not `live`.  A request
	 * that has a value that cannot be cut out is not archived: `number` is
	 * 0 then. */
	bool has_own_crawl;
	uint32_t own_crawl;
	bool archived;               /* the newest archived answer, however
	                              * old, and no request */
	/* It waits for its host's turn again, or no longer; it begins waiting.
	 * Or NULL. */
	void (*turned)(struct task_fetch *, bool waits);
	void (*done)(struct task_fetch *);
	void *arg;

	/* Out; freed by task_fetch_free(). */
	enum task_fetch_end end;
	const char *code;            /* FAILED: "dns", "status", "robots",
	                              * "denied", "limit_body", "input" ... */
	bool transient;
	struct str text;             /* a sentence for people */
	int status;                  /* 0: no answer came */
	struct str final_url;
	const struct http_field *fields;     /* secrets are taken out */
	size_t fields_n;
	struct str content;          /* decoded; the same */
	int64_t retry_after_s;       /* -1: the answer does not say */
	int64_t turn_ms, delay_ms;   /* of "turn": until then; of the host */
	bool redirected, from_archive, secret_found;
	uint32_t crawl;              /* of the capture */
	uint64_t number;             /* 0: none */

	/* The fetcher's. */
	struct sent_call *sent;      /* the call */
	struct mail mail;
	struct list node;
	struct task_fetcher *fetcher;
	struct rules_in_use *rules;
	struct buf redacted;
	struct arena arena;
	bool stopped;
};
/* done() follows, never before this returns. */
void task_fetch_start(struct task_fetcher *, struct task_fetch *);
/* done() follows soon. */
void task_fetch_stop(struct task_fetch *);
void task_fetch_free(struct task_fetch *);

#endif
