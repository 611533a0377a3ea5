#include "engine/store/store_own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/postgresql_testing.h"

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

static void
open_store(const struct store_options *o)
{
	struct why w = WHY_INIT;

	if (store_test_open(dir, o, &store, &w) != OK)
		fail_msg("%s", w.text);
}

static int
setup(void **state)
{
	static const struct store_options o = {
		.policy_default = "{\"built\":\"in\"}",
		.policies_max = 3, .schedules_max = 3,
	};

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-store-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	open_store(&o);
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	char path[96];
	struct str *names;
	size_t n;

	(void)state;
	if (store != NULL)
		assert_int_equal(store_test_check(dir, store, NULL),
		    OK);
	store_close(&store);
	assert_int_equal(file_list(dir, &arena, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", dir,
		    STR_FMT(names[i]));
		unlink(path);
	}
	arena_free(&arena);
	return rmdir(dir);
}

/* -- Policies -- */

static void
policies(void **state)
{
	struct store_policy p, *list;
	struct wall t1 = { t0.us + 5 };
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	assert_int_equal(store_policy_put(store, STR("a"), STR("{1}"), t0,
	    NULL), OK);
	assert_int_equal(store_policy_put(store, STR("z"), STR("{2}"), t0,
	    NULL), OK);
	assert_int_equal(store_policy_put(store, STR("a"), STR("{3}"), t1,
	    NULL), OK);
	assert_int_equal(store_policy_get(store, STR("a"), &arena, &p, NULL),
	    OK);
	assert_string_equal(p.json.p, "{3}");
	assert_int_equal(p.created.us, t0.us);
	assert_int_equal(p.changed.us, t1.us);
	assert_int_equal(store_policy_get(store, STR("b"), &arena, &p, &w),
	    ERR_ABSENT);
	assert_string_equal(w.text, "there is no policy \"b\"");
	assert_int_equal(store_policy_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 3);
	assert_string_equal(list[0].name.p, "a");
	assert_true(str_eq(list[1].name, STR("default")));
	assert_string_equal(list[2].name.p, "z");
	assert_null(list[1].json.p);
	assert_int_equal(store_policy_delete(store, STR("z"), NULL), OK);
	assert_int_equal(store_policy_delete(store, STR("z"), NULL),
	    ERR_ABSENT);
	assert_int_equal(store_policy_delete(store, STR(""), NULL),
	    ERR_ABSENT);
}

static void
the_default(void **state)
{
	struct store_policy p, *list;
	size_t n;

	(void)state;
	assert_int_equal(store_policy_get(store, STR("default"), &arena, &p,
	    NULL), OK);
	assert_string_equal(p.json.p, "{\"built\":\"in\"}");
	assert_int_equal(store_policy_delete(store, STR("default"), NULL),
	    ERR_STATE);
	assert_int_equal(store_policy_put(store, STR("default"), STR("{9}"),
	    t0, NULL), OK);
	assert_int_equal(store_policy_get(store, STR("default"), &arena, &p,
	    NULL), OK);
	assert_string_equal(p.json.p, "{9}");
	assert_int_equal(store_policy_delete(store, STR("default"), NULL),
	    ERR_STATE);
	assert_int_equal(store_policy_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 1);
	/* Without a built-in one there is none. */
	store_close(&store);
	open_store(NULL);
	assert_int_equal(store_policy_get(store, STR("default"), &arena, &p,
	    NULL), OK);
	assert_string_equal(p.json.p, "{9}");
}

static void
names(void **state)
{
	static char text[STORE_JSON_BYTES_MAX + 1];
	struct store_policy p;
	struct why w = WHY_INIT;

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(store_policy_put(store, (struct str){ text, 200 },
	    STR("{}"), t0, NULL), OK);
	assert_int_equal(store_policy_get(store, (struct str){ text, 200 },
	    &arena, &p, NULL), OK);
	assert_int_equal(store_policy_put(store, (struct str){ text, 201 },
	    STR("{}"), t0, &w), ERR_FULL);
	assert_string_equal(w.text,
	    "name: 201 bytes; at most 200 are allowed");
	assert_int_equal(store_policy_put(store, STR(""), STR("{}"), t0, NULL),
	    ERR_INPUT);
	assert_int_equal(store_policy_put(store, STR("a\nb"), STR("{}"), t0,
	    NULL), ERR_INPUT);
	assert_int_equal(store_policy_put(store, STR("a\0b"), STR("{}"), t0,
	    NULL), ERR_INPUT);
	assert_int_equal(store_policy_put(store, STR("\xff"), STR("{}"), t0,
	    NULL), ERR_INPUT);
	assert_int_equal(store_policy_put(store, STR("\xc3\xa4 'x\"; --"),
	    STR("{}"), t0, NULL), OK);
	assert_int_equal(store_policy_put(store, STR("big"),
	    (struct str){ text, STORE_JSON_BYTES_MAX }, t0, NULL), OK);
	assert_int_equal(store_policy_put(store, STR("big"),
	    (struct str){ text, STORE_JSON_BYTES_MAX + 1 }, t0, NULL),
	    ERR_FULL);
	assert_int_equal(store_policy_put(store, STR("big"), STR(""), t0,
	    NULL), ERR_INPUT);
	/* Three are there: no fourth, but old ones and `default` are put. */
	w = WHY_INIT;
	assert_int_equal(store_policy_put(store, STR("d"), STR("{}"), t0, &w),
	    ERR_FULL);
	assert_string_equal(w.text,
	    "there are 3 policies, and no more are allowed");
	assert_int_equal(store_policy_put(store, STR("big"), STR("{}"), t0,
	    NULL), OK);
	assert_int_equal(store_policy_put(store, STR("default"), STR("{}"), t0,
	    NULL), OK);
}

/* -- Schedules -- */

static struct schedule
daily(const char *name)
{
	return (struct schedule){ .name = str_of(name),
	    .seeds = STR("[\"http://a.example/\"]"), .policy = STR("p"),
	    .every = 1, .unit = SCHEDULE_DAYS };
}

static struct schedule
got(uint64_t id)
{
	struct schedule s;
	struct why w = WHY_INIT;

	if (store_schedule_get(store, id, &arena, &s, &w) != OK)
		fail_msg("%s", w.text);
	return s;
}

static void
schedules(void **state)
{
	static const struct str tags[] = { { "a", 1 }, { "b\"\\\xc3\xa4", 5 } };
	struct schedule s = daily("one"), *list;
	struct wall later = { t0.us + 3600 * US_PER_S }, next;
	size_t n;

	(void)state;
	assert_int_equal(store_schedule_next(store, &next, NULL), OK);
	assert_int_equal(next.us, SCHEDULE_NEVER.us);
	s.tags = tags;
	s.tags_n = 2;
	s.name_template = STR("one {COUNT}");
	s.start_at = later;
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), OK);
	assert_int_equal(s.id, 1);
	struct schedule back = got(1);
	assert_string_equal(back.name.p, "one");
	assert_string_equal(back.seeds.p, s.seeds.p);
	assert_string_equal(back.policy.p, "p");
	assert_int_equal(back.policy_json.n, 0);
	assert_int_equal(back.tags_n, 2);
	assert_true(str_eq(back.tags[1], tags[1]));
	assert_int_equal(back.unit, SCHEDULE_DAYS);
	assert_int_equal(back.next_at.us, later.us);
	assert_int_equal(back.runs, 0);
	assert_true(back.last_crawl == SCHEDULE_NO_CRAWL);
	/* Another, with a policy of its own, from now on. */
	struct schedule two = daily("two");
	two.policy = STR("");
	two.policy_json = STR("{\"x\":1}");
	assert_int_equal(store_schedule_put(store, &two, t0, NULL), OK);
	assert_int_equal(two.id, 2);
	assert_int_equal(two.start_at.us, t0.us);
	assert_int_equal(store_schedule_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_null(list[1].seeds.p);
	assert_int_equal(list[0].tags_n, 2);
	assert_int_equal(store_schedule_next(store, &next, NULL), OK);
	assert_int_equal(next.us, t0.us);
	assert_int_equal(store_schedule_due(store, later, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].id, 2);
	assert_string_equal(list[0].policy_json.p, "{\"x\":1}");
	assert_string_equal(list[1].seeds.p, s.seeds.p);
	/* Ids are not used again. */
	assert_int_equal(store_schedule_delete(store, 2, NULL), OK);
	assert_int_equal(store_schedule_delete(store, 2, NULL), ERR_ABSENT);
	two.id = 0;
	assert_int_equal(store_schedule_put(store, &two, t0, NULL), OK);
	assert_int_equal(two.id, 3);
	two.id = 99;
	assert_int_equal(store_schedule_put(store, &two, t0, NULL),
	    ERR_ABSENT);
	two.id = UINT64_MAX;
	assert_int_equal(store_schedule_put(store, &two, t0, NULL),
	    ERR_ABSENT);
}

static void
regular_runs(void **state)
{
	struct schedule s = daily("s"), *list;
	struct wall day = { 24 * 3600 * US_PER_S }, now = t0;
	size_t n;

	(void)state;
	assert_int_equal(store_schedule_put(store, &s, now, NULL), OK);
	assert_int_equal(store_schedule_ran(store, 1, 0, now, NULL), OK);
	assert_int_equal(got(1).runs, 1);
	assert_int_equal(got(1).last_crawl, 0);
	assert_int_equal(got(1).next_at.us, t0.us + day.us);
	/* Said again after a crash. */
	assert_int_equal(store_schedule_ran(store, 1, 0, now, NULL), OK);
	assert_int_equal(got(1).runs, 1);
	/* Down for ten days and a bit: one run, then the grid again. */
	now.us += 10 * day.us + 60 * US_PER_S;
	assert_int_equal(store_schedule_due(store, now, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(store_schedule_ran(store, 1, 7, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, t0.us + 11 * day.us);
	assert_int_equal(store_schedule_due(store, now, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 0);
	/* A crawl that ends changes nothing here. */
	assert_int_equal(store_schedule_ended(store, 1, 7, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, t0.us + 11 * day.us);
	/* Changed: planned anew, its runs are kept. */
	s.every = 2;
	assert_int_equal(store_schedule_put(store, &s, now, NULL), OK);
	assert_int_equal(got(1).runs, 2);
	assert_int_equal(got(1).last_crawl, 7);
	assert_int_equal(got(1).next_at.us, t0.us + 12 * day.us);
	assert_int_equal(store_schedule_ran(store, 9, 7, now, NULL),
	    ERR_ABSENT);
	/* It failed: later, but not before what is planned, nor for good. */
	now.us = t0.us + 12 * day.us;
	struct wall again = { now.us + 60 * US_PER_S };
	assert_int_equal(store_schedule_late(store, 1, again, NULL), OK);
	assert_int_equal(got(1).next_at.us, again.us);
	assert_int_equal(store_schedule_late(store, 1, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, again.us);
	assert_int_equal(store_schedule_ran(store, 1, 8, again, NULL), OK);
	assert_int_equal(got(1).next_at.us, t0.us + 14 * day.us);
	assert_int_equal(store_schedule_late(store, 9, now, NULL), ERR_ABSENT);
}

static void
runs_of_harvests(void **state)
{
	struct schedule s = daily("s"), *list;
	struct wall day = { 24 * 3600 * US_PER_S }, now = t0;
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	s.harvest_type = STR("feed_entries");
	s.harvest = STR("{\"path\":\"/a\"}");
	s.timing = SCHEDULE_AFTER;
	assert_int_equal(store_schedule_put(store, &s, now, &w), ERR_INPUT);
	assert_string_equal(w.field, "timing");
	s.timing = SCHEDULE_REGULAR;
	assert_int_equal(store_schedule_put(store, &s, now, NULL), OK);
	assert_true(str_eq(got(1).harvest, STR("{\"path\":\"/a\"}")));
	assert_int_equal(store_schedule_harvested(store, 1, 1, now, NULL), OK);
	assert_int_equal(got(1).runs, 1);
	assert_int_equal(got(1).next_at.us, t0.us + day.us);
	/* Said again after a crash. */
	assert_int_equal(store_schedule_harvested(store, 1, 1, now, NULL), OK);
	assert_int_equal(got(1).runs, 1);
	/* The first one still runs when the second is due. */
	now.us += day.us;
	assert_int_equal(store_schedule_due(store, now, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	assert_true(str_eq(list[0].harvest_type, STR("feed_entries")));
	assert_int_equal(store_schedule_skipped(store, 1, now, NULL), OK);
	assert_int_equal(got(1).runs, 1);
	assert_int_equal(got(1).skips, 1);
	assert_int_equal(got(1).next_at.us, t0.us + 2 * day.us);
	assert_int_equal(store_schedule_skipped(store, 9, now, NULL),
	    ERR_ABSENT);
	/* Put anew it keeps both counts. */
	assert_int_equal(store_schedule_put(store, &s, now, NULL), OK);
	assert_int_equal(got(1).runs, 1);
	assert_int_equal(got(1).skips, 1);
	assert_int_equal(store_schedule_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(list[0].skips, 1);
	assert_true(str_eq(list[0].harvest_type, STR("feed_entries")));
}

static void
runs_after_previous(void **state)
{
	struct schedule s = daily("s");
	struct wall day = { 24 * 3600 * US_PER_S }, now = { t0.us + 5 };

	(void)state;
	s.timing = SCHEDULE_AFTER;
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), OK);
	assert_int_equal(store_schedule_ran(store, 1, 4, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, SCHEDULE_NEVER.us);
	/* Edited while its crawl runs, it goes on waiting. */
	s.every = 3;
	assert_int_equal(store_schedule_put(store, &s, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, SCHEDULE_NEVER.us);
	assert_int_equal(store_schedule_ended(store, 1, 3, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, SCHEDULE_NEVER.us);
	assert_int_equal(store_schedule_ended(store, 1, 4, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, now.us + 3 * day.us);
	now.us += 1000;
	assert_int_equal(store_schedule_ended(store, 1, 4, now, NULL), OK);
	assert_int_equal(got(1).next_at.us, now.us - 1000 + 3 * day.us);
}

static void
schedule_limits(void **state)
{
	static char text[300];
	struct str tags[STORE_TAGS_MAX + 1];
	struct schedule s = daily("s");
	struct why w = WHY_INIT;

	(void)state;
	memset(text, 't', sizeof(text));
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		tags[i] = (struct str){ text, STORE_TAG_BYTES_MAX };
	s.tags = tags;
	s.tags_n = STORE_TAGS_MAX;
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), OK);
	assert_int_equal(got(s.id).tags_n, 16);
	s.tags_n = STORE_TAGS_MAX + 1;
	assert_int_equal(store_schedule_put(store, &s, t0, &w), ERR_FULL);
	assert_string_equal(w.text, "tags: 17; at most 16 are allowed");
	s.tags_n = 2;
	tags[1].n = STORE_TAG_BYTES_MAX + 1;
	w = WHY_INIT;
	assert_int_equal(store_schedule_put(store, &s, t0, &w), ERR_FULL);
	assert_string_equal(w.text,
	    "tags[1]: 65 bytes; at most 64 are allowed");
	tags[1].n = 0;
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), ERR_INPUT);
	s.tags_n = 0;
	s.name = (struct str){ text, 201 };
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), ERR_FULL);
	s.name = STR("s");
	s.name_template = (struct str){ text, 201 };
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), ERR_FULL);
	s.name_template = STR("");
	s.every = 0;
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), ERR_INPUT);
	s.every = 1;
	s.policy_json = STR("{}");
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), ERR_INPUT);
	s.policy_json = s.policy = STR("");
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), ERR_INPUT);
	s.policy = STR("p");
	s.seeds = STR_NONE;
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), ERR_INPUT);
	s.seeds = STR("[]");
	for (int i = 1; i <= 3; i++) {
		s.id = 0;
		assert_int_equal(store_schedule_put(store, &s, t0, NULL),
		    i < 3 ? OK : ERR_FULL);
	}
	s.id = 1;
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), OK);
}

/* As many as are due, in portions. */
static void
due_in_portions(void **state)
{
	struct schedule *list;
	struct wall now = t0;
	size_t n, all = 0;

	(void)state;
	store_close(&store);
	open_store(NULL);
	for (unsigned i = 0; i < 2 * STORE_DUE_MAX + 3; i++) {
		struct schedule s = daily("s");
		assert_int_equal(store_schedule_put(store, &s, t0, NULL), OK);
	}
	do {
		assert_int_equal(store_schedule_due(store, now, &arena, &list,
		    &n, NULL), OK);
		assert_true(n <= STORE_DUE_MAX);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(store_schedule_ran(store, list[i].id,
			    all + i, now, NULL), OK);
		all += n;
	} while (n > 0);
	assert_int_equal(all, 2 * STORE_DUE_MAX + 3);
}

static void
policy_in_use(void **state)
{
	struct schedule s = daily("nightly");
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(store_policy_put(store, STR("p"), STR("{}"), t0,
	    NULL), OK);
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), OK);
	assert_int_equal(store_policy_delete(store, STR("p"), &w), ERR_STATE);
	assert_string_equal(w.text,
	    "the schedule \"nightly\" uses the policy \"p\"");
	assert_int_equal(store_schedule_delete(store, s.id, NULL), OK);
	assert_int_equal(store_policy_delete(store, STR("p"), NULL), OK);
}

/* -- Groups, files -- */

static void
groups(void **state)
{
	struct store_policy p;
	struct schedule s = daily("s");

	(void)state;
	assert_int_equal(store_begin(store, NULL), OK);
	assert_int_equal(store_policy_put(store, STR("a"), STR("1"), t0,
	    NULL), OK);
	assert_int_equal(store_schedule_put(store, &s, t0, NULL), OK);
	enum err e = store_policy_delete(store, STR("none"), NULL);
	assert_int_equal(e, ERR_ABSENT);
	assert_int_equal(store_end(store, e, NULL), ERR_ABSENT);
	assert_int_equal(store_policy_get(store, STR("a"), &arena, &p, NULL),
	    ERR_ABSENT);
	assert_int_equal(store_begin(store, NULL), OK);
	assert_int_equal(store_policy_put(store, STR("a"), STR("1"), t0,
	    NULL), OK);
	assert_int_equal(store_policy_put(store, STR("b"), STR("2"), t0,
	    NULL), OK);
	assert_int_equal(store_end(store, OK, NULL), OK);
	assert_int_equal(store_policy_get(store, STR("b"), &arena, &p, NULL),
	    OK);
}

static void
damaged_rows(void **state)
{
	struct str json[] = { STR(""), STR("{}"), STR("[1]"), STR("[\"a\"") };
	const struct str *tags;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(json); i++)
		assert_int_equal(store_tags_get(json[i], &arena, &tags, &n,
		    NULL), ERR_CORRUPT);
	assert_int_equal(store_tags_get(STR("[]"), &arena, &tags, &n, NULL),
	    OK);
	assert_int_equal(n, 0);
}

static void
no_directory(void **state)
{
	struct store *none;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(store_open("/nonexistent", NULL, &none, &w),
	    ERR_ABSENT);
	assert_null(none);
	assert_non_null(strstr(w.text, "/nonexistent/store.db"));
}

int
main(int argc, char **argv)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(policies), WITH(the_default), WITH(names),
		WITH(schedules), WITH(regular_runs),
		WITH(runs_of_harvests),
		WITH(runs_after_previous), WITH(schedule_limits),
		WITH(due_in_portions), WITH(policy_in_use), WITH(groups),
		WITH(damaged_rows), WITH(no_directory),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
