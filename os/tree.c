#include "os/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file.h"

static enum err
fail(struct why *w, const char *what, const char *path)
{
	return why_errno(w, err_from_errno(errno), "%s %s", what, path);
}

/* --- one file ----------------------------------------------------------- */

/*
 * Blocks are shared where the file system can do that; else the kernel copies
 * them.
 */
static enum err
copy_bytes(int in, int out, uint64_t left)
{
	bool shares = true;

	while (left > 0) {
		size_t room = MIN(left, (uint64_t)1 << 30);
		ssize_t n = shares ?
		    copy_file_range(in, NULL, out, NULL, room, 0) :
		    sendfile(out, in, NULL, room);
		if (n < 0 && shares && errno != EINTR && errno != ENOSPC &&
		    errno != EIO)
			shares = false;
		else if (n < 0 && errno != EINTR)
			return err_from_errno(errno);
		if (n == 0)
			break;
		left -= (uint64_t)MAX(n, 0);
	}
	return OK;
}

static enum err
copy_file(const char *from, const char *to, mode_t mode, uint64_t bytes_max,
    struct why *w)
{
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (in < 0)
		return fail(w, "cannot open", from);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	enum err e = out < 0 ? fail(w, "cannot make", to) : OK;
	if (e == OK) {
		e = copy_bytes(in, out, bytes_max);
		if (e != OK)
			why(w, e, "cannot copy %s to %s: %s", from, to,
			    err_text(e));
	}
	if (out >= 0 && close(out) != 0 && e == OK)
		e = fail(w, "cannot write", to);
	close(in);
	return e;
}

enum err
tree_copy(const char *from, const char *to, uint64_t bytes_max, struct why *w)
{
	return copy_file(from, to, 0600, bytes_max, w);
}

enum err
tree_link(const char *from, const char *to, struct why *w)
{
	if (linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0)
		return OK;
	if (errno == EXDEV || errno == EPERM || errno == EMLINK ||
	    errno == EOPNOTSUPP)
		return why(w, ERR_STATE, "%s cannot be linked to %s", from, to);
	return fail(w, "cannot link", from);
}

enum tree_kind
tree_kind(const char *path, uint64_t *bytes)
{
	struct stat s;

	if (lstat(path, &s) != 0)
		return TREE_ABSENT;
	if (bytes != NULL)
		*bytes = (uint64_t)s.st_size;
	return S_ISREG(s.st_mode) ? TREE_FILE : S_ISDIR(s.st_mode) ? TREE_DIR :
	    TREE_OTHER;
}

/* --- directories -------------------------------------------------------- */

struct walk {
	struct str root;
	enum err (*each)(void *, const char *, uint64_t, struct why *);
	void *arg;
	struct why *why;
};

static enum err walk_dir(const struct walk *, struct str below);

/* In two rounds: files that are being written get their names elsewhere. */
static enum err
walk_names(const struct walk *k, struct str below, const struct str *names,
    size_t n, bool dotted, struct arena *a)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < n; i++) {
		uint64_t bytes = 0;
		struct str path = arena_printf(a, "%.*s%s%.*s", STR_FMT(below),
		    below.n > 0 ? "/" : "", STR_FMT(names[i]));
		struct str whole = arena_printf(a, "%.*s/%.*s",
		    STR_FMT(k->root), STR_FMT(path));
		if ((names[i].p[0] == '.') != dotted)
			continue;
		enum tree_kind kind = tree_kind(whole.p, &bytes);
		if (kind == TREE_DIR)
			e = walk_dir(k, path);
		else if (kind == TREE_FILE)
			e = k->each(k->arg, path.p, bytes, k->why);
	}
	return e;
}

static enum err
walk_dir(const struct walk *k, struct str below)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n = 0;
	struct str dir = arena_printf(&a, "%.*s%s%.*s", STR_FMT(k->root),
	    below.n > 0 ? "/" : "", STR_FMT(below));

	enum err e = file_list(dir.p, &a, &names, &n, NULL);
	if (e == ERR_ABSENT)
		e = OK;
	else if (e != OK)
		why(k->why, e, "cannot read %s: %s", dir.p, err_text(e));
	if (e == OK)
		e = walk_names(k, below, names, n, true, &a);
	return e == OK ? walk_names(k, below, names, n, false, &a) : e;
}

enum err
tree_walk(const char *dir, enum err (*each)(void *, const char *, uint64_t,
    struct why *), void *arg, struct why *w)
{
	const struct walk k = { str_of(dir), each, arg, w };

	return walk_dir(&k, STR(""));
}

enum err
tree_remove(const char *dir, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n = 0;

	enum err e = file_list(dir, &a, &names, &n, NULL);
	for (size_t i = 0; e == OK && i < n; i++) {
		struct str path = arena_printf(&a, "%s/%.*s", dir,
		    STR_FMT(names[i]));
		if (tree_kind(path.p, NULL) == TREE_DIR)
			e = tree_remove(path.p, w);
		else if (unlink(path.p) != 0 && errno != ENOENT)
			e = fail(w, "cannot remove", path.p);
	}
	if (e == ERR_ABSENT)
		return OK;
	if (e == OK && rmdir(dir) != 0 && errno != ENOENT)
		e = fail(w, "cannot remove", dir);
	return e;
}

enum err
tree_exchange(const char *a, const char *b, struct why *w)
{
	if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
		return OK;
	if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
		return why(w, ERR_STATE, "%s and %s cannot be exchanged", a,
		    b);
	return fail(w, "cannot exchange", b);
}

/* The part of it that is there; what is not there yet leads nowhere. */
static int
open_beneath(int root, char *rest)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

	for (;;) {
		int fd = (int)syscall(SYS_openat2, root, rest[0] == '\0' ?
		    "." : rest, &how, sizeof(how));
		if (fd >= 0 || errno != ENOENT || rest[0] == '\0')
			return fd;
		char *last = strrchr(rest, '/');
		*(last == NULL ? rest : last) = '\0';
	}
}

enum err
tree_check_beneath(const char *root, const char *path, struct why *w)
{
	CHECK(str_starts(str_of(path), str_of(root)));
	int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return fail(w, "cannot open", root);
	const char *below = path + strlen(root);
	char *rest = mem_copy_text(below + (below[0] == '/'));
	int fd = open_beneath(top, rest);
	int error = errno;
	mem_free(&rest);
	close(top);
	if (fd >= 0) {
		close(fd);
		return OK;
	}
	if (error == EXDEV || error == ELOOP)
		return why(w, ERR_DENIED, "%s leads out of %s", path, root);
	if (error == ENOTDIR)
		return why(w, ERR_INPUT, "a part of %s is no directory",
		    path);
	return why_errno(w, err_from_errno(error), "cannot open %s", path);
}

/* A new file that has no name, or where that cannot be, one whose name goes at
 * once; a process that was killed in between has left its own. */
static int
open_new(const char *dir)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str path = arena_printf(&a, "%s/.mode-%ld", dir,
	    (long)getpid());
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);

	if (fd >= 0)
		return fd;
	(void)unlink(path.p);
	fd = open(path.p, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0)
		(void)unlink(path.p);
	return fd;
}

/*
 * The process's umask can only be read by setting it, which other threads
 * would notice; a new file shows it as well.
 */
static enum err
read_umask(const char *dir, mode_t *allowed, struct why *w)
{
	struct stat s;
	int fd = open_new(dir);

	if (fd < 0)
		return fail(w, "cannot make a file in", dir);
	enum err e = fstat(fd, &s) == 0 ? OK : fail(w, "cannot read the mode "
	    "of a file in", dir);
	close(fd);
	*allowed = s.st_mode & 0666;
	return e;
}

enum err
tree_share(const char *dir, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n = 0;
	mode_t allowed = 0;

	enum err e = read_umask(dir, &allowed, w);
	if (e == OK)
		e = file_list(dir, &a, &names, &n, w);
	for (size_t i = 0; e == OK && i < n; i++) {
		struct str path = arena_printf(&a, "%s/%.*s", dir,
		    STR_FMT(names[i]));
		if (tree_kind(path.p, NULL) == TREE_FILE &&
		    chmod(path.p, allowed) != 0)
			e = fail(w, "cannot change the mode of", path.p);
	}
	struct stat s = { .st_mode = 0 };
	if (e == OK && stat(dir, &s) != 0)
		e = fail(w, "cannot find", dir);
	/* Whoever may read the files may look them up. */
	if (e == OK && chmod(dir, allowed | (allowed & 0444) >> 2 |
	    (s.st_mode & S_ISGID)) != 0)
		e = fail(w, "cannot change the mode of", dir);
	return e;
}

static enum err
make_one(char *path, struct why *w)
{
	char *last = strrchr(path, '/');

	if (mkdir(path, 0777) != 0)
		return errno == EEXIST ? OK : fail(w, "cannot make", path);
	if (last == NULL)
		return file_sync_dir(".", w);
	*last = '\0';
	enum err e = file_sync_dir(last == path ? "/" : path, w);
	*last = '/';
	return e;
}

enum err
tree_make_dir(const char *dir, struct why *w)
{
	char *path = mem_copy_text(dir);
	enum err e = OK;

	for (char *p = path; e == OK && *p != '\0'; p++) {
		if (*p != '/' || p == path)
			continue;
		*p = '\0';
		e = make_one(path, w);
		*p = '/';
	}
	if (e == OK)
		e = make_one(path, w);
	if (e == OK && tree_kind(path, NULL) != TREE_DIR)
		e = why(w, ERR_EXISTS, "%s is there and is no directory", dir);
	mem_free(&path);
	return e;
}

/* The directory of a path, in `a`. */
static const char *
dir_of(const char *path, struct arena *a)
{
	const char *last = strrchr(path, '/');

	return last == NULL ? "." : last == path ? "/" : arena_copy(a,
	    (struct str){ path, (size_t)(last - path) }).p;
}

static enum err
sync_file(const char *path, struct why *w)
{
	int fd = -1;
	enum err e = file_open(path, FILE_READ, &fd, w);

	if (e == OK)
		e = file_sync(fd, w);
	file_close(&fd);
	return e;
}

/* A callback that sets the mode of a new file. */
struct mode_setter {
	enum err (*set)(void *arg, const char *path, struct why *);
	void *arg;
};

/* Below a hidden name first, so that no reader finds half of it. */
static enum err
copy_into_place(const char *from, const char *to, const struct mode_setter *m,
    struct arena *a, struct why *w)
{
	const char *dir = dir_of(to, a), *last = strrchr(to, '/');
	const char *part = arena_printf(a, "%s/.%s.part", dir, last == NULL ?
	    to : last + 1).p;

	if (unlink(part) != 0 && errno != ENOENT)
		return fail(w, "cannot remove", part);
	enum err e = copy_file(from, part, 0666, UINT64_MAX, w);
	if (e == OK)
		e = m->set(m->arg, part, w);
	if (e == OK)
		e = sync_file(part, w);
	if (e == OK)
		e = file_rename_new(part, to, w);
	if (e == OK)
		e = file_sync_dir(dir, w);
	return e == OK ? file_remove(from, w) : e;
}

enum err
tree_share_file(const char *path, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	mode_t mode = 0;
	enum err e = read_umask(dir_of(path, &a), &mode, w);

	return e == OK && chmod(path, mode) != 0 ? fail(w,
	    "cannot change the mode of", path) : e;
}

enum err
tree_move_as(const char *from, const char *to, enum err (*set)(void *,
    const char *, struct why *), void *arg, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct mode_setter m = { set, arg };
	const char *dir = dir_of(to, &a);
	struct stat own, other;
	enum err e = OK;

	if (lstat(from, &own) != 0)
		return fail(w, "cannot find", from);
	if (stat(dir, &other) != 0)
		return fail(w, "cannot find", dir);
	if (own.st_dev != other.st_dev)
		e = copy_into_place(from, to, &m, &a, w);
	else
		e = set(arg, from, w);
	if (e == OK && own.st_dev == other.st_dev)
		e = file_rename_new(from, to, w);
	if (e == OK)
		e = file_sync_dir(dir, w);
	return e == OK ? file_sync_dir(dir_of(from, &a), w) : e;
}

/* `arg` is the mode. */
static enum err
set_mode(void *arg, const char *path, struct why *w)
{
	return chmod(path, *(const mode_t *)arg) == 0 ? OK : fail(w,
	    "cannot change the mode of", path);
}

enum err
tree_move(const char *from, const char *to, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	mode_t mode = 0;
	enum err e = read_umask(dir_of(to, &a), &mode, w);

	return e == OK ? tree_move_as(from, to, set_mode, &mode, w) : e;
}

enum err
tree_sync(const char *dir, struct why *w)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail(w, "cannot open", dir);
	enum err e = syncfs(fd) == 0 ? OK : fail(w, "cannot sync", dir);
	close(fd);
	return e;
}
