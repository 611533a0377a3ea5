/* Input, dead letters, queues, statuses and pace, and SFM's own messages. */
#include "doors/harvest/input.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/json.h"
#include "doors/harvest/pace.h"
#include "doors/harvest/queue_table.h"
#include "doors/harvest/status.h"
#include "doors/harvest/web_start.h"
#include "tests/suite.h"

static struct arena arena;
static const struct wall t0 = { INT64_C(1438082256640044) };  /* 2015-07-28 */

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static void
assert_text(struct str s, const char *text)
{
	if (!str_eq(s, str_of(text)))
		fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(s), text);
}

/* The suite's file, or NULL after a word about it. */
static yyjson_doc *
suite_open(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "sfm/messages/%s.json", name);
	yyjson_doc *doc = yyjson_read_file(suite_path(path), 0, NULL, NULL);
	if (doc == NULL)
		print_message("suites: %s is absent\n", path);
	return doc;
}

/* The at-th message of the suite's file whose key begins so. */
static yyjson_val *
suite_message(yyjson_doc *doc, const char *key, size_t at)
{
	yyjson_val *m;
	size_t i, n;

	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "messages"), i, n, m)
		if (str_starts(json_text(yyjson_obj_get(m, "routing_key")),
		    str_of(key)) && at-- == 0)
			return m;
	fail_msg("the suite has no message %s", key);
	return NULL;
}

/* --- Input ---------------------------------------------------------------- */

static void
start_messages(void **state)
{
	struct input in;

	(void)state;
	assert_int_equal(input_read(STR("\xef\xbb\xbf{\"id\":\"sfmui:45\","
	    "\"type\":\"a\",\"path\":\"/d\",\"more\":[1.50],"
	    "\"credentials\":{\"key\":\"s3cret\"}}"), &arena, &in),
	    LETTER_NONE);
	assert_text(in.id, "sfmui:45");
	assert_text(in.type, "a");
	assert_text(in.path, "/d");
	assert_text(in.kept, "{\"id\":\"sfmui:45\",\"type\":\"a\","
	    "\"path\":\"/d\",\"more\":[1.50]}");
	assert_int_equal(in.text.p[0], '{');
	assert_int_equal(input_read(STR("{\"id\":\"x\",\"type\":7,"
	    "\"path\":\"a\\nb\"}"), &arena, &in), LETTER_NONE);
	assert_text(in.type, "");
	assert_text(in.path, "");
}

static void
letters(void **state)
{
	static const struct {
		const char *body;
		enum letter_reason reason;
	} cases[] = {
		{ "", LETTER_NOT_JSON }, { "{", LETTER_NOT_JSON },
		{ "{\"id\":\"x\"} {}", LETTER_NOT_JSON },
		{ "[]", LETTER_NOT_OBJECT }, { "\"id\"", LETTER_NOT_OBJECT },
		{ "{}", LETTER_NO_ID }, { "{\"id\":\"\"}", LETTER_NO_ID },
		{ "{\"id\":45}", LETTER_NO_ID },
		{ "{\"id\":null}", LETTER_NO_ID },
		{ "{\"id\":\"a\\u0000b\"}", LETTER_NO_ID },
		{ "{\"id\":\"a\"}", LETTER_NONE },
	};
	struct buf b = BUF_INIT;
	struct input in;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (input_read(str_of(cases[i].body), &arena, &in) !=
		    cases[i].reason)
			fail_msg("%s", cases[i].body);
	for (size_t n = 200; n <= 201; n++) {
		buf_clear(&b);
		buf_put_text(&b, "{\"id\":\"");
		for (size_t i = 0; i < n; i++)
			buf_put_char(&b, 'x');
		buf_put_text(&b, "\"}");
		assert_int_equal(input_read(buf_str(&b), &arena, &in),
		    n == 200 ? LETTER_NONE : LETTER_NO_ID);
	}
	buf_free(&b);
}

static void
masked(void **state)
{
	struct buf deep = BUF_INIT;

	(void)state;
	assert_text(letter_mask(STR("{\"a\":1,\"credentials\":{\"k\":\"s\","
	    "\"l\":[7,{\"m\":null}]},\"b\":{\"credentials\":\"t\"}}"), &arena),
	    "{\"a\":1,\"credentials\":{\"k\":\"***\","
	    "\"l\":[\"***\",{\"m\":\"***\"}]},"
	    "\"b\":{\"credentials\":\"***\"}}");
	assert_text(letter_mask(STR("[{\"credentials\":{\"k\":1}}]"), &arena),
	    "[{\"credentials\":{\"k\":\"***\"}}]");
	/* No JSON: an end of a message is missing. */
	assert_text(letter_mask(STR("{\"credentials\""), &arena),
	    "{\"credentials\"");
	assert_text(letter_mask(STR("{\"credentials\":{\"k\":\"s\"},\"b\""),
	    &arena), "{\"credentials\":\"***\",\"b\"");
	/* Hiding it deep does not help. */
	for (int i = 0; i < 100000; i++)
		buf_put_text(&deep, "[");
	buf_put_text(&deep, "{\"credentials\":\"s3cret\"}");
	for (int i = 0; i < 100000; i++)
		buf_put_text(&deep, "]");
	struct str out = letter_mask(buf_str(&deep), &arena);
	assert_true(str_find(out, STR("s3cret")) == out.n);
	assert_true(out.n < 200);
	buf_free(&deep);
}

/* Of a body that nobody may read. */
static void
letters_masked_unread(void **state)
{
	static const struct {
		const char *body, *masked;
	} cases[] = {
		{ "{\"a\":1,\"credentials\" : {\"k\":\"s\",\"l\":[7]},\"b\":2}",
		    "{\"a\":1,\"credentials\" : \"***\",\"b\":2}" },
		{ "{\"credentials\":\"a\\\"b,\", \"b\":{\"credentials\":7}}",
		    "{\"credentials\":\"***\", "
		    "\"b\":{\"credentials\":\"***\"}}" },
		{ "[{\"\\u0063redentials\":{\"}\":\"]s\"}}]",
		    "[{\"\\u0063redentials\":\"***\"}]" },
		{ "{\"credentials\":null}", "{\"credentials\":\"***\"}" },
		/* No end. */
		{ "{\"credentials\":{\"k\":\"s", "{\"credentials\":\"***\"" },
		{ "{\"credentials\":\"s\\", "{\"credentials\":\"***\"" },
		{ "{\"credentials\":", "{\"credentials\":\"***\"" },
		/* Another name, no name, no secret. */
		{ "{\"credential\":1,\"credentialss\":2,\"a\":\"credentials\"}",
		    "{\"credential\":1,\"credentialss\":2,"
		    "\"a\":\"credentials\"}" },
		{ "{\"credentials\"", "{\"credentials\"" },
		{ "{\"credentials", "{\"credentials" },
		{ "\"\\u006", "\"\\u006" }, { "\"", "\"" }, { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_text(letter_mask_unread(str_of(cases[i].body), &arena),
		    cases[i].masked);
}

/* SFM's own start messages and stops. */
static void
messages_of_sfm(void **state)
{
	static const struct {
		const char *file, *key, *type, *status_key;
	} cases[] = {
		{ "harvest-flickr-user", "harvest.start.", "flickr_user",
		    "harvest.status.flickr.flickr_user" },
		{ "harvest-tumblr", "harvest.start.", "tumblr_blog_posts",
		    "harvest.status.tumblr.tumblr_blog_posts" },
		{ "harvest-twitter1-timeline-priority", "harvest.start.",
		    "twitter_user_timeline", "harvest.status.twitter."
		    "twitter_user_timeline.priority" },
		{ "harvest-twitter2-search", "harvest.start.",
		    "twitter_search_2",
		    "harvest.status.twitter2.twitter_search_2" },
		{ "stream-3-after", "harvest.stop.", "", NULL },
	};
	struct input in;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		yyjson_doc *doc = suite_open(cases[i].file);
		if (doc == NULL)
			continue;
		yyjson_val *m = suite_message(doc, cases[i].key, 0);
		yyjson_val *body = yyjson_obj_get(m, "body");
		assert_int_equal(input_read(json_text(yyjson_obj_get(m,
		    "raw_body")), &arena, &in), LETTER_NONE);
		assert_true(str_eq(in.id, json_text(yyjson_obj_get(body,
		    "id"))));
		assert_text(in.type, cases[i].type);
		assert_true(str_find(in.kept, STR("credentials")) ==
		    in.kept.n);
		if (cases[i].status_key == NULL) {
			yyjson_doc_free(doc);
			continue;
		}
		struct str key = queue_table_status_key(json_text(
		    yyjson_obj_get(m, "routing_key")), in.type, &arena);
		assert_text(key, cases[i].status_key);
		/* SFM's harvester has answered by the same key. */
		assert_true(str_eq(key, json_text(yyjson_obj_get(
		    suite_message(doc, "harvest.status.", 0),
		    "routing_key"))));
		yyjson_doc_free(doc);
	}
}

/* --- Queues and keys ------------------------------------------------------ */

static void
queues(void **state)
{
	const struct queue_row *row = queue_table_find(STR("mastodon_account"));
	size_t n;

	(void)state;
	assert_string_equal(row->name, "mastodon_harvester");
	const struct str *keys = queue_table_keys(row, &arena, &n);
	assert_int_equal(n, 2);
	assert_text(keys[0], "harvest.start.mastodon.mastodon_account");
	assert_text(keys[1], "harvest.start.mastodon.mastodon_hashtag");
	assert_string_equal(queue_table_find(STR("mastodon_stream"))->name,
	    "mastodon_stream_harvester");
	assert_string_equal(queue_table_find(STR("twitter_filter_stream"))
	    ->name, "twitter_harvester");
	assert_string_equal(queue_table_find(STR("bluesky_jetstream"))->name,
	    "bluesky_stream_harvester");
	assert_null(queue_table_find(STR("unknown")));
	for (size_t i = 0; (row = queue_table_at(i)) != NULL; i++)
		assert_true(strlen(row->name) < 64);
	keys = queue_table_keys(queue_table_find(STR("web")), &arena, &n);
	assert_int_equal(n, 1);
	assert_text(keys[0], "harvest.start.web");
	assert_text(queue_table_status_key(STR("web_harvester"), STR("web"),
	    &arena), "harvest.status.web");
}

/* Our queues have SFM's names, and bind none of its keys elsewhere. */
static void
queues_of_sfm(void **state)
{
	yyjson_doc *doc = suite_open("broker-objects");
	yyjson_val *b;
	size_t i, n, k, keys_n;

	(void)state;
	if (doc == NULL)
		return;
	const struct queue_row *row;
	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "bindings"), i, n, b) {
		struct str queue = json_text(yyjson_arr_get(b, 1));
		struct str key = json_text(yyjson_arr_get(b, 2));
		for (size_t q = 0; (row = queue_table_at(q)) != NULL; q++) {
			const struct str *keys = queue_table_keys(row, &arena,
			    &keys_n);
			for (k = 0; k < keys_n; k++)
				if (str_eq(keys[k], key))
					assert_text(queue, row->name);
		}
	}
	yyjson_doc_free(doc);
}

static void
status_keys(void **state)
{
	(void)state;
	assert_text(queue_table_status_key(STR("harvest.start.start.started"),
	    STR("a"), &arena), "harvest.status.start.started");
	assert_text(queue_table_status_key(STR("harvest.start.web"),
	    STR("web"), &arena), "harvest.status.web");
	/* It was sent to the queue itself. */
	assert_text(queue_table_status_key(STR("mastodon_harvester"),
	    STR("mastodon_account"), &arena),
	    "harvest.status.mastodon.mastodon_account");
	assert_text(queue_table_status_key(STR("q"), STR("a.b#*"), &arena),
	    "harvest.status.a_b__");
	assert_text(queue_table_status_key(STR("q"), STR(""), &arena),
	    "harvest.status.unknown");
	assert_text(queue_table_safe(STR("sfmui:45-\xc3\xa4"), &arena),
	    "sfmui_45___");
}

/* --- Statuses ------------------------------------------------------------- */

static struct status
status_of(const struct totals *t)
{
	return (struct status){ .id = STR("sfmui:45"),
	    .state = STORE_HARVEST_RUNNING, .started = t0, .totals = t,
	    .platform = "mastodon", .host = STR("crawl1"), .process = 39 };
}

static void
a_status(void **state)
{
	struct totals t = { .items = 0 };
	struct buf b = BUF_INIT;

	(void)state;
	totals_count(&t, t0, STR("mastodon posts"), 12);
	totals_count(&t, (struct wall){ t0.us + 86400 * US_PER_S },
	    STR("mastodon posts"), 1);
	totals_count(&t, t0, STR("other"), UINT64_C(5000000000));
	totals_note(&t, TOTALS_WARNING, STR("uid_suspended"),
	    STR("so \"it\" is"), STR("a36f"));
	totals_note(&t, TOTALS_ERROR, STR("unknown_error"), STR("e"),
	    STR_NONE);
	totals_seed(&t, STR("a36f"), STR("671366249@N03"), STR("j.littman"));
	struct status s = status_of(&t);
	s.state = STORE_HARVEST_SUCCEEDED;
	s.ended = (struct wall){ t0.us + 5 };
	s.warcs = 3;
	s.warc_bytes = 345234242;
	status_put(&s, &b);
	assert_text(buf_str(&b), "{\"id\":\"sfmui:45\",\"status\":"
	    "\"completed success\","
	    "\"date_started\":\"2015-07-28T11:17:36.640044+00:00\","
	    "\"date_ended\":\"2015-07-28T11:17:36.640049+00:00\","
	    "\"infos\":[],"
	    "\"errors\":[{\"code\":\"unknown_error\",\"message\":\"e\"}],"
	    "\"warnings\":[{\"code\":\"uid_suspended\","
	    "\"message\":\"so \\\"it\\\" is\",\"seed_id\":\"a36f\"}],"
	    "\"stats\":{\"2015-07-28\":{\"mastodon posts\":12,"
	    "\"other\":2147483647},\"2015-07-29\":{\"mastodon posts\":1}},"
	    "\"token_updates\":{\"a36f\":\"j.littman\"},"
	    "\"uids\":{\"a36f\":\"671366249@N03\"},"
	    "\"warcs\":{\"count\":3,\"bytes\":345234242},"
	    "\"service\":\"Argiope Mastodon Harvester\","
	    "\"host\":\"crawl1\",\"instance\":\"39\"}");
	assert_false(status_has_names(&s));
	/* The maps are sent once. */
	buf_clear(&b);
	s.spec_words = true;
	s.state = STORE_HARVEST_PAUSED;
	status_put(&s, &b);
	struct str text = buf_str(&b);
	assert_true(str_find(text, STR("\"status\":\"running\"")) < text.n);
	assert_true(str_find(text, STR("date_ended")) == text.n);
	assert_true(str_find(text, STR("\"token_updates\":{},\"uids\":{}")) <
	    text.n);
	buf_free(&b);
	totals_free(&t);
}

/* Each member that SFM's harvesters send is there, of the same kind. */
static void
a_status_has_what_sfm_sends(void **state)
{
	struct totals t = { .items = 0 };
	struct buf b = BUF_INIT;
	yyjson_doc *doc = suite_open("harvest-flickr-user");
	yyjson_val *key, *v;
	size_t i, n;

	(void)state;
	if (doc == NULL)
		return;
	yyjson_val *theirs = yyjson_obj_get(suite_message(doc,
	    "harvest.status.", 2), "body");
	struct status s = status_of(&t);
	s.state = STORE_HARVEST_SUCCEEDED;
	status_put(&s, &b);
	yyjson_doc *ours = yyjson_read(b.p, b.n, 0);
	assert_non_null(ours);
	yyjson_val *root = yyjson_doc_get_root(ours);
	yyjson_obj_foreach(theirs, i, n, key, v)
		assert_int_equal(yyjson_get_type(yyjson_obj_getn(root,
		    yyjson_get_str(key), yyjson_get_len(key))),
		    yyjson_get_type(v));
	yyjson_doc_free(ours);
	buf_clear(&b);
	theirs = yyjson_obj_get(suite_message(doc, "warc_created", 0), "body");
	struct store_harvest_warc f = { .name = STR("x"), .warc_id = STR("0a"),
	    .sha1 = STR("11"), .bytes = 5, .created = t0 };
	struct store_harvest h = { .id = STR("i"), .type = STR("t"),
	    .message = json_text(yyjson_obj_get(suite_message(doc,
	    "harvest.start.", 0), "raw_body")) };
	status_put_warc(&f, STR("/d/x"), &h, &b);
	ours = yyjson_read(b.p, b.n, 0);
	root = yyjson_doc_get_root(ours);
	yyjson_obj_foreach(theirs, i, n, key, v) {
		yyjson_val *of = yyjson_obj_get(root, yyjson_get_str(key)), *x;
		yyjson_val *member;
		size_t k, m;
		assert_int_equal(yyjson_obj_size(of), yyjson_obj_size(v));
		yyjson_obj_foreach(v, k, m, member, x)
			assert_int_equal(yyjson_get_type(yyjson_obj_get(of,
			    yyjson_get_str(member))), yyjson_get_type(x));
	}
	assert_true(yyjson_equals(yyjson_obj_get(root, "collection_set"),
	    yyjson_obj_get(theirs, "collection_set")));
	yyjson_doc_free(ours);
	yyjson_doc_free(doc);
	buf_free(&b);
	totals_free(&t);
}

/* At every limit a status stays below the limit of messages. */
static void
a_status_is_bounded(void **state)
{
	char text[1001], id[40], name[4000];
	struct totals t = { .items = 0 };
	struct buf b = BUF_INIT;
	unsigned sent = 0;

	(void)state;
	memset(text, 1, 1000);       /* six bytes of JSON each */
	text[1000] = '\0';
	memset(name, 'n', sizeof(name));
	for (unsigned level = 0; level < TOTALS_LEVELS; level++)
		for (unsigned i = 0; i < 120; i++)
			totals_note(&t, (enum totals_level)level, STR("c"),
			    str_of(text), STR_NONE);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(id, sizeof(id), "seed-%u", i);
		totals_seed(&t, str_of(id), (struct str){ name, i < 1000 ?
		    sizeof(name) : 1 }, STR_NONE);
	}
	struct status s = status_of(&t);
	while (status_has_names(&s)) {
		buf_clear(&b);
		uint64_t before = s.uids_told;
		status_put(&s, &b);
		assert_true(b.n < (size_t)1 << 20);
		assert_true(s.uids_told > before);
		assert_true(s.uids_told - before <= STATUS_NAMES_MAX);
		struct str json = buf_str(&b);
		assert_true(str_find(json, STR("messages_dropped")) < json.n);
		sent++;
	}
	assert_int_equal(s.uids_told, 3000);
	assert_true(sent > 2);
	buf_free(&b);
	totals_free(&t);
}

/* --- harvest.start.web ---------------------------------------------------- */

struct web_starts {
	size_t messages, seeds, bytes_max;
	yyjson_doc *first;
};

static enum err
take_web_start(void *arg, struct str body, struct why *w)
{
	struct web_starts *x = arg;
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);
	struct input in;

	(void)w;
	assert_non_null(doc);
	assert_true(body.n <= WEB_START_BYTES_MAX);
	x->bytes_max = MAX(x->bytes_max, body.n);
	/* Our own harvester takes it. */
	assert_int_equal(input_read(body, &arena, &in), LETTER_NONE);
	assert_int_equal(in.id.n, 32);
	yyjson_val *seeds = yyjson_obj_get(yyjson_doc_get_root(doc), "seeds");
	assert_in_range(yyjson_arr_size(seeds), 1, WEB_START_SEEDS_MAX);
	x->seeds += yyjson_arr_size(seeds);
	if (x->messages++ == 0)
		x->first = doc;
	else
		yyjson_doc_free(doc);
	return OK;
}

static struct web_starts
web_starts_of(const char *message, struct str urls)
{
	struct web_start s = { .parent = STR("sfmui:45"),
	    .message = str_of(message), .path = STR("/sfm-data/a"),
	    .urls = urls };
	struct web_starts x = { .messages = 0 };

	assert_int_equal(web_start_each(&s, take_web_start, &x, NULL), OK);
	return x;
}

static void
web_starts(void **state)
{
	struct buf urls = BUF_INIT;

	(void)state;
	struct web_starts x = web_starts_of("{\"collection\":{\"id\":\"c\"},"
	    "\"collection_set\":{\"id\":\"s\"}}",
	    STR("[\"http://a/\\u0022\",\"http://b/\"]"));
	assert_int_equal(x.messages, 1);
	yyjson_val *root = yyjson_doc_get_root(x.first);
	assert_int_equal(yyjson_obj_size(root), 7);
	assert_text(json_text(yyjson_obj_get(root, "parent_id")), "sfmui:45");
	assert_text(json_text(yyjson_obj_get(root, "type")), "web");
	assert_text(json_text(yyjson_obj_get(root, "path")), "/sfm-data/a");
	assert_text(json_text(yyjson_ptr_get(root, "/collection/id")), "c");
	assert_text(json_text(yyjson_ptr_get(root, "/collection_set/id")),
	    "s");
	assert_text(json_text(yyjson_ptr_get(root, "/seeds/0/token")),
	    "http://a/\"");
	assert_int_equal(yyjson_get_len(yyjson_ptr_get(root, "/seeds/1/id")),
	    32);
	yyjson_doc_free(x.first);
	assert_int_equal(web_starts_of("{}", STR("[]")).messages, 0);
	/* 5,001 seeds; and 400 of 4 KiB, more than 1 MiB. */
	buf_put_text(&urls, "[\"u\"");
	for (unsigned i = 0; i < WEB_START_SEEDS_MAX; i++)
		buf_put_text(&urls, ",\"u\"");
	buf_put_char(&urls, ']');
	x = web_starts_of("{}", buf_str(&urls));
	assert_int_equal(x.messages, 2);
	assert_int_equal(x.seeds, WEB_START_SEEDS_MAX + 1);
	yyjson_doc_free(x.first);
	buf_clear(&urls);
	for (unsigned i = 0; i < 400; i++)
		buf_printf(&urls, "%c\"%04096u\"", i == 0 ? '[' : ',', i);
	buf_put_char(&urls, ']');
	x = web_starts_of("{}", buf_str(&urls));
	assert_int_equal(x.messages, 2);
	assert_int_equal(x.seeds, 400);
	assert_true(x.bytes_max > WEB_START_BYTES_MAX - 5000);
	yyjson_doc_free(x.first);
	buf_free(&urls);
	struct web_start bad = { .urls = STR("[\"a") };
	assert_int_equal(web_start_each(&bad, take_web_start, NULL, NULL),
	    ERR_CORRUPT);
}

/* --- Pace ----------------------------------------------------------------- */

static void
paces(void **state)
{
	const struct mono now = { 5 * NS_PER_S };
	struct pace_turn a, b;
	struct mono again;
	struct pace p;

	(void)state;
	pace_init(&p, 1000);
	pace_turn_init(&a);
	pace_turn_init(&b);
	assert_null(pace_next(&p, now, &again));
	assert_int_equal(again.ns, MONO_NEVER.ns);
	pace_ask(&p, &a);
	pace_ask(&p, &b);
	pace_ask(&p, &a);
	assert_ptr_equal(pace_next(&p, now, &again), &a);
	pace_ask(&p, &a);
	assert_null(pace_next(&p, mono_add_ms(now, 999), &again));
	assert_int_equal(again.ns, mono_add_ms(now, 1000).ns);
	assert_ptr_equal(pace_next(&p, again, &again), &b);
	pace_leave(&a);
	pace_leave(&a);
	assert_null(pace_next(&p, mono_add_ms(now, 9000), &again));
	assert_int_equal(again.ns, MONO_NEVER.ns);
}

#define WITH(test) cmocka_unit_test_teardown(test, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(start_messages), WITH(letters), WITH(masked),
		WITH(letters_masked_unread), WITH(messages_of_sfm),
		WITH(queues), WITH(queues_of_sfm),
		WITH(status_keys), WITH(a_status),
		WITH(a_status_has_what_sfm_sends), WITH(a_status_is_bounded),
		WITH(web_starts),
		WITH(paces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
