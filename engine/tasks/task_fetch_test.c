/*
 * Fetches of tasks over a whole engine: the month's crawl, what is refused,
 * what a script is told, secrets on their way.
 */
#include "engine/tasks/task_capture.h"

#include "engine/control/engine_testing.h"
#include "os/clock.h"

static struct rig rig;
static struct task_fetcher *fetcher;

static void
site(struct str path, struct rig_page *p)
{
	if (str_eq(path, STR("/robots.txt"))) {
		p->status = 200;
		p->type = "text/plain";
		buf_put_text(&p->body, "User-agent: *\nDisallow: /no\n");
	} else if (str_eq(path, STR("/moved"))) {
		p->status = 302;
		buf_put_text(&p->head, "Location: /there\r\n");
	} else if (str_eq(path, STR("/gone"))) {
		p->status = 410;
	} else if (str_eq(path, STR("/broken"))) {
		p->status = 500;
	} else if (str_eq(path, STR("/bomb"))) {
		/* A frame of zstd: 100,000 times the same byte. */
		buf_put_text(&p->head, "Content-Encoding: zstd\r\n");
		buf_put_str(&p->body, (struct str){
		    "\x28\xb5\x2f\xfd\0\x38\x03\x35\x0cx", 10 });
	} else if (str_eq(path, STR("/damaged"))) {
		buf_put_text(&p->head, "Content-Encoding: zstd\r\n");
		buf_put_str(&p->body, (struct str){
		    "\x28\xb5\x2f\xfd\0\x38\x07\x35\x0cx", 10 });
	} else if (str_eq(path, STR("/slow"))) {
		p->delay_ms = 400;
	} else if (str_starts(path, STR("/echo"))) {
		/* The value of the secret comes back. */
		buf_printf(&p->head, "X-Echo: %.*s\r\n", STR_FMT(path));
		buf_printf(&p->body, "you sent %.*s", STR_FMT(path));
	} else
		buf_printf(&p->body, "at %.*s", STR_FMT(path));
}

#define SECRETS "{\"key\":{\"value\":\"canary-4711\"," \
	"\"hosts\":[\"127.0.0.1\"]}}"

static void
done(struct task_fetch *t)
{
	*(bool *)t->arg = true;
}

static void
fetch(struct task_fetch *t)
{
	bool is_done = false;

	t->done = done;
	t->arg = &is_done;
	task_fetch_start(fetcher, t);
	RIG_UNTIL_DONE(&rig, is_done);
}

static void
use(const char *policy, const char *secrets)
{
	struct str host = arena_printf(&rig.arena, "127.0.0.1:%u", rig.port);
	struct secrets *s;
	struct why w = WHY_INIT;

	assert_int_equal(secrets_parse(str_of(secrets), &s, NULL), OK);
	struct task_fetch_rules r = { .policy = str_of(policy),
	    .private_hosts = &host, .private_n = 1, .secrets = s };
	if (task_fetcher_use(fetcher, &r, &w) != OK)
		fail_msg("%s", w.text);
	secrets_drop(&s);
}

static void
open_rig(void)
{
	rig_open(&rig, site, (const char *const[]){
	    "fetch.allow_private=off", "fetch.tries_max=1",
	    "fetch.body_bytes_max=99999", NULL });
	rig_start(&rig);
	fetcher = task_fetcher_new(rig.engine, rig.home);
	use("{\"rate_limit\":0}", "{}");
}

static void
close_rig(void)
{
	task_fetcher_free(&fetcher);
	rig_close(&rig);
}

static const struct crawl_row *
row(void)
{
	return crawl_row(engine_registry(rig.engine),
	    task_fetcher_crawl(fetcher));
}

static void
answers_are_captures_of_the_month(void **state)
{
	struct task_fetch a = { .url = STR_NONE };
	char iso[WALL_ISO_MAX];

	(void)state;
	open_rig();
	assert_int_equal(task_fetcher_crawl(fetcher), UINT32_MAX);
	a.url = rig_url(&rig, "/a");
	fetch(&a);
	assert_int_equal(a.end, TASK_FETCH_ANSWERED);
	assert_int_equal(a.status, 200);
	assert_true(str_eq(a.content, STR("at /a")));
	assert_true(str_eq(a.final_url, a.url));
	assert_int_equal(a.number, 1);
	assert_int_equal(a.crawl, task_fetcher_crawl(fetcher));
	assert_false(a.redirected);
	task_fetch_free(&a);

	wall_to_iso(clock_wall(), iso);
	assert_true(str_eq(row()->name, arena_printf(&rig.arena,
	    "items %.7s", iso)));
	assert_int_equal(row()->view.kind, CRAWL_TASKS);

	struct task_fetch b = { .url = rig_url(&rig, "/moved") };
	fetch(&b);
	assert_true(b.redirected);
	assert_true(str_eq(b.final_url, rig_url(&rig, "/there")));
	assert_int_equal(b.number, 2);
	task_fetch_free(&b);

	struct task_fetch c = { .url = rig_url(&rig, "/moved"),
	    .manual = true };
	fetch(&c);
	assert_int_equal(c.status, 302);
	assert_false(c.redirected);
	task_fetch_free(&c);

	struct task_fetch d = { .url = rig_url(&rig, "/a"),
	    .max_age_s = 3600 };
	fetch(&d);
	assert_true(d.from_archive);
	assert_int_equal(d.number, 1);
	task_fetch_free(&d);

	struct task_fetch f = { .url = rig_url(&rig, "/a"), .archived = true };
	fetch(&f);
	assert_true(f.from_archive);
	assert_int_equal(f.number, 1);
	task_fetch_free(&f);
	uint64_t asked = rig_requests(&rig, NULL);
	struct task_fetch g = { .url = rig_url(&rig, "/never"),
	    .archived = true };
	fetch(&g);
	assert_string_equal(g.code, "not_archived");
	assert_int_equal(rig_requests(&rig, NULL), asked);
	task_fetch_free(&g);

	struct task_fetch e = { .url = rig_url(&rig, "/a"), .live = true };
	fetch(&e);
	assert_int_equal(e.status, 200);
	assert_int_equal(e.number, 0);
	task_fetch_free(&e);
	close_rig();
}

/* What rejects, and by which code. */
static void
failures_have_a_code(void **state)
{
	static const int listed[] = { 404, 500 };
	static const struct http_field host = { STR("hOst"),
	    STR("x.example") };
	static const struct http_field smuggle = { STR("X-A"),
	    STR("a\r\nb: c") };
	struct {
		struct task_fetch t;
		const char *path, *code;
		bool transient;
		int status;
	} rows[] = {
		{ { .any_status = false }, "/gone", NULL, false, 410 },
		{ { .any_status = false }, "/broken", "status", true, 500 },
		{ { .any_status = true }, "/broken", NULL, false, 500 },
		{ { .accept = listed, .accept_n = 1 }, "/broken", "status",
		    true, 500 },
		{ { .accept = listed, .accept_n = 2 }, "/broken", NULL, false,
		    500 },
		{ { .any_status = false }, "/no/x", "robots", false, 0 },
		{ { .timeout_ms = 100 }, "/slow", "timeout", true, 0 },
		/* The body is longer than allowed, decoded. */
		{ { .any_status = false }, "/bomb", "limit_body", false, 200 },
		{ { .any_status = false }, "/damaged", "decode", true, 200 },
		{ { .method = STR("CONNECT") }, "/a", "input", false, 0 },
		{ { .method = STR("trace") }, "/a", "input", false, 0 },
		{ { .method = STR("A B") }, "/a", "input", false, 0 },
		{ { .headers = &host, .headers_n = 1 }, "/a", "input", false,
		    0 },
		{ { .headers = &smuggle, .headers_n = 1 }, "/a", "input",
		    false, 0 },
		{ { .url = STR("ftp://127.0.0.1/") }, NULL, "input", false,
		    0 },
		{ { .url = STR("/a") }, NULL, "input", false, 0 },
		/* Only the listed port of that host is open to tasks. */
		{ { .url = STR("http://127.0.0.1:1/") }, NULL, "denied", false,
		    0 },
	};

	(void)state;
	open_rig();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct task_fetch *t = &rows[i].t;
		if (rows[i].path != NULL)
			t->url = rig_url(&rig, rows[i].path);
		fetch(t);
		if ((t->end == TASK_FETCH_FAILED) != (rows[i].code != NULL) ||
		    (t->code != NULL && strcmp(t->code, rows[i].code) != 0) ||
		    t->transient != rows[i].transient ||
		    t->status != rows[i].status)
			fail_msg("row %zu: end %d, %s, status %d: %.*s", i,
			    t->end, t->code, t->status, STR_FMT(t->text));
		assert_true(t->end != TASK_FETCH_FAILED || t->text.n > 0);
		task_fetch_free(t);
	}
	close_rig();
}

static void
secrets_leave_and_do_not_come_back(void **state)
{
	struct task_fetch t = { .url = STR_NONE };

	(void)state;
	open_rig();
	use("{\"rate_limit\":0}", "{\"key\":{\"value\":\"canary-4711\","
	    "\"hosts\":[\"127.0.0.1\"]},\"far\":{\"value\":\"canary-0815\","
	    "\"hosts\":[\"far.example\"]}}");
	t.url = rig_url(&rig, "/echo?k={{secret.key}}");
	fetch(&t);
	assert_int_equal(t.end, TASK_FETCH_ANSWERED);
	/* The site got it. */
	assert_int_equal(rig_requests(&rig, "/echo?k=canary-4711"), 1);
	assert_true(t.secret_found);
	assert_true(str_eq(t.content, STR("you sent /echo?k=REDACTED")));
	for (size_t i = 0; i < t.fields_n; i++)
		assert_true(str_find(t.fields[i].value, STR("canary")) ==
		    t.fields[i].value.n);
	assert_true(str_find(t.final_url, STR("canary")) == t.final_url.n);
	task_fetch_free(&t);

	struct task_fetch far = { .url = rig_url(&rig,
	    "/echo?k={{secret.far}}") };
	fetch(&far);
	assert_string_equal(far.code, "denied");
	assert_int_equal(rig_requests(&rig, NULL), 1 + 1);
	task_fetch_free(&far);
	close_rig();
}

/* Another policy is another crawl; the one before becomes complete when its
 * last request is done. */
static void
another_policy_is_another_crawl(void **state)
{
	bool is_done = false;
	struct task_fetch slow = { .url = STR_NONE, .done = done,
	    .arg = &is_done };

	(void)state;
	open_rig();
	struct task_fetch first = { .url = rig_url(&rig, "/a") };
	fetch(&first);
	uint32_t old = first.crawl;
	task_fetch_free(&first);
	slow.url = rig_url(&rig, "/slow");
	task_fetch_start(fetcher, &slow);
	use("{\"rate_limit\":0,\"user_agent\":\"Shop/1\"}", "{}");
	struct task_fetch second = { .url = rig_url(&rig, "/b") };
	fetch(&second);
	assert_int_not_equal(second.crawl, old);
	task_fetch_free(&second);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(slow.end, TASK_FETCH_ANSWERED);
	assert_int_equal(slow.crawl, old);
	task_fetch_free(&slow);
	rig_until_state(&rig, old, CRAWL_COMPLETE);
	close_rig();
}

/* A configuration that is loaded again has the same policy: one crawl. */
static void
the_same_policy_is_the_same_crawl(void **state)
{
	(void)state;
	open_rig();
	struct task_fetch first = { .url = rig_url(&rig, "/a") };
	fetch(&first);
	for (int i = 0; i < 3; i++) {
		use("{\"rate_limit\":0}", "{}");
		struct task_fetch next = { .url = rig_url(&rig, "/b") };
		fetch(&next);
		assert_int_equal(next.end, TASK_FETCH_ANSWERED);
		assert_int_equal(next.crawl, first.crawl);
		task_fetch_free(&next);
	}
	task_fetch_free(&first);
	assert_false(crawl_row_is_over(row()));
	close_rig();
}

/* The crawl goes on after a restart; one that a person has cancelled does
 * not. */
static void
a_restart_finds_the_crawl(void **state)
{
	struct crawl_order o;

	(void)state;
	open_rig();
	struct task_fetch a = { .url = rig_url(&rig, "/a") };
	fetch(&a);
	task_fetch_free(&a);
	task_fetcher_free(&fetcher);
	rig_crash(&rig);
	rig_start(&rig);
	fetcher = task_fetcher_new(rig.engine, rig.home);
	use("{\"rate_limit\":0}", "{}");
	struct task_fetch b = { .url = rig_url(&rig, "/b") };
	fetch(&b);
	assert_int_equal(b.crawl, a.crawl);
	assert_int_equal(b.number, 2);
	task_fetch_free(&b);
	rig_steer(&rig, b.crawl, CRAWL_CANCELLED, &o);
	struct task_fetch c = { .url = rig_url(&rig, "/c") };
	fetch(&c);
	assert_int_equal(c.end, TASK_FETCH_ANSWERED);
	assert_int_not_equal(c.crawl, a.crawl);
	task_fetch_free(&c);
	close_rig();
}

static void
a_stored_policy_is_used(void **state)
{
	struct task_fetch t = { .url = STR_NONE };

	(void)state;
	open_rig();
	use("\"nosuch\"", "{}");
	t.url = rig_url(&rig, "/a");
	fetch(&t);
	assert_int_equal(t.end, TASK_FETCH_FAILED);
	assert_string_equal(t.code, "crawl");
	task_fetch_free(&t);
	use("", "{}");
	struct task_fetch u = { .url = rig_url(&rig, "/a") };
	fetch(&u);
	assert_int_equal(u.end, TASK_FETCH_ANSWERED);
	task_fetch_free(&u);
	close_rig();
}

static void
a_fetch_can_be_stopped(void **state)
{
	bool is_done = false;
	struct task_fetch t = { .done = done, .arg = &is_done };

	(void)state;
	open_rig();
	t.url = rig_url(&rig, "/slow");
	task_fetch_start(fetcher, &t);
	task_fetch_stop(&t);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_string_equal(t.code, "stopped");
	task_fetch_free(&t);
	close_rig();
}

static void
a_far_turn_is_told(void **state)
{
	struct task_fetch a = { .turn_ms_max = 2000 }, b = a;

	(void)state;
	open_rig();
	use("{\"rate_limit\":30,\"robots\":\"ignore\"}", "{}");
	a.url = b.url = rig_url(&rig, "/a");
	fetch(&a);
	assert_int_equal(a.end, TASK_FETCH_ANSWERED);
	fetch(&b);
	assert_int_equal(b.end, TASK_FETCH_FAILED);
	assert_string_equal(b.code, "turn");
	assert_true(b.transient);
	assert_in_range(b.turn_ms, 2001, 30001);
	assert_int_equal(b.delay_ms, 30000);
	assert_int_equal(b.number, 0);
	task_fetch_free(&a);
	task_fetch_free(&b);
	close_rig();
}

static void
archived_read(struct task_capture *t)
{
	*(bool *)t->arg = true;
}

/* Again from the archive: what the script has had, byte by byte. */
static void
same_as_archived(const char *path)
{
	struct task_fetch t = { .url = rig_url(&rig, path),
	    .any_status = true };
	struct secrets *s;
	bool is_done = false;

	assert_int_equal(secrets_parse(STR(SECRETS), &s, NULL), OK);
	fetch(&t);
	assert_true(t.number > 0);
	struct task_capture c = { .crawl = t.crawl, .number = t.number,
	    .done = archived_read, .arg = &is_done };
	task_capture_start(fetcher, s, &c);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_true(c.found);
	assert_int_equal(c.status, t.status);
	assert_true(str_eq(c.content, t.content));
	assert_int_equal(c.fields_n, t.fields_n);
	for (size_t i = 0; i < t.fields_n; i++) {
		assert_true(str_eq(c.fields[i].name, t.fields[i].name));
		assert_true(str_eq(c.fields[i].value, t.fields[i].value));
	}
	task_capture_free(&c);
	task_fetch_free(&t);
	secrets_drop(&s);
}

static void
archived_answers_are_as_the_script_had_them(void **state)
{
	struct task_capture none = { .crawl = 1, .number = 1000,
	    .done = archived_read };
	struct secrets *s;
	bool is_done = false;

	(void)state;
	open_rig();
	use("{\"rate_limit\":0}", SECRETS);
	same_as_archived("/a");
	same_as_archived("/moved");
	same_as_archived("/gone");
	same_as_archived("/broken");
	same_as_archived("/echo?k={{secret.key}}");
	assert_int_equal(secrets_parse(STR("{}"), &s, NULL), OK);
	none.arg = &is_done;
	task_capture_start(fetcher, s, &none);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_false(none.found);
	task_capture_free(&none);
	secrets_drop(&s);
	close_rig();
}

static void
urls_of_one_page_are_one(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	(void)state;
	assert_true(str_eq(task_capture_url(STR("HTTP://shop.Example:80/a#b"),
	    &a), STR("http://shop.example/a")));
	assert_true(str_eq(task_capture_url(STR("no URL"), &a),
	    STR("no URL")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_captures_of_the_month),
		cmocka_unit_test(failures_have_a_code),
		cmocka_unit_test(secrets_leave_and_do_not_come_back),
		cmocka_unit_test(archived_answers_are_as_the_script_had_them),
		cmocka_unit_test(urls_of_one_page_are_one),
		cmocka_unit_test(another_policy_is_another_crawl),
		cmocka_unit_test(the_same_policy_is_the_same_crawl),
		cmocka_unit_test(a_restart_finds_the_crawl),
		cmocka_unit_test(a_stored_policy_is_used),
		cmocka_unit_test(a_fetch_can_be_stopped),
		cmocka_unit_test(a_far_turn_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
