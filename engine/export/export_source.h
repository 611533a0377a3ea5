/*
 * export_source -- the items of a WARC file that an order asks for, each as it
 * will be written.
 *
 * Thread: one for each source; sources share nothing but the order.
 */
#ifndef ENGINE_EXPORT_EXPORT_SOURCE_H
#define ENGINE_EXPORT_EXPORT_SOURCE_H

#include "engine/export/export.h"
#include "engine/export/export_format.h"
#include "engine/export/idset.h"

struct export_entry {
	const struct connector_items *items;
	struct id_hash id;
	struct str bytes;         /* valid during the call */
};
typedef enum err export_entry_fn(void *arg, const struct export_entry *,
    struct why *);

struct export_source;
/* The order and `seed`, for ids, outlive the source. */
struct export_source *export_source_new(const struct export_order *,
    struct id_hash seed);
void export_source_free(struct export_source **);

/*
 * Read a file.  Entries, counts of records and items, and notes go to the
 * given places.  Errors: of put(); INPUT when an item has no such table; those
 * of opening the file.
 */
MUST_USE enum err export_source_read(struct export_source *,
    const struct archive_file *, export_entry_fn *put, void *arg,
    struct export_counts *, struct export_notes *, struct why *);
/* The same, with items in place of entries. */
MUST_USE enum err export_source_items(struct export_source *,
    const struct archive_file *, export_found_fn *found, void *arg,
    struct export_counts *, struct export_notes *, struct why *);

/* All columns of a table.  Memory: the arena's. */
struct export_selection export_select(const struct export_order *,
    const struct item_table *, struct arena *);

#endif
