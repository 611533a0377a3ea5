/*
 * export -- tables and texts of what social media WARCs contain.
 *
 *     WARC files ─► reader: records, decoded bodies, items
 *                ─► chooser: type, date, owner; each item becomes a row
 *                ─► writer: no id twice, segments, files in a hidden directory
 *                ─► the directory takes the place of `into`
 *
 * The same files and order give the same bytes.  Memory is constant: bodies,
 * rows and the ids that were seen have limits, beyond which they are on disk.
 * A damaged record or item costs itself and a note, never the export.
 *
 * Thread: the caller's alone, which it blocks.
 * Source: contracts/export.md sections 3 to 5 and 7.
 */
#ifndef ENGINE_EXPORT_EXPORT_H
#define ENGINE_EXPORT_EXPORT_H

#include <stdatomic.h>

#include "base/err.h"
#include "engine/archive/archive.h"
#include "engine/connector/items.h"
#include "engine/export/export_notes.h"

/* A body that is one document, or one line of another. */
#define EXPORT_TEXT_BYTES_MAX ((size_t)16 << 20)
/* Ids in memory, for `dedupe`; more are kept in a file. */
#define EXPORT_IDS_BYTES_MAX ((size_t)32 << 20)

struct export_format;
/* "csv" and the others of the contract's section 4; NULL: there is no such. */
const struct export_format *export_format_find(struct str name);
/* The i-th of them; NULL after the last.  Its name. */
const struct export_format *export_format_at(size_t i);
const char *export_format_name(const struct export_format *);
/* Whether such a table can be written in it; items that are not split into
 * cells always can.  NULL: a table that is not known yet. */
bool export_format_serves(const struct export_format *,
    const struct item_table *);
/* "csv, tsv, ..." */
const char *export_format_names(void);
/* Whether it has columns: csv, tsv, json; not json_full. */
bool export_format_is_table(const struct export_format *);
/* Whether it can be written to a stream: all but xlsx. */
bool export_format_is_stream(const struct export_format *);

/*
 * Whether items are left out that the same WARC files say were deleted: yes,
 * no, or as is usual for the type that was chosen or is found first.  To know,
 * all files are read once before.
 */
enum export_deletes { EXPORT_DELETES_USUAL, EXPORT_DELETES_HONOUR,
	EXPORT_DELETES_IGNORE };

/*
 * How far an export is, and the wish that it should end.  Any thread reads the
 * counts and sets `stop` while it runs.
 */
struct export_watch {
	atomic_bool stop;         /* export_run() ends soon, with CLOSED */
	atomic_uint_fast64_t files;      /* of the order's, read to their end */
	atomic_uint_fast64_t rows;       /* written */
};

struct export_order {
	const struct archive_file *files;    /* read in this order */
	size_t files_n;
	const struct export_format *format;
	/* What to export; none: whatever is found, if it is one table. */
	const struct connector_items *const *items;
	size_t items_n;
	/* The directory; NULL: bytes go to write(), in one piece of a file. */
	const char *into;
	enum err (*write)(void *arg, struct str, struct why *);
	void *write_arg;
	struct str id;            /* file names begin so: "<id>_001.csv" */
	uint64_t segment;         /* items a file; 0: one file */
	bool dedupe;
	bool has_since, has_until;
	struct wall since, until; /* inclusive; undated items pass */
	bool by_owner;            /* only items of these accounts */
	const struct str *owners;
	size_t owners_n;
	/* What names of files that may be lost begin with. */
	const char *scratch;
	unsigned jobs;            /* files read at a time; 0: one a core */
	/* Columns of tables, in this order; none: all of them. */
	const struct str *columns;
	size_t columns_n;
	enum export_deletes deletes;
	bool readme;              /* write README.txt; with `into` */
	const char *command;      /* for it; NULL: none is named */
	struct export_watch *watch;      /* NULL: nobody watches */
};

struct export_counts {
	uint64_t records;         /* answers that were read */
	uint64_t items;           /* found in them */
	uint64_t rows;            /* written */
	uint64_t outside;         /* left out by dates and accounts */
	uint64_t duplicates;
	uint64_t deleted;
	uint64_t missing;         /* WARC files that could not be read */
	uint64_t files;           /* written */
	uint64_t bytes;
};

struct export_result {
	struct export_counts counts;
	struct export_notes notes;
	/* Whose columns it has; NULL where nothing was found. */
	const struct connector_items *items;
};

/*
 * Do it.  `result` is complete in any case; free it.  After an error `into` is
 * as it was.
 * Errors: EXISTS when `into` contains other files than an export's; INPUT about
 * "columns" when the table has none of that name, about "type" when tables of
 * two kinds are found and the order does not say which, about "format" when the
 * table or the stream has no such form; ABSENT, DENIED, DISK_FULL and IO of
 * files; CLOSED: its watch said stop; those of write().
 */
MUST_USE enum err export_run(const struct export_order *,
    struct export_result *, struct why *);
void export_result_free(struct export_result *);

/* Add a file's counts to those of all. */
void export_counts_add(struct export_counts *, const struct export_counts *);
/* Its watch says that it should end. */
bool export_is_stopped(const struct export_order *);
/* Note a file that cannot be read, with the cause. */
void export_note_missing(struct export_result *, const struct archive_file *,
    const struct why *);

/* An item and the record that it stands in; valid during the call. */
struct export_found {
	const struct item *item;
	const struct archive_file *file;
	uint64_t offset;
};
typedef enum err export_found_fn(void *arg, const struct export_found *,
    struct why *);
/*
 * Call found() for each item in the files, in order, chosen as export_run()
 * does.  Of the order only files, items, dates, owners, dedupe and scratch are
 * read.  Items of all tables may be found.
 * Errors: the first of found(); those of the file of ids.
 */
MUST_USE enum err export_items(const struct export_order *,
    export_found_fn *found, void *arg, struct export_result *, struct why *);

#endif
