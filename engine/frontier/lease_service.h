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
 * with frontier_options.lease_relaxed written to the log.
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

#define LEASE_KEY_UNITS_MAX 255        /* UTF-16 code units */
#define LEASE_DATE_MAX (UINT32_MAX - 1)   /* later dates count as this */
#define LEASE_LEASE_S 30
#define LEASE_DELAY_S 1
#define LEASE_UNSEEN_MAX 1000000
#define LEASE_LIST_SIZE 100

/*
 * The key of a URL that came without: the host, in most cases.  Empty when
 * there is none.  Borrows from `url`.
 */
struct str lease_key(struct str url);
/* The length of UTF-8 in UTF-16 code units. */
size_t lease_key_units(struct str key);

struct lease_call {
	struct mail mail;
	struct promise promise;
	struct ledger_query query;
	struct frontier *frontier;
	struct loop *home;
	void (*done)(struct lease_call *);
	enum err result;
	bool writes;
	bool ends_itself;            /* when cancelled: it has state to free */
	atomic_bool cancelled;
	void (*run)(struct lease_call *);
	/* Reads that wait for the known table. */
	struct eviction_wait gate;
	void (*again)(struct lease_call *);
	ledger_query_done *read;
};
/*
 * Nobody waits for the answer any more: what has not begun is not done, and a
 * walk ends at its next look.  done() is called nevertheless, soon; what a get
 * has leased by then is in its answer.  A put is not cancelled.  Thread: any,
 * while the call is out.
 */
void lease_cancel(struct lease_call *);

/* --- putting -------------------------------------------------------------- */

enum lease_status { LEASE_OK, LEASE_SKIPPED, LEASE_FAIL };

struct lease_item {
	struct str crawl;            /* empty: DEFAULT */
	struct str key;              /* empty: lease_key() */
	struct str url;
	struct str metadata;         /* the door's bytes */
	bool known;                  /* or discovered */
	bool keep_created;           /* `created_s` is not now */
	uint64_t date_s;             /* known: when it is due; 0: completed */
	uint64_t created_s;
	enum lease_status status;  /* the answer */
	/* The frontier's own: what the index was asked for.  The state is that
	 * of a URL that the known table does not have. */
	uint64_t asked_hash, asked_evictions;
	uint32_t asked_crawl, asked_queue, asked_date, asked_created;
	uint8_t asking, asked_state;
	bool asked_known;
};

/* Puts of one stream are applied in the order in which they were sent. */
struct lease_stream {
	struct list held;
	struct lease_put *waiting;
};
void lease_stream_init(struct lease_stream *);

struct lease_put {
	struct lease_call call;
	struct lease_stream *stream;       /* outlives the put; NULL: none */
	struct lease_item *items;
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
void lease_put(struct frontier *, struct lease_put *);

/* --- getting -------------------------------------------------------------- */

struct lease_url {
	struct str crawl, key, url, metadata;
	uint32_t crawl_id, queue_id;
	uint64_t hash;
	int64_t leased_us;           /* which lease it is */
};

struct lease_pick;
/*
 * Begin zeroed.  An answer with `more` is one piece of several: call again for
 * the next, with `stop` set to end it early.  URLs of one queue stand together.
 * Memory: all of the answer is `arena`'s, which each call resets.
 */
struct lease_get {
	struct lease_call call;
	struct str crawl, key;
	bool any_crawl;
	uint32_t urls_max, queues_max;       /* 0: no limit */
	uint32_t lease_s;                    /* 0: LEASE_LEASE_S */
	bool stop;
	struct arena arena;
	struct lease_url *urls;
	size_t n;
	bool more;
	/* URLs that this call examined, and URLs that it served. */
	uint64_t examined, served;
	/* The frontier's own. */
	bool begun, cut;
	uint64_t ticket_end;
	struct arena walk;           /* what the round's walk met */
	size_t walk_before;          /* its size when the walk began */
	struct lease_pick *picks;
	size_t picks_n, picks_cap, misses, urls_cap, bytes;
	int64_t piece_end_ns;        /* monotonic */
	uint64_t put_group, applied; /* of the round's queues; in the index */
	uint64_t evictions;          /* of the known table, as it begins */
	uint32_t now_s;
};
void lease_get(struct frontier *, struct lease_get *);
/* Its memory; also of one that a frontier that is gone had under way. */
void lease_get_free(struct lease_get *);

/* URLs that were leased and never sent: they wait again. */
struct lease_release {
	struct lease_call call;
	const struct lease_url *urls;
	size_t n;
};
void lease_release(struct frontier *, struct lease_release *);

/* --- control and statistics ----------------------------------------------- */

enum lease_verb {
	LEASE_STATS,           /* of the queue, or of the crawl without key */
	LEASE_SET_ACTIVE,      /* value 0 or 1 */
	LEASE_GET_ACTIVE,      /* -> value */
	LEASE_SET_DELAY,       /* value in s; no key: the default of all */
	LEASE_BLOCK_UNTIL,     /* value is a date in s; 0: no longer */
	LEASE_SET_LIMIT,       /* completed URLs; 0: none; ABSENT */
	LEASE_DELETE_QUEUE,    /* -> value: URLs that are gone */
	LEASE_DELETE_CRAWL,    /* the same */
	LEASE_TOTALS,          /* the stats of all crawls together */
};

struct lease_stats {
	uint64_t active, leased, completed, queues, active_queues;
	/* TOTALS: queues that may be served, and how late the first of them
	 * is; queues that are blocked, as counted some seconds ago. */
	uint64_t ready, lag_s, blocked;
	/* TOTALS: listings and counts that are open, those that wait for
	 * their first piece, and records that all of them have read. */
	uint64_t listings, counts, waiting, scanned;
};

struct lease_control {
	struct lease_call call;
	enum lease_verb verb;
	struct str crawl, key;
	uint64_t value;
	struct lease_stats stats;
	/* The frontier's own: how far a pass over a crawl's queues is. */
	size_t at, cap;
};
/* FULL: LEASE_UNSEEN_MAX queues are remembered that nobody has seen. */
void lease_control(struct frontier *, struct lease_control *);

/*
 * Crawls of outsiders as they are, at most `max`, in no order.  Memory: `a`.
 * Thread: the ledger's loop.
 */
struct lease_crawl_look {
	uint32_t id;
	struct str name;
	struct lease_stats stats;
};
struct lease_crawl_look *lease_look(struct frontier *, struct arena *a,
    size_t max, size_t *n);

/* --- reading -------------------------------------------------------------- */

struct lease_entry {
	struct str key, url, metadata;
	uint32_t date_s, created_s;          /* date 0: completed */
};

/* ABSENT when it is unknown; INPUT when no key can be derived. */
struct lease_status_of {
	struct lease_call call;
	struct str crawl, key, url;
	struct arena arena;                  /* the asker's, of the answer */
	struct lease_entry entry;
	/* The frontier's own. */
	uint32_t crawl_id, queue_id, date_s;
	uint64_t hash;
	bool evicted;                        /* or unknown: the index says */
};
void lease_status_of(struct frontier *, struct lease_status_of *);

enum lease_listing {
	LEASE_LIST_CRAWLS,     /* names of crawls that have a queue */
	LEASE_LIST_QUEUES,     /* keys, by their bytes */
	LEASE_LIST_URLS,       /* by key, date, URL */
	LEASE_COUNT_URLS,      /* -> count */
	LEASE_PURGE_URLS,      /* -> count; created before `before_s` */
};

struct lease_walk;
/*
 * Begin zeroed.  Call until `more` is false, or with `stop`; before
 * frontier_close() each listing is at its end.  URLs are those of one moment.
 * Memory: as in a get.
 *
 * One piece of all listings is read at a time.  Counts and purges beyond
 * frontier_options.lease_counts_max wait for one to end.  FULL: as many
 * listings of URLs as lease_listings_max are open.
 */
struct lease_list {
	struct lease_call call;
	enum lease_listing kind;
	struct str crawl, key;               /* no key: the whole crawl */
	struct str filter;                   /* in the URL; empty: none */
	bool ignore_case;                    /* of ASCII letters */
	bool include_inactive;               /* queues */
	struct str after;                    /* queues: behind this key */
	uint64_t start, size;                /* of what matches; 0: 100 */
	uint64_t before_s;
	bool stop;
	struct arena arena;
	struct lease_entry *entries;       /* crawls: the name is in `key` */
	size_t n;
	uint64_t count;
	bool more;
	/* The frontier's own. */
	bool ours;                           /* lease_view_list() */
	struct lease_walk *walk;
	struct list scan_node;               /* in leases.scans, or in none */
};
void lease_list(struct frontier *, struct lease_list *);

/* --- lease_view.c: crawls of ours ----------------------------------------- */

/*
 * Crawls of ours, for outsiders who may look at them: queues, URLs and figures,
 * in the words of this file.  Nothing is changed and nothing leased.
 *
 *     waits, leased     active; its date is when it was found
 *     done              completed; when it was found is not kept any more
 *     never queued      (out of scope, too deep) not shown
 *
 * A crawl's name is "crawl/7", by its number; a queue's key is the host.  In a
 * queue completed URLs come first, by their bytes, then the others in the order
 * in which they will be fetched.
 *
 * URLs and their states are those that are durable, of one moment; figures may
 * run ahead of that by what is being gathered, for which they wait.
 *
 * Memory:  a listing of queues, or of URLs of a whole crawl, takes 24 bytes for
 *          each queue of the crawl while it is under way.
 */
#define LEASE_VIEW_NO_CRAWL UINT32_MAX

/*
 * Is this the name of a crawl of ours, or one that a crawl of ours may get?
 * `*id` is its number; LEASE_VIEW_NO_CRAWL when no crawl will ever have it.
 */
bool lease_view_name(struct str crawl, uint32_t *id);

/*
 * All but PURGE_URLS, of a crawl with such a name.  LIST_CRAWLS: all of them,
 * outsiders' too; one of outsiders' that has such a name is left out.
 */
void lease_view_list(struct frontier *, struct lease_list *);
/* STATS alone.  It goes through all queues, if no key is given. */
void lease_view_stats(struct frontier *, struct lease_control *);
/*
 * A URL of which the known table says nothing (the crawl has ended, or
 * frontier.known_mem) costs a walk over its queue.
 */
void lease_view_status(struct frontier *, struct lease_status_of *);

#endif
