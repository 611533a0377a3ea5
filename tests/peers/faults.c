/*
 * faults -- a library to be preloaded: syncs that fail, and power cuts.
 *
 *     FAULT_UNDER    a directory; only what lies below it is touched
 *     FAULT_MATCH    only paths with this in them fail
 *     FAULT_SYNC_AT  the n-th sync of such a path fails, once, with EIO; the
 *                    file FAULT_UNDER.failed then tells which it was
 *     FAULT_COUNT    a file that is told at the end how many there were
 *     FAULT_SHADOW   a directory for what a power cut would leave:
 *
 *         inodes/N   a file's bytes as of its last sync that came back
 *         dirs/N     a directory's names as of its last sync: "inode type name"
 *
 * A name whose directory was not synced is lost, bytes that were not synced are
 * lost.  N is an inode: the directory must be one whose inodes are not used
 * again (tmpfs).  power_cut.py puts the files together again.
 *
 * syncfs() is refused, so that callers sync file by file.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long syncs;

/* The path of an open file, when it lies below FAULT_UNDER. */
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
	return strncmp(path, under, strlen(under)) == 0;
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

__attribute__((destructor)) static void
tell_count(void)
{
	const char *path = getenv("FAULT_COUNT");
	FILE *f = path == NULL ? NULL : fopen(path, "w");

	if (f == NULL)
		return;
	fprintf(f, "%ld\n", syncs);
	fclose(f);
}

/* --- the shadow ---------------------------------------------------------- */

static bool
copy_file(int fd, FILE *to)
{
	char link[64], piece[COPY_BYTES];
	bool fine = true;
	ssize_t n;

	/* The descriptor itself may be for writing only. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int from = open(link, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return false;
	while ((n = read(from, piece, sizeof(piece))) > 0)
		fine &= fwrite(piece, 1, (size_t)n, to) == (size_t)n;
	close(from);
	return fine && n == 0;
}

static bool
copy_names(const char *path, FILE *to)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (d == NULL)
		return false;
	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			fprintf(to, "%llu %c %s\n",
			    (unsigned long long)e->d_ino,
			    e->d_type == DT_DIR ? 'd' : 'f', e->d_name);
	closedir(d);
	return true;
}

/* What the sync promises is what is there before it begins. */
static bool
take_picture(int fd, const char *path, char picture[static PATH_MAX],
    char place[static PATH_MAX])
{
	const char *shadow = getenv("FAULT_SHADOW");
	struct stat s;
	bool fine;

	if (shadow == NULL || fstat(fd, &s) != 0)
		return false;
	snprintf(picture, PATH_MAX, "%s/picture", shadow);
	snprintf(place, PATH_MAX, "%s/%s/%llu", shadow,
	    S_ISDIR(s.st_mode) ? "dirs" : "inodes",
	    (unsigned long long)s.st_ino);
	FILE *to = fopen(picture, "w");
	if (to == NULL)
		return false;
	fine = S_ISDIR(s.st_mode) ? copy_names(path, to) : copy_file(fd, to);
	return fclose(to) == 0 && fine;
}

static int
sync_by(int fd, const char *name)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	char path[PATH_MAX], picture[PATH_MAX], place[PATH_MAX];

	if (!path_of(fd, path))
		return real(fd);
	pthread_mutex_lock(&lock);
	bool fails = must_fail(path);
	bool taken = !fails && take_picture(fd, path, picture, place);
	int r = fails ? -1 : real(fd);
	if (r == 0 && taken)
		r = rename(picture, place);
	pthread_mutex_unlock(&lock);
	if (fails)
		errno = EIO;
	return r;
}

int
fdatasync(int fd)
{
	return sync_by(fd, "fdatasync");
}

int
fsync(int fd)
{
	return sync_by(fd, "fsync");
}

int
syncfs(int fd)
{
	(void)fd;
	errno = ENOSYS;
	return -1;
}
