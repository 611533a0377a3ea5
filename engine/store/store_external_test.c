/* Tasks of the external door, their logs and cursors, in both databases. */
#include "engine/store/store_external_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"

/* --- tasks --------------------------------------------------------------- */

static void
a_fid_is_one_task(void **state)
{
	struct store_task t = put_task("acme", "t1"), again, out;
	bool made;

	(void)state;
	assert_int_equal(t.id, 1);
	assert_int_equal(t.attempt, 1);
	assert_int_equal(t.state, STORE_TASK_ACCEPTED);
	assert_int_equal(t.version, 4);
	assert_text(t.params, "{\"a\":\"\xc3\xa4\"}");
	assert_text(t.endpoint, "https://be.example.org/t/1?sig=s");
	assert_true(t.created.us == t0.us && t.closed.us == 0);
	again = sample_task("acme", "t1");
	again.params = STR("{}");
	assert_int_equal(store_task_put(store, &again, OPEN_MAX, at_second(9),
	    &arena, &out, &made, NULL), OK);
	assert_false(made);
	assert_int_equal(out.id, t.id);
	assert_text(out.params, "{\"a\":\"\xc3\xa4\"}");
	assert_true(out.updated.us == t0.us);
	/* The same fid of another back end is another task. */
	assert_int_equal(store_task_find(store, STR(""), STR("t1"), &arena,
	    &out, NULL), OK);
	uint64_t other = put_task("beta", "t1").id;
	assert_int_not_equal(other, t.id);
	assert_int_equal(store_task_find(store, STR("beta"), STR("t1"),
	    &arena, &out, NULL), OK);
	assert_int_equal(out.id, other);
	assert_int_equal(store_task_find(store, STR(""), STR("t1"), &arena,
	    &out, NULL), ERR_STATE);
	assert_int_equal(store_task_find(store, STR("acme"), STR("T1"),
	    &arena, &out, NULL), ERR_ABSENT);
	assert_int_equal(store_task_get(store, 99, &arena, &out, NULL),
	    ERR_ABSENT);
	assert_int_equal(store_task_get(store, UINT64_MAX, &arena, &out,
	    NULL), ERR_ABSENT);
}

static void
open_tasks_are_limited(void **state)
{
	struct store_task t = sample_task("acme", "t4"), out;
	struct why w = WHY_INIT;
	size_t n;
	bool made;

	(void)state;
	put_task("acme", "t1");
	put_task("acme", "t2");
	put_task("beta", "t3");
	assert_int_equal(store_task_count(store, STR("feed"), &n, NULL), OK);
	assert_int_equal(n, OPEN_MAX);
	expect_refused(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out,
	    &made, &w), ERR_FULL, "tasks_max", &w);
	/* A repeated fid is no new task, and another connector has its own. */
	t = sample_task("acme", "t1");
	assert_int_equal(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out,
	    &made, NULL), OK);
	assert_false(made);
	t = sample_task("acme", "t5");
	t.connector = STR("other");
	assert_int_equal(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out,
	    &made, NULL), OK);
	close_task(1, STORE_TASK_DONE, false, false, t0);
	put_task("acme", "t4");
	/* So is a new attempt. */
	t = sample_task("acme", "t1");
	expect_refused(store_task_retry(store, 1, &t, true, OPEN_MAX, t0, &w),
	    ERR_FULL, "tasks_max", &w);
	assert_int_equal(store_task_retry(store, 1, &t, true, OPEN_MAX + 1,
	    t0, NULL), OK);
}

static void
statuses_and_closing(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_task_status s = { STORE_TASK_RUNNING, 102,
	    STR("120 documents"), STR("line\nline") };
	struct store_task_end end = { .status = { STORE_TASK_TIMEOUT, 408,
	    STR("Task is timeout"), STR("") }, .drop_spool = true };
	struct store_document d[] = { { .json = STR("{}") } };
	struct why w = WHY_INIT;
	bool changed;

	(void)state;
	assert_int_equal(store_task_set_status(store, id, &s, at_second(1),
	    NULL), OK);
	struct store_task t = get_task(id);
	assert_int_equal(t.state, STORE_TASK_RUNNING);
	assert_int_equal(t.code, 102);
	assert_text(t.message, "120 documents");
	assert_text(t.detail, "line\nline");
	assert_true(t.updated.us == at_second(1).us);
	/* Neither verb does what the other is for. */
	s.state = STORE_TASK_DONE;
	expect_refused(store_task_set_status(store, id, &s, t0, &w), ERR_INPUT,
	    "state", &w);
	end.status.state = STORE_TASK_DRAINING;
	expect_refused(store_task_close(store, id, &end, t0, &changed, &w),
	    ERR_INPUT, "state", &w);
	emit_documents(id, 1, d, 1, "1");
	end.status.state = STORE_TASK_TIMEOUT;
	expect_ok(store_task_close(store, id, &end, at_second(2), &changed, &w),
	    &w);
	assert_true(changed);
	t = get_task(id);
	assert_int_equal(t.dropped, 1);
	assert_int_equal(t.spool_bytes, 0);
	assert_true(t.closed.us == at_second(2).us);
	/* Again: it stays. */
	end.status.code = 200;
	expect_ok(store_task_close(store, id, &end, at_second(3), &changed, &w),
	    &w);
	assert_false(changed);
	assert_int_equal(get_task(id).code, 408);
	/* A closed one does nothing more. */
	struct store_emit m = { .first = 2 };
	struct store_ack k = { .first = 1, .last = 1 };
	s.state = STORE_TASK_RUNNING;
	assert_int_equal(store_task_set_status(store, id, &s, t0, NULL),
	    ERR_STATE);
	assert_int_equal(store_spool_emit(store, id, &m, t0, NULL),
	    ERR_STATE);
	assert_int_equal(store_spool_ack(store, id, &k, t0, NULL), ERR_STATE);
	assert_int_equal(store_task_set_delivery(store, id, STR("x"), t0,
	    NULL), ERR_STATE);
	assert_int_equal(store_task_set_endpoint(store, id, STR("x"), t0,
	    NULL), ERR_STATE);
	assert_int_equal(store_task_close(store, 99, &end, t0, &changed,
	    NULL), ERR_ABSENT);
}

static void
retries(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_task t = sample_task("acme", "t1");
	struct store_document d[] = { { .json = STR("{\"n\":1}") },
	    { .json = STR("{}"), .message = STR("no id") } };
	struct why w = WHY_INIT;

	(void)state;
	t.params = STR("{\"b\":2}");
	t.version = 5;
	assert_int_equal(store_task_retry(store, id, &t, true, OPEN_MAX, t0,
	    NULL), ERR_STATE);
	emit_documents(id, 1, d, 2, "{\"at\":2}");
	close_task(id, STORE_TASK_FAILED, false, false, t0);
	expect_ok(store_task_retry(store, id, &t, true, OPEN_MAX, at_second(5),
	    &w), &w);
	struct store_task r = get_task(id);
	assert_int_equal(r.attempt, 2);
	assert_int_equal(r.state, STORE_TASK_ACCEPTED);
	assert_int_equal(r.code, 0);
	assert_text(r.message, "");
	assert_text(r.params, "{\"b\":2}");
	assert_int_equal(r.version, 5);
	assert_int_equal(r.closed.us, 0);
	assert_text(r.cursor, "{\"at\":2}");
	assert_int_equal(r.checkpoint.n, 2);
	/* The rest of the spool is delivered; numbers and counts continue. */
	assert_int_equal(r.spooled, 1);
	assert_int_equal(r.rejected, 1);
	assert_int_equal(r.rejected_before, 1);
	assert_int_equal(r.emitted, 2);
	ack_documents(id, 1, 1, NULL, 0);
	assert_int_equal(get_task(id).uploaded, 1);
	/* reset, or other parameters: from the beginning. */
	close_task(id, STORE_TASK_FAILED, false, false, t0);
	t.reset = true;
	expect_ok(store_task_retry(store, id, &t, true, OPEN_MAX, t0, &w), &w);
	r = get_task(id);
	assert_true(r.reset);
	assert_int_equal(r.attempt, 3);
	assert_int_equal(r.cursor.n + r.checkpoint.n, 0);
	emit_documents(id, 3, d, 0, "3");
	assert_text(get_task(id).cursor, "3");
	expect_ok(store_task_reset_cursor(store, id, t0, &w), &w);
	assert_text(get_task(id).cursor, "");
}

static void
undelivered_tasks(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[] = { { .json = STR("{\"n\":1}") } }, *got;

	(void)state;
	emit_documents(id, 1, d, 1, "1");
	assert_int_equal(store_task_redeliver(store, id, t0, NULL),
	    ERR_STATE);
	close_task(id, STORE_TASK_UNDELIVERED, false, false, t0);
	assert_int_equal(read_spool(id, 1, 10, 100, &got), 1);
	assert_int_equal(store_task_redeliver(store, id, at_second(1), NULL),
	    OK);
	assert_int_equal(get_task(id).state, STORE_TASK_DRAINING);
	assert_int_equal(get_task(id).attempt, 1);
	ack_documents(id, 1, 1, NULL, 0);
	close_task(id, STORE_TASK_DONE, false, false, t0);
	assert_int_equal(store_task_redeliver(store, id, t0, NULL),
	    ERR_STATE);
	assert_int_equal(store_task_redeliver(store, 99, t0, NULL),
	    ERR_ABSENT);
}

static size_t
list_tasks(struct store_task_filter f, struct store_task **list)
{
	struct why w = WHY_INIT;
	size_t n;

	expect_ok(store_task_list(store, &f, &arena, list, &n, &w), &w);
	return n;
}

static void
lists(void **state)
{
	struct store_task *list;

	(void)state;
	put_task("acme", "t1");
	put_task("beta", "t2");
	put_task("acme", "t3");
	close_task(1, STORE_TASK_GONE, true, false, t0);
	assert_int_equal(list_tasks((struct store_task_filter){ .most = 0 },
	    &list), 3);
	assert_text(list[2].fid, "t3");
	assert_int_equal(list[0].state, STORE_TASK_GONE);
	assert_int_equal(list_tasks((struct store_task_filter){ .open = true,
	    .mine = true }, &list), 2);
	assert_text(list[0].fid, "t2");
	assert_int_equal(list_tasks((struct store_task_filter){ .open = true,
	    .after = 2 }, &list), 1);
	assert_text(list[0].fid, "t3");
	assert_int_equal(list_tasks((struct store_task_filter){
	    .backend = STR("acme") }, &list), 2);
	assert_int_equal(list_tasks((struct store_task_filter){
	    .newest = true, .most = 2 }, &list), 2);
	assert_text(list[0].fid, "t3");
	assert_text(list[1].fid, "t2");
	assert_int_equal(list_tasks((struct store_task_filter){
	    .newest = true, .before = 2 }, &list), 1);
	assert_text(list[0].fid, "t1");
	assert_int_equal(list_tasks((struct store_task_filter){
	    .newest = true, .open = true, .before = 3 }, &list), 1);
	assert_text(list[0].fid, "t2");
	assert_int_equal(list_tasks((struct store_task_filter){
	    .connector = STR("none") }, &list), 0);
	assert_int_equal(list_tasks((struct store_task_filter){ .most = 2 },
	    &list), 2);
	assert_int_equal(list_tasks((struct store_task_filter){
	    .after = UINT64_MAX }, &list), 0);
}

static void
old_tasks_are_forgotten(void **state)
{
	struct store_document d[] = { { .json = STR("{}") },
	    { .json = STR("{}"), .message = STR("m") } }, *got;
	struct store_log_line line = { .level = STR("info") }, *lines;
	struct why w = WHY_INIT;
	char fid[16];
	size_t n;

	(void)state;
	for (unsigned i = 0; i <= STORE_FORGET_MAX; i++) {
		snprintf(fid, sizeof(fid), "t%u", i);
		uint64_t id = put_task("acme", fid).id;
		emit_documents(id, 1, d, 2, "1");
		expect_ok(store_log_add(store, id, &line, 1, &w), &w);
		close_task(id, STORE_TASK_UNDELIVERED, false, false,
		    at_second(1));
	}
	put_task("acme", "open");
	/* Not at the moment itself, and not more than so many at once. */
	expect_ok(store_task_forget(store, at_second(1), &n, &w), &w);
	assert_int_equal(n, 0);
	assert_int_equal(read_totals().documents, STORE_FORGET_MAX + 1);
	expect_ok(store_task_forget(store, at_second(2), &n, &w), &w);
	assert_int_equal(n, STORE_FORGET_MAX);
	assert_int_equal(read_totals().documents, 1);
	assert_int_equal(read_spool(1, 1, 10, 100, &got), 0);
	assert_int_equal(list_rejected(1, &got), 0);
	expect_ok(store_log_list(store, 1, 0, &arena, &lines, &n, &w), &w);
	assert_int_equal(n, 0);
	expect_ok(store_task_forget(store, at_second(2), &n, &w), &w);
	assert_int_equal(n, 1);
	expect_ok(store_task_forget(store, at_second(2), &n, &w), &w);
	assert_int_equal(n, 0);
	/* Ids are not used again. */
	assert_int_equal(put_task("acme", "t0").id, STORE_FORGET_MAX + 3);
}

static bool
lists_cursor(const char *connector, const char *wanted, size_t wanted_n)
{
	struct why w = WHY_INIT;
	struct str *list;
	bool found = false;
	size_t n;

	expect_ok(store_cursor_list(store, str_of(connector), &arena, &list, &n,
	    &w), &w);
	assert_int_equal(n, wanted_n);
	for (size_t i = 0; i < n; i++)
		found |= str_eq(list[i], str_of(wanted));
	return found;
}

static void
cursors_that_tasks_may_go_on_from(void **state)
{
	struct store_crawler c = { STR("acme"), STR("feed"), STR("c1") };
	struct store_document d = { .json = STR("{}") };
	struct why w = WHY_INIT;
	bool exists;
	size_t n;

	(void)state;
	expect_ok(store_task_exists(store, 1, &exists, &w), &w);
	assert_false(exists);
	/* A crawler without a task. */
	expect_ok(store_cursor_put(store, &c, STR("7"), t0, &w), &w);
	assert_false(lists_cursor("feed", "7", 0));
	uint64_t first = put_task("acme", "t1").id;
	assert_true(lists_cursor("feed", "7", 1));
	assert_false(lists_cursor("other", "7", 0));
	emit_documents(first, 1, &d, 1, "8");
	assert_true(lists_cursor("feed", "8", 2));
	assert_true(lists_cursor("feed", "7", 2));
	/* The crawler of the same name at another back end has none. */
	put_task("beta", "t1");
	assert_true(lists_cursor("feed", "7", 2));
	/* A closed task may be tried again. */
	close_task(first, STORE_TASK_UNDELIVERED, false, false, at_second(1));
	assert_true(lists_cursor("feed", "8", 2));
	expect_ok(store_task_exists(store, first, &exists, &w), &w);
	assert_true(exists);
	expect_ok(store_task_forget(store, at_second(2), &n, &w), &w);
	assert_int_equal(n, 1);
	expect_ok(store_task_exists(store, first, &exists, &w), &w);
	assert_false(exists);
	assert_false(lists_cursor("feed", "7", 0));
}

static void
limits_of_tasks(void **state)
{
	struct store_task t, out;
	struct why w = WHY_INIT;
	bool made;

	(void)state;
#define REFUSED(member, value, error, name)                                  \
	t = sample_task("acme", "t1");                                       \
	t.member = value;                                                    \
	expect_refused(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, \
	    &made, &w), error, name, &w)
	REFUSED(backend, STR(""), ERR_INPUT, "backend");
	REFUSED(connector, STR("a\nb"), ERR_INPUT, "connector");
	REFUSED(fid, STR(""), ERR_INPUT, "fid");
	REFUSED(fid, x_text(STORE_FID_BYTES_MAX + 1), ERR_FULL, "fid");
	REFUSED(crawler, x_text(STORE_NAME_BYTES_MAX + 1), ERR_FULL,
	    "crawler");
	REFUSED(endpoint, x_text(STORE_ENDPOINT_BYTES_MAX + 1), ERR_FULL,
	    "endpoint");
	REFUSED(params, STR(""), ERR_INPUT, "params");
	REFUSED(params, x_text(STORE_JSON_BYTES_MAX + 1), ERR_FULL,
	    "params");
	REFUSED(params, STR("\xff"), ERR_INPUT, "params");
	REFUSED(version, UINT64_MAX, ERR_INPUT, "version");
#undef REFUSED
	t = sample_task("acme", "t1");
	t.fid = x_text(STORE_FID_BYTES_MAX);
	t.crawler = x_text(STORE_NAME_BYTES_MAX);
	t.endpoint = x_text(STORE_ENDPOINT_BYTES_MAX);
	t.params = x_text(STORE_JSON_BYTES_MAX);
	t.version = INT64_MAX;
	expect_ok(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made,
	    &w), &w);
	assert_int_equal(out.params.n, STORE_JSON_BYTES_MAX);
	assert_int_equal(out.version, INT64_MAX);
	/* Statuses, and the uploader's state. */
	struct store_task_status s = { STORE_TASK_RUNNING, 999,
	    x_text(STORE_STATUS_BYTES_MAX), x_text(STORE_STATUS_BYTES_MAX) };
	expect_ok(store_task_set_status(store, out.id, &s, t0, &w), &w);
	s.code = 1000;
	expect_refused(store_task_set_status(store, out.id, &s, t0, &w),
	    ERR_INPUT, "code", &w);
	s.code = 102;
	s.message = x_text(STORE_STATUS_BYTES_MAX + 1);
	expect_refused(store_task_set_status(store, out.id, &s, t0, &w),
	    ERR_FULL, "message", &w);
	s.message = STR("");
	s.detail = (struct str){ "a\0b", 3 };
	expect_refused(store_task_set_status(store, out.id, &s, t0, &w),
	    ERR_INPUT, "detail", &w);
	expect_ok(store_task_set_delivery(store, out.id,
	    x_text(STORE_DELIVERY_BYTES_MAX), t0, &w), &w);
	assert_int_equal(get_task(out.id).delivery.n, STORE_DELIVERY_BYTES_MAX);
	expect_refused(store_task_set_delivery(store, out.id,
	    x_text(STORE_DELIVERY_BYTES_MAX + 1), t0, &w), ERR_FULL,
	    "delivery", &w);
	expect_ok(store_task_set_endpoint(store, out.id, STR("https://x/y?z=2"),
	    t0, &w), &w);
	assert_text(get_task(out.id).endpoint, "https://x/y?z=2");
	expect_refused(store_task_set_endpoint(store, out.id, STR(""), t0, &w),
	    ERR_INPUT, "endpoint", &w);
}

/* --- log, cursors -------------------------------------------------------- */

static size_t
read_log(uint64_t id, uint64_t after, struct store_log_line **lines)
{
	struct why w = WHY_INIT;
	size_t n;

	expect_ok(store_log_list(store, id, after, &arena, lines, &n, &w), &w);
	return n;
}

static void
newest_lines_are_kept(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	size_t many = STORE_LOG_LINES_MAX + 3;
	struct store_log_line *put_lines = arena_take_array(&arena, many,
	    sizeof(*put_lines)), *got;
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < many; i++)
		put_lines[i] = (struct store_log_line){ .time =
		    at_second((int)i), .level = STR("info"), .code = 102,
		    .text = arena_printf(&arena, "line\n%zu", i) };
	expect_ok(store_log_add(store, id, put_lines, 2, &w), &w);
	assert_int_equal(read_log(id, 0, &got), 2);
	assert_int_equal(got[1].number, 2);
	assert_true(got[1].time.us == at_second(1).us);
	assert_text(got[1].level, "info");
	assert_int_equal(got[1].code, 102);
	assert_text(got[1].text, "line\n1");
	assert_int_equal(read_log(id, 1, &got), 1);
	assert_int_equal(read_log(id, 2, &got), 0);
	expect_ok(store_log_add(store, id, &put_lines[2], STORE_LOG_LINES_MAX -
	    2, &w), &w);
	assert_int_equal(read_log(id, 0, &got), STORE_LOG_LINES_MAX);
	assert_int_equal(got[0].number, 1);
	expect_ok(store_log_add(store, id, put_lines, 1, &w), &w);
	assert_int_equal(read_log(id, 0, &got), STORE_LOG_LINES_MAX);
	assert_int_equal(got[0].number, 2);
	/* More than are kept, at once. */
	expect_ok(store_log_add(store, id, put_lines, many, &w), &w);
	assert_int_equal(read_log(id, 0, &got), STORE_LOG_LINES_MAX);
	assert_int_equal(got[0].number, STORE_LOG_LINES_MAX + 1 + 3 + 1);
	assert_text(got[0].text, "line\n3");
	assert_int_equal(got[STORE_LOG_LINES_MAX - 1].number,
	    STORE_LOG_LINES_MAX + 1 + many);
	/* Limits. */
	put_lines[0].text = x_text(STORE_LOG_TEXT_BYTES_MAX);
	put_lines[0].level = x_text(STORE_LOG_LEVEL_BYTES_MAX);
	expect_ok(store_log_add(store, id, put_lines, 1, &w), &w);
	put_lines[0].text = x_text(STORE_LOG_TEXT_BYTES_MAX + 1);
	expect_refused(store_log_add(store, id, put_lines, 1, &w), ERR_FULL,
	    "text", &w);
	put_lines[0].text = STR("");
	put_lines[0].level = x_text(STORE_LOG_LEVEL_BYTES_MAX + 1);
	expect_refused(store_log_add(store, id, put_lines, 1, &w), ERR_FULL,
	    "level", &w);
	put_lines[0].level = STR("info");
	put_lines[0].code = 1000;
	expect_refused(store_log_add(store, id, put_lines, 1, &w), ERR_INPUT,
	    "code", &w);
	assert_int_equal(store_log_add(store, 99, NULL, 0, NULL), ERR_ABSENT);
}

/* The closing of a task keeps its cursor for the crawler, if that is said. */
static void
cursors_of_crawlers(void **state)
{
	struct store_crawler c = { STR("acme"), STR("feed"), STR("c1") };
	struct store_task t = sample_task("acme", "t2"), out;
	struct str cursor;
	struct why w = WHY_INIT;
	bool made;

	(void)state;
	emit_documents(put_task("acme", "t1").id, 1, NULL, 0, "{\"at\":7}");
	close_task(1, STORE_TASK_DONE, false, true, t0);
	expect_ok(store_cursor_get(store, &c, &arena, &cursor, &w), &w);
	assert_text(cursor, "{\"at\":7}");
	emit_documents(put_task("acme", "t3").id, 1, NULL, 0, "{\"at\":8}");
	close_task(2, STORE_TASK_FAILED, false, false, t0);
	expect_ok(store_cursor_get(store, &c, &arena, &cursor, &w), &w);
	assert_text(cursor, "{\"at\":7}");
	/* A task of no crawler leaves none. */
	t.crawler = c.crawler = STR("");
	expect_ok(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made,
	    &w), &w);
	emit_documents(out.id, 1, NULL, 0, "9");
	close_task(out.id, STORE_TASK_DONE, false, true, t0);
	assert_int_equal(store_cursor_get(store, &c, &arena, &cursor, NULL),
	    ERR_ABSENT);
}

/* Fill a table up to `most` rows with one statement of both dialects. */
static void
fill_table(const char *sqlite, const char *postgresql, size_t n)
{
	struct sql text = { sqlite, postgresql };
	struct database *d;

	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	struct query *q = database_query_sql(d, &text);
	query_i64(q, 1, (int64_t)n);
	query_step(q);
	assert_int_equal(query_changes(q), n);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&d);
}

#define COUNTED "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1" \
	" FROM c WHERE i < ?1) "
#define SERIES " FROM generate_series(1, ?1::int8) AS c(i)"

static void
tasks_are_bounded(void **state)
{
	struct store_task t = sample_task("acme", "t1"), out;
	struct why w = WHY_INIT;
	bool made;

	(void)state;
#define TASKS "INSERT INTO external_task (backend, connector, fid, crawler," \
	" endpoint, params, version, reset, node, state, created, updated,"  \
	" closed) "
#define TASK "SELECT 'b', 'c', CAST(i AS TEXT), '', 'e', '{}', 0, 0, ''," \
	" 'done', 1, 1, 1"
	fill_table(COUNTED TASKS TASK " FROM c", TASKS TASK SERIES,
	    STORE_TASKS_MAX - 1);
	put_task("acme", "last");
	expect_refused(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out,
	    &made, &w), ERR_FULL, "", &w);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, open_test_store, \
	close_test_store)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(a_fid_is_one_task), WITH(open_tasks_are_limited),
		WITH(statuses_and_closing), WITH(retries),
		WITH(undelivered_tasks), WITH(lists),
		WITH(old_tasks_are_forgotten),
		WITH(cursors_that_tasks_may_go_on_from), WITH(limits_of_tasks),
		WITH(newest_lines_are_kept), WITH(cursors_of_crawlers),
		WITH(tasks_are_bounded),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
