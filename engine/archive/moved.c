#include "engine/archive/moved.h"

#include "base/text.h"
#include "engine/archive/archive_port.h"
#include "os/file.h"

#define NOTE_MAX (MOVED_PLACE_MAX + 256u)
#define HEADING STR("argiope-moved 1")

/* --- places -------------------------------------------------------------- */

/* The part of a URL after "scheme://" (RFC 3986 section 3.1); "" if none. */
static struct str
after_scheme(struct str place)
{
	size_t n = str_find(place, STR("://"));

	if (n == 0 || n == place.n || !ascii_is_alpha(place.p[0]))
		return STR_NONE;
	for (size_t i = 0; i < n; i++) {
		char c = place.p[i];
		if (!ascii_is_alpha(c) && !ascii_is_digit(c) && c != '+' &&
		    c != '-' && c != '.')
			return STR_NONE;
	}
	return str_from(place, n + 3);
}

static bool
has_credentials(struct str rest)
{
	struct str authority = str_cut(rest, 0, str_find_char(rest, '/'));

	return str_find_char(authority, '@') < authority.n;
}

enum err
moved_place_check(struct str place, struct why *w)
{
	struct str rest = after_scheme(place);

	if (place.n > MOVED_PLACE_MAX)
		return why(w, ERR_INPUT, "a place has at most %u bytes",
		    MOVED_PLACE_MAX);
	if (text_has_control(place))
		return why(w, ERR_INPUT, "a place has no control characters");
	if (!(place.n > 1 && place.p[0] == '/') && rest.n == 0)
		return why(w, ERR_INPUT, "a place is an absolute path or a "
		    "URL");
	if (has_credentials(rest))
		return why(w, ERR_INPUT, "a place has no user name or "
		    "password");
	return OK;
}

/* --- the note ------------------------------------------------------------ */

static struct str
note_path(const char *path, struct arena *a)
{
	return arena_printf(a, "%s" MOVED_SUFFIX, path);
}

enum err
moved_write(const char *path, struct str place, uint64_t bytes,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str to = note_path(path, &a);

	buf_put_str(&b, HEADING);
	if (bytes != MOVED_BYTES_UNKNOWN)
		buf_printf(&b, "\nbytes %llu", (unsigned long long)bytes);
	buf_printf(&b, "\nplace %.*s\n", STR_FMT(place));
	enum err e = moved_place_check(place, w);
	return e == OK ? file_store(to.p, buf_str(&b), w) : e;
}

static bool
parse_note(struct str text, struct arena *a, struct moved *m)
{
	struct str line, key;
	bool fine = str_split(&text, '\n', &line) && str_eq(line, HEADING);

	m->bytes = MOVED_BYTES_UNKNOWN;
	while (fine && str_split(&text, '\n', &line)) {
		if (!str_split(&line, ' ', &key))
			continue;
		if (str_eq(key, STR("bytes")))
			fine = str_to_u64(line, &m->bytes);
		else if (str_eq(key, STR("place")))
			m->place = arena_copy(a, line);
	}
	return fine && moved_place_check(m->place, NULL) == OK;
}

static bool
has_length(const struct moved *m)
{
	uint64_t bytes = 0;
	int fd = -1;

	if (m->place.p[0] != '/' ||
	    file_open(m->place.p, FILE_READ, &fd, NULL) != OK)
		return false;
	bool same = file_size(fd, &bytes, NULL) == OK &&
	    (m->bytes == MOVED_BYTES_UNKNOWN || m->bytes == bytes);
	file_close(&fd);
	return same;
}

enum err
moved_read(const char *path, struct arena *a, struct moved *m,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str note = note_path(path, a);

	*m = (struct moved){ .place = STR_NONE };
	enum err e = file_load(note.p, NOTE_MAX, &b, w);
	if (e == OK && !parse_note(buf_str(&b), a, m))
		e = why(w, ERR_CORRUPT, "%s is damaged", note.p);
	if (e == OK)
		m->readable = has_length(m);
	return e;
}

enum err
moved_resolve(struct str path, struct arena *a, struct str *out,
    struct why *w)
{
	struct moved m;
	uint64_t size;

	*out = path;
	if (archive_probe(path.p, &size, NULL) != ERR_ABSENT ||
	    moved_read(path.p, a, &m, NULL) != OK)
		return OK;
	if (!m.readable)
		return why(w, ERR_ABSENT, "%.*s was moved to %.*s, where it "
		    "cannot be read", STR_FMT(path), STR_FMT(m.place));
	*out = m.place;
	return OK;
}
