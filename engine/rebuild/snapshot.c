#include "engine/rebuild/snapshot.h"

#include "base/map.h"
#include "engine/archive/archive.h"
#include "engine/ledger/group.h"
#include "engine/rebuild/snapshot_source.h"
#include "os/database.h"
#include "os/file.h"
#include "os/log.h"
#include "os/tree.h"

struct deferred {
	struct deferred *next;
	struct str link, to;
	uint64_t bytes;
};

/* One snapshot while it is made. */
struct making {
	const char *data_dir, *to;
	struct index *index;         /* NULL: the directory is at rest */
	const struct stored_paths *paths;
	struct arena arena;
	struct map open;             /* name of an open WARC -> its end */
	bool open_is_read;
	struct deferred *deferred;
	uint64_t outside;
	/* The part under way. */
	struct str from_dir, to_dir;
};

static struct str
join(struct making *m, struct str dir, const char *path)
{
	return arena_printf(&m->arena, "%.*s/%s", STR_FMT(dir), path);
}

/* The directory of a file that is about to be made. */
static enum err
make_parent(struct making *m, struct str path, struct why *w)
{
	return file_make_dir(arena_copy(&m->arena, archive_dir_name(path)).p,
	    w);
}

static enum err
copy_to(struct making *m, struct str from, struct str to, uint64_t bytes_max,
    struct why *w)
{
	enum err e = make_parent(m, to, w);

	return e == OK ? tree_copy(from.p, to.p, bytes_max, w) : e;
}

/* Files that never change again get a second name. */
static enum err
link_to(struct making *m, struct str from, struct str to, struct why *w)
{
	enum err e = make_parent(m, to, w);

	if (e == OK)
		e = tree_link(from.p, to.p, NULL);
	return e == OK ? OK : copy_to(m, from, to, UINT64_MAX, w);
}

/* --- files -------------------------------------------------------------- */

static enum err
copy_one(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	struct making *m = arg;

	(void)bytes;
	return copy_to(m, join(m, m->from_dir, path), join(m, m->to_dir, path),
	    UINT64_MAX, w);
}

static enum err
copy_FILES(struct making *m, struct why *w)
{
	return tree_walk(m->from_dir.p, copy_one, m, w);
}

static enum err
copy_FILE(struct making *m, struct why *w)
{
	return tree_kind(m->from_dir.p, NULL) == TREE_FILE ?
	    tree_copy(m->from_dir.p, m->to_dir.p, UINT64_MAX, w) : OK;
}

static enum err
copy_DATABASE(struct making *m, struct why *w)
{
	return tree_kind(m->from_dir.p, NULL) == TREE_FILE ?
	    database_copy(m->from_dir.p, m->to_dir.p, w) : OK;
}

/* --- the index ---------------------------------------------------------- */

static enum err
copy_table(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	struct making *m = arg;

	if (str_ends(str_of(path), STR(".sst")))
		return link_to(m, join(m, m->from_dir, path),
		    join(m, m->to_dir, path), w);
	return copy_one(arg, path, bytes, w);
}

static enum err
copy_INDEX(struct making *m, struct why *w)
{
	return m->index != NULL ? index_checkpoint(m->index, m->to_dir.p, w) :
	    tree_walk(m->from_dir.p, copy_table, m, w);
}

/* --- the archive -------------------------------------------------------- */

static bool
is_inside(const struct making *m, struct str dir)
{
	struct str home = str_of(m->data_dir);

	return str_starts(dir, home) && dir.n > home.n &&
	    dir.p[home.n] == '/';
}

/* The committed lengths of open files, by name. */
static enum err
read_open_files(struct making *m, struct why *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(m->index, INDEX_WARC);
	struct str key, value;
	enum err e = OK;

	for (index_iter_seek(i, STR("")); e == OK &&
	    index_iter_valid(i, &key, &value); index_iter_next(i)) {
		struct warc_record r;
		if (!warc_record_parse(value, m->paths, &m->arena, &r)) {
			e = why(w, ERR_CORRUPT, "a WARC's record in the index "
			    "is damaged");
			break;
		}
		if (r.state != WARC_REMOVED && !is_inside(m, r.dir))
			m->outside++;
		if (r.state != WARC_OPEN && r.state != WARC_CLOSING)
			continue;
		uint64_t *end = ARENA_NEW(&m->arena, uint64_t);
		*end = r.end;
		map_put(&m->open, arena_copy(&m->arena, r.name), end);
	}
	return e == OK ? index_iter_error(i, w) : e;
}

/*
 * The file grows as soon as the ledger goes on: a second name keeps it, and its
 * beginning, which does not change, is copied then.  One that the index does
 * not know belongs to no group so far.
 */
static enum err
copy_open(struct making *m, const char *path, struct why *w)
{
	const uint64_t *end = map_get(&m->open, archive_final_name(
	    archive_base_name(str_of(path))));
	if (end == NULL)
		return OK;
	struct deferred *d = ARENA_NEW(&m->arena, struct deferred);
	d->to = join(m, m->to_dir, path);
	d->link = arena_printf(&m->arena, "%.*s.linked", STR_FMT(d->to));
	d->bytes = *end;
	struct str from = join(m, m->from_dir, path);
	enum err e = make_parent(m, d->to, w);
	if (e != OK)
		return e;
	if (tree_link(from.p, d->link.p, NULL) != OK)
		return tree_copy(from.p, d->to.p, d->bytes, w);
	d->next = m->deferred;
	m->deferred = d;
	return OK;
}

static enum err
copy_archived(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	struct str p = str_of(path);
	struct making *m = arg;

	if (m->index != NULL && str_ends(p, STR(".warc.gz.open")))
		return copy_open(m, path, w);
	if (!str_ends(p, STR(".warc.gz")) &&
	    str_find(p, STR("/quarantine/")) == p.n)
		return copy_one(arg, path, bytes, w);
	struct str from = join(m, m->from_dir, path);
	enum err e = link_to(m, from, join(m, m->to_dir, path), w);
	/* A crawl is being deleted: the ledger knows that it goes. */
	return e != OK && tree_kind(from.p, NULL) == TREE_ABSENT ? OK : e;
}

static enum err
copy_ARCHIVE(struct making *m, struct why *w)
{
	bool read = m->index == NULL || m->open_is_read;
	enum err e = read ? OK : read_open_files(m, w);

	m->open_is_read = true;
	return e == OK ? tree_walk(m->from_dir.p, copy_archived, m, w) : e;
}

static enum err
finish_open_files(struct making *m, struct why *w)
{
	enum err e = OK;

	for (struct deferred *d = m->deferred; e == OK && d != NULL;
	    d = d->next) {
		e = tree_copy(d->link.p, d->to.p, d->bytes, w);
		if (e == OK)
			e = file_remove(d->link.p, w);
	}
	return e;
}

/* --- all of it ---------------------------------------------------------- */

static const struct {
	const char *name;
	enum err (*copy)(struct making *, struct why *);
} parts[] = {
#define PART_ROW(name, how) { name, copy_##how },
	SNAPSHOT_PARTS(PART_ROW)
#undef PART_ROW
};

static enum err
copy_parts(struct making *m, struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < ARRAY_LEN(parts); i++) {
		m->from_dir = join(m, str_of(m->data_dir), parts[i].name);
		m->to_dir = join(m, str_of(m->to), parts[i].name);
		e = parts[i].copy(m, w);
	}
	return e;
}

static void
making_free(struct making *m)
{
	map_free(&m->open);
	arena_free(&m->arena);
}

enum err
snapshot_at_rest(const char *data_dir, const char *to, struct why *w)
{
	struct making m = { .data_dir = data_dir, .to = to };
	enum err e = copy_parts(&m, w);

	making_free(&m);
	return e;
}

static bool
has_row(struct str name)
{
	static const char *const left_out[] = {
		SNAPSHOT_LEFT_OUT(TABLE_FIRST)
	};

	return STR_ROW(name, parts) < ARRAY_LEN(parts) ||
	    STR_ROW(name, left_out) < ARRAY_LEN(left_out) ||
	    /* Set aside by a rebuild. */
	    str_starts(name, STR("replaced-"));
}

enum err
snapshot_strangers(const char *data_dir, struct arena *a, struct str **names,
    size_t *n, struct why *w)
{
	size_t all = 0;
	enum err e = file_list(data_dir, a, names, &all, w);

	*n = 0;
	for (size_t i = 0; e == OK && i < all; i++)
		if (!has_row((*names)[i]))
			(*names)[(*n)++] = (*names)[i];
	return e;
}

enum err
snapshot_check(const char *data_dir, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	bool half = tree_kind(arena_printf(&a, "%s/" SNAPSHOT_RESTORING,
	    data_dir).p, NULL) != TREE_ABSENT;

	return !half ? OK : why(w, ERR_CORRUPT, "a restore into %s was broken "
	    "off; empty it and run argiope backup --restore again", data_dir);
}

void
snapshot_clean(const char *data_dir)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str work = arena_printf(&a, "%s/" SNAPSHOT_WORK, data_dir);
	struct str dir = arena_printf(&a, "%s/" SNAPSHOT_DIR, data_dir);
	int64_t holder;
	int fd = -1;

	if (tree_kind(dir.p, NULL) == TREE_DIR &&
	    file_lock_dir(work.p, &fd, &holder, NULL) == OK) {
		(void)!tree_remove(dir.p, NULL);
		file_close(&fd);
	}
}

/* --- of a running engine ------------------------------------------------ */

#define SNAPSHOT_STEPS(X)                                                    \
	X(HOLD, AT_LEDGER, hold_ledger, "no group becomes durable")          \
	X(COPY, AT_POOL, copy_held, "all parts; open files get a link")      \
	X(RELEASE, AT_LEDGER, release_ledger, "the ledger goes on")          \
	X(FINISH, AT_POOL, copy_open_files, "what was committed of them")
enum { SNAPSHOT_STEPS(REQUEST_ENUM) };

struct snapshot {
	struct request request;
	struct making making;
	struct snapshot_source *source;
	struct snapshot_ask *ask;
	struct ledger_hold hold;
};

static struct snapshot *
snapshot_of(struct request *r)
{
	return CONTAINER(r, struct snapshot, request);
}

static void
held(struct ledger_hold *h)
{
	struct request *r = &CONTAINER(h, struct snapshot, hold)->request;

	if (h->why.err != OK)
		r->why = h->why;
	request_resume(r, h->why.err == OK ? COPY : RELEASE);
}

static int
hold_ledger(struct request *r)
{
	struct snapshot *s = snapshot_of(r);

	if (s->source->busy) {
		why(&r->why, ERR_FULL, "another backup is being made");
		return REQUEST_DONE;
	}
	s->source->busy = true;
	ledger_hold(s->source->ledger, &s->hold);
	return REQUEST_WAIT;
}

static int
copy_held(struct request *r)
{
	struct making *m = &snapshot_of(r)->making;

	enum err e = tree_remove(m->to, &r->why);
	if (e == OK)
		e = file_make_dir(m->to, &r->why);
	if (e == OK)
		e = copy_parts(m, &r->why);
	return RELEASE;
}

static int
release_ledger(struct request *r)
{
	struct snapshot *s = snapshot_of(r);

	s->source->busy = false;
	ledger_unhold(s->source->ledger);
	return s->hold.why.err == OK ? FINISH : REQUEST_DONE;
}

static int
copy_open_files(struct request *r)
{
	struct making *m = &snapshot_of(r)->making;

	if (r->why.err != OK || finish_open_files(m, &r->why) != OK)
		(void)!tree_remove(m->to, NULL);
	return REQUEST_DONE;
}

static const struct request_step steps[] = { SNAPSHOT_STEPS(REQUEST_ROW) };

static void
answer(struct request *r)
{
	struct snapshot *s = snapshot_of(r);
	struct snapshot_ask *ask = s->ask;

	if (r->why.err == OK)
		log_info("ledger.snapshot", "group=%llu",
		    (unsigned long long)s->hold.group);
	ask->why = r->why;
	ask->group = s->hold.group;
	ask->outside = s->making.outside;
	making_free(&s->making);
	mem_free(&s);
	ask->done(ask);
}

void
snapshot_make(struct snapshot_source *from, struct snapshot_ask *ask)
{
	struct snapshot *s = mem_new(sizeof(*s));
	struct making *m = &s->making;

	s->source = from;
	s->ask = ask;
	m->data_dir = from->data_dir;
	m->to = arena_printf(&m->arena, "%s/" SNAPSHOT_DIR, m->data_dir).p;
	m->index = ledger_index(from->ledger);
	m->paths = ledger_paths(from->ledger);
	s->hold.held = held;
	s->request.done = answer;
	request_start(&s->request, from->places, steps, HOLD);
}
