/* Orders, messages, stops and crashes as rows, in both databases. */
#include "engine/store/store_outbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

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

static struct wall
days(int n)
{
	return (struct wall){ t0.us + n * INT64_C(86400) * US_PER_S };
}

static void
add_harvest(const char *id)
{
	struct store_harvest h = { .id = str_of(id), .type = STR("a"),
	    .path = STR("/data/a"), .message = STR("{}") };
	struct why w = WHY_INIT;

	ok(store_harvest_add(store, &h, t0, &arena, &w), &w);
}

static void
put(const char *harvest, const char *id, const char *body)
{
	struct store_message m = { .harvest = str_of(harvest),
	    .message_id = str_of(id), .routing_key = STR("warc_created"),
	    .body = str_of(body), .created = t0 };
	struct why w = WHY_INIT;

	ok(store_outbox_put(store, &m, &w), &w);
}

static struct store_message
next(const char *harvest, uint64_t confirmed)
{
	struct store_message m;
	struct why w = WHY_INIT;

	ok(store_outbox_next(store, str_of(harvest), confirmed, &arena, &m,
	    &w), &w);
	return m;
}

static struct store_outbox_totals
totals(void)
{
	struct store_outbox_totals t;
	struct why w = WHY_INIT;

	ok(store_outbox_totals(store, &t, &w), &w);
	return t;
}

static struct wall
oldest(void)
{
	struct wall t;

	assert_int_equal(store_outbox_oldest(store, &t, NULL), OK);
	return t;
}

static void
assert_text(struct str s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	assert_memory_equal(s.p, text, s.n);
}

/* --- tests --------------------------------------------------------------- */

static void
in_order_within_a_harvest(void **state)
{
	struct str *ids;
	size_t n;

	(void)state;
	assert_int_equal(totals().messages, 0);
	assert_int_equal(totals().oldest.us, 0);
	assert_int_equal(oldest().us, 0);
	assert_int_equal(next("b", 0).number, 0);
	put("b", "m1", "{\"a\":\"\xc3\xa4\"}");
	put("a", "m2", "{}");
	put("b", "m3", "{\"c\":1}");
	assert_int_equal(totals().messages, 3);
	assert_int_equal(totals().bytes, 10 + 2 + 7);
	assert_int_equal(totals().oldest.us, t0.us);
	assert_int_equal(oldest().us, t0.us);
	assert_int_equal(store_outbox_harvests(store, &arena, &ids, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_text(ids[0], "b");
	assert_text(ids[1], "a");
	struct store_message m = next("b", 0);
	assert_text(m.message_id, "m1");
	assert_text(m.routing_key, "warc_created");
	assert_text(m.body, "{\"a\":\"\xc3\xa4\"}");
	assert_text(m.harvest, "b");
	assert_int_equal(m.created.us, t0.us);
	/* Not confirmed: the same once more. */
	assert_int_equal(next("b", 0).number, m.number);
	struct store_message last = next("b", m.number);
	assert_text(last.message_id, "m3");
	assert_true(last.number > m.number);
	assert_int_equal(next("b", last.number).number, 0);
	assert_int_equal(totals().messages, 1);
	/* The number of one that is gone is not given again. */
	put("b", "m4", "{}");
	assert_true(next("b", 0).number > last.number);
}

static void
messages_that_are_refused(void **state)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	struct store_message m = { .harvest = STR("a"), .message_id = STR("m"),
	    .routing_key = STR("k"), .body = STR("{}"), .created = t0 };
	struct why w = WHY_INIT;

	(void)state;
	put("a", "m", "{}");
	assert_int_equal(store_outbox_put(store, &m, NULL), ERR_EXISTS);
	m.message_id = STR("");
	assert_int_equal(store_outbox_put(store, &m, &w), ERR_INPUT);
	assert_string_equal(w.field, "message_id");
	m.message_id = STR("n");
	m.body = STR("\xff");
	w = WHY_INIT;
	assert_int_equal(store_outbox_put(store, &m, &w), ERR_INPUT);
	assert_string_equal(w.field, "body");
	buf_reserve(&body, STORE_MESSAGE_BYTES_MAX + 1);
	memset(body.p, ' ', STORE_MESSAGE_BYTES_MAX + 1);
	m.body = (struct str){ body.p, STORE_MESSAGE_BYTES_MAX + 1 };
	assert_int_equal(store_outbox_put(store, &m, NULL), ERR_INPUT);
	m.body.n--;
	assert_int_equal(store_outbox_put(store, &m, NULL), OK);
}

static void
an_order(void **state)
{
	struct store_order o;
	struct str *ids;
	size_t n;

	(void)state;
	assert_int_equal(store_order_get(store, STR("x"), &arena, &o, NULL),
	    ERR_ABSENT);
	assert_int_equal(store_order_put(store, STR("x"), STR("key.1"), t0,
	    NULL), OK);
	/* The message came once more. */
	assert_int_equal(store_order_put(store, STR("x"), STR("key.2"),
	    days(1), NULL), OK);
	assert_int_equal(store_order_get(store, STR("x"), &arena, &o, NULL),
	    OK);
	assert_text(o.routing_key, "key.1");
	assert_int_equal(o.received.us, t0.us);
	assert_text(o.told, "");
	/* Without its harvest it is none that is under way. */
	assert_int_equal(store_order_open(store, &arena, &ids, &n, NULL), OK);
	assert_int_equal(n, 0);
	add_harvest("x");
	o.told = STR("running");
	o.tokens_told = 3;
	o.uids_told = 4;
	assert_int_equal(store_order_told(store, &o, NULL), OK);
	assert_int_equal(store_order_open(store, &arena, &ids, &n, NULL), OK);
	assert_int_equal(n, 1);
	assert_text(ids[0], "x");
	assert_int_equal(store_order_get(store, STR("x"), &arena, &o, NULL),
	    OK);
	assert_text(o.told, "running");
	assert_int_equal(o.tokens_told, 3);
	assert_int_equal(o.uids_told, 4);
	assert_true(o.here);
	o.told = STR("completed failure");
	assert_int_equal(store_order_told(store, &o, NULL), OK);
	assert_int_equal(store_order_open(store, &arena, &ids, &n, NULL), OK);
	assert_int_equal(n, 0);
}

static void
old_orders_go_with_their_harvests(void **state)
{
	struct store_order o;

	(void)state;
	assert_int_equal(store_order_put(store, STR("gone"), STR("k"), t0,
	    NULL), OK);
	assert_int_equal(store_order_put(store, STR("there"), STR("k"), t0,
	    NULL), OK);
	add_harvest("there");
	assert_int_equal(store_order_put(store, STR("new"), STR("k"),
	    days(STORE_HARVEST_DAYS + 1), NULL), OK);
	assert_int_equal(store_order_get(store, STR("gone"), &arena, &o,
	    NULL), ERR_ABSENT);
	assert_int_equal(store_order_get(store, STR("there"), &arena, &o,
	    NULL), OK);
}

static void
files_are_announced_once(void **state)
{
	struct store_harvest_warc *list, files[] = {
		{ STR("1.warc.gz"), STR("0a"), STR("11"), 5, t0, false,
		    STR_NONE },
		{ STR("2.warc.gz"), STR("0b"), STR("22"), 7, t0, false,
		    STR("[\"u\"]") } };
	struct store_harvest h;
	size_t n;

	(void)state;
	add_harvest("x");
	assert_int_equal(store_harvest_get(store, STR("x"), &arena, &h, NULL),
	    OK);
	assert_int_equal(store_harvest_ready(store, &h, files, 2, NULL), OK);
	assert_int_equal(store_order_warcs(store, STR("x"), &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_harvest_placed(store, STR("x"), files[1].name,
	    NULL), OK);
	assert_int_equal(store_order_warcs(store, STR("x"), &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	assert_text(list[0].warc_id, "0b");
	assert_text(list[0].sha1, "22");
	assert_int_equal(list[0].bytes, 7);
	assert_text(list[0].urls, "[\"u\"]");
	/* Message and note are one commit, or none. */
	assert_int_equal(store_begin(store, NULL), OK);
	put("x", "m1", "{}");
	assert_int_equal(store_order_announced(store, STR("x"), list[0].name,
	    NULL), OK);
	assert_int_equal(store_end(store, ERR_IO, NULL), ERR_IO);
	assert_int_equal(totals().messages, 0);
	assert_int_equal(store_order_announced(store, STR("x"), list[0].name,
	    NULL), OK);
	assert_int_equal(store_order_warcs(store, STR("x"), &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 0);
}

static void
stops(void **state)
{
	bool found;

	(void)state;
	assert_int_equal(store_stop_find(store, STR("x"), t0, &found, NULL),
	    OK);
	assert_false(found);
	assert_int_equal(store_stop_put(store, STR("x"), t0, NULL), OK);
	assert_int_equal(store_stop_put(store, STR("x"), days(1), NULL), OK);
	assert_int_equal(store_stop_find(store, STR("x"), days(30), &found,
	    NULL), OK);
	assert_true(found);
	assert_int_equal(store_stop_find(store, STR("x"), days(31), &found,
	    NULL), OK);
	assert_false(found);
	/* The one that is put forgets it. */
	assert_int_equal(store_stop_put(store, STR("y"), days(31), NULL), OK);
	assert_int_equal(store_stop_find(store, STR("x"), t0, &found, NULL),
	    OK);
	assert_false(found);
	assert_int_equal(store_stop_put(store, STR(""), t0, NULL), ERR_INPUT);
}

static void
ended_ones(void **state)
{
	static const char *const ids[] = { "e1", "e2", "e3", "e4" };
	struct store_harvest *list;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		add_harvest(ids[i]);
		if (i != 1)
			assert_int_equal(store_order_put(store,
			    str_of(ids[i]), STR("k"), t0, NULL), OK);
		assert_int_equal(store_harvest_set_state(store,
		    str_of(ids[i]), i == 3 ? STORE_HARVEST_RUNNING :
		    STORE_HARVEST_SUCCEEDED, days((int)i), NULL), OK);
	}
	/* e2 came by no broker, e4 runs. */
	assert_int_equal(store_order_ended(store, (struct wall){ 0 }, days(9),
	    &arena, &list, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_text(list[0].id, "e1");
	assert_text(list[0].path, "/data/a");
	assert_int_equal(list[1].ended.us, days(2).us);
	assert_int_equal(store_order_ended(store, days(0), days(1), &arena,
	    &list, &n, NULL), OK);
	assert_int_equal(n, 0);
}

/* Only what runs is stopping; the stop is kept in any case. */
static void
stops_of_known_ones(void **state)
{
	static const struct {
		enum store_harvest_state state, then;
	} rows[] = {
		{ STORE_HARVEST_ACCEPTED, STORE_HARVEST_ACCEPTED },
		{ STORE_HARVEST_RUNNING, STORE_HARVEST_STOPPING },
		{ STORE_HARVEST_PAUSED, STORE_HARVEST_PAUSED },
		{ STORE_HARVEST_STOPPING, STORE_HARVEST_STOPPING },
		{ STORE_HARVEST_SUCCEEDED, STORE_HARVEST_SUCCEEDED },
	};
	struct store_harvest h;
	bool told, found;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str id = arena_printf(&arena, "k%zu", i);
		add_harvest(id.p);
		assert_int_equal(store_harvest_set_state(store, id,
		    rows[i].state, t0, NULL), OK);
		assert_int_equal(store_stop_harvest(store, id, t0, &told,
		    NULL), OK);
		assert_int_equal(told, rows[i].state != rows[i].then);
		assert_int_equal(store_harvest_get(store, id, &arena, &h,
		    NULL), OK);
		assert_int_equal(h.state, rows[i].then);
		assert_int_equal(store_stop_find(store, id, t0, &found, NULL),
		    OK);
		assert_true(found);
	}
}

static void
crashes(void **state)
{
	uint64_t n;

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(store_crash_count(store, STR("d1"), t0, &n,
		    NULL), OK);
		assert_int_equal(n, i);
	}
	assert_int_equal(store_crash_count(store, STR("d2"), t0, &n, NULL),
	    OK);
	assert_int_equal(n, 1);
	assert_int_equal(store_crash_clear(store, STR("d1"), NULL), OK);
	assert_int_equal(store_crash_count(store, STR("d1"), t0, &n, NULL),
	    OK);
	assert_int_equal(n, 1);
	assert_int_equal(store_crash_count(store, STR("d2"),
	    days(STORE_CRASH_DAYS + 1), &n, NULL), OK);
	assert_int_equal(n, 1);
}

/* In a shared store each daemon sends what it has put. */
static void
each_daemon_has_its_own(void **state)
{
	const struct store_options there = { .node = "there" };
	struct store_message m;
	struct store_order o;
	struct store *other;
	struct str *ids;
	size_t n;

	(void)state;
	if (store_test_server() == NULL)
		return;
	put("a", "m1", "{}");
	assert_int_equal(store_order_put(store, STR("x"), STR("k"), t0, NULL),
	    OK);
	add_harvest("x");
	assert_int_equal(store_test_open(dir, &there, &other, NULL), OK);
	assert_int_equal(store_outbox_harvests(other, &arena, &ids, &n, NULL),
	    OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_outbox_next(other, STR("a"), 0, &arena, &m,
	    NULL), OK);
	assert_int_equal(m.number, 0);
	assert_int_equal(store_order_open(other, &arena, &ids, &n, NULL), OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_order_get(other, STR("x"), &arena, &o, NULL),
	    OK);
	assert_false(o.here);
	store_close(&other);
}

static void
copied(void **state)
{
	struct store_copied counts;
	struct store_message m;
	struct store_order o;
	struct store *other;
	bool found;

	(void)state;
	if (store_test_server() != NULL)
		return;
	add_harvest("x");
	assert_int_equal(store_order_put(store, STR("x"), STR("k"), t0, NULL),
	    OK);
	put("x", "m1", "{}");
	assert_int_equal(store_stop_put(store, STR("s"), t0, NULL), OK);
	struct str path = arena_printf(&arena, "%s/other", dir);
	assert_int_equal(tree_make_dir(path.p, NULL), OK);
	assert_int_equal(store_open(path.p, NULL, &other, NULL), OK);
	assert_int_equal(store_copy(store, other, &counts, NULL), OK);
	assert_int_equal(counts.orders, 1);
	assert_int_equal(counts.messages, 1);
	assert_int_equal(counts.stops, 1);
	assert_int_equal(store_outbox_next(other, STR("x"), 0, &arena, &m,
	    NULL), OK);
	assert_text(m.message_id, "m1");
	assert_int_equal(store_order_get(other, STR("x"), &arena, &o, NULL),
	    OK);
	assert_text(o.routing_key, "k");
	assert_int_equal(store_stop_find(other, STR("s"), t0, &found, NULL),
	    OK);
	assert_true(found);
	store_close(&other);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(in_order_within_a_harvest),
		WITH(messages_that_are_refused),
		WITH(an_order),
		WITH(old_orders_go_with_their_harvests),
		WITH(files_are_announced_once),
		WITH(stops),
		WITH(stops_of_known_ones),
		WITH(ended_ones),
		WITH(crashes),
		WITH(each_daemon_has_its_own),
		WITH(copied),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
