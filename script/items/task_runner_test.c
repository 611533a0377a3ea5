/*
 * Tasks from the configuration to stored results: real sandboxed processes, a
 * whole engine, a web on loopback.
 */
#include <unistd.h>

#include "os/clock.h"
#include "script/items/runner_testing.h"
#include "script/items/simulation.h"
#include "script/script_testing.h"

static atomic_uint logins;
static atomic_bool is_busy, is_full, is_refused, is_drained;

/* -- The web -- */

/* Tell the test that the script has reached this page, and wait for its signal
 * to continue. */
static void
wait_for_test(atomic_bool *here, const atomic_bool *there)
{
	atomic_store(here, true);
	for (int i = 0; i < 20000 && !atomic_load(there); i++)
		usleep(1000);
}

static void
site(struct str path, struct rig_page *p)
{
	if (str_eq(path, STR("/list"))) {
		buf_put_text(&p->body, "[\"a\",\"b\",\"c\"]");
	} else if (str_starts(path, STR("/product/"))) {
		buf_printf(&p->body, "{\"title\":\"Product %.*s\"}",
		    STR_FMT(str_from(path, 9)));
	} else if (str_starts(path, STR("/login"))) {
		unsigned n = atomic_fetch_add(&logins, 1) + 1;
		buf_printf(&p->head, "Set-Cookie: member=%u\r\n", n);
		buf_put_text(&p->body, "{\"ok\":true}");
	} else if (str_eq(path, STR("/renew"))) {
		buf_put_text(&p->head, "Set-Cookie: member=renewed\r\n");
	} else if (str_eq(path, STR("/cookie"))) {
		buf_printf(&p->body, "\"%.*s\"", STR_FMT(p->cookie));
	} else if (str_eq(path, STR("/bad"))) {
		p->status = 404;
	} else if (str_eq(path, STR("/busy"))) {
		wait_for_test(&is_busy, &is_full);
	} else if (str_eq(path, STR("/refused"))) {
		wait_for_test(&is_refused, &is_drained);
	} else {
		p->status = str_eq(path, STR("/robots.txt")) ? 404 : 200;
		buf_put_text(&p->body, "{}");
	}
}

static void
open_site(void)
{
	atomic_store(&logins, 0);
	open_all(site, NULL);
}

/* -- Tests -- */

/* A list is searched for products, each of which is fetched and stored. */
static void
discovered_items_are_run(void **state)
{
	(void)state;
	open_site();
	use(" seeds: [{ id: 'home', tags: ['list'], data: { url: SITE + "
	    "'/list' } }],\n"
	    " tags: { list: ['find'], product: ['scrape', 'sum'] },\n"
	    " tasks: {\n"
	    "  find: { version: '1', ttl: '1d', async run({ data, fetch, "
	    "createItem }) {\n"
	    "   for (const id of (await fetch(data.url)).json())\n"
	    "    createItem({ id, tags: ['product'], data: { url: SITE + "
	    "'/product/' + id } }); } },\n"
	    "  scrape: { version: '1', async run({ data, fetch, updateData, "
	    "log }) {\n"
	    "   const r = await fetch(data.url);\n"
	    "   log('info', 'status ' + r.status);\n"
	    "   updateData(old => ({ ...old, ...r.json() })); } },\n"
	    "  sum: { version: '1', dependsOn: ['scrape'], async run({ id, "
	    "getItem, updateMetadata }) {\n"
	    "   const title = (await getItem(id)).title;\n"
	    "   updateMetadata(() => ({ n: title.length })); } } }\n");
	/* find, three scrape, three sum. */
	wait_for_runs(7);
	contains(item("a"), "\"title\":\"Product a\"");
	contains(item("c"), "\"created_by\":\"home\"");
	contains(metadata("b", "sum"), "\"n\":9");
	assert_int_equal(task_runner_counts(runner).failed, 0);
	assert_int_equal(rig_requests(&rig, "/list"), 1);
	assert_int_equal(rig_requests(&rig, "/product/a"), 1);
	/* They are captures of the month's crawl. */
	const struct crawl_row *row = crawl_row(engine_registry(rig.engine),
	    task_fetcher_crawl(fetcher));
	assert_int_equal(row->view.counts.items, 4);
	close_all();
}

static void
a_failure_says_where(void **state)
{
	(void)state;
	open_site();
	use(" seeds: [{ id: 'x', tags: ['t'], data: {} }],\n"
	    " tags: { t: ['bug'] },\n"
	    " tasks: { bug: { version: '1', async run({ fetch }) {\n"
	    "  await fetch(SITE + '/bad');\n"
	    "  null.title; } } }\n");
	wait_for_runs(1);
	const char *f = ask_failures("bug");
	contains(f, "cannot read property 'title' of null");
	contains(f, "shop.js:8");
	contains(f, "null.title");
	contains(f, "\"status\":404");
	contains(ask_tasks(), "\"failed\":1");
	close_all();
}

/* Fifty tasks share one login; expiry causes one more; a restart none. */
static void
a_session_logs_in_once(void **state)
{
	static const char source[] =
	    " seeds: Array.from({ length: 50 }, (_, i) => ({ id: 'p' + i, "
	    "tags: ['t'], data: {} })),\n"
	    " tags: { t: ['member'] },\n"
	    " sessions: { shop: { ttl: '1d',\n"
	    "  async login({ fetch, session, secret, ancestors }) {\n"
	    "   await fetch(SITE + '/login?p=' + secret('pass'));\n"
	    "   session.data.who = 'demo'; } } },\n"
	    " tasks: { member: { version: '1', async run({ id, session, "
	    "updateMetadata }) {\n"
	    "  const s = await session('shop');\n"
	    "  const r = await s.fetch(SITE + '/member/' + id);\n"
	    "  updateMetadata(() => ({ who: s.data.who, status: r.status "
	    "})); } } }\n";

	(void)state;
	open_site();
	use(source);
	wait_for_runs(50);
	assert_int_equal(atomic_load(&logins), 1);
	assert_int_equal(rig_requests(&rig, "/login?p=canary-1234"), 1);
	contains(metadata("p49", "member"), "\"who\":\"demo\"");
	assert_int_equal(task_runner_counts(runner).failed, 0);
	/* What is stored outlives the process. */
	close_parts();
	open_parts();
	use(" seeds: [{ id: 'q', tags: ['t'], data: {} }],\n"
	    " tags: { t: ['member'] },\n"
	    " sessions: { shop: { ttl: '1d', async login() { throw new "
	    "Error('again') } } },\n"
	    " tasks: { member: { version: '1', async run({ id, session, "
	    "updateMetadata }) {\n"
	    "  const s = await session('shop');\n"
	    "  updateMetadata(() => ({ who: s.data.who })); } } }\n");
	wait_for_runs(1);
	contains(metadata("q", "member"), "\"who\":\"demo\"");
	assert_int_equal(atomic_load(&logins), 1);
	close_all();
}

/* An answer after the login changes a cookie; that outlives the process. */
static void
changed_cookies_are_kept(void **state)
{
#define RENEWED(seed, login)                                                 \
	" seeds: [{ id: '" seed "', tags: ['t'], data: {} }],\n"             \
	" tags: { t: ['member'] },\n"                                        \
	" sessions: { shop: { ttl: '1d', async login({ fetch }) {" login      \
	" } } },\n tasks: { member: { version: '1', async run({ id, session,"\
	" updateMetadata }) {\n  const s = await session('shop');\n"          \
	"  if (id === 'a') await s.fetch(SITE + '/renew');\n"                \
	"  const r = await s.fetch(SITE + '/cookie');\n"                     \
	"  updateMetadata(() => ({ cookie: r.json() })); } } }\n"

	(void)state;
	open_site();
	use(RENEWED("a", "await fetch(SITE + '/login')"));
	wait_for_runs(1);
	contains(metadata("a", "member"), "\"cookie\":\"member=renewed\"");
	close_parts();
	open_parts();
	use(RENEWED("b", "throw new Error('again')"));
	wait_for_runs(1);
	contains(metadata("b", "member"), "\"cookie\":\"member=renewed\"");
	assert_int_equal(atomic_load(&logins), 1);
	close_all();
}

/* isExpired() has the daemon log in once more, and the fetch is repeated. */
static void
an_expired_session_logs_in_again(void **state)
{
	(void)state;
	open_site();
	use(" seeds: ['a', 'b', 'c'].map(id => ({ id, tags: ['t'], data: {} "
	    "})),\n"
	    " tags: { t: ['member'] },\n"
	    " sessions: { shop: {\n"
	    "  async login({ fetch }) { await fetch(SITE + '/login'); },\n"
	    "  isExpired: (r) => r.url.endsWith('/member') && "
	    "(globalThis.seen = (globalThis.seen ?? 0) + 1) === 1 } },\n"
	    " tasks: { member: { version: '1', async run({ fetch, session, "
	    "updateMetadata }) {\n"
	    "  const s = await session('shop');\n"
	    "  const r = await fetch(SITE + '/member', { session: s });\n"
	    "  updateMetadata(() => ({ status: r.status })); } } }\n");
	wait_for_runs(3);
	assert_int_equal(task_runner_counts(runner).failed, 0);
	contains(metadata("c", "member"), "\"status\":200");
	/* Each run asked twice, as its first answer was an expired one. */
	assert_int_equal(rig_requests(&rig, "/member"), 6);
	assert_in_range(atomic_load(&logins), 2, 4);
	close_all();
}

static void
a_failing_login_fails_those_who_wait(void **state)
{
	(void)state;
	open_site();
	use(" seeds: ['x', 'y', 'z'].map(id => ({ id, tags: ['t'], data: {} "
	    "})),\n"
	    " tags: { t: ['member'] },\n"
	    " sessions: { shop: { async login({ sleep }) { await sleep(300); "
	    "throw new Error('wrong password') } } },\n"
	    " tasks: { member: { version: '1', async run({ session }) { await "
	    "session('shop') } } }\n");
	wait_for_runs(3);
	const char *f = ask_failures("member");
	contains(f, "wrong password");
	contains(f, "the login of the session \\\"shop\\\" failed");
	/* It is the bug of the run that logs in; the others try again. */
	contains(ask_tasks(), "\"retry\":2");
	contains(ask_tasks(), "\"failed\":1");
	close_all();
}

#define WRITES_MAX 10000u            /* items.writes_max */

static atomic_bool is_open;
static unsigned written;

static enum err
write_when_open(struct items_write *w, struct item_tx *tx, struct why *why)
{
	(void)w, (void)tx, (void)why;
	while (!atomic_load(&is_open))
		usleep(1000);
	return OK;
}

static void
note_written(struct items_write *w)
{
	(void)w;
	written++;
}

static bool
is_there(struct rig *r, void *flag)
{
	(void)r;
	return atomic_load((atomic_bool *)flag);
}

static bool
are_written(struct rig *r, void *n)
{
	(void)r;
	return written == *(const unsigned *)n;
}

/* A call that is refused because the daemon is too busy fails with a transient
 * error. */
static void
a_call_that_is_refused_is_tried_again(void **state)
{
	struct items_write *w = mem_array(WRITES_MAX, sizeof(*w));
	unsigned all = WRITES_MAX;

	(void)state;
	open_site();
	use(" seeds: [{ id: 'a', tags: ['t'], data: {} }],\n"
	    " tags: { t: ['read'] },\n"
	    " tasks: { read: { version: '1', async run({ fetch, getItem, log "
	    "}) {\n"
	    "  await fetch(SITE + '/busy');\n"
	    "  try { await getItem('a') } catch (e) { log('info', e.name + "
	    "', ' + e.code) }\n"
	    "  await fetch(SITE + '/refused'); } } }\n");
	rig_until(&rig, is_there, &is_busy);
	for (unsigned i = 0; i < WRITES_MAX; i++) {
		w[i].run = write_when_open;
		w[i].done = note_written;
		items_write(items, &w[i]);
	}
	atomic_store(&is_full, true);
	rig_until(&rig, is_there, &is_refused);
	atomic_store(&is_open, true);
	rig_until(&rig, are_written, &all);
	atomic_store(&is_drained, true);
	wait_for_runs(1);
	contains(ask_run("R1"), "TransientError, store");
	close_all();
	mem_free(&w);
}

static void
simulated(struct simulation *s)
{
	*(bool *)s->arg = true;
}

/* Memory: the rig's. */
static const char *
simulate(struct simulation *s)
{
	bool is_done = false;

	s->done = simulated;
	s->arg = &is_done;
	simulation_start(runner, s);
	RIG_UNTIL_DONE(&rig, is_done);
	const char *text = s->why.err != OK ? arena_copy(&rig.arena,
	    str_of(s->why.text)).p : arena_copy(&rig.arena,
	    buf_str(&s->json)).p;
	buf_free(&s->json);
	return text;
}

/* A task is tried, and nothing is written: no store, no archive. */
static void
a_simulation_changes_nothing(void **state)
{
	(void)state;
	open_site();
	use(" seeds: [{ id: 'x', tags: ['t'], data: { n: 1 } }],\n"
	    " tags: { t: ['read'] },\n"
	    " tasks: { read: { version: '1', async run({ id, fetch, log, "
	    "updateData, updateMetadata, createItem }) {\n"
	    "  const r = (await fetch(SITE + '/product/' + id)).json();\n"
	    "  log('info', 'read');\n"
	    "  updateData(old => ({ ...old, title: r.title }));\n"
	    "  createItem({ id: 'y', data: { made: true } });\n"
	    "  updateMetadata(() => ({ a: 1 })); } } }\n");
	wait_for_runs(1);
	const char *before = item("x");
	uint64_t captures = crawl_row(engine_registry(rig.engine),
	    task_fetcher_crawl(fetcher))->view.counts.items;

	struct simulation live = { .task = STR("read"), .item = STR("x"),
	    .module = arena_printf(&rig.arena, "export default { tasks: { "
	    "read: { async run({ fetch, updateData, updateMetadata, "
	    "createItem }) {\n const r = (await fetch('http://127.0.0.1:%u"
	    "/product/new')).json();\n updateData(old => ({ ...old, title: "
	    "r.title }));\n createItem({ id: 'z', data: { made: 2 } });\n "
	    "updateMetadata(() => ({ a: 2 })); } } } }", rig.port) };
	const char *text = simulate(&live);
	contains(text, "\"ok\":true");
	contains(text, "{\"op\":\"updateData\",\"id\":\"x\",\"effect\":"
	    "\"updated\",\"diff\":[{\"op\":\"replace\",\"path\":"
	    "\"/title\",\"value\":\"Product new\"}]}");
	contains(text, "\"effect\":\"new\"");
	contains(text, "\"path\":\"/a\",\"value\":2");
	contains(text, "\"status\":200");
	assert_string_equal(item("x"), before);
	assert_string_equal(item("z"), "");
	assert_int_equal(rig_requests(&rig, "/product/new"), 1);
	assert_int_equal(crawl_row(engine_registry(rig.engine),
	    task_fetcher_crawl(fetcher))->view.counts.items, captures);

	/* On the archived page: no request. */
	struct simulation archived = { .task = STR("read"), .item = STR("x"),
	    .archived = true };
	text = simulate(&archived);
	contains(text, "\"ok\":true");
	contains(text, "\"message\":\"read\"");
	assert_int_equal(rig_requests(&rig, "/product/x"), 1);
	struct simulation never = { .task = STR("read"), .item = STR("y"),
	    .archived = true };
	text = simulate(&never);
	contains(text, "\"ok\":false");
	contains(text, "no answer of this URL is archived");

	/* With a file of the bundle changed, and one that it has not. */
	struct source_file change = { STR("shop.js"), STR("export default { "
	    "tasks: { read: { run({ updateData }) { updateData(old => ({ "
	    "...old, n: 2 })); } } } }") };
	struct simulation changed = { .task = STR("read"), .item = STR("x"),
	    .files = &change, .files_n = 1 };
	contains(simulate(&changed), "\"path\":\"/n\",\"value\":2");
	struct source_file other = { STR("no.js"), STR("") };
	struct simulation lost = { .task = STR("read"), .item = STR("x"),
	    .files = &other, .files_n = 1 };
	contains(simulate(&lost), "the configuration has no file no.js");

	struct simulation absent = { .task = STR("read"), .item = STR("w") };
	contains(simulate(&absent), "no such item");
	struct simulation no_task = { .task = STR("nope"), .item = STR("x") };
	contains(simulate(&no_task), "no such task");
	close_all();
}

static void
config_read(struct config_run *c)
{
	*(bool *)c->arg = true;
}

/* A configuration that is wrong says where. */
static void
a_wrong_module_is_refused(void **state)
{
	bool is_read = false;

	(void)state;
	open_site();
	struct config_run c = {
		.bundle = bundle_of("\n tags: {},\n tasks: nothing\n"),
		.limits = script_limits_of(&rig.conf), .done = config_read,
		.arg = &is_read };
	config_run_start(host, &c);
	RIG_UNTIL_DONE(&rig, is_read);
	assert_int_equal(c.why.err, ERR_INPUT);
	contains(c.why.text, "nothing");
	contains(c.why.text, "shop.js:6");
	config_run_free(&c);
	bundle_drop(&c.bundle);
	close_all();
}

/*
 * The host is asked each 2.1 seconds.  One run leaves at once; the others are
 * put back, each for a turn of its own, and another task's runs go on.
 */
static void
slow_hosts_hold_no_process(void **state)
{
	struct mono began = clock_mono();

	(void)state;
	open_site();
	use(" fetch: { policy: { rate_limit: 2.1, robots: 'ignore' },\n"
	    "  private: [SITE.slice(7)] },\n"
	    " seeds: ['a', 'b', 'c'].map(id => ({ id, tags: ['product'] })),\n"
	    " tags: { product: ['slow', 'quick'] },\n"
	    " tasks: {\n"
	    "  slow: { version: '1', async run({ id, fetch }) {\n"
	    "   await fetch(SITE + '/product/' + id); } },\n"
	    "  quick: { version: '1', async run({ updateMetadata }) {\n"
	    "   updateMetadata(() => ({ n: 1 })); } } }\n");
	wait_for_runs(6);
	assert_in_range(mono_ns_between(began, clock_mono()) / 1000000, 4200,
	    60000);
	assert_int_equal(task_runner_counts(runner).failed, 0);
	assert_int_equal(task_runner_counts(runner).completed, 6);
	/* Where a run comes late its turn may be there. */
	assert_in_range(task_runner_counts(runner).given_back, 1, 4);
	/* No attempt was counted, and nothing of it is recorded. */
	contains(ask_runs("c", "slow"), "\"attempt\":1");
	for (const char *id = "abc"; *id != '\0'; id++) {
		char path[] = "/product/?";
		path[9] = *id;
		assert_int_equal(rig_requests(&rig, path), 1);
	}
	close_all();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(discovered_items_are_run),
		cmocka_unit_test(a_failure_says_where),
		cmocka_unit_test(a_session_logs_in_once),
		cmocka_unit_test(changed_cookies_are_kept),
		cmocka_unit_test(an_expired_session_logs_in_again),
		cmocka_unit_test(a_failing_login_fails_those_who_wait),
		cmocka_unit_test(a_call_that_is_refused_is_tried_again),
		cmocka_unit_test(a_simulation_changes_nothing),
		cmocka_unit_test(a_wrong_module_is_refused),
		cmocka_unit_test(slow_hosts_hold_no_process),
	};

	script_testing_begin(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
