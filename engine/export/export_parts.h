/*
 * export_parts -- several files at a time.  Threads of a pool read files ahead
 * of the one whose turn it is; what they make of a file is kept, first in
 * memory and then in a file that has no name, until it is its turn.
 *
 *     files   1    2    3    4    5 ...
 *     pool         reading   ▲
 *     caller  writing 1      └ at most `jobs` + 1 from the first
 *
 * So entries come in the order of the files, whatever the number of threads.
 *
 * Thread: the caller's, which it blocks; put() is called there.
 * Limits: PART_BYTES_MAX of memory for a part.
 */
#ifndef ENGINE_EXPORT_EXPORT_PARTS_H
#define ENGINE_EXPORT_EXPORT_PARTS_H

#include "engine/export/export_source.h"

#define PART_BYTES_MAX ((size_t)4 << 20)

/*
 * Read the order's files with `jobs` threads.  A file that cannot be read is
 * noted, and costs itself alone.  `scratch`: what names of unnamed files begin
 * with.  Errors: the first of put(); those of the unnamed files.
 */
MUST_USE enum err export_parts_read(const struct export_order *,
    unsigned jobs, struct export_pass, const char *scratch,
    export_entry_fn *put, void *arg, struct export_result *, struct why *);

#endif
