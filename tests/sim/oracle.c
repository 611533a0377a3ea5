#include "tests/sim/oracle.h"

#include "base/map.h"
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
/* The last that a stream says of one. */
#define STREAMED STR("\"sim\":\"")
#define ROBOTS STR("/robots.txt")
#define MOVED STR("HTTP/1.1 302 ")

/* What is in some files. */
struct found {
	unsigned char seen[PLATFORM_LISTS][PLATFORM_ITEMS_MAX];
	uint64_t items, distinct, answers;
	uint64_t pages, revisits;    /* of a web harvest */
	bool repeated, damaged;
};

static bool
wrong(const char *text, const char *of)
{
	printf("sim: %s: %s\n", of, text);
	return false;
}

/* --- files --------------------------------------------------------------- */

/* Whether it is whole: what is cut is no item. */
static bool
is_whole(struct str behind, unsigned host)
{
	bool events = platform_kind(host) == PLATFORM_EVENTS;

	return str_starts(behind, events ? STR("\"}\n\n") : STR("\"}\n")) ||
	    (!events && str_starts(behind, STR("\"}\r\n")));
}

static void
find_items(struct str block, struct str mark, struct found *f)
{
	unsigned host, list, item;

	for (size_t at; (at = str_find(block, mark)) < block.n;) {
		block = str_from(block, at + mark.n);
		size_t n = str_find_char(block, '"');
		if (!platform_item(str_cut(block, 0, n), &host, &list, &item) ||
		    (str_eq(mark, STREAMED) && !is_whole(str_from(block, n),
		    host)))
			continue;
		f->items++;
		unsigned char *seen = &f->seen[list - 1][item -
		    PLATFORM_FIRST];
		f->distinct += *seen == 0;
		f->repeated |= *seen > 0;
		*seen = 1;
	}
}

/* An answer to a page, but for those on the way to one. */
static void
count_page(const struct warc_entry *e, struct str block, struct found *f)
{
	f->revisits += e->type == WARC_REVISIT;
	f->pages += e->type != WARC_RESOURCE && !str_ends(e->uri, ROBOTS) &&
	    !str_starts(block, MOVED);
}

static void
read_block(struct warc_reader *r, const struct warc_entry *e, struct found *f)
{
	FREED(buf_free) struct buf block = BUF_INIT;
	struct str part;

	if (e->type != WARC_RESPONSE && e->type != WARC_RESOURCE &&
	    e->type != WARC_REVISIT)
		return;
	f->answers += e->type != WARC_REVISIT;
	while (warc_read_block(r, &part))
		buf_put_str(&block, part);
	find_items(buf_str(&block), ITEM, f);
	find_items(buf_str(&block), STREAMED, f);
	count_page(e, buf_str(&block), f);
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
		if (what == WARC_FOUND_RECORD)
			read_block(r, &entry, f);
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

/* The first and the last item of a stream; false: there is none. */
static bool
ends_of(const struct found *f, unsigned *first, unsigned *last)
{
	unsigned n = PLATFORM_ITEMS_MAX;

	for (*first = 0; *first < n && f->seen[0][*first] == 0; ++*first)
		;
	for (*last = n - 1; *last > *first && f->seen[0][*last] == 0; --*last)
		;
	return *first < n;
}

/* Timelines have what came while there was no stream, Jetstream begins where it
 * is asked to; what a filter missed is lost. */
static bool
check_gaps(const struct oracle_run *r, const struct found *f)
{
	unsigned first, last, until = platform_items_at(r->host,
	    r->whole_until);
	bool frames = platform_kind(r->host) == PLATFORM_FRAMES;
	char text[80];

	if (platform_kind(r->host) == PLATFORM_LINES ||
	    (!frames && r->whole_until.us == 0) || !ends_of(f, &first, &last))
		return true;
	if (frames && r->whole_until.us == 0)
		until = last;
	for (unsigned i = first; i < until; i++)
		if (f->seen[0][i] == 0) {
			snprintf(text, sizeof(text), "item %u is missing "
			    "between %u and %u", i, first, until);
			return wrong(text, r->id.p);
		}
	return true;
}

/* Files of a web harvest may have more than what was counted; at its end they
 * have not. */
static bool
check_web(const struct store_harvest *row, const struct oracle_run *r,
    const struct totals *t, const struct found *f)
{
	char text[120];
	bool fine = r->over ? row->captures == f->pages && t->items +
	    t->revisits == f->pages && t->revisits == f->revisits :
	    row->captures <= f->pages;

	snprintf(text, sizeof(text), "%llu items, %llu revisits and %llu "
	    "captures are noted, %llu pages with %llu revisits are there",
	    (unsigned long long)t->items, (unsigned long long)t->revisits,
	    (unsigned long long)row->captures, (unsigned long long)f->pages,
	    (unsigned long long)f->revisits);
	return fine || wrong(text, row->id.p);
}

static bool
check_totals(const struct store_harvest *row, const struct oracle_run *r,
    const struct found *f)
{
	struct totals t = { 0 };
	struct why w = WHY_INIT;
	char text[120];
	bool streams = platform_is_stream(r->host), fine;
	uint64_t items = streams ? f->distinct : f->items;

	enum err e = row->totals.n == 0 ? OK : totals_read(&t, row->totals,
	    &w);
	snprintf(text, sizeof(text), "%llu items and %llu answers are noted, "
	    "%llu and %llu are in its files", (unsigned long long)t.items,
	    (unsigned long long)row->captures, (unsigned long long)items,
	    (unsigned long long)f->answers);
	if (platform_kind(r->host) == PLATFORM_WEB)
		fine = e == OK && check_web(row, r, &t, f);
	else
		fine = (e == OK && t.items == items &&
		    row->captures == f->answers) ||
		    wrong(e == OK ? text : w.text, row->id.p);
	totals_free(&t);
	if (f->damaged)
		return wrong("a file is damaged", row->id.p);
	if (f->repeated && !streams)
		return wrong("an item is there twice", row->id.p);
	return fine && (!streams || check_gaps(r, f));
}

/* No file is noted twice. */
static bool
check_names(const struct store_harvest_warc *files, size_t n, struct str id)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (str_eq(files[i].name, files[k].name) ||
			    str_eq(files[i].warc_id, files[k].warc_id))
				return wrong("a file is noted twice", id.p);
	return true;
}

bool
oracle_row(struct store *st, const struct oracle_run *r, const char *data_dir,
    struct store_harvest *row, uint64_t *files_n, struct arena *a)
{
	struct store_harvest_warc *files;
	struct found *f = ARENA_NEW(a, struct found);
	struct why w = WHY_INIT;
	size_t n;

	enum err e = store_harvest_get(st, r->id, a, row, &w);
	if (e == OK)
		e = store_harvest_warcs(st, r->id, a, &files, &n, &w);
	if (e != OK)
		return wrong(w.text, r->id.p);
	row->id = arena_copy(a, row->id);
	row->path = arena_copy(a, row->path);
	*files_n += n;
	for (size_t i = 0; i < n; i++)
		if (!check_file(row, data_dir, &files[i], f, a))
			return false;
	return check_names(files, n, r->id) && check_totals(row, r, f);
}

/* --- a directory ---------------------------------------------------------- */

/* What has been read of each host's: a file in its place stays as it is. */
static struct read_dir {
	struct arena arena;
	struct map names;
	struct found found;
} dirs[PLATFORM_HOSTS_MAX];

void
oracle_forget(void)
{
	for (size_t i = 0; i < PLATFORM_HOSTS_MAX; i++) {
		map_free(&dirs[i].names);
		arena_free(&dirs[i].arena);
		dirs[i].found = (struct found){ .items = 0 };
	}
}

static const struct found *
find_all(unsigned host, const char *path)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct archive_catalogue c = find_files(path, &a);
	struct read_dir *d = &dirs[host];

	for (size_t i = 0; i < c.n; i++) {
		struct str name = str_of(c.files[i].path);
		if (map_get(&d->names, name) != NULL)
			continue;
		map_put(&d->names, arena_copy(&d->arena, name), d);
		read_file(c.files[i].path, &d->found);
	}
	return &d->found;
}

/* Whether the files have all items of a list up to this one; of a stream, from
 * the first that it has seen on. */
static bool
has_up_to(const struct found *f, unsigned list, uint64_t last, bool streams)
{
	unsigned from = 0, end;

	if (streams && !ends_of(f, &from, &end))
		return true;
	for (uint64_t i = PLATFORM_FIRST + from; i <= last; i++)
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
	const struct found *f = find_all(host, path);
	if (f->damaged)
		return wrong("a file is damaged", path);
	if (e == OK)
		e = state_file_read(&dir, &a, &s, &n, &w);
	if (e != OK)
		return wrong(w.text, path);
	for (size_t i = 0; i < n; i++) {
		if (!str_to_u64(s[i].value, &last) ||
		    !platform_key(s[i].key, last, &of, &list, &last) ||
		    of != host)
			return wrong("a key that nobody has put", s[i].key.p);
		if (!has_up_to(f, list, last, platform_is_stream(host)))
			return wrong("the state is ahead of the files",
			    s[i].key.p);
	}
	return true;
}

bool
oracle_complete(unsigned host, const char *path)
{
	const struct found *f = find_all(host, path);

	for (unsigned list = 1; list <= PLATFORM_LISTS; list++)
		if (!has_up_to(f, list, PLATFORM_FIRST - 1 +
		    platform_items(host), false))
			return wrong("items are missing", path);
	return true;
}

bool
oracle_files(const char *path, uint64_t files)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t n = find_files(path, &a).n;

	return n == files || wrong(n < files ? "a file is lost" :
	    "a file is not noted", path);
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
