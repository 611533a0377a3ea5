/*
 * html -- links and facts from HTML, by lexbor's tokenizer alone.
 *
 * No tree is built.  What a tree builder would tell the tokenizer (that the
 * inside of <script> or <title> is text, that inside <svg> it is not) is told
 * from the tags themselves, which is right for all but the most broken pages.
 * The page is fed in chunks of 4 KB; between them the limits are looked at.
 *
 * Thread: a `struct html` belongs to one thread.
 * Source: https://html.spec.whatwg.org/ section 13.2.5.
 */
#ifndef ENGINE_PARSER_HTML_H
#define ENGINE_PARSER_HTML_H

#include "engine/parser/parse.h"

#define HTML_CHUNK_BYTES 4096u
/* The CPU clock is a system call: it is read once per so many chunks. */
#define HTML_CHUNKS_PER_CLOCK 8u

struct html;

/* A tokenizer for one page after another; the caller frees it. */
struct html *html_new(void);
void html_free(struct html **);

/* `text` is the body in UTF-8 without BOM; see parse_document(). */
MUST_USE enum err html_parse(struct html *, const struct parse_input *,
    struct str text, struct arena *a, struct parse_output *, struct why *);

#endif
