#include "engine/export/export_readme.h"

#include <stdarg.h>

#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "wire/digest.h"

#define README_NAME "README.txt"
#define READ_BYTES ((size_t)1 << 20)
#define COLUMN_TAB 26

/* --- days --------------------------------------------------------------- */

void
export_days_free(struct export_days *d)
{
	mem_free(&d->list);
	*d = (struct export_days){ .n = 0 };
}

/* Where the day stands, or would; items mostly come in their order. */
static size_t
find_day(const struct export_days *d, int32_t day)
{
	size_t from = 0, to = d->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		if (d->list[mid].day < day)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

void
export_days_add(struct export_days *d, int32_t day)
{
	size_t at = find_day(d, day);

	if (at < d->n && d->list[at].day == day) {
		d->list[at].n++;
	} else if (d->n == EXPORT_DAYS_MAX) {
		d->others++;
	} else {
		d->list = mem_room(d->list, d->n, &d->cap, 64,
		    sizeof(*d->list));
		memmove(d->list + at + 1, d->list + at,
		    (d->n++ - at) * sizeof(*d->list));
		d->list[at] = (struct export_day){ day, 1 };
	}
}

static void
put_day(int32_t day, struct buf *b)
{
	struct item_date date = { .known = true };
	size_t at = b->n;

	if (day == EXPORT_NO_DAY) {
		buf_put_text(b, "no date   ");
		return;
	}
	date.at.us = (int64_t)day * 86400 * US_PER_S;
	item_date_put(b, &date, ' ');
	b->n = at + 10;
}

static void
put_days(const struct export_days *d, struct buf *b)
{
	buf_put_text(b, "\nDays (UTC)\n\n");
	for (size_t i = 0; i < d->n; i++) {
		put_day(d->list[i].day, b);
		buf_printf(b, "%12llu\n", (unsigned long long)d->list[i].n);
	}
	if (d->others > 0)
		buf_printf(b, "others    %12llu\n",
		    (unsigned long long)d->others);
}

/* --- what was exported, and how ----------------------------------------- */

static void
put_line(struct buf *b, const char *name, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void
put_line(struct buf *b, const char *name, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(b, "%-14s%s\n", name, text);
}

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void
put_date(struct buf *b, const char *name, struct wall at)
{
	char text[WALL_ISO_MAX];

	wall_to_iso(at, text);
	put_line(b, name, "%s", text);
}

static void
put_filters(const struct export_order *o, struct buf *b)
{
	if (o->has_since)
		put_date(b, "Since", o->since);
	if (o->has_until)
		put_date(b, "Until", o->until);
	for (size_t i = 0; i < o->owners_n; i++)
		put_line(b, i == 0 ? "Accounts" : "", "%.*s",
		    STR_FMT(o->owners[i]));
	if (o->dedupe)
		put_line(b, "Duplicates", "left out: the first item of an id "
		    "was kept");
}

static void
put_head(const struct export_order *o, const struct export_result *r,
    struct buf *b)
{
	const struct export_counts *n = &r->counts;

	if (r->items != NULL)
		put_line(b, "Items", "%s (%s)", r->items->label,
		    item_type_name(r->items));
	put_line(b, "Format", "%s", o->format->name);
	put_filters(o, b);
	put_line(b, "Written", "%llu item%s in %llu file%s, %llu bytes",
	    (unsigned long long)n->rows, plural(n->rows),
	    (unsigned long long)n->files, plural(n->files),
	    (unsigned long long)n->bytes);
	put_line(b, "Found", "%llu item%s in %llu answer%s",
	    (unsigned long long)n->items, plural(n->items),
	    (unsigned long long)n->records, plural(n->records));
	if (n->outside > 0)
		put_line(b, "Left out", "%llu of other dates or accounts",
		    (unsigned long long)n->outside);
	if (n->duplicates > 0)
		put_line(b, "Left out", "%llu that were found before",
		    (unsigned long long)n->duplicates);
	if (n->deleted > 0)
		put_line(b, "Left out", "%llu that were deleted later",
		    (unsigned long long)n->deleted);
	put_line(b, "Made by", "argiope " ARGIOPE_VERSION);
	put_date(b, "Made", clock_wall());
	if (o->command != NULL)
		buf_printf(b, "%-14s%s\n", "Command", o->command);
}

static void
put_columns(const struct export_selection *s, struct buf *b)
{
	if (s->n > 0)
		buf_put_text(b, "\nColumns\n\n");
	for (size_t i = 0; i < s->n; i++)
		text_row(b, str_of(s->columns[i]->name), COLUMN_TAB,
		    str_of(s->columns[i]->meaning));
}

static void
put_notes(const struct export_notes *notes, struct buf *b)
{
	if (notes->n > 0)
		buf_put_text(b, "\nNotes\n\n");
	for (size_t i = 0; i < notes->n; i++) {
		buf_printf(b, "%s: ", export_code_text(notes->list[i].code));
		export_note_put(&notes->list[i], b);
		buf_put_char(b, '\n');
	}
	if (notes->dropped > 0)
		buf_printf(b, "%llu more notes\n",
		    (unsigned long long)notes->dropped);
}

/* --- WARC files --------------------------------------------------------- */

static bool
digest_file(const struct archive_file *file, struct digest_hasher *h,
    struct buf *piece, struct digest *out, uint64_t *bytes)
{
	struct archive_source s;
	size_t got = 1;

	*bytes = 0;
	if (archive_source_open_file(file, &s, NULL) != OK)
		return false;
	buf_clear(piece);
	char *p = buf_grow(piece, READ_BYTES);
	digest_start(h, DIGEST_SHA1);
	enum err e = OK;
	while (e == OK && got > 0) {
		e = s.source.read(s.source.arg, *bytes, p, READ_BYTES, &got);
		if (e == OK)
			digest_add(h, (struct str){ p, got });
		*bytes += got;
	}
	digest_end(h, out);
	archive_source_close(&s);
	return e == OK;
}

static void
put_warcs(const struct export_order *o, struct buf *b)
{
	FREED(digest_hasher_free) struct digest_hasher *h =
	    digest_hasher_new();
	FREED(buf_free) struct buf piece = BUF_INIT;
	struct digest digest;
	uint64_t bytes;

	buf_put_text(b, "\nWARC files (SHA-1, bytes, path)\n\n");
	for (size_t i = 0; i < o->files_n; i++) {
		if (digest_file(&o->files[i], h, &piece, &digest, &bytes))
			digest_put_hex(b, digest.bytes,
			    digest_size(DIGEST_SHA1));
		else
			buf_printf(b, "%-40s", "cannot be read");
		buf_printf(b, " %12llu %s\n", (unsigned long long)bytes,
		    o->files[i].path);
	}
}

enum err
export_readme_write(const struct export_order *o,
    const struct export_result *r, const struct export_days *days,
    const struct export_selection *s, const char *dir, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;

	put_head(o, r, &b);
	put_days(days, &b);
	put_warcs(o, &b);
	put_columns(s, &b);
	put_notes(&r->notes, &b);
	return file_store(arena_printf(&a, "%s/" README_NAME, dir).p,
	    buf_str(&b), w);
}
