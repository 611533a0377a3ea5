#include "wire/warc_read.h"

#include <zstd.h>

#include "tests/rounds.h"
#include "wire/warc_sample_test.h"

/* A file read to its end: what was found, in short. */
struct tally {
	size_t records, damages, odd_records;
	unsigned odd;
	enum warc_damage_cause causes[8];
	uint64_t offsets[8];
	uint64_t record_offsets[64];
	struct buf ids;
};

static void
read_all(struct str bytes, struct tally *t)
{
	struct warc_reader *r = warc_reader_new(sample_source(&bytes),
	    WARC_READ_LIMITS_DEFAULT);
	struct warc_entry e;
	struct warc_damage d;
	enum warc_found f;

	memset(t, 0, sizeof(*t));
	while ((f = warc_read_next(r, &e, &d)) != WARC_FOUND_END) {
		bool whole = f == WARC_FOUND_RECORD;
		if (whole)
			whole = warc_read_finish(r, &e, &d);
		if (!whole) {
			if (t->damages < 8) {
				t->causes[t->damages] = d.cause;
				t->offsets[t->damages] = d.offset;
			}
			t->damages++;
			continue;
		}
		if (t->records < 64)
			t->record_offsets[t->records] = e.offset;
		t->records++;
		t->odd |= e.odd;
		t->odd_records += e.odd != 0;
		buf_put_str(&t->ids, e.id);
		buf_put_char(&t->ids, '\n');
	}
	warc_reader_free(&r);
}

/* Three exchanges and a warcinfo: seven members. */
static void
make_file(struct buf *out, struct warc_member members[7])
{
	static const struct str bodies[3] = { STR("<html>first page</html>"),
		STR("<html>second page, a little longer</html>"), STR("") };
	struct warc_writer *w = sample_writer(1, NULL);
	struct warc_info info = { .filename = STR("x.warc.gz"),
		.date = SAMPLE_DATE };

	assert_int_equal(warc_put_info(w, &info, out, &members[0], NULL),
	    OK);
	for (uint32_t i = 0; i < 3; i++) {
		struct warc_capture c = sample_capture(0);
		struct warc_exchange x = sample_exchange(&bodies[i], &c);
		assert_int_equal(warc_put_exchange(w, &x, out,
		    &members[1 + 2 * i], NULL), OK);
		gzip_patch(out->p + members[1 + 2 * i].at, i + 1, 40 + i);
	}
	warc_writer_free(&w);
}

static void
test_round_trip(void **state)
{
	struct buf out = BUF_INIT, block = BUF_INIT;
	struct warc_member m[7];

	(void)state;
	make_file(&out, m);
	struct str bytes = buf_str(&out), piece;
	struct warc_reader *r = warc_reader_new(sample_source(&bytes),
	    WARC_READ_LIMITS_DEFAULT);
	struct warc_entry e;
	struct warc_damage d;
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(warc_read_next(r, &e, &d),
		    WARC_FOUND_RECORD);
		assert_int_equal(e.type, m[i].type);
		assert_int_equal(e.offset, m[i].at);
		assert_int_equal(e.block_at, m[i].head_n);
		assert_int_equal(e.version, 101);
		assert_true(e.exact);
		assert_true(str_eq(str_from(e.id, 9), str_of(m[i].id)));
		assert_true(e.date.us == SAMPLE_DATE.us);
		assert_true(e.gzip.seq == (i % 2 == 1 ? (i + 1) / 2 : 0));
		buf_clear(&block);
		while (warc_read_block(r, &piece))
			buf_put_str(&block, piece);
		assert_int_equal(block.n, e.length);
		assert_true(warc_read_finish(r, &e, &d));
		assert_int_equal(e.clen, m[i].clen);
		assert_int_equal(e.ulen, m[i].ulen);
		assert_int_equal(e.odd, 0);
	}
	assert_int_equal(warc_read_next(r, &e, &d), WARC_FOUND_END);
	/* And at each offset by itself, the last first. */
	for (size_t i = 7; i-- > 0;) {
		assert_int_equal(warc_read_at(r, m[i].at, &e, &d),
		    WARC_FOUND_RECORD);
		assert_true(str_eq(str_from(e.id, 9), str_of(m[i].id)));
		assert_int_equal(warc_read_at(r, m[i].at + 1, &e, &d),
		    WARC_FOUND_DAMAGE);
		assert_int_equal(d.cause, WARC_DAMAGE_STRANGE);
	}
	assert_int_equal(warc_read_at(r, out.n, &e, &d), WARC_FOUND_DAMAGE);
	assert_int_equal(warc_read_at(r, UINT64_MAX - 5, &e, &d),
	    WARC_FOUND_DAMAGE);
	warc_reader_free(&r);
	buf_free(&out);
	buf_free(&block);
}

/* Everything of the suite, with what is known of each file. */
static void
test_suite(void **state)
{
	static const struct {
		const char *name;
		size_t records, damages;
		unsigned odd;
		enum warc_damage_cause cause;
	} files[] = {
		{ "bad.arc", 0, 1, 0, WARC_DAMAGE_ARC },
		{ "example-bad-non-chunked.warc.gz", 6, 0, WARC_ODD(SHARED),
		    WARC_DAMAGE_NONE },
		{ "example-bad.warc.gz.bad", 6, 0, WARC_ODD(SHARED),
		    WARC_DAMAGE_NONE },
		{ "example-digest.warc", 4, 0, 0, WARC_DAMAGE_NONE },
		{ "example-iana.org-chunked.warc", 3, 0, 0,
		    WARC_DAMAGE_NONE },
		{ "example-resource.warc.gz", 3, 0, 0, WARC_DAMAGE_NONE },
		{ "example-space-in-target-uri.warc.gz", 2, 0,
		    WARC_ODD(URI_SPACE), WARC_DAMAGE_NONE },
		{ "example-space-in-url.arc", 0, 1, 0, WARC_DAMAGE_ARC },
		/* Two bytes more in the block than it says. */
		{ "example-trunc.warc", 4, 0, WARC_ODD(NO_END) |
		    WARC_ODD(ZEROS), WARC_DAMAGE_NONE },
		{ "example-wget-bad-target-uri.warc.gz", 6, 0,
		    WARC_ODD(BRACKETS), WARC_DAMAGE_NONE },
		/* Its members begin and end inside records. */
		{ "example-wrong-chunks.warc.gz", 2, 0, WARC_ODD(NO_END) |
		    WARC_ODD(SPLIT), WARC_DAMAGE_NONE },
		{ "example.arc", 0, 1, 0, WARC_DAMAGE_ARC },
		{ "example.arc.gz", 0, 1, 0, WARC_DAMAGE_ARC },
		{ "example.warc", 6, 0, 0, WARC_DAMAGE_NONE },
		{ "example.warc.gz", 6, 0, 0, WARC_DAMAGE_NONE },
		{ "post-test.warc.gz", 6, 0, 0, WARC_DAMAGE_NONE },
	};
	struct buf bytes = BUF_INIT;
	size_t records = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct tally t;
		char path[128];
		snprintf(path, sizeof(path), "warc/test/data/%s",
		    files[i].name);
		sample_suite(path, &bytes);
		read_all(buf_str(&bytes), &t);
		if (t.records != files[i].records ||
		    t.damages != files[i].damages || t.odd != files[i].odd)
			fail_msg("%s: %zu records, %zu damages, odd %x",
			    files[i].name, t.records, t.damages, t.odd);
		assert_int_equal(t.causes[0], files[i].cause);
		records += t.records;
		buf_free(&t.ids);
	}
	print_message("%zu files of the suite, %zu records\n",
	    ARRAY_LEN(files), records);
	buf_free(&bytes);
}

/*
 * Cut at each byte of the last two records: what is before is read, the cut
 * record is named, at a record's edge nothing is.
 */
static void
check_cuts(struct str bytes, const uint64_t *offsets, size_t n)
{
	for (size_t end = (size_t)offsets[n - 2]; end <= bytes.n; end++) {
		struct tally t;
		size_t whole = n - 2;
		if (end >= offsets[n - 1])
			whole++;
		if (end == bytes.n)
			whole++;
		bool edge = end == offsets[n - 2] || end == offsets[n - 1] ||
		    end == bytes.n;
		read_all(str_cut(bytes, 0, end), &t);
		/* A plain record may miss the line ends behind it. */
		if (t.records == whole + 1 &&
		    (t.odd & (WARC_ODD(NO_END))) != 0) {
			assert_int_equal(t.damages, 0);
		} else {
			assert_int_equal(t.records, whole);
			assert_int_equal(t.damages, edge ? 0 : 1);
		}
		if (t.damages == 1)
			assert_int_equal(t.offsets[0], offsets[whole]);
		buf_free(&t.ids);
	}
}

static void
test_cuts(void **state)
{
	struct buf out = BUF_INIT, plain = BUF_INIT;
	struct warc_member m[7];
	struct tally t;
	struct str s;

	(void)state;
	make_file(&out, m);
	struct str bytes = buf_str(&out);
	read_all(bytes, &t);
	assert_int_equal(t.records, 7);
	check_cuts(bytes, t.record_offsets, 7);
	buf_free(&t.ids);
	/* The same, unpacked. */
	struct unpack *u = unpack_new(sample_source(&bytes),
	    UNPACK_LIMITS_DEFAULT);
	while (unpack_begin(u) == UNPACK_GZIP)
		while (unpack_peek(u, &s) == UNPACK_BYTES) {
			buf_put_str(&plain, s);
			unpack_take(u, s.n);
		}
	unpack_free(&u);
	read_all(buf_str(&plain), &t);
	assert_int_equal(t.records, 7);
	assert_int_equal(t.odd, 0);
	check_cuts(buf_str(&plain), t.record_offsets, 7);
	buf_free(&t.ids);
	buf_free(&out);
	buf_free(&plain);
}

/* Every bit of a file turned: at most the record that it stands in is lost. */
static void
test_flips(void **state)
{
	struct buf out = BUF_INIT;
	struct warc_member m[7];
	struct tally good, t;
	size_t silent = 0;

	(void)state;
	make_file(&out, m);
	read_all(buf_str(&out), &good);
	for (size_t bit = 0; bit < 8 * out.n; bit += ROUNDS_STEP) {
		out.p[bit / 8] ^= (char)(1 << bit % 8);
		read_all(buf_str(&out), &t);
		out.p[bit / 8] ^= (char)(1 << bit % 8);
		if (t.records < 6 || t.records > 7)
			fail_msg("bit %zu: %zu records, %zu damages", bit,
			    t.records, t.damages);
		if (t.records == 6)
			assert_int_equal(t.damages, 1);
		else
			silent += t.odd == 0;
		buf_free(&t.ids);
	}
	/* MTIME, XFL, OS and AR of seven heads: no reader can tell. */
	assert_true(silent <= 7 * 8 * (4 + 1 + 1 + 4 + 16 + 8));
	print_message("%zu bits, %zu of them in fields that nothing checks\n",
	    8 * out.n, silent);
	buf_free(&good.ids);
	buf_free(&out);
}

static void
assert_reads(struct str bytes, size_t records, unsigned odd)
{
	struct tally t;

	read_all(bytes, &t);
	if (t.records != records || t.odd != odd || t.damages != 0)
		fail_msg("%zu records, odd %x, %zu damages (%s)", t.records,
		    t.odd, t.damages, warc_damage_text(t.causes[0]));
	buf_free(&t.ids);
}

#define PLAIN(version, eol, fields, end)                                      \
	"WARC/" version eol "WARC-Type: resource" eol                          \
	"warc-record-id: <urn:uuid:01234567-89ab-4def-8123-456789abcdef>" eol \
	"WARC-Date: 2020-01-02T03:04:05Z" eol fields                           \
	"Content-Length: 5" eol eol "hello" end

static void
test_tolerance(void **state)
{
	(void)state;
	assert_reads(STR(PLAIN("1.1", "\r\n", "", "\r\n\r\n")), 1, 0);
	assert_reads(STR(PLAIN("1.0", "\r\n", "", "\r\n\r\n")
	    PLAIN("0.18", "\r\n", "", "\r\n\r\n")
	    PLAIN("0.17", "\r\n", "", "\r\n\r\n")), 3, 0);
	assert_reads(STR(PLAIN("1.1", "\n", "", "\n\n")
	    PLAIN("1.1", "\n", "", "\n\n")), 2, WARC_ODD(BARE_LF));
	assert_reads(STR(PLAIN("1.1", "\r\n", "", "")), 1, WARC_ODD(NO_END));
	assert_reads(STR(PLAIN("1.1", "\r\n", "", "\r\n")
	    PLAIN("1.1", "\r\n", "", "\r\n\r\n")), 2, WARC_ODD(NO_END));
	assert_reads(STR(PLAIN("1.1", "\r\n", "", "\r\n\r\n\r\n")), 1,
	    WARC_ODD(MORE_END));
	assert_reads(STR(PLAIN("1.1", "\r\n", "", "\r\n\r\n\0\0\0\0")), 1, 0);
	assert_reads(STR(PLAIN("1.1", "\r\n", "X: a\r\n b\r\n",
	    "\r\n\r\n")), 1, WARC_ODD(FOLDED));
	assert_reads(STR(PLAIN("1.1", "\r\n", "rubbish\r\n", "\r\n\r\n")), 1,
	    WARC_ODD(GARBAGE));
	assert_reads(STR(PLAIN("1.1", "\r\n",
	    "WARC-Target-URI: <http://a/>\r\n", "\r\n\r\n")), 1,
	    WARC_ODD(BRACKETS));
	assert_reads(STR(PLAIN("1.2", "\r\n", "", "\r\n\r\n")), 1,
	    WARC_ODD(VERSION));
	assert_reads(STR("WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n"), 1,
	    WARC_ODD(NO_ID) | WARC_ODD(NO_DATE) | WARC_ODD(NO_TYPE));
	assert_reads(STR(""), 0, 0);
}

static void
assert_damage(struct str bytes, size_t records, enum warc_damage_cause cause,
    uint64_t offset)
{
	struct tally t;

	read_all(bytes, &t);
	assert_int_equal(t.records, records);
	assert_int_equal(t.damages, 1);
	assert_int_equal(t.causes[0], cause);
	assert_int_equal(t.offsets[0], offset);
	buf_free(&t.ids);
}

#define GOOD PLAIN("1.1", "\r\n", "", "\r\n\r\n")

static void
test_plain_damage(void **state)
{
	(void)state;
	assert_damage(STR("rubbish\r\n" GOOD), 1, WARC_DAMAGE_STRANGE, 0);
	assert_damage(STR("rubbish"), 0, WARC_DAMAGE_STRANGE, 0);
	assert_damage(STR("WARC/1.1\r\nWARC-Type: x\r\n\r\n" GOOD), 1,
	    WARC_DAMAGE_LENGTH, 0);
	assert_damage(STR("WARC/1.1\r\nContent-Length: 3\r\n\r\nabcdef\r\n"
	    "\r\n" GOOD), 1, WARC_DAMAGE_BOUNDARY, 0);
	/* Too long a length does not swallow the records behind it. */
	assert_damage(STR("WARC/1.1\r\nContent-Length: 99\r\n\r\nabc\r\n\r\n"
	    GOOD GOOD GOOD), 3, WARC_DAMAGE_BOUNDARY, 0);
	assert_damage(STR("WARC/1.1\r\nContent-Length: 99999\r\n\r\nabc\r\n"
	    "\r\n" GOOD GOOD), 2, WARC_DAMAGE_CUT, 0);
	assert_damage(STR("WARC/1.1\r\nContent-Length: 9223372036854775807"
	    "\r\n\r\nabc\r\n\r\n" GOOD), 1, WARC_DAMAGE_CUT, 0);
	assert_damage(STR("WARC/x.y\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"
	    GOOD), 1, WARC_DAMAGE_HEAD, 0);
	assert_damage(STR("WARC/0.9\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"
	    GOOD), 1, WARC_DAMAGE_HEAD, 0);
}

/* The limits of the head, at their edges. */
static void
test_head_limits(void **state)
{
	struct warc_read_limits l = WARC_READ_LIMITS_DEFAULT;
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		buf_clear(&b);
		buf_put_text(&b, "WARC/1.1\r\nContent-Length: 0\r\nX: ");
		while (b.n < 29 + l.field_bytes_max - 2 + more)
			buf_put_char(&b, 'x');
		buf_put_text(&b, "\r\n\r\n\r\n\r\n");
		struct tally t;
		read_all(buf_str(&b), &t);
		assert_int_equal(t.records, 1 - more);
		assert_int_equal(t.damages, more);
		if (more)
			assert_int_equal(t.causes[0],
			    WARC_DAMAGE_HEAD_TOO_LONG);
		buf_free(&t.ids);
	}
	for (size_t n = l.fields_max; n <= l.fields_max + 1; n++) {
		buf_clear(&b);
		buf_put_text(&b, "WARC/1.1\r\nContent-Length: 0\r\n");
		for (size_t i = 1; i < n; i++)
			buf_put_text(&b, "X: y\r\n");
		buf_put_text(&b, "\r\n\r\n\r\n");
		struct tally t;
		read_all(buf_str(&b), &t);
		assert_int_equal(t.records, n == l.fields_max);
		buf_free(&t.ids);
	}
	buf_clear(&b);
	buf_put_text(&b, "WARC/1.1\r\n");
	while (b.n < l.head_bytes_max + 10)
		buf_put_text(&b, "X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n");
	assert_damage(buf_str(&b), 0, WARC_DAMAGE_HEAD_TOO_LONG, 0);
	buf_free(&b);
}

/* Heads without end, one after the other: not quadratic. */
static void
test_hostile_heads(void **state)
{
	struct buf b = BUF_INIT;
	struct tally t;

	(void)state;
	while (b.n < (size_t)4 << 20)
		buf_put_text(&b, "WARC/1.1\r\n");
	read_all(buf_str(&b), &t);
	assert_int_equal(t.records, 0);
	assert_true(t.damages > 0 && t.damages < 100);
	buf_free(&t.ids);
	buf_free(&b);
}

static void
test_bomb(void **state)
{
	size_t n = (size_t)40 << 20;
	char *zeros = mem_new(n);
	struct gzip_writer *g = gzip_writer_new(9);
	struct gzip_lengths len;
	struct buf b = BUF_INIT;
	struct str parts[2] = { STR("WARC/1.1\r\nContent-Length: 41943040"
	    "\r\n\r\n"), { zeros, n } }, good = STR(GOOD);
	struct warc_read_limits l = WARC_READ_LIMITS_DEFAULT;
	struct warc_entry e;
	struct warc_damage d;

	(void)state;
	assert_int_equal(gzip_put(g, parts, 2, &b, &len, NULL), OK);
	assert_int_equal(gzip_put(g, &good, 1, &b, &len, NULL), OK);
	l.unpack.ratio_max = 100;
	struct str bytes = buf_str(&b);
	struct warc_reader *r = warc_reader_new(sample_source(&bytes), l);
	assert_int_equal(warc_read_next(r, &e, &d), WARC_FOUND_RECORD);
	assert_false(warc_read_finish(r, &e, &d));
	assert_int_equal(d.cause, WARC_DAMAGE_TOO_BIG);
	assert_int_equal(warc_read_next(r, &e, &d), WARC_FOUND_RECORD);
	assert_int_equal(warc_read_next(r, &e, &d), WARC_FOUND_END);
	warc_reader_free(&r);
	gzip_writer_free(&g);
	mem_free(&zeros);
	buf_free(&b);
}

/* A dictionary in front, a frame per record (WARC zstd draft). */
static void
test_zstd(void **state)
{
	static const char dictionary[] = "WARC/1.1\r\nWARC-Type: resource\r\n"
	    "warc-record-id: <urn:uuid:01234567-89ab-4def-8123-456789abcdef>";
	struct str good = STR(GOOD);
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct buf b = BUF_INIT;
	uint32_t n = sizeof(dictionary) - 1;
	unsigned char head[8] = { 0x5d, 0x2a, 0x4d, 0x18, (unsigned char)n,
		0, 0, 0 };
	struct tally t;

	(void)state;
	buf_put(&b, head, 8);
	buf_put(&b, dictionary, n);
	for (int i = 0; i < 3; i++) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
		ZSTD_CCtx_loadDictionary(z, dictionary, n);
		size_t room = ZSTD_compressBound(good.n), at = b.n;
		size_t got = ZSTD_compress2(z, buf_grow(&b, room), room,
		    good.p, good.n);
		assert_false(ZSTD_isError(got));
		b.n = at + got;
	}
	read_all(buf_str(&b), &t);
	assert_int_equal(t.records, 3);
	assert_int_equal(t.odd + t.damages, 0);
	uint64_t second = t.record_offsets[1];
	assert_int_equal(t.record_offsets[0], 8 + n);
	buf_free(&t.ids);
	/* A flip in the second frame costs this one. */
	b.p[second + 40] ^= 1;
	assert_damage(buf_str(&b), 2, WARC_DAMAGE_PACKED, second);
	ZSTD_freeCCtx(z);
	buf_free(&b);
}

/* One gzip member for all: read in order, no offset of their own. */
static void
test_whole_file_gzip(void **state)
{
	struct gzip_writer *g = gzip_writer_new(1);
	struct gzip_lengths l;
	struct buf b = BUF_INIT;
	struct str parts[3] = { STR(GOOD), STR(GOOD), STR(GOOD) };

	(void)state;
	assert_int_equal(gzip_put(g, parts, 3, &b, &l, NULL), OK);
	struct str bytes = buf_str(&b);
	assert_reads(bytes, 3, WARC_ODD(SHARED));
	struct warc_reader *r = warc_reader_new(sample_source(&bytes),
	    WARC_READ_LIMITS_DEFAULT);
	struct warc_entry e;
	struct warc_damage d;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(warc_read_next(r, &e, &d),
		    WARC_FOUND_RECORD);
		assert_true(warc_read_finish(r, &e, &d));
		assert_false(e.exact);
		assert_int_equal(e.clen, 0);
	}
	warc_reader_free(&r);
	gzip_writer_free(&g);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_suite),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_tolerance),
		cmocka_unit_test(test_plain_damage),
		cmocka_unit_test(test_head_limits),
		cmocka_unit_test(test_hostile_heads),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_whole_file_gzip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
