#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

static enum err
result(int r)
{
	return r == 0 ? OK : err_from_errno(errno);
}

static enum err
real_open(const char *path, enum file_mode mode, int *fd)
{
	static const int flags[] = {
		O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_EXCL,
	};

	do
		*fd = open(path, flags[mode] | O_CLOEXEC, 0600);
	while (*fd < 0 && errno == EINTR);
	return *fd < 0 ? err_from_errno(errno) : OK;
}

static void
real_close(int fd)
{
	close(fd);
}

static enum err
real_read(int fd, uint64_t at, void *p, size_t n, size_t *got)
{
	*got = 0;
	while (*got < n) {
		ssize_t r = pread(fd, (char *)p + *got, n - *got,
		    (off_t)(at + *got));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return err_from_errno(errno);
		if (r == 0)
			break;
		*got += (size_t)r;
	}
	return OK;
}

static enum err
real_write(int fd, uint64_t at, const void *p, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = pwrite(fd, (const char *)p + done, n - done,
		    (off_t)(at + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return err_from_errno(errno);
		done += (size_t)r;
	}
	return OK;
}

static enum err
real_sync(int fd)
{
	int r;

	do
		r = fdatasync(fd);
	while (r != 0 && errno == EINTR);
	return result(r);
}

static enum err
sync_each(enum err (*sync)(int), const int *fds, size_t n, size_t *failed)
{
	enum err e = OK;

	for (*failed = 0; *failed < n; ++*failed) {
		e = sync(fds[*failed]);
		if (e != OK)
			break;
	}
	return e;
}

/* Before Linux 5.8 syncfs() kept errors of writing to itself. */
static bool
syncfs_tells(void)
{
	struct utsname u;
	char *dot;

	if (uname(&u) != 0)
		return false;
	unsigned long major = strtoul(u.release, &dot, 10);
	return major > 5 ||
	    (major == 5 && *dot == '.' && strtoul(dot + 1, NULL, 10) >= 8);
}

/*
 * Each file system once.  After an error the files say themselves whose it is:
 * each descriptor still has it to tell.
 */
static enum err
real_sync_many(const int *fds, size_t n, size_t *failed)
{
	dev_t done[FILE_SYNC_FEW];
	size_t done_n = 0;
	struct stat st;

	if (n <= FILE_SYNC_FEW || !syncfs_tells())
		return sync_each(real_sync, fds, n, failed);
	for (size_t i = 0; i < n; i++) {
		bool seen = false;
		if (fstat(fds[i], &st) != 0)
			return sync_each(real_sync, fds, n, failed);
		for (size_t k = 0; k < done_n; k++)
			seen |= done[k] == st.st_dev;
		if (seen)
			continue;
		if (done_n == ARRAY_LEN(done) || syncfs(fds[i]) != 0)
			return sync_each(real_sync, fds, n, failed);
		done[done_n++] = st.st_dev;
	}
	return OK;
}

static enum err
real_size(int fd, uint64_t *size)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_from_errno(errno);
	*size = (uint64_t)st.st_size;
	return OK;
}

static enum err
real_cut(int fd, uint64_t size)
{
	int r;

	do
		r = ftruncate(fd, (off_t)size);
	while (r != 0 && errno == EINTR);
	return result(r);
}

static enum err
real_allocate(int fd, uint64_t size)
{
	static const char zeros[1 << 16];

	/* Written, not only reserved: overwriting then needs no metadata. */
	for (uint64_t at = 0; at < size; at += sizeof(zeros)) {
		enum err e = real_write(fd, at, zeros,
		    (size_t)MIN(sizeof(zeros), size - at));
		if (e != OK)
			return e;
	}
	return real_sync(fd);
}

static enum err
real_rename_new(const char *from, const char *to)
{
	return result(renameat2(AT_FDCWD, from, AT_FDCWD, to,
	    RENAME_NOREPLACE));
}

static enum err
real_replace(const char *from, const char *to)
{
	return result(rename(from, to));
}

static enum err
real_remove(const char *path)
{
	return result(remove(path));
}

static enum err
real_sync_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_from_errno(errno);
	enum err e = result(fsync(fd));
	close(fd);
	return e;
}

/* The name of a directory that was made lasts when its parent was synced. */
static enum err
sync_parent(char *path)
{
	char *name = strrchr(path, '/');

	if (name == NULL)
		return real_sync_dir(".");
	if (name == path)
		return real_sync_dir("/");
	*name = '\0';
	enum err e = real_sync_dir(path);
	*name = '/';
	return e;
}

static enum err
make_one_dir(char *path)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return sync_parent(path);
	int error = errno;
	if (error != EEXIST || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return err_from_errno(error);
	/* Perhaps one of ours made it, and was killed before the sync; not
	 * all parents may be read, and those we did not make in. */
	if (st.st_uid == geteuid())
		(void)!sync_parent(path);
	return OK;
}

static enum err
real_make_dir(const char *path)
{
	char part[PATH_MAX];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(part))
		return ERR_INPUT;
	memcpy(part, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		char c = part[i];
		part[i] = '\0';
		enum err e = make_one_dir(part);
		if (e != OK)
			return e;
		part[i] = c;
	}
	return OK;
}

static enum err
real_list(const char *path, struct arena *a, struct str **names, size_t *n)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	size_t cap = 0;
	struct str *out = NULL;

	*n = 0;
	if (d == NULL)
		return err_from_errno(errno);
	while (errno = 0, (entry = readdir(d)) != NULL) {
		struct str name = str_of(entry->d_name);
		if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
			continue;
		out = mem_room(out, *n, &cap, 64, sizeof(*out));
		out[(*n)++] = arena_copy(a, name);
	}
	enum err e = err_from_errno(errno);
	closedir(d);
	if (e != OK) {
		mem_free(&out);
		*n = 0;
		return e;
	}
	*names = ARENA_ARRAY(a, struct str, *n);
	if (*n != 0)
		memcpy(*names, out, *n * sizeof(*out));
	mem_free(&out);
	return OK;
}

static enum err
real_free_bytes(const char *path, uint64_t *bytes)
{
	struct statvfs v;

	if (statvfs(path, &v) != 0)
		return err_from_errno(errno);
	*bytes = (uint64_t)v.f_bavail * v.f_frsize;
	return OK;
}

const struct file_table file_real = {
	real_open, real_close, real_read, real_write, real_sync, real_size,
	real_cut, real_allocate, real_rename_new, real_replace, real_remove,
	real_sync_dir, real_make_dir, real_list, real_free_bytes,
	real_sync_many,
};
static const struct file_table *table = &file_real;

void
file_use(const struct file_table *t)
{
	table = t;
}

const struct file_table *
file_table_now(void)
{
	return table;
}

/* The texts of errors: what was tried, on what. */
static enum err
tell(struct why *w, enum err e, const char *verb, const char *path)
{
	return e == OK ? OK : why(w, e, "cannot %s %s: %s", verb, path,
	    err_text(e));
}

static enum err
tell_fd(struct why *w, enum err e, const char *verb)
{
	return e == OK ? OK : why(w, e, "cannot %s: %s", verb, err_text(e));
}

enum err
file_open(const char *path, enum file_mode mode, int *fd, struct why *w)
{
	return tell(w, table->open(path, mode, fd), "open", path);
}

void
file_close(int *fd)
{
	if (*fd >= 0)
		table->close(*fd);
	*fd = -1;
}

enum err
file_read(int fd, uint64_t at, void *p, size_t n, size_t *got, struct why *w)
{
	return tell_fd(w, table->read(fd, at, p, n, got), "read");
}

enum err
file_write(int fd, uint64_t at, const void *p, size_t n, struct why *w)
{
	return tell_fd(w, table->write(fd, at, p, n), "write");
}

enum err
file_sync(int fd, struct why *w)
{
	return tell_fd(w, table->sync(fd), "sync");
}

enum err
file_sync_many(const int *fds, size_t n, size_t *failed, struct why *w)
{
	return tell_fd(w, table->sync_many != NULL ?
	    table->sync_many(fds, n, failed) :
	    sync_each(table->sync, fds, n, failed), "sync");
}

enum err
file_size(int fd, uint64_t *size, struct why *w)
{
	return tell_fd(w, table->size(fd, size), "stat");
}

enum err
file_cut(int fd, uint64_t size, struct why *w)
{
	return tell_fd(w, table->cut(fd, size), "truncate");
}

enum err
file_allocate(int fd, uint64_t size, struct why *w)
{
	return tell_fd(w, table->allocate(fd, size), "allocate");
}

enum err
file_rename_new(const char *from, const char *to, struct why *w)
{
	return tell(w, table->rename_new(from, to), "rename to", to);
}

enum err
file_replace(const char *from, const char *to, struct why *w)
{
	return tell(w, table->replace(from, to), "rename to", to);
}

enum err
file_remove(const char *path, struct why *w)
{
	return tell(w, table->remove(path), "remove", path);
}

enum err
file_sync_dir(const char *path, struct why *w)
{
	return tell(w, table->sync_dir(path), "sync directory", path);
}

enum err
file_make_dir(const char *path, struct why *w)
{
	enum err e = table->make_dir(path);

	return e == ERR_EXISTS ? why(w, e, "%s is a file, not a directory",
	    path) : tell(w, e, "make directory", path);
}

enum err
file_list(const char *path, struct arena *a, struct str **names, size_t *n,
    struct why *w)
{
	return tell(w, table->list(path, a, names, n), "list", path);
}

enum err
file_free_bytes(const char *path, uint64_t *bytes, struct why *w)
{
	return tell(w, table->free_bytes(path, bytes), "look at", path);
}

/* The directory of a path: "." for a name alone.  Memory: `a`. */
static const char *
directory_of(const char *path, struct arena *a)
{
	size_t n = strlen(path);

	while (n > 0 && path[n - 1] != '/')
		n--;
	return n == 0 ? "." : arena_copy(a, (struct str){ path,
	    n > 1 ? n - 1 : 1 }).p;
}

static enum err
write_whole(const char *path, struct str bytes, struct why *w)
{
	int fd = -1;

	enum err e = file_open(path, FILE_CREATE, &fd, w);
	/* An earlier process may have left a longer one. */
	if (e == OK)
		e = tell(w, file_cut(fd, 0, NULL), "write", path);
	if (e == OK)
		e = tell(w, file_write(fd, 0, bytes.p, bytes.n, NULL),
		    "write", path);
	if (e == OK)
		e = tell(w, file_sync(fd, NULL), "sync", path);
	file_close(&fd);
	return e;
}

enum err
file_store(const char *path, struct str bytes, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *new = arena_printf(&a, "%s.new", path).p;

	enum err e = write_whole(new, bytes, w);
	if (e == OK)
		e = file_replace(new, path, w);
	return e == OK ? file_sync_dir(directory_of(path, &a), w) : e;
}

enum err
file_load(const char *path, size_t bytes_max, struct buf *out, struct why *w)
{
	int fd;
	uint64_t size;
	size_t got;

	enum err e = file_open(path, FILE_READ, &fd, w);
	if (e != OK)
		return e;
	e = file_size(fd, &size, w);
	if (e == OK && size > bytes_max)
		e = why(w, ERR_FULL, "%s is larger than %zu bytes", path,
		    bytes_max);
	if (e == OK) {
		char *p = buf_grow(out, (size_t)size);
		e = tell(w, file_read(fd, 0, p, (size_t)size, &got, NULL),
		    "read", path);
		out->n -= (size_t)size - (e == OK ? got : 0);
	}
	file_close(&fd);
	return e;
}

enum err
file_load_private(const char *path, size_t bytes_max, struct buf *out,
    struct why *w)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return why_errno(w, err_from_errno(errno), "cannot read %s",
		    path);
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return why(w, ERR_DENIED, "others than its owner may use %s "
		    "(mode %03o): chmod 600 it", path,
		    (unsigned)st.st_mode & 0777);
	return file_load(path, bytes_max, out, w);
}

enum err
file_lock_dir(const char *dir, int *fd, int64_t *holder, struct why *w)
{
	char path[PATH_MAX], pid[32] = "", own[32];

	if (snprintf(path, sizeof(path), "%s/lock", dir) >= PATH_MAX)
		return why(w, ERR_INPUT, "the path %s is too long", dir);
	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*fd < 0)
		return why_errno(w, err_from_errno(errno), "cannot open %s",
		    path);
	int n = snprintf(own, sizeof(own), "%ld\n", (long)getpid());
	enum err e = OK;
	if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
		if (ftruncate(*fd, 0) != 0 ||
		    pwrite(*fd, own, (size_t)n, 0) != n)
			e = why_errno(w, err_from_errno(errno),
			    "cannot write %s", path);
	} else if (errno == EWOULDBLOCK) {
		*holder = 0;
		if (pread(*fd, pid, sizeof(pid) - 1, 0) > 0)
			str_to_i64(str_trim(str_of(pid)), holder);
		e = why(w, ERR_BUSY, "%s is in use by process %lld", dir,
		    (long long)*holder);
	} else {
		e = why_errno(w, err_from_errno(errno), "cannot lock %s", path);
	}
	if (e != OK)
		file_close(fd);
	return e;
}

bool
file_in_use(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	/* The kernel grants a write lease to the only one that has it open. */
	bool used = fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) != 0 &&
	    errno == EAGAIN;
	if (fd >= 0 && !used)
		(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	if (fd >= 0)
		close(fd);
	return used;
}
