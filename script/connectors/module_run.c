/*
 * The life of a run:
 *
 *     the script runs ─► emit, state ─► found ─► GIVES ─► taken: emit answered
 *          │                              ▲                  │
 *          ▼                              └──────────────────┘
 *     it is over ─► no fetch is out ─► the last batch ─► ended()
 *
 * Documents and state are given in the order in which they came; the cursor has
 * the state that had come by then.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/tasks/session_jar.h"
#include "os/clock.h"
#include "script/connectors/module_own.h"
#include "script/items/config_run.h"

#define LISTED_CRAWL "external modules "
#define OTHERS_CRAWL "external pages "

#define CURSOR_VERSION 1

/* ---- The end ------------------------------------------------------------ */

static void
deliver_end(struct mail *m)
{
	struct module_run *r = CONTAINER(m, struct module_run, end_mail);

	r->options.ended(r->options.arg, &r->end);
}

static void
drop_documents(struct module_documents *d)
{
	while (!list_empty(&d->emits))
		module_call_answer(LIST_ITEM(d->emits.next,
		    struct module_call, node));
	arena_reset(&d->arena);
	d->n = 0;
}

static void
leave_crawls(struct module_run *r, bool completes)
{
	document_crawl_leave(&r->listed, completes);
	document_crawl_leave(&r->others, completes);
}

static void
end_run(struct module_run *r)
{
	if (r->has_ended)
		return;
	r->has_ended = true;
	loop_timer_stop(r->all->home, &r->stop_timer);
	loop_timer_stop(r->all->home, &r->state_timer);
	leave_crawls(r, !(r->archive.is_ending != NULL &&
	    *r->archive.is_ending));
	loop_send(r->all->home, &r->end_mail, deliver_end);
}

/* ---- Batches ------------------------------------------------------------ */

static void
put_cursor(const struct module_run *r, struct buf *out)
{
	buf_clear(out);
	json_object(out, NULL);
	json_u64(out, "version", CURSOR_VERSION);
	json_bool(out, "ended", r->is_over && r->end.kind == DOCUMENTS_DONE);
	json_raw(out, "state", buf_str(&r->state));
	buf_put_char(out, '}');
}

static void
give_batch(struct module_run *r)
{
	struct list emits;

	r->gives = true;
	r->has_state = false;
	loop_timer_stop(r->all->home, &r->state_timer);
	/* `given` and `found` change places.  A list's head must not be
	 * copied, so the waiting calls are moved. */
	list_init(&emits);
	list_move_all(&emits, &r->found.emits);
	struct module_documents spare = r->given;
	r->given = r->found;
	r->found = spare;
	list_init(&r->given.emits);
	list_init(&r->found.emits);
	list_move_all(&r->given.emits, &emits);
	put_cursor(r, &r->next);
	r->documents += r->given.n;
	const struct document_batch b = { r->given.list, r->given.n,
		buf_str(&r->next) };
	r->options.batch(r->options.arg, &b);
}

void
module_run_look_at_end(struct module_run *r)
{
	if (r->gives || r->has_ended || !r->is_over ||
	    !list_empty(&r->fetches))
		return;
	/* The last batch says that the run has ended well. */
	if (!r->is_stopped && !r->gave_end && (r->found.n > 0 ||
	    r->has_state || r->end.kind == DOCUMENTS_DONE)) {
		r->gave_end = true;
		give_batch(r);
		return;
	}
	end_run(r);
}

static void
give_found(struct module_run *r)
{
	if (r->gives || r->is_stopped || r->is_over)
		return;
	if (r->found.n > 0 || r->has_state)
		give_batch(r);
	else
		drop_documents(&r->found);
}

static void
state_is_due(struct timer *t)
{
	give_found(CONTAINER(t, struct module_run, state_timer));
}

void
module_run_found(struct module_run *r, bool at_once)
{
	if (at_once)
		give_found(r);
	else if (r->has_state && !r->gives)
		loop_timer_set(r->all->home, &r->state_timer, mono_add_ms(
		    clock_mono(), MODULE_STATE_MS));
}

void
module_run_taken(struct module_run *r)
{
	if (!r->gives || r->is_stopped)
		return;
	r->gives = false;
	drop_documents(&r->given);
	if (r->found.n > 0 || !list_empty(&r->found.emits))
		give_found(r);
	else
		module_run_found(r, false);
	module_run_look_at_end(r);
}

/* ---- What the script says ----------------------------------------------- */

static void
tell_note(struct module_run *r, const char *level, struct str code,
    struct str text)
{
	const struct document_note n = { level, code, text };

	if (r->options.note != NULL)
		r->options.note(r->options.arg, &n);
}

static void
take_log(struct script_run *script, struct str category, struct str message)
{
	static const struct {
		const char *category, *level;
	} rows[] = { { "error", "error" }, { "warn", "warning" },
		{ "info", "info" } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_eq(category, str_of(rows[i].category)))
			tell_note(script->arg, rows[i].level, STR("log"),
			    message);
}

static void
take_note(struct script_run *script, yyjson_val *note)
{
	static const char *const levels[] = { "info", "warning", "error" };
	struct module_run *r = script->arg;
	struct str text = json_text(yyjson_obj_get(note, "message"));
	size_t level = STR_ROW(json_text(yyjson_obj_get(note, "level")),
	    levels);

	if (str_eq(json_text(yyjson_obj_get(note, "what")),
	    STR("progress"))) {
		buf_clear(&r->progress);
		buf_put_str(&r->progress, text);
	} else if (level < ARRAY_LEN(levels)) {
		tell_note(r, levels[level], json_text(yyjson_obj_get(note,
		    "code")), text);
	}
}

/* ---- The script's end --------------------------------------------------- */

static void start_script(struct module_run *);

static enum document_fault
fault_of(const struct script_outcome *o)
{
	if (str_eq(o->code, STR("config")))
		return DOCUMENT_CONFIG;
	return str_eq(o->class, STR("transient")) ? DOCUMENT_TRANSIENT :
	    DOCUMENT_SYSTEM;
}

static void
note_failure(struct module_run *r, const struct script_outcome *o)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str place = config_run_place(o);

	/* A limit's message has not its word in it. */
	if (str_starts(o->code, STR("limit_")))
		buf_printf(&text, "%.*s: ", STR_FMT(o->code));
	buf_put_str(&text, o->message);
	if (place.n > 0)
		buf_printf(&text, ", %.*s", STR_FMT(place));
	r->end = (struct document_end){ .kind = DOCUMENTS_FAILED,
	    .fault = fault_of(o), .code = arena_copy(&r->arena, o->code),
	    .text = arena_copy(&r->arena, buf_str(&text)) };
}

static void
script_done(struct script_run *script, const struct script_outcome *o)
{
	struct module_run *r = script->arg;
	bool again = str_eq(o->code, STR("crashed")) && !r->crashed_before &&
	    !r->is_stopped;

	if (o->is_success) {
		r->end.kind = DOCUMENTS_DONE;
		buf_put_str(&r->result, o->config);
	} else {
		note_failure(r, o);
	}
	script_run_finish(script);
	if (again) {
		r->crashed_before = true;
		tell_note(r, "warning", o->code, STR("the script's process "
		    "has crashed, and is started once more"));
		start_script(r);
		return;
	}
	if (r->is_stopped)
		r->end.kind = DOCUMENTS_STOPPED;
	r->is_over = true;
	module_run_look_at_end(r);
}

/* ---- Stopping ----------------------------------------------------------- */

static void
cancel_script(struct module_run *r)
{
	if (r->is_over)
		return;
	script_run_cancel(&r->script);
	r->is_over = true;
	module_run_look_at_end(r);
}

static void
stop_is_due(struct timer *t)
{
	cancel_script(CONTAINER(t, struct module_run, stop_timer));
}

void
module_run_stop(struct module_run *r, bool at_once)
{
	if (r->has_ended)
		return;
	if (!r->is_stopped) {
		r->is_stopped = true;
		r->gives = false;
		r->end = (struct document_end){ .kind = DOCUMENTS_STOPPED };
		loop_timer_stop(r->all->home, &r->state_timer);
		/* Scripts that wait for room go on, and hear of the end. */
		drop_documents(&r->given);
		drop_documents(&r->found);
		if (!r->is_over)
			script_run_end(&r->script);
		loop_timer_set(r->all->home, &r->stop_timer, mono_add_ms(
		    clock_mono(), MODULE_STOP_MS));
	}
	if (at_once)
		cancel_script(r);
	module_run_look_at_end(r);
}

/* ---- The beginning ------------------------------------------------------ */

/* Errors: INPUT, with the field "cursor". */
static enum err
read_cursor(struct module_run *r, bool *ended, struct why *w)
{
	struct str text = r->options.cursor;
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *state = yyjson_obj_get(root, "state");
	size_t n = 0;
	char *json = yyjson_is_obj(state) ? yyjson_val_write(state, 0, &n) :
	    NULL;
	bool good = text.n == 0 || (json != NULL && yyjson_get_uint(
	    yyjson_obj_get(root, "version")) == CURSOR_VERSION);

	buf_put_str(&r->state, text.n == 0 ? STR("{}") :
	    (struct str){ json, n });
	*ended = yyjson_is_true(yyjson_obj_get(root, "ended"));
	free(json);
	yyjson_doc_free(doc);
	return good ? OK : why_field(w, ERR_INPUT, "cursor", "it is none of a "
	    "connector that is a module");
}

static void
put_call(const struct module_run *r, struct buf *b)
{
	const struct module_run_options *o = &r->options;

	json_array(b, "call");
	json_item(b, str_of(o->function));
	if (o->choice.n > 0)
		json_item(b, o->choice);
	buf_put_char(b, ']');
	if (o->argument.n > 0)
		json_raw(b, "argument", o->argument);
}

static void
put_clock(struct buf *b)
{
	char iso[WALL_ISO_MAX];
	uint64_t seed;
	char hex[17];

	clock_random(&seed, sizeof(seed));
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)seed);
	wall_to_iso(clock_wall(), iso);
	json_str(b, "seed", str_of(hex));
	json_str(b, "now", str_of(iso));
}

/* Hosts with a port: an operator has named them. */
static void
set_private_hosts(struct module_run *r)
{
	size_t n;
	const struct str *hosts = external_connector_hosts(
	    r->options.connector, &n);

	r->private_hosts = ARENA_ARRAY(&r->arena, struct str, n);
	for (size_t i = 0; i < n; i++)
		if (str_find_char(hosts[i], ':') < hosts[i].n)
			r->private_hosts[r->private_n++] = arena_copy(
			    &r->arena, hosts[i]);
}

/* All of it but the state and the clock, which each start has anew. */
static enum err
make_input(struct module_run *r, struct why *w)
{
	struct buf *b = &r->input;

	json_object(b, NULL);
	json_str(b, "door", STR("external"));
	put_call(r, b);
	buf_reserve(&r->secret_params, 2 * r->options.params.n + 3);
	buf_put_char(&r->secret_params, '{');
	external_module_input(r->options.connector, r->options.params, b,
	    &r->secret_params);
	buf_put_char(&r->secret_params, '}');
	set_private_hosts(r);
	return module_secrets_make(r, r->options.credential, b, w);
}

static void
start_script(struct module_run *r)
{
	static const struct script_run_events events = {
		.on_call = module_call_begin, .on_cancel = module_call_cancel,
		.on_log = take_log, .on_note = take_note,
		.on_done = script_done,
	};
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_str(&b, buf_str(&r->input));
	json_raw(&b, "state", buf_str(&r->state));
	put_clock(&b);
	buf_put_char(&b, '}');
	r->script = (struct script_run){ .bundle = r->options.bundle,
	    .is_connector = true, .input = arena_copy(&r->arena, buf_str(&b)),
	    .limits = r->all->limits, .events = &events, .arg = r };
	script_run_start(r->all->host, &r->script);
}

static void
copy_options(struct module_run *r, const struct module_run_options *o)
{
	struct arena *a = &r->arena;

	r->options = *o;
	r->options.bundle = bundle_hold(o->bundle);
	r->options.choice = arena_copy(a, o->choice);
	r->options.argument = arena_copy(a, o->argument);
	r->archives = o->archive != NULL;
	if (r->archives)
		r->archive = (struct document_archive){
		    .key = arena_copy(a, o->archive->key),
		    .name = arena_copy(a, o->archive->name),
		    .tags = arena_copy_list(a, o->archive->tags,
		    o->archive->tags_n), .tags_n = o->archive->tags_n,
		    .is_ending = o->archive->is_ending };
	r->options.archive = NULL;
	list_init(&r->fetches);
	list_init(&r->sessions);
	list_init(&r->found.emits);
	list_init(&r->given.emits);
	r->state_timer.fire = state_is_due;
	r->stop_timer.fire = stop_is_due;
}

enum err
module_run_open(struct module_runs *all, const struct module_run_options *o,
    struct module_run **out, struct why *w)
{
	bool ended = false;

	*out = NULL;
	if (all->host == NULL)
		return why(w, ERR_STATE, "scripts cannot be run: the program "
		    "began without a module in its directory");
	struct module_run *r = mem_new(sizeof(*r));
	r->all = all;
	copy_options(r, o);
	enum err e = read_cursor(r, &ended, w);
	if (e == OK)
		e = make_input(r, w);
	/* The caller's, which may be overwritten now. */
	r->options.params = r->options.credential = STR_NONE;
	r->options.cursor = STR_NONE;
	*out = r;
	if (e != OK) {
		module_run_free(out);
		return e;
	}
	if (ended && o->resumes) {
		r->is_over = r->gave_end = true;
		r->end.kind = DOCUMENTS_DONE;
		end_run(r);
	} else {
		start_script(r);
	}
	return OK;
}

enum err
module_run_set_credential(struct module_run *r, struct str credential,
    struct why *w)
{
	FREED(buf_free) struct buf unseen = BUF_INIT;

	return module_secrets_make(r, credential, &unseen, w);
}

/* ---- Looking at it ------------------------------------------------------ */

struct document_look
module_run_look(const struct module_run *r)
{
	return (struct document_look){ .answers = r->answers,
	    .documents = r->documents };
}

struct str
module_run_progress(const struct module_run *r)
{
	return buf_str(&r->progress);
}

struct str
module_run_result(const struct module_run *r)
{
	return buf_str(&r->result);
}

/* Their script is no more. */
static void
free_emits(struct module_documents *d)
{
	while (!list_empty(&d->emits)) {
		struct module_call *c = LIST_ITEM(d->emits.next,
		    struct module_call, node);
		module_call_free(&c);
	}
}

void
module_run_free(struct module_run **rp)
{
	struct module_run *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	loop_timer_stop(r->all->home, &r->state_timer);
	loop_timer_stop(r->all->home, &r->stop_timer);
	/* The engine was freed: these fetches get no answer. */
	while (!list_empty(&r->fetches)) {
		struct module_call *c = LIST_ITEM(r->fetches.next,
		    struct module_call, node);
		c->call = NULL;
		module_call_free(&c);
	}
	leave_crawls(r, false);
	LIST_EACH(s, &r->sessions, struct module_session, node)
		session_jar_free(&s->jar);
	free_emits(&r->found);
	free_emits(&r->given);
	mem_free(&r->found.list);
	mem_free(&r->given.list);
	arena_free(&r->found.arena);
	arena_free(&r->given.arena);
	bundle_drop(&r->options.bundle);
	secrets_drop(&r->secrets);
	buf_free(&r->input);
	if (r->secret_params.cap > 0)
		explicit_bzero(r->secret_params.p, r->secret_params.cap);
	buf_free(&r->secret_params);
	buf_free(&r->state);
	buf_free(&r->next);
	buf_free(&r->progress);
	buf_free(&r->result);
	arena_free(&r->arena);
	mem_free(&r);
}

/* ---- What all of them share --------------------------------------------- */

static struct task_fetcher *
new_fetcher(struct module_runs *all, const char *prefix, const char *policy)
{
	struct task_fetcher *f = task_fetcher_new_named(all->engine,
	    all->home, prefix);
	const struct task_fetch_rules rules = { .policy = str_of(policy),
		.secrets = all->no_secrets };

	CHECK(task_fetcher_use(f, &rules, NULL) == OK);
	return f;
}

struct module_runs *
module_runs_new(struct engine *e, struct loop *home, struct script_host *host,
    const struct conf *conf)
{
	struct module_runs *all = mem_new(sizeof(*all));

	*all = (struct module_runs){ .engine = e, .home = home, .host = host,
	    .limits = script_limits_of_connector(conf) };
	list_init(&all->crawls);
	CHECK(secrets_load(NULL, &all->no_secrets, NULL) == OK);
	all->listed = new_fetcher(all, LISTED_CRAWL, DOCUMENT_POLICY);
	all->others = new_fetcher(all, OTHERS_CRAWL,
	    DOCUMENT_CRAWL_POLICY);
	return all;
}

void
module_runs_free(struct module_runs **ap)
{
	struct module_runs *all = *ap;

	if (all == NULL)
		return;
	task_fetcher_free(&all->listed);
	task_fetcher_free(&all->others);
	document_crawls_free(&all->crawls);
	secrets_drop(&all->no_secrets);
	mem_free(ap);
}
