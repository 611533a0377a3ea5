/* The archive port over files in directories. */
#include "engine/archive/archive_name.h"
#include "engine/archive/archive_port.h"
#include "os/file.h"

static const struct archive_port *in_use = &archive_dir;

const struct archive_port *
archive_port(void)
{
	return in_use;
}

void
archive_port_use(const struct archive_port *port)
{
	in_use = port;
}

static struct str
parent(struct arena *a, struct str path)
{
	return arena_copy(a, archive_dir_name(path));
}

static enum err
dir_open(const char *path, int *fd, struct why *w)
{
	return file_open(path, FILE_READ, fd, w);
}

static enum err
dir_scratch(const char *path, int *fd, struct why *w)
{
	enum err e = file_open(path, FILE_CREATE, fd, w);

	if (e == OK)
		e = file_cut(*fd, 0, w);
	if (e != OK)
		file_close(fd);
	return e;
}

static enum err
dir_reopen(const char *path, int *fd, struct why *w)
{
	return file_open(path, FILE_WRITE, fd, w);
}

static enum err
dir_create(const char *path, int *fd, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str dir = parent(&a, str_of(path));
	enum err e = OK;

	if (*fd < 0) {
		e = file_make_dir(dir.p, w);
		if (e == OK)
			e = file_open(path, FILE_CREATE, fd, w);
	}
	/* The name must be on the disk before anything depends on it, and so
	 * must those of the directories: <dir>/.argiope/<series>. */
	for (int up = 0; up < 3 && e == OK && dir.n > 0; up++) {
		e = file_sync_dir(dir.p, w);
		dir = parent(&a, dir);
	}
	return e;
}

static enum err
dir_cut(int fd, uint64_t end, struct why *w)
{
	enum err e = file_cut(fd, end, w);

	return e == OK ? file_sync(fd, w) : e;
}

static enum err
dir_place(const char *path, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	return file_sync_dir(parent(&a, str_of(path)).p, w);
}

static enum err
dir_rename(const char *from, const char *to, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	enum err e = file_make_dir(parent(&a, str_of(to)).p, w);

	return e == OK ? file_rename_new(from, to, w) : e;
}

static enum err
dir_finish(int fd, uint64_t end, const char *from, const char *to,
    struct why *w)
{
	enum err e = dir_cut(fd, end, w);

	if (e == OK)
		e = dir_rename(from, to, w);
	if (e == OK)
		e = dir_place(to, w);
	return e == OK ? dir_place(from, w) : e;
}

const struct archive_port archive_dir = {
	.open = dir_open, .read_at = file_read, .size = file_size,
	.close = file_close, .in_use = file_in_use, .list = file_list,
	.create = dir_create, .scratch = dir_scratch, .reopen = dir_reopen,
	.append = file_write, .sync = file_sync_many, .cut = dir_cut,
	.finish = dir_finish, .place = dir_place, .rename = dir_rename,
	.replace = file_replace, .remove = file_remove,
	.free_bytes = file_free_bytes,
};

enum err
archive_probe(const char *path, uint64_t *size, struct why *w)
{
	int h = -1;
	enum err e = archive_port()->open(path, &h, w);

	if (e == OK)
		e = archive_port()->size(h, size, w);
	archive_port()->close(&h);
	return e;
}

enum err
archive_load(const char *path, size_t bytes_max, struct buf *out,
    struct why *w)
{
	uint64_t size;
	size_t got = 0;
	int h = -1;
	enum err e = archive_port()->open(path, &h, w);

	if (e == OK)
		e = archive_port()->size(h, &size, w);
	if (e == OK && size > bytes_max)
		e = why(w, ERR_FULL, "%s is larger than %zu bytes", path,
		    bytes_max);
	if (e == OK) {
		buf_reserve(out, (size_t)size);
		e = archive_port()->read_at(h, 0, out->p + out->n,
		    (size_t)size, &got, w);
		out->n += e == OK ? got : 0;
	}
	archive_port()->close(&h);
	return e;
}
