/*
 * call -- a request that belongs to no queue: what a task or a connector asks.
 *
 *     call_start() ─► its host's loop: robots? ─► turn ─► request ─► answer
 *                                       answered() at home as soon as it is
 *                                       whole, done() when it is durable
 *
 * A call takes its host's turn; calls and crawls alternate there.  It runs in a
 * crawl of the kind `tasks` or `harvest`, whose policy says user agent,
 * headers, proxy, delay, downloads and limits of the request; scope and media
 * types do not matter.  An archived answer gets the crawl's next number without
 * a lease, however often its URL comes.
 *
 * Thread: home's loop, but for sign().
 * Source: contracts/scripting.md §4, contracts/connector.md §1.
 */
#ifndef ENGINE_FETCHER_CALL_H
#define ENGINE_FETCHER_CALL_H

#include "engine/fetcher/cookie.h"
#include "engine/fetcher/fetcher.h"
#include "wire/warc.h"

/* How an answer is archived. */
enum call_archive {
	CALL_RESPONSE,               /* its exchanges: response and request */
	CALL_METADATA,               /* its head and body, a metadata record */
	CALL_FRAMES,                 /* stored messages: a resource record */
	CALL_UNARCHIVED              /* nothing, and it has no number */
};

/* How a call ended. */
enum call_end {
	CALL_ANSWERED,               /* whatever its status */
	CALL_FAILED,                 /* `exception` says why */
	CALL_REFUSED,                /* `skip`: robots.txt, a private address */
	CALL_STOPPED,                /* call_stop(), or its crawl has ended;
	                              * answered() may have come before */
	CALL_FAR                     /* its turn is further than turn_ms_max,
	                              * and nothing was asked: see turn_ms */
};

/* Decoded bytes of a stream that its owner has not taken. */
#define CALL_PIECES_MAX ((size_t)8 << 20)
/* Of frames: no more is received until half of it is taken. */
#define CALL_FRAMES_WAIT_MAX ((size_t)1 << 20)
/* A message of a WebSocket. */
#define CALL_FRAME_BYTES_MAX (((size_t)8 << 20) - 1)

/* What was received of a stream. */
struct call_received {
	struct str url;              /* as it is archived */
	struct str request, head;    /* as sent and as received */
	struct str body;             /* as received; messages: one per line */
	struct ip ip;
	struct wall start, end;
	/* It did not end by being cut.  Messages that were sent, one per line:
	 * a metadata record beside the answer.  Of CALL_FRAMES: the id of the
	 * record with the handshake. */
	bool whole;
	struct str sent, concurrent_to;
};

struct call {
	/* The request.  The owner keeps its texts valid until done(). */
	uint32_t crawl;
	struct loop *home;
	struct str method;           /* not CONNECT, TRACE; "GET" */
	struct str url, body;
	/* None of the connection's.  Authorization and Cookie follow no
	 * redirect to another origin. */
	const struct transport_header *headers;
	size_t headers_n;
	struct cookie_jar *session;  /* its own until done(); NULL: none */
	bool robots;                 /* else its owner keeps a budget */
	bool collected;              /* noted, for later ones of the crawl's
	                              * collection */
	/* And what that has already becomes a revisit: the same body, and 304
	 * to a condition that is in `headers`. */
	bool revisits;
	bool follow;                 /* up to fetch.redirects_max redirects */
	unsigned tries_max;          /* 0: fetch.tries_max */
	int64_t timeout_ms;          /* of a try; 0: the policy's */
	/* No try begins behind it; ns 0: none.  The first one then fails with
	 * TIMEOUT when its turn has come. */
	struct mono deadline;
	/* How long it may wait for its host's first turn; 0: as it takes.  One
	 * that would wait longer, as far as is known, ends at once. */
	int64_t turn_ms_max;
	/* HOST:PORT, whose addresses may be private. */
	const struct str *private_hosts;
	size_t private_n;
	/* An archived answer to a GET that is not older will do: see
	 * from_archive; 0: it is asked for. */
	int64_t max_age_s;
	bool archived_only;          /* nothing is asked for: without such an
	                              * answer it is REFUSED */
	enum call_archive archive;
	/* Rides in the commit group of the answer's records, and is put under
	 * the crawl for checkpoint_get(); empty: none. */
	struct str checkpoint, checkpoint_owner;
	const struct redactor *redactor;   /* NULL: the crawl's */
	/*
	 * As the request leaves, at each hop and try: it may change URL,
	 * headers and body of the exchange for secrets that its host may see.
	 * What is archived has the URL without.  False: refused.  Thread: the
	 * loop's of the host.  NULL: nothing to sign.
	 */
	bool (*sign)(struct call *, struct exchange *, struct arena *);
	/*
	 * Not 0: a 2xx answer may have no end.  It takes its host's turn, then
	 * no connection of the host's or address's limit, and has no time
	 * limit but for the silence, ms, between two receptions.  begins()
	 * comes with status and head, piece() with each decoded piece, and
	 * answered() at the end, without content.  What is archived is limited
	 * as any body: then, and when CALL_PIECES_MAX bytes wait for piece(),
	 * the stream ends `truncated`.
	 */
	int64_t silence_ms;
	size_t bytes_max;            /* received of a stream; 0: the crawl's */
	void (*begins)(struct call *);     /* or NULL */
	/*
	 * A WebSocket, with `silence_ms`: the owner's headers have nothing of
	 * the handshake.  A 101 is its 2xx, pieces are whole text messages, one
	 * a line, and nothing of it is archived: that is the owner's to do, by
	 * calls with `stored`.  Any other answer is archived as usual.
	 */
	bool frames;
	const char *protocol;        /* the subprotocol asked for, or NULL */
	struct str hello;            /* a text message that is sent first */
	/* Its bytes as received, before the piece() of them; or NULL. */
	void (*received)(struct call *, struct str bytes);
	void (*piece)(struct call *, struct str bytes);
	/* It waits for its host's turn again (429, a network error), or no
	 * longer; it begins waiting.  States that follow each other closely
	 * may be told as one.  Or NULL. */
	void (*turned)(struct call *, bool waits);
	void (*answered)(struct call *);   /* or NULL */
	void (*done)(struct call *);       /* the call is the owner's again */
	void *arg;
	/*
	 * In place of a request: what an earlier process has received of a
	 * stream that it did not end, or what a WebSocket's owner has.  It is
	 * archived as cut, unless it is whole, and `archive` is CALL_RESPONSE
	 * or CALL_FRAMES.  NULL: it is asked for.
	 */
	const struct call_received *stored;

	/* The answer; the owner frees it with call_free_answer(). */
	enum call_end end;
	enum exception exception;
	enum skip_reason skip;
	struct str text;             /* says more of FAILED and REFUSED */
	int64_t turn_ms, delay_ms;   /* of FAR: until a turn that nobody waits
	                              * for; between the host's turns */
	int status;
	unsigned hops;               /* redirects that were followed */
	struct str final_url;
	struct http_head head;       /* of the last hop */
	struct buf content;          /* decoded */
	bool truncated, damaged;     /* the content is not all there was */
	bool cut;                    /* a stream that call_stop() or a limit has
	                              * ended */
	bool from_archive;           /* nothing was asked */
	struct call_received taken;  /* of a stream, from begins() on; no body
	                              * and no end */
	uint64_t number;             /* of the capture, at done(); 0: none */
	char record_id[WARC_ID_MAX]; /* of its answer; empty: none */
	uint32_t number_crawl;       /* whose it is */
	enum err result;             /* BROKEN: the ledger failed */
	struct arena arena;          /* of the texts */

	/* The fetcher's. */
	struct mail mail, head_mail, turn_mail, done_mail, stop_mail;
	atomic_bool waits, turn_is_out;
	struct fetcher *any;
	size_t stop_at;
	struct timer silence;
	struct page *page;               /* of a stream; its loop's */
	struct fetcher *at;              /* of frames: that loop's */
	struct mail resume_mail;
	atomic_bool held, paused;
	bool resume_is_out;              /* home's */
	atomic_size_t pieces_bytes;      /* on their way */
	bool is_done, stop_is_out;       /* home's */
	atomic_bool stopping;
};

/* `f`: any of the engine's fetchers.  Its crawl has been ordered to run. */
void call_start(struct fetcher *f, struct call *);
/* done() follows soon, if it is not on its way.  Once; not after done(). */
void call_stop(struct call *);
void call_free_answer(struct call *);
/* What `cut` says, by a record's WARC-Truncated; none: the stream was whole. */
bool call_is_cut(struct str truncated);
/* Receive no more frames for now, or again: what is under way still comes.
 * From begins() to done(). */
void call_hold(struct call *, bool);

#endif
