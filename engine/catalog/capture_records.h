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
struct capture_members {
	int fd;                      /* the reader's */
	struct str file;             /* the WARC's name when it is finished */
	size_t n;
	struct capture_member at[CAPTURE_MEMBERS_MAX];
};
/*
 * All records of the capture, in the order in which they were written: of each
 * hop the response, then the request.  The final response is always there.
 * Memory of the name: `a`.  Errors: as record_reader_file().
 */
MUST_USE enum err capture_records(struct record_reader *,
    const struct journal_entry *, struct arena *a, struct capture_members *,
    struct why *);

#endif
