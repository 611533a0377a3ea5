/*
 * crawler_runs -- the checks of what a crawler sends: tasks that run to their
 * end, without faults and with them.
 *
 * Tasks of a group run at the same time.  A task with faults must deliver the
 * documents of the one without, so the parameters have to give the same ones.
 */
#include "cli/conformance/own.h"
#include "cli/simulator/json_body.h"
#include "os/clock.h"

#define RETRY_AFTER_MS 1000      /* of the plans below */
#define EARLY_MS 100             /* that a clock may be off */
#define SLACK_MS 1000            /* of a heartbeat */

/* The task without faults, which runs once; its answers take a while, so that
 * overlapping uploads are seen. */
static struct task_trace *
run_plain(struct conformance *c)
{
	if (c->plain != NULL)
		return c->plain;
	c->plain = played_backend_task(c, "{\"faults\":[{\"call\":\"upload\","
	    "\"number\":1,\"last\":3,\"delay_ms\":300}]}");
	if (crawler_task_start(c, c->plain))
		crawler_tasks_wait(c, &c->plain, 1);
	return c->plain;
}

/* ---- Uploads -------------------------------------------------------- */

static void
judge_media_type(struct conformance *c, const struct arrival *a)
{
	struct http_media media = http_media_parse(a->type, &c->arena);

	verdict_judge(c->verdicts, CHECK_UPLOAD_MEDIA_TYPE, str_eq(media.type,
	    STR("application/x-ndjson")) && str_eq_nocase(media.charset,
	    STR("utf-8")), "the type of an upload is %.*s",
	    (int)MIN(a->type.n, 100), a->type.p);
}

static void
judge_coding(struct conformance *c, const struct arrival *a)
{
	if (a->coding.n > 0)
		verdict_judge(c->verdicts, CHECK_UPLOAD_GZIP, !a->damaged &&
		    str_eq_nocase(a->coding, STR("gzip")), "Content-Encoding "
		    "is %.*s%s", (int)MIN(a->coding.n, 40), a->coding.p,
		    a->damaged ? ", the body is not" : "");
}

static void
judge_lines(struct conformance *c, const struct arrival *a)
{
	if (a->damaged)
		return;
	if (verdict_judge(c->verdicts, CHECK_UPLOAD_LINE_FORM,
	    a->malformed == NULL, "%s", a->malformed))
		verdict_judge(c->verdicts, CHECK_UPLOAD_LINE_FORM,
		    str_find_char(a->body, '\r') == a->body.n,
		    "lines end in CR LF");
	verdict_judge(c->verdicts, CHECK_UPLOAD_BATCH_SIZE, a->documents <=
	    BATCH_DOCUMENTS_MAX && (a->body.n <= BATCH_BYTES_MAX ||
	    a->documents == 1), "an upload has %zu documents in %zu bytes",
	    a->documents, a->body.n);
}

struct schema_fault {
	struct conformance *of;
	struct str id;
};

static void
note_schema_fault(void *arg, struct str pointer, struct str message)
{
	const struct schema_fault *f = arg;

	verdict_fail(f->of->verdicts, CHECK_UPLOAD_SCHEMA, "document %.*s: "
	    "%.*s %.*s", (int)MIN(f->id.n, 60), f->id.p, STR_FMT(pointer),
	    STR_FMT(message));
}

static void
judge_document(struct conformance *c, yyjson_val *document, struct str id)
{
	struct schema_fault f = { c, id };
	yyjson_val *v = yyjson_obj_getn(document, c->id_field.p,
	    c->id_field.n);

	if (c->schema != NULL && schema_check(c->schema, document, 1,
	    note_schema_fault, &f))
		verdict_pass(c->verdicts, CHECK_UPLOAD_SCHEMA);
	if (c->id_field.n > 0)
		verdict_judge(c->verdicts, CHECK_UPLOAD_ID_FIELD,
		    (yyjson_is_str(v) && yyjson_get_len(v) > 0) ||
		    yyjson_is_int(v), "a document has no text or whole number "
		    "at %.*s", STR_FMT(c->id_field));
}

static void
judge_documents(struct conformance *c, const struct arrival *a)
{
	struct ndjson reader = { .rest = a->body };
	struct str line;
	yyjson_doc *doc = NULL;

	for (size_t i = 0; a->malformed == NULL && i < a->documents; i++) {
		CHECK(ndjson_next(&reader, &doc, &line, NULL) == OK);
		judge_document(c, yyjson_doc_get_root(doc), a->ids[i]);
		yyjson_doc_free(doc);
	}
}

static void
judge_order(struct conformance *c, const struct task_trace *plain,
    const struct task_trace *again)
{
	for (size_t i = 0; i < plain->n; i++)
		verdict_judge(c->verdicts, CHECK_UPLOAD_ORDER,
		    !plain->arrivals[i].overlaps, "an upload came before the "
		    "one before it was answered");
	if (again->calls[FAULT_UPLOAD] > 0)
		verdict_judge(c->verdicts, CHECK_UPLOAD_ORDER,
		    again->calls[FAULT_UPLOAD] > 1 &&
		    task_trace_repeats(again, 1), "an upload that was "
		    "answered 503 did not come again as the next one");
}

void
judge_uploads(struct conformance *c)
{
	struct task_trace *plain = run_plain(c);
	struct task_trace *again = played_backend_task(c, "{\"faults\":["
	    "{\"call\":\"upload\",\"number\":1,\"status\":503,"
	    "\"retry_after_s\":1}]}");

	if (crawler_task_start(c, again))
		crawler_tasks_wait(c, &again, 1);
	verdict_judge(c->verdicts, CHECK_UPLOAD_MEDIA_TYPE,
	    plain->calls[FAULT_UPLOAD] > 0, "no upload came");
	for (const struct arrival *a = task_trace_upload(plain, 1); a != NULL;
	    a = task_trace_next(plain, a)) {
		judge_media_type(c, a);
		judge_coding(c, a);
		judge_lines(c, a);
		judge_documents(c, a);
	}
	judge_order(c, plain, again);
	verdict_skip(c->verdicts, CHECK_UPLOAD_GZIP,
	    "no upload was compressed");
	verdict_skip(c->verdicts, CHECK_UPLOAD_SCHEMA, c->schema == NULL ?
	    "there is no --object with a schema" : "no document came");
	verdict_skip(c->verdicts, CHECK_UPLOAD_ID_FIELD, c->id_field.n == 0 ?
	    "there is no --object with a docIdField" : "no document came");
}

/* ---- Faults --------------------------------------------------------- */

/* A task with faults.  `judge` looks at more than its documents, or is NULL;
 * it returns false when it has decided the check. */
struct fault_run {
	enum check_id id;
	const char *plan;
	bool (*judge)(struct conformance *, enum check_id,
	    const struct task_trace *);
};

static bool
judge_retry_after(struct conformance *c, enum check_id id,
    const struct task_trace *t)
{
	const struct arrival *first = task_trace_upload(t, 1);
	const struct arrival *next = task_trace_next(t, first);

	return next == NULL || verdict_judge(c->verdicts, id, mono_ns_between(
	    first->answered, next->at) >= (RETRY_AFTER_MS - EARLY_MS) *
	    NS_PER_MS, "the upload came again before Retry-After");
}

/* An upload of one document cannot become smaller, and may be given up. */
static bool
has_many_documents(struct conformance *c, enum check_id id,
    const struct task_trace *t)
{
	if (task_trace_upload(t, 1)->documents > 1)
		return true;
	verdict_skip(c->verdicts, id, "the first upload has one document");
	return false;
}

static bool
judge_smaller(struct conformance *c, enum check_id id,
    const struct task_trace *t)
{
	const struct arrival *first = task_trace_upload(t, 1);
	const struct arrival *next = task_trace_next(t, first);

	return has_many_documents(c, id, t) && (next == NULL ||
	    verdict_judge(c->verdicts, id, next->documents <=
	    (first->documents + 1) / 2, "after 413 the next upload has %zu "
	    "documents, the refused one %zu", next->documents,
	    first->documents));
}

static bool
judge_text_answer(struct conformance *c, enum check_id id,
    const struct task_trace *t)
{
	const struct arrival *first = task_trace_upload(t, 1);
	const struct arrival *next = task_trace_next(t, first);

	return next == NULL || verdict_judge(c->verdicts, id,
	    !str_eq(first->body, next->body), "an upload that was answered "
	    "200 came again");
}

static bool
judge_plain_retry(struct conformance *c, enum check_id id,
    const struct task_trace *t)
{
	const struct arrival *first = task_trace_upload(t, 1);
	const struct arrival *next = task_trace_next(t, first);

	/* How much is in an upload is a matter of time. */
	if (first->coding.n == 0) {
		verdict_skip(c->verdicts, id, "the upload that was refused "
		    "was not compressed");
		return false;
	}
	return next == NULL || verdict_judge(c->verdicts, id,
	    next->coding.n == 0, "after 415 the next upload is compressed");
}

/* The task is gone, so its documents do not count; a status may have been under
 * way. */
static bool
judge_gone(struct conformance *c, enum check_id id,
    const struct task_trace *t)
{
	struct mono end = mono_add_ms(task_trace_upload(t, 1)->answered,
	    SLACK_MS);

	verdict_judge(c->verdicts, id, t->calls[FAULT_UPLOAD] == 1,
	    "after 404 came another upload");
	for (size_t i = 0; i < t->n; i++)
		verdict_judge(c->verdicts, id, mono_before(t->arrivals[i].at,
		    end), "after 404 came another status");
	return false;
}

#define UPLOAD_1(fault) "{\"faults\":[{\"call\":\"upload\",\"number\":1," \
	fault "}]}"
static const struct fault_run fault_runs[] = {
	{ CHECK_FAULTS_429, UPLOAD_1("\"status\":429,\"retry_after_s\":1"),
	    judge_retry_after },
	{ CHECK_FAULTS_500, UPLOAD_1("\"last\":3,\"status\":500"), NULL },
	{ CHECK_FAULTS_413, UPLOAD_1("\"status\":413"), judge_smaller },
	{ CHECK_FAULTS_LINES, UPLOAD_1("\"refused_lines\":[1]"), NULL },
	{ CHECK_FAULTS_WHOLE, UPLOAD_1("\"status\":406"),
	    has_many_documents },
	{ CHECK_FAULTS_CUT, UPLOAD_1("\"cut_bytes\":5"), NULL },
	{ CHECK_FAULTS_LOST, UPLOAD_1("\"reply_lost\":true"), NULL },
	{ CHECK_FAULTS_TEXT, UPLOAD_1("\"status\":200,\"body\":\"fine\""),
	    judge_text_answer },
	{ CHECK_FAULTS_GZIP, UPLOAD_1("\"status\":415"), judge_plain_retry },
	{ CHECK_FAULTS_GONE, UPLOAD_1("\"status\":404"), judge_gone },
	{ CHECK_FAULTS_STATUS, NULL, NULL },
};

static bool
is_compressed(const struct task_trace *plain)
{
	const struct arrival *first = task_trace_upload(plain, 1);

	return first != NULL && first->coding.n > 0;
}

/* NULL: it was not started. */
static struct task_trace *
start_fault_run(struct conformance *c, const struct fault_run *run)
{
	struct task_trace *t;

	if (run->id == CHECK_FAULTS_GZIP && !is_compressed(c->plain)) {
		verdict_skip(c->verdicts, run->id,
		    "uploads are not compressed");
		return NULL;
	}
	t = played_backend_task(c, run->plan);
	if (run->id == CHECK_FAULTS_STATUS)
		t->refused_closings = 2;
	return verdict_judge(c->verdicts, run->id, crawler_task_start(c, t),
	    "the task did not start") ? t : NULL;
}

static void
judge_fault_run(struct conformance *c, const struct fault_run *run,
    struct task_trace *t)
{
	const struct arrival *first = task_trace_upload(t, 1);
	struct str left_out = STR_NONE;
	const char *reason;

	if (!verdict_judge(c->verdicts, run->id, first != NULL,
	    "no upload came") || (run->judge != NULL &&
	    !run->judge(c, run->id, t)))
		return;
	if (first->refused > 0)
		left_out = first->ids[first->refused - 1];
	bool is_whole = task_trace_is_whole(t, c->plain, left_out, &reason);
	verdict_judge(c->verdicts, run->id, is_whole, "%s", reason);
}

void
judge_faults(struct conformance *c)
{
	struct task_trace *tasks[ARRAY_LEN(fault_runs)];
	struct task_trace *ending[ARRAY_LEN(fault_runs)];
	bool is_fine = run_plain(c)->closed == CODE_DONE;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(fault_runs); i++) {
		if (!is_fine)
			verdict_fail(c->verdicts, fault_runs[i].id, "the task "
			    "without faults did not end with 200");
		tasks[i] = is_fine ? start_fault_run(c, &fault_runs[i]) : NULL;
		if (tasks[i] != NULL && fault_runs[i].judge != judge_gone)
			ending[n++] = tasks[i];
	}
	crawler_tasks_wait(c, ending, n);
	for (size_t i = 0; i < ARRAY_LEN(fault_runs); i++)
		if (tasks[i] != NULL)
			judge_fault_run(c, &fault_runs[i], tasks[i]);
}

/* ---- Statuses ------------------------------------------------------- */

static void
judge_status_form(struct conformance *c, const struct task_trace *t)
{
	verdict_judge(c->verdicts, CHECK_STATUS_FORM,
	    t->calls[FAULT_STATUS] > 0, "no status came");
	for (size_t i = 0; i < t->n; i++) {
		const struct arrival *a = &t->arrivals[i];
		if (a->call != FAULT_STATUS)
			continue;
		verdict_judge(c->verdicts, CHECK_STATUS_FORM,
		    a->malformed == NULL, "%s", a->malformed);
		verdict_judge(c->verdicts, CHECK_STATUS_FORM, str_starts_nocase(
		    a->type, STR("application/json")), "the type of a status "
		    "is %.*s", (int)MIN(a->type.n, 60), a->type.p);
	}
}

static void
judge_closing(struct conformance *c, const struct task_trace *t)
{
	size_t i = 0;

	while (i < t->n && t->arrivals[i].code < CODE_DONE)
		i++;
	if (!verdict_judge(c->verdicts, CHECK_STATUS_CLOSING_LAST, i < t->n,
	    "no closing status came within %lld s",
	    (long long)c->options->wait_s)) {
		verdict_skip(c->verdicts, CHECK_STATUS_CLOSING_ONCE,
		    "no closing status came");
		return;
	}
	verdict_pass(c->verdicts, CHECK_STATUS_CLOSING_ONCE);
	for (i++; i < t->n; i++)
		if (t->arrivals[i].code >= CODE_DONE)
			verdict_fail(c->verdicts, CHECK_STATUS_CLOSING_ONCE,
			    "status %d came after the closing one",
			    t->arrivals[i].code);
		else
			verdict_fail(c->verdicts, CHECK_STATUS_CLOSING_LAST,
			    "%s came after the closing status",
			    t->arrivals[i].call == FAULT_UPLOAD ?
			    "an upload" : "a status");
}

void
judge_status(struct conformance *c)
{
	int64_t silence_s = c->options->silence_s;
	struct task_trace *t = played_backend_task(c, arena_printf(&c->arena,
	    UPLOAD_1("\"status\":429,\"retry_after_s\":%lld"),
	    (long long)silence_s).p);
	int64_t silent_ms;

	if (crawler_task_start(c, t))
		crawler_tasks_wait(c, &t, 1);
	conformance_pause(c, c->limits.quiet_ms);
	judge_status_form(c, t);
	judge_closing(c, t);
	silent_ms = task_trace_silence_ms(t);
	if (t->calls[FAULT_UPLOAD] == 0)
		verdict_skip(c->verdicts, CHECK_STATUS_HEARTBEAT,
		    "no upload came that could wait");
	else
		verdict_judge(c->verdicts, CHECK_STATUS_HEARTBEAT, silent_ms <=
		    silence_s * 1000 / 3 + SLACK_MS, "nothing was sent for "
		    "%lld ms", (long long)silent_ms);
}
