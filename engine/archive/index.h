/*
 * index -- CDXJ from WARC files (docs/protocols/warc.md section 9): one line
 * for each response, revisit and resource, sorted by its bytes.
 *
 * Records that share a compressed member have no offset of their own and get
 * no line.  The request of an exchange, before or after its answer, gives the
 * method and body of what was no GET.
 * Thread: one.  Memory: sort.bytes_max, however big the archive is.
 */
#ifndef ENGINE_ARCHIVE_INDEX_H
#define ENGINE_ARCHIVE_INDEX_H

#include "engine/archive/archive.h"
#include "engine/archive/sort.h"
#include "wire/cdxj.h"

struct archive_index_counts {
	uint64_t records, lines, shared, damaged;
};

typedef enum err archive_line(void *arg, struct str line, struct why *);

/* Hand every line to `line`, unsorted, without its line end. */
MUST_USE enum err archive_index_lines(const struct archive_catalogue *,
    archive_line *line, void *arg, struct archive_index_counts *,
    struct why *);

/*
 * All lines sorted, equal ones once.  Runs are written to `<scratch>.run-<n>`
 * when they exceed `bytes_max`.
 */
MUST_USE enum err archive_index(const struct archive_catalogue *,
    const char *scratch, size_t bytes_max, archive_line *line, void *arg,
    struct archive_index_counts *, struct why *);

/* As archive_index(), into a file that appears whole or not at all. */
MUST_USE enum err archive_index_file(const struct archive_catalogue *,
    const char *path, struct archive_index_counts *, struct why *);

/*
 * Make the sorted index of one finished WARC from the lines that were written
 * beside it, and remove these.  Lines that are cut, point behind the file, or
 * do not reach its last capture are not believed: then the WARC is read.
 */
MUST_USE enum err archive_cdxj_finish(const char *warc_path,
    const char *lines_path, const char *sorted_path, struct why *);

#endif
