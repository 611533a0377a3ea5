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

#include "engine/frontier/crawl_spec.h"
#include "engine/frontier/serve.h"
#include "engine/ledger/ledger.h"

struct frontier;

struct frontier_options {
	/*
	 * It is to be replaced: read what can be read, write nothing.  Only
	 * views, specs and ledger_index() can be had of it, and it is ended by
	 * frontier_free() alone.
	 */
	bool old;
	const char *data_dir;
	bool load_later;                    /* frontier_load() is to come */
	/* Counts the URLs that frontier_load() and frontier_continue() have put
	 * into the known table; or NULL. */
	atomic_uint_fast64_t *urls_loaded;
	size_t known_bytes_max;
	struct ledger_options ledger;       /* but dir, arg, callbacks */
	const struct frontier_port *ports;  /* the fetching loops */
	size_t ports_n;
	struct host_shard *host_shard; /* hosts to ports; NULL: to 0 */
	unsigned hosts_active_max;          /* queues a port holds; 0: all */
	/* Outsiders' answers leave when the log is written, which is synced
	 * each second (urlfrontier.durability). */
	bool lease_relaxed;
	/* Outsiders' listings, and counts, at once. */
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
	/*
	 * The teardown of a crawl, once its end is durable; or NULL.  All loops
	 * have seen the end; nobody refers to the crawl any more, on each of
	 * the loops; each of them was called.
	 */
	void (*ended)(void *arg, uint32_t crawl);
	void (*forget)(void *arg, uint32_t crawl, size_t loop);
	void (*forgotten)(void *arg, uint32_t crawl);
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
/* Errors: BROKEN, DISK_FULL. */
MUST_USE enum err frontier_may_write(const struct frontier *, struct why *);
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
/* Close the crawl's WARC file, if one is open, in the gathering group; what
 * comes later goes to another file. */
void frontier_end_file(struct frontier *, uint32_t id);
/* Until this reference is given back, its teardown waits, and so does its
 * deletion.  There is such a crawl. */
struct crawl *frontier_ref(struct frontier *, uint32_t id);
void crawl_unref(struct crawl *);
/* A line for the crawl's log; nothing, when there is no such crawl. */
void frontier_log(struct frontier *, uint32_t id, const struct crawl_line *);
/* All crawls by id: start with *at = 0; false at the end. */
bool frontier_next_view(struct frontier *, size_t *at, struct crawl_view *);
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

#endif
