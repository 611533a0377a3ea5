/* Queues and statuses of exports. */
#include "doors/harvest/export_status.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "doors/harvest/api.h"
#include "doors/harvest/queue_table.h"

static struct arena arena;

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static void
check_text(struct str s, const char *want)
{
	assert_string_equal(arena_copy(&arena, s).p, want);
}

static const char *
exporter_of(const char *type)
{
	const struct queue_row *row = queue_table_find_exporter(str_of(type));

	return row == NULL ? "" : row->name;
}

static void
queues(void **state)
{
	size_t n;

	(void)state;
	assert_string_equal(exporter_of("twitter_search"),
	    "twitter_rest_exporter");
	assert_string_equal(exporter_of("twitter_search_2"),
	    "twitter_rest_exporter2");
	assert_string_equal(exporter_of("twitter_filter_stream"),
	    "twitter_stream_exporter2");
	assert_string_equal(exporter_of("mastodon_stream"),
	    "mastodon_exporter");
	assert_string_equal(exporter_of("json_api"), "json_exporter");
	assert_string_equal(exporter_of("web"), "");
	assert_string_equal(exporter_of("jsonapi"), "");
	const struct str *keys = queue_table_keys(queue_table_find_exporter(
	    STR("weibo_search")), &arena, &n);
	assert_int_equal(n, 2);
	check_text(keys[0], "export.start.weibo.weibo_search");
	check_text(keys[1], "export.start.weibo.weibo_timeline");
	/* Those of harvests are no exporters, and the other way round. */
	assert_null(queue_table_find(STR("flickr_user"))->export_keys);
}

static void
keys(void **state)
{
	(void)state;
	check_text(queue_table_export_key(STR("export.start.x.start"),
	    STR("flickr_user"), &arena), "export.status.x.start");
	/* It was sent to the queue itself. */
	check_text(queue_table_export_key(STR("flickr_exporter"),
	    STR("flickr_user"), &arena), "export.status.flickr.flickr_user");
	check_text(queue_table_export_key(STR("q"), STR("feed_entries"),
	    &arena), "export.status.feed.feed_entries");
	check_text(queue_table_export_key(STR("q"), STR("a.b#*"), &arena),
	    "export.status.a_b__");
	check_text(queue_table_export_key(STR("q"), STR(""), &arena),
	    "export.status.unknown");
}

static void
statuses(void **state)
{
	struct buf b = BUF_INIT;
	struct store_export row = { .id = STR("a"), .type = STR("flickr_user"),
	    .state = STORE_HARVEST_RUNNING,
	    .accepted = { INT64_C(1795166296123456) } };
	struct export_status s = { .row = &row, .host = STR("h"),
	    .process = 39 };

	(void)state;
	/* sfm-ui ends without date_started. */
	export_status_put(&s, &b);
	assert_string_equal(buf_text(&b), "{\"id\":\"a\",\"status\":"
	    "\"running\",\"infos\":[],\"warnings\":[],\"errors\":[],"
	    "\"date_started\":\"2026-11-20T09:18:16.123456+00:00\","
	    "\"service\":\"Argiope Flickr Exporter\",\"host\":\"h\","
	    "\"instance\":\"39\"}");
	buf_clear(&b);
	row.state = STORE_HARVEST_FAILED;
	row.ended = row.accepted;
	row.type = STR("none");
	row.result = STR("{\"infos\":[],\"warnings\":[{\"code\":\"c\"}],"
	    "\"errors\":[{\"code\":\"d\"}],\"rows\":3}");
	export_status_put(&s, &b);
	assert_string_equal(buf_text(&b), "{\"id\":\"a\",\"status\":"
	    "\"completed failure\",\"infos\":[],\"warnings\":"
	    "[{\"code\":\"c\"}],\"errors\":[{\"code\":\"d\"}],"
	    "\"date_started\":\"2026-11-20T09:18:16.123456+00:00\","
	    "\"date_ended\":\"2026-11-20T09:18:16.123456+00:00\","
	    "\"service\":\"Argiope Exporter\",\"host\":\"h\","
	    "\"instance\":\"39\"}");
	buf_clear(&b);
	s.code = "msg_persist_error";
	s.text = STR("x");
	export_status_put(&s, &b);
	assert_non_null(strstr(buf_text(&b), "\"errors\":[{\"code\":"
	    "\"msg_persist_error\",\"message\":\"x\"}],\"date_started\""));
	buf_free(&b);
}

static void
addresses(void **state)
{
	static const struct {
		const char *net, *peer;
		bool within;
	} rows[] = {
		{ "127.0.0.0/8", "127.255.0.1:80", true },
		{ "127.0.0.0/8", "128.0.0.1:80", false },
		{ "10.1.2.3", "10.1.2.3:1", true },
		{ "10.1.2.3", "10.1.2.4:1", false },
		{ "10.1.2.2/31", "10.1.2.3:1", true },
		{ "0.0.0.0/0", "8.8.8.8:1", true },
		{ "0.0.0.0/0", "[::1]:1", false },
		{ "0::1", "[::1]:1", true },
		{ "2001:db8::/32", "[2001:db8:1::2]:1", true },
		{ "2001:db8::/32", "[2001:db9::2]:1", false },
	};
	static const char *const wrong[] = { "", "x", "10.0.0.0/33",
		"::/129", "10.0.0.0/", "10.0.0.0/x", "10.0.0" };
	struct api_net n;
	struct ip ip;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(api_net_read(str_of(rows[i].net), &n));
		assert_true(api_peer_read(str_of(rows[i].peer), &ip));
		assert_int_equal(api_net_has(&n, &ip), rows[i].within);
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(api_net_read(str_of(wrong[i]), &n));
	assert_false(api_peer_read(STR(""), &ip));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(queues, teardown),
		cmocka_unit_test_teardown(keys, teardown),
		cmocka_unit_test_teardown(statuses, teardown),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
