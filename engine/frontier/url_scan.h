/*
 * url_scan -- reads the URL records of a crawl or of a queue in the order of
 * their keys, a piece at a time: in each queue the URLs that are done, then
 * those that wait.
 *
 * Thread: any that may read the index.
 */
#ifndef ENGINE_FRONTIER_URL_SCAN_H
#define ENGINE_FRONTIER_URL_SCAN_H

#include "base/bytes.h"
#include "base/err.h"

struct index;

struct url_scan {
	uint32_t crawl, queue;       /* queue 0: all of the crawl's */
	struct buf from;             /* the next piece begins there */
	bool ended;                  /* there is no further piece */
};

/* A record; valid while the visitor is called. */
struct url_row {
	uint32_t queue, rank;        /* rank 0: done */
	struct str url, value;
};

/* A visitor's answer: how the scan continues. */
enum url_scan_next {
	URL_SCAN_NEXT,               /* the next record */
	URL_SCAN_WAITING,            /* the first of the queue that waits */
	URL_SCAN_NEXT_QUEUE,
	URL_SCAN_PAUSE,              /* this one again, in the next piece */
};
typedef enum url_scan_next url_scan_fn(void *arg, const struct url_row *);

/*
 * Visit at most `looks_max` records.  The first piece begins with all else of
 * the scan 0.  Errors: IO, then the scan has ended.
 */
MUST_USE enum err url_scan_piece(struct url_scan *, struct index *,
    unsigned looks_max, url_scan_fn *visit, void *arg, struct why *);

#endif
