/*
 * exporting_own -- private to engine/exporting: an export that waits or runs.
 */
#ifndef ENGINE_EXPORTING_EXPORTING_OWN_H
#define ENGINE_EXPORTING_EXPORTING_OWN_H

#include "engine/exporting/exporting.h"
#include "engine/exporting/exporting_order.h"

struct exporting {
	struct exporting_options options;
	struct exporting_places places;      /* functions NULL: not set */
	struct list listeners;
	struct pool *pool;           /* NULL until the first export */
	struct list works;           /* struct work, the oldest first */
	unsigned running, busy;      /* busy: works and jobs under way */
	bool stopping;
	void (*stopped)(void *arg);
	void *stopped_arg;
	struct store_job open_job, sweep_job;
	bool sweeping;
	struct timer sweep_timer;
	struct str *left;            /* ids, of an earlier process */
	size_t left_n;
	struct arena arena;
};

enum work_state { WORK_WAITS, WORK_BEGINS, WORK_RUNS, WORK_ENDS };

/* What a status says beside the counts. */
enum outcome_level { OUTCOME_INFO, OUTCOME_WARNING, OUTCOME_ERROR,
	OUTCOME_LEVELS };
struct outcome_note {
	enum outcome_level level;
	const char *code;
	struct str text;
};
struct outcome {
	bool success;
	struct outcome_note *notes;
	size_t notes_n, cap;
	uint64_t dropped;
	struct export_counts counts;
	uint64_t warcs;              /* that were read */
	struct outcome_file {
		struct str name;
		uint64_t bytes;
	} *files;
	size_t files_n;
};
/* Texts are copied into `a`; beyond OUTCOME_NOTES_MAX they are counted. */
#define OUTCOME_NOTES_MAX 100u
void outcome_add(struct outcome *, struct arena *a, enum outcome_level,
    const char *code, struct str text);
void outcome_put(const struct outcome *, struct buf *);

struct work {
	struct list node;
	struct exporting *exporting;
	struct str id;
	struct arena texts;          /* of id */
	enum work_state state;
	bool cancelled;
	bool claimed;                /* or goes on without a claim */
	bool of_another;             /* another daemon has claimed it */
	struct export_watch watch;
	atomic_size_t files_n;       /* WARC files to be read; 0: not known */
	struct timer timer;          /* before another try of the store */
	bool pausing;                /* it is set */
	int64_t pause_ms;
	/* The steps'. */
	struct store_job job;
	struct job run;              /* on the pool */
	struct why why;
	struct arena arena;          /* of what follows */
	struct store_export row;
	struct exporting_order order;
	struct store_warc *warcs;    /* of our own index */
	size_t warcs_n;
	bool asks_sfm;               /* in place of our own index */
	struct outcome outcome;
	bool interrupted;            /* its watch said stop */
	struct buf result;
};

/* exporting.c: one that runs or waits ends soon; its row says so already. */
void work_cancel(struct exporting *, struct str id);
/* A job of the store; the exporting ends after it. */
void work_do_job(struct exporting *, struct store_job *,
    void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *));
void work_job_done(struct exporting *);

/* exporting_view.c, any thread: read its message and result.  Memory: `a`. */
void exporting_summary_read(const struct store_export *, struct arena *a,
    struct exporting_summary *);

/* exporting_run.c, on the pool: make the export; `outcome` is set. */
void work_run(struct work *);
/* Where the export's files go.  Memory: `a`. */
const char *work_dir(const struct exporting *, const struct store_export *,
    struct arena *a);

#endif
