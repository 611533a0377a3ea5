/*
 * WARC files after a crash: each is cut to what was committed and closed; none
 * is ever appended to again (DESIGN.md, "Recovery").
 */
#include "base/map.h"
#include "engine/archive/archive_port.h"
#include "engine/archive/capture.h"
#include "engine/archive/moved.h"
#include "engine/ledger/audit.h"
#include "engine/ledger/warc_set.h"
#include "os/log.h"
#include "wire/gzip.h"

/*
 * A power cut may have torn a head between two sectors: its length is there and
 * its group is not.  A member that is not whole says nothing of any group.
 */
static bool
is_torn(int fd, uint64_t at, const struct gzip_head *h)
{
	struct capture_reader *r =
	    capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	struct capture c;

	enum err e = capture_read(r, fd, at, h->lengths.clen,
	    h->lengths.ulen, &c, NULL);
	capture_reader_free(&r);
	return e == ERR_CORRUPT;
}

/* Whole members behind the committed end must be of the group that was lost. */
static enum err
check_tail(const struct warc_record *r, int fd, const char *path,
    uint64_t size, uint64_t last_group, struct why *w)
{
	char bytes[GZIP_HEAD_BYTES];
	struct gzip_head h;
	size_t got;

	for (uint64_t at = r->end; at + sizeof(bytes) <= size;) {
		enum err e = archive_port()->read_at(fd, at, bytes,
		    sizeof(bytes), &got, w);
		if (e != OK)
			return e;
		if (gzip_head_parse((struct str){ bytes, got }, &h) !=
		    GZIP_HEAD_OK || !h.has_numbers || !h.has_lengths ||
		    h.lengths.clen == 0)
			return OK;      /* torn: no whole member */
		/* What a file that was given up holds in vain was committed in
		 * another one: warc_set_move(). */
		if (h.group != last_group + 1 &&
		    (r->state != WARC_CLOSING || h.group > last_group))
			return is_torn(fd, at, &h) ? OK :
			    why(w, ERR_CORRUPT, "%s holds a record of "
			    "commit group %llu, but the commit log ends at "
			    "group %llu: the log is older than the archive",
			    path,
			    (unsigned long long)h.group,
			    (unsigned long long)last_group);
		at += h.lengths.clen;
	}
	return OK;
}

static enum err
too_short(const struct warc_record *r, const char *path, uint64_t size,
    struct why *w)
{
	return why(w, ERR_CORRUPT, "%s has %llu bytes, but %llu were "
	    "committed: the archive is older than the data directory", path,
	    (unsigned long long)size, (unsigned long long)r->end);
}

/* It got its name, or was dropped, and only the record of that was lost. */
static enum err
look_at_named(const struct warc_record *r, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str path = warc_record_path(r, PATH_DONE, &a);
	uint64_t size = 0;

	enum err e = archive_probe(path.p, &size, NULL);
	if (e == ERR_ABSENT && r->end <= r->first)
		e = OK;
	else if (e == ERR_ABSENT || (e == OK && size < r->end))
		e = too_short(r, path.p, size, w);
	else if (e == OK && size > r->end)
		e = why(w, ERR_CORRUPT, "%s has %llu bytes, but the data "
		    "directory knows of %llu only: the log is older than the "
		    "archive", path.p, (unsigned long long)size,
		    (unsigned long long)r->end);
	else if (e != OK)
		e = why(w, e, "cannot open %s: %s", path.p, err_text(e));
	return e;
}

static enum err
cut_tail(struct warc_record *r, uint64_t last_group, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str path = warc_record_path(r, PATH_OPEN, &a);
	uint64_t size = 0;
	int fd = -1;

	enum err e = archive_port()->reopen(path.p, &fd, NULL);
	if (e == ERR_ABSENT)
		return look_at_named(r, w);
	if (e != OK)
		e = why(w, e, "cannot open %s: %s", path.p, err_text(e));
	if (e == OK)
		e = archive_port()->size(fd, &size, w);
	if (e == OK && size < r->end)
		e = too_short(r, path.p, size, w);
	if (e == OK && size > r->end) {
		e = check_tail(r, fd, path.p, size, last_group, w);
		if (e == OK)
			e = archive_port()->cut(fd, r->end, w);
		if (e == OK)
			log_info("ledger.cut", "file=%s bytes=%llu", path.p,
			    (unsigned long long)(size - r->end));
	}
	archive_port()->close(&fd);
	return e;
}

static enum err
finish_file(struct ledger *l, struct index *x, struct index_batch *b,
    const struct warc_record *r, struct why *w)
{
	struct warc_finish *c = warc_finish_new(l, r, -1);
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;

	warc_finish_name(c);
	enum err e = c->result.err == OK ? OK : why(w, c->result.err, "%s",
	    c->result.text);
	if (e == OK) {
		buf_put_be32(&key, c->record.id);
		warc_record_put(&c->record, index_context(x), &value);
		index_put(x, b, INDEX_WARC, buf_str(&key), buf_str(&value));
		e = index_write(x, b, w);
	}
	if (e == OK && c->named) {
		warc_finish_announce(l, &c->record);
		ledger_closing_later(l, c);
	} else {
		warc_finish_free(&c);
	}
	return e;
}

/* --- quarantine ---------------------------------------------------------- */

/* Under its own name, or with a number behind it. */
static enum err
move_aside(const char *from, struct str to, struct arena *a)
{
	enum err e = archive_port()->rename(from, to.p, NULL);

	for (unsigned i = 1; e == ERR_EXISTS && i < 1000; i++)
		e = archive_port()->rename(from, arena_printf(a, "%.*s.%u",
		    STR_FMT(to), i).p, NULL);
	return e;
}

/* OK when no member is of a group behind the one that was lost. */
static enum err
check_lost(const char *path, uint64_t last_group, struct why *w)
{
	char bytes[GZIP_HEAD_BYTES];
	struct gzip_head h;
	uint64_t at = 0;
	size_t got;
	int fd = -1;

	enum err e = archive_port()->open(path, &fd, NULL);
	while (e == OK) {
		e = archive_port()->read_at(fd, at, bytes, sizeof(bytes), &got,
		    NULL);
		if (e != OK || gzip_head_parse((struct str){ bytes, got },
		    &h) != GZIP_HEAD_OK || !h.has_numbers || !h.has_lengths ||
		    h.lengths.clen == 0)
			break;
		if (h.group > last_group + 1)
			e = is_torn(fd, at, &h) ? OK : why(w, ERR_CORRUPT,
			    "%s holds a record of commit group %llu, but the "
			    "commit log ends at group %llu: the log is older "
			    "than the archive", path,
			    (unsigned long long)h.group,
			    (unsigned long long)last_group);
		at += h.lengths.clen;
	}
	archive_port()->close(&fd);
	return e == ERR_CORRUPT ? e : OK;
}

/*
 * All files that were being written have their names by now, no other has.
 * Errors: CORRUPT when one was committed, by a log that is newer than this.
 */
static enum err
quarantine_files(struct str dir, struct str work_dir, uint64_t last_group,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n;
	struct str aside = arena_printf(&a, "%.*s/.argiope/quarantine",
	    STR_FMT(dir));
	const char *from_dir = arena_copy(&a, work_dir).p;
	struct str to = STR_NONE;
	enum err lost = OK;

	enum err e = archive_port()->list(from_dir, &a, &names, &n, NULL);
	if (e == ERR_ABSENT)
		n = 0;
	for (size_t i = 0; e == OK && lost == OK && i < n; i++)
		lost = check_lost(arena_printf(&a, "%s/%.*s", from_dir,
		    STR_FMT(names[i])).p, last_group, w);
	if (lost != OK)
		return lost;
	for (size_t i = 0; e == OK && i < n; i++) {
		struct str from = arena_printf(&a, "%s/%.*s", from_dir,
		    STR_FMT(names[i]));
		to = arena_printf(&a, "%.*s/%.*s", STR_FMT(aside),
		    STR_FMT(names[i]));
		e = move_aside(from.p, to, &a);
		if (e == OK)
			log_warn("ledger.quarantine", "file=%s to=%s",
			    log_quoted(from), aside.p);
	}
	if (e == OK && n > 0)
		e = archive_port()->place(to.p, NULL);
	/* They are in nobody's way: a name is never given twice. */
	if (e != OK && e != ERR_ABSENT)
		log_warn("ledger.quarantine", "dir=%s error=%s",
		    log_quoted(str_of(from_dir)), err_name(e));
	return OK;
}

enum err
ledger_quarantine(struct ledger *l, const char *dir, const char *work_dir,
    const char *prefix, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	return quarantine_files(str_of(dir), warc_work_dir(dir, work_dir,
	    prefix, &a), ledger_last_group(l), w);
}

/* --- all files ----------------------------------------------------------- */

/* A directory in which files were being written when the crash came. */
struct work_dir {
	struct str dir, path;
};

static void
remember_dir(struct map *dirs, struct arena *a, const struct warc_record *r)
{
	if (map_get(dirs, r->work_dir) != NULL)
		return;
	struct work_dir *d = ARENA_NEW(a, struct work_dir);
	d->dir = arena_copy(a, r->dir);
	d->path = arena_copy(a, r->work_dir);
	map_put(dirs, d->path, d);
}

static enum err
recover_file(struct ledger *l, struct index *x, struct index_batch *b,
    struct warc_record *r, uint64_t last_group, struct why *w)
{
	enum err e = cut_tail(r, last_group, w);

	return e == OK ? finish_file(l, x, b, r, w) : e;
}

/* Lines about single files at one start. */
#define LOST_SHOWN 10

struct lost_files {
	uint64_t lost, moved, unreadable;
};

/* The first one is enough to show that a hook moves files. */
static void
report_moved(const struct audit_finding *f, struct lost_files *n)
{
	n->unreadable += !f->readable;
	if (n->moved++ == 0)
		log_warn("ledger.archive", "text=\"a finished WARC file was "
		    "moved; %s\" file=%s moved_to=%s", f->readable ?
		    "it is read there" : "its captures cannot be read there",
		    log_quoted(str_of(f->path)), log_quoted(str_of(f->moved)));
}

static bool
is_there(const char *path)
{
	uint64_t size;

	return archive_probe(path, &size, NULL) == OK;
}

/* A harvest's file that went to its place, where a volume may hang. */
static bool
is_brought_away(const struct warc_record *r, struct arena *a)
{
	return r->owner == WARC_OF_HARVEST && is_there(arena_printf(a,
	    "%s" MOVED_SUFFIX, warc_record_path(r, PATH_DONE, a).p).p);
}

/* The crawl can go on without it; whoever keeps the archive must know. */
static void
report_lost(const struct warc_record *r, struct arena *a,
    struct lost_files *n)
{
	struct audit_finding f;

	if (is_brought_away(r, a) || audit_record(r, a, &f))
		return;
	if (f.moved != NULL) {
		report_moved(&f, n);
		return;
	}
	if (++n->lost > LOST_SHOWN)
		return;
	const char *path = log_quoted(str_of(f.path));
	if (f.missing)
		log_warn("ledger.archive", "text=\"a finished WARC file is "
		    "missing; its captures cannot be read until it is "
		    "restored\" file=%s bytes=%llu", path,
		    (unsigned long long)f.recorded);
	else
		log_warn("ledger.archive", "text=\"a finished WARC file is "
		    "shorter than recorded; restore it\" file=%s bytes=%llu "
		    "recorded=%llu", path, (unsigned long long)f.bytes,
		    (unsigned long long)f.recorded);
}

static void
report_more(const struct lost_files *n)
{
	if (n->lost > LOST_SHOWN)
		log_warn("ledger.archive", "text=\"%llu finished WARC "
		    "files are missing or shorter than recorded; argiope "
		    "archive check names them\"",
		    (unsigned long long)n->lost);
	if (n->moved > 1)
		log_warn("ledger.archive", "text=\"%llu finished WARC files "
		    "were moved, and %llu of them cannot be read there; "
		    "argiope archive check names them\"",
		    (unsigned long long)n->moved,
		    (unsigned long long)n->unreadable);
}

/*
 * The records written here are only in the index's memory; if they are lost
 * too, the next start does the same work again and finds it done.
 */
enum err
ledger_recover_warcs(struct ledger *l, struct index *x, uint64_t last_group,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT, one = ARENA_INIT;
	struct map dirs = MAP_INIT;
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_WARC);
	FREED(index_batch_free) struct index_batch *b = index_batch_new();
	struct str key, value;
	enum err e = OK;
	struct lost_files lost = { 0 };
	size_t at = 0;
	const struct work_dir *d;

	for (index_iter_seek(i, STR("")); e == OK &&
	    index_iter_valid(i, &key, &value); index_iter_next(i)) {
		struct warc_record r;
		struct reader in = reader_of(key);
		arena_reset(&one);
		if (!warc_record_parse(value, index_context(x), &one, &r)) {
			e = why(w, ERR_CORRUPT, "a WARC's record in the index "
			    "is damaged");
			break;
		}
		r.id = read_be32(&in);
		ledger_warc_seen(l, r.id);
		report_lost(&r, &one, &lost);
		if (r.state != WARC_OPEN && r.state != WARC_CLOSING)
			continue;
		remember_dir(&dirs, &a, &r);
		e = recover_file(l, x, b, &r, last_group, w);
	}
	if (e == OK)
		e = index_iter_error(i, w);
	report_more(&lost);
	while (e == OK && (d = map_next(&dirs, &at)) != NULL)
		e = quarantine_files(d->dir, d->path, last_group, w);
	map_free(&dirs);
	return e;
}

enum err
ledger_warc_path(struct index *x, uint32_t file, struct arena *a,
    struct str *path, struct why *w)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct warc_record r;
	struct str value;

	buf_put_be32(&key, file);
	enum err e = index_get(x, INDEX_WARC, buf_str(&key), a, &value, w);
	if (e != OK)
		return e;
	if (!warc_record_parse(value, index_context(x), a, &r))
		return why(w, ERR_CORRUPT, "the record of WARC %u is damaged",
		    file);
	/*
	 * While a file is closing it has one name or the other; when its end
	 * failed it keeps the first until the next start.
	 */
	*path = warc_record_path(&r, PATH_OPEN, a);
	if (r.state != WARC_OPEN && (r.state != WARC_CLOSING ||
	    !is_there(path->p)))
		*path = warc_record_path(&r, PATH_DONE, a);
	return OK;
}

enum err
ledger_warc_readable(struct index *x, uint32_t file, struct arena *a,
    struct str *path, struct why *w)
{
	enum err e = ledger_warc_path(x, file, a, path, w);

	return e == OK ? moved_resolve(*path, a, path, w) : e;
}

enum err
ledger_warc_open(struct index *x, uint32_t file, int *fd, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why own;
	struct str path, place;
	enum err e = OK;

	*fd = -1;
	for (int tries = 0; tries < 3; tries++) {
		own = (struct why)WHY_INIT;
		e = ledger_warc_path(x, file, &a, &path, &own);
		if (e == OK)
			e = archive_port()->open(path.p, fd, NULL);
		else
			break;
		if (e == ERR_ABSENT && moved_resolve(path, &a, &place, &own)
		    == OK)
			e = archive_port()->open(place.p, fd, &own);
		if (e != ERR_ABSENT)
			break;
	}
	if (e != OK)
		why(w, e, "%s", own.err != OK ? own.text : err_text(e));
	return e;
}

bool
ledger_warc_is_unfinished(struct index *x, uint32_t file)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf key = BUF_INIT;
	struct warc_record r;
	struct str value;

	buf_put_be32(&key, file);
	return index_get(x, INDEX_WARC, buf_str(&key), &a, &value, NULL) == OK
	    && warc_record_parse(value, index_context(x), &a, &r) && (r.state ==
	    WARC_OPEN || r.state == WARC_CLOSING);
}
