/*
 * item_date -- dates as platforms write them: a moment, and the zone in which
 * it was written, which SFM's tables keep.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_ITEM_DATE_H
#define ENGINE_CONNECTOR_ITEM_DATE_H

#include "base/time.h"

struct item_date {
	struct wall at;           /* UTC; without a zone, as if it were UTC */
	int16_t offset_min;       /* east of Greenwich */
	bool has_zone;
	bool has_time;            /* not only a day */
	bool known;
};

/*
 * Read
 *     Wed Dec 02 18:56:27 +0000 2015          Twitter v1, Weibo
 *     2016-06-02T12:00:00.123Z                ISO 8601, RFC 3339
 *     2016-06-02 12:00:00 GMT                 Tumblr
 *     2016-06-02 12:00, 2016-06-02
 *     Wed, 2 Oct 2002 13:00 EST               RFC 822, of feeds
 * with an offset as Z, GMT, UTC, +08:00 or +0800; in the last form also as UT,
 * EST, EDT and those of the other zones of North America.  False, and `known`
 * false, on anything else, also on days that no calendar has.
 */
bool item_date_parse(struct str, struct item_date *);
/* Seconds since 1970, in UTC. */
struct item_date item_date_of_epoch(int64_t seconds);
/*
 * "2016-06-02T12:00:00+08:00" with `separator` for T; microseconds and offset
 * where there are any.
 */
void item_date_put(struct buf *, const struct item_date *, char separator);

#endif
