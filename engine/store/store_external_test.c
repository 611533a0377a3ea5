/* Tasks of the external door, their documents and logs, in both databases. */
#include "engine/store/store_external.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

#define OPEN_MAX 3u

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-store-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	assert_int_equal(store_test_open(dir, NULL, &store, NULL), OK);
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(store_test_check(dir, store, NULL), OK);
	store_close(&store);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static void
ok(enum err e, struct why *w)
{
	if (e != OK)
		fail_msg("%s", w->text);
}

static void
refused(enum err got, enum err wanted, const char *field, struct why *w)
{
	assert_int_equal(got, wanted);
	assert_string_equal(w->field, field);
	*w = WHY_INIT;
}

static struct wall
at_second(int n)
{
	return (struct wall){ t0.us + n * US_PER_S };
}

static void
assert_text(struct str s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	if (s.n > 0)
		assert_memory_equal(s.p, text, s.n);
}

static struct str
x_text(size_t n)
{
	char *p = arena_take(&arena, n);

	memset(p, 'x', n);
	return (struct str){ p, n };
}

static struct store_task
sample_task(const char *backend, const char *fid)
{
	return (struct store_task){ .backend = str_of(backend),
	    .connector = STR("feed"), .fid = str_of(fid),
	    .crawler = STR("c1"), .params = STR("{\"a\":\"\xc3\xa4\"}"),
	    .endpoint = STR("https://be.example.org/t/1?sig=s"),
	    .version = 4 };
}

static struct store_task
put_task(const char *backend, const char *fid)
{
	struct store_task t = sample_task(backend, fid), out;
	struct why w = WHY_INIT;
	bool made;

	ok(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made, &w),
	    &w);
	assert_true(made);
	return out;
}

static struct store_task
get(uint64_t id)
{
	struct store_task t;
	struct why w = WHY_INIT;

	ok(store_task_get(store, id, &arena, &t, &w), &w);
	assert_int_equal(t.emitted, t.uploaded + t.spooled + t.rejected +
	    t.dropped);
	return t;
}

static void
close_as(uint64_t id, enum store_task_state s, bool drop, bool keep,
    struct wall now)
{
	struct store_task_end end = { .status = { s, 200, STR("Done"),
	    STR("") }, .drop_spool = drop, .keep_cursor = keep,
	    .by_owner = true };
	struct why w = WHY_INIT;
	bool changed;

	ok(store_task_close(store, id, &end, now, &changed, &w), &w);
	assert_true(changed);
}

static void
emit(uint64_t id, uint64_t first, const struct store_document *d, size_t n,
    const char *cursor)
{
	struct store_emit m = { .first = first, .documents = d, .n = n,
	    .cursor = str_of(cursor), .checkpoint = { "\0c", 2 } };
	struct why w = WHY_INIT;

	ok(store_spool_emit(store, id, &m, t0, &w), &w);
}

static void
ack(uint64_t id, uint64_t first, uint64_t last,
    const struct store_document *d, size_t n)
{
	struct store_ack k = { .first = first, .last = last, .refused = d,
	    .refused_n = n, .delivery = STR("{\"seq\":1}") };
	struct why w = WHY_INIT;

	ok(store_spool_ack(store, id, &k, t0, &w), &w);
}

static size_t
read_spool(uint64_t id, uint64_t from, size_t most, size_t bytes,
    struct store_document **d)
{
	struct why w = WHY_INIT;
	size_t n;

	ok(store_spool_read(store, id, from, most, bytes, &arena, d, &n, &w),
	    &w);
	return n;
}

static size_t
rejected(uint64_t id, struct store_document **d)
{
	struct why w = WHY_INIT;
	size_t n;

	ok(store_rejected_list(store, id, 0, 0, &arena, d, &n, &w), &w);
	return n;
}

static struct store_spool_totals
totals(void)
{
	struct store_spool_totals t;
	struct why w = WHY_INIT;

	ok(store_spool_total(store, &t, &w), &w);
	return t;
}

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
	refused(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made,
	    &w), ERR_FULL, "tasks_max", &w);
	/* A repeated fid is no new task, and another connector has its own. */
	t = sample_task("acme", "t1");
	assert_int_equal(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out,
	    &made, NULL), OK);
	assert_false(made);
	t = sample_task("acme", "t5");
	t.connector = STR("other");
	assert_int_equal(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out,
	    &made, NULL), OK);
	close_as(1, STORE_TASK_DONE, false, false, t0);
	put_task("acme", "t4");
	/* So is a new attempt. */
	t = sample_task("acme", "t1");
	refused(store_task_retry(store, 1, &t, true, OPEN_MAX, t0, &w),
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
	struct store_task t = get(id);
	assert_int_equal(t.state, STORE_TASK_RUNNING);
	assert_int_equal(t.code, 102);
	assert_text(t.message, "120 documents");
	assert_text(t.detail, "line\nline");
	assert_true(t.updated.us == at_second(1).us);
	/* Neither verb does what the other is for. */
	s.state = STORE_TASK_DONE;
	refused(store_task_set_status(store, id, &s, t0, &w), ERR_INPUT,
	    "state", &w);
	end.status.state = STORE_TASK_DRAINING;
	refused(store_task_close(store, id, &end, t0, &changed, &w),
	    ERR_INPUT, "state", &w);
	emit(id, 1, d, 1, "1");
	end.status.state = STORE_TASK_TIMEOUT;
	ok(store_task_close(store, id, &end, at_second(2), &changed, &w), &w);
	assert_true(changed);
	t = get(id);
	assert_int_equal(t.dropped, 1);
	assert_int_equal(t.spool_bytes, 0);
	assert_true(t.closed.us == at_second(2).us);
	/* Again: it stays. */
	end.status.code = 200;
	ok(store_task_close(store, id, &end, at_second(3), &changed, &w), &w);
	assert_false(changed);
	assert_int_equal(get(id).code, 408);
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
	emit(id, 1, d, 2, "{\"at\":2}");
	close_as(id, STORE_TASK_FAILED, false, false, t0);
	ok(store_task_retry(store, id, &t, true, OPEN_MAX, at_second(5), &w),
	    &w);
	struct store_task r = get(id);
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
	ack(id, 1, 1, NULL, 0);
	assert_int_equal(get(id).uploaded, 1);
	/* reset, or other parameters: from the beginning. */
	close_as(id, STORE_TASK_FAILED, false, false, t0);
	t.reset = true;
	ok(store_task_retry(store, id, &t, true, OPEN_MAX, t0, &w), &w);
	r = get(id);
	assert_true(r.reset);
	assert_int_equal(r.attempt, 3);
	assert_int_equal(r.cursor.n + r.checkpoint.n, 0);
	emit(id, 3, d, 0, "3");
	assert_text(get(id).cursor, "3");
	ok(store_task_reset_cursor(store, id, t0, &w), &w);
	assert_text(get(id).cursor, "");
}

static void
undelivered_tasks(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[] = { { .json = STR("{\"n\":1}") } }, *got;

	(void)state;
	emit(id, 1, d, 1, "1");
	assert_int_equal(store_task_redeliver(store, id, t0, NULL),
	    ERR_STATE);
	close_as(id, STORE_TASK_UNDELIVERED, false, false, t0);
	assert_int_equal(read_spool(id, 1, 10, 100, &got), 1);
	assert_int_equal(store_task_redeliver(store, id, at_second(1), NULL),
	    OK);
	assert_int_equal(get(id).state, STORE_TASK_DRAINING);
	assert_int_equal(get(id).attempt, 1);
	ack(id, 1, 1, NULL, 0);
	close_as(id, STORE_TASK_DONE, false, false, t0);
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

	ok(store_task_list(store, &f, &arena, list, &n, &w), &w);
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
	close_as(1, STORE_TASK_GONE, true, false, t0);
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
		emit(id, 1, d, 2, "1");
		ok(store_log_add(store, id, &line, 1, &w), &w);
		close_as(id, STORE_TASK_UNDELIVERED, false, false,
		    at_second(1));
	}
	put_task("acme", "open");
	/* Not at the moment itself, and not more than so many at once. */
	ok(store_task_forget(store, at_second(1), &n, &w), &w);
	assert_int_equal(n, 0);
	assert_int_equal(totals().documents, STORE_FORGET_MAX + 1);
	ok(store_task_forget(store, at_second(2), &n, &w), &w);
	assert_int_equal(n, STORE_FORGET_MAX);
	assert_int_equal(totals().documents, 1);
	assert_int_equal(read_spool(1, 1, 10, 100, &got), 0);
	assert_int_equal(rejected(1, &got), 0);
	ok(store_log_list(store, 1, 0, &arena, &lines, &n, &w), &w);
	assert_int_equal(n, 0);
	ok(store_task_forget(store, at_second(2), &n, &w), &w);
	assert_int_equal(n, 1);
	ok(store_task_forget(store, at_second(2), &n, &w), &w);
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

	ok(store_cursor_list(store, str_of(connector), &arena, &list, &n, &w),
	    &w);
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
	ok(store_task_exists(store, 1, &exists, &w), &w);
	assert_false(exists);
	/* A crawler without a task. */
	ok(store_cursor_put(store, &c, STR("7"), t0, &w), &w);
	assert_false(lists_cursor("feed", "7", 0));
	uint64_t first = put_task("acme", "t1").id;
	assert_true(lists_cursor("feed", "7", 1));
	assert_false(lists_cursor("other", "7", 0));
	emit(first, 1, &d, 1, "8");
	assert_true(lists_cursor("feed", "8", 2));
	assert_true(lists_cursor("feed", "7", 2));
	/* The crawler of the same name at another back end has none. */
	put_task("beta", "t1");
	assert_true(lists_cursor("feed", "7", 2));
	/* A closed task may be tried again. */
	close_as(first, STORE_TASK_UNDELIVERED, false, false, at_second(1));
	assert_true(lists_cursor("feed", "8", 2));
	ok(store_task_exists(store, first, &exists, &w), &w);
	assert_true(exists);
	ok(store_task_forget(store, at_second(2), &n, &w), &w);
	assert_int_equal(n, 1);
	ok(store_task_exists(store, first, &exists, &w), &w);
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
	refused(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made, \
	    &w), error, name, &w)
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
	ok(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made, &w),
	    &w);
	assert_int_equal(out.params.n, STORE_JSON_BYTES_MAX);
	assert_int_equal(out.version, INT64_MAX);
	/* Statuses, and the uploader's state. */
	struct store_task_status s = { STORE_TASK_RUNNING, 999,
	    x_text(STORE_STATUS_BYTES_MAX), x_text(STORE_STATUS_BYTES_MAX) };
	ok(store_task_set_status(store, out.id, &s, t0, &w), &w);
	s.code = 1000;
	refused(store_task_set_status(store, out.id, &s, t0, &w), ERR_INPUT,
	    "code", &w);
	s.code = 102;
	s.message = x_text(STORE_STATUS_BYTES_MAX + 1);
	refused(store_task_set_status(store, out.id, &s, t0, &w), ERR_FULL,
	    "message", &w);
	s.message = STR("");
	s.detail = (struct str){ "a\0b", 3 };
	refused(store_task_set_status(store, out.id, &s, t0, &w), ERR_INPUT,
	    "detail", &w);
	ok(store_task_set_delivery(store, out.id,
	    x_text(STORE_DELIVERY_BYTES_MAX), t0, &w), &w);
	assert_int_equal(get(out.id).delivery.n, STORE_DELIVERY_BYTES_MAX);
	refused(store_task_set_delivery(store, out.id,
	    x_text(STORE_DELIVERY_BYTES_MAX + 1), t0, &w), ERR_FULL,
	    "delivery", &w);
	ok(store_task_set_endpoint(store, out.id, STR("https://x/y?z=2"), t0,
	    &w), &w);
	assert_text(get(out.id).endpoint, "https://x/y?z=2");
	refused(store_task_set_endpoint(store, out.id, STR(""), t0, &w),
	    ERR_INPUT, "endpoint", &w);
}

/* --- spool --------------------------------------------------------------- */

static void
documents_in_order(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	uint64_t other = put_task("acme", "t2").id;
	struct store_document d[] = { { .json = STR("{\"n\":1}") },
	    { .json = STR("{\"n\":2}"), .pointer = STR("/id"),
	    .message = STR("it is missing") },
	    { .json = STR("{\"n\":333}") }, { .json = STR("{\"n\":4}") } };
	struct store_document *got;

	(void)state;
	emit(id, 1, d, 4, "{\"at\":4}");
	emit(other, 1, d, 1, "1");
	struct store_task t = get(id);
	assert_int_equal(t.emitted, 4);
	assert_int_equal(t.spooled, 3);
	assert_int_equal(t.rejected, 1);
	assert_int_equal(t.spool_bytes, 7 + 9 + 7);
	assert_text(t.cursor, "{\"at\":4}");
	assert_int_equal(t.checkpoint.n, 2);
	assert_int_equal(totals().tasks, 2);
	assert_int_equal(totals().documents, 4);
	assert_int_equal(totals().bytes, 23 + 7);
	assert_int_equal(rejected(id, &got), 1);
	assert_int_equal(got[0].number, 2);
	assert_text(got[0].pointer, "/id");
	assert_text(got[0].message, "it is missing");
	assert_text(got[0].json, "{\"n\":2}");
	/* Said again it changes nothing; a gap and another number are none. */
	emit(id, 1, d, 4, "{\"at\":1}");
	assert_text(get(id).cursor, "{\"at\":4}");
	struct store_emit m = { .first = 6, .documents = d, .n = 1 };
	assert_int_equal(store_spool_emit(store, id, &m, t0, NULL),
	    ERR_STATE);
	m.first = 4;
	m.n = 2;
	assert_int_equal(store_spool_emit(store, id, &m, t0, NULL),
	    ERR_STATE);
	m.first = 0;
	assert_int_equal(store_spool_emit(store, id, &m, t0, NULL),
	    ERR_STATE);
	/* Ranges: by number and bytes, at least one. */
	assert_int_equal(read_spool(id, 1, 10, 16, &got), 2);
	assert_int_equal(got[0].number, 1);
	assert_text(got[0].json, "{\"n\":1}");
	assert_int_equal(got[1].number, 3);
	assert_int_equal(read_spool(id, 1, 10, 15, &got), 1);
	assert_int_equal(read_spool(id, 3, 10, 1, &got), 1);
	assert_int_equal(got[0].number, 3);
	assert_int_equal(read_spool(id, 1, 2, 1000, &got), 2);
	assert_int_equal(read_spool(id, 1, 10, 1000, &got), 3);
	assert_int_equal(read_spool(id, 5, 10, 1000, &got), 0);
	assert_int_equal(read_spool(id, UINT64_MAX, 10, 1000, &got), 0);
}

static void
acknowledgements(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[5], *got;
	struct store_document bad[] = { { .number = 2, .pointer = STR("/a"),
	    .message = STR("refused") } };
	struct store_ack k = { .first = 3, .last = 4, .refused = bad,
	    .refused_n = 1 };
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(d); i++)
		d[i] = (struct store_document){ .json = STR("{\"n\":1}") };
	emit(id, 1, d, 5, "5");
	/* Only documents of the range may be refused, and for a reason. */
	refused(store_spool_ack(store, id, &k, t0, &w), ERR_INPUT,
	    "refused[0]", &w);
	k.first = 1;
	bad[0].message = STR("");
	refused(store_spool_ack(store, id, &k, t0, &w), ERR_INPUT,
	    "refused[0]", &w);
	k.last = UINT64_MAX;
	refused(store_spool_ack(store, id, &k, t0, &w), ERR_INPUT, "last",
	    &w);
	bad[0].message = STR("refused");
	ack(id, 1, 3, bad, 1);
	struct store_task t = get(id);
	assert_int_equal(t.uploaded, 2);
	assert_int_equal(t.rejected, 1);
	assert_int_equal(t.spooled, 2);
	assert_int_equal(t.spool_bytes, 14);
	assert_text(t.delivery, "{\"seq\":1}");
	assert_int_equal(rejected(id, &got), 1);
	assert_int_equal(got[0].number, 2);
	assert_text(got[0].json, "{\"n\":1}");
	/* Again, as after a lost connection: nothing is counted twice. */
	ack(id, 1, 3, bad, 1);
	assert_int_equal(get(id).uploaded, 2);
	assert_int_equal(get(id).rejected, 1);
	/* A part in the middle, then the rest. */
	ack(id, 5, 5, NULL, 0);
	assert_int_equal(read_spool(id, 1, 10, 100, &got), 1);
	assert_int_equal(got[0].number, 4);
	assert_int_equal(store_spool_drop(store, id, t0, NULL), OK);
	assert_int_equal(get(id).dropped, 1);
	assert_int_equal(totals().bytes, 0);
	assert_int_equal(read_spool(id, 1, 10, 100, &got), 0);
	assert_int_equal(store_spool_drop(store, 99, t0, NULL), ERR_ABSENT);
}

/* Several acknowledgements, or one and its status, as one commit. */
static void
groups(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[] = { { .json = STR("{}") },
	    { .json = STR("[]") } };

	(void)state;
	emit(id, 1, d, 2, "2");
	assert_int_equal(store_begin(store, NULL), OK);
	ack(id, 1, 1, NULL, 0);
	assert_int_equal(store_end(store, ERR_STATE, NULL), ERR_STATE);
	assert_int_equal(get(id).uploaded, 0);
	assert_int_equal(get(id).spooled, 2);
	assert_int_equal(store_begin(store, NULL), OK);
	ack(id, 2, 2, NULL, 0);
	ack(id, 1, 1, NULL, 0);
	assert_int_equal(store_end(store, OK, NULL), OK);
	assert_int_equal(get(id).uploaded, 2);
}

static void
limits_of_documents(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	size_t many = STORE_EMIT_DOCUMENTS_MAX;
	struct store_document *d = arena_take_array(&arena, many + 1,
	    sizeof(*d));
	struct store_emit m = { .first = 1, .documents = d, .n = many + 1 };
	struct store_document *got;
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i <= many; i++)
		d[i] = (struct store_document){ .json = STR("{}") };
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "documents", &w);
	/* At the edges, all at once. */
	d[0].json = x_text(STORE_DOCUMENT_BYTES_MAX);
	d[1].json = x_text(STORE_EMIT_BYTES_MAX - STORE_DOCUMENT_BYTES_MAX -
	    2 * (many - 2));
	m.n = many;
	m.cursor = x_text(STORE_CURSOR_BYTES_MAX);
	m.checkpoint = x_text(STORE_CHECKPOINT_BYTES_MAX);
	ok(store_spool_emit(store, id, &m, t0, &w), &w);
	assert_int_equal(totals().bytes, STORE_EMIT_BYTES_MAX);
	assert_int_equal(get(id).checkpoint.n, STORE_CHECKPOINT_BYTES_MAX);
	assert_int_equal(read_spool(id, 1, many, STORE_EMIT_BYTES_MAX, &got),
	    many);
	m.first += many;
	m.n = many - 1;
	d[2].json = STR("{ }");
	d[3].json = STR("{  }");
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "documents", &w);
	d[1].json = x_text(STORE_DOCUMENT_BYTES_MAX + 1);
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "documents[1]", &w);
	d[1].json = STR("");
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_INPUT,
	    "documents[1]", &w);
	d[1].json = STR("\xff");
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_INPUT,
	    "documents[1]", &w);
	m.n = 1;
	d[0] = (struct store_document){ .json = STR("{}"), .message =
	    x_text(STORE_STATUS_BYTES_MAX + 1) };
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL, "message",
	    &w);
	d[0].message = x_text(STORE_STATUS_BYTES_MAX);
	d[0].pointer = x_text(STORE_POINTER_BYTES_MAX + 1);
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL, "pointer",
	    &w);
	d[0].pointer = x_text(STORE_POINTER_BYTES_MAX);
	ok(store_spool_emit(store, id, &m, t0, &w), &w);
	m.first++;
	m.cursor = x_text(STORE_CURSOR_BYTES_MAX + 1);
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL, "cursor",
	    &w);
	m.cursor = STR("");
	m.checkpoint = x_text(STORE_CHECKPOINT_BYTES_MAX + 1);
	refused(store_spool_emit(store, id, &m, t0, &w), ERR_FULL,
	    "checkpoint", &w);
}

/* A bounded number of rejected documents is kept, and of each a bounded part;
 * all are counted. */
static void
rejected_documents_are_bounded(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	size_t many = STORE_REJECTED_MAX;
	struct store_document *d = arena_take_array(&arena, many, sizeof(*d));
	struct store_document *got;
	struct store_document bad[] = { { .number = many + 1,
	    .message = STR("m") } };
	size_t n;

	(void)state;
	for (size_t i = 0; i < many; i++)
		d[i] = (struct store_document){ .json = STR("{}"),
		    .message = STR("m") };
	d[0].json = x_text(STORE_REJECTED_CHARACTERS_MAX + 1);
	emit(id, 1, d, many - 1, "");
	/* The last place is taken by one that the back end refuses. */
	d[0] = d[1] = (struct store_document){ .json = STR("[1]") };
	emit(id, many, d, 2, "");
	bad[0].number = many;
	ack(id, many, many, bad, 1);
	assert_int_equal(rejected(id, &got), STORE_REJECTED_MAX);
	assert_int_equal(got[0].json.n, STORE_REJECTED_CHARACTERS_MAX);
	assert_int_equal(got[many - 1].number, many);
	assert_text(got[many - 1].json, "[1]");
	bad[0].number = many + 1;
	ack(id, many + 1, many + 1, bad, 1);
	emit(id, many + 2, &d[2], 1, "");
	assert_int_equal(get(id).rejected, many + 2);
	assert_int_equal(get(id).uploaded, 0);
	assert_int_equal(rejected(id, &got), STORE_REJECTED_MAX);
	assert_int_equal(store_rejected_list(store, id, 10, 5, &arena, &got,
	    &n, NULL), OK);
	assert_int_equal(n, 5);
	assert_int_equal(got[0].number, 11);
}

/* --- log, cursors -------------------------------------------------------- */

static size_t
read_log(uint64_t id, uint64_t after, struct store_log_line **lines)
{
	struct why w = WHY_INIT;
	size_t n;

	ok(store_log_list(store, id, after, &arena, lines, &n, &w), &w);
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
	ok(store_log_add(store, id, put_lines, 2, &w), &w);
	assert_int_equal(read_log(id, 0, &got), 2);
	assert_int_equal(got[1].number, 2);
	assert_true(got[1].time.us == at_second(1).us);
	assert_text(got[1].level, "info");
	assert_int_equal(got[1].code, 102);
	assert_text(got[1].text, "line\n1");
	assert_int_equal(read_log(id, 1, &got), 1);
	assert_int_equal(read_log(id, 2, &got), 0);
	ok(store_log_add(store, id, &put_lines[2], STORE_LOG_LINES_MAX - 2,
	    &w), &w);
	assert_int_equal(read_log(id, 0, &got), STORE_LOG_LINES_MAX);
	assert_int_equal(got[0].number, 1);
	ok(store_log_add(store, id, put_lines, 1, &w), &w);
	assert_int_equal(read_log(id, 0, &got), STORE_LOG_LINES_MAX);
	assert_int_equal(got[0].number, 2);
	/* More than are kept, at once. */
	ok(store_log_add(store, id, put_lines, many, &w), &w);
	assert_int_equal(read_log(id, 0, &got), STORE_LOG_LINES_MAX);
	assert_int_equal(got[0].number, STORE_LOG_LINES_MAX + 1 + 3 + 1);
	assert_text(got[0].text, "line\n3");
	assert_int_equal(got[STORE_LOG_LINES_MAX - 1].number,
	    STORE_LOG_LINES_MAX + 1 + many);
	/* Limits. */
	put_lines[0].text = x_text(STORE_LOG_TEXT_BYTES_MAX);
	put_lines[0].level = x_text(STORE_LOG_LEVEL_BYTES_MAX);
	ok(store_log_add(store, id, put_lines, 1, &w), &w);
	put_lines[0].text = x_text(STORE_LOG_TEXT_BYTES_MAX + 1);
	refused(store_log_add(store, id, put_lines, 1, &w), ERR_FULL, "text",
	    &w);
	put_lines[0].text = STR("");
	put_lines[0].level = x_text(STORE_LOG_LEVEL_BYTES_MAX + 1);
	refused(store_log_add(store, id, put_lines, 1, &w), ERR_FULL, "level",
	    &w);
	put_lines[0].level = STR("info");
	put_lines[0].code = 1000;
	refused(store_log_add(store, id, put_lines, 1, &w), ERR_INPUT, "code",
	    &w);
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
	emit(put_task("acme", "t1").id, 1, NULL, 0, "{\"at\":7}");
	close_as(1, STORE_TASK_DONE, false, true, t0);
	ok(store_cursor_get(store, &c, &arena, &cursor, &w), &w);
	assert_text(cursor, "{\"at\":7}");
	emit(put_task("acme", "t3").id, 1, NULL, 0, "{\"at\":8}");
	close_as(2, STORE_TASK_FAILED, false, false, t0);
	ok(store_cursor_get(store, &c, &arena, &cursor, &w), &w);
	assert_text(cursor, "{\"at\":7}");
	/* A task of no crawler leaves none. */
	t.crawler = c.crawler = STR("");
	ok(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made, &w),
	    &w);
	emit(out.id, 1, NULL, 0, "9");
	close_as(out.id, STORE_TASK_DONE, false, true, t0);
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
	refused(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made,
	    &w), ERR_FULL, "", &w);
}

/* --- rows of the spool ------------------------------------------------ */

#define MANY 300u

/* Numbers that are multiples of seven are rejected. */
static void
emit_many(uint64_t id, struct store_document *d)
{
	for (size_t i = 0; i < MANY; i++) {
		struct str text = x_text(900 + i);
		d[i] = (struct store_document){ .json = arena_printf(&arena,
		    "\"%zu\n%.*s\"", i + 1, STR_FMT(text)),
		    .message = (i + 1) % 7 == 0 ? STR("no") : STR("") };
	}
	emit(id, 1, d, MANY, "many");
}

/* It has these numbers alone, of documents that no check has rejected. */
static void
has_spooled(uint64_t id, const struct store_document *d,
    bool (*is_left)(uint64_t))
{
	struct store_document *got;
	size_t n = read_spool(id, 1, MANY, SIZE_MAX, &got), k = 0;
	uint64_t bytes = 0;

	for (uint64_t i = 1; i <= MANY; i++) {
		if (!is_left(i) || i % 7 == 0)
			continue;
		assert_true(k < n);
		assert_int_equal(got[k].number, i);
		assert_true(str_eq(got[k++].json, d[i - 1].json));
		bytes += d[i - 1].json.n;
	}
	assert_int_equal(k, n);
	assert_int_equal(get(id).spooled, n);
	assert_int_equal(get(id).spool_bytes, bytes);
	assert_int_equal(totals().bytes, bytes);
}

static bool
is_any(uint64_t number)
{
	return number > 0;
}

static bool
is_outside(uint64_t number)
{
	return number < 3 || number > 250;
}

static bool
is_outside_twice(uint64_t number)
{
	return is_outside(number) && (number < 260 || number > 261);
}

static void
ranges_cut_rows(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[MANY], *got;
	struct store_document bad[] = {
		{ .number = 100, .message = STR("odd") },
		{ .number = 7, .message = STR("gone") },
		{ .number = 249, .message = STR("last") } };

	(void)state;
	emit_many(id, d);
	has_spooled(id, d, is_any);
	/* From the middle of a row, by number and by bytes. */
	assert_int_equal(read_spool(id, 99, 150, SIZE_MAX, &got), 150);
	assert_int_equal(got[0].number, 99);
	assert_int_equal(got[149].number, 272);
	size_t two = d[98].json.n + d[99].json.n;
	assert_int_equal(read_spool(id, 99, 150, two, &got), 2);
	assert_int_equal(read_spool(id, 99, 150, two - 1, &got), 1);
	assert_int_equal(read_spool(id, 99, 150, 0, &got), 1);
	assert_int_equal(read_spool(id, 99, 0, SIZE_MAX, &got), 0);
	ack(id, 3, 250, bad, ARRAY_LEN(bad));
	has_spooled(id, d, is_outside);
	assert_int_equal(get(id).rejected, MANY / 7 + 2);
	assert_int_equal(get(id).uploaded, 250 - 2 - 250 / 7 - 2);
	size_t n = rejected(id, &got);
	assert_int_equal(n, MANY / 7 + 2);
	for (size_t i = 0; i < n; i++)
		if (got[i].number % 7 != 0)
			assert_true(str_eq(got[i].json,
			    d[got[i].number - 1].json));
	/* Again, beyond, and a hole in the middle of a row. */
	ack(id, 3, 250, bad, ARRAY_LEN(bad));
	ack(id, 260, 261, NULL, 0);
	has_spooled(id, d, is_outside_twice);
	ack(id, 1, MANY, NULL, 0);
	assert_int_equal(get(id).spooled, 0);
	assert_int_equal(totals().bytes, 0);
	assert_int_equal(get(id).uploaded, MANY - MANY / 7 - 2);
}

static void
change_table(const char *text)
{
	struct database *d;

	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	assert_int_equal(database_do(d, text, NULL), OK);
	database_close(&d);
}

static void
a_damaged_row_is_told(void **state)
{
	uint64_t id = put_task("acme", "t1").id;
	struct store_document d[MANY], *got;
	struct store_ack k = { .first = 1, .last = 1,
		.delivery = STR("{}") };
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	emit_many(id, d);
	change_table("UPDATE external_spool SET documents = '5:[1]'");
	refused(store_spool_read(store, id, 1, 10, 1000, &arena, &got, &n,
	    &w), ERR_CORRUPT, "", &w);
	refused(store_spool_ack(store, id, &k, t0, &w), ERR_CORRUPT, "", &w);
	assert_int_equal(get(id).uploaded, 0);
	/* It can be given up. */
	assert_int_equal(store_spool_drop(store, id, t0, NULL), OK);
	assert_int_equal(totals().bytes, 0);
}

/* A store in which each document has a row. */
static void
rows_of_older_stores(void **state)
{
	static const struct sql version = { "SELECT user_version FROM"
	    " pragma_user_version", "SELECT version FROM argiope_schema" };
	struct store_document d[] = { { .json = STR("{\"id\":\"\u00e4\"}") },
		{ .json = STR("{\"id\":2}") } }, *got;
	char set[64];
	struct database *db;

	(void)state;
	uint64_t id = put_task("acme", "t1").id;
	emit(id, 1, d, 1, "1");
	emit(id, 2, d + 1, 1, "2");
	store_close(&store);
	assert_int_equal(store_test_database(dir, &db, NULL), OK);
	struct query *q = database_query_sql(db, &version);
	assert_true(query_step(q));
	snprintf(set, sizeof(set), database_is_postgresql(db) ?
	    "UPDATE argiope_schema SET version = %d" :
	    "PRAGMA user_version = %d", (int)query_get_i64(q, 0) - 1);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&db);
	change_table("UPDATE external_spool SET documents = CASE number"
	    " WHEN 1 THEN '{\"id\":\"\u00e4\"}' ELSE '{\"id\":2}' END");
	change_table("ALTER TABLE external_spool DROP COLUMN last");
	change_table("ALTER TABLE external_spool DROP COLUMN spooled");
	change_table("ALTER TABLE external_spool RENAME COLUMN documents TO"
	    " document");
	change_table(set);
	assert_int_equal(store_test_open(dir, NULL, &store, NULL), OK);
	assert_int_equal(read_spool(id, 1, 10, 1000, &got), 2);
	assert_true(str_eq(got[0].json, d[0].json));
	assert_true(str_eq(got[1].json, d[1].json));
	ack(id, 1, 2, NULL, 0);
	assert_int_equal(get(id).uploaded, 2);
	assert_int_equal(totals().bytes, 0);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(a_fid_is_one_task), WITH(open_tasks_are_limited),
		WITH(statuses_and_closing), WITH(retries),
		WITH(undelivered_tasks), WITH(lists),
		WITH(old_tasks_are_forgotten), WITH(limits_of_tasks),
		WITH(cursors_that_tasks_may_go_on_from),
		WITH(documents_in_order), WITH(acknowledgements),
		WITH(groups), WITH(limits_of_documents),
		WITH(rejected_documents_are_bounded),
		WITH(newest_lines_are_kept), WITH(cursors_of_crawlers),
		WITH(tasks_are_bounded), WITH(ranges_cut_rows),
		WITH(a_damaged_row_is_told), WITH(rows_of_older_stores),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
