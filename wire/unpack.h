/*
 * unpack -- the bytes of a WARC file, member by member, whether they are plain,
 * gzip or zstd.  Memory is constant; the file is a callback, so that wire/ has
 * none.
 *
 *     unpack_begin() ─► GZIP, ZSTD ─► peek/take ... ─► MEMBER_END ─► begin
 *                    ─► PLAIN      ─► peek/take ... ─► MEMBER_END at the end
 *                    ─► STRANGE    ─► unpack_find() the next place to go on
 *
 * Thread: one.  Limits: a member that unpacks to more than bytes_max, or beyond
 * ratio_max from UNPACK_RATIO_FROM on, is damaged; zstd windows end at 8 MiB.
 */
#ifndef WIRE_UNPACK_H
#define WIRE_UNPACK_H

#include "base/err.h"
#include "wire/gzip.h"

struct unpack_source {
	/*
	 * Read up to n bytes at `at`; `*got` is less only at the end.  Errors
	 * end the reading; they are reported as UNPACK_IO.
	 */
	enum err (*read)(void *arg, uint64_t at, void *p, size_t n,
	    size_t *got);
	void *arg;
};

struct unpack_limits {
	uint64_t bytes_max;
	uint32_t ratio_max;
};
#define UNPACK_LIMITS_DEFAULT \
	((struct unpack_limits){ (uint64_t)8 << 30, 1100 })
#define UNPACK_RATIO_FROM ((uint64_t)16 << 20)
#define UNPACK_DICTIONARY_MAX ((size_t)4 << 20)

enum unpack_kind { UNPACK_END, UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD,
	UNPACK_STRANGE };
enum unpack_found { UNPACK_BYTES, UNPACK_MEMBER_END, UNPACK_DAMAGED,
	UNPACK_CUT, UNPACK_TOO_BIG, UNPACK_IO };

struct unpack;
/* Stands at offset 0; reads nothing yet. */
struct unpack *unpack_new(struct unpack_source, struct unpack_limits);
void unpack_free(struct unpack **);

/* Forget the member in hand and stand at `at` of the file. */
void unpack_seek(struct unpack *, uint64_t at);
/* The offset of the next byte that no member has used. */
uint64_t unpack_at(const struct unpack *);
/*
 * Raw bytes at `at`, up to n of them, without moving.  Fewer at the end.
 */
size_t unpack_raw(struct unpack *, uint64_t at, void *p, size_t n);
/*
 * Count and skip zeros and line ends between members.  True when there were
 * zeros.
 */
bool unpack_skip_padding(struct unpack *);

/* Detect the format and open the member.  A zstd dictionary is loaded. */
enum unpack_kind unpack_begin(struct unpack *);
/* The member's next bytes, at least one with UNPACK_BYTES. */
enum unpack_found unpack_peek(struct unpack *, struct str *);
void unpack_take(struct unpack *, size_t n);
/* The head of the present gzip member. */
const struct gzip_head *unpack_gzip_head(const struct unpack *);

/*
 * The first place at or after `from` where a record can begin: a gzip member
 * or zstd frame that unpacks to "WARC/", or "WARC/" at the start of a line.
 * False: none up to the end.
 */
bool unpack_find(struct unpack *, uint64_t from, uint64_t *at);

#endif
