/*
 * text -- words in columns, for help texts, manual pages and JSON.
 *
 * Thread: any; everything goes to the caller's buffer.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/bytes.h"

#define TEXT_COLUMNS 80

/*
 * Append words broken to lines of at most TEXT_COLUMNS, each line behind
 * `indent` blanks or behind `prefix` where that is not NULL.  `column` tells
 * where the first line stands already; it ends in a newline.
 */
void text_wrap(struct buf *, struct str words, size_t indent,
    const char *prefix, size_t column);

/*
 * One row of a list in two columns: `left`, then `words` from column `tab` on;
 * under it, where `left` is too long.
 */
void text_row(struct buf *, struct str left, size_t tab, struct str words);

/* As text in troff: backslashes, hyphens and leading dots do no harm. */
void text_troff(struct buf *, struct str);

/* As a JSON string in quotes.  Bytes that are no UTF-8 become U+FFFD. */
void text_json(struct buf *, struct str);
/* The same, but bytes that are no UTF-8 are characters of Latin-1. */
void text_json_latin1(struct buf *, struct str);

/* A token of RFC 9110 §5.6.2; what the value of a field may hold (§5.5). */
bool text_is_token(struct str);
bool text_is_field_value(struct str);
/* A byte that could end a line or a C string, or drive a terminal. */
bool text_has_control(struct str);
bool text_is_utf8(struct str);   /* all of it; the empty text is */
/* Length of the UTF-8 sequence at the start of a text that is not empty (RFC
 * 3629 section 4); 0 when it is none. */
size_t text_utf8_length(struct str);

/*
 * The name by which robots.txt knows a sender of this User-Agent: that of its
 * first product, "FooBot" of "FooBot/1.0 (+http://a.example/)".  Empty when the
 * name has anything but letters, "_" and "-" (RFC 9309 section 2.2.1).
 */
struct str text_product_token(struct str user_agent);

#endif
