#include "doors/realtime/command.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct command c;

static void
read_as(const char *message, bool may_write)
{
	command_free(&c);
	command_read(str_of(message), may_write ? RIGHTS_ALL : 0, &c);
}

static void
fine(const char *message)
{
	read_as(message, true);
	if (c.code != CODE_OK)
		fail_msg("%s: %s: %s", message, code_text(c.code), c.text);
}

static void
refused(const char *message, enum code code, const char *text)
{
	read_as(message, true);
	if (c.code != code || strstr(c.text, text) == NULL)
		fail_msg("%s: %s: %s", message, code_text(c.code), c.text);
}

/* A command with these args. */
#define WITH(name, args) \
	"{\"command\":\"" name "\",\"command_id\":1,\"args\":" args "}"

static void
test_envelope(void **state)
{
	(void)state;
	fine("{\"command\":\"ping\",\"command_id\":0}");
	fine("{\"command\":\"ping\",\"command_id\":null,\"args\":null,"
	    "\"more\":[1]}");
	refused("", CODE_BAD_JSON, "JSON");
	refused("{not json", CODE_BAD_JSON, "JSON");
	refused("{\"command\":\"\\ud800\",\"command_id\":1}", CODE_BAD_JSON,
	    "JSON");
	refused("[1]", CODE_BAD_MESSAGE, "object");
	refused("7", CODE_BAD_MESSAGE, "object");
	refused("{\"command_id\":1}", CODE_BAD_MESSAGE, "\"command\"");
	refused("{\"command\":5,\"command_id\":1}", CODE_BAD_MESSAGE,
	    "\"command\"");
	refused("{\"command\":\"ping\",\"args\":{}}", CODE_BAD_MESSAGE,
	    "\"command_id\"");
	refused(WITH("nope", "{}"), CODE_UNKNOWN_COMMAND,
	    "Invalid command: nope");
	refused(WITH("ping", "[]"), CODE_BAD_ARGS, "args");
	refused(WITH("ping", "{\"bogus\":1}"), CODE_BAD_ARGS,
	    "ping takes no argument \"bogus\"");
}

/* What was sent as command_id comes back as it was. */
static void
test_echo(void **state)
{
	static const char *const ids[] = { "0", "-1", "1.50", "1e3",
	    "18446744073709551616", "0.1000000000000000055511151231257827",
	    "\"a\\\"b\\u0001\"", "null", "true", "{\"a\":[1.0,null]}", "[]",
	    "\"\"", "1e999" };
	char message[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		(void)snprintf(message, sizeof(message),
		    "{\"command\":\"ping\",\"command_id\":%s}", ids[i]);
		fine(message);
		assert_string_equal(buf_text(&c.id), ids[i]);
		(void)snprintf(message, sizeof(message),
		    "{\"command_id\":%s}", ids[i]);
		refused(message, CODE_BAD_MESSAGE, "");
		assert_string_equal(buf_text(&c.id), ids[i]);
	}
	refused("{x", CODE_BAD_JSON, "");
	assert_string_equal(buf_text(&c.id), "null");
}

/* A response holds what is echoed, beside its data. */
static void
test_echo_limit(void **state)
{
	char message[COMMAND_ECHO_BYTES_MAX + 100];

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		(void)snprintf(message, sizeof(message),
		    "{\"command\":\"ping\",\"command_id\":\"%0*d\"}",
		    (int)(COMMAND_ECHO_BYTES_MAX - 2 + more), 7);
		if (more == 0) {
			fine(message);
			assert_int_equal(c.id.n, COMMAND_ECHO_BYTES_MAX);
		} else {
			refused(message, CODE_LIMIT, "command_id: ");
			assert_string_equal(buf_text(&c.id), "null");
		}
	}
}

static void
test_depth(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned n = COMMAND_DEPTH_MAX - 1; n <= COMMAND_DEPTH_MAX;
	    n++) {
		buf_clear(&b);
		buf_put_text(&b, "{\"command\":\"ping\",\"command_id\":\"[[\","
		    "\"x\":");
		for (unsigned i = 0; i < n; i++)
			buf_put_char(&b, '[');
		for (unsigned i = 0; i < n; i++)
			buf_put_char(&b, ']');
		buf_put_char(&b, '}');
		if (n < COMMAND_DEPTH_MAX)
			fine(buf_text(&b));
		else
			refused(buf_text(&b), CODE_LIMIT, "deeper");
		assert_string_equal(buf_text(&c.id), "\"[[\"");
	}
	/* Brackets in texts are none. */
	fine("{\"command\":\"ping\",\"command_id\":1,\"x\":\"\\\"[[[[[[[[[[[[["
	    "[[[[[[[[[[[[[[[[[[[[[[[[[[\"}");
	buf_free(&b);
}

static void
test_numbers(void **state)
{
	static const char *const good[] = { "7", "\"7\"", "7.0", "\"7.0\"",
	    "7e0", "\" 7 \"", "\"7e0\"" };
	static const char *const bad[] = { "-1", "\"-1\"", "true", "1.5",
	    "\"1.5\"", "\"x\"", "\"0x7\"", "\"inf\"", "\"nan\"", "[]", "{}",
	    "1e999", "\"1e999\"", "9007199254740993000", "1e30" };
	char message[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		(void)snprintf(message, sizeof(message), WITH("why",
		    "{\"crawl_id\":%s}"), good[i]);
		fine(message);
		assert_int_equal(c.crawl_id, 7);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		(void)snprintf(message, sizeof(message), WITH("why",
		    "{\"crawl_id\":%s}"), bad[i]);
		refused(message, CODE_BAD_ARGS, "crawl_id: ");
	}
	fine(WITH("why", "{\"job_id\":3}"));
	assert_int_equal(c.crawl_id, 3);
	/* One of them is meant. */
	refused(WITH("why", "{\"job_id\":3,\"crawl_id\":4}"), CODE_BAD_ARGS,
	    "crawl_id: it is given twice");
	refused(WITH("why", "{\"crawl_id\":3,\"crawl_id\":3}"), CODE_BAD_ARGS,
	    "crawl_id: it is given twice");
	/* The second list was once written behind its end. */
	refused(WITH("start_crawl", "{\"seeds\":[\"a\",\"b\",\"c\"],"
	    "\"seeds\":[\"d\"]}"), CODE_BAD_ARGS, "seeds: it is given twice");
	refused(WITH("start_crawl", "{\"seeds\":[\"a\"],\"tags\":[\"b\",\"c\"],"
	    "\"tags\":[\"d\"]}"), CODE_BAD_ARGS, "tags: it is given twice");
	fine(WITH("why", "{\"job_id\":null,\"crawl_id\":4}"));
	assert_int_equal(c.crawl_id, 4);
	/* "" and null are absent. */
	refused(WITH("why", "{\"crawl_id\":\"\"}"), CODE_BAD_ARGS,
	    "crawl_id: it is missing");
	refused(WITH("why", "{\"crawl_id\":null}"), CODE_BAD_ARGS, "missing");
	fine(WITH("subscribe_crawl_stats", "{\"min_interval\":\"\","
	    "\"crawl_id\":null,\"closed_event\":null}"));
	assert_int_equal(c.given, 0);
	fine(WITH("subscribe_crawl_status", "{\"min_interval\":\"0.25\"}"));
	assert_int_equal(c.verb, VERB_SUBSCRIBE_STATS);
	assert_true(c.min_interval == 0.25);
	refused(WITH("subscribe_crawl_stats", "{\"closed_event\":1}"),
	    CODE_BAD_ARGS, "closed_event: true or false");
}

static void
test_seeds(void **state)
{
	(void)state;
	fine(WITH("start_crawl", "{\"seeds\":[\"http://a.org\",{\"url\":"
	    "\"http://b.org\",\"rate_limit\":\"0.5\"},{\"url\":\"http://c\","
	    "\"rate_limit\":\"\"},{\"url\":\"d\",\"rate_limit\":null}]}"));
	assert_int_equal(c.seeds_n, 4);
	assert_true(str_eq(c.seeds[1].url, STR("http://b.org")));
	assert_true(c.seeds[0].rate_limit < 0 && c.seeds[1].rate_limit == 0.5);
	assert_true(c.seeds[2].rate_limit < 0 && c.seeds[3].rate_limit < 0);
	refused(WITH("start_crawl", "{}"), CODE_BAD_ARGS, "seeds: it is");
	refused(WITH("start_crawl", "{\"seeds\":[]}"), CODE_BAD_ARGS,
	    "seeds: at least one");
	refused(WITH("start_crawl", "{\"seeds\":\"a\"}"), CODE_BAD_ARGS,
	    "seeds: a list");
	refused(WITH("start_crawl", "{\"seeds\":[\"a\",{\"rate_limit\":1}]}"),
	    CODE_BAD_ARGS, "seeds[1]: the url is missing");
	refused(WITH("start_crawl", "{\"seeds\":[{\"url\":\"\"}]}"),
	    CODE_BAD_ARGS, "seeds[0]");
	refused(WITH("start_crawl", "{\"seeds\":[{\"url\":\"a\",\"x\":1}]}"),
	    CODE_BAD_ARGS, "seeds[0]: there is no field \"x\"");
	refused(WITH("start_crawl", "{\"seeds\":[{\"url\":\"a\","
	    "\"rate_limit\":-1}]}"), CODE_BAD_ARGS, "seeds[0].rate_limit");
	refused(WITH("start_crawl", "{\"seeds\":[7]}"), CODE_BAD_ARGS,
	    "seeds[0]");
}

/* `seeds` and tags, as many as `n`. */
static void
many(const char *name, unsigned n, const char *before)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "{\"command\":\"start_crawl\",\"command_id\":1,"
	    "\"args\":{%s\"%s\":[", before, name);
	for (unsigned i = 0; i < n; i++)
		buf_printf(&b, "%s\"t%u\"", i == 0 ? "" : ",", i);
	buf_put_text(&b, "]}}");
	read_as(buf_text(&b), true);
	buf_free(&b);
}

static void
test_limits(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	many("seeds", SEED_LIST_MAX, "");
	assert_int_equal(c.code, CODE_OK);
	many("seeds", SEED_LIST_MAX + 1, "");
	assert_int_equal(c.code, CODE_LIMIT);
	many("tags", STORE_TAGS_MAX, "\"seeds\":[\"a\"],");
	assert_int_equal(c.code, CODE_OK);
	many("tags", STORE_TAGS_MAX + 1, "\"seeds\":[\"a\"],");
	assert_int_equal(c.code, CODE_LIMIT);
	for (unsigned n = STORE_NAME_BYTES_MAX; n <= STORE_NAME_BYTES_MAX + 1;
	    n++) {
		buf_clear(&b);
		buf_put_text(&b, "{\"command\":\"start_crawl\",\"command_id\":"
		    "1,\"args\":{\"seeds\":[\"a\"],\"name\":\"");
		for (unsigned i = 0; i < n; i++)
			buf_put_char(&b, 'n');
		buf_put_text(&b, "\"}}");
		read_as(buf_text(&b), true);
		assert_int_equal(c.code, n == STORE_NAME_BYTES_MAX ? CODE_OK :
		    CODE_LIMIT);
	}
	fine(WITH("list_crawls", "{\"size\":1000}"));
	refused(WITH("list_crawls", "{\"size\":1001}"), CODE_LIMIT, "1000");
	buf_free(&b);
}

/* One name, two meanings: how many, and which. */
static void
test_urls(void **state)
{
	(void)state;
	fine(WITH("get_frontier", "{\"crawl_id\":0,\"urls\":3}"));
	assert_int_equal(c.urls_max, 3);
	fine(WITH("job.retry", "{\"crawl_id\":0,\"urls\":[\"a\",\"b\"]}"));
	assert_int_equal(c.urls.n, 2);
	refused(WITH("job.retry", "{\"crawl_id\":0,\"urls\":[1]}"),
	    CODE_BAD_ARGS, "urls[0]: a text");
	refused(WITH("get_frontier", "{\"crawl_id\":0,\"urls\":[\"a\"]}"),
	    CODE_BAD_ARGS, "urls: a number");
}

static void
test_rights(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VERB_COUNT; i++) {
		char message[200];
		(void)snprintf(message, sizeof(message), "{\"command\":\"%s\","
		    "\"command_id\":1}", command_rows[i].name);
		read_as(message, false);
		assert_int_equal(c.code == CODE_FORBIDDEN,
		    command_rows[i].right != RIGHT_READ);
		assert_int_equal(c.verb, i);
		read_as(message, true);
		assert_int_equal(c.code, command_rows[i].must == 0 ? CODE_OK :
		    CODE_BAD_ARGS);
	}
}

/* No command takes a setting, least of all what the operator's hooks run. */
static void
test_hooks(void **state)
{
	static const char *const names[] = { "hook.warc_finished",
	    "hook.crawl_ended", "hook.timeout_s", "hook", "settings", "set",
	    "config" };

	(void)state;
	for (int verb = 0; verb < VERB_COUNT; verb++)
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			struct buf b = BUF_INIT;
			buf_printf(&b, WITH("%s", "{\"%s\":\"touch x\"}"),
			    command_rows[verb].name, names[i]);
			refused(buf_text(&b), CODE_BAD_ARGS,
			    "takes no argument");
			buf_free(&b);
		}
}

static void
test_help(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	command_help(&b);
	yyjson_doc *doc = yyjson_read(b.p, b.n, 0);
	yyjson_val *list = yyjson_doc_get_root(doc);
	assert_int_equal(yyjson_arr_size(list), VERB_COUNT);
	yyjson_val *first = yyjson_arr_get_first(list);
	assert_string_equal(yyjson_get_str(yyjson_obj_get(first, "command")),
	    "start_crawl");
	assert_string_equal(yyjson_get_str(yyjson_obj_get(first, "right")),
	    "write");
	yyjson_val *args = yyjson_obj_get(first, "args");
	assert_int_equal(yyjson_obj_size(args), 4);
	assert_true(yyjson_get_bool(yyjson_obj_get(yyjson_obj_get(args,
	    "seeds"), "required")));
	yyjson_doc_free(doc);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_envelope),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_echo_limit),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_help),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	command_free(&c);
	return failed;
}
