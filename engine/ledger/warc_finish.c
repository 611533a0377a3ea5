/*
 * A WARC that is full, old or done gets its final name and its CDXJ.  The work
 * is idempotent: a crash in its middle is finished by the next start.
 */
#include "engine/archive/archive_port.h"
#include "engine/archive/index.h"
#include "engine/ledger/warc_set.h"
#include "os/log.h"

/* Bytes read at a time while a file is digested. */
#define READ_PIECE ((size_t)256 << 10)

static void
deliver_closing(struct mail *m)
{
	struct warc_finish *c = CONTAINER(CONTAINER(m, struct job, mail),
	    struct warc_finish, job);

	c->done(c);
}

static void
run_job(struct job *j)
{
	warc_finish_run(CONTAINER(j, struct warc_finish, job));
}

struct warc_finish *
warc_finish_new(struct ledger *l, const struct warc_record *r, int fd)
{
	struct warc_finish *c = mem_new(sizeof(*c));

	c->ledger = l;
	c->fd = fd;
	c->record = *r;
	c->record.dir = arena_copy(&c->arena, r->dir);
	c->record.work_dir = arena_copy(&c->arena, r->work_dir);
	c->record.name = arena_copy(&c->arena, r->name);
	c->job = (struct job){ .mail.deliver = deliver_closing,
	    .home = ledger_loop(l), .run = run_job };
	return c;
}

void
warc_finish_free(struct warc_finish **cp)
{
	struct warc_finish *c = *cp;

	archive_port()->close(&c->fd);
	arena_free(&c->arena);
	mem_free(cp);
}

static bool
has_size(const char *path, uint64_t size)
{
	uint64_t found;

	return archive_probe(path, &found, NULL) == OK && found == size;
}

/* Nothing but the warcinfo: the file goes (warc.md section 7). */
static enum err
drop_file(struct warc_finish *c, const char *open_path)
{
	struct str cdxj = warc_record_path(&c->record, PATH_OPEN_CDXJ,
	    &c->arena);

	enum err e = archive_port()->remove(open_path, NULL);
	if (archive_port()->remove(cdxj.p, NULL) != OK)
		log_debug("ledger.cdxj", "text=\"there was none\"");
	c->record.state = WARC_REMOVED;
	return e == ERR_ABSENT ? OK : e;
}

/*
 * The name may be recorded only when no power cut can take it back.  The
 * directory of the old one may be gone: a backup has no empty directories.
 */
static enum err
sync_names(const char *open_path, const char *path, struct why *w)
{
	struct why inner = WHY_INIT;
	enum err e = archive_port()->place(path, w);

	if (e != OK)
		return e;
	e = archive_port()->place(open_path, &inner);
	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "%s", inner.text);
}

/*
 * Recovery leaves nothing in the work directory, which is then looked through
 * for files that no record names; the lines wait in the directory above it.
 */
static struct str
lines_aside(struct warc_finish *c)
{
	struct str dir = c->record.work_dir;
	size_t n = dir.n;

	while (n > 0 && dir.p[n - 1] != '/')
		n--;
	return arena_printf(&c->arena, "%.*s%.*s.cdxj.open", (int)n, dir.p,
	    STR_FMT(c->record.name));
}

/* The index is a convenience: without it `argiope archive index` helps. */
static void
write_cdxj(struct warc_finish *c, const char *path)
{
	struct why w = WHY_INIT;
	struct str lines = c->named ? lines_aside(c) :
	    warc_record_path(&c->record, PATH_OPEN_CDXJ, &c->arena);
	struct str sorted = warc_record_path(&c->record, PATH_DONE_CDXJ,
	    &c->arena);

	enum err e = archive_cdxj_finish(path, lines.p, sorted.p, &w);
	if (e == OK)
		e = archive_port()->place(path, &w);
	c->no_cdxj = e != OK;
	if (e != OK)
		log_warn("ledger.cdxj", "why=%s", log_why(&w));
}

static void
name_or_drop(struct warc_finish *c)
{
	struct why *w = &c->result;
	struct str open_path = warc_record_path(&c->record, PATH_OPEN,
	    &c->arena);
	struct str path = warc_record_path(&c->record, PATH_DONE, &c->arena);

	if (c->record.end <= c->record.first) {
		why(w, drop_file(c, open_path.p), "cannot remove %s",
		    open_path.p);
		return;
	}
	enum err e = OK;
	if (c->fd < 0)
		e = archive_port()->reopen(open_path.p, &c->fd, NULL);
	if (e == OK)
		e = archive_port()->finish(c->fd, c->record.end, open_path.p,
		    path.p, w);
	/* Renamed before a crash: a target of that size is our own file. */
	else if (has_size(path.p, c->record.end))
		e = sync_names(open_path.p, path.p, w);
	if (e != OK) {
		why(w, e, "cannot finish %s: %s", open_path.p, err_text(e));
		return;
	}
}

void
warc_finish_name(struct warc_finish *c)
{
	name_or_drop(c);
	if (c->result.err != OK || c->record.state == WARC_REMOVED)
		return;
	struct str lines = warc_record_path(&c->record, PATH_OPEN_CDXJ,
	    &c->arena);
	/* Without them the index is made from the file. */
	if (archive_port()->rename(lines.p, lines_aside(c).p, NULL) != OK)
		log_debug("ledger.cdxj", "text=\"no lines were kept\"");
	c->named = true;
	c->record.state = WARC_CLOSING;
}

static const struct warc_owner *
owner_of(struct ledger *l, const struct warc_record *r)
{
	return &ledger_options(l)->owners[r->owner];
}

/* The digest of a finished file. */
static enum err
digest_file(const char *path, enum digest_kind kind, struct digest *out,
    struct why *w)
{
	FREED(digest_hasher_free) struct digest_hasher *h = digest_hasher_new();
	char *piece = mem_new(READ_PIECE);
	uint64_t at = 0;
	size_t got = 1;
	int fd = -1;

	enum err e = archive_port()->open(path, &fd, w);
	digest_start(h, kind);
	while (e == OK && got > 0) {
		e = archive_port()->read_at(fd, at, piece, READ_PIECE, &got, w);
		if (e == OK)
			digest_add(h, (struct str){ piece, got });
		at += got;
	}
	digest_end(h, out);
	archive_port()->close(&fd);
	mem_free(&piece);
	return e;
}

static enum err
tell_owner(struct warc_finish *c, struct str path)
{
	const struct warc_owner *o = owner_of(c->ledger, &c->record);
	struct warc_closed closed = { .crawl = c->record.crawl,
	    .file = c->record.id, .path = path, .size = c->record.end };
	enum digest_kind kind = (enum digest_kind)c->record.digest;
	enum err e = OK;

	if (o->closed == NULL)
		return OK;
	if (kind != DIGEST_NONE)
		e = digest_file(path.p, kind, &closed.digest, &c->result);
	return e == OK ? o->closed(o->arg, &closed, &c->result) : e;
}

void
warc_finish_run(struct warc_finish *c)
{
	if (!c->named)
		name_or_drop(c);
	if (c->result.err != OK || c->record.state == WARC_REMOVED)
		return;
	struct str path = warc_record_path(&c->record, PATH_DONE, &c->arena);
	write_cdxj(c, path.p);
	c->record.state = WARC_CLOSED;
	if (!c->no_cdxj && tell_owner(c, path) != OK)
		c->record.state = WARC_CLOSING;
}

/* The record of a finished file is on its way to the disk. */
struct finish {
	struct promise promise;
	const struct warc_owner *owner;
	uint32_t crawl, file;
};

static void
finish_kept(struct promise *p, enum err e)
{
	struct finish *f = CONTAINER(p, struct finish, promise);

	if (e == OK)
		f->owner->finished(f->owner->arg, f->crawl, f->file);
	mem_free(&f);
}

static void
promise_finish(struct ledger *l, const struct warc_record *r)
{
	if (owner_of(l, r)->finished == NULL)
		return;
	struct finish *f = mem_new(sizeof(*f));
	f->promise.kept = finish_kept;
	f->owner = owner_of(l, r);
	f->crawl = r->crawl;
	f->file = r->state == WARC_CLOSED ? r->id : 0;
	ledger_promise(l, &f->promise);
}

void
warc_finish_put(struct warc_finish *c)
{
	warc_set_file_closed(c->ledger, &c->record);
	if (c->record.state != WARC_CLOSING)
		promise_finish(c->ledger, &c->record);
}

void
warc_finish_announce(struct ledger *l, const struct warc_record *r)
{
	const struct warc_owner *o = owner_of(l, r);

	if (o->closing != NULL)
		o->closing(o->arg, r->crawl);
}
