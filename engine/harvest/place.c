#include "engine/harvest/place.h"

#include "engine/archive/archive.h"
#include "engine/archive/moved.h"
#include "os/clock.h"
#include "os/file.h"
#include "wire/digest.h"

#define READ_PIECE ((size_t)256 << 10)

/* --- collecting ------------------------------------------------------ */

/* Its SHA-1 in hex, and its size.  Memory: `a`. */
static enum err
digest_open_file(int fd, struct arena *a, struct str *sha1, uint64_t *bytes,
    struct why *w)
{
	FREED(digest_hasher_free) struct digest_hasher *h = digest_hasher_new();
	FREED(buf_free) struct buf hex = BUF_INIT;
	char *piece = mem_new(READ_PIECE);
	size_t got = 1;
	struct digest d;
	enum err e = OK;

	*bytes = 0;
	digest_start(h, DIGEST_SHA1);
	while (e == OK && got > 0) {
		e = file_read(fd, *bytes, piece, READ_PIECE, &got, w);
		if (e == OK)
			digest_add(h, (struct str){ piece, got });
		*bytes += e == OK ? got : 0;
	}
	digest_end(h, &d);
	digest_put_hex(&hex, d.bytes, digest_size(DIGEST_SHA1));
	*sha1 = arena_copy(a, buf_str(&hex));
	mem_free(&piece);
	return e;
}

static enum err
digest_file(const char *path, struct arena *a, struct str *sha1,
    uint64_t *bytes, struct why *w)
{
	int fd = -1;
	enum err e = file_open(path, FILE_READ, &fd, w);

	if (e == OK)
		e = digest_open_file(fd, a, sha1, bytes, w);
	file_close(&fd);
	return e;
}

/* A UUID of version 4 (RFC 9562 §5.4), as 32 hex digits. */
static struct str
new_id(struct arena *a)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	uint8_t bytes[16];

	clock_random(bytes, sizeof(bytes));
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	digest_put_hex(&hex, bytes, sizeof(bytes));
	return arena_copy(a, buf_str(&hex));
}

/* "20261120091816123" as a date. */
static bool
read_digits(struct str digits, struct wall *out)
{
	char iso[32];

	snprintf(iso, sizeof(iso), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2s.%.3sZ",
	    digits.p, digits.p + 4, digits.p + 6, digits.p + 8,
	    digits.p + 10, digits.p + 12, digits.p + 14);
	return wall_from_iso(str_of(iso), out);
}

enum err
place_describe(const char *file, struct arena *a,
    struct store_harvest_warc *f, struct why *w)
{
	const char *last = strrchr(file, '/');
	struct archive_name parsed;

	*f = (struct store_harvest_warc){ .name = arena_copy(a, str_of(
	    last == NULL ? file : last + 1)) };
	if (!archive_name_parse(f->name, &parsed) ||
	    !read_digits(parsed.digits, &f->created))
		return why(w, ERR_INPUT, "%s is no name of ours", file);
	f->warc_id = new_id(a);
	return digest_file(file, a, &f->sha1, &f->bytes, w);
}

static bool
is_known(struct str name, const struct store_harvest_warc *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i].name, name))
			return true;
	return false;
}

enum err
place_collect(const char *dir, struct arena *a,
    struct store_harvest_warc **list, size_t known_n, size_t *n,
    struct why *w)
{
	struct archive_name parsed;
	struct str *names;
	size_t names_n = 0, cap = known_n;
	enum err e = OK;

	*n = known_n;
	e = file_list(dir, a, &names, &names_n, NULL);
	if (e != OK)
		return e == ERR_ABSENT ? OK : why(w, e, "cannot list %s", dir);
	for (size_t i = 0; i < names_n && e == OK; i++) {
		struct store_harvest_warc f = { .name = names[i] };
		if (!archive_name_parse(names[i], &parsed) ||
		    !read_digits(parsed.digits, &f.created) ||
		    is_known(names[i], *list, known_n))
			continue;
		e = digest_file(arena_printf(a, "%s/%.*s", dir,
		    STR_FMT(names[i])).p, a, &f.sha1, &f.bytes, w);
		f.warc_id = new_id(a);
		*list = arena_grow(a, *list, *n, &cap, known_n + 8,
		    sizeof(**list));
		(*list)[(*n)++] = f;
	}
	return e;
}

/* --- placing --------------------------------------------------------- */

static struct str
hour_of(const struct store_harvest_warc *f, struct arena *a)
{
	char d[18];

	wall_to_digits(f->created, 17, d);
	return arena_printf(a, "%.4s/%.2s/%.2s/%.2s", d, d + 4, d + 6, d + 8);
}

struct str
place_path(const char *path, const struct store_harvest_warc *f,
    struct arena *a)
{
	return arena_printf(a, "%s/%.*s/%.*s", path, STR_FMT(hour_of(f, a)),
	    STR_FMT(f->name));
}

/* Whether what has the file's name in `hour` is the file; ABSENT when nothing
 * has it. */
static enum err
compare(const struct shared_dir *hour, const struct store_harvest_warc *f,
    struct arena *a, struct why *w)
{
	const char *name = arena_copy(a, f->name).p;
	struct why inner = WHY_INIT;
	struct str sha1;
	uint64_t bytes;
	int fd;

	/* A name that leads elsewhere stands in the way, too. */
	if (!shared_dir_has(hour, name))
		return ERR_ABSENT;
	enum err e = shared_dir_read(hour, name, &fd, &inner);
	if (e == OK)
		e = file_size(fd, &bytes, w);
	bool same = e == OK && bytes == f->bytes;
	if (same)
		e = digest_open_file(fd, a, &sha1, &bytes, w);
	file_close(&fd);
	if (e == ERR_IO)
		return why(w, e, "%s", inner.text);
	return same && e == OK && str_eq(sha1, f->sha1) ? OK : why(w,
	    ERR_EXISTS, "%s is there and is another file", name);
}

/* An earlier call came so far; its names may not be on the disk yet. */
static enum err
complete(const char *from, const char *to_dir, const char *dir, struct why *w)
{
	enum err e = file_remove(from, NULL);

	if (e != OK && e != ERR_ABSENT)
		return why(w, e, "cannot remove %s", from);
	e = file_sync_dir(to_dir, w);
	return e == OK ? file_sync_dir(dir, w) : e;
}

static enum err
place_in(const char *dir, const struct shared_dir *hour,
    const struct store_harvest_warc *f, struct str place, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str from = arena_printf(&a, "%s/%.*s", dir, STR_FMT(f->name));

	/* It counts as soon as the file has gone from its own place. */
	enum err e = moved_write(from.p, place, f->bytes, w);
	if (e != OK)
		return e;
	e = compare(hour, f, &a, w);
	if (e == ERR_ABSENT)
		return shared_dir_take(hour, from.p, arena_copy(&a,
		    f->name).p, w);
	return e == OK ? complete(from.p, hour->path, dir, w) : e;
}

enum err
place_file(const char *dir, const struct shared_dir *to, const char *path,
    const struct store_harvest_warc *f, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct shared_dir hour;

	enum err e = shared_dir_below(to, hour_of(f, &a).p, SHARED_DIR_MAKE,
	    &hour, w);
	if (e == OK)
		e = place_in(dir, &hour, f, place_path(path, f, &a), w);
	shared_dir_close(&hour);
	return e;
}
