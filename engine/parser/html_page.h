/*
 * html_page -- the links and facts of one HTML page, from its tags and texts.
 *
 * Also tells what a tree builder would tell a tokenizer: that the inside of
 * <script> or <title> is text, and that inside of <svg> it is not.  The tags
 * alone decide, which is right for all but the most broken pages.
 *
 * Thread: one at a time.  Memory: the arena given.
 * Limits: parse.links_max, parse.nesting_max.
 */
#ifndef ENGINE_PARSER_HTML_PAGE_H
#define ENGINE_PARSER_HTML_PAGE_H

#include "engine/parser/parse.h"
#include "engine/parser/readable.h"
#include "engine/parser/scan.h"
#include "engine/parser/simhash.h"

struct html_page {
	const struct parse_input *in;
	struct parse_output *out;
	struct arena *a;
	const struct str *attr;  /* of the tag at hand */
	struct link_set links;
	struct simhash simhash;
	struct readable readable;     /* if it is wanted */
	uintptr_t raw;           /* the raw text element we are in, or 0 */
	unsigned foreign;        /* open <svg> and <math> */
	unsigned foreign_saved;  /* the same outside of <foreignObject> */
	size_t open;             /* open elements, roughly */
	bool has_title, in_title, has_lang;
	bool in_json;            /* a <script> of JSON-LD, if it is wanted */
};

/* `in` and `out` are used until html_page_end(), which completes `out`. */
void html_page_begin(struct html_page *, const struct parse_input *,
    struct parse_output *, struct arena *);
void html_page_end(struct html_page *);

/* A start tag.  True: its inside is text, as scan_raw() has to know. */
bool html_page_open(struct html_page *, const struct scan_token *);
void html_page_close(struct html_page *, uintptr_t tag);
/* Whether the text at this place counts, and that text, decoded. */
bool html_page_wants_text(const struct html_page *);
void html_page_text(struct html_page *, struct str);
/* The limit that has been met, static; or NULL. */
const char *html_page_limit(const struct html_page *);

#endif
