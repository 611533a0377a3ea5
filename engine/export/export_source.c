#include "engine/export/export_source.h"

#include "engine/export/export_reader.h"
#include "engine/export/export_readme.h"

struct export_source {
	const struct export_order *order;
	struct export_pass pass;
	struct export_reader *reader;
	/* Of the reading under way. */
	export_entry_fn *put;
	export_found_fn *found;
	void *arg;
	struct export_counts *counts;
	struct export_notes *notes;
	/* What the file's description declares, or NULL. */
	const struct connector_items *described;
	/* The table of the last row. */
	struct export_selection selection;
	struct arena selected;
	struct cell *cells;
	struct arena row;
	struct buf scratch, bytes;
};

/* --- what is chosen ----------------------------------------------------- */

static bool
is_recognised(const struct connector_items *items, bool named, struct str uri,
    struct str content_type, bool resource)
{
	if (resource && !items->in_resources)
		return false;
	return named && items->recognises_named != NULL ?
	    items->recognises_named(uri, content_type) :
	    items->recognises(uri, content_type);
}

static void
on_description(void *arg, struct str text)
{
	struct export_source *s = arg;

	s->described = export_described_find(s->pass.described, text);
}

/* Of a type that is asked for, if there are some. */
static bool
is_declared(const struct export_source *s, struct str uri, bool resource)
{
	const struct export_order *o = s->order;
	bool wanted = o->items_n == 0;

	for (size_t i = 0; i < o->items_n; i++)
		wanted |= o->items[i]->declared != NULL;
	return s->described != NULL && wanted && !resource &&
	    s->described->declared->recognises(s->described, uri);
}

static const struct connector_items *
choose_items(void *arg, struct str uri, struct str content_type,
    bool resource)
{
	const struct export_source *s = arg;
	const struct export_order *o = s->order;
	size_t n;
	const struct item_type *types = item_types(&n);

	if (is_declared(s, uri, resource))
		return s->described;
	for (size_t i = 0; i < o->items_n; i++)
		if (is_recognised(o->items[i], true, uri, content_type,
		    resource))
			return o->items[i];
	if (o->items_n > 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (is_recognised(types[i].items, false, uri, content_type,
		    resource))
			return types[i].items;
	return NULL;
}

static bool
is_chosen(const struct export_order *o, const struct item *item)
{
	if (item->date.known &&
	    ((o->has_since && item->date.at.us < o->since.us) ||
	    (o->has_until && item->date.at.us > o->until.us)))
		return false;
	if (!o->by_owner)
		return true;
	for (size_t i = 0; i < o->owners_n; i++)
		if (item->owner.n > 0 && str_eq(item->owner, o->owners[i]))
			return true;
	return false;
}

/* --- what is noted ------------------------------------------------------ */

static void
add_note(struct export_source *s, enum export_code code, struct str what,
    struct str id)
{
	const struct export_place *at = export_reader_place(s->reader);
	struct export_note note = { .code = code, .what = what, .count = 1,
		.file = str_of(at->file->path), .offset = at->offset,
		.id = id };

	export_notes_add(s->notes, &note);
}

static void
on_fault(void *source, struct str what)
{
	add_note(source, EXPORT_WARC_DAMAGED, what, STR(""));
}

/* --- rows --------------------------------------------------------------- */

static enum err
no_column(const struct item_table *t, struct str name, struct why *w)
{
	FREED(buf_free) struct buf names = BUF_INIT;

	for (size_t i = 0; i < t->columns_n; i++)
		buf_printf(&names, "%s%s", i > 0 ? ", " : "",
		    t->columns[i].name);
	return why_field(w, ERR_INPUT, "columns", "there is no %.*s; there "
	    "are %s", STR_FMT(str_cut(name, 0, 60)), buf_text(&names));
}

enum err
export_select(const struct export_order *o, const struct item_table *t,
    struct arena *a, struct export_selection *out, struct why *w)
{
	size_t n = o->columns_n > 0 ? o->columns_n : t->columns_n;
	const struct column **columns = ARENA_ARRAY(a, const struct column *,
	    n);
	enum err e = OK;

	*out = (struct export_selection){ t, columns, 0 };
	for (size_t i = 0; i < n; i++) {
		size_t c = o->columns_n == 0 ? i : str_find_row(o->columns[i],
		    t->columns, t->columns_n, sizeof(*t->columns), str_eq);
		if (c < t->columns_n)
			columns[out->n++] = &t->columns[c];
		else if (e == OK)
			e = no_column(t, o->columns[i], w);
	}
	return e;
}

static void
use_table(struct export_source *s, const struct item_table *t)
{
	if (s->selection.table == t)
		return;
	/* Whoever writes the table tells of a column that is not there. */
	arena_reset(&s->selected);
	(void)!export_select(s->order, t, &s->selected, &s->selection, NULL);
	s->cells = ARENA_ARRAY(&s->selected, struct cell, s->selection.n);
}

static void
put_row(struct export_source *s, const struct item *item)
{
	struct row row;

	use_table(s, item->of->table);
	arena_reset(&s->row);
	row_begin(&row, item, &s->row, &s->scratch);
	for (size_t i = 0; i < s->selection.n; i++)
		row_cell(&row, s->selection.columns[i], &s->cells[i]);
	for (size_t i = 0; i < row.lacks_n; i++)
		add_note(s, EXPORT_ITEM_FIELD_MISSING, str_of(row.lacks[i]),
		    item->id);
	if (s->order->format->row(&s->selection, s->cells, &s->scratch,
	    &s->bytes) > 0)
		add_note(s, EXPORT_CELL_TRUNCATED, STR("a cell of more than "
		    "32,767 characters"), item->id);
}

/* Names of accounts are hashed otherwise than those of items. */
static struct id_hash
hash_owner(const struct export_source *s, struct str owner)
{
	struct id_hash seed = { ~s->pass.seed.first, ~s->pass.seed.second };

	return id_hash_of(owner, seed);
}

static struct id_hash
hash_deletion(const struct export_source *s, const struct item *item)
{
	return id_hash_of(item->deletion.n > 0 ? item->deletion : item->id,
	    s->pass.seed);
}

static int32_t
day_of(const struct item_date *d)
{
	int64_t day = US_PER_S * 86400;

	return !d->known ? EXPORT_NO_DAY :
	    (int32_t)(d->at.us / day - (d->at.us % day < 0));
}

static enum err
give_deletion(struct export_source *s, const struct item *item,
    struct why *w)
{
	struct export_entry entry = { .items = item->of };

	if (item->kind == ITEM_DELETED)
		entry.deletion = hash_deletion(s, item);
	else if (item->kind == ITEM_OWNER_DELETED)
		entry.deletion = hash_owner(s, item->owner);
	else
		return OK;
	return s->put(s->arg, &entry, w);
}

static enum err
give_entry(struct export_source *s, const struct item *item, struct why *w)
{
	struct export_entry entry = { .items = item->of,
		.day = day_of(&item->date) };

	if (s->order->dedupe)
		entry.id = id_hash_of(item->id, s->pass.seed);
	if (s->pass.honour) {
		entry.deletion = hash_deletion(s, item);
		entry.owner = hash_owner(s, item->owner);
	}
	buf_clear(&s->bytes);
	if (s->order->format->row != NULL)
		put_row(s, item);
	else
		s->order->format->item(item, &s->bytes);
	entry.bytes = buf_str(&s->bytes);
	return s->put(s->arg, &entry, w);
}

static enum err
give_found(struct export_source *s, const struct item *item, struct why *w)
{
	const struct export_place *at = export_reader_place(s->reader);
	struct export_found f = { item, at->file, at->offset };

	return s->found(s->arg, &f, w);
}

static enum err
on_item(void *arg, const struct item *item, struct why *w)
{
	struct export_source *s = arg;

	if (export_is_stopped(s->order))
		return why(w, ERR_CLOSED, "it was stopped");
	if (s->pass.deletions)
		return give_deletion(s, item, w);
	if (item->kind == ITEM_BROKEN)
		add_note(s, EXPORT_ITEM_FIELD_MISSING, str_of(item->lacks),
		    item->id);
	if (item->kind != ITEM_FOUND)
		return OK;
	s->counts->items++;
	if (item->repaired)
		add_note(s, EXPORT_WARC_DAMAGED, STR("bytes that are no UTF-8"),
		    STR(""));
	if (!is_chosen(s->order, item)) {
		s->counts->outside++;
		return OK;
	}
	return s->found != NULL ? give_found(s, item, w) :
	    give_entry(s, item, w);
}

/* --- files -------------------------------------------------------------- */

static bool
is_stopped(void *source)
{
	return export_is_stopped(((struct export_source *)source)->order);
}

struct export_source *
export_source_new(const struct export_order *o, struct export_pass pass)
{
	static const struct export_reader_events events = { choose_items,
		on_item, on_fault, on_description, is_stopped };
	struct export_source *s = mem_new(sizeof(*s));

	s->order = o;
	s->pass = pass;
	s->reader = export_reader_new(&events, s);
	return s;
}

void
export_source_free(struct export_source **sp)
{
	struct export_source *s = *sp;

	if (s == NULL)
		return;
	export_reader_free(&s->reader);
	arena_free(&s->selected);
	arena_free(&s->row);
	buf_free(&s->scratch);
	buf_free(&s->bytes);
	mem_free(sp);
}

static enum err
read_file(struct export_source *s, const struct archive_file *file,
    struct export_counts *counts, struct export_notes *notes, struct why *w)
{
	uint64_t before = export_reader_records(s->reader);

	s->counts = counts;
	s->notes = notes;
	s->described = NULL;
	enum err e = export_reader_read(s->reader, file, w);
	counts->records += export_reader_records(s->reader) - before;
	return e;
}

enum err
export_source_read(struct export_source *s, const struct archive_file *file,
    export_entry_fn *put, void *arg, struct export_counts *counts,
    struct export_notes *notes, struct why *w)
{
	s->put = put;
	s->found = NULL;
	s->arg = arg;
	return read_file(s, file, counts, notes, w);
}

enum err
export_source_items(struct export_source *s, const struct archive_file *file,
    export_found_fn *found, void *arg, struct export_counts *counts,
    struct export_notes *notes, struct why *w)
{
	s->found = found;
	s->arg = arg;
	return read_file(s, file, counts, notes, w);
}
