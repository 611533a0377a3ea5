#include "engine/archive/archive_sample_testing.h"
#include "engine/archive/capture.h"
#include "engine/archive/list.h"

static void
test_names(void **state)
{
	struct arena a = ARENA_INIT;
	struct archive_name n;
	struct str name = archive_name_make(STR("a-b"), SAMPLE_DATE, 12,
	    STR("abcd0123"), &a);

	(void)state;
	assert_string_equal(name.p,
	    "a-b-20261028083816123-00012-abcd0123.warc.gz");
	assert_true(archive_name_parse(name, &n));
	assert_true(str_eq(n.prefix, STR("a-b")));
	assert_int_equal(n.serial, 12);
	assert_true(str_eq(n.token, STR("abcd0123")));
	assert_true(archive_name_parse(
	    STR("1-20261028083816123-123456-abcd0123.warc.zst"), &n));
	assert_true(n.zstd);
	static const struct str bad[] = {
		STR(""), STR("x.warc.gz"), STR("-.warc.gz"),
		STR("a-2026102808381612-00012-abcd0123.warc.gz"),
		STR("a-20261028083816123-0012-abcd0123.warc.gz"),
		STR("a-20261028083816123-00012-Abcd0123.warc.gz"),
		STR("a-20261028083816123-00012-abcd012.warc.gz"),
		STR("-20261028083816123-00012-abcd0123.warc.gz"),
		STR("a-20261028083816123-00012-abcd0123.warc.gz.open"),
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(archive_name_parse(bad[i], &n));
	arena_free(&a);
}

static void
test_list(void **state)
{
	struct sample_dir d;
	struct archive_catalogue c;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	sample_write(&d, "b.warc.gz", STR("x"));
	sample_write(&d, "a.warc", STR("xy"));
	sample_write(&d, "c.cdxj", STR(""));
	sample_write(&d, ".d.warc.gz", STR(""));
	sample_write(&d, "e.warc.gz.open", STR(""));
	c = sample_list(&d);
	assert_int_equal(c.n, 2);
	assert_true(str_eq(c.files[0].name, STR("a.warc")));
	assert_int_equal(c.files[0].size, 2);
	/* A file that is named is taken whatever its name. */
	const char *paths[] = { sample_path(&d, "e.warc.gz.open") };
	assert_int_equal(archive_list(paths, 1, false, &d.arena, &c, &w), OK);
	assert_int_equal(c.n, 1);
	paths[0] = sample_path(&d, "none");
	assert_int_equal(archive_list(paths, 1, false, &d.arena, &c, &w),
	    ERR_ABSENT);
	sample_dir_remove(&d);
}

static void
test_capture(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct capture_reader *r = capture_reader_new(1 << 20);
	struct capture c;
	struct why w = WHY_INIT;
	struct buf body = BUF_INIT;
	int fd;

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, SAMPLE_NAME_1);
	sample_page(&f, "http://example.org/", "the body", 5, 0);
	struct warc_member m = f.last[0], q = f.last[1];
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	assert_int_equal(file_open(sample_path(&d, SAMPLE_NAME_1), FILE_READ,
	    &fd, &w), OK);
	/* The unpacked length is right, not known, and wrong. */
	const uint64_t ulens[] = { m.ulen, 0, 7 };
	for (size_t i = 0; i < ARRAY_LEN(ulens); i++) {
		assert_int_equal(capture_read(r, fd, m.at, m.clen, ulens[i],
		    &c, &w), OK);
		assert_int_equal(c.type, WARC_RESPONSE);
		assert_int_equal(c.http.status, 200);
		assert_int_equal(c.seq, 5);
		assert_int_equal(c.group, 2);
		assert_int_equal(c.clen, m.clen);
		assert_int_equal(c.ulen, m.ulen);
		assert_true(c.has_facts);
		assert_int_equal(c.facts.crawl, 7);
		assert_true(str_eq(c.uri, STR("http://example.org/")));
		assert_true(str_eq(str_from(c.id, 9), str_of(m.id)));
		assert_true(str_eq(c.body, STR("the body")));
		buf_clear(&body);
		assert_int_equal(capture_decode(&c,
		    HTTP_DECODE_LIMITS_DEFAULT, &body), HTTP_FINE);
		assert_string_equal(buf_text(&body), "the body");
	}
	assert_int_equal(capture_read(r, fd, q.at, q.clen, q.ulen, &c, &w),
	    OK);
	assert_int_equal(c.type, WARC_REQUEST);
	assert_true(str_eq(c.http.method, STR("GET")));
	assert_int_equal(capture_read(r, fd, m.at + 1, m.clen, 0, &c, &w),
	    ERR_CORRUPT);
	assert_int_equal(capture_read(r, fd, m.at, m.clen - 1, 0, &c, NULL),
	    ERR_CORRUPT);
	assert_int_equal(capture_read(r, fd, m.at, 0, 0, &c, NULL),
	    ERR_CORRUPT);
	assert_int_equal(capture_read(r, fd, 1 << 30, m.clen, 0, &c, NULL),
	    ERR_CORRUPT);
	assert_int_equal(capture_read(r, fd, m.at, (1 << 20) + 1, 0, &c,
	    NULL), ERR_FULL);
	file_close(&fd);
	capture_reader_free(&r);
	buf_free(&body);
	sample_dir_remove(&d);
}

/*
 * A record beyond the limit is refused, whatever its lengths were said; one of
 * more than any head may have is read.
 */
static void
test_capture_limit(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct capture c;
	struct buf text = BUF_INIT;
	int fd;

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, SAMPLE_NAME_1);
	while (text.n < HTTP_LIMITS_DEFAULT.bytes_max + 100)
		buf_put_text(&text, "aaaaaaaaaa");
	sample_page(&f, "http://example.org/", buf_text(&text), 5, 0);
	struct warc_member m = f.last[0];
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	assert_int_equal(file_open(sample_path(&d, SAMPLE_NAME_1), FILE_READ,
	    &fd, NULL), OK);
	struct capture_reader *r = capture_reader_new(m.ulen);
	assert_int_equal(capture_read(r, fd, m.at, m.clen, 0, &c, NULL), OK);
	assert_int_equal(c.body.n, text.n);
	capture_reader_free(&r);
	r = capture_reader_new(m.ulen - 1);
	assert_int_equal(capture_read(r, fd, m.at, m.clen, 0, &c, NULL),
	    ERR_FULL);
	capture_reader_free(&r);
	file_close(&fd);
	buf_free(&text);
	sample_dir_remove(&d);
}

static void
read_stream(const char *path, uint64_t offset, struct buf *out)
{
	struct capture_stream *s;
	struct why w = WHY_INIT;
	enum http_damage damage;

	assert_int_equal(capture_stream_open(path, offset,
	    HTTP_DECODE_LIMITS_DEFAULT, &s, &w), OK);
	buf_clear(out);
	while (capture_stream_next(s, out, &damage))
		assert_int_equal(damage, HTTP_FINE);
	assert_int_equal(damage, HTTP_FINE);
	capture_stream_close(&s);
}

static void
test_stream(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct buf text = BUF_INIT, out = BUF_INIT;
	struct capture_stream *s;

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, SAMPLE_NAME_1);
	for (unsigned i = 0; text.n < 3000000; i++)
		buf_printf(&text, "line %u\n", i);
	sample_page(&f, "http://example.org/", buf_text(&text), 5, 0);
	uint64_t big = f.last[0].at;
	sample_page(&f, "http://example.org/2", "", 6, 0);
	uint64_t empty = f.last[0].at;
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	const char *path = sample_path(&d, SAMPLE_NAME_1);
	read_stream(path, big, &out);
	assert_true(str_eq(buf_str(&out), buf_str(&text)));
	read_stream(path, empty, &out);
	assert_int_equal(out.n, 0);
	assert_int_equal(capture_stream_open(path, big + 1,
	    HTTP_DECODE_LIMITS_DEFAULT, &s, NULL), ERR_CORRUPT);
	buf_free(&text);
	buf_free(&out);
	sample_dir_remove(&d);
}

static enum err
collect_row(void *arg, const struct archive_row *r, struct why *w)
{
	(void)w;
	archive_row_text(r, arg);
	return OK;
}

static void
test_rows(void **state)
{
	struct sample_dir d;
	struct buf text = BUF_INIT;
	struct archive_found found = { .url = STR("http://example.org/d") };
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	struct archive_catalogue c = sample_list(&d);
	assert_int_equal(archive_rows(&c, collect_row, &text, &w), OK);
	struct str all = buf_str(&text), line;
	size_t lines = 0;
	while (str_split(&all, '\n', &line))
		lines += line.n > 0;
	assert_int_equal(lines, 14);
	assert_true(str_find(buf_str(&text), STR(" response 200 text/html 77 "
	    "#2 http://example.org/b\n")) < text.n);
	assert_int_equal(archive_find(&c, &found, &w), OK);
	assert_true(str_eq(found.file->name, STR(SAMPLE_NAME_2)));
	found = (struct archive_found){ .crawl = 7, .seq = 2 };
	assert_int_equal(archive_find(&c, &found, &w), OK);
	assert_true(str_eq(found.file->name, STR(SAMPLE_NAME_1)));
	found = (struct archive_found){ .crawl = 7, .seq = 9 };
	assert_int_equal(archive_find(&c, &found, &w), ERR_ABSENT);
	buf_free(&text);
	sample_dir_remove(&d);
}

static void
cat(const char *path, uint64_t offset, enum archive_part part,
    struct buf *out)
{
	char *text = NULL;
	size_t n = 0;
	enum http_damage damage;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(archive_cat(path, offset, part,
	    HTTP_DECODE_LIMITS_DEFAULT, f, &damage, NULL), OK);
	assert_int_equal(damage, HTTP_FINE);
	fclose(f);
	buf_clear(out);
	buf_put(out, text, n);
	free(text);
}

static void
test_cat(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct str body = STR("5\r\nhello\r\n0\r\n\r\n");
	struct buf out = BUF_INIT;
	enum http_damage damage;

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, SAMPLE_NAME_1);
	struct warc_exchange x = sample_exchange(&body, NULL);
	x.response_head = STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
	    "\r\n\r\n");
	assert_int_equal(warc_put_exchange(f.writer, &x, &f.bytes, f.last,
	    NULL), OK);
	uint64_t at = f.last[0].at;
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	const char *path = sample_path(&d, SAMPLE_NAME_1);
	cat(path, at, ARCHIVE_BODY, &out);
	assert_string_equal(buf_text(&out), "hello");
	cat(path, at, ARCHIVE_PAYLOAD, &out);
	assert_string_equal(buf_text(&out), "5\r\nhello\r\n0\r\n\r\n");
	cat(path, at, ARCHIVE_BLOCK, &out);
	assert_string_equal(buf_text(&out), "HTTP/1.1 200 OK\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
	cat(path, at, ARCHIVE_RECORD, &out);
	assert_true(str_starts(buf_str(&out), STR("WARC/1.1\r\nWARC-Type: ")));
	assert_true(str_ends(buf_str(&out), STR("0\r\n\r\n\r\n\r\n")));
	assert_int_equal(out.n, f.last[0].ulen);
	assert_int_equal(archive_cat(path, at + 1, ARCHIVE_BODY,
	    HTTP_DECODE_LIMITS_DEFAULT, stdout, &damage, NULL), ERR_CORRUPT);
	buf_free(&out);
	sample_dir_remove(&d);
}

static size_t
cat_limited(const char *path, uint64_t at, enum archive_part part,
    struct http_decode_limits limits, enum http_damage *damage)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(archive_cat(path, at, part, limits, f, damage,
	    NULL), OK);
	fclose(f);
	free(text);
	return n;
}

/* Every part stops at the limit, and is whole up to it. */
static void
test_cat_limit(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct buf zeros = BUF_INIT, bomb = BUF_INIT;
	size_t plain_n = (size_t)40 << 20;
	enum http_damage damage;

	(void)state;
	buf_reserve(&zeros, plain_n);
	memset(zeros.p, 'x', plain_n);
	zeros.n = plain_n;
	struct gzip_writer *packer = gzip_writer_new(6);
	struct str parts[] = { buf_str(&zeros) };
	struct gzip_lengths lengths;
	assert_int_equal(gzip_put(packer, parts, 1, &bomb, &lengths, NULL),
	    OK);
	gzip_writer_free(&packer);
	struct str body = buf_str(&bomb);
	sample_dir_make(&d);
	sample_file_begin(&f, SAMPLE_NAME_1);
	struct warc_exchange x = sample_exchange(&body, NULL);
	x.response_head = STR("HTTP/1.1 200 OK\r\nContent-Encoding: gzip"
	    "\r\n\r\n");
	assert_int_equal(warc_put_exchange(f.writer, &x, &f.bytes, f.last,
	    NULL), OK);
	uint64_t at = f.last[0].at;
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	const char *path = sample_path(&d, SAMPLE_NAME_1);
	for (int part = ARCHIVE_RECORD; part <= ARCHIVE_BODY; part++) {
		enum archive_part p = (enum archive_part)part;
		struct http_decode_limits l = { UINT64_MAX, 2000 };
		size_t all = cat_limited(path, at, p, l, &damage);
		assert_int_equal(damage, HTTP_FINE);
		assert_true(p != ARCHIVE_BODY || all == plain_n);
		l.bytes_max = all;
		assert_int_equal(cat_limited(path, at, p, l, &damage), all);
		assert_int_equal(damage, HTTP_FINE);
		l.bytes_max = all - 1;
		assert_int_equal(cat_limited(path, at, p, l, &damage),
		    all - 1);
		assert_int_equal(damage, HTTP_TOO_LONG);
	}
	size_t n = cat_limited(path, at, ARCHIVE_BODY,
	    (struct http_decode_limits){ UINT64_MAX, 20 }, &damage);
	assert_int_equal(damage, HTTP_TOO_DENSE);
	assert_true(n < plain_n);
	buf_free(&zeros);
	buf_free(&bomb);
	sample_dir_remove(&d);
}

static enum err
count_row(void *arg, const struct archive_row *r, struct why *w)
{
	struct row_counts {
		size_t whole, damaged;
	} *n = arg;

	(void)w;
	n->damaged += r->damage != NULL;
	n->whole += r->damage == NULL;
	return OK;
}

/* A file that is being written is whole up to its last whole member. */
static void
test_open_file(void **state)
{
	struct {
		size_t whole, damaged;
	} n;
	struct sample_dir d;
	struct sample_file f;
	struct archive_catalogue c;
	const char *paths[1];

	(void)state;
	sample_dir_make(&d);
	paths[0] = d.path;
	assert_int_equal(file_make_dir(sample_path(&d, ".argiope"), NULL),
	    OK);
	assert_int_equal(file_make_dir(sample_path(&d, ".argiope/7"), NULL),
	    OK);
	const char *path = sample_path(&d, ".argiope/7/" SAMPLE_NAME_1
	    ".open");
	sample_file_begin(&f, SAMPLE_NAME_1);
	size_t begun = f.bytes.n;
	sample_page(&f, "http://example.org/", "x", 1, 0);
	for (size_t cut = begun; cut <= f.bytes.n; cut++) {
		sample_write(&d, ".argiope/7/" SAMPLE_NAME_1 ".open",
		    str_cut(buf_str(&f.bytes), 0, cut));
		assert_int_equal(archive_list(paths, 1, false, &d.arena, &c,
		    NULL), OK);
		assert_int_equal(c.n, 0);
		assert_int_equal(archive_list(paths, 1, true, &d.arena, &c,
		    NULL), OK);
		assert_int_equal(c.n, 1);
		assert_true(c.files[0].open);
		assert_true(str_eq(c.files[0].name, STR(SAMPLE_NAME_1)));
		memset(&n, 0, sizeof(n));
		assert_int_equal(archive_rows(&c, count_row, &n, NULL), OK);
		assert_int_equal(n.damaged, 0);
		assert_int_equal(n.whole, 1 + (cut >= f.last[1].at) +
		    (cut == f.bytes.n));
	}
	/* Damage in its middle is damage. */
	f.bytes.p[f.last[0].at + 80] ^= 0x40;
	sample_write(&d, ".argiope/7/" SAMPLE_NAME_1 ".open",
	    buf_str(&f.bytes));
	memset(&n, 0, sizeof(n));
	assert_int_equal(archive_rows(&c, count_row, &n, NULL), OK);
	assert_int_equal(n.damaged, 1);
	f.bytes.p[f.last[0].at + 80] ^= 0x40;
	/* It got its name after it was listed; then it is gone. */
	unlink(path);
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	memset(&n, 0, sizeof(n));
	assert_int_equal(archive_rows(&c, count_row, &n, NULL), OK);
	assert_int_equal(n.whole, 3);
	unlink(sample_path(&d, SAMPLE_NAME_1));
	assert_int_equal(archive_rows(&c, count_row, &n, NULL), OK);
	/* Under both names it is one. */
	sample_write(&d, SAMPLE_NAME_1, STR("x"));
	sample_write(&d, ".argiope/7/" SAMPLE_NAME_1 ".open", STR("x"));
	assert_int_equal(archive_list(paths, 1, true, &d.arena, &c, NULL), OK);
	assert_int_equal(c.n, 1);
	assert_false(c.files[0].open);
	unlink(path);
	rmdir(sample_path(&d, ".argiope/7"));
	rmdir(sample_path(&d, ".argiope"));
	sample_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_capture_limit),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_cat),
		cmocka_unit_test(test_cat_limit),
		cmocka_unit_test(test_open_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
