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
	all->missing += n->missing;
	all->files += n->files;
	all->bytes += n->bytes;
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
read_in_turn(const struct export_order *o, struct export_writer *x,
    struct export_result *r, struct why *w)
{
	FREED(export_source_free) struct export_source *s =
	    export_source_new(o, id_hash_seed());
	enum err e = OK;

	for (size_t i = 0; i < o->files_n && e == OK; i++) {
		struct why own = WHY_INIT;
		e = export_source_read(s, &o->files[i], export_writer_put, x,
		    &r->counts, &r->notes, &own);
		if (e != OK && export_writer_failed(x)) {
			if (w != NULL)
				*w = own;
		} else if (e != OK) {
			export_note_missing(r, &o->files[i], &own);
			e = OK;
		}
	}
	return e;
}

static enum err
read_all(const struct export_order *o, struct export_writer *x,
    struct export_result *r, struct why *w)
{
	size_t jobs = MIN(o->jobs > 0 ? o->jobs : system_cores(),
	    o->files_n);

	return jobs <= 1 ? read_in_turn(o, x, r, w) :
	    export_parts_read(o, (unsigned)jobs, id_hash_seed(),
	    export_writer_scratch(x), export_writer_put, x, r, w);
}

enum err
export_run(const struct export_order *o, struct export_result *r,
    struct why *w)
{
	FREED(export_writer_free) struct export_writer *x = NULL;

	*r = (struct export_result){ .items = NULL };
	enum err e = export_writer_open(o, &r->counts, &r->items, &x, w);
	if (e == OK)
		e = read_all(o, x, r, w);
	return e == OK ? export_writer_commit(x, w) : e;
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
	FREED(export_source_free) struct export_source *s =
	    export_source_new(o, l.seed);
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
