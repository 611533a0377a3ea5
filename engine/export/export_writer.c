#include "engine/export/export_writer.h"

#include "engine/export/export_dir.h"
#include "engine/export/export_file.h"
#include "engine/export/export_readme.h"

struct export_writer {
	const struct export_order *order;
	struct export_result *result;
	struct export_selection selection;
	struct idset *seen;             /* NULL: ids may come again */
	struct idset *deleted;          /* NULL: nothing was */
	struct export_dir dir;
	const char *scratch;
	bool failed;
	uint64_t rows_max;              /* a file; 0: no limit */
	struct export_file file;
	struct buf path;
	struct export_days days;
	struct arena arena;
};

enum err
export_writer_open(const struct export_order *o, struct export_result *r,
    struct export_writer **out, struct why *w)
{
	struct export_writer *x = mem_new(sizeof(*x));
	enum err e = OK;

	x->order = o;
	x->result = r;
	x->file = EXPORT_FILE_INIT;
	x->dir.lock = -1;
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
	export_file_free(&x->file);
	idset_free(&x->seen);
	idset_free(&x->deleted);
	export_dir_abandon(&x->dir);
	export_days_free(&x->days);
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
open_file(struct export_writer *x, struct why *w)
{
	const struct export_order *o = x->order;

	x->result->counts.files++;
	buf_clear(&x->path);
	if (o->into == NULL)
		return export_file_open(&x->file, o, &x->selection, NULL,
		    NULL, w);
	buf_printf(&x->path, "%s/%.*s_%03llu.%s", x->dir.path, STR_FMT(o->id),
	    (unsigned long long)x->result->counts.files,
	    o->format->extension);
	return export_file_open(&x->file, o, &x->selection,
	    buf_text(&x->path), x->dir.hidden, w);
}

static enum err
close_file(struct export_writer *x, struct why *w)
{
	bool open = x->file.open;
	enum err e = export_file_close(&x->file, w);

	if (open)
		x->result->counts.bytes += x->file.bytes;
	return e;
}

/* --- tables ------------------------------------------------------------- */

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
	if (!export_format_serves(f, table))
		return why_field(w, ERR_INPUT, "format", "tables of %s have "
		    "no %s form", item_type_name(x->result->items), f->name);
	return export_select(x->order, table, &x->arena, &x->selection, w);
}

static enum err
check_table(struct export_writer *x, const struct export_entry *entry,
    struct why *w)
{
	const struct connector_items *first = x->result->items;

	if (first == NULL) {
		x->result->items = entry->items;
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

/* --- what is left out --------------------------------------------------- */

static enum err
add_deletion(struct export_writer *x, const struct export_entry *entry,
    struct why *w)
{
	bool added;

	if (x->deleted == NULL)
		x->deleted = idset_new(arena_printf(&x->arena, "%s.deleted",
		    x->scratch).p, EXPORT_IDS_BYTES_MAX);
	return idset_add(x->deleted, entry->deletion, &added, w);
}

enum err
export_writer_put_deletion(void *writer, const struct export_entry *entry,
    struct why *w)
{
	struct export_writer *x = writer;
	enum err e = add_deletion(x, entry, w);

	x->failed |= e != OK;
	return e;
}

static enum err
look_up_deletion(struct export_writer *x, const struct export_entry *entry,
    bool *deleted, struct why *w)
{
	*deleted = false;
	if (x->deleted == NULL)
		return OK;
	enum err e = idset_has(x->deleted, entry->deletion, deleted, w);
	if (e == OK && !*deleted)
		e = idset_has(x->deleted, entry->owner, deleted, w);
	return e;
}

/* Whether the entry is to be written. */
static enum err
choose_entry(struct export_writer *x, const struct export_entry *entry,
    bool *chosen, struct why *w)
{
	bool deleted, added = true;
	enum err e = look_up_deletion(x, entry, &deleted, w);

	*chosen = false;
	if (e == OK && deleted) {
		x->result->counts.deleted++;
		return OK;
	}
	if (e == OK && x->seen != NULL)
		e = idset_add(x->seen, entry->id, &added, w);
	if (e == OK && !added)
		x->result->counts.duplicates++;
	*chosen = added;
	return e;
}

/* --- entries ------------------------------------------------------------ */

static enum err
put_entry(struct export_writer *x, const struct export_entry *entry,
    struct why *w)
{
	bool chosen;
	enum err e = check_table(x, entry, w);

	if (e == OK)
		e = choose_entry(x, entry, &chosen, w);
	if (e != OK || !chosen)
		return e;
	if (x->rows_max > 0 && x->file.rows == x->rows_max)
		e = close_file(x, w);
	if (e == OK && !x->file.open)
		e = open_file(x, w);
	if (e == OK)
		e = export_file_put(&x->file, entry->bytes, w);
	x->result->counts.rows++;
	if (x->order->watch != NULL)
		atomic_fetch_add_explicit(&x->order->watch->rows, 1,
		    memory_order_relaxed);
	if (x->order->readme)
		export_days_add(&x->days, entry->day);
	return e;
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

	if (e == OK && x->order->into != NULL && x->order->readme)
		e = export_readme_write(x->order, x->result, &x->days,
		    &x->selection, x->dir.path, w);
	if (e == OK && x->order->into != NULL)
		e = export_dir_commit(&x->dir, w);
	x->failed |= e != OK;
	return e;
}
