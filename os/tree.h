/*
 * tree -- whole files and directories: copied, linked, walked, removed.  For
 * backups and what is like them; the hot paths use os/file.h.
 *
 * Symbolic links are not followed and not copied.  Nothing is synced but by
 * tree_sync().  Thread: any.  Errors: those of os/file.h.
 */
#ifndef OS_TREE_H
#define OS_TREE_H

#include "base/err.h"

/* Copy at most `bytes_max` of `from` to `to`, which must not exist. */
MUST_USE enum err tree_copy(const char *from, const char *to,
    uint64_t bytes_max, struct why *);
/*
 * Make `to` a second name of the file.  STATE where the file systems allow no
 * link: then it has to be copied.
 */
MUST_USE enum err tree_link(const char *from, const char *to, struct why *);

enum tree_kind { TREE_ABSENT, TREE_FILE, TREE_DIR, TREE_OTHER };
/* The kind of the path itself; `*bytes` is a file's size, or NULL. */
enum tree_kind tree_kind(const char *path, uint64_t *bytes);

/*
 * Whether `path`, which begins with the directory `root`, is a directory below
 * it, or could be made there, without a symbolic link that leads out of it.
 * Errors: DENIED when one does; INPUT when a part of it is no directory; ABSENT
 * when the root is not there.
 */
MUST_USE enum err tree_check_beneath(const char *root, const char *path,
    struct why *);

/*
 * Call each() for all regular files below `dir`, directories whose name begins
 * with a dot before the others; `path` is relative to `dir`.  It ends with the
 * first error.  An absent `dir` is an empty one.
 */
MUST_USE enum err tree_walk(const char *dir, enum err (*each)(void *arg,
    const char *path, uint64_t bytes, struct why *), void *arg, struct why *);

/* Remove the directory with all that is in it; an absent one is fine. */
MUST_USE enum err tree_remove(const char *dir, struct why *);
/*
 * Give each of two paths what the other one names, in one step: a reader, also
 * one after a power cut, finds both or neither exchanged.  STATE where the
 * file system cannot do it.
 */
MUST_USE enum err tree_exchange(const char *a, const char *b, struct why *);
/*
 * The directory and the files in it get the modes that the process's umask
 * allows: what os/ makes is otherwise its owner's alone.  A group that it hands
 * down (setgid) stays.
 */
MUST_USE enum err tree_share(const char *dir, struct why *);
/* The same for one file. */
MUST_USE enum err tree_share_file(const char *path, struct why *);
/*
 * Make the directory, and those above it that are not there, with the mode that
 * the process's umask allows; the names of those that were made are synced.
 */
MUST_USE enum err tree_make_dir(const char *dir, struct why *);
/*
 * Move a file, durably, to where nothing stands, with the mode that the umask
 * allows.  On another file system it is copied under a hidden name beside `to`,
 * synced and renamed; `from` is removed last.  A copy that an earlier call has
 * left half is replaced.  Errors: EXISTS when anything stands at `to`.
 */
MUST_USE enum err tree_move(const char *from, const char *to, struct why *);
/* The same, where set() gives the file its mode before it has its name. */
MUST_USE enum err tree_move_as(const char *from, const char *to,
    enum err (*set)(void *arg, const char *path, struct why *), void *arg,
    struct why *);
/* All that was written on the file system of `dir` reaches the disk. */
MUST_USE enum err tree_sync(const char *dir, struct why *);

#endif
