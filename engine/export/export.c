#include "engine/export/export.h"

#include "engine/export/export_source.h"
#include "engine/export/export_writer.h"

void
export_result_free(struct export_result *r)
{
	export_notes_free(&r->notes);
}

/* A file that cannot be read costs itself alone. */
static void
note_missing(const struct archive_file *file, const struct why *why,
    struct export_result *r)
{
	struct export_note note = { .code = EXPORT_WARC_MISSING,
		.what = str_of(why->text), .count = 1,
		.file = str_of(file->path) };

	r->counts.missing++;
	export_notes_add(&r->notes, &note);
}

static enum err
read_all(const struct export_order *o, struct export_writer *x,
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
			*w = own;
		} else if (e != OK) {
			note_missing(&o->files[i], &own, r);
			e = OK;
		}
	}
	return e;
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
	item_fn *item;
	void *arg;
	bool failed;
};

static enum err
list_item(void *arg, const struct item *item, struct why *w)
{
	struct listing *l = arg;
	enum err e = l->item(l->arg, item, w);

	l->failed |= e != OK;
	return e;
}

enum err
export_items(const struct export_order *o, item_fn *item, void *arg,
    struct export_result *r, struct why *w)
{
	FREED(export_source_free) struct export_source *s =
	    export_source_new(o, id_hash_seed());
	struct listing l = { item, arg, false };
	enum err e = OK;

	*r = (struct export_result){ .items = NULL };
	for (size_t i = 0; i < o->files_n && e == OK; i++) {
		struct why own = WHY_INIT;
		e = export_source_items(s, &o->files[i], list_item, &l,
		    &r->counts, &r->notes, &own);
		if (e != OK && l.failed) {
			*w = own;
		} else if (e != OK) {
			note_missing(&o->files[i], &own, r);
			e = OK;
		}
	}
	return e;
}
