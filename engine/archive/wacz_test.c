#include "engine/archive/wacz.h"

#include <zlib.h>

#include "engine/archive/archive_sample_testing.h"
#include "engine/archive/zip.h"

static uint64_t
le(const char *p, int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | (unsigned char)p[n];
	return v;
}

/* An entry's bytes by the central directory, its CRC and heads compared. */
static struct str
zip_find(struct str z, const char *name)
{
	size_t at = z.n - 22;

	assert_int_equal(le(z.p + at, 4), 0x06054b50);
	size_t entries = (size_t)le(z.p + at + 10, 2);
	size_t c = (size_t)le(z.p + at + 16, 4);
	for (size_t i = 0; i < entries; i++) {
		assert_int_equal(le(z.p + c, 4), 0x02014b50);
		size_t name_n = (size_t)le(z.p + c + 28, 2);
		size_t extra_n = (size_t)le(z.p + c + 30, 2);
		size_t size = (size_t)le(z.p + c + 24, 4);
		size_t local = (size_t)le(z.p + c + 42, 4);
		struct str found = { z.p + c + 46, name_n };
		if (size == 0xffffffff)
			size = (size_t)le(z.p + c + 46 + name_n + 4, 8);
		if (str_eq(found, str_of(name))) {
			const char *l = z.p + local;
			assert_int_equal(le(l, 4), 0x04034b50);
			assert_int_equal(le(l + 8, 2), 0);
			/* With a descriptor it is zero there (4.4.4). */
			if ((le(l + 6, 2) & 8) == 0)
				assert_memory_equal(l + 14, z.p + c + 16, 4);
			struct str data = { l + 30 + le(l + 26, 2) +
				le(l + 28, 2), size };
			assert_int_equal(crc32(0, (const Bytef *)data.p,
			    (uInt)data.n), le(z.p + c + 16, 4));
			if ((le(l + 6, 2) & 8) != 0) {
				assert_int_equal(le(data.p + size, 4),
				    0x08074b50);
				assert_memory_equal(data.p + size + 4,
				    z.p + c + 16, 4);
			}
			return data;
		}
		c += 46 + name_n + extra_n + (size_t)le(z.p + c + 32, 2);
	}
	return STR_NONE;
}

static void
pack(struct sample_dir *d, const char *name, struct buf *out,
    struct wacz_counts *n)
{
	struct archive_catalogue c = sample_list(d);
	struct wacz_options o = { .title = STR("A \"title\""),
		.software = STR("argiope"), .titles = true };
	struct why w = WHY_INIT;

	if (wacz_write(&c, sample_path(d, name), &o, n, &w) != OK)
		fail_msg("%s", w.text);
	buf_clear(out);
	assert_int_equal(file_load(sample_path(d, name), 1 << 24, out, &w),
	    OK);
}

static void
gunzip(struct str s, struct buf *out)
{
	z_stream z;
	char piece[4096];
	int r = Z_OK;

	memset(&z, 0, sizeof(z));
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)s.p;
	z.avail_in = (uInt)s.n;
	do {
		if (r == Z_STREAM_END)
			inflateReset(&z);
		z.next_out = (Bytef *)piece;
		z.avail_out = sizeof(piece);
		r = inflate(&z, Z_NO_FLUSH);
		assert_true(r == Z_OK || r == Z_STREAM_END);
		buf_put(out, piece, sizeof(piece) - z.avail_out);
	} while (r == Z_OK || z.avail_in > 0);
	inflateEnd(&z);
}

static bool
has(struct str text, const char *part)
{
	return str_find(text, str_of(part)) < text.n;
}

static void
test_pack(void **state)
{
	struct sample_dir d;
	struct buf one = BUF_INIT, two = BUF_INIT, text = BUF_INIT;
	struct wacz_counts n;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	pack(&d, "a.wacz", &one, &n);
	assert_int_equal(n.files, 2);
	assert_int_equal(n.lines, 6);
	pack(&d, "b.wacz", &two, &n);
	assert_true(str_eq(buf_str(&one), buf_str(&two)));
	struct str z = buf_str(&one);
	buf_clear(&text);
	assert_int_equal(file_load(sample_path(&d, SAMPLE_NAME_1), 1 << 20,
	    &text, NULL), OK);
	assert_true(str_eq(zip_find(z, "archive/" SAMPLE_NAME_1),
	    buf_str(&text)));
	struct str pages = zip_find(z, "pages/pages.jsonl");
	assert_true(str_starts(pages, STR("{\"format\": \"json-pages-1.0\", "
	    "\"id\": \"pages\", ")));
	assert_true(has(pages, "\"url\": \"http://example.org/end\", "
	    "\"ts\": \"2026-10-28T08:38:16Z\", \"title\": \"T & 3\"}"));
	struct str package = zip_find(z, "datapackage.json");
	assert_true(has(package, "\"wacz_version\": \"1.1.1\""));
	assert_true(has(package, "\"title\": \"A \\\"title\\\"\""));
	assert_true(has(package, "\"created\": \"2026-10-28T08:38:16Z\""));
	assert_true(has(package, "\"path\": \"indexes/index.cdx.gz\""));
	struct digest_hasher *h = digest_hasher_new();
	struct digest digest;
	digest_start(h, DIGEST_SHA256);
	digest_add(h, package);
	digest_end(h, &digest);
	digest_hasher_free(&h);
	char hash[DIGEST_TEXT_MAX];
	digest_to_text(&digest, hash);
	assert_true(has(zip_find(z, "datapackage-digest.json"), hash));
	buf_clear(&text);
	gunzip(zip_find(z, "indexes/index.cdx.gz"), &text);
	assert_true(str_starts(buf_str(&text), STR("org,example)/ 2026")));
	assert_true(str_starts(zip_find(z, "indexes/index.idx"), STR(
	    "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": "
	    "\"index.cdx.gz\"}\norg,example)/ 20261028083816 "
	    "{\"offset\": 0, \"length\": ")));
	buf_free(&one);
	buf_free(&two);
	buf_free(&text);
	sample_dir_remove(&d);
}

/* More lines than one block holds: the list leads to each block. */
static void
test_blocks(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct buf out = BUF_INIT, text = BUF_INIT;
	struct wacz_counts n;
	char url[64];

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, SAMPLE_NAME_1);
	for (unsigned i = 1; i <= 2500; i++) {
		snprintf(url, sizeof(url), "http://example.org/%u", i);
		sample_page(&f, url, "x", i, 0);
	}
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	pack(&d, "a.wacz", &out, &n);
	assert_int_equal(n.lines, 2500);
	struct str idx = zip_find(buf_str(&out), "indexes/index.idx"), line;
	struct str cdx = zip_find(buf_str(&out), "indexes/index.cdx.gz");
	size_t blocks = 0, lines = 0;
	while (str_split(&idx, '\n', &line) && line.n > 0) {
		unsigned long offset;
		size_t length;
		size_t at = str_find(line, STR("{\"offset\": "));
		if (at == line.n)
			continue;
		assert_int_equal(sscanf(line.p + at,
		    "{\"offset\": %lu, \"length\": %zu", &offset, &length),
		    2);
		buf_clear(&text);
		gunzip(str_cut(cdx, offset, offset + length), &text);
		assert_true(str_starts(buf_str(&text), str_cut(line, 0,
		    at - 1)));
		for (size_t i = 0; i < text.n; i++)
			lines += text.p[i] == '\n';
		blocks++;
	}
	assert_int_equal(blocks, 3);
	assert_int_equal(lines, 2500);
	buf_free(&out);
	buf_free(&text);
	sample_dir_remove(&d);
}

static void
test_refusals(void **state)
{
	struct sample_dir d;
	struct wacz_options o = { .titles = false };
	struct wacz_counts n;
	struct archive_catalogue none = { .n = 0 };
	struct why w = WHY_INIT;
	struct buf out = BUF_INIT;
	struct str *names;
	size_t left;

	(void)state;
	sample_dir_make(&d);
	assert_int_equal(wacz_write(&none, sample_path(&d, "a.wacz"), &o, &n,
	    &w), ERR_INPUT);
	sample_crawl(&d);
	pack(&d, "a.wacz", &out, &n);
	struct archive_catalogue c = sample_list(&d);
	assert_int_equal(wacz_write(&c, sample_path(&d, "a.wacz"), &o, &n,
	    &w), ERR_EXISTS);
	struct archive_file twice[2] = { c.files[0], c.files[0] };
	struct archive_catalogue same = { .files = twice, .n = 2 };
	assert_int_equal(wacz_write(&same, sample_path(&d, "b.wacz"), &o, &n,
	    NULL), ERR_INPUT);
	/* Nothing is left over. */
	assert_int_equal(file_list(d.path, &d.arena, &names, &left, NULL),
	    OK);
	assert_int_equal(left, 3);
	buf_free(&out);
	sample_dir_remove(&d);
}

/* A zip64 entry of small size, and one that would be too big without it. */
static void
test_zip(void **state)
{
	struct sample_dir d;
	struct zip_writer *z;
	struct buf out = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	assert_int_equal(zip_open(sample_path(&d, "a.zip"), &z, &w), OK);
	assert_int_equal(zip_begin(z, STR("big"), true, &w), OK);
	assert_int_equal(zip_put(z, STR("hel"), &w), OK);
	assert_int_equal(zip_put(z, STR("lo"), &w), OK);
	assert_int_equal(zip_end(z, &w), OK);
	assert_int_equal(zip_begin(z, STR("small \xc3\xa4"), false, &w), OK);
	assert_int_equal(zip_end(z, &w), OK);
	assert_int_equal(zip_close(&z, &w), OK);
	assert_null(z);
	assert_int_equal(file_load(sample_path(&d, "a.zip"), 4096, &out, &w),
	    OK);
	assert_true(str_eq(zip_find(buf_str(&out), "big"), STR("hello")));
	assert_int_equal(zip_find(buf_str(&out), "small \xc3\xa4").n, 0);
	assert_null(zip_find(buf_str(&out), "none").p);
	buf_free(&out);
	sample_dir_remove(&d);
}

static enum err
put_bytes(void *arg, struct str bytes, struct why *w)
{
	struct buf *b = arg;

	if (b->n > 0 && b->n + bytes.n > 1000000)
		return why(w, ERR_CLOSED, "nobody reads any more");
	buf_put_str(b, bytes);
	return OK;
}

/* A package that is sent has the same entries as one that is written. */
static void
sent_as_written(void **state)
{
	static const char *const names[] = { ("archive/" SAMPLE_NAME_1),
	    "indexes/index.cdx.gz", "indexes/index.idx", "pages/pages.jsonl",
	    "datapackage.json", "datapackage-digest.json" };
	struct sample_dir d;
	struct buf written = BUF_INIT, sent = BUF_INIT;
	struct wacz_counts n, m;
	struct why w = WHY_INIT;

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	pack(&d, "a.wacz", &written, &n);
	struct archive_catalogue c = sample_list(&d);
	struct wacz_options o = { .title = STR("A \"title\""),
		.software = STR("argiope"), .titles = true };
	const char *scratch = sample_path(&d, "scratch");
	assert_int_equal(wacz_send(&c, scratch, &o, put_bytes, &sent, &m, &w),
	    OK);
	assert_int_equal(n.lines, m.lines);
	assert_int_equal(n.pages, m.pages);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct str a = zip_find(buf_str(&written), names[i]);
		struct str b = zip_find(buf_str(&sent), names[i]);
		assert_true(a.n > 0 && str_eq(a, b));
	}
	/* Nothing is left of it. */
	assert_int_not_equal(access(sample_path(&d, "scratch.pages"), F_OK),
	    0);
	/* A reader that leaves ends it. */
	sent.n = 999999;
	assert_int_equal(wacz_send(&c, scratch, &o, put_bytes, &sent, &m, &w),
	    ERR_CLOSED);
	buf_free(&written);
	buf_free(&sent);
	sample_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(sent_as_written),
		cmocka_unit_test(test_zip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
