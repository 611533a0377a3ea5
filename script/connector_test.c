/*
 * Functions of connectors in real processes: documents and state, notes, their
 * end, and their limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "os/clock.h"
#include "script/script_testing.h"

#define INPUT(call) "{\"door\":\"external\",\"call\":[" call "],"            \
	"\"argument\":{\"query\":\"q\"},\"params\":{\"kind\":\"red\"},"       \
	"\"credential\":null,\"seeds\":[{\"token\":\"a\"}],"                  \
	"\"state\":{\"after\":7},\"seed\":\"9f00000000000001\","              \
	"\"now\":\"2026-11-20T07:00:00.250Z\"}"
#define HELD_MAX 32u

static struct bench_world *world;

/* A run, and what it has said: "emit BODY; state STATE; " and so on. */
struct attempt {
	struct script_run run;
	bool is_done, is_success, holds;
	unsigned cancelled, notes_n, logs_n;
	char code[32];
	struct buf said, notes, message, result;
	struct script_call *held[HELD_MAX];
	size_t held_n;
};

static void
put_state(struct attempt *a, struct script_call *c)
{
	yyjson_val *state = yyjson_obj_get(script_call_args(c), "state");
	char *text = state == NULL ? NULL : yyjson_val_write(state, 0, NULL);

	if (text != NULL)
		buf_printf(&a->said, "state %s; ", text);
	free(text);
}

static void
take_call(struct script_run *r, struct script_call *c)
{
	struct attempt *a = r->arg;

	if (script_call_kind(c) == SCRIPT_CALL_EMIT)
		buf_printf(&a->said, "emit %.*s; ",
		    STR_FMT(str_cut(script_call_body(c), 0, 60)));
	put_state(a, c);
	if (script_call_kind(c) == SCRIPT_CALL_EMIT)
		script_call_wait_turn(c, true);
	if (a->holds && script_call_kind(c) != SCRIPT_CALL_STATE) {
		assert_true(a->held_n < HELD_MAX);
		a->held[a->held_n++] = c;
		return;
	}
	script_call_answer(c, STR_NONE, STR_NONE);
}

static void
take_cancel(struct script_run *r, struct script_call *c)
{
	struct attempt *a = r->arg;

	(void)c;
	a->cancelled++;
	a->held_n = 0;
}

static void
take_log(struct script_run *r, struct str category, struct str message)
{
	struct attempt *a = r->arg;

	(void)category, (void)message;
	a->logs_n++;
}

static void
take_note(struct script_run *r, yyjson_val *note)
{
	struct attempt *a = r->arg;

	a->notes_n++;
	buf_printf(&a->notes, "%s %s %s %s; ",
	    yyjson_get_str(yyjson_obj_get(note, "what")),
	    yyjson_get_str(yyjson_obj_get(note, "level")),
	    yyjson_get_str(yyjson_obj_get(note, "code")),
	    yyjson_get_str(yyjson_obj_get(note, "message")));
}

static void
take_done(struct script_run *r, const struct script_outcome *o)
{
	struct attempt *a = r->arg;

	a->is_done = true;
	a->is_success = o->is_success;
	snprintf(a->code, sizeof(a->code), "%.*s", STR_FMT(o->code));
	buf_put_str(&a->message, o->message);
	buf_put_str(&a->result, o->config);
	script_run_finish(r);
}

static const struct script_run_events events = { .on_call = take_call,
	.on_cancel = take_cancel, .on_log = take_log, .on_note = take_note,
	.on_done = take_done };

static void
begin_attempt(struct attempt *a, const char *input, const char *body,
    const struct script_limits *limits)
{
	struct buf source = BUF_INIT;
	struct conf conf;

	conf_init(&conf);
	*a = (struct attempt){ .run = { .is_connector = true,
	    .input = str_of(input), .events = &events,
	    .limits = script_limits_of_connector(&conf) } };
	conf_free(&conf);
	if (limits != NULL)
		a->run.limits = *limits;
	a->run.arg = a;
	a->run.bundle = bundle_new(STR("main.js"), (size_t)1 << 20);
	buf_printf(&source, "export default { async run(ctx) {\n%s\n},"
	    "async check(ctx, argument) { return argument; },"
	    "choices: { kind(ctx, {query}) { return [query, this !== "
	    "undefined]; } } }", body);
	assert_int_equal(bundle_add(a->run.bundle, STR("main.js"),
	    buf_str(&source), NULL), OK);
	buf_free(&source);
}

static void
start(struct attempt *a)
{
	script_run_start(world->host, &a->run);
}

static void
wait_for(struct attempt *a)
{
	loop_run_until(world->loop, &a->is_done);
}

struct pause {
	struct timer timer;
	bool is_over;
};

static void
pause_is_over(struct timer *t)
{
	CONTAINER(t, struct pause, timer)->is_over = true;
}

static void
let_pass(int64_t ms)
{
	struct pause p = { .timer.fire = pause_is_over };

	loop_timer_set(world->loop, &p.timer, mono_add_ms(clock_mono(), ms));
	loop_run_until(world->loop, &p.is_over);
}

static void
end(struct attempt *a)
{
	bundle_drop(&a->run.bundle);
	buf_free(&a->said);
	buf_free(&a->notes);
	buf_free(&a->message);
	buf_free(&a->result);
}

/* Run to the end; success, and what it has said. */
static void
expect_said(const char *body, const char *said)
{
	struct attempt a;

	begin_attempt(&a, INPUT("\"run\""), body, NULL);
	start(&a);
	wait_for(&a);
	if (!a.is_success)
		print_error("%s: %s\n", a.code, buf_text(&a.message));
	assert_true(a.is_success);
	assert_string_equal(buf_text(&a.said), said);
	end(&a);
}

static void
expect_failure(const char *body, const struct script_limits *limits,
    const char *code)
{
	struct attempt a;

	begin_attempt(&a, INPUT("\"run\""), body, limits);
	start(&a);
	wait_for(&a);
	assert_false(a.is_success);
	assert_string_equal(a.code, code);
	end(&a);
}

static int
open_world(void **state)
{
	(void)state;
	world = script_testing_open(NULL);
	return 0;
}

static int
close_world(void **state)
{
	(void)state;
	script_testing_close(&world);
	return 0;
}

/* ---- Documents and state ------------------------------------------------ */

static void
documents_and_state_come_in_their_order(void **state)
{
	(void)state;
	expect_said("await ctx.emit({id: 1}); await ctx.emit([{id: 2}, {id: "
	    "3}], 'label');", "emit [{\"id\":1}]; emit [{\"id\":2},{\"id\":"
	    "3}]; ");
	expect_said("await ctx.emit({id: 1}); ctx.state.set('a', 1);"
	    "await ctx.emit({id: 2});", "emit [{\"id\":1}]; emit [{\"id\":2}]"
	    "; state {\"after\":7,\"a\":1}; ");
	expect_said("await ctx.emit([]); ctx.state.set('after', {b: [1]});"
	    "await ctx.sleep(1); ctx.state.set('after', null);",
	    "emit []; state {\"after\":{\"b\":[1]}}; state {\"after\":null}; ");
	/* State that has not changed is not told again. */
	expect_said("await ctx.sleep(1); await ctx.emit({id: 1})",
	    "emit [{\"id\":1}]; ");
}

/* No state overtakes documents, however many wait before it. */
static void
state_stays_behind_what_was_emitted_before(void **state)
{
	struct attempt a;

	(void)state;
	begin_attempt(&a, INPUT("\"run\""),
	    "const all = []; for (let i = 0; i < 70; "
	    "i++) all.push(ctx.emit({i}), ctx.sleep(0)); ctx.state.set('i', "
	    "70); await Promise.all(all);", NULL);
	start(&a);
	wait_for(&a);
	assert_true(a.is_success);
	const char *at = strstr(buf_text(&a.said), "state");
	assert_non_null(at);
	assert_null(strstr(at, "emit"));
	assert_non_null(strstr(buf_text(&a.said), "\"i\":69"));
	end(&a);
}

static void
scripts_see_their_input(void **state)
{
	(void)state;
	expect_said("const is = (a, b) => { if (a !== b) throw new Error(a); };"
	    "is(ctx.door, 'external'); is(ctx.params.kind, 'red');"
	    "is(ctx.credential, null); is(ctx.seeds[0].token, 'a');"
	    "is(ctx.stopping, false); is(ctx.state.get('after'), 7);"
	    "is(ctx.state.get('other'), undefined);"
	    "is(ctx.getItem, undefined); is(ctx.secret, undefined);"
	    "ctx.state.set('o', {a: 1}); ctx.state.get('o').a = 2;"
	    "is(ctx.state.get('o').a, 1); ctx.count('x', 2);"
	    "is(Object.isFrozen(ctx.params), true);"
	    "ctx.updateSeed('s', {token: 1}); const {emit, state} = ctx;"
	    "await emit({id: 1}); state.set('__proto__', 5);"
	    "is(state.get('__proto__'), 5);"
	    "const before = Date.now(); await ctx.sleep(50);"
	    "is(Date.now() > before, true);",
	    "emit [{\"id\":1}]; state {\"after\":7,\"o\":{\"a\":1}}; "
	    "state {\"after\":7,\"o\":{\"a\":1},\"__proto__\":5}; ");
}

/* An emit that is not taken holds the script up. */
static void
emit_waits_for_room(void **state)
{
	struct attempt a;

	(void)state;
	begin_attempt(&a, INPUT("\"run\""), "for (let i = 0; i < 3; i++) "
	    "await ctx.emit({i})", NULL);
	a.holds = true;
	start(&a);
	for (size_t i = 0; i < 3; i++) {
		while (a.held_n == 0)
			let_pass(5);
		let_pass(20);
		assert_int_equal(a.held_n, 1);
		a.held_n = 0;
		script_call_answer(a.held[0], STR_NONE, STR_NONE);
	}
	wait_for(&a);
	assert_true(a.is_success);
	end(&a);
}

/* ---- What it says ------------------------------------------------------- */

static void
notes_and_progress_are_told(void **state)
{
	struct attempt a;

	(void)state;
	begin_attempt(&a, INPUT("\"run\""),
	    "ctx.note('warning', 'code', 'text', 's');"
	    "ctx.progress('one'); ctx.progress('two'); await ctx.sleep(1);"
	    "ctx.progress('two'); await ctx.sleep(1);"
	    "ctx.log('info', 'line'); ctx.progress('three')", NULL);
	start(&a);
	wait_for(&a);
	assert_true(a.is_success);
	assert_string_equal(buf_text(&a.notes), "note warning code text; "
	    "progress   two; progress   three; ");
	assert_int_equal(a.logs_n, 1);
	end(&a);
	/* No more lines than a minute may have. */
	begin_attempt(&a, INPUT("\"run\""), "for (let i = 0; i < 600; i++) {"
	    "ctx.note('info', 'c', `${i}`); ctx.log('info', 'x'); }", NULL);
	start(&a);
	wait_for(&a);
	assert_true(a.is_success);
	assert_int_equal(a.notes_n + a.logs_n, a.run.limits.log_lines_max);
	end(&a);
}

static void
functions_are_found_by_their_path(void **state)
{
	static const struct {
		const char *input, *result;
	} rows[] = { { INPUT("\"check\""), "{\"query\":\"q\"}" },
		{ INPUT("\"choices\",\"kind\""), "[\"q\",true]" },
		{ INPUT("\"run\""), "null" } };
	struct attempt a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin_attempt(&a, rows[i].input, "", NULL);
		start(&a);
		wait_for(&a);
		assert_true(a.is_success);
		assert_string_equal(buf_text(&a.result), rows[i].result);
		end(&a);
	}
	begin_attempt(&a, INPUT("\"choices\",\"constructor\""), "", NULL);
	start(&a);
	wait_for(&a);
	assert_string_equal(a.code, "error");
	end(&a);
}

/* ---- Faults and limits -------------------------------------------------- */

static void
wrong_arguments_are_errors(void **state)
{
	static const char *const rows[] = {
		"emit()", "emit(() => 1)", "emit({id: 1}, 2)", "emit([1n])",
		"state.set('a')", "state.set('', 1)", "state.set(1, 1)",
		"state.set('x'.repeat(257), 1)", "state.set('a', Symbol())",
		"note('loud', 'a', 'b')", "note()", "progress()", "count()",
		"sleep()", "log('info')" };
	struct buf body = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		buf_printf(&body, "try { await ctx.%s; throw 1 } catch (e) "
		    "{ if (e === 1) throw new Error('%zu') }\n", rows[i], i);
	buf_put_text(&body, "ctx.state.set('k'.repeat(256), 1);");
	buf_put_text(&body, "let a = {}; a.a = a; try { await ctx.emit(a); "
	    "throw 1 } catch (e) { if (e === 1) throw e }");
	struct attempt a;
	begin_attempt(&a, INPUT("\"run\""), buf_text(&body), NULL);
	start(&a);
	wait_for(&a);
	if (!a.is_success)
		print_error("%s\n", buf_text(&a.message));
	assert_true(a.is_success);
	end(&a);
	buf_free(&body);
}

static void
state_has_a_limit(void **state)
{
	struct buf body = BUF_INIT;

	(void)state;
	/* "after" and 7 are 6 bytes; "k" and two quotes 3. */
	buf_printf(&body, "const most = %zu - 6 - 3;"
	    "ctx.state.set('k', 'x'.repeat(most));"
	    "try { ctx.state.set('k', 'x'.repeat(most + 1)); throw 1 } "
	    "catch (e) { if (!(e instanceof RangeError)) throw e }"
	    "if (ctx.state.get('k').length !== most) throw new Error('k');"
	    "ctx.state.set('k', 1); await ctx.emit({id: 1})",
	    SCRIPT_STATE_BYTES_MAX);
	expect_said(buf_text(&body), "emit [{\"id\":1}]; state {\"after\":7,"
	    "\"k\":1}; ");
	buf_clear(&body);
	buf_printf(&body, "try { await ctx.emit('x'.repeat(%zu)); throw 1 } "
	    "catch (e) { if (!(e instanceof TypeError)) throw e }",
	    SCRIPT_REQUEST_BYTES_MAX);
	expect_said(buf_text(&body), "");
	buf_free(&body);
}

static void
failures_have_their_code(void **state)
{
	(void)state;
	expect_failure("throw new ConfigError('sign in again')", NULL,
	    "config");
	expect_failure("throw new (class extends ConfigError {})('x')", NULL,
	    "config");
	expect_failure("throw new TransientError('later')", NULL, "transient");
	expect_failure("throw new Error('bug')", NULL, "error");
	expect_failure("ctx.emit({id: 1})", NULL, "unawaited");
	expect_failure("await new Promise(() => {})", NULL, "never_settles");
	expect_failure("return () => 1", NULL, "result");
	expect_failure("const a = []; for (;;) a.push(new Uint8Array(1e6))",
	    NULL, "limit_memory");
}

static struct script_limits
small_limits(int64_t cpu_ms, int64_t wall_ms)
{
	struct script_limits l = world->limits;

	l.cpu_ms_max = cpu_ms;
	l.wall_ms_max = wall_ms;
	l.turn_ms_max = INT64_C(1) << 40;
	return l;
}

/* Waiting for a host call does not count as the script's time, but a request
 * does. */
static void
time_without_a_call_is_limited(void **state)
{
	struct script_limits l = small_limits(60000, 300);
	struct attempt a;

	(void)state;
	begin_attempt(&a, INPUT("\"run\""), "await ctx.sleep(800)", &l);
	start(&a);
	wait_for(&a);
	assert_true(a.is_success);
	end(&a);
	begin_attempt(&a, INPUT("\"run\""), "await ctx.emit({id: 1})", &l);
	a.holds = true;
	start(&a);
	while (a.held_n == 0)
		let_pass(5);
	let_pass(800);
	assert_false(a.is_done);
	script_call_answer(a.held[0], STR_NONE, STR_NONE);
	wait_for(&a);
	assert_true(a.is_success);
	end(&a);
	/* Calls in a row: each begins the time anew. */
	begin_attempt(&a, INPUT("\"run\""), "for (let i = 0; i < 12; i++) "
	    "await ctx.sleep(60)", &l);
	start(&a);
	wait_for(&a);
	assert_true(a.is_success);
	end(&a);
	begin_attempt(&a, INPUT("\"run\""), "await ctx.fetch('http://a/')", &l);
	a.holds = true;
	start(&a);
	wait_for(&a);
	assert_string_equal(a.code, "limit_wall");
	assert_int_equal(a.cancelled, 1);
	end(&a);
	l = small_limits(200, 60000);
	expect_failure("for (;;);", &l, "limit_cpu");
	expect_failure("for (;;) { await ctx.sleep(0); for (let i = 0; i < "
	    "1e6; i++); }", &l, "limit_cpu");
}

/* ---- Its end ------------------------------------------------------------ */

static void
a_script_that_is_to_end_stops_sleeping(void **state)
{
	struct attempt a;

	(void)state;
	begin_attempt(&a, INPUT("\"run\""), "while (!ctx.stopping) "
	    "await ctx.sleep(3600000); await ctx.sleep(3600000);"
	    "await ctx.emit({last: ctx.stopping})", NULL);
	start(&a);
	let_pass(300);
	script_run_end(&a.run);
	script_run_end(&a.run);
	wait_for(&a);
	assert_true(a.is_success);
	assert_string_equal(buf_text(&a.said), "emit [{\"last\":true}]; ");
	end(&a);
	/* One that has not begun is told with its beginning. */
	begin_attempt(&a, INPUT("\"run\""), "if (!ctx.stopping) throw 1; "
	    "await ctx.sleep(3600000)", NULL);
	start(&a);
	script_run_end(&a.run);
	wait_for(&a);
	assert_true(a.is_success);
	end(&a);
}

static void
a_process_serves_one_run_of_a_connector(void **state)
{
	uint64_t before = script_host_stats(world->host).started;

	(void)state;
	for (int i = 0; i < 3; i++)
		expect_said("", "");
	assert_int_equal(script_host_stats(world->host).started - before, 3);
	let_pass(300);
	assert_int_equal(script_host_stats(world->host).processes, 0);
}

static void
a_run_can_be_cancelled(void **state)
{
	struct attempt a;

	(void)state;
	begin_attempt(&a, INPUT("\"run\""), "await ctx.emit({id: 1})", NULL);
	a.holds = true;
	start(&a);
	while (a.held_n == 0)
		let_pass(5);
	script_run_cancel(&a.run);
	assert_int_equal(a.cancelled, 1);
	assert_false(a.is_done);
	let_pass(300);
	end(&a);
}

int
main(int argc, char **argv)
{
	script_testing_begin(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_and_state_come_in_their_order),
		cmocka_unit_test(state_stays_behind_what_was_emitted_before),
		cmocka_unit_test(scripts_see_their_input),
		cmocka_unit_test(emit_waits_for_room),
		cmocka_unit_test(notes_and_progress_are_told),
		cmocka_unit_test(functions_are_found_by_their_path),
		cmocka_unit_test(wrong_arguments_are_errors),
		cmocka_unit_test(state_has_a_limit),
		cmocka_unit_test(failures_have_their_code),
		cmocka_unit_test(time_without_a_call_is_limited),
		cmocka_unit_test(a_script_that_is_to_end_stops_sleeping),
		cmocka_unit_test(a_process_serves_one_run_of_a_connector),
		cmocka_unit_test(a_run_can_be_cancelled),
	};
	return cmocka_run_group_tests(tests, open_world, close_world);
}
