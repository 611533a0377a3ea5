/*
 * archive_files -- which WARC files a verb of `argiope archive` reads: those
 * that its operands name, else those of the data directory.
 *
 * No verb needs the data directory's lock.
 */
#ifndef CLI_ARCHIVE_FILES_H
#define CLI_ARCHIVE_FILES_H

#include "cli/cli.h"
#include "engine/catalog/archive_tools.h"

#define ARCHIVE_FILES_ABOUT                                                  \
	"FILE is a WARC file or a directory of them; without one, all "       \
	"directories that crawls of DATA have written to are read: "           \
	"DATA/archive, DATA/harvest, and those named by --warc-dir.  Files of "\
	"harvests are read where they were brought to."
#define ARCHIVE_OPEN_ABOUT                                                   \
	"Files that a crawl is writing are read too, up to their last whole "  \
	"record."

/*
 * The files that the operands from `first` on name; `with_open`: as
 * archive_list().  A directory of the data directory that is gone is named
 * on stderr.  Memory: the cli's.
 * Errors: ABSENT, also when there is no WARC file at all; those of reading.
 */
MUST_USE enum err archive_files(struct cli *, size_t first, bool with_open,
    struct archive_catalogue *, struct why *);

/* Call moved() for each file that a hook has moved, with both its places. */
void archive_files_moved(const struct archive_catalogue *,
    void (*moved)(void *arg, const char *path, const char *place,
    bool readable), void *arg);
/* Name on stderr the files that a hook has moved to where nobody can read. */
void archive_files_gone(const struct archive_catalogue *);

/*
 * Of cli/archive_wacz.c, for a crawl.  Whether a WACZ can be put there, asked
 * before anything else: EXISTS; ABSENT when there is no such directory.
 */
MUST_USE enum err archive_wacz_place(const char *path, struct why *);
/*
 * Pack the directory's WARC files, and print what was done.  A directory
 * without any is no error.  Errors: as wacz_write().
 */
MUST_USE enum err archive_wacz_crawl(struct cli *, const char *warc_dir,
    const char *path, struct str name, struct str seed, struct why *);

/* A path for sorting, unlike any other process's.  Memory: the cli's. */
const char *archive_scratch(struct cli *);

#endif
