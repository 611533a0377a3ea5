/*
 * spool_block -- consecutive documents of a task as one text, which is a row of
 * the spool.
 *
 *     9:{"id":1}\n      a document: its bytes, its JSON
 *     0:\n              one that is not in the spool, or no longer
 *
 * Private to engine/store.
 */
#ifndef ENGINE_STORE_SPOOL_BLOCK_H
#define ENGINE_STORE_SPOOL_BLOCK_H

#include "base/bytes.h"

/* An empty one is not in the spool. */
void spool_block_put(struct buf *, struct str json);
/*
 * Take the next document off `*block`; `json` borrows from it.  False at the
 * end, and where the text is damaged: then something is left of `*block`.
 */
bool spool_block_take(struct str *block, struct str *json);

#endif
