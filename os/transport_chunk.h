/*
 * transport_chunk -- follows the framing of a chunked body without changing it.
 *
 * The archive wants the bytes as received, so libcurl is told to pass them on
 * raw; this tells where the body ends in them, whether the framing is broken,
 * and how many bytes of trailers came.
 *
 *     size -> extension -> data -> data end -> size ... -> trailer -> last LF
 *
 * It accepts what libcurl's own reader accepts (a bare LF for CR LF, anything
 * in an extension), so that both see the same end; but after the digits of a
 * size only a blank, an extension or the end of the line may follow.
 * Thread: the owner's.  Source: RFC 9112 §7.1.
 */
#ifndef OS_TRANSPORT_CHUNK_H
#define OS_TRANSPORT_CHUNK_H

#include "base/bytes.h"

enum transport_chunk_state {
	TRANSPORT_CHUNK_SIZE,
	TRANSPORT_CHUNK_SIZE_BLANK,     /* blanks after its digits */
	TRANSPORT_CHUNK_EXTENSION,
	TRANSPORT_CHUNK_DATA,
	TRANSPORT_CHUNK_DATA_END,
	TRANSPORT_CHUNK_TRAILER,        /* at the beginning of a line */
	TRANSPORT_CHUNK_TRAILER_LINE,
	TRANSPORT_CHUNK_TRAILER_LF,
	TRANSPORT_CHUNK_LAST_LF,
	TRANSPORT_CHUNK_ENDED,
	TRANSPORT_CHUNK_BROKEN,
};

/* Zero bytes are the state before the first byte. */
struct transport_chunk {
	enum transport_chunk_state state;
	unsigned digits;                /* of the size so far, at most 16 */
	uint64_t left;                  /* bytes of this chunk still to come */
	size_t trailer_bytes;           /* after the last chunk's size line */
};

/*
 * Follow `bytes` and return how many of them belong to the body: fewer than
 * `bytes.n` only when the state is then ENDED or BROKEN.
 */
size_t transport_chunk_follow(struct transport_chunk *, struct str bytes);

#endif
