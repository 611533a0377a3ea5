/*
 * file -- positional files through a table that tests and the simulator can
 * replace: a full disk, a failing sync and a power cut are shown through it.
 *
 * Paths are bytes.  Handles are small integers.  Every call retries EINTR;
 * reads and writes are whole or an error.  Thread: any.
 * Errors: DISK_FULL, ABSENT, EXISTS, DENIED, IO.
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/arena.h"
#include "base/err.h"

enum file_mode {
	FILE_READ = 0,
	FILE_WRITE = 1,    /* read and write, must exist */
	FILE_CREATE = 2,   /* read and write, made if it is not there */
	FILE_NEW = 3,      /* read and write, must not exist */
};

struct file_table {
	enum err (*open)(const char *path, enum file_mode, int *fd);
	void (*close)(int fd);
	/* Up to n bytes; `*got` less only at the end of the file. */
	enum err (*read)(int fd, uint64_t at, void *p, size_t n, size_t *got);
	enum err (*write)(int fd, uint64_t at, const void *p, size_t n);
	enum err (*sync)(int fd);              /* fdatasync */
	enum err (*size)(int fd, uint64_t *);
	enum err (*cut)(int fd, uint64_t size);
	enum err (*allocate)(int fd, uint64_t size);  /* zero-filled, on disk */
	/* renameat2 with RENAME_NOREPLACE */
	enum err (*rename_new)(const char *from, const char *to);
	enum err (*replace)(const char *from, const char *to);
	enum err (*remove)(const char *path);
	enum err (*sync_dir)(const char *path);
	/* Parents too; 0700; the names of those that were made are synced. */
	enum err (*make_dir)(const char *path);
	/* Names in a directory, "." and ".." left out, any order. */
	enum err (*list)(const char *path, struct arena *, struct str **names,
	    size_t *n);
	enum err (*free_bytes)(const char *path, uint64_t *);
	/* NULL: one after the other. */
	enum err (*sync_many)(const int *fds, size_t n, size_t *failed);
};
extern const struct file_table file_real;
void file_use(const struct file_table *);
const struct file_table *file_table_now(void);

MUST_USE enum err file_open(const char *path, enum file_mode, int *fd,
    struct why *);
void file_close(int *fd);                      /* and sets it to -1 */
MUST_USE enum err file_read(int fd, uint64_t at, void *, size_t n,
    size_t *got, struct why *);
MUST_USE enum err file_write(int fd, uint64_t at, const void *, size_t n,
    struct why *);
MUST_USE enum err file_sync(int fd, struct why *);
/*
 * All of them, each as by file_sync(); more than FILE_SYNC_FEW by syncfs(2).
 * After an error `*failed` is the index of a file that has it.
 */
#define FILE_SYNC_FEW 4
MUST_USE enum err file_sync_many(const int *fds, size_t n, size_t *failed,
    struct why *);
MUST_USE enum err file_size(int fd, uint64_t *, struct why *);
MUST_USE enum err file_cut(int fd, uint64_t size, struct why *);
MUST_USE enum err file_allocate(int fd, uint64_t size, struct why *);
MUST_USE enum err file_rename_new(const char *from, const char *to,
    struct why *);
MUST_USE enum err file_replace(const char *from, const char *to, struct why *);
MUST_USE enum err file_remove(const char *path, struct why *);
MUST_USE enum err file_sync_dir(const char *path, struct why *);
MUST_USE enum err file_make_dir(const char *path, struct why *);
MUST_USE enum err file_list(const char *path, struct arena *,
    struct str **names, size_t *n, struct why *);
MUST_USE enum err file_free_bytes(const char *path, uint64_t *, struct why *);
/*
 * Store a small file durably: PATH.new is written and synced, takes the place
 * of PATH, and the directory is synced.  At each moment, also after a power
 * cut, PATH has its old content or all of the new.
 */
MUST_USE enum err file_store(const char *path, struct str bytes, struct why *);
/* The whole file into `out` (appended), at most bytes_max, else FULL. */
struct buf;
MUST_USE enum err file_load(const char *path, size_t bytes_max, struct buf *out,
    struct why *);

/*
 * The same for a file of secrets.  DENIED when others than its owner may read
 * or write it.
 */
MUST_USE enum err file_load_private(const char *path, size_t bytes_max,
    struct buf *out, struct why *);

/*
 * Take the one lock of a directory: a file `lock` that holds our pid.  BUSY
 * when another process has it; `*holder` is then its pid.  Keep the handle open
 * as long as the lock is wanted.
 */
MUST_USE enum err file_lock_dir(const char *dir, int *fd, int64_t *holder,
    struct why *);

/*
 * True when a process has the file open.  False also where the file system
 * cannot tell, or the file is another user's.
 */
bool file_in_use(const char *path);

#endif
