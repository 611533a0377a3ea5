/*
 * gzip -- gzip members as WARC files need them: one member per record, with a
 * head of fixed size whose numbers can be patched after compression.
 *
 *     at  0   1f 8b 08 04 | mtime 0 | xfl 0 | os 255          RFC 1952 §2.3
 *     at 10   XLEN = 32, little-endian like all of gzip
 *     at 12   's' 'l' 8    clen4 ulen4   little-endian
 *     at 24   'A' 'R' 16   seq8 group8   big-endian
 *     at 44   deflate data, CRC32, ISIZE
 *
 * `sl` is the skip-lengths subfield of the WARC 0.9 draft (§9.2): the length of
 * the whole member, head and trailer included, then the length of what it
 * unpacks to; wget writes it too, and counts the same.  `AR` is ours: the
 * capture's number in its crawl (0: none) and the commit group that wrote the
 * member.
 *
 * Thread: a writer belongs to one thread.
 * Limits: a member unpacks to at most GZIP_ULEN_MAX bytes.
 */
#ifndef WIRE_GZIP_H
#define WIRE_GZIP_H

#include "base/bytes.h"
#include "base/err.h"

#define GZIP_HEAD_BYTES 44
#define GZIP_TRAILER_BYTES 8
/* 2^32 - 1 would be the format's; some readers keep lengths in 31 bits. */
#define GZIP_ULEN_MAX ((uint64_t)INT32_MAX)
#define GZIP_LEVEL_MAX 12
/* Up to this size a member is compressed in one call, else in a stream. */
#define GZIP_ONE_CALL_MAX ((size_t)256 << 10)

struct gzip_writer;

/*
 * Level 0 and 1 are ISA-L's igzip, 2 to 12 libdeflate.  The former two store a
 * part that is gzip already, and what follows it, as it is.
 */
struct gzip_writer *gzip_writer_new(int level);
void gzip_writer_free(struct gzip_writer **);

struct gzip_lengths {
	uint32_t clen, ulen;
};

/*
 * Append to `out` one member that unpacks to the `parts` in their order.
 * Number and group are zero until gzip_patch().
 * Errors: FULL when the parts exceed GZIP_ULEN_MAX; `out` is then unchanged.
 */
MUST_USE enum err gzip_put(struct gzip_writer *, const struct str *parts,
    size_t parts_n, struct buf *out, struct gzip_lengths *, struct why *);

/* `member` points to a member of ours, at least GZIP_HEAD_BYTES of it. */
void gzip_patch(void *member, uint64_t seq, uint64_t group);

/* The head of any gzip member. */
struct gzip_head {
	size_t n;                 /* bytes of the head */
	bool has_lengths, has_numbers;
	struct gzip_lengths lengths;
	uint64_t seq, group;
};

enum gzip_found { GZIP_HEAD_OK, GZIP_HEAD_SHORT, GZIP_HEAD_BAD };

/*
 * Parse the head at the start of `s`.  SHORT: more bytes are needed; a head
 * longer than GZIP_HEAD_MAX is BAD.  Subfields that do not fit are ignored.
 */
#define GZIP_HEAD_MAX ((size_t)128 << 10)
enum gzip_found gzip_head_parse(struct str s, struct gzip_head *);

/* True when `s` begins like a gzip member that uses deflate. */
bool gzip_starts(struct str s);
/* Four bytes in the order that gzip and zstd use, least significant first. */
uint32_t gzip_le32(const void *);

#endif
