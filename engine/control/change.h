/*
 * change -- what exclude.c, retry.c and delete.c have in common: a crawl is
 * changed by one of them at a time, in the order in which they were asked.
 * Private to control/.
 *
 * Each has a table of steps that begins with change_turn() and ends with
 * change_end() and an answer AT_PUBLISHED.
 *
 * Thread: the ledger's loop, but for change_start().
 */
#ifndef ENGINE_CONTROL_CHANGE_H
#define ENGINE_CONTROL_CHANGE_H

#include "engine/frontier/change.h"
#include "os/request.h"

struct engine;

struct change {
	struct request request;
	struct engine *engine;
	uint32_t crawl;
	void *asked;                 /* the verb's struct of control.h */
	bool preview;                /* it changes nothing */
	/* Rows of the verb's table: behind change_turn(), and change_end(). */
	int begin, end;
	int next;                    /* behind what the frontier does */
	struct crawl_change in_frontier;
	const struct rules *rules;   /* the crawl's, when its turn has come */
	struct rules *with_pattern;  /* those to come, or of the preview */
	struct list node;            /* in engine.changes */
	bool going;                  /* its turn has come */
};

/* done() ends with change_free(). */
struct change *change_new(struct engine *, uint32_t crawl, void *asked,
    int begin, int end, void (*done)(struct request *));
/* From the table's first row on. */
void change_start(struct change *, const struct request_step *);
struct change *change_of(struct request *);
void change_free(struct change *);

/* The first step: wait until no other change of the crawl is under way. */
int change_turn(struct request *);
/* The last step but the answer: the next change of the crawl begins. */
int change_end(struct request *);
/*
 * Have the frontier do its part.  The request waits; then step `next` runs,
 * with the frontier's error in `why`.
 */
int change_in_frontier(struct change *, enum change_verb, int next);

/* Go on with an exclusion that an earlier process began (exclude.c). */
void exclude_resume(struct engine *, uint32_t crawl);

#endif
