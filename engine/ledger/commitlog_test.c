#include "engine/ledger/commitlog_testing.h"
#include "tests/rounds.h"

#include <unistd.h>

/* --- the ordinary ------------------------------------------------------- */

static void
test_fresh(void **state)
{
	struct commitlog_stats s;
	struct commitlog *l = open_ok();

	(void)state;
	assert_int_equal(commitlog_group(l), 0);
	commitlog_stats(l, &s);
	assert_true(s.fresh);
	assert_int_equal(s.segments, 2);
	assert_int_equal(s.spares, 2);
	assert_int_equal(s.segment_bytes, 2 * 4096);
	assert_int_equal(commitlog_room(l), 4096 - HEAD - RECORD_HEAD);
	commitlog_close(&l);
	commitlog_close(&l);
	l = open_ok();
	commitlog_stats(l, &s);
	assert_false(s.fresh);
	assert_int_equal(s.segments, 2);
	commitlog_close(&l);
}

static void
test_reopen(void **state)
{
	(void)state;
	make_log(10);
	for (uint64_t from = 0; from <= 10; from++)
		assert_int_equal(last_group(from), 10);
	/* Go on from there. */
	struct replayed r;
	struct commitlog *l = open_from(4, &r);
	assert_int_equal(r.first, 5);
	commit(l, 20);
	commitlog_close(&l);
	assert_int_equal(last_group(0), 20);
}

static void
test_many_segments(void **state)
{
	struct commitlog_stats s;
	struct commitlog *l = open_ok();

	(void)state;
	commit(l, 200);
	commitlog_stats(l, &s);
	assert_true(s.segments > 5);
	assert_int_equal(s.records, 200);
	commitlog_close(&l);
	for (uint64_t from = 0; from <= 200; from += 7)
		assert_int_equal(last_group(from), 200);
}

/* With a checkpoint now and then two segments are enough for ever. */
static void
test_recycling(void **state)
{
	struct commitlog_stats s;
	struct commitlog *l = open_ok();

	(void)state;
	for (uint64_t g = 1; g <= 1000; g++) {
		commit(l, g);
		if (g % 5 == 0)
			commitlog_release(l, g - 2);
	}
	commitlog_stats(l, &s);
	assert_int_equal(s.segments, 2);
	assert_int_equal(s.allocated, 2);
	assert_true(s.recycled > 20);
	commitlog_close(&l);
	assert_int_equal(last_group(998), 1000);
	assert_int_equal(last_group(1000), 1000);
	assert_false(there(DIR "/log-00000001"));
	/* What is older than the log is not to be had from it. */
	refused(2, "begins with group");
}

/* What was too much for two segments is removed when it is released. */
static void
test_release_removes(void **state)
{
	struct commitlog_stats s;
	struct commitlog *l = open_ok();

	(void)state;
	commit(l, 200);
	commitlog_release(l, 200);
	commitlog_stats(l, &s);
	assert_int_equal(s.segments, 2);
	assert_true(s.removed > 3);
	assert_int_equal(s.segment_bytes, 2 * 4096);
	commit(l, 210);
	commitlog_close(&l);
	assert_int_equal(last_group(200), 210);
}

/* A log that got long goes on in longer segments, and keeps those. */
static void
test_growing(void **state)
{
	const struct commitlog_options options = { .segment_bytes = 4096,
	    .segment_bytes_max = 4 * 4096 };
	struct commitlog_stats s;
	struct commitlog *l = NULL;
	struct replayed r = { 0 };
	struct why w = WHY_INIT;
	uint64_t g = 0;

	(void)state;
	assert_int_equal(commitlog_grown(4 * 4096 - 1, 4096, 4 * 4096), 4096);
	assert_int_equal(commitlog_grown(4 * 4096, 4096, 4 * 4096), 4 * 4096);
	assert_int_equal(commitlog_grown(UINT64_MAX, 4096, 0), 4096);
	assert_int_equal(commitlog_open(DIR, &options, 0, replay, &r, &l, &w),
	    OK);
	do {
		commit(l, ++g);
		commitlog_release(l, g);
		commitlog_stats(l, &s);
		if (s.bytes < COMMITLOG_SEGMENTS_FIRST * 4096)
			assert_int_equal(s.segment_bytes, 2 * 4096);
	} while (s.bytes < 32 * 4096);
	assert_int_equal(s.segments, 2);
	assert_int_equal(s.segment_bytes, 2 * 4 * 4096);
	assert_true(s.recycled > 4);
	commitlog_close(&l);
	assert_int_equal(last_group(g - 1), g);
}

static void
test_release_keeps(void **state)
{
	struct commitlog *l = open_ok();
	struct commitlog_stats before, after;

	(void)state;
	commit(l, 100);
	commitlog_release(l, 0);
	commitlog_stats(l, &before);
	commitlog_release(l, 3);
	commitlog_stats(l, &after);
	assert_int_equal(before.segments, after.segments);
	commitlog_close(&l);
	assert_int_equal(last_group(3), 100);
}

static void
test_big_records(void **state)
{
	struct commitlog_stats s;
	struct commitlog *l = open_ok();

	(void)state;
	/* Around the edge of what a segment holds, and far beyond it. */
	static const size_t sizes[] = { 3559, 3560, 3561, 100000, 10, 3560,
		50000, 60000, 0 };
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct buf b = BUF_INIT;
		struct why w = WHY_INIT;
		for (size_t j = 0; j < sizes[i]; j++)
			buf_put_char(&b, (char)('a' + i));
		assert_int_equal(commitlog_prepare(l, sizes[i], &w), OK);
		assert_true(commitlog_room(l) >= sizes[i]);
		assert_int_equal(commitlog_append(l, i + 1, buf_str(&b), &w),
		    OK);
		assert_int_equal(commitlog_sync(l, &w), OK);
		buf_free(&b);
	}
	commitlog_stats(l, &s);
	assert_int_equal(s.records, ARRAY_LEN(sizes));
	commitlog_close(&l);
}

static enum err
replay_sizes(void *arg, uint64_t group, struct str body, struct why *w)
{
	size_t *sizes = arg;

	(void)w;
	sizes[group] = body.n;
	for (size_t i = 0; i < body.n; i++)
		assert_int_equal(body.p[i], 'a' + (int)group - 1);
	return OK;
}

static void
test_big_records_reopen(void **state)
{
	size_t sizes[10] = { 0 };
	struct commitlog *l;
	struct why w = WHY_INIT;

	test_big_records(state);
	assert_int_equal(commitlog_open(DIR, &tiny, 0, replay_sizes, sizes, &l,
	    &w), OK);
	assert_int_equal(commitlog_group(l), 9);
	assert_int_equal(sizes[3], 3561);
	assert_int_equal(sizes[4], 100000);
	assert_int_equal(sizes[8], 60000);
	assert_int_equal(sizes[9], 0);
	/* Segments of an odd size are not recycled. */
	struct commitlog_stats s;
	commit(l, 60);
	commitlog_release(l, 60);
	commitlog_stats(l, &s);
	assert_true(s.segment_bytes <= 3 * 4096);
	commitlog_close(&l);
	assert_int_equal(last_group(60), 60);
}

static void
test_body_limit(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;
	struct str huge = { "", COMMITLOG_BODY_BYTES_MAX + 1 };

	(void)state;
	assert_int_equal(commitlog_prepare(l, huge.n, &w), ERR_FULL);
	w = WHY_INIT;
	assert_int_equal(commitlog_append(l, 1, huge, &w), ERR_FULL);
	commit(l, 3);
	commitlog_close(&l);
	assert_int_equal(last_group(0), 3);
}

/* Several appends, one sync; and the sync of a segment that was left. */
static void
test_one_sync_for_many(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(append(l, &w), OK);
	assert_int_equal(commitlog_sync(l, &w), OK);
	uint64_t syncs = file_calls(FILE_CALL_SYNC);
	assert_int_equal(commitlog_sync(l, &w), OK);
	assert_int_equal(file_calls(FILE_CALL_SYNC), syncs);
	commitlog_close(&l);
	file_fake_power_cut();
	assert_int_equal(last_group(0), 100);
}

static void
test_replay_refuses(void **state)
{
	struct replayed r = { .fail_group = 6 };
	struct commitlog *l;
	struct why w = WHY_INIT;

	(void)state;
	make_log(9);
	assert_int_equal(commitlog_open(DIR, &tiny, 2, replay, &r, &l, &w),
	    ERR_INPUT);
	assert_string_equal(w.text, "not this one");
	assert_int_equal(r.last, 6);
	assert_null(l);
}

/* --- failing disks ------------------------------------------------------ */

static void
test_sync_fails(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;
	struct commitlog_stats s;

	(void)state;
	commit(l, 5);
	assert_int_equal(append(l, &w), OK);
	file_fault(FILE_CALL_SYNC, 1, 1, ERR_IO);
	assert_int_equal(commitlog_sync(l, &w), ERR_BROKEN);
	assert_non_null(strstr(w.text, "until restart"));
	/* The disk works again; the log does not. */
	w = WHY_INIT;
	assert_int_equal(commitlog_sync(l, &w), ERR_BROKEN);
	assert_int_equal(append(l, &w), ERR_BROKEN);
	assert_int_equal(commitlog_prepare(l, 1, &w), ERR_BROKEN);
	commitlog_release(l, 5);
	commitlog_stats(l, &s);
	assert_true(s.broken);
	commitlog_close(&l);
	file_fake_power_cut();
	assert_int_equal(last_group(0), 5);
}

/* A sync that fails for want of space is lost all the same. */
static void
test_sync_disk_full(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;

	(void)state;
	commit(l, 5);
	assert_int_equal(append(l, &w), OK);
	file_fault(FILE_CALL_SYNC, 1, 1, ERR_DISK_FULL);
	assert_int_equal(commitlog_sync(l, &w), ERR_BROKEN);
	commitlog_close(&l);
}

static void
test_write_fails(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;

	(void)state;
	commit(l, 5);
	file_fault(FILE_CALL_WRITE, 1, 1, ERR_IO);
	assert_int_equal(append(l, &w), ERR_BROKEN);
	assert_int_equal(append(l, &w), ERR_BROKEN);
	commitlog_close(&l);
	assert_int_equal(last_group(0), 5);
}

/* A write that met a full disk is tried again and stands where it should. */
static void
test_write_disk_full(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;

	(void)state;
	for (uint64_t g = 1; g <= 50; g++) {
		for (int i = 0; i < 3; i++) {
			file_fault(FILE_CALL_WRITE, 1, 1, ERR_DISK_FULL);
			assert_int_equal(append(l, &w), ERR_DISK_FULL);
			assert_int_equal(commitlog_group(l), g - 1);
		}
		file_faults_end();
		commit(l, g);
	}
	commitlog_close(&l);
	assert_int_equal(last_group(0), 50);
}

/* Space runs out: told while half a segment is left, and over when it is. */
static void
test_prepare_disk_full(void **state)
{
	struct commitlog *l = open_ok();
	struct why w = WHY_INIT;
	struct commitlog_stats s;
	uint64_t told = 0;

	(void)state;
	file_fake_limit(2 * 4096 + 100);
	while (told == 0) {
		if (commitlog_prepare(l, 300, &w) == ERR_DISK_FULL)
			told = commitlog_group(l);
		else
			commit(l, commitlog_group(l) + 1);
	}
	assert_true(w.text[0] != '\0');
	assert_true(commitlog_room(l) > 1000);
	/* What was accepted before still finds its place. */
	commit(l, told + 3);
	/* Nothing of the attempts is left lying about. */
	assert_false(there(DIR "/log-00000003"));
	assert_false(there(DIR "/log-00000003.new"));
	while (append(l, &w) == OK)
		continue;
	uint64_t last = commitlog_group(l);
	w = WHY_INIT;
	assert_int_equal(append(l, &w), ERR_DISK_FULL);
	assert_int_equal(commitlog_sync(l, &w), OK);
	/* A checkpoint gives room without any more disk. */
	commitlog_release(l, last);
	w = WHY_INIT;
	assert_int_equal(commitlog_prepare(l, 300, &w), OK);
	commit(l, last + 5);
	commitlog_stats(l, &s);
	assert_int_equal(s.segments, 2);
	commitlog_close(&l);
	assert_int_equal(last_group(last), last + 5);
}

static void
test_open_disk_full(void **state)
{
	struct replayed r = { 0 };
	struct commitlog *l;
	struct why w = WHY_INIT;

	(void)state;
	file_fake_limit(1000);
	assert_int_equal(commitlog_open(DIR, &tiny, 0, replay, &r, &l, &w),
	    ERR_DISK_FULL);
	assert_null(l);
	/* One segment is enough to begin with. */
	file_fake_limit(5000);
	l = open_ok();
	commit(l, 2);
	commitlog_close(&l);
	file_fake_limit(100000);
	assert_int_equal(last_group(0), 2);
	assert_true(there(DIR "/log-00000002"));
}

static uint64_t lag;             /* so far the index is behind the log */

static uint64_t
behind(uint64_t group)
{
	return group > lag ? group - lag : 0;
}

/*
 * What a program does with its log, until the machine stops: `*synced` is what
 * it was told is durable, `*tried` the last group it handed over.
 */
static void
run_until_stop(uint64_t from, uint64_t groups, uint64_t *synced,
    uint64_t *tried)
{
	struct replayed r = { 0 };
	struct commitlog *l;
	struct why w = WHY_INIT;

	if (commitlog_open(DIR, &tiny, from, replay, &r, &l, &w) != OK) {
		assert_int_not_equal(w.err, ERR_CORRUPT);
		return;
	}
	for (uint64_t g = commitlog_group(l) + 1; groups-- > 0; g++) {
		if (g % 3 == 0)
			(void)!commitlog_prepare(l, body_max, &w);
		*tried = g;
		if (append(l, &w) != OK || commitlog_sync(l, &w) != OK)
			break;
		*synced = g;
		if (g % 2 == 0)
			commitlog_release(l, behind(g));
	}
	commitlog_close(&l);
}

/* Stop at every change in turn; nothing that was synced may be missing. */
static void
stop_everywhere(bool power, uint64_t lag_now)
{
	uint64_t changes, synced, tried;
	uint64_t seeds = power ? ROUNDS(20) : 1;

	body_max = 700;
	lag = lag_now;
	file_fake_reset(1);
	run_until_stop(0, 45, &synced, &tried);
	changes = file_calls(FILE_CALL_CHANGE);
	assert_true(changes > 60);
	for (uint64_t n = 1; n <= changes; n++) {
		for (uint64_t seed = 0; seed < seeds; seed++) {
			file_fake_reset(seed * 1000 + n);
			synced = tried = 0;
			file_fault(FILE_CALL_CHANGE, n, FILE_FAULT_FOREVER,
			    ERR_IO);
			run_until_stop(0, 45, &synced, &tried);
			file_faults_end();
			if (power)
				file_fake_power_cut();
			else
				file_fake_kill();
			uint64_t from = behind(synced);
			uint64_t got = last_group(from);
			assert_in_range(got, synced, tried);
			/* And on, with another cut and no stop. */
			run_until_stop(from, 5, &synced, &tried);
			assert_int_equal(synced, got + 5);
			if (power)
				file_fake_power_cut();
			assert_int_equal(last_group(behind(synced)), synced);
		}
	}
}

static void
test_power_cut_everywhere(void **state)
{
	(void)state;
	/* Segments recycled soon, and never. */
	stop_everywhere(true, 3);
	stop_everywhere(true, 1000);
}

static void
test_kill_everywhere(void **state)
{
	(void)state;
	stop_everywhere(false, 3);
	stop_everywhere(false, 1000);
}

/* The machine stops while it opens, again and again. */
static void
test_power_cut_while_opening(void **state)
{
	(void)state;
	body_max = 700;
	lag = 3;
	for (uint64_t seed = 1; seed < 60; seed++) {
		uint64_t synced = 0, tried = 0;
		file_fake_reset(seed);
		file_fault(FILE_CALL_CHANGE, 40 + seed % 40,
		    FILE_FAULT_FOREVER, ERR_IO);
		run_until_stop(0, 40, &synced, &tried);
		file_faults_end();
		file_fake_power_cut();
		uint64_t from = behind(synced);
		for (uint64_t n = 1; n < 4; n++) {
			uint64_t unused = 0;
			file_fault(FILE_CALL_CHANGE, n, FILE_FAULT_FOREVER,
			    ERR_IO);
			run_until_stop(from, 0, &unused, &unused);
			file_faults_end();
			file_fake_power_cut();
		}
		assert_in_range(last_group(from), synced, tried);
	}
}

/* The real disk, with the default sizes. */
static void
test_real_files(void **state)
{
	char dir[] = "/tmp/commitlog-test-XXXXXX", path[100];
	struct replayed r = { 0 };
	struct commitlog *l;
	struct commitlog_stats s;
	struct why w = WHY_INIT;

	(void)state;
	file_use(&file_faulty);
	assert_non_null(mkdtemp(dir));
	for (uint64_t from = 0; from < 100; from += 50) {
		assert_int_equal(commitlog_open(dir, NULL, from, replay, &r,
		    &l, &w), OK);
		assert_int_equal(commitlog_group(l), from);
		commit(l, from + 50);
		commitlog_stats(l, &s);
		assert_int_equal(s.segments, COMMITLOG_SEGMENTS_MIN);
		assert_int_equal(s.segment_bytes, COMMITLOG_SEGMENTS_MIN *
		    COMMITLOG_SEGMENT_BYTES);
		commitlog_close(&l);
	}
	for (int i = 1; i <= COMMITLOG_SEGMENTS_MIN; i++) {
		snprintf(path, sizeof(path), "%s/log-%08d", dir, i);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fresh),
		TEST(test_reopen),
		TEST(test_many_segments),
		TEST(test_recycling),
		TEST(test_release_removes),
		TEST(test_growing),
		TEST(test_release_keeps),
		TEST(test_big_records),
		TEST(test_big_records_reopen),
		TEST(test_body_limit),
		TEST(test_one_sync_for_many),
		TEST(test_replay_refuses),
		TEST(test_sync_fails),
		TEST(test_sync_disk_full),
		TEST(test_write_fails),
		TEST(test_write_disk_full),
		TEST(test_prepare_disk_full),
		TEST(test_open_disk_full),
		TEST(test_power_cut_everywhere),
		TEST(test_kill_everywhere),
		TEST(test_power_cut_while_opening),
		TEST(test_real_files),
	};

	return cmocka_run_group_tests_name("commitlog", tests, NULL, NULL);
}
