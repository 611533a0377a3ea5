/*
 * Commands that ask and steer, over a real engine: what they answer, and with
 * which code they fail.
 */
#include "doors/realtime/realtime_testing.h"

static struct peer *peer;
static uint32_t crawl;           /* it has ended, with 6 items */

static int
set_up(void **state)
{
	(void)state;
	rig_door_open();
	crawl = rig_crawl("/5", "tagged");
	peer = peer_new();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	peer_free(&peer);
	rig_door_close();
	return 0;
}

/* Each of the last four answers stays as it is. */
static const char *
url(const char *path)
{
	static char texts[4][100];
	static unsigned n;
	char *text = texts[n++ % 4];

	snprintf(text, sizeof(texts[0]), "%.*s", STR_FMT(rig_url(&rig, path)));
	return text;
}

static bool
is_true(yyjson_val *v, const char *pointer)
{
	return yyjson_is_true(at(v, pointer));
}

/* --- one crawl, one URL -------------------------------------------------- */

/* Every command that requires a crawl says the same when there is none. */
static void
unknown_crawl(void **state)
{
	static const char *const commands[][2] = {
		{ "job.pause", "" }, { "job.resume", "" },
		{ "job.cancel", "" }, { "job.delete", "" },
		{ "job.rerun", "" }, { "job.exclude", ",'pattern':'x'" },
		{ "job.retry", ",'reason':'dns'" }, { "get_crawl", "" },
		{ "get_history", "" }, { "get_frontier", "" }, { "why", "" },
		{ "list_pages", "" }, { "get_page", ",'number':1" },
		{ "list_problems", "" }, { "find_url", ",'url':'x'" },
		{ "subscribe_frontier", "" },
	};
	static const char *const ids[] = { "1", "4294967295", "4294967296",
	    "9007199254740992" };
	char args[100], text[100];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const char *id = ids[i % ARRAY_LEN(ids)];
		snprintf(args, sizeof(args), "'job_id':%s%s", id,
		    commands[i][1]);
		snprintf(text, sizeof(text), "Crawl ID=%s matched 0 crawls! "
		    "(expected 1)", id);
		peer_fails(peer, commands[i][0], args, "unknown_crawl", text);
		peer_fails(peer, commands[i][0], commands[i][1] +
		    (commands[i][1][0] == ','), "bad_args",
		    "crawl_id: it is missing");
	}
}

static void
found_urls(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "find_url", "'crawl_id':%u,'url':'%s'",
	    crawl, url("/5/3"));

	assert_true(is_true(d, "/known"));
	assert_string_equal(at_text(d, "/state"), "done");
	assert_string_equal(at_text(d, "/outcome"), "item");
	assert_int_equal(at_number(d, "/depth"), 1);
	assert_in_range(at_number(d, "/number"), 1, 6);
	assert_null(yyjson_ptr_get(d, "/verdict"));
	d = peer_data(peer, "find_url", "'crawl_id':%u,'url':'%s'", crawl,
	    url("/never"));
	assert_false(is_true(d, "/known"));
	assert_true(is_true(d, "/verdict/take"));
	assert_true(yyjson_is_null(at(d, "/verdict/reason")));
	peer_fails(peer, "find_url", "'crawl_id':0,'url':'no url'", "bad_args",
	    "url: ");
}

static void
problems(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "list_problems", "'crawl_id':%u",
	    crawl);
	assert_int_equal(yyjson_arr_size(at(d, "/groups")), 0);
	uint32_t gone = rig_crawl("/gone", "bad");
	d = peer_data(peer, "list_problems", "'crawl_id':%u", gone);
	assert_string_equal(at_text(d, "/groups/0/kind"), "status");
	assert_string_equal(at_text(d, "/groups/0/reason"), "404");
	assert_string_equal(at_text(d, "/groups/0/urls/0"), url("/gone"));
	uint32_t broken = rig_crawl("/broken", "bad");
	d = peer_data(peer, "list_problems", "'crawl_id':%u", broken);
	assert_string_equal(at_text(d, "/groups/0/kind"), "exception");
	assert_int_equal(at_number(d, "/groups/0/count"), 1);
	assert_true(at_text(d, "/groups/0/causes/0")[0] != '\0');
}

static void
explained(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "explain", "'url':'http://a.test/x',"
	    "'policy':{'url_rules':[{'pattern':'x','action':'add',"
	    "'amount':2},{'action':'add','amount':1}]}");

	assert_string_equal(at_text(d, "/url"), "http://a.test/x");
	assert_true(is_true(d, "/take"));
	assert_string_equal(at_text(d, "/rules/0/match"), "yes");
	assert_true(yyjson_is_null(at(d, "/rules/1/pattern")));
	assert_true(at_number(d, "/cost") > 0);
	/* By the policy `default`, which has to be read from the store. */
	d = peer_data(peer, "explain", "'url':'%s'", url("/5"));
	assert_true(is_true(d, "/take"));
	assert_true(is_true(d, "/robots/allow"));
	peer_fails(peer, "explain", "'url':'http://a.test/','policy':'none'",
	    "unknown_policy", "no policy \"none\"");
	peer_fails(peer, "explain", "'url':'http://a.test/','policy':7",
	    "bad_args", "policy: a name or an object is expected");
	peer_fails(peer, "explain",
	    "'url':'http://a.test/','policy':{'what':1}", "bad_policy",
	    "what");
	peer_fails(peer, "explain", "'url':'','policy':{}", "bad_args",
	    "url: it is missing");
}

static void
queue(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "get_frontier", "'crawl_id':%u", crawl);
	assert_int_equal(at_number(d, "/crawl_id"), crawl);
	assert_int_equal(at_number(d, "/queued"), 0);
	assert_int_equal(yyjson_arr_size(at(d, "/urls")), 0);
	const char *why = at_text(d, "/why");
	d = peer_data(peer, "why", "'crawl_id':%u", crawl);
	assert_string_equal(at_text(d, "/why"), why);
	assert_int_equal(at_number(d, "/facts/hosts"), 0);
	/* Nothing but the reason. */
	assert_null(yyjson_ptr_get(d, "/urls"));
	peer_fails(peer, "get_frontier", "'crawl_id':0,'hosts':1001", "limit",
	    "At most 1000 are told");
	/* A minute between requests: one page at most before the pause. */
	uint64_t id = at_number(peer_data(peer, "start_crawl",
	    "'policy':{'rate_limit':60},'seeds':['%s','%s','%s']",
	    url("/slow/1"), url("/slow/2"), url("/slow/3")), "/crawl_id");
	peer_data(peer, "job.pause", "'crawl_id':%u", (unsigned)id);
	d = peer_data(peer, "get_frontier", "'crawl_id':%u,'urls':1",
	    (unsigned)id);
	/* One that is under way is still queued. */
	assert_in_range(at_number(d, "/queued"), 2, 3);
	assert_in_range(at_number(d, "/in_flight"), 0, 1);
	assert_int_equal(yyjson_arr_size(at(d, "/urls")), 1);
	assert_int_equal(yyjson_arr_size(at(d, "/hosts")), 1);
}

/* --- pages --------------------------------------------------------------- */

static void
pages(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "list_pages", "'crawl_id':%u", crawl);
	char first[100], args[200];

	assert_int_equal(at_number(d, "/total"), 6);
	assert_int_equal(yyjson_arr_size(at(d, "/pages")), 6);
	assert_int_equal(at_number(d, "/pages/0/number"), 1);
	snprintf(first, sizeof(first), "%s", at_text(d, "/pages/0/url"));
	assert_string_equal(first, url("/5"));
	d = peer_data(peer, "list_pages", "'crawl_id':%u,'order':'newest',"
	    "'start':2,'size':3", crawl);
	assert_int_equal(yyjson_arr_size(at(d, "/pages")), 3);
	assert_int_equal(at_number(d, "/pages/0/number"), 4);
	d = peer_data(peer, "list_pages", "'crawl_id':%u,'text':'/5/2'", crawl);
	assert_int_equal(at_number(d, "/total"), 1);
	assert_string_equal(at_text(d, "/pages/0/title"), "/5/2");
	uint64_t number = at_number(d, "/pages/0/number");
	d = peer_data(peer, "get_page", "'crawl_id':%u,'number':%u", crawl,
	    (unsigned)number);
	assert_string_equal(at_text(d, "/via"), first);
	assert_int_equal(yyjson_arr_size(at(d, "/hops")), 1);
	assert_int_equal(at_number(d, "/hops/0/offset") > 0, 1);
	assert_true(at_text(d, "/body")[0] != '\0');
	snprintf(args, sizeof(args), "'crawl_id':%u,'digest':'%s'", crawl,
	    at_text(d, "/digest"));
	d = peer_data(peer, "list_pages", "%s", args);
	assert_int_equal(at_number(d, "/pages/0/number"), number);
	d = peer_data(peer, "get_page", "'crawl_id':%u,'number':1,"
	    "'body':false,'duplicates':false", crawl);
	assert_int_equal(at_number(d, "/links_total"), 5);
	assert_null(yyjson_ptr_get(d, "/body"));
	assert_null(yyjson_ptr_get(d, "/duplicates"));
	d = peer_data(peer, "list_pages", "'crawl_id':%u,'links_to':'%s'",
	    crawl, url("/5/4"));
	assert_int_equal(at_number(d, "/total"), 1);
	peer_fails(peer, "get_page", "'crawl_id':0,'number':7", "bad_args",
	    "number: the crawl has no page 7.");
	peer_fails(peer, "get_page", "'crawl_id':0,'number':0", "bad_args",
	    "number: the crawl has no page 0.");
	peer_fails(peer, "list_pages", "'crawl_id':0,'order':'best'",
	    "bad_args", "order: oldest, newest, slowest or largest");
	peer_fails(peer, "list_pages", "'crawl_id':0,'digest':'x'",
	    "bad_args", "digest: it is none");
	peer_fails(peer, "list_pages", "'crawl_id':0,'size':1001", "limit",
	    "At most 1000 are told");
}

static void
crawls(void **state)
{
	(void)state;
	uint32_t other = rig_crawl("/1", "other");
	yyjson_val *d = peer_data(peer, "list_crawls", "%s", "");

	assert_int_equal(at_number(d, "/total"), 2);
	assert_int_equal(at_number(d, "/crawls/0/crawl_id"), other);
	d = peer_data(peer, "list_crawls", "'tag':'tagged'");
	assert_int_equal(at_number(d, "/total"), 1);
	assert_int_equal(at_number(d, "/crawls/0/items"), 6);
	d = peer_data(peer, "list_crawls", "'status':'running'");
	assert_int_equal(at_number(d, "/total"), 0);
	d = peer_data(peer, "list_crawls", "'start':1,'size':1");
	assert_int_equal(at_number(d, "/total"), 2);
	assert_int_equal(at_number(d, "/crawls/0/crawl_id"), crawl);
	peer_fails(peer, "list_crawls", "'status':'dead'", "bad_args",
	    "status: pending, running, paused, complete or cancelled");
	peer_fails(peer, "list_crawls", "'kind':'dead'", "bad_args",
	    "kind: \"crawl\" or \"frontier\" is expected");
	d = peer_data(peer, "get_crawl", "'crawl_id':%u", crawl);
	assert_string_equal(at_text(d, "/seeds/0"), url("/5"));
	assert_int_equal(at_number(d, "/seeds_total"), 1);
	assert_true(yyjson_is_obj(at(d, "/policy_json")));
	d = peer_data(peer, "get_crawl", "'crawl_id':%u,'start':1", crawl);
	assert_int_equal(yyjson_arr_size(at(d, "/seeds")), 0);
	d = peer_data(peer, "get_history", "'crawl_id':%u", crawl);
	assert_int_equal(yyjson_arr_size(at(d, "/fields")), 9);
	assert_int_equal(yyjson_arr_size(at(d, "/points/0")), 9);
}

/* --- steering ------------------------------------------------------------ */

static void
steering(void **state)
{
	(void)state;
	uint64_t id = at_number(peer_data(peer, "job.start",
	    "'seeds':[{'url':'%s','rate_limit':5},{'url':'%s'}],"
	    "'name':'steered'", url("/slow/1"), url("/slow/2")), "/job_id");
	static const char *const steps[][2] = { { "job.pause", "paused" },
	    { "job.pause", "paused" }, { "job.resume", "running" },
	    { "job.cancel", "cancelled" }, { "job.cancel", "cancelled" } };
	char args[40];

	snprintf(args, sizeof(args), "'crawl_id':%u", (unsigned)id);
	peer_fails(peer, "job.rerun", args, "bad_state", "");
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		yyjson_val *d = peer_data(peer, steps[i][0], "%s", args);
		assert_int_equal(at_number(d, "/crawl_id"), id);
		assert_int_equal(at_number(d, "/job_id"), id);
		assert_string_equal(at_text(d, "/status"), steps[i][1]);
	}
	peer_fails(peer, "job.resume", args, "bad_state", "");
	yyjson_val *d = peer_data(peer, "job.rerun", "'crawl_id':%u", crawl);
	assert_int_equal(at_number(d, "/crawl_id"), id + 1);
	assert_int_equal(at_number(d, "/seeds"), 1);
	assert_null(yyjson_ptr_get(d, "/left"));
	assert_int_equal(at_number(peer_data(peer, "job.delete", "%s", args),
	    "/crawl_id"), id);
	peer_fails(peer, "get_crawl", args, "unknown_crawl", "matched 0");
}

static void
changes(void **state)
{
	char args[100];

	(void)state;
	uint64_t id = at_number(peer_data(peer, "start_crawl",
	    "'seeds':['%s']", url("/slow/1")), "/crawl_id");
	yyjson_val *d = peer_data(peer, "job.exclude", "'crawl_id':%u,"
	    "'pattern':'slow','preview':true", (unsigned)id);
	assert_int_equal(at_number(d, "/crawl_id"), id);
	assert_int_equal(yyjson_arr_size(at(d, "/sample")),
	    at_number(d, "/removed"));
	snprintf(args, sizeof(args), "'crawl_id':%u,'pattern':'('",
	    (unsigned)id);
	peer_fails(peer, "job.exclude", args, "bad_args", "pattern: ");
	snprintf(args, sizeof(args), "'crawl_id':%u", (unsigned)id);
	peer_fails(peer, "job.retry", args, "bad_args",
	    "either a reason or urls are expected");
	d = peer_data(peer, "job.retry", "%s,'reason':'dns'", args);
	assert_int_equal(at_number(d, "/requeued"), 0);
	peer_fails(peer, "start_crawl", "'seeds':[]", "bad_args",
	    "seeds: at least one");
	peer_fails(peer, "start_crawl", "'seeds':['http://a.test/'],"
	    "'policy':'none'", "unknown_policy", "no policy \"none\"");
	peer_fails(peer, "start_crawl", "'seeds':['http://a.test/'],"
	    "'policy':{'what':1}", "bad_policy", "what");
}

/* --- the store ----------------------------------------------------------- */

static void
policies(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "policy.put",
	    "'name':'slow','policy':{'rate_limit':9}");

	assert_string_equal(at_text(d, "/name"), "slow");
	assert_int_equal(at_number(d, "/policy/rate_limit"), 9);
	assert_true(at_text(d, "/in_force")[0] != '\0');
	d = peer_data(peer, "policy.get", "'name':'slow'");
	assert_int_equal(at_number(d, "/policy/rate_limit"), 9);
	d = peer_data(peer, "policy.list", "%s", "");
	assert_int_equal(yyjson_arr_size(at(d, "/policies")), 2);
	peer_fails(peer, "policy.put", "'name':'slow','policy':'fast'",
	    "bad_args", "policy: an object is expected");
	peer_fails(peer, "policy.put", "'name':'slow','policy':{'what':1}",
	    "bad_policy", "what");
	d = peer_data(peer, "policy.delete", "'name':'slow'");
	assert_string_equal(at_text(d, "/name"), "slow");
	peer_fails(peer, "policy.get", "'name':'slow'", "unknown_policy",
	    "no policy \"slow\"");
	peer_fails(peer, "policy.delete", "'name':'slow'", "unknown_policy",
	    "no policy \"slow\"");
}

static void
schedules(void **state)
{
#define DAILY "'name':'s','seeds':[{'url':'http://a.test/','rate_limit':2}]," \
	"'every':1,'unit':'days'"
	(void)state;
	uint64_t id = at_number(peer_data(peer, "schedule.put", DAILY
	    ",'start_at':4000000000,'tags':['a','b']"), "/schedule_id");
	yyjson_val *d = peer_data(peer, "schedule.list", "%s", "");

	assert_int_equal(at_number(d, "/total"), 1);
	assert_int_equal(at_number(d, "/schedules/0/schedule_id"), id);
	assert_string_equal(at_text(d, "/schedules/0/unit"), "days");
	assert_string_equal(at_text(d, "/schedules/0/tags/1"), "b");
	assert_string_equal(at_text(d, "/schedules/0/policy"), "default");
	assert_true(yyjson_is_null(at(d, "/schedules/0/last_crawl")));
	/* Changed: the number stays; the policy is its own now. */
	d = peer_data(peer, "schedule.put", DAILY ",'schedule_id':%u,"
	    "'start_at':4000000000,'policy':{}", (unsigned)id);
	assert_int_equal(at_number(d, "/schedule_id"), id);
	d = peer_data(peer, "schedule.list", "%s", "");
	assert_true(yyjson_is_null(at(d, "/schedules/0/policy")));
	/* The error code depends on which of the two does not exist. */
	peer_fails(peer, "schedule.put", DAILY ",'schedule_id':99", "bad_args",
	    "schedule: ");
	peer_fails(peer, "schedule.put", DAILY ",'policy':'none'",
	    "unknown_policy", "none");
	peer_fails(peer, "schedule.put", "'name':'s','seeds':['http://a/'],"
	    "'every':1,'unit':'moons'", "bad_args", "unit: minutes, hours, "
	    "days, weeks, months or years is expected");
	peer_fails(peer, "schedule.put", DAILY ",'timing':'x'", "bad_args",
	    "timing: regular_interval or after_previous is expected");
	peer_fails(peer, "schedule.put", DAILY ",'start_at':4000000001",
	    "bad_args", "start_at: Unix seconds");
	d = peer_data(peer, "schedule.delete", "'schedule_id':%u",
	    (unsigned)id);
	assert_int_equal(at_number(d, "/schedule_id"), id);
	peer_fails(peer, "schedule.delete", "'schedule_id':1", "bad_args",
	    "schedule: ");
}

static void
snapshots(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "snapshot", "%s", "");

	assert_string_equal(at_text(d, "/directory"), "backup/snapshot");
	assert_int_equal(at_number(d, "/warcs_outside"), 0);
	assert_int_equal(yyjson_obj_size(peer_data(peer, "ping", "%s", "")),
	    0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(unknown_crawl), TEST(found_urls), TEST(problems),
		TEST(explained), TEST(queue), TEST(pages), TEST(crawls),
		TEST(steering), TEST(changes), TEST(policies),
		TEST(schedules), TEST(snapshots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
