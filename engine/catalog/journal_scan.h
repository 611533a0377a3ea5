/*
 * journal_scan -- looks a crawl's journal through for what fits a filter, and
 * remembers what it saw.  A question for a list of captures is answered so:
 *
 *     no filter, by number    one seek in the journal (capture_list.c)
 *     else                    a scan
 *
 * Thread: the main loop's; capture_filter_takes() and capture_list_keep() the
 *         pool's, too.
 * Limits: JOURNAL_SCANS_MAX, and 16 MiB for scans that nobody waits for.
 */
#ifndef ENGINE_CATALOG_JOURNAL_SCAN_H
#define ENGINE_CATALOG_JOURNAL_SCAN_H

#include "engine/catalog/catalog.h"
#include "engine/catalog/read_task.h"

#define JOURNAL_SCANS_MAX 8u       /* begun or remembered */

struct journal_scans {
	struct catalog *catalog;
	struct list due, wanted, idle;
	unsigned count;              /* that have begun: all but wanted ones */
	struct scan *running;        /* its task is out; NULL: none's */
	struct trim trim;
};
struct journal_scans *journal_scans_new(struct catalog *);
void journal_scans_close(struct journal_scans *);   /* answers all that wait */
void journal_scans_free(struct journal_scans **);
/* Answer the list when the journal was looked through, or its time is up. */
void journal_scan_put(struct journal_scans *, struct captures_query *);

/* --- capture_list.c ------------------------------------------------------ */

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
