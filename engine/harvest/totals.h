/*
 * totals -- what a harvest has found so far: items by day, notes, names of its
 * seeds, and the state for the next run.
 *
 * They are the sum of the findings of its answers, in their order; so they can
 * be made again from any earlier totals and the answers since.
 *
 * Thread: one at a time.
 * Limits: HARVEST_NOTES_MAX for each level, HARVEST_TEXT_MAX.
 * Source: contracts/harvest.md §7, §8.
 */
#ifndef ENGINE_HARVEST_TOTALS_H
#define ENGINE_HARVEST_TOTALS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/time.h"

#define HARVEST_NOTES_MAX 100u       /* of a level; the rest is counted */
#define HARVEST_TEXT_MAX 1000u       /* characters of a note */

enum totals_level { TOTALS_INFO, TOTALS_WARNING, TOTALS_ERROR, TOTALS_LEVELS };

struct totals_count {
	struct str day;              /* "2026-11-20", UTC */
	struct str label;
	uint64_t n;
};
struct totals_note {
	enum totals_level level;
	struct str code, text, seed; /* a seed's id, or empty */
};
/* Two texts that belong together: a state's key and value. */
struct totals_pair {
	struct str key, value;
	size_t room;                 /* bytes at value.p */
};
struct totals_pairs {
	struct totals_pair *list;
	size_t n, cap;
	struct map index;            /* key -> place + 1 */
};

struct totals {
	struct arena arena;
	struct totals_count *counts;
	size_t counts_n, counts_cap;
	struct totals_note *notes;
	size_t notes_n, notes_cap;
	size_t notes_of[TOTALS_LEVELS];
	uint64_t dropped;            /* notes */
	struct totals_pairs state, uids, tokens;   /* the latter by seed id */
	uint64_t items, deleted;
	uint64_t urls;               /* all that were found */
	uint64_t revisits;           /* of a web harvest; they are no items */
	struct totals_found *found;  /* NULL: URLs are only counted */
};

/*
 * URLs that were found since the files were settled last, each once.  They are
 * no part of the totals as JSON: the file that they were found in has them.
 */
struct totals_found {
	struct arena arena;
	const struct str *list;
	size_t n, cap;
	struct map known;
	size_t bytes;                /* of all of them */
};

/* A zeroed struct has nothing. */
void totals_free(struct totals *);
void totals_count(struct totals *, struct wall when, struct str label,
    uint64_t n);
void totals_note(struct totals *, enum totals_level, struct str code,
    struct str text, struct str seed);
/* The newest value of a key counts. */
void totals_state(struct totals *, struct str key, struct str value);
void totals_seed(struct totals *, struct str id, struct str uid,
    struct str token);

/* Longer URLs than CONNECTOR_SEED_BYTES_MAX are counted and not kept. */
void totals_url(struct totals *, struct str url);
/* Those that are kept, as a JSON list; and forget them. */
void totals_put_urls(const struct totals *, struct buf *);
void totals_clear_urls(struct totals *);

/* As JSON, and back into empty totals.  Errors: CORRUPT. */
void totals_put(const struct totals *, struct buf *);
MUST_USE enum err totals_read(struct totals *, struct str json, struct why *);

#endif
