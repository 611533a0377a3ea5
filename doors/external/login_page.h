/*
 * login_page -- the pages of the popup in which a user signs in: the one that
 * closes it, the question whether to go on, and errors in words.
 *
 * Each is a whole HTML document without scripts and styles of other files.
 * Texts of others are escaped, and isolated where they could turn the direction
 * of the text around them.
 *
 * Thread: any; pure.
 * Source: contracts/external.md §8, steps 2 and 6.
 */
#ifndef DOORS_EXTERNAL_LOGIN_PAGE_H
#define DOORS_EXTERNAL_LOGIN_PAGE_H

#include "base/arena.h"

/* The Content-Security-Policy that the pages need: their own style and script
 * by hash, no frames around them.  Memory: `a`. */
struct str login_page_policy(struct arena *a);

/* "You are signed in": it closes its window.  `title` is the connector's. */
void login_page_put_end(struct str title, struct buf *out);
/* An error.  It does not close. */
void login_page_put_error(struct str sentence, struct buf *out);

struct login_page_field {
	struct str name, value;
};
struct login_page_question {
	struct str title;            /* of the connector */
	struct str subdomain, uuid;
	struct str name;             /* of the user; empty: not known */
	bool is_reset;               /* the present account is signed out */
	/* The button submits these fields by GET to the page's own URL. */
	const struct login_page_field *fields;
	size_t fields_n;
};
void login_page_put_question(const struct login_page_question *,
    struct buf *out);

#endif
