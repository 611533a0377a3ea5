/*
 * frontier -- what URLs a crawl knows, which are waiting, which are out, and
 * what became of them.  It runs on the ledger's loop and puts every change into
 * the ledger's gathering group; nobody is told of one before it is durable.
 *
 *     unknown ──found──► waiting ──serve──► leased ──finish──► done
 *        │                  ▲                  │
 *        └─skipped──found───┘ ◄────returned────┘
 *
 * Others send it mail: submissions (what became of a leased URL, and what was
 * found), serves (give me URLs of this queue), commands (a crawl's life).
 *
 * Thread: the ledger's loop, but for the functions that say "any".
 * Limits: frontier.known_mem, frontier.hosts_active_max.
 * Story:  engine/frontier/DESIGN.md
 */
#ifndef ENGINE_FRONTIER_FRONTIER_H
#define ENGINE_FRONTIER_FRONTIER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/time.h"
#include "engine/frontier/crawl_log.h"
#include "engine/ledger/ledger.h"
#include "engine/policy/skip_reason.h"
#include "os/transport.h"

struct frontier;
struct crawl;

/* --- words -------------------------------------------------------------- */

enum crawl_kind { CRAWL_CRAWL = 0, CRAWL_FRONTIER = 1, CRAWL_HARVEST = 2 };

#define CRAWL_STATES(X)                                                     \
	X(PENDING, "pending")                                                 \
	X(RUNNING, "running")                                                 \
	X(PAUSED, "paused")                                                   \
	X(COMPLETE, "complete")                                               \
	X(CANCELLED, "cancelled")                                             \
	X(FAILED, "failed")
enum crawl_state {
#define CRAWL_STATE_ENUM(name, word) CRAWL_##name,
	CRAWL_STATES(CRAWL_STATE_ENUM)
#undef CRAWL_STATE_ENUM
	CRAWL_STATE_COUNT
};
/* "running" ... */
const char *crawl_state_name(enum crawl_state);
/* Reasons of a state that name who asked for it; the others name a cause. */
#define CRAWL_BY_CLIENT "by a client"
#define CRAWL_BY_RESUME "by --resume"
/* Append to a state's name: " by a client", ": max_items", or nothing. */
void crawl_reason_put(struct str reason, struct buf *);

/* Why a URL has no answer (realtime.md section 4). */
#define EXCEPTIONS(X)                                                       \
	X(DNS, "dns")                                                         \
	X(CONNECT, "connect")                                                 \
	X(TLS, "tls")                                                         \
	X(TIMEOUT, "timeout")                                                 \
	X(RESET, "reset")                                                     \
	X(PROTOCOL, "protocol")                                               \
	X(REDIRECTS, "redirects")                                             \
	X(DECODE, "decode")
enum exception {
#define EXCEPTION_ENUM(name, word) EXCEPTION_##name,
	EXCEPTIONS(EXCEPTION_ENUM)
#undef EXCEPTION_ENUM
	EXCEPTION_COUNT
};
const char *exception_name(enum exception);

/* Every distinct URL found is in exactly one of these, or still queued. */
struct crawl_counts {
	uint64_t queued;                    /* waiting or leased */
	uint64_t leased;
	uint64_t items;
	uint64_t status[6];                 /* items by class: [2] is 2xx; */
	uint64_t not_found;                 /* every 4xx is in status[4] too */
	uint64_t exceptions[EXCEPTION_COUNT];
	uint64_t skips[SKIP_COUNT];
	uint64_t aux;                       /* sitemaps: neither */
	uint64_t duplicates, near_duplicates;
	uint64_t body_bytes, warc_bytes;
};
uint64_t crawl_exceptions(const struct crawl_counts *);
uint64_t crawl_skips(const struct crawl_counts *);

/* --- URLs --------------------------------------------------------------- */

enum found_flag {
	FOUND_SEED = 1, FOUND_EMBED = 2, FOUND_SITEMAP = 4,
	FOUND_HOP = 8,     /* a redirect's target, fetched within its page */
	/* The upper half of a sitemap's flags: indexes that lead to it. */
	FOUND_LEVEL = 16,
};
#define FOUND_LEVEL_MAX 15
#define FOUND_DEPTH_MAX UINT16_MAX

struct found {
	struct str url;           /* canonical */
	struct str key;           /* of its queue: the host */
	uint64_t hash;            /* frontier_hash() */
	double cost;
	uint16_t depth;
	uint8_t flags;
	uint8_t skip;             /* enum skip_reason; SKIP_NONE: queue it */
};
/* Thread: any. */
uint64_t frontier_hash(uint32_t crawl, struct str url);

/* A URL handed out to a fetching loop; it lives in that loop's memory. */
struct lease {
	struct str url;
	uint64_t hash;
	uint32_t rank;            /* its place in the queue; part of its key */
	double cost;
	uint16_t depth;
	uint8_t flags;
	uint32_t queue;
	uint64_t via_seq;         /* the capture that found it; 0: none */
	struct str via;           /* that capture's URL */
};

enum outcome {
	OUTCOME_NONE,             /* only links, or archive, or puts */
	OUTCOME_ITEM,
	OUTCOME_EXCEPTION,
	OUTCOME_SKIPPED,
	OUTCOME_AUX,              /* a sitemap, read */
	OUTCOME_RETURNED,         /* not fetched; it waits again */
};

/* Puts that ride with a submission: the robots cache, cookies. */
struct extra_put {
	enum index_family family;
	struct str key, value;
};

/*
 * What a loop hands over when a page is finished.  All memory is the
 * submission's arena and buffers; it is the frontier's until durable().
 */
struct submission {
	struct mail mail;
	struct promise promise;
	struct frontier *frontier;
	struct loop *home;
	/* On the home loop: the group is durable (OK), or BROKEN. */
	void (*durable)(struct submission *, enum err);
	struct arena arena;
	uint32_t crawl;

	enum outcome outcome;
	uint8_t reason;                     /* exception or skip_reason */
	struct lease lease;
	uint16_t status;
	uint64_t body_bytes;                /* of AUX: unpacked */
	uint64_t simhash;
	bool duplicate;

	struct buf members;                 /* gzip members, all hops */
	struct archive_member *parts;
	size_t parts_n;
	size_t final_part;                  /* whose offset the journal keeps */
	struct archive_place place;         /* an item's; restored: given */
	struct buf journal_rest;            /* an item's; a failed URL's when
	                                     * something of it is archived */
	struct str digest_key, digest_rest; /* an original: collection.h */
	/* Empty: no later crawl asks with a validator.  Seq 0: this item's. */
	struct str validator_key;
	uint32_t validator_crawl;
	uint64_t validator_seq;

	struct found *found;
	size_t found_n;
	const void *rules;                  /* by which they were judged */
	struct extra_put *puts;
	size_t puts_n;
	const struct crawl_line *lines;     /* for the crawl's log */
	size_t lines_n;
	struct handoff *fresh;                /* of an item: see options.kept */

	/* Answers. */
	enum err result;
	uint64_t seq;                       /* of an item; restored: given */
	uint64_t group;
	bool near_duplicate;

	/* The frontier's own: links that its table has forgotten. */
	struct list held_node;
	struct ledger_query lookup;
	struct url_entry *missing;
	size_t missing_n;
	bool answered;
};
/* Thread: any. */
void frontier_submit(struct frontier *, struct submission *);

/* A read of the index that waits until it may begin; the frontier's. */
struct eviction_wait {
	struct list node;
	void (*open)(struct frontier *, struct eviction_wait *);
};

/*
 * Ask for URLs of one queue.  The answer comes to `home`; n may be 0: the queue
 * will be noted again when there is something.
 */
struct serve {
	struct ledger_query query;          /* the frontier's */
	struct mail mail;
	struct frontier *frontier;
	struct loop *home;
	void (*served)(struct serve *);
	uint32_t crawl, queue;
	size_t want;
	bool note_seen;                     /* a note came since the last one */
	struct arena arena;
	struct lease *leases;
	size_t n;
	struct buf from;                    /* the frontier's cursor, private */
	size_t scan;
	struct eviction_wait gate;
	struct why result;
	/* The asker's own. */
	void *owner;
	struct list node;
	size_t taken;
};
/* Thread: any. */
void frontier_serve(struct frontier *, struct serve *);

/* --- loops and observers ------------------------------------------------ */

/*
 * "This queue has work", once until a serve says that it was seen: the note is
 * the queue's own mail and must not be posted while it still lies in a box.
 */
struct queue_note {
	struct mail mail;
	void *port;                         /* frontier_port.arg */
	uint32_t crawl, queue;
	struct str key;                     /* lives as long as the crawl */
};

struct frontier_port {
	struct loop *loop;
	void (*work)(struct queue_note *);  /* on that loop */
	void *arg;
};

/* A crawl's state and counters, as they became durable. */
struct crawl_view {
	uint32_t id;
	enum crawl_kind kind;
	enum crawl_state state;
	char reason[64];                    /* "max_items" ... */
	struct wall created, started, ended;   /* 0: not yet */
	struct crawl_counts counts;
	uint64_t item_last;   /* number of the newest; above counts.items in
	                       * a rebuilt crawl that has gaps */
	uint32_t queues;
	uint64_t log_first, log_last;       /* its log; last 0: empty */
	uint64_t sitemap_bytes;             /* read, unpacked */
};

/* --- crawls ------------------------------------------------------------- */

/* What is written once about a crawl. */
struct crawl_spec {
	enum crawl_kind kind;
	struct str name;
	const struct str *tags;
	size_t tags_n;
	const struct str *seeds;            /* as given */
	size_t seeds_n;
	struct str policy;                  /* JSON */
	struct str options;                 /* the engine's own, JSON */
	struct str warc_dir;
	uint64_t max_items;                 /* 0: no limit */
	uint64_t host_urls_max;             /* traps.host_urls_max; 0: none */
	int64_t duration_ms_max;            /* from its start; 0: no limit */
	uint64_t warc_bytes_max;            /* 0: no limit */
};
void crawl_spec_put(const struct crawl_spec *, struct buf *);
/* Borrows from `value`; the arrays are the arena's. */
bool crawl_spec_parse(struct str value, struct arena *, struct crawl_spec *);

/*
 * How many URLs frontier_load() and frontier_continue() have put into the known
 * table.  Thread: any.
 */
struct frontier_loading {
	atomic_uint_fast64_t urls;
};

struct frontier_options {
	/*
	 * It is to be replaced: read what can be read, write nothing.  Only
	 * views, specs and ledger_index() can be had of it, and it is ended by
	 * frontier_free() alone.
	 */
	bool old;
	const char *data_dir;
	bool load_later;                    /* frontier_load() is to come */
	struct frontier_loading *loading;   /* counted there; NULL: nowhere */
	size_t known_bytes_max;
	struct ledger_options ledger;       /* but dir, arg, callbacks */
	const struct frontier_port *ports;  /* the fetching loops */
	size_t ports_n;
	struct host_shard *host_shard; /* hosts to ports; NULL: to 0 */
	unsigned hosts_active_max;          /* queues a port holds; 0: all */
	/* Outsiders' answers leave when the log is written, which is synced
	 * each second (urlfrontier.durability). */
	bool lease_relaxed;
	/* Outsiders' listings, and counts, at once; 0: as in lease_service.h.
	 */
	unsigned lease_listings_max, lease_counts_max;
	/* A crawl's view changed and is durable; coalesced, on this loop. */
	void (*viewed)(void *arg, const struct crawl_view *);
	/* An item with `fresh` is durable; on this loop, before its view.  It
	 * may take `fresh`. */
	void (*kept)(void *arg, struct submission *);
	/* The crawl's WARC got a new warcinfo: loops are to refer to it. */
	void (*warcinfo)(void *arg, uint32_t crawl, const char *filename,
	    struct buf *out);
	/* A crawl ends with the group that is gathering. */
	void (*ending)(void *arg, uint32_t crawl);
	void (*health)(void *arg, enum ledger_health, const char *text);
	void *arg;
	const char *token;                  /* 8 of [a-z0-9] */
	uint64_t rollover_bytes;
	int64_t rollover_s;
	/* More crawls than these wait for one to end, the oldest first. */
	unsigned running_max;               /* 0: no limit */
	unsigned pending_max;               /* 0: no limit */
	unsigned log_max;                   /* of a crawl; 0: CRAWL_LOG_KEPT */
	/* A crawl's sitemaps, and their unpacked bytes; 0: no limit. */
	uint64_t sitemap_files_max, sitemap_bytes_max;
	/* Crawls are paused when all of them have written so much; 0: never. */
	uint64_t archive_bytes_max;
};

/*
 * Open the ledger in data_dir, recover, and start its threads.  Groups flow
 * once the loop runs.  Errors: as ledger_open() and ledger_recover().
 */
MUST_USE enum err frontier_open(struct loop *, const struct frontier_options *,
    struct frontier **, struct why *);
/*
 * With `load_later`, once, before frontier_continue() and before the loop runs:
 * load the known URLs of outsiders' crawls.  Errors: CORRUPT, IO.
 */
MUST_USE enum err frontier_load(struct frontier *, struct why *);
/* How many URLs frontier_load() will count. */
uint64_t frontier_load_urls(const struct frontier *);
void frontier_close(struct frontier *, void (*closed)(void *arg), void *arg);
void frontier_free(struct frontier **);
struct ledger *frontier_ledger(struct frontier *);

/*
 * Begin a crawl: its record and its seeds go out in one group.  `*id` is valid
 * at once.  It is `pending` while running_max others run.  Errors: BROKEN,
 * DISK_FULL, FULL (pending_max).
 */
/* Those errors, without beginning any. */
MUST_USE enum err frontier_may_begin(const struct frontier *, struct why *);
MUST_USE enum err frontier_begin(struct frontier *, const struct crawl_spec *,
    const struct found *seeds, size_t seeds_n, struct promise *,
    uint32_t *id, struct why *);
/* The id that the next frontier_begin() gives; seeds are hashed with it. */
uint32_t frontier_next_crawl(const struct frontier *);
/* Continue a crawl that an earlier process left: loads what it knows. */
MUST_USE enum err frontier_continue(struct frontier *, uint32_t id,
    struct why *);
/* The spec as it was written.  Memory: `a`. */
MUST_USE enum err frontier_spec(struct frontier *, uint32_t id, struct arena *,
    struct crawl_spec *, struct why *);
/*
 * Pause, resume, cancel, or end by a limit.  Repeating one is no error; an
 * ended crawl cannot be paused or resumed (STATE).  One that is resumed while
 * running_max others run is `pending`.
 */
MUST_USE enum err frontier_set_state(struct frontier *, uint32_t id,
    enum crawl_state, const char *reason, struct why *);
MUST_USE enum err frontier_view(struct frontier *, uint32_t id,
    struct crawl_view *);
/* It has ended, and the rules that it was given are no more. */
void frontier_forget_rules(struct frontier *, uint32_t id);
/* A line for the crawl's log; nothing, when there is no such crawl. */
void frontier_log(struct frontier *, uint32_t id, const struct crawl_line *);
/* All crawls by id: start with *at = 0; false at the end. */
bool frontier_next_view(struct frontier *, size_t *at, struct crawl_view *);
/*
 * The capture of a URL by an ended crawl, from the index alone; ABSENT when
 * there is none.  Memory: `a`.  Thread: the index thread's, in a query.
 */
struct journal_entry;
MUST_USE enum err frontier_old_capture(struct index *, uint32_t crawl,
    struct str key, struct str url, struct arena *a, struct journal_entry *);
/*
 * The other crawls of a collection, which is one WARC directory.  Ids; newest
 * and oldest are of those that have stopped and captured something, UINT32_MAX:
 * none has.
 */
struct collection_crawls {
	uint32_t newest, oldest;
	bool first;                      /* no other crawl began before it */
};
/* Seen from crawl `id`, which may not have begun.  Thread: the ledger's. */
struct collection_crawls frontier_collection(struct frontier *,
    struct str warc_dir, uint32_t id);
/* The newest crawl of that name; UINT32_MAX when there is none. */
uint32_t frontier_find_name(struct frontier *, struct str name);

enum url_state { URL_UNKNOWN, URL_WAITING, URL_LEASED, URL_DONE, URL_SKIPPED };
/*
 * Known?  From memory; only of crawls that run here.  UNKNOWN also when the
 * table had to forget it (frontier.known_mem).
 */
enum url_state frontier_url_state(struct frontier *, uint32_t crawl,
    struct str url);

/*
 * The same from the index, for a crawl that need not run, and what is written
 * of the URL; `queue` is its host.  A URL that is leased or waits costs a walk
 * over its queue.  Before the loops start.
 */
struct url_fact {
	enum outcome outcome;     /* of DONE */
	uint8_t reason;           /* enum exception or enum skip_reason */
	uint8_t flags;            /* enum found_flag */
	uint16_t depth;
	double cost;
	struct wall found;
};
enum url_state frontier_find_url(struct frontier *, uint32_t crawl,
    struct str url, struct str queue, struct url_fact *);

/* The archived answer of a URL that failed. */
struct url_answer {
	uint16_t status;             /* 0: nothing is archived */
	struct str file;             /* the WARC file's name, without .open */
	uint64_t offset;             /* of the last answer's record */
};

/*
 * A crawl as its WARC files tell it, for engine/rebuild.h; the ledger has no
 * threads.  Restore the crawl, find its seeds, and in the order of the captures
 * lease each URL and settle it with its links.
 *
 * EXISTS: there is such a crawl.
 */
MUST_USE enum err frontier_restore(struct frontier *, uint32_t id,
    const struct crawl_spec *, struct wall created, struct why *);
void frontier_restore_found(struct frontier *, uint32_t crawl,
    const struct found *);
/*
 * Lease the URL.  Where it was found before, `lease` gets the cost and flags of
 * then, else those of `u`; depth is u's.  STATE when it is done already.
 * Memory: `lease` borrows the URL from `u`.
 */
MUST_USE enum err frontier_restore_lease(struct frontier *, uint32_t crawl,
    const struct found *u, struct lease *lease, struct why *);
/*
 * What became of it: with `place`, and for an item with `seq`, set.  The index
 * has it when this returns.  No promise is kept.
 */
MUST_USE enum err frontier_restore_settle(struct frontier *,
    struct submission *, struct why *);
/* Each URL that waits; judge() says true where the crawl would skip it. */
MUST_USE enum err frontier_restore_skip(struct frontier *, uint32_t crawl,
    enum skip_reason, bool (*judge)(void *arg, struct str url, uint8_t flags),
    void *arg, struct why *);
/* All is told: it has ended if nothing waits, at `last`, else it can go on. */
MUST_USE enum err frontier_restore_end(struct frontier *, uint32_t crawl,
    struct wall last, uint64_t warc_bytes, struct why *);

/*
 * What the replaced index knew of the crawl as it was then: numbers that were
 * given are given to no other, and one that had ended has ended.
 */
void frontier_restore_view(struct frontier *, const struct crawl_view *was);

void frontier_check(const struct frontier *);  /* every invariant; aborts */

#endif
