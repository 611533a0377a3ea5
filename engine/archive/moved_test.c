#include "engine/archive/archive_sample_testing.h"
#include "engine/archive/moved.h"

#define NAME "a.warc.gz"

static void
test_places(void **state)
{
	static const struct str good[] = {
		STR("/a"), STR("/mnt/tape 7/x.warc.gz"), STR("s3://bucket/x"),
		STR("https://example.org/a@b"), STR("git+ssh://h/x"),
	};
	static const struct str bad[] = {
		STR(""), STR("/"), STR("moved"), STR("./x"), STR("://x"),
		STR("s3://"), STR("3s://x"), STR("a b://x"), STR("/a\tb"),
		STR("/a\x7f"), STR("https://u:secret@example.org/x"),
	};
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(moved_place_check(good[i], NULL), OK);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(moved_place_check(bad[i], NULL), ERR_INPUT);
	buf_put_char(&b, '/');
	while (b.n < MOVED_PLACE_MAX)
		buf_put_char(&b, 'x');
	assert_int_equal(moved_place_check(buf_str(&b), NULL), OK);
	buf_put_char(&b, 'x');
	assert_int_equal(moved_place_check(buf_str(&b), NULL), ERR_INPUT);
	buf_free(&b);
}

/* Where the file is read: at its own place, else at a sound new one. */
static void
test_resolve(void **state)
{
	struct sample_dir d;
	struct why w = WHY_INIT;
	struct moved m;
	struct str at;

	(void)state;
	sample_dir_make(&d);
	struct str path = str_of(sample_path(&d, NAME));
	struct str place = str_of(sample_path(&d, "elsewhere"));
	assert_int_equal(moved_read(path.p, &d.arena, &m, NULL), ERR_ABSENT);
	assert_int_equal(moved_resolve(path, &d.arena, &at, &w), OK);
	assert_true(str_eq(at, path));

	sample_write(&d, "elsewhere", STR("bytes"));
	assert_int_equal(moved_write(path.p, place, 5, &w), OK);
	assert_int_equal(moved_read(path.p, &d.arena, &m, &w), OK);
	assert_true(str_eq(m.place, place));
	assert_int_equal(m.bytes, 5);
	assert_int_equal(moved_resolve(path, &d.arena, &at, &w), OK);
	assert_true(str_eq(at, place));
	/* Another length: it is not that file. */
	sample_write(&d, "elsewhere", STR("byte"));
	assert_int_equal(moved_resolve(path, &d.arena, &at, &w), ERR_ABSENT);
	assert_non_null(strstr(w.text, place.p));
	/* The length was not known. */
	assert_int_equal(moved_write(path.p, place, MOVED_BYTES_UNKNOWN, &w),
	    OK);
	assert_int_equal(moved_resolve(path, &d.arena, &at, &w), OK);
	assert_true(str_eq(at, place));
	w = (struct why)WHY_INIT;
	assert_int_equal(moved_write(path.p, STR("s3://b/x"), 5, &w), OK);
	assert_int_equal(moved_resolve(path, &d.arena, &at, &w), ERR_ABSENT);
	assert_non_null(strstr(w.text, "s3://b/x"));
	assert_int_equal(moved_write(path.p, STR("nowhere"), 5, &w),
	    ERR_INPUT);
	/* It came back. */
	sample_write(&d, NAME, STR("bytes"));
	assert_int_equal(moved_resolve(path, &d.arena, &at, &w), OK);
	assert_true(str_eq(at, path));
	sample_dir_remove(&d);
}

static void
test_list_moved(void **state)
{
	struct sample_dir d;
	struct archive_catalogue c;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	const char *path = sample_path(&d, NAME);
	struct str place = str_of(sample_path(&d, "elsewhere"));
	sample_write(&d, "elsewhere", STR("bytes"));
	assert_int_equal(moved_write(path, place, 5, &w), OK);
	c = sample_list(&d);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.gone_n, 0);
	assert_string_equal(c.files[0].path, place.p);
	assert_true(str_eq(c.files[0].name, STR(NAME)));
	assert_string_equal(c.files[0].moved_from, path);
	/* The same by its own name. */
	assert_int_equal(archive_list(&path, 1, false, &d.arena, &c, &w), OK);
	assert_string_equal(c.files[0].path, place.p);
	/* It cannot be read there. */
	assert_int_equal(moved_write(path, place, 6, &w), OK);
	c = sample_list(&d);
	assert_int_equal(c.n, 0);
	assert_int_equal(c.gone_n, 1);
	assert_string_equal(c.gone[0].path, path);
	assert_string_equal(c.gone[0].place, place.p);
	/* A damaged note keeps nobody from the other files. */
	sample_write(&d, NAME MOVED_SUFFIX, STR("argiope-moved 1\nplace x\n"));
	sample_write(&d, "b.warc.gz", STR("x"));
	c = sample_list(&d);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.gone_n, 1);
	/* At its own place the note does not count. */
	sample_write(&d, NAME, STR("bytes"));
	c = sample_list(&d);
	assert_int_equal(c.n, 2);
	assert_null(c.files[0].moved_from);
	assert_int_equal(c.gone_n, 0);
	sample_dir_remove(&d);
}

/* Moved to a directory that is listed as well: it is one file. */
static void
test_list_once(void **state)
{
	struct sample_dir d;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	assert_int_equal(file_make_dir(sample_path(&d, "done"), &w), OK);
	sample_write(&d, "done/" NAME, STR("bytes"));
	assert_int_equal(moved_write(sample_path(&d, NAME),
	    str_of(sample_path(&d, "done/" NAME)), 5, &w), OK);
	struct archive_catalogue c = sample_list(&d);
	assert_int_equal(c.n, 1);
	assert_non_null(c.files[0].moved_from);
	unlink(sample_path(&d, "done/" NAME));
	rmdir(sample_path(&d, "done"));
	sample_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_list_moved),
		cmocka_unit_test(test_list_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
