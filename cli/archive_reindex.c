/*
 * argiope archive reindex -- the journal of each crawl as its WARC files tell
 * it: numbers, places, digests; with --rebuild, a data directory made of it.
 */
#include "base/json_writer.h"
#include "cli/archive_files.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "engine/catalog/archive_tools.h"
#include "engine/control/control.h"
#include "engine/harvest/harvest_rebuild.h"
#include "engine/rebuild/rebuild.h"

static const struct option_row rows[] = {
	OPTION_ROW(REBUILD, "rebuild", 0, NULL, FLAG, 0, 0,
	    "make the data directory anew, where it is")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_reindex_verb = {
	"archive reindex", "[FILE...]", 0, OPERANDS_ANY,
	"Rebuild the journal of captures, or all data, from WARC files",
	ARCHIVE_FILES_ABOUT "\n"
	"A line per crawl tells how many captures it has, and whether numbers "
	"are missing.  With --json each capture is one object per line, in the "
	"order of crawls and numbers.  Nothing is written.\n"
	"With --rebuild what DATA held beside the archive is made again, also "
	"where it is damaged, or older than the archive, or a copy; FILE is "
	"then a directory, the --warc-dir of the crawls, and need be named "
	"only where DATA never knew it.  What comes back: crawls with name, "
	"seeds and policy, captures under their numbers, counters, and the "
	"known URLs, for which the archived pages' links are read again.  A "
	"crawl that was broken off goes on by argiope crawl --resume, and "
	"fetches no captured page again.  Harvests come back as ended ones, "
	"with their files.  A file that was being written is cut "
	"behind its last whole capture and gets its name.  The index and log "
	"that DATA has are kept, in DATA/replaced-N.  No WARC tells of URLs "
	"that failed or were left for their media type (they wait again), of "
	"logs, and that a crawl was paused (it can go on).  Where the old "
	"index can be read, queues of the urlfrontier door, crawls without a "
	"capture or without an archive, and how crawls ended, are taken over "
	"from it.  No other "
	"process may be crawling into the directory.\n"
	"Damage costs the records that it hit: each gap is printed with its "
	"file and offset, and the rest of the file is kept.  A file that a "
	"hook has moved is read at its new place; a finished file that cannot "
	"be read there, or is missing without a note, is named, as far as the "
	"old index or the file's CDXJ tells of it.\n"
	"Example: argiope archive reindex --rebuild --data DIR /srv/warcs\n"
	"Exit code: 0; 65 numbers are missing or there twice, or finished "
	"files are missing; 70 records are damaged (after both --rebuild has "
	"done its work); 66 there is no WARC file; with --rebuild also 75 a "
	"process has DATA or writes a file; 74 reading or writing failed.",
	rows, ARRAY_LEN(rows)
};

struct reindexing {
	struct cli *cli;
	bool any;
	uint32_t crawl;              /* whose captures are being told */
	uint64_t captures, last;
};

static void
end_crawl(struct reindexing *r)
{
	char one[FORMAT_MAX], two[FORMAT_MAX];

	if (r->any && !cli_json(r->cli))
		printf("crawl %u: %s captures, the last number is %s\n",
		    r->crawl, format_count(r->captures, one),
		    format_count(r->last, two));
}

static void
put_json(struct reindexing *r, const struct archive_capture *c)
{
	struct buf *b = &r->cli->out;
	char digest[DIGEST_TEXT_MAX];

	digest_to_text(&c->digest, digest);
	buf_put_char(b, '{');
	json_u64(b, "crawl", c->crawl);
	json_u64(b, "seq", c->seq);
	json_str(b, "file", c->file->name);
	json_u64(b, "offset", c->offset);
	json_u64(b, "packed", c->clen);
	format_json_time(b, "start", c->start);
	json_u64(b, "status", (uint64_t)MAX(0, c->status));
	json_str(b, "type", c->type);
	json_str(b, "url", c->url);
	json_str(b, "final_url", c->final_url);
	json_u64(b, "hops", c->hops);
	json_u64(b, "depth", c->depth);
	json_u64(b, "body_bytes", c->body_bytes);
	json_str(b, "digest", str_of(digest));
	json_bool(b, "revisit", c->revisit);
	json_bool(b, "truncated", c->truncated);
	buf_put_text(b, "}\n");
	cli_put(b);
}

static enum err
captured(void *arg, const struct archive_capture *c, struct why *w)
{
	struct reindexing *r = arg;

	if (r->any && r->crawl != c->crawl) {
		end_crawl(r);
		r->captures = 0;
	}
	r->any = true;
	r->crawl = c->crawl;
	r->captures++;
	r->last = c->seq;
	if (cli_json(r->cli))
		put_json(r, c);
	return ferror(stdout) ? why(w, ERR_CLOSED, "nobody reads") : OK;
}

static enum err
verdict(const struct rebuild_counts *n, struct why *w)
{
	if (n->damaged > 0)
		return why(w, ERR_CORRUPT, "%llu records are damaged, and %llu "
		    "numbers are missing; argiope archive check shows where",
		    (unsigned long long)n->damaged,
		    (unsigned long long)n->missing);
	if (n->missing + n->repeated > 0)
		return why(w, ERR_INPUT, "%llu numbers are missing and %llu "
		    "are there twice; are all WARC files of the crawl here?",
		    (unsigned long long)n->missing,
		    (unsigned long long)n->repeated);
	if (n->lost + n->gone > 0)
		return why(w, ERR_INPUT, "%llu finished WARC files are missing "
		    "or shorter than recorded, and %llu were moved to where "
		    "they cannot be read; put them back and run it again",
		    (unsigned long long)n->lost, (unsigned long long)n->gone);
	return OK;
}

static enum err
list(struct cli *c, struct why *w)
{
	static const struct archive_reindex_events events = {
		.capture = captured };
	struct reindexing r = { .cli = c };
	struct archive_reindex_counts counts = { 0 };
	struct archive_catalogue files;

	enum err e = archive_files(c, 0, false, &files, w);
	if (e == OK)
		e = archive_reindex(&files, archive_scratch(c),
		    SORT_BYTES_MAX_DEFAULT, &events, &r, &counts, w);
	if (e != OK)
		return e == ERR_CLOSED ? OK : e;
	end_crawl(&r);
	archive_files_gone(&files);
	return verdict(&(struct rebuild_counts){ .damaged = counts.damaged,
	    .missing = counts.missing, .repeated = counts.repeated,
	    .gone = files.gone_n }, w);
}

/* --- --rebuild ---------------------------------------------------------- */

struct rebuilding {
	struct cli *cli;
	struct progress progress;
	uint64_t waiting;            /* URLs of crawls that can go on */
	uint64_t gaps, lost;
	struct harvest_rebuild harvests;
};

#define GAPS_SHOWN 100

static void
told_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct rebuilding *r = arg;
	char one[FORMAT_MAX], two[FORMAT_MAX];

	if (done == 0 && total == 0)
		progress_say(&r->progress, "it waits: %s", what);
	else if (total == 0)
		progress_text(&r->progress, "rebuilding: %s %s",
		    format_count(done, one), what);
	else
		progress_text(&r->progress, "reading: %s of %s %s",
		    format_count(done, one), format_count(total, two), what);
}

static void
told_gap(void *arg, const char *path, uint64_t offset, const char *cause)
{
	struct rebuilding *r = arg;
	if (r->gaps++ < GAPS_SHOWN)
		progress_say(&r->progress, "gap: %s at byte %llu: %s",
		    format_text(&r->cli->arena, str_of(path), 1000),
		    (unsigned long long)offset, cause);
}

static void
told_lost(void *arg, const char *path, enum rebuild_loss loss,
    const char *place)
{
	struct rebuilding *r = arg;
	struct arena *a = &r->cli->arena;

	if (r->lost++ >= GAPS_SHOWN)
		return;
	const char *name = format_text(a, str_of(path), 4096);
	if (loss == REBUILD_MOVED)
		progress_say(&r->progress, "moved: %s to %s, where it cannot "
		    "be read", name, format_text(a, str_of(place), 4096));
	else
		progress_say(&r->progress, "%s: %s", loss == REBUILD_SHORTER ?
		    "shorter than recorded" : "missing", name);
}

static void
told_harvest(void *arg, struct str id, struct str type, const char *path)
{
	struct rebuilding *r = arg;

	harvest_rebuild_add(&r->harvests, id, type, path);
}

/* Those that the store does not know, if there are any. */
static enum err
store_harvests(struct rebuilding *r, struct why *w)
{
	struct store *st = NULL;
	uint64_t n = 0;

	if (r->harvests.harvests.n == 0)
		return OK;
	enum err e = engine_open_store(&r->cli->conf, NULL, r->cli->data_dir,
	    &st, w);
	if (e == OK)
		e = harvest_rebuild_store(&r->harvests, st, &n, w);
	store_close(&st);
	if (e == OK && n > 0)
		progress_say(&r->progress, "harvests that came back, as ended "
		    "ones: %llu", (unsigned long long)n);
	return e;
}

static void
told_crawl(void *arg, const struct crawl_view *v, struct str name)
{
	struct rebuilding *r = arg;
	struct buf *b = &r->cli->out;
	char one[FORMAT_MAX], two[FORMAT_MAX];

	progress_clear(&r->progress);
	if (v->state == CRAWL_RUNNING)
		r->waiting += v->counts.queued;
	if (cli_json(r->cli)) {
		buf_put_char(b, '{');
		json_u64(b, "crawl", v->id);
		json_str(b, "name", name);
		json_str(b, "state", str_of(crawl_state_name(v->state)));
		json_u64(b, "captures", v->counts.items);
		json_u64(b, "waiting", v->counts.queued);
		buf_put_text(b, "}\n");
	} else {
		buf_printf(b, "crawl %u", v->id);
		if (name.n > 0) {
			buf_put_text(b, " (");
			format_safe(b, name, 100);
			buf_put_char(b, ')');
		}
		buf_printf(b, ": %s captures, %s; %s URLs wait\n",
		    format_count(v->counts.items, one),
		    crawl_state_name(v->state),
		    format_count(v->counts.queued, two));
	}
	cli_put(b);
}

/* Absolute; it must exist. */
static enum err
add_dir(struct cli *c, const char *path, const char **dirs, size_t *n,
    struct why *w)
{
	if (*n == REBUILD_DIRS_MAX)
		return why(w, ERR_USAGE, "--rebuild takes at most %d "
		    "directories", REBUILD_DIRS_MAX);
	if (!cli_is_there(path))
		return why(w, ERR_ABSENT, "%s is not there; name the "
		    "directory of the crawl's WARC files", path);
	enum err e = cli_dir(c, path, &dirs[*n], w);
	*n += e == OK;
	return e;
}

/* Those that are named, else DATA's own and what DATA/identity lists. */
static enum err
find_dirs(struct cli *c, const char **dirs, size_t *n, struct why *w)
{
	const struct options *o = &c->options;
	const char *own = arena_printf(&c->arena, "%s/archive", c->data_dir).p;
	const char *harvest = arena_printf(&c->arena, "%s/harvest",
	    c->data_dir).p;
	struct identity x = { .archives_n = 0 };
	enum err e = OK;

	*n = 0;
	for (size_t i = 0; e == OK && i < o->operands_n; i++)
		e = add_dir(c, o->operands[i], dirs, n, w);
	if (o->operands_n > 0)
		return e;
	if (identity_read(c->data_dir, &c->arena, &x, NULL) != OK)
		x.archives_n = 0;
	/* Where nothing was archived yet the old index is read alone. */
	if (cli_is_there(arena_printf(&c->arena, "%s/index", c->data_dir).p))
		e = cli_dir(c, own, &own, w);
	if (e == OK && cli_is_there(harvest))
		e = add_dir(c, harvest, dirs, n, w);
	if (e == OK && (x.archives_n + *n == 0 || cli_is_there(own)))
		e = add_dir(c, own, dirs, n, w);
	for (size_t i = 0; e == OK && i < x.archives_n; i++)
		e = add_dir(c, x.archives[i].p, dirs, n, w);
	return e;
}

static void
say_count(struct rebuilding *r, uint64_t n, const char *what, const char *more)
{
	if (n > 0)
		progress_say(&r->progress, "%s: %llu%s", what,
		    (unsigned long long)n, more);
}

static void
say_rest(struct rebuilding *r, const struct rebuild_counts *n)
{
	uint64_t unread = n->lost + n->gone;

	if (n->finished > 0)
		progress_say(&r->progress, "files that were being written: "
		    "%llu; cut behind their last whole capture: %llu bytes",
		    (unsigned long long)n->finished,
		    (unsigned long long)n->cut_bytes);
	say_count(r, n->damaged - MIN(n->damaged, GAPS_SHOWN), "further gaps",
	    "; argiope archive check shows all of them");
	say_count(r, unread - MIN(unread, GAPS_SHOWN),
	    "further files that were not read", "");
	say_count(r, n->moved, "files read where a hook had moved them", "");
	say_count(r, n->seedless, "crawls whose seeds and policy were lost, "
	    "since no warcinfo of theirs is sound",
	    "; their captures are kept, but they cannot go on");
	say_count(r, n->foreign, "files left out, since they name no crawl of "
	    "argiope's", "");
	if (n->door_crawls > 0 || n->index_crawls > 0)
		progress_say(&r->progress, "taken over from the old index: "
		    "%llu crawls without a capture, %llu of the urlfrontier "
		    "door", (unsigned long long)n->index_crawls,
		    (unsigned long long)n->door_crawls);
	say_count(r, n->unarchived, "taken over from the old index: crawls "
	    "without an archive", "");
	if (n->old_unread)
		progress_say(&r->progress, "the old index cannot be read; "
		    "queues of the urlfrontier door, and what else WARC files "
		    "do not tell, are not restored");
	say_count(r, n->refused, "captures left out, since their URL has one "
	    "already", "");
	say_count(r, n->unread, "documents that could not be read again",
	    "; what only they link to is not known");
	if (cli_json(r->cli))
		return;
	printf("%s holds %llu captures of %llu crawl%s, from %llu files.\n",
	    r->cli->data_dir, (unsigned long long)n->captures,
	    (unsigned long long)n->crawls, n->crawls == 1 ? "" : "s",
	    (unsigned long long)n->files);
	if (r->waiting > 0)
		printf("To fetch what waits: argiope crawl --resume --data "
		    "%s\n", r->cli->data_dir);
}

static enum err
rebuild(struct cli *c, struct why *w)
{
	const char *dirs[REBUILD_DIRS_MAX];
	struct rebuilding r = { .cli = c };
	struct rebuild_counts counts;
	struct rebuild_options o = { .conf = &c->conf, .dirs = dirs,
	    .scratch = archive_scratch(c), .progress = told_progress,
	    .gap = told_gap, .lost = told_lost, .crawl = told_crawl,
	    .harvest = told_harvest, .arg = &r };

	progress_open(&r.progress, false);
	enum err e = cli_begin(c, w);
	if (e == OK)
		e = find_dirs(c, dirs, &o.dirs_n, w);
	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	o.data_dir = c->data_dir;
	if (e == OK)
		e = rebuild_run(&o, &counts, w);
	if (e == OK)
		e = store_harvests(&r, w);
	harvest_rebuild_free(&r.harvests);
	progress_clear(&r.progress);
	if (e != OK)
		return e;
	say_rest(&r, &counts);
	return verdict(&counts, w);
}

enum err
archive_reindex_run(struct cli *c, struct why *w)
{
	return cli_count(c, "rebuild") > 0 ? rebuild(c, w) : list(c, w);
}
