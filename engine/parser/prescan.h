/*
 * prescan -- the encodings that an HTML document states in its first bytes.
 *
 * Thread: any.  Memory: none.
 * Source: https://html.spec.whatwg.org/ section 13.2.3.2.
 */
#ifndef ENGINE_PARSER_PRESCAN_H
#define ENGINE_PARSER_PRESCAN_H

#include "base/bytes.h"

/* The document's first bytes, and the position reached in them. */
struct prescan {
	const char *p;
	size_t n, at;
};

struct prescan prescan_begin(struct str head);
/*
 * The label of the next <meta> that states one, as written: by its "charset",
 * or by its "content" if it is a pragma.  False: there is no more.
 */
bool prescan_next(struct prescan *, struct str *label);

#endif
