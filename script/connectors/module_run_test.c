/*
 * Runs of modules over a whole engine and a web on loopback: documents and
 * cursors, from each cursor on, stopped in each state, credentials, failures.
 */
#include "script/connectors/module_own.h"

#include "engine/control/engine_testing.h"
#include "os/clock.h"
#include "script/connectors/module_load.h"
#include "script/script_testing.h"

#include "os/file.h"
#include "os/tree.h"
#include "wire/unpack.h"

#define PASSWORD "canary-4711"
#define BATCHES_MAX 100u

static struct rig rig;
static struct script_host *host;
static struct module_runs *runs;
static struct external_connector *connector;
static struct script_bundle *bundle;
static struct module_run *run;

/* Batches and notes so far. */
static struct buf said;              /* "1 2 | 3 | " */
static struct buf notes, requests;
static struct str cursors[BATCHES_MAX];
static size_t batches;
static bool takes, waits, ended;
static const struct document_archive *archive;
static struct document_end last;

static void
site(struct str path, struct rig_page *p)
{
	p->type = "application/json";
	if (str_eq(path, STR("/moved")))
		p->status = 302;
	if (str_eq(path, STR("/moved")))
		buf_put_text(&p->head, "Location: /there\r\n");
	if (str_eq(path, STR("/slow")))
		p->delay_ms = 3000;
	if (str_eq(path, STR("/cookie")))
		buf_put_text(&p->head, "Set-Cookie: s=1\r\n");
	/* Bodies are archived as they are. */
	if (str_starts(path, STR("/quiet/")))
		path = STR("/quiet/");
	buf_printf(&p->body, "{\"path\":\"%.*s\",\"cookie\":\"%.*s\"}",
	    STR_FMT(path), STR_FMT(p->cookie));
}

/* ---- The caller --------------------------------------------------------- */

static void
on_batch(void *arg, const struct document_batch *b)
{
	(void)arg;
	assert_false(waits || ended);
	for (size_t i = 0; i < b->n; i++)
		buf_printf(&said, "%.*s ", STR_FMT(b->list[i].json));
	buf_put_text(&said, "| ");
	assert_true(batches < BATCHES_MAX);
	cursors[batches++] = arena_copy(&rig.arena, b->cursor);
	waits = !takes;
	if (takes)
		module_run_taken(run);
}

static void
on_note(void *arg, const struct document_note *n)
{
	(void)arg;
	buf_printf(&notes, "%s %.*s: %.*s; ", n->level, STR_FMT(n->code),
	    STR_FMT(n->text));
}

static void
on_called(void *arg, const struct document_call *c)
{
	(void)arg;
	buf_printf(&requests, "%.*s %.*s %d; ", STR_FMT(c->method),
	    STR_FMT(c->url), c->status);
}

static void
on_ended(void *arg, const struct document_end *e)
{
	(void)arg;
	assert_false(ended);
	last = *e;
	last.text = arena_copy(&rig.arena, e->text);
	last.code = arena_copy(&rig.arena, e->code);
	ended = true;
}

/* ---- The module --------------------------------------------------------- */

static void
open_all(void)
{
	struct why w = WHY_INIT;

	rig_open(&rig, site, (const char *const[]){
	    "fetch.allow_private=off", "fetch.tries_max=1",
	    "script.connector_wall_ms_max=1s", NULL });
	rig_start(&rig);
	struct script_host_options o = script_host_options_of(&rig.conf);
	if (script_host_open(rig.home, &o, &host, &w) != OK)
		fail_msg("%s", w.text);
	runs = module_runs_new(rig.engine, rig.home, host, &rig.conf);
}

static void
unload_module(void)
{
	external_connector_free(&connector);
	if (bundle != NULL)
		bundle_drop(&bundle);
}

/* The files stay. */
static void
stop_all(void)
{
	unload_module();
	script_host_close(&host);
	rig_stop(&rig);
	module_runs_free(&runs);
}

static void
remove_all(void)
{
	rig_close(&rig);
	buf_free(&said);
	buf_free(&notes);
	buf_free(&requests);
}

static void
close_all(void)
{
	stop_all();
	remove_all();
}

/* By a file, as an operator has it; BASE in `body` is the web's address. */
static void
load_module(const char *body)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str base = rig_url(&rig, "");
	struct str path = arena_printf(&rig.arena, "%s/module.js", rig.dir);
	struct why w = WHY_INIT;
	int fd = -1;

	unload_module();
	buf_printf(&b, "const BASE = '%.*s';\nexport default { name: 'm', "
	    "version: 1, title: 'T', schema: {}, docIdField: 'id', "
	    "credential: 'basic', hosts: ['127.0.0.1:%u'], parameters: "
	    "{type: 'object', properties: {pin: {'x-ui': 'password'}}}, "
	    "async run(ctx) { const is = (a, b) => { if (a !== b) throw new "
	    "Error(`${a} is not ${b}`); };\n%s\n} };", STR_FMT(base), rig.port,
	    body);
	(void)!file_remove(path.p, NULL);
	assert_int_equal(file_open(path.p, FILE_NEW, &fd, NULL), OK);
	assert_int_equal(file_write(fd, 0, b.p, b.n, NULL), OK);
	file_close(&fd);
	if (module_load(path.p, &rig.conf, &bundle, &connector, &w) != OK)
		fail_msg("%s", w.text);
}

static enum err
try_open(struct str cursor, bool resumes, const char *credential,
    struct why *w)
{
	const struct module_run_options o = { .connector = connector,
		.bundle = bundle, .function = "run",
		.params = STR("{\"pin\":\"" PASSWORD "-pin\"}"),
		.credential = str_of(credential), .cursor = cursor,
		.archive = archive,
		.resumes = resumes, .batch = on_batch, .note = on_note,
		.called = on_called, .ended = on_ended };

	buf_clear(&said);
	buf_clear(&notes);
	buf_clear(&requests);
	batches = 0;
	waits = ended = false;
	*w = WHY_INIT;
	return module_run_open(runs, &o, &run, w);
}

static void
begin_run(struct str cursor, bool resumes)
{
	struct why w;

	if (try_open(cursor, resumes, "{\"user\":\"ada\",\"password\":\""
	    PASSWORD "\",\"odd\":\"" PASSWORD "\\\" \u00fc\",\"short\":"
	    "\"tiny\"}", &w) != OK)
		fail_msg("%s", w.text);
}

static void
finish(void)
{
	RIG_UNTIL_DONE(&rig, ended);
	module_run_free(&run);
}

static void
expect(const char *body, const char *what)
{
	load_module(body);
	takes = true;
	begin_run(STR_NONE, false);
	finish();
	if (last.kind != DOCUMENTS_DONE)
		print_error("%.*s\n", STR_FMT(last.text));
	assert_int_equal(last.kind, DOCUMENTS_DONE);
	assert_string_equal(buf_text(&said), what);
}

/* ---- Documents ---------------------------------------------------------- */

static void
a_batch_has_what_was_emitted_and_the_state(void **state)
{
	(void)state;
	open_all();
	expect("await ctx.emit({id: 1}); ctx.state.set('n', 1); "
	    "await ctx.emit([{id: 2}, {id: 3}]);",
	    "{\"id\":1} | {\"id\":2} {\"id\":3} | | ");
	assert_int_equal(batches, 3);
	assert_true(str_eq(cursors[0], STR("{\"version\":1,\"ended\":false,"
	    "\"state\":{}}")));
	assert_true(str_eq(cursors[1], STR("{\"version\":1,\"ended\":false,"
	    "\"state\":{\"n\":1}}")));
	assert_true(str_eq(cursors[2], STR("{\"version\":1,\"ended\":true,"
	    "\"state\":{\"n\":1}}")));
	/* State alone comes after a while, and once. */
	expect("ctx.state.set('n', 1); await ctx.sleep(5); ctx.state.set('n', "
	    "2); await ctx.sleep(600); ctx.state.set('n', 3)", "| | ");
	expect("await ctx.emit([])", "| ");
	close_all();
}

/* A run that goes on from any cursor gives the rest. */
static void
a_run_goes_on_from_each_cursor(void **state)
{
	struct str kept[BATCHES_MAX];
	size_t n;

	(void)state;
	open_all();
	expect("for (let i = ctx.state.get('i') ?? 1; i <= 3; ) {"
	    "await ctx.emit({id: i}); ctx.state.set('i', ++i); }",
	    "{\"id\":1} | {\"id\":2} | {\"id\":3} | | ");
	n = batches;
	memcpy(kept, cursors, sizeof(kept));
	static const char *const rest[] = {
		"{\"id\":1} | {\"id\":2} | {\"id\":3} | | ",
		"{\"id\":2} | {\"id\":3} | | ", "{\"id\":3} | | ", "" };
	assert_int_equal(n, ARRAY_LEN(rest));
	for (size_t i = 0; i < n; i++) {
		begin_run(kept[i], true);
		finish();
		assert_string_equal(buf_text(&said), rest[i]);
		assert_int_equal(last.kind, DOCUMENTS_DONE);
	}
	/* The next task of a crawler begins with the state of the last. */
	begin_run(kept[n - 1], false);
	finish();
	assert_string_equal(buf_text(&said), "| ");
	close_all();
}

static void
emit_returns_when_the_batch_was_taken(void **state)
{
	(void)state;
	open_all();
	load_module("await Promise.all([1, 2, 3].map(id => ctx.emit({id})));"
	    "ctx.log('info', 'taken')");
	takes = false;
	begin_run(STR_NONE, false);
	RIG_UNTIL_DONE(&rig, waits);
	assert_int_equal(notes.n, 0);
	/* Documents that were emitted meanwhile come in later batches. */
	while (!ended) {
		if (waits) {
			waits = false;
			module_run_taken(run);
		}
		loop_step(rig.home);
	}
	/* Whether in one or two depends on the process's timing. */
	assert_true(str_starts(buf_str(&said), STR("{\"id\":1}")));
	assert_true(str_find(buf_str(&said), STR("{\"id\":2}")) <
	    str_find(buf_str(&said), STR("{\"id\":3}")));
	assert_string_equal(buf_text(&notes), "info log: taken; ");
	assert_int_equal(module_run_look(run).documents, 3);
	module_run_free(&run);
	close_all();
}

static void
a_bad_cursor_is_refused(void **state)
{
	static const char *const rows[] = { "x", "[]", "{}",
		"{\"version\":2,\"state\":{}}", "{\"version\":1}",
		"{\"version\":1,\"state\":[]}" };
	struct why w;

	(void)state;
	open_all();
	load_module("");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(try_open(str_of(rows[i]), false,
		    "{\"password\":\"x\"}", &w), ERR_INPUT);
		assert_string_equal(w.field, "cursor");
		assert_null(run);
	}
	assert_int_equal(try_open(STR_NONE, false, "{\"a b\":\"x\"}", &w),
	    ERR_INPUT);
	assert_string_equal(w.field, "credential");
	assert_int_equal(try_open(STR_NONE, false, "{\"pin\":\"" PASSWORD
	    "\"}", &w), ERR_INPUT);
	assert_string_equal(w.field, "credential");
	assert_null(strstr(w.text, PASSWORD));
	close_all();
}

/* ---- Fetches ------------------------------------------------------------ */

static void
fetches_are_signed_and_keep_cookies(void **state)
{
	(void)state;
	open_all();
	expect("let r = await ctx.fetch(BASE + '/a', {auth: 'basic'});"
	    "is(r.status, 200); is(r.json().path, '/a');"
	    "is(r.capture, null); is(r.fromArchive, false);"
	    "r = await ctx.fetch(BASE + '/u/{{credential.password}}');"
	    "is(r.json().path, '/u/REDACTED'); is(r.url.includes('canary'), "
	    "false);"
	    "r = await ctx.fetch(BASE + '/p/' + ctx.params.pin);"
	    "is(r.json().path, '/p/REDACTED');"
	    "r = await ctx.fetch(BASE + '/moved'); is(r.redirected, true);"
	    "r = await ctx.fetch(BASE + '/q?a#f', {auth: {query: 'key'}});"
	    "is(r.json().path, '/q?a&key=REDACTED');"
	    "const s = await ctx.session('shop');"
	    "is((await s.fetch(BASE + '/cookie')).headers.get('set-cookie'), "
	    "'REDACTED');"
	    "is((await s.fetch(BASE + '/x')).json().cookie, 's=1');"
	    "is((await ctx.fetch(BASE + '/x')).json().cookie, '');"
	    "s.invalidate();"
	    "is((await s.fetch(BASE + '/y')).json().cookie, '');"
	    "await ctx.emit(ctx.credential)", "{\"user\":\"ada\"} | | ");
	assert_null(strstr(buf_text(&requests), "canary"));
	assert_non_null(strstr(buf_text(&notes), "secret_in_response"));
	close_all();
}

/* The credential stays with the hosts that the module lists. */
static void
what_is_refused_has_a_code(void **state)
{
	(void)state;
	open_all();
	expect("const code = async (url, o) => { try { await ctx.fetch(url, o);"
	    "return 'ok' } catch (e) { return e.code } };"
	    "const port = BASE.split(':')[2];"
	    "is(await code('http://localhost:' + port + '/a', {auth: 'basic'}),"
	    "'denied');"
	    "is(await code('http://a.example/{{credential.password}}'), "
	    "'denied');"
	    "is(await code('http://127.0.0.1:1/'), 'denied');"
	    "is(await code('http://[::1]:1/'), 'denied');"
	    "is(await code('http://169.254.169.254/'), 'denied');"
	    "is(await code(BASE, {headers: {Host: 'a'}}), 'input');"
	    "is(await code(BASE, {method: 'CONNECT'}), 'input');"
	    "is(await code(BASE, {auth: 'oauth1'}), 'input');"
	    "is(await code(BASE, {stream: true}), 'input');"
	    "is(await code(BASE + '/{{credential.other}}'), 'input');"
	    "is(await code('file:///etc/passwd'), 'input');", "| ");
	assert_int_equal(rig_requests(&rig, NULL), 0);
	close_all();
}

static void
a_credential_can_be_replaced(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	open_all();
	load_module("await ctx.emit({id: 1}); const r = await ctx.fetch(BASE + "
	    "'/{{credential.password}}'); is(r.json().path, '/REDACTED');");
	takes = false;
	begin_run(STR_NONE, false);
	RIG_UNTIL_DONE(&rig, waits);
	assert_int_equal(module_run_set_credential(run, STR("{\"a b\":"
	    "\"x\"}"), &w), ERR_INPUT);
	assert_int_equal(module_run_set_credential(run, STR("{\"password\":"
	    "\"other-4711\"}"), NULL), OK);
	waits = false;
	takes = true;
	module_run_taken(run);
	finish();
	assert_int_equal(last.kind, DOCUMENTS_DONE);
	assert_int_equal(rig_requests(&rig, "/other-4711"), 1);
	assert_int_equal(rig_requests(&rig, "/" PASSWORD), 0);
	close_all();
}

/* ---- The archive -------------------------------------------------------- */

/* What the crawls with that name have, all together; and how many they are. */
static uint64_t
count_captures(const char *name, size_t *crawls, bool completes)
{
	const struct crawl_registry *all = engine_registry(rig.engine);
	uint64_t captures = 0;

	*crawls = 0;
	for (const struct crawl_row *r = crawl_registry_below(all,
	    UINT32_MAX); r != NULL; r = crawl_registry_below(all, r->id)) {
		if (!str_eq(r->name, str_of(name)))
			continue;
		++*crawls;
		if (completes)
			rig_until_state(&rig, r->id, CRAWL_COMPLETE);
		captures += r->view.counts.items;
	}
	return captures;
}

/* The text of all WARC files, uncompressed, and of their indexes. */
static struct buf archived;

static enum err
read_part(void *arg, uint64_t at, void *p, size_t n, size_t *got)
{
	struct str rest = str_from(buf_str(arg), (size_t)at);

	*got = MIN(n, rest.n);
	memcpy(p, rest.p, *got);
	return OK;
}

static enum err
read_warc(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	FREED(buf_free) struct buf file = BUF_INIT;
	struct str part;

	(void)arg, (void)w;
	bool is_index = str_ends(str_of(path), STR(".cdxj"));
	if (!is_index && !str_ends(str_of(path), STR(".warc.gz")))
		return OK;
	assert_int_equal(file_load(arena_printf(&rig.arena, "%s/%s", rig.dir,
	    path).p, bytes + 1, &file, NULL), OK);
	if (is_index) {
		buf_put_str(&archived, buf_str(&file));
		return OK;
	}
	struct unpack *u = unpack_new((struct unpack_source){ read_part,
	    &file }, UNPACK_LIMITS_DEFAULT);
	while (unpack_begin(u) == UNPACK_GZIP) {
		while (unpack_peek(u, &part) == UNPACK_BYTES) {
			buf_put_str(&archived, part);
			unpack_take(u, part.n);
		}
	}
	assert_int_equal(unpack_at(u), file.n);
	unpack_free(&u);
	return OK;
}

static void
an_archive_has_the_calls_without_secrets(void **state)
{
	static const struct document_archive an_archive = {
		.key = STR(DOCUMENT_ARCHIVE_PREFIX "1:1"),
		.name = STR(DOCUMENT_ARCHIVE_PREFIX "1: a/m/t") };
	size_t crawls;

	(void)state;
	open_all();
	archive = &an_archive;
	expect("let r = await ctx.fetch(BASE + '/a', {auth: 'basic'});"
	    "is(r.json().path, '/a');"
	    "await Promise.all([1, 2, 3].map(i => ctx.fetch(BASE + '/quiet/' "
	    "+ i + '?token=short&pin=' + ctx.params.pin)));"
	    "await ctx.fetch(BASE + '/login', {method: 'POST', "
	    "json: {password: '{{credential.odd}}'}});"
	    "await (await ctx.session('shop')).fetch(BASE + '/cookie');"
	    "await ctx.emit({id: 1});", "{\"id\":1} | | ");
	assert_int_equal(count_captures(DOCUMENT_ARCHIVE_PREFIX "1: a/m/t",
	    &crawls, true), 6);
	assert_int_equal(crawls, 1);
	assert_non_null(strstr(buf_text(&notes), "info archive: "));
	assert_null(strstr(buf_text(&notes), "not_archived"));
	/* A value that cannot be found in records again. */
	expect("await ctx.fetch(BASE + '/s/{{credential.short}}');"
	    "await ctx.fetch(BASE + '/t', {headers: {'X-Api-Key': "
	    "'{{credential.short}}'}});", "| ");
	assert_non_null(strstr(buf_text(&notes), "warning not_archived: "));
	assert_int_equal(rig_requests(&rig, "/s/tiny"), 1);
	assert_int_equal(count_captures(DOCUMENT_ARCHIVE_PREFIX "1: a/m/t",
	    &crawls, true), 7);
	assert_int_equal(crawls, 2);
	archive = NULL;
	stop_all();
	assert_int_equal(tree_walk(rig.dir, read_warc, NULL, NULL), OK);
	assert_non_null(strstr(buf_text(&archived), "/login"));
	assert_non_null(strstr(buf_text(&archived), "REDACTED"));
	assert_null(strstr(buf_text(&archived), "canary"));
	assert_null(strstr(buf_text(&archived), "tiny"));
	assert_null(strstr(buf_text(&archived), "token=short"));
	assert_null(strstr(buf_text(&archived), "s=1"));
	buf_free(&archived);
	remove_all();
}

/* ---- Ends --------------------------------------------------------------- */

static void
a_failure_says_who_must_act(void **state)
{
	static const struct {
		const char *body, *code;
		enum document_fault fault;
	} rows[] = {
		{ "throw new ConfigError('no')", "config", DOCUMENT_CONFIG },
		{ "throw new TransientError('no')", "transient",
		    DOCUMENT_TRANSIENT },
		{ "throw new Error('no')", "error", DOCUMENT_SYSTEM },
		{ "await ctx.fetch(BASE + '/slow', {timeout: 100})",
		    "timeout", DOCUMENT_TRANSIENT },
		{ "await ctx.fetch(BASE + '/slow')", MODULE_CODE_WALL,
		    DOCUMENT_SYSTEM },
	};

	(void)state;
	open_all();
	takes = true;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		buf_printf(&b, "await ctx.emit({id: 1}); ctx.state.set('a', "
		    "1);%s", rows[i].body);
		load_module(buf_text(&b));
		begin_run(STR_NONE, false);
		finish();
		assert_int_equal(last.kind, DOCUMENTS_FAILED);
		assert_int_equal(last.fault, rows[i].fault);
		assert_true(str_eq(last.code, str_of(rows[i].code)));
		/* The batches before the crash are kept. */
		assert_memory_equal(said.p, "{\"id\":1} | ", 11);
		assert_true(str_eq(cursors[batches - 1], STR("{\"version\":1,"
		    "\"ended\":false,\"state\":{\"a\":1}}")));
	}
	close_all();
}

/* In each state; and freed with the engine. */
static void
a_run_can_be_stopped_at_any_time(void **state)
{
	static const char *const bodies[] = {
		"await ctx.sleep(3600000)", "await ctx.fetch(BASE + '/slow')",
		"await ctx.emit({id: 1}); await ctx.emit({id: 2})",
		"while (!ctx.stopping) await ctx.emit({id: 1})", "" };

	(void)state;
	open_all();
	for (size_t i = 0; i < 4 * ARRAY_LEN(bodies); i++) {
		bool at_once = (i & 1) != 0, early = (i & 2) != 0;
		struct mono began;
		load_module(bodies[i / 4]);
		takes = false;
		begin_run(STR_NONE, false);
		began = clock_mono();
		while (!early && !waits && !ended && clock_mono().ns -
		    began.ns < 300 * NS_PER_MS)
			loop_step(rig.home);
		module_run_stop(run, at_once);
		module_run_stop(run, at_once);
		size_t before = batches;
		finish();
		assert_int_equal(batches, before);
		assert_true(last.kind == DOCUMENTS_STOPPED);
		assert_true(clock_mono().ns - began.ns < 10000 * NS_PER_MS);
	}
	/* From the batch itself, as a check does. */
	load_module("for (;;) await ctx.emit({id: 1})");
	begin_run(STR_NONE, false);
	RIG_UNTIL_DONE(&rig, waits);
	module_run_stop(run, true);
	finish();
	load_module("await ctx.emit({id: 1}); await ctx.fetch(BASE + '/slow')");
	takes = true;
	begin_run(STR_NONE, false);
	while (batches == 0)
		loop_step(rig.home);
	unload_module();
	script_host_close(&host);
	rig_stop(&rig);
	module_run_free(&run);
	module_runs_free(&runs);
	rig_close(&rig);
	buf_free(&said);
	buf_free(&notes);
	buf_free(&requests);
}

static void
a_module_that_is_wrong_is_named(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	open_all();
	struct str path = arena_printf(&rig.arena, "%s/none.js", rig.dir);
	struct external_connector *c;
	struct script_bundle *b;
	assert_int_equal(module_load(path.p, &rig.conf, &b, &c, &w),
	    ERR_ABSENT);
	assert_null(c);
	assert_null(b);
	close_all();
}

int
main(int argc, char **argv)
{
	script_testing_begin(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_has_what_was_emitted_and_the_state),
		cmocka_unit_test(a_run_goes_on_from_each_cursor),
		cmocka_unit_test(emit_returns_when_the_batch_was_taken),
		cmocka_unit_test(a_bad_cursor_is_refused),
		cmocka_unit_test(fetches_are_signed_and_keep_cookies),
		cmocka_unit_test(what_is_refused_has_a_code),
		cmocka_unit_test(a_credential_can_be_replaced),
		cmocka_unit_test(an_archive_has_the_calls_without_secrets),
		cmocka_unit_test(a_failure_says_who_must_act),
		cmocka_unit_test(a_run_can_be_stopped_at_any_time),
		cmocka_unit_test(a_module_that_is_wrong_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
