/*
 * handoff -- passes a capture straight from the fetcher to the clients that
 * follow its crawl, so that it need not be read back from the archive.
 *
 *     fetching loop: page of a followed crawl ─► submission.fresh
 *       ─► ledger's loop: group durable ─► main loop: the stream caches it
 *
 * It is a cache: a reader that finds no handoff reads journal and archive, and
 * gets the same.  So no handoff is made of a capture that the archive stores in
 * another form than it was received: a revisit, or a head from which something
 * was cut.
 *
 * A handoff that has been read is kept for reuse, and a page whose body it
 * takes gets its memory in exchange.  So each thread frees what it has
 * allocated, and does not wait for the lock of another thread's malloc arena.
 *
 * Thread: any.
 * Limits: HANDOFF_BYTES_MAX, HANDOFF_BODY_BYTES, HANDOFF_CRAWLS,
 *         HANDOFF_SPARES, HANDOFF_SPARE_BYTES.
 */
#ifndef ENGINE_FETCHER_HANDOFF_H
#define ENGINE_FETCHER_HANDOFF_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/time.h"

#define HANDOFF_BYTES_MAX ((size_t)8 << 20)    /* all together */
#define HANDOFF_BODY_BYTES ((size_t)256 << 10) /* decoded; larger: no body */
#define HANDOFF_CRAWLS 64u                     /* followed at a time */
#define HANDOFF_SPARES 64u
#define HANDOFF_SPARE_BYTES ((size_t)32 << 10) /* of each; above: freed */

enum handoff_want { HANDOFF_NONE, HANDOFF_HEADS, HANDOFF_BODIES };

/* One per engine.  When two crawls hash to one slot of `followed`, the later
 * one has it. */
struct handoff_pool {
	_Atomic uint64_t followed[HANDOFF_CRAWLS];   /* crawl4 want4; 0: none */
	atomic_size_t bytes;
	_Atomic(struct handoff *) spares[HANDOFF_SPARES]; /* or NULL */
};
/* Free the spares.  Handoffs that are freed later become spares again. */
void handoff_rest(struct handoff_pool *);
void handoff_follow(struct handoff_pool *, uint32_t crawl, enum handoff_want);
void handoff_unfollow(struct handoff_pool *, uint32_t crawl);
enum handoff_want handoff_wanted(const struct handoff_pool *, uint32_t crawl);

struct handoff {
	struct list node;            /* its present owner's */
	struct list age;             /* the stream's */
	struct mono came;            /* the stream's, as the next two */
	unsigned users;
	bool dropped;
	struct handoff_pool *pot;
	size_t bytes;                /* counted in pot.bytes */
	uint32_t crawl;
	/* Set once the capture is durable.  The place is the intended one: when
	 * a file cannot be written, its records go to another. */
	uint64_t number;
	uint32_t file;
	uint64_t offset;
	bool near_duplicate;
	/* Its own memory. */
	struct buf text;             /* the next two */
	struct str rest;             /* journal_put_rest() */
	struct str head;             /* the answer's, with its empty line */
	bool big;                    /* more than HANDOFF_BODY_BYTES */
	bool has_body;
	struct str body;             /* decoded */
	struct buf bodys;            /* the memory of `body` */
};
/*
 * Copies `rest` and `head`.  Takes the memory of `*body`, of which `content` is
 * a part, and leaves other memory there, unless only heads are wanted or the
 * body is big.  NULL: HANDOFF_BYTES_MAX is reached.
 */
struct handoff *handoff_new(struct handoff_pool *, uint32_t crawl,
    enum handoff_want, struct str rest, struct str head, struct buf *body,
    struct str content);
void handoff_free(struct handoff **);
void handoff_free_list(struct list *);         /* by their `node` */

#endif
