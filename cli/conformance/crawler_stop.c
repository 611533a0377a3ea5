/*
 * crawler_stop -- checks that a task sends nothing more once the back end has
 * closed it, and that a crawler refuses what it must not do.
 */
#include "cli/conformance/own.h"
#include "os/clock.h"

#define BODY_408 "{\"code\":408,\"message\":\"Task is timeout\"," \
	"\"detail\":null}"
#define BODY_200 "{\"code\":200,\"message\":\"Done\",\"detail\":null}"
#define RETRY_MARGIN_S 1         /* a retry that comes would be too late */
#define WATCH_MS 2000            /* for such a retry */

static const struct stop_run {
	enum check_id id;
	bool at_callback;
	const char *body;
} stop_runs[] = {
	{ CHECK_STOP_408_CALLBACK, true, BODY_408 },
	{ CHECK_STOP_408_PATH, false, BODY_408 },
	{ CHECK_STOP_200_CALLBACK, true, BODY_200 },
	{ CHECK_STOP_200_PATH, false, BODY_200 },
};
#define STOP_RUNS ARRAY_LEN(stop_runs)

/* ---- Stop ----------------------------------------------------------- */

static bool
all_upload(void *arg)
{
	struct task_trace *const *tasks = arg;

	for (size_t i = 0; i < STOP_RUNS; i++)
		if (tasks[i]->unanswered == 0)
			return false;
	return true;
}

static void
start_stop_runs(struct conformance *c, struct task_trace **tasks)
{
	for (size_t i = 0; i < STOP_RUNS; i++) {
		tasks[i] = played_backend_task(c, NULL);
		played_backend_hold(tasks[i]);
		verdict_judge(c->verdicts, stop_runs[i].id,
		    crawler_task_start(c, tasks[i]), "the task did not start");
	}
	(void)conformance_wait(c, all_upload, tasks, c->options->wait_s * 1000);
}

static void
judge_malformed(struct conformance *c, const struct task_trace *t)
{
	struct peer_answer a = crawler_task_patch(c, t, false,
	    "{\"message\":\"no code\"}");

	peer_judge_refusal(c, CHECK_STOP_MALFORMED, &a, 400);
}

static void
judge_unknown(struct conformance *c)
{
	struct task_trace never = { .fid = conformance_fid(c) };
	struct peer_answer a = crawler_task_patch(c, &never, false, BODY_408);

	peer_judge_refusal(c, CHECK_STOP_UNKNOWN, &a, 404);
}

static void
judge_repeated(struct conformance *c, const struct task_trace *t)
{
	/* As the first was, since another may stop a task that this did not. */
	struct peer_answer a = crawler_task_patch(c, t,
	    stop_runs[0].at_callback, stop_runs[0].body);

	verdict_judge(c->verdicts, CHECK_STOP_REPEATED, peer_is_success(&a),
	    "%s", peer_status_text(c, &a, "200"));
}

/* Uploads that arrived later than --stop after the PATCH. */
static void
judge_silence(struct conformance *c, const struct stop_run *run,
    const struct task_trace *t, struct mono stopped)
{
	struct mono end = mono_add_ms(stopped, c->options->stop_s * 1000);

	if (t->calls[FAULT_UPLOAD] == 0)
		verdict_fail(c->verdicts, run->id,
		    "no upload came that could be stopped");
	for (size_t i = 0; i < t->n; i++)
		verdict_judge(c->verdicts, run->id, t->arrivals[i].call ==
		    FAULT_STATUS || mono_before(t->arrivals[i].at, end),
		    "an upload came %lld ms after the PATCH", (long long)
		    (mono_ns_between(stopped, t->arrivals[i].at) /
		    NS_PER_MS));
}

void
judge_stop(struct conformance *c)
{
	struct task_trace *tasks[STOP_RUNS];
	struct mono stopped;

	start_stop_runs(c, tasks);
	judge_malformed(c, tasks[0]);
	judge_unknown(c);
	for (size_t i = 0; i < STOP_RUNS; i++) {
		struct peer_answer a = crawler_task_patch(c, tasks[i],
		    stop_runs[i].at_callback, stop_runs[i].body);
		verdict_judge(c->verdicts, stop_runs[i].id, peer_is_success(&a),
		    "%s", peer_status_text(c, &a, "200"));
	}
	stopped = clock_mono();
	judge_repeated(c, tasks[0]);
	/* The upload under way fails, so that a crawler which goes on repeats
	 * it after --stop. */
	for (size_t i = 0; i < STOP_RUNS; i++)
		played_backend_release(c, tasks[i], (uint64_t)
		    c->options->stop_s + RETRY_MARGIN_S);
	conformance_pause(c, (c->options->stop_s + RETRY_MARGIN_S) * 1000 +
	    WATCH_MS);
	for (size_t i = 0; i < STOP_RUNS; i++)
		judge_silence(c, &stop_runs[i], tasks[i], stopped);
}

/* ---- Security ------------------------------------------------------- */

static void
judge_no_token(struct conformance *c)
{
	struct peer_order o = { .method = "POST", .url = peer_url(c, "/task",
	    STR("version=1")), .body = STR("{}"), .anonymous = true };
	struct peer_answer a;

	if (c->options->token.n == 0) {
		verdict_skip(c->verdicts, CHECK_SECURITY_NO_TOKEN,
		    "there is no --token-file");
		return;
	}
	a = peer_call(c, &o);
	peer_judge_refusal(c, CHECK_SECURITY_NO_TOKEN, &a, 401);
	o.anonymous = false;
	o.token = STR("not-the-token");
	a = peer_call(c, &o);
	peer_judge_refusal(c, CHECK_SECURITY_NO_TOKEN, &a, 401);
	o = (struct peer_order){ .method = "PATCH", .url = peer_url(c,
	    "/task/none/status", STR("version=1")), .body = STR(BODY_408),
	    .anonymous = true };
	a = peer_call(c, &o);
	peer_judge_refusal(c, CHECK_SECURITY_NO_TOKEN, &a, 401);
}

/* `other`: a second status that will do, or 0. */
static void
judge_endpoint(struct conformance *c, enum check_id id, const char *endpoint,
    int other)
{
	struct task_trace *t = played_backend_task(c, NULL);
	struct peer_answer a = crawler_task_send(c, t, arena_printf(&c->arena,
	    "{\"endpoint\":\"%s\"}", endpoint).p);

	verdict_judge(c->verdicts, id, a.status == 403 || (other > 0 &&
	    a.status == other), "%s: %s", endpoint, peer_status_text(c, &a,
	    other > 0 ? "400 or 403" : "403"));
	if (peer_is_success(&a))
		(void)crawler_task_patch(c, t, false, BODY_408);
}

static void
judge_endpoints(struct conformance *c)
{
	static const char *const private[] = {
		"http://169.254.169.254/latest/meta-data",
		"http://10.0.0.1/actions/tasks/t", "http://[fd00::1]/t",
		"http://[::ffff:169.254.169.254]/t" };
	const char *base = c->base.p + strlen("http://");

	judge_endpoint(c, CHECK_SECURITY_FOREIGN,
	    "https://backend.invalid/actions/tasks/t", 0);
	for (size_t i = 0; i < ARRAY_LEN(private); i++)
		judge_endpoint(c, CHECK_SECURITY_PRIVATE, private[i], 0);
	judge_endpoint(c, CHECK_SECURITY_USERINFO, arena_printf(&c->arena,
	    "http://user:secret@%s/actions/tasks/t", base).p, 400);
	judge_endpoint(c, CHECK_SECURITY_USERINFO, arena_printf(&c->arena,
	    "http://%s/actions/tasks/t#upload", base).p, 400);
}

static bool
has_uploaded(void *arg)
{
	const struct task_trace *t = arg;

	return t->calls[FAULT_UPLOAD] > 0 && t->unanswered == 0;
}

static void
judge_redirect(struct conformance *c)
{
	struct str fid = conformance_fid(c);
	struct task_trace *t = played_backend_task(c, arena_printf(&c->arena,
	    "{\"faults\":[{\"call\":\"upload\",\"number\":1,\"last\":1000,"
	    "\"redirect\":\"%.*s/elsewhere/%.*s\"}]}", STR_FMT(c->base),
	    STR_FMT(fid)).p);

	t->elsewhere = fid;
	if (!verdict_judge(c->verdicts, CHECK_SECURITY_REDIRECT,
	    crawler_task_start(c, t), "the task did not start"))
		return;
	if (!conformance_wait(c, has_uploaded, t, c->options->wait_s * 1000)) {
		verdict_fail(c->verdicts, CHECK_SECURITY_REDIRECT,
		    "no upload came");
		return;
	}
	conformance_pause(c, c->limits.quiet_ms);
	verdict_judge(c->verdicts, CHECK_SECURITY_REDIRECT, !t->redirected,
	    "the redirect was followed");
	(void)crawler_task_patch(c, t, false, BODY_408);
}

void
judge_security(struct conformance *c)
{
	judge_no_token(c);
	judge_endpoints(c);
	judge_redirect(c);
}
