/*
 * Web harvests over a whole engine and a web on loopback: seeds, redirects,
 * links, failures, the collection, and what pauses, stops and crashes leave.
 */
#include "engine/harvest/harvest.h"

#include <limits.h>

#include "engine/archive/check.h"
#include "engine/control/engine_testing.h"
#include "engine/harvest/web_plan.h"
#include "os/file.h"
#include "tests/rounds.h"
#include "tests/suite.h"

#define PAGES 12u

static struct rig rig;
static struct harvests *harvests;
static struct arena arena;
static const char *policy;           /* the default one */
static struct harvest_view last;     /* at the end */
static bool ended;
static struct str id;                /* of the harvest */

/* --- the web --------------------------------------------------------- */

static void
site(struct str path, struct rig_page *p)
{
	if (str_eq(path, STR("/robots.txt"))) {
		p->status = 200;
		buf_put_text(&p->body, "User-agent: *\nDisallow: /private\n");
	} else if (str_eq(path, STR("/away"))) {
		p->status = 302;
		buf_printf(&p->head, "Location: http://n.example/there\r\n");
	} else if (str_eq(path, STR("/linked"))) {
		buf_put_text(&p->body, "<a href=/one>1</a><a href="
		    "http://n.example/two>2</a><img src="
		    "http://n.example/image>");
	} else if (str_eq(path, STR("/cached"))) {
		buf_put_text(&p->head, "ETag: \"1\"\r\n");
		buf_put_text(&p->body, "kept");
	} else if (str_eq(path, STR("/missing"))) {
		p->status = 404;
	} else {
		buf_printf(&p->body, "page %.*s", STR_FMT(path));
	}
}

/* --- lives ----------------------------------------------------------- */

static void
on_ended(void *arg, const struct harvest_view *v)
{
	(void)arg;
	last = *v;
	ended = true;
}

static void
open_harvests(struct rig *r)
{
	struct harvests_options o = { .engine = r->engine, .home = r->home,
	    .conf = &r->conf, .ended = on_ended };
	char *real = realpath(r->dir, NULL);
	struct store_harvest *list;
	struct why w = WHY_INIT;
	size_t n;

	o.data_dir = arena_copy(&arena, str_of(real)).p;
	free(real);
	assert_int_equal(harvests_open(&o, &harvests, &w), OK);
	assert_int_equal(harvests_unfinished(harvests, &arena, &list, &n, &w),
	    OK);
	assert_true(n <= 1);
	id = n == 0 ? STR_NONE : list[0].id;
	if (n > 0 && harvest_continue(harvests, id, &w) != OK)
		fail_msg("%s", w.text);
}

static void
free_harvests(struct rig *r)
{
	(void)r;
	harvests_free(&harvests);
}

static void
stored(struct store_request *q)
{
	*(bool *)q->arg = true;
}

/* Without it a host is asked once in five seconds. */
static void
start_rig(void)
{
	bool done = false;
	struct store_request q = { .verb = STORE_POLICY_PUT,
	    .name = STR("default"), .json = str_of(policy),
	    .done = stored, .arg = &done };

	rig_start(&rig);
	engine_store(rig.engine, &q);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(q.why.err, OK);
	arena_free(&q.arena);
}

static void
open_rig(const char *setting)
{
	const char *set[] = { setting, NULL };
	struct why w = WHY_INIT;

	arena = ARENA_INIT;
	rig_open(&rig, site, setting == NULL ? NULL : set);
	rig.opened = open_harvests;
	rig.freed = free_harvests;
	assert_int_equal(conf_flag(&rig.conf, arena_printf(&arena,
	    "fetch.resolve=m.example:80:127.0.0.1:%u,n.example:80:127.0.0.1:"
	    "%u", rig.port, rig.port), &w), OK);
	policy = "{\"rate_limit\":0}";
	start_rig();
}

/*
 * A page at a time.  Without a delay all that waited for robots.txt have begun,
 * and end also when the crawl is paused.
 */
static void
open_slow_rig(void)
{
	open_rig(NULL);
	rig_stop(&rig);
	policy = "{\"rate_limit\":0.02}";
	start_rig();
}

static void
close_rig(void)
{
	rig_close(&rig);
	arena_free(&arena);
}

static const char *
place(const char *name)
{
	char here[PATH_MAX];

	assert_non_null(realpath(rig.dir, here));
	return arena_printf(&arena, "%s/%s", here, name).p;
}

static void
answered(struct harvest_request *q)
{
	*(bool *)q->arg = true;
}

/* `seeds` are JSON objects, `rest` more members. */
static void
begin(const char *to, const char *seeds, const char *rest)
{
	bool done = false;
	struct harvest_request q = { .message = arena_printf(&arena,
	    "{\"type\":\"web\",\"seeds\":[%s]%s}", seeds, rest),
	    .path = str_of(place(to)), .done = answered, .arg = &done };

	ended = false;
	harvest_begin(harvests, &q);
	RIG_UNTIL_DONE(&rig, done);
	if (q.why.err != OK)
		fail_msg("%s", q.why.text);
	id = q.given_id;
}

static const char *
pages(unsigned n)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (unsigned i = 0; i < n; i++)
		buf_printf(&b, "%s{\"token\":\"http://m.example/%u\"}",
		    i == 0 ? "" : ",", i);
	return arena_copy(&arena, buf_str(&b)).p;
}

static void
ends_as(enum store_harvest_state s)
{
	RIG_UNTIL_DONE(&rig, ended);
	if (last.state != s)
		fail_msg("%s", store_harvest_state_name(last.state));
}

static bool
has_answers(struct rig *r, void *arg)
{
	struct harvest_view v;

	(void)r;
	return ended || (harvest_look(harvests, id, &v) &&
	    v.answers >= *(uint64_t *)arg);
}

/* --- what is there afterwards ---------------------------------------- */

static void
told(void *arg, const struct archive_finding *f)
{
	(void)arg;
	fail_msg("%s at %u: %s %s", f->path, (unsigned)f->offset,
	    archive_rule_text(f->rule), f->detail);
}

static uint64_t
captures_in(const char *to)
{
	const char *dir = place(to);
	struct archive_catalogue c;
	struct archive_check_options o = { .strict = true, .finding = told };
	struct archive_check_counts n;

	assert_int_equal(archive_list(&dir, 1, false, &arena, &c, NULL), OK);
	assert_int_equal(archive_check(&c, &o, &n, NULL), OK);
	return n.captures;
}

static void
has_captures(const char *to, uint64_t captures)
{
	assert_int_equal(captures_in(to), captures);
}

/* The text of the first note of that code that has these words; or NULL. */
static const char *
note(const char *code, const char *words)
{
	struct harvest_note n;
	size_t at = 0;

	while (harvest_next_note(harvests, id, &at, &n)) {
		const char *text = arena_copy(&arena, n.text).p;
		if (str_eq(n.code, str_of(code)) &&
		    strstr(text, words) != NULL)
			return text;
	}
	return NULL;
}

static size_t
notes(void)
{
	struct harvest_note n;
	size_t at = 0;

	while (harvest_next_note(harvests, id, &at, &n))
		continue;
	return at;
}

/* --- tests ----------------------------------------------------------- */

static void
seeds_and_what_fails(void **state)
{
	(void)state;
	open_rig(NULL);
	begin("to", "{\"id\":\"s1\",\"token\":\"http://m.example/a\"},"
	    "{\"token\":\"http://m.example/a#again\"},"
	    "{\"token\":\"http://m.example/linked\"},"
	    "{\"token\":\"http://m.example/away\"},"
	    "{\"token\":\"http://m.example/missing\"},"
	    "{\"token\":\"http://m.example/private/1\"},"
	    "{\"token\":\"http://m.example/private/2\"},"
	    "{\"token\":\"ftp://m.example/\"},{\"token\":\"no URL\\u0001\"},"
	    "{\"token\":\"http://u:p@m.example/\"}", "");
	assert_true(str_eq(id, STR("web-1")));
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_string_equal(last.label, "web resources");
	assert_int_equal(last.items, 4);
	assert_int_equal(last.warcs, 1);
	has_captures("to", 4);
	/* Links are not followed, and their number is no failure. */
	assert_int_equal(notes(), 4);
	assert_non_null(note("web_failures", "2 URLs were not fetched, robots"
	    ));
	assert_non_null(note("web_failures", "m.example/private/1"));
	assert_non_null(note("web_failures", "1 URL was not fetched, status "
	    "404"));
	assert_non_null(note("web_failures", "2 URLs were not fetched, they "
	    "are no URLs of http or https: ftp://m.example/ no URL"));
	assert_non_null(note("web_failures", "password"));
	assert_int_equal(rig_requests(&rig, "/one"), 0);
	assert_int_equal(rig_requests(&rig, "/there"), 1);
	close_rig();
}

static void
links_and_parts(void **state)
{
	(void)state;
	open_rig(NULL);
	begin("to", "{\"token\":\"http://m.example/linked\"}",
	    ",\"options\":{\"embeds\":true}");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 2);
	assert_int_equal(rig_requests(&rig, "/image"), 1);
	assert_int_equal(rig_requests(&rig, "/one"), 0);
	begin("more", "{\"token\":\"http://m.example/linked\"},"
	    "{\"token\":\"http://m.example/away\"}",
	    ",\"options\":{\"max_hops\":1,\"robots\":\"ignore\"}");
	ends_as(STORE_HARVEST_SUCCEEDED);
	/* A seed's redirect leads to another host, a link does not. */
	assert_int_equal(last.items, 3);
	assert_int_equal(rig_requests(&rig, "/one"), 1);
	assert_int_equal(rig_requests(&rig, "/two"), 0);
	assert_int_equal(rig_requests(&rig, "/there"), 1);
	close_rig();
}

static void
limits(void **state)
{
	(void)state;
	open_rig(NULL);
	begin("to", pages(PAGES), ",\"options\":{\"limit\":3}");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 3);
	assert_non_null(note("limit_reached", "max_items"));
	assert_null(note("harvest_stopped", ""));
	close_rig();
}

static void
nothing_to_fetch(void **state)
{
	(void)state;
	open_rig(NULL);
	begin("to", "{\"token\":\"mailto:a@m.example\"}", "");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 0);
	assert_int_equal(last.warcs, 0);
	assert_non_null(note("web_failures", "mailto:"));
	close_rig();
}

/* The same in the same collection is a revisit, wherever it is written. */
static void
collections(void **state)
{
	static const char seeds[] = "{\"token\":\"http://m.example/a\"},"
	    "{\"token\":\"http://m.example/cached\"}";

	(void)state;
	open_rig(NULL);
	begin("one", seeds, ",\"collection\":{\"id\":\"c1\"}");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 2);
	assert_null(note("web_revisits", ""));
	begin("two", seeds, ",\"collection\":{\"id\":\"c2\"}");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 2);
	rig_stop(&rig);
	start_rig();
	begin("three", seeds, ",\"collection\":{\"id\":\"c1\"}");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 0);
	assert_int_equal(last.answers, 2);
	assert_non_null(note("web_revisits", "2 of the answers"));
	/* Without a collection, that of its path. */
	begin("four", seeds, "");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 2);
	begin("four", seeds, "");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 0);
	has_captures("four", 4);
	close_rig();
}

/* In the middle, when nothing is counted: tests/peers has the other moments. */
static void
killed_after_any_answer(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < PAGES; n += PAGES / ROUNDS(6u)) {
		open_slow_rig();
		begin("to", pages(PAGES * 8), "");
		rig_until(&rig, has_answers, &n);
		rig_crash(&rig);
		start_rig();
		harvest_resume(harvests, id);
		ends_as(STORE_HARVEST_SUCCEEDED);
		assert_int_equal(last.items, PAGES * 8);
		assert_int_equal(last.answers, PAGES * 8);
		assert_non_null(note("harvest_resumed", ""));
		has_captures("to", PAGES * 8);
		close_rig();
	}
}

static void
paused_and_resumed(void **state)
{
	uint64_t n = 3;

	(void)state;
	open_slow_rig();
	begin("to", pages(PAGES * 8), "");
	rig_until(&rig, has_answers, &n);
	harvest_pause(harvests, id);
	ends_as(STORE_HARVEST_PAUSED);
	/* Pages that had begun may come behind the file. */
	assert_in_range(last.answers, 3, PAGES * 8 - 1);
	assert_in_range(captures_in("to"), 3, last.answers);
	rig_stop(&rig);
	ended = false;
	start_rig();
	harvest_resume(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, PAGES * 8);
	assert_in_range(last.warcs, 2, 3);
	has_captures("to", PAGES * 8);
	close_rig();
}

static void
stopped(void **state)
{
	uint64_t n = 3;

	(void)state;
	open_slow_rig();
	begin("to", pages(PAGES * 8), "");
	rig_until(&rig, has_answers, &n);
	harvest_stop(harvests, id);
	harvest_pause(harvests, id);
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_non_null(note("harvest_stopped", ""));
	assert_in_range(last.answers, 3, PAGES * 8 - 1);
	assert_int_equal(last.items, last.answers);
	has_captures("to", last.answers);
	close_rig();
}

static void
files_roll_over(void **state)
{
	(void)state;
	open_rig("warc.rollover_bytes=64KiB");
	begin("to", pages(400), "");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 400);
	assert_true(last.warcs > 2);
	has_captures("to", 400);
	close_rig();
}

/* Seeds that lead into private networks: nothing is asked or written. */
static void
suite_of_forged_requests(void **state)
{
	FREED(buf_free) struct buf file = BUF_INIT, seeds = BUF_INIT;
	struct str rest, line, verdict, url;
	size_t n = 0;

	(void)state;
	if (file_load(suite_path("own/ssrf-urls.tsv"), 1 << 20, &file, NULL)
	    != OK) {
		print_message("suites: own/ssrf-urls.tsv is absent\n");
		skip();
	}
	rest = buf_str(&file);
	while (str_split(&rest, '\n', &line)) {
		/* Names that must be looked up are not for this test. */
		if (line.n == 0 || line.p[0] == '#' ||
		    !str_split(&line, '\t', &verdict) ||
		    !str_split(&line, '\t', &url) ||
		    !str_eq(verdict, STR("deny")) ||
		    str_find(url, STR(".test/")) < url.n)
			continue;
		buf_put_text(&seeds, n++ > 0 ? ",{\"token\":\"" :
		    "{\"token\":\"");
		for (size_t i = 0; i < url.n; i++)
			buf_printf(&seeds, strchr("\\\"", url.p[i]) != NULL ?
			    "\\%c" : "%c", url.p[i]);
		buf_put_text(&seeds, "\"}");
	}
	assert_int_equal(n, 59);
	open_rig("fetch.allow_private=false");
	begin("to", buf_text(&seeds), "");
	ends_as(STORE_HARVEST_SUCCEEDED);
	assert_int_equal(last.items, 0);
	assert_int_equal(last.answers, 0);
	assert_int_equal(last.warcs, 0);
	assert_int_equal(rig_requests(&rig, NULL), 0);
	assert_non_null(note("web_failures", "blocked"));
	close_rig();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_and_what_fails),
		cmocka_unit_test(links_and_parts),
		cmocka_unit_test(limits),
		cmocka_unit_test(nothing_to_fetch),
		cmocka_unit_test(collections),
		cmocka_unit_test(paused_and_resumed),
		cmocka_unit_test(stopped),
		cmocka_unit_test(files_roll_over),
		cmocka_unit_test(suite_of_forged_requests),
		cmocka_unit_test(killed_after_any_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
