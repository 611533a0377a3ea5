/*
 * interchange -- the URLs of a frontier as lines of text.
 *
 *     http://a.b/                                     a discovered URL
 *     {"discovered":{"info":{"url":"http://a.b/"}}}   any URLItem, in the
 *     {"known":{"info":{...},"refetchableFromDate":"1795163100"}}   JSON of
 *                                                     protocol buffers
 *
 * Written is what the JsonFormat of protobuf-java writes without blanks, byte
 * for byte: fields in the order of their numbers and without defaults, 64-bit
 * numbers as strings, metadata in the order in which it came; in texts < > & =
 * ' and U+2028 and U+2029 are escaped too, other characters stand as they are.
 *
 * Read is that, with white space, names as in the .proto (creation_date) or in
 * camel case, numbers as strings or numbers, and null for what is absent.  An
 * unknown field is an error: a slip must not be lost.
 *
 * Thread: any.
 * Source: protobuf.dev, "ProtoJSON Format"; JsonFormat of protobuf-java 3.25.
 */
#ifndef WIRE_URLFRONTIER_INTERCHANGE_H
#define WIRE_URLFRONTIER_INTERCHANGE_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

/*
 * What a line holds; white space around it does not count.  A URL gets `crawl`
 * and the ID crawl_url; a URLItem stays as it is.  `*out` is not to be freed:
 * it lies in the arena.  Errors: INPUT, with the path of the field; the text
 * may quote the line.
 */
MUST_USE enum err interchange_read(struct str line, struct str crawl,
    struct arena *, Urlfrontier__URLItem **out, struct why *);

/* One line without its end.  Bytes that are no UTF-8 become U+FFFD. */
void interchange_put(struct buf *, const Urlfrontier__URLItem *);
/* The same for what GetURLs brings. */
void interchange_put_info(struct buf *, const Urlfrontier__URLInfo *);
/* A text in quotes, escaped as above. */
void interchange_put_text(struct buf *, const char *);

#endif
