/*
 * core -- what all files of engine/frontier share: the loop, the ledger, the
 * known table, and the frontier's parts.
 *
 * A part's state belongs to the file that its header names; other files call
 * that file's functions.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_CORE_H
#define ENGINE_FRONTIER_CORE_H

#include "base/map.h"
#include "base/metric.h"
#include "engine/frontier/frontier.h"
#include "engine/ledger/url_table.h"

struct host_slots;
struct lease_service;
struct fresh_batch;
struct frontier_places;

#define FRONTIER_METRICS(X)                                                  \
	X(KNOWN_URLS, GAUGE, "argiope_known_urls",                           \
	    "URLs in the known table.")                                      \
	X(KNOWN_BYTES, GAUGE, "argiope_known_bytes",                         \
	    "Memory of the known table; frontier.known_mem is its limit.")   \
	X(KNOWN_FORGOTTEN, COUNTER, "argiope_known_forgotten_total",         \
	    "URLs that left the known table for the index.")                 \
	X(KNOWN_ASKED, COUNTER, "argiope_known_asked_total",                 \
	    "URLs that the index was asked for.")                            \
	X(KNOWN_RECALLED, COUNTER, "argiope_known_recalled_total",           \
	    "URLs that the index knew.")                                     \
	X(QUEUES_KNOWN, GAUGE, "argiope_queues_known",                       \
	    "Queues in memory, of crawls that have not ended.")              \
	X(SITEMAPS_QUEUED, COUNTER, "argiope_sitemaps_queued_total",         \
	    "Sitemaps that crawls have queued.")                             \
	X(SITEMAPS_DROPPED, COUNTER, "argiope_sitemaps_dropped_total",       \
	    "Sitemaps left out by sitemap.files_max, sitemap.bytes_max, or " \
	    "a crawl's limit of pages.")                                     \
	X(SITEMAPS_READ, COUNTER, "argiope_sitemaps_read_bytes_total",       \
	    "Unpacked bytes of the sitemaps that crawls have read.")         \
	X(ARCHIVE_BYTES, GAUGE, "argiope_archive_bytes",                     \
	    "Bytes in WARC files of all crawls that were not deleted.")      \
	X(ARCHIVE_BYTES_MAX, GAUGE, "argiope_archive_bytes_max",             \
	    "archive.bytes_max, at which crawls are paused; 0: no limit.")   \
	X(QUEUES_ACTIVE, GAUGE, "argiope_queues_active",                     \
	    "Queues that the loops hold; frontier.hosts_active_max is the "  \
	    "limit of each loop.")                                           \
	X(QUEUES_RESTING, GAUGE, "argiope_queues_resting",                   \
	    "Queues that have work and wait for a place in their loop.")
enum { FRONTIER_METRICS(METRIC_ENUM) };
extern struct metric frontier_metrics[];

/* Kinds of notes in the commit log; see lease_crawl.h for the others. */
enum note_kind { NOTE_CRAWL = 1, NOTE_QUEUE = 2, NOTE_DELETED = 3 };

struct frontier {
	struct loop *loop;
	struct frontier_options options;
	struct ledger *ledger;
	struct url_table *known;
	struct via_memory *via;
	struct known_evict *evict;
	struct host_slots *slots;    /* by port; one at least */
	struct lease_service *leases;
	struct map crawls;           /* id -> struct crawl */
	struct map names;
	uint32_t next_crawl;
	uint64_t archive_bytes;      /* in WARC files; limits.c */
	struct list dirty_queues, dirty_crawls;
	struct list changed_queues, changed_crawls;
	/* Those of them that the checkpoint under way must still write. */
	struct list leaving_queues, leaving_crawls;
	bool loading;                /* the index's records, not the log's */
	bool starting;               /* inside crawl_start_pending() */
	bool damaged;                /* a note was unreadable */
	struct fresh_batch *batch;   /* of the gathering group; queue.c */
	struct list batches, views;  /* promised; queue.c, crawl_view.c */
	struct list changes;         /* under way; change.c */
	struct list deleted, teardowns;      /* delete.c, teardown.c */
	struct frontier_places *places;
	struct buf key, value;       /* scratch */
	char *data_dir, *token;
};

/* Count URLs that were put into the known table, at a start. */
void frontier_loaded(struct frontier *, uint64_t urls);
/* The ledger's warcinfo callback; `arg` is the crawl. */
void frontier_warcinfo(void *arg, const char *filename, struct buf *out);

/* --- known_evict.c: the known table within frontier.known_mem ------------- */

/*
 * Keeps the known table within its memory by moving URLs to the index, and
 * admits submissions after it has read back what they need.
 */
struct known_evict {
	struct frontier *frontier;
	size_t bytes_max;            /* of the table; 0: no limit */
	struct list held;            /* submissions without a read so far */
	struct list asked;           /* those with a read, in their order */
	struct list waits;           /* eviction_wait: reads to begin */
	unsigned reads;              /* of the index, under way */
	size_t links;                /* read for submissions in `asked` */
	uint64_t evictions;          /* so far; none while a read is out */
	bool closed;                 /* no read may begin */
	bool waiting;                /* until the index has the evicted URLs */
	bool partial;                /* the table does not have all URLs */
	struct promise promise;
	struct ledger_query applied;
};

void known_evict_open(struct frontier *);
/* Drop what an earlier process evicted; its crawls are loaded again. */
MUST_USE enum err known_evict_clear(struct frontier *, struct why *);
/* Receives a submission's mail and admits it, at once or after reading evicted
 * URLs from the index. */
void known_evict_submit(struct mail *);
/* Whether a read may begin.  False: open() is called when it may. */
bool known_evict_may_read(struct frontier *, struct eviction_wait *);
void known_evict_read_back(struct frontier *);
/* Whether some known URLs are in the index only. */
bool known_evict_is_partial(const struct frontier *);
void known_evict_count(struct frontier *);     /* metrics of the table */
/* URLs were put into the table, without a submission: evict what is too much,
 * as soon as no read is out. */
void known_evict_consider(struct frontier *);
/*
 * Set the date and the state with which the URL of `e->hash` was evicted last;
 * KNOWN_NONE when it never was, or was deleted since.  On the thread of a read
 * that known_evict_may_read() admitted.  Errors: CORRUPT, IO.
 */
MUST_USE enum err known_evict_find(struct index *, struct url_entry *e);

/*
 * Load the URLs of a crawl that goes on, about `urls` of them, into the table;
 * those that may be evicted go to the index's family `known` when the table is
 * full.
 */
struct known_evict_load;
struct known_evict_load *known_evict_load_begin(
    struct frontier *, uint64_t urls);
MUST_USE enum err known_evict_load_put(struct known_evict_load *, uint64_t hash,
    uint32_t date, uint8_t mark, struct why *);
/* Returns `e`, or why the rest could not be written. */
MUST_USE enum err known_evict_load_end(struct known_evict_load **, enum err e,
    struct why *);

/* --- url_key.c: keys and values of the index, of URLs and queues ---------- */

/*
 *     url    crawl4 queue4 date4 URL -> created4 flags1 depth2 cost8 why1 seq
 *
 * In Argiope's own crawls `date4` is a *rank* while the URL waits: cost in the
 * upper bits, age in the lower ones, below every date of this century.  So the
 * order of the keys is "cheapest first, then oldest".  Date 0 means done.  A
 * URL that was skipped without a fetch has queue 0 and date 0; when it is found
 * again within the limits, it moves to its queue.
 *
 * Thread: any.
 */
#define QUEUE_SKIPPED 0u

/* States in the known table. */
enum known_mark {
	MARK_WAITING = 1, MARK_LEASED = 2, MARK_DONE = 3,
	MARK_SKIPPED = 4,            /* date: the skip reason */
};

/* Set the buffer to the key of a URL, of a queue, of a part of a crawl's
 * records. */
void url_key(uint32_t crawl, uint32_t queue, uint32_t date, struct str url,
    struct buf *);
void queue_key(uint32_t crawl, struct str key, struct buf *);
void crawl_key(uint32_t crawl, char part, struct buf *);
/* Set the range of all keys that begin with the id: `from` is the first, `to`
 * the end (exclusive).  The id has `bytes`: 4 of a crawl, 8 of a queue. */
void key_range(uint64_t id, size_t bytes, struct buf *from, struct buf *to);

/* The value of a url key. */
struct url_value {
	uint32_t created_s;
	uint8_t flags;
	uint16_t depth;
	double cost;
	uint8_t why;                 /* done: outcome * 16 + reason */
	/* Done as an item: its number; failed with an archived answer:
	 * journal_failed_seq().  Else the number of the capture on which it
	 * was found first; 0: none, or an older store does not say. */
	uint64_t seq;
};
/* Set the buffer to the encoded value. */
void url_value_put(const struct url_value *, struct buf *);
bool url_value_parse(struct str, struct url_value *);

/* Cost and age as a rank below 2^30; monotone in both. */
uint32_t rank_of(double cost, uint32_t age);
#define RANK_MAX ((1u << 30) - 1)

/* --- via.c: the URL of the capture on which a URL was found --------------- */

/*
 * An index row has only that capture's number.  The URLs of the VIA_SLOTS
 * latest captures with links are kept in memory; others are read from the
 * journal when a URL that they found is leased.
 *
 * Thread: the ledger's, except via_read().
 */
#define VIA_SLOTS 4096u              /* captures; each takes 100 bytes or so */
#define VIA_BYTES_MAX 256u           /* longer URLs are not kept */

struct via_slot {
	uint64_t seq;                    /* 0: empty */
	uint32_t crawl;
	struct buf url;
};

struct via_memory {
	struct via_slot slots[VIA_SLOTS];
};

void via_free(struct via_memory *);
/* Remember the URL of a capture with links. */
void via_put(struct via_memory *, uint32_t crawl, uint64_t seq, struct str url);
/*
 * Fill `via` of the serve's leases from memory; the texts are in its arena.
 * False when some are missing: then call via_read(), and via_learn()
 * afterwards.
 */
bool via_find(struct via_memory *, struct serve *);
/* Fill the missing ones from the journal.  Thread: the index's. */
void via_read(struct serve *, struct index *);
void via_learn(struct via_memory *, const struct serve *);

/* --- limits.c: of bytes in WARC files, and of sitemaps -------------------- */

/* Set the bytes that the crawl has written, and adjust the total. */
void bytes_limit_set(struct crawl *, uint64_t warc_bytes);
/* Whether the limit of the crawl, or of all crawls, is reached. */
bool bytes_limit_of_crawl(const struct crawl *);
bool bytes_limit_of_all(const struct frontier *);

/* Count one more queued sitemap.  False: a limit is reached, which is logged.
 * */
bool sitemap_admit(struct crawl *);
/* Count a sitemap that was read; `bytes` is its unpacked size. */
void sitemap_read(struct crawl *, uint64_t bytes);

#endif
