#include "engine/export/export_writer.h"

#include "engine/export/export_dir.h"
#include "os/file.h"
#include "os/spreadsheet.h"

#define WRITE_BYTES ((size_t)256 << 10)

struct export_writer {
	const struct export_order *order;
	struct export_counts *counts;
	const struct connector_items **items;
	struct export_selection selection;
	struct idset *seen;             /* NULL: ids may come again */
	struct export_dir dir;
	const char *scratch;
	bool failed;
	uint64_t rows_max;              /* a file; 0: no limit */
	/* The file in hand. */
	bool open;
	int fd;                         /* -1: a stream, or a sheet */
	struct spreadsheet *sheet;
	struct buf path;
	uint64_t at, rows;
	struct buf buf;
	struct arena arena;
};

enum err
export_writer_open(const struct export_order *o, struct export_counts *counts,
    const struct connector_items **items, struct export_writer **out,
    struct why *w)
{
	struct export_writer *x = mem_new(sizeof(*x));
	enum err e = OK;

	x->order = o;
	x->counts = counts;
	x->items = items;
	x->fd = x->dir.lock = -1;
	if (o->into == NULL && !export_format_is_stream(o->format))
		e = why_field(w, ERR_INPUT, "format", "%s cannot be written "
		    "to a stream", o->format->name);
	else if (o->into != NULL)
		e = export_dir_open(&x->dir, o->into, w);
	if (e == OK)
		x->scratch = o->into == NULL ? o->scratch :
		    arena_printf(&x->arena, "%s/scratch", x->dir.hidden).p;
	if (e == OK && o->dedupe)
		x->seen = idset_new(arena_printf(&x->arena, "%s.ids",
		    x->scratch).p, EXPORT_IDS_BYTES_MAX);
	if (e != OK)
		export_writer_free(&x);
	*out = x;
	return e;
}

void
export_writer_free(struct export_writer **xp)
{
	struct export_writer *x = *xp;

	if (x == NULL)
		return;
	file_close(&x->fd);
	spreadsheet_abandon(&x->sheet);
	idset_free(&x->seen);
	export_dir_abandon(&x->dir);
	buf_free(&x->buf);
	buf_free(&x->path);
	arena_free(&x->arena);
	mem_free(xp);
}

const char *
export_writer_scratch(const struct export_writer *x)
{
	return x->scratch;
}

bool
export_writer_failed(const struct export_writer *x)
{
	return x->failed;
}

/* --- files -------------------------------------------------------------- */

static enum err
flush(struct export_writer *x, struct why *w)
{
	struct str s = buf_str(&x->buf);
	enum err e = x->fd < 0 ? x->order->write(x->order->write_arg, s, w) :
	    file_write(x->fd, x->at, s.p, s.n, w);

	x->at += s.n;
	x->counts->bytes += s.n;
	buf_clear(&x->buf);
	return e;
}

static void
name_file(struct export_writer *x)
{
	buf_clear(&x->path);
	buf_printf(&x->path, "%s/%.*s_%03llu.%s", x->dir.path,
	    STR_FMT(x->order->id), (unsigned long long)x->counts->files,
	    x->order->format->extension);
}

static enum err
open_file(struct export_writer *x, struct why *w)
{
	const struct export_order *o = x->order;
	enum err e = OK;

	x->at = x->rows = 0;
	x->open = true;
	x->counts->files++;
	if (o->into != NULL)
		name_file(x);
	if (o->format->spreadsheet) {
		e = spreadsheet_open(buf_text(&x->path), x->dir.hidden,
		    &x->sheet, w);
		if (e == OK)
			export_xlsx_write_head(x->sheet, &x->selection);
		return e;
	}
	if (o->into != NULL)
		e = file_open(buf_text(&x->path), FILE_NEW, &x->fd, w);
	if (e == OK && o->format->head != NULL)
		o->format->head(&x->selection, &x->buf);
	return e;
}

static enum err
close_sheet(struct export_writer *x, struct why *w)
{
	uint64_t bytes = 0;
	enum err e = spreadsheet_close(&x->sheet, w);

	if (e == OK)
		e = file_open(buf_text(&x->path), FILE_WRITE, &x->fd, w);
	if (e == OK)
		e = file_size(x->fd, &bytes, w);
	x->counts->bytes += bytes;
	return e;
}

static enum err
close_file(struct export_writer *x, struct why *w)
{
	enum err e = OK;

	if (!x->open)
		return OK;
	x->open = false;
	if (x->sheet != NULL)
		e = close_sheet(x, w);
	else if (x->order->format->tail != NULL)
		x->order->format->tail(&x->buf);
	if (e == OK && x->buf.n > 0)
		e = flush(x, w);
	if (e == OK && x->fd >= 0)
		e = file_sync(x->fd, w);
	file_close(&x->fd);
	return e;
}

/* --- entries ------------------------------------------------------------ */

/* A table has the columns of its first item. */
static enum err
begin_table(struct export_writer *x, const struct item_table *table,
    struct why *w)
{
	const struct export_format *f = x->order->format;
	bool pandas = table->dialect == TABLE_PANDAS;
	uint64_t most = pandas ? f->pandas_rows_max : f->rows_max;

	x->rows_max = x->order->segment;
	if (most > 0 && (x->rows_max == 0 || x->rows_max > most))
		x->rows_max = most;
	if (!export_format_is_table(f))
		return OK;
	if (pandas && f->no_pandas)
		return why_field(w, ERR_INPUT, "format", "tables of %s have "
		    "no %s form", item_type_name(*x->items), f->name);
	x->selection = export_select(x->order, table, &x->arena);
	return OK;
}

static enum err
check_table(struct export_writer *x, const struct export_entry *entry,
    struct why *w)
{
	const struct connector_items *first = *x->items;

	if (first == NULL) {
		*x->items = entry->items;
		return begin_table(x, entry->items->table, w);
	} else if (export_format_is_table(x->order->format) &&
	    entry->items->table != first->table) {
		return why_field(w, ERR_INPUT, "type", "there are items of "
		    "%s and of %s, whose tables have different columns; "
		    "choose one of the types", item_type_name(first),
		    item_type_name(entry->items));
	}
	return OK;
}

static enum err
put_entry(struct export_writer *x, const struct export_entry *entry,
    struct why *w)
{
	bool added = true;
	enum err e = check_table(x, entry, w);

	if (e == OK && x->seen != NULL)
		e = idset_add(x->seen, entry->id, &added, w);
	if (e == OK && !added) {
		x->counts->duplicates++;
		return OK;
	}
	if (e == OK && x->rows_max > 0 && x->rows == x->rows_max)
		e = close_file(x, w);
	if (e == OK && !x->open)
		e = open_file(x, w);
	if (e != OK)
		return e;
	x->rows++;
	x->counts->rows++;
	if (x->sheet != NULL) {
		export_xlsx_write_row(x->sheet, (uint32_t)x->rows,
		    entry->bytes);
		return OK;
	}
	buf_put_str(&x->buf, entry->bytes);
	return x->buf.n >= WRITE_BYTES ? flush(x, w) : OK;
}

enum err
export_writer_put(void *writer, const struct export_entry *entry,
    struct why *w)
{
	struct export_writer *x = writer;
	enum err e = put_entry(x, entry, w);

	x->failed |= e != OK;
	return e;
}

enum err
export_writer_commit(struct export_writer *x, struct why *w)
{
	enum err e = close_file(x, w);

	if (e == OK && x->order->into != NULL)
		e = export_dir_commit(&x->dir, w);
	x->failed |= e != OK;
	return e;
}
