/*
 * capture_list -- one question for a list of captures, while it is answered.
 *
 *     no filter, by number    one seek in the journal
 *     else                    a scan (journal_scan.h)
 *
 * Thread: the main loop's; capture_filter_takes() and capture_list_keep() the
 *         pool's, too.
 */
#ifndef ENGINE_CATALOG_CAPTURE_LIST_H
#define ENGINE_CATALOG_CAPTURE_LIST_H

#include "engine/catalog/catalog.h"
#include "engine/catalog/read_task.h"

bool capture_filter_eq(
    const struct capture_filter *, const struct capture_filter *);
bool capture_filter_takes(const struct capture_filter *, struct str key,
    struct str value, struct journal_entry *);
/* Add a capture to the answer, unless it has as many as were asked for. */
void capture_list_keep(struct captures_query *, const struct journal_entry *);
/* Answer it with what it has. */
void capture_list_end(struct captures_query *);
/* Answer it with that error, later. */
void capture_list_fail(
    struct read_tasks *, struct captures_query *, const struct why *);

#endif
