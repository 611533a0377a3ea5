/* Columns, deletions and README.txt of exports. */
#include "engine/export/export_readme.h"
#include "engine/export/export_testing.h"

#define JETSTREAM "https://j.example/subscribe?cursor=1"

static struct export_order
order_of(struct testing_dir *d, const char *format)
{
	struct export_order o = {
		.format = export_format_find(str_of(format)),
		.into = testing_path(d, "out"), .id = STR("out"),
		.scratch = testing_path(d, "scratch") };

	testing_files(d, &o);
	return o;
}

/* --- columns ------------------------------------------------------------ */

static void
columns_are_chosen(void **state)
{
	static const struct str columns[] = { STR("text"), STR("id"),
		STR("text") };
	static const struct str none[] = { STR("id"), STR("likes") };
	struct testing_dir d;
	struct export_result r;
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	testing_dir_make(&d);
	testing_page(&b, 1, 2);
	testing_write(&d, "a.warc", buf_str(&b));
	buf_free(&b);
	struct export_order o = order_of(&d, "csv");
	o.columns = columns;
	o.columns_n = 3;
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_string_equal(testing_read(&d, "out/out_001.csv"),
	    "text,id,text\r\nt1,1,t1\r\nt2,2,t2\r\n");
	export_result_free(&r);
	o.columns = none;
	o.columns_n = 2;
	for (o.jobs = 1; o.jobs <= 2; o.jobs++) {
		w = (struct why)WHY_INIT;
		assert_int_equal(export_run(&o, &r, &w), ERR_INPUT);
		assert_string_equal(w.field, "columns");
		assert_non_null(strstr(w.text, "likes"));
		export_result_free(&r);
	}
	testing_dir_remove(&d);
}

/* --- deletions ---------------------------------------------------------- */

static void
put_frame(struct buf *b, const char *did, const char *operation,
    const char *key)
{
	buf_printf(b, "{\"did\":\"%s\",\"kind\":\"commit\",\"commit\":"
	    "{\"operation\":\"%s\",\"collection\":\"app.bsky.feed.post\","
	    "\"rkey\":\"%s\",\"record\":{\"text\":\"t\",\"createdAt\":"
	    "\"2026-01-02T00:00:00Z\"}}}\n", did, operation, key);
}

/* The ids that are written, a blank behind each. */
static const char *
written_ids(struct testing_dir *d, const struct export_order *o,
    uint64_t deleted)
{
	struct export_result r;

	assert_int_equal(export_run(o, &r, NULL), OK);
	assert_int_equal(r.counts.deleted, deleted);
	assert_int_equal(r.notes.n, deleted > 0);
	if (deleted > 0)
		assert_int_equal(r.notes.list[0].code,
		    EXPORT_ITEMS_DELETED);
	export_result_free(&r);
	const char *text = testing_read(d, "out/out_001.txt");
	return text == NULL ? "" : text;
}

#define ID(did, key) "at://" did "/app.bsky.feed.post/" key "\n"

/* Whatever file says so, and however many threads read. */
static void
deleted_posts_are_left_out(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT, frames = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	put_frame(&frames, "a", "create", "1");
	put_frame(&frames, "a", "create", "2");
	put_frame(&frames, "b", "create", "1");
	testing_record(&b, "resource", JETSTREAM, buf_str(&frames));
	testing_write(&d, "1.warc", buf_str(&b));
	buf_clear(&b);
	buf_clear(&frames);
	put_frame(&frames, "c", "create", "1");
	put_frame(&frames, "a", "delete", "2");
	buf_put_text(&frames, "{\"did\":\"b\",\"kind\":\"account\",\"account\""
	    ":{\"status\":\"deleted\"}}\n");
	testing_record(&b, "resource", JETSTREAM, buf_str(&frames));
	testing_write(&d, "2.warc", buf_str(&b));
	struct export_order o = order_of(&d, "dehydrate");
	for (o.jobs = 1; o.jobs <= 2; o.jobs++) {
		o.deletes = EXPORT_DELETES_USUAL;
		assert_string_equal(written_ids(&d, &o, 2),
		    ID("a", "1") ID("c", "1"));
		o.deletes = EXPORT_DELETES_IGNORE;
		assert_string_equal(written_ids(&d, &o, 0),
		    ID("a", "1") ID("a", "2") ID("b", "1") ID("c", "1"));
	}
	buf_free(&b);
	buf_free(&frames);
	testing_dir_remove(&d);
}

static void
tweets_stay_unless_asked(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT, lines = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	testing_tweet(&lines, 1, 5, 2);
	buf_put_char(&lines, '\n');
	testing_tweet(&lines, 2, 5, 2);
	buf_put_text(&lines, "\n{\"delete\":{\"status\":{\"id_str\":\"1\"}}}"
	    "\n");
	testing_answer(&b, TESTING_FILTER, 200, "", buf_str(&lines));
	testing_write(&d, "a.warc", buf_str(&b));
	struct export_order o = order_of(&d, "dehydrate");
	assert_string_equal(written_ids(&d, &o, 0), "1\n2\n");
	o.deletes = EXPORT_DELETES_HONOUR;
	assert_string_equal(written_ids(&d, &o, 1), "2\n");
	buf_free(&b);
	buf_free(&lines);
	testing_dir_remove(&d);
}

/* --- README.txt --------------------------------------------------------- */

static void
days_are_counted(void **state)
{
	struct export_days d = { .n = 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		export_days_add(&d, 5);
		export_days_add(&d, -7);
		export_days_add(&d, EXPORT_NO_DAY);
	}
	export_days_add(&d, 0);
	assert_int_equal(d.n, 4);
	assert_int_equal(d.list[0].day, EXPORT_NO_DAY);
	assert_int_equal(d.list[1].day, -7);
	assert_int_equal(d.list[2].n, 1);
	assert_int_equal(d.list[3].n, 3);
	for (int32_t i = 0; i < (int32_t)EXPORT_DAYS_MAX + 5; i++)
		export_days_add(&d, 1000 + i);
	assert_int_equal(d.n, EXPORT_DAYS_MAX);
	assert_int_equal(d.others, 9);
	export_days_free(&d);
	assert_int_equal(d.n, 0);
}

static void
a_readme_says_what_was_done(void **state)
{
	static const char *const lines[] = {
		"Items         tweets (twitter_search)\n",
		"Format        tsv\n", "Since         2016-06-02T",
		"Accounts      1\n", "Written       2 items in 1 file, ",
		"Found         5 items in 1 answer\n",
		"Left out      3 of other dates or accounts\n",
		"Made by       argiope ", "Command       argiope x\n",
		"2016-06-03           1\n", "2016-06-05           1\n",
		"no WARC file here", "the tweet's number\n",
		"warc_damaged: no record begins here: in ",
	};
	static const struct str owner = STR("1");
	struct testing_dir d;
	struct export_result r;
	struct buf b = BUF_INIT;
	uint64_t bytes = 0;

	(void)state;
	testing_dir_make(&d);
	testing_page(&b, 1, 5);
	testing_write(&d, "a.warc", buf_str(&b));
	testing_write(&d, "no WARC file here.warc", STR("abc"));
	struct export_order o = order_of(&d, "tsv");
	o.has_since = o.by_owner = true;
	o.since.us = 1464868800 * US_PER_S;
	o.owners = &owner;
	o.owners_n = 1;
	o.readme = true;
	o.command = "argiope x";
	assert_int_equal(export_run(&o, &r, NULL), OK);
	const char *text = testing_read(&d, "out/README.txt");
	assert_non_null(text);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (strstr(text, lines[i]) == NULL)
			fail_msg("no \"%s\" in %s", lines[i], text);
	/* SHA-1 of "abc", FIPS 180. */
	assert_non_null(strstr(text,
	    "a9993e364706816aba3e25717850c26c9cd0d89d            3 "));
	export_result_free(&r);
	/* The next export replaces it. */
	o.readme = false;
	assert_int_equal(export_run(&o, &r, NULL), OK);
	assert_null(testing_read(&d, "out/README.txt"));
	assert_int_equal(tree_kind(testing_path(&d, "out/out_001.tsv"),
	    &bytes), TREE_FILE);
	assert_int_equal(bytes, r.counts.bytes);
	export_result_free(&r);
	buf_free(&b);
	testing_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_chosen),
		cmocka_unit_test(deleted_posts_are_left_out),
		cmocka_unit_test(tweets_stay_unless_asked),
		cmocka_unit_test(days_are_counted),
		cmocka_unit_test(a_readme_says_what_was_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
