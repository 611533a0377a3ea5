/*
 * faults -- a library to be preloaded: syncs that fail, and power cuts.
 *
 *     FAULT_UNDER    a directory; only what lies below it is touched
 *     FAULT_MATCH    only paths with this in them fail
 *     FAULT_SYNC_AT  the n-th sync of such a path fails, once, with EIO; the
 *                    file FAULT_UNDER.failed then tells which it was
 *     FAULT_COUNT    a file that is told at the end how many there were
 *     FAULT_TRACE    a file that gets every change below FAULT_UNDER, in order
 *     FAULT_TRACE_NOW  ... at once: it is whole when the process is killed
 *     FAULT_KILL_AT  the process is killed after the n-th change or sync since
 *                    the file FAULT_KILL_FROM was there; with FAULT_TRACE, and
 *                    FAULT_COUNT is then told how many there were
 *
 * A trace is lines, each followed by as many bytes as it says:
 *
 *     kind number offset bytes path[TAB path]
 *
 *     C inode              a file was made at path
 *     M inode              a directory was made at path
 *     R                    the first path became the second
 *     L                    the first path is the second, too
 *     U                    path was taken away
 *     W inode offset n     n bytes were written at offset; they follow
 *     T inode size         the file was cut, or made longer, to size
 *     A inode size         the file is at least so long
 *     B inode id           a sync begins; inode 0: of everything
 *     E 0 id               it came back
 *     O 0 n                standard output is n bytes long
 *
 * A change stands in it once it was made, a sync's E once it came back, and O
 * before anything that follows from it: power_cut.py may cut between any two.
 * What stdio or a mapping writes is not seen: RocksDB's own diary is such.
 *
 * With FAULT_SYNC_AT syncfs() is refused, so that callers sync file by file.
 */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long syncs, changes;
static long long sync_ids;
static FILE *trace;
static const char none[] = "";

/* The C library's own; `f` is a function that this file defines too. */
#define REAL(f) ((__typeof__(&f))dlsym(RTLD_NEXT, #f))

/* The path of a name in an open directory: "/proc/self/fd/7/name". */
static const char *
plain(const char *path, char out[static PATH_MAX])
{
	static const char fds[] = "/proc/self/fd/";
	char link[64];

	if (strncmp(path, fds, sizeof(fds) - 1) != 0)
		return path;
	int end = (int)(sizeof(fds) - 1 + strcspn(path + sizeof(fds) - 1,
	    "/"));
	if (end >= (int)sizeof(link))
		return path;
	snprintf(link, sizeof(link), "%.*s", end, path);
	ssize_t n = readlink(link, out, PATH_MAX - 1);
	if (n <= 0)
		return path;
	snprintf(out + n, PATH_MAX - (size_t)n, "%s", path + end);
	return out;
}

static bool
below(const char *path)
{
	const char *under = getenv("FAULT_UNDER");
	size_t n = under == NULL ? 0 : strlen(under);
	char out[PATH_MAX];

	path = plain(path, out);
	return n > 0 && strncmp(path, under, n) == 0 && path[n] == '/';
}

/* The path of an open file, when it lies below FAULT_UNDER or is it. */
static bool
path_of(int fd, char path[static PATH_MAX])
{
	const char *under = getenv("FAULT_UNDER");
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (under == NULL || n <= 0)
		return false;
	path[n] = '\0';
	return below(path) || strcmp(path, under) == 0;
}

static bool
must_fail(const char *path)
{
	const char *at = getenv("FAULT_SYNC_AT");
	const char *match = getenv("FAULT_MATCH");
	char told[PATH_MAX];

	if (match != NULL && strstr(path, match) == NULL)
		return false;
	if (++syncs != (at == NULL ? -1 : strtol(at, NULL, 10)))
		return false;
	snprintf(told, sizeof(told), "%s.failed", getenv("FAULT_UNDER"));
	FILE *f = fopen(told, "w");
	if (f != NULL) {
		fprintf(f, "%s\n", path);
		fclose(f);
	}
	return true;
}

__attribute__((constructor)) static void
begin_trace(void)
{
	const char *path = getenv("FAULT_TRACE");

	if (path != NULL)
		trace = fopen(path, "we");
	if (trace != NULL && getenv("FAULT_TRACE_NOW") != NULL)
		setvbuf(trace, NULL, _IONBF, 0);
}

__attribute__((destructor)) static void
tell_count(void)
{
	const char *path = getenv("FAULT_COUNT");
	FILE *f = path == NULL ? NULL : fopen(path, "w");

	if (trace != NULL)
		REAL(fflush)(trace);
	if (f == NULL)
		return;
	fprintf(f, "%ld\n", getenv("FAULT_KILL_AT") != NULL ? changes : syncs);
	fclose(f);
}

/* --- the trace ----------------------------------------------------------- */

/* A line and what follows it; the lock is held.  `path2` may be `path`. */
static void
put(char kind, unsigned long long number, long long offset, const void *p,
    size_t n, const char *path, const char *path2)
{
	const char *at = getenv("FAULT_KILL_AT");
	const char *from = getenv("FAULT_KILL_FROM");

	fprintf(trace, "%c %llu %lld %zu %s", kind, number, offset, n, path);
	if (path2 != path)
		fprintf(trace, "\t%s", path2);
	fputc('\n', trace);
	fwrite(p, 1, n, trace);
	if (at != NULL && from != NULL && access(from, F_OK) == 0 &&
	    ++changes == strtol(at, NULL, 10))
		kill(getpid(), SIGKILL);
}

static unsigned long long
inode_at(const char *path)
{
	struct stat s;

	return lstat(path, &s) == 0 ? s.st_ino : 0;
}

static unsigned long long
inode_of(int fd)
{
	struct stat s;

	return fstat(fd, &s) == 0 ? s.st_ino : 0;
}

/* Whether changes by this descriptor are recorded. */
static bool
recorded(int fd)
{
	char path[PATH_MAX];

	return trace != NULL && path_of(fd, path);
}

/* `at` is -1 where the descriptor's own position was used. */
static void
put_write(int fd, long long at, const void *p, ssize_t n)
{
	if (n <= 0)
		return;
	if (at < 0)
		at = lseek(fd, 0, SEEK_CUR) - n;
	put('W', inode_of(fd), at, p, (size_t)n, none, none);
}

/* A change of names by `call`, which gives 0.  `path2` may be `path`. */
#define CHANGE(call, kind, number, path, path2) do {                          \
	if (trace == NULL || (!below(path) && !below(path2)))                 \
		return call;                                                  \
	pthread_mutex_lock(&lock);                                            \
	int r_ = call;                                                        \
	int errno_ = errno;                                                   \
	if (r_ == 0)                                                          \
		put(kind, number, 0, none, 0, path, path2);                   \
	pthread_mutex_unlock(&lock);                                          \
	errno = errno_;                                                       \
	return r_;                                                            \
} while (0)

/* A change of an open file by `call`; `record` sees its result as r_. */
#define CHANGE_FILE(type, fd, call, record) do {                              \
	if (!recorded(fd))                                                    \
		return call;                                                  \
	pthread_mutex_lock(&lock);                                            \
	type r_ = call;                                                       \
	int errno_ = errno;                                                   \
	record;                                                               \
	pthread_mutex_unlock(&lock);                                          \
	errno = errno_;                                                       \
	return r_;                                                            \
} while (0)

/* --- names --------------------------------------------------------------- */

static int
open_by(int (*real)(const char *, int, ...), const char *path, int flags,
    mode_t mode)
{
	if (trace == NULL || !below(path))
		return real(path, flags, mode);
	pthread_mutex_lock(&lock);
	bool there = access(path, F_OK) == 0;
	int fd = real(path, flags, mode);
	int saved = errno;
	if (fd >= 0 && !there)
		put('C', inode_of(fd), 0, none, 0, path, path);
	else if (fd >= 0 && (flags & O_TRUNC) != 0)
		put('T', inode_of(fd), 0, none, 0, none, none);
	pthread_mutex_unlock(&lock);
	errno = saved;
	return fd;
}

static mode_t
mode_in(int flags, va_list ap)
{
	return (flags & O_CREAT) != 0 ? (mode_t)va_arg(ap, int) : 0;
}

int
open(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	mode_t mode = mode_in(flags, ap);
	va_end(ap);
	return open_by(REAL(open), path, flags, mode);
}

int
open64(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	mode_t mode = mode_in(flags, ap);
	va_end(ap);
	return open_by(REAL(open64), path, flags, mode);
}

int
mkdir(const char *path, mode_t mode)
{
	CHANGE(REAL(mkdir)(path, mode), 'M', inode_at(path), path, path);
}

int
rename(const char *from, const char *to)
{
	CHANGE(REAL(rename)(from, to), 'R', 0, from, to);
}

int
renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	CHANGE(REAL(renameat2)(a, from, b, to, flags), 'R', 0, from, to);
}

int
link(const char *from, const char *to)
{
	CHANGE(REAL(link)(from, to), 'L', 0, from, to);
}

int
unlink(const char *path)
{
	CHANGE(REAL(unlink)(path), 'U', 0, path, path);
}

int
rmdir(const char *path)
{
	CHANGE(REAL(rmdir)(path), 'U', 0, path, path);
}

int
remove(const char *path)
{
	CHANGE(REAL(remove)(path), 'U', 0, path, path);
}

/* --- bytes --------------------------------------------------------------- */

ssize_t
write(int fd, const void *p, size_t n)
{
	CHANGE_FILE(ssize_t, fd, REAL(write)(fd, p, n),
	    put_write(fd, -1, p, r_));
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	CHANGE_FILE(ssize_t, fd, REAL(pwrite)(fd, p, n, at),
	    put_write(fd, at, p, r_));
}

ssize_t
pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	CHANGE_FILE(ssize_t, fd, REAL(pwrite64)(fd, p, n, at),
	    put_write(fd, at, p, r_));
}

/* One piece after the other: fewer bytes than asked for are no error. */
ssize_t
pwritev(int fd, const struct iovec *v, int n, off_t at)
{
	ssize_t all = 0;

	if (!recorded(fd))
		return REAL(pwritev)(fd, v, n, at);
	for (int i = 0; i < n; i++) {
		ssize_t r = pwrite(fd, v[i].iov_base, v[i].iov_len, at + all);
		if (r < 0)
			return all > 0 ? all : r;
		all += r;
		if ((size_t)r < v[i].iov_len)
			break;
	}
	return all;
}

ssize_t
pwritev64(int fd, const struct iovec *v, int n, off64_t at)
{
	return pwritev(fd, v, n, at);
}

ssize_t
writev(int fd, const struct iovec *v, int n)
{
	ssize_t all = 0;

	if (!recorded(fd))
		return REAL(writev)(fd, v, n);
	for (int i = 0; i < n; i++) {
		ssize_t r = write(fd, v[i].iov_base, v[i].iov_len);
		if (r < 0)
			return all > 0 ? all : r;
		all += r;
		if ((size_t)r < v[i].iov_len)
			break;
	}
	return all;
}

static void
put_size(char kind, int fd, int result, long long size)
{
	if (result == 0)
		put(kind, inode_of(fd), size, none, 0, none, none);
}

int
ftruncate(int fd, off_t size)
{
	CHANGE_FILE(int, fd, REAL(ftruncate)(fd, size),
	    put_size('T', fd, r_, size));
}

int
ftruncate64(int fd, off64_t size)
{
	CHANGE_FILE(int, fd, REAL(ftruncate64)(fd, size),
	    put_size('T', fd, r_, size));
}

/* Room that is only reserved is no change; holes are not punched here. */
int
fallocate(int fd, int mode, off_t at, off_t n)
{
	CHANGE_FILE(int, fd, REAL(fallocate)(fd, mode, at, n),
	    put_size('A', fd, mode == 0 ? r_ : -1, at + n));
}

int
fallocate64(int fd, int mode, off64_t at, off64_t n)
{
	CHANGE_FILE(int, fd, REAL(fallocate64)(fd, mode, at, n),
	    put_size('A', fd, mode == 0 ? r_ : -1, at + n));
}

int
posix_fallocate(int fd, off_t at, off_t n)
{
	CHANGE_FILE(int, fd, REAL(posix_fallocate)(fd, at, n),
	    put_size('A', fd, r_, at + n));
}

/* --- syncs --------------------------------------------------------------- */

/* The lock is not held meanwhile: others go on writing. */
static int
traced_sync(int fd, unsigned long long inode, int (*real)(int))
{
	pthread_mutex_lock(&lock);
	long long id = ++sync_ids;
	put('B', inode, id, none, 0, none, none);
	pthread_mutex_unlock(&lock);
	int r = real(fd);
	int saved = errno;
	pthread_mutex_lock(&lock);
	if (r == 0)
		put('E', 0, id, none, 0, none, none);
	pthread_mutex_unlock(&lock);
	errno = saved;
	return r;
}

static int
sync_by(int fd, int (*real)(int))
{
	char path[PATH_MAX];

	if (!path_of(fd, path))
		return real(fd);
	pthread_mutex_lock(&lock);
	bool fails = must_fail(path);
	pthread_mutex_unlock(&lock);
	if (fails) {
		errno = EIO;
		return -1;
	}
	return trace == NULL ? real(fd) : traced_sync(fd, inode_of(fd), real);
}

int
fdatasync(int fd)
{
	return sync_by(fd, REAL(fdatasync));
}

int
fsync(int fd)
{
	return sync_by(fd, REAL(fsync));
}

int
syncfs(int fd)
{
	if (getenv("FAULT_SYNC_AT") != NULL) {
		errno = ENOSYS;
		return -1;
	}
	return recorded(fd) ? traced_sync(fd, 0, REAL(syncfs)) :
	    REAL(syncfs)(fd);
}

/* What is reported leaves by this. */
int
fflush(FILE *f)
{
	struct stat s;

	if (f != stdout || trace == NULL)
		return REAL(fflush)(f);
	pthread_mutex_lock(&lock);
	int r = REAL(fflush)(f);
	if (fstat(fileno(f), &s) == 0)
		put('O', 0, s.st_size, none, 0, none, none);
	pthread_mutex_unlock(&lock);
	return r;
}
