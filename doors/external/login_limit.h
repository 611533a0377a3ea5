/*
 * login_limit -- how often calls without a launch ticket may come: at most
 * LOGIN_LIMIT_CALLS within any LOGIN_LIMIT_MS, for each key, which is an
 * address or a user.
 *
 * Owns:    a ring of times for each key that has been seen within that time.
 * Thread:  the main loop's.
 * Limits:  LOGIN_LIMIT_KEYS_MAX keys; while there are so many, new ones are
 *          refused.
 * Source:  contracts/external.md §8 (compatibility switch).
 */
#ifndef DOORS_EXTERNAL_LOGIN_LIMIT_H
#define DOORS_EXTERNAL_LOGIN_LIMIT_H

#include "base/map.h"
#include "base/time.h"

#define LOGIN_LIMIT_CALLS 10u
#define LOGIN_LIMIT_MS INT64_C(60000)
#define LOGIN_LIMIT_KEYS_MAX 10000u

/* Zeroed at first. */
struct login_limit {
	struct map keys;
};

void login_limit_free(struct login_limit *);
/*
 * Count a call of `key`, which is copied.  Returns 0, or the seconds after
 * which the next call is allowed; a call that is refused is not counted.
 */
unsigned login_limit_count(struct login_limit *, struct str key,
    struct mono now);

#endif
