/*
 * collection -- the index keys that the crawls of one collection share, in
 * INDEX_DIGEST.  A collection is the crawls that write to one WARC directory;
 * in the daemon, the runs of one schedule.  Web harvests name theirs.
 *
 *     digest     collection-field digest   -> crawl4 seq8 date8 URL
 *     validator  'v' hash8                 -> crawl4 seq8
 *
 * A digest leads to the first capture of that payload.  A validator key leads
 * to the newest capture of a URL that has an ETag or a Last-Modified; its hash
 * is of collection and URL, so the URL must be compared with the journal's.
 *
 * The first crawl of a collection puts no validator keys, since most
 * collections never get a second crawl and a key costs 2 % of a page's CPU.
 * Its captures are found by their URL rows, as are those of older versions;
 * a later crawl that is answered 304 puts the key for them.
 *
 * Thread: any.
 */
#ifndef ENGINE_FETCHER_COLLECTION_H
#define ENGINE_FETCHER_COLLECTION_H

#include "base/arena.h"
#include "engine/frontier/journal.h"
#include "os/index.h"
#include "wire/digest.h"
#include "wire/http.h"

/* The collection that crawls name, whatever their WARC directory. */
struct str collection_of_name(struct str name, struct arena *);
/* That of a crawl that is not archived: no other crawl can refer to it. */
struct str collection_of_unarchived(uint32_t crawl, struct arena *);
/* The prefix of all digest keys of the collection; appended to `out`. */
void collection_prefix(struct str collection, struct buf *out);
/* The key of a payload; appended to `out`. */
void collection_digest_key(struct str collection, const struct digest *,
    struct buf *out);

/* The journal entry of a capture.  Memory: `a`.  Errors: ABSENT; CORRUPT. */
MUST_USE enum err collection_entry(struct index *, uint32_t crawl, uint64_t seq,
    struct arena *a, struct journal_entry *out);
/*
 * The journal entry of the capture that the record `key` of INDEX_DIGEST names.
 * Memory: `a`.  Errors: ABSENT, also when its crawl was deleted; CORRUPT.
 */
MUST_USE enum err collection_original(struct index *, struct str key,
    struct arena *a, struct journal_entry *out);

/* The key of a URL's capture with a validator; submission_settle() puts it. */
struct str collection_validator_key(struct str collection, struct str url,
    struct arena *a);
/*
 * Whether a later crawl may ask for the page with this answer's validators:
 * a complete 200 that has an ETag or a Last-Modified.
 */
bool collection_has_validator(int status, bool truncated,
    const struct http_head *);
/*
 * The journal entry of the capture of `url` that holds the newest validator.
 * Memory: `a`.  Errors: ABSENT, also when its crawl was deleted; CORRUPT.
 */
MUST_USE enum err collection_validator_get(struct index *, struct str key,
    struct str url, struct arena *a, struct journal_entry *out);

#endif
