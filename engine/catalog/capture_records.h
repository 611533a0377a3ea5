/*
 * capture_records -- where the records of a capture are in its WARC file.
 *
 * Thread: the pool's.
 */
#ifndef ENGINE_CATALOG_CAPTURE_RECORDS_H
#define ENGINE_CATALOG_CAPTURE_RECORDS_H

#include "engine/catalog/record_reader.h"

struct capture_member {
	uint64_t offset;
	uint32_t clen;
};
#define CAPTURE_MEMBERS_MAX 256u
/*
 * All records of the capture, in the order in which they were written: of each
 * hop the response, then the request.  The final response is always there.
 * Errors: as record_reader_file().
 */
MUST_USE enum err capture_records(struct record_reader *,
    const struct journal_entry *, struct capture_member[CAPTURE_MEMBERS_MAX],
    size_t *n, struct why *);
/* The WARC file's name when it is finished.  Memory: `a`. */
MUST_USE enum err capture_file_name(struct record_reader *, uint32_t file,
    struct arena *a, struct str *name, struct why *);

#endif
