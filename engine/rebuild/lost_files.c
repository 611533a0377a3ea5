/*
 * Which finished WARC files a rebuild could not read: the old index recorded
 * them, or their CDXJ is left, or a note says that a hook moved them to where
 * they cannot be read.
 */
#include "base/map.h"
#include "engine/archive/archive_port.h"
#include "engine/ledger/audit.h"
#include "engine/rebuild/parts.h"
#include "os/log.h"

#define CDXJ_SUFFIX STR(".cdxj")

struct lost {
	const struct rebuild_options *options;
	struct rebuild_counts *counts;
	struct arena arena;
	struct map known;            /* names that are read or reported */
};

static void
report_loss(struct lost *l, const char *path, enum rebuild_loss loss,
    const char *place)
{
	map_put(&l->known, arena_copy(&l->arena, archive_base_name(str_of(
	    path))), l);
	if (loss == REBUILD_MOVED)
		l->counts->gone++;
	else
		l->counts->lost++;
	log_warn("rebuild.lost", "file=%s %s=%s", log_quoted(str_of(path)),
	    loss == REBUILD_MOVED ? "moved_to" : "state",
	    loss == REBUILD_MOVED ? log_quoted(str_of(place)) :
	    loss == REBUILD_SHORTER ? "shorter" : "missing");
	if (l->options->lost != NULL)
		l->options->lost(l->options->arg, path, loss, place);
}

/* As the old index recorded it; it may have been found in another directory. */
static void
found_by_index(void *arg, const struct audit_finding *f)
{
	struct lost *l = arg;

	if (f->missing && map_get(&l->known, str_of(f->name)) == NULL)
		report_loss(l, f->path, REBUILD_MISSING, NULL);
	else if (!f->missing && f->moved == NULL)
		report_loss(l, f->path, REBUILD_SHORTER, NULL);
}

/* "NAME.warc.gz.cdxj" without its file. */
static void
look_at_cdxj(struct lost *l, const char *dir, struct str cdxj)
{
	struct str name = str_cut(cdxj, 0, cdxj.n - CDXJ_SUFFIX.n);

	if (archive_name_is_warc(name) && map_get(&l->known, name) == NULL)
		report_loss(l, arena_printf(&l->arena, "%s/%.*s", dir,
		    STR_FMT(name)).p, REBUILD_MISSING, NULL);
}

/* What is no directory has nothing below it. */
static enum err
look_below(struct lost *l, const char *dir, int depth, struct why *w)
{
	struct str *names;
	size_t n;
	struct why inner = WHY_INIT;
	enum err e = archive_port()->list(dir, &l->arena, &names, &n, &inner);

	if (e != OK)
		return e == ERR_ABSENT ? OK : why(w, e, "%s", inner.text);
	for (size_t i = 0; e == OK && i < n; i++) {
		if (names[i].p[0] == '.' || archive_name_is_warc(names[i]))
			continue;
		if (str_ends(names[i], CDXJ_SUFFIX))
			look_at_cdxj(l, dir, names[i]);
		else if (depth < ARCHIVE_DEPTH_MAX)
			e = look_below(l, arena_printf(&l->arena, "%s/%.*s",
			    dir, STR_FMT(names[i])).p, depth + 1, w);
	}
	return e;
}

enum err
rebuild_lost(const struct rebuild_options *o, struct rebuild_counts *counts,
    struct frontier *old, const struct archive_catalogue *c, struct why *w)
{
	struct lost l = { .options = o, .counts = counts };
	enum err e = OK;

	for (size_t i = 0; i < c->n; i++) {
		map_put(&l.known, c->files[i].name, &l);
		counts->moved += c->files[i].moved_from != NULL;
	}
	for (size_t i = 0; i < c->gone_n; i++)
		report_loss(&l, c->gone[i].path, REBUILD_MOVED,
		    c->gone[i].place);
	if (old != NULL)
		e = audit_index(ledger_index(frontier_ledger(old)),
		    found_by_index, &l, w);
	for (size_t i = 0; e == OK && i < o->dirs_n; i++)
		e = look_below(&l, o->dirs[i], 0, w);
	map_free(&l.known);
	arena_free(&l.arena);
	return e;
}
