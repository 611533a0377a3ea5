/*
 * platform -- invented platforms beside the invented web, behind the same
 * table: each harvest has a host of its own, even ones an API like Mastodon's,
 * odd ones a paged list in JSON.
 *
 *     http://pH.sim.test/...    lists a1 to aLISTS; items from 101 on
 *
 * Some pages are refused, busy or cut before they are answered.  A list grows
 * only between two harvests, so that a page has one address, and an answer that
 * is durable may not be asked for again.
 */
#ifndef TESTS_SIM_PLATFORM_H
#define TESTS_SIM_PLATFORM_H

#include "os/transport.h"

#define PLATFORM_HOSTS_MAX 4u
#define PLATFORM_LISTS 2u
#define PLATFORM_FIRST 101u
#define PLATFORM_ITEMS_MAX 512u      /* of a list */

void platform_begin(uint64_t seed, unsigned hosts);
/* With the web's transport below it. */
struct transport *platform_transport(void *arg, struct loop *);
/* Another harvest of the host begins: there are more items, and what was asked
 * for may be asked for again. */
void platform_grow(unsigned host);
/* How many items a list has. */
unsigned platform_items(unsigned host);
/* What to ask for, as a start message. */
void platform_message(unsigned host, struct buf *);
/* The value that a key of state.json may have by these items: false: the key
 * is none of a host's. */
bool platform_key(struct str key, unsigned *host, unsigned *list);
/* "http://p1/2/103" */
bool platform_item(struct str uri, unsigned *host, unsigned *list,
    unsigned *item);

/* The answer with this status is durable: whoever asks again is counted. */
void platform_durable(struct str url, int status);
/* The host's harvest was stopped, and that is known: it asks for nothing. */
void platform_close(unsigned host);
uint64_t platform_requests(void);
/* Requests for what is durable, or of a harvest that was stopped. */
uint64_t platform_breaches(void);
void platform_kill(void);                    /* all connections are gone */

#endif
