/*
 * cache -- what the files of the stream share.  Private to engine/stream*.c.
 *
 *     home: task waits ─► (a reader is free) ─► pool: run() ─► home: done()
 *
 * Whatever reads the index or a WARC is a task.  At most STREAM_TASKS_MAX run
 * at a time, each with a reader of its own, so that a reader needs no lock.
 */
#ifndef ENGINE_STREAM_CACHE_H
#define ENGINE_STREAM_CACHE_H

#include "base/map.h"
#include "engine/archive/capture.h"
#include "engine/ledger/ledger.h"
#include "engine/stream/stream.h"

#define STREAM_TASKS_MAX 8u
#define STREAM_CACHE_BYTES ((size_t)32 << 20)
#define STREAM_BATCH_ITEMS 1024u
#define STREAM_READER_FILES 16u

/* --- reading, on the pool (batch.c) --------------------------------- */

/* A WARC that is open: renamed or removed, it stays readable. */
struct stream_file {
	uint32_t id;
	int fd;
	uint64_t used;               /* the reader's tick */
};
struct record_reader {
	struct record_reader *next;    /* of those that are free */
	struct index *index;
	/* Of the record, and of the one that holds a revisit's body. */
	struct capture_reader *own, *source;
	struct stream_file files[STREAM_READER_FILES];
	uint64_t tick;
	struct capture record;       /* the one read last */
	struct buf body, text, key;
	struct arena heads;          /* of a fresh capture */
	struct stream_item items[STREAM_BATCH_ITEMS]; /* of a batch's making */
};
struct record_reader *record_reader_new(struct index *);
void record_reader_free(struct record_reader **);
/* Its files that were not used since the last call go, and its memory.  False:
 * it held nothing. */
bool record_reader_rest(struct record_reader *);
/* An open descriptor of the WARC; the reader's. */
MUST_USE enum err record_reader_file(struct record_reader *, uint32_t file,
    int *fd, struct why *);
/*
 * Fill `c` for the entry, heads alone unless the form has the body.  What
 * cannot be read is told in `c`: an item it stays.  Memory: the reader's, until
 * its next call.
 */
void record_reader_capture(struct record_reader *, const struct journal_entry *,
    unsigned form, struct stream_capture *c);
/* The journal's entry.  Memory: `a`.  ABSENT. */
MUST_USE enum err record_reader_entry(struct record_reader *, uint32_t crawl,
    uint64_t number, struct arena *a, struct journal_entry *, struct why *);
/* The body's own bytes as received, of a revisit those of its original; the
 * record stays in `own`, and `*c` is it. */
MUST_USE enum err record_reader_read(struct record_reader *,
    const struct journal_entry *, struct capture *c, struct why *);

/* --- tasks (cache.c) ----------------------------------------------------- */

struct read_task {
	struct job job;
	struct list node;
	struct stream *stream;
	struct record_reader *reader;  /* while it runs */
	void (*run)(struct read_task *);     /* on the pool */
	void (*done)(struct read_task *);    /* at home; the task is his then */
};
void read_task_put(struct stream *, struct read_task *);

/* --- batches ------------------------------------------------------------ */

struct crawl_cache;
struct batch {
	struct stream_batch shown;     /* its `own` is this */
	struct crawl_cache *cache;         /* NULL: it was taken off */
	unsigned form;
	uint64_t first, last;
	size_t bytes;
	struct list node;            /* in stream.idle */
	bool more;                   /* it ended for its size */
	char *texts;                 /* of all items, one behind the other */
	struct stream_item items[];
};
void batch_free(struct batch **);    /* batch.c */

struct batch_task {
	struct read_task task;
	struct crawl_cache *cache;
	struct list node;            /* in the cache's, while it is out */
	uint32_t crawl;
	unsigned form;
	uint64_t from, to;
	struct handoff **fresh;        /* those of them that there are */
	size_t fresh_n;
	stream_render_fn *render;
	const char *mark;
	size_t n, fresh_used;        /* items so far, on the pool */
	bool more;                   /* it ended for its size */
	struct batch *batch;         /* NULL: nothing was there */
	struct why why;
};
void batch_task_run(struct read_task *);     /* batch.c */

/* The registry showed `items` at that time. */
struct cache_mark {
	uint64_t items;
	struct wall at;
};
#define CACHE_MARKS 64u

/* The batches of one form, by their first number; they do not overlap. */
struct cache_row {
	struct batch **at;
	size_t n, cap;
	uint64_t typical;            /* items in a batch that ended for size */
};
struct crawl_cache {
	uint32_t crawl;
	uint64_t items;              /* as the registry showed last */
	struct cache_row rows[STREAM_FORMS];
	struct list wants, tasks;
	struct list fresh;           /* by number */
	enum handoff_want follows;     /* what the fetchers are asked for */
	unsigned unread;             /* that came since somebody read fresh */
	struct cache_mark marks[CACHE_MARKS];
	uint64_t marks_n;            /* ever made */
	uint64_t before;             /* items up to here have no date */
};

struct stream {
	struct stream_options options;
	struct index *index;
	struct list tasks;           /* that wait for a reader */
	struct list starved;         /* batches that wait for memory */
	unsigned running;
	struct record_reader *readers; /* free */
	unsigned readers_n;          /* made */
	struct map caches;          /* crawl -> struct crawl_cache */
	struct list idle;            /* batches of no reader, oldest first */
	size_t bytes;                /* of all batches */
	size_t held;                 /* of those in readers' hands */
	size_t reserved;             /* for tasks */
	struct list fresh;           /* of all caches by age */
	size_t fresh_bytes;
	struct list ready;           /* wants with a batch, to be told */
	struct registry_watch watch;
	uint64_t version;            /* of the registry, up to which is known */
	struct timer rest;
	bool resting;                /* the timer runs */
	unsigned streams;            /* that have their turn */
	struct list streams_open, streams_waiting;
	struct timer streams_timer;
	struct list walks_due, walks_wanted, walks_idle;   /* journal_scan.c */
	unsigned walks;              /* that have begun: all but wanted ones */
	struct walk *walking;        /* its task is out; NULL: none's */
	bool closing;
	void (*closed)(void *);
	void *closed_arg;
};

/* --- fresh captures (handoff_cache.c) --------------------------------------
 */

#define STREAM_FRESH_BYTES ((size_t)4 << 20)   /* kept; the oldest go */
#define STREAM_UNREAD_MAX 1024u                /* then nobody reads along */

/* A reader has all there is: the next item he wants at once. */
void stream_follow(struct stream *, struct crawl_cache *, unsigned form);
/* The number of the oldest; UINT64_MAX: there is none. */
uint64_t handoff_cache_from(const struct crawl_cache *);
/* Lend the task what there is; it is given back when the task is done. */
void handoff_cache_lend(struct crawl_cache *, struct batch_task *);
void handoff_cache_back(struct batch_task *);
void handoff_cache_forget(struct stream *, struct crawl_cache *);
void handoff_cache_weigh(
    const struct stream *); /* for the metrics; in cache.c */
/* What came before that moment goes.  True: there is more. */
bool handoff_cache_rest(struct stream *, struct mono before);

/* --- lists (capture_list.c), and walks for them (journal_scan.c) -------------
 */

/* What is looked for. */
struct capture_filter {
	struct str text, type, host;
	uint16_t status_from, status_to;
	struct digest digest;
	struct str links_to;
	enum pages_order order;      /* SLOWEST, LARGEST; else OLDEST */
};
struct capture_list {
	struct read_task task;       /* of one that needs no walk */
	struct list node;            /* among those of its walk */
	struct captures_query *ask;
	struct arena arena;          /* of the filter */
	struct capture_filter filter;
	uint64_t upto;               /* the last number that it is about */
	struct mono until;           /* then it is answered */
	bool ended;                  /* there is nothing to be read */
};
bool capture_filter_eq(
    const struct capture_filter *, const struct capture_filter *);
bool capture_filter_takes(const struct capture_filter *, struct str key,
    struct str value, struct journal_entry *);
/* One more page of the answer; no more than were asked for. */
void capture_list_keep(struct capture_list *, const struct journal_entry *);
/* Answer it as it stands; it is gone. */
void capture_list_end(struct capture_list *);
/* Later, with that error. */
void capture_list_fail(
    struct stream *, struct capture_list *, const struct why *);

#define STREAM_WALKS_MAX 8u        /* begun or remembered */
void journal_scan_put(struct stream *, struct capture_list *);
/* What was not used since goes.  True: there is more. */
bool journal_scan_rest(struct stream *, struct mono since);
void journal_scan_close(struct stream *);     /* all that wait are answered */
void journal_scan_free(struct stream *);

/* --- pages that link to a URL (link_scan.c) ---------------------------- */

struct link_scan;
void link_scan_open(void);
/* `frontier` may be NULL: then the default policy says which URLs are one. */
struct link_scan *link_scan_new(struct frontier *, uint32_t crawl,
    struct str url);
void link_scan_free(struct link_scan **);
/*
 * Whether the page links to it, but for the page itself; `*pages` grows when
 * it was read to see.  On the pool.
 */
bool link_scan_takes(struct link_scan *, struct record_reader *,
    const struct journal_entry *, uint64_t *pages);

/* --- the others' -------------------------------------------------------- */

void body_streams_check(struct timer *);      /* body_stream.c */

/* A record of a capture in its file. */
struct capture_member {
	uint64_t offset;
	uint32_t clen;
};
#define STREAM_MEMBERS_MAX 256u
/*
 * Where all records of the capture stand, in the order in which they were
 * written: of each hop the answer, then the request.  (capture_records.c; on
 * the pool.)  The final answer's is among them whatever happens.
 */
MUST_USE enum err capture_records(struct record_reader *,
    const struct journal_entry *, struct capture_member[STREAM_MEMBERS_MAX],
    size_t *n, struct why *);
/* The finished name of a WARC.  Memory: `a`. */
MUST_USE enum err stream_file_name(struct record_reader *, uint32_t file,
    struct arena *a, struct str *name, struct why *);

#endif
