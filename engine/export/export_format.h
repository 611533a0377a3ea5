/*
 * export_format -- how items become bytes: rows of cells for tables, whole
 * items or their ids for the others.
 *
 * Thread: any; pure.
 * Source: contracts/export.md section 4.
 */
#ifndef ENGINE_EXPORT_EXPORT_FORMAT_H
#define ENGINE_EXPORT_EXPORT_FORMAT_H

#include "engine/connector/items.h"

/* The columns of a table that are written, in this order. */
struct export_selection {
	const struct item_table *table;
	const struct column *const *columns;
	size_t n;
};

struct export_format {
	const char *name, *extension;
	/* What a file begins with; NULL: nothing. */
	void (*head)(const struct export_selection *, struct buf *out);
	/* A table's row, with a cell for each column of the selection ... */
	void (*row)(const struct export_selection *, const struct cell *,
	    struct buf *scratch, struct buf *out);
	/* ... or, where that is NULL, an item that is not split into cells. */
	void (*item)(const struct item *, struct buf *out);
};

/* Of export_csv.c and export_json.c. */
void export_csv_head(const struct export_selection *, struct buf *out);
void export_csv_row(const struct export_selection *, const struct cell *,
    struct buf *scratch, struct buf *out);
void export_tsv_head(const struct export_selection *, struct buf *out);
void export_tsv_row(const struct export_selection *, const struct cell *,
    struct buf *scratch, struct buf *out);
void export_json_row(const struct export_selection *, const struct cell *,
    struct buf *scratch, struct buf *out);

/*
 * The cell's value as one text of a table; `scratch` keeps it where it had to
 * be made.  Null is the empty text, as an empty text is.
 */
struct str export_cell_text(const struct cell *, struct buf *scratch);

#endif
