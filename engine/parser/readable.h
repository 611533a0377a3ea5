/*
 * readable -- the text of an HTML page that people come to read, without what
 * surrounds it on every page: navigation, headers and footers, dialogs, forms'
 * choices, scripts, and whatever is hidden.
 *
 *     start tags, end tags, texts ─► open elements ─► text, one line per block
 *                  │
 *                  └─► <meta>, itemprop, JSON-LD ─► dates
 *
 * Elements, ARIA roles and attributes decide what is left out; names of classes
 * do not.  A <header>, <footer> or <aside> of an <article>, <main> or <section>
 * belongs to its text.
 *
 * No tree is built.  End tags that a page leaves out are implied for the
 * elements whose end shows in a text: paragraphs, items, cells.
 *
 * Thread: any, one at a time.
 * Limits: parse.text_bytes_max, READABLE_*_MAX.
 * Source: https://html.spec.whatwg.org/ sections 13.2.6 and 15.3,
 * https://www.w3.org/TR/html-aam-1.0/ section 3.5, WAI-ARIA 1.2 section 5.3.
 * Story:  engine/parser/DESIGN.md
 */
#ifndef ENGINE_PARSER_READABLE_H
#define ENGINE_PARSER_READABLE_H

#include "base/arena.h"
#include "base/time.h"

/* Open elements.  A deeper one takes the place of the innermost. */
#define READABLE_DEPTH_MAX 512u
/* A block of JSON-LD; a longer one is not read. */
#define READABLE_JSON_BYTES_MAX ((size_t)256 << 10)

enum readable_date { READABLE_PUBLISHED, READABLE_MODIFIED,
	READABLE_DATE_COUNT };
/* Which statement of a date counts, before those that follow here. */
enum readable_source { READABLE_META, READABLE_JSON, READABLE_ITEMPROP,
	READABLE_NOWHERE };

/* Attributes of a start tag; p is NULL where one is absent. */
struct readable_attrs {
	struct str aria_hidden, content, datetime, hidden, itemprop, name,
	    property, role, style;
};

struct readable_element {
	uintptr_t tag;
	bool drops;          /* its inside is not readable text */
	bool is_content;     /* headers and footers inside belong to it */
	bool is_pre;         /* white space counts */
};

/* The sums count the open elements with that property. */
struct readable {
	struct arena *a;
	struct readable_element *open;
	size_t n;
	unsigned drops, contents, pres;
	struct buf text;
	size_t bytes_max;
	bool line, space;    /* that precede the next character */
	bool pre_begins;     /* a line break here does not count */
	bool cut;            /* the text would be longer than bytes_max */
	struct wall date[READABLE_DATE_COUNT];
	enum readable_source source[READABLE_DATE_COUNT];
};

/* Tags are lexbor's ids of names.  The arena is used until readable_end(). */
void readable_begin(struct readable *, size_t bytes_max, struct arena *);
/* A start tag; it opens an element unless that is void. */
void readable_open(struct readable *, uintptr_t tag,
    const struct readable_attrs *);
void readable_close(struct readable *, uintptr_t tag);
/* An HTML element has ended <svg> or <math>. */
void readable_leave_foreign(struct readable *);
/* Text in UTF-8, character references decoded.  Bytes that are no UTF-8 become
 * U+FFFD, control characters are left out. */
void readable_put_text(struct readable *, struct str);
/* The text of a <script type="application/ld+json">. */
void readable_put_json(struct readable *, struct str);
/* The text, in the arena; the rest is freed. */
struct str readable_end(struct readable *);

/* Plain text in UTF-8: its lines as they are, mended and cut as above. */
struct str readable_of_plain(struct str text, size_t bytes_max,
    struct arena *, bool *cut);

#endif
