#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script/script_testing.h"

#include "base/json.h"
#include "base/text.h"
#include "os/system.h"
#include "script/worker.h"

/* Longer than any limit that a test sets. */
#define TEST_MS_MAX 60000

void
script_testing_begin(int argc, char **argv)
{
	if (script_worker_is(argc, argv))
		script_worker_main();
	system_ignore_sigpipe();
}

struct bench_world *
script_testing_open(void (*change)(struct script_host_options *))
{
	struct bench_world *world = mem_new(sizeof(*world));
	struct conf conf;
	struct why w = WHY_INIT;

	conf_init(&conf);
	struct script_host_options o = script_host_options_of(&conf);
	world->limits = script_limits_of(&conf);
	conf_free(&conf);
	if (change != NULL)
		change(&o);
	world->loop = loop_new("test");
	enum err e = script_host_open(world->loop, &o, &world->host, &w);
	assert_string_equal(w.text, "");
	assert_int_equal(e, OK);
	return world;
}

void
script_testing_close(struct bench_world **wp)
{
	struct bench_world *world = *wp;

	script_host_close(&world->host);
	loop_free(&world->loop);
	mem_free(wp);
}

/* ---- A store of a few items --------------------------------------------- */

/* What /worker/read answers, from the items and rows of the test. */
static void
answer_read(struct tried *t, struct script_call *c)
{
	struct buf json = BUF_INIT;
	yyjson_doc *items = yyjson_read(t->items, strlen(t->items), 0);
	yyjson_doc *rows = yyjson_read(t->metadata, strlen(t->metadata), 0);
	yyjson_val *asked, *row;
	size_t i, n, j, m;

	assert_non_null(items);
	assert_non_null(rows);
	buf_put_text(&json, "{\"items\":{");
	yyjson_arr_foreach(yyjson_obj_get(script_call_args(c), "items"), i, n,
	    asked) {
		yyjson_val *item = yyjson_obj_get(yyjson_doc_get_root(items),
		    yyjson_get_str(asked));
		char *text = item == NULL ? NULL :
		    yyjson_val_write(item, 0, NULL);
		if (i > 0)
			buf_put_char(&json, ',');
		text_json(&json, json_text(asked));
		buf_printf(&json, ":%s", text == NULL ? "null" : text);
		free(text);
	}
	buf_put_text(&json, "},\"metadata\":[");
	bool first = true;
	yyjson_arr_foreach(yyjson_obj_get(script_call_args(c), "metadata"), i,
	    n, asked) {
		yyjson_arr_foreach(yyjson_doc_get_root(rows), j, m, row) {
			if (!yyjson_equals(yyjson_obj_get(row, "id"),
			    yyjson_obj_get(asked, "id")) ||
			    !yyjson_equals(yyjson_obj_get(row, "taskName"),
			    yyjson_obj_get(asked, "taskName")))
				continue;
			char *text = yyjson_val_write(row, 0, NULL);
			buf_printf(&json, "%s%s", first ? "" : ",", text);
			first = false;
			free(text);
		}
	}
	buf_put_text(&json, "]}");
	yyjson_doc_free(items);
	yyjson_doc_free(rows);
	script_call_answer(c, buf_str(&json), STR_NONE);
	buf_free(&json);
}

static void
take_call(struct script_run *r, struct script_call *c)
{
	struct tried *t = CONTAINER(r, struct tried, run);

	t->calls_n++;
	if (t->on_call != NULL)
		t->on_call(t, c);
	else if (script_call_kind(c) == SCRIPT_CALL_READ)
		answer_read(t, c);
	else if (script_call_kind(c) == SCRIPT_CALL_PUT_BLOB)
		script_call_answer(c, STR("{\"sha256\":\"abc\"}"), STR_NONE);
	else if (script_call_kind(c) == SCRIPT_CALL_BLOB)
		script_call_answer(c, STR("{\"type\":\"a/b\"}"), STR("\1\2\3"));
	else if (script_call_kind(c) == SCRIPT_CALL_SESSION)
		script_call_answer(c, STR("{\"data\":{\"csrf\":\"1\"},"
		    "\"version\":1}"), STR_NONE);
	else
		script_call_answer(c, STR("{\"status\":200,\"url\":"
		    "\"http://a/\",\"headers\":[[\"content-type\",\"a/b\"],"
		    "[\"x\",\"1\"],[\"X\",\"2\"]],\"capture\":null,"
		    "\"redirected\":false,\"fromArchive\":false}"),
		    STR("{\"n\":9007199254740993,\"ok\":true}"));
}

static void
take_cancel(struct script_run *r, struct script_call *c)
{
	(void)c;
	CONTAINER(r, struct tried, run)->cancelled_n++;
}

static void
take_log(struct script_run *r, struct str category, struct str message)
{
	struct tried *t = CONTAINER(r, struct tried, run);

	buf_printf(&t->log, "%.*s: %.*s\n", STR_FMT(category),
	    STR_FMT(message));
}

static void
copy_to(struct buf *out, struct str s)
{
	buf_clear(out);
	buf_put_str(out, s);
	(void)buf_text(out);
}

static void
take_done(struct script_run *r, const struct script_outcome *o)
{
	struct tried *t = CONTAINER(r, struct tried, run);

	t->done_n++;
	t->is_success = o->is_success;
	t->has_callbacks = o->has_callbacks;
	t->allow_failure = o->allow_failure;
	snprintf(t->class, sizeof(t->class), "%.*s", STR_FMT(o->class));
	snprintf(t->code, sizeof(t->code), "%.*s", STR_FMT(o->code));
	copy_to(&t->message, o->message);
	copy_to(&t->stack, o->stack);
	copy_to(&t->mutations, o->mutations);
	copy_to(&t->config, o->config);
	copy_to(&t->functions, o->functions);
	t->cpu_ns = o->cpu_ns;
	t->wall_ns = o->wall_ns;
	t->heap_bytes = o->heap_bytes;
	t->log_dropped = o->log_dropped;
	t->is_done = true;
	if (!t->keeps_state)
		script_run_finish(r);
}

static void
note_answer(struct script_run *r, const struct script_call *c)
{
	struct tried *t = CONTAINER(r, struct tried, run);

	buf_printf(&t->order, "%u ", script_call_number(c));
}

static const struct script_run_events run_events = {
	.on_call = take_call, .on_cancel = take_cancel, .on_log = take_log,
	.on_answer = note_answer, .on_done = take_done };

/* ---- Runs --------------------------------------------------------------- */

#define INPUT "{\"lease\":\"L1\",\"task\":\"t\",\"task_version\":\"1\","    \
	"\"attempt\":1,\"seed\":\"9f00000000000001\","                         \
	"\"now\":\"2026-11-20T07:00:00.250Z\",\"item\":{\"id\":\"x\","         \
	"\"aliases\":[\"x\",\"EAN:1\"],\"tags\":[{\"name\":\"a\","             \
	"\"value\":null},{\"name\":\"site\",\"value\":\"eu\"}],"               \
	"\"data\":{\"url\":\"http://a/\",\"n\":1,\"deep\":{\"list\":[1,2]}},"  \
	"\"created_by\":\"w\",\"created_at\":\"2026-11-20T06:00:00.000Z\","    \
	"\"updated_at\":\"2026-11-20T06:30:00.000Z\",\"rev\":7},"              \
	"\"metadata\":{}}"

#define ITEM_X "{\"id\":\"x\",\"aliases\":[\"x\",\"EAN:1\"],\"tags\":[],"   \
	"\"data\":{\"n\":1},\"created_by\":null,\"created_at\":\"2026-11-20T"  \
	"06:00:00.000Z\",\"updated_at\":\"2026-11-20T06:30:00.000Z\",\"rev\":7}"
#define ITEM_Y "{\"id\":\"y\",\"aliases\":[\"y\"],\"tags\":[],"             \
	"\"data\":{\"m\":2},\"created_by\":null,\"created_at\":\"2026-11-20T"  \
	"06:00:00.000Z\",\"updated_at\":\"2026-11-20T06:45:00.000Z\",\"rev\":3}"

static void
init_run(struct tried *t, struct bench_world *world)
{
	*t = (struct tried){ .world = world,
		.items = "{\"x\":" ITEM_X ",\"EAN:1\":" ITEM_X ",\"y\":" ITEM_Y
		    "}",
		.metadata = "[{\"id\":\"x\",\"taskName\":\"t\",\"metadata\":"
		    "{\"k\":1},\"rev\":2,\"is_stale\":false},{\"id\":\"y\","
		    "\"taskName\":\"old\",\"metadata\":{\"k\":5},\"rev\":4,"
		    "\"is_stale\":true}]" };
	t->run = (struct script_run){ .task = STR("t"), .input = STR(INPUT),
		.limits = world->limits, .events = &run_events };
}

static void
add_file(struct tried *t, const char *path, const char *source)
{
	struct why w = WHY_INIT;

	assert_int_equal(bundle_add(t->run.bundle, str_of(path),
	    str_of(source), &w), OK);
}

void
tried_init(struct tried *t, struct bench_world *world, const char *body)
{
	struct buf source = BUF_INIT;

	init_run(t, world);
	t->run.bundle = bundle_new(STR("main.js"), (size_t)1 << 24);
	buf_printf(&source, "export default { tasks: { t: { async run(c) {\n"
	    "%s\n} } } }", body);
	add_file(t, "main.js", buf_text(&source));
	buf_free(&source);
}

void
tried_init_module(struct tried *t, struct bench_world *world,
    const char *main_source, ...)
{
	va_list files;
	const char *path;

	init_run(t, world);
	t->run.bundle = bundle_new(STR("main.js"), (size_t)1 << 24);
	add_file(t, "main.js", main_source);
	va_start(files, main_source);
	while ((path = va_arg(files, const char *)) != NULL)
		add_file(t, path, va_arg(files, const char *));
	va_end(files);
}

void
tried_start(struct tried *t)
{
	script_run_start(t->world->host, &t->run);
}

struct alarm {
	struct timer timer;
	struct loop *loop;
};

static void
ring(struct timer *t)
{
	loop_stop(CONTAINER(t, struct alarm, timer)->loop);
}

void
tried_wait(struct tried *t)
{
	struct loop *loop = t->world->loop;
	struct alarm alarm = { .timer.fire = ring, .loop = loop };

	loop_timer_set(loop, &alarm.timer, mono_add_ms(loop_now(loop),
	    TEST_MS_MAX));
	loop_run_until(loop, &t->is_done);
	loop_timer_stop(loop, &alarm.timer);
	assert_true(t->is_done);
}

void
tried_run(struct tried *t)
{
	tried_start(t);
	tried_wait(t);
}

void
tried_free(struct tried *t)
{
	bundle_drop(&t->run.bundle);
	buf_free(&t->message);
	buf_free(&t->stack);
	buf_free(&t->mutations);
	buf_free(&t->config);
	buf_free(&t->functions);
	buf_free(&t->log);
	buf_free(&t->order);
}

void
expect_success(struct bench_world *world, const char *body,
    const char *mutations)
{
	struct tried t;

	tried_init(&t, world, body);
	tried_run(&t);
	if (!t.is_success)
		print_error("%s: %s\n%s\n", t.code, t.message.p, t.stack.p);
	assert_true(t.is_success);
	if (mutations != NULL)
		assert_string_equal(t.mutations.p, mutations);
	tried_free(&t);
}

static const char check_js[] =
    "const is = (a, b, what) => { const s = v => v === undefined ? "
    "'undefined' : typeof v === 'string' ? v : JSON.stringify(v);"
    " if (s(a) !== s(b)) throw new Error(`${what ?? ''} ${s(a)} is not"
    " ${s(b)}`); };\n"
    "const throws = (f, name, text) => { try { f(); } catch (e) {"
    " is(e.name, name, f); if (text !== undefined && "
    "!e.message.includes(text)) is(e.message, text); return e; }"
    " throw new Error(`${f} did not throw`); };\n";

/* What the run's promise rejects with becomes the failure's message. */
void
expect_passes(struct bench_world *world, const char *body)
{
	struct buf all = BUF_INIT;

	buf_printf(&all, "%s%s", check_js, body);
	expect_success(world, buf_text(&all), NULL);
	buf_free(&all);
}

void
expect_code(struct bench_world *world, const char *body, const char *code)
{
	struct tried t;

	tried_init(&t, world, body);
	tried_run(&t);
	if (strcmp(t.code, code) != 0)
		print_error("%s\n%s: %s\n", body, t.code, t.message.p);
	assert_string_equal(t.code, code);
	tried_free(&t);
}
