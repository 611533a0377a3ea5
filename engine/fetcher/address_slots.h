/*
 * address_slots -- how many connections go to one address, and how soon one
 * request follows another, whatever the names of its hosts.
 *
 * Thread: the loop's.
 * Limits: fetch.address_connections_max, fetch.address_delay_ms.
 */
#ifndef ENGINE_FETCHER_ADDRESS_SLOTS_H
#define ENGINE_FETCHER_ADDRESS_SLOTS_H

#include "engine/fetcher/page.h"

void address_slots_open(void);
void address_slots_close(struct fetcher *);
/* False: the page waits, and comes back to its step FETCH or RESOLVE. */
bool address_slots_take(struct page *);
/*
 * The request is over, if there was one: the page has no address, no host and
 * no download of its crawl any more, and others may go.
 */
void page_release_slot(struct page *);

#endif
