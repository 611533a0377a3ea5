/*
 * crawl_view -- a crawl's state and counters, as observers are shown them.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_CRAWL_VIEW_H
#define ENGINE_FRONTIER_CRAWL_VIEW_H

#include "base/time.h"
#include "engine/policy/skip_reason.h"

/* Their values are on the disk, their names in WARC files and at the doors. */
#define CRAWL_KINDS(X)                                                      \
	X(CRAWL, "crawl")                                                     \
	X(FRONTIER, "frontier")                                               \
	X(HARVEST, "harvest")                                                 \
	X(TASKS, "tasks")
enum crawl_kind {
#define CRAWL_KIND_ENUM(name, word) CRAWL_##name,
	CRAWL_KINDS(CRAWL_KIND_ENUM)
#undef CRAWL_KIND_ENUM
	CRAWL_KIND_COUNT
};
const char *crawl_kind_name(enum crawl_kind);
/* False: there is no such kind. */
bool crawl_kind_parse(struct str name, enum crawl_kind *);
/* It has calls and no queue: a harvest, or what scripts ask. */
static inline bool
crawl_kind_has_calls(enum crawl_kind k)
{
	return k == CRAWL_HARVEST || k == CRAWL_TASKS;
}

#define CRAWL_STATES(X)                                                     \
	X(PENDING, "pending")                                                 \
	X(RUNNING, "running")                                                 \
	X(PAUSED, "paused")                                                   \
	X(COMPLETE, "complete")                                               \
	X(CANCELLED, "cancelled")                                             \
	X(FAILED, "failed")
enum crawl_state {
#define CRAWL_STATE_ENUM(name, word) CRAWL_##name,
	CRAWL_STATES(CRAWL_STATE_ENUM)
#undef CRAWL_STATE_ENUM
	CRAWL_STATE_COUNT
};
/* Has a crawl in this state ended?  Then nothing of it is fetched any more. */
static inline bool
crawl_state_is_ended(enum crawl_state s)
{
	return s == CRAWL_COMPLETE || s == CRAWL_CANCELLED || s == CRAWL_FAILED;
}
/* "running" ... */
const char *crawl_state_name(enum crawl_state);
/* Reasons of a state that name who asked for it; the others name a cause. */
#define CRAWL_BY_CLIENT "by a client"
#define CRAWL_BY_RESUME "by --resume"
/* Append to a state's name: " by a client", ": max_items", or nothing. */
void crawl_reason_put(struct str reason, struct buf *);

/* Why a URL has no answer (realtime.md section 4). */
#define EXCEPTIONS(X)                                                       \
	X(DNS, "dns")                                                         \
	X(CONNECT, "connect")                                                 \
	X(TLS, "tls")                                                         \
	X(TIMEOUT, "timeout")                                                 \
	X(RESET, "reset")                                                     \
	X(PROTOCOL, "protocol")                                               \
	X(REDIRECTS, "redirects")                                             \
	X(DECODE, "decode")
enum exception {
#define EXCEPTION_ENUM(name, word) EXCEPTION_##name,
	EXCEPTIONS(EXCEPTION_ENUM)
#undef EXCEPTION_ENUM
	EXCEPTION_COUNT
};
const char *exception_name(enum exception);

/* Every distinct URL found is in exactly one of these, or still queued. */
struct crawl_counts {
	uint64_t queued;                    /* waiting or leased */
	uint64_t leased;
	uint64_t items;
	uint64_t status[6];                 /* items by class: [2] is 2xx; */
	uint64_t not_found;                 /* every 4xx is in status[4] too */
	uint64_t exceptions[EXCEPTION_COUNT];
	uint64_t skips[SKIP_COUNT];
	uint64_t aux;                       /* sitemaps: neither */
	uint64_t duplicates, near_duplicates;
	uint64_t body_bytes, warc_bytes;
};
uint64_t crawl_exceptions(const struct crawl_counts *);
uint64_t crawl_skips(const struct crawl_counts *);

/* A crawl's state and counters, as they became durable. */
struct crawl_view {
	uint32_t id;
	enum crawl_kind kind;
	enum crawl_state state;
	char reason[64];                    /* "max_items" ... */
	struct wall created, started, ended;   /* 0: not yet */
	struct crawl_counts counts;
	uint64_t item_last;   /* number of the newest; above counts.items in
	                       * a rebuilt crawl that has gaps */
	uint32_t queues;
	uint64_t log_first, log_last;       /* its log; last 0: empty */
	uint64_t sitemap_bytes;             /* read, unpacked */
};

/* For the frontier alone, on the ledger's loop. */
struct crawl;
struct frontier;
/* Tell observers the crawl's view when the gathering group is durable. */
void crawl_promise_view(struct crawl *);
void crawl_forget_views(struct frontier *);  /* promises not kept: free */

#endif
