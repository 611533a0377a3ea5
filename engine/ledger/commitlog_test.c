#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "base/hash.h"
#include "engine/ledger/commitlog.h"
#include "os/clock.h"
#include "os/file_fake.h"
#include "os/log.h"

#define DIR "data/log"
#define HEAD 512
#define RECORD_HEAD 24

static const struct commitlog_options tiny = { .segment_bytes = 4096 };
static size_t body_max;          /* of group_body() */

/* Groups have bodies that tell which group they are of. */
static struct str
group_body(uint64_t group, struct buf *b)
{
	size_t n = (size_t)(hash_u64(group) % (body_max + 1));

	buf_clear(b);
	for (size_t i = 0; i < n; i++)
		buf_put_char(b, (char)hash_u64(group * 131071 + i));
	return buf_str(b);
}

struct replayed {
	uint64_t first, last;
	enum err fail_at_last;
	uint64_t fail_group;
};

static enum err
replay(void *arg, uint64_t group, struct str body, struct why *w)
{
	struct replayed *r = arg;
	struct buf b = BUF_INIT;

	if (r->first == 0)
		r->first = group;
	else
		assert_int_equal(group, r->last + 1);
	assert_true(str_eq(body, group_body(group, &b)));
	buf_free(&b);
	r->last = group;
	if (group == r->fail_group)
		return why(w, ERR_INPUT, "not this one");
	return OK;
}

static struct commitlog *
open_from(uint64_t from, struct replayed *r)
{
	struct commitlog *l;
	struct why w = WHY_INIT;

	*r = (struct replayed){ 0 };
	if (commitlog_open(DIR, &tiny, from, replay, r, &l, &w) != OK)
		fail_msg("%s", w.text);
	return l;
}

static struct commitlog *
open_ok(void)
{
	struct replayed r;

	return open_from(0, &r);
}

static void
refused(uint64_t from, const char *text)
{
	struct replayed r = { 0 };
	struct commitlog *l;
	struct why w = WHY_INIT;

	assert_int_equal(commitlog_open(DIR, &tiny, from, replay, &r, &l, &w),
	    ERR_CORRUPT);
	assert_null(l);
	if (strstr(w.text, text) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", text, w.text);
	assert_non_null(strstr(w.text, "restore the data directory"));
}

static enum err
append(struct commitlog *l, struct why *w)
{
	struct buf b = BUF_INIT;
	uint64_t group = commitlog_group(l) + 1;

	enum err e = commitlog_append(l, group, group_body(group, &b), w);
	buf_free(&b);
	return e;
}

static void
commit(struct commitlog *l, uint64_t upto)
{
	struct why w = WHY_INIT;

	while (commitlog_group(l) < upto) {
		assert_int_equal(append(l, &w), OK);
		assert_int_equal(commitlog_sync(l, &w), OK);
	}
}

/* A log of groups 1 to `upto`, closed. */
static void
make_log(uint64_t upto)
{
	struct commitlog *l = open_ok();

	commit(l, upto);
	commitlog_close(&l);
	assert_null(l);
}

static uint64_t
last_group(uint64_t from)
{
	struct replayed r;
	struct commitlog *l = open_from(from, &r);
	uint64_t group = commitlog_group(l);

	if (group > from) {
		assert_int_equal(r.first, from + 1);
		assert_int_equal(r.last, group);
	}
	commitlog_close(&l);
	return group;
}

static void
load(const char *path, struct buf *b)
{
	struct why w = WHY_INIT;

	buf_clear(b);
	if (file_load(path, 1 << 24, b, &w) != OK)
		fail_msg("%s", w.text);
}

static void
store(const char *path, struct str bytes)
{
	struct why w = WHY_INIT;
	int fd;

	assert_int_equal(file_open(path, FILE_CREATE, &fd, &w), OK);
	assert_int_equal(file_cut(fd, 0, &w), OK);
	assert_int_equal(file_write(fd, 0, bytes.p, bytes.n, &w), OK);
	assert_int_equal(file_sync(fd, &w), OK);
	file_close(&fd);
}

static bool
there(const char *path)
{
	int fd;

	if (file_open(path, FILE_READ, &fd, NULL) != OK)
		return false;
	file_close(&fd);
	return true;
}

/* --- the ordinary ---------------------------------------------------------- */

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

/* --- damage ----------------------------------------------------------------- */

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

/* Opening leaves nothing of what it cut off, and opening again changes nothing. */
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
	/* Also when nobody needs what it held: something is not as it was. */
	refused(100, "log-00000003 is missing");
	store(DIR "/log-00000003", buf_str(&b));
	assert_int_equal(last_group(0), 100);
	assert_int_equal(file_remove(DIR "/log-00000001", &w), OK);
	refused(0, "begins with group");
	assert_int_equal(last_group(99), 100);
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

/* --- failing disks ---------------------------------------------------------- */

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

	body_max = 700;
	lag = lag_now;
	file_fake_reset(1);
	run_until_stop(0, 45, &synced, &tried);
	changes = file_calls(FILE_CALL_CHANGE);
	assert_true(changes > 60);
	for (uint64_t n = 1; n <= changes; n++) {
		for (uint64_t seed = 0; seed < (power ? 20 : 1); seed++) {
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

/* Keys are from a seed too, so that a failure comes again. */
static uint64_t random_state;

static void
seeded_random(void *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)out)[i] = (char)hash_u64(++random_state);
}

static int
setup(void **state)
{
	static struct clock_table clocks;

	(void)state;
	clocks = clock_real;
	clocks.random = seeded_random;
	clock_use(&clocks);
	random_state = 0;
	body_max = 400;
	file_use(&file_fake);
	file_fake_reset(1);
	log_open(LOG_OFF, 2, false);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	file_fake_reset(1);
	file_use(&file_real);
	clock_use(&clock_real);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fresh),
		TEST(test_reopen),
		TEST(test_many_segments),
		TEST(test_recycling),
		TEST(test_release_removes),
		TEST(test_release_keeps),
		TEST(test_big_records),
		TEST(test_big_records_reopen),
		TEST(test_body_limit),
		TEST(test_one_sync_for_many),
		TEST(test_replay_refuses),
		TEST(test_flips),
		TEST(test_torn_tails),
		TEST(test_tail_is_zeroed),
		TEST(test_damaged_heads),
		TEST(test_missing_segments),
		TEST(test_missing_current),
		TEST(test_swapped_segments),
		TEST(test_older_than_index),
		TEST(test_wrong_sizes),
		TEST(test_other_files),
		TEST(test_leftovers),
		TEST(test_disorder),
		TEST(test_valid_behind_torn),
		TEST(test_hostile_body),
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
