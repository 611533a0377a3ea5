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

/*
 * Append a row to `out`; `scratch` is for texts under way.  How many cells
 * were cut.
 */
typedef size_t export_row_fn(const struct export_selection *,
    const struct cell *, struct buf *scratch, struct buf *out);

struct export_format {
	const char *name, *extension;
	/* What a file begins with; NULL: nothing. */
	void (*head)(const struct export_selection *, struct buf *out);
	/* A table's row, with a cell for each column of the selection ... */
	export_row_fn *row;
	/* ... or, where that is NULL, an item that is not split into cells. */
	void (*item)(const struct item *, struct buf *out);
	/* What a file ends with; NULL: nothing. */
	void (*tail)(struct buf *out);
	/* Rows go into a spreadsheet in place of a file of bytes. */
	bool spreadsheet;
	/* There is no such form of tables that SFM makes by pandas. */
	bool no_pandas;
	uint64_t rows_max, pandas_rows_max;     /* a file; 0: no limit */
};

/* Of export_csv.c, export_json.c and export_html.c. */
export_row_fn export_csv_row, export_tsv_row, export_json_row,
    export_html_row;
void export_csv_head(const struct export_selection *, struct buf *out);
void export_tsv_head(const struct export_selection *, struct buf *out);
void export_html_head(const struct export_selection *, struct buf *out);
void export_html_tail(struct buf *out);

/*
 * Of export_xlsx.c: a row, kept as bytes until it is written into a sheet.
 * Writing them: the names of columns as row 0, then what export_xlsx_row()
 * made, as other rows.
 */
export_row_fn export_xlsx_row;
struct spreadsheet;
void export_xlsx_write_head(struct spreadsheet *,
    const struct export_selection *);
void export_xlsx_write_row(struct spreadsheet *, uint32_t row,
    struct str bytes);

/*
 * The cell's value as one text of a table; `scratch` keeps it where it had to
 * be made.  Null is the empty text, as an empty text is.
 */
struct str export_cell_text(const struct cell *, struct buf *scratch);

#endif
