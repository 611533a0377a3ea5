/*
 * lease_service -- queues for other crawlers: they put URLs, lease them, and
 * report what became of them.  Everything that the urlfrontier door needs of
 * the engine (docs/protocols/urlfrontier.md, sections 2 to 5, 7 and 10).
 *
 *               put ──► active ──get──► leased ──put, end of the lease──┐
 *                         ▲  │                                          │
 *                         │  └──put of date 0──► completed ──put────────┤
 *                         └─────────────────────────────────────────────┘
 *
 * Each verb is an object that travels to the ledger's loop and back.  The asker
 * sets `home` and `done` of its call and what the verb asks for; all of it, and
 * the texts that it borrows, is the frontier's until done() is called on
 * `home`.  An answer leaves when everything that it depends on is durable, or
 * with frontier_options.outside_relaxed written to the log.
 *
 * Results of all verbs, beside what stands at each: BROKEN when the ledger
 * failed; DISK_FULL for what writes, while there is no space.
 *
 * Thread: the functions any, unless it is said.
 * Story:  engine/frontier/DESIGN.md
 */
#ifndef ENGINE_FRONTIER_LEASE_SERVICE_H
#define ENGINE_FRONTIER_LEASE_SERVICE_H

#include <stdatomic.h>

#include "engine/frontier/frontier.h"

#define OUTSIDE_KEY_UNITS_MAX 255        /* UTF-16 code units */
#define OUTSIDE_DATE_MAX (UINT32_MAX - 1)   /* later dates count as this */
#define OUTSIDE_LEASE_S 30
#define OUTSIDE_DELAY_S 1
#define OUTSIDE_UNSEEN_MAX 1000000
#define OUTSIDE_LIST_SIZE 100
/* Where frontier_options set none. */
#define OUTSIDE_LISTINGS_MAX 256
#define OUTSIDE_COUNTS_MAX 8

/*
 * The key of a URL that came without: the host, in most cases.  Empty when
 * there is none.  Borrows from `url`.
 */
struct str outside_key(struct str url);
/* The length of UTF-8 in UTF-16 code units. */
size_t outside_key_units(struct str key);

struct outside_call {
	struct mail mail;
	struct promise promise;
	struct ledger_query query;
	struct frontier *frontier;
	struct loop *home;
	void (*done)(struct outside_call *);
	enum err result;
	bool writes;
	bool ends_itself;            /* when cancelled: it has state to free */
	atomic_bool cancelled;
	void (*run)(struct outside_call *);
};
/*
 * Nobody waits for the answer any more: what has not begun is not done, and a
 * walk ends at its next look.  done() is called nevertheless, soon; what a get
 * has leased by then is in its answer.  A put is not cancelled.  Thread: any,
 * while the call is out.
 */
void outside_cancel(struct outside_call *);

/* --- putting -------------------------------------------------------------- */

enum outside_status { OUTSIDE_OK, OUTSIDE_SKIPPED, OUTSIDE_FAIL };

struct outside_item {
	struct str crawl;            /* empty: DEFAULT */
	struct str key;              /* empty: outside_key() */
	struct str url;
	struct str metadata;         /* the door's bytes */
	bool known;                  /* or discovered */
	bool keep_created;           /* `created_s` is not now */
	uint64_t date_s;             /* known: when it is due; 0: completed */
	uint64_t created_s;
	enum outside_status status;  /* the answer */
	/* The frontier's own: creation dates that the index was asked for. */
	uint64_t asked_hash;
	uint32_t asked_crawl, asked_queue, asked_date, asked_created;
	uint8_t asking;
};

/* Puts of one stream are applied in the order in which they were sent. */
struct outside_stream {
	struct list held;
	struct outside_put *waiting;
};
void outside_stream_init(struct outside_stream *);

struct outside_put {
	struct outside_call call;
	struct outside_stream *stream;       /* outlives the put; NULL: none */
	struct outside_item *items;
	size_t items_n;
	/* The frontier's own. */
	struct list held_node;
	size_t at;
	bool refused;
};
/*
 * FAIL comes with result OK: each status says it.  A put that is refused whole,
 * since the disk is full, is answered at once, before those under way.
 */
void outside_put(struct frontier *, struct outside_put *);

/* --- getting -------------------------------------------------------------- */

struct outside_url {
	struct str crawl, key, url, metadata;
	uint32_t crawl_id, queue_id;
	uint64_t hash;
	int64_t leased_us;           /* which lease it is */
};

struct outside_pick;
/*
 * Begin zeroed.  An answer with `more` is one piece of several: call again for
 * the next, with `stop` set to end it early.  URLs of one queue stand together.
 * Memory: all of the answer is `arena`'s, which each call resets.
 */
struct outside_get {
	struct outside_call call;
	struct str crawl, key;
	bool any_crawl;
	uint32_t urls_max, queues_max;       /* 0: no limit */
	uint32_t lease_s;                    /* 0: OUTSIDE_LEASE_S */
	bool stop;
	struct arena arena;
	struct outside_url *urls;
	size_t n;
	bool more;
	/* What was looked at in this call and what was served. */
	uint64_t examined, served;
	/* The frontier's own. */
	bool begun, cut;
	uint64_t ticket_end;
	struct outside_pick *picks;
	size_t picks_n, picks_cap, misses, urls_cap, bytes;
	uint32_t now_s;
};
void outside_get(struct frontier *, struct outside_get *);
/* Its memory; also of one that a frontier that is gone had under way. */
void outside_get_free(struct outside_get *);

/* URLs that were leased and never sent: they wait again. */
struct outside_release {
	struct outside_call call;
	const struct outside_url *urls;
	size_t n;
};
void outside_release(struct frontier *, struct outside_release *);

/* --- control and statistics ----------------------------------------------- */

enum outside_verb {
	OUTSIDE_STATS,           /* of the queue, or of the crawl without key */
	OUTSIDE_SET_ACTIVE,      /* value 0 or 1 */
	OUTSIDE_GET_ACTIVE,      /* -> value */
	OUTSIDE_SET_DELAY,       /* value in s; no key: the default of all */
	OUTSIDE_BLOCK_UNTIL,     /* value is a date in s; 0: no longer */
	OUTSIDE_SET_LIMIT,       /* completed URLs; 0: none; ABSENT */
	OUTSIDE_DELETE_QUEUE,    /* -> value: URLs that are gone */
	OUTSIDE_DELETE_CRAWL,    /* the same */
	OUTSIDE_TOTALS,          /* the stats of all crawls together */
};

struct outside_stats {
	uint64_t active, leased, completed, queues, active_queues;
	/* TOTALS: queues that may be served, and how late the first of them
	 * is; queues that are blocked, as counted some seconds ago. */
	uint64_t ready, lag_s, blocked;
	/* TOTALS: listings and counts that are open, those that wait for
	 * their first piece, and records that all of them have read. */
	uint64_t listings, counts, waiting, scanned;
};

struct outside_control {
	struct outside_call call;
	enum outside_verb verb;
	struct str crawl, key;
	uint64_t value;
	struct outside_stats stats;
	/* The frontier's own: how far a pass over a crawl's queues is. */
	size_t at, cap;
};
/* FULL: OUTSIDE_UNSEEN_MAX queues are remembered that nobody has seen. */
void outside_control(struct frontier *, struct outside_control *);

/*
 * Crawls of outsiders as they are, at most `max`, in no order.  Memory: `a`.
 * Thread: the ledger's loop.
 */
struct outside_crawl_look {
	uint32_t id;
	struct str name;
	struct outside_stats stats;
};
struct outside_crawl_look *outside_look(struct frontier *, struct arena *a,
    size_t max, size_t *n);

/* --- reading -------------------------------------------------------------- */

struct outside_entry {
	struct str key, url, metadata;
	uint32_t date_s, created_s;          /* date 0: completed */
};

/* ABSENT when it is unknown; INPUT when no key can be derived. */
struct outside_status_of {
	struct outside_call call;
	struct str crawl, key, url;
	struct arena arena;                  /* the asker's, of the answer */
	struct outside_entry entry;
	/* The frontier's own. */
	uint32_t crawl_id, queue_id, date_s;
};
void outside_status_of(struct frontier *, struct outside_status_of *);

enum outside_listing {
	OUTSIDE_LIST_CRAWLS,     /* names of crawls that have a queue */
	OUTSIDE_LIST_QUEUES,     /* keys, by their bytes */
	OUTSIDE_LIST_URLS,       /* by key, date, URL */
	OUTSIDE_COUNT_URLS,      /* -> count */
	OUTSIDE_PURGE_URLS,      /* -> count; created before `before_s` */
};

struct outside_walk;
/*
 * Begin zeroed.  Call until `more` is false, or with `stop`; before
 * frontier_close() each listing is at its end.  URLs are those of one moment.
 * Memory: as in a get.
 *
 * One piece of all listings is read at a time.  Counts and purges beyond
 * frontier_options.outside_counts_max wait for one to end.  FULL: as many
 * listings of URLs as outside_listings_max are open.
 */
struct outside_list {
	struct outside_call call;
	enum outside_listing kind;
	struct str crawl, key;               /* no key: the whole crawl */
	struct str filter;                   /* in the URL; empty: none */
	bool ignore_case;                    /* of ASCII letters */
	bool include_inactive;               /* queues */
	struct str after;                    /* queues: behind this key */
	uint64_t start, size;                /* of what matches; 0: 100 */
	uint64_t before_s;
	bool stop;
	struct arena arena;
	struct outside_entry *entries;       /* crawls: the name is in `key` */
	size_t n;
	uint64_t count;
	bool more;
	/* The frontier's own. */
	struct outside_walk *walk;
	struct list scan_node;               /* in outside.scans, or in none */
};
void outside_list(struct frontier *, struct outside_list *);

/* Compare memory with the index, on the ledger's loop when all is applied. */
void outside_check(struct frontier *);

#endif
