/*
 * Calls over a whole engine: their crawl, their numbers in its archive, their
 * owner's checkpoint; after a crash, and after a rebuild.
 */
#include "engine/control/engine_testing.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "engine/archive/check.h"
#include "engine/catalog/catalog.h"
#include "engine/fetcher/call.h"
#include "engine/frontier/checkpoint.h"
#include "engine/rebuild/rebuild.h"

static struct rig rig;

static void
site(struct str path, struct rig_page *p)
{
	static atomic_uint asked;

	p->type = "application/json";
	p->delay_ms = str_eq(path, STR("/slow")) ? 300 : 0;
	buf_printf(&p->body, "{\"path\":\"%.*s\",\"n\":%u}", STR_FMT(path),
	    atomic_fetch_add(&asked, 1));
}

static void
done(struct call *c)
{
	*(bool *)c->arg = true;
}

static struct str
listed(void)
{
	return arena_printf(&rig.arena, "127.0.0.1:%u", rig.port);
}

/* One call from start to end; its number. */
static uint64_t
ask(uint32_t crawl, const char *path, enum call_archive archive,
    const char *checkpoint)
{
	bool is_done = false;
	struct str host = listed();
	struct call c = { .crawl = crawl, .home = rig.home,
	    .method = STR("GET"), .url = rig_url(&rig, path),
	    .archive = archive, .checkpoint = str_of(checkpoint),
	    .checkpoint_owner = STR("owner"), .private_hosts = &host,
	    .private_n = 1, .done = done, .arg = &is_done };

	engine_call(rig.engine, &c);
	RIG_UNTIL_DONE(&rig, is_done);
	if (c.end != CALL_ANSWERED)
		fail_msg("call of %s: %d %.*s", path, c.end, STR_FMT(c.text));
	assert_int_equal(c.status, 200);
	assert_true(str_find(buf_str(&c.content), str_of(path)) <
	    c.content.n);
	call_free_answer(&c);
	return c.number;
}

static uint32_t
begin_tasks(void)
{
	struct launch l = { .spec.kind = CRAWL_TASKS, .spec.name = STR("tasks"),
	    .spec.policy = STR("{\"rate_limit\":0}") };

	rig_say_launch(&rig, &l);
	if (l.why.err != OK)
		fail_msg("%s", l.why.text);
	return l.crawl;
}

/* --- what the catalog has ------------------------------------------------- */

static void
captured(struct capture_query *q)
{
	*(bool *)q->arg = true;
}

static void
is_capture(uint32_t crawl, uint64_t number, const char *path, int status)
{
	bool is_done = false;
	struct capture_query q = { .crawl = crawl, .number = number,
	    .body = true, .body_bytes_max = 1 << 20, .done = captured,
	    .arg = &is_done };

	catalog_capture(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, is_done);
	if (q.why.err != OK)
		fail_msg("capture %u: %s", (unsigned)number, q.why.text);
	assert_true(str_eq(q.entry.url, rig_url(&rig, path)));
	assert_int_equal(q.entry.status, status);
	if (status != 0)
		assert_true(str_find(q.body_bytes, str_of(path)) <
		    q.body_bytes.n);
	arena_free(&q.arena);
}

static enum crawl_state
state_of(uint32_t crawl)
{
	return crawl_row(engine_registry(rig.engine), crawl)->view.state;
}

struct checkpoint_query {
	struct ledger_query query;
	uint32_t crawl;
	struct arena arena;
	struct str bytes;
	enum err err;
	bool done;
};

static void
read_checkpoint(struct ledger_query *q, struct index *x)
{
	struct checkpoint_query *c = CONTAINER(q, struct checkpoint_query,
	    query);

	c->err = checkpoint_get(x, c->crawl, STR("owner"), &c->arena,
	    &c->bytes, NULL);
}

static void
checkpoint_read(struct ledger_query *q)
{
	CONTAINER(q, struct checkpoint_query, query)->done = true;
}

static void
is_checkpoint(uint32_t crawl, const char *text)
{
	struct checkpoint_query c = { .crawl = crawl };

	ledger_read(frontier_ledger(engine_frontier(rig.engine)), &c.query,
	    rig.home, read_checkpoint, checkpoint_read);
	RIG_UNTIL_DONE(&rig, c.done);
	assert_int_equal(c.err, OK);
	assert_true(str_eq(c.bytes, str_of(text)));
	arena_free(&c.arena);
}

static void
told(void *arg, const struct archive_finding *f)
{
	(void)arg;
	fail_msg("%s at %u: %s %s", f->path, (unsigned)f->offset,
	    archive_rule_text(f->rule), f->detail);
}

/* As `argiope archive check --strict` would. */
static void
check(uint64_t captures)
{
	const char *dir = arena_printf(&rig.arena, "%s/archive", rig.dir).p;
	struct archive_catalogue c;
	struct archive_check_options o = { .strict = true, .finding = told };
	struct archive_check_counts n;

	assert_int_equal(archive_list(&dir, 1, false, &rig.arena, &c, NULL),
	    OK);
	assert_int_equal(archive_check(&c, &o, &n, NULL), OK);
	assert_int_equal(n.captures, captures);
}

static void
rebuild(uint32_t crawls, uint64_t captures)
{
	struct rebuild_counts counts;
	struct why w = WHY_INIT;
	char root[PATH_MAX], archive[PATH_MAX + 16], data[PATH_MAX + 16];
	const char *dir = archive;

	assert_non_null(realpath(rig.dir, root));
	snprintf(archive, sizeof(archive), "%s/archive", root);
	snprintf(data, sizeof(data), "%s/again", root);
	assert_int_equal(mkdir(data, 0700), 0);
	struct rebuild_options o = { .conf = &rig.conf, .data_dir = data,
	    .dirs = &dir, .dirs_n = 1, .scratch = arena_printf(&rig.arena,
	    "%s/sort", rig.dir).p };
	if (rebuild_run(&o, &counts, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(counts.crawls, crawls);
	assert_int_equal(counts.captures, captures);
	assert_int_equal(counts.missing + counts.refused + counts.damaged, 0);
	size_t n = strlen(rig.dir);
	snprintf(rig.dir + n, sizeof(rig.dir) - n, "/again");
}

static void
calls_are_captures_of_their_crawl(void **state)
{
	char dir[sizeof(rig.dir)];

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = begin_tasks();
	assert_int_equal(ask(crawl, "/a", CALL_RESPONSE, ""), 1);
	assert_int_equal(ask(crawl, "/a", CALL_RESPONSE, "two"), 2);
	assert_int_equal(ask(crawl, "/token", CALL_UNARCHIVED, ""), 0);
	assert_int_equal(ask(crawl, "/limits", CALL_METADATA, ""), 3);
	is_capture(crawl, 2, "/a", 200);
	assert_int_equal(state_of(crawl), CRAWL_RUNNING);
	/* After a crash the crawl goes on with the next number. */
	rig_crash(&rig);
	rig_start(&rig);
	is_checkpoint(crawl, "two");
	assert_int_equal(state_of(crawl), CRAWL_RUNNING);
	is_capture(crawl, 1, "/a", 200);
	assert_int_equal(ask(crawl, "/b", CALL_RESPONSE, "four"), 4);
	assert_int_equal(ask(crawl, "/b", CALL_UNARCHIVED, "five"), 0);
	is_checkpoint(crawl, "five");
	rig_stop(&rig);
	check(4);
	memcpy(dir, rig.dir, sizeof(dir));
	rebuild(1, 4);
	rig_start(&rig);
	is_checkpoint(crawl, "five");
	assert_int_equal(state_of(crawl), CRAWL_RUNNING);
	is_capture(crawl, 2, "/a", 200);
	is_capture(crawl, 4, "/b", 200);
	assert_int_equal(ask(crawl, "/c", CALL_RESPONSE, ""), 5);
	rig_stop(&rig);
	memcpy(rig.dir, dir, sizeof(dir));
	rig_close(&rig);
}

/* --- the files of a harvest ----------------------------------------------- */

static void
file_ended(struct end_file_request *q)
{
	*(bool *)q->arg = true;
}

/* How many WARC files are finished in that directory. */
static size_t
end_file(uint32_t crawl, const char *dir)
{
	bool is_done = false;
	struct end_file_request q = { .crawl = crawl, .done = file_ended,
	    .arg = &is_done };
	struct archive_catalogue c;

	crawl_end_file(rig.engine, &q);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(q.why.err, OK);
	if (archive_list(&dir, 1, false, &rig.arena, &c, NULL) == ERR_ABSENT)
		return 0;
	for (size_t i = 0; i < c.n; i++)
		assert_true(str_starts(c.files[i].name, STR("feed_7-")));
	return c.n;
}

static void
a_harvest_s_file_ends_when_it_is_asked_to(void **state)
{
	struct crawl_order o;
	struct str tag = STR("feed_entries");

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	struct str dir = arena_printf(&rig.arena, "%s/harvest/feed_7",
	    rig.dir);
	struct launch l = { .spec.kind = CRAWL_HARVEST,
	    .spec.name = STR("feed-7"), .spec.policy =
	    STR("{\"rate_limit\":0}"), .spec.warc_dir = dir,
	    .spec.tags = &tag, .spec.tags_n = 1 };
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	assert_int_equal(end_file(l.crawl, dir.p), 0);
	ask(l.crawl, "/a", CALL_RESPONSE, "");
	ask(l.crawl, "/b", CALL_RESPONSE, "");
	assert_int_equal(end_file(l.crawl, dir.p), 1);
	assert_int_equal(end_file(l.crawl, dir.p), 1);
	ask(l.crawl, "/c", CALL_RESPONSE, "");
	rig_steer(&rig, l.crawl, CRAWL_COMPLETE, &o);
	assert_int_equal(end_file(l.crawl, dir.p), 2);
	is_capture(l.crawl, 3, "/c", 200);
	rig_close(&rig);
}

/* Paused it holds its calls; cancelled it stops them. */
static void
an_order_holds_for_calls(void **state)
{
	struct crawl_order o;
	struct str host;
	bool is_done = false;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	host = listed();
	uint32_t crawl = begin_tasks();
	struct call c = { .crawl = crawl, .home = rig.home,
	    .method = STR("GET"), .url = rig_url(&rig, "/slow"),
	    .archive = CALL_RESPONSE, .private_hosts = &host, .private_n = 1,
	    .done = done, .arg = &is_done };
	rig_steer(&rig, crawl, CRAWL_PAUSED, &o);
	engine_call(rig.engine, &c);
	ask(begin_tasks(), "/other", CALL_UNARCHIVED, "");
	assert_int_equal(rig_requests(&rig, "/slow"), 0);
	rig_steer(&rig, crawl, CRAWL_CANCELLED, &o);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(c.end, CALL_STOPPED);
	assert_int_equal(rig_requests(&rig, "/slow"), 0);
	call_free_answer(&c);
	rig_close(&rig);
}

/* --- maxAge --------------------------------------------------------------- */

/* Where the answer is from: a crawl and number; none when it was asked for. */
struct served {
	bool from_archive;
	uint32_t crawl;
	uint64_t number;
};

static struct served
get(uint32_t crawl, int64_t max_age_s, bool with_cookie, const char *content)
{
	static const struct transport_header cookie = { STR("Cookie"),
	    STR("id=1") };
	bool is_done = false;
	struct str host = listed();
	struct call c = { .crawl = crawl, .home = rig.home,
	    .method = STR("GET"), .url = rig_url(&rig, "/page"),
	    .max_age_s = max_age_s, .private_hosts = &host, .private_n = 1,
	    .headers = &cookie, .headers_n = with_cookie, .done = done,
	    .arg = &is_done };

	engine_call(rig.engine, &c);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(c.end, CALL_ANSWERED);
	assert_int_equal(c.status, 200);
	assert_true(str_eq(http_find(&c.head, STR("Content-Type")),
	    STR("application/json")));
	assert_true(str_eq(c.final_url, c.url));
	if (content != NULL)
		assert_true(str_eq(buf_str(&c.content), str_of(content)));
	call_free_answer(&c);
	return (struct served){ c.from_archive, c.number_crawl, c.number };
}

/* The host is not in the call's list of private ones. */
static void
is_refused(uint32_t crawl)
{
	bool is_done = false;
	struct call c = { .crawl = crawl, .home = rig.home,
	    .method = STR("GET"), .url = rig_url(&rig, "/page"),
	    .max_age_s = 3600, .done = done, .arg = &is_done };

	engine_call(rig.engine, &c);
	RIG_UNTIL_DONE(&rig, is_done);
	assert_int_equal(c.end, CALL_REFUSED);
	assert_int_equal(c.skip, SKIP_BLOCKED);
	assert_int_equal(c.content.n, 0);
	call_free_answer(&c);
}

static void
numbered_page(struct str path, struct rig_page *p)
{
	static atomic_uint asked;

	(void)path;
	p->type = "application/json";
	buf_printf(&p->body, "%u", atomic_fetch_add(&asked, 1));
}

static void
an_archived_answer_serves_later_calls(void **state)
{
	struct timespec wait = { 1, 200000000 };
	struct served s;

	(void)state;
	rig_open(&rig, numbered_page, NULL);
	rig_start(&rig);
	uint32_t first = begin_tasks(), second = begin_tasks();
	/* Nothing is there yet; credentials make an answer one's own. */
	s = get(first, 3600, true, "0");
	assert_false(s.from_archive);
	s = get(first, 3600, false, "1");
	assert_false(s.from_archive);
	assert_int_equal(s.number, 2);
	s = get(second, 3600, false, "1");
	assert_true(s.from_archive);
	assert_int_equal(s.crawl, first);
	assert_int_equal(s.number, 2);
	rig_stop(&rig);
	rig_start(&rig);
	s = get(second, 3600, false, "1");
	assert_true(s.from_archive);
	/* A call that may not reach the host does not get its answer. */
	is_refused(second);
	s = get(second, 3600, true, "2");
	assert_false(s.from_archive);
	assert_int_equal(rig_requests(&rig, "/page"), 3);
	/* Too old, then there is a newer one. */
	nanosleep(&wait, NULL);
	s = get(second, 1, false, "3");
	assert_false(s.from_archive);
	s = get(first, INT64_MAX, false, "3");
	assert_true(s.from_archive);
	assert_int_equal(s.crawl, second);
	s = get(first, 0, false, "4");
	assert_false(s.from_archive);
	assert_int_equal(rig_requests(&rig, "/page"), 5);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_captures_of_their_crawl),
		cmocka_unit_test(a_harvest_s_file_ends_when_it_is_asked_to),
		cmocka_unit_test(an_order_holds_for_calls),
		cmocka_unit_test(an_archived_answer_serves_later_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
