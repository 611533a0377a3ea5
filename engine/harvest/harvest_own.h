/*
 * harvest_own -- a harvest's memory, for the files of this folder.
 */
#ifndef ENGINE_HARVEST_HARVEST_OWN_H
#define ENGINE_HARVEST_HARVEST_OWN_H

#include "base/list.h"
#include "engine/control/control.h"
#include "engine/harvest/driver.h"
#include "engine/harvest/harvest.h"
#include "engine/harvest/order_text.h"
#include "os/pool.h"
#include "os/shared_dir.h"

/* Budgets on their way to the store; harvest_budgets.c. */
struct budget_keeping {
	bool under_way, wanted;
	struct arena arena;          /* of the list */
	struct store_budget *list;
	size_t n;
	struct store_job store;
	struct why why;
};

/*
 * Something to be done in a harvest's directory: on the thread of its root, and
 * in memory of its own, so that it may come back when nobody waits any more.
 * harvest_path.c.
 */
struct path_job {
	struct job job;
	struct list node;            /* of all path jobs */
	struct harvests *all;
	struct harvest *h;           /* NULL: nobody waits for it */
	struct arena arena;          /* of what it works on, and has found */
	struct str id, path;
	enum harvest_origin origin;
	const char *dir;             /* DATA/harvest/SAFE-ID; NULL: none yet */
	struct shared_root root;
	bool is_out;                 /* on the pool */
	void (*run)(struct path_job *);      /* there */
	void (*done)(struct path_job *), (*late)(struct path_job *);
	struct timer timer;          /* until it is late */
	struct why why;
	struct store_harvest_warc file;      /* to be placed */
	struct connector_state *state;       /* to be merged, or found */
	size_t state_n;
	bool state_known, state_is_number;
};
/* A path job is late after so long. */
#define HARVEST_PATH_MS 5000

struct harvests {
	struct harvests_options options;
	struct pool *pool;           /* one thread: digests */
	struct list path_queues;     /* a thread for each root */
	struct list path_jobs;
	struct pool *spool_pool;     /* one that no slow volume holds up */
	struct budgets *budgets;
	struct budget_keeping keeping;
	bool has_key;                /* both are the store's thread's */
	struct seal_key key;
	struct list all;             /* struct harvest */
};

/* What the harvest is asked to come to. */
enum harvest_aim { AIM_RUN, AIM_PAUSE, AIM_STOP };

/* Files on their way to their places; harvest_deliver.c. */
struct delivery {
	bool under_way;              /* never begun while files settle */
	bool waits;                  /* for the timer, before another try */
	int64_t pause_ms;            /* before the next try */
	struct timer timer;
	struct path_job *job;        /* in hand, or NULL */
	struct store_job store;
	struct why why;
	/* The state that takes effect when all files are placed. */
	struct arena arena;          /* of `ready` */
	struct connector_state *ready;
	size_t ready_n;
	unsigned ready_number;       /* grows with each */
	unsigned merging_number;     /* of the one in hand */
	bool merged;                 /* there is none that has not */
	bool ends;                   /* the harvest does, with the merging */
	bool failing;                /* the last try was in vain */
};

/* The end of WARC files, noted in the store; harvest_settle.c. */
struct settling {
	bool under_way;
	struct crawl_order order;
	struct end_file_request end_file;
	struct job job;
	struct store_job store;
	struct timer timer;          /* before another try */
	struct why why;
	struct buf saved, totals, urls;
	struct store_harvest row;    /* refers to them */
	struct store_harvest_warc *warcs;    /* known ones, then new ones */
	size_t warcs_n;
	struct arena arena;
};

struct harvest {
	struct list node;
	struct harvests *all;
	struct arena arena;
	struct str id, type, path;
	const char *dir;             /* DATA/harvest/SAFE-ID */
	struct order_text text;
	struct totals totals;
	struct totals_found found;   /* the totals' */
	struct driver *driver;       /* NULL: its run is over, or it has: */
	struct web *web;             /* of a web harvest; else NULL */
	struct connector_state *state;       /* of earlier runs */
	size_t state_n;
	enum store_harvest_state shown;
	enum store_harvest_end end;  /* of the run, once it has settled */
	enum harvest_aim aim;
	enum harvest_origin origin;
	bool stops_by_crawl;         /* the crawl was ended by somebody else */
	bool started;                /* the driver was */
	bool over;                   /* ended() was told, or is about to be */
	bool told;                   /* it was */
	struct store_job stop_store; /* of a stop */
	struct why stop_why;
	bool stop_is_told;           /* by its state */
	uint32_t crawl;              /* UINT32_MAX: none yet */
	/* From an earlier process. */
	struct buf saved;
	uint64_t captures;
	bool continued, taken_up;
	bool is_stopped;             /* an earlier process was asked to */
	struct spool_left *spools;
	size_t spools_n;

	struct store_harvest_warc *warcs;    /* by name; memory: arena */
	size_t warcs_n;
	struct settling settling;
	struct delivery delivery;

	/* Its directory; harvest_begin.c. */
	struct path_job *look;       /* under way, or late; NULL: neither */
	struct timer look_timer;     /* before another try */
	int64_t look_pause_ms;
	bool state_known;            /* what is in state.json */
	bool waits_for_path;         /* to begin */
	/* Too much waits for the directory: no call is made; harvest_wait.c. */
	bool held_back;
	bool held_before;            /* a note says so */
	struct store_job wait_store;

	/* Beginning. */
	struct harvest_request *request;
	struct launch launch;
	struct job job;
	struct store_job store;
	struct why why;
	struct store_harvest row;
	struct buf sealed, noted;    /* noted: totals, as it begins to run */

	struct timer roll_timer;     /* warc.rollover_s */
	struct timer stop_timer;     /* HARVEST_STOP_MS */
	uint64_t bytes_before;       /* of the crawl, when a file ended */
};

/* harvest_web.c: the crawl of a web harvest, in place of a driver. */
struct web;
void harvest_web_make(struct harvest *);
void harvest_web_free(struct web **);
/* On the store's thread: the policy of its crawl. */
MUST_USE enum err harvest_web_read_policy(struct harvest *, struct store *,
    struct why *);
void harvest_web_fill_launch(struct harvest *, struct launch *);
/* The crawl is there.  It settles by itself: at the crawl's end, when a file
 * should end, and when the harvest's aim is another. */
void harvest_web_start(struct web *);
/* After a pause. */
void harvest_web_go_on(struct web *);
void harvest_web_rest(struct web *);
/* Something may have changed: the aim; files have settled. */
void harvest_web_look(struct web *);
/* A file is to end. */
void harvest_web_roll(struct web *);
/* Do not wait for answers any longer. */
void harvest_web_cut(struct web *);
/* How many are in the totals. */
uint64_t harvest_web_captures(const struct web *);
/* All that was to be fetched was; or it was stopped before. */
bool harvest_web_is_over(const struct web *);
bool harvest_web_is_stopped(const struct web *);
/* Its pause or stop waits for requests in hand. */
bool harvest_web_is_ending(const struct web *);

/* harvest_budgets.c: what earlier processes have counted. */
MUST_USE enum err harvests_open_budgets(struct harvests *, struct why *);

/*
 * harvest.c: have the key that credentials are sealed with.  On the store's
 * thread, or while no job of the store can run.
 */
MUST_USE enum err harvests_read_key(struct harvests *, struct why *);

/* harvest_settle.c: the driver is quiet: end the files, note them. */
void harvest_settle(struct harvest *);
/* Whether a file should end now. */
bool harvest_should_roll(const struct harvest *);
void harvest_set_roll_timer(struct harvest *);
/* Of files that have not settled. */
uint64_t harvest_open_bytes(const struct harvest *);
/* harvest_deliver.c: bring files to their places, then the state. */
void harvest_deliver(struct harvest *);
/* The same, without waiting for another try. */
void harvest_deliver_now(struct harvest *);
/* Its files cannot be brought away, or one takes very long. */
bool harvest_delivery_hangs(const struct harvest *);
/* The state of these totals takes effect after the files known now. */
void harvest_take_state(struct harvest *);

/* harvest_verbs.c: ended() was told; it may have been asked for something else
 * meanwhile. */
void harvest_look_at_aim(struct harvest *);
/* harvest_begin.c: go on with one that has not run in this process, or of which
 * only files are left. */
void harvest_take_up(struct harvest *);
/* It runs, or runs again: the store is told, and then it does. */
void harvest_note_running(struct harvest *);
/* The requester gets to know that it was interrupted. */
void harvest_note_resumed(struct harvest *);

/* harvest.c: what options.changed() and ended() tell. */
void harvest_tell_changed(const struct harvest *);
void harvest_tell_ended(struct harvest *);
/* harvest.c: memory; an order's driver; and its first call. */
struct harvest *harvest_new(struct harvests *);
void harvest_drop(struct harvest *);
struct harvest *harvest_find(struct harvests *, struct str id);
MUST_USE enum err harvest_open_driver(struct harvest *, struct driver **,
    struct why *);
void harvest_run(struct harvest *);
/* harvest.c: files and state have settled; go on, pause, or end. */
void harvest_settled(struct harvest *);
/* All files are in their places, and so is the state. */
void harvest_delivered(struct harvest *);
/* Of a run that is over. */
enum store_harvest_state harvest_last_state(const struct harvest *);
/* The store knows its last state, or that it is paused. */
void harvest_is_over(struct harvest *);
/*
 * harvest_path.c.  Of a new job `file` or `state` may be filled in; start it
 * once.  done() is called with the harvest, unless path_job_leave() was; it or
 * its owner frees the job then.  late() may be NULL: it may take any time.
 */
struct path_job *path_job_new(struct harvest *);
void path_job_start(struct path_job *, void (*run)(struct path_job *),
    void (*done)(struct path_job *), void (*late)(struct path_job *));
/* Its owner waits no longer. */
void path_job_leave(struct path_job **);
void path_job_free(struct path_job **);
/* On the pool's thread: the harvest's path, below its root. */
MUST_USE enum err path_job_open(const struct path_job *, enum shared_dir_mode,
    struct shared_dir *, struct why *);
/* Whether what went wrong is the volume's, and may pass. */
bool path_error_waits(const struct path_job *);
/* No job runs any more.  False: one hangs, and all harvests must stay in
 * memory. */
bool harvests_end_paths(struct harvests *);
/* Those that did not come back, and that no harvest waits for any more. */
void harvests_free_path_jobs(struct harvests *);
/* harvest_begin.c: it waits for its directory, and was asked for something
 * else. */
void harvest_stop_waiting(struct harvest *);
/* harvest_wait.c: whether so much waits that it makes no further call. */
bool harvest_must_wait(const struct harvest *);
void harvest_hold_back(struct harvest *);
/* Files have gone, or the directory is back: those held back may go on. */
void harvests_look_for_room(struct harvests *);
/* The crawl's row; NULL: none. */
const struct crawl_row *harvest_crawl(const struct harvest *);
void harvest_store(struct harvest *, struct store_job *,
    void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *));
void harvest_work(struct harvest *, struct job *, void (*run)(struct job *),
    void (*done)(struct mail *));

#endif
