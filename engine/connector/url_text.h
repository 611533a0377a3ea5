/*
 * url_text -- what connectors need for writing URLs and reading those of a
 * Link header.
 *
 * Thread: any; pure.
 * Source: RFC 3986 §2.1, RFC 8288 §3.
 */
#ifndef ENGINE_CONNECTOR_URL_TEXT_H
#define ENGINE_CONNECTOR_URL_TEXT_H

#include "base/arena.h"
#include "wire/http.h"

/* Everything but letters, digits, "-", ".", "_" and "~" as %XX. */
void url_text_encode(struct buf *, struct str);
/* "NAME=VALUE" with both encoded, after "?" or, if the URL has one already,
 * after "&". */
void url_text_param(struct buf *url, const char *name, struct str value);
/*
 * The first value of that parameter in a URL's query, decoded, where "+" is a
 * blank.  False: there is none.  Memory: `a`.
 */
bool url_text_find(struct str url, const char *name, struct arena *a,
    struct str *value);
/*
 * The target of the first link with that relation (any case) in the Link fields
 * of a head, as written there; STR_NONE: none.  What cannot be read ends the
 * field.
 */
struct str url_text_link(const struct http_head *, const char *rel);
/* An absolute http or https URL without blanks and control bytes. */
bool url_text_is_web(struct str);

#endif
