/*
 * argiope crawl -- a crawl in the foreground, from the first seed to the
 * summary.
 *
 *     plan -> open the data -> begin or go on -> loop -> close -> summary
 *
 * One loop, "home", runs in the main thread: the engine's views and events come
 * there as mail, the terminal's line is drawn there.
 */
#include "cli/archive_files.h"
#include "cli/daemon.h"
#include "cli/engines.h"
#include "cli/format.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/submit.h"
#include "cli/verbs.h"
#include "engine/control/control.h"
#include "os/clock.h"
#include "os/system.h"

#define PAUSED_LOOKS 3

/* A daemon takes a crawl by its realtime door. */
#if DOOR_REALTIME
#define SUBMIT_HELP                                                          \
	"--submit needs a running argiope serve; --server and --token-file " \
	"say which, and are of use with it only.  Secrets, --warc-dir and "  \
	"--wacz cannot be handed over.  argiope pause, resume, cancel and "  \
	"rerun order it about.\n"
#else
#define SUBMIT_HELP ""
#endif

static const struct option_row rows[] = {
	OPTION_ROW(WARC_DIR, "warc-dir", 'o', "DIR", PATH, 0, 0,
	    "where WARC files go (DATA/archive)")
	OPTION_ROW(NO_ARCHIVE, "no-archive", 0, NULL, FLAG, 0, 0,
	    "count and report captures, and keep no bodies: no WARC files, no "
	    "CDXJ")
	OPTION_ROW(NAME, "name", 0, "NAME", TEXT, 0, 0,
	    "a name for the crawl, by which --resume finds it")
	OPTION_ROW(RESUME, "resume", 'r', NULL, FLAG, 0, 0,
	    "go on with the crawl of that name, else with the newest that can "
	    "go on")
	OPTION_ROW(SEEDS, "seeds", 0, "FILE", PATH, 0, 0,
	    "read seeds from FILE, one per line; - is standard input")
	PLAN_OPTIONS(OPTION_ROW) PLAN_SECRETS(OPTION_ROW)
#if DOOR_REALTIME
	OPTION_ROW(SUBMIT, "submit", 0, NULL, FLAG, 0, 0,
	    "hand the crawl to the daemon that serves the data directory, "
	    "print its number, and be done")
	DAEMON_OPTIONS(OPTION_ROW)
#endif
	OPTION_ROW(WACZ, "wacz", 0, "FILE", PATH, 0, 0,
	    "when the crawl is complete, pack the WARC directory as WACZ")
	OPTION_ROW(QUIET, "quiet", 'q', NULL, FLAG, 0, 0,
	    "no progress and no summary, only errors")
	OPTION_ROW(JSON, "json", 0, NULL, FLAG, 0, 0,
	    "print one JSON object per event on standard output")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb crawl_verb = {
	"crawl", "URL...", 0, OPERANDS_ANY,
	"Crawl web sites, in the foreground, into WARC files",
	"The seeds are fetched, and what they link to on their own hosts, "
	"with what the pages are made of; robots.txt is obeyed; one host is "
	"asked once a second.  \"http://\" may be left out.  A seed may be a "
	"loopback address; links to private addresses are followed only on "
	"the seeds' own hosts or with --allow-private.\n"
	"Ctrl-C stops in order: what was fetched is made durable, requests "
	"under way are given up, and the command that goes on is printed.  A "
	"second Ctrl-C leaves at once; nothing that was reported is lost.  "
	"SIGTERM does the same, and SIGHUP, unless nohup started it.  "
	"--max-time counts from the start of this command, also with "
	"--resume.\n"
	"--wacz packs all WARC files of the directory, so that what a page has "
	"in common with earlier crawls can be shown; a crawl that is broken "
	"off is packed by the command that ends it.\n"
	"--no-archive keeps the journal and the counters and prints the same "
	"events with --json, whose warc_dir is empty.  It goes on by --resume "
	"as any crawl does, each page counted once.  No page of it can be "
	"read, exported or packed afterwards, and no request asks whether a "
	"page has changed.\n"
	"Example: argiope crawl http://www.example.org/ --wacz example.wacz\n"
	SUBMIT_HELP
	"What is in force (depth, embedded resources, delay) is printed at "
	"the start.  A progress line is drawn on a terminal, and printed every "
	"30 seconds in a pipe.  The summary goes to standard output.\n"
	"Exit code: 0 the crawl is complete; 75 it was interrupted and can go "
	"on, or another process holds the data; 65 no seed is a URL; 69 "
	"nothing could be fetched, or the crawl has ended and cannot go on; "
	"66 there is no such crawl; 73 the name is taken; 74 reading or "
	"writing failed; 78 the configuration is wrong; 64 the command line "
	"is wrong; 70 stored data is damaged.",
	rows, ARRAY_LEN(rows)
};

#define NOTHING_WRITTEN "stopped before anything was written"

struct crawl_run {
	struct cli *cli;
	struct engine *engine;
	struct loop *home;
	struct report report;
	struct progress progress;
	struct turn_hook flush;
	struct timer look_timer, time_timer;
	struct crawl_order time_order, resume_order;
	struct mono began;

	struct policy *policy;
	const struct str *seeds;
	size_t seeds_n;
	struct plan_secrets secrets;
	const char *warc_dir;        /* "": nothing is archived */
	bool unarchived;
	struct str name;
	uint32_t id;
	bool resumed;
	uint64_t items_before;

	struct crawl_view view;      /* the newest */
	bool durable;                /* it can be gone on with */
	bool looking;                /* an engine_look() is under way */
	unsigned paused_looks;           /* in a row */
	bool closing, closed, interrupted, failed;
	bool waits;                  /* for room on the disk */
};

/* --- while it runs ------------------------------------------------------ */

static void
stop_if_idle(struct crawl_run *r)
{
	if (r->closed && !r->looking)
		loop_stop(r->home);
}

static void
engine_closed(void *arg)
{
	struct crawl_run *r = arg;

	r->closed = true;
	stop_if_idle(r);
}

static void
close_engine(struct crawl_run *r)
{
	if (r->closing)
		return;
	r->closing = true;
	loop_timer_stop(r->home, &r->time_timer);
	engine_close(r->engine, engine_closed, r);
}

static void
viewed(void *arg, const struct crawl_view *v)
{
	struct crawl_run *r = arg;

	if (v->id != r->id)
		return;
	r->view = *v;
	/* The first view says that the crawl's record is on the disk. */
	if (!r->durable)
		report_started(&r->report, v, r->name, str_of(r->warc_dir),
		    r->cli->data_dir, r->resumed);
	r->durable = true;
	if (crawl_state_is_ended(v->state))
		close_engine(r);
}

/*
 * archive.bytes_max has paused it, and nobody is there to resume it.  A crawl
 * that goes on here may show its earlier state for a moment.
 */
static void
stop_if_paused(struct crawl_run *r)
{
	r->paused_looks = r->view.state == CRAWL_PAUSED ?
	    r->paused_looks + 1 : 0;
	if (r->paused_looks < PAUSED_LOOKS || r->interrupted)
		return;
	r->interrupted = true;
	progress_say(&r->progress, "the crawl stops: it is paused (%s)",
	    r->view.reason);
	close_engine(r);
}

static void
report_url(void *arg, const struct url_event *e)
{
	struct crawl_run *r = arg;

	if (e->crawl == r->id)
		report_event(&r->report, e);
}

static void
health_changed(void *arg, enum engine_health h, const char *text)
{
	struct crawl_run *r = arg;

	report_health(&r->report, r->id, h, text);
	r->waits = h == ENGINE_DISK_FULL;
	progress_say(&r->progress, "the crawl %s: %s", h == ENGINE_FINE ?
	    "goes on" : h == ENGINE_DISK_FULL ? "waits" : "stops", text);
	if (h == ENGINE_FAILED) {
		r->failed = true;
		close_engine(r);
	}
}

static void
seen(void *arg, const struct engine_look *k)
{
	struct crawl_run *r = arg;

	r->looking = false;
	stop_if_idle(r);
	if (r->closed)
		return;
	progress_show(&r->progress, &r->view, k, r->closing);
	stop_if_paused(r);
	loop_timer_set(r->home, &r->look_timer, mono_add_ms(clock_mono(),
	    PROGRESS_LOOK_MS));
}

static void
look(struct timer *t)
{
	struct crawl_run *r = CONTAINER(t, struct crawl_run, look_timer);

	if (r->closed)
		return;
	r->looking = true;
	engine_look(r->engine, seen, r);
}

static void
time_is_over(struct timer *t)
{
	struct crawl_run *r = CONTAINER(t, struct crawl_run, time_timer);

	r->time_order = (struct crawl_order){ .crawl = r->id,
	    .want = CRAWL_COMPLETE, .reason = "max_time" };
	crawl_set_state(r->engine, &r->time_order);
}

static void
repeat_option(struct crawl_run *r, const char *name, struct buf *b)
{
	for (size_t i = 0; i < cli_count(r->cli, name); i++) {
		buf_printf(b, " --%s ", name);
		format_shell(b, cli_nth(r->cli, name, i));
	}
}

/*
 * The words that go on with this crawl, secrets' files and all.  `closed`: the
 * engine may be asked whether the crawl is the one that --resume takes.
 */
static const char *
resume_command(struct crawl_run *r, bool closed)
{
	static const char *const repeated[] = { "config", "set", "auth-file",
	    "cookie-file", "proxy-file", "wacz" };
	FREED(buf_free) struct buf b = BUF_INIT;
	char id[16];

	format_shell(&b, r->cli->program);
	buf_put_text(&b, " crawl --resume");
	snprintf(id, sizeof(id), "%u", r->id);
	struct str name = r->name;
	if (name.n == 0 && (!closed ||
	    engine_find(r->engine, STR_NONE) != r->id))
		name = str_of(id);
	if (name.n > 0) {
		buf_put_text(&b, " --name ");
		format_shell(&b, arena_copy(&r->cli->arena, name).p);
	}
	if (cli_count(r->cli, "data") > 0) {
		buf_put_text(&b, " --data ");
		format_shell(&b, r->cli->data_dir);
	}
	for (size_t i = 0; i < ARRAY_LEN(repeated); i++)
		repeat_option(r, repeated[i], &b);
	return arena_copy(&r->cli->arena, buf_str(&b)).p;
}

static void
got_signal(void *arg, int signal)
{
	struct crawl_run *r = arg;

	/* nohup wants it to go on; a closing terminal sends it twice. */
	if (system_is_hangup(signal) && (r->interrupted ||
	    system_ignores_hangup()))
		return;
	if (r->interrupted) {
		if (r->durable || r->resumed)
			progress_say(&r->progress, "stopped at once; nothing "
			    "that was reported is lost; to go on: %s",
			    resume_command(r, false));
		else
			progress_say(&r->progress, NOTHING_WRITTEN);
		fflush(stdout);
		_Exit(75);
	}
	r->interrupted = true;
	progress_say(&r->progress, "stopping: what was fetched is made "
	    "durable, requests under way are given up; Ctrl-C again stops at "
	    "once");
	close_engine(r);
}

/* Events are printed one by one and leave once per turn. */
static void
flush_events(struct turn_hook *h)
{
	struct crawl_run *r = CONTAINER(h, struct crawl_run, flush);

	if (fflush(stdout) != 0 && !r->closing) {
		r->interrupted = true;
		progress_say(&r->progress, "standard output cannot be written;"
		    " the crawl stops");
		close_engine(r);
	}
}

/* --- before ------------------------------------------------------------- */

/*
 * Refuse options and settings on the command line that have no effect without
 * WARC files.  Settings in a file or in the environment may be meant for other
 * crawls, and are ignored.
 */
static enum err
check_no_archive(struct cli *c, struct why *w)
{
	static const char *const options[] = { "warc-dir", "wacz",
	    "max-bytes" };
	static const enum conf_id settings[] = { CONF_WARC_ROLLOVER_S,
	    CONF_WARC_ROLLOVER_BYTES, CONF_WARC_REDACT,
	    CONF_WARC_COMPRESSION_LEVEL, CONF_ARCHIVE_OPEN_FILES,
	    CONF_ARCHIVE_BYTES_MAX, CONF_HOOK_WARC_FINISHED };

	if (cli_count(c, "no-archive") == 0)
		return OK;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (cli_count(c, options[i]) > 0)
			return why(w, ERR_USAGE, "--%s is of no use with "
			    "--no-archive, which writes no WARC files; leave "
			    "one of them away", options[i]);
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (c->conf.values[settings[i]].origin == CONF_FROM_FLAG)
			return why(w, ERR_USAGE, "%s is of no use with "
			    "--no-archive, which writes no WARC files; leave "
			    "one of them away",
			    conf_setting(settings[i])->name);
	return OK;
}

static enum err
check_words(struct cli *c, struct why *w)
{
	const char *edits = plan_edits(c);
	bool resume = cli_count(c, "resume") > 0;

	if (cli_has(c, "submit") && cli_count(c, "submit") == 0 &&
	    (cli_count(c, "server") > 0 || cli_count(c, "token-file") > 0))
		return why(w, ERR_USAGE, "--server and --token-file are of use "
		    "with --submit only");
	if (!resume && c->options.operands_n == 0 && cli_count(c, "seeds") == 0)
		return why(w, ERR_USAGE, "crawl wants a URL, --seeds FILE or "
		    "--resume");
	if (!resume)
		return check_no_archive(c, w);
	if (c->options.operands_n > 0 || cli_count(c, "seeds") > 0)
		return why(w, ERR_USAGE, "--resume goes on with the seeds that "
		    "the crawl has; leave the new ones away");
	if (cli_count(c, "warc-dir") > 0)
		edits = "warc-dir";
	if (cli_count(c, "no-archive") > 0)
		edits = "no-archive";
	if (edits != NULL && strcmp(edits, "max-time") != 0)
		return why(w, ERR_USAGE, "--%s cannot be changed by --resume; "
		    "the crawl keeps what it began with", edits);
	return OK;
}

/* Said before any data is touched, since the limit would never be reached. */
static enum err
check_bytes_max(const struct crawl_run *r, struct why *w)
{
	if (!r->unarchived || r->policy->limits.max_bytes == POLICY_NONE)
		return OK;
	return why(w, ERR_USAGE, "--policy %s: limits.max_bytes counts bytes "
	    "in WARC files, and is of no use with --no-archive",
	    cli_text(r->cli, "policy", ""));
}

static enum err
plan_all_seeds(struct crawl_run *r, struct why *w)
{
	enum err e = plan_seeds(r->cli, &r->seeds, &r->seeds_n, w);

	return e == OK && r->seeds_n == 0 ? why(w, ERR_INPUT, "there is no "
	    "seed in what --seeds named") : e;
}

static enum err
make_plan(struct crawl_run *r, struct why *w)
{
	struct cli *c = r->cli;
	const char *archive;

	enum err e = plan_secrets(c, &r->secrets, w);
	if (e == OK && !r->resumed)
		e = plan_all_seeds(r, w);
	if (e == OK && !r->resumed)
		e = plan_policy(c, r->seeds, r->seeds_n, &r->policy, w);
	if (e == OK && !r->resumed)
		e = check_bytes_max(r, w);
	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	r->warc_dir = "";
	if (e != OK || r->resumed || r->unarchived)
		return e;
	archive = arena_printf(&c->arena, "%s/archive", c->data_dir).p;
	return cli_dir(c, cli_text(c, "warc-dir", archive), &r->warc_dir, w);
}

/* Said before any data is touched: nothing is begun without a seed. */
static enum err
check_seeds(struct crawl_run *r, struct why *w)
{
	struct arena *a = &r->cli->arena;
	struct why first = WHY_INIT;
	struct url u;

	for (size_t i = 0; i < r->seeds_n; i++)
		if (seed_parse(r->seeds[i], a, &u, &first) == OK)
			return OK;
	return why(w, ERR_INPUT, "%s is no URL that can be fetched: %s%s",
	    format_text(a, r->seeds[0], 100), first.text, r->seeds_n == 1 ?
	    "" : "; and the other seeds are none either");
}

static enum err
open_engine(struct crawl_run *r, struct why *w)
{
	struct engine_options o = {
		.conf = &r->cli->conf, .home = r->home,
		.data_dir = r->cli->data_dir,
		.loops = (unsigned)conf_int(&r->cli->conf, CONF_LOOPS),
		.small = true, .every_event = cli_json(r->cli),
		.event = report_url, .view = viewed,
		.health = health_changed, .arg = r,
	};

	/* No client waits for an answer; its threads would interrupt one
	 * another for nothing. */
	system_give_way();
	return engines_open(engine_open, &o, &r->engine, w);
}

static enum err
begin(struct crawl_run *r, struct why *w)
{
	struct crawl_request q = {
		.spec = { .name = r->name, .seeds = r->seeds,
		    .seeds_n = r->seeds_n, .operator_seeds = true,
		    .unarchived = r->unarchived,
		    .warc_dir = str_of(r->warc_dir) },
		.policy = r->policy,
		.authorization = r->secrets.authorization,
		.cookies = r->secrets.cookies, .proxy = r->secrets.proxy,
	};

	if (r->name.n > 0 && engine_find(r->engine, r->name) != UINT32_MAX)
		return why(w, ERR_EXISTS, "there is a crawl named %.*s "
		    "already; go on with it by --resume, or take another name",
		    STR_FMT(str_cut(r->name, 0, 100)));
	return engine_begin(r->engine, &q, &r->id, w);
}

/* Read the crawl's spec; the report waits for the outcome of its seeds. */
static enum err
read_spec(struct crawl_run *r, struct why *w)
{
	struct arena *a = &r->cli->arena;
	struct crawl_spec spec;
	double s;

	enum err e = engine_spec(r->engine, r->id, a, &spec, w);
	if (e == OK)
		e = policy_parse(spec.policy, &r->policy, w);
	if (e != OK)
		return e;
	if (spec.unarchived && cli_count(r->cli, "wacz") > 0)
		return why(w, ERR_USAGE, "--wacz is of no use: crawl %u was "
		    "begun with --no-archive and has no WARC files", r->id);
	r->name = spec.name;
	r->unarchived = spec.unarchived;
	r->warc_dir = arena_copy(a, spec.warc_dir).p;
	r->seeds = spec.seeds;
	r->seeds_n = spec.seeds_n;
	if (cli_count(r->cli, "max-time") == 0)
		return OK;
	const char *text = cli_text(r->cli, "max-time", "");
	if (!plan_seconds(str_of(text), &s) || s <= 0)
		return why(w, ERR_USAGE, "--max-time %.60s: must be a time "
		    "like 90s, 10min or 2h", text);
	r->policy->limits.max_duration = s;
	return OK;
}

static enum err
go_on(struct crawl_run *r, struct why *w)
{
	struct crawl_request q = {
		.spec.operator_seeds = true,
		.authorization = r->secrets.authorization,
		.cookies = r->secrets.cookies, .proxy = r->secrets.proxy,
	};

	enum err e = engines_find(r->engine, r->name, &r->id, w);
	if (e == OK)
		e = read_spec(r, w);
	if (e == OK && engine_view(r->engine, r->id, &r->view) == OK &&
	    crawl_state_is_ended(r->view.state))
		e = why(w, ERR_STATE, "crawl %u has ended (%s%s%s) and cannot "
		    "go on", r->id, crawl_state_name(r->view.state),
		    r->view.reason[0] != '\0' ? ": " : "", r->view.reason);
	if (e == OK)
		e = engine_continue(r->engine, r->id, &q, w);
	r->items_before = r->view.counts.items;
	return e;
}

/* --- after -------------------------------------------------------------- */

static void
summary(struct crawl_run *r)
{
	struct report_end end = { .view = &r->view, .name = r->name,
	    .warc_dir = str_of(r->warc_dir), .items_before = r->items_before };

	end.types = engine_types(r->engine, &end.types_n);
	end.seconds = (double)mono_ns_between(r->began, clock_mono()) / 1e9;
	if (!crawl_state_is_ended(r->view.state))
		end.resume = resume_command(r, true);
	if (cli_json(r->cli) || cli_count(r->cli, "quiet") == 0)
		report_end(&r->report, &end);
	else if (end.resume != NULL)
		progress_say(&r->progress, "to go on: %s", end.resume);
}

static int
exit_code(const struct crawl_run *r)
{
	if (r->failed)
		return err_exit(ERR_IO);
	if (!crawl_state_is_ended(r->view.state))
		return err_exit(ERR_FULL);
	if (r->view.counts.items == 0 && (crawl_exceptions(&r->view.counts) >
	    0 || crawl_skips(&r->view.counts) > 0))
		return err_exit(ERR_UNREACHED);
	return 0;
}

/* --- handed to a daemon ------------------------------------------------- */

#if DOOR_REALTIME

static enum err
submit(struct cli *c, struct why *w)
{
	struct crawl_run r = { .cli = c };

	enum err e = submit_check(c, w);
	if (e == OK)
		e = check_words(c, w);
	if (e == OK)
		e = plan_all_seeds(&r, w);
	if (e == OK)
		e = check_seeds(&r, w);
	if (e == OK)
		e = plan_policy(c, r.seeds, r.seeds_n, &r.policy, w);
	if (e == OK)
		e = submit_crawl(c, r.seeds, r.seeds_n, r.policy, w);
	policy_free(&r.policy);
	return e;
}

#endif

/* --- the whole ---------------------------------------------------------- */

static void
run(struct crawl_run *r)
{
	double s = r->policy->limits.max_duration;

	r->began = clock_mono();
	progress_open(&r->progress, cli_count(r->cli, "quiet") > 0);
	report_open(&r->report, cli_json(r->cli), r->seeds, r->seeds_n,
	    r->policy);
	if (cli_count(r->cli, "quiet") == 0)
		progress_say(&r->progress, "in force: %.*s%s",
		    STR_FMT(r->report.in_force), r->unarchived ?
		    "; nothing is archived" : "");
	r->flush.run = flush_events;
	loop_hook(r->home, &r->flush);
	r->time_timer.fire = time_is_over;
	if (s < 1e9)
		loop_timer_set(r->home, &r->time_timer, mono_add_ms(r->began,
		    (int64_t)(s * 1000)));
	r->look_timer.fire = look;
	if (r->view.state == CRAWL_PAUSED) {
		r->resume_order = (struct crawl_order){ .crawl = r->id,
		    .want = CRAWL_RUNNING, .reason = CRAWL_BY_RESUME };
		crawl_set_state(r->engine, &r->resume_order);
	}
	engine_start(r->engine);
	look(&r->look_timer);
	loop_run(r->home);
	progress_clear(&r->progress);
	/* What the engine says now is what is on the disk; of one that failed
	 * or found no room only what the last view told is. */
	if (r->failed || r->waits ? r->durable || r->resumed :
	    engine_view(r->engine, r->id, &r->view) == OK)
		summary(r);
	else if (r->waits)
		progress_say(&r->progress, NOTHING_WRITTEN);
	report_close(&r->report);
}

/*
 * There is nothing to crawl, but an earlier process may have been killed before
 * it called its hooks, or named its last WARC file.
 */
static void
finish_hooks(struct crawl_run *r)
{
	if (!engine_has_hooks(r->engine))
		return;
	r->id = UINT32_MAX;
	engine_start(r->engine);
	close_engine(r);
	loop_run(r->home);
}

/* The files have their names only when the engine is gone. */
static enum err
pack(struct crawl_run *r, struct why *w)
{
	const char *path = cli_text(r->cli, "wacz", NULL);

	if (path == NULL || r->failed || !crawl_state_is_ended(r->view.state))
		return OK;
	return archive_wacz_crawl(r->cli, r->warc_dir, path, r->name,
	    r->seeds_n > 0 ? r->seeds[0] : STR_NONE, w);
}

enum err
crawl_run(struct cli *c, struct why *w)
{
	struct crawl_run r = { .cli = c, .resumed = cli_count(c, "resume") > 0,
	    .name = str_of(cli_text(c, "name", "")),
	    .unarchived = cli_count(c, "no-archive") > 0 };

#if DOOR_REALTIME
	if (cli_count(c, "submit") > 0)
		return submit(c, w);
#endif
	enum err e = check_words(c, w);
	if (e == OK && cli_count(c, "wacz") > 0)
		e = archive_wacz_place(cli_text(c, "wacz", ""), w);
	if (e == OK)
		e = cli_begin(c, w);
	if (e == OK && r.resumed && !cli_is_there(c->data_dir))
		e = why(w, ERR_ABSENT, "%s holds no crawl that could go on",
		    c->data_dir);
	if (e == OK)
		e = make_plan(&r, w);
	if (e == OK && !r.resumed)
		e = check_seeds(&r, w);
	if (e == OK) {
		r.home = loop_new("home");
		/* Before any thread starts. */
		loop_on_signal(r.home, got_signal, &r);
		e = open_engine(&r, w);
	}
	if (e == OK)
		e = r.resumed ? go_on(&r, w) : begin(&r, w);
	if (e == OK) {
		(void)!engine_view(r.engine, r.id, &r.view);
		run(&r);
		c->code = exit_code(&r);
	} else if (r.engine != NULL) {
		finish_hooks(&r);
	}
	engine_free(&r.engine);
	if (e == OK)
		e = pack(&r, w);
	loop_free(&r.home);
	policy_free(&r.policy);
	return e;
}
