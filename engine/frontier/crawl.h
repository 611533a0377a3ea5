/*
 * crawl -- a crawl's counters, queues and record.
 *
 * A crawl that is deleted while others refer to it is freed with the last
 * crawl_unref().
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_CRAWL_H
#define ENGINE_FRONTIER_CRAWL_H

#include "engine/frontier/core.h"

struct near_dup;
struct problems;
struct teardown;

/* Lines of one kind in the log, this minute; see crawl_log.h. */
struct log_burst {
	struct mono began;
	unsigned n;
	uint64_t left_out;
};

struct crawl {
	struct frontier *frontier;
	struct list dirty_node, changed_node;   /* as in a queue */
	bool dirty;
	bool loaded;                 /* the known table holds its URLs */
	bool retired;                /* its queues are in the index alone */
	struct crawl_view view;      /* as admitted, not yet durable */
	uint32_t id;
	uint32_t next_queue;
	uint64_t next_seq, next_log;
	struct log_burst bursts[CRAWL_LOG_KIND_COUNT];
	uint64_t max_items, host_urls_max;   /* 0: no limit */
	uint64_t warc_bytes_max;             /* 0: no limit */
	uint64_t sitemaps;           /* queued ever */
	bool sitemap_limit_logged;
	int64_t duration_ms_max;     /* likewise */
	struct timer deadline;       /* when it is over */
	struct list starved;         /* queues that wait for tickets */
	struct map queues;           /* key -> struct queue */
	struct map queues_by_id;
	struct arena keys;
	struct arena arena;          /* name, directory */
	struct str name, warc_dir;
	struct warc_set *series;
	struct near_dup *near;           /* simhashes; NULL until needed */
	struct problems *problems;   /* NULL: none */
	/* Rules that came while it runs; change.h.  NULL: none did. */
	const void *rules;
	bool (*excludes)(const void *rules, struct str url);
	uint64_t excluded;           /* waiting URLs that left by them */
	/* Loops, queries, its teardown and its deletion; see crawl_ref(). */
	unsigned refs;
	struct teardown *teardown;   /* it has ended; teardown.c */
	struct list deleted_node;    /* in frontier.deleted */
};

struct crawl *crawl_get(const struct frontier *, uint32_t id);
struct crawl *crawl_make(struct frontier *, uint32_t id);
void crawl_free(struct crawl **);
/* Of its WARC files' names, and the directory of those being written. */
void crawl_prefix(const struct crawl *, char *out, size_t size);
void crawl_touch(struct crawl *);
void crawl_note_bytes(const struct crawl *, struct buf *);   /* sets it */
bool crawl_from_note(struct frontier *, struct str note);
/* A new crawl that waits for its start, and its record. */
/* Into the gathering group: a part of its record in INDEX_CRAWL. */
void crawl_put_part(struct frontier *, uint32_t id, char part,
    struct str value);
struct crawl *crawl_begin(struct frontier *, uint32_t id,
    const struct crawl_spec *, struct wall created);
/* Until crawl_unref() (frontier.h).  The teardown of one that has ended waits
 * until it has the only reference; a deleted one is freed with the last. */
void crawl_ref(struct crawl *);

#endif
