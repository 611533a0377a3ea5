/* xlsx files; texts as cells take them. */
#include "os/spreadsheet.h"

#include <dirent.h>
#include <unistd.h>

#include "os/file.h"
#include "os/tree.h"
#include "os/world_testing.h"

/* How many files this process has open. */
static size_t
count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void
texts_as_cells_take_them(void **state)
{
	static const struct {
		struct str text;
		const char *want;
	} rows[] = {
		{ STR(""), "" }, { STR("=1+1"), "=1+1" },
		{ STR("a\0b"), "a_x0000_b" },
		{ STR("_x0041_ _x00_ _xGGGG_ _x"),
		    "_x005F_x0041_ _x00_ _xGGGG_ _x" },
		{ STR("\xef\xbf\xbf\xef\xbf\xbe\xef\xbf\xbd"),
		    "_xFFFF__xFFFE_\xef\xbf\xbd" },
		{ STR("\xf0\x9f\x98\x80\x01\n"), "\xf0\x9f\x98\x80\x01\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = BUF_INIT;
		assert_false(spreadsheet_put_text(&b, rows[i].text));
		assert_string_equal(buf_text(&b), rows[i].want);
		buf_free(&b);
	}
}

/* Characters count, not bytes. */
static void
long_texts_are_cut(void **state)
{
	struct buf text = BUF_INIT, out = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < SPREADSHEET_TEXT_MAX; i++)
		buf_put_text(&text, "\xf0\x9f\x98\x80");
	assert_false(spreadsheet_put_text(&out, buf_str(&text)));
	assert_int_equal(out.n, text.n);
	buf_put_text(&text, "END");
	buf_clear(&out);
	assert_true(spreadsheet_put_text(&out, buf_str(&text)));
	assert_int_equal(out.n, text.n - 3);
	buf_free(&text);
	buf_free(&out);
}

static void
write_sheet(const char *path)
{
	struct spreadsheet *x;

	assert_int_equal(spreadsheet_open(path, "sheet.tmp", &x, NULL), OK);
	for (uint32_t row = 0; row < 1000; row++) {
		spreadsheet_text(x, row, 0, "=1+1");
		spreadsheet_number(x, row, 1, row / 2.0);
		spreadsheet_bool(x, row, 3, row % 2 == 0);
		spreadsheet_text(x, row, 4, "http://example.org/ <&>\x01");
	}
	assert_int_equal(spreadsheet_close(&x, NULL), OK);
	assert_null(x);
}

static void
sheets_are_written(void **state)
{
	struct buf one = BUF_INIT, two = BUF_INIT;
	size_t open = count_open();
	struct spreadsheet *x;

	(void)state;
	assert_int_equal(tree_remove("sheet.tmp", NULL), OK);
	assert_int_equal(file_make_dir("sheet.tmp", NULL), OK);
	write_sheet("sheet.tmp/a.xlsx");
	write_sheet("sheet.tmp/b.xlsx");
	assert_int_equal(file_load("sheet.tmp/a.xlsx", 1 << 24, &one, NULL),
	    OK);
	assert_int_equal(file_load("sheet.tmp/b.xlsx", 1 << 24, &two, NULL),
	    OK);
	/* Whenever they are written. */
	assert_int_equal(one.n, two.n);
	assert_memory_equal(one.p, two.p, one.n);
	assert_memory_equal(one.p, "PK", 2);
	assert_int_equal(spreadsheet_open("sheet.tmp/c.xlsx", "sheet.tmp", &x,
	    NULL), OK);
	spreadsheet_text(x, 0, 0, "x");
	spreadsheet_abandon(&x);
	assert_null(x);
	assert_int_equal(count_open(), open);
	/* No temporary files are left. */
	assert_int_equal(file_remove("sheet.tmp/a.xlsx", NULL), OK);
	assert_int_equal(file_remove("sheet.tmp/b.xlsx", NULL), OK);
	assert_int_equal(file_remove("sheet.tmp/c.xlsx", NULL), OK);
	assert_int_equal(rmdir("sheet.tmp"), 0);
	buf_free(&one);
	buf_free(&two);
}

static void
a_place_that_is_none(void **state)
{
	struct spreadsheet *x;

	(void)state;
	size_t open = count_open();

	assert_int_equal(tree_remove("sheet.tmp", NULL), OK);
	assert_int_equal(file_make_dir("sheet.tmp", NULL), OK);
	assert_int_equal(spreadsheet_open("none.tmp/c.xlsx", "sheet.tmp", &x,
	    NULL), ERR_ABSENT);
	assert_null(x);
	assert_int_equal(count_open(), open);
	assert_int_equal(tree_remove("sheet.tmp", NULL), OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_as_cells_take_them),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(sheets_are_written),
		cmocka_unit_test(a_place_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
