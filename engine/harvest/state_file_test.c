/* state.json as SFM's harvesters leave it, and as it is merged. */
#include "engine/harvest/state_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "os/file.h"
#include "os/tree.h"

static char dir[64];
static struct arena arena;

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-state-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static const char *
path(void)
{
	return arena_printf(&arena, "%s/state.json", dir).p;
}

static void
put(const char *text)
{
	assert_int_equal(file_store(path(), str_of(text), NULL), OK);
}

static void
is_text(const char *text)
{
	struct buf b = BUF_INIT;

	assert_int_equal(file_load(path(), 1 << 20, &b, NULL), OK);
	assert_string_equal(buf_text(&b), text);
	buf_free(&b);
}

static enum err
merge_one(const struct connector_state *s, bool numbers, struct why *w)
{
	const struct shared_root none = { .path = NULL };
	struct shared_dir d;

	assert_int_equal(shared_dir_open(&none, dir, SHARED_DIR_LOOK, &d,
	    NULL), OK);
	enum err e = state_file_merge(&d, s, 1, numbers, w);
	shared_dir_close(&d);
	return e;
}

static enum err
read_all(struct connector_state **s, size_t *n)
{
	const struct shared_root none = { .path = NULL };
	struct shared_dir d;

	assert_int_equal(shared_dir_open(&none, dir, SHARED_DIR_LOOK, &d,
	    NULL), OK);
	enum err e = state_file_read(&d, &arena, s, n, NULL);
	shared_dir_close(&d);
	return e;
}

static void
merge(const char *key, const char *value, bool numbers)
{
	struct connector_state s = { str_of(key), str_of(value) };
	struct why w = WHY_INIT;

	if (merge_one(&s, numbers, &w) != OK)
		fail_msg("%s", w.text);
}

static void
is_read(size_t i, size_t n, const char *key, const char *value)
{
	struct connector_state *s;
	size_t found;

	assert_int_equal(read_all(&s, &found), OK);
	assert_int_equal(found, n);
	assert_true(str_eq(s[i].key, str_of(key)));
	assert_true(str_eq(s[i].value, str_of(value)));
}

/* --- tests --------------------------------------------------------------- */

static void
all_sections_are_read(void **state)
{
	struct connector_state *s;
	size_t n;

	(void)state;
	assert_int_equal(read_all(&s, &n), OK);
	assert_int_equal(n, 0);
	put("{\"__main__\":{\"b\":9,\"a\":\"x\",\"c\":null},"
	    "\"twitter_harvester\":{\"b\":12345678901234567890123,"
	    "\"d\":\"1\"}}");
	is_read(0, 3, "a", "x");
	is_read(1, 3, "b", "12345678901234567890123");
	is_read(2, 3, "d", "1");
}

static void
a_new_file_is_made(void **state)
{
	struct stat st;
	mode_t before = umask(022);

	(void)state;
	merge("k", "0099", false);
	is_text("{\"__main__\":{\"k\":\"0099\"}}");
	merge("n", "99", true);
	is_text("{\"__main__\":{\"k\":\"0099\",\"n\":99}}");
	assert_int_equal(stat(path(), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	umask(before);
}

static void
keys_stay_where_they_are(void **state)
{
	(void)state;
	put("{\"twitter_harvester\":{\"b\":12,\"t\":\"5\"},"
	    "\"__main__\":{\"other\":true}}");
	merge("b", "123456789012345678901234567890", false);
	merge("t", "6", true);
	merge("new", "1", false);
	is_text("{\"twitter_harvester\":{"
	    "\"b\":123456789012345678901234567890,\"t\":\"6\"},"
	    "\"__main__\":{\"other\":true,\"new\":\"1\"}}");
}

static void
numbers_only_grow(void **state)
{
	(void)state;
	put("{\"__main__\":{\"b\":100,\"e\":\"\\\"zz\\\"\"}}");
	merge("b", "99", true);
	merge("e", "\"aa\"", false);
	is_text("{\"__main__\":{\"b\":100,\"e\":\"\\\"aa\\\"\"}}");
	merge("b", "101", true);
	is_text("{\"__main__\":{\"b\":101,\"e\":\"\\\"aa\\\"\"}}");
}

static void
damage_is_left_alone(void **state)
{
	static const char *const texts[] = { "", "{", "[]", "{\"a\":1}" };
	struct connector_state *list, s = { STR("k"), STR("v") };
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		put(texts[i]);
		assert_int_equal(read_all(&list, &n), ERR_CORRUPT);
		assert_int_equal(merge_one(&s, false, NULL),
		    ERR_CORRUPT);
		is_text(texts[i]);
	}
}

static void
one_merges_at_a_time(void **state)
{
	struct connector_state s = { STR("k"), STR("v") };
	const char *own = arena_printf(&arena, "%s/" STATE_FILE_OWN_DIR, dir).p;
	const struct shared_root none = { .path = NULL };
	struct shared_dir d;
	int fd;

	(void)state;
	assert_int_equal(shared_dir_open(&none, own, SHARED_DIR_MAKE, &d,
	    NULL), OK);
	assert_int_equal(shared_dir_lock(&d, STATE_FILE_LOCK, &fd, NULL), OK);
	shared_dir_close(&d);
	assert_int_equal(merge_one(&s, false, NULL), ERR_BUSY);
	file_close(&fd);
	merge("k", "v", false);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(all_sections_are_read),
		WITH(a_new_file_is_made),
		WITH(keys_stay_where_they_are),
		WITH(numbers_only_grow),
		WITH(damage_is_left_alone),
		WITH(one_merges_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
