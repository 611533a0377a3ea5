/*
 *     directory ─► engine ─► run ─► batches ... ended ─► engine closed
 *         └──────────────── removed ◄───────────────────────┘
 */
#include "cli/external_run.h"

#include <stdlib.h>

#include "cli/progress.h"
#include "engine/control/control.h"
#include "os/clock.h"
#include "os/system.h"
#include "os/tree.h"
#include "script/connectors/module_run.h"

/* A source that does not answer is told within seconds, not hours. */
#define CALL_TRIES_MAX 3u
#define TRIES_MAX 1u
#define NOTE_BYTES_MAX 1000u

struct life {
	struct external_run *run;
	struct loop *home;
	struct engine *engine;
	struct documents *documents;
	/* One of them, and what it needs. */
	struct document_run *document_run;
	struct module_run *module_run;
	struct module_runs *modules;
	struct script_host *scripts;
	struct timer look_timer;
	struct progress progress;
	struct why why;              /* what the engine has lost */
	const char *dir;
	bool ended, closing;
};

/* ---- While it runs -------------------------------------------------- */

static void
engine_closed(void *arg)
{
	struct life *l = arg;

	loop_stop(l->home);
}

static void
close_engine(struct life *l)
{
	if (l->closing)
		return;
	l->closing = true;
	loop_timer_stop(l->home, &l->look_timer);
	engine_close(l->engine, engine_closed, l);
}

/* Before it has begun there is nothing to stop. */
static void
stop_run(struct life *l)
{
	if (l->module_run != NULL)
		module_run_stop(l->module_run, false);
	else if (l->document_run != NULL)
		document_run_stop(l->document_run);
}

static struct document_look
look_at_run(const struct life *l)
{
	return l->module_run != NULL ? module_run_look(l->module_run) :
	    document_run_look(l->document_run);
}

static void
take_batch(void *arg, const struct document_batch *b)
{
	struct life *l = arg;
	struct external_run *r = l->run;

	progress_clear(&l->progress);
	if (!r->take(r->arg, b))
		stop_run(l);
	else if (l->module_run != NULL)
		module_run_taken(l->module_run);
	else
		document_run_taken(l->document_run);
}

static void
say_note(void *arg, const struct document_note *n)
{
	struct life *l = arg;

	progress_say(&l->progress, "%s: %.*s: %.*s", n->level,
	    STR_FMT(n->code), STR_FMT(str_cut(n->text, 0, NOTE_BYTES_MAX)));
}

static void
say_call(void *arg, const struct document_call *c)
{
	struct life *l = arg;

	progress_clear(&l->progress);
	if (l->run->called != NULL)
		l->run->called(l->run->arg, c);
}

static void
run_ended(void *arg, const struct document_end *e)
{
	struct life *l = arg;
	struct external_run *r = l->run;

	r->end = *e;
	r->end.code = arena_copy(&r->cli->arena, e->code);
	r->end.text = arena_copy(&r->cli->arena, e->text);
	r->look = look_at_run(l);
	l->ended = true;
	close_engine(l);
}

static void
show_look(struct timer *t)
{
	struct life *l = CONTAINER(t, struct life, look_timer);
	struct document_look x = look_at_run(l);

	progress_text(&l->progress, "%llu documents  answers: %llu%s%s",
	    (unsigned long long)x.documents, (unsigned long long)x.answers,
	    x.waits_for != NULL ? "  waits: " : "", x.waits_for != NULL ?
	    x.waits_for : "");
	loop_timer_set(l->home, t, mono_add_ms(clock_mono(),
	    PROGRESS_LOOK_MS));
}

static void
health_changed(void *arg, enum engine_health h, const char *text)
{
	struct life *l = arg;

	if (h != ENGINE_FINE)
		progress_say(&l->progress, "the run %s: %s", h ==
		    ENGINE_DISK_FULL ? "waits" : "stops", text);
	if (h != ENGINE_FAILED)
		return;
	(void)!why(&l->why, ERR_IO, "%s", text);
	close_engine(l);
}

static void
got_signal(void *arg, int signal)
{
	struct life *l = arg;

	if (system_is_hangup(signal) && system_ignores_hangup())
		return;
	l->run->interrupted = true;
	stop_run(l);
}

/* ---- Before and after ----------------------------------------------- */

static enum err
make_dir(struct life *l, struct why *w)
{
	const char *base = getenv("TMPDIR");
	struct str path = arena_printf(&l->run->cli->arena,
	    "%s/argiope-external.XXXXXX", base != NULL && base[0] == '/' ?
	    base : "/tmp");

	l->dir = mkdtemp((char *)(uintptr_t)path.p);
	return l->dir != NULL ? OK : why_errno(w, ERR_IO, "%s", path.p);
}

/* Nothing of the data that the configuration names is touched. */
static enum err
set_apart(struct conf *conf, struct why *w)
{
	enum err e = conf_put(conf, CONF_STORE_URL, STR(""), CONF_FROM_FLAG,
	    "external", w);

	return e == OK ? conf_put(conf, CONF_DATA_FREE_BYTES_MIN, STR("0"),
	    CONF_FROM_FLAG, "external", w) : e;
}

static enum err
open_engine(struct life *l, struct why *w)
{
	struct conf *conf = &l->run->cli->conf;
	struct engine_options o = { .conf = conf, .home = l->home,
	    .data_dir = l->dir, .loops = 1, .small = true,
	    .doors = true, .health = health_changed, .arg = l };

	enum err e = set_apart(conf, w);
	if (e == OK)
		e = engine_open(&o, &l->engine, w);
	if (e == OK)
		l->documents = documents_new(l->engine, l->home);
	if (e == OK && l->run->bundle != NULL)
		l->modules = module_runs_new(l->engine, l->home, l->scripts,
		    conf);
	return e;
}

/* Its processes inherit nothing that is opened later. */
static enum err
start_scripts(struct life *l, struct why *w)
{
	struct script_host_options o = script_host_options_of(
	    &l->run->cli->conf);

	return l->run->bundle == NULL ? OK : script_host_open(l->home, &o,
	    &l->scripts, w);
}

static enum err
open_module_run(struct life *l, struct why *w)
{
	const struct external_run *r = l->run;
	const struct module_run_options o = { .connector = r->connector,
	    .bundle = r->bundle, .function = "run", .params = r->params,
	    .credential = r->credential, .cursor = r->cursor,
	    .tries_max = CALL_TRIES_MAX, .batch = take_batch,
	    .note = say_note, .called = say_call, .ended = run_ended,
	    .arg = l };

	return module_run_open(l->modules, &o, &l->module_run, w);
}

static enum err
open_run(struct life *l, struct why *w)
{
	const struct external_connector *c = l->run->connector;
	/* A file's author says which member has the id. */
	const struct document_run_options o = { .order = l->run->order,
	    .id_member = external_connector_api(c) == NULL ?
	    external_connector_doc_id_field(c) : STR_NONE,
	    .cursor = l->run->cursor, .private_hosts = l->run->private_hosts,
	    .private_n = l->run->private_n, .call_tries_max = CALL_TRIES_MAX,
	    .tries_max = TRIES_MAX, .batch = take_batch, .note = say_note,
	    .called = say_call, .ended = run_ended, .arg = l };
	const char *code;

	if (l->run->bundle != NULL)
		return open_module_run(l, w);
	return document_run_open(l->documents, &o, &l->document_run, &code,
	    w);
}

static enum err
run_life(struct life *l, struct why *w)
{
	enum err e = start_scripts(l, w);

	if (e == OK)
		e = open_engine(l, w);
	if (e == OK)
		e = open_run(l, w);
	if (e == OK) {
		engine_start(l->engine);
		l->look_timer.fire = show_look;
		show_look(&l->look_timer);
		loop_run(l->home);
		progress_clear(&l->progress);
		*w = l->why;
		e = w->err;
	}
	script_host_close(&l->scripts);
	engine_free(&l->engine);
	module_run_free(&l->module_run);
	module_runs_free(&l->modules);
	document_run_free(&l->document_run);
	documents_free(&l->documents);
	return e;
}

enum err
external_run_connector(struct external_run *r, struct why *w)
{
	struct life l = { .run = r, .why = WHY_INIT };
	enum err e = make_dir(&l, w);

	if (e != OK)
		return e;
	l.home = loop_new("home");
	/* Before any thread starts. */
	loop_on_signal(l.home, got_signal, &l);
	progress_open(&l.progress, false);
	e = run_life(&l, w);
	loop_free(&l.home);
	enum err removed = tree_remove(l.dir, e == OK ? w : NULL);
	return e == OK ? removed : e;
}
