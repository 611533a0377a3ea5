/*
 * backend -- the checks of a back end, by a crawler that is played: it
 * registers, gets tasks, and uploads what back ends have to accept and refuse.
 *
 *     register ─► start ─► upload ─► status ─► retry     one task
 *                     └──► silence, DELETE               two further ones
 */
#include "base/json_writer.h"
#include "cli/conformance/own.h"
#include "cli/simulator/json_body.h"
#include "wire/gzip.h"

#define NDJSON_TYPE "application/x-ndjson; charset=utf-8"
#define GZIP_LEVEL 6
#define NOTICE_MS 5000           /* for a PATCH that is due */
#define COUNT 3                  /* the parameter of each task */
#define STREAM "{\"links\":[{\"from\":{\"type\":\"streams\",\"fid\":" \
	"\"s1\"}}]}"

/* The registration, and the task that uploads. */
struct session {
	struct conformance *c;
	struct str external, crawler, task, endpoint;
	uint64_t version;            /* of the external object */
	uint64_t uploads;            /* keys so far */
};

static struct peer_answer
ask(struct session *s, const char *method, struct str path, const char *body)
{
	struct peer_order o = { .method = method, .url = peer_url(s->c,
	    arena_copy(&s->c->arena, path).p, STR("")),
	    .body = str_of(body == NULL ? "" : body) };

	return peer_call(s->c, &o);
}

static bool
judge_success(struct conformance *c, enum check_id id,
    const struct peer_answer *a)
{
	return verdict_judge(c->verdicts, id, peer_is_success(a), "%s",
	    peer_status_text(c, a, "200 with success"));
}

/* ---- Registration --------------------------------------------------- */

static struct str
probe(struct conformance *c)
{
	return arena_printf(&c->arena, "Bearer conformance-%s", c->run);
}

static struct str
external_object(struct conformance *c)
{
	return arena_printf(&c->arena, "{\"meta\":{\"name\":\"Conformance\","
	    "\"description\":\"old\"},\"endpoint\":\"%.*s/crawler\","
	    "\"docIdField\":\"id\",\"schema\":{\"type\":\"object\","
	    "\"properties\":{\"id\":{\"type\":\"integer\"},"
	    "\"text\":{\"type\":\"string\"}},\"required\":[\"id\"]},"
	    "\"headers\":{\"Authorization\":\"%.*s\"},\"credential\":"
	    "\"ignore\",\"parameters\":[{\"name\":\"count\","
	    "\"display_name\":\"Count\",\"description\":\"\",\"req\":false,"
	    "\"type\":\"integer\",\"min\":1,\"max\":10},{\"name\":\"more\","
	    "\"display_name\":\"More\",\"description\":\"\",\"req\":false,"
	    "\"type\":\"string\"}]}", STR_FMT(c->base), STR_FMT(probe(c)));
}

static struct str
add_external(struct session *s, enum check_id id)
{
	struct conformance *c = s->c;
	struct peer_answer a = ask(s, "POST", STR("/externals"),
	    external_object(c).p);
	yyjson_val *version = member_at(a.json, "payload.meta.version");
	struct str fid = json_text(member_at(a.json, "payload.meta.fid"));

	if (judge_success(c, id, &a))
		verdict_judge(c->verdicts, id, fid.n > 0 &&
		    yyjson_is_uint(version), "payload.meta needs fid and "
		    "version");
	s->version = yyjson_get_uint(version);
	return fid;
}

static void
judge_changed(struct session *s)
{
	struct conformance *c = s->c;
	struct peer_answer a = ask(s, "PATCH", arena_printf(&c->arena,
	    "/externals/%.*s", STR_FMT(s->external)), "{\"meta\":{"
	    "\"description\":\"new\"},\"parameters\":[{\"name\":\"count\","
	    "\"display_name\":\"Count\",\"description\":\"\",\"req\":false,"
	    "\"type\":\"integer\",\"min\":1,\"max\":20}]}");
	yyjson_val *meta = member_at(a.json, "payload.meta");
	uint64_t version = yyjson_get_uint(yyjson_obj_get(meta, "version"));

	if (!judge_success(c, CHECK_REGISTER_CHANGED, &a))
		return;
	verdict_judge(c->verdicts, CHECK_REGISTER_CHANGED, version ==
	    s->version + 1, "the version is %llu after %llu",
	    (unsigned long long)version, (unsigned long long)s->version);
	verdict_judge(c->verdicts, CHECK_REGISTER_CHANGED, str_eq(json_text(
	    yyjson_obj_get(meta, "name")), STR("Conformance")) && str_eq(
	    json_text(yyjson_obj_get(meta, "description")), STR("new")),
	    "meta was not merged");
	verdict_judge(c->verdicts, CHECK_REGISTER_CHANGED, yyjson_arr_size(
	    member_at(a.json, "payload.parameters")) == 1,
	    "parameters were not replaced");
	s->version = version;
}

static void
judge_removed(struct session *s)
{
	struct conformance *c = s->c;
	struct session other = { .c = c };
	struct str path = arena_printf(&c->arena, "/externals/%.*s",
	    STR_FMT(add_external(&other, CHECK_REGISTER_REMOVED)));
	struct peer_answer a = ask(s, "DELETE", path, NULL);

	if (judge_success(c, CHECK_REGISTER_REMOVED, &a)) {
		a = ask(s, "PATCH", path, "{}");
		peer_judge_refusal(c, CHECK_REGISTER_REMOVED, &a, 404);
	}
}

static void
judge_register(struct session *s)
{
	struct peer_answer a = ask(s, "PATCH", STR("/externals/none"), "{}");

	peer_judge_refusal(s->c, CHECK_REGISTER_UNKNOWN, &a, 404);
	s->external = add_external(s, CHECK_REGISTER_ADDED);
	if (s->external.n == 0)
		return;
	judge_changed(s);
	judge_removed(s);
}

/* ---- Start ---------------------------------------------------------- */

static struct peer_answer
make_crawler(struct session *s, const char *meta, const char *params)
{
	struct conformance *c = s->c;

	return ask(s, "POST", arena_printf(&c->arena, "/actions/externals/"
	    "%.*s/crawler", STR_FMT(s->external)), arena_printf(&c->arena,
	    "{\"meta\":%s,\"params\":%s,\"credential\":{}}", meta,
	    params).p);
}

static struct peer_answer
post_task(struct session *s, struct str crawler)
{
	struct conformance *c = s->c;

	return ask(s, "POST", arena_printf(&c->arena, "/actions/crawlers/%.*s"
	    "/task", STR_FMT(crawler)), arena_printf(&c->arena,
	    "{\"params\":{\"count\":%d}}", COUNT).p);
}

/* The last notice about the task, of tasks or of PATCHes; or NULL. */
static const struct notice *
find_notice(const struct conformance *c, struct str fid, bool is_task)
{
	const struct notice *found = NULL;

	for (size_t i = 0; i < c->notices_n; i++)
		if (c->notices[i].is_task == is_task &&
		    str_eq(c->notices[i].fid, fid))
			found = &c->notices[i];
	return found;
}

static size_t
count_tasks(const struct conformance *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->notices_n; i++)
		n += c->notices[i].is_task;
	return n;
}

/* A crawler with a task that was started; STR_NONE: there is none. */
static struct str
start_further(struct session *s)
{
	struct peer_answer a = make_crawler(s, STREAM, "{}");
	struct str crawler = json_text(member_at(a.json,
	    "payload.crawler.meta.fid"));

	if (crawler.n == 0)
		return STR_NONE;
	a = post_task(s, crawler);
	return json_text(member_at(a.json, "payload.meta.fid"));
}

static void
judge_refused_crawlers(struct session *s)
{
	struct peer_answer a = make_crawler(s, "{\"links\":[]}", "{}");

	peer_judge_refusal(s->c, CHECK_TASK_WITHOUT_STREAM, &a, 400);
	a = make_crawler(s, STREAM, "{\"count\":\"many\"}");
	peer_judge_refusal(s->c, CHECK_TASK_BAD_PARAMS, &a, 400);
}

static bool
has_version(const struct session *s, const struct notice *n)
{
	uint64_t version;

	return str_to_u64(n->version, &version) && version == s->version;
}

static void
judge_call(struct session *s, const struct notice *n)
{
	struct conformance *c = s->c;
	struct url url;

	s->endpoint = json_text(yyjson_obj_get(n->body, "endpoint"));
	verdict_judge(c->verdicts, CHECK_TASK_CALL, yyjson_get_uint(member_at(
	    n->body, "params.count")) == COUNT, "params.count is not %d",
	    COUNT);
	verdict_judge(c->verdicts, CHECK_TASK_ENDPOINT, crawler_read_url(
	    s->endpoint, "endpoint", &c->arena, &url, NULL) == OK,
	    "endpoint is no URL");
	verdict_judge(c->verdicts, CHECK_TASK_HEADERS, str_eq(n->authorization,
	    probe(c)), "Authorization is not that of the object's headers");
	verdict_judge(c->verdicts, CHECK_TASK_VERSION, has_version(s, n),
	    "version is %.*s, not %llu", (int)MIN(n->version.n, 20),
	    n->version.p, (unsigned long long)s->version);
}

static void
judge_once(struct session *s)
{
	struct conformance *c = s->c;
	size_t before = count_tasks(c);
	struct peer_answer a = post_task(s, s->crawler);

	if (verdict_judge(c->verdicts, CHECK_TASK_ONCE, a.status == 208, "%s",
	    peer_status_text(c, &a, "208")))
		verdict_judge(c->verdicts, CHECK_TASK_ONCE, count_tasks(c) ==
		    before, "a second task was sent");
}

static void
judge_tasks(struct session *s)
{
	struct conformance *c = s->c;
	const struct notice *n;
	struct peer_answer a;

	judge_refused_crawlers(s);
	a = make_crawler(s, STREAM, "{}");
	s->crawler = json_text(member_at(a.json, "payload.crawler.meta.fid"));
	if (!verdict_judge(c->verdicts, CHECK_TASK_CALL, s->crawler.n > 0,
	    "no crawler was made: %s", peer_status_text(c, &a, "200")))
		return;
	a = post_task(s, s->crawler);
	s->task = json_text(member_at(a.json, "payload.meta.fid"));
	n = find_notice(c, s->task, true);
	if (!verdict_judge(c->verdicts, CHECK_TASK_CALL, s->task.n > 0 &&
	    n != NULL, "the task did not reach the crawler: %s",
	    peer_status_text(c, &a, "200")))
		return;
	judge_call(s, n);
	judge_once(s);
}

/* ---- Uploads -------------------------------------------------------- */

/* The endpoint with `path` behind its path; its query stays. */
static struct str
task_url(struct session *s, struct str endpoint, const char *path)
{
	size_t at = str_find_char(endpoint, '?');

	return arena_printf(&s->c->arena, "%.*s%s%.*s", (int)at, endpoint.p,
	    path, STR_FMT(str_from(endpoint, at)));
}

static struct peer_answer
post_upload(struct session *s, struct str endpoint, struct str lines,
    const char *coding, const char *key)
{
	struct peer_order o = { .method = "POST", .url = task_url(s, endpoint,
	    "/upload"), .body = lines, .type = NDJSON_TYPE, .coding = coding,
	    .key = key };

	return peer_call(s->c, &o);
}

static const char *
make_key(struct session *s)
{
	return arena_printf(&s->c->arena, "%.*s:%llu", STR_FMT(s->task),
	    (unsigned long long)++s->uploads).p;
}

static struct peer_answer
upload_lines(struct session *s, struct str lines)
{
	return post_upload(s, s->endpoint, lines, NULL, make_key(s));
}

static void
judge_count(struct session *s, enum check_id id, const struct peer_answer *a,
    uint64_t count)
{
	yyjson_val *v = member_at(a->json, "payload.count");

	if (judge_success(s->c, id, a))
		verdict_judge(s->c->verdicts, id, yyjson_get_uint(v) == count,
		    "payload.count is not %llu", (unsigned long long)count);
}

static void
judge_gzip(struct session *s)
{
	FREED(buf_free) struct buf packed = BUF_INIT;
	struct gzip_writer *writer = gzip_writer_new(GZIP_LEVEL);
	struct str lines = STR("{\"id\":5,\"text\":\"gzip\"}");
	struct gzip_lengths lengths;
	struct peer_answer a;

	CHECK(gzip_put(writer, &lines, 1, &packed, &lengths, NULL) == OK);
	gzip_writer_free(&writer);
	a = post_upload(s, s->endpoint, buf_str(&packed), "gzip",
	    make_key(s));
	if (a.status == 400 || a.status == 415)
		verdict_pass(s->c->verdicts, CHECK_TAKES_GZIP);
	else
		judge_count(s, CHECK_TAKES_GZIP, &a, 1);
}

static void
judge_repeats(struct session *s)
{
	const char *key = make_key(s);
	struct str lines = STR("{\"id\":6}\n{\"id\":7}");
	struct peer_answer a = post_upload(s, s->endpoint, lines, NULL, key);
	uint64_t count = yyjson_get_uint(member_at(a.json, "payload.count"));

	a = post_upload(s, s->endpoint, lines, NULL, key);
	judge_count(s, CHECK_EXT_KEY_AGAIN, &a, count);
	a = upload_lines(s, STR("{\"id\":1,\"text\":\"again\"}"));
	(void)judge_success(s->c, CHECK_TAKES_ID_AGAIN, &a);
}

static void
judge_refused_line(struct session *s)
{
	struct conformance *c = s->c;
	struct peer_answer a = upload_lines(s,
	    STR("{\"id\":8}\n{\"id\":\"eight\"}"));
	yyjson_val *errors = member_at(a.json, "payload.errors");

	peer_judge_refusal(c, CHECK_TAKES_REFUSED, &a, 406);
	verdict_judge(c->verdicts, CHECK_TAKES_REFUSED,
	    yyjson_arr_size(errors) == 1 && yyjson_get_uint(member_at(
	    yyjson_arr_get_first(errors), "line")) == 2,
	    "payload.errors does not name line 2 alone");
}

/* The endpoint of a task that is not there; empty: its form is not known. */
static struct str
unknown_endpoint(struct session *s)
{
	size_t at = str_find(s->endpoint, s->task);

	return at == s->endpoint.n ? STR("") : arena_printf(&s->c->arena,
	    "%.*snone%.*s", (int)at, s->endpoint.p,
	    STR_FMT(str_from(s->endpoint, at + s->task.n)));
}

static void
judge_unknown(struct session *s)
{
	struct conformance *c = s->c;
	struct str endpoint = unknown_endpoint(s);
	struct peer_order o = { .method = "POST", .url = task_url(s, endpoint,
	    "/status"), .body = STR("{\"code\":102,\"message\":\"\"}") };
	struct peer_answer a;

	if (endpoint.n == 0) {
		verdict_skip(c->verdicts, CHECK_TAKES_UNKNOWN,
		    "the endpoint does not contain the fid");
		verdict_skip(c->verdicts, CHECK_HEARS_UNKNOWN,
		    "the endpoint does not contain the fid");
		return;
	}
	a = post_upload(s, endpoint, STR("{\"id\":9}"), NULL, NULL);
	peer_judge_refusal(c, CHECK_TAKES_UNKNOWN, &a, 404);
	a = peer_call(c, &o);
	peer_judge_refusal(c, CHECK_HEARS_UNKNOWN, &a, 404);
}

/* Back ends that show a task's documents as the simulator does. */
static void
judge_output(struct session *s)
{
	struct conformance *c = s->c;
	struct peer_answer a = ask(s, "GET", arena_printf(&c->arena,
	    "/output/%.*s", STR_FMT(s->task)), NULL);
	struct task_trace t = { .n = 0 };
	struct arrival output = { .body = a.body, .accepted = true };
	struct map ids = MAP_INIT;
	size_t distinct = 0;

	if (a.status != 200) {
		verdict_skip(c->verdicts, CHECK_EXT_ONCE,
		    "the back end does not show a task's documents");
		return;
	}
	task_trace_read(&t, &output, STR("id"));
	for (size_t i = 0; i < output.documents; i++)
		distinct += map_put(&ids, output.ids[i], &output) == NULL;
	verdict_judge(c->verdicts, CHECK_EXT_ONCE, output.malformed == NULL &&
	    distinct == output.documents && map_get(&ids, STR("1")) != NULL &&
	    map_get(&ids, STR("7")) != NULL, "%zu documents have %zu ids",
	    output.documents, distinct);
	map_free(&ids);
	arena_free(&t.arena);
}

static void
judge_uploads_taken(struct session *s)
{
	struct conformance *c = s->c;
	struct peer_answer a = upload_lines(s,
	    STR("{\"id\":1,\"text\":\"one\"}\n{\"id\":2}"));

	judge_count(s, CHECK_TAKES_LINES, &a, 2);
	a = upload_lines(s, STR("{\"id\":3}\r\n{\"id\":4}"));
	judge_count(s, CHECK_TAKES_CRLF, &a, 2);
	judge_gzip(s);
	judge_repeats(s);
	a = upload_lines(s, STR("{\"id\":"));
	peer_judge_refusal(c, CHECK_TAKES_NOT_JSON, &a, 400);
	judge_refused_line(s);
	judge_unknown(s);
	judge_output(s);
}

/* ---- Statuses, and a retry ------------------------------------------ */

static struct peer_answer
post_status(struct session *s, const char *body)
{
	struct peer_order o = { .method = "POST", .url = task_url(s,
	    s->endpoint, "/status"), .body = str_of(body) };

	return peer_call(s->c, &o);
}

static void
judge_statuses(struct session *s)
{
	struct conformance *c = s->c;
	struct peer_answer a = post_status(s, "{\"code\":102,\"message\":"
	    "\"7 documents\",\"detail\":null}");

	(void)judge_success(c, CHECK_HEARS_RUNNING, &a);
	a = post_status(s, "{\"message\":\"no code\"}");
	peer_judge_refusal(c, CHECK_HEARS_MALFORMED, &a, 400);
	a = post_status(s, "{\"code\":200,\"message\":\"Done\","
	    "\"detail\":null}");
	if (!judge_success(c, CHECK_HEARS_CLOSED, &a))
		return;
	a = upload_lines(s, STR("{\"id\":10}"));
	peer_judge_refusal(c, CHECK_HEARS_CLOSED, &a, 404);
}

static void
judge_retry(struct session *s)
{
	struct conformance *c = s->c;
	size_t before = count_tasks(c);
	struct peer_answer a = ask(s, "POST", arena_printf(&c->arena,
	    "/actions/crawlers/%.*s/task/%.*s", STR_FMT(s->crawler),
	    STR_FMT(s->task)), "{}");

	if (judge_success(c, CHECK_TASK_RETRY, &a))
		verdict_judge(c->verdicts, CHECK_TASK_RETRY, count_tasks(c) ==
		    before + 1 && str_eq(c->notices[c->notices_n - 1].fid,
		    s->task), "the retry did not reach the crawler under its "
		    "fid");
	(void)post_status(s, "{\"code\":200,\"message\":\"Done\"}");
}

/* ---- Stop ----------------------------------------------------------- */

struct patch_wait {
	const struct conformance *c;
	struct str fid;
};

static bool
has_patch(void *arg)
{
	const struct patch_wait *w = arg;

	return find_notice(w->c, w->fid, false) != NULL;
}

/* The PATCH of that task; NULL: none came. */
static const struct notice *
await_patch(struct session *s, struct str fid, int64_t ms)
{
	struct patch_wait w = { s->c, fid };

	(void)conformance_wait(s->c, has_patch, &w, ms);
	return find_notice(s->c, fid, false);
}

static void
judge_patch(struct session *s, const struct notice *n)
{
	struct conformance *c = s->c;

	verdict_judge(c->verdicts, CHECK_STOPS_HEADERS, str_eq(n->authorization,
	    probe(c)), "Authorization is not that of the object's headers");
	verdict_judge(c->verdicts, CHECK_STOPS_HEADERS, has_version(s, n),
	    "version is %.*s", (int)MIN(n->version.n, 20), n->version.p);
}

static void
judge_stops(struct session *s)
{
	struct conformance *c = s->c;
	struct str silent = start_further(s), deleted = start_further(s);
	const struct notice *n;
	struct peer_answer a;
	uint64_t code;

	if (silent.n == 0 || deleted.n == 0) {
		verdict_fail(c->verdicts, CHECK_STOPS_SILENT,
		    "the task did not start");
		return;
	}
	a = ask(s, "DELETE", arena_printf(&c->arena, "/actions/tasks/%.*s",
	    STR_FMT(deleted)), NULL);
	n = await_patch(s, deleted, NOTICE_MS);
	code = n == NULL ? 0 : yyjson_get_uint(yyjson_obj_get(n->body,
	    "code"));
	if (judge_success(c, CHECK_STOPS_CANCELLED, &a) &&
	    verdict_judge(c->verdicts, CHECK_STOPS_CANCELLED, code >= CODE_DONE,
	    "no PATCH with a closing code came within %d s",
	    NOTICE_MS / 1000))
		judge_patch(s, n);
	n = await_patch(s, silent, c->options->silence_s * 1000 + NOTICE_MS);
	code = n == NULL ? 0 : yyjson_get_uint(yyjson_obj_get(n->body,
	    "code"));
	if (verdict_judge(c->verdicts, CHECK_STOPS_SILENT, code == CODE_TIMEOUT,
	    "no PATCH with 408 came within %lld s",
	    (long long)c->options->silence_s + NOTICE_MS / 1000))
		judge_patch(s, n);
}

/* ---- All groups ----------------------------------------------------- */

/* Without a task a group must not end with skipped checks alone. */
static void
fail_all(struct conformance *c)
{
	static const enum check_id firsts[] = { CHECK_TASK_CALL,
		CHECK_TAKES_LINES, CHECK_HEARS_RUNNING, CHECK_STOPS_SILENT,
		CHECK_EXT_KEY_AGAIN };

	for (size_t i = 0; i < ARRAY_LEN(firsts); i++)
		verdict_fail(c->verdicts, firsts[i], "no task was started");
}

void
judge_backend(struct conformance *c)
{
	static const char *const groups[] = { "register", "start", "upload",
		"status", "stop", "extensions" };
	struct session s = { .c = c };

	judge_register(&s);
	if (s.external.n > 0)
		judge_tasks(&s);
	if (s.endpoint.n > 0) {
		judge_uploads_taken(&s);
		judge_statuses(&s);
		judge_retry(&s);
	} else {
		fail_all(c);
	}
	if (s.endpoint.n > 0 && verdicts_wants(c->verdicts, "stop"))
		judge_stops(&s);
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		conformance_print(c, groups[i]);
	if (s.external.n > 0)
		(void)ask(&s, "DELETE", arena_printf(&c->arena,
		    "/externals/%.*s", STR_FMT(s.external)), NULL);
}
