/* Exports of declared platforms, by what their WARC files begin with. */
#include "engine/connector/connector.h"
#include "engine/export/export_testing.h"

#define DESCRIPTION(more)                                                    \
	"{\"url\":\"https://a.example/x\",\"label\":\"topics\","             \
	"\"items\":\"/list\",\"id\":\"/id\"" more "}"
#define COLUMNS(at)                                                          \
	",\"columns\":[{\"name\":\"id\",\"at\":\"/id\"},"                    \
	"{\"name\":\"word\",\"at\":\"" at "\"}]"

static void
put_description(struct buf *b, const char *text)
{
	testing_record(b, "metadata", CONNECTOR_DESCRIPTION_URI,
	    str_of(text));
}

static void
put_page(struct buf *b, const char *uri, const char *items)
{
	struct buf body = BUF_INIT;

	buf_printf(&body, "{\"list\":[%s]}", items);
	testing_answer(b, uri, 200, "", buf_str(&body));
	buf_free(&body);
}

/* A file with that description, or none, an error, and a page of items. */
static void
make_file(struct testing_dir *d, const char *name, const char *description,
    const char *items)
{
	struct buf b = BUF_INIT;

	if (description != NULL)
		put_description(&b, description);
	testing_answer(&b, "https://a.example/x", 503, "", STR("<html>"));
	put_page(&b, "https://a.example/x?n=2", items);
	put_page(&b, "https://b.example/x", "{\"id\":99}");
	testing_write(d, name, buf_str(&b));
	buf_free(&b);
}

static const char *
export_csv(struct testing_dir *d, const char *type, unsigned jobs,
    struct export_result *r, enum err *e, struct why *w)
{
	const struct connector_items *items = type == NULL ? NULL :
	    item_type_find(str_of(type));
	struct export_order o = { .format = export_format_find(STR("csv")),
		.into = testing_path(d, "out"), .id = STR("out"),
		.scratch = testing_path(d, "scratch"), .items = &items,
		.items_n = type != NULL, .jobs = jobs };

	testing_files(d, &o);
	*e = export_run(&o, r, w);
	return testing_read(d, "out/out_001.csv");
}

static void
expect_csv(struct testing_dir *d, const char *type, const char *want)
{
	struct export_result r;
	enum err e;

	for (unsigned jobs = 1; jobs <= 3; jobs++) {
		const char *got = export_csv(d, type, jobs, &r, &e, NULL);
		assert_int_equal(e, OK);
		if (want == NULL) {
			assert_null(got);
			assert_null(r.items);
		} else {
			assert_string_equal(got, want);
			assert_string_equal(item_type_name(r.items),
			    "json_api");
		}
		assert_int_equal(r.notes.n, 0);
		export_result_free(&r);
	}
}

static void
files_of_one_description_have_one_table(void **state)
{
	struct testing_dir d;

	(void)state;
	testing_dir_make(&d);
	make_file(&d, "a.warc", DESCRIPTION(COLUMNS("/word")),
	    "{\"id\":1,\"word\":\"x, y\"}");
	make_file(&d, "b.warc", DESCRIPTION(COLUMNS("/word")),
	    "{\"id\":\"2\"},{\"id\":3,\"word\":true}");
	expect_csv(&d, NULL, "id,word\r\n1,\"x, y\"\r\n2,\r\n3,True\r\n");
	expect_csv(&d, "json_api", "id,word\r\n1,\"x, y\"\r\n2,\r\n"
	    "3,True\r\n");
	expect_csv(&d, "tumblr_blog_posts", NULL);
	testing_dir_remove(&d);
}

static void
columns_may_be_those_of_the_first_item(void **state)
{
	struct testing_dir d;

	(void)state;
	testing_dir_make(&d);
	make_file(&d, "a.warc", DESCRIPTION(""), "");
	make_file(&d, "b.warc", DESCRIPTION(""),
	    "{\"id\":1,\"word\":\"x\",\"list\":[]},{\"id\":2,\"other\":3}");
	/* The first file has no item, so it says nothing about columns. */
	expect_csv(&d, NULL, "id,date,owner,word\r\n1,,,x\r\n2,,,\r\n");
	testing_dir_remove(&d);
}

static void
files_without_a_description_have_no_items(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	make_file(&d, "a.warc", NULL, "{\"id\":1}");
	make_file(&d, "b.warc", "no JSON", "{\"id\":2}");
	/* That of a file before is not that of the next one. */
	put_description(&b, DESCRIPTION(COLUMNS("/word")));
	testing_write(&d, "0.warc", buf_str(&b));
	expect_csv(&d, NULL, NULL);
	buf_free(&b);
	testing_dir_remove(&d);
}

static void
other_columns_are_another_table(void **state)
{
	struct testing_dir d;
	struct export_result r;
	struct why w = WHY_INIT;
	enum err e;

	(void)state;
	testing_dir_make(&d);
	make_file(&d, "a.warc", DESCRIPTION(COLUMNS("/word")), "{\"id\":1}");
	make_file(&d, "b.warc", DESCRIPTION(COLUMNS("/other")), "{\"id\":2}");
	(void)export_csv(&d, NULL, 2, &r, &e, &w);
	assert_int_equal(e, ERR_INPUT);
	assert_non_null(strstr(w.text, "json_api"));
	export_result_free(&r);
	testing_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_one_description_have_one_table),
		cmocka_unit_test(columns_may_be_those_of_the_first_item),
		cmocka_unit_test(files_without_a_description_have_no_items),
		cmocka_unit_test(other_columns_are_another_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
