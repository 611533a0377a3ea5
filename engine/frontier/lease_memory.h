/*
 * lease_memory -- queues of the lease service in memory: slots, names, sets,
 * and heaps.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_MEMORY_H
#define ENGINE_FRONTIER_LEASE_MEMORY_H

#include "base/bytes.h"

struct lease_crawl;
struct lease_batch;
struct lease_service;

#define LEASE_CHUNK 1024u            /* queues that are allocated at once */
#define NEVER_SERVED INT64_MIN

enum place {
	PLACE_NONE,          /* nothing to serve, or being served */
	PLACE_READY,         /* in its crawl's level, by turn */
	PLACE_WALL,          /* due, or no longer blocked, at a date */
	PLACE_OWN_DELAY,     /* at an end of its own delay */
	PLACE_DELAY,         /* by the last serve: the default may change */
};

/*
 * 96 bytes of a slot; names, sets and heaps take some 40 more and the key's
 * length.  What few queues have stands beside it (struct lease_rare).
 */
struct lease_queue {
	struct lease_crawl *crawl;         /* NULL: nobody's slot */
	const char *name;                    /* the key: lease_queue_key() */
	struct lease_batch *batches;       /* of leases, by `next` */
	char *cursor;                        /* NULL: from the date's start */
	uint64_t ticket;                     /* its turn */
	/* Monotonic; NEVER_SERVED.  While records are loaded: steady us. */
	int64_t served;
	uint32_t slot, id;
	uint32_t at;                         /* in the heap of `place`, + 1 */
	/* 2^32 URLs of one queue would not fit into memory. */
	uint32_t active, completed, leased;  /* leased ones are active */
	/* No unleased URL is due before it; DATE_NEVER: there is none. */
	uint32_t next_due;
	/* What sorts before it is leased or gone. */
	uint32_t cursor_date;
	uint32_t walk_rewind;                /* least date come meanwhile */
	/* Puts that a walk may not see: their least date and last group (40
	 * bits of it). */
	uint32_t put_due, put_group;
	uint8_t put_group_high;
	uint8_t place, level;
	bool unseen : 1, serving : 1, dirty : 1, changed : 1, rare : 1;
	bool stale : 1;                      /* next_due may be too early */
	bool fresh : 1;                      /* the index has no record */
};

/* What a verb set for one queue. */
struct lease_rare {
	uint64_t block_s, limit;             /* 0: none */
	uint32_t delay_s;
	bool has_delay;
};

/* A heap of slots by key; keys stand beside one another. */
struct lease_turn {
	int64_t key;
	uint32_t slot;
};
struct lease_turns {
	struct lease_turn *turns;
	size_t n, cap;
};

/*
 * From a number of 32 bits to slots; several may have the same.  Hashes stand
 * in their order, so that growth is one pass; ids, which are dense, one behind
 * the other.  Slot 0 is nobody's: a free place.
 */
struct lease_place {
	uint32_t tag, slot;
};
struct lease_set {
	struct lease_place *places;
	size_t n, cap;
	bool ids;
};

struct lease_slots {
	uint32_t *slots;
	size_t n, cap;
};

/* A zeroed queue of a slot of its own, with a name, in both sets. */
struct lease_queue *lease_take_slot(struct lease_crawl *, uint32_t id,
    struct str key);
/* Out of the sets, too, unless the crawl is dead. */
void lease_give_slot(struct lease_queue *);
void lease_free_slots(struct lease_service *);
struct str lease_queue_key(const struct lease_queue *);
/* All zeros when nothing was set. */
const struct lease_rare *lease_rare(const struct lease_queue *);
struct lease_rare *lease_make_rare(struct lease_queue *);
void lease_set_free(struct lease_set *);
/* Start with `*at` = 0; false at the end.  Nothing is added meanwhile. */
bool lease_set_next(const struct lease_set *, size_t *at, uint32_t *slot);
void lease_slots_put(struct lease_slots *, uint32_t slot);
void lease_slots_free(struct lease_slots *);
void lease_turns_put(struct lease_service *, struct lease_turns *,
    struct lease_queue *, int64_t key);
void lease_turns_take(struct lease_service *, struct lease_turns *,
    struct lease_queue *);
void lease_turns_free(struct lease_turns *);

#endif
