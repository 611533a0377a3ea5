/* PUT, PATCH and links of the back end's objects. */
#include "cli/simulator/relational.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/err.h"

static yyjson_doc *
parse(const char *text)
{
	yyjson_doc *d = yyjson_read(text, strlen(text), 0);

	assert_non_null(d);
	return d;
}

/* Takes `got` over. */
static void
expect(yyjson_doc *got, const char *want)
{
	yyjson_doc *d = parse(want);

	if (!yyjson_equals(yyjson_doc_get_root(got), yyjson_doc_get_root(d)))
		fail_msg("%s", yyjson_write(got, 0, NULL));
	yyjson_doc_free(d);
	yyjson_doc_free(got);
}

static void
expect_patch(const char *old, const char *patch, const char *want)
{
	struct relational_meta m = { "externals", STR("e1"), 3 };
	yyjson_doc *a = parse(old), *b = parse(patch);

	expect(relational_patch(yyjson_doc_get_root(a),
	    yyjson_doc_get_root(b), &m), want);
	yyjson_doc_free(a);
	yyjson_doc_free(b);
}

#define META "\"meta\":{\"type\":\"externals\",\"fid\":\"e1\",\"version\":3"

static void
patches(void **state)
{
	(void)state;
	expect_patch("{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"c\":3}}",
	    "{\"a\":{\"b\":1,\"c\":3}," META "}}");
	/* Arrays whole, not by element. */
	expect_patch("{\"a\":[1,2,{\"b\":1}]}", "{\"a\":[{\"c\":1}]}",
	    "{\"a\":[{\"c\":1}]," META "}}");
	expect_patch("{\"a\":1,\"b\":{\"c\":1}}", "{\"a\":null,\"b\":"
	    "{\"c\":null}}", "{\"b\":{}," META "}}");
	/* An object takes the place of another value, and the reverse. */
	expect_patch("{\"a\":1,\"b\":{\"c\":1}}", "{\"a\":{\"x\":1},\"b\":7}",
	    "{\"a\":{\"x\":1},\"b\":7," META "}}");
}

static void
keeps_what_is_its_own(void **state)
{
	struct relational_meta m = { "externals", STR("e1"), 3 };
	yyjson_doc *body = parse("{\"meta\":{\"fid\":\"other\",\"version\":"
	    "99,\"name\":\"N\"},\"x\":1}");
	yyjson_doc *none = parse("{\"meta\":7}");

	(void)state;
	expect_patch("{\"meta\":{\"name\":\"N\"}}", "{\"meta\":{\"fid\":"
	    "\"other\",\"version\":99,\"type\":\"t\",\"image\":\"i\"}}",
	    "{" META ",\"name\":\"N\",\"image\":\"i\"}}");
	expect(relational_put(yyjson_doc_get_root(body), &m),
	    "{" META ",\"name\":\"N\"},\"x\":1}");
	expect(relational_put(yyjson_doc_get_root(none), &m), "{" META "}}");
	yyjson_doc_free(body);
	yyjson_doc_free(none);
}

static void
merges(void **state)
{
	yyjson_doc *a = parse("{\"since\":\"2026\",\"n\":1}");
	yyjson_doc *b = parse("{\"n\":2}");

	(void)state;
	expect(relational_merge(yyjson_doc_get_root(a),
	    yyjson_doc_get_root(b)), "{\"since\":\"2026\",\"n\":2}");
	expect(relational_merge(NULL, yyjson_doc_get_root(b)), "{\"n\":2}");
	expect(relational_merge(yyjson_doc_get_root(b), NULL), "{\"n\":2}");
	expect(relational_merge(NULL, NULL), "{}");
	yyjson_doc_free(a);
	yyjson_doc_free(b);
}

#define LINK(type, fid) \
	"{\"from\":{\"type\":\"" type "\",\"fid\":\"" fid "\"}}"

static void
finds_the_link(void **state)
{
	static const struct {
		const char *links, *fid;
	} cases[] = {
		{ LINK("streams", "s1"), "s1" },
		{ LINK("users", "u1") "," LINK("streams", "s1"), "s1" },
		{ LINK("streams", "s1") "," LINK("streams", "s2"), "" },
		{ LINK("users", "u1"), "" },
		{ LINK("streams", ""), "" },
		{ "7", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		buf_printf(&b, "{\"meta\":{\"links\":[%s]}}", cases[i].links);
		yyjson_doc *d = parse(buf_text(&b));
		struct str fid = relational_link_from(yyjson_doc_get_root(d),
		    "streams");
		assert_true(str_eq(fid, str_of(cases[i].fid)));
		yyjson_doc_free(d);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patches),
		cmocka_unit_test(keeps_what_is_its_own),
		cmocka_unit_test(merges),
		cmocka_unit_test(finds_the_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
