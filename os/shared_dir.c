#include "os/shared_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "os/file.h"
#include "os/tree.h"

#define DIR_MODE 02775u
#define FILE_MODE 0664u
/* A rename by others beside it makes the kernel give up; it is asked again. */
#define RESOLVE_TRIES 32

static const struct shared_dir_table *table;

void
shared_dir_use(const struct shared_dir_table *t)
{
	table = t;
}

/* --- resolving ----------------------------------------------------------- */

static int
open_beneath(int top, const char *below, unsigned flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	int fd, tries = 0;

	do
		fd = (int)syscall(SYS_openat2, top, below[0] == '\0' ? "." :
		    below, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR ||
	    (errno == EAGAIN && ++tries < RESOLVE_TRIES)));
	return fd;
}

/* A volume that is read-only or not ours to write to may be mended; DENIED is a
 * path that never will be. */
static enum err
error_of(int error)
{
	enum err e = err_from_errno(error);

	return e == ERR_DENIED ? ERR_IO : e;
}

/* `path` is for people. */
static enum err
refuse(int error, const char *path, struct why *w)
{
	if (error == EXDEV || error == ELOOP)
		return why(w, ERR_DENIED, "%s leads out of its root", path);
	if (error == ENOTDIR)
		return why(w, ERR_INPUT, "a part of %s is no directory",
		    path);
	return why_errno(w, error_of(error), "cannot open %s", path);
}

static void
take_fd(struct shared_dir *d, const struct shared_root *root, int fd)
{
	*d = (struct shared_dir){ .root = *root, .fd = fd };
	snprintf(d->path, sizeof(d->path), "/proc/self/fd/%d", fd);
}

/* --- modes --------------------------------------------------------------- */

/* `st`: of the directory around it.  A mode that fits is left alone: setting
 * one takes the group's bit away where the group is not ours. */
static enum err
share(const char *path, const struct stat *st, mode_t mode, struct why *w)
{
	struct stat own;

	if (stat(path, &own) != 0)
		return why_errno(w, error_of(errno), "cannot find %s",
		    path);
	if (own.st_gid != st->st_gid && chown(path, (uid_t)-1,
	    st->st_gid) != 0 && errno != EPERM)
		return why_errno(w, error_of(errno), "cannot change "
		    "the group of %s", path);
	if (stat(path, &own) == 0 && (own.st_mode & 07777) == mode)
		return OK;
	return chmod(path, mode) == 0 ? OK : why_errno(w, error_of(
	    errno), "cannot change the mode of %s", path);
}

static enum err
share_file(const struct shared_dir *d, const char *path, struct why *w)
{
	struct stat st;

	if (d->root.path == NULL)
		return tree_share_file(path, w);
	if (fstat(d->fd, &st) != 0)
		return why_errno(w, error_of(errno), "cannot read a "
		    "directory");
	return share(path, &st, FILE_MODE & ~d->root.umask, w);
}

/* --- directories --------------------------------------------------------- */

/* The directory `name` in the directory `around`, whose name is synced. */
static enum err
make_in(int around, const char *name, unsigned umask, const char *path,
    struct why *w)
{
	char own[PATH_MAX], dir[32];
	struct stat st;

	snprintf(dir, sizeof(dir), "/proc/self/fd/%d", around);
	if (mkdirat(around, name, DIR_MODE & 0777 & ~umask) != 0)
		return errno == EEXIST ? OK : why_errno(w, error_of(
		    errno), "cannot make %s", path);
	if (fstat(around, &st) != 0 || snprintf(own, sizeof(own), "%s/%s",
	    dir, name) >= PATH_MAX)
		return why(w, ERR_IO, "cannot find what was made at %s",
		    path);
	enum err e = share(own, &st, DIR_MODE & ~umask, w);
	return e == OK ? file_sync_dir(dir, w) : e;
}

/* `part` ends with what is to be made; the directories before it are there. */
static enum err
make_part(const struct shared_dir *top, char *part, const char *path,
    struct why *w)
{
	char *last = strrchr(part, '/');
	char *name = last == NULL ? part : last + 1;

	if (last != NULL)
		*last = '\0';
	int around = last == NULL ? dup(top->fd) : open_beneath(top->fd, part,
	    O_PATH | O_DIRECTORY);
	int error = errno;
	if (last != NULL)
		*last = '/';
	if (around < 0)
		return refuse(error, path, w);
	enum err e = make_in(around, name, top->root.umask, path, w);
	close(around);
	return e;
}

/* Creates the missing directories of `below`, one at a time.  Each is resolved
 * from the root again, so a symbolic link on the way cannot lead out of it. */
static enum err
make_below(const struct shared_dir *top, const char *below, const char *path,
    struct why *w)
{
	char *part = mem_copy_text(below);
	enum err e = OK;

	for (char *p = part; e == OK; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		char end = *p;
		*p = '\0';
		int fd = open_beneath(top->fd, part, O_PATH | O_DIRECTORY);
		if (fd >= 0)
			close(fd);
		else
			e = errno == ENOENT ? make_part(top, part, path, w) :
			    refuse(errno, path, w);
		*p = end;
		if (end == '\0')
			break;
	}
	mem_free(&part);
	return e;
}

static enum err
open_below(const struct shared_dir *top, const char *below, const char *path,
    enum shared_dir_mode mode, struct shared_dir *d, struct why *w)
{
	while (*below == '/')
		below++;
	int fd = open_beneath(top->fd, below, O_PATH | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT && mode == SHARED_DIR_MAKE) {
		enum err e = make_below(top, below, path, w);
		if (e != OK)
			return e;
		fd = open_beneath(top->fd, below, O_PATH | O_DIRECTORY);
	}
	if (fd < 0 && errno == ENOENT && mode == SHARED_DIR_MAKE)
		return why(w, ERR_DENIED, "a link in %s leads nowhere", path);
	if (fd < 0)
		return refuse(errno, path, w);
	take_fd(d, &top->root, fd);
	return OK;
}

static enum err
open_any(const char *path, enum shared_dir_mode mode, struct shared_dir *d,
    struct why *w)
{
	const struct shared_root none = { NULL, 0 };
	enum err e = mode == SHARED_DIR_MAKE ? tree_make_dir(path, w) : OK;

	if (e != OK)
		return e;
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse(errno, path, w);
	take_fd(d, &none, fd);
	return OK;
}

enum err
shared_dir_open(const struct shared_root *root, const char *path,
    enum shared_dir_mode mode, struct shared_dir *d, struct why *w)
{
	struct shared_dir top;

	*d = (struct shared_dir)SHARED_DIR_INIT;
	if (table != NULL)
		return table->open(path, mode, d, w);
	if (root->path == NULL)
		return open_any(path, mode, d, w);
	CHECK(str_starts(str_of(path), str_of(root->path)));
	int fd = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return why_errno(w, ERR_UNREACHED, "cannot open %s",
		    root->path);
	take_fd(&top, root, fd);
	enum err e = open_below(&top, path + strlen(root->path), path, mode, d,
	    w);
	shared_dir_close(&top);
	return e;
}

enum err
shared_dir_below(const struct shared_dir *top, const char *below,
    enum shared_dir_mode mode, struct shared_dir *d, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	*d = (struct shared_dir)SHARED_DIR_INIT;
	const char *path = arena_printf(&a, "%s/%s", top->path, below).p;
	if (table != NULL)
		return table->open(path, mode, d, w);
	return top->root.path == NULL ? open_any(path, mode, d, w) :
	    open_below(top, below, below, mode, d, w);
}

void
shared_dir_close(struct shared_dir *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

/* --- files --------------------------------------------------------------- */

/* A FIFO that stands there would make open() wait without O_NONBLOCK. */
static int
open_file(const struct shared_dir *d, const char *name)
{
	unsigned flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

	return d->root.path == NULL ? openat(d->fd, name, (int)flags |
	    O_CLOEXEC) : open_beneath(d->fd, name, flags);
}

bool
shared_dir_has(const struct shared_dir *d, const char *name)
{
	struct stat st;

	return table != NULL ? table->has(d, name) : fstatat(d->fd, name, &st,
	    AT_SYMLINK_NOFOLLOW) == 0;
}

enum err
shared_dir_read(const struct shared_dir *d, const char *name, int *fd,
    struct why *w)
{
	struct stat st;

	if (table != NULL)
		return table->read(d, name, fd, w);
	*fd = open_file(d, name);
	if (*fd < 0)
		return refuse(errno, name, w);
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
		return OK;
	file_close(fd);
	return why(w, ERR_INPUT, "%s is no regular file", name);
}

enum err
shared_dir_load(const struct shared_dir *d, const char *name,
    size_t bytes_max, struct buf *out, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	int fd;

	enum err e = shared_dir_read(d, name, &fd, w);
	if (e != OK)
		return e;
	e = file_load((table != NULL ? arena_printf(&a, "%s/%s", d->path,
	    name) : arena_printf(&a, "/proc/self/fd/%d", fd)).p, bytes_max,
	    out, w);
	file_close(&fd);
	return e;
}

/* An empty file with its mode, which is written through os/file.h. */
static enum err
make_file(const struct shared_dir *d, const char *name, const char *path,
    struct why *w)
{
	if (unlinkat(d->fd, name, 0) != 0 && errno != ENOENT)
		return why_errno(w, error_of(errno), "cannot remove %s",
		    name);
	int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0666);
	if (fd < 0)
		return why_errno(w, error_of(errno), "cannot make %s",
		    name);
	close(fd);
	return share_file(d, path, w);
}

enum err
shared_dir_write(const struct shared_dir *d, const char *name,
    struct str bytes, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *path = arena_printf(&a, "%s/%s", d->path, name).p;
	int fd = -1;

	if (table != NULL)
		return table->write(d, name, bytes, w);
	enum err e = make_file(d, name, path, w);
	if (e == OK)
		e = file_open(path, FILE_WRITE, &fd, w);
	if (e != OK)
		return e;
	e = file_write(fd, 0, bytes.p, bytes.n, NULL);
	if (e == OK)
		e = file_sync(fd, NULL);
	file_close(&fd);
	return e == OK ? OK : why(w, e, "cannot write %s: %s", name,
	    err_text(e));
}

static enum err
set_mode(void *arg, const char *path, struct why *w)
{
	return share_file(arg, path, w);
}

enum err
shared_dir_take(const struct shared_dir *d, const char *from,
    const char *name, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct shared_dir copy = *d;
	const char *to = arena_printf(&a, "%s/%s", d->path, name).p;

	if (table != NULL)
		return table->take(d, from, name, w);
	return d->root.path == NULL ? tree_move(from, to, w) :
	    tree_move_as(from, to, set_mode, &copy, w);
}

enum err
shared_dir_lock(const struct shared_dir *d, const char *name, int *fd,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *path = arena_printf(&a, "%s/%s", d->path, name).p;

	if (table != NULL)
		return table->lock(d, name, fd, w);
	*fd = openat(d->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC, 0666);
	if (*fd < 0)
		return why_errno(w, error_of(errno), "cannot open %s",
		    name);
	struct stat st;
	enum err e = fstat(*fd, &st) == 0 && st.st_uid == geteuid() ?
	    share_file(d, path, w) : OK;
	if (e == OK && flock(*fd, LOCK_EX | LOCK_NB) != 0)
		e = errno == EWOULDBLOCK ? why(w, ERR_BUSY, "another process "
		    "has %s", name) : why_errno(w, error_of(errno),
		    "cannot lock %s", name);
	if (e != OK)
		file_close(fd);
	return e;
}
