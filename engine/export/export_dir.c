#include "engine/export/export_dir.h"

#include "engine/archive/archive.h"
#include "os/file.h"
#include "os/system.h"
#include "os/tree.h"

#define LOCK_NAME "lock"

/* --- names -------------------------------------------------------------- */

/* "x_001.csv": three digits or more, and an ending that formats have. */
static bool
is_segment(struct str name)
{
	static const char *const endings[] = { ".csv", ".tsv", ".json",
		".txt", ".xlsx", ".html" };
	size_t digits = 0, i = 0;

	while (i < ARRAY_LEN(endings) &&
	    !str_ends(name, str_of(endings[i])))
		i++;
	if (i == ARRAY_LEN(endings))
		return false;
	name.n -= strlen(endings[i]);
	while (digits < name.n && ascii_is_digit(name.p[name.n - digits - 1]))
		digits++;
	return digits >= 3 && digits < name.n &&
	    name.p[name.n - digits - 1] == '_';
}

bool
export_dir_is_own(struct str name)
{
	return is_segment(name) || str_eq(name, STR("README.txt")) ||
	    str_ends(name, STR("-README.txt"));
}

static struct str
above(const struct export_dir *d)
{
	struct str dir = archive_dir_name(str_of(d->into));

	return dir.n > 0 ? dir : d->into[0] == '/' ? STR("/") : STR(".");
}

/* --- opening ------------------------------------------------------------ */

static enum err
check_place(struct export_dir *d, struct why *w)
{
	struct str *names, base = archive_base_name(str_of(d->into));
	size_t n = 0;

	if (base.n == 0 || str_eq(base, STR(".")) || str_eq(base, STR("..")))
		return why(w, ERR_INPUT, "%s cannot be replaced; name a "
		    "directory in it", d->into);
	switch (tree_kind(d->into, NULL)) {
	case TREE_ABSENT:
		return OK;
	case TREE_DIR:
		break;
	default:
		return why(w, ERR_EXISTS, "%s is there and is no directory",
		    d->into);
	}
	enum err e = file_list(d->into, &d->arena, &names, &n, w);
	for (size_t i = 0; i < n && e == OK; i++)
		if (!export_dir_is_own(names[i]))
			e = why(w, ERR_EXISTS, "%s contains %.*s, which is no "
			    "file of an export; name another directory",
			    d->into, STR_FMT(names[i]));
	return e;
}

/* What an export left that was ended before its end is removed. */
static enum err
make_hidden(struct export_dir *d, struct why *w)
{
	int64_t holder;
	struct why own = WHY_INIT;

	enum err e = file_make_dir(d->hidden, w);
	if (e == OK)
		e = file_lock_dir(d->hidden, &d->lock, &holder, &own);
	if (e == ERR_BUSY)
		return why(w, e, "another export to %s is under way in process "
		    "%lld", d->into, (long long)holder);
	if (e != OK)
		return why(w, e, "%s", own.text);
	e = tree_remove(d->path, w);
	return e == OK ? file_make_dir(d->path, w) : e;
}

enum err
export_dir_open(struct export_dir *d, const char *into, struct why *w)
{
	struct arena *a = &d->arena;
	struct str s = str_of(into);

	*d = (struct export_dir){ .lock = -1 };
	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	d->into = arena_copy(a, s).p;
	enum err e = check_place(d, w);
	if (e == OK)
		e = file_make_dir(arena_copy(a, above(d)).p, w);
	if (e == OK) {
		d->hidden = arena_printf(a, "%.*s/.%.*s.export",
		    STR_FMT(above(d)), STR_FMT(archive_base_name(s))).p;
		d->path = arena_printf(a, "%s/new", d->hidden).p;
		e = make_hidden(d, w);
	}
	if (e != OK)
		export_dir_abandon(d);
	return e;
}

/* --- the end ------------------------------------------------------------ */

void
export_dir_abandon(struct export_dir *d)
{
	/* Without the lock another export is at work there. */
	if (d->lock >= 0)
		(void)!tree_remove(d->hidden, NULL);
	file_close(&d->lock);
	arena_free(&d->arena);
	d->hidden = NULL;
}

/* Where two names cannot be exchanged there is a moment without the place. */
static enum err
exchange_by_renames(struct export_dir *d, struct why *w)
{
	struct str old = arena_printf(&d->arena, "%s/old", d->hidden);
	enum err e = file_rename_new(d->into, old.p, w);

	if (e != OK)
		return e;
	e = file_rename_new(d->path, d->into, w);
	if (e != OK)
		(void)!file_rename_new(old.p, d->into, NULL);
	return e;
}

static enum err
take_place(struct export_dir *d, struct why *w)
{
	if (tree_kind(d->into, NULL) == TREE_ABSENT)
		return file_rename_new(d->path, d->into, w);
	/* It may have been filled meanwhile. */
	enum err e = check_place(d, w);
	if (e != OK)
		return e;
	e = tree_exchange(d->path, d->into, NULL);
	return e == ERR_STATE ? exchange_by_renames(d, w) : e == OK ? OK :
	    why(w, e, "cannot exchange %s: %s", d->into, err_text(e));
}

enum err
export_dir_commit(struct export_dir *d, struct why *w)
{
	struct str dir = arena_copy(&d->arena, above(d));
	enum err e = tree_share(d->path, w);

	if (e == OK)
		e = file_sync_dir(d->path, w);
	if (e == OK)
		e = take_place(d, w);
	if (e == OK)
		e = file_sync_dir(dir.p, w);
	/* With what was there before. */
	export_dir_abandon(d);
	return e;
}
