/*
 * item_html_names -- which characters the references of HTML stand for.
 *
 * Names are those of HTML 4, which are what programs write.
 * Thread: any; pure.
 * Source: https://www.w3.org/TR/html401/sgml/entities.html,
 * https://html.spec.whatwg.org/ section 13.2.5.80 (numbers).
 */
#ifndef ENGINE_CONNECTOR_ITEM_HTML_NAMES_H
#define ENGINE_CONNECTOR_ITEM_HTML_NAMES_H

#include "base/bytes.h"

/* That of "eacute"; 0: there is none. */
uint32_t item_html_named(struct str name);
/* That of &#N;, numbers of Windows-1252 put right; 0: it is no character. */
uint32_t item_html_numbered(uint32_t);

#endif
