/* Built-in connectors: the driver of harvests takes their orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/connector/connector.h"
#include "engine/connector/order.h"
#include "engine/external/external_testing.h"

/* The order of a connector for parameters and a credential, as the door makes
 * it, is this one, and the harvest's connector opens it. */
static void
check_order(const char *name, const char *params, const char *credential,
    const char *expected)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf given = testing_quoted(params);
	FREED(buf_free) struct buf secret = testing_quoted(credential);
	FREED(buf_free) struct buf want = testing_quoted(expected);
	FREED(buf_free) struct buf normal = BUF_INIT, asked = BUF_INIT,
	    keys = BUF_INIT, plain = BUF_INIT, out = BUF_INIT;
	struct external_connector *c = testing_built_in(name);
	const struct external_params_faults none = { NULL, NULL, NULL };
	struct connector_order order;
	struct connector_run *run;
	const char *code;
	struct why w = WHY_INIT;

	yyjson_doc *doc = yyjson_read(given.p, given.n, 0);
	assert_int_equal(external_params_check(c, yyjson_doc_get_root(doc),
	    &none, &normal, &w), OK);
	yyjson_doc_free(doc);
	assert_int_equal(external_order_make(c, buf_str(&normal), &plain, &w),
	    OK);
	external_keys_put(c, buf_str(&normal), &asked);
	external_credential_join(buf_str(&asked), buf_str(&secret), &keys);
	buf_printf(&out, "%.*s", (int)plain.n - 1, plain.p);
	if (keys.n > 0)
		buf_printf(&out, ",\"credentials\":%s", buf_text(&keys));
	buf_put_char(&out, '}');
	assert_string_equal(buf_text(&out), buf_text(&want));
	const struct connector *runs = external_connector_runs(c);
	doc = yyjson_read(out.p, out.n, YYJSON_READ_NUMBER_AS_RAW);
	assert_non_null(doc);
	assert_int_equal(connector_order_read(runs, yyjson_doc_get_root(doc),
	    &a, &order, &code, &w), OK);
	assert_int_equal(runs->open(&order, &run, &w), OK);
	runs->close(&run);
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

static void
seeds_and_options_are_those_of_the_harvest(void **state)
{
	(void)state;
	check_order("feed_entries", "{'feeds':['https://a.example/f']}", "",
	    "{'type':'feed_entries','seeds':[{'token':'https://a.example/f'}],"
	    "'options':{'history':false}}");
	check_order("bluesky_author_feed", "{'accounts':['a.example',"
	    "'did:plc:ewvi7nxzyoun6zhxrhs64oiz'],'limit':'5'}", "",
	    "{'type':'bluesky_author_feed','seeds':[{'token':'a.example'},"
	    "{'uid':'did:plc:ewvi7nxzyoun6zhxrhs64oiz'}],'options':{'filter':"
	    "'posts_with_replies','limit':5}}");
	check_order("tumblr_blog_posts", "{'blogs':['staff']}",
	    "{'api_key':'k'}", "{'type':'tumblr_blog_posts','seeds':[{'uid':"
	    "'staff'}],'options':{},'credentials':{'api_key':'k'}}");
	check_order("youtube_channel", "{'channels':['@a','UCx']}",
	    "{'key':'k'}", "{'type':'youtube_channel','seeds':[{'token':'@a'},"
	    "{'uid':'UCx'}],'options':{},'credentials':{'key':'k'}}");
	check_order("youtube_comments", "{'videos':['dQw4w9WgXcQ']}",
	    "{'key':'k'}", "{'type':'youtube_comments','seeds':[{'token':"
	    "'dQw4w9WgXcQ'}],'options':{},'credentials':{'key':'k'}}");
	check_order("flickr_user", "{'users':['a']}",
	    "{'key':'k','secret':'s'}", "{'type':'flickr_user','seeds':[{"
	    "'token':'a'}],'options':{},'credentials':{'key':'k','secret':'s'"
	    "}}");
}

static void
a_key_that_is_no_secret_is_a_parameter(void **state)
{
	(void)state;
	check_order("mastodon_account", "{'instance':'https://m.example',"
	    "'accounts':['ada']}", "", "{'type':'mastodon_account','seeds':[{"
	    "'token':'ada'}],'options':{'exclude_replies':false,"
	    "'exclude_reblogs':false},'credentials':{'instance':"
	    "'https://m.example'}}");
	/* Beside one that was given. */
	check_order("mastodon_hashtag", "{'instance':'https://m.example',"
	    "'hashtags':['web'],'limit':2}", "{'access_token':'t'}",
	    "{'type':'mastodon_hashtag','seeds':[{'token':'web'}],'options':{"
	    "'limit':2},'credentials':{'instance':'https://m.example',"
	    "'access_token':'t'}}");
}

/* Each has a form, and only the crawl takes no orders. */
static void
all_of_them_load(void **state)
{
	struct external_connector *c;
	size_t n = 0, orders = 0;

	(void)state;
	for (; (c = external_connector_builtin(n)) != NULL; n++) {
		FREED(buf_free) struct buf form = BUF_INIT;
		external_form_write(c, &form);
		yyjson_doc *doc = yyjson_read(form.p, form.n, 0);
		assert_non_null(doc);
		yyjson_doc_free(doc);
		orders += external_connector_runs(c) != NULL;
		external_connector_free(&c);
	}
	assert_int_equal(n, 9);
	assert_int_equal(orders, 8);
}

/* A file cannot be one of them. */
static void
a_file_names_no_harvest(void **state)
{
	(void)state;
	testing_refused("{'name':'a','version':1,'title':'T','schema':{},"
	    "'docIdField':'id','harvest':{'type':'feed_entries'}}",
	    "it has a member that is not known: harvest");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_and_options_are_those_of_the_harvest),
		cmocka_unit_test(a_key_that_is_no_secret_is_a_parameter),
		cmocka_unit_test(all_of_them_load),
		cmocka_unit_test(a_file_names_no_harvest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
