/*
 * window -- URLs of one queue, leased ahead for one host.
 *
 *     note ─► window_note() ─► serve ─► batches ─► window_take() ─► page
 *
 * Thread: the loop's.
 * Limits: frontier.window; fewer at hosts with a delay.
 */
#ifndef ENGINE_FETCHER_WINDOW_H
#define ENGINE_FETCHER_WINDOW_H

#include "engine/fetcher/core.h"

struct window {
	struct list node;                /* in host.windows */
	struct fetch_crawl *crawl;
	struct host *host;
	double delay_s;                  /* that the crawl wants here */
	uint32_t queue;
	struct serve *serve;             /* out for more; or NULL */
	struct list batches;             /* serves that came back, in order */
	size_t left;                     /* leases in them */
	bool more;                       /* the frontier has more, it seems */
	bool note_seen;                  /* the next serve says so */
	bool dropped;                    /* goes when its serve comes back */
};

/* The frontier's word that the queue has work; it makes the window. */
void window_note(struct host *, struct fetch_crawl *, uint32_t queue);
/* The host's first window of the crawl, or NULL. */
struct window *window_find(const struct host *, const struct fetch_crawl *);
/*
 * A page of this crawl comes to the host without a queue of its own here, by a
 * redirect or for robots.txt: the crawl's delay holds for it all the same.
 */
void window_join(struct host *, struct fetch_crawl *);
/* The host's first window with a lease whose crawl may start one, or NULL. */
struct window *window_ready(struct host *);
/* The window's next lease as a page; then other windows come first. */
struct page *window_take(struct window *);
/* Give its leases back. */
void window_drop(struct window *);
/* The same for all windows of the crawl on this loop. */
void windows_drop(struct fetcher *, const struct fetch_crawl *);

#endif
