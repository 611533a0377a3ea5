#include "engine/archive/reindex.h"

#include "engine/archive/archive_sample_testing.h"

struct told {
	struct buf text;
	size_t crawls;
};

static enum err
tell_crawl(void *arg, const struct archive_crawl *c, struct why *w)
{
	struct told *t = arg;

	(void)w;
	t->crawls++;
	assert_int_equal(c->crawl, 7);
	assert_true(str_eq(c->name, STR("sample")));
	assert_true(str_eq(c->policy, STR("{}")));
	assert_int_equal(c->seeds_n, 1);
	assert_true(str_eq(c->seeds[0], STR("http://example.org/")));
	return OK;
}

static enum err
tell_capture(void *arg, const struct archive_capture *c, struct why *w)
{
	struct told *t = arg;

	(void)w;
	buf_printf(&t->text, "%u/%llu %d %u %u %lld %lld %.*s %.*s %.*s%s\n",
	    c->crawl, (unsigned long long)c->seq, c->status, c->hops,
	    c->depth, (long long)(c->start.us - SAMPLE_DATE.us),
	    (long long)c->duration_us, STR_FMT(c->type), STR_FMT(c->url),
	    STR_FMT(c->final_url), c->digest.kind == DIGEST_SHA1 ? "" : "!");
	assert_int_equal(c->group, 2);
	assert_true(c->clen > 0 && c->ulen > c->body_at);
	assert_int_equal(c->ulen, c->body_at + c->body_bytes + 4);
	return OK;
}

static const struct archive_reindex_events events = {
	.crawl = tell_crawl, .capture = tell_capture };

static void
reindex(struct sample_dir *d, struct told *t,
    struct archive_reindex_counts *n, size_t memory)
{
	struct archive_catalogue c = sample_list(d);
	struct why w = WHY_INIT;

	memset(t, 0, sizeof(*t));
	assert_int_equal(archive_reindex(&c, sample_path(d, "run"), memory,
	    &events, t, n, &w), OK);
}

#define TYPE "text/html; charset=utf-8"
static const char expected[] =
    "7/1 200 0 1 1 100 " TYPE " http://example.org/ http://example.org/\n"
    "7/2 200 0 1 2 100 " TYPE " http://example.org/b http://example.org/b\n"
    "7/3 200 1 1 3 100 " TYPE " http://example.org/start "
    "http://example.org/end\n"
    "7/4 200 0 1 4 100 " TYPE " http://example.org/d http://example.org/d\n";

static void
test_crawl(void **state)
{
	struct sample_dir d;
	struct told t;
	struct archive_reindex_counts n;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	/* In memory, and through runs on disk. */
	for (size_t memory = 300; memory <= 1 << 20; memory <<= 12) {
		reindex(&d, &t, &n, memory);
		assert_string_equal(buf_text(&t.text), expected);
		assert_int_equal(t.crawls, 2);
		assert_int_equal(n.records, 14);
		assert_int_equal(n.captures, 4);
		assert_int_equal(n.unnumbered, 2);
		assert_int_equal(n.repeated + n.missing + n.damaged, 0);
		buf_free(&t.text);
	}
	sample_dir_remove(&d);
}

/* Files in any order, a group twice (a failed sync), a gap, hops numbered. */
static void
test_odd_files(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct told t;
	struct archive_reindex_counts n;

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, "a.warc.gz");
	sample_page(&f, "http://example.org/9", "x", 9, 0);
	sample_page(&f, "http://example.org/5", "x", 5, 0);
	sample_file_end(&f, &d, "a.warc.gz");
	sample_file_begin(&f, "b.warc.gz");
	sample_page(&f, "http://example.org/start", "moved", 6, 0);
	sample_page(&f, "http://example.org/m", "moved", 6, 1);
	sample_page(&f, "http://example.org/6", "x", 6, 2);
	sample_page(&f, "http://example.org/9", "x", 9, 0);
	sample_file_end(&f, &d, "b.warc.gz");
	reindex(&d, &t, &n, 1 << 20);
	assert_string_equal(buf_text(&t.text),
	    "7/5 200 0 1 5 100 " TYPE " http://example.org/5 "
	    "http://example.org/5\n"
	    "7/6 200 2 1 6 100 " TYPE " http://example.org/start "
	    "http://example.org/6\n"
	    "7/9 200 0 1 9 100 " TYPE " http://example.org/9 "
	    "http://example.org/9\n");
	assert_int_equal(n.captures, 3);
	assert_int_equal(n.hops, 2);
	assert_int_equal(n.repeated, 1);
	/* 1 to 4, 7 and 8. */
	assert_int_equal(n.missing, 6);
	buf_free(&t.text);
	sample_dir_remove(&d);
}

/* What has no number is told in its place; a hop is no answer by itself. */
static enum err
tell_place(void *arg, const struct archive_capture *c, struct why *w)
{
	struct told *t = arg;

	(void)w;
	buf_printf(&t->text, "%llu %u %.*s\n", (unsigned long long)c->seq,
	    c->hops, STR_FMT(str_from(c->final_url, 18)));
	/* SAMPLE_DATE + number, in us; that of the first hop. */
	assert_int_equal(c->began.us - SAMPLE_DATE.us, c->hops == 1 ? 0 :
	    (int64_t)c->seq);
	return OK;
}

static void
test_aux(void **state)
{
	static const struct archive_reindex_events places = {
		.capture = tell_place, .aux = true };
	struct sample_dir d;
	struct sample_file f;
	struct told t = { 0 };
	struct archive_reindex_counts n;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	sample_file_begin(&f, "8.warc.gz");
	sample_page(&f, "http://example.org/sitemap", "x", 0, 0);
	sample_page(&f, "http://example.org/5", "x", 5, 0);
	sample_page(&f, "http://example.org/start", "x", 0, 0);
	sample_page(&f, "http://example.org/end", "x", 0, 1);
	sample_file_end(&f, &d, "8.warc.gz");
	struct archive_catalogue c = sample_list(&d);
	assert_int_equal(archive_reindex(&c, sample_path(&d, "run"), 1 << 20,
	    &places, &t, &n, NULL), OK);
	assert_string_equal(buf_text(&t.text), "0 0 /robots.txt\n1 0 /\n"
	    "2 0 /b\n3 1 /end\n4 0 /d\n0 0 /sitemap\n5 0 /5\n0 1 /end\n");
	assert_int_equal(n.captures, 5);
	assert_int_equal(n.missing + n.repeated, 0);
	buf_free(&t.text);
	sample_dir_remove(&d);
}

/* A damaged capture is missing, all others are told. */
static void
test_damage(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct told t;
	struct archive_reindex_counts n;

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, "a.warc.gz");
	sample_page(&f, "http://example.org/1", "x", 1, 0);
	sample_page(&f, "http://example.org/2", "x", 2, 0);
	size_t at = f.last[0].at + 60;
	sample_page(&f, "http://example.org/3", "x", 3, 0);
	f.bytes.p[at] ^= 0x40;
	sample_file_end(&f, &d, "a.warc.gz");
	reindex(&d, &t, &n, 1 << 20);
	assert_int_equal(n.captures, 2);
	assert_int_equal(n.damaged, 1);
	assert_int_equal(n.missing, 1);
	buf_free(&t.text);
	sample_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crawl),
		cmocka_unit_test(test_odd_files),
		cmocka_unit_test(test_aux),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
