/*
 * Shared directories on the files of os/file.h: names instead of descriptors,
 * no links, no modes, and nobody else who has them.
 */
#include "os/shared_dir.h"

#include "base/arena.h"
#include "os/file.h"

static const char *
path_of(const struct shared_dir *d, const char *name, struct arena *a)
{
	return arena_printf(a, "%s/%s", d->path, name).p;
}

static enum err
fake_open(const char *path, enum shared_dir_mode mode, struct shared_dir *d,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n;

	CHECK(snprintf(d->path, sizeof(d->path), "%s", path) <
	    SHARED_DIR_PATH_BYTES);
	return mode == SHARED_DIR_MAKE ? file_make_dir(path, w) :
	    file_list(path, &a, &names, &n, w);
}

static enum err
fake_read(const struct shared_dir *d, const char *name, int *fd,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	return file_open(path_of(d, name, &a), FILE_READ, fd, w);
}

static bool
fake_has(const struct shared_dir *d, const char *name)
{
	int fd = -1;
	enum err e = fake_read(d, name, &fd, NULL);

	file_close(&fd);
	return e != ERR_ABSENT;
}

static enum err
fake_write(const struct shared_dir *d, const char *name, struct str bytes,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *path = path_of(d, name, &a);
	int fd = -1;

	enum err e = file_remove(path, NULL);
	if (e != OK && e != ERR_ABSENT)
		return why(w, e, "cannot remove %s", path);
	e = file_open(path, FILE_NEW, &fd, w);
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
fake_take(const struct shared_dir *d, const char *from, const char *name,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *last = strrchr(from, '/');

	CHECK(last != NULL);
	enum err e = file_rename_new(from, path_of(d, name, &a), w);
	if (e == OK)
		e = file_sync_dir(d->path, w);
	return e == OK ? file_sync_dir(arena_copy(&a, str_cut(str_of(from), 0,
	    (size_t)(last - from))).p, w) : e;
}

/* There is no other process. */
static enum err
fake_lock(const struct shared_dir *d, const char *name, int *fd,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	return file_open(path_of(d, name, &a), FILE_CREATE, fd, w);
}

const struct shared_dir_table shared_dir_fake = {
	fake_open, fake_has, fake_read, fake_write, fake_take, fake_lock,
};
