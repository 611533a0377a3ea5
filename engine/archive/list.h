/*
 * list -- what `argiope archive ls` and `argiope archive cat` show: records as
 * lines, and the bytes of one of them.
 */
#ifndef ENGINE_ARCHIVE_LIST_H
#define ENGINE_ARCHIVE_LIST_H

#include "engine/archive/archive.h"
#include "wire/http.h"
#include "wire/warc.h"

/* One record, as ls shows it.  Slices live during the callback. */
struct archive_row {
	const struct archive_file *file;
	uint64_t offset, clen, length;   /* clen 0: it shares its member */
	enum warc_type type;
	struct wall date;
	int status;                      /* 0: none */
	struct str mime, uri, id;
	uint64_t seq;                    /* 0: no number */
	bool has_facts;
	struct warc_capture facts;
	const char *damage;              /* not NULL: no record, only this */
};
typedef enum err archive_row_event(void *arg, const struct archive_row *,
    struct why *);

/* Every record and every damage, in the order of the files. */
MUST_USE enum err archive_rows(const struct archive_catalogue *,
    archive_row_event *, void *arg, struct why *);

/* The row as text with a line end, or as one JSON object without. */
void archive_row_text(const struct archive_row *, struct buf *);
void archive_row_json(const struct archive_row *, struct buf *);

enum archive_part {
	ARCHIVE_RECORD,           /* all of the record, unpacked */
	ARCHIVE_BLOCK,            /* its block: HTTP head and body */
	ARCHIVE_PAYLOAD,          /* the body as it was received */
	ARCHIVE_BODY,             /* the body decoded */
};
/*
 * Write a part of the record at `offset` to `out`.  What is damaged or goes
 * beyond `limits` is written up to there; `*damage` says so (TOO_LONG: exactly
 * limits.bytes_max were written).  limits.ratio_max counts for BODY alone.
 * Memory: as capture_stream_next().
 * Errors: CORRUPT, IO, ABSENT.
 */
MUST_USE enum err archive_cat(const char *path, uint64_t offset,
    enum archive_part, struct http_decode_limits limits, FILE *out,
    enum http_damage *damage, struct why *);

/* A capture that is looked for, and where it is. */
struct archive_found {
	struct str url;               /* as in WARC-Target-URI; NONE: */
	uint32_t crawl;
	uint64_t seq;
	/* Out; `file` is NULL before. */
	const struct archive_file *file;
	uint64_t offset;
	struct wall date;
	uint32_t hop;
};
/*
 * The newest response to `url`, or the final answer of number `seq` of `crawl`.
 * All files are read.  ABSENT when there is none.
 */
MUST_USE enum err archive_find(const struct archive_catalogue *,
    struct archive_found *, struct why *);

#endif
