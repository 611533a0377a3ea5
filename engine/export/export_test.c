/* Whole exports of small WARC files. */
#include "engine/export/export_testing.h"

#define HEAD "id,tweet_url,created_at,"

/* Two files: tweets 1 to 4, then 3 to 6. */
static void
make_warcs(struct testing_dir *d)
{
	struct buf b = BUF_INIT;

	testing_dir_make(d);
	testing_page(&b, 1, 2);
	testing_page(&b, 3, 4);
	testing_write(d, "a.warc", buf_str(&b));
	buf_clear(&b);
	testing_page(&b, 3, 6);
	testing_write(d, "b.warc", buf_str(&b));
	buf_free(&b);
}

static struct export_order
order_of(struct testing_dir *d, const char *format)
{
	struct export_order o = {
		.format = export_format_find(str_of(format)),
		.into = testing_path(d, "out"), .id = STR("out"),
		.scratch = testing_path(d, "scratch") };

	assert_non_null(o.format);
	testing_files(d, &o);
	return o;
}

/* Export the ids, and compare those in the first file. */
static void
check_ids(struct testing_dir *d, const struct export_order *o,
    const char *want)
{
	struct export_result r;

	assert_int_equal(export_run(o, &r, NULL), OK);
	const char *got = testing_read(d, "out/out_001.txt");
	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
	assert_int_equal(r.counts.items, 8);
	assert_int_equal(r.counts.rows + r.counts.outside +
	    r.counts.duplicates, 8);
	assert_int_equal(r.notes.n, 0);
	export_result_free(&r);
}

static void
items_are_chosen(void **state)
{
	static const struct str owners[] = { STR("1"), STR("") };
	struct testing_dir d;

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, "dehydrate");
	check_ids(&d, &o, "1\n2\n3\n4\n3\n4\n5\n6\n");
	o.dedupe = true;
	check_ids(&d, &o, "1\n2\n3\n4\n5\n6\n");
	/* Both bounds are inside. */
	o.has_since = o.has_until = true;
	o.since.us = 1464868800 * US_PER_S;          /* noon of June 2 */
	o.until.us = o.since.us + 2 * 86400 * US_PER_S;
	check_ids(&d, &o, "2\n3\n4\n");
	o.since.us++;
	o.until.us--;
	check_ids(&d, &o, "3\n");
	o.has_since = o.has_until = false;
	o.by_owner = true;
	o.owners = owners;
	o.owners_n = 1;
	check_ids(&d, &o, "1\n3\n5\n");
	/* No items, no file, but a directory. */
	o.owners = owners + 1;
	check_ids(&d, &o, NULL);
	assert_int_equal(tree_kind(o.into, NULL), TREE_DIR);
	testing_dir_remove(&d);
}

static void
one_that_is_stopped_changes_nothing(void **state)
{
	struct export_watch watch = { .stop = false };
	struct testing_dir d;
	struct export_result r;

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, "dehydrate");
	o.watch = &watch;
	for (o.jobs = 1; o.jobs <= 2; o.jobs++) {
		watch = (struct export_watch){ .stop = false };
		check_ids(&d, &o, "1\n2\n3\n4\n3\n4\n5\n6\n");
		assert_int_equal(watch.files, 2);
		assert_int_equal(watch.rows, 8);
		watch.stop = true;
		o.segment = 1;
		assert_int_equal(export_run(&o, &r, NULL), ERR_CLOSED);
		export_result_free(&r);
		o.segment = 0;
		assert_string_equal(testing_read(&d, "out/out_001.txt"),
		    "1\n2\n3\n4\n3\n4\n5\n6\n");
		assert_null(testing_read(&d, "out/out_002.txt"));
	}
	testing_dir_remove(&d);
}

static void
segments_have_a_head_each(void **state)
{
	struct testing_dir d;
	struct export_result r;

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, "csv");
	o.segment = 3;
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_int_equal(r.counts.files, 3);
	assert_int_equal(r.counts.rows, 8);
	assert_string_equal(r.items->label, "tweets");
	for (int i = 1; i <= 3; i++) {
		const char *text = testing_read(&d, arena_printf(&d.arena,
		    "out/out_%03d.csv", i).p);
		assert_non_null(text);
		assert_memory_equal(text, HEAD, sizeof(HEAD) - 1);
	}
	assert_null(testing_read(&d, "out/out_004.csv"));
	export_result_free(&r);
	testing_dir_remove(&d);
}

/* Tweets of API v2 as one answer, numbered from 1. */
static void
make_tweets2(struct testing_dir *d, int n)
{
	struct buf b = BUF_INIT, body = BUF_INIT;

	testing_dir_make(d);
	for (int i = 1; i <= n; i += 5000) {
		buf_clear(&body);
		buf_put_text(&body, "{\"data\":[");
		for (int k = i; k < i + 5000 && k <= n; k++)
			buf_printf(&body, "%s{\"id\":\"%d\",\"created_at\":"
			    "\"2023-03-02T12:00:00Z\"}", k > i ? "," : "", k);
		buf_put_text(&body, "]}");
		testing_answer(&b, "https://api.twitter.com/2/tweets/search/"
		    "all?query=x", 200, "", buf_str(&body));
	}
	testing_write(d, "a.warc", buf_str(&b));
	buf_free(&b);
	buf_free(&body);
}

static void
sheets_of_pandas_have_25000_rows(void **state)
{
	struct testing_dir d;
	struct export_result r;
	struct why w = WHY_INIT;

	(void)state;
	make_tweets2(&d, 25001);
	struct export_order o = order_of(&d, "xlsx");
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_int_equal(r.counts.rows, 25001);
	assert_int_equal(r.counts.files, 2);
	assert_int_not_equal(r.counts.bytes, 0);
	assert_non_null(testing_read(&d, "out/out_002.xlsx"));
	export_result_free(&r);
	o = order_of(&d, "csv");
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_int_equal(r.counts.files, 1);
	export_result_free(&r);
	o = order_of(&d, "html");
	assert_int_equal(export_run(&o, &r, &w), ERR_INPUT);
	assert_string_equal(w.field, "format");
	export_result_free(&r);
	testing_dir_remove(&d);
}

struct stream {
	struct buf bytes;
	enum err answer;
};

static enum err
take_bytes(void *arg, struct str s, struct why *w)
{
	struct stream *x = arg;

	buf_put_str(&x->bytes, s);
	return x->answer == OK ? OK : why(w, x->answer, "enough");
}

static void
a_stream_is_one_file(void **state)
{
	struct testing_dir d;
	struct export_result r;
	struct stream x = { .answer = OK };

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, "dehydrate");
	o.into = NULL;
	o.write = take_bytes;
	o.write_arg = &x;
	o.dedupe = true;
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_string_equal(buf_text(&x.bytes), "1\n2\n3\n4\n5\n6\n");
	assert_int_equal(r.counts.bytes, x.bytes.n);
	export_result_free(&r);
	buf_clear(&x.bytes);
	o.format = export_format_find(STR("html"));
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_non_null(strstr(buf_text(&x.bytes), "</html>\n"));
	export_result_free(&r);
	o.format = export_format_find(STR("xlsx"));
	assert_int_equal(export_run(&o, &r, NULL), ERR_INPUT);
	export_result_free(&r);
	o.format = export_format_find(STR("dehydrate"));
	x.answer = ERR_CLOSED;
	assert_int_equal(export_run(&o, &r, NULL), ERR_CLOSED);
	export_result_free(&r);
	buf_free(&x.bytes);
	testing_dir_remove(&d);
}

static void
a_missing_file_costs_itself(void **state)
{
	struct testing_dir d;
	struct export_result r;

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, "dehydrate");
	struct archive_file files[3] = { { .path = "/nowhere/x.warc" },
		o.files[1], o.files[0] };
	o.files = files;
	o.files_n = 3;
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_string_equal(testing_read(&d, "out/out_001.txt"),
	    "3\n4\n5\n6\n1\n2\n3\n4\n");
	assert_int_equal(r.counts.missing, 1);
	assert_int_equal(r.notes.n, 1);
	assert_int_equal(r.notes.list[0].code, EXPORT_WARC_MISSING);
	export_result_free(&r);
	testing_dir_remove(&d);
}

static void
what_is_wrong_is_noted_once(void **state)
{
	struct testing_dir d;
	struct export_result r;
	struct buf b = BUF_INIT, text = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	testing_answer(&b, TESTING_FILTER, 200, "",
	    STR("{\"id_str\":\"1\"}\n{\"id_str\":\"2\"}\n{\n{\n"));
	testing_write(&d, "a.warc", buf_str(&b));
	struct export_order o = order_of(&d, "csv");
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_int_equal(r.counts.rows, 2);
	for (size_t i = 0; i < r.notes.n; i++) {
		export_note_put(&r.notes.list[i], &text);
		buf_put_char(&text, '\n');
		assert_int_equal(r.notes.list[i].count, 2);
	}
	assert_non_null(strstr(buf_text(&text), "favorite_count is missing in "
	    "2 items; first 1 in "));
	assert_non_null(strstr(buf_text(&text), "a line that is no JSON, 2 "
	    "times; first in "));
	export_result_free(&r);
	buf_free(&b);
	buf_free(&text);
	testing_dir_remove(&d);
}

/* Tables of two kinds make no file; ids of both do. */
static void
one_table_at_a_time(void **state)
{
	struct testing_dir d;
	struct export_result r;
	struct why w = WHY_INIT;
	struct buf b = BUF_INIT;

	(void)state;
	make_warcs(&d);
	testing_answer(&b, "https://api.weibo.com/2/statuses/x.json", 200, "",
	    STR("{\"statuses\":[{\"mid\":\"9\"}]}"));
	testing_write(&d, "c.warc", buf_str(&b));
	struct export_order o = order_of(&d, "csv");
	assert_int_equal(export_run(&o, &r, &w), ERR_INPUT);
	assert_string_equal(w.field, "type");
	assert_non_null(strstr(w.text, "twitter_search"));
	assert_non_null(strstr(w.text, "weibo_timeline"));
	assert_int_equal(tree_kind(o.into, NULL), TREE_ABSENT);
	export_result_free(&r);
	const struct connector_items *items =
	    item_type_find(STR("weibo_search"));
	o.items = &items;
	o.items_n = 1;
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_int_equal(r.counts.rows, 1);
	export_result_free(&r);
	o = order_of(&d, "dehydrate");
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_int_equal(r.counts.rows, 9);
	export_result_free(&r);
	buf_free(&b);
	testing_dir_remove(&d);
}

static enum err
note_item(void *arg, const struct export_found *f, struct why *w)
{
	(void)w;
	assert_non_null(f->file->path);
	buf_put_str(arg, f->item->id);
	buf_put_char(arg, ' ');
	return OK;
}

static void
items_alone(void **state)
{
	struct testing_dir d;
	struct export_result r;
	struct buf b = BUF_INIT;

	(void)state;
	make_warcs(&d);
	struct export_order o = order_of(&d, "csv");
	assert_int_equal(export_items(&o, note_item, &b, &r, NULL), OK);
	assert_string_equal(buf_text(&b), "1 2 3 4 3 4 5 6 ");
	assert_int_equal(r.counts.records, 3);
	export_result_free(&r);
	buf_clear(&b);
	o.dedupe = true;
	assert_int_equal(export_items(&o, note_item, &b, &r, NULL), OK);
	assert_string_equal(buf_text(&b), "1 2 3 4 5 6 ");
	assert_int_equal(r.counts.duplicates, 2);
	export_result_free(&r);
	buf_free(&b);
	testing_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_chosen),
		cmocka_unit_test(one_that_is_stopped_changes_nothing),
		cmocka_unit_test(segments_have_a_head_each),
		cmocka_unit_test(sheets_of_pandas_have_25000_rows),
		cmocka_unit_test(a_stream_is_one_file),
		cmocka_unit_test(a_missing_file_costs_itself),
		cmocka_unit_test(what_is_wrong_is_noted_once),
		cmocka_unit_test(one_table_at_a_time),
		cmocka_unit_test(items_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
