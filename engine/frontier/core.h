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
struct via_memory;
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
	/* Of these, what the checkpoint under way has still to write. */
	struct list leaving_queues, leaving_crawls;
	bool loading;                /* the index's records, not the log's */
	bool starting;               /* crawl_start_pending() runs */
	bool damaged;                /* a note could not be read */
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

/* Which reads and submissions wait for the gate. */
struct known_evict {
	struct frontier *frontier;
	size_t bytes_max;            /* of the table; 0: no limit */
	struct list held;            /* submissions that have not asked yet, */
	struct list asked;           /* and those that have, in their order */
	struct list waits;           /* eviction_wait: reads to begin */
	unsigned reads;              /* of the index, that are out */
	size_t links;                /* asked for, of those in `asked` */
	bool closed;                 /* no read begins */
	bool waiting;                /* until what was forgotten is durable */
	bool partial;                /* the table does not have all URLs */
	struct promise promise;
};

void known_evict_open(struct frontier *);
/* What an earlier process forgot: its crawls are loaded anew. */
MUST_USE enum err known_evict_clear(struct frontier *, struct why *);
/* Mail of a submission: admit it, at once or when the index has told what the
 * table forgot. */
void known_evict_submit(struct mail *);
/* False: not now; open() is called when it may. */
bool known_evict_may_read(struct frontier *, struct eviction_wait *);
void known_evict_read_back(struct frontier *);
/* Some URLs are in the index only: what the table lacks may be known. */
bool known_evict_is_partial(const struct frontier *);
void known_evict_count(struct frontier *);     /* metrics of the table */

/*
 * URLs of a crawl that goes on, some `urls` of them: into the table, or, those
 * that it may forget, into `known`.
 */
struct known_evict_load;
struct known_evict_load *known_evict_load_begin(
    struct frontier *, uint64_t urls);
MUST_USE enum err known_evict_load_put(struct known_evict_load *, uint64_t hash,
    uint32_t date, uint8_t mark, struct why *);
/* Returns `e`, or why the rest could not be written. */
MUST_USE enum err known_evict_load_end(struct known_evict_load **, enum err e,
    struct why *);

#endif
