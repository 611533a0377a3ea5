/* Files found, digested and brought to their hour directories. */
#include "engine/harvest/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/archive/moved.h"
#include "os/file.h"
#include "os/tree.h"

#define NAME "sfmui_45-20261120091816123-00007-abcdefgh.warc.gz"
#define HOUR "2026/11/20/09"
#define SHA1_OF_ABC "a9993e364706816aba3e25717850c26c9cd0d89d"

static char dir[64];
static struct arena arena;

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-place-XXXXXX");
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
at(const char *name)
{
	return arena_printf(&arena, "%s/%s", dir, name).p;
}

static void
put(const char *name, const char *text)
{
	assert_int_equal(file_store(at(name), str_of(text), NULL), OK);
}

static struct store_harvest_warc *
collect(size_t known_n, struct store_harvest_warc *list, size_t want)
{
	size_t n;

	assert_int_equal(place_collect(dir, &arena, &list, known_n, &n, NULL),
	    OK);
	assert_int_equal(n, want);
	return list;
}

static enum err
place(const char *name, const struct store_harvest_warc *f)
{
	const struct shared_root none = { .path = NULL };
	struct shared_dir to;

	enum err e = shared_dir_open(&none, at(name), SHARED_DIR_MAKE, &to,
	    NULL);
	if (e == OK)
		e = place_file(dir, &to, at(name), f, NULL);
	shared_dir_close(&to);
	return e;
}

/* The file is there, and a reader of the old path finds it. */
static void
is_placed(const struct store_harvest_warc *f)
{
	struct str to = place_path(at("to"), f, &arena), found;

	assert_true(str_eq(to, str_of(at("to/" HOUR "/" NAME))));
	assert_int_equal(tree_kind(to.p, NULL), TREE_FILE);
	assert_int_equal(tree_kind(at(NAME), NULL), TREE_ABSENT);
	assert_int_equal(moved_resolve(str_of(at(NAME)), &arena, &found,
	    NULL), OK);
	assert_true(str_eq(found, to));
}

static void
files_are_found_once(void **state)
{
	(void)state;
	struct store_harvest_warc *list = collect(0, NULL, 0);
	put(NAME, "abc");
	put(NAME ".open", "abc");
	put("x.warc.gz", "abc");
	list = collect(0, list, 1);
	assert_true(str_eq(list[0].sha1, STR(SHA1_OF_ABC)));
	assert_int_equal(list[0].bytes, 3);
	assert_int_equal(list[0].warc_id.n, 32);
	assert_true(list[0].created.us == INT64_C(1795166296123000));
	collect(1, list, 1);
}

static void
a_file_is_placed_however_often(void **state)
{
	(void)state;
	put(NAME, "abc");
	struct store_harvest_warc *f = collect(0, NULL, 1);
	assert_int_equal(place("to", f), OK);
	is_placed(f);
	assert_int_equal(place("to", f), OK);
	is_placed(f);
	/* It was copied, and the crash came before the source was removed. */
	put(NAME, "abc");
	assert_int_equal(place("to", f), OK);
	is_placed(f);
	/* It was renamed, and the crash came before that. */
	assert_int_equal(unlink(at("to/" HOUR "/" NAME)), 0);
	put(NAME, "abc");
	assert_int_equal(place("to", f), OK);
	is_placed(f);
}

static void
others_files_are_left_alone(void **state)
{
	(void)state;
	put(NAME, "abc");
	struct store_harvest_warc *f = collect(0, NULL, 1);
	assert_int_equal(tree_make_dir(at("to/" HOUR), NULL), OK);
	put("to/" HOUR "/" NAME, "abd");
	assert_int_equal(place("to", f), ERR_EXISTS);
	assert_int_equal(tree_kind(at(NAME), NULL), TREE_FILE);
	put("to/" HOUR "/" NAME, "abcd");
	assert_int_equal(place("to", f), ERR_EXISTS);
	put("file", "");
	assert_int_not_equal(place("file", f), OK);
	assert_int_equal(tree_kind(at(NAME), NULL), TREE_FILE);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(files_are_found_once),
		WITH(a_file_is_placed_however_often),
		WITH(others_files_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
