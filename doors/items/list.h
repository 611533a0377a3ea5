/*
 * list -- answers with a page of a list, or with all of it as NDJSON.
 *
 * A page is one question at a reader's thread.  With "Accept:
 * application/x-ndjson" the list comes whole, a line for each element: page
 * after page, as the client takes them; the next page is read when the last one
 * has left.
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_LIST_H
#define DOORS_ITEMS_LIST_H

#include "doors/items/exchange.h"

/*
 * `page` appends {"WORD":[...],"next":...} to `out`, from `after` on, `limit`
 * at most.
 */
void list_answer(struct exchange *, enum err (*page)(struct exchange *,
    struct item_store *, struct why *));

/* The elements of the only array of a JSON object, a line each, and its text
 * "next", if any. */
MUST_USE enum err list_to_lines(struct str page, struct buf *lines,
    struct buf *next, struct why *);

#endif
