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

/* What is looked for. */
struct capture_filter {
	struct str text, type, host;
	uint16_t status_from, status_to;
	struct digest digest;
	struct str links_to;
	enum pages_order order;      /* SLOWEST, LARGEST; else OLDEST */
};
struct capture_list {
	struct read_task task;       /* of one that needs no scan */
	struct list node;            /* among those of its scan */
	struct captures_query *ask;
	struct arena arena;          /* of the filter */
	struct capture_filter filter;
	uint64_t upto;               /* the last number that it is about */
	struct mono until;           /* then it is answered */
	bool ended;                  /* there is nothing to be read */
};
bool capture_filter_eq(
    const struct capture_filter *, const struct capture_filter *);
bool capture_filter_takes(const struct capture_filter *, struct str key,
    struct str value, struct journal_entry *);
/* Add a capture to the answer, unless it has as many as were asked for. */
void capture_list_keep(struct capture_list *, const struct journal_entry *);
/* Answer it with what it has; frees it. */
void capture_list_end(struct capture_list *);
/* Answer it with that error, later. */
void capture_list_fail(
    struct read_tasks *, struct capture_list *, const struct why *);

#endif
