/* Descriptions: the whole one of the contract, and each that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/json/json_description.h"

struct read {
	struct arena arena;
	yyjson_doc *doc;
	struct json_description d;
	struct why w;
	enum err e;
};

static void
read_text(struct read *r, const char *text, yyjson_read_flag flags)
{
	*r = (struct read){ .arena = ARENA_INIT, .w = WHY_INIT };
	r->doc = yyjson_read(text, strlen(text), flags);
	assert_non_null(r->doc);
	r->e = json_description_read(yyjson_doc_get_root(r->doc), &r->arena,
	    &r->d, &r->w);
}

static void
free_read(struct read *r)
{
	yyjson_doc_free(r->doc);
	arena_free(&r->arena);
}

#define WHOLE                                                                \
	"{\"url\":\"https://forum.example:8443/c/{seed}.json?per_page=100\"," \
	"\"label\":\"topics\",\"auth\":{\"kind\":\"header\","                \
	"\"name\":\"Api-Key\"},\"items\":\"/topic_list/topics\","            \
	"\"id\":\"/id\",\"date\":\"/created_at\",\"owner\":\"/poster/id\","  \
	"\"next\":{\"cursor\":\"/meta/next\",\"parameter\":\"after\"},"      \
	"\"since\":{\"parameter\":\"since\",\"from\":\"date\"},"             \
	"\"rate\":{\"calls\":60,\"seconds\":30},"                            \
	"\"columns\":[{\"name\":\"title\",\"at\":\"/title\"},"               \
	"{\"name\":\"tag\",\"at\":\"/tags/0\",\"meaning\":\"a word\"}]}"

static void
a_whole_description_is_read(void **state)
{
	struct read r;

	(void)state;
	for (int raw = 0; raw < 2; raw++) {
		read_text(&r, WHOLE, raw ? YYJSON_READ_NUMBER_AS_RAW : 0);
		assert_int_equal(r.e, OK);
		assert_true(str_eq(r.d.base,
		    STR("https://forum.example:8443")));
		assert_true(r.d.has_seed);
		assert_string_equal(r.d.label, "topics");
		assert_int_equal(r.d.auth, CONNECTOR_HEADER);
		assert_string_equal(r.d.auth_name, "Api-Key");
		assert_string_equal(r.d.items, "/topic_list/topics");
		assert_string_equal(r.d.date, "/created_at");
		assert_string_equal(r.d.owner, "/poster/id");
		assert_int_equal(r.d.next, JSON_NEXT_CURSOR);
		assert_string_equal(r.d.next_at, "/meta/next");
		assert_string_equal(r.d.next_parameter, "after");
		assert_string_equal(r.d.since_parameter, "since");
		assert_true(r.d.since_is_date);
		assert_int_equal(r.d.rates[0].units, 60);
		assert_int_equal(r.d.rates[0].seconds, 30);
		assert_int_equal(r.d.rates[1].units, 0);
		assert_int_equal(r.d.columns_n, 2);
		assert_string_equal(r.d.columns[1].at, "/tags/0");
		assert_string_equal(r.d.columns[1].meaning, "a word");
		assert_null(r.d.columns[0].meaning);
		free_read(&r);
	}
}

static void
a_short_description_is_read(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, "{\"url\":\"http://a.example\",\"label\":\"x\","
	    "\"items\":\"\",\"id\":\"/0\"}", 0);
	assert_int_equal(r.e, OK);
	assert_true(str_eq(r.d.base, r.d.url));
	assert_false(r.d.has_seed);
	assert_int_equal(r.d.auth, CONNECTOR_ANONYMOUS);
	assert_int_equal(r.d.next, JSON_NEXT_NONE);
	assert_null(r.d.since_parameter);
	yyjson_val *root = yyjson_doc_get_root(r.doc);
	assert_ptr_equal(json_description_at(root, r.d.items), root);
	free_read(&r);
}

static void
expect_refusal(const char *text, const char *want)
{
	struct read r;

	read_text(&r, text, 0);
	assert_int_equal(r.e, ERR_INPUT);
	assert_string_equal(r.w.text, want);
	free_read(&r);
}

/* The worked examples of examples/json_api. */
static void
examples_are_read(void **state)
{
	static const struct {
		const char *name;
		enum json_next next;
	} examples[] = { { "articles", JSON_NEXT_PAGE },
		{ "forum", JSON_NEXT_CURSOR }, { "issues", JSON_NEXT_LINK } };
	const char *source = getenv("ARGIOPE_SOURCE");
	char path[512], text[4096];
	struct read r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		snprintf(path, sizeof(path), "%s/examples/json_api/%s.json",
		    source == NULL ? "." : source, examples[i].name);
		FILE *f = fopen(path, "rb");
		assert_non_null(f);
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
		read_text(&r, text, YYJSON_READ_NUMBER_AS_RAW);
		if (r.e != OK)
			fail_msg("%s: %s", examples[i].name, r.w.text);
		assert_int_equal(r.d.next, examples[i].next);
		assert_true(r.d.columns_n > 0);
		free_read(&r);
	}
}

#define BASE "\"label\":\"x\",\"items\":\"/a\",\"id\":\"/id\""
#define WRONG(more, field, why)                                              \
	expect_refusal("{\"url\":\"https://a.example/\"," BASE "," more "}", \
	    "options.api." field ": " why)
#define WRONG_URL(url)                                                       \
	expect_refusal("{\"url\":\"" url "\"," BASE "}", "options.api.url: " \
	    "it is not the address of a list, such as "                      \
	    "https://a.example/{seed}.json")

static void
addresses_that_are_none_are_named(void **state)
{
	(void)state;
	WRONG_URL("ftp://a.example/");
	WRONG_URL("a.example");
	WRONG_URL("https:///x");
	WRONG_URL("https://{seed}.example/");
	WRONG_URL("https://u:p@a.example/");
	WRONG_URL("https://a.example/#x");
	WRONG_URL("https://a.example/a b");
	expect_refusal("{}", "options.api.url: it is missing");
	expect_refusal("{\"url\":7}",
	    "options.api.url: it is not a text of one line");
	expect_refusal("[]", "options.api: it is not an object");
	expect_refusal("{\"URL\":1}",
	    "options.api: it has a field that is not known: URL");
	expect_refusal("{\"url\":\"http://a.example/\"," BASE ",\"auth\":"
	    "{\"kind\":\"bearer\"}}", "options.api.url: it must begin with "
	    "https, as a credential is sent to it");
}

static void
wrong_members_are_named(void **state)
{
	(void)state;
	expect_refusal("{\"url\":\"https://a.example/\",\"label\":\"x\","
	    "\"items\":\"a\",\"id\":\"/id\"}",
	    "options.api.items: it is not a place such as /a/b");
	expect_refusal("{\"url\":\"https://a.example/\",\"label\":\"x\","
	    "\"items\":\"/a\"}", "options.api.id: it is missing");
	WRONG("\"auth\":{\"kind\":\"x\"}", "auth.kind", "it is none of: none "
	    "bearer header query basic oauth1 client_credentials");
	WRONG("\"auth\":{\"kind\":\"query\"}", "auth.name", "it is missing");
	WRONG("\"auth\":{\"kind\":\"header\",\"name\":\"a b\"}", "auth.name",
	    "it is not the name of a field or a parameter");
	WRONG("\"auth\":{\"kind\":\"client_credentials\"}",
	    "auth.token_url", "it is missing");
	WRONG("\"auth\":{\"kind\":\"client_credentials\",\"token_url\":"
	    "\"http://a.example\"}", "auth.token_url", "it is not an address "
	    "that begins with https");
	WRONG("\"auth\":{\"secret\":\"x\"}", "auth",
	    "it has a field that is not known: secret");
	WRONG("\"next\":{}", "next", "it has not one of: cursor url link page "
	    "offset");
	WRONG("\"next\":{\"cursor\":\"/a\",\"url\":\"/b\"}", "next",
	    "it has not one of: cursor url link page offset");
	WRONG("\"next\":{\"cursor\":\"/a\"}", "next.parameter",
	    "it is missing");
	WRONG("\"next\":{\"offset\":\"o\"}", "next.by", "it is missing");
	WRONG("\"next\":{\"page\":\"p\",\"by\":0}", "next.by", "it is not a "
	    "whole number from 1 to 1000000");
	WRONG("\"next\":{\"page\":\"p\",\"first\":-1}", "next.first",
	    "it is not a whole number from 0 to 1000000");
	WRONG("\"since\":{\"parameter\":\"s\",\"from\":\"x\"}", "since.from",
	    "it is none of: date id");
	WRONG("\"since\":{\"parameter\":\"s\",\"from\":\"date\"}", "date",
	    "it is missing, and since is from it");
	WRONG("\"rate\":{\"calls\":0}", "rate.calls", "it is not a whole "
	    "number from 1 to 1000000");
	WRONG("\"columns\":{}", "columns", "it is not a list of at most 200 "
	    "columns");
	WRONG("\"columns\":[{\"name\":\"a\"}]", "columns[0].at",
	    "it is missing");
	WRONG("\"columns\":[7]", "columns[0]", "it is not an object");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_description_is_read),
		cmocka_unit_test(a_short_description_is_read),
		cmocka_unit_test(examples_are_read),
		cmocka_unit_test(addresses_that_are_none_are_named),
		cmocka_unit_test(wrong_members_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
