/*
 * state -- hosts, origins and pages of one fetcher.  Private to engine/fetcher.
 */
#ifndef ENGINE_FETCHER_STATE_H
#define ENGINE_FETCHER_STATE_H

#include "base/map.h"
#include "engine/fetcher/cookie.h"
#include "engine/fetcher/fetcher.h"
#include "engine/fetcher/handoff.h"
#include "engine/frontier/host_shard.h"
#include "engine/frontier/journal.h"
#include "engine/parser/parse.h"
#include "engine/policy/robots.h"
#include "engine/policy/trap.h"
#include "wire/http.h"
#include "wire/warc.h"

/* A crawl on this loop. */
struct local_crawl {
	struct fetcher *fetcher;
	struct crawl_shared *shared;
	enum fetch_order order;
	struct cookie_jar *cookies;      /* NULL: the policy wants none */
	struct trap_memory *traps;
	unsigned pages;                  /* being fetched here */
};

/* URLs of one queue, leased ahead. */
struct window {
	struct list node;                /* in host.windows */
	struct local_crawl *crawl;
	struct host *host;
	double delay_s;                  /* that the crawl wants here */
	uint32_t queue;
	struct serve *serve;             /* out for more; or NULL */
	struct list batches;             /* serves that came back, in order */
	size_t left;                     /* leases in them */
	bool more;                       /* the frontier has more, it seems */
	bool note_seen;                  /* the next serve says so */
	bool dropped;                    /* goes when its serve comes back */
};

enum host_place { HOST_IDLE, HOST_READY, HOST_SLEEPING };

struct host {
	struct fetcher *fetcher;
	struct str name;                 /* own memory */
	enum host_place place;
	struct list ready_node;
	struct heap_node sleep_node;
	struct mono next_at;             /* no request before it */
	struct mono down_until;          /* an origin of it is down */
	int64_t backoff_ms;              /* 0: it behaves */
	bool answered;                   /* ever, on this loop */
	unsigned silent;                 /* pages in a row without an answer */
	unsigned in_flight;
	struct list waiting;             /* pages whose turn comes first */
	struct list windows;
	struct list origins;
	uint64_t looked;                 /* by fetcher.looks: look.c */
	struct list idle_node;           /* nothing of it is out or waits */
	struct mono idle_since;
};

/*
 * scheme://host:port, and what its robots.txt says to the crawls of one product
 * token.
 */
#define ORIGIN_DETAIL_MAX 160
enum origin_state { ORIGIN_NEW, ORIGIN_LOADING, ORIGIN_FETCHING, ORIGIN_KNOWN };
struct origin {
	struct list node;                /* in host.origins */
	struct host *host;
	struct str text;                 /* own memory */
	struct str token;                /* likewise; for whom it is read */
	enum origin_state state;
	struct robots *robots;
	bool copied;                     /* they are the site's words */
	bool unreachable;                /* by network: reason below */
	bool stale;                      /* an older copy serves */
	enum exception reason;
	int status;                      /* of robots.txt; 0: no answer */
	char detail[ORIGIN_DETAIL_MAX];  /* why it is unreachable, or down */
	uint32_t sitemaps_told;          /* id + 1 of the crawl told last */
	struct mono down_until;          /* fail without asking */
	enum exception down_reason;
	struct mono fetched_at;          /* when to look again is counted */
	int64_t ttl_s;
	struct list waiting;             /* pages that must know */
};

/* An address and how many connections are open to it. */
struct address {
	struct ip ip;
	unsigned in_flight;
	struct list waiting;             /* pages */
};

/* Why we stop reading an answer: its head, or its media type. */
enum hop_stop { HOP_STOP_NONE, HOP_STOP_HEAD, HOP_STOP_MIME };

/* One request and its answer. */
struct hop {
	struct url url;
	struct str request;              /* as sent */
	struct str head;                 /* as received */
	struct http_head parsed;
	struct buf body;                 /* as received */
	struct ip ip;
	struct wall start;
	struct mono began;
	struct transport_times times;
	int status;
	const char *truncated;           /* WARC's word, or NULL */
	enum hop_stop stop;              /* why we ended it ourselves */
	bool too_large;                  /* its head or trailers were */
};

/* A page's story.  A row is a step; page_next() goes from one to the next. */
#define PAGE_STEPS(X)                                                       \
	X(ROBOTS,  robots,  "ask robots.txt")                                 \
	X(TURN,    turn,    "wait for the host's turn")                       \
	X(RESOLVE, resolve, "find the host's addresses")                      \
	X(FETCH,   fetch,   "send the request, take the answer")              \
	X(JUDGE,   judge,   "follow a redirect, try again, or go on")         \
	X(PARSE,   parse,   "decode, find links")                             \
	X(DEDUPE,  dedupe,  "look for the same payload in the collection")    \
	X(ARCHIVE, archive, "build the WARC members")                         \
	X(COMMIT,  commit,  "hand everything to the frontier")                \
	X(REPORT,  report,  "it is durable: tell")
enum page_step {
#define PAGE_STEP_ENUM(name, fn, text) PAGE_##name,
	PAGE_STEPS(PAGE_STEP_ENUM)
#undef PAGE_STEP_ENUM
	PAGE_STEP_COUNT
};

enum page_kind { PAGE_URL, PAGE_OF_ROBOTS };

struct page {
	struct submission submission;    /* its arena is the page's */
	struct mail mail;                /* between loops */
	struct list node;                /* in whatever it waits in */
	struct list all_node;            /* in fetcher.pages */
	struct fetcher *fetcher, *home;
	struct local_crawl *crawl;
	struct host *host;               /* whose slot it holds, if it does */
	struct address *address;         /* counted there */
	struct origin *origin;           /* PAGE_OF_ROBOTS: for whom */
	enum page_kind kind;
	enum page_step step;
	bool holds_slot, dead, counted;
	struct mono address_due;         /* reserved; 0: not yet */
	struct fetcher *lender;          /* whose host it is of, when lent */
	size_t bytes_counted;            /* in uncommitted_bytes */
	unsigned tries;
	struct hop **hops;               /* redirects_max + 1 places */
	unsigned hops_n;
	struct exchange exchange;
	struct resolve_query query;
	struct ip addresses[RESOLVE_ADDRESSES_MAX];
	size_t addresses_n;
	enum transport_end end;
	struct str end_text;
	struct buf decoded;
	struct str content;              /* decoded, or the body itself */
	struct parse_output parsed;
	uint64_t sitemap_bytes;          /* unpacked, when it is one */
	struct digest digest;
	struct ledger_query lookup;      /* of the digest */
	struct revalidation *recall;           /* an earlier crawl's capture */
	bool damaged;                    /* `content` is not all there was */
	struct str dup_uri;              /* the original's; empty: none */
	struct journal_source dup_source;
	struct wall dup_date;
	struct warc_member final;        /* the final answer's */
	struct wall start;
	struct mono began;
};

struct fetcher {
	struct fetcher_options options;
	_Atomic(const struct fetch_settings *) settings;
	struct loop *loop;
	struct turn_hook turn;
	struct timer wake;               /* the first sleeping host */
	struct map hosts;                /* name -> host */
	struct map crawls;               /* id -> local_crawl */
	struct map addresses;
	struct list ready;               /* hosts that may start a request */
	struct heap sleeping;            /* hosts by next_at */
	struct list idle;                /* hosts by idle_since */
	struct timer idle_timer;         /* the first of them may go */
	struct list pages;               /* all of this loop */
	struct list lone_lines;          /* page_log.c: on their way */
	struct parser *parser;
	struct warc_writer *writer;
	uint64_t *recent;                /* hashes handed over lately */
	unsigned in_flight;              /* exchanges */
	struct list outbox;              /* pages to be handed over together */
	size_t outbox_n;
	bool outbox_lent;                /* it holds pages of another loop */
	struct timer outbox_timer;
	size_t uncommitted, uncommitted_bytes;
	/* Others may lend it pages while it has no requests of its own. */
	atomic_uint busy;                /* in_flight, as of the last turn */
	atomic_uint borrowed;            /* pages lent to it, not yet built */
	uint64_t requests, bytes_in;
	uint64_t looks;                  /* at crawls, so far */
	struct wall robots_since;        /* no stored robots.txt before it */
	struct timer stalled;            /* looks at crawls at their limit */
	int64_t stalled_ms;
	bool stalled_set;
	bool pump_soon;
	bool closing;                    /* nothing goes on any more */
};

/* fetcher.c */
struct fetcher *fetcher_of(struct fetcher *, struct str host);
struct local_crawl *local_crawl_get(struct fetcher *, uint32_t id);
void fetcher_pump_soon(struct fetcher *);
/* In a moment: a crawl is at its limit of downloads. */
void fetcher_look_again(struct fetcher *);
/* Give the page's submission to the frontier, soon, with others. */
void fetcher_hand_over(struct fetcher *, struct page *);
void fetcher_empty_outbox(struct fetcher *);
bool fetcher_held_back(const struct fetcher *);
/* Somebody who has the time to build this loop's pages, or NULL. */
struct fetcher *fetcher_idle_one(struct fetcher *);

/* host.c */
void hosts_open(struct fetcher *);
struct host *host_get(struct fetcher *, struct str name);
void host_free(struct host **);
void host_settle(struct host *);          /* put it where it belongs */
void host_begin(struct host *);           /* a request goes out */
void host_end(struct host *, int64_t delay_ms);  /* it is over */
void host_trouble(struct host *, int64_t retry_after_ms);
void host_fine(struct host *);
/*
 * A page's last try got no answer.  True when the host is to be taken for dead:
 * it could not be reached, or has never answered, or not for long.
 */
bool host_is_dead(struct host *, bool unreached);
/* No more tries for a while, without asking; other ports may be up. */
void host_down(struct host *, struct origin *, enum exception,
    struct str detail);
int64_t host_delay_ms(struct host *, struct local_crawl *, struct origin *);
/* Start what is due; false when there is nothing. */
bool host_start_one(struct host *);
struct window *window_get(struct host *, struct local_crawl *, uint32_t queue);
void host_join(struct host *, struct local_crawl *);
void window_return_excluded(struct window *);
void window_refill(struct window *);
void window_drop(struct window **);       /* gives its leases back */

/* origin.c */
/* The last hop's robots.txt, for the product token of the page's crawl. */
struct origin *origin_get(struct host *, struct page *);
/* The name by which robots.txt knows the page's crawl. */
struct str page_token(const struct page *);
void origin_free(struct origin **);
/* True when robots.txt is known; else the page waits in it. */
bool origin_ready(struct origin *, struct page *);
/* The crawl for which robots.txt was asked is over: others ask again. */
void origin_abandoned(struct origin *);
/* That crawl may not go where it is: its pages are skipped, others ask. */
void origin_blocked(struct origin *, const struct local_crawl *,
    struct str text);
/* It is known; once the page is handed over, those who wait are released: what
 * they do may end the crawl. */
void origin_fetched(struct origin *, struct page *robots_page);
void origin_release(struct origin *);

/* address_slots.c */
/* False: the page waits, and comes back to its step FETCH or RESOLVE. */
bool page_take_address(struct page *);
void addresses_open(void);
/* The request is over: the host's clock starts, others may go. */
void page_release_slot(struct page *);

/* page.c */
struct page *page_new(struct fetcher *, struct local_crawl *, enum page_kind);
void page_free(struct page **);
void page_go(struct page *, enum page_step);
void page_finish(struct page *, enum outcome, uint8_t reason,
    struct str text);
void page_give_back(struct page *);
/* Its crawl excludes it since it was leased, and it was not asked for yet. */
bool page_excluded(const struct page *);
enum exception page_exception(const struct page *);
static inline struct hop *
page_hop(struct page *p)
{
	return p->hops[p->hops_n - 1];
}

/* revalidate.c */
/* True: the page goes on to its turn when the old capture was looked up. */
bool revalidate_begin(struct page *);
/* The validators, at most two headers. */
size_t revalidate_headers(const struct page *, struct transport_header *out);
/* The answer says 304: what the page is, and how its record refers to it. */
bool revalidate_unchanged(struct page *, struct parse_input *,
    struct warc_revisit *);
/* Put the validators for later crawls of the collection into the submission. */
void revalidate_note(struct page *);

/* request.c */
bool request_build(struct page *);        /* the exchange of the last hop */

/* address_guard.c */
/* The URL's host, if its letters tell its address; then its port. */
bool name_allowed(const struct page *, const struct url *);
bool port_allowed(const struct page *, const struct url *);
/* An address that was found for its host. */
bool address_allowed(const struct page *, const struct ip *);
/* What is about to be connected: the proxy, where there is one. */
bool connection_allowed(const struct page *, const struct ip *);

/* links.c */
void links_find(struct page *);           /* parse_output -> submission.found */
/* The sitemaps that robots.txt names, once per origin. */
void links_from_robots(struct page *, struct origin *);

/* dedupe.c */
void page_dedupe(struct page *);          /* then it goes on to ARCHIVE */

/* page_log.c */
void lines_open(void);
/* What became of the page, an exception or a skip; `text` may be empty. */
void page_line(struct page *, struct str text);
void robots_line(struct page *robots_page, const struct origin *, int status);
/* Once for each crawl and process: sitemap.depth_max left some out. */
void sitemap_depth_line(struct page *);
void backoff_line(struct page *, const struct host *);
void lone_lines_free(struct fetcher *);

/* page_archive.c */
bool members_build(struct page *, struct why *);
/* The answer of a page that is no capture, if any came; see page_finish. */
void answers_build(struct page *);
void journal_build(struct page *);
void page_event(struct page *, struct fetch_event *);
void page_fresh(struct page *);

#endif
