/* The body of POST /task, credentials and endpoints. */
#include "doors/external/task_order.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "doors/external/connectors.h"
#include "engine/external/external_testing.h"

/* ' stands for ".  `message` NULL: the body is right. */
static void
expect(const char *body, const char *message)
{
	FREED(buf_free) struct buf text = testing_quoted(body);
	struct task_order o;
	struct why w = WHY_INIT;

	enum err e = task_order_read(buf_str(&text), STR_NONE, &o, &w);
	assert_int_equal(e, message == NULL ? OK : ERR_INPUT);
	if (message != NULL)
		assert_non_null(strstr(w.text, message));
	task_order_free(&o);
}

static void
bodies_are_read(void **state)
{
	(void)state;
	expect("{'fid':'t1','endpoint':'https://e'}", NULL);
	expect("{'fid':'t_.:-1','endpoint':'x','params':{},'credential':{},"
	    "'crawler':'c','reset':true,'more':1}", NULL);
	expect("{'fid':'t1','endpoint':'x','params':null,'credential':null}",
	    NULL);
	expect("", "empty");
	expect("{'fid':'t1'", "JSON");
	expect("[]", "no JSON object");
	expect("{'endpoint':'x'}", "fid: it is missing");
	expect("{'fid':1,'endpoint':'x'}", "fid: it is no text");
	expect("{'fid':'a/b','endpoint':'x'}", "fid: ");
	expect("{'fid':'t1'}", "endpoint: it is missing");
	expect("{'fid':'t1','endpoint':'x','params':[]}", "params: ");
	expect("{'fid':'t1','endpoint':'x','credential':'x'}",
	    "credential: ");
	expect("{'fid':'t1','endpoint':'x','crawler':1}", "crawler: ");
	expect("{'fid':'t1','endpoint':'x','reset':1}", "reset: ");
}

static void
limits_of_bodies(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		buf_clear(&b);
		buf_put_text(&b, "{'fid':'");
		for (unsigned i = 0; i < 128 + more; i++)
			buf_put_char(&b, 'a');
		buf_put_text(&b, "','endpoint':'x'}");
		expect(buf_text(&b), more == 0 ? NULL : "fid: ");
		buf_clear(&b);
		buf_put_text(&b, "{'fid':'a','endpoint':'x','crawler':'");
		for (unsigned i = 0; i < TASK_CRAWLER_BYTES_MAX + more; i++)
			buf_put_char(&b, 'a');
		buf_put_text(&b, "'}");
		expect(buf_text(&b), more == 0 ? NULL : "crawler: ");
		buf_clear(&b);
		buf_put_text(&b, "{'fid':'a','endpoint':'x','more':");
		for (unsigned i = 0; i < TASK_DEPTH_MAX - 1 + more; i++)
			buf_put_char(&b, '[');
		for (unsigned i = 0; i < TASK_DEPTH_MAX - 1 + more; i++)
			buf_put_char(&b, ']');
		buf_put_char(&b, '}');
		expect(buf_text(&b), more == 0 ? NULL : "levels");
	}
}

static void
versions_are_numbers(void **state)
{
	static const struct {
		const char *text;
		enum err e;
		uint64_t version;
	} rows[] = { { "7", OK, 7 }, { "0", OK, 0 }, { "x", ERR_INPUT, 0 },
		{ "-1", ERR_INPUT, 0 }, { "1.5", ERR_INPUT, 0 },
		{ "", ERR_INPUT, 0 } };
	FREED(buf_free) struct buf body = testing_quoted("{'fid':'t',"
	    "'endpoint':'x'}");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct task_order o;
		struct why w = WHY_INIT;
		assert_int_equal(task_order_read(buf_str(&body),
		    str_of(rows[i].text), &o, &w), rows[i].e);
		assert_int_equal(o.version, rows[i].version);
		task_order_free(&o);
	}
}

/* For the connector; `made` NULL: the credential is refused. */
static void
expect_made(struct external_connector *c, const char *credential,
    const char *made)
{
	FREED(buf_free) struct buf given = testing_quoted(credential);
	FREED(buf_free) struct buf want = testing_quoted(made == NULL ? "" :
	    made), got = BUF_INIT;
	struct why w = WHY_INIT;

	yyjson_doc *doc = yyjson_read(given.p, given.n, 0);
	enum err e = task_credential_make(c, yyjson_doc_get_root(doc), &got,
	    &w);
	assert_int_equal(e, made == NULL ? ERR_INPUT : OK);
	if (made != NULL)
		assert_string_equal(buf_text(&got), buf_text(&want));
	else
		assert_string_equal(w.field, "credential");
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

/* The same for a declared API with this `auth`. */
static void
expect_credential(const char *auth, const char *credential, const char *made)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	buf_printf(&text, "{'name':'n','version':1,'title':'T','schema':{},"
	    "'docIdField':'id','parameters':{'type':'object'},"
	    "'credential':'basic','api':{'url':'https://a.example/',"
	    "'label':'l','items':'/list','id':'/id','auth':{%s}}}", auth);
	expect_made(testing_load(buf_text(&text)), credential, made);
}

static void
credentials_fit_the_api(void **state)
{
	(void)state;
	expect_credential("'kind':'basic'", "{'user':'u','password':'p'}",
	    "{'token':'p','key':'p','username':'u','password':'p'}");
	expect_credential("'kind':'bearer'", "{'token':'t'}",
	    "{'token':'t'}");
	expect_credential("'kind':'basic'", "{}", NULL);
	expect_credential("'kind':'basic'", "{'oauth':{'user':'u'}}", NULL);
	/* Those of harvests: one secret is the password, two are both. */
	expect_made(testing_built_in("youtube_channel"),
	    "{'user':'u','password':'p'}", "{'key':'p'}");
	expect_made(testing_built_in("tumblr_blog_posts"),
	    "{'user':'u','password':'p'}", "{'api_key':'p'}");
	expect_made(testing_built_in("flickr_user"),
	    "{'user':'u','password':'p'}", "{'key':'u','secret':'p'}");
	expect_made(testing_built_in("flickr_user"),
	    "{'key':'k','secret':'s'}", "{'key':'k','secret':'s'}");
	expect_made(testing_built_in("flickr_user"), "{}", NULL);
}

static void
endpoints_agree_without_query(void **state)
{
	(void)state;
	assert_true(task_endpoints_agree(STR("https://e/t?a=1"),
	    STR("https://e/t?b=2")));
	assert_true(task_endpoints_agree(STR("https://e/t"),
	    STR("https://e/t?")));
	assert_false(task_endpoints_agree(STR("https://e/t"),
	    STR("https://e/u")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_are_read),
		cmocka_unit_test(limits_of_bodies),
		cmocka_unit_test(versions_are_numbers),
		cmocka_unit_test(credentials_fit_the_api),
		cmocka_unit_test(endpoints_agree_without_query),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
