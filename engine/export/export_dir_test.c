/* The directory of an export, before, during and after it. */
#include "engine/export/export_dir.h"
#include "engine/export/export_testing.h"

static void
put_file(struct testing_dir *d, struct export_dir *x, const char *name,
    const char *text)
{
	(void)d;
	assert_int_equal(file_store(arena_printf(&d->arena, "%s/%s", x->path,
	    name).p, str_of(text), NULL), OK);
}

static size_t
count_names(const char *path)
{
	struct arena a = ARENA_INIT;
	struct str *names;
	size_t n = 0;

	assert_int_equal(file_list(path, &a, &names, &n, NULL), OK);
	arena_free(&a);
	return n;
}

static void
names_of_exports(void **state)
{
	static const char *const own[] = { "x_001.csv", "a b_1000.json",
		"1-csv_001.txt", "README.txt", "77-README.txt", "x_001.xlsx",
		"x_001.tsv", "x_001.html" };
	static const char *const others[] = { "x_01.csv", "_001", "001.csv",
		"x001.csv", "x_001.pdf", "notes.txt", "README.md", ".hidden",
		"x_001.csv.bak" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		assert_true(export_dir_is_own(str_of(own[i])));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(export_dir_is_own(str_of(others[i])));
}

static void
a_new_place_and_an_old_one(void **state)
{
	struct testing_dir d;
	struct export_dir x;

	(void)state;
	testing_dir_make(&d);
	const char *into = testing_path(&d, "deep/er/out/");
	assert_int_equal(export_dir_open(&x, into, NULL), OK);
	put_file(&d, &x, "out_001.csv", "one");
	/* Nothing is to be seen before the end. */
	assert_null(testing_read(&d, "deep/er/out/out_001.csv"));
	assert_int_equal(export_dir_commit(&x, NULL), OK);
	assert_string_equal(testing_read(&d, "deep/er/out/out_001.csv"),
	    "one");
	assert_int_equal(count_names(testing_path(&d, "deep/er")), 1);

	assert_int_equal(export_dir_open(&x, into, NULL), OK);
	put_file(&d, &x, "out_001.tsv", "two");
	assert_string_equal(testing_read(&d, "deep/er/out/out_001.csv"),
	    "one");
	assert_int_equal(export_dir_commit(&x, NULL), OK);
	assert_null(testing_read(&d, "deep/er/out/out_001.csv"));
	assert_string_equal(testing_read(&d, "deep/er/out/out_001.tsv"),
	    "two");
	assert_int_equal(count_names(testing_path(&d, "deep/er")), 1);

	assert_int_equal(export_dir_open(&x, into, NULL), OK);
	put_file(&d, &x, "out_001.tsv", "three");
	export_dir_abandon(&x);
	assert_string_equal(testing_read(&d, "deep/er/out/out_001.tsv"),
	    "two");
	assert_int_equal(count_names(testing_path(&d, "deep/er")), 1);
	testing_dir_remove(&d);
}

static void
other_files_are_not_replaced(void **state)
{
	struct testing_dir d;
	struct export_dir x;
	struct why w = WHY_INIT;

	(void)state;
	testing_dir_make(&d);
	assert_int_equal(file_make_dir(testing_path(&d, "out"), NULL), OK);
	testing_write(&d, "out/thesis.doc", STR("mine"));
	assert_int_equal(export_dir_open(&x, testing_path(&d, "out"), &w),
	    ERR_EXISTS);
	assert_non_null(strstr(w.text, "thesis.doc"));
	assert_int_equal(export_dir_open(&x, testing_path(&d,
	    "out/thesis.doc"), NULL), ERR_EXISTS);
	assert_int_equal(export_dir_open(&x, ".", NULL), ERR_INPUT);
	assert_int_equal(export_dir_open(&x, "/", NULL), ERR_INPUT);
	assert_int_equal(export_dir_open(&x, "a/..", NULL), ERR_INPUT);
	assert_int_equal(count_names(d.path), 1);
	/* It came while the export was under way. */
	assert_int_equal(export_dir_open(&x, testing_path(&d, "late"), NULL),
	    OK);
	put_file(&d, &x, "late_001.csv", "new");
	assert_int_equal(file_make_dir(testing_path(&d, "late"), NULL), OK);
	testing_write(&d, "late/thesis.doc", STR("mine"));
	assert_int_equal(export_dir_commit(&x, NULL), ERR_EXISTS);
	assert_string_equal(testing_read(&d, "late/thesis.doc"), "mine");
	assert_int_equal(count_names(d.path), 2);
	testing_dir_remove(&d);
}

/* What a killed export left goes; that of a running one stays. */
static void
one_export_at_a_time(void **state)
{
	struct testing_dir d;
	struct export_dir x, y;
	struct why w = WHY_INIT;

	(void)state;
	testing_dir_make(&d);
	const char *into = testing_path(&d, "out");
	assert_int_equal(file_make_dir(testing_path(&d, ".out.export/new"),
	    NULL), OK);
	testing_write(&d, ".out.export/new/out_001.csv", STR("half"));
	assert_int_equal(export_dir_open(&x, into, NULL), OK);
	assert_int_equal(count_names(x.path), 0);
	put_file(&d, &x, "out_001.csv", "whole");
	assert_int_equal(export_dir_open(&y, into, &w), ERR_BUSY);
	assert_int_equal(count_names(x.path), 1);
	assert_int_equal(export_dir_commit(&x, NULL), OK);
	assert_string_equal(testing_read(&d, "out/out_001.csv"), "whole");
	assert_int_equal(count_names(d.path), 1);
	testing_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_exports),
		cmocka_unit_test(a_new_place_and_an_old_one),
		cmocka_unit_test(other_files_are_not_replaced),
		cmocka_unit_test(one_export_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
