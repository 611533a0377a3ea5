/*
 * shared_dir -- directories that other users read and write too, below a root.
 *
 * A directory is resolved below its root by openat2(2) each time that it is
 * opened, and used through its descriptor: a symbolic link that is planted
 * later leads nowhere else.  `path` names the descriptor, for the calls of
 * os/file.h and os/tree.h: "/proc/self/fd/7".
 *
 * Below a root directories get the mode 2775 and files 0664, less the root's
 * umask, and the group of the directory that they are in; where the process may
 * not give a file to that group it keeps its own.  Without a root (path NULL)
 * any directory will do, and modes follow the process's umask.
 *
 * Thread: any; blocks.  Errors: DENIED when a symbolic link leads out of the
 * root; INPUT when a part of the path is no directory; UNREACHED when the root
 * is away; those of os/file.h, where IO is also a volume that is read-only.
 * Source: contracts/harvest.md §8.
 */
#ifndef OS_SHARED_DIR_H
#define OS_SHARED_DIR_H

#include "base/bytes.h"
#include "base/err.h"

struct shared_root {
	const char *path;            /* absolute; NULL: there is none */
	unsigned umask;
};

#define SHARED_DIR_PATH_BYTES 128
struct shared_dir {
	struct shared_root root;
	int fd;
	char path[SHARED_DIR_PATH_BYTES];    /* valid until it is closed */
};
#define SHARED_DIR_INIT { .fd = -1 }

/* SHARED_DIR_LOOK: ABSENT when it is not there; _MAKE: it is made, durably. */
enum shared_dir_mode { SHARED_DIR_LOOK, SHARED_DIR_MAKE };

/*
 * `path` is absolute, and with a root begins with the root's path.  The root
 * itself is never made.  Close it, also after an error.
 */
MUST_USE enum err shared_dir_open(const struct shared_root *, const char *path,
    enum shared_dir_mode, struct shared_dir *, struct why *);
/* The same below one that is open; `below` is relative. */
MUST_USE enum err shared_dir_below(const struct shared_dir *,
    const char *below, enum shared_dir_mode, struct shared_dir *, struct why *);
void shared_dir_close(struct shared_dir *);

/* Whether anything has the name in it, also what cannot be opened. */
bool shared_dir_has(const struct shared_dir *, const char *name);
/*
 * Open a regular file in it, for reading.  Never waits, whatever stands there.
 * Errors: ABSENT; INPUT: it is no regular file; DENIED.
 */
MUST_USE enum err shared_dir_read(const struct shared_dir *, const char *name,
    int *fd, struct why *);
/* The whole file into `out` (appended), at most bytes_max, else FULL. */
struct buf;
MUST_USE enum err shared_dir_load(const struct shared_dir *, const char *name,
    size_t bytes_max, struct buf *out, struct why *);
/*
 * A new file with these bytes, synced; what an earlier call has left of the
 * name is replaced.  Its name is not synced.
 */
MUST_USE enum err shared_dir_write(const struct shared_dir *,
    const char *name, struct str bytes, struct why *);
/*
 * Move a file there, durably, to where nothing stands.  On another file system
 * it is copied under a hidden name, synced and renamed; `from` is removed last.
 * Errors: EXISTS.
 */
MUST_USE enum err shared_dir_take(const struct shared_dir *, const char *from,
    const char *name, struct why *);
/*
 * Take the lock that is a file in it; it ends with file_close().  BUSY while
 * another one has it.
 */
MUST_USE enum err shared_dir_lock(const struct shared_dir *, const char *name,
    int *fd, struct why *);

/* What a test or the simulator puts in place of these; NULL: they themselves.
 * A directory of such a table has no descriptor. */
struct shared_dir_table {
	enum err (*open)(const char *path, enum shared_dir_mode,
	    struct shared_dir *, struct why *);
	bool (*has)(const struct shared_dir *, const char *name);
	enum err (*read)(const struct shared_dir *, const char *name, int *fd,
	    struct why *);
	enum err (*write)(const struct shared_dir *, const char *name,
	    struct str bytes, struct why *);
	enum err (*take)(const struct shared_dir *, const char *from,
	    const char *name, struct why *);
	enum err (*lock)(const struct shared_dir *, const char *name, int *fd,
	    struct why *);
};
/* Directories are those of os/file.h: names in file_fake. */
extern const struct shared_dir_table shared_dir_fake;
void shared_dir_use(const struct shared_dir_table *);

#endif
