/*
 * link_scan -- which captures link to a URL.
 *
 * Captures are read and parsed one after the other, and their links compared in
 * the crawl's canonical form.  No link graph is kept.
 *
 * Thread: link_scan_takes() the pool's; one at a time.
 */
#ifndef ENGINE_CATALOG_LINK_SCAN_H
#define ENGINE_CATALOG_LINK_SCAN_H

#include "engine/catalog/record_reader.h"

struct frontier;
struct link_scan;
void link_scan_open(void);           /* its metrics */
/* `frontier` may be NULL: then the default policy says which URLs are one. */
struct link_scan *link_scan_new(struct frontier *, uint32_t crawl,
    struct str url);
void link_scan_free(struct link_scan **);
/*
 * Whether the capture links to the URL, and is not of that URL itself; `*pages`
 * grows when it was read to see.
 */
bool link_scan_takes(struct link_scan *, struct record_reader *,
    const struct journal_entry *, uint64_t *pages);

#endif
