/*
 * crawl_history -- samples of the counters of crawls over time, so that an
 * operator who looks in the morning sees how the night went.
 *
 *     whole run       240 points at most; when full, every second one is
 *                     dropped, and later points are twice as far apart
 *     last 5 minutes  60 points, 5 s apart
 *
 * An idle crawl costs nothing: a point is added when counters change, and
 * before it one with the values until then.  A crawl that has ended keeps 60
 * points.  Beyond HISTORY_CRAWLS_MAX crawls, those that have been idle longest
 * have none.  So the history takes at most some 22 MB, and 5 MB when all crawls
 * have ended.
 *
 * It is in memory only: it begins with the process, or with the crawl.
 *
 * Owns:    the points.
 * Thread:  the main loop's; it belongs to the registry.
 * Limits:  the numbers below.
 */
#ifndef ENGINE_CATALOG_CRAWL_HISTORY_H
#define ENGINE_CATALOG_CRAWL_HISTORY_H

#include "base/list.h"
#include "engine/frontier/crawl_view.h"

#define HISTORY_WHOLE_MAX 240u        /* points of the whole way */
#define HISTORY_RECENT_MAX 60u        /* points of the last while */
#define HISTORY_ENDED_MAX 60u         /* points of a crawl that has ended */
#define HISTORY_POINTS_MAX (HISTORY_WHOLE_MAX + HISTORY_RECENT_MAX)
#define HISTORY_CRAWLS_MAX 1000u

/* Counters as they stood at that time. */
struct history_point {
	struct wall at;
	uint64_t queued, items, bytes;
	uint64_t status[4];          /* 2xx to 5xx; all 4xx are one */
	uint64_t exceptions;
};

struct crawl_history;                      /* of one crawl */
struct histories;

struct histories *histories_new(void);
/* Those of all crawls go with it. */
void histories_free(struct histories **);
/*
 * The crawl stands so at `now`.  `*h` is its history, made here, and set to
 * NULL when it has to make room for others; it stays where it is.
 */
void crawl_history_note(struct histories *, struct crawl_history **h,
    const struct crawl_view *, struct wall now);
/* Nothing more will come. */
void crawl_history_ended(struct crawl_history *);
void crawl_history_drop(struct histories *, struct crawl_history **h);
/* Oldest first; the number of points.  `h` may be NULL. */
size_t crawl_history_read(const struct crawl_history *h,
    struct history_point out[static HISTORY_POINTS_MAX]);

#endif
