/*
 * stream -- serves the captures of a crawl by number; each is rendered as text
 * once for all readers.
 *
 *     reader: items of crawl C from number N on, in form F
 *       in the cache, or fresh from its fetch? ──► a batch, at once
 *       else a job on the pool: journal, WARC record, body decoded, rendered
 *         ──► into the cache ──► ready()
 *
 * A batch is a run of consecutive items as finished texts.  Readers share it,
 * so that a hundred readers of one crawl cost one read.  The stream keeps no
 * state of a reader: one that cannot send now gives the batch back, and asks
 * again by number.
 *
 * Each door brings the renderer that defines the text.
 *
 * Thread: the main loop's; render() runs on the pool, too.
 * Limits: feed.cache (32 MiB; batches in use by readers count too),
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

/* The input of a renderer; valid during the call. */
struct stream_capture {
	const struct journal_entry *entry;   /* except file and offset */
	bool has_record;             /* false: not archived, or damaged */
	const struct capture *record;   /* heads, as received */
	struct str body;             /* decoded; empty when big or not wanted */
	uint64_t body_length;        /* decoded, even if `body` is empty */
	bool big;                    /* the text must leave the body out */
	bool body_damaged;           /* only part of it could be read */
	unsigned form;               /* and the renderer: stream_use() */
	const char *mark;            /* stream_mark() */
};
enum stream_form { STREAM_BODY = 1, STREAM_LIST_HEADERS = 2, STREAM_FORMS = 4 };
typedef void stream_render_fn(const struct stream_capture *, struct buf *out);

/* Eight letters and digits that identify this data directory. */
const char *stream_mark(const struct stream *);
/*
 * Register a door's renderer.  Returns a value that the door adds to the form
 * of each of its requests, since texts are cached by renderer and form.  The
 * same renderer always gets the same value.  At most STREAM_RENDERERS_MAX.
 */
unsigned stream_use(struct stream *, stream_render_fn *);

struct stream_item {
	uint64_t number;
	struct str text;
	bool big;                    /* read its body by body_stream_open() */
	struct wall committed;       /* when the registry showed it; 0: before
	                              * this process */
};
struct stream_batch {
	const struct stream_item *items;   /* consecutive numbers */
	size_t n;
	unsigned users;              /* the stream's */
};
/*
 * One reader's request.  stream_request() returns true with the batch at once,
 * or calls ready() later.  Item `from` is items[at] of the batch.  The batch is
 * NULL when there is no such item yet (`why` is OK; ask again when the registry
 * counts more items), or on an error: ABSENT, the crawl was deleted.
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
/* Withdraw a request: ready() will not be called. */
void stream_cancel(struct stream *, struct stream_request *);
void stream_give_back(struct stream *, struct stream_batch **);

/*
 * Read the decoded body of a big item in pieces.  After each next() the stream
 * calls ready() with `piece`, which is valid until the next call for this
 * stream.  Its length is divisible by three, except that of the last piece,
 * which comes with `end` and may be empty.  An error (`why` is not OK) ends the
 * stream.  At most STREAM_STREAMS_MAX are read at a time; others wait.
 */
struct body_stream;
struct body_stream *body_stream_open(struct stream *, uint32_t crawl,
    uint64_t number, void (*ready)(void *arg, struct str piece, bool end,
    const struct why *), void *arg);
void body_stream_next(struct body_stream *);
void body_stream_close(struct body_stream **);

#endif
