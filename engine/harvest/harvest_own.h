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

/* Budgets on their way to the store; harvest_budgets.c. */
struct budget_keeping {
	bool under_way, wanted;
	struct arena arena;          /* of the list */
	struct store_budget *list;
	size_t n;
	struct store_job store;
	struct why why;
};

struct harvests {
	struct harvests_options options;
	struct pool *pool;           /* one thread: digests, copies */
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
	bool under_way;              /* never while files are settled */
	bool waits;                  /* for the timer, before another try */
	struct store_harvest_warc file;      /* in hand */
	int64_t pause_ms;            /* before the next try */
	struct timer timer;
	struct job job;
	struct store_job store;
	struct why why;
	/* The state that takes effect when all files are placed. */
	struct arena arena;          /* of `ready` */
	struct connector_state *ready;
	size_t ready_n;
	bool merged;                 /* there is none that has not */
	bool failing;                /* the last try was in vain */
};

/* The end of WARC files, noted in the store; harvest_settle.c. */
struct settling {
	bool under_way;
	bool wanted;                 /* as soon as no delivery is under way */
	struct crawl_order order;
	struct end_file_request end_file;
	struct job job;
	struct store_job store;
	struct timer timer;          /* before another try */
	struct why why;
	struct buf saved, totals;
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
	struct driver *driver;       /* NULL: its run is over */
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

	/* Beginning. */
	struct harvest_request *request;
	struct launch launch;
	struct job job;
	struct store_job store;
	struct why why;
	struct store_harvest row;
	struct buf sealed;

	struct timer roll_timer;     /* warc.rollover_s */
	struct timer stop_timer;     /* HARVEST_STOP_MS */
	uint64_t bytes_before;       /* of the crawl, when a file ended */
};

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
/* harvest_deliver.c: bring files to their places, then the state. */
void harvest_deliver(struct harvest *);
/* The same, without waiting for another try. */
void harvest_deliver_now(struct harvest *);
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
/* The crawl's row; NULL: none. */
const struct crawl_row *harvest_crawl(const struct harvest *);
void harvest_store(struct harvest *, struct store_job *,
    void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *));
void harvest_work(struct harvest *, struct job *, void (*run)(struct job *),
    void (*done)(struct mail *));

#endif
