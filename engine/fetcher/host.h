/*
 * host -- schedules requests by host: the politeness clock, back-off and
 * connections of each host of one loop.
 *
 * Thread: the loop's.
 * Limits: fetch.host_connections_max, fetch.backoff_max_ms,
 *         fetch.host_idle_ms.
 */
#ifndef ENGINE_FETCHER_HOST_H
#define ENGINE_FETCHER_HOST_H

#include "base/heap.h"
#include "base/map.h"
#include "engine/fetcher/core.h"

enum host_place { HOST_IDLE, HOST_READY, HOST_SLEEPING };

struct host {
	struct fetcher *fetcher;
	struct str name;                 /* in name_text */
	enum host_place place;
	struct list ready_node;
	struct heap_node sleep_node;
	struct mono next_at;             /* no request before this */
	struct mono down_until;          /* one of its origins is down */
	int64_t backoff_ms;              /* 0: none */
	bool answered;                   /* at least once, on this loop */
	unsigned silent;                 /* pages in a row without an answer */
	unsigned in_flight;
	struct list waiting;             /* pages that come first */
	struct list calls;               /* pages of calls */
	bool call_was_last;              /* a window comes before a call */
	struct list windows;             /* window.c's */
	struct list origins;             /* origin.c's */
	struct list idle_node;           /* no request runs or waits */
	struct mono idle_since;
	uint64_t looked;                 /* loop_query.c's mark */
	char name_text[];
};

/* All hosts of one loop. */
struct host_table {
	struct map by_name;
	struct list ready;               /* may start a request; round robin */
	struct heap sleeping;            /* by next_at */
	struct list idle;                /* by idle_since */
	struct timer idle_timer;         /* the first of them is to be freed */
	struct fetcher *fetcher;
	unsigned in_flight;              /* exchanges, all hosts */
	uint64_t looks;                  /* loop_query.c's, so far */
	struct wall robots_since;        /* use no older stored robots.txt */
};

void hosts_open(struct fetcher *);
void hosts_close(struct fetcher *);
/* Hosts whose delay or back-off is over may start requests again. */
void hosts_wake(struct fetcher *);
/* Start one page of the first ready host, and put that host last. */
void hosts_start_one(struct fetcher *);
/* Settle every host, or only those that are idle and have pages to start. */
void hosts_settle(struct fetcher *, bool only_idle);

/* The host of this name; made when there is none. */
struct host *host_get(struct fetcher *, struct str name);
/* Put the host into the list of its state: ready, sleeping or idle. */
void host_settle(struct host *);
/*
 * Queue the page for the host's turn, after those that wait already.  Pages of
 * crawls that have been in a window come first, then calls and windows in turn.
 */
void host_wait(struct host *, struct page *);
/*
 * Release the page's slot and queue the page before all others; no request to
 * the host begins before `at`.
 */
void host_wait_until(struct host *, struct page *, struct mono at);
/* A request has ended; the next one may begin after the delay. */
void host_end(struct host *, int64_t delay_ms);
/* The request that has ended just now has told a delay of the host's own, which
 * holds after that request, too. */
void host_delay_stated(struct host *, const struct fetch_crawl *);
/* Double the host's back-off; a longer Retry-After wins. */
void host_trouble(struct host *, int64_t retry_after_ms);
/* The host has answered: end its back-off. */
void host_fine(struct host *);
/* Wait before the first request: an earlier process may have sent one just
 * now. */
void host_rest(struct host *, double delay_s);
/*
 * Count a page whose last try got no answer.  True when the host counts as
 * dead: it was unreachable, has never answered, or has not answered for a
 * while.
 */
bool host_is_dead(struct host *, bool unreached);
/* Mark the origin as down: its pages fail without a request for a while.  Other
 * ports of the host are not affected. */
void host_down(struct host *, struct origin *, enum exception,
    struct str detail);
/*
 * When a call that came now would have its turn, in ms from now, as far as is
 * known: requests that take long, or that follow from others, are not counted.
 */
int64_t host_turn_ms(struct host *, const struct fetch_crawl *c);
/*
 * The delay after a request, in ms: the largest that robots.txt, the running
 * crawls and `c` (which need not run; or NULL) require for this host.
 */
int64_t host_delay_ms(const struct host *, const struct fetch_crawl *c);

#endif
