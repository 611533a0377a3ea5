/*
 * zip -- writes a zip file of stored entries, zip64 where sizes or counts need
 * it (APPNOTE 6.3).  The same entries give the same bytes: times are fixed at
 * 1980-01-01.
 *
 * In a file the local head of an entry is patched when its size and CRC are
 * known, so that data is written once.  Where bytes only go forward
 * (zip_open_sink) a data descriptor behind the entry has them (APPNOTE 4.3.9).
 * Thread: one.
 */
#ifndef ENGINE_ARCHIVE_ZIP_H
#define ENGINE_ARCHIVE_ZIP_H

#include "base/bytes.h"
#include "base/err.h"

#define ZIP_ENTRIES_MAX ((size_t)1 << 20)

struct zip_writer;

/* The file is made, or emptied. */
MUST_USE enum err zip_open(const char *path, struct zip_writer **,
    struct why *);
/* All bytes go to put(), in order; an error of it ends the writing. */
typedef enum err zip_sink(void *arg, struct str, struct why *);
struct zip_writer *zip_open_sink(zip_sink *put, void *arg);
/*
 * Begin an entry.  With `big` it may exceed 4 GiB.  Names are UTF-8, at most
 * 1,024 bytes.  Errors: FULL.
 */
MUST_USE enum err zip_begin(struct zip_writer *, struct str name, bool big,
    struct why *);
/* Errors: FULL beyond 4 GiB of an entry that is not `big`. */
MUST_USE enum err zip_put(struct zip_writer *, struct str, struct why *);
MUST_USE enum err zip_end(struct zip_writer *, struct why *);
/*
 * Write the directory, and sync a file; the writer is gone, whatever the
 * result.
 */
MUST_USE enum err zip_close(struct zip_writer **, struct why *);
/* Give up: close without a directory. */
void zip_abandon(struct zip_writer **);

#endif
