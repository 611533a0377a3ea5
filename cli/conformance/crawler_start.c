/*
 * crawler_start -- the checks of POST /task: what it answers, what it refuses;
 * and those of the crawler's own views.
 */
#include "base/json_writer.h"
#include "cli/conformance/own.h"
#include "cli/simulator/params_check.h"

#define STOP_BODY "{\"code\":408,\"message\":\"Task is timeout\"}"

/* ---- The answer ----------------------------------------------------- */

static void
judge_envelope(struct conformance *c, const struct peer_answer *a)
{
	bool fine = verdict_judge(c->verdicts, CHECK_START_ENVELOPE,
	    a->status >= 200 && a->status < 300, "%s",
	    peer_status_text(c, a, "200"));

	if (fine && verdict_judge(c->verdicts, CHECK_START_ENVELOPE,
	    str_starts_nocase(a->type, STR("application/json")),
	    "the answer is %.*s, not application/json",
	    (int)MIN(a->type.n, 60), a->type.p))
		verdict_judge(c->verdicts, CHECK_START_ENVELOPE,
		    peer_is_success(a) && yyjson_is_obj(yyjson_obj_get(a->json,
		    "payload")) && yyjson_is_uint(yyjson_obj_get(a->json,
		    "version")), "the answer needs success true, an object "
		    "payload and a version");
}

static void
judge_first_status(struct conformance *c, const struct peer_answer *a)
{
	yyjson_val *code = member_at(a->json, "payload.status.code");

	if (verdict_judge(c->verdicts, CHECK_START_STATUS,
	    yyjson_is_uint(code) && yyjson_get_uint(code) <= CODE_MAX,
	    "payload.status.code is no whole number from 0 to 999"))
		verdict_judge(c->verdicts, CHECK_START_STATUS, yyjson_is_str(
		    member_at(a->json, "payload.status.message")),
		    "payload.status.message is no text");
}

static void
judge_callback(struct conformance *c, const struct peer_answer *a)
{
	struct str text = json_text(member_at(a->json, "payload.callback"));

	if (verdict_judge(c->verdicts, CHECK_START_CALLBACK, text.n > 0,
	    "payload.callback is missing"))
		verdict_judge(c->verdicts, CHECK_START_CALLBACK,
		    crawler_callback_is_fine(c, text), "payload.callback has "
		    "another origin than the crawler");
}

/* ---- Refusals ------------------------------------------------------- */

static void
judge_missing(struct conformance *c, enum check_id id, const char *more)
{
	struct task_trace *t = played_backend_task(c, NULL);
	struct peer_answer a = crawler_task_send(c, t, more);

	peer_judge_refusal(c, id, &a, 400);
}

static void
judge_not_json(struct conformance *c)
{
	struct peer_order o = { .method = "POST", .url = peer_url(c, "/task",
	    STR("version=1")), .body = STR("{\"fid\":") };
	struct peer_answer a = peer_call(c, &o);

	peer_judge_refusal(c, CHECK_START_NOT_JSON, &a, 400);
}

/* Values, one of which is wrong for a parameter that can be wrong at all. */
static const char *const candidates[] = { "{\"no\":\"value\"}", "\"no value\"",
	"-7" };

/* {"params":{NAME:VALUE}} */
static const char *
change_param(struct conformance *c, struct str name, const char *value)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_text(&b, "{\"params\":{");
	json_item(&b, name);
	buf_printf(&b, ":%s}}", value);
	return arena_copy(&c->arena, buf_str(&b)).p;
}

/* A change that makes the parameters of the row wrong; NULL: there is none. */
static const char *
find_bad_value(struct conformance *c, yyjson_val *form, struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
		const char *change = change_param(c, name, candidates[i]);
		struct param_faults faults = { .arena = &c->arena };
		yyjson_doc *doc = yyjson_read(change, strlen(change), 0);
		bool fine = params_check(form, yyjson_obj_get(
		    yyjson_doc_get_root(doc), "params"), &faults);
		bool named = false;
		yyjson_doc_free(doc);
		for (size_t k = 0; k < faults.n; k++)
			named |= str_find(faults.texts[k], name) <
			    faults.texts[k].n;
		if (!fine && named)
			return change;
	}
	return NULL;
}

static void
judge_bad_param(struct conformance *c, struct str name, const char *change)
{
	struct task_trace *t = played_backend_task(c, NULL);
	struct peer_answer a = crawler_task_send(c, t, change);

	if (!verdict_judge(c->verdicts, CHECK_START_BAD_PARAMS, a.status == 400,
	    "%.*s: %s", STR_FMT(name), peer_status_text(c, &a, "400")))
		return;
	verdict_judge(c->verdicts, CHECK_START_BAD_PARAMS,
	    str_find(a.body, name) < a.body.n,
	    "%.*s: the messages do not name it", STR_FMT(name));
}

static void
judge_bad_params(struct conformance *c)
{
	yyjson_val *form = yyjson_obj_get(c->options->object, "parameters");
	struct why w = WHY_INIT;
	yyjson_val *row;
	size_t i, most, tried = 0;

	if (form == NULL || params_check_form(form, &w) != OK) {
		verdict_skip(c->verdicts, CHECK_START_BAD_PARAMS, "%s", form ==
		    NULL ? "there is no --object with parameters" : w.text);
		return;
	}
	yyjson_arr_foreach(form, i, most, row) {
		struct str name = json_text(yyjson_obj_get(row, "name"));
		const char *change = find_bad_value(c, form, name);
		tried += change != NULL;
		if (change != NULL)
			judge_bad_param(c, name, change);
	}
	if (tried == 0)
		verdict_skip(c->verdicts, CHECK_START_BAD_PARAMS,
		    "every value is right for these parameters");
}

static void
judge_oauth_start(struct conformance *c)
{
	struct task_trace *t = played_backend_task(c, NULL);
	struct peer_answer a = crawler_task_send(c, t, "{\"credential\":{"
	    "\"oauth\":{\"user\":\"nobody\","
	    "\"issued\":\"2026-01-01T00:00:00Z\","
	    "\"expiry\":\"2026-02-01T00:00:00Z\"}}}");

	if (a.status != 400)
		verdict_judge(c->verdicts, CHECK_START_OAUTH,
		    peer_is_success(&a), "%s", peer_status_text(c, &a,
		    "200 or 400"));
	else
		peer_judge_refusal(c, CHECK_START_OAUTH, &a, 400);
	if (peer_is_success(&a))
		(void)crawler_task_patch(c, t, false, STOP_BODY);
}

void
judge_start(struct conformance *c)
{
	struct task_trace *t = played_backend_task(c, NULL);
	struct peer_answer a = crawler_task_send(c, t, NULL);

	judge_envelope(c, &a);
	judge_first_status(c, &a);
	judge_callback(c, &a);
	judge_missing(c, CHECK_START_MISSING_ENDPOINT, "{\"endpoint\":null}");
	judge_missing(c, CHECK_START_MISSING_FID, "{\"fid\":null}");
	judge_not_json(c);
	judge_bad_params(c);
	judge_oauth_start(c);
	(void)crawler_task_patch(c, t, false, STOP_BODY);
}

/* ---- Extensions ----------------------------------------------------- */

static struct peer_answer
get_view(struct conformance *c, const char *path)
{
	struct peer_order o = { .method = "GET",
	    .url = peer_url(c, path, STR("")) };

	return peer_call(c, &o);
}

static bool
judge_view(struct conformance *c, enum check_id id,
    const struct peer_answer *a)
{
	return verdict_judge(c->verdicts, id, peer_is_success(a), "%s",
	    peer_status_text(c, a, "200 with success"));
}

static void
judge_object_view(struct conformance *c)
{
	struct peer_answer a = get_view(c, "/object");
	yyjson_val *object = member_at(a.json, "payload");

	if (judge_view(c, CHECK_EXT_OBJECT, &a))
		verdict_judge(c->verdicts, CHECK_EXT_OBJECT, yyjson_is_str(
		    member_at(object, "endpoint")) && yyjson_obj_size(member_at(
		    object, "headers")) == 0, "the object needs an endpoint "
		    "and no headers");
}

static void
judge_form_view(struct conformance *c)
{
	struct peer_answer a = get_view(c, "/form");

	if (judge_view(c, CHECK_EXT_FORM, &a))
		verdict_judge(c->verdicts, CHECK_EXT_FORM,
		    yyjson_is_obj(member_at(a.json, "payload")),
		    "the form is no object");
}

static void
judge_task_views(struct conformance *c, const struct task_trace *t)
{
	struct str path = arena_printf(&c->arena, "/task/%.*s",
	    STR_FMT(t->fid));
	struct peer_answer a = get_view(c, path.p);

	if (judge_view(c, CHECK_EXT_TASK, &a))
		verdict_judge(c->verdicts, CHECK_EXT_TASK,
		    yyjson_is_uint(member_at(a.json, "payload.status.code")) &&
		    yyjson_is_uint(member_at(a.json, "payload.uploaded")),
		    "the task needs status.code and uploaded");
	a = get_view(c, arena_printf(&c->arena, "%.*s/log",
	    STR_FMT(path)).p);
	(void)judge_view(c, CHECK_EXT_LOG, &a);
}

static void
judge_repeated_fid(struct conformance *c, struct task_trace *t)
{
	struct peer_answer a = crawler_task_send(c, t, NULL);
	struct str callback = json_text(member_at(a.json, "payload.callback"));

	if (verdict_judge(c->verdicts, CHECK_EXT_REPEATED_FID,
	    peer_is_success(&a), "%s", peer_status_text(c, &a, "200")))
		verdict_judge(c->verdicts, CHECK_EXT_REPEATED_FID,
		    str_eq(callback, t->callback),
		    "the callback is another one");
	a = crawler_task_send(c, t, arena_printf(&c->arena, "{\"endpoint\":"
	    "\"%.*s/other\"}", STR_FMT(t->endpoint)).p);
	peer_judge_refusal(c, CHECK_EXT_CONFLICT, &a, 409);
}

static void
judge_keys(struct conformance *c)
{
	struct task_trace *t = played_backend_task(c, "{\"faults\":["
	    "{\"call\":\"upload\",\"number\":1,\"reply_lost\":true}]}");
	const char *reason;

	if (crawler_task_start(c, t))
		crawler_tasks_wait(c, &t, 1);
	if (!verdict_judge(c->verdicts, CHECK_EXT_KEYS,
	    t->calls[FAULT_UPLOAD] > 1,
	    "the upload whose reply was lost did not come again"))
		return;
	bool has_keys = task_trace_has_keys(t, &reason);
	verdict_judge(c->verdicts, CHECK_EXT_KEYS, has_keys, "%s", reason);
}

void
judge_extensions(struct conformance *c)
{
	struct task_trace *t = played_backend_task(c, NULL);

	played_backend_hold(t);
	if (verdict_judge(c->verdicts, CHECK_EXT_TASK, crawler_task_start(c,
	    t), "the task did not start")) {
		judge_repeated_fid(c, t);
		judge_task_views(c, t);
		(void)crawler_task_patch(c, t, false, STOP_BODY);
	}
	played_backend_release(c, t, 1);
	judge_object_view(c);
	judge_form_view(c);
	judge_keys(c);
	judge_tickets(c);
}
