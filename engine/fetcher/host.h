/*
 * host -- whose turn it is: the politeness clock, back-off and connections of
 * each host of one loop.
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
	struct mono next_at;             /* no request before it */
	struct mono down_until;          /* an origin of it is down */
	int64_t backoff_ms;              /* 0: it behaves */
	bool answered;                   /* ever, on this loop */
	unsigned silent;                 /* pages in a row without an answer */
	unsigned in_flight;
	struct list waiting;             /* pages whose turn comes first */
	struct list calls;               /* pages of calls */
	bool call_was_last;              /* a window comes before a call */
	struct list windows;             /* window.c's */
	struct list origins;             /* origin.c's */
	struct list idle_node;           /* nothing of it is out or waits */
	struct mono idle_since;
	uint64_t looked;                 /* loop_query.c's mark */
	char name_text[];
};

/* All hosts of one loop. */
struct host_table {
	struct map by_name;
	struct list ready;               /* may start a request: a rotation */
	struct heap sleeping;            /* by next_at */
	struct list idle;                /* by idle_since */
	struct timer idle_timer;         /* the first of them may go */
	struct fetcher *fetcher;
	unsigned in_flight;              /* exchanges, all hosts */
	uint64_t looks;                  /* loop_query.c's, so far */
	struct wall robots_since;        /* no stored robots.txt before it */
};

void hosts_open(struct fetcher *);
void hosts_close(struct fetcher *);
/* Hosts whose delay or back-off is over may start requests again. */
void hosts_wake(struct fetcher *);
/* The first host that is ready starts one page; then others come first. */
void hosts_start_one(struct fetcher *);
/* Settle every host, or only those that are idle and have windows or calls. */
void hosts_settle(struct fetcher *, bool only_idle);

/* The host of this name; it is made when there is none. */
struct host *host_get(struct fetcher *, struct str name);
/* Put it where it belongs: ready, sleeping or idle. */
void host_settle(struct host *);
/*
 * The page waits for the host's turn, behind those that wait already.  Pages of
 * crawls that have been in a window come first, then calls and windows in turn.
 */
void host_wait(struct host *, struct page *);
/*
 * The page, which holds a slot, gives it up and waits before all others; no
 * request to the host begins before `at`.
 */
void host_wait_until(struct host *, struct page *, struct mono at);
/* A request is over; the next one comes the delay after it. */
void host_end(struct host *, int64_t delay_ms);
/* The host is in trouble: its back-off doubles; a longer Retry-After wins. */
void host_trouble(struct host *, int64_t retry_after_ms);
/* It answered. */
void host_fine(struct host *);
/* An earlier process may have asked it a moment ago. */
void host_rest(struct host *, double delay_s);
/*
 * A page's last try got no answer.  True when the host is to be taken for dead:
 * it could not be reached, or has never answered, or not for long.
 */
bool host_is_dead(struct host *, bool unreached);
/* No more tries for a while, without asking; other ports may be up. */
void host_down(struct host *, struct origin *, enum exception,
    struct str detail);
/*
 * The pause after a request, ms: the largest that robots.txt and the running
 * crawls want here, and `c` (or NULL), whether it runs or not.
 */
int64_t host_delay_ms(const struct host *, const struct fetch_crawl *c);

#endif
