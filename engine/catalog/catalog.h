/*
 * catalog -- what people and programs ask about a crawl: its log, its queue,
 * why it waits, what went wrong, what became of one URL.  Nothing is changed.
 *
 * Every question is a struct of the caller's: fill it, ask it, and find the
 * answer in it when done() is called on home.  It belongs to the engine until
 * then.  `arena` holds the answer and is freed by the caller.
 *
 * Thread: home's.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_CATALOG_CATALOG_H
#define ENGINE_CATALOG_CATALOG_H

#include "engine/engine.h"
#include "engine/frontier/url_query.h"

/* -- The log: numbered 1, 2, 3... per crawl; the newest are kept. -- */

/* Kinds: CRAWL_LOG_KINDS in engine/frontier/crawl_log.h. */
struct log_entry {
	uint32_t crawl;
	uint64_t number;
	struct wall at;
	const char *kind;
	struct str text, host, url, reason;     /* empty: not known */
};
struct log_query {
	uint32_t crawl;
	uint64_t from;               /* the first number wanted */
	size_t max;                  /* at most 1,000 */
	struct arena arena;
	struct log_entry *entries;   /* from `from` or later: gap if later */
	size_t n;
	struct why why;
	void (*done)(struct log_query *);
	void *arg;
	void *own;
};
void catalog_log(struct engine *, struct log_query *);

/* -- The queue, and why nothing is fetched. -- */

enum host_state { HOST_IS_READY, HOST_IS_DELAYED, HOST_IS_BACKOFF,
    HOST_IS_ROBOTS, HOST_STATE_COUNT };
const char *host_state_name(enum host_state);   /* "ready", "delayed" ... */
struct host_view {
	struct str host;
	uint64_t queued;
	enum host_state state;
	double delay_s;
	double next_s;               /* from now; 0: now */
	unsigned in_flight;
};
struct queued_url {
	struct str url, host;
	unsigned depth;
	double cost;
};
struct queue_query {
	uint32_t crawl;
	size_t hosts_max, urls_max;  /* at most 1,000 each */
	struct arena arena;
	uint64_t queued;
	unsigned in_flight;
	struct host_view *hosts;     /* the longest queue first */
	size_t hosts_n;
	struct queued_url *urls;     /* what is next, over all hosts */
	size_t urls_n;
	/* Counts of all hosts of the crawl. */
	unsigned hosts_all, ready, delayed, backoff;
	double next_s;               /* until the first may be asked; -1 */
	char next_host[128];
	char reason[400];            /* one true sentence, never empty */
	unsigned downloads, downloads_max;
	struct why why;              /* ABSENT */
	void (*done)(struct queue_query *);
	void *arg;
	void *own;
};
void catalog_queue(struct engine *, struct queue_query *);

/* -- What went wrong: exceptions and skips, grouped by reason. -- */

struct error_group {
	const char *kind;            /* "exception", "skipped", "status" */
	const char *reason;          /* "dns", "robots"; "404", "503" */
	uint64_t count;
	struct wall first, last;     /* 0: an older store does not say */
	const struct str *samples;   /* at most 5 URLs, the newest */
	const struct str *causes;    /* of each, one sentence; or empty */
	size_t samples_n;
};
struct errors_query {
	uint32_t crawl;
	struct arena arena;
	struct error_group *problems;    /* the most frequent first */
	size_t n;
	struct why why;
	void (*done)(struct errors_query *);
	void *arg;
	void *own;
};
void catalog_errors(struct engine *, struct errors_query *);

/* -- One URL. -- */

/* The verdict on a URL of the robots.txt that was fetched last. */
struct robots_verdict {
	bool ignored;                /* the policy does not ask it */
	bool known;                  /* else it was not fetched yet */
	bool allowed;
	unsigned line;               /* from 1; 0: no line decides */
	struct str text;             /* the line, or a sentence */
	struct wall fetched;
	int status;
};
/* "line 3 of robots.txt forbids it: Disallow: /x".  It is known. */
struct str robots_verdict_text(const struct robots_verdict *, struct arena *);

/* Nothing is fetched.  It is asked for the policy's product token. */
struct robots_query {
	struct str url;              /* canonical; copied */
	struct str user_agent;       /* the policy's; empty: the settings' */
	struct arena arena;
	struct robots_verdict verdict;
	void (*done)(struct robots_query *);
	void *arg;
	void *own;
};
void catalog_robots(struct engine *, struct robots_query *);

struct url_query {
	uint32_t crawl;
	struct str url;              /* as typed; copied */
	struct arena arena;
	struct str canonical, host;
	enum url_state state;
	struct url_fact fact;        /* but of UNKNOWN */
	uint64_t number;             /* of its item; 0: none */
	struct url_answer answer;    /* of a URL that failed; file: `arena` */
	struct host_view host_view;  /* of its host, if the crawl knows it */
	bool host_known;
	/* UNKNOWN: what the crawl's policy would say of it. */
	struct policy_verdict verdict;
	struct str verdict_text;
	struct robots_verdict robots;
	struct str reason_text;      /* skipped: the rule that decided */
	struct why why;              /* ABSENT, INPUT: url: ... */
	void (*done)(struct url_query *);
	void *arg;
	void *own;
};
void catalog_url(struct engine *, struct url_query *);

/*
 * What a policy says of a URL, rule by rule; pure, and at once.  `seeds` may be
 * empty: then the URL itself is the seed.  Memory: `a`.
 * Errors: INPUT (url: ..., policy's own places).
 */
MUST_USE enum err catalog_explain(struct str url, const struct policy *,
    const struct str *seeds, size_t seeds_n, double parent_cost,
    unsigned depth, struct arena *a, struct policy_explanation *,
    struct str *canonical, struct why *);

#endif
