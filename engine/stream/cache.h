/*
 * cache -- what the files of the feed share.  Private to engine/feed*.c.
 *
 *     home: task waits ─► (a reader is free) ─► pool: run() ─► home: done()
 *
 * Whatever reads the index or a WARC is a task.  At most FEED_TASKS_MAX run at
 * a time, each with a reader of its own, so that a reader needs no lock.
 */
#ifndef ENGINE_STREAM_CACHE_H
#define ENGINE_STREAM_CACHE_H

#include "base/map.h"
#include "engine/archive/capture.h"
#include "engine/ledger/ledger.h"
#include "engine/stream/stream.h"

#define FEED_TASKS_MAX 8u
#define FEED_CACHE_BYTES ((size_t)32 << 20)
#define FEED_BATCH_ITEMS 1024u
#define FEED_READER_FILES 16u

/* --- reading, on the pool (feed_read.c) --------------------------------- */

/* A WARC that is open: renamed or removed, it stays readable. */
struct feed_file {
	uint32_t id;
	int fd;
	uint64_t used;               /* the reader's tick */
};
struct feed_reader {
	struct feed_reader *next;    /* of those that are free */
	struct index *index;
	/* Of the record, and of the one that holds a revisit's body. */
	struct capture_reader *own, *source;
	struct feed_file files[FEED_READER_FILES];
	uint64_t tick;
	struct capture record;       /* the one read last */
	struct buf body, text, key;
	struct arena heads;          /* of a fresh capture */
	struct feed_item items[FEED_BATCH_ITEMS];    /* of a batch's making */
};
struct feed_reader *feed_reader_new(struct index *);
void feed_reader_free(struct feed_reader **);
/* Its files that were not used since the last call go, and its memory.  False:
 * it held nothing. */
bool feed_reader_rest(struct feed_reader *);
/* An open descriptor of the WARC; the reader's. */
MUST_USE enum err feed_reader_file(struct feed_reader *, uint32_t file,
    int *fd, struct why *);
/*
 * Fill `c` for the entry, heads alone unless the form has the body.  What
 * cannot be read is told in `c`: an item it stays.  Memory: the reader's, until
 * its next call.
 */
void feed_read_capture(struct feed_reader *, const struct journal_entry *,
    unsigned form, struct feed_capture *c);
/* The journal's entry.  Memory: `a`.  ABSENT. */
MUST_USE enum err feed_read_entry(struct feed_reader *, uint32_t crawl,
    uint64_t number, struct arena *a, struct journal_entry *, struct why *);
/* The body's own bytes as received, of a revisit those of its original; the
 * record stays in `own`, and `*c` is it. */
MUST_USE enum err feed_read_record(struct feed_reader *,
    const struct journal_entry *, struct capture *c, struct why *);

/* --- tasks (feed.c) ----------------------------------------------------- */

struct feed_task {
	struct job job;
	struct list node;
	struct feed *feed;
	struct feed_reader *reader;  /* while it runs */
	void (*run)(struct feed_task *);     /* on the pool */
	void (*done)(struct feed_task *);    /* at home; the task is his then */
};
void feed_task_put(struct feed *, struct feed_task *);

/* --- batches ------------------------------------------------------------ */

struct crawl_cache;
struct batch {
	struct feed_batch shown;     /* its `own` is this */
	struct crawl_cache *rack;         /* NULL: it was taken off */
	unsigned form;
	uint64_t first, last;
	size_t bytes;
	struct list node;            /* in feed.idle */
	bool more;                   /* it ended for its size */
	char *texts;                 /* of all items, one behind the other */
	struct feed_item items[];
};
void batch_free(struct batch **);    /* feed_read.c */

struct batch_task {
	struct feed_task task;
	struct crawl_cache *rack;
	struct list node;            /* in the rack's, while it is out */
	uint32_t crawl;
	unsigned form;
	uint64_t from, to;
	struct fresh **fresh;        /* those of them that there are */
	size_t fresh_n;
	feed_render_fn *render;
	const char *mark;
	size_t n, fresh_used;        /* items so far, on the pool */
	bool more;                   /* it ended for its size */
	struct batch *batch;         /* NULL: nothing was there */
	struct why why;
};
void batch_task_run(struct feed_task *);     /* feed_read.c */

/* The registry showed `items` at that time. */
struct rack_mark {
	uint64_t items;
	struct wall at;
};
#define RACK_MARKS 64u

/* The batches of one form, by their first number; they do not overlap. */
struct rack_row {
	struct batch **at;
	size_t n, cap;
	uint64_t typical;            /* items in a batch that ended for size */
};
struct crawl_cache {
	uint32_t crawl;
	uint64_t items;              /* as the registry showed last */
	struct rack_row rows[FEED_FORMS];
	struct list wants, tasks;
	struct list fresh;           /* by number */
	enum fresh_want follows;     /* what the fetchers are asked for */
	unsigned unread;             /* that came since somebody read fresh */
	struct rack_mark marks[RACK_MARKS];
	uint64_t marks_n;            /* ever made */
	uint64_t before;             /* items up to here have no date */
};

struct feed {
	struct feed_options options;
	struct index *index;
	struct list tasks;           /* that wait for a reader */
	struct list starved;         /* batches that wait for memory */
	unsigned running;
	struct feed_reader *readers; /* free */
	unsigned readers_n;          /* made */
	struct map racks;          /* crawl -> struct crawl_cache */
	struct list idle;            /* batches of no reader, oldest first */
	size_t bytes;                /* of all batches */
	size_t held;                 /* of those in readers' hands */
	size_t reserved;             /* for tasks */
	struct list fresh;           /* of all racks by age */
	size_t fresh_bytes;
	struct list ready;           /* wants with a batch, to be told */
	struct registry_watch watch;
	uint64_t version;            /* of the registry, up to which is known */
	struct timer rest;
	bool resting;                /* the timer runs */
	unsigned streams;            /* that have their turn */
	struct list streams_open, streams_waiting;
	struct timer streams_timer;
	struct list walks_due, walks_wanted, walks_idle;   /* feed_walk.c */
	unsigned walks;              /* that have begun: all but wanted ones */
	struct walk *walking;        /* its task is out; NULL: none's */
	bool closing;
	void (*closed)(void *);
	void *closed_arg;
};

/* --- fresh captures (feed_fresh.c) -------------------------------------- */

#define FEED_FRESH_BYTES ((size_t)4 << 20)   /* kept; the oldest go */
#define FEED_UNREAD_MAX 1024u                /* then nobody reads along */

/* A reader has all there is: the next item he wants at once. */
void feed_follow(struct feed *, struct crawl_cache *, unsigned form);
/* The number of the oldest; UINT64_MAX: there is none. */
uint64_t feed_fresh_from(const struct crawl_cache *);
/* Lend the task what there is; it is given back when the task is done. */
void feed_fresh_lend(struct crawl_cache *, struct batch_task *);
void feed_fresh_back(struct batch_task *);
void feed_fresh_forget(struct feed *, struct crawl_cache *);
void feed_fresh_weigh(const struct feed *);  /* for the metrics; in feed.c */
/* What came before that moment goes.  True: there is more. */
bool feed_fresh_rest(struct feed *, struct mono before);

/* --- lists (feed_pages.c), and walks for them (feed_walk.c) ------------- */

/* What is looked for. */
struct feed_filter {
	struct str text, type, host;
	uint16_t status_from, status_to;
	struct digest digest;
	struct str links_to;
	enum pages_order order;      /* SLOWEST, LARGEST; else OLDEST */
};
struct capture_list {
	struct feed_task task;       /* of one that needs no walk */
	struct list node;            /* among those of its walk */
	struct captures_query *ask;
	struct arena arena;          /* of the filter */
	struct feed_filter filter;
	uint64_t upto;               /* the last number that it is about */
	struct mono until;           /* then it is answered */
	bool ended;                  /* there is nothing to be read */
};
bool feed_filter_eq(const struct feed_filter *, const struct feed_filter *);
bool feed_filter_takes(const struct feed_filter *, struct str key,
    struct str value, struct journal_entry *);
/* One more page of the answer; no more than were asked for. */
void feed_listing_keep(struct capture_list *, const struct journal_entry *);
/* Answer it as it stands; it is gone. */
void feed_listing_end(struct capture_list *);
/* Later, with that error. */
void feed_listing_fail(
    struct feed *, struct capture_list *, const struct why *);

#define FEED_WALKS_MAX 8u        /* begun or remembered */
void feed_walk_put(struct feed *, struct capture_list *);
/* What was not used since goes.  True: there is more. */
bool feed_walk_rest(struct feed *, struct mono since);
void feed_walk_close(struct feed *);     /* all that wait are answered */
void feed_walk_free(struct feed *);

/* --- pages that link to a URL (feed_links.c) ---------------------------- */

struct feed_links;
void feed_links_open(void);
/* `frontier` may be NULL: then the default policy says which URLs are one. */
struct feed_links *feed_links_new(struct frontier *, uint32_t crawl,
    struct str url);
void feed_links_free(struct feed_links **);
/*
 * Whether the page links to it, but for the page itself; `*pages` grows when
 * it was read to see.  On the pool.
 */
bool feed_links_takes(struct feed_links *, struct feed_reader *,
    const struct journal_entry *, uint64_t *pages);

/* --- the others' -------------------------------------------------------- */

void feed_streams_look(struct timer *);      /* feed_stream.c */

/* A record of a capture in its file. */
struct feed_member {
	uint64_t offset;
	uint32_t clen;
};
#define FEED_MEMBERS_MAX 256u
/*
 * Where all records of the capture stand, in the order in which they were
 * written: of each hop the answer, then the request.  (feed_members.c; on the
 * pool.)  The final answer's is among them whatever happens.
 */
MUST_USE enum err feed_members(struct feed_reader *,
    const struct journal_entry *, struct feed_member[FEED_MEMBERS_MAX],
    size_t *n, struct why *);
/* The finished name of a WARC.  Memory: `a`. */
MUST_USE enum err feed_file_name(struct feed_reader *, uint32_t file,
    struct arena *a, struct str *name, struct why *);

#endif
