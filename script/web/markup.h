/*
 * markup -- a document's nodes as HTML or XML again.
 *
 * HTML by https://html.spec.whatwg.org/ section 13.3; of an XML document by
 * XML's rules, with "<a/>" for an element without content.
 */
#ifndef SCRIPT_WEB_MARKUP_H
#define SCRIPT_WEB_MARKUP_H

#include "script/web/document.h"
#include "script/web/poll.h"

/* Append a node, or what is inside of it; out->full and `p` say how it went. */
void markup_outer(const struct document *, uint32_t, struct poll *p,
    struct out *);
void markup_inner(const struct document *, uint32_t, struct poll *p,
    struct out *);

#endif
