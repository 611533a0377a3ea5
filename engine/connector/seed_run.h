/*
 * seed_run -- what connectors have in common whose runs take one seed after the
 * other and make one call at a time.
 *
 *     open ─► begin ─► call ─► answer ─► call ─► answer ... seed_run_leave()
 *               ▲                                              │
 *               └──────────── the next seed ◄──────────────────┴─► done
 *
 * A platform fills in a struct seed_run_kind, begins its own struct with a
 * struct seed_run, and names seed_run's functions in its row of connectors; of
 * the row's functions only open() is its own, and that one calls
 * seed_run_open().  A run without seeds goes through all that once.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_SEED_RUN_H
#define ENGINE_CONNECTOR_SEED_RUN_H

#include "engine/connector/connector.h"
#include "engine/connector/order.h"

/* Answers in a row that make no sense, until a run fails. */
#define SEED_RUN_TRIES_MAX 5u
/* The step of a run that has ended; all others are the platform's. */
#define SEED_RUN_ENDED 255u

struct seed_run;
struct seed_run_kind {
	const char *service;         /* "Tumblr"; in messages */
	const char *seed;            /* "blog" */
	const char *items;           /* "posts" */
	/* The field of a token that is an object by which people know the seed;
	 * NULL: tokens are none. */
	const char *name_field;
	unsigned steps_n;            /* steps are below that */
	size_t bytes;                /* of the platform's struct */
	/* What the order has wrong beside its rows; NULL: nothing.  It may
	 * prepare members that are not saved. */
	enum err (*check)(struct seed_run *, struct why *);
	/* The seed at hand begins: sets `step`, and all that is saved. */
	void (*begin)(struct seed_run *);
	/* Writes `url`, and fills in the call but for its address. */
	void (*call)(struct seed_run *, struct connector_call *);
	void (*answer)(struct seed_run *, const struct connector_answer *,
	    const struct connector_findings *);
	/* What is the platform's own.  load() returns false where it is not
	 * possible in this step. */
	void (*save)(const struct seed_run *, struct buf *);
	bool (*load)(struct seed_run *, struct reader *);
	void (*free)(struct seed_run *);
};

struct seed_run {
	struct connector_run run;
	const struct seed_run_kind *kind;
	const char *label;           /* of its items; the row's, unless check()
	                              * has another */
	int64_t limit;               /* of items */
	struct buf url;              /* of the call that is out */
	bool is_out;

	/* Part of the checkpoint. */
	unsigned step;
	size_t seed;                 /* the one at hand */
	uint64_t items;              /* of all seeds, so far */
	unsigned tries;              /* in a row */
};

/* ---- For the rows ------------------------------------------------------ */

/* See struct connector for all of these; `kind` must outlive the run. */
MUST_USE enum err seed_run_open(const struct seed_run_kind *,
    const struct connector_order *, struct connector_run **, struct why *);
enum connector_next seed_run_next(struct connector_run *,
    struct connector_call *);
void seed_run_answer(struct connector_run *, const struct connector_call *,
    const struct connector_answer *, const struct connector_findings *);
void seed_run_save(const struct connector_run *, struct buf *);
enum err seed_run_load(struct connector_run *, struct str, struct why *);
void seed_run_close(struct connector_run **);

#define SEED_RUN_FUNCTIONS                                                   \
	.next = seed_run_next, .answer = seed_run_answer,                    \
	.save = seed_run_save, .load = seed_run_load, .close = seed_run_close

/* Options of every such type. */
#define SEED_RUN_PARAMS(things)                                              \
	{ "incremental", CONNECTOR_BOOL, false, 0, 0, NULL,                  \
	    "Ask only for " things " that are newer than those of the last"  \
	    " run" },                                                        \
	{ "limit", CONNECTOR_INT, false, 1, INT64_MAX, NULL,                 \
	    "End after the page that reaches so many " things }

/* ---- For platforms ----------------------------------------------------- */

/* The seed at hand; NULL: the order has none.  And its uid, else its token or
 * the field of it. */
const struct connector_seed *seed_run_seed(const struct seed_run *);
struct str seed_run_name(const struct seed_run *);
/* A text of at most `n` letters, digits, "-" and "_", and at least one. */
bool seed_run_is_word(struct str, size_t n);

/* So many items are in the answer; 0 is not told. */
void seed_run_count(struct seed_run *, const struct connector_findings *,
    uint64_t n);
/* Whether there are as many items as were wanted; then the run has ended, and
 * says so.  States are set before. */
bool seed_run_is_full(struct seed_run *, const struct connector_findings *);
/* A warning about the seed at hand: "blog ada", then the text. */
PRINTF_LIKE(4, 5) void seed_run_warn(struct seed_run *,
    const struct connector_findings *, const char *code, const char *fmt, ...);
/* The same, and go on with the next seed. */
PRINTF_LIKE(4, 5) void seed_run_skip(struct seed_run *,
    const struct connector_findings *, const char *code, const char *fmt, ...);
/* The seed at hand is finished: go on with the next one, or end. */
void seed_run_leave(struct seed_run *, const struct connector_findings *);
/* "Tumblr", then the text; the run has ended. */
PRINTF_LIKE(4, 5) void seed_run_fail(struct seed_run *,
    const struct connector_findings *, const char *code, const char *fmt, ...);
/* An answer that cannot be, "Tumblr sent ...": the same call again, after a
 * few tries the end. */
void seed_run_again(struct seed_run *, const struct connector_findings *,
    const char *what);
/* The same call again, that often as it takes. */
void seed_run_wait(struct seed_run *, const struct connector_findings *,
    unsigned seconds);

#endif
