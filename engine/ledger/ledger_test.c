/* The ledger on one loop: what it promises, through crashes at every step. */
#include "engine/ledger/ledger_testing.h"
#include "tests/rounds.h"
#include "wire/gzip.h"

#define FOREVER FILE_FAULT_FOREVER
/* From one of hundreds of moments to the next, each of which is two lives. */
#define LIVES_STEP (SANITIZED ? 17u : 1u)
/* The syncs at whose failure a rest may move: at the fourth to the ninth. */
#define MOVES (SANITIZED ? 10u : 30u)

/* --- promises ------------------------------------------------------------ */

/* The power goes right after the n-th promise, for every n. */
static void
test_promised_is_durable(void **state)
{
	struct rig r;

	(void)state;
	for (uint64_t n = 1; n <= 30; n += ROUNDS_STEP) {
		rig_init(&r);
		r.series_n = 2;
		r.cut_at = n;
		rig_open_ok(&r);
		rig_items(&r, 35);
		assert_true(world.stopped);
		rig_crash(&r, true);
		r.cut_at = 0;
		rig_open_ok(&r);
		rig_verify(&r);
		assert_true(r.seq >= n);
		rig_close(&r);
		rig_verify_files(&r);
		rig_end(&r);
	}
}

static void
test_nothing_before_the_sync(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open_ok(&r);
	rig_put(&r);
	assert_int_equal(r.kept, 0);
	/* Sealed and written, but the log cannot be synced. */
	file_fault(FILE_CALL_SYNC, 2, FOREVER, ERR_IO);
	rig_pass(&r, 10);
	assert_int_equal(r.kept, 0);
	assert_int_equal(r.health, LEDGER_FAILED);
	rig_crash(&r, true);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 0);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

/* --- held between two groups --------------------------------------------- */

struct holding {
	struct ledger_hold hold;
	unsigned calls;
};

static void
note_held(struct ledger_hold *h)
{
	CONTAINER(h, struct holding, hold)->calls++;
}

/* Nothing is promised while it is held; behind it all goes on. */
static void
test_hold(void **state)
{
	struct holding h = { .hold.held = note_held };
	struct rig r;

	(void)state;
	rig_init(&r);
	r.rollover_bytes = 3000;
	rig_open_ok(&r);
	rig_items(&r, 20);
	uint64_t groups = rig_groups(&r), kept = r.kept;
	rig_put(&r);
	ledger_hold(r.ledger, &h.hold);
	rig_pass(&r, 3000);
	assert_int_equal(h.calls, 1);
	assert_int_equal(h.hold.why.err, OK);
	assert_int_equal(h.hold.group, ledger_applied(r.ledger));
	rig_items(&r, 3);
	rig_pass(&r, 3000);
	assert_int_equal(r.kept, kept);
	assert_int_equal(rig_groups(&r), groups);
	assert_int_equal(h.calls, 1);
	ledger_unhold(r.ledger);
	rig_pass(&r, 3000);
	assert_int_equal(r.kept, kept + 4);
	/* The state during a hold can be recovered from. */
	ledger_hold(r.ledger, &h.hold);
	rig_pass(&r, 10);
	assert_int_equal(h.calls, 2);
	rig_put(&r);
	rig_crash(&r, false);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 24);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

/* A waiter hears that the ledger cannot write. */
static void
test_hold_failed(void **state)
{
	struct holding h = { .hold.held = note_held };
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open_ok(&r);
	rig_put(&r);
	file_fault(FILE_CALL_SYNC, 2, FOREVER, ERR_IO);
	rig_pass(&r, 10);
	assert_int_equal(r.health, LEDGER_FAILED);
	ledger_hold(r.ledger, &h.hold);
	rig_pass(&r, 10);
	assert_int_equal(h.calls, 1);
	assert_int_equal(h.hold.why.err, ERR_BROKEN);
	ledger_unhold(r.ledger);
	rig_crash(&r, true);
	rig_end(&r);
}

/* --- when a group is sealed ---------------------------------------------- */

/* Many promises gather; one less than the limit waits for its time. */
static void
test_group_at_its_limits(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.options.group_promises_few = 0;
	r.options.group_records_max = 5;
	r.options.group_bytes_max = 64 << 10;
	r.options.group_ms_max = 300;
	rig_open_ok(&r);
	rig_pass(&r, 1);
	uint64_t groups = rig_groups(&r);
	for (int i = 0; i < 4; i++)
		rig_put_plain(&r, 10);
	rig_run(&r);
	assert_int_equal(r.kept, 0);
	rig_put_plain(&r, 10);               /* the fifth record */
	rig_run(&r);
	assert_int_equal(r.kept, 5);
	assert_int_equal(rig_groups(&r), groups + 1);
	rig_put_plain(&r, 60 << 10);         /* bytes: not yet, then */
	rig_run(&r);
	assert_int_equal(r.kept, 5);
	rig_put_plain(&r, 4 << 10);
	rig_run(&r);
	assert_int_equal(r.kept, 7);
	rig_put_plain(&r, 10);
	rig_pass(&r, 299);
	assert_int_equal(r.kept, 7);
	rig_pass(&r, 1);
	assert_int_equal(r.kept, 8);
	rig_close(&r);
	rig_end(&r);
}

/* The first group behind segment_bytes of log begins a checkpoint. */
static void
test_checkpoint_at_a_segment(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	rig_open_ok(&r);
	while (rig_stats(&r).log_bytes < r.options.segment_bytes) {
		rig_put_plain(&r, 1000);
		rig_run(&r);
		assert_int_equal(rig_stats(&r).checkpoints, 0);
	}
	rig_put_plain(&r, 10);
	rig_run(&r);
	assert_int_equal(rig_stats(&r).checkpoints, 1);
	rig_close(&r);
	rig_end(&r);
}

/* --- crashes ------------------------------------------------------------- */

static void
nothing(void *arg)
{
	(void)arg;
}

/* A crawl's and a harvest's series, rollovers, checkpoints, a series that ends:
 * 30 items. */
static void
script(struct rig *r)
{
	rig_items(r, 12);
	rig_close_series(r, 1);
	r->series_n = 1;
	rig_items(r, 18);
	ledger_close(r->ledger, nothing, r);
	rig_pass(r, 100);
}

static void
script_init(struct rig *r)
{
	rig_init(r);
	r->series_n = 2;
	r->harvests_from = 1;
	r->rollover_bytes = 5000;
	r->options.segment_bytes = 4 << 10;
	r->options.checkpoint_part = 3;
}

/* `restores`: what goes on was restored from a backup. */
static void
crash_at(uint64_t n, bool power, bool restores)
{
	struct rig r;

	script_init(&r);
	file_fault(FILE_CALL_CHANGE, n, FOREVER, ERR_IO);
	struct why w = WHY_INIT;
	if (rig_open(&r, &w) == OK) {
		script(&r);
		rig_crash(&r, power);
	} else {
		world_crash(power);
	}
	if (restores)
		rig_drop_empty_dirs();
	r.series_n = 2;
	rig_open_ok(&r);
	rig_verify(&r);
	/* And what is left is sound enough to go on with. */
	rig_items(&r, 5);
	rig_close(&r);
	rig_end(&r);
	rig_open_ok(&r);
	rig_verify(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

static uint64_t
changes_of_script(void)
{
	struct rig r;

	script_init(&r);
	rig_open_ok(&r);
	script(&r);
	uint64_t n = file_calls(FILE_CALL_CHANGE);
	assert_int_equal(r.kept, 30);
	struct ledger_stats s = rig_stats(&r);
	assert_true(s.checkpoints >= 2);
	rig_end(&r);
	return n;
}

static void
test_power_cut_at_every_change(void **state)
{
	uint64_t n = changes_of_script();

	(void)state;
	for (uint64_t i = 1; i <= n + 1; i += LIVES_STEP)
		crash_at(i, true, false);
	print_message("%llu changes of files\n", (unsigned long long)n);
}

static void
test_kill_at_every_change(void **state)
{
	uint64_t n = changes_of_script();

	(void)state;
	/* What is only in memory outlives it: every other change will do. */
	for (uint64_t i = 1; i <= n + 1; i += 2 * LIVES_STEP)
		crash_at(i, false, i % 4 > 2);
}

/* Each sync fails once; then a kill, so that caches survive, or a power cut. */
static void
test_each_sync_fails(void **state)
{
	struct rig r;

	(void)state;
	changes_of_script();
	uint64_t syncs = file_calls(FILE_CALL_SYNC);
	for (uint64_t i = 1; i <= syncs; i += LIVES_STEP) {
		script_init(&r);
		file_fault(FILE_CALL_SYNC, i, 1, ERR_IO);
		struct why w = WHY_INIT;
		if (rig_open(&r, &w) == OK) {
			script(&r);
			rig_crash(&r, i % 2 == 0);
		}
		r.series_n = 2;
		rig_open_ok(&r);
		rig_verify(&r);
		rig_items(&r, 5);
		/* What was only in a cache must be on the disk now. */
		rig_crash(&r, true);
		rig_open_ok(&r);
		rig_verify(&r);
		rig_close(&r);
		rig_verify_files(&r);
		rig_end(&r);
	}
	print_message("%llu syncs\n", (unsigned long long)syncs);
}

/* A member with its rest in a file goes to another WARC; then nothing more. */
static void
test_rest_moves(void **state)
{
	struct rig r;
	unsigned moved = 0;

	(void)state;
	for (uint64_t i = 1; i <= MOVES; i++) {
		rig_init(&r);
		r.harvests_from = 0;
		file_fault(FILE_CALL_SYNC, i, 1, ERR_IO);
		struct why w = WHY_INIT;
		if (rig_open(&r, &w) != OK)
			continue;
		for (int n = 0; n < 3; n++) {
			rig_put(&r);
			rig_put(&r);
			rig_run(&r);
		}
		moved += rig_stats(&r).warcs_moved > 0;
		rig_crash(&r, true);
		rig_open_ok(&r);
		rig_verify(&r);
		rig_close(&r);
		rig_verify_files(&r);
		rig_end(&r);
	}
	assert_true(moved >= 3);
}

/* --- the log and the archive belong together ----------------------------- */

static struct str
open_file(struct rig *r)
{
	struct str *names, dir = STR(RIG_DIR "/.argiope/crawl-0");
	size_t n;

	assert_int_equal(file_list(dir.p, &r->arena, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], STR(".warc.gz.open")))
			return arena_printf(&r->arena, "%s/%.*s", dir.p,
			    STR_FMT(names[i]));
	fail_msg("no open file");
	return STR_NONE;
}

/*
 * Behind its end the open file gets a copy of its last item, of that group; of
 * one that is torn only the first bytes stand there.
 */
static void
append_torn(struct rig *r, uint64_t group, size_t whole)
{
	struct str path = open_file(r);
	struct buf bytes = BUF_INIT;
	int fd;

	assert_int_equal(file_load(path.p, 1 << 24, &bytes, NULL), OK);
	size_t at = (size_t)r->place.offset;
	struct gzip_head h;
	assert_int_equal(gzip_head_parse(str_from(buf_str(&bytes), at), &h),
	    GZIP_HEAD_OK);
	gzip_patch(bytes.p + at, 99, group);
	if (whole < h.lengths.clen)
		memset(bytes.p + at + whole, 0, h.lengths.clen - whole);
	assert_int_equal(file_open(path.p, FILE_WRITE, &fd, NULL), OK);
	assert_int_equal(file_write(fd, bytes.n, bytes.p + at,
	    h.lengths.clen, NULL), OK);
	assert_int_equal(file_sync(fd, NULL), OK);
	file_close(&fd);
	buf_free(&bytes);
}

static void
append_member(struct rig *r, uint64_t group)
{
	append_torn(r, group, SIZE_MAX);
}

static void
refused(struct rig *r, const char *text)
{
	struct why w = WHY_INIT;

	assert_int_equal(rig_open(r, &w), ERR_CORRUPT);
	if (strstr(w.text, text) == NULL)
		fail_msg("%s", w.text);
}

static uint64_t
start_and_kill(struct rig *r, uint64_t member_ahead)
{
	rig_init(r);
	rig_open_ok(r);
	rig_items(r, 5);
	uint64_t group = ledger_group(r->ledger) - 1;
	if (member_ahead != 0)
		append_member(r, group + member_ahead);
	struct str path = open_file(r);
	r->text[0] = 0;
	snprintf(r->text, sizeof(r->text), "%s", path.p);
	rig_crash(r, false);
	return group;
}

static void
test_log_older_than_archive(void **state)
{
	struct rig r;

	(void)state;
	start_and_kill(&r, 2);
	refused(&r, "the log is older than the archive");
}

static void
test_tail_of_the_lost_group_is_cut(void **state)
{
	struct rig r;

	(void)state;
	start_and_kill(&r, 1);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 5);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

/* How many files of the directory end so. */
static size_t
count_files(struct rig *r, const char *dir, const char *end)
{
	struct str *names;
	size_t n, found = 0;

	if (file_list(dir, &r->arena, &names, &n, NULL) != OK)
		return 0;
	for (size_t i = 0; i < n; i++)
		found += str_ends(names[i], str_of(end));
	return found;
}

/*
 * A start after a crash names the file; its CDXJ, for which the file may have
 * to be read whole, comes when the ledger runs.
 */
static void
test_start_waits_for_no_cdxj(void **state)
{
	struct rig r;

	(void)state;
	start_and_kill(&r, 1);
	rig_open_ok(&r);
	assert_int_equal(count_files(&r, RIG_DIR, ".warc.gz"), 1);
	assert_int_equal(count_files(&r, RIG_DIR, ".cdxj"), 0);
	assert_int_equal(count_files(&r, RIG_DIR "/.argiope/crawl-0", ""), 0);
	rig_run(&r);
	assert_int_equal(count_files(&r, RIG_DIR, ".cdxj"), 1);
	assert_int_equal(count_files(&r, RIG_DIR "/.argiope", ".open"), 0);
	assert_int_equal(count_files(&r, RIG_DIR "/.argiope/quarantine", ""),
	    0);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

/* Killed again before that, the next start does it. */
static void
test_cdxj_of_the_next_start(void **state)
{
	struct rig r;

	(void)state;
	start_and_kill(&r, 1);
	rig_open_ok(&r);
	rig_crash(&r, false);
	rig_open_ok(&r);
	rig_run(&r);
	assert_int_equal(count_files(&r, RIG_DIR, ".cdxj"), 1);
	assert_int_equal(count_files(&r, RIG_DIR "/.argiope", ".open"), 0);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

/*
 * The power went while the lost group was written, and a sector's edge lay in
 * the head of a member, at each place that there is.
 */
static void
test_torn_head_is_cut(void **state)
{
	struct rig r;

	(void)state;
	for (size_t whole = 1; whole <= GZIP_HEAD_BYTES; whole += ROUNDS_STEP) {
		rig_init(&r);
		rig_open_ok(&r);
		rig_items(&r, 5);
		append_torn(&r, ledger_group(r.ledger), whole);
		rig_crash(&r, false);
		rig_open_ok(&r);
		rig_verify(&r);
		assert_int_equal(r.seq, 5);
		rig_close(&r);
		rig_verify_files(&r);
		rig_end(&r);
	}
}

static void
test_archive_older_than_log(void **state)
{
	struct rig r;
	uint64_t size;
	int fd;

	(void)state;
	start_and_kill(&r, 0);
	assert_int_equal(file_open(r.text, FILE_WRITE, &fd, NULL), OK);
	assert_int_equal(file_size(fd, &size, NULL), OK);
	assert_int_equal(file_cut(fd, size - 1, NULL), OK);
	file_close(&fd);
	refused(&r, "the archive is older than the data directory");
}

static void
test_file_gone(void **state)
{
	struct rig r;

	(void)state;
	start_and_kill(&r, 0);
	assert_int_equal(file_remove(r.text, NULL), OK);
	refused(&r, "the archive is older than the data directory");
}

/* --- rollover ------------------------------------------------------------ */

/* Bytes of a file with one item, and of one item more; all URLs as long. */
static void
sizes(uint64_t *one, uint64_t *more)
{
	struct rig r;

	rig_init(&r);
	rig_open_ok(&r);
	rig_put(&r);
	rig_put(&r);
	uint64_t second = r.place.offset;
	rig_put(&r);
	*more = r.place.offset - second;
	*one = second;
	rig_run(&r);
	rig_close(&r);
	rig_end(&r);
}

static uint32_t
files_with(uint64_t rollover)
{
	struct rig r;
	uint32_t first;

	rig_init(&r);
	r.rollover_bytes = rollover;
	rig_open_ok(&r);
	rig_put(&r);
	first = r.place.file;
	rig_put(&r);
	rig_put(&r);
	uint32_t last = r.place.file;
	rig_run(&r);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
	return last - first + 1;
}

static void
test_rollover_at_the_limit(void **state)
{
	uint64_t one, more;

	(void)state;
	sizes(&one, &more);
	uint64_t three = one + 2 * more;
	unsigned limit = 0;
	for (uint64_t at = three - 12; at <= three + 12; at++)
		if (files_with(at) == 1 && limit == 0)
			limit = (unsigned)(at - three + 12);
	assert_int_not_equal(limit, 0);
	/* Exactly full is not too full: one byte less would be. */
	assert_int_equal(files_with(three - 12 + limit), 1);
	assert_int_equal(files_with(three - 12 + limit - 1), 2);
	/* A file takes one item, whatever its size. */
	assert_int_equal(files_with(1), 3);
}

static void
test_rollover_by_age(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.rollover_s = 10;
	rig_open_ok(&r);
	rig_items(&r, 1);
	uint32_t first = r.place.file;
	rig_pass(&r, 8500);
	rig_items(&r, 1);
	assert_int_equal(r.place.file, first);
	rig_pass(&r, 3000);
	rig_items(&r, 1);
	assert_int_not_equal(r.place.file, first);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

static void
test_empty_file_is_dropped(void **state)
{
	struct rig r;
	struct archive_place p;

	(void)state;
	rig_init(&r);
	rig_open_ok(&r);
	/* A file without any member: nothing but a warcinfo. */
	assert_int_equal(ledger_archive(r.ledger, r.series[0], STR(""), NULL,
	    0, 0, &p, NULL), OK);
	rig_pass(&r, 10);
	rig_close(&r);
	struct str *names;
	size_t n;
	assert_int_equal(file_list(RIG_DIR, &r.arena, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++)
		assert_false(str_ends(names[i], STR(".warc.gz")));
	rig_end(&r);
}

/* --- full disks ---------------------------------------------------------- */

static void
test_full_then_space(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r);
	r.series_n = 2;
	rig_open_ok(&r);
	rig_items(&r, 5);
	file_fault(FILE_CALL_WRITE, 1, FOREVER, ERR_DISK_FULL);
	rig_items(&r, 5);
	assert_int_equal(r.health, LEDGER_DISK_FULL);
	assert_true(r.kept < 10);
	rig_pass(&r, 5000);
	assert_true(r.kept < 10);
	file_faults_end();
	rig_pass(&r, 5000);
	assert_int_equal(r.health, LEDGER_FINE);
	assert_int_equal(r.kept, 10);
	assert_int_equal(r.healths, 2);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 10);
	rig_close(&r);
	rig_end(&r);
}

static void
test_low_water(void **state)
{
	struct rig r;
	uint64_t left;

	(void)state;
	rig_init(&r);
	r.options.free_bytes_min = 1 << 20;
	rig_open_ok(&r);
	rig_items(&r, 3);
	file_fake_limit(8 << 20);
	assert_int_equal(file_free_bytes("/data", &left, NULL), OK);
	file_fake_limit((8 << 20) - left + (1 << 20) - 1);
	rig_pass(&r, 1000);
	rig_items(&r, 3);
	assert_int_equal(r.health, LEDGER_DISK_FULL);
	assert_non_null(strstr(r.text, "data.free_bytes_min"));
	assert_int_equal(r.kept, 3);
	/* With room for the group, it is exactly enough. */
	file_fake_limit(1 << 30);
	rig_pass(&r, 1000);
	assert_int_equal(r.kept, 6);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

static void
ended(void *arg)
{
	*(bool *)arg = true;
}

/* Who stops does not wait for room; what was promised is there afterwards. */
static void
test_full_at_the_end(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		struct rig r;
		bool over = false;
		rig_init(&r);
		rig_open_ok(&r);
		rig_items(&r, 3);
		file_fault(FILE_CALL_WRITE, 1, FOREVER, ERR_DISK_FULL);
		if (known)
			rig_items(&r, 2);
		else
			rig_put(&r);
		ledger_close(r.ledger, ended, &over);
		rig_pass(&r, 1000);
		assert_int_equal(r.health, LEDGER_DISK_FULL);
		assert_true(over);
		assert_int_equal(r.kept, 3);
		file_faults_end();
		rig_crash(&r, false);
		rig_open_ok(&r);
		rig_verify(&r);
		rig_close(&r);
		rig_end(&r);
	}
}

/* --- failures of the log ------------------------------------------------- */

static void
test_log_failure_is_for_good(void **state)
{
	struct rig r;
	struct archive_place p;

	(void)state;
	rig_init(&r);
	rig_open_ok(&r);
	rig_items(&r, 5);
	/* The next sync but one: a WARC's, then the log's. */
	file_fault(FILE_CALL_SYNC, 2, 1, ERR_IO);
	rig_put(&r);
	rig_run(&r);
	assert_int_equal(r.health, LEDGER_FAILED);
	assert_int_equal(r.broken, 1);
	assert_int_equal(ledger_archive(r.ledger, r.series[0], STR("x"), NULL,
	    0, 0, &p, NULL), ERR_BROKEN);
	rig_pass(&r, 10000);
	assert_int_equal(r.kept, 5);
	assert_int_equal(r.health, LEDGER_FAILED);
	rig_crash(&r, true);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 5);
	rig_close(&r);
	rig_verify_files(&r);
	rig_end(&r);
}

/* --- promises that want no sync ------------------------------------------- */

/* Tables in memory with room: who is relaxed is never synced for them. */
static void
relaxed_init(struct rig *r)
{
	rig_init(r);
	r->written = true;
	r->options.index.write_buffer_bytes = 16 << 20;
	r->options.index.write_buffers = 4;
}

static void
relaxed_items(struct rig *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		rig_put_plain(r, 40);
		if (i % 3 != 0)
			rig_run(r);
	}
	rig_run(r);
}

static void
test_written_survives_a_kill(void **state)
{
	struct rig r;

	(void)state;
	relaxed_init(&r);
	rig_open_ok(&r);
	relaxed_items(&r, 3);
	uint64_t syncs = file_calls(FILE_CALL_SYNC);
	relaxed_items(&r, 40);
	assert_int_equal(r.kept, 43);
	assert_int_equal(file_calls(FILE_CALL_SYNC), syncs);
	rig_crash(&r, false);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 43);
	/* What a start has shown is on the disk. */
	rig_crash(&r, true);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 43);
	rig_close(&r);
	rig_end(&r);
}

/*
 * The power goes at any time: what was written since the last sync may be lost,
 * but never one before another, nor with checkpoints in between.
 */
static void
test_power_takes_the_last_second(void **state)
{
	unsigned lost = 0, torn = 0;
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 60; i += ROUNDS_STEP) {
		relaxed_init(&r);
		r.options.segment_bytes = 4 << 10;
		r.options.checkpoint_part = 3;
		rig_open_ok(&r);
		relaxed_items(&r, 5 + i % 40);
		rig_pass(&r, LEDGER_LATE_MS);
		uint64_t safe = r.kept;
		relaxed_items(&r, 1 + i % 30);
		uint64_t all = r.kept;
		assert_true(all > safe);
		r.promised = safe;
		rig_crash(&r, true);
		rig_open_ok(&r);
		rig_verify(&r);
		assert_true(r.seq <= all);
		lost += r.seq < all;
		torn += r.seq < all && r.seq > safe;
		relaxed_items(&r, 5);
		rig_close(&r);
		rig_end(&r);
		rig_open_ok(&r);
		rig_verify(&r);
		rig_close(&r);
		rig_end(&r);
	}
	assert_true(lost > 0 && torn > 0);
	print_message("%u lost something, %u of them not all\n", lost, torn);
}

/* Who waits for a sync gets it for all before him; so does a WARC. */
static void
test_relaxed_beside_strict(void **state)
{
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 30; i += ROUNDS_STEP) {
		relaxed_init(&r);
		r.options.segment_bytes = 4 << 10;
		rig_open_ok(&r);
		for (unsigned k = 0; k < 5 + i % 10; k++) {
			relaxed_items(&r, 1 + (i + k) % 4);
			if (k % 3 == 0)
				rig_put(&r);
			if ((i + k) % 5 == 0)
				rig_pass(&r, 300);
		}
		file_fault(FILE_CALL_CHANGE, 1 + i % 7, FOREVER, ERR_IO);
		relaxed_items(&r, 2);
		rig_put(&r);
		relaxed_items(&r, 2);
		rig_crash(&r, true);
		rig_open_ok(&r);
		rig_verify(&r);
		rig_close(&r);
		rig_verify_files(&r);
		rig_end(&r);
	}
}

/*
 * The late sync fails: nothing more is accepted.  A start reads what the kernel
 * took for clean, and brings it to the disk.
 */
static void
test_late_sync_fails(void **state)
{
	struct rig r;

	(void)state;
	relaxed_init(&r);
	rig_open_ok(&r);
	relaxed_items(&r, 20);
	file_fault(FILE_CALL_SYNC, 1, 1, ERR_IO);
	rig_pass(&r, LEDGER_LATE_MS);
	assert_int_equal(r.health, LEDGER_FAILED);
	assert_int_equal(r.kept, 20);
	rig_crash(&r, false);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 20);
	rig_crash(&r, true);
	rig_open_ok(&r);
	rig_verify(&r);
	assert_int_equal(r.seq, 20);
	rig_close(&r);
	rig_end(&r);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_promised_is_durable),
	cmocka_unit_test(test_nothing_before_the_sync),
	cmocka_unit_test(test_hold),
	cmocka_unit_test(test_hold_failed),
	cmocka_unit_test(test_group_at_its_limits),
	cmocka_unit_test(test_checkpoint_at_a_segment),
	cmocka_unit_test(test_power_cut_at_every_change),
	cmocka_unit_test(test_kill_at_every_change),
	cmocka_unit_test(test_each_sync_fails),
	cmocka_unit_test(test_rest_moves),
	cmocka_unit_test(test_log_older_than_archive),
	cmocka_unit_test(test_tail_of_the_lost_group_is_cut),
	cmocka_unit_test(test_start_waits_for_no_cdxj),
	cmocka_unit_test(test_cdxj_of_the_next_start),
	cmocka_unit_test(test_torn_head_is_cut),
	cmocka_unit_test(test_archive_older_than_log),
	cmocka_unit_test(test_file_gone),
	cmocka_unit_test(test_rollover_at_the_limit),
	cmocka_unit_test(test_rollover_by_age),
	cmocka_unit_test(test_empty_file_is_dropped),
	cmocka_unit_test(test_full_then_space),
	cmocka_unit_test(test_low_water),
	cmocka_unit_test(test_full_at_the_end),
	cmocka_unit_test(test_log_failure_is_for_good),
	cmocka_unit_test(test_written_survives_a_kill),
	cmocka_unit_test(test_power_takes_the_last_second),
	cmocka_unit_test(test_relaxed_beside_strict),
	cmocka_unit_test(test_late_sync_fails),
};

int
main(void)
{
	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
