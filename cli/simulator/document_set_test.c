/* Documents once each: by id, by content; uploads once each, by key. */
#include "cli/simulator/document_set.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static size_t bytes;

static struct document_set *
set_with(size_t documents, size_t uploads, size_t room)
{
	struct document_limits l = { documents, uploads, room, false };

	bytes = 0;
	return document_set_new(l, &bytes);
}

/* Put a document; `id` NULL: it has none.  Whether it was there. */
static enum err
put_doc(struct document_set *s, const char *id, const char *json,
    bool *duplicate)
{
	yyjson_doc *d = yyjson_read(json, strlen(json), 0);

	assert_non_null(d);
	enum err e = document_set_put(s, str_of(id), yyjson_doc_get_root(d),
	    duplicate, NULL);
	yyjson_doc_free(d);
	return e;
}

static void
expect_put(struct document_set *s, const char *id, const char *json,
    bool duplicate)
{
	bool was = !duplicate;

	assert_int_equal(put_doc(s, id, json, &was), OK);
	assert_int_equal(was, duplicate);
}

static void
expect_all(struct document_set *s, const char *want)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	document_set_write(s, &b);
	assert_string_equal(buf_text(&b), want);
}

static void
knows_ids(void **state)
{
	struct document_set *s = set_with(10, 10, 1000);

	(void)state;
	expect_put(s, "1", "{\"id\":1,\"t\":\"a\"}", false);
	expect_put(s, "2", "{\"id\":2,\"t\":\"a\"}", false);
	/* The later one replaces the earlier, in its place. */
	expect_put(s, "1", "{\"id\":1,\"t\":\"longer\"}", true);
	assert_int_equal(document_set_count(s), 2);
	expect_all(s, "{\"id\":1,\"t\":\"longer\"}\n{\"id\":2,\"t\":\"a\"}");
	document_set_free(&s);
	assert_int_equal(bytes, 0);
}

static void
knows_contents(void **state)
{
	struct document_set *s = set_with(10, 10, 1000);

	(void)state;
	expect_put(s, NULL, "{\"t\":1}", false);
	expect_put(s, NULL, "{ \"t\" : 1 }", true);
	expect_put(s, NULL, "{\"t\":2}", false);
	/* An id is no hash, whatever it looks like. */
	expect_put(s, "{\"t\":1}", "{\"t\":1}", false);
	expect_all(s, "{\"t\":1}\n{\"t\":2}\n{\"t\":1}");
	document_set_free(&s);
	assert_int_equal(bytes, 0);
}

static void
keeps_its_limits(void **state)
{
	struct document_set *s = set_with(2, 1, 1000);
	bool duplicate;

	(void)state;
	expect_put(s, "1", "{}", false);
	expect_put(s, "2", "{}", false);
	assert_int_equal(put_doc(s, "3", "{}", &duplicate), ERR_FULL);
	expect_put(s, "2", "{\"a\":1}", true);
	assert_int_equal(document_set_count(s), 2);
	document_set_free(&s);
	/* Key "i1" and {} are four bytes. */
	s = set_with(9, 1, 8);
	expect_put(s, "1", "{}", false);
	expect_put(s, "2", "{}", false);
	assert_int_equal(put_doc(s, "1", "[1]", &duplicate), ERR_FULL);
	assert_int_equal(put_doc(s, "3", "{}", &duplicate), ERR_FULL);
	expect_put(s, "1", "[]", true);
	expect_all(s, "[]\n{}");
	document_set_free(&s);
	assert_int_equal(bytes, 0);
}

static void
keeps_hashes(void **state)
{
	/* A kind and a hash are 33 bytes. */
	struct document_limits l = { 3, 1, 99, true };
	bool duplicate;

	(void)state;
	bytes = 0;
	struct document_set *s = document_set_new(l, &bytes);
	expect_put(s, "1", "{\"id\":1,\"t\":\"a\"}", false);
	expect_put(s, "2", "{\"id\":2,\"t\":\"a\"}", false);
	expect_put(s, "1", "{\"id\":1,\"t\":\"longer\"}", true);
	expect_put(s, NULL, "{\"t\":1}", false);
	expect_put(s, NULL, "{ \"t\" : 1 }", true);
	assert_int_equal(put_doc(s, "3", "{}", &duplicate), ERR_FULL);
	assert_int_equal(document_set_count(s), 3);
	assert_int_equal(bytes, 99);
	expect_all(s, "");
	document_set_free(&s);
	assert_int_equal(bytes, 0);
	l.documents_max = 4;
	l.bytes_max = 32;
	s = document_set_new(l, &bytes);
	assert_int_equal(put_doc(s, "1", "{}", &duplicate), ERR_FULL);
	document_set_free(&s);
}

static void
knows_uploads(void **state)
{
	struct document_set *s = set_with(1, 2, 100);
	struct upload_answer a = { 200, STR("{\"x\":1}") }, found;
	bool same;

	(void)state;
	assert_false(document_set_upload(s, STR("k:1"), STR("body"), &same,
	    &found));
	assert_int_equal(document_set_note_upload(s, STR("k:1"), STR("body"),
	    a, NULL), OK);
	assert_true(document_set_upload(s, STR("k:1"), STR("body"), &same,
	    &found));
	assert_true(same);
	assert_int_equal(found.status, 200);
	assert_true(str_eq(found.json, a.json));
	assert_true(document_set_upload(s, STR("k:1"), STR("other"), &same,
	    &found));
	assert_false(same);
	assert_false(document_set_is_full(s));
	assert_int_equal(document_set_note_upload(s, STR("k:2"), STR(""), a,
	    NULL), OK);
	assert_true(document_set_is_full(s));
	assert_int_equal(document_set_note_upload(s, STR("k:3"), STR(""), a,
	    NULL), ERR_FULL);
	document_set_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_ids),
		cmocka_unit_test(knows_contents),
		cmocka_unit_test(keeps_its_limits),
		cmocka_unit_test(keeps_hashes),
		cmocka_unit_test(knows_uploads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
