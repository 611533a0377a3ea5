/*
 * check -- tests WARC files against every rule of docs/protocols/warc.md:
 * digests recomputed, lengths, references between records, a crawl's numbers,
 * and the lines of the CDXJ file beside it.
 *
 * Two measures: a file of ours must keep the whole contract; a file of others
 * only what WARC itself wants, the rest are warnings.  A file is ours when its
 * name has our form or its first member carries the subfield `AR`.
 *
 * Memory is bounded: record ids are remembered as 64-bit hashes, up to ids_max
 * of them; beyond that they are forgotten and `ids_forgotten` says so.
 * Thread: one.
 */
#ifndef ENGINE_ARCHIVE_CHECK_H
#define ENGINE_ARCHIVE_CHECK_H

#include "engine/archive/archive.h"
#include "wire/warc.h"

/* id, text, in others' files, in ours: N nothing, W warning, E error */
#define ARCHIVE_RULES(X)                                                      \
	X(DAMAGE,          "a record is damaged", E, E)                       \
	X(EMPTY,           "the file holds no record", W, W)                  \
	X(LOST,            "a finished file is not as recorded", E, E)        \
	X(MOVED,           "a hook has moved the file", W, W)                 \
	X(BLOCK_DIGEST,    "the block digest does not match", E, E)           \
	X(PAYLOAD_DIGEST,  "the payload digest does not match", E, E)         \
	X(ENTITY_DIGEST,   "the payload digest is of the entity", W, E) \
	X(DIGEST_FORM,     "a digest of unknown form", W, E)                  \
	X(NO_BLOCK_DIGEST, "no block digest", N, E)                           \
	X(NO_PAYLOAD_DIGEST, "no payload digest", N, E)                       \
	X(REQUEST_PAYLOAD, "a request has a payload digest", W, E)            \
	X(ID,              "WARC-Record-ID is missing or malformed", E, E)    \
	X(ID_REPEATED,     "a WARC-Record-ID is there twice", E, E)           \
	X(FIELD_REPEATED,  "a field that may occur once is there twice", E, E) \
	X(DATE,            "WARC-Date is missing or malformed", E, E)         \
	X(TYPE,            "WARC-Type is missing or not known", W, E)         \
	X(URI,             "WARC-Target-URI is missing", E, E)                \
	X(URI_FORM,        "WARC-Target-URI is malformed", W, E)              \
	X(CONCURRENT,      "WARC-Concurrent-To names no record", W, E)        \
	X(NO_CONCURRENT,   "a request without WARC-Concurrent-To", N, E)      \
	X(WARCINFO,        "WARC-Warcinfo-ID names no warcinfo here", W, W) \
	X(WARCINFO_FIRST,  "the first record is no warcinfo", W, E)           \
	X(FILENAME,        "WARC-Filename is not the file's name", W, W)      \
	X(NAME,            "the file's name is not as prescribed", N, W)      \
	X(VERSION,         "not WARC 1.1", N, E)                              \
	X(MEMBER,          "records and gzip members do not agree", W, E) \
	X(LENGTHS,         "the extra field states wrong lengths", W, E)      \
	X(FORM,            "the record's form is careless", W, E)             \
	X(REVISIT,         "a revisit lacks digest or original", W, E) \
	X(TRUNCATED,       "WARC-Truncated gives no known reason", W, E)      \
	X(HTTP,            "the block is no HTTP message", W, E)              \
	X(CAPTURE,         "Argiope-Capture is missing or malformed", N, E)   \
	X(SEQUENCE,        "numbers of a crawl are out of order", E, E)       \
	X(REPEATED,        "a number of a crawl is there twice", E, E)        \
	X(GAP,             "numbers of a crawl are missing", W, W)            \
	X(CDXJ,            "the CDXJ file beside it is wrong", N, E)
enum archive_rule {
#define ARCHIVE_RULE_ENUM(id, text, others, ours) ARCHIVE_RULE_##id,
	ARCHIVE_RULES(ARCHIVE_RULE_ENUM)
#undef ARCHIVE_RULE_ENUM
	ARCHIVE_RULE_COUNT
};
void archive_rule_put_name(enum archive_rule, struct buf *);  /* "gap" */
const char *archive_rule_text(enum archive_rule);

struct archive_finding {
	enum archive_rule rule;
	bool error;
	const char *path;
	uint64_t offset;
	const char *detail;       /* one line; may be empty */
	bool note;                /* no fault: not even a warning */
};

#define ARCHIVE_IDS_MAX_DEFAULT ((size_t)16 << 20)
#define ARCHIVE_CRAWLS_MAX 4096

struct archive_check_options {
	bool strict;              /* measure all files as ours */
	size_t ids_max;           /* archive.check_ids_max; 0: the default */
	/* Called for each finding; NULL: they are only counted. */
	void (*finding)(void *arg, const struct archive_finding *);
	void *arg;
};

struct archive_check_counts {
	uint64_t files, records, bytes, errors, warnings;
	uint64_t types[WARC_CONTINUATION + 1];
	uint64_t rules[ARCHIVE_RULE_COUNT];
	uint64_t digests;         /* recomputed */
	uint64_t captures;        /* with a number */
	uint64_t missing;         /* numbers in gaps */
	bool ids_forgotten;
};

/* Errors: what opening and reading give; findings are no errors. */
MUST_USE enum err archive_check(const struct archive_catalogue *,
    const struct archive_check_options *, struct archive_check_counts *,
    struct why *);

/* 0: sound; 65: warnings, with `strict` only; 70: errors. */
int archive_check_exit(const struct archive_check_counts *, bool strict);

/* "x.warc.gz at 123: error: the block digest does not match (...)\n" */
void archive_finding_text(const struct archive_finding *, struct buf *);
/* One JSON object, without a line end. */
void archive_finding_json(const struct archive_finding *, struct buf *);
void archive_check_text(const struct archive_check_counts *, struct buf *);
void archive_check_json(const struct archive_check_counts *, struct buf *);

#endif
