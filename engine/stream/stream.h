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
 * How an item reads is the door's business: `render`.
 *
 * Thread: home's; render() runs on the pool, too.
 * Limits: stream.cache (32 MiB; batches in readers' hands count too),
 *         STREAM_BATCH_BYTES, STREAM_BIG_BYTES, STREAM_HEAD_BYTES,
 *         STREAM_STREAMS_MAX.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_STREAM_STREAM_H
#define ENGINE_STREAM_STREAM_H

#include <stdatomic.h>

#include "engine/archive/capture.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/fetcher/handoff.h"
#include "engine/frontier/journal.h"
#include "os/pool.h"

#define STREAM_BATCH_BYTES ((size_t)256 << 10)   /* of texts, about */
#define STREAM_BIG_BYTES HANDOFF_BODY_BYTES /* decoded; above: streamed */
#define STREAM_HEAD_BYTES ((size_t)24 << 10)     /* and URLs; above: streamed */
#define STREAM_STREAMS_MAX 64u

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
	unsigned form;
	const char *mark;            /* engine_mark() */
};
enum stream_form { STREAM_BODY = 1, STREAM_LIST_HEADERS = 2, STREAM_FORMS = 4 };
typedef void stream_render_fn(const struct stream_capture *, struct buf *out);

struct stream_options {
	struct loop *home;
	struct pool *pool;
	struct ledger *ledger;
	struct crawl_registry *registry;
	struct handoff_pool *fresh;     /* what the fetchers look at; or NULL */
	const char *mark;            /* engine_mark() */
	stream_render_fn *render;
	size_t cache_bytes;          /* 0: 32 MiB */
	struct frontier *frontier;   /* for crawls' policies; or NULL */
	uint64_t links_pages_max;    /* read for one links_to; 0: no limit */
};
struct stream *stream_new(const struct stream_options *);
/* Answer nobody any more; `closed` is called when nothing is being read, which
 * may be at once.  Then stream_free(): no reader holds a batch. */
void stream_close(struct stream *, void (*closed)(void *arg), void *arg);
void stream_free(struct stream **);
/*
 * Captures that became durable, in the order of their numbers within a crawl;
 * before the registry shows them.  What nobody reads stays in the list.
 */
void stream_handoff(struct stream *, struct list *);
/* The door that reads says how; before any want. */
void stream_use(struct stream *, stream_render_fn *);

struct stream_item {
	uint64_t number;
	struct str text;
	bool big;                    /* its body is to be had by a stream */
	struct wall committed; /* when the registry showed it; 0: before */
};
struct stream_batch {
	const struct stream_item *items;   /* consecutive numbers */
	size_t n;
	/* the stream's */
	unsigned users;
	void *own;
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

/*
 * -- Lists and single pages. --
 *
 * A list by number alone is one seek.  Others look through the journal, in
 * pieces between which everybody has his turn; what was seen is remembered for
 * a while (journal_scan.c).
 */

enum pages_order { PAGES_OLDEST, PAGES_NEWEST, PAGES_SLOWEST, PAGES_LARGEST,
    PAGES_ORDERS };
struct captures_query {
	uint32_t crawl;
	/* In; copied. */
	uint64_t start;              /* so many that match are passed over */
	size_t size;                 /* at most 1,000 */
	struct str text;             /* in URL or title, without case */
	struct str status;           /* "404", "4xx", empty: all */
	struct str type, host;       /* "text/html"; empty: all */
	struct digest digest;        /* of the body; NONE: any */
	struct str links_to;         /* a URL that they link to; empty: any */
	enum pages_order order;
	unsigned wait_ms;            /* then an answer so far; 0: until all */
	const atomic_bool *left;     /* nobody wants it any more; or NULL */
	/* Out. */
	struct arena arena;          /* the caller frees it */
	uint64_t total;              /* that match */
	bool so_far;                 /* it is about the first `looked` pages: */
	uint64_t looked;             /* ask again, and it goes on there */
	bool limited;                /* links_to: stream.links_pages_max ended
	                              * it behind `looked` pages */
	struct journal_entry *pages;
	size_t n;
	struct why why;
	void (*done)(struct captures_query *);
	void *arg;
	void *own;
};
void catalog_captures(struct stream *, struct captures_query *);

struct page_hop {
	struct str url, request, response;   /* heads, as sent and received */
	struct wall at;
	struct str record_id;
	struct str file;             /* the WARC's name */
	uint64_t offset;             /* of the response's record */
	uint32_t length;
};
struct capture_query {
	uint32_t crawl;
	uint64_t number;
	bool body;
	size_t body_bytes_max;       /* more is cut: `cut` */
	bool same;                   /* with `duplicates` */
	const atomic_bool *left;     /* as above */
	/* Out. */
	struct arena arena;          /* the caller frees it */
	struct journal_entry entry;
	struct page_hop *hops;       /* redirects, then the final answer */
	size_t hops_n;
	struct str body_bytes;       /* decoded */
	bool cut, damaged;
	const struct str *links;     /* found in it, absolute; at most 10,000 */
	size_t links_n;
	const struct journal_entry *duplicates;   /* same digest, at most 100 */
	size_t duplicates_n;
	bool so_far;                 /* there may be more of them: */
	uint64_t looked;             /* so many pages were looked at */
	struct why why;              /* ABSENT */
	void (*done)(struct capture_query *);
	void *arg;
	void *own;
};
void catalog_capture(struct stream *, struct capture_query *);

/*
 * The records of one capture as they lie in the WARC file, all hops, answers
 * and requests: gzip members, one behind the other.
 * Errors: ABSENT (or not archived); FULL beyond STREAM_RECORD_BYTES_MAX.
 */
#define STREAM_RECORD_BYTES_MAX ((size_t)64 << 20)
struct records_query {
	uint32_t crawl;
	uint64_t number;
	/* Out; the caller frees both. */
	struct arena arena;
	struct buf bytes;
	struct str file;             /* the WARC's name */
	struct why why;
	void (*done)(struct records_query *);
	void *arg;
	void *own;
};
void catalog_records(struct stream *, struct records_query *);

#endif
