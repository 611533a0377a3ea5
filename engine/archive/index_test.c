#include "engine/archive/index.h"

#include "engine/archive/archive_sample_testing.h"

/* --- sorting ------------------------------------------------------------ */

struct order {
	struct buf last;
	size_t lines;
	bool rising;
};

static enum err
see_line(void *arg, struct str line, struct why *w)
{
	struct order *o = arg;

	(void)w;
	if (o->lines++ > 0)
		o->rising &= str_cmp(buf_str(&o->last), line) < 0;
	buf_clear(&o->last);
	buf_put_str(&o->last, line);
	return OK;
}

/* Few runs, as many as are merged at once, more, and many more. */
static void
test_sort(void **state)
{
	static const size_t limits[] = { 1 << 20, 4096, 2200, 600, 64 };
	struct sample_dir d;
	size_t runs_most = 0, runs, left;
	struct str *names;

	(void)state;
	sample_dir_make(&d);
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct sorter *s = sorter_new(sample_path(&d, "sort"),
		    limits[i]);
		struct order o = { BUF_INIT, 0, true };
		struct buf line = BUF_INIT;
		unsigned x = 1;
		for (int k = 0; k < 5000; k++) {
			x = x * 1103515245 + 12345;
			buf_clear(&line);
			/* Some 1,900 different lines, the empty one too. */
			if (k != 77)
				buf_printf(&line, "%u", x >> 16 & 2047);
			assert_int_equal(sorter_put(s, buf_str(&line), NULL),
			    OK);
		}
		assert_int_equal(file_list(d.path, &d.arena, &names, &runs,
		    NULL), OK);
		runs_most = MAX(runs_most, runs);
		assert_int_equal(sorter_finish(s, see_line, &o, NULL), OK);
		assert_true(o.rising);
		assert_in_range(o.lines, 1700, 2049);
		sorter_free(&s);
		buf_free(&line);
		buf_free(&o.last);
	}
	assert_true(runs_most > SORT_RUNS_MAX * 10);
	assert_int_equal(file_list(d.path, &d.arena, &names, &left, NULL),
	    OK);
	assert_int_equal(left, 0);
	sample_dir_remove(&d);
}

static void
test_sort_limit(void **state)
{
	struct sorter *s = sorter_new("/tmp/none", 1 << 20);
	struct str line = { mem_new(SORT_LINE_MAX + 1), SORT_LINE_MAX };

	(void)state;
	assert_int_equal(sorter_put(s, line, NULL), OK);
	line.n++;
	assert_int_equal(sorter_put(s, line, NULL), ERR_INPUT);
	free((void *)(uintptr_t)line.p);
	sorter_free(&s);
}

/* --- lines -------------------------------------------------------------- */

static enum err
collect(void *arg, struct str line, struct why *w)
{
	(void)w;
	buf_put_str(arg, line);
	buf_put_char(arg, '\n');
	return OK;
}

static size_t
count_lines(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '\n';
	return n;
}

/* Seven answers of the sample crawl, each line leads to its record. */
static void
test_crawl(void **state)
{
	struct sample_dir d;
	struct archive_index_counts n;
	struct buf text = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	struct archive_catalogue c = sample_list(&d);
	assert_int_equal(archive_index(&c, sample_path(&d, "s"), 1 << 20,
	    collect, &text, &n, &w), OK);
	assert_int_equal(n.records, 14);
	assert_int_equal(n.lines, 6);
	assert_int_equal(count_lines(buf_str(&text)), 6);
	assert_true(str_starts(buf_str(&text), STR("org,example)/ "
	    "20261028083816 {\"url\":\"http://example.org/\",\"mime\":"
	    "\"text/html\",\"status\":\"200\",\"digest\":\"sha1:")));
	buf_free(&text);
	sample_dir_remove(&d);
}

/* Keys of the suite's POST file, as pywb makes them. */
static void
test_post(void **state)
{
	struct sample_dir d;
	struct archive_index_counts n;
	struct buf bytes = BUF_INIT, text = BUF_INIT;

	(void)state;
	sample_suite("warc/test/data/post-test.warc.gz", &bytes);
	sample_dir_make(&d);
	sample_write(&d, "post.warc.gz", buf_str(&bytes));
	struct archive_catalogue c = sample_list(&d);
	assert_int_equal(archive_index(&c, sample_path(&d, "s"), 1 << 20,
	    collect, &text, &n, NULL), OK);
	static const struct str keys[] = {
		STR("org,httpbin)/post?__wb_method=post&a=1&b=[]&c=3 "
		    "20140610001151 {"),
		STR("org,httpbin)/post?__wb_method=post&data=^&foo=bar "
		    "20140610001255 {"),
		STR("org,httpbin)/post?__wb_method=post&foo=bar&test=abc "
		    "20140610000859 {"),
	};
	struct str rest = buf_str(&text), line;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		assert_true(str_split(&rest, '\n', &line));
		assert_true(str_starts(line, keys[i]));
	}
	assert_int_equal(n.lines, 3);
	buf_free(&bytes);
	buf_free(&text);
	sample_dir_remove(&d);
}

/* A request in front of its answer (wget) pairs as well as behind (ours). */
static void
test_pairing(void **state)
{
	static const char *const orders[] = { "RA", "AR" };

	(void)state;
	for (size_t o = 0; o < 2; o++) {
		struct sample_dir d;
		struct archive_index_counts n;
		struct buf bytes = BUF_INIT, text = BUF_INIT;
		for (const char *p = orders[o]; *p != '\0'; p++)
			buf_printf(&bytes, "WARC/1.0\r\nWARC-Type: %s\r\n"
			    "WARC-Record-ID: <urn:uuid:%c>\r\n"
			    "WARC-Date: 2020-01-02T03:04:05Z\r\n"
			    "WARC-Target-URI: <http://a.b/>\r\n%s"
			    "Content-Length: %d\r\n\r\n%s\r\n\r\n",
			    *p == 'R' ? "request" : "response", *p,
			    *p == 'A' ? "WARC-Concurrent-To: <urn:uuid:R>"
			    "\r\n" : "", *p == 'R' ? 21 : 19,
			    *p == 'R' ? "PUT / HTTP/1.1\r\n\r\nxyz" :
			    "HTTP/1.1 201 OK\r\n\r\n");
		sample_dir_make(&d);
		sample_write(&d, "a.warc", buf_str(&bytes));
		struct archive_catalogue c = sample_list(&d);
		assert_int_equal(archive_index(&c, sample_path(&d, "s"),
		    1 << 20, collect, &text, &n, NULL), OK);
		assert_int_equal(n.damaged, 0);
		assert_true(str_starts(buf_str(&text), STR("b,a)/?"
		    "__wb_method=put&__wb_post_data=ehl6 20200102030405")) ||
		    str_find(buf_str(&text), STR("\"method\":\"PUT\"")) <
		    text.n);
		/* Nothing computed: a digest of the empty payload. */
		assert_true(str_find(buf_str(&text), STR("\"digest\":\"sha1:"
		    "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\"")) < text.n);
		assert_true(str_find(buf_str(&text), STR("\"status\":\"201\""))
		    < text.n);
		buf_free(&bytes);
		buf_free(&text);
		sample_dir_remove(&d);
	}
}

/* --- finishing a file --------------------------------------------------- */

static void
load(struct sample_dir *d, const char *name, struct buf *out)
{
	buf_clear(out);
	assert_int_equal(file_load(sample_path(d, name), 1 << 20, out, NULL),
	    OK);
}

static void
finish(struct sample_dir *d, struct str lines, struct buf *out)
{
	struct why w = WHY_INIT;
	int fd;

	sample_write(d, "lines", lines);
	assert_int_equal(archive_cdxj_finish(sample_path(d, SAMPLE_NAME_1),
	    sample_path(d, "lines"), sample_path(d, "x.cdxj"), &w), OK);
	assert_int_equal(file_open(sample_path(d, "lines"), FILE_READ, &fd,
	    NULL), ERR_ABSENT);
	load(d, "x.cdxj", out);
}

static void
test_finish(void **state)
{
	struct sample_dir d;
	struct archive_index_counts n;
	struct buf want = BUF_INIT, got = BUF_INIT, lines = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	const char *paths[] = { sample_path(&d, SAMPLE_NAME_1) };
	struct archive_catalogue c;
	assert_int_equal(archive_list(paths, 1, false, &d.arena, &c, &w), OK);
	assert_int_equal(archive_index_file(&c, sample_path(&d, "w.cdxj"), &n,
	    &w), OK);
	load(&d, "w.cdxj", &want);
	assert_int_equal(count_lines(buf_str(&want)), 3);
	assert_int_equal(archive_index_lines(&c, collect, &lines, &n, &w),
	    OK);
	struct str good = buf_str(&lines);
	/* Lines as they should be are taken as they are. */
	struct buf marked = BUF_INIT;
	struct str rest = good, line;
	while (rest.n > 0 && str_split(&rest, '\n', &line)) {
		size_t at = str_find(line, STR("\"mime\":\"text/html\""));
		buf_put_str(&marked, str_cut(line, 0, at));
		buf_put_text(&marked, "\"mime\":\"text/mark\"");
		buf_put_str(&marked, str_from(line, at + 18));
		buf_put_char(&marked, '\n');
	}
	finish(&d, buf_str(&marked), &got);
	assert_true(str_find(buf_str(&got), STR("text/mark")) < got.n);
	assert_int_equal(got.n, want.n);
	/* Cut, without the last line, with rubbish, or none: made anew. */
	size_t last = good.n - 1;
	while (good.p[last - 1] != '\n')
		last--;
	struct str bad[] = { str_cut(good, 0, good.n - 5),
		str_cut(good, 0, last), STR("rubbish\n"), STR("") };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		finish(&d, bad[i], &got);
		assert_true(str_eq(buf_str(&got), buf_str(&want)));
	}
	/* No lines file at all. */
	assert_int_equal(archive_cdxj_finish(paths[0],
	    sample_path(&d, "absent"), sample_path(&d, "x.cdxj"), &w), OK);
	load(&d, "x.cdxj", &got);
	assert_true(str_eq(buf_str(&got), buf_str(&want)));
	buf_free(&want);
	buf_free(&got);
	buf_free(&lines);
	buf_free(&marked);
	sample_dir_remove(&d);
}

/* A crash cuts the WARC file's tail, but not the lines of what was there. */
static void
test_finish_beyond(void **state)
{
	struct sample_dir d;
	struct archive_index_counts n;
	struct buf want = BUF_INIT, got = BUF_INIT, lines = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	const char *paths[] = { sample_path(&d, SAMPLE_NAME_1) };
	struct archive_catalogue c;
	assert_int_equal(archive_list(paths, 1, false, &d.arena, &c, &w), OK);
	assert_int_equal(archive_index_file(&c, sample_path(&d, "w.cdxj"), &n,
	    &w), OK);
	load(&d, "w.cdxj", &want);
	assert_int_equal(archive_index_lines(&c, collect, &lines, &n, &w),
	    OK);
	size_t whole = lines.n;
	/* A record that began exactly at the end, and half a line. */
	buf_printf(&lines, "org,example)/z 20261028083816 {\"url\":"
	    "\"http://example.org/z\",\"mime\":\"text/html\",\"status\":"
	    "\"200\",\"length\":\"700\",\"offset\":\"%llu\",\"filename\":"
	    "\"%s\"}\n", (unsigned long long)c.files[0].size,
	    SAMPLE_NAME_1);
	size_t beyond = lines.n;
	buf_put_text(&lines, "org,example)/zz 2026");
	size_t ends[] = { whole, beyond, lines.n };
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		finish(&d, str_cut(buf_str(&lines), 0, ends[i]), &got);
		if (!str_eq(buf_str(&got), buf_str(&want)))
			fail_msg("case %zu:\n%s", i, buf_text(&got));
	}
	buf_free(&want);
	buf_free(&got);
	buf_free(&lines);
	sample_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_sort_limit),
		cmocka_unit_test(test_crawl),
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_pairing),
		cmocka_unit_test(test_finish),
		cmocka_unit_test(test_finish_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
