/*
 * document_cursor -- where a run of documents is: a text that its owner keeps
 * with the documents, and gives to the run that goes on from there.
 *
 *     {"version":1, "order":"SHA-256",
 *      "from":["KEY","VALUE",...],    what earlier runs had left
 *      "found":["KEY","VALUE",...],   what this one leaves at its end
 *      "saved":"BASE64",              the connector's place
 *      "ended":false}
 *
 * Thread: any; pure.
 * Source: contracts/external.md §6, contracts/connector.md §1.
 */
#ifndef ENGINE_HARVEST_DOCUMENT_CURSOR_H
#define ENGINE_HARVEST_DOCUMENT_CURSOR_H

#include "base/arena.h"
#include "engine/connector/connector.h"

#define DOCUMENT_CURSOR_BYTES_MAX ((size_t)4 << 20)

struct document_cursor {
	struct str order;            /* a digest; empty: of no run yet */
	struct connector_state *from, *found;    /* sorted by key */
	size_t from_n, found_n;
	struct str saved;            /* empty: at the beginning */
	bool ended;                  /* the run has, well */
};

/*
 * Read one; an empty text is the beginning.  Memory: `a`.  Errors: INPUT, with
 * the field "cursor...."; FULL beyond DOCUMENT_CURSOR_BYTES_MAX.
 */
MUST_USE enum err document_cursor_read(struct str json, struct arena *a,
    struct document_cursor *, struct why *);
void document_cursor_put(const struct document_cursor *, struct buf *);
/*
 * Make it the beginning of the next run: `found` is added to `from` and wins,
 * and the place is none.  Memory: `a`.
 */
void document_cursor_begin_next(struct document_cursor *, struct arena *a);

#endif
