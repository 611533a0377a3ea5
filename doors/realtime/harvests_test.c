/*
 * Commands about harvests, over a real engine and feeds on loopback.
 */
#include "doors/realtime/realtime_testing.h"

#include <unistd.h>

#include "engine/harvest/credential.h"
#include "engine/store/store_async.h"
#include "os/clock.h"
#include "os/file.h"

static struct peer *peer;

static int
set_up(void **state)
{
	(void)state;
	rig_door_open();
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

struct wanted {
	const char *id, *state;
};

static bool
is_in_state(struct rig *r, void *arg)
{
	const struct wanted *x = arg;
	yyjson_val *d = peer_data(peer, "harvest.get", "'id':'%s'", x->id);

	(void)r;
	usleep(20000);
	return strcmp(at_text(d, "/state"), x->state) == 0;
}

static void
until(const char *id, const char *state)
{
	struct wanted x = { id, state };

	rig_until(&rig, is_in_state, &x);
}

/* ---- a whole harvest --------------------------------------------- */

static void
whole(void **state)
{
	(void)state;
	yyjson_val *d = peer_data(peer, "harvest.start", "'type':"
	    "'feed_entries','seeds':['http://m.example/feed'],"
	    "'path':'news'");

	assert_string_equal(at_text(d, "/id"), "feed_entries-1");
	until("feed_entries-1", "completed success");
	d = peer_data(peer, "harvest.get", "'id':'feed_entries-1'");
	assert_int_equal(at_number(d, "/items"), 2);
	assert_int_equal(at_number(d, "/counts/0/n"), 2);
	assert_string_equal(at_text(d, "/counts/0/label"), "feed entries");
	assert_int_equal(at_number(d, "/files_total"), 1);
	assert_int_equal(strlen(at_text(d, "/files/0/sha1")), 40);
	assert_string_equal(at_text(d, "/message/seeds/0/id"), "1");
	const char *path = at_text(d, "/path");
	assert_true(str_ends(str_of(path), STR("/harvested/news")));
	d = peer_data(peer, "harvest.list", "%s", "");
	assert_int_equal(at_number(d, "/total"), 1);
	assert_string_equal(at_text(d, "/harvests/0/type"), "feed_entries");
	assert_int_equal(at_number(d, "/harvests/0/items"), 2);
	assert_int_equal(at_number(peer_data(peer, "harvest.list",
	    "'status':'open'"), "/total"), 0);
}

/* ---- stop, pause, resume ----------------------------------------- */

/* Two feeds of one host: the second has to wait for its delay. */
static void
begin_slow(const char *id)
{
	yyjson_val *d = peer_data(peer, "harvest.start", "'type':"
	    "'feed_entries','seeds':['http://m.example/feed/1',{'token':"
	    "'http://m.example/feed/2','id':'b'}],'path':'slow'");

	assert_string_equal(at_text(d, "/id"), id);
	until(id, "running");
}

static void
ordered(void **state)
{
	(void)state;
	begin_slow("feed_entries-1");
	(void)peer_data(peer, "harvest.pause", "'id':'feed_entries-1'");
	until("feed_entries-1", "paused");
	/* Again is no error, and it stays in the list of open ones. */
	(void)peer_data(peer, "harvest.pause", "'id':'feed_entries-1'");
	assert_int_equal(at_number(peer_data(peer, "harvest.list",
	    "'status':'open'"), "/total"), 1);
	(void)peer_data(peer, "harvest.resume", "'id':'feed_entries-1'");
	until("feed_entries-1", "completed success");
	yyjson_val *d = peer_data(peer, "harvest.get",
	    "'id':'feed_entries-1'");
	assert_int_equal(at_number(d, "/items"), 4);
	assert_string_equal(at_text(d, "/notes/0/code"), "harvest_resumed");
	begin_slow("feed_entries-2");
	(void)peer_data(peer, "harvest.stop", "'id':'feed_entries-2'");
	until("feed_entries-2", "completed success");
	assert_true(at_number(peer_data(peer, "harvest.get",
	    "'id':'feed_entries-2'"), "/items") < 4);
	/* One that is over: a stop repeats itself, the others do not. */
	(void)peer_data(peer, "harvest.stop", "'id':'feed_entries-2'");
	peer_fails(peer, "harvest.pause", "'id':'feed_entries-2'",
	    "bad_state", "is over: completed success");
	peer_fails(peer, "harvest.resume", "'id':'feed_entries-2'",
	    "bad_state", "is over");
	/* A paused one is stopped. */
	begin_slow("feed_entries-3");
	(void)peer_data(peer, "harvest.pause", "'id':'feed_entries-3'");
	until("feed_entries-3", "paused");
	(void)peer_data(peer, "harvest.stop", "'id':'feed_entries-3'");
	until("feed_entries-3", "completed success");
}

/* ---- schedules ------------------------------------------------------ */

static bool
has_skipped(struct rig *r, void *arg)
{
	yyjson_val *d = peer_data(peer, "schedule.list", "%s", "");

	(void)r;
	usleep(20000);
	return at_number(d, "/schedules/0/skips") == *(uint64_t *)arg;
}

static bool
exists(struct rig *r, void *arg)
{
	(void)r;
	usleep(20000);
	return yyjson_is_true(at(peer_ask(peer, "harvest.get", "'id':'%s'",
	    (const char *)arg), "/success"));
}

#define SLOW "'harvest':{'type':'feed_entries','path':'again','seeds':["       \
	"'http://m.example/feed/1','http://m.example/feed/2']}"
#define EACH_HOUR "'name':'again','every':1,'unit':'hours'"

/* Putting it anew makes it due at once: an hour passes in no time. */
static void
scheduled(void **state)
{
	char first[] = "schedule-1-1", second[] = "schedule-1-2";
	uint64_t skips = 1;

	(void)state;
	(void)peer_data(peer, "schedule.put", EACH_HOUR "," SLOW);
	rig_until(&rig, exists, first);
	until(first, "running");
	(void)peer_data(peer, "schedule.put", EACH_HOUR "," SLOW
	    ",'schedule_id':1");
	rig_until(&rig, has_skipped, &skips);
	assert_false(exists(&rig, second));
	until(first, "completed success");
	(void)peer_data(peer, "schedule.put", EACH_HOUR "," SLOW
	    ",'schedule_id':1");
	rig_until(&rig, exists, second);
	(void)peer_data(peer, "harvest.stop", "'id':'schedule-1-2'");
	until(second, "completed success");
	yyjson_val *d = peer_data(peer, "schedule.list", "%s", "");
	assert_int_equal(at_number(d, "/schedules/0/runs"), 2);
	assert_int_equal(at_number(d, "/schedules/0/skips"), 1);
	assert_string_equal(at_text(d, "/schedules/0/harvest"),
	    "feed_entries");
}

static void
schedules_are_judged(void **state)
{
	static const char *const rows[][2] = {
		{ "", "seeds: it is missing" },
		{ ",'seeds':['http://a/']," SLOW, "harvest: there are seeds" },
		{ ",'harvest':[]", "harvest: an object is expected" },
		{ ",'harvest':{'type':'feed_entries','seeds':['http://a/']}",
		    "harvest.path: it is missing" },
		{ ",'harvest':{'path':'x','feed':1}", "harvest: there is no "
		    "field \"feed\"" },
		{ ",'harvest':{'path':'x','type':'feed_entries'}", "seeds" },
		{ ",'harvest':{'path':'x','type':'nothing'}", "type" },
		{ ",'harvest':{'path':'x','type':1}", "harvest.type: a text" },
		{ ",'timing':'after_previous'," SLOW, "timing: harvests are "
		    "begun at regular intervals" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char args[500];
		(void)snprintf(args, sizeof(args), EACH_HOUR "%s", rows[i][0]);
		peer_fails(peer, "schedule.put", args, "bad_args", rows[i][1]);
	}
}

/* ---- what is refused --------------------------------------------- */

#define FEED "'type':'feed_entries','seeds':['http://a.example/']"

static void
refused(void **state)
{
	static const char *const rows[][3] = {
		{ "'path':'x'", "bad_args", "type: it is missing" },
		{ "'type':'feed_entries'", "bad_args", "path: it is missing" },
		{ "'type':'nothing','path':'x'", "bad_args", "type: " },
		{ "'type':'feed_entries','path':'x'", "bad_args", "seeds: " },
		{ "'type':'feed_entries','path':'x','seeds':'a'", "bad_args",
		    "seeds: a list is expected" },
		{ "'type':'feed_entries','path':'x','seeds':['a',1]",
		    "bad_args", "seeds[1]: a text or an object" },
		{ FEED ",'path':'x','options':[]", "bad_args",
		    "options: an object is expected" },
		{ FEED ",'path':'x','options':{'limit':'many'}", "bad_args",
		    "limit" },
		{ FEED ",'path':'x','credential':'none'", "bad_args",
		    "credential: there is none with the name none" },
		{ FEED ",'path':'x','credentials':{}", "bad_args",
		    "credentials" },
		{ FEED ",'path':'/etc/x'", "bad_args", "path: it lies below "
		    "none of harvest.roots" },
		{ FEED ",'path':'../x'", "bad_args", "path: " },
		{ FEED ",'path':'a/../../x'", "bad_args", "path: " },
		{ "'type':'youtube_channel','seeds':['@a'],'path':'x'",
		    "bad_args", "key" },
		{ "'path':'x','message':{'type':'feed_entries',"
		    "'credentials':{'a':'b'}}", "bad_args",
		    "message.credentials: " },
		{ "'path':'x','type':'feed_entries','message':{}", "bad_args",
		    "message: " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		peer_fails(peer, "harvest.start", rows[i][0], rows[i][1],
		    rows[i][2]);
	peer_fails(peer, "harvest.get", "'id':'a-1'", "unknown_harvest",
	    "There is no harvest a-1");
	peer_fails(peer, "harvest.stop", "'id':'a-1'", "unknown_harvest",
	    "There is no harvest a-1");
	peer_fails(peer, "harvest.stop", "'id':1", "bad_args", "id: a text");
	peer_fails(peer, "harvest.list", "'status':'x'", "bad_args",
	    "status: open, accepted");
	peer_fails(peer, "harvest.types", "'type':'x'", "bad_args",
	    "type: there is no type x");
	assert_int_equal(at_number(peer_data(peer, "harvest.list", "%s", ""),
	    "/total"), 0);
}

/* ---- types, credentials ------------------------------------------ */

static bool put;

static void
put_credential(struct store_job *j, struct store *st)
{
	struct why w = WHY_INIT;
	struct seal_key key;

	(void)j;
	assert_int_equal(credential_key(&rig.conf, rig.dir, &key, &w), OK);
	assert_int_equal(credential_put(st, &key, STR("tube"),
	    STR("{\"key\":\"secret-1\"}"), clock_wall(), &w), OK);
}

static void
credential_is_put(struct store_job *j)
{
	(void)j;
	put = true;
}

static void
named(void **state)
{
	struct store_job job = { .run = put_credential,
	    .done = credential_is_put };

	(void)state;
	yyjson_val *d = peer_data(peer, "harvest.types", "%s", "");
	assert_true(yyjson_arr_size(at(d, "/types")) > 15);
	d = peer_data(peer, "harvest.types", "'type':'youtube_channel'");
	assert_int_equal(yyjson_arr_size(at(d, "/types")), 1);
	assert_string_equal(at_text(d, "/types/0/credential/0/name"), "key");
	assert_int_equal(yyjson_arr_size(at(peer_data(peer, "credential.list",
	    "%s", ""), "/credentials")), 0);
	put = false;
	store_async_put(engine_store_async(rig.engine), &job);
	RIG_UNTIL_DONE(&rig, put);
	d = peer_data(peer, "credential.list", "%s", "");
	assert_string_equal(at_text(d, "/credentials/0/name"), "tube");
	/* The credential goes with the order, and is never shown. */
	d = peer_data(peer, "harvest.start", "'type':'youtube_channel',"
	    "'seeds':['@a'],'path':'tube','credential':'tube'");
	(void)peer_data(peer, "harvest.stop", "'id':'youtube_channel-1'");
	d = peer_data(peer, "harvest.get", "'id':'youtube_channel-1'");
	char *text = yyjson_val_write(d, 0, NULL);
	assert_null(strstr(text, "secret-1"));
	free(text);
	until("youtube_channel-1", "completed success");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(whole), TEST(ordered), TEST(refused), TEST(named),
		TEST(scheduled), TEST(schedules_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
