/*
 * stream -- the items of a crawl by number, made into texts once for all who
 * read them.
 *
 *     reader: items of crawl C from number N on, in form F
 *       in the cache, or fresh from its fetch? ──► a batch, at once
 *       else a job on the pool: journal, WARC record, body decoded, rendered
 *         ──► into the cache ──► ready()
 *
 * A batch is a run of consecutive items as finished texts.  It is shared: a
 * hundred readers of one crawl cost one reading.  The stream keeps nothing of a
 * reader: who cannot send gives the batch back, and asks again by number.
 *
 * How an item reads is the door's business: each brings its renderer.
 *
 * Thread: home's; render() runs on the pool, too.
 * Limits: feed.cache (32 MiB; batches in readers' hands count too),
 *         STREAM_BATCH_BYTES, STREAM_BIG_BYTES, STREAM_HEAD_BYTES,
 *         STREAM_STREAMS_MAX.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_STREAM_STREAM_H
#define ENGINE_STREAM_STREAM_H

#include "base/list.h"
#include "engine/archive/capture.h"
#include "engine/frontier/journal.h"

#define STREAM_BATCH_BYTES ((size_t)256 << 10)   /* of texts, about */
#define STREAM_BIG_BYTES ((size_t)256 << 10)     /* decoded; above: streamed */
#define STREAM_HEAD_BYTES ((size_t)24 << 10)     /* and URLs; above: streamed */
#define STREAM_STREAMS_MAX 64u
#define STREAM_RENDERERS_MAX 4u

struct stream;

/* What an item's text is made of.  Memory: for the call. */
struct stream_capture {
	const struct journal_entry *entry;   /* but for file and offset */
	bool has_record;             /* false: not archived, or damaged */
	const struct capture *record;   /* heads, as received */
	struct str body;             /* decoded; empty when big or not wanted */
	uint64_t body_length;        /* decoded, whatever is wanted */
	bool big;                    /* the text must leave the body out */
	bool body_damaged;           /* it could not be read whole */
	unsigned form;               /* and the renderer: stream_use() */
	const char *mark;            /* stream_mark() */
};
enum stream_form { STREAM_BODY = 1, STREAM_LIST_HEADERS = 2, STREAM_FORMS = 4 };
typedef void stream_render_fn(const struct stream_capture *, struct buf *out);

/* Eight letters and digits that tell this data directory from all others. */
const char *stream_mark(const struct stream *);
/*
 * A door that reads says how an item becomes a text.  Returns what the door
 * adds to the form of each of its requests: texts are kept by renderer and
 * form.  The same renderer gets the same value again.  At most
 * STREAM_RENDERERS_MAX.
 */
unsigned stream_use(struct stream *, stream_render_fn *);

struct stream_item {
	uint64_t number;
	struct str text;
	bool big;                    /* its body is to be had by a stream */
	struct wall committed; /* when the registry showed it; 0: before */
};
struct stream_batch {
	const struct stream_item *items;   /* consecutive numbers */
	size_t n;
	unsigned users;              /* the stream's */
};
/*
 * One reader's wish.  stream_request() calls ready() later, or returns true
 * with the batch at once.  The batch holds item `from` at items[at]; NULL with
 * `why` OK: there is none yet (ask again when the registry's count of items has
 * grown past it), or ABSENT: the crawl was deleted.
 */
struct stream_request {
	uint32_t crawl;
	uint64_t from;
	unsigned form;
	struct stream_batch *batch;
	size_t at;
	struct why why;
	void (*ready)(struct stream_request *);
	void *arg;
	struct list node;            /* the stream's */
	bool out;                    /* ready() will be called */
};
bool stream_request(struct stream *, struct stream_request *);
void stream_cancel(
    struct stream *, struct stream_request *); /* no ready() any more */
void stream_give_back(struct stream *, struct stream_batch **);

/*
 * The decoded body of one item in pieces, for big ones.  After each next()
 * ready() is called with `piece`, which lives until the next call for this
 * stream; its length is divisible by three, but for that of the last one, which
 * comes with `end` and may be empty.  An error ends it: `why` is not OK.  At
 * most STREAM_STREAMS_MAX are read at once; others wait for their turn.
 */
struct body_stream;
struct body_stream *body_stream_open(struct stream *, uint32_t crawl,
    uint64_t number, void (*ready)(void *arg, struct str piece, bool end,
    const struct why *), void *arg);
void body_stream_next(struct body_stream *);
void body_stream_close(struct body_stream **);

#endif
