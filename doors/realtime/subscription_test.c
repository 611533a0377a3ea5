/*
 * Subscriptions, over a real engine: what they send, from where they resume,
 * how they end, and what may not be subscribed to.
 */
#include "doors/realtime/realtime_testing.h"

#include "doors/realtime/realtime.h"
#include "engine/stream/stream.h"
#include "wire/base64.h"

#define PAGES 30u

static struct peer *peer;
static uint32_t crawl;           /* it has ended, with PAGES + 1 items */

static int
set_up(void **state)
{
	(void)state;
	rig_door_open();
	crawl = rig_crawl("/30", "old");
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

/* Items `from` to `to` of the crawl are the first events, in that order. */
static void
expect_items(unsigned sub, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i <= to; i++) {
		yyjson_val *e = peer_event(peer, sub, (size_t)(i - from));
		assert_int_equal(token_number(e), i);
		assert_int_equal(at_number(e, "/data/crawl_id"), crawl);
	}
	assert_int_equal(peer_events(peer, sub), to - from + 1);
}

static const char *
mark(void)
{
	return stream_mark(engine_stream(rig.engine));
}

/* The plain text of a token, as clients get it. */
PRINTF_LIKE(1, 2) static const char *
token_of(const char *fmt, ...)
{
	static char token[200];
	struct buf out = BUF_INIT;
	char plain[100];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(plain, sizeof(plain), fmt, ap);
	va_end(ap);
	base64_put(&out, str_of(plain));
	snprintf(token, sizeof(token), "%.*s", STR_FMT(buf_str(&out)));
	buf_free(&out);
	return token;
}

/* --- one crawl ----------------------------------------------------------- */

static void
all_items(void **state)
{
	(void)state;
	unsigned sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u", crawl);

	expect_items(sub, 1, PAGES + 1);
	yyjson_val *first = peer_event(peer, sub, 0);
	assert_int_equal(at_number(first, "/data/status_code"), 200);
	assert_true(at_text(first, "/data/body")[0] != '\0');
	sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u,'body':false", crawl);
	assert_null(yyjson_ptr_get(peer_event(peer, sub, 0), "/data/body"));
}

static void
from_a_token(void **state)
{
	(void)state;
	unsigned sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u,'sync_token':'%s'", crawl,
	    token_of("%u.%u.%s", PAGES - 1, crawl, mark()));

	expect_items(sub, PAGES, PAGES + 1);
	/* The bare form of 2016; and 0, which is no token. */
	sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u,'sync_token':'%s'", crawl,
	    token_of("%u", PAGES));
	expect_items(sub, PAGES + 1, PAGES + 1);
	sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u,'sync_token':0", crawl);
	expect_items(sub, 1, PAGES + 1);
}

static void
expect_bad(const char *command, const char *token, const char *text)
{
	char args[300];

	snprintf(args, sizeof(args), "'crawl_id':%u,'sync_token':'%s'", crawl,
	    token);
	peer_fails(peer, command, args, "bad_token", text);
}

static void
bad_tokens(void **state)
{
	static const char *const malformed[] = { "x5", "5.0", "5.0.", "5.x.",
	    "-5" };
	const char *const items = "subscribe_crawl_items";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(malformed); i++)
		expect_bad(items, token_of("%s", malformed[i]), "malformed");
	expect_bad(items, "no base64!", "malformed");
	expect_bad(items, token_of("5.%u.othermrk", crawl), "another store");
	expect_bad(items, token_of("5.%u.%s", crawl + 1, mark()),
	    "another crawl");
	expect_bad(items, token_of("5.%u.%s.log", crawl, mark()),
	    "another kind");
	expect_bad(items, token_of("%u.%u.%s", PAGES + 2, crawl, mark()),
	    "past the end");
	expect_bad("subscribe_crawl_log", token_of("1.%u.%s", crawl, mark()),
	    "another kind");
	peer_fails(peer, items, "'crawl_id':0,'sync_token':7", "bad_token",
	    "malformed");
}

static void
closed_event(void **state)
{
	(void)state;
	unsigned sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u,'closed_event':true", crawl);

	yyjson_val *e = peer_event(peer, sub, PAGES + 1);
	assert_string_equal(at_text(e, "/event"), "subscription_closed");
	assert_string_equal(at_text(e, "/data/reason"), "complete");
	assert_int_equal(token_number(e), PAGES + 1);
	/* It is over, and it was this connection's. */
	peer_data(peer, "unsubscribe", "'subscription_id':%u", sub);
	sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u,'closed_event':true,'sync_token':'%s'", crawl,
	    at_text(e, "/data/sync_token"));
	assert_string_equal(at_text(peer_event(peer, sub, 0), "/event"),
	    "subscription_closed");
	sub = peer_subscribe(peer, "subscribe_crawl_stats",
	    "'crawl_id':%u,'closed_event':true", crawl);
	assert_string_equal(at_text(peer_event(peer, sub, 1), "/data/reason"),
	    "complete");
}

static void
log_entries(void **state)
{
	(void)state;
	unsigned all = peer_subscribe(peer, "subscribe_crawl_log",
	    "'crawl_id':%u", crawl);
	size_t n = peer_events(peer, all);

	assert_true(n >= 2);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(token_number(peer_event(peer, all, i)),
		    i + 1);
	assert_string_equal(at_text(peer_event(peer, all, 0), "/data/kind"),
	    "started");
	unsigned tail = peer_subscribe(peer, "subscribe_crawl_log",
	    "'crawl_id':%u,'tail':1", crawl);
	assert_int_equal(token_number(peer_event(peer, tail, 0)), n);
	assert_int_equal(peer_events(peer, tail), 1);
	assert_int_equal(peer_events(peer, peer_subscribe(peer,
	    "subscribe_crawl_log", "'crawl_id':%u,'tail':0", crawl)), 0);
}

/* --- several crawls ------------------------------------------------------ */

static void
by_tag(void **state)
{
	(void)state;
	unsigned sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'tag':'new'");

	assert_int_equal(peer_events(peer, sub), 0);
	/* One that comes, one without the tag, and one that comes later. */
	uint32_t a = rig_crawl("/3", "new");
	(void)rig_crawl("/4", "other");
	uint32_t b = rig_crawl("/2", "new");
	assert_int_equal(peer_events(peer, sub), 4 + 3);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(at_number(peer_event(peer, sub, i),
		    "/data/crawl_id"), i < 4 ? a : b);
	/* Those that had ended are gone through, each from its token on. */
	const char *token = at_text(peer_event(peer, sub, 1),
	    "/data/sync_token");
	sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'tag':'new','sync_tokens':{'%u':'%s'}", a, token);
	assert_int_equal(peer_events(peer, sub), 2 + 3);
}

static void
many_ended_crawls(void **state)
{
	uint32_t first = 0;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		uint32_t id = rig_crawl("/1", "many");
		first = i == 0 ? id : first;
	}
	unsigned sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'tag':'many','body':false");
	bool seen[9][3] = { { false } };

	assert_int_equal(peer_events(peer, sub), 18);
	for (size_t i = 0; i < 18; i++) {
		yyjson_val *e = peer_event(peer, sub, i);
		uint64_t id = at_number(e, "/data/crawl_id") - first;
		assert_true(id < 9 && !seen[id][token_number(e)]);
		seen[id][token_number(e)] = true;
	}
}

static void
tokens_of_several(void **state)
{
	char args[200];

	(void)state;
	snprintf(args, sizeof(args), "'crawl_id':%u,'sync_tokens':{}", crawl);
	peer_fails(peer, "subscribe_crawl_items", args, "bad_args",
	    "an object by crawl is expected");
	peer_fails(peer, "subscribe_crawl_items",
	    "'tag':'old','sync_token':'MQ=='", "bad_args",
	    "it goes with crawl_id alone");
	peer_fails(peer, "subscribe_crawl_items",
	    "'tag':'old','sync_tokens':{'77':'MQ=='}", "unknown_crawl",
	    "Crawl ID=77 matched 0");
	snprintf(args, sizeof(args),
	    "'tag':'old','sync_tokens':{'%u':'MQ==','0%u':'MQ=='}", crawl,
	    crawl);
	peer_fails(peer, "subscribe_crawl_items", args, "bad_args",
	    "is given twice");
	snprintf(args, sizeof(args), "'tag':'old','crawl_id':%u", crawl);
	peer_fails(peer, "subscribe_crawl_items", args, "bad_args",
	    "give one of them");
	peer_fails(peer, "subscribe_crawl_items", "", "bad_args",
	    "crawl_id: it is missing");
	peer_fails(peer, "subscribe_crawl_items", "'crawl_id':77",
	    "unknown_crawl", "matched 0");
	peer_fails(peer, "subscribe_crawl_items",
	    "'crawl_id':0,'headers':'map'", "bad_args", "headers: ");
	/* This connection has no subscription with these numbers. */
	peer_fails(peer, "unsubscribe", "'subscription_id':0",
	    "unknown_subscription", "has no subscription 0");
}

/* An event that names a new crawl comes after the response that does. */
static void
response_first(void **state)
{
	(void)state;
	unsigned stats = peer_subscribe(peer, "subscribe_crawl_stats",
	    "'min_interval':0,'tag':'mine'");
	uint64_t id = at_number(peer_data(peer, "start_crawl",
	    "'seeds':['%.*s'],'tags':['mine'],'policy':{'rate_limit':0}",
	    STR_FMT(rig_url(&rig, "/2"))), "/crawl_id");
	char name[40];

	assert_int_equal(peer_early(peer, stats), 0);
	snprintf(name, sizeof(name), "/data/%u/status", (unsigned)id);
	yyjson_val *e = peer_event(peer, stats, 0);
	assert_true(at_text(e, name)[0] != '\0');
	rig_until_state(&rig, (uint32_t)id, CRAWL_COMPLETE);
	size_t n = peer_events(peer, stats);
	bool complete = false;
	for (size_t i = 0; i < n; i++) {
		yyjson_val *s = yyjson_ptr_get(peer_event(peer, stats, i),
		    name);
		complete |= s != NULL && strcmp(yyjson_get_str(s),
		    "complete") == 0;
	}
	assert_true(complete);
}

/* More crawls than fit into one event. */
#define CHANGES 700u
#define FIRST_CRAWL 1000u

static void
show_crawl(uint32_t i, uint64_t success, uint64_t items)
{
	struct crawl_view v = { .id = FIRST_CRAWL + i,
	    .counts = { .status = { [2] = success }, .items = items } };
	struct str tag = STR("many"), seed = STR("http://a.org/");
	struct crawl_spec spec = { .name = STR("of many"), .tags = &tag,
	    .tags_n = 1, .seeds = &seed, .seeds_n = 1 };

	crawl_registry_add(engine_registry(rig.engine), &v, &spec);
	crawl_registry_show(engine_registry(rig.engine), &v);
}

/* The crawl's member as the last event that has it gives it; NULL if no event
 * has it. */
static yyjson_val *
last_of(unsigned sub, size_t events, uint32_t i, const char *member)
{
	char pointer[64];
	yyjson_val *found = NULL;

	snprintf(pointer, sizeof(pointer), "/data/%u/%s", FIRST_CRAWL + i,
	    member);
	for (size_t n = 0; n < events; n++) {
		yyjson_val *v = yyjson_ptr_get(peer_event(peer, sub, n),
		    pointer);
		found = v != NULL ? v : found;
	}
	return found;
}

/* A change that did not fit into one event is sent in a later one, even if the
 * crawl has changed in some other way in between. */
static void
changes_of_a_full_event(void **state)
{
	(void)state;
	unsigned sub = peer_subscribe(peer, "subscribe_crawl_stats",
	    "'min_interval':0.05,'tag':'many'");
	/* New crawls; the first nine change again at once. */
	for (uint32_t i = 0; i < CHANGES; i++)
		show_crawl(i, 0, 0);
	for (uint32_t i = 0; i < 9; i++)
		show_crawl(i, 0, 1);
	crawl_registry_notify(engine_registry(rig.engine));
	size_t n = peer_events(peer, sub);
	assert_true(n >= 2);
	for (uint32_t i = 0; i < CHANGES; i++)
		assert_true(yyjson_equals_str(last_of(sub, n, i, "name"),
		    "of many"));
	/* The same crawls change; the first nine twice. */
	for (uint32_t i = 0; i < CHANGES; i++)
		show_crawl(i, 5, i < 9);
	for (uint32_t i = 0; i < 9; i++)
		show_crawl(i, 5, 7);
	crawl_registry_notify(engine_registry(rig.engine));
	assert_true(peer_events(peer, sub) > n + 1);
	n = peer_events(peer, sub);
	for (uint32_t i = 0; i < CHANGES; i++)
		assert_int_equal(yyjson_get_uint(last_of(sub, n, i,
		    "success")), 5);
	assert_int_equal(yyjson_get_uint(last_of(sub, n, 0, "items")), 7);
	for (uint32_t i = 0; i < CHANGES; i++)
		crawl_registry_delete(engine_registry(rig.engine),
		    FIRST_CRAWL + i);
	crawl_registry_notify(engine_registry(rig.engine));
	(void)peer_events(peer, sub);
	n = peer_events(peer, sub);
	for (uint32_t i = 0; i < CHANGES; i++)
		assert_true(yyjson_equals_str(last_of(sub, n, i, "status"),
		    "deleted"));
}

/* --- limits and ends ----------------------------------------------------- */

static void
too_many(void **state)
{
	unsigned last = 0;

	(void)state;
	for (unsigned i = 0; i < REALTIME_SUBSCRIPTIONS_MAX; i++)
		last = peer_subscribe(peer, i % 2 == 0 ?
		    "subscribe_monitor" : "subscribe_crawl_items", "%s",
		    i % 2 == 0 ? "" : "'tag':'none'");
	assert_int_equal(last, REALTIME_SUBSCRIPTIONS_MAX - 1);
	for (unsigned i = 0; i < 2; i++) {
		peer_fails(peer, "subscribe_monitor", "", "limit",
		    "256 subscriptions already");
		peer_fails(peer, "subscribe_crawl_stats", "", "limit",
		    "256 subscriptions already");
		peer_fails(peer, "subscribe_frontier", "'crawl_id':0",
		    "limit", "256 subscriptions already");
		peer_fails(peer, "subscribe_crawl_items",
		    "'tag':'old','sync_tokens':{'0':'MQ=='}", "limit",
		    "256 subscriptions already");
	}
	peer_data(peer, "unsubscribe", "'subscription_id':%u", last);
	assert_int_equal(peer_subscribe(peer, "subscribe_monitor", "%s", ""),
	    last + 1);
}

static void
no_one_elses(void **state)
{
	struct peer *other = peer_new();
	unsigned sub = peer_subscribe(other, "subscribe_monitor", "%s", "");
	char args[60];

	(void)state;
	snprintf(args, sizeof(args), "'subscription_id':%u", sub);
	peer_fails(peer, "unsubscribe", args, "unknown_subscription",
	    "This connection has no subscription");
	yyjson_val *frame = peer_event(other, sub, 0);
	assert_int_equal(at_number(frame, "/data/dropped"), 0);
	peer_data(other, "unsubscribe", "%s", args);
	size_t n = peer_events(other, sub);
	assert_int_equal(peer_events(other, sub), n);
	peer_free(&other);
}

/* A frontier is sent again when it has changed, and not when it has not. */
static void
frontier(void **state)
{
	(void)state;
	uint64_t id = at_number(peer_data(peer, "start_crawl",
	    "'seeds':['%.*s'],'policy':{'rate_limit':0}",
	    STR_FMT(rig_url(&rig, "/slow/7"))), "/crawl_id");
	unsigned sub = peer_subscribe(peer, "subscribe_frontier",
	    "'crawl_id':%u,'min_interval':0.2", (unsigned)id);

	assert_int_equal(at_number(peer_event(peer, sub, 0),
	    "/data/crawl_id"), id);
	rig_until_state(&rig, (uint32_t)id, CRAWL_COMPLETE);
	for (unsigned i = 0; i < 3; i++)
		(void)peer_events(peer, sub);
	size_t n = peer_events(peer, sub);
	assert_int_equal(at_number(peer_event(peer, sub, n - 1),
	    "/data/facts/in_flight"), 0);
	assert_int_equal(peer_events(peer, sub), n);
}

/* Once its socket is blocked, a client that has stopped reading gets no more
 * events; when it reads again, it has missed none. */
static void
withhold_events(void **state)
{
	struct peer *stopped = peer_new();
	unsigned sub = peer_subscribe(stopped, "subscribe_crawl_items",
	    "'tag':'blocked','body':false");
	unsigned crawls = 0;
	size_t held = 0, before;

	(void)state;
	do {
		before = held;
		(void)rig_crawl("/60", "blocked");
		held = rig_blocked_bytes();
	} while (++crawls < 50 && (held == 0 || held != before));
	/* At 128 KiB it would stay the same, too: the port takes no more. */
	assert_in_range(held, 1, 120000);
	assert_int_equal(peer_events(stopped, sub), crawls * 61);
	peer_free(&stopped);
}

/* A client that leaves while the engine reads for it leaves nothing behind. */
static void
leaves(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct peer *p = peer_new();
		peer_subscribe(p, "subscribe_crawl_items", "'tag':'old'");
		peer_subscribe(p, "subscribe_crawl_log", "'tag':'old'");
		peer_subscribe(p, "subscribe_frontier", "'crawl_id':%u",
		    crawl);
		peer_free(&p);
	}
	unsigned sub = peer_subscribe(peer, "subscribe_crawl_items",
	    "'crawl_id':%u", crawl);
	expect_items(sub, 1, PAGES + 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_items), TEST(from_a_token), TEST(bad_tokens),
		TEST(closed_event), TEST(log_entries), TEST(by_tag),
		TEST(many_ended_crawls), TEST(tokens_of_several),
		TEST(response_first), TEST(changes_of_a_full_event),
		TEST(too_many), TEST(no_one_elses),
		TEST(frontier), TEST(withhold_events), TEST(leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
