/*
 * parse_html -- HTML to a document, by lexbor's tree builder.
 *
 * The text is fed in chunks of 4 KiB; between two of them, and between two
 * tags, the limits are looked at.  lexbor is quadratic in the nesting and in
 * the attributes of a tag, so that its own tree is kept within the same bounds
 * as the document: a start tag beyond DOCUMENT_DEPTH_MAX open elements is
 * ignored, attributes beyond DOCUMENT_ATTRS_MAX are cut.
 *
 * Source: https://html.spec.whatwg.org/ section 13.2.  Scripting counts as
 * enabled, as in cheerio: the inside of <noscript> is text.
 */
#ifndef SCRIPT_WEB_PARSE_HTML_H
#define SCRIPT_WEB_PARSE_HTML_H

#include "script/web/document.h"
#include "script/web/poll.h"

#define PARSE_CHUNK_BYTES 4096u

/*
 * Fill a new document from valid UTF-8.  Errors: FULL when the heap's limit is
 * met, TIMEOUT when `p` says stop, BROKEN when lexbor fails.  The document is
 * to be dropped then.
 */
MUST_USE enum err parse_html(struct document *, struct str text, struct poll *p,
    struct why *);

#endif
