/*
 * exporting_order -- reads what was requested of an export: SFM's start message
 * and the realtime command's `order` have the same members.
 *
 *     {"id":"...","type":"flickr_user","format":"csv","path":"/sfm-data/x",
 *      "collection":{"id":"..."},"segment_size":250000,"dedupe":true}
 *
 * Ours are `harvests` (ids, in place of collection and seeds),
 * `honour_deletes`, `columns` and `readme`.
 *
 * Thread: any; pure.
 * Source: contracts/export.md §2.
 */
#ifndef ENGINE_EXPORTING_EXPORTING_ORDER_H
#define ENGINE_EXPORTING_EXPORTING_ORDER_H

#include "engine/export/export.h"

#define EXPORTING_SEEDS_MAX 100000u

struct exporting_seed {
	struct str id, uid;          /* uid empty: it names no account */
};
struct exporting_bound {
	bool known;
	struct wall at;
	struct str text;             /* as it was written */
};
struct exporting_order {
	struct str id, type, format_name, path;  /* path empty: none */
	const struct connector_items *items;
	const struct export_format *format;
	struct str collection;       /* empty: not chosen by one */
	struct exporting_seed *seeds;
	size_t seeds_n;
	bool nameless;               /* one of the seeds names no account */
	const struct str *harvests;
	size_t harvests_n;
	uint64_t segment;
	bool dedupe, readme;
	struct exporting_bound item_from, item_to, harvest_from, harvest_to;
	enum export_deletes deletes;
	const struct str *columns;
	size_t columns_n;
};

/*
 * Read the JSON.  id, type, format_name and path are set as far as they can be
 * read, whatever the result.  Memory: `a`.
 * Errors: INPUT, with the field; `*code` is the status's code then.
 */
MUST_USE enum err exporting_order_read(struct str json, struct arena *a,
    struct exporting_order *, const char **code, struct why *);

#endif
