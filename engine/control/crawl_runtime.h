/*
 * crawl_runtime -- the crawls that run in this process: policy compiled, seeds
 * read, secrets held.  Private to engine/.
 *
 *     any thread: crawl_runtime_plan() ──► ledger's loop: crawl_runtime_begin()
 *
 * Thread: the ledger's loop, or any before it runs and after it has stopped.
 */
#ifndef ENGINE_CONTROL_CRAWL_RUNTIME_H
#define ENGINE_CONTROL_CRAWL_RUNTIME_H

#include "engine/fetcher/crawl_rules.h"
#include "engine/control/control.h"

struct crawl_runtime;
struct running;
struct crawl_runtime *crawl_runtime_new(struct frontier *, struct loop *ledgers,
    struct fetcher **, unsigned n, const struct fetch_settings *,
    struct digest_filter *);
void crawl_runtime_free(struct crawl_runtime **); /* after the loops stopped */
/* Other settings from now on; they stay until crawl_runtime_free().  Thread:
 * any. */
void crawl_runtime_set(struct crawl_runtime *, const struct fetch_settings *);
/*
 * What can be made of a crawl before it has a number.  The texts of its spec
 * stay the caller's, until it has begun or is freed.
 * Thread: any.  Errors: INPUT naming the field.
 */
MUST_USE enum err crawl_runtime_plan(const struct crawl_request *,
    const struct fetch_settings *, struct running **, struct why *);
void running_free(struct running **);
/*
 * Begin it; the plan is taken, whatever happens.  Where there is a crawl of
 * that key already, it is that one's id and nothing begins.  Errors: those of
 * frontier_begin().
 */
MUST_USE enum err crawl_runtime_begin(struct crawl_runtime *, struct running **,
    uint32_t *id, struct why *);
/* A key that an earlier process used. */
void crawl_runtime_know_key(
    struct crawl_runtime *, struct str key, uint32_t id);
MUST_USE enum err crawl_runtime_continue(struct crawl_runtime *, uint32_t id,
    const struct crawl_request *, struct why *);
/* The rules of a crawl that runs here, until crawl_runtime_leave(); or NULL. */
const struct rules *crawl_runtime_rules(struct crawl_runtime *, uint32_t id);
void crawl_runtime_leave(struct crawl_runtime *, uint32_t id);
/* Takes them; the loops see them from now on.  It runs here. */
void crawl_runtime_change_rules(
    struct crawl_runtime *, uint32_t id, struct rules **);
/*
 * Before the loops run: crawls whose exclusion an earlier process began.  Start
 * with *at = 0; false at the end.
 */
bool crawl_runtime_next_interrupted(
    const struct crawl_runtime *, size_t *at, uint32_t *id);
/* Nothing, when that was the last order. */
void crawl_runtime_order(struct crawl_runtime *, uint32_t id, enum fetch_order);
void crawl_runtime_order_all(struct crawl_runtime *, enum fetch_order);
/* Steps of its teardown: the loops have seen its end; they have forgotten it.
 * Nothing, when it does not run here. */
void crawl_runtime_end(struct crawl_runtime *, uint32_t id);
void crawl_runtime_forget(struct crawl_runtime *, uint32_t id);
/* The gzip member of the warcinfo of `filename`. */
void crawl_runtime_warcinfo(
    struct crawl_runtime *, uint32_t id, const char *filename, struct buf *out);

#endif
