/*
 * Tasks, failures and the worker protocol over a real port.
 */
#include "doors/items/items_door_testing.h"

#include "os/file.h"

static char lease[64], other_lease[64];

/* Claim one pair of the task; its lease. */
static void
claim(const char *task, char out[static 64])
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_printf(&b, "{'worker':'w1','tasks':['%s'],'max':1,'prefetch':"
	    "['a:fetch']}", task);
	items_say(200, "POST /worker/claim", NULL, buf_text(&b));
	if (items_at("/leases/0/lease")[0] != 'L')
		fail_msg("nothing was leased of %s", task);
	snprintf(out, 64, "%s", items_at("/leases/0/lease"));
}

/* Complete a lease with more members; the status. */
static const char *
complete(const char *text, const char *more)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_printf(&b, "{'completions':[{'lease':'%s',%s}]}", text, more);
	items_say(200, "POST /worker/complete", NULL, buf_text(&b));
	return items_at("/results/0/status");
}

static void
runs(void **state)
{
	(void)state;
	items_say(201, "POST /items/w1", NULL, "{'data':{'n':1},"
	    "'tags':['page']}");
	items_say(200, "GET /tags/page/worklist", NULL, NULL);
	assert_string_equal(items_at("/tag"), "page");
	assert_string_equal(items_at("/worklist/0/id"), "w1");
	assert_string_equal(items_at("/worklist/0/state"), "unprocessed");
	claim("a:*", lease);
	assert_string_equal(items_at("/leases/0/task"), "a:fetch");
	assert_string_equal(items_at("/leases/0/attempt"), "1");
	assert_string_equal(items_at("/leases/0/item/id"), "w1");
	assert_string_equal(items_at("/leases/0/item/data/n"), "1");
	items_say(200, "POST /items/w1/operations/a:fetch/expire", NULL,
	    "{}");
	assert_string_equal(items_at("/state"), "leased");

	FREED(buf_free) struct buf b = BUF_INIT;
	buf_printf(&b, "{'leases':['%s','Lnothing'],'lease_ms':30000}", lease);
	items_say(200, "POST /worker/heartbeat", NULL, buf_text(&b));
	char pointer[80];
	snprintf(pointer, sizeof(pointer), "/leases/%s", lease);
	assert_int_equal(strlen(items_at(pointer)), 24);
	assert_string_equal(items_at("/leases/Lnothing"), "null");

	buf_clear(&b);
	buf_printf(&b, "{'lease':'%s','items':['w1','w2'],'metadata':[{'id':"
	    "'w1','taskName':'a:fetch'},{'id':'w2','taskName':'a:norm'}]}",
	    lease);
	items_say(200, "POST /worker/read", NULL, buf_text(&b));
	assert_string_equal(items_at("/items/w1/rev"), "1");
	assert_string_equal(items_at("/items/w2"), "null");
	assert_string_equal(items_at("/metadata/0/rev"), "0");
	assert_string_equal(items_at("/metadata/1/metadata"), "null");

	assert_string_equal(complete(lease, "'outcome':'success','mutations':"
	    "[{'op':'updateData','id':'w1','rev':1,'data':{'n':2}},"
	    "{'op':'updateMetadata','metadata':{'title':'T'}}]"), "applied");
	assert_string_equal(items_at("/results/0/effects/0"), "updated");
	assert_string_equal(items_at("/results/0/effects/1"), "metadata");
	/* The same once more changes nothing. */
	assert_string_equal(complete(lease, "'outcome':'success',"
	    "'mutations':[]"), "applied");
	items_say(200, "GET /items/w1", NULL, NULL);
	assert_string_equal(items_at("/data/n"), "2");
	items_say(200, "GET /items/w1/metadata?operations=a:fetch", NULL,
	    NULL);
	assert_string_equal(items_at("/metadata/a:fetch/metadata/title"), "T");
	assert_string_equal(items_at("/metadata/a:fetch/is_successful"),
	    "true");
	items_say(200, "GET /items/w1/tasks/a:fetch/runs", NULL, NULL);
	assert_string_equal(items_at("/runs/0/outcome"), "success");
	snprintf(pointer, sizeof(pointer), "GET /runs/%s",
	    items_at("/runs/0/run"));
	items_say(200, pointer, NULL, NULL);
	items_say(404, "GET /runs/R999999", NULL, NULL);
}

static void
conflicts(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	items_say(201, "POST /items/k1", NULL, "{'data':{'n':1},"
	    "'tags':['check']}");
	claim("b:check", lease);
	items_say(200, "PATCH /items/k1", NULL, "{'n':5}");
	assert_string_equal(complete(lease, "'outcome':'success','mutations':"
	    "[{'op':'updateData','id':'k1','rev':1,'data':{'n':2}}]"),
	    "conflict");
	assert_string_equal(items_at("/results/0/current/items/k1/rev"), "2");
	assert_string_equal(complete(lease, "'outcome':'success','mutations':"
	    "[{'op':'updateData','id':'k1','rev':2,'data':{'n':6}}]"),
	    "applied");
	/* A blob of a run. */
	items_say(200, "POST /items/k1/tasks/b:check/expire", NULL, NULL);
	claim("b:check", lease);
	buf_printf(&b, "PUT /worker/blob?lease=%s", lease);
	items_say_bytes(200, buf_text(&b), NULL, STR("bytes of a run"));
	char sha[80];
	snprintf(sha, sizeof(sha), "%s", items_at("/sha256"));
	assert_int_equal(strlen(sha), 64);
	buf_clear(&b);
	buf_printf(&b, "'outcome':'success','mutations':[{'op':'putBlob',"
	    "'name':'out','sha256':'%s','type':'text/plain'}]", sha);
	assert_string_equal(complete(lease, buf_text(&b)), "applied");
	assert_string_equal(items_say(200, "GET /items/k1/blobs/out", NULL,
	    NULL), "bytes of a run");
	items_say(400, "PUT /worker/blob?lease=Lx", NULL, "x");
}

/* What argiope worker asks for besides; this configuration has no module. */
static void
remote(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	items_say(200, "GET /worker/config", NULL, NULL);
	assert_int_equal(strlen(items_at("/hash")), 64);
	assert_string_equal(items_at("/generation"), "1");
	items_say(201, "POST /items/r1", NULL, "{'tags':['check']}");
	items_say_bytes(201, "PUT /items/r1/blobs/in",
	    "Content-Type: text/x-in\r\n", STR("bytes"));
	claim("b:check", lease);
	buf_printf(&b, "GET /worker/blob?lease=%s&id=r1&name=in", lease);
	assert_string_equal(items_say(200, buf_text(&b), NULL, NULL),
	    "{\"type\":\"text/x-in\"}\nbytes");
	buf_put_char(&b, 'x');
	assert_string_equal(items_say(200, buf_text(&b), NULL, NULL),
	    "null\n");
	items_say(400, "GET /worker/blob?lease=Lx&id=r1&name=in", NULL, NULL);
	items_say(400, "GET /worker/blob?id=r1&name=in", NULL, NULL);

	/* No sessions without functions. */
	buf_clear(&b);
	buf_printf(&b, "{'lease':'%s','do':'ask','name':'s'}", lease);
	items_say(404, "POST /worker/session", NULL, buf_text(&b));
	items_want(400, "POST /worker/session", "{'lease':'Lx','do':'log',"
	    "'name':'s'}", "do: it is none of ask");
	items_want(400, "POST /worker/session", "{'lease':'Lx','do':'store',"
	    "'name':'s'}", "data: it is no object");
	items_want(400, "POST /worker/fetch", "{'lease':'Lx','url':'http://a/',"
	    "'bodyBase64':'?'}", "bodyBase64: it is no base64");
	items_want(400, "POST /worker/fetch", "{'lease':'Lx','url':'http://a/',"
	    "'redirect':'x'}", "redirect: it is neither");

	assert_string_equal(complete(lease, "'outcome':'success',"
	    "'mutations':[],'used':{'wall_ms':12,'cpu_ms':3,'memory_bytes':"
	    "4096,'fetches':-1,'bytes':9,'requests':[{'url':'http://a/'}]}"),
	    "applied");
	items_say(200, "GET /items/r1/tasks/b:check/runs", NULL, NULL);
	assert_string_equal(items_at("/runs/0/wall_ms"), "12");
	assert_string_equal(items_at("/runs/0/memory_bytes"), "4096");
	assert_string_equal(items_at("/runs/0/fetches"), "0");
	buf_clear(&b);
	buf_printf(&b, "GET /runs/%s", items_at("/runs/0/run"));
	items_say(200, buf_text(&b), NULL, NULL);
	assert_string_equal(items_at("/fetches/0/url"), "http://a/");
}

static void
loses(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	items_say(201, "POST /items/l1", NULL, "{'tags':['check']}");
	claim("b:check", lease);
	buf_printf(&b, "{'leases':['%s','L']}", lease);
	items_say(200, "POST /worker/release", NULL, buf_text(&b));
	assert_string_equal(items_at("/released"), "1");
	assert_string_equal(complete(lease, "'outcome':'success'"),
	    "lease_lost");
	items_say(200, "GET /items/l1/operations", NULL, NULL);
	assert_string_equal(items_at("/operations/0/attempt"), "0");
	claim("b:check", other_lease);
	items_say(200, "DELETE /items/l1", NULL, NULL);
	assert_string_equal(complete(other_lease, "'outcome':'success'"),
	    "lease_lost");
	buf_clear(&b);
	buf_printf(&b, "{'lease':'%s'}", other_lease);
	items_say(409, "POST /worker/read", NULL, buf_text(&b));
	assert_string_equal(items_at("/code"), "lease_lost");
}

static void
failures(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char id[32];

	(void)state;
	items_say(201, "POST /items/f1", NULL, "{'tags':['check']}");
	claim("b:check", lease);
	assert_string_equal(complete(lease, "'outcome':'failure','error':"
	    "{'class':'permanent','message':'it broke'}"), "applied");
	items_say(200, "GET /tasks/b:check/failures?handled=false", NULL,
	    NULL);
	assert_string_equal(items_at("/failures/0/item"), "f1");
	snprintf(id, sizeof(id), "%s", items_at("/failures/0/id"));
	items_say(200, "GET /operations/b:check/failures?group=message", NULL,
	    NULL);
	assert_string_equal(items_at("/groups/0/message"), "it broke");
	assert_string_equal(items_at("/groups/0/items/0"), "f1");
	items_say(400, "GET /tasks/b:check/failures?group=item", NULL, NULL);
	items_say(400, "GET /tasks/b:check/failures?handled=maybe", NULL,
	    NULL);
	items_say(404, "GET /tasks/nothing/failures", NULL, NULL);
	buf_printf(&b, "GET /failures/%s", id);
	items_say(200, buf_text(&b), NULL, NULL);
	assert_string_equal(items_at("/task"), "b:check");
	items_say(404, "GET /failures/999999", NULL, NULL);
	items_say(400, "GET /failures/x", NULL, NULL);
	items_say(200, "GET /items/f1/tasks", NULL, NULL);
	assert_string_equal(items_at("/tasks/0/state"), "failed");
	buf_clear(&b);
	buf_printf(&b, "POST /failures/%s/handle", id);
	items_say(200, buf_text(&b), NULL, "{'note':'site fixed'}");
	assert_string_equal(items_at("/handled"), "1");
	assert_string_equal(items_at("/requeued"), "1");
	items_say(404, "POST /failures/999999/handle", NULL, "{}");
	claim("b:check", lease);
	assert_string_equal(complete(lease, "'outcome':'failure','error':"
	    "{'class':'permanent','message':'again'}"), "applied");
	items_say(200, "POST /operations/b:*/failures/handle", NULL,
	    "{'retry':false,'message':'other'}");
	assert_string_equal(items_at("/handled"), "0");
	items_say(200, "POST /tasks/b:*/failures/handle", NULL,
	    "{'retry':true}");
	assert_string_equal(items_at("/handled"), "1");
	items_say(200, "DELETE /items/f1", NULL, NULL);
}

static void
whole_tasks(void **state)
{
	(void)state;
	items_say(200, "GET /tasks", NULL, NULL);
	assert_string_equal(items_at("/tasks/0/task"), "a:fetch");
	assert_string_equal(items_at("/tasks/2/version"), "1");
	items_say(200, "GET /operations", NULL, NULL);
	assert_string_equal(items_at("/operations/1/task"), "a:norm");
	items_say(200, "GET /operations/a:norm", NULL, NULL);
	assert_string_equal(items_at("/paused"), "false");
	items_say(404, "GET /tasks/nothing", NULL, NULL);
	items_say(200, "POST /tasks/a:norm/pause", NULL, NULL);
	assert_string_equal(items_at("/task"), "a:norm");
	assert_string_equal(items_at("/paused"), "true");
	items_say(200, "POST /operations/a:*/pause", NULL, "{}");
	assert_string_equal(items_at("/tasks/0/paused"), "true");
	assert_string_equal(items_at("/tasks/1/paused"), "true");
	assert_string_equal(items_at("/tasks/2/task"), "");
	items_say(200, "POST /tasks/*/resume", NULL, NULL);
	assert_string_equal(items_at("/tasks/2/paused"), "false");
	items_say(404, "POST /tasks/z:*/pause", NULL, NULL);
	items_say(404, "POST /tasks/z/resume", NULL, NULL);
	items_say(404, "POST /tasks/z/expire", NULL, NULL);
	items_say(200, "POST /operations/a:fetch/expire", NULL,
	    "{'prefix':'w'}");
	items_say(200, "GET /items/w1/operations", NULL, NULL);
	assert_string_equal(items_at("/operations/0/state"), "stale");
	items_say(200, "POST /tasks/*/expire", NULL, "{'tag':'page'}");
	items_say(400, "POST /tasks/*/expire", NULL, "{'tags':'page'}");
	items_say(200, "POST /items/w1/tasks/a:fetch/ttl", NULL,
	    "{'ttl':'7d'}");
	assert_int_equal(strlen(items_at("/expires_at")), 24);
	items_say(200, "POST /items/w1/operations/a:fetch/ttl", NULL,
	    "{'ttl':null}");
	assert_string_equal(items_at("/expires_at"), "null");
	items_say(400, "POST /items/w1/operations/a:fetch/ttl", NULL,
	    "{'ttl':'7 days'}");
	items_say(400, "POST /items/w1/operations/a:fetch/ttl", NULL, "{}");
	items_say(404, "POST /items/w1/operations/nothing/expire", NULL,
	    "{}");
}

static void
refused_claims(void **state)
{
	static const struct {
		int status;
		const char *request, *body, *text;
	} t[] = {
		{ 400, "POST /worker/claim", "{}", "worker: it is missing" },
		{ 400, "POST /worker/claim", "{'worker':'w','max':0}",
		    "max: " },
		{ 400, "POST /worker/claim", "{'worker':'w','max':1001}",
		    "max: " },
		{ 400, "POST /worker/claim", "{'worker':'w','wait_ms':60001}",
		    "wait_ms: " },
		{ 400, "POST /worker/claim", "{'worker':'w','lease_ms':1}",
		    "lease_ms: " },
		{ 400, "POST /worker/claim", "{'worker':'w','task':'a'}",
		    "task: there is no such member" },
		{ 400, "POST /worker/heartbeat", "{}", "leases: " },
		{ 400, "POST /worker/release", "{'leases':[1]}", "leases: " },
		{ 400, "POST /worker/complete", "{}",
		    "completions: it is missing" },
		{ 400, "POST /worker/complete", "{'completions':[{}]}",
		    "completions: one has no lease" },
		{ 400, "POST /worker/read", "{'items':['w1']}",
		    "lease: it is missing" },
		{ 400, "PUT /worker/blob", "x", "lease: it is missing" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		items_want(t[i].status, t[i].request, t[i].body, t[i].text);
	items_say(415, "POST /worker/complete", "Content-Type: text/plain\r\n",
	    "{'completions':[]}");
	items_say(200, "POST /worker/complete", NULL, "{'completions':[]}");
}

/* -- Claims that wait -- */

static int
say_claim(const char *task, int wait_ms)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	FREED(buf_free) struct buf body = BUF_INIT;
	int fd = dial();

	buf_printf(&body, "{\"worker\":\"w\",\"tasks\":[\"%s\"],\"wait_ms\":"
	    "%d}", task, wait_ms);
	buf_printf(&b, "POST /worker/claim HTTP/1.1\r\n" HOST
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    body.n, buf_text(&body));
	say(fd, b.p, b.n);
	return fd;
}

static void
waits(void **state)
{
	struct answer a = { .status = 0 };
	int64_t began = clock_mono().ns;

	(void)state;
	int fd = say_claim("b:check", 300);
	hear(fd, &a, false);
	close(fd);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(buf_text(&a.body), "\"leases\":[]"));
	assert_true(clock_mono().ns - began >= 290 * NS_PER_MS);
	fd = say_claim("b:check", 10000);
	poll(NULL, 0, 100);
	began = clock_mono().ns;
	items_say(201, "POST /items/wait1", NULL, "{'tags':['check']}");
	hear(fd, &a, false);
	close(fd);
	assert_true(clock_mono().ns - began < 5000 * NS_PER_MS);
	assert_non_null(strstr(buf_text(&a.body), "\"lease\":\"L"));
	answer_free(&a);
	items_say(200, "DELETE /items/wait1", NULL, NULL);
}

/* A worker that has gone gets nothing: its leases come back at once. */
static void
gone(void **state)
{
	char state_[32] = "";

	(void)state;
	int fd = say_claim("b:check", 20000);
	poll(NULL, 0, 100);
	close(fd);
	poll(NULL, 0, 100);
	items_say(201, "POST /items/gone1", NULL, "{'tags':['check']}");
	for (int i = 0; i < 200; i++) {
		items_say(200, "GET /items/gone1/operations", NULL, NULL);
		snprintf(state_, sizeof(state_), "%s",
		    items_at("/operations/0/state"));
		if (i > 10 && strcmp(state_, "unprocessed") == 0)
			break;
		poll(NULL, 0, 10);
	}
	assert_string_equal(state_, "unprocessed");
	assert_string_equal(items_at("/operations/0/attempt"), "0");
	items_say(200, "DELETE /items/gone1", NULL, NULL);
}

/* SIGTERM: a claim that waits is answered before the port drains. */
static void
stops(void **state)
{
	struct answer a = { .status = 0 };
	int64_t began = clock_mono().ns;

	(void)state;
	int fd = say_claim("b:check", 30000);
	poll(NULL, 0, 100);
	items_rig_stop();
	hear(fd, &a, false);
	close(fd);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(buf_text(&a.body), "\"leases\":[]"));
	assert_true(clock_mono().ns - began < 5000 * NS_PER_MS);
	answer_free(&a);
}

static void
claims_max(void **state)
{
	(void)state;
	int a = say_claim("b:check", 2000), b = say_claim("b:check", 2000);
	poll(NULL, 0, 100);
	items_say(503, "POST /worker/claim", NULL, "{'worker':'w',"
	    "'wait_ms':1000}");
	close(a);
	close(b);
	/* 3 completions in commits of 2, and a body that is too long. */
	items_say(200, "POST /worker/complete", NULL, "{'completions':["
	    "{'lease':'La','outcome':'success'},"
	    "{'lease':'Lb','outcome':'success'},"
	    "{'lease':'Lc','outcome':'success'}]}");
	assert_string_equal(items_at("/results/2/lease"), "Lc");
	assert_string_equal(items_at("/results/3/lease"), "");
	FREED(buf_free) struct buf body = BUF_INIT;
	memset(buf_grow(&body, 1025), ' ', 1025);
	items_say_bytes(400, "POST /worker/complete", NULL,
	    str_cut(buf_str(&body), 0, 1024));
	items_say_bytes(413, "POST /worker/complete", NULL, buf_str(&body));
	assert_non_null(strstr(items_at("/error"), "completions: "));
	items_rig_counted("argiope_items_refused_total");
	items_rig_counted(ITEMS_REFUSED("complete_bytes_max"));
}

/* A completion has 3 mutations at most; one with more does not end its run. */
static void
mutations_max(void **state)
{
#define CHANGE "{'op':'updateTags','add':[]}"

	(void)state;
	items_say(201, "POST /items/m1", NULL, "{'tags':['check']}");
	claim("b:check", lease);
	assert_string_equal(complete(lease, "'outcome':'success',"
	    "'mutations':[" CHANGE "," CHANGE "," CHANGE "," CHANGE "]"),
	    "refused");
	assert_string_equal(items_at("/results/0/reason"),
	    "mutations: there are more than 3");
	items_rig_counted(ITEMS_REFUSED("mutations_max"));
	assert_string_equal(complete(lease, "'outcome':'success',"
	    "'mutations':[" CHANGE "," CHANGE "," CHANGE "]"), "applied");
}

/* A configuration has 3 tasks and a migration at most. */
static void
config_limits(void **state)
{
#define TASK(name) "'" name "':{'version':'1','remote':true}"
#define RENAME(id) "{'id':'" id "','renameTag':['" id "','x" id "']}"
#define THREE TASK("a") "," TASK("b") "," TASK("c")
	(void)state;
	items_rig_config("{'tasks':{" THREE "},'migrations':[" RENAME("1")
	    "]}");
	items_say(200, "POST /items-config/reload", NULL, NULL);
	items_rig_config("{'tasks':{" THREE "," TASK("d") "}}");
	items_want(422, "POST /items-config/reload", NULL,
	    "tasks: it has more than 3 tasks");
	items_rig_counted(ITEMS_REFUSED("tasks_max"));
	items_rig_config("{'tasks':{" THREE "},'migrations':[" RENAME("1") ","
	    RENAME("2") "]}");
	items_want(422, "POST /items-config/reload", NULL,
	    "migrations: it has more than 1 elements");
	items_rig_counted(ITEMS_REFUSED("migrations_max"));
	items_say(404, "GET /tasks/d", NULL, NULL);
	items_say(200, "GET /tasks/c", NULL, NULL);
}

static int
small_setup(void **state)
{
	static const char *const settings[] = { "items.claims_max=2",
		"items.completions_max=2", "items.complete_bytes_max=1024",
		"items.tasks_max=3", "items.migrations_max=1",
		"items.mutations_max=3", NULL };

	(void)state;
	items_rig_open(settings);
	return 0;
}

/* -- The configuration -- */

static void
configuration(void **state)
{
	(void)state;
	items_say(200, "GET /items-config", NULL, NULL);
	assert_string_equal(items_at("/generation"), "1");
	assert_string_equal(items_at("/files/0"), "items.json");
	assert_non_null(strstr(items_say(200,
	    "GET /items-config/files/items.json", NULL, NULL), "a:fetch"));
	items_say(404, "GET /items-config/files/other.json", NULL, NULL);
	items_say(404, "GET /items-config/files/..%2Fitems.json", NULL, NULL);
	items_rig_config("{'tasks':{'a:fetch':{'version':'1','remote':true,"
	    "'ttl':'soon'},'b':{'version':2,'remote':true}},'tag':{}}");
	items_say(422, "POST /items-config/reload", NULL, NULL);
	/* Each of them, with its place. */
	assert_true(items_at("/faults/2")[0] != '\0');
	items_want(422, "POST /items-config/reload", NULL,
	    "tasks.a:fetch.ttl: ");
	items_want(422, "POST /items-config/reload", NULL,
	    "tasks.b.version: ");
	assert_non_null(strstr(items_rig_note(), "configuration refused"));
	items_rig_config("{'tasks':");
	items_say(422, "POST /items-config/reload", NULL, "{}");
	items_say(200, "GET /tasks/b:check", NULL, NULL);
	items_rig_config("{'tags':{'page':['c']},'tasks':{'c':{'version':'1',"
	    "'remote':true}}}");
	items_say(200, "POST /items-config/reload", NULL, "{}");
	assert_string_equal(items_at("/generation"), "2");
	items_say(200, "GET /tasks/c", NULL, NULL);
	assert_null(strstr(items_rig_note(), "refused"));
	items_say(400, "POST /items-config/reload", NULL, "{'file':'x'}");
}

#define LIVE(name) cmocka_unit_test(name)
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		LIVE(runs), LIVE(conflicts), LIVE(remote), LIVE(loses),
		LIVE(failures),
		LIVE(whole_tasks), LIVE(refused_claims), LIVE(waits),
		LIVE(gone), LIVE(configuration), LIVE(stops),
	};
	const struct CMUnitTest small[] = { LIVE(mutations_max),
		LIVE(claims_max), LIVE(config_limits) };

	return items_rig_main(argc, argv,
	    cmocka_run_group_tests_name("tasks", tests, items_rig_setup,
	    items_rig_teardown) +
	    cmocka_run_group_tests_name("small", small, small_setup,
	    items_rig_teardown));
}
