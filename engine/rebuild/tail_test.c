/* A file that was being written is cut anywhere: whole captures stay. */
#include "engine/archive/archive_sample_testing.h"
#include "engine/rebuild/parts.h"

#define NAME "7-20261028083816123-00001-abcd0123.warc.gz"
#define ENDS_MAX 16

struct sample {
	struct sample_dir dir;
	struct sample_file file;
	uint64_t ends[ENDS_MAX];      /* where a capture ends */
	size_t n;
};

/* An exchange; `moved`: its answer leads to a further one. */
static void
put(struct sample *s, uint64_t seq, uint32_t hop, bool moved)
{
	struct sample_file *f = &s->file;
	struct str body = STR("<title>A page</title>");
	struct warc_capture c = { 7, hop, 1, SAMPLE_DATE, 100,
		STR("http://example.org/") };
	struct warc_exchange x = sample_exchange(&body, &c);

	if (moved)
		x.response_head = STR("HTTP/1.1 302 Found\r\n"
		    "Location: /there\r\n\r\n");
	x.warcinfo_id = str_of(f->info.id);
	assert_int_equal(warc_put_exchange(f->writer, &x, &f->bytes, f->last,
	    NULL), OK);
	gzip_patch(f->bytes.p + f->last[0].at, seq, 2);
	gzip_patch(f->bytes.p + f->last[1].at, seq, 2);
	if (!moved)
		s->ends[s->n++] = f->bytes.n;
}

static void
begin(struct sample *s)
{
	memset(s, 0, sizeof(*s));
	sample_dir_make(&s->dir);
	sample_file_begin(&s->file, NAME);
	s->ends[s->n++] = s->file.bytes.n;
	put(s, 1, 0, false);
	put(s, 2, 0, true);
	put(s, 2, 1, true);
	put(s, 2, 2, false);
	put(s, 3, 0, false);
}

static void
end(struct sample *s)
{
	buf_free(&s->file.bytes);
	warc_writer_free(&s->file.writer);
	sample_dir_remove(&s->dir);
}

static enum err
find(struct sample *s, size_t bytes, struct tail *t, struct why *w)
{
	sample_write(&s->dir, NAME, str_cut(buf_str(&s->file.bytes), 0,
	    bytes));
	struct archive_file f = { .path = sample_path(&s->dir, NAME),
		.name = STR(NAME), .size = bytes };
	return tail_find(&f, t, w);
}

/* Every byte about a capture's end, and some of the others. */
static bool
worth_a_cut(const struct sample *s, size_t n)
{
	bool near = n % 17 == 0 || n == s->file.bytes.n;

	for (size_t i = 0; i < s->n; i++)
		near |= n + 20 > s->ends[i] && n < s->ends[i] + 20;
	return near;
}

static void
test_cut_anywhere(void **state)
{
	struct sample s;
	struct tail t;

	(void)state;
	begin(&s);
	assert_int_equal(s.n, 4);
	for (size_t n = 0; n <= s.file.bytes.n; n++) {
		uint64_t want = 0;
		if (!worth_a_cut(&s, n))
			continue;
		for (size_t i = 0; i < s.n; i++)
			want = s.ends[i] <= n ? s.ends[i] : want;
		assert_int_equal(find(&s, n, &t, NULL), OK);
		if (t.end != want)
			fail_msg("cut at %zu: the end is %llu, not %llu", n,
			    (unsigned long long)t.end,
			    (unsigned long long)want);
		assert_int_equal(t.size, n);
		assert_int_equal(t.first, n < s.ends[0] ? 0 : s.ends[0]);
	}
	end(&s);
}

/* A hole costs what it hit: whole captures behind it stay. */
static void
test_damage(void **state)
{
	struct sample s;
	struct tail t;

	(void)state;
	begin(&s);
	s.file.bytes.p[s.ends[0] + 80] ^= 0x40;
	assert_int_equal(find(&s, s.file.bytes.n, &t, NULL), OK);
	assert_int_equal(t.end, s.file.bytes.n);
	assert_int_equal(t.first, s.ends[0]);
	/* In the last capture it is a torn end. */
	s.file.bytes.p[s.ends[0] + 80] ^= 0x40;
	s.file.bytes.p[s.file.last[1].at + 80] ^= 0x40;
	assert_int_equal(find(&s, s.file.bytes.n, &t, NULL), OK);
	assert_int_equal(t.end, s.ends[s.n - 2]);
	/* Without a warcinfo the captures still count. */
	s.file.bytes.p[80] ^= 0x40;
	assert_int_equal(find(&s, s.file.bytes.n, &t, NULL), OK);
	assert_int_equal(t.first, 0);
	assert_int_equal(t.end, s.ends[s.n - 2]);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
