/*
 * capture -- one record of a WARC file, read at its offset.  One pread,
 * libdeflate, and the record taken apart; the decoded body only when it is
 * asked for.
 *
 * A reader keeps its buffers from capture to capture; what a capture shows
 * lives until the next read or capture_reader_free().
 * Thread: one reader, one thread.
 * Limits: a record of more than capture.bytes_max packed or unpacked is FULL;
 * use capture_stream for it.
 */
#ifndef ENGINE_ARCHIVE_CAPTURE_H
#define ENGINE_ARCHIVE_CAPTURE_H

#include "engine/archive/archive.h"
#include "wire/http.h"
#include "wire/warc.h"

#define CAPTURE_BYTES_MAX_DEFAULT ((size_t)64 << 20)

struct capture {
	int version;               /* of WARC: 101 is 1.1 */
	enum warc_type type;
	struct str id, uri;        /* without brackets */
	struct wall date;
	struct http_head warc;     /* the record's fields */
	struct str block;
	bool has_http;             /* the block is an HTTP message */
	struct http_head http;
	struct str http_bytes;     /* the head as received */
	struct str body;           /* as received; no HTTP: the block */
	bool has_facts;
	struct warc_capture facts; /* Argiope-Capture */
	uint64_t seq, group;       /* of the member's extra field, else 0 */
	uint32_t clen, ulen;
};

struct capture_reader;
/* `bytes_max`: capture.bytes_max; buffers grow up to it when needed. */
struct capture_reader *capture_reader_new(size_t bytes_max);
void capture_reader_free(struct capture_reader **);

/*
 * Read the record at `offset`.  `clen` and `ulen` as the journal or index has
 * them; a `ulen` of 0 is not known.  Plain and gzip members; for others use
 * capture_stream.
 * Errors: CORRUPT when no record begins there or it is damaged; FULL; IO.
 */
MUST_USE enum err capture_read(struct capture_reader *, int fd,
    uint64_t offset, uint64_t clen, uint64_t ulen, struct capture *,
    struct why *);

/*
 * The same, but only the first `head_bytes` unpacked bytes are read and
 * unpacked, where they are known to hold both heads (the journal's body_at):
 * `block` ends there, `body` is empty, lengths are not told.
 */
MUST_USE enum err capture_read_heads(struct capture_reader *, int fd,
    uint64_t offset, uint64_t clen, uint32_t head_bytes, struct capture *,
    struct why *);

/*
 * An answer as its record will have it, without the record's own fields: `http`
 * and `body`.  Borrows from both and `a`.
 */
void capture_of_answer(struct str head, struct str body, struct arena *a,
    struct capture *);

/* Append the decoded body to `out`; the damage, if any, is the body's. */
enum http_damage capture_decode(const struct capture *,
    struct http_decode_limits, struct buf *out);

/*
 * A big record in pieces of at most some 100 KB, decoded; constant memory.
 * The record is checked to begin at `offset`.
 */
struct capture_stream;
MUST_USE enum err capture_stream_open(const char *path, uint64_t offset,
    struct http_decode_limits, struct capture_stream **, struct why *);
/* The heads; `block`, `body` and lengths are empty. */
const struct capture *capture_stream_heads(const struct capture_stream *);
/*
 * Give the block as it was received, not decoded: all of it, or what follows
 * its HTTP head (`payload`).  Before the first capture_stream_next().
 */
void capture_stream_raw(struct capture_stream *, bool payload);
/*
 * Append the next piece of the decoded body to `out`.  False at its end; then
 * `*damage` says whether it is whole.  A piece comes from at most 16 KB as
 * received, so a bomb's is bounded by the ratio, too.
 */
bool capture_stream_next(struct capture_stream *, struct buf *out,
    enum http_damage *damage);
void capture_stream_close(struct capture_stream **);

#endif
