/*
 * via -- the URL of the capture on which a leased URL was found.
 *
 * An index row has that capture's number only.  The URLs of captures that found
 * something are kept in memory, as many as VIA_SLOTS; the others are read from
 * the journal, for the URLs that are leased and no more.
 *
 * Thread: the ledger's, but for via_read().
 */
#ifndef ENGINE_FRONTIER_VIA_H
#define ENGINE_FRONTIER_VIA_H

#include "base/arena.h"

struct frontier;
struct index;
struct serve;

#define VIA_SLOTS 4096u              /* captures; each takes 100 bytes or so */
#define VIA_BYTES_MAX 256u           /* longer URLs are not kept */

struct via_slot {
	uint64_t seq;                    /* 0: empty */
	uint32_t crawl;
	struct buf url;
};

struct via_memory {
	struct via_slot slots[VIA_SLOTS];
};

void via_free(struct via_memory *);
/* The capture `seq` of the crawl has found something. */
void via_put(struct via_memory *, uint32_t crawl, uint64_t seq, struct str url);
/*
 * Fill `via` of the serve's leases from memory; their bytes are in its arena.
 * False when some are not there: then via_read() them, and via_learn() it.
 */
bool via_find(struct via_memory *, struct serve *);
/* Fill the others from the journal.  Thread: the index's. */
void via_read(struct serve *, struct index *);
void via_learn(struct via_memory *, const struct serve *);

#endif
