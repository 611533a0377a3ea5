/*
 * moved -- notes about finished WARC files that a hook has moved.
 *
 *     DIR/NAME.warc.gz          is no longer there
 *     DIR/NAME.warc.gz.moved    says where it is:
 *
 *         argiope-moved 1
 *         bytes 1048576
 *         place /mnt/tape/NAME.warc.gz
 *
 * The note lies in the archive directory, so that it survives the loss of the
 * data directory and is part of a backup.  It counts only while the file is
 * not at its own place.  `bytes` is the file's length, and missing where that
 * was not known.  A place is an absolute path or a URL; a file at a path is
 * read there when it has that length.
 *
 * Thread: any.
 */
#ifndef ENGINE_ARCHIVE_MOVED_H
#define ENGINE_ARCHIVE_MOVED_H

#include "base/arena.h"
#include "base/err.h"

#define MOVED_SUFFIX ".moved"
/* Bytes of a place. */
#define MOVED_PLACE_MAX 2048u
/* A length that is not known. */
#define MOVED_BYTES_UNKNOWN UINT64_MAX

struct moved {
	struct str place;            /* a NUL follows */
	uint64_t bytes;
	bool readable;               /* a local file of that length */
};

/*
 * Whether `place` may be recorded: an absolute path or a URL of at most
 * MOVED_PLACE_MAX bytes, without control characters, and without a user name
 * or password.  INPUT, with the reason, when not.
 */
MUST_USE enum err moved_place_check(struct str place, struct why *);

/*
 * Write the note of the file `path` and sync it and its directory.  An older
 * note is replaced.  Errors: INPUT as moved_place_check(); DISK_FULL; IO.
 */
MUST_USE enum err moved_write(const char *path, struct str place,
    uint64_t bytes, struct why *);

/*
 * Read the note of the file `path`, and look whether the file can be read at
 * its new place.  Whether the file is still at `path` is not asked.
 * Memory: `a`.  Errors: ABSENT when there is none; CORRUPT; IO.
 */
MUST_USE enum err moved_read(const char *path, struct arena *a,
    struct moved *, struct why *);

/*
 * The path at which to read the finished file `path`: its own while it is
 * there, or has no note; else its new one.  ABSENT, with the place in the
 * reason, when it was moved to where it cannot be read.  Memory: `a`.
 */
MUST_USE enum err moved_resolve(struct str path, struct arena *a,
    struct str *out, struct why *);

#endif
