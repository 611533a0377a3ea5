/*
 * outbox -- pages that are finished, on their way to the frontier and the disk.
 *
 * Waking the frontier's thread for each page would cost more than the page's
 * own admission, so they are handed over together.
 *
 * Thread: the loop's.
 * Limits: OUTBOX_PAGES, OUTBOX_MS; uncommitted_max and uncommitted_bytes_max of
 *         struct fetch_settings, for all loops together.
 */
#ifndef ENGINE_FETCHER_OUTBOX_H
#define ENGINE_FETCHER_OUTBOX_H

#include "engine/fetcher/core.h"

struct outbox {
	struct fetcher *fetcher;
	struct list pages;
	size_t n;
	bool lent;                       /* it holds pages of another loop */
	struct timer timer;
	size_t uncommitted, uncommitted_bytes;   /* this loop's */
};

void outbox_open(struct fetcher *);
void outbox_close(struct fetcher *);
/* Give the page's submission to the frontier, soon, with others. */
void outbox_put(struct fetcher *, struct page *);
/* Give all of them now. */
void outbox_empty(struct fetcher *);
/* The same, if there are enough of them, or nothing else to wait for. */
void outbox_turn_end(struct fetcher *);
/* A submission of so many bytes is not durable yet; and now it is. */
void outbox_count(struct fetcher *, size_t bytes);
void outbox_uncount(struct fetcher *, size_t bytes);
/* No request may begin: the ledger, or who reads the events, is behind. */
bool outbox_is_full(const struct fetcher *);
/* That reader, such as a stalled pipe, is behind; no event tells its return. */
bool outbox_reader_is_behind(const struct fetcher *);

#endif
