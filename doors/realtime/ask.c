/*
 * Questions about a crawl and its URLs, and what people change of it:
 * problems, find_url; exclude, retry.
 */
#include "doors/realtime/own.h"

#include "os/clock.h"

/* Each request computes the preview from the start, so allow it some time. */
#define PARTIAL_MS 1500u

/* --- problems ----------------------------------------------------------- */

static void
put_problem(struct buf *b, const struct error_group *p)
{
	json_object(b, NULL);
	json_str(b, "kind", str_of(p->kind));
	json_str(b, "reason", str_of(p->reason));
	json_u64(b, "count", p->count);
	json_time(b, "first_at", p->first);
	json_time(b, "last_at", p->last);
	json_strs(b, "urls", p->samples, p->samples_n);
	json_strs(b, "causes", p->causes, p->samples_n);
	buf_put_char(b, '}');
}

static void
got_problems(struct errors_query *a)
{
	struct task *t = a->arg;

	if (!task_back(t, &a->why, &a->arena, CODE_UNKNOWN_CRAWL))
		return;
	struct buf *b = task_data(t);
	json_array(b, "groups");
	for (size_t i = 0; i < a->n && b->n < REALTIME_ANSWER_BYTES_MAX; i++)
		put_problem(b, &a->problems[i]);
	buf_put_char(b, ']');
	task_answer(t);
}

void
verb_list_problems(struct task *t)
{
	struct errors_query *a = task_ask(t, sizeof(*a));

	*a = (struct errors_query){ .crawl = t->row->id,
	    .done = got_problems, .arg = t };
	catalog_errors(engine_catalog(t->door->engine), a);
}

/* --- one URL ------------------------------------------------------------ */

static const char *const url_states[] = { "unknown", "waiting", "leased",
    "done", "skipped" };
static const char *const outcomes[] = { "none", "item", "exception",
    "skipped", "sitemap", "returned" };

static void
put_reason(struct buf *b, const struct url_query *a)
{
	const struct url_fact *f = &a->fact;

	if (a->state == URL_SKIPPED || f->outcome == OUTCOME_SKIPPED)
		json_str(b, "reason", str_of(skip_name(
		    (enum skip_reason)f->reason)));
	else if (f->outcome == OUTCOME_EXCEPTION)
		json_str(b, "reason", str_of(exception_name(
		    (enum exception)f->reason)));
}

static void
put_fact(struct buf *b, const struct url_query *a)
{
	const struct url_fact *f = &a->fact;

	if (a->state == URL_DONE)
		json_str(b, "outcome", str_of(outcomes[MIN(f->outcome,
		    ARRAY_LEN(outcomes) - 1)]));
	if (a->state != URL_WAITING && a->state != URL_LEASED)
		put_reason(b, a);
	json_u64(b, "depth", f->depth);
	json_real(b, "cost", f->cost);
	json_time(b, "found_at", f->found);
	if (a->number > 0)
		json_u64(b, "number", a->number);
	if (a->answer.status == 0)
		return;
	json_object(b, "answer");
	json_u64(b, "status_code", a->answer.status);
	json_str(b, "file", a->answer.file);
	json_u64(b, "offset", a->answer.offset);
	buf_put_char(b, '}');
}

static void
put_verdict(struct buf *b, const struct url_query *a)
{
	json_object(b, "verdict");
	json_bool(b, "take", a->verdict.take);
	if (a->verdict.take)
		json_null(b, "reason");
	else
		json_str(b, "reason", str_of(skip_name(a->verdict.reason)));
	json_str(b, "text", a->verdict_text);
	buf_put_char(b, '}');
}

void
task_put_robots(struct task *t, const struct robots_verdict *v)
{
	struct buf *b = task_data(t);

	if (v->ignored || !v->known)
		return;
	json_object(b, "robots");
	json_bool(b, "allow", v->allowed);
	if (v->line > 0)
		json_u64(b, "line", v->line);
	else
		json_null(b, "line");
	if (v->line > 0)
		json_str(b, "rule", v->text);
	else
		json_null(b, "rule");
	json_str(b, "text", robots_verdict_text(v, &t->answer));
	json_time(b, "fetched_at", v->fetched);
	buf_put_char(b, '}');
}

static void
found(struct url_query *a)
{
	struct task *t = a->arg;
	struct wall now = clock_wall();

	if (!task_back(t, &a->why, &a->arena, CODE_UNKNOWN_CRAWL))
		return;
	struct buf *b = task_data(t);
	json_str(b, "url", a->canonical);
	json_bool(b, "known", a->state != URL_UNKNOWN);
	json_str(b, "state", str_of(url_states[a->state]));
	if (a->state != URL_UNKNOWN)
		put_fact(b, a);
	else
		put_verdict(b, a);
	if (a->reason_text.n != 0)
		json_str(b, "text", a->reason_text);
	task_put_robots(t, &a->robots);
	if (a->host_known) {
		struct wall due = { now.us + (int64_t)(1e6 *
		    (a->host_view.next_s > 0 ? a->host_view.next_s : 0)) };
		if (a->state == URL_WAITING)
			json_time(b, "due", due);
		json_name(b, "host");
		look_put_host(b, &a->host_view, now);
	}
	task_answer(t);
}

void
verb_find_url(struct task *t)
{
	struct url_query *a = task_ask(t, sizeof(*a));

	*a = (struct url_query){ .crawl = t->row->id, .url = t->command.url,
	    .done = found, .arg = t };
	catalog_url(engine_catalog(t->door->engine), a);
}

/* --- exclude, retry ----------------------------------------------------- */

static void
excluded(struct exclude_request *a)
{
	struct task *t = a->arg;

	if (!task_back(t, &a->why, &a->arena, CODE_UNKNOWN_CRAWL))
		return;
	struct buf *b = task_data(t);
	task_put_crawl(t, a->crawl);
	json_u64(b, "removed", a->removed);
	if (a->so_far)
		json_u64(b, "looked", a->looked);
	json_array(b, "sample");
	for (size_t i = 0; i < a->sample_n &&
	    b->n < REALTIME_ANSWER_BYTES_MAX; i++)
		json_item(b, a->sample[i]);
	buf_put_char(b, ']');
	task_answer(t);
}

void
verb_exclude(struct task *t)
{
	struct exclude_request *a = task_ask(t, sizeof(*a));

	*a = (struct exclude_request){ .crawl = t->row->id,
	    .pattern = t->command.pattern, .preview = t->command.preview,
	    .wait_ms = t->command.partial ? PARTIAL_MS : 0,
	    .left = &t->left, .done = excluded, .arg = t };
	crawl_exclude(t->door->engine, a);
}

static void
retried(struct retry_request *a)
{
	struct task *t = a->arg;

	if (!task_back(t, &a->why, NULL, CODE_UNKNOWN_CRAWL))
		return;
	task_put_crawl(t, a->crawl);
	json_u64(task_data(t), "requeued", a->requeued);
	task_answer(t);
}

void
verb_retry(struct task *t)
{
	const struct command *c = &t->command;
	bool reason = command_has(c, ARG_BIT(REASON));

	if (reason == command_has(c, ARG_BIT(URLS))) {
		task_fail(t, CODE_BAD_ARGS,
		    "reason: either a reason or urls are expected.");
		return;
	}
	struct retry_request *a = task_ask(t, sizeof(*a));
	*a = (struct retry_request){ .crawl = t->row->id, .reason = c->reason,
	    .urls = c->urls.p, .urls_n = c->urls.n, .done = retried,
	    .arg = t };
	crawl_retry(t->door->engine, a);
}
