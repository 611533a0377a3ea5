/*
 * catalog -- read-only queries about a crawl: its log, its queue, why it waits,
 * what went wrong, what became of one URL.
 *
 * The caller fills a query's struct, passes it, and finds the answer in it when
 * done() is called on the main loop.  The struct belongs to the engine until
 * then.  `arena` has the answer's memory; the caller frees it.
 *
 * Thread: the main loop's.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_CATALOG_CATALOG_H
#define ENGINE_CATALOG_CATALOG_H

#include <stdatomic.h>

#include "engine/archive/archive.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/catalog/read_task.h"
#include "engine/frontier/query.h"
#include "engine/frontier/url_query.h"
#include "engine/policy/policy.h"

struct catalog;
struct fetcher_crawl;
struct fetcher_host;

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
	struct request request;      /* the catalog's */
};
void catalog_log(struct catalog *, struct log_query *);

/* -- The queue, and why nothing is fetched. -- */

struct host_view {
	struct str host;
	uint64_t queued;
	const char *state;           /* "ready", "delayed", "backoff" ... */
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
	unsigned finishing;          /* pages that came and are not durable */
	struct why why;              /* ABSENT */
	void (*done)(struct queue_query *);
	void *arg;
	/* The catalog's. */
	struct request request;
	struct catalog *catalog;
	struct frontier_queues_query queues;
	struct fetcher_host *asked;  /* those of the queues */
	struct fetcher_crawl *loops;
};
void catalog_queue(struct catalog *, struct queue_query *);

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
	/* The catalog's. */
	struct request request;
	struct frontier *frontier;
	struct crawl_view view;
};
void catalog_errors(struct catalog *, struct errors_query *);

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
	struct request request;      /* the catalog's, as this: */
	struct catalog *catalog;
};
void catalog_robots(struct catalog *, struct robots_query *);

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
	/* The catalog's. */
	struct request request;
	struct catalog *catalog;
	struct crawl_spec spec;
	struct frontier_url_query found;
	struct fetcher_host *asked;
	struct fetcher_crawl *loops;
};
void catalog_url(struct catalog *, struct url_query *);

/*
 * What a policy says of a URL, rule by rule; pure, and at once.  `seeds` may be
 * empty: then the URL itself is the seed.  Memory: `a`.
 * Errors: INPUT (url: ..., policy's own places).
 */
MUST_USE enum err catalog_explain(struct str url, const struct policy *,
    const struct str *seeds, size_t seeds_n, double parent_cost,
    unsigned depth, struct arena *a, struct policy_explanation *,
    struct str *canonical, struct why *);

/*
 * -- Lists and single pages. --
 *
 * A list by number alone is one seek.  Others look through the journal, in
 * pieces between which everybody has his turn; what was seen is remembered for
 * a while (journal_scan.c).
 */

enum pages_order { PAGES_OLDEST, PAGES_NEWEST, PAGES_SLOWEST, PAGES_LARGEST,
    PAGES_ORDERS };
/* What is looked for.  The catalog's. */
struct capture_filter {
	struct str text, type, host;
	uint16_t status_from, status_to;
	struct digest digest;
	struct str links_to;
	enum pages_order order;      /* SLOWEST, LARGEST; else OLDEST */
};
struct captures_query {
	uint32_t crawl;
	/* In; copied. */
	uint64_t start;              /* so many that match are passed over */
	size_t size;                 /* at most 1,000 */
	struct str text;             /* in URL or title, without case */
	struct str status;           /* "404", "4xx", empty: all */
	struct str type, host;       /* "text/html"; empty: all */
	struct digest digest;        /* of the body; NONE: any */
	struct str links_to;         /* a URL that they link to; empty: any */
	enum pages_order order;
	unsigned wait_ms;            /* then an answer so far; 0: until all */
	const atomic_bool *left;     /* nobody wants it any more; or NULL */
	/* Out. */
	struct arena arena;          /* the caller frees it */
	uint64_t total;              /* that match */
	bool so_far;                 /* it is about the first `looked` pages: */
	uint64_t looked;             /* ask again, and it goes on there */
	bool limited;                /* links_to: feed.links_pages_max ended
	                              * it behind `looked` pages */
	struct journal_entry *pages;
	size_t n;
	struct why why;
	void (*done)(struct captures_query *);
	void *arg;
	/* The catalog's. */
	struct read_task task;       /* of one that needs no scan */
	struct list node;            /* among those of its scan */
	struct arena copies;         /* of the filter's texts */
	struct capture_filter filter;
	uint64_t upto;               /* the last number that it is about */
	struct mono until;           /* then it is answered */
	bool ended;                  /* there is nothing to be read */
};
void catalog_captures(struct catalog *, struct captures_query *);

struct page_hop {
	struct str url, request, response;   /* heads, as sent and received */
	struct wall at;
	struct str record_id;
	struct str file;             /* the WARC's name */
	uint64_t offset;             /* of the response's record */
	uint32_t length;
};
struct capture_query {
	uint32_t crawl;
	uint64_t number;
	bool body;
	size_t body_bytes_max;       /* more is cut: `cut` */
	bool same;                   /* with `duplicates` */
	bool answer_only;            /* the last hop's response and the body */
	const atomic_bool *left;     /* as above */
	/* Out. */
	struct arena arena;          /* the caller frees it */
	struct journal_entry entry;
	struct page_hop *hops;       /* redirects, then the final answer */
	size_t hops_n;
	struct str body_bytes;       /* decoded */
	bool cut, damaged;
	struct str truncated;        /* WARC-Truncated of the body's record */
	const struct str *links;     /* found in it, absolute; at most 10,000 */
	size_t links_n;
	const struct journal_entry *duplicates;   /* same digest, at most 100 */
	size_t duplicates_n;
	bool so_far;                 /* there may be more of them: */
	uint64_t looked;             /* so many pages were looked at */
	struct why why;              /* ABSENT */
	void (*done)(struct capture_query *);
	void *arg;
	/* The catalog's. */
	struct read_task task;
	struct catalog *catalog;
	struct captures_query list;  /* of those with the same digest */
	bool waited;                 /* for the index to catch up */
};
void catalog_capture(struct catalog *, struct capture_query *);

/*
 * The records of one capture as they lie in the WARC file, all hops, answers
 * and requests: gzip members, one behind the other.
 * Errors: ABSENT (or not archived); FULL beyond CATALOG_RECORD_BYTES_MAX.
 */
#define CATALOG_RECORD_BYTES_MAX ((size_t)64 << 20)
struct records_query {
	uint32_t crawl;
	uint64_t number;
	/* Out; the caller frees both. */
	struct arena arena;
	struct buf bytes;
	struct str file;             /* the WARC's name */
	struct why why;
	void (*done)(struct records_query *);
	void *arg;
	/* The catalog's. */
	struct read_task task;
	struct catalog *catalog;
	bool waited;
};
void catalog_records(struct catalog *, struct records_query *);

/*
 * -- The files of a crawl in its WARC directory. --
 *
 * A file that is being written is listed with the name that it will have.
 * Thread: any; it reads directories.  Memory: `a`.  Returns how many there are,
 * sorted by name; directories that cannot be read have none.
 */
size_t catalog_crawl_files(const char *warc_dir, uint32_t crawl,
    struct arena *, struct archive_file **);

/*
 * -- A WACZ of WARC files, sent as it is made (engine/archive/wacz.h). --
 *
 * Thread: any, one package one thread; it may block.
 */

struct package_request {
	struct archive_file *files;  /* WARCs, sorted by name */
	size_t files_n;
	const char *scratch;         /* files that begin so are made, and gone
	                              * at the end */
	struct str title;
	struct str seed;             /* as typed: what a reader opens first */
	/* Gets all bytes in order; its error ends the package. */
	enum err (*put)(void *arg, struct str bytes, struct why *);
	void *arg;
};
/* Errors: put()'s; INPUT without a file; what reading and writing give. */
MUST_USE enum err catalog_package(const struct package_request *,
    struct why *);

#endif
