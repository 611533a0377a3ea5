/*
 * url_load -- reads the URL records of a range of the index on several threads
 * at once, for the known table at a start.
 *
 *     caller:  index_split() ─► a part to each thread ◄───────────┐
 *     thread:  reads records of its part until a batch is full    │
 *     caller:  take(), batch by batch; the part goes on, or another does
 *
 * Each record is taken once; records of different parts come in any order.
 */
#ifndef ENGINE_FRONTIER_URL_LOAD_H
#define ENGINE_FRONTIER_URL_LOAD_H

#include "base/bytes.h"
#include "base/err.h"

struct frontier;
struct index;

/* The part of a record that goes into the known table and into counts. */
struct url_load_entry {
	uint64_t hash;
	uint32_t date, created;
	uint32_t slot;               /* of the queue; the reader's to use */
	uint8_t mark;
};

/* A reader's answer; both bits may be set. */
enum {
	URL_LOAD_TAKE = 1,           /* *entry was filled in */
	URL_LOAD_PASS = 2,           /* go on at part->pass_to; empty: end */
};

/* A reader's state between two records of its part; zero at the beginning. */
struct url_load_part {
	uint64_t id;
	uint32_t slot;
	struct buf pass_to;
};

struct url_load {
	struct index *index;
	struct str from, to;         /* keys; `to` is not read */
	unsigned threads;            /* 0: all on the caller's */
	/* Thread: any, also several at a time. */
	int (*read)(void *arg, struct url_load_part *, struct str key,
	    struct str value, struct url_load_entry *);
	/* Thread: the caller's. */
	enum err (*take)(void *arg, const struct url_load_entry *, size_t n,
	    struct why *);
	void *arg;
};

/*
 * Read the range and return when all of it was taken, or after the first error.
 * Errors: IO, CORRUPT, and those of take().
 */
MUST_USE enum err url_load(const struct url_load *, struct why *);
/* How many threads this frontier may use for it. */
unsigned url_load_threads(const struct frontier *);

#endif
