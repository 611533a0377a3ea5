#include "engine/policy/suite_test.h"

#include "engine/policy/trap.h"

static const struct trap_limits none = { TRAP_NONE, TRAP_NONE, TRAP_NONE,
	TRAP_NONE, TRAP_NONE, TRAP_NONE, TRAP_NONE };

static struct url
url_of(const char *target, struct arena *a)
{
	struct url u;
	struct why w = WHY_INIT;
	struct str text = arena_printf(a, "http://h.org%s", target);

	if (url_parse(text, NULL, a, &u, &w) != OK)
		fail_msg("%s: %s", text.p, w.text);
	return u;
}

/* NULL: taken; else the field that decided. */
static void
expect(const struct trap_limits *t, const char *target, const char *field)
{
	struct arena a = ARENA_INIT;
	struct url u = url_of(target, &a);
	struct trap_verdict v;
	bool take = trap_judge_url(t, &u, &v);

	assert_int_equal(take, v.reason == SKIP_NONE);
	assert_int_equal(take, v.text == NULL);
	if (take != (field == NULL))
		fail_msg("%.60s: %s", target, take ? "taken" : v.field);
	if (!take) {
		assert_int_equal(v.reason, SKIP_URL);
		assert_string_equal(v.field, field);
	}
	arena_free(&a);
}

static void
path_bytes(void **state)
{
	struct trap_limits t = none;
	char path[3000];

	(void)state;
	t.path_bytes_max = 2048;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[2048] = '\0';
	expect(&t, path, NULL);
	path[2048] = 'a';
	path[2049] = '\0';
	expect(&t, path, "traps.path_bytes_max");
	/* The query has a limit of its own. */
	path[2000] = '?';
	path[2048] = 'a';
	path[2999] = '\0';
	expect(&t, path, NULL);
}

static void
segments(void **state)
{
	struct trap_limits t = none;

	(void)state;
	t.segments_max = 3;
	expect(&t, "/", NULL);
	expect(&t, "/a/b/c", NULL);
	expect(&t, "/a/b/c/", NULL);
	expect(&t, "//a//b//c//", NULL);
	expect(&t, "/a/b/c/d", "traps.segments_max");
	expect(&none, "/a/b/c/d/e/f/g/h", NULL);
}

static void
repeats(void **state)
{
	struct trap_limits t = none;

	(void)state;
	t.repeats_max = 3;
	expect(&t, "/a/a/a", NULL);
	expect(&t, "/a/a/a/a", "traps.repeats_max");
	expect(&t, "/x/a/a/a/a/y", "traps.repeats_max");
	expect(&t, "/a//a//a//a", "traps.repeats_max");
	expect(&t, "/a/a/b/a/a", NULL);
	expect(&t, "/a/b/a/b/a/b", NULL);
	expect(&t, "/a/b/a/b/a/b/a", NULL);
	expect(&t, "/a/b/a/b/a/b/a/b", "traps.repeats_max");
	expect(&t, "/x/y/a/b/a/b/a/b/a/b/z", "traps.repeats_max");
	expect(&t, "/a/b/c/a/b/c/a/b/c/a/b", NULL);
	expect(&t, "/a/b/c/a/b/c/a/b/c/a/b/c", "traps.repeats_max");
	/* Blocks of four are not looked for. */
	expect(&t, "/a/b/c/d/a/b/c/d/a/b/c/d/a/b/c/d", NULL);
	expect(&t, "/1/2/1/3/1/4/1/5", NULL);
	expect(&none, "/a/a/a/a/a/a/a/a", NULL);
	t.repeats_max = 1;
	expect(&t, "/a/b", NULL);
	expect(&t, "/a/a", "traps.repeats_max");
	expect(&t, "/a/b/a/b", "traps.repeats_max");
}

static void
params(void **state)
{
	struct trap_limits t = none;

	(void)state;
	t.params_max = 2;
	expect(&t, "/", NULL);
	expect(&t, "/?", NULL);
	expect(&t, "/?a=1&b=2", NULL);
	expect(&t, "/?&a&&b&", NULL);
	expect(&t, "/?a=1&b=2&c=3", "traps.params_max");
	t.params_max = 0;
	expect(&t, "/?", NULL);
	expect(&t, "/?a", "traps.params_max");
	t = none;
	t.param_repeats_max = 2;
	expect(&t, "/?a=1&a=2&b=3&b=4", NULL);
	expect(&t, "/?&&&&&&", NULL);
	expect(&t, "/?a=1&b&a=2&a=3", "traps.param_repeats_max");
	expect(&t, "/?a&a&a", "traps.param_repeats_max");
	expect(&none, "/?a&a&a&a&a&a&a&a&a", NULL);
}

static void
stale_prefixes(void **state)
{
	struct arena a = ARENA_INIT;
	struct trap_memory *m = trap_memory_new(4);
	struct trap_limits t = none;
	struct trap_verdict v;
	struct url one = url_of("/cal/2026?day=1", &a);
	struct url two = url_of("/cal/2027", &a);
	struct url deeper = url_of("/cal/x/y", &a);

	(void)state;
	t.stale_max = 3;
	assert_true(trap_judge_prefix(&t, m, &one, &v));
	trap_note(m, &one, false);
	trap_note(m, &two, false);
	assert_int_equal(trap_stale(m, &one), 2);
	assert_true(trap_judge_prefix(&t, m, &one, &v));
	trap_note(m, &one, false);
	assert_false(trap_judge_prefix(&t, m, &two, &v));
	assert_int_equal(v.reason, SKIP_LIMIT);
	assert_string_equal(v.field, "traps.stale_max");
	assert_true(trap_judge_prefix(&none, m, &two, &v));
	assert_true(trap_judge_prefix(&t, m, &deeper, &v));
	/* One new page, and the directory is open again. */
	trap_note(m, &two, true);
	assert_true(trap_judge_prefix(&t, m, &one, &v));
	assert_int_equal(trap_memory_count(m), 1);
	trap_memory_free(&m);
	assert_null(m);
	trap_memory_free(&m);
	arena_free(&a);
}

static void
prefixes_limit(void **state)
{
	struct arena a = ARENA_INIT;
	struct trap_memory *m = trap_memory_new(TRAP_PREFIXES_MAX);
	struct url first = url_of("/d0/x", &a), second = url_of("/d1/x", &a);

	(void)state;
	for (int i = 0; i < TRAP_PREFIXES_MAX; i++) {
		struct str path = arena_printf(&a, "/d%d/x", i);
		struct url u = url_of(path.p, &a);
		trap_note(m, &u, false);
	}
	assert_int_equal(trap_memory_count(m), TRAP_PREFIXES_MAX);
	trap_note(m, &first, false);        /* now the youngest */
	assert_int_equal(trap_stale(m, &first), 2);
	struct url more = url_of("/more/x", &a);
	trap_note(m, &more, false);
	assert_int_equal(trap_memory_count(m), TRAP_PREFIXES_MAX);
	assert_int_equal(trap_stale(m, &first), 2);
	assert_int_equal(trap_stale(m, &second), 0);
	assert_int_equal(trap_stale(m, &more), 1);
	trap_memory_free(&m);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_bytes),
		cmocka_unit_test(segments),
		cmocka_unit_test(repeats),
		cmocka_unit_test(params),
		cmocka_unit_test(stale_prefixes),
		cmocka_unit_test(prefixes_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
