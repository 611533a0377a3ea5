/*
 * archive -- WARC files on disk: which of them there are, and their bytes.
 *
 * Writing them is the ledger's, through archive_port.h; everything here reads.
 * Thread: any, one object one thread.
 */
#ifndef ENGINE_ARCHIVE_ARCHIVE_H
#define ENGINE_ARCHIVE_ARCHIVE_H

#include "base/err.h"
#include "engine/archive/archive_name.h"
#include "wire/unpack.h"

#define ARCHIVE_DEPTH_MAX 8     /* directories below one that was given */

struct archive_file {
	const char *path;
	struct str name;        /* the last part of the path, without .open */
	uint64_t size;
	bool open;              /* it was being written when it was listed */
	/* Where a hook moved it from, to `path`; NULL: it was not moved. */
	const char *moved_from;
};
/* A finished file that was moved to where it cannot be read (moved.h). */
struct archive_gone {
	const char *path, *place;     /* in the archive; where it is now */
};
struct archive_catalogue {
	struct archive_file *files;   /* sorted by name, then path */
	size_t n;
	struct archive_gone *gone;
	size_t gone_n;
};
/*
 * The WARC files that `paths` name: a file as it is, a directory with all WARC
 * files below it.  A file that a hook has moved is listed at its new place, or
 * as gone.  Hidden names are left out, but `with_open` lists files that are
 * being written, too, of contracts/warc.md section 7:
 * `<dir>/.argiope/<crawl>/NAME.open`.  A file that gets its name meanwhile is
 * listed once.
 * Memory: `a`.  Errors: ABSENT, DENIED, IO; FULL beyond files_max.
 */
#define ARCHIVE_FILES_MAX ((size_t)1 << 20)
MUST_USE enum err archive_list(const char *const *paths, size_t n,
    bool with_open, struct arena *a, struct archive_catalogue *,
    struct why *);

/* Where an open file goes when it gets its name.  Memory: `a`. */
const char *archive_named_path(const struct archive_file *, struct arena *a);

/*
 * A file for wire/warc_read.h to read from.  Not to be moved while it is open;
 * archive_source_close() it.
 */
struct archive_source {
	int fd;
	uint64_t size;
	struct unpack_source source;   /* its `arg` is this struct */
};
MUST_USE enum err archive_source_open(const char *path,
    struct archive_source *, struct why *);
/*
 * The same for a listed file.  One that is being written ends behind its last
 * whole member, so that what a process is just writing is no damage; one that
 * got its name since is found there.  ABSENT: an open file was dropped, since
 * it held no record.
 */
MUST_USE enum err archive_source_open_file(const struct archive_file *,
    struct archive_source *, struct why *);
void archive_source_close(struct archive_source *);

#endif
