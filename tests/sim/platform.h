/*
 * platform -- invented platforms beside the invented web, behind the same
 * table: each harvest has a host of its own, of one of six kinds.
 *
 *     http://pH.sim.test/...    lists a1 to aLISTS; items from 101 on
 *     https://pH.sim.test/...   a stream; its items come by the clock
 *
 * Some answers are refused, busy or cut before they are whole.  A list grows
 * only between two harvests, so that a page has one address, and an answer that
 * is durable may not be asked for again.  A stream ends now and then, falls
 * silent, or is cut in the middle of an item.
 */
#ifndef TESTS_SIM_PLATFORM_H
#define TESTS_SIM_PLATFORM_H

#include "base/time.h"
#include "os/transport.h"

#define PLATFORM_HOSTS_MAX 8u
#define PLATFORM_LISTS 2u            /* of a stream: one */
#define PLATFORM_FIRST 101u
#define PLATFORM_ITEMS_MAX 4096u     /* of a list */

enum platform_kind {
	PLATFORM_ACCOUNT,            /* mastodon_account */
	PLATFORM_JSON,               /* json_api */
	PLATFORM_EVENTS,             /* mastodon_stream, and its timeline */
	PLATFORM_LINES,              /* twitter_filter; one host at most */
	PLATFORM_FRAMES,             /* bluesky_jetstream */
	PLATFORM_WEB,                /* pages of the invented web */
};

/* The clock is the world's from now on. */
void platform_begin(uint64_t seed, const enum platform_kind *, unsigned hosts);
/* With the web's transport below it. */
struct transport *platform_transport(void *arg, struct loop *);
enum platform_kind platform_kind(unsigned host);
bool platform_is_stream(unsigned host);
/* Another harvest of the host begins: its lists have more items, and what was
 * asked for may be asked for again. */
void platform_grow(unsigned host);
/* How many items a list has, or a stream had at that moment. */
unsigned platform_items(unsigned host);
unsigned platform_items_at(unsigned host, struct wall);
/* When a stream's item came, from 0 on. */
struct wall platform_item_at(unsigned host, unsigned index);
/* What to ask for, as a start message. */
void platform_message(unsigned host, struct buf *);
/* Decode an entry of state.json: the harvest has all items of that list up to
 * `last`.  False: the key belongs to no simulated host. */
bool platform_key(struct str key, uint64_t value, unsigned *host,
    unsigned *list, uint64_t *last);
/* "http://p1/2/103" */
bool platform_item(struct str uri, unsigned *host, unsigned *list,
    unsigned *item);
/* Which host is asked; false: none of these. */
bool platform_host(struct str url, unsigned *host);

/* The answer of so many bytes is durable: whoever asks again is counted. */
void platform_durable(struct str url, int status, uint64_t bytes);
/* Nobody may ask the host now: its harvest was stopped, and that is known. */
void platform_close(unsigned host);
/* It may ask again. */
void platform_allow(unsigned host);
uint64_t platform_requests(void);
/* Streams that have begun, and items that they gave. */
uint64_t platform_streams(void);
uint64_t platform_given(void);
/* Requests for what is durable, or of a host that was closed. */
uint64_t platform_breaches(void);
void platform_kill(void);                    /* all connections are gone */

#endif
