/*
 * char_ref -- character references of HTML: "&amp;", "&#xe9;".
 *
 * Thread: any.
 * Source: https://html.spec.whatwg.org/ sections 13.2.5.72 to 13.2.5.80; the
 * names are those of lexbor's table.
 */
#ifndef ENGINE_PARSER_CHAR_REF_H
#define ENGINE_PARSER_CHAR_REF_H

#include "base/bytes.h"

/* The longest text that a reference stands for: two code points. */
#define CHAR_REF_BYTES_MAX 8u

/*
 * Read the reference at the start of `s`, an ampersand.  The result is its
 * length, and `out` has the `*out_n` bytes of UTF-8 that it stands for, which
 * are a fifth more at most.  0: the ampersand stands for itself.  `attr`: it is
 * in the value of an attribute, where "&lt=" is no reference.
 */
size_t char_ref_read(struct str s, bool attr, char *out, size_t *out_n);

#endif
