#include "engine/archive/archive.h"

#include "engine/archive/archive_port.h"
#include "engine/archive/moved.h"
#include "wire/gzip.h"

#define WORK_DIR ".argiope"

struct listing {
	struct arena *arena;
	struct archive_catalogue *out;
	size_t files_cap, gone_cap;
	bool with_open;
};

static enum err
check_room(const struct archive_catalogue *c, struct why *w)
{
	return c->n + c->gone_n < ARCHIVE_FILES_MAX ? OK : why(w, ERR_FULL,
	    "more than %zu WARC files", ARCHIVE_FILES_MAX);
}

/* `moved_from`: as in struct archive_file; in the arena. */
static enum err
add_file(struct listing *l, const char *path, const char *moved_from,
    struct why *w)
{
	struct archive_catalogue *c = l->out;
	uint64_t size;

	if (check_room(c, w) != OK)
		return ERR_FULL;
	enum err err = archive_probe(path, &size, w);
	if (err != OK)
		return err;
	c->files = arena_grow(l->arena, c->files, c->n, &l->files_cap, 64,
	    sizeof(*c->files));
	struct str kept = arena_copy(l->arena, str_of(path));
	struct str name = archive_base_name(moved_from == NULL ? kept :
	    str_of(moved_from)), final = archive_final_name(name);
	c->files[c->n++] = (struct archive_file){ kept.p, final, size,
		final.n < name.n, moved_from };
	return OK;
}

/* ABSENT: `path`, which is not there, has no note of where it is. */
static enum err
add_moved(struct listing *l, const char *path, struct why *w)
{
	struct archive_catalogue *c = l->out;
	struct moved m;
	enum err err = moved_read(path, l->arena, &m, NULL);

	if (err == ERR_CORRUPT || err == ERR_FULL)
		m = (struct moved){ .place = STR("a place that its damaged "
		    "note does not tell") };
	else if (err != OK)
		return err;
	const char *from = arena_copy(l->arena, str_of(path)).p;
	if (m.readable)
		return add_file(l, m.place.p, from, w);
	if (check_room(c, w) != OK)
		return ERR_FULL;
	c->gone = arena_grow(l->arena, c->gone, c->gone_n, &l->gone_cap, 64,
	    sizeof(*c->gone));
	c->gone[c->gone_n++] = (struct archive_gone){ from, m.place.p };
	return OK;
}

/* The file as it is, or where a hook has moved it. */
static enum err
add_path(struct listing *l, const char *path, struct why *w)
{
	struct why own = WHY_INIT;
	enum err err = add_file(l, path, NULL, &own);

	if (err == ERR_ABSENT && add_moved(l, path, NULL) == OK)
		return OK;
	return err == OK ? OK : why(w, err, "%s", own.text);
}

/* "NAME.warc.gz.moved": its file, when that is not there any more. */
static enum err
add_noted(
    struct listing *l, const char *dir, struct str note, struct why *w)
{
	struct str path = arena_printf(l->arena, "%s/%.*s", dir,
	    STR_FMT(str_cut(note, 0, note.n - STR(MOVED_SUFFIX).n)));
	uint64_t size;
	enum err err = archive_probe(path.p, &size, NULL);

	return err == ERR_ABSENT ? add_moved(l, path.p, w) : OK;
}

static bool
is_note(struct str name)
{
	return str_ends(name, STR(MOVED_SUFFIX)) && archive_name_is_warc(
	    str_cut(name, 0, name.n - STR(MOVED_SUFFIX).n));
}

static bool
is_open_name(struct str name)
{
	struct str final = archive_final_name(name);

	return final.n < name.n && archive_name_is_warc(final);
}

/* DIR/.argiope/CRAWL/NAME.open; files come and go meanwhile. */
static enum err
add_open_files(struct listing *l, const char *dir, struct why *w)
{
	struct arena *a = l->arena;
	struct str *crawls, *names;
	size_t crawls_n = 0, n;
	const char *top = arena_printf(a, "%s/" WORK_DIR, dir).p;
	enum err err = archive_port()->list(top, a, &crawls, &crawls_n, NULL);

	if (err != OK)
		crawls_n = 0;
	err = OK;
	for (size_t i = 0; i < crawls_n && err == OK; i++) {
		const char *work = arena_printf(a, "%s/%.*s", top,
		    STR_FMT(crawls[i])).p;
		if (str_eq(crawls[i], STR("quarantine")) ||
		    archive_port()->list(work, a, &names, &n, NULL) != OK)
			continue;
		for (size_t k = 0; k < n && err == OK; k++) {
			if (is_open_name(names[k]))
				err = add_file(l, arena_printf(a, "%s/%.*s",
				    work, STR_FMT(names[k])).p, NULL, w);
			if (err == ERR_ABSENT)
				err = OK;
		}
	}
	return err;
}

/* ABSENT: `path` is no directory. */
static enum err
add_dir(struct listing *l, const char *path, int depth, struct why *w)
{
	struct str *names;
	size_t n;
	enum err err = archive_port()->list(path, l->arena, &names, &n, NULL);

	if (err != OK)
		return err == ERR_ABSENT ? err : why(w, err,
		    "cannot list %s: %s", path, err_text(err));
	if (l->with_open)
		err = add_open_files(l, path, w);
	for (size_t i = 0; i < n && err == OK; i++) {
		if (names[i].p[0] == '.')
			continue;
		struct str full = arena_printf(l->arena, "%s/%.*s", path,
		    STR_FMT(names[i]));
		if (archive_name_is_warc(names[i]))
			err = add_path(l, full.p, w);
		else if (is_note(names[i]))
			err = add_noted(l, path, names[i], w);
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

/*
 * One file listed as `a` and as `b`, where `a` gives way: it was open and has
 * got its name since, or a hook moved it, meanwhile or to a directory that is
 * listed too.
 */
static bool
gives_way(const struct archive_file *a, const struct archive_file *b)
{
	return str_eq(a->name, b->name) && (a->open ||
	    (b->moved_from != NULL && a->size == b->size &&
	    (a->moved_from == NULL || strcmp(a->path, b->path) == 0)));
}

static size_t
drop_listed_twice(struct archive_file *files, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool twice =
		    (kept > 0 && gives_way(&files[i], &files[kept - 1])) ||
		    (i + 1 < n && gives_way(&files[i], &files[i + 1]));
		if (!twice)
			files[kept++] = files[i];
	}
	return kept;
}

enum err
archive_list(const char *const *paths, size_t n, bool with_open,
    struct arena *a, struct archive_catalogue *out, struct why *w)
{
	struct listing l = { .arena = a, .out = out, .with_open = with_open };
	enum err err = OK;

	*out = (struct archive_catalogue){ 0 };
	for (size_t i = 0; i < n && err == OK; i++) {
		err = add_dir(&l, paths[i], 0, w);
		if (err == ERR_ABSENT)
			err = add_path(&l, paths[i], w);
	}
	if (out->n > 1)
		qsort(out->files, out->n, sizeof(*out->files), by_name);
	out->n = drop_listed_twice(out->files, out->n);
	return err;
}

static enum err
source_read(void *arg, uint64_t at, void *p, size_t n, size_t *got)
{
	struct archive_source *s = arg;

	*got = 0;
	if (at >= s->size)
		return OK;
	return archive_port()->read_at(s->fd, at, p,
	    (size_t)MIN(n, s->size - at), got, NULL);
}

enum err
archive_source_open(const char *path, struct archive_source *s,
    struct why *w)
{
	enum err err = archive_port()->open(path, &s->fd, w);

	if (err != OK)
		return err;
	s->source = (struct unpack_source){ source_read, s };
	err = archive_port()->size(s->fd, &s->size, w);
	if (err != OK)
		archive_port()->close(&s->fd);
	return err;
}

/*
 * Where the last whole member of a file ends, by the lengths that our members
 * state.  At what states none the file is believed to its end: damage.
 */
static uint64_t
whole_members_end(const struct archive_source *s)
{
	char bytes[GZIP_HEAD_BYTES];
	struct gzip_head h;
	uint64_t at = 0;
	size_t got;

	while (at < s->size) {
		if (archive_port()->read_at(s->fd, at, bytes, sizeof(bytes),
		    &got, NULL) != OK)
			return s->size;
		if (got < sizeof(bytes))
			return at;
		if (gzip_head_parse((struct str){ bytes, got }, &h) !=
		    GZIP_HEAD_OK || !h.has_lengths || h.lengths.clen == 0)
			return s->size;
		if (at + h.lengths.clen > s->size)
			return at;
		at += h.lengths.clen;
	}
	return at;
}

/* DIR/.argiope/CRAWL/NAME.open becomes DIR/NAME. */
const char *
archive_named_path(const struct archive_file *f, struct arena *a)
{
	struct str path = str_of(f->path);
	size_t at = str_find(path, STR("/" WORK_DIR "/"));

	return at == path.n ? f->path : arena_printf(a, "%.*s/%.*s",
	    STR_FMT(str_cut(path, 0, at)), STR_FMT(f->name)).p;
}

static enum err
open_named(const struct archive_file *f, struct archive_source *s,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	return archive_source_open(archive_named_path(f, &a), s, w);
}

enum err
archive_source_open_file(const struct archive_file *f,
    struct archive_source *s, struct why *w)
{
	if (!f->open)
		return archive_source_open(f->path, s, w);
	enum err err = archive_source_open(f->path, s, NULL);
	if (err == ERR_ABSENT)
		return open_named(f, s, w);
	if (err != OK)
		return why(w, err, "cannot open %s: %s", f->path,
		    err_text(err));
	s->size = whole_members_end(s);
	return OK;
}

void
archive_source_close(struct archive_source *s)
{
	archive_port()->close(&s->fd);
}
