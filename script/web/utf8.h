/*
 * utf8 -- bytes to valid UTF-8 in a script's heap, as the Encoding standard
 * decodes them.
 */
#ifndef SCRIPT_WEB_UTF8_H
#define SCRIPT_WEB_UTF8_H

#include "script/web/out.h"

/*
 * Append the text with U+FFFD for each maximal part of a sequence that is
 * malformed.  Returns how many there were.
 */
size_t utf8_repair(struct str, struct out *);
/* The length of a sequence at the end that lacks bytes; 0: it is complete. */
size_t utf8_cut_length(struct str);

#endif
