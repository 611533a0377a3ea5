/*
 * handoff -- a capture on its way to who reads its crawl as it runs, so that
 * what was packed and written a moment ago need not be read and unpacked.
 *
 *     fetching loop: a page of a crawl that is followed ─► submission.fresh
 *       ─► ledger's loop: its group is durable ─► home: the feed keeps it
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
 * Limits: FRESH_BYTES_MAX, FRESH_BODY_BYTES, FRESH_CRAWLS, FRESH_SPARES,
 *         FRESH_SPARE_BYTES.
 */
#ifndef ENGINE_FETCHER_HANDOFF_H
#define ENGINE_FETCHER_HANDOFF_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/time.h"

#define FRESH_BYTES_MAX ((size_t)8 << 20)    /* of all; above: none is made */
#define FRESH_BODY_BYTES ((size_t)256 << 10) /* decoded; of bigger ones: none */
#define FRESH_CRAWLS 64u                     /* followed at a time */
#define FRESH_SPARES 64u
#define FRESH_SPARE_BYTES ((size_t)32 << 10) /* of each; above: freed */

enum fresh_want { FRESH_NONE, FRESH_HEADS, FRESH_BODIES };

/* One of an engine.  Two crawls may want one place: the later one has it. */
struct fresh_pot {
	_Atomic uint64_t followed[FRESH_CRAWLS];   /* crawl4 want4; 0: none */
	atomic_size_t bytes;
	_Atomic(struct fresh *) spares[FRESH_SPARES];   /* NULL: none there */
};
/* Free the spares; more may come, while others are not freed. */
void fresh_rest(struct fresh_pot *);
void fresh_follow(struct fresh_pot *, uint32_t crawl, enum fresh_want);
void fresh_unfollow(struct fresh_pot *, uint32_t crawl);
enum fresh_want fresh_wanted(const struct fresh_pot *, uint32_t crawl);

struct fresh {
	struct list node;            /* of who has it */
	struct list age;             /* the feed's */
	struct mono came;            /* the feed's, as the next two */
	unsigned users;
	bool dropped;
	struct fresh_pot *pot;
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
	bool big;                    /* more than FRESH_BODY_BYTES */
	bool has_body;
	struct str body;             /* decoded */
	struct buf bodys;            /* where that lies */
};
/*
 * Copies `rest` and `head`; takes the memory of `*body`, of which `content` is
 * a part, and leaves other there, unless heads alone are wanted or it is big.
 * NULL: no room.
 */
struct fresh *fresh_new(struct fresh_pot *, uint32_t crawl, enum fresh_want,
    struct str rest, struct str head, struct buf *body, struct str content);
void fresh_free(struct fresh **);
void fresh_free_list(struct list *);         /* by their `node` */

#endif
