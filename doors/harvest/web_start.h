/*
 * web_start -- harvest.start.web: the URLs that a harvest has found in one WARC
 * file, as orders of web harvests.
 *
 * Thread: any; pure but for ids, which are random.
 * Source: contracts/harvest.md §7, harvest.start.web.
 */
#ifndef DOORS_HARVEST_WEB_START_H
#define DOORS_HARVEST_WEB_START_H

#include "base/bytes.h"
#include "base/err.h"

#define WEB_START_KEY "harvest.start.web"
/* What is beyond goes into the next message. */
#define WEB_START_SEEDS_MAX 5000u
#define WEB_START_BYTES_MAX ((size_t)1 << 20)

struct web_start {
	struct str parent;           /* the harvest's id */
	struct str message;          /* the harvest's own, JSON */
	struct str path;             /* as messages name it */
	struct str urls;             /* a JSON list of texts */
};

/*
 * Call put() with each message in turn, which is valid during the call; none
 * when there is no URL.  Errors: put()'s, which end it; CORRUPT: `urls` is no
 * list.
 */
MUST_USE enum err web_start_each(const struct web_start *,
    enum err (*put)(void *arg, struct str body, struct why *), void *arg,
    struct why *);

#endif
