/*
 * export_source -- the items of a WARC file that an order asks for, each as it
 * will be written.
 *
 * Thread: one for each source; sources share nothing but the order.
 */
#ifndef ENGINE_EXPORT_EXPORT_SOURCE_H
#define ENGINE_EXPORT_EXPORT_SOURCE_H

#include "engine/export/export.h"
#include "engine/export/export_described.h"
#include "engine/export/export_format.h"
#include "engine/export/idset.h"

/* Hashes are zero where nobody asks for them. */
struct export_entry {
	const struct connector_items *items;
	struct id_hash id;
	struct id_hash deletion;  /* of the name that deletions use */
	struct id_hash owner;     /* likewise of its account */
	int32_t day;              /* since 1970, UTC; EXPORT_NO_DAY */
	struct str bytes;         /* valid during the call */
};

/* What the files are read for. */
struct export_pass {
	struct id_hash seed;
	/*
	 * What was deleted, in place of items: entries without bytes, whose
	 * `deletion` is that of an item, or of all that have it as `owner`.
	 */
	bool deletions;
	bool honour;              /* entries need hashes for these */
	const struct export_described *described;
};
/* The watch counts a file that was read for its items. */
static inline void
export_count_file(const struct export_order *o, struct export_pass pass)
{
	if (o->watch != NULL && !pass.deletions)
		atomic_fetch_add(&o->watch->files, 1);
}
typedef enum err export_entry_fn(void *arg, const struct export_entry *,
    struct why *);

struct export_source;
/* The order outlives the source. */
struct export_source *export_source_new(const struct export_order *,
    struct export_pass);
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

/*
 * The columns of a table that the order asks for.  Memory: the arena's.
 * Errors: INPUT about "columns" when there is none of such a name; the others
 * are selected nevertheless.
 */
MUST_USE enum err export_select(const struct export_order *,
    const struct item_table *, struct arena *, struct export_selection *,
    struct why *);

#endif
