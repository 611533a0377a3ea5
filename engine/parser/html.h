/*
 * html -- links and facts from HTML: the scanner's tags and texts, and what a
 * page makes of them.
 *
 * No tree is built.  The limits are looked at between two tokens.
 *
 * Thread: a `struct html` belongs to one thread.
 * Limits: parse.attrs_max, parse.cpu_ms_max; more in html_page.h.
 */
#ifndef ENGINE_PARSER_HTML_H
#define ENGINE_PARSER_HTML_H

#include "engine/parser/parse.h"

/* The CPU clock is a system call: it is read once per so many bytes. */
#define HTML_CLOCK_BYTES 32768u

struct html;

/* Tables and a buffer for one page after another; the caller frees it. */
struct html *html_new(void);
void html_free(struct html **);

/* `text` is the body in UTF-8 without BOM; see parse_document(). */
void html_parse(struct html *, const struct parse_input *, struct str text,
    struct arena *a, struct parse_output *);

#endif
