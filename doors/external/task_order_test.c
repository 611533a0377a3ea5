/* The body of POST /task, credentials and endpoints. */
#include "doors/external/task_order.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "doors/external/connectors.h"
#include "doors/external/grants.h"
#include "engine/external/external_testing.h"
#include "engine/external/oauth_testing.h"

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
	/* Harvest types: a single secret is the password; a key with a secret
	 * is user and password. */
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

/* ' stands for ".  `message` NULL: it names a grant by `handle`, or by `user`
 * and that moment. */
static void
expect_grant(const char *credential, const char *handle, const char *user,
    int64_t issued_s, const char *message)
{
	FREED(buf_free) struct buf text = BUF_INIT, body = BUF_INIT;
	struct task_grant_name n;
	struct task_order o;
	struct why w = WHY_INIT;

	buf_printf(&body, "{'fid':'t','endpoint':'x','credential':%s}",
	    credential);
	text = testing_quoted(buf_text(&body));
	assert_int_equal(task_order_read(buf_str(&text), STR_NONE, &o, &w),
	    OK);
	enum err e = task_grant_name_read(o.credential, &n, &w);
	assert_int_equal(e, message == NULL ? OK : ERR_INPUT);
	if (message != NULL) {
		assert_string_equal(w.field, "credential");
		assert_non_null(strstr(w.text, message));
		assert_null(strstr(w.text, "hush"));
	} else {
		assert_true(str_eq(n.handle, str_of(handle)));
		assert_true(handle[0] != '\0' || str_eq(n.user,
		    str_of(user)));
		assert_true(handle[0] != '\0' || n.issued.us / US_PER_S ==
		    issued_s);
	}
	task_order_free(&o);
}

static void
credentials_name_grants(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	expect_grant("{'oauth':{'token':'argt_x'}}", "argt_x", "", 0, NULL);
	expect_grant("{'token':'argt_x','user':'u'}", "argt_x", "", 0, NULL);
	expect_grant("{'oauth':null,'token':'argt_x'}", "argt_x", "", 0, NULL);
	expect_grant("{'oauth':{'token':null,'user':'u','issued':"
	    "'2026-11-20T09:18:16Z'}}", "", "u", 1795166296, NULL);
	expect_grant("{'user':'u','issued':1795166296}", "", "u", 1795166296,
	    NULL);
	expect_grant("{'user':'u','issued':'1795166296'}", "", "u",
	    1795166296, NULL);
	expect_grant("{'user':'u','issued':1795166296999}", "", "u",
	    1795166296, NULL);
	expect_grant("{'user':'u','issued':99999999999}", "", "u",
	    99999999999, NULL);
	expect_grant("{'user':'u','issued':100000000000}", "", "u",
	    100000000, NULL);
	expect_grant("null", "", "", 0, "signed in");
	expect_grant("{}", "", "", 0, "signed in");
	expect_grant("{'oauth':'hush'}", "", "", 0, "signed in");
	expect_grant("{'oauth':['hush']}", "", "", 0, "signed in");
	expect_grant("{'token':7}", "", "", 0, "token");
	expect_grant("{'token':''}", "", "", 0, "token");
	expect_grant("{'token':{'hush':1}}", "", "", 0, "token");
	expect_grant("{'user':'u'}", "", "", 0, "issued");
	expect_grant("{'user':'u','issued':'hush'}", "", "", 0, "issued");
	expect_grant("{'user':'u','issued':-1}", "", "", 0, "issued");
	expect_grant("{'user':'u','issued':1.5}", "", "", 0, "issued");
	expect_grant("{'issued':1795166296}", "", "", 0, "user");
	for (unsigned n = 1024; n < 1026; n++) {
		buf_clear(&b);
		buf_put_text(&b, "{'token':'");
		memset(buf_grow(&b, n), 'x', n);
		buf_put_text(&b, "'}");
		FREED(buf_free) struct buf handle = BUF_INIT;
		memset(buf_grow(&handle, n), 'x', n);
		expect_grant(buf_text(&b), buf_text(&handle), "", 0,
		    n == 1025 ? "token" : NULL);
	}
}

/* The credential of a run for what a user has granted. */
static void
expect_granted(const char *oauth, const char *expected)
{
	FREED(buf_free) struct buf text = BUF_INIT, got = BUF_INIT;
	const struct oauth_granted g = { .client = { STR("i"), STR("s") },
		.tokens = { .access = STR("a\"b"), .secret = STR("z") } };

	buf_printf(&text, OAUTH_DECLARED("%s"), oauth);
	struct external_connector *c = testing_load(buf_text(&text));
	task_credential_of_grant(c, &g, &got);
	assert_string_equal(buf_text(&got), expected);
	external_connector_free(&c);
}

static void
runs_get_the_access_token(void **state)
{
	(void)state;
	expect_granted(OAUTH_PLAIN, "{\"token\":\"a\\\"b\","
	    "\"key\":\"a\\\"b\"}");
	expect_granted(OAUTH_OLD, "{\"consumer_key\":\"i\","
	    "\"consumer_secret\":\"s\",\"access_token\":\"a\\\"b\","
	    "\"access_token_secret\":\"z\"}");
}

static void
pauses_before_the_next_refresh(void **state)
{
	(void)state;
	assert_int_equal(grants_pause_s(false, STR("")), GRANTS_LATER_S);
	assert_int_equal(grants_pause_s(false, STR("5")), GRANTS_LATER_S);
	assert_int_equal(grants_pause_s(false, STR("60")), 60);
	assert_int_equal(grants_pause_s(false, STR("301")),
	    GRANTS_OPERATOR_S);
	assert_int_equal(grants_pause_s(false, STR("99999999999999999999")),
	    GRANTS_LATER_S);
	assert_int_equal(grants_pause_s(false, STR("soon")), GRANTS_LATER_S);
	assert_int_equal(grants_pause_s(true, STR("")), GRANTS_OPERATOR_S);
	assert_int_equal(grants_pause_s(true, STR("1")), GRANTS_OPERATOR_S);
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
		cmocka_unit_test(credentials_name_grants),
		cmocka_unit_test(runs_get_the_access_token),
		cmocka_unit_test(pauses_before_the_next_refresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
