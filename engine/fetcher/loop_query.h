/*
 * loop_query -- what one loop is doing for one crawl: its hosts, what they wait
 * for, and which URLs of theirs are next.  Nothing is changed.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_LOOP_QUERY_H
#define ENGINE_FETCHER_LOOP_QUERY_H

#include "engine/fetcher/fetcher.h"

/* The order matters: what is further down keeps a host longer. */
enum host_wait { HOST_WAITS_NOT, HOST_WAITS_DELAY, HOST_WAITS_BACKOFF,
	HOST_WAITS_ROBOTS };

/* The state of a host, for a query. */
struct fetcher_host {
	struct str host;             /* in */
	bool waits;                  /* in: it has URLs that no loop has */
	bool known;                  /* to its loop */
	enum host_wait wait;
	double delay_s;              /* between two fetches */
	double next_s;               /* from now; 0: now */
	unsigned in_flight;          /* of all crawls */
	bool allowed;                /* though private: an operator's seed */
};

/* A URL that is leased and not asked for yet. */
struct fetcher_url {
	struct str url, host;
	uint64_t hash;
	double cost;
	uint16_t depth;
	double next_s, delay_s;      /* its host's */
};

struct fetcher_crawl {
	uint32_t crawl;              /* in */
	size_t urls_max;             /* in */
	/* In: hosts of all loops; each loop fills its own. */
	struct fetcher_host *hosts;
	size_t hosts_n;
	/* Of this loop. */
	struct arena arena;
	struct fetcher_url *urls;    /* in their order, host by host */
	size_t urls_n;
	uint64_t *busy;              /* hashes of those that are on the way */
	size_t busy_n;
	bool known;                  /* the loop knows the crawl */
	unsigned ready, delayed, backoff;    /* hosts with leased URLs */
	unsigned for_others;         /* hosts asked for other crawls now */
	unsigned in_flight;          /* requests, robots.txt too */
	unsigned finishing;          /* pages that came and are not durable */
	unsigned robots;             /* pages that wait for robots.txt */
	double next_s;               /* of the first that waits; -1: none */
	enum host_wait next_wait;
	char next_host[128];
	char robots_host[128];
	unsigned downloads, downloads_max;   /* of the crawl, all loops */
	bool held_back;              /* the ledger, or a reader, is behind */
	bool full;                   /* the loop's connections are taken */
};
void fetcher_look_crawl(struct fetcher *, struct fetcher_crawl *);

#endif
