/*
 * frontier_testing -- a frontier on one loop, in the world of
 * os/world_testing.h; and a fetcher that fetches nothing: it takes leases and
 * hands in what became of them.
 *
 *     a URL is "http://HOST/PATH"; its queue is HOST
 *
 * The tests' own steps are synchronous: rig_lease() and rig_hand_in() return
 * when the answer is there.  The walker (further down) does many at a time.
 */
#ifndef ENGINE_FRONTIER_FRONTIER_TESTING_H
#define ENGINE_FRONTIER_FRONTIER_TESTING_H

#include "engine/frontier/frontier_check_testing.h"
#include "engine/frontier/frontier.h"
#include "engine/frontier/url_query.h"
#include "os/world_testing.h"

#define RIG_NOTES_MAX 64
#define RIG_LEASES_MAX 512

struct walker;

struct rig {
	/* Set between rig_init() and rig_open(). */
	struct frontier_options options;
	uint64_t max_items, host_urls_max;   /* of the crawls that begin */
	enum crawl_kind kind;

	struct loop *loop;
	struct loop *away;               /* the port's, when it is another */
	struct pool *pool;
	struct frontier *frontier;
	struct frontier_port port;
	struct arena arena;              /* the test's texts */
	uint32_t crawl;                  /* the one that began last */
	struct crawl_view told;          /* what an observer saw last */
	uint32_t notes[RIG_NOTES_MAX];   /* queues, in the order of notes */
	unsigned notes_n;
	struct lease leases[RIG_LEASES_MAX];   /* of the last rig_lease() */
	size_t leases_n;
	enum err durable;                /* of the last submission */
	unsigned durable_n;
	uint64_t seq;
	struct walker *walker;           /* notes go to it */
	uint64_t forgotten;              /* by the known table, in rig_walk() */
	bool closed, failed;
};

void rig_init(struct rig *);         /* defaults; the disk is empty */
void rig_open(struct rig *);
void rig_run(struct rig *);          /* until nothing moves */
size_t rig_known_bytes(struct rig *);        /* of the known table, now */
void rig_pass(struct rig *, int64_t ms);
void rig_crash(struct rig *, bool power);    /* and it is closed */
void rig_close(struct rig *);        /* well: all is durable */
void rig_end(struct rig *);
/* A crash by power cut, or a good end; open again, and go on. */
void rig_restart(struct rig *, bool crash);

struct found rig_found(struct rig *, const char *url, double cost,
    enum skip_reason);
/* Begin a crawl with these seeds (NULL at the end), all of cost 0. */
void rig_begin(struct rig *, const char *seed, ...);
void rig_state(struct rig *, enum crawl_state, enum err want);
struct crawl_view rig_view(struct rig *);    /* as admitted */
/* As the known table has it. */
enum url_state rig_url_state(struct rig *, const char *url);
uint32_t rig_queue(struct rig *, const char *host);
/* Lease up to `want` of a queue into rig.leases; returns how many came. */
size_t rig_lease(struct rig *, const char *host, size_t want);
/* The next URL of that queue is this one; its lease. */
struct lease rig_next(struct rig *, const char *host, const char *url);
void rig_none(struct rig *, const char *host);
/* A submission, not yet handed in; freed when it is durable. */
struct submission *rig_page(struct rig *, const struct lease *, enum outcome);
void rig_add(struct rig *, struct submission *, const char *url, double cost,
    enum skip_reason);
void rig_hand_in(struct rig *, struct submission *);
/* Both at once, without links. */
void rig_done(struct rig *, const struct lease *, enum outcome);
/* Numbers of all captures of the crawl: 1 to n without gaps.  Returns n. */
uint64_t rig_captures(struct rig *);

/*
 * A walker fetches an invented graph of `urls` URLs over `hosts` hosts, with
 * several pages under way, in an order that its seed says; power cuts at random
 * moments, then on from what is durable.  It aborts the test when a URL is
 * handed out that is out or was durably done, and compares the end with the
 * graph's closure.
 */
struct walk_plan {
	uint64_t seed;
	unsigned urls, hosts, crashes;
	unsigned window;                 /* URLs asked for at a time */
	/* Asserted in each step; 0: no limit. */
	unsigned active_max;             /* queues with leases */
	size_t known_bytes_max;
};
void rig_walk(struct rig *, const struct walk_plan *);

#endif
