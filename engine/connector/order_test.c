/* Orders that are accepted, and the error and field of those that are not. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define ACCOUNT "mastodon_account"
#define HASHTAG "mastodon_hashtag"
#define INSTANCE "\"credentials\":{\"instance\":\"https://a.example\"}"

struct read {
	struct arena arena;
	yyjson_doc *doc;
	struct connector_order order;
};

static void
read_fine(struct read *r, const char *type, const char *message)
{
	struct why w = WHY_INIT;
	const char *code;

	*r = (struct read){ .arena = ARENA_INIT };
	r->doc = yyjson_read(message, strlen(message),
	    YYJSON_READ_NUMBER_AS_RAW);
	assert_non_null(r->doc);
	enum err e = connector_order_read(connector_find(str_of(type)),
	    yyjson_doc_get_root(r->doc), &r->arena, &r->order, &code, &w);
	if (e != OK)
		fail_msg("%s", w.text);
	assert_null(code);
}

static void
free_read(struct read *r)
{
	yyjson_doc_free(r->doc);
	arena_free(&r->arena);
}

static void
expect_text(struct str got, const char *want)
{
	assert_true(str_eq(got, str_of(want)));
}

static void
seeds_are_texts_numbers_and_objects(void **state)
{
	struct read r;

	(void)state;
	read_fine(&r, ACCOUNT, "{\"seeds\":["
	    "{\"id\":\"s1\",\"token\":\"ada\",\"uid\":null},"
	    "{\"id\":45,\"token\":12345678901234567890123,\"uid\":\"\"},"
	    "{\"uid\":9007199254740993,\"more\":1}]," INSTANCE "}");
	assert_int_equal(r.order.seeds_n, 3);
	expect_text(r.order.seeds[0].id, "s1");
	expect_text(r.order.seeds[0].token, "ada");
	assert_int_equal(r.order.seeds[0].uid.n, 0);
	expect_text(r.order.seeds[1].id, "45");
	expect_text(r.order.seeds[1].token, "12345678901234567890123");
	assert_int_equal(r.order.seeds[2].id.n, 0);
	expect_text(r.order.seeds[2].uid, "9007199254740993");
	free_read(&r);

	read_fine(&r, HASHTAG, "{\"seeds\":[{\"token\":{\"tag\":\"cats\","
	    "\"any\":[\"dogs\",\"owls\"],\"local\":true,\"all\":null}},"
	    "{\"uid\":\"7\",\"token\":\"owls\"}]," INSTANCE "}");
	yyjson_val *fields = r.order.seeds[0].fields;
	expect_text(connector_param_text(fields, "tag"), "cats");
	assert_int_equal(yyjson_arr_size(connector_param_texts(fields, "any")),
	    2);
	assert_null(connector_param_texts(fields, "all"));
	assert_true(connector_param_bool(fields, "local"));
	assert_false(connector_param_bool(fields, "only_media"));
	/* A hashtag has no uid. */
	assert_int_equal(r.order.seeds[1].uid.n, 0);
	expect_text(r.order.seeds[1].token, "owls");
	free_read(&r);
}

static void
options_are_read_leniently(void **state)
{
	struct read r;

	(void)state;
	read_fine(&r, ACCOUNT, "{\"seeds\":[{\"token\":\"a\"}],\"options\":"
	    "{\"incremental\":\"true\",\"limit\":\"12\",\"tweets\":[1],"
	    "\"exclude_replies\":false,\"exclude_reblogs\":null}," INSTANCE
	    "}");
	assert_true(connector_param_bool(r.order.options, "incremental"));
	assert_int_equal(connector_param_int(r.order.options, "limit", 0), 12);
	assert_false(connector_param_bool(r.order.options, "exclude_replies"));
	assert_false(connector_param_bool(r.order.options, "exclude_reblogs"));
	free_read(&r);

	read_fine(&r, ACCOUNT, "{\"seeds\":[{\"token\":\"a\"}]," INSTANCE "}");
	assert_false(connector_param_bool(r.order.options, "incremental"));
	assert_int_equal(connector_param_int(r.order.options, "limit", 7), 7);
	free_read(&r);
}

static void
the_collection_set_is_named(void **state)
{
	struct read r;

	(void)state;
	read_fine(&r, ACCOUNT, "{\"seeds\":[{\"token\":\"a\"}],"
	    "\"collection_set\":{\"id\":\"c 1\"}," INSTANCE "}");
	expect_text(r.order.collection_set, "c 1");
	free_read(&r);
	read_fine(&r, ACCOUNT, "{\"seeds\":[{\"token\":\"a\"}]," INSTANCE
	    "}");
	assert_int_equal(r.order.collection_set.n, 0);
	free_read(&r);
	testing_refuse(ACCOUNT, "{\"collection_set\":{\"id\":[]}}",
	    "bad_request", "collection_set.id: it is not a text");
}

static void
secrets_stay_behind(void **state)
{
	struct read r;

	(void)state;
	read_fine(&r, ACCOUNT, "{\"seeds\":[{\"token\":\"a\"}],\"credentials\":"
	    "{\"instance\":\"https://a.example\",\"access_token\":\"Sesame\","
	    "\"other\":\"x\"}}");
	assert_int_equal(r.order.credentials_n, 2);
	expect_text(connector_key_text(&r.order, "instance"),
	    "https://a.example");
	assert_true(connector_has_key(&r.order, "access_token"));
	assert_null(connector_key_text(&r.order, "access_token").p);
	assert_false(connector_has_key(&r.order, "other"));
	free_read(&r);

	read_fine(&r, ACCOUNT, "{\"seeds\":[{\"token\":\"a\"}],\"credentials\":"
	    "{\"instance\":\"https://a.example\",\"access_token\":\"\"}}");
	assert_false(connector_has_key(&r.order, "access_token"));
	free_read(&r);
}

static void
state_is_found_by_key(void **state)
{
	static const struct connector_state rows[] = {
		{ { "a", 1 }, { "1", 1 } }, { { "b", 1 }, { "2", 1 } },
		{ { "bb", 2 }, { "3", 1 } },
	};
	const struct connector_order o = { .state = rows, .state_n = 3 };

	(void)state;
	expect_text(connector_state_find(&o, STR("a")), "1");
	expect_text(connector_state_find(&o, STR("bb")), "3");
	assert_null(connector_state_find(&o, STR("c")).p);
	assert_null(connector_state_find(&(struct connector_order){
		.seeds = NULL }, STR("a")).p);
}

/* ---- Refusals ---------------------------------------------------------- */

#define REFUSED(type, message, text)                                         \
	testing_refuse(type, "{" message "," INSTANCE "}", "bad_request", text)

static void
wrong_seeds_are_named(void **state)
{
	char long_token[CONNECTOR_SEED_BYTES_MAX + 100];

	(void)state;
	REFUSED(ACCOUNT, "\"x\":1", "seeds: mastodon_account takes at least 1, "
	    "and there are 0");
	REFUSED(ACCOUNT, "\"seeds\":[]", "seeds: mastodon_account takes at "
	    "least 1, and there are 0");
	REFUSED(ACCOUNT, "\"seeds\":{\"a\":1}", "seeds: it is not a list");
	REFUSED(ACCOUNT, "\"seeds\":\"ada\"", "seeds: it is not a list");
	REFUSED(ACCOUNT, "\"seeds\":[\"ada\"]",
	    "seeds[0]: it is not an object");
	REFUSED(ACCOUNT, "\"seeds\":[{\"token\":\"a\"},{\"id\":\"x\"}]",
	    "seeds[1]: it has no token and no uid");
	REFUSED(HASHTAG, "\"seeds\":[{\"uid\":\"7\"}]",
	    "seeds[0]: it has no token");
	REFUSED(ACCOUNT, "\"seeds\":[{\"token\":[\"a\"]}]",
	    "seeds[0].token: it is not a text");
	REFUSED(ACCOUNT, "\"seeds\":[{\"token\":{\"tag\":\"a\"}}]",
	    "seeds[0].token: it is not a text");
	REFUSED(ACCOUNT, "\"seeds\":[{\"token\":\"a\",\"uid\":true}]",
	    "seeds[0].uid: it is not a text");
	REFUSED(ACCOUNT, "\"seeds\":[{\"token\":\"a\",\"id\":{}}]",
	    "seeds[0].id: it is not a text");
	REFUSED(ACCOUNT, "\"seeds\":[{\"token\":\"a\\nb\"}]",
	    "seeds[0].token: it has control characters");
	snprintf(long_token, sizeof(long_token), "{\"seeds\":[{\"token\":\""
	    "%0*d\"}]," INSTANCE "}", CONNECTOR_SEED_BYTES_MAX + 1, 0);
	testing_refuse(ACCOUNT, long_token, "bad_request",
	    "seeds[0].token: it is longer than 4096 bytes");
}

static void
wrong_fields_of_a_token_are_named(void **state)
{
	(void)state;
	REFUSED(HASHTAG, "\"seeds\":[{\"token\":{}}]",
	    "seeds[0].token.tag: it is missing");
	REFUSED(HASHTAG, "\"seeds\":[{\"token\":{\"tag\":\"a\",\"anny\":[]}}]",
	    "seeds[0].token: it has a field that mastodon_hashtag does not "
	    "know: anny");
	REFUSED(HASHTAG, "\"seeds\":[{\"token\":{\"tag\":\"a\",\"any\":\"b\"}}"
	    "]", "seeds[0].token.any: it is not a list of texts");
	REFUSED(HASHTAG, "\"seeds\":[{\"token\":{\"tag\":\"a\",\"any\":[\"b\","
	    "1]}}]", "seeds[0].token.any: it is not a list of texts");
	REFUSED(HASHTAG, "\"seeds\":[{\"token\":{\"tag\":\"a\",\"any\":[\"\"]}"
	    "}]", "seeds[0].token.any: it is not a list of texts");
	REFUSED(HASHTAG, "\"seeds\":[{\"token\":{\"tag\":\"a\",\"local\":1}}]",
	    "seeds[0].token.local: it is not true or false");
}

static void
wrong_options_are_named(void **state)
{
	(void)state;
#define SEED "\"seeds\":[{\"token\":\"a\"}]"
	REFUSED(ACCOUNT, SEED ",\"options\":[]", "options: it is not an "
	    "object");
	REFUSED(ACCOUNT, SEED ",\"options\":{\"incremental\":1}",
	    "options.incremental: it is not true or false");
	REFUSED(ACCOUNT, SEED ",\"options\":{\"limit\":0}", "options.limit: it "
	    "is not a whole number from 1 to 9223372036854775807");
	REFUSED(ACCOUNT, SEED ",\"options\":{\"limit\":1.5}", "options.limit: "
	    "it is not a whole number from 1 to 9223372036854775807");
	REFUSED(ACCOUNT, SEED ",\"options\":{\"limit\":\"many\"}",
	    "options.limit: it is not a whole number from 1 to "
	    "9223372036854775807");
}

static void
missing_credentials_are_named(void **state)
{
	(void)state;
	testing_refuse(ACCOUNT, "{" SEED "}", "credentials_missing",
	    "credentials.instance: it is missing");
	testing_refuse(ACCOUNT, "{" SEED ",\"credentials\":{\"instance\":\"\","
	    "\"access_token\":\"x\"}}", "credentials_missing",
	    "credentials.instance: it is missing");
	testing_refuse(ACCOUNT, "{" SEED ",\"credentials\":\"x\"}",
	    "bad_request", "credentials: it is not an object");
	testing_refuse(ACCOUNT, "{" SEED ",\"credentials\":{\"instance\":"
	    "[\"secret\"]}}", "bad_request",
	    "credentials.instance: it is not a text");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_are_texts_numbers_and_objects),
		cmocka_unit_test(options_are_read_leniently),
		cmocka_unit_test(the_collection_set_is_named),
		cmocka_unit_test(secrets_stay_behind),
		cmocka_unit_test(state_is_found_by_key),
		cmocka_unit_test(wrong_seeds_are_named),
		cmocka_unit_test(wrong_fields_of_a_token_are_named),
		cmocka_unit_test(wrong_options_are_named),
		cmocka_unit_test(missing_credentials_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
