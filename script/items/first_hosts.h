/*
 * first_hosts -- which host the run of a pair will ask first, by what earlier
 * runs of its task did: the host of the URL that is the item's id, or that is a
 * member of its data, or the one host that all runs of the task ask.
 *
 * A guess, for slow hosts only (contracts/items.md §4): a pair that would be
 * put back need not be started to find that out.
 *
 * Threads: one at a time.
 */
#ifndef SCRIPT_ITEMS_FIRST_HOSTS_H
#define SCRIPT_ITEMS_FIRST_HOSTS_H

#include "base/arena.h"
#include "base/text.h"

/* Nothing is guessed until this many runs in a row have followed one rule. */
#define FIRST_HOSTS_SURE 4u
/* Longer data is not looked into. */
#define FIRST_HOSTS_DATA_BYTES_MAX ((size_t)64 << 10)

struct first_hosts;

/* The first fetch of a run, and the item that it ran on.  `data`: JSON. */
struct first_fetch {
	struct str id, data;
	struct str host;             /* empty: it has fetched nothing */
};

struct first_hosts *first_hosts_new(void);
void first_hosts_free(struct first_hosts **);
/* Learn from the first fetch of a run.  False: first_hosts_guess() would have
 * named another host. */
bool first_hosts_learn(struct first_hosts *, uint32_t task,
    const struct first_fetch *);
/* How many runs in a row have followed what is guessed from now on. */
unsigned first_hosts_right(const struct first_hosts *, uint32_t task);
/* Empty: not known.  In the arena. */
struct str first_hosts_guess(const struct first_hosts *, uint32_t task,
    struct str id, struct str data, struct arena *);

#endif
