/*
 * api -- SFM's interface for looking WARC files up, as SFM's exporters and
 * commands ask it:
 *
 *     GET /api/v1/warcs/?collection=&seed=a,b&harvest_date_start= ...
 *     GET /api/v1/warcs/ID/
 *     GET /api/v1/collections/?collection_startswith=
 *
 * Its routes stand at the daemon's HTTP port, where tokens count, and at
 * harvest.api_listen, where the addresses of harvest.api_from need none: SFM's
 * clients send no credential.
 *
 * Thread: the main loop's.
 * Source: contracts/export.md §6.
 */
#ifndef DOORS_HARVEST_API_H
#define DOORS_HARVEST_API_H

#include "base/ip.h"
#include "doors/harvest/harvest_door.h"

#define API_PAGE 250u                /* rows of an answer without `limit` */
#define API_PAGE_MAX 10000u
#define API_ROUTES 3u
#define API_FROM_MAX 256u

/* For the table of doors. */
extern const struct web_route api_routes[API_ROUTES];

/* "10.0.0.0/8": an address, or those whose first bits are its own. */
struct api_net {
	struct ip ip;
	unsigned bits;               /* of 128, v4-mapped */
};
/* False: it is none. */
bool api_net_read(struct str, struct api_net *);
/* The address in "127.0.0.1:49152" or "[::1]:49152"; false: there is none. */
bool api_peer_read(struct str, struct ip *);
bool api_net_has(const struct api_net *, const struct ip *);

/* Read harvest.api_from.  Errors: CONFIG. */
MUST_USE enum err api_read(struct harvest_door *, struct why *);
/* Listen at harvest.api_listen, unless it is off.  Errors: web_open()'s. */
MUST_USE enum err api_open(struct harvest_door *, struct why *);
/* Accept nothing more; the gate `work` waits for what is under way. */
void api_stop(struct harvest_door *);

#endif
