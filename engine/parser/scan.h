/*
 * scan -- cuts an HTML page into tags and texts, in one pass.
 *
 *     <p>a <b class=c>b</b><!-- d --><script>e</script>
 *     ^  ^ ^          ^^              ^       ^^
 *     |  | OPEN    TEXT CLOSE         OPEN TEXT CLOSE
 *  OPEN  TEXT
 *
 * That is the standard's tokenizer without its tokens for comments, document
 * types and processing instructions, which only end a text.  A text or a value
 * in which nothing is to be decoded is a part of the page and is not copied.
 *
 * The scanner does not know what is open.  Its caller tells it, by scan_raw(),
 * that the element just opened has text inside and no tags.
 *
 * Thread: a `struct scan` belongs to one thread.
 * Limits: `attrs_max`.
 * Source: https://html.spec.whatwg.org/ section 13.2.5.
 */
#ifndef ENGINE_PARSER_SCAN_H
#define ENGINE_PARSER_SCAN_H

#include "engine/parser/html_name.h"
#include "engine/parser/scan_mask.h"

enum scan_kind {
	SCAN_END,      /* the page has ended; an unfinished tag is dropped */
	SCAN_TEXT,    /* text between two tags, never empty */
	SCAN_OPEN,     /* a start tag */
	SCAN_CLOSE,    /* an end tag */
	SCAN_CUT,      /* a tag has more than attrs_max attributes */
};

struct scan_token {
	enum scan_kind kind;
	uintptr_t tag;         /* OPEN, CLOSE: html_tag_of() its name */
	bool self;             /* OPEN: it ends in "/>" */
	size_t attrs_n;        /* OPEN: all attributes, known or not */
	/* OPEN: values of known attributes, decoded; p is NULL where one is
	 * absent.  The first of two equal names counts.  Bit k of `known` is
	 * set where attr[k] is there. */
	uint32_t known;
	struct str attr[ATTR_COUNT];
};

/* How the inside of the element at hand is read. */
enum scan_mode {
	SCAN_DATA,     /* tags and texts */
	SCAN_RCDATA,   /* text with character references, up to the end tag */
	SCAN_RAWTEXT,  /* text up to the end tag */
	SCAN_SCRIPT,   /* the same, but "<!--" may hide an end tag */
	SCAN_REST,     /* text up to the end of the page */
};

/* The masks are those of the 64 bytes from `block` on. */
struct scan {
	const char *p;
	size_t n, at;
	size_t block;
	uint64_t mask[MASK_CLASSES];
	scan_mask_fn *fill_mask;
	const struct html_names *names;
	size_t attrs_max;
	enum scan_mode mode;
	struct str raw;        /* the name that ends such a text */
	/* The text just read: its place, and whether it has to be decoded. */
	size_t text, text_end;
	bool coded;
	struct buf *scratch;   /* decoded text or values */
};

/*
 * Begin at the start of `page`, in UTF-8.  The scratch buffer is the caller's
 * and may be used for one page after another.
 */
void scan_begin(struct scan *, struct str page, const struct html_names *,
    scan_mask_fn *, size_t attrs_max, struct buf *scratch);

/*
 * Read the next token into `*t`, which is zero before the first call.  Its
 * values are valid until the next call of a function of this header.
 */
enum scan_kind scan_next(struct scan *, struct scan_token *t);

/*
 * The text just read: references decoded, line breaks as LF, and U+FFFD for NUL
 * inside of elements that scan_raw() was called for.  Valid until the next call
 * of a function of this header.
 */
struct str scan_text(struct scan *);

/*
 * The element just opened, <script> or the like, has text inside.  An element
 * that may have tags inside changes nothing.
 */
void scan_raw(struct scan *, uintptr_t tag);

#endif
