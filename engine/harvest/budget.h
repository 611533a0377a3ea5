/*
 * budget -- rate limits of platforms, shared by all harvests.
 *
 * A budget belongs to a platform, a family of calls and a credential.  What is
 * left of it, and until when, comes from the heads of answers:
 * X-RateLimit-Limit, -Remaining and -Reset in any case, RateLimit-*, with or
 * without "X-", and Retry-After.  Where the platform tells nothing, calls are
 * counted here by the connector's rates: in periods that begin with a call.
 *
 * Thread: the main loop's.
 * Source: contracts/platforms.md §1.
 */
#ifndef ENGINE_HARVEST_BUDGET_H
#define ENGINE_HARVEST_BUDGET_H

#include "base/bytes.h"
#include "base/time.h"
#include "engine/connector/connector.h"
#include "engine/store/store_budget.h"

/* After a stated reset, and between the least and the most, ms. */
#define BUDGET_AFTER_RESET_MS 10000
#define BUDGET_WAIT_MS_MIN 10000
#define BUDGET_WAIT_MS_MAX 901000
/* Without a date: the first wait, which doubles, and the longest. */
#define BUDGET_BLIND_MS 60000
#define BUDGET_BLIND_MS_MAX 900000
#define BUDGETS_MAX 10000u

struct budgets;
/* It knows of no limit yet; `counted` is told when rates were counted. */
struct budgets *budgets_new(void (*counted)(void *arg), void *arg);
void budgets_free(struct budgets **);

/* "mastodon rest 8f3a...": memory is the caller's. */
void budget_key(const char *platform, const char *family,
    struct str fingerprint, struct buf *key);
/*
 * Take one call of the budget: 0, and it may leave; else after so many ms it
 * may be tried again, and nothing was taken.
 */
int64_t budget_take(struct budgets *, struct str key, struct wall now);
/* The counts that changed since the last call, for the store.  Memory: `a`. */
size_t budgets_changes(struct budgets *, struct arena *a,
    struct store_budget **);
/* Restore the counts that the store has kept. */
void budgets_put(struct budgets *, const struct store_budget *, size_t n);

/*
 * The same by rates, of which it takes `cost` units: all of them, or none.
 * `shared` is the key of rates whatever the credential.
 */
int64_t budget_take_units(struct budgets *, struct str key, struct str shared,
    const struct connector_rate *, unsigned cost, struct wall now);
/* A call is over; NULL: without an answer. */
void budget_learn(struct budgets *, struct str key, const struct http_head *,
    struct wall now);
/* The state of a rate limit now. */
struct budget_view {
	struct str family;           /* "rest"; may be empty */
	uint64_t units;              /* in its period; 0: not known */
	uint64_t left;               /* of them */
	struct wall until;           /* the period ends */
};
/*
 * Those of a platform that calls with this credential count against, by family
 * and length.  Memory: `a`.
 */
size_t budgets_look(const struct budgets *, const char *platform,
    struct str fingerprint, struct wall now, struct arena *a,
    struct budget_view **);
/* How long to wait after an answer of status 429, the tries-th in a row. */
int64_t budget_retry_ms(const struct http_head *, unsigned tries,
    struct wall now);

#endif
