/*
 * transport_reader -- reads an answer in HTTP/1.1: bytes in, head, pieces of
 * the body and its end out, all of them as received.
 *
 *     head of 1xx* -> head -> body by length, in chunks or until the end
 *                          -> 101: bytes, until the end
 *
 * Bytes are fed as they come; transport_reader_next() takes of them and tells
 * one thing at a time:
 *
 *     while ((got = transport_reader_next(&r, &bytes, &part)) != MORE)
 *         ...
 *
 * A body's part lies in the bytes that were fed: nothing is copied.
 * Thread: the owner's.  Source: RFC 9112.
 */
#ifndef OS_TRANSPORT_READER_H
#define OS_TRANSPORT_READER_H

#include "os/transport_chunk.h"

#define TRANSPORT_HEAD_BYTES_MAX 262144   /* where the caller sets none */

enum transport_read {
	TRANSPORT_READ_MORE,       /* nothing until more bytes come */
	TRANSPORT_READ_HEAD,       /* the final head is whole */
	TRANSPORT_READ_BODY,       /* a part of the body */
	TRANSPORT_READ_END,        /* the answer is whole; again: END */
	TRANSPORT_READ_WRONG,      /* it is not HTTP: `wrong`; again: WRONG */
};

enum transport_reader_state {
	TRANSPORT_READER_HEAD,
	TRANSPORT_READER_LENGTH,   /* a body of `left` more bytes */
	TRANSPORT_READER_CHUNKS,
	TRANSPORT_READER_REST,     /* the body ends with the connection */
	TRANSPORT_READER_TUNNEL,   /* after a 101 */
	TRANSPORT_READER_ENDED,
	TRANSPORT_READER_WRONG,
};

struct transport_reader {
	enum transport_reader_state state;
	size_t head_bytes_max;     /* of all heads and the trailers */
	bool is_head;              /* the answer to HEAD has no body */
	bool may_upgrade;          /* 101 is a final answer */

	struct buf head;           /* the last one, as far as it has come */
	int status;                /* of `head`; 0: its first line is to come */
	int version;               /* 10 or 11; 0: not known yet */
	const char *wrong;
	bool too_large;            /* the head, or the trailers */
	/* The connection may serve another request once the answer has ended,
	 * provided that no bytes are left then. */
	bool may_keep;
	/* How long the server keeps it without a request, by its word; -1: it
	 * does not say. */
	int64_t keep_alive_s;

	size_t line_at;            /* in `head`, of the line that is read */
	size_t lines_n;            /* of this head, whole ones */
	size_t head_bytes;
	bool chunked;
	bool coded;                /* Transfer-Encoding was there */
	bool in_framing;           /* the last line was one of these */
	bool has_length;
	uint64_t length, left;
	struct transport_chunk chunk;
};

/* An answer begins; the memory of `head` is used again.  0 bytes at most:
 * TRANSPORT_HEAD_BYTES_MAX. */
void transport_reader_begin(struct transport_reader *, size_t head_bytes_max,
    bool is_head, bool may_upgrade);
enum transport_read transport_reader_next(struct transport_reader *,
    struct str *bytes, struct str *part);
/* Whether the end of the connection is the end of the answer. */
bool transport_reader_ends_at_close(const struct transport_reader *);
/* Where the answer was cut, when it is not whole. */
const char *transport_reader_cut_text(const struct transport_reader *);
/*
 * The lines of the final head that have come, the one that is wrong too, when
 * it is not whole; or nothing.
 */
struct str transport_reader_head_received(const struct transport_reader *);
void transport_reader_free(struct transport_reader *);

#endif
