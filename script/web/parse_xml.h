/*
 * parse_xml -- XML to a document, by expat.
 *
 * Names keep their prefixes.  The document type declaration is left out before
 * expat sees the text, and so are entities: a reference that is none of XML's
 * own five and no number stays in the text as it is written, and a bare "&" is
 * one.  CDATA sections are text.
 *
 * Source: https://www.w3.org/TR/xml/
 */
#ifndef SCRIPT_WEB_PARSE_XML_H
#define SCRIPT_WEB_PARSE_XML_H

#include "script/web/document.h"
#include "script/web/poll.h"

/*
 * Fill a new document from valid UTF-8.  Errors: INPUT with line and column
 * when the text is not well-formed; FULL, TIMEOUT as parse_html().
 */
MUST_USE enum err parse_xml(struct document *, struct str text, struct poll *p,
    struct why *);

#endif
