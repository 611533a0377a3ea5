/*
 * cdxj -- lines of a CDXJ index (docs/protocols/warc.md section 9):
 *
 *     SURT 14-digits {"url":"..","mime":"..","status":"200","digest":"sha1:..",
 *     "length":"123","offset":"456","filename":".."}
 *
 * All values are texts, as pywb and wabac write them.  Offset and file name
 * stand last, so that a line can be prepared before its place is known.
 * Lines are sorted by their bytes.
 */
#ifndef WIRE_CDXJ_H
#define WIRE_CDXJ_H

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"

#define CDXJ_MIME_REVISIT "warc/revisit"
#define CDXJ_LINE_MAX ((size_t)1 << 20)
/* A request body beyond this is not part of the key. */
#define CDXJ_POST_BYTES_MAX ((size_t)16 << 10)

struct cdxj_line {
	struct str surt;
	struct str time;          /* 14 digits */
	struct str url, mime, digest, filename;
	int status;               /* 0: none, left out */
	uint64_t length, offset;
	struct str method;        /* "POST"; empty: GET */
	struct str request_body;  /* as cdxj_put_request_body() encodes it */
};

/* The line up to `"offset"`, without it; `time` may be empty: `date` is it. */
void cdxj_put_head(struct buf *, const struct cdxj_line *, struct wall date);
/* The rest, with its line end. */
void cdxj_put_tail(struct buf *, uint64_t offset, struct str filename);

/*
 * Parse one line, with or without its line end; numbers may be texts or
 * numbers, unknown members are ignored.  Slices borrow from the line or `a`.
 * Errors: INPUT.
 */
MUST_USE enum err cdxj_parse(struct str line, struct arena *a,
    struct cdxj_line *, struct why *);

/*
 * What a request that is no GET appends to its URL before the SURT is made, is
 * "__wb_method=POST&" and its body encoded: a form as it is, JSON flattened to
 * name=value pairs, else "__wb_post_data=" and base64.
 */
void cdxj_put_request_body(struct buf *, struct str content_type,
    struct str body);

/* A JSON text with its quotes; what is no UTF-8 becomes U+FFFD. */
void cdxj_put_json(struct buf *, struct str);

#endif
