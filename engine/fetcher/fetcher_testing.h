/*
 * fetcher_testing -- one fetcher on a real frontier, in the world of
 * os/world_testing.h, behind an invented web; and a second one on demand.
 *
 * The web answers each request after `answer_ms` with what the test's site
 * says, and keeps a log of the requests.  Hosts' addresses come from
 * `settings.resolve`.
 */
#ifndef ENGINE_FETCHER_FETCHER_TESTING_H
#define ENGINE_FETCHER_FETCHER_TESTING_H

#include "engine/fetcher/fetcher.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/host_shard.h"

#define FETCH_REQUESTS_MAX 64

/* status 0: the exchange ends with `end` instead. */
struct answer {
	int status;                  /* 200 */
	const char *head;            /* more fields, "Name: value\r\n" each */
	const char *body;
	enum transport_end end;
	/* The body comes so often, each so much later, and then no end. */
	unsigned times;
	int64_t every_ms;
	bool endless;
};
/* An answer of status 101 is a WebSocket: `body` are frames then. */
typedef void site_fn(struct str url, struct answer *);

struct request_seen {
	char url[120], method[8], body[80];
	char headers[400];           /* "Name: value\n" each */
	struct mono at;
	int64_t pause_ms;            /* as the transport was told */
};

struct fetch_rig {
	struct rig rig;
	struct fetch_settings settings;
	struct crawl_shared crawl;
	struct crawl_rules rules;
	struct policy_compiled *policy;
	struct host_shard shard;
	struct digest_filter *filter;
	struct uncommitted uncommitted;
	struct fetcher *fetcher;
	/* 2: another fetcher stands beside it, as on a loop of its own.  It has
	 * no host, unless shard.ports_n is 2, too. */
	size_t fetchers_n;               /* 1 */
	struct fetcher *fetchers[2];     /* the first is `fetcher` */
	site_fn *site;
	int64_t answer_ms;
	const char *connects_to;     /* NULL: where the fetcher says */
	struct request_seen seen[FETCH_REQUESTS_MAX];
	unsigned seen_n;
	unsigned open, open_max;     /* requests under way, at most */
	unsigned blocked;            /* connections that were refused */
	struct buf sent;             /* to WebSockets */
	bool paused;                 /* ... which are not read from */
	struct url_event events[FETCH_REQUESTS_MAX];   /* no texts */
	unsigned events_n;
};

/* Settings of a small crawl: no delay, three tries, no archive. */
void fetch_rig_init(struct fetch_rig *, site_fn *);
/* Open it with one crawl of this policy and seed, to any host; it runs. */
void fetch_rig_begin(struct fetch_rig *, const char *policy_json,
    const char *seed);
/* Order it on all loops. */
void fetch_rig_order(struct fetch_rig *, enum fetch_order);
/* Time goes on by so much. */
void fetch_rig_pass(struct fetch_rig *, int64_t ms);
/* The n-th request, from 0, was for this URL. */
void fetch_rig_asked(struct fetch_rig *, unsigned n, const char *url);
/* ms between two requests. */
int64_t fetch_rig_gap_ms(const struct fetch_rig *, unsigned a, unsigned b);
void fetch_rig_end(struct fetch_rig *);

#endif
