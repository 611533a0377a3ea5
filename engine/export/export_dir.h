/*
 * export_dir -- the directory of an export.  Its files are made in a hidden
 * one beside it, which takes its place when all is written:
 *
 *     DIR/.NAME.export/lock     held while an export to DIR/NAME is under way
 *     DIR/.NAME.export/new      becomes DIR/NAME
 *
 * Whatever ends the process before, the old directory stays as it was; the
 * next export to the same place removes what was left.
 *
 * Thread: one.
 */
#ifndef ENGINE_EXPORT_EXPORT_DIR_H
#define ENGINE_EXPORT_EXPORT_DIR_H

#include "base/arena.h"
#include "base/err.h"

struct export_dir {
	const char *into;        /* the place, without a slash at its end */
	const char *hidden;      /* .NAME.export; NULL: not open */
	const char *path;        /* where files are made */
	int lock;
	struct arena arena;
};

/*
 * Make the hidden directory; that above `into`, too.
 * Errors: INPUT when `into` names no directory that could be replaced; EXISTS
 * when it is there and contains anything but files of exports; BUSY when
 * another export to it is under way; those of files.
 */
MUST_USE enum err export_dir_open(struct export_dir *, const char *into,
    struct why *);
/*
 * Put it into its place, durably; the files in it are synced.  What was there
 * is removed.  Closed in any case.
 */
MUST_USE enum err export_dir_commit(struct export_dir *, struct why *);
/* Remove the hidden directory.  Also for one that is not open. */
void export_dir_abandon(struct export_dir *);

/* A name that an export may have: "x_001.csv", "README.txt". */
bool export_dir_is_own(struct str name);

#endif
