#include "engine/export/export.h"

#include "engine/export/export_parts.h"
#include "engine/export/export_writer.h"
#include "os/system.h"

void
export_result_free(struct export_result *r)
{
	export_notes_free(&r->notes);
}

void
export_counts_add(struct export_counts *all, const struct export_counts *n)
{
	all->records += n->records;
	all->items += n->items;
	all->rows += n->rows;
	all->outside += n->outside;
	all->duplicates += n->duplicates;
	all->deleted += n->deleted;
	all->missing += n->missing;
	all->files += n->files;
	all->bytes += n->bytes;
}

bool
export_is_stopped(const struct export_order *o)
{
	return o->watch != NULL && atomic_load_explicit(&o->watch->stop,
	    memory_order_relaxed);
}

/* A file that cannot be read costs itself alone. */
void
export_note_missing(struct export_result *r, const struct archive_file *file,
    const struct why *why)
{
	struct export_note note = { .code = EXPORT_WARC_MISSING,
		.what = str_of(why->text), .count = 1,
		.file = str_of(file->path) };

	r->counts.missing++;
	export_notes_add(&r->notes, &note);
}

static enum err
read_in_turn(const struct export_order *o, struct export_pass pass,
    export_entry_fn *put, struct export_writer *x, struct export_result *r,
    struct why *w)
{
	FREED(export_source_free) struct export_source *s =
	    export_source_new(o, pass);
	enum err e = OK;

	for (size_t i = 0; i < o->files_n && e == OK &&
	    !export_is_stopped(o); i++) {
		struct why own = WHY_INIT;
		e = export_source_read(s, &o->files[i], put, x, &r->counts,
		    &r->notes, &own);
		if (e != OK && export_writer_failed(x)) {
			if (w != NULL)
				*w = own;
		} else if (e != OK) {
			export_note_missing(r, &o->files[i], &own);
			e = OK;
		}
		export_count_file(o, pass);
	}
	return e;
}

static enum err
read_all(const struct export_order *o, struct export_pass pass,
    export_entry_fn *put, struct export_writer *x, struct export_result *r,
    struct why *w)
{
	size_t jobs = MIN(o->jobs > 0 ? o->jobs : system_cores(),
	    o->files_n);

	enum err e = jobs <= 1 ? read_in_turn(o, pass, put, x, r, w) :
	    export_parts_read(o, (unsigned)jobs, pass,
	    export_writer_scratch(x), put, x, r, w);
	/* What it has cut short may be noted as missing: nobody reads that. */
	return e == OK && export_is_stopped(o) ? why(w, ERR_CLOSED,
	    "it was stopped") : e;
}

/* --- what was deleted --------------------------------------------------- */

static enum err
note_first(void *arg, const struct export_found *f, struct why *w)
{
	*(const struct connector_items **)arg = f->item->of;
	return why(w, ERR_CLOSED, "one is enough");
}

/* Whether deletions are looked for, where the order leaves it open. */
static bool
is_usual(const struct export_order *o, struct export_pass pass)
{
	FREED(export_source_free) struct export_source *s =
	    export_source_new(o, pass);
	const struct connector_items *first = NULL;

	for (size_t i = 0; i < o->items_n; i++)
		if (o->items[i]->honours_deletes)
			return true;
	for (size_t i = 0; i < o->files_n && o->items_n == 0; i++) {
		struct export_result r = { .items = NULL };
		bool ended = export_source_items(s, &o->files[i], note_first,
		    &first, &r.counts, &r.notes, NULL) == OK;
		export_result_free(&r);
		if (!ended && first != NULL)
			return first->honours_deletes;
	}
	return false;
}

/* A first reading; what it notes, the second will note. */
static enum err
read_deletions(const struct export_order *o, struct export_pass pass,
    struct export_writer *x, struct why *w)
{
	struct export_result r = { .items = NULL };

	pass.deletions = true;
	enum err e = read_all(o, pass, export_writer_put_deletion, x, &r, w);
	export_result_free(&r);
	return e;
}

static void
note_deleted(struct export_result *r)
{
	struct export_note note = { .code = EXPORT_ITEMS_DELETED,
		.what = STR("items were deleted later"),
		.count = r->counts.deleted };

	if (note.count > 0)
		export_notes_add(&r->notes, &note);
}

/* --- the whole ---------------------------------------------------------- */

enum err
export_run(const struct export_order *o, struct export_result *r,
    struct why *w)
{
	FREED(export_described_free) struct export_described *described = NULL;
	FREED(export_writer_free) struct export_writer *x = NULL;
	struct export_pass pass = { .seed = id_hash_seed() };

	*r = (struct export_result){ .items = NULL };
	enum err e = export_writer_open(o, r, &x, w);
	if (e != OK)
		return e;
	described = export_described_new(o);
	pass.described = described;
	pass.honour = o->deletes == EXPORT_DELETES_USUAL ? is_usual(o, pass) :
	    o->deletes == EXPORT_DELETES_HONOUR;
	if (pass.honour)
		e = read_deletions(o, pass, x, w);
	if (e == OK)
		e = read_all(o, pass, export_writer_put, x, r, w);
	note_deleted(r);
	if (e == OK)
		e = export_writer_commit(x, w);
	/* What a description has made is freed here. */
	if (r->items != NULL && r->items->row != NULL)
		r->items = r->items->row;
	return e;
}

/* --- items alone -------------------------------------------------------- */

struct listing {
	export_found_fn *found;
	void *arg;
	struct export_counts *counts;
	struct id_hash seed;
	struct idset *seen;            /* NULL: items may come again */
	struct arena arena;
	bool failed;
};

static enum err
list_item(void *arg, const struct export_found *f, struct why *w)
{
	struct listing *l = arg;
	bool added = true;
	enum err e = l->seen == NULL ? OK : idset_add(l->seen,
	    id_hash_of(f->item->id, l->seed), &added, w);

	if (e == OK && !added)
		l->counts->duplicates++;
	else if (e == OK)
		e = l->found(l->arg, f, w);
	l->counts->rows += e == OK && added;
	l->failed |= e != OK;
	return e;
}

enum err
export_items(const struct export_order *o, export_found_fn *found, void *arg,
    struct export_result *r, struct why *w)
{
	struct listing l = { .found = found, .arg = arg,
		.counts = &r->counts, .seed = id_hash_seed() };
	FREED(export_described_free) struct export_described *described =
	    export_described_new(o);
	FREED(export_source_free) struct export_source *s =
	    export_source_new(o, (struct export_pass){ .seed = l.seed,
	    .described = described });
	enum err e = OK;

	*r = (struct export_result){ .items = NULL };
	if (o->dedupe)
		l.seen = idset_new(arena_printf(&l.arena, "%s.ids",
		    o->scratch).p, EXPORT_IDS_BYTES_MAX);
	for (size_t i = 0; i < o->files_n && e == OK; i++) {
		struct why own = WHY_INIT;
		e = export_source_items(s, &o->files[i], list_item, &l,
		    &r->counts, &r->notes, &own);
		if (e != OK && l.failed) {
			if (w != NULL)
				*w = own;
		} else if (e != OK) {
			export_note_missing(r, &o->files[i], &own);
			e = OK;
		}
	}
	idset_free(&l.seen);
	arena_free(&l.arena);
	return e;
}
