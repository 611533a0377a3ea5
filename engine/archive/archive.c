#include "engine/archive/archive.h"

#include "os/file.h"

struct str
archive_name_make(struct str prefix, struct wall t, uint32_t serial,
    struct str token, struct arena *a)
{
	char digits[18];

	CHECK(token.n == ARCHIVE_TOKEN_CHARS);
	wall_to_digits(t, 17, digits);
	return arena_printf(a, "%.*s-%s-%05u-%.*s.warc.gz", STR_FMT(prefix),
	    digits, serial, STR_FMT(token));
}

/* The part of `*s` behind its last '-', which is cut off with the '-'. */
static bool
take_last(struct str *s, struct str *part)
{
	size_t at = s->n;

	while (at > 0 && s->p[at - 1] != '-')
		at--;
	if (at == 0)
		return false;
	*part = str_from(*s, at);
	*s = str_cut(*s, 0, at - 1);
	return true;
}

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]) &&
		    !(s.p[i] >= 'a' && s.p[i] <= 'z'))
			return false;
	return s.n == ARCHIVE_TOKEN_CHARS;
}

bool
archive_name_parse(struct str name, struct archive_name *out)
{
	struct str rest = name, serial;
	uint64_t number, time;

	memset(out, 0, sizeof(*out));
	out->zstd = str_ends(name, STR(".warc.zst"));
	if (!out->zstd && !str_ends(name, STR(".warc.gz")))
		return false;
	rest = str_cut(rest, 0, rest.n - (out->zstd ? 9 : 8));
	if (!take_last(&rest, &out->token) || !take_last(&rest, &serial) ||
	    !take_last(&rest, &out->digits))
		return false;
	out->prefix = rest;
	if (!is_token(out->token) || serial.n < 5 || serial.n > 9 ||
	    !str_to_u64(serial, &number) || out->digits.n != 17 ||
	    !str_to_u64(out->digits, &time) || rest.n == 0)
		return false;
	out->serial = (uint32_t)number;
	return true;
}

bool
archive_name_is_warc(struct str name)
{
	return name.n > 0 && name.p[0] != '.' &&
	    (str_ends(name, STR(".warc")) || str_ends(name, STR(".warc.gz")) ||
	    str_ends(name, STR(".warc.zst")));
}

struct str
archive_base_name(struct str path)
{
	size_t at = path.n;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	return str_from(path, at);
}

struct listing {
	struct arena *arena;
	struct archive_file *files;
	size_t n, cap;
};

static enum err
add_file(struct listing *l, const char *path, struct why *w)
{
	int fd;
	uint64_t size;

	if (l->n == ARCHIVE_FILES_MAX)
		return why(w, ERR_FULL, "more than %zu WARC files",
		    ARCHIVE_FILES_MAX);
	enum err err = file_open(path, FILE_READ, &fd, w);
	if (err != OK)
		return err;
	err = file_size(fd, &size, w);
	file_close(&fd);
	if (err != OK)
		return err;
	if (l->n == l->cap) {
		l->cap = l->cap == 0 ? 64 : 2 * l->cap;
		l->files = mem_resize(l->files, l->cap, sizeof(*l->files));
	}
	struct str kept = arena_copy(l->arena, str_of(path));
	l->files[l->n++] = (struct archive_file){ kept.p,
		archive_base_name(kept), size };
	return OK;
}

/* ABSENT: `path` is no directory. */
static enum err
add_dir(struct listing *l, const char *path, int depth, struct why *w)
{
	struct str *names;
	size_t n;
	enum err err = file_list(path, l->arena, &names, &n, NULL);

	if (err != OK)
		return err == ERR_ABSENT ? err : why(w, err,
		    "cannot list %s: %s", path, err_text(err));
	for (size_t i = 0; i < n && err == OK; i++) {
		if (names[i].p[0] == '.')
			continue;
		struct str full = arena_printf(l->arena, "%s/%.*s", path,
		    STR_FMT(names[i]));
		if (archive_name_is_warc(names[i]))
			err = add_file(l, full.p, w);
		else if (depth < ARCHIVE_DEPTH_MAX)
			err = add_dir(l, full.p, depth + 1, w);
		/* Other files, and what was renamed meanwhile. */
		if (err == ERR_ABSENT)
			err = OK;
	}
	return err;
}

static int
by_name(const void *a, const void *b)
{
	const struct archive_file *x = a, *y = b;
	int c = str_cmp(x->name, y->name);

	return c != 0 ? c : strcmp(x->path, y->path);
}

enum err
archive_list(const char *const *paths, size_t n, struct arena *a,
    struct archive_catalogue *out, struct why *w)
{
	struct listing l = { .arena = a };
	enum err err = OK;

	for (size_t i = 0; i < n && err == OK; i++) {
		err = add_dir(&l, paths[i], 0, w);
		if (err == ERR_ABSENT)
			err = add_file(&l, paths[i], w);
	}
	out->n = l.n;
	out->files = ARENA_ARRAY(a, struct archive_file, l.n);
	if (l.n > 0) {
		qsort(l.files, l.n, sizeof(*l.files), by_name);
		memcpy(out->files, l.files, l.n * sizeof(*l.files));
	}
	mem_free(&l.files);
	return err;
}

static enum err
source_read(void *arg, uint64_t at, void *p, size_t n, size_t *got)
{
	struct archive_source *s = arg;

	*got = 0;
	if (at >= s->size)
		return OK;
	return file_read(s->fd, at, p, (size_t)MIN(n, s->size - at), got,
	    NULL);
}

enum err
archive_source_open(const char *path, struct archive_source *s,
    struct why *w)
{
	enum err err = file_open(path, FILE_READ, &s->fd, w);

	if (err != OK)
		return err;
	s->source = (struct unpack_source){ source_read, s };
	err = file_size(s->fd, &s->size, w);
	if (err != OK)
		file_close(&s->fd);
	return err;
}

void
archive_source_close(struct archive_source *s)
{
	file_close(&s->fd);
}
