/*
 * index_run -- what was written to the index and is not in its files yet.
 *
 *     batch ─► run ─┐
 *     batch ─► run ─┼─ RUNS_MERGED of about one size ─► run ─┐
 *     batch ─► run ─┘                                 ...  ─┴─► file
 *
 * Small runs are merged as soon as a batch comes, larger ones step by step, a
 * piece with each batch: reads wait behind writes, and 4 MB would take 12 ms.
 *
 * A run is a family's puts and deletions of one or more batches, one for each
 * key, sorted by key.  It may begin with ranges, which delete what is older
 * than the run.  It never changes: readers on any thread hold references, and
 * so see the family as it was when they came.
 *
 * Private to os/index*.c.
 */
#ifndef OS_INDEX_RUN_H
#define OS_INDEX_RUN_H

#include <stdatomic.h>

#include "base/bytes.h"

/* --- one run -------------------------------------------------------------- */

#define RUN_DELETED UINT32_MAX
struct run_op {
	uint32_t at, key_n;          /* the value follows the key */
	uint32_t value_n;            /* RUN_DELETED: there is none */
};

struct run_range {
	struct str from, to;
};

struct index_run {
	atomic_uint refs;
	bool frozen;                 /* being written into a file */
	bool merging;                /* see run_merging_step() */
	size_t ops_n, ranges_n, bytes_n;
	size_t size;                 /* of the memory that it uses */
	size_t allocated;            /* its allocation, perhaps larger */
	const struct run_op *ops;    /* all in the run's own allocation */
	const struct run_range *ranges;
	const char *bytes;
};
void run_release(struct index_run *);

/* A run that is being made: it has room for what is counted here. */
struct run_new {
	struct index_run *run;
	struct run_op *ops;
	struct run_range *ranges;
	char *bytes;
};

/* Collects operations in any order; the newest for a key wins. */
struct run_builder {
	struct buf bytes;
	struct run_op *ops;
	size_t ops_n, ops_cap;
	struct run_op *ranges;       /* from: the key; to: the value */
	size_t ranges_n, ranges_cap;
	bool unsorted;
};
void run_builder_free(struct run_builder *);
void run_builder_clear(struct run_builder *);     /* keeps its memory */
void run_builder_put(struct run_builder *, struct str key, struct str value);
void run_builder_delete(struct run_builder *, struct str key);
/* Only before the first operation. */
void run_builder_range(struct run_builder *, struct str from, struct str to);
bool run_builder_is_empty(const struct run_builder *);
/* A run with one reference; the builder is empty afterwards, and keeps its
 * memory. */
struct index_run *run_builder_finish(struct run_builder *);

/* --- a family's runs ------------------------------------------------------ */

/* Newest first. */
struct run_list {
	atomic_uint refs;
	size_t n;
	struct index_run *runs[];
};
struct run_list *run_list_hold(struct run_list *);      /* NULL: none */
void run_list_release(struct run_list *);               /* NULL: none */
size_t run_list_size(const struct run_list *);
/*
 * A list with the run before all those of `old`, and with small runs of one
 * size merged.  It takes over the caller's references of both.
 */
#define RUNS_MERGED 4
struct run_list *run_list_add(struct run_list *old, struct index_run *);
/* A list without the last `n` runs.  It takes over the reference. */
struct run_list *run_list_drop(struct run_list *old, size_t n);
/*
 * Find the newest operation on a key.  RUN_NOTHING: no run has one, nor deletes
 * a range with that key.
 */
enum run_answer { RUN_NOTHING, RUN_PUT, RUN_GONE };
enum run_answer run_list_find(const struct run_list *, struct str key,
    struct str *value);

/* --- merging -------------------------------------------------------------- */

/* Something sorted that is older than all runs; index.c has RocksDB's. */
struct run_base {
	void *it;
	void (*seek)(void *it, struct str key, bool back);  /* back: <= key */
	void (*step)(void *it, bool back);
	bool (*at)(void *it, struct str *key, struct str *value);
};

struct run_source {
	struct str key, value;
	const struct index_run *run;     /* NULL: the base */
	size_t pos;
	uint32_t age;                    /* 0: the newest */
	bool deleted;
};

/*
 * A walk over runs and a base, in either direction: each key once, with what
 * its newest operation says.
 */
struct run_merge {
	const struct run_list *list;     /* held by the caller */
	struct run_base base;            /* .it NULL: none */
	bool back, with_deletions;
	bool has_ranges;
	struct run_source *heap;         /* those that are not at their end */
	size_t heap_n;
	struct run_source current;       /* .key.p NULL: at the end */
};
/* Without a base: NULL.  The list is held until run_merge_end(). */
void run_merge_begin(struct run_merge *, const struct run_list *,
    const struct run_base *, bool with_deletions);
void run_merge_end(struct run_merge *);
void run_merge_seek(struct run_merge *, struct str key, bool back);
void run_merge_step(struct run_merge *, bool back);
/* False at the end. */
bool run_merge_at(const struct run_merge *, struct str *key,
    struct str *value, bool *deleted);

/* --- merging larger runs step by step ------------------------------------- */

/* A merge that takes several steps; all zeros before the first. */
struct run_merging {
	struct run_list *from;           /* NULL: none are merged now */
	struct run_merge walk;
	struct run_new to;
};
/*
 * Go on with the merge, by about `bytes`, or begin one if enough runs of the
 * list are of one size.  Takes over the caller's reference and returns the
 * list, which has the merged run once the merge is complete.  A merge whose
 * runs a flush has taken in the meantime is dropped.
 */
struct run_list *run_merging_step(struct run_merging *, struct run_list *,
    size_t bytes);
/* Has a flush taken the runs that are being merged? */
bool run_merging_is_frozen(const struct run_merging *);
void run_merging_end(struct run_merging *);

#endif
