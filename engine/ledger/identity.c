#include "engine/ledger/identity.h"

#include "base/hash.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/system.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define VERSION 1

/* --- lines ----------------------------------------------------- */

/* "KEY VALUE\n"; a path may hold any byte but a newline, which ends in %0A. */
static void
put_line(struct buf *b, const char *key, struct str value)
{
	buf_printf(b, "%s ", key);
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] == '\n' || value.p[i] == '%')
			buf_printf(b, "%%%02X", (unsigned)value.p[i]);
		else
			buf_put_char(b, value.p[i]);
	buf_put_char(b, '\n');
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static struct str
read_value(struct str in, struct arena *a)
{
	char *p = arena_bytes(a, in.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < in.n; i++)
		if (in.p[i] == '%' && i + 2 < in.n &&
		    hex_digit(in.p[i + 1]) >= 0 &&
		    hex_digit(in.p[i + 2]) >= 0) {
			p[n++] = (char)(hex_digit(in.p[i + 1]) << 4 |
			    hex_digit(in.p[i + 2]));
			i += 2;
		} else {
			p[n++] = in.p[i];
		}
	p[n] = '\0';
	return (struct str){ p, n };
}

static bool
next_line(struct str *in, struct str *key, struct str *value)
{
	if (in->n == 0)
		return false;
	size_t end = str_find_char(*in, '\n');
	struct str line = str_cut(*in, 0, end);
	size_t space = str_find_char(line, ' ');
	*key = str_cut(line, 0, space);
	*value = space < line.n ? str_from(line, space + 1) : STR_NONE;
	*in = str_from(*in, MIN(end + 1, in->n));
	return true;
}

static bool
read_id(struct str value, char id[IDENTITY_ID_MAX])
{
	if (value.n != IDENTITY_ID_MAX - 1)
		return false;
	memcpy(id, value.p, value.n);
	id[value.n] = '\0';
	return true;
}

static void
put_position(struct buf *b, const char *key, struct position p)
{
	buf_printf(b, "%s %llu %llu\n", key, (unsigned long long)p.group,
	    (unsigned long long)p.start);
}

static bool
read_position(struct str value, struct position *p)
{
	size_t space = str_find_char(value, ' ');

	return space < value.n &&
	    str_to_u64(str_cut(value, 0, space), &p->group) &&
	    str_to_u64(str_from(value, space + 1), &p->start);
}

/* --- files ----------------------------------------------------- */

/*
 * argiope-KIND 1
 * ...
 * crc32c XXXXXXXX
 */
static enum err
load(const char *path, const char *kind, struct arena *a, struct str *lines,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str head, version, key, value;
	uint64_t number;
	char crc[9];

	enum err e = file_load(path, FILE_BYTES_MAX, &b, w);
	if (e != OK)
		return e;
	*lines = arena_copy(a, buf_str(&b));
	struct str all = *lines;
	if (!next_line(lines, &head, &version) ||
	    !str_eq(head, str_of(kind)) || !str_to_u64(version, &number))
		return why(w, ERR_CORRUPT, "%s is damaged", path);
	if (number > VERSION)
		return why(w, ERR_NEWER, "%s was written by a newer version "
		    "of argiope; use that version", path);
	size_t end = all.n < 16 ? 0 : all.n - 16;
	struct str last = str_from(all, end);
	snprintf(crc, sizeof(crc), "%08x", crc32c_of(str_cut(all, 0, end), 0));
	if (!next_line(&last, &key, &value) || !str_eq(key, STR("crc32c")) ||
	    !str_eq(value, str_of(crc)))
		return why(w, ERR_CORRUPT, "%s is damaged", path);
	lines->n = (size_t)(all.p + end - lines->p);
	return OK;
}

static enum err
store(const char *dir, const char *name, struct buf *b, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	buf_printf(b, "crc32c %08x\n", crc32c_of(buf_str(b), 0));
	enum err e = file_make_dir(dir, w);
	return e == OK ? file_store(arena_printf(&a, "%s/%s", dir, name).p,
	    buf_str(b), w) : e;
}

/* --- the data directory ---------------------------------------- */

enum err
identity_read(const char *data_dir, struct arena *a, struct identity *out,
    struct why *w)
{
	const char *path = arena_printf(a, "%s/identity", data_dir).p;
	struct str lines, key, value;

	*out = (struct identity){ .place = STR_NONE };
	enum err e = load(path, "argiope-data", a, &lines, w);
	if (e != OK)
		return e;
	size_t cap = lines.n / 8 + 1;
	out->archives = ARENA_ARRAY(a, struct str, cap);
	while (next_line(&lines, &key, &value))
		if (str_eq(key, STR("id")))
			(void)!read_id(value, out->id);
		else if (str_eq(key, STR("place")))
			out->place = read_value(value, a);
		else if (str_eq(key, STR("archive")) && out->archives_n < cap)
			out->archives[out->archives_n++] = read_value(value,
			    a);
	return out->id[0] != '\0' ? OK : why(w, ERR_CORRUPT, "%s is damaged",
	    path);
}

enum err
identity_write(const char *data_dir, const struct identity *in, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_printf(&b, "argiope-data %d\n", VERSION);
	put_line(&b, "id", str_of(in->id));
	put_line(&b, "place", in->place);
	for (size_t i = 0; i < in->archives_n; i++)
		put_line(&b, "archive", in->archives[i]);
	return store(data_dir, "identity", &b, w);
}

enum err
identity_advise(const char *home, const struct why *own, enum err e,
    struct why *w)
{
	if (e != ERR_CORRUPT)
		return e == OK ? OK : why(w, e, "%s", own->text);
	/* The command first: what is too long is cut at its end. */
	return why(w, e, "the data directory cannot be used as it is; run `"
	    IDENTITY_REBUILD " --data %s`, which loses no capture: %s", home,
	    own->text);
}

void
identity_make_id(char id[IDENTITY_ID_MAX])
{
	unsigned char random[(IDENTITY_ID_MAX - 1) / 2];

	clock_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(id + 2 * i, 3, "%02x", random[i]);
}

enum err
identity_adopt(const char *data_dir, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct identity x;
	struct why inner = WHY_INIT;

	enum err e = identity_read(data_dir, &a, &x, &inner);
	if (e != OK)
		return e == ERR_ABSENT ? OK : why(w, e, "%s", inner.text);
	x.place = str_of(data_dir);
	return identity_write(data_dir, &x, w);
}

/* The lock file holds the pid of the process that has the directory open. */
static bool
is_locked_by_us(struct str place, struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	uint64_t pid;

	return file_load(arena_printf(a, "%.*s/lock", STR_FMT(place)).p, 100,
	    &b, NULL) == OK && str_to_u64(str_trim(buf_str(&b)), &pid) &&
	    (int64_t)pid == system_pid();
}

bool
identity_is_at(struct str place, const char *id, const char *home)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct identity x;
	struct str *names;
	size_t n;

	const char *dir = arena_copy(&a, place).p;
	return place.n > 0 && !str_eq(place, str_of(home)) && identity_read(dir,
	    &a, &x, NULL) == OK && strcmp(x.id, id) == 0 &&
	    file_list(arena_printf(&a, "%s/index", dir).p, &a, &names, &n, NULL)
	    == OK && n > 0 && !is_locked_by_us(place, &a);
}

/* --- owners ---------------------------------------------------- */

enum err
owner_read(const char *root, struct arena *a, struct owner *out,
    struct why *w)
{
	const char *path = arena_printf(a, "%s/.argiope/owner", root).p;
	struct str lines, key, value;
	bool fine = true;

	*out = (struct owner){ .place = STR_NONE };
	enum err e = load(path, "argiope-archive", a, &lines, w);
	if (e != OK)
		return e;
	while (next_line(&lines, &key, &value))
		if (str_eq(key, STR("id")))
			fine &= read_id(value, out->id);
		else if (str_eq(key, STR("place")))
			out->place = read_value(value, a);
		else if (str_eq(key, STR("now")))
			fine &= read_position(value, &out->now);
		else if (str_eq(key, STR("before")))
			fine &= read_position(value, &out->before);
	return fine && out->id[0] != '\0' ? OK : why(w, ERR_CORRUPT,
	    "%s is damaged", path);
}

enum err
owner_write(const char *root, const struct owner *in, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_printf(&b, "argiope-archive %d\n", VERSION);
	put_line(&b, "id", str_of(in->id));
	put_line(&b, "place", in->place);
	put_position(&b, "now", in->now);
	put_position(&b, "before", in->before);
	return store(arena_printf(&a, "%s/.argiope", root).p, "owner", &b, w);
}

/* --- paths ----------------------------------------------------- */

/* The part of `path` behind "home/"; false: it does not lie in it. */
static bool
is_inside(const char *home, struct str path, struct str *rest)
{
	struct str h = str_of(home);

	if (!str_starts(path, h) || path.n < h.n + 2 || path.p[h.n] != '/')
		return false;
	*rest = str_from(path, h.n + 1);
	return true;
}

struct str
paths_store(const struct stored_paths *x, struct str path, struct arena *a)
{
	struct str rest;

	return is_inside(x->home, path, &rest) ? arena_printf(a, "./%.*s",
	    STR_FMT(rest)) : path;
}

struct str
paths_resolve(const struct stored_paths *x, struct str stored, struct arena *a)
{
	struct str rest;

	if (str_starts(stored, STR("./")))
		return arena_printf(a, "%s/%.*s", x->home,
		    STR_FMT(str_from(stored, 2)));
	if (x->origin[0] != '\0' && is_inside(x->origin, stored, &rest))
		return arena_printf(a, "%s/%.*s", x->home, STR_FMT(rest));
	return stored;
}

struct str
paths_collection(const struct stored_paths *x, struct str warc_dir,
    struct arena *a)
{
	struct str rest;

	if (x->origin[0] != '\0' && is_inside(x->home, warc_dir, &rest))
		return arena_printf(a, "%s/%.*s", x->origin, STR_FMT(rest));
	return paths_store(x, warc_dir, a);
}

struct str
paths_root(const struct stored_paths *x, struct str warc_dir, struct arena *a)
{
	struct str rest;

	return is_inside(x->home, warc_dir, &rest) &&
	    (str_eq(rest, STR("archive")) ||
	    str_starts(rest, STR("archive/"))) ?
	    arena_printf(a, "%s/archive", x->home) : warc_dir;
}
