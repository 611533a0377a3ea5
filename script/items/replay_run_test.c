/*
 * A record in memory, run again in real processes: the order of answers, calls
 * that other code leaves out or adds, and what is not there any more.  Bodies
 * come from a source that gives them back last first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/clock.h"
#include "script/items/replay_run.h"
#include "script/script_testing.h"

/* Three fetches at once, answered 2, 3, 1; a sleep that was answered last. */
#define RECORD                                                                \
	"{\"mutations\":[],\"replay\":{\"bundle\":\"%s\",\"secrets\":{},"      \
	"\"keep\":false,\"input\":{\"task\":\"t\",\"attempt\":1,"             \
	"\"seed\":\"9f00000000000001\",\"now\":\"2026-11-20T07:00:00.000Z\","  \
	"\"item\":{\"id\":\"x\",\"data\":{\"n\":1},\"aliases\":[\"x\"],"      \
	"\"tags\":[],\"created_by\":null,\"rev\":3,"                          \
	"\"created_at\":\"2026-11-20T07:00:00.000Z\","                        \
	"\"updated_at\":\"2026-11-20T07:00:00.000Z\"}},\"calls\":["            \
	FETCH(2, "b") "," FETCH(3, "c") "," FETCH(1, "a") ","                  \
	"{\"n\":4,\"kind\":\"sleep\",\"value\":null},"                        \
	"{\"n\":5,\"kind\":\"read\",\"args\":{\"items\":[\"y\"],"             \
	"\"metadata\":[]},\"value\":{\"items\":{\"y\":null},"                  \
	"\"metadata\":[]}}],\"success\":true,\"mutations\":\"00\","           \
	"\"error\":null}}"
#define FETCH(n, path)                                                        \
	"{\"n\":" #n ",\"kind\":\"fetch\",\"method\":\"GET\",\"url\":"        \
	"\"http://shop.example/" path "\",\"value\":{\"status\":200,\"url\":"  \
	"\"http://shop.example/" path "\",\"capture\":{\"crawl\":1,\"seq\":"   \
	#n "},\"redirected\":false,\"fromArchive\":false}}"

static struct bench_world *world;
static struct replay_need *kept[8];
static size_t kept_n, waits_for;
static uint64_t gone;                /* the capture that was deleted */

/* -- The source -- */

static void
find(void *arg, struct replay_need *n)
{
	static const struct http_field field = { { "X-Kind", 6 },
	    { "page", 4 } };

	(void)arg;
	assert_in_range(n->kind, REPLAY_CAPTURE, REPLAY_STATES);
	n->found = n->kind == REPLAY_CAPTURE && n->number != gone;
	n->fields = &field;
	n->fields_n = 1;
	n->body = arena_printf(&n->arena, "body %llu",
	    (unsigned long long)n->number);
	kept[kept_n++] = n;
	if (kept_n < waits_for)
		return;
	/* Until the last one is asked for; the last comes first. */
	while (kept_n > 0)
		replay_need_done(kept[--kept_n]);
}

/* -- Runs -- */

struct replayed {
	struct replay_run run;
	struct buf mutations, code;
	bool success, missed, freed;
};

static void
replay_freed(struct replay_run *r)
{
	CONTAINER(r, struct replayed, run)->freed = true;
}

static void
replay_done(struct replay_run *r, const struct script_outcome *o)
{
	struct replayed *p = CONTAINER(r, struct replayed, run);

	p->success = o->is_success;
	p->missed = r->missed;
	buf_put_str(&p->mutations, o->is_success ? o->mutations : o->message);
	buf_put_str(&p->code, o->code);
	replay_run_finish(r, replay_freed);
}

/* With this function as the task; `own`: it is the recorded code.  How many
 * ms it took. */
static int64_t
replay(struct replayed *p, const char *body, bool own, size_t at_once)
{
	struct replay_source source = { .find = find };
	struct replay_record *record;
	struct tried t;
	struct why w = WHY_INIT;

	*p = (struct replayed){ .success = false };
	tried_init(&t, world, body);
	FREED(buf_free) struct buf text = BUF_INIT;
	buf_printf(&text, RECORD, own ? bundle_hash(t.run.bundle) : "other");
	if (replay_record_read(buf_str(&text), &record, &w) != OK)
		fail_msg("%s", w.text);
	p->run.record = record;
	p->run.bundle = t.run.bundle;
	p->run.limits = world->limits;
	p->run.source = &source;
	p->run.loop = world->loop;
	p->run.done = replay_done;
	kept_n = 0;
	waits_for = at_once;
	struct mono began = clock_mono();
	replay_run_start(world->host, &p->run);
	loop_run_until(world->loop, &p->freed);
	int64_t ms = mono_ns_between(began, clock_mono()) / NS_PER_MS;
	replay_record_free(&record);
	tried_free(&t);
	return ms;
}

static void
replayed_free(struct replayed *p)
{
	buf_free(&p->mutations);
	buf_free(&p->code);
}

static int
setup(void **state)
{
	(void)state;
	world = script_testing_open(NULL);
	gone = 0;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	script_testing_close(&world);
	return 0;
}

#define SEE "const seen = [], see = r => seen.push(r.text());\n"
#define STORE "c.updateTags({ add: [seen.join(',')] });"
#define AB "http://shop.example/"

static void
answers_come_in_the_recorded_order(void **state)
{
	struct replayed p;

	(void)state;
	replay(&p, SEE "await Promise.all(['a', 'b', 'c'].map(x => c.fetch('" AB
	    "' + x).then(see))); await c.sleep(1e6);\n" STORE, true, 3);
	assert_true(p.success);
	assert_string_equal(buf_text(&p.mutations), "[{\"op\":\"updateTags\","
	    "\"add\":[\"body 2,body 3,body 1\"],\"id\":\"x\"}]");
	replayed_free(&p);
}

/* `b` is not asked for: nothing waits for it. */
static void
calls_may_be_left_out(void **state)
{
	struct replayed p;

	(void)state;
	int64_t ms = replay(&p, SEE "see(await c.fetch('" AB "a')); see(await "
	    "c.fetch('" AB "c'));\n" STORE, false, 1);
	assert_string_equal(buf_text(&p.mutations), "[{\"op\":\"updateTags\","
	    "\"add\":[\"body 1,body 3\"],\"id\":\"x\"}]");
	assert_in_range(ms, 0, 1500);
	replayed_free(&p);
}

/* A sleep of its own, and a read that the source cannot answer. */
static void
calls_may_be_added(void **state)
{
	struct replayed p;

	(void)state;
	replay(&p, SEE "see(await c.fetch('" AB "a')); await c.sleep(1e6); "
	    "await c.sleep(1e6);\n"
	    "if (await c.getItem({ id: 'y', optional: true })) throw 1;\n"
	    "if ((await c.getItem('x')).n !== 1) throw 2;\n" STORE, false, 1);
	assert_string_equal(buf_text(&p.mutations), "[{\"op\":\"updateTags\","
	    "\"add\":[\"body 1\"],\"id\":\"x\"}]");
	assert_false(p.missed);
	replayed_free(&p);
	replay(&p, "await c.getItem('z')", false, 1);
	assert_false(p.success);
	assert_true(p.missed);
	replayed_free(&p);
}

static void
what_was_not_asked_for_is_missed(void **state)
{
	struct replayed p;

	(void)state;
	replay(&p, "try { await c.fetch('" AB "none') } catch (e) { "
	    "throw new PermanentError(e.name) }", false, 1);
	assert_false(p.success);
	assert_true(p.missed);
	assert_string_equal(buf_text(&p.mutations), "PermanentError: "
	    "ReplayMiss");
	replayed_free(&p);
	/* Once was recorded, not twice. */
	replay(&p, "await c.fetch('" AB "a'); await c.fetch('" AB "a')",
	    false, 1);
	assert_true(p.missed);
	replayed_free(&p);
}

static void
a_deleted_capture_is_missed(void **state)
{
	struct replayed p;

	(void)state;
	gone = 1;
	replay(&p, "await c.fetch('" AB "b'); await c.fetch('" AB "a')", false,
	    1);
	assert_false(p.success);
	assert_true(p.missed);
	assert_non_null(strstr(buf_text(&p.mutations),
	    "not in the archive any more: " AB "a"));
	replayed_free(&p);
}

static void
a_faulty_record_is_refused(void **state)
{
	static const char *const texts[] = { "", "[]", "{\"replay\":{}}",
		"{\"replay\":{\"bundle\":\"b\",\"mutations\":\"0\",\"input\":"
		"{\"task\":\"t\",\"item\":{\"id\":\"x\"}},\"calls\":[{\"n\":1,"
		"\"kind\":\"dance\",\"value\":1}]}}",
		"{\"replay\":{\"bundle\":\"b\",\"mutations\":\"0\",\"input\":"
		"{\"task\":\"t\",\"item\":{\"id\":\"x\"}},\"calls\":[{\"n\":1,"
		"\"kind\":\"sleep\"}]}}" };
	struct replay_record *record;
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(replay_record_read(str_of(texts[i]), &record,
		    NULL), ERR_CORRUPT);
	assert_int_equal(replay_record_read(STR("{\"short\":true}"), &record,
	    &w), ERR_STATE);
	assert_non_null(strstr(w.text, "too long"));
}

int
main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(answers_come_in_the_recorded_order),
		CASE(calls_may_be_left_out),
		CASE(calls_may_be_added),
		CASE(what_was_not_asked_for_is_missed),
		CASE(a_deleted_capture_is_missed),
		CASE(a_faulty_record_is_refused),
	};

	script_testing_begin(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
