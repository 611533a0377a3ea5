/*
 * warc_read -- reads WARC 0.17 to 1.1 (docs/protocols/warc.md section 8):
 * plain, gzip per record or per file, zstd; "WARC/" in any case.  It is
 * tolerant: what can be understood is read and its oddity noted; damage costs
 * one record and names its offset.
 *
 *     next ─► RECORD ─► block ... ─► finish ─► next ...
 *          ─► DAMAGE (offset, cause) ─► next, at the next gzip magic or "WARC/"
 *          ─► END
 *
 * The file is a callback (wire/unpack.h).  Memory is constant; a record's
 * slices live until the next call of warc_read_next().
 * Thread: one.
 */
#ifndef WIRE_WARC_READ_H
#define WIRE_WARC_READ_H

#include "base/time.h"
#include "wire/http.h"
#include "wire/unpack.h"
#include "wire/warc.h"

struct warc_read_limits {
	struct unpack_limits unpack;
	size_t head_bytes_max;    /* warc.head_bytes_max */
	size_t field_bytes_max;   /* warc.field_bytes_max */
	size_t fields_max;
};
#define WARC_READ_LIMITS_DEFAULT ((struct warc_read_limits){ \
	UNPACK_LIMITS_DEFAULT, (size_t)1 << 20, (size_t)64 << 10, 1000 })

/* What is not as WARC 1.1 wants it, but could be read. */
#define WARC_ODDITIES(X)                                                      \
	X(BARE_LF, "lines end in LF alone")                                   \
	X(FOLDED, "folded lines")                                             \
	X(GARBAGE, "lines that are no fields")                                \
	X(BRACKETS, "the URI stands in angle brackets")                       \
	X(URI_SPACE, "the URI holds a space or control character")            \
	X(NO_END, "the two line ends behind the block are missing")           \
	X(MORE_END, "more than two line ends behind the block")               \
	X(ZEROS, "zeros between records")                                     \
	X(NO_ID, "WARC-Record-ID is missing or malformed")                    \
	X(NO_DATE, "WARC-Date is missing or malformed")                       \
	X(NO_TYPE, "WARC-Type is missing")                                    \
	X(VERSION, "a version that is not known")                             \
	X(SHARED, "several records in one compressed member")                 \
	X(SPLIT, "a record over several compressed members")                  \
	X(LENGTHS, "the extra field states wrong lengths")
enum warc_oddity {
#define WARC_ODDITY_ENUM(name, text) WARC_ODD_AT_##name,
	WARC_ODDITIES(WARC_ODDITY_ENUM)
#undef WARC_ODDITY_ENUM
	WARC_ODDITY_COUNT
};
#define WARC_ODD(name) (1u << WARC_ODD_AT_##name)
const char *warc_oddity_text(enum warc_oddity);

#define WARC_DAMAGES(X)                                                       \
	X(NONE, "")                                                           \
	X(STRANGE, "no record begins here")                                   \
	X(ARC, "ARC, not read")                                               \
	X(CUT, "the record ends before its end")                              \
	X(PACKED, "the compressed data is damaged")                           \
	X(TOO_BIG, "it unpacks beyond the limit")                             \
	X(HEAD, "the record's head is malformed")                             \
	X(HEAD_TOO_LONG, "the record's head is beyond the limit")             \
	X(LENGTH, "Content-Length is missing or malformed")                   \
	X(BOUNDARY, "no record begins where Content-Length says")             \
	X(IO, "the file cannot be read")
enum warc_damage_cause {
#define WARC_DAMAGE_ENUM(name, text) WARC_DAMAGE_##name,
	WARC_DAMAGES(WARC_DAMAGE_ENUM)
#undef WARC_DAMAGE_ENUM
};
/* A half sentence: "the record ends before its end". */
const char *warc_damage_text(enum warc_damage_cause);

struct warc_damage {
	enum warc_damage_cause cause;
	uint64_t offset;          /* where the damaged record begins */
};

struct warc_entry {
	uint64_t offset;          /* of its member, or of "WARC/" when plain */
	bool exact;               /* the offset leads to this record alone */
	enum unpack_kind kind;
	int version;              /* 17, 18, 100, 101: minor + 100 * major */
	enum warc_type type;
	struct str type_text, id; /* id without <>, as "urn:uuid:..." */
	struct str uri;           /* without <>; empty: none */
	struct wall date;         /* 0 with WARC_ODD(NO_DATE) */
	uint64_t length;          /* of the block */
	uint64_t block_at;        /* bytes of the head, unpacked */
	struct http_head head;    /* all fields, in order */
	struct gzip_head gzip;    /* number and group, if it is ours */
	unsigned odd;             /* complete after warc_read_finish() */
	uint64_t clen;            /* in the file; set by finish; 0: shared */
	uint64_t ulen;            /* unpacked, set by finish */
};
/* "WARC/1.1": 101; "WARC/0.17": 17; -1 when it is none. */
int warc_version(struct str line);
/* A field's value by name, any case; p is NULL: none. */
struct str warc_entry_field(const struct warc_entry *, struct str name);
/* "<urn:uuid:...>" without its brackets and spaces. */
struct str warc_strip_brackets(struct str);

enum warc_found { WARC_FOUND_RECORD, WARC_FOUND_DAMAGE, WARC_FOUND_END };

struct warc_reader;
/* Reads nothing yet; the source must outlive the reader. */
struct warc_reader *warc_reader_new(struct unpack_source,
    struct warc_read_limits);
void warc_reader_free(struct warc_reader **);

/*
 * The next record or damage.  A record in hand is finished first; damage found
 * in doing so comes as WARC_FOUND_DAMAGE now, unless finish() told it.
 */
enum warc_found warc_read_next(struct warc_reader *, struct warc_entry *,
    struct warc_damage *);
/*
 * The record at an offset from outside.  DAMAGE with cause STRANGE when none
 * begins exactly there; nothing is searched.
 */
enum warc_found warc_read_at(struct warc_reader *, uint64_t offset,
    struct warc_entry *, struct warc_damage *);
/* More of the block, borrowed until the next call; false at its end. */
bool warc_read_block(struct warc_reader *, struct str *);
/*
 * Read over the rest, check what ends the record, and complete `odd`, `clen`
 * and `ulen`.  False at damage, which is then told here and not again.
 */
bool warc_read_finish(struct warc_reader *, struct warc_entry *,
    struct warc_damage *);

#endif
