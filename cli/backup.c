/*
 * argiope backup DIR -- a copy of a data directory, and the way back.
 *
 *     DIR/data/...       the parts of engine/snapshot.h
 *     DIR/backup.json    the list of all files with their sizes; it is written
 *                        last, so that half a backup has none
 *
 * A directory at rest is locked and copied from here.  A daemon makes a
 * snapshot in DATA/backup, between two commit groups; it is moved from there by
 * links, or copied.
 */
#include "base/json_writer.h"
#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/format.h"
#include "cli/verbs.h"
#include "engine/catalog/archive_tools.h"
#include "engine/rebuild/rebuild.h"
#include "engine/rebuild/snapshot.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/tree.h"

#define MANIFEST "backup.json"
#define MANIFEST_FORMAT 1
#define MANIFEST_BYTES_MAX ((size_t)256 << 20)

static const struct option_row rows[] = {
	OPTION_ROW(RESTORE, "restore", 0, NULL, FLAG, 0, 0,
	    "bring the backup in DIR back into the data directory, which must "
	    "be empty")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

/* A running daemon is asked by its realtime door. */
#if DOOR_REALTIME
#define BACKUP_SUMMARY "Copy the data directory to DIR, also while a daemon " \
	"runs; restore it"
#else
#define BACKUP_SUMMARY "Copy the data directory to DIR, while no process " \
	"uses it; restore it"
#endif

const struct option_verb backup_verb = {
	"backup", "DIR", 1, 1,
	BACKUP_SUMMARY,
	"DIR must be empty or new.  The copy is that of one moment, between "
	"two commit groups: crawls, queues, WARC files below DATA/archive, "
	"policies, schedules, tokens, and the tasks, documents and "
	"registrations of back ends.  Finished WARC files and the index's "
	"tables are linked where DIR is on the same file system, so that they "
	"take no room there; keep a backup elsewhere to survive a broken "
	"disk.  Key files, WARC files of --warc-dir elsewhere, and the "
	"database of store.url, which pg_dump copies, are not in it.  A "
	"foreground crawl has to end first.\n"
	"DIR/backup.json is written last: without it a backup is not finished, "
	"and --restore refuses it.  A restore that is broken off leaves a data "
	"directory that says so.\n"
	"Example: argiope backup /srv/backup/monday\n"
	"Exit code: 0; 66 there is no data directory, or no finished backup; "
	"70 the backup is damaged; 73 DIR, or the data directory to restore "
	"into, is not empty; 74 reading or writing failed; 75 another process "
	"holds the data and takes no commands.",
	rows, ARRAY_LEN(rows)
};

struct backup {
	struct cli *cli;
	const char *dir;             /* DIR, as an absolute path */
	struct str data;             /* DIR/data */
	int work_fd, data_fd;        /* locks */
	uint64_t group, outside;
	bool running;                /* a daemon was asked */
	uint64_t files, bytes;
	struct buf list;             /* of the manifest */
	struct str from;             /* of copy_over() */
};

/* --- before ------------------------------------------------------------- */

static enum err
want_empty(const char *dir, const char *what, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n = 0;

	enum err e = file_list(dir, &a, &names, &n, w);
	if (e == OK && n > 0)
		e = why(w, ERR_EXISTS, "%s is not empty; %s", dir, what);
	return e;
}

static enum err
open_places(struct backup *b, struct why *w)
{
	struct cli *c = b->cli;

	enum err e = cli_dir(c, c->data_dir, &c->data_dir, w);
	if (e == OK)
		e = cli_dir(c, c->options.operands[0], &b->dir, w);
	if (e != OK)
		return e;
	b->data = arena_printf(&c->arena, "%s/data", b->dir);
	struct str home = arena_printf(&c->arena, "%s/", c->data_dir);
	if (str_starts(arena_printf(&c->arena, "%s/", b->dir), home))
		return why(w, ERR_USAGE, "%s lies in the data directory; a "
		    "backup goes elsewhere", b->dir);
	return want_empty(b->dir, "name a new directory for the backup", w);
}

/* One backup of a directory at a time. */
static enum err
lock_work(struct backup *b, struct why *w)
{
	struct cli *c = b->cli;
	const char *work = arena_printf(&c->arena, "%s/" SNAPSHOT_WORK,
	    c->data_dir).p;
	int64_t holder = 0;

	enum err e = file_make_dir(work, w);
	if (e != OK)
		return e;
	e = file_lock_dir(work, &b->work_fd, &holder, NULL);
	return e == OK ? OK : why(w, e, "another backup of %s is under way, "
	    "process %lld", c->data_dir, (long long)holder);
}

/* --- the copy ----------------------------------------------------------- */

static enum err
make_parent(struct backup *b, struct str path, struct why *w)
{
	size_t n = path.n;

	while (n > 0 && path.p[n - 1] != '/')
		n--;
	return file_make_dir(arena_copy(&b->cli->arena,
	    str_cut(path, 0, n - 1)).p, w);
}

#if DOOR_REALTIME

/* The snapshot is nobody else's: each file of it may have a second name. */
static enum err
move_one(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	struct backup *b = arg;
	struct arena *a = &b->cli->arena;
	struct str from = arena_printf(a, "%.*s/%s", STR_FMT(b->from), path);
	struct str to = arena_printf(a, "%.*s/%s", STR_FMT(b->data), path);

	(void)bytes;
	enum err e = make_parent(b, to, w);
	if (e == OK && tree_link(from.p, to.p, NULL) != OK)
		e = tree_copy(from.p, to.p, UINT64_MAX, w);
	return e;
}

static enum err
copy_running(struct backup *b, struct why *w)
{
	struct cli *c = b->cli;
	yyjson_val *data;

	enum err e = daemon_command(c, "snapshot", STR("{}"), &data, w);
	if (e != OK)
		return e;
	b->running = true;
	b->group = yyjson_get_uint(yyjson_obj_get(data, "group"));
	b->outside = yyjson_get_uint(yyjson_obj_get(data, "warcs_outside"));
	b->from = arena_printf(&c->arena, "%s/" SNAPSHOT_DIR, c->data_dir);
	return tree_walk(b->from.p, move_one, b, w);
}

#else

static enum err
copy_running(struct backup *b, struct why *w)
{
	(void)b;
	return why(w, ERR_UNREACHED, "the daemon takes no commands");
}

#endif

static enum err
copy_data(struct backup *b, struct why *w)
{
	struct cli *c = b->cli;
	struct why asked = WHY_INIT;
	int64_t holder = 0;

	enum err e = file_make_dir(b->data.p, w);
	if (e == OK)
		e = file_lock_dir(c->data_dir, &b->data_fd, &holder, NULL);
	if (e == ERR_BUSY) {
		e = copy_running(b, &asked);
		return e == OK ? OK : e != ERR_UNREACHED ?
		    why(w, e, "%s", asked.text) : why(w, ERR_BUSY,
		    "%s is in use by process %lld, which takes no commands; "
		    "wait for its end", c->data_dir, (long long)holder);
	}
	if (e == OK)
		e = snapshot_check(c->data_dir, w);
	if (e == OK && rebuild_unfinished(c->data_dir))
		e = why(w, ERR_CORRUPT, "a rebuild of %s was broken off; end "
		    "it with argiope archive reindex --rebuild first",
		    c->data_dir);
	return e == OK ? snapshot_at_rest(c->data_dir, b->data.p, w) : e;
}

static enum err
list_one(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	struct backup *b = arg;

	(void)w;
	buf_put_text(&b->list, b->files == 0 ? "\n{" : ",\n{");
	json_str(&b->list, "path", str_of(path));
	json_u64(&b->list, "bytes", bytes);
	buf_put_char(&b->list, '}');
	b->files++;
	b->bytes += bytes;
	return OK;
}

static enum err
write_manifest(struct backup *b, struct why *w)
{
	struct arena *a = &b->cli->arena;
	struct str path = arena_printf(a, "%s/" MANIFEST, b->dir);
	FREED(buf_free) struct buf out = BUF_INIT;

	buf_put_char(&out, '{');
	json_u64(&out, "format", MANIFEST_FORMAT);
	json_str(&out, "version", STR(ARGIOPE_VERSION));
	format_json_time(&out, "created", clock_wall());
	json_str(&out, "data_dir", str_of(b->cli->data_dir));
	if (b->running)
		json_u64(&out, "group", b->group);
	else
		json_null(&out, "group");
	json_name(&out, "files");
	buf_printf(&out, "[%.*s\n]}\n", STR_FMT(buf_str(&b->list)));
	return file_store(path.p, buf_str(&out), w);
}

/* Whether policies, schedules and tokens are in a server's database. */
static bool
has_server(const struct backup *b)
{
	return conf_str(&b->cli->conf, CONF_STORE_URL).n > 0;
}

static void
tell_strangers(struct backup *b)
{
	struct str *names;
	size_t n = 0;

	if (has_server(b))
		fprintf(stderr, CLI_PROGRAM ": policies, schedules and tokens "
		    "are in the database of store.url and not in the backup; "
		    "pg_dump copies that\n");
	if (snapshot_strangers(b->cli->data_dir, &b->cli->arena, &names, &n,
	    NULL) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, CLI_PROGRAM ": %s is no part of a data "
		    "directory and is not in the backup\n",
		    format_text(&b->cli->arena, names[i], 200));
	if (b->outside > 0)
		fprintf(stderr, CLI_PROGRAM ": %llu WARC files lie outside the "
		    "data directory and are not in the backup\n",
		    (unsigned long long)b->outside);
}

static void
print(const struct backup *b, const char *done)
{
	struct buf *out = &b->cli->out;

	if (cli_json(b->cli)) {
		buf_put_char(out, '{');
		json_str(out, "backup", str_of(b->dir));
		json_str(out, "data_dir", str_of(b->cli->data_dir));
		json_u64(out, "files", b->files);
		json_u64(out, "bytes", b->bytes);
		json_u64(out, "warcs_outside", b->outside);
		json_bool(out, "store_outside", has_server(b));
		buf_put_text(out, "}\n");
	} else {
		buf_printf(out, "%s: %llu files, %llu bytes\n", done,
		    (unsigned long long)b->files, (unsigned long long)b->bytes);
	}
}

static enum err
back_up(struct backup *b, struct why *w)
{
	struct cli *c = b->cli;

	if (!cli_is_there(c->data_dir))
		return why(w, ERR_ABSENT, "there is no data directory %s",
		    c->data_dir);
	enum err e = open_places(b, w);
	if (e == OK)
		e = lock_work(b, w);
	if (e != OK)
		return e;
	e = copy_data(b, w);
	if (e == OK)
		e = tree_walk(b->data.p, list_one, b, w);
	if (e == OK)
		e = tree_sync(b->dir, w);
	if (e == OK)
		e = write_manifest(b, w);
	if (e != OK)
		(void)!tree_remove(b->data.p, NULL);
	(void)!tree_remove(arena_printf(&c->arena, "%s/" SNAPSHOT_DIR,
	    c->data_dir).p, NULL);
	if (e == OK)
		tell_strangers(b);
	return e;
}

/* --- the way back ------------------------------------------------------- */

static enum err
damaged(const struct backup *b, const char *what, struct why *w)
{
	return why(w, ERR_CORRUPT, "the backup in %s is damaged: %s", b->dir,
	    what);
}

/* A path of the list leads nowhere but into the directory. */
static bool
is_plain(struct str path)
{
	return path.n > 0 && path.p[0] != '/' && !str_eq(path, STR("..")) &&
	    !str_starts(path, STR("../")) && !str_ends(path, STR("/..")) &&
	    str_find(path, STR("/../")) == path.n;
}

static enum err
read_manifest(struct backup *b, yyjson_doc **doc, yyjson_val **files,
    struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str path = arena_printf(&b->cli->arena, "%s/" MANIFEST, b->dir);

	enum err e = file_load(path.p, MANIFEST_BYTES_MAX, &text, NULL);
	if (e == ERR_ABSENT)
		return why(w, e, "%s holds no finished backup: there is no "
		    MANIFEST " in it", b->dir);
	*doc = e == OK ? yyjson_read(text.p, text.n, 0) : NULL;
	yyjson_val *root = yyjson_doc_get_root(*doc);
	*files = yyjson_obj_get(root, "files");
	if (e != OK || !yyjson_is_arr(*files))
		return damaged(b, MANIFEST " cannot be read", w);
	if (yyjson_get_uint(yyjson_obj_get(root, "format")) > MANIFEST_FORMAT)
		return why(w, ERR_STATE, "the backup in %s was made by a newer "
		    "version", b->dir);
	return OK;
}

/* All of it is there, before anything is written. */
static enum err
check_files(struct backup *b, yyjson_val *files, struct why *w)
{
	struct arena *a = &b->cli->arena;
	yyjson_val *row;
	size_t at, n;

	yyjson_arr_foreach(files, at, n, row) {
		struct str path = ask_text(row, "path");
		uint64_t bytes = 0, want = yyjson_get_uint(yyjson_obj_get(row,
		    "bytes"));
		if (!is_plain(path))
			return damaged(b, "a path in " MANIFEST " leads out "
			    "of it", w);
		struct str from = arena_printf(a, "%.*s/%.*s",
		    STR_FMT(b->data), STR_FMT(path));
		if (tree_kind(from.p, &bytes) != TREE_FILE)
			return damaged(b, arena_printf(a, "%.*s is missing",
			    STR_FMT(path)).p, w);
		if (bytes != want)
			return damaged(b, arena_printf(a, "%.*s has %llu "
			    "bytes, not %llu", STR_FMT(path),
			    (unsigned long long)bytes,
			    (unsigned long long)want).p, w);
		b->files++;
		b->bytes += bytes;
	}
	return OK;
}

static enum err
copy_back(struct backup *b, yyjson_val *files, struct why *w)
{
	struct arena *a = &b->cli->arena;
	yyjson_val *row;
	size_t at, n;

	yyjson_arr_foreach(files, at, n, row) {
		const char *path = yyjson_get_str(yyjson_obj_get(row, "path"));
		struct str to = arena_printf(a, "%s/%s", b->cli->data_dir,
		    path);
		enum err e = make_parent(b, to, w);
		if (e == OK)
			e = tree_copy(arena_printf(a, "%.*s/%s",
			    STR_FMT(b->data), path).p, to.p, UINT64_MAX, w);
		if (e != OK)
			return e;
	}
	return tree_sync(b->cli->data_dir, w);
}

/* The mark is there before the first file, and goes behind the last. */
static enum err
fill(struct backup *b, yyjson_val *files, struct why *w)
{
	struct cli *c = b->cli;
	struct str mark = arena_printf(&c->arena, "%s/" SNAPSHOT_RESTORING,
	    c->data_dir);
	int fd = -1;

	enum err e = file_open(mark.p, FILE_NEW, &fd, w);
	file_close(&fd);
	if (e == OK)
		e = file_sync_dir(c->data_dir, w);
	if (e == OK)
		e = copy_back(b, files, w);
	if (e == OK)
		e = identity_adopt(c->data_dir, w);
	if (e == OK)
		e = file_remove(mark.p, w);
	return e == OK ? file_sync_dir(c->data_dir, w) : e;
}

static enum err
restore(struct backup *b, struct why *w)
{
	struct cli *c = b->cli;
	yyjson_doc *doc = NULL;
	yyjson_val *files = NULL;
	int64_t holder;

	if (!cli_is_there(c->options.operands[0]))
		return why(w, ERR_ABSENT, "there is no directory %s",
		    c->options.operands[0]);
	enum err e = cli_dir(c, c->options.operands[0], &b->dir, w);
	if (e != OK)
		return e;
	b->data = arena_printf(&c->arena, "%s/data", b->dir);
	e = read_manifest(b, &doc, &files, w);
	if (e == OK)
		e = check_files(b, files, w);
	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	if (e == OK)
		e = want_empty(c->data_dir, "a restore needs an empty one; "
		    "move it away, or name another with --data", w);
	if (e == OK)
		e = file_lock_dir(c->data_dir, &b->data_fd, &holder, w);
	if (e == OK)
		e = fill(b, files, w);
	yyjson_doc_free(doc);
	return e;
}

enum err
backup_run(struct cli *c, struct why *w)
{
	struct backup b = { .cli = c, .work_fd = -1, .data_fd = -1 };
	bool restores = cli_count(c, "restore") > 0;

	enum err e = cli_begin(c, w);
	if (e == OK)
		e = restores ? restore(&b, w) : back_up(&b, w);
	if (e == OK)
		print(&b, restores ? "restored" : "backed up");
	buf_free(&b.list);
	file_close(&b.work_fd);
	file_close(&b.data_fd);
	return e;
}
