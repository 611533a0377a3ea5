/*
 * item_export -- all items of a store as lines of JSON, and such lines into an
 * empty store, of whichever database.
 *
 *     {"argiope_items":1}
 *     {"table":"items","key":1,"id":"x","data":{},...}
 *     {"table":"worklist","task":"a","item":1,"state":0,"due":0,...}
 *     {"end":2}
 *
 * A row's numbers stay, names are texts.  Leases stay behind: a pair that is
 * leased gets the state that it would have without its lease.  The `end` counts
 * the rows, so that an export that was cut off is found out.
 *
 * Thread: the store's.
 */
#ifndef ENGINE_ITEMS_ITEM_EXPORT_H
#define ENGINE_ITEMS_ITEM_EXPORT_H

#include "engine/items/item_store.h"

/* Lines, each with its newline; an error ends the export. */
typedef enum err item_export_put(void *arg, struct str lines, struct why *);

/*
 * Everything, in one snapshot; memory stays flat.  Errors: the database's;
 * those of put().
 */
MUST_USE enum err item_export(struct item_store *, item_export_put *put,
    void *arg, uint64_t *rows, struct why *);

/*
 * A table for people: a head line and a row for each item, in RFC 4180's form.
 * `fields`: id, created_by, created_at, updated_at, rev; else the path of a
 * member of the data ("title", "price.net"), or of a task's metadata
 * ("lcsc:scrape.price").  INPUT, naming the field.
 */
struct item_csv {
	const struct str *fields;
	size_t fields_n;
	struct str tag, prefix;      /* p NULL, empty: all */
};
#define ITEM_CSV_FIELDS_MAX 256u
MUST_USE enum err item_export_csv(struct item_store *,
    const struct item_csv *, item_export_put *put, void *arg, uint64_t *rows,
    struct why *);

/*
 * Import lines one after the other, in transactions of some thousand rows.  An
 * import that fails leaves the rows so far; the store is then of no use, and is
 * to be removed.
 */
struct item_import;
#define ITEM_IMPORT_LINE_BYTES_MAX ((size_t)64 << 20)
/* STATE when the store has items, or a configuration, already. */
MUST_USE enum err item_import_begin(struct item_store *, struct item_import **,
    struct why *);
/* A line without its newline.  INPUT: "line 7: ...". */
MUST_USE enum err item_import_line(struct item_import *, struct str,
    struct why *);
/* Settle what was leased, count, commit.  INPUT when no `end` has come. */
MUST_USE enum err item_import_end(struct item_import *, uint64_t *rows,
    struct why *);
void item_import_free(struct item_import **);

#endif
