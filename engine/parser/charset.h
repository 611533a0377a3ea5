/*
 * charset -- which encoding a document is in, and the same text in UTF-8.
 *
 * Order: byte order mark, charset of the Content-Type, <meta> in the first 1024
 * bytes (HTML) or the encoding of the XML declaration, and last the bytes:
 * valid UTF-8 is UTF-8, the rest is windows-1252.
 * Source: https://html.spec.whatwg.org/ section 13.2.3,
 * https://encoding.spec.whatwg.org/
 */
#ifndef ENGINE_PARSER_CHARSET_H
#define ENGINE_PARSER_CHARSET_H

#include "base/arena.h"

#define CHARSET_PRESCAN_BYTES 1024u

enum charset_markup { CHARSET_PLAIN, CHARSET_HTML, CHARSET_XML };

/*
 * The name of the encoding, as the Encoding standard writes it ("UTF-8",
 * "Shift_JIS"), static.  `label` is the charset of the header, or empty.
 */
const char *charset_of(struct str body, struct str label,
    enum charset_markup);

/* The standard's name for a label, or NULL: "latin1" is "windows-1252". */
const char *charset_by_label(struct str label);
/* "UTF-8", "UTF-16BE" or "UTF-16LE", by the byte order mark; or NULL. */
const char *charset_by_bom(struct str);

/*
 * The body in UTF-8, without byte order mark.  UTF-8 is not copied and not
 * checked: the result borrows from `body`; anything else is decoded into `a`,
 * U+FFFD standing for what is malformed.  `name` is one that charset_of() gave.
 */
struct str charset_to_utf8(const char *name, struct str body, struct arena *a);

#endif
