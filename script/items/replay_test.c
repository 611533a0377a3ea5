/*
 * Recorded runs, run again: real processes, a whole engine, a web on loopback
 * that must not be asked.
 */
#include "script/items/replay.h"

#include "engine/items/item_query.h"
#include "os/clock.h"
#include "os/postgresql_testing.h"
#include "script/items/runner_testing.h"
#include "script/script_testing.h"

static const char *store;
static atomic_uint price;

static void
site(struct str path, struct rig_page *p)
{
	if (str_eq(path, STR("/robots.txt"))) {
		p->status = 404;
	} else if (str_starts(path, STR("/slow"))) {
		p->delay_ms = 60;
		buf_put_text(&p->body, "slow");
	} else if (str_eq(path, STR("/moved"))) {
		p->status = 302;
		buf_put_text(&p->head, "Location: /there\r\n");
	} else if (str_eq(path, STR("/broken"))) {
		p->status = 500;
		buf_put_text(&p->body, "sorry");
	} else {
		buf_printf(&p->head, "X-Path: %.*s\r\n", STR_FMT(path));
		buf_printf(&p->body, "<p class=price>%u EUR</p><i>%.*s</i>",
		    atomic_load(&price), STR_FMT(path));
	}
}

static void
open_site(void)
{
	atomic_store(&price, 10);
	open_all(site, store);
}

/* -- Replays -- */

static void
replayed(struct replay *r)
{
	*(bool *)r->arg = true;
}

/* Its answer.  Memory: the rig's. */
static const char *
replay(struct replay r)
{
	bool is_done = false;

	r.done = replayed;
	r.arg = &is_done;
	if (r.since.us == 0)
		r.since = ITEM_TIME_NONE;
	uint64_t asked = rig_requests(&rig, NULL);
	replay_start(runner, &r);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(rig_requests(&rig, NULL), asked);
	const char *text = arena_copy(&rig.arena, r.why.err != OK ?
	    str_of(r.why.text) : buf_str(&r.json)).p;
	buf_free(&r.json);
	return text;
}

/* {"counts":{...},"runs":[...],"next":...} */
static int
count(const char *answer, const char *status)
{
	yyjson_doc *doc = yyjson_read(answer, strlen(answer), 0);
	yyjson_val *n = yyjson_obj_get(yyjson_obj_get(
	    yyjson_doc_get_root(doc), "counts"), status);

	if (!yyjson_is_uint(n))
		fail_msg("no count %s in %s", status, answer);
	int number = (int)yyjson_get_uint(n);
	yyjson_doc_free(doc);
	return number;
}

static void
counts(const char *answer, const char *status, int want)
{
	if (count(answer, status) != want)
		fail_msg("%s is not %d in %s", status, want, answer);
}

/* -- Tests -- */

/* One of everything that a run may ask for. */
#define ALL_CALLS                                                             \
	" sessions: { shop: { async login({ fetch, session }) {\n"             \
	"  await fetch(SITE + '/login'); session.data.who = 'demo'; } } },\n"  \
	" seeds: ['a', 'b', 'c'].map(id => ({ id, tags: ['t'], data: { n: 1 } "\
	"})),\n"                                                              \
	" tags: { t: ['all'] },\n"                                            \
	" tasks: { all: { version: '1', async run(c) {\n"                      \
	"  const order = [], see = name => () => order.push(name);\n"          \
	"  await Promise.all([\n"                                             \
	"   c.fetch(SITE + '/slow?' + c.id).then(see('slow')),\n"              \
	"   c.fetch(SITE + '/quick?' + c.id).then(see('quick')),\n"            \
	"   c.sleep(20).then(see('sleep')) ]);\n"                             \
	"  const r = await c.fetch(SITE + '/moved');\n"                        \
	"  const again = await c.fetch(SITE + '/moved');\n"                    \
	"  const s = await c.session('shop');\n"                              \
	"  const own = await s.fetch(SITE + '/own#part');\n"                   \
	"  let broken; try { await c.fetch(SITE + '/broken') } catch (e) { "  \
	"broken = e.code + e.status + e.response.text() }\n"                  \
	"  let gone; try { await c.getItem('none') } catch (e) { gone = "     \
	"e.code }\n"                                                          \
	"  const bytes = new TextEncoder().encode('blob ' + c.id);\n"          \
	"  c.putBlob({ name: 'b', bytes });\n"                                \
	"  const blob = await c.getBlob('b');\n"                              \
	"  const post = await c.fetch(SITE + '/post', { method: 'POST', json:" \
	" { id: c.id } });\n"                                                 \
	"  const found = await c.getMetadata({ id: 'a', taskName: 'all', "     \
	"allowStale: true });\n"                                              \
	"  c.log('info', 'seen ' + order);\n"                                 \
	"  c.updateData(old => ({ ...old, n: old.n + 1, order, url: r.url, "   \
	"twice: again.redirected, who: s.data.who, path: "                    \
	"own.headers.get('x-path'), broken, gone, had: blob?.length ?? 0, "   \
	"post: post.text(), found: found ?? null, random: Math.random(), "    \
	"now: Date.now(), made: c.randomId('x') }));\n"                       \
	"  c.createItem({ id: 'made-' + c.id, data: {} });\n"                 \
	"  c.updateMetadata(m => ({ runs: (m.runs ?? 0) + 1 }));\n"            \
	" } } }\n"

static void
all_that_was_asked_for_is_answered(void **state)
{
	(void)state;
	open_site();
	use(ALL_CALLS);
	wait_for_runs(3);
	assert_int_equal(task_runner_counts(runner).failed, 0);
	contains(item("a"), "\"slow\"],\"url\"");
	contains(ask_run("R1"), "\"has_replay\":true");
	const char *before = item("a");
	counts(replay((struct replay){ .task = STR("all"),
	    .mode = REPLAY_VERIFY }), "same", 3);
	counts(replay((struct replay){ .task = STR("all") }), "same", 3);
	counts(replay((struct replay){ .run = STR("R2"),
	    .mode = REPLAY_VERIFY }), "same", 1);
	assert_string_equal(item("a"), before);
	/* Pages. */
	const char *page = replay((struct replay){ .task = STR("all"),
	    .max = 2 });
	counts(page, "same", 2);
	contains(page, "\"next\":\"2-3\"");
	page = replay((struct replay){ .task = STR("all"), .after = 3 });
	counts(page, "same", 0);
	contains(page, "\"next\":null");
	assert_string_equal(replay((struct replay){ .task = STR("none") }),
	    "task: there is no such task");
	assert_string_equal(replay((struct replay){ .run = STR("R99") }),
	    "run: there is no such run");
	close_all();
}

#define SHOP(version, parser)                                                 \
	" seeds: ['a', 'b', 'c', 'd'].map(id => ({ id, tags: ['t'], data: {} " \
	"})),\n"                                                              \
	" tags: { t: ['scrape'] },\n"                                         \
	" tasks: { scrape: { version: '" version "', ttl: '1h', retries: 0,\n" \
	"  async run({ id, fetch, updateData, updateMetadata }) {\n"          \
	"   const $ = (await fetch(SITE + '/p/' + id)).html();\n"              \
	"   const text = $('.price').text();\n" parser                         \
	"  } } }\n"
#define WRONG "updateData(old => ({ ...old, price: text }));\n"
#define RIGHT "updateData(old => ({ ...old, price: parseInt(text) }));\n"

static void
other_code_is_told_by_its_difference(void **state)
{
	(void)state;
	open_site();
	use(SHOP("1", RIGHT));
	wait_for_runs(4);
	/* The site has another price now, and a replay does not see it. */
	atomic_store(&price, 99);
	use(SHOP("1", WRONG));
	const char *r = replay((struct replay){ .task = STR("scrape") });
	counts(r, "different", 4);
	contains(r, "{\"op\":\"replace\",\"path\":\"/mutations/0/data/price\","
	    "\"value\":\"10 EUR\"}");
	r = replay((struct replay){ .task = STR("scrape"),
	    .mode = REPLAY_VERIFY });
	counts(r, "same", 4);
	r = replay((struct replay){ .task = STR("scrape"), .item = STR("b") });
	counts(r, "different", 1);
	contains(item("b"), "\"price\":10}");
	/* A page that was not fetched then is a miss, unless it is archived. */
	use(SHOP("1", "await fetch(SITE + '/p/' + (id === 'a' ? 'b' : "
	    "'new'));\n" RIGHT));
	r = replay((struct replay){ .task = STR("scrape") });
	counts(r, "missed", 4);
	contains(r, "ReplayMiss");
	r = replay((struct replay){ .task = STR("scrape"), .loose = true });
	counts(r, "same", 1);
	counts(r, "missed", 3);
	close_all();
}

static const char *
completed_at(const char *id)
{
	const char *m = metadata(id, "scrape");
	const char *at = strstr(m, "\"completed_at\":");

	assert_non_null(at);
	return arena_copy(&rig.arena, (struct str){ at, 42 }).p;
}

static void
a_fix_is_applied_as_of_then(void **state)
{
	(void)state;
	open_site();
	use(SHOP("1", "if (id === 'd') throw new Error('no price');\n" WRONG
	    "updateMetadata(() => ({ seen: text }));\n"));
	wait_for_runs(4);
	atomic_store(&price, 99);
	contains(item("a"), "\"price\":\"10 EUR\"");
	const char *at = completed_at("a");
	use(SHOP("1", RIGHT "updateMetadata(() => ({ seen: 1 }));\n"));
	const char *r = replay((struct replay){ .task = STR("scrape"),
	    .mode = REPLAY_APPLY });
	counts(r, "applied", 4);
	contains(item("a"), "\"price\":10}");
	contains(item("d"), "\"price\":10}");
	contains(metadata("a", "scrape"), "\"seen\":1");
	assert_string_equal(completed_at("a"), at);
	contains(ask_tasks(), "\"fresh\":4");
	/* It is the record now, with today's code. */
	r = replay((struct replay){ .task = STR("scrape"),
	    .mode = REPLAY_VERIFY });
	counts(r, "same", 4);
	r = replay((struct replay){ .task = STR("scrape"),
	    .mode = REPLAY_APPLY });
	counts(r, "same", 4);
	close_all();
}

static unsigned recomputed;          /* runs */
static bool is_counted;

static enum err
count_recomputed(struct items_read *r, struct item_store *s, struct why *w)
{
	struct replay_list l = { .task = STR("add"), .max = 100,
	    .since = ITEM_TIME_NONE };
	struct run_replay *rows;
	size_t n;

	enum err e = item_query_replays(s, &l, &r->arena, &rows, &n, w);
	for (size_t i = 0; i < n && e == OK; i++)
		recomputed += str_find(rows[i].record, STR("recompute")) <
		    rows[i].record.n;
	return e;
}

static void
recomputed_counted(struct items_read *r)
{
	arena_free(&r->arena);
	is_counted = true;
}

/* Runs that change one item together, and met conflicts. */
static void
conflicts_are_repeated(void **state)
{
	(void)state;
	open_site();
	use(" seeds: [{ id: 'sum', tags: [], data: { n: 0 } }, ...Array.from({ "
	    "length: 24 }, (_, i) => ({ id: 'i' + i, tags: ['t'], data: {} "
	    "}))],\n"
	    " tags: { t: ['add'] },\n"
	    " tasks: { add: { version: '1', retries: 50, backoff: '10ms', "
	    "backoffMax: '50ms', async run({ updateData, updateMetadata }) "
	    "{\n"
	    "  updateData({ id: 'sum', merge: old => ({ n: old.n + 1 }) });\n"
	    "  updateMetadata(() => ({ done: true }));\n"
	    " } } }\n");
	wait_for_runs(24);
	contains(item("sum"), "\"n\":24");
	struct items_read read = { .run = count_recomputed,
	    .done = recomputed_counted, .why = WHY_INIT };
	items_read(items, &read);
	RIG_UNTIL_DONE(&rig, is_counted);
	assert_in_range(recomputed, 1, 24);
	const char *r = replay((struct replay){ .task = STR("add"),
	    .mode = REPLAY_VERIFY });
	counts(r, "same", 24);
	close_all();
}

/* 600 KB of noise that a run reads, and its record cannot keep. */
static void
a_long_record_says_that_it_has_no_replay(void **state)
{
	(void)state;
	open_site();
	use(" seeds: [{ id: 'big', tags: [], data: { noise: (() => { let x = 1,"
	    " s = ''; while (s.length < 600000) { x = (x * 48271) % "
	    "2147483647; s += String.fromCharCode(48 + x % 70); } return s; "
	    "})() } }, { id: 'x', tags: ['t'], data: {} }],\n"
	    " tags: { t: ['read'] },\n"
	    " tasks: { read: { version: '1', async run({ getItem, "
	    "updateMetadata }) {\n"
	    "  const n = (await getItem('big')).noise.length;\n"
	    "  updateMetadata(() => ({ n })); } } }\n");
	wait_for_runs(1);
	contains(metadata("x", "read"), "\"n\":600000");
	contains(ask_run("R1"), "\"short\":true");
	const char *r = replay((struct replay){ .task = STR("read"),
	    .mode = REPLAY_VERIFY });
	counts(r, "skipped", 1);
	contains(r, "its record was too long");
	close_all();
}

static void
wait_ms(unsigned ms)
{
	bool over = false;
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (!over) {
		(void)loop_step(rig.home);
		over = !mono_before(clock_mono(), until);
	}
}

/* A stopped replay that has stored nothing ends with an error. */
static void
a_replay_can_be_cut(void **state)
{
	bool is_done = false;
	struct replay r = { .task = STR("scrape"), .since = ITEM_TIME_NONE,
	    .mode = REPLAY_APPLY, .done = replayed, .arg = &is_done };

	(void)state;
	open_site();
	use(SHOP("1", RIGHT));
	wait_for_runs(4);
	use(SHOP("1", "for (;;) {}\n" RIGHT));
	replay_start(runner, &r);
	wait_ms(200);
	assert_false(is_done);
	replay_cut(&r);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(r.why.err, ERR_CLOSED);
	assert_int_equal(r.json.n, 0);
	/* While its records are being read, too. */
	struct replay early = { .task = STR("scrape"),
	    .since = ITEM_TIME_NONE, .mode = REPLAY_APPLY, .done = replayed,
	    .arg = &is_done };
	is_done = false;
	replay_start(runner, &early);
	replay_cut(&early);
	assert_false(is_done);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(early.why.err, ERR_CLOSED);
	/* And what follows is as ever. */
	use(SHOP("1", RIGHT));
	counts(replay((struct replay){ .task = STR("scrape") }), "same", 4);
	close_all();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_was_asked_for_is_answered),
		cmocka_unit_test(other_code_is_told_by_its_difference),
		cmocka_unit_test(a_fix_is_applied_as_of_then),
		cmocka_unit_test(conflicts_are_repeated),
		cmocka_unit_test(a_replay_can_be_cut),
		cmocka_unit_test(a_long_record_says_that_it_has_no_replay),
	};
	struct postgresql_test *server = NULL;
	char url[300];

	script_testing_begin(argc, argv);
	if (argc > 1 && strcmp(argv[1], "postgresql") == 0) {
		server = postgresql_test_start();
		if (server == NULL)
			return POSTGRESQL_TEST_SKIP;
	}
	int failed = 0;
	for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
		if (server != NULL) {
			snprintf(url, sizeof(url), "store.url=%s",
			    postgresql_test_url(server, NULL));
			store = url;
		}
		failed += _cmocka_run_group_tests(tests[i].name, &tests[i], 1,
		    NULL, NULL);
	}
	postgresql_test_stop(&server);
	return failed;
}
