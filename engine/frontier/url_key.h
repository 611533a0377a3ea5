/*
 * url_key -- keys and values of the index's records about URLs and queues.
 *
 *     url    crawl4 queue4 date4 URL -> created4 flags1 depth2 cost8 why1 seq
 *
 * In a crawl of ours `date4` is a *rank* while the URL waits: cost in the upper
 * bits, age in the lower ones, below every date of this century; so a walk in
 * key order is "cheapest first, then oldest".  A date of 0 means done.  URLs
 * that were skipped unfetched have queue 0 and date 0: when they are found
 * again within the limits, they move to their queue.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_URL_KEY_H
#define ENGINE_FRONTIER_URL_KEY_H

#include "base/bytes.h"

#define QUEUE_SKIPPED 0u

/* States in the known table. */
enum known_mark {
	MARK_WAITING = 1, MARK_LEASED = 2, MARK_DONE = 3,
	MARK_SKIPPED = 4,            /* date: the skip reason */
};

/* Set the buffer to the key of a URL, a queue, a part of a crawl's records. */
void url_key(uint32_t crawl, uint32_t queue, uint32_t date, struct str url,
    struct buf *);
void queue_key(uint32_t crawl, struct str key, struct buf *);
void crawl_key(uint32_t crawl, char part, struct buf *);
/* From the first key that begins with the id, which has `bytes`, to behind the
 * last one: 4 of a crawl, 8 of a queue. */
void key_range(uint64_t id, size_t bytes, struct buf *from, struct buf *to);

/* The value of a url key. */
struct url_value {
	uint32_t created_s;
	uint8_t flags;
	uint16_t depth;
	double cost;
	uint8_t why;                 /* done: outcome * 16 + reason */
	/* Done as an item: its number; failed with an archived answer:
	 * journal_failed_seq().  Else the number of the capture on which it
	 * was found first; 0: none, or an older store does not say. */
	uint64_t seq;
};
/* Set the buffer to it. */
void url_value_put(const struct url_value *, struct buf *);
bool url_value_parse(struct str, struct url_value *);

/* Cost and age as a rank below 2^30; monotone in both. */
uint32_t rank_of(double cost, uint32_t age);
#define RANK_MAX ((1u << 30) - 1)

#endif
