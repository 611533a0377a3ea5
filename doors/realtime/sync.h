/*
 * sync -- the tokens with which a subscription resumes: base64 of
 *
 *     N.C.S      number of the item, crawl, mark of the store
 *     N.C.S.log  the same of a log entry
 *     N          the bare form of the 2016 server, for items
 *
 * Clients take them as opaque.  The server keeps nothing of them: whoever shows
 * one goes on behind that number.
 *
 * Thread: any.
 */
#ifndef DOORS_REALTIME_SYNC_H
#define DOORS_REALTIME_SYNC_H

#include "base/bytes.h"

enum sync_kind { SYNC_ITEM, SYNC_LOG };
#define SYNC_TOKEN_BYTES_MAX 200u

/* Append the token. */
void sync_put(struct buf *, enum sync_kind, uint64_t number, uint32_t crawl,
    const char *mark);

enum sync_fault { SYNC_FINE, SYNC_MALFORMED, SYNC_OTHER_KIND,
    SYNC_OTHER_CRAWL, SYNC_OTHER_STORE, SYNC_PAST_END };
/*
 * The number in a token for that crawl, which has `last` of them; 0 for an
 * empty text.
 */
enum sync_fault sync_read(struct str token, enum sync_kind, uint32_t crawl,
    const char *mark, uint64_t last, uint64_t *number);
/* A sentence for the client. */
const char *sync_fault_text(enum sync_fault);

#endif
