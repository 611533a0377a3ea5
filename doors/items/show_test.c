/*
 * Items, aliases, tags and blobs over a real port: each request of
 * contracts/items.md section 7 that is about items, with its statuses.
 */
#include "doors/items/items_door_testing.h"

#include "engine/items/items.h"

#define JSON_PATCH "Content-Type: application/merge-patch+json\r\n"

/* "METHOD /items/ID tail", the id encoded. */
static const char *
about(const char *method, struct str id, const char *tail)
{
	static char text[4][8192];
	static unsigned turn;
	char *out = text[turn++ % ARRAY_LEN(text)];

	snprintf(out, sizeof(text[0]), "%s /items/%s%s", method,
	    items_segment(id), tail);
	return out;
}

/* -- Making, reading, changing -- */

static void
makes(void **state)
{
	(void)state;
	items_want(201, "POST /items/add", "{'id':'m1','data':{'a':1},"
	    "'tags':['plain','site=eu'],'aliases':['m1b'],"
	    "'createdBy':'who'}", "{'id':'m1','effect':'new','rev':1}");
	items_want(200, "POST /items/add", "{'id':'m1','data':{'a':2}}",
	    "'effect':'skipped'");
	items_want(200, "POST /items/add", "{'id':'m1b','data':{}}",
	    "'effect':'skipped'");
	items_want(409, "POST /items/add",
	    "{'id':'m1','data':{},'failIfExists':true}", "'code':'exists'");
	items_say(200, "GET /items/m1b", NULL, NULL);
	assert_string_equal(items_at("/id"), "m1");
	assert_string_equal(items_at("/aliases/0"), "m1");
	assert_string_equal(items_at("/aliases/1"), "m1b");
	assert_string_equal(items_at("/tags/0/name"), "plain");
	assert_string_equal(items_at("/tags/0/value"), "null");
	assert_string_equal(items_at("/tags/1/value"), "eu");
	assert_string_equal(items_at("/data/a"), "1");
	assert_string_equal(items_at("/created_by"), "who");
	assert_non_null(strstr(items_head, "etag: \"1\""));
	items_say(404, "GET /items/m2", NULL, NULL);
	/* Without an id one is made: 26 characters. */
	items_say(201, "POST /items/add", NULL, "{'data':{}}");
	assert_int_equal(strlen(items_at("/id")), 26);
	assert_non_null(strstr(items_say(200, "HEAD /items/m1", NULL, NULL),
	    ""));
}

static void
refuses(void **state)
{
	static const struct {
		int status;
		const char *request, *body, *text;
	} t[] = {
		{ 400, "POST /items/add", "{'id':'r'}", "data: it is missing" },
		{ 400, "POST /items/add", "{'id':'r','data':[]}",
		    "data: it is not an object" },
		{ 400, "POST /items/add", "{'id':'r','data':{},'tag':['x']}",
		    "tag: there is no such member" },
		{ 400, "POST /items/add", "{'id':7,'data':{}}", "id: " },
		{ 400, "POST /items/add", "{'id':'a\\u0001','data':{}}",
		    "id: " },
		{ 400, "POST /items/add", "{'data':{},'tags':['a,b']}",
		    "tag" },
		{ 400, "POST /items/add", "{'data':{},'tags':'a'}",
		    "tags: it is no list" },
		{ 400, "POST /items/add", "{'data':{},'failIfExists':1}",
		    "failIfExists: true or false" },
		{ 400, "POST /items/add", "{'data':", "body: it is no JSON" },
		{ 400, "POST /items/add", "[]", "body: it is no object" },
		{ 404, "PATCH /items/r", "{}", "no such item" },
		{ 404, "DELETE /items/r", NULL, "no such item" },
		{ 404, "POST /items/r/rename", "{'to':'r2'}", "no such item" },
		{ 404, "POST /items/r/merge", "{'into':'r2'}",
		    "no such item" },
		{ 400, "POST /items/r/rename", "{}", "to: it is missing" },
		{ 404, "PUT /items/r/tags/x", "{}", "no such item" },
		{ 404, "PUT /items/r/aliases/x", "{}", "no such item" },
		{ 404, "PUT /items/r/blobs/x", "x", "no such item" },
		{ 404, "GET /items/r/blobs/x", NULL, "" },
		{ 404, "GET /items/r/metadata?tasks=a:fetch", NULL, "" },
		{ 404, "GET /items/r/operations", NULL, "" },
		{ 400, "GET /items?limit=0", NULL, "limit: " },
		{ 400, "GET /items?limit=1001", NULL, "limit: " },
		{ 400, "GET /items?updated_since=now", NULL,
		    "updated_since: " },
		{ 400, "GET /items?value=eu", NULL, "value: " },
		{ 404, "GET /nothing", NULL, "" },
		{ 409, "POST /items/x/operations/a:fetch/simulate", "{}",
		    "no tasks that run in this daemon" },
		{ 400, "POST /items/x/operations/a:fetch/simulate",
		    "{'archived':1}", "archived: " },
		{ 400, "POST /items/x/operations/a:fetch/simulate",
		    "{'module':1}", "module: it is no text" },
		{ 400, "POST /items/x/operations/a:fetch/simulate",
		    "{'files':[]}", "files: it is no object" },
		{ 400, "POST /items/x/operations/a:fetch/simulate",
		    "{'files':{'a.js':1}}", "files: a source is no text" },
		{ 409, "POST /tasks/a:fetch/replay", "{}",
		    "no tasks that run in this daemon" },
		{ 400, "POST /tasks/a:fetch/replay", "{'mode':'all'}",
		    "mode: it is none of" },
		{ 400, "POST /operations/a:fetch/replay", "{'since':'now'}",
		    "since: it is no time" },
		{ 400, "POST /tasks/a:fetch/replay", "{'after':'x'}",
		    "after: " },
		{ 400, "POST /tasks/a:fetch/replay", "{'limit':1001}",
		    "limit: " },
		{ 400, "POST /runs/R1/replay", "{'loose':1}", "loose: " },
		{ 400, "POST /worker/fetch", "{}", "lease: it is missing" },
		{ 400, "POST /worker/fetch", "{'lease':'L','url':'http://a/'}",
		    "lease: it is none" },
		{ 400, "POST /worker/fetch",
		    "{'lease':'L','url':'http://a/','headers':[]}",
		    "headers: it is no object" },
		{ 400, "POST /worker/fetch",
		    "{'lease':'L','url':'http://a/','session':7}",
		    "session: " },
		{ 400, "POST /worker/fetch",
		    "{'lease':'L','url':'http://a/','first_turn_ms':-1}",
		    "first_turn_ms: " },
		{ 400, "POST /worker/fetch",
		    "{'lease':'L','url':'http://a/','first_turn_ms':600001}",
		    "first_turn_ms: " },
		{ 405, "DELETE /items", NULL, "" },
		{ 405, "PUT /items/x", "{}", "" },
		{ 405, "POST /tags", "{}", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		items_want(t[i].status, t[i].request, t[i].body, t[i].text);
	items_say(415, "POST /items/add", "Content-Type: text/plain\r\n",
	    "{'data':{}}");
	items_say(415, "PATCH /items/m1", "Content-Type: application/"
	    "json-patch+json\r\n", "[]");
	assert_non_null(strstr(items_head,
	    "accept-patch: application/merge-patch+json"));
	items_say(415, "POST /items/m1/rename", "Content-Type: text/json\r\n",
	    "{'to':'x'}");
}

static void
patches(void **state)
{
	(void)state;
	items_say(201, "POST /items/p1", NULL, "{'data':{'a':1,'b':{'c':2}}}");
	items_say(200, "PATCH /items/p1", JSON_PATCH, "{'b':{'c':null,"
	    "'d':3},'e':'x'}");
	assert_string_equal(items_at("/data/a"), "1");
	assert_string_equal(items_at("/data/b/d"), "3");
	assert_string_equal(items_at("/data/b/c"), "");
	assert_string_equal(items_at("/rev"), "2");
	assert_non_null(strstr(items_head, "etag: \"2\""));
	items_say(412, "PATCH /items/p1", JSON_PATCH "If-Match: \"1\"\r\n",
	    "{'a':9}");
	assert_string_equal(items_at("/code"), "precondition");
	items_say(412, "PATCH /items/p1", JSON_PATCH "If-Match: W/\"2\"\r\n",
	    "{'a':9}");
	items_say(200, "PATCH /items/p1", JSON_PATCH
	    "If-Match: \"7\", \"2\"\r\n", "{'a':9}");
	items_say(200, "PATCH /items/p1", JSON_PATCH "If-Match: *\r\n",
	    "{'a':10}");
	assert_string_equal(items_at("/data/a"), "10");
	items_say(400, "PATCH /items/p1", JSON_PATCH, "[1]");
	/* The same by POST: an upsert, which adds tags. */
	items_say(200, "POST /items/p1", NULL, "{'data':{'a':null},"
	    "'tags':['t1'],'aliases':['p1b']}");
	assert_string_equal(items_at("/effect"), "updated");
	items_say(200, "GET /items/p1b", NULL, NULL);
	assert_string_equal(items_at("/data/a"), "");
	assert_string_equal(items_at("/data/e"), "x");
	assert_string_equal(items_at("/tags/0/name"), "t1");
	items_say(409, "POST /items/p1", NULL, "{'failIfExists':true}");
}

static void
identities(void **state)
{
	(void)state;
	items_say(201, "POST /items/i1", NULL, "{'data':{'n':1},"
	    "'tags':['x=1']}");
	items_say(201, "POST /items/i2", NULL, "{'data':{'n':2},"
	    "'tags':['x=2','y']}");
	items_say(200, "POST /items/i1/rename", NULL, "{'to':'i1new'}");
	assert_string_equal(items_at("/id"), "i1new");
	assert_string_equal(items_at("/aliases/1"), "i1");
	items_say(409, "POST /items/i1/rename", NULL, "{'to':'i2'}");
	items_say(200, "POST /items/i1/merge", NULL, "{'into':'i2',"
	    "'data':{'n':3}}");
	assert_string_equal(items_at("/id"), "i2");
	assert_string_equal(items_at("/data/n"), "3");
	assert_string_equal(items_at("/tags/0/value"), "2");
	items_say(200, "GET /items/i1new", NULL, NULL);
	assert_string_equal(items_at("/id"), "i2");
	items_say(404, "POST /items/i2/merge", NULL, "{'into':'nobody'}");

	items_say(201, "PUT /items/i2/aliases/ean", NULL, "{}");
	assert_string_equal(items_at("/effect"), "alias_new");
	items_say(200, "PUT /items/i2/aliases/ean", NULL, NULL);
	assert_string_equal(items_at("/effect"), "skipped");
	items_say(409, "PUT /items/i2/aliases/ean", NULL,
	    "{'failIfExists':true}");
	items_say(409, "DELETE /items/i2/aliases/i2", NULL, NULL);
	items_say(201, "POST /items/i3", NULL, "{}");
	items_say(409, "DELETE /items/i3/aliases/ean", NULL, NULL);
	items_say(200, "DELETE /items/i2/aliases/ean", NULL, NULL);
	assert_string_equal(items_at("/effect"), "alias_deleted");
	items_say(404, "GET /items/ean", NULL, NULL);
	items_say(200, "DELETE /items/i2", NULL, NULL);
	assert_string_equal(items_at("/id"), "i2");
	assert_string_equal(items_at("/effect"), "deleted");
	items_say(404, "GET /items/i1", NULL, NULL);
}

static void
tags(void **state)
{
	(void)state;
	items_say(201, "POST /items/t1", NULL, "{}");
	items_say(200, "PUT /items/t1/tags/site", NULL, "{'value':'eu'}");
	assert_string_equal(items_at("/tags/0/value"), "eu");
	items_say(200, "PUT /items/t1/tags/site", NULL, "{'value':null}");
	assert_string_equal(items_at("/tags/0/value"), "null");
	items_say(200, "PUT /items/t1/tags/page", NULL, NULL);
	items_say(400, "PUT /items/t1/tags/a%3Db", NULL, "{}");
	items_say(400, "PUT /items/t1/tags/a%2Cb", NULL, "{}");
	items_say(200, "GET /items/t1/operations", NULL, NULL);
	assert_string_equal(items_at("/operations/0/state"), "unprocessed");
	items_say(200, "GET /items/t1/tasks", NULL, NULL);
	assert_string_equal(items_at("/tasks/0/tags/0"), "page");
	assert_string_equal(items_at("/tasks/0/current_version"), "1");
	items_say(200, "DELETE /items/t1/tags/page", NULL, NULL);
	items_say(200, "GET /items/t1/operations", NULL, NULL);
	assert_string_equal(items_at("/operations/0/task"), "");
	items_say(200, "GET /tags", NULL, NULL);
	assert_string_equal(items_at("/next"), "null");
	const char *lines = items_say(200, "GET /tags",
	    "Accept: application/x-ndjson\r\n", NULL);
	assert_non_null(strstr(lines, "{\"name\":\"site\""));
	assert_null(strstr(lines, "\"tags\":"));
}

static void
blobs(void **state)
{
	static const char bytes[] = "\x89PNG\0\r\n\x1a";
	struct str all = { bytes, sizeof(bytes) - 1 };

	(void)state;
	items_say(201, "POST /items/b1", NULL, "{}");
	items_say_bytes(201, "PUT /items/b1/blobs/pic%2Fone.png",
	    "Content-Type: image/png\r\n", all);
	assert_string_equal(items_at("/name"), "pic/one.png");
	assert_string_equal(items_at("/bytes"), "8");
	assert_string_equal(items_at("/type"), "image/png");
	assert_int_equal(strlen(items_at("/sha256")), 64);
	items_say(200, "GET /items/b1/blobs", NULL, NULL);
	assert_string_equal(items_at("/blobs/0/name"), "pic/one.png");
	const char *got = items_say(200, "GET /items/b1/blobs/pic%2Fone.png",
	    NULL, NULL);
	assert_memory_equal(got, bytes, sizeof(bytes) - 1);
	assert_non_null(strstr(items_head, "content-type: image/png"));
	assert_non_null(strstr(items_head, "content-disposition: attachment; "
	    "filename=\"pic_one.png\""));
	assert_non_null(strstr(items_head, "x-content-type-options: nosniff"));
	assert_non_null(strstr(items_head, "sandbox"));
	items_say(200, "DELETE /items/b1/blobs/pic%2Fone.png", NULL, NULL);
	assert_string_equal(items_at("/effect"), "blob_deleted");
	items_say(404, "DELETE /items/b1/blobs/pic%2Fone.png", NULL, NULL);
	items_say(404, "GET /items/b1/blobs/pic%2Fone.png", NULL, NULL);
}

/* -- Ids -- */

/* Every path that has an id in it, with this one. */
static void
one_id(struct str id, bool decodes)
{
	char body[8192];

	items_say(201, about("POST", id, ""), NULL, "{'data':{'n':1}}");
	items_say(200, about("GET", id, ""), NULL, NULL);
	assert_int_equal(strlen(items_at("/id")), id.n);
	if (decodes)
		assert_memory_equal(items_at("/id"), id.p, id.n);
	items_say(200, about("PATCH", id, ""), JSON_PATCH, "{'n':2}");
	items_say(200, about("PUT", id, "/tags/page"), NULL, "{}");
	items_say(200, about("GET", id, "/metadata?operations[]=a:fetch,"
	    "a:norm&tasks=b:check"), NULL, NULL);
	items_say(200, about("GET", id, "/operations"), NULL, NULL);
	items_say(200, about("GET", id, "/tasks"), NULL, NULL);
	items_say(200, about("GET", id, "/operations/a:fetch/runs"), NULL,
	    NULL);
	items_say(200, about("GET", id, "/tasks/a%3Afetch/runs"), NULL, NULL);
	items_say(200, about("POST", id, "/operations/a:fetch/expire"), NULL,
	    "{'now':true}");
	items_say(200, about("POST", id, "/tasks/a:fetch/expire"), NULL, NULL);
	items_say(409, about("POST", id, "/tasks/a:fetch/ttl"), NULL,
	    "{'ttl':'7d'}");
	items_say(409, about("POST", id, "/operations/a:fetch/ttl"), NULL,
	    "{'ttl':null}");
	/* No task runs here. */
	items_say(409, about("POST", id, "/tasks/a:fetch/simulate"), NULL,
	    "{}");
	items_say(409, about("POST", id, "/operations/a:fetch/simulate"), NULL,
	    "{}");
	items_say_bytes(201, about("PUT", id, "/blobs/x"), NULL, STR("b"));
	items_say(200, about("GET", id, "/blobs"), NULL, NULL);
	items_say(200, about("GET", id, "/blobs/x"), NULL, NULL);
	items_say(200, about("DELETE", id, "/blobs/x"), NULL, NULL);
	items_say(200, about("DELETE", id, "/tags/page"), NULL, NULL);
	/* As an alias of another one. */
	items_say(200, about("DELETE", id, ""), NULL, NULL);
	items_say(200, "POST /items/owner", NULL, "{}");
	snprintf(body, sizeof(body), "PUT /items/owner/aliases/%s",
	    items_segment(id));
	items_say(201, body, NULL, "{}");
	items_say(200, about("GET", id, ""), NULL, NULL);
	assert_string_equal(items_at("/id"), "owner");
	snprintf(body, sizeof(body), "DELETE /items/owner/aliases/%s",
	    items_segment(id));
	items_say(200, body, NULL, NULL);
	items_say(201, about("POST", id, ""), NULL, "{}");
	items_say(200, about("POST", id, "/rename"), NULL, "{'to':'other'}");
	items_say(200, about("POST", id, "/merge"), NULL, "{'into':'owner'}");
	items_say(200, about("GET", id, ""), NULL, NULL);
	assert_string_equal(items_at("/id"), "owner");
	items_say(200, "DELETE /items/owner", NULL, NULL);
	items_say(201, "POST /items/owner", NULL, "{}");
}

static void
ids(void **state)
{
	static const struct str odd[] = {
		{ "a/b", 3 }, { "..", 2 }, { ".", 1 }, { "a/../b", 6 },
		{ "/", 1 }, { "//", 2 }, { "%", 1 }, { "100%", 4 },
		{ "%2e", 3 }, { "%2F", 3 }, { "add", 3 }, { "x y", 3 },
		{ "a?b#c&d=e+f", 11 }, { "rename", 6 }, { "\xc3\xa4", 2 },
		{ "\"quoted\\", 8 }, { "EAN:2006", 8 }, { "*", 1 },
	};
	char longest[ITEM_ID_BYTES_MAX + 1];

	(void)state;
	items_say(201, "POST /items/owner", NULL, "{}");
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		one_id(odd[i], true);
	memset(longest, 'x', sizeof(longest));
	one_id((struct str){ longest, ITEM_ID_BYTES_MAX }, true);
	memset(longest, '/', sizeof(longest));
	one_id((struct str){ longest, ITEM_ID_BYTES_MAX }, true);
	struct str more = { longest, ITEM_ID_BYTES_MAX + 1 };
	items_say(400, about("GET", more, ""), NULL, NULL);
	assert_non_null(strstr(items_at("/error"), "id: "));
	items_say(400, about("POST", more, ""), NULL, "{}");
	items_say(400, "GET /items/a%00b", NULL, NULL);
	items_say(400, "GET /items/a%0Ab", NULL, NULL);
	items_say(400, "GET /items/a%FFb", NULL, NULL);
	items_say(400, "GET /items/a%2", NULL, NULL);
	items_say(400, "GET /items/..", NULL, NULL);
	/* POST /items/add is a request of its own; the item is /items/%61dd. */
	items_say(201, "POST /items/%61dd", NULL, "{'data':{'mine':1}}");
	items_say(400, "POST /items/add", NULL, "{}");
	items_say(200, "GET /items/add", NULL, NULL);
	assert_string_equal(items_at("/data/mine"), "1");
}

/* -- Lists -- */

static size_t
count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

static void
lists(void **state)
{
	char request[128], id[16], after[2048] = "";
	size_t n = 0, pages = 0;

	(void)state;
	for (int i = 0; i < 25; i++) {
		snprintf(request, sizeof(request), "POST /items/list:%02d", i);
		items_say(201, request, NULL, i % 5 == 0 ?
		    "{'tags':['l=five']}" : "{'tags':['l=other']}");
	}
	do {
		snprintf(request, sizeof(request),
		    "GET /items?prefix=list:&limit=10&after=%s", after);
		items_say(200, request, NULL, NULL);
		for (int i = 0; i < 10; i++) {
			snprintf(id, sizeof(id), "/items/%d/id", i);
			n += items_at(id)[0] != '\0';
		}
		snprintf(after, sizeof(after), "%s", items_at("/next"));
		pages++;
	} while (strcmp(after, "null") != 0 && pages < 10);
	assert_int_equal(n, 25);
	assert_in_range(pages, 3, 4);
	assert_int_equal(count_lines(items_say(200, "GET /items?prefix=list:",
	    "Accept: application/x-ndjson\r\n", NULL)), 25);
	assert_non_null(strstr(items_head, "application/x-ndjson"));
	assert_int_equal(count_lines(items_say(200, "GET /items?tag=l&"
	    "value=five", "Accept: application/x-ndjson, */*\r\n", NULL)), 5);
	items_want(200, "GET /items?tag=nothing", NULL,
	    "{'items':[],'next':null}");
	items_say(200, "GET /items?prefix=list:0&metadata=a:fetch", NULL,
	    NULL);
	assert_string_equal(items_at("/items/0/id"), "list:00");
}

/* -- Limits -- */

static void
sizes(void **state)
{
	static const char *const counted[] = {
		ITEMS_REFUSED("data_bytes_max"),
		ITEMS_REFUSED("body_bytes_max"),
		ITEMS_REFUSED("blob_bytes_max"), ITEMS_REFUSED("blobs_max"),
		ITEMS_REFUSED("tags_max"), ITEMS_REFUSED("aliases_max"),
		ITEMS_REFUSED("tag_names_max") };
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	items_say(201, "POST /items/s1", NULL, "{}");
	/* Data of 1,000 bytes over a body of 2,048: 413 names the field. */
	buf_put_text(&b, "{\"data\":{\"a\":\"");
	while (b.n < 1100)
		buf_put_char(&b, 'x');
	buf_put_text(&b, "\"}}");
	items_say_bytes(413, "POST /items/s1", NULL, buf_str(&b));
	assert_non_null(strstr(items_at("/error"), "data: "));
	items_say_bytes(413, "POST /items/add", NULL, buf_str(&b));
	buf_clear(&b);
	while (b.n < 2049)
		buf_put_char(&b, ' ');
	items_say_bytes(413, "POST /items/s1", NULL, buf_str(&b));
	assert_non_null(strstr(items_at("/error"), "body: "));
	items_say_bytes(413, "POST /items/add", NULL, buf_str(&b));
	items_say_bytes(413, "PUT /items/s1/blobs/x", NULL, buf_str(&b));
	b.n = 2048;
	items_say_bytes(201, "PUT /items/s1/blobs/x", NULL, buf_str(&b));
	/* Numbers. */
	items_say_bytes(429, "PUT /items/s1/blobs/y", NULL, STR("x"));
	items_say(200, "PUT /items/s1/tags/a", NULL, NULL);
	items_say(200, "PUT /items/s1/tags/b", NULL, NULL);
	items_say(429, "PUT /items/s1/tags/c", NULL, NULL);
	assert_non_null(strstr(items_at("/error"), "tags: "));
	items_say(201, "PUT /items/s1/aliases/a1", NULL, NULL);
	items_say(429, "PUT /items/s1/aliases/a2", NULL, NULL);
	items_say(201, "POST /items/s2", NULL, "{'tags':['a']}");
	items_say(422, "POST /items/s3", NULL, "{'tags':['d','e']}");
	assert_non_null(strstr(items_at("/error"), "tag_names: "));
	/* Each was counted, by its limit. */
	for (size_t i = 0; i < ARRAY_LEN(counted); i++)
		items_rig_counted(counted[i]);
}

static int
small_setup(void **state)
{
	static const char *const settings[] = { "items.data_bytes_max=1024",
		"items.body_bytes_max=2048", "items.blob_bytes_max=2048",
		"items.blobs_max=1", "items.tags_max=2",
		"items.aliases_max=1", "items.tag_names_max=5", NULL };

	(void)state;
	items_rig_open(settings);
	return 0;
}

#define LIVE(name) cmocka_unit_test(name)
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		LIVE(makes), LIVE(refuses), LIVE(patches), LIVE(identities),
		LIVE(tags), LIVE(blobs), LIVE(ids), LIVE(lists),
	};
	const struct CMUnitTest small[] = { LIVE(sizes) };

	return items_rig_main(argc, argv,
	    cmocka_run_group_tests_name("items", tests, items_rig_setup,
	    items_rig_teardown) +
	    cmocka_run_group_tests_name("small", small, small_setup,
	    items_rig_teardown));
}
