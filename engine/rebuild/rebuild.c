/*
 * Where a rebuild reads and writes:
 *
 *     DIR/...NAME.warc.gz             finished files: read
 *     DIR/.argiope/CRAWL/NAME.open    being written: cut, read, named
 *     DATA/.rebuild/{index,log}       built here ─► DATA/{index,log}
 *     DATA/{index,log}                the old ones ─► DATA/replaced-N/
 *
 * DATA/.rebuild/ready says that both parts are whole; it holds the name of
 * replaced-N.  From then on until the new directory was opened once, a start
 * refuses (rebuild_unfinished()), and the next rebuild goes on with the moves.
 */
#include "base/map.h"
#include "engine/archive/archive_port.h"
#include "engine/archive/moved.h"
#include "engine/archive/sort.h"
#include "engine/rebuild/parts.h"
#include "engine/rebuild/replay.h"
#include "engine/rebuild/snapshot.h"
#include "os/file.h"
#include "os/log.h"

#define SEGMENT_BYTES ((size_t)8 << 20)
#define WRITE_BUFFER ((size_t)16 << 20)
#define CACHE_BYTES ((size_t)16 << 20)
#define PROGRESS_EVERY 64

/* What is known of a file beyond its name. */
struct source {
	struct str warc_dir;         /* whose file it is */
	struct str dir, work_dir;    /* of finished files; where it is */
	struct str name;             /* the final one */
	struct tail tail;            /* of one that is open */
	bool open;
	bool other;                  /* its warcinfo names no crawl of ours */
	uint32_t id;                 /* the ledger's; 0: it tells no crawl */
};

struct rebuild {
	const struct rebuild_options *options;
	struct rebuild_counts *counts;
	struct arena arena;
	struct archive_catalogue files;
	struct source *sources;      /* as many as files */
	size_t files_cap, sources_cap, gone_cap;
	struct map listed;           /* by path: one may be named twice */
	struct str build_dir;
	int lock_fd;
	struct loop *loop;
	struct pool *pool;
	struct frontier *frontier;
	struct frontier *old;        /* what is replaced; NULL: unreadable */
	struct replay *replay;
	uint64_t told;
};

static void
progress(const struct rebuild *b, const char *what, uint64_t done,
    uint64_t total)
{
	if (b->options->progress != NULL)
		b->options->progress(b->options->arg, what, done, total);
}

static struct str
in_data(struct rebuild *b, const char *name)
{
	return arena_printf(&b->arena, "%s/%s", b->options->data_dir, name);
}

/* --- the place ---------------------------------------------------------- */

static bool
is_there(struct rebuild *b, const char *path)
{
	struct str *names;
	size_t n;

	return file_list(path, &b->arena, &names, &n, NULL) == OK && n > 0;
}

/* Files in folders: an attempt that was broken off.  Absent is fine. */
static enum err
remove_build(struct rebuild *b, struct why *w)
{
	static const char *const parts[] = { "/index", "/log", "" };
	struct str *names;
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *dir = arena_printf(&b->arena, "%.*s%s",
		    STR_FMT(b->build_dir), parts[i]).p;
		enum err e = file_list(dir, &b->arena, &names, &n, NULL);
		if (e == ERR_ABSENT)
			continue;
		for (size_t k = 0; e == OK && k < n; k++)
			e = file_remove(arena_printf(&b->arena, "%s/%.*s", dir,
			    STR_FMT(names[k])).p, w);
		if (e == OK)
			e = file_remove(dir, w);
		if (e != OK)
			return why(w, e, "cannot remove %s", dir);
	}
	return OK;
}

/* replaced-1, replaced-2, ...: the first that is not there. */
static struct str
free_name(struct rebuild *b)
{
	struct str *names;
	size_t n;

	for (unsigned i = 1;; i++) {
		struct str name = arena_printf(&b->arena, "replaced-%u", i);
		if (file_list(in_data(b, name.p).p, &b->arena, &names, &n,
		    NULL) == ERR_ABSENT)
			return name;
	}
}

/* The new part takes the place of the old one, which is kept. */
static enum err
move_part(struct rebuild *b, struct str aside, const char *name,
    struct why *w)
{
	struct arena *a = &b->arena;
	struct str from = arena_printf(a, "%.*s/%s", STR_FMT(b->build_dir),
	    name), to = in_data(b, name);
	struct str kept = arena_printf(a, "%s/%.*s", b->options->data_dir,
	    STR_FMT(aside));
	struct str *names;
	size_t n;
	enum err e = OK;

	if (file_list(from.p, a, &names, &n, NULL) != OK)
		return OK;           /* moved by an attempt before this one */
	if (is_there(b, to.p)) {
		e = file_make_dir(kept.p, w);
		if (e == OK)
			e = file_rename_new(to.p, arena_printf(a, "%.*s/%s",
			    STR_FMT(kept), name).p, w);
		if (e == OK)
			e = file_sync_dir(kept.p, w);
	} else {
		/* An empty one would be in the way. */
		(void)!file_remove(to.p, NULL);
	}
	if (e == OK)
		e = file_rename_new(from.p, to.p, w);
	return e == OK ? file_sync_dir(b->options->data_dir, w) : e;
}

/* Both parts, in the order that `ready` makes safe; again after a crash. */
static enum err
move_parts(struct rebuild *b, struct why *w)
{
	FREED(buf_free) struct buf aside = BUF_INIT;

	enum err e = file_load(arena_printf(&b->arena, "%.*s/ready",
	    STR_FMT(b->build_dir)).p, 100, &aside, w);
	if (e == OK)
		e = move_part(b, buf_str(&aside), "index", w);
	return e == OK ? move_part(b, buf_str(&aside), "log", w) : e;
}

bool
rebuild_unfinished(const char *data_dir)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;

	return file_load(arena_printf(&a, "%s/.rebuild/ready", data_dir).p, 1,
	    &b, NULL) != ERR_ABSENT;
}

static enum err
take_place(struct rebuild *b, struct why *w)
{
	const char *data = b->options->data_dir;
	int64_t holder;

	b->build_dir = in_data(b, ".rebuild");
	enum err e = file_make_dir(data, w);
	if (e == OK)
		e = file_lock_dir(data, &b->lock_fd, &holder, w);
	if (e == OK)
		e = snapshot_check(data, w);
	if (e == OK && rebuild_unfinished(data))
		e = move_parts(b, w);
	return e == OK ? remove_build(b, w) : e;
}

static enum err
move_into_place(struct rebuild *b, struct why *w)
{
	enum err e = file_sync_dir(b->build_dir.p, w);

	if (e == OK)
		e = file_store(arena_printf(&b->arena, "%.*s/ready",
		    STR_FMT(b->build_dir)).p, free_name(b), w);
	return e == OK ? move_parts(b, w) : e;
}

/* --- the files ---------------------------------------------------------- */

static void
add_file(struct rebuild *b, struct archive_file f, struct source s)
{
	struct archive_catalogue *c = &b->files;

	c->files = arena_grow(&b->arena, c->files, c->n, &b->files_cap, 64,
	    sizeof(*c->files));
	b->sources = arena_grow(&b->arena, b->sources, c->n, &b->sources_cap,
	    64, sizeof(*b->sources));
	c->files[c->n] = f;
	b->sources[c->n++] = s;
	map_put(&b->listed, str_of(f.path), b);
}

/*
 * "crawl-12": a crawl that a door began has a directory of its own, and so have
 * the runs of a schedule, "schedule-3".
 */
static bool
is_crawls_own(struct str name)
{
	size_t at = str_find_char(name, '-');
	struct str word = str_cut(name, 0, at);
	uint64_t id;

	return (str_eq(word, STR("crawl")) ||
	    str_eq(word, STR("schedule"))) && at < name.n &&
	    str_to_u64(str_from(name, at + 1), &id);
}

static void
add_gone(struct rebuild *b, const struct archive_catalogue *from)
{
	struct archive_catalogue *c = &b->files;

	for (size_t i = 0; i < from->gone_n; i++) {
		c->gone = arena_grow(&b->arena, c->gone, c->gone_n,
		    &b->gone_cap, 64, sizeof(*c->gone));
		c->gone[c->gone_n++] = from->gone[i];
	}
}

/* The one who writes to it would go on behind what is cut here. */
static enum err
look_at_open(const struct archive_file *f, struct tail *tail, struct why *w)
{
	return archive_port()->in_use(f->path) ? why(w, ERR_BUSY,
	    "another process writes to %s; end it first", f->path) :
	    tail_find(f, tail, w);
}

/*
 * A moved file belongs to the directory where it was, and its note is; one that
 * is being written to the directory in which it gets its name.
 */
static enum err
add_files(struct rebuild *b, const char *dir,
    const struct archive_catalogue *c, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < c->n; i++) {
		struct archive_file f = c->files[i];
		const char *path = f.moved_from != NULL ? f.moved_from : f.path;
		/* By its note, and in the directory where it is. */
		if (map_get(&b->listed, str_of(f.path)) != NULL)
			continue;
		struct source s = { .warc_dir = str_of(dir), .name = f.name,
		    .dir = archive_dir_name(str_of(path)), .open = f.open };
		s.work_dir = s.dir;
		if (s.open)
			s.dir = archive_dir_name(str_of(archive_named_path(&f,
			    &b->arena)));
		s.dir = arena_copy(&b->arena, s.dir);
		s.work_dir = arena_copy(&b->arena, s.work_dir);
		if (is_crawls_own(archive_base_name(s.dir)))
			s.warc_dir = s.dir;
		/* It is read to its end, which nobody writes to any more. */
		f.open = false;
		if (s.open)
			e = look_at_open(&f, &s.tail, w);
		if (e == OK)
			add_file(b, f, s);
	}
	return e;
}

static enum err
list_files(struct rebuild *b, struct why *w)
{
	const struct archive_catalogue *all = &b->files;
	enum err e = OK;

	for (size_t i = 0; e == OK && i < b->options->dirs_n; i++) {
		const char *dir = b->options->dirs[i];
		struct archive_catalogue c = { 0 };
		e = archive_list(&dir, 1, true, &b->arena, &c, w);
		if (e == OK)
			e = add_files(b, dir, &c, w);
		if (e == OK)
			add_gone(b, &c);
	}
	b->counts->files = all->n;
	/* The old index may tell of queues that no WARC file knows. */
	if (e != OK || all->n > 0 || is_there(b, in_data(b, "index").p))
		return e;
	return all->gone_n == 0 ? why(w, ERR_ABSENT,
	    "there is no WARC file in %s", b->options->dirs[0]) :
	    why(w, ERR_ABSENT, "all WARC files were moved to where they "
	    "cannot be read, such as %s to %s", all->gone[0].path,
	    all->gone[0].place);
}

/* Cut what nobody finished; from here on all files are whole or damaged. */
static enum err
cut_open_files(struct rebuild *b, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < b->files.n; i++) {
		struct source *s = &b->sources[i];
		struct archive_file *f = &b->files.files[i];
		int fd = -1;
		if (!s->open || s->tail.end == s->tail.size)
			continue;
		e = archive_port()->reopen(f->path, &fd, w);
		if (e == OK)
			e = archive_port()->cut(fd, s->tail.end, w);
		archive_port()->close(&fd);
		f->size = s->tail.end;
		b->counts->cut_bytes += s->tail.size - s->tail.end;
		log_info("rebuild.cut", "file=%s bytes=%llu", f->path,
		    (unsigned long long)(s->tail.size - s->tail.end));
	}
	return e;
}

/* --- the ledger --------------------------------------------------------- */

static void
no_warcinfo(void *arg, uint32_t crawl, const char *filename, struct buf *out)
{
	(void)arg;
	(void)crawl;
	(void)filename;
	(void)out;
	CHECK(!"nothing is archived here");
}

static void
health_changed(void *arg, enum ledger_health h, const char *text)
{
	struct rebuild *b = arg;

	if (h != LEDGER_FINE)
		progress(b, text, 0, 0);
}

static enum err
open_frontier(struct rebuild *b, const char *dir, enum ledger_claims claims,
    struct frontier **out, struct why *w)
{
	const struct conf *c = b->options->conf;
	struct frontier_options o = {
		.data_dir = dir, .old = out == &b->old,
		.ledger = {
			.home = b->options->data_dir,
			.claims = claims,
			.group_bytes_max = conf_size(c,
			    CONF_LEDGER_GROUP_BYTES_MAX),
			.group_records_max = (uint32_t)conf_int(c,
			    CONF_LEDGER_GROUP_RECORDS_MAX),
			.segment_bytes = SEGMENT_BYTES,
			.free_bytes_min = conf_size(c,
			    CONF_DATA_FREE_BYTES_MIN),
			.index = { .write_buffer_bytes = WRITE_BUFFER,
			    .write_buffers = 4,
			    .block_cache_bytes = CACHE_BYTES },
			.pool = b->pool,
		},
		.warcinfo = no_warcinfo, .health = health_changed, .arg = b,
		.token = "rebuilt0",
		.rollover_bytes = conf_size(c, CONF_WARC_ROLLOVER_BYTES),
		.rollover_s = conf_ms(c, CONF_WARC_ROLLOVER_S) / 1000,
		.sitemap_files_max =
		    (uint64_t)conf_int(c, CONF_SITEMAP_FILES_MAX),
		.sitemap_bytes_max = conf_size(c, CONF_SITEMAP_BYTES_MAX),
	};

	return frontier_open(b->loop, &o, out, w);
}

static void
closed(void *arg)
{
	loop_stop(arg);
}

static enum err
close_frontier(struct rebuild *b, struct why *w)
{
	enum err e = OK;

	frontier_close(b->frontier, closed, b->loop);
	loop_run(b->loop);
	if (ledger_health(frontier_ledger(b->frontier)) == LEDGER_FAILED)
		e = why(w, ERR_IO, "%s cannot be written",
		    b->options->data_dir);
	frontier_free(&b->frontier);
	return e;
}

/* --- what the files tell ------------------------------------------------ */

static struct source *
source_of(const struct rebuild *b, const struct archive_file *f)
{
	return &b->sources[f - b->files.files];
}

/* Register the file in the ledger as one of this crawl's. */
static void
adopt_file(struct rebuild *b, const struct archive_file *file, uint32_t crawl,
    struct wall created)
{
	struct source *s = source_of(b, file);
	struct ledger_file f = { .crawl = crawl, .created = created,
	    .first = s->tail.first, .end = file->size, .dir = s->dir,
	    .work_dir = s->work_dir, .name = s->name, .open = s->open };

	s->id = ledger_adopt(frontier_ledger(b->frontier), &f);
	b->counts->finished += s->open;
}

/*
 * A harvest's file that was found in its place counts as one of
 * DATA/harvest/PREFIX, and has a note there, as if this DATA had brought it
 * away: so DATA knows where it is, and no hour directory becomes an archive.
 */
static enum err
note_place(struct rebuild *b, const struct archive_file *f, struct source *s,
    struct why *w)
{
	struct str top = in_data(b, "harvest");
	struct archive_name name;

	if (f->moved_from != NULL || s->open || str_starts(s->dir, top) ||
	    !archive_name_parse(s->name, &name))
		return OK;
	struct str dir = arena_printf(&b->arena, "%.*s/%.*s", STR_FMT(top),
	    STR_FMT(name.prefix));
	enum err e = file_make_dir(dir.p, w);
	if (e == OK)
		e = moved_write(arena_printf(&b->arena, "%.*s/%.*s",
		    STR_FMT(dir), STR_FMT(s->name)).p, str_of(f->path),
		    f->size, w);
	if (e == OK)
		s->warc_dir = s->dir = s->work_dir = dir;
	return e;
}

static enum err
tell_crawl(void *arg, const struct archive_crawl *c, struct why *w)
{
	struct rebuild *b = arg;
	struct source *s = source_of(b, c->file);
	enum crawl_kind kind;

	s->other = s->id == 0 && (!crawl_kind_parse(c->kind, &kind) ||
	    kind == CRAWL_FRONTIER);
	if (s->id != 0 || s->other)
		return OK;
	enum err e = c->harvest_id.n == 0 ? OK :
	    note_place(b, c->file, s, w);
	if (e != OK)
		return e;
	adopt_file(b, c->file, c->crawl, c->date);
	if (c->harvest_id.n > 0 && b->options->harvest != NULL)
		b->options->harvest(b->options->arg, c->harvest_id,
		    c->harvest_type, c->file->path);
	return replay_file(b->replay, c, s->warc_dir,
	    is_crawls_own(archive_base_name(s->warc_dir)), c->file->size, w);
}

/*
 * The file's warcinfo is damaged: its captures name the crawl.  Every sound
 * warcinfo was read before the first capture is told, so a crawl that is still
 * unknown has lost its seeds and its policy.
 */
static enum err
adopt_by_capture(struct rebuild *b, const struct archive_capture *c,
    struct why *w)
{
	struct source *s = source_of(b, c->file);
	struct archive_crawl crawl = { .file = c->file, .crawl = c->crawl,
	    .date = c->began, .kind = STR("crawl"), .policy = STR("{}") };

	if (s->id != 0 || s->other)
		return OK;
	adopt_file(b, c->file, c->crawl, c->began);
	if (replay_add_file(b->replay, c->crawl, c->file->size))
		return OK;
	b->counts->seedless++;
	return replay_file(b->replay, &crawl, s->warc_dir,
	    is_crawls_own(archive_base_name(s->warc_dir)), c->file->size, w);
}

static enum err
tell_capture(void *arg, const struct archive_capture *c, struct why *w)
{
	struct rebuild *b = arg;
	const struct source *s = source_of(b, c->file);

	if (c->seq != 0 && ++b->told % PROGRESS_EVERY == 0)
		progress(b, "captures", b->told, 0);
	enum err e = adopt_by_capture(b, c, w);
	if (e != OK || s->id == 0)
		return e;
	return c->seq != 0 ? replay_capture(b->replay, c, s->id, w) :
	    replay_aux(b->replay, c, s->id, w);
}

static enum err
tell_checkpoint(void *arg, uint32_t crawl, struct str owner,
    struct str bytes, struct why *w)
{
	struct rebuild *b = arg;

	return replay_checkpoint(b->replay, crawl, owner, bytes, w);
}

/* The damage costs what it hit; the rest of the file is read. */
static enum err
tell_damage(void *arg, const struct archive_file *f,
    const struct warc_damage *d, struct why *w)
{
	struct rebuild *b = arg;

	(void)w;
	b->counts->damaged++;
	log_warn("rebuild.gap", "file=%s offset=%llu cause=\"%s\"", f->path,
	    (unsigned long long)d->offset, warc_damage_text(d->cause));
	if (b->options->gap != NULL)
		b->options->gap(b->options->arg, f->path, d->offset,
		    warc_damage_text(d->cause));
	return OK;
}

static void
tell_progress(void *arg, size_t files, uint64_t records)
{
	struct rebuild *b = arg;

	(void)records;
	progress(b, "files", files, b->files.n);
}

static enum err
replay_all(struct rebuild *b, struct why *w)
{
	static const struct archive_reindex_events events = { tell_crawl,
		tell_capture, true, tell_checkpoint, tell_damage,
		tell_progress };
	struct archive_reindex_counts n = { 0 };

	b->replay = replay_new(b->options->conf, b->frontier, b->old,
	    b->counts);
	enum err e = archive_reindex(&b->files, b->options->scratch,
	    SORT_BYTES_MAX_DEFAULT, &events, b, &n, w);
	if (e == OK && b->counts->crawls == 0 && b->old == NULL)
		e = why(w, ERR_ABSENT, "no file in %s tells of a crawl of "
		    "Argiope's", b->options->dirs[0]);
	if (e == OK)
		e = replay_end(b->replay, w);
	replay_free(&b->replay);
	b->counts->records = n.records;
	b->counts->missing = n.missing;
	b->counts->repeated = n.repeated;
	for (size_t i = 0; i < b->files.n; i++)
		b->counts->foreign += b->sources[i].id == 0;
	return e;
}

/* Unreadable entries are lost; the WARC files have the rest. */
static void
open_old(struct rebuild *b)
{
	struct why w = WHY_INIT;

	if (!is_there(b, in_data(b, "index").p))
		return;
	if (open_frontier(b, b->options->data_dir, LEDGER_CLAIMS_NONE,
	    &b->old, &w) == OK)
		return;
	b->old = NULL;
	b->counts->old_unread = true;
	log_warn("rebuild.old_index", "why=%s", log_why(&w));
}

static enum err
build(struct rebuild *b, struct why *w)
{
	open_old(b);
	enum err e = open_frontier(b, b->build_dir.p,
	    LEDGER_CLAIMS_NONE, &b->frontier, w);

	if (e == OK)
		e = replay_all(b, w);
	if (e == OK)
		e = rebuild_lost(b->options, b->counts, b->old, &b->files, w);
	if (e == OK && b->old != NULL)
		e = carry_records(b->old, b->frontier, b->counts, w);
	if (e == OK)
		e = close_frontier(b, w);
	frontier_free(&b->frontier);
	frontier_free(&b->old);
	return e;
}

/* --- the end ------------------------------------------------------------ */

static enum err
tell_crawls(struct rebuild *b, struct why *w)
{
	struct crawl_view v;
	struct crawl_spec spec;
	size_t at = 0;
	enum err e = OK;

	while (e == OK && frontier_next_view(b->frontier, &at, &v)) {
		e = frontier_spec(b->frontier, v.id, &b->arena, &spec, w);
		if (e == OK && b->options->crawl != NULL)
			b->options->crawl(b->options->arg, &v, spec.name);
	}
	return e;
}

/* Opened as after a crash: files that were being written get their names. */
static enum err
open_once(struct rebuild *b, struct why *w)
{
	enum err e = open_frontier(b, b->options->data_dir,
	    LEDGER_CLAIMS_TAKE, &b->frontier, w);

	if (e == OK)
		e = tell_crawls(b, w);
	if (e == OK)
		e = close_frontier(b, w);
	frontier_free(&b->frontier);
	return e;
}

enum err
rebuild_run(const struct rebuild_options *o, struct rebuild_counts *counts,
    struct why *w)
{
	struct rebuild b = { .options = o, .counts = counts, .lock_fd = -1 };
	bool placed = false;

	CHECK(o->dirs_n > 0 && o->dirs_n <= REBUILD_DIRS_MAX);
	memset(counts, 0, sizeof(*counts));
	b.loop = loop_new("rebuild");
	b.pool = pool_new(0);
	enum err e = list_files(&b, w);
	if (e == OK)
		e = take_place(&b, w);
	placed = e == OK;
	if (e == OK)
		e = cut_open_files(&b, w);
	if (e == OK)
		e = build(&b, w);
	if (e == OK)
		e = move_into_place(&b, w);
	if (e == OK)
		e = open_once(&b, w);
	/* The finished work stays for the next attempt. */
	if (placed && (e == OK || !rebuild_unfinished(o->data_dir))) {
		enum err removed = remove_build(&b, e == OK ? w : NULL);
		e = e == OK ? removed : e;
	}
	pool_free(&b.pool);
	loop_free(&b.loop);
	file_close(&b.lock_fd);
	map_free(&b.listed);
	arena_free(&b.arena);
	return e;
}
