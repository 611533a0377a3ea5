/*
 * journal_scan -- looks a crawl's journal through for what fits a filter, and
 * remembers what it saw.
 *
 * Thread: the main loop's.
 * Limits: JOURNAL_SCANS_MAX, and 16 MiB for scans that nobody waits for.
 */
#ifndef ENGINE_CATALOG_JOURNAL_SCAN_H
#define ENGINE_CATALOG_JOURNAL_SCAN_H

#include "engine/catalog/capture_list.h"

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

#endif
