/* Requests of a registration, and answers to them. */
#include "cli/registration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/json.h"

#define ACME "[{\"name\":\"acme\",\"token\":\"acme-be\",\"prefix\":\"%s\"," \
	"\"headers\":{\"Authorization\":\"Bearer hush-1\"}}]"

static struct arena arena;

static int
reset_arena(void **state)
{
	(void)state;
	arena_free(&arena);
	arena = ARENA_INIT;
	return 0;
}

static struct backends *
parse(const char *prefix)
{
	struct backends *set;
	struct why w = WHY_INIT;

	if (backends_parse(arena_printf(&arena, ACME, prefix), "", &set, &w)
	    != OK)
		fail_msg("%s", w.text);
	return set;
}

static void
assert_text(struct str got, const char *text)
{
	if (!str_eq(got, str_of(text)))
		fail_msg("got \"%.*s\", not \"%s\"", STR_FMT(got), text);
}

/* ---- Addresses ---------------------------------------------------------- */

static void
base_follows_from_the_prefix(void **state)
{
	static const struct {
		const char *prefix, *url, *base, *object;
	} cases[] = {
		{ "https://be.example.org/actions/tasks/", "",
		    "https://be.example.org/",
		    "https://be.example.org/externals/e-1" },
		{ "https://be.example.org/v2/actions/tasks", "",
		    "https://be.example.org/v2",
		    "https://be.example.org/v2/externals/e-1" },
		{ "http://127.0.0.1:3333/backend/actions/tasks/", "",
		    "http://127.0.0.1:3333/backend",
		    "http://127.0.0.1:3333/backend/externals/e-1" },
		{ "https://be.example.org/tasks/", "http://localhost:3/x/",
		    "http://localhost:3/x/",
		    "http://localhost:3/x/externals/e-1" },
		/* No base. */
		{ "https://be.example.org/tasks/", "", NULL, NULL },
		{ "https://be.example.org/", "https://u:p@a.org/", NULL,
		    NULL },
		{ "https://be.example.org/", "https://a.org/?x", NULL, NULL },
		{ "https://be.example.org/", "https://a.org/#x", NULL, NULL },
		{ "https://be.example.org/", "ftp://a.org/", NULL, NULL },
		{ "https://be.example.org/", "here", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct backends *set = parse(cases[i].prefix);
		struct why w = WHY_INIT;
		struct url base, object;
		enum err e = registration_base(backends_nth(set, 0),
		    str_of(cases[i].url), &arena, &base, &w);
		if (cases[i].base == NULL) {
			assert_int_equal(e, cases[i].url[0] == '\0' ?
			    ERR_USAGE : ERR_INPUT);
			assert_memory_equal(w.text, "--url", 5);
		} else {
			assert_int_equal(e, OK);
			assert_text(base.href, cases[i].base);
			assert_int_equal(registration_url(&base, STR("e-1"),
			    &arena, &object, NULL), OK);
			assert_text(object.href, cases[i].object);
		}
		backends_release(&set);
	}
}

/* ---- Bodies ------------------------------------------------------------- */

static void
object_has_no_headers(void **state)
{
	struct external_connector *c = external_connector_builtin(0);
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	registration_put_object(c, STR("https://c.example/external/web"), true,
	    &b);
	yyjson_doc *doc = yyjson_read(b.p, b.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	assert_non_null(yyjson_obj_get(root, "parameters"));
	assert_text(json_text(yyjson_obj_get(root, "endpoint")),
	    "https://c.example/external/web");
	assert_text(json_text(yyjson_obj_get(root, "credential")), "ignore");
	assert_null(yyjson_obj_get(root, "headers"));
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

static void
bodies_remove_what_is_gone(void **state)
{
	static const struct {
		const char *object, *before, *token, *body;
	} cases[] = {
		{ "{\"a\":1}", "", NULL, "{\"a\":1}" },
		{ "{\"a\":1}", "", "", "{\"a\":1,\"headers\":{}}" },
		{ "{\"a\":1}", "", "t0", "{\"a\":1,\"headers\":"
		    "{\"Authorization\":\"Bearer t0\"}}" },
		{ "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":2,\"c\":3},\"d\":[4]}",
		    NULL, "{\"a\":{\"b\":1,\"c\":null},\"d\":null}" },
		/* Arrays are sent whole. */
		{ "{\"a\":[1]}", "{\"a\":[1,2]}", NULL, "{\"a\":[1]}" },
		{ "{\"a\":{\"b\":1}}", "{\"a\":7}", NULL,
		    "{\"a\":{\"b\":1}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		registration_put_body(str_of(cases[i].object),
		    str_of(cases[i].before), cases[i].token == NULL ?
		    STR_NONE : str_of(cases[i].token), &b);
		assert_text(buf_str(&b), cases[i].body);
	}
}

/* ---- Answers ------------------------------------------------------------ */

#define META(fid, version) "{\"success\":true,\"payload\":{\"meta\":{" \
	"\"fid\":" fid ",\"version\":" version "}},\"version\":0}"

static void
reads_answers(void **state)
{
	static const struct {
		int status;
		const char *reply, *fid;
		enum err err;
		const char *text;    /* a part of it */
	} cases[] = {
		{ 200, META("\"e-1\"", "3"), "", OK, NULL },
		{ 201, META("\"e-1\"", "3"), "e-1", OK, NULL },
		{ 200, META("\"e-2\"", "3"), "e-1", ERR_CORRUPT,
		    "another object" },
		{ 200, META("\"../x\"", "3"), "", ERR_CORRUPT, "meta.fid" },
		{ 200, META("\"..\"", "3"), "", ERR_CORRUPT, "meta.fid" },
		{ 200, META("\"\"", "3"), "", ERR_CORRUPT, "meta.fid" },
		{ 200, META("7", "3"), "", ERR_CORRUPT, "meta.fid" },
		{ 200, META("\"e-1\"", "0"), "", ERR_CORRUPT,
		    "meta.version" },
		{ 200, META("\"e-1\"", "\"3\""), "", ERR_CORRUPT,
		    "meta.version" },
		{ 200, META("\"e-1\"", "9223372036854775808"), "",
		    ERR_CORRUPT, "meta.version" },
		{ 200, "{}", "", ERR_CORRUPT, "meta.fid" },
		{ 200, "", "", ERR_CORRUPT, "no JSON" },
		{ 200, "<html>", "", ERR_CORRUPT, "no JSON" },
		{ 200, "{\"success\":false,\"messages\":[\"odd\",\"x\"]}", "",
		    ERR_INPUT, "odd; x" },
		{ 400, "{\"success\":false,\"messages\":[\"schema: no\"]}", "",
		    ERR_INPUT, "answered 400: schema: no" },
		{ 401, "", "", ERR_DENIED, "answered 401; its headers" },
		{ 403, "", "", ERR_DENIED, "403" },
		{ 404, "", "e-1", ERR_ABSENT, "404" },
		{ 302, "", "", ERR_STATE, "redirect" },
		{ 500, "{", "", ERR_UNREACHED, "answered 500" },
		/* An answer that repeats a secret is not shown. */
		{ 400, "{\"messages\":[\"bad Bearer hush-1\"]}", "",
		    ERR_INPUT, "answered 400" },
		{ 400, "{\"messages\":[\"bad arg-token-2\"]}", "",
		    ERR_INPUT, "answered 400" },
	};
	struct backends *set = parse("https://be.example.org/");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct registration_reply r;
		struct why w = WHY_INIT;
		enum err e = registration_read(backends_nth(set, 0),
		    cases[i].status, str_of(cases[i].reply),
		    str_of(cases[i].fid), STR("arg-token-2"), &arena, &r, &w);
		if (e != cases[i].err || (e != OK && strstr(w.text,
		    cases[i].text) == NULL))
			fail_msg("case %zu: %s: %s", i, err_name(e), w.text);
		assert_null(strstr(w.text, "hush"));
		assert_null(strstr(w.text, "arg-token-2"));
		if (e == OK) {
			assert_text(r.fid, "e-1");
			assert_int_equal(r.version, 3);
		}
	}
	backends_release(&set);
}

static void
limits_of_answers(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct backends *set = parse("https://be.example.org/");
	const struct backend *acme = backends_nth(set, 0);
	struct registration_reply r;
	struct why w = WHY_INIT;
	char fid[REGISTRATION_FID_BYTES_MAX + 2];

	(void)state;
	for (size_t n = REGISTRATION_FID_BYTES_MAX;
	    n <= REGISTRATION_FID_BYTES_MAX + 1; n++) {
		memset(fid, 'a', n);
		fid[n] = '\0';
		struct str reply = arena_printf(&arena, META("\"%s\"", "1"),
		    fid);
		assert_int_equal(registration_read(acme, 200, reply, STR(""),
		    STR_NONE, &arena, &r, NULL), n ==
		    REGISTRATION_FID_BYTES_MAX ? OK : ERR_CORRUPT);
	}
	/* "payload" is the second level of the depth that is allowed. */
	for (unsigned depth = REGISTRATION_DEPTH_MAX - 1;
	    depth <= REGISTRATION_DEPTH_MAX; depth++) {
		buf_clear(&b);
		buf_put_text(&b, "{\"payload\":{\"meta\":{\"fid\":\"e\","
		    "\"version\":1}},\"more\":");
		for (unsigned i = 0; i < depth; i++)
			buf_put_char(&b, '[');
		for (unsigned i = 0; i < depth; i++)
			buf_put_char(&b, ']');
		buf_put_char(&b, '}');
		assert_int_equal(registration_read(acme, 200, buf_str(&b),
		    STR(""), STR_NONE, &arena, &r, NULL), depth <
		    REGISTRATION_DEPTH_MAX ? OK : ERR_CORRUPT);
	}
	buf_clear(&b);
	buf_put_text(&b, "{\"messages\":[\"");
	for (size_t i = 0; i < 2 * REGISTRATION_MESSAGE_BYTES_MAX; i++)
		buf_put_char(&b, 'y');
	buf_put_text(&b, "\"]}");
	assert_int_equal(registration_read(acme, 400, buf_str(&b), STR(""),
	    STR_NONE, &arena, &r, &w), ERR_INPUT);
	assert_int_equal(strspn(strchr(w.text, 'y'), "y"),
	    REGISTRATION_MESSAGE_BYTES_MAX);
	backends_release(&set);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(base_follows_from_the_prefix,
		    reset_arena),
		cmocka_unit_test(object_has_no_headers),
		cmocka_unit_test(bodies_remove_what_is_gone),
		cmocka_unit_test_teardown(reads_answers, reset_arena),
		cmocka_unit_test_teardown(limits_of_answers, reset_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
