/* Several files at a time: the same bytes, notes and counts. */
#include "engine/export/export_parts.h"
#include "engine/export/export_testing.h"
#include "tests/rounds.h"

#define FILES 7
/* From one number of threads to the next, the last above FILES in both. */
#define JOBS_STEP (SANITIZED ? 3 : 1)

/* Files of many tweets, of none, and with damage. */
static void
make_warcs(struct testing_dir *d)
{
	testing_dir_make(d);
	for (int i = 0; i < FILES; i++) {
		struct buf b = BUF_INIT, body = BUF_INIT;
		/* The third makes more than is kept in memory. */
		int n = i == 2 ? 30000 : i == 4 ? 0 : 50 * i;
		for (int k = 0; k < n; k++) {
			testing_tweet(&body, 1000 * i + k, k % 3, 2);
			buf_put_char(&body, '\n');
		}
		if (i % 2 == 1)
			buf_put_text(&body, "{\"id_str\":\n");
		testing_answer(&b, TESTING_FILTER, 200, "", buf_str(&body));
		testing_write(d, arena_printf(&d->arena, "%d.warc", i).p,
		    buf_str(&b));
		buf_free(&b);
		buf_free(&body);
	}
}

struct taking {
	struct buf bytes;
	size_t bytes_max;
};

static enum err
take_bytes(void *arg, struct str s, struct why *w)
{
	struct taking *t = arg;

	buf_put_str(&t->bytes, s);
	return t->bytes.n < t->bytes_max ? OK : why(w, ERR_CLOSED, "enough");
}

static struct export_order
order_of(struct testing_dir *d, struct taking *t, unsigned jobs)
{
	struct export_order o = { .format =
	    export_format_find(STR("json_full")), .write = take_bytes,
		.write_arg = t, .scratch = testing_path(d, "scratch"),
		.dedupe = true, .jobs = jobs };

	testing_files(d, &o);
	return o;
}

static void
the_same_for_any_number(void **state)
{
	struct testing_dir d;
	struct taking one = { .bytes_max = SIZE_MAX };
	struct export_result first;

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, &one, 1);
	/* One of them is not there. */
	struct archive_file files[FILES];
	memcpy(files, o.files, sizeof(files));
	files[3].path = "/nowhere/x.warc";
	o.files = files;
	assert_int_equal(o.files_n, FILES);
	assert_int_equal(export_run(&o, &first, NULL), OK);
	assert_true(one.bytes.n > PART_BYTES_MAX);
	assert_int_equal(first.counts.missing, 1);
	for (unsigned jobs = 2; jobs <= 9; jobs += JOBS_STEP) {
		struct taking some = { .bytes_max = SIZE_MAX };
		struct export_result r;
		o = order_of(&d, &some, jobs);
		o.files = files;
		assert_int_equal(export_run(&o, &r, NULL), OK);
		assert_int_equal(some.bytes.n, one.bytes.n);
		assert_memory_equal(some.bytes.p, one.bytes.p, one.bytes.n);
		assert_memory_equal(&r.counts, &first.counts,
		    sizeof(r.counts));
		assert_int_equal(r.notes.n, first.notes.n);
		for (size_t i = 0; i < r.notes.n; i++) {
			assert_int_equal(r.notes.list[i].count,
			    first.notes.list[i].count);
			assert_int_equal(r.notes.list[i].offset,
			    first.notes.list[i].offset);
		}
		export_result_free(&r);
		buf_free(&some.bytes);
	}
	export_result_free(&first);
	buf_free(&one.bytes);
	testing_dir_remove(&d);
}

/* Whatever the threads are doing then. */
static void
a_reader_may_leave(void **state)
{
	struct testing_dir d;

	(void)state;
	make_warcs(&d);
	for (size_t i = 0; i < 5; i++) {
		struct taking t = { .bytes_max = 100 + i * 1000000 };
		struct export_result r;
		struct export_order o = order_of(&d, &t, 4);
		assert_int_equal(export_run(&o, &r, NULL), ERR_CLOSED);
		export_result_free(&r);
		buf_free(&t.bytes);
	}
	testing_dir_remove(&d);
}

static void
a_place_that_is_none(void **state)
{
	struct testing_dir d;
	struct taking t = { .bytes_max = SIZE_MAX };
	struct export_result r;

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, &t, 3);
	o.scratch = "/nowhere/scratch";
	assert_int_equal(export_run(&o, &r, NULL), ERR_ABSENT);
	export_result_free(&r);
	buf_free(&t.bytes);
	testing_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_for_any_number),
		cmocka_unit_test(a_reader_may_leave),
		cmocka_unit_test(a_place_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
