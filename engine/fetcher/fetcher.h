/*
 * fetcher -- fetches pages on one event loop: its hosts with their robots.txt,
 * politeness clocks and connections, and the pages in progress.
 *
 * A host belongs to one fetcher by the hash of its name.  A page that is
 * redirected to another fetcher's host travels there.
 *
 *     frontier: "this queue has work" ─► host ─► serve ─► page ─► submission
 *
 * Thread: its loop's only, but for the functions that say "any".
 * Limits: struct fetch_settings.
 * Story:  engine/fetcher/DESIGN.md
 */
#ifndef ENGINE_FETCHER_FETCHER_H
#define ENGINE_FETCHER_FETCHER_H

#include <stdatomic.h>

#include "base/map.h"
#include "engine/fetcher/digest_filter.h"
#include "engine/frontier/frontier.h"
#include "engine/parser/parse.h"
#include "engine/policy/policy.h"
#include "engine/policy/trap.h"
#include "os/pool.h"
#include "os/resolve.h"
#include "os/transport.h"
#include "wire/digest.h"
#include "wire/http.h"
#include "wire/redact.h"

struct fetcher;
struct address_clock;

/* Read from the configuration; immutable, shared by all loops. */
struct fetch_settings {
	unsigned tries_max;
	unsigned host_connections_max, address_connections_max;
	int64_t address_delay_ms;        /* at hosts with a delay; 0: none */
	size_t connections_max;          /* of this loop */
	int64_t connect_ms, total_ms;
	int64_t speed_bytes_min, speed_s;
	uint64_t body_bytes_max;
	size_t head_bytes_max;
	unsigned redirects_max;
	uint32_t decode_ratio_max;
	bool allow_private;
	int64_t backoff_ms, backoff_ms_max;
	int64_t host_idle_ms;            /* an idle host is freed after this */
	int64_t robots_ttl_s, robots_retry_s;
	size_t links_max;
	unsigned sitemap_depth_max;      /* 1: those that robots.txt names */
	uint64_t sitemap_bytes_max;      /* of a crawl; 0: no limit */
	uint32_t parse_cpu_ms_max;
	size_t window;                   /* URLs leased ahead per queue */
	size_t uncommitted_max;          /* see struct uncommitted */
	size_t uncommitted_bytes_max;
	unsigned lend_busy_min;          /* permille: a lender's own work */
	int compression_level;
	enum digest_kind digest;         /* of what is archived */
	bool redact;                     /* credentials, before archiving */
	bool http2;
	struct str user_agent;
	struct str product_token;        /* of robots.txt: "argiope" */
	const char *resolve;             /* "HOST:PORT:ADDRESS:PORT,..." */
};

/*
 * The rules that decide which URLs a crawl may fetch.  Immutable; freed with
 * the engine.  When the rules change, the crawl gets a new struct.
 */
struct crawl_rules {
	const struct policy_compiled *policy;
	struct str json;                 /* the policy, canonical */
	/* How many of its URL rules, from the first on, were added while it
	 * ran: URLs that they match are removed from the queue, too. */
	unsigned excluded;
};
/* Whether one of those rules matches the URL.  `rules` is a struct crawl_rules
 * or NULL.  Thread: any. */
bool crawl_excludes(const void *rules, struct str url);

/* The part of a crawl's state that all loops share.  Immutable except for the
 * atomics. */
struct crawl_shared {
	uint32_t id;
	_Atomic(const struct crawl_rules *) rules;
	struct str name;
	struct str user_agent;           /* empty: the settings' */
	struct str product_token;        /* its own; empty: the settings' */
	const struct transport_header *headers;
	size_t headers_n;
	struct str authorization;        /* sent to the seeds' hosts only */
	struct str proxy;
	const struct url *seeds;
	size_t seeds_n;
	struct collection_crawls others; /* of its collection */
	bool notes_validators;           /* see collection.h */
	bool has_collection;             /* that its spec names */
	/* Where a seed is redirected is in scope: that of a harvest. */
	bool follows_seeds;
	bool continued;                  /* an earlier process began it */
	bool operator_seeds;             /* their hosts may be private */
	bool unarchived;                 /* as in its spec */
	double delay_s;                  /* the policy's or the command's */
	struct map delays;               /* host -> double, of some seeds */
	const struct redactor *redactor;
	struct str collection;           /* see collection.h */
	struct str cookies;              /* lines of a Netscape cookie file */
	_Atomic(const char *) warcinfo_id;   /* of the file being written */
	atomic_int downloads;            /* exchanges under way, all loops */
	atomic_ullong sitemap_bytes;     /* read, unpacked */
	atomic_bool sitemap_depth_logged;
	atomic_uint users;               /* pages and windows, all loops; and
	                                  * its owner, until it has ended */
	struct loop *home;               /* the owner's: */
	struct mail unused;              /* posted there by the last user */
};
/* Give up one use (`users`); afterwards the crawl may be freed.  Thread: any.
 * */
void crawl_leave(struct crawl_shared *);

static inline const struct crawl_rules *
crawl_rules(const struct crawl_shared *s)
{
	return atomic_load_explicit(&s->rules, memory_order_acquire);
}
static inline const struct policy_compiled *
crawl_policy(const struct crawl_shared *s)
{
	return crawl_rules(s)->policy;
}

/*
 * Turn a document's links into the frontier's form: canonical, judged by the
 * policy, hashed.  `nofollow` of the HTTP head counts, too.  Returns the number
 * of `*out`, which is in the arena.  Thread: any.
 */
struct link_finder {
	const struct crawl_shared *crawl;
	const struct trap_memory *traps;  /* or NULL */
	const struct lease *lease;        /* the document's */
	struct str product_token;
	bool allow_private;               /* fetch.allow_private */
	unsigned sitemap_depth_max;
	bool *too_deep;                   /* set: sitemaps left out; or NULL */
	const uint64_t *recent;           /* fetcher.recent, whose URLs are left
	                                   * out; or NULL */
	struct arena *arena;
};
size_t fetcher_links(const struct link_finder *, const struct http_head *,
    struct parse_output *, struct found **out);
/* The crawl's delay after a fetch from this host; seconds. */
double crawl_delay_s(const struct crawl_shared *, struct str host);
/* Whether a seed of the crawl is on this host. */
bool crawl_has_seed_host(const struct crawl_shared *, struct str host);
/* Whether private addresses are allowed: the host is an operator's seed. */
bool crawl_host_allowed(const struct crawl_shared *, struct str host);

/* Pages of all loops that were handed over and are not durable yet. */
struct uncommitted {
	atomic_size_t pages, bytes;
};

struct fetcher_options {
	struct loop *loop;
	struct frontier *frontier;
	struct transport *transport;     /* the fetcher's from now on */
	struct resolver *resolver;       /* likewise */
	const struct fetch_settings *settings;
	struct digest_filter *seen;               /* shared by all loops */
	struct handoff_pool *fresh;      /* likewise; for clients that follow */
	struct uncommitted *uncommitted; /* likewise */
	struct fetcher **all;            /* every loop's, to find a host's */
	size_t all_n;
	struct host_shard *host_shard;   /* assigns hosts to loops */
	struct address_clock *address_clock;
	void (*event)(void *arg, const struct url_event *);  /* or NULL */
	void *arg;
	/* Events that the receiver has not handled yet; at events_waiting_max
	 * the loop pauses. */
	const atomic_size_t *events_waiting;
	size_t events_waiting_max;
};
struct fetcher *fetcher_new(const struct fetcher_options *);
void fetcher_free(struct fetcher **);
/* Use these settings from now on; the caller keeps them until fetcher_free().
 * Thread: any. */
void fetcher_set(struct fetcher *, const struct fetch_settings *);

/* The frontier_port of this fetcher. */
void fetcher_port(struct fetcher *, struct frontier_port *);

/*
 * Start, pause or end a crawl on this loop; pages of an ended crawl that arrive
 * later are returned to the frontier.  Thread: any.
 */
enum fetch_order { FETCH_RUN, FETCH_PAUSE, FETCH_END };
void fetcher_order(struct fetcher *, const struct crawl_shared *,
    enum fetch_order);
/*
 * Free the loop's state of an ended crawl, once every loop has handled
 * FETCH_END and `users` is 0.
 */
void fetcher_forget(struct fetcher *, uint32_t crawl);

/*
 * Call it after the crawl got rules that exclude more: returns the excluded
 * leases of pages that were not requested yet to the frontier, before any
 * message that is posted later.
 */
void fetcher_return_excluded(struct fetcher *, uint32_t crawl);
/*
 * Call it before URLs of the crawl are retried: its hosts no longer count as
 * down.  Their robots.txt is requested again if it was unreachable, or if
 * `robots`.
 */
void fetcher_forget_trouble(struct fetcher *, uint32_t crawl, bool robots);

/* What the loop is doing, for the progress line and `why`. */
struct fetcher_view {
	unsigned hosts_ready, hosts_delayed, hosts_backoff;
	unsigned in_flight, uncommitted;
	struct mono next_at;             /* the first delayed host's turn */
	char next_host[128];
	bool next_backoff;               /* else its delay */
	uint64_t requests, bytes_in;
	bool held_back;                  /* waits for the ledger to commit */
};
void fetcher_look(struct fetcher *, struct fetcher_view *);

/*
 * The robots.txt of an origin ("http://host:port" as url_origin() has it) that
 * an earlier run stored, with its date and HTTP status.  ABSENT when there is
 * none.  Memory: `a`.  Thread: before the loops start, or a ledger_query's.
 */
MUST_USE enum err fetcher_stored_robots(struct index *, struct str origin,
    struct arena *a, struct wall *fetched, int *status, struct str *body);

/* The index entry that stores it; key and value are in the arena.  Thread: any.
 * */
void fetcher_robots_put(struct str origin, struct wall fetched, int status,
    struct str body, struct arena *a, struct extra_put *);

#endif
