/*
 * parse -- what a document links to and says about itself.
 *
 * The one call for the rest of the engine: it decides what the bytes are (HTML,
 * CSS, stream, sitemap, plain text, or nothing that carries links) and reads
 * them accordingly.
 *
 * Thread: a `struct parser` belongs to one thread; everything else is in the
 *         arena given.
 * Limits: parse.links_max, parse.cpu_ms_max, parse.attrs_max,
 *         parse.nesting_max; what was left out is told by `cut_reason`;
 *         parse.text_bytes_max, told by `text_cut`.
 * Story:  engine/parser/DESIGN.md
 */
#ifndef ENGINE_PARSER_PARSE_H
#define ENGINE_PARSER_PARSE_H

#include "base/time.h"
#include "engine/parser/link.h"
#include "engine/parser/mime.h"

#define PARSE_LINKS_MAX 20000u
#define PARSE_CPU_MS_MAX 250u
/* Attributes of one tag: more end the page. */
#define PARSE_ATTRS_MAX 4096u
#define PARSE_TITLE_BYTES_MAX 500u
#define PARSE_LANG_BYTES_MAX 64u
#define PARSE_TEXT_BYTES_MAX ((size_t)256 << 10)

struct parse_input {
	struct str body;          /* content encodings undone */
	struct str content_type;  /* the header's value, or empty */
	bool nosniff;             /* X-Content-Type-Options: nosniff */
	const struct url *url;    /* the document's own; never NULL */
	struct str robots_token;  /* <meta name=...> besides "robots" */
	bool sitemap;             /* that was asked for: of text, each line */
	bool forms;               /* actions of GET forms are page links */
	bool readable;            /* find text and dates: readable.h */
	size_t text_bytes_max;    /* of the text; 0: PARSE_TEXT_BYTES_MAX */
	size_t links_max;         /* 0: PARSE_LINKS_MAX */
	size_t attrs_max;         /* per tag; 0: PARSE_ATTRS_MAX */
	size_t nesting_max;       /* open elements; 0: no limit */
	uint32_t cpu_ms_max;      /* 0: PARSE_CPU_MS_MAX */
	/* This thread's CPU time; NULL: no CPU limit. */
	int64_t (*cpu_ns)(void);
};

struct parse_output {
	enum mime_kind kind;      /* what it was read as */
	const char *charset;      /* "UTF-8", static; NULL when not text */
	struct str title;         /* UTF-8, white space collapsed, cut */
	struct str lang;          /* <html lang>, or empty */
	struct link *links;
	size_t links_n;
	uint32_t schemes_dropped; /* mailto:, javascript:, data: ... */
	uint32_t bad_urls;
	bool noindex, nofollow, noarchive;  /* by <meta> */
	uint64_t simhash;         /* 0: too little text */
	uint32_t words;
	uint32_t nesting;         /* the most open elements at a time */
	const char *cut_reason;   /* the limit that was met, static; or NULL */
	/* With `readable`, of HTML and plain text; else empty and 0.  Text is
	 * UTF-8 without control characters but TAB and LF; dates that the page
	 * does not state are 0. */
	struct str text;
	bool text_cut;            /* there is more of it */
	struct wall published, modified;
};

struct parser;

/* What is kept from document to document: one per thread. */
struct parser *parser_new(void);
void parser_free(struct parser **);

/*
 * Read a document.  Links and texts live in `a`; the body may go after
 * the call.  Damage of any kind gives what could be read and OK.
 */
MUST_USE enum err parse_document(struct parser *, const struct parse_input *,
    struct arena *a, struct parse_output *, struct why *);

#endif
