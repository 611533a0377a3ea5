#include "wire/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/base64.h"
#include "wire/digest.h"

static const struct str secret = STR("s3cr3t/+ value%&");

struct outcome {
	struct buf out, names;
};

static void
outcome_free(struct outcome *o)
{
	buf_free(&o->out);
	buf_free(&o->names);
}

static void
test_headers(void **state)
{
	struct redactor *r = redact_new(NULL);
	struct outcome o = { BUF_INIT, BUF_INIT };
	struct str plain = STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n");

	(void)state;
	assert_false(redact_request(r, plain, &o.out, &o.names));
	assert_int_equal(o.out.n + o.names.n, 0);
	assert_true(redact_request(r, STR("GET / HTTP/1.1\r\nHost: a\r\n"
	    "COOKIE: a=b\r\n c=d\r\nauthorization:Bearer x\r\n"
	    "X-Api-Key: k\r\nX: Cookie: no\r\n\r\nCookie: body"),
	    &o.out, &o.names));
	assert_string_equal(buf_text(&o.out), "GET / HTTP/1.1\r\nHost: a\r\n"
	    "COOKIE: REDACTED\r\nauthorization: REDACTED\r\n"
	    "X-Api-Key: REDACTED\r\nX: Cookie: no\r\n\r\nCookie: body");
	assert_string_equal(buf_text(&o.names),
	    "cookie, authorization, x-api-key");
	outcome_free(&o);
	redact_free(&r);
}

/* Every spelling of a credential goes, wherever it stands. */
static void
test_values(void **state)
{
	struct redact_rules rules = { .values = &secret, .values_n = 1 };
	struct redactor *r = redact_new(&rules);
	static const char *const spelled[] = {
		"s3cr3t/+ value%&", "s3cr3t%2F%2B%20value%25%26",
		"s3cr3t%2f%2b+value%25%26", "%733cr3t/%2B%20value%25&",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(spelled); i++) {
		struct outcome o = { BUF_INIT, BUF_INIT };
		struct buf uri = BUF_INIT;
		buf_printf(&uri, "http://a/?k=%s;x=1", spelled[i]);
		assert_true(redact_text(r, buf_str(&uri), &o.out, &o.names));
		assert_string_equal(buf_text(&o.out),
		    "http://a/?k=REDACTED;x=1");
		assert_string_equal(buf_text(&o.names), "credential");
		buf_free(&uri);
		outcome_free(&o);
	}
	redact_free(&r);
}

/* In base64 at each of the three alignments no 8 letters of it remain. */
static void
test_base64(void **state)
{
	struct redact_rules rules = { .values = &secret, .values_n = 1 };
	struct redactor *r = redact_new(&rules);

	(void)state;
	for (int shift = 0; shift < 3; shift++) {
		struct outcome o = { BUF_INIT, BUF_INIT };
		struct buf plain = BUF_INIT, coded = BUF_INIT;
		buf_printf(&plain, "%.*s%.*s:tail", shift, "xyz",
		    STR_FMT(secret));
		base64_put(&coded, buf_str(&plain));
		assert_true(redact_text(r, buf_str(&coded), &o.out,
		    &o.names));
		struct str core = str_cut(buf_str(&coded), 4, 12);
		assert_int_equal(str_find(buf_str(&o.out), core), o.out.n);
		assert_true(redact_finds(r, buf_str(&coded)));
		buf_free(&plain);
		buf_free(&coded);
		outcome_free(&o);
	}
	assert_true(redact_finds(r, STR("<p>s3cr3t/+ value%&</p>")));
	assert_false(redact_finds(r, STR("<p>nothing here</p>")));
	redact_free(&r);
}

static void
test_short_values_stay(void **state)
{
	static const struct str seven = STR("1234567"), eight =
	    STR("12345678");
	struct redact_rules rules = { .values = &seven, .values_n = 1 };
	struct redactor *r = redact_new(&rules);
	struct outcome o = { BUF_INIT, BUF_INIT };

	(void)state;
	assert_false(redact_text(r, STR("a?k=1234567"), &o.out, &o.names));
	redact_free(&r);
	rules.values = &eight;
	r = redact_new(&rules);
	assert_true(redact_text(r, STR("a?k=12345678"), &o.out, &o.names));
	redact_free(&r);
	outcome_free(&o);
}

static void
test_body_length(void **state)
{
	struct redact_rules rules = { .values = &secret, .values_n = 1 };
	struct redactor *r = redact_new(&rules);
	struct outcome o = { BUF_INIT, BUF_INIT };

	(void)state;
	assert_true(redact_request(r, STR("POST / HTTP/1.1\r\n"
	    "Content-Length: 23\r\n\r\n{\"a\":\"s3cr3t/+ value%&\"}"),
	    &o.out, &o.names));
	assert_string_equal(buf_text(&o.out), "POST / HTTP/1.1\r\n"
	    "Content-Length: 16\r\n\r\n{\"a\":\"REDACTED\"}");
	outcome_free(&o);
	redact_free(&r);
}

static void
test_harvest_fields(void **state)
{
	static const struct str more = STR("appid");
	struct redact_rules rules = { .harvest = true, .fields = &more,
		.fields_n = 1 };
	struct redactor *r = redact_new(&rules), *web = redact_new(NULL);
	struct outcome o = { BUF_INIT, BUF_INIT };
	struct str uri = STR("http://a/?method=x&oauth_nonce=1&key=&photo_id=2"
	    "&secret=3&appid=4#f");

	(void)state;
	assert_true(redact_text(r, uri, &o.out, &o.names));
	assert_string_equal(buf_text(&o.out), "http://a/?method=x"
	    "&oauth_nonce=REDACTED&key=REDACTED&photo_id=2&secret=3"
	    "&appid=REDACTED#f");
	assert_string_equal(buf_text(&o.names), "oauth_nonce, key, appid");
	outcome_free(&o);
	/* A crawl's URIs are not cut by name: they could not be replayed. */
	assert_false(redact_text(web, uri, &o.out, &o.names));
	assert_true(redact_request(r, STR("POST /t HTTP/1.1\r\nContent-Type: "
	    "application/x-www-form-urlencoded\r\nContent-Length: 16\r\n\r\n"
	    "token=abc&b=c&d="), &o.out, &o.names));
	assert_true(str_ends(buf_str(&o.out), STR("token=REDACTED&b=c&d=")));
	outcome_free(&o);
	assert_true(redact_response_head(r, STR("HTTP/1.1 200 OK\r\n"
	    "Set-Cookie: a=b\r\n\r\n"), &o.out, &o.names));
	assert_string_equal(buf_text(&o.out), "HTTP/1.1 200 OK\r\n"
	    "Set-Cookie: REDACTED\r\n\r\n");
	outcome_free(&o);
	redact_free(&r);
	redact_free(&web);
}

static void
test_cookies_that_an_answer_sets(void **state)
{
	struct redactor *r = redact_new(&(struct redact_rules){
		.cookies = true });
	struct outcome o = { BUF_INIT, BUF_INIT };
	struct str uri = STR("http://a/?key=1");

	(void)state;
	assert_true(redact_response_head(r, STR("HTTP/1.1 200 OK\r\n"
	    "set-cookie: a=b\r\nA: b\r\n\r\n"), &o.out, &o.names));
	assert_string_equal(buf_text(&o.out), "HTTP/1.1 200 OK\r\n"
	    "set-cookie: REDACTED\r\nA: b\r\n\r\n");
	outcome_free(&o);
	/* Nothing else of the rule for harvests. */
	assert_false(redact_text(r, uri, &o.out, &o.names));
	redact_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_short_values_stay),
		cmocka_unit_test(test_body_length),
		cmocka_unit_test(test_harvest_fields),
		cmocka_unit_test(test_cookies_that_an_answer_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
