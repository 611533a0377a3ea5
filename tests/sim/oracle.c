#include "tests/sim/oracle.h"

#include "engine/archive/archive_port.h"
#include "engine/archive/check.h"
#include "engine/harvest/place.h"
#include "engine/harvest/state_file.h"
#include "engine/harvest/totals.h"
#include "os/file.h"
#include "tests/sim/world.h"
#include "wire/warc_read.h"

#define FILE_BYTES_MAX ((size_t)64 << 20)
#define ITEM STR("\"uri\":\"")

/* What is in some files. */
struct found {
	unsigned char seen[PLATFORM_LISTS][PLATFORM_ITEMS_MAX];
	uint64_t items, answers;
	bool repeated, damaged;
};

static bool
wrong(const char *text, const char *of)
{
	printf("sim: %s: %s\n", of, text);
	return false;
}

/* --- files --------------------------------------------------------------- */

static void
find_items(struct str block, struct found *f)
{
	unsigned host, list, item;

	for (size_t at; (at = str_find(block, ITEM)) < block.n;) {
		block = str_from(block, at + ITEM.n);
		if (!platform_item(str_cut(block, 0, str_find_char(block,
		    '"')), &host, &list, &item))
			continue;
		f->items++;
		f->repeated |= f->seen[list - 1][item - PLATFORM_FIRST]++ > 0;
	}
}

static void
read_block(struct warc_reader *r, struct found *f)
{
	FREED(buf_free) struct buf block = BUF_INIT;
	struct str part;

	f->answers++;
	while (warc_read_block(r, &part))
		buf_put_str(&block, part);
	find_items(buf_str(&block), f);
}

static void
read_file(const char *path, struct found *f)
{
	struct archive_source source;
	struct warc_entry entry;
	struct warc_damage d;
	enum warc_found what;

	if (archive_source_open(path, &source, NULL) != OK) {
		f->damaged = true;
		return;
	}
	FREED(warc_reader_free) struct warc_reader *r = warc_reader_new(
	    source.source, WARC_READ_LIMITS_DEFAULT);
	while ((what = warc_read_next(r, &entry, &d)) != WARC_FOUND_END) {
		f->damaged |= what == WARC_FOUND_DAMAGE;
		if (what == WARC_FOUND_RECORD && entry.type == WARC_RESPONSE)
			read_block(r, f);
	}
	archive_source_close(&source);
}

/* The WARC files below a directory, by name. */
static struct archive_catalogue
find_files(const char *dir, struct arena *a)
{
	struct archive_catalogue c;
	struct why w = WHY_INIT;

	sim_must(archive_list(&dir, 1, false, a, &c, &w), &w);
	return c;
}

/* --- a row of the store --------------------------------------------------- */

static bool
check_file(const struct store_harvest *row, const char *data_dir,
    const struct store_harvest_warc *f, struct found *found, struct arena *a)
{
	const char *place = place_path(row->path.p, f, a).p;
	char *safe = arena_bytes(a, row->id.n + 1);
	struct store_harvest_warc is;
	struct why w = WHY_INIT;
	uint64_t size;

	for (size_t i = 0; i < row->id.n; i++)
		safe[i] = ascii_is_digit(row->id.p[i]) || ascii_is_alpha(
		    row->id.p[i]) ? row->id.p[i] : '_';
	safe[row->id.n] = '\0';
	const char *staged = arena_printf(a, "%s/harvest/%s/%.*s", data_dir,
	    safe, STR_FMT(f->name)).p;
	const char *path = f->placed || archive_probe(staged, &size, NULL) !=
	    OK ? place : staged;
	if (place_describe(path, a, &is, &w) != OK)
		return wrong(w.text, path);
	if (is.bytes != f->bytes || !str_eq(is.sha1, f->sha1))
		return wrong("it is not as the store notes it", path);
	read_file(path, found);
	return true;
}

static bool
check_totals(const struct store_harvest *row, const struct found *f)
{
	struct totals t = { 0 };
	struct why w = WHY_INIT;
	char text[120];

	enum err e = row->totals.n == 0 ? OK : totals_read(&t, row->totals,
	    &w);
	snprintf(text, sizeof(text), "%llu items and %llu answers are noted, "
	    "%llu and %llu are in its files", (unsigned long long)t.items,
	    (unsigned long long)row->captures, (unsigned long long)f->items,
	    (unsigned long long)f->answers);
	bool fine = e == OK && t.items == f->items &&
	    row->captures == f->answers;
	totals_free(&t);
	if (f->damaged)
		return wrong("a file is damaged", row->id.p);
	if (f->repeated)
		return wrong("an item is there twice", row->id.p);
	return fine || wrong(e == OK ? text : w.text, row->id.p);
}

bool
oracle_row(struct store *st, struct str id, const char *data_dir,
    struct store_harvest *row, struct arena *a)
{
	struct store_harvest_warc *files;
	struct found *f = ARENA_NEW(a, struct found);
	struct why w = WHY_INIT;
	size_t n;

	enum err e = store_harvest_get(st, id, a, row, &w);
	if (e == OK)
		e = store_harvest_warcs(st, id, a, &files, &n, &w);
	if (e != OK)
		return wrong(w.text, id.p);
	row->id = arena_copy(a, row->id);
	row->path = arena_copy(a, row->path);
	for (size_t i = 0; i < n; i++)
		if (!check_file(row, data_dir, &files[i], f, a))
			return false;
	return check_totals(row, f);
}

/* --- a directory ---------------------------------------------------------- */

static struct found *
find_all(const char *path, struct arena *a)
{
	struct found *f = ARENA_NEW(a, struct found);
	const struct archive_catalogue c = find_files(path, a);

	for (size_t i = 0; i < c.n; i++)
		read_file(c.files[i].path, f);
	return f;
}

/* Whether the files have all items of a list up to this one. */
static bool
has_up_to(const struct found *f, unsigned list, uint64_t last)
{
	for (uint64_t i = PLATFORM_FIRST; i <= last; i++)
		if (i - PLATFORM_FIRST >= PLATFORM_ITEMS_MAX ||
		    f->seen[list - 1][i - PLATFORM_FIRST] == 0)
			return false;
	return true;
}

bool
oracle_dir(unsigned host, const char *path)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct shared_root none = { NULL, 0 };
	struct connector_state *s = NULL;
	struct shared_dir dir;
	struct why w = WHY_INIT;
	unsigned of, list;
	uint64_t last;
	size_t n = 0;

	enum err e = shared_dir_open(&none, path, SHARED_DIR_LOOK, &dir, &w);
	if (e == ERR_ABSENT)
		return true;
	const struct found *f = find_all(path, &a);
	if (f->damaged)
		return wrong("a file is damaged", path);
	if (e == OK)
		e = state_file_read(&dir, &a, &s, &n, &w);
	if (e != OK)
		return wrong(w.text, path);
	for (size_t i = 0; i < n; i++) {
		if (!platform_key(s[i].key, &of, &list) || of != host ||
		    !str_to_u64(s[i].value, &last))
			return wrong("a key that nobody has put", s[i].key.p);
		if (!has_up_to(f, list, last))
			return wrong("the state is ahead of the files",
			    s[i].key.p);
	}
	return true;
}

bool
oracle_complete(unsigned host, const char *path)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct found *f = find_all(path, &a);

	for (unsigned list = 1; list <= PLATFORM_LISTS; list++)
		if (!has_up_to(f, list, PLATFORM_FIRST - 1 +
		    platform_items(host)))
			return wrong("items are missing", path);
	return true;
}

/* --- all of it ------------------------------------------------------------ */

static void
told(void *arg, const struct archive_finding *f)
{
	(void)arg;
	printf("sim: %s at %llu: %s %s\n", f->path,
	    (unsigned long long)f->offset, archive_rule_text(f->rule),
	    f->detail);
}

static void
trace_file(const char *path)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	sim_must(archive_load(path, FILE_BYTES_MAX, &b, NULL), &WHY_INIT);
	sim_trace(path, strlen(path));
	sim_trace(b.p, b.n);
}

bool
oracle_archive(const char *path, uint64_t *n)
{
	const struct archive_check_options o = { .strict = true,
	    .finding = told };
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct archive_catalogue c = find_files(path, &a);
	struct archive_check_counts counts;
	struct why w = WHY_INIT;

	for (size_t i = 0; i < c.n; i++)
		trace_file(c.files[i].path);
	sim_must(archive_check(&c, &o, &counts, &w), &w);
	*n += c.n;
	return archive_check_exit(&counts, true) == 0;
}
