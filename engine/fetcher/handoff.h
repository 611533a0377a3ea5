/*
 * handoff -- a capture on its way to who reads its crawl as it runs, so that
 * what was packed and written a moment ago need not be read and unpacked.
 *
 *     fetching loop: a page of a crawl that is followed ─► submission.fresh
 *       ─► ledger's loop: its group is durable ─► home: the stream keeps it
 *
 * It is a cache: who finds none reads journal and archive, and has the same.
 * So none is made of what the archive holds otherwise than it came: a revisit,
 * a head from which something was cut.
 *
 * What has been read is kept for the next one, and its memory goes to the page
 * whose body that takes: the thread that allocates frees, and waits for no lock
 * of another's malloc.
 *
 * Thread: any.
 * Limits: HANDOFF_BYTES_MAX, HANDOFF_BODY_BYTES, HANDOFF_CRAWLS,
 * HANDOFF_SPARES,
 *         HANDOFF_SPARE_BYTES.
 */
#ifndef ENGINE_FETCHER_HANDOFF_H
#define ENGINE_FETCHER_HANDOFF_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/time.h"

#define HANDOFF_BYTES_MAX ((size_t)8 << 20)    /* of all; above: none is made */
#define HANDOFF_BODY_BYTES \
	((size_t)256 << 10) /* decoded; of bigger ones: none */
#define HANDOFF_CRAWLS 64u                     /* followed at a time */
#define HANDOFF_SPARES 64u
#define HANDOFF_SPARE_BYTES ((size_t)32 << 10) /* of each; above: freed */

enum handoff_want { HANDOFF_NONE, HANDOFF_HEADS, HANDOFF_BODIES };

/* One of an engine.  Two crawls may want one place: the later one has it. */
struct handoff_pool {
	_Atomic uint64_t followed[HANDOFF_CRAWLS];   /* crawl4 want4; 0: none */
	atomic_size_t bytes;
	_Atomic(struct handoff *) spares[HANDOFF_SPARES]; /* NULL: none there */
};
/* Free the spares; more may come, while others are not freed. */
void handoff_rest(struct handoff_pool *);
void handoff_follow(struct handoff_pool *, uint32_t crawl, enum handoff_want);
void handoff_unfollow(struct handoff_pool *, uint32_t crawl);
enum handoff_want handoff_wanted(const struct handoff_pool *, uint32_t crawl);

struct handoff {
	struct list node;            /* of who has it */
	struct list age;             /* the stream's */
	struct mono came;            /* the stream's, as the next two */
	unsigned users;
	bool dropped;
	struct handoff_pool *pot;
	size_t bytes;                /* counted in the pot */
	uint32_t crawl;
	/* Known once it is durable.  The place is the one that was meant: of a
	 * file that could not be written, records go to another. */
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
	struct buf bodys;            /* where that lies */
};
/*
 * Copies `rest` and `head`; takes the memory of `*body`, of which `content` is
 * a part, and leaves other there, unless heads alone are wanted or it is big.
 * NULL: no room.
 */
struct handoff *handoff_new(struct handoff_pool *, uint32_t crawl,
    enum handoff_want, struct str rest, struct str head, struct buf *body,
    struct str content);
void handoff_free(struct handoff **);
void handoff_free_list(struct list *);         /* by their `node` */

#endif
