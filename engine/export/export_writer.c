#include "engine/export/export_writer.h"

#include "engine/export/export_dir.h"
#include "os/file.h"

#define WRITE_BYTES ((size_t)256 << 10)

struct export_writer {
	const struct export_order *order;
	struct export_counts *counts;
	const struct connector_items **items;
	struct export_selection selection;
	struct idset *seen;             /* NULL: ids may come again */
	struct export_dir dir;
	bool failed;
	/* The file in hand. */
	bool open;
	int fd;                         /* -1: a stream */
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
	if (o->into != NULL)
		e = export_dir_open(&x->dir, o->into, w);
	if (e == OK && o->dedupe)
		x->seen = idset_new(o->into == NULL ?
		    arena_printf(&x->arena, "%s.ids", o->scratch).p :
		    arena_printf(&x->arena, "%s/ids", x->dir.hidden).p,
		    EXPORT_IDS_BYTES_MAX);
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
	idset_free(&x->seen);
	export_dir_abandon(&x->dir);
	buf_free(&x->buf);
	arena_free(&x->arena);
	mem_free(xp);
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

static enum err
open_file(struct export_writer *x, struct why *w)
{
	const struct export_order *o = x->order;
	enum err e = OK;

	x->at = x->rows = 0;
	x->open = true;
	x->counts->files++;
	if (o->into != NULL)
		e = file_open(arena_printf(&x->arena, "%s/%.*s_%03llu.%s",
		    x->dir.path, STR_FMT(o->id),
		    (unsigned long long)x->counts->files,
		    o->format->extension).p, FILE_NEW, &x->fd, w);
	if (e == OK && o->format->head != NULL)
		o->format->head(&x->selection, &x->buf);
	return e;
}

static enum err
close_file(struct export_writer *x, struct why *w)
{
	enum err e = OK;

	if (!x->open)
		return OK;
	if (x->buf.n > 0)
		e = flush(x, w);
	if (e == OK && x->fd >= 0)
		e = file_sync(x->fd, w);
	file_close(&x->fd);
	x->open = false;
	return e;
}

/* --- entries ------------------------------------------------------------ */

/* A table has the columns of its first item. */
static enum err
check_table(struct export_writer *x, const struct export_entry *entry,
    struct why *w)
{
	const struct connector_items *first = *x->items;

	if (first == NULL) {
		*x->items = entry->items;
		if (export_format_is_table(x->order->format))
			x->selection = export_select(x->order,
			    entry->items->table, &x->arena);
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
	if (e == OK && x->order->segment > 0 && x->rows == x->order->segment)
		e = close_file(x, w);
	if (e == OK && !x->open)
		e = open_file(x, w);
	if (e != OK)
		return e;
	buf_put_str(&x->buf, entry->bytes);
	x->rows++;
	x->counts->rows++;
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
