/*
 * argiope harvest run -- one harvest in the foreground, without a broker.
 *
 *     words ─► message ─► open the data ─► begin or take up ─► loop ─► close
 */
#include <errno.h>

#include "base/json_writer.h"
#include "cli/engines.h"
#include "cli/daemon.h"
#include "cli/format.h"
#include "cli/harvest_daemon.h"
#include "cli/harvest_run.h"
#include "cli/harvest_words.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "engine/control/control.h"
#include "engine/harvest/harvest.h"
#include "os/clock.h"
#include "os/system.h"
#include "os/tree.h"

#define NOTE_BYTES_MAX 300u

static const struct option_row rows[] = {
	HARVEST_WORDS(OPTION_ROW)
	OPTION_ROW(INTO, "into", 'i', "DIR", PATH, 0, 0,
	    "where WARC files and state.json go, by hour directories")
	OPTION_ROW(RESUME, "resume", 'r', NULL, FLAG, 0, 0,
	    "go on with the newest harvest into DIR that has not ended")
	OPTION_ROW(QUIET, "quiet", 'q', NULL, FLAG, 0, 0,
	    "no progress and no summary, only errors")
	OPTION_ROW(JSON, "json", 0, NULL, FLAG, 0, 0,
	    "print the summary as one JSON object")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb harvest_run_verb = {
	"harvest run", "[TYPE]", 0, 1,
	"Harvest a platform, in the foreground, into WARC files",
	"argiope harvest types lists the types, and what each of them takes.  "
	"WARC files come to DIR/YYYY/MM/DD/HH as they are finished; "
	"DIR/state.json follows them, and tells the next run with the option "
	"incremental=true where this one has ended.\n"
	"Ctrl-C ends it in order: the request in hand is finished, and what "
	"was archived is brought to DIR; --resume goes on with it, also after "
	"a crash, and asks for nothing that was archived.  A second Ctrl-C "
	"leaves at once.\n"
	"Where a daemon serves the data directory, that one does the work, and "
	"this shows its progress; Ctrl-C pauses the harvest there.\n"
	"Example: argiope harvest run mastodon_account --seed Gargron "
	"--credentials-file mastodon.json --into posts; with "
	"{\"instance\":\"https://mastodon.social\"} in mastodon.json\n"
	"Exit code: 0 success; 65 what was asked for is wrong; 69 the harvest "
	"failed; 75 it was interrupted and can go on, or another process "
	"holds the data; 66 there is nothing to go on with; 64 the command "
	"line is wrong; 74 reading or writing failed.",
	rows, ARRAY_LEN(rows)
};

struct harvest_run {
	struct cli *cli;
	struct loop *home;
	struct engine *engine;
	struct harvests *harvests;
	struct progress progress;
	struct timer look_timer;
	struct harvest_request request;
	struct str id;               /* empty: it has not begun */
	const char *into;
	bool resumed, stops, interrupted, ended, closing;
	enum store_harvest_state state;
	char trouble[sizeof(((struct why *)NULL)->text)];
	struct why why;
};

/* ---- While it runs -------------------------------------------------- */

static void
engine_closed(void *arg)
{
	struct harvest_run *r = arg;

	loop_stop(r->home);
}

static void
close_engine(struct harvest_run *r)
{
	if (r->closing)
		return;
	r->closing = true;
	loop_timer_stop(r->home, &r->look_timer);
	engine_close(r->engine, engine_closed, r);
}

static void
put_wait(const struct harvest_view *v, char *out, size_t size)
{
	char text[32];

	out[0] = '\0';
	if (v->waits_for == NULL || v->waits_ms < 1000)
		return;
	duration_to_text(v->waits_ms * NS_PER_MS, text);
	snprintf(out, size, "  waits %s: %s", text, v->waits_for);
}

static void
show_view(struct harvest_run *r, const struct harvest_view *v)
{
	char wait[128];

	if (v->trouble[0] != '\0' && strcmp(v->trouble, r->trouble) != 0)
		progress_say(&r->progress, "files wait to be brought away: %s",
		    v->trouble);
	snprintf(r->trouble, sizeof(r->trouble), "%s", v->trouble);
	put_wait(v, wait, sizeof(wait));
	progress_text(&r->progress, "%.*s  %llu %s  answers: %llu  WARC "
	    "files: %llu%s%s", STR_FMT(v->id), (unsigned long long)v->items,
	    v->label, (unsigned long long)v->answers,
	    (unsigned long long)v->warcs, wait, r->interrupted ?
	    "  stopping" : "");
}

static void
look(struct timer *t)
{
	struct harvest_run *r = CONTAINER(t, struct harvest_run, look_timer);
	struct harvest_view v;

	if (harvest_look(r->harvests, r->id, &v))
		show_view(r, &v);
	if (!r->closing)
		loop_timer_set(r->home, t, mono_add_ms(clock_mono(),
		    PROGRESS_LOOK_MS));
}

static void
harvest_ended(void *arg, const struct harvest_view *v)
{
	struct harvest_run *r = arg;

	r->ended = true;
	r->state = v->state;
	close_engine(r);
}

static void
begun(struct harvest_request *q)
{
	struct harvest_run *r = q->arg;

	if (q->why.err == OK) {
		r->id = q->given_id;
		if (r->interrupted)
			harvest_pause(r->harvests, r->id);
		return;
	}
	r->why = q->why;
	close_engine(r);
}

static void
health_changed(void *arg, enum engine_health h, const char *text)
{
	struct harvest_run *r = arg;

	progress_say(&r->progress, "the harvest %s: %s", h == ENGINE_FINE ?
	    "goes on" : h == ENGINE_DISK_FULL ? "waits" : "stops", text);
	if (h == ENGINE_FAILED) {
		why(&r->why, ERR_IO, "%s", text);
		close_engine(r);
	}
}

static void
got_signal(void *arg, int signal)
{
	struct harvest_run *r = arg;

	/* nohup wants it to go on; a closing terminal sends it twice. */
	if (system_is_hangup(signal) && (r->interrupted ||
	    system_ignores_hangup()))
		return;
	if (r->interrupted) {
		progress_say(&r->progress, "stopped at once; --resume goes on");
		fflush(stdout);
		_Exit(75);
	}
	r->interrupted = true;
	progress_say(&r->progress, "stopping: the request in hand is finished, "
	    "and what was archived is brought to its place; Ctrl-C again "
	    "stops at once");
	if (r->id.n > 0)
		harvest_pause(r->harvests, r->id);
}

/* ---- Before --------------------------------------------------------- */

static enum err
check_words(struct cli *c, struct why *w)
{
	static const char *const others[] = { "seed", "uid", "stdin", "option",
	    "api", "credentials-file", "credential", "collection-set",
	    "message" };

	if (!cli_given(c, "resume"))
		return OK;
	if (cli_count(c, "into") == 0)
		return why(w, ERR_USAGE, "--resume needs --into DIR");
	if (c->options.operands_n > 0)
		return why(w, ERR_USAGE, "--resume continues an earlier "
		    "harvest; leave out %.60s", c->options.operands[0]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (cli_given(c, others[i]))
			return why(w, ERR_USAGE, "--resume continues an "
			    "earlier harvest; leave out --%s", others[i]);
	return OK;
}

/* The directory that the words or the message name; made, and absolute. */
static enum err
find_place(struct harvest_run *r, const char *own, struct why *w)
{
	const char *into = cli_text(r->cli, "into", own);

	if (into == NULL)
		return why(w, ERR_USAGE, "harvest run wants --into DIR");
	enum err e = tree_make_dir(into, w);
	if (e != OK)
		return e;
	char *real = realpath(into, NULL);
	if (real == NULL)
		return why_errno(w, err_from_errno(errno), "%s", into);
	r->into = arena_copy(&r->cli->arena, str_of(real)).p;
	free(real);
	return OK;
}

static enum err
open_data(struct harvest_run *r, struct why *w)
{
	struct cli *c = r->cli;
	struct engine_options eo = { .conf = &c->conf, .home = r->home,
	    .loops = (unsigned)conf_int(&c->conf, CONF_LOOPS), .small = true,
	    .doors = true, .health = health_changed,
	    .arg = r };
	struct harvests_options ho = { .home = r->home, .conf = &c->conf,
	    .ended = harvest_ended, .arg = r };

	enum err e = cli_dir(c, c->data_dir, &c->data_dir, w);
	eo.data_dir = ho.data_dir = c->data_dir;
	if (e == OK)
		e = engines_open(engine_open, &eo, &r->engine, w);
	ho.engine = r->engine;
	return e == OK ? harvests_open(&ho, &r->harvests, w) : e;
}

/* The newest one into that directory. */
static enum err
find_unfinished(struct harvest_run *r, struct str *id, struct why *w)
{
	struct store_harvest *list;
	size_t n;

	*id = STR_NONE;
	enum err e = harvests_unfinished(r->harvests, &r->cli->arena, &list,
	    &n, w);
	for (size_t i = 0; e == OK && i < n; i++)
		if (str_eq(list[i].path, str_of(r->into)))
			*id = list[i].id;
	return e;
}

static enum err
take_up(struct harvest_run *r, struct why *w)
{
	struct str id = r->id;

	enum err e = id.n > 0 ? OK : find_unfinished(r, &id, w);
	if (e != OK)
		return e;
	if (!r->resumed && id.n > 0)
		progress_say(&r->progress, "harvest %.*s into %s has not ended;"
		    " this is another one", STR_FMT(id), r->into);
	if (!r->resumed)
		return OK;
	if (id.n == 0)
		return why(w, ERR_ABSENT, "no harvest into %s is left to go on "
		    "with", r->into);
	r->id = id;
	return harvest_continue(r->harvests, id, w);
}

/* ---- After ---------------------------------------------------------- */

static void
put_summary_json(struct harvest_run *r, const struct harvest_view *v)
{
	struct buf *b = &r->cli->out;
	struct harvest_note n;
	size_t at = 0;

	json_object(b, NULL);
	json_str(b, "id", v->id);
	json_str(b, "type", v->type);
	json_str(b, "state", str_of(store_harvest_state_name(r->state)));
	json_str(b, "label", str_of(v->label));
	json_u64(b, "items", v->items);
	json_u64(b, "answers", v->answers);
	json_u64(b, "replayed", v->replayed);
	json_u64(b, "warcs", v->warcs);
	json_u64(b, "bytes", v->warc_bytes);
	json_u64(b, "warcs_waiting", v->warcs_waiting);
	json_str(b, "path", v->path);
	if (v->trouble[0] != '\0')
		json_str(b, "trouble", str_of(v->trouble));
	json_array(b, "notes");
	while (harvest_next_note(r->harvests, v->id, &at, &n)) {
		json_object(b, NULL);
		json_str(b, "level", str_of(n.level));
		json_str(b, "code", n.code);
		json_str(b, "message", n.text);
		if (n.seed.n > 0)
			json_str(b, "seed", n.seed);
		buf_put_char(b, '}');
	}
	buf_put_text(b, "]}\n");
}

static void
put_summary(struct harvest_run *r, const struct harvest_view *v)
{
	struct buf *b = &r->cli->out;
	struct harvest_note n;
	size_t at = 0;

	buf_printf(b, "%.*s: %s\n", STR_FMT(v->id),
	    store_harvest_state_name(r->state));
	buf_printf(b, "%llu %s in %llu answers; WARC files: %llu, %llu bytes, "
	    "in %.*s\n", (unsigned long long)v->items, v->label,
	    (unsigned long long)v->answers, (unsigned long long)v->warcs,
	    (unsigned long long)v->warc_bytes, STR_FMT(v->path));
	if (v->warcs_waiting > 0)
		buf_printf(b, "WARC files that could not be brought there: "
		    "%llu\n", (unsigned long long)v->warcs_waiting);
	if (v->trouble[0] != '\0')
		buf_printf(b, "error: %s\n", v->trouble);
	while (harvest_next_note(r->harvests, v->id, &at, &n)) {
		buf_printf(b, "%s: %.*s", n.level, STR_FMT(n.code));
		if (n.seed.n > 0)
			buf_printf(b, " (seed %.*s)", STR_FMT(n.seed));
		buf_put_text(b, ": ");
		format_safe(b, n.text, NOTE_BYTES_MAX);
		buf_put_char(b, '\n');
	}
	if (r->state == STORE_HARVEST_PAUSED)
		buf_printf(b, "to go on: argiope harvest run --resume --into "
		    "%.*s\n", STR_FMT(v->path));
}

static int
exit_code(const struct harvest_run *r)
{
	if (!r->ended || r->state == STORE_HARVEST_PAUSED)
		return err_exit(ERR_FULL);
	return r->state == STORE_HARVEST_SUCCEEDED ? 0 : err_exit(ERR_STATE);
}

static enum err
run(struct harvest_run *r, struct str message, struct why *w)
{
	struct harvest_view v;

	r->look_timer.fire = look;
	engine_start(r->engine);
	if (r->resumed) {
		if (r->stops)
			harvest_stop(r->harvests, r->id);
		harvest_resume(r->harvests, r->id);
	} else {
		r->request = (struct harvest_request){ .message = message,
		    .path = str_of(r->into), .done = begun, .arg = r };
		harvest_begin(r->harvests, &r->request);
	}
	look(&r->look_timer);
	loop_run(r->home);
	progress_clear(&r->progress);
	if (r->why.err == OK && harvest_look(r->harvests, r->id, &v)) {
		if (cli_json(r->cli))
			put_summary_json(r, &v);
		else if (!cli_given(r->cli, "quiet"))
			put_summary(r, &v);
	}
	r->cli->code = exit_code(r);
	*w = r->why;
	return w->err;
}

/* Everything but the message is known. */
static enum err
run_here(struct harvest_run *r, struct str message, struct why *w)
{
	r->home = loop_new("home");
	/* Before any thread starts. */
	loop_on_signal(r->home, got_signal, r);
	enum err e = open_data(r, w);
	if (e == OK)
		e = take_up(r, w);
	if (e == OK)
		e = run(r, message, w);
	engine_free(&r->engine);
	harvests_free(&r->harvests);
	loop_free(&r->home);
	return e;
}

enum err
harvest_run_again(struct cli *c, struct str id, bool stops, struct why *w)
{
	struct harvest_run r = { .cli = c, .why = WHY_INIT, .resumed = true,
	    .stops = stops, .id = id };

	enum err e = cli_begin(c, w);
	progress_open(&r.progress, cli_given(c, "quiet"));
	return e == OK ? run_here(&r, STR_NONE, w) : e;
}

enum err
harvest_run_run(struct cli *c, struct why *w)
{
	struct harvest_run r = { .cli = c, .why = WHY_INIT,
	    .resumed = cli_given(c, "resume") };
	struct str message = STR_NONE;
	const char *own = NULL;
	bool has_daemon = false;

	enum err e = check_words(c, w);
	if (e == OK && !r.resumed)
		e = harvest_words_message(c, &message, &own, w);
	if (e == OK)
		e = cli_begin(c, w);
	if (e == OK)
		e = find_place(&r, own, w);
	if (e == OK)
		e = daemon_is_there(c, &has_daemon, w);
	if (e == OK && has_daemon)
		return harvest_daemon_run(c, message, r.into, w);
	progress_open(&r.progress, cli_given(c, "quiet"));
	return e == OK ? run_here(&r, message, w) : e;
}
