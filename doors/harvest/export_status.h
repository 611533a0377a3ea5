/*
 * export_status -- the message that says what an export does.  SFM's consumers
 * read it as it is; `date_started` is always there, without which sfm-ui ends.
 *
 * Thread: any; pure.
 * Source: contracts/export.md §3, Status.
 */
#ifndef DOORS_HARVEST_EXPORT_STATUS_H
#define DOORS_HARVEST_EXPORT_STATUS_H

#include "engine/store/store_export.h"

struct export_status {
	const struct store_export *row;
	struct str host;
	int64_t process;
	const char *code;            /* of an error beside the row's; NULL */
	struct str text;
};
/* Append its JSON. */
void export_status_put(const struct export_status *, struct buf *);

#endif
