/*
 * page -- one URL on its way from a lease to a durable capture: the table of
 * its steps, and its memory.
 *
 * A page belongs to the fetcher of its current hop's host.  It travels when a
 * redirect leads to another loop's host, and a busy loop lends it to an idle
 * one once it is fetched (page_lend.c).
 *
 * Thread: the loop's of the fetcher that has the page.
 * Story:  engine/fetcher/DESIGN.md
 */
#ifndef ENGINE_FETCHER_PAGE_H
#define ENGINE_FETCHER_PAGE_H

#include "engine/fetcher/core.h"
#include "engine/fetcher/hop.h"
#include "engine/fetcher/loop_load.h"
#include "engine/frontier/journal.h"
#include "wire/warc.h"

/*
 * A page's story.  A step returns its successor, or PAGE_WAIT when the page
 * waits for an event, is at another loop, or is gone.  RESOLVE and FETCH are in
 * page_fetch.c, JUDGE and PARSE in page_judge.c, ANSWER in call.c, NEWEST in
 * call_newest.c, DEDUPE in dedupe.c, the others in page.c.
 */
#define PAGE_STEPS(X)                                                       \
	X(NEWEST,  newest,  "a call: what was archived of late may do")       \
	X(ROBOTS,  robots,  "ask robots.txt")                                 \
	X(TURN,    turn,    "wait for the host's turn")                       \
	X(RESOLVE, resolve, "find the host's addresses")                      \
	X(FETCH,   fetch,   "send the request, take the answer")              \
	X(JUDGE,   judge,   "follow a redirect, try again, or go on")         \
	X(PARSE,   parse,   "decode, find links")                             \
	X(ANSWER,  answer,  "a call's answer: decode it, make its records") \
	X(DEDUPE,  dedupe,  "look for the same payload in the collection")    \
	X(ARCHIVE, archive, "build the WARC members")                         \
	X(RETURN,  return,  "not wanted any more: back to its queue")         \
	X(COMMIT,  commit,  "hand everything to the frontier")                \
	X(REPORT,  report,  "it is durable: tell")
enum page_step {
#define PAGE_STEP_ENUM(name, fn, text) PAGE_##name,
	PAGE_STEPS(PAGE_STEP_ENUM)
#undef PAGE_STEP_ENUM
	PAGE_STEP_COUNT,
	PAGE_WAIT = PAGE_STEP_COUNT
};

/*
 * A URL of the crawl; robots.txt, whose answer goes to its origin and which has
 * neither a lease nor a number; or a call, which has no lease.
 */
enum page_kind { PAGE_URL, PAGE_OF_ROBOTS, PAGE_OF_CALL };

struct page {
	struct submission submission;    /* its arena is the page's */
	struct mail mail;                /* between loops */
	struct list node;                /* in the list in which it waits */
	struct list all_node;            /* in page_table.all */
	struct fetcher *fetcher, *home;
	struct fetch_crawl *crawl;
	struct host *host;               /* whose slot it has, or NULL */
	struct address *address;         /* counted there */
	struct origin *origin;           /* PAGE_OF_ROBOTS: for whom */
	struct call *call;               /* PAGE_OF_CALL: whose */
	bool as_get;                     /* a redirect left method and body */
	struct call_newest *newest;      /* a look into the archive */
	struct http_decoder *decoder;    /* of a stream, while it lasts */
	struct call_frames *frames;      /* likewise, of a WebSocket */
	char *ws_key;                    /* the one that was sent */
	enum transport_end stream_end;   /* why we ended it; DONE: we did not */
	bool streamed;                   /* its owner has the content */
	enum page_kind kind;
	enum page_step step;
	bool holds_slot;                 /* of its host, and a download */
	bool by_setting;                 /* fetch.resolve has its address */
	bool for_call;                   /* a call, or its robots.txt */
	const struct str *private_hosts; /* of a call: HOST:PORT */
	size_t private_n;
	struct mono address_due;         /* reserved; 0: not yet */
	struct fetcher *lender;          /* its host's loop, while lent */
	size_t bytes_counted;            /* in outbox.uncommitted_bytes */
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
	struct digest digest;            /* of the last body */
	struct digest block;             /* of head and body; may be NONE */
	struct ledger_query lookup;      /* of the digest */
	struct revalidation *recall;     /* an earlier crawl's capture */
	bool damaged;                    /* `content` is incomplete */
	bool too_long;                   /* since it exceeds a limit, decoded */
	bool compared;                   /* with the collection's */
	struct str dup_uri;              /* the original's; empty: none */
	struct journal_source dup_source;
	struct wall dup_date;
	struct warc_member final;        /* the final answer's; or zeros */
	struct wall start;
	struct mono began;
};

/* Pages of others at one loop; beyond it their own loops go on. */
#define PAGE_LENT_MAX 12

/* All pages of one loop. */
struct page_table {
	struct list all;
	struct list woken;               /* continue at the end of the turn */
	bool running;                    /* a page's step */
	uint64_t requests, bytes_in;     /* since the start */
	/* Other loops look for an idle loop by these. */
	struct loop_load load;
	atomic_uint borrowed;            /* pages lent to it, not yet built */
};
void pages_open(struct fetcher *);
/* Free the table and all pages; pages in progress have no other state. */
void pages_close(struct fetcher *);

/* Make a page of the crawl, with one empty hop, before its first step. */
struct page *page_new(struct fetcher *, struct fetch_crawl *, enum page_kind);
void page_free(struct page **);
/*
 * Continue a page whose event has come, with this step: at once, or at the end
 * of the turn if a page's step is running.
 */
void page_resume(struct page *, enum page_step);
/* Continue the page with this step at the end of the turn. */
void page_wake(struct page *, enum page_step);
/* Run all pages that were woken.  Not from within a step. */
void pages_run_woken(struct fetcher *);
#define PAGE_STEP_DECLARE(name, fn, text)                                   \
	enum page_step page_step_##fn(struct page *);
PAGE_STEPS(PAGE_STEP_DECLARE)
#undef PAGE_STEP_DECLARE

/*
 * Set the page's outcome.  `reason` is an exception or a skip_reason; `text` is
 * for the crawl's log.  Returns the successor, COMMIT.
 */
enum page_step page_finish(struct page *, enum outcome outcome, uint8_t reason,
    struct str text);
/* Send the page to another loop, where it runs its step again.  True: it has
 * left; false: it is there already. */
bool page_travel(struct page *, struct fetcher *to);
/*
 * Send a page of robots.txt back to the loop whose origin requested it, where
 * it runs its step again.  True: it has left.
 */
bool page_goes_home(struct page *);
/*
 * When this loop is busy, lend the page to an idle one, where it runs its step
 * again.  True: it has left; it counts as uncommitted here.
 */
bool page_lend(struct page *);
/* Return a lent page, whose records are built, to its lender, which is notified
 * when the page is durable.  page_join() counts the page there. */
void page_unlend(struct page *);
void page_lend_open(struct fetcher *);
/* Measure how busy the loop is: at the end of each turn. */
void page_lend_turn_end(struct fetcher *);
/* Count the page at its present loop; stop counting it. */
void page_join(struct page *);
void page_leave(struct page *);

/* Abort the crawl's exchanges; waiting pages notice in their next step. */
void pages_stop(struct fetcher *, const struct fetch_crawl *);

/* Whether its crawl has excluded it since it was leased, and it was not
 * requested yet. */
bool page_excluded(const struct page *);
/* Whether its crawl keeps what was asked and answered in WARC files. */
bool page_is_archived(const struct page *);
/* The product token of the page's crawl, for robots.txt. */
struct str page_token(const struct page *);
/* The page's origin, when its host failed a moment ago; else NULL. */
struct origin *page_down_origin(struct page *, struct host *);
/* The exception that corresponds to the end of its last exchange. */
enum exception page_exception(const struct page *);
/* Set `content` from the body, without what cannot be decoded (`damaged`). */
void page_decode(struct page *);
/* How many bytes of a body are read, before and after decoding. */
uint64_t page_body_max(const struct page *);
/* Register its metrics. */
void page_fetch_open(void);
/* The current hop. */
static inline struct hop *
page_hop(const struct page *p)
{
	return p->hops[p->hops_n - 1];
}

#endif
