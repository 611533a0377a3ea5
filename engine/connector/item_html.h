/*
 * item_html -- the plain text and the links of the small HTML that platforms
 * send in posts: paragraphs, breaks, links, spans, and character references.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_ITEM_HTML_H
#define ENGINE_CONNECTOR_ITEM_HTML_H

#include "base/bytes.h"

/*
 * Append the text without markup, in one line: breaks and borders of
 * paragraphs, list items and the like are a blank, as each run of white space
 * is.  Numeric references and the names of HTML 4 are decoded where a ";" ends
 * them; others stay as they are written.
 */
void item_html_put_text(struct str html, struct buf *out);
/*
 * Take the next link off: its address, decoded, appended to `href`, and the
 * words of its class as written.  False: there is none.
 */
bool item_html_take_link(struct str *html, struct buf *href,
    struct str *classes);

#endif
