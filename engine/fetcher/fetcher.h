/*
 * fetcher -- one event loop's share of the web: its hosts, their robots rules,
 * politeness clocks and connections, and the pages being fetched from them.
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
	int64_t host_idle_ms;            /* then it is forgotten */
	int64_t robots_ttl_s, robots_retry_s;
	size_t links_max;
	unsigned sitemap_depth_max;      /* 1: those that robots.txt names */
	uint64_t sitemap_bytes_max;      /* of a crawl; 0: no limit */
	uint32_t parse_cpu_ms_max;
	size_t window;                   /* URLs leased ahead per queue */
	size_t uncommitted_max;          /* pages handed over, not durable */
	size_t uncommitted_bytes_max;
	int compression_level;
	enum digest_kind digest;         /* of what is archived */
	bool redact;                     /* credentials, before archiving */
	bool archive;                    /* false: no WARC (benches) */
	bool http2;
	struct str user_agent;
	struct str product_token;        /* of robots.txt: "argiope" */
	const char *resolve;             /* "HOST:PORT:ADDRESS:PORT,..." */
};

/*
 * What a crawl may fetch.  They never change and live until the engine goes; a
 * crawl whose rules are changed gets others.
 */
struct crawl_rules {
	const struct policy_compiled *policy;
	struct str json;                 /* the policy, canonical */
	/* So many of its URL rules, the first ones, came while it had URLs:
	 * what they match leaves the queue too. */
	unsigned excluded;
};
/* The URL is matched by one of those.  `rules` is a struct crawl_rules, or
 * NULL.  Thread: any. */
bool crawl_excludes(const void *rules, struct str url);

/* One crawl as all loops see it.  Immutable but for the atomics. */
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
	const struct str *seed_hosts;
	size_t seed_hosts_n;
	struct collection_crawls others; /* of its collection */
	bool notes_validators;           /* see collection.h */
	bool continued;                  /* an earlier process began it */
	bool operator_seeds;             /* their hosts may be private */
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
/* Behind this the crawl may be gone.  Thread: any. */
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
 * What a document links to becomes what the frontier wants: canonical, judged,
 * hashed; nofollow is read from its HTTP head too.  The number of `*out`, which
 * is the arena's.  Thread: any.
 */
struct link_finder {
	const struct crawl_shared *crawl;
	const struct trap_memory *traps;  /* or NULL */
	const struct lease *lease;        /* the document's */
	struct str product_token;
	bool allow_private;               /* fetch.allow_private */
	unsigned sitemap_depth_max;
	bool *too_deep;                   /* set: sitemaps left out; or NULL */
	struct arena *arena;
};
size_t fetcher_links(const struct link_finder *, const struct http_head *,
    struct parse_output *, struct found **out);
/* The pause that the crawl wants after a fetch from this host; s. */
double crawl_delay_s(const struct crawl_shared *, struct str host);
/* A seed of the crawl is on this host. */
bool crawl_has_seed_host(const struct crawl_shared *, struct str host);
/* Private addresses of this host are allowed: it is an operator's seed. */
bool crawl_host_allowed(const struct crawl_shared *, struct str host);

struct fetcher_options {
	struct loop *loop;
	struct frontier *frontier;
	struct transport *transport;     /* the fetcher's from now on */
	struct resolver *resolver;       /* likewise */
	const struct fetch_settings *settings;
	struct digest_filter *seen;               /* shared by all loops */
	struct handoff_pool *fresh; /* likewise; what readers wait for */
	struct fetcher **all;            /* every loop's, to find a host's */
	size_t all_n;
	struct host_shard *host_shard;           /* which loop's a host is */
	struct address_clock *address_clock;
	void (*event)(void *arg, const struct url_event *);  /* or NULL */
	void *arg;
	/* Events on their way to their reader; so many hold the loop back. */
	const atomic_size_t *events_waiting;
	size_t events_waiting_max;
};
struct fetcher *fetcher_new(const struct fetcher_options *);
void fetcher_free(struct fetcher **);
/* Other settings from now on; they stay until fetcher_free().  Thread: any. */
void fetcher_set(struct fetcher *, const struct fetch_settings *);

/* The frontier_port of this fetcher. */
void fetcher_port(struct fetcher *, struct frontier_port *);

/*
 * A crawl begins or goes on, pauses, or ends; later pages of an ended crawl are
 * given back.  Thread: any.
 */
enum fetch_order { FETCH_RUN, FETCH_PAUSE, FETCH_END };
void fetcher_order(struct fetcher *, const struct crawl_shared *,
    enum fetch_order);
/*
 * The loop forgets a crawl that has ended: every loop has seen FETCH_END, and
 * it is unused.
 */
void fetcher_forget(struct fetcher *, uint32_t crawl);

/*
 * The crawl's rules exclude more: leases that they exclude, of pages that were
 * not asked for yet, are given back, before mail that is posted after this.
 */
void fetcher_return_excluded(struct fetcher *, uint32_t crawl);
/*
 * URLs of the crawl are to be tried again: its hosts are no longer held to be
 * down.  What their robots.txt says is asked anew, if it could not be reached,
 * or if `robots`.
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
	bool held_back;                  /* the ledger does not follow */
};
void fetcher_look(struct fetcher *, struct fetcher_view *);

/*
 * The robots.txt of an origin ("http://host:port" as url_origin() has it) that
 * an earlier run stored, with its date and HTTP status.  ABSENT when there is
 * none.  Memory: `a`.  Thread: before the loops start, or a ledger_query's.
 */
MUST_USE enum err fetcher_stored_robots(struct index *, struct str origin,
    struct arena *a, struct wall *fetched, int *status, struct str *body);

/* What stores it; key and value are the arena's.  Thread: any. */
void fetcher_robots_put(struct str origin, struct wall fetched, int status,
    struct str body, struct arena *a, struct extra_put *);

#endif
