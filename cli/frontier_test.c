#include "cli/frontier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "cli/frontier_lines.h"
#include "cli/verbs.h"

/* ---- words --------------------------------------------------------------- */

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
words(const char *want, const char *const *argv)
{
	struct frontier_words f;
	struct why w = WHY_INIT;
	struct buf b = BUF_INIT;
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	if (frontier_words(argc, argv, &f, &w) != OK) {
		assert_int_equal(w.err, ERR_USAGE);
		buf_put_text(&b, w.text);
	}
	for (int i = 0; w.err == OK && i < f.argc; i++)
		buf_printf(&b, i > 0 ? " %s" : "%s", f.argv[i]);
	assert_string_equal(buf_text(&b), want);
	frontier_words_free(&f);
	buf_free(&b);
}

static void
test_words(void **state)
{
	(void)state;
	words("frontier", ARGV("frontier"));
	words("frontier GetStats", ARGV("frontier", "GetStats"));
	words("frontier GetStats", ARGV("frontier", "getstats"));
	words("frontier GetURLStatus", ARGV("frontier", "get-url-status"));
	words("frontier PutURLs", ARGV("frontier", "PUT_URLS"));
	words("frontier PutURLs --host h --port 1 -t 4 -f -",
	    ARGV("frontier", "-t", "h", "-p1", "PutURLs", "-t", "4", "-f",
	    "-"));
	words("frontier ListNodes --host h --tls --ca f --token-file g",
	    ARGV("frontier", "--host=h", "--tls", "--ca", "f",
	    "--token-file=g", "listnodes"));
	words("frontier GetStats --json --data d --set a=b",
	    ARGV("frontier", "--json", "--data", "d", "--set", "a=b",
	    "GetStats"));
	words("frontier GetStats --host ", ARGV("frontier", "--host=",
	    "GetStats"));
	words("frontier --help --host h", ARGV("frontier", "-t", "h",
	    "--help"));
	words("frontier -h", ARGV("frontier", "-h"));
}

static void
test_wrong_words(void **state)
{
	(void)state;
	words("frontier: --port wants a value", ARGV("frontier", "-p"));
	words("frontier: --tls takes no value", ARGV("frontier", "--tls=1",
	    "GetStats"));
	words("frontier: there is no option -k before the verb; those of a "
	    "verb stand behind it", ARGV("frontier", "-k", "x", "GetStats"));
	words("there is no verb frontier GetStat; did you mean frontier "
	    "GetStats; argiope frontier --help lists them",
	    ARGV("frontier", "GetStat"));
	words("PutDiscovered is argiope frontier PutURLs --batch N",
	    ARGV("frontier", "put-discovered"));
	/* A hyphen alone is no verb, and no option. */
	words("there is no verb frontier -; argiope frontier --help lists "
	    "them", ARGV("frontier", "-"));
}

static void
test_exit(void **state)
{
	(void)state;
	assert_int_equal(frontier_exit(0), 0);
	assert_int_equal(frontier_exit(1), 1);
	assert_int_equal(frontier_exit(err_exit(ERR_USAGE)), 2);
	assert_int_equal(frontier_exit(err_exit(ERR_UNREACHED)), 1);
	assert_int_equal(frontier_exit(err_exit(ERR_CONFIG)), 1);
}

/* ---- lines --------------------------------------------------------------- */

static char folder[] = "/tmp/argiope-frontier-XXXXXX";
static char path[64];

static int
setup(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL;
}

static int
teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

static const char *
place(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void
write_file(const char *name, struct str text, bool gzip)
{
	/* "T" is zlib's word for no gzip at all. */
	gzFile f = gzopen(place(name), gzip ? "wb" : "wbT");

	assert_non_null(f);
	assert_int_equal(gzwrite(f, text.p, (unsigned)text.n), text.n);
	assert_int_equal(gzclose(f), Z_OK);
}

static bool came;

static void
ready(void *arg)
{
	(void)arg;
	came = true;
}

/* "1:a|2:b|3 too long|", then why it ended. */
static void
lines(const char *name, const char *want)
{
	struct loop *loop = loop_new("test");
	struct frontier_lines *l = NULL;
	struct why w = WHY_INIT;
	struct buf got = BUF_INIT;
	enum frontier_line found = LINE_LATER;
	uint64_t number;
	struct str line;

	assert_int_equal(frontier_lines_open(place(name), loop, ready, NULL,
	    &l, &w), OK);
	while (found != LINE_END) {
		found = frontier_lines_next(l, &line, &number);
		if (found == LINE_HERE)
			buf_printf(&got, "%d:%.*s|", (int)number,
			    STR_FMT(str_cut(line, 0, 20)));
		else if (found == LINE_TOO_LONG)
			buf_printf(&got, "%d too long|", (int)number);
		else if (found == LINE_LATER)
			loop_run_until(loop, &came);
		came = false;
	}
	buf_put_text(&got, err_name(frontier_lines_why(l)->err));
	assert_string_equal(buf_text(&got), want);
	assert_true(frontier_lines_close(&l));
	buf_free(&got);
	loop_free(&loop);
	unlink(path);
}

static void
test_lines(void **state)
{
	(void)state;
	write_file("a", STR("one\n\ntwo\r\nthree"), false);
	lines("a", "1:one|2:|3:two\r|4:three|OK");
	write_file("a", STR("one\n"), false);
	lines("a", "1:one|OK");
	write_file("a", STR(""), false);
	lines("a", "OK");
	write_file("a.gz", STR("one\ntwo"), true);
	lines("a.gz", "1:one|2:two|OK");
}

/* Longer than a chunk, longer than what may be, and behind them. */
static void
test_long_lines(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	memset(buf_grow(&b, 300000), 'a', 300000);
	buf_put_text(&b, "\nb\n");
	memset(buf_grow(&b, FRONTIER_LINE_BYTES_MAX + 1), 'c',
	    FRONTIER_LINE_BYTES_MAX + 1);
	buf_put_text(&b, "\nd\n");
	memset(buf_grow(&b, FRONTIER_LINE_BYTES_MAX + 400000), 'e',
	    FRONTIER_LINE_BYTES_MAX + 400000);
	write_file("a.gz", buf_str(&b), true);
	lines("a.gz", "1:aaaaaaaaaaaaaaaaaaaa|2:b|3 too long|4:d|5 too long|"
	    "OK");
	buf_free(&b);
}

static void
test_cut_file(void **state)
{
	struct buf b = BUF_INIT, packed = BUF_INIT;
	uint64_t x = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		buf_printf(&b, "%llx\n", (unsigned long long)x);
	}
	write_file("a.gz", buf_str(&b), true);
	FILE *f = fopen(path, "rb");
	buf_reserve(&packed, 1 << 20);
	packed.n = fread(packed.p, 1, 1 << 20, f);
	fclose(f);
	assert_true(packed.n > 100000);
	write_file("a.gz", str_cut(buf_str(&packed), 0, 1000), false);
	struct frontier_lines *l = NULL;
	struct loop *loop = loop_new("test");
	struct why w = WHY_INIT;
	enum frontier_line found = LINE_LATER;
	struct str line;
	uint64_t number = 0;
	assert_int_equal(frontier_lines_open(path, loop, ready, NULL, &l, &w),
	    OK);
	while (found != LINE_END) {
		found = frontier_lines_next(l, &line, &number);
		if (found == LINE_LATER)
			loop_run_until(loop, &came);
		came = false;
	}
	/* What stands before the cut is there. */
	assert_true(number > 50 && number < 1000);
	assert_int_equal(frontier_lines_why(l)->err, ERR_CORRUPT);
	assert_non_null(strstr(frontier_lines_why(l)->text, "is cut off"));
	assert_true(frontier_lines_close(&l));
	loop_free(&loop);
	unlink(path);
	assert_int_equal(frontier_lines_open(place("none"), NULL, ready, NULL,
	    &l, &w), ERR_ABSENT);
	buf_free(&b);
	buf_free(&packed);
}

/* ---- results ------------------------------------------------------------- */

static void
test_out(void **state)
{
	static const char *const names[] = { "o", "o.gz" };
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;
	struct frontier_out o;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(frontier_out_open(&o, place(names[i]), &w),
		    OK);
		frontier_out_text(&o, &b, "\xc3\xa4\n");
		frontier_out_date(&b, 12, false);
		assert_int_equal(frontier_out_put(&o, &b, &w), OK);
		assert_int_equal(b.n, 0);
		assert_int_equal(frontier_out_close(&o, &w), OK);
		FILE *f = fopen(path, "rb");
		int first = fgetc(f);
		fclose(f);
		assert_int_equal(first, i == 0 ? 0xc3 : 0x1f);
		lines(names[i], "1:\xc3\xa4|2:12|OK");
	}
	o.terminal = true;
	frontier_out_text(&o, &b, "a\x1b\xc3");
	assert_string_equal(buf_text(&b), "a\\x1b\\xc3");
	assert_int_equal(frontier_out_open(&o, "/dev/full", &w), OK);
	enum err e = frontier_out_put(&o, &b, &w);
	if (e == OK)
		e = frontier_out_close(&o, &w);
	assert_int_equal(e, ERR_DISK_FULL);
	w = WHY_INIT;
	assert_int_equal(frontier_out_open(&o, "/nowhere/at/all", &w),
	    ERR_ABSENT);
	buf_free(&b);
}

static void
test_dates(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	setenv("TZ", "XYZ-5", 1);
	frontier_out_date(&b, 1795163100, true);
	assert_string_equal(buf_text(&b), "2026-11-20T13:25:00");
	buf_clear(&b);
	frontier_out_date(&b, UINT64_MAX, true);
	assert_string_equal(buf_text(&b), "18446744073709551615");
	buf_free(&b);
}

int
main(void)
{
	static const struct verb verbs[] = {
#define VERB_ROW(name) { &name##_verb, name##_run },
		VERBS_URLFRONTIER(VERB_ROW)
#undef VERB_ROW
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_wrong_words),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_cut_file),
		cmocka_unit_test(test_out),
		cmocka_unit_test(test_dates),
	};

	verbs_use(verbs, ARRAY_LEN(verbs));
	return cmocka_run_group_tests(tests, setup, teardown);
}
