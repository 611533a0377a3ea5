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
	bool loaded;                 /* the known table has its URLs */
	bool retired;                /* its queues are only in the index */
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
	struct timer deadline;       /* fires when that time is over */
	struct list starved;         /* queues that wait for tickets */
	struct map queues;           /* key -> struct queue */
	struct map queues_by_id;
	struct arena keys;
	struct arena arena;          /* name, directory */
	struct str name, warc_dir;
	struct warc_set *series;
	struct near_dup *near;           /* simhashes; NULL until needed */
	struct problems *problems;   /* NULL: none */
	/* Rules that were added while it ran; change.h.  NULL: none. */
	const void *rules;
	bool (*excludes)(const void *rules, struct str url);
	uint64_t excluded;           /* waiting URLs removed by them */
	/* Loops, queries, its teardown and its deletion; see crawl_ref(). */
	unsigned refs;
	struct teardown *teardown;   /* after its end; teardown.c */
	struct list deleted_node;    /* in frontier.deleted */
};

/* NULL when there is no such crawl. */
struct crawl *crawl_get(const struct frontier *, uint32_t id);
/* The crawl of that number; an empty one is made when there is none. */
struct crawl *crawl_make(struct frontier *, uint32_t id);
void crawl_free(struct crawl **);
/*
 * The prefix of its WARC files' names, and of their work directory: a harvest's
 * is the last part of its directory's path, any other crawl's "crawl-ID".
 */
#define CRAWL_PREFIX_MAX 208
void crawl_prefix(const struct crawl *, char out[static CRAWL_PREFIX_MAX]);
/* Note the crawl's state in the gathering group. */
void crawl_touch(struct crawl *);
/* Set the buffer to the crawl's note. */
void crawl_note_bytes(const struct crawl *, struct buf *);
bool crawl_from_note(struct frontier *, struct str note);
/* Put a part of the crawl's record in INDEX_CRAWL into the gathering group. */
void crawl_put_part(struct frontier *, uint32_t id, char part,
    struct str value);
/* Make a crawl that waits for its start, and put its record. */
struct crawl *crawl_begin(struct frontier *, uint32_t id,
    const struct crawl_spec *, struct wall created);
/* Refer to the crawl until crawl_unref() (frontier.h).  The teardown of an
 * ended crawl waits until it has the only reference; a deleted crawl is freed
 * with the last one. */
void crawl_ref(struct crawl *);

#endif
