/*
 * export_file -- one file of an export: bytes behind one another, or a sheet;
 * or all bytes to a stream.
 *
 * Thread: one.
 */
#ifndef ENGINE_EXPORT_EXPORT_FILE_H
#define ENGINE_EXPORT_EXPORT_FILE_H

#include "engine/export/export.h"
#include "engine/export/export_format.h"

struct export_file {
	bool open;
	const struct export_order *order;
	const char *path;         /* NULL: the order's stream */
	int fd;
	struct spreadsheet *sheet;
	uint64_t bytes, rows;     /* complete after closing */
	struct buf buf;
};
#define EXPORT_FILE_INIT ((struct export_file){ .fd = -1 })

/*
 * Begin the file and write what it begins with.  `path` is NULL for the
 * order's stream, else it outlives the file; `dir` is for temporary files.
 */
MUST_USE enum err export_file_open(struct export_file *,
    const struct export_order *, const struct export_selection *,
    const char *path, const char *dir, struct why *);
/* Append a row, as the format made it. */
MUST_USE enum err export_file_put(struct export_file *, struct str row,
    struct why *);
/* End it; it is on the disk then.  Not open: nothing is done. */
MUST_USE enum err export_file_close(struct export_file *, struct why *);
/* Let go of it, whatever was written. */
void export_file_free(struct export_file *);

#endif
