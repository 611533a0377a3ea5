/*
 * check_cdxj -- compares the CDXJ file beside a WARC file with the lines that
 * index.c makes from that WARC file.  Private to check.
 *
 * Memory: the CDXJ file and 40 bytes for each of its lines.  Thread: one.
 */
#ifndef ENGINE_ARCHIVE_CHECK_CDXJ_H
#define ENGINE_ARCHIVE_CHECK_CDXJ_H

#include "engine/archive/archive.h"

/* `at`: where the line begins in the CDXJ file, in bytes. */
typedef void check_cdxj_fault(void *arg, uint64_t at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/*
 * Call `fault` for each line that is malformed, out of order, repeated, wrong,
 * or missing.  A file without CDXJ (`cdxj_path` does not exist) has no faults.
 * Errors: what reading the WARC file gives.
 */
MUST_USE enum err check_cdxj(const struct archive_file *,
    const char *cdxj_path, check_cdxj_fault *fault, void *arg, struct why *);

#endif
