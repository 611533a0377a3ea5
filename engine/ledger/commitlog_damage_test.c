#include "base/hash.h"
#include "engine/ledger/commitlog_testing.h"

/* --- damage ------------------------------------------------------------- */

/* Where record `n` (from 1) of a segment's bytes begins. */
static size_t
record_at(struct str bytes, size_t n)
{
	size_t at = HEAD;

	for (size_t i = 1; i < n; i++) {
		struct reader r = reader_of(str_from(bytes, at + 16));
		at += (RECORD_HEAD + read_be32(&r) + 7) & ~(size_t)7;
	}
	return at;
}

/* Padding is not looked at. */
static bool
in_padding(struct str bytes, size_t record, size_t at)
{
	struct reader r = reader_of(str_from(bytes, record + 16));

	return at >= record + RECORD_HEAD + read_be32(&r);
}

static void
flipped_last(struct buf *b, size_t from, size_t to, uint64_t group)
{
	for (size_t at = from; at < to; at++) {
		b->p[at] ^= (char)(1 << at % 8);
		store(DIR "/log-00000001", buf_str(b));
		b->p[at] ^= (char)(1 << at % 8);
		assert_int_equal(last_group(0), in_padding(buf_str(b), from,
		    at) ? group : group - 1);
	}
}

static void
flipped_inner(struct buf *b, size_t from, size_t to, uint64_t group)
{
	for (size_t at = from; at < to; at++) {
		b->p[at] ^= (char)(1 << at % 8);
		store(DIR "/log-00000001", buf_str(b));
		b->p[at] ^= (char)(1 << at % 8);
		if (in_padding(buf_str(b), from, at))
			assert_int_equal(last_group(0), group + 1);
		else
			refused(0, "stands behind it");
	}
}

/* One flipped bit: in the last record it is cut off, before it is refused. */
static void
test_flips(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	body_max = 60;
	make_log(8);
	load(DIR "/log-00000001", &b);
	size_t r7 = record_at(buf_str(&b), 7), r8 = record_at(buf_str(&b), 8);
	size_t end = record_at(buf_str(&b), 9);
	flipped_inner(&b, r7, r8, 7);
	flipped_last(&b, r8, end, 8);
	/* Behind the last record nothing matters. */
	for (size_t at = end; at < end + 64; at++) {
		b.p[at] ^= 0x55;
		store(DIR "/log-00000001", buf_str(&b));
		assert_int_equal(last_group(0), 8);
	}
	buf_free(&b);
}

static void
append_unsynced(struct commitlog *l, uint64_t upto)
{
	struct why w = WHY_INIT;

	while (commitlog_group(l) < upto)
		assert_int_equal(append(l, &w), OK);
}

static void
zero_record(struct buf *b, uint64_t group)
{
	size_t from = record_at(buf_str(b), group);
	size_t to = record_at(buf_str(b), group + 1);

	memset(b->p + from, 0, to - from);
	store(DIR "/log-00000001", buf_str(b));
}

/* What was not synced may be missing before what was written after it. */
static void
test_lag(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	body_max = 60;
	struct commitlog *l = open_ok();
	commit(l, 3);
	append_unsynced(l, 7);
	commitlog_close(&l);
	for (uint64_t lost = 4; lost <= 7; lost++) {
		load(DIR "/log-00000001", &b);
		struct buf whole = BUF_INIT;
		buf_put_str(&whole, buf_str(&b));
		zero_record(&b, lost);
		assert_int_equal(last_group(0), lost - 1);
		store(DIR "/log-00000001", buf_str(&whole));
		buf_free(&whole);
	}
	/* The fourth says that the third was synced. */
	load(DIR "/log-00000001", &b);
	struct buf whole = BUF_INIT;
	buf_put_str(&whole, buf_str(&b));
	zero_record(&b, 3);
	refused(0, "stands behind it");
	store(DIR "/log-00000001", buf_str(&whole));
	/* And what is appended to it, that all before it were. */
	l = open_ok();
	commit(l, 8);
	commitlog_close(&l);
	load(DIR "/log-00000001", &b);
	zero_record(&b, 5);
	refused(0, "stands behind it");
	buf_free(&whole);
	buf_free(&b);
}

/* A start brings to the disk what a kill left in the kernel's memory. */
static void
test_unsynced_is_written_again(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	body_max = 60;
	struct commitlog *l = open_ok();
	commit(l, 3);
	append_unsynced(l, 7);
	file_fault(FILE_CALL_SYNC, 1, 1, ERR_IO);
	assert_int_equal(commitlog_sync(l, &w), ERR_BROKEN);
	commitlog_close(&l);
	file_faults_end();
	assert_int_equal(last_group(0), 7);
	file_fake_power_cut();
	assert_int_equal(last_group(0), 7);
}

/* The file cut at, or zeroed from, each byte of the last two records. */
static void
test_torn_tails(void **state)
{
	struct buf b = BUF_INIT, cut = BUF_INIT;

	(void)state;
	body_max = 60;
	make_log(8);
	load(DIR "/log-00000001", &b);
	struct str bytes = buf_str(&b);
	size_t r7 = record_at(bytes, 7), r8 = record_at(bytes, 8);
	size_t end = record_at(bytes, 9);
	for (size_t at = r7; at < end; at++) {
		uint64_t want = in_padding(bytes, r8, at) ? 8 :
		    at >= r8 || in_padding(bytes, r7, at) ? 7 : 6;
		store(DIR "/log-00000001", str_cut(bytes, 0, at));
		/* Bytes that are zero are as good as gone ones. */
		uint64_t got = last_group(0);
		assert_true(got == want || (got == want + 1 && at > r7));
		/* The segment is whole again, and can be written to. */
		load(DIR "/log-00000001", &cut);
		assert_int_equal(cut.n, 4096);
		struct commitlog *l = open_ok();
		commit(l, 12);
		commitlog_close(&l);
		assert_int_equal(last_group(0), 12);
	}
	buf_free(&cut);
	buf_free(&b);
}

/* Opening leaves nothing of what it cut off; opening again changes nothing. */
static void
test_tail_is_zeroed(void **state)
{
	struct commitlog_stats s;
	struct buf b = BUF_INIT;

	(void)state;
	make_log(4);
	load(DIR "/log-00000001", &b);
	size_t end = record_at(buf_str(&b), 5);
	memset(b.p + end, 0xee, b.n - end);
	store(DIR "/log-00000001", buf_str(&b));
	struct commitlog *l = open_ok();
	commitlog_stats(l, &s);
	assert_true(s.cut_bytes > 0);
	commitlog_close(&l);
	file_fake_power_cut();
	load(DIR "/log-00000001", &b);
	for (size_t i = end; i < b.n; i++)
		assert_int_equal(b.p[i], 0);
	l = open_ok();
	commitlog_stats(l, &s);
	assert_int_equal(s.cut_bytes, 0);
	commitlog_close(&l);
	buf_free(&b);
}

/* Each byte of a head in use. */
static void
test_damaged_heads(void **state)
{
	static const char *const paths[] = { DIR "/log-00000001",
		DIR "/log-00000002", DIR "/log-00000003" };
	struct buf b = BUF_INIT;

	(void)state;
	make_log(60);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		load(paths[i], &b);
		for (size_t at = 0; at < 44; at++) {
			b.p[at] ^= (char)(1 << at % 8);
			store(paths[i], buf_str(&b));
			refused(0, "head of log-0000000");
			b.p[at] ^= (char)(1 << at % 8);
		}
		/* The whole sector lost. */
		char head[HEAD];
		memcpy(head, b.p, HEAD);
		memset(b.p, 0, HEAD);
		store(paths[i], buf_str(&b));
		refused(0, "head of log-0000000");
		memcpy(b.p, head, HEAD);
		store(paths[i], buf_str(&b));
	}
	assert_int_equal(last_group(0), 60);
	buf_free(&b);
}

static void
test_missing_segments(void **state)
{
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	make_log(100);
	load(DIR "/log-00000003", &b);
	assert_int_equal(file_remove(DIR "/log-00000003", &w), OK);
	refused(0, "log-00000003 is missing");
	store(DIR "/log-00000003", buf_str(&b));
	assert_int_equal(last_group(0), 100);
	assert_int_equal(file_remove(DIR "/log-00000001", &w), OK);
	refused(0, "begins with group");
	assert_int_equal(last_group(99), 100);
	/* Its content is in the index. */
	assert_int_equal(file_remove(DIR "/log-00000003", &w), OK);
	assert_int_equal(last_group(99), 100);
	assert_false(there(DIR "/log-00000002"));
	assert_true(there(DIR "/log-00000002.damaged"));
	buf_free(&b);
}

static void
test_damage_before_checkpoint(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	body_max = 60;
	make_log(8);
	load(DIR "/log-00000001", &b);
	for (uint64_t g = 1; g <= 8; g++) {
		size_t at = record_at(buf_str(&b), g) + RECORD_HEAD;
		b.p[at] ^= 1;
		store(DIR "/log-00000001", buf_str(&b));
		if (g < 8)
			refused(g - 1, "cannot be read");
		/* In the index: a warning, and the log goes on. */
		assert_int_equal(last_group(g), 8);
		assert_int_equal(last_group(8), 8);
		struct commitlog *l = open_from(8, &(struct replayed){
		    .first = 0 });
		commit(l, 9);
		commitlog_close(&l);
		assert_int_equal(last_group(8), 9);
		b.p[at] ^= 1;
	}
	buf_free(&b);
}

/* Copies of one log that went different ways. */
static void
test_other_copy(void **state)
{
	struct commitlog_options o = tiny;
	struct replayed r = { 0 };
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	body_max = 60;
	make_log(4);
	load(DIR "/log-00000001", &b);
	struct commitlog *l = open_ok();
	commit(l, 6);
	o.from_chain = commitlog_chain(l);
	commitlog_close(&l);
	assert_int_equal(commitlog_open(DIR, &o, 6, replay, &r, &l, &w), OK);
	commitlog_close(&l);
	store(DIR "/log-00000001", buf_str(&b));
	l = open_ok();
	for (uint64_t g = 5; g <= 7; g++) {
		assert_int_equal(commitlog_append(l, g, STR("other"), &w),
		    OK);
		assert_int_equal(commitlog_sync(l, &w), OK);
	}
	commitlog_close(&l);
	assert_int_equal(commitlog_open(DIR, &o, 6, replay, &r, &l, &w),
	    ERR_CORRUPT);
	assert_non_null(strstr(w.text, "not the log that the index"));
	/* Before they parted they were one. */
	o.from_chain = 0;
	buf_free(&b);
}

static void
test_newer_version(void **state)
{
	struct buf b = BUF_INIT, crc = BUF_INIT;
	struct commitlog *l;
	struct replayed r = { 0 };
	struct why w = WHY_INIT;

	(void)state;
	make_log(3);
	load(DIR "/log-00000001", &b);
	b.p[6] = '2';
	buf_put_be32(&crc, crc32c_of(str_cut(buf_str(&b), 0, 40), 0));
	memcpy(b.p + 40, crc.p, 4);
	store(DIR "/log-00000001", buf_str(&b));
	assert_int_equal(commitlog_open(DIR, &tiny, 0, replay, &r, &l, &w),
	    ERR_NEWER);
	assert_non_null(strstr(w.text, "a newer version of argiope"));
	buf_free(&crc);
	buf_free(&b);
}

/* The current segment lost, its spare still there. */
static void
test_missing_current(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;
	char path[64];

	(void)state;
	for (uint64_t g = 1; g <= 60; g++) {
		commit(l, g);
		assert_int_equal(commitlog_prepare(l, 10, &w), OK);
	}
	struct commitlog_stats s;
	commitlog_stats(l, &s);
	while (s.spares == 0) {
		commit(l, commitlog_group(l) + 1);
		assert_int_equal(commitlog_prepare(l, 10, &w), OK);
		commitlog_stats(l, &s);
	}
	commitlog_close(&l);
	snprintf(path, sizeof(path), DIR "/log-%08u",
	    (unsigned)(s.segments - s.spares));
	assert_int_equal(file_remove(path, &w), OK);
	refused(0, "is missing");
}

static void
test_swapped_segments(void **state)
{
	struct buf a = BUF_INIT, b = BUF_INIT;

	(void)state;
	make_log(60);
	load(DIR "/log-00000001", &a);
	load(DIR "/log-00000002", &b);
	store(DIR "/log-00000001", buf_str(&b));
	store(DIR "/log-00000002", buf_str(&a));
	refused(0, "log-00000001");
	/* An older copy of a segment under its own name. */
	store(DIR "/log-00000001", buf_str(&a));
	size_t r = record_at(buf_str(&b), 3);
	memset(b.p + r, 0, b.n - r);
	store(DIR "/log-00000002", buf_str(&b));
	refused(0, "but the next segment begins with");
	buf_free(&a);
	buf_free(&b);
}

static void
test_older_than_index(void **state)
{
	(void)state;
	make_log(10);
	refused(11, "log ends with group 10, but the index has group 11");
	assert_int_equal(last_group(10), 10);
}

static void
test_wrong_sizes(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	make_log(3);
	load(DIR "/log-00000001", &b);
	store(DIR "/log-00000001", STR_NONE);
	refused(0, "wrong size");
	store(DIR "/log-00000001", str_cut(buf_str(&b), 0, HEAD));
	refused(0, "wrong size");
	store(DIR "/log-00000001", buf_str(&b));
	assert_int_equal(last_group(0), 3);
	buf_free(&b);
}

static void
test_other_files(void **state)
{
	(void)state;
	make_log(3);
	store(DIR "/log-00000003.new", STR("half"));
	store(DIR "/log-7", STR("no"));
	store(DIR "/log-000000008", STR("no"));
	store(DIR "/notes.txt", STR("an operator's"));
	assert_int_equal(last_group(0), 3);
	assert_false(there(DIR "/log-00000003.new"));
	assert_true(there(DIR "/notes.txt"));
}

/* Leftovers of an earlier use never count, whatever groups they hold. */
static void
test_leftovers(void **state)
{
	struct commitlog_stats s;
	struct replayed r;
	struct commitlog *l = open_ok();

	(void)state;
	body_max = 0;
	for (uint64_t g = 1; g <= 400; g++) {
		commit(l, g);
		commitlog_release(l, g - 1);
	}
	commitlog_stats(l, &s);
	assert_true(s.recycled > 0);
	commitlog_close(&l);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(last_group(399), (uint64_t)400 + (uint64_t)i);
		l = open_from(399, &r);
		commit(l, 401 + (uint64_t)i);
		commitlog_close(&l);
	}
}

/* Two records that changed places, each whole. */
static void
test_disorder(void **state)
{
	struct buf b = BUF_INIT;
	char third[RECORD_HEAD];

	(void)state;
	body_max = 0;
	make_log(9);
	load(DIR "/log-00000001", &b);
	char *at = b.p + HEAD + 2 * RECORD_HEAD;
	memcpy(third, at, RECORD_HEAD);
	memcpy(at, at + RECORD_HEAD, RECORD_HEAD);
	memcpy(at + RECORD_HEAD, third, RECORD_HEAD);
	store(DIR "/log-00000001", buf_str(&b));
	refused(0, "group 4 stands behind group 2");
	buf_free(&b);
}

/*
 * A record of a group that must not be there yet, whole and with the right
 * key, behind a torn one.
 */
static void
test_valid_behind_torn(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	body_max = 100;
	make_log(9);
	load(DIR "/log-00000001", &b);
	size_t r8 = record_at(buf_str(&b), 8), r9 = record_at(buf_str(&b), 9);
	memset(b.p + r8, 0, r9 - r8);
	store(DIR "/log-00000001", buf_str(&b));
	refused(0, "group 8 cannot be read, but group 9 stands behind it");
	buf_free(&b);
}

/* Bytes of outsiders that look like records are no records. */
static void
test_hostile_body(void **state)
{
	struct buf body = BUF_INIT, b = BUF_INIT;
	struct why w = WHY_INIT;
	struct replayed r;

	(void)state;
	body_max = 20;
	make_log(1);
	load(DIR "/log-00000001", &b);
	/* The key of another segment: as good as any that can be guessed. */
	for (int i = 0; i < 60; i++)
		buf_put(&body, b.p + HEAD, 48);
	file_fake_reset(2);
	struct commitlog *l = open_ok();
	assert_int_equal(commitlog_append(l, 1, buf_str(&body), &w), OK);
	commitlog_close(&l);
	load(DIR "/log-00000001", &b);
	b.p[HEAD + 3] ^= 1;
	store(DIR "/log-00000001", buf_str(&b));
	l = open_from(0, &r);
	assert_int_equal(commitlog_group(l), 0);
	commitlog_close(&l);
	buf_free(&body);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_flips),
		TEST(test_lag),
		TEST(test_unsynced_is_written_again),
		TEST(test_torn_tails),
		TEST(test_tail_is_zeroed),
		TEST(test_damaged_heads),
		TEST(test_missing_segments),
		TEST(test_damage_before_checkpoint), TEST(test_other_copy),
		TEST(test_newer_version),
		TEST(test_missing_current),
		TEST(test_swapped_segments),
		TEST(test_older_than_index),
		TEST(test_wrong_sizes),
		TEST(test_other_files),
		TEST(test_leftovers),
		TEST(test_disorder),
		TEST(test_valid_behind_torn),
		TEST(test_hostile_body),
	};

	return cmocka_run_group_tests_name("commitlog_damage", tests, NULL,
	    NULL);
}
