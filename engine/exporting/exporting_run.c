/* One export, on a thread of the pool: files looked up, read, written. */
#include <stdlib.h>

#include "engine/exporting/exporting_find.h"
#include "engine/exporting/exporting_own.h"
#include "engine/harvest/place.h"
#include "os/file.h"
#include "os/tree.h"

const char *
work_dir(const struct exporting *e, const struct store_export *row,
    struct arena *a)
{
	return row->path.n > 0 ? arena_copy(a, row->path).p :
	    arena_printf(a, "%s/" EXPORTING_DIR "/%.*s", e->options.data_dir,
	    STR_FMT(row->id)).p;
}

/* ---- What came of it ------------------------------------------------ */

static void
note(struct work *x, enum outcome_level level, const char *code,
    struct str text)
{
	outcome_add(&x->outcome, &x->arena, level, code, text);
}

static const char *
code_of(const struct why *w)
{
	switch (w->err) {
	case ERR_EXISTS:
		return "path_not_empty";
	case ERR_DISK_FULL:
		return "disk_full";
	case ERR_DENIED:
		return "path_forbidden";
	case ERR_ABSENT:
		return "root_unavailable";
	case ERR_INPUT:
		return strcmp(w->field, "format") == 0 ?
		    "unsupported_export_format" : "bad_request";
	default:
		return "unknown_error";
	}
}

static void
fail(struct work *x, const char *code, const struct why *w)
{
	note(x, OUTCOME_ERROR, code, str_of(w->text[0] != '\0' ? w->text :
	    err_text(w->err)));
}

static void
take_notes(struct work *x, const struct export_result *r)
{
	static const enum outcome_level levels[EXPORT_CODES_N] = {
		[EXPORT_WARC_DAMAGED] = OUTCOME_WARNING,
		[EXPORT_WARC_MISSING] = OUTCOME_ERROR,
		[EXPORT_ITEM_FIELD_MISSING] = OUTCOME_WARNING,
		[EXPORT_CELL_TRUNCATED] = OUTCOME_WARNING,
		[EXPORT_ITEMS_DELETED] = OUTCOME_INFO };
	FREED(buf_free) struct buf text = BUF_INIT;

	for (size_t i = 0; i < r->notes.n; i++) {
		const struct export_note *n = &r->notes.list[i];
		buf_clear(&text);
		export_note_put(n, &text);
		note(x, levels[n->code], export_code_text(n->code),
		    buf_str(&text));
	}
	x->outcome.dropped += r->notes.dropped;
	x->outcome.counts = r->counts;
}

static int
by_name(const void *a, const void *b)
{
	const struct outcome_file *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

static void
list_files(struct work *x, const char *dir)
{
	struct str *names, begin = arena_printf(&x->arena, "%.*s_",
	    STR_FMT(x->id));
	struct outcome *o = &x->outcome;
	size_t n;

	if (file_list(dir, &x->arena, &names, &n, NULL) != OK)
		return;
	o->files = ARENA_ARRAY(&x->arena, struct outcome_file, n);
	for (size_t i = 0; i < n; i++) {
		struct outcome_file *f = &o->files[o->files_n];
		if (!str_starts(names[i], begin) &&
		    !str_eq(names[i], STR("README.txt")))
			continue;
		f->name = names[i];
		o->files_n += tree_kind(arena_printf(&x->arena, "%s/%.*s",
		    dir, STR_FMT(names[i])).p, &f->bytes) == TREE_FILE;
	}
	if (o->files_n > 0)
		qsort(o->files, o->files_n, sizeof(*o->files), by_name);
}

/* ---- Which files are read ------------------------------------------- */

static struct archive_file
file_of(struct work *x, struct str path)
{
	struct archive_file f = { .path = arena_copy(&x->arena, path).p };

	f.name = archive_base_name(str_of(f.path));
	/* One that is not there is noted when it is read. */
	if (tree_kind(f.path, &f.size) != TREE_FILE)
		f.size = 0;
	return f;
}

static struct str
dir_of(struct str path, struct arena *a)
{
	struct str dir = archive_dir_name(path);

	return dir.n > 0 ? arena_copy(a, dir) : STR("/");
}

/* A path of SFM's interface; false: it is none that may be read. */
static bool
take_path(struct work *x, struct str path, struct archive_file *out)
{
	const struct exporting_places *p = &x->exporting->places;
	struct why w = WHY_INIT;
	struct str local;

	enum err e = p->to_local == NULL ? why(&w, ERR_INPUT, "no directories "
	    "of others are known here") : p->to_local(p->arg, path, &x->arena,
	    &local, &w);
	if (e == OK)
		e = p->admit(p->arg, dir_of(local, &x->arena), &w);
	if (e == OK) {
		*out = file_of(x, local);
		if (tree_kind(out->path, NULL) != TREE_OTHER)
			return true;
		(void)why(&w, ERR_DENIED, "it is no plain file");
	}
	note(x, OUTCOME_ERROR, e == ERR_ABSENT ? "root_unavailable" :
	    "path_forbidden", arena_printf(&x->arena, "%.*s: %s",
	    STR_FMT(path), w.text));
	return false;
}

static enum err
ask_sfm(struct work *x, struct archive_file **files, size_t *n,
    struct why *w)
{
	const struct conf *c = x->exporting->options.conf;
	struct exporting_find f = { .order = &x->order, .watch = &x->watch,
		.api = conf_str(c, CONF_HARVEST_SFM_API).p,
		.tries_ms = EXPORTING_FIND_MS };
	struct str *paths;
	size_t paths_n;

	enum err e = exporting_find(&f, &x->arena, &paths, &paths_n, w);
	if (e != OK)
		return e;
	*files = ARENA_ARRAY(&x->arena, struct archive_file, paths_n);
	for (size_t i = 0; i < paths_n; i++)
		*n += take_path(x, paths[i], *files + *n);
	return OK;
}

static void
take_own(struct work *x, struct archive_file **files, size_t *n)
{
	*files = ARENA_ARRAY(&x->arena, struct archive_file, x->warcs_n);
	for (size_t i = 0; i < x->warcs_n; i++) {
		const struct store_warc *f = &x->warcs[i];
		struct store_harvest_warc place = { .name = f->name,
			.created = f->created };
		(*files)[(*n)++] = file_of(x, place_path(f->path.p, &place,
		    &x->arena));
	}
}

/* ---- The export ----------------------------------------------------- */

static void
set_owners(struct work *x, struct export_order *o)
{
	const struct exporting_order *order = &x->order;
	struct str *owners = ARENA_ARRAY(&x->arena, struct str,
	    order->seeds_n);

	o->by_owner = order->seeds_n > 0 && !order->nameless;
	for (size_t i = 0; i < order->seeds_n; i++)
		owners[i] = order->seeds[i].uid;
	o->owners = owners;
	o->owners_n = order->seeds_n;
	if (order->nameless)
		note(x, OUTCOME_WARNING, "seed_without_uid", STR("a seed "
		    "names no account, so the items of all accounts in its "
		    "WARC files are exported"));
}

static struct export_order
order_of(struct work *x, const char *dir, const struct archive_file *files,
    size_t n)
{
	const struct exporting_order *order = &x->order;
	struct export_order o = { .files = files, .files_n = n,
		.format = order->format, .items = &order->items,
		.items_n = 1, .into = dir, .id = x->id,
		.segment = order->segment, .dedupe = order->dedupe,
		.has_since = order->item_from.known,
		.since = order->item_from.at,
		.has_until = order->item_to.known, .until = order->item_to.at,
		.jobs = (unsigned)conf_int(x->exporting->options.conf,
		    CONF_HARVEST_EXPORT_THREADS),
		.columns = order->columns, .columns_n = order->columns_n,
		.deletes = order->deletes, .readme = order->readme,
		.watch = &x->watch };

	set_owners(x, &o);
	return o;
}

/* Above the export's directory, with the modes that others can use. */
static enum err
make_place(struct work *x, const char *dir, struct why *w)
{
	const struct exporting_places *p = &x->exporting->places;

	if (x->row.path.n == 0 || p->admit == NULL)
		return tree_make_dir(dir_of(str_of(dir), &x->arena).p, w);
	enum err e = p->admit(p->arg, x->row.path, w);
	return e == OK ? p->make_above(p->arg, x->row.path, w) : e;
}

static void
export_files(struct work *x, const char *dir,
    const struct archive_file *files, size_t n)
{
	struct export_order o = order_of(x, dir, files, n);
	struct export_result r = { .items = NULL };
	struct why w = WHY_INIT;

	enum err e = make_place(x, dir, &w);
	if (e == OK)
		e = export_run(&o, &r, &w);
	if (e == OK) {
		take_notes(x, &r);
		x->outcome.warcs = n - r.counts.missing;
		list_files(x, dir);
	} else if (e == ERR_CLOSED) {
		x->interrupted = true;
	} else {
		fail(x, code_of(&w), &w);
	}
	export_result_free(&r);
}

static void
make_export(struct work *x)
{
	const char *dir = work_dir(x->exporting, &x->row, &x->arena);
	struct archive_file *files = NULL;
	struct why w = WHY_INIT;
	size_t n = 0;
	enum err e = OK;

	if (x->asks_sfm)
		e = ask_sfm(x, &files, &n, &w);
	else
		take_own(x, &files, &n);
	if (e == ERR_CLOSED) {
		x->interrupted = true;
		return;
	}
	if (e != OK) {
		fail(x, e == ERR_INPUT ? "bad_request" : "unknown_error", &w);
		return;
	}
	atomic_store(&x->files_n, n);
	if (n == 0 && x->outcome.notes_n == 0)
		note(x, OUTCOME_ERROR, "no_warcs", STR("there are no WARC "
		    "files to export from"));
	if (n > 0)
		export_files(x, dir, files, n);
}

void
work_run(struct work *x)
{
	const struct outcome *o = &x->outcome;

	x->outcome = (struct outcome){ .success = true };
	make_export(x);
	for (size_t i = 0; i < o->notes_n; i++)
		x->outcome.success &= o->notes[i].level != OUTCOME_ERROR;
}
