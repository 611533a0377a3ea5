/*
 * http -- HTTP/1.x messages as they were received: the head as slices, the body
 * decoded from a copy.
 *
 * Written for what servers really send: bare LF, folded lines, lines that are
 * no fields, bodies that are not coded as their head claims.  Nothing is
 * refused that still makes sense; what was odd is counted or named.
 *
 * A head's slices borrow from the bytes given, or from the arena where a
 * folded value had to be joined.
 * Thread: any, one object one thread.  Source: RFC 9110, RFC 9112.
 */
#ifndef WIRE_HTTP_H
#define WIRE_HTTP_H

#include "base/arena.h"
#include "base/err.h"

struct http_field {
	struct str name, value;   /* value trimmed, folds joined by one space */
};

struct http_head {
	bool request;
	int version;              /* 9, 10, 11, 20; 9 is HTTP/0.9 */
	int status;               /* answers: 100 to 999 */
	struct str reason;
	struct str method, target;   /* requests */
	struct http_field *fields;
	size_t fields_n;
	size_t garbage;           /* lines that are no fields */
	size_t folds;             /* folded lines */
	size_t bare_lf;           /* lines that end in LF alone */
	size_t n;                 /* bytes of the head, empty line included */
	bool complete;            /* the empty line was there */
};

struct http_limits {
	size_t fields_max;        /* more fields: FULL */
	size_t bytes_max;         /* a longer head: FULL */
};
#define HTTP_LIMITS_DEFAULT ((struct http_limits){ 1000, (size_t)1 << 20 })

/*
 * Where the head at the start of `s` ends, behind its empty line; 0 when it
 * has no end yet.  Empty lines before the first line are skipped.
 */
size_t http_head_end(struct str s);
/* 301, 302, 303, 307 or 308 (RFC 9110 §15.4): Location says where to go. */
bool http_is_redirect(int status);

/*
 * Parse the head at the start of `s`; what follows it is not looked at.
 * Without an empty line all of `s` is the head and `complete` is false.
 * Memory: `a`.  Errors: INPUT when the first line is no status line (or
 * request line, with `request`); FULL.
 */
MUST_USE enum err http_parse_head(struct str s, bool request,
    struct http_limits, struct arena *a, struct http_head *, struct why *);

/* As http_parse_head() for text that has only fields, no first line. */
MUST_USE enum err http_parse_fields(struct str s, struct http_limits,
    struct arena *a, struct http_head *, struct why *);

/* The value of the first field of that name (any case); p is NULL: none. */
struct str http_find(const struct http_head *, struct str name);
/* The next field of that name at or after `*at`, which is moved behind it. */
bool http_next(const struct http_head *, struct str name, size_t *at,
    struct str *value);
/* All values of that name joined by ", " (RFC 9110 §5.2).  Memory: `a`. */
struct str http_find_all(const struct http_head *, struct str name,
    struct arena *a);
/*
 * False when Content-Length is absent, malformed or contradicts itself;
 * "5, 5" is 5 (RFC 9112 §6.3).
 */
bool http_content_length(const struct http_head *, uint64_t *);

/* "text/html; charset=UTF-8" taken apart.  Memory: `a`. */
struct http_media {
	struct str type;          /* "text/html", lower case; may be empty */
	struct str charset;       /* "UTF-8" as written, unquoted; or none */
};
struct http_media http_media_parse(struct str value, struct arena *a);
struct http_media http_content_type(const struct http_head *, struct arena *a);

/* --- bodies ------------------------------------------------------------- */

enum http_damage {
	HTTP_FINE,
	HTTP_CUT,            /* ends before its end */
	HTTP_BAD_CHUNK,      /* a chunk is malformed */
	HTTP_NOT_CHUNKED,    /* is not chunked as its head says */
	HTTP_BAD_CODING,     /* its coded data is damaged */
	HTTP_NOT_CODED,      /* is not coded as its head says */
	HTTP_UNKNOWN_CODING,
	HTTP_TOO_LONG,       /* decodes to more than the limit */
	HTTP_TOO_DENSE,      /* is compressed beyond the allowed ratio */
};
/* The damage ended the decoding: what came out is not all there was. */
bool http_damage_cuts(enum http_damage);

struct http_decode_limits {
	uint64_t bytes_max;       /* of the decoded body, and of each stage */
	uint32_t ratio_max;       /* decoded to received, from 1 MiB on */
};
#define HTTP_DECODE_LIMITS_DEFAULT \
	((struct http_decode_limits){ (uint64_t)64 << 20, 250 })
#define HTTP_RATIO_FROM ((uint64_t)1 << 20)
/* gzip, deflate, br, zstd, chunked; more in one message: UNKNOWN_CODING. */
#define HTTP_CODINGS_MAX 4
#define HTTP_CHUNK_LINE_MAX 4096
#define HTTP_TRAILER_MAX ((size_t)64 << 10)
#define HTTP_CHUNK_LINE_STRICT_MAX 257
#define HTTP_TRAILER_STRICT_MAX ((size_t)8 << 10)

struct http_decoder;

/*
 * A decoder for the body that follows `head`: transfer codings undone, then
 * content codings.  What is not coded as the head says passes unchanged.
 */
struct http_decoder *http_decoder_new(const struct http_head *,
    struct http_decode_limits);
void http_decoder_free(struct http_decoder **);
/*
 * Feed bytes as received; decoded bytes are appended to `out`.  What it
 * returns is the damage so far, that of the outermost coding that met one;
 * after one that ends the decoding (everything but NOT_CHUNKED, NOT_CODED,
 * UNKNOWN_CODING) nothing more comes out.  One call may append up to bytes_max.
 */
enum http_damage http_decoder_feed(struct http_decoder *, struct str raw,
    struct buf *out);
/* No more bytes follow.  CUT when a coding had not ended. */
enum http_damage http_decoder_end(struct http_decoder *, struct buf *out);

/*
 * The whole body at once: the same result as feeding a decoder, faster for
 * gzip.  At damage `out` holds what came before it; with a damaged coding
 * how much that is may depend on the pieces in which the bytes came.
 */
enum http_damage http_decode_body(const struct http_head *, struct str raw,
    struct http_decode_limits, struct buf *out);

/* --- chunks alone, RFC 9112 §7.1 ---------------------------------------- */

/*
 * Zeroed at first, but for `strict`, which is for a server: lines end in CR
 * and LF, extensions and trailers are shorter, and a chunk that exceeds
 * `out_max` is TOO_LONG as soon as its size is known.
 */
struct http_chunks {
	bool strict, cr;          /* cr: the byte before was one */
	int state;
	uint64_t left;            /* of the chunk's data */
	size_t line_n;            /* bytes of the line in hand */
	size_t trailer_n;
	size_t chunks;            /* sizes read so far */
	unsigned digits;
};
enum http_chunks_found {
	HTTP_CHUNKS_MORE, HTTP_CHUNKS_END, HTTP_CHUNKS_BAD,
	HTTP_CHUNKS_TOO_LONG
};
/*
 * Take what `*raw` holds, append chunk data to `out` (at most up to out->n ==
 * out_max), and move `*raw` on.  MORE with bytes left in `*raw`: out is full.
 */
enum http_chunks_found http_chunks_feed(struct http_chunks *, struct str *raw,
    struct buf *out, uint64_t out_max);

#endif
