/*
 * lend -- one busy host keeps one loop busy.  A loop that has no requests of
 * its own takes over the last steps of another's pages: digest, compression and
 * records need nothing of the host.
 *
 * Thread: the loop's; other loops read the two counts.
 * Limits: LENT_MAX.
 */
#ifndef ENGINE_FETCHER_LEND_H
#define ENGINE_FETCHER_LEND_H

#include "engine/fetcher/core.h"

struct lending {
	atomic_uint busy;                /* in flight, as of the last turn */
	atomic_uint borrowed;            /* pages lent to it, not yet built */
};

void lending_open(struct fetcher *);
void lending_close(struct fetcher *);
/* Other loops see how busy this one is. */
void lending_turn_end(struct fetcher *);
/*
 * True: the page has left for an idle loop, with its step.  It still counts as
 * uncommitted here.
 */
bool page_lend(struct page *);
/* A lent page is built: it is its lender's again, who hears when it is durable;
 * page_join() counts it there. */
void page_unlend(struct page *);

#endif
