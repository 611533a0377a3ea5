/*
 * state -- the frontier's memory: crawls and queues.  Private to
 * engine/frontier.  Thread: the ledger's loop.
 *
 *     url    crawl4 queue4 date4 URL -> created4 flags1 depth2 cost8 why1 seq
 *
 * In a crawl of ours `date4` is a *rank* while the URL waits: cost in the upper
 * bits, age in the lower ones, below every date of this century; so a walk in
 * key order is "cheapest first, then oldest".  0: done.  URLs that were skipped
 * unfetched stand in queue 0 with date 0: found again within the limits, they
 * move to their queue.
 */
#ifndef ENGINE_FRONTIER_STATE_H
#define ENGINE_FRONTIER_STATE_H

#include "base/map.h"
#include "engine/frontier/error_summary.h"
#include "engine/frontier/frontier.h"
#include "engine/frontier/host_shard.h"
#include "engine/frontier/near_dup.h"
#include "engine/frontier/via.h"
#include "engine/ledger/url_table.h"

#define QUEUE_SKIPPED 0u

enum note_kind { NOTE_CRAWL = 1, NOTE_QUEUE = 2, NOTE_DELETED = 3 };

/* States in the known table. */
enum known_mark {
	MARK_WAITING = 1, MARK_LEASED = 2, MARK_DONE = 3,
	MARK_SKIPPED = 4,            /* date: the skip reason */
};

struct queue {
	struct queue_note note;      /* to the loop that owns the host */
	struct crawl *crawl;
	struct queue *next_fresh;
	uint64_t fresh_group;        /* the last group that brought URLs */
	struct str key;              /* in crawl.keys */
	uint32_t id;
	uint32_t ordered;            /* URLs queued ever: the age in a rank */
	uint64_t waiting, leased, done;
	/* The last key handed out: what sorts before it needs no look. */
	uint32_t cursor_rank;
	struct buf cursor_url;
	uint32_t fresh_rank;         /* least of the gathering group's URLs */
	uint32_t walk_rewind;        /* least rank that came during a walk */
	unsigned walks;              /* that are out */
	bool limit_told;             /* host_urls_max, in the log */
	bool noted;                  /* the loop was told and has not served */
	bool fresh, dirty;
	struct list dirty_node;      /* changed in the gathering group */
	struct list changed_node;    /* since the last checkpoint */
	struct list starved_node;    /* max_items left no ticket for it */
	size_t port;                 /* the loop of its host */
	bool active; /* it has a place in that loop; host_slots.c */
	struct list slot_node;    /* it waits for one */
};

/* Of one loop. */
struct host_slots {
	unsigned active;
	struct list waiting_for_slot;         /* queues, the longest first */
};

/* Lines of one kind in the log, this minute; see log.h. */
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
	/* Who looks at it over mail; a deleted one is freed behind them. */
	unsigned holds;
	struct retirement *retirement;       /* it has ended; teardown.c */
	struct burial *burial;       /* it was deleted */
};

/* What keeps the known table within its limit; see url_table_evict.c. */
struct memory {
	size_t bytes_max;            /* of the table; 0: no limit */
	struct list held;            /* submissions that have not asked yet, */
	struct list asked;           /* and those that have, in their order */
	struct list waits; /* eviction_wait: reads that have not begun */
	unsigned reads;              /* of the index, that are out */
	size_t links;                /* asked for, of those in `asked` */
	bool closed;                 /* no read begins */
	bool waiting;                /* until what was forgotten is durable */
	bool partial;                /* the table does not have all URLs */
	struct promise promise;
};

struct frontier {
	struct loop *loop;
	struct frontier_options options;
	struct ledger *ledger;
	struct url_table *known;
	struct via_memory *via;
	struct memory memory;
	struct host_slots *places;       /* by port; one at least */
	struct map crawls;           /* id -> struct crawl */
	struct map names;
	struct lease_service *leases;     /* outsiders' crawls; lease_own.h */
	uint32_t next_crawl;
	uint64_t archive_bytes;      /* in WARC files, of all crawls */
	struct list dirty_queues, dirty_crawls;
	struct list changed_queues, changed_crawls;
	/* Of these, what the checkpoint under way has still to write. */
	struct list leaving_queues, leaving_crawls;
	bool loading;                /* the index's records, not the log's */
	bool starting;               /* pending crawls, one after the other */
	bool damaged;                /* a note could not be read */
	struct queue *fresh;         /* got URLs in the gathering group */
	struct fresh_batch *batch;   /* of the gathering group, or NULL */
	struct list batches, views;  /* promised and not yet kept */
	struct list amends, burials; /* under way; exclude.c, delete.c */
	struct list retirements;     /* likewise; teardown.c */
	struct buf key, value;       /* scratch */
	char *data_dir, *token;
};

/* keys */
void url_key(uint32_t crawl, uint32_t queue, uint32_t date, struct str url,
    struct buf *);
void queue_key(uint32_t crawl, struct str key, struct buf *);
void crawl_key(uint32_t crawl, char part, struct buf *);

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
void url_value_put(const struct url_value *, struct buf *);
bool url_value_parse(struct str, struct url_value *);

/* Cost and age as a rank below 2^30; monotone in both. */
uint32_t rank_of(double cost, uint32_t age);
#define RANK_MAX ((1u << 30) - 1)

/* queue.c */
void queues_open(void);
struct queue *queue_get(struct crawl *, struct str key, bool make);
void queue_touch(struct queue *);         /* its state goes into this group */
void queue_note_bytes(const struct queue *, struct buf *);
void queue_put_record(const struct queue *); /* into the gathering group */
bool queue_from_note(struct frontier *, struct str note);
/* It got a URL of that rank: tell its loop when that is durable. */
void queue_fresh(struct queue *, uint32_t rank);
void queue_tell(struct queue *);          /* tell it now */
void queue_free(struct queue **);
void queue_forget_fresh(struct frontier *);  /* promises not kept: free */
void queue_rewind(struct queue *, uint32_t rank);
void serve_arrived(struct frontier *, struct serve *);

/* crawl.c */
struct crawl *crawl_get(const struct frontier *, uint32_t id);
struct crawl *crawl_make(struct frontier *, uint32_t id);
void crawl_free(struct crawl **);
bool crawl_ended(enum crawl_state);
/* Of its WARC files' names, and the directory of those being written. */
void crawl_prefix(const struct crawl *, char *out, size_t size);
void crawl_touch(struct crawl *);
void crawl_note_bytes(const struct crawl *, struct buf *);
bool crawl_from_note(struct frontier *, struct str note);
/* Tell observers the crawl's view when the gathering group is durable. */
void crawl_promise_view(struct crawl *);
void crawl_forget_views(struct frontier *);  /* promises not kept: free */
void crawl_consider_end(struct crawl *);
/* Nothing of it is found yet: it starts, or waits for others. */
void crawl_start_new(struct crawl *);
/* Those that wait, the oldest first, while there is room. */
void crawl_start_pending(struct frontier *);
void crawl_stop_deadlines(struct frontier *);
/* A new crawl that waits for its start, and its record. */
struct crawl *crawl_begin(struct frontier *, uint32_t id,
    const struct crawl_spec *, struct wall created);
/* URLs that may still be handed out under max_items. */
uint64_t crawl_tickets(const struct crawl *);
void crawl_wake_starved(struct crawl *);
MUST_USE enum err crawl_load(struct crawl *, struct why *);

/* teardown.c */
/* It has ended: what only one that runs needs leaves the memory. */
void crawl_teardown(struct crawl *);
void retire_go_on(struct retirement *);   /* others have let it go */
void retire_put(struct frontier *);       /* some records, into this group */
void retire_forget(struct frontier *);
/* At a start: is this queue's record one that stays where it is? */
bool retired_record(struct frontier *, struct str key);
MUST_USE enum err retire_load(struct frontier *, struct why *);
void retire_opened(struct frontier *);

/*
 * A queue's record in the index, as of now for a crawl that is retired.  Texts
 * are the arena's, or the visitor's while it is called.
 * Thread: a ledger_query's, or before the loops start.
 * Errors: ABSENT, CORRUPT, IO.
 */
struct queue_record {
	uint32_t crawl, id, ordered;
	uint64_t waiting, done;
	struct str key;
};
bool queue_record_parse(struct str value, struct queue_record *);
MUST_USE enum err queue_record_get(struct index *, uint32_t crawl,
    struct str key, struct arena *, struct queue_record *);
MUST_USE enum err queue_record_each(struct index *, uint32_t crawl,
    void (*visit)(void *arg, const struct queue_record *), void *arg);

/* log.c */
void crawl_log(struct crawl *, const struct crawl_line *);
/* A change of its state, by the kind's name; `reason` may be empty. */
void crawl_log_put(struct crawl *, enum crawl_log_kind, struct str reason);
void crawl_log_trim(struct crawl *);      /* what earlier versions kept */
void crawl_log_shown(struct crawl *);     /* in its view */

/* error_summary.c */
struct problems;
void error_summary_note(struct crawl *, enum error_summary_kind, unsigned code,
    struct str url, struct str cause);
void error_summary_put(struct crawl *);         /* into the gathering group */
MUST_USE enum err error_summary_load(
    struct crawl *, struct index *, struct why *);
void error_summary_free(struct problems **);

/* host_slots.c */
void host_slots_open(struct frontier *);
void host_slots_close(struct frontier *);
void host_slots_check(const struct frontier *);
/* False: there is no place; it is told of again when there is one. */
bool queue_activate(struct queue *);
/* Something of it came back: does it keep its place? */
void queue_settle(struct queue *);
void crawl_settle(struct crawl *);

/* url_table_evict.c */
void known_evict_open(struct frontier *);
/* What an earlier process forgot: its crawls are loaded anew. */
MUST_USE enum err memory_clear(struct frontier *, struct why *);
/* Admit it, at once or when the index has told what the table forgot. */
void known_evict_submit(struct frontier *, struct submission *);
/* False: not now; open() is called when it may. */
bool known_evict_may_read(struct frontier *, struct eviction_wait *);
void known_evict_read_back(struct frontier *);
void known_evict_swept(struct frontier *);     /* URLs left for good */
void known_evict_check(const struct frontier *);
/*
 * URLs of a crawl that goes on, some `urls` of them: into the table, or into
 * `known`.
 */
struct known_evict_load;
struct known_evict_load *known_evict_load_begin(
    struct frontier *, uint64_t urls);
MUST_USE enum err known_evict_load_put(struct known_evict_load *, uint64_t hash,
    uint32_t date, uint8_t mark, struct why *);
/* Returns `e`, or why the rest could not be written. */
MUST_USE enum err known_evict_load_end(struct known_evict_load **, enum err e,
    struct why *);

/* exclude.c */
/* Its rules leave it out, and what is at hand was judged by others. */
bool crawl_excludes_now(const struct crawl *, const void *judged_by,
    struct str url);
/* A waiting URL is not going to be fetched. */
void crawl_skip_waiting(struct crawl *, struct queue *, const struct lease *,
    enum skip_reason);
void change_forget(struct frontier *);     /* what is under way: free */

/* delete.c */
void crawl_ref(struct crawl *);
void crawl_unref(struct crawl *);       /* it may be gone then */
bool crawl_deleted_note(struct frontier *, struct str note);
/* Of any other part of a crawl's records: is it a tombstone? */
void crawl_tomb_record(struct frontier *, struct str key);
void burial_forget(struct frontier *);

/* bytes_limit.c: limits of bytes in WARC files. */
void bytes_limit_open(const struct frontier *);
/* Set the bytes that the crawl has written; the total follows. */
void bytes_limit_set(struct crawl *, uint64_t warc_bytes);
bool bytes_limit_of_crawl(const struct crawl *);   /* it is reached */
bool bytes_limit_of_all(const struct frontier *);

/* sitemap_limit.c */
void sitemaps_open(void);
/* One more is queued; false: a limit leaves it out, which the log says. */
bool sitemap_admit(struct crawl *);
/* One was read, of so many bytes unpacked. */
void sitemap_read(struct crawl *, uint64_t bytes);

/* submit.c */
void url_put(struct crawl *, uint32_t queue, uint32_t date, struct str url,
    const struct url_value *);
void url_drop(struct crawl *, uint32_t queue, uint32_t date, struct str url);
/* All that it needs is in the known table. */
void submission_admit(struct frontier *, struct submission *);
/* What became of the leased URL goes into the gathering group. */
void submission_settle(struct crawl *, struct submission *);
/* `via`: the number of the capture that it was found on; 0: none. */
void frontier_discover(struct crawl *, const struct found *, uint64_t via);
/* Puts the dirty queues and crawls as notes into the gathering group. */
void frontier_put_notes(struct frontier *);
/* So many URLs more were put into the known table, at a start. */
void frontier_loaded(struct frontier *, uint64_t urls);
/* The ledger's warcinfo callback; `arg` is the crawl. */
void frontier_warcinfo(void *arg, const char *filename, struct buf *out);

#endif
