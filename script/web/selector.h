/*
 * selector -- CSS selectors over a document.
 *
 * lexbor's CSS parser reads them; selector_compile() turns its list into tests
 * whose names are those of one document.  Matching is ours, since it must be
 * interruptible: a selector of 4 KiB can ask for more steps than a CPU has.
 *
 * Level 4 without user-action classes; with :contains("text"), which holds for
 * an element whose text has it.
 *
 * Thread:  the runtime's.
 * Limits:  SELECTOR_BYTES_MAX, SELECTOR_NESTING_MAX.
 * Source:  https://www.w3.org/TR/selectors-4/
 */
#ifndef SCRIPT_WEB_SELECTOR_H
#define SCRIPT_WEB_SELECTOR_H

#include "script/web/document.h"
#include "script/web/nodes.h"
#include "script/web/poll.h"

#define SELECTOR_BYTES_MAX 4096u
/* Functions such as :has() inside each other. */
#define SELECTOR_NESTING_MAX 32u

enum selector_use {
	SELECTOR_PLAIN,      /* "a b" anywhere: querySelector(), is() */
	SELECTOR_RELATIVE,   /* "> a", and "a b" below a context: find() */
};

/*
 * The compiled form, which the document keeps: the same text again costs a
 * comparison.  It is valid until the next call for this document.  Errors:
 * INPUT for what is no selector or too long; FULL.
 */
MUST_USE enum err selector_compile(struct document *, struct str text,
    enum selector_use, struct selector **out, struct why *);
void selector_free(struct selector **);

/*
 * Append what the selector finds below the nodes of `from`, in document order
 * and each once; at most `max`.  When `p` says stop the list is not whole.
 */
void selector_find(struct selector *, const uint32_t *from, uint32_t from_n,
    uint32_t max, struct poll *p, struct nodes *out);
/* Whether this node matches; false when `p` says stop. */
bool selector_matches(struct selector *, uint32_t node, struct poll *p);
/* Whether a match met the heap's limit, so that its answer means nothing. */
bool selector_is_full(const struct selector *);
/* Whether it has a descendant that does, as :has() asks. */
bool selector_has(struct selector *, uint32_t node, struct poll *p);

#endif
